/* SPDX-License-Identifier: MIT */
#include "sr_replay.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>

#define NS_PER_US 1000u
#define POLL_MAX 64
#define SERVICE_NS 2000000u    /* between two steps of the cold thread */
#define WAIT_NS_MAX 10000000u  /* longest stay in one sr_wait() */
#define TROUBLE_NAP_NS 200000u /* between looks while there is no agent */
#define IDLE_SPIN_NS 100000u   /* a sleeper gets up this early and spins */

volatile sig_atomic_t sr_replay_interrupted;

static void sleep_ns(uint64_t ns)
{
	struct timespec ts = { .tv_sec = (time_t)(ns / SR_REPLAY_NS_PER_S),
			       .tv_nsec = (long)(ns % SR_REPLAY_NS_PER_S) };

	(void)nanosleep(&ts, NULL);
}

/* ---- the timed run: nothing here allocates or makes a system call, but for
 * waiting as --wait says ---- */

static uint64_t due_ns(const struct sr_replay *rp)
{
	if (!rp->set.rate)
		return rp->start_ns;
	return rp->start_ns + rp->submitted * SR_REPLAY_NS_PER_S / rp->set.rate;
}

static bool may_submit(const struct sr_replay *rp)
{
	return rp->submitted < rp->set.count && !rp->session_error && !rp->no_more &&
	       !rp->gave_up && !sr_replay_interrupted;
}

static bool window_open(const struct sr_replay *rp)
{
	return rp->submitted - rp->completed < rp->set.in_flight;
}

/* Returns whether an order went out. */
static bool submit_next(struct sr_replay *rp)
{
	const struct sr_order_line *o = &rp->orders.list[rp->submitted % rp->orders.count];
	struct sr_request request = { .key = o->key,
				      .type = o->type,
				      .body_bytes = o->body_bytes,
				      .body = o->body,
				      .user_data = rp->submitted };
	struct sr_replay_result *r = &rp->results[rp->submitted];
	uint64_t due = due_ns(rp), now = sr_replay_now_ns();
	int err;

	if (now < due)
		return false;
	if (rp->set.deadline_us)
		request.deadline_ns = now + rp->set.deadline_us * NS_PER_US;
	r->latency_ns = now;
	r->intended_ns = rp->set.rate ? due : now;
	err = sr_submit(rp->session, &request);
	if (!err) {
		rp->submitted++;
		rp->moved_ns = now;
		rp->trouble = false;
		return true;
	}
	if (err == -ENOTCONN)
		rp->trouble = true;
	else if (err != -EAGAIN)
		rp->no_more = true; /* what was published before is still answered */
	return false;
}

static void account(struct sr_replay *rp, const struct sr_completion *c, uint64_t now)
{
	struct sr_replay_result *r;

	if (c->user_data >= rp->submitted) {
		rp->strays++;
		return;
	}
	r = &rp->results[c->user_data];
	if (r->completions) {
		rp->duplicates++;
		return;
	}
	if (c->user_data != rp->completed || c->number != c->user_data)
		rp->misordered++;
	r->completions = 1;
	r->latency_ns = now - r->latency_ns;
	r->intended_ns = now - r->intended_ns;
	r->status = c->status;
	r->policy = c->policy;
	r->venue_nonce = c->venue_nonce;
	r->recovery_id = c->recovery_id;
	r->sigkind = c->sigkind;
	memcpy(r->signature, c->signature, sizeof r->signature);
	rp->completed++;
}

/* Returns how many completions were taken. */
static int take(struct sr_replay *rp)
{
	struct sr_completion completions[POLL_MAX];
	int n = sr_poll(rp->session, completions, POLL_MAX);

	if (n > 0) {
		uint64_t now = sr_replay_now_ns();

		for (int i = 0; i < n; i++)
			account(rp, &completions[i], now);
		rp->moved_ns = now;
		rp->trouble = false;
		return n;
	}
	rp->trouble = n == -ENOTCONN;
	if (n < 0 && n != -ENOTCONN)
		rp->session_error = -n;
	return 0;
}

static void wait_until(const struct sr_replay *rp, uint64_t due, uint64_t now)
{
	if (rp->wait != SR_WAIT_SPIN && due - now > 2 * IDLE_SPIN_NS)
		sleep_ns(due - now - IDLE_SPIN_NS);
	else if (rp->wait != SR_WAIT_SPIN)
		(void)sched_yield();
	else
		sr_pause();
}

static void pass_time(struct sr_replay *rp)
{
	uint64_t now = sr_replay_now_ns(), due = may_submit(rp) ? due_ns(rp) : UINT64_MAX;
	bool outstanding = rp->submitted > rp->completed;

	if ((outstanding || rp->trouble) &&
	    now - rp->moved_ns > rp->set.patience_s * SR_REPLAY_NS_PER_S && !rp->gave_up) {
		rp->gave_up = true; /* each outstanding one is answered UNKNOWN now */
		sr_session_abandon(rp->session);
	} else if (rp->trouble) {
		sleep_ns(TROUBLE_NAP_NS);
	} else if (outstanding) {
		uint64_t longest = WAIT_NS_MAX;

		if (window_open(rp) && due > now && due - now < longest)
			longest = due - now;
		/* Time-out or not, the loop looks at everything again. */
		(void)!sr_wait(rp->session, longest);
	} else if (due > now) {
		wait_until(rp, due, now);
		rp->moved_ns = now; /* nothing was due: that is no standstill */
	}
}

static void run(struct sr_replay *rp)
{
	rp->start_ns = sr_replay_now_ns();
	rp->moved_ns = rp->start_ns;
	while (may_submit(rp) || (rp->completed < rp->submitted && !rp->session_error)) {
		bool moved = take(rp) > 0;

		while (may_submit(rp) && window_open(rp) && submit_next(rp))
			moved = true;
		if (!moved)
			pass_time(rp);
	}
	/* A session that ended on submit still owes what was published before;
	 * and a completion too many would be seen here. */
	while (take(rp) > 0)
		;
	rp->end_ns = sr_replay_now_ns();
	rp->missing = rp->submitted - rp->completed;
}

/* ---- the cold thread ---- */

struct cold {
	struct sr_client *client;
	uint32_t stop;
};

/*
 * Does the library's cold work at a nice of 19: on a machine with as many busy
 * loops as CPUs it then takes an idle slice and does not preempt the trading
 * thread at each of its wake-ups.
 */
static void *cold_loop(void *arg)
{
	struct cold *cold = arg;
	int last = 0;

	(void)setpriority(PRIO_PROCESS, 0, 19);
	/* Pairs with the release in open_and_run(). */
	while (!sr_load32_acquire(&cold->stop)) {
		struct sr_reason why = { .error = 0 };
		int ret = sr_service(cold->client, &why);

		if (ret < 0 && why.text[0] && why.error != last) {
			fprintf(stderr, "%s: %s\n", SR_REPLAY_PROGRAM, why.text);
			last = why.error;
		} else if (ret >= 0 && last) {
			fprintf(stderr, "%s: attached again\n", SR_REPLAY_PROGRAM);
			last = 0;
		}
		sleep_ns(SERVICE_NS);
	}
	return NULL;
}

static int start_cold(pthread_t *thread, struct cold *cold, const cpu_set_t *cpus)
{
	pthread_attr_t attr;
	int err = pthread_attr_init(&attr);

	if (err)
		return -err;
	/* Not where --cpu has pinned the trading thread, if there is another. */
	err = pthread_attr_setaffinity_np(&attr, sizeof *cpus, cpus);
	if (!err)
		err = pthread_create(thread, &attr, cold_loop, cold);
	(void)pthread_attr_destroy(&attr);
	return -err;
}

static int pin(uint64_t cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity(0, sizeof set, &set)) {
		fprintf(stderr, "%s: --cpu %" PRIu64 ": %s\n", SR_REPLAY_PROGRAM, cpu,
			strerror(errno));
		return -EINVAL;
	}
	return 0;
}

static int open_session(struct sr_replay *rp)
{
	struct sr_session_options session = { .flags = rp->set.priority ? SR_SESSION_PRIORITY : 0 };
	struct sr_client_stats stats;
	struct sr_reason why = { .error = 0 };
	struct sr_options opt;
	int err;

	sr_options_init(&opt);
	opt.socket = rp->set.socket;
	opt.identity = rp->set.identity;
	opt.trust = rp->set.trust;
	opt.flags = rp->set.unsealed ? SR_OPT_UNSEALED : 0;
	opt.slot_bytes = (uint32_t)rp->set.slot_bytes;
	opt.timeout_ns = rp->set.patience_s * SR_REPLAY_NS_PER_S;
	opt.wait = (uint32_t)sr_wait_from_name(rp->set.wait);
	while (opt.depth < rp->set.in_flight)
		opt.depth *= 2;
	err = sr_open(&rp->client, &opt, &why);
	if (!err)
		err = sr_session_open(&rp->session, rp->client, &session, &why);
	if (err) {
		fprintf(stderr, "%s: %s\n", SR_REPLAY_PROGRAM,
			why.text[0] ? why.text : strerror(-err));
		return err;
	}
	sr_client_stats_get(rp->client, &stats);
	rp->wait = (enum sr_wait_policy)stats.wait; /* what auto has come to */
	return 0;
}

static void print_plan(const struct sr_replay *rp)
{
	const struct sr_replay_settings *set = &rp->set;
	struct sr_client_stats stats;

	if (set->json)
		return;
	sr_client_stats_get(rp->client, &stats);
	printf("%s: %" PRIu32 " orders in the file, %" PRIu64 " to send, ", set->orders,
	       rp->orders.count, set->count);
	if (set->rate)
		printf("%" PRIu64 " a second", set->rate);
	else
		printf("flat out");
	printf(", %" PRIu64 " in flight\n", set->in_flight);
	printf("agent: pid %" PRIu32 ", NUMA node %" PRId32 ", %s pages; waiting: %s\n",
	       stats.agent_pid, stats.numa_node, stats.huge_pages ? "2 MiB" : "4 KiB",
	       sr_wait_name(rp->wait));
	(void)fflush(stdout);
}

int sr_replay_run(struct sr_replay *rp)
{
	struct cold cold = { .stop = 0 };
	pthread_t thread;
	cpu_set_t before;
	int err;

	if (sched_getaffinity(0, sizeof before, &before))
		return -errno;
	if (rp->set.cpu != SR_REPLAY_CPU_ANY && pin(rp->set.cpu))
		return -EINVAL;
	err = open_session(rp);
	if (err) {
		sr_close(rp->client);
		return err == -EINVAL ? err : -ENOTCONN;
	}
	print_plan(rp);
	cold.client = rp->client;
	err = start_cold(&thread, &cold, &before);
	if (err) {
		fprintf(stderr, "%s: no thread: %s\n", SR_REPLAY_PROGRAM, strerror(-err));
		sr_close(rp->client);
		return err;
	}
	run(rp);
	sr_store32_release(&cold.stop, 1); /* pairs with the acquire in cold_loop() */
	(void)pthread_join(thread, NULL);
	sr_session_close(rp->client, rp->session);
	sr_close(rp->client);
	(void)sched_setaffinity(0, sizeof before, &before);
	return 0;
}
