/* SPDX-License-Identifier: MIT */
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sr_clock.h"
#include "sr_dial.h"

#define ANSWER_BYTES_MAX 32u /* `OK `, ten digits, and room to see that it is none */

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

/* It is short and the first of this socket: there is room for all of it. */
static int ask(const struct sr_dial *dial, uint32_t port)
{
	char line[32];
	int bytes = snprintf(line, sizeof line, "CONNECT %u\n", port);
	ssize_t n = send(dial->fd, line, (size_t)bytes, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0)
		return -errno;
	return n == bytes ? 0 : -EPROTO;
}

static bool is_answer(const char *line, size_t bytes)
{
	if (bytes < sizeof "OK 1" - 1 || memcmp(line, "OK ", 3))
		return false;
	for (size_t i = 3; i < bytes; i++)
		if (line[i] < '0' || line[i] > '9')
			return false;
	return true;
}

/* The signer speaks as soon as it is reached: look first, then take the line alone. */
static int hear(const struct sr_dial *dial)
{
	char line[ANSWER_BYTES_MAX];
	ssize_t n = recv(dial->fd, line, sizeof line, MSG_DONTWAIT | MSG_PEEK);
	const char *end;

	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	if (n == 0)
		return -ECONNREFUSED;
	end = memchr(line, '\n', (size_t)n);
	if (!end)
		return n < (ssize_t)sizeof line ? -EAGAIN : -EPROTO;
	if (!is_answer(line, (size_t)(end - line)))
		return -EPROTO;
	n = end + 1 - line;
	return recv(dial->fd, line, (size_t)n, MSG_DONTWAIT) == n ? 0 : -EPROTO;
}

int sr_dial_step(struct sr_dial *dial, const struct sr_address *address)
{
	int ret = 0;

	if (!dial->asked)
		ret = connected(dial);
	if (ret == 0 && address->hybrid) {
		if (!dial->asked)
			ret = ask(dial, address->port);
		dial->asked = true;
		if (ret == 0)
			ret = hear(dial);
	}
	if (ret == -EAGAIN && sr_now_ns() > dial->until_ns)
		ret = -ETIMEDOUT;
	if (ret < 0 && ret != -EAGAIN)
		sr_dial_close(dial);
	return ret;
}
