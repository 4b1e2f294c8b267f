/* SPDX-License-Identifier: MIT */
/* The trading thread's end of its link with the cold one, see sr_client.h. */
#include "sr_client.h"

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
		s->base = next->base;
		s->head.submitted = next->base;
		s->head.answered = next->base;
		s->opened = 0;
		s->seals_due = s->secrets;
		s->tally = (struct sr_tally){ .accepted = next->base };
		s->deadline_min_ns = UINT64_MAX;
		s->ended = 0;
		s->abandoned = false;
		s->reserved = false;
		s->head.usable = 1;
		if (next->reopened)
			sr_store_relaxed(&s->stats.reopened, s->stats.reopened + 1);
		if (next->lied)
			sr_store_relaxed(&s->stats.agent_lied, s->stats.agent_lied + 1);
	} else if (next->lost) {
		sr_session_abandon(&s->head);
	}
}

void sr_session_adopt(struct sr_session_full *s)
{
	adopt(s, sr_load32_relaxed(&s->link));
}

int sr_link_sync(struct sr_session_full *s)
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

void sr_link_park(struct sr_session_full *s)
{
	uint32_t link = sr_load32_relaxed(&s->link);

	if ((link & 1) || sr_load32_relaxed(&s->parked) == link)
		return;
	s->parked_answered = s->head.answered;
	s->parked_submitted = s->head.submitted;
	sr_session_detach(s);
	/* Pairs with the acquire in sr_client_phase.c: session_parked(). */
	sr_store32_release(&s->parked, link);
}

/* Nothing of this session is opened or sealed any more. Overwrites keys, frees nothing. */
static void forget_keys(struct sr_session_full *s)
{
	if (!s->secrets)
		return;
	sr_seal_forget(&s->secrets->requests);
	sr_seal_forget(&s->secrets->replies);
	s->seals_due = false;
}

void sr_session_end(struct sr_session_full *s, int error)
{
	s->ended = error;
	s->head.usable = 0;
	forget_keys(s);
}

void sr_session_abandon(struct sr_session *session)
{
	struct sr_session_full *s = sr_full(session);

	if (!session->usable)
		return;
	s->abandoned = true;
	session->usable = 0;
	forget_keys(s);
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
	stats->forged = sr_load_relaxed(&from->forged);
	stats->agent_lied = sr_load_relaxed(&from->agent_lied);
}
