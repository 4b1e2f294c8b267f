/* SPDX-License-Identifier: MIT */
/*
 * sr_tune_c2c.h - how long a cache line takes from one CPU to another.
 *
 * Two threads, one on each CPU, and two words on lines of their own, as the slot
 * words of a ring: each side writes one of them with a release store and polls the
 * other with an acquire load, without a pause. A round is the mean over many trips;
 * of the rounds the median says what to expect and the least what the machine can
 * do when nothing disturbs it. One way is half of there and back.
 */
#ifndef SR_TUNE_C2C_H
#define SR_TUNE_C2C_H

#include <stdio.h>

#include "sr_cpus.h"
#include "sr_reason.h"

#define SR_TUNE_C2C_ROUNDS_MAX 1001u
#define SR_TUNE_C2C_TRIPS 2000u /* in a round; some 0.4 ms */

struct sr_tune_c2c {
	uint64_t median_ps; /* one way */
	uint64_t min_ps;
};

SR_BEGIN_DECLS

/*
 * sr_tune_c2c_pair - measure two CPUs.
 *
 * @rounds: 1 to SR_TUNE_C2C_ROUNDS_MAX.
 *
 * Returns 0; -EINVAL for a CPU that cannot be pinned to, or twice the same; -errno.
 */
SR_WARN_UNUSED int sr_tune_c2c_pair(unsigned int a, unsigned int b, uint32_t rounds,
				    struct sr_tune_c2c *out);

/*
 * sr_tune_c2c_print - measure and print every pair of a set.
 *
 * @json: one object on one line instead of two tables.
 *
 * Returns 0; -EINVAL for fewer than two CPUs or one that cannot be pinned to,
 * before anything is printed; or -errno.
 */
SR_WARN_UNUSED int sr_tune_c2c_print(const struct sr_cpus *set, uint32_t rounds, bool json,
				     FILE *out, struct sr_reason *why);

SR_END_DECLS

#endif /* SR_TUNE_C2C_H */
