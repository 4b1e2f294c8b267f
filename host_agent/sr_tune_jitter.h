/* SPDX-License-Identifier: MIT */
/*
 * sr_tune_jitter.h - what takes a CPU away from a loop that never sleeps.
 *
 * A thread on each CPU reads the clock again and again. Two readings should be as
 * far apart as one costs; where they are further, somebody had the CPU: an
 * interrupt, another thread, the hypervisor, the firmware. Such a gap is what an
 * order would have waited.
 */
#ifndef SR_TUNE_JITTER_H
#define SR_TUNE_JITTER_H

#include <stdio.h>

#include "sr_cpus.h"
#include "sr_reason.h"

#define SR_TUNE_GAP_BINS 40u /* bin b: from 2^b ns, up to 9 minutes; the last: and more */

/* What one CPU saw. Private to its thread until it is joined. */
struct sr_tune_gaps {
	uint64_t bins[SR_TUNE_GAP_BINS];
	uint64_t samples;
	uint64_t worst_ns;
	uint64_t least_ns; /* of the gaps: what a reading of the clock costs */
	uint64_t above_1us;
	uint64_t above_10us;
	uint64_t above_100us;
	uint64_t lost_ns;     /* sum of the gaps above 1 us */
	uint64_t switches;    /* times the scheduler took the CPU away */
	uint64_t duration_ns; /* of the whole run */
};

SR_BEGIN_DECLS

/*
 * sr_tune_gaps_take - sample a clock until it shows a time.
 *
 * @gaps:   cleared first.
 * @now_ns: the clock; sr_now_ns() wrapped, or a test's.
 */
void sr_tune_gaps_take(struct sr_tune_gaps *gaps, uint64_t (*now_ns)(void), uint64_t duration_ns);

/*
 * sr_tune_jitter - sample each CPU of a set and print histograms.
 *
 * @serial: one CPU after the other, the rest being left to everybody else; or all at
 *          once, as loops run.
 * @json:   one object on one line.
 *
 * Returns 0; -EINVAL for an empty set or a CPU that cannot be pinned to, before
 * anything is measured; or -errno.
 */
SR_WARN_UNUSED int sr_tune_jitter(const struct sr_cpus *set, uint32_t seconds, bool serial,
				  bool json, FILE *out, struct sr_reason *why);

SR_END_DECLS

#endif /* SR_TUNE_JITTER_H */
