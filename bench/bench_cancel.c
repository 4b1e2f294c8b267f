/* SPDX-License-Identifier: MIT */
/*
 * bench_cancel - how long a cancel waits behind a burst of orders.
 *
 * A sigring-local of the benchmark's own on the second CPU, sealed sessions on the first. A
 * sample is a burst of 64 orders in one session and then a cancel: in that session, where
 * it is answered behind them, or in a priority session, which agent and signer drain
 * first. The clock runs from the cancel's submit until it has been popped; all else is
 * popped before the next sample. A cancel without a burst is the floor. Samples are of
 * one kind a row, and rounds interleave the rows.
 *
 * Nonces are made beforehand, again between rounds when they are used up, and the pool is
 * never dry: what is seen is waiting in line.
 */
#include "sr_local_rig.h"
#include "sr_tails.h"

#define BURST 64u
#define ROUNDS 200u
#define SAMPLES 50u /* of a row in a round: 10,000 of all, so that p99.9 has its ten beyond */
#define SAMPLES_TEST 2u
#define MESSAGE_BYTES 256u
#define READY_NS (240ull * SR_NS_PER_S) /* a pool has to be filled, by a CPU that others share */
#define POOL_SLOTS 262144u
#define ROUND_ORDERS (SAMPLES * (2 * BURST + ROWS))

enum row { ROW_ALONE, ROW_SAME, ROW_PRIORITY, ROWS };
enum { NORMAL, PRIORITY, SESSIONS };

static struct {
	struct sr_client *client;
	struct sr_session *sessions[SESSIONS];
	struct sr_histogram samples[ROWS];
	uint64_t number;    /* of the last order, from 1 */
	uint64_t filled_at; /* the number at which the pool was full */
	unsigned char message[MESSAGE_BYTES];
} run;

static int submit(uint32_t session)
{
	struct sr_request request = { .key = 1,
				      .type = SR_ECDSA_SHA256,
				      .body_bytes = MESSAGE_BYTES,
				      .body = run.message,
				      .user_data = ++run.number };

	sr_put64(run.message, run.number);
	return sr_submit(run.sessions[session], &request);
}

/* Polls until it has found this number; takes whatever comes before it. */
static int await(uint32_t session, uint64_t number)
{
	struct sr_completion c;
	int n;

	for (;;) {
		n = sr_poll(run.sessions[session], &c, 1);
		if (n < 0)
			return n;
		if (n > 0 && c.status != SR_OK)
			return -EBADMSG;
		if (n > 0 && c.user_data == number)
			return 0;
	}
}

static int sample(enum row row, uint64_t delay_ns, uint64_t *took_ns)
{
	uint32_t session = row == ROW_PRIORITY ? PRIORITY : NORMAL;
	uint64_t begin_ns, last = 0;
	int ret = 0;

	for (uint32_t i = 0; i < BURST && row != ROW_ALONE && !ret; i++) {
		ret = submit(NORMAL);
		last = run.number;
	}
	begin_ns = sr_now_ns();
	if (!ret)
		ret = submit(session);
	if (!ret)
		ret = await(session, run.number);
	if (delay_ns)
		sr_bench_spin(delay_ns);
	*took_ns = sr_now_ns() - begin_ns;
	/* The burst that was overtaken. */
	return ret || row != ROW_PRIORITY ? ret : await(NORMAL, last);
}

static int measure(struct sr_bench *b, uint32_t at)
{
	uint32_t count = b->selftest ? SAMPLES_TEST : SAMPLES;
	double values[SAMPLES];
	int ret = 0;

	for (uint32_t i = 0; i < count && !ret; i++) {
		uint64_t took_ns = 0;

		ret = sample((enum row)at, (int)at == b->delay_row ? b->delay_ns : 0, &took_ns);
		values[i] = (double)took_ns;
		(void)!sr_histogram_add(&run.samples[at], took_ns);
	}
	if (ret < 0)
		return ret;
	b->rows[at].now = sr_bench_rank(values, count, SR_BENCH_SHARE_ALL / 2);
	b->rows[at].best = values[0];
	b->rows[at].tree = sr_bench_tree(b->peer);
	return 0;
}

/* ---- sigring-local ---- */

/*
 * In front of a round that would empty the pool it is filled again, with nothing measured
 * meanwhile: some orders take it below its mark, the signer's idle turns do the rest.
 */
static int prepare(struct sr_bench *b)
{
	uint32_t slots = POOL_SLOTS, low = slots / 100 * RIG_POOL_LOW;
	int ret = 0;

	(void)b;
	if (run.number - run.filled_at + ROUND_ORDERS + 2 * low < slots)
		return 0;
	(void)alarm(0);
	while (run.number - run.filled_at <= slots - low && !ret) {
		ret = submit(NORMAL);
		if (!ret)
			ret = await(NORMAL, run.number);
	}
	(void)signal(SIGCHLD, SIG_DFL);
	if (!ret)
		ret = rig_await_pool(run.number, READY_NS, NULL);
	(void)signal(SIGCHLD, sr_bench_hung);
	run.filled_at = run.number;
	return ret;
}

static int open_sessions(struct sr_reason *why)
{
	struct sr_session_options priority = { .flags = SR_SESSION_PRIORITY };
	struct sr_options opt;
	int ret;

	sr_options_init(&opt);
	opt.socket = rig.socket;
	opt.sessions = SESSIONS;
	opt.wait = SR_WAIT_SPIN;
	opt.timeout_ns = READY_NS;
	opt.stale_ns = SR_BENCH_HANG_S * (uint64_t)SR_NS_PER_S;
	opt.identity = rig.identity;
	opt.trust = rig.trust;
	ret = sr_open(&run.client, &opt, why);
	if (!ret)
		ret = sr_session_open(&run.sessions[NORMAL], run.client, NULL, why);
	return ret ? ret : sr_session_open(&run.sessions[PRIORITY], run.client, &priority, why);
}

static int start_local(struct sr_bench *b, struct sr_reason *why)
{
	int ret = rig_start(b, b->selftest ? 8192 : POOL_SLOTS, READY_NS, why);

	if (!ret)
		ret = open_sessions(why);
	(void)signal(SIGCHLD, sr_bench_hung);
	return ret;
}

static int check(struct sr_bench *b, struct sr_reason *why)
{
	(void)b;
	return rig_check_pool(why);
}

static int set_up(struct sr_bench *b, struct sr_reason *why)
{
	size_t room = (size_t)SAMPLES * (b->selftest ? 64 : b->rounds * SR_BENCH_TRIES);
	int ret = rig_find_programs(why);

	(void)sr_bench_row(b, "alone", "a cancel, nothing before it", SR_BENCH_NS);
	(void)sr_bench_row(b, "same", "behind 64 orders, in their session", SR_BENCH_NS);
	(void)sr_bench_row(b, "priority", "behind 64 orders, in a priority session", SR_BENCH_NS);
	for (int i = 0; i < ROWS && !ret; i++)
		ret = sr_histogram_new(&run.samples[i], room);
	if (!ret)
		ret = rig_provision(why);
	return ret ? ret : start_local(b, why);
}

static void tear_down(struct sr_bench *b)
{
	sr_close(run.client);
	if (b->peer > 0) {
		(void)kill(b->peer, SIGTERM);
		(void)waitpid(b->peer, NULL, 0);
	}
	rig_remove();
	for (int i = 0; i < ROWS; i++)
		sr_histogram_delete(&run.samples[i]);
}

static void json_tails(const struct sr_bench *b)
{
	sr_tails_json(b, run.samples, NULL);
}

static int report(const struct sr_bench *b)
{
	const struct sr_bench_ratio ratios[] = {
		{ "same_over_priority", "behind 64: their session over a priority session",
		  &b->rows[ROW_SAME], &b->rows[ROW_PRIORITY], 0, 0, false },
		{ "priority_over_alone", "a priority session behind 64 over alone",
		  &b->rows[ROW_PRIORITY], &b->rows[ROW_ALONE], 0, 0, false },
	};
	int code = sr_bench_end(b, ratios, sizeof ratios / sizeof ratios[0]);

	if (!b->json)
		sr_tails_print(b, run.samples, NULL, "every cancel");
	return code;
}

static struct sr_bench bench = { .name = "bench_cancel",
				 .notice = "sealed, presigned, the pool never dry",
				 .rounds = ROUNDS,
				 .test_delay_ns = 20u * SR_NS_PER_MS,
				 .set_up = set_up,
				 .prepare = prepare,
				 .measure = measure,
				 .check = check,
				 .log = rig_show_log,
				 .report = report,
				 .json_more = json_tails,
				 .tear_down = tear_down };

static const struct sr_option options[] = { SR_BENCH_OPTIONS_ROUNDS(bench, "200") };

static const struct sr_program program = {
	.name = "bench_cancel",
	.purpose = "A cancel behind a burst, with and without a priority session.",
	.operands = "",
	.options = options,
	.option_count = sizeof options / sizeof options[0],
};

int main(int argc, char **argv)
{
	return sr_bench_main(&bench, &program, argc, argv);
}
