/* SPDX-License-Identifier: MIT */
/*
 * sr_digits.h - public bytes as lower-case hexadecimal digits, one spelling each.
 *
 * For what is public: it branches on what it reads (sr_hex.h does not).
 */
#ifndef SR_DIGITS_H
#define SR_DIGITS_H

#include "sr_base.h"

/* sr_digits_get - @bytes of @out from twice as many digits. 0; -EINVAL when one is no
 * digit, or upper case, and @out is then undefined. */
SR_WARN_UNUSED static inline int sr_digits_get(unsigned char *out, const char *digits, size_t bytes)
{
	for (size_t i = 0; i < 2 * bytes; i++) {
		char c = digits[i];
		int v = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;

		if (v < 0)
			return -EINVAL;
		out[i / 2] = (unsigned char)(i % 2 ? out[i / 2] | v : v << 4);
	}
	return 0;
}

/* sr_digits_put - the inverse; no zero at the end. */
static inline void sr_digits_put(char *digits, const unsigned char *in, size_t bytes)
{
	for (size_t i = 0; i < 2 * bytes; i++)
		digits[i] = "0123456789abcdef"[i % 2 ? in[i / 2] & 15u : in[i / 2] >> 4];
}

#endif /* SR_DIGITS_H */
