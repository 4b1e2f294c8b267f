/* SPDX-License-Identifier: MIT */
/*
 * Strangers at the signer's stream. AF_VSOCK has no permissions, so any process of the
 * parent may connect to an enclave: it takes neither the place of an agent who carries for
 * somebody with rights, nor much of the signing thread's time.
 */
#include "mp_traders.h"
#include "sr_ground.h"
#include "sr_serve.h"
#include "sr_serve_main.h"
#include "sr_signer_options.h"

#define FDS 256u
#define STRANGERS 40u
#define TURNS 16384u

static struct mp_rig rig;
static uint64_t *calls; /* of recv(), a descriptor; shared with the signer */
static bool counting;   /* in the signer's process alone */

/* In place of libc's. */
ssize_t recv(int fd, void *data, size_t bytes, int flags)
{
	if (counting && fd >= 0 && fd < (int)FDS)
		sr_store_relaxed(&calls[fd], sr_load_relaxed(&calls[fd]) + 1);
	return recvfrom(fd, data, bytes, flags, NULL, NULL);
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
	counting = true;
	_exit(sr_serve_main(&self, argc, argv));
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
	calls = mp_shared(FDS * sizeof *calls);
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
		before[i] = sr_load_relaxed(&calls[i]);
	do {
		mp_sleep_us(1000);
		for (unsigned int i = 0; i < FDS; i++)
			during[i] = sr_load_relaxed(&calls[i]) - before[i];
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

#define TEST(name) { #name, name, 60 }
static const struct mp_test tests[] = {
	TEST(silent_strangers_are_listened_to_rarely),
	TEST(agent_with_a_trader_keeps_its_place),
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
