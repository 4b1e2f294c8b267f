/* SPDX-License-Identifier: MIT */
/*
 * sr_manifest_schema.h - the part of a manifest that registers a type of EIP-712.
 *
 *	"schemas": [ {
 *	  "id": 1,                          what orders and policies name it by
 *	  "kind": "order",                  what signing it does: sr_order.h
 *	  "network": "mainnet",             or "testnet"
 *	  "type": "Order(address sellToken,...)",   as EIP-712's encodeType
 *	  "domain": { "name": "Gnosis Protocol", "version": "v2", "chain_id": 1,
 *	              "contract": "0x..." },        or "body", where it differs by order
 *	  "separator": "64 digits",         instead, where nothing else is known of the domain
 *	  "abi": { "member": "data", "type": "TradeModuleData(...)" },
 *	  "roles": { "asset": "sellToken", "size": "sellAmount", ... },   sr_role_name()
 *	  "nonce_kind": "unique",           with that role; or "time_ms", "sequence"
 *	  "side_inverted": true,            true, or 0, sells
 *	  "price_decimals": 18, "size_decimals": 18,   or the asset says them
 *	  "value_decimals": 6,              of a value that is no decimal text
 *	  "expiry_unit": "s",               or "ms", "ns"
 *	  "expiry_bits": 62                 the low ones that are the time
 *	} ]
 *
 * It is compiled here (sr_schema.h), on the control thread; the signing thread has a copy.
 * No two schemas of a manifest can sign one digest.
 */
#ifndef SR_MANIFEST_SCHEMA_H
#define SR_MANIFEST_SCHEMA_H

#include "sr_json.h"
#include "sr_schema.h"

#define SR_SCHEMA_ID_MAX INT32_MAX

SR_BEGIN_DECLS

/*
 * sr_manifest_schema_take - one object.
 *
 * @schema: out, of use on success. @before: those that the manifest has already.
 *
 * Returns 0, or -EBADMSG with a reason.
 */
SR_WARN_UNUSED int sr_manifest_schema_take(struct sr_json *json, struct sr_schema *schema,
					   const struct sr_schema_set *before);

SR_END_DECLS

#endif /* SR_MANIFEST_SCHEMA_H */
