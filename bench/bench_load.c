/* SPDX-License-Identifier: MIT */
/*
 * bench_load - many sessions under a load that does not wait for anybody.
 *
 * An open loop: orders are due at times that no answer changes, and latencies run from
 * there, so that a signer that stands still for a moment is charged with every order
 * that was due meanwhile, and not only with those that it had in hand (sr_schedule.h).
 * It starts agent and signer of its own, as they are shipped, and breaks them when told
 * to: what was submitted is answered exactly once all the same, and the exit code says
 * so.
 *
 *	fixed   evenly spaced orders                 storm   bursts in all sessions at once
 *	steady  arrivals as many clients make them   ramp    faster and faster, to the knee
 *	soak    steady for an hour, and memory stays where it is
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "sr_config.h"
#include "sr_load.h"

#define DRAIN_MS 5000u
#define RAMP_DRAIN_MS 1000u
#define WARM_SECONDS 2u
#define GROWTH_KIB_MAX 1024u
#define TIME_MAX_S 86400.0

static struct sr_load_settings set = {
	.processes = 1,
	.sessions = 4,
	.depth = 256,
	.rate = 5000,
	.burst = 64,
	.restart_ms = 100,
	.target_us = 1000,
	.pool_slots = 4096,
	.seed = 1,
	.key = 1,
	.cpu = -1,
	.mode = "fixed",
};

/* ---- options ---- */

/* WHAT@T, or WHAT@T:MS for a stop. */
static int set_event(void *target, const char *value, const struct sr_option *o,
		     struct sr_reason *why)
{
	static const char *const names[] = { "agent", "signer", "client" };
	bool stop = o->min;
	struct sr_load_event e = { .at_ns = 0 };
	const char *at = strchr(value, '@');
	char *end = NULL;
	double seconds = at ? strtod(at + 1, &end) : -1;
	bool given = at && end != at + 1;
	size_t what = 0;

	(void)target;
	while (at && what < 3 && (strlen(names[what]) != (size_t)(at - value) ||
				  memcmp(names[what], value, (size_t)(at - value))))
		what++;
	if (at && stop && end && *end == ':') {
		e.stop_ns = strtoull(end + 1, &end, 10) * SR_NS_PER_MS;
		seconds = e.stop_ns && e.stop_ns <= 60 * SR_NS_PER_S ? seconds : -1;
	} else if (stop) {
		seconds = -1;
	}
	if (!at || what == 3 || !given || *end || !(seconds >= 0) || seconds > TIME_MAX_S ||
	    (stop && what == SR_LOAD_CLIENT))
		return sr_reason_set(why, -EINVAL, "--%s takes %s, seconds after the start, "
				     "not `%s`", o->name, stop ? "agent or signer, @T:MS" :
						     "agent, signer or client, @T", value);
	if (set.event_count == SR_LOAD_EVENTS_MAX)
		return sr_reason_set(why, -EINVAL, "at most %u faults", SR_LOAD_EVENTS_MAX);
	e.what = (enum sr_load_what)what;
	e.at_ns = (uint64_t)(seconds * 1e9);
	set.events[set.event_count++] = e;
	return 0;
}

static const struct sr_option options[] = {
	{ "rate", "N", "orders a second, all sessions together; where a ramp begins (5000)",
	  sr_set_u32, &set.rate, 1, SR_SCHEDULE_RATE_MAX },
	{ "seconds", "N", "how long; of a ramp each step (10; ramp 2, soak 3600)", sr_set_u32,
	  &set.seconds, 1, 86400 },
	{ "processes", "N", "trading processes (1)", sr_set_u32, &set.processes, 1,
	  SR_LOAD_TRADERS_MAX / 2 },
	{ "sessions", "N", "sessions of each, driven by one thread (4)", sr_set_u32,
	  &set.sessions, 1, SR_LOAD_SESSIONS_MAX },
	{ "depth", "N", "orders in flight in a session, a power of two (256)", sr_set_pow2,
	  &set.depth, 2, 4096 },
	{ "burst", "N", "storm: orders at once in each session (64)", sr_set_u32, &set.burst, 1,
	  100000 },
	{ "target-us", "N", "in which 99 % of the orders that are due have to be signed (1000)",
	  sr_set_u32,
	  &set.target_us, 1, 60000000 },
	{ "deadline-us", "N", "of each order, from when it is due (none)", sr_set_u32,
	  &set.deadline_us, 1, 60000000 },
	{ "interval", "S", "seconds in a row of the timeline (1; soak 10)", sr_set_u32,
	  &set.interval_s, 1, 3600 },
	{ "drain-ms", "N", "how long to wait at the end for what is not answered (5000; ramp "
	  "1000)", sr_set_u32, &set.drain_ms, 1, 600000 },
	{ "kill", "WHAT@T", "SIGKILL to agent, signer or client after T seconds, and start it "
	  "again; may be repeated", set_event, NULL, 0, 0 },
	{ "stop", "WHAT@T:MS", "SIGSTOP to agent or signer for MS milliseconds; may be repeated",
	  set_event, NULL, 1, 0 },
	{ "restart-ms", "N", "how long what was killed stays away (100)", sr_set_u32,
	  &set.restart_ms, 1, 60000 },
	{ "split", NULL, "sigring-agent and sigring-signer instead of sigring-local", sr_set_true,
	  &set.split, 0, 0 },
	{ "hedged", NULL, "hedged nonces instead of presigned ones", sr_set_true, &set.hedged,
	  0, 0 },
	{ "pool-slots", "N", "presignatures that the signer keeps, a power of two (4096)",
	  sr_set_pow2, &set.pool_slots, 256, 262144 },
	{ "unsealed", NULL, "sessions in clear", sr_set_true, &set.unsealed, 0, 0 },
	{ "socket", "PATH", "load the agent there instead of starting one; identity and trust come "
	  "from the environment", sr_set_text, &set.socket, 0, 0 },
	{ "key", "ID", "with --socket: the key that signs (1)", sr_set_u32, &set.key, 1,
	  UINT32_MAX },
	{ "cpu", "N", "with --socket and one process: pin it to this CPU and spin", sr_set_cpu,
	  &set.cpu, 0, 0 },
	{ "seed", "N", "of random arrivals (1)", sr_set_u32, &set.seed, 0, UINT32_MAX },
	{ "keep-disturbed", NULL, "ramp: use disturbed samples: never for a capacity that is "
	  "quoted", sr_set_true, &set.keep_disturbed, 0, 0 },
	{ "quiet", NULL, "no timeline", sr_set_true, &set.quiet, 0, 0 },
	{ "json", NULL, "print one JSON object", sr_set_true, &set.json, 0, 0 },
	{ "selftest", NULL, "check the benchmark itself, in seconds", sr_set_true, &set.selftest,
	  0, 0 },
};

static const struct sr_program program = {
	.name = SR_LOAD_PROGRAM,
	.purpose = "Many sessions under an open-loop load: fixed, steady, storm, ramp or soak.",
	.operands = "[MODE]",
	.options = options,
	.option_count = sizeof options / sizeof options[0],
};

static bool mode_is(const char *name)
{
	return !strcmp(set.mode, name);
}

static int settle_options(int argc, char **argv, int at, struct sr_reason *why)
{
	static const char *const modes[] = { "fixed", "steady", "storm", "ramp", "soak" };
	size_t mode = 0;

	if (at < argc)
		set.mode = argv[at];
	while (mode < 5 && strcmp(modes[mode], set.mode))
		mode++;
	if (mode == 5 || at + 1 < argc)
		return sr_reason_set(why, -EINVAL, "options, then one of fixed, steady, storm, "
				     "ramp and soak, not `%s`",
				     argv[mode == 5 ? at : at + 1]);
	if (set.event_count && (set.socket || mode_is("ramp")))
		return sr_reason_set(why, -EINVAL, "--kill and --stop need programs that we have "
				     "started, and a load that stays the same");
	if (set.cpu >= 0 && (!set.socket || set.processes > 1))
		return sr_reason_set(why, -EINVAL, "--cpu is for one process with --socket: loops "
				     "of a run of our own are placed by themselves");
	for (uint32_t i = 0; i < set.event_count; i++)
		if (set.events[i].what == SR_LOAD_AGENT && !set.split)
			return sr_reason_set(why, -EINVAL, "sigring-local is agent and signer: say "
					     "signer, or --split");
	if (!set.seconds)
		set.seconds = mode_is("ramp") ? 2 : mode_is("soak") ? 3600 : 10;
	if (!set.drain_ms)
		set.drain_ms = mode_is("ramp") ? RAMP_DRAIN_MS : DRAIN_MS;
	if (!set.interval_s)
		set.interval_s = mode_is("soak") ? 10 : 1;
	if (set.seconds / set.interval_s > SR_LOAD_ROWS_MAX - 2)
		return sr_reason_set(why, -EINVAL, "at most %u rows: raise --interval",
				     SR_LOAD_ROWS_MAX - 2);
	if (!set.socket)
		set.key = set.hedged ? 2 : 1;
	return 0;
}

/* ---- modes ---- */

static struct sr_schedule_config schedule_of(uint32_t rate)
{
	return (struct sr_schedule_config){
		.kind = mode_is("storm") ? SR_SCHEDULE_BURST :
			mode_is("fixed") ? SR_SCHEDULE_EVEN :
					   SR_SCHEDULE_POISSON,
		.rate = rate,
		.burst = set.burst,
		.seed = set.seed,
	};
}

/* A signer that was started again counts from 0. */
static void enter_counters(struct sr_load_result *r, const struct sr_load_counters *from,
			   const struct sr_load_counters *to)
{
	static const struct sr_load_counters nothing;

	if (set.event_count)
		from = &nothing;
	r->presigned = to->presigned - from->presigned;
	r->fallbacks = to->fallbacks - from->fallbacks;
	r->pool_dry = to->pool_dry - from->pool_dry;
}

static void print_counters(const struct sr_load_result *r)
{
	if (!set.json)
		(void)printf("signer: presigned %llu, fell back to hedged %llu, pool dry %llu times%s\n",
			     (unsigned long long)r->presigned, (unsigned long long)r->fallbacks,
			     (unsigned long long)r->pool_dry,
			     set.event_count ? " (since its last start)" : "");
}

/* The same load for the whole time. Returns 0, 1 when somebody is owed something. */
static int run_steady(struct sr_reason *why)
{
	static struct sr_load_result r;
	static struct sr_load_tally late;
	struct sr_schedule_config schedule = schedule_of(set.rate);
	struct sr_load_settings warm = set;
	struct sr_load_counters before, after;
	uint64_t grown_kib = 0, warm_faults;
	int ret;

	warm.quiet = true;
	warm.seconds = WARM_SECONDS;
	warm.event_count = 0;
	ret = mode_is("soak") ? sr_load_phase(&r, &warm, &schedule, why) : 0;
	if (ret < 0)
		return ret;
	warm_faults = sr_load_faults(&r.sum);
	sr_load_rig_ask(&before, false);
	ret = sr_load_phase(&r, &set, &schedule, why);
	if (ret < 0)
		return ret;
	sr_load_rig_ask(&after, true);
	ret = sr_load_end(&late, why);
	if (ret < 0)
		return ret;
	r.sum.duplicates += late.duplicates;
	r.sum.strays += late.strays;
	r.sum.bad_signatures += late.bad_signatures;
	r.sum.bad_calls += late.bad_calls;
	if (after.known)
		enter_counters(&r, &before, &after);
	if (set.json)
		sr_load_print_json(&set, &r, NULL);
	else
		sr_load_print_result(&set, &r);
	if (!set.json)
		(void)printf("signatures verified: %llu\n", (unsigned long long)late.verified);
	print_counters(&r);
	if (mode_is("soak") && after.known) {
		grown_kib = after.agent_kib > before.agent_kib ?
				    after.agent_kib - before.agent_kib : 0;
		if (after.signer_kib > before.signer_kib)
			grown_kib += after.signer_kib - before.signer_kib;
		if (!set.json)
			(void)printf("memory: agent and signer grew by %llu KiB (at most %u)\n",
				     (unsigned long long)grown_kib, GROWTH_KIB_MAX);
	}
	if (warm_faults)
		(void)fprintf(stderr, SR_LOAD_PROGRAM ": %llu faults before the hour began\n",
			      (unsigned long long)warm_faults);
	return sr_load_faults(&r.sum) != 0 || warm_faults || grown_kib > GROWTH_KIB_MAX;
}

static void print_capacity(const struct sr_load_ramp *ramp)
{
	if (ramp->faults)
		(void)printf("capacity: not known, for the faults\n");
	else if (ramp->capacity)
		(void)printf("capacity: %u orders a second, 99 %% of them signed within %u us\n",
			     ramp->capacity, set.target_us);
	else
		(void)printf("capacity: less than %u orders a second, 99 %% of them signed within %u "
			     "us\n", ramp->beyond, set.target_us);
	(void)printf("%u samples, %u of them disturbed, %u taken again\n", ramp->samples,
		     ramp->disturbed, ramp->again);
}

static int run_ramp(struct sr_reason *why)
{
	static struct sr_load_ramp ramp;
	static struct sr_load_tally late;
	struct sr_schedule_config schedule = schedule_of(set.rate);
	struct sr_load_counters before, after;
	struct sr_load_settings step = set;
	int ret;

	step.quiet = true;
	sr_load_rig_ask(&before, false);
	ret = sr_load_ramp(&ramp, &step, &schedule, why);
	if (ret < 0)
		return ret;
	sr_load_rig_ask(&after, true);
	ret = sr_load_end(&late, why);
	if (ret < 0)
		return ret;
	ramp.faults += sr_load_faults(&late);
	if (after.known)
		enter_counters(&ramp.last, &before, &after); /* of all samples */
	if (set.json)
		sr_load_print_json(&set, &ramp.last, &ramp);
	else
		print_capacity(&ramp);
	print_counters(&ramp.last);
	if (ramp.faults)
		(void)fprintf(stderr, SR_LOAD_PROGRAM ": %llu orders were not answered exactly "
			      "once, or badly\n", (unsigned long long)ramp.faults);
	return ramp.faults != 0;
}

int main(int argc, char **argv)
{
	struct sr_reason why = { 0, "" };
	int ret = sr_config_args(&program, argc, argv, &why);

	if (ret >= 0)
		ret = settle_options(argc, argv, ret, &why);
	if (ret < 0)
		return sr_program_fail(&program, &why);
	(void)signal(SIGPIPE, SIG_IGN);
	if (set.selftest)
		return sr_load_selftest(&set);
	ret = sr_load_begin(&set, &why);
	if (ret == 0 && !set.json)
		sr_load_print_way(&set);
	if (ret == 0)
		ret = mode_is("ramp") ? run_ramp(&why) : run_steady(&why);
	if (ret < 0) {
		(void)fprintf(stderr, SR_LOAD_PROGRAM ": %s\n",
			      why.text[0] ? why.text : strerror(-ret));
		if (ret != -EBUSY) /* disturbed: nothing that the programs could say */
			sr_load_rig_log();
	}
	sr_load_abort();
	return ret < 0 ? 1 : ret;
}
