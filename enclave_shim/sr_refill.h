/* SPDX-License-Identifier: MIT */
/*
 * sr_refill.h - a thread that keeps a pool of presignatures full.
 *
 * It steps while the pool wants it and sleeps for a millisecond otherwise. Its
 * stack is protected memory. Where it has to share a core with a polling loop it
 * runs at SCHED_IDLE, and lives on what that loop leaves it.
 */
#ifndef SR_REFILL_H
#define SR_REFILL_H

#include "sr_pool.h"

struct sr_refill;

SR_BEGIN_DECLS

/*
 * sr_refill_start - @pool is borrowed; nobody else may fill it from now on.
 *
 * @shares_core: run at SCHED_IDLE.
 * Returns 0; -ENOMEM or -ENOSYS (see sr_secret_alloc); -EAGAIN when there can be
 * no other thread.
 */
SR_WARN_UNUSED int sr_refill_start(struct sr_refill **refill, struct sr_pool *pool,
				   bool shares_core);

/* sr_refill_stop - returns when the thread has ended; NULL is legal. */
void sr_refill_stop(struct sr_refill *refill);

SR_END_DECLS

#endif /* SR_REFILL_H */
