/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "sr_load.h"

#define STALL_MS 200u
#define TRIES 3

static bool check(bool good, const char *what)
{
	if (!good)
		(void)fprintf(stderr, SR_LOAD_PROGRAM ": selftest: %s\n", what);
	return good;
}

/* ---- the books: each completion is entered once, and under its own number ---- */

static bool books(void)
{
	static struct sr_load_slot slots[4];
	static struct sr_load_tally tally;
	static struct sr_load_row row;
	struct sr_load_lane lane = { .mask = 3, .slots = slots, .sent = 3, .target_ns = 7000 };
	struct sr_completion c = { .status = SR_OK };

	for (uint64_t n = 0; n < 3; n++)
		slots[n] = (struct sr_load_slot){ n, 1000 * n, 1000 * n + 500, true };
	sr_load_take(&lane, &tally, &row, &c, 7000);
	sr_load_take(&lane, &tally, &row, &c, 7000); /* again */
	c.user_data = 2;
	c.status = SR_UNKNOWN;
	sr_load_take(&lane, &tally, &row, &c, 9000); /* 1 was due */
	c.user_data = 3;
	sr_load_take(&lane, &tally, &row, &c, 7000); /* of nothing */
	c.user_data = 1;
	c.status = SR_DENIED;
	sr_load_take(&lane, &tally, &row, &c, 90000);
	return check(tally.duplicates == 1, "a second completion is not seen") &&
	       check(tally.strays == 1, "a completion of nothing is not seen") &&
	       check(tally.misordered >= 1, "a completion out of order is not seen") &&
	       check(row.ok == 1 && row.rejected == 1 && row.lost == 1 && lane.answered == 3,
		     "statuses are not told apart") &&
	       check(row.latency.samples == 3 && row.latency.max_ns == 90000 - 1000 &&
			     tally.from_submit.samples == 3 &&
			     tally.from_submit.max_ns == 90000 - 1500,
		     "an answer that is no signature does not enter the percentiles") &&
	       check(tally.signed_.samples == 1 && tally.signed_.max_ns == 7000 &&
			     tally.in_time == 1,
		     "a latency does not begin when its order was due");
}

/* ---- the ramp: from either side, and whatever one sample of three says ---- */

static bool search_finds(uint32_t first, uint32_t knee, bool lies)
{
	struct sr_load_search s;
	bool done = false;

	sr_load_search_start(&s, first, 100);
	for (uint32_t samples = 0; samples < 200 && !done; samples++) {
		bool one_lies = lies && s.held + s.missed == 0;

		done = sr_load_search_enter(&s, (s.rate <= knee) != one_lies);
	}
	return check(done, "a ramp does not end") &&
	       check(knee < 100 ? !s.good && s.bad == 100 :
				  s.good <= knee && knee < s.bad &&
					  (s.bad - s.good <= 1 || s.bad <= s.good * SR_LOAD_NEAR),
		     "a ramp does not find its knee");
}

static bool ramp_finds(void)
{
	static const uint32_t knees[] = { 99, 100, 101, 1234, 5000, 5001, 43210, 900000000 };
	bool good = true;

	for (size_t i = 0; i < sizeof knees / sizeof knees[0] && good; i++)
		good = search_finds(5000, knees[i], false) && search_finds(5000, knees[i], true);
	return good;
}

/* ---- runs ---- */

static bool run_once(const struct sr_load_settings *set, const struct sr_schedule_config *schedule,
		     struct sr_load_result *r, struct sr_load_tally *late)
{
	struct sr_reason why = { 0, "" };
	int ret = sr_load_begin(set, &why);

	if (ret == 0)
		ret = sr_load_phase(r, set, schedule, &why);
	if (ret == 0)
		ret = sr_load_end(late, &why);
	if (ret < 0)
		sr_load_rig_log();
	sr_load_abort();
	return check(ret == 0, why.text);
}

static bool exactly_once(const struct sr_load_settings *set, const struct sr_load_result *r,
			 const struct sr_load_tally *late)
{
	bool good = check(sr_load_faults(&r->sum) == 0, "not every submit has one completion") &&
		    check(sr_load_faults(late) == 0, "a completion too many, or a bad signature") &&
		    check(late->verified > 0, "no signature was verified") &&
		    check(r->sum.due == r->sum.sent + r->sum.unsent && r->answered == r->sum.sent,
			  "the sums do not agree") &&
		    check(r->latency.samples == r->sum.due,
			  "an order that was due is not in the percentiles");

	if (!good)
		sr_load_print_result(set, r);
	return good;
}

/*
 * The signer stands still for a tenth of the run. Of the orders that were due meanwhile
 * half waited for more than half of that: 5 % of all, while only those few that fit into
 * the rings would have told a loop that waits for its answers. With a deadline they are
 * answered EXPIRED: they waited all the same, and the percentiles are no better for it.
 */
static bool stall_shows(const struct sr_load_settings *base, uint32_t deadline_us)
{
	struct sr_load_settings set = *base;
	const struct sr_schedule_config even = { .kind = SR_SCHEDULE_EVEN, .rate = 2000 };
	static struct sr_load_result r;
	static struct sr_load_tally late;
	bool shown = false;

	set.processes = 2;
	set.sessions = 1;
	set.depth = 4;
	set.seconds = 2;
	set.deadline_us = deadline_us;
	set.events[0] = (struct sr_load_event){ .what = SR_LOAD_SIGNER,
						.at_ns = SR_NS_PER_S,
						.stop_ns = STALL_MS * SR_NS_PER_MS };
	set.event_count = 1;
	/* Other load on the machine may stretch it, not for ever. */
	for (int try = 0; try < TRIES && !shown; try++) {
		uint64_t half_ns = STALL_MS * SR_NS_PER_MS / 2;
		uint64_t open, closed;

		if (!run_once(&set, &even, &r, &late) || !exactly_once(&set, &r, &late))
			return false;
		open = sr_buckets_above(&r.latency, half_ns);
		closed = sr_buckets_above(&r.sum.from_submit, half_ns);
		shown = open >= r.sum.due * 3 / 100 && closed <= open / 4 &&
			sr_buckets_rank(&r.latency, 97000) >= half_ns &&
			r.sum.in_time * 100 < r.sum.due * 97 &&
			(!deadline_us || r.sum.by_status[SR_EXPIRED] > 0);
	}
	if (!check(shown, "a stall does not show in the percentiles, or only in single samples"))
		sr_load_print_result(&set, &r);
	return shown;
}

/*
 * Who trades gets a CPU when the first orders have long been due: they are sent late, and
 * none is left out. An even schedule says how many there are.
 */
static bool late_start_omits_nothing(const struct sr_load_settings *base)
{
	const struct sr_schedule_config even = { .kind = SR_SCHEDULE_EVEN, .rate = 2000 };
	struct sr_load_settings set = *base;
	static struct sr_load_result r;
	static struct sr_load_tally late;

	set.seconds = 1;
	set.late_ms = 600;
	if (!run_once(&set, &even, &r, &late) || !exactly_once(&set, &r, &late))
		return false;
	return check(r.sum.due == even.rate * set.seconds, "not as many were due as were to be") &&
	       check(sr_buckets_above(&r.latency, set.late_ms / 3 * SR_NS_PER_MS) >= r.sum.due / 10,
		     "orders that were sent late do not look late");
}

/* Everything dies once; what was submitted is answered once. */
static bool deaths_lose_nothing(const struct sr_load_settings *base)
{
	struct sr_load_settings set = *base;
	const struct sr_schedule_config random = { .kind = SR_SCHEDULE_POISSON,
						   .rate = 1000,
						   .seed = 7 };
	static struct sr_load_result r;
	static struct sr_load_tally late;

	set.split = true;
	set.processes = 2;
	set.sessions = 2;
	set.depth = 16;
	set.seconds = 3;
	set.drain_ms = 60000; /* on a busy machine a start takes a while */
	set.events[0] = (struct sr_load_event){ .what = SR_LOAD_AGENT, .at_ns = SR_NS_PER_S / 2 };
	set.events[1] = (struct sr_load_event){ .what = SR_LOAD_SIGNER, .at_ns = SR_NS_PER_S };
	set.events[2] = (struct sr_load_event){ .what = SR_LOAD_CLIENT,
						.at_ns = SR_NS_PER_S * 3 / 2 };
	set.event_count = 3;
	if (!run_once(&set, &random, &r, &late) || !exactly_once(&set, &r, &late))
		return false;
	return check(r.killed == 1, "no client was killed") &&
	       check(r.sum.unsent == 0, "some orders were not sent any more");
}

int sr_load_selftest(struct sr_load_settings *set)
{
	bool good;

	set->quiet = true;
	set->interval_s = 1;
	good = books() && ramp_finds() && stall_shows(set, 0) && stall_shows(set, 20000) &&
	       late_start_omits_nothing(set) && deaths_lose_nothing(set);
	(void)printf("%s: selftest: %s\n", SR_LOAD_PROGRAM, good ? "ok" : "FAILED");
	return good ? 0 : 1;
}
