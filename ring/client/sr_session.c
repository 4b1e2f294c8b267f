/* SPDX-License-Identifier: MIT */
#include <sched.h>
#include <unistd.h>

#include "sr_assert.h"
#include "sr_client.h"
#include "sr_clock.h"

/* How many empty polls share one look at the clock and at the agent. */
#define EMPTY_POLLS 32u
/* A sleeping thread looks at the agent this often. */
#define SLEEP_NS_MAX (50u * SR_NS_PER_MS)
/* head.usable of a session that is lost and whose completions are still polled. */
#define DRAINING 2u

static struct sr_pending *pending_of(struct sr_session_full *s, uint64_t number)
{
	return &s->pending[number & (s->head.depth - 1)];
}

/* Take over what the cold thread prepared: the link has come up. */
static void adopt(struct sr_session_full *s, uint32_t link)
{
	const struct sr_link_next *next = &s->next;

	s->link_seen = link;
	s->head.completion = next->completion;
	s->beat = next->beat;
	s->agent_block = next->block;
	s->wait_fd = next->wait_fd;
	s->ring_fd = next->ring_fd;
	s->verdict = 0;
	if (next->fresh) {
		s->head.first = next->first;
		s->head.submitted = 0;
		s->head.answered = 0;
		s->deadline_min_ns = UINT64_MAX;
		s->broken = false;
		s->abandoned = false;
		s->reserved = false;
		s->head.usable = 1;
		if (next->reopened)
			sr_store_relaxed(&s->stats.reopened, s->stats.reopened + 1);
	} else if (next->lost) {
		sr_session_abandon(&s->head);
	}
}

void sr_session_adopt(struct sr_session_full *s)
{
	adopt(s, sr_load32_relaxed(&s->link));
}

static bool link_changed(const struct sr_session_full *s)
{
	/* Pairs with the releases in sr_client_attach.c: link_down(), link_up(). */
	return sr_load32_acquire(&s->link) != s->link_seen;
}

/* Returns 0 when the link is up (adopting a new one), else -ENOTCONN. */
static int link_sync(struct sr_session_full *s)
{
	uint32_t link = sr_load32_acquire(&s->link);

	if (!(link & 1))
		return -ENOTCONN;
	if (link != s->link_seen)
		adopt(s, link);
	return 0;
}

/* Looks at the one private slot find it empty, whatever the old region, which
 * may be unmapped any moment now, goes on to hold. */
void sr_session_detach(struct sr_session_full *s)
{
	s->nothing.word = s->head.first + s->head.answered - 1;
	s->head.completion = (struct sr_slots){ (unsigned char *)&s->nothing, 0, SR_LINE_BYTES };
	s->beat = NULL;
	s->agent_block = NULL;
	s->wait_fd = -1;
	s->ring_fd = -1;
}

static void park(struct sr_session_full *s)
{
	uint32_t link = sr_load32_relaxed(&s->link);

	if ((link & 1) || sr_load32_relaxed(&s->parked) == link)
		return;
	s->parked_answered = s->head.answered;
	s->parked_submitted = s->head.submitted;
	sr_session_detach(s);
	/* Pairs with the acquire in sr_client_attach.c: session_parked(). */
	sr_store32_release(&s->parked, link);
}

static int submit_check(struct sr_session_full *s)
{
	if (SR_UNLIKELY(link_changed(s))) {
		int ret = link_sync(s);

		if (ret < 0 && s->head.usable)
			return ret;
	}
	if (SR_UNLIKELY(s->head.usable != 1))
		return s->abandoned || s->broken || s->head.usable ? -ESTALE : -EPERM;
	if (SR_UNLIKELY(s->head.submitted - s->head.answered == s->head.depth)) {
		sr_store_relaxed(&s->stats.full, s->stats.full + 1);
		return -EAGAIN;
	}
	return 0;
}

/* The staging slot holds the body already; everything else is put around it. */
static int publish(struct sr_session_full *s, const struct sr_request *rq)
{
	unsigned char *record = s->staging;
	unsigned char *request = record + SR_SUB_BODY;
	uint64_t number = s->head.submitted;
	struct sr_pending *p = pending_of(s, number);

	if (rq->body_bytes > s->head.body_bytes_max)
		return -EMSGSIZE;
	sr_put64(record + SR_SUB_DEADLINE, rq->deadline_ns);
	sr_put64(record + SR_SUB_KIND, SR_KIND_UNSEALED);
	sr_put32(request + SR_REQ_KEY, rq->key);
	sr_put16(request + SR_REQ_TYPE, rq->type);
	sr_put16(request + SR_REQ_BODY_BYTES, rq->body_bytes);
	memset(request + SR_REQ_BODY + rq->body_bytes, 0,
	       s->head.body_bytes_max - rq->body_bytes);

	SR_DCHECK(number - s->head.answered < s->head.depth);
	p->user_data = rq->user_data;
	p->deadline_ns = rq->deadline_ns;
	p->terminal = false;
	if (rq->deadline_ns && rq->deadline_ns < s->deadline_min_ns)
		s->deadline_min_ns = rq->deadline_ns;
	s->reserved = false;
	s->head.submitted = number + 1;
	sr_store_relaxed(&s->stats.submitted, s->stats.submitted + 1);

	sr_slot_publish(&s->submission, s->head.first + number, record);
	if (s->ring_fd >= 0)
		sr_doorbell_publish(&s->beat->sleeping, s->ring_fd);
	return 0;
}

int sr_submit(struct sr_session *session, const struct sr_request *request)
{
	struct sr_session_full *s = sr_full(session);
	int ret = submit_check(s);

	if (SR_UNLIKELY(ret < 0))
		return ret;
	if (SR_UNLIKELY(request->body_bytes > session->body_bytes_max))
		return -EMSGSIZE;
	if (request->body_bytes)
		memcpy(s->staging + SR_SUB_BODY + SR_REQ_BODY, request->body, request->body_bytes);
	return publish(s, request);
}

int sr_submit_many(struct sr_session *session, const struct sr_request *requests, int count)
{
	int done = 0;
	int ret = 0;

	while (done < count && (ret = sr_submit(session, &requests[done])) == 0)
		done++;
	return done ? done : ret;
}

int sr_reserve(struct sr_session *session, void **body)
{
	struct sr_session_full *s = sr_full(session);
	int ret = submit_check(s);

	if (ret < 0)
		return ret;
	s->reserved = true;
	*body = s->staging + SR_SUB_BODY + SR_REQ_BODY;
	return 0;
}

int sr_commit(struct sr_session *session, const struct sr_request *request)
{
	struct sr_session_full *s = sr_full(session);
	int ret;

	if (!s->reserved)
		return -EINVAL;
	ret = submit_check(s);
	return ret < 0 ? ret : publish(s, request);
}

static void give(struct sr_session_full *s, struct sr_completion *out, uint64_t number,
		 enum sr_status status)
{
	memset(out, 0, sizeof *out);
	out->number = number;
	out->user_data = pending_of(s, number)->user_data;
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
		s->head.usable = DRAINING;
}

/* A reply of the signer; false when it is not one. */
static bool decode_reply(struct sr_completion *out, const unsigned char *record)
{
	const unsigned char *reply = record + SR_CMP_BODY;
	uint16_t status = sr_get16(reply + SR_REP_STATUS);

	if (status > SR_VOID)
		return false;
	out->status = status;
	out->policy = sr_get16(reply + SR_REP_POLICY);
	out->venue_nonce = sr_get64(reply + SR_REP_NONCE);
	out->accepted = sr_get64(reply + SR_REP_ACCEPTED);
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

/* Pops the completion that sr_slot_look() has seen. Returns how many of @out it
 * wrote: 0 for one that was answered by a time-out before. */
static int pop(struct sr_session_full *s, struct sr_completion *out)
{
	unsigned char record[SR_CMP_BYTES];
	uint64_t number = s->head.answered;
	struct sr_pending *p = pending_of(s, number);

	sr_slot_copy(&s->head.completion, s->head.first + number, record);
	s->head.answered = number + 1;
	if (SR_UNLIKELY(p->terminal)) {
		sr_store_relaxed(&s->stats.swallowed, s->stats.swallowed + 1);
		return 0;
	}
	give(s, out, number, SR_UNKNOWN);
	if (record[SR_CMP_KIND] == SR_KIND_AGENT)
		take_agent_status(s, out, record[SR_CMP_STATUS]);
	else if (record[SR_CMP_KIND] == SR_KIND_UNSEALED && decode_reply(out, record) &&
		 p->deadline_ns && out->status == SR_OK && sr_now_ns() > p->deadline_ns)
		withhold_late(s, out);
	return 1;
}

/* Completes, by our own word, what is outstanding and @due at @now_ns. */
static int give_unknown(struct sr_session_full *s, struct sr_completion *out, int max,
			uint64_t now_ns, bool all)
{
	uint64_t earliest = UINT64_MAX;
	int n = 0;

	for (uint64_t i = s->head.answered; i != s->head.submitted; i++) {
		struct sr_pending *p = pending_of(s, i);

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

	if (!s->abandoned && !s->broken)
		return -EPERM; /* a fork poisoned it */
	n = give_unknown(s, out, max, 0, true);
	if (n)
		return n;
	s->head.answered = s->head.submitted;
	if (link_changed(s)) {
		park(s);
		if (link_sync(s) == 0 && s->head.usable)
			return 0; /* opened again */
	}
	/* Pairs with the acquire in sr_client_attach.c: session_dead(). */
	sr_store32_release(&s->dead, s->link_seen);
	return s->broken ? -EPROTO : -ESTALE;
}

/* The agent says in its block that the session is lost. Everything has been
 * answered when nothing is outstanding; until then its answers are on the way. */
static bool lost_and_drained(const struct sr_session_full *s)
{
	return s->head.answered == s->head.submitted &&
	       (s->head.usable == DRAINING ||
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

	if (SR_UNLIKELY(link_changed(s))) {
		park(s); /* no more will come in the region that we know */
		if (link_sync(s) == 0)
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
	if (s->link_seen & 1 && !link_changed(s)) {
		if (lost_and_drained(s)) {
			sr_session_abandon(&s->head);
			return -ESTALE;
		}
		s->verdict = heartbeat_stale(s, now_ns) ? -ENOTCONN : 0;
	}
	return s->verdict;
}

int sr_poll(struct sr_session *session, struct sr_completion *out, int max)
{
	struct sr_session_full *s = sr_full(session);
	int n = 0;

	if (max <= 0)
		return 0;
	if (SR_UNLIKELY(!session->usable))
		return poll_dead(s, out, max);
	while (n < max && session->answered != session->submitted) {
		int ret = sr_slot_look(&session->completion, session->first + session->answered);

		if (ret == -EAGAIN) {
			sr_slot_expect(&session->completion, session->first + session->answered);
			break;
		}
		if (SR_UNLIKELY(ret < 0)) {
			s->broken = true;
			session->usable = 0;
			return n ? n : poll_dead(s, out, max);
		}
		n += pop(s, &out[n]);
	}
	return n ? n : poll_empty(s, out, max);
}

/* Would sr_poll() have something to say, other than 0? */
static bool attention(struct sr_session_full *s, uint64_t now_ns)
{
	return !s->head.usable || link_changed(s) || s->verdict || now_ns >= s->deadline_min_ns ||
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

void sr_session_abandon(struct sr_session *session)
{
	struct sr_session_full *s = sr_full(session);

	if (!session->usable)
		return;
	s->abandoned = true;
	session->usable = 0;
}

void sr_session_stats_get(const struct sr_session *session, struct sr_session_stats *stats)
{
	const struct sr_session_stats *from =
		&((const struct sr_session_full *)(const void *)session)->stats;

	stats->submitted = sr_load_relaxed(&from->submitted);
	stats->completed = sr_load_relaxed(&from->completed);
	stats->full = sr_load_relaxed(&from->full);
	stats->swallowed = sr_load_relaxed(&from->swallowed);
	stats->late = sr_load_relaxed(&from->late);
	stats->reopened = sr_load_relaxed(&from->reopened);
}
