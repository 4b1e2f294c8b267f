/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "sr_local.h"

struct local {
	struct sr_transport transport; /* first */
	struct sr_signer *signer;
	struct sr_port *port;
	bool up;
};

static struct local *local_of(struct sr_transport *t)
{
	return (struct local *)(void *)t;
}

static int local_connect(struct sr_transport *t)
{
	struct local *l = local_of(t);

	if (!l->up)
		sr_port_begin(l->port);
	l->up = true;
	return 0;
}

static ssize_t local_send(struct sr_transport *t, const void *data, size_t bytes)
{
	struct local *l = local_of(t);
	int ret = sr_signer_feed(l->signer, l->port, data, bytes);

	return ret < 0 ? ret : (ssize_t)bytes;
}

static ssize_t local_recv(struct sr_transport *t, void *data, size_t bytes)
{
	struct local *l = local_of(t);
	struct sr_port *port = l->port;
	const void *output;
	size_t n;

	sr_signer_work(l->signer);
	(void)sr_port_sign(port, 1);
	n = sr_port_output(port, &output);
	if (n == 0) {
		(void)sr_signer_idle(l->signer);
		return -EAGAIN;
	}
	if (n > bytes)
		n = bytes;
	memcpy(data, output, n);
	sr_port_sent(port, n);
	return (ssize_t)n;
}

static void local_hangup(struct sr_transport *t)
{
	struct local *l = local_of(t);

	if (l->up)
		sr_port_end(l->port);
	l->up = false;
}

static int local_wait_fd(const struct sr_transport *t)
{
	(void)t;
	return -1;
}

static void local_destroy(struct sr_transport *t)
{
	sr_port_delete(local_of(t)->port);
	free(t);
}

static const struct sr_transport_ops local_ops = {
	.name = "local",
	.connect = local_connect,
	.send = local_send,
	.recv = local_recv,
	.hangup = local_hangup,
	.wait_fd = local_wait_fd,
	.destroy = local_destroy,
};

int sr_local_new(struct sr_transport **transport, struct sr_signer *signer)
{
	struct local *l = calloc(1, sizeof *l);
	int ret;

	if (!l)
		return -ENOMEM;
	ret = sr_signer_port(signer, &l->port, 0);
	if (ret < 0) {
		free(l);
		return ret;
	}
	l->transport.ops = &local_ops;
	l->transport.cheap_recv = true;
	l->signer = signer;
	*transport = &l->transport;
	return 0;
}
