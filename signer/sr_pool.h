/* SPDX-License-Identifier: MIT */
/*
 * sr_pool.h - presignatures that wait to be used, once each.
 *
 * A ring in protected memory with one taker, the signing thread that the pool
 * belongs to, and one filler: a thread of its own, or the signing thread when it
 * has nothing else to do. They share two counters, one writer each. Indices and
 * slots lie in memory that a forked child finds wiped, so a child has no
 * presignature and no place that it could be at; nothing is ever written out, and
 * nothing taken is given back.
 *
 * A use that repeats is the one mistake that costs the key: two signatures with
 * one k are two equations with two unknowns. Hence take = advance, copy, wipe,
 * and only then compute: whatever dies in between loses a presignature, never
 * repeats it. docs/signing.md says what this cannot help against: a snapshot of
 * the whole machine, started twice.
 */
#ifndef SR_POOL_H
#define SR_POOL_H

#include "sr_base.h"
#include "sr_entropy.h"
#include "sr_presign.h"

#define SR_POOL_SLOTS_MIN 16u
#define SR_POOL_SLOTS_MAX 262144u

struct sr_pool;

struct sr_pool_config {
	const struct sr_entropy *entropy; /* borrowed; the filler calls it */
	uint32_t slots; /* a power of two, SR_POOL_SLOTS_MIN .. SR_POOL_SLOTS_MAX */
	uint32_t low;   /* filling begins below this depth, at which a batch must fit; from 1 */
	uint32_t batch; /* 2 .. SR_BATCH_MAX, at most slots */
};

/* Since the start, but for the first two. */
struct sr_pool_stats {
	uint64_t depth;  /* presignatures that wait */
	uint64_t slots;
	uint64_t taken;
	uint64_t refilled;
	uint64_t dry;    /* takes that found none */
	uint64_t failed; /* batches thrown away: a check or the entropy source failed */
};

SR_BEGIN_DECLS

/*
 * sr_pool_new - an empty pool; 192 bytes of locked memory a slot.
 *
 * Returns 0; -EINVAL; -ENOMEM (memlock limit?) or -ENOSYS (see sr_secret_alloc);
 * as sr_batch_new().
 */
SR_WARN_UNUSED int sr_pool_new(struct sr_pool **pool, const struct sr_pool_config *config);
void sr_pool_delete(struct sr_pool *pool); /* NULL is legal; wipes */

/*
 * sr_pool_take - the taker: move one presignature out.
 *
 * @presig: out, in protected memory; its slot reads as zeroes when this returns.
 * Returns 0; -EAGAIN when there is none (counted, and @presig is wiped); -EPERM
 * in a forked child. Wait-free; no allocation, no system call.
 */
SR_WARN_UNUSED int sr_pool_take(struct sr_pool *pool, struct sr_presig *presig);

/*
 * sr_pool_step - the filler: one bounded piece of work (see sr_batch.h).
 *
 * Returns 1 when a piece was done; 0 when nothing is wanted: the pool is above
 * its low-water mark and was not being filled; -EIO and others of sr_batch_step()
 * when a batch was thrown away (counted; the next call begins another, but what has
 * failed may fail again: let a second pass); -EPERM in a forked child.
 */
SR_WARN_UNUSED int sr_pool_step(struct sr_pool *pool);

/* sr_pool_fill - the filler: step until full. Returns 0 or what a step returned. */
SR_WARN_UNUSED int sr_pool_fill(struct sr_pool *pool);

/* sr_pool_stats_get - any thread; each number is whole, all of them are not one
 * moment's. */
void sr_pool_stats_get(const struct sr_pool *pool, struct sr_pool_stats *stats);

SR_END_DECLS

#endif /* SR_POOL_H */
