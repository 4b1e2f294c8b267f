/* SPDX-License-Identifier: MIT */
/*
 * fuzz_gate.c - somebody between a client and the signer who says what he likes, to
 * both, while a session is set up.
 *
 *	clang -fsanitize=fuzzer,address,undefined ...            libFuzzer
 *
 * The input is a list of actions, three bytes each and some with bytes of their own:
 * let a message pass, change it, cut it, say one of the input's, say an older one
 * again, connect anew, let time pass. Checked besides what the sanitizers see:
 * a session that either end believes in is the same at the other, with equal keys, and
 * came of messages that were passed unchanged; after a refusal there is silence; at the
 * end nothing is left under way.
 */
#include <openssl/err.h>

#include "gate_rig.h"
#include "sr_channel.h"

#define FUZZ_NAME "gate"
#define FUZZ_MAKE make_input
#define FUZZ_STOP rig_stop
#define FUZZ_INPUT_BYTES 8192u
#include "fuzz_main.h"

struct input {
	const uint8_t *data;
	size_t bytes;
};

/* What was honestly said in this conversation, and what has become of it. */
struct course {
	struct sr_setup_config config;
	struct rig_bytes up, down; /* the latest honest message of each end */
	bool spoilt;               /* the client got what the gate never said */
	bool admitted, over;
};

static struct course course;

static uint8_t next_byte(struct input *in)
{
	if (in->bytes == 0)
		return 0;
	in->bytes--;
	return *in->data++;
}

static struct rig_bytes kept[4]; /* what was honestly said before, by either end */

static void keep(const struct rig_bytes *message)
{
	static uint32_t next;

	kept[next++ % 4] = *message;
}

static bool same(const struct rig_bytes *a, const struct rig_bytes *b)
{
	return a->bytes == b->bytes && !memcmp(a->data, b->data, a->bytes);
}

static bool was_said(const struct rig_bytes *message)
{
	for (int i = 0; i < 4; i++)
		if (same(message, &kept[i]))
			return true;
	return false;
}

/* A new connection and a new set-up, with or without the last ticket. */
static void connect_anew(uint8_t how)
{
	uint32_t client = how % RIG_CLIENTS;

	sr_gate_leave(rig.gate, &rig.talk, rig.now_ns);
	sr_admission_wipe(&rig.secrets->admission);
	memset(&course, 0, sizeof course);
	course.config = rig_setup_config(client);
	course.config.request.flags = how >> 6;
	if (how & 8 && rig.secrets->ticket.attested_ms)
		course.config.ticket = &rig.secrets->ticket;
	if (how & 32) {
		course.config.is_operator = true;
		course.config.ticket = NULL;
	}
	if (how & 16)
		course.config.request.depth = how;
	rig_require(rig_begin(&course.config) == SR_SETUP_OK);
	course.up = rig.up;
	keep(&rig.up);
}

/* The operator believes that the gate is at the other end. */
static void check_operator(const struct sr_noise_keys *keys)
{
	static struct sr_channel channel;
	static unsigned char room[64];
	size_t at = 0;

	rig_require(sr_channel_init(&channel, keys, room, sizeof room) == 0);
	rig_require(sr_channel_put(&channel, rig.up.data, &rig.up.bytes,
				   (const unsigned char *)"list", 4, &at) == 0);
	if (!sr_gate_late(&rig.talk, rig.now_ns))
		rig_require(rig_up() == SR_GATE_COMMAND && rig.down.bytes == 0);
	sr_channel_wipe(&channel);
	course.over = true;
	sr_gate_leave(rig.gate, &rig.talk, rig.now_ns);
}

/* The client believes that it has a session. */
static void check_session(void)
{
	struct sr_noise_keys *keys = &rig.secrets->keys;
	const struct sr_admission *admission = &rig.secrets->admission;
	struct sr_seal_config send = { keys,
				       SR_SEAL_SUBMISSION,
				       SR_AEAD_SEAL,
				       course.config.request.first,
				       course.config.request.slot_bytes,
				       course.config.request.depth };
	static struct sr_seal seal;
	unsigned char record[512] = { 0 }, body[512];

	rig_require(course.admitted && !course.spoilt);
	rig_require(sr_setup_finish(&rig.secrets->setup, keys, &rig.secrets->result) == 0);
	rig_require(!memcmp(keys->rs, sr_gate_public_key(rig.gate), sizeof keys->rs));
	if (course.config.is_operator) {
		if (!course.over)
			check_operator(keys);
		return;
	}
	rig_require(admission->terms.first == course.config.request.first);
	rig_require(sr_seal_init(&seal, &send) == 0);
	sr_put64(record, send.first);
	rig_require(sr_seal_apply(&seal, 0, record) == 0);
	rig_require(sr_seal_open(&rig.secrets->admission.seals.requests, 0, body, record) == 0);
	sr_seal_wipe(&seal);
	rig.secrets->ticket = rig.secrets->result.next;
}

/* Delivers rig.up to the gate. An admission stays until the next connection. */
static void say_up(void)
{
	static struct rig_bytes said;
	enum sr_gate_verdict verdict;

	said = rig.up;
	verdict = sr_gate_take(rig.gate, &rig.talk, rig.down.data, &rig.down.bytes,
			       &rig.secrets->admission, rig.up.data, rig.up.bytes, rig.now_ns);
	rig_require((verdict == SR_GATE_SILENT) == (rig.down.bytes == 0)); /* none seals here */
	rig_require((verdict == SR_GATE_REFUSED) == (rig_refusal() != 0));
	rig_require(rig.down.bytes <= SR_CONTROL_BYTES_MAX);
	rig_require(!course.over || verdict == SR_GATE_SILENT);
	if (verdict == SR_GATE_ADMIT) {
		/* Nothing but what a client has written; with a ticket, whenever. */
		rig_require(same(&said, &course.up) || (said.data[10] && was_said(&said)));
		course.admitted = same(&said, &course.up);
	}
	if (verdict == SR_GATE_ANSWER && sr_get32(rig.down.data + 4) == SR_CONTROL_BEGUN) {
		rig_require(same(&said, &course.up) && course.config.is_operator);
		course.admitted = true;
	}
	if (verdict == SR_GATE_REFUSED || verdict == SR_GATE_ADMIT)
		course.over = true;
	if (verdict != SR_GATE_SILENT) {
		course.down = rig.down;
		keep(&rig.down);
	}
}

/* Delivers rig.down to the client. */
static void say_down(void)
{
	static struct rig_bytes said;
	enum sr_setup_code code;

	said = rig.down;
	if (!same(&said, &course.down) && !was_said(&said))
		course.spoilt = true;
	code = rig_down();
	if (code != SR_SETUP_OK) {
		rig_require(rig.up.bytes == 0 && !sr_setup_done(&rig.secrets->setup));
		rig_require(rig_down() == SR_SETUP_OVER);
		return;
	}
	/* What a client goes on with is what the gate has said. */
	rig_require(!course.spoilt);
	if (rig.up.bytes) {
		course.up = rig.up;
		keep(&rig.up);
	}
	if (sr_setup_done(&rig.secrets->setup))
		check_session();
}

static void change(struct rig_bytes *message, uint8_t at, uint8_t value, bool behind)
{
	size_t offset = behind ? message->bytes - 1 - at % (message->bytes ? message->bytes : 1) :
				 at;

	if (offset < message->bytes)
		message->data[offset] ^= value;
}

static void say_input(struct rig_bytes *message, struct input *in, uint8_t a, uint8_t b)
{
	size_t bytes = (size_t)a | (size_t)(b & 0x3f) << 8;

	if (bytes > in->bytes)
		bytes = in->bytes;
	memcpy(message->data, in->data, bytes);
	message->bytes = bytes;
	in->data += bytes;
	in->bytes -= bytes;
	/* Often with the length that is right, or nothing else is ever reached. */
	if (b & 0x40 && bytes >= 4)
		sr_put32(message->data, (uint32_t)bytes);
}

static void act(struct input *in)
{
	uint8_t action = next_byte(in), a = next_byte(in), b = next_byte(in);
	bool down = action & 0x80;
	struct rig_bytes *message = down ? &rig.down : &rig.up;

	*message = down ? course.down : course.up;
	switch (action & 7) {
	case 0:
	case 1:
		break;
	case 2:
		change(message, a, b, action & 8);
		break;
	case 3:
		message->bytes = ((size_t)a << 8 | b) % (message->bytes + 1);
		break;
	case 4:
		say_input(message, in, a, b);
		break;
	case 5:
		*message = kept[a % 4];
		break;
	case 6:
		connect_anew(a);
		return;
	default:
		rig.now_ns += (uint64_t)a * (RIG_SECOND / 16);
		return;
	}
	if (down)
		say_down();
	else
		say_up();
	rig_require(ERR_peek_error() == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct input in = { data, bytes };

	if (!rig.gate)
		rig_require(rig_start() == 0);
	rig.now_ns += 20 * RIG_SECOND;
	connect_anew(next_byte(&in));
	while (in.bytes)
		act(&in);
	sr_gate_leave(rig.gate, &rig.talk, rig.now_ns);
	rig_require(rig_stats().talking == 0);
	sr_setup_wipe(&rig.secrets->setup);
	return 0;
}

#ifdef SR_FUZZ_MAIN
/* Mostly what lets a conversation go on. */
static size_t make_input(uint8_t *input, size_t room)
{
	size_t actions = 1 + fuzz_random() % 12, bytes = 0;

	(void)room; /* 12 actions of at most 403 bytes */
	input[bytes++] = (uint8_t)fuzz_random();
	for (size_t i = 0; i < actions; i++) {
		uint8_t action = (uint8_t)(i % 2 ? 0x80 : 0);

		if (fuzz_random() % 4 == 0)
			action = (uint8_t)fuzz_random();
		input[bytes++] = action;
		input[bytes++] = (uint8_t)fuzz_random();
		input[bytes++] = (uint8_t)fuzz_random();
		if ((action & 7) == 4)
			for (uint64_t n = fuzz_random() % 400; n; n--)
				input[bytes++] = (uint8_t)fuzz_random();
	}
	return bytes;
}
#endif
