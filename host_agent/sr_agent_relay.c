/* SPDX-License-Identifier: MIT */
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sr_agent_note.h"
#include "sr_agent_relay.h"
#include "sr_agent_users.h"
#include "sr_attach.h"
#include "sr_dial.h"
#include "sr_relay.h"

#define EVENTS 64

struct talk;

struct end {
	struct talk *talk;
	int fd; /* -1: not connected yet, or closed */
	uint32_t watched; /* events, 0: not in the epoll instance */
};

/* One message on its way: `bytes` long, 0 while that is not known, `got` of them here
 * and `sent` of them gone. */
struct message {
	size_t bytes;
	size_t got;
	size_t sent;
	unsigned char data[SR_RELAY_BYTES_MAX];
};

struct talk {
	struct talk *next;
	struct end client;
	struct end signer;
	uint32_t uid;
	uint32_t pid;
	int place;      /* in the table of users */
	uint64_t until_ns;
	bool charged;
	bool is_operator;
	bool begun;
	uint32_t sealed; /* messages of the signer */
	bool connected; /* else on the way */
	struct sr_dial dial; /* has the descriptor until then */
	bool deaf;      /* the signer takes no more, and may have said why */
	bool over;      /* freed behind the events, some of which may be its own */
	struct message up;
	struct message down;
};

struct sr_agent_relay {
	const struct sr_agent_config *config;
	int epoll_fd;
	struct talk *talks;
	struct sr_agent_users users;
	struct sr_agent_relay_counters counters;
	struct sr_note_limit note_user;
	struct sr_note_limit note_signer;
};

static void add(uint64_t *counter, uint64_t by)
{
	sr_store_relaxed(counter, sr_load_relaxed(counter) + by);
}

static bool whole(const struct message *m)
{
	return m->bytes && m->got == m->bytes;
}

static void forget(struct message *m)
{
	m->bytes = m->got = m->sent = 0;
}

static bool length_valid(uint32_t bytes)
{
	return bytes > SR_RELAY_HEADER_BYTES && bytes <= SR_RELAY_BYTES_MAX;
}

/* ---- beginning and end ---- */

static void shut(struct end *e)
{
	if (e->fd >= 0)
		(void)close(e->fd); /* and out of the epoll instance */
	e->fd = -1;
	e->watched = 0;
}

static void forgive(struct sr_agent_relay *r, struct talk *t)
{
	if (t->charged)
		sr_agent_users_forgive(&r->users, t->place);
	t->charged = false;
}

static void end_talk(struct sr_agent_relay *r, struct talk *t)
{
	shut(&t->client);
	shut(&t->signer);
	if (t->charged)
		add(&r->counters.failed, 1);
	sr_agent_users_leave(&r->users, t->place);
	sr_store_relaxed(&r->counters.conversations, r->users.open);
	t->over = true;
}

static void free_ended(struct sr_agent_relay *r)
{
	struct talk **at = &r->talks;

	while (*at) {
		struct talk *t = *at;

		if (!t->over) {
			at = &t->next;
			continue;
		}
		*at = t->next;
		free(t);
	}
}

/* Have the kernel tell what can be gone on with, and nothing else: a hang-up is told
 * whether asked for or not, so an end with nothing to wait for is taken out. */
static int watch(struct sr_agent_relay *r, struct end *e, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = e };
	int op = !e->watched ? EPOLL_CTL_ADD : events ? EPOLL_CTL_MOD : EPOLL_CTL_DEL;

	if (e->fd < 0 || events == e->watched)
		return 0;
	if (epoll_ctl(r->epoll_fd, op, e->fd, &ev) < 0)
		return -errno;
	e->watched = events;
	return 0;
}

static int watch_talk(struct sr_agent_relay *r, struct talk *t)
{
	uint32_t client = EPOLLRDHUP;
	uint32_t signer = 0;
	int ret;

	if (!t->up.bytes && !t->deaf)
		client |= EPOLLIN;
	if (whole(&t->down))
		client |= EPOLLOUT;
	if (t->connected && !whole(&t->down))
		signer |= EPOLLIN;
	if (!t->connected)
		signer = sr_dial_events(&t->dial) == POLLIN ? EPOLLIN : EPOLLOUT;
	else if (t->up.bytes)
		signer |= EPOLLOUT;
	ret = watch(r, &t->client, client);
	return ret < 0 ? ret : watch(r, &t->signer, signer);
}

int sr_agent_relay_begin(struct sr_agent_relay *r, int sock, uint32_t uid, uint32_t pid)
{
	uint64_t now_ns = sr_now_ns();
	struct talk *t;
	int place = sr_agent_users_enter(&r->users, uid, now_ns);

	if (place < 0) {
		add(&r->counters.crowded, 1);
		return place;
	}
	t = malloc(sizeof *t);
	if (!t)
		goto fail;
	memset(t, 0, offsetof(struct talk, up)); /* the buffers are written before read */
	forget(&t->up);
	forget(&t->down);
	t->client = (struct end){ t, sock, 0 };
	t->signer = (struct end){ t, -1, 0 };
	t->uid = uid;
	t->pid = pid;
	t->place = place;
	t->until_ns = now_ns + SR_AGENT_TALK_NS;
	if (watch_talk(r, t) < 0)
		goto fail;
	t->next = r->talks;
	r->talks = t;
	sr_store_relaxed(&r->counters.conversations, r->users.open);
	return 0;
fail:
	free(t);
	sr_agent_users_leave(&r->users, place);
	return -ENOMEM;
}

/* ---- from the client to the signer ----
 *
 * These return 0 when the conversation goes on, and -errno when it is to end. */

/* One packet is one message, or he is hung up on. */
static int take_packet(struct sr_agent_relay *r, struct talk *t)
{
	struct iovec iov = { t->up.data, sizeof t->up.data };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n = recvmsg(t->client.fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n == 0)
		return -ECONNRESET;
	/* Descriptors were closed by the kernel: there was no room for any. */
	if ((msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) || (size_t)n <= SR_RELAY_HEADER_BYTES ||
	    sr_get32(t->up.data) != (size_t)n) {
		sr_agent_note_limited(r->config, &r->note_user,
				      "process %u of user %u sent what is no control message",
				      t->pid, t->uid);
		return -EPROTO;
	}
	t->up.bytes = t->up.got = (size_t)n;
	if (sr_get32(t->up.data + 4) == SR_RELAY_BEGIN && n >= (ssize_t)SR_RELAY_FLAGS + 2 &&
	    sr_get16(t->up.data + SR_RELAY_FLAGS) == SR_RELAY_OPERATOR)
		t->is_operator = true;
	return 0;
}

static int charge(struct sr_agent_relay *r, struct talk *t)
{
	union sr_attach_message m;

	t->charged = sr_agent_users_charge(&r->users, t->place, sr_now_ns());
	if (t->charged)
		return 0;
	add(&r->counters.refused, 1);
	sr_agent_note_limited(r->config, &r->note_user,
			      "refused a conversation to process %u of user %u: too many of this "
			      "user's have failed (setup-failures-max)",
			      t->pid, t->uid);
	memset(&m, 0, sizeof m);
	m.refused.code = SR_REFUSED_BUSY;
	(void)!sr_attach_send(t->client.fd, &m, SR_ATTACH_REFUSED, NULL, 0);
	return -EBUSY;
}

static int unreachable(struct sr_agent_relay *r, struct talk *t, int error)
{
	forgive(r, t);
	add(&r->counters.unreachable, 1);
	sr_agent_note_limited(r->config, &r->note_signer,
			      "cannot reach the signer for a control conversation: %s",
			      strerror(-error));
	return error;
}

static int start_connect(struct sr_agent_relay *r, struct talk *t)
{
	const struct sr_agent_config *c = r->config;
	int ret = -ENOTCONN;

	if (c->control_connect) {
		ret = c->control_connect(c->control_arg);
		t->dial = (struct sr_dial){ .fd = ret, .until_ns = UINT64_MAX };
	} else if (c->control.bytes) {
		ret = sr_dial_start(&t->dial, &c->control);
	}
	if (ret < 0)
		return unreachable(r, t, ret);
	t->signer.fd = t->dial.fd;
	return 0;
}

static int finish_connect(struct sr_agent_relay *r, struct talk *t)
{
	static const struct sr_address itself; /* what control_connect() has reached */
	int ret = sr_dial_step(&t->dial, r->config->control_connect ? &itself :
								      &r->config->control);

	if (ret == -EAGAIN)
		return 0;
	if (ret < 0) {
		t->signer = (struct end){ t, -1, 0 };
		return unreachable(r, t, ret);
	}
	t->connected = true;
	return 0;
}

static int send_up(const struct sr_agent_relay *r, struct talk *t)
{
	struct message *m = &t->up;
	size_t bytes = m->bytes - m->sent;
	ssize_t n;

	if (bytes > r->config->write_bytes_max)
		bytes = r->config->write_bytes_max;
	n = send(t->signer.fd, m->data + m->sent, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < 0) {
		t->deaf = true;
		forget(m);
		return 0;
	}
	m->sent += (size_t)n;
	return 0;
}

static int carry_up(struct sr_agent_relay *r, struct talk *t)
{
	bool first = t->signer.fd < 0;
	int ret = 0;

	if (!t->up.bytes && !t->deaf)
		ret = take_packet(r, t);
	if (ret < 0 || !t->up.bytes)
		return ret;
	if (first) {
		ret = charge(r, t);
		return ret < 0 ? ret : start_connect(r, t);
	}
	if (!t->connected)
		return 0;
	ret = send_up(r, t);
	if (t->up.bytes && t->up.sent == t->up.bytes) {
		forget(&t->up);
		add(&r->counters.relayed, 1);
	}
	return ret;
}

/* ---- from the signer to the client ---- */

/* As far as the header until that says where the message ends: never a byte of the
 * next one. */
static int receive_down(struct sr_agent_relay *r, struct talk *t)
{
	struct message *m = &t->down;
	size_t want = m->bytes ? m->bytes : SR_RELAY_HEADER_BYTES;
	ssize_t n = recv(t->signer.fd, m->data + m->got, want - m->got, MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n == 0)
		return -ECONNRESET;
	m->got += (size_t)n;
	if (m->bytes || m->got < SR_RELAY_HEADER_BYTES)
		return 0;
	if (!length_valid(sr_get32(m->data))) {
		sr_agent_note_limited(r->config, &r->note_signer,
				      "the signer sent what is no control message: is --control "
				      "the address of its control conversations?");
		return -EPROTO;
	}
	m->bytes = sr_get32(m->data);
	return 0;
}

/* The signer is believed: what its word opens here is nothing but patience. */
static void note_kind(struct sr_agent_relay *r, struct talk *t)
{
	uint32_t kind = sr_get32(t->down.data + 4);

	if (kind == SR_RELAY_BEGUN)
		t->begun = true;
	else if (kind == SR_RELAY_SEALED)
		t->sealed++;
	if (!t->begun)
		return;
	if (!t->is_operator || t->sealed > 1)
		forgive(r, t);
	t->until_ns = sr_now_ns() + SR_AGENT_BEGUN_NS;
}

static int carry_down(struct sr_agent_relay *r, struct talk *t)
{
	struct message *m = &t->down;
	int ret;

	for (int i = 0; i < 2 && !whole(m); i++) { /* header, and what follows it */
		ret = receive_down(r, t);
		if (ret < 0)
			return ret;
		if (whole(m))
			note_kind(r, t);
	}
	if (!whole(m))
		return 0;
	if (send(t->client.fd, m->data, m->bytes, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	forget(m);
	add(&r->counters.relayed, 1);
	return 0;
}

/* ---- the turn ---- */

static int carry(struct sr_agent_relay *r, struct talk *t, const struct end *e, uint32_t events)
{
	int ret;

	if (e == &t->client && (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)))
		return -ECONNRESET;
	if (e == &t->signer && !t->connected) {
		ret = finish_connect(r, t);
		if (ret < 0)
			return ret;
	}
	ret = carry_up(r, t);
	if (ret == 0 && t->connected)
		ret = carry_down(r, t);
	return ret < 0 ? ret : watch_talk(r, t);
}

static void end_overdue(struct sr_agent_relay *r)
{
	uint64_t now_ns = sr_now_ns();

	for (struct talk *t = r->talks; t; t = t->next) {
		if (t->over)
			continue;
		/* A proxy may take a connection while its guest is not up, and then no event comes. */
		if (!t->connected && t->signer.fd >= 0 && now_ns > t->dial.until_ns) {
			(void)unreachable(r, t, -ETIMEDOUT);
			end_talk(r, t);
		} else if (now_ns > t->until_ns) {
			add(&r->counters.overdue, 1);
			end_talk(r, t);
		}
	}
}

void sr_agent_relay_turn(struct sr_agent_relay *r)
{
	struct epoll_event events[EVENTS];
	int n = epoll_wait(r->epoll_fd, events, EVENTS, 0);

	for (int i = 0; i < n; i++) {
		const struct end *e = events[i].data.ptr;

		if (!e->talk->over && carry(r, e->talk, e, events[i].events) < 0)
			end_talk(r, e->talk);
	}
	end_overdue(r);
	free_ended(r);
}

/* ---- the whole ---- */

int sr_agent_relay_new(struct sr_agent_relay **relay, const struct sr_agent_config *config)
{
	struct sr_agent_relay *r = calloc(1, sizeof *r);
	uint32_t failures_max = config->setup_failures_max ? config->setup_failures_max :
							     2 * config->sessions_max;

	if (!r)
		return -ENOMEM;
	r->config = config;
	sr_agent_users_init(&r->users, config->conversations_max, failures_max,
			    config->setup_failures_rate);
	r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (r->epoll_fd < 0) {
		free(r);
		return -EMFILE;
	}
	*relay = r;
	return 0;
}

void sr_agent_relay_delete(struct sr_agent_relay *r)
{
	if (!r)
		return;
	for (struct talk *t = r->talks; t; t = t->next)
		end_talk(r, t);
	free_ended(r);
	(void)close(r->epoll_fd);
	free(r);
}

int sr_agent_relay_fd(const struct sr_agent_relay *r)
{
	return r->epoll_fd;
}

const struct sr_agent_relay_counters *sr_agent_relay_counters(const struct sr_agent_relay *r)
{
	return &r->counters;
}
