/* SPDX-License-Identifier: MIT */
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sr_clock.h"
#include "sr_dial.h"

int sr_dial_start(struct sr_dial *dial, const struct sr_address *address)
{
	int fd = sr_address_connect(address);

	*dial = (struct sr_dial){ .fd = fd < 0 ? -1 : fd };
	dial->until_ns = sr_now_ns() + SR_DIAL_NS;
	return fd < 0 ? fd : 0;
}

void sr_dial_close(struct sr_dial *dial)
{
	if (dial->fd >= 0)
		(void)close(dial->fd);
	dial->fd = -1;
}

short sr_dial_events(const struct sr_dial *dial)
{
	return dial->asked ? POLLIN : POLLOUT;
}

static int connected(const struct sr_dial *dial)
{
	struct pollfd p = { .fd = dial->fd, .events = POLLOUT };
	socklen_t bytes = sizeof(int);
	int error = 0;

	if (poll(&p, 1, 0) <= 0)
		return -EAGAIN;
	if (getsockopt(dial->fd, SOL_SOCKET, SO_ERROR, &error, &bytes) < 0)
		error = errno;
	return -error;
}

static int ask(struct sr_dial *dial, uint32_t port)
{
	char line[32];
	uint32_t bytes = (uint32_t)snprintf(line, sizeof line, "CONNECT %u\n", port);
	ssize_t n = send(dial->fd, line + dial->asked_bytes, bytes - dial->asked_bytes,
			 MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	dial->asked_bytes += (uint32_t)n;
	dial->asked = dial->asked_bytes == bytes;
	return dial->asked ? 0 : -EAGAIN;
}

/* Can it still become an answer? Not as soon as one byte is wrong. */
static bool may_be_answer(const char *line, size_t bytes)
{
	static const char word[] = { 'O', 'K', ' ' };

	for (size_t i = 0; i < bytes; i++)
		if (i < sizeof word ? line[i] != word[i] : line[i] < '0' || line[i] > '9')
			return false;
	return true;
}

/* The signer speaks as soon as it is reached: look first, then take what is of the line. */
static int hear(struct sr_dial *dial)
{
	char *at = dial->heard + dial->heard_bytes;
	size_t room = sizeof dial->heard - dial->heard_bytes, length;
	ssize_t n = recv(dial->fd, at, room, MSG_DONTWAIT | MSG_PEEK), taken;
	const char *end;

	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	if (n == 0)
		return -ECONNREFUSED;
	end = memchr(at, '\n', (size_t)n);
	length = dial->heard_bytes + (size_t)(end ? end - at : n);
	if (!may_be_answer(dial->heard, length) || (end && length < sizeof "OK 1" - 1) ||
	    (!end && length == sizeof dial->heard))
		return -EPROTO;
	taken = end ? end + 1 - at : n;
	if (recv(dial->fd, at, (size_t)taken, MSG_DONTWAIT) != taken)
		return -EPROTO; /* who else reads here? */
	dial->heard_bytes += (uint32_t)taken;
	return end ? 0 : -EAGAIN;
}

int sr_dial_step(struct sr_dial *dial, const struct sr_address *address)
{
	int ret = dial->connected ? 0 : connected(dial);

	dial->connected = ret == 0;
	if (ret == 0 && address->hybrid && !dial->asked)
		ret = ask(dial, address->port);
	if (ret == 0 && address->hybrid)
		ret = hear(dial);
	if (ret == -EAGAIN && sr_now_ns() > dial->until_ns)
		ret = -ETIMEDOUT;
	if (ret < 0 && ret != -EAGAIN)
		sr_dial_close(dial);
	return ret;
}
