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
#include "sr_exp_rows.h"
#include "sr_exp_selftest.h"
#include "sr_heap.h"
#include "sr_trust.h"

#define COST_SAMPLES 20001u

static struct {
	const char *out;
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
	.signer = "local",
	.key = 1,
	.wait = SR_WAIT_AUTO,
};

static struct sr_bench bench = { .name = "exp01" }; /* for its watch and its children */

static struct sr_exp_lab run = {
	.samples = SR_EXP_SCALE,
	.rate = 10000,
	.segment = 32768,
	.bench = &bench,
};
static struct sr_exp_about about;

/* ---- the run ---- */

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
	about.stamp_ns = stamps[COST_SAMPLES / 2] * ns_per_tick;
	about.event_ns = events[COST_SAMPLES / 2] * ns_per_tick - about.stamp_ns;
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
	about.tune = tune[0] == '{' ? tune : NULL;
	about.where = wheres[run.rig.via] ? wheres[run.rig.via] : options.signer;
	about.transport = options.signer;
	about.enclave = run.rig.via == SR_EXP_ADDRESS && is_aws(options.trust);
	for (int i = 0; i < 3; i++)
		about.cpus[i] = run.rig.cpus[i];
	sr_exp_about_fill(&about);
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
		sr_exp_json(stdout, &about, run.rows, run.row_count);
	else
		sr_exp_print(stdout, &about, run.rows, run.row_count);
	(void)fflush(stdout);
	ret = sr_exp_write(options.out, &about, run.rows, run.row_count, why);
	if (ret == 0)
		(void)fprintf(stderr, "exp01: wrote %s; draw it with bench/exp01_figures.sh %s\n",
			      options.out, options.out);
	return ret;
}

/* ---- its own arithmetic ---- */

static int selftest(struct sr_reason *why)
{
	int ret = sr_exp_test_arithmetic(why);

	if (ret == 0)
		ret = sr_exp_test_run(&run, why);
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
	  sr_set_u32, &run.samples, 1000, 100u * SR_EXP_SCALE },
	{ "rate", "N", "orders a second of that row, below the refill (10000)", sr_set_u32,
	  &run.rate, 1, SR_EXP_SCALE },
	{ "segment", "N", "orders between two readings of the traces (32768)", sr_set_u32,
	  &run.segment, 256, SR_TRACE_SLOTS_MAX - SR_EXP_WARM },
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
	run.segment -= run.segment % 256; /* whole batches */
	run.rig.address = options.signer;
	run.rig.identity = options.identity;
	run.rig.trust = options.trust;
	memcpy(run.rig.operators, options.operators, sizeof run.rig.operators);
	run.rig.operator_count = options.operator_count;
	run.rig.wait = options.wait;
	run.rig.orders_max = run.segment;
	run.rig.trace_records = SR_TRACE_SLOTS_MIN;
	while (run.rig.trace_records < run.segment + SR_EXP_WARM)
		run.rig.trace_records *= 2;
	run.samples -= run.samples % 64;
	return 0;
}

static int execute(struct sr_reason *why)
{
	int ret = set_up(why);

	if (ret == 0 && options.selftest)
		return selftest(why);
	if (ret == 0)
		ret = run.rig.via == SR_EXP_ADDRESS ? sr_exp_run_theirs(&run, why) : sr_exp_run_own(&run, why);
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
