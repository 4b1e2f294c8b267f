/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "sr_load.h"

void sr_load_search_start(struct sr_load_search *s, uint32_t first, uint32_t floor)
{
	*s = (struct sr_load_search){ .rate = first, .floor = floor < first ? floor : first };
}

static void next_rate(struct sr_load_search *s)
{
	uint64_t next;

	if (s->good && s->bad)
		next = ((uint64_t)s->good + s->bad) / 2;
	else if (s->good)
		next = (uint64_t)s->good * 3 / 2 + 1;
	else
		next = (uint64_t)s->bad * 2 / 3;
	if (next > SR_SCHEDULE_RATE_MAX)
		next = SR_SCHEDULE_RATE_MAX;
	s->rate = next < s->floor ? s->floor : (uint32_t)next;
}

bool sr_load_search_enter(struct sr_load_search *s, bool holds)
{
	*(holds ? &s->held : &s->missed) += 1;
	if (s->held < SR_LOAD_SAMPLES && s->missed < SR_LOAD_SAMPLES)
		return false;
	*(s->held == SR_LOAD_SAMPLES ? &s->good : &s->bad) = s->rate;
	s->held = s->missed = 0;
	if (s->good == SR_SCHEDULE_RATE_MAX || (!s->good && s->bad == s->floor))
		return true;
	if (s->good && s->bad &&
	    (s->bad - s->good <= 1 || (double)s->bad <= (double)s->good * SR_LOAD_NEAR))
		return true;
	next_rate(s);
	return false;
}

/* ---- the ramp ---- */

/* Orders that were refused, lost or never sent were due as well. */
static bool step_holds(const struct sr_load_result *r)
{
	return r->sum.due && r->sum.in_time * 100 >= r->sum.due * 99;
}

/*
 * What disturbs makes a sample worse, never better: one that holds all the same counts. So
 * does one of whose orders half were late: interruptions of milliseconds do not do that.
 */
static bool step_again(const struct sr_load_result *r)
{
	return r->disturbed && !step_holds(r) && r->sum.in_time * 2 >= r->sum.due;
}

static void print_head(const struct sr_load_settings *set)
{
	if (!set->json)
		(void)printf("%10s %10s %9s %8s %8s %10s %10s %10s %10s\n", "rate", "OK/s",
			     "in time", "refused", "unsent", "p50", "p99", "p99.9", "max");
}

static void print_sample(const struct sr_load_settings *set, const struct sr_load_result *r,
			 const char *fate)
{
	char text[3][SR_RANK_TEXT];

	if (set->json)
		return;
	(void)printf("%10llu %10.0f %8.3f%% %8llu %8llu %10s %10s %10s %10.1f  %s",
		     (unsigned long long)r->rate, (double)r->ok / r->seconds,
		     r->sum.due ? 100 * (double)r->sum.in_time / (double)r->sum.due : 0.0,
		     (unsigned long long)(r->rejected + r->lost),
		     (unsigned long long)r->sum.unsent, sr_load_at_us(text[0], &r->latency, 50000),
		     sr_load_at_us(text[1], &r->latency, 99000),
		     sr_load_at_us(text[2], &r->latency, 99900), (double)r->latency.max_ns / 1e3,
		     step_holds(r) ? "holds" : "does not hold");
	if (r->disturbed)
		(void)printf("; disturbed%s: steal %.0f ms, %llu involuntary switches",
			     fate, (double)r->steal_ns / 1e6,
			     (unsigned long long)r->involuntary);
	(void)printf("\n");
	(void)fflush(stdout);
}

int sr_load_ramp(struct sr_load_ramp *ramp, const struct sr_load_settings *set,
		 const struct sr_schedule_config *schedule, struct sr_reason *why)
{
	struct sr_schedule_config step = *schedule;
	struct sr_load_search search;
	uint32_t disturbed = 0; /* in a row, at this rate */
	bool done = false;

	memset(ramp, 0, sizeof *ramp);
	sr_load_search_start(&search, set->rate, SR_LOAD_ORDERS_MIN / set->seconds);
	print_head(set);
	while (!done && !ramp->faults) {
		static struct sr_load_result r;
		uint32_t good = search.good;
		bool again;
		int ret;

		step.rate = search.rate;
		ret = sr_load_phase(&r, set, &step, why);
		if (ret < 0)
			return ret;
		ramp->faults += sr_load_faults(&r.sum);
		ramp->samples++;
		ramp->disturbed += r.disturbed;
		again = step_again(&r) && !set->keep_disturbed;
		ramp->again += again;
		print_sample(set, &r, again ? ", again" : step_again(&r) ? " AND USED" : "");
		if (again) {
			if (++disturbed == SR_LOAD_TRIES)
				return sr_reason_set(why, -EBUSY, "%u samples in a row were disturbed "
						     "(the last by %.0f ms of steal or %llu "
						     "involuntary switches): stop what else runs here, "
						     "or look with --keep-disturbed", disturbed,
						     (double)r.steal_ns / 1e6,
						     (unsigned long long)r.involuntary);
			continue;
		}
		disturbed = 0;
		done = sr_load_search_enter(&search, step_holds(&r));
		if (search.good != good || !search.good)
			ramp->last = r;
	}
	ramp->capacity = search.good;
	ramp->beyond = search.bad ? search.bad : search.rate;
	return 0;
}
