/* SPDX-License-Identifier: MIT */
/*
 * The library against an agent that the test plays: a thread keeps the attach
 * protocol (or breaks it on purpose), and the test itself reads submission slots
 * and writes completion slots. What needs real processes is in mp_*.c.
 */
#include <criterion/criterion.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sigring.h"
#include "sr_address.h"
#include "sr_attach.h"
#include "sr_clock.h"

#define DEPTH 8u

enum fault {
	NONE,
	WRONG_EPOCH,    /* in OFFER */
	WRONG_ORDER,    /* WELCOME instead of OFFER */
	NO_DESCRIPTOR,  /* in WELCOME */
	WRONG_GEOMETRY, /* of the completion region */
	UNSEALED_REGION,
	HANG_UP,          /* instead of WELCOME */
	RESULT_GONE,      /* of each OPEN */
	OPENED_ELSEWHERE, /* index out of range */
	LEAVES_AT_ONCE,   /* as soon as a client is attached */
};

static struct agent {
	enum fault fault;
	char socket[128];
	char dir[64];
	int listen_fd;
	int sock;
	uint32_t stop;
	uint32_t opened; /* OPENs answered */
	uint32_t attached; /* READYs seen */
	pthread_t thread;
	struct sr_attach_hello hello;
	struct sr_attach_open open; /* the last one */
	struct sr_region submission;
	struct sr_region completion;
} agent;

static void answer(struct agent *a, enum sr_attach_type type, union sr_attach_message *m, int fd)
{
	(void)!sr_attach_send(a->sock, m, type, &fd, fd >= 0 ? 1 : 0);
}

static void welcome(struct agent *a, int fd)
{
	struct sr_geometry g = { a->hello.sessions, a->hello.depth, a->hello.slot_bytes };
	union sr_attach_message m;

	memset(&m, 0, sizeof m);
	sr_region_drop(&a->submission);
	sr_region_drop(&a->completion);
	cr_assert_eq(sr_region_join(&a->submission, SR_REGION_SUBMISSION, &g, fd, NULL), 0);
	g.slot_bytes = SR_CMP_BYTES;
	if (a->fault == WRONG_GEOMETRY)
		g.depth *= 2;
	cr_assert_eq(sr_region_create(&a->completion, SR_REGION_COMPLETION, &g, 0, -1, NULL), 0);
	sr_store_relaxed(&sr_region_beat(&a->completion)->heartbeat_ns, sr_now_ns());
	if (a->fault == UNSEALED_REGION)
		answer(a, SR_ATTACH_WELCOME, &m,
		       memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
	else
		answer(a, SR_ATTACH_WELCOME, &m, a->fault == NO_DESCRIPTOR ? -1 : a->completion.fd);
}

static void take(struct agent *a, const union sr_attach_message *in, const int *fds)
{
	union sr_attach_message m;
	struct sr_slots s;

	memset(&m, 0, sizeof m);
	switch (in->header.type) {
	case SR_ATTACH_HELLO:
		a->hello = in->hello;
		m.offer.numa_node = -1;
		m.offer.attach_epoch = in->hello.attach_epoch + (a->fault == WRONG_EPOCH);
		answer(a, a->fault == WRONG_ORDER ? SR_ATTACH_WELCOME : SR_ATTACH_OFFER, &m, -1);
		break;
	case SR_ATTACH_REGION:
		if (a->fault == HANG_UP)
			(void)shutdown(a->sock, SHUT_RDWR);
		else
			welcome(a, fds[0]);
		(void)close(fds[0]);
		break;
	case SR_ATTACH_READY:
		sr_store32_release(&a->attached, a->attached + 1);
		if (a->fault == LEAVES_AT_ONCE)
			(void)shutdown(a->sock, SHUT_RDWR);
		break;
	case SR_ATTACH_OPEN:
		s = sr_region_slots(&a->completion, in->open.index);
		sr_slots_reset(&s, in->open.first + in->open.next);
		a->open = in->open;
		m.opened.index = in->open.index + (a->fault == OPENED_ELSEWHERE ? 1000 : 0);
		m.opened.result = a->fault == RESULT_GONE ? SR_RESULT_GONE : SR_RESULT_OK;
		answer(a, SR_ATTACH_OPENED, &m, -1);
		sr_store32_release(&a->opened, a->opened + 1);
		break;
	case SR_ATTACH_CLOSE:
		m.index.index = in->index.index;
		answer(a, SR_ATTACH_CLOSED, &m, -1);
		break;
	default:
		break;
	}
}

static void *agent_main(void *arg)
{
	struct agent *a = arg;

	while (!sr_load32_acquire(&a->stop)) {
		struct pollfd p[2] = { { .fd = a->listen_fd, .events = POLLIN },
				       { .fd = a->sock, .events = POLLIN } };
		union sr_attach_message m;
		int fds[2];
		int count = 0;

		(void)poll(p, 2, 5);
		if (p[0].revents) {
			if (a->sock >= 0)
				(void)close(a->sock);
			a->sock = accept4(a->listen_fd, NULL, NULL, SOCK_CLOEXEC);
		} else if (p[1].revents) {
			if (sr_attach_recv(a->sock, &m, fds, &count) == 0) {
				take(a, &m, fds);
			} else {
				(void)close(a->sock);
				a->sock = -1;
			}
		}
	}
	return NULL;
}

static void start_agent(void)
{
	struct sr_address address;
	struct sr_reason why = { 0, "" };
	char text[160];

	memset(&agent, 0, sizeof agent);
	agent.sock = -1;
	(void)snprintf(agent.dir, sizeof agent.dir, "%s/sigring-XXXXXX", P_tmpdir);
	cr_assert(mkdtemp(agent.dir));
	(void)snprintf(agent.socket, sizeof agent.socket, "%s/a", agent.dir);
	(void)snprintf(text, sizeof text, "unix:%s", agent.socket);
	cr_assert_eq(sr_address_parse(&address, text, &why), 0);
	agent.listen_fd = sr_address_listen(&address, SOCK_SEQPACKET, 0600, &why);
	cr_assert(agent.listen_fd >= 0, "%s", why.text);
	cr_assert_eq(pthread_create(&agent.thread, NULL, agent_main, &agent), 0);
}

static void stop_agent(void)
{
	sr_store32_release(&agent.stop, 1);
	(void)pthread_join(agent.thread, NULL);
	(void)unlink(agent.socket);
	(void)rmdir(agent.dir);
}

TestSuite(client, .init = start_agent, .fini = stop_agent, .timeout = 60);

static void options(struct sr_options *opt)
{
	sr_options_init(opt);
	opt->socket = agent.socket;
	opt->depth = DEPTH;
	opt->flags = SR_OPT_NO_HUGE_PAGES | SR_OPT_NO_MLOCK | SR_OPT_UNSEALED;
	opt->wait = SR_WAIT_YIELD;
	opt->timeout_ns = 5ull * SR_NS_PER_S;
	opt->stale_ns = 3600ull * SR_NS_PER_S;
}

static struct sr_client *client;
static struct sr_session *session;

static void open_with(uint32_t flags, uint64_t first)
{
	struct sr_session_options sopt = { .flags = flags | SR_SESSION_FIRST, .first = first };
	struct sr_reason why = { 0, "" };
	struct sr_options opt;

	options(&opt);
	cr_assert_eq(sr_open(&client, &opt, &why), 0, "%s", why.text);
	cr_assert_eq(sr_session_open(&session, client, &sopt, &why), 0, "%s", why.text);
}

static int submit(uint64_t user_data, uint64_t deadline_ns)
{
	struct sr_request rq = { .key = 7,
				 .type = SR_ECDSA_SHA256,
				 .body_bytes = 5,
				 .body = "order",
				 .user_data = user_data,
				 .deadline_ns = deadline_ns };

	return sr_submit(session, &rq);
}

/* Completes number n; the rest of the record is what @kind makes of @status. */
static void complete(uint64_t n, unsigned int kind, unsigned int status)
{
	struct sr_slots s = sr_region_slots(&agent.completion, 0);
	unsigned char record[SR_CMP_BYTES] = { 0 };

	record[SR_CMP_KIND] = (unsigned char)kind;
	record[SR_CMP_STATUS] = (unsigned char)status;
	sr_put16(record + SR_CMP_BODY + SR_REP_STATUS, (uint16_t)status);
	sr_put16(record + SR_CMP_BODY + SR_REP_POLICY, 2);
	record[SR_CMP_BODY + SR_REP_RECID] = 1;
	record[SR_CMP_BODY + SR_REP_SIGKIND] = SR_SIG_ECDSA;
	sr_put64(record + SR_CMP_BODY + SR_REP_NONCE, 1000 + n);
	sr_put64(record + SR_CMP_BODY + SR_REP_ACCEPTED, n + 1);
	memset(record + SR_CMP_BODY + SR_REP_SIG, 0x55, SR_SIG_BYTES);
	sr_slot_publish(&s, agent.open.first + n, record);
}

static bool has_signature(const struct sr_completion *c)
{
	for (size_t i = 0; i < SR_SIG_BYTES; i++)
		if (c->signature[i])
			return true;
	return c->sigkind != SR_SIG_NONE;
}

/* ---- options ---- */

Test(client, options_out_of_range_are_einval_with_words)
{
	static const struct {
		uint32_t sessions, depth, slot_bytes, wait;
		const char *words;
	} wrong[] = {
		{ 0, 8, 384, 0, "sessions" },      { 65, 8, 384, 0, "sessions" },
		{ 1, 0, 384, 0, "power of two" },  { 1, 1, 384, 0, "power of two" },
		{ 1, 24, 384, 0, "power of two" }, { 1, 8192, 384, 0, "power of two" },
		{ 1, 8, 128, 0, "multiple" },      { 1, 8, 385, 0, "multiple" },
		{ 1, 8, 4352, 0, "multiple" },     { 1, 8, 384, 4, "policy" },
	};

	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		struct sr_client *none = NULL;
		struct sr_reason why = { 0, "" };
		struct sr_options opt;

		options(&opt);
		opt.sessions = wrong[i].sessions;
		opt.depth = wrong[i].depth;
		opt.slot_bytes = wrong[i].slot_bytes;
		opt.wait = wrong[i].wait;
		cr_assert_eq(sr_open(&none, &opt, &why), -EINVAL);
		cr_assert(strstr(why.text, wrong[i].words), "%s", why.text);
		cr_assert_null(none);
	}
}

Test(client, socket_comes_from_the_environment_when_it_is_not_given)
{
	struct sr_options opt;

	options(&opt);
	opt.socket = NULL;
	cr_assert_eq(setenv("SIGRING_SOCKET", agent.socket, 1), 0);
	cr_assert_eq(sr_open(&client, &opt, NULL), 0);
	sr_close(client);
	sr_close(NULL);
}

/* ---- an agent that breaks the protocol ---- */

static void cannot_open(enum fault fault, int error, const char *words)
{
	struct sr_client *none = NULL;
	struct sr_reason why = { 0, "" };
	struct sr_options opt;

	agent.fault = fault;
	options(&opt);
	opt.timeout_ns = 300ull * SR_NS_PER_MS;
	cr_assert_eq(sr_open(&none, &opt, &why), error, "fault %d: %s", (int)fault, why.text);
	cr_assert(strstr(why.text, words), "`%s` does not say `%s`", why.text, words);
	cr_assert_null(none);
}

Test(client, agent_that_breaks_the_protocol_is_refused)
{
	cannot_open(WRONG_EPOCH, -EPROTO, "broke the protocol");
	cannot_open(WRONG_ORDER, -EPROTO, "broke the protocol");
	cannot_open(NO_DESCRIPTOR, -EPROTO, "broke the protocol");
	cannot_open(WRONG_GEOMETRY, -EPROTO, "geometry");
	cannot_open(UNSEALED_REGION, -EPERM, "resized or written");
	cannot_open(HANG_UP, -ENOTCONN, "hung up");
}

Test(client, session_that_the_signer_refuses)
{
	struct sr_session *none = NULL;
	struct sr_reason why = { 0, "" };
	struct sr_options opt;

	options(&opt);
	cr_assert_eq(sr_open(&client, &opt, NULL), 0);
	agent.fault = RESULT_GONE;
	cr_assert_eq(sr_session_open(&none, client, NULL, &why), -ESTALE);
	cr_assert_null(none);
	agent.fault = NONE;
	cr_assert_eq(sr_session_open(&session, client, NULL, &why), 0, "%s", why.text);
	cr_assert_eq(sr_session_open(&none, client, NULL, &why), -EDQUOT,
		     "it has one session only");
	sr_close(client);
}

/* ---- submitting ---- */

Test(client, submit_publishes_the_record_of_the_abi)
{
	unsigned char record[SR_SUB_BYTES_DEFAULT];
	struct sr_slots s;

	open_with(0, 500);
	s = sr_region_slots(&agent.submission, 0);
	cr_assert_eq(submit(1, 12345), 0);
	cr_assert_eq(sr_slot_look(&s, 500), 0);
	sr_slot_copy(&s, 500, record);
	cr_assert_eq(sr_get64(record + SR_SUB_DEADLINE), 12345);
	cr_assert_eq(record[SR_SUB_KIND], SR_KIND_UNSEALED);
	for (size_t i = SR_SUB_FLAGS; i < SR_SUB_BODY; i++)
		cr_assert_eq(record[i], 0);
	cr_assert_eq(sr_get32(record + SR_SUB_BODY + SR_REQ_KEY), 7);
	cr_assert_eq(sr_get16(record + SR_SUB_BODY + SR_REQ_TYPE), SR_ECDSA_SHA256);
	cr_assert_eq(sr_get16(record + SR_SUB_BODY + SR_REQ_BODY_BYTES), 5);
	cr_assert_arr_eq(record + SR_SUB_BODY + SR_REQ_BODY, "order", 5);
	for (size_t i = SR_SUB_BODY + SR_REQ_BODY + 5; i < sizeof record; i++)
		cr_assert_eq(record[i], 0, "byte %zu: nothing of an earlier message", i);
	sr_close(client);
}

Test(client, longer_message_leaves_nothing_behind_in_a_shorter_one)
{
	unsigned char body[336];
	unsigned char record[SR_SUB_BYTES_DEFAULT];
	struct sr_request rq = {
		.key = 7, .type = SR_ECDSA_SHA256, .body_bytes = sizeof body, .body = body
	};
	struct sr_slots s;

	memset(body, 0xaa, sizeof body);
	open_with(0, 0);
	cr_assert_eq(sr_submit(session, &rq), 0);
	rq.body_bytes = 1;
	cr_assert_eq(sr_submit(session, &rq), 0);
	s = sr_region_slots(&agent.submission, 0);
	sr_slot_copy(&s, 1, record);
	for (size_t i = SR_SUB_BODY + SR_REQ_BODY + 1; i < sizeof record; i++)
		cr_assert_eq(record[i], 0);
	sr_close(client);
}

Test(client, queue_is_full_at_its_depth)
{
	struct sr_completion c[DEPTH];
	struct sr_request rq[3] = { { .user_data = 100 },
				    { .user_data = 101 },
				    { .user_data = 102 } };

	open_with(0, 0);
	for (uint64_t n = 0; n < DEPTH - 2; n++)
		cr_assert_eq(submit(n, 0), 0);
	cr_assert_eq(sr_credits(session), 2);
	cr_assert_eq(sr_submit_many(session, rq, 3), 2, "as many as there is room for");
	cr_assert_eq(sr_submit_many(session, rq, 3), -EAGAIN);
	cr_assert_eq(submit(9, 0), -EAGAIN);
	cr_assert_eq(sr_in_flight(session), DEPTH);
	complete(0, SR_KIND_UNSEALED, SR_OK);
	cr_assert_eq(sr_poll(session, c, DEPTH), 1);
	cr_assert_eq(submit(9, 0), 0);
	sr_close(client);
}

Test(client, commit_needs_a_reservation)
{
	struct sr_request rq = { .key = 1, .body_bytes = 4 };
	void *a = NULL;
	void *b = NULL;

	open_with(0, 0);
	cr_assert_eq(sr_commit(session, &rq), -EINVAL);
	cr_assert_eq(sr_reserve(session, &a), 0);
	cr_assert_eq(sr_reserve(session, &b), 0, "an earlier one is forgotten");
	cr_assert_eq(a, b);
	cr_assert_eq((uintptr_t)a % 8, 0);
	cr_assert_eq(sr_commit(session, &rq), 0);
	cr_assert_eq(sr_commit(session, &rq), -EINVAL);
	cr_assert_eq(sr_in_flight(session), 1);
	sr_close(client);
}

/* ---- polling ---- */

Test(client, poll_gives_what_the_signer_said)
{
	struct sr_completion c[4];

	open_with(0, (uint64_t)0 - 1); /* over the wrap, too */
	cr_assert_eq(sr_poll(session, c, 4), 0);
	cr_assert_eq(submit(77, 0), 0);
	cr_assert_eq(submit(78, 0), 0);
	cr_assert_not(sr_ready(session));
	complete(0, SR_KIND_UNSEALED, SR_OK);
	cr_assert(sr_ready(session));
	complete(1, SR_KIND_UNSEALED, SR_DENIED);
	cr_assert_eq(sr_poll(session, c, 0), 0, "no room, nothing taken");
	cr_assert_eq(sr_poll(session, c, 1), 1);
	cr_assert(c[0].status == SR_OK && c[0].user_data == 77 && c[0].number == 0);
	cr_assert(c[0].venue_nonce == 1000 && c[0].accepted == 1 && c[0].recovery_id == 1);
	cr_assert(c[0].sigkind == SR_SIG_ECDSA && c[0].signature[63] == 0x55);
	cr_assert_eq(sr_poll(session, c, 4), 1);
	cr_assert(c[0].status == SR_DENIED && c[0].policy == 2 && c[0].user_data == 78);
	cr_assert_not(has_signature(&c[0]), "a signature that came with DENIED");
	sr_close(client);
}

Test(client, agent_says_four_things_and_never_a_signature)
{
	static const struct {
		unsigned int kind, said, heard;
	} words[] = {
		{ SR_KIND_AGENT, SR_EXPIRED, SR_EXPIRED },
		{ SR_KIND_AGENT, SR_NOT_SENT, SR_NOT_SENT },
		{ SR_KIND_AGENT, SR_UNKNOWN, SR_UNKNOWN },
		{ SR_KIND_AGENT, SR_OK, SR_UNKNOWN }, /* what is not its to say */
		{ SR_KIND_AGENT, SR_LATE, SR_UNKNOWN },
		{ SR_KIND_AGENT, 255, SR_UNKNOWN },
		{ SR_KIND_UNSEALED, SR_EXPIRED, SR_UNKNOWN },
		{ SR_KIND_UNSEALED, 200, SR_UNKNOWN },
		{ SR_KIND_SEALED, SR_OK, SR_UNKNOWN }, /* nothing is sealed here */
		{ 0, SR_OK, SR_UNKNOWN },
	};

	open_with(0, 0);
	for (uint64_t n = 0; n < sizeof words / sizeof words[0]; n++) {
		struct sr_completion c;

		cr_assert_eq(submit(n, 0), 0);
		complete(n, words[n].kind, words[n].said);
		cr_assert_eq(sr_poll(session, &c, 1), 1);
		cr_assert_eq(c.status, words[n].heard, "number %llu", (unsigned long long)n);
		cr_assert_not(has_signature(&c));
	}
	sr_close(client);
}

Test(client, lost_session_takes_no_more_submits)
{
	struct sr_completion c;

	open_with(0, 0);
	cr_assert_eq(submit(1, 0), 0);
	cr_assert_eq(submit(2, 0), 0);
	complete(0, SR_KIND_AGENT, SR_SESSION_LOST);
	cr_assert_eq(sr_poll(session, &c, 1), 1);
	cr_assert_eq(c.status, SR_SESSION_LOST);
	cr_assert_eq(submit(3, 0), -ESTALE);
	cr_assert_eq(sr_poll(session, &c, 1), 0, "number 1 is on its way");
	complete(1, SR_KIND_AGENT, SR_SESSION_LOST);
	cr_assert_eq(sr_poll(session, &c, 1), 1);
	for (int i = 0; i < 100; i++) /* the state is looked at now and then */
		if (sr_poll(session, &c, 1) == -ESTALE)
			break;
	cr_assert_eq(sr_poll(session, &c, 1), -ESTALE);
	sr_close(client);
}

static int poll_until_something(struct sr_completion *c, int max)
{
	uint64_t end_ns = sr_now_ns() + 5ull * SR_NS_PER_S;
	int n;

	while ((n = sr_poll(session, c, max)) == 0)
		cr_assert_lt(sr_now_ns(), end_ns, "nothing comes");
	return n;
}

Test(client, deadline_is_unknown_by_our_own_clock_and_the_real_one_is_swallowed)
{
	struct sr_completion c[4];
	struct sr_session_stats stats;

	open_with(0, 0);
	cr_assert_eq(submit(1, 0), 0);
	cr_assert_eq(submit(2, sr_now_ns() + SR_NS_PER_MS), 0);
	cr_assert_eq(submit(3, 0), 0);
	cr_assert_eq(poll_until_something(c, 4), 1);
	cr_assert(c[0].status == SR_UNKNOWN && c[0].user_data == 2 && c[0].number == 1);
	cr_assert_eq(sr_credits(session), DEPTH - 3, "no credit comes back");
	for (uint64_t n = 0; n < 3; n++)
		complete(n, SR_KIND_UNSEALED, SR_OK);
	cr_assert_eq(sr_poll(session, c, 4), 2);
	cr_assert(c[0].user_data == 1 && c[1].user_data == 3);
	cr_assert_eq(sr_credits(session), DEPTH);
	sr_session_stats_get(session, &stats);
	cr_assert(stats.submitted == 3 && stats.completed == 3 && stats.swallowed == 1);
	sr_close(client);
}

Test(client, impossible_completion_word_ends_the_session)
{
	struct sr_slots s;
	struct sr_completion c[DEPTH];

	open_with(0, 50);
	for (uint64_t n = 0; n < 3; n++)
		cr_assert_eq(submit(n, 0), 0);
	complete(0, SR_KIND_UNSEALED, SR_OK);
	s = sr_region_slots(&agent.completion, 0);
	sr_store_release((uint64_t *)(void *)sr_slot_at(&s, 51), 51 + 3);
	cr_assert_eq(sr_poll(session, c, DEPTH), 1, "what came before it is good");
	cr_assert_eq(submit(9, 0), -ESTALE);
	cr_assert_eq(sr_poll(session, c, 1), 1, "one at a time");
	cr_assert_eq(sr_poll(session, c + 1, DEPTH), 1);
	cr_assert(c[0].status == SR_UNKNOWN && c[0].number == 1);
	cr_assert(c[1].status == SR_UNKNOWN && c[1].number == 2);
	cr_assert_eq(sr_poll(session, c, DEPTH), -EPROTO);
	sr_close(client);
}

Test(client, stale_heartbeat_is_enotconn_until_it_beats_again)
{
	struct sr_options opt;
	struct sr_completion c;
	int ret = 0;

	options(&opt);
	opt.stale_ns = 20ull * SR_NS_PER_MS;
	cr_assert_eq(sr_open(&client, &opt, NULL), 0);
	cr_assert_eq(sr_session_open(&session, client, NULL, NULL), 0);
	(void)usleep(40000);
	for (int i = 0; i < 100 && ret == 0; i++)
		ret = sr_poll(session, &c, 1);
	cr_assert_eq(ret, -ENOTCONN);
	sr_store_relaxed(&sr_region_beat(&agent.completion)->heartbeat_ns,
			 sr_now_ns() + 3600ull * SR_NS_PER_S);
	for (int i = 0; i < 100 && ret != 0; i++)
		ret = sr_poll(session, &c, 1);
	cr_assert_eq(ret, 0);
	sr_close(client);
}

Test(client, wait_returns_when_there_is_something_or_time_is_up)
{
	struct sr_completion c;
	uint64_t begin_ns;

	open_with(0, 0);
	begin_ns = sr_now_ns();
	cr_assert_eq(sr_wait(session, 10 * SR_NS_PER_MS), -ETIME);
	cr_assert_geq(sr_now_ns() - begin_ns, 10 * SR_NS_PER_MS);
	cr_assert_eq(submit(1, 0), 0);
	complete(0, SR_KIND_UNSEALED, SR_OK);
	cr_assert_eq(sr_wait(session, UINT64_MAX), 0);
	cr_assert_eq(sr_poll(session, &c, 1), 1);
	sr_close(client);
}

/* ---- another agent ---- */

static void service_until_opened(uint32_t opened)
{
	uint64_t end_ns = sr_now_ns() + 5ull * SR_NS_PER_S;
	struct sr_client_stats stats;
	struct sr_completion c;

	do {
		(void)sr_service(client, NULL);
		(void)!sr_poll(session, &c, 0);
		cr_assert_lt(sr_now_ns(), end_ns, "it does not attach again");
		sr_client_stats_get(client, &stats);
		if (stats.sessions == 0) /* parks */
			cr_assert_leq(sr_poll(session, &c, 1), 0);
	} while (sr_load32_acquire(&agent.opened) < opened || stats.sessions == 0);
}

Test(client, resumes_from_the_first_unanswered_number)
{
	struct sr_completion c[4];
	struct sr_client_stats stats;

	open_with(0, 900);
	for (uint64_t n = 0; n < 5; n++)
		cr_assert_eq(submit(n, 0), 0);
	complete(0, SR_KIND_UNSEALED, SR_OK);
	complete(1, SR_KIND_UNSEALED, SR_OK);
	cr_assert_eq(sr_poll(session, c, 1), 1);
	sr_reattach(client);
	cr_assert_eq(submit(5, 0), -ENOTCONN);
	cr_assert_eq(sr_poll(session, c, 4), 1, "what the old region holds is still taken");
	service_until_opened(2);
	cr_assert(agent.open.first == 900 && agent.open.next == 2 && agent.open.published == 5);
	cr_assert(agent.open.flags & 1u, "SR_OPEN_RESUME");
	sr_client_stats_get(client, &stats);
	cr_assert_eq(stats.attach_epoch, 2);
	for (uint64_t n = 2; n < 5; n++)
		complete(n, SR_KIND_UNSEALED, SR_OK);
	cr_assert_eq(poll_until_something(c, 4), 3);
	cr_assert(c[0].user_data == 2 && c[2].user_data == 4);
	cr_assert_eq(submit(5, 0), 0);
	sr_close(client);
}

Test(client, agent_that_leaves_behind_each_attach_is_not_hammered)
{
	struct sr_completion c;
	uint64_t end_ns;

	open_with(0, 900);
	agent.fault = LEAVES_AT_ONCE;
	sr_reattach(client);
	end_ns = sr_now_ns() + 500u * SR_NS_PER_MS;
	while (sr_now_ns() < end_ns) {
		(void)sr_service(client, NULL);
		(void)!sr_poll(session, &c, 1);
	}
	/* 1, 2, 4 ... milliseconds apart. */
	cr_assert_leq(sr_load32_acquire(&agent.attached), 12);
	cr_assert_geq(sr_load32_acquire(&agent.attached), 3);
	sr_close(client);
}

Test(client, session_that_cannot_be_resumed_is_unknown_then_stale)
{
	struct sr_completion c[4];

	open_with(0, 0);
	cr_assert_eq(submit(1, 0), 0);
	cr_assert_eq(submit(2, 0), 0);
	agent.fault = RESULT_GONE;
	sr_reattach(client);
	service_until_opened(2);
	cr_assert_eq(poll_until_something(c, 4), 2);
	cr_assert(c[0].status == SR_UNKNOWN && c[1].status == SR_UNKNOWN);
	cr_assert_eq(sr_poll(session, c, 4), -ESTALE);
	cr_assert_eq(submit(3, 0), -ESTALE);
	sr_close(client);
}

Test(client, lost_session_is_opened_again_when_told_to)
{
	uint64_t end_ns = sr_now_ns() + 5ull * SR_NS_PER_S;
	struct sr_completion c[4];
	struct sr_session_stats stats;
	struct sr_session_options sopt = { .flags = SR_SESSION_REOPEN };
	struct sr_options opt;
	uint64_t first;

	options(&opt);
	cr_assert_eq(sr_open(&client, &opt, NULL), 0);
	cr_assert_eq(sr_session_open(&session, client, &sopt, NULL), 0);
	first = agent.open.first;
	cr_assert_eq(submit(1, 0), 0);
	agent.fault = RESULT_GONE;
	sr_reattach(client);
	service_until_opened(2);
	agent.fault = NONE;
	cr_assert_eq(poll_until_something(c, 4), 1);
	do {
		(void)sr_service(client, NULL);
		(void)!sr_poll(session, c, 4);
		cr_assert_lt(sr_now_ns(), end_ns, "it is not opened again");
		sr_session_stats_get(session, &stats);
	} while (!stats.reopened);
	cr_assert_neq(agent.open.first, first, "with numbers of its own");
	cr_assert_eq(agent.open.next, 0);
	cr_assert_eq(submit(2, 0), 0);
	complete(0, SR_KIND_UNSEALED, SR_OK);
	cr_assert_eq(poll_until_something(c, 4), 1);
	cr_assert(c[0].status == SR_OK && c[0].user_data == 2 && c[0].number == 0);
	sr_close(client);
}

Test(client, answer_for_a_session_that_is_not_ours_is_a_broken_protocol)
{
	struct sr_reason why = { 0, "" };
	struct sr_session *none = NULL;
	struct sr_options opt;

	options(&opt);
	opt.timeout_ns = 200ull * SR_NS_PER_MS;
	cr_assert_eq(sr_open(&client, &opt, NULL), 0);
	agent.fault = OPENED_ELSEWHERE;
	cr_assert_eq(sr_session_open(&none, client, NULL, &why), -EPROTO, "%s", why.text);
	cr_assert_null(none);
	sr_close(client);
}
