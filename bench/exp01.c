/* SPDX-License-Identifier: MIT */
/*
 * exp01 - EXP-01: an order from the trading process through agent, stream and signer and
 * back, a million times, with a stamp at each step.
 *
 * Starts what it needs: by default a sigring-local of its own; with --signer unix an
 * agent and a signer apart; with --signer ADDRESS an agent alone, for a signer that runs
 * there already with --trace (an enclave, say), whose trust file, trader and operator
 * are then given. Sessions are sealed. Keys, operator and manifest of its own signers
 * are made for the run and gone with it.
 *
 * Two kinds of rows, apart: from a pool that is filled before and not touched meanwhile,
 * as fast as orders are answered; and by a schedule, slower than the pool is refilled. A
 * row that found the pool dry has no figure, and of the one of a million orders that
 * ends the run. Nothing is thrown away: steal and context switches stand beside.
 */
#include "sr_address.h"
#include "sr_agent_trace.h"
#include "sr_bench.h"
#include "sr_exp_report.h"
#include "sr_exp_rig.h"
#include "sr_exp_run.h"
#include "sr_exp_selftest.h"
#include "sr_heap.h"
#include "sr_sample.h"
#include "sr_trust.h"
#include "sr_verify.h"

#define ROWS_MAX 16u
#define WARM 64u /* orders before each segment, not counted */
#define SCALE 1000000u
#define COST_SAMPLES 20001u

static struct {
	const char *out;
	uint32_t samples; /* of the paced row; the others are in proportion */
	uint32_t rate;
	uint32_t segment;
	const char *signer;
	const char *identity;
	const char *trust;
	const char *operators[SR_OPERATORS_MAX];
	uint32_t operator_count;
	uint32_t key;
	enum sr_wait_policy wait;
	bool json;
	bool selftest;
} options = {
	.out = "build/exp01",
	.samples = SCALE,
	.rate = 10000,
	.segment = 32768,
	.signer = "local",
	.key = 1,
	.wait = SR_WAIT_AUTO,
};

static struct sr_bench bench = { .name = "exp01" }; /* for its watch and its children */

static struct {
	struct sr_exp_rig rig;
	struct sr_exp_engine engine;
	struct sr_verifier *verifier;
	struct sr_exp_row rows[ROWS_MAX];
	uint32_t row_count;
	struct sr_exp_about about;
	uint64_t dry; /* how often the pool was, by the end of the last row */
} run;

/* ---- rows ---- */

static int verify_last(const struct sr_exp_plan *plan, struct sr_reason *why)
{
	const struct sr_completion *c = &run.engine.last;

	if (run.rig.via == SR_EXP_ADDRESS || plan->typed)
		return 0;
	if (sr_verify_signature(run.verifier, sr_exp_rig_pubkey(), SR_ECDSA_SHA256,
				run.engine.message, SR_EXP_MESSAGE_BYTES, c->signature,
				c->recovery_id))
		return sr_reason_set(why, -EBADMSG, "a signature of the run is wrong");
	return 0;
}

static int run_segment(struct sr_exp_row *row, struct sr_exp_order *orders, uint32_t count,
		       struct sr_reason *why)
{
	static struct sr_exp_order warm[WARM];
	struct sr_exp_plan flat = { .batch = 1 };
	uint64_t first, begin_ns;
	int ret = sr_exp_run(&run.engine, warm, WARM, &flat, &first, why);

	begin_ns = sr_now_ns();
	if (ret == 0)
		ret = sr_exp_run(&run.engine, orders, count, &row->plan, &first, why);
	row->took_ns += sr_now_ns() - begin_ns;
	if (ret == 0)
		ret = verify_last(&row->plan, why);
	if (ret == 0 && row->plan.traced)
		ret = sr_exp_traces_join(&run.rig.traces, orders, count, first, why);
	return ret;
}

static int run_segments(struct sr_exp_row *row, struct sr_reason *why)
{
	uint64_t done = 0;
	int ret = 0;

	while (done < row->plan.count && ret == 0) {
		uint64_t left = row->plan.count - done;
		uint32_t count = left < options.segment ? (uint32_t)left : options.segment;
		uint64_t seconds = row->plan.rate ? count / row->plan.rate : 0;
		struct sr_bench_watch before = sr_bench_look(&bench), after;

		(void)alarm((unsigned int)(SR_BENCH_HANG_S + 2 * seconds));
		ret = run_segment(row, row->orders + done, count, why);
		after = sr_bench_look(&bench);
		row->steal_ns += after.steal_ns - before.steal_ns;
		row->involuntary += after.involuntary - before.involuntary;
		done += count;
	}
	return ret;
}

static int run_row(const struct sr_exp_plan *plan, struct sr_reason *why)
{
	struct sr_exp_row *row = &run.rows[run.row_count];
	uint64_t before = run.dry;
	int ret = sr_exp_row_new(row, plan);

	if (ret)
		return sr_reason_set(why, ret, "no memory for %llu orders",
				     (unsigned long long)plan->count);
	run.row_count++;
	row->watched = run.rig.signer > 0;
	if (plan->traced)
		row->clocks = run.rig.traces.clocks;
	else
		sr_counter_describe(&row->clocks.host);
	ret = run_segments(row, why);
	if (ret == 0)
		ret = sr_exp_rig_dry(&run.dry, why);
	if (ret)
		return ret;
	row->pool_dry = run.dry - before;
	ret = sr_exp_row_sum(row);
	return ret ? sr_reason_set(why, ret, "no memory for the figures") : 0;
}

/* A share of the run's samples, in whole batches. */
static uint64_t part(uint32_t millionths, uint32_t batch)
{
	uint64_t count = (uint64_t)options.samples * millionths / SCALE;

	count -= count % (batch * 64);
	return count ? count : batch * 64;
}

static int run_flat(const char *key, uint32_t batch, uint32_t millionths, bool traced,
		    bool refilled, struct sr_reason *why)
{
	struct sr_exp_plan plan = {
		.key = key,
		.batch = batch,
		.count = part(millionths, batch),
		.traced = traced,
		.refilled = refilled,
	};

	(void)snprintf(plan.text, sizeof plan.text, "flat out, %u at once%s", batch,
		       traced ? "" : ", without a trace");
	return run_row(&plan, why);
}

static int run_paced(const char *key, uint32_t batch, uint32_t rate, uint64_t count,
		     struct sr_reason *why)
{
	struct sr_exp_plan plan = {
		.key = key,
		.batch = batch,
		.rate = rate,
		.count = count,
		.traced = true,
		.refilled = true,
	};

	(void)snprintf(plan.text, sizeof plan.text, "%u a second, %u at once", rate, batch);
	return run_row(&plan, why);
}

static const uint32_t batches[] = { 1, 4, 16, 64 };
static const char *const flat_keys[] = { "burst", "flat_4", "flat_16", "flat_64" };
static const char *const slow_keys[] = { "slow_1", "slow_4", "slow_16", "slow_64" };
static const char *const rate_keys[] = { "paced", "rate_4", "rate_16", "rate_64" };
#define BATCHES (sizeof batches / sizeof batches[0])

static int flat_rows(bool refilled, struct sr_reason *why)
{
	int ret = 0;

	for (uint32_t i = 0; i < BATCHES && ret == 0; i++)
		ret = run_flat(flat_keys[i], batches[i], i ? 16384 : 131072, true, refilled, why);
	return ret;
}

/* The signer gives nonces, which are milliseconds: below a thousand a second. */
static int typed_row(struct sr_reason *why)
{
	static unsigned char body[SAMPLE_BODY_BYTES];
	struct sr_exp_plan plan = {
		.key = "typed",
		.batch = 1,
		.rate = options.rate < 500 ? options.rate : 500,
		.count = part(5000, 1),
		.typed = true,
		.traced = true,
		.refilled = true,
	};
	int bytes = sample_hyperliquid(body, sizeof body, 1, 0);

	if (bytes < 0)
		return sr_reason_set(why, bytes, "cannot build a typed order");
	run.engine.typed_key = 2;
	run.engine.typed_type = SR_TYPE_HYPERLIQUID;
	run.engine.typed_bytes = (uint16_t)bytes;
	run.engine.typed_body = body;
	(void)snprintf(plan.text, sizeof plan.text, "typed orders, %llu a second",
		       (unsigned long long)plan.rate);
	return run_row(&plan, why);
}

/* The row of a million comes last: it is the one that must not fail for another. */
static int paced_rows(struct sr_reason *why)
{
	uint32_t slow = options.rate / 5 ? options.rate / 5 : 1;
	int ret = 0;

	for (uint32_t i = 0; i < BATCHES && ret == 0; i++)
		ret = run_paced(slow_keys[i], batches[i], slow, part(10000, batches[i]), why);
	for (uint32_t i = 1; i < BATCHES && ret == 0; i++)
		ret = run_paced(rate_keys[i], batches[i], options.rate, part(50000, batches[i]), why);
	if (ret == 0 && run.rig.via != SR_EXP_ADDRESS)
		ret = typed_row(why);
	return ret ? ret : run_paced(rate_keys[0], 1, options.rate, options.samples, why);
}

/* ---- the run ---- */

static int begin_phase(const struct sr_exp_pool *pool, bool traced, struct sr_reason *why)
{
	int ret = sr_exp_rig_begin(&run.rig, pool, traced, why);

	run.engine.session = run.rig.session;
	bench.more_thread_count = 0; /* those of the phase before are gone */
	bench.peer = run.rig.agent;
	if (run.rig.cpus[2] >= 0)
		sr_bench_watch_cpu(&bench, run.rig.cpus[2]);
	if (run.rig.signer > 0 && run.rig.signer != run.rig.agent)
		sr_bench_watch_thread(&bench, run.rig.signer);
	return ret ? ret : sr_exp_rig_dry(&run.dry, why);
}

/* Filled before, and enough for all rows that take from it: nothing is made meanwhile. */
static struct sr_exp_pool full_pool(void)
{
	struct sr_exp_pool pool = { .slots = 1024, .low_percent = 1, .batch = 16 };
	uint64_t orders = (uint64_t)options.samples * 220000 / SCALE + 4096;

	while (pool.slots < orders && pool.slots < 262144)
		pool.slots *= 2;
	return pool;
}

static const struct sr_exp_pool steady_pool = { .slots = 8192, .low_percent = 90, .batch = 64 };

static int run_own(struct sr_reason *why)
{
	struct sr_exp_pool full = full_pool();
	int ret = begin_phase(&full, false, why);

	if (ret == 0)
		ret = run_flat("untraced", 1, 32768, false, false, why);
	sr_exp_rig_end(&run.rig);
	if (ret == 0)
		ret = begin_phase(&full, true, why);
	if (ret == 0)
		ret = flat_rows(false, why);
	sr_exp_rig_end(&run.rig);
	if (ret == 0)
		ret = begin_phase(&steady_pool, true, why);
	if (ret == 0)
		ret = paced_rows(why);
	return ret;
}

/* What its pool is like the signer alone knows: a row that ran it dry says so. */
static int run_theirs(struct sr_reason *why)
{
	int ret = begin_phase(NULL, true, why);

	if (ret == 0)
		ret = paced_rows(why);
	return ret ? ret : flat_rows(true, why);
}

static int ascending(const void *a, const void *b)
{
	return sr_bench_ascending(a, b);
}

/* Medians of what one stamp, and one event of the agent's trace, take. */
static void measure_cost(const struct sr_counter *counter)
{
	static double stamps[COST_SAMPLES], events[COST_SAMPLES];
	double ns_per_tick = 1e9 / (double)counter->ticks_per_s;
	struct sr_agent_trace *trace = NULL;
	uint32_t kind = counter->kind;

	if (sr_agent_trace_new(&trace, 1024) < 0)
		return;
	for (uint32_t i = 0; i < COST_SAMPLES; i++) {
		uint64_t begin = sr_counter_now(kind), middle = sr_counter_now(kind), end;

		sr_agent_trace_picked(trace, i);
		end = sr_counter_now(kind);
		stamps[i] = (double)(middle - begin);
		events[i] = (double)(end - middle);
	}
	qsort(stamps, COST_SAMPLES, sizeof stamps[0], ascending);
	qsort(events, COST_SAMPLES, sizeof events[0], ascending);
	run.about.stamp_ns = stamps[COST_SAMPLES / 2] * ns_per_tick;
	run.about.event_ns = events[COST_SAMPLES / 2] * ns_per_tick - run.about.stamp_ns;
	sr_agent_trace_delete(trace);
}

static bool is_aws(const char *path)
{
	struct sr_attest_root aws;
	struct sr_trust trust;
	struct sr_reason why;

	sr_attest_root_aws(&aws);
	return path && sr_trust_load(&trust, path, &why) == 0 &&
	       !memcmp(&trust.root, &aws, sizeof aws);
}

static void describe(void)
{
	static const char *const wheres[] = {
		[SR_EXP_LOCAL] = "sigring-local, agent and signer in one process",
		[SR_EXP_UNIX] = "agent and signer apart, over a Unix stream",
		[SR_EXP_ADDRESS] = NULL,
	};
	static char tune[1 << 16];

	sr_exp_rig_tune(tune, sizeof tune);
	run.about.tune = tune[0] == '{' ? tune : NULL;
	run.about.where = wheres[run.rig.via] ? wheres[run.rig.via] : options.signer;
	run.about.transport = options.signer;
	run.about.enclave = run.rig.via == SR_EXP_ADDRESS && is_aws(options.trust);
	for (int i = 0; i < 3; i++)
		run.about.cpus[i] = run.rig.cpus[i];
	sr_exp_about_fill(&run.about);
}

static int set_up(struct sr_reason *why)
{
	struct sr_counter counter;
	int ret = 0;

	sr_counter_describe(&counter);
	run.engine.counter = counter.kind;
	run.engine.ticks_per_s = counter.ticks_per_s;
	run.engine.key = run.rig.via == SR_EXP_ADDRESS ? options.key : 1;
	measure_cost(&counter);
	if (sr_heap_protect(SR_HEAP_BYTES))
		ret = sr_reason_set(why, -ENOMEM, "cannot lock memory for OpenSSL: raise `ulimit -l`");
	if (ret == 0)
		ret = sr_verifier_new(&run.verifier);
	if (ret == 0)
		ret = sr_exp_rig_new(&run.rig, why);
	return ret;
}

static void tear_down(void)
{
	sr_exp_rig_delete(&run.rig);
	sr_verifier_delete(run.verifier);
	for (uint32_t i = 0; i < run.row_count; i++)
		sr_exp_row_delete(&run.rows[i]);
}

/* The row that EXP-01 is about counts only with a pool that was never dry. */
static int judge(struct sr_reason *why)
{
	const struct sr_exp_row *row;

	for (uint32_t i = 0; i < run.row_count; i++) {
		row = &run.rows[i];
		if (row->unjoined * 1000 > row->plan.count)
			return sr_reason_set(why, -EBADMSG, "%llu orders of row %s lack a stamp",
					     (unsigned long long)row->unjoined, row->plan.key);
		if (row->pool_dry &&
		    (run.rig.via != SR_EXP_ADDRESS || !strcmp(row->plan.key, "paced")))
			return sr_reason_set(why, -EBADMSG,
					     "the pool was dry in row %s: no figure; lower --rate",
					     row->plan.key);
	}
	return 0;
}

static int report(struct sr_reason *why)
{
	int ret;

	if (options.json)
		sr_exp_json(stdout, &run.about, run.rows, run.row_count);
	else
		sr_exp_print(stdout, &run.about, run.rows, run.row_count);
	(void)fflush(stdout);
	ret = sr_exp_write(options.out, &run.about, run.rows, run.row_count, why);
	if (ret == 0)
		(void)fprintf(stderr, "exp01: wrote %s; draw it with bench/exp01_figures.sh %s\n",
			      options.out, options.out);
	return ret;
}

/* ---- its own arithmetic ---- */

/* A short run of everything: each order has each stamp, each stage a time, and a delay in
 * front of each poll is in the last stage and in no other. */
static int test_run(struct sr_reason *why)
{
	const struct sr_exp_pool *pool = &steady_pool;
	int ret;

	options.samples = 2048;
	options.segment = 512;
	ret = begin_phase(pool, true, why);
	if (ret == 0)
		ret = run_paced("paced", 1, 2000, 1024, why);
	if (ret == 0)
		ret = run_paced("rate_16", 16, 2000, 512, why);
	if (ret == 0)
		ret = typed_row(why);
	if (ret == 0)
		ret = run_flat("flat_64", 64, SCALE / 16, true, true, why);
	run.engine.poll_delay_ns = SR_EXP_TEST_DELAY_NS;
	if (ret == 0)
		ret = run_paced("delayed", 1, 100, 64, why);
	if (ret == 0)
		ret = sr_exp_test_rows(run.rows, run.row_count, why);
	return ret;
}

static int selftest(struct sr_reason *why)
{
	int ret = sr_exp_test_arithmetic(why);

	if (ret == 0)
		ret = test_run(why);
	(void)printf("exp01: selftest: %s\n", ret ? "FAILED" : "ok");
	return ret;
}

/* ---- the command line ---- */

static int add_operator(void *target, const char *value, const struct sr_option *o,
			struct sr_reason *why)
{
	(void)target;
	if (options.operator_count == SR_OPERATORS_MAX)
		return sr_reason_set(why, -EINVAL, "%s: at most %u", o->name, SR_OPERATORS_MAX);
	options.operators[options.operator_count++] = value;
	return 0;
}

static const struct sr_option known[] = {
	{ "out", "FOLDER", "where the files go (build/exp01)", sr_set_text, &options.out, 0, 0 },
	{ "samples", "N", "orders of the paced row; others are in proportion (1000000)",
	  sr_set_u32, &options.samples, 1000, 100u * SCALE },
	{ "rate", "N", "orders a second of that row, below the refill (10000)", sr_set_u32,
	  &options.rate, 1, SCALE },
	{ "segment", "N", "orders between two readings of the traces (32768)", sr_set_u32,
	  &options.segment, 256, SR_TRACE_SLOTS_MAX - WARM },
	{ "signer", "WHICH", "local, unix, or the ADDRESS of one that runs (local)", sr_set_text,
	  &options.signer, 0, 0 },
	{ "identity", "FILE", "with an ADDRESS: the trader's key pair", sr_set_text,
	  &options.identity, 0, 0 },
	{ "trust", "FILE", "with an ADDRESS: which signer is believed", sr_set_text,
	  &options.trust, 0, 0 },
	{ "operator", "FILE", "with an ADDRESS: who may read its trace; may be repeated",
	  add_operator, NULL, 0, 0 },
	{ "key", "ID", "with an ADDRESS: a key of nonce presign, permitted ecdsa-sha256 (1)",
	  sr_set_u32, &options.key, 1, UINT32_MAX },
	{ "wait", "POLICY", "how agent and signer wait: spin, yield, or by the CPUs (auto)",
	  sr_set_wait, &options.wait, 0, 0 },
	{ "json", NULL, "print the summary as JSON", sr_set_true, &options.json, 0, 0 },
	{ "selftest", NULL, "check the benchmark itself, in seconds", sr_set_true,
	  &options.selftest, 0, 0 },
};

static const struct sr_program program = {
	.name = "exp01",
	.purpose = "An order to the signer and back, a million times, stamped at each step.",
	.operands = "",
	.options = known,
	.option_count = sizeof known / sizeof known[0],
};

static int judge_options(struct sr_reason *why)
{
	struct sr_address address;

	if (!strcmp(options.signer, "local"))
		run.rig.via = SR_EXP_LOCAL;
	else if (!strcmp(options.signer, "unix"))
		run.rig.via = SR_EXP_UNIX;
	else
		run.rig.via = SR_EXP_ADDRESS;
	if (run.rig.via == SR_EXP_ADDRESS && sr_address_parse(&address, options.signer, why) < 0)
		return -EINVAL;
	if (run.rig.via == SR_EXP_ADDRESS &&
	    (!options.identity || !options.trust || !options.operator_count))
		return sr_reason_set(why, -EINVAL, "--signer ADDRESS needs --identity, --trust and "
						   "--operator");
	if (run.rig.via != SR_EXP_ADDRESS &&
	    (options.identity || options.trust || options.operator_count))
		return sr_reason_set(why, -EINVAL, "--identity, --trust and --operator go with "
						   "--signer ADDRESS");
	if (options.wait == SR_WAIT_BLOCK)
		return sr_reason_set(why, -EINVAL, "--wait must be spin, yield or auto");
	options.segment -= options.segment % 256; /* whole batches */
	run.rig.address = options.signer;
	run.rig.identity = options.identity;
	run.rig.trust = options.trust;
	memcpy(run.rig.operators, options.operators, sizeof run.rig.operators);
	run.rig.operator_count = options.operator_count;
	run.rig.wait = options.wait;
	run.rig.orders_max = options.segment;
	run.rig.trace_records = SR_TRACE_SLOTS_MIN;
	while (run.rig.trace_records < options.segment + WARM)
		run.rig.trace_records *= 2;
	options.samples -= options.samples % 64;
	return 0;
}

static int execute(struct sr_reason *why)
{
	int ret = set_up(why);

	if (ret == 0 && options.selftest)
		return selftest(why);
	if (ret == 0)
		ret = run.rig.via == SR_EXP_ADDRESS ? run_theirs(why) : run_own(why);
	if (ret == 0) {
		(void)alarm(0);
		describe();
		ret = judge(why);
	}
	return ret ? ret : report(why);
}

int main(int argc, char **argv)
{
	struct sr_reason why = { 0, "" };
	int ret = sr_config_args(&program, argc, argv, &why);

	if (ret >= 0)
		ret = ret < argc ? sr_reason_set(&why, -EINVAL, "unexpected argument `%s`",
						 argv[ret]) : judge_options(&why);
	if (ret == 0)
		ret = sr_exp_rig_cpus(&run.rig, &why);
	if (ret == 0)
		ret = sr_bench_begin(&bench, &why);
	if (ret < 0)
		return sr_bench_fail(&bench, ret, &why);
	ret = execute(&why);
	if (ret < 0)
		sr_exp_rig_show_log();
	tear_down();
	return ret < 0 ? sr_bench_fail(&bench, ret, &why) : 0;
}
