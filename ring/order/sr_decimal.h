/* SPDX-License-Identifier: MIT */
/*
 * sr_decimal.h - scaled integers: v stands for v / 10^decimals, exactly.
 *
 * Prices, sizes and amounts never are floating point here, on either side of the
 * ring. Products are taken in 256 bits, so nothing wraps; what does not fit its
 * result is an error, and rounding, where it cannot be avoided, is up: a limit
 * that is compared with the result is never passed by a remainder.
 */
#ifndef SR_DECIMAL_H
#define SR_DECIMAL_H

#include "sr_base.h"

__extension__ typedef unsigned __int128 sr_u128;
__extension__ typedef __int128 sr_i128;

#define SR_DECIMALS_MAX 38u         /* 10^38 is the last power of ten in 128 bits */
#define SR_DECIMAL_TEXT_BYTES 48u   /* of a u64 with its point and zeros, and room to spare */
#define SR_DECIMAL_TEXT_SCALE_MAX 24u
#define SR_NOTIONAL_DECIMALS 6u     /* one unit of every notional: a millionth of the quote */

SR_BEGIN_DECLS

/*
 * sr_decimal_text - v / 10^decimals, in the one way that venues accept: no exponent,
 * no sign, no trailing zero behind the point, no point without digits on both sides.
 *
 * @text:     out, SR_DECIMAL_TEXT_BYTES; no zero at its end.
 * @decimals: at most SR_DECIMAL_TEXT_SCALE_MAX.
 *
 * Returns the number of characters. Bounded: one pass over at most 25 digits.
 */
size_t sr_decimal_text(char text[SR_DECIMAL_TEXT_BYTES], uint64_t v, unsigned int decimals);

/*
 * sr_decimal_parse - the inverse, for programs that are given text.
 *
 * Takes digits with at most one point, leading and trailing zeros, ".5" and "5.", and
 * a minus only before zero. No exponent, blank or plus.
 *
 * @v: out, the text times 10^decimals.
 *
 * Returns 0; -EINVAL (not such a text); -ERANGE (it has more decimals than that, or
 * does not fit).
 */
SR_WARN_UNUSED int sr_decimal_parse(uint64_t *v, const char *text, size_t bytes,
				    unsigned int decimals);

/* sr_decimal_figures - significant figures of v, whatever its scale; 0 for 0. */
unsigned int sr_decimal_figures(uint64_t v);

/* sr_decimal_places - the decimals that v / 10^decimals really has. */
unsigned int sr_decimal_places(uint64_t v, unsigned int decimals);

/*
 * sr_notional - price times size, in millionths of the quote, rounded up.
 *
 * @price, @size: scaled by 10^price_decimals and 10^size_decimals; decimals may be
 *                negative (dYdX's atomic resolutions are), their sum within +-60.
 *
 * Returns 0, or -ERANGE when it does not fit or a scale is out of bounds. Exact but
 * for the rounding.
 */
SR_WARN_UNUSED int sr_notional(uint64_t *notional, sr_u128 price, int price_decimals, sr_u128 size,
			       int size_decimals);

SR_END_DECLS

#endif /* SR_DECIMAL_H */
