/* SPDX-License-Identifier: MIT */
/*
 * sr_relay.h - what an agent has to know of a conversation that it relays.
 *
 * Sessions are set up, and a signer is provisioned, in conversations apart from the
 * hot stream (sr_control.h, in ring/session). The agent carries whole messages
 * between its client and the signer and understands none: from the first eight bytes
 * of each it takes where it ends, and whether a handshake has succeeded, to limit how
 * often each user's conversations may fail. Little-endian:
 *
 *	0  bytes  u32  of the whole message, 9 .. SR_RELAY_BYTES_MAX
 *	4  kind   u32
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

enum sr_relay_kind {
	SR_RELAY_BEGIN = 3,   /* client: a handshake */
	SR_RELAY_BEGUN = 4,   /* signer: it has succeeded */
	SR_RELAY_REFUSED = 5, /* signer: it, or what came before it, has failed */
};

#endif /* SR_RELAY_H */
