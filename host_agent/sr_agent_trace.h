/* SPDX-License-Identifier: MIT */
/*
 * sr_agent_trace.h - when the agent had each record: events in a ring of their own.
 *
 * For measuring, and off unless the agent was started with it. No record grows: an event
 * names its record by the slot word, which the client knows as well, and is read from the
 * attach socket (TRACE in sr_attach.h) by root or by the agent's own user, because it
 * tells when every user of the host trades. The oldest events are written over.
 *
 * One writer, the polling thread, which never waits; one reader, the attach thread, which
 * finds out afterwards what was written over while it copied.
 *
 * Three events a record, in order of time; one of WRITTEN is for all records that were
 * PICKED since the last:
 *
 *	PICKED    copied out of its slot
 *	WRITTEN   about to be given to the stream, up to the last that was picked
 *	RECEIVED  the bytes that hold the end of its reply came from the stream
 */
#ifndef SR_AGENT_TRACE_H
#define SR_AGENT_TRACE_H

#include "sr_attach.h"
#include "sr_base.h"
#include "sr_counter.h"

#define SR_AGENT_TRACE_RECORDS_MIN 16u
#define SR_AGENT_TRACE_RECORDS_MAX (1u << 21)

struct sr_agent_trace {
	struct sr_counter counter;
	uint64_t slots; /* events; a power of two */
	struct sr_traced_event *events;
	uint64_t received; /* the polling thread's: when the last bytes came */
	bool picked;       /* likewise: something was, since the last WRITTEN */
	SR_ALIGNED(SR_LINE_BYTES) uint64_t begun; /* events that may be in the writing */
	uint64_t done;                            /* events that are whole */
};

SR_BEGIN_DECLS

/* sr_agent_trace_new - room for the events of @records, a power of two; all of it is
 * touched here. Takes 50 ms (sr_counter_describe()). 0 with *trace set, or -ENOMEM. */
SR_WARN_UNUSED int sr_agent_trace_new(struct sr_agent_trace **trace, uint32_t records);
void sr_agent_trace_delete(struct sr_agent_trace *trace); /* NULL is legal */

/*
 * sr_agent_trace_read - copy events from number @from on into an answer.
 *
 * @traced: out; its events follow it, up to @room of them. Any thread but the writer.
 * Returns the answer's length in bytes.
 */
size_t sr_agent_trace_read(const struct sr_agent_trace *trace, struct sr_attach_traced *traced,
			   uint32_t room, uint64_t from);

static inline void sr_agent_trace_add(struct sr_agent_trace *t, enum sr_traced_kind kind,
				      uint64_t seq, uint64_t at)
{
	uint64_t n = t->done;
	struct sr_traced_event *e = &t->events[n & (t->slots - 1)];

	sr_store_relaxed(&t->begun, n + 1);
	/* Who sees anything of this event sees that it was begun: pairs with the fence in
	 * sr_agent_trace_read(). */
	sr_fence_release();
	sr_store_relaxed(&e->seq, seq);
	sr_store_relaxed(&e->at_kind, at << 2 | (uint64_t)kind);
	sr_store_release(&t->done, n + 1); /* pairs with the acquire there */
}

static inline void sr_agent_trace_picked(struct sr_agent_trace *t, uint64_t seq)
{
	if (SR_LIKELY(t == NULL))
		return;
	sr_agent_trace_add(t, SR_TRACED_PICKED, seq, sr_counter_now(t->counter.kind));
	t->picked = true;
}

static inline void sr_agent_trace_written(struct sr_agent_trace *t)
{
	if (SR_LIKELY(t == NULL) || !t->picked)
		return;
	sr_agent_trace_add(t, SR_TRACED_WRITTEN, 0, sr_counter_now(t->counter.kind));
	t->picked = false;
}

/* sr_agent_trace_bytes - bytes have come; sr_agent_trace_received() is for each reply. */
static inline void sr_agent_trace_bytes(struct sr_agent_trace *t)
{
	if (SR_UNLIKELY(t != NULL))
		t->received = sr_counter_now(t->counter.kind);
}

static inline void sr_agent_trace_received(struct sr_agent_trace *t, uint64_t seq)
{
	if (SR_UNLIKELY(t != NULL))
		sr_agent_trace_add(t, SR_TRACED_RECEIVED, seq, t->received);
}

SR_END_DECLS

#endif /* SR_AGENT_TRACE_H */
