/* SPDX-License-Identifier: MIT */
/*
 * How an agent treats sessions that are sealed: a raw client, a real agent, and a
 * signer's stream that the test itself answers, frame by frame.
 */
#include "mp_raw.h"
#include "sr_address.h"
#include "sr_record.h"

#define FIRST (UINT64_MAX - 2) /* the slot words wrap early */

static struct mp_rig rig;
static int listener;
static int stream = -1; /* the signer's end */
static unsigned char in[65536];
static size_t in_bytes;

static void start(void)
{
	struct sr_reason why = { 0, "" };
	struct sr_address address;

	mp_rig_new(&rig, true);
	MP_EQ(sr_address_parse(&address, rig.stream, &why), 0, why.text);
	listener = sr_address_listen(&address, SOCK_STREAM, 0600, &why);
	MP_CHECK(listener >= 0, "%s", why.text);
	mp_start_agent(&rig);
}

static void put(uint32_t kind, uint32_t session, uint32_t epoch, const void *payload,
		uint32_t bytes)
{
	unsigned char frame[SR_FRAME_HEADER_BYTES + 256];

	MP_CHECK(bytes <= 256, "a frame that is too long");
	(void)sr_frame_put(frame, kind, session, epoch, bytes);
	memcpy(frame + SR_FRAME_HEADER_BYTES, payload, bytes);
	MP_EQ(send(stream, frame, SR_FRAME_HEADER_BYTES + bytes, MSG_NOSIGNAL),
	      SR_FRAME_HEADER_BYTES + bytes, "send as the signer");
}

/* The agent connects, and hears which boot of the signer this is. */
static void signer_up(uint64_t boot, uint32_t features)
{
	struct sr_hello hello = { .protocol = SR_PROTOCOL,
				  .credit_records = 16,
				  .slot_bytes_max = SR_SUB_BYTES_MAX,
				  .write_bytes_max = SR_WRITE_BYTES_MAX,
				  .sessions_max = 16,
				  .features = features,
				  .boot_id = { boot, boot } };
	struct pollfd p = { .fd = listener, .events = POLLIN };
	unsigned char payload[SR_HELLO_BYTES];

	MP_CHECK(poll(&p, 1, (int)(MP_BOUND_NS / SR_NS_PER_MS)) > 0, "no agent connects");
	stream = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	MP_CHECK(stream >= 0, "accept: %s", strerror(errno));
	in_bytes = 0;
	sr_hello_put(payload, &hello);
	put(SR_FRAME_HELLO, 0, 0, payload, sizeof payload);
}

static void signer_down(void)
{
	(void)close(stream);
	stream = -1;
}

/* The next frame that asks for no counters. Its payload is good until the next call. */
static struct sr_frame next_frame(void)
{
	static unsigned char payload[SR_FRAME_BYTES_MAX];
	static const unsigned char counters[SR_STATUS_BYTES];
	struct pollfd p = { .fd = stream, .events = POLLIN };
	struct sr_frame f;

	for (;;) {
		int ret = sr_frame_cut(&f, in, in_bytes);
		ssize_t n;

		if (ret == 0) {
			memcpy(payload, f.payload, f.payload_bytes);
			f.payload = payload;
			in_bytes -= f.bytes;
			memmove(in, in + f.bytes, in_bytes);
			if (f.kind != SR_FRAME_STATUS)
				return f;
			put(SR_FRAME_STATUS, 0, 0, counters, sizeof counters);
			continue;
		}
		MP_EQ(ret, -EAGAIN, "cutting the agent's frames");
		MP_CHECK(poll(&p, 1, (int)(MP_BOUND_NS / SR_NS_PER_MS)) > 0, "no frame comes");
		n = recv(stream, in + in_bytes, sizeof in - in_bytes, 0);
		MP_CHECK(n > 0, "the agent hung up");
		in_bytes += (size_t)n;
	}
}

/* The agent's OPEN of this session; answered. */
static void answer_open(const struct mp_raw *raw, uint32_t id, enum sr_open_result result)
{
	struct sr_frame f = next_frame();
	unsigned char payload[SR_OPENED_BYTES];
	struct sr_open_request open;

	MP_EQ(f.kind, SR_FRAME_OPEN, "kind of a frame");
	MP_EQ(sr_open_get(&open, &f), 0, "OPEN");
	MP_CHECK(open.flags & SR_OPEN_SEALED, "OPEN has flags %u: not sealed", open.flags);
	MP_CHECK(open.flags & SR_OPEN_PRIORITY, "OPEN has flags %u: no priority", open.flags);
	MP_CHECK(!memcmp(open.token, raw->token, sizeof open.token), "OPEN of another token");
	MP_CHECK(open.first == raw->first && open.depth == raw->geometry.depth &&
			 open.slot_bytes == raw->geometry.slot_bytes,
		 "OPEN says other sizes");
	sr_opened_put(payload, &(struct sr_opened){ open.cookie, result });
	put(SR_FRAME_OPENED, result == SR_OPENED_OK ? id : 0, f.epoch, payload, sizeof payload);
}

static void ask_open(struct mp_raw *raw)
{
	struct sr_slots slots = sr_region_slots(&raw->submission, 0);
	union sr_attach_message m;

	sr_slots_reset(&slots, FIRST);
	raw->first = FIRST;
	(void)!getrandom(raw->token, sizeof raw->token, 0);
	memset(&m, 0, sizeof m);
	m.open.flags = SR_OPEN_SEALED | SR_OPEN_PRIORITY;
	m.open.first = raw->first;
	memcpy(m.open.token, raw->token, sizeof raw->token);
	MP_EQ(sr_attach_send(raw->sock, &m, SR_ATTACH_OPEN, NULL, 0), 0, "OPEN");
}

static void opened(struct mp_raw *raw, enum sr_attach_result result)
{
	union sr_attach_message m;
	int fds[2];
	int count;

	MP_EQ(raw_recv(raw->sock, &m, fds, &count), 0, "receiving OPENED");
	MP_EQ(m.header.type, SR_ATTACH_OPENED, "type of the answer to OPEN");
	MP_EQ(m.opened.result, result, "result of OPEN");
}

static void await_up(void)
{
	uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;

	while (mp_counter(&rig, "stream", "up") != 1) {
		MP_CHECK(sr_now_ns() < end_ns, "the agent finds no signer");
		mp_sleep_us(1000);
	}
}

/* As far as a session that the signer has. */
static void open_sealed(struct mp_raw *raw)
{
	start();
	signer_up(1, 0);
	await_up();
	raw_attach(raw, &rig, 1, 8);
	ask_open(raw);
	answer_open(raw, 1, SR_OPENED_OK);
	opened(raw, SR_RESULT_OK);
}

static void publish(struct mp_raw *raw, uint64_t n)
{
	struct sr_slots slots = sr_region_slots(&raw->submission, 0);
	unsigned char record[SR_SUB_BYTES_DEFAULT] = { 0 };

	memset(record + SR_SUB_BODY, (int)n + 1, sizeof record - SR_SUB_BODY);
	sr_slot_publish(&slots, raw->first + n, record);
}

static void expect_data(const struct mp_raw *raw, uint32_t id, uint64_t n)
{
	struct sr_frame f = next_frame();

	MP_EQ(f.kind, SR_FRAME_DATA, "kind of a frame");
	MP_EQ(f.session, id, "session of a record");
	MP_EQ(sr_get64(f.payload) - raw->first, n, "number of a record");
	MP_EQ(f.payload[SR_SUB_BODY], n + 1, "a byte of a record");
}

/* The completion of number n: its kind, and its status if it is the agent's. */
static void expect_completion(struct mp_raw *raw, uint64_t n, uint8_t kind, uint8_t status)
{
	struct sr_slots slots = sr_region_slots(&raw->completion, 0);
	uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;
	unsigned char record[SR_CMP_BYTES];

	while (sr_slot_look(&slots, raw->first + n) < 0) {
		MP_CHECK(sr_now_ns() < end_ns, "no completion of %llu", (unsigned long long)n);
		mp_sleep_us(500);
	}
	sr_slot_copy(&slots, raw->first + n, record);
	MP_EQ(record[SR_CMP_KIND], kind, "kind of a completion");
	if (kind == SR_KIND_AGENT)
		MP_EQ(record[SR_CMP_STATUS], status, "status of a completion");
}

static void stop(struct mp_raw *raw)
{
	raw_detach(raw);
	MP_CHECK(mp_alive(rig.agent), "the agent ended");
	mp_rig_stop(&rig);
}

/* ---- the tests ---- */

static void session_that_was_not_admitted_is_gone(void)
{
	struct mp_raw raw;

	start();
	signer_up(1, 0);
	await_up();
	raw_attach(&raw, &rig, 1, 8);
	for (int i = 0; i < 3; i++) {
		ask_open(&raw);
		answer_open(&raw, 0, SR_OPENED_GONE);
		opened(&raw, SR_RESULT_GONE);
	}
	ask_open(&raw); /* and nothing of them is left in the way of another */
	answer_open(&raw, 1, SR_OPENED_OK);
	opened(&raw, SR_RESULT_OK);
	stop(&raw);
}

static void stream_that_comes_back_resumes_by_the_same_open(void)
{
	unsigned char reply[SR_CMP_BYTES] = { 0 };
	struct mp_raw raw;

	open_sealed(&raw);
	for (uint64_t n = 0; n < 4; n++) {
		publish(&raw, n);
		expect_data(&raw, 1, n);
	}
	signer_down();
	signer_up(1, 0);
	answer_open(&raw, 4097, SR_OPENED_OK);
	for (uint64_t n = 0; n < 4; n++)
		expect_data(&raw, 4097, n);
	for (uint64_t n = 0; n < 4; n++) {
		sr_put64(reply, raw.first + n);
		reply[SR_CMP_KIND] = SR_KIND_SEALED;
		put(SR_FRAME_REPLY, 4097, 1, reply, sizeof reply);
		expect_completion(&raw, n, SR_KIND_SEALED, 0);
	}
	stop(&raw);
}

static void session_that_is_gone_when_the_stream_is_back_is_lost(void)
{
	struct mp_raw raw;

	open_sealed(&raw);
	publish(&raw, 0);
	expect_data(&raw, 1, 0);
	signer_down();
	mp_await_lines(rig.agent_log, "lost the signer", 1);
	publish(&raw, 1); /* this one never leaves */
	signer_up(1, 0);
	answer_open(&raw, 0, SR_OPENED_GONE);
	expect_completion(&raw, 0, SR_KIND_AGENT, SR_UNKNOWN);
	expect_completion(&raw, 1, SR_KIND_AGENT, SR_NOT_SENT);
	publish(&raw, 2);
	expect_completion(&raw, 2, SR_KIND_AGENT, SR_SESSION_LOST);
	stop(&raw);
}

static void another_boot_is_not_asked_for_it(void)
{
	struct mp_raw raw;

	open_sealed(&raw);
	publish(&raw, 0);
	expect_data(&raw, 1, 0);
	signer_down();
	signer_up(2, 0);
	expect_completion(&raw, 0, SR_KIND_AGENT, SR_UNKNOWN);
	raw_detach(&raw);
	raw_attach(&raw, &rig, 1, 8);
	ask_open(&raw);
	answer_open(&raw, 1, SR_OPENED_OK); /* the first frame is the new session's */
	opened(&raw, SR_RESULT_OK);
	stop(&raw);
}

/* A client that attaches to the next agent resumes by its token, too. */
static void next_agent_opens_it_sealed(void)
{
	union sr_attach_message m;
	struct mp_raw raw;

	open_sealed(&raw);
	publish(&raw, 0);
	expect_data(&raw, 1, 0);
	mp_signal(&rig.agent, SIGKILL);
	signer_down();
	(void)close(raw.sock);
	mp_start_agent(&rig);
	signer_up(1, 0);
	raw_attach_again(&raw, &rig);
	memset(&m, 0, sizeof m);
	m.open.flags = SR_OPEN_SEALED | SR_OPEN_PRIORITY | SR_OPEN_RESUME;
	m.open.first = raw.first;
	m.open.published = 1;
	memcpy(m.open.token, raw.token, sizeof raw.token);
	MP_EQ(sr_attach_send(raw.sock, &m, SR_ATTACH_OPEN, NULL, 0), 0, "OPEN");
	answer_open(&raw, 2, SR_OPENED_OK);
	opened(&raw, SR_RESULT_OK);
	expect_data(&raw, 2, 0);
	stop(&raw);
}

static void client_that_leaves_is_ended_at_the_signer(void)
{
	struct sr_frame f;
	struct mp_raw raw;

	open_sealed(&raw);
	raw_detach(&raw);
	f = next_frame();
	MP_EQ(f.kind, SR_FRAME_END, "kind of a frame");
	MP_EQ(f.session, 1, "session of END");
	stop(&raw);
}

static void status_says_what_is_sealed(void)
{
	struct mp_raw raw;
	json_t *status;
	const json_t *session;

	open_sealed(&raw);
	status = mp_status(&rig);
	MP_CHECK(json_is_true(json_object_get(status, "sealed")), "the signer takes sealed only");
	session = json_array_get(
		json_object_get(json_array_get(json_object_get(status, "clients"), 0), "sessions"),
		0);
	MP_CHECK(json_is_true(json_object_get(session, "sealed")), "the session is sealed");
	json_decref(status);
	MP_EQ(mp_count_lines(rig.agent_log, "UNSEALED"), 0, "lines about records in clear");
	signer_down();
	signer_up(1, SR_HELLO_UNSEALED);
	mp_await_lines(rig.agent_log, "the signer takes records UNSEALED", 1);
	status = mp_status(&rig);
	MP_CHECK(json_is_false(json_object_get(status, "sealed")), "the signer takes both");
	json_decref(status);
	stop(&raw);
}

int main(int argc, char **argv)
{
	static const struct mp_test tests[] = {
		{ "session_that_was_not_admitted_is_gone", session_that_was_not_admitted_is_gone,
		  0 },
		{ "stream_that_comes_back_resumes_by_the_same_open",
		  stream_that_comes_back_resumes_by_the_same_open, 0 },
		{ "session_that_is_gone_when_the_stream_is_back_is_lost",
		  session_that_is_gone_when_the_stream_is_back_is_lost, 0 },
		{ "another_boot_is_not_asked_for_it", another_boot_is_not_asked_for_it, 0 },
		{ "next_agent_opens_it_sealed", next_agent_opens_it_sealed, 0 },
		{ "client_that_leaves_is_ended_at_the_signer",
		  client_that_leaves_is_ended_at_the_signer, 0 },
		{ "status_says_what_is_sealed", status_says_what_is_sealed, 0 },
	};

	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
