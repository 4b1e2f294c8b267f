/* SPDX-License-Identifier: MIT */
/*
 * sr_ring_rows.h - the rows of bench_ring: their keys in JSON, their words, what is timed.
 */
#ifndef SR_RING_ROWS_H
#define SR_RING_ROWS_H

#include "sr_ring_ends.h"
#include "sr_ring_peers.h"

enum kind {
	KIND_LINES, KIND_LINES_PAUSE, KIND_ONE_LINE, KIND_RING, KIND_RING_PAUSE, KIND_RING_RATE,
	KIND_BELL, KIND_WIRE, KIND_WIRE_BLOCK, KIND_WIRE_RATE, KIND_WORK, KIND_WORK_BOTH, KIND_PEER,
};

struct row {
	const char *key;
	const char *text;
	enum kind kind;
	uint32_t of;      /* of the rings, the wires or the peers */
	uint32_t bytes;   /* on a wire */
	uint32_t batches; /* in a round */
};

enum {
	ROW_LINES, ROW_LINES_PAUSE, ROW_ONE_LINE,
	ROW_EVEN, ROW_DEFAULT, ROW_EVEN_PAUSE, ROW_DEFAULT_PAUSE,
	ROW_STREAM, ROW_SEQPACKET, ROW_TCP, ROW_PIPE, ROW_STREAM_BLOCK, ROW_SEQPACKET_BLOCK,
	ROW_TCP_BLOCK, ROW_PIPE_BLOCK, ROW_BELL, ROW_URING, ROW_VSOCK, ROW_VSOCK_BLOCK,
	ROW_RATE, ROW_WORK, ROW_WORK_BOTH, ROW_PEER_CK, ROW_PEER_BOOST,
	ROW_MORE, /* the other sizes, and wires one way */
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
#define RATE_ROWS(size, bytes, slot, ring)                                                               \
	{ "ring_rate_" size, "ring, slots of " slot " bytes, 256 in flight", KIND_RING_RATE, ring, \
	  bytes, 3 },                                                                              \
	{ "unix_stream_rate_" size, "AF_UNIX stream, one way, " size " bytes", KIND_WIRE_RATE,     \
	  WIRE_STREAM, bytes, 3 },                                                                 \
	{ "unix_seqpacket_rate_" size, "AF_UNIX seqpacket, one way, " size " bytes",               \
	  KIND_WIRE_RATE, WIRE_SEQPACKET, bytes, 3 },                                              \
	{ "tcp_rate_" size, "TCP loopback, one way, " size " bytes", KIND_WIRE_RATE, WIRE_TCP,     \
	  bytes, 3 },                                                                              \
	{ "pipe_rate_" size, "pipe, one way, " size " bytes", KIND_WIRE_RATE, WIRE_PIPE, bytes, 3 }

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
	[ROW_VSOCK] = { "vsock", "AF_VSOCK within this guest, busy-polling", KIND_WIRE, WIRE_VSOCK,
			MESSAGE_BYTES, 12 },
	[ROW_VSOCK_BLOCK] = { "vsock_block", "AF_VSOCK within this guest, blocking",
			      KIND_WIRE_BLOCK, WIRE_VSOCK, MESSAGE_BYTES, 6 },
	[ROW_RATE] = { "ring_rate", "ring 384/128, up to 256 in flight", KIND_RING_RATE,
		       RING_DEFAULT, 0, 3 },
	[ROW_WORK] = { "work", "1000 multiplications, the other CPU asleep", KIND_WORK, 0, 0,
		       16 },
	[ROW_WORK_BOTH] = { "work_both", "the same on both CPUs at once", KIND_WORK_BOTH, 0, 0,
			    16 },
	[ROW_PEER_CK] = { "peer_ck", "ck_ring (Concurrency Kit), elements of 256 bytes", KIND_PEER,
			  PEER_CK, 0, 160 },
	[ROW_PEER_BOOST] = { "peer_boost", "boost::lockfree::spsc_queue, elements of 256 bytes", KIND_PEER,
			     PEER_BOOST, 0, 160 },
	[ROW_MORE] = { "ring_64", "ring, slots of 128 out and 128 back (64 bytes)", KIND_RING,
		       RING_SMALL, 0, 160 },
	{ "ring_1024", "ring, slots of 1024 out and 1024 back", KIND_RING, RING_LARGE, 0, 160 },
	WIRE_ROWS("64", 64),
	WIRE_ROWS("1024", 1024),
	RATE_ROWS("64", 64, "128", RING_SMALL),
	RATE_ROWS("256", 256, "256", RING_EVEN),
	RATE_ROWS("1024", 1024, "1024", RING_LARGE),
};

#define ROWS (sizeof table / sizeof table[0])
SR_STATIC_ASSERT(ROWS <= SR_BENCH_ROWS_MAX, "there is a place for each row");

#endif /* SR_RING_ROWS_H */
