/* SPDX-License-Identifier: MIT */
/*
 * The agent's trace while it is read: one thread adds events as fast as it can, another
 * copies them, in one mapping, where ThreadSanitizer sees both. Each event that is
 * handed out is whole and has the number that it is said to have, though most were
 * written over before anybody came.
 */
#include <pthread.h>

#include "mp_common.h"
#include "sr_agent_trace.h"

#define ROOM 64u
#define MARK UINT64_C(0x9e3779b97f4a7c15)

struct both {
	struct sr_agent_trace *trace;
	uint64_t wanted;
	uint64_t stop;
};

/* Event n says so twice over. */
static void *add(void *arg)
{
	struct both *b = arg;
	uint64_t n = 0;

	while (n < b->wanted || !sr_load_relaxed(&b->stop)) {
		sr_agent_trace_add(b->trace, SR_TRACED_PICKED, n * MARK, n);
		n++;
		if (n % 4096 == 0)
			(void)sched_yield();
	}
	return NULL;
}

static void reader_against_writer(void)
{
	struct both b = { .wanted = mp_long ? 200000000 : 2000000 };
	struct sr_attach_traced *traced =
		malloc(sizeof *traced + ROOM * sizeof(struct sr_traced_event));
	const struct sr_traced_event *events = (const void *)(traced + 1);
	uint64_t from = 0, seen = 0, lost = 0;
	pthread_t writer;

	MP_CHECK(traced != NULL, "no memory");
	MP_EQ(sr_agent_trace_new(&b.trace, SR_AGENT_TRACE_RECORDS_MIN), 0, "sr_agent_trace_new");
	MP_EQ(pthread_create(&writer, NULL, add, &b), 0, "pthread_create");
	while (from < b.wanted) {
		size_t bytes = sr_agent_trace_read(b.trace, traced, 1 + mp_below(ROOM), from);

		MP_EQ(bytes, sizeof *traced + traced->count * sizeof *events, "length");
		MP_CHECK(traced->first >= from && traced->first + traced->count <= traced->next,
			 "numbers of an answer");
		for (uint32_t i = 0; i < traced->count; i++) {
			uint64_t n = traced->first + i;

			MP_EQ(events[i].seq, n * MARK, "name of an event");
			MP_EQ(events[i].at_kind, n << 2 | SR_TRACED_PICKED, "time of an event");
		}
		lost += traced->first - from;
		seen += traced->count;
		from = traced->first + traced->count;
		if (!traced->count)
			(void)sched_yield();
	}
	sr_store_relaxed(&b.stop, 1);
	(void)pthread_join(writer, NULL);
	MP_CHECK(seen > 0, "none was seen");
	(void)printf("# %llu events read, %llu written over\n", (unsigned long long)seen,
		     (unsigned long long)lost);
	sr_agent_trace_delete(b.trace);
	free(traced);
}

/* The writer stands still in the middle of what it does, as seen by a reader. */
static void what_is_being_written_over_is_not_handed_out(void)
{
	struct sr_attach_traced *traced =
		malloc(sizeof *traced + ROOM * sizeof(struct sr_traced_event));
	const struct sr_traced_event *events = (const void *)(traced + 1);
	struct sr_agent_trace *trace;

	MP_CHECK(traced != NULL, "no memory");
	MP_EQ(sr_agent_trace_new(&trace, SR_AGENT_TRACE_RECORDS_MIN), 0, "sr_agent_trace_new");
	for (uint64_t n = 0; n < trace->slots + 10; n++)
		sr_agent_trace_add(trace, SR_TRACED_RECEIVED, n, n);
	for (uint64_t ahead = 0; ahead < 4; ahead++) {
		trace->begun = trace->done + ahead;
		(void)sr_agent_trace_read(trace, traced, ROOM, 0);
		MP_EQ(traced->first, 10 + ahead, "first event");
		MP_EQ(traced->next, trace->slots + 10, "next event");
		MP_EQ(traced->count, ROOM - ahead, "events");
		MP_EQ(events[0].seq, 10 + ahead, "name of the first");
		(void)sr_agent_trace_read(trace, traced, 2, 12);
		MP_EQ(traced->first, ahead < 3 ? 12u : 13u, "first of two");
		MP_EQ(traced->count, ahead < 3 ? 2u : 1u, "two events");
	}
	trace->begun = trace->done + 1000;
	(void)sr_agent_trace_read(trace, traced, ROOM, 0);
	MP_EQ(traced->count, 0, "events of a ring that was gone round");
	(void)sr_agent_trace_read(trace, traced, ROOM, UINT64_MAX);
	MP_EQ(traced->first, traced->next, "who asks for what is to come");
	MP_EQ(traced->count, 0, "events to come");
	sr_agent_trace_delete(trace);
	free(traced);
}

static const struct mp_test tests[] = {
	{ "stress/trace_what_is_being_written_over", what_is_being_written_over_is_not_handed_out,
	  0 },
	{ "stress/trace_reader_against_writer", reader_against_writer, 0 },
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
