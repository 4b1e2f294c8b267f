/* SPDX-License-Identifier: MIT */
/*
 * sr_wait.h - how a loop passes the time until the other side has done something.
 *
 * Spinning pays nothing on either side. Blocking needs both sides: the waiter
 * has a sleep flag in the region that he writes, the publisher an eventfd to ring.
 *
 *	waiter                             publisher
 *	flag = 1                           publish (release)
 *	full fence                         full fence
 *	look again; nothing -> poll()      flag read; 1 -> write(eventfd)
 *	flag = 0
 *
 * Each side stores, fences and loads what the other stored, so at least one of
 * them sees the other's store (Dekker); no wake-up is lost. Publishers look at
 * the flag only in sessions that agreed on doorbells at attach.
 */
#ifndef SR_WAIT_H
#define SR_WAIT_H

#include "sr_base.h"

enum sr_wait_policy {
	SR_WAIT_AUTO = 0,  /* spin with a core to itself, else yield */
	SR_WAIT_SPIN = 1,  /* never gives the core up */
	SR_WAIT_YIELD = 2, /* sched_yield() between looks */
	SR_WAIT_BLOCK = 3, /* sleeps on an eventfd; costs the peer a system call */
};

SR_BEGIN_DECLS

/* sr_wait_from_name - "auto", "spin", "yield", "block"; -EINVAL otherwise. */
int sr_wait_from_name(const char *name);
const char *sr_wait_name(enum sr_wait_policy policy);

/*
 * sr_wait_resolve - what AUTO means for the calling thread.
 *
 * @loops: how many loops of this kind the machine runs at once, callers included.
 *
 * SPIN when the thread may run on as many CPUs as there are loops, or is pinned
 * to one, and no cgroup quota takes the core away; else YIELD. Any other policy
 * is returned as it is. Reads affinity and cgroup files: cold.
 */
enum sr_wait_policy sr_wait_resolve(enum sr_wait_policy policy, unsigned int loops);

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

#endif /* SR_WAIT_H */
