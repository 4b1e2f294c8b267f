/* SPDX-License-Identifier: MIT */
/*
 * mp_signer.h - a signer that signs nothing and looks at everything.
 *
 * It speaks the frames of sr_frame.h on the rig's stream, answers each record OK,
 * and checks what the agent brings: a body must be one 64-bit value from end to
 * end, whose low half is the record's number. A slot that was read while it was
 * being written does not pass.
 */
#ifndef MP_SIGNER_H
#define MP_SIGNER_H

#include "mp_common.h"
#include "sr_address.h"
#include "sr_frame.h"

#define MOCK_SESSIONS 4096u
#define MOCK_CREDITS 256u

/* Shared with the test; written by the mock alone. */
struct mp_mock {
	uint64_t records;
	uint64_t torn;      /* bodies of two values */
	uint64_t misplaced; /* whole bodies under another number */
	uint64_t opened;
	uint64_t ended;
	uint64_t up;
};

struct mp_mock_stream {
	struct mp_mock *mock;
	int fd;
	uint32_t next_id;
	uint64_t first[MOCK_SESSIONS];
	size_t in_bytes;
	size_t out_bytes;
	unsigned char in[1u << 17];
	unsigned char out[1u << 17];
};

static void mock_put(struct mp_mock_stream *s, uint32_t kind, const struct sr_frame *to,
		     const void *payload, uint32_t bytes)
{
	unsigned char *at = s->out + s->out_bytes;

	s->out_bytes += sr_frame_put(at, kind, to->session, to->epoch, bytes);
	if (bytes)
		memcpy(at + SR_FRAME_HEADER_BYTES, payload, bytes);
}

static void mock_flush(struct mp_mock_stream *s)
{
	size_t sent = 0;

	while (sent < s->out_bytes) {
		ssize_t n = send(s->fd, s->out + sent, s->out_bytes - sent, MSG_NOSIGNAL);

		if (n <= 0)
			break;
		sent += (size_t)n;
	}
	s->out_bytes = 0;
}

static void mock_judge(struct mp_mock_stream *s, const struct sr_frame *f)
{
	const unsigned char *request = f->payload + SR_SUB_BODY;
	uint64_t first = s->first[f->session % MOCK_SESSIONS];
	uint64_t number = sr_get64(f->payload) - first;
	uint32_t bytes = sr_get16(request + SR_REQ_BODY_BYTES);
	uint64_t value = sr_get64(request + SR_REQ_BODY);

	sr_store_relaxed(&s->mock->records, s->mock->records + 1);
	for (uint32_t i = 8; i + 8 <= bytes; i += 8)
		if (sr_get64(request + SR_REQ_BODY + i) != value) {
			sr_store_relaxed(&s->mock->torn, s->mock->torn + 1);
			return;
		}
	if (bytes < 8 || (uint32_t)value != (uint32_t)number)
		sr_store_relaxed(&s->mock->misplaced, s->mock->misplaced + 1);
}

static void mock_take(struct mp_mock_stream *s, const struct sr_frame *f)
{
	unsigned char reply[SR_CMP_BYTES] = { 0 };
	unsigned char small[SR_STATUS_BYTES] = { 0 };
	struct sr_frame to = *f;
	struct sr_open_request open;

	switch (f->kind) {
	case SR_FRAME_OPEN:
		MP_EQ(sr_open_get(&open, f), 0, "OPEN");
		to.session = ++s->next_id;
		s->first[to.session % MOCK_SESSIONS] = open.first;
		sr_opened_put(small, &(struct sr_opened){ open.cookie, SR_OPENED_OK });
		mock_put(s, SR_FRAME_OPENED, &to, small, SR_OPENED_BYTES);
		sr_store_relaxed(&s->mock->opened, s->mock->opened + 1);
		break;
	case SR_FRAME_DATA:
		mock_judge(s, f);
		sr_put64(reply, sr_get64(f->payload));
		reply[SR_CMP_KIND] = SR_KIND_UNSEALED;
		mock_put(s, SR_FRAME_REPLY, f, reply, SR_CMP_BYTES);
		break;
	case SR_FRAME_STATUS:
		mock_put(s, SR_FRAME_STATUS, f, small, SR_STATUS_BYTES);
		break;
	case SR_FRAME_END:
		sr_store_relaxed(&s->mock->ended, s->mock->ended + 1);
		break;
	default:
		mp_fail("the agent sent a frame of kind %u", f->kind);
	}
}

static void mock_serve(struct mp_mock_stream *s)
{
	struct sr_hello hello = { .protocol = SR_PROTOCOL,
				  .credit_records = MOCK_CREDITS,
				  .slot_bytes_max = SR_SUB_BYTES_MAX,
				  .write_bytes_max = SR_WRITE_BYTES_MAX,
				  .sessions_max = MOCK_SESSIONS,
				  .features = SR_HELLO_UNSEALED,
				  .boot_id = { 1, 2 } };
	unsigned char payload[SR_HELLO_BYTES];
	struct sr_frame nobody = { .session = 0 };

	s->in_bytes = s->out_bytes = 0;
	sr_hello_put(payload, &hello);
	mock_put(s, SR_FRAME_HELLO, &nobody, payload, sizeof payload);
	mock_flush(s);
	for (;;) {
		ssize_t n = recv(s->fd, s->in + s->in_bytes, sizeof s->in - s->in_bytes, 0);
		struct sr_frame f;
		size_t at = 0;
		int ret;

		if (n <= 0)
			return;
		s->in_bytes += (size_t)n;
		while ((ret = sr_frame_cut(&f, s->in + at, s->in_bytes - at)) == 0) {
			mock_take(s, &f);
			at += f.bytes;
			if (s->out_bytes > sizeof s->out / 2)
				mock_flush(s);
		}
		MP_EQ(ret, -EAGAIN, "cutting the agent's frames");
		mock_flush(s);
		s->in_bytes -= at;
		memmove(s->in, s->in + at, s->in_bytes);
	}
}

struct mp_mock_args {
	struct mp_mock *mock;
	const struct mp_rig *rig;
};

static void mock_main(void *arg)
{
	const struct mp_mock_args *args = arg;
	struct mp_mock_stream *s = calloc(1, sizeof *s);
	struct sr_address address;
	int listen_fd;

	MP_CHECK(s, "out of memory");
	s->mock = args->mock;
	MP_EQ(sr_address_parse(&address, args->rig->stream, NULL), 0, "address");
	listen_fd = sr_address_listen(&address, SOCK_STREAM, 0600, NULL);
	MP_CHECK(listen_fd >= 0, "cannot listen");
	sr_store_relaxed(&s->mock->up, 1);
	for (;;) {
		struct pollfd p = { .fd = listen_fd, .events = POLLIN };

		(void)poll(&p, 1, -1);
		s->fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
		if (s->fd < 0)
			continue;
		mock_serve(s);
		(void)close(s->fd);
	}
}

/* Starts it in place of the rig's signer, then the agent. */
__attribute__((unused)) static struct mp_mock *mp_mock_start(struct mp_rig *rig)
{
	static struct mp_mock_args args;

	args.mock = mp_shared(sizeof *args.mock);
	args.rig = rig;
	rig->signer = mp_fork(mock_main, &args);
	while (!sr_load_relaxed(&args.mock->up)) {
		MP_CHECK(mp_alive(rig->signer), "the mock signer ended");
		mp_sleep_us(200);
	}
	mp_start_agent(rig);
	return args.mock;
}

/* A request that the mock finds whole: one value, with the number in it. */
__attribute__((unused)) static void mp_fill(void *body, uint32_t bytes, uint64_t sender,
					    uint64_t number)
{
	uint64_t value = sender << 32 | (uint32_t)number;

	for (uint32_t i = 0; i + 8 <= bytes; i += 8)
		sr_put64((unsigned char *)body + i, value);
}

__attribute__((unused)) static int mp_submit_filled(struct sr_session *session, uint64_t sender,
						    uint64_t number)
{
	struct sr_request rq = { .key = MP_KEY,
				 .type = SR_ECDSA_SHA256,
				 .body_bytes = (uint16_t)(sr_body_max(session) / 8 * 8),
				 .user_data = number };
	void *body;
	int ret = sr_reserve(session, &body);

	if (ret < 0)
		return ret;
	mp_fill(body, rq.body_bytes, sender, number);
	return sr_commit(session, &rq);
}

/* One filled order there and back. */
__attribute__((unused)) static void mp_filled_order(struct sr_client *client,
						    struct sr_session *session, uint64_t sender,
						    uint64_t number)
{
	struct sr_completion c;

	MP_EQ(mp_submit_filled(session, sender, number), 0, "sr_commit");
	mp_next(client, session, &c);
	MP_CHECK(c.status == SR_OK && c.user_data == number, "order %llu came back as %s",
		 (unsigned long long)number, sr_status_name(c.status));
}

#endif /* MP_SIGNER_H */
