/* SPDX-License-Identifier: MIT */
#include "sr_schedule.h"

#include <math.h>

#include "sr_clock.h"

/* count / rate in nanoseconds, without an overflow. */
static uint64_t time_of(uint64_t count, uint64_t rate)
{
	return count / rate * SR_NS_PER_S + count % rate * SR_NS_PER_S / rate;
}

/* splitmix64: any seed is good, the next one as well. */
static uint64_t draw(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static double gap_ns(struct sr_schedule *s)
{
	double mean_ns = (double)SR_NS_PER_S * s->shares / (double)s->config.rate;

	/* Of (0, 1]: its logarithm is finite. */
	return -log((double)((draw(&s->rng) >> 11) + 1) * 0x1p-53) * mean_ns;
}

static void place(struct sr_schedule *s)
{
	switch (s->config.kind) {
	case SR_SCHEDULE_POISSON:
		s->at_ns += gap_ns(s);
		s->due_ns = (uint64_t)s->at_ns;
		break;
	case SR_SCHEDULE_BURST:
		s->due_ns = time_of(s->number / s->config.burst * s->config.burst * s->shares,
				    s->config.rate);
		break;
	default:
		s->due_ns = time_of(s->number * s->shares + s->share, s->config.rate);
	}
}

void sr_schedule_start(struct sr_schedule *s, const struct sr_schedule_config *config,
		       uint32_t share, uint32_t shares)
{
	*s = (struct sr_schedule){
		.config = *config,
		.share = share,
		.shares = shares,
		.rng = config->seed * shares + share,
	};
	place(s);
}

void sr_schedule_next(struct sr_schedule *s)
{
	s->number++;
	place(s);
}
