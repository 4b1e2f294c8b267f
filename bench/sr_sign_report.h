/* SPDX-License-Identifier: MIT */
/*
 * sr_sign_report.h - what bench_sign says about its samples.
 *
 * Ratios come from the rounds, as in every benchmark here. What this adds is about
 * tails: of each row the first samples of the run, as many as were asked for, those
 * of disturbed rounds too, for a tail without its disturbances is no tail. They can
 * be written out as they are, and the figures are drawn from that file.
 *
 * Beside them stand the seed's own numbers, which were published, not measured here.
 */
#ifndef SR_SIGN_REPORT_H
#define SR_SIGN_REPORT_H

#include "sr_bench.h"
#include "sr_histogram.h"
#include "sr_rank.h"

#define SR_SIGN_NEAR_NS 5000u

struct sr_sign_figures {
	uint64_t p25_ns, p50_ns, p75_ns, p90_ns, p99_ns, p999_ns, p9999_ns, max_ns;
	double near; /* share within SR_SIGN_NEAR_NS of the median */
	size_t count;
};

/* Microseconds, of the seed's page: RustCrypto k256 0.13.4, SHA-256 of 256 bytes and
 * ECDSA, 200,000 samples on the M2. What was not published is 0. */
struct sr_sign_published {
	const char *key;
	const char *text;
	double p50, p90, p99, p999, p9999, max, p25, p75, near;
};

static const struct sr_sign_published sr_sign_seed[] = {
	{ "seed_m2", "published (seed, M2): k256 0.13.4", 39.1, 40.1, 47.4, 54.0, 100.4, 275.7,
	  39.08, 39.21, 0.977 },
	{ "seed_runner", "published (seed, shared runner): k256 0.13.4", 41.2, 0, 61.7, 81.6, 0, 0,
	  0, 0, 0 },
};

/* Sorts the samples: write them out before. */
static inline struct sr_sign_figures sr_sign_figures_of(struct sr_histogram *h)
{
	struct sr_sign_figures f = {
		.p25_ns = sr_histogram_percentile(h, 25000),
		.p50_ns = sr_histogram_percentile(h, 50000),
		.p75_ns = sr_histogram_percentile(h, 75000),
		.p90_ns = sr_histogram_percentile(h, 90000),
		.p99_ns = sr_histogram_percentile(h, 99000),
		.p999_ns = sr_histogram_percentile(h, 99900),
		.p9999_ns = sr_histogram_percentile(h, 99990),
		.max_ns = sr_histogram_percentile(h, 100000),
		.count = h->count,
	};
	size_t near = 0;

	for (size_t i = 0; i < h->count; i++)
		near += h->samples_ns[i] + SR_SIGN_NEAR_NS >= f.p50_ns &&
			h->samples_ns[i] <= f.p50_ns + SR_SIGN_NEAR_NS;
	f.near = h->count ? (double)near / (double)h->count : 0;
	return f;
}

/*
 * sr_sign_samples_write - every sample in nanoseconds, for gnuplot and the like.
 *
 * Text: a line that begins with `#` and says on what it ran, of which commit, and when; a line with the rows'
 * keys; then a line a sample, in the order measured, a column a row, one space between. `-`
 * stands where a row has no such sample (a refill makes many presignatures at once).
 *
 * Returns 0 or -errno with a reason.
 */
static inline int sr_sign_samples_write(const char *path, const struct sr_bench *b,
					const struct sr_histogram *samples, struct sr_reason *why)
{
	FILE *f = fopen(path, "we");
	struct sr_machine m;
	size_t lines = 0;
	int bad;

	if (!f)
		return sr_reason_set(why, -errno, "cannot write %.200s: %s", path, strerror(errno));
	sr_machine_get(&m);
	(void)fprintf(f, "# %s %s; %s; OpenSSL %s, libsecp256k1 %s; commit %s; %s\n", b->name,
		      SR_VERSION, m.cpu, OpenSSL_version(OPENSSL_VERSION_STRING), m.secp256k1,
		      m.commit, m.date);
	for (uint32_t at = 0; at < b->row_count; at++) {
		(void)fprintf(f, "%s%s", at ? " " : "", b->rows[at].key);
		lines = samples[at].count > lines ? samples[at].count : lines;
	}
	(void)putc('\n', f);
	for (size_t i = 0; i < lines; i++)
		for (uint32_t at = 0; at < b->row_count; at++) {
			if (i < samples[at].count)
				(void)fprintf(f, "%llu",
					      (unsigned long long)samples[at].samples_ns[i]);
			else
				(void)putc('-', f);
			(void)putc(at + 1 < b->row_count ? ' ' : '\n', f);
		}
	bad = ferror(f);
	bad |= fclose(f);
	return bad ? sr_reason_set(why, -EIO, "cannot write all of %.200s", path) : 0;
}

/* ---- text ---- */

static inline void sr_sign_print_us(double us)
{
	if (us <= 0)
		(void)printf(" %8s", "-");
	else
		(void)printf(us < 10 ? " %8.3f" : us < 1000 ? " %8.2f" : " %8.0f", us);
}

static inline void sr_sign_print_middle(double low_us, double high_us, double near)
{
	char middle[40];

	(void)snprintf(middle, sizeof middle, "%.*f..%.*f", low_us < 10 ? 3 : 2, low_us,
		       high_us < 10 ? 3 : 2, high_us);
	(void)printf("  %-16s", low_us > 0 ? middle : "-");
	if (near > 0)
		(void)printf(" %7.3f%%\n", 100 * near);
	else
		(void)printf(" %8s\n", "-");
}

/* In microseconds; 0, which is not told, where too few samples lie beyond. */
static inline double sr_sign_told_us(const struct sr_sign_figures *f, uint32_t share, uint64_t ns)
{
	return sr_rank_told(f->count, share) ? (double)ns / 1e3 : 0;
}

static inline void sr_sign_print_row(const struct sr_bench_row *row, struct sr_histogram *h)
{
	struct sr_sign_figures f = sr_sign_figures_of(h);

	(void)printf("  %-52s %7zu", row->text, f.count);
	sr_sign_print_us((double)f.p50_ns / 1e3);
	sr_sign_print_us(sr_sign_told_us(&f, 90000, f.p90_ns));
	sr_sign_print_us(sr_sign_told_us(&f, 99000, f.p99_ns));
	sr_sign_print_us(sr_sign_told_us(&f, 99900, f.p999_ns));
	sr_sign_print_us(sr_sign_told_us(&f, 99990, f.p9999_ns));
	sr_sign_print_us((double)f.max_ns / 1e3);
	sr_sign_print_middle((double)f.p25_ns / 1e3, (double)f.p75_ns / 1e3, f.near);
}

static inline void sr_sign_print(const struct sr_bench *b, struct sr_histogram *samples)
{
	(void)printf("every sample, disturbed rounds too, the clock's own cost in it; "
		     "microseconds:\n  %-52s %7s %8s %8s %8s %8s %8s %8s  %-16s %8s\n", "",
		     "samples", "p50", "p90", "p99", "p99.9", "p99.99", "max", "middle half",
		     "in 5 us");
	for (uint32_t at = 0; at < b->row_count; at++)
		if (!b->rows[at].missing)
			sr_sign_print_row(&b->rows[at], &samples[at]);
	for (size_t i = 0; i < sizeof sr_sign_seed / sizeof sr_sign_seed[0]; i++) {
		const struct sr_sign_published *p = &sr_sign_seed[i];

		(void)printf("  %-52s %7s", p->text, p->max > 0 ? "200000" : "-");
		sr_sign_print_us(p->p50);
		sr_sign_print_us(p->p90);
		sr_sign_print_us(p->p99);
		sr_sign_print_us(p->p999);
		sr_sign_print_us(p->p9999);
		sr_sign_print_us(p->max);
		sr_sign_print_middle(p->p25, p->p75, p->near);
	}
}

/* ---- JSON ---- */

static inline void sr_sign_json_row(const struct sr_bench_row *row, struct sr_histogram *h)
{
	struct sr_sign_figures f = sr_sign_figures_of(h);
	const struct {
		const char *name;
		uint32_t share;
		uint64_t ns;
	} of[] = { { "p25", 25000, f.p25_ns }, { "p50", 50000, f.p50_ns },
		   { "p75", 75000, f.p75_ns }, { "p90", 90000, f.p90_ns },
		   { "p99", 99000, f.p99_ns }, { "p99.9", 99900, f.p999_ns },
		   { "p99.99", 99990, f.p9999_ns }, { "max", 100000, f.max_ns } };
	char text[SR_RANK_TEXT];

	(void)printf("\"%s\":{\"count\":%zu,", row->key, f.count);
	for (size_t i = 0; i < sizeof of / sizeof of[0]; i++)
		(void)printf("\"%s_ns\":%s,", of[i].name,
			     sr_rank_text(text, f.count, of[i].share, (double)of[i].ns, 0, "null"));
	(void)printf("\"within_5us\":%.6f}", f.near);
}

static inline void sr_sign_json_us(const char *key, double us, bool last)
{
	(void)printf("\"%s\":", key);
	if (us > 0)
		(void)printf("%.3f", us);
	else
		(void)printf("null");
	(void)printf("%s", last ? "}" : ",");
}

static inline void sr_sign_json(const struct sr_bench *b, struct sr_histogram *samples)
{
	const char *between = "";

	(void)printf(",\"samples\":{");
	for (uint32_t at = 0; at < b->row_count; at++) {
		if (b->rows[at].missing)
			continue;
		(void)printf("%s", between);
		sr_sign_json_row(&b->rows[at], &samples[at]);
		between = ",";
	}
	(void)printf("},\"published_us\":{");
	for (size_t i = 0; i < sizeof sr_sign_seed / sizeof sr_sign_seed[0]; i++) {
		const struct sr_sign_published *p = &sr_sign_seed[i];

		(void)printf("%s\"%s\":{", i ? "," : "", p->key);
		sr_sign_json_us("p50", p->p50, false);
		sr_sign_json_us("p90", p->p90, false);
		sr_sign_json_us("p99", p->p99, false);
		sr_sign_json_us("p99.9", p->p999, false);
		sr_sign_json_us("p99.99", p->p9999, false);
		sr_sign_json_us("max", p->max, true);
	}
	(void)printf("}");
}

#endif /* SR_SIGN_REPORT_H */
