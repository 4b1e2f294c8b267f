/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <sys/socket.h>

#include "sr_stream.h"

int sr_stream_connect(struct sr_stream *s)
{
	int ret;

	if (s->up)
		return 0;
	if (s->dial.fd < 0) {
		struct sr_address at = s->address;

		/* Read once: a heartbeat may come in between. */
		sr_store32_relaxed(&s->cid, sr_address_cid(&at));
		at.cid = &s->cid;
		ret = sr_dial_start(&s->dial, &at);
		if (ret < 0)
			return ret == -EAGAIN ? -ECONNREFUSED : ret;
	}
	ret = sr_dial_step(&s->dial, &s->address);
	s->up = ret == 0;
	return ret;
}

bool sr_stream_moved(const struct sr_transport *t)
{
	const struct sr_stream *s = (const struct sr_stream *)(const void *)t;

	return s->cid != sr_address_cid(&s->address);
}

const uint32_t *sr_stream_cid(const struct sr_transport *t)
{
	return &((const struct sr_stream *)(const void *)t)->cid;
}

void sr_stream_close(struct sr_stream *s)
{
	sr_dial_close(&s->dial);
	s->up = false;
}

static struct sr_stream *stream_of(struct sr_transport *t)
{
	return (struct sr_stream *)(void *)t;
}

static int direct_connect(struct sr_transport *t)
{
	return sr_stream_connect(stream_of(t));
}

static ssize_t direct_send(struct sr_transport *t, const void *data, size_t bytes)
{
	ssize_t n = send(stream_of(t)->dial.fd, data, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	return n;
}

static ssize_t direct_recv(struct sr_transport *t, void *data, size_t bytes)
{
	ssize_t n = recv(stream_of(t)->dial.fd, data, bytes, MSG_DONTWAIT);

	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	return n ? n : -ECONNRESET;
}

static void direct_hangup(struct sr_transport *t)
{
	sr_stream_close(stream_of(t));
}

static int direct_wait_fd(const struct sr_transport *t)
{
	return ((const struct sr_stream *)(const void *)t)->dial.fd;
}

static void direct_destroy(struct sr_transport *t)
{
	sr_stream_close(stream_of(t));
	free(t);
}

static const struct sr_transport_ops direct_ops = {
	.name = "direct",
	.connect = direct_connect,
	.send = direct_send,
	.recv = direct_recv,
	.hangup = direct_hangup,
	.wait_fd = direct_wait_fd,
	.moved = sr_stream_moved,
	.destroy = direct_destroy,
};

int sr_stream_new(struct sr_transport **transport, const struct sr_address *address)
{
	struct sr_stream *s = calloc(1, sizeof *s);

	if (!s)
		return -ENOMEM;
	s->transport.ops = &direct_ops;
	s->address = *address;
	s->dial.fd = -1;
	*transport = &s->transport;
	return 0;
}
