/* SPDX-License-Identifier: MIT */
/*
 * sr_cosmos_tx.h - what is around a message of a Cosmos chain: SIGN_MODE_DIRECT.
 *
 *	TxBody   { messages = 1: one Any, memo = 2 }
 *	AuthInfo { signer_infos = 1: key, mode 1, sequence; fee = 2: coins, gas }
 *	signed   SignDoc { body = 1, auth info = 2, chain id = 3, account number = 4 }
 *	posted   TxRaw   { body = 1, auth info = 2, signatures = 3 }
 *
 * The first two fields of both are the same bytes, written by the same calls: so what
 * is posted is what was signed. One message and one signer a transaction.
 *
 * In order: begin, the message's own fields, end, auth; then sign_doc or raw.
 */
#ifndef SR_COSMOS_TX_H
#define SR_COSMOS_TX_H

#include "sr_base.h"
#include "sr_out.h"

#define SR_COSMOS_KEY_BYTES 33u /* compressed */
#define SR_COSMOS_ADDRESS_BYTES 20u

/* From here on a sequence is a time in ms and only has to be new (dYdX v4, x/accountplus). */
#define SR_COSMOS_SEQUENCE_TIME (UINT64_C(1) << 40)

/* Who signs, and what the chain may take; borrowed. */
struct sr_cosmos_auth {
	const unsigned char *public_key; /* SR_COSMOS_KEY_BYTES */
	uint64_t sequence;
	uint64_t gas_limit;
	const char *fee_denom; /* with fee_amount; a fee of 0 has no coin */
	size_t fee_denom_bytes;
	uint64_t fee_amount;
};

struct sr_cosmos_marks {
	size_t body, any, value;
};

SR_BEGIN_DECLS

/* sr_cosmos_begin, sr_cosmos_end - around the fields of the message; @url as in
 * "/cosmos.bank.v1beta1.MsgSend". */
void sr_cosmos_begin(struct sr_cosmos_marks *marks, struct sr_out *out, const char *url);
void sr_cosmos_end(const struct sr_cosmos_marks *marks, struct sr_out *out, const char *memo,
		   size_t memo_bytes);

void sr_cosmos_auth_put(struct sr_out *out, const struct sr_cosmos_auth *auth);

/* sr_cosmos_sign_doc, sr_cosmos_raw - what makes it one or the other. */
void sr_cosmos_sign_doc(struct sr_out *out, const char *chain_id, size_t chain_id_bytes,
			uint64_t account_number);
void sr_cosmos_raw(struct sr_out *out, const unsigned char rs[64]);

/* sr_cosmos_broadcast - a node's JSON-RPC call that posts a TxRaw. */
void sr_cosmos_broadcast(struct sr_out *json, const struct sr_out *raw);

/* sr_cosmos_signature_put - the 64 bytes r || s as a JSON string, base64. */
void sr_cosmos_signature_put(struct sr_out *json, const unsigned char rs[64]);

SR_END_DECLS

#endif /* SR_COSMOS_TX_H */
