/* SPDX-License-Identifier: MIT */
/*
 * sr_agent_session.h - what the polling thread does with one session: gives completions,
 * and leaves, loses or hands it back.
 *
 * Inside the agent, and the polling thread's alone. Nothing here reads or writes the
 * stream; nothing allocates, and no system call is made but to ring a doorbell.
 */
#ifndef SR_AGENT_SESSION_H
#define SR_AGENT_SESSION_H

#include "sr_agent_state.h"
#include "sr_record.h"

SR_BEGIN_DECLS

/* sr_agent_count - of a counter of which this thread is the only writer. */
static inline void sr_agent_count(uint64_t *counter, uint64_t by)
{
	sr_store_relaxed(counter, sr_load_relaxed(counter) + by);
}

/* sr_agent_number_done - has number @n its completion? */
static inline bool sr_agent_number_done(const struct sr_agent_session *s, uint64_t n)
{
	return n < s->first_open || s->done[n & (s->depth - 1)];
}

/* sr_agent_tell - mail for the attach thread; waits while its mailbox is full. */
void sr_agent_tell(struct sr_agent *a, enum sr_agent_mail kind, void *object, uint32_t value);

/* sr_agent_publish - the completion of number @n, which has none. */
void sr_agent_publish(struct sr_agent *a, struct sr_agent_session *s, uint64_t n,
		      const unsigned char record[SR_CMP_BYTES]);

/* sr_agent_give - the same by the agent's own word. */
void sr_agent_give(struct sr_agent *a, struct sr_agent_session *s, uint64_t n,
		   enum sr_status status);

/* sr_agent_set_state - what the client sees of its session's link. */
void sr_agent_set_state(struct sr_agent_session *s, enum sr_link_state state);

/* sr_agent_unroute - frames of the signer find the session no more. */
void sr_agent_unroute(struct sr_agent *a, const struct sr_agent_session *s);

/* sr_agent_condemn - the client broke his region: nothing of it is read any more. */
void sr_agent_condemn(struct sr_agent *a, struct sr_agent_session *s);

/*
 * sr_agent_lose - the signer has forgotten the session, or was started anew: what was
 * published and not answered gets its last word. NOT_SENT only for what this agent knows
 * never to have left.
 */
void sr_agent_lose(struct sr_agent *a, struct sr_agent_session *s);

/* sr_agent_return_session - back to the attach thread, which has asked for it. */
void sr_agent_return_session(struct sr_agent *a, struct sr_agent_session *s);

/* sr_agent_refuse_session - one that was never open: the attach thread takes it back with
 * the result, or, if it has asked for it already, with the answer to that. */
void sr_agent_refuse_session(struct sr_agent *a, struct sr_agent_session *s,
			     enum sr_attach_result result);

SR_END_DECLS

#endif /* SR_AGENT_SESSION_H */
