/* SPDX-License-Identifier: MIT */
/*
 * sr_msgpack.h - MessagePack, write only, in its smallest forms.
 *
 * The encoding that is hashed has to be the venue's byte for byte, so each value has
 * one form: the shortest (as rmp and msgpack-python choose it). Integers, strings,
 * booleans, nil, arrays and maps: what actions consist of.
 */
#ifndef SR_MSGPACK_H
#define SR_MSGPACK_H

#include "sr_base.h"
#include "sr_out.h"

SR_BEGIN_DECLS

void sr_msgpack_uint(struct sr_out *out, uint64_t v);
void sr_msgpack_int(struct sr_out *out, int64_t v);
void sr_msgpack_bool(struct sr_out *out, bool v);
void sr_msgpack_nil(struct sr_out *out);

/* Headers; that many values, or pairs of them, follow. Up to 2^32 - 1. */
void sr_msgpack_str(struct sr_out *out, const void *text, uint32_t bytes);
void sr_msgpack_array(struct sr_out *out, uint32_t count);
void sr_msgpack_map(struct sr_out *out, uint32_t count);

SR_END_DECLS

#endif /* SR_MSGPACK_H */
