/* SPDX-License-Identifier: MIT */
/*
 * Processes that die or stand still in the middle of things.
 *
 * Whoever is killed between reserve and commit leaves nothing half-done: the
 * agent goes on, other sessions go on, and no partial slot is ever forwarded.
 * Whoever is stopped and replaced cannot reach his successor.
 */
#include <sys/ptrace.h>

#include "mp_signer.h"

static struct mp_rig rig;
static struct mp_mock *mock;

static void check_mock(void)
{
	MP_EQ(sr_load_relaxed(&mock->torn), 0, "partial slots forwarded");
	MP_EQ(sr_load_relaxed(&mock->misplaced), 0, "slots forwarded under another number");
	MP_CHECK(mp_alive(rig.agent), "the agent ended");
}

/* ---- 1: killed at each instruction between reserve and commit ---- */

#define VICTIM_DEPTH 4u
#define VICTIM_WARM 6u /* every slot has held something else before */

static void stepped_victim(void *arg)
{
	struct sr_client *client = mp_open(&rig, 1, VICTIM_DEPTH);
	struct sr_session *session = mp_session(client, 0, 0);
	uint64_t n;

	(void)arg;
	for (n = 0; n < VICTIM_WARM; n++)
		mp_filled_order(client, session, 2, n);
	(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	(void)raise(SIGSTOP);
	MP_EQ(mp_submit_filled(session, 2, n), 0, "sr_commit");
	(void)raise(SIGSTOP);
	for (;;)
		(void)pause();
}

static bool stopped_by_itself(pid_t pid)
{
	int status;

	MP_CHECK(waitpid(pid, &status, 0) == pid, "waitpid: %s", strerror(errno));
	MP_CHECK(WIFSTOPPED(status), "the victim ended: %x", (unsigned int)status);
	return WSTOPSIG(status) == SIGSTOP;
}

/* Takes @steps instructions, or all of them, and kills. Returns how many it took. */
static unsigned int kill_after(unsigned int steps)
{
	pid_t pid = mp_fork(stepped_victim, NULL);
	unsigned int taken;

	MP_CHECK(stopped_by_itself(pid), "the victim does not stop");
	for (taken = 0; taken < steps; taken++) {
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) < 0)
			mp_skip("no single-stepping here: %s", strerror(errno));
		if (stopped_by_itself(pid))
			break;
	}
	mp_signal(&pid, SIGKILL);
	return taken;
}

static bool tracing_allowed(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		long ret = ptrace(PTRACE_TRACEME, 0, NULL, NULL);

		_exit(ret < 0 ? 1 : 0);
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void killed_at_each_instruction_of_a_submit(void)
{
	struct sr_client *client;
	struct sr_session *session;
	unsigned int all;
	unsigned int kills = 0;
	unsigned int stride;

	if (!tracing_allowed())
		mp_skip("ptrace is not allowed here");
	mp_rig_new(&rig, true);
	mock = mp_mock_start(&rig);
	client = mp_open(&rig, 1, 8);
	session = mp_session(client, 0, 0);
	all = kill_after(1000000);
	stride = mp_long || all < 500 ? 1 : all / 500;
	for (unsigned int steps = 0; steps <= all; steps += stride, kills++) {
		(void)kill_after(steps);
		mp_filled_order(client, session, 1, kills);
		check_mock();
	}
	(void)printf("# %u kills over %u instructions\n", kills, all);
	mp_sleep_us(50000);
	check_mock();
	/* The one whose last instruction was taken, and all that came after its
	 * commit, were seen; most were not. */
	MP_CHECK(sr_load_relaxed(&mock->records) > (VICTIM_WARM + 1) * kills,
		 "no victim's last request was forwarded");
	sr_close(client);
}

static void busy_victim(void *arg)
{
	struct sr_client *client = mp_open(&rig, 2, 64);
	struct sr_session *s[2];
	struct sr_completion c[16];
	uint64_t n[2] = { 0, 0 };

	(void)arg;
	s[0] = mp_session(client, 0, 0);
	s[1] = mp_session(client, 0, 0);
	for (;;)
		for (int i = 0; i < 2; i++) {
			if (mp_submit_filled(s[i], 3, n[i]) == 0)
				n[i]++;
			(void)!sr_poll(s[i], c, 16);
		}
}

/* Until so many more have come to the signer. */
static void await_records(uint64_t count)
{
	uint64_t from = sr_load_relaxed(&mock->records);
	uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;

	while (sr_load_relaxed(&mock->records) < from + count) {
		MP_CHECK(sr_now_ns() < end_ns, "the victims do nothing");
		mp_sleep_us(1000);
	}
}

static void killed_at_random_moments(void)
{
	unsigned int rounds = mp_long ? 5000 : 150;
	struct sr_client *client;
	struct sr_session *session;
	unsigned int fds;

	mp_rig_new(&rig, true);
	mock = mp_mock_start(&rig);
	client = mp_open(&rig, 1, 8);
	session = mp_session(client, 0, 0);
	mp_filled_order(client, session, 1, 0);
	fds = mp_fd_settled(rig.agent);
	for (unsigned int i = 1; i <= rounds; i++) {
		pid_t pids[2] = { mp_fork(busy_victim, NULL), mp_fork(busy_victim, NULL) };

		if (i % 8 == 0) /* these trade, however slow the machine is */
			await_records(100);
		mp_sleep_us(2000 + mp_below(6000));
		mp_signal(&pids[0], SIGKILL);
		mp_filled_order(client, session, 1, i);
		mp_signal(&pids[1], SIGKILL);
		check_mock();
	}
	MP_EQ(mp_fd_settled(rig.agent), fds, "descriptors of the agent afterwards");
	sr_close(client);
}

/* ---- 2 and 3: stopped, not dead ---- */

static void stopped_client_does_not_reach_its_successor(void)
{
	struct sr_client *client;
	struct sr_session *session;
	pid_t old;

	mp_rig_new(&rig, true);
	mock = mp_mock_start(&rig);
	for (unsigned int i = 0; i < (mp_long ? 500u : 20u); i++) {
		old = mp_fork(busy_victim, NULL);
		mp_sleep_us(3000 + mp_below(5000));
		mp_signal(&old, SIGSTOP);
		client = mp_open(&rig, 2, 64); /* the same shape, and so perhaps the same places */
		session = mp_session(client, 0, 0);
		for (uint64_t n = 0; n < 50; n++)
			mp_filled_order(client, session, 4, n);
		mp_signal(&old, SIGCONT);
		for (uint64_t n = 50; n < 100; n++)
			mp_filled_order(client, session, 4, n);
		mp_signal(&old, SIGKILL);
		for (uint64_t n = 100; n < 150; n++)
			mp_filled_order(client, session, 4, n);
		sr_close(client);
		check_mock();
	}
}

/* Only a handshake has a time limit (5 s); an attached client may take for ever. */
static void slow_consumer_is_never_reclaimed_by_time(void)
{
	struct sr_client *client;
	struct sr_session *session;
	struct sr_completion c;
	uint64_t depth = 16;

	mp_rig_new(&rig, true);
	mp_rig_start(&rig);
	client = mp_open(&rig, 1, (uint32_t)depth);
	session = mp_session(client, 0, 0);
	for (uint64_t n = 0; n < depth; n++)
		MP_EQ(mp_submit(session, 1, n, 0), 0, "sr_submit");
	mp_sleep_us(mp_long ? 120000000 : 6500000);
	MP_EQ(mp_submit(session, 1, depth, 0), -EAGAIN, "submit into a full queue");
	for (uint64_t n = 0; n < depth; n++) {
		mp_next(client, session, &c);
		MP_CHECK(c.status == SR_OK && c.user_data == n, "number %llu is %s",
			 (unsigned long long)n, sr_status_name(c.status));
		mp_verify(&rig, 1, &c);
	}
	mp_order(&rig, client, session, depth);
	sr_close(client);
	mp_rig_stop(&rig);
}

/* A signature never comes from the agent that was stopped: after the second has
 * taken over, the first finds its regions unmapped and its epoch too low. */
static void stopped_agent_is_replaced(void)
{
	struct sr_client *client;
	struct sr_session *session;
	struct sr_client_stats stats;
	struct sr_completion c;
	pid_t old;
	uint64_t n = 0;

	mp_rig_new(&rig, true);
	mp_rig_start(&rig);
	client = mp_open(&rig, 1, 32);
	session = mp_session(client, 0, 0);
	while (n < 100)
		mp_order(&rig, client, session, n++);
	mp_signal(&rig.agent, SIGSTOP);
	old = rig.agent;
	for (uint64_t i = 0; i < 8; i++)
		MP_EQ(mp_submit(session, 1, n + i, sr_now_ns() + 50ull * SR_NS_PER_MS), 0,
		      "sr_submit");
	for (uint64_t i = 0; i < 8; i++) { /* by our own clock */
		mp_next(client, session, &c);
		MP_CHECK(c.status == SR_UNKNOWN && c.user_data == n + i, "number %llu is %s",
			 (unsigned long long)c.user_data, sr_status_name(c.status));
	}
	MP_EQ(sr_credits(session), 24, "credits after time-outs: they give none back");
	n += 8;
	MP_CHECK(unlink(rig.socket) == 0, "unlink: %s", strerror(errno));
	mp_start_agent(&rig);
	sr_reattach(client);
	while (n < 200)
		mp_order(&rig, client, session, n++);
	MP_EQ(sr_credits(session), 32, "credits after the second agent has answered");
	mp_signal(&old, SIGCONT);
	while (n < 400)
		mp_order(&rig, client, session, n++);
	sr_client_stats_get(client, &stats);
	MP_EQ(stats.agent_pid, rig.agent, "the agent that we are attached to");
	MP_EQ(mp_signer_counter(&rig, "ended_hostile"), 0, "sessions ended by the signer");
	mp_signal(&old, SIGTERM);
	mp_order(&rig, client, session, n);
	sr_close(client);
	mp_rig_stop(&rig);
}

/* ---- the signer dies ---- */

static void drain_lost(struct sr_session *session, uint32_t outstanding)
{
	struct sr_completion c;
	uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;

	for (;;) {
		int n = sr_poll(session, &c, 1);

		MP_CHECK(sr_now_ns() < end_ns, "the lost session does not end");
		if (n == -ESTALE)
			break;
		if (n <= 0)
			continue;
		MP_CHECK(c.status == SR_UNKNOWN || c.status == SR_NOT_SENT ||
				 c.status == SR_SESSION_LOST,
			 "status %s", sr_status_name(c.status));
		outstanding--;
	}
	MP_EQ(outstanding, 0, "submits without completion");
}

static void dead_signer_without_reopen_is_stale(void)
{
	struct sr_client *client;
	struct sr_session *session;

	mp_rig_new(&rig, true);
	mp_rig_start(&rig);
	client = mp_open(&rig, 1, 16);
	session = mp_session(client, 0, 0);
	mp_order(&rig, client, session, 0);
	mp_signal(&rig.signer, SIGKILL);
	for (uint64_t n = 1; n < 10; n++)
		MP_EQ(mp_submit(session, 1, n, 0), 0, "sr_submit while there is no signer");
	mp_sleep_us(100000);
	mp_start_signer(&rig);
	drain_lost(session, 9);
	MP_EQ(mp_submit(session, 1, 10, 0), -ESTALE, "submit to a lost session");
	sr_session_close(client, session);
	session = mp_session(client, 0, 0);
	mp_order(&rig, client, session, 11);
	sr_close(client);
	mp_rig_stop(&rig);
}

/* ---- 8: kill -9 of both sides, again and again ---- */

static void client_in_flight(void *arg)
{
	struct sr_client *client = mp_open(&rig, 2, 64);
	struct sr_session *session = mp_session(client, 0, 0);
	struct sr_completion c[16];
	uint64_t n = 0;

	(void)arg;
	for (;;) {
		if (mp_submit(session, 1, n, 0) == 0)
			n++;
		(void)!sr_poll(session, c, 16);
		(void)sr_service(client, NULL);
	}
}

static long long huge_pages_used(void)
{
	return mp_proc_kib("/proc/meminfo", "HugePages_Total:") -
	       mp_proc_kib("/proc/meminfo", "HugePages_Free:");
}

static void killing_both_sides_leaks_nothing(void)
{
	unsigned int rounds = mp_long ? 1000 : 200;
	long long huge = huge_pages_used();
	long long shmem;
	unsigned int fds;

	mp_rig_new(&rig, true);
	mp_rig_start(&rig);
	mp_good_client(&rig);
	fds = mp_fd_settled(rig.signer);
	shmem = mp_proc_kib("/proc/meminfo", "Shmem:");
	for (unsigned int i = 0; i < rounds; i++) {
		pid_t client = mp_fork(client_in_flight, NULL);
		bool agent_first = mp_below(2);

		mp_sleep_us(mp_below(8000));
		if (agent_first)
			mp_signal(&rig.agent, SIGKILL);
		mp_signal(&client, SIGKILL);
		if (!agent_first)
			mp_signal(&rig.agent, SIGKILL);
		mp_start_agent(&rig); /* over the dead socket */
		if (i % 20 == 19)
			mp_good_client(&rig);
	}
	mp_good_client(&rig);
	MP_EQ(mp_fd_settled(rig.signer), fds, "descriptors of the signer afterwards");
	MP_CHECK(huge_pages_used() <= huge, "%lld huge pages leaked", huge_pages_used() - huge);
	/* Others use shared memory too; a leak would be a region a round. */
	MP_CHECK(mp_proc_kib("/proc/meminfo", "Shmem:") - shmem < (long long)rounds * 50,
		 "shared memory grew by %lld KiB", mp_proc_kib("/proc/meminfo", "Shmem:") - shmem);
	mp_rig_stop(&rig);
}

/* ---- 12: a client that starts again at number zero ---- */

static void client_that_restarts_at_zero_is_signed_again(void)
{
	const uint64_t orders = 40;
	unsigned int rounds = 5;

	mp_rig_new(&rig, true);
	mp_rig_start(&rig);
	for (unsigned int i = 0; i < rounds; i++) {
		struct sr_client *client = mp_open(&rig, 1, 8);
		struct sr_session *session = mp_session(client, SR_SESSION_FIRST, 0);

		/* The same numbers, the same slot words, the same bytes. */
		for (uint64_t n = 0; n < orders; n++)
			mp_order(&rig, client, session, n);
		sr_close(client);
	}
	MP_EQ(mp_signer_counter(&rig, "signed"), rounds * orders, "signatures made");
	MP_EQ(mp_counter(&rig, "signer", "repeats"), 0, "answers out of the cache");
	MP_EQ(mp_counter(&rig, "signer", "sessions"), 0, "sessions left at the signer");
	mp_rig_stop(&rig);
}

static const struct mp_test tests[] = {
	{ "kill/client_at_each_instruction_of_a_submit", killed_at_each_instruction_of_a_submit,
	  0 },
	{ "kill/client_at_random_moments", killed_at_random_moments, 0 },
	{ "kill/stopped_client_does_not_reach_its_successor",
	  stopped_client_does_not_reach_its_successor, 0 },
	{ "kill/slow_consumer_is_never_reclaimed_by_time", slow_consumer_is_never_reclaimed_by_time,
	  0 },
	{ "kill/stopped_agent_is_replaced", stopped_agent_is_replaced, 0 },
	{ "kill/dead_signer_without_reopen_is_stale", dead_signer_without_reopen_is_stale, 0 },
	{ "kill/both_sides_leak_nothing", killing_both_sides_leaks_nothing, 0 },
	{ "kill/client_that_restarts_at_zero_is_signed_again",
	  client_that_restarts_at_zero_is_signed_again, 0 },
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
