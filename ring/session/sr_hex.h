/* SPDX-License-Identifier: MIT */
/*
 * sr_hex.h - secret bytes as hexadecimal digits.
 *
 * Without a branch or an index that depends on what is read or written: a table of
 * digits would show a secret by the cache lines it touches. For what is public,
 * sr_digits.h does.
 */
#ifndef SR_HEX_H
#define SR_HEX_H

#include "sr_base.h"

#define SR_HEX_SECRET_BYTES 32u
#define SR_HEX_SECRET_DIGITS 64u

SR_BEGIN_DECLS

/*
 * sr_unhex_secret - decode 64 hexadecimal digits of either case.
 *
 * Returns 0 or -EINVAL (one is no digit; @out is then zero). Constant time but
 * for that answer.
 */
SR_WARN_UNUSED int sr_unhex_secret(unsigned char out[SR_HEX_SECRET_BYTES],
				   const char digits[SR_HEX_SECRET_DIGITS]);

/* sr_hex_secret - the inverse, in lower case; no zero at the end. */
void sr_hex_secret(char digits[SR_HEX_SECRET_DIGITS], const unsigned char in[SR_HEX_SECRET_BYTES]);

SR_END_DECLS

#endif /* SR_HEX_H */
