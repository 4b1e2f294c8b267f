/* SPDX-License-Identifier: MIT */
/*
 * sr_buckets.h - latencies of a long run, in a few kilobytes.
 *
 * Where every sample can be kept, sr_histogram.h keeps it. A load that runs for hours
 * cannot, so here samples are counted in buckets: exact below 64 ns, above that 64 to
 * an octave, so that a percentile is at most 1/64 above the sample that it stands for,
 * and never below it. The largest sample is kept as it is. Adding is two stores, and
 * buckets of several writers are added up afterwards.
 */
#ifndef SR_BUCKETS_H
#define SR_BUCKETS_H

#include "sr_base.h"

#define SR_BUCKETS_BITS 6u
#define SR_BUCKETS_OCTAVE (1u << SR_BUCKETS_BITS)
#define SR_BUCKETS_COUNT (32u * SR_BUCKETS_OCTAVE) /* up to 2^37 ns; more is the last one */
#define SR_BUCKETS_SHARE_ALL 100000u

struct sr_buckets {
	uint64_t samples;
	uint64_t max_ns;
	uint64_t counts[SR_BUCKETS_COUNT];
};

SR_BEGIN_DECLS

/* sr_buckets_add - count one sample. One writer at a time. */
void sr_buckets_add(struct sr_buckets *b, uint64_t sample_ns);

/* sr_buckets_merge - add what @from holds to @to. */
void sr_buckets_merge(struct sr_buckets *to, const struct sr_buckets *from);

/*
 * sr_buckets_rank - what at least this share of all samples do not exceed.
 *
 * @share: in hundred-thousandths: 50000 is the median, 100000 the largest sample.
 *
 * Returns the upper end of the bucket in which the sample of that nearest rank lies,
 * or the largest sample where that is less; 0 without samples.
 */
uint64_t sr_buckets_rank(const struct sr_buckets *b, uint32_t share);

/* sr_buckets_above - how many samples lie in buckets that begin at @ns or above. */
uint64_t sr_buckets_above(const struct sr_buckets *b, uint64_t ns);

SR_END_DECLS

#endif /* SR_BUCKETS_H */
