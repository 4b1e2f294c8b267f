/* SPDX-License-Identifier: MIT */
#include "sealed_rig.h"
#include "sr_counter.h"

#define SLOTS 16u

/* A clock that steps: what moment a stamp is for shows in how far it went. */
static uint64_t clock_now;
static uint64_t steps[SR_TRACE_MOMENTS];
static uint32_t stamps;

static uint64_t step(void *arg)
{
	(void)arg;
	/* BEGUN is the first stamp of a record that is not taken when it came. */
	clock_now += steps[1 + stamps++ % (SR_TRACE_MOMENTS - 1)];
	return clock_now;
}

static void begin(void)
{
	struct sr_core_config core_config;

	sealed_begin();
	ask_for_session(a);
	sr_core_delete(rig.core);
	core_config = config();
	core_config.trace = (struct sr_trace_config){ .slots = SLOTS, .now = step };
	cr_assert_eq(sr_core_new(&rig.core, &core_config), 0);
	start(a);
	ask_for_session(a);
	for (uint32_t i = 0; i < SR_TRACE_MOMENTS; i++)
		steps[i] = 1;
	stamps = 0;
	clock_now = 1000;
}

TestSuite(trace, .init = begin, .fini = sealed_end);

static struct sr_trace_entry entries[2 * SLOTS];

static struct sr_trace_piece read_from(uint64_t from, uint32_t room)
{
	struct sr_trace_piece piece = { .from = from, .room = room, .entries = entries };

	sr_trace_read(sr_core_trace(rig.core), &piece);
	return piece;
}

static void sign_number(uint64_t n, uint64_t received)
{
	seal_number(a, n);
	sr_trace_begin(sr_core_trace(rig.core), received);
	cr_assert_eq(give(a), SR_CORE_REPLY);
	sr_trace_end(sr_core_trace(rig.core), sr_get64(record));
}

Test(trace, time_that_passes_in_a_step_is_in_the_moment_that_ends_it)
{
	for (uint32_t slow = SR_TRACE_BEGUN; slow < SR_TRACE_MOMENTS; slow++) {
		uint64_t n = slow, received = clock_now;
		struct sr_trace_piece piece;

		steps[slow] = 777;
		sign_number(n, received);
		steps[slow] = 1;
		piece = read_from(slow - SR_TRACE_BEGUN, 1);
		cr_assert_eq(piece.count, 1);
		cr_assert_eq(entries[0].seq, FIRST + n);
		cr_assert_eq(entries[0].at[SR_TRACE_RECEIVED], received);
		for (uint32_t m = SR_TRACE_BEGUN; m < SR_TRACE_MOMENTS; m++)
			cr_assert_eq(entries[0].at[m] - entries[0].at[m - 1],
				     m == slow ? 777u : 1u, "moment %u, slow is %u", m, slow);
	}
}

Test(trace, moments_that_do_not_come_are_zero)
{
	uint64_t n = 1;

	make_record(record, a, n, 99, &n, sizeof n); /* no such key */
	cr_assert_eq(sr_seal_apply(&a->requests, n, record), 0);
	sr_trace_begin(sr_core_trace(rig.core), 5);
	cr_assert_eq(give(a), SR_CORE_REPLY);
	sr_trace_end(sr_core_trace(rig.core), sr_get64(record));
	cr_assert_eq(read_from(0, 1).count, 1);
	cr_assert_neq(entries[0].at[SR_TRACE_OPENED], 0);
	cr_assert_eq(entries[0].at[SR_TRACE_POLICY], 0);
	cr_assert_eq(entries[0].at[SR_TRACE_DIGEST], 0);
	cr_assert_eq(entries[0].at[SR_TRACE_SIGNED], 0);
	cr_assert_neq(entries[0].at[SR_TRACE_SEALED], 0);
}

Test(trace, the_last_entries_are_kept_and_who_comes_late_is_told)
{
	struct sr_trace_piece piece;

	for (uint64_t n = 1; n <= SLOTS + 5; n++)
		sign_number(n, clock_now);
	piece = read_from(0, 2 * SLOTS);
	cr_assert_eq(piece.from, 5);
	cr_assert_eq(piece.next, SLOTS + 5);
	cr_assert_eq(piece.count, SLOTS);
	cr_assert_eq(piece.slots, SLOTS);
	for (uint32_t i = 0; i < SLOTS; i++)
		cr_assert_eq(entries[i].seq, FIRST + 6 + i);
	piece = read_from(SLOTS, 3);
	cr_assert_eq(piece.from, SLOTS);
	cr_assert_eq(piece.count, 3);
	piece = read_from(UINT64_MAX, 3);
	cr_assert_eq(piece.from, SLOTS + 5);
	cr_assert_eq(piece.count, 0);
}

Test(trace, is_not_there_unless_asked_for)
{
	struct sr_core_config core_config = config();

	sr_core_delete(rig.core);
	cr_assert_eq(sr_core_new(&rig.core, &core_config), 0);
	cr_assert_null(sr_core_trace(rig.core));
	start(a);
	ask_for_session(a);
	stamps = 0;
	give_and_check(a, 1, 2);
	cr_assert_eq(stamps, 0);
	cr_assert_eq(run_task(SR_TASK_TRACE), -EOPNOTSUPP);
}

Test(trace, new_refuses_what_is_out_of_range)
{
	static const uint32_t bad[] = { 1, 8, 17, SR_TRACE_SLOTS_MAX * 2 };
	struct sr_trace *trace = NULL;

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		cr_assert_eq(sr_trace_new(&trace, &(struct sr_trace_config){ bad[i], step, NULL }),
			     -EINVAL);
	cr_assert_eq(sr_trace_new(&trace, &(struct sr_trace_config){ SLOTS, NULL, NULL }), -EINVAL);
	cr_assert_null(trace);
}

Test(counter, rises_and_has_a_rate_that_is_its_own)
{
	struct sr_counter counter, again;
	uint64_t begin_ns, begin_ticks, ns, ticks;

	sr_counter_describe(&counter);
	sr_counter_describe(&again);
	cr_assert(sr_counter_same(&counter, &again));
	begin_ns = sr_now_ns();
	begin_ticks = sr_counter_now(counter.kind);
	while (sr_now_ns() - begin_ns < 20 * SR_NS_PER_MS)
		;
	ticks = sr_counter_now(counter.kind) - begin_ticks;
	ns = sr_now_ns() - begin_ns;
	cr_assert_gt(ticks, 0);
	/* A machine that others share may stop us between two readings. */
	cr_assert_float_eq((double)ticks * 1e9 / (double)counter.ticks_per_s, (double)ns,
			   (double)ns * 0.2);
}

Test(counter, of_another_kernel_or_of_none_is_another)
{
	struct sr_counter here = { { 1, 2 }, 1000, SR_COUNTER_TSC }, there = here;

	cr_assert(sr_counter_same(&here, &there));
	there.domain[1] = 3;
	cr_assert_not(sr_counter_same(&here, &there));
	there = here;
	there.kind = SR_COUNTER_CLOCK;
	cr_assert_not(sr_counter_same(&here, &there));
	here.domain[0] = here.domain[1] = 0;
	there = here;
	cr_assert_not(sr_counter_same(&here, &there));
}
