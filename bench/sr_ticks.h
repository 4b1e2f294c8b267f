/* SPDX-License-Identifier: MIT */
/*
 * sr_ticks.h - a clock for single operations of some hundred nanoseconds.
 *
 * The counter of sr_counter.h, calibrated against CLOCK_MONOTONIC, and held against it
 * again when the run is over; where the machine has none that is steady, CLOCK_MONOTONIC
 * is read itself.
 *
 * Whoever measures with it measures the clock too, as a row of its own, and says so:
 * no figure has it taken off unless that is written beside it.
 */
#ifndef SR_TICKS_H
#define SR_TICKS_H

#include "sr_base.h"
#include "sr_clock.h"
#include "sr_counter.h"

#define SR_TICKS_CALIBRATE_NS (50u * SR_NS_PER_MS)
#define SR_TICKS_DRIFT_PPM_MAX 1000.0

struct sr_ticks {
	bool counter; /* else CLOCK_MONOTONIC, a tick a nanosecond */
	double ns_per_tick;
	uint64_t begin_ticks;
	uint64_t begin_ns;
};

static inline uint64_t sr_ticks_now(const struct sr_ticks *t)
{
	return t->counter ? sr_counter_read() : sr_now_ns();
}

static inline double sr_ticks_ns(const struct sr_ticks *t, uint64_t ticks)
{
	return (double)ticks * t->ns_per_tick;
}

/* Both clocks at one moment: of some pairs of readings the closest. */
static inline void sr_ticks_pair(uint64_t *ticks, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;

	*ticks = *ns = 0;
	for (int i = 0; i < 16; i++) {
		uint64_t before = sr_counter_read(), now_ns = sr_now_ns();
		uint64_t after = sr_counter_read();

		if (after - before < best) {
			best = after - before;
			*ticks = before + best / 2;
			*ns = now_ns;
		}
	}
}

/* sr_ticks_begin - calibrate; takes SR_TICKS_CALIBRATE_NS. */
static inline void sr_ticks_begin(struct sr_ticks *t)
{
	uint64_t ticks, ns;

	t->counter = sr_counter_find() != SR_COUNTER_CLOCK;
	sr_ticks_pair(&t->begin_ticks, &t->begin_ns);
	do
		sr_ticks_pair(&ticks, &ns);
	while (ns - t->begin_ns < SR_TICKS_CALIBRATE_NS);
	t->ns_per_tick = 1;
	if (t->counter)
		t->ns_per_tick = (double)(ns - t->begin_ns) / (double)(ticks - t->begin_ticks);
}

/* sr_ticks_drift_ppm - how far the calibration is off by now, since it began. */
static inline double sr_ticks_drift_ppm(const struct sr_ticks *t)
{
	uint64_t ticks, ns;

	if (!t->counter)
		return 0;
	sr_ticks_pair(&ticks, &ns);
	return (sr_ticks_ns(t, ticks - t->begin_ticks) / (double)(ns - t->begin_ns) - 1.0) * 1e6;
}

#endif /* SR_TICKS_H */
