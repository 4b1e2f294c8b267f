/* SPDX-License-Identifier: MIT */
/*
 * mp_sealed.h - a signer that was provisioned, and a client of its control address and
 * its stream: the client's end of a sealed session without libsigring and without an
 * agent, so that a test says each message itself.
 */
#ifndef MP_SEALED_H
#define MP_SEALED_H

#include "mp_common.h"
#include "sr_address.h"
#include "sr_control.h"
#include "sr_frame.h"
#include "sr_message.h"
#include "sr_pairfile.h"
#include "sr_seal.h"
#include "sr_secret.h"
#include "sr_setup.h"
#include "sr_trust.h"
#include "sr_type.h"

#define SEALED_DEPTH 64u
#define SEALED_SLOT SR_SUB_BYTES_DEFAULT
#define SEALED_EPOCH 1u

/* Files of a rig: an operator, two traders of whom the manifest knows one. */
struct mp_sealed {
	struct mp_rig rig;
	char control[320];
	char op[300], operators[300], manifest[300], trust[300];
	char trader[300], stranger[300];
};

/* A conversation, and the session that comes of it. In protected memory. */
struct mp_talk {
	int fd;
	size_t bytes; /* of in */
	struct sr_noise_pair pair;
	struct sr_setup setup;
	struct sr_setup_result result;
	struct sr_setup_ticket ticket;
	struct sr_noise_keys keys;
	struct sr_seal requests, replies;
	struct sr_setup_expect expect;
	struct sr_trust trust;
	uint64_t token[2];
	uint64_t first;
	unsigned char ephemeral[32];
	unsigned char in[SR_CONTROL_BYTES_MAX];
	unsigned char out[SR_SETUP_BYTES_MAX];
};

/* A hot stream. */
struct mp_stream {
	int fd;
	size_t bytes, cut;
	unsigned char in[65536];
};

static inline void sealed_write(const char *path, const char *text)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0644);

	MP_CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), "%s", path);
	(void)close(fd);
}

/* The public half that stands in a pair file. */
static inline void sealed_public(char hex[65], const char *path)
{
	char *text = mp_read_file(path);
	const char *at = strstr(text, "public ");

	MP_CHECK(at && strlen(at) > 71, "no public key in %s", path);
	memcpy(hex, at + 7, 64);
	hex[64] = '\0';
	free(text);
}

static inline void sealed_pair(const char *what, const char *path, const char *log)
{
	const char *argv[] = { "sigringctl", what, "new", "--out", path, NULL };

	MP_EQ(mp_run(argv, log), 0, what);
}

/* Sign another manifest and put it in the file. @nonce may name a mode. */
static inline void sealed_manifest(struct mp_sealed *s, unsigned int version, const char *who,
				   const char *nonce)
{
	char text[1024], hex[65], part[310];
	const char *sign[] = { "sigringctl", "manifest", "sign", "--operator", s->op, part, NULL };

	sealed_public(hex, who);
	(void)snprintf(text, sizeof text,
		       "{\"sigring_manifest\":1,\"version\":%u,\"identities\":[{\"name\":\"mm-1\","
		       "\"public_key\":\"%s\"}],\"keys\":[{\"id\":7,\"nonce\":\"%s\",\"permit\":"
		       "[\"ecdsa-sha256\"],\"identities\":[\"mm-1\"]}]}\n",
		       version, hex, nonce);
	(void)snprintf(part, sizeof part, "%s.new", s->manifest);
	sealed_write(part, text);
	MP_EQ(mp_run(sign, s->rig.agent_log), 0, "sigringctl manifest sign");
	MP_EQ(rename(part, s->manifest), 0, "rename");
}

static inline void sealed_new(struct mp_sealed *s)
{
	char hex[65], list[80];
	const char *args[] = { "--operators", s->operators, "--operators-needed", "1",
			       "--manifest",  s->manifest,  "--trust-out",        s->trust, NULL };
	struct sr_address hot, control;
	void *mem;
	int ret = sr_secret_alloc(&mem, 1);

	if (ret == -ENOSYS)
		mp_skip("no protected memory here (qemu-user, or Linux before 4.14)");
	MP_EQ(ret, 0, "protected memory");
	sr_secret_free(mem, 1);
	mp_rig_new(&s->rig, true);
	MP_EQ(sr_address_parse(&hot, s->rig.stream, NULL), 0, "address");
	MP_EQ(sr_address_control(&hot, &control, NULL), 0, "address");
	(void)snprintf(s->control, sizeof s->control, "%s", control.text);
	(void)snprintf(s->op, sizeof s->op, "%s/op", s->rig.dir);
	(void)snprintf(s->operators, sizeof s->operators, "%s/operators", s->rig.dir);
	(void)snprintf(s->manifest, sizeof s->manifest, "%s/manifest", s->rig.dir);
	(void)snprintf(s->trust, sizeof s->trust, "%s/trust", s->rig.dir);
	(void)snprintf(s->trader, sizeof s->trader, "%s/trader", s->rig.dir);
	(void)snprintf(s->stranger, sizeof s->stranger, "%s/stranger", s->rig.dir);
	sealed_pair("operator", s->op, s->rig.agent_log);
	sealed_pair("identity", s->trader, s->rig.agent_log);
	sealed_pair("identity", s->stranger, s->rig.agent_log);
	sealed_public(hex, s->op);
	(void)snprintf(list, sizeof list, "%s alice\n", hex);
	sealed_write(s->operators, list);
	sealed_manifest(s, 1, s->trader, "hedged");
	for (size_t i = 0; args[i]; i++)
		s->rig.signer_args[i] = args[i];
}

/* ---- a conversation ---- */

static inline uint64_t sealed_unix_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static inline int sealed_connect(const char *text)
{
	uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;
	struct sr_address address;
	struct pollfd p = { .events = POLLOUT };

	MP_EQ(sr_address_parse(&address, text, NULL), 0, "address");
	/* A Unix listener whose backlog is full says so at once. */
	while ((p.fd = sr_address_connect(&address)) == -EAGAIN && sr_now_ns() < end_ns)
		mp_sleep_us(200);
	MP_CHECK(p.fd >= 0, "connect to %s: %s", text, strerror(-p.fd));
	(void)poll(&p, 1, 1000);
	return p.fd;
}

static inline void sealed_send(int fd, const void *data, size_t bytes)
{
	MP_EQ(send(fd, data, bytes, MSG_NOSIGNAL), (ssize_t)bytes, "send");
}

/* More of what comes; false: hung up. */
static inline bool sealed_recv(int fd, unsigned char *in, size_t *bytes, size_t room)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t n;

	MP_CHECK(poll(&p, 1, (int)(MP_BOUND_NS / SR_NS_PER_MS)) > 0, "nothing comes");
	n = recv(fd, in + *bytes, room - *bytes, 0);
	if (n <= 0)
		return false;
	*bytes += (size_t)n;
	return true;
}

static inline struct mp_talk *sealed_talk(const struct mp_sealed *s, const char *who)
{
	struct sr_reason why = { 0 };
	struct sr_pairfile *file;
	struct mp_talk *t;
	void *mem;

	MP_EQ(sr_secret_alloc(&mem, sizeof *t), 0, "protected memory");
	t = mem;
	MP_EQ(sr_secret_alloc(&mem, sizeof *file), 0, "protected memory");
	file = mem;
	MP_CHECK(sr_pairfile_load(file, &sr_pairfile_identity, who, &why) == 0, "%s", why.text);
	MP_EQ(sr_noise_pair_make(&t->pair, file->secret), 0, "pair");
	sr_secret_free(file, sizeof *file);
	MP_CHECK(sr_trust_load(&t->trust, s->trust, &why) == 0, "%s", why.text);
	sr_trust_expect(&t->expect, &t->trust);
	t->fd = sealed_connect(s->control);
	return t;
}

/* The first message; with @ticket, that of a session before. */
static inline void sealed_begin(struct mp_talk *t, const struct sr_setup_ticket *ticket,
				const uint64_t predecessor[2])
{
	struct sr_setup_config config = {
		.expect = &t->expect,
		.s = &t->pair,
		.ticket = ticket,
		.ephemeral = t->ephemeral,
		.request = { .depth = SEALED_DEPTH, .slot_bytes = SEALED_SLOT },
	};
	size_t bytes;

	MP_EQ(getrandom(t->ephemeral, 32, 0), 32, "getrandom");
	MP_EQ(getrandom(config.nonce, 32, 0), 32, "getrandom");
	MP_EQ(getrandom(config.token, 16, 0), 16, "getrandom");
	MP_EQ(getrandom(&config.request.first, 8, 0), 8, "getrandom");
	if (predecessor)
		memcpy(config.request.predecessor, predecessor, 16);
	memcpy(t->token, config.token, 16);
	t->first = config.request.first;
	MP_EQ(sr_setup_start(&t->setup, t->out, &bytes, &config, sealed_unix_ms()), SR_SETUP_OK,
	      "start");
	sealed_send(t->fd, t->out, bytes);
}

/* The signer's next message, judged; our answer is sent. */
static inline enum sr_setup_code sealed_step(struct mp_talk *t)
{
	struct sr_control message;
	enum sr_setup_code code;
	size_t bytes;
	int ret;

	while ((ret = sr_control_cut(&message, t->in, t->bytes)) == -EAGAIN)
		MP_CHECK(sealed_recv(t->fd, t->in, &t->bytes, sizeof t->in),
			 "the signer hung up in a conversation");
	MP_EQ(ret, 0, "cutting the signer's message");
	code = sr_setup_take(&t->setup, t->out, &bytes, message.data, message.bytes,
			     sealed_unix_ms());
	t->bytes -= message.bytes;
	memmove(t->in, t->in + message.bytes, t->bytes);
	if (bytes)
		sealed_send(t->fd, t->out, bytes);
	return code;
}

static inline void sealed_make_seals(struct mp_talk *t)
{
	struct sr_seal_config config = {
		.keys = &t->keys,
		.direction = SR_SEAL_SUBMISSION,
		.way = SR_AEAD_SEAL,
		.first = t->first,
		.record_bytes = SEALED_SLOT,
		.depth = SEALED_DEPTH,
	};

	MP_EQ(sr_seal_init(&t->requests, &config), 0, "seal");
	config.direction = SR_SEAL_COMPLETION;
	config.way = SR_AEAD_OPEN;
	config.record_bytes = SR_CMP_BYTES;
	MP_EQ(sr_seal_init(&t->replies, &config), 0, "seal");
}

/* All of it, as far as the keys. */
static inline void sealed_converse(struct mp_talk *t, const struct sr_setup_ticket *ticket,
				   const uint64_t predecessor[2])
{
	sealed_begin(t, ticket, predecessor);
	while (!sr_setup_done(&t->setup)) {
		enum sr_setup_code code = sealed_step(t);

		MP_CHECK(code == SR_SETUP_OK, "set-up: %s", sr_setup_text(&t->setup));
	}
	MP_EQ(sr_setup_finish(&t->setup, &t->keys, &t->result), 0, "finish");
	t->ticket = t->result.next;
	sealed_make_seals(t);
}

static inline void sealed_end(struct mp_talk *t)
{
	sr_setup_wipe(&t->setup);
	sr_seal_wipe(&t->requests);
	sr_seal_wipe(&t->replies);
	(void)close(t->fd);
	sr_secret_free(t, sizeof *t);
}

/* ---- the stream ---- */

static inline void sealed_next(struct mp_stream *stream, struct sr_frame *f)
{
	int ret;

	stream->bytes -= stream->cut;
	memmove(stream->in, stream->in + stream->cut, stream->bytes);
	stream->cut = 0;
	while ((ret = sr_frame_cut(f, stream->in, stream->bytes)) == -EAGAIN)
		MP_CHECK(sealed_recv(stream->fd, stream->in, &stream->bytes, sizeof stream->in),
			 "the signer hung up on the stream");
	MP_EQ(ret, 0, "cutting the signer's frame");
	stream->cut = f->bytes;
}

static inline void sealed_stream(struct mp_stream *stream, const struct mp_sealed *s)
{
	struct sr_frame f;

	stream->fd = sealed_connect(s->rig.stream);
	stream->bytes = stream->cut = 0;
	sealed_next(stream, &f);
	MP_EQ(f.kind, SR_FRAME_HELLO, "the first frame");
}

/* Returns enum sr_open_result. */
static inline uint32_t sealed_open(struct mp_stream *stream, const struct mp_talk *t,
				   uint32_t *session)
{
	unsigned char out[SR_FRAME_HEADER_BYTES + SR_OPEN_BYTES];
	struct sr_open_request open = {
		.token = { t->token[0], t->token[1] },
		.first = t->first,
		.depth = SEALED_DEPTH,
		.slot_bytes = SEALED_SLOT,
		.flags = SR_OPEN_SEALED,
		.cookie = 5,
	};
	struct sr_opened opened;
	struct sr_frame f;

	(void)sr_frame_put(out, SR_FRAME_OPEN, 0, SEALED_EPOCH, SR_OPEN_BYTES);
	sr_open_put(out + SR_FRAME_HEADER_BYTES, &open);
	sealed_send(stream->fd, out, sizeof out);
	do
		sealed_next(stream, &f);
	while (f.kind == SR_FRAME_CREDIT);
	MP_EQ(f.kind, SR_FRAME_OPENED, "the answer to OPEN");
	MP_EQ(sr_opened_get(&opened, &f), 0, "OPENED");
	*session = f.session;
	return opened.result;
}

/* One request there, its reply opened: its body. @type SR_TYPE_SESSION: message 0. False:
 * the session has ended. */
static inline bool sealed_request(struct mp_stream *stream, struct mp_talk *t, uint32_t session,
				  uint64_t n, uint16_t type, const void *body, uint16_t bytes,
				  unsigned char reply[SR_CMP_BODY_BYTES])
{
	unsigned char out[SR_FRAME_HEADER_BYTES + SEALED_SLOT] = { 0 };
	unsigned char *record = out + SR_FRAME_HEADER_BYTES;
	unsigned char *request = record + SR_SUB_BODY;
	struct sr_frame f;

	(void)sr_frame_put(out, SR_FRAME_DATA, session, SEALED_EPOCH, SEALED_SLOT);
	sr_put64(record, t->first + n);
	record[SR_SUB_KIND] = SR_KIND_SEALED;
	if (type != SR_TYPE_SESSION)
		sr_put32(request + SR_REQ_KEY, MP_KEY);
	sr_put16(request + SR_REQ_TYPE, type);
	sr_put16(request + SR_REQ_BODY_BYTES, bytes);
	if (bytes)
		memcpy(request + SR_REQ_BODY, body, bytes);
	MP_EQ(sr_seal_apply(&t->requests, n, record), 0, "sealing");
	sealed_send(stream->fd, out, sizeof out);
	do
		sealed_next(stream, &f);
	while (f.kind == SR_FRAME_CREDIT);
	if (f.kind == SR_FRAME_END)
		return false;
	MP_EQ(f.kind, SR_FRAME_REPLY, "the answer to a record");
	MP_CHECK(f.session == session && f.payload_bytes == SR_CMP_BYTES, "a reply's frame");
	MP_EQ(sr_get64(f.payload), t->first + n, "slot word of the reply");
	MP_EQ(sr_seal_open(&t->replies, n, reply, f.payload), 0, "the reply is authentic");
	return true;
}

/* Message 0, then an order of this number whose signature is verified. */
static inline void sealed_order(struct mp_stream *stream, const struct mp_sealed *s,
				struct mp_talk *t, uint32_t session, uint64_t n)
{
	unsigned char body[MP_BODY_BYTES], reply[SR_CMP_BODY_BYTES];
	struct sr_completion c = { .user_data = n };

	mp_body(body, 1, n);
	MP_CHECK(sealed_request(stream, t, session, n, SR_ECDSA_SHA256, body, sizeof body, reply),
		 "the session ended");
	MP_EQ(sr_get16(reply + SR_REP_STATUS), SR_OK, "status");
	MP_EQ(sr_get64(reply + SR_REP_ACCEPTED), n + 1, "accepted");
	c.sigkind = reply[SR_REP_SIGKIND];
	c.recovery_id = reply[SR_REP_RECID];
	memcpy(c.signature, reply + SR_REP_SIG, SR_SIG_BYTES);
	mp_verify(&s->rig, 1, &c);
}

static inline void sealed_message_0(struct mp_stream *stream, struct mp_talk *t, uint32_t session,
				    unsigned char reply[SR_CMP_BODY_BYTES])
{
	MP_CHECK(sealed_request(stream, t, session, 0, SR_TYPE_SESSION, NULL, 0, reply),
		 "the session ended at message 0");
	MP_EQ(sr_get16(reply + SR_REP_STATUS), SR_OK, "status of message 0");
}

#endif /* MP_SEALED_H */
