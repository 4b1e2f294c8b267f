/* SPDX-License-Identifier: MIT */
/*
 * sr_post.h - what goes back and forth between the control thread and a signing thread.
 *
 * Tasks go there and come back, names of sessions that have settled come back: three
 * rings of one producer and one consumer each, without a lock. All tasks there are fit
 * into a ring, so that none is ever full. Neither end wakes the other: a signing thread
 * that sleeps is woken by the record that comes, and does its tasks before it looks at
 * that (sr_signer_feed()), so a right that was taken away is gone by then.
 */
#ifndef SR_POST_H
#define SR_POST_H

#include "sr_core.h"
#include "sr_mailbox.h"
#include "sr_task.h"

#define SR_POST_TASKS 66u    /* a task for each session that may wait, and some */
#define SR_POST_SETTLED 256u /* a power of two */

struct sr_post_settled {
	SR_ALIGNED(SR_LINE_BYTES) uint64_t head; /* written by the signing thread */
	SR_ALIGNED(SR_LINE_BYTES) uint64_t tail; /* written by the control thread */
	SR_ALIGNED(SR_LINE_BYTES) uint64_t tokens[SR_POST_SETTLED][2];
};

struct sr_post {
	struct sr_mailbox to;   /* the signing thread */
	struct sr_mailbox back; /* the control thread */
	struct sr_post_settled settled;

	/* The control thread's own. */
	struct sr_task *tasks; /* SR_POST_TASKS, in protected memory */
	uint32_t free[SR_POST_TASKS];
	uint32_t free_count;
	uint32_t out; /* handed over, not come back */
};

SR_BEGIN_DECLS

/* sr_post_new - 0, -ENOMEM, -ENOSYS (see sr_secret_alloc()). */
SR_WARN_UNUSED int sr_post_new(struct sr_post **post);

/* sr_post_delete - when both threads have ended. NULL is legal. */
void sr_post_delete(struct sr_post *post);

/* sr_post_locked_bytes - how much memory it locks. */
uint64_t sr_post_locked_bytes(void);

/* The control thread's end. */

/* sr_post_task - a wiped task, or NULL: all are out. */
struct sr_task *sr_post_task(struct sr_post *post);

/* sr_post_release - wipe a task of sr_post_task(); it can be taken again. */
void sr_post_release(struct sr_post *post, struct sr_task *task);

/* sr_post_send - hand a task over: of sr_post_task(), or one of somebody else's. */
void sr_post_send(struct sr_post *post, struct sr_task *task);

/* sr_post_back - one that was done, in the order of sending; NULL: there is none. */
struct sr_task *sr_post_back(struct sr_post *post);

/* sr_post_settled - see sr_core_settled(). */
bool sr_post_settled(struct sr_post *post, uint64_t token[2]);

/* The signing thread's end. */

/* sr_post_do - do what has been asked, if anything. */
void sr_post_do(struct sr_post *post, struct sr_core *core);

/* sr_post_waits - has anything been asked? Two loads. */
static inline bool sr_post_waits(const struct sr_post *post)
{
	/* Pairs with the release in sr_mailbox_put(). */
	return sr_load_relaxed(&post->to.tail) != sr_load_acquire(&post->to.head);
}

/* sr_post_tell - pass on which sessions have settled. */
void sr_post_tell(struct sr_post *post, struct sr_core *core);

SR_END_DECLS

#endif /* SR_POST_H */
