/* SPDX-License-Identifier: MIT */
/*
 * The library's own two threads, the trading one and the cold one, while the agent dies
 * and lies and the sessions are opened again; for ThreadSanitizer, which sees what they
 * share in private memory. What comes of it is judged in test_client_sealed.c.
 */
#include <pthread.h>
#include <sched.h>

#include "mp_common.h"
#define HOST_CHECK(good, ...) MP_CHECK(good, __VA_ARGS__)
#define HOST_SKIP(why) mp_skip(why)
#include "host_rig.h"

#define DEPTH 16u

static struct trader {
	struct sr_session *session;
	uint32_t stop;
	uint64_t submitted, completed, good;
} trader;

static void *trade(void *arg)
{
	struct trader *t = arg;
	struct sr_completion c[DEPTH];

	while (!sr_load32_acquire(&t->stop) || sr_in_flight(t->session)) {
		struct sr_request rq = { .key = HOST_KEY,
					 .type = SR_ECDSA_SHA256,
					 .body_bytes = 3,
					 .body = "buy",
					 .user_data = t->submitted };
		int n;

		if (!sr_load32_relaxed(&t->stop) && sr_submit(t->session, &rq) == 0)
			t->submitted++;
		n = sr_poll(t->session, c, DEPTH);
		for (int i = 0; i < n; i++)
			t->good += c[i].status == SR_OK;
		t->completed += n > 0 ? (uint64_t)n : 0;
		if (n < 0 && n != -ENOTCONN && sr_load32_relaxed(&t->stop))
			break; /* all of it has been answered */
		if (n < 0)
			(void)sched_yield();
	}
	return NULL;
}

/* One fault, and until the session is up again. */
static void disturb(struct sr_client *client, enum host_fault fault, uint64_t reopened)
{
	uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;
	uint32_t done = sr_load32_relaxed(&host.fault_done);
	struct sr_session_stats stats;
	struct sr_client_stats now;

	host_fault(fault, 5);
	do {
		struct sr_reason why = { 0, "" };

		(void)sr_service(client, &why);
		sr_client_stats_get(client, &now);
		sr_session_stats_get(trader.session, &stats);
		MP_CHECK(sr_now_ns() < end_ns, "fault %d: %s", (int)fault, why.text);
	} while (sr_load32_acquire(&host.fault_done) == done || stats.reopened < reopened ||
		 !now.sessions);
}

static struct sr_client *open_client(void)
{
	struct sr_session_options reopen = { .flags = SR_SESSION_REOPEN };
	struct sr_reason why = { 0, "" };
	struct sr_client *client;
	struct sr_options opt;

	sr_options_init(&opt);
	opt.socket = host.socket;
	opt.identity = host.identity;
	opt.trust = host.trust;
	opt.depth = DEPTH;
	opt.flags = SR_OPT_NO_HUGE_PAGES | SR_OPT_NO_MLOCK;
	opt.wait = SR_WAIT_YIELD;
	opt.timeout_ns = 10ull * SR_NS_PER_S;
	MP_CHECK(sr_open(&client, &opt, &why) == 0, "sr_open: %s", why.text);
	MP_CHECK(sr_session_open(&trader.session, client, &reopen, &why) == 0,
		 "sr_session_open: %s", why.text);
	return client;
}

static void trading_and_cold_thread_share_nothing_unordered(void)
{
	static const enum host_fault faults[] = { FLIP, HANG_UP, LOST, SAY_AND_SEND };
	uint32_t rounds = mp_long ? 400 : 24;
	uint64_t reopened = 0;
	struct sr_client *client;
	pthread_t thread;

	host_start();
	client = open_client();
	host.fault_status = SR_EXPIRED;
	host.fault_bit = 999;
	host.fault_or_later = true;
	MP_EQ(pthread_create(&thread, NULL, trade, &trader), 0, "pthread_create");
	for (uint32_t i = 0; i < rounds; i++) {
		reopened += faults[i % 4] != HANG_UP;
		disturb(client, faults[i % 4], reopened);
	}
	sr_store32_release(&trader.stop, 1);
	while (pthread_tryjoin_np(thread, NULL))
		(void)sr_service(client, NULL);
	MP_EQ(trader.completed, trader.submitted, "completions");
	MP_CHECK(trader.good >= reopened, "only %llu were signed", (unsigned long long)trader.good);
	sr_close(client);
	host_stop();
}

static const struct mp_test tests[] = {
	{ "stress/trading_and_cold_thread_share_nothing_unordered",
	  trading_and_cold_thread_share_nothing_unordered, 0 },
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
