/* SPDX-License-Identifier: MIT */
/*
 * Presignatures from end to end: processes that sign from a pool, under load, killed
 * and stopped. Two signatures with one r give the key away, so every r that any
 * client has got from one key is kept, over restarts too, and none may come twice.
 */
#include "mp_common.h"
#include "sr_hazard.h"

#define CLIENTS 4u
#define ORDERS 1500u /* a client and run */
#define RUNS_MAX 16u
#define DEPTH 32u
#define R_MAX (CLIENTS * ORDERS * RUNS_MAX)

static struct mp_rig rig;

/* In shared memory. */
struct taken {
	uint64_t count, open; /* signatures; sessions, of all runs */
	unsigned char r[R_MAX][32];
};

struct client {
	struct taken *taken;
	uint64_t sender;
	bool may_end; /* the agent is killed in the middle */
};

static void take(struct client *me, const struct sr_completion *c, uint64_t got)
{
	uint64_t at = __atomic_fetch_add(&me->taken->count, 1, __ATOMIC_RELAXED);

	MP_CHECK(at < R_MAX, "more signatures than there is room for");
	memcpy(me->taken->r[at], c->signature, 32);
	if (got % 20 == 0)
		mp_verify(&rig, me->sender, c);
}

static void client_main(void *arg)
{
	struct client *me = arg;
	struct sr_client *client = mp_open(&rig, 1, DEPTH);
	struct sr_session *session = mp_session(client, 0, 0);
	uint64_t sent = 0, got = 0, end_ns = sr_now_ns() + MP_BOUND_NS;

	(void)__atomic_fetch_add(&me->taken->open, 1, __ATOMIC_RELAXED);
	while (got < ORDERS) {
		struct sr_completion c[DEPTH];
		int n;

		while (sent < ORDERS && mp_submit(session, me->sender, sent, 0) == 0)
			sent++;
		n = sr_poll(session, c, DEPTH);
		if (n == -ENOTCONN && me->may_end)
			break;
		MP_CHECK(n >= 0, "sr_poll: %d", n);
		for (int i = 0; i < n; i++, got++) {
			MP_CHECK(c[i].status == SR_OK, "%s", sr_status_name(c[i].status));
			take(me, &c[i], got);
		}
		MP_CHECK(sr_now_ns() < end_ns, "only %llu answers", (unsigned long long)got);
		if (n == 0) {
			(void)sr_service(client, NULL); /* it sees a hang-up */
			(void)sched_yield();
		}
	}
	sr_close(client);
}

static int by_value(const void *a, const void *b)
{
	return memcmp(a, b, 32);
}

static void check_unique(struct taken *taken)
{
	uint64_t count = taken->count;

	qsort(taken->r, count, sizeof taken->r[0], by_value);
	for (uint64_t i = 1; i < count; i++)
		MP_CHECK(memcmp(taken->r[i - 1], taken->r[i], 32) != 0,
			 "two of %llu signatures share r", (unsigned long long)count);
}

static void start_clients(struct client *clients, pid_t *pids, struct taken *taken,
			  uint64_t first_sender, bool may_end)
{
	for (uint32_t i = 0; i < CLIENTS; i++) {
		clients[i] = (struct client){ taken, first_sender + i, may_end };
		pids[i] = mp_fork(client_main, &clients[i]);
	}
}

static void join_clients(const pid_t *pids)
{
	for (uint32_t i = 0; i < CLIENTS; i++)
		mp_join(pids[i], "a client");
}

static void new_rig(bool split, const char *refill, const char *slots)
{
	const char *args[] = { "--allow-snapshot", "--refill", refill, "--pool-slots", slots,
			       "--pool-batch", "8" };

	mp_nonce = "presign";
	mp_rig_new(&rig, split);
	for (size_t i = 0; i < sizeof args / sizeof args[0]; i++)
		(split ? rig.signer_args : rig.agent_args)[i] = args[i];
}

static void producers(bool split, const char *refill)
{
	struct taken *taken = mp_shared(sizeof *taken);
	struct client clients[CLIENTS];
	pid_t pids[CLIENTS];
	long long presigned;

	new_rig(split, refill, "256");
	mp_rig_start(&rig);
	start_clients(clients, pids, taken, 1, false);
	join_clients(pids);
	MP_EQ(taken->count, CLIENTS * ORDERS, "signatures");
	check_unique(taken);

	presigned = mp_signer_counter(&rig, "presigned");
	MP_CHECK(presigned >= 256, "only %lld signatures came from the pool", presigned);
	MP_EQ(presigned + mp_counter(&rig, "signer", "fallbacks"), CLIENTS * ORDERS, "signatures");
	MP_EQ(mp_counter(&rig, "signer", "pool_taken"), presigned, "presignatures taken");
	MP_EQ(mp_counter(&rig, "signer", "pool_failed"), 0, "batches that failed");
	MP_EQ(mp_counter(&rig, "signer", "check_failed"), 0, "signatures that failed");
	MP_EQ(mp_counter(&rig, "signer", "snapshot_allowed"), 1, "snapshots allowed");
	mp_rig_stop(&rig);
}

static void producers_refilled_in_idle_turns(void)
{
	producers(false, "idle");
}

static void producers_refilled_by_a_thread(void)
{
	producers(false, "thread");
}

static void producers_of_a_signer_apart(void)
{
	producers(true, "idle");
}

/* More at once than the pool holds: hedged meanwhile, and full again afterwards. */
static void a_dry_pool_recovers(void)
{
	struct taken *taken = mp_shared(sizeof *taken);
	struct client clients[CLIENTS];
	pid_t pids[CLIENTS];
	uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;

	new_rig(false, "idle", "16");
	mp_rig_start(&rig);
	start_clients(clients, pids, taken, 1, false);
	join_clients(pids);
	MP_EQ(taken->count, CLIENTS * ORDERS, "signatures");
	check_unique(taken);
	MP_CHECK(mp_signer_counter(&rig, "fallbacks") > 0, "the pool was never dry");
	MP_CHECK(mp_counter(&rig, "signer", "pool_dry") > 0, "and nobody counted it");
	while (mp_signer_counter(&rig, "pool_depth") < 8)
		MP_CHECK(sr_now_ns() < end_ns, "the pool is not filled again");
	mp_rig_stop(&rig);
}

/* A new process has a new pool: what was in the old one is gone with it. */
static void killed_and_started_again(void)
{
	struct taken *taken = mp_shared(sizeof *taken);
	struct client clients[CLIENTS];
	pid_t pids[CLIENTS];
	uint32_t runs = mp_long ? RUNS_MAX : 5;

	new_rig(false, "idle", "256");
	for (uint32_t run = 0; run < runs; run++) {
		uint64_t before = taken->count;
		uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;

		mp_start_agent(&rig);
		start_clients(clients, pids, taken, run * CLIENTS, true);
		while (sr_load_relaxed(&taken->open) < (run + 1) * CLIENTS ||
		       sr_load_relaxed(&taken->count) < before + 200 + 300 * run) {
			MP_CHECK(sr_now_ns() < end_ns, "no signatures come");
			mp_sleep_us(100);
		}
		mp_signal(&rig.agent, SIGKILL);
		join_clients(pids);
	}
	check_unique(taken);
}

static void stopped_and_continued(void)
{
	struct taken *taken = mp_shared(sizeof *taken);
	struct client clients[CLIENTS];
	pid_t pids[CLIENTS];
	uint32_t alive = CLIENTS;

	new_rig(false, "thread", "256");
	mp_rig_start(&rig);
	start_clients(clients, pids, taken, 1, false);
	for (uint32_t i = 0; i < 40 && alive; i++) {
		MP_CHECK(kill(rig.agent, SIGSTOP) == 0, "SIGSTOP");
		mp_sleep_us(3000);
		MP_CHECK(kill(rig.agent, SIGCONT) == 0, "SIGCONT");
		mp_sleep_us(2000);
		alive = 0;
		for (uint32_t k = 0; k < CLIENTS; k++)
			alive += mp_alive(pids[k]);
	}
	join_clients(pids);
	MP_EQ(taken->count, CLIENTS * ORDERS, "signatures");
	check_unique(taken);
	MP_EQ(mp_signer_counter(&rig, "check_failed"), 0, "signatures that failed");
	mp_rig_stop(&rig);
}

static void refused_where_a_snapshot_is_possible(void)
{
	const char *argv[] = { "sigring-local", "--socket", rig.socket, "--keys", rig.keys, NULL };
	struct sr_reason why;
	char *log;

	if (sr_hazard_snapshot("/sys", &why) == 0)
		mp_skip("this machine is no virtual one");
	mp_nonce = "presign-only";
	mp_rig_new(&rig, false);
	MP_EQ(mp_run(argv, rig.agent_log), 1, "sigring-local without --allow-snapshot");
	log = mp_read_file(rig.agent_log);
	MP_CHECK(strstr(log, "--allow-snapshot"), "the log does not say what to do: %s", log);
	free(log);
}

static const struct mp_test tests[] = {
	{ "presign/producers_refilled_in_idle_turns", producers_refilled_in_idle_turns, 0 },
	{ "presign/producers_refilled_by_a_thread", producers_refilled_by_a_thread, 0 },
	{ "presign/producers_of_a_signer_apart", producers_of_a_signer_apart, 0 },
	{ "presign/a_dry_pool_recovers", a_dry_pool_recovers, 0 },
	{ "presign/killed_and_started_again", killed_and_started_again, 0 },
	{ "presign/stopped_and_continued", stopped_and_continued, 0 },
	{ "presign/refused_where_a_snapshot_is_possible", refused_where_a_snapshot_is_possible, 0 },
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
