/* SPDX-License-Identifier: MIT */
/*
 * sr_polymarket.h - orders of Polymarket's exchanges, and the proof of a key.
 *
 * V1, V2 and V3 are EIP-712 in the domain "Polymarket CTF Exchange" of their version,
 * their chain and one of five contracts: the domain separators are constants. An order
 * of a deposit wallet (signature type 3) is signed inside ERC-7739's TypedDataSign,
 * in the same domain, and its signature carries what the wallet needs to unwrap it.
 *
 * V2 and V3 do not sign the expiration: policy sees none.
 */
#ifndef SR_POLYMARKET_H
#define SR_POLYMARKET_H

#include "sr_base.h"
#include "sr_order.h"
#include "sr_pm_body.h"
#include "sr_pm_exchange.h"

SR_BEGIN_DECLS

/* sr_pm_struct_hash - of the order in a body that was decoded: what a wrapper contains. */
void sr_pm_struct_hash(unsigned char hash[32], const unsigned char *body);

SR_END_DECLS

#endif /* SR_POLYMARKET_H */
