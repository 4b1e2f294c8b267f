/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sr_agent_note.h"
#include "sr_agent_state.h"
#include "sr_clock.h"
#include "sr_record.h"

#define HANDSHAKE_NS (5ull * SR_NS_PER_S)
#define EVENTS 64

static void post(struct sr_agent *a, enum sr_agent_mail kind, struct sr_agent_session *s)
{
	struct sr_mail mail = { (uint32_t)kind, 0, s };

	while (sr_mailbox_put(&a->to_loop, mail) < 0) {
		if (sr_load32_relaxed(&a->stopping))
			return;
		(void)usleep(100); /* the cold thread may wait for the hot one */
	}
	sr_doorbell_ring(a->poll_fd);
}

/* ---- sessions ---- */

void sr_agent_session_free(struct sr_agent_session *s)
{
	if (!s)
		return;
	if (s->wait_fd >= 0)
		(void)close(s->wait_fd);
	if (s->ring_fd >= 0)
		(void)close(s->ring_fd);
	free(s->done);
	free(s);
}

static struct sr_agent_session *session_new(struct sr_agent_client *c,
					    const struct sr_attach_open *open)
{
	struct sr_agent_session *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->wait_fd = s->ring_fd = -1;
	s->done = calloc(c->geometry.depth, 1);
	if (!s->done)
		goto fail;
	if (c->features & SR_FEATURE_DOORBELL) {
		s->wait_fd = sr_doorbell_new();
		s->ring_fd = sr_doorbell_new();
		if (s->wait_fd < 0 || s->ring_fd < 0)
			goto fail;
	}
	s->client = c;
	s->index = open->index;
	s->uid = c->uid;
	s->epoch = c->epoch;
	s->flags = open->flags & (SR_OPEN_RESUME | SR_OPEN_PRIORITY | SR_OPEN_SEALED);
	memcpy(s->token, open->token, sizeof s->token);
	s->first = open->first;
	s->depth = c->geometry.depth;
	s->submission = sr_region_slots(&c->submission, open->index);
	s->completion = sr_region_slots(&c->completion, open->index);
	s->client_block = sr_region_block(&c->submission, open->index);
	s->block = sr_region_block(&c->completion, open->index);
	s->next_send = s->first_open = open->next;
	/* What an earlier agent may have forwarded is never called NOT_SENT. */
	s->forwarded_max = open->published;
	/* OPENED tells the client that these words are set. */
	sr_slots_reset(&s->completion, open->first + open->next);
	memset(s->block, 0, sizeof *s->block);
	return s;
fail:
	sr_agent_session_free(s);
	return NULL;
}

/* Answers return what sr_attach_send() does. A client that cannot be answered is
 * hung up on: he attaches again, where waiting for a lost answer would be for ever. */
static int answer_open(struct sr_agent_client *c, uint32_t index,
		       const struct sr_agent_session *s, uint32_t result,
		       const uint64_t boot_id[2])
{
	union sr_attach_message m;
	int fds[2];
	int count = 0;

	memset(&m, 0, sizeof m);
	m.opened.index = index;
	m.opened.result = result;
	memcpy(m.opened.boot_id, boot_id, sizeof m.opened.boot_id);
	if (result == SR_RESULT_OK && s->wait_fd >= 0) {
		fds[0] = s->ring_fd;
		fds[1] = s->wait_fd;
		count = 2;
	}
	return sr_attach_send(c->sock, &m, SR_ATTACH_OPENED, fds, count);
}

static const uint64_t no_boot[2];

static void call_back(struct sr_agent *a, struct sr_agent_session *s)
{
	if (s->close_posted)
		return;
	s->close_posted = true;
	post(a, SR_MAIL_CLOSE, s);
}

/* Returns -EPROTO for a client that breaks the protocol, or what the answer did. */
static int take_open(struct sr_agent *a, struct sr_agent_client *c,
		     const struct sr_attach_open *open)
{
	uint64_t flight = open->published - open->next;

	if (c->phase != SR_CLIENT_ATTACHED || open->index >= c->geometry.sessions ||
	    flight > c->geometry.depth || open->next > UINT64_MAX / 2 ||
	    (!(open->flags & SR_OPEN_RESUME) && (open->next || open->published)))
		return -EPROTO;
	if (c->sessions[open->index]) {
		return answer_open(c, open->index, NULL, SR_RESULT_BUSY, no_boot);
	}
	c->sessions[open->index] = session_new(c, open);
	if (!c->sessions[open->index]) {
		return answer_open(c, open->index, NULL, SR_RESULT_FULL, no_boot);
	}
	c->away++;
	post(a, SR_MAIL_OPEN, c->sessions[open->index]);
	return 0;
}

static int answer_closed(struct sr_agent_client *c, uint32_t index)
{
	union sr_attach_message m;

	memset(&m, 0, sizeof m);
	m.index.index = index;
	return sr_attach_send(c->sock, &m, SR_ATTACH_CLOSED, NULL, 0);
}

static int take_close(struct sr_agent *a, struct sr_agent_client *c, uint32_t index)
{
	if (c->phase != SR_CLIENT_ATTACHED || index >= c->geometry.sessions)
		return -EPROTO;
	if (!c->sessions[index])
		return answer_closed(c, index);
	call_back(a, c->sessions[index]);
	return 0;
}

/* ---- clients ---- */

void sr_agent_client_free(struct sr_agent *a, struct sr_agent_client *c)
{
	for (struct sr_agent_client **at = &a->clients; *at; at = &(*at)->next)
		if (*at == c) {
			*at = c->next;
			break;
		}
	a->session_count -= c->geometry.sessions;
	if (c->sock >= 0)
		(void)close(c->sock);
	for (uint32_t i = 0; i < SR_REGION_SESSIONS_MAX; i++)
		sr_agent_session_free(c->sessions[i]);
	sr_region_drop(&c->submission);
	sr_region_drop(&c->completion);
	free(c);
}

/* Hang-up: its sessions are called back; the regions stay mapped until the last
 * of them has left the polling thread. */
static void leave(struct sr_agent *a, struct sr_agent_client *c)
{
	if (c->phase == SR_CLIENT_LEAVING)
		return;
	(void)close(c->sock);
	c->sock = -1;
	c->phase = SR_CLIENT_LEAVING;
	for (uint32_t i = 0; i < SR_REGION_SESSIONS_MAX; i++)
		if (c->sessions[i])
			call_back(a, c->sessions[i]);
	if (!c->away)
		sr_agent_client_free(a, c);
}

static void refuse(struct sr_agent *a, struct sr_agent_client *c, enum sr_attach_refusal code,
		   const char *why)
{
	union sr_attach_message m;

	memset(&m, 0, sizeof m);
	m.refused.code = code;
	(void)!sr_attach_send(c->sock, &m, SR_ATTACH_REFUSED, NULL, 0);
	sr_agent_note_limited(&a->config, code == SR_REFUSED_UID ? &a->note_stranger : &a->note_refused,
			      "refused process %u of user %u: %s", c->pid, c->uid, why);
	leave(a, c);
}

static bool clock_agrees(uint64_t theirs_ns)
{
	uint64_t now_ns = sr_now_ns();
	uint64_t gap_ns = now_ns > theirs_ns ? now_ns - theirs_ns : theirs_ns - now_ns;

	return gap_ns <= SR_CLOCK_SKEW_NS_MAX;
}

/* Who only asks for the status does not count. */
static uint32_t clients_greeted(const struct sr_agent *a)
{
	uint32_t n = 0;

	for (const struct sr_agent_client *c = a->clients; c; c = c->next)
		n += c->geometry.sessions != 0;
	return n;
}

static void take_hello(struct sr_agent *a, struct sr_agent_client *c,
		       const struct sr_attach_hello *hello)
{
	struct sr_geometry g = { hello->sessions, hello->depth, hello->slot_bytes };
	union sr_attach_message m;

	if (hello->abi_major != SR_ABI_MAJOR || hello->layout_hash != sr_layout_hash()) {
		refuse(a, c, SR_REFUSED_VERSION, "it was built for another region layout");
		return;
	}
	if (!sr_geometry_valid(&g) || g.depth > a->config.depth_max ||
	    g.slot_bytes > a->config.slot_bytes_max || g.slot_bytes < SR_SUB_BYTES_MIN) {
		refuse(a, c, SR_REFUSED_SIZES, "depth, slot size or sessions are out of limits");
		return;
	}
	if (!clock_agrees(hello->now_ns)) {
		refuse(a, c, SR_REFUSED_CLOCK, "its monotonic clock differs by over a second");
		return;
	}
	if (clients_greeted(a) >= a->config.clients_max) {
		refuse(a, c, SR_REFUSED_CLIENTS, "clients-max is reached");
		return;
	}
	if (g.sessions > a->config.sessions_max - a->session_count) {
		refuse(a, c, SR_REFUSED_SESSIONS, "sessions-max is reached");
		return;
	}
	a->session_count += g.sessions;
	c->geometry = g;
	c->epoch = hello->attach_epoch;
	c->features = hello->features & SR_FEATURE_DOORBELL;
	c->phase = SR_CLIENT_OFFERED;
	memset(&m, 0, sizeof m);
	m.offer.numa_node = a->numa_node;
	m.offer.agent_pid = (uint32_t)getpid();
	m.offer.attach_epoch = c->epoch;
	m.offer.features = c->features;
	m.offer.loops = a->config.loops;
	(void)!sr_attach_send(c->sock, &m, SR_ATTACH_OFFER, NULL, 0);
}

static enum sr_attach_refusal region_refusal(int error)
{
	switch (error) {
	case -EBADF:
		return SR_REFUSED_NOT_MEMFD;
	case -EPERM:
		return SR_REFUSED_SEALS;
	case -ENOMEM:
		return SR_REFUSED_MEMORY;
	default:
		return SR_REFUSED_REGION;
	}
}

static void take_region(struct sr_agent *a, struct sr_agent_client *c, int fd, uint32_t notes)
{
	struct sr_geometry g = { c->geometry.sessions, c->geometry.depth, SR_CMP_BYTES };
	uint32_t flags = (a->config.huge_pages ? SR_REGION_TRY_HUGE : 0) |
			 (a->config.mlock ? SR_REGION_MLOCK : 0);
	union sr_attach_message m;
	struct sr_reason why;
	int ret = sr_region_join(&c->submission, SR_REGION_SUBMISSION, &c->geometry, fd, &why);

	if (ret < 0) {
		refuse(a, c, region_refusal(ret), why.text);
		return;
	}
	ret = sr_region_create(&c->completion, SR_REGION_COMPLETION, &g, flags, a->numa_node, &why);
	if (ret < 0) {
		refuse(a, c, SR_REFUSED_MEMORY, why.text);
		return;
	}
	sr_store_relaxed(&sr_region_beat(&c->completion)->heartbeat_ns, sr_now_ns());
	c->notes = c->completion.notes | (notes & (SR_NOTE_NO_HUGE_PAGES | SR_NOTE_NO_NUMA));
	memset(&m, 0, sizeof m);
	m.region.region_bytes = c->completion.bytes;
	m.region.notes = c->completion.notes;
	(void)!sr_attach_send(c->sock, &m, SR_ATTACH_WELCOME, &c->completion.fd, 1);
	(void)close(c->completion.fd); /* the client's copy is the last */
	c->completion.fd = -1;
	c->phase = SR_CLIENT_WELCOMED;
}

static void attached(struct sr_agent *a, struct sr_agent_client *c)
{
	c->phase = SR_CLIENT_ATTACHED;
	sr_agent_note(&a->config, "attached process %u of user %u: %u session%s of %u slots", c->pid, c->uid,
	     c->geometry.sessions, c->geometry.sessions == 1 ? "" : "s", c->geometry.depth);
	if (a->config.huge_pages && (c->notes & SR_NOTE_NO_HUGE_PAGES))
		sr_agent_note(&a->config, "WARNING: no 2 MiB pages for process %u, using 4 KiB pages: "
			"set vm.nr_hugepages (docs/operations.md)", c->pid);
	if (c->notes & SR_NOTE_NO_NUMA)
		sr_agent_note(&a->config, "process %u: its region could not be bound to NUMA node %d", c->pid,
		     a->numa_node);
}

static void send_status(struct sr_agent *a, struct sr_agent_client *c)
{
	char *json = malloc(SR_STATUS_BYTES_MAX);
	int room = (int)SR_STATUS_BYTES_MAX * 2;
	size_t n;

	if (json) {
		n = sr_agent_status(a, json, SR_STATUS_BYTES_MAX);
		(void)setsockopt(c->sock, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
		(void)!send(c->sock, json, n, MSG_DONTWAIT | MSG_NOSIGNAL);
		free(json);
	}
	leave(a, c);
}

/* To root and to the agent's own user: the others do not learn when each trades. */
static void send_traced(struct sr_agent *a, struct sr_agent_client *c, uint64_t from)
{
	int room = UINT16_MAX * 2;
	struct sr_attach_traced *traced;
	size_t bytes;
	ssize_t n = -1;

	if (!a->trace || (c->uid != 0 && c->uid != (uint32_t)geteuid())) {
		refuse(a, c, SR_REFUSED_TRACE, "it asks for a trace, and there is none for it");
		return;
	}
	traced = malloc(sizeof *traced + SR_TRACED_EVENTS_MAX * sizeof(struct sr_traced_event));
	if (traced) {
		bytes = sr_agent_trace_read(a->trace, traced, SR_TRACED_EVENTS_MAX, from);
		(void)setsockopt(c->sock, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
		n = send(c->sock, traced, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
		free(traced);
	}
	if (n < 0)
		leave(a, c);
	else
		c->deadline_ns = sr_now_ns() + HANDSHAKE_NS; /* it may go on */
}

/* The relay has the socket from now on, and nothing is left of the client here. */
static void take_control(struct sr_agent *a, struct sr_agent_client *c)
{
	int ret = epoll_ctl(a->epoll_fd, EPOLL_CTL_DEL, c->sock, NULL);

	if (ret == 0)
		ret = sr_agent_relay_begin(a->relay, c->sock, c->uid, c->pid);
	if (ret < 0) {
		refuse(a, c, SR_REFUSED_BUSY, "too many control conversations are open "
					      "(conversations-max)");
		return;
	}
	c->sock = -1;
	sr_agent_client_free(a, c);
}

/* One message of a client. Whatever it is, only this client can suffer. */
static void take_message(struct sr_agent *a, struct sr_agent_client *c)
{
	union sr_attach_message m;
	int fds[2];
	int count = 0;
	int ret = sr_attach_recv(c->sock, &m, fds, &count);

	if (ret == -EAGAIN)
		return;
	if (ret == -ECONNRESET || ret == -EPIPE) {
		if (c->phase == SR_CLIENT_ATTACHED)
			sr_agent_note(&a->config, "process %u of user %u hung up", c->pid, c->uid);
		leave(a, c);
		return;
	}
	if (ret == 0 && count == 0 && m.header.type == SR_ATTACH_HELLO &&
	    c->phase == SR_CLIENT_NEW)
		take_hello(a, c, &m.hello);
	else if (ret == 0 && count == 0 && m.header.type == SR_ATTACH_STATUS &&
		 c->phase == SR_CLIENT_NEW)
		send_status(a, c);
	else if (ret == 0 && count == 0 && m.header.type == SR_ATTACH_TRACE &&
		 c->phase == SR_CLIENT_NEW)
		send_traced(a, c, m.trace.from);
	else if (ret == 0 && count == 0 && m.header.type == SR_ATTACH_CONTROL &&
		 c->phase == SR_CLIENT_NEW)
		take_control(a, c);
	else if (ret == 0 && count == 1 && m.header.type == SR_ATTACH_REGION &&
		 c->phase == SR_CLIENT_OFFERED)
		take_region(a, c, fds[0], m.region.notes);
	else if (ret == 0 && count == 0 && m.header.type == SR_ATTACH_READY &&
		 c->phase == SR_CLIENT_WELCOMED)
		attached(a, c);
	else if (ret == 0 && count == 0 && m.header.type == SR_ATTACH_OPEN)
		ret = take_open(a, c, &m.open);
	else if (ret == 0 && count == 0 && m.header.type == SR_ATTACH_CLOSE)
		ret = take_close(a, c, m.index.index);
	else
		ret = -EPROTO;
	while (count > 0)
		(void)close(fds[--count]);
	if (ret == -EPROTO)
		refuse(a, c, SR_REFUSED_PROTOCOL, "it broke the attach protocol");
	else if (ret < 0)
		leave(a, c);
}

static bool uid_allowed(const struct sr_agent *a, uint32_t uid)
{
	if (a->config.any_uid)
		return true;
	for (uint32_t i = 0; i < a->config.uid_count; i++)
		if (a->config.uids[i] == uid)
			return true;
	return false;
}

static void accept_client(struct sr_agent *a)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLRDHUP };
	struct sr_agent_client *c;
	struct ucred cred;
	socklen_t len = sizeof cred;
	int sock = accept4(a->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (sock < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
			(void)usleep(10000); /* the listener stays readable */
		return;
	}
	c = calloc(1, sizeof *c);
	if (!c || getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0) {
		(void)close(sock);
		free(c);
		return;
	}
	c->sock = sock;
	c->uid = cred.uid;
	c->pid = (uint32_t)cred.pid;
	c->submission.fd = c->completion.fd = -1;
	c->deadline_ns = sr_now_ns() + HANDSHAKE_NS;
	c->next = a->clients;
	a->clients = c;
	if (!uid_allowed(a, c->uid)) {
		refuse(a, c, SR_REFUSED_UID, "allow-uid does not name it");
		return;
	}
	ev.data.ptr = c;
	if (epoll_ctl(a->epoll_fd, EPOLL_CTL_ADD, sock, &ev) < 0)
		leave(a, c);
}

/* ---- mail from the polling thread ---- */

static void session_back(struct sr_agent *a, struct sr_agent_session *s, bool tell_client)
{
	struct sr_agent_client *c = s->client;
	uint32_t index = s->index;

	c->sessions[index] = NULL;
	sr_agent_session_free(s);
	c->away--;
	if (c->phase == SR_CLIENT_LEAVING) {
		if (!c->away)
			sr_agent_client_free(a, c);
	} else if (tell_client && answer_closed(c, index) < 0) {
		leave(a, c);
	}
}

static void session_opened(struct sr_agent *a, struct sr_agent_session *s, uint32_t result)
{
	uint64_t boot_id[2] = { sr_load_relaxed(&a->counters.boot_id[0]),
				sr_load_relaxed(&a->counters.boot_id[1]) };
	struct sr_agent_client *c = s->client;
	int ret = 0;

	if (s->close_posted) /* it comes back by the other mail */
		return;
	if (c->phase == SR_CLIENT_ATTACHED)
		ret = answer_open(c, s->index, s, result, boot_id);
	if (result != SR_RESULT_OK)
		session_back(a, s, false);
	if (ret < 0) /* still attached, so still there */
		leave(a, c);
}

static void note_connected(const struct sr_agent *a)
{
	uint32_t cid = sr_address_cid(&a->config.control); /* the stream's, if that was found */

	if (cid)
		sr_agent_note(&a->config, "connected to the signer, CID %u", cid);
	else
		sr_agent_note(&a->config, "connected to the signer");
}

static void take_mail(struct sr_agent *a, struct sr_mail mail)
{
	struct sr_agent_session *s = mail.object;

	switch (mail.kind) {
	case SR_MAIL_OPENED:
		session_opened(a, s, mail.value);
		break;
	case SR_MAIL_CLOSED:
		session_back(a, s, true);
		break;
	case SR_MAIL_HOSTILE:
		if (s->client->phase == SR_CLIENT_ATTACHED)
			refuse(a, s->client, SR_REFUSED_REGION,
			       "it published an impossible slot word");
		break;
	case SR_MAIL_LOST:
		sr_agent_note(&a->config, "session %u of process %u is lost: outstanding requests are answered "
			"UNKNOWN or NOT_SENT", s->index, s->client->pid);
		break;
	case SR_MAIL_STREAM_UP:
		note_connected(a);
		if (mail.value & SR_HELLO_UNSEALED)
			sr_agent_note(&a->config, "the signer takes records UNSEALED (neither encrypted nor "
				"authenticated) from clients that ask for it");
		break;
	case SR_MAIL_STREAM_DOWN:
		sr_agent_note(&a->config, "lost the signer: %s; reconnecting", strerror((int)mail.value));
		break;
	case SR_MAIL_NEW_BOOT:
		sr_agent_note(&a->config, "the signer was restarted: its sessions are lost");
		break;
	default:
		break;
	}
}

void sr_agent_attach_mail(struct sr_agent *a)
{
	struct sr_mail mail;

	while (sr_mailbox_get(&a->to_attach, &mail) == 0)
		take_mail(a, mail);
}

/* Only the handshake has a time limit: an attached client may take for ever. */
static void drop_slow(struct sr_agent *a)
{
	uint64_t now_ns = sr_now_ns();
	struct sr_agent_client *next;

	for (struct sr_agent_client *c = a->clients; c; c = next) {
		next = c->next;
		if (c->phase < SR_CLIENT_ATTACHED && now_ns > c->deadline_ns)
			leave(a, c);
	}
}

void *sr_agent_attach_main(void *arg)
{
	struct sr_agent *a = arg;
	struct epoll_event events[EVENTS];

	while (!sr_load32_relaxed(&a->stopping)) {
		int n = epoll_wait(a->epoll_fd, events, EVENTS, 1000);

		for (int i = 0; i < n; i++) {
			void *who = events[i].data.ptr;

			if (who == &a->listen_fd)
				accept_client(a);
			else if (who == &a->wake_fd)
				sr_doorbell_clear(a->wake_fd);
			else if (who != &a->relay)
				take_message(a, who);
		}
		sr_agent_relay_turn(a->relay);
		/* Behind the events: only here are clients freed that leave late. */
		sr_agent_attach_mail(a);
		drop_slow(a);
	}
	return NULL;
}
