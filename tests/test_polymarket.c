/* SPDX-License-Identifier: MIT */
/*
 * Polymarket's orders: every vector of tests/vectors/polymarket.json through the
 * client's builder, decode, struct hash, digest and the signature as it is posted; its
 * amounts; and lessons of public bug reports as named tests.
 */
#include <strings.h>

#include "order_rig.h"

#include "sr_eip712.h"
#include "sr_polymarket.h"

TestSuite(polymarket, .init = rig_setup, .fini = rig_teardown);

static const char owner_text[] = "00112233-4455-6677-8899-aabbccddeeff";
static const unsigned char owner[16] = { 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
					 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff };

/* A decimal number of up to 256 bits, big-endian. */
static void number256(unsigned char out[32], const char *digits)
{
	memset(out, 0, 32);
	for (; *digits; digits++) {
		unsigned int carry = (unsigned int)(*digits - '0');

		for (int i = 31; i >= 0; i--) {
			carry += out[i] * 10u;
			out[i] = (unsigned char)carry;
			carry >>= 8;
		}
		cr_assert_eq(carry, 0);
	}
}

static struct sr_pm_order order_of(const json_t *vector)
{
	const json_t *json = json_object_get(vector, "order");
	struct sr_pm_order order = { .version = (enum sr_pm_action)rig_number(vector, "version"),
				     .order_type = SR_PM_GTC };

	order.flags |= json_is_true(json_object_get(vector, "testnet")) ? SR_PM_TESTNET : 0u;
	order.flags |= json_is_true(json_object_get(vector, "neg_risk")) ? SR_PM_NEG_RISK : 0u;
	order.salt = rig_number(json, "salt");
	rig_bytes(order.maker, 20, json, "maker");
	rig_bytes(order.signer, 20, json, "signer");
	number256(order.token, rig_string(json, "tokenId"));
	order.maker_amount = rig_number(json, "makerAmount");
	order.taker_amount = rig_number(json, "takerAmount");
	order.side = rig_number(json, "side") ? SR_SIDE_SELL : SR_SIDE_BUY;
	order.signature_type = (enum sr_pm_signature)rig_number(json, "signatureType");
	memcpy(order.owner, owner, sizeof owner);
	if (order.version == SR_PM_V1) {
		order.nonce = rig_number(json, "nonce");
		rig_bytes(order.taker, 20, json, "taker");
		order.expiration_s = rig_number(json, "expiration");
		order.fee_rate_bps = rig_number(json, "feeRateBps");
	} else {
		order.nonce = rig_number(json, "timestamp");
		rig_bytes(order.metadata, 32, json, "metadata");
		rig_bytes(order.builder, 32, json, "builder");
	}
	return order;
}

static int decoded(int bytes)
{
	cr_assert_gt(bytes, 0, "the builder: %d", bytes);
	return sr_order_decode(&rig_order, SR_TYPE_POLYMARKET, rig_body, (uint32_t)bytes, &rig_env);
}

static int put(const struct sr_pm_order *order)
{
	return decoded(sr_pm_order_put(rig_body, sizeof rig_body, order));
}

static json_t *posted(const struct sr_order_signature *signature)
{
	int bytes = sr_order_render(rig_text, sizeof rig_text, &rig_order, signature, &rig_env);
	json_error_t error;
	json_t *root;

	cr_assert_gt(bytes, 0);
	for (int room = 0; room < bytes; room += 11)
		cr_assert_eq(sr_order_render(rig_text, (size_t)room, &rig_order, signature,
					     &rig_env),
			     -ENOSPC);
	bytes = sr_order_render(rig_text, sizeof rig_text, &rig_order, signature, &rig_env);
	root = json_loadb(rig_text, (size_t)bytes, 0, &error);
	cr_assert_not_null(root, "%s: %.*s", error.text, bytes, rig_text);
	return root;
}

/* ---- vectors ---- */

static void check_posted(const json_t *vector, const struct sr_order_signature *signature,
			 const char *id)
{
	json_t *expected = json_object_get(vector, "order");
	json_t *root = posted(signature), *order = json_object_get(root, "order");
	const char *key, *text;
	json_t *value;

	cr_assert_str_eq(rig_string(root, "owner"), owner_text);
	cr_assert_str_eq(rig_string(root, "orderType"), "GTC");
	cr_assert(json_is_integer(json_object_get(order, "salt")), "%s: salt is a number", id);
	text = rig_string(order, "side");
	cr_assert_str_eq(text, rig_number(expected, "side") ? "SELL" : "BUY");
	json_object_foreach(expected, key, value) {
		const json_t *got = json_object_get(order, key);

		if (!strcmp(key, "side") || !strcmp(key, "salt"))
			continue;
		if (json_is_integer(value))
			cr_assert(json_equal(value, got), "%s: %s", id, key);
		else
			cr_assert_eq(strcasecmp(json_string_value(value), json_string_value(got)),
				     0, "%s: %s is %s", id, key, json_string_value(got));
	}
	cr_assert_eq((uint64_t)json_integer_value(json_object_get(order, "salt")),
		     rig_number(expected, "salt"));
	if (json_object_get(vector, "signature"))
		cr_assert_str_eq(rig_string(order, "signature") + 2,
				 rig_string(vector, "signature"), "%s", id);
	json_decref(root);
}

Test(polymarket, every_vector_gives_its_hash_digest_and_signature)
{
	json_t *root = rig_vectors("polymarket.json"), *vector;
	size_t i;

	json_array_foreach(rig_array(root, "orders", 8), i, vector) {
		const char *id = rig_string(vector, "id");
		struct sr_pm_order order = order_of(vector);
		struct sr_order_signature signature = { { 1 }, 0 };
		unsigned char hash[32], digest[32];

		cr_assert_eq(put(&order), 0, "%s", id);
		cr_assert_eq(rig_order.view.contract.bytes, 20);
		rig_expect(vector, "contract", rig_order.view.contract.data, 20, id);
		sr_pm_struct_hash(hash, rig_body);
		rig_expect(vector, "order_hash", hash, 32, id);
		cr_assert_eq(sr_order_digest(digest, &rig_order, &rig_env), 0);
		rig_expect(vector, "digest", digest, 32, id);
		if (json_object_get(vector, "key"))
			rig_sign(&signature, rig_string(vector, "key"), digest);
		check_posted(vector, &signature, id);
	}

	json_array_foreach(rig_array(root, "auth", 1), i, vector) {
		unsigned char address[20], digest[32];
		struct sr_order_signature signature;
		json_t *headers;

		rig_bytes(address, 20, vector, "address");
		cr_assert_eq(decoded(sr_pm_auth_put(rig_body, sizeof rig_body, address, true,
						    rig_number(vector, "time"),
						    rig_number(vector, "nonce"))), 0);
		cr_assert_eq(rig_order.view.kind, SR_KIND_LOGIN);
		cr_assert_eq(sr_order_digest(digest, &rig_order, &rig_env), 0);
		rig_sign(&signature, rig_string(vector, "key"), digest);
		headers = posted(&signature);
		cr_assert_str_eq(rig_string(headers, "POLY_SIGNATURE") + 2,
				 rig_string(vector, "signature"));
		cr_assert_str_eq(rig_string(headers, "POLY_ADDRESS"), rig_string(vector, "address"));
		cr_assert_str_eq(rig_string(headers, "POLY_TIMESTAMP"), "10000000");
		cr_assert_str_eq(rig_string(headers, "POLY_NONCE"), "23");
		json_decref(headers);
	}
	json_decref(root);
}

Test(polymarket, domain_separators_are_the_hashes_of_their_text)
{
	static const char *const versions[] = { "", "1", "2", "3" };
	unsigned char separator[32];

	for (unsigned int i = 0; i < SR_PM_EXCHANGES; i++) {
		const struct sr_pm_exchange *exchange = &sr_pm_exchanges[i];
		const struct sr_domain domain = {
			.name = "Polymarket CTF Exchange",
			.version = versions[exchange->version],
			.chain_id = exchange->testnet ? 80002 : 137,
			.contract = exchange->contract,
		};

		sr_domain_separator(separator, &domain);
		cr_assert_arr_eq(separator, exchange->separator, 32, "exchange %u", i);
	}
}

/* ---- amounts ---- */

static uint64_t scaled(const json_t *entry, const char *name)
{
	const char *text = rig_string(entry, name);
	uint64_t v;

	cr_assert_eq(sr_decimal_parse(&v, text, strlen(text), SR_PM_DECIMALS), 0);
	return v;
}

Test(polymarket, published_amounts)
{
	json_t *root = rig_vectors("polymarket.json"), *fact;
	size_t i;

	json_array_foreach(rig_array(root, "amounts", 18), i, fact) {
		bool buy = !strcmp(rig_string(fact, "side"), "BUY");
		uint64_t maker = 77, taker = 77;
		int ret = sr_pm_limit_amounts(&maker, &taker, buy ? SR_SIDE_BUY : SR_SIDE_SELL,
					      scaled(fact, "price"), scaled(fact, "size"),
					      scaled(fact, "tick_size"));

		if (json_object_get(fact, "error")) {
			cr_assert_eq(ret, -EDOM, "fact %zu", i);
			cr_assert(maker == 77 && taker == 77);
			continue;
		}
		cr_assert_eq(ret, 0, "fact %zu", i);
		cr_assert_eq(maker, rig_number(fact, "makerAmount"), "fact %zu", i);
		cr_assert_eq(taker, rig_number(fact, "takerAmount"), "fact %zu", i);
	}
	json_decref(root);
}

/* py-clob-client-v2 pull 72: 16.90 at 0.30 became 5067000 by floating point. */
Test(polymarket, lesson_amounts_do_not_drift)
{
	uint64_t maker, taker;

	cr_assert_eq(sr_pm_limit_amounts(&maker, &taker, SR_SIDE_BUY, 300000, 16900000, 10000), 0);
	cr_assert_eq(maker, 5070000);
	cr_assert_eq(taker, 16900000);
	for (uint64_t price = 1; price < 10000; price++)
		for (uint64_t size = 1; size < 2000; size += 13) {
			cr_assert_eq(sr_pm_limit_amounts(&maker, &taker, SR_SIDE_SELL, price * 100,
							 size * 10000, 100), 0);
			cr_assert_eq(maker, size * 10000);
			cr_assert_eq(taker, price * size, "exact, so the implied tick holds");
		}
}

/* py-clob-client issue 253, py-clob-client-v2 issue 99: a market order's amounts have 2
 * and 4 decimals, on fine ticks too. */
Test(polymarket, lesson_market_amounts_have_2_and_4_decimals)
{
	static const uint64_t ticks[] = { 100000, 10000, 1000, 100 };
	uint64_t maker, taker;

	for (unsigned int i = 0; i < 4; i++)
		for (uint64_t price = ticks[i]; price < SR_PM_ONE; price += ticks[i] * 7) {
			cr_assert_eq(sr_pm_market_amounts(&maker, &taker, SR_SIDE_BUY, price,
							  12340000, ticks[i]), 0);
			cr_assert_eq(maker, 12340000);
			cr_assert_eq(taker % 100, 0, "price %llu", (unsigned long long)price);
			cr_assert_leq((sr_u128)taker * price, (sr_u128)maker * SR_PM_ONE);
			cr_assert_gt(((sr_u128)taker + 100) * price, (sr_u128)maker * SR_PM_ONE);
			cr_assert_eq(sr_pm_market_amounts(&maker, &taker, SR_SIDE_SELL, price,
							  12340000, ticks[i]), 0);
			cr_assert_eq(taker % 100, 0);
		}
	cr_assert_eq(sr_pm_market_amounts(&maker, &taker, SR_SIDE_BUY, 500000, 12345678, 10000),
		     -EDOM);
}

/* ---- what policy sees, and what is refused ---- */

static struct sr_pm_order good_order(void)
{
	struct sr_pm_order order = {
		.version = SR_PM_V2, .nonce = 1780449126930, .salt = 479249096354,
		.maker = { 1 }, .signer = { 1 }, .token = { [30] = 4, [31] = 0xd2 },
		.maker_amount = 52000000, .taker_amount = 100000000, .side = SR_SIDE_BUY,
		.order_type = SR_PM_GTC, .builder = { 9 },
	};

	return order;
}

Test(polymarket, the_view_shows_price_size_and_dollars)
{
	struct sr_pm_order order = good_order();
	const struct sr_order_view *view = &rig_order.view;

	cr_assert_eq(put(&order), 0);
	cr_assert_eq(view->kind, SR_KIND_ORDER);
	cr_assert_eq(view->chain_id, 137);
	cr_assert_eq(view->nonce_kind, SR_NONCE_TIME_MS);
	cr_assert_eq(view->nonce, 1780449126930);
	cr_assert_eq(view->account.data[0], 1);
	cr_assert_eq(view->fee_to.bytes, 32);
	cr_assert_eq(view->leg_count, 1);
	cr_assert_eq(view->legs[0].asset.words[0], 1234);
	cr_assert_eq(view->legs[0].side, SR_SIDE_BUY);
	cr_assert(view->legs[0].price == 520000 && view->legs[0].size == 100000000);
	cr_assert_eq(view->legs[0].notional, 52000000);

	/* 1/3: what we pay is rounded up, what we get down. */
	order.maker_amount = 1000000;
	order.taker_amount = 3000000;
	cr_assert_eq(put(&order), 0);
	cr_assert(view->legs[0].price == 333334);
	order.side = SR_SIDE_SELL;
	order.maker_amount = 3000000;
	order.taker_amount = 1000000;
	cr_assert_eq(put(&order), 0);
	cr_assert(view->legs[0].price == 333333);
	cr_assert_eq(view->legs[0].notional, 1000000);
}

Test(polymarket, an_expiry_is_seen_only_where_it_is_signed)
{
	struct sr_pm_order order = good_order();

	order.order_type = SR_PM_GTD;
	order.expiration_s = 1800000000;
	cr_assert_eq(put(&order), 0);
	cr_assert_eq(rig_order.view.expiry_ms, 0);
	order.version = SR_PM_V1;
	cr_assert_eq(put(&order), 0);
	cr_assert_eq(rig_order.view.expiry_ms, 1800000000000);
	order.expiration_s = UINT64_MAX / 1000 + 1;
	cr_assert_eq(put(&order), -EINVAL);
}

Test(polymarket, fields_out_of_their_bounds_are_refused)
{
	struct sr_pm_order good = good_order(), order = good;

	order.maker_amount = 0;
	cr_assert_eq(put(&order), -EINVAL, "nothing for something");
	order = good;
	order.taker_amount = 0;
	cr_assert_eq(put(&order), -EINVAL, "something for nothing");
	order = good;
	order.signer[0] = 2;
	cr_assert_eq(put(&order), -EINVAL, "a key of its own for another's funds");
	order.signature_type = SR_PM_SAFE;
	cr_assert_eq(put(&order), 0);
	order.signature_type = SR_PM_1271;
	cr_assert_eq(put(&order), -EINVAL, "a wallet that is not the signer");
	order = good;
	order.signature_type = (enum sr_pm_signature)4;
	cr_assert_eq(put(&order), -EINVAL);
	order = good;
	order.version = SR_PM_V1;
	order.signature_type = SR_PM_1271;
	cr_assert_eq(put(&order), -EINVAL, "V1 knows no wallets");
	order = good;
	order.version = SR_PM_V3;
	order.flags = SR_PM_NEG_RISK;
	cr_assert_eq(put(&order), -EINVAL, "V3 has one exchange");
	order = good;
	order.expiration_s = 5;
	cr_assert_eq(put(&order), -EINVAL, "GTC with an expiration");
	order.order_type = SR_PM_GTD;
	order.expiration_s = 0;
	cr_assert_eq(put(&order), -EINVAL, "GTD without");
	order = good;
	order.order_type = SR_PM_FOK;
	order.flags = SR_PM_POST_ONLY;
	cr_assert_eq(put(&order), -EINVAL, "now, and not now");
	order = good;
	order.order_type = (enum sr_pm_order_type)5;
	cr_assert_eq(put(&order), -EINVAL);
}

/* Of an order all but what is posted only: owner, type of order, defer, expiration. */
Test(polymarket, bits_that_are_not_signed_are_known)
{
	struct sr_pm_order order = good_order();
	unsigned char digest[32], other[32];
	int bytes = sr_pm_order_put(rig_body, sizeof rig_body, &order);

	cr_assert_eq(decoded(bytes), 0);
	cr_assert_eq(sr_order_digest(digest, &rig_order, &rig_env), 0);
	for (uint32_t bit = 0; bit < 8u * (uint32_t)bytes; bit++) {
		uint32_t at = bit / 8;
		bool unsigned_ones = at == SR_ORDER_FLAGS || at == SR_PM_ORDER_TYPE ||
				     (at >= SR_PM_OWNER && at < SR_PM_OWNER + 16);

		rig_body[at] ^= (unsigned char)(1u << bit % 8);
		if (!decoded(bytes)) {
			cr_assert_eq(sr_order_digest(other, &rig_order, &rig_env), 0);
			cr_assert(unsigned_ones || memcmp(digest, other, 32), "bit %u", bit);
		}
		rig_body[at] ^= (unsigned char)(1u << bit % 8);
	}
}

/* Polymarket/py-clob-client issue 79. */
Test(polymarket, lesson_neg_risk_markets_have_another_contract)
{
	struct sr_pm_order order = good_order();
	unsigned char one[32], other[32];

	cr_assert_eq(put(&order), 0);
	cr_assert_eq(rig_order.view.contract.data[0], 0xe1);
	cr_assert_eq(sr_order_digest(one, &rig_order, &rig_env), 0);
	order.flags = SR_PM_NEG_RISK;
	cr_assert_eq(put(&order), 0);
	cr_assert_eq(rig_order.view.contract.data[0], 0xe2);
	cr_assert_eq(sr_order_digest(other, &rig_order, &rig_env), 0);
	cr_assert_neq(memcmp(one, other, 32), 0);
}

/* Polymarket/ts-sdk pull 40, rs-clob-client pull 27: a salt above 2^53 was rounded. */
Test(polymarket, lesson_salts_stay_below_2_to_53)
{
	struct sr_pm_order order = good_order();

	order.salt = SR_PM_SALT_LIMIT;
	cr_assert_eq(put(&order), -EINVAL);
	order.salt = SR_PM_SALT_LIMIT - 1;
	cr_assert_eq(put(&order), 0);
}

/* Novals83/5min-btc-polymarket issue 5: V1 orders after the venue had moved to V2. */
Test(polymarket, lesson_versions_do_not_share_a_digest)
{
	struct sr_pm_order order = good_order();
	unsigned char digests[3][32];

	for (unsigned int i = 0; i < 3; i++) {
		order.version = (enum sr_pm_action)(i + 1);
		cr_assert_eq(put(&order), 0);
		cr_assert_eq(rig_order.view.action, i + 1, "policy sees the version");
		cr_assert_eq(sr_order_digest(digests[i], &rig_order, &rig_env), 0);
	}
	cr_assert(memcmp(digests[0], digests[1], 32) && memcmp(digests[1], digests[2], 32) &&
		  memcmp(digests[0], digests[2], 32));
}

/* py-clob-client pull 18: rounded amounts imply a price between two ticks. */
Test(polymarket, lesson_amounts_that_break_the_tick_are_seen)
{
	const struct sr_market market = { .tick = 10000 };
	struct sr_pm_order order = good_order();

	cr_assert_eq(put(&order), 0);
	cr_assert_eq(sr_order_rules(&rig_order, 0, &market), 0);
	order.maker_amount = 52000100;
	cr_assert_eq(put(&order), 0);
	cr_assert_eq(sr_order_rules(&rig_order, 0, &market), -EDOM);
	order = good_order();
	order.order_type = SR_PM_FOK;
	order.taker_amount = 100000050;
	cr_assert_eq(put(&order), 0);
	cr_assert_eq(sr_order_rules(&rig_order, 0, &market), -EDOM, "5 decimals");
	order.taker_amount = 100000100;
	cr_assert_eq(put(&order), 0);
	cr_assert_eq(sr_order_rules(&rig_order, 0, &market), 0);
}
