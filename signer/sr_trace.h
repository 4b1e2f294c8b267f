/* SPDX-License-Identifier: MIT */
/*
 * sr_trace.h - when each record was where: a ring of stamps beside the records.
 *
 * For measuring, and off unless a signer was started with it. No record grows: an entry
 * names its record by the slot word, which the client knows as well, and is read over an
 * operator's conversation (sr_command.h) when the measuring is over. The oldest entries
 * are written over.
 *
 * The signer has no clock, so whoever starts it brings one; what its numbers mean is for
 * who reads them (sr_counter.h). Nothing here is secret, but it tells to the nanosecond
 * how long each step took, which an attacker who only measures from outside does not
 * learn: so only operators read it.
 *
 * The signing thread's own. Without a trace (NULL) a stamp is one test of a pointer.
 */
#ifndef SR_TRACE_H
#define SR_TRACE_H

#include "sr_base.h"

#define SR_TRACE_SLOTS_MIN 16u
#define SR_TRACE_SLOTS_MAX (1u << 21)

/* Moments of a record, in the order in which they pass. Numbers are ABI. */
enum sr_trace_moment {
	SR_TRACE_RECEIVED = 0, /* the bytes that hold its end came from the stream */
	SR_TRACE_BEGUN = 1,    /* its turn has come */
	SR_TRACE_OPENED = 2,   /* it is authentic, and its text is here */
	SR_TRACE_POLICY = 3,   /* it may be signed */
	SR_TRACE_DIGEST = 4,   /* what is signed is known */
	SR_TRACE_SIGNED = 5,   /* and checked */
	SR_TRACE_SEALED = 6,   /* its reply is ready to be written */
	SR_TRACE_MOMENTS
};

/* One record; a moment that did not come (a denial, say) is 0. */
struct sr_trace_entry {
	uint64_t seq; /* slot word */
	uint64_t at[SR_TRACE_MOMENTS];
};

SR_STATIC_ASSERT(sizeof(struct sr_trace_entry) == 64, "an entry is a line");

struct sr_trace_config {
	uint32_t slots; /* a power of two, SR_TRACE_SLOTS_MIN .. _MAX; 0: no trace */
	uint64_t (*now)(void *arg);
	void *arg;
};

struct sr_trace {
	struct sr_trace_config config;
	uint64_t count; /* entries ever made */
	struct sr_trace_entry *entries;
	struct sr_trace_entry current;
};

/* Some entries, for who reads: up to @room of them, from number @from on. */
struct sr_trace_piece {
	uint64_t from;  /* in: the first that is wanted; out: the first that is here */
	uint64_t next;  /* out: of the entry that will be made next */
	uint32_t slots; /* out */
	uint32_t room;
	uint32_t count; /* out */
	struct sr_trace_entry *entries;
};

SR_BEGIN_DECLS

/* sr_trace_new - all of it is allocated and touched here. 0 with *trace set; -EINVAL;
 * -ENOMEM. */
SR_WARN_UNUSED int sr_trace_new(struct sr_trace **trace, const struct sr_trace_config *config);
void sr_trace_delete(struct sr_trace *trace); /* NULL is legal */

/* sr_trace_read - copies entries. Of those written over nothing is left: @from moves up
 * then. Bounded by @room. */
void sr_trace_read(const struct sr_trace *trace, struct sr_trace_piece *piece);

/* sr_trace_now - what time it is; 0 without a trace. */
static inline uint64_t sr_trace_now(const struct sr_trace *t)
{
	return SR_UNLIKELY(t != NULL) ? t->config.now(t->config.arg) : 0;
}

/* sr_trace_stamp - the current record has come to a moment. */
static inline void sr_trace_stamp(struct sr_trace *t, enum sr_trace_moment moment)
{
	if (SR_UNLIKELY(t != NULL))
		t->current.at[moment] = t->config.now(t->config.arg);
}

/* sr_trace_begin - a record's turn has come, which was received @received. */
static inline void sr_trace_begin(struct sr_trace *t, uint64_t received)
{
	if (SR_LIKELY(t == NULL))
		return;
	memset(&t->current, 0, sizeof t->current);
	t->current.at[SR_TRACE_RECEIVED] = received;
	sr_trace_stamp(t, SR_TRACE_BEGUN);
}

/* sr_trace_end - it has a reply: the entry is kept. */
static inline void sr_trace_end(struct sr_trace *t, uint64_t seq)
{
	if (SR_LIKELY(t == NULL))
		return;
	t->current.seq = seq;
	t->entries[t->count++ & (t->config.slots - 1)] = t->current;
}

SR_END_DECLS

#endif /* SR_TRACE_H */
