/* SPDX-License-Identifier: MIT */
/*
 * sr_schedule.h - when orders are due, whatever becomes of those before them.
 *
 * An open loop: the times are a function of the order's number (and of a seed), never
 * of an answer. A latency that is measured from such a time has the wait of an order
 * in it that could not be sent because the one before it was slow: what is called
 * coordinated omission cannot happen. The load of a run is dealt out to so many shares,
 * one for each session.
 */
#ifndef SR_SCHEDULE_H
#define SR_SCHEDULE_H

#include "sr_base.h"

enum sr_schedule_kind {
	SR_SCHEDULE_EVEN,    /* order g of all shares together at g / rate */
	SR_SCHEDULE_POISSON, /* independent arrivals, so many a second on average */
	SR_SCHEDULE_BURST,   /* so many at one instant in every share, again and again */
};

#define SR_SCHEDULE_RATE_MAX 1000000000u

struct sr_schedule_config {
	enum sr_schedule_kind kind;
	uint64_t rate;  /* orders a second, all shares together, 1..SR_SCHEDULE_RATE_MAX */
	uint64_t burst; /* SR_SCHEDULE_BURST: orders at once in each share, not 0 */
	uint64_t seed;
};

struct sr_schedule {
	struct sr_schedule_config config;
	uint32_t share, shares;
	uint64_t number; /* of the order that is next */
	uint64_t due_ns; /* when it is due, from the start */
	double at_ns;    /* the same with its fraction: Poisson */
	uint64_t rng;
};

SR_BEGIN_DECLS

/* sr_schedule_start - stand at the first order of share @share of @shares. */
void sr_schedule_start(struct sr_schedule *s, const struct sr_schedule_config *config,
		       uint32_t share, uint32_t shares);

/* sr_schedule_next - the order after this one. */
void sr_schedule_next(struct sr_schedule *s);

SR_END_DECLS

#endif /* SR_SCHEDULE_H */
