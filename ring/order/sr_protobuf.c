/* SPDX-License-Identifier: MIT */
#include "sr_protobuf.h"

enum wire {
	WIRE_VARINT = 0,
	WIRE_BYTES = 2,
	WIRE_FIXED32 = 5,
};

static unsigned int varint_bytes(uint64_t v)
{
	unsigned int bytes = 1;

	for (; v >= 128; v >>= 7)
		bytes++;
	return bytes;
}

void sr_proto_varint(struct sr_out *out, uint64_t v)
{
	for (; v >= 128; v >>= 7)
		sr_out_byte(out, (unsigned int)(v & 127) | 128);
	sr_out_byte(out, (unsigned int)v);
}

static void tag(struct sr_out *out, uint32_t field, enum wire wire)
{
	sr_proto_varint(out, (uint64_t)field << 3 | wire);
}

void sr_proto_uint(struct sr_out *out, uint32_t field, uint64_t v)
{
	if (!v)
		return;
	tag(out, field, WIRE_VARINT);
	sr_proto_varint(out, v);
}

void sr_proto_fixed32(struct sr_out *out, uint32_t field, uint32_t v)
{
	if (!v)
		return;
	tag(out, field, WIRE_FIXED32);
	sr_out_bytes(out, &v, sizeof v);
}

void sr_proto_bytes(struct sr_out *out, uint32_t field, const void *data, size_t bytes)
{
	if (!bytes)
		return;
	tag(out, field, WIRE_BYTES);
	sr_proto_varint(out, bytes);
	sr_out_bytes(out, data, bytes);
}

size_t sr_proto_begin(struct sr_out *out, uint32_t field)
{
	tag(out, field, WIRE_BYTES);
	sr_out_byte(out, 0); /* most lengths take one byte */
	return out->used;
}

void sr_proto_end(struct sr_out *out, size_t mark)
{
	size_t bytes = out->used - mark, more = varint_bytes(bytes) - 1;
	unsigned char *at;

	if (more > out->room - out->used)
		out->full = true;
	if (out->full) /* then there may be no byte before the mark, too */
		return;

	at = out->data + mark - 1;
	if (more)
		memmove(at + 1 + more, at + 1, bytes);
	out->used += more;
	for (size_t rest = bytes;; rest >>= 7) {
		*at++ = (unsigned char)(rest < 128 ? rest : (rest & 127) | 128);
		if (rest < 128)
			return;
	}
}
