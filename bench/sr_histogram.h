/* SPDX-License-Identifier: MIT */
/*
 * sr_histogram.h - every sample kept, exact percentiles, a picture in text.
 *
 * Tail latency is what this project is judged by, and buckets round tails. So
 * samples are stored as they are and sorted afterwards; the buckets exist in
 * the picture only. Adding is one store into memory that was touched before.
 */
#ifndef SR_HISTOGRAM_H
#define SR_HISTOGRAM_H

#include <stdio.h>

#include "sr_base.h"

struct sr_histogram {
	uint64_t *samples_ns;
	size_t count;
	size_t room;
	bool sorted;
};

SR_BEGIN_DECLS

/*
 * sr_histogram_new - room for @room samples, every page of it touched.
 *
 * Returns 0; -EINVAL when @room is 0; -ENOMEM.
 */
SR_WARN_UNUSED int sr_histogram_new(struct sr_histogram *h, size_t room);
void sr_histogram_delete(struct sr_histogram *h);

/* sr_histogram_add - keep a sample. Returns 0, or -ENOSPC: it is not kept. */
SR_WARN_UNUSED int sr_histogram_add(struct sr_histogram *h, uint64_t sample_ns);

/*
 * sr_histogram_percentile - the smallest sample that at least this share of all
 * samples do not exceed (nearest rank: no value that was never measured).
 *
 * @share: in hundred-thousandths, 0 .. 100000: 50000 is the median, 99900 is
 *         p99.9, 100000 the maximum, 0 the minimum.
 *
 * Returns it in nanoseconds; 0 when there is no sample. Sorts at first use.
 */
uint64_t sr_histogram_percentile(struct sr_histogram *h, uint32_t share);

/*
 * sr_histogram_print - rows from the smallest sample to the largest, four to an
 * octave, with counts and bars; a run of empty rows is drawn as one.
 */
void sr_histogram_print(struct sr_histogram *h, FILE *out);

SR_END_DECLS

#endif /* SR_HISTOGRAM_H */
