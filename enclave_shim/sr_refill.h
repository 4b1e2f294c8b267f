/* SPDX-License-Identifier: MIT */
/*
 * sr_refill.h - a thread that keeps a pool of presignatures full.
 *
 * It steps while the pool wants it and sleeps for a millisecond otherwise, or for a
 * second after a batch was thrown away. Its stack is protected memory. It keeps off
 * the CPU that a polling loop is pinned to; where every CPU has such a loop it runs
 * at SCHED_IDLE, and lives on what they leave it.
 */
#ifndef SR_REFILL_H
#define SR_REFILL_H

#include "sr_pool.h"

struct sr_refill;

SR_BEGIN_DECLS

/*
 * sr_refill_start - @pool is borrowed; nobody else may fill it from now on.
 *
 * @not_on_cpu:  where a polling loop is pinned; -1: nowhere, or it cannot be helped.
 * @shares_core: run at SCHED_IDLE.
 * Returns 0; -ENOMEM or -ENOSYS (see sr_secret_alloc); -EAGAIN when there can be
 * no other thread.
 */
SR_WARN_UNUSED int sr_refill_start(struct sr_refill **refill, struct sr_pool *pool,
				   int not_on_cpu, bool shares_core);

/* sr_refill_stop - returns when the thread has ended; NULL is legal. */
void sr_refill_stop(struct sr_refill *refill);

SR_END_DECLS

#endif /* SR_REFILL_H */
