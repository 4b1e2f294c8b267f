/* SPDX-License-Identifier: MIT */
/*
 * sr_ring_rows.h - the rows of bench_ring: their keys in JSON, their words, what is timed,
 * and who does it: ask() this process, serve() its child.
 */
#ifndef SR_RING_ROWS_H
#define SR_RING_ROWS_H

#include "sr_ring_caches.h"
#include "sr_ring_flows.h"
#include "sr_ring_peers.h"
#include "sr_ring_uring.h"

enum kind {
	KIND_LINES, KIND_LINES_PAUSE, KIND_ONE_LINE, KIND_RING, KIND_RING_PAUSE, KIND_BELL,
	KIND_WIRE, KIND_WIRE_BLOCK, KIND_URING, KIND_PEER,
	/* what two CPUs share: no message travels */
	KIND_WORK, KIND_WORK_BOTH, KIND_WALK, KIND_WALK_BOTH,
	/* one way */
	KIND_RING_RATE, KIND_LINES_FLOW, KIND_RING_FLOW, KIND_BELL_FLOW, KIND_WIRE_FLOW,
	KIND_URING_FLOW, KIND_PEER_FLOW,
};

struct row {
	const char *key;
	const char *text;
	enum kind kind;
	uint32_t of;      /* of the rings, the wires, the urings or the peers */
	uint32_t bytes;   /* of a message, where a wire needs to know */
	uint32_t batches; /* in four rounds: a short one is less often disturbed */
};

enum {
	ROW_LINES, ROW_LINES_PAUSE, ROW_ONE_LINE,
	ROW_EVEN, ROW_DEFAULT, ROW_EVEN_PAUSE, ROW_DEFAULT_PAUSE,
	ROW_STREAM, ROW_SEQPACKET, ROW_TCP, ROW_PIPE, ROW_STREAM_BLOCK, ROW_SEQPACKET_BLOCK,
	ROW_TCP_BLOCK, ROW_PIPE_BLOCK, ROW_BELL, ROW_URING, ROW_URING_BOTH, ROW_URING_FIXED,
	ROW_URING_SQPOLL, ROW_VSOCK, ROW_VSOCK_BLOCK,
	ROW_RATE, ROW_WORK, ROW_WORK_BOTH, ROW_PEER_CK, ROW_PEER_BOOST, ROW_PEER_DPDK,
	ROW_MORE, /* what only --all has: one way, the other sizes, a shared cache */
	ROW_LINES_FLOW = ROW_MORE, ROW_WALK, ROW_WALK_BOTH, ROW_WALK_MEMORY, ROW_LIST,
};

#define WIRE_ROWS(size, bytes)                                                                     \
	{ "unix_stream_" size, "AF_UNIX stream, busy-polling, " size " bytes", KIND_WIRE,          \
	  WIRE_STREAM, bytes, 16 },                                                                \
	{ "unix_seqpacket_" size, "AF_UNIX seqpacket, busy-polling, " size " bytes", KIND_WIRE,    \
	  WIRE_SEQPACKET, bytes, 16 },                                                             \
	{ "tcp_" size, "TCP loopback, busy-polling, " size " bytes", KIND_WIRE, WIRE_TCP, bytes,   \
	  12 },                                                                                    \
	{ "pipe_" size, "two pipes, busy-polling, " size " bytes", KIND_WIRE, WIRE_PIPE, bytes,    \
	  16 },                                                                                    \
	{ "unix_stream_block_" size, "AF_UNIX stream, blocking, " size " bytes", KIND_WIRE_BLOCK,  \
	  WIRE_STREAM, bytes, 4 },                                                                 \
	{ "unix_seqpacket_block_" size, "AF_UNIX seqpacket, blocking, " size " bytes",             \
	  KIND_WIRE_BLOCK, WIRE_SEQPACKET, bytes, 4 },                                             \
	{ "tcp_block_" size, "TCP loopback, blocking, " size " bytes", KIND_WIRE_BLOCK, WIRE_TCP,  \
	  bytes, 4 },                                                                              \
	{ "pipe_block_" size, "two pipes, blocking, " size " bytes", KIND_WIRE_BLOCK, WIRE_PIPE,   \
	  bytes, 4 }
#define URING_ROWS(size, bytes)                                                                    \
	{ "uring_both_" size, "io_uring at both ends, " size " bytes", KIND_URING, URING_BOTH,     \
	  bytes, 12 },                                                                             \
	{ "uring_fixed_" size, "the same, registered, " size " bytes", KIND_URING, URING_FIXED,    \
	  bytes, 12 }
#define PEER_ROWS(size, at)                                                                        \
	{ "peer_ck_" size, "ck_ring, elements of " size " bytes", KIND_PEER, PEER_OF(PEER_CK, at), \
	  0, 160 },                                                                                \
	{ "peer_boost_" size, "boost::lockfree::spsc_queue, of " size " bytes", KIND_PEER,         \
	  PEER_OF(PEER_BOOST, at), 0, 160 },                                                       \
	{ "peer_dpdk_" size, "rte_ring, elements of " size " bytes", KIND_PEER,                    \
	  PEER_OF(PEER_DPDK, at), 0, 160 }
#define FLOW_ROWS(size, bytes, slot, ring, flow, at)                                               \
	{ "ring_rate_" size, "ring, slots of " slot ", 256 in flight, completions too",            \
	  KIND_RING_RATE, ring, bytes, 3 },                                                        \
	{ "ring_flow_" size, "ring, slots of " slot ", one way", KIND_RING_FLOW, flow, bytes, 3 }, \
	{ "ring_eventfd_flow_" size, "ring, slots of " slot ", an eventfd each, one way",          \
	  KIND_BELL_FLOW, flow, bytes, 3 },                                                        \
	{ "peer_ck_flow_" size, "ck_ring, of " size " bytes, one way", KIND_PEER_FLOW,             \
	  PEER_OF(PEER_CK, at), 0, 3 },                                                            \
	{ "peer_boost_flow_" size, "boost spsc_queue, of " size " bytes, one way", KIND_PEER_FLOW, \
	  PEER_OF(PEER_BOOST, at), 0, 3 },                                                         \
	{ "peer_dpdk_flow_" size, "rte_ring, of " size " bytes, one way", KIND_PEER_FLOW,          \
	  PEER_OF(PEER_DPDK, at), 0, 3 },                                                          \
	{ "unix_stream_rate_" size, "AF_UNIX stream, " size " bytes, one way", KIND_WIRE_FLOW,     \
	  WIRE_STREAM, bytes, 3 },                                                                 \
	{ "unix_seqpacket_rate_" size, "AF_UNIX seqpacket, " size " bytes, one way",               \
	  KIND_WIRE_FLOW, WIRE_SEQPACKET, bytes, 3 },                                              \
	{ "tcp_rate_" size, "TCP loopback, " size " bytes, one way", KIND_WIRE_FLOW, WIRE_TCP,     \
	  bytes, 3 },                                                                              \
	{ "pipe_rate_" size, "pipe, " size " bytes, one way", KIND_WIRE_FLOW, WIRE_PIPE, bytes,    \
	  3 },                                                                                     \
	{ "uring_rate_" size, "io_uring at our end, " size " bytes, one way", KIND_WIRE_FLOW,      \
	  WIRE_URING, bytes, 3 },                                                                  \
	{ "uring_fixed_rate_" size, "io_uring at both, registered, " size " B, one way",           \
	  KIND_URING_FLOW, URING_FIXED, bytes, 3 }

static const struct row table[] = {
	[ROW_LINES] = { "line", "raw cache line, one a direction", KIND_LINES, 0, 0, 160 },
	[ROW_LINES_PAUSE] = { "line_pause", "raw cache line, with a pause in the spin",
			      KIND_LINES_PAUSE, 0, 0, 160 },
	[ROW_ONE_LINE] = { "line_shared", "raw cache line, one for both directions",
			   KIND_ONE_LINE, 0, 0, 160 },
	[ROW_EVEN] = { "ring_256", "ring, slots of 256 out and 256 back", KIND_RING, RING_EVEN, 0,
		       160 },
	[ROW_DEFAULT] = { "ring_384", "ring, slots of 384 out and 128 back (default)", KIND_RING,
			  RING_DEFAULT, 0, 160 },
	[ROW_EVEN_PAUSE] = { "ring_256_pause", "ring 256/256, with a pause in the spin",
			     KIND_RING_PAUSE, RING_EVEN, 0, 160 },
	[ROW_DEFAULT_PAUSE] = { "ring_384_pause", "ring 384/128, with a pause in the spin",
				KIND_RING_PAUSE, RING_DEFAULT, 0, 160 },
	[ROW_STREAM] = { "unix_stream", "AF_UNIX stream, busy-polling", KIND_WIRE, WIRE_STREAM,
			 MESSAGE_BYTES, 16 },
	[ROW_SEQPACKET] = { "unix_seqpacket", "AF_UNIX seqpacket, busy-polling", KIND_WIRE,
			    WIRE_SEQPACKET, MESSAGE_BYTES, 16 },
	[ROW_TCP] = { "tcp", "TCP loopback, busy-polling", KIND_WIRE, WIRE_TCP, MESSAGE_BYTES, 12 },
	[ROW_PIPE] = { "pipe", "two pipes, busy-polling", KIND_WIRE, WIRE_PIPE, MESSAGE_BYTES, 16 },
	[ROW_STREAM_BLOCK] = { "unix_stream_block", "AF_UNIX stream, blocking", KIND_WIRE_BLOCK,
			       WIRE_STREAM, MESSAGE_BYTES, 6 },
	[ROW_SEQPACKET_BLOCK] = { "unix_seqpacket_block", "AF_UNIX seqpacket, blocking",
				  KIND_WIRE_BLOCK, WIRE_SEQPACKET, MESSAGE_BYTES, 6 },
	[ROW_TCP_BLOCK] = { "tcp_block", "TCP loopback, blocking", KIND_WIRE_BLOCK, WIRE_TCP,
			    MESSAGE_BYTES, 6 },
	[ROW_PIPE_BLOCK] = { "pipe_block", "two pipes, blocking", KIND_WIRE_BLOCK, WIRE_PIPE,
			     MESSAGE_BYTES, 6 },
	[ROW_BELL] = { "ring_eventfd", "ring 256/256, asleep on an eventfd", KIND_BELL, RING_EVEN,
		       0, 6 },
	[ROW_URING] = { "uring", "AF_UNIX stream, io_uring at our end, busy-polling", KIND_WIRE,
			WIRE_URING, MESSAGE_BYTES, 12 },
	[ROW_URING_BOTH] = { "uring_both", "AF_UNIX stream, io_uring at both ends", KIND_URING,
			     URING_BOTH, MESSAGE_BYTES, 12 },
	[ROW_URING_FIXED] = { "uring_fixed", "the same, socket and buffers registered", KIND_URING,
			      URING_FIXED, MESSAGE_BYTES, 12 },
	[ROW_URING_SQPOLL] = { "uring_sqpoll", "the same, submissions polled by the kernel",
			       KIND_URING, URING_SQPOLL, MESSAGE_BYTES, 12 },
	[ROW_VSOCK] = { "vsock", "AF_VSOCK within this guest, busy-polling", KIND_WIRE, WIRE_VSOCK,
			MESSAGE_BYTES, 12 },
	[ROW_VSOCK_BLOCK] = { "vsock_block", "AF_VSOCK within this guest, blocking",
			      KIND_WIRE_BLOCK, WIRE_VSOCK, MESSAGE_BYTES, 6 },
	[ROW_RATE] = { "ring_rate", "ring 384/128, 256 in flight, completions too", KIND_RING_RATE,
		       RING_DEFAULT, 0, 3 },
	[ROW_WORK] = { "work", "1000 multiplications, the other CPU asleep", KIND_WORK, 0, 0,
		       16 },
	[ROW_WORK_BOTH] = { "work_both", "the same on both CPUs at once", KIND_WORK_BOTH, 0, 0,
			    16 },
	[ROW_PEER_CK] = { "peer_ck", "ck_ring (Concurrency Kit), elements of 256 bytes", KIND_PEER,
			  PEER_OF(PEER_CK, PEER_256), 0, 160 },
	[ROW_PEER_BOOST] = { "peer_boost", "boost::lockfree::spsc_queue, elements of 256 bytes", 
			     KIND_PEER, PEER_OF(PEER_BOOST, PEER_256), 0, 160 },
	[ROW_PEER_DPDK] = { "peer_dpdk", "rte_ring (DPDK), elements of 256 bytes", KIND_PEER,
			    PEER_OF(PEER_DPDK, PEER_256), 0, 160 },
	[ROW_LINES_FLOW] = { "line_flow", "raw cache lines, a number in each, one way",
			     KIND_LINES_FLOW, 0, 0, 3 },
	[ROW_WALK] = { "walk", "4096 steps, two core caches wide, other CPU asleep",
		       KIND_WALK, WALK_CACHE, 0, 2 },
	[ROW_WALK_BOTH] = { "walk_both", "the same, the other CPU reading memory", KIND_WALK_BOTH,
			    WALK_CACHE, 0, 2 },
	[ROW_WALK_MEMORY] = { "walk_memory", "4096 steps, 64 MiB wide, the other CPU asleep",
			      KIND_WALK, WALK_MEMORY, 0, 2 },
	[ROW_LIST] = { "ring_64", "ring, slots of 128 out and 128 back (64 bytes)", KIND_RING,
		       RING_SMALL, 0, 160 },
	{ "ring_1024", "ring, slots of 1024 out and 1024 back", KIND_RING, RING_LARGE, 0, 160 },
	WIRE_ROWS("64", 64),
	WIRE_ROWS("1024", 1024),
	URING_ROWS("64", 64),
	URING_ROWS("1024", 1024),
	PEER_ROWS("64", PEER_64),
	PEER_ROWS("1024", PEER_1024),
	{ "ring_flow", "ring, slots of 384 (default), one way", KIND_RING_FLOW, RING_FLOW_DEFAULT,
	  0, 3 },
	FLOW_ROWS("64", 64, "128", RING_SMALL, RING_FLOW_SMALL, PEER_64),
	FLOW_ROWS("256", 256, "256", RING_EVEN, RING_FLOW_EVEN, PEER_256),
	FLOW_ROWS("1024", 1024, "1024", RING_LARGE, RING_FLOW_LARGE, PEER_1024),
};

#define ROWS (sizeof table / sizeof table[0])
SR_STATIC_ASSERT(ROWS <= SR_BENCH_ROWS_MAX, "there is a place for each row");

static bool is_rate(const struct row *row)
{
	return row->kind >= KIND_RING_RATE;
}

/* Whose messages go through the kernel, whose own threads then take a CPU now and then. */
static bool is_kernel(const struct row *row)
{
	return row->kind == KIND_BELL || row->kind == KIND_WIRE || row->kind == KIND_WIRE_BLOCK ||
	       row->kind == KIND_URING || row->kind == KIND_BELL_FLOW ||
	       row->kind == KIND_WIRE_FLOW || row->kind == KIND_URING_FLOW;
}

static bool is_peer(const struct row *row)
{
	return row->kind == KIND_PEER || row->kind == KIND_PEER_FLOW;
}

static void peer_check(int ret)
{
	if (ret < 0) {
		errno = EBADMSG;
		die("a peer's reply is not the request's");
	}
}

/* One way. */
static void ask_flow(const struct row *row, uint32_t count)
{
	switch (row->kind) {
	case KIND_RING_RATE:
		ring_flood(&rings[row->of], count);
		break;
	case KIND_LINES_FLOW:
		lines_flood(count);
		break;
	case KIND_RING_FLOW:
		ring_send_spin(&rings[row->of], count);
		break;
	case KIND_BELL_FLOW:
		bell_send(&rings[row->of], count);
		break;
	case KIND_URING_FLOW:
		uring_flood(&urings[row->of], row->bytes, count);
		break;
	case KIND_PEER_FLOW:
		peer_check(peers[row->of].peer->flood(peers[row->of].memory, count,
						      &peers[row->of].number));
		break;
	default:
		wire_flood((int)row->of, row->bytes, count);
		break;
	}
}

static void serve_flow(const struct row *row, uint32_t count, uint64_t delay_ns)
{
	switch (row->kind) {
	case KIND_RING_RATE:
		ring_serve_spin(&rings[row->of], count, delay_ns);
		break;
	case KIND_LINES_FLOW:
		lines_drain(count, delay_ns);
		break;
	case KIND_RING_FLOW:
		ring_take_spin(&rings[row->of], count, delay_ns);
		break;
	case KIND_BELL_FLOW:
		bell_take(&rings[row->of], count, delay_ns);
		break;
	case KIND_URING_FLOW:
		uring_drain(&urings[row->of], row->bytes, count, delay_ns);
		break;
	case KIND_PEER_FLOW:
		peers[row->of].peer->drain(peers[row->of].memory, count, delay_ns);
		break;
	default:
		wire_drain((int)row->of, row->bytes, count, delay_ns);
		break;
	}
}

static void ask(const struct row *row, uint32_t count)
{
	switch (row->kind) {
	case KIND_LINES:
		lines_ask_spin(count);
		break;
	case KIND_LINES_PAUSE:
		lines_ask_pause(count);
		break;
	case KIND_ONE_LINE:
		one_ask(count);
		break;
	case KIND_RING:
		ring_ask_spin(&rings[row->of], count);
		break;
	case KIND_RING_PAUSE:
		ring_ask_pause(&rings[row->of], count);
		break;
	case KIND_BELL:
		bell_ask(&rings[row->of], count);
		break;
	case KIND_WIRE:
	case KIND_WIRE_BLOCK:
		wire_ask((int)row->of, row->kind == KIND_WIRE, row->bytes, count);
		break;
	case KIND_URING:
		uring_ask(&urings[row->of], row->bytes, count);
		break;
	case KIND_PEER:
		peer_check(peers[row->of].peer->ask(peers[row->of].memory, count,
						    &peers[row->of].number));
		break;
	case KIND_WORK:
	case KIND_WORK_BOTH:
		work(count);
		hold(shared->delay_ns * count);
		break;
	case KIND_WALK:
	case KIND_WALK_BOTH:
		walk_on(&walks[row->of], count);
		hold(shared->delay_ns * count);
		break;
	default:
		ask_flow(row, count);
		break;
	}
}

/* @count messages; @orders of them are asked for together. */
static void serve(const struct row *row, uint32_t orders, uint32_t count, uint64_t delay_ns)
{
	switch (row->kind) {
	case KIND_LINES:
		lines_serve_spin(orders * count, delay_ns);
		break;
	case KIND_LINES_PAUSE:
		lines_serve_pause(orders * count, delay_ns);
		break;
	case KIND_ONE_LINE:
		one_serve(orders * count, delay_ns);
		break;
	case KIND_RING:
		ring_serve_spin(&rings[row->of], orders * count, delay_ns);
		break;
	case KIND_RING_PAUSE:
		ring_serve_pause(&rings[row->of], orders * count, delay_ns);
		break;
	case KIND_BELL:
		bell_serve(&rings[row->of], orders * count, delay_ns);
		break;
	case KIND_WIRE:
	case KIND_WIRE_BLOCK:
		wire_serve((int)row->of, row->kind == KIND_WIRE, row->bytes, orders * count,
			   delay_ns);
		break;
	case KIND_URING:
		uring_serve(&urings[row->of], row->bytes, orders * count, delay_ns);
		break;
	case KIND_PEER:
		peers[row->of].peer->serve(peers[row->of].memory, orders * count, delay_ns);
		break;
	case KIND_WORK:
	case KIND_WALK:
		while (!sr_load_acquire(&shared->worked)) /* pairs with measure() */
			(void)usleep(100);
		break;
	case KIND_WORK_BOTH:
		while (!sr_load_acquire(&shared->worked))
			work(1);
		break;
	case KIND_WALK_BOTH:
		stream_until(&shared->worked);
		break;
	default:
		while (orders--)
			serve_flow(row, count, delay_ns);
		break;
	}
}

#endif /* SR_RING_ROWS_H */
