/* SPDX-License-Identifier: MIT */
/*
 * What must come back: sessions that are closed while they are opened again, and
 * sessions of dead clients while the signer takes nothing.
 */
#include "mp_common.h"

static struct mp_rig rig;

/* Closing in mid-reopen is an ordinary thing to do: the agent, the other session
 * of the process and the place in the region must not mind. */
static void closed_at_each_step_of_reopening(void)
{
	for (int steps = 0; steps < 6; steps++) {
		struct sr_client *client;
		struct sr_session *lost;
		struct sr_session *other;
		struct sr_completion c;

		mp_rig_new(&rig, false);
		mp_rig_start(&rig);
		client = mp_open(&rig, 2, 8);
		other = mp_session(client, 0, 0);
		lost = mp_session(client, SR_SESSION_REOPEN, 0);
		sr_session_abandon(lost);
		MP_EQ(sr_poll(lost, &c, 1), -ESTALE, "poll of an abandoned session");
		for (int i = 0; i < steps; i++) {
			(void)sr_service(client, NULL);
			mp_sleep_us(i % 2 ? 2000 : 0);
		}
		sr_session_close(client, lost);
		mp_order(&rig, client, other, 0);
		lost = mp_session(client, 0, 0);
		mp_order(&rig, client, lost, 0);
		mp_order(&rig, client, other, 1);
		MP_EQ(mp_count_lines(rig.agent_log, "refused"), 0, "refusals in the log");
		MP_EQ(mp_count_lines(rig.agent_log, "hung up"), 0, "hang-ups in the log");
		sr_close(client);
		mp_rig_stop(&rig);
	}
}

static void fill_the_stream(void *arg)
{
	struct sr_client *client = mp_open(&rig, 1, 4096);
	struct sr_session *session = mp_session(client, 0, 0);

	(void)arg;
	for (uint64_t n = 0; n < 4096; n++)
		MP_EQ(mp_submit(session, 2, n, 0), 0, "sr_submit");
	for (;;)
		mp_sleep_us(100000);
}

/* A signer that is stopped takes no END either, but that is no reason for a dead
 * client's place to stay taken. */
static void dead_client_leaves_while_the_signer_is_stopped(void)
{
	struct sr_options opt;
	struct sr_client *client;
	pid_t victim;
	long long before;
	uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;

	mp_rig_new(&rig, true);
	rig.agent_args[0] = "--sessions-max";
	rig.agent_args[1] = "1";
	rig.signer_args[0] = "--signer-depth-max";
	rig.signer_args[1] = "4096";
	rig.signer_args[2] = "--credits";
	rig.signer_args[3] = "4096";
	mp_rig_start(&rig);
	victim = mp_fork(fill_the_stream, NULL);
	while (mp_counter(&rig, "agent", "forwarded") < 10)
		MP_CHECK(sr_now_ns() < end_ns, "nothing is forwarded");
	mp_signal(&rig.signer, SIGSTOP);
	do { /* until the socket takes no more */
		before = mp_counter(&rig, "agent", "written_bytes");
		mp_sleep_us(50000);
	} while (mp_counter(&rig, "agent", "written_bytes") != before);
	mp_signal(&victim, SIGKILL);
	mp_options(&opt, &rig);
	for (;;) {
		struct sr_reason why = { 0, "" };

		if (sr_open(&client, &opt, &why) == 0)
			break;
		MP_CHECK(sr_now_ns() < end_ns, "the place is not free: %s", why.text);
		mp_sleep_us(10000);
	}
	sr_close(client);
	mp_signal(&rig.signer, SIGCONT);
	mp_good_client(&rig);
	mp_rig_stop(&rig);
}

/* Nothing listens to a client that only asks for the status, however full it is. */
static void full_agent_still_tells_its_status(void)
{
	uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;
	struct sr_client *client;

	mp_rig_new(&rig, false);
	rig.agent_args[0] = "--clients-max";
	rig.agent_args[1] = "1";
	mp_rig_start(&rig);
	client = mp_open(&rig, 1, 8);
	while (mp_counter(&rig, "stream", "up") != 1) /* a client may attach before it is */
		MP_CHECK(sr_now_ns() < end_ns, "the stream does not come up");
	sr_close(client);
	mp_rig_stop(&rig);
}

static const struct mp_test tests[] = {
	{ "reopen/closed_at_each_step_of_reopening", closed_at_each_step_of_reopening, 0 },
	{ "reopen/dead_client_leaves_while_the_signer_is_stopped",
	  dead_client_leaves_while_the_signer_is_stopped, 0 },
	{ "reopen/full_agent_still_tells_its_status", full_agent_still_tells_its_status, 0 },
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
