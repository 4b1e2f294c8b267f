/* SPDX-License-Identifier: MIT */
/*
 * sr_doorbell.h - sleeping until the other side has done something.
 *
 * Blocking needs both sides: the waiter has a sleep flag in the region that he
 * writes, the publisher an eventfd to ring.
 *
 *	waiter                             publisher
 *	flag = 1                           publish (release)
 *	full fence                         full fence
 *	look again; nothing -> poll()      flag read; 1 -> write(eventfd)
 *	flag = 0
 *
 * Each side stores, fences and loads what the other stored, so at least one of
 * them sees the other's store (Dekker); no wake-up is lost. Publishers look at
 * the flag only in sessions that agreed on doorbells at attach: spinning pays
 * nothing.
 */
#ifndef SR_DOORBELL_H
#define SR_DOORBELL_H

#include "sr_base.h"

SR_BEGIN_DECLS

/* sr_doorbell_new - a non-blocking, close-on-exec eventfd, or -errno. */
SR_WARN_UNUSED int sr_doorbell_new(void);

/* sr_doorbell_ring - wake who waits on it; never blocks. */
void sr_doorbell_ring(int fd);

/* sr_doorbell_clear - take the rings that have come so far. */
void sr_doorbell_clear(int fd);

/* sr_doorbell_wait - sleep until it rings or time is up; may return early. */
void sr_doorbell_wait(int fd, uint64_t timeout_ns);

/*
 * sr_doorbell_publish - after a publish: ring if the peer sleeps.
 *
 * @sleeping: the peer's flag, in the region that he writes.
 * Wait-free but for the system call when he does sleep.
 */
static inline void sr_doorbell_publish(const uint32_t *sleeping, int fd)
{
	sr_fence_full(); /* our publish before our look at the flag */
	if (sr_load32_relaxed(sleeping))
		sr_doorbell_ring(fd);
}

/*
 * sr_doorbell_arm - before sleeping: then look once more, and only then wait.
 */
static inline void sr_doorbell_arm(uint32_t *sleeping)
{
	sr_store32_relaxed(sleeping, 1);
	sr_fence_full(); /* our flag before our second look */
}

static inline void sr_doorbell_disarm(uint32_t *sleeping)
{
	sr_store32_relaxed(sleeping, 0);
}

SR_END_DECLS

#endif /* SR_DOORBELL_H */
