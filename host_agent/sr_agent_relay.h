/* SPDX-License-Identifier: MIT */
/*
 * sr_agent_relay.h - the agent carries control conversations.
 *
 * A client that says CONTROL instead of HELLO has its socket taken over from the attach
 * server. From then on each of its packets is one whole message (sr_relay.h) and goes
 * to the signer on a stream connection of this conversation, and what comes back is cut
 * into whole messages, one packet each. When either side hangs up, so does the other
 * connection: what the signer has said in whole is delivered first, what a client has
 * said and not waited for may be dropped.
 *
 * Nothing is queued: a conversation holds one message each way, and reads the next one
 * when that has gone. Nobody is connected to before the client's first message is
 * known to be one. A conversation has SR_AGENT_TALK_NS until the signer says BEGUN, and
 * SR_AGENT_BEGUN_NS from then and each later word of the signer on: an operator's may
 * wait for people, and how long is the signer's to say.
 *
 * How many a user may have, and how often his may fail: sr_agent_users.h. A
 * conversation is charged with its client's first message, whatever that asks for,
 * because the signer has work with each and charges its own, common account. It gets
 * that back when the conversation has come to something (sr_relay.h), or when the signer
 * could not be reached; all other ends lose it.
 *
 * It has an epoll instance of its own, whose descriptor the attach thread watches.
 * Nothing here blocks. One thread's own.
 */
#ifndef SR_AGENT_RELAY_H
#define SR_AGENT_RELAY_H

#include "sr_agent.h"
#include "sr_clock.h"

#define SR_AGENT_TALK_NS (10ull * SR_NS_PER_S)
#define SR_AGENT_BEGUN_NS (600ull * SR_NS_PER_S)

/* Written by the attach thread, relaxed. */
struct sr_agent_relay_counters {
	uint64_t conversations; /* open now */
	uint64_t relayed;       /* messages, both ways */
	uint64_t failed;        /* conversations that came to nothing, charged */
	uint64_t refused;       /* that were not carried: too many had failed */
	uint64_t crowded;       /* that were not carried: too many were open */
	uint64_t unreachable;   /* times that the signer could not be connected to */
	uint64_t overdue;       /* conversations that were ended by time */
};

struct sr_agent_relay;

SR_BEGIN_DECLS

/*
 * sr_agent_relay_new - limits, calls and log as @config says.
 *
 * @config: borrowed until sr_agent_relay_delete().
 * Returns 0, -ENOMEM or -EMFILE.
 */
SR_WARN_UNUSED int sr_agent_relay_new(struct sr_agent_relay **relay,
				      const struct sr_agent_config *config);
void sr_agent_relay_delete(struct sr_agent_relay *relay); /* NULL is legal */

/* sr_agent_relay_fd - readable when sr_agent_relay_turn() has something to do. */
int sr_agent_relay_fd(const struct sr_agent_relay *relay);

/*
 * sr_agent_relay_begin - a client has said CONTROL.
 *
 * @sock: SEQPACKET, non-blocking; taken over on success only.
 * Returns 0; -EDQUOT: too many are open; -ENOMEM.
 */
SR_WARN_UNUSED int sr_agent_relay_begin(struct sr_agent_relay *relay, int sock, uint32_t uid,
					uint32_t pid);

/* sr_agent_relay_turn - carry what there is, and end what has taken too long: call it
 * about once a second, whatever the descriptor says. */
void sr_agent_relay_turn(struct sr_agent_relay *relay);

const struct sr_agent_relay_counters *sr_agent_relay_counters(const struct sr_agent_relay *relay);

SR_END_DECLS

#endif /* SR_AGENT_RELAY_H */
