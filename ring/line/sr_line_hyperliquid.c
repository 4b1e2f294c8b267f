/* SPDX-License-Identifier: MIT */
#include "sr_hyperliquid.h"
#include "sr_line.h"

static const char *const tifs[] = {
	"Gtc", "Ioc", "Alo", "FrontendMarket", "LiquidationMarket", NULL
};
static const char *const tpsls[] = { "sl", "tp", NULL };

static void trigger_read(struct sr_hl_order *order, const struct sr_node *trigger)
{
	sr_node_members(trigger, "isMarket triggerPx tpsl");
	order->flags |= SR_HL_TRIGGER;
	if (sr_node_flag(trigger, "isMarket"))
		order->flags |= SR_HL_IS_MARKET;
	order->trigger_price = sr_node_decimal(trigger, "triggerPx", SR_HL_DECIMALS);
	if (sr_node_choice(trigger, "tpsl", tpsls) == 1)
		order->flags |= SR_HL_TAKE_PROFIT;
}

static void type_read(struct sr_hl_order *order, const struct sr_node *type)
{
	struct sr_node inner;

	sr_node_members(type, "limit trigger");
	if (sr_node_has(type, "limit") == sr_node_has(type, "trigger")) {
		sr_node_fail(type, "expected either limit or trigger");
		return;
	}
	if (sr_node_has(type, "trigger")) {
		inner = sr_node_get(type, "trigger");
		trigger_read(order, &inner);
		return;
	}
	inner = sr_node_get(type, "limit");
	sr_node_members(&inner, "tif");
	order->tif = (enum sr_hl_tif)(SR_HL_GTC + sr_node_choice(&inner, "tif", tifs));
}

/* @whole: a size of 0 may stand for the whole position. */
static void order_read(struct sr_hl_order *order, const struct sr_node *node, bool whole)
{
	struct sr_node type;

	*order = (struct sr_hl_order){ .asset = 0 };
	sr_node_members(node, "a b p s r t c");
	order->asset = (uint32_t)sr_node_integer(node, "a", UINT32_MAX);
	if (sr_node_flag(node, "b"))
		order->flags |= SR_HL_BUY;
	order->price = sr_node_decimal(node, "p", SR_HL_DECIMALS);
	order->size = sr_node_decimal(node, "s", SR_HL_DECIMALS);
	if (sr_node_flag(node, "r"))
		order->flags |= SR_HL_REDUCE_ONLY;
	type = sr_node_get(node, "t");
	type_read(order, &type);
	if (sr_node_has(node, "c")) {
		order->flags |= SR_HL_CLOID;
		sr_node_hex(node, "c", order->cloid, sizeof order->cloid);
	}
	if (!order->price)
		sr_node_fail(node, "p: expected a price above 0");
	if (!order->size &&
	    !(whole && order->flags & SR_HL_TRIGGER && order->flags & SR_HL_REDUCE_ONLY))
		sr_node_fail(node, "s: expected a size above 0; only a reduce-only trigger of "
				   "positionTpsl may close the whole position with 0");
}

static void grouping_read(struct sr_hl_head *head, const struct sr_node *action)
{
	static const char *const words[] = { "na", "normalTpsl", "positionTpsl", NULL };
	struct sr_node grouping = sr_node_get(action, "grouping");

	if (!json_is_object(grouping.value)) {
		head->grouping = (enum sr_hl_grouping)sr_node_choice(&grouping, NULL, words);
		return;
	}
	sr_node_members(&grouping, "p");
	head->grouping = SR_HL_GROUP_PRIORITY;
	head->priority = (uint32_t)sr_node_integer(&grouping, "p", UINT32_MAX);
}

static int order_convert(struct sr_line *line, struct sr_hl_head *head,
			 const struct sr_node *action)
{
	struct sr_hl_order orders[SR_ORDER_LEGS_MAX];
	unsigned char builder[20];
	struct sr_node list, fee;
	uint32_t count;

	sr_node_members(action, "type orders grouping builder");
	grouping_read(head, action);
	count = sr_node_count(action, "orders", 1, SR_ORDER_LEGS_MAX);
	list = sr_node_get(action, "orders");
	for (uint32_t i = 0; i < count; i++) {
		struct sr_node item = sr_node_item(&list, i);

		order_read(&orders[i], &item, head->grouping == SR_HL_GROUP_POSITION_TPSL);
	}
	if (sr_node_has(action, "builder")) {
		fee = sr_node_get(action, "builder");
		sr_node_members(&fee, "b f");
		sr_node_hex(&fee, "b", builder, sizeof builder);
		head->builder = builder;
		head->builder_fee = (uint32_t)sr_node_integer(&fee, "f", SR_HL_FEE_MAX);
	}
	return sr_hl_order_put(line->body, SR_LINE_BODY_BYTES, head, orders, count);
}

static int cancel_convert(struct sr_line *line, const struct sr_hl_head *head,
			  const struct sr_node *action, bool by_cloid)
{
	struct sr_hl_cancel cancels[SR_ORDER_LEGS_MAX];
	uint32_t count;
	struct sr_node list;

	sr_node_members(action, "type cancels");
	count = sr_node_count(action, "cancels", 1, SR_ORDER_LEGS_MAX);
	list = sr_node_get(action, "cancels");
	for (uint32_t i = 0; i < count; i++) {
		struct sr_node item = sr_node_item(&list, i);

		cancels[i] = (struct sr_hl_cancel){ .oid = 0 };
		sr_node_members(&item, by_cloid ? "asset cloid" : "a o");
		cancels[i].asset =
			(uint32_t)sr_node_integer(&item, by_cloid ? "asset" : "a", UINT32_MAX);
		if (by_cloid)
			sr_node_hex(&item, "cloid", cancels[i].cloid, SR_HL_CLOID_BYTES);
		else
			cancels[i].oid = sr_node_integer(&item, "o", UINT64_MAX);
	}
	return sr_hl_cancel_put(line->body, SR_LINE_BODY_BYTES, head, cancels, count, by_cloid);
}

static void modify_read(struct sr_hl_order *order, const struct sr_node *node)
{
	struct sr_node inner = sr_node_get(node, "order"), oid;

	order_read(order, &inner, false);
	oid = sr_node_get(node, "oid");
	if (json_is_string(oid.value)) {
		order->flags |= SR_HL_TARGET_CLOID;
		sr_node_hex(&oid, NULL, order->target_cloid, SR_HL_CLOID_BYTES);
	} else {
		order->target = sr_node_integer(&oid, NULL, UINT64_MAX);
	}
}

static int modify_convert(struct sr_line *line, const struct sr_hl_head *head,
			  const struct sr_node *action, bool batch)
{
	struct sr_hl_order orders[SR_ORDER_LEGS_MAX];
	uint32_t count = 1;
	struct sr_node list;

	if (!batch) {
		sr_node_members(action, "type oid order");
		modify_read(&orders[0], action);
	} else {
		sr_node_members(action, "type modifies");
		count = sr_node_count(action, "modifies", 1, SR_ORDER_LEGS_MAX);
		list = sr_node_get(action, "modifies");
		for (uint32_t i = 0; i < count; i++) {
			struct sr_node item = sr_node_item(&list, i);

			sr_node_members(&item, "oid order");
			modify_read(&orders[i], &item);
		}
	}
	return sr_hl_modify_put(line->body, SR_LINE_BODY_BYTES, head, orders, count, batch);
}

static int schedule_convert(struct sr_line *line, const struct sr_hl_head *head,
			    const struct sr_node *action)
{
	uint64_t time_ms = 0;

	sr_node_members(action, "type time");
	if (sr_node_has(action, "time")) {
		time_ms = sr_node_integer(action, "time", UINT64_MAX);
		if (!time_ms)
			sr_node_fail(action, "time: expected ms above 0, or no time at all");
	}
	return sr_hl_schedule_put(line->body, SR_LINE_BODY_BYTES, head, time_ms);
}

static int leverage_convert(struct sr_line *line, const struct sr_hl_head *head,
			    const struct sr_node *action)
{
	sr_node_members(action, "type asset isCross leverage");
	return sr_hl_leverage_put(line->body, SR_LINE_BODY_BYTES, head,
				  (uint32_t)sr_node_integer(action, "asset", UINT32_MAX),
				  sr_node_flag(action, "isCross"),
				  (uint32_t)sr_node_integer(action, "leverage",
							    SR_HL_LEVERAGE_MAX));
}

static int margin_convert(struct sr_line *line, const struct sr_hl_head *head,
			  const struct sr_node *action)
{
	sr_node_members(action, "type asset isBuy ntli");
	return sr_hl_margin_put(line->body, SR_LINE_BODY_BYTES, head,
				(uint32_t)sr_node_integer(action, "asset", UINT32_MAX),
				sr_node_flag(action, "isBuy"), sr_node_signed(action, "ntli"));
}

/* These are known, and are no L1 actions: who has one has to hear where it belongs. */
static bool user_signed(const struct sr_node *action)
{
	static const char *const types[] = {
		"usdSend", "spotSend", "sendAsset", "withdraw3", "usdClassTransfer", "approveAgent",
		"approveBuilderFee", "tokenDelegate", "convertToMultiSigUser", "userDexAbstraction",
	};
	const char *type = json_string_value(json_object_get(action->value, "type"));

	for (size_t i = 0; type && i < sizeof types / sizeof types[0]; i++) {
		if (strcmp(types[i], type) != 0)
			continue;
		sr_node_fail(action,
			     "type: %s is signed by users, as EIP-712 of its own: a line of venue "
			     "eip712, and a schema in the manifest",
			     type);
		return true;
	}
	return false;
}

static int action_convert(struct sr_line *line, struct sr_hl_head *head,
			  const struct sr_node *action)
{
	static const char *const types[] = {
		"order",          "cancel",         "cancelByCloid",        "modify", "batchModify",
		"scheduleCancel", "updateLeverage", "updateIsolatedMargin", "noop",   NULL
	};

	if (user_signed(action))
		return -EINVAL;
	switch (SR_HL_ORDER + (enum sr_hl_action)sr_node_choice(action, "type", types)) {
	case SR_HL_ORDER:
		return order_convert(line, head, action);
	case SR_HL_CANCEL:
		return cancel_convert(line, head, action, false);
	case SR_HL_CANCEL_BY_CLOID:
		return cancel_convert(line, head, action, true);
	case SR_HL_MODIFY:
		return modify_convert(line, head, action, false);
	case SR_HL_BATCH_MODIFY:
		return modify_convert(line, head, action, true);
	case SR_HL_SCHEDULE_CANCEL:
		return schedule_convert(line, head, action);
	case SR_HL_UPDATE_LEVERAGE:
		return leverage_convert(line, head, action);
	case SR_HL_UPDATE_ISOLATED_MARGIN:
		return margin_convert(line, head, action);
	default:
		sr_node_members(action, "type");
		return sr_hl_noop_put(line->body, SR_LINE_BODY_BYTES, head);
	}
}

int sr_line_hyperliquid(struct sr_line *line, const struct sr_node *root)
{
	static const char *const networks[] = { "mainnet", "testnet", NULL };
	struct sr_hl_head head = { .nonce = 0 };
	unsigned char vault[20];
	struct sr_node action;

	sr_node_members(root, SR_LINE_COMMON "network action nonce vaultAddress expiresAfter");
	head.testnet = sr_node_choice(root, "network", networks) == 1;
	head.nonce = sr_node_integer(root, "nonce", UINT64_MAX);
	if (sr_node_has(root, "vaultAddress")) {
		sr_node_hex(root, "vaultAddress", vault, sizeof vault);
		head.vault = vault;
	}
	if (sr_node_has(root, "expiresAfter")) {
		head.expires_after = sr_node_integer(root, "expiresAfter", UINT64_MAX);
		if (!head.expires_after)
			sr_node_fail(root, "expiresAfter: expected ms above 0, or null");
	}
	action = sr_node_get(root, "action");
	return action_convert(line, &head, &action);
}
