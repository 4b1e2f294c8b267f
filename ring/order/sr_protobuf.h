/* SPDX-License-Identifier: MIT */
/*
 * sr_protobuf.h - protobuf's wire format, written and never read.
 *
 * What Cosmos signs is bytes, so there must be one encoding of a message: fields in
 * the order of the calls, which is rising field numbers; varints as short as they can
 * be; what holds its default left out (proto3; ADR-027 of the Cosmos SDK). A nested
 * message is begun and ended, and gets its length at the end.
 */
#ifndef SR_PROTOBUF_H
#define SR_PROTOBUF_H

#include "sr_base.h"
#include "sr_out.h"

SR_BEGIN_DECLS

/* sr_proto_varint - base 128, least significant group first: at most 10 bytes. */
void sr_proto_varint(struct sr_out *out, uint64_t v);

/* Fields. A zero, or no bytes, is left out. */
void sr_proto_uint(struct sr_out *out, uint32_t field, uint64_t v);
void sr_proto_fixed32(struct sr_out *out, uint32_t field, uint32_t v);
void sr_proto_bytes(struct sr_out *out, uint32_t field, const void *data, size_t bytes);

/*
 * sr_proto_begin, sr_proto_end - around the fields of a nested message, which is
 * written even if it has none. @mark is what begin returned. Ends come in the reverse
 * order of begins. What is inside moves up when its length takes more than one byte.
 */
SR_WARN_UNUSED size_t sr_proto_begin(struct sr_out *out, uint32_t field);
void sr_proto_end(struct sr_out *out, size_t mark);

SR_END_DECLS

/* A string literal, without its zero. */
#define SR_PROTO_LITERAL(out, field, text) sr_proto_bytes(out, field, text, sizeof(text) - 1)

#endif /* SR_PROTOBUF_H */
