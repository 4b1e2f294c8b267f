/* SPDX-License-Identifier: MIT */
/*
 * sr_out.h - bytes and text into a caller's buffer that is never overrun.
 *
 * What a venue encodes (msgpack, protobuf, RLP) and what it renders (JSON) goes
 * through one of these. What does not fit is dropped and remembered, so that a
 * codec writes without looking and asks once, at the end. No allocation, locale
 * or floating point.
 */
#ifndef SR_OUT_H
#define SR_OUT_H

#include "sr_base.h"
#include "sr_decimal.h"

struct sr_out {
	unsigned char *data; /* the caller's */
	size_t room;
	size_t used; /* never above room */
	bool full;   /* something did not fit: what is there must not be used */
};

static inline struct sr_out sr_out_over(void *data, size_t room)
{
	struct sr_out out = { (unsigned char *)data, room, 0, false };

	return out;
}

static inline void sr_out_bytes(struct sr_out *out, const void *bytes, size_t count)
{
	if (SR_UNLIKELY(count > out->room - out->used)) {
		out->full = true;
		return;
	}
	if (count)
		memcpy(out->data + out->used, bytes, count);
	out->used += count;
}

static inline void sr_out_byte(struct sr_out *out, unsigned int byte)
{
	if (SR_UNLIKELY(out->used == out->room)) {
		out->full = true;
		return;
	}
	out->data[out->used++] = (unsigned char)byte;
}

/* A string literal, without its zero. */
#define SR_OUT_LITERAL(out, text) sr_out_bytes(out, text, sizeof(text) - 1)

static inline void sr_out_be32(struct sr_out *out, uint32_t v)
{
	v = __builtin_bswap32(v);
	sr_out_bytes(out, &v, sizeof v);
}

static inline void sr_out_be64(struct sr_out *out, uint64_t v)
{
	v = __builtin_bswap64(v);
	sr_out_bytes(out, &v, sizeof v);
}

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

/*
 * sr_out_done - did all fit?
 *
 * Returns the bytes that were written, or -ENOSPC.
 */
SR_WARN_UNUSED int sr_out_done(const struct sr_out *out);

SR_END_DECLS

#endif /* SR_OUT_H */
