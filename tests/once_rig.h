/* SPDX-License-Identifier: MIT */
/*
 * once_rig.h - clients under load, and a referee who breaks things meanwhile.
 *
 * Client processes with a cold thread and a trading thread a session submit at
 * random rates; the referee breaks things at random moments, then mends everything
 * and asks for the rest. Every submit that returned 0 gets exactly one completion. The
 * bound is MP_BOUND_NS after that. A test program includes it once.
 */
#ifndef ONCE_RIG_H
#define ONCE_RIG_H

#include <pthread.h>

#include "mp_traders.h"

#define CLIENTS_MAX 4u
#define SESSIONS_MAX 4u
#define SUBMITS_MAX (mp_long ? 1u << 26 : 1u << 20)
#define STATUSES (SR_LATE + 1u)
#define VERIFY_EVERY 97u
#define ORDERS_AFTER 50u /* signed when everything is mended, whatever it was that broke */

enum {
	KILL_AGENT = 1,
	KILL_SIGNER = 2,
	STOP_AGENT = 4,
	STOP_SIGNER = 8,
	KILL_CLIENT = 16,
	STOP_CLIENT = 32,
	DEADLINES = 64, /* some requests have one, some too short */
};

struct plan {
	bool split;
	bool sealed;
	uint32_t times; /* break so many things, and see orders signed in between; else
			   break them at random for so many seconds */
	unsigned int chaos; /* of the above */
	uint32_t clients;
	unsigned int seconds;
	const char *agent_args[3];
};

/* Written by one trading thread, read by the referee when it has ended. */
struct tally {
	uint64_t submitted;
	uint64_t completed;
	uint64_t swallowed;
	uint64_t reopened;
	uint64_t by_status[STATUSES];
};

struct shared {
	uint32_t stop; /* no more submits: wait for the rest */
	struct tally tallies[CLIENTS_MAX][SESSIONS_MAX];
};

static struct shared *shared;
static struct mp_rig rig;
static struct plan plan;

struct trader {
	pthread_t thread;
	uint64_t sender; /* what makes its bodies its own */
	struct sr_client *client;
	struct sr_session *session;
	struct tally *tally;
	uint64_t rng;
	uint32_t pause_us; /* between two submits, at most */
	uint32_t burst;    /* submits without a pause, at most */
	uint32_t done;     /* for the cold thread */
	uint8_t *state;    /* by user data: 0 never, 1 submitted, 2 completed */
	struct sr_verifier *verifier;
};

static uint32_t draw(struct trader *t, uint32_t bound)
{
	t->rng ^= t->rng >> 12;
	t->rng ^= t->rng << 25;
	t->rng ^= t->rng >> 27;
	return (uint32_t)((t->rng * 0x2545f4914f6cdd1dull >> 32) * bound >> 32);
}

static void check_signature(struct trader *t, const struct sr_completion *c)
{
	unsigned char body[MP_BODY_BYTES];

	mp_body(body, t->sender, c->user_data);
	MP_CHECK(sr_verify_signature(t->verifier, rig.pubkey, SR_ECDSA_SHA256, body, sizeof body,
				     c->signature, c->recovery_id) == 0,
		 "the signature of number %llu is not good", (unsigned long long)c->user_data);
}

static void take(struct trader *t, const struct sr_completion *c)
{
	MP_CHECK(c->user_data < t->tally->submitted,
		 "completion of %llu, which was never submitted", (unsigned long long)c->user_data);
	MP_CHECK(t->state[c->user_data] == 1, "second completion of %llu, %s",
		 (unsigned long long)c->user_data, sr_status_name(c->status));
	MP_CHECK(c->status < STATUSES, "status %u", c->status);
	t->state[c->user_data] = 2;
	t->tally->completed++;
	t->tally->by_status[c->status]++;
	if (c->status == SR_OK && c->user_data % VERIFY_EVERY == 0)
		check_signature(t, c);
	if (c->status != SR_OK)
		MP_CHECK(c->sigkind == SR_SIG_NONE, "a signature with status %s",
			 sr_status_name(c->status));
}

/* Polls once; true when something came. */
static bool poll_once(struct trader *t)
{
	struct sr_completion c[16];
	uint64_t outstanding = t->tally->submitted - t->tally->completed;
	int n = sr_poll(t->session, c, 1 + (int)draw(t, 16));

	if (n == -ENOTCONN || n == 0)
		return false;
	if (n == -ESTALE) {
		MP_CHECK(outstanding == 0, "-ESTALE with %llu submits unanswered",
			 (unsigned long long)outstanding);
		return false;
	}
	MP_CHECK(n > 0, "sr_poll: %d", n);
	for (int i = 0; i < n; i++)
		take(t, &c[i]);
	return true;
}

static void submit_some(struct trader *t)
{
	uint32_t burst = 1 + draw(t, t->burst);

	for (uint32_t i = 0; i < burst && t->tally->submitted < SUBMITS_MAX; i++) {
		uint64_t n = t->tally->submitted;
		uint64_t deadline_ns = 0;
		int ret;

		if ((plan.chaos & DEADLINES) && draw(t, 2))
			deadline_ns = sr_now_ns() + draw(t, 20000) * 1000ull;
		t->state[n] = 1;
		ret = mp_submit(t->session, t->sender, n, deadline_ns);
		if (ret < 0) {
			t->state[n] = 0;
			MP_CHECK(ret == -EAGAIN || ret == -ENOTCONN || ret == -ESTALE,
				 "sr_submit: %d", ret);
			return;
		}
		t->tally->submitted++;
	}
}

static void *trade(void *arg)
{
	struct trader *t = arg;
	uint64_t end_ns = 0;

	MP_EQ(sr_verifier_new(&t->verifier), 0, "sr_verifier_new");
	for (;;) {
		bool stop = sr_load32_acquire(&shared->stop);

		if (!stop)
			submit_some(t);
		for (uint32_t i = draw(t, 200); i && poll_once(t); i--)
			;
		if (stop && t->tally->submitted == t->tally->completed)
			break;
		if (stop && !end_ns)
			end_ns = sr_now_ns() + MP_BOUND_NS;
		MP_CHECK(!stop || sr_now_ns() < end_ns, "%llu of %llu submits are never answered",
			 (unsigned long long)(t->tally->submitted - t->tally->completed),
			 (unsigned long long)t->tally->submitted);
		if (t->pause_us && !draw(t, 4))
			mp_sleep_us(draw(t, t->pause_us));
		else if (!draw(t, 8))
			(void)!sr_wait(t->session, draw(t, 2000) * 1000ull);
		else
			mp_sleep_us(1); /* a dozen threads that yield starve everybody else */
	}
	/* What the library gave by itself may still have its real completion to come. */
	end_ns = sr_now_ns() + 300ull * SR_NS_PER_MS;
	while (sr_now_ns() < end_ns) {
		MP_CHECK(!poll_once(t), "a completion too many");
		mp_sleep_us(1000);
	}
	for (uint64_t n = 0; n < t->tally->submitted; n++)
		MP_CHECK(t->state[n] == 2, "number %llu has no completion", (unsigned long long)n);
	sr_store32_release(&t->done, 1);
	return NULL;
}

static void start_trader(struct trader *t, uint32_t client, uint32_t index)
{
	t->sender = (uint64_t)(unsigned int)getpid() << 8 | index;
	t->tally = &shared->tallies[client][index];
	memset(t->tally, 0, sizeof *t->tally);
	t->rng = mp_random() | 1;
	t->pause_us = mp_below(3) ? mp_below(3000) : 0;
	t->burst = 1 + mp_below(mp_below(2) ? 4 : 300);
	t->state = calloc(SUBMITS_MAX, 1);
	t->session = mp_session(t->client,
				SR_SESSION_REOPEN | (mp_below(4) ? 0 : SR_SESSION_PRIORITY), 0);
	MP_EQ(pthread_create(&t->thread, NULL, trade, t), 0, "pthread_create");
}

static bool all_done(struct trader *traders, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (!sr_load32_acquire(&traders[i].done))
			return false;
	return true;
}

/* One client process, from its cold thread. */
static void run_client(void *arg)
{
	uint32_t index = *(const uint32_t *)arg;
	struct trader traders[SESSIONS_MAX];
	uint32_t sessions = 1 + mp_below(SESSIONS_MAX);
	struct sr_options opt;
	struct sr_reason why = { 0, "" };
	struct sr_client *client;
	int ret;

	memset(traders, 0, sizeof traders);
	rig.who = index % 2;
	mp_options(&opt, &rig);
	opt.sessions = sessions;
	opt.depth = 2u << mp_below(8);
	opt.slot_bytes = 384;
	opt.wait = mp_below(3) ? SR_WAIT_YIELD : SR_WAIT_BLOCK;
	ret = sr_open(&client, &opt, &why);
	MP_CHECK(ret == 0, "sr_open: %s", why.text);
	for (uint32_t i = 0; i < sessions; i++) {
		traders[i].client = client;
		start_trader(&traders[i], index, i);
	}
	while (!all_done(traders, sessions)) {
		(void)sr_service(client, NULL);
		mp_sleep_us(500);
	}
	for (uint32_t i = 0; i < sessions; i++) {
		struct sr_session_stats stats;

		(void)pthread_join(traders[i].thread, NULL);
		sr_session_stats_get(traders[i].session, &stats);
		traders[i].tally->swallowed = stats.swallowed;
		traders[i].tally->reopened = stats.reopened;
		MP_EQ(stats.submitted, traders[i].tally->submitted, "statistics: submitted");
		MP_EQ(stats.completed, traders[i].tally->completed, "statistics: completed");
		MP_EQ(stats.forged, 0, "forgeries of an honest agent");
		MP_EQ(stats.agent_lied, 0, "lies of an honest agent");
	}
	sr_close(client);
}

/* ---- the referee ---- */

static uint32_t indices[CLIENTS_MAX];
static pid_t clients[CLIENTS_MAX];

static void start_client(uint32_t i)
{
	indices[i] = i;
	memset(shared->tallies[i], 0, sizeof shared->tallies[i]);
	clients[i] = mp_fork(run_client, &indices[i]);
	(void)mp_random(); /* so that a replacement draws other numbers */
}

/* Returns false when it drew what the plan has not. */
static bool break_something(void)
{
	unsigned int what = 1u << mp_below(6);
	uint32_t victim = mp_below(plan.clients);
	uint64_t pause_us = mp_below(4) ? mp_below(3000) : mp_below(60000);

	if (!(plan.chaos & what))
		return false;
	switch (what) {
	case KILL_AGENT:
		mp_signal(&rig.agent, SIGKILL);
		mp_sleep_us(pause_us);
		mp_start_agent(&rig);
		break;
	case KILL_SIGNER:
		mp_signal(&rig.signer, SIGKILL);
		mp_sleep_us(pause_us);
		mp_start_signer(&rig);
		break;
	case STOP_AGENT:
		mp_signal(&rig.agent, SIGSTOP);
		mp_sleep_us(pause_us);
		mp_signal(&rig.agent, SIGCONT);
		break;
	case STOP_SIGNER:
		mp_signal(&rig.signer, SIGSTOP);
		mp_sleep_us(pause_us);
		mp_signal(&rig.signer, SIGCONT);
		break;
	case KILL_CLIENT:
		mp_signal(&clients[victim], SIGKILL);
		start_client(victim);
		break;
	case STOP_CLIENT:
		mp_signal(&clients[victim], SIGSTOP);
		mp_sleep_us(pause_us);
		mp_signal(&clients[victim], SIGCONT);
		break;
	default:
		break;
	}
	return true;
}

static struct tally sum_up(void)
{
	struct tally sum;

	memset(&sum, 0, sizeof sum);
	for (uint32_t i = 0; i < plan.clients; i++)
		for (uint32_t k = 0; k < SESSIONS_MAX; k++) {
			const struct tally *t = &shared->tallies[i][k];

			sum.submitted += t->submitted;
			sum.completed += t->completed;
			sum.swallowed += t->swallowed;
			sum.reopened += t->reopened;
			for (uint32_t s = 0; s < STATUSES; s++)
				sum.by_status[s] += t->by_status[s];
		}
	return sum;
}

static void look_after_clients(void)
{
	for (uint32_t i = 0; i < plan.clients; i++)
		if (!mp_alive(clients[i]))
			mp_join(clients[i], "a client");
}

/* Until so many orders more have been signed. */
static void await_orders(uint64_t count)
{
	uint64_t from = sum_up().by_status[SR_OK];
	uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;

	while (sum_up().by_status[SR_OK] < from + count) {
		MP_CHECK(sr_now_ns() < end_ns, "nothing is signed any more");
		look_after_clients();
		mp_sleep_us(500);
	}
}

static void break_things(void)
{
	uint64_t second_ns = mp_long ? 60 * SR_NS_PER_S : SR_NS_PER_S;
	uint64_t end_ns = sr_now_ns();
	uint32_t done = 0;

	if (MP_SANITIZED) /* after the same breaks by the plain program */
		second_ns /= 2;
	end_ns += plan.seconds * second_ns;

	while (plan.times ? done < plan.times : sr_now_ns() < end_ns) {
		if (plan.times)
			await_orders(50);
		mp_sleep_us(mp_below(60000));
		while (!break_something() && plan.times)
			;
		done++;
		look_after_clients();
	}
}

static inline struct tally run_plan(const struct plan *p)
{
	struct tally sum;
	size_t args = 0;

	plan = *p;
	shared = mp_shared(sizeof *shared);
	if (plan.sealed)
		mp_rig_new_sealed(&rig, plan.split);
	else
		mp_rig_new(&rig, plan.split);
	while (rig.agent_args[args])
		args++;
	memcpy(rig.agent_args + args, plan.agent_args, sizeof plan.agent_args);
	mp_rig_start(&rig);
	for (uint32_t i = 0; i < plan.clients; i++)
		start_client(i);
	break_things();
	await_orders(ORDERS_AFTER);
	sr_store32_release(&shared->stop, 1);
	for (uint32_t i = 0; i < plan.clients; i++)
		mp_join(clients[i], "a client");
	sum = sum_up();
	(void)printf("# %s: %llu submits", mp_name, (unsigned long long)sum.submitted);
	for (uint32_t s = 0; s < STATUSES; s++)
		if (sum.by_status[s])
			(void)printf(", %s %llu", sr_status_name(s),
				     (unsigned long long)sum.by_status[s]);
	(void)printf("; swallowed %llu, reopened %llu\n", (unsigned long long)sum.swallowed,
		     (unsigned long long)sum.reopened);
	MP_EQ(sum.submitted, sum.completed, "completions");
	MP_CHECK(mp_alive(rig.agent) && (!plan.split || mp_alive(rig.signer)),
		 "a program ended by itself");
	return sum;
}

static inline void only_ok(const struct tally *sum)
{
	MP_EQ(sum->by_status[SR_OK], sum->submitted, "number of OKs");
	MP_EQ(sum->swallowed, 0, "completions swallowed");
	MP_EQ(mp_signer_counter(&rig, "signed"), sum->submitted, "signatures that the signer made");
	MP_EQ(mp_counter(&rig, "signer", "ended_hostile"), 0, "sessions ended by the signer");
}

#endif /* ONCE_RIG_H */
