/* SPDX-License-Identifier: MIT */
/*
 * sr_ring_ends.h - both ends of the round trips that bench_ring times: lines, rings, a
 * ring with a doorbell, wires. What goes one way is in sr_ring_flows.h.
 *
 * The asking end is this process, the serving end its child; one function each, that takes
 * a number of messages. A benchmark includes it once.
 */
#ifndef SR_RING_ENDS_H
#define SR_RING_ENDS_H

#include "sr_ring_wires.h"

#include <sys/mman.h>

#include "sr_record.h"
#include "sr_region.h"

#define MESSAGE_BYTES 256u
#define SLOT_BYTES_MAX 1024u

/* A line of its own that one side writes and the other polls. */
struct line {
	SR_ALIGNED(SR_LINE_BYTES) uint64_t number;
};

/* Both processes map this: orders to the peer, and the lines that are the floor.
 * Everything written by one side has a line of its own. */
struct shared {
	SR_ALIGNED(SR_LINE_BYTES) uint64_t order; /* raised: measure what follows */
	uint32_t row;
	uint32_t orders;
	uint32_t count; /* in each */
	uint64_t delay_ns;
	SR_ALIGNED(SR_LINE_BYTES) uint64_t done; /* the peer's: order that is finished */
	SR_ALIGNED(SR_LINE_BYTES) uint64_t worked; /* arithmetic: we are through */
	SR_ALIGNED(SR_LINE_BYTES) uint64_t ping;
	SR_ALIGNED(SR_LINE_BYTES) uint64_t pong;
	SR_ALIGNED(SR_LINE_BYTES) uint64_t both;
	SR_ALIGNED(SR_LINE_BYTES) uint64_t credit; /* one way: taken up to this number */
	struct line lines[SR_DEPTH_DEFAULT];       /* one way: the floor */
};

/* One side's view of a pair of regions. */
struct ring {
	struct sr_geometry submission;
	struct sr_geometry completion;
	struct sr_region own;
	struct sr_region other;
	struct sr_slots out;
	struct sr_slots in;
	uint64_t word; /* of the next message */
};

/* Those of flows go one way: nothing is ever published in their completion regions. */
enum {
	RING_DEFAULT, RING_EVEN, RING_SMALL, RING_LARGE,
	RING_FLOW_DEFAULT, RING_FLOW_EVEN, RING_FLOW_SMALL, RING_FLOW_LARGE, RINGS,
};

/* A slot is whole lines of 128 bytes. */
#define GEOMETRY(out, back)                                                                \
	{ .submission = { 1, SR_DEPTH_DEFAULT, out }, .completion = { 1, SR_DEPTH_DEFAULT, back } }

static struct shared *shared;
static struct ring rings[RINGS] = {
	[RING_DEFAULT] = GEOMETRY(SR_SUB_BYTES_DEFAULT, SR_CMP_BYTES),
	[RING_EVEN] = GEOMETRY(MESSAGE_BYTES, MESSAGE_BYTES),
	[RING_SMALL] = GEOMETRY(SR_LINE_BYTES, SR_LINE_BYTES),
	[RING_LARGE] = GEOMETRY(SLOT_BYTES_MAX, SLOT_BYTES_MAX),
	[RING_FLOW_DEFAULT] = GEOMETRY(SR_SUB_BYTES_DEFAULT, SR_CMP_BYTES),
	[RING_FLOW_EVEN] = GEOMETRY(MESSAGE_BYTES, SR_CMP_BYTES),
	[RING_FLOW_SMALL] = GEOMETRY(SR_LINE_BYTES, SR_CMP_BYTES),
	[RING_FLOW_LARGE] = GEOMETRY(SLOT_BYTES_MAX, SR_CMP_BYTES),
};
static uint64_t line_number; /* private: both sides count alike */
static uint64_t both_number;
static SR_ALIGNED(SR_LINE_BYTES) unsigned char request[SLOT_BYTES_MAX];
static SR_ALIGNED(SR_LINE_BYTES) unsigned char reply[SLOT_BYTES_MAX];

#define ALWAYS_INLINE static inline __attribute__((always_inline))
/*
 * The two ends of a row. Hot, because the peer never returns, so that the compiler
 * takes all that it calls for cold and copies by `rep movs`: 50 ns a message. Of
 * its own and aligned, because where a spin of three instructions falls in a line
 * of code moves the floor by a tenth, from one build to the next.
 */
#define HOT static __attribute__((noinline, hot, aligned(128)))

static void hold(uint64_t delay_ns)
{
	if (SR_UNLIKELY(delay_ns))
		sr_bench_spin(delay_ns);
}

ALWAYS_INLINE void idle(bool pause)
{
	if (pause)
		sr_pause();
}

/* ---- the floor ---- */

ALWAYS_INLINE void lines_ask(uint32_t count, bool pause)
{
	while (count--) {
		sr_store_release(&shared->ping, ++line_number);
		while (sr_load_acquire(&shared->pong) != line_number)
			idle(pause);
	}
}

ALWAYS_INLINE void lines_serve(uint32_t count, uint64_t delay_ns, bool pause)
{
	while (count--) {
		line_number++;
		while (sr_load_acquire(&shared->ping) != line_number)
			idle(pause);
		hold(delay_ns);
		sr_store_release(&shared->pong, line_number);
	}
}

HOT void lines_ask_spin(uint32_t count)
{
	lines_ask(count, false);
}

HOT void lines_serve_spin(uint32_t count, uint64_t delay_ns)
{
	lines_serve(count, delay_ns, false);
}

HOT void lines_ask_pause(uint32_t count)
{
	lines_ask(count, true);
}

HOT void lines_serve_pause(uint32_t count, uint64_t delay_ns)
{
	lines_serve(count, delay_ns, true);
}

HOT void one_ask(uint32_t count)
{
	while (count--) {
		sr_store_release(&shared->both, both_number + 1);
		both_number += 2;
		while (sr_load_acquire(&shared->both) != both_number)
			;
	}
}

HOT void one_serve(uint32_t count, uint64_t delay_ns)
{
	while (count--) {
		while (sr_load_acquire(&shared->both) != both_number + 1)
			;
		hold(delay_ns);
		both_number += 2;
		sr_store_release(&shared->both, both_number);
	}
}

/* ---- rings ---- */

ALWAYS_INLINE void await(const struct ring *r, uint64_t word, bool pause)
{
	int ret;

	while ((ret = sr_slot_look(&r->in, word)) == -EAGAIN) {
		sr_slot_expect(&r->in, word);
		idle(pause);
	}
	if (SR_UNLIKELY(ret < 0)) {
		errno = -ret;
		die("ring");
	}
}

static void check_reply(uint64_t word)
{
	if (SR_UNLIKELY(sr_get64(reply + SR_CMP_BODY) != word)) {
		errno = EBADMSG;
		die("a reply is not the request's");
	}
}

ALWAYS_INLINE void ring_ask(struct ring *r, uint32_t count, bool pause)
{
	while (count--) {
		uint64_t word = r->word++;

		sr_put64(request + SR_SUB_BODY, word);
		sr_slot_publish(&r->out, word, request);
		sr_slot_ahead(&r->out, word);
		await(r, word, pause);
		sr_slot_copy(&r->in, word, reply);
		check_reply(word);
	}
}

ALWAYS_INLINE void answer(struct ring *r, uint64_t word, uint64_t delay_ns)
{
	sr_slot_copy(&r->in, word, request);
	hold(delay_ns);
	sr_put64(reply + SR_CMP_BODY, sr_get64(request + SR_SUB_BODY));
	sr_slot_publish(&r->out, word, reply);
	sr_slot_ahead(&r->out, word);
}

ALWAYS_INLINE void ring_serve(struct ring *r, uint32_t count, uint64_t delay_ns, bool pause)
{
	while (count--) {
		uint64_t word = r->word++;

		await(r, word, pause);
		answer(r, word, delay_ns);
	}
}

HOT void ring_ask_spin(struct ring *r, uint32_t count)
{
	ring_ask(r, count, false);
}

HOT void ring_serve_spin(struct ring *r, uint32_t count, uint64_t delay_ns)
{
	ring_serve(r, count, delay_ns, false);
}

HOT void ring_ask_pause(struct ring *r, uint32_t count)
{
	ring_ask(r, count, true);
}

HOT void ring_serve_pause(struct ring *r, uint32_t count, uint64_t delay_ns)
{
	ring_serve(r, count, delay_ns, true);
}

/* ---- the peer's doorbell: the ring, and sleep until it rings ---- */

static void bell_ring(const struct wire *w)
{
	static const uint64_t one = 1;

	if (write(w->out, &one, sizeof one) != sizeof one)
		die("eventfd");
}

static void bell_await(const struct ring *r, const struct wire *w, uint64_t word)
{
	uint64_t rings_heard;

	while (sr_slot_look(&r->in, word) == -EAGAIN)
		if (read(w->in, &rings_heard, sizeof rings_heard) != sizeof rings_heard)
			die("eventfd");
}

static void bell_ask(struct ring *r, uint32_t count)
{
	while (count--) {
		uint64_t word = r->word++;

		sr_put64(request + SR_SUB_BODY, word);
		sr_slot_publish(&r->out, word, request);
		sr_slot_ahead(&r->out, word);
		bell_ring(&wires[WIRE_BELL]);
		bell_await(r, &wires[WIRE_BELL], word);
		sr_slot_copy(&r->in, word, reply);
		check_reply(word);
	}
}

static void bell_serve(struct ring *r, uint32_t count, uint64_t delay_ns)
{
	while (count--) {
		uint64_t word = r->word++;

		bell_await(r, &wires[WIRE_BELL], word);
		answer(r, word, delay_ns);
		bell_ring(&wires[WIRE_BELL]);
	}
}

/* ---- sockets and pipes ---- */

static void number_check(uint64_t number)
{
	if (sr_get64(reply) != number) {
		errno = EBADMSG;
		die("a reply is not the request's");
	}
}

static void wire_ask(int kind, bool busy, uint32_t bytes, uint32_t count)
{
	const struct wire *w = &wires[kind];

	wire_mode(w, kind, busy);
	while (count--) {
		uint64_t number = ++line_number;

		sr_put64(request, number);
		if (kind == WIRE_URING) {
			uring_put(request, bytes);
			uring_get(reply, bytes);
		} else {
			wire_put(w, kind, busy, request, bytes);
			wire_get(w, kind, busy, reply, bytes);
		}
		number_check(number);
	}
}

/* The other side of io_uring is a plain socket. */
static void wire_serve(int kind, bool busy, uint32_t bytes, uint32_t count, uint64_t delay_ns)
{
	const struct wire *w = &wires[kind];

	wire_mode(w, kind, busy);
	while (count--) {
		line_number++; /* keeps the two sides' counts alike */
		wire_get(w, kind, busy, request, bytes);
		hold(delay_ns);
		wire_put(w, kind, busy, request, bytes);
	}
}

#endif /* SR_RING_ENDS_H */
