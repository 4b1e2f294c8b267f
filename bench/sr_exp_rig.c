/* SPDX-License-Identifier: MIT */
#include "sr_exp_rig.h"

/* Key 2 signs typed orders, whose nonces the signer gives. */
#define RIG_NONCE_2 "presign"
#define RIG_PERMIT_2                                                                              \
	"\"permit\": [ \"hyperliquid/order\" ], \"policy\": { \"networks\": [ \"testnet\" ],\n"       \
	"      \"assets\": [ { \"id\": 0, \"size_decimals\": 5, \"size_max\": \"10\",\n"              \
	"        \"notional_max\": \"10000000\", \"price_min\": \"1\",\n"                            \
	"        \"price_max\": \"1000000\" } ], \"reduce_only\": false,\n"                          \
	"      \"expiry_max_ms\": \"unlimited\", \"venue_nonce\": \"given\",\n"                        \
	"      \"rate\": { \"key_per_s\": 100000, \"key_burst\": 100000,\n"                           \
	"        \"session_per_s\": 100000, \"session_burst\": 100000 },\n"                           \
	"      \"window\": { \"seconds\": 1, \"notional_max\": \"unlimited\" },\n"                    \
	"      \"unexpired_notional_max\": \"unlimited\", \"lease\": false }"

#include "sr_local_rig.h"

#define READY_NS (60ull * SR_NS_PER_S) /* the largest pool has to be filled */
#define STATUS_BYTES (1u << 16)
#define ASK_NS (10 * SR_NS_PER_S)
#define ARGS_MAX 48

int sr_exp_rig_cpus(struct sr_exp_rig *r, struct sr_reason *why)
{
	int first[2];
	int ret = sr_bench_cpus(first, why);
	cpu_set_t set;
	int count = 0;

	if (ret < 0)
		return ret;
	if (sched_getaffinity(0, sizeof set, &set) < 0)
		return sr_reason_set(why, -errno, "cannot read the CPU affinity: %s",
				     strerror(errno));
	for (int cpu = 0; cpu < CPU_SETSIZE && count < 3; cpu++)
		if (CPU_ISSET((unsigned int)cpu, &set))
			r->cpus[count++] = cpu;
	if (r->via == SR_EXP_ADDRESS)
		r->cpus[2] = -1;
	else if (r->via == SR_EXP_LOCAL || count < 3)
		r->cpus[2] = r->cpus[1];
	return 0;
}

/* ---- what is started ---- */

/* A loop that shares its CPU with another has to give it up. */
static const char *wait_name(const struct sr_exp_rig *r)
{
	bool share = r->via == SR_EXP_UNIX && r->cpus[1] == r->cpus[2];

	return r->wait != SR_WAIT_AUTO ? sr_wait_name(r->wait) : share ? "yield" : "spin";
}

struct args {
	char *argv[ARGS_MAX];
	char texts[8][24];
	int count;
	int text_count;
};

static void arg(struct args *a, const char *text)
{
	a->argv[a->count++] = (char *)(uintptr_t)text;
	a->argv[a->count] = NULL;
}

static void arg_pair(struct args *a, const char *name, const char *value)
{
	arg(a, name);
	arg(a, value);
}

static void arg_number(struct args *a, const char *name, uint32_t value)
{
	char *text = a->texts[a->text_count++];

	(void)snprintf(text, sizeof a->texts[0], "%u", value);
	arg_pair(a, name, text);
}

static void signer_args(const struct sr_exp_rig *r, struct args *a, const struct sr_exp_pool *pool,
			bool traced)
{
	arg_pair(a, "--keys", rig.keys);
	arg_number(a, "--cpu", (uint32_t)r->cpus[2]);
	arg_pair(a, "--wait", r->wait_name);
	arg(a, "--allow-snapshot");
	arg_number(a, "--pool-slots", pool->slots);
	arg_number(a, "--pool-low", pool->low_percent);
	arg_number(a, "--pool-batch", pool->batch);
	arg_pair(a, "--refill", "idle");
	arg_pair(a, "--operators", rig.operators);
	arg_number(a, "--operators-needed", 1);
	arg_pair(a, "--manifest", rig.manifest);
	arg_pair(a, "--trust-out", rig.trust);
	if (traced)
		arg_number(a, "--trace", r->trace_records);
}

static int start_agent(struct sr_exp_rig *r, bool traced)
{
	struct args a = { .count = 0 };

	arg(&a, "sigring-agent");
	arg_pair(&a, "--socket", rig.socket);
	arg_pair(&a, "--signer", r->via == SR_EXP_UNIX ? r->signer_address : r->address);
	arg_number(&a, "--cpu", (uint32_t)r->cpus[1]);
	arg_pair(&a, "--wait", r->wait_name);
	if (traced)
		arg_number(&a, "--trace", r->trace_records);
	r->agent = start("sigring-agent", a.argv, NULL, 0);
	return r->agent < 0 ? -errno : 0;
}

static int start_signer(struct sr_exp_rig *r, const struct sr_exp_pool *pool, bool traced)
{
	struct args a = { .count = 0 };

	(void)snprintf(r->signer_address, sizeof r->signer_address, "unix:%s/signer", rig.dir);
	arg(&a, "sigring-signer");
	arg_pair(&a, "--listen", r->signer_address);
	signer_args(r, &a, pool, traced);
	r->signer = start("sigring-signer", a.argv, NULL, 0);
	return r->signer < 0 ? -errno : 0;
}

static int start_local(struct sr_exp_rig *r, const struct sr_exp_pool *pool, bool traced)
{
	struct args a = { .count = 0 };

	arg(&a, "sigring-local");
	arg_pair(&a, "--socket", rig.socket);
	signer_args(r, &a, pool, traced);
	r->agent = r->signer = start("sigring-local", a.argv, NULL, 0);
	return r->agent < 0 ? -errno : 0;
}

static int await_socket(struct sr_reason *why)
{
	uint64_t end_ns = sr_now_ns() + READY_NS;

	while (access(rig.socket, R_OK) < 0) {
		if (sr_now_ns() > end_ns)
			return sr_reason_set(why, -ETIMEDOUT, "the agent does not get ready");
		(void)usleep(1000);
	}
	return 0;
}

static int start_all(struct sr_exp_rig *r, const struct sr_exp_pool *pool, bool traced,
		     struct sr_reason *why)
{
	int ret = 0;

	(void)snprintf(r->wait_name, sizeof r->wait_name, "%s", wait_name(r));
	(void)unlink(rig.trust);
	(void)unlink(rig.socket);
	if (r->via == SR_EXP_LOCAL)
		ret = start_local(r, pool, traced);
	else if (r->via == SR_EXP_UNIX)
		ret = start_signer(r, pool, traced);
	if (ret < 0)
		return sr_reason_set(why, ret, "cannot start a signer");
	if (r->via != SR_EXP_ADDRESS)
		ret = rig_await_trust(READY_NS, why);
	if (ret == 0 && r->via != SR_EXP_LOCAL)
		ret = start_agent(r, traced);
	return ret < 0 ? ret : await_socket(why);
}

static void stop_one(pid_t pid)
{
	if (pid <= 0)
		return;
	(void)kill(pid, SIGTERM);
	(void)waitpid(pid, NULL, 0);
}

void sr_exp_rig_end(struct sr_exp_rig *r)
{
	if (r->traced)
		sr_exp_traces_close(&r->traces);
	r->traced = false;
	sr_close(r->client);
	r->client = NULL;
	r->session = NULL;
	stop_one(r->agent);
	if (r->signer != r->agent)
		stop_one(r->signer);
	r->agent = r->signer = -1;
}

/* ---- the session ---- */

/* An agent needs a moment to find its signer. */
static int open_session(struct sr_exp_rig *r, struct sr_reason *why)
{
	uint64_t end_ns = sr_now_ns() + READY_NS;
	struct sr_options opt;
	int ret;

	sr_options_init(&opt);
	opt.socket = rig.socket;
	opt.wait = SR_WAIT_SPIN;
	opt.timeout_ns = READY_NS;
	opt.stale_ns = SR_BENCH_HANG_S * (uint64_t)SR_NS_PER_S; /* a starved signer is slow, not gone */
	opt.identity = r->identity ? r->identity : rig.identity;
	opt.trust = r->trust ? r->trust : rig.trust;
	do {
		ret = sr_open(&r->client, &opt, why);
		if (ret == 0)
			ret = sr_session_open(&r->session, r->client, NULL, why);
		if (ret < 0) {
			sr_close(r->client);
			r->client = NULL;
			(void)usleep(20000);
		}
	} while ((ret == -ENOTCONN || ret == -ECONNREFUSED) && sr_now_ns() < end_ns);
	return ret;
}

static int open_traces(struct sr_exp_rig *r, struct sr_reason *why)
{
	struct sr_ctl_where where = { .socket = rig.socket,
				      .trust = r->trust ? r->trust : rig.trust };
	int ret;

	for (uint32_t i = 0; i < r->operator_count; i++)
		where.operators[where.operator_count++] = r->operators[i];
	if (r->via != SR_EXP_ADDRESS)
		where.operators[where.operator_count++] = rig.operator;
	ret = sr_exp_traces_open(&r->traces, rig.socket, &where, r->orders_max, why);
	r->traced = ret == 0;
	return ret;
}

int sr_exp_rig_begin(struct sr_exp_rig *r, const struct sr_exp_pool *pool, bool traced,
		     struct sr_reason *why)
{
	int ret = start_all(r, pool, traced, why);

	if (ret == 0)
		ret = open_session(r, why);
	if (ret == 0 && traced)
		ret = open_traces(r, why);
	return ret;
}

/* ---- what the agent says ---- */

static int ask_status(char text[STATUS_BYTES])
{
	char *const ask[] = { "sigringctl", "status", "--json", "--socket", rig.socket, NULL };

	return finish(start("sigringctl", ask, text, STATUS_BYTES));
}

static uint64_t number_of(const char *text, const char *name)
{
	char key[64];
	const char *at;

	(void)snprintf(key, sizeof key, "\"%s\":", name);
	at = strstr(text, key);
	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* The signer's counters reach the agent twice a second: asks until they are of now. */
static int ask_signer(char text[STATUS_BYTES], struct sr_reason *why)
{
	uint64_t end_ns = sr_now_ns() + ASK_NS, told = 0;
	int ret = ask_status(text);

	if (ret == 0)
		told = number_of(text, "told");
	while (ret == 0 && number_of(text, "told") < told + 2) {
		(void)usleep(50000);
		if (sr_now_ns() > end_ns)
			return sr_reason_set(why, -ETIMEDOUT, "the signer does not tell its counters");
		ret = ask_status(text);
	}
	return ret ? sr_reason_set(why, ret, "the agent does not say how it is") : 0;
}

int sr_exp_rig_dry(uint64_t *dry, struct sr_reason *why)
{
	static char text[STATUS_BYTES];
	int ret = ask_signer(text, why);

	if (ret)
		return ret;
	*dry = number_of(text, "pool_dry");
	if (*dry < number_of(text, "fallbacks")) /* without a pool none is dry */
		*dry = number_of(text, "fallbacks");
	return 0;
}

int sr_exp_rig_await_pool(uint64_t *depth, uint64_t wanted, struct sr_reason *why)
{
	static char text[STATUS_BYTES];
	uint64_t before;
	int ret;

	*depth = 0;
	do {
		before = *depth;
		(void)alarm(SR_BENCH_HANG_S);
		ret = ask_signer(text, why);
		if (ret)
			return ret;
		*depth = number_of(text, "pool_depth");
	} while (*depth < wanted && *depth > before);
	return 0;
}

/* ---- the whole ---- */

int sr_exp_rig_new(struct sr_exp_rig *r, struct sr_reason *why)
{
	int ret = rig_find_programs(why);

	r->agent = r->signer = -1;
	return ret ? ret : rig_provision(why);
}

void sr_exp_rig_delete(struct sr_exp_rig *r)
{
	char path[sizeof rig.dir + 32];

	sr_exp_rig_end(r);
	(void)snprintf(path, sizeof path, "%s/signer", rig.dir);
	(void)unlink(path);
	(void)snprintf(path, sizeof path, "%s/signer.control", rig.dir);
	(void)unlink(path);
	rig_remove();
}

const unsigned char *sr_exp_rig_pubkey(void)
{
	return rig.pubkeys[0];
}

void sr_exp_rig_tune(char *text, size_t room)
{
	char *const check[] = { "sigring-tune", "check", "--json", NULL };
	pid_t pid = start("sigring-tune", check, text, room);

	if (pid > 0)
		(void)waitpid(pid, NULL, 0); /* 1: an item fails */
	text[strcspn(text, "\n")] = '\0';
}

void sr_exp_rig_show_log(void)
{
	rig_show_log();
}
