/* SPDX-License-Identifier: MIT */
/*
 * Hyperliquid's actions: every vector of tests/vectors/hyperliquid.json through the
 * client's builders, decode, msgpack, connection id, digest and signature; what must
 * be refused; and what is posted. Lessons of public bug reports are named tests.
 */
#include "order_rig.h"

#include "sr_eip712.h"
#include "sr_hl_action.h"
#include "sr_hyperliquid.h"
#include "sr_template.h"
#include "sr_verify.h"

#define ACTIONS 49u
#define TYPED_MIN 38u

TestSuite(hyperliquid, .init = rig_setup, .fini = rig_teardown);

/* ---- an action of a vector, given to the builders ---- */

static bool truth(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	cr_assert(json_is_boolean(value), "no boolean \"%s\"", name);
	return json_is_true(value);
}

static uint64_t decimal(const json_t *object, const char *name)
{
	const char *text = rig_string(object, name);
	uint64_t v;

	cr_assert_eq(sr_decimal_parse(&v, text, strlen(text), SR_HL_DECIMALS), 0, "%s", text);
	return v;
}

static enum sr_hl_tif tif_of(const char *name)
{
	static const char *const names[] = { "",    "Gtc",	      "Ioc",
					     "Alo", "FrontendMarket", "LiquidationMarket" };

	for (unsigned int i = 1; i < sizeof names / sizeof names[0]; i++)
		if (!strcmp(names[i], name))
			return (enum sr_hl_tif)i;
	cr_assert_fail("tif %s", name);
	return SR_HL_TIF_NONE;
}

static struct sr_hl_order order_of(const json_t *json)
{
	struct sr_hl_order order = { .asset = (uint32_t)rig_number(json, "a") };
	const json_t *type = json_object_get(json, "t");
	const json_t *trigger = json_object_get(type, "trigger");

	order.flags |= truth(json, "b") ? SR_HL_BUY : 0u;
	order.flags |= truth(json, "r") ? SR_HL_REDUCE_ONLY : 0u;
	order.price = decimal(json, "p");
	order.size = decimal(json, "s");
	if (trigger) {
		order.flags |= SR_HL_TRIGGER;
		order.flags |= truth(trigger, "isMarket") ? SR_HL_IS_MARKET : 0u;
		order.flags |= strcmp(rig_string(trigger, "tpsl"), "tp") ? 0u : SR_HL_TAKE_PROFIT;
		order.trigger_price = decimal(trigger, "triggerPx");
	} else {
		order.tif = tif_of(rig_string(json_object_get(type, "limit"), "tif"));
	}
	if (json_object_get(json, "c")) {
		order.flags |= SR_HL_CLOID;
		rig_bytes(order.cloid, sizeof order.cloid, json, "c");
	}
	return order;
}

static struct sr_hl_order modify_of(const json_t *json)
{
	struct sr_hl_order order = order_of(json_object_get(json, "order"));

	if (json_is_string(json_object_get(json, "oid"))) {
		order.flags |= SR_HL_TARGET_CLOID;
		rig_bytes(order.target_cloid, sizeof order.target_cloid, json, "oid");
	} else {
		order.target = rig_number(json, "oid");
	}
	return order;
}

static int orders_of(const struct sr_hl_head *head, const json_t *array, bool modify)
{
	static struct sr_hl_order orders[SR_ORDER_LEGS_MAX];
	uint32_t count = (uint32_t)json_array_size(array);

	for (uint32_t i = 0; i < count; i++)
		orders[i] = modify ? modify_of(json_array_get(array, i)) :
				     order_of(json_array_get(array, i));
	return modify ? sr_hl_modify_put(rig_body, sizeof rig_body, head, orders, count, true) :
			sr_hl_order_put(rig_body, sizeof rig_body, head, orders, count);
}

static int cancels_of(const struct sr_hl_head *head, const json_t *array, bool by_cloid)
{
	struct sr_hl_cancel cancels[8] = { 0 };
	uint32_t count = (uint32_t)json_array_size(array);

	for (uint32_t i = 0; i < count; i++) {
		const json_t *json = json_array_get(array, i);

		cancels[i].asset = (uint32_t)rig_number(json, by_cloid ? "asset" : "a");
		if (by_cloid)
			rig_bytes(cancels[i].cloid, SR_HL_CLOID_BYTES, json, "cloid");
		else
			cancels[i].oid = rig_number(json, "o");
	}
	return sr_hl_cancel_put(rig_body, sizeof rig_body, head, cancels, count, by_cloid);
}

static int others_of(const struct sr_hl_head *head, const json_t *action, const char *type)
{
	const json_t *time = json_object_get(action, "time");
	size_t room = sizeof rig_body;

	if (!strcmp(type, "scheduleCancel"))
		return sr_hl_schedule_put(rig_body, room, head,
					  time ? (uint64_t)json_integer_value(time) : 0);
	if (!strcmp(type, "updateLeverage"))
		return sr_hl_leverage_put(rig_body, room, head,
					  (uint32_t)rig_number(action, "asset"),
					  truth(action, "isCross"),
					  (uint32_t)rig_number(action, "leverage"));
	if (!strcmp(type, "updateIsolatedMargin"))
		return sr_hl_margin_put(rig_body, room, head,
					(uint32_t)rig_number(action, "asset"),
					truth(action, "isBuy"),
					(int64_t)rig_number(action, "ntli"));
	cr_assert_str_eq(type, "noop");
	return sr_hl_noop_put(rig_body, room, head);
}

static int body_of(const json_t *vector, bool testnet)
{
	static unsigned char vault[20], builder_address[20];
	const json_t *action = json_object_get(vector, "action");
	const json_t *builder = json_object_get(action, "builder");
	const json_t *grouping = json_object_get(action, "grouping");
	const char *type = rig_string(action, "type");
	struct sr_hl_head head = { .nonce = rig_number(vector, "nonce"), .testnet = testnet };

	if (json_is_string(json_object_get(vector, "vault"))) {
		rig_bytes(vault, sizeof vault, vector, "vault");
		head.vault = vault;
	}
	if (json_is_integer(json_object_get(vector, "expires")))
		head.expires_after = rig_number(vector, "expires");
	if (builder) {
		rig_bytes(builder_address, sizeof builder_address, builder, "b");
		head.builder = builder_address;
		head.builder_fee = (uint32_t)rig_number(builder, "f");
	}
	if (json_is_object(grouping)) {
		head.grouping = SR_HL_GROUP_PRIORITY;
		head.priority = (uint32_t)rig_number(grouping, "p");
	} else if (grouping && !strcmp(json_string_value(grouping), "normalTpsl")) {
		head.grouping = SR_HL_GROUP_NORMAL_TPSL;
	} else if (grouping && !strcmp(json_string_value(grouping), "positionTpsl")) {
		head.grouping = SR_HL_GROUP_POSITION_TPSL;
	}

	if (!strcmp(type, "order"))
		return orders_of(&head, json_object_get(action, "orders"), false);
	if (!strcmp(type, "batchModify"))
		return orders_of(&head, json_object_get(action, "modifies"), true);
	if (!strcmp(type, "modify")) {
		struct sr_hl_order order = modify_of(action);

		return sr_hl_modify_put(rig_body, sizeof rig_body, &head, &order, 1, false);
	}
	if (!strcmp(type, "cancel") || !strcmp(type, "cancelByCloid"))
		return cancels_of(&head, json_object_get(action, "cancels"), type[6] != '\0');
	return others_of(&head, action, type);
}

static int decoded(int bytes)
{
	cr_assert_gt(bytes, 0, "the builder: %d", bytes);
	return sr_order_decode(&rig_order, SR_TYPE_HYPERLIQUID, rig_body, (uint32_t)bytes,
			       &rig_env);
}

/* ---- vectors ---- */

static void check_signature(const json_t *vector, const json_t *network,
			    const unsigned char digest[32], const char *id)
{
	struct sr_order_signature signature;

	if (!json_object_get(network, "signature"))
		return;
	rig_sign(&signature, rig_string(vector, "key"), digest);
	rig_expect(network, "signature", signature.rs, 64, id);
	cr_assert_eq(signature.recid, rig_number(network, "recid"), "%s", id);
}

static void check_posted(const json_t *vector, const char *id)
{
	const json_t *action = json_object_get(vector, "action");
	char *expected = json_dumps(action, JSON_COMPACT);
	struct sr_out out = sr_out_over(rig_text, sizeof rig_text);
	const struct sr_order_signature signature = { { 0, 1 }, 1 };
	json_error_t error;
	json_t *posted;
	int bytes;

	sr_hl_action_put(&out, rig_body, true);
	cr_assert_eq(sr_out_done(&out), (int)strlen(expected), "%s: %.*s", id, (int)out.used, rig_text);
	cr_assert_eq(memcmp(rig_text, expected, out.used), 0, "%s", id);

	bytes = sr_order_render(rig_text, sizeof rig_text, &rig_order, &signature, &rig_env);
	cr_assert_gt(bytes, 0);
	posted = json_loadb(rig_text, (size_t)bytes, 0, &error);
	cr_assert_not_null(posted, "%s: %s", id, error.text);
	cr_assert(json_equal(json_object_get(posted, "action"), action), "%s", id);
	cr_assert(json_equal(json_object_get(posted, "vaultAddress"),
			     json_object_get(vector, "vault")));
	cr_assert(json_equal(json_object_get(posted, "expiresAfter"),
			     json_object_get(vector, "expires")));
	cr_assert(json_equal(json_object_get(posted, "nonce"), json_object_get(vector, "nonce")));
	for (int room = 0; room < bytes; room += 7)
		cr_assert_eq(sr_order_render(rig_text, (size_t)room, &rig_order, &signature,
					     &rig_env),
			     -ENOSPC);
	json_decref(posted);
	free(expected);
}

static void check_typed(const json_t *vector, const json_t *network, bool testnet, const char *id)
{
	struct sr_out out = sr_out_over(rig_text, sizeof rig_text);
	unsigned char digest[32];

	cr_assert_eq(decoded(body_of(vector, testnet)), 0, "%s", id);
	cr_assert_eq(rig_order.view.testnet, testnet);
	sr_hl_action_put(&out, rig_body, false);
	rig_expect(vector, "msgpack", rig_text, out.used, id);
	cr_assert_eq(sr_order_digest(digest, &rig_order, &rig_env), 0);
	rig_expect(network, "digest", digest, 32, id);
	check_signature(vector, network, digest, id);
	check_posted(vector, id);
}

static void check_raw(const json_t *vector, const json_t *network, bool testnet, const char *id)
{
	unsigned char vault[20], connection[32], digest[32];
	struct sr_out out = sr_out_over(rig_text, sizeof rig_text);
	struct sr_hl_envelope envelope = { .nonce = rig_number(vector, "nonce") };

	out.used = rig_unhex((unsigned char *)rig_text, sizeof rig_text,
			     rig_string(vector, "msgpack"));
	if (json_is_string(json_object_get(vector, "vault"))) {
		rig_bytes(vault, sizeof vault, vector, "vault");
		envelope.vault = vault;
	}
	envelope.expires = json_is_integer(json_object_get(vector, "expires"));
	if (envelope.expires)
		envelope.expires_after = rig_number(vector, "expires");

	cr_assert_eq(sr_hl_connection(connection, &out, &envelope), 0);
	rig_expect(vector, "connection", connection, 32, id);
	sr_hl_agent_digest(digest, connection, testnet);
	rig_expect(network, "digest", digest, 32, id);
	check_signature(vector, network, digest, id);
}

Test(hyperliquid, every_vector_gives_its_msgpack_connection_digest_and_signature)
{
	json_t *root = rig_vectors("hyperliquid.json"), *vector;
	unsigned int typed = 0;
	size_t i;

	json_array_foreach(rig_array(root, "actions", ACTIONS), i, vector) {
		const char *id = rig_string(vector, "id");

		for (int testnet = 0; testnet <= 1; testnet++) {
			const json_t *network =
				json_object_get(vector, testnet ? "testnet" : "mainnet");

			check_raw(vector, network, testnet, id);
			if (truth(vector, "typed"))
				check_typed(vector, network, testnet, id);
		}
		typed += truth(vector, "typed");
	}
	cr_assert_geq(typed, TYPED_MIN);

	json_array_foreach(rig_array(root, "connections", 1), i, vector) {
		for (int testnet = 0; testnet <= 1; testnet++) {
			const json_t *network =
				json_object_get(vector, testnet ? "testnet" : "mainnet");
			unsigned char connection[32], digest[32];

			rig_bytes(connection, sizeof connection, vector, "connection");
			sr_hl_agent_digest(digest, connection, testnet);
			rig_expect(network, "digest", digest, 32, "connection");
			check_signature(vector, network, digest, "connection");
		}
	}
	json_decref(root);
}

Test(hyperliquid, precomputed_constants_are_the_hashes_of_their_text)
{
	static const unsigned char zero[20];
	const struct sr_domain domain = { "Exchange", "1", 1337, zero, NULL, false };
	static const char type[] = "Agent(string source,bytes32 connectionId)";
	unsigned char separator[32], connection[32] = { 9 }, words[96], hash[32], expected[32];
	unsigned char digest[32];

	sr_domain_separator(separator, &domain);
	for (int testnet = 0; testnet <= 1; testnet++) {
		struct sr_out out = sr_out_over(words, sizeof words);

		sr_word_text(&out, type, sizeof type - 1);
		sr_word_text(&out, testnet ? "b" : "a", 1);
		sr_word_bytes32(&out, connection);
		sr_struct_hash(hash, &out);
		sr_eip712_digest(expected, separator, hash);
		sr_hl_agent_digest(digest, connection, testnet);
		cr_assert_arr_eq(digest, expected, 32);
	}
}

/* ---- what policy sees ---- */

static const struct sr_hl_head plain = { .nonce = 1700000000000 };

static struct sr_hl_order limit_order(void)
{
	return (struct sr_hl_order){ .asset = 3,
				     .flags = SR_HL_BUY,
				     .tif = SR_HL_GTC,
				     .price = 167010000000,
				     .size = 1470000 };
}

static int put(const struct sr_hl_head *head, const struct sr_hl_order *order)
{
	return sr_hl_order_put(rig_body, sizeof rig_body, head, order, 1);
}

Test(hyperliquid, the_view_shows_every_order_of_a_batch)
{
	static const unsigned char vault[20] = { 1, 2, 3 }, builder[20] = { 4 };
	const struct sr_hl_head head = {
		.nonce = 12, .testnet = true, .vault = vault, .expires_after = 99,
		.builder = builder, .builder_fee = 25,
	};
	struct sr_hl_order orders[2] = { limit_order(), limit_order() };
	const struct sr_order_view *view = &rig_order.view;

	orders[1].asset = 10107;
	orders[1].flags = SR_HL_REDUCE_ONLY | SR_HL_TRIGGER | SR_HL_IS_MARKET;
	orders[1].tif = SR_HL_TIF_NONE;
	orders[1].trigger_price = 165000000000;
	cr_assert_eq(decoded(sr_hl_order_put(rig_body, sizeof rig_body, &head, orders, 2)), 0);

	cr_assert_eq(view->type, SR_TYPE_HYPERLIQUID);
	cr_assert_eq(view->kind, SR_KIND_ORDER);
	cr_assert_eq(view->action, SR_HL_ORDER);
	cr_assert(view->testnet);
	cr_assert_eq(view->nonce_kind, SR_NONCE_TIME_MS);
	cr_assert_eq(view->nonce, 12);
	cr_assert_eq(view->expiry_ms, 99);
	cr_assert_eq(view->account.bytes, 20);
	cr_assert_arr_eq(view->account.data, vault, 20);
	cr_assert_arr_eq(view->fee_to.data, builder, 20);
	cr_assert_eq(view->fee, 25);
	cr_assert_eq(view->leg_count, 2);
	cr_assert_eq(view->legs[0].asset.words[0], 3);
	cr_assert_eq(view->legs[0].side, SR_SIDE_BUY);
	cr_assert(view->legs[0].price == 167010000000 && view->legs[0].size == 1470000);
	/* 1670.1 x 0.0147 = 24.55047 */
	cr_assert_eq(view->legs[0].notional, 24550470);
	cr_assert_eq(view->legs[0].flags, SR_LEG_NOTIONAL);
	cr_assert_eq(view->legs[1].asset.words[0], 10107);
	cr_assert_eq(view->legs[1].side, SR_SIDE_SELL);
	cr_assert_eq(view->legs[1].flags,
		     SR_LEG_NOTIONAL | SR_LEG_REDUCE_ONLY | SR_LEG_TRIGGER | SR_LEG_MARKET);
	cr_assert(view->legs[1].trigger_price == 165000000000);
}

Test(hyperliquid, kinds_tell_what_only_cancels)
{
	struct sr_hl_order order = limit_order();
	struct sr_hl_cancel cancel = { .asset = 7, .oid = 1 };
	const struct sr_order_view *view = &rig_order.view;
	size_t room = sizeof rig_body;

	cr_assert_eq(decoded(sr_hl_cancel_put(rig_body, room, &plain, &cancel, 1, false)), 0);
	cr_assert_eq(view->kind, SR_KIND_CANCEL);
	cr_assert_eq(view->legs[0].asset.words[0], 7);
	cr_assert_eq(decoded(sr_hl_cancel_put(rig_body, room, &plain, &cancel, 1, true)), 0);
	cr_assert_eq(view->kind, SR_KIND_CANCEL);
	cr_assert_eq(decoded(sr_hl_modify_put(rig_body, room, &plain, &order, 1, true)), 0);
	cr_assert_eq(view->kind, SR_KIND_MODIFY);
	cr_assert_eq(view->legs[0].notional, 24550470);
	cr_assert_eq(decoded(sr_hl_schedule_put(rig_body, room, &plain, 5)), 0);
	cr_assert_eq(view->kind, SR_KIND_CONFIGURE, "far enough ahead it never goes off");
	cr_assert_eq(decoded(sr_hl_schedule_put(rig_body, room, &plain, 0)), 0);
	cr_assert_eq(view->kind, SR_KIND_CONFIGURE, "it takes a dead man's switch away");
	cr_assert_eq(decoded(sr_hl_leverage_put(rig_body, room, &plain, 7, true, 20)), 0);
	cr_assert_eq(view->kind, SR_KIND_CONFIGURE);
	cr_assert(view->legs[0].size == 20);
	cr_assert_eq(decoded(sr_hl_margin_put(rig_body, room, &plain, 7, true, -2000000)), 0);
	cr_assert_eq(view->kind, SR_KIND_CONFIGURE);
	cr_assert_eq(view->value, 2000000);
	cr_assert_eq(decoded(sr_hl_noop_put(rig_body, room, &plain)), 0);
	cr_assert_eq(view->kind, SR_KIND_NOOP);
}

/* ---- templates ---- */

/* The order of rig_body with other values wherever a template takes them from a patch. */
static int other_body(unsigned char *body, size_t room)
{
	const unsigned char *vault = rig_body + SR_HL_VAULT, *builder = rig_body + SR_HL_BUILDER;
	unsigned int flags = rig_body[SR_ORDER_FLAGS], action = rig_body[SR_ORDER_ACTION];
	const struct sr_hl_head head = {
		.nonce = 1,
		.testnet = flags & SR_HL_TESTNET,
		.vault = flags & SR_HL_HAS_VAULT ? vault : NULL,
		.expires_after = flags & SR_HL_HAS_EXPIRES ? 5 : 0,
		.builder = flags & SR_HL_HAS_BUILDER ? builder : NULL,
		.builder_fee = sr_get32(rig_body + SR_HL_BUILDER_FEE),
		.grouping = (enum sr_hl_grouping)rig_body[SR_HL_GROUPING],
		.priority = sr_get32(rig_body + SR_HL_PRIORITY),
	};
	struct sr_hl_order order;

	sr_hl_row_get(&order, rig_body, 0);
	order.flags &= 0xff;
	order.price = 12300000000;
	order.size = 1;
	order.trigger_price = order.flags & SR_HL_TRIGGER ? 4500000000 : 0;
	order.target = 1;
	memset(order.cloid, order.flags & SR_HL_CLOID ? 0x77 : 0, sizeof order.cloid);
	if (action == SR_HL_ORDER)
		return sr_hl_order_put(body, room, &head, &order, 1);
	memset(order.target_cloid, 0x88, sizeof order.target_cloid);
	return sr_hl_modify_put(body, room, &head, &order, 1, action == SR_HL_BATCH_MODIFY);
}

/* rig_body, which was decoded, out of a template of another order. */
static void check_template(const char *what)
{
	const struct sr_order_signature signature = { { 0xff, [40] = 7 }, 1 };
	static unsigned char body[SR_TEMPLATE_BODY_BYTES];
	static char text[RIG_TEXT_BYTES];
	static struct sr_template t;
	struct sr_hl_order order;
	struct sr_patch patch;
	int bytes, text_bytes;

	sr_hl_row_get(&order, rig_body, 0);
	patch = (struct sr_patch){ order.price, order.size, order.trigger_price,
				   rig_order.view.nonce, rig_order.view.expiry_ms, order.cloid,
				   order.target_cloid };
	text_bytes = sr_order_render(rig_text, sizeof rig_text, &rig_order, &signature, &rig_env);
	bytes = other_body(body, sizeof body);
	cr_assert_gt(bytes, 0);

	cr_assert_eq(sr_template_init(&t, SR_TYPE_HYPERLIQUID, body, (uint32_t)bytes, &rig_order,
				      &rig_env), 0, "%s", what);
	memset(body, 0xa5, sizeof body);
	sr_template_patch(body, &t, &patch);
	cr_assert_eq(memcmp(body, rig_body, t.body_bytes), 0, "%s", what);
	cr_assert_eq(sr_template_render(text, sizeof text, &t, body, &signature), text_bytes);
	cr_assert_eq(memcmp(text, rig_text, (size_t)text_bytes), 0, "%.*s", text_bytes, text);
	for (int room = 0; room < text_bytes; room++)
		cr_assert_eq(sr_template_render(text, (size_t)room, &t, body, &signature), -ENOSPC);
}

/* Every vector that is one order, from a template with other values in it. */
Test(hyperliquid, a_patched_template_is_the_order_and_its_text)
{
	json_t *root = rig_vectors("hyperliquid.json"), *vector;
	unsigned int orders = 0, modifies = 0;
	size_t i;

	json_array_foreach(rig_array(root, "actions", ACTIONS), i, vector) {
		if (!truth(vector, "typed"))
			continue;
		cr_assert_eq(decoded(body_of(vector, false)), 0);
		if (rig_order.view.leg_count != 1 || !rig_order.view.legs[0].size)
			continue;
		if (rig_order.view.kind == SR_KIND_ORDER)
			orders++;
		else if (rig_order.view.kind == SR_KIND_MODIFY)
			modifies++;
		else
			continue;
		check_template(rig_string(vector, "id"));
	}
	cr_assert_eq(orders, 13);
	cr_assert_geq(modifies, 2);
	json_decref(root);
}

Test(hyperliquid, a_template_is_an_order_that_would_be_taken)
{
	struct sr_hl_order order = limit_order();
	static struct sr_template t;
	int bytes = put(&plain, &order);

	cr_assert_eq(sr_template_init(&t, SR_TYPE_HYPERLIQUID, rig_body, (uint32_t)bytes,
				      &rig_order, &rig_env), 0);
	cr_assert_eq(sr_template_init(&t, SR_TYPE_HYPERLIQUID, rig_body, (uint32_t)bytes - 1,
				      &rig_order, &rig_env), -EINVAL);
	cr_assert_eq(sr_template_init(&t, 4711, rig_body, (uint32_t)bytes, &rig_order, &rig_env),
		     -ENOENT);
	order.tif = SR_HL_TIF_NONE;
	bytes = put(&plain, &order);
	cr_assert_eq(sr_template_init(&t, SR_TYPE_HYPERLIQUID, rig_body, (uint32_t)bytes,
				      &rig_order, &rig_env), -EINVAL);
}

Test(hyperliquid, there_are_templates_of_single_orders_only)
{
	const struct sr_hl_order orders[2] = { limit_order(), limit_order() };
	const struct sr_hl_cancel cancel = { .asset = 7, .oid = 1 };
	static struct sr_template t;
	int bytes = sr_hl_order_put(rig_body, sizeof rig_body, &plain, orders, 2);

	cr_assert_eq(sr_template_init(&t, SR_TYPE_HYPERLIQUID, rig_body, (uint32_t)bytes,
				      &rig_order, &rig_env), -EOPNOTSUPP);
	bytes = sr_hl_cancel_put(rig_body, sizeof rig_body, &plain, &cancel, 1, false);
	cr_assert_eq(sr_template_init(&t, SR_TYPE_HYPERLIQUID, rig_body, (uint32_t)bytes,
				      &rig_order, &rig_env), -EOPNOTSUPP);
}

/* What is posted is what was signed: a body that says something else has no text. */
Test(hyperliquid, a_template_renders_its_own_bodies_only)
{
	static const struct sr_order_signature signature;
	const struct sr_patch patch = { .price = 100000000, .size = 200000000, .nonce = 9 };
	struct sr_hl_order order = limit_order();
	static struct sr_template t;
	unsigned int refused = 0;

	cr_assert_eq(sr_template_init(&t, SR_TYPE_HYPERLIQUID, rig_body,
				      (uint32_t)put(&plain, &order), &rig_order, &rig_env), 0);
	sr_template_patch(rig_body, &t, &patch);
	for (uint32_t byte = 0; byte < t.body_bytes; byte++) {
		bool patched = (byte >= SR_ORDER_NONCE && byte < SR_ORDER_NONCE + 8) ||
			       (byte >= SR_HL_ROWS + 8 && byte < SR_HL_ROWS + 24);
		int ret;

		rig_body[byte] ^= 1;
		ret = sr_template_render(rig_text, sizeof rig_text, &t, rig_body, &signature);
		cr_assert_eq(ret > 0, patched, "byte %u: %d", byte, ret);
		refused += ret == -EINVAL;
		rig_body[byte] ^= 1;
	}
	cr_assert_eq(refused, t.body_bytes - 24u);
}

/* ---- what is refused ---- */

Test(hyperliquid, a_body_is_valid_at_one_length_and_of_one_type)
{
	struct sr_hl_order order = limit_order();
	int bytes = put(&plain, &order);

	for (uint32_t i = 0; i <= 256; i++)
		cr_assert_eq(sr_order_decode(&rig_order, SR_TYPE_HYPERLIQUID, rig_body, i, &rig_env),
			     i == (uint32_t)bytes ? 0 : -EINVAL, "%u", i);
	for (uint32_t type = 0; type < 1024; type++)
		if (type != SR_TYPE_HYPERLIQUID)
			cr_assert_neq(sr_order_decode(&rig_order, type, rig_body, (uint32_t)bytes,
						      &rig_env), 0);
}

/* Flips each bit of a body: what still decodes has another digest, or policy would
 * see one thing and the venue another. */
static void check_every_bit(int bytes)
{
	unsigned char digest[32], other[32];
	struct sr_order_env *env = &rig_env;

	cr_assert_eq(decoded(bytes), 0);
	cr_assert_eq(sr_order_digest(digest, &rig_order, env), 0);
	for (uint32_t bit = 0; bit < 8u * (uint32_t)bytes; bit++) {
		rig_body[bit / 8] ^= (unsigned char)(1u << bit % 8);
		if (!sr_order_decode(&rig_order, SR_TYPE_HYPERLIQUID, rig_body, (uint32_t)bytes,
				     env)) {
			cr_assert_eq(sr_order_digest(other, &rig_order, env), 0);
			cr_assert_neq(memcmp(digest, other, 32), 0, "bit %u", bit);
		}
		rig_body[bit / 8] ^= (unsigned char)(1u << bit % 8);
	}
}

Test(hyperliquid, no_bit_of_a_body_is_without_a_meaning)
{
	static const unsigned char vault[20] = { 1 }, builder[20] = { 4 };
	const struct sr_hl_head full = { 12, true, vault, 99, builder, 25, SR_HL_GROUP_PRIORITY, 3 };
	struct sr_hl_order order = limit_order(), orders[2];
	struct sr_hl_cancel cancel = { .asset = 7, .oid = 1 };

	check_every_bit(put(&plain, &order));
	order.flags |= SR_HL_CLOID;
	check_every_bit(put(&full, &order));
	order.flags |= SR_HL_TRIGGER;
	order.tif = SR_HL_TIF_NONE;
	order.trigger_price = 5;
	check_every_bit(put(&full, &order));
	check_every_bit(sr_hl_modify_put(rig_body, sizeof rig_body, &plain, &order, 1, false));
	check_every_bit(sr_hl_cancel_put(rig_body, sizeof rig_body, &plain, &cancel, 1, false));
	check_every_bit(sr_hl_cancel_put(rig_body, sizeof rig_body, &plain, &cancel, 1, true));
	check_every_bit(sr_hl_schedule_put(rig_body, sizeof rig_body, &plain, 5));
	check_every_bit(sr_hl_leverage_put(rig_body, sizeof rig_body, &plain, 7, true, 20));
	check_every_bit(sr_hl_margin_put(rig_body, sizeof rig_body, &plain, 7, true, 20));
	check_every_bit(sr_hl_noop_put(rig_body, sizeof rig_body, &plain));
	/* Rows that have room for an id and a trigger, and no use for them. */
	orders[0] = limit_order();
	orders[1] = order;
	check_every_bit(sr_hl_order_put(rig_body, sizeof rig_body, &plain, orders, 2));
}

/* {"p": n} is paid for: what goes to a builder is not all that an order costs. */
Test(hyperliquid, priority_is_a_fee_that_policy_sees)
{
	static const unsigned char builder[20] = { 4 };
	struct sr_hl_head head = { .nonce = 1, .grouping = SR_HL_GROUP_PRIORITY, .priority = 7 };
	struct sr_hl_order order = limit_order();

	cr_assert_eq(decoded(put(&head, &order)), 0);
	cr_assert_eq(rig_order.view.fee, 7);
	cr_assert_eq(rig_order.view.fee_to.bytes, 0);
	head.builder = builder;
	head.builder_fee = 25;
	head.priority = UINT32_MAX;
	cr_assert_eq(decoded(put(&head, &order)), 0);
	cr_assert_eq(rig_order.view.fee, UINT64_C(25) + UINT32_MAX);
}

static void refused(const struct sr_hl_head *head, const struct sr_hl_order *order,
		    const char *why)
{
	cr_assert_eq(decoded(put(head, order)), -EINVAL, "%s", why);
}

Test(hyperliquid, fields_out_of_their_bounds_are_refused)
{
	static const unsigned char builder[20] = { 4 };
	struct sr_hl_order good = limit_order(), order = good;
	struct sr_hl_head head = plain;

	order.price = 0;
	refused(&plain, &order, "price 0");
	order = good;
	order.tif = SR_HL_TIF_NONE;
	refused(&plain, &order, "no time in force");
	order.tif = (enum sr_hl_tif)6;
	refused(&plain, &order, "a sixth time in force");
	order = good;
	order.flags |= SR_HL_TRIGGER;
	refused(&plain, &order, "a trigger with a time in force");
	order.tif = SR_HL_TIF_NONE;
	refused(&plain, &order, "a trigger without its price");
	order = good;
	order.flags |= SR_HL_IS_MARKET;
	refused(&plain, &order, "a market order that is no trigger");
	order = good;
	order.price = UINT64_MAX;
	order.size = UINT64_MAX;
	refused(&plain, &order, "a notional above 64 bits");
	order = good;
	order.flags |= SR_HL_TARGET_CLOID;
	refused(&plain, &order, "a target of a new order");
	head.builder = builder;
	head.builder_fee = SR_HL_FEE_MAX + 1;
	refused(&head, &good, "a fee above 1 %");
	head = plain;
	head.builder_fee = 1;
	refused(&head, &good, "a fee for nobody");
	head = plain;
	head.priority = 1;
	refused(&head, &good, "a priority without its grouping");
	cr_assert_eq(decoded(put(&plain, &good)), 0);
	rig_body[SR_ORDER_ACTION] = 64;
	cr_assert_eq(decoded(SR_HL_ROWS), -EINVAL, "an action that is not there");
	cr_assert_eq(decoded(sr_hl_leverage_put(rig_body, sizeof rig_body, &plain, 1, true, 0)),
		     -EINVAL);
	cr_assert_eq(decoded(sr_hl_margin_put(rig_body, sizeof rig_body, &plain, 1, true, 0)),
		     -EINVAL);
}

Test(hyperliquid, a_default_slot_takes_10_orders_or_6_with_client_ids)
{
	static struct sr_hl_order orders[SR_ORDER_LEGS_MAX + 1];

	for (unsigned int i = 0; i <= SR_ORDER_LEGS_MAX; i++)
		orders[i] = limit_order();
	cr_assert_gt(sr_hl_order_put(rig_body, 336, &plain, orders, 10), 0);
	cr_assert_eq(sr_hl_order_put(rig_body, 336, &plain, orders, 11), -ENOSPC);
	cr_assert_eq(decoded(sr_hl_order_put(rig_body, 4096, &plain, orders, 128)), 0);
	cr_assert_eq(sr_hl_order_put(rig_body, 4096, &plain, orders, 129), -EINVAL);
	cr_assert_eq(sr_hl_order_put(rig_body, 4096, &plain, orders, 0), -EINVAL);
	orders[3].flags |= SR_HL_CLOID;
	cr_assert_gt(sr_hl_order_put(rig_body, 336, &plain, orders, 6), 0);
	cr_assert_eq(sr_hl_order_put(rig_body, 336, &plain, orders, 7), -ENOSPC);
}

/* ---- lessons of public bug reports ---- */

static void action_text(struct sr_hl_order order, uint64_t price, uint64_t size)
{
	struct sr_out out = sr_out_over(rig_text, sizeof rig_text - 1);

	order.price = price;
	order.size = size;
	cr_assert_eq(decoded(put(&plain, &order)), 0);
	sr_hl_action_put(&out, rig_body, true);
	rig_text[out.used] = '\0';
}

/* nktkas/hyperliquid issues 1 and 12; the Rust SDK's own vectors have "2000.0". */
Test(hyperliquid, lesson_no_trailing_zero_is_signed)
{
	action_text(limit_order(), 2520000000, 350000000);
	cr_assert(strstr(rig_text, "\"p\":\"25.2\",\"s\":\"3.5\""), "%s", rig_text);
	action_text(limit_order(), 200000000000, 100000000);
	cr_assert(strstr(rig_text, "\"p\":\"2000\",\"s\":\"1\""), "%s", rig_text);
}

/* nktkas/hyperliquid pull 136: '100001.0' became 100000. */
Test(hyperliquid, lesson_integers_keep_all_their_digits)
{
	action_text(limit_order(), 10000100000000, 100000000);
	cr_assert(strstr(rig_text, "\"p\":\"100001\""), "%s", rig_text);
	cr_assert(sr_hl_price_valid(10000100000000, 0, false), "an integer of six figures");
}

/* nansen-ai/nansen-cli pull 497: an id above 2^53 was rounded. */
Test(hyperliquid, lesson_order_ids_above_2_to_53_are_exact)
{
	const struct sr_hl_cancel cancel = { .asset = 1, .oid = 9007199254740993 };
	struct sr_out out = sr_out_over(rig_text, sizeof rig_text - 1);

	cr_assert_eq(decoded(sr_hl_cancel_put(rig_body, sizeof rig_body, &plain, &cancel, 1,
					      false)), 0);
	sr_hl_action_put(&out, rig_body, true);
	rig_text[out.used] = '\0';
	cr_assert(strstr(rig_text, "\"o\":9007199254740993}"), "%s", rig_text);
}

/* hyperliquid-python-sdk pull 314: the vault that was posted was not the one signed. */
Test(hyperliquid, lesson_the_posted_vault_is_the_signed_one)
{
	static const unsigned char vault[20] = { 0xab };
	const struct sr_order_signature signature = { { 0 }, 0 };
	struct sr_hl_head head = plain;
	struct sr_hl_order order = limit_order();
	unsigned char with[32], without[32];

	cr_assert_eq(decoded(put(&head, &order)), 0);
	cr_assert_eq(sr_order_digest(without, &rig_order, &rig_env), 0);
	head.vault = vault;
	cr_assert_eq(decoded(put(&head, &order)), 0);
	cr_assert_eq(sr_order_digest(with, &rig_order, &rig_env), 0);
	cr_assert_neq(memcmp(with, without, 32), 0);
	cr_assert_gt(sr_order_render(rig_text, sizeof rig_text, &rig_order, &signature, &rig_env),
		     0);
	cr_assert(strstr(rig_text, "\"vaultAddress\":\"0xab00000000"), "%s", rig_text);
}

/* ccxt pull 30037: a size that rounds to 0 with reduce-only closes the position. */
Test(hyperliquid, lesson_a_size_of_zero_is_said_on_purpose_or_refused)
{
	struct sr_hl_head head = plain;
	struct sr_hl_order order = limit_order();

	order.size = 0;
	refused(&plain, &order, "size 0");
	order.flags |= SR_HL_REDUCE_ONLY;
	refused(&plain, &order, "size 0, reduce-only");
	head.grouping = SR_HL_GROUP_POSITION_TPSL;
	refused(&head, &order, "size 0 without a trigger");
	order.flags |= SR_HL_TRIGGER | SR_HL_IS_MARKET;
	order.tif = SR_HL_TIF_NONE;
	order.trigger_price = order.price;
	refused(&plain, &order, "size 0 in no group");
	order.flags &= ~(uint32_t)SR_HL_REDUCE_ONLY;
	refused(&head, &order, "size 0 of what could open a position");
	order.flags |= SR_HL_REDUCE_ONLY;
	cr_assert_eq(decoded(put(&head, &order)), 0);
	cr_assert(rig_order.view.legs[0].flags & SR_LEG_WHOLE, "and policy sees it");
	cr_assert_eq(decoded(sr_hl_modify_put(rig_body, sizeof rig_body, &plain, &order, 1, false)),
		     -EINVAL);
}

/* nautilus_trader issue 3612: the rule of 5 figures holds for limits as well. */
Test(hyperliquid, lesson_prices_have_5_figures_and_the_markets_decimals)
{
	static const struct {
		uint64_t price;
		unsigned int sz_decimals;
		bool spot, valid;
	} cases[] = {
		{ 123450000000, 1, false, true },   /* 1234.5 */
		{ 12345678900000000, 5, false, true }, /* 123456789 */
		{ 100000, 0, false, true },         /* 0.001 */
		{ 1234500, 0, false, true },        /* 0.012345 */
		{ 1234500, 1, false, false },       /* 6 decimals, 5 allowed */
		{ 1234560, 0, false, false },       /* six figures */
		{ 12345, 0, true, true },           /* 0.00012345 on spot */
		{ 12345, 1, true, false },
		{ 100000000, 6, false, true },      /* 1 */
		{ 150000000, 6, false, false },     /* 1.5: no decimals left */
		{ 150000000, 9, true, false },
		{ 0, 0, false, false },
	};
	struct sr_market market = { .spot = false, .size_decimals = 4 };
	struct sr_hl_order order = limit_order();

	cr_assert_not(sr_hl_price_valid(123456000000, 0, false));
	for (unsigned int i = 0; i < sizeof cases / sizeof cases[0]; i++)
		cr_assert_eq(sr_hl_price_valid(cases[i].price, cases[i].sz_decimals, cases[i].spot),
			     cases[i].valid, "case %u", i);

	order.price = 167000000000; /* 1670; 0.0147 */
	cr_assert_eq(decoded(put(&plain, &order)), 0);
	cr_assert_eq(sr_order_rules(&rig_order, 0, &market), 0);
	market.size_decimals = 3;
	cr_assert_eq(sr_order_rules(&rig_order, 0, &market), -EDOM, "0.0147 is no size");
	market.size_decimals = 4;
	order.price = 167012300000;
	cr_assert_eq(decoded(put(&plain, &order)), 0);
	cr_assert_eq(sr_order_rules(&rig_order, 0, &market), -EDOM, "1670.123 is no price");
	order.price = 167000000000;
	order.flags |= SR_HL_TRIGGER;
	order.tif = SR_HL_TIF_NONE;
	order.trigger_price = 167012300000;
	cr_assert_eq(decoded(put(&plain, &order)), 0);
	cr_assert_eq(sr_order_rules(&rig_order, 0, &market), -EDOM, "nor a trigger");
}

/* hyperliquid-dex/ts-examples issue 1: keys of a trigger in their order. */
Test(hyperliquid, lesson_keys_of_a_trigger_are_in_order)
{
	struct sr_hl_order order = limit_order();

	order.flags |= SR_HL_TRIGGER | SR_HL_TAKE_PROFIT;
	order.tif = SR_HL_TIF_NONE;
	order.trigger_price = 10300000000;
	action_text(order, 10000000000, 10000000000);
	cr_assert(strstr(rig_text, "\"t\":{\"trigger\":{\"isMarket\":false,\"triggerPx\":\"103\","
				   "\"tpsl\":\"tp\"}}}"), "%s", rig_text);
}

/* hyperliquid-python-sdk issue 54: what is hashed and what is posted differ, and then each
 * signature recovers to another address. By a verifier that shares nothing with ours. */
Test(hyperliquid, lesson_every_signature_recovers_to_one_key)
{
	unsigned char key[32] = { [31] = 7 }, extra[32] = { 0 }, digest[32], pubkey[33];
	struct sr_hl_order order = limit_order();
	struct sr_hl_head head = plain;
	struct sr_order_signature signature;
	struct sr_verifier *verifier;
	unsigned int seen = 0;
	char v[32];

	cr_assert_eq(sr_verifier_new(&verifier), 0);
	cr_assert_eq(sr_curve_pubkey(rig_curve, pubkey, NULL, key), 0);
	for (unsigned int i = 0; i < 32; i++) {
		head.nonce = 1700000000000 + i / 2;
		extra[0] = (unsigned char)i;
		cr_assert_eq(decoded(put(&head, &order)), 0);
		cr_assert_eq(sr_order_digest(digest, &rig_order, &rig_env), 0);
		cr_assert_eq(sr_ecdsa_sign(rig_curve, signature.rs, &signature.recid, digest, key,
					   i % 2 ? extra : NULL), 0);
		cr_assert_eq(sr_verify_signature(verifier, pubkey, SR_ECDSA_DIGEST, digest,
						 sizeof digest, signature.rs, signature.recid), 0);
		cr_assert_gt(sr_order_render(rig_text, sizeof rig_text, &rig_order, &signature,
					     &rig_env), 0);
		(void)snprintf(v, sizeof v, "\"v\":%u}", 27u + signature.recid);
		cr_assert(strstr(rig_text, v), "%s in %s", v, rig_text);
		seen |= 1u << signature.recid;
	}
	cr_assert_eq(seen, 3, "both recovery ids");
	sr_verifier_delete(verifier);
}

/* The venue's own list of common errors: an address with upper case is another text, in
 * msgpack as in JSON. */
Test(hyperliquid, lesson_addresses_are_lower_case)
{
	static const unsigned char address[20] = { 0xab, 0xcd, [19] = 0xef };
	static const char text[] = "\"0xabcd0000000000000000000000000000000000ef\"";
	const struct sr_order_signature signature = { { 0 }, 0 };
	const struct sr_hl_head head = { .nonce = 1, .vault = address, .builder = address,
					 .builder_fee = 1 };
	struct sr_hl_order order = limit_order();
	struct sr_out out = sr_out_over(rig_text, sizeof rig_text);
	const char *at;

	cr_assert_eq(decoded(put(&head, &order)), 0);
	sr_hl_action_put(&out, rig_body, false);
	cr_assert_not_null(memmem(rig_text, out.used, text + 1, 42), "the builder in msgpack");
	cr_assert_gt(sr_order_render(rig_text, sizeof rig_text - 1, &rig_order, &signature,
				     &rig_env), 0);
	at = strstr(rig_text, text);
	cr_assert(at && strstr(at + 1, text), "builder and vault in %s", rig_text);
}
