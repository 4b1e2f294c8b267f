/* SPDX-License-Identifier: MIT */
/*
 * Ethereum: transactions of four kinds and EIP-191 messages. ethers' and the EIPs'
 * vectors are signed again; the transactions of ethereum/tests and of go-ethereum are
 * put together again, and their senders found. The whole set of ethers' transactions
 * runs where it is, in $SIGRING_VECTORS or ../shared/vectors. Lessons of public bug
 * reports are named tests.
 */
#include "venue_rig.h"

#include <sys/stat.h>

#include "sr_eip712.h"
#include "sr_ethereum.h"
#include "sr_verify.h"

#define ACCESS_MAX 16u

static const char *const forms[] = { "Legacy", "Eip155", "Berlin", "London" };

static void setup(void)
{
	rig_setup();
	rig_type = SR_TYPE_ETHEREUM;
}

TestSuite(ethereum, .init = setup, .fini = rig_teardown);

/* ---- a transaction of a vector, given to the builder ---- */

/* "0x.." or a JSON integer; a member that is not there is 0. */
static void number(unsigned char out[32], const json_t *transaction, const char *name)
{
	const json_t *value = json_object_get(transaction, name);
	const char *hex = json_string_value(value);

	memset(out, 0, 32);
	if (!hex) {
		sr_eth_number(out, (sr_u128)json_integer_value(value));
		return;
	}
	cr_assert(!strncmp(hex, "0x", 2) && strlen(hex) <= 66, "%s", hex);
	hex += 2;
	for (size_t digits = strlen(hex), i = 0; i < digits; i++) {
		char digit[2] = { hex[digits - 1 - i], '\0' };

		out[31 - i / 2] |= (unsigned char)(strtoul(digit, NULL, 16) << 4 * (i % 2));
	}
}

static uint64_t word(const json_t *transaction, const char *name)
{
	unsigned char big[32];
	uint64_t v;

	number(big, transaction, name);
	cr_assert(sr_all_zero(big, 24), "%s", name);
	memcpy(&v, big + 24, sizeof v);
	return __builtin_bswap64(v);
}

static uint32_t access_of(struct sr_eth_access access[ACCESS_MAX], const json_t *list)
{
	static unsigned char addresses[ACCESS_MAX][20], keys[ACCESS_MAX][16][32];
	const json_t *entry, *key;
	size_t i, j;

	json_array_foreach(list, i, entry) {
		const json_t *storage = json_object_get(entry, "storageKeys");

		cr_assert_lt(i, ACCESS_MAX);
		cr_assert_leq(json_array_size(storage), 16);
		rig_bytes(addresses[i], 20, entry, "address");
		json_array_foreach(storage, j, key)
			cr_assert_eq(rig_unhex(keys[i][j], 32, json_string_value(key)), 32);
		access[i].address = addresses[i];
		access[i].keys = keys[i][0];
		access[i].key_count = (uint32_t)json_array_size(storage);
	}
	return (uint32_t)json_array_size(list);
}

static int body_of(const json_t *json, const char *form)
{
	static unsigned char data[RIG_BODY_BYTES], to[20];
	struct sr_eth_access access[ACCESS_MAX];
	struct sr_eth_transaction transaction = { .action = SR_ETH_LEGACY };
	const char *text = json_string_value(json_object_get(json, "data"));
	const char *to_text = json_string_value(json_object_get(json, "to"));

	while (strcmp(forms[transaction.action - 1], form))
		transaction.action++;
	if (transaction.action != SR_ETH_LEGACY)
		transaction.chain_id = word(json, "chainId");
	transaction.nonce = word(json, "nonce");
	transaction.gas = word(json, "gasLimit");
	number(transaction.value, json, "value");
	number(transaction.price, json,
	       transaction.action == SR_ETH_EIP1559 ? "maxFeePerGas" : "gasPrice");
	if (transaction.action == SR_ETH_EIP1559)
		number(transaction.tip, json, "maxPriorityFeePerGas");
	if (to_text && strlen(to_text) > 2) {
		cr_assert_eq(rig_unhex(to, sizeof to, to_text), 20, "%s", to_text);
		transaction.to = to;
	}
	transaction.data = data;
	transaction.data_bytes = text ? (uint32_t)rig_unhex(data, sizeof data, text) : 0;
	if (transaction.action >= SR_ETH_EIP2930) {
		transaction.access = access;
		transaction.access_count = access_of(access, json_object_get(json, "accessList"));
	}
	return sr_eth_transaction_put(rig_body, sizeof rig_body, &transaction);
}

static const char *raw_posted(const struct sr_order_signature *signature)
{
	const json_t *posted = rig_posted(signature);

	cr_assert_str_eq(rig_string(posted, "method"), "eth_sendRawTransaction");
	return json_string_value(json_array_get(json_object_get(posted, "params"), 0));
}

/* Before EIP-2 one of a signature's two forms was as good as the other. */
static void negate(struct sr_order_signature *signature)
{
	static const unsigned char order[32] = {
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xff, 0xff, 0xff, 0xff, 0xfe, 0xba, 0xae, 0xdc, 0xe6, 0xaf, 0x48,
		0xa0, 0x3b, 0xbf, 0xd2, 0x5e, 0x8c, 0xd0, 0x36, 0x41, 0x41,
	};
	int borrow = 0;

	for (unsigned int i = 32; i--;) {
		int difference = order[i] - signature->rs[32 + i] - borrow;

		borrow = difference < 0;
		signature->rs[32 + i] = (unsigned char)(difference & 255);
	}
	signature->recid ^= 1;
}

/* Signs rig_order with the vector's key and compares the whole transaction. */
static void check_signed(const json_t *vector, const char *form, const char *signed_name,
			 const char *unsigned_name)
{
	const char *name = rig_string(vector, "name"), *key = rig_string(vector, "privateKey");
	struct sr_order_signature signature;
	unsigned char digest[32];

	rig_digest(digest, body_of(json_object_get(vector, "transaction"), form), name);
	if (json_object_get(vector, unsigned_name))
		rig_expect(vector, unsigned_name, rig_env.work,
			   strlen(rig_string(vector, unsigned_name)) / 2 - 1, name);
	if (json_object_get(vector, "digest"))
		rig_expect(vector, "digest", digest, sizeof digest, name);
	rig_sign(&signature, key, digest);
	if (json_is_true(json_object_get(vector, "high_s")))
		negate(&signature);
	cr_assert_str_eq(raw_posted(&signature), rig_string(vector, signed_name), "%s %s", name,
			 form);
}

/* Returns how many of them there were. */
static uint32_t check_ethers(const json_t *array)
{
	const json_t *vector;
	uint32_t checked = 0;
	size_t i;

	json_array_foreach(array, i, vector)
		for (unsigned int f = 0; f < 4; f++) {
			char with[16], without[16];

			(void)snprintf(with, sizeof with, "signed%s", forms[f]);
			(void)snprintf(without, sizeof without, "unsigned%s", forms[f]);
			/* Some say "" where ethers has no chain to sign for. */
			if (!json_string_length(json_object_get(vector, with)))
				continue;
			check_signed(vector, forms[f], with, without);
			checked++;
		}
	return checked;
}

Test(ethereum, transactions_of_ethers_in_four_forms)
{
	json_t *root = rig_vectors("ethereum.json");

	cr_assert_eq(check_ethers(rig_array(root, "ethers", 16)), 54);
	json_decref(root);
}

Test(ethereum, every_transaction_of_ethers_where_they_are)
{
	const char *folder = getenv("SIGRING_VECTORS");
	char path[512];
	json_error_t error;
	struct stat st;
	json_t *root;

	(void)snprintf(path, sizeof path, "%s/ethereum/ethers_transactions_subset.json",
		       folder ? folder : "../shared/vectors");
	if (stat(path, &st))
		cr_skip_test("bulk set %s is not there (SIGRING_VECTORS names the folder)", path);
	root = json_load_file(path, 0, &error);
	cr_assert_not_null(root, "%s", error.text);
	cr_assert_eq(json_array_size(root), 130);
	cr_assert_eq(check_ethers(root), 454);
	json_decref(root);
}

Test(ethereum, transactions_of_the_eips_and_of_ethereum_tests)
{
	json_t *root = rig_vectors("ethereum.json");
	const json_t *vector;
	size_t i;

	json_array_foreach(rig_array(root, "known", 3), i, vector)
		check_signed(vector, rig_string(vector, "form"), "signed", "unsigned");
	json_decref(root);
}

Test(ethereum, transactions_taken_apart_come_back_and_lead_to_their_senders)
{
	json_t *root = rig_vectors("ethereum.json");
	struct sr_verifier *verifier;
	const json_t *vector;
	size_t i;

	cr_assert_eq(sr_verifier_new(&verifier), 0);
	json_array_foreach(rig_array(root, "senders", 55), i, vector) {
		const char *name = rig_string(vector, "name");
		struct sr_order_signature signature;
		unsigned char digest[32], pubkey[33], address[20];

		rig_digest(digest,
			   body_of(json_object_get(vector, "transaction"),
				   rig_string(vector, "form")),
			   name);
		rig_bytes(signature.rs, 32, vector, "r");
		rig_bytes(signature.rs + 32, 32, vector, "s");
		signature.recid = (uint8_t)rig_number(vector, "recovery_id");
		cr_assert_str_eq(raw_posted(&signature), rig_string(vector, "signed"), "%s", name);
		cr_assert_eq(sr_verify_recover(verifier, pubkey, digest, signature.rs,
					       signature.recid),
			     0, "%s", name);
		cr_assert_eq(sr_verify_address(verifier, address, pubkey, sizeof pubkey), 0);
		rig_expect(vector, "sender", address, sizeof address, name);
	}
	sr_verifier_delete(verifier);
	json_decref(root);
}

Test(ethereum, addresses_of_keys)
{
	json_t *root = rig_vectors("ethereum.json");
	struct sr_verifier *verifier;
	const json_t *vector;
	size_t i;

	cr_assert_eq(sr_verifier_new(&verifier), 0);
	json_array_foreach(rig_array(root, "keys", 2), i, vector) {
		unsigned char key[32], pubkey[33], address[20];

		rig_bytes(key, sizeof key, vector, "private_key");
		cr_assert_eq(sr_curve_pubkey(rig_curve, pubkey, NULL, key), 0);
		cr_assert_eq(sr_verify_address(verifier, address, pubkey, sizeof pubkey), 0);
		rig_expect(vector, "address", address, sizeof address, "key");
	}
	sr_verifier_delete(verifier);
	json_decref(root);
}

Test(ethereum, messages_of_eip_191)
{
	json_t *root = rig_vectors("ethereum.json");
	const json_t *vector;
	size_t i;

	json_array_foreach(rig_array(root, "messages", 4), i, vector) {
		const char *name = rig_string(vector, "name");
		struct sr_order_signature signature = { { 1 }, 1 };
		unsigned char message[256], digest[32];
		char expected[160];
		uint32_t bytes =
			(uint32_t)rig_unhex(message, sizeof message, rig_string(vector, "message"));

		rig_digest(digest, sr_eth_message_put(rig_body, sizeof rig_body, message, bytes),
			   name);
		cr_assert_eq(rig_order.view.kind, SR_KIND_MESSAGE);
		rig_expect(vector, "digest", digest, sizeof digest, name);
		if (!json_object_get(vector, "privateKey"))
			continue;
		rig_sign(&signature, rig_string(vector, "privateKey"), digest);
		cr_assert_str_eq(rig_string(rig_posted(&signature), "signature"),
				 rig_string(vector, "signature"));
		(void)snprintf(expected, sizeof expected, "\"%s\"",
			       rig_string(vector, "signature"));
		cr_assert_str_eq(rig_signature_text(&signature), expected);
	}
	json_decref(root);
}

/* ---- bodies of our own ---- */

static const unsigned char to[20] = { 0xaa, [19] = 0xbb };
static const unsigned char transfer_call[68] = { 0xa9, 0x05, 0x9c, 0xbb, [67] = 5 };
static const unsigned char keys[2][32] = { { 1 }, { 2 } };
static const struct sr_eth_access access[2] = { { to, keys[0], 2 }, { to, NULL, 0 } };

static struct sr_eth_transaction some_transaction(enum sr_eth_action action)
{
	struct sr_eth_transaction transaction = {
		.action = action,
		.chain_id = action == SR_ETH_LEGACY ? 0 : 137,
		.nonce = 7,
		.gas = 21000,
		.to = to,
	};

	sr_eth_number(transaction.price, (sr_u128)30 * 1000000000);
	sr_eth_number(transaction.value, (sr_u128)1500000000000000001);
	return transaction;
}

static int put(const struct sr_eth_transaction *transaction)
{
	return sr_eth_transaction_put(rig_body, sizeof rig_body, transaction);
}

Test(ethereum, value_without_data_is_a_transfer)
{
	const struct sr_order_view *view = &rig_order.view;
	struct sr_eth_transaction transaction = some_transaction(SR_ETH_EIP1559);

	cr_assert_eq(rig_decoded(put(&transaction)), 0);
	cr_assert_eq(view->kind, SR_KIND_TRANSFER);
	cr_assert_eq(view->chain_id, 137);
	cr_assert_eq(view->nonce_kind, SR_NONCE_SEQUENCE);
	cr_assert_eq(view->nonce, 7);
	cr_assert_eq(view->destination.bytes, 20);
	cr_assert_eq(memcmp(view->destination.data, to, 20), 0);
	cr_assert_eq(view->contract.bytes, 0);
	cr_assert_eq(view->value, 1500001, "1.5 and a wei, rounded up");
	cr_assert_eq(view->fee, 630000, "gwei");
	cr_assert_eq(view->leg_count, 0);
}

Test(ethereum, data_makes_it_a_call_of_a_selector)
{
	const struct sr_order_view *view = &rig_order.view;
	struct sr_eth_transaction transaction = some_transaction(SR_ETH_EIP155);

	transaction.data = transfer_call;
	transaction.data_bytes = sizeof transfer_call;
	cr_assert_eq(rig_decoded(put(&transaction)), 0);
	cr_assert_eq(view->kind, SR_KIND_CALL);
	cr_assert_eq(view->contract.bytes, 20);
	cr_assert_eq(memcmp(view->contract.data, to, 20), 0);
	cr_assert_eq(view->destination.bytes, 20, "its value goes there as well");
	cr_assert_eq(view->leg_count, 1);
	cr_assert_eq(view->legs[0].asset.words[0], 0xa9059cbb);
	cr_assert_eq(view->legs[0].side, SR_SIDE_NONE);

	transaction.data_bytes = 3;
	cr_assert_eq(rig_decoded(put(&transaction)), 0);
	cr_assert_eq(view->kind, SR_KIND_CALL);
	cr_assert_eq(view->legs[0].asset.words[0], SR_ETH_NO_SELECTOR);

	transaction.to = NULL;
	transaction.data_bytes = sizeof transfer_call;
	cr_assert_eq(rig_decoded(put(&transaction)), 0);
	cr_assert_eq(view->kind, SR_KIND_CALL, "a new contract is the call of none");
	cr_assert_eq(view->contract.bytes, 0);
	cr_assert_eq(view->legs[0].asset.words[0], SR_ETH_NO_SELECTOR);
	transaction.data_bytes = 0;
	cr_assert_eq(rig_decoded(put(&transaction)), 0);
	cr_assert_eq(view->kind, SR_KIND_CALL);
}

Test(ethereum, values_and_fees_that_do_not_fit_are_above_every_limit)
{
	const struct sr_order_view *view = &rig_order.view;
	struct sr_eth_transaction transaction = some_transaction(SR_ETH_EIP1559);

	transaction.value[15] = 1; /* 2^128 */
	transaction.price[0] = 1;
	cr_assert_eq(rig_decoded(put(&transaction)), 0);
	cr_assert_eq(view->value, UINT64_MAX);
	cr_assert_eq(view->fee, UINT64_MAX);
	sr_eth_number(transaction.value, (sr_u128)UINT64_MAX * 1000000000000 + 1);
	sr_eth_number(transaction.price, ~(sr_u128)0);
	cr_assert_eq(rig_decoded(put(&transaction)), 0);
	cr_assert_eq(view->value, UINT64_MAX);
	cr_assert_eq(view->fee, UINT64_MAX);
	sr_eth_number(transaction.price, (sr_u128)1 << 127);
	transaction.gas = 2;
	cr_assert_eq(rig_decoded(put(&transaction)), 0);
	cr_assert_eq(view->fee, UINT64_MAX, "2^128, not 0");
	sr_eth_number(transaction.value, (sr_u128)(UINT64_MAX - 1) * 1000000000000);
	transaction.gas = 0;
	cr_assert_eq(rig_decoded(put(&transaction)), 0);
	cr_assert_eq(view->value, UINT64_MAX - 1);
	cr_assert_eq(view->fee, 0);
	sr_eth_number(transaction.value, 0);
	sr_eth_number(transaction.price, 1);
	transaction.gas = 1;
	cr_assert_eq(rig_decoded(put(&transaction)), 0);
	cr_assert_eq(view->value, 0);
	cr_assert_eq(view->fee, 1, "a wei is a gwei, rounded up");
}

Test(ethereum, a_body_is_valid_at_one_length_and_of_one_type)
{
	struct sr_eth_transaction transaction = some_transaction(SR_ETH_EIP2930);

	rig_one_length_and_type(put(&transaction));
	transaction.data = transfer_call;
	transaction.data_bytes = sizeof transfer_call;
	transaction.access = access;
	transaction.access_count = 2;
	rig_one_length_and_type(put(&transaction));
	rig_one_length_and_type(sr_eth_message_put(rig_body, sizeof rig_body, "abc", 3));
}

Test(ethereum, no_bit_of_a_body_is_without_a_meaning)
{
	struct sr_eth_transaction transaction;

	for (unsigned int action = SR_ETH_LEGACY; action <= SR_ETH_EIP1559; action++) {
		transaction = some_transaction((enum sr_eth_action)action);
		cr_assert_gt(rig_every_bit(put(&transaction), NULL), 600);
		transaction.data = transfer_call;
		transaction.data_bytes = sizeof transfer_call;
		if (action >= SR_ETH_EIP2930) {
			transaction.access = access;
			transaction.access_count = 2;
		}
		cr_assert_gt(rig_every_bit(put(&transaction), NULL), 1200);
	}
	transaction = some_transaction(SR_ETH_EIP1559);
	transaction.to = NULL;
	cr_assert_gt(rig_every_bit(put(&transaction), NULL), 600);
	cr_assert_geq(
		rig_every_bit(sr_eth_message_put(rig_body, sizeof rig_body, "abcde", 5), NULL), 40);
}

static void refused(const struct sr_eth_transaction *transaction, const char *what)
{
	cr_assert_eq(rig_decoded(put(transaction)), -EINVAL, "%s", what);
}

Test(ethereum, fields_that_a_kind_does_not_have_are_refused)
{
	struct sr_eth_transaction transaction = some_transaction(SR_ETH_LEGACY);
	int bytes;

	transaction.chain_id = 1;
	refused(&transaction, "a chain of a legacy transaction");
	transaction = some_transaction(SR_ETH_EIP155);
	transaction.chain_id = 0;
	refused(&transaction, "EIP-155 without a chain");
	transaction.chain_id = SR_ETH_CHAIN_ID_MAX;
	cr_assert_eq(rig_decoded(put(&transaction)), 0);
	transaction.chain_id++;
	refused(&transaction, "a chain whose v does not fit");
	for (unsigned int action = SR_ETH_LEGACY; action < SR_ETH_EIP1559; action++) {
		transaction = some_transaction((enum sr_eth_action)action);
		transaction.tip[31] = 1;
		refused(&transaction, "a tip");
	}
	for (unsigned int action = SR_ETH_LEGACY; action < SR_ETH_EIP2930; action++) {
		transaction = some_transaction((enum sr_eth_action)action);
		transaction.access = access;
		transaction.access_count = 1;
		refused(&transaction, "an access list");
	}
	transaction = some_transaction(SR_ETH_EIP1559);
	transaction.nonce = UINT64_MAX;
	refused(&transaction, "the nonce that EIP-2681 forbids");
	transaction = some_transaction((enum sr_eth_action)6);
	refused(&transaction, "a sixth kind");
	transaction = some_transaction((enum sr_eth_action)0);
	refused(&transaction, "no kind");
	transaction = some_transaction(SR_ETH_EIP191);
	refused(&transaction, "a message with a transaction's fields");

	transaction = (struct sr_eth_transaction){ .action = SR_ETH_EIP191 };
	transaction.access = access;
	transaction.access_count = 1;
	refused(&transaction, "a message with an access list");

	bytes = sr_eth_message_put(rig_body, sizeof rig_body, "abc", 3);
	for (uint32_t at = SR_ORDER_NONCE; at < SR_ETH_ROWS; at++) {
		rig_body[at] = 1;
		cr_assert_eq(rig_decoded(bytes), -EINVAL, "byte %u", at);
		rig_body[at] = 0;
	}
}

/* In memory of the body's size, so that a sanitizer sees a row too many. */
static void not_valid(int bytes, const char *what)
{
	cr_assert_eq(rig_exact(rig_type, (uint32_t)bytes), -EINVAL, "%s", what);
}

Test(ethereum, rows_are_the_access_list_and_nothing_else)
{
	struct sr_eth_transaction transaction = some_transaction(SR_ETH_EIP1559);
	int bytes;

	transaction.access = access;
	transaction.access_count = 2;
	bytes = put(&transaction);
	cr_assert_eq(bytes, 152 + 32 * (3 + 1));
	sr_put32(rig_body + SR_ETH_ENTRIES, UINT32_MAX);
	not_valid(bytes, "entries that are not there");
	sr_put32(rig_body + SR_ETH_ENTRIES, 3);
	not_valid(bytes, "one that is not there");
	sr_put32(rig_body + SR_ETH_ENTRIES, 1);
	not_valid(bytes, "a row too many");
	(void)put(&transaction);
	sr_put32(rig_body + SR_ETH_ROWS + 20, UINT32_MAX);
	not_valid(bytes, "keys that are not there");
	sr_put32(rig_body + SR_ETH_ROWS + 20, 4);
	not_valid(bytes, "a key that is not there");

	transaction.data = transfer_call;
	transaction.data_bytes = sizeof transfer_call;
	bytes = put(&transaction);
	cr_assert_eq(bytes, 152 + 32 * (3 + 1) + 68);
	cr_assert_eq(rig_decoded(bytes), 0);
}

Test(ethereum, a_default_slot_takes_184_bytes_of_data_and_the_largest_3944)
{
	static unsigned char data[4000], long_body[4097];
	struct sr_eth_transaction transaction = some_transaction(SR_ETH_EIP1559);

	transaction.data = data;
	transaction.data_bytes = 184;
	cr_assert_eq(sr_eth_transaction_put(rig_body, 336, &transaction), 336);
	transaction.data_bytes = 185;
	cr_assert_eq(sr_eth_transaction_put(rig_body, 336, &transaction), -ENOSPC);
	transaction.data_bytes = 3944;
	cr_assert_eq(rig_decoded(put(&transaction)), 0);
	memcpy(long_body, rig_body, sizeof rig_body);
	sr_put16(long_body + SR_ORDER_TAIL, 3945);
	cr_assert_eq(sr_order_decode(&rig_order, rig_type, long_body, sizeof long_body, &rig_env),
		     -EINVAL, "more than a slot ever holds");
	transaction.data_bytes = 3945;
	cr_assert_eq(sr_eth_transaction_put(rig_body, SIZE_MAX, &transaction), -ENOSPC);
}

/* ---- lessons of public bug reports ---- */

/* ethers-rs issue 377, ethcontract-rs pull 944: geth refuses leading zeros of r and s. */
Test(ethereum, lesson_r_and_s_are_integers_without_leading_zeros)
{
	struct sr_order_signature signature = { { [2] = 0xab, [31] = 1, [63] = 5 }, 1 };
	struct sr_eth_transaction transaction = some_transaction(SR_ETH_EIP1559);
	const char *raw;

	cr_assert_eq(rig_decoded(put(&transaction)), 0);
	raw = raw_posted(&signature);
	cr_assert(strstr(raw, "c0019eab"), "%s", raw);
	cr_assert_str_eq(raw + strlen(raw) - 4, "0105", "%s", raw);
	cr_assert_str_eq(
		rig_signature_text(&signature),
		"{\"r\":\"0xab0000000000000000000000000000000000000000000000000000000001\","
		"\"s\":\"0x5\",\"yParity\":\"0x1\"}");
	signature.recid = 0;
	cr_assert(strstr(rig_signature_text(&signature), "\"yParity\":\"0x0\""));
}

/* ethereumjs-monorepo issue 710: where the width is fixed, zeros stay. */
Test(ethereum, lesson_messages_keep_all_65_bytes)
{
	const struct sr_order_signature signature = { { [1] = 0xab, [63] = 5 }, 0 };

	cr_assert_eq(rig_decoded(sr_eth_message_put(rig_body, sizeof rig_body, NULL, 0)), 0);
	cr_assert_eq(strlen(rig_signature_text(&signature)), 2 + 2 + 130);
	cr_assert_eq(strncmp(rig_text, "\"0x00ab", 7), 0);
	cr_assert_str_eq(rig_text + 127, "00051b\"");
}

/* fuel-core pull 2134: v follows the recovery id that leaves with the signature. */
Test(ethereum, lesson_v_is_made_of_the_recovery_id_and_the_chain)
{
	struct sr_order_signature signature = { { 1 }, 1 };
	struct sr_eth_transaction transaction = some_transaction(SR_ETH_EIP155);

	cr_assert_eq(rig_decoded(put(&transaction)), 0);
	cr_assert(strstr(rig_signature_text(&signature), "\"v\":\"0x136\""), "35 + 274 + 1");
	signature.recid = 0;
	cr_assert(strstr(rig_signature_text(&signature), "\"v\":\"0x135\""));
	transaction.chain_id = SR_ETH_CHAIN_ID_MAX;
	signature.recid = 1;
	cr_assert_eq(rig_decoded(put(&transaction)), 0);
	cr_assert(strstr(rig_signature_text(&signature), "\"v\":\"0xfffffffffffffffe\""), "%s",
		  rig_text);
	transaction = some_transaction(SR_ETH_LEGACY);
	cr_assert_eq(rig_decoded(put(&transaction)), 0);
	cr_assert(strstr(rig_signature_text(&signature), "\"v\":\"0x1c\""));
}
