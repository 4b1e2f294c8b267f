/* SPDX-License-Identifier: MIT */
/*
 * sr_cpus.h - a set of CPUs, in the two ways that the kernel writes one.
 *
 *	0,2-5                 a list: isolcpus=, thread_siblings_list, Cpus_allowed_list
 *	00000001,0000003c     a mask: smp_affinity, cpumask; words of 32 bits, highest first
 *
 * Private memory, no allocation. Both readers take what comes from a file that may
 * be anything: whatever is no list or no mask, or names a CPU that cannot be kept,
 * is -EINVAL and leaves the set as it was.
 */
#ifndef SR_CPUS_H
#define SR_CPUS_H

#include "sr_base.h"

#define SR_CPUS_MAX 1024u
#define SR_CPUS_WORDS (SR_CPUS_MAX / 64u)
#define SR_CPUS_TEXT_BYTES 4096u /* any list or mask of SR_CPUS_MAX CPUs */

struct sr_cpus {
	uint64_t words[SR_CPUS_WORDS];
};

static inline bool sr_cpus_has(const struct sr_cpus *s, unsigned int cpu)
{
	return cpu < SR_CPUS_MAX && (s->words[cpu / 64] >> cpu % 64 & 1);
}

static inline void sr_cpus_add(struct sr_cpus *s, unsigned int cpu)
{
	if (cpu < SR_CPUS_MAX)
		s->words[cpu / 64] |= 1ull << cpu % 64;
}

SR_BEGIN_DECLS

unsigned int sr_cpus_count(const struct sr_cpus *s);
bool sr_cpus_equal(const struct sr_cpus *a, const struct sr_cpus *b);
bool sr_cpus_overlap(const struct sr_cpus *a, const struct sr_cpus *b);
struct sr_cpus sr_cpus_union(const struct sr_cpus *a, const struct sr_cpus *b);

/* sr_cpus_minus - what is in @a and not in @b. */
struct sr_cpus sr_cpus_minus(const struct sr_cpus *a, const struct sr_cpus *b);

/* sr_cpus_next - the lowest CPU of the set from @cpu on, or SR_CPUS_MAX. */
unsigned int sr_cpus_next(const struct sr_cpus *s, unsigned int cpu);

/* Each returns 0, or -EINVAL. An empty text is an empty set. */
SR_WARN_UNUSED int sr_cpus_from_list(struct sr_cpus *s, const char *text);
SR_WARN_UNUSED int sr_cpus_from_mask(struct sr_cpus *s, const char *text);

/* Each writes the text of a set, cut off where it does not fit; returns @text. */
const char *sr_cpus_to_list(const struct sr_cpus *s, char *text, size_t bytes);
const char *sr_cpus_to_mask(const struct sr_cpus *s, char *text, size_t bytes);

SR_END_DECLS

#endif /* SR_CPUS_H */
