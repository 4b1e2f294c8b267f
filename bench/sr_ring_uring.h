/* SPDX-License-Identifier: MIT */
/*
 * sr_ring_uring.h - io_uring at both ends of an AF_UNIX stream, for bench_ring.
 *
 * Three ways: as one would begin (send and recv, completions run when they are looked
 * for: DEFER_TASKRUN); the same with the socket and the buffers registered, so that the
 * kernel looks neither of them up; and registered, with a kernel thread at either end that
 * polls for submissions (SQPOLL), so that nobody makes a system call: that is two CPUs
 * more. A reply and the next request's receive go to the kernel together. A ring belongs
 * to the process that uses it: each side makes its own. A benchmark includes it once.
 */
#ifndef SR_RING_URING_H
#define SR_RING_URING_H

#include <sys/socket.h>
#include <sys/uio.h>

#include <liburing.h>

#include "sr_ring_ends.h"

#define URING_ENTRIES 8u
#define URING_IDLE_MS 1u   /* then the kernel's thread sleeps: other rows are measured */
#define URING_SQPOLL_CPUS 4 /* both ends, and a kernel thread for each */

enum { URING_BOTH, URING_FIXED, URING_SQPOLL, URINGS };
enum { URING_IN, URING_OUT };

static struct uring_end {
	struct io_uring ring;
	int fd;
	bool fixed;
	bool polled;         /* by the kernel's thread */
	bool under_way[2];   /* in, out */
	uint32_t done[2];    /* of the message */
	uint32_t bytes;      /* of each message */
	unsigned char *data[2];
} urings[URINGS];

/* In the process that will use it. 0, or -errno: this kernel has none of this kind. */
static int uring_make(int kind, int fd)
{
	static SR_ALIGNED(SR_LINE_BYTES) unsigned char data[URINGS][2][SLOT_BYTES_MAX];
	struct uring_end *u = &urings[kind];
	struct io_uring_params params = { .flags = IORING_SETUP_SINGLE_ISSUER |
						   IORING_SETUP_DEFER_TASKRUN };
	struct iovec buffers[2];
	int ret;

	u->fd = fd;
	u->fixed = kind != URING_BOTH;
	u->polled = kind == URING_SQPOLL;
	if (u->polled)
		params = (struct io_uring_params){ .flags = IORING_SETUP_SQPOLL,
						   .sq_thread_idle = URING_IDLE_MS };
	ret = io_uring_queue_init_params(URING_ENTRIES, &u->ring, &params);
	if (ret < 0)
		return ret;
	for (int i = 0; i < 2; i++) {
		u->data[i] = data[kind][i];
		buffers[i] = (struct iovec){ u->data[i], SLOT_BYTES_MAX };
	}
	if (u->fixed)
		ret = io_uring_register_files(&u->ring, &fd, 1);
	if (ret == 0 && u->fixed)
		ret = io_uring_register_buffers(&u->ring, buffers, 2);
	return ret;
}

/* What is left of a message, to or from the kernel. */
static void uring_start(struct uring_end *u, int way)
{
	unsigned char *at = u->data[way] + u->done[way];
	uint32_t bytes = u->bytes - u->done[way];
	struct io_uring_sqe *sqe = io_uring_get_sqe(&u->ring);

	if (!sqe) {
		errno = EBUSY;
		die("io_uring");
	}
	if (!u->fixed && way == URING_OUT)
		io_uring_prep_send(sqe, u->fd, at, bytes, MSG_NOSIGNAL);
	else if (!u->fixed)
		io_uring_prep_recv(sqe, u->fd, at, bytes, 0);
	else if (way == URING_OUT)
		io_uring_prep_write_fixed(sqe, 0, at, bytes, 0, URING_OUT);
	else
		io_uring_prep_read_fixed(sqe, 0, at, bytes, 0, URING_IN);
	if (u->fixed)
		sqe->flags |= IOSQE_FIXED_FILE;
	io_uring_sqe_set_data64(sqe, (unsigned int)way);
	u->under_way[way] = true;
}

static void uring_begin(struct uring_end *u, int way, uint32_t bytes)
{
	u->bytes = bytes;
	u->done[way] = 0;
	uring_start(u, way);
}

/* Hands over what was begun, and looks until the whole message has gone this way. */
static void uring_finish(struct uring_end *u, int way)
{
	struct io_uring_cqe *cqe;

	if (u->polled)
		(void)io_uring_submit(&u->ring);
	while (u->done[way] < u->bytes || u->under_way[way]) {
		if (!u->polled)
			(void)io_uring_submit_and_get_events(&u->ring);
		while (io_uring_peek_cqe(&u->ring, &cqe) == 0) {
			int at = (int)cqe->user_data, n = cqe->res;

			io_uring_cqe_seen(&u->ring, cqe);
			u->under_way[at] = false;
			if (n <= 0 && n != -EINTR && n != -EAGAIN) {
				errno = n ? -n : ECONNRESET;
				die("io_uring");
			}
			u->done[at] += n > 0 ? (uint32_t)n : 0;
			if (u->done[at] == u->bytes)
				continue;
			uring_start(u, at);
			if (u->polled)
				(void)io_uring_submit(&u->ring);
		}
	}
}

static void uring_number_check(const struct uring_end *u)
{
	if (sr_get64(u->data[URING_IN]) != line_number) {
		errno = EBADMSG;
		die("a reply is not the request's");
	}
}

static void uring_ask(struct uring_end *u, uint32_t bytes, uint32_t count)
{
	while (count--) {
		sr_put64(u->data[URING_OUT], ++line_number);
		uring_begin(u, URING_OUT, bytes);
		uring_begin(u, URING_IN, bytes);
		uring_finish(u, URING_IN);
		uring_finish(u, URING_OUT);
		uring_number_check(u);
	}
}

static void uring_serve(struct uring_end *u, uint32_t bytes, uint32_t count, uint64_t delay_ns)
{
	uring_begin(u, URING_IN, bytes);
	while (count--) {
		line_number++;
		uring_finish(u, URING_IN);
		hold(delay_ns);
		memcpy(u->data[URING_OUT], u->data[URING_IN], bytes);
		uring_begin(u, URING_OUT, bytes);
		if (count)
			uring_begin(u, URING_IN, bytes);
		uring_finish(u, URING_OUT);
	}
}

/* One way: a write under way at a time, for order among several is not promised. */
static void uring_flood(struct uring_end *u, uint32_t bytes, uint32_t count)
{
	while (count--) {
		sr_put64(u->data[URING_OUT], ++line_number);
		uring_begin(u, URING_OUT, bytes);
		uring_finish(u, URING_OUT);
	}
	uring_begin(u, URING_IN, bytes);
	uring_finish(u, URING_IN);
	uring_number_check(u);
}

static void uring_drain(struct uring_end *u, uint32_t bytes, uint32_t count, uint64_t delay_ns)
{
	while (count--) {
		line_number++;
		uring_begin(u, URING_IN, bytes);
		uring_finish(u, URING_IN);
		hold(delay_ns);
	}
	memcpy(u->data[URING_OUT], u->data[URING_IN], bytes);
	uring_begin(u, URING_OUT, bytes);
	uring_finish(u, URING_OUT);
}

#endif /* SR_RING_URING_H */
