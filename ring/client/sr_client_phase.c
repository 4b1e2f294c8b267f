/* SPDX-License-Identifier: MIT */
/* A session as the cold thread sees it, phase by phase. */
#include <sys/random.h>
#include <unistd.h>

#include "sr_client.h"
#include "sr_clock.h"
#include "sr_frame.h"

#define RETRY_NS (20u * SR_NS_PER_MS)

static void link_down(struct sr_session_full *s)
{
	/* Pairs with the acquire in sr_client.h: sr_link_changed(). */
	sr_store32_release(&s->link, (s->link | 1) + 1);
}

static void link_up(struct sr_session_full *s)
{
	/* Pairs with the acquire in sr_client.h: sr_link_changed(); s->next is whole. */
	sr_store32_release(&s->link, s->link + 1);
}

static bool session_parked(const struct sr_session_full *s)
{
	/* Pairs with the release in sr_link.c: sr_link_park(). */
	return sr_load32_acquire(&s->parked) == s->link;
}

static bool session_dead(const struct sr_session_full *s)
{
	/* Pairs with the release in sr_completion.c: poll_dead(). */
	return sr_load32_acquire(&s->dead) == s->link;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
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

/* Where a session begins that is not to be free when the agent has let go of it. */
static enum sr_phase after_close(struct sr_session_full *s)
{
	if (!s->reopening && !s->again)
		return SR_PHASE_FREE;
	s->unproven = s->again = false;
	return s->secrets ? SR_PHASE_SETUP : SR_PHASE_OPEN_SEND;
}

void sr_phase_hangup(struct sr_session_full *s)
{
	close_fd(&s->wait_fd_next);
	close_fd(&s->ring_fd_next);
	switch (s->phase) {
	case SR_PHASE_UP:
		link_down(s);
		s->phase = SR_PHASE_PARKING;
		break;
	case SR_PHASE_FIRST_WAIT:
		release_session(s);
		s->phase = SR_PHASE_RESUME_SEND;
		break;
	case SR_PHASE_OPEN_WAIT:
		s->phase = SR_PHASE_OPEN_SEND;
		break;
	case SR_PHASE_RESUME_WAIT:
		s->phase = SR_PHASE_RESUME_SEND;
		break;
	case SR_PHASE_CLOSE_SEND:
	case SR_PHASE_CLOSE_WAIT: /* the agent's death has closed it */
		s->phase = after_close(s);
		break;
	case SR_PHASE_FREE:
	case SR_PHASE_SETUP:
	case SR_PHASE_OPEN_SEND:
	case SR_PHASE_PARKING:
	case SR_PHASE_RESUME_SEND:
		break;
	}
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

static void look_at_newest(struct sr_client *c, struct sr_session_full *s)
{
	s->completions = c->completions;
	s->completions->users++;
}

/* The session is good: hand the region that it looks at over. */
static void bring_up(struct sr_session_full *s, bool resumed, bool is_lost)
{
	const struct sr_region *r = &s->completions->region;

	s->next = (struct sr_link_next){
		.completion = sr_region_slots(r, s->index),
		.beat = sr_region_beat(r),
		.block = sr_region_block(r, s->index),
		.first = s->first,
		.wait_fd = s->wait_fd_next,
		.ring_fd = s->ring_fd_next,
		.base = s->secrets ? 1 : 0,
		.fresh = !resumed,
		.lied = s->past_lied,
		.reopened = s->reopening,
		.lost = is_lost,
	};
	s->wait_fd_next = -1;
	s->ring_fd_next = -1;
	s->reopening = s->unproven = s->past_lied = false;
	s->phase = SR_PHASE_UP;
	link_up(s);
}

/* A sealed session that the agent has opened, or has opened again: message 0 is
 * published once, and its answer awaited. */
static int prove(struct sr_client *c, struct sr_session_full *s, struct sr_reason *why)
{
	const struct sr_region *r = &s->completions->region;

	s->phase = SR_PHASE_FIRST_WAIT;
	s->first_end_ns = sr_ns_after(sr_now_ns(), c->opt.timeout_ns);
	if (!s->unproven) {
		s->unproven = true;
		if (sr_first_publish(c, s, why) < 0) {
			s->first_end_ns = 0; /* never */
			return 1;
		}
	}
	if (s->ring_fd_next >= 0)
		sr_doorbell_publish(&sr_region_beat(r)->sleeping, s->ring_fd_next);
	return 1;
}

static int step_first(struct sr_client *c, struct sr_session_full *s, struct sr_reason *why)
{
	int ret = sr_first_step(c, s, why);

	if (ret > 0)
		bring_up(s, false, false);
	if (ret >= 0)
		return ret;
	/* Its number is spent: the next attempt is another session. */
	release_session(s);
	close_fd(&s->wait_fd_next);
	close_fd(&s->ring_fd_next);
	ret = sr_setup_again(c, s, ret);
	s->again = true;
	s->phase = SR_PHASE_CLOSE_SEND;
	return ret;
}

/* The signer's own refusal; the others may pass when the agent has room again. */
static bool result_final(uint32_t result)
{
	return result == SR_RESULT_GONE || result == SR_RESULT_SIZES ||
	       result == SR_RESULT_UNSEALED;
}

static int not_opened(struct sr_client *c, struct sr_session_full *s, bool resumed,
		      struct sr_reason *why)
{
	bool gone = s->result == SR_RESULT_GONE;

	/* A sealed session that nobody has seen yet: what the signer had ready for it has
	 * been given away, or was of another boot. */
	if (s->secrets && (s->unproven || !resumed) && gone) {
		(void)sr_result_reason(why, s->result);
		return sr_setup_again(c, s, -ENOTCONN);
	}
	if (resumed && !s->unproven && result_final(s->result)) {
		look_at_newest(c, s);
		bring_up(s, true, true);
	} else if (resumed || s->reopening) {
		s->phase = resumed ? SR_PHASE_RESUME_SEND : SR_PHASE_OPEN_SEND;
		s->retry_ns = sr_now_ns() + RETRY_NS;
	} else {
		s->phase = SR_PHASE_FREE; /* sr_session_open() reads the result */
	}
	return 1;
}

int sr_phase_opened(struct sr_client *c, const struct sr_attach_opened *opened, int fds[2],
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
		return given_up ? 1 : sr_client_lost(c, why, -EPROTO);
	}
	resumed = s->phase == SR_PHASE_RESUME_WAIT;
	s->result = opened->result;
	if (opened->result == SR_RESULT_OK) {
		s->wait_fd_next = doorbells ? fds[0] : -1;
		s->ring_fd_next = doorbells ? fds[1] : -1;
		look_at_newest(c, s);
		if (s->secrets && (s->unproven || !resumed))
			return prove(c, s, why);
		bring_up(s, resumed, false);
		return 1;
	}
	while (fd_count > 0)
		(void)close(fds[--fd_count]);
	return not_opened(c, s, resumed, why);
}

bool sr_phase_closed(struct sr_client *c, uint32_t index)
{
	struct sr_session_full *s = session_at(c, index, SR_PHASE_CLOSE_WAIT, SR_PHASE_CLOSE_WAIT);

	if (s)
		s->phase = after_close(s);
	return s;
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
		       (s->flags & SR_SESSION_PRIORITY ? SR_OPEN_PRIORITY : 0) |
		       (s->secrets ? SR_OPEN_SEALED : 0);
	if (!resume && !s->secrets) {
		ret = sr_session_renumber(c, s);
		if (ret < 0)
			return sr_reason_set(why, ret, "the kernel gives no random bytes");
	}
	m.open.token[0] = s->token[0];
	m.open.token[1] = s->token[1];
	m.open.first = s->first;
	if (resume) {
		m.open.next = s->unproven ? 0 : s->parked_answered;
		m.open.published = s->unproven ? 1 : s->parked_submitted;
	}
	ret = sr_attach_send(c->sock, &m, SR_ATTACH_OPEN, NULL, 0);
	if (ret == -EAGAIN)
		return 0;
	if (ret < 0)
		return sr_client_lost(c, why, ret);
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
		return sr_client_lost(c, why, ret);
	s->phase = SR_PHASE_CLOSE_WAIT;
	return 1;
}

/* A sealed session that was handed out is what its successor ends. Its count is judged
 * once more when the signer says how far it came, but for one that has shown a lie. */
static void remember(struct sr_session_full *s)
{
	memcpy(s->predecessor, s->token, sizeof s->predecessor);
	s->past = s->tally;
	s->has_past = s->ended != -EBADMSG;
}

/* One session, one step. Phases that need the agent wait until it is there. */
int sr_phase_step(struct sr_client *c, struct sr_session_full *s, struct sr_reason *why)
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
		if (s->secrets)
			remember(s);
		s->reopening = true;
		s->phase = SR_PHASE_CLOSE_SEND;
		return 1;
	case SR_PHASE_OPEN_SEND:
	case SR_PHASE_RESUME_SEND:
		if (c->phase != SR_ATTACH_UP)
			return 0;
		return send_open(c, s, s->phase == SR_PHASE_RESUME_SEND, why);
	case SR_PHASE_SETUP:
		return c->phase == SR_ATTACH_UP ? sr_setup_step(c, s, why) : 0;
	case SR_PHASE_FIRST_WAIT:
		return step_first(c, s, why);
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
