/* SPDX-License-Identifier: MIT */
/*
 * sr_relay.h - what an agent has to know of a conversation that it relays.
 *
 * Sessions are set up, and a signer is provisioned, in conversations apart from the
 * hot stream (sr_control.h, in ring/session). The agent carries whole messages
 * between its client and the signer and understands none: from the first bytes of each
 * it takes where it ends, and whether the conversation has come to something, to limit
 * how often each user's may come to nothing. Little-endian:
 *
 *	0  bytes  u32  of the whole message, 9 .. SR_RELAY_BYTES_MAX
 *	4  kind   u32
 *	10 flags  u16  of BEGIN; SR_RELAY_OPERATOR: an operator's
 *
 * A session's conversation has come to something when the signer says BEGUN. An
 * operator's handshake proves nothing, and a command that was not signed by enough of
 * them still has a result, sealed, behind which the signer hangs up; so theirs has when
 * it says SEALED for the second time.
 *
 * Towards a client each message is one packet of its SEQPACKET socket, after CONTROL
 * (sr_attach.h); towards the signer they follow each other on a stream socket at the
 * signer's control address, one connection a conversation.
 */
#ifndef SR_RELAY_H
#define SR_RELAY_H

#include "sr_base.h"

#define SR_RELAY_HEADER_BYTES 8u
#define SR_RELAY_BYTES_MAX 16384u
#define SR_RELAY_FLAGS 10u
#define SR_RELAY_OPERATOR 2u

enum sr_relay_kind {
	SR_RELAY_BEGIN = 3,   /* client: a handshake */
	SR_RELAY_BEGUN = 4,   /* signer: it has succeeded */
	SR_RELAY_REFUSED = 5, /* signer: it, or what came before it, has failed */
	SR_RELAY_SEALED = 6,  /* both, of an operator's conversation */
};

#endif /* SR_RELAY_H */
