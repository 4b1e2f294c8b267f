/* SPDX-License-Identifier: MIT */
#include "sr_assert.h"
#include "sr_client.h"

/* How many numbers may follow the last one that the signer has answered. Further on,
 * one side's key could be two epochs behind the other's, and nothing would open. */
#define SILENCE_MAX ((1ull << SR_SEAL_EPOCH_SHIFT) - SR_DEPTH_MAX)

static int submit_check(struct sr_session_full *s)
{
	if (SR_UNLIKELY(sr_link_changed(s))) {
		int ret = sr_link_sync(s);

		if (ret < 0 && s->head.usable)
			return ret;
	}
	if (SR_UNLIKELY(s->head.usable != 1))
		return s->abandoned || s->ended || s->head.usable ? -ESTALE : -EPERM;
	if (SR_UNLIKELY(s->head.submitted - s->head.answered == s->head.depth)) {
		sr_store_relaxed(&s->stats.full, s->stats.full + 1);
		return -EAGAIN;
	}
	if (SR_UNLIKELY(s->secrets && s->head.submitted - s->opened > SILENCE_MAX)) {
		s->head.usable = SR_DRAINING;
		return -ESTALE;
	}
	return 0;
}

/* Seals the record where it lies. Its number is spent before that begins, so one that
 * cannot be sealed ends the session: it is never used again. */
static int seal(struct sr_session_full *s, uint64_t number, unsigned char *record)
{
	sr_put64(record, s->head.first + number);
	if (SR_LIKELY(!sr_seal_apply(&s->secrets->requests, number, record)))
		return 0;
	sr_session_abandon(&s->head);
	return -EIO;
}

/* The staging slot holds the body already; everything else is put around it. */
static int publish(struct sr_session_full *s, const struct sr_request *rq)
{
	unsigned char *record = s->staging;
	unsigned char *request = record + SR_SUB_BODY;
	uint64_t number = s->head.submitted;
	struct sr_pending *p = sr_pending_of(s, number);

	if (rq->body_bytes > s->head.body_bytes_max)
		return -EMSGSIZE;
	sr_put64(record + SR_SUB_DEADLINE, rq->deadline_ns);
	sr_put64(record + SR_SUB_KIND, s->secrets ? SR_KIND_SEALED : SR_KIND_UNSEALED);
	sr_put32(request + SR_REQ_KEY, rq->key);
	sr_put16(request + SR_REQ_TYPE, rq->type);
	sr_put16(request + SR_REQ_BODY_BYTES, rq->body_bytes);
	memset(request + SR_REQ_BODY + rq->body_bytes, 0,
	       s->head.body_bytes_max - rq->body_bytes);

	SR_DCHECK(number - s->head.answered < s->head.depth);
	if (s->secrets) {
		int ret = seal(s, number, record);

		if (SR_UNLIKELY(ret < 0))
			return ret;
	}
	p->user_data = rq->user_data;
	p->deadline_ns = rq->deadline_ns;
	p->terminal = false;
	if (rq->deadline_ns && rq->deadline_ns < s->deadline_min_ns)
		s->deadline_min_ns = rq->deadline_ns;
	s->reserved = false;
	s->head.submitted = number + 1;
	sr_store_relaxed(&s->stats.submitted, s->stats.submitted + 1);

	sr_slot_publish(&s->submission, s->head.first + number, record);
	sr_slot_ahead(&s->submission, s->head.first + number);
	if (s->ring_fd >= 0)
		sr_doorbell_publish(&s->beat->sleeping, s->ring_fd);
	if (s->secrets) {
		(void)sr_seal_step(&s->secrets->requests);
		s->seals_due = true;
	}
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
