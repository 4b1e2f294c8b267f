/* SPDX-License-Identifier: MIT */
#include "sr_buckets.h"

static uint32_t index_of(uint64_t ns)
{
	uint32_t top, index;

	if (ns < SR_BUCKETS_OCTAVE)
		return (uint32_t)ns;
	top = 63u - (uint32_t)__builtin_clzll(ns);
	index = (top - SR_BUCKETS_BITS + 1) * SR_BUCKETS_OCTAVE +
		(uint32_t)(ns >> (top - SR_BUCKETS_BITS)) - SR_BUCKETS_OCTAVE;
	return index < SR_BUCKETS_COUNT ? index : SR_BUCKETS_COUNT - 1;
}

static uint64_t start_of(uint32_t index)
{
	uint32_t octave = index / SR_BUCKETS_OCTAVE;

	if (!octave)
		return index;
	return (uint64_t)(SR_BUCKETS_OCTAVE + index % SR_BUCKETS_OCTAVE) << (octave - 1);
}

void sr_buckets_add(struct sr_buckets *b, uint64_t sample_ns)
{
	b->counts[index_of(sample_ns)]++;
	b->samples++;
	if (sample_ns > b->max_ns)
		b->max_ns = sample_ns;
}

void sr_buckets_merge(struct sr_buckets *to, const struct sr_buckets *from)
{
	if (!from->samples)
		return;
	to->samples += from->samples;
	if (from->max_ns > to->max_ns)
		to->max_ns = from->max_ns;
	for (uint32_t i = 0; i < SR_BUCKETS_COUNT; i++)
		to->counts[i] += from->counts[i];
}

uint64_t sr_buckets_rank(const struct sr_buckets *b, uint32_t share)
{
	uint64_t rank, seen = 0;

	if (!b->samples)
		return 0;
	/* In two parts, so that it does not overflow. */
	rank = b->samples / SR_BUCKETS_SHARE_ALL * share +
	       (b->samples % SR_BUCKETS_SHARE_ALL * share + SR_BUCKETS_SHARE_ALL - 1) /
		       SR_BUCKETS_SHARE_ALL;
	for (uint32_t i = 0; i < SR_BUCKETS_COUNT - 1; i++) {
		uint64_t end_ns = start_of(i + 1) - 1;

		seen += b->counts[i];
		if (seen && seen >= rank)
			return end_ns < b->max_ns ? end_ns : b->max_ns;
	}
	return b->max_ns;
}

uint64_t sr_buckets_above(const struct sr_buckets *b, uint64_t ns)
{
	uint64_t sum = 0;

	for (uint32_t i = index_of(ns); i < SR_BUCKETS_COUNT; i++)
		if (start_of(i) >= ns)
			sum += b->counts[i];
	return sum;
}
