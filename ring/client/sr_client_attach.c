/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "sr_client.h"
#include "sr_clock.h"
#include "sr_frame.h"

#define BACKOFF_NS_MIN SR_NS_PER_MS
#define BACKOFF_NS_MAX (200u * SR_NS_PER_MS)
#define RETRY_NS (20u * SR_NS_PER_MS)

static void link_down(struct sr_session_full *s)
{
	/* Pairs with the acquire in sr_session.c: link_changed(). */
	sr_store32_release(&s->link, (s->link | 1) + 1);
}

static void link_up(struct sr_session_full *s)
{
	/* Pairs with the acquire in sr_session.c: link_changed(); s->next is whole. */
	sr_store32_release(&s->link, s->link + 1);
}

static bool session_parked(const struct sr_session_full *s)
{
	/* Pairs with the release in sr_session.c: park(). */
	return sr_load32_acquire(&s->parked) == s->link;
}

static bool session_dead(const struct sr_session_full *s)
{
	/* Pairs with the release in sr_session.c: poll_dead(). */
	return sr_load32_acquire(&s->dead) == s->link;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

/* Regions that no session looks at any more, but for the newest. */
static void drop_unused(struct sr_client *c)
{
	struct sr_completions **at = &c->completions;

	while (*at) {
		struct sr_completions *old = *at;

		if (old->users || (old == c->completions && c->phase == SR_ATTACH_UP)) {
			at = &old->older;
			continue;
		}
		*at = old->older;
		sr_region_drop(&old->region);
		free(old);
	}
}

/* The trading thread looks at nothing of the old attach any more. */
static void release_session(struct sr_session_full *s)
{
	if (s->completions)
		s->completions->users--;
	s->completions = NULL;
	close_fd(&s->next.wait_fd);
	close_fd(&s->next.ring_fd);
}

void sr_client_hangup(struct sr_client *c)
{
	close_fd(&c->sock);
	c->phase = SR_ATTACH_DOWN;
	for (uint32_t i = 0; i < c->opt.sessions; i++) {
		struct sr_session_full *s = &c->sessions[i];

		close_fd(&s->wait_fd_next);
		close_fd(&s->ring_fd_next);
		switch (s->phase) {
		case SR_PHASE_UP:
			link_down(s);
			s->phase = SR_PHASE_PARKING;
			break;
		case SR_PHASE_OPEN_WAIT:
			s->phase = SR_PHASE_OPEN_SEND;
			break;
		case SR_PHASE_RESUME_WAIT:
			s->phase = SR_PHASE_RESUME_SEND;
			break;
		case SR_PHASE_CLOSE_SEND:
		case SR_PHASE_CLOSE_WAIT: /* the agent's death has closed it */
			s->phase = s->reopening ? SR_PHASE_OPEN_SEND : SR_PHASE_FREE;
			break;
		case SR_PHASE_FREE:
		case SR_PHASE_OPEN_SEND:
		case SR_PHASE_PARKING:
		case SR_PHASE_RESUME_SEND:
			break;
		}
	}
}

static int fail(struct sr_client *c, int error)
{
	uint64_t now_ns = sr_now_ns();

	sr_client_hangup(c);
	/* An agent that dies at once after each connect must not be hammered:
	 * only an attach that completes resets the back-off. */
	c->backoff_ns = c->backoff_ns ? c->backoff_ns * 2 : BACKOFF_NS_MIN;
	if (c->backoff_ns > BACKOFF_NS_MAX)
		c->backoff_ns = BACKOFF_NS_MAX;
	c->retry_ns = now_ns + c->backoff_ns;
	return error;
}

static int lost(struct sr_client *c, struct sr_reason *why, int error)
{
	if (error == -EPROTO)
		return fail(c, sr_reason_set(why, error, "the agent at %s broke the protocol",
					     c->socket));
	return fail(c, sr_reason_set(why, -ENOTCONN, "the agent at %s hung up", c->socket));
}

static int start(struct sr_client *c, struct sr_reason *why)
{
	union sr_attach_message m;
	int sock;
	int ret;

	if (sr_now_ns() < c->retry_ns)
		return -ENOTCONN;
	sock = sr_attach_connect(c->socket);
	if (sock == -EACCES)
		return fail(c, sr_reason_set(why, sock,
					     "no permission to connect to %s: join the group "
					     "that owns the socket",
					     c->socket));
	if (sock < 0)
		return fail(c, sr_reason_set(why, sock,
					     "no agent at %s (%s): start sigring-agent or "
					     "sigring-local, or name its socket",
					     c->socket, strerror(-sock)));
	c->sock = sock;
	memset(&m, 0, sizeof m);
	m.hello.abi_major = SR_ABI_MAJOR;
	m.hello.abi_minor = SR_ABI_MINOR;
	m.hello.layout_hash = sr_layout_hash();
	m.hello.sessions = c->opt.sessions;
	m.hello.depth = c->opt.depth;
	m.hello.slot_bytes = c->opt.slot_bytes;
	m.hello.features = c->features;
	m.hello.attach_epoch = ++c->attach_epoch;
	m.hello.now_ns = sr_now_ns();
	ret = sr_attach_send(sock, &m, SR_ATTACH_HELLO, NULL, 0);
	/* Who is refused at once finds the reason in his socket. */
	if (ret < 0 && ret != -EPIPE && ret != -ECONNRESET)
		return lost(c, why, ret);
	c->phase = SR_ATTACH_SENT_HELLO;
	return 1;
}

static int take_offer(struct sr_client *c, const struct sr_attach_offer *offer,
		      struct sr_reason *why)
{
	union sr_attach_message m;
	int ret;

	if (offer->attach_epoch != c->attach_epoch)
		return lost(c, why, -EPROTO);
	c->numa_node = offer->numa_node;
	c->agent_pid = offer->agent_pid;
	c->wait = sr_wait_resolve((enum sr_wait_policy)c->opt.wait, offer->loops);
	if (!c->submission.base) {
		uint32_t flags = (c->opt.flags & SR_OPT_NO_HUGE_PAGES ? 0 : SR_REGION_TRY_HUGE) |
				 (c->opt.flags & SR_OPT_NO_MLOCK ? 0 : SR_REGION_MLOCK);

		ret = sr_region_create(&c->submission, SR_REGION_SUBMISSION,
				       &c->submission_geometry, flags, c->numa_node, why);
		if (ret < 0)
			return fail(c, ret);
	}
	memset(&m, 0, sizeof m);
	m.region.region_bytes = c->submission.bytes;
	m.region.notes = c->submission.notes;
	ret = sr_attach_send(c->sock, &m, SR_ATTACH_REGION, &c->submission.fd, 1);
	if (ret < 0)
		return lost(c, why, ret);
	c->phase = SR_ATTACH_SENT_REGION;
	return 1;
}

static int take_welcome(struct sr_client *c, int fd, struct sr_reason *why)
{
	struct sr_geometry g = { c->opt.sessions, c->opt.depth, SR_CMP_BYTES };
	struct sr_completions *fresh = calloc(1, sizeof *fresh);
	union sr_attach_message m;
	int ret;

	if (!fresh)
		return fail(c, sr_reason_set(why, -ENOMEM, "out of memory"));
	ret = sr_region_join(&fresh->region, SR_REGION_COMPLETION, &g, fd, why);
	if (ret < 0) {
		free(fresh);
		return fail(c, ret);
	}
	fresh->older = c->completions;
	c->completions = fresh;
	ret = sr_attach_send(c->sock, &m, SR_ATTACH_READY, NULL, 0);
	if (ret < 0)
		return lost(c, why, ret);
	c->phase = SR_ATTACH_UP;
	c->backoff_ns = 0;
	return 1;
}

static struct sr_session_full *session_at(struct sr_client *c, uint32_t index,
					  enum sr_phase a, enum sr_phase b)
{
	struct sr_session_full *s;

	if (index >= c->opt.sessions)
		return NULL;
	s = &c->sessions[index];
	return s->phase == a || s->phase == b ? s : NULL;
}

/* The agent has opened or resumed it: hand the new region over. */
static void bring_up(struct sr_client *c, struct sr_session_full *s, bool resumed, bool is_lost)
{
	const struct sr_region *r = &c->completions->region;

	s->next = (struct sr_link_next){
		.completion = sr_region_slots(r, s->index),
		.beat = sr_region_beat(r),
		.block = sr_region_block(r, s->index),
		.first = s->first,
		.wait_fd = s->wait_fd_next,
		.ring_fd = s->ring_fd_next,
		.fresh = !resumed,
		.reopened = s->reopening,
		.lost = is_lost,
	};
	s->wait_fd_next = -1;
	s->ring_fd_next = -1;
	s->completions = c->completions;
	s->completions->users++;
	s->reopening = false;
	s->phase = SR_PHASE_UP;
	link_up(s);
}

/* The signer's own refusal; the others may pass when the agent has room again. */
static bool result_final(uint32_t result)
{
	return result == SR_RESULT_GONE || result == SR_RESULT_SIZES ||
	       result == SR_RESULT_UNSEALED;
}

static int take_opened(struct sr_client *c, const struct sr_attach_opened *opened, int fds[2],
		       int fd_count, struct sr_reason *why)
{
	bool doorbells = c->features & SR_FEATURE_DOORBELL;
	struct sr_session_full *s =
		session_at(c, opened->index, SR_PHASE_OPEN_WAIT, SR_PHASE_RESUME_WAIT);
	bool given_up = session_at(c, opened->index, SR_PHASE_CLOSE_SEND, SR_PHASE_CLOSE_WAIT);
	bool resumed;

	if (!s || (opened->result == SR_RESULT_OK && fd_count != (doorbells ? 2 : 0))) {
		while (fd_count > 0)
			(void)close(fds[--fd_count]);
		/* An open that was given up may have crossed its answer. */
		return given_up ? 1 : lost(c, why, -EPROTO);
	}
	resumed = s->phase == SR_PHASE_RESUME_WAIT;
	s->result = opened->result;
	if (opened->result == SR_RESULT_OK) {
		s->wait_fd_next = doorbells ? fds[0] : -1;
		s->ring_fd_next = doorbells ? fds[1] : -1;
		bring_up(c, s, resumed, false);
		return 1;
	}
	while (fd_count > 0)
		(void)close(fds[--fd_count]);
	if (resumed && result_final(opened->result)) {
		bring_up(c, s, true, true);
	} else if (resumed || s->reopening) {
		s->phase = resumed ? SR_PHASE_RESUME_SEND : SR_PHASE_OPEN_SEND;
		s->retry_ns = sr_now_ns() + RETRY_NS;
	} else {
		s->phase = SR_PHASE_FREE; /* sr_session_open() reads the result */
	}
	return 1;
}

static int take_message(struct sr_client *c, struct sr_reason *why)
{
	union sr_attach_message m;
	int fds[2];
	int count = 0;
	int ret = sr_attach_recv(c->sock, &m, fds, &count);
	int want;

	if (ret == -EAGAIN)
		return 0;
	if (ret < 0)
		return lost(c, why, ret);
	if (m.header.type == SR_ATTACH_OPENED && c->phase == SR_ATTACH_UP)
		return take_opened(c, &m.opened, fds, count, why);
	want = m.header.type == SR_ATTACH_WELCOME ? 1 : 0;
	if (count == want) {
		switch (m.header.type) {
		case SR_ATTACH_REFUSED:
			return fail(c, sr_attach_refusal_reason(why, m.refused.code));
		case SR_ATTACH_OFFER:
			if (c->phase == SR_ATTACH_SENT_HELLO)
				return take_offer(c, &m.offer, why);
			break;
		case SR_ATTACH_WELCOME:
			if (c->phase != SR_ATTACH_SENT_REGION)
				break;
			ret = take_welcome(c, fds[0], why);
			(void)close(fds[0]);
			return ret;
		case SR_ATTACH_CLOSED: {
			struct sr_session_full *s = session_at(c, m.index.index,
							       SR_PHASE_CLOSE_WAIT,
							       SR_PHASE_CLOSE_WAIT);

			if (!s)
				break;
			s->phase = s->reopening ? SR_PHASE_OPEN_SEND : SR_PHASE_FREE;
			return 1;
		}
		default:
			break;
		}
	}
	while (count > 0)
		(void)close(fds[--count]);
	return lost(c, why, -EPROTO);
}

int sr_session_renumber(struct sr_client *c, struct sr_session_full *s)
{
	uint64_t random[3];
	struct sr_slots slots = sr_region_slots(&c->submission, s->index);

	if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
		return -EIO;
	s->token[0] = random[0];
	s->token[1] = random[1];
	s->first = s->flags & SR_SESSION_FIRST ? s->fixed_first : random[2];
	sr_slots_reset(&slots, s->first);
	return 0;
}

static int send_open(struct sr_client *c, struct sr_session_full *s, bool resume,
		     struct sr_reason *why)
{
	union sr_attach_message m;
	int ret;

	if (sr_now_ns() < s->retry_ns)
		return 0;
	memset(&m, 0, sizeof m);
	m.open.index = s->index;
	m.open.flags = (resume ? SR_OPEN_RESUME : 0) |
		       (s->flags & SR_SESSION_PRIORITY ? SR_OPEN_PRIORITY : 0);
	if (!resume) {
		ret = sr_session_renumber(c, s);
		if (ret < 0)
			return sr_reason_set(why, ret, "the kernel gives no random bytes");
	}
	m.open.token[0] = s->token[0];
	m.open.token[1] = s->token[1];
	m.open.first = s->first;
	m.open.next = resume ? s->parked_answered : 0;
	m.open.published = resume ? s->parked_submitted : 0;
	ret = sr_attach_send(c->sock, &m, SR_ATTACH_OPEN, NULL, 0);
	if (ret == -EAGAIN)
		return 0;
	if (ret < 0)
		return lost(c, why, ret);
	s->phase = resume ? SR_PHASE_RESUME_WAIT : SR_PHASE_OPEN_WAIT;
	return 1;
}

static int send_close(struct sr_client *c, struct sr_session_full *s, struct sr_reason *why)
{
	union sr_attach_message m;
	int ret;

	memset(&m, 0, sizeof m);
	m.index.index = s->index;
	ret = sr_attach_send(c->sock, &m, SR_ATTACH_CLOSE, NULL, 0);
	if (ret == -EAGAIN)
		return 0;
	if (ret < 0)
		return lost(c, why, ret);
	s->phase = SR_PHASE_CLOSE_WAIT;
	return 1;
}

/* One session, one step. Phases that need the agent wait until it is there. */
static int step_session(struct sr_client *c, struct sr_session_full *s, struct sr_reason *why)
{
	switch (s->phase) {
	case SR_PHASE_PARKING:
		if (!session_parked(s))
			return 0;
		release_session(s);
		s->phase = SR_PHASE_RESUME_SEND;
		return 1;
	case SR_PHASE_UP:
		if (!(s->flags & SR_SESSION_REOPEN) || !session_dead(s))
			return 0;
		/* It touches nothing of the region any more: no parking needed. */
		link_down(s);
		release_session(s);
		s->reopening = true;
		s->phase = SR_PHASE_CLOSE_SEND;
		return 1;
	case SR_PHASE_OPEN_SEND:
	case SR_PHASE_RESUME_SEND:
		if (c->phase != SR_ATTACH_UP)
			return 0;
		return send_open(c, s, s->phase == SR_PHASE_RESUME_SEND, why);
	case SR_PHASE_CLOSE_SEND:
		return c->phase == SR_ATTACH_UP ? send_close(c, s, why) : 0;
	case SR_PHASE_FREE:
	case SR_PHASE_OPEN_WAIT:
	case SR_PHASE_RESUME_WAIT:
	case SR_PHASE_CLOSE_WAIT:
		break;
	}
	return 0;
}

int sr_client_step(struct sr_client *c, struct sr_reason *why)
{
	int ret = c->phase == SR_ATTACH_DOWN ? start(c, why) : take_message(c, why);
	int did = ret > 0;

	for (uint32_t i = 0; i < c->opt.sessions; i++) {
		int r = step_session(c, &c->sessions[i], why);

		if (r < 0 && ret >= 0)
			ret = r;
		did |= r > 0;
	}
	drop_unused(c);
	if (ret < 0)
		return ret;
	return did;
}
