/* SPDX-License-Identifier: MIT */
/*
 * fuzz_region.c - the agent between a client who writes what he likes into his region
 * and a signer who says what he likes on the stream.
 *
 * The input is a script: an operation a byte, its operands behind it. It publishes by
 * the rules, scribbles over the first client's region, now and then while the agent
 * reads, opens and closes sessions, plays the signer, and breaks or stops the stream.
 * What is checked is in agent_rig.h; and that a region is joined if its header is right
 * and only then.
 */
#define FUZZ_NAME "region"
#define FUZZ_INPUT_BYTES 2048u
#include "fuzz_main.h"

#include "agent_rig.h"
#include "fuzz_race.h"

/* ---- what the signer says ---- */

static void say(uint32_t kind, uint32_t session, uint32_t epoch, const void *payload,
		uint32_t bytes)
{
	struct stream *s = &rig.stream;
	unsigned char *at = s->down + s->down_bytes;
	uint8_t how = rig_take8();

	if (!s->up || DOWN_BYTES - s->down_bytes < SR_FRAME_HEADER_BYTES + bytes)
		return;
	if (bytes)
		memcpy(at + SR_FRAME_HEADER_BYTES, payload, bytes);
	s->down_bytes += sr_frame_put(at, kind, session, epoch, bytes);
	if (how >= 8)
		return;
	s->spoilt = true; /* one byte is another, or the frame is short */
	if (how < 4)
		at[rig_take8() % (SR_FRAME_HEADER_BYTES + bytes)] ^= (unsigned char)(rig_take8() | 1);
	else
		s->down_bytes -= rig_take8() % (SR_FRAME_HEADER_BYTES + bytes);
}

static void say_hello(void)
{
	unsigned char payload[SR_HELLO_BYTES];
	uint8_t how = rig_take8();
	struct sr_hello hello = {
		.protocol = SR_PROTOCOL,
		.credit_records = how & 15,
		.slot_bytes_max = SLOT,
		.write_bytes_max = how & 16 ? rig_take16() : 0,
		.sessions_max = how & 32 ? rig_take8() : 4,
		.boot_id = { rig.boot, 1 },
	};

	if (how & 64)
		hello.boot_id[0] = ++rig.boot;
	if (rig.stream.credits == 0)
		rig.stream.credits = hello.credit_records;
	sr_hello_put(payload, &hello);
	say(SR_FRAME_HELLO, 0, 0, payload, sizeof payload);
}

static void say_opened(void)
{
	unsigned char payload[SR_OPENED_BYTES];
	struct stream *s = &rig.stream;
	uint8_t how = rig_take8();
	struct sr_opened opened = { .result = how & 1 ? rig_take8() & 7 : 0 };
	uint32_t id = 0x1000u * (1 + (how >> 6)) + (how >> 1 & 7);
	int flow = -1;

	if (how & 16) {
		opened.cookie = rig_take8();
	} else if (s->asked_count) {
		opened.cookie = s->asked[0].cookie;
		flow = s->asked[0].flow;
		memmove(s->asked, s->asked + 1, --s->asked_count * sizeof *s->asked);
	} else {
		return;
	}
	if (s->id_count == IDS)
		return;
	s->ids[s->id_count++] = (struct id){ id, flow };
	s->answers++;
	/* A guessed cookie may be right. */
	for (int i = 0; how & 16 && i < (int)FLOWS && s->id_count < IDS; i++)
		s->ids[s->id_count++] = (struct id){ id, i };
	sr_opened_put(payload, &opened);
	say(SR_FRAME_OPENED, id, flow < 0 ? 0 : rig.flows[flow].session.epoch, payload,
	    sizeof payload);
}

static void say_reply(void)
{
	unsigned char payload[SR_CMP_BYTES] = { 0 };
	uint8_t how = rig_take8();
	const struct flow *f = &rig.flows[how % FLOWS];
	uint64_t n = f->seen + (how >> 2 & 7) - (how & 128 ? 4 : 0);

	sr_put64(payload, f->session.first + n);
	payload[SR_CMP_KIND] = SR_KIND_SEALED;
	payload[SR_CMP_BODY] = rig_take8();
	rig.stream.given_back++;
	say(SR_FRAME_REPLY, how & 64 && how & 32 ? rig_take16() : f->session.id,
	    f->session.epoch + (how == 0x61), payload,
	    (how & 0x9c) == 0x00 ? rig_take8() & 127 : SR_CMP_BYTES);
}

static void say_something(uint8_t what)
{
	unsigned char payload[256] = { 0 };
	uint8_t how = rig_take8();

	switch (what & 3) {
	case 0:
		sr_put32(payload, how);
		rig.stream.given_back += how;
		say(SR_FRAME_CREDIT, 0, 0, payload, how == 255 ? 3 : SR_CREDIT_BYTES);
		break;
	case 1:
		say(SR_FRAME_END, rig.flows[how % FLOWS].session.id,
		    rig.flows[how % FLOWS].session.epoch, NULL, 0);
		break;
	case 2:
		rig.stream.answers++;
		say(SR_FRAME_STATUS, 0, 0, payload, how);
		break;
	default:
		if (how < 16)
			say(how, rig_take16(), rig_take8(), payload, rig_take8() & 127);
		rig.stream.spoilt |= how < 16;
		break;
	}
}

/* ---- the clients ---- */

static void publish(uint8_t how)
{
	struct flow *f = &rig.flows[how % FLOWS];
	struct sr_slots slots = sr_region_slots(&rig.own[how % FLOWS / EACH], f->session.index);
	unsigned char record[SLOT] = { 0 };

	if (!f->away)
		return;
	if (how & 64)
		sr_put64(record + SR_SUB_DEADLINE, how & 128 ? 1 : UINT64_MAX);
	record[SR_SUB_KIND] = SR_KIND_UNSEALED;
	for (uint32_t i = 0; i <= (how >> 2 & 3); i++)
		if (f->published - f->seen < DEPTH && f->published < NUMBERS - DEPTH)
			sr_slot_publish(&slots, f->session.first + f->published++, record);
}

/* Something where it does not belong: bytes, or a word that nearly belongs there. */
static void scribble(uint8_t how)
{
	unsigned char *base = rig.own[0].base;
	size_t bytes = rig.own[0].bytes;
	const struct flow *f = &rig.flows[how >> 1 & 1];
	struct sr_slots slots = sr_region_slots(&rig.own[0], how >> 1 & 1);

	if ((how & 3) == 3) {
		base[rig_take8() % 64] ^= (unsigned char)(1u << (how >> 5));
	} else if (how & 1) {
		size_t at = (how & 4 ? rig_take16() : rig_take8()) % (bytes - 8);

		sr_put64(base + at, how & 8 ? rig_take64() : (uint64_t)rig_take8() << (how >> 4));
	} else {
		uint64_t word = f->session.first + f->seen + (how >> 2 & 3);

		sr_store_release((uint64_t *)(void *)sr_slot_at(&slots, word),
				 how & 32 ? rig_take64() : word + (how & 16 ? DEPTH : 0));
	}
}

static void reset_session(struct flow *f, uint64_t next)
{
	struct sr_agent_session *s = &f->session;

	sr_slots_reset(&s->completion, s->first + next);
	memset(s->block, 0, sizeof *s->block);
	memset(f->done, 0, sizeof f->done);
	for (uint32_t i = 0; i < DEPTH; i++)
		memcpy(f->completions[i], s->completion.base + i * SR_CMP_BYTES, SR_CMP_BYTES);
	f->seen = next;
	memset(f->sent, 0, sizeof f->sent);
	f->sent_on_this = 0;
}

/* Opens a session, or resumes it, as the attach thread does. */
static void open_session(uint8_t how)
{
	uint32_t at = how % FLOWS;
	struct flow *f = &rig.flows[at];
	struct sr_agent_client *c = &rig.clients[at / EACH];
	struct sr_slots own = sr_region_slots(&rig.own[at / EACH], at % EACH);
	bool resume = how & 4 && f->resumable;
	uint64_t first = ((uint64_t)at << 61) - 3 + (uint64_t)(rig.epoch - 1) * NUMBERS;

	if (f->away)
		return;
	f->session = (struct sr_agent_session){
		.client = c,
		.index = at % EACH,
		.epoch = ++rig.epoch,
		.flags = (resume ? SR_OPEN_RESUME : 0) | (at & 1 ? SR_OPEN_PRIORITY : 0),
		.token = { at + 1, 7 },
		.first = resume ? f->session.first : first,
		.depth = DEPTH,
		.submission = sr_region_slots(&c->submission, at % EACH),
		.completion = sr_region_slots(&c->completion, at % EACH),
		.client_block = sr_region_block(&c->submission, at % EACH),
		.block = sr_region_block(&c->completion, at % EACH),
		.wait_fd = -1,
		.ring_fd = -1,
		.done = f->done,
	};
	if (!resume) {
		f->published = 0;
		sr_slots_reset(&own, f->session.first);
	}
	reset_session(f, resume ? f->seen : 0);
	f->session.next_send = f->session.first_open = f->seen;
	f->session.forwarded_max = f->may_have_left = f->published;
	f->away = true;
	f->resumable = true;
	require(sr_mailbox_put(&rig_agent->to_loop, (struct sr_mail){ SR_MAIL_OPEN, 0, &f->session }) ==
			0,
		"no room for mail");
}

static void close_session(uint8_t how)
{
	struct flow *f = &rig.flows[how % FLOWS];

	if (!f->away || f->session.close_posted)
		return;
	f->session.close_posted = true;
	require(sr_mailbox_put(&rig_agent->to_loop, (struct sr_mail){ SR_MAIL_CLOSE, 0, &f->session }) ==
			0,
		"no room for mail");
}

/* A peer that is not ours yet, with a header that the script may have changed. */
static void join(uint8_t how)
{
	static const struct sr_geometry wrong[] = {
		{ 0, DEPTH, SLOT },	      { EACH, 0, SLOT },
		{ EACH, 3, SLOT },	      { EACH, DEPTH, 0 },
		{ EACH, DEPTH, SLOT - 1 },    { UINT32_MAX, UINT32_MAX, UINT32_MAX },
		{ 64, 4096, SR_SUB_BYTES_MAX }, { EACH, DEPTH, 2 * SLOT },
	};
	static const struct sr_geometry deep = { EACH, RIG_DEPTH_BRIEF, SLOT };
	struct sr_region_header h;
	struct sr_region region;
	bool right;
	int ret;

	memcpy(&h, rig.own[0].base, sizeof h);
	h.abi_minor = rig.header.abi_minor;
	h.features = rig.header.features;
	h.creator_pid = rig.header.creator_pid;
	h.creator_start_ticks = rig.header.creator_start_ticks;
	right = memcmp(&h, &rig.header, offsetof(struct sr_region_header, creator_pid)) == 0;
	if (how & 1) {
		ret = sr_region_join(&region, SR_REGION_SUBMISSION, &wrong[how >> 1 & 7],
				     rig.own[0].fd, NULL);
		require(ret == -EPROTO, "joined with other sizes than were agreed");
		ret = sr_region_join(&region, SR_REGION_SUBMISSION, &deep, rig.brief.fd, NULL);
		require(ret == -EPROTO, "joined a file that is too short");
		return;
	}
	ret = sr_region_join(&region, how & 2 ? SR_REGION_COMPLETION : SR_REGION_SUBMISSION,
			     &rig_geometry, rig.own[0].fd, NULL);
	require((ret == 0) == (right && !(how & 2)), "joined by a header that is not right");
	if (ret == 0)
		sr_region_drop(&region);
	else
		require(ret == -EPROTO, "a header's error");
}

/* ---- a client that writes while the agent reads ---- */

static uint32_t race_at; /* which session, and the number that it begins at */

static void race_write(uint32_t round)
{
	const struct flow *f = &rig.flows[race_at & 1];
	struct sr_slots slots = sr_region_slots(&rig.own[0], race_at & 1);
	uint64_t word = f->session.first + (race_at >> 1) + round / 8 % DEPTH;
	unsigned char *slot = sr_slot_at(&slots, word);

	sr_store_release((uint64_t *)(void *)slot, round & 7 ? word : word - DEPTH);
	sr_store_relaxed((uint64_t *)(void *)(slot + SR_SUB_DEADLINE), round & 1);
	sr_store_relaxed((uint64_t *)(void *)(slot + SR_SUB_KIND), round);
}

static void race_read(void)
{
	rig_turn(64);
}

static void race(uint8_t how)
{
	race_at = (how & 1) | (uint32_t)rig.flows[how & 1].seen << 1;
	fuzz_race(race_write, race_read);
}

/* ---- a run ---- */

static void step(void)
{
	uint8_t op = rig_take8(), how = rig_take8();

	switch (op & 15) {
	case 0:
	case 1:
		publish(how);
		break;
	case 2:
		scribble(how);
		break;
	case 3:
		open_session(how);
		break;
	case 4:
		if (op & 16)
			close_session(how);
		break;
	case 5:
		say_hello();
		break;
	case 6:
	case 7:
		say_opened();
		break;
	case 8:
	case 9:
		say_reply();
		break;
	case 10:
		say_something(how);
		break;
	case 11:
		rig.stream.room = how & 1 ? SIZE_MAX : (size_t)how * 4;
		rig.stream.chunk = op & 16 ? SIZE_MAX : how;
		break;
	case 12:
		rig.stream.fails = (op & 0xf0) == 0;
		rig_agent->loop.retry_ns = 0; /* time passes */
		break;
	case 13:
		if ((op & 0xf0) == 0)
			join(how);
		else if ((op & 0xf0) == 0x10 && how < 64)
			race(how);
		break;
	default:
		break;
	}
	rig_turn(op >> 5);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	if (!rig_agent)
		rig_start();
	rig.script = (struct script){ data, bytes };
	rig_begin();
	/* A short input seldom gets so far by itself. */
	if (rig_take8() & 7) {
		rig_turn(1);
		rig.script = (struct script){ (const uint8_t *)"\x08\xff", 2 }; /* 8 credits */
		say_hello();
		rig.script = (struct script){ data + (bytes > 0), bytes - (bytes > 0) };
		rig_turn(1);
		for (uint8_t i = 0; i < FLOWS; i++)
			open_session(i);
		rig_turn(2);
	}
	while (rig.script.bytes)
		step();
	for (uint8_t i = 0; i < FLOWS; i++)
		close_session(i);
	rig.stream.room = SIZE_MAX;
	rig.stream.fails = false;
	rig_turn(8);
	for (uint32_t i = 0; i < FLOWS; i++)
		require(!rig.flows[i].away, "a session that never came back");
	return 0;
}
