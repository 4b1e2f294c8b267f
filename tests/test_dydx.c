/* SPDX-License-Identifier: MIT */
/*
 * dYdX v4: every vector of tests/vectors/dydx.json through the client's builders,
 * decode, protobuf, SignDoc, digest, signature and TxRaw; what must be refused; what
 * policy sees. Lessons of public bug reports are named tests.
 */
#include "venue_rig.h"

#include "sr_bech32.h"
#include "sr_dydx.h"

#define VECTORS 15u

static unsigned char public_key[33], owner[20], builder[20];

static void setup(void)
{
	rig_setup();
	rig_type = SR_TYPE_DYDX;
}

TestSuite(dydx, .init = setup, .fini = rig_teardown);

static void address(unsigned char bytes[20], const char *text)
{
	cr_assert_eq(sr_bech32_parse(bytes, 20, "dydx", text, strlen(text)), 0, "%s", text);
}

/* ---- a vector, given to the builders ---- */

static uint32_t good_til(const json_t *message)
{
	const char *name = json_is_integer(json_object_get(message, "good_til_block")) ?
				   "good_til_block" :
				   "good_til_block_time";

	return (uint32_t)rig_number(message, name);
}

static struct sr_dydx_order order_of(const json_t *json)
{
	struct sr_dydx_order order = {
		.client_id = (uint32_t)rig_number(json, "client_id"),
		.clob_pair = (uint32_t)rig_number(json, "clob_pair_id"),
		.kind = (enum sr_dydx_kind)rig_number(json, "order_flags"),
		.side = (enum sr_dydx_side)rig_number(json, "side"),
		.tif = (enum sr_dydx_tif)rig_number(json, "time_in_force"),
		.condition = (enum sr_dydx_condition)rig_number(json, "condition_type"),
		.client_metadata = (uint32_t)rig_number(json, "client_metadata"),
		.quantums = rig_number(json, "quantums"),
		.subticks = rig_number(json, "subticks"),
		.trigger_subticks = rig_number(json, "conditional_order_trigger_subticks"),
		.reduce_only = json_is_true(json_object_get(json, "reduce_only")),
	};

	if (json_object_get(json, "builder_address")) {
		address(builder, rig_string(json, "builder_address"));
		order.builder = builder;
		order.builder_fee_ppm = (uint32_t)rig_number(json, "builder_fee_ppm");
	}
	return order;
}

static int batch_of(const struct sr_dydx_head *head, const json_t *json)
{
	static struct sr_dydx_cancel cancels[SR_DYDX_BATCH_MAX];
	const json_t *batch, *id;
	uint32_t count = 0;
	size_t i, j;

	json_array_foreach(json_object_get(json, "short_term_cancels"), i, batch)
		json_array_foreach(json_object_get(batch, "client_ids"), j, id) {
			cr_assert_lt(count, SR_DYDX_BATCH_MAX);
			cancels[count].clob_pair = (uint32_t)rig_number(batch, "clob_pair_id");
			cancels[count++].client_id = (uint32_t)json_integer_value(id);
		}
	return sr_dydx_batch_put(rig_body, sizeof rig_body, head, cancels, count);
}

static int body_of(const json_t *vector)
{
	const json_t *order = json_object_get(vector, "order");
	const json_t *cancel = json_object_get(vector, "cancel");
	const json_t *message = order  ? order :
				cancel ? cancel :
					 json_object_get(vector, "cancel_batch");
	const char *chain = rig_string(vector, "chain_id");
	struct sr_dydx_head head = {
		.sequence = rig_number(vector, "sequence"),
		.account_number = rig_number(vector, "account_number"),
		.gas_limit = rig_number(vector, "gas_limit"),
		.public_key = public_key,
		.owner = owner,
		.subaccount = (uint32_t)rig_number(message, "subaccount_number"),
		.testnet = strstr(chain, "testnet") != NULL,
		.chain = (uint32_t)strtoul(strrchr(chain, '-') + 1, NULL, 10),
		.good_til = good_til(message),
	};
	struct sr_dydx_cancel one;
	struct sr_dydx_order place;

	address(owner, rig_string(message, "owner"));
	if (order) {
		place = order_of(order);
		return sr_dydx_order_put(rig_body, sizeof rig_body, &head, &place);
	}
	if (cancel) {
		one.client_id = (uint32_t)rig_number(cancel, "client_id");
		one.clob_pair = (uint32_t)rig_number(cancel, "clob_pair_id");
		one.kind = (enum sr_dydx_kind)rig_number(cancel, "order_flags");
		return sr_dydx_cancel_put(rig_body, sizeof rig_body, &head, &one);
	}
	return batch_of(&head, message);
}

static void check_posted(const json_t *vector, const struct sr_order_signature *signature)
{
	static unsigned char raw[RIG_BODY_BYTES];
	static char expected[RIG_TEXT_BYTES];
	struct sr_out out = sr_out_over(expected, sizeof expected - 1);
	size_t bytes = rig_unhex(raw, sizeof raw, rig_string(vector, "tx_raw"));
	const json_t *posted = rig_posted(signature);

	sr_out_base64(&out, raw, bytes);
	expected[out.used] = '\0';
	cr_assert_str_eq(rig_string(posted, "method"), "broadcast_tx_sync");
	cr_assert_str_eq(rig_string(json_object_get(posted, "params"), "tx"), expected, "%s",
			 rig_string(vector, "id"));

	out.used = 0;
	SR_OUT_LITERAL(&out, "\"");
	sr_out_base64(&out, signature->rs, 64);
	SR_OUT_LITERAL(&out, "\"");
	expected[out.used] = '\0';
	cr_assert_str_eq(rig_signature_text(signature), expected);
}

Test(dydx, every_vector_gives_its_message_sign_doc_digest_signature_and_transaction)
{
	json_t *root = rig_vectors("dydx.json");
	const json_t *vector;
	size_t i;

	rig_bytes(public_key, sizeof public_key, root, "public_key");
	json_array_foreach(rig_array(root, "vectors", VECTORS), i, vector) {
		const char *id = rig_string(vector, "id");
		struct sr_order_signature signature;
		unsigned char digest[32];

		rig_digest(digest, body_of(vector), id);
		rig_expect(vector, "sign_bytes", rig_env.work,
			   strlen(rig_string(vector, "sign_bytes")) / 2, id);
		rig_expect(vector, "digest", digest, sizeof digest, id);
		rig_sign(&signature, rig_string(root, "private_key"), digest);
		rig_expect(vector, "signature", signature.rs, sizeof signature.rs, id);
		cr_assert_eq(signature.recid, rig_number(vector, "recovery_id"));
		check_posted(vector, &signature);
	}
	json_decref(root);
}

Test(dydx, owners_are_the_bytes_of_their_text)
{
	json_t *root = rig_vectors("dydx.json");
	const json_t *text;
	size_t i;

	json_array_foreach(rig_array(root, "addresses", 3), i, text) {
		char again[64];
		struct sr_out out = sr_out_over(again, sizeof again - 1);

		address(owner, json_string_value(text));
		sr_bech32_put(&out, "dydx", 4, owner, 20);
		again[out.used] = '\0';
		cr_assert_str_eq(again, json_string_value(text));
	}
	json_decref(root);
}

/* ---- bodies of our own ---- */

static struct sr_dydx_head some_head(void)
{
	static const unsigned char key[33] = { 3, 7 }, who[20] = { 1, 2, 3 };
	const struct sr_dydx_head head = {
		.sequence = 5,
		.account_number = 17,
		.gas_limit = 1000000,
		.public_key = key,
		.owner = who,
		.subaccount = 2,
		.chain = 1,
		.good_til = 1000,
	};

	return head;
}

static struct sr_dydx_order short_order(void)
{
	const struct sr_dydx_order order = {
		.client_id = 7,
		.clob_pair = 3,
		.kind = SR_DYDX_SHORT_TERM,
		.side = SR_DYDX_BUY,
		.quantums = 1000000,
		.subticks = 200000,
	};

	return order;
}

static int put(const struct sr_dydx_head *head, const struct sr_dydx_order *order)
{
	return sr_dydx_order_put(rig_body, sizeof rig_body, head, order);
}

static int cancel_put(const struct sr_dydx_head *head, enum sr_dydx_kind kind)
{
	const struct sr_dydx_cancel cancel = { .client_id = 9, .clob_pair = 4, .kind = kind };

	return sr_dydx_cancel_put(rig_body, sizeof rig_body, head, &cancel);
}

static int batch_put(const struct sr_dydx_head *head, uint32_t count)
{
	static struct sr_dydx_cancel cancels[SR_DYDX_BATCH_MAX + 1];

	for (uint32_t i = 0; i <= SR_DYDX_BATCH_MAX; i++)
		cancels[i] = (struct sr_dydx_cancel){ .client_id = i, .clob_pair = 1 + i / 3 };
	return sr_dydx_batch_put(rig_body, sizeof rig_body, head, cancels, count);
}

Test(dydx, the_view_shows_a_conditional_order)
{
	const struct sr_order_view *view = &rig_order.view;
	struct sr_dydx_head head = some_head();
	struct sr_dydx_order order = short_order();
	const struct sr_order_leg *leg = &view->legs[0];

	head.testnet = true;
	head.chain = 4;
	order.kind = SR_DYDX_CONDITIONAL;
	order.condition = SR_DYDX_STOP_LOSS;
	order.trigger_subticks = 210000;
	order.side = SR_DYDX_SELL;
	order.tif = SR_DYDX_IOC;
	order.reduce_only = true;
	order.builder = head.owner;
	order.builder_fee_ppm = 100;
	cr_assert_eq(rig_decoded(put(&head, &order)), 0);

	cr_assert_eq(view->kind, SR_KIND_ORDER);
	cr_assert(view->testnet);
	cr_assert_eq(view->chain_id, 4);
	cr_assert_eq(view->nonce, 5);
	cr_assert_eq(view->nonce_kind, SR_NONCE_SEQUENCE);
	cr_assert_eq(view->expiry_ms, 1000000);
	cr_assert_eq(view->expiry_block, 0);
	cr_assert_eq(view->account.bytes, 45);
	cr_assert_eq(memcmp(view->account.data, "dydx1qypqx", 10), 0);
	cr_assert_eq(memcmp(view->account.data + 43, "/2", 2), 0);
	cr_assert_eq(memcmp(view->fee_to.data, view->account.data, 43), 0);
	cr_assert_eq(view->fee_to.bytes, 43);
	cr_assert_eq(view->fee, 100);
	cr_assert_eq(view->leg_count, 1);
	cr_assert_eq(leg->asset.words[0], 3);
	cr_assert(leg->price == 200000 && leg->size == 1000000 && leg->trigger_price == 210000);
	cr_assert_eq(leg->side, SR_SIDE_SELL);
	cr_assert_eq(leg->flags, SR_LEG_REDUCE_ONLY | SR_LEG_IMMEDIATE | SR_LEG_TRIGGER);
	cr_assert_eq(leg->price_decimals, SR_DECIMALS_BY_ASSET);
	cr_assert_eq(leg->size_decimals, SR_DECIMALS_BY_ASSET);
}

Test(dydx, cancels_only_cancel_and_name_their_markets)
{
	const struct sr_order_view *view = &rig_order.view;
	const struct sr_dydx_head head = some_head();

	cr_assert_eq(rig_decoded(cancel_put(&head, SR_DYDX_LONG_TERM)), 0);
	cr_assert_eq(view->kind, SR_KIND_CANCEL);
	cr_assert_eq(view->leg_count, 1);
	cr_assert_eq(view->legs[0].asset.words[0], 4);
	cr_assert(!view->legs[0].size && !view->legs[0].side);
	cr_assert_eq(rig_decoded(batch_put(&head, 4)), 0);
	cr_assert_eq(view->kind, SR_KIND_CANCEL);
	cr_assert_eq(view->nonce_kind, SR_NONCE_NONE);
	cr_assert_eq(view->expiry_block, 1000);
	cr_assert_eq(view->leg_count, 4);
	cr_assert_eq(view->legs[2].asset.words[0], 1);
	cr_assert_eq(view->legs[3].asset.words[0], 2);
}

Test(dydx, a_body_is_valid_at_one_length_and_of_one_type)
{
	const struct sr_dydx_head head = some_head();
	struct sr_dydx_order order = short_order();

	rig_one_length_and_type(put(&head, &order));
	order.builder = head.owner;
	order.builder_fee_ppm = 1;
	rig_one_length_and_type(put(&head, &order));
	rig_one_length_and_type(cancel_put(&head, SR_DYDX_SHORT_TERM));
	rig_one_length_and_type(batch_put(&head, 5));
}

Test(dydx, no_bit_of_a_body_is_without_a_meaning)
{
	struct sr_dydx_head head = some_head();
	struct sr_dydx_order order = short_order();

	cr_assert_gt(rig_every_bit(put(&head, &order), NULL), 600);
	order.kind = SR_DYDX_CONDITIONAL;
	order.condition = SR_DYDX_TAKE_PROFIT;
	order.trigger_subticks = 1;
	order.builder = head.owner;
	order.builder_fee_ppm = 3;
	cr_assert_gt(rig_every_bit(put(&head, &order), NULL), 800);
	cr_assert_gt(rig_every_bit(cancel_put(&head, SR_DYDX_LONG_TERM), NULL), 400);
	cr_assert_gt(rig_every_bit(batch_put(&head, 7), NULL), 400);
}

static void refused(const struct sr_dydx_head *head, const struct sr_dydx_order *order,
		    const char *what)
{
	cr_assert_eq(rig_decoded(put(head, order)), -EINVAL, "%s", what);
}

Test(dydx, what_the_chain_would_refuse_is_refused)
{
	const struct sr_dydx_head head = some_head();
	const struct sr_dydx_order good = short_order();
	struct sr_dydx_order order = good;

	order.quantums = 0;
	refused(&head, &order, "no size");
	order = good;
	order.subticks = 0;
	refused(&head, &order, "no price");
	order = good;
	order.side = (enum sr_dydx_side)0;
	refused(&head, &order, "no side");
	order.side = (enum sr_dydx_side)3;
	refused(&head, &order, "a third side");
	order = good;
	order.tif = (enum sr_dydx_tif)4;
	refused(&head, &order, "a fifth time in force");
	order = good;
	order.condition = SR_DYDX_STOP_LOSS;
	refused(&head, &order, "a condition of an order that has none");
	order.kind = SR_DYDX_CONDITIONAL;
	refused(&head, &order, "a condition without a price");
	order.trigger_subticks = 1;
	order.condition = (enum sr_dydx_condition)3;
	refused(&head, &order, "a third condition");
	order.condition = SR_DYDX_CONDITION_NONE;
	refused(&head, &order, "a conditional order without a condition");
	order = good;
	order.trigger_subticks = 1;
	refused(&head, &order, "a trigger price of an order without a condition");
	order = good;
	order.kind = SR_DYDX_LONG_TERM;
	order.tif = SR_DYDX_IOC;
	refused(&head, &order, "a long-term order that must fill at once");
	order.tif = SR_DYDX_FILL_OR_KILL;
	refused(&head, &order, "or be killed");
	order = good;
	order.kind = (enum sr_dydx_kind)96;
	refused(&head, &order, "an order of two kinds");
	order.kind = SR_DYDX_TWAP;
	cr_assert_eq(rig_decoded(put(&head, &order)), -EPERM, "TWAP is known and never signed");
	order = good;
	order.builder = head.owner;
	refused(&head, &order, "a builder for nothing");
	order.builder_fee_ppm = SR_DYDX_FEE_MAX + 1;
	refused(&head, &order, "a builder for too much");
}

Test(dydx, heads_and_cancels_out_of_their_bounds_are_refused)
{
	const struct sr_dydx_order order = short_order();
	static const unsigned char bad_key[33] = { 4 };
	struct sr_dydx_head head = some_head();

	head.chain = 0;
	refused(&head, &order, "no chain");
	head = some_head();
	head.good_til = 0;
	refused(&head, &order, "an order without an end");
	head = some_head();
	head.subaccount = SR_DYDX_SUBACCOUNT_MAX + 1;
	refused(&head, &order, "a subaccount that there is not");
	head = some_head();
	head.public_key = bad_key;
	refused(&head, &order, "a key that is not compressed");
	head = some_head();
	cr_assert_eq(rig_decoded(cancel_put(&head, (enum sr_dydx_kind)1)), -EINVAL);
	cr_assert_eq(rig_decoded(cancel_put(&head, (enum sr_dydx_kind)256)), -EINVAL);
	cr_assert_eq(batch_put(&head, 0), -EINVAL);
	cr_assert_eq(batch_put(&head, SR_DYDX_BATCH_MAX + 1), -EINVAL);
	cr_assert_eq(rig_decoded(batch_put(&head, SR_DYDX_BATCH_MAX)), 0);
	sr_put16(rig_body + SR_ORDER_ROWS, SR_DYDX_BATCH_MAX + 1);
	memcpy(rig_body + SR_DYDX_ROWS + 8 * SR_DYDX_BATCH_MAX,
	       rig_body + SR_DYDX_ROWS + 8 * (SR_DYDX_BATCH_MAX - 1), 8);
	cr_assert_eq(rig_decoded(SR_DYDX_ROWS + 8 * (SR_DYDX_BATCH_MAX + 1)), -EINVAL);
	cr_assert_eq(rig_decoded(batch_put(&head, 4)), 0);
	sr_put32(rig_body + SR_DYDX_ROWS + 8 * 3, 0);
	cr_assert_eq(rig_decoded(SR_DYDX_ROWS + 8 * 4), -EINVAL, "pairs that fall");
}

Test(dydx, a_default_slot_takes_an_order_with_a_builder_or_29_cancels)
{
	const struct sr_dydx_head head = some_head();
	struct sr_dydx_cancel cancels[30] = { { .clob_pair = 1 } };
	struct sr_dydx_order order = short_order();

	order.builder = head.owner;
	cr_assert_eq(sr_dydx_order_put(rig_body, 336, &head, &order), 168);
	cr_assert_eq(sr_dydx_order_put(rig_body, 167, &head, &order), -ENOSPC);
	cr_assert_eq(sr_dydx_batch_put(rig_body, 336, &head, cancels, 29), 336);
	cr_assert_eq(sr_dydx_batch_put(rig_body, 336, &head, cancels, 30), -ENOSPC);
}

Test(dydx, prices_are_multiples_of_the_markets_tick)
{
	const struct sr_dydx_head head = some_head();
	struct sr_market market = { .tick = 100000 };
	struct sr_dydx_order order = short_order();

	cr_assert_eq(rig_decoded(put(&head, &order)), 0);
	cr_assert_eq(sr_order_rules(&rig_order, 0, &market), 0);
	order.subticks++;
	cr_assert_eq(rig_decoded(put(&head, &order)), 0);
	cr_assert_eq(sr_order_rules(&rig_order, 0, &market), -EDOM);
	order = short_order();
	order.kind = SR_DYDX_CONDITIONAL;
	order.condition = SR_DYDX_STOP_LOSS;
	order.trigger_subticks = 150000;
	cr_assert_eq(rig_decoded(put(&head, &order)), 0);
	cr_assert_eq(sr_order_rules(&rig_order, 0, &market), -EDOM);
	market.tick = 0;
	cr_assert_eq(sr_order_rules(&rig_order, 0, &market), 0);
}

/* ---- lessons of public bug reports ---- */

/* hummingbot pull 6987: stateful orders spend the account's sequence. */
Test(dydx, lesson_stateful_orders_spend_the_sequence_and_short_term_ones_do_not)
{
	const struct sr_order_view *view = &rig_order.view;
	struct sr_dydx_head head = some_head();
	struct sr_dydx_order order = short_order();

	cr_assert_eq(rig_decoded(put(&head, &order)), 0);
	cr_assert_eq(view->nonce_kind, SR_NONCE_NONE);
	cr_assert_eq(rig_decoded(cancel_put(&head, SR_DYDX_SHORT_TERM)), 0);
	cr_assert_eq(view->nonce_kind, SR_NONCE_NONE);
	cr_assert_eq(rig_decoded(cancel_put(&head, SR_DYDX_TWAP)), 0);
	cr_assert_eq(view->nonce_kind, SR_NONCE_SEQUENCE);
	order.kind = SR_DYDX_LONG_TERM;
	head.sequence = (UINT64_C(1) << 40) - 1;
	cr_assert_eq(rig_decoded(put(&head, &order)), 0);
	cr_assert_eq(view->nonce_kind, SR_NONCE_SEQUENCE);
	head.sequence++;
	cr_assert_eq(rig_decoded(put(&head, &order)), 0);
	cr_assert_eq(view->nonce_kind, SR_NONCE_TIME_MS, "a time in ms from here on");
}

/* v4-clients pull 444: a short-term order's window is counted in blocks. */
Test(dydx, lesson_a_short_term_order_ends_at_a_block_and_others_at_a_time)
{
	const struct sr_order_view *view = &rig_order.view;
	struct sr_dydx_head head = some_head();
	struct sr_dydx_order order = short_order();

	head.good_til = UINT32_MAX;
	cr_assert_eq(rig_decoded(put(&head, &order)), 0);
	cr_assert(view->expiry_block == UINT32_MAX && !view->expiry_ms);
	order.kind = SR_DYDX_LONG_TERM;
	cr_assert_eq(rig_decoded(put(&head, &order)), 0);
	cr_assert(!view->expiry_block && view->expiry_ms == UINT64_C(4294967295000));
}

/* v4-clients pull 32: the numbers of the times in force were swapped. */
Test(dydx, lesson_times_in_force_have_the_chains_numbers)
{
	static const unsigned int flags[] = { 0, SR_LEG_IMMEDIATE, SR_LEG_POST_ONLY,
					      SR_LEG_IMMEDIATE };
	const struct sr_dydx_head head = some_head();
	struct sr_dydx_order order = short_order();

	cr_assert(SR_DYDX_IOC == 1 && SR_DYDX_POST_ONLY == 2 && SR_DYDX_FILL_OR_KILL == 3);
	for (unsigned int tif = 0; tif < 4; tif++) {
		order.tif = (enum sr_dydx_tif)tif;
		cr_assert_eq(rig_decoded(put(&head, &order)), 0);
		cr_assert_eq(rig_order.view.legs[0].flags, flags[tif]);
	}
}
