/* SPDX-License-Identifier: MIT */
/* Protobuf's wire format, written; and BIP-173's text of addresses. */
#include <criterion/criterion.h>

#include "sr_bech32.h"
#include "sr_protobuf.h"

static unsigned char room[20000];

static void is(const struct sr_out *out, const char *expected, size_t bytes)
{
	cr_assert_not(out->full);
	cr_assert_eq(out->used, bytes);
	cr_assert_arr_eq(out->data, expected, bytes);
}

Test(protobuf, varints_are_as_short_as_can_be)
{
	struct sr_out out = sr_out_over(room, sizeof room);

	sr_proto_varint(&out, 0);
	sr_proto_varint(&out, 127);
	sr_proto_varint(&out, 128);
	sr_proto_varint(&out, 300);
	sr_proto_varint(&out, UINT64_MAX);
	is(&out, "\x00\x7f\x80\x01\xac\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 16);
}

Test(protobuf, defaults_are_left_out_and_empty_messages_are_not)
{
	struct sr_out out = sr_out_over(room, sizeof room);
	size_t mark;

	sr_proto_uint(&out, 1, 0);
	sr_proto_fixed32(&out, 2, 0);
	sr_proto_bytes(&out, 3, NULL, 0);
	cr_assert_eq(out.used, 0);
	mark = sr_proto_begin(&out, 4);
	sr_proto_end(&out, mark);
	sr_proto_uint(&out, 16, 1);
	sr_proto_fixed32(&out, 2, 0x01020304);
	SR_PROTO_LITERAL(&out, 3, "ab");
	is(&out,
	   "\x22\x00\x80\x01\x01\x15\x04\x03\x02\x01\x1a\x02"
	   "ab",
	   14);
}

/* Around each length at which a length takes a byte more, two levels deep. */
Test(protobuf, a_message_moves_when_its_length_takes_more_bytes)
{
	static const unsigned int lengths[] = {
		0,   1,     123,   124,   125,   126,   127,   128,
		129, 16379, 16380, 16381, 16382, 16383, 16384, 16385
	};
	static unsigned char flat[sizeof room], content[16385];

	for (size_t i = 0; i < sizeof content; i++)
		content[i] = (unsigned char)(i * 7);
	for (unsigned int i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
		struct sr_out out = sr_out_over(room, sizeof room);
		struct sr_out inner = sr_out_over(flat, sizeof flat);
		size_t outer = sr_proto_begin(&out, 1), mark = sr_proto_begin(&out, 2), whole;

		sr_out_bytes(&out, content, lengths[i]);
		sr_proto_end(&out, mark);
		sr_proto_end(&out, outer);

		sr_proto_varint(&inner, 2 << 3 | 2);
		sr_proto_varint(&inner, lengths[i]);
		cr_assert_eq(room[0], 1 << 3 | 2);
		whole = inner.used + lengths[i];
		cr_assert_eq(out.used,
			     whole + (whole < 128   ? 2u :
				      whole < 16384 ? 3u :
						      4u),
			     "%u", lengths[i]);
		cr_assert_arr_eq(room + out.used - lengths[i] - inner.used, flat, inner.used);
		cr_assert_eq(memcmp(room + out.used - lengths[i], content, lengths[i]), 0);
	}
}

Test(protobuf, what_does_not_fit_is_remembered_at_every_room)
{
	for (size_t bytes = 0; bytes <= 200; bytes++) {
		unsigned char *exact = malloc(bytes + 1);
		struct sr_out out = sr_out_over(exact, bytes);
		size_t outer = sr_proto_begin(&out, 1), mark = sr_proto_begin(&out, 2);

		for (unsigned int i = 0; i < 130; i++)
			sr_out_byte(&out, i);
		sr_proto_end(&out, mark);
		sr_proto_end(&out, outer);
		cr_assert_eq(out.full, bytes < 136, "room of %zu", bytes);
		free(exact);
	}
}

/* Of injective's sdk-python and cosmjs, with the bytes that they name. */
Test(bech32, published_addresses_come_back)
{
	static const struct {
		const char *prefix, *text, *hex;
	} cases[] = {
		{ "inj", "inj1hkhdaj2a2clmq5jq6mspsggqs32vynpk228q3r",
		  "\xbd\xae\xde\xc9\x5d\x56\x3f\xb0\x52"
		  "\x40\xd6\xe0\x18\x21\x00\x84\x54\xc2\x4c\x36" },
		{ "cosmos", "cosmos1pkptre7fdkl6gfrzlesjjvhxhlc3r4gmmk8rs6",
		  "\x0d\x82\xb1\xe7\xc9\x6d\xbf\xa4\x24"
		  "\x62\xfe\x61\x29\x32\xe6\xbf\xf1\x11\xd5\x1b" },
	};

	for (unsigned int i = 0; i < 2; i++) {
		char text[80];
		unsigned char bytes[20];
		struct sr_out out = sr_out_over(text, sizeof text);
		size_t length = strlen(cases[i].text);

		sr_bech32_put(&out, cases[i].prefix, strlen(cases[i].prefix),
			      (const unsigned char *)cases[i].hex, 20);
		cr_assert_eq(out.used, length);
		cr_assert_arr_eq(text, cases[i].text, length);
		cr_assert_eq(sr_bech32_parse(bytes, 20, cases[i].prefix, cases[i].text, length), 0);
		cr_assert_arr_eq(bytes, cases[i].hex, 20);
	}
}

Test(bech32, any_other_character_is_refused_and_nothing_is_written)
{
	const char *text = "inj1hkhdaj2a2clmq5jq6mspsggqs32vynpk228q3r";
	unsigned char bytes[20] = { 0 };
	char changed[64];

	for (size_t i = 0; i < strlen(text); i++)
		for (int c = 0; c < 256; c++) {
			memcpy(changed, text, strlen(text) + 1);
			if (changed[i] == (char)c)
				continue;
			changed[i] = (char)c;
			cr_assert_eq(sr_bech32_parse(bytes, 20, "inj", changed, strlen(text)),
				     -EINVAL, "%zu: %d", i, c);
		}
	cr_assert_eq(sr_bech32_parse(bytes, 20, "inj", text, strlen(text) - 1), -EINVAL);
	cr_assert_eq(sr_bech32_parse(bytes, 19, "inj", text, strlen(text)), -EINVAL);
	cr_assert_eq(sr_bech32_parse(bytes, 33, "inj", text, strlen(text)), -EINVAL);
	cr_assert_eq(sr_bech32_parse(bytes, 20, "ini", text, strlen(text)), -EINVAL);
	for (unsigned int i = 0; i < 20; i++)
		cr_assert_eq(bytes[i], 0);
}

/* Lengths whose last digit is filled up: a bit there would be a second text. */
Test(bech32, every_length_comes_back_and_its_padding_is_zero)
{
	unsigned char data[33], again[33];
	char text[96];
	struct sr_out long_text = sr_out_over(text, sizeof text);

	for (unsigned int i = 0; i < sizeof data; i++)
		data[i] = (unsigned char)(0xff - 3 * i);
	for (size_t bytes = 0; bytes <= SR_BECH32_BYTES_MAX; bytes++) {
		struct sr_out out = sr_out_over(text, sizeof text);

		sr_bech32_put(&out, "a", 1, data, bytes);
		cr_assert_eq(out.used, SR_BECH32_TEXT(1, bytes));
		cr_assert_eq(sr_bech32_parse(again, bytes, "a", text, out.used), 0);
		cr_assert_eq(memcmp(data, again, bytes), 0);
	}
	cr_assert_eq(sr_bech32_parse(again, 1, "a", "a1lu9cgf6y", 10), 0);
	cr_assert_eq(again[0], 0xff);
	cr_assert_eq(sr_bech32_parse(again, 1, "a", "a1lacwuu8k", 10), -EINVAL);
	sr_bech32_put(&long_text, "a", 1, data, sizeof data);
	cr_assert_eq(sr_bech32_parse(again, sizeof again, "a", text, long_text.used), -EINVAL);
}
