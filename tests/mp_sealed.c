/* SPDX-License-Identifier: MIT */
/*
 * Sealed sessions of the library, through the programs themselves: a signer with
 * operators and a manifest, an agent, engines; and kill -9 for each of them.
 */
#include "mp_sealed.h"

static struct mp_sealed sealed;

static void options(struct sr_options *opt)
{
	mp_options(opt, &sealed.rig);
	opt->flags = 0;
	opt->identity = sealed.trader;
	opt->trust = sealed.trust;
}

static struct sr_client *open_client(void)
{
	struct sr_reason why = { 0, "" };
	struct sr_client *client;
	struct sr_options opt;

	options(&opt);
	opt.depth = 64;
	MP_CHECK(sr_open(&client, &opt, &why) == 0, "sr_open: %s", why.text);
	return client;
}

static struct sr_session *open_session(struct sr_client *client, uint32_t flags)
{
	struct sr_session_options opt = { .flags = flags };
	struct sr_reason why = { 0, "" };
	struct sr_session *session;

	MP_CHECK(sr_session_open(&session, client, &opt, &why) == 0, "sr_session_open: %s",
		 why.text);
	return session;
}

/* In sigring-local the agent's options are the signer's, too. */
static void begin(bool split)
{
	sealed_new(&sealed);
	sealed.rig.split = split;
	if (!split)
		memcpy(sealed.rig.agent_args, sealed.rig.signer_args,
		       sizeof sealed.rig.agent_args);
	mp_rig_start(&sealed.rig);
}

static void good_client(void)
{
	struct sr_client *client = open_client();
	struct sr_session *session = open_session(client, 0);

	for (uint64_t n = 0; n < 50; n++)
		mp_order(&sealed.rig, client, session, n);
	sr_close(client);
}

static void orders_are_signed_through_an_agent(void)
{
	begin(true);
	good_client();
	good_client();
	MP_EQ(mp_signer_counter(&sealed.rig, "signed"), 100, "signatures");
	mp_rig_stop(&sealed.rig);
}

static void orders_are_signed_in_one_process(void)
{
	begin(false);
	good_client();
	good_client();
	mp_rig_stop(&sealed.rig);
}

/* What a set-up that does not come to a session ends with. */
static int refusal(struct sr_options *opt, struct sr_reason *why)
{
	struct sr_session *session;
	struct sr_client *client;
	int ret;

	MP_EQ(sr_open(&client, opt, why), 0, why->text);
	ret = sr_session_open(&session, client, NULL, why);
	sr_close(client);
	return ret;
}

static void refused(struct sr_options *opt, int error, const char *words)
{
	struct sr_reason why = { 0, "" };
	int ret;

	opt->timeout_ns = 20ull * SR_NS_PER_S;
	ret = refusal(opt, &why);
	MP_CHECK(ret == error, "%d, not %d: %s", ret, error, why.text);
	MP_CHECK(strstr(why.text, words), "`%s` does not say `%s`", why.text, words);
}

/* A session in clear is opened; the manifest names no user who might sign in one. */
static void denied_in_clear(void)
{
	struct sr_client *client = mp_open(&sealed.rig, 1, 8);
	struct sr_session *session = mp_session(client, 0, 0);
	struct sr_completion c;

	MP_EQ(mp_submit(session, 1, 1, 0), 0, "sr_submit");
	mp_next(client, session, &c);
	MP_CHECK(c.status == SR_DENIED && c.policy == SR_POLICY_UNKNOWN_KEY, "%s",
		 sr_status_name(c.status));
	sr_close(client);
}

static void strangers_and_orders_in_clear_are_refused(void)
{
	struct sr_options opt;

	begin(true);
	options(&opt);
	opt.identity = sealed.stranger;
	refused(&opt, -EACCES, "manifest");
	denied_in_clear();
	good_client();
	mp_rig_stop(&sealed.rig);
}

/* One may fail, and the agent carries the next one in a second. That is a reason to
 * wait, so it is tried again until the time is up. */
static void busy_agent_is_waited_for(void)
{
	static const char *const args[] = { "--setup-failures-max", "1", "--setup-failures-rate",
					    "1" };
	struct sr_reason why = { 0, "" };
	struct sr_options opt;
	int ret;

	sealed_new(&sealed);
	memcpy(sealed.rig.agent_args, args, sizeof args);
	mp_rig_start(&sealed.rig);
	options(&opt);
	opt.identity = sealed.stranger;
	refused(&opt, -EACCES, "manifest");
	opt.timeout_ns = 200ull * SR_NS_PER_MS;
	for (int i = 0; (ret = refusal(&opt, &why)) == -EACCES; i++)
		MP_CHECK(i < 20, "the agent is never busy"); /* we are slow: it was forgiven */
	MP_CHECK(ret == -ENOTCONN && strstr(why.text, "wait"), "%d: %s", ret, why.text);
	good_client();
	mp_rig_stop(&sealed.rig);
}

static void replay_signs_and_says_that_records_are_sealed(void)
{
	char keys[400], log[400], orders[400];
	const char *argv[] = { "sigring-replay", "--socket", sealed.rig.socket, "--identity",
			       sealed.trader, "--trust", sealed.trust, "--public", keys, "--count",
			       "500", "--in-flight", "16", orders, NULL };
	char *text;

	begin(true);
	(void)snprintf(keys, sizeof keys, "%s/public", sealed.rig.dir);
	(void)snprintf(log, sizeof log, "%s/replay.log", sealed.rig.dir);
	(void)snprintf(orders, sizeof orders, "%s/orders", sealed.rig.dir);
	sealed_write(orders, "{\"scheme\":\"ecdsa-sha256\",\"key\":7,\"message\":\"buy\"}\n");
	MP_EQ(mp_run(argv, log), 0, "sigring-replay");
	text = mp_read_file(log);
	MP_CHECK(strstr(text, "records are sealed"), "%s", text);
	MP_CHECK(strstr(text, "signed 500, verified 500, failed 0"), "%s", text);
	free(text);
	mp_rig_stop(&sealed.rig);
}

/* ---- kill -9 ---- */

#define ENGINES 4u

/* What an engine has come to. */
struct count {
	uint64_t submitted, completed, good, reopened, lied, forged;
	uint32_t who;
	bool all_good; /* nothing but OK may come back */
};

/* Shared with the engines. */
static struct shared {
	struct count counts[ENGINES];
	uint32_t stop;
} *shared;

static void take(struct count *t, const struct sr_completion *c, int n)
{
	for (int i = 0; i < n; i++) {
		MP_CHECK(c[i].status == SR_OK ||
				 (!t->all_good && (c[i].status == SR_UNKNOWN ||
						   c[i].status == SR_NOT_SENT ||
						   c[i].status == SR_SESSION_LOST)),
			 "order %llu came back as %s", (unsigned long long)c[i].user_data,
			 sr_status_name(c[i].status));
		if (c[i].status == SR_OK) {
			mp_verify(&sealed.rig, t->who, &c[i]);
			sr_store_relaxed(&t->good, t->good + 1);
		}
		sr_store_relaxed(&t->completed, t->completed + 1);
	}
}

/* Has as many in flight as there is room for, until it is told to stop. */
static void engine(void *arg)
{
	struct count *t = arg;
	struct sr_client *client = open_client();
	struct sr_session *session = open_session(client, t->all_good ? 0 : SR_SESSION_REOPEN);
	uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;
	struct sr_session_stats stats;
	struct sr_completion c[64];

	while (!sr_load32_relaxed(&shared->stop) || sr_in_flight(session)) {
		int n;

		while (!sr_load32_relaxed(&shared->stop) &&
		       mp_submit(session, t->who, t->submitted, 0) == 0)
			sr_store_relaxed(&t->submitted, t->submitted + 1);
		n = sr_poll(session, c, 64);
		MP_CHECK(n >= 0 || n == -ENOTCONN || (n == -ESTALE && !t->all_good),
			 "sr_poll: %d", n);
		take(t, c, n);
		(void)sr_service(client, NULL);
		MP_CHECK(sr_now_ns() < end_ns, "the engine does not come to an end");
		if (n <= 0)
			(void)sched_yield();
	}
	sr_session_stats_get(session, &stats);
	t->reopened = stats.reopened;
	t->lied = stats.agent_lied;
	t->forged = stats.forged;
	sr_close(client);
}

/* Of each engine. */
static void await_good(uint64_t more)
{
	uint64_t from[ENGINES], end_ns = sr_now_ns() + MP_BOUND_NS;

	for (uint32_t i = 0; i < ENGINES; i++)
		from[i] = sr_load_relaxed(&shared->counts[i].good);
	for (uint32_t i = 0; i < ENGINES; i++)
		while (sr_load_relaxed(&shared->counts[i].good) < from[i] + more) {
			MP_CHECK(sr_now_ns() < end_ns, "nothing is signed any more");
			mp_sleep_us(500);
		}
}

static void start_engines(pid_t pids[ENGINES], bool all_good)
{
	shared = mp_shared(sizeof *shared);
	for (uint32_t i = 0; i < ENGINES; i++) {
		shared->counts[i].who = 3 + i;
		shared->counts[i].all_good = all_good;
		pids[i] = mp_fork(engine, &shared->counts[i]);
	}
}

/* Returns how many orders there were. */
static uint64_t judge_engines(void)
{
	uint64_t submitted = 0;

	for (uint32_t i = 0; i < ENGINES; i++) {
		const struct count *t = &shared->counts[i];

		(void)printf("# %llu orders, %llu signed, opened again %llu times\n",
			     (unsigned long long)t->submitted, (unsigned long long)t->good,
			     (unsigned long long)t->reopened);
		MP_EQ(t->completed, t->submitted, "completions");
		MP_EQ(t->lied, 0, "lies of an honest agent");
		MP_EQ(t->forged, 0, "forgeries of an honest agent");
		if (t->all_good)
			MP_EQ(t->good, t->submitted, "signed orders");
		submitted += t->submitted;
	}
	return submitted;
}

static uint64_t kill_under_load(bool agent, uint32_t times)
{
	pid_t pids[ENGINES];

	begin(true);
	start_engines(pids, agent);
	for (uint32_t i = 0; i < times; i++) {
		await_good(50);
		mp_sleep_us(mp_below(3000));
		mp_signal(agent ? &sealed.rig.agent : &sealed.rig.signer, SIGKILL);
		if (agent)
			mp_start_agent(&sealed.rig);
		else
			mp_start_signer(&sealed.rig);
	}
	await_good(50);
	sr_store32_relaxed(&shared->stop, 1);
	for (uint32_t i = 0; i < ENGINES; i++)
		mp_join(pids[i], "an engine");
	return judge_engines();
}

static void killed_agents_lose_nothing_and_sign_nothing_twice(void)
{
	uint64_t orders = kill_under_load(true, mp_long ? 200 : mp_times(5));

	MP_EQ(mp_signer_counter(&sealed.rig, "signed"), orders, "the signer's own count");
	mp_rig_stop(&sealed.rig);
}

static void killed_signers_leave_unknown_and_sessions_open_again(void)
{
	uint32_t times = mp_long ? 50 : mp_times(3);

	(void)kill_under_load(false, times);
	for (uint32_t i = 0; i < ENGINES; i++)
		MP_EQ(shared->counts[i].reopened, times, "sessions opened again");
	mp_rig_stop(&sealed.rig);
}

/* ---- stopped, not dead ---- */

/* A second agent takes over; nothing of the first one lands when it goes on. */
static void stopped_agent_is_replaced(void)
{
	struct sr_client *client;
	struct sr_session *session;
	struct sr_session_stats stats;
	struct sr_completion c;
	uint64_t n = 0;
	pid_t old;

	begin(true);
	client = open_client();
	session = open_session(client, 0);
	while (n < 50)
		mp_order(&sealed.rig, client, session, n++);
	mp_signal(&sealed.rig.agent, SIGSTOP);
	old = sealed.rig.agent;
	for (uint64_t i = 0; i < 8; i++)
		MP_EQ(mp_submit(session, 1, n + i, sr_now_ns() + 50 * SR_NS_PER_MS), 0,
		      "sr_submit");
	for (uint64_t i = 0; i < 8; i++) {
		mp_next(client, session, &c);
		MP_CHECK(c.status == SR_UNKNOWN && c.user_data == n + i, "number %llu is %s",
			 (unsigned long long)c.user_data, sr_status_name(c.status));
	}
	n += 8;
	MP_CHECK(unlink(sealed.rig.socket) == 0, "unlink: %s", strerror(errno));
	mp_start_agent(&sealed.rig);
	sr_reattach(client);
	while (n < 100)
		mp_order(&sealed.rig, client, session, n++);
	mp_signal(&old, SIGCONT);
	while (n < 200)
		mp_order(&sealed.rig, client, session, n++);
	sr_session_stats_get(session, &stats);
	MP_EQ(stats.swallowed, 8, "late answers that were passed over");
	MP_CHECK(stats.agent_lied == 0 && stats.forged == 0 && stats.reopened == 0,
		 "lied %llu, forged %llu, reopened %llu", (unsigned long long)stats.agent_lied,
		 (unsigned long long)stats.forged, (unsigned long long)stats.reopened);
	MP_EQ(mp_signer_counter(&sealed.rig, "ended_hostile"), 0, "sessions ended");
	MP_EQ(mp_signer_counter(&sealed.rig, "signed"), n, "signatures: one a number");
	mp_signal(&old, SIGTERM);
	mp_order(&sealed.rig, client, session, n);
	sr_close(client);
	mp_rig_stop(&sealed.rig);
}

/* ---- fork ---- */

/* The trader's secret, each bit turned: this copy is not what is looked for. */
static void turned_secret(unsigned char out[SR_PAIRFILE_KEY_BYTES])
{
	struct sr_reason why = { 0, "" };
	struct sr_pairfile *file;
	void *mem;

	MP_EQ(sr_secret_alloc(&mem, sizeof *file), 0, "protected memory");
	file = mem;
	MP_CHECK(sr_pairfile_load(file, &sr_pairfile_identity, sealed.trader, &why) == 0, "%s",
		 why.text);
	for (uint32_t i = 0; i < SR_PAIRFILE_KEY_BYTES; i++)
		out[i] = file->secret[i] ^ 0xffu;
	sr_secret_free(file, sizeof *file);
}

static bool lies_at(const volatile unsigned char *at, const unsigned char *turned)
{
	uint32_t i = 0;

	while (i < SR_PAIRFILE_KEY_BYTES && at[i] + turned[i] == 0xff)
		i++;
	return i == SR_PAIRFILE_KEY_BYTES;
}

/* How often the secret lies in memory that this process may write. */
static unsigned int count_secret(const unsigned char *turned)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned int count = 0;
	char line[512];

	while (maps && fgets(line, sizeof line, maps)) {
		unsigned long from, to;
		char mode[5];

		if (sscanf(line, "%lx-%lx %4s", &from, &to, mode) != 3 || mode[0] != 'r' ||
		    mode[1] != 'w')
			continue;
		for (; from + SR_PAIRFILE_KEY_BYTES <= to; from++)
			count += lies_at((const volatile unsigned char *)from, turned);
	}
	if (maps)
		(void)fclose(maps);
	return count;
}

static void child_gets_eperm_and_no_identity(void)
{
	unsigned char turned[SR_PAIRFILE_KEY_BYTES];
	struct sr_client *client;
	struct sr_session *session;
	struct sr_completion c;
	int status;
	pid_t pid;

	begin(true);
	client = open_client();
	session = open_session(client, 0);
	mp_order(&sealed.rig, client, session, 1);
	turned_secret(turned);
	MP_EQ(count_secret(turned), 1, "copies of the secret, all in the library");
	pid = fork();
	if (pid == 0) {
		bool good = mp_submit(session, 1, 2, 0) == -EPERM &&
			    sr_poll(session, &c, 1) == -EPERM && sr_service(client, NULL) == -EPERM;

		if (good && count_secret(turned))
			_exit(2);
		sr_close(client);
		_exit(good ? 0 : 1);
	}
	status = mp_reap(pid, MP_BOUND_NS, "the child");
	MP_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child: %x",
		 (unsigned int)status);
	for (uint64_t n = 3; n < 20; n++)
		mp_order(&sealed.rig, client, session, n);
	sr_close(client);
	mp_rig_stop(&sealed.rig);
}

static const struct mp_test tests[] = {
	{ "sealed/orders_are_signed_through_an_agent", orders_are_signed_through_an_agent, 0 },
	{ "sealed/orders_are_signed_in_one_process", orders_are_signed_in_one_process, 0 },
	{ "sealed/strangers_and_orders_in_clear_are_refused",
	  strangers_and_orders_in_clear_are_refused, 0 },
	{ "sealed/busy_agent_is_waited_for", busy_agent_is_waited_for, 0 },
	{ "sealed/replay_signs_and_says_that_records_are_sealed",
	  replay_signs_and_says_that_records_are_sealed, 0 },
	{ "sealed/killed_agents_lose_nothing_and_sign_nothing_twice",
	  killed_agents_lose_nothing_and_sign_nothing_twice, 0 },
	{ "sealed/killed_signers_leave_unknown_and_sessions_open_again",
	  killed_signers_leave_unknown_and_sessions_open_again, 0 },
	{ "sealed/stopped_agent_is_replaced", stopped_agent_is_replaced, 0 },
	{ "sealed/child_gets_eperm_and_no_identity", child_gets_eperm_and_no_identity, 0 },
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
