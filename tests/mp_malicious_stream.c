/* SPDX-License-Identifier: MIT */
/*
 * An agent that misuses the stream: frames of an epoch that is over, sessions on two
 * streams at once, their end declared, headers with a wrong bit; and one that does
 * whatever comes to its mind.
 */
#include "malice_test.h"

/* ---- an epoch that is over ---- */

enum { CAPTURE = 1, HANG_UP, LATER };

static size_t put_open(unsigned char *frame, const struct sr_agent_session *s, uint32_t epoch,
		       uint32_t flags)
{
	struct sr_open_request open = { .token = { s->token[0], s->token[1] },
					.first = s->first,
					.depth = (uint32_t)s->depth,
					.slot_bytes = (uint32_t)s->submission.slot_bytes,
					.flags = flags,
					.cookie = 0xdeadbeef };

	sr_open_put(frame + SR_FRAME_HEADER_BYTES, &open);
	return sr_frame_put(frame, SR_FRAME_OPEN, 0, epoch, SR_OPEN_BYTES);
}

static bool epoch_up(struct malice_agent *e, const struct malice_frame *f)
{
	static unsigned char old[SR_FRAME_BYTES_MAX];
	static uint32_t old_bytes;
	unsigned char frame[SR_FRAME_HEADER_BYTES + SR_OPEN_BYTES];

	if (!f->victim || malice_phase() == HANG_UP)
		return false;
	if (malice_phase() == CAPTURE) {
		old_bytes = f->frame.bytes;
		memcpy(old, f->raw, old_bytes);
		return false;
	}
	malice_send(&e->up, old, old_bytes);
	malice_send_record(&e->up, f, f->frame.session, f->frame.epoch - 1, f->frame.payload,
			   f->frame.payload_bytes);
	malice_send(&e->up, frame,
		    sr_frame_put(frame, SR_FRAME_END, f->frame.session, f->frame.epoch - 1, 0));
	malice_send(&e->up, frame,
		    put_open(frame, f->session, f->frame.epoch - 1, SR_OPEN_SEALED));
	malice_send(&e->up, f->raw, f->frame.bytes);
	malice_hit();
	return true;
}

/* The victim's process is hung up on, and attaches again. */
static void epoch_tick(struct malice_agent *e)
{
	const struct sr_agent_loop *l = &e->agent->loop;
	static bool done;

	if (malice_phase() != HANG_UP || done)
		return;
	for (uint32_t i = 0; i < l->session_count[1]; i++) {
		const struct sr_agent_client *c = l->sessions[1][i]->client;

		if (c->pid == malice->clients[0].pid && !done) {
			done = true;
			(void)shutdown(c->sock, SHUT_RDWR);
		}
	}
}

static void frames_of_an_old_epoch(void)
{
	static const struct malice_attack attack = { .up = epoch_up, .tick = epoch_tick };
	uint64_t end_ns = malice_end_ns();
	uint32_t epoch;
	long long before;

	malice_start(&attack, 0);
	malice_set_phase(CAPTURE);
	malice_arm(1);
	malice_one_by_one_ok(2);
	epoch = malice->words.name.epoch;
	malice_set_phase(HANG_UP);
	do
		malice_all_ok(0, 0, 1);
	while (sr_load32_acquire(&malice->words.name.epoch) == epoch && sr_now_ns() < end_ns);
	MP_CHECK(malice->words.name.epoch > epoch, "the client did not attach again");
	before = malice_not_taken();
	malice_set_phase(LATER);
	malice_one_by_one_ok(20);
	MP_EQ(malice_not_taken() - before, 40, "records that the signer did not take");
	MP_EQ(malice_of(0, 0)->over, 0, "how the session has ended");
	malice_stop();
}

/* ---- two streams ---- */

struct second {
	int fd;
	size_t bytes;
	unsigned char in[1u << 16];
};

static void second_connect(struct second *s)
{
	struct sr_address address;
	struct pollfd p = { .events = POLLOUT };

	s->bytes = 0;
	MP_EQ(sr_address_parse(&address, malice_rig.stream, NULL), 0, "address");
	p.fd = s->fd = sr_address_connect(&address);
	MP_CHECK(p.fd >= 0 && poll(&p, 1, 10000) > 0, "cannot connect to the signer");
}

/* The next frame of this kind, or what comes of the stream: -errno. */
static int second_await(struct second *s, struct sr_frame *f, uint32_t kind)
{
	for (;;) {
		struct pollfd p = { .fd = s->fd, .events = POLLIN };
		ssize_t n;

		while (sr_frame_cut(f, s->in, s->bytes) == 0) {
			uint32_t bytes = f->bytes;
			bool found = f->kind == kind;

			if (found)
				return 0;
			s->bytes -= bytes;
			memmove(s->in, s->in + bytes, s->bytes);
		}
		if (poll(&p, 1, 3000) <= 0)
			return -ETIMEDOUT;
		n = recv(s->fd, s->in + s->bytes, sizeof s->in - s->bytes, 0);
		if (n <= 0)
			return -ECONNRESET;
		s->bytes += (size_t)n;
	}
}

static void second_drop(struct second *s, const struct sr_frame *f)
{
	uint32_t bytes = f->bytes;

	s->bytes -= bytes;
	memmove(s->in, s->in + bytes, s->bytes);
}

/* Returns the result, and the signer's number of the session. */
static uint32_t second_open(struct second *s, uint32_t epoch, uint32_t *id)
{
	const struct malice_name *name = &malice->words.name;
	unsigned char frame[SR_FRAME_HEADER_BYTES + SR_OPEN_BYTES];
	struct sr_open_request open = { .token = { name->token[0], name->token[1] },
					.first = name->first,
					.depth = MALICE_DEPTH,
					.slot_bytes = SR_SUB_BYTES_DEFAULT,
					.flags = SR_OPEN_SEALED };
	struct sr_opened opened;
	struct sr_frame f;
	uint32_t bytes;

	sr_open_put(frame + SR_FRAME_HEADER_BYTES, &open);
	bytes = sr_frame_put(frame, SR_FRAME_OPEN, 0, epoch, SR_OPEN_BYTES);
	MP_EQ(send(s->fd, frame, bytes, MSG_NOSIGNAL), bytes, "OPEN");
	MP_EQ(second_await(s, &f, SR_FRAME_OPENED), 0, "the answer to OPEN");
	MP_EQ(sr_opened_get(&opened, &f), 0, "OPENED");
	*id = f.session;
	second_drop(s, &f);
	return opened.result;
}

static bool nothing_up(struct malice_agent *e, const struct malice_frame *f)
{
	(void)e;
	if (f->victim)
		malice_hit();
	return false;
}

/* A record once more, on another stream: the same bytes as on the first. */
static void second_replay(struct second *s, const struct malice_words *was, uint32_t id,
			  uint32_t epoch)
{
	unsigned char frame[SR_FRAME_HEADER_BYTES + SR_SUB_BYTES_DEFAULT];
	struct sr_frame f;

	memcpy(frame + SR_FRAME_HEADER_BYTES, was->record, SR_SUB_BYTES_DEFAULT);
	(void)sr_frame_put(frame, SR_FRAME_DATA, id, epoch, SR_SUB_BYTES_DEFAULT);
	MP_EQ(send(s->fd, frame, sizeof frame, MSG_NOSIGNAL), sizeof frame, "DATA");
	MP_EQ(second_await(s, &f, SR_FRAME_REPLY), 0, "the answer to DATA");
	MP_CHECK(f.payload_bytes == SR_CMP_BYTES &&
			 !memcmp(f.payload, was->reply, SR_CMP_BYTES),
		 "a number has another reply on another stream");
	second_drop(s, &f);
}

/* The later OPEN has it; what the first stream brings of it is dropped. */
static void session_opened_on_two_streams(void)
{
	static const struct malice_attack attack = { .up = nothing_up };
	static struct second second;
	uint32_t id;

	malice_start(&attack, 0);
	malice_arm(1);
	for (uint32_t raise = 0; raise < 3; raise++) {
		struct malice_words was;
		uint32_t epoch;
		uint8_t status;

		malice_all_ok(0, 0, 2);
		was = malice->words;
		epoch = was.name.epoch;
		second_connect(&second);
		if (epoch > 1)
			MP_EQ(second_open(&second, epoch - 1, &id), SR_OPENED_EPOCH,
			      "OPEN of an old epoch");
		MP_EQ(second_open(&second, epoch + raise, &id), SR_OPENED_OK, "OPEN");
		MP_EQ(id, malice->words.name.id, "the session's number");
		second_replay(&second, &was, id, epoch + raise);
		malice_of(0, 0)->deadline_ns = 30ull * SR_NS_PER_MS;
		status = malice_one(0, 0);
		MP_EQ(status, SR_UNKNOWN, "status of what came by the wrong stream");
		malice_of(0, 0)->deadline_ns = 0;
		second_replay(&second, &was, id, epoch + raise + 1000);
		malice_others_go_on(5);
		(void)close(second.fd);
		malice_must_open(0, 0, 0);
	}
	malice_stop();
}

/* ---- the end of a session, declared by the agent ---- */

enum { END_AT_SIGNER = 1, END_AT_AGENT };

static bool end_up(struct malice_agent *e, const struct malice_frame *f)
{
	unsigned char frame[SR_FRAME_HEADER_BYTES];
	uint32_t bytes;

	if (!f->victim || malice_phase() == 0)
		return false;
	bytes = sr_frame_put(frame, SR_FRAME_END, f->frame.session, f->frame.epoch, 0);
	malice_send(&e->up, f->raw, f->frame.bytes);
	malice_send(malice_phase() == END_AT_SIGNER ? &e->up : &e->down, frame, bytes);
	malice_hit();
	return true;
}

static void end_of_a_session_declared(void)
{
	static const struct malice_attack attack = { .up = end_up };
	const struct malice_session *m;

	malice_start(&attack, 0);
	m = malice_of(0, 0);
	for (unsigned int i = 0; i < 5; i++) {
		uint64_t end_ns = malice_end_ns();
		uint32_t overs;
		uint8_t status;

		malice_set_phase(END_AT_SIGNER);
		malice_arm(1);
		malice_of(0, 0)->deadline_ns = 30ull * SR_NS_PER_MS;
		malice_order(0, 0, 4);
		malice_settle(0, 0);
		status = malice_last(0, 0);
		MP_CHECK(status == SR_OK || status == SR_UNKNOWN, "at the signer: %s",
			 sr_status_name(status));
		malice_of(0, 0)->deadline_ns = 0;
		malice_set_phase(END_AT_AGENT);
		malice_arm(0);
		malice_must_open(0, 0, SR_SESSION_REOPEN);
		malice_arm(1);
		overs = m->overs;
		status = malice_one(0, 0);
		MP_CHECK(status == SR_OK || status == SR_UNKNOWN, "at the agent: %s",
			 sr_status_name(status));
		while (sr_load32_acquire(&m->overs) == overs)
			malice_watch(end_ns, "a session that the agent has ended");
		malice_set_phase(0);
		malice_all_ok(0, 0, 2);
	}
	MP_EQ(m->by_status[SR_OK] + m->by_status[SR_UNKNOWN], m->submitted, "OK and UNKNOWN");
	malice_stop();
}

/* ---- headers of frames ---- */

static bool header_up(struct malice_agent *e, const struct malice_frame *f)
{
	static uint64_t last = UINT64_MAX;
	unsigned char frame[SR_FRAME_BYTES_MAX];
	uint32_t bit = malice_phase();

	if (!f->victim || f->n == last) /* sent again, on another stream */
		return false;
	last = f->n;
	memcpy(frame, f->raw, f->frame.bytes);
	frame[bit / 8] ^= (unsigned char)(1u << bit % 8);
	malice_send(&e->up, frame, f->frame.bytes);
	malice_send(&e->up, f->raw, f->frame.bytes);
	malice_hit();
	return true;
}

/* Session and epoch; of length and kind, which end the stream, a few. */
static void bits_of_headers_flipped(void)
{
	static const struct malice_attack attack = { .up = header_up };
	static const uint32_t deadly[] = { 0, 7, 31, 96, 98, 127 };

	malice_start(&attack, 0);
	malice_arm(1);
	for (uint32_t bit = 32; bit < 96; bit++) {
		malice_set_phase(bit);
		malice_all_ok(0, 0, 1);
	}
	for (size_t i = 0; i < sizeof deadly / sizeof deadly[0]; i++) {
		malice_set_phase(deadly[i]);
		malice_all_ok(0, 0, 1);
		malice_others_go_on(1);
	}
	MP_EQ(malice_of(0, 0)->over, 0, "how the session has ended");
	malice_stop();
}

/* ---- whatever comes to mind ---- */

static unsigned char later[2][16 * SR_FRAME_BYTES_MAX];
static size_t later_bytes[2];

static void keep(struct malice_agent *e, const struct malice_frame *f, bool up)
{
	if (later_bytes[up] + f->frame.bytes > sizeof later[up]) {
		malice_send(up ? &e->up : &e->down, later[up], later_bytes[up]);
		later_bytes[up] = 0;
	}
	memcpy(later[up] + later_bytes[up], f->raw, f->frame.bytes);
	later_bytes[up] += f->frame.bytes;
}

static bool mad_up(struct malice_agent *e, const struct malice_frame *f)
{
	const struct sr_agent_loop *l = &e->agent->loop;
	unsigned char record[SR_SUB_BYTES_MAX];
	unsigned char word[SR_CMP_BYTES];

	if (!f->victim)
		return false;
	memcpy(record, f->frame.payload, f->frame.payload_bytes);
	record[mp_below(f->frame.payload_bytes)] ^= (unsigned char)(1u << mp_below(8));
	malice_hit();
	switch (mp_below(80)) {
	case 0:
		malice_credit(e);
		return true;
	case 1:
		malice_send(&e->up, f->raw, f->frame.bytes);
		return false;
	case 2:
		malice_send_changed(&e->up, f, record);
		return mp_below(2);
	case 3:
		keep(e, f, true);
		return true;
	case 4:
		malice_send_record(&e->up, f, l->sessions[1][mp_below(l->session_count[1])]->id,
				   f->frame.epoch, record, f->frame.payload_bytes);
		return mp_below(2);
	case 5:
		malice_send_record(&e->up, f, f->frame.session, f->frame.epoch + mp_below(3) - 1,
				   f->frame.payload, f->frame.payload_bytes);
		return mp_below(2);
	case 6:
		malice_send_record(&e->up, f, f->frame.session, f->frame.epoch, f->frame.payload,
				   SR_SUB_BYTES_MIN + mp_below(128));
		return mp_below(2);
	case 7:
		malice_word(word, (uint8_t)mp_below(5), (uint8_t)mp_below(40));
		malice_answer(e, f, word);
		return mp_below(2);
	default:
		return false;
	}
}

static bool mad_down(struct malice_agent *e, const struct malice_frame *f)
{
	static unsigned char old[SR_CMP_BYTES];
	unsigned char record[SR_CMP_BYTES];

	if (!f->victim)
		return false;
	memcpy(record, f->frame.payload, sizeof record);
	switch (mp_below(80)) {
	case 0:
		malice_credit(e);
		return true;
	case 1:
		record[8 + mp_below(120)] ^= (unsigned char)(1u << mp_below(8));
		malice_answer(e, f, record);
		return true;
	case 2:
		malice_answer(e, f, old);
		return true;
	case 3:
		malice_word(record, SR_KIND_AGENT, (uint8_t)(SR_EXPIRED + mp_below(5)));
		malice_answer(e, f, record);
		return true;
	case 4:
		keep(e, f, false);
		return true;
	default:
		memcpy(old, record, sizeof old);
		return false;
	}
}

/* A session whose agent owes it answers has no room in the end: then another one. */
static void settle_or_open(uint32_t flags)
{
	const struct malice_session *m = malice_of(0, 0);
	uint64_t end_ns = malice_end_ns();
	uint64_t full_ns = sr_now_ns() + 300ull * SR_NS_PER_MS;

	while (sr_load_acquire(&m->completed) != m->want) {
		malice_watch(end_ns, "a submit without an answer");
		if (m->completed != m->submitted || sr_now_ns() < full_ns)
			continue;
		malice_arm(0);
		malice_must_open(0, 0, flags);
		full_ns = sr_now_ns() + 300ull * SR_NS_PER_MS;
	}
}

static void anything(void)
{
	static const struct malice_attack attack = { .up = mad_up, .down = mad_down };
	uint64_t end_ns;
	const struct malice_session *m;

	malice_start(&attack, SR_SESSION_REOPEN);
	m = malice_of(0, 0);
	malice_of(0, 0)->deadline_ns = 20ull * SR_NS_PER_MS;
	end_ns = sr_now_ns() + (mp_long ? 300 : 5) * (uint64_t)SR_NS_PER_S;
	for (uint32_t i = 0; sr_now_ns() < end_ns && m->want < MALICE_ORDERS - 100; i++) {
		uint32_t flags = SR_SESSION_REOPEN | (mp_below(4) ? 0 : SR_SESSION_STRICT);
		uint64_t ok = m->by_status[SR_OK];

		malice_arm(1);
		malice_order(0, 0, 1 + mp_below(16));
		if (i % 8 == 0)
			malice_others_go_on(4);
		settle_or_open(flags);
		if (m->by_status[SR_OK] != ok)
			continue;
		malice_arm(0);
		malice_must_open(0, 0, flags);
	}
	(void)printf("# %s:", mp_name);
	for (uint32_t s = 0; s < MALICE_STATUSES; s++)
		if (m->by_status[s])
			(void)printf(" %s %llu", sr_status_name(s),
				     (unsigned long long)m->by_status[s]);
	(void)printf("\n");
	malice_of(0, 0)->deadline_ns = 0;
	malice_stop();
}

static const struct mp_test tests[] = {
	{ "stream/frames_of_an_old_epoch", frames_of_an_old_epoch, 0 },
	{ "stream/session_opened_on_two_streams", session_opened_on_two_streams, 0 },
	{ "stream/end_of_a_session_declared", end_of_a_session_declared, 0 },
	{ "stream/bits_of_headers_flipped", bits_of_headers_flipped, 0 },
	{ "stream/anything", anything, 0 },
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
