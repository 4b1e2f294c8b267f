/* SPDX-License-Identifier: MIT */
/*
 * GRVT: every vector of tests/vectors/grvt.json through the client's builders, decode,
 * struct hash, digest and signature; what must be refused; and what is posted.
 */
#include "venue_rig.h"

#include "sr_eip712.h"
#include "sr_grvt.h"

#define VECTORS 13u

static void setup(void)
{
	rig_setup();
	rig_type = SR_TYPE_GRVT;
}

TestSuite(grvt, .init = setup, .fini = rig_teardown);

/* ---- a vector, given to the builders ---- */

static bool truth(const json_t *message, const char *name)
{
	cr_assert(json_is_boolean(json_object_get(message, name)), "%s", name);
	return json_is_true(json_object_get(message, name));
}

static uint32_t legs_of(struct sr_grvt_leg legs[SR_GRVT_LEGS_MAX], const json_t *array)
{
	static unsigned char assets[SR_GRVT_LEGS_MAX][32];
	const json_t *leg;
	size_t i;

	json_array_foreach(array, i, leg) {
		const char *hex = rig_string(leg, "assetID") + 2;
		unsigned char id[32];
		size_t bytes;

		cr_assert_lt(i, SR_GRVT_LEGS_MAX);
		bytes = rig_unhex(id, sizeof id, hex);
		memset(assets[i], 0, 32);
		memcpy(assets[i] + 32 - bytes, id, bytes);
		legs[i] = (struct sr_grvt_leg){
			.asset = assets[i],
			.size = rig_number(leg, "contractSize"),
			.price = rig_number(leg, "limitPrice"),
			.buying = truth(leg, "isBuyingContract"),
			.size_decimals = 9,
			.instrument = "BTC_USDT_Perp",
		};
	}
	return (uint32_t)json_array_size(array);
}

static int order_of(const struct sr_grvt_head *head, const json_t *message)
{
	static struct sr_grvt_leg legs[SR_GRVT_LEGS_MAX];
	static unsigned char builder[20];
	struct sr_grvt_order order = {
		.flags = (truth(message, "isMarket") ? SR_GRVT_MARKET : 0u) |
			 (truth(message, "postOnly") ? SR_GRVT_POST_ONLY : 0u) |
			 (truth(message, "reduceOnly") ? SR_GRVT_REDUCE_ONLY : 0u),
		.tif = (enum sr_grvt_tif)rig_number(message, "timeInForce"),
		.client_order_id = 77,
		.legs = legs,
		.leg_count = legs_of(legs, json_object_get(message, "legs")),
	};

	if (json_object_get(message, "builder")) {
		rig_bytes(builder, 20, message, "builder");
		order.builder = builder;
		order.builder_fee = (uint32_t)rig_number(message, "builderFee");
	}
	return sr_grvt_order_put(rig_body, sizeof rig_body, head, &order);
}

static int transfer_of(const struct sr_grvt_head *head, const json_t *message)
{
	static unsigned char from[20], to[20];
	const struct sr_grvt_transfer transfer = {
		.from = from,
		.to = to,
		.to_sub_account = rig_number(message, "toSubAccount"),
		.tokens = rig_number(message, "numTokens"),
		.currency = (enum sr_grvt_currency)rig_number(message, "tokenCurrency"),
	};

	rig_bytes(from, 20, message, "fromAccount");
	rig_bytes(to, 20, message, "toAccount");
	return sr_grvt_transfer_put(rig_body, sizeof rig_body, head, &transfer);
}

static int body_of(const json_t *vector)
{
	static const unsigned char signer[20] = { 0x5a };
	const json_t *message = json_object_get(vector, "message");
	bool transfer = json_object_get(message, "fromAccount") != NULL;
	const struct sr_grvt_head head = {
		.chain_id = (uint32_t)rig_number(vector, "chain_id"),
		.nonce = (uint32_t)rig_number(message, "nonce"),
		.expiration_ns = rig_number(message, "expiration"),
		.sub_account = rig_number(message, transfer ? "fromSubAccount" : "subAccountID"),
		.signer = signer,
	};

	return transfer ? transfer_of(&head, message) : order_of(&head, message);
}

static void check_posted(const json_t *vector, const struct sr_order_signature *signature)
{
	const json_t *posted = rig_posted(signature), *message = json_object_get(vector, "message");
	const json_t *order = json_object_get(posted, "order");
	const json_t *proof = json_object_get(order ? order : posted, "signature");
	char r[70];

	(void)snprintf(r, sizeof r, "0x%.64s", rig_string(vector, "signature"));
	cr_assert_str_eq(rig_string(proof, "r"), r);
	cr_assert_eq(rig_number(proof, "v"), rig_number(vector, "v"));
	cr_assert_eq(rig_number(proof, "nonce"), rig_number(message, "nonce"));
	cr_assert_str_eq(rig_string(proof, "expiration"), rig_string(message, "expiration"));
	if (order)
		cr_assert_str_eq(rig_string(order, "sub_account_id"),
				 rig_string(message, "subAccountID"));
	else
		cr_assert_str_eq(rig_string(posted, "to_sub_account_id"),
				 rig_string(message, "toSubAccount"));
}

Test(grvt, every_vector_gives_its_digest_and_signature)
{
	json_t *root = rig_vectors("grvt.json");
	const json_t *vector;
	size_t i;

	json_array_foreach(rig_array(root, "vectors", VECTORS), i, vector) {
		const char *id = rig_string(vector, "id");
		struct sr_order_signature signature;
		unsigned char digest[32], domain[32], hash[32], again[32];

		rig_digest(digest, body_of(vector), id);
		rig_expect(vector, "digest", digest, sizeof digest, id);
		rig_bytes(domain, 32, vector, "domain_separator");
		rig_bytes(hash, 32, vector, "struct_hash");
		sr_eip712_digest(again, domain, hash);
		cr_assert_arr_eq(again, digest, 32, "%s", id);
		rig_sign(&signature, rig_string(vector, "private_key"), digest);
		rig_expect(vector, "signature", signature.rs, sizeof signature.rs, id);
		cr_assert_eq(27u + signature.recid, rig_number(vector, "v"), "%s", id);
		check_posted(vector, &signature);
	}
	json_decref(root);
}

/* The inputs of the SDK's tests, from their text; grvt-pysdk cuts, never rounds. */
Test(grvt, lesson_sizes_and_prices_are_cut_to_their_decimals_exactly)
{
	json_t *root = rig_vectors("grvt.json");
	const json_t *vector;
	size_t i;
	uint64_t v;

	json_array_foreach(rig_array(root, "vectors", VECTORS), i, vector) {
		const json_t *input = json_object_get(vector, "input");
		const json_t *message = json_object_get(vector, "message");
		const json_t *leg = json_array_get(json_object_get(message, "legs"), 0);
		const char *size = json_string_value(json_object_get(input, "size"));
		const char *price = json_string_value(json_object_get(input, "limit_price"));
		const char *fee = json_string_value(json_object_get(input, "builder_fee"));

		if (size) {
			cr_assert_eq(sr_grvt_scaled(&v, size, strlen(size), 9), 0);
			cr_assert_eq(v, rig_number(leg, "contractSize"), "%s", size);
			cr_assert_eq(sr_grvt_scaled(&v, price, strlen(price), 9), 0);
			cr_assert_eq(v, rig_number(leg, "limitPrice"), "%s", price);
		}
		if (fee) {
			cr_assert_eq(sr_grvt_scaled(&v, fee, strlen(fee), SR_GRVT_FEE_DECIMALS), 0);
			cr_assert_eq(v, rig_number(message, "builderFee"), "%s", fee);
		}
	}
	json_decref(root);
	cr_assert_eq(sr_grvt_scaled(&v, "1.23x", 5, 2), -EINVAL);
	cr_assert_eq(sr_grvt_scaled(&v, "1.2.3", 5, 2), -EINVAL);
	cr_assert_eq(sr_grvt_scaled(&v, "", 0, 2), -EINVAL);
	cr_assert_eq(sr_grvt_scaled(&v, "99999999999", 11, 9), -ERANGE);
	cr_assert_eq(sr_grvt_scaled(&v, "5.999", 5, 0), 0);
	cr_assert_eq(v, 5);
}

Test(grvt, precomputed_constants_are_the_hashes_of_their_text)
{
	static const uint32_t chains[] = { 325, 326, 327, 1 };
	json_t *root = rig_vectors("grvt.json");
	const json_t *vector;
	uint32_t seen = 0;
	size_t i;

	/* The digests of the vectors hold only if the hashes of types are right. */
	json_array_foreach(rig_array(root, "vectors", VECTORS), i, vector) {
		struct sr_domain domain = { .name = "GRVT Exchange",
					    .version = "0",
					    .chain_id = rig_number(vector, "chain_id") };
		unsigned char hash[32];

		sr_domain_separator(hash, &domain);
		rig_expect(vector, "domain_separator", hash, 32, rig_string(vector, "id"));
		cr_assert(sr_venue_claims(hash), "no schema may sign there");
		for (unsigned int c = 0; c < 4; c++)
			seen |= domain.chain_id == chains[c] ? 1u << c : 0;
		hash[31] ^= 1;
		cr_assert_not(sr_venue_claims(hash));
	}
	cr_assert_eq(seen, 15, "a chain of each constant");
	json_decref(root);
}

/* ---- bodies of our own ---- */

static const unsigned char asset[32] = { [29] = 3, 5, 1 };
static const unsigned char other_asset[32] = { [29] = 3, 6, 1 };
static const unsigned char signer[20] = { 9, 8, 7 };
static const unsigned char builder[20] = { 0xbb, 1 };

static const struct sr_grvt_head head = {
	.chain_id = 325,
	.nonce = 5,
	.expiration_ns = 1730800479321350001,
	.sub_account = 8289849667772468,
	.signer = signer,
};

static struct sr_grvt_leg legs[SR_GRVT_LEGS_MAX + 1];

static struct sr_grvt_order some_order(uint32_t count)
{
	for (uint32_t i = 0; i <= SR_GRVT_LEGS_MAX; i++)
		legs[i] = (struct sr_grvt_leg){
			.asset = i ? other_asset : asset,
			.size = 1013000000 + i,
			.price = 68900500000000,
			.buying = i % 2 == 0,
			.size_decimals = 9,
			.instrument = "BTC_USDT_Perp",
		};
	return (struct sr_grvt_order){
		.tif = SR_GRVT_GOOD_TILL_TIME,
		.client_order_id = 42,
		.legs = legs,
		.leg_count = count,
	};
}

static int put(const struct sr_grvt_order *order)
{
	return sr_grvt_order_put(rig_body, sizeof rig_body, &head, order);
}

static struct sr_grvt_transfer some_transfer(void)
{
	return (struct sr_grvt_transfer){
		.from = signer,
		.to = builder,
		.to_sub_account = 0x0102030405060708,
		.tokens = 1500000,
		.currency = SR_GRVT_USDT,
	};
}

static int transfer_put(const struct sr_grvt_transfer *transfer)
{
	return sr_grvt_transfer_put(rig_body, sizeof rig_body, &head, transfer);
}

Test(grvt, the_view_shows_every_leg)
{
	const struct sr_order_view *view = &rig_order.view;
	struct sr_grvt_order order = some_order(2);

	order.flags = SR_GRVT_REDUCE_ONLY | SR_GRVT_POST_ONLY;
	order.builder = builder;
	order.builder_fee = 10;
	cr_assert_eq(rig_decoded(put(&order)), 0);
	cr_assert_eq(view->kind, SR_KIND_ORDER);
	cr_assert_not(view->testnet);
	cr_assert_eq(view->chain_id, 325);
	cr_assert_eq(view->nonce_kind, SR_NONCE_UNIQUE);
	cr_assert_eq(view->nonce, 5);
	cr_assert_eq(view->expiry_ms, 1730800479322, "rounded up");
	cr_assert(rig_party_is(&view->account, "8289849667772468"));
	cr_assert_eq(memcmp(view->fee_to.data, builder, 20), 0);
	cr_assert_eq(view->fee, 10);
	cr_assert_eq(view->leg_count, 2);
	cr_assert_eq(view->legs[0].asset.words[0], 0x030501);
	cr_assert_eq(view->legs[1].asset.words[0], 0x030601);
	cr_assert_eq(view->legs[0].side, SR_SIDE_BUY);
	cr_assert_eq(view->legs[1].side, SR_SIDE_SELL);
	cr_assert(view->legs[1].size == 1013000001 && view->legs[1].price == 68900500000000);
	cr_assert_eq(view->legs[1].price_decimals, 9);
	cr_assert_eq(view->legs[1].size_decimals, SR_DECIMALS_BY_ASSET);
	cr_assert_eq(view->legs[0].flags, SR_LEG_REDUCE_ONLY | SR_LEG_POST_ONLY);
}

Test(grvt, flags_of_a_leg_follow_from_the_time_in_force)
{
	static const unsigned int flags[] = { 0, 0, 0, SR_LEG_IMMEDIATE, SR_LEG_IMMEDIATE };
	struct sr_grvt_order order = some_order(1);

	for (unsigned int tif = 1; tif <= 4; tif++) {
		order.tif = (enum sr_grvt_tif)tif;
		cr_assert_eq(rig_decoded(put(&order)), 0);
		cr_assert_eq(rig_order.view.legs[0].flags, flags[tif]);
	}
	order.flags = SR_GRVT_MARKET;
	legs[0].price = 0;
	cr_assert_eq(rig_decoded(put(&order)), 0);
	cr_assert_eq(rig_order.view.legs[0].flags, SR_LEG_IMMEDIATE | SR_LEG_MARKET);
}

Test(grvt, a_transfer_shows_what_goes_where)
{
	static const unsigned char sub_account[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	const struct sr_order_view *view = &rig_order.view;
	const struct sr_order_signature signature = { { 1 }, 0 };
	struct sr_grvt_transfer transfer = some_transfer();

	cr_assert_eq(rig_decoded(transfer_put(&transfer)), 0);
	cr_assert_eq(view->kind, SR_KIND_TRANSFER);
	cr_assert_eq(view->destination.bytes, 28);
	cr_assert_eq(memcmp(view->destination.data, builder, 20), 0);
	cr_assert_eq(memcmp(view->destination.data + 20, sub_account, 8), 0);
	cr_assert_eq(memcmp(view->account.data, signer, 20), 0);
	cr_assert_eq(view->value, 1500000);
	cr_assert_eq(view->leg_count, 0);
	cr_assert_str_eq(rig_string(rig_posted(&signature), "num_tokens"), "1.5");
	cr_assert_str_eq(rig_string(rig_posted(&signature), "currency"), "USDT");
}

Test(grvt, what_is_posted_has_the_venues_texts)
{
	static const char expected[] =
		"{\"order\":{\"sub_account_id\":\"8289849667772468\",\"is_market\":false,"
		"\"time_in_force\":\"FILL_OR_KILL\",\"post_only\":false,\"reduce_only\":true,"
		"\"legs\":[{\"instrument\":\"BTC_USDT_Perp\",\"size\":\"1.013\","
		"\"limit_price\":\"68900.5\",\"is_buying_asset\":true}],"
		"\"builder\":\"0xbb01000000000000000000000000000000000000\","
		"\"builder_fee\":\"0.001\","
		"\"metadata\":{\"client_order_id\":\"42\"},\"signature\":{\"signer\":"
		"\"0x0908070000000000000000000000000000000000\",\"r\":"
		"\"0x00ab000000000000000000000000000000000000000000000000000000000000\",\"s\":"
		"\"0x0000000000000000000000000000000000000000000000000000000000000000\",\"v\":28,"
		"\"expiration\":\"1730800479321350001\",\"nonce\":5}}}";
	const struct sr_order_signature signature = { { 0, 0xab }, 1 };
	struct sr_grvt_order order = some_order(1);
	int bytes;

	order.tif = SR_GRVT_FILL_OR_KILL;
	order.flags = SR_GRVT_REDUCE_ONLY;
	order.builder = builder;
	order.builder_fee = 10;
	cr_assert_eq(rig_decoded(put(&order)), 0);
	(void)rig_posted(&signature);
	bytes = sr_order_render(rig_text, sizeof rig_text, &rig_order, &signature, &rig_env);
	rig_text[bytes] = '\0';
	cr_assert_str_eq(rig_text, expected);
}

Test(grvt, a_patched_template_is_the_order_and_its_text)
{
	const struct sr_order_signature signature = { { 0, 0xab }, 1 };
	static const unsigned char id[8] = { 42 };
	const struct sr_patch patch = { .price = 68900500000000, .size = 1013000000, .nonce = 5,
					.expires = 1730800479321350001, .client_id = id };
	struct sr_grvt_order order = some_order(1);
	static unsigned char body[SR_TEMPLATE_BODY_BYTES];
	static char text[RIG_TEXT_BYTES];
	static struct sr_template t;
	int bytes, text_bytes;

	order.builder = builder;
	order.client_order_id = 7;
	legs[0].price = 1;
	legs[0].size = 9999999;
	bytes = put(&order);
	cr_assert_eq(sr_template_init(&t, SR_TYPE_GRVT, rig_body, (uint32_t)bytes, &rig_order,
				      &rig_env), 0);
	sr_template_patch(body, &t, &patch);

	order = some_order(1);
	order.builder = builder;
	cr_assert_eq(rig_decoded(put(&order)), 0);
	cr_assert_eq(memcmp(body, rig_body, (size_t)bytes), 0);
	text_bytes = sr_order_render(rig_text, sizeof rig_text, &rig_order, &signature, &rig_env);
	cr_assert_eq(sr_template_render(text, sizeof text, &t, body, &signature), text_bytes);
	cr_assert_eq(memcmp(text, rig_text, (size_t)text_bytes), 0, "%.*s", text_bytes, text);
	for (int room = 0; room < text_bytes; room++)
		cr_assert_eq(sr_template_render(text, (size_t)room, &t, body, &signature), -ENOSPC);
}

Test(grvt, there_are_templates_of_limit_orders_with_one_leg_only)
{
	struct sr_grvt_order order = some_order(2);
	struct sr_grvt_transfer transfer = some_transfer();
	static struct sr_template t;
	int bytes = put(&order);

	cr_assert_eq(sr_template_init(&t, SR_TYPE_GRVT, rig_body, (uint32_t)bytes, &rig_order,
				      &rig_env), -EOPNOTSUPP);
	bytes = transfer_put(&transfer);
	cr_assert_eq(sr_template_init(&t, SR_TYPE_GRVT, rig_body, (uint32_t)bytes, &rig_order,
				      &rig_env), -EOPNOTSUPP);
	order = some_order(1);
	order.flags = SR_GRVT_MARKET;
	order.tif = SR_GRVT_IMMEDIATE_OR_CANCEL;
	legs[0].price = 0;
	bytes = put(&order);
	cr_assert_eq(sr_template_init(&t, SR_TYPE_GRVT, rig_body, (uint32_t)bytes, &rig_order,
				      &rig_env), -EOPNOTSUPP);
}

Test(grvt, a_body_is_valid_at_one_length_and_of_one_type)
{
	struct sr_grvt_order order = some_order(1);
	struct sr_grvt_transfer transfer = some_transfer();

	rig_one_length_and_type(put(&order));
	order.leg_count = 3;
	rig_one_length_and_type(put(&order));
	rig_one_length_and_type(transfer_put(&transfer));
}

static bool is_unsigned(const unsigned char *body, uint32_t byte)
{
	uint32_t in_leg = (byte - SR_GRVT_ROWS) % SR_GRVT_LEG_BYTES;

	if (byte < SR_GRVT_ROWS)
		return byte >= SR_GRVT_CLIENT_ORDER_ID && byte < SR_GRVT_CHAIN_ID;
	return body[SR_ORDER_ACTION] == SR_GRVT_ORDER && in_leg >= SR_GRVT_LEG_DECIMALS;
}

Test(grvt, every_bit_of_a_body_is_signed_or_posted)
{
	struct sr_grvt_order order = some_order(2);
	struct sr_grvt_transfer transfer = some_transfer();

	cr_assert_gt(rig_every_bit(put(&order), is_unsigned), 1000);
	order.builder = builder;
	order.builder_fee = 3;
	cr_assert_gt(rig_every_bit(put(&order), is_unsigned), 1100);
	cr_assert_gt(rig_every_bit(transfer_put(&transfer), is_unsigned), 700);
}

static void refused(const struct sr_grvt_order *order, const char *what)
{
	cr_assert_eq(rig_decoded(put(order)), -EINVAL, "%s", what);
}

Test(grvt, orders_out_of_their_bounds_are_refused)
{
	static const unsigned char nothing[32];
	struct sr_grvt_order order = some_order(1);

	legs[0].size = 0;
	refused(&order, "no size");
	order = some_order(1);
	legs[0].price = 0;
	refused(&order, "no price");
	order = some_order(1);
	order.flags = SR_GRVT_MARKET;
	refused(&order, "a market order with a price");
	order = some_order(2);
	order.flags = SR_GRVT_MARKET;
	legs[0].price = 0;
	refused(&order, "in its second leg");
	order = some_order(1);
	legs[0].asset = nothing;
	refused(&order, "no asset");
	order = some_order(1);
	legs[0].size_decimals = SR_GRVT_SIZE_DECIMALS_MAX + 1;
	refused(&order, "too many decimals");
	order = some_order(1);
	order.tif = (enum sr_grvt_tif)0;
	refused(&order, "no time in force");
	order.tif = (enum sr_grvt_tif)5;
	refused(&order, "a fifth time in force");
	order = some_order(1);
	order.flags = 1 << 4;
	refused(&order, "a flag that is not there");
	order = some_order(1);
	order.builder_fee = 1;
	refused(&order, "a fee for nobody");
	order = some_order(1);
	legs[0].instrument = "";
	refused(&order, "no name");
	legs[0].instrument = "BTC\"_Perp";
	refused(&order, "a name that ends a string of JSON");
	legs[0].instrument = "BTC\\_Perp";
	refused(&order, "or escapes one");
	legs[0].instrument = "BTC_\xc3\xa9";
	refused(&order, "or is not ASCII");
	legs[0].instrument = "0123456789012345678901234567890123456789";
	cr_assert_eq(put(&order), -EINVAL, "or is too long");
	legs[0].instrument += 1;
	cr_assert_eq(rig_decoded(put(&order)), 0);
	rig_body[SR_GRVT_ROWS + SR_GRVT_LEG_BYTES - 1] = '0';
	cr_assert_eq(rig_decoded(SR_GRVT_ROWS + SR_GRVT_LEG_BYTES), -EINVAL, "a name without end");
	legs[0].instrument = "A";
	cr_assert_eq(rig_decoded(put(&order)), 0);
	rig_body[SR_GRVT_ROWS + SR_GRVT_LEG_BUYING] = 2;
	cr_assert_eq(rig_decoded(SR_GRVT_ROWS + SR_GRVT_LEG_BYTES), -EINVAL, "a third side");
	(void)put(&order);
	rig_body[SR_GRVT_ROWS + SR_GRVT_LEG_INSTRUMENT + 3] = 'B';
	cr_assert_eq(rig_decoded(SR_GRVT_ROWS + SR_GRVT_LEG_BYTES), -EINVAL, "a name behind it");
}

Test(grvt, heads_and_transfers_out_of_their_bounds_are_refused)
{
	const struct sr_grvt_order order = some_order(1);
	struct sr_grvt_transfer transfer = some_transfer();
	int bytes = put(&order);

	sr_put64(rig_body + SR_ORDER_NONCE, (uint64_t)UINT32_MAX + 1);
	cr_assert_eq(rig_decoded(bytes), -EINVAL, "a nonce above 32 bits");
	(void)put(&order);
	for (uint32_t chain = 0; chain < 1000; chain++) {
		sr_put32(rig_body + SR_GRVT_CHAIN_ID, chain);
		cr_assert_eq(rig_decoded(bytes) == 0, chain == 1 || (chain >= 325 && chain <= 327),
			     "chain %u", chain);
	}
	(void)put(&order);
	sr_put64(rig_body + SR_GRVT_EXPIRATION, 0);
	cr_assert_eq(rig_decoded(bytes), -EINVAL, "no end");
	sr_put64(rig_body + SR_GRVT_EXPIRATION, (uint64_t)INT64_MAX + 1);
	cr_assert_eq(rig_decoded(bytes), -EINVAL, "an end before 1970");

	transfer.tokens = 0;
	cr_assert_eq(rig_decoded(transfer_put(&transfer)), -EINVAL, "of nothing");
	transfer = some_transfer();
	transfer.currency = (enum sr_grvt_currency)0;
	cr_assert_eq(rig_decoded(transfer_put(&transfer)), -EINVAL);
	transfer.currency = (enum sr_grvt_currency)4;
	cr_assert_eq(rig_decoded(transfer_put(&transfer)), -EINVAL, "decimals we do not know");
	transfer = some_transfer();
	bytes = transfer_put(&transfer);
	rig_body[SR_ORDER_FLAGS] = SR_GRVT_REDUCE_ONLY;
	cr_assert_eq(rig_decoded(bytes), -EINVAL, "a flag");
	for (uint32_t at = SR_GRVT_CLIENT_ORDER_ID; at < SR_GRVT_ROWS; at++) {
		if (at >= SR_GRVT_SIGNER && at < SR_GRVT_BUILDER)
			continue;
		(void)transfer_put(&transfer);
		rig_body[at] = 1;
		cr_assert_eq(rig_decoded(bytes), -EINVAL, "byte %u", at);
	}
}

Test(grvt, a_default_slot_takes_2_legs_and_the_largest_41)
{
	struct sr_grvt_order order = some_order(2);
	static unsigned char long_body[4096 + SR_GRVT_LEG_BYTES];

	cr_assert_eq(sr_grvt_order_put(rig_body, 336, &head, &order), 288);
	order.leg_count = 3;
	cr_assert_eq(sr_grvt_order_put(rig_body, 336, &head, &order), -ENOSPC);
	order.leg_count = 41;
	cr_assert_eq(rig_decoded(put(&order)), 0);
	order.leg_count = 42;
	cr_assert_eq(put(&order), -EINVAL);
	order.leg_count = 0;
	cr_assert_eq(put(&order), -EINVAL);
	memcpy(long_body, rig_body, sizeof rig_body);
	memcpy(long_body + SR_GRVT_ROWS + 41 * SR_GRVT_LEG_BYTES, rig_body + SR_GRVT_ROWS,
	       SR_GRVT_LEG_BYTES);
	sr_put16(long_body + SR_ORDER_ROWS, 42);
	cr_assert_eq(sr_order_decode(&rig_order, rig_type, long_body,
				     SR_GRVT_ROWS + 42 * SR_GRVT_LEG_BYTES, &rig_env),
		     -EINVAL);
}

Test(grvt, prices_are_multiples_of_the_markets_tick)
{
	const struct sr_grvt_order order = some_order(2);
	struct sr_market market = { .tick = 100000000 };

	cr_assert_eq(rig_decoded(put(&order)), 0);
	cr_assert_eq(sr_order_rules(&rig_order, 0, &market), 0);
	legs[1].price += 1;
	cr_assert_eq(rig_decoded(put(&order)), 0);
	cr_assert_eq(sr_order_rules(&rig_order, 0, &market), 0);
	cr_assert_eq(sr_order_rules(&rig_order, 1, &market), -EDOM);
	market.tick = 0;
	cr_assert_eq(sr_order_rules(&rig_order, 1, &market), 0);
}
