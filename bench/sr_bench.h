/* SPDX-License-Identifier: MIT */
/*
 * sr_bench.h - what the benchmarks share: rows, rounds, ratios.
 *
 * A row is one thing that is measured. A round measures every row once; rounds
 * repeat, so that the rows of a run are interleaved and whatever the machine does
 * in the meantime meets all of them. A round in which the machine took the CPUs
 * away (the hypervisor's steal, involuntary context switches) is thrown away whole
 * and counted. A row's figure is the median of its rounds; a ratio is the median
 * of the rounds' own quotients, and is refused unless both of its sides were
 * measured in this run, between this process and its own descendants.
 *
 * A header of static functions, so that each benchmark is one object, but for what it
 * says of its machine (sr_machine.h). Two CPUs are needed: this process is pinned to the
 * first, its peer to the second.
 */
#ifndef SR_BENCH_H
#define SR_BENCH_H

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include "sr_base.h"
#include "sr_clock.h"
#include "sr_config.h"
#include "sr_machine.h"
#include "sr_reason.h"
#include "sr_version.h"

#define SR_BENCH_ROUNDS_MAX 1000u
#define SR_BENCH_ROWS_MAX 120u
#define SR_BENCH_WATCHED_MAX 16u /* CPUs and threads beside the usual two */
#define SR_BENCH_SHARE_ALL 100000u
#define SR_BENCH_TRIES 4u      /* rounds begun for each round asked for, at most */
#define SR_BENCH_HANG_S 60u    /* a row that takes so long in a round hangs */
#define SR_BENCH_PACE_TRIES 501u
#define SR_BENCH_PACE_TURNS 5
#define SR_BENCH_UNEVEN 1.05 /* more than that is told */
#define SR_BENCH_SWITCHES_S 20u /* involuntary switches a second that are no disturbance */

enum sr_bench_unit { SR_BENCH_NS, SR_BENCH_PER_S };

struct sr_bench_row {
	const char *key; /* in JSON and for --delay */
	const char *text;
	enum sr_bench_unit unit;
	const char *missing; /* why it cannot be measured here, or NULL */
	uint64_t tree;       /* of the peer it was measured with; 0 = not ours */
	double now;          /* of the round that is under way */
	double best;         /* its best batch: shortest, or highest rate */
	uint32_t count;
	double values[SR_BENCH_ROUNDS_MAX];
};

struct sr_bench_ratio {
	const char *key;
	const char *text;
	const struct sr_bench_row *over;
	const struct sr_bench_row *under;
	double gate; /* 0 = none */
	double goal;
	bool at_least; /* gate and goal are lower bounds, else upper ones */
};

struct sr_bench {
	const char *name;
	const char *notice; /* of how records travel in it, or NULL */
	uint64_t test_delay_ns; /* longer than any row takes by itself; 0: the default */
	/* options */
	uint32_t rounds;
	bool json;
	bool selftest;
	bool gates;
	bool keep_disturbed;
	const char *delay;
	/* the run */
	int cpus[2]; /* ours and the peer's; the same twice where there is none */
	uint64_t pace_ns[2]; /* that the same work took on each, before the run */
	pid_t peer; /* whose context switches are watched beside ours */
	int more_cpus[SR_BENCH_WATCHED_MAX]; /* sr_bench_watch_cpu() */
	uint32_t more_cpu_count;
	pid_t more_threads[SR_BENCH_WATCHED_MAX]; /* sr_bench_watch_thread() */
	uint32_t more_thread_count;
	uint32_t row_count;
	struct sr_bench_row rows[SR_BENCH_ROWS_MAX];
	uint32_t kept;
	uint32_t thrown; /* disturbed rounds; for one reason or both: */
	uint32_t thrown_steal;
	uint32_t thrown_switches;
	uint64_t steal_ns;
	uint64_t voluntary;
	uint64_t involuntary;
	uint64_t excused; /* involuntary switches of this round, see sr_bench_excuse() */
	int delay_row; /* -1 = none */
	uint64_t delay_ns;
	int (*prepare)(struct sr_bench *bench); /* in front of a round, not watched; or NULL */
	/* Measures row @at into its `now` and `best`. 0 or -errno. */
	int (*measure)(struct sr_bench *bench, uint32_t at);
	void (*json_more)(const struct sr_bench *bench); /* prints `,"key":...`; or NULL */
	/* What sr_bench_main() calls; all but set_up and tear_down may be NULL. */
	cpu_set_t allowed; /* CPUs that we might run on before we were pinned */
	int (*set_up)(struct sr_bench *bench, struct sr_reason *why); /* rows and peers */
	int (*test)(struct sr_bench *bench);  /* exit code of --selftest, for sr_bench_selftest() */
	int (*check)(struct sr_bench *bench, struct sr_reason *why); /* is the run worth a figure? */
	void (*log)(void);                         /* of a peer, after a failure */
	int (*report)(const struct sr_bench *bench); /* the exit code of a run, for sr_bench_end() */
	void (*tear_down)(struct sr_bench *bench); /* of whatever set_up came to */
};

/* Rows of an option table that every benchmark has; @b is a struct sr_bench and
 * @rounds_text its number of rounds. */
#define SR_BENCH_OPTIONS(b) SR_BENCH_OPTIONS_ROUNDS(b, "21")
#define SR_BENCH_OPTIONS_ROUNDS(b, rounds_text)                                                    \
	{ "rounds", "N", "undisturbed rounds to take the median of (" rounds_text ")", sr_set_u32, \
	  &(b).rounds, 1, SR_BENCH_ROUNDS_MAX },                                                   \
	{ "json", NULL, "print one JSON object", sr_set_true, &(b).json, 0, 0 },                   \
	{ "gates", NULL, "exit 1 when a gate is missed", sr_set_true, &(b).gates, 0, 0 },          \
	{ "keep-disturbed", NULL, "count disturbed rounds, but use them: never for a figure "      \
	  "that is quoted", sr_set_true, &(b).keep_disturbed, 0, 0 },                              \
	{ "delay", "ROW:NS", "have the other side of a row wait so long before each answer",       \
	  sr_set_text, &(b).delay, 0, 0 },                                                         \
	{ "selftest", NULL, "check the benchmark itself, in seconds", sr_set_true, &(b).selftest,  \
	  0, 0 }

/* ---- order statistics ---- */

static inline int sr_bench_ascending(const void *a, const void *b)
{
	double x, y;

	memcpy(&x, a, sizeof x);
	memcpy(&y, b, sizeof y);
	return (x > y) - (x < y);
}

/*
 * sr_bench_rank - the smallest value that at least this share of all values do not
 * exceed (nearest rank: never a value that was not measured).
 *
 * @values: sorted here, in place. @count: at least 1.
 * @share:  in hundred-thousandths: 50000 is the median.
 */
static inline double sr_bench_rank(double *values, uint32_t count, uint32_t share)
{
	uint64_t rank = ((uint64_t)count * share + SR_BENCH_SHARE_ALL - 1) / SR_BENCH_SHARE_ALL;

	qsort(values, count, sizeof *values, sr_bench_ascending);
	return values[rank ? rank - 1 : 0];
}

static inline double sr_bench_of(const struct sr_bench_row *row, uint32_t share)
{
	double sorted[SR_BENCH_ROUNDS_MAX];

	if (!row->count)
		return 0;
	memcpy(sorted, row->values, row->count * sizeof *sorted);
	return sr_bench_rank(sorted, row->count, share);
}

/* ---- whose process is it ---- */

/* Parent and start time of a process; 0, or -ESRCH. */
static inline int sr_bench_parent(pid_t pid, pid_t *parent, uint64_t *start_ticks)
{
	char path[64], text[1024];
	unsigned long long ticks;
	const char *at;
	size_t n;
	FILE *f;
	int ppid;

	(void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return -ESRCH;
	n = fread(text, 1, sizeof text - 1, f);
	(void)fclose(f);
	text[n] = '\0';
	at = strrchr(text, ')'); /* the name may hold anything, ')' too */
	if (!at || sscanf(at + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
			  "%*d %*d %*d %llu", &ppid, &ticks) != 2)
		return -ESRCH;
	*parent = (pid_t)ppid;
	*start_ticks = ticks;
	return 0;
}

/*
 * sr_bench_tree - is @pid this process or a descendant of it?
 *
 * Returns a number that names this run (the same for all of its processes and for
 * no other's), or 0: it is a stranger, an orphan, or dead.
 */
static inline uint64_t sr_bench_tree(pid_t pid)
{
	pid_t parent = 0, root = getpid();
	uint64_t ticks = 0;

	for (int depth = 0; pid > 1 && depth < 64; depth++) {
		if (sr_bench_parent(pid, &parent, &ticks) < 0)
			return 0;
		if (pid == root)
			return (uint64_t)root << 40 | (ticks & 0xffffffffffu);
		pid = parent;
	}
	return 0;
}

/* ---- pinning ---- */

/* sr_bench_cpus - the first two CPUs that we may run on. 0, or -ERANGE. */
static inline int sr_bench_cpus(int cpus[2], struct sr_reason *why)
{
	cpu_set_t set;
	int found = 0;

	if (sched_getaffinity(0, sizeof set, &set) < 0)
		return sr_reason_set(why, -errno, "cannot read the CPU affinity: %s",
				     strerror(errno));
	for (int cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++)
		if (CPU_ISSET((unsigned int)cpu, &set))
			cpus[found++] = cpu;
	if (found < 2)
		return sr_reason_set(why, -ERANGE, "cannot pin: this process may run on %d CPU and "
				     "needs 2 (nproc, taskset -p $$)", found);
	return 0;
}

static inline int sr_bench_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((unsigned int)cpu, &set);
	return sched_setaffinity(0, sizeof set, &set) < 0 ? -errno : 0;
}

/* Sums of products that wait for no other: a neighbour on the core, another guest's too,
 * takes his share of them, and neither steal nor switches tell of him. */
static inline uint64_t sr_bench_work(uint64_t x)
{
	uint64_t sums[8] = { x, 1, 2, 3, 4, 5, 6, 7 };

	for (uint32_t i = 0; i < 2000; i++)
		for (uint32_t k = 0; k < 8; k++)
			sums[k] = sums[k] * 0x9e3779b97f4a7c15u + i;
	return sums[0] ^ sums[1] ^ sums[2] ^ sums[3] ^ sums[4] ^ sums[5] ^ sums[6] ^ sums[7];
}

/* sr_bench_pace_ns - what some work takes on this CPU: the median of some milliseconds. */
static inline uint64_t sr_bench_pace_ns(void)
{
	double values[SR_BENCH_PACE_TRIES];
	volatile uint64_t keep = 0;

	for (uint32_t i = 0; i < SR_BENCH_PACE_TRIES; i++) {
		uint64_t begin_ns = sr_now_ns();

		keep = sr_bench_work(keep);
		values[i] = (double)(sr_now_ns() - begin_ns);
	}
	return (uint64_t)sr_bench_rank(values, SR_BENCH_PACE_TRIES, SR_BENCH_SHARE_ALL / 2);
}

/* How many times as long the slower of the two CPUs takes. */
static inline double sr_bench_uneven(const struct sr_bench *b)
{
	uint64_t slow = b->pace_ns[0] > b->pace_ns[1] ? b->pace_ns[0] : b->pace_ns[1];
	uint64_t fast = b->pace_ns[0] + b->pace_ns[1] - slow;

	return fast ? (double)slow / (double)fast : 1;
}

/* ---- children ---- */

static inline void sr_bench_hung(int number)
{
	static const char died[] = "the peer has died\n";
	static const char hung[] = "nothing has moved for too long\n";

	if (number == SIGCHLD)
		(void)!write(STDERR_FILENO, died, sizeof died - 1);
	else
		(void)!write(STDERR_FILENO, hung, sizeof hung - 1);
	_exit(1);
}

/* sr_bench_child - in a child, first: it must not outlive the benchmark. */
static inline void sr_bench_child(void)
{
	(void)signal(SIGCHLD, SIG_DFL);
	(void)signal(SIGALRM, SIG_DFL);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* sr_bench_folder - a private directory. @dir: out. 0 or -errno with a reason. */
static inline int sr_bench_folder(char *dir, size_t room, struct sr_reason *why)
{
	const char *where = getenv("TMPDIR");

	(void)snprintf(dir, room, "%s/sigring-bench-XXXXXX", where && *where ? where : P_tmpdir);
	if (!mkdtemp(dir))
		return sr_reason_set(why, -errno, "cannot make a private directory %.200s: %s", dir,
				     strerror(errno));
	return 0;
}

/* sr_bench_spin - wait without giving the CPU up: the injected delay. */
static inline void sr_bench_spin(uint64_t ns)
{
	uint64_t end_ns = sr_now_ns() + ns;

	while (sr_now_ns() < end_ns)
		sr_pause();
}

/* ---- disturbance ---- */

struct sr_bench_watch {
	uint64_t at_ns;
	uint64_t steal_ns;
	uint64_t voluntary;
	uint64_t involuntary;
};

static inline bool sr_bench_watches_cpu(const struct sr_bench *b, int cpu)
{
	bool found = cpu == b->cpus[0] || cpu == b->cpus[1];

	for (uint32_t i = 0; i < b->more_cpu_count; i++)
		found = found || cpu == b->more_cpus[i];
	return found;
}

/* sr_bench_watch_cpu - what is stolen from this CPU disturbs a round too. */
static inline void sr_bench_watch_cpu(struct sr_bench *b, int cpu)
{
	if (!sr_bench_watches_cpu(b, cpu) && b->more_cpu_count < SR_BENCH_WATCHED_MAX)
		b->more_cpus[b->more_cpu_count++] = cpu;
}

/* sr_bench_watch_thread - and so do switches of this thread, or of this process' first
 * one, which is where the programs poll and sign. */
static inline void sr_bench_watch_thread(struct sr_bench *b, pid_t thread)
{
	if (b->more_thread_count < SR_BENCH_WATCHED_MAX)
		b->more_threads[b->more_thread_count++] = thread;
}

/* How many are watched. */
static inline uint32_t sr_bench_watched_cpus(const struct sr_bench *b)
{
	return (b->cpus[1] != b->cpus[0] ? 2 : 1) + b->more_cpu_count;
}

static inline uint32_t sr_bench_watched_threads(const struct sr_bench *b)
{
	return (b->peer > 0 ? 2 : 1) + b->more_thread_count;
}

/* sr_bench_steal_of - what the hypervisor has taken from these CPUs since they started. */
static inline uint64_t sr_bench_steal_of(const cpu_set_t *cpus)
{
	uint64_t tick_ns = SR_NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
	unsigned long long steal;
	uint64_t sum_ns = 0;
	char line[512];
	FILE *f = fopen("/proc/stat", "re");
	int cpu;

	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "cpu%d %*u %*u %*u %*u %*u %*u %*u %llu", &cpu, &steal) == 2 &&
		    cpu >= 0 && cpu < CPU_SETSIZE && CPU_ISSET((unsigned int)cpu, cpus))
			sum_ns += steal * tick_ns;
	if (f)
		(void)fclose(f);
	return sum_ns;
}

static inline uint64_t sr_bench_steal_ns(const struct sr_bench *b)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET((unsigned int)b->cpus[0], &cpus);
	CPU_SET((unsigned int)b->cpus[1], &cpus);
	for (uint32_t i = 0; i < b->more_cpu_count; i++)
		CPU_SET((unsigned int)b->more_cpus[i], &cpus);
	return sr_bench_steal_of(&cpus);
}

/* sr_bench_switches - add those of a process's first thread, or of the thread @pid. */
static inline void sr_bench_switches(pid_t pid, struct sr_bench_watch *w)
{
	unsigned long long n;
	char path[64], line[256];
	FILE *f;

	(void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof line, f)) {
		if (sscanf(line, "voluntary_ctxt_switches: %llu", &n) == 1)
			w->voluntary += n;
		else if (sscanf(line, "nonvoluntary_ctxt_switches: %llu", &n) == 1)
			w->involuntary += n;
	}
	if (f)
		(void)fclose(f);
}

static inline struct sr_bench_watch sr_bench_look(const struct sr_bench *b)
{
	struct sr_bench_watch w = { .at_ns = sr_now_ns(), .steal_ns = sr_bench_steal_ns(b) };

	sr_bench_switches(getpid(), &w);
	if (b->peer > 0)
		sr_bench_switches(b->peer, &w);
	for (uint32_t i = 0; i < b->more_thread_count; i++)
		sr_bench_switches(b->more_threads[i], &w);
	return w;
}

/* Adds what happened since @from to the run's sums; true: throw the round away. */
static inline bool sr_bench_disturbed(struct sr_bench *b, const struct sr_bench_watch *from)
{
	struct sr_bench_watch to = sr_bench_look(b);
	uint64_t took_ns = to.at_ns - from->at_ns;
	uint64_t steal_ns = to.steal_ns - from->steal_ns;
	uint64_t involuntary = to.involuntary - from->involuntary;
	bool stolen, switched;

	b->steal_ns += steal_ns;
	b->voluntary += to.voluntary - from->voluntary;
	b->involuntary += involuntary;
	stolen = steal_ns > took_ns / 50;
	switched = involuntary > b->excused + 2 + took_ns * SR_BENCH_SWITCHES_S / SR_NS_PER_S;
	b->thrown_steal += stolen;
	b->thrown_switches += switched;
	return stolen || switched;
}

/* sr_bench_excuse - switches since @from were measured on purpose: no reason to throw away. */
static inline void sr_bench_excuse(struct sr_bench *b, const struct sr_bench_watch *from)
{
	b->excused += sr_bench_look(b).involuntary - from->involuntary;
}

/* ---- rounds ---- */

static inline uint32_t sr_bench_row(struct sr_bench *b, const char *key, const char *text,
				    enum sr_bench_unit unit)
{
	struct sr_bench_row *row = &b->rows[b->row_count];

	row->key = key;
	row->text = text;
	row->unit = unit;
	return b->row_count++;
}

/* One round: each row once, every second time in the opposite order. */
static inline int sr_bench_round(struct sr_bench *b, uint32_t number)
{
	b->excused = 0;
	for (uint32_t i = 0; i < b->row_count; i++) {
		uint32_t at = number & 1 ? b->row_count - 1 - i : i;
		int ret;

		if (b->rows[at].missing)
			continue;
		(void)alarm(SR_BENCH_HANG_S);
		ret = b->measure(b, at);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* sr_bench_run - all the rounds. 0; -EBUSY when too many were disturbed. */
static inline int sr_bench_run(struct sr_bench *b)
{
	for (uint32_t i = 0; i < b->rounds * SR_BENCH_TRIES && b->kept < b->rounds; i++) {
		struct sr_bench_watch from;
		bool disturbed;
		int ret = b->prepare ? b->prepare(b) : 0;

		if (ret < 0)
			return ret;
		from = sr_bench_look(b);
		ret = sr_bench_round(b, i);
		if (ret < 0)
			return ret;
		disturbed = sr_bench_disturbed(b, &from);
		b->thrown += disturbed;
		if (disturbed && !b->keep_disturbed)
			continue;
		b->kept++;
		for (uint32_t at = 0; at < b->row_count; at++)
			if (!b->rows[at].missing)
				b->rows[at].values[b->rows[at].count++] = b->rows[at].now;
	}
	(void)alarm(0);
	return b->kept < b->rounds ? -EBUSY : 0;
}

/* Takes --delay apart, once the rows are known. */
static inline int sr_bench_delay(struct sr_bench *b, struct sr_reason *why)
{
	const char *colon = b->delay ? strchr(b->delay, ':') : NULL;
	char *end = NULL;

	b->delay_row = -1;
	if (!b->delay)
		return 0;
	for (uint32_t i = 0; colon && i < b->row_count; i++)
		if (strlen(b->rows[i].key) == (size_t)(colon - b->delay) &&
		    !memcmp(b->rows[i].key, b->delay, (size_t)(colon - b->delay)))
			b->delay_row = (int)i;
	b->delay_ns = colon ? strtoull(colon + 1, &end, 10) : 0;
	if (b->delay_row < 0 || !end || *end || end == colon + 1 || b->delay_ns > SR_NS_PER_S)
		return sr_reason_set(why, -EINVAL, "--delay takes ROW:NS, a row's key from the "
				     "JSON and at most 1000000000, not `%s`", b->delay);
	return 0;
}

/*
 * sr_bench_begin - two CPUs, ourselves on the first, a watchdog.
 *
 * Call it before any thread or child that is to be measured is made.
 */
static inline int sr_bench_begin(struct sr_bench *b, struct sr_reason *why)
{
	int ret = sr_bench_cpus(b->cpus, why);

	if (ret < 0)
		return ret;
	(void)sched_getaffinity(0, sizeof b->allowed, &b->allowed);
	/* In turns, the best of each: what a program before us leaves behind soon goes. */
	for (int turn = 2 * SR_BENCH_PACE_TURNS - 1; turn >= 0; turn--) {
		int at = turn % 2; /* the first of the two in the end, and there we stay */
		uint64_t pace_ns;

		ret = sr_bench_pin(b->cpus[at]);
		if (ret < 0)
			return sr_reason_set(why, ret, "cannot pin to CPU %d: %s", b->cpus[at],
					     strerror(-ret));
		pace_ns = sr_bench_pace_ns();
		if (!b->pace_ns[at] || pace_ns < b->pace_ns[at])
			b->pace_ns[at] = pace_ns;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGALRM, sr_bench_hung);
	(void)alarm(SR_BENCH_HANG_S);
	b->delay_row = -1;
	return 0;
}

/* ---- ratios ---- */

/*
 * sr_bench_quotient - median of the rounds' quotients.
 *
 * Returns 0 with *value set; -EXDEV when a side was not measured within this run's
 * process tree; -ENODATA when a side has no rounds, or not the other's.
 */
static inline int sr_bench_quotient(double *value, const struct sr_bench_ratio *r)
{
	double sorted[SR_BENCH_ROUNDS_MAX];
	uint32_t count = r->over->count;

	if (!count || count != r->under->count)
		return -ENODATA;
	if (!r->over->tree || r->over->tree != r->under->tree)
		return -EXDEV;
	for (uint32_t i = 0; i < count; i++)
		sorted[i] = r->over->values[i] / r->under->values[i];
	*value = sr_bench_rank(sorted, count, SR_BENCH_SHARE_ALL / 2);
	return 0;
}

static inline bool sr_bench_within(const struct sr_bench_ratio *r, double value, double bound)
{
	return r->at_least ? value >= bound : value <= bound;
}

static inline const char *sr_bench_verdict(const struct sr_bench_ratio *r, double value)
{
	if (r->gate <= 0)
		return "";
	if (!sr_bench_within(r, value, r->gate))
		return "GATE MISSED";
	return sr_bench_within(r, value, r->goal) ? "goal met" : "gate met";
}

/* ---- output ---- */

static inline void sr_bench_print_row(const struct sr_bench_row *row)
{
	double low = sr_bench_of(row, SR_BENCH_SHARE_ALL / 4);
	double mid = sr_bench_of(row, SR_BENCH_SHARE_ALL / 2);
	double high = sr_bench_of(row, SR_BENCH_SHARE_ALL / 4 * 3);

	if (row->missing)
		(void)printf("  %-52s  not here: %s\n", row->text, row->missing);
	else if (row->unit == SR_BENCH_NS)
		(void)printf("  %-52s %9.0f ns  (%.0f .. %.0f)\n", row->text, mid, low, high);
	else if (mid >= 1e6)
		(void)printf("  %-52s %9.3f M/s (%.3f .. %.3f)\n", row->text, mid / 1e6, low / 1e6,
			     high / 1e6);
	else
		(void)printf("  %-52s %9.0f /s  (%.0f .. %.0f)\n", row->text, mid, low, high);
}

static inline void sr_bench_print_ratio(const struct sr_bench_ratio *r)
{
	double value = 0;
	int ret = sr_bench_quotient(&value, r);

	if (ret < 0)
		(void)printf("  %-52s  refused: %s\n", r->text,
			     ret == -EXDEV ? "its sides are not of this run's processes" :
					     "a side was not measured");
	else if (r->gate > 0)
		(void)printf("  %-52s %9.*f     gate %s %.2f, goal %.2f: %s\n", r->text,
			     value < 1 ? 3 : 2, value, r->at_least ? ">=" : "<=", r->gate, r->goal,
			     sr_bench_verdict(r, value));
	else
		(void)printf("  %-52s %9.*f\n", r->text, value < 1 ? 3 : 2, value);
}

/* sr_bench_print_machine - the head of a run. @pinned: what to say behind the CPUs. */
static inline void sr_bench_print_machine(const struct sr_machine *m, const char *pinned)
{
	(void)printf("%s, %ld CPUs%s; Linux %s; load average %.1f\n", m->cpu,
		     sysconf(_SC_NPROCESSORS_ONLN), pinned, m->kernel, m->load);
	(void)printf("%s; libsecp256k1 %s; liburing %s\n", OpenSSL_version(OPENSSL_VERSION),
		     m->secp256k1, m->liburing);
	sr_machine_print(stdout, m);
}

static inline void sr_bench_print_text(const struct sr_bench *b, const struct sr_machine *m,
				       const struct sr_bench_ratio *ratios, uint32_t ratio_count)
{
	char pinned[64];

	(void)snprintf(pinned, sizeof pinned, b->cpus[1] != b->cpus[0] ? ", pinned to %d and %d" :
		       ", pinned to %d", b->cpus[0], b->cpus[1]);
	(void)printf("%s %s%s%s\n", b->name, SR_VERSION, b->notice ? ": " : "",
		     b->notice ? b->notice : "");
	sr_bench_print_machine(m, pinned);
	(void)printf("%u rounds used, %u disturbed%s (%u by steal, %u by switches); steal %.0f ms "
		     "(CPUs watched: %u); context switches (threads watched: %u): %llu voluntary, %llu involuntary\n",
		     b->kept, b->thrown, b->keep_disturbed ? " AND USED" : " and thrown away",
		     b->thrown_steal, b->thrown_switches, (double)b->steal_ns / 1e6,
		     sr_bench_watched_cpus(b), sr_bench_watched_threads(b),
		     (unsigned long long)b->voluntary, (unsigned long long)b->involuntary);
	if (b->cpus[1] != b->cpus[0] && sr_bench_uneven(b) > SR_BENCH_UNEVEN)
		(void)printf("UNEVEN: before the run CPU %d took %.2f times as long as CPU %d for the "
			     "same work (a neighbour on its core?): ratios of what runs on one to "
			     "what runs on the other lean by that\n",
			     b->cpus[b->pace_ns[1] > b->pace_ns[0]], sr_bench_uneven(b),
			     b->cpus[b->pace_ns[1] <= b->pace_ns[0]]);
	if (b->delay_row >= 0)
		(void)printf("INJECTED: %llu ns in %s\n", (unsigned long long)b->delay_ns,
			     b->rows[b->delay_row].key);
	(void)printf("medians of the rounds (quartiles):\n");
	for (uint32_t i = 0; i < b->row_count; i++)
		sr_bench_print_row(&b->rows[i]);
	(void)printf("ratios, medians of the rounds' own quotients:\n");
	for (uint32_t i = 0; i < ratio_count; i++)
		sr_bench_print_ratio(&ratios[i]);
}

/* None of our texts needs an escape; the CPU's name might. */
static inline void sr_bench_json_text(const char *key, const char *text)
{
	(void)printf("\"%s\":\"", key);
	for (; *text; text++)
		if (*text >= ' ' && *text != '"' && *text != '\\')
			(void)putchar(*text);
	(void)printf("\",");
}

/* sr_bench_json_machine - the head again, members of an object that is open. */
static inline void sr_bench_json_machine(const struct sr_machine *m)
{
	sr_bench_json_text("version", SR_VERSION);
	sr_bench_json_text("cpu", m->cpu);
	sr_bench_json_text("kernel", m->kernel);
	sr_bench_json_text("openssl", OpenSSL_version(OPENSSL_VERSION));
	sr_bench_json_text("libsecp256k1", m->secp256k1);
	sr_bench_json_text("liburing", m->liburing);
	sr_machine_json(stdout, m);
	(void)putchar(',');
}

static inline void sr_bench_json_ratios(const struct sr_bench_ratio *ratios, uint32_t count)
{
	(void)printf("\"ratios\":{");
	for (uint32_t i = 0; i < count; i++) {
		const struct sr_bench_ratio *r = &ratios[i];
		double value = 0;

		(void)printf("%s\"%s\":", i ? "," : "", r->key);
		if (sr_bench_quotient(&value, r) < 0) {
			(void)printf("null");
			continue;
		}
		(void)printf("{\"value\":%.4f", value);
		if (r->gate > 0)
			(void)printf(",\"gate\":%.2f,\"goal\":%.2f,\"met\":%s", r->gate, r->goal,
				     sr_bench_within(r, value, r->gate) ? "true" : "false");
		(void)printf("}");
	}
	(void)printf("}");
}

static inline void sr_bench_print_json(const struct sr_bench *b, const struct sr_machine *m,
				       const struct sr_bench_ratio *ratios, uint32_t ratio_count)
{
	bool first = true;

	(void)printf("{");
	sr_bench_json_text("program", b->name);
	sr_bench_json_text("notice", b->notice ? b->notice : "");
	sr_bench_json_machine(m);
	(void)printf("\"cpus\":[%d,%d],\"pace_ns\":[%llu,%llu],\"watched_cpus\":%u,\"watched_threads\":%u,"
		     "\"load\":%.2f,\"rounds\":%u,\"disturbed\":%u,"
		     "\"disturbed_by_steal\":%u,\"disturbed_by_switches\":%u,"
		     "\"disturbed_used\":%s,\"steal_ns\":%llu,\"voluntary\":%llu,"
		     "\"involuntary\":%llu,\"rows\":{", b->cpus[0], b->cpus[1],
		     (unsigned long long)b->pace_ns[0], (unsigned long long)b->pace_ns[1],
		     sr_bench_watched_cpus(b), sr_bench_watched_threads(b), m->load, b->kept,
		     b->thrown, b->thrown_steal, b->thrown_switches,
		     b->keep_disturbed ? "true" : "false", (unsigned long long)b->steal_ns,
		     (unsigned long long)b->voluntary,
		     (unsigned long long)b->involuntary);
	for (uint32_t i = 0; i < b->row_count; i++) {
		const struct sr_bench_row *row = &b->rows[i];

		if (row->missing)
			continue;
		(void)printf("%s\"%s\":{\"unit\":\"%s\",\"median\":%.1f,\"q1\":%.1f,\"q3\":%.1f}",
			     first ? "" : ",", row->key, row->unit == SR_BENCH_NS ? "ns" : "1/s",
			     sr_bench_of(row, SR_BENCH_SHARE_ALL / 2),
			     sr_bench_of(row, SR_BENCH_SHARE_ALL / 4),
			     sr_bench_of(row, SR_BENCH_SHARE_ALL / 4 * 3));
		first = false;
	}
	(void)printf("},");
	sr_bench_json_ratios(ratios, ratio_count);
	if (b->json_more)
		b->json_more(b);
	(void)printf("}\n");
}

/*
 * sr_bench_end - print everything. Returns the exit code: 0, or 1 when --gates was
 * given and a gate was missed or could not be judged.
 */
static inline int sr_bench_end(const struct sr_bench *b, const struct sr_bench_ratio *ratios,
			       uint32_t ratio_count)
{
	struct sr_machine machine;
	int missed = 0;

	(void)signal(SIGCHLD, SIG_DFL); /* pkg-config is started; the peer is not needed */
	sr_machine_get(&machine);
	if (b->json)
		sr_bench_print_json(b, &machine, ratios, ratio_count);
	else
		sr_bench_print_text(b, &machine, ratios, ratio_count);
	for (uint32_t i = 0; i < ratio_count; i++) {
		double value = 0;

		if (ratios[i].gate > 0 && (sr_bench_quotient(&value, &ratios[i]) < 0 ||
					   !sr_bench_within(&ratios[i], value, ratios[i].gate)))
			missed = 1;
	}
	return b->gates ? missed : 0;
}

static inline int sr_bench_fail(const struct sr_bench *b, int error, const struct sr_reason *why)
{
	if (error == -EBUSY)
		(void)fprintf(stderr, "%s: only %u of %u rounds were undisturbed: stop what else runs "
			      "here (steal %.0f ms, %llu involuntary switches), or look with "
			      "--keep-disturbed\n", b->name, b->kept, b->rounds,
			      (double)b->steal_ns / 1e6, (unsigned long long)b->involuntary);
	else
		(void)fprintf(stderr, "%s: %s\n", b->name,
			      why && why->text[0] ? why->text : strerror(-error));
	return error == -EINVAL ? 2 : 1;
}

/* ---- the self-test's common part ---- */

static inline bool sr_bench_check(const struct sr_bench *b, bool good, const char *what,
				  const char *about)
{
	if (!good)
		(void)fprintf(stderr, "%s: selftest: %s: %s\n", b->name, about, what);
	return good;
}

/* Nearest rank by its definition, counting, without a sort. */
static inline double sr_bench_rank_oracle(const double *values, uint32_t count, uint32_t share)
{
	double best = 0;
	bool found = false;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t below = 0;

		for (uint32_t k = 0; k < count; k++)
			below += values[k] <= values[i];
		if (below * SR_BENCH_SHARE_ALL >= (uint64_t)share * count &&
		    (!found || values[i] < best)) {
			best = values[i];
			found = true;
		}
	}
	return best;
}

static inline bool sr_bench_test_ranks(const struct sr_bench *b)
{
	static const uint32_t shares[] = { 0, 1, 25000, 50000, 90000, 99000, 99900, 100000 };
	static const uint32_t counts[] = { 1, 2, 3, 4, 10, 99, 100, 101, 999, 1000 };
	double values[SR_BENCH_ROUNDS_MAX], sorted[SR_BENCH_ROUNDS_MAX];
	uint64_t x = 88172645463325252u;
	bool good = true;

	for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
		for (size_t s = 0; s < sizeof shares / sizeof shares[0]; s++) {
			for (uint32_t i = 0; i < counts[c]; i++) {
				x ^= x << 13, x ^= x >> 7, x ^= x << 17;
				values[i] = (double)(x % 50); /* many equal ones */
			}
			memcpy(sorted, values, sizeof sorted);
			good &= sr_bench_rank(sorted, counts[c], shares[s]) ==
				sr_bench_rank_oracle(values, counts[c], shares[s]);
		}
	return sr_bench_check(b, good, "differ from the definition", "percentiles");
}

/* An orphan's pid is nobody's of ours; so is whoever started us. */
static inline bool sr_bench_test_tree(const struct sr_bench *b)
{
	static struct sr_bench_row ours, theirs;
	struct sr_bench_ratio ratio = { "k", "t", &ours, &theirs, 1, 1, false };
	double value = 0;
	bool good;

	ours.count = theirs.count = 3;
	for (int i = 0; i < 3; i++) {
		ours.values[i] = 6;
		theirs.values[i] = 3;
	}
	ours.tree = sr_bench_tree(b->peer > 0 ? b->peer : getpid());
	theirs.tree = sr_bench_tree(getpid());
	good = sr_bench_check(b, sr_bench_quotient(&value, &ratio) == 0 && value > 1.9 && value < 2.1,
			      "is refused within one run", "a ratio");
	theirs.tree = sr_bench_tree(getppid());
	good &= sr_bench_check(b, sr_bench_quotient(&value, &ratio) == -EXDEV,
			       "is given over another run's process", "a ratio");
	theirs.tree = ours.tree + 1;
	good &= sr_bench_check(b, sr_bench_quotient(&value, &ratio) == -EXDEV,
			       "is given over another run's process", "a ratio");
	theirs.tree = ours.tree;
	theirs.count = 2;
	return sr_bench_check(b, sr_bench_quotient(&value, &ratio) == -ENODATA,
			      "is given over other rounds", "a ratio") && good;
}

#define SR_BENCH_TEST_SLEEPS 40u

/* A thread that gives its CPU up again and again, and lives on until it is told. */
struct sr_bench_sleeper {
	uint32_t id;
	uint32_t asleep;
	uint32_t end;
};

static inline void *sr_bench_sleep(void *arg)
{
	struct sr_bench_sleeper *s = arg;

	sr_store32_release(&s->id, (uint32_t)gettid());
	/* Each pairs with a release in sr_bench_test_watch(), or that with one here. */
	while (!sr_load32_acquire(&s->asleep))
		sr_pause();
	for (uint32_t i = 0; i < SR_BENCH_TEST_SLEEPS; i++)
		(void)usleep(100);
	sr_store32_release(&s->asleep, 0);
	while (!sr_load32_acquire(&s->end))
		(void)usleep(100);
	return NULL;
}

/* What any of several threads does is seen, and each CPU is counted once. */
static inline bool sr_bench_test_watch(const struct sr_bench *b)
{
	struct sr_bench_sleeper sleeper = { 0 };
	struct sr_bench_watch before, after;
	struct sr_bench more = { .cpus = { 0, 1 } };
	pthread_t thread;

	sr_bench_watch_cpu(&more, 1);
	sr_bench_watch_cpu(&more, 7);
	sr_bench_watch_cpu(&more, 7);
	if (!sr_bench_check(b, sr_bench_watched_cpus(&more) == 3 && sr_bench_watches_cpu(&more, 7) &&
			       !sr_bench_watches_cpu(&more, 2), "is not as it was asked for",
			    "the list of CPUs") ||
	    pthread_create(&thread, NULL, sr_bench_sleep, &sleeper))
		return false;
	while (!sr_load32_acquire(&sleeper.id))
		sr_pause();
	sr_bench_watch_thread(&more, getpid()); /* the last of several */
	sr_bench_watch_thread(&more, (pid_t)sleeper.id);
	before = sr_bench_look(&more);
	sr_store32_release(&sleeper.asleep, 1);
	while (sr_load32_acquire(&sleeper.asleep))
		sr_pause();
	after = sr_bench_look(&more);
	sr_store32_release(&sleeper.end, 1);
	(void)pthread_join(thread, NULL);
	return sr_bench_check(b, after.voluntary - before.voluntary >= SR_BENCH_TEST_SLEEPS,
			      "is not watched", "a thread beside the usual two");
}

static inline bool sr_bench_test_pace(const struct sr_bench *b)
{
	const struct sr_bench even = { .pace_ns = { 1000, 1000 } };
	const struct sr_bench uneven = { .pace_ns = { 1000, 1300 } };

	return sr_bench_check(b, sr_bench_uneven(&even) == 1 && sr_bench_uneven(&uneven) > 1.29 &&
				 sr_bench_uneven(&uneven) < 1.31 && b->pace_ns[0] > 0 &&
				 b->pace_ns[1] > 0, "is not what it was", "the pace of two CPUs");
}

#define SR_BENCH_TEST_DELAY_NS (2u * SR_NS_PER_MS)
#define SR_BENCH_TEST_TRIES 5

/* The best batch of each row with a delay in row @at: it must be there alone. */
static inline bool sr_bench_test_delay(struct sr_bench *b, uint32_t at)
{
	b->delay_row = (int)at;
	b->delay_ns = b->test_delay_ns ? b->test_delay_ns : SR_BENCH_TEST_DELAY_NS;
	for (uint32_t i = 0; i < b->row_count; i++) {
		const struct sr_bench_row *row = &b->rows[i];
		double best_ns = 0;
		bool good = false;

		/* Other load may slow a row down for a while, never for ever. */
		for (int try = 0; try < SR_BENCH_TEST_TRIES && !good && !row->missing; try++) {
			(void)alarm(SR_BENCH_HANG_S);
			if (b->measure(b, i) < 0)
				return sr_bench_check(b, false, "cannot be measured", row->key);
			best_ns = row->unit == SR_BENCH_NS ? row->best : 1e9 / row->best;
			good = (best_ns >= (double)b->delay_ns) == (i == at);
		}
		if (!row->missing &&
		    !sr_bench_check(b, good, i == at ? "does not show its delay" :
						       "shows another row's delay", row->key))
			return false;
	}
	b->delay_row = -1;
	return true;
}

/* sr_bench_selftest - the exit code of --selftest. */
static inline int sr_bench_selftest(struct sr_bench *b)
{
	bool good = sr_bench_test_ranks(b);

	good = sr_bench_test_tree(b) && good;
	good = sr_bench_test_watch(b) && good;
	good = sr_bench_test_pace(b) && good;
	for (uint32_t i = 0; i < b->row_count && good; i++)
		if (!b->rows[i].missing)
			good = sr_bench_test_delay(b, i);
	(void)printf("%s: selftest: %s\n", b->name, good ? "ok" : "FAILED");
	return good ? 0 : 1;
}

/* ---- main ---- */

static inline int sr_bench_judge(struct sr_bench *b, struct sr_reason *why)
{
	int ret = sr_bench_delay(b, why), code;

	if (ret < 0)
		return ret;
	if (b->selftest)
		code = b->test ? b->test(b) : sr_bench_selftest(b);
	else
		code = sr_bench_run(b);
	(void)signal(SIGCHLD, SIG_DFL); /* what ends from here on is ours to wait for */
	ret = code >= 0 && b->check ? b->check(b, why) : 0;
	return ret < 0 ? ret : code;
}

/*
 * sr_bench_main - what every benchmark's main() is: options, CPUs, peers, rounds or the
 * self-test, figures. Returns the exit code.
 */
static inline int sr_bench_main(struct sr_bench *b, const struct sr_program *program, int argc,
				char **argv)
{
	struct sr_reason why = { 0, "" };
	int ret = sr_config_args(program, argc, argv, &why);

	if (ret >= 0)
		ret = ret < argc ? sr_reason_set(&why, -EINVAL, "unexpected argument `%s`",
						 argv[ret]) : sr_bench_begin(b, &why);
	if (ret < 0)
		return sr_bench_fail(b, ret, &why);
	ret = b->set_up(b, &why);
	if (ret >= 0)
		ret = sr_bench_judge(b, &why);
	(void)signal(SIGCHLD, SIG_DFL);
	if (ret >= 0 && !b->selftest)
		ret = b->report(b);
	else if (ret < 0 && b->log)
		b->log();
	b->tear_down(b);
	return ret < 0 ? sr_bench_fail(b, ret, &why) : ret;
}

#endif /* SR_BENCH_H */
