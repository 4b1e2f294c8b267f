/* SPDX-License-Identifier: MIT */
/*
 * agent_rig.h - an agent's loop between clients and a stream that a fuzz target makes
 * up, and who watches both.
 *
 * There are two clients of two sessions each; the first may break its region, the
 * second keeps the rules. On the stream there must be whole frames that an agent may
 * send, of sessions that this stream's signer has opened, each record once and within
 * its credits. Each completion is published once, never rewritten, and never says of a
 * record that was sent that it was not. A session comes back once; who kept the rules
 * is never called hostile; the loop allocates nothing.
 *
 * For a program that has included fuzz_main.h.
 */
#ifndef AGENT_RIG_H
#define AGENT_RIG_H

#include "fuzz_heap.h"
#include "sr_agent_state.h"

#define CLIENTS 2u
#define EACH 2u /* sessions of a client */
#define FLOWS (CLIENTS * EACH)
#define DEPTH 4u
#define SLOT 256u
#define RIG_DEPTH_BRIEF 1024u /* takes more pages */
#define NUMBERS 4096u /* of a session: none gets so far */
#define IDS 64u       /* OPENED answers of one stream that are remembered */
#define UP_BYTES 65536u
#define DOWN_BYTES 16384u

struct script {
	const uint8_t *data;
	size_t bytes;
};

/* One session, as its client and the one who watches see it. */
struct flow {
	struct sr_agent_session session;
	uint8_t done[DEPTH];
	bool away;             /* the loop has it */
	bool resumable;        /* it was open, and was not thrown out */
	uint64_t published;    /* numbers below were, by the rules */
	uint64_t may_have_left; /* numbers below, with an agent before */
	uint64_t sent[DEPTH];  /* the number that was last sent of each slot, plus one */
	uint64_t sent_on_this; /* ... on this stream, under this id */
	uint64_t seen;         /* completions */
	unsigned char completions[DEPTH][SR_CMP_BYTES];
};

struct id {
	uint32_t id;
	int flow; /* -1: nobody had asked */
};

/* The signer's end of one stream. */
struct stream {
	bool up, spoilt, fails; /* spoilt: bytes were said that no signer says */
	struct id ids[IDS];
	uint32_t id_count;
	struct {
		uint32_t cookie;
		int flow;
	} asked[FLOWS];
	uint32_t asked_count;
	uint32_t questions, answers;
	uint32_t credits, records, given_back;
	size_t room, chunk; /* of a send and a receive */
	unsigned char up_data[UP_BYTES];
	size_t up_bytes;
	unsigned char kept[SR_WRITE_BYTES_MAX]; /* offered and not taken */
	size_t kept_bytes;
	unsigned char down[DOWN_BYTES];
	size_t down_bytes;
};

static struct rig {
	struct script script;
	struct sr_region own[CLIENTS]; /* the clients' mappings */
	struct sr_region_header header;
	struct sr_region brief; /* its file is shorter than its header's geometry */
	struct sr_agent_client clients[CLIENTS];
	struct flow flows[FLOWS];
	struct stream stream;
	uint32_t boot, epoch;
} rig;

static struct sr_agent *rig_agent;
static const struct sr_geometry rig_geometry = { EACH, DEPTH, SLOT };

static inline uint8_t rig_take8(void)
{
	if (rig.script.bytes == 0)
		return 0;
	rig.script.bytes--;
	return *rig.script.data++;
}

static inline uint32_t rig_take16(void)
{
	uint32_t low = rig_take8();

	return low | (uint32_t)rig_take8() << 8;
}

static inline uint64_t rig_take64(void)
{
	uint64_t value = 0;

	for (int i = 0; i < 8; i++)
		value = value << 8 | rig_take8();
	return value;
}

static inline bool is_hostile(const struct flow *f)
{
	return f->session.client == &rig.clients[0];
}

/* ---- what comes out of the agent ---- */

static inline bool was_given(uint32_t id, int flow)
{
	for (uint32_t i = 0; i < rig.stream.id_count; i++)
		if (rig.stream.ids[i].id == id && (flow < 0 || rig.stream.ids[i].flow == flow))
			return true;
	return false;
}

static inline void look_at_data(const struct sr_frame *frame)
{
	uint64_t word = sr_get64(frame->payload);

	require(frame->payload_bytes == SLOT, "a record's length");
	rig.stream.records++;
	for (uint32_t i = 0; i < FLOWS; i++) {
		struct flow *f = &rig.flows[i];
		uint64_t n = word - f->session.first;

		if (n >= NUMBERS || frame->epoch != f->session.epoch)
			continue;
		require(was_given(frame->session, (int)i) || rig.stream.spoilt,
			"a record under a number that the signer gave to another");
		require(n >= f->sent_on_this, "a record twice, or out of order");
		require((int64_t)(n - f->session.first_open) < (int64_t)DEPTH,
			"a record that has no slot");
		require(is_hostile(f) || n < f->published, "a record that nobody published");
		f->sent_on_this = n + 1;
		f->sent[n % DEPTH] = n + 1;
		return;
	}
	/* Of a session that has come back since it was copied. */
	require(frame->epoch < rig.epoch, "a record of no session");
}

static inline void look_at_open(const struct sr_frame *frame)
{
	struct stream *s = &rig.stream;
	struct sr_open_request open;

	require(sr_open_get(&open, frame) == 0 && frame->session == 0, "an OPEN");
	for (uint32_t i = 0; i < FLOWS; i++)
		if (open.token[0] == rig.flows[i].session.token[0] &&
		    open.first == rig.flows[i].session.first) {
			require(frame->epoch == rig.flows[i].session.epoch, "an OPEN's epoch");
			require(open.depth == DEPTH && open.slot_bytes == SLOT, "an OPEN's sizes");
			rig.flows[i].sent_on_this = 0;
			if (s->asked_count == FLOWS)
				memmove(s->asked, s->asked + 1, --s->asked_count * sizeof *s->asked);
			s->asked[s->asked_count].cookie = open.cookie;
			s->asked[s->asked_count++].flow = (int)i;
			return;
		}
	/* Of a session that has come back in the meantime. */
}

static inline void look_at(const struct sr_frame *frame)
{
	struct stream *s = &rig.stream;

	switch (frame->kind) {
	case SR_FRAME_DATA:
		look_at_data(frame);
		break;
	case SR_FRAME_OPEN:
		s->questions++;
		look_at_open(frame);
		break;
	case SR_FRAME_STATUS:
		s->questions++;
		require(frame->payload_bytes == 0, "a STATUS");
		break;
	case SR_FRAME_END:
		require(frame->payload_bytes == 0, "an END");
		require(was_given(frame->session, -1) || s->spoilt,
			"an END of what this stream's signer never opened");
		break;
	default:
		require(false, "a kind that an agent does not send");
	}
	require(s->spoilt || s->records <= s->credits + s->given_back, "more than the credits");
	require(s->spoilt || s->questions <= rig_agent->loop.asked_max + s->answers,
		"more questions than will be answered");
}

/* ---- the stream ---- */

static inline int stream_connect(struct sr_transport *t)
{
	struct stream *s = &rig.stream;

	(void)t;
	require(!s->up, "connected twice");
	if (s->fails)
		return -ECONNREFUSED;
	memset(s, 0, offsetof(struct stream, up_data));
	s->up_bytes = s->kept_bytes = s->down_bytes = 0;
	s->room = s->chunk = SIZE_MAX;
	s->up = true;
	for (uint32_t i = 0; i < FLOWS; i++)
		rig.flows[i].sent_on_this = 0;
	return 0;
}

static inline ssize_t stream_send(struct sr_transport *t, const void *data, size_t bytes)
{
	struct stream *s = &rig.stream;
	size_t taken = bytes < s->room ? bytes : s->room;
	size_t same = bytes < s->kept_bytes ? bytes : s->kept_bytes;
	struct sr_frame frame;

	(void)t;
	require(s->up && bytes > 0 && bytes <= rig_agent->config.write_bytes_max, "a write's length");
	require(memcmp(s->kept, data, same) == 0, "bytes changed while they waited");
	memcpy(s->kept, (const unsigned char *)data + taken, bytes - taken);
	s->kept_bytes = bytes - taken;
	if (s->fails)
		return -EPIPE;
	if (taken == 0)
		return -EAGAIN;
	s->room -= s->room == SIZE_MAX ? 0 : taken;
	require(s->up_bytes + taken <= UP_BYTES, "frames that are never whole");
	memcpy(s->up_data + s->up_bytes, data, taken);
	s->up_bytes += taken;
	while (sr_frame_cut(&frame, s->up_data, s->up_bytes) == 0) {
		look_at(&frame);
		s->up_bytes -= frame.bytes;
		memmove(s->up_data, s->up_data + frame.bytes, s->up_bytes);
	}
	require(s->up_bytes < SR_FRAME_BYTES_MAX, "no frame");
	return (ssize_t)taken;
}

static inline ssize_t stream_recv(struct sr_transport *t, void *data, size_t bytes)
{
	struct stream *s = &rig.stream;
	size_t part = s->down_bytes < s->chunk ? s->down_bytes : s->chunk;

	(void)t;
	require(s->up && bytes > 0, "a read without room");
	if (s->fails)
		return -ECONNRESET;
	if (part > bytes)
		part = bytes;
	if (part == 0)
		return -EAGAIN;
	memcpy(data, s->down, part);
	s->down_bytes -= part;
	memmove(s->down, s->down + part, s->down_bytes);
	return (ssize_t)part;
}

static inline void stream_hangup(struct sr_transport *t)
{
	(void)t;
	require(rig.stream.up, "hung up twice");
	rig.stream.up = false;
}

static inline int stream_wait_fd(const struct sr_transport *t)
{
	(void)t;
	return -1;
}

static inline void stream_destroy(struct sr_transport *t)
{
	(void)t;
}

static const struct sr_transport_ops stream_ops = {
	"fuzz", stream_connect, stream_send, stream_recv, stream_hangup, stream_wait_fd,
	NULL,   stream_destroy,
};
static struct sr_transport transport = { &stream_ops, true };

/* ---- watching ---- */

static inline void look_at_completion(struct flow *f, uint64_t n, const unsigned char *record)
{
	uint8_t status = record[SR_CMP_STATUS];

	require(is_hostile(f) || n < f->published, "a completion of what nobody published");
	if (rig.stream.spoilt)
		return;
	if (record[SR_CMP_KIND] == SR_KIND_SEALED) {
		for (uint32_t i = SR_CMP_BODY + 1; i < SR_CMP_BYTES; i++)
			require(record[i] == 0, "a completion that the signer never said");
		return;
	}
	require(record[SR_CMP_KIND] == SR_KIND_AGENT, "a completion of no kind");
	require(status == SR_UNKNOWN || (status >= SR_EXPIRED && status <= SR_SESSION_LOST),
		"a word that is not the agent's");
	/* Who takes a record back after it was sent lies to himself. */
	require(status == SR_UNKNOWN || is_hostile(f) ||
			(n >= f->may_have_left && f->sent[n % DEPTH] != n + 1),
		"said not to be sent, and was");
}

/* Each slot holds what it held, or the completion that follows it there. */
static inline void watch(struct flow *f)
{
	const struct sr_agent_session *s = &f->session;

	for (uint32_t i = 0; i < DEPTH; i++) {
		const unsigned char *slot = s->completion.base + i * SR_CMP_BYTES;
		unsigned char *kept = f->completions[i];

		if (memcmp(slot, kept, SR_CMP_BYTES) == 0)
			continue;
		require(sr_get64(slot) == sr_get64(kept) + DEPTH, "a completion was rewritten");
		look_at_completion(f, sr_get64(slot) - s->first, slot);
		memcpy(kept, slot, SR_CMP_BYTES);
	}
	/* The client takes them in order. */
	while (sr_slot_look(&s->completion, s->first + f->seen) == 0)
		f->seen++;
	require(!s->held || s->phase != SR_AGENT_BOUND ||
			rig_agent->loop.route[SR_SESSION_INDEX(s->id)] == s,
		"two sessions under one number");
	require(s->phase == SR_AGENT_HOSTILE || s->first_open <= f->seen, "not published in order");
}

static inline struct flow *flow_of(const void *session)
{
	for (uint32_t i = 0; i < FLOWS; i++)
		if (session == &rig.flows[i].session)
			return &rig.flows[i];
	require(false, "mail about no session");
	return NULL;
}

static inline void take_mail(const struct sr_mail *mail)
{
	struct flow *f;

	switch (mail->kind) {
	case SR_MAIL_OPENED:
		f = flow_of(mail->object);
		require(f->away, "opened, and not asked to");
		if (mail->value == SR_RESULT_OK || f->session.close_posted)
			break;
		f->away = f->resumable = false;
		break;
	case SR_MAIL_CLOSED:
		f = flow_of(mail->object);
		require(f->away && f->session.close_posted, "came back twice");
		f->away = false;
		break;
	case SR_MAIL_HOSTILE:
		f = flow_of(mail->object);
		require(is_hostile(f), "an honest client was called hostile");
		f->resumable = false; /* and is closed in a while */
		break;
	default:
		break;
	}
}

static inline void rig_turn(uint32_t turns)
{
	struct sr_mail mail;

	while (turns--) {
		fuzz_heap_forbid(true);
		(void)sr_agent_loop_turn(rig_agent);
		fuzz_heap_forbid(false);
		require(rig_agent->loop.in_flight <= rig_agent->loop.credits, "more than the credits");
		for (uint32_t i = 0; i < FLOWS; i++)
			if (rig.flows[i].away)
				watch(&rig.flows[i]);
		while (sr_mailbox_get(&rig_agent->to_attach, &mail) == 0)
			take_mail(&mail);
	}
}

/* ---- birth ---- */

static inline void rig_start(void)
{
	struct sr_geometry replies = { EACH, DEPTH, SR_CMP_BYTES };

	rig_agent = aligned_alloc(SR_LINE_BYTES, sizeof *rig_agent);
	require(rig_agent != NULL, "no memory");
	memset(rig_agent, 0, sizeof *rig_agent);
	for (uint32_t i = 0; i < CLIENTS; i++) {
		struct sr_agent_client *c = &rig.clients[i];

		require(sr_region_create(&rig.own[i], SR_REGION_SUBMISSION, &rig_geometry, 0, -1,
					 NULL) == 0 &&
				sr_region_join(&c->submission, SR_REGION_SUBMISSION, &rig_geometry,
					       rig.own[i].fd, NULL) == 0 &&
				sr_region_create(&c->completion, SR_REGION_COMPLETION, &replies, 0,
						 -1, NULL) == 0,
			"no region");
	}
	memcpy(&rig.header, rig.own[0].base, sizeof rig.header);
	require(sr_region_create(&rig.brief, SR_REGION_SUBMISSION, &rig_geometry, 0, -1, NULL) == 0,
		"no region");
	((struct sr_region_header *)(void *)rig.brief.base)->depth = RIG_DEPTH_BRIEF;
	for (unsigned int class = 0; class < 2; class++) {
		rig_agent->loop.sessions[class] = calloc(FLOWS, sizeof *rig_agent->loop.sessions[class]);
		require(rig_agent->loop.sessions[class] != NULL, "no memory");
	}
	rig_agent->wake_fd = rig_agent->poll_fd = -1;
}

static inline void rig_begin(void)
{
	struct sr_agent_session **sessions[2] = { rig_agent->loop.sessions[0],
						  rig_agent->loop.sessions[1] };

	memset(&rig_agent->loop, 0, offsetof(struct sr_agent_loop, in));
	memset(&rig_agent->counters, 0, sizeof rig_agent->counters);
	memcpy(rig_agent->loop.sessions, sessions, sizeof sessions);
	rig_agent->to_loop.head = rig_agent->to_loop.tail = 0;
	rig_agent->to_attach.head = rig_agent->to_attach.tail = 0;
	rig_agent->loop.transport = &transport;
	sr_agent_config_init(&rig_agent->config);
	rig_agent->config.sessions_max = FLOWS;
	rig_agent->config.write_bytes_max = 1024;

	memset(rig.flows, 0, sizeof rig.flows);
	rig.stream.up = rig.stream.fails = false;
	rig.boot = rig.epoch = 1;
	memset(rig.own[0].base, 0, rig.own[0].bytes);
	memcpy(rig.own[0].base, &rig.header, sizeof rig.header);
}

#endif /* AGENT_RIG_H */
