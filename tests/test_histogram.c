/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include <stdlib.h>

#include "sr_histogram.h"
#include "sr_rank.h"

static struct sr_histogram made(const uint64_t *samples, size_t count)
{
	struct sr_histogram h;

	cr_assert_eq(sr_histogram_new(&h, count), 0);
	for (size_t i = 0; i < count; i++)
		cr_assert_eq(sr_histogram_add(&h, samples[i]), 0);
	return h;
}

Test(histogram, percentiles_are_nearest_rank)
{
	static const uint64_t samples[] = { 50, 15, 40, 20, 35 }; /* the textbook's five */
	struct sr_histogram h = made(samples, 5);

	cr_assert_eq(sr_histogram_percentile(&h, 0), 15);
	cr_assert_eq(sr_histogram_percentile(&h, 5000), 15);
	cr_assert_eq(sr_histogram_percentile(&h, 30000), 20);
	cr_assert_eq(sr_histogram_percentile(&h, 40000), 20);
	cr_assert_eq(sr_histogram_percentile(&h, 40001), 35);
	cr_assert_eq(sr_histogram_percentile(&h, 50000), 35);
	cr_assert_eq(sr_histogram_percentile(&h, 100000), 50);
	cr_assert_eq(sr_histogram_percentile(&h, UINT32_MAX), 50);
	sr_histogram_delete(&h);
}

Test(histogram, tail_percentiles_of_a_thousand_are_exact)
{
	struct sr_histogram h;

	cr_assert_eq(sr_histogram_new(&h, 1000), 0);
	for (uint64_t i = 0; i < 1000; i++) /* 1 .. 1000 in scattered order */
		cr_assert_eq(sr_histogram_add(&h, i * 7919 % 1000 + 1), 0);
	cr_assert_eq(sr_histogram_percentile(&h, 50000), 500);
	cr_assert_eq(sr_histogram_percentile(&h, 99000), 990);
	cr_assert_eq(sr_histogram_percentile(&h, 99900), 999);
	cr_assert_eq(sr_histogram_percentile(&h, 99901), 1000);
	sr_histogram_delete(&h);
}

Test(histogram, a_sample_after_a_look_is_counted)
{
	static const uint64_t samples[] = { 2, 3, 1 };
	struct sr_histogram h;

	cr_assert_eq(sr_histogram_new(&h, 3), 0);
	cr_assert_eq(sr_histogram_add(&h, samples[0]), 0);
	cr_assert_eq(sr_histogram_percentile(&h, 100000), 2);
	cr_assert_eq(sr_histogram_add(&h, samples[1]), 0);
	cr_assert_eq(sr_histogram_percentile(&h, 100000), 3);
	cr_assert_eq(sr_histogram_add(&h, samples[2]), 0);
	cr_assert_eq(sr_histogram_percentile(&h, 0), 1);
	sr_histogram_delete(&h);
}

Test(histogram, a_full_one_refuses_and_an_empty_one_answers_zero)
{
	struct sr_histogram h;

	cr_assert_eq(sr_histogram_new(&h, 0), -EINVAL);
	cr_assert_eq(sr_histogram_new(&h, SIZE_MAX / 2), -ENOMEM);
	cr_assert_eq(sr_histogram_new(&h, 1), 0);
	cr_assert_eq(sr_histogram_percentile(&h, 50000), 0);
	cr_assert_eq(sr_histogram_add(&h, 7), 0);
	cr_assert_eq(sr_histogram_add(&h, 8), -ENOSPC);
	cr_assert_eq(sr_histogram_percentile(&h, 100000), 7);
	sr_histogram_delete(&h);
}

Test(histogram, picture_counts_every_sample_once)
{
	static const uint64_t samples[] = { 0, 3, 4, 4095, 4096, 5119, 5121, UINT64_MAX };
	struct sr_histogram h = made(samples, 8);
	char *text = NULL, *line, *save = NULL;
	size_t bytes = 0, total = 0;
	FILE *out = open_memstream(&text, &bytes);

	sr_histogram_print(&h, out);
	fclose(out);
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		double from_us;
		size_t count;

		if (sscanf(line, "%lf us %zu", &from_us, &count) == 2) {
			total += count;
			cr_assert(strchr(line, '#'), "a row with samples has a bar: %s", line);
		}
		if (strstr(line, "4.1 us"))
			cr_assert_eq(count, 2, "4096 and 5119 share a row: %s", line);
	}
	cr_assert_eq(total, 8);
	free(text);
	sr_histogram_delete(&h);
}

Test(histogram, an_empty_picture_is_nothing)
{
	struct sr_histogram h;
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	cr_assert_eq(sr_histogram_new(&h, 1), 0);
	sr_histogram_print(&h, out);
	fclose(out);
	cr_assert_eq(bytes, 0);
	free(text);
	sr_histogram_delete(&h);
}

Test(rank, a_percentile_is_told_from_ten_samples_beyond_it_on)
{
	static const uint32_t shares[] = { 0, 50000, 90000, 99000, 99900, 99990 };

	for (size_t s = 0; s < sizeof shares / sizeof shares[0]; s++)
		for (uint64_t n = 0; n < 200000; n += n < 3000 ? 1 : 997) {
			uint64_t rank = (n * shares[s] + 99999) / 100000;

			cr_assert_eq(sr_rank_told(n, shares[s]), n - rank >= 10, "%u of %llu",
				     shares[s], (unsigned long long)n);
		}
	cr_assert(sr_rank_told(1, 100000));
	cr_assert_not(sr_rank_told(0, 100000));
	cr_assert_not(sr_rank_told(999, 99000));
	cr_assert(sr_rank_told(1000, 99000));
	cr_assert(sr_rank_told(UINT64_MAX, 99990));
}

Test(rank, what_is_not_told_is_a_dash)
{
	char text[SR_RANK_TEXT];

	cr_assert_str_eq(sr_rank_text(text, 420, 99900, 12.34, 1, "-"), "-");
	cr_assert_str_eq(sr_rank_text(text, 420, 50000, 12.34, 1, "null"), "12.3");
}
