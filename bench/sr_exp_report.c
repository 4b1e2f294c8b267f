/* SPDX-License-Identifier: MIT */
#include "sr_exp_report.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <zlib.h>

#include "sr_bench.h"
#include "sr_rank.h"
#include "sr_tune_check.h"

#define BIN_NS 50u
#define LINE_BYTES 512

static const struct {
	const char *key;
	uint32_t share; /* in hundred-thousandths */
} shares[] = {
	{ "min", 0 },	   { "p25", 25000 },  { "p50", 50000 },	  { "p75", 75000 },
	{ "p90", 90000 },  { "p99", 99000 },  { "p99_9", 99900 }, { "p99_99", 99990 },
	{ "max", 100000 },
};
#define SHARES (sizeof shares / sizeof shares[0])

/* ---- the machine ---- */

void sr_exp_about_fill(struct sr_exp_about *about)
{
	const struct sr_machine *m = &about->machine;

	sr_machine_get(&about->machine);
	(void)snprintf(about->libraries, sizeof about->libraries, "libsecp256k1 %s, %s, liburing %s",
		       m->secp256k1, OpenSSL_version(OPENSSL_VERSION), m->liburing);
}

static void json_string(FILE *out, const char *key, const char *text)
{
	(void)fprintf(out, "\"%s\":", key);
	sr_tune_json_string(out, text);
}

static void json_file(FILE *out, const char *key, const char *path)
{
	char line[LINE_BYTES] = "";
	FILE *f = fopen(path, "re");

	if (f && !fgets(line, sizeof line, f))
		line[0] = '\0';
	if (f)
		(void)fclose(f);
	line[strcspn(line, "\n")] = '\0';
	json_string(out, key, f ? line : "unknown");
}

static void json_machine(FILE *out, const struct sr_exp_about *a)
{
	(void)fprintf(out, "\"machine\":{");
	json_string(out, "cpu", a->machine.cpu);
	(void)fprintf(out, ",\"cpus_online\":%ld,\"cpus\":{\"client\":%d,\"agent\":%d,"
			   "\"signer\":", sysconf(_SC_NPROCESSORS_ONLN), a->cpus[0], a->cpus[1]);
	(void)(a->cpus[2] < 0 ? fputs("null", out) : fprintf(out, "%d", a->cpus[2]));
	(void)fprintf(out, "},\"load\":%.2f,", a->machine.load);
	json_string(out, "kernel", a->machine.kernel);
	(void)fputs(",", out);
	json_file(out, "command_line", "/proc/cmdline");
	(void)fputs(",", out);
	json_file(out, "clocksource",
		  "/sys/devices/system/clocksource/clocksource0/current_clocksource");
	(void)fputs(",", out);
	json_file(out, "transparent_huge_pages", "/sys/kernel/mm/transparent_hugepage/enabled");
	(void)fputs(",", out);
	json_file(out, "huge_pages", "/proc/sys/vm/nr_hugepages");
	(void)fputs(",", out);
	json_string(out, "libraries", a->libraries);
	(void)fputs(",", out);
	json_string(out, "compiler", __VERSION__);
	(void)fprintf(out, ",\"tune\":%s}", a->tune ? a->tune : "null");
}

/* ---- rows ---- */

static void json_histogram(FILE *out, const char *key, struct sr_histogram *h)
{
	char text[SR_RANK_TEXT];

	(void)fprintf(out, "\"%s\":{", key);
	for (size_t i = 0; i < SHARES; i++)
		(void)fprintf(out, "%s\"%s\":%s", i ? "," : "", shares[i].key,
			      sr_rank_text(text, h->count, shares[i].share,
					   (double)sr_histogram_percentile(h, shares[i].share), 0,
					   "null"));
	(void)fputs("}", out);
}

static void json_counter(FILE *out, const char *key, const struct sr_counter *c)
{
	(void)fprintf(out, "\"%s\":{", key);
	json_string(out, "counter", sr_counter_name(c->kind));
	(void)fprintf(out, ",\"ticks_per_s\":%llu}", (unsigned long long)c->ticks_per_s);
}

static const char *pool_of(const struct sr_exp_plan *plan)
{
	return plan->refilled ? "refilled meanwhile" : "filled before";
}

static void json_row(FILE *out, struct sr_exp_row *row)
{
	const struct sr_exp_plan *plan = &row->plan;
	bool first = true;

	(void)fprintf(out, "{\"row\":\"%s\",", plan->key);
	json_string(out, "text", plan->text);
	(void)fprintf(out, ",\"batch\":%u,\"rate\":%llu,\"orders\":%llu,\"pool\":\"%s\",\"joined\":%llu,"
			   "\"not_joined\":%llu,\"crossed\":%llu,\"pool_dry\":%llu,\"seconds\":%.3f,"
			   "\"steal_ms\":%.0f,\"involuntary\":%llu,\"signer_watched\":%s,",
		      plan->batch, (unsigned long long)plan->rate, (unsigned long long)plan->count,
		      pool_of(plan),
		      (unsigned long long)row->joined, (unsigned long long)row->unjoined,
		      (unsigned long long)row->negative, (unsigned long long)row->pool_dry,
		      (double)row->took_ns / 1e9, (double)row->steal_ns / 1e6,
		      (unsigned long long)row->involuntary, row->watched ? "true" : "false");
	json_histogram(out, "round_trip_ns", &row->round_trip);
	(void)fputs(",", out);
	json_histogram(out, "from_schedule_ns", &row->scheduled);
	(void)fprintf(out, ",\"stages_ns\":{");
	for (uint32_t i = 0; i < SR_EXP_STAGES; i++) {
		if (!plan->traced || !sr_exp_stage_used(&row->clocks, (enum sr_exp_stage)i))
			continue;
		(void)fputs(first ? "" : ",", out);
		json_histogram(out, sr_exp_stage_key((enum sr_exp_stage)i), &row->stages[i]);
		first = false;
	}
	(void)fputs("}}", out);
}

void sr_exp_json(FILE *out, const struct sr_exp_about *a, struct sr_exp_row *rows, uint32_t count)
{
	(void)fprintf(out, "{\"program\":\"exp01\",\"version\":\"%s\",", SR_VERSION);
	sr_machine_json(out, &a->machine);
	(void)fputs(",", out);
	json_string(out, "where", a->where);
	(void)fputs(",", out);
	json_string(out, "transport", a->transport);
	(void)fprintf(out, ",\"enclave\":%s,\"label\":\"measured\",\"stamp_ns\":%.1f,"
			   "\"agent_event_ns\":%.1f,", a->enclave ? "true" : "false", a->stamp_ns,
		      a->event_ns);
	if (count) {
		json_counter(out, "host", &rows[count - 1].clocks.host);
		(void)fputs(",", out);
		json_counter(out, "signer", &rows[count - 1].clocks.signer);
		(void)fprintf(out, ",\"one_clock\":%s,",
			      rows[count - 1].clocks.one ? "true" : "false");
	}
	json_machine(out, a);
	(void)fprintf(out, ",\"rows\":[");
	for (uint32_t i = 0; i < count; i++) {
		(void)fputs(i ? ",\n" : "\n", out);
		json_row(out, &rows[i]);
	}
	(void)fprintf(out, "]}\n");
}

static double us(struct sr_histogram *h, uint32_t share)
{
	return (double)sr_histogram_percentile(h, share) / 1e3;
}

/* The first @count columns of a table, behind what it is that they are of. */
static void print_line(FILE *out, const char *what, struct sr_histogram *h, uint32_t count)
{
	static const uint32_t columns[] = { 50000, 90000, 99000, 99900, 99990, 100000 };
	char text[SR_RANK_TEXT];

	(void)fprintf(out, "  %-40s", what);
	for (uint32_t i = 0; i < count; i++)
		(void)fprintf(out, " %*s", i < 4 ? 8 : 9,
			      sr_rank_text(text, h->count, columns[i], us(h, columns[i]), 3, "-"));
	(void)fputs("\n", out);
}

static void print_stages(FILE *out, struct sr_exp_row *row)
{
	char what[64];

	for (uint32_t i = 0; i < SR_EXP_STAGES; i++) {
		if (!sr_exp_stage_used(&row->clocks, (enum sr_exp_stage)i))
			continue;
		(void)snprintf(what, sizeof what, "  %s", sr_exp_stage_text((enum sr_exp_stage)i));
		print_line(out, what, &row->stages[i], 4);
	}
}

static void print_row(FILE *out, struct sr_exp_row *row, bool stages)
{
	print_line(out, row->plan.text, &row->round_trip, 6);
	if (row->plan.rate)
		print_line(out, "    counted from the schedule", &row->scheduled, 6);
	if (row->pool_dry || row->unjoined || row->negative)
		(void)fprintf(out, "    POOL DRY %llu times; %llu orders without a stamp, %llu stages "
				   "below 0\n", (unsigned long long)row->pool_dry,
			      (unsigned long long)row->unjoined,
			      (unsigned long long)row->negative);
	(void)fprintf(out, "    %llu orders in %.1f s; steal %.0f ms, %llu involuntary switches"
			   "%s\n",
		      (unsigned long long)row->plan.count, (double)row->took_ns / 1e9,
		      (double)row->steal_ns / 1e6, (unsigned long long)row->involuntary,
		      row->watched ? "" : " (not the signer's)");
	if (stages && row->plan.traced)
		print_stages(out, row);
}

void sr_exp_print(FILE *out, const struct sr_exp_about *a, struct sr_exp_row *rows, uint32_t count)
{
	char signer[16] = "elsewhere";

	if (a->cpus[2] >= 0)
		(void)snprintf(signer, sizeof signer, "%d", a->cpus[2]);
	(void)fprintf(out, "exp01 %s: %s%s\n%s, CPUs %d, %d, %s; Linux %s; load %.1f\n%s\n",
		      SR_VERSION, a->where, a->enclave ? "" : ": NO ENCLAVE", a->machine.cpu, a->cpus[0],
		      a->cpus[1], signer, a->machine.kernel, a->machine.load, a->libraries);
	sr_machine_print(out, &a->machine);
	if (count)
		(void)fprintf(out, "stamps: %s, %s clock%s; one costs %.1f ns, an event of the agent "
				   "%.1f ns, all of an order's %.0f ns\n",
			      sr_counter_name(rows[count - 1].clocks.host.kind),
			      rows[count - 1].clocks.one ? "one" : "two",
			      rows[count - 1].clocks.one ? "" : "s", a->stamp_ns, a->event_ns,
			      (2 + SR_TRACE_MOMENTS) * a->stamp_ns + 3 * a->event_ns);
	(void)fprintf(out, "`-`: fewer than %u samples beyond\n", SR_RANK_BEYOND);
	(void)fprintf(out, "%-42s %8s %8s %8s %8s %9s %9s\n", "microseconds, every sample kept",
		      "p50", "p90", "p99", "p99.9", "p99.99", "max");
	for (uint32_t i = 0; i < count; i++)
		print_row(out, &rows[i], rows[i].plan.batch == 1 && !strchr(rows[i].plan.key, '_'));
}

/* ---- files ---- */

static int fail(struct sr_reason *why, const char *path)
{
	int error = errno ? errno : EIO;

	return sr_reason_set(why, -error, "cannot write %.200s: %s", path, strerror(error));
}

static bool told(const struct sr_exp_row *row, uint32_t stage)
{
	return row->plan.traced && sr_exp_stage_used(&row->clocks, (enum sr_exp_stage)stage);
}

/* A line of text: what is known of an order; `-` for a stage of one that lacks a stamp. */
static int sample_line(char line[LINE_BYTES], const struct sr_exp_row *row,
		       const struct sr_exp_order *order)
{
	struct sr_exp_stay stay;
	bool whole = row->plan.traced && sr_exp_stay(&stay, order, &row->clocks) == 0;
	int n;

	if (!whole)
		sr_exp_stay_outside(&stay, order, &row->clocks);
	n = snprintf(line, LINE_BYTES, "%lld\t%lld", (long long)stay.round_trip,
		     (long long)stay.late);
	for (uint32_t s = 0; s < SR_EXP_STAGES; s++)
		if (told(row, s) && whole)
			n += snprintf(line + n, LINE_BYTES - (size_t)n, "\t%lld",
				      (long long)stay.stage[s]);
		else if (told(row, s))
			n += snprintf(line + n, LINE_BYTES - (size_t)n, "\t-");
	line[n++] = '\n';
	return n;
}

static int write_samples(const char *folder, const struct sr_exp_row *row, struct sr_reason *why)
{
	char path[4096], line[LINE_BYTES];
	gzFile f;

	(void)snprintf(path, sizeof path, "%s/samples-%s.tsv.gz", folder, row->plan.key);
	f = gzopen(path, "wb1");
	if (!f)
		return fail(why, path);
	(void)gzbuffer(f, 1u << 20);
	(void)gzprintf(f, "# %s: nanoseconds of each order\nround_trip\tlate", row->plan.text);
	for (uint32_t s = 0; s < SR_EXP_STAGES; s++)
		if (told(row, s))
			(void)gzprintf(f, "\t%s", sr_exp_stage_key((enum sr_exp_stage)s));
	(void)gzputs(f, "\n");
	for (uint64_t i = 0; i < row->plan.count; i++) {
		int n = sample_line(line, row, &row->orders[i]);

		if (gzwrite(f, line, (unsigned int)n) != n) {
			(void)gzclose(f);
			return fail(why, path);
		}
	}
	return gzclose(f) == Z_OK ? 0 : fail(why, path);
}

static int open_figure(FILE **f, char *path, size_t room, const char *folder, const char *name,
		       const char *key, struct sr_reason *why)
{
	(void)snprintf(path, room, "%s/figures/%s%s%s.tsv", folder, name, key ? "-" : "",
		       key ? key : "");
	*f = fopen(path, "we");
	return *f ? 0 : fail(why, path);
}

static int close_figure(FILE *f, const char *path, struct sr_reason *why)
{
	int bad = ferror(f);

	return fclose(f) == 0 && !bad ? 0 : fail(why, path);
}

/* Share of orders in each bin, up to the percentile that the figure ends at. */
static int write_bins(const char *folder, struct sr_exp_row *row, struct sr_reason *why)
{
	struct sr_histogram *h = &row->round_trip;
	uint64_t end = sr_histogram_percentile(h, 99900); /* sorts */
	char path[4096];
	size_t i = 0;
	FILE *f;
	int ret = open_figure(&f, path, sizeof path, folder, "bins", row->plan.key, why);

	if (ret)
		return ret;
	for (uint64_t bin = 0; bin * BIN_NS <= end && i < h->count; bin++) {
		size_t begin = i;

		while (i < h->count && h->samples_ns[i] < (bin + 1) * BIN_NS)
			i++;
		if (i > begin)
			(void)fprintf(f, "%.3f\t%.5f\n", (double)(bin * BIN_NS) / 1e3,
				      100.0 * (double)(i - begin) / (double)h->count);
	}
	return close_figure(f, path, why);
}

static int write_tails(const char *folder, struct sr_exp_row *row, struct sr_reason *why)
{
	static const uint32_t tails[] = { 50000, 90000, 99000, 99900, 99990 };
	char path[4096];
	FILE *f;
	int ret = open_figure(&f, path, sizeof path, folder, "tails", row->plan.key, why);

	for (uint32_t i = 0; ret == 0 && i < sizeof tails / sizeof tails[0]; i++)
		if (sr_rank_told(row->round_trip.count, tails[i]))
			(void)fprintf(f, "%u\t%.3f\t%.3f\n", i + 1, us(&row->round_trip, tails[i]),
				      us(&row->scheduled, tails[i]));
	return ret ? ret : close_figure(f, path, why);
}

static int write_stages(const char *folder, struct sr_exp_row *row, struct sr_reason *why)
{
	char path[4096];
	FILE *f;
	int ret = open_figure(&f, path, sizeof path, folder, "stages", row->plan.key, why);

	for (uint32_t i = 0; ret == 0 && row->plan.traced && i < SR_EXP_STAGES; i++)
		if (sr_exp_stage_used(&row->clocks, (enum sr_exp_stage)i))
			(void)fprintf(f, "%s\t%.3f\t%s\n", sr_exp_stage_key((enum sr_exp_stage)i),
				      us(&row->stages[i], 50000),
				      sr_exp_stage_text((enum sr_exp_stage)i));
	return ret ? ret : close_figure(f, path, why);
}

/* Lines `NAME VALUE` for a shell. */
static int write_facts(const char *folder, const struct sr_exp_about *a,
		       const struct sr_exp_row *rows, uint32_t count, struct sr_reason *why)
{
	char path[4096];
	FILE *f;
	int ret = open_figure(&f, path, sizeof path, folder, "facts", NULL, why);

	if (ret)
		return ret;
	(void)fprintf(f, "machine\t%s, %ld CPUs, Linux %s\ndate\t%s\ncommit\t%s\nwhere\t%s\n"
			 "enclave\t%d\n", a->machine.cpu, sysconf(_SC_NPROCESSORS_ONLN),
		      a->machine.kernel, a->machine.date, a->machine.commit, a->where, a->enclave);
	for (uint32_t i = 0; i < count; i++) {
		const struct sr_exp_plan *plan = &rows[i].plan;

		(void)fprintf(f, "pool_%s\tpool %s\ndry_%s\t%llu\norders_%s\t%llu\n", plan->key,
			      pool_of(plan), plan->key, (unsigned long long)rows[i].pool_dry,
			      plan->key, (unsigned long long)plan->count);
	}
	return close_figure(f, path, why);
}

static int make_folder(const char *path, struct sr_reason *why)
{
	return mkdir(path, 0755) == 0 || errno == EEXIST ? 0 : fail(why, path);
}

static int write_summary(const char *folder, const struct sr_exp_about *a, struct sr_exp_row *rows,
			 uint32_t count, struct sr_reason *why)
{
	char path[4096];
	FILE *f;

	(void)snprintf(path, sizeof path, "%s/summary.json", folder);
	f = fopen(path, "we");
	if (!f)
		return fail(why, path);
	sr_exp_json(f, a, rows, count);
	return close_figure(f, path, why);
}

int sr_exp_write(const char *folder, const struct sr_exp_about *about, struct sr_exp_row *rows,
		 uint32_t count, struct sr_reason *why)
{
	char figures[4096];
	int ret = make_folder(folder, why);

	(void)snprintf(figures, sizeof figures, "%s/figures", folder);
	if (ret == 0)
		ret = make_folder(figures, why);
	if (ret == 0)
		ret = write_summary(folder, about, rows, count, why);
	if (ret == 0)
		ret = write_facts(folder, about, rows, count, why);
	for (uint32_t i = 0; i < count && ret == 0; i++) {
		ret = write_samples(folder, &rows[i], why);
		if (ret == 0)
			ret = write_bins(folder, &rows[i], why);
		if (ret == 0)
			ret = write_tails(folder, &rows[i], why);
		if (ret == 0)
			ret = write_stages(folder, &rows[i], why);
	}
	return ret;
}
