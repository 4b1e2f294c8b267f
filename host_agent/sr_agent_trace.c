/* SPDX-License-Identifier: MIT */
#include "sr_agent_trace.h"

#include <stdlib.h>

#define EVENTS_A_RECORD 4u /* three, and a power of two */

int sr_agent_trace_new(struct sr_agent_trace **trace, uint32_t records)
{
	struct sr_agent_trace *t = aligned_alloc(SR_LINE_BYTES, sizeof *t);
	uint64_t slots = (uint64_t)records * EVENTS_A_RECORD;
	size_t bytes = slots * sizeof *t->events;

	if (!t)
		return -ENOMEM;
	memset(t, 0, sizeof *t);
	t->slots = slots;
	t->events = aligned_alloc(SR_LINE_BYTES, bytes);
	if (!t->events) {
		free(t);
		return -ENOMEM;
	}
	memset(t->events, 0, bytes); /* no page is touched first between two records */
	sr_counter_describe(&t->counter);
	*trace = t;
	return 0;
}

void sr_agent_trace_delete(struct sr_agent_trace *trace)
{
	if (!trace)
		return;
	free(trace->events);
	free(trace);
}

size_t sr_agent_trace_read(const struct sr_agent_trace *t, struct sr_attach_traced *traced,
			   uint32_t room, uint64_t from)
{
	struct sr_traced_event *out = (struct sr_traced_event *)(void *)(traced + 1);
	/* Pairs with the release in sr_agent_trace_add(): events below are whole. */
	uint64_t done = sr_load_acquire(&t->done);
	uint64_t oldest = done > t->slots ? done - t->slots : 0;
	uint64_t first, lost;
	uint32_t count = 0;

	first = from < oldest ? oldest : from > done ? done : from;
	for (; count < room && first + count < done; count++) {
		const struct sr_traced_event *e = &t->events[(first + count) & (t->slots - 1)];

		out[count].seq = sr_load_relaxed(&e->seq);
		out[count].at_kind = sr_load_relaxed(&e->at_kind);
	}
	/* Pairs with the fence there: what was written over while we copied was begun. */
	sr_fence_acquire();
	lost = sr_load_relaxed(&t->begun);
	lost = lost > t->slots && lost - t->slots > first ? lost - t->slots - first : 0;
	if (lost > count)
		lost = count;
	count -= (uint32_t)lost;
	memmove(out, out + lost, count * sizeof *out);

	memset(traced, 0, sizeof *traced);
	traced->header.magic = SR_ATTACH_MAGIC;
	traced->header.type = SR_ATTACH_TRACED;
	traced->header.bytes = (uint16_t)(sizeof *traced + count * sizeof *out);
	traced->first = first + lost;
	traced->next = done;
	traced->domain[0] = t->counter.domain[0];
	traced->domain[1] = t->counter.domain[1];
	traced->ticks_per_s = t->counter.ticks_per_s;
	traced->counter = t->counter.kind;
	traced->count = count;
	return traced->header.bytes;
}
