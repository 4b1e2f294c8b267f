/* SPDX-License-Identifier: MIT */
#include "sr_exp_selftest.h"

#include <pthread.h>
#include <signal.h>

#include "sr_exp_trace.h"

#define ORDERS 64u
#define STAMPS 12u /* from submit to popped; seven of them the signer's */
#define STEP 1000u
#define DELAY 777000u
#define FIRST (UINT64_MAX - 5) /* slot words wrap in the middle */
#define ROUNDING 12

static int fail(struct sr_reason *why, const char *what)
{
	return sr_reason_set(why, -EBADMSG, "selftest: %s", what);
}

/* ---- percentiles ---- */

static int test_percentiles(struct sr_reason *why)
{
	static const uint32_t shares[] = { 0, 1, 25000, 50000, 90000, 99000, 99900, 99990, 100000 };
	static const uint32_t counts[] = { 1, 2, 3, 10, 99, 100, 101, 1000 };
	double values[1000];
	uint64_t x = 88172645463325252u;

	for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
		struct sr_histogram h;

		if (sr_histogram_new(&h, counts[c]))
			return fail(why, "no memory");
		for (uint32_t i = 0; i < counts[c]; i++) {
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			values[i] = (double)(x % 50); /* many equal ones */
			(void)!sr_histogram_add(&h, x % 50);
		}
		for (size_t s = 0; s < sizeof shares / sizeof shares[0]; s++)
			if ((double)sr_histogram_percentile(&h, shares[s]) !=
			    sr_bench_rank_oracle(values, counts[c], shares[s])) {
				sr_histogram_delete(&h);
				return fail(why, "a percentile differs from its definition");
			}
		sr_histogram_delete(&h);
	}
	return 0;
}

/* ---- stages ---- */

/* Where each stamp, in the order of time, lies. */
static uint64_t *stamp_of(struct sr_exp_order *o, uint32_t which)
{
	switch (which) {
	case 0:
		return &o->submit;
	case 1:
		return &o->picked;
	case 2:
		return &o->written;
	case 10:
		return &o->received;
	case 11:
		return &o->popped;
	default:
		return &o->at[which - 3];
	}
}

/* The stage that a stamp ends, of those that the clocks tell. */
static enum sr_exp_stage stage_of(uint32_t which, bool one)
{
	static const enum sr_exp_stage ends[STAMPS] = {
		SR_EXP_STAGES, SR_EXP_SUBMIT, SR_EXP_AGENT, SR_EXP_OUT,	 SR_EXP_QUEUE, SR_EXP_OPEN,
		SR_EXP_POLICY, SR_EXP_DIGEST, SR_EXP_SIGN,  SR_EXP_SEAL, SR_EXP_BACK,  SR_EXP_RETURN,
	};
	enum sr_exp_stage stage = ends[which];

	return !one && (stage == SR_EXP_OUT || stage == SR_EXP_BACK) ? SR_EXP_STREAM : stage;
}

/* An order whose stamps are STEP nanoseconds apart, but for one. Host ticks are a third
 * of a nanosecond; a signer apart has ticks of its own, and another beginning. */
static void make_order(struct sr_exp_order *o, const struct sr_exp_clocks *clocks, uint32_t slow)
{
	uint64_t ns = 1000000;

	memset(o, 0, sizeof *o);
	for (uint32_t i = 0; i < STAMPS; i++) {
		bool theirs = i >= 3 && i < 10;
		const struct sr_counter *c = theirs ? &clocks->signer : &clocks->host;

		ns += i == slow ? DELAY : STEP;
		*stamp_of(o, i) = (theirs && !clocks->one ? 77000000000 : 0) +
				  (uint64_t)((double)ns * (double)c->ticks_per_s / 1e9 + 0.5);
	}
	o->intended = o->submit;
}

static int64_t off(int64_t a, int64_t b)
{
	return a < b ? b - a : a - b;
}

static int test_stage(const struct sr_exp_clocks *clocks, uint32_t slow, struct sr_reason *why)
{
	struct sr_exp_order order;
	struct sr_exp_stay stay;
	int64_t sum = 0;

	make_order(&order, clocks, slow);
	if (sr_exp_stay(&stay, &order, clocks))
		return fail(why, "an order with all stamps has no stages");
	for (uint32_t s = 0; s < SR_EXP_STAGES; s++) {
		bool used = sr_exp_stage_used(clocks, (enum sr_exp_stage)s);
		int64_t usual = s == SR_EXP_STREAM ? 2 * (int64_t)STEP : (int64_t)STEP;
		int64_t want = s == stage_of(slow, clocks->one) ? usual - STEP + DELAY : usual;

		if (!used && stay.stage[s])
			return fail(why, "a stage that is not told has a time");
		if (used && off(stay.stage[s], want) > ROUNDING)
			return sr_reason_set(why, -EBADMSG,
					     "selftest: stage %s is %lld ns, not %lld, with a delay "
					     "before stamp %u", sr_exp_stage_key((enum sr_exp_stage)s),
					     (long long)stay.stage[s], (long long)want, slow);
		sum += stay.stage[s];
	}
	if (off(sum, stay.round_trip) > ROUNDING)
		return fail(why, "stages do not add up to the round trip");
	*stamp_of(&order, slow) = 0;
	return sr_exp_stay(&stay, &order, clocks) == -ENODATA ?
		       0 : fail(why, "an order without a stamp has stages");
}

static int test_stages(struct sr_reason *why)
{
	static const struct sr_exp_clocks kinds[] = {
		{ { { 1, 1 }, 3000000000, SR_COUNTER_TSC }, { { 1, 1 }, 3000000000, SR_COUNTER_TSC },
		  true },
		{ { { 1, 1 }, 3000000000, SR_COUNTER_TSC },
		  { { 2, 2 }, 1000000000, SR_COUNTER_VIRTUAL }, false },
	};
	int ret = 0;

	for (size_t k = 0; k < 2; k++)
		for (uint32_t slow = 1; slow < STAMPS && ret == 0; slow++)
			ret = test_stage(&kinds[k], slow, why);
	return ret;
}

/* ---- joining ---- */

static struct sr_traced_event event(enum sr_traced_kind kind, uint64_t seq, uint64_t at)
{
	return (struct sr_traced_event){ seq, at << 2 | (uint64_t)kind };
}

/* Two are picked up and written at once, among others' records, over two answers. */
static int test_join(struct sr_reason *why)
{
	struct sr_exp_order orders[ORDERS] = { 0 };
	struct sr_traced_event events[ORDERS * 4];
	struct sr_trace_entry entries[ORDERS + 2];
	uint32_t unwritten[ORDERS], pending = 0, n = 0;

	for (uint64_t i = 0; i < ORDERS; i++) {
		events[n++] = event(SR_TRACED_PICKED, FIRST + i, 100 + i);
		if (i % 2)
			events[n++] = event(SR_TRACED_WRITTEN, 0, 200 + i);
		events[n++] = event(SR_TRACED_PICKED, FIRST - 1 - i, 1); /* another session's */
		entries[i] = (struct sr_trace_entry){ FIRST + i, { 7, 8, 9, 10, 11, 12, i } };
	}
	entries[ORDERS] = (struct sr_trace_entry){ FIRST - 1, { 1 } };
	entries[ORDERS + 1] = (struct sr_trace_entry){ FIRST + ORDERS, { 1 } };
	sr_exp_join_events(orders, ORDERS, FIRST, events, 50, unwritten, &pending);
	sr_exp_join_events(orders, ORDERS, FIRST, events + 50, n - 50, unwritten, &pending);
	n = 0;
	for (uint64_t i = 0; i < ORDERS; i++)
		events[n++] = event(SR_TRACED_RECEIVED, FIRST + i, 300 + i);
	sr_exp_join_events(orders, ORDERS, FIRST, events, n, unwritten, &pending);
	sr_exp_join_entries(orders, ORDERS, FIRST, entries, ORDERS + 2);
	for (uint64_t i = 0; i < ORDERS; i++)
		if (orders[i].picked != 100 + i || orders[i].written != 200 + (i | 1) ||
		    orders[i].received != 300 + i || orders[i].at[SR_TRACE_SEALED] != i ||
		    orders[i].at[SR_TRACE_RECEIVED] != 7)
			return fail(why, "a stamp was joined to another order");
	return pending ? fail(why, "an order was picked up and never written") : 0;
}

/* The slowest of all lacks a stamp: it is the row's longest round trip all the same. */
static int test_sum(struct sr_reason *why)
{
	struct sr_exp_plan plan = { .key = "made", .batch = 1, .count = 3, .traced = true };
	struct sr_exp_row row;
	const char *bad = NULL;

	if (sr_exp_row_new(&row, &plan))
		return fail(why, "no memory");
	row.clocks = (struct sr_exp_clocks){ .host.ticks_per_s = 3000000000,
					     .signer.ticks_per_s = 3000000000, .one = true };
	for (uint32_t i = 0; i < 3; i++)
		make_order(&row.orders[i], &row.clocks, i == 0 ? STAMPS - 1 : STAMPS);
	row.orders[0].at[SR_TRACE_DIGEST] = 0;
	if (sr_exp_row_sum(&row))
		bad = "no memory";
	else if (row.round_trip.count != 3 || row.scheduled.count != 3 ||
		 off((int64_t)sr_histogram_percentile(&row.round_trip, 100000),
		     (STAMPS - 2) * STEP + DELAY) > ROUNDING)
		bad = "the round trip of an order without a stamp does not count";
	else if (row.joined != 2 || row.unjoined != 1 || row.stages[SR_EXP_RETURN].count != 2 ||
		 !row.orders[0].at[SR_TRACE_DIGEST] || row.orders[2].at[SR_TRACE_DIGEST])
		bad = "an order without a stamp is in the stages";
	sr_exp_row_delete(&row);
	return bad ? fail(why, bad) : 0;
}

int sr_exp_test_arithmetic(struct sr_reason *why)
{
	int ret = test_percentiles(why);

	if (ret == 0)
		ret = test_stages(why);
	if (ret == 0)
		ret = test_join(why);
	return ret ? ret : test_sum(why);
}

/* ---- a real run ---- */

static int test_row(struct sr_exp_row *row, struct sr_reason *why)
{
	struct sr_exp_stay stay;

	if (row->joined != row->plan.count)
		return sr_reason_set(why, -EBADMSG, "selftest: row %s: %llu of %llu orders have every "
				     "stamp", row->plan.key, (unsigned long long)row->joined,
				     (unsigned long long)row->plan.count);
	for (uint64_t i = 0; i < row->joined; i++) {
		int64_t sum = 0;

		if (sr_exp_stay(&stay, &row->orders[i], &row->clocks))
			return fail(why, "a joined order lacks a stamp");
		for (uint32_t s = 0; s < SR_EXP_STAGES; s++)
			sum += stay.stage[s];
		if (off(sum, stay.round_trip) > ROUNDING || stay.round_trip <= 0)
			return fail(why, "stages of a real order do not add up");
	}
	return 0;
}

/* Is all of its delay in the last stage? */
static bool delayed_at_last(const struct sr_exp_stay *stay)
{
	for (uint32_t s = 0; s < SR_EXP_STAGES; s++)
		if ((stay->stage[s] > (int64_t)SR_EXP_TEST_DELAY_NS / 2) != (s == SR_EXP_RETURN))
			return false;
	return true;
}

/* Three quarters of the orders have it in the last stage; an eighth, and all of them where
 * nobody else is at work, have nothing like it before. */
static bool delay_shows(struct sr_exp_row *row)
{
	struct sr_exp_stay stay;
	uint64_t last = 0, alone = 0;

	for (uint64_t i = 0; i < row->joined; i++) {
		if (sr_exp_stay(&stay, &row->orders[i], &row->clocks))
			continue;
		last += stay.stage[SR_EXP_RETURN] > (int64_t)SR_EXP_TEST_DELAY_NS / 2;
		alone += delayed_at_last(&stay);
	}
	return last * 4 >= row->plan.count * 3 && alone * 8 >= row->plan.count;
}

/* Other load may hold up orders in any stage for a while, never for ever: @shows is asked
 * of a few rows. The last of them stays in @lab. */
static int try_row(struct sr_exp_lab *lab, const char *key, uint32_t rate, uint64_t count,
		   void (*prepare)(struct sr_exp_lab *lab),
		   bool (*shows)(struct sr_exp_row *row), struct sr_reason *why)
{
	for (int try = 0; try < SR_BENCH_TEST_TRIES; try++) {
		int ret;

		if (try) /* the one before shows nothing */
			sr_exp_row_delete(&lab->rows[--lab->row_count]);
		if (prepare)
			prepare(lab);
		ret = sr_exp_run_paced(lab, key, 1, rate, count, why);
		if (ret || shows(&lab->rows[lab->row_count - 1]))
			return ret;
	}
	return sr_reason_set(why, -EBADMSG, "selftest: what was injected does not show in row %s as "
			     "it must", key);
}

/* ---- a process that stands still ---- */

#define STALL_NS (200 * (uint64_t)SR_NS_PER_MS)
#define STALL_RATE 1000u
#define STALL_ORDERS 512u
#define STALL_AT 100u /* orders before it */

static struct {
	pid_t pid;
	uint32_t stopped; /* 1: since a moment; 2: it goes on */
	pthread_t waker;
	bool started;
} stall;

static void *wake(void *arg)
{
	(void)arg;
	/* Pairs with the release in stop(). */
	while (!sr_load32_acquire(&stall.stopped))
		(void)usleep(1000);
	(void)usleep(STALL_NS / SR_NS_PER_US);
	(void)kill(stall.pid, SIGCONT);
	return NULL;
}

static void stop(void *arg)
{
	(void)arg;
	(void)kill(stall.pid, SIGSTOP);
	sr_store32_release(&stall.stopped, 1);
}

static void stall_end(void)
{
	sr_store32_release(&stall.stopped, 1); /* if it was not: no stop() comes any more */
	if (stall.started)
		(void)pthread_join(stall.waker, NULL);
	stall.started = false;
}

static void stall_prepare(struct sr_exp_lab *lab)
{
	stall_end();
	stall.stopped = 0;
	stall.started = pthread_create(&stall.waker, NULL, wake, NULL) == 0;
	lab->engine.call = stall.started ? stop : NULL;
	lab->engine.call_at = lab->engine.number + SR_EXP_WARM + STALL_AT;
}

/* Half of the orders that were due meanwhile waited long by the schedule, and more than half
 * of what those took lies in the stages @from to @to. */
static bool stall_shows(const struct sr_exp_row *row, enum sr_exp_stage from,
			enum sr_exp_stage to)
{
	int64_t sum = 0, there = 0;
	struct sr_exp_stay stay;
	uint64_t held = 0;

	for (uint64_t i = 0; i < row->joined; i++) {
		if (sr_exp_stay(&stay, &row->orders[i], &row->clocks) ||
		    stay.late + stay.round_trip < (int64_t)STALL_NS / 4)
			continue;
		held++;
		sum += stay.round_trip;
		for (uint32_t s = from; s <= to; s++)
			there += stay.stage[s];
	}
	return held >= STALL_NS * STALL_RATE / SR_NS_PER_S / 2 && there * 2 > sum;
}

static bool agent_stall_shows(struct sr_exp_row *row)
{
	return stall_shows(row, SR_EXP_SUBMIT, SR_EXP_SUBMIT);
}

/* It shows in the column that is printed too: in more than a quarter of all orders. */
static bool signer_stall_shows(struct sr_exp_row *row)
{
	return stall_shows(row, SR_EXP_OUT, SR_EXP_QUEUE) &&
	       sr_histogram_percentile(&row->scheduled, 75000) > STALL_NS / 8;
}

/* Agent and signer apart, on the CPUs that they had, each of them stopped for a while. */
static int test_stalls(struct sr_exp_lab *lab, struct sr_reason *why)
{
	int ret;

	sr_exp_rig_end(&lab->rig);
	lab->rig.via = SR_EXP_UNIX;
	ret = sr_exp_begin(lab, &sr_exp_steady_pool, true, why);
	stall.pid = lab->rig.agent;
	if (ret == 0)
		ret = try_row(lab, "agent_stopped", STALL_RATE, STALL_ORDERS, stall_prepare,
			      agent_stall_shows, why);
	stall_end();
	stall.pid = lab->rig.signer;
	if (ret == 0)
		ret = try_row(lab, "signer_stopped", STALL_RATE, STALL_ORDERS, stall_prepare,
			      signer_stall_shows, why);
	stall_end();
	lab->engine.call = NULL;
	return ret;
}

/* ---- all of it ---- */

static int test_rows(struct sr_exp_lab *lab, struct sr_reason *why)
{
	int ret = 0;

	for (uint32_t i = 0; i < lab->row_count && ret == 0; i++)
		ret = test_row(&lab->rows[i], why);
	return ret;
}

int sr_exp_test_run(struct sr_exp_lab *lab, struct sr_reason *why)
{
	int ret;

	lab->samples = 2048;
	lab->segment = 512;
	ret = sr_exp_begin(lab, &sr_exp_steady_pool, true, why);
	if (ret == 0)
		ret = sr_exp_run_paced(lab, "paced", 1, 2000, 1024, why);
	if (ret == 0)
		ret = sr_exp_run_paced(lab, "rate_16", 16, 2000, 512, why);
	if (ret == 0)
		ret = sr_exp_run_typed(lab, why);
	if (ret == 0)
		ret = sr_exp_run_flat(lab, "flat_64", 64, SR_EXP_SCALE / 16, true, true, why);
	lab->engine.poll_delay_ns = SR_EXP_TEST_DELAY_NS;
	if (ret == 0)
		ret = try_row(lab, "delayed", 100, 64, NULL, delay_shows, why);
	lab->engine.poll_delay_ns = 0;
	if (ret == 0)
		ret = test_stalls(lab, why);
	return ret ? ret : test_rows(lab, why);
}
