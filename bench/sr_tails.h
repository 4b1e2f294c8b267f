/* SPDX-License-Identifier: MIT */
/*
 * sr_tails.h - how far the samples behind a benchmark's rows stray.
 *
 * A row's figure is a median of medians; here is every sample, those of disturbed rounds
 * too, in a table of percentiles. What has fewer than ten samples beyond it is not told
 * (sr_rank.h).
 */
#ifndef SR_TAILS_H
#define SR_TAILS_H

#include "sr_bench.h"
#include "sr_histogram.h"
#include "sr_rank.h"

static const struct {
	const char *name;
	uint32_t share;
} sr_tails[] = { { "p50", 50000 },   { "p90", 90000 },    { "p99", 99000 },
		 { "p99.9", 99900 }, { "p99.99", 99990 }, { "max", 100000 } };

#define SR_TAILS (sizeof sr_tails / sizeof sr_tails[0])

/* One percentile in microseconds of an operation, of which a sample is @per. */
static inline const char *sr_tails_text(char text[SR_RANK_TEXT], struct sr_histogram *h,
					uint32_t share, uint32_t per, const char *untold)
{
	double us = (double)sr_histogram_percentile(h, share) / per / 1e3;

	return sr_rank_text(text, h->count, share, us, us < 1 ? 3 : us < 1000 ? 2 : 0, untold);
}

/*
 * sr_tails_print - a line for each row that has samples.
 *
 * @of:  a histogram a row. @per: operations in a sample of each row; NULL: one.
 * @what: a sample is, for the heading.
 */
static inline void sr_tails_print(const struct sr_bench *b, struct sr_histogram *of,
				  const uint32_t *per, const char *what)
{
	char text[SR_RANK_TEXT];

	(void)printf("%s, disturbed rounds too, in microseconds (-: fewer than %u beyond):\n"
		     "%-22s %8s", what, SR_RANK_BEYOND, "", "samples");
	for (size_t t = 0; t < SR_TAILS; t++)
		(void)printf(" %9s", sr_tails[t].name);
	(void)printf("\n");
	for (uint32_t i = 0; i < b->row_count; i++) {
		if (!of[i].count)
			continue;
		(void)printf("  %-20s %8zu", b->rows[i].key, of[i].count);
		for (size_t t = 0; t < SR_TAILS; t++)
			(void)printf(" %9s", sr_tails_text(text, &of[i], sr_tails[t].share,
							   per ? per[i] : 1, "-"));
		(void)printf("\n");
	}
}

/* sr_tails_json - the same as a member `percentiles` of an object that is open. */
static inline void sr_tails_json(const struct sr_bench *b, struct sr_histogram *of,
				 const uint32_t *per)
{
	char text[SR_RANK_TEXT];
	const char *comma = "";

	(void)printf(",\"percentiles\":{");
	for (uint32_t i = 0; i < b->row_count; i++) {
		if (!of[i].count)
			continue;
		(void)printf("%s\"%s\":{\"count\":%zu", comma, b->rows[i].key, of[i].count);
		for (size_t t = 0; t < SR_TAILS; t++)
			(void)printf(",\"%s_us\":%s", sr_tails[t].name,
				     sr_tails_text(text, &of[i], sr_tails[t].share,
						   per ? per[i] : 1, "null"));
		(void)printf("}");
		comma = ",";
	}
	(void)printf("}");
}

#endif /* SR_TAILS_H */
