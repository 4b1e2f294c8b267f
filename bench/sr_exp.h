/* SPDX-License-Identifier: MIT */
/*
 * sr_exp.h - EXP-01: what the files of bench/exp01 share.
 *
 * An order is followed from the trading thread through agent, stream and signer and
 * back. Each of the three takes stamps by a counter of its own and keeps them apart from
 * the records; afterwards they are joined by the slot word. What lies between two stamps
 * is a stage, and the stages of an order add up to its round trip.
 *
 *	stamp                   taken by        ends the stage
 *	intended                the schedule
 *	submit                  client          (late: not part of the round trip)
 *	picked up               agent           submit
 *	written                 agent           agent
 *	received                signer          out, when both have one clock
 *	begun                   signer          queue
 *	opened                  signer          open
 *	policy                  signer          policy
 *	digest                  signer          digest
 *	signed                  signer          sign
 *	sealed                  signer          seal
 *	received                agent           back, when both have one clock
 *	popped                  client          return
 *
 * Client and agent run on one kernel. A signer may not (an enclave never does): then of
 * its stamps differences alone are used, and the two ways of the stream are one stage,
 * `stream`: what passed at the agent, less what passed at the signer.
 */
#ifndef SR_EXP_H
#define SR_EXP_H

#include "sr_counter.h"
#include "sr_histogram.h"
#include "sr_trace.h"

enum sr_exp_stage {
	SR_EXP_SUBMIT = 0,
	SR_EXP_AGENT,
	SR_EXP_OUT,
	SR_EXP_QUEUE,
	SR_EXP_OPEN,
	SR_EXP_POLICY,
	SR_EXP_DIGEST,
	SR_EXP_SIGN,
	SR_EXP_SEAL,
	SR_EXP_BACK,
	SR_EXP_RETURN,
	SR_EXP_STREAM, /* OUT and BACK in one, when there are two clocks */
	SR_EXP_STAGES
};

/* One order; readings of counters, 0: not there. */
struct sr_exp_order {
	uint64_t intended; /* client's and agent's counter */
	uint64_t submit;
	uint64_t picked;
	uint64_t written;
	uint64_t received;
	uint64_t popped;
	uint64_t at[SR_TRACE_MOMENTS]; /* signer's counter */
};

/* What is known of the counters of a run. */
struct sr_exp_clocks {
	struct sr_counter host;
	struct sr_counter signer;
	bool one; /* the signer's stamps can be compared with the host's */
};

/* The stages of one order, in nanoseconds. */
struct sr_exp_stay {
	int64_t round_trip; /* submit to popped */
	int64_t late;       /* intended to submit */
	int64_t stage[SR_EXP_STAGES];
};

/* A row of the experiment. */
struct sr_exp_plan {
	const char *key;
	char text[96];
	uint32_t batch;  /* orders submitted at once */
	uint64_t rate;   /* orders a second; 0: the next batch when the last is answered */
	uint64_t count;  /* orders, a multiple of batch */
	bool refilled;   /* the pool is filled meanwhile; else it was filled before */
	bool typed;      /* a Hyperliquid order, judged by a policy; else 256 bytes */
	bool traced;     /* else submit and popped are all that there is */
};

/* What became of a row. */
struct sr_exp_row {
	struct sr_exp_plan plan;
	struct sr_exp_clocks clocks;
	struct sr_exp_order *orders; /* plan.count of them, those of `joined` first */
	uint64_t joined;   /* orders with every stamp that the plan asks for */
	uint64_t unjoined; /* the others: in round_trip and scheduled, in no stage */
	uint64_t negative; /* stages below 0 within one clock: stamps that cross */
	uint64_t pool_dry; /* takes from an empty pool during the row */
	uint64_t took_ns;
	uint64_t steal_ns;
	uint64_t involuntary; /* context switches of client, agent and, if it is ours, signer */
	bool watched;         /* it is: steal_ns and involuntary are of all three */
	struct sr_histogram round_trip;
	struct sr_histogram scheduled; /* intended to popped */
	struct sr_histogram stages[SR_EXP_STAGES];
};

SR_BEGIN_DECLS

/* sr_exp_stage_key, sr_exp_stage_text - of a stage, for JSON and for people. */
const char *sr_exp_stage_key(enum sr_exp_stage stage);
const char *sr_exp_stage_text(enum sr_exp_stage stage);

/* sr_exp_stage_used - is it one of those that such clocks tell? */
bool sr_exp_stage_used(const struct sr_exp_clocks *clocks, enum sr_exp_stage stage);

/* sr_exp_stay_outside - round trip and lateness alone, which every answered order has.
 * @stay: out; stages are 0. */
void sr_exp_stay_outside(struct sr_exp_stay *stay, const struct sr_exp_order *order,
			 const struct sr_exp_clocks *clocks);

/*
 * sr_exp_stay - the stages of an order.
 *
 * @stay: out; stages that are not used are 0. The used ones add up to the round trip,
 *        but for rounding: less than ten nanoseconds.
 *
 * Returns 0, or -ENODATA when a stamp is missing.
 */
SR_WARN_UNUSED int sr_exp_stay(struct sr_exp_stay *stay, const struct sr_exp_order *order,
			       const struct sr_exp_clocks *clocks);

/* sr_exp_row_new - room for plan->count orders, touched. 0; -ENOMEM. */
SR_WARN_UNUSED int sr_exp_row_new(struct sr_exp_row *row, const struct sr_exp_plan *plan);
void sr_exp_row_delete(struct sr_exp_row *row);

/* sr_exp_row_sum - histograms: of the round trips of all orders, and of the stages of those
 * with every stamp, which are moved to the front. 0; -ENOMEM. */
SR_WARN_UNUSED int sr_exp_row_sum(struct sr_exp_row *row);

SR_END_DECLS

#endif /* SR_EXP_H */
