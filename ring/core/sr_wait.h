/* SPDX-License-Identifier: MIT */
/*
 * sr_wait.h - how a loop passes the time until the other side has done something.
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
 * SPIN when the machine has a CPU for each loop, the thread may run on as many or
 * is pinned to one, and no cgroup quota takes it away; else YIELD. Any other
 * policy is returned as it is. Reads affinity and cgroup files: cold.
 */
enum sr_wait_policy sr_wait_resolve(enum sr_wait_policy policy, unsigned int loops);

SR_END_DECLS

#endif /* SR_WAIT_H */
