/* SPDX-License-Identifier: MIT */
/*
 * bench_dudect - does the time of an operation depend on its secret?
 *
 * After Reparaz, Balasch and Verbauwhede, "Dude, is my code constant time?" (DATE
 * 2017): each operation is timed with one fixed secret and with random ones, in random
 * order, and Welch's t-test says whether the two have one mean. Interrupts bury small
 * differences, so the test is done on all times, on those below each of a hundred
 * bounds, and on squared distances from the mean; the largest |t| counts. Above 10 an
 * operation certainly leaks, above 4.5 perhaps; below that nothing was found with so
 * many samples, which proves nothing: `make ct` looks at the instructions.
 *
 * Two controls compare 32 bytes: one stops at the first that differs, and must be
 * found; the other is sr_equal(). Only the first is judged by the exit code.
 */
#include <math.h>

#include "sr_batch.h"
#include "sr_bench.h"
#include "sr_getrandom.h"
#include "sr_pool.h"
#include "sr_presign.h"
#include "sr_secret.h"
#include "sr_ticks.h"

#define CHUNK 2048u         /* inputs made, then measured */
#define CROPS 100u          /* bounds, see crop_bounds() */
#define TESTS (CROPS + 2u)  /* and all times, and the second moment */
#define TEST_ALL CROPS
#define TEST_SQUARE (CROPS + 1u)
#define SAMPLES_ENOUGH 5000u /* of each class: a test of fewer says nothing */
#define T_PERHAPS 4.5
#define T_CERTAIN 10.0
#define PRESIGS 1024u
#define SAMPLES_TEST 40000u

/* One Welch's t-test, fed a sample at a time (Welford's recurrence). */
struct welch {
	double mean[2];
	double squares[2]; /* sum of squared distances from the mean */
	double count[2];
};

/* A secret input; in protected memory. */
struct input {
	unsigned char a[SR_SCALAR_BYTES];
	unsigned char b[SR_SCALAR_BYTES];
	unsigned char ab[SR_SCALAR_BYTES];
	unsigned char digest[SR_SCALAR_BYTES];
	struct sr_presig presig;
	uint32_t random; /* the class: 0 fixed, 1 random */
};

struct secrets {
	struct input inputs[CHUNK];
	struct input now; /* copied here, so that both classes are as warm */
	struct input fixed;
	struct sr_presign_work work;
	struct sr_presig presigs[PRESIGS];
	unsigned char out[SR_SCALAR_BYTES];
};

struct target {
	const char *key;
	const char *text;
	bool control;
	void (*once)(void);
};

static struct {
	uint32_t samples;
	bool json;
	bool selftest;
	struct sr_ticks ticks;
	struct secrets *secrets;
	struct sr_curve *curve;
	struct sr_batch *batch;
	struct sr_pool *pool;
	unsigned char pubkey[SR_PUBKEY_BYTES];
	uint64_t random;
	uint64_t failures; /* operations that refused: none may */
	volatile bool equal;
	double times[CHUNK];
	double bounds[CROPS];
	double centre;
	struct welch tests[TESTS];
} run = { .samples = 500000 };

/* ---- Welch's t-test ---- */

static void welch_add(struct welch *w, uint32_t class, double x)
{
	double from = x - w->mean[class];

	w->count[class] += 1;
	w->mean[class] += from / w->count[class];
	w->squares[class] += from * (x - w->mean[class]);
}

static double welch_t(const struct welch *w)
{
	double spread = 0;

	for (int class = 0; class < 2; class++) {
		if (w->count[class] < 2)
			return 0;
		spread += w->squares[class] / (w->count[class] - 1) / w->count[class];
	}
	return spread > 0 ? (w->mean[0] - w->mean[1]) / sqrt(spread) : 0;
}

/* The first chunk's percentiles, dense near the maximum, as the authors' program has
 * them: 1 - 2^(-i/10). Its times are used for nothing else. */
static void crop_bounds(void)
{
	double sorted[CHUNK], sum = 0;

	memcpy(sorted, run.times, sizeof sorted);
	(void)sr_bench_rank(sorted, CHUNK, 0); /* sorts */
	for (uint32_t i = 0; i < CROPS; i++)
		run.bounds[i] = sorted[(uint32_t)((1 - pow(0.5, 10.0 * (i + 1) / CROPS)) * CHUNK)];
	for (uint32_t i = 0; i < CHUNK; i++)
		sum += run.times[i];
	run.centre = sum / CHUNK;
	memset(run.tests, 0, sizeof run.tests);
}

static void tests_add(void)
{
	for (uint32_t i = 0; i < CHUNK; i++) {
		uint32_t class = run.secrets->inputs[i].random;
		double x = run.times[i], from = x - run.centre;

		welch_add(&run.tests[TEST_ALL], class, x);
		welch_add(&run.tests[TEST_SQUARE], class, from * from);
		for (uint32_t c = 0; c < CROPS; c++)
			if (x < run.bounds[c])
				welch_add(&run.tests[c], class, x);
	}
}

/* The largest |t|. @which: out, its test. */
static double tests_worst(uint32_t *which)
{
	double worst = 0;

	*which = TEST_ALL;
	for (uint32_t i = 0; i < TESTS; i++) {
		const struct welch *w = &run.tests[i];
		double t = fabs(welch_t(w));

		if (w->count[0] >= SAMPLES_ENOUGH && w->count[1] >= SAMPLES_ENOUGH && t > worst) {
			worst = t;
			*which = i;
		}
	}
	return worst;
}

/* ---- what is timed ---- */

static void must(bool good)
{
	run.failures += !good;
}

static void leaky_once(void)
{
	const volatile unsigned char *a = run.secrets->now.a, *b = run.secrets->fixed.a;
	bool equal = true;

	for (uint32_t i = 0; i < SR_SCALAR_BYTES && equal; i++)
		equal = a[i] == b[i];
	run.equal = equal;
}

static void equal_once(void)
{
	run.equal = sr_equal(run.secrets->now.a, run.secrets->fixed.a, SR_SCALAR_BYTES);
}

static void scalar_once(void)
{
	must(sr_scalar_mul(run.curve, run.secrets->out, run.secrets->now.a, run.secrets->now.b));
}

static void presign_once(void)
{
	struct input *in = &run.secrets->now;
	struct sr_presign_key key = { .d = in->a, .b = in->b, .bd = in->ab };
	uint8_t recid;

	must(sr_presign_ecdsa(run.curve, &run.secrets->work, &recid, in->digest, &key) == 0);
}

static void point_once(void)
{
	must(sr_batch_step(run.batch) == 1);
}

static void pubkey_once(void)
{
	unsigned char address[20];

	must(sr_curve_pubkey(run.curve, run.pubkey, address, run.secrets->now.a) == 0);
}

static const struct target targets[] = {
	{ "leaky_compare", "control: a comparison that stops early", true, leaky_once },
	{ "equal", "control: sr_equal()", true, equal_once },
	{ "scalar_mul", "sr_scalar_mul()", false, scalar_once },
	{ "presign", "sr_presign_ecdsa(): key, nonce and its inverse", false, presign_once },
	{ "batch_point", "sr_batch_step(): k*G and the running product", false, point_once },
	{ "key_load", "sr_curve_pubkey(): a key is loaded", false, pubkey_once },
};

#define TARGETS (sizeof targets / sizeof targets[0])

/* ---- inputs ---- */

static uint64_t next_random(void)
{
	run.random ^= run.random << 13;
	run.random ^= run.random >> 7;
	run.random ^= run.random << 17;
	return run.random * 0x2545f4914f6cdd1du;
}

static void scalar_random(unsigned char *out)
{
	for (uint32_t i = 0; i < SR_SCALAR_BYTES; i += 8)
		sr_put64(out + i, next_random());
	out[0] &= 0x7f; /* below the group's order, for certain */
}

/* Both classes cost the same here, or what comes next would find other caches. */
static void make_inputs(void)
{
	struct secrets *s = run.secrets;

	for (uint32_t i = 0; i < CHUNK; i++) {
		struct input *in = &s->inputs[i];

		scalar_random(in->a);
		scalar_random(in->b);
		must(sr_scalar_mul(run.curve, in->ab, in->b, in->a));
		in->presig = s->presigs[next_random() % PRESIGS];
		in->random = (uint32_t)(next_random() >> 63);
		if (!in->random)
			*in = s->fixed;
		scalar_random(in->digest); /* public: alike in both */
	}
}

/* All of what any target reads, whichever is next. Not timed. */
static void load_input(uint32_t i)
{
	struct secrets *s = run.secrets;

	s->now = s->inputs[i];
	s->work.presig = s->now.presig;
	run.batch->phase = SR_BATCH_POINTS;
	run.batch->at = 1; /* the first of a batch multiplies no product */
	memcpy(run.batch->products[0], s->now.b, SR_SCALAR_BYTES);
	memcpy(run.batch->sum, s->now.b, SR_SCALAR_BYTES);
	memcpy(run.batch->products[1], s->now.a, SR_SCALAR_BYTES);
}

static void measure_chunk(const struct target *t)
{
	make_inputs();
	for (uint32_t i = 0; i < CHUNK; i++) {
		uint64_t begin;

		load_input(i);
		begin = sr_ticks_now(&run.ticks);
		t->once();
		run.times[i] = sr_ticks_ns(&run.ticks, sr_ticks_now(&run.ticks) - begin);
	}
}

static double measure(const struct target *t, uint32_t samples, uint32_t *which)
{
	measure_chunk(t); /* warms up */
	measure_chunk(t);
	crop_bounds();
	for (uint32_t done = 0; done < samples; done += CHUNK) {
		(void)alarm(SR_BENCH_HANG_S);
		measure_chunk(t);
		tests_add();
	}
	(void)alarm(0);
	return tests_worst(which);
}

/* ---- setting up ---- */

static int take_presigs(void)
{
	int ret = sr_pool_fill(run.pool);

	for (uint32_t i = 0; i < PRESIGS && ret == 0; i++)
		ret = sr_pool_take(run.pool, &run.secrets->presigs[i]);
	return ret;
}

/* Sparse, so that whatever skips zeroes is quick with it. */
static void make_fixed(void)
{
	struct input *in = &run.secrets->fixed;

	in->a[SR_SCALAR_BYTES / 2] = 1;
	in->b[SR_SCALAR_BYTES / 4] = 1;
	in->presig = run.secrets->presigs[0];
	must(sr_scalar_mul(run.curve, in->ab, in->b, in->a));
}

static int set_up(struct sr_reason *why)
{
	const struct sr_pool_config config = {
		.entropy = &sr_getrandom, .slots = PRESIGS, .low = 1, .batch = SR_BATCH_MAX,
	};
	unsigned char seed[SR_SCALAR_BYTES];
	void *mem = NULL;
	int ret = sr_secret_alloc(&mem, sizeof *run.secrets);

	run.secrets = mem;
	if (ret == 0)
		ret = sr_getrandom.get(sr_getrandom.arg, seed, sizeof seed);
	if (ret == 0)
		ret = sr_curve_new(&run.curve, seed);
	if (ret == 0)
		ret = sr_batch_new(&run.batch, &sr_getrandom, 2);
	if (ret == 0)
		ret = sr_pool_new(&run.pool, &config);
	if (ret == 0)
		ret = take_presigs();
	if (ret < 0)
		return sr_reason_set(why, ret, "cannot start: %s", strerror(-ret));
	run.random = sr_get64(seed) | 1;
	make_fixed();
	sr_ticks_begin(&run.ticks);
	return 0;
}

static void tear_down(void)
{
	sr_pool_delete(run.pool);
	sr_batch_delete(run.batch);
	sr_curve_delete(run.curve);
	sr_secret_free(run.secrets, sizeof *run.secrets);
}

/* ---- the figures ---- */

static const char *verdict(double t)
{
	if (t > T_CERTAIN)
		return "depends on the secret";
	return t > T_PERHAPS ? "perhaps: take more samples" : "nothing found";
}

static void print_target(const struct target *t, double worst, uint32_t which, bool first)
{
	const struct welch *all = &run.tests[TEST_ALL];
	const struct welch *w = which == TEST_SQUARE ? all : &run.tests[which];
	double apart_ns = w->mean[0] - w->mean[1];
	char test[32];

	if (which == TEST_ALL)
		(void)snprintf(test, sizeof test, "all");
	else if (which == TEST_SQUARE)
		(void)snprintf(test, sizeof test, "squares");
	else
		(void)snprintf(test, sizeof test, "below %.0f ns", run.bounds[which]);
	if (run.json)
		(void)printf("%s\"%s\":{\"control\":%s,\"t\":%.2f,\"test\":\"%s\",\"samples\":%.0f,"
			     "\"mean_ns\":%.2f,\"apart_ns\":%.3f,\"verdict\":\"%s\"}",
			     first ? "" : ",", t->key, t->control ? "true" : "false", worst, test,
			     all->count[0] + all->count[1], w->mean[1], apart_ns, verdict(worst));
	else
		(void)printf("  %-48s |t| %8.2f  (%s; means %+.2f of %.0f ns)  %s\n", t->text,
			     worst, test, apart_ns, w->mean[1], verdict(worst));
}

static void print_head(const char *name)
{
	struct sr_machine m;

	sr_machine_get(&m);
	if (run.json) {
		(void)printf("{");
		sr_bench_json_text("program", name);
		sr_bench_json_text("version", SR_VERSION);
		sr_bench_json_text("cpu", m.cpu);
		sr_bench_json_text("libsecp256k1", m.secp256k1);
		sr_machine_json(stdout, &m);
		(void)printf(",\"targets\":{");
		return;
	}
	(void)printf("%s %s: Welch's t, a fixed secret against random ones; %u samples each\n"
		     "%s; libsecp256k1 %s; clock: %s\n", name, SR_VERSION, run.samples, m.cpu,
		     m.secp256k1, run.ticks.counter ? "the time-stamp counter, fenced" :
		     "CLOCK_MONOTONIC");
	sr_machine_print(stdout, &m);
}

/* Returns the exit code: 1 when the leak of the control was not found. */
static int report(const char *name)
{
	bool found = false;

	print_head(name);
	for (size_t i = 0; i < TARGETS; i++) {
		uint32_t which;
		double worst = measure(&targets[i], run.samples, &which);

		if (i == 0)
			found = worst > T_CERTAIN;
		print_target(&targets[i], worst, which, i == 0);
		(void)fflush(stdout);
	}
	if (run.json)
		(void)printf("}}\n");
	if (!found)
		(void)fprintf(stderr, "%s: the control's leak was not found: the rest says "
			      "nothing\n", name);
	if (run.failures)
		(void)fprintf(stderr, "%s: %llu operations failed\n", name,
			      (unsigned long long)run.failures);
	return found && !run.failures ? 0 : 1;
}

/* ---- the self-test ---- */

/* By the textbook: 1..5 against 2, 4, 6, 8, 10 is t = -3 / sqrt(2.5/5 + 10/5). */
static bool test_welch(void)
{
	struct welch w = { { 0 }, { 0 }, { 0 } };

	for (int i = 1; i <= 5; i++) {
		welch_add(&w, 0, i);
		welch_add(&w, 1, 2 * i);
	}
	return fabs(welch_t(&w) - -3 / sqrt(2.5)) < 1e-12;
}

/* The leak is found, and in sr_equal() none; a busy machine may fool that once. */
static bool test_controls(void)
{
	uint32_t which;
	bool found = measure(&targets[0], SAMPLES_TEST, &which) > T_CERTAIN, quiet = false;

	for (int try = 0; try < 3 && !quiet; try++)
		quiet = measure(&targets[1], SAMPLES_TEST, &which) < T_CERTAIN;
	return found && quiet;
}

static int selftest(const char *name)
{
	bool good = true;

	if (!test_welch()) {
		(void)fprintf(stderr, "%s: selftest: t: differs from the definition\n", name);
		good = false;
	}
	if (!test_controls()) {
		(void)fprintf(stderr, "%s: selftest: the controls: the leak is not found, or one "
			      "is where none can be\n", name);
		good = false;
	}
	(void)printf("%s: selftest: %s\n", name, good ? "ok" : "FAILED");
	return good ? 0 : 1;
}

/* ---- main ---- */

static const struct sr_option options[] = {
	{ "samples", "N", "times of each operation (500000)", sr_set_u32, &run.samples, 20000,
	  100000000 },
	{ "json", NULL, "print one JSON object", sr_set_true, &run.json, 0, 0 },
	{ "selftest", NULL, "check the benchmark itself, in seconds", sr_set_true, &run.selftest, 0,
	  0 },
};

static const struct sr_program program = {
	.name = "bench_dudect",
	.purpose = "Does the time of an operation depend on its secret? Reported, never gated.",
	.operands = "",
	.options = options,
	.option_count = sizeof options / sizeof options[0],
};

int main(int argc, char **argv)
{
	static struct sr_bench bench = { .name = "bench_dudect" };
	struct sr_reason why = { 0, "" };
	int ret = sr_config_args(&program, argc, argv, &why);

	if (ret >= 0)
		ret = ret < argc ? sr_reason_set(&why, -EINVAL, "unexpected argument `%s`",
						 argv[ret]) : sr_bench_begin(&bench, &why);
	if (ret < 0)
		return sr_bench_fail(&bench, ret, &why);
	ret = set_up(&why);
	if (ret == 0)
		ret = run.selftest ? selftest(bench.name) : report(bench.name);
	tear_down();
	return ret < 0 ? sr_bench_fail(&bench, ret, &why) : ret;
}
