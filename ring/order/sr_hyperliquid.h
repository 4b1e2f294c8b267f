/* SPDX-License-Identifier: MIT */
/*
 * sr_hyperliquid.h - L1 actions of Hyperliquid: all of its trading.
 *
 * What is signed (the venue's Python SDK, hyperliquid/utils/signing.py):
 *
 *	connection = keccak(msgpack(action) || nonce u64 be
 *	                    || 00, or 01 and the vault || nothing, or 00 and expiresAfter u64 be)
 *	digest     = EIP-712 of Agent(source "a" or "b", connection), in a fixed domain
 *
 * Three Keccak calls: domain, type and sources are constants. Of user-signed actions
 * (transfers, withdrawals, approvals) none can be said in this type, and none has the
 * digest of anything that can: their domain is another.
 */
#ifndef SR_HYPERLIQUID_H
#define SR_HYPERLIQUID_H

#include "sr_base.h"
#include "sr_hl_body.h"
#include "sr_order.h"
#include "sr_out.h"

SR_BEGIN_DECLS

/*
 * sr_hl_price_valid - at most 5 significant figures and 6 - sz_decimals decimals (8 for
 * spot), or an integer. @price: scaled by 10^8, not 0.
 *
 * sr_hl_size_valid - at most sz_decimals decimals.
 */
bool sr_hl_price_valid(uint64_t price, unsigned int sz_decimals, bool spot);
bool sr_hl_size_valid(uint64_t size, unsigned int sz_decimals);

/* Where an action leads besides its bytes. */
struct sr_hl_envelope {
	uint64_t nonce;
	const unsigned char *vault; /* 20 bytes, or NULL */
	bool expires;
	uint64_t expires_after;
};

/*
 * sr_hl_connection - the connection id of an action that somebody else encoded, for raw
 * replay. @action: holds its msgpack; what is hashed with it is put behind it.
 *
 * Returns 0, or -ENOSPC.
 */
SR_WARN_UNUSED int sr_hl_connection(unsigned char connection[32], struct sr_out *action,
				    const struct sr_hl_envelope *envelope);

/* sr_hl_agent_digest - what is signed, from a connection id. */
void sr_hl_agent_digest(unsigned char digest[32], const unsigned char connection[32],
			bool testnet);

SR_END_DECLS

#endif /* SR_HYPERLIQUID_H */
