/* SPDX-License-Identifier: MIT */
/*
 * sr_rank.h - which percentiles a number of samples can bear.
 *
 * A percentile with fewer than ten samples beyond it is the luck of a few of them: p99.9
 * of 420 samples is the largest. Such a one is not told, in any benchmark: `-` in text and
 * null in JSON. The largest sample itself is what it is and always told.
 */
#ifndef SR_RANK_H
#define SR_RANK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define SR_RANK_SHARE_ALL 100000u
#define SR_RANK_BEYOND 10u /* samples that a percentile needs beyond it */
#define SR_RANK_TEXT 24u

/* sr_rank_told - is the percentile of that share (hundred-thousandths) told? */
static inline bool sr_rank_told(uint64_t count, uint32_t share)
{
	if (share >= SR_RANK_SHARE_ALL)
		return count > 0;
	return count / SR_RANK_SHARE_ALL * (SR_RANK_SHARE_ALL - share) +
	       count % SR_RANK_SHARE_ALL * (SR_RANK_SHARE_ALL - share) / SR_RANK_SHARE_ALL >=
	       SR_RANK_BEYOND;
}

/*
 * sr_rank_text - @value with @decimals behind the point, or what says that it is not told.
 *
 * @untold: "-", or "null" in JSON.
 *
 * Returns @text.
 */
static inline const char *sr_rank_text(char text[SR_RANK_TEXT], uint64_t count, uint32_t share,
				       double value, int decimals, const char *untold)
{
	if (sr_rank_told(count, share))
		(void)snprintf(text, SR_RANK_TEXT, "%.*f", decimals, value);
	else
		(void)snprintf(text, SR_RANK_TEXT, "%s", untold);
	return text;
}

#endif /* SR_RANK_H */
