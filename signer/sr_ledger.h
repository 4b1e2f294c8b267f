/* SPDX-License-Identifier: MIT */
/*
 * sr_ledger.h - the numbers of one session: what became of each, and the answers.
 *
 * Numbers rise strictly. One that was skipped is void from then on. The last
 * `depth` records are kept as they came, each with its reply as it left, so that a
 * record that comes again gets the same bytes. What lies further behind is
 * forgotten.
 *
 * A ledger holds bytes and judges nothing: whether a record may be entered is for
 * its session to say. All of them are allocated together at the start, and every
 * page is touched there, so that none is first touched by an order. One thread.
 */
#ifndef SR_LEDGER_H
#define SR_LEDGER_H

#include "sr_base.h"
#include "sr_record.h"

/* An agent that was held up answers any number of requests EXPIRED by itself, so
 * a gap may be longer than a session is deep; this only tells ahead from behind. */
#define SR_GAP_MAX (1ull << 32)

/* What is known of a number. */
enum sr_fate {
	SR_FATE_FORGOTTEN = 0, /* before the session's start, or too far behind */
	SR_FATE_SKIPPED = 1,   /* void, and has not arrived yet */
	SR_FATE_ANSWERED = 2,  /* record and reply are kept */
	SR_FATE_AHEAD = 3,     /* not seen yet */
};

/* One session's. The fields are private, but for next. */
struct sr_ledger {
	uint64_t next; /* one more than the highest number that was entered or passed */
	uint32_t depth;
	uint32_t record_bytes;
	uint32_t place_bytes;
	unsigned char *kept;  /* a place a number: its reply, then its record */
	unsigned char *fates; /* enum sr_fate of each place */
};

struct sr_ledgers;

SR_BEGIN_DECLS

/*
 * sr_ledgers_new - allocate @count ledgers for sessions of any allowed size:
 * count * depth_max * (record_bytes_max + 128) bytes.
 *
 * @depth_max: a power of two. Returns 0; -ENOMEM.
 */
SR_WARN_UNUSED int sr_ledgers_new(struct sr_ledgers **ledgers, uint32_t count, uint32_t depth_max,
				  uint32_t record_bytes_max);
void sr_ledgers_delete(struct sr_ledgers *ledgers); /* NULL is legal */

/*
 * sr_ledgers_take - an empty ledger, the session's until it is given back.
 *
 * @depth:        a power of two, at most depth_max.
 * @record_bytes: at most record_bytes_max.
 * @next:         the session's first number; what lies before it is forgotten.
 *
 * Returns NULL when all are in use.
 */
struct sr_ledger *sr_ledgers_take(struct sr_ledgers *ledgers, uint32_t depth,
				  uint32_t record_bytes, uint64_t next);
void sr_ledgers_give_back(struct sr_ledgers *ledgers, struct sr_ledger *ledger);

/* sr_ledger_fate - of any number. Arithmetic is mod 2^64: no wrap matters. */
enum sr_fate sr_ledger_fate(const struct sr_ledger *ledger, uint64_t n);

/* sr_ledger_skip_to - everything before n, which is ahead or next, is void. */
void sr_ledger_skip_to(struct sr_ledger *ledger, uint64_t n);

/*
 * sr_ledger_enter - keep a record; its number is answered from now on.
 *
 * @n: skipped, or ahead; then everything before it is void.
 *
 * Returns the place of its reply, SR_CMP_BYTES of zeros, to be written at once.
 */
unsigned char *sr_ledger_enter(struct sr_ledger *ledger, uint64_t n, const unsigned char *record);

/* sr_ledger_record, sr_ledger_reply - what is kept of an answered number. */
const unsigned char *sr_ledger_record(const struct sr_ledger *ledger, uint64_t n);
const unsigned char *sr_ledger_reply(const struct sr_ledger *ledger, uint64_t n);

/* sr_ledger_repeats - is it, tag and all, the record that was answered as n? */
bool sr_ledger_repeats(const struct sr_ledger *ledger, uint64_t n, const unsigned char *record);

SR_END_DECLS

#endif /* SR_LEDGER_H */
