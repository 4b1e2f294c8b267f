/* SPDX-License-Identifier: MIT */
#include <sched.h>

#include "sr_client.h"
#include "sr_clock.h"

/* How many empty polls share one look at the clock and at the agent. */
#define EMPTY_POLLS 32u
/* A sleeping thread looks at the agent this often. */
#define SLEEP_NS_MAX (50u * SR_NS_PER_MS)

/* One step ahead of the next record, while nothing waits for us. */
static void seal_ahead(struct sr_session_full *s)
{
	s->seals_due = sr_seal_step(&s->secrets->replies) > 0 ||
		       sr_seal_step(&s->secrets->requests) > 0;
}

static void give(struct sr_session_full *s, struct sr_completion *out, uint64_t number,
		 enum sr_status status)
{
	memset(out, 0, sizeof *out);
	out->number = number - s->base;
	out->user_data = sr_pending_of(s, number)->user_data;
	out->status = (uint16_t)status;
	sr_store_relaxed(&s->stats.completed, s->stats.completed + 1);
}

/* An agent may say these four and nothing else; anything else means UNKNOWN. */
static enum sr_status agent_status(uint8_t status)
{
	switch (status) {
	case SR_EXPIRED:
	case SR_NOT_SENT:
	case SR_SESSION_LOST:
		return (enum sr_status)status;
	default:
		return SR_UNKNOWN;
	}
}

/* A lost session takes no more submits: one that is fed for ever would never be
 * drained, and so never be opened again. */
static void take_agent_status(struct sr_session_full *s, struct sr_completion *out, uint8_t status)
{
	out->status = (uint16_t)agent_status(status);
	if (out->status == SR_SESSION_LOST)
		s->head.usable = SR_DRAINING;
	if (out->status == SR_UNKNOWN)
		sr_tally_unsure(&s->tally, 1);
}

/* A reply of the signer; false when it is not one. Message 0 is no request of the
 * application's, so it is in no count of its. */
static bool decode_reply(const struct sr_session_full *s, struct sr_completion *out,
			 const unsigned char *record)
{
	const unsigned char *reply = record + SR_CMP_BODY;
	uint16_t status = sr_get16(reply + SR_REP_STATUS);

	if (status > SR_VOID)
		return false;
	out->status = status;
	out->policy = sr_get16(reply + SR_REP_POLICY);
	out->venue_nonce = sr_get64(reply + SR_REP_NONCE);
	out->accepted = sr_get64(reply + SR_REP_ACCEPTED) - s->base;
	if (out->status == SR_OK) {
		out->recovery_id = reply[SR_REP_RECID];
		out->sigkind = reply[SR_REP_SIGKIND];
		memcpy(out->signature, reply + SR_REP_SIG, SR_SIG_BYTES);
	}
	return true;
}

static void withhold_late(struct sr_session_full *s, struct sr_completion *out)
{
	out->status = SR_LATE;
	sr_store_relaxed(&s->stats.late, s->stats.late + 1);
	if (s->flags & SR_SESSION_GIVE_LATE)
		return;
	out->sigkind = SR_SIG_NONE;
	out->recovery_id = 0;
	memset(out->signature, 0, SR_SIG_BYTES);
}

/* Did this completion come from the signer? What did not ends the session: a slot that
 * is published with other bytes is the agent's doing. */
static bool authentic(struct sr_session_full *s, uint64_t number, unsigned char *record)
{
	unsigned char *body = record + SR_CMP_BODY;

	if (!s->secrets)
		return true; /* nobody is told from anybody */
	s->seals_due = true;
	if (record[SR_CMP_KIND] == SR_KIND_AGENT)
		return true;
	if (record[SR_CMP_KIND] == SR_KIND_SEALED &&
	    !sr_seal_open(&s->secrets->replies, number, body, record)) {
		s->opened = number;
		return true;
	}
	sr_store_relaxed(&s->stats.forged, s->stats.forged + 1);
	return false;
}

/* Of a sealed session: does the signer's count fit what we were told? */
static bool count_fits(struct sr_session_full *s, const struct sr_completion *out)
{
	uint64_t accepted = out->accepted + s->base;

	if (out->status == SR_VOID)
		return sr_tally_void(&s->tally, accepted, s->head.submitted - s->head.answered);
	return sr_tally_reply(&s->tally, accepted);
}

static void take_reply(struct sr_session_full *s, struct sr_completion *out,
		       const unsigned char *record, uint64_t deadline_ns)
{
	if (!decode_reply(s, out, record))
		return;
	if (s->secrets && !count_fits(s, out)) {
		sr_store_relaxed(&s->stats.agent_lied, s->stats.agent_lied + 1);
		sr_session_end(s, -EBADMSG); /* this one is the signer's word all the same */
	}
	if (deadline_ns && out->status == SR_OK && sr_now_ns() > deadline_ns)
		withhold_late(s, out);
}

/* Pops the completion that sr_slot_look() has seen. Returns how many of @out it
 * wrote: 0 for one that was answered by a time-out before, which is not opened; or
 * -EPROTO for one that the signer did not make. */
static int pop(struct sr_session_full *s, struct sr_completion *out)
{
	unsigned char record[SR_CMP_BYTES];
	uint64_t number = s->head.answered;
	struct sr_pending *p = sr_pending_of(s, number);
	bool terminal = p->terminal;

	sr_slot_copy(&s->head.completion, s->head.first + number, record);
	if (SR_UNLIKELY(!terminal && !authentic(s, number, record)))
		return -EPROTO;
	s->head.answered = number + 1;
	if (SR_UNLIKELY(terminal)) {
		sr_tally_unsure(&s->tally, 1);
		sr_store_relaxed(&s->stats.swallowed, s->stats.swallowed + 1);
		return 0;
	}
	give(s, out, number, SR_UNKNOWN);
	if (record[SR_CMP_KIND] == SR_KIND_AGENT)
		take_agent_status(s, out, record[SR_CMP_STATUS]);
	else if (record[SR_CMP_KIND] == (s->secrets ? SR_KIND_SEALED : SR_KIND_UNSEALED))
		take_reply(s, out, record, p->deadline_ns);
	return 1;
}

/* Completes, by our own word, what is outstanding and @due at @now_ns. */
static int give_unknown(struct sr_session_full *s, struct sr_completion *out, int max,
			uint64_t now_ns, bool all)
{
	uint64_t earliest = UINT64_MAX;
	int n = 0;

	for (uint64_t i = s->head.answered; i != s->head.submitted; i++) {
		struct sr_pending *p = sr_pending_of(s, i);

		if (p->terminal)
			continue;
		if (n < max && (all || (p->deadline_ns && p->deadline_ns <= now_ns))) {
			p->terminal = true;
			give(s, &out[n++], i, SR_UNKNOWN);
		} else if (p->deadline_ns && p->deadline_ns < earliest) {
			earliest = p->deadline_ns;
		}
	}
	s->deadline_min_ns = earliest;
	return n;
}

/* A session that will never be answered again: complete the rest, then say so. */
static int poll_dead(struct sr_session_full *s, struct sr_completion *out, int max)
{
	int n;

	if (!s->abandoned && !s->ended)
		return -EPERM; /* a fork poisoned it */
	n = give_unknown(s, out, max, 0, true);
	if (n)
		return n;
	if (s->head.answered != s->head.submitted) {
		/* Once: when `dead` is set the cold thread reads the tally. */
		sr_tally_unsure(&s->tally, s->head.submitted - s->head.answered);
		s->head.answered = s->head.submitted;
	}
	if (sr_link_changed(s)) {
		sr_link_park(s);
		if (sr_link_sync(s) == 0 && s->head.usable)
			return 0; /* opened again */
	}
	/* Pairs with the acquire in sr_client_phase.c: session_dead(). */
	sr_store32_release(&s->dead, s->link_seen);
	return s->ended ? s->ended : -ESTALE;
}

/* The agent says in its block that the session is lost. Everything has been
 * answered when nothing is outstanding; until then its answers are on the way. */
static bool lost_and_drained(const struct sr_session_full *s)
{
	return s->head.answered == s->head.submitted &&
	       (s->head.usable == SR_DRAINING ||
		sr_load32_relaxed(&s->agent_block->state) == SR_LINK_LOST);
}

static bool heartbeat_stale(const struct sr_session_full *s, uint64_t now_ns)
{
	uint64_t beat_ns = sr_load_relaxed(&s->beat->heartbeat_ns);

	return now_ns > beat_ns && now_ns - beat_ns > s->stale_ns;
}

/* Nothing has been published: look at clock, link and agent. */
static int poll_empty(struct sr_session_full *s, struct sr_completion *out, int max)
{
	uint64_t now_ns;

	if (s->seals_due)
		seal_ahead(s);
	if (SR_UNLIKELY(sr_link_changed(s))) {
		sr_link_park(s); /* no more will come in the region that we know */
		if (sr_link_sync(s) == 0)
			return 0;
		s->verdict = -ENOTCONN;
		s->empty_polls = 0; /* deadlines go on, at every poll */
	}
	if (s->empty_polls++ % EMPTY_POLLS)
		return s->verdict;
	now_ns = sr_now_ns();
	if (now_ns >= s->deadline_min_ns) {
		int n = give_unknown(s, out, max, now_ns, false);

		if (n)
			return n;
	}
	if (s->link_seen & 1 && !sr_link_changed(s)) {
		if (lost_and_drained(s)) {
			sr_session_abandon(&s->head);
			return -ESTALE;
		}
		s->verdict = heartbeat_stale(s, now_ns) ? -ENOTCONN : 0;
	}
	return s->verdict;
}

/* Takes what has been published. Returns how many; the agent may have ended the
 * session by the last of them, or by one that is not there. */
static int take_published(struct sr_session_full *s, struct sr_completion *out, int max)
{
	struct sr_session *session = &s->head;
	int n = 0;

	while (n < max && session->answered != session->submitted) {
		int ret = sr_slot_look(&session->completion, session->first + session->answered);

		if (ret == -EAGAIN) {
			sr_slot_expect(&session->completion, session->first + session->answered);
			break;
		}
		if (SR_LIKELY(ret == 0))
			ret = pop(s, &out[n]);
		if (SR_UNLIKELY(ret < 0)) {
			sr_session_end(s, -EPROTO);
			break;
		}
		n += ret;
		if (SR_UNLIKELY(!session->usable))
			break;
	}
	return n;
}

int sr_poll(struct sr_session *session, struct sr_completion *out, int max)
{
	struct sr_session_full *s = sr_full(session);
	int n;

	if (max <= 0)
		return 0;
	if (SR_UNLIKELY(!session->usable))
		return poll_dead(s, out, max);
	n = take_published(s, out, max);
	if (n)
		return n;
	return SR_LIKELY(session->usable) ? poll_empty(s, out, max) : poll_dead(s, out, max);
}

/* Would sr_poll() have something to say, other than 0? */
static bool attention(struct sr_session_full *s, uint64_t now_ns)
{
	return !s->head.usable || sr_link_changed(s) || s->verdict || now_ns >= s->deadline_min_ns ||
	       heartbeat_stale(s, now_ns) || lost_and_drained(s);
}

static bool outstanding_ready(const struct sr_session *session)
{
	return session->answered != session->submitted && sr_ready(session);
}

static void sleep_once(struct sr_session_full *s, uint64_t now_ns, uint64_t end_ns)
{
	uint64_t until_ns = end_ns < s->deadline_min_ns ? end_ns : s->deadline_min_ns;
	uint64_t nap_ns = until_ns > now_ns ? until_ns - now_ns : 0;

	sr_doorbell_arm(&s->own_block->sleeping);
	if (!outstanding_ready(&s->head))
		sr_doorbell_wait(s->wait_fd, nap_ns < SLEEP_NS_MAX ? nap_ns : SLEEP_NS_MAX);
	sr_doorbell_disarm(&s->own_block->sleeping);
}

int sr_wait(struct sr_session *session, uint64_t timeout_ns)
{
	struct sr_session_full *s = sr_full(session);
	uint64_t now_ns = sr_now_ns();
	uint64_t end_ns = sr_ns_after(now_ns, timeout_ns);

	for (;;) {
		for (uint32_t i = 0; i < EMPTY_POLLS; i++) {
			if (outstanding_ready(session))
				return 0;
			sr_pause();
		}
		now_ns = sr_now_ns();
		if (attention(s, now_ns)) {
			s->empty_polls = 0; /* the next poll looks at everything */
			return 0;
		}
		if (now_ns >= end_ns)
			return -ETIME;
		if (s->wait == SR_WAIT_BLOCK && s->wait_fd >= 0)
			sleep_once(s, now_ns, end_ns);
		else if (s->wait != SR_WAIT_SPIN)
			(void)sched_yield();
	}
}
