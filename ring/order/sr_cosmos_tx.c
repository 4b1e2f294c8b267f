/* SPDX-License-Identifier: MIT */
#include "sr_cosmos_tx.h"

#include "sr_out_text.h"
#include "sr_protobuf.h"

#define SIGN_MODE_DIRECT 1u
#define AMOUNT_DIGITS 20u /* of 2^64 - 1 */

void sr_cosmos_begin(struct sr_cosmos_marks *marks, struct sr_out *out, const char *url)
{
	marks->body = sr_proto_begin(out, 1);
	marks->any = sr_proto_begin(out, 1);
	sr_proto_bytes(out, 1, url, strlen(url));
	marks->value = sr_proto_begin(out, 2);
}

void sr_cosmos_end(const struct sr_cosmos_marks *marks, struct sr_out *out, const char *memo,
		   size_t memo_bytes)
{
	sr_proto_end(out, marks->value);
	sr_proto_end(out, marks->any);
	sr_proto_bytes(out, 2, memo, memo_bytes);
	sr_proto_end(out, marks->body);
}

static void signer_info_put(struct sr_out *out, const struct sr_cosmos_auth *auth)
{
	size_t info = sr_proto_begin(out, 1), any = sr_proto_begin(out, 1), mark;

	SR_PROTO_LITERAL(out, 1, "/cosmos.crypto.secp256k1.PubKey");
	mark = sr_proto_begin(out, 2);
	sr_proto_bytes(out, 1, auth->public_key, SR_COSMOS_KEY_BYTES);
	sr_proto_end(out, mark);
	sr_proto_end(out, any);

	mark = sr_proto_begin(out, 2);
	any = sr_proto_begin(out, 1);
	sr_proto_uint(out, 1, SIGN_MODE_DIRECT);
	sr_proto_end(out, any);
	sr_proto_end(out, mark);

	sr_proto_uint(out, 3, auth->sequence);
	sr_proto_end(out, info);
}

static void fee_put(struct sr_out *out, const struct sr_cosmos_auth *auth)
{
	size_t fee = sr_proto_begin(out, 2);

	if (auth->fee_amount) {
		unsigned char digits[AMOUNT_DIGITS];
		struct sr_out amount = sr_out_over(digits, sizeof digits);
		size_t coin = sr_proto_begin(out, 1);

		sr_out_number(&amount, auth->fee_amount);
		sr_proto_bytes(out, 1, auth->fee_denom, auth->fee_denom_bytes);
		sr_proto_bytes(out, 2, amount.data, amount.used);
		sr_proto_end(out, coin);
	}
	sr_proto_uint(out, 2, auth->gas_limit);
	sr_proto_end(out, fee);
}

void sr_cosmos_auth_put(struct sr_out *out, const struct sr_cosmos_auth *auth)
{
	size_t mark = sr_proto_begin(out, 2);

	signer_info_put(out, auth);
	fee_put(out, auth);
	sr_proto_end(out, mark);
}

void sr_cosmos_sign_doc(struct sr_out *out, const char *chain_id, size_t chain_id_bytes,
			uint64_t account_number)
{
	sr_proto_bytes(out, 3, chain_id, chain_id_bytes);
	sr_proto_uint(out, 4, account_number);
}

void sr_cosmos_raw(struct sr_out *out, const unsigned char rs[64])
{
	sr_proto_bytes(out, 3, rs, 64);
}

void sr_cosmos_broadcast(struct sr_out *json, const struct sr_out *raw)
{
	json->full |= raw->full;
	SR_OUT_LITERAL(json, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"broadcast_tx_sync\","
			     "\"params\":{\"tx\":\"");
	sr_out_base64(json, raw->data, raw->used);
	SR_OUT_LITERAL(json, "\"}}");
}

void sr_cosmos_signature_put(struct sr_out *json, const unsigned char rs[64])
{
	SR_OUT_LITERAL(json, "\"");
	sr_out_base64(json, rs, 64);
	SR_OUT_LITERAL(json, "\"");
}
