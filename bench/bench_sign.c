/* SPDX-License-Identifier: MIT */
/*
 * bench_sign - what a signature costs, by us and by what users would pick instead.
 *
 * One thread on one CPU. Each round measures some hundred samples of every row, so
 * that all rows meet what the machine does; each sample is one operation between two
 * readings of the clock (sr_ticks.h), whose own cost is a row too and is taken off
 * nowhere but in the ratio that says so. After a row's samples the last signature or
 * digest is checked by another route. Presigned rows take from pools that were filled
 * before: a take that finds none fails the run.
 *
 * A refill makes many presignatures in one call; its samples are that call's time
 * divided by them, and fewer. Such a sample is milliseconds long and so has its share
 * of ticks and interrupts, which the median of single operations leaves out: what a
 * refill is compared with is as many k*G in one sample.
 */
#include "sr_bench.h"
#include "sr_sign_report.h"
#include "sr_sign_rows.h"
#include "sr_ticks.h"

#define ROUNDS 400u
#define SAMPLES_TEST 4u
#define REFILLS_MIN 3u /* samples of a refill in a round: a median of less is none */

/* The last is left out where k256 was not built. */
enum { RATIO_CHECKED, RATIO_REFILL, RATIO_NET, RATIO_K256 = 17, RATIOS };

static struct {
	struct sr_sign_rig rig;
	struct sr_ticks ticks;
	struct sr_histogram samples[SR_SIGN_ROWS];
	uint32_t samples_count; /* option; 0 = by the rounds */
	const char *samples_path;
	uint64_t number;
	double drift_ppm;
	uint64_t pool_taken;
	uint64_t pool_dry;
	char k256_text[200]; /* its row's: what was measured, or why nothing was */
	char k256_version[16];
	char texts[RATIOS][128];
	struct sr_bench_row net[2];
} run;

/* ---- one row of one round ---- */

static uint32_t round_samples(const struct sr_bench *b, uint32_t units)
{
	uint32_t count = b->selftest ? SAMPLES_TEST : SR_SIGN_ROUND_SAMPLES;

	if (run.samples_count && run.samples_count < count)
		count = run.samples_count;
	if (units == 1)
		return count;
	if (b->selftest)
		return 1;
	return count / units > REFILLS_MIN ? count / units : REFILLS_MIN;
}

static int sample(const struct sr_sign_row *op, uint64_t delay_ns, uint64_t *ticks)
{
	uint64_t begin;
	int ret = 0;

	sr_put64(run.rig.message, ++run.number);
	if (op->prepare)
		ret = op->prepare(&run.rig);
	if (ret < 0)
		return ret;
	begin = sr_ticks_now(&run.ticks);
	ret = op->once(&run.rig);
	if (SR_UNLIKELY(delay_ns))
		sr_bench_spin(delay_ns);
	*ticks = sr_ticks_now(&run.ticks) - begin;
	return ret;
}

static int measure(struct sr_bench *b, uint32_t at)
{
	const struct sr_sign_row *op = &sr_sign_rows[at];
	uint32_t units = sr_sign_row_units(at), count = round_samples(b, units);
	uint32_t warm = units == 1 && !b->selftest ? SR_SIGN_WARM_SAMPLES : 0;
	uint64_t delay_ns = b->delay_row == (int)at ? b->delay_ns * units : 0;
	double values[SR_SIGN_ROUND_SAMPLES];
	uint64_t ticks = 0;
	int ret = op->fill ? op->fill(&run.rig) : 0;

	for (uint32_t i = 0; i < warm && ret == 0; i++)
		ret = sample(op, 0, &ticks);
	for (uint32_t i = 0; i < count && ret == 0; i++) {
		ret = sample(op, delay_ns, &ticks);
		values[i] = sr_ticks_ns(&run.ticks, ticks) / units;
		(void)!sr_histogram_add(&run.samples[at], (uint64_t)(values[i] + 0.5));
	}
	if (ret == 0 && op->check)
		ret = op->check(&run.rig);
	if (ret < 0) {
		(void)fprintf(stderr, "%s: %s: %s\n", b->name, b->rows[at].key,
			      ret == -EAGAIN ? "a pool ran dry" : strerror(-ret));
		return ret;
	}
	b->rows[at].now = sr_bench_rank(values, count, SR_BENCH_SHARE_ALL / 2);
	b->rows[at].best = values[0];
	b->rows[at].tree = sr_bench_tree(getpid());
	return 0;
}

/* ---- setting up ---- */

/* $SIGRING_K256, else where bench/k256/fetch.sh puts it: beside this program's folder. */
static bool open_k256(void)
{
	struct sr_k256 *k = &run.rig.k256;
	const char *given = getenv("SIGRING_K256");
	const char *(*version)(void) = NULL;
	char exe[3800] = "", path[sizeof exe + 64];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);

	exe[n > 0 ? n : 0] = '\0';
	for (int up = 0; up < 2 && strrchr(exe, '/'); up++)
		*strrchr(exe, '/') = '\0';
	(void)snprintf(path, sizeof path, "%s/k256/libsr_k256.so", exe);
	if (sr_k256_open(k, given ? given : path, run.rig.secret->seckey) < 0 ||
	    !sr_k256_symbol(k, &version, "sr_k256_version"))
		return false;
	(void)snprintf(run.k256_version, sizeof run.k256_version, "%s", version());
	return true;
}

static void find_k256(struct sr_bench_row *row)
{
	if (open_k256()) {
		(void)snprintf(run.k256_text, sizeof run.k256_text, "%s %s", row->text,
			       run.k256_version);
		row->text = run.k256_text;
		return;
	}
	(void)snprintf(run.k256_text, sizeof run.k256_text,
		       "bench/k256/fetch.sh fetches and builds it; published (seed), k256 0.13.4: "
		       "%.1f us on an M2, %.1f us on a shared runner",
		       sr_sign_seed[0].p50, sr_sign_seed[1].p50);
	row->missing = run.k256_text;
}

static int rows_new(struct sr_bench *b, struct sr_reason *why)
{
	int ret = sr_sign_rig_begin(&run.rig, why);

	for (uint32_t i = 0; i < SR_SIGN_ROWS && ret == 0; i++) {
		uint32_t units = sr_sign_row_units(i);
		size_t room = (size_t)b->rounds * round_samples(b, units);

		(void)sr_bench_row(b, sr_sign_rows[i].key, sr_sign_rows[i].text, SR_BENCH_NS);
		ret = sr_histogram_new(&run.samples[i], room);
	}
	if (ret == 0) {
		find_k256(&b->rows[SR_ROW_K256]);
		sr_ticks_begin(&run.ticks);
	}
	return ret;
}

static void tear_down(struct sr_bench *b)
{
	(void)b;
	sr_sign_rig_end(&run.rig);
	for (uint32_t i = 0; i < SR_SIGN_ROWS; i++)
		sr_histogram_delete(&run.samples[i]);
}

/* A run whose pools ran dry, or whose clock went wrong, has no figures. */
static int judge_run(struct sr_reason *why)
{
	struct sr_core_stats core;
	struct sr_pool_stats pool;

	sr_core_stats_get(run.rig.core, &core);
	sr_pool_stats_get(run.rig.pool, &pool);
	run.pool_taken = core.pool_taken + pool.taken;
	run.pool_dry = core.pool_dry + core.fallbacks + pool.dry;
	run.drift_ppm = sr_ticks_drift_ppm(&run.ticks);
	if (run.pool_dry)
		return sr_reason_set(why, -EIO, "a pool ran dry %llu times",
				     (unsigned long long)run.pool_dry);
	if (run.drift_ppm > SR_TICKS_DRIFT_PPM_MAX || run.drift_ppm < -SR_TICKS_DRIFT_PPM_MAX)
		return sr_reason_set(why, -EIO, "the time-stamp counter went %.0f ppm off "
				     "CLOCK_MONOTONIC", run.drift_ppm);
	return 0;
}

/* ---- the figures ---- */

/* As @row, less the clock's own cost in the same round. */
static const struct sr_bench_row *net(struct sr_bench_row *out, const struct sr_bench_row *row,
				      const struct sr_bench_row *clock)
{
	*out = *row;
	for (uint32_t i = 0; i < row->count && i < clock->count; i++)
		out->values[i] -= clock->values[i];
	return out;
}

/* A side of a ratio: what it is, and whose. */
enum library { OURS, CURVE, OPENSSL, K256, LIBRARIES };

struct side {
	uint32_t row;
	const char *text;
	enum library library;
};

static const struct {
	const char *key;
	struct side over;
	struct side under;
} ratio_table[RATIOS] = {
	[RATIO_CHECKED] = { "bare_over_finish_checked", { SR_ROW_BARE_SIGN, "digest by ", CURVE },
			    { SR_ROW_CHECKED, "checked finish", OURS } },
	[RATIO_REFILL] = { "refill_256_rate", { SR_ROW_BASES + 2, "rate of refill, 256", OURS },
			   { SR_ROW_REFILL + 3, "k*G by ", CURVE } },
	[RATIO_NET] = { "bare_over_finish_checked_net",
			{ SR_ROW_BARE_SIGN, "digest by ", CURVE },
			{ SR_ROW_CHECKED, "checked finish, less the clock", OURS } },
	{ "refill_64_rate", { SR_ROW_BASES + 1, "rate of refill, 64", OURS },
	  { SR_ROW_REFILL + 2, "k*G by ", CURVE } },
	{ "refill_16_rate", { SR_ROW_BASES, "rate of refill, 16", OURS },
	  { SR_ROW_REFILL + 1, "k*G by ", CURVE } },
	{ "refill_2_rate", { SR_ROW_BASES, "rate of refill, 2", OURS },
	  { SR_ROW_REFILL, "k*G by ", CURVE } },
	{ "refill_1_rate", { SR_ROW_BASE_MUL, "rate of one by itself", OURS },
	  { SR_ROW_SINGLE, "k*G by ", CURVE } },
	{ "bare_over_finish", { SR_ROW_BARE_SIGN, "digest by ", CURVE },
	  { SR_ROW_FINISH, "unchecked finish", OURS } },
	{ "bare_over_presigned", { SR_ROW_BARE, "256 B by ", CURVE },
	  { SR_ROW_PRESIGNED, "presigned", OURS } },
	{ "bare_over_core", { SR_ROW_BARE, "256 B by ", CURVE },
	  { SR_ROW_CORE, "sr_core, presigned", OURS } },
	{ "schnorr_over_presigned", { SR_ROW_SCHNORR, "BIP-340 by ", CURVE },
	  { SR_ROW_PRESIGNED_BIP340, "presigned", OURS } },
	{ "seed_loop_over_bare", { SR_ROW_RFC6979, "the seed's loop by us", OURS },
	  { SR_ROW_BARE, "by ", CURVE } },
	{ "openssl_over_bare", { SR_ROW_OPENSSL, "256 B by ", OPENSSL },
	  { SR_ROW_BARE, "by ", CURVE } },
	{ "evp_over_sha256", { SR_ROW_SHA_DIGEST, "EVP_Digest of ", OPENSSL },
	  { SR_ROW_SHA_OURS, "sr_sha256", OURS } },
	{ "fetched_over_sha256", { SR_ROW_SHA_FETCHED, "fetched SHA-256 of ", OPENSSL },
	  { SR_ROW_SHA_OURS, "sr_sha256", OURS } },
	{ "oneshot_over_sha256", { SR_ROW_SHA_ONESHOT, "SHA256() of ", OPENSSL },
	  { SR_ROW_SHA_OURS, "sr_sha256", OURS } },
	{ "sha3_over_keccak256", { SR_ROW_SHA3, "SHA3-256 of ", OPENSSL },
	  { SR_ROW_KECCAK, "sr_keccak256", OURS } },
	[RATIO_K256] = { "k256_over_bare", { SR_ROW_K256, "256 B by ", K256 },
			 { SR_ROW_BARE, "by ", CURVE } },
};

/* Each side's library with its version: a quotient without them says nothing. */
static uint32_t make_ratios(struct sr_bench_ratio *out, const struct sr_bench_row *r)
{
	char versions[LIBRARIES][32] = { "" };
	struct sr_machine machine;

	sr_machine_get(&machine);
	(void)snprintf(versions[CURVE], sizeof versions[CURVE], "libsecp256k1 %.15s",
		       machine.secp256k1);
	(void)snprintf(versions[OPENSSL], sizeof versions[OPENSSL], "OpenSSL %s",
		       OpenSSL_version(OPENSSL_VERSION_STRING));
	(void)snprintf(versions[K256], sizeof versions[K256], "k256 %s", run.k256_version);
	for (uint32_t i = 0; i < RATIOS; i++) {
		const struct side *over = &ratio_table[i].over, *under = &ratio_table[i].under;

		(void)snprintf(run.texts[i], sizeof run.texts[i], "%s%s / %s%s", over->text,
			       versions[over->library], under->text, versions[under->library]);
		out[i] = (struct sr_bench_ratio){ .key = ratio_table[i].key,
						  .text = run.texts[i],
						  .over = &r[over->row],
						  .under = &r[under->row] };
	}
	out[RATIO_NET].over = net(&run.net[0], out[RATIO_NET].over, &r[SR_ROW_CLOCK]);
	out[RATIO_NET].under = net(&run.net[1], out[RATIO_NET].under, &r[SR_ROW_CLOCK]);
	out[RATIO_CHECKED].gate = 50;
	out[RATIO_CHECKED].goal = 65;
	out[RATIO_CHECKED].at_least = true;
	out[RATIO_REFILL].gate = 0.93;
	out[RATIO_REFILL].goal = 0.97;
	out[RATIO_REFILL].at_least = true;
	return r[SR_ROW_K256].missing ? RATIO_K256 : RATIOS;
}

/* Has the CPU instructions for SHA-256? OpenSSL uses them when it has. */
static const char *sha_instructions(void)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	const char *found = "none";
	char line[4096];

	while (f && fgets(line, sizeof line, f))
		if (strstr(line, " sha_ni"))
			found = "SHA-NI";
		else if (!strncmp(line, "Features", 8) && strstr(line, " sha2"))
			found = "ARMv8 SHA2";
	if (f)
		(void)fclose(f);
	return found;
}

static void json_more(const struct sr_bench *b)
{
	(void)printf(",\"clock\":{\"source\":\"%s\",\"ghz\":%.4f,\"drift_ppm\":%.1f},"
		     "\"sha256_instructions\":\"%s\",\"pool_taken\":%llu,\"pool_dry\":%llu",
		     run.ticks.counter ? "tsc" : "CLOCK_MONOTONIC", 1 / run.ticks.ns_per_tick,
		     run.drift_ppm, sha_instructions(), (unsigned long long)run.pool_taken,
		     (unsigned long long)run.pool_dry);
	if (run.k256_version[0])
		(void)printf(",\"k256\":\"%s\"", run.k256_version);
	sr_sign_json(b, run.samples);
}

static int report(const struct sr_bench *b)
{
	struct sr_bench_ratio ratios[RATIOS];
	uint32_t count = make_ratios(ratios, b->rows);
	int code;

	code = sr_bench_end(b, ratios, count);
	if (b->json)
		return code;
	sr_sign_print(b, run.samples);
	(void)printf("clock: %s, %.4f GHz, %.1f ppm off CLOCK_MONOTONIC over the run; its own cost "
		     "is %.0f ns (p50)\n", run.ticks.counter ? "the time-stamp counter, fenced" :
		     "CLOCK_MONOTONIC", 1 / run.ticks.ns_per_tick, run.drift_ppm,
		     sr_bench_of(&b->rows[SR_ROW_CLOCK], SR_BENCH_SHARE_ALL / 2));
	(void)printf("SHA-256 instructions of the CPU, which OpenSSL uses: %s\n",
		     sha_instructions());
	(void)printf("pools: %llu presignatures taken, pool-dry %llu; the last signature of each "
		     "row and round was verified\n", (unsigned long long)run.pool_taken,
		     (unsigned long long)run.pool_dry);
	return code;
}

/* ---- the self-test's own part ---- */

/* Percentiles, middle half and the share near the median, against their definitions. */
static bool test_figures(const struct sr_bench *b)
{
	struct sr_histogram h;
	struct sr_sign_figures f;
	bool good;

	if (sr_histogram_new(&h, 10000) < 0)
		return false;
	for (uint64_t i = 0; i < 10000; i++) /* 1 .. 10000, stirred: 7919 is prime */
		(void)!sr_histogram_add(&h, (i * 7919) % 10000 + 1);
	f = sr_sign_figures_of(&h);
	good = f.p25_ns == 2500 && f.p50_ns == 5000 && f.p75_ns == 7500 && f.p90_ns == 9000 &&
	       f.p99_ns == 9900 && f.p999_ns == 9990 && f.p9999_ns == 9999 && f.max_ns == 10000 &&
	       f.count == 10000 && f.near == 1.0;
	sr_histogram_delete(&h);
	if (sr_histogram_new(&h, 5) < 0)
		return false;
	for (uint64_t i = 0; i < 5; i++) /* 5000 from the median is near, 5001 is not */
		(void)!sr_histogram_add(&h, (uint64_t[]){ 4999, 5000, 10000, 15000, 15001 }[i]);
	f = sr_sign_figures_of(&h);
	good &= f.p50_ns == 10000 && f.near > 0.599 && f.near < 0.601;
	sr_histogram_delete(&h);
	return sr_bench_check(b, good, "differ from the definition", "figures of samples");
}

/* Twice as slow a finish must halve its ratio, and a slower refill its rate. */
static bool test_ratios(const struct sr_bench *b)
{
	static struct sr_bench_row rows[SR_SIGN_ROWS];
	struct sr_bench_ratio ratios[RATIOS];
	double checked = 0, off = 0, refill = 0;
	bool good;

	for (uint32_t i = 0; i < SR_SIGN_ROWS; i++) {
		rows[i].count = 1;
		rows[i].tree = 1;
		rows[i].values[0] = 1000;
	}
	rows[SR_ROW_CLOCK].values[0] = 100;
	rows[SR_ROW_BARE_SIGN].values[0] = 60100;
	rows[SR_ROW_REFILL_END - 1].values[0] = 1250;
	good = make_ratios(ratios, rows) <= RATIOS &&
	       sr_bench_quotient(&checked, &ratios[RATIO_CHECKED]) == 0 &&
	       sr_bench_quotient(&off, &ratios[RATIO_NET]) == 0 &&
	       sr_bench_quotient(&refill, &ratios[RATIO_REFILL]) == 0;
	good = good && checked > 60.09 && checked < 60.11 && off > 66.6 && off < 66.7 &&
	       refill > 0.79 && refill < 0.81;
	good = good && !strcmp(sr_bench_verdict(&ratios[RATIO_CHECKED], checked), "gate met") &&
	       !strcmp(sr_bench_verdict(&ratios[RATIO_CHECKED], checked / 2), "GATE MISSED") &&
	       !strcmp(sr_bench_verdict(&ratios[RATIO_REFILL], refill), "GATE MISSED");
	return sr_bench_check(b, good, "are the wrong way round", "ratios");
}

static int selftest(struct sr_bench *b)
{
	if (!test_figures(b) || !test_ratios(b)) {
		(void)printf("%s: selftest: FAILED\n", b->name);
		return 1;
	}
	return sr_bench_selftest(b);
}

/* ---- main ---- */

/* Before the run: after minutes of it is a bad time to learn of a missing folder. */
static int try_samples_path(struct sr_reason *why)
{
	FILE *f = run.samples_path ? fopen(run.samples_path, "we") : NULL;

	if (run.samples_path && !f)
		return sr_reason_set(why, -errno, "cannot write %.200s: %s", run.samples_path,
				     strerror(errno));
	if (f)
		(void)fclose(f);
	return 0;
}

static int set_up(struct sr_bench *b, struct sr_reason *why)
{
	int ret;

	b->cpus[1] = b->cpus[0]; /* no peer: what is stolen from the other is not ours */
	if (run.samples_count)
		b->rounds = (run.samples_count + SR_SIGN_ROUND_SAMPLES - 1) /
			    SR_SIGN_ROUND_SAMPLES;
	ret = try_samples_path(why);
	return ret ? ret : rows_new(b, why);
}

static int check(struct sr_bench *b, struct sr_reason *why)
{
	int ret = b->selftest ? 0 : judge_run(why);

	if (ret == 0 && !b->selftest && run.samples_path)
		ret = sr_sign_samples_write(run.samples_path, b, run.samples, why);
	return ret;
}

static struct sr_bench bench = {
	.name = "bench_sign",
	.notice = SR_UNSEALED_NOTICE,
	.rounds = ROUNDS,
	.set_up = set_up,
	.measure = measure,
	.test = selftest,
	.check = check,
	.report = report,
	.json_more = json_more,
	.tear_down = tear_down,
};

static const struct sr_option options[] = {
	SR_BENCH_OPTIONS_ROUNDS(bench, "400"),
	{ "samples-count", "N", "samples of each row, in rounds of 500 (200000); sets the rounds",
	  sr_set_u32, &run.samples_count, 1, SR_BENCH_ROUNDS_MAX * SR_SIGN_ROUND_SAMPLES },
	{ "samples", "FILE", "write every sample there, in nanoseconds, a column a row",
	  sr_set_text, &run.samples_path, 0, 0 },
};

static const struct sr_program program = {
	.name = "bench_sign",
	.purpose = "Signatures, hashes and presignatures, and what users would pick instead.",
	.operands = "",
	.options = options,
	.option_count = sizeof options / sizeof options[0],
};

int main(int argc, char **argv)
{
	return sr_bench_main(&bench, &program, argc, argv);
}
