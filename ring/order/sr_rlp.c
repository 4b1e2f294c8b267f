/* SPDX-License-Identifier: MIT */
#include "sr_rlp.h"

#define STRING 0x80u
#define LIST 0xc0u
#define SHORT_MAX 55u
#define HEAD_ROOM 9u

/* The head of a string or list of so many bytes; returns its own length. */
static size_t head(unsigned char text[HEAD_ROOM], unsigned int base, size_t bytes)
{
	unsigned int count = 0;

	if (bytes <= SHORT_MAX) {
		text[0] = (unsigned char)(base + bytes);
		return 1;
	}
	for (size_t rest = bytes; rest; rest >>= 8)
		count++;
	text[0] = (unsigned char)(base + SHORT_MAX + count);
	for (unsigned int i = 0; i < count; i++)
		text[1 + i] = (unsigned char)(bytes >> 8 * (count - 1 - i));
	return 1 + count;
}

void sr_rlp_bytes(struct sr_out *out, const void *data, size_t bytes)
{
	unsigned char text[HEAD_ROOM];

	if (bytes != 1 || *(const unsigned char *)data >= STRING)
		sr_out_bytes(out, text, head(text, STRING, bytes));
	sr_out_bytes(out, data, bytes);
}

void sr_rlp_integer(struct sr_out *out, const unsigned char *number, size_t bytes)
{
	for (; bytes && !*number; bytes--)
		number++;
	sr_rlp_bytes(out, number, bytes);
}

void sr_rlp_uint(struct sr_out *out, uint64_t v)
{
	unsigned char number[8];

	v = __builtin_bswap64(v);
	memcpy(number, &v, sizeof number);
	sr_rlp_integer(out, number, sizeof number);
}

size_t sr_rlp_begin(const struct sr_out *out)
{
	return out->used;
}

void sr_rlp_end(struct sr_out *out, size_t mark)
{
	size_t bytes = out->used - mark, more;
	unsigned char text[HEAD_ROOM];

	more = head(text, LIST, bytes);
	if (more > out->room - out->used) {
		out->full = true;
		return;
	}
	memmove(out->data + mark + more, out->data + mark, bytes);
	memcpy(out->data + mark, text, more);
	out->used += more;
}
