/* SPDX-License-Identifier: MIT */
/*
 * sr_counter.h - the counter that durations of some hundred nanoseconds are told by.
 *
 * Of a machine the one that its kernel keeps its own time by, and has therefore found
 * steady: the time-stamp counter of x86-64, the virtual counter of aarch64. Elsewhere it
 * is CLOCK_MONOTONIC, in nanoseconds.
 *
 * Two readings can be compared when they were taken under one kernel, by one kind of
 * counter: that is a domain, and a guest (an enclave, too) is a domain of its own, even
 * where its counter shows the same numbers. Whoever gets readings from another process
 * compares the domains, and takes nothing but differences from one that is not his.
 */
#ifndef SR_COUNTER_H
#define SR_COUNTER_H

#include "sr_base.h"
#include "sr_clock.h"

/* Numbers are told to others and are never reused. */
enum sr_counter_kind {
	SR_COUNTER_CLOCK = 1, /* CLOCK_MONOTONIC */
	SR_COUNTER_TSC = 2,
	SR_COUNTER_VIRTUAL = 3, /* cntvct_el0 */
};

/* What has to be known of a counter to use what it said elsewhere. */
struct sr_counter {
	uint64_t domain[2]; /* the kernel's boot id; zeros: not known, equal to none */
	uint64_t ticks_per_s;
	uint32_t kind; /* enum sr_counter_kind */
};

SR_BEGIN_DECLS

/* sr_counter_find - which counter does this machine have? One of a kind that the CPU
 * has; reads a file of /sys. */
enum sr_counter_kind sr_counter_find(void);

/*
 * sr_counter_describe - find it, and measure its rate against CLOCK_MONOTONIC.
 *
 * Takes 50 ms of the calling thread for SR_COUNTER_TSC, and reads files.
 */
void sr_counter_describe(struct sr_counter *counter);

/* sr_counter_same - may readings of the two be compared? */
bool sr_counter_same(const struct sr_counter *a, const struct sr_counter *b);

/* sr_counter_name - of a kind, for people; never NULL. */
const char *sr_counter_name(uint32_t kind);

/*
 * sr_counter_read - the hardware's counter, between two fences: nothing of what is
 * measured is counted before it begins or after it has ended. CLOCK_MONOTONIC where the
 * CPU has none that we know. Some 10 ns.
 */
static inline uint64_t sr_counter_read(void)
{
#if defined(__x86_64__)
	uint32_t low, high;

	__asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
	uint64_t ticks;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(ticks) : : "memory");
	return ticks;
#else
	return sr_now_ns();
#endif
}

/* sr_counter_now - by what sr_counter_find() has found. */
static inline uint64_t sr_counter_now(uint32_t kind)
{
	return SR_LIKELY(kind != SR_COUNTER_CLOCK) ? sr_counter_read() : sr_now_ns();
}

SR_END_DECLS

#endif /* SR_COUNTER_H */
