/* SPDX-License-Identifier: MIT */
/*
 * sr_tally.h - the signer's count of requests against ours.
 *
 * Each sealed reply says how many requests of its session the signer has accepted,
 * this one included: numbers rise, so that count is of this number and those before
 * it. Of each of those we know what became of it. OK, DENIED and BAD_REQUEST were
 * accepted; VOID, EXPIRED, NOT_SENT and SESSION_LOST say that it was not; UNKNOWN
 * leaves it open. An agent that forwards a request and calls it EXPIRED, or the
 * reverse, makes a count that does not fit, and cannot change it: the reply is sealed.
 *
 * One thread's own. Pure arithmetic.
 */
#ifndef SR_TALLY_H
#define SR_TALLY_H

#include "sr_base.h"

struct sr_tally {
	uint64_t accepted; /* as the last reply that counted has said */
	uint64_t unsure;   /* numbers behind that one that may have been accepted */
};

/* sr_tally_unsure - nobody knows what became of @count requests. */
static inline void sr_tally_unsure(struct sr_tally *t, uint64_t count)
{
	t->unsure += count;
}

/* sr_tally_reply - a reply to a request that was accepted. False: it does not fit. */
static inline bool sr_tally_reply(struct sr_tally *t, uint64_t accepted)
{
	if (accepted - t->accepted - 1 > t->unsure)
		return false; /* below is far above, mod 2^64 */
	t->accepted = accepted;
	t->unsure = 0;
	return true;
}

/*
 * sr_tally_void - a reply to a number that came after a higher one.
 *
 * @later: how many higher ones there are: they may be in the count. So it says less
 * than one that was in order, and nothing is learned from it.
 */
static inline bool sr_tally_void(const struct sr_tally *t, uint64_t accepted, uint64_t later)
{
	return accepted - t->accepted <= t->unsure + later;
}

/* sr_tally_final - the count of a session that has ended. */
static inline bool sr_tally_final(const struct sr_tally *t, uint64_t accepted)
{
	return accepted - t->accepted <= t->unsure;
}

#endif /* SR_TALLY_H */
