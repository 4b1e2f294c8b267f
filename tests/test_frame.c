/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "sr_frame.h"

Test(frame, a_header_has_its_fields_where_the_abi_says)
{
	static const unsigned char want[16] = { 0x14, 0, 0, 0, 0x04, 0x03, 0x02, 0x01,
						0x09, 0, 0, 0, 0x06, 0,    0,    0 };
	unsigned char out[16];

	cr_assert_eq(sr_frame_put(out, SR_FRAME_CREDIT, 0x01020304, 9, 4), 20);
	cr_assert_arr_eq(out, want, sizeof want);
}

Test(frame, is_not_cut_before_its_last_byte_is_there)
{
	unsigned char data[16 + SR_CMP_BYTES];
	struct sr_frame frame = { .kind = 77 };

	memset(data, 0xee, sizeof data);
	(void)sr_frame_put(data, SR_FRAME_REPLY, 3, 4, SR_CMP_BYTES);
	for (size_t bytes = 0; bytes < sizeof data; bytes++)
		cr_assert_eq(sr_frame_cut(&frame, data, bytes), -EAGAIN);
	cr_assert_eq(frame.kind, 77, "outputs are untouched until there is a frame");

	cr_assert_eq(sr_frame_cut(&frame, data, sizeof data), 0);
	cr_assert_eq(frame.bytes, sizeof data);
	cr_assert_eq(frame.session, 3);
	cr_assert_eq(frame.epoch, 4);
	cr_assert_eq(frame.kind, SR_FRAME_REPLY);
	cr_assert_eq(frame.payload_bytes, SR_CMP_BYTES);
	cr_assert(frame.payload == data + 16);
}

Test(frame, length_is_judged_from_four_bytes)
{
	static const uint32_t wrong[] = {
		0, 1, 15, SR_FRAME_BYTES_MAX + 1, 0x80000000u, 0xffffffffu
	};
	unsigned char data[4];
	struct sr_frame frame;

	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		sr_put32(data, wrong[i]);
		cr_assert_eq(sr_frame_cut(&frame, data, 4), -EPROTO, "length %u", wrong[i]);
		cr_assert_eq(sr_frame_cut(&frame, data, 3), -EAGAIN);
	}
	sr_put32(data, SR_FRAME_BYTES_MAX);
	cr_assert_eq(sr_frame_cut(&frame, data, 4), -EAGAIN);
	sr_put32(data, 16);
	cr_assert_eq(sr_frame_cut(&frame, data, 4), -EAGAIN);
}

Test(frame, hello_survives_the_way)
{
	struct sr_hello hello = { 1, 2, 3, 4, 5, 6, { 7, UINT64_MAX } }, back = { 0 };
	unsigned char out[SR_HELLO_BYTES];
	struct sr_frame frame = { .payload = out, .payload_bytes = sizeof out };

	memset(out, 0xee, sizeof out);
	sr_hello_put(out, &hello);
	cr_assert_eq(out[4], 2);
	cr_assert_eq(out[24], 7);
	cr_assert_eq(sr_get64(out + 40), 0, "reserved bytes are zero");
	cr_assert_eq(sr_hello_get(&back, &frame), 0);
	cr_assert_eq(memcmp(&hello, &back, sizeof hello), 0);
	frame.payload_bytes--;
	cr_assert_eq(sr_hello_get(&back, &frame), -EPROTO);
}

Test(frame, open_survives_the_way)
{
	struct sr_open_request open = { { 1, 2 }, 3, 4, 5, 6, 7, 8, 9 }, back;
	unsigned char out[SR_OPEN_BYTES];
	struct sr_frame frame = { .payload = out, .payload_bytes = sizeof out };

	memset(&back, 0, sizeof back);
	memset(out, 0xee, sizeof out);
	sr_open_put(out, &open);
	cr_assert_eq(out[16], 3);
	cr_assert_eq(out[48], 9);
	cr_assert_eq(sr_get32(out + 52), 0, "reserved bytes are zero");
	cr_assert_eq(sr_open_get(&back, &frame), 0);
	cr_assert(back.token[0] == 1 && back.token[1] == 2 && back.first == 3 && back.next == 4);
	cr_assert(back.depth == 5 && back.slot_bytes == 6 && back.uid == 7);
	cr_assert(back.flags == 8 && back.cookie == 9);
	frame.payload_bytes++;
	cr_assert_eq(sr_open_get(&back, &frame), -EPROTO);
}

Test(frame, opened_survives_the_way)
{
	struct sr_opened opened = { 5, SR_OPENED_EPOCH }, back = { 0 };
	unsigned char out[SR_OPENED_BYTES];
	struct sr_frame frame = { .payload = out, .payload_bytes = sizeof out };

	sr_opened_put(out, &opened);
	cr_assert_eq(sr_opened_get(&back, &frame), 0);
	cr_assert(back.cookie == 5 && back.result == SR_OPENED_EPOCH);
	frame.payload_bytes = 0;
	cr_assert_eq(sr_opened_get(&back, &frame), -EPROTO);
}
