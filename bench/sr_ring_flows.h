/* SPDX-License-Identifier: MIT */
/*
 * sr_ring_flows.h - both ends of what bench_ring sends one way: messages one behind the
 * other, as fast as the receiver lets them.
 *
 * A line, and a slot of a ring, is written again only when the receiver has said that he
 * has taken what was in it: in a line of his own, once for 64 messages, for that is the
 * least that any queue has to bring back. ring_flood() is another thing: there every message
 * has its completion, as in the product. A benchmark includes it once.
 */
#ifndef SR_RING_FLOWS_H
#define SR_RING_FLOWS_H

#include "sr_ring_ends.h"

#define CREDIT_EVERY 64u /* messages */

static uint64_t flow_number; /* private: messages of flows so far; both sides count alike */

/* The sender's view of the credit: waits until message @number has a place. */
ALWAYS_INLINE void credit_await(uint64_t *taken, uint64_t number, uint64_t depth)
{
	while (SR_UNLIKELY(number - *taken >= depth))
		*taken = sr_load_acquire(&shared->credit); /* pairs with credit_give() */
}

ALWAYS_INLINE void credit_give(uint64_t taken, bool last)
{
	if (last || taken % CREDIT_EVERY == 0)
		sr_store_release(&shared->credit, taken); /* pairs with credit_await() */
}

/* ---- the floor: a number a line, one line after the other ---- */

HOT void lines_flood(uint32_t count)
{
	uint64_t taken = flow_number, end = flow_number + count;

	for (uint64_t n = flow_number; n != end; n++) {
		credit_await(&taken, n, SR_DEPTH_DEFAULT);
		sr_store_release(&shared->lines[n % SR_DEPTH_DEFAULT].number, n + 1);
	}
	credit_await(&taken, end, 1); /* he has them all */
	flow_number = end;
}

HOT void lines_drain(uint32_t count, uint64_t delay_ns)
{
	while (count--) {
		const uint64_t *line = &shared->lines[flow_number % SR_DEPTH_DEFAULT].number;

		while (sr_load_acquire(line) != flow_number + 1) /* pairs with lines_flood() */
			;
		hold(delay_ns);
		credit_give(++flow_number, count == 0);
	}
}

/* ---- rings ---- */

ALWAYS_INLINE void ring_send(struct ring *r, uint32_t count, const struct wire *bell)
{
	uint64_t taken = flow_number;

	while (count--) {
		uint64_t word = r->word++;

		credit_await(&taken, flow_number++, r->out.mask + 1);
		sr_put64(request + SR_SUB_BODY, word);
		sr_slot_publish(&r->out, word, request);
		sr_slot_ahead(&r->out, word);
		if (bell)
			bell_ring(bell);
	}
	credit_await(&taken, flow_number, 1);
}

ALWAYS_INLINE void ring_take(struct ring *r, uint32_t count, uint64_t delay_ns,
			     const struct wire *bell)
{
	while (count--) {
		uint64_t word = r->word++;

		if (bell)
			bell_await(r, bell, word);
		else
			await(r, word, false);
		sr_slot_copy(&r->in, word, request);
		if (SR_UNLIKELY(sr_get64(request + SR_SUB_BODY) != word)) {
			errno = EBADMSG;
			die("a message is not the one that was sent");
		}
		hold(delay_ns);
		credit_give(++flow_number, count == 0);
	}
}

HOT void ring_send_spin(struct ring *r, uint32_t count)
{
	ring_send(r, count, NULL);
}

HOT void ring_take_spin(struct ring *r, uint32_t count, uint64_t delay_ns)
{
	ring_take(r, count, delay_ns, NULL);
}

static void bell_send(struct ring *r, uint32_t count)
{
	ring_send(r, count, &wires[WIRE_BELL]);
}

static void bell_take(struct ring *r, uint32_t count, uint64_t delay_ns)
{
	ring_take(r, count, delay_ns, &wires[WIRE_BELL]);
}

/* As many in flight as the depth allows; the credit rule is the client's own. */
HOT void ring_flood(struct ring *r, uint32_t count)
{
	uint64_t sent = 0, answered = 0;
	uint64_t first = r->word;

	while (answered < count) {
		if (sent < count && sent - answered <= r->out.mask) {
			sr_put64(request + SR_SUB_BODY, first + sent);
			sr_slot_publish(&r->out, first + sent, request);
			sr_slot_ahead(&r->out, first + sent);
			sent++;
		}
		while (answered < sent && sr_slot_look(&r->in, first + answered) == 0) {
			sr_slot_copy(&r->in, first + answered, reply);
			check_reply(first + answered);
			answered++;
		}
	}
	r->word = first + count;
}

/* ---- sockets and pipes ---- */

/* One behind the other, and an answer to the last. */
static void wire_flood(int kind, uint32_t bytes, uint32_t count)
{
	const struct wire *w = &wires[kind];

	wire_mode(w, kind, true);
	while (count--) {
		sr_put64(request, ++line_number);
		if (kind == WIRE_URING)
			uring_put(request, bytes);
		else
			wire_put(w, kind, true, request, bytes);
	}
	if (kind == WIRE_URING)
		uring_get(reply, bytes);
	else
		wire_get(w, kind, true, reply, bytes);
	number_check(line_number);
}

static void wire_drain(int kind, uint32_t bytes, uint32_t count, uint64_t delay_ns)
{
	const struct wire *w = &wires[kind];

	wire_mode(w, kind, true);
	while (count--) {
		line_number++;
		wire_get(w, kind, true, request, bytes);
		hold(delay_ns);
	}
	wire_put(w, kind, true, request, bytes);
}

#endif /* SR_RING_FLOWS_H */
