/* SPDX-License-Identifier: MIT */
#include "sr_msgpack.h"

/* The tag of a 16-bit length; 32-bit ones have the next. */
enum {
	STR8 = 0xd9,
	ARRAY16 = 0xdc,
	MAP16 = 0xde,
};

static void put16(struct sr_out *out, unsigned int tag, uint32_t v)
{
	const unsigned char bytes[3] = { (unsigned char)tag, (unsigned char)(v >> 8),
					 (unsigned char)v };

	sr_out_bytes(out, bytes, sizeof bytes);
}

static void put32(struct sr_out *out, unsigned int tag, uint32_t v)
{
	v = __builtin_bswap32(v);
	sr_out_byte(out, tag);
	sr_out_bytes(out, &v, sizeof v);
}

static void put64(struct sr_out *out, unsigned int tag, uint64_t v)
{
	sr_out_byte(out, tag);
	sr_out_be64(out, v);
}

void sr_msgpack_uint(struct sr_out *out, uint64_t v)
{
	if (v < 0x80) {
		sr_out_byte(out, (unsigned int)v);
	} else if (v <= UINT8_MAX) {
		sr_out_byte(out, 0xcc);
		sr_out_byte(out, (unsigned int)v);
	} else if (v <= UINT16_MAX) {
		put16(out, 0xcd, (uint32_t)v);
	} else if (v <= UINT32_MAX) {
		put32(out, 0xce, (uint32_t)v);
	} else {
		put64(out, 0xcf, v);
	}
}

void sr_msgpack_int(struct sr_out *out, int64_t v)
{
	if (v >= 0) {
		sr_msgpack_uint(out, (uint64_t)v);
	} else if (v >= -32) {
		sr_out_byte(out, (unsigned char)v);
	} else if (v >= INT8_MIN) {
		sr_out_byte(out, 0xd0);
		sr_out_byte(out, (unsigned char)v);
	} else if (v >= INT16_MIN) {
		put16(out, 0xd1, (uint32_t)v);
	} else if (v >= INT32_MIN) {
		put32(out, 0xd2, (uint32_t)v);
	} else {
		put64(out, 0xd3, (uint64_t)v);
	}
}

void sr_msgpack_bool(struct sr_out *out, bool v)
{
	sr_out_byte(out, v ? 0xc3 : 0xc2);
}

void sr_msgpack_nil(struct sr_out *out)
{
	sr_out_byte(out, 0xc0);
}

void sr_msgpack_str(struct sr_out *out, const void *text, uint32_t bytes)
{
	if (bytes < 32) {
		sr_out_byte(out, 0xa0 | bytes);
	} else if (bytes <= UINT8_MAX) {
		sr_out_byte(out, STR8);
		sr_out_byte(out, bytes);
	} else if (bytes <= UINT16_MAX) {
		put16(out, STR8 + 1, bytes);
	} else {
		put32(out, STR8 + 2, bytes);
	}
	sr_out_bytes(out, text, bytes);
}

static void container(struct sr_out *out, unsigned int small, unsigned int tag16, uint32_t count)
{
	if (count < 16)
		sr_out_byte(out, small | count);
	else if (count <= UINT16_MAX)
		put16(out, tag16, count);
	else
		put32(out, tag16 + 1, count);
}

void sr_msgpack_array(struct sr_out *out, uint32_t count)
{
	container(out, 0x90, ARRAY16, count);
}

void sr_msgpack_map(struct sr_out *out, uint32_t count)
{
	container(out, 0x80, MAP16, count);
}
