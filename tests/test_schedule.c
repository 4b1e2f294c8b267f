/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "sr_buckets.h"
#include "sr_clock.h"
#include "sr_schedule.h"

static struct sr_buckets buckets;
static uint64_t samples[10000];

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Nearest rank in a sorted array. */
static uint64_t oracle(uint32_t count, uint32_t share)
{
	uint64_t rank = ((uint64_t)count * share + 99999) / 100000;

	return samples[rank ? rank - 1 : 0];
}

static uint64_t next(uint64_t *x)
{
	*x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
	return *x;
}

/* From single nanoseconds to a minute, as many in each octave. */
Test(buckets, percentiles_are_at_most_a_sixty_fourth_above_those_of_sorted_samples)
{
	static const uint32_t shares[] = { 0, 1, 10000, 50000, 90000, 99000, 99900, 99990, 100000 };
	static const uint32_t counts[] = { 1, 2, 3, 100, 101, 9999, 10000 };
	uint64_t x = 88172645463325252u;

	for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
		memset(&buckets, 0, sizeof buckets);
		for (uint32_t i = 0; i < counts[c]; i++) {
			samples[i] = next(&x) >> (28 + next(&x) % 36);
			sr_buckets_add(&buckets, samples[i]);
		}
		qsort(samples, counts[c], sizeof samples[0], ascending);
		for (size_t s = 0; s < sizeof shares / sizeof shares[0]; s++) {
			uint64_t want = oracle(counts[c], shares[s]);
			uint64_t got = sr_buckets_rank(&buckets, shares[s]);

			cr_assert(got >= want && got - want <= want / 64,
				  "%u of %u samples: %llu, sorted %llu", shares[s], counts[c],
				  (unsigned long long)got, (unsigned long long)want);
		}
		cr_assert_eq(sr_buckets_rank(&buckets, 100000), samples[counts[c] - 1]);
	}
}

Test(buckets, merged_ones_are_those_of_all_samples)
{
	static struct sr_buckets parts[3], sum;
	uint64_t x = 1234567;

	memset(&buckets, 0, sizeof buckets);
	for (uint32_t i = 0; i < 3000; i++) {
		uint64_t ns = next(&x) % 5000000;

		sr_buckets_add(&buckets, ns);
		sr_buckets_add(&parts[i % 3], ns);
	}
	for (int i = 0; i < 3; i++)
		sr_buckets_merge(&sum, &parts[i]);
	cr_assert_eq(memcmp(&sum, &buckets, sizeof sum), 0);
}

Test(buckets, what_is_longer_than_the_last_one_begins_counts_and_is_the_maximum)
{
	memset(&buckets, 0, sizeof buckets);
	cr_assert_eq(sr_buckets_rank(&buckets, 50000), 0);
	sr_buckets_add(&buckets, 3);
	sr_buckets_add(&buckets, UINT64_MAX);
	cr_assert_eq(sr_buckets_rank(&buckets, 50000), 3);
	cr_assert_eq(sr_buckets_rank(&buckets, 50001), UINT64_MAX);
	cr_assert_eq(sr_buckets_above(&buckets, 4), 1);
	cr_assert_eq(sr_buckets_above(&buckets, 3), 2);
}

/* Order g of all shares is due at g / rate: nobody's share is early or late. */
Test(schedule, even_shares_together_are_one_even_stream)
{
	const struct sr_schedule_config config = { .kind = SR_SCHEDULE_EVEN, .rate = 7001 };
	struct sr_schedule s;

	for (uint32_t share = 0; share < 12; share++) {
		sr_schedule_start(&s, &config, share, 12);
		for (uint64_t n = 0; n < 30000; n++, sr_schedule_next(&s)) {
			uint64_t g = n * 12 + share;

			cr_assert_eq(s.number, n);
			cr_assert_eq(s.due_ns, (uint64_t)((double)g * 1e9 / 7001), "order %llu",
				     (unsigned long long)g);
		}
	}
}

/* A mean, and a second moment that is twice the square of the first. */
Test(schedule, poisson_arrivals_have_the_rate_and_the_spread_of_their_kind)
{
	const struct sr_schedule_config config = { .kind = SR_SCHEDULE_POISSON,
						   .rate = 50000,
						   .seed = 1 };
	const uint64_t count = 200000;
	double sum = 0, squares = 0, last = 0;
	struct sr_schedule s;

	sr_schedule_start(&s, &config, 3, 10);
	for (uint64_t n = 0; n < count; n++, sr_schedule_next(&s)) {
		double gap = (double)s.due_ns - last;

		cr_assert(gap >= 0);
		sum += gap;
		squares += gap * gap;
		last = (double)s.due_ns;
	}
	cr_assert_float_eq(sum / (double)count, 200000.0, 2000.0); /* a tenth of 50,000 */
	cr_assert_float_eq(squares / (double)count / (2 * 200000.0 * 200000.0), 1.0, 0.03);
}

Test(schedule, shares_of_one_seed_differ_and_a_seed_repeats_itself)
{
	struct sr_schedule_config config = { .kind = SR_SCHEDULE_POISSON, .rate = 1000, .seed = 5 };
	struct sr_schedule a, b;

	sr_schedule_start(&a, &config, 0, 2);
	sr_schedule_start(&b, &config, 1, 2);
	cr_assert_neq(a.due_ns, b.due_ns);
	sr_schedule_start(&b, &config, 0, 2);
	for (int i = 0; i < 100; i++, sr_schedule_next(&a), sr_schedule_next(&b))
		cr_assert_eq(a.due_ns, b.due_ns);
}

/* Four sessions, 16 each at once, 6,400 a second: every 10 ms. */
Test(schedule, bursts_come_in_every_share_at_one_instant)
{
	const struct sr_schedule_config config = { .kind = SR_SCHEDULE_BURST,
						   .rate = 6400,
						   .burst = 16 };
	struct sr_schedule s;

	for (uint32_t share = 0; share < 4; share++) {
		sr_schedule_start(&s, &config, share, 4);
		for (uint64_t n = 0; n < 1000; n++, sr_schedule_next(&s))
			cr_assert_eq(s.due_ns, n / 16 * 10 * SR_NS_PER_MS);
	}
}
