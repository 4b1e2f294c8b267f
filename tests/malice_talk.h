/* SPDX-License-Identifier: MIT */
/*
 * malice_talk.h - control conversations in the hands of an agent that is not to be
 * trusted.
 *
 * The real relay connects, as it thinks, to the signer. It reaches a thread of this
 * process, which cuts what passes into messages and gives each to the attack, before it
 * goes on to the signer of this conversation: the rig's, or another one.
 */
#ifndef MALICE_TALK_H
#define MALICE_TALK_H

#include <pthread.h>

#include "malice_rig.h"
#include "sr_address.h"
#include "sr_relay.h"

#define MALICE_TALKS 16u
#define MALICE_TALK_BYTES (2u * SR_RELAY_BYTES_MAX)
#define MALICE_HEARD_BYTES (4u << 20)

struct malice_end {
	int fd; /* -1: hung up, or not connected */
	size_t bytes;
	unsigned char in[MALICE_TALK_BYTES];
};

struct malice_talk {
	bool open;
	struct malice_end client;
	struct malice_end signer;
};

/* The proxy thread's own. */
struct malice_talks {
	int pipe[2]; /* sockets that the relay was given the other end of */
	struct sr_address signer;
	const char *other; /* stream address of another signer, or NULL */
	/* A whole message; true when all is done with it that is to be done. */
	bool (*hook)(struct malice_talks *t, unsigned int talk, bool up, unsigned char *message,
		     size_t bytes);
	struct malice_talk talks[MALICE_TALKS];
	size_t heard_bytes;
	unsigned char heard[MALICE_HEARD_BYTES]; /* all that was said, for the referee */
};

static struct malice_talks *malice_talks;

/* Bounded: who does not read is hung up on. */
static inline void malice_say(struct malice_talks *t, unsigned int talk, bool up,
			      const unsigned char *message, size_t bytes)
{
	struct malice_end *end = up ? &t->talks[talk].signer : &t->talks[talk].client;

	while (bytes && end->fd >= 0) {
		struct pollfd p = { .fd = end->fd, .events = POLLOUT };
		ssize_t n = -1;

		if (poll(&p, 1, 1000) > 0)
			n = send(end->fd, message, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n <= 0)
			return;
		message += n;
		bytes -= (size_t)n;
	}
}

static inline void malice_talk_end(struct malice_talk *talk)
{
	if (talk->client.fd >= 0)
		(void)close(talk->client.fd);
	if (talk->signer.fd >= 0)
		(void)close(talk->signer.fd);
	talk->client.fd = talk->signer.fd = -1;
	talk->open = false;
}

static inline int malice_talk_connect(const struct malice_talks *t, bool other)
{
	struct sr_address hot;
	struct sr_address control = t->signer;
	struct pollfd p = { .events = POLLOUT };

	if (other) {
		MP_EQ(sr_address_parse(&hot, t->other, NULL), 0, "address");
		MP_EQ(sr_address_control(&hot, &control, NULL), 0, "address");
	}
	p.fd = sr_address_connect(&control);
	if (p.fd >= 0)
		(void)poll(&p, 1, 1000);
	return p.fd;
}

/* From now on the conversation goes on with the other signer. */
static inline void malice_talk_divert(struct malice_talks *t, unsigned int talk)
{
	struct malice_end *signer = &t->talks[talk].signer;

	if (signer->fd >= 0)
		(void)close(signer->fd);
	signer->bytes = 0;
	signer->fd = malice_talk_connect(t, true);
}

static inline void malice_talk_begin(struct malice_talks *t, int fd)
{
	for (unsigned int i = 0; i < MALICE_TALKS; i++) {
		struct malice_talk *talk = &t->talks[i];

		if (talk->open)
			continue;
		talk->open = true;
		talk->client.fd = fd;
		talk->client.bytes = talk->signer.bytes = 0;
		talk->signer.fd = malice_talk_connect(t, false);
		return;
	}
	(void)close(fd);
}

static inline void malice_hear(struct malice_talks *t, unsigned int talk, bool up,
			       unsigned char *message, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		t->heard[t->heard_bytes++ % MALICE_HEARD_BYTES] = message[i];
	if (!t->hook || !sr_load32_acquire(&malice->words.armed) ||
	    !t->hook(t, talk, up, message, bytes))
		malice_say(t, talk, up, message, bytes);
}

/* Returns false when this side has hung up. */
static inline bool malice_listen_to(struct malice_talks *t, unsigned int talk, bool up)
{
	struct malice_end *end = up ? &t->talks[talk].client : &t->talks[talk].signer;
	ssize_t n = recv(end->fd, end->in + end->bytes, sizeof end->in - end->bytes, MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n == 0)
		return false;
	end->bytes += (size_t)n;
	while (t->talks[talk].open && end->bytes >= SR_RELAY_HEADER_BYTES) {
		size_t bytes = sr_get32(end->in);

		if (bytes < SR_RELAY_HEADER_BYTES || bytes > SR_RELAY_BYTES_MAX)
			return false;
		if (end->bytes < bytes)
			break;
		malice_hear(t, talk, up, end->in, bytes);
		end->bytes -= bytes;
		memmove(end->in, end->in + bytes, end->bytes);
	}
	return true;
}

static inline void *malice_carry(void *arg)
{
	struct malice_talks *t = arg;

	for (;;) {
		struct pollfd p[1 + 2 * MALICE_TALKS];
		int fd;

		p[0] = (struct pollfd){ .fd = t->pipe[0], .events = POLLIN };
		for (unsigned int i = 0; i < MALICE_TALKS; i++) {
			p[1 + 2 * i] = (struct pollfd){ t->talks[i].client.fd, POLLIN, 0 };
			p[2 + 2 * i] = (struct pollfd){ t->talks[i].signer.fd, POLLIN, 0 };
		}
		(void)poll(p, sizeof p / sizeof p[0], 1000);
		if ((p[0].revents & POLLIN) && read(t->pipe[0], &fd, sizeof fd) == sizeof fd)
			malice_talk_begin(t, fd);
		for (unsigned int i = 0; i < 2 * MALICE_TALKS; i++) {
			struct malice_talk *talk = &t->talks[i / 2];

			if (p[1 + i].revents && talk->open &&
			    p[1 + i].fd == (i % 2 ? talk->signer.fd : talk->client.fd) &&
			    !malice_listen_to(t, i / 2, i % 2 == 0))
				malice_talk_end(talk);
		}
	}
	return NULL;
}

/* The relay's connect(). */
static inline int malice_control_connect(void *arg)
{
	struct malice_talks *t = arg;
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) < 0)
		return -errno;
	if (write(t->pipe[1], &fds[1], sizeof fds[1]) != sizeof fds[1]) {
		(void)close(fds[0]);
		(void)close(fds[1]);
		return -EAGAIN;
	}
	return fds[0];
}

/* In the agent's process, before the agent runs. */
static inline void malice_talks_start(struct malice_talks *t)
{
	pthread_t thread;
	struct sr_address hot;

	for (unsigned int i = 0; i < MALICE_TALKS; i++)
		t->talks[i].client.fd = t->talks[i].signer.fd = -1;
	MP_EQ(pipe2(t->pipe, O_CLOEXEC), 0, "pipe");
	MP_EQ(sr_address_parse(&hot, malice_rig.stream, NULL), 0, "address");
	MP_EQ(sr_address_control(&hot, &t->signer, NULL), 0, "address");
	MP_EQ(pthread_create(&thread, NULL, malice_carry, t), 0, "pthread_create");
}

#endif /* MALICE_TALK_H */
