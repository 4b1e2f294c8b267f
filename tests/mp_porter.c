/* SPDX-License-Identifier: MIT */
/* Sealed sessions from end to end: a real sigring-signer with operators and a manifest,
 * and a client that speaks to its control address and its stream by hand. */
#include <openssl/crypto.h>

#include "mp_sealed.h"
#include "sr_signer.h"

static struct mp_sealed s;
static struct mp_stream stream;

static void begin(void)
{
	sealed_new(&s);
	mp_start_signer(&s.rig);
}

/* A session that has signed an order of number 1. */
static struct mp_talk *session(uint32_t *id)
{
	unsigned char reply[SR_CMP_BODY_BYTES];
	struct mp_talk *t = sealed_talk(&s, s.trader);

	sealed_converse(t, NULL, NULL);
	MP_EQ(sealed_open(&stream, t, id), SR_OPENED_OK, "OPEN");
	sealed_message_0(&stream, t, *id, reply);
	sealed_order(&stream, &s, t, *id, 1);
	return t;
}

static void order_is_signed(void)
{
	struct mp_talk *t;
	uint32_t id;

	begin();
	sealed_stream(&stream, &s);
	t = session(&id);
	for (uint64_t n = 2; n < 100; n++)
		sealed_order(&stream, &s, t, id, n);
	sealed_end(t);
	mp_rig_stop(&s.rig);
	MP_EQ(mp_count_lines(s.rig.signer_log, "sessions set up: 1 (0 by ticket); refused: 0; "
					       "waiting for a record: 0"),
	      1, "the counts at the end");
}

/* An OPEN right behind BEGUN finds the admission there, each time. */
static void open_follows_begun_at_once(void)
{
	begin();
	sealed_stream(&stream, &s);
	for (unsigned int i = 0; i < 100; i++) {
		struct mp_talk *t;
		uint32_t id;

		t = session(&id);
		sealed_end(t);
	}
	mp_rig_stop(&s.rig);
}

static void ticket_opens_the_next(void)
{
	unsigned char reply[SR_CMP_BODY_BYTES];
	struct mp_talk *t, *next;
	uint32_t id;

	begin();
	sealed_stream(&stream, &s);
	t = session(&id);
	MP_CHECK(t->result.grant.has_ticket, "there is no ticket");
	next = sealed_talk(&s, s.trader);
	mp_sleep_us(1200000); /* it lives for an hour, in nanoseconds: more than 32 bits */
	sealed_converse(next, &t->ticket, t->token);
	MP_EQ(sealed_open(&stream, next, &id), SR_OPENED_OK, "OPEN");
	sealed_message_0(&stream, next, id, reply);
	MP_EQ(sr_get64(reply + SR_LAST_KNOWN), 1, "the predecessor was there");
	MP_EQ(sr_get64(reply + SR_LAST_NEXT), 2, "how far it had come");
	MP_EQ(sr_get64(reply + SR_LAST_ACCEPTED), 2, "what it had accepted");
	sealed_order(&stream, &s, next, id, 1);
	sealed_end(next);

	/* A ticket is good once. */
	next = sealed_talk(&s, s.trader);
	sealed_begin(next, &t->ticket, NULL);
	MP_EQ(sealed_step(next), SR_SETUP_REFUSED, "a ticket that was spent");
	MP_EQ(next->setup.refusal, SR_REFUSAL_TICKET_SPENT, "why");
	sealed_end(next);
	sealed_end(t);
	mp_rig_stop(&s.rig);
	MP_EQ(mp_count_lines(s.rig.signer_log, "sessions set up: 2 (1 by ticket); refused: 1;"), 1,
	      "the counts at the end");
}

static void stranger_is_refused(void)
{
	struct mp_talk *t;

	begin();
	t = sealed_talk(&s, s.stranger);
	sealed_begin(t, NULL, NULL);
	MP_EQ(sealed_step(t), SR_SETUP_OK, "the document");
	MP_EQ(sealed_step(t), SR_SETUP_REFUSED, "BEGIN of a stranger");
	MP_EQ(t->setup.refusal, SR_REFUSAL_IDENTITY, "why");
	MP_CHECK(!sealed_recv(t->fd, t->in, &t->bytes, sizeof t->in), "it hangs up then");
	sealed_end(t);
	mp_await_lines(s.rig.signer_log, "a conversation was refused: ", 1);
	mp_rig_stop(&s.rig);
}

/* What the file of the key permits does not count beside a manifest. */
static void manifest_outweighs_key_files(void)
{
	unsigned char body[32] = { 1 }, reply[SR_CMP_BODY_BYTES];
	struct mp_talk *t;
	uint32_t id;

	begin();
	sealed_stream(&stream, &s);
	t = session(&id);
	MP_CHECK(sealed_request(&stream, t, id, 2, SR_ECDSA_DIGEST, body, sizeof body, reply),
		 "the session ended");
	MP_EQ(sr_get16(reply + SR_REP_STATUS), SR_DENIED, "status");
	MP_EQ(sr_get16(reply + SR_REP_POLICY), SR_POLICY_TYPE_NOT_PERMITTED, "policy");
	sealed_end(t);
	mp_rig_stop(&s.rig);
}

/* An order in clear, by hand. Returns the policy that denies it, or 0. */
static uint16_t order_in_clear(void)
{
	unsigned char out[SR_FRAME_HEADER_BYTES + SEALED_SLOT] = { 0 };
	unsigned char *record = out + SR_FRAME_HEADER_BYTES, *request = record + SR_SUB_BODY;
	const struct sr_open_request open = {
		.token = { 1, 2 }, .depth = SEALED_DEPTH, .slot_bytes = SEALED_SLOT
	};
	struct sr_opened opened;
	struct sr_frame f;
	uint32_t session;

	sealed_stream(&stream, &s);
	(void)sr_frame_put(out, SR_FRAME_OPEN, 0, SEALED_EPOCH, SR_OPEN_BYTES);
	sr_open_put(record, &open);
	sealed_send(stream.fd, out, SR_FRAME_HEADER_BYTES + SR_OPEN_BYTES);
	sealed_next(&stream, &f);
	MP_EQ(sr_opened_get(&opened, &f), 0, "OPENED");
	MP_EQ(opened.result, SR_OPENED_OK, "OPEN in clear");
	session = f.session;

	memset(out, 0, sizeof out);
	(void)sr_frame_put(out, SR_FRAME_DATA, session, SEALED_EPOCH, SEALED_SLOT);
	record[SR_SUB_KIND] = SR_KIND_UNSEALED;
	sr_put32(request + SR_REQ_KEY, MP_KEY);
	sr_put16(request + SR_REQ_TYPE, SR_ECDSA_SHA256);
	sr_put16(request + SR_REQ_BODY_BYTES, 4);
	sealed_send(stream.fd, out, sizeof out);
	sealed_next(&stream, &f);
	MP_EQ(f.kind, SR_FRAME_REPLY, "the answer to a record");
	(void)close(stream.fd);
	return sr_get16(f.payload + SR_CMP_BODY + SR_REP_POLICY);
}

/* Whatever the file of the key says, which lets every user have it. */
static void without_a_manifest_nobody_signs(void)
{
	begin();
	mp_signal(&s.rig.signer, SIGTERM);
	s.rig.signer_args[4] = NULL;
	mp_start_signer(&s.rig);
	mp_await_lines(s.rig.signer_log, "no manifest is in force", 1);
	MP_EQ(order_in_clear(), SR_POLICY_UNKNOWN_KEY, "policy");
	mp_signal(&s.rig.signer, SIGTERM);
	s.rig.signer_args[0] = NULL;
	mp_start_signer(&s.rig);
	MP_EQ(order_in_clear(), SR_POLICY_NONE, "policy without operators");
	mp_rig_stop(&s.rig);
}

static void hangup(void)
{
	MP_EQ(kill(s.rig.signer, SIGHUP), 0, "SIGHUP");
}

/* A unit is reloaded whether it has operators or not. */
static void reload_without_operators_ends_nobody(void)
{
	sealed_new(&s);
	s.rig.signer_args[0] = NULL;
	mp_start_signer(&s.rig);
	hangup();
	mp_sleep_us(200000);
	MP_CHECK(mp_alive(s.rig.signer), "the signer is gone");
	mp_rig_stop(&s.rig);
}

/* A higher version takes a trader's rights, and his session, at once. */
static void reload_ends_sessions_of_who_has_gone(void)
{
	unsigned char reply[SR_CMP_BODY_BYTES], body[4] = { 1 };
	struct mp_talk *t, *new;
	uint32_t id;

	begin();
	sealed_stream(&stream, &s);
	t = session(&id);
	sealed_manifest(&s, 2, s.stranger, "hedged");
	hangup();
	mp_await_lines(s.rig.signer_log, "manifest version 2 is in force", 1);
	MP_CHECK(!sealed_request(&stream, t, id, 2, SR_ECDSA_SHA256, body, sizeof body, reply),
		 "a session of somebody who is in no manifest is still served");
	sealed_end(t);

	t = sealed_talk(&s, s.trader);
	MP_EQ(t->trust.manifest_min, 2, "the trust file speaks of the new version");
	sealed_begin(t, NULL, NULL);
	MP_EQ(sealed_step(t), SR_SETUP_OK, "the document");
	MP_EQ(sealed_step(t), SR_SETUP_REFUSED, "BEGIN of who was");
	MP_EQ(t->setup.refusal, SR_REFUSAL_IDENTITY, "why");
	sealed_end(t);
	new = sealed_talk(&s, s.stranger);
	sealed_converse(new, NULL, NULL);
	MP_EQ(sealed_open(&stream, new, &id), SR_OPENED_OK, "OPEN");
	sealed_message_0(&stream, new, id, reply);
	sealed_order(&stream, &s, new, id, 1);
	sealed_end(new);
	mp_rig_stop(&s.rig);
}

static void refused_file_changes_nothing(void)
{
	struct mp_talk *t;
	uint32_t id;

	begin();
	sealed_stream(&stream, &s);
	sealed_write(s.manifest, "{}\n");
	hangup();
	mp_await_lines(s.rig.signer_log, "the manifest in force stays", 1);
	(void)unlink(s.manifest);
	hangup();
	mp_await_lines(s.rig.signer_log, "the manifest in force stays", 2);
	sealed_manifest(&s, 1, s.stranger, "hedged");
	hangup();
	mp_await_lines(s.rig.signer_log, "the manifest in force stays", 3);
	t = session(&id);
	sealed_end(t);
	mp_rig_stop(&s.rig);
}

/* Snapshots cannot be excluded on a test machine; where they can, there is a pool. */
static void presign_without_a_pool_is_refused(void)
{
	const char *check[2 * MP_ARGS_MAX] = { "sigring-signer", "--listen", s.rig.stream,
					       "--keys",         s.rig.keys, "--check" };
	char log[300];
	char *text;

	sealed_new(&s);
	sealed_manifest(&s, 1, s.trader, "presign");
	for (size_t i = 0; s.rig.signer_args[i]; i++)
		check[6 + i] = s.rig.signer_args[i];
	(void)snprintf(log, sizeof log, "%s/check", s.rig.dir);
	(void)mp_run(check, log);
	text = mp_read_file(log);
	MP_CHECK(strstr(text, "key 7 has nonce presign, and this signer was started without a pool") ||
			 strstr(text, "presignatures were made"),
		 "%s", text);
	free(text);
}

/* ---- those who are no clients ---- */

/* Connections that only hold places: who has something to say gets one. */
static void silent_conversations_keep_none_out(void)
{
	int fds[200];
	struct mp_talk *t;
	uint32_t id;

	begin();
	sealed_stream(&stream, &s);
	for (size_t i = 0; i < 200; i++)
		fds[i] = sealed_connect(s.control);
	t = session(&id);
	sealed_end(t);
	for (size_t i = 0; i < 200; i++)
		(void)close(fds[i]);
	t = session(&id);
	sealed_end(t);
	mp_rig_stop(&s.rig);
}

static void silence_is_hung_up_on(void)
{
	unsigned char in[16];
	size_t bytes = 0;
	int fd;

	begin();
	fd = sealed_connect(s.control);
	MP_CHECK(!sealed_recv(fd, in, &bytes, sizeof in), "an answer to nothing");
	(void)close(fd);
	mp_rig_stop(&s.rig);
}

static void garbage_is_hung_up_on(void)
{
	struct mp_talk *t;
	uint32_t id;

	begin();
	sealed_stream(&stream, &s);
	for (unsigned int i = 0; i < 300; i++) {
		unsigned char junk[512], in[SR_CONTROL_BYTES_MAX];
		size_t bytes = 0;
		int fd = sealed_connect(s.control);

		for (size_t j = 0; j < sizeof junk; j++)
			junk[j] = (unsigned char)mp_random();
		if (i % 3 == 0) { /* a header that makes sense */
			sr_put32(junk, i % 2 ? SR_BEGIN_BYTES : SR_ATTEST_MESSAGE_BYTES);
			sr_put32(junk + 4, i % 2 ? SR_CONTROL_BEGIN : SR_CONTROL_ATTEST);
		}
		(void)!send(fd, junk, 1 + mp_below(sizeof junk), MSG_NOSIGNAL);
		if (i % 4 == 0)
			(void)shutdown(fd, SHUT_WR);
		if (i % 3 && i % 4 == 0)
			while (sealed_recv(fd, in, &bytes, sizeof in))
				;
		(void)close(fd);
	}
	t = session(&id);
	sealed_end(t);
	mp_rig_stop(&s.rig);
}

/* The message of this kind that comes next: its bytes, which are not kept. */
static uint32_t next_message(int fd, unsigned char in[SR_CONTROL_BYTES_MAX], size_t *bytes,
			     uint32_t kind)
{
	struct sr_control message;
	uint32_t whole;
	int ret;

	while ((ret = sr_control_cut(&message, in, *bytes)) == -EAGAIN)
		MP_CHECK(sealed_recv(fd, in, bytes, SR_CONTROL_BYTES_MAX), "no message of kind %u",
			 kind);
	MP_EQ(ret, 0, "cutting the signer's message");
	MP_EQ(message.kind, kind, "its kind");
	whole = (uint32_t)message.bytes;
	*bytes -= whole;
	memmove(in, in + whole, *bytes);
	return whole;
}

/* Two questions in one write; the answer to the first leaves in two. */
static void question_behind_a_long_answer_is_answered(void)
{
	unsigned char nonce[SR_CONTROL_NONCE_BYTES] = { 1 }, in[SR_CONTROL_BYTES_MAX];
	unsigned char out[2 * SR_ATTEST_MESSAGE_BYTES];
	static const char *const limit[] = { "--signer-write-bytes-max", "2048" };
	size_t bytes = 0, sent, n = 0;
	uint32_t document;
	int fd;

	sealed_new(&s);
	while (s.rig.signer_args[n])
		n++;
	memcpy(s.rig.signer_args + n, limit, sizeof limit);
	mp_start_signer(&s.rig);
	fd = sealed_connect(s.control);
	sent = sr_control_attest_put(out, nonce);
	sent += sr_control_attest_put(out + sent, nonce);
	MP_EQ(send(fd, out, sent, MSG_NOSIGNAL), (ssize_t)sent, "send");
	document = next_message(fd, in, &bytes, SR_CONTROL_DOCUMENT);
	MP_CHECK(document > 2048 && document <= 4096, "a document of %u bytes", document);
	(void)next_message(fd, in, &bytes, SR_CONTROL_REFUSED);
	(void)close(fd);
	mp_rig_stop(&s.rig);
}

/* Gone at each point. */
static void hang_ups_leave_nothing(void)
{
	unsigned int before, after;
	struct mp_talk *t;
	uint32_t id;

	begin();
	sealed_stream(&stream, &s);
	before = mp_fd_settled(s.rig.signer);
	for (unsigned int i = 0; i < 42; i++) { /* two in three wait: less than the share */
		t = sealed_talk(&s, s.trader);
		sealed_begin(t, NULL, NULL);
		if (i % 3)
			MP_EQ(sealed_step(t), SR_SETUP_OK, "the document");
		if (i % 3 == 2)
			MP_EQ(sealed_step(t), SR_SETUP_OK, "BEGUN");
		sealed_end(t);
	}
	after = mp_fd_settled(s.rig.signer);
	MP_EQ(after, before, "descriptors of the signer");

	/* Those that came as far as BEGUN wait for a first record, until their time is up. */
	mp_sleep_us(5200000);
	t = session(&id);
	sealed_end(t);
	mp_rig_stop(&s.rig);
}

/* ---- memory ---- */

#define PLACE_BYTES 8704u /* that sr_signer.c reckons with */
#define BLOCKS_MAX 4096u

/* Between the test and a signer in a child of it. */
struct signer_in_child {
	uint64_t up;
	uint64_t eat; /* 1: leave OpenSSL no memory; 0: give it back */
	uint64_t eaten;
	uint64_t turns;
	uint64_t used; /* at the last of them */
};

static struct signer_in_child *child;

static void eat(void *blocks[BLOCKS_MAX], uint32_t *count)
{
	for (size_t bytes = 1u << 20; bytes >= 32 && *count < BLOCKS_MAX; bytes /= 2)
		while (*count < BLOCKS_MAX && (blocks[*count] = OPENSSL_malloc(bytes)))
			++*count;
}

static void sign_in_child(void *arg)
{
	static void *blocks[BLOCKS_MAX];
	struct sr_signer_config config;
	struct sr_reason why = { 0, "" };
	struct sr_signer signer;
	uint32_t count = 0;

	(void)arg;
	sr_signer_config_init(&config);
	config.ground = &sr_ground_host;
	config.operators = s.operators;
	config.operators_needed = 1;
	config.manifest = s.manifest;
	config.trust_out = s.trust;
	MP_EQ(sr_address_parse(&config.control, s.control, NULL), 0, "address");
	config.control_mode = 0600;
	MP_CHECK(sr_signer_harden(&config, &why) == 0, "%s", why.text);
	MP_CHECK(sr_signer_new(&signer, &config, &why) == 0, "%s", why.text);
	sr_signer_open(&signer);
	sr_store_release(&child->up, 1);
	for (;;) {
		sr_signer_work(&signer);
		sr_store_relaxed(&child->used, CRYPTO_secure_used());
		sr_store_release(&child->turns, child->turns + 1);
		if (sr_load_acquire(&child->eat) && !count) {
			eat(blocks, &count);
			sr_store_release(&child->eaten, 1);
		} else if (!sr_load_acquire(&child->eat) && count) {
			while (count)
				OPENSSL_free(blocks[--count]);
			sr_store_release(&child->eaten, 0);
		}
		mp_sleep_us(100);
	}
}

static void order_memory(bool eaten)
{
	sr_store_release(&child->eat, eaten);
	while (sr_load_acquire(&child->eaten) != eaten)
		mp_sleep_us(100);
}

/* Of OpenSSL's heap in the child, as it is from now on. */
static uint64_t used_now(void)
{
	uint64_t turns = sr_load_acquire(&child->turns);

	while (sr_load_acquire(&child->turns) < turns + 2)
		mp_sleep_us(100);
	return sr_load_relaxed(&child->used);
}

static void full_heap_refuses_sessions(void)
{
	struct mp_talk *talks[20];
	struct pollfd p = { .events = POLLIN };
	struct mp_talk *t;
	uint64_t before, taken;
	pid_t pid;

	sealed_new(&s);
	child = mp_shared(sizeof *child);
	pid = mp_fork(sign_in_child, NULL);
	while (!sr_load_acquire(&child->up)) {
		MP_CHECK(mp_alive(pid), "the signer in a child ended");
		mp_sleep_us(1000);
	}
	t = sealed_talk(&s, s.trader);
	sealed_begin(t, NULL, NULL);
	p.fd = t->fd;
	MP_EQ(poll(&p, 1, 10000), 1, "the document");
	order_memory(true);
	MP_EQ(sealed_step(t), SR_SETUP_OK, "the document");
	MP_EQ(sealed_step(t), SR_SETUP_REFUSED, "BEGIN without memory");
	MP_EQ(t->setup.refusal, SR_REFUSAL_INTERNAL, "why");
	sealed_end(t);
	t = sealed_talk(&s, s.trader);
	sealed_begin(t, NULL, NULL);
	MP_EQ(sealed_step(t), SR_SETUP_REFUSED, "ATTEST without memory");
	sealed_end(t);

	order_memory(false);
	before = used_now();
	for (size_t i = 0; i < 20; i++) {
		talks[i] = sealed_talk(&s, s.trader);
		sealed_converse(talks[i], NULL, NULL);
	}
	taken = used_now() - before;
	MP_CHECK(taken <= 20 * PLACE_BYTES, "20 sessions take %llu bytes of OpenSSL's heap",
		 (unsigned long long)taken);
	(void)printf("# a session takes %llu bytes of OpenSSL's heap\n",
		     (unsigned long long)taken / 20);
	for (size_t i = 0; i < 20; i++)
		sealed_end(talks[i]);
	MP_CHECK(mp_alive(pid), "the signer in a child ended");
	mp_signal(&pid, SIGKILL);
}

static const struct mp_test tests[] = {
	{ "porter/order_is_signed", order_is_signed, 0 },
	{ "porter/open_follows_begun_at_once", open_follows_begun_at_once, 0 },
	{ "porter/ticket_opens_the_next", ticket_opens_the_next, 0 },
	{ "porter/stranger_is_refused", stranger_is_refused, 0 },
	{ "porter/manifest_outweighs_key_files", manifest_outweighs_key_files, 0 },
	{ "porter/without_a_manifest_nobody_signs", without_a_manifest_nobody_signs, 0 },
	{ "porter/reload_ends_sessions_of_who_has_gone", reload_ends_sessions_of_who_has_gone, 0 },
	{ "porter/reload_without_operators_ends_nobody", reload_without_operators_ends_nobody, 0 },
	{ "porter/refused_file_changes_nothing", refused_file_changes_nothing, 0 },
	{ "porter/presign_without_a_pool_is_refused", presign_without_a_pool_is_refused, 0 },
	{ "porter/silent_conversations_keep_none_out", silent_conversations_keep_none_out, 0 },
	{ "porter/silence_is_hung_up_on", silence_is_hung_up_on, 0 },
	{ "porter/garbage_is_hung_up_on", garbage_is_hung_up_on, 0 },
	{ "porter/question_behind_a_long_answer_is_answered",
	  question_behind_a_long_answer_is_answered, 0 },
	{ "porter/hang_ups_leave_nothing", hang_ups_leave_nothing, 0 },
	{ "porter/full_heap_refuses_sessions", full_heap_refuses_sessions, 0 },
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
