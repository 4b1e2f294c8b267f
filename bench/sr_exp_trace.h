/* SPDX-License-Identifier: MIT */
/*
 * sr_exp_trace.h - the stamps of agent and signer, brought to the orders that they are of.
 *
 * The agent's come from its attach socket (TRACE), the signer's over an operator's
 * conversation, through the same agent or straight from the signer's control address.
 * Neither is read while anything is measured.
 */
#ifndef SR_EXP_TRACE_H
#define SR_EXP_TRACE_H

#include "sr_attach.h"
#include "sr_ctl_session.h"
#include "sr_exp.h"

struct sr_exp_traces {
	const char *socket; /* the agent's; borrowed */
	struct sr_ctl_session *session;
	struct sr_exp_clocks clocks;
	uint64_t agent_next; /* events before are none of ours */
	uint64_t signer_next;
	uint32_t *unwritten; /* picked up, and not written yet; room for `room` */
	uint32_t room;
	struct sr_attach_traced *traced;
	struct sr_trace_entry entries[SR_COMMAND_TRACED_MAX];
};

SR_BEGIN_DECLS

/*
 * sr_exp_traces_open - begin a conversation, and see whether the two keep traces.
 *
 * @where:  agent's socket, trust file, operators; where->control may name the signer.
 * @room:   orders of one sr_exp_traces_join() at most.
 *
 * Returns 0; -EXDEV: the agent's counter is not this process'; or -errno. With a reason.
 */
SR_WARN_UNUSED int sr_exp_traces_open(struct sr_exp_traces *traces, const char *socket,
				      const struct sr_ctl_where *where, uint32_t room,
				      struct sr_reason *why);
void sr_exp_traces_close(struct sr_exp_traces *traces); /* a zeroed one is legal */

/*
 * sr_exp_traces_join - read what came since, and give it to the orders.
 *
 * @orders:    @count of them, the first of which has slot word @first.
 *
 * Returns 0; -EOVERFLOW: a trace is shorter than what was measured; -EPROTO; or -errno.
 * With a reason. Orders of which something is missing stay without it.
 */
SR_WARN_UNUSED int sr_exp_traces_join(struct sr_exp_traces *traces, struct sr_exp_order *orders,
				      uint32_t count, uint64_t first, struct sr_reason *why);

/* sr_exp_join_events - what an agent's events say; pure. @unwritten: @count of them,
 * @pending of which are in use and stay so until the next call. */
void sr_exp_join_events(struct sr_exp_order *orders, uint32_t count, uint64_t first,
			const struct sr_traced_event *events, uint32_t event_count,
			uint32_t *unwritten, uint32_t *pending);

/* sr_exp_join_entries - what a signer's entries say; pure. */
void sr_exp_join_entries(struct sr_exp_order *orders, uint32_t count, uint64_t first,
			 const struct sr_trace_entry *entries, uint32_t entry_count);

SR_END_DECLS

#endif /* SR_EXP_TRACE_H */
