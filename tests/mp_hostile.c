/* SPDX-License-Identifier: MIT */
/*
 * Peers that break the rules: a client that rewrites what it has published or
 * tries to pull its region away, an agent whose stream is garbage. Nobody
 * crashes, and only the session, or the stream, that misbehaves suffers.
 */
#include <pthread.h>

#include "mp_raw.h"
#include "sr_address.h"

static struct mp_rig rig;

/* ---- 5: rewriting a slot after it was published ---- */

#define DEPTH 8u
#define TOGGLED 64u /* offset of a word in the message */

struct vandal {
	struct mp_raw *raw;
	uint32_t stop;
	uint64_t published; /* numbers below are fair game */
	unsigned int mode;
};

/* Scribbles over what was published, without end. */
static void *scribble(void *arg)
{
	struct vandal *v = arg;
	struct sr_slots slots = sr_region_slots(&v->raw->submission, 0);

	for (uint64_t i = 0; !sr_load32_relaxed(&v->stop); i++) {
		uint64_t n = sr_load_relaxed(&v->published);
		uint64_t victim = n - 1 - i % DEPTH;
		unsigned char *slot = sr_slot_at(&slots, v->raw->first + victim);
		unsigned char *request = slot + SR_SUB_BODY;

		if (n < DEPTH)
			continue;
		switch (v->mode) {
		case 0: /* one whole word of the message: two good requests in turn */
			sr_store_relaxed((uint64_t *)(void *)(request + SR_REQ_BODY + TOGGLED),
					 i / DEPTH % 2);
			break;
		case 1: /* lengths, kinds, the deadline */
			sr_put16(request + SR_REQ_BODY_BYTES, (uint16_t)(i * 257));
			sr_put16(request + SR_REQ_TYPE, (uint16_t)i);
			sr_put64(slot + SR_SUB_DEADLINE, i % 3 ? 0 : i);
			slot[SR_SUB_KIND] = (unsigned char)(i % 5 ? SR_KIND_UNSEALED : i);
			break;
		default: /* the slot word itself, now and then */
			if (i % 4096 == 0)
				sr_store_relaxed((uint64_t *)(void *)slot,
						 v->raw->first + victim + i);
			break;
		}
	}
	return NULL;
}

/* Is it a signature over what this client had in this slot at one moment? */
static void check_reply(const unsigned char *record, uint64_t number)
{
	const unsigned char *reply = record + SR_CMP_BODY;
	struct sr_verifier *verifier;
	bool good = false;

	if (record[SR_CMP_KIND] != SR_KIND_UNSEALED || sr_get16(reply + SR_REP_STATUS) != SR_OK)
		return;
	MP_EQ(sr_verifier_new(&verifier), 0, "sr_verifier_new");
	for (uint64_t word = 0; word < 3 && !good; word++) {
		unsigned char body[MP_BODY_BYTES];

		mp_body(body, 50, number);
		if (word < 2)
			sr_put64(body + TOGGLED, word);
		good = sr_verify_signature(verifier, rig.pubkey, SR_ECDSA_SHA256, body, sizeof body,
					   reply + SR_REP_SIG, reply[SR_REP_RECID]) == 0;
	}
	sr_verifier_delete(verifier);
	MP_CHECK(good, "the signature of %llu is over something that was never in its slot",
		 (unsigned long long)number);
}

/* Publishes and takes on its own slots until @count or until it is thrown out; for a while,
 * but not before it has taken @least. */
static uint64_t trade_as_vandal(struct vandal *v, uint64_t count, uint64_t least)
{
	struct sr_slots sub = sr_region_slots(&v->raw->submission, 0);
	struct sr_slots cmp = sr_region_slots(&v->raw->completion, 0);
	unsigned char record[SR_SUB_BYTES_DEFAULT];
	unsigned char reply[SR_CMP_BYTES];
	uint64_t begin_ns = sr_now_ns();
	uint64_t taken = 0;

	while (taken < count) {
		uint64_t past_ns = sr_now_ns() - begin_ns;
		uint64_t n = v->published;
		struct pollfd p = { .fd = v->raw->sock, .events = POLLIN };

		if (past_ns > (taken < least ? MP_BOUND_NS :
					       (mp_long ? 20 : 1) * (uint64_t)SR_NS_PER_S))
			break;
		if (n - taken < DEPTH) {
			raw_record(record, 50, n);
			sr_slot_publish(&sub, v->raw->first + n, record);
			sr_store_relaxed(&v->published, n + 1);
		}
		if (sr_slot_look(&cmp, v->raw->first + taken) == 0) {
			sr_slot_copy(&cmp, v->raw->first + taken, reply);
			if (v->mode == 0 && taken % 16 == 0)
				check_reply(reply, taken);
			taken++;
		}
		if (poll(&p, 1, 0) > 0)
			break;
		(void)sched_yield();
	}
	return taken;
}

static void run_vandal(unsigned int mode, uint64_t count)
{
	struct mp_raw raw;
	struct vandal v = { .raw = &raw, .mode = mode };
	pthread_t thread;
	uint64_t taken;

	raw_attach(&raw, &rig, 1, DEPTH);
	raw_open_ok(&raw, 0, mp_random());
	MP_EQ(pthread_create(&thread, NULL, scribble, &v), 0, "pthread_create");
	taken = trade_as_vandal(&v, count, mode ? 0 : 1);
	sr_store32_relaxed(&v.stop, 1);
	(void)pthread_join(thread, NULL);
	MP_CHECK(taken > 0 || mode, "the vandal was never served at all");
	raw_detach(&raw);
}

static void rewriting_client_spoils_only_itself(void)
{
	uint64_t count = mp_long ? 200000 : 2000;

	for (unsigned int split = 0; split < 2; split++) {
		struct sr_client *client;
		struct sr_session *session;
		uint64_t n = 0;

		mp_rig_new(&rig, split);
		mp_rig_start(&rig);
		client = mp_open(&rig, 1, 8);
		session = mp_session(client, 0, 0);
		for (unsigned int mode = 0; mode < 3; mode++)
			for (int i = 0; i < 2; i++) {
				run_vandal(mode, count);
				for (int k = 0; k < 20; k++)
					mp_order(&rig, client, session, n++);
				MP_CHECK(mp_alive(rig.agent), "the agent ended");
			}
		MP_EQ(mp_signer_counter(&rig, "check_failed"), 0, "signatures that did not verify");
		mp_good_client(&rig);
		sr_close(client);
		mp_rig_stop(&rig);
	}
}

/* Two records under one number: the signer ends the session, in clear. */
static void same_number_with_other_bytes_ends_the_session(void)
{
	uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;
	unsigned char record[SR_SUB_BYTES_DEFAULT];
	unsigned char reply[SR_CMP_BYTES];
	struct sr_slots sub;
	struct sr_slots cmp;
	struct mp_raw raw;
	uint32_t result;

	mp_rig_new(&rig, true);
	mp_rig_start(&rig);
	raw_attach(&raw, &rig, 1, DEPTH);
	raw_open_ok(&raw, 0, 1000);
	sub = sr_region_slots(&raw.submission, 0);
	mp_signal(&rig.signer, SIGSTOP);
	raw_record(record, 50, 0);
	sr_slot_publish(&sub, 1000, record);
	while (mp_counter(&rig, "agent", "forwarded") == 0)
		mp_sleep_us(5000);
	mp_signal(&rig.agent, SIGKILL);
	mp_signal(&rig.signer, SIGCONT);
	mp_start_agent(&rig);
	while (mp_signer_counter(&rig, "signed") == 0)
		; /* its reply is lost with the agent */
	raw_record(record, 51, 0);
	sr_slot_publish(&sub, 1000, record); /* other bytes under number 0 */
	sr_region_drop(&raw.completion);
	(void)close(raw.sock);
	raw_attach_again(&raw, &rig);
	while ((result = raw_ask_open(&raw, 0, SR_OPEN_RESUME, 1)) == SR_RESULT_NO_SIGNER)
		mp_sleep_us(1000);
	MP_EQ(result, SR_RESULT_OK, "result of resuming");
	cmp = sr_region_slots(&raw.completion, 0);
	while (sr_slot_look(&cmp, 1000) == -EAGAIN) {
		MP_CHECK(sr_now_ns() < end_ns, "number 0 is never answered");
		mp_sleep_us(1000);
	}
	sr_slot_copy(&cmp, 1000, reply);
	MP_EQ(reply[SR_CMP_KIND], SR_KIND_AGENT, "who answered");
	MP_EQ(reply[SR_CMP_STATUS], SR_UNKNOWN, "status");
	MP_EQ(mp_signer_counter(&rig, "signed"), 1, "signatures made");
	MP_EQ(mp_counter(&rig, "signer", "ended_hostile"), 1, "sessions ended by the signer");
	raw_detach(&raw);
	mp_good_client(&rig);
	mp_rig_stop(&rig);
}

/* ---- 6: pulling the region away ---- */

static void refuses_everything(int fd, void *base, size_t bytes, bool ours, const char *what)
{
	static const char byte;
	void *map;

	MP_CHECK(ftruncate(fd, 0) < 0 && errno == EPERM, "%s can be truncated", what);
	MP_CHECK(ftruncate(fd, (off_t)bytes * 2) < 0 && errno == EPERM, "%s can be grown", what);
	MP_CHECK(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)bytes) < 0 &&
			 errno == EPERM,
		 "%s can have a hole punched", what);
	/* Huge pages, where the host has some, are files that know no write(): EINVAL. */
	errno = 0;
	MP_CHECK(pwrite(fd, &byte, 1, 4096) < 0 && (errno == EPERM || errno == EINVAL),
		 "%s can be written to: %s", what, strerror(errno));
	map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MP_CHECK(map == MAP_FAILED && errno == EPERM, "%s can be mapped writable", what);
	map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	MP_CHECK(map != MAP_FAILED, "%s cannot be mapped for reading", what);
	MP_CHECK(mprotect(map, bytes, PROT_READ | PROT_WRITE) < 0 && errno == EACCES,
		 "a read-only mapping of %s can be made writable", what);
	(void)munmap(map, bytes);
	if (!ours)
		MP_CHECK(mprotect(base, bytes, PROT_READ | PROT_WRITE) < 0 && errno == EACCES,
			 "our mapping of %s can be made writable", what);
	MP_CHECK(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) < 0 && errno == EPERM,
		 "more seals can be put on %s", what);
}

static void regions_cannot_be_pulled_away(void)
{
	union sr_attach_message m;
	struct sr_geometry g = { 1, DEPTH, SR_CMP_BYTES };
	struct vandal v;
	struct mp_raw raw;
	int fds[2];
	int count;

	mp_rig_new(&rig, true);
	mp_rig_start(&rig);
	memset(&raw, 0, sizeof raw);
	raw.geometry = (struct sr_geometry){ 1, DEPTH, SR_SUB_BYTES_DEFAULT };
	raw.sock = raw_offered(&rig, 1, DEPTH);
	MP_EQ(sr_region_create(&raw.submission, SR_REGION_SUBMISSION, &raw.geometry, 0, -1, NULL),
	      0, "region");
	MP_EQ(raw_send_region(raw.sock, raw.submission.fd, raw.submission.bytes), 0, "REGION");
	MP_EQ(raw_recv(raw.sock, &m, fds, &count), 0, "receiving WELCOME");
	MP_EQ(sr_region_join(&raw.completion, SR_REGION_COMPLETION, &g, fds[0], NULL), 0, "join");
	MP_EQ(sr_attach_send(raw.sock, &m, SR_ATTACH_READY, NULL, 0), 0, "READY");
	refuses_everything(raw.submission.fd, raw.submission.base, raw.submission.bytes, true,
			   "the submission region");
	refuses_everything(fds[0], raw.completion.base, raw.completion.bytes, false,
			   "the completion region");
	/* What is allowed, giving back the pages of our mapping, changes no content. */
	(void)madvise(raw.submission.base, raw.submission.bytes, MADV_DONTNEED);
	MP_CHECK(madvise(raw.submission.base, raw.submission.bytes, MADV_REMOVE) < 0,
		 "the region's pages can be removed");
	raw_open_ok(&raw, 0, 5);
	v = (struct vandal){ .raw = &raw };
	MP_EQ(trade_as_vandal(&v, 100, 100), 100, "orders after those attempts");
	/* The last mapping of a dead client does not take the agent's with it. */
	(void)munmap(raw.submission.base, raw.submission.bytes);
	(void)close(raw.submission.fd);
	mp_sleep_us(50000);
	MP_CHECK(mp_alive(rig.agent), "the agent ended");
	(void)close(raw.sock);
	mp_good_client(&rig);
	mp_rig_stop(&rig);
}

/* ---- 13: a stream that is garbage ---- */

static int connect_stream(void)
{
	struct sr_address address;
	struct pollfd p = { .events = POLLOUT };

	MP_EQ(sr_address_parse(&address, rig.stream, NULL), 0, "address");
	p.fd = sr_address_connect(&address);
	MP_CHECK(p.fd >= 0 && poll(&p, 1, (int)(MP_BOUND_NS / SR_NS_PER_MS)) > 0,
		 "cannot connect to the signer");
	return p.fd;
}

static void read_exactly(int fd, unsigned char *out, size_t bytes)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	while (bytes) {
		ssize_t n;

		MP_CHECK(poll(&p, 1, (int)(MP_BOUND_NS / SR_NS_PER_MS)) > 0,
			 "the signer does not answer");
		n = recv(fd, out, bytes, 0);
		MP_CHECK(n > 0, "the signer hung up");
		out += n;
		bytes -= (size_t)n;
	}
}

static void read_hello(int fd)
{
	unsigned char hello[SR_FRAME_HEADER_BYTES + SR_HELLO_BYTES];

	read_exactly(fd, hello, sizeof hello);
	MP_EQ(sr_get32(hello + 12), SR_FRAME_HELLO, "the first frame");
}

static void expect_cut_off(int fd, const char *what)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	unsigned char sink[4096];
	ssize_t n;

	do {
		MP_CHECK(poll(&p, 1, (int)(MP_BOUND_NS / SR_NS_PER_MS)) > 0,
			 "%s: the stream stays up", what);
		n = recv(fd, sink, sizeof sink, 0);
	} while (n > 0);
	(void)close(fd);
}

static size_t put_open(unsigned char *at, uint64_t token)
{
	struct sr_open_request open = { .token = { token, ~token },
					.first = 7,
					.depth = 8,
					.slot_bytes = SR_SUB_BYTES_DEFAULT };

	sr_open_put(at + SR_FRAME_HEADER_BYTES, &open);
	return sr_frame_put(at, SR_FRAME_OPEN, 0, 1, SR_OPEN_BYTES);
}

/* A conversation whose bytes are known beforehand but for the session's number. */
static size_t put_data(unsigned char *at, uint32_t session, uint64_t number)
{
	raw_record(at + SR_FRAME_HEADER_BYTES, 60, number);
	sr_put64(at + SR_FRAME_HEADER_BYTES, 7 + number);
	return sr_frame_put(at, SR_FRAME_DATA, session, 1, SR_SUB_BYTES_DEFAULT);
}

static uint32_t open_on(int fd, uint64_t token)
{
	unsigned char frame[SR_FRAME_HEADER_BYTES + SR_OPEN_BYTES];
	unsigned char answer[SR_FRAME_HEADER_BYTES + SR_OPENED_BYTES];

	MP_EQ(send(fd, frame, put_open(frame, token), MSG_NOSIGNAL), sizeof frame, "OPEN");
	read_exactly(fd, answer, sizeof answer);
	MP_EQ(sr_get32(answer + 12), SR_FRAME_OPENED, "answer to OPEN");
	MP_EQ(sr_get32(answer + SR_FRAME_HEADER_BYTES + 4), SR_OPENED_OK, "result of OPEN");
	return sr_get32(answer + 4);
}

static void check_frame_reply(int fd, uint64_t number)
{
	unsigned char frame[SR_FRAME_HEADER_BYTES + SR_CMP_BYTES];

	read_exactly(fd, frame, sizeof frame);
	MP_EQ(sr_get32(frame + 12), SR_FRAME_REPLY, "answer to DATA");
	MP_EQ(sr_get64(frame + SR_FRAME_HEADER_BYTES), 7 + number, "slot word of the reply");
	MP_EQ(sr_get16(frame + SR_FRAME_HEADER_BYTES + SR_CMP_BODY), SR_OK, "status");
}

/* Two records in one go, cut in two at each offset. */
static void frames_split_at_every_offset_reassemble(void)
{
	unsigned char frames[2 * (SR_FRAME_HEADER_BYTES + SR_SUB_BYTES_DEFAULT)];
	uint64_t number = 0;
	uint32_t session;
	int fd;

	mp_rig_new(&rig, true);
	mp_rig_start(&rig);
	fd = connect_stream();
	read_hello(fd);
	session = open_on(fd, 99);
	for (size_t at = 1; at < sizeof frames; at++, number += 2) {
		size_t first = put_data(frames, session, number);

		(void)put_data(frames + first, session, number + 1);
		MP_EQ(send(fd, frames, at, MSG_NOSIGNAL), at, "send");
		mp_sleep_us(60);
		MP_EQ(send(fd, frames + at, sizeof frames - at, MSG_NOSIGNAL), sizeof frames - at,
		      "send");
		check_frame_reply(fd, number);
		check_frame_reply(fd, number + 1);
	}
	(void)close(fd);
	mp_good_client(&rig);
	mp_rig_stop(&rig);
}

static void send_wrong(unsigned int which, int fd)
{
	unsigned char frame[SR_FRAME_BYTES_MAX] = { 0 };
	size_t bytes = sizeof frame;

	switch (which) {
	case 0: /* lengths that are no frame's */
	case 1:
	case 2:
		sr_put32(frame, which == 0 ? 0xffffffffu :
				which == 1 ? 15 :
					     SR_FRAME_BYTES_MAX + 1);
		bytes = 4;
		break;
	case 3: /* kinds that an agent does not send */
		bytes = sr_frame_put(frame, SR_FRAME_HELLO, 0, 0, SR_HELLO_BYTES);
		break;
	case 4:
		bytes = sr_frame_put(frame, SR_FRAME_REPLY, 0, 0, SR_CMP_BYTES);
		break;
	case 5:
		bytes = sr_frame_put(frame, 0x1234, 1, 1, 100);
		break;
	case 6: /* payloads of a wrong length */
		bytes = sr_frame_put(frame, SR_FRAME_OPEN, 0, 0, SR_OPEN_BYTES - 1);
		break;
	case 7:
		bytes = sr_frame_put(frame, SR_FRAME_DATA, 1, 1, SR_SUB_BYTES_MIN - 1);
		break;
	case 8: /* beyond what this signer takes */
		bytes = sr_frame_put(frame, SR_FRAME_DATA, 1, 1, SR_SUB_BYTES_MAX);
		break;
	case 9:
		bytes = sr_frame_put(frame, SR_FRAME_END, 1, 1, 8);
		break;
	default: /* noise */
		for (size_t i = 0; i < sizeof frame; i++)
			frame[i] = (unsigned char)mp_random();
		sr_put32(frame, 16 + mp_below(64));
		sr_put32(frame + 12, 9 + mp_below(1000));
	}
	(void)!send(fd, frame, bytes, MSG_NOSIGNAL);
}

static void wrong_stream_is_cut_off_alone(void)
{
	struct sr_client *client;
	struct sr_session *session;
	long long rss;
	unsigned int fds;
	char status[64];
	uint64_t n = 0;

	mp_rig_new(&rig, true);
	mp_rig_start(&rig);
	client = mp_open(&rig, 1, 8);
	session = mp_session(client, 0, 0);
	mp_order(&rig, client, session, n++);
	(void)snprintf(status, sizeof status, "/proc/%d/status", (int)rig.signer);
	rss = mp_proc_kib(status, "VmRSS:");
	fds = mp_fd_settled(rig.signer);
	for (unsigned int i = 0; i < (mp_long ? 5000u : 200u); i++) {
		int fd = connect_stream();

		if (i % 2)
			read_hello(fd);
		send_wrong(i % 11, fd);
		expect_cut_off(fd, "a wrong stream");
		mp_order(&rig, client, session, n++);
	}
	MP_EQ(mp_counter(&rig, "stream", "times_up"), 1, "times that the good stream came up");
	MP_EQ(mp_fd_settled(rig.signer), fds, "descriptors of the signer afterwards");
	MP_CHECK(mp_proc_kib(status, "VmRSS:") - rss < 512, "the signer grew by %lld KiB",
		 mp_proc_kib(status, "VmRSS:") - rss);
	sr_close(client);
	mp_rig_stop(&rig);
}

/* More records than were granted; records that are never read back. */
static void greedy_stream_is_cut_off_alone(void)
{
	const size_t one = SR_FRAME_HEADER_BYTES + SR_SUB_BYTES_DEFAULT;
	unsigned char *frames = malloc(2000 * one);
	unsigned char ask[SR_FRAME_HEADER_BYTES];
	uint32_t session;
	int fd;

	mp_rig_new(&rig, true);
	mp_rig_start(&rig);
	fd = connect_stream();
	read_hello(fd);
	session = open_on(fd, 5);
	for (uint64_t n = 0; n < 2000; n++)
		(void)put_data(frames + n * one, session, n);
	for (size_t at = 0, n = 0; at < 2000 * one; at += n) {
		ssize_t sent = send(fd, frames + at, 2000 * one - at, MSG_NOSIGNAL);

		if (sent <= 0)
			break;
		n = (size_t)sent;
	}
	expect_cut_off(fd, "more records than credits");
	free(frames);
	fd = connect_stream();
	read_hello(fd);
	(void)sr_frame_put(ask, SR_FRAME_STATUS, 0, 0, 0);
	for (int i = 0; i < 200000; i++) {
		struct pollfd p = { .fd = fd, .events = POLLOUT };

		if (poll(&p, 1, 20000) <= 0 || (p.revents & POLLHUP) ||
		    (send(fd, ask, sizeof ask, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno != EAGAIN))
			break;
	}
	expect_cut_off(fd, "questions without reading");
	mp_good_client(&rig);
	mp_rig_stop(&rig);
}

/* One stream names another's session, to spend or to end it. */
static void stream_does_not_reach_the_sessions_of_another(void)
{
	unsigned char frame[SR_FRAME_HEADER_BYTES + SR_SUB_BYTES_DEFAULT];
	unsigned char answer[SR_FRAME_HEADER_BYTES + SR_CREDIT_BYTES];
	uint32_t session;
	int mine;
	int theirs;

	mp_rig_new(&rig, true);
	mp_start_signer(&rig);
	theirs = connect_stream();
	read_hello(theirs);
	session = open_on(theirs, 1234);
	mine = connect_stream();
	read_hello(mine);
	MP_EQ(send(mine, frame, put_data(frame, session, 0), MSG_NOSIGNAL), sizeof frame, "DATA");
	read_exactly(mine, answer, sizeof answer);
	MP_EQ(sr_get32(answer + 12), SR_FRAME_CREDIT, "answer to a record of another's session");
	(void)sr_frame_put(frame, SR_FRAME_END, session, 99, 0);
	MP_EQ(send(mine, frame, SR_FRAME_HEADER_BYTES, MSG_NOSIGNAL), SR_FRAME_HEADER_BYTES, "END");
	mp_sleep_us(20000);
	MP_EQ(send(theirs, frame, put_data(frame, session, 0), MSG_NOSIGNAL), sizeof frame, "DATA");
	check_frame_reply(theirs, 0);
	(void)close(mine);
	(void)close(theirs);
	mp_start_agent(&rig);
	mp_good_client(&rig);
	mp_rig_stop(&rig);
}

static const struct mp_test tests[] = {
	{ "hostile/rewriting_client_spoils_only_itself", rewriting_client_spoils_only_itself, 0 },
	{ "hostile/same_number_with_other_bytes_ends_the_session",
	  same_number_with_other_bytes_ends_the_session, 0 },
	{ "hostile/regions_cannot_be_pulled_away", regions_cannot_be_pulled_away, 0 },
	{ "hostile/frames_split_at_every_offset_reassemble",
	  frames_split_at_every_offset_reassemble, 0 },
	{ "hostile/wrong_stream_is_cut_off_alone", wrong_stream_is_cut_off_alone, 0 },
	{ "hostile/greedy_stream_is_cut_off_alone", greedy_stream_is_cut_off_alone, 0 },
	{ "hostile/stream_does_not_reach_the_sessions_of_another",
	  stream_does_not_reach_the_sessions_of_another, 0 },
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
