/* SPDX-License-Identifier: MIT */
/*
 * sr_out_text.h - digits and hex into an sr_out: what JSON and decimal texts are made of.
 */
#ifndef SR_OUT_TEXT_H
#define SR_OUT_TEXT_H

#include "sr_base.h"
#include "sr_decimal.h"
#include "sr_out.h"

SR_BEGIN_DECLS

/* sr_out_hex - lower case, two digits a byte, without 0x. */
void sr_out_hex(struct sr_out *out, const unsigned char *bytes, size_t count);

/* sr_out_0x - "0x" and the same. */
void sr_out_0x(struct sr_out *out, const unsigned char *bytes, size_t count);

/* sr_out_base64 - RFC 4648 section 4, padded. */
void sr_out_base64(struct sr_out *out, const unsigned char *bytes, size_t count);

/* sr_out_number - decimal digits, no leading zero. */
void sr_out_number(struct sr_out *out, uint64_t v);

/* sr_out_u256 - the same for 32 bytes, big-endian. */
void sr_out_u256(struct sr_out *out, const unsigned char v[32]);

/* sr_out_scaled - v / 10^decimals as sr_decimal_text() writes it. */
void sr_out_scaled(struct sr_out *out, uint64_t v, unsigned int decimals);

SR_END_DECLS

#endif /* SR_OUT_TEXT_H */
