/* SPDX-License-Identifier: MIT */
/*
 * A signer and an agent whose calls of recv() and send() are this program's: what they do is
 * the programs' own, and can be counted.
 *
 * Strangers at the signer's stream: AF_VSOCK has no permissions, so any process of the
 * parent may connect to an enclave. It takes neither the place of an agent who carries for
 * somebody with rights, nor much of the signing thread's time. And no write is longer than
 * the limit, on the stream or in a conversation.
 */
#include "mp_traders.h"
#include "sr_agent.h"
#include "sr_attach.h"
#include "sr_stream.h"
#include "sr_ground.h"
#include "sr_serve.h"
#include "sr_serve_main.h"
#include "sr_signer_options.h"

#define FDS 256u
#define STRANGERS 40u
#define CROWD 200u
#define TURNS 16384u
#define WRITE_BYTES 512u

static struct mp_rig rig;
static struct counts {
	uint64_t recv[FDS]; /* calls of a descriptor */
	uint64_t sent_max;  /* bytes of the longest send() */
} *signers, *agents; /* shared with them */
static struct counts *counts; /* in their processes alone */

/* In place of libc's. */
ssize_t recv(int fd, void *data, size_t bytes, int flags)
{
	if (counts && fd >= 0 && fd < (int)FDS)
		sr_store_relaxed(&counts->recv[fd], sr_load_relaxed(&counts->recv[fd]) + 1);
	return recvfrom(fd, data, bytes, flags, NULL, NULL);
}

static bool is_stream(int fd)
{
	int type = 0;
	socklen_t bytes = sizeof type;

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 && type == SOCK_STREAM;
}

ssize_t send(int fd, const void *data, size_t bytes, int flags)
{
	if (counts && bytes > sr_load_relaxed(&counts->sent_max) && is_stream(fd))
		sr_store_relaxed(&counts->sent_max, bytes);
	return sendto(fd, data, bytes, flags, NULL, 0);
}

static void signer_main(void *arg)
{
	static struct sr_serve_main self;
	static const struct sr_option options[] = {
		SR_SERVE_OPTIONS(self),
		SR_SIGNER_OPTIONS(self.signer),
		SR_HOST_OPTIONS(self.signer),
	};
	static struct sr_program program = { .name = "signer",
					     .purpose = "",
					     .operands = "",
					     .options = options,
					     .option_count = sizeof options / sizeof options[0] };
	int log = open(rig.signer_log, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
	const char *first[] = { "signer", "--listen", rig.stream, "--keys", rig.keys,
				"--wait", "yield" };
	char *argv[MP_ARGS_MAX + 8];
	int argc = 0;

	(void)arg;
	MP_CHECK(log >= 0 && dup2(log, 2) == 2, "the log");
	for (size_t i = 0; i < sizeof first / sizeof first[0]; i++)
		argv[argc++] = (char *)(uintptr_t)first[i];
	for (size_t i = 0; rig.signer_args[i]; i++)
		argv[argc++] = (char *)(uintptr_t)rig.signer_args[i];
	argv[argc] = NULL;
	self.program = &program;
	self.ground = &sr_ground_host;
	counts = signers;
	_exit(sr_serve_main(&self, argc, argv));
}

/* Of sigring-agent, without what a command line says. */
static void agent_main(void *arg)
{
	struct sr_agent_config config;
	struct sr_transport *transport;
	struct sr_reason why = { 0, "" };
	struct sr_address signer;
	struct sr_agent *agent;
	int log = open(rig.agent_log, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);

	(void)arg;
	MP_CHECK(log >= 0 && dup2(log, 2) == 2, "the log");
	sr_agent_config_init(&config);
	config.any_uid = true;
	config.write_bytes_max = WRITE_BYTES;
	config.wait = SR_WAIT_YIELD;
	MP_EQ(sr_set_socket(&config.listen, rig.socket, NULL, &why), 0, "address");
	MP_EQ(sr_address_parse(&signer, rig.stream, &why), 0, "address");
	MP_EQ(sr_address_control(&signer, &config.control, &why), 0, "address");
	MP_EQ(sr_stream_new(&transport, &signer), 0, "stream");
	MP_CHECK(sr_agent_new(&agent, &config, transport, &why) == 0, "%s", why.text);
	(void)fprintf(stderr, "ready at %s\n", rig.socket);
	counts = agents;
	_exit(sr_agent_run(agent) < 0);
}

static int stranger(void)
{
	struct sr_address at;
	int fd;

	MP_EQ(sr_address_parse(&at, rig.stream, NULL), 0, "address");
	fd = sr_address_connect(&at);
	MP_CHECK(fd >= 0, "connect: %s", strerror(-fd));
	return fd;
}

static void begin(struct sr_client **client, struct sr_session **session)
{
	mp_rig_new_sealed(&rig, true);
	signers = mp_shared(sizeof *signers);
	rig.signer = mp_fork(signer_main, NULL);
	mp_await_ready(rig.signer, rig.signer_log, 0);
	mp_start_agent(&rig);
	*client = mp_open(&rig, 1, 32);
	*session = mp_session(*client, 0, 0);
	mp_order(&rig, *client, *session, 0);
}

static void end(struct sr_client *client)
{
	sr_close(client);
	mp_rig_stop(&rig);
}

static int falling(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* Calls of each descriptor, the largest first, until one has had as many as TURNS: the
 * agent's, which has one a turn. */
static void count_for_turns(uint64_t during[FDS])
{
	uint64_t before[FDS];

	for (unsigned int i = 0; i < FDS; i++)
		before[i] = sr_load_relaxed(&signers->recv[i]);
	do {
		mp_sleep_us(1000);
		for (unsigned int i = 0; i < FDS; i++)
			during[i] = sr_load_relaxed(&signers->recv[i]) - before[i];
		qsort(during, FDS, sizeof during[0], falling);
	} while (during[0] < TURNS);
}

static void silent_strangers_are_listened_to_rarely(void)
{
	struct sr_client *client;
	struct sr_session *session;
	uint64_t during[FDS];

	begin(&client, &session);
	for (unsigned int i = 1; i < SR_SERVE_STREAMS_MAX; i++)
		(void)stranger();
	mp_await_lines(rig.signer_log, "an agent connected", SR_SERVE_STREAMS_MAX);
	count_for_turns(during); /* of which the first ones listen to everybody */
	count_for_turns(during);
	MP_CHECK(during[1] > 0, "a stranger is not listened to at all");
	MP_CHECK(during[0] > 10 * during[1],
		 "the agent is listened to %llu times, a stranger %llu times",
		 (unsigned long long)during[0], (unsigned long long)during[1]);
	mp_order(&rig, client, session, 1);
	end(client);
}

static void agent_with_a_trader_keeps_its_place(void)
{
	struct sr_client *client;
	struct sr_session *session;

	begin(&client, &session);
	for (unsigned int i = 0; i < STRANGERS; i++) {
		(void)stranger();
		mp_await_lines(rig.signer_log, "an agent connected", 2 + i);
	}
	mp_order(&rig, client, session, 1);
	MP_EQ(mp_counter(&rig, "stream", "times_up"), 1, "streams of the agent");
	end(client);
}

/* Each is a line when it comes and a line when it is cut off for the next. */
static void strangers_cannot_fill_the_log(void)
{
	struct sr_client *client;
	struct sr_session *session;
	struct pollfd crowd[CROWD];
	size_t lines;

	begin(&client, &session);
	for (unsigned int i = 0; i < CROWD; i++) {
		crowd[i] = (struct pollfd){ .fd = stranger(), .events = POLLIN };
		/* Whoever came so many before makes room for this one. */
		if (i >= SR_SERVE_STREAMS_MAX)
			MP_EQ(poll(&crowd[i - SR_SERVE_STREAMS_MAX], 1, 20000), 1,
			      "a stranger who is cut off");
	}
	lines = mp_count_lines(rig.signer_log, "an agent connected") +
		mp_count_lines(rig.signer_log, "silent for longest");
	MP_CHECK(lines > CROWD / 4 && lines < CROWD, "%zu lines of %u strangers", lines, CROWD);
	mp_sleep_us(1100000); /* one a second */
	(void)stranger();
	while (mp_count_lines(rig.signer_log, "before that were not logged") == 0)
		mp_sleep_us(1000);
	mp_order(&rig, client, session, 1);
	end(client);
}

/* One that the signer hangs up on. */
static void send_long_message(void)
{
	static unsigned char text[8192];
	union sr_attach_message m = { 0 };
	struct pollfd p = { .fd = sr_attach_connect(rig.socket), .events = POLLIN };

	sr_put32(text, sizeof text);
	sr_put32(text + 4, 1);
	MP_CHECK(p.fd >= 0, "connect: %s", strerror(-p.fd));
	MP_EQ(sr_attach_send(p.fd, &m, SR_ATTACH_CONTROL, NULL, 0), 0, "CONTROL");
	MP_EQ(send(p.fd, text, sizeof text, MSG_NOSIGNAL), sizeof text, "send");
	MP_CHECK(poll(&p, 1, 20000) == 1, "the agent does not hang up");
	(void)close(p.fd);
}

/* A document has some thousand bytes, a question of ours as many as it likes. */
static void no_write_is_longer_than_it_may_be(void)
{
	static const char *const limit[] = { "--signer-write-bytes-max", "512" };
	struct sr_client *client;
	struct sr_session *session;
	size_t n = 0;
	long before;

	mp_rig_new_sealed(&rig, true);
	signers = mp_shared(sizeof *signers);
	agents = mp_shared(sizeof *agents);
	while (rig.signer_args[n])
		n++;
	memcpy(rig.signer_args + n, limit, sizeof limit);
	rig.signer = mp_fork(signer_main, NULL);
	mp_await_ready(rig.signer, rig.signer_log, 0);
	before = mp_file_bytes(rig.agent_log);
	rig.agent = mp_fork(agent_main, NULL);
	mp_await_ready(rig.agent, rig.agent_log, before);
	client = mp_open(&rig, 1, 32);
	session = mp_session(client, 0, 0);
	for (uint64_t i = 0; i < 20; i++)
		mp_order(&rig, client, session, i);
	MP_EQ(sr_load_relaxed(&signers->sent_max), WRITE_BYTES, "bytes of the signer's longest");
	MP_CHECK(sr_load_relaxed(&agents->sent_max) <= WRITE_BYTES, "%llu bytes of the agent's",
		 (unsigned long long)sr_load_relaxed(&agents->sent_max));
	send_long_message();
	MP_EQ(sr_load_relaxed(&agents->sent_max), WRITE_BYTES, "bytes of the agent's longest");
	sr_close(client);
	mp_signal(&rig.agent, SIGKILL); /* it knows no other */
	mp_rig_stop(&rig);
}

#define TEST(name) { #name, name, 60 }
static const struct mp_test tests[] = {
	TEST(silent_strangers_are_listened_to_rarely),
	TEST(agent_with_a_trader_keeps_its_place),
	TEST(strangers_cannot_fill_the_log),
	TEST(no_write_is_longer_than_it_may_be),
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
