/* SPDX-License-Identifier: MIT */
/*
 * sr_hibachi.h - orders of Hibachi; the worked example of docs/adding-a-venue.md.
 *
 * Not EIP-712: ECDSA over the SHA-256 of
 *
 *	nonce u64 || contract u32 || quantity u64 || side u32 [|| price u64] || max fee u64
 *
 * big-endian, with a recovery id of 0 or 1 behind r and s (hibachi-xyz/hibachi_sdk,
 * api.py). The body:
 *
 *	  8  nonce     u64   microseconds, as the SDK makes it: unique
 *	 16  contract  u32
 *	 20  zero      u32
 *	 24  quantity  u64   in the contract's units
 *	 32  price     u64   2^32 fixed point, scaled by the contract; 0 of a market order
 *	 40  max fee   u64   10^-8
 */
#ifndef SR_HIBACHI_H
#define SR_HIBACHI_H

#include "sr_base.h"
#include "sr_order.h"

#define SR_HIBACHI_BYTES 48u

enum sr_hibachi_action {
	SR_HIBACHI_ORDER = 1,
};

enum sr_hibachi_flag {
	SR_HIBACHI_BID = 1 << 0,
	SR_HIBACHI_MARKET = 1 << 1,
	SR_HIBACHI_FLAGS = (1 << 2) - 1,
};

struct sr_hibachi_order {
	uint64_t nonce;
	uint32_t contract;
	unsigned int flags;
	uint64_t quantity;
	uint64_t price;
	uint64_t max_fee;
};

SR_BEGIN_DECLS

/* sr_hibachi_order_put - the body of an order: its bytes, or -ENOSPC. */
SR_WARN_UNUSED int sr_hibachi_order_put(unsigned char *body, size_t room,
					const struct sr_hibachi_order *order);

SR_END_DECLS

#endif /* SR_HIBACHI_H */
