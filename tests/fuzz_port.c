/* SPDX-License-Identifier: MIT */
/*
 * fuzz_port.c - arbitrary bytes, and frames that are nearly right, into a port.
 *
 * The input is a script: an operation a byte, its operands behind it. Most
 * operations put a frame into a stream, which is fed in pieces that the script
 * cuts; so sessions get opened, sealed ones too, and records signed. Checked besides
 * what the sanitizers see: output is whole frames of known kinds; a credit is never
 * given back that was not spent; a port that failed stays silent; a sealed session
 * answers a number in one way, and its client can open that.
 */
#include "sr_core.h"
#include "sr_frame.h"
#include "sr_keyring.h"
#include "sr_message.h"
#include "sr_port.h"
#include "sr_record.h"
#include "sr_getrandom.h"
#include "sr_secret.h"
#include "sr_type.h"

#define FUZZ_NAME "port"
#define FUZZ_INPUT_BYTES 4096u
#include "fuzz_main.h"

#define CREDITS 16u
#define SLOT 256u
#define STREAM_BYTES 16384u
#define FIRST (UINT64_MAX - 3)
#define DEPTH 4u
#define KEPT 8u /* records of a sealed session that may come again; a power of two */

struct script {
	const uint8_t *data;
	size_t bytes;
};

/* The client of a sealed session, and what went between it and the signer. */
struct sealed {
	uint32_t name; /* of its token, and its cookie; 0: none was admitted */
	uint32_t session;
	uint64_t next;
	struct sr_seal requests, replies;
	unsigned char sent[KEPT][SLOT];
	unsigned char got[KEPT][SR_CMP_BYTES];
	uint64_t got_number[KEPT];
};

/* One run: the port, the stream to it, and what came out. */
struct run {
	struct sr_core *core;
	struct sealed sealed;
	uint32_t names;
	struct sr_port *port;
	struct script script;
	unsigned char stream[STREAM_BYTES];
	size_t stream_bytes;
	uint64_t records; /* fed and taken */
	uint64_t credits; /* given back */
	uint32_t session; /* the last one that was opened */
	uint64_t number;  /* about where its numbers are */
	bool dead;
	unsigned char output[SR_FRAME_BYTES_MAX];
	size_t output_bytes;
};

static struct sr_curve *curve;
static struct sr_keyring *keys;

static uint8_t take8(struct script *s)
{
	if (s->bytes == 0)
		return 0;
	s->bytes--;
	return *s->data++;
}

static uint32_t take16(struct script *s)
{
	uint32_t low = take8(s);

	return low | (uint32_t)take8(s) << 8;
}

/* What is wrong with the next frame: mostly nothing, or no session lives long. */
static uint8_t take_faults(struct script *s)
{
	return take8(s) < 16 ? take8(s) : 0;
}

static void start_keys(void)
{
	static const unsigned char seed[32] = { 1 };
	struct sr_key_info info = { .id = 1,
				    .permissions = 1u << SR_ECDSA_SHA256 | 1u << SR_BIP340,
				    .nonce_mode = SR_NONCE_HEDGED,
				    .any_uid = true,
				    .identities = 1 };
	unsigned char seckey[SR_SECKEY_BYTES];

	memset(seckey, 0x2a, sizeof seckey);
	require(sr_curve_new(&curve, seed) == 0 && sr_keyring_new(&keys) == 0 &&
			sr_keyring_add(keys, curve, &info, seckey) == 0,
		"cannot start");
}

static void put_frame(struct run *run, uint32_t kind, uint32_t session, uint32_t epoch,
		      const void *payload, uint32_t bytes)
{
	unsigned char *at = run->stream + run->stream_bytes;

	if (STREAM_BYTES - run->stream_bytes < SR_FRAME_HEADER_BYTES + bytes)
		return;
	if (bytes)
		memcpy(at + SR_FRAME_HEADER_BYTES, payload, bytes);
	run->stream_bytes += sr_frame_put(at, kind, session, epoch, bytes);
}

static void put_open(struct run *run)
{
	struct script *s = &run->script;
	unsigned char payload[SR_OPEN_BYTES];
	uint8_t how = take_faults(s);
	struct sr_open_request request = {
		.token = { take8(s) & 3, 0 },
		.first = FIRST,
		.next = how & 4 ? take16(s) : 0,
		.depth = how & 8 ? take8(s) : 4,
		.slot_bytes = how & 16 ? take16(s) : SLOT,
		.uid = how >> 5 & 1,
		.flags = how >> 6,
	};

	sr_open_put(payload, &request);
	put_frame(run, SR_FRAME_OPEN, 0, how ? take8(s) : 1, payload, sizeof payload);
}

static void put_data(struct run *run)
{
	struct script *s = &run->script;
	unsigned char record[SR_SUB_BYTES_MAX] = { 0 };
	unsigned char *request = record + SR_SUB_BODY;
	uint8_t how = take_faults(s), drift = take8(s);
	uint32_t bytes = how & 1 && how & 2 ? take16(s) % sizeof record : SLOT;
	uint64_t n = how & 4 ? take16(s) : run->number;

	/* A gap now and then, and a repeat of a number that may have been passed. */
	if (drift < 16)
		n += drift & 3;
	else if (drift < 48 && n > 4)
		n -= drift & 3;
	else
		run->number = n + 1;
	sr_put64(record, FIRST + n);
	record[SR_SUB_KIND] = SR_KIND_UNSEALED;
	sr_put32(request + SR_REQ_KEY, how & 8 ? take8(s) : 1);
	sr_put16(request + SR_REQ_TYPE, how & 16 ? take8(s) : SR_ECDSA_SHA256);
	sr_put16(request + SR_REQ_BODY_BYTES, (uint16_t)(how & 32 ? take16(s) : 4));
	if (how & 64)
		record[take8(s)] ^= take8(s);
	put_frame(run, SR_FRAME_DATA, how & 128 ? take16(s) : run->session, how ? take8(s) : 1,
		  record, bytes);
}

/* A client that has done its handshake. The one before it, if any, is forgotten
 * here, and remains with the signer until its place is needed. */
static void admit(struct run *run)
{
	struct sealed *sealed = &run->sealed;
	struct sr_admission_terms terms = {
		.token = { ++run->names, 1 },
		.predecessor = { sealed->name, sealed->name != 0 },
		.first = FIRST,
		.depth = DEPTH,
		.slot_bytes = SLOT,
		.flags = take8(&run->script) & 3,
	};
	struct sr_seal_config config = {
		.direction = SR_SEAL_SUBMISSION,
		.way = SR_AEAD_SEAL,
		.first = FIRST,
		.record_bytes = SLOT,
		.depth = DEPTH,
	};
	static struct sr_task task;
	struct sr_noise_keys agreed;

	memset(&agreed, (int)run->names, sizeof agreed);
	config.keys = &agreed;
	sr_seal_wipe(&sealed->requests);
	sr_seal_wipe(&sealed->replies);
	memset(sealed, 0, sizeof *sealed);
	memset(sealed->got_number, 0xff, sizeof sealed->got_number);
	sealed->name = run->names;
	require(sr_seal_init(&sealed->requests, &config) == 0, "no seal");
	config.direction = SR_SEAL_COMPLETION;
	config.way = SR_AEAD_OPEN;
	config.record_bytes = SR_CMP_BYTES;
	require(sr_seal_init(&sealed->replies, &config) == 0, "no seal");
	require(sr_admission_make(&task.admission, &terms, &agreed) == 0, "no admission");
	task.kind = SR_TASK_ADMIT;
	sr_core_task(run->core, &task);
	require(task.result == 0, "not admitted");
	sr_task_wipe(&task);
}

static void put_sealed_open(struct run *run)
{
	struct script *s = &run->script;
	unsigned char payload[SR_OPEN_BYTES];
	uint8_t how = take_faults(s);
	struct sr_open_request request = {
		.token = { how & 1 ? take8(s) : run->sealed.name, 1 },
		.first = how & 2 ? take8(s) : FIRST,
		.next = how & 4 ? take16(s) : 0,
		.depth = how & 8 ? take8(s) : DEPTH,
		.slot_bytes = how & 16 ? take16(s) : SLOT,
		.flags = SR_OPEN_SEALED | how >> 6,
		.cookie = run->sealed.name,
	};

	sr_open_put(payload, &request);
	put_frame(run, SR_FRAME_OPEN, 0, how ? take8(s) : 1, payload, sizeof payload);
}

/* The next record of the sealed session or an earlier one, perhaps spoiled. */
static void put_sealed_data(struct run *run)
{
	struct sealed *sealed = &run->sealed;
	struct script *s = &run->script;
	uint8_t how = take_faults(s), drift = take8(s);
	unsigned char record[SLOT] = { 0 };

	if (!sealed->name)
		return;
	if (drift >= 64 || sealed->next == 0) {
		uint64_t n = sealed->next + (drift >= 240 ? drift & 7 : 0);

		sr_put64(record, FIRST + n);
		record[SR_SUB_KIND] = SR_KIND_SEALED;
		sr_put32(record + SR_SUB_BODY + SR_REQ_KEY, 1);
		sr_put16(record + SR_SUB_BODY + SR_REQ_TYPE, SR_ECDSA_SHA256);
		sr_put16(record + SR_SUB_BODY + SR_REQ_BODY_BYTES, 4);
		require(sr_seal_apply(&sealed->requests, n, record) == 0, "a client cannot seal");
		memcpy(sealed->sent[n % KEPT], record, sizeof record);
		sealed->next = n + 1;
		if (drift & 8) /* lost, or late */
			return;
	} else {
		memcpy(record, sealed->sent[drift % KEPT], sizeof record);
	}
	if (how & 1)
		record[take8(s)] ^= (unsigned char)(take8(s) | 1);
	if (how & 2)
		memcpy(record + take8(s) / 2, sealed->sent[take8(s) % KEPT], 64);
	put_frame(run, SR_FRAME_DATA, how & 4 ? take16(s) : sealed->session, how ? take8(s) : 1,
		  record, sizeof record);
}

static void put_raw(struct run *run)
{
	struct script *s = &run->script;
	size_t bytes = take8(s);

	for (; bytes && run->stream_bytes < STREAM_BYTES; bytes--)
		run->stream[run->stream_bytes++] = take8(s);
}

static void feed(struct run *run, size_t bytes)
{
	if (bytes > run->stream_bytes)
		bytes = run->stream_bytes;
	if (sr_port_feed(run->port, run->stream, bytes))
		run->dead = true;
	else
		require(!run->dead, "a port that failed was fed again");
	run->stream_bytes -= bytes;
	memmove(run->stream, run->stream + bytes, run->stream_bytes);
}

/* What the signer says to a sealed session: once, or the same again. */
static void look_at_sealed(struct sealed *sealed, const unsigned char *reply)
{
	uint64_t n = sr_get64(reply) - FIRST;
	unsigned char body[SR_CMP_BODY_BYTES];

	require(reply[SR_CMP_KIND] == SR_KIND_SEALED, "a sealed session's reply in clear");
	require(n < sealed->next, "a reply to what was never sealed");
	if (sealed->got_number[n % KEPT] == n) {
		require(memcmp(sealed->got[n % KEPT], reply, SR_CMP_BYTES) == 0,
			"two replies under one number");
		return;
	}
	require(sr_seal_open(&sealed->replies, n, body, reply) == 0, "a reply does not open");
	memcpy(sealed->got[n % KEPT], reply, SR_CMP_BYTES);
	sealed->got_number[n % KEPT] = n;
}

static void look_at(struct run *run, const struct sr_frame *frame)
{
	switch (frame->kind) {
	case SR_FRAME_REPLY:
		require(frame->payload_bytes == SR_CMP_BYTES, "a reply's length");
		if (run->sealed.session && frame->session == run->sealed.session)
			look_at_sealed(&run->sealed, frame->payload);
		run->credits++;
		break;
	case SR_FRAME_CREDIT:
		require(frame->payload_bytes == SR_CREDIT_BYTES, "a credit's length");
		run->credits += sr_get32(frame->payload);
		break;
	case SR_FRAME_OPENED:
		if (sr_get32(frame->payload)) {
			if (frame->session && sr_get32(frame->payload) == run->sealed.name)
				run->sealed.session = frame->session;
		} else if (frame->session && frame->session != run->session) {
			run->session = frame->session;
			run->number = 0;
		}
		break;
	case SR_FRAME_HELLO:
	case SR_FRAME_STATUS:
	case SR_FRAME_END:
		break;
	default:
		require(false, "a kind that a signer does not send");
	}
	require(run->credits <= run->records, "more credits than records");
}

static void drain(struct run *run, size_t most)
{
	const void *data;
	size_t bytes = sr_port_output(run->port, &data);

	if (bytes > most)
		bytes = most;
	while (bytes) {
		size_t room = sizeof run->output - run->output_bytes;
		size_t part = bytes < room ? bytes : room;
		struct sr_frame frame;

		memcpy(run->output + run->output_bytes, data, part);
		run->output_bytes += part;
		while (sr_frame_cut(&frame, run->output, run->output_bytes) == 0) {
			look_at(run, &frame);
			run->output_bytes -= frame.bytes;
			memmove(run->output, run->output + frame.bytes, run->output_bytes);
		}
		sr_port_sent(run->port, part);
		bytes = sr_port_output(run->port, &data);
		most -= part;
		if (bytes > most)
			bytes = most;
	}
}

static void begin(struct run *run)
{
	if (take8(&run->script) & 1)
		sr_port_end(run->port);
	sr_port_begin(run->port);
	run->dead = false;
	run->records = run->credits = 0;
	run->stream_bytes = run->output_bytes = 0;
}

static void step(struct run *run)
{
	uint8_t op = take8(&run->script);

	switch (op & 15) {
	case 0:
		if (op >> 4 == 0)
			put_raw(run);
		break;
	case 1:
	case 2:
		put_open(run);
		break;
	case 3:
		put_frame(run, SR_FRAME_STATUS, 0, 0, NULL, 0);
		break;
	case 4:
		put_frame(run, SR_FRAME_END, run->session, op >> 4, NULL, 0);
		break;
	case 5:
		run->records += sr_port_sign(run->port, take8(&run->script) & 7);
		break;
	case 6:
		drain(run, take16(&run->script));
		break;
	case 7:
		feed(run, take8(&run->script));
		break;
	case 8:
		feed(run, STREAM_BYTES);
		run->records += sr_port_sign(run->port, 99);
		drain(run, SIZE_MAX);
		break;
	case 9:
		if (op >> 4 == 0 || run->dead)
			begin(run);
		break;
	case 10:
		if (op >> 4 == 0 || !run->sealed.name)
			admit(run);
		else
			put_sealed_open(run);
		break;
	case 11:
	case 12:
		put_sealed_data(run);
		break;
	default:
		put_data(run);
		break;
	}
	require(sr_port_waiting(run->port) <= CREDITS, "more records wait than were granted");
}

/* A short input seldom gets so far by itself. */
static void start_sealed(struct run *run)
{
	admit(run);
	put_sealed_open(run);
	feed(run, STREAM_BYTES);
	drain(run, SIZE_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct run run;
	struct sr_core_config core_config = {
		.sessions_max = 3,
		.admissions_max = 2,
		.depth_max = 8,
		.slot_bytes_max = SLOT,
		.clear = &sr_core_clear,
	};
	struct sr_port_config port_config = {
		.stream = 1,
		.credit_records = CREDITS,
		.slot_bytes_max = SLOT,
		.sessions_max = 3,
		.write_bytes_max = 4096,
	};
	struct sr_core *core;

	if (!keys)
		start_keys();
	core_config.sign.keys = keys;
	core_config.sign.entropy = &sr_getrandom;
	require(sr_core_new(&core, &core_config) == 0, "no core");
	memset(&run, 0, sizeof run);
	run.core = core;
	port_config.core = core;
	require(sr_port_new(&run.port, &port_config) == 0, "no port");

	run.script = (struct script){ data, bytes };
	sr_port_begin(run.port);
	if (take8(&run.script) & 1)
		start_sealed(&run);
	while (run.script.bytes)
		step(&run);
	drain(&run, SIZE_MAX);
	sr_port_delete(run.port);
	sr_core_delete(core);
	sr_seal_wipe(&run.sealed.requests);
	sr_seal_wipe(&run.sealed.replies);
	return 0;
}
