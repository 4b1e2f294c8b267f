/* SPDX-License-Identifier: MIT */
/*
 * One receive is always under way, into memory of our own, and at most one send,
 * from a copy of our own; the loop's buffers and the regions are never given to
 * the kernel. The ring is used by the polling thread alone, and completions run
 * when it looks for them (DEFER_TASKRUN), never by interrupting it.
 */
#include <stdlib.h>
#include <unistd.h>

#include <liburing.h>

#include "sr_frame.h"
#include "sr_stream.h"

#define RECV_BYTES (64u * 1024u)
#define ENTRIES 8u
#define TAG_RECV 1u
#define TAG_SEND 2u

struct uring {
	struct sr_stream stream; /* first */
	struct io_uring ring;
	bool ring_made;
	bool receiving;
	bool sending;
	int broken;        /* -errno of the stream */
	size_t ready;      /* received bytes, from `taken` on, not handed out */
	size_t taken;
	size_t send_done;  /* of the copy */
	size_t send_bytes;
	unsigned char recv_data[RECV_BYTES];
	unsigned char send_data[SR_WRITE_BYTES_MAX];
};

static struct uring *uring_of(struct sr_transport *t)
{
	return (struct uring *)(void *)t;
}

static void start_recv(struct uring *u)
{
	struct io_uring_sqe *sqe;

	if (u->receiving || u->ready || u->broken)
		return;
	sqe = io_uring_get_sqe(&u->ring);
	if (!sqe)
		return;
	io_uring_prep_recv(sqe, u->stream.dial.fd, u->recv_data, RECV_BYTES, 0);
	io_uring_sqe_set_data64(sqe, TAG_RECV);
	u->receiving = true;
}

static void start_send(struct uring *u)
{
	struct io_uring_sqe *sqe;

	if (u->sending || u->send_done == u->send_bytes || u->broken)
		return;
	sqe = io_uring_get_sqe(&u->ring);
	if (!sqe)
		return;
	io_uring_prep_send(sqe, u->stream.dial.fd, u->send_data + u->send_done,
			   u->send_bytes - u->send_done, MSG_NOSIGNAL);
	io_uring_sqe_set_data64(sqe, TAG_SEND);
	u->sending = true;
}

static void take_cqe(struct uring *u, const struct io_uring_cqe *cqe)
{
	bool is_recv = cqe->user_data == TAG_RECV;

	if (is_recv)
		u->receiving = false;
	else
		u->sending = false;
	if (cqe->res == -EINTR || cqe->res == -EAGAIN)
		return;
	if (cqe->res < 0 || (is_recv && cqe->res == 0)) {
		u->broken = cqe->res < 0 ? cqe->res : -ECONNRESET;
	} else if (is_recv) {
		u->ready = (size_t)cqe->res;
		u->taken = 0;
	} else {
		u->send_done += (size_t)cqe->res;
	}
}

/* Hands new entries to the kernel and takes what has completed: one call. */
static void turn(struct uring *u)
{
	struct io_uring_cqe *cqe;

	start_recv(u);
	start_send(u);
	(void)io_uring_submit_and_get_events(&u->ring);
	while (io_uring_peek_cqe(&u->ring, &cqe) == 0) {
		take_cqe(u, cqe);
		io_uring_cqe_seen(&u->ring, cqe);
	}
}

static int make_ring(struct uring *u)
{
	struct io_uring_params params = { .flags = IORING_SETUP_SINGLE_ISSUER |
						   IORING_SETUP_DEFER_TASKRUN };
	int ret = io_uring_queue_init_params(ENTRIES, &u->ring, &params);

	if (ret == -EINVAL) { /* Linux before 6.1 */
		params = (struct io_uring_params){ .flags = IORING_SETUP_COOP_TASKRUN };
		ret = io_uring_queue_init_params(ENTRIES, &u->ring, &params);
	}
	u->ring_made = ret == 0;
	return ret;
}

static int uring_connect(struct sr_transport *t)
{
	struct uring *u = uring_of(t);
	int ret;

	if (!u->ring_made) {
		ret = make_ring(u);
		if (ret < 0)
			return ret;
	}
	return sr_stream_connect(&u->stream);
}

static ssize_t uring_send(struct sr_transport *t, const void *data, size_t bytes)
{
	struct uring *u = uring_of(t);

	if (u->broken)
		return u->broken;
	if (u->send_done != u->send_bytes) {
		turn(u);
		if (u->send_done != u->send_bytes)
			return u->broken ? u->broken : -EAGAIN;
	}
	if (bytes > sizeof u->send_data)
		bytes = sizeof u->send_data;
	memcpy(u->send_data, data, bytes);
	u->send_done = 0;
	u->send_bytes = bytes;
	turn(u);
	return (ssize_t)bytes;
}

static ssize_t uring_recv(struct sr_transport *t, void *data, size_t bytes)
{
	struct uring *u = uring_of(t);

	if (!u->ready)
		turn(u);
	if (!u->ready)
		return u->broken ? u->broken : -EAGAIN;
	if (bytes > u->ready)
		bytes = u->ready;
	memcpy(data, u->recv_data + u->taken, bytes);
	u->taken += bytes;
	u->ready -= bytes;
	return (ssize_t)bytes;
}

/* The kernel may still own our buffers: the ring is torn down with the stream,
 * which waits for that, and made anew at the next connect. */
static void uring_hangup(struct sr_transport *t)
{
	struct uring *u = uring_of(t);

	if (u->stream.dial.fd >= 0)
		(void)shutdown(u->stream.dial.fd, SHUT_RDWR);
	while (u->ring_made && (u->receiving || u->sending)) {
		struct io_uring_cqe *cqe;
		int ret = io_uring_submit_and_wait(&u->ring, 1);

		if (ret < 0 && ret != -EINTR)
			break;
		while (io_uring_peek_cqe(&u->ring, &cqe) == 0) {
			take_cqe(u, cqe);
			io_uring_cqe_seen(&u->ring, cqe);
		}
	}
	sr_stream_close(&u->stream);
	if (u->ring_made)
		io_uring_queue_exit(&u->ring);
	u->ring_made = false;
	u->receiving = u->sending = false;
	u->broken = 0;
	u->ready = u->taken = 0;
	u->send_done = u->send_bytes = 0;
}

static int uring_wait_fd(const struct sr_transport *t)
{
	/* A ring with DEFER_TASKRUN does not wake who polls its own descriptor. Its
	 * receive runs only when we enter it, so until then the socket is readable. */
	return ((const struct sr_stream *)(const void *)t)->dial.fd;
}

static void uring_destroy(struct sr_transport *t)
{
	uring_hangup(t);
	free(t);
}

static const struct sr_transport_ops uring_ops = {
	.name = "uring",
	.connect = uring_connect,
	.send = uring_send,
	.recv = uring_recv,
	.hangup = uring_hangup,
	.wait_fd = uring_wait_fd,
	.moved = sr_stream_moved,
	.destroy = uring_destroy,
};

int sr_stream_uring_new(struct sr_transport **transport, const struct sr_address *address)
{
	struct uring *u = calloc(1, sizeof *u);
	struct io_uring probe;
	int ret;

	if (!u)
		return -ENOMEM;
	ret = io_uring_queue_init(2, &probe, 0);
	if (ret < 0) {
		free(u);
		return ret;
	}
	io_uring_queue_exit(&probe);
	u->stream.transport.ops = &uring_ops;
	u->stream.address = *address;
	u->stream.dial.fd = -1;
	*transport = &u->stream.transport;
	return 0;
}
