/* SPDX-License-Identifier: MIT */
/*
 * The blocking policy, end to end: client, agent and signer sleep when there is
 * nothing to do, and wake each other. Every sleep ends by itself after 20 or 50
 * ms, so a lost wake-up shows as a round trip of that length.
 */
#include "mp_common.h"

#define LOST_NS (18ull * SR_NS_PER_MS)

static struct mp_rig rig;

static void start(bool split, const char *io)
{
	mp_rig_new(&rig, split);
	rig.agent_args[0] = rig.signer_args[0] = "--wait";
	rig.agent_args[1] = rig.signer_args[1] = "block";
	if (io) {
		rig.agent_args[2] = "--io";
		rig.agent_args[3] = io;
	}
	mp_rig_start(&rig);
}

static struct sr_client *open_blocking(uint32_t sessions)
{
	struct sr_options opt;
	struct sr_reason why = { 0, "" };
	struct sr_client *client;
	int ret;

	mp_options(&opt, &rig);
	opt.sessions = sessions;
	opt.wait = SR_WAIT_BLOCK;
	ret = sr_open(&client, &opt, &why);
	MP_CHECK(ret == 0, "sr_open: %s", why.text);
	return client;
}

/* One order, waited for; returns how long it took. */
static uint64_t trip_ns(struct sr_session *session, uint64_t n)
{
	uint64_t begin_ns = sr_now_ns();
	struct sr_completion c;

	MP_EQ(mp_submit(session, 1, n, 0), 0, "sr_submit");
	for (;;) {
		int ret = sr_wait(session, MP_BOUND_NS);

		MP_EQ(ret, 0, "sr_wait");
		ret = sr_poll(session, &c, 1);
		MP_CHECK(ret >= 0, "sr_poll: %d", ret);
		if (ret == 1)
			break;
	}
	MP_CHECK(c.status == SR_OK && c.user_data == n, "%s of %llu", sr_status_name(c.status),
		 (unsigned long long)c.user_data);
	return sr_now_ns() - begin_ns;
}

static void round_trips(bool split, const char *io)
{
	uint64_t count = mp_long ? 1000000 : 15000;
	struct sr_client *client;
	struct sr_session *session;
	uint64_t slow = 0;

	start(split, io);
	client = open_blocking(1);
	session = mp_session(client, 0, 0);
	for (uint64_t n = 0; n < count; n++) {
		slow += trip_ns(session, n) > LOST_NS;
		for (uint32_t i = mp_below(1024); i;
		     i--) /* to meet the agent on its way to sleep */
			sr_pause();
		if (n % 1000 == 0)
			mp_sleep_us(mp_below(3000)); /* or fast asleep */
	}
	(void)printf("# %s%s: %llu round trips, %llu of more than 18 ms\n",
		     split ? "split " : "local", io ? io : "", (unsigned long long)count,
		     (unsigned long long)slow);
	/* A machine under load has some of its own; what is lost in the narrow race
	 * itself is for stress_doorbell to find. */
	MP_CHECK(slow * 50 <= count, "%llu of %llu round trips took as long as a lost wake-up",
		 (unsigned long long)slow, (unsigned long long)count);
	sr_close(client);
	mp_rig_stop(&rig);
}

static void local_round_trips_lose_no_wake_up(void)
{
	round_trips(false, NULL);
}

static void split_round_trips_lose_no_wake_up(void)
{
	round_trips(true, "direct");
}

static void uring_round_trips_lose_no_wake_up(void)
{
	round_trips(true, "uring");
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Agent and client are fast asleep when the reply comes: it must wake both. One
 * that slept on would do so for 10 ms on average. */
static void replies_wake_sleepers(const char *io)
{
	uint64_t took_ns[41];
	const size_t count = sizeof took_ns / sizeof took_ns[0];
	struct sr_client *client;
	struct sr_session *session;

	start(true, io);
	client = open_blocking(1);
	session = mp_session(client, 0, 0);
	(void)trip_ns(session, 0);
	for (size_t i = 0; i < count; i++) {
		struct sr_completion c;
		uint64_t begin_ns;

		mp_signal(&rig.signer, SIGSTOP);
		MP_EQ(mp_submit(session, 1, i, 0), 0, "sr_submit");
		mp_sleep_us(3000 + mp_below(20000));
		begin_ns = sr_now_ns();
		mp_signal(&rig.signer, SIGCONT);
		while (sr_poll(session, &c, 1) == 0)
			(void)!sr_wait(session, MP_BOUND_NS);
		took_ns[i] = sr_now_ns() - begin_ns;
	}
	qsort(took_ns, count, sizeof took_ns[0], by_value);
	(void)printf("# %s: woken after %llu us (lower quartile), %llu us (median)\n", io,
		     (unsigned long long)took_ns[count / 4] / 1000,
		     (unsigned long long)took_ns[count / 2] / 1000);
	MP_CHECK(took_ns[count / 4] < 3 * SR_NS_PER_MS,
		 "a quarter of the replies took %llu us or more",
		 (unsigned long long)took_ns[count / 4] / 1000);
	sr_close(client);
	mp_rig_stop(&rig);
}

static void reply_wakes_a_sleeping_agent(void)
{
	replies_wake_sleepers("direct");
}

static void reply_wakes_an_agent_that_sleeps_on_io_uring(void)
{
	replies_wake_sleepers("uring");
}

/* User and system time of a process, in clock ticks. */
static unsigned long ticks(pid_t pid)
{
	char path[64];
	unsigned long user = 0;
	unsigned long system = 0;
	char *text;

	(void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	text = mp_read_file(path);
	(void)sscanf(strrchr(text, ')') + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
		     &user, &system);
	free(text);
	return user + system;
}

static void idle_programs_cost_nothing(void)
{
	struct sr_client *client;
	struct sr_session *session;
	unsigned long agent;
	unsigned long signer;
	unsigned long own;

	start(true, "direct");
	client = open_blocking(2);
	session = mp_session(client, 0, 0);
	(void)mp_session(client, 0, 0);
	for (uint64_t n = 0; n < 100; n++)
		(void)trip_ns(session, n);
	mp_sleep_us(100000);
	agent = ticks(rig.agent);
	signer = ticks(rig.signer);
	own = ticks(getpid());
	MP_EQ(sr_wait(session, SR_NS_PER_S), -ETIME, "sr_wait with nothing to come");
	MP_CHECK(ticks(getpid()) - own < 20, "our own wait took %lu ticks of 100",
		 ticks(getpid()) - own);
	MP_CHECK(ticks(rig.agent) - agent < 20, "the idle agent took %lu ticks of 100",
		 ticks(rig.agent) - agent);
	MP_CHECK(ticks(rig.signer) - signer < 20, "the idle signer took %lu ticks of 100",
		 ticks(rig.signer) - signer);
	(void)trip_ns(session, 100);
	sr_close(client);
	mp_rig_stop(&rig);
}

/* A client that spins with an agent that sleeps, and the reverse. */
static void policies_mix(void)
{
	static const char *const agents[] = { "block", "yield", "auto" };
	static const uint32_t clients[] = { SR_WAIT_SPIN, SR_WAIT_YIELD, SR_WAIT_BLOCK,
					    SR_WAIT_AUTO };

	for (size_t a = 0; a < sizeof agents / sizeof agents[0]; a++) {
		mp_rig_new(&rig, true);
		rig.agent_args[0] = "--wait";
		rig.agent_args[1] = agents[a];
		mp_rig_start(&rig);
		for (size_t c = 0; c < sizeof clients / sizeof clients[0]; c++) {
			struct sr_options opt;
			struct sr_client *client;
			struct sr_session *session;

			mp_options(&opt, &rig);
			opt.wait = clients[c];
			MP_EQ(sr_open(&client, &opt, NULL), 0, "sr_open");
			session = mp_session(client, 0, 0);
			for (uint64_t n = 0; n < 60; n++)
				(void)trip_ns(session, n);
			sr_close(client);
		}
		mp_rig_stop(&rig);
	}
}

/* Asleep when the agent dies, when a deadline passes, when there is a new one. */
static void sleeper_notices_what_is_not_a_completion(void)
{
	struct sr_client *client;
	struct sr_session *session;
	struct sr_completion c;
	uint64_t begin_ns;

	start(true, "direct");
	client = open_blocking(1);
	session = mp_session(client, 0, 0);
	(void)trip_ns(session, 0);
	mp_signal(&rig.signer, SIGSTOP);
	begin_ns = sr_now_ns();
	MP_EQ(mp_submit(session, 1, 1, begin_ns + 200ull * SR_NS_PER_MS), 0, "sr_submit");
	MP_EQ(sr_wait(session, MP_BOUND_NS), 0, "sr_wait up to a deadline");
	MP_CHECK(sr_now_ns() - begin_ns > 190ull * SR_NS_PER_MS, "it woke up early");
	MP_EQ(sr_poll(session, &c, 1), 1, "sr_poll after a deadline");
	MP_EQ(c.status, SR_UNKNOWN, "status");
	mp_signal(&rig.signer, SIGCONT);
	mp_signal(&rig.agent, SIGKILL);
	MP_EQ(sr_service(client, NULL), -ENOTCONN, "sr_service after the agent's death");
	MP_EQ(sr_wait(session, MP_BOUND_NS), 0, "sr_wait without an agent");
	MP_EQ(sr_poll(session, &c, 1), -ENOTCONN, "sr_poll without an agent");
	mp_start_agent(&rig);
	mp_order(&rig, client, session, 2);
	(void)trip_ns(session, 3);
	sr_close(client);
	mp_rig_stop(&rig);
}

static const struct mp_test tests[] = {
	{ "sleep/local_round_trips_lose_no_wake_up", local_round_trips_lose_no_wake_up, 0 },
	{ "sleep/split_round_trips_lose_no_wake_up", split_round_trips_lose_no_wake_up, 0 },
	{ "sleep/uring_round_trips_lose_no_wake_up", uring_round_trips_lose_no_wake_up, 0 },
	{ "sleep/reply_wakes_a_sleeping_agent", reply_wakes_a_sleeping_agent, 0 },
	{ "sleep/reply_wakes_an_agent_that_sleeps_on_io_uring",
	  reply_wakes_an_agent_that_sleeps_on_io_uring, 0 },
	{ "sleep/idle_programs_cost_nothing", idle_programs_cost_nothing, 0 },
	{ "sleep/policies_mix", policies_mix, 0 },
	{ "sleep/sleeper_notices_what_is_not_a_completion",
	  sleeper_notices_what_is_not_a_completion, 0 },
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
