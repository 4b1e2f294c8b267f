/* SPDX-License-Identifier: MIT */
/*
 * sr_out.h - bytes and text into a caller's buffer that is never overrun.
 *
 * What a venue encodes (msgpack, protobuf, RLP) and what it renders (JSON,
 * sr_out_text.h) goes through one of these. What does not fit is dropped and remembered, so that a
 * codec writes without looking and asks once, at the end. No allocation, locale
 * or floating point.
 */
#ifndef SR_OUT_H
#define SR_OUT_H

#include "sr_base.h"

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

/*
 * sr_out_done - did all fit?
 *
 * Returns the bytes that were written, or -ENOSPC.
 */
SR_WARN_UNUSED static inline int sr_out_done(const struct sr_out *out)
{
	return out->full || out->used > INT_MAX ? -ENOSPC : (int)out->used;
}

#endif /* SR_OUT_H */
