/* SPDX-License-Identifier: MIT */
/*
 * fuzz_client.c - libsigring and an agent who writes what he likes into the completion
 * region.
 *
 * A thread keeps the attach protocol. The input is a script, an operation a byte, its
 * operands behind it: submits, polls, completions by the rules or nearly, bytes anywhere
 * in the region, heartbeats, session states, all that also while a poll reads; steps of
 * the cold thread; an agent that is attached anew, with a header that is not right.
 * Checked besides what the sanitizers see: each submit is answered once and, when its
 * session is given up, has been; with its own user data, a status that there is, and a
 * signature only if it is OK; calls return what they may; the counters agree; submit and
 * poll allocate nothing.
 */
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sigring.h"
#include "sr_address.h"
#include "sr_attach.h"
#include "sr_clock.h"

#define FUZZ_NAME "client"
#define FUZZ_INPUT_BYTES 1024u
#include "fuzz_heap.h"
#include "fuzz_main.h"
#include "fuzz_race.h"

#define SESSIONS 2u
#define DEPTH 4u
#define SUBMITS 2048u /* of a run, at most */
#define POLLS 8

struct script {
	const uint8_t *data;
	size_t bytes;
};

/* The agent's thread answers; the script writes into what it has made. */
static struct agent {
	pthread_mutex_t lock;
	char dir[64], path[96];
	int listen_fd, sock;
	struct sr_attach_hello hello;
	struct sr_region completion;
	struct sr_attach_open open[SESSIONS]; /* the last of each */
	uint32_t spoil; /* of the next region's header: offset, value and 1 above them */
} agent = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct run {
	struct script script;
	struct sr_client *client;
	struct sr_session *sessions[SESSIONS];
	uint32_t submitted;
	uint32_t open_count[SESSIONS], closed_count[SESSIONS]; /* submits, answers */
	uint8_t owner[SUBMITS], answered[SUBMITS];
} run;

static uint8_t take8(void)
{
	if (run.script.bytes == 0)
		return 0;
	run.script.bytes--;
	return *run.script.data++;
}

static uint64_t take64(void)
{
	uint64_t value = 0;

	for (int i = 0; i < 8; i++)
		value = value << 8 | take8();
	return value;
}

/* ---- the agent's thread ---- */

static void answer(enum sr_attach_type type, union sr_attach_message *m, int fd)
{
	(void)!sr_attach_send(agent.sock, m, type, &fd, fd >= 0 ? 1 : 0);
}

static void welcome(void)
{
	struct sr_geometry g = { SESSIONS, DEPTH, SR_CMP_BYTES };
	union sr_attach_message m;

	memset(&m, 0, sizeof m);
	sr_region_drop(&agent.completion);
	require(sr_region_create(&agent.completion, SR_REGION_COMPLETION, &g, 0, -1, NULL) == 0,
		"no region");
	sr_store_relaxed(&sr_region_beat(&agent.completion)->heartbeat_ns, sr_now_ns());
	if (agent.spoil)
		agent.completion.base[agent.spoil & 127] ^= (unsigned char)(agent.spoil >> 8);
	agent.spoil = 0;
	answer(SR_ATTACH_WELCOME, &m, agent.completion.fd);
}

static void take(const union sr_attach_message *in, int fd)
{
	union sr_attach_message m;
	struct sr_slots slots;

	memset(&m, 0, sizeof m);
	switch (in->header.type) {
	case SR_ATTACH_HELLO:
		agent.hello = in->hello;
		m.offer.numa_node = -1;
		m.offer.attach_epoch = in->hello.attach_epoch;
		answer(SR_ATTACH_OFFER, &m, -1);
		break;
	case SR_ATTACH_REGION:
		(void)close(fd);
		welcome();
		break;
	case SR_ATTACH_OPEN:
		require(in->open.index < SESSIONS, "an OPEN of no session");
		require(in->open.published - in->open.next <= DEPTH, "more than fits");
		agent.open[in->open.index] = in->open;
		slots = sr_region_slots(&agent.completion, in->open.index);
		sr_slots_reset(&slots, in->open.first + in->open.next);
		memset(sr_region_block(&agent.completion, in->open.index), 0, SR_LINE_BYTES);
		m.opened.index = in->open.index;
		answer(SR_ATTACH_OPENED, &m, -1);
		break;
	case SR_ATTACH_CLOSE:
		m.index.index = in->index.index;
		answer(SR_ATTACH_CLOSED, &m, -1);
		break;
	default:
		break;
	}
}

static void *agent_main(void *arg)
{
	(void)arg;
	for (;;) {
		struct pollfd p[2] = { { .fd = agent.listen_fd, .events = POLLIN },
				       { .fd = agent.sock, .events = POLLIN } };
		union sr_attach_message m;
		int fds[2] = { -1, -1 }, count = 0;

		(void)poll(p, 2, -1);
		if (p[0].revents) {
			if (agent.sock >= 0)
				(void)close(agent.sock);
			agent.sock = accept4(agent.listen_fd, NULL, NULL, SOCK_CLOEXEC);
		} else if (sr_attach_recv(agent.sock, &m, fds, &count) == 0) {
			(void)pthread_mutex_lock(&agent.lock);
			take(&m, fds[0]);
			(void)pthread_mutex_unlock(&agent.lock);
		} else {
			(void)close(agent.sock);
			agent.sock = -1;
		}
	}
	return NULL;
}

static void remove_socket(void)
{
	(void)unlink(agent.path);
	(void)rmdir(agent.dir);
}

static void start(void)
{
	struct sr_address address;
	struct sr_options opt;
	struct sr_reason why = { 0, "" };
	pthread_t thread;
	char text[128];

	agent.sock = -1;
	(void)snprintf(agent.dir, sizeof agent.dir, "%s/sigring-XXXXXX", P_tmpdir);
	require(mkdtemp(agent.dir) != NULL, "no directory");
	(void)snprintf(agent.path, sizeof agent.path, "%s/a", agent.dir);
	(void)snprintf(text, sizeof text, "unix:%s", agent.path);
	require(sr_address_parse(&address, text, &why) == 0, why.text);
	agent.listen_fd = sr_address_listen(&address, SOCK_SEQPACKET, 0600, &why);
	require(agent.listen_fd >= 0, why.text);
	(void)atexit(remove_socket);
	require(pthread_create(&thread, NULL, agent_main, NULL) == 0, "no thread");
	(void)pthread_detach(thread);

	sr_options_init(&opt);
	opt.socket = agent.path;
	opt.sessions = SESSIONS;
	opt.depth = DEPTH;
	opt.flags = SR_OPT_NO_HUGE_PAGES | SR_OPT_NO_MLOCK | SR_OPT_UNSEALED;
	opt.wait = SR_WAIT_YIELD;
	opt.stale_ns = SR_NS_PER_S;
	require(sr_open(&run.client, &opt, &why) == 0, why.text);
}

/* ---- the application ---- */

static void submit(uint8_t how)
{
	uint32_t at = how & 1;
	struct sr_request request = {
		.key = 7,
		.type = SR_ECDSA_SHA256,
		.body_bytes = (uint16_t)(how & 2 ? take8() * 2 : 5),
		.body = run.answered, /* any bytes */
		.user_data = run.submitted,
		.deadline_ns = how & 4 ? (how & 8 ? 1 : sr_now_ns() + 50000) : 0,
	};
	void *staged;
	int ret;

	if (run.submitted == SUBMITS)
		return;
	fuzz_heap_forbid(true);
	if (how & 16) {
		ret = sr_reserve(run.sessions[at], &staged);
		if (ret == 0)
			ret = sr_commit(run.sessions[at], &request);
	} else {
		ret = sr_submit(run.sessions[at], &request);
	}
	fuzz_heap_forbid(false);
	require(ret == 0 || ret == -EAGAIN || ret == -ENOTCONN || ret == -ESTALE ||
			ret == -EMSGSIZE,
		"a submit's error");
	if (ret)
		return;
	run.owner[run.submitted++] = (uint8_t)at;
	run.open_count[at]++;
}

static void look_at(uint32_t at, const struct sr_completion *c)
{
	bool is_signed = false;

	require(c->user_data < run.submitted && run.owner[c->user_data] == at,
		"an answer to what was not asked here");
	require(!run.answered[c->user_data], "a submit was answered twice");
	run.answered[c->user_data] = 1;
	run.closed_count[at]++;
	require(c->status <= SR_VOID || (c->status >= SR_EXPIRED && c->status <= SR_LATE),
		"a status that there is not");
	for (size_t i = 0; i < SR_SIG_BYTES; i++)
		is_signed |= c->signature[i] != 0;
	require(c->status == SR_OK || (!is_signed && c->sigkind == SR_SIG_NONE),
		"a signature without OK");
}

/* Returns what sr_poll() does. */
static int poll_some(uint32_t at, int max)
{
	struct sr_completion out[POLLS + 1];
	int n;

	memset(out, 0x5a, sizeof out);
	fuzz_heap_forbid(true);
	n = sr_poll(run.sessions[at], out, max);
	fuzz_heap_forbid(false);
	require(n <= max, "more than there was room for");
	require(n >= 0 || n == -ENOTCONN || n == -ESTALE || n == -EPROTO, "a poll's error");
	for (int i = 0; i < n; i++)
		look_at(at, &out[i]);
	for (size_t i = (size_t)(n > 0 ? n : 0) * sizeof *out; i < sizeof out; i++)
		require(((unsigned char *)out)[i] == 0x5a, "it wrote more than it says");
	return n;
}

static void open_session(uint32_t at)
{
	struct sr_session_options opt = {
		.flags = SR_SESSION_FIRST | (at ? SR_SESSION_REOPEN : 0),
		.first = UINT64_MAX - 1,
	};
	int ret = -EPROTO;

	for (int i = 0; ret < 0 && i < 1000; i++) {
		ret = sr_session_open(&run.sessions[at], run.client, &opt, NULL);
		if (ret < 0)
			(void)usleep(1000);
	}
	require(ret == 0, "no session");
	run.open_count[at] = run.closed_count[at] = 0;
}

/* Gives it up: what was not answered is now. */
static void close_session(uint32_t at)
{
	struct sr_session_stats stats;
	int n;

	sr_session_abandon(run.sessions[at]);
	for (int i = 0; (n = poll_some(at, POLLS)) >= 0; i++) {
		sr_session_abandon(run.sessions[at]); /* it may just have been opened again */
		require(i < 64, "a session that was given up goes on");
	}
	require(n == -ESTALE || n == -EPROTO, "a session that was given up is connected");
	require(run.open_count[at] == run.closed_count[at], "a submit without an answer");
	sr_session_stats_get(run.sessions[at], &stats);
	require(stats.submitted == run.open_count[at] && stats.completed == stats.submitted,
		"the counters are wrong");
	sr_session_close(run.client, run.sessions[at]);
}

/* ---- the agent's words ---- */

static void complete(uint8_t how)
{
	uint32_t at = how & 1;
	const struct sr_session *s = run.sessions[at];
	struct sr_slots slots = sr_region_slots(&agent.completion, at);
	unsigned char record[SR_CMP_BYTES] = { 0 };
	unsigned char *reply = record + SR_CMP_BODY;
	uint64_t n = s->answered + (how >> 1 & 3);

	record[SR_CMP_KIND] = how & 8 ? take8() : SR_KIND_UNSEALED;
	record[SR_CMP_STATUS] = how & 16 ? take8() : SR_EXPIRED + (how >> 6);
	sr_put16(reply + SR_REP_STATUS, how & 32 ? take8() : 0);
	reply[SR_REP_SIGKIND] = SR_SIG_ECDSA;
	memset(reply + SR_REP_SIG, 0x55, SR_SIG_BYTES);
	sr_slot_publish(&slots, s->first + n, record);
}

static void scribble(uint8_t how)
{
	unsigned char *base = agent.completion.base;
	uint32_t at = how & 1;
	struct sr_slots slots = sr_region_slots(&agent.completion, at);
	uint64_t word = run.sessions[at]->first + run.sessions[at]->answered + (how >> 3 & 3);

	switch (how >> 1 & 3) {
	case 0:
		sr_put64(base + take64() % (agent.completion.bytes - 8), take64());
		break;
	case 1:
		sr_store_release((uint64_t *)(void *)sr_slot_at(&slots, word),
				 how & 32 ? take64() : word - (how & 64 ? DEPTH : 0));
		break;
	case 2:
		sr_store_relaxed(&sr_region_beat(&agent.completion)->heartbeat_ns,
				 how & 8 ? take64() : sr_now_ns());
		break;
	default:
		sr_store32_relaxed(&sr_region_block(&agent.completion, at)->state, how >> 3);
		break;
	}
}

/* The cold thread, for as long as it has something to do. */
static void serve(uint32_t steps)
{
	while (steps-- && sr_service(run.client, NULL) != 0)
		;
}

/* Another agent, so to say; its region's header may not be right. */
static void attach_anew(uint8_t how)
{
	struct sr_client_stats stats;

	agent.spoil = how & 1 ? 0x10000u | (uint32_t)take8() << 8 | (how >> 1) : 0;
	sr_reattach(run.client);
	for (int i = 0; i < 4; i++) {
		serve(16);
		(void)poll_some(0, 1);
		(void)poll_some(1, 1);
		(void)usleep(100);
	}
	sr_client_stats_get(run.client, &stats);
	require(stats.sessions <= SESSIONS, "more sessions than there are");
}

static uint32_t race_at;

static void race_write(uint32_t round)
{
	struct sr_slots slots = sr_region_slots(&agent.completion, race_at & 1);
	uint64_t word = UINT64_MAX - 1 + (race_at >> 1) + round / 8 % DEPTH;
	unsigned char *slot = sr_slot_at(&slots, word);

	sr_store_release((uint64_t *)(void *)slot, round & 7 ? word : word - DEPTH);
	sr_store_relaxed((uint64_t *)(void *)(slot + SR_CMP_KIND), round / 4);
	sr_store_relaxed((uint64_t *)(void *)(slot + SR_CMP_BODY), round % 6);
}

static void race_read(void)
{
	for (uint8_t i = 0; i < 32; i++) {
		submit((uint8_t)(race_at & 1));
		(void)poll_some(race_at & 1, 1 + i % POLLS);
	}
}

static void race(uint8_t how)
{
	race_at = (how & 1) | (uint32_t)run.sessions[how & 1]->answered << 1;
	fuzz_race(race_write, race_read);
}

static void as_agent(void (*what)(uint8_t how), uint8_t how)
{
	(void)pthread_mutex_lock(&agent.lock);
	if (agent.completion.base)
		what(how);
	(void)pthread_mutex_unlock(&agent.lock);
}

/* ---- a run ---- */

static void step(void)
{
	uint8_t op = take8(), how = take8();

	switch (op & 7) {
	case 0:
	case 1:
		submit(how);
		break;
	case 2:
	case 3:
		as_agent(complete, how);
		break;
	case 4:
		(void)poll_some(how & 1, how % (POLLS + 1));
		break;
	case 5:
		as_agent(scribble, how);
		break;
	case 6:
		if (op >> 3 == 0)
			(void)!sr_wait(run.sessions[how & 1], how);
		else if (op >> 3 == 1)
			serve(how);
		else if (op >> 3 == 2 && how < 8)
			attach_anew(take8());
		else if (op >> 3 == 3 && how < 32)
			as_agent(race, how);
		else if (op >> 3 == 4 && how < 4)
			sr_session_abandon(run.sessions[how & 1]);
		break;
	default:
		(void)poll_some(how & 1, POLLS);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	if (!run.client)
		start();
	run.script = (struct script){ data, bytes };
	run.submitted = 0;
	memset(run.answered, 0, sizeof run.answered);
	for (uint32_t at = 0; at < SESSIONS; at++)
		open_session(at);
	as_agent(scribble, 4); /* its heart beats */
	while (run.script.bytes)
		step();
	agent.spoil = 0;
	for (uint32_t at = 0; at < SESSIONS; at++)
		close_session(at);
	return 0;
}
