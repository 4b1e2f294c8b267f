/* SPDX-License-Identifier: MIT */
/*
 * sr_exp_run.h - the trading thread of EXP-01: orders by a schedule, or as fast as they
 * are answered.
 *
 * With a rate the loop is open: an order is submitted when its time has come, however
 * many are still on the way (as long as a slot is free), and its time by the schedule is
 * kept beside its submit. Without one the next batch is submitted when the last has been
 * answered. Submit and poll are called on one thread; nothing else is called in between.
 */
#ifndef SR_EXP_RUN_H
#define SR_EXP_RUN_H

#include "sigring.h"
#include "sr_exp.h"

#define SR_EXP_MESSAGE_BYTES 256u

struct sr_exp_engine {
	struct sr_session *session;
	uint32_t key;
	uint32_t counter; /* enum sr_counter_kind */
	uint64_t ticks_per_s;
	uint64_t poll_delay_ns; /* injected before each poll; 0 but in tests */
	uint64_t call_at;       /* in front of which `number` this is called; likewise */
	void (*call)(void *arg);
	void *call_arg;
	uint64_t number;        /* of the last order, in all runs */
	struct sr_completion last; /* of the last order that was popped, */
	unsigned char message[SR_EXP_MESSAGE_BYTES]; /* and what it signs, of a blind one */
	uint32_t typed_key; /* orders of a plan that says so: key, type and body */
	uint16_t typed_type;
	uint16_t typed_bytes;
	const unsigned char *typed_body;
};

SR_BEGIN_DECLS

/*
 * sr_exp_run - submit and pop @count orders.
 *
 * @orders: out: intended, submit and popped of each.
 * @plan:   batch and rate.
 * @first:  out: the slot word of the first.
 *
 * Returns 0; -EBADMSG: an order was not signed; or what sr_submit() or sr_poll() says.
 * With a reason.
 */
SR_WARN_UNUSED int sr_exp_run(struct sr_exp_engine *engine, struct sr_exp_order *orders,
			      uint32_t count, const struct sr_exp_plan *plan, uint64_t *first,
			      struct sr_reason *why);

SR_END_DECLS

#endif /* SR_EXP_RUN_H */
