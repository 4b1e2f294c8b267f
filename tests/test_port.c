/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "signer_rig.h"
#include "sr_frame.h"
#include "sr_port.h"

#define STREAM 2u
#define EPOCH 4u
#define FIRST (UINT64_MAX - 1)
#define CREDITS 8u
#define DATA_BYTES (SR_FRAME_HEADER_BYTES + RIG_SLOT)

static struct rig rig;
static struct sr_port *port;

static struct sr_port_config port_config(void)
{
	return (struct sr_port_config){
		.core = rig.core,
		.stream = STREAM,
		.credit_records = CREDITS,
		.slot_bytes_max = 512,
		.sessions_max = 4,
		.write_bytes_max = 4096,
		.boot_id = { 11, 12 },
	};
}

/* Reads the next whole frame that the port has to say; false: none. */
static bool next_frame(struct sr_frame *frame, unsigned char payload[SR_HELLO_BYTES + SR_CMP_BYTES])
{
	const void *data;
	size_t bytes = sr_port_output(port, &data);

	if (bytes == 0)
		return false;
	cr_assert_eq(sr_frame_cut(frame, data, bytes), 0, "the port writes whole frames");
	cr_assert_leq(frame->payload_bytes, SR_HELLO_BYTES + SR_CMP_BYTES);
	memcpy(payload, frame->payload, frame->payload_bytes);
	frame->payload = payload;
	sr_port_sent(port, frame->bytes);
	return true;
}

static struct sr_frame expect(uint32_t kind)
{
	static unsigned char payload[SR_HELLO_BYTES + SR_CMP_BYTES];
	struct sr_frame frame;

	cr_assert(next_frame(&frame, payload), "frame of kind %u, but the port is silent", kind);
	cr_assert_eq(frame.kind, kind, "kind %u is not %u", frame.kind, kind);
	return frame;
}

static void expect_silence(void)
{
	const void *data;

	cr_assert_eq(sr_port_output(port, &data), 0);
}

static int feed_frame(uint32_t kind, uint32_t session, uint32_t epoch, const void *payload,
		      uint32_t bytes)
{
	unsigned char frame[SR_FRAME_BYTES_MAX];
	uint32_t whole = sr_frame_put(frame, kind, session, epoch, bytes);

	if (bytes)
		memcpy(frame + SR_FRAME_HEADER_BYTES, payload, bytes);
	return sr_port_feed(port, frame, whole);
}

static int feed_open(uint64_t token, uint32_t flags, uint32_t epoch)
{
	struct sr_open_request request = rig_open_request(token, FIRST);
	unsigned char payload[SR_OPEN_BYTES];

	request.flags = flags;
	sr_open_put(payload, &request);
	return feed_frame(SR_FRAME_OPEN, 0, epoch, payload, sizeof payload);
}

static uint32_t open_session(uint64_t token, uint32_t flags)
{
	struct sr_opened opened;
	struct sr_frame frame;

	cr_assert_eq(feed_open(token, flags, EPOCH), 0);
	frame = expect(SR_FRAME_OPENED);
	cr_assert_eq(sr_opened_get(&opened, &frame), 0);
	cr_assert_eq(opened.result, SR_OPENED_OK);
	cr_assert_eq(opened.cookie, token + 100);
	cr_assert_eq(frame.epoch, EPOCH);
	cr_assert_neq(frame.session, 0);
	return frame.session;
}

static size_t data_frame(unsigned char frame[DATA_BYTES], uint32_t session, uint64_t n)
{
	rig_record(frame + SR_FRAME_HEADER_BYTES, RIG_SLOT, FIRST + n, RIG_KEY, SR_ECDSA_SHA256, &n,
		   sizeof n);
	return sr_frame_put(frame, SR_FRAME_DATA, session, EPOCH, RIG_SLOT);
}

static int feed_data(uint32_t session, uint64_t n)
{
	unsigned char frame[DATA_BYTES];

	return sr_port_feed(port, frame, data_frame(frame, session, n));
}

static void expect_reply(uint32_t session, uint64_t n, unsigned int status)
{
	struct sr_frame frame = expect(SR_FRAME_REPLY);

	cr_assert_eq(frame.session, session);
	cr_assert_eq(frame.payload_bytes, SR_CMP_BYTES);
	cr_assert_eq(sr_get64(frame.payload), FIRST + n);
	cr_assert_eq(rig_status(frame.payload), status);
}

static void expect_credit(uint32_t records)
{
	struct sr_frame frame = expect(SR_FRAME_CREDIT);

	cr_assert_eq(frame.payload_bytes, SR_CREDIT_BYTES);
	cr_assert_eq(sr_get32(frame.payload), records);
}

static void begin(void)
{
	struct sr_port_config config;

	rig_begin(&rig);
	config = port_config();
	cr_assert_eq(sr_port_new(&port, &config), 0);
	sr_port_begin(port);
}

static void end(void)
{
	sr_port_delete(port);
	sr_port_delete(NULL);
	rig_end(&rig);
}

TestSuite(port, .init = begin, .fini = end);

static void skip_hello(void)
{
	(void)expect(SR_FRAME_HELLO);
}

Test(port, speaks_first_with_what_it_grants)
{
	struct sr_frame frame = expect(SR_FRAME_HELLO);
	struct sr_hello hello;

	cr_assert_eq(sr_hello_get(&hello, &frame), 0);
	cr_assert(hello.protocol == SR_PROTOCOL && hello.credit_records == CREDITS);
	cr_assert(hello.slot_bytes_max == 512 && hello.write_bytes_max == 4096);
	cr_assert(hello.sessions_max == 4 && hello.features == SR_HELLO_UNSEALED);
	cr_assert(hello.boot_id[0] == 11 && hello.boot_id[1] == 12);
	expect_silence();
}

Test(port, answers_records_in_order)
{
	uint32_t session;

	skip_hello();
	session = open_session(1, 0);
	for (uint64_t n = 0; n < CREDITS; n++)
		cr_assert_eq(feed_data(session, n), 0);
	cr_assert_eq(sr_port_waiting(port), CREDITS);
	cr_assert_eq(sr_port_sign(port, 3), 3);
	cr_assert_eq(sr_port_waiting(port), CREDITS - 3);
	cr_assert_eq(sr_port_sign(port, 100), CREDITS - 3);
	cr_assert_eq(sr_port_sign(port, 100), 0);
	for (uint64_t n = 0; n < CREDITS; n++)
		expect_reply(session, n, SR_OK);
	expect_silence();
}

Test(port, stream_may_be_cut_at_every_byte)
{
	unsigned char stream[2 * DATA_BYTES + SR_FRAME_HEADER_BYTES];
	uint64_t n = 0;
	uint32_t session;

	skip_hello();
	session = open_session(1, 0);
	for (size_t cut = 0; cut <= sizeof stream; cut++, n += 2) {
		size_t at = data_frame(stream, session, n);

		at += data_frame(stream + at, session, n + 1);
		at += sr_frame_put(stream + at, SR_FRAME_STATUS, 0, EPOCH, 0);
		cr_assert_eq(at, sizeof stream);
		cr_assert_eq(sr_port_feed(port, stream, cut), 0);
		cr_assert_eq(sr_port_feed(port, stream + cut, at - cut), 0);
		cr_assert_eq(sr_port_sign(port, 9), 2, "cut at %zu", cut);
		(void)expect(SR_FRAME_STATUS);
		expect_reply(session, n, SR_OK);
		expect_reply(session, n + 1, SR_OK);
		expect_silence();
	}
}

Test(port, stream_may_come_byte_by_byte)
{
	unsigned char stream[DATA_BYTES];
	uint32_t session;

	skip_hello();
	session = open_session(1, 0);
	for (uint64_t n = 0; n < 4; n++) {
		(void)data_frame(stream, session, n);
		for (size_t i = 0; i < sizeof stream; i++)
			cr_assert_eq(sr_port_feed(port, stream + i, 1), 0);
		cr_assert_eq(sr_port_sign(port, 9), 1);
		expect_reply(session, n, SR_OK);
	}
}

Test(port, impossible_length_is_refused_at_its_fourth_byte)
{
	static const uint32_t wrong[] = { 0xffffffffu, SR_FRAME_BYTES_MAX + 1, 15, 0 };
	unsigned char bytes[4];

	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		sr_put32(bytes, wrong[i]);
		for (size_t cut = 0; cut < 4; cut++) {
			sr_port_begin(port);
			skip_hello();
			cr_assert_eq(sr_port_feed(port, bytes, cut), 0);
			cr_assert_eq(sr_port_feed(port, bytes + cut, 4 - cut), -EPROTO);
		}
	}
}

Test(port, after_a_mistake_nothing_is_taken_or_signed)
{
	uint32_t session;

	skip_hello();
	session = open_session(1, 0);
	cr_assert_eq(feed_data(session, 0), 0);
	cr_assert_eq(feed_frame(SR_FRAME_REPLY, 0, 0, NULL, 0), -EPROTO);
	cr_assert_eq(feed_data(session, 1), -EPROTO);
	cr_assert_eq(sr_port_sign(port, 9), 0);
	expect_silence();
	sr_port_end(port);
	cr_assert_eq(sr_port_feed(port, "", 1), -EPROTO, "nobody is there");
	cr_assert_eq(sr_port_waiting(port), 0);
}

Test(port, kinds_that_an_agent_does_not_send_are_refused)
{
	static const uint32_t kinds[] = {
		0, SR_FRAME_HELLO, SR_FRAME_OPENED, SR_FRAME_REPLY, SR_FRAME_CREDIT, 9, UINT32_MAX
	};

	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		sr_port_begin(port);
		cr_assert_eq(feed_frame(kinds[i], 0, EPOCH, NULL, 0), -EPROTO, "kind %u", kinds[i]);
	}
}

Test(port, payloads_of_wrong_length_are_refused)
{
	static const struct {
		uint32_t kind, bytes;
	} wrong[] = {
		{ SR_FRAME_OPEN, 0 },
		{ SR_FRAME_OPEN, SR_OPEN_BYTES - 1 },
		{ SR_FRAME_OPEN, SR_OPEN_BYTES + 1 },
		{ SR_FRAME_END, 1 },
		{ SR_FRAME_STATUS, 1 },
		{ SR_FRAME_DATA, 0 },
		{ SR_FRAME_DATA, 255 },
		{ SR_FRAME_DATA, 513 },
		{ SR_FRAME_DATA, SR_SUB_BYTES_MAX },
	};
	static const unsigned char payload[SR_SUB_BYTES_MAX];

	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		sr_port_begin(port);
		cr_assert_eq(feed_frame(wrong[i].kind, 0, 0, payload, wrong[i].bytes), -EPROTO,
			     "case %zu", i);
	}
}

Test(port, one_record_more_than_granted_is_refused)
{
	uint32_t session;

	skip_hello();
	session = open_session(1, 0);
	for (uint64_t n = 0; n < CREDITS; n++)
		cr_assert_eq(feed_data(session, n), 0);
	cr_assert_eq(feed_data(session, CREDITS), -EPROTO);
}

Test(port, credit_comes_back_with_the_last_byte_of_its_frame)
{
	const void *data;
	uint32_t session;
	size_t bytes;

	skip_hello();
	session = open_session(1, 0);
	for (uint64_t n = 0; n < CREDITS; n++)
		cr_assert_eq(feed_data(session, n), 0);
	cr_assert_eq(sr_port_sign(port, 99), CREDITS);
	bytes = SR_FRAME_HEADER_BYTES + SR_CMP_BYTES;
	cr_assert_eq(sr_port_output(port, &data), CREDITS * bytes);
	sr_port_sent(port, bytes);
	sr_port_sent(port, bytes);
	cr_assert_eq(feed_data(session, CREDITS), 0);
	cr_assert_eq(feed_data(session, CREDITS + 1), 0);
	sr_port_sent(port, bytes - 1);
	cr_assert_eq(feed_data(session, CREDITS + 2), -EPROTO, "its last byte is still here");

	sr_port_begin(port);
	skip_hello();
	session = open_session(1, SR_OPEN_RESUME);
	for (uint64_t n = 0; n < CREDITS; n++)
		cr_assert_eq(feed_data(session, n), 0);
	cr_assert_eq(sr_port_sign(port, 99), CREDITS);
	sr_port_sent(port, bytes - 1);
	sr_port_sent(port, 1);
	cr_assert_eq(feed_data(session, CREDITS), 0);
	cr_assert_eq(feed_data(session, CREDITS + 1), -EPROTO);
}

Test(port, dropped_record_gives_its_credit_back)
{
	unsigned char record[RIG_SLOT] = { 0 };
	uint32_t session;

	skip_hello();
	session = open_session(1, 0);
	for (uint64_t n = 0; n < 3 * CREDITS; n++) {
		cr_assert_eq(feed_frame(SR_FRAME_DATA, session, EPOCH - 1, record, sizeof record),
			     0);
		cr_assert_eq(sr_port_sign(port, 1), 1);
		expect_credit(1);
	}
	expect_silence();
}

Test(port, record_of_no_session_is_answered_so_and_gives_its_credit_back)
{
	skip_hello();
	for (uint64_t n = 0; n < 3 * CREDITS; n++) {
		cr_assert_eq(feed_data(77, n), 0);
		cr_assert_eq(sr_port_sign(port, 1), 1);
		cr_assert_eq(expect(SR_FRAME_END).session, 77);
		expect_credit(1);
	}
	expect_silence();
}

Test(port, hostile_record_ends_its_session_and_gives_its_credit_back)
{
	uint32_t session, other;
	struct sr_frame frame;

	skip_hello();
	session = open_session(1, 0);
	other = open_session(2, 0);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(feed_data(session, UINT64_MAX), 0);
		cr_assert_eq(feed_data(other, (uint64_t)i), 0);
	}
	cr_assert_eq(sr_port_sign(port, 99), 4);
	frame = expect(SR_FRAME_END);
	cr_assert_eq(frame.session, session);
	cr_assert_eq(frame.payload_bytes, 0);
	expect_credit(1);
	expect_reply(other, 0, SR_OK);
	frame = expect(SR_FRAME_END);
	cr_assert_eq(frame.session, session, "what still comes for it is answered so, too");
	expect_credit(1);
	expect_reply(other, 1, SR_OK);
	expect_silence();
}

Test(port, priority_sessions_drain_first)
{
	uint32_t normal, cancels;

	skip_hello();
	normal = open_session(1, 0);
	cancels = open_session(2, SR_OPEN_PRIORITY);
	cr_assert_eq(feed_data(normal, 0), 0);
	cr_assert_eq(feed_data(normal, 1), 0);
	cr_assert_eq(feed_data(cancels, 0), 0);
	cr_assert_eq(sr_port_sign(port, 1), 1);
	cr_assert_eq(feed_data(cancels, 1), 0);
	cr_assert_eq(sr_port_sign(port, 99), 3);
	expect_reply(cancels, 0, SR_OK);
	expect_reply(cancels, 1, SR_OK);
	expect_reply(normal, 0, SR_OK);
	expect_reply(normal, 1, SR_OK);
}

Test(port, end_of_the_client_drops_what_waits)
{
	uint32_t session;

	skip_hello();
	session = open_session(1, 0);
	cr_assert_eq(feed_data(session, 0), 0);
	cr_assert_eq(feed_frame(SR_FRAME_END, session, EPOCH - 1, NULL, 0), 0);
	cr_assert_eq(sr_port_sign(port, 99), 1);
	expect_reply(session, 0, SR_OK);
	cr_assert_eq(feed_data(session, 1), 0);
	cr_assert_eq(feed_frame(SR_FRAME_END, session, EPOCH, NULL, 0), 0);
	cr_assert_eq(sr_port_sign(port, 99), 1);
	cr_assert_eq(expect(SR_FRAME_END).session, session);
	expect_credit(1);
	expect_silence();
}

Test(port, one_stream_does_not_end_a_session_of_another)
{
	struct sr_open_request request = rig_open_request(5, FIRST);
	struct sr_core_stats stats;
	uint32_t theirs;

	skip_hello();
	cr_assert_eq(sr_core_open(rig.core, &theirs, &request, EPOCH, STREAM + 1), SR_OPENED_OK);
	cr_assert_eq(feed_frame(SR_FRAME_END, theirs, UINT32_MAX, NULL, 0), 0);
	sr_core_stats_get(rig.core, &stats);
	cr_assert_eq(stats.sessions, 1);
}

Test(port, status_tells_the_counters_in_the_order_of_the_abi)
{
	struct sr_frame frame;
	uint32_t session;

	skip_hello();
	session = open_session(1, 0);
	(void)open_session(2, 0);
	cr_assert_eq(feed_data(session, 0), 0);
	cr_assert_eq(feed_data(77, 0), 0);
	cr_assert_eq(sr_port_sign(port, 99), 2);
	expect_reply(session, 0, SR_OK);
	cr_assert_eq(expect(SR_FRAME_END).session, 77);
	expect_credit(1);
	cr_assert_eq(feed_frame(SR_FRAME_STATUS, 0, EPOCH, NULL, 0), 0);
	frame = expect(SR_FRAME_STATUS);
	cr_assert_eq(frame.payload_bytes, SR_STATUS_BYTES);
	cr_assert_eq(sr_get64(frame.payload + 8 * SR_FIELD_RECORDS), 1);
	cr_assert_eq(sr_get64(frame.payload + 8 * SR_FIELD_SIGNED_OK), 1);
	cr_assert_eq(sr_get64(frame.payload + 8 * SR_FIELD_DROPPED), 1);
	cr_assert_eq(sr_get64(frame.payload + 8 * SR_FIELD_SESSIONS), 2);
	cr_assert_eq(sr_get64(frame.payload + 8 * SR_FIELD_ORPHANS), 0);
	cr_assert_eq(sr_get64(frame.payload + 8 * SR_FIELD_CHECK_FAILED), 0);
}

Test(port, who_asks_without_reading_is_cut_off)
{
	uint32_t most = SR_ASKED_MAX(4);

	for (int round = 0; round < 2; round++) {
		sr_port_begin(port);
		for (uint32_t i = 0; i < most; i++)
			cr_assert_eq(i % 2 ? feed_open(i % 4, 0, EPOCH) :
					     feed_frame(SR_FRAME_STATUS, 0, EPOCH, NULL, 0),
				     0);
		cr_assert_eq(round ? feed_open(1, 0, EPOCH) :
				     feed_frame(SR_FRAME_STATUS, 0, EPOCH, NULL, 0),
			     -EPROTO);
	}

	sr_port_begin(port);
	skip_hello();
	for (uint32_t i = 0; i < 5 * most; i++) {
		cr_assert_eq(feed_frame(SR_FRAME_STATUS, 0, EPOCH, NULL, 0), 0);
		(void)expect(SR_FRAME_STATUS);
	}
}

/* The fullest that the output can be, behind a frame that is half written out;
 * the address sanitizer would see a byte too many. */
Test(port, there_is_room_for_every_answer_at_once)
{
	uint32_t session, asked = SR_ASKED_MAX(4);

	skip_hello();
	session = open_session(1, 0);
	for (int round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < asked; i++)
			cr_assert_eq(feed_frame(SR_FRAME_STATUS, 0, EPOCH, NULL, 0), 0);
		sr_port_sent(port, 100);
		for (uint64_t n = 0; n < CREDITS; n++)
			cr_assert_eq(feed_data(session, (uint64_t)round * CREDITS + n), 0);
		cr_assert_eq(sr_port_sign(port, 99), CREDITS);

		sr_port_sent(port, SR_FRAME_HEADER_BYTES + SR_STATUS_BYTES - 100);
		for (uint32_t i = 1; i < asked; i++)
			(void)expect(SR_FRAME_STATUS);
		for (uint64_t n = 0; n < CREDITS - 1; n++)
			expect_reply(session, (uint64_t)round * CREDITS + n, SR_OK);
		if (round == 2)
			break;
		/* The last reply stays, so that the next round starts further up. */
		for (uint32_t i = 0; i < asked; i++)
			cr_assert_eq(feed_frame(SR_FRAME_STATUS, 0, EPOCH, NULL, 0), 0);
		expect_reply(session, (uint64_t)round * CREDITS + CREDITS - 1, SR_OK);
		for (uint32_t i = 0; i < asked; i++)
			(void)expect(SR_FRAME_STATUS);
	}
}

Test(port, new_peer_finds_the_sessions_and_none_of_the_old_bytes)
{
	unsigned char half[100];
	uint32_t session;

	skip_hello();
	session = open_session(1, 0);
	cr_assert_eq(feed_data(session, 0), 0);
	cr_assert_eq(sr_port_sign(port, 1), 1);
	cr_assert_eq(feed_data(session, 1), 0);
	(void)sr_frame_put(half, SR_FRAME_DATA, session, EPOCH, RIG_SLOT);
	cr_assert_eq(sr_port_feed(port, half, sizeof half), 0);

	sr_port_begin(port);
	skip_hello();
	expect_silence();
	cr_assert_eq(sr_port_waiting(port), 0);
	cr_assert_eq(open_session(1, SR_OPEN_RESUME), session);
	for (uint64_t n = 0; n < 3; n++)
		cr_assert_eq(feed_data(session, n), 0);
	cr_assert_eq(sr_port_sign(port, 9), 3);
	for (uint64_t n = 0; n < 3; n++)
		expect_reply(session, n, SR_OK);
}

/* Every way that output can be drained, against an account of our own. */
Test(port, output_survives_any_drain)
{
	uint64_t answered[3] = { 0 }, fed[3] = { 0 };
	unsigned char kept[SR_FRAME_BYTES_MAX * 2];
	uint32_t sessions[3], state = 1;
	size_t kept_bytes = 0;

	skip_hello();
	for (uint64_t i = 0; i < 3; i++)
		sessions[i] = open_session(i + 1, 0);

	for (int turn = 0; turn < 4000; turn++) {
		struct sr_frame frame;
		const void *data;
		uint32_t which;
		size_t bytes;

		state = state * 1664525u + 1013904223u;
		which = (state >> 8) % 3;
		if (fed[0] + fed[1] + fed[2] - answered[0] - answered[1] - answered[2] < CREDITS)
			cr_assert_eq(feed_data(sessions[which], fed[which]++), 0);
		if (state >> 12 & 1)
			(void)sr_port_sign(port, 1 + (state >> 13 & 3));
		bytes = sr_port_output(port, &data);
		if (bytes > (state >> 16) % 200)
			bytes = (state >> 16) % 200;
		memcpy(kept + kept_bytes, data, bytes);
		kept_bytes += bytes;
		sr_port_sent(port, bytes);

		while (sr_frame_cut(&frame, kept, kept_bytes) == 0) {
			for (which = 0; sessions[which] != frame.session; which++)
				cr_assert_lt(which, 2);
			cr_assert_eq(frame.kind, SR_FRAME_REPLY);
			cr_assert_eq(sr_get64(frame.payload), FIRST + answered[which]);
			answered[which]++;
			kept_bytes -= frame.bytes;
			memmove(kept, kept + frame.bytes, kept_bytes);
		}
	}
	cr_assert_gt(answered[0], 300);
}

Test(port, new_refuses_what_is_out_of_range)
{
	struct sr_port_config config = port_config();
	struct sr_port *other = NULL;

	config.stream = 64;
	cr_assert_eq(sr_port_new(&other, &config), -EINVAL);
	config = port_config();
	config.credit_records = 0;
	cr_assert_eq(sr_port_new(&other, &config), -EINVAL);
	config.credit_records = 4097;
	cr_assert_eq(sr_port_new(&other, &config), -EINVAL);
	config = port_config();
	config.slot_bytes_max = SR_SUB_BYTES_MAX + 1;
	cr_assert_eq(sr_port_new(&other, &config), -EINVAL);
	config = port_config();
	config.write_bytes_max = SR_WRITE_BYTES_MAX + 1;
	cr_assert_eq(sr_port_new(&other, &config), -EINVAL);
	config = port_config();
	config.sessions_max = SR_SESSIONS_MAX + 1;
	cr_assert_eq(sr_port_new(&other, &config), -EINVAL);
	cr_assert_null(other);
}
