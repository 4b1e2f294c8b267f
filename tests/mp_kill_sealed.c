/* SPDX-License-Identifier: MIT */
/*
 * Sealed sessions, and what becomes of them when the agent or the signer dies, or
 * stands still and is replaced; each program as it is shipped.
 */
#include "once_rig.h"

/* Nothing lost, nothing signed twice, no UNKNOWN. */
static void agent_killed_under_load(void)
{
	struct plan p = { .split = true,
			  .sealed = true,
			  .chaos = KILL_AGENT,
			  .clients = 4,
			  .times = mp_long ? 200 : 20 };
	struct tally sum = run_plan(&p);

	only_ok(&sum);
	MP_EQ(sum.reopened, 0, "sessions opened again");
	mp_rig_stop(&rig);
}

static void check_words(const struct tally *sum)
{
	MP_EQ(sum->by_status[SR_OK] + sum->by_status[SR_UNKNOWN] + sum->by_status[SR_NOT_SENT] +
		      sum->by_status[SR_SESSION_LOST],
	      sum->submitted, "OK, UNKNOWN, NOT_SENT and SESSION_LOST together");
	MP_CHECK(sum->reopened > 0, "no session was opened again");
	MP_CHECK(mp_signer_counter(&rig, "signed") <= (long long)sum->by_status[SR_OK],
		 "the last signer signed more than all of them were asked for");
	MP_EQ(mp_counter(&rig, "signer", "ended_hostile"), 0, "sessions ended by the signer");
}

/* Each time another root, which the clients find in the trust file. */
static void signer_killed_under_load(void)
{
	struct plan p = { .split = true,
			  .sealed = true,
			  .chaos = KILL_SIGNER,
			  .clients = 4,
			  .times = mp_long ? 50 : 10,
			  .agent_args = { "--wait", "block" } };
	struct tally sum = run_plan(&p);

	check_words(&sum);
	mp_rig_stop(&rig);
}

static void sealed_everything_breaks(void)
{
	struct plan p = { .split = true,
			  .sealed = true,
			  .chaos = KILL_AGENT | KILL_SIGNER | STOP_AGENT | STOP_SIGNER |
				   KILL_CLIENT | STOP_CLIENT | DEADLINES,
			  .clients = 3,
			  .seconds = 4,
			  .agent_args = { "--wait", "block" } };

	(void)run_plan(&p);
	mp_good_client(&rig);
	mp_rig_stop(&rig);
}

static void sealed_local_killed_under_load(void)
{
	struct plan p = { .sealed = true, .chaos = KILL_AGENT, .clients = 2, .times = 4 };
	struct tally sum = run_plan(&p);

	check_words(&sum);
	mp_rig_stop(&rig);
}

/* ---- one moment at a time ---- */

#define OUTSTANDING 16u
#define SOON_NS (100ull * SR_NS_PER_MS)
#define HANG_NS (10ull * SR_NS_PER_S) /* beyond a deadline, on a loaded machine */

/* By itself: we only poll, and have the cold thread's work done. */
static void await_reopened(struct sr_client *client, struct sr_session *session, uint64_t times)
{
	uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;
	struct sr_session_stats stats;
	struct sr_completion c;

	do {
		MP_CHECK(sr_now_ns() < end_ns, "the session is not opened again");
		MP_CHECK(sr_poll(session, &c, 1) <= 0, "a completion of nothing");
		(void)sr_service(client, NULL);
		mp_sleep_us(500);
		sr_session_stats_get(session, &stats);
	} while (stats.reopened < times);
	MP_EQ(stats.reopened, times, "times that it was opened again");
	MP_EQ(stats.agent_lied, 0, "lies of an honest agent");
}

/* What was on its way when the signer died gets one word, and no deadline is missed. */
static void signer_dies_with_submits_outstanding(void)
{
	struct sr_client *client;
	struct sr_session *session;
	struct sr_completion c;

	mp_rig_new_sealed(&rig, true);
	mp_rig_start(&rig);
	client = mp_open(&rig, 1, 32);
	session = mp_session(client, SR_SESSION_REOPEN, 0);
	mp_order(&rig, client, session, 0);
	for (uint64_t deadlines = 0; deadlines < 2; deadlines++) {
		uint64_t until_ns = 0;

		mp_signal(&rig.signer, SIGSTOP);
		until_ns = sr_now_ns() + SOON_NS;
		for (uint64_t n = 0; n < OUTSTANDING; n++)
			MP_EQ(mp_submit(session, 1, n, deadlines ? until_ns : 0), 0, "sr_submit");
		mp_sleep_us(5000); /* some have been forwarded */
		mp_signal(&rig.signer, SIGKILL);
		if (!deadlines)
			mp_start_signer(&rig);
		for (uint64_t n = 0; n < OUTSTANDING; n++) {
			mp_next(client, session, &c);
			MP_CHECK(c.user_data == n && c.sigkind == SR_SIG_NONE &&
					 (c.status == SR_UNKNOWN || c.status == SR_NOT_SENT ||
					  (deadlines && c.status == SR_EXPIRED)),
				 "number %llu is %s", (unsigned long long)c.user_data,
				 sr_status_name(c.status));
		}
		if (deadlines) {
			MP_CHECK(sr_now_ns() < until_ns + HANG_NS, "a hang beyond the deadline");
			mp_start_signer(&rig);
		}
		await_reopened(client, session, deadlines + 1);
		mp_order(&rig, client, session, 100 + deadlines);
	}
	sr_close(client);
	mp_rig_stop(&rig);
}

/* A signature never comes from the agent that was stopped: after the second has taken
 * over, the first finds its regions unmapped and its epoch too low. */
static void stopped_agent_is_replaced(void)
{
	struct sr_client *client;
	struct sr_session *session;
	struct sr_client_stats stats;
	struct sr_completion c;
	pid_t old;
	uint64_t n = 0;

	mp_rig_new_sealed(&rig, true);
	mp_rig_start(&rig);
	client = mp_open(&rig, 1, 32);
	session = mp_session(client, 0, 0);
	while (n < 50)
		mp_order(&rig, client, session, n++);
	mp_signal(&rig.agent, SIGSTOP);
	old = rig.agent;
	for (uint64_t i = 0; i < 8; i++)
		MP_EQ(mp_submit(session, 1, n + i, sr_now_ns() + SOON_NS / 2), 0, "sr_submit");
	for (uint64_t i = 0; i < 8; i++) { /* by our own clock */
		mp_next(client, session, &c);
		MP_CHECK(c.status == SR_UNKNOWN && c.user_data == n + i, "number %llu is %s",
			 (unsigned long long)c.user_data, sr_status_name(c.status));
	}
	n += 8;
	MP_CHECK(unlink(rig.socket) == 0, "unlink: %s", strerror(errno));
	mp_start_agent(&rig);
	sr_reattach(client);
	while (n < 100)
		mp_order(&rig, client, session, n++);
	mp_signal(&old, SIGCONT);
	while (n < 300)
		mp_order(&rig, client, session, n++);
	sr_client_stats_get(client, &stats);
	MP_EQ(stats.agent_pid, rig.agent, "the agent that we are attached to");
	MP_EQ(mp_signer_counter(&rig, "ended_hostile"), 0, "sessions ended by the signer");
	MP_CHECK(mp_counter(&rig, "signer", "signed") <= (long long)n,
		 "more was signed than was submitted");
	mp_signal(&old, SIGTERM);
	mp_order(&rig, client, session, n);
	sr_close(client);
	mp_rig_stop(&rig);
}

static const struct mp_test tests[] = {
	{ "sealed/agent_killed_under_load", agent_killed_under_load, 0 },
	{ "sealed/signer_killed_under_load", signer_killed_under_load, 0 },
	{ "sealed/everything_breaks", sealed_everything_breaks, 0 },
	{ "sealed/local_killed_under_load", sealed_local_killed_under_load, 0 },
	{ "sealed/signer_dies_with_submits_outstanding", signer_dies_with_submits_outstanding, 0 },
	{ "sealed/stopped_agent_is_replaced", stopped_agent_is_replaced, 0 },
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
