/* SPDX-License-Identifier: MIT */
/*
 * sr_clock.h - the one clock that deadlines, heartbeats and stamps use.
 *
 * Not part of the public header: it needs POSIX 2008, which an engine that
 * compiles with -std=c11 may not have asked for.
 */
#ifndef SR_CLOCK_H
#define SR_CLOCK_H

#include <time.h>

#include "sr_base.h"

#define SR_NS_PER_S UINT64_C(1000000000)
#define SR_NS_PER_MS UINT64_C(1000000)
#define SR_NS_PER_US UINT64_C(1000)

SR_STATIC_ASSERT(5 * SR_NS_PER_S > UINT32_MAX, "seconds do not wrap");

/*
 * sr_now_ns - CLOCK_MONOTONIC in nanoseconds, through the vDSO.
 *
 * No system call where the kernel's clock source can be read from user space
 * (tsc, kvm-clock, the generic timer of aarch64).
 */
static inline uint64_t sr_now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * SR_NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* sr_ns_after - a time so much later, or the end of time. */
static inline uint64_t sr_ns_after(uint64_t now_ns, uint64_t more_ns)
{
	return more_ns > UINT64_MAX - now_ns ? UINT64_MAX : now_ns + more_ns;
}

#endif /* SR_CLOCK_H */
