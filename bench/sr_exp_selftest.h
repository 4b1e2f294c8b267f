/* SPDX-License-Identifier: MIT */
/*
 * sr_exp_selftest.h - does EXP-01 reckon right?
 */
#ifndef SR_EXP_SELFTEST_H
#define SR_EXP_SELFTEST_H

#include "sr_exp_rows.h"

#define SR_EXP_TEST_DELAY_NS (2u * SR_NS_PER_MS)

SR_BEGIN_DECLS

/*
 * sr_exp_test_arithmetic - on orders that are made up: percentiles are those of a count
 * by their definition; a delay in front of any stamp is in the stage that it ends, and
 * in no other, with one clock and with two; stages add up; traces are joined whatever is
 * between, and an order without a stamp has no stages, but its round trip counts.
 *
 * Returns 0 or -EBADMSG with a reason.
 */
SR_WARN_UNUSED int sr_exp_test_arithmetic(struct sr_reason *why);

/*
 * sr_exp_test_run - a short run of everything: every order was joined and its stages add
 * up. And what is injected shows where it must, and in many orders: a wait of
 * SR_EXP_TEST_DELAY_NS before each poll in the last stage alone; an agent that is stopped
 * for a while in the first; a signer that is, in its stream and queue, and by the schedule.
 *
 * @lab: as for a run with signers of our own; what it asks for is changed.
 * Returns 0, -EBADMSG or -errno with a reason.
 */
SR_WARN_UNUSED int sr_exp_test_run(struct sr_exp_lab *lab, struct sr_reason *why);

SR_END_DECLS

#endif /* SR_EXP_SELFTEST_H */
