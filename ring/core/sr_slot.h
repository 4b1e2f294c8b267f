/* SPDX-License-Identifier: MIT */
/*
 * sr_slot.h - one direction of a session: fixed slots in a shared region.
 *
 * One process publishes and one takes, each mapping the region where it likes,
 * so the region holds no pointers. Message n (0, 1, 2 ...) of a session whose
 * random start is `first` has the slot word `first + n`, mod 2^64, and lies in
 * slot `word mod depth`. A slot's first eight bytes are that word; there is no
 * shared head or tail. Slot words start at the word that will come, less the
 * depth, so fresh memory never looks published. The publisher writes slot n
 * only after message n - depth has been answered: the taker has nothing to hand
 * back, and neither side can overrun the other. A publisher that breaks this
 * spoils its own session and nothing else.
 *
 * The taker never writes. He looks at the word (one acquire load), copies the
 * record to private memory, and judges the copy: the publisher may rewrite a
 * slot at any time. Nothing here allocates, logs, blocks or touches errno.
 */
#ifndef SR_SLOT_H
#define SR_SLOT_H

#include "sr_base.h"

#define SR_SLOT_WORD_BYTES 8u
#define SR_SLOT_EXPECT_BYTES 384u /* fetched ahead at most, by the taker */
#define SR_SLOT_AHEAD 8u          /* slots, by the publisher */
#define SR_SLOT_AHEAD_BYTES 1024u /* of one, at most */

#define SR_DEPTH_DEFAULT 256u
#define SR_DEPTH_MIN 2u
#define SR_DEPTH_MAX 4096u

/* One direction of one session, as one process sees it. Private memory. */
struct sr_slots {
	unsigned char *base; /* slot 0; mapped read-only at the taker */
	uint64_t mask;       /* depth - 1; depth is a power of two */
	uint64_t slot_bytes; /* a multiple of SR_LINE_BYTES */
};

static inline unsigned char *sr_slot_at(const struct sr_slots *s, uint64_t word)
{
	return s->base + (word & s->mask) * s->slot_bytes;
}

/*
 * sr_slots_reset - set every word to what precedes message `next`.
 *
 * @s:    slots that no other process reads yet (or reads no more).
 * @word: slot word of the next message to be published.
 *
 * The region's magic, or the message that announces the session, is what
 * publishes these stores; they are relaxed.
 */
static inline void sr_slots_reset(const struct sr_slots *s, uint64_t word)
{
	for (uint64_t i = 0; i <= s->mask; i++)
		sr_store_relaxed((uint64_t *)(void *)sr_slot_at(s, word + i),
				 word + i - (s->mask + 1));
}

/*
 * sr_slot_publish - write one record and make it visible.
 *
 * @s:            the publisher's slots.
 * @word:         slot word of this message; message n - depth was answered.
 * @record:       private memory, s->slot_bytes long; its first eight bytes,
 *                where the word goes, are not read.
 *
 * The lines behind the first are written before it, so that the line that the
 * taker polls changes hands once. Wait-free: one copy, one release store of
 * eight bytes, which pairs with the acquire in sr_slot_look().
 */
static inline void sr_slot_publish(const struct sr_slots *s, uint64_t word,
				   const unsigned char *record)
{
	unsigned char *slot = sr_slot_at(s, word);

	memcpy(slot + 64, record + 64, s->slot_bytes - 64);
	memcpy(slot + SR_SLOT_WORD_BYTES, record + SR_SLOT_WORD_BYTES, 64 - SR_SLOT_WORD_BYTES);
	sr_store_release((uint64_t *)(void *)slot, word);
}

/*
 * sr_slot_ahead - after a publish: fetch a slot that comes soon.
 *
 * A session's slots are more than the nearest cache holds, and what was written a lap
 * ago has left it. Fetched to be read, for to own it now would take it from a taker
 * who is not through with it. A hint that changes nothing: it saves a fifth of the
 * time of records in a row, and of a round trip of 1 KiB.
 */
__attribute__((always_inline)) /* as below */
static inline void sr_slot_ahead(const struct sr_slots *s, uint64_t word)
{
	const unsigned char *slot = sr_slot_at(s, word + SR_SLOT_AHEAD);
	uint64_t end = s->slot_bytes < SR_SLOT_AHEAD_BYTES ? s->slot_bytes : SR_SLOT_AHEAD_BYTES;

	for (uint64_t at = 0; at < end; at += 64)
		__builtin_prefetch(slot + at, 0, 3);
}

/*
 * sr_slot_look - has the message with this word been published?
 *
 * Returns 0; -EAGAIN when it is not there yet; -EPROTO when the slot holds
 * neither this message nor the one before it, after which the session must
 * not be used. Wait-free: one acquire load.
 */
static inline int sr_slot_look(const struct sr_slots *s, uint64_t word)
{
	/* Pairs with the release store that ends sr_slot_publish(). */
	uint64_t seen = sr_load_acquire((const uint64_t *)(const void *)sr_slot_at(s, word));

	if (SR_LIKELY(seen == word))
		return 0;
	return seen == word - (s->mask + 1) ? -EAGAIN : -EPROTO;
}

/*
 * sr_slot_expect - after an empty look, where one is waited for: fetch the rest.
 *
 * The publisher writes the lines behind the first before it, and takes them from
 * our cache when he does. Fetched again at once, they come over together with the
 * first line, not after it: a third of a round trip. A hint that changes nothing.
 * It costs an empty look some 2 ns, and a sweep over many sessions its cache, so
 * it is for one session or a few. Of a long slot it fetches what a default one has.
 *
 * Inlined by force: gcc takes a function of prefetches alone for one without an
 * effect, and drops the call.
 */
__attribute__((always_inline))
static inline void sr_slot_expect(const struct sr_slots *s, uint64_t word)
{
	const unsigned char *slot = sr_slot_at(s, word);
	uint64_t end = s->slot_bytes < SR_SLOT_EXPECT_BYTES ? s->slot_bytes : SR_SLOT_EXPECT_BYTES;

	for (uint64_t at = 64; at < end; at += 64)
		__builtin_prefetch(slot + at, 0, 3);
}

/*
 * sr_slot_copy - copy a published record to private memory, after a look.
 *
 * @record: s->slot_bytes of private memory. Its word is from our own count, whatever
 *          the slot says by now; copied whole, for lines that begin where the
 *          record's do go over in half as many pieces. Judge this copy, never the slot.
 */
static inline void sr_slot_copy(const struct sr_slots *s, uint64_t word, unsigned char *record)
{
	const unsigned char *slot = sr_slot_at(s, word);

	memcpy(record, slot, s->slot_bytes);
	sr_put64(record, word);
}

#endif /* SR_SLOT_H */
