/* SPDX-License-Identifier: MIT */
/*
 * The envelope of Cosmos transactions: cosmjs' published vectors of SIGN_MODE_DIRECT,
 * with their bank transfer as the message, and the signing of Injective, which hashes
 * with Keccak.
 */
#include "order_rig.h"

#include "sr_cosmos_tx.h"
#include "sr_protobuf.h"

TestSuite(cosmos_tx, .init = rig_setup, .fini = rig_teardown);

/* MsgSend { from_address = 1, to_address = 2, amount = 3 { denom = 1, amount = 2 } } */
static void transaction_put(struct sr_out *out, const json_t *root, const json_t *vector)
{
	static unsigned char key[SR_COSMOS_KEY_BYTES];
	const struct sr_cosmos_auth auth = {
		.public_key = key,
		.sequence = rig_number(vector, "sequence"),
		.gas_limit = 200000,
		.fee_denom = "ucosm",
		.fee_denom_bytes = 5,
		.fee_amount = 2000,
	};
	const char *from = rig_string(root, "from"), *to = rig_string(root, "to");
	struct sr_cosmos_marks marks;
	size_t coin;

	rig_bytes(key, sizeof key, root, "public_key");
	sr_cosmos_begin(&marks, out, "/cosmos.bank.v1beta1.MsgSend");
	sr_proto_bytes(out, 1, from, strlen(from));
	sr_proto_bytes(out, 2, to, strlen(to));
	coin = sr_proto_begin(out, 3);
	SR_PROTO_LITERAL(out, 1, "ucosm");
	SR_PROTO_LITERAL(out, 2, "1234567");
	sr_proto_end(out, coin);
	sr_cosmos_end(&marks, out, NULL, 0);
	sr_cosmos_auth_put(out, &auth);
}

Test(cosmos_tx, sign_docs_signatures_and_transactions_of_cosmjs)
{
	static unsigned char room[4096];
	json_t *root = rig_vectors("cosmos.json");
	const char *chain_id = rig_string(root, "chain_id");
	const json_t *vector;
	size_t i;

	json_array_foreach(rig_array(root, "vectors", 3), i, vector) {
		struct sr_out doc = sr_out_over(room, sizeof room);
		struct sr_order_signature signature;
		unsigned char digest[32];

		transaction_put(&doc, root, vector);
		sr_cosmos_sign_doc(&doc, chain_id, strlen(chain_id),
				   rig_number(vector, "account_number"));
		cr_assert_not(doc.full);
		rig_expect(vector, "sign_bytes", doc.data, doc.used, "SignDoc");
		cr_assert_eq(sr_sha256(rig_env.hasher, digest, doc.data, doc.used), 0);
		rig_expect(vector, "digest", digest, sizeof digest, "SignDoc");
		rig_sign(&signature, rig_string(root, "private_key"), digest);
		rig_expect(vector, "signature", signature.rs, sizeof signature.rs, "SignDoc");
		cr_assert_eq(signature.recid, rig_number(vector, "recovery_id"));

		doc.used = 0;
		transaction_put(&doc, root, vector);
		sr_cosmos_raw(&doc, signature.rs);
		rig_expect(vector, "tx_raw", doc.data, doc.used, "TxRaw");
	}
	json_decref(root);
}

/* Body and auth info are the vectors' own bytes, in both envelopes. */
Test(cosmos_tx, both_envelopes_start_with_body_and_auth_info)
{
	static unsigned char room[4096], flat[4096];
	json_t *root = rig_vectors("cosmos.json");
	const json_t *vector;
	size_t i;

	json_array_foreach(rig_array(root, "vectors", 3), i, vector) {
		struct sr_out out = sr_out_over(room, sizeof room);
		struct sr_out expected = sr_out_over(flat, sizeof flat);
		unsigned char part[1024];
		size_t bytes = rig_unhex(part, sizeof part, rig_string(vector, "body_bytes"));

		sr_proto_bytes(&expected, 1, part, bytes);
		bytes = rig_unhex(part, sizeof part, rig_string(vector, "auth_info_bytes"));
		sr_proto_bytes(&expected, 2, part, bytes);
		transaction_put(&out, root, vector);
		cr_assert_eq(out.used, expected.used);
		cr_assert_arr_eq(out.data, expected.data, out.used);
	}
	json_decref(root);
}

Test(cosmos_tx, memos_fees_and_zeros)
{
	unsigned char room[512];
	static const unsigned char key[SR_COSMOS_KEY_BYTES] = { 2 };
	const struct sr_cosmos_auth auth = { .public_key = key };
	struct sr_out out = sr_out_over(room, sizeof room);
	struct sr_cosmos_marks marks;

	sr_cosmos_begin(&marks, &out, "/a");
	sr_cosmos_end(&marks, &out, "hi", 2);
	/* body { any { "/a", empty }, "hi" } */
	cr_assert_eq(out.used, 14);
	cr_assert_arr_eq(room, "\x0a\x0c\x0a\x06\x0a\x02/a\x12\x00\x12\x02hi", 14);
	sr_cosmos_auth_put(&out, &auth);
	/* An empty fee is there, and has neither a coin nor gas. */
	cr_assert_arr_eq(room + out.used - 2, "\x12\x00", 2);
}

Test(cosmos_tx, injective_signs_keccak)
{
	json_t *root = rig_vectors("cosmos.json");
	const json_t *vector = json_array_get(rig_array(root, "injective", 1), 0);
	const char *message = rig_string(vector, "message");
	struct sr_order_signature signature;
	unsigned char digest[32];

	sr_keccak256(digest, message, strlen(message));
	rig_expect(vector, "digest", digest, sizeof digest, message);
	rig_sign(&signature, rig_string(vector, "private_key"), digest);
	rig_expect(vector, "signature", signature.rs, sizeof signature.rs, message);
	json_decref(root);
}
