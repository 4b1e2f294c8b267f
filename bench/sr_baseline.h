/* SPDX-License-Identifier: MIT */
/*
 * sr_baseline.h - the table of the seed's baseline page, ours beside it.
 *
 * The page measured an attestation service on another machine and in another language:
 * what stands in one line does the same job in either system, not the same work. So no
 * quotient of the two is printed; RSA-2048 verification is the yardstick by which the
 * machines can be compared.
 */
#ifndef SR_BASELINE_H
#define SR_BASELINE_H

#include <stdio.h>

#include "sr_bench.h"

#define SR_BASELINE_MACHINE                                                                        \
	"published: 2 June 2026, AMD Ryzen 7 5700X, Go 1.26 and gcc 16; median over "              \
	"auto-calibrated batches, 50 repetitions"

struct sr_baseline_line {
	uint32_t row;           /* of the benchmark */
	const char *theirs;     /* the operation's name on that page */
	double median_ns;       /* published; 0: there is none */
	double p99_ns;          /* likewise */
	double bytes;           /* that one operation works through; 0: not said */
	double gib_s;           /* published, of its own file; 0: there is none */
};

/* Operations a second and core. */
static inline void sr_baseline_rate(char text[24], double ns)
{
	if (ns <= 0)
		(void)snprintf(text, 24, "-");
	else
		(void)snprintf(text, 24, ns < 1000 ? "%.2fM" : "%.0f",
			       ns < 1000 ? 1e3 / ns : 1e9 / ns);
}

static inline void sr_baseline_ns(char text[24], double ns)
{
	if (ns <= 0)
		(void)snprintf(text, 24, "-");
	else
		(void)snprintf(text, 24, ns < 100 ? "%.1f" : "%.0f", ns);
}

static inline void sr_baseline_gib(char text[24], double gib_s)
{
	if (gib_s <= 0)
		(void)snprintf(text, 24, "-");
	else
		(void)snprintf(text, 24, "%.2f", gib_s);
}

/*
 * sr_baseline_print - one line for each of @lines.
 *
 * @p99_ns: by row: over all batches of the run.
 */
static inline void sr_baseline_print(const struct sr_bench *b, const double *p99_ns,
				     const struct sr_baseline_line *lines, size_t count)
{
	(void)printf("beside the seed's baseline, ns; p99 over all batches, those of disturbed "
		     "rounds too:\n%-46s %9s %9s %9s | %-33s %9s %9s %9s\n", "measured here",
		     "median", "p99", "ops/s", "published", "median", "p99", "ops/s");
	for (size_t i = 0; i < count; i++) {
		const struct sr_baseline_line *l = &lines[i];
		double ns = sr_bench_of(&b->rows[l->row], SR_BENCH_SHARE_ALL / 2);
		char text[6][24];

		sr_baseline_ns(text[0], ns);
		sr_baseline_ns(text[1], p99_ns[l->row]);
		sr_baseline_rate(text[2], ns);
		sr_baseline_ns(text[3], l->median_ns);
		sr_baseline_ns(text[4], l->p99_ns);
		sr_baseline_rate(text[5], l->median_ns);
		(void)printf("%-46s %9s %9s %9s | %-33s %9s %9s %9s\n", b->rows[l->row].text,
			     text[0], text[1], text[2], l->theirs, text[3], text[4], text[5]);
		if (l->bytes <= 0)
			continue;
		sr_baseline_gib(text[0], ns > 0 ? l->bytes / ns * 1e9 / (1u << 30) : 0);
		sr_baseline_gib(text[1], l->gib_s);
		(void)printf("%-46s %29s | %-33s %29s\n", "  GiB/s", text[0], "", text[1]);
	}
	(void)printf(SR_BASELINE_MACHINE "\n");
}

#endif /* SR_BASELINE_H */
