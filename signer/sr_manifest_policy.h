/* SPDX-License-Identifier: MIT */
/*
 * sr_manifest_policy.h - the part of a manifest that says what a key may sign.
 *
 *	"policy": {
 *	  "schemas": [1],                   of typed data: those of the manifest
 *	  "networks": ["mainnet"],          or "testnet", or both
 *	  "chain_ids": [0, 137],            0: an order that has none
 *	  "contracts": ["0x...", "none"],   parties: bytes, or text as the venue has it;
 *	  "accounts": [], "destinations": [], "builders": []     "none": there is none
 *	  "fee_max": 10,                    in the venue's unit
 *	  "value_max": "250.5",             of a transfer, call, margin
 *	  "assets": [ {
 *	    "id": 0,                        or "0x...", or a string of digits
 *	    "size_max": "2.5", "price_min": "90000", "price_max": "110000",
 *	    "notional_max": "100000", "leverage_max": 10,
 *	    "price_decimals": 5, "size_decimals": 3, "tick": 10, "spot": false
 *	  } ],
 *	  "reduce_only": false, "whole_position": true, "market_orders": true,
 *	  "expiry_max_ms": 60000, "block_expiry": true,
 *	  "venue_nonce": "given",           or "checked", or "either"
 *	  "rate": { "key_per_s": 100, "key_burst": 200,
 *	            "session_per_s": 50, "session_burst": 100 },
 *	  "window": { "seconds": 3600, "notional_max": "1000000" },
 *	  "unexpired_notional_max": "200000",
 *	  "lease": false
 *	}
 *
 * Amounts are strings of decimal digits with at most one point, so that no reader takes
 * them for floating point; "unlimited" stands where sigring-manifest(5) says so. What is
 * missing denies.
 */
#ifndef SR_MANIFEST_POLICY_H
#define SR_MANIFEST_POLICY_H

#include "sr_json.h"
#include "sr_policy.h"

SR_BEGIN_DECLS

/*
 * sr_manifest_policy_take - one policy object.
 *
 * @table: its lists grow. @rules: of the key; zero but for its permissions.
 *
 * Returns 0, or -EBADMSG with a reason.
 */
SR_WARN_UNUSED int sr_manifest_policy_take(struct sr_json *json, struct sr_policy_table *table,
					   struct sr_policy_rules *rules);

/* sr_manifest_permit - a name such as "hyperliquid/order". Returns as above. */
SR_WARN_UNUSED int sr_manifest_permit(struct sr_json *json, struct sr_policy_rules *rules,
				      const char *name);

/* sr_policy_rules_typed - do they permit anything? */
bool sr_policy_rules_typed(const struct sr_policy_rules *rules);

SR_END_DECLS

#endif /* SR_MANIFEST_POLICY_H */
