/* SPDX-License-Identifier: MIT */
/*
 * Many sessions at once, at full depth: everybody is served, nobody waits behind
 * another's backlog, a client that never polls costs nobody anything, and memory
 * stays flat.
 */
#include "mp_common.h"

static struct mp_rig rig;

#define PROCESSES_MAX 16u
#define SESSIONS_MAX 16u

struct load {
	uint32_t begin; /* all are open: go */
	uint32_t stop;  /* no more submits; answer what is outstanding */
	uint32_t ready;
	uint64_t counts[PROCESSES_MAX][SESSIONS_MAX]; /* completions so far */
	uint64_t verified;
};

struct loader {
	struct load *load;
	uint32_t index;
	uint32_t sessions;
	uint32_t depth;
	bool polls; /* or never looks at its completions */
};

static void add_one(uint32_t *word)
{
	(void)__atomic_add_fetch(word, 1, __ATOMIC_ACQ_REL);
}

/* Keeps each of its sessions full until told to stop. */
static void load_main(void *arg)
{
	const struct loader *me = arg;
	struct load *load = me->load;
	struct sr_client *client = mp_open(&rig, me->sessions, me->depth);
	struct sr_session *s[SESSIONS_MAX];
	uint64_t sent[SESSIONS_MAX] = { 0 };
	uint64_t got[SESSIONS_MAX] = { 0 };
	uint64_t end_ns = 0;
	bool more = true;

	for (uint32_t i = 0; i < me->sessions; i++)
		s[i] = mp_session(client, 0, 0);
	add_one(&load->ready);
	while (!sr_load32_acquire(&load->begin))
		mp_sleep_us(200);
	while (more) {
		bool stop = sr_load32_acquire(&load->stop);

		more = !stop;
		if (stop && !end_ns)
			end_ns = sr_now_ns() + MP_BOUND_NS;
		MP_CHECK(!stop || sr_now_ns() < end_ns, "some submits are never answered");
		for (uint32_t i = 0; i < me->sessions; i++) {
			uint64_t sender = me->index * 100 + i;
			struct sr_completion c[32];
			int n = 0;

			while (!stop && mp_submit(s[i], sender, sent[i], 0) == 0)
				sent[i]++;
			if (me->polls)
				n = sr_poll(s[i], c, 32);
			MP_CHECK(n >= 0, "sr_poll: %d", n);
			for (int k = 0; k < n; k++, got[i]++) {
				MP_CHECK(c[k].status == SR_OK && c[k].user_data == got[i],
					 "%s of %llu where %llu was due",
					 sr_status_name(c[k].status),
					 (unsigned long long)c[k].user_data,
					 (unsigned long long)got[i]);
				if (got[i] % 400 == 0)
					mp_verify(&rig, sender, &c[k]);
			}
			sr_store_relaxed(&load->counts[me->index][i], got[i]);
			more |= me->polls && got[i] != sent[i];
		}
		if (!me->polls && !stop)
			mp_sleep_us(1000);
		(void)sched_yield();
	}
	sr_close(client);
}

static void start_load(struct loader *l, pid_t *pids, uint32_t processes)
{
	uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;

	for (uint32_t i = 0; i < processes; i++) {
		l[i].index = i;
		pids[i] = mp_fork(load_main, &l[i]);
	}
	while (sr_load32_acquire(&l->load->ready) < processes) {
		for (uint32_t i = 0; i < processes; i++)
			if (!mp_alive(pids[i]))
				mp_join(pids[i], "a loading client");
		MP_CHECK(sr_now_ns() < end_ns, "the clients do not get ready");
		mp_sleep_us(1000);
	}
	sr_store32_release(&l->load->begin, 1);
}

static void end_load(struct load *load, const pid_t *pids, uint32_t processes)
{
	sr_store32_release(&load->stop, 1);
	for (uint32_t i = 0; i < processes; i++)
		mp_join(pids[i], "a loading client");
	MP_CHECK(mp_alive(rig.agent), "the agent ended");
}

/* ---- 64 sessions over 8 processes, by both ways of driving the stream ---- */

static void many_sessions(bool split, const char *io)
{
	struct load *load = mp_shared(sizeof *load);
	struct loader loaders[8];
	pid_t pids[8];
	json_t *status;

	mp_rig_new(&rig, split);
	if (io) {
		rig.agent_args[0] = "--io";
		rig.agent_args[1] = io;
	}
	mp_rig_start(&rig);
	for (uint32_t i = 0; i < 8; i++)
		loaders[i] =
			(struct loader){ .load = load, .sessions = 8, .depth = 16, .polls = true };
	start_load(loaders, pids, 8);
	mp_sleep_us(mp_long ? 60000000 : 2500000);
	status = mp_status(&rig);
	MP_CHECK(status, "no status under load");
	MP_EQ(json_array_size(json_object_get(status, "clients")), 8, "clients in the status");
	if (io)
		MP_CHECK(!strcmp(json_string_value(json_object_get(status, "transport")), io),
			 "the transport is not %s", io);
	json_decref(status);
	end_load(load, pids, 8);
	for (uint32_t i = 0; i < 8; i++)
		for (uint32_t k = 0; k < 8; k++)
			MP_CHECK(load->counts[i][k] > 50, "session %u of process %u got only %llu",
				 k, i, (unsigned long long)load->counts[i][k]);
	mp_rig_stop(&rig);
}

static void sixty_four_sessions_direct(void)
{
	many_sessions(true, "direct");
}

static void sixty_four_sessions_uring(void)
{
	many_sessions(true, "uring");
}

static void sixty_four_sessions_local(void)
{
	many_sessions(false, NULL);
}

/* ---- 19: saturation ---- */

static long long rss_kib(pid_t pid)
{
	char path[64];

	(void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	return mp_proc_kib(path, "VmRSS:");
}

static uint64_t total(const struct load *load)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < PROCESSES_MAX; i++)
		for (uint32_t k = 0; k < SESSIONS_MAX; k++)
			sum += sr_load_relaxed(&load->counts[i][k]);
	return sum;
}

/* The direction to the client stalls for one of four processes; the direction to
 * the signer for all, now and then. */
static void saturation_is_bounded(void)
{
	struct load *load = mp_shared(sizeof *load);
	struct loader loaders[4];
	pid_t pids[4];
	long long agent_kib;
	long long signer_kib;
	uint64_t before;

	mp_rig_new(&rig, true);
	mp_rig_start(&rig);
	for (uint32_t i = 0; i < 4; i++)
		loaders[i] = (struct loader){
			.load = load, .sessions = 2, .depth = 256, .polls = i != 3
		};
	start_load(loaders, pids, 4);
	mp_sleep_us(1000000);
	agent_kib = rss_kib(rig.agent);
	signer_kib = rss_kib(rig.signer);
	for (int i = 0; i < (mp_long ? 200 : 8); i++) {
		before = total(load);
		mp_signal(&rig.signer, SIGSTOP);
		mp_sleep_us(150000);
		mp_signal(&rig.signer, SIGCONT);
		mp_sleep_us(250000);
		for (uint64_t end_ns = sr_now_ns() + MP_BOUND_NS; total(load) <= before;
		     mp_sleep_us(1000))
			MP_CHECK(sr_now_ns() < end_ns, "nobody gets on");
	}
	MP_CHECK(rss_kib(rig.agent) - agent_kib < 256, "the agent grew by %lld KiB",
		 rss_kib(rig.agent) - agent_kib);
	MP_CHECK(rss_kib(rig.signer) - signer_kib < 256, "the signer grew by %lld KiB",
		 rss_kib(rig.signer) - signer_kib);
	MP_EQ(total(load),
	      load->counts[0][0] + load->counts[0][1] + load->counts[1][0] + load->counts[1][1] +
		      load->counts[2][0] + load->counts[2][1],
	      "completions of those who poll");
	for (uint32_t i = 0; i < 6; i++) /* nobody is left out */
		for (uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;
		     sr_load_relaxed(&load->counts[i / 2][i % 2]) <= 1000; mp_sleep_us(1000))
			MP_CHECK(sr_now_ns() < end_ns, "session %u of process %u got only %llu",
				 i % 2, i / 2,
				 (unsigned long long)sr_load_relaxed(&load->counts[i / 2][i % 2]));
	end_load(load, pids, 4);
	MP_EQ(mp_counter(&rig, "stream", "times_up"), 1, "times that the stream came up");
	mp_good_client(&rig);
	mp_rig_stop(&rig);
}

/* ---- classes ---- */

/* Orders of 512 are waiting when a cancel comes; how many come out before it? */
static uint32_t overtaken_by(struct sr_client *client, struct sr_session *normal,
			     struct sr_session *priority)
{
	struct sr_completion c[64];
	uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;
	uint32_t before = 0;
	uint32_t got = 0;
	uint32_t sent = 0;
	bool cancelled = false;

	while (mp_submit(normal, 1, sent, 0) == 0)
		sent++;
	MP_EQ(mp_submit(priority, 2, 0, 0), 0, "submit of a cancel");
	while (got < sent || !cancelled) {
		int n = sr_poll(priority, c, 1);

		if (n > 0) {
			MP_EQ(c[0].status, SR_OK, "status of the cancel");
			cancelled = true;
		}
		n = sr_poll(normal, c, 8);
		MP_CHECK(n >= 0, "sr_poll: %d", n);
		got += (uint32_t)n;
		if (!cancelled)
			before = got;
		MP_CHECK(sr_now_ns() < end_ns, "stuck at %u", got);
		(void)sr_service(client, NULL);
	}
	return before;
}

static int by_size(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void cancel_is_ahead_of_a_burst(void)
{
	for (unsigned int split = 0; split < 2; split++) {
		struct sr_options opt;
		struct sr_client *client;
		struct sr_session *normal;
		struct sr_session *priority;
		int before[21];

		mp_rig_new(&rig, split);
		rig.signer_args[0] = "--signer-depth-max";
		rig.signer_args[1] = "512";
		memcpy(rig.agent_args, rig.signer_args, split ? 0 : sizeof rig.agent_args);
		mp_rig_start(&rig);
		mp_options(&opt, &rig);
		opt.sessions = 2;
		opt.depth = 512;
		MP_EQ(sr_open(&client, &opt, NULL), 0, "sr_open");
		normal = mp_session(client, 0, 0);
		priority = mp_session(client, SR_SESSION_PRIORITY, 0);
		for (int i = 0; i < 21; i++)
			before[i] = (int)overtaken_by(client, normal, priority);
		qsort(before, 21, sizeof before[0], by_size);
		(void)printf("# %s: a cancel behind 512 orders comes after %d of them (median), "
			     "%d at worst\n",
			     split ? "split" : "local", before[10], before[20]);
		/* A thread that loses its core for a while sees more of them at once. */
		MP_CHECK(before[10] < 128, "a cancel waits for %d orders of 512", before[10]);
		sr_close(client);
		mp_rig_stop(&rig);
	}
}

/* Two sessions at full load, of which one has a head start, get the same. */
static void sessions_of_a_class_share_fairly(void)
{
	for (unsigned int split = 0; split < 2; split++) {
		struct load *load = mp_shared(sizeof *load);
		struct loader loaders[2];
		pid_t pids[2];
		uint64_t a;
		uint64_t b;

		mp_rig_new(&rig, split);
		mp_rig_start(&rig);
		for (uint32_t i = 0; i < 2; i++)
			loaders[i] = (struct loader){ .load = load,
						      .sessions = i ? 1 : 8,
						      .depth = i ? 64 : 256,
						      .polls = true };
		start_load(loaders, pids, 2);
		mp_sleep_us(mp_long ? 20000000 : 2500000);
		end_load(load, pids, 2);
		a = total(load) - load->counts[1][0];
		b = load->counts[1][0];
		(void)printf("# %s: 8 sessions %llu, one beside them %llu\n",
			     split ? "split" : "local", (unsigned long long)a,
			     (unsigned long long)b);
		/* A ninth is fair; the process with eight has one thread, too. */
		MP_CHECK(b * 8 * 2 > a, "eight sessions got %llu, the one beside them %llu",
			 (unsigned long long)a, (unsigned long long)b);
		for (uint32_t k = 1; k < 8; k++) {
			uint64_t x = load->counts[0][0];
			uint64_t y = load->counts[0][k];

			MP_CHECK(x < y * 5 / 4 + 300 && y < x * 5 / 4 + 300,
				 "sessions of one process got %llu and %llu", (unsigned long long)x,
				 (unsigned long long)y);
		}
		mp_rig_stop(&rig);
	}
}

static const struct mp_test tests[] = {
	{ "load/sixty_four_sessions_direct", sixty_four_sessions_direct, 0 },
	{ "load/sixty_four_sessions_uring", sixty_four_sessions_uring, 0 },
	{ "load/sixty_four_sessions_local", sixty_four_sessions_local, 0 },
	{ "load/saturation_is_bounded", saturation_is_bounded, 0 },
	{ "load/cancel_is_ahead_of_a_burst", cancel_is_ahead_of_a_burst, 0 },
	{ "load/sessions_of_a_class_share_fairly", sessions_of_a_class_share_fairly, 0 },
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
