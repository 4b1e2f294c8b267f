/* SPDX-License-Identifier: MIT */
/*
 * malice_agent.h - an agent that is not to be trusted.
 *
 * It is the real one, with a transport in between that cuts what passes into frames and
 * gives each to an attack: to pass on, to keep, to change, to follow by others. The
 * attack runs on the polling thread and has the agent's own state, so it can also write
 * into the completion region what it likes, and forge the agent's books so that the
 * agent goes on. Control conversations go through a proxy of the same kind.
 *
 * What it has seen it keeps, all of it: the referee looks through that for what nobody
 * but client and signer may have. It watches the signer as well: no number may ever get
 * two sealed replies that differ.
 */
#ifndef MALICE_AGENT_H
#define MALICE_AGENT_H

#include <pthread.h>

#include "malice_talk.h"
#include "sr_agent_state.h"
#include "sr_address.h"
#include "sr_frame.h"

#define MALICE_SEEN_BYTES (8u << 20)
#define MALICE_REPLIES (1u << 16)
#define MALICE_WAY_BYTES (1u << 19)

struct malice_agent;

/* A frame on its way, and whose it is. Borrowed for as long as the attack has it. */
struct malice_frame {
	struct sr_frame frame;
	const unsigned char *raw; /* with its header, frame.bytes of it */
	struct sr_agent_session *session; /* NULL: nobody's any more, or no session's */
	uint64_t n;                       /* of a record: its number */
	bool victim; /* client 0's session 0, and a request of its application */
	bool first;  /* ... and the message with which the session begins */
};

/* Each returns true when it has done with the frame what is to be done. */
struct malice_attack {
	bool (*up)(struct malice_agent *e, const struct malice_frame *f);   /* DATA */
	bool (*down)(struct malice_agent *e, const struct malice_frame *f); /* REPLY */
	void (*tick)(struct malice_agent *e); /* at every turn of the agent */
	/* A whole control message, on the proxy's thread; see malice_talk.h. */
	bool (*control)(struct malice_talks *t, unsigned int talk, bool up, unsigned char *message,
			size_t bytes);
};

struct malice_way {
	size_t in_bytes;
	size_t out_bytes;
	unsigned char in[MALICE_WAY_BYTES];
	unsigned char out[MALICE_WAY_BYTES];
};

struct malice_reply {
	uint64_t word;
	uint32_t session; /* 0: free */
	unsigned char record[SR_CMP_BYTES];
};

struct malice_agent {
	struct sr_transport transport; /* first */
	struct sr_transport *real;
	struct sr_agent *agent;
	const struct malice_attack *attack;
	bool broken; /* the attack wants the stream to break */
	uint32_t asked; /* the referee's question that is on its way, or answered */
	uint64_t asked_at;                  /* the STATUS that it is, of this stream */
	uint64_t statuses_up, statuses_down; /* of this stream */
	struct malice_way up;
	struct malice_way down;
	size_t seen_bytes; /* all in all; what is kept is the end of it */
	unsigned char seen[MALICE_SEEN_BYTES];
	struct malice_reply replies[MALICE_REPLIES];
};

static const struct malice_attack *malice_attack; /* set before the agent is forked */
static const char *malice_other; /* likewise: stream of another signer, or NULL */

static inline void malice_hit(void)
{
	sr_store_relaxed(&malice->words.hits, malice->words.hits + 1);
}

static inline bool malice_armed(void)
{
	return sr_load32_acquire(&malice->words.armed);
}

static inline uint32_t malice_phase(void)
{
	return sr_load32_acquire(&malice->words.phase);
}

static inline void malice_set_phase(uint32_t now)
{
	sr_store32_release(&malice->words.phase, now);
}

/* ---- what an attack does with frames ---- */

static inline void malice_see(struct malice_agent *e, const unsigned char *data, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		e->seen[e->seen_bytes++ % MALICE_SEEN_BYTES] = data[i];
}

static inline void malice_send(struct malice_way *way, const unsigned char *raw, size_t bytes)
{
	MP_CHECK(bytes <= sizeof way->out - way->out_bytes, "the attack sends too much at once");
	memcpy(way->out + way->out_bytes, raw, bytes);
	way->out_bytes += bytes;
}

static inline void malice_send_record(struct malice_way *way, const struct malice_frame *f,
				      uint32_t session, uint32_t epoch, const unsigned char *record,
				      uint32_t bytes)
{
	unsigned char header[SR_FRAME_HEADER_BYTES];

	(void)sr_frame_put(header, f->frame.kind, session, epoch, bytes);
	malice_send(way, header, sizeof header);
	malice_send(way, record, bytes);
}

/* The record of this frame changed, under its own header. */
static inline void malice_send_changed(struct malice_way *way, const struct malice_frame *f,
				       const unsigned char *record)
{
	malice_send_record(way, f, f->frame.session, f->frame.epoch, record,
			   f->frame.payload_bytes);
}

/* What was kept from the signer, or from the agent, leaves a credit to return. */
static inline void malice_credit(struct malice_agent *e)
{
	unsigned char frame[SR_FRAME_HEADER_BYTES + SR_CREDIT_BYTES];

	sr_put32(frame + SR_FRAME_HEADER_BYTES, 1);
	(void)sr_frame_put(frame, SR_FRAME_CREDIT, 0, 0, SR_CREDIT_BYTES);
	malice_send(&e->down, frame, sizeof frame);
}

/* ---- what an attack does with regions ---- */

/* Publish as the agent would; the slot word is the record's own when @own. */
static inline void malice_publish(struct sr_agent_session *s, uint64_t n,
				  const unsigned char *record, bool own)
{
	unsigned char *slot = sr_slot_at(&s->completion, s->first + n);

	memcpy(slot + SR_SLOT_WORD_BYTES, record + SR_SLOT_WORD_BYTES,
	       SR_CMP_BYTES - SR_SLOT_WORD_BYTES);
	sr_store_release((uint64_t *)(void *)slot, own ? sr_get64(record) : s->first + n);
}

/* The agent thinks that it has answered n: a reply that comes is ignored. */
static inline void malice_books(struct sr_agent_session *s, uint64_t n)
{
	uint64_t mask = s->depth - 1;

	if (n < s->first_open || s->done[n & mask])
		return;
	s->done[n & mask] = 1;
	while (s->done[s->first_open & mask])
		s->done[s->first_open++ & mask] = 0;
}

/* Answer n with these bytes, and be done with it. */
static inline void malice_answer(struct malice_agent *e, const struct malice_frame *f,
				 const unsigned char *record)
{
	malice_publish(f->session, f->n, record, false);
	malice_books(f->session, f->n);
	malice_credit(e);
	malice_hit();
}

/* Until the client has taken what there is, or will not any more. */
static inline void malice_await_answer(uint32_t client, uint32_t session)
{
	const struct malice_session *m = malice_of(client, session);
	uint64_t end_ns = sr_now_ns() + 500ull * SR_NS_PER_MS;

	while (sr_load_acquire(&m->completed) != sr_load_acquire(&m->submitted) &&
	       sr_now_ns() < end_ns)
		(void)sched_yield();
}

static inline void malice_word(unsigned char record[SR_CMP_BYTES], uint8_t kind, uint8_t status)
{
	memset(record, 0, SR_CMP_BYTES);
	record[SR_CMP_KIND] = kind;
	record[SR_CMP_STATUS] = status;
}

/* ---- the transport ---- */

static inline struct malice_agent *malice_agent_of(struct sr_transport *t)
{
	return (struct malice_agent *)(void *)t;
}

static inline struct sr_agent_session *malice_session_of(const struct malice_agent *e, uint32_t id)
{
	struct sr_agent_session *s = e->agent->loop.route[SR_SESSION_INDEX(id)];

	return s && s->id == id ? s : NULL;
}

/* The signer may repeat what it has said, and never say anything else. */
static inline void malice_check_reply(struct malice_agent *e, const struct malice_frame *f)
{
	const unsigned char *record = f->frame.payload;
	uint64_t word = sr_get64(record);
	size_t at = (size_t)(word * 0x9e3779b97f4a7c15ull >> 32 ^ f->frame.session * 0x85ebca6bu);
	struct malice_reply *r;

	if (f->frame.payload_bytes != SR_CMP_BYTES || record[SR_CMP_KIND] != SR_KIND_SEALED)
		return;
	sr_store_relaxed(&malice->words.sealed, malice->words.sealed + 1);
	for (;; at++) {
		r = &e->replies[at % MALICE_REPLIES];
		if (!r->session || (r->session == f->frame.session && r->word == word))
			break;
	}
	if (r->session && memcmp(r->record, record, SR_CMP_BYTES) != 0)
		sr_store_relaxed(&malice->words.two_replies, malice->words.two_replies + 1);
	r->session = f->frame.session;
	r->word = word;
	memcpy(r->record, record, SR_CMP_BYTES);
}

/* For a referee who plays a second agent. */
static inline void malice_tell(const struct malice_frame *f, bool up)
{
	struct malice_words *w = &malice->words;
	const struct sr_agent_session *s = f->session;

	if (up && f->frame.payload_bytes == sizeof w->record) {
		memcpy(w->record, f->frame.payload, sizeof w->record);
		w->name = (struct malice_name){ { s->token[0], s->token[1] }, s->first, s->epoch,
						s->id };
	} else if (!up && sr_get64(w->record) == sr_get64(f->frame.payload)) {
		memcpy(w->reply, f->frame.payload, sizeof w->reply);
		sr_store_release(&w->n, f->n);
	}
}

static inline void malice_ask(struct malice_agent *e)
{
	uint32_t ask = sr_load32_acquire(&malice->words.ask);
	unsigned char frame[SR_FRAME_HEADER_BYTES];

	if (ask == e->asked || !e->agent->loop.hello)
		return;
	e->asked = ask;
	e->asked_at = ++e->statuses_up;
	malice_send(&e->up, frame, sr_frame_put(frame, SR_FRAME_STATUS, 0, 0, 0));
}

/* They are answered in order. */
static inline void malice_answered(struct malice_agent *e, const struct sr_frame *f)
{
	struct malice_words *w = &malice->words;

	if (++e->statuses_down < e->asked_at || e->asked == w->told ||
	    f->payload_bytes != sizeof w->counters)
		return;
	memcpy(w->counters, f->payload, sizeof w->counters);
	sr_store32_release(&w->told, e->asked);
}

static inline void malice_frame(struct malice_agent *e, struct malice_way *way,
				struct malice_frame *f)
{
	bool up = way == &e->up;
	uint32_t kind = up ? SR_FRAME_DATA : SR_FRAME_REPLY;
	bool (*hook)(struct malice_agent *, const struct malice_frame *) =
		up ? e->attack->up : e->attack->down;

	malice_see(e, f->raw, f->frame.bytes);
	if (f->frame.kind == SR_FRAME_STATUS && up)
		e->statuses_up++;
	else if (f->frame.kind == SR_FRAME_STATUS)
		malice_answered(e, &f->frame);
	if (f->frame.kind == kind && f->frame.payload_bytes >= SR_SLOT_WORD_BYTES) {
		f->session = malice_session_of(e, f->frame.session);
		if (!up)
			malice_check_reply(e, f);
		if (f->session) {
			f->n = sr_get64(f->frame.payload) - f->session->first;
			f->victim = f->session->client->pid ==
					    sr_load32_acquire(&malice->clients[0].pid) &&
				    f->session->index == 0;
			f->first = f->victim && f->n == 0;
			f->victim &= !f->first;
			if (f->victim)
				malice_tell(f, up);
		}
		if (f->session && hook && malice_armed() && hook(e, f))
			return;
	}
	malice_send(way, f->raw, f->frame.bytes);
}

static inline void malice_cut(struct malice_agent *e, struct malice_way *way)
{
	struct malice_frame f;
	size_t at = 0;

	for (;;) {
		memset(&f, 0, sizeof f);
		if (sr_frame_cut(&f.frame, way->in + at, way->in_bytes - at) < 0)
			break;
		f.raw = way->in + at;
		at += f.frame.bytes;
		malice_frame(e, way, &f);
	}
	way->in_bytes -= at;
	memmove(way->in, way->in + at, way->in_bytes);
}

static inline int malice_flush(struct malice_agent *e)
{
	struct malice_way *way = &e->up;

	while (way->out_bytes) {
		size_t bytes = way->out_bytes < SR_WRITE_BYTES_MAX ? way->out_bytes :
								     SR_WRITE_BYTES_MAX;
		ssize_t n = e->real->ops->send(e->real, way->out, bytes);

		if (n < 0)
			return (int)n;
		way->out_bytes -= (size_t)n;
		memmove(way->out, way->out + n, way->out_bytes);
	}
	return 0;
}

static inline int malice_connect(struct sr_transport *t)
{
	struct malice_agent *e = malice_agent_of(t);

	return e->real->ops->connect(e->real);
}

static inline ssize_t malice_transport_send(struct sr_transport *t, const void *data, size_t bytes)
{
	struct malice_agent *e = malice_agent_of(t);
	int ret = malice_flush(e);

	if (ret < 0)
		return ret;
	memcpy(e->up.in + e->up.in_bytes, data, bytes);
	e->up.in_bytes += bytes;
	malice_cut(e, &e->up);
	ret = malice_flush(e);
	return ret < 0 && ret != -EAGAIN ? ret : (ssize_t)bytes;
}

static inline ssize_t malice_transport_recv(struct sr_transport *t, void *data, size_t bytes)
{
	struct malice_agent *e = malice_agent_of(t);
	struct malice_way *way = &e->down;
	ssize_t n;
	int ret;

	if (e->attack->tick && malice_armed())
		e->attack->tick(e);
	malice_ask(e);
	ret = malice_flush(e);
	if (ret < 0 && ret != -EAGAIN)
		return ret;
	if (e->broken)
		return -ECONNRESET;
	n = e->real->ops->recv(e->real, way->in + way->in_bytes, sizeof way->in - way->in_bytes);
	if (n < 0 && n != -EAGAIN)
		return n;
	if (n > 0) {
		way->in_bytes += (size_t)n;
		malice_cut(e, way);
	}
	if (!way->out_bytes)
		return -EAGAIN;
	if (bytes > way->out_bytes)
		bytes = way->out_bytes;
	memcpy(data, way->out, bytes);
	way->out_bytes -= bytes;
	memmove(way->out, way->out + bytes, way->out_bytes);
	return (ssize_t)bytes;
}

static inline void malice_hangup(struct sr_transport *t)
{
	struct malice_agent *e = malice_agent_of(t);

	e->real->ops->hangup(e->real);
	e->up.in_bytes = e->up.out_bytes = 0;
	e->down.in_bytes = e->down.out_bytes = 0;
	e->broken = false;
	e->statuses_up = e->statuses_down = 0;
	e->asked = malice->words.told; /* else it is asked once more */
}

static inline int malice_wait_fd(const struct sr_transport *t)
{
	(void)t;
	return -1;
}

static inline void malice_destroy(struct sr_transport *t)
{
	struct malice_agent *e = malice_agent_of(t);

	e->real->ops->destroy(e->real);
}

static const struct sr_transport_ops malice_ops = {
	.name = "malice",
	.connect = malice_connect,
	.send = malice_transport_send,
	.recv = malice_transport_recv,
	.hangup = malice_hangup,
	.wait_fd = malice_wait_fd,
	.destroy = malice_destroy,
};

/* ---- the agent ---- */

static struct sr_agent *malice_running;

static inline void malice_on_term(int number)
{
	(void)number;
	if (malice_running)
		sr_agent_stop(malice_running);
}

static inline void malice_be_agent(void *arg)
{
	struct malice_agent *e = calloc(1, sizeof *e);
	struct sr_agent_config config;
	struct sr_address stream;
	struct sr_reason why = { 0, "" };
	char listen_at[320];

	(void)arg;
	MP_CHECK(e, "out of memory");
	e->transport.ops = &malice_ops;
	e->transport.cheap_recv = true; /* so that the attack has its turn at every turn */
	e->attack = malice_attack;
	sr_agent_config_init(&config);
	(void)snprintf(listen_at, sizeof listen_at, "unix:%s", malice_rig.socket);
	MP_EQ(sr_address_parse(&config.listen, listen_at, &why), 0, why.text);
	MP_EQ(sr_address_parse(&stream, malice_rig.stream, &why), 0, why.text);
	MP_EQ(sr_stream_new(&e->real, &stream), 0, "stream");
	malice_talks = calloc(1, sizeof *malice_talks);
	MP_CHECK(malice_talks, "out of memory");
	malice_talks->hook = malice_attack->control;
	malice_talks->other = malice_other;
	malice_talks_start(malice_talks);
	config.control_connect = malice_control_connect;
	config.control_arg = malice_talks;
	config.any_uid = true;
	config.setup_failures_max = SR_AGENT_SETUP_FAILURES_MAX; /* it limits nobody */
	config.huge_pages = false;
	config.mlock = false;
	config.wait = SR_WAIT_YIELD;
	MP_EQ(sr_agent_new(&e->agent, &config, &e->transport, &why), 0, why.text);
	malice_running = e->agent;
	(void)signal(SIGTERM, malice_on_term);
	sr_store32_release(&malice->words.up, 1);
	MP_EQ(sr_agent_run(e->agent), 0, "sr_agent_run");
	sr_agent_delete(e->agent);
}

#endif /* MALICE_AGENT_H */
