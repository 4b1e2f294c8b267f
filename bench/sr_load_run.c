/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sr_load.h"

#define LEAD_NS (200u * SR_NS_PER_MS) /* from the word until the first order is due */
#define READY_NS (120u * SR_NS_PER_S)
#define SLACK_NS (30u * SR_NS_PER_S) /* behind the drain, until somebody hangs */
#define LOOK_NS (5u * SR_NS_PER_MS)
#define TIMELINE_NS (250u * SR_NS_PER_MS)
/* Involuntary switches of a loop, a second, that are no disturbance: a kernel has work of its own. */
#define SWITCHES_S 40u

struct client {
	pid_t pid; /* 0: not running */
	bool killed;
	struct sr_load_seat seat;
};

static struct {
	const struct sr_load_settings *set;
	struct sr_load_shared *shared;
	struct sr_load_row *rows; /* of all traders */
	struct client clients[SR_LOAD_TRADERS_MAX];
	uint32_t client_count;
	uint32_t phase;
	uint32_t printed; /* rows of the timeline */
	/* What is to be mended. */
	uint64_t mend_ns[SR_LOAD_EVENTS_MAX];
} run;

static void nap_ns(uint64_t ns)
{
	struct timespec ts = { (time_t)(ns / SR_NS_PER_S), (long)(ns % SR_NS_PER_S) };

	(void)nanosleep(&ts, NULL);
}

uint64_t sr_load_faults(const struct sr_load_tally *t)
{
	return t->duplicates + t->strays + t->misordered + t->missing + t->bad_signatures +
	       t->bad_calls + t->omitted;
}

/* ---- clients ---- */

static int client_start(uint32_t share, struct sr_reason *why)
{
	struct client *c = &run.clients[run.client_count];
	int cpu = sr_load_rig_cpu(run.set, share / run.set->sessions);

	if (run.client_count == SR_LOAD_TRADERS_MAX)
		return sr_reason_set(why, -E2BIG, "too many clients, killed ones included");
	*c = (struct client){ .seat = { .set = run.set,
					.shared = run.shared,
					.trader = &run.shared->traders[run.client_count],
					.rows = run.rows + run.client_count * SR_LOAD_ROWS_MAX,
					.share = share,
					.shares = run.set->processes * run.set->sessions,
					.first_phase = run.phase ? run.phase : 1,
					.replaces = run.phase != 0,
					.cpu = cpu,
					.spin = cpu >= 0 } };
	sr_load_rig_seat(&c->seat);
	(void)fflush(NULL);
	c->pid = fork();
	if (c->pid == 0)
		sr_load_trade(&c->seat);
	if (c->pid < 0)
		return sr_reason_set(why, -errno, "cannot start a client");
	run.client_count++;
	return 0;
}

/* One that ended by itself. */
static int client_died(struct sr_reason *why)
{
	for (uint32_t i = 0; i < run.client_count; i++) {
		struct client *c = &run.clients[i];

		if (c->pid <= 0 || waitpid(c->pid, NULL, WNOHANG) != c->pid)
			continue;
		c->pid = 0;
		return sr_reason_set(why, -ECHILD, "a client ended by itself: %s",
				     c->seat.trader->why[0] ? c->seat.trader->why : "no reason");
	}
	return 0;
}

static int await_ready(struct sr_reason *why)
{
	uint64_t end_ns = sr_now_ns() + READY_NS;

	for (uint32_t i = 0; i < run.client_count; i++)
		/* Pairs with the release in sr_load_trade(). */
		while (!sr_load32_acquire(&run.clients[i].seat.trader->ready)) {
			int ret = client_died(why);

			if (ret < 0)
				return ret;
			if (sr_now_ns() > end_ns)
				return sr_reason_set(why, -ETIMEDOUT,
						     "the clients do not get ready");
			nap_ns(LOOK_NS);
		}
	return 0;
}

static void *shared_new(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

int sr_load_begin(const struct sr_load_settings *set, struct sr_reason *why)
{
	int ret;

	memset(&run, 0, sizeof run);
	run.set = set;
	run.shared = shared_new(sizeof *run.shared);
	run.rows = shared_new(SR_LOAD_TRADERS_MAX * SR_LOAD_ROWS_MAX * sizeof *run.rows);
	if (!run.shared || !run.rows)
		return sr_reason_set(why, -ENOMEM, "out of memory");
	ret = sr_load_rig_start(set, why);
	for (uint32_t i = 0; i < set->processes && ret == 0; i++)
		ret = client_start(i * set->sessions, why);
	return ret ? ret : await_ready(why);
}

/* ---- faults ---- */

static int kill_client(struct sr_reason *why)
{
	for (uint32_t i = 0; i < run.client_count; i++) {
		struct client *c = &run.clients[i];

		if (c->pid <= 0)
			continue;
		(void)kill(c->pid, SIGKILL);
		(void)waitpid(c->pid, NULL, 0);
		c->pid = 0;
		c->killed = true;
		return client_start(c->seat.share, why);
	}
	return 0;
}

static int break_it(uint32_t at, const struct sr_load_event *e, struct sr_reason *why)
{
	int ret;

	if (e->what == SR_LOAD_CLIENT)
		return kill_client(why);
	ret = sr_load_rig_signal(e->what, e->stop_ns ? SIGSTOP : SIGKILL);
	run.mend_ns[at] = sr_now_ns() +
			  (e->stop_ns ? e->stop_ns : run.set->restart_ms * SR_NS_PER_MS);
	return ret < 0 ? sr_reason_set(why, ret, "what was to be killed does not run") : 0;
}

static int faults_step(uint32_t *broken, uint64_t past_ns, struct sr_reason *why)
{
	for (uint32_t i = 0; i < run.set->event_count; i++) {
		const struct sr_load_event *e = &run.set->events[i];
		int ret = 0;

		if (!(*broken & 1u << i) && past_ns >= e->at_ns) {
			*broken |= 1u << i;
			ret = break_it(i, e, why);
		} else if (run.mend_ns[i] && sr_now_ns() >= run.mend_ns[i]) {
			run.mend_ns[i] = 0;
			ret = e->stop_ns ? sr_load_rig_signal(e->what, SIGCONT) :
					   sr_load_rig_restart(e->what);
			if (ret < 0)
				ret = sr_reason_set(why, ret, "cannot start again what was killed");
		}
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* ---- a phase ---- */

static bool all_done(void)
{
	for (uint32_t i = 0; i < run.client_count; i++) {
		const struct client *c = &run.clients[i];

		/* Pairs with the release at the end of phase_run(). */
		if (c->pid > 0 && sr_load32_acquire(&c->seat.trader->done) != run.phase)
			return false;
	}
	return true;
}

/* Rows that every client is past. One that takes a place comes in at the present one. */
static uint64_t rows_complete(void)
{
	const struct sr_load_plan *plan = &run.shared->plan;
	uint64_t least = plan->rows, now_ns = sr_now_ns(), present = 0;

	if (all_done())
		return least;
	if (now_ns > plan->start_ns)
		present = (now_ns - plan->start_ns) / plan->interval_ns;
	for (uint32_t i = 0; i < run.client_count; i++) {
		const struct client *c = &run.clients[i];
		uint64_t row = sr_load32_acquire(&c->seat.trader->ready) ?
				       sr_load_acquire(&c->seat.trader->row) :
				       present;

		if (c->pid > 0 && row < least)
			least = row;
	}
	return least;
}

uint32_t sr_load_rows(void)
{
	return run.shared->plan.rows;
}

void sr_load_row_sum(struct sr_load_row *sum, uint32_t at)
{
	memset(sum, 0, sizeof *sum);
	for (uint32_t i = 0; i < run.client_count; i++) {
		const struct sr_load_row *row = &run.clients[i].seat.rows[at];

		sum->sent += row->sent;
		sum->ok += row->ok;
		sum->rejected += row->rejected;
		sum->lost += row->lost;
		sum->full += row->full;
		sr_buckets_merge(&sum->latency, &row->latency);
	}
}

static void timeline(void)
{
	static struct sr_load_row sum;
	uint64_t complete = run.set->quiet || run.set->json ? 0 : rows_complete();

	for (; run.printed < complete; run.printed++) {
		sr_load_row_sum(&sum, run.printed);
		/* The last one, behind the end, is often empty. */
		if (run.printed + 1 < run.shared->plan.rows || sum.sent || sum.ok || sum.lost)
			sr_load_print_row(&sum, run.printed * run.set->interval_s,
					  run.set->interval_s);
	}
}

static void tally_add(struct sr_load_tally *to, const struct sr_load_tally *from)
{
	to->due += from->due;
	to->sent += from->sent;
	to->unsent += from->unsent;
	to->full += from->full;
	to->in_time += from->in_time;
	for (uint32_t i = 0; i < SR_LOAD_STATUSES; i++)
		to->by_status[i] += from->by_status[i];
	to->duplicates += from->duplicates;
	to->strays += from->strays;
	to->misordered += from->misordered;
	to->missing += from->missing;
	to->bad_signatures += from->bad_signatures;
	to->bad_calls += from->bad_calls;
	to->verified += from->verified;
	sr_buckets_merge(&to->owed, &from->owed);
	sr_buckets_merge(&to->signed_, &from->signed_);
	sr_buckets_merge(&to->from_submit, &from->from_submit);
	sr_buckets_merge(&to->send_delay, &from->send_delay);
}

static uint64_t answered(const struct sr_load_tally *t)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < SR_LOAD_STATUSES; i++)
		sum += t->by_status[i];
	return sum;
}

/* How many orders the schedules of all sessions have, counted without sending any. */
static uint64_t scheduled(void)
{
	const struct sr_load_plan *plan = &run.shared->plan;
	uint32_t shares = run.set->processes * run.set->sessions;
	uint64_t count = 0;

	for (uint32_t share = 0; share < shares; share++) {
		struct sr_schedule s;

		sr_schedule_start(&s, &plan->schedule, share, shares);
		for (; plan->start_ns + s.due_ns < plan->end_ns; sr_schedule_next(&s))
			count++;
	}
	return count;
}

/*
 * What a killed client was owed cannot be answered, and what was due while nobody had its
 * place is nobody's; all else is judged.
 */
static void add_up(struct sr_load_result *r)
{
	for (uint32_t i = 0; i < run.client_count; i++) {
		struct client *c = &run.clients[i];
		const struct sr_load_tally *t = &c->seat.trader->tally;

		if (c->killed) {
			c->killed = false;
			r->killed++;
			r->killed_sent += t->sent;
			r->killed_answered += answered(t);
			continue;
		}
		if (c->pid <= 0)
			continue;
		tally_add(&r->sum, t);
		sr_buckets_merge(&r->latency, &t->owed);
		for (uint32_t k = 0; k < run.shared->plan.rows; k++)
			sr_buckets_merge(&r->latency, &c->seat.rows[k].latency);
	}
	if (!r->killed)
		r->sum.omitted = scheduled() - r->sum.due;
	r->answered = answered(&r->sum);
	r->ok = r->sum.by_status[SR_OK];
	for (uint32_t i = SR_OK + 1; i < SR_LOAD_STATUSES; i++)
		*(i < SR_EXPIRED ? &r->rejected : &r->lost) += r->sum.by_status[i];
}

static void watch(struct sr_load_watch *w)
{
	pid_t pids[SR_LOAD_TRADERS_MAX];

	for (uint32_t i = 0; i < run.client_count; i++)
		pids[i] = run.clients[i].pid;
	sr_load_rig_watch(w, pids, run.client_count);
}

/* Loops that share CPUs are switched all the time: of those steal alone is judged. */
static void judge(struct sr_load_result *r, const struct sr_load_watch *from)
{
	struct sr_load_watch to;
	uint64_t took_ns;

	watch(&to);
	took_ns = to.at_ns - from->at_ns;
	r->loops = to.loops;
	r->steal_ns = to.steal_ns - from->steal_ns;
	/* Who was killed has taken his count along. */
	r->involuntary = to.involuntary > from->involuntary ? to.involuntary - from->involuntary : 0;
	r->disturbed = r->steal_ns > took_ns / 50 ||
		       r->involuntary > 2 + to.loops * took_ns * SWITCHES_S / SR_NS_PER_S;
}

/* Where nothing is to be done on the way, nobody takes a loop's CPU to look. */
static void wait_quietly(const struct sr_load_settings *set, const struct sr_load_plan *plan)
{
	uint64_t now_ns = sr_now_ns(), left_ns = plan->end_ns > now_ns ? plan->end_ns - now_ns : 0;

	if (set->event_count || !left_ns)
		nap_ns(LOOK_NS);
	else
		nap_ns(set->quiet || left_ns < TIMELINE_NS ? left_ns : TIMELINE_NS);
}

int sr_load_phase(struct sr_load_result *r, const struct sr_load_settings *set,
		  const struct sr_schedule_config *schedule, struct sr_reason *why)
{
	struct sr_load_plan *plan = &run.shared->plan;
	uint64_t long_ns = set->seconds * SR_NS_PER_S;
	struct sr_load_watch from;
	uint32_t broken = 0;
	int ret = 0;

	run.set = set;
	run.printed = 0;
	memset(run.mend_ns, 0, sizeof run.mend_ns);
	watch(&from);
	*plan = (struct sr_load_plan){ .schedule = *schedule,
				       .start_ns = sr_now_ns() + LEAD_NS -
						   set->late_ms * SR_NS_PER_MS,
				       .drain_ns = set->drain_ms * SR_NS_PER_MS,
				       .interval_ns = set->interval_s * SR_NS_PER_S,
				       .rows = (set->seconds + set->interval_s - 1) /
						       set->interval_s + 1 };
	plan->end_ns = plan->start_ns + long_ns;
	sr_store32_release(&run.shared->phase, ++run.phase);
	while (ret == 0 && !all_done()) {
		uint64_t now_ns = sr_now_ns();

		if (now_ns > plan->start_ns)
			ret = faults_step(&broken, now_ns - plan->start_ns, why);
		if (ret == 0)
			ret = client_died(why);
		if (ret == 0 && now_ns > plan->end_ns + plan->drain_ns + SLACK_NS)
			ret = sr_reason_set(why, -ETIMEDOUT, "a client hangs");
		timeline();
		wait_quietly(set, plan);
	}
	if (ret < 0)
		return ret;
	timeline();
	memset(r, 0, sizeof *r);
	r->rate = schedule->rate;
	r->seconds = (double)long_ns / (double)SR_NS_PER_S;
	add_up(r);
	judge(r, &from);
	return 0;
}

/* ---- the end ---- */

int sr_load_end(struct sr_load_tally *late, struct sr_reason *why)
{
	uint64_t end_ns = sr_now_ns() + READY_NS;

	memset(late, 0, sizeof *late);
	sr_store32_release(&run.shared->stop, 1);
	for (uint32_t i = 0; i < run.client_count; i++) {
		struct client *c = &run.clients[i];
		int status = -1;

		if (c->pid <= 0)
			continue;
		while (waitpid(c->pid, &status, WNOHANG) == 0) {
			if (sr_now_ns() > end_ns)
				return sr_reason_set(why, -ETIMEDOUT, "a client does not end");
			nap_ns(LOOK_NS);
		}
		c->pid = 0;
		if (status != 0)
			return sr_reason_set(why, -ECHILD, "a client ended badly (%#x)",
					     (unsigned int)status);
		tally_add(late, &c->seat.trader->tally);
	}
	return 0;
}

void sr_load_abort(void)
{
	for (uint32_t i = 0; i < run.client_count; i++)
		if (run.clients[i].pid > 0) {
			(void)kill(run.clients[i].pid, SIGKILL);
			(void)waitpid(run.clients[i].pid, NULL, 0);
			run.clients[i].pid = 0;
		}
	sr_load_rig_stop();
	if (run.rows)
		(void)munmap(run.rows,
			     SR_LOAD_TRADERS_MAX * SR_LOAD_ROWS_MAX * sizeof *run.rows);
	if (run.shared)
		(void)munmap(run.shared, sizeof *run.shared);
	memset(&run, 0, sizeof run);
}
