/* SPDX-License-Identifier: MIT */
#include "sr_agent_session.h"

#include <sched.h>

#include "sr_assert.h"

/* The attach thread never waits for us, so it drains its mailbox in the end, and
 * nothing is dropped. */
void sr_agent_tell(struct sr_agent *a, enum sr_agent_mail kind, void *object, uint32_t value)
{
	struct sr_mail mail = { (uint32_t)kind, value, object };

	while (sr_mailbox_put(&a->to_attach, mail) < 0) {
		if (sr_load32_relaxed(&a->stopping))
			return;
		(void)sched_yield();
	}
	sr_doorbell_ring(a->wake_fd);
}

/* ---- completions ---- */

void sr_agent_publish(struct sr_agent *a, struct sr_agent_session *s, uint64_t n,
		      const unsigned char record[SR_CMP_BYTES])
{
	SR_DCHECK(n - s->first_open < s->depth && !sr_agent_number_done(s, n));
	sr_slot_publish(&s->completion, s->first + n, record);
	sr_slot_ahead(&s->completion, s->first + n);
	if (s->ring_fd >= 0)
		sr_doorbell_publish(&s->client_block->sleeping, s->ring_fd);
	s->done[n & (s->depth - 1)] = 1;
	while (s->done[s->first_open & (s->depth - 1)]) {
		s->done[s->first_open & (s->depth - 1)] = 0;
		s->first_open++;
	}
	sr_agent_count(&s->block->answered, 1);
	sr_agent_count(&a->counters.replies, 1);
}

void sr_agent_give(struct sr_agent *a, struct sr_agent_session *s, uint64_t n,
		   enum sr_status status)
{
	unsigned char record[SR_CMP_BYTES] = { 0 };

	record[SR_CMP_KIND] = SR_KIND_AGENT;
	record[SR_CMP_STATUS] = (unsigned char)status;
	sr_agent_publish(a, s, n, record);
	sr_agent_count(&s->block->given, 1);
	sr_agent_count(status == SR_EXPIRED ? &a->counters.expired : &a->counters.given, 1);
}

/* ---- sessions ---- */

void sr_agent_set_state(struct sr_agent_session *s, enum sr_link_state state)
{
	sr_store32_relaxed(&s->block->state, (uint32_t)state);
}

void sr_agent_unroute(struct sr_agent *a, const struct sr_agent_session *s)
{
	if (s->id && a->loop.route[SR_SESSION_INDEX(s->id)] == s)
		a->loop.route[SR_SESSION_INDEX(s->id)] = NULL;
}

void sr_agent_condemn(struct sr_agent *a, struct sr_agent_session *s)
{
	s->phase = SR_AGENT_HOSTILE;
	sr_agent_tell(a, SR_MAIL_HOSTILE, s, 0);
}

void sr_agent_lose(struct sr_agent *a, struct sr_agent_session *s)
{
	uint64_t end = s->first_open + s->depth;
	uint64_t n;

	sr_agent_unroute(a, s);
	s->id = 0;
	s->phase = SR_AGENT_LOST;
	for (n = s->first_open; n != end; n++) {
		int ret;

		if (sr_agent_number_done(s, n))
			continue;
		ret = sr_slot_look(&s->submission, s->first + n);
		if (ret == -EPROTO) {
			sr_agent_condemn(a, s);
			return;
		}
		if (ret == -EAGAIN)
			break;
		sr_agent_give(a, s, n, n < s->forwarded_max ? SR_UNKNOWN : SR_NOT_SENT);
	}
	s->next_send = n > s->first_open ? n : s->first_open;
	sr_agent_set_state(s, SR_LINK_LOST);
	sr_agent_tell(a, SR_MAIL_LOST, s, 0);
}

static void remove_session(struct sr_agent *a, struct sr_agent_session *s)
{
	struct sr_agent_loop *l = &a->loop;
	unsigned int class = s->flags & SR_OPEN_PRIORITY ? 0 : 1;

	for (uint32_t i = 0; i < l->session_count[class]; i++)
		if (l->sessions[class][i] == s) {
			l->sessions[class][i] = l->sessions[class][--l->session_count[class]];
			break;
		}
	sr_agent_unroute(a, s);
	s->held = false;
}

void sr_agent_return_session(struct sr_agent *a, struct sr_agent_session *s)
{
	if (s->held)
		remove_session(a, s);
	sr_agent_tell(a, SR_MAIL_CLOSED, s, 0);
}

void sr_agent_refuse_session(struct sr_agent *a, struct sr_agent_session *s,
			     enum sr_attach_result result)
{
	remove_session(a, s);
	sr_agent_tell(a, SR_MAIL_OPENED, s, result);
}
