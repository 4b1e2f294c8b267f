/* SPDX-License-Identifier: MIT */
#include "sr_hl_action.h"
#include "sr_order.h"
#include "sr_tree.h"

static void tif_put(struct sr_tree *tree, enum sr_hl_tif tif)
{
	SR_TREE_KEY(tree, "tif");
	switch (tif) {
	case SR_HL_GTC:
		SR_TREE_TEXT(tree, "Gtc");
		break;
	case SR_HL_IOC:
		SR_TREE_TEXT(tree, "Ioc");
		break;
	case SR_HL_ALO:
		SR_TREE_TEXT(tree, "Alo");
		break;
	case SR_HL_FRONTEND_MARKET:
		SR_TREE_TEXT(tree, "FrontendMarket");
		break;
	default:
		SR_TREE_TEXT(tree, "LiquidationMarket");
		break;
	}
}

static void type_put(struct sr_tree *tree, const struct sr_hl_order *order)
{
	SR_TREE_KEY(tree, "t");
	sr_tree_map(tree, 1);
	if (order->flags & SR_HL_TRIGGER) {
		SR_TREE_KEY(tree, "trigger");
		sr_tree_map(tree, 3);
		SR_TREE_KEY(tree, "isMarket");
		sr_tree_bool(tree, order->flags & SR_HL_IS_MARKET);
		SR_TREE_KEY(tree, "triggerPx");
		sr_tree_decimal(tree, order->trigger_price, SR_HL_DECIMALS);
		SR_TREE_KEY(tree, "tpsl");
		if (order->flags & SR_HL_TAKE_PROFIT)
			SR_TREE_TEXT(tree, "tp");
		else
			SR_TREE_TEXT(tree, "sl");
	} else {
		SR_TREE_KEY(tree, "limit");
		sr_tree_map(tree, 1);
		tif_put(tree, order->tif);
	}
	sr_tree_map_end(tree);
	sr_tree_map_end(tree);
}

static void order_put(struct sr_tree *tree, const struct sr_hl_order *order)
{
	bool cloid = order->flags & SR_HL_CLOID;

	sr_tree_map(tree, cloid ? 7 : 6);
	SR_TREE_KEY(tree, "a");
	sr_tree_uint(tree, order->asset);
	SR_TREE_KEY(tree, "b");
	sr_tree_bool(tree, order->flags & SR_HL_BUY);
	SR_TREE_KEY(tree, "p");
	sr_tree_decimal(tree, order->price, SR_HL_DECIMALS);
	SR_TREE_KEY(tree, "s");
	sr_tree_decimal(tree, order->size, SR_HL_DECIMALS);
	SR_TREE_KEY(tree, "r");
	sr_tree_bool(tree, order->flags & SR_HL_REDUCE_ONLY);
	type_put(tree, order);
	if (cloid) {
		SR_TREE_KEY(tree, "c");
		sr_tree_hex(tree, order->cloid, SR_HL_CLOID_BYTES);
	}
	sr_tree_map_end(tree);
}

static void grouping_put(struct sr_tree *tree, const unsigned char *body)
{
	SR_TREE_KEY(tree, "grouping");
	switch (body[SR_HL_GROUPING]) {
	case SR_HL_GROUP_NA:
		SR_TREE_TEXT(tree, "na");
		break;
	case SR_HL_GROUP_NORMAL_TPSL:
		SR_TREE_TEXT(tree, "normalTpsl");
		break;
	case SR_HL_GROUP_POSITION_TPSL:
		SR_TREE_TEXT(tree, "positionTpsl");
		break;
	default:
		sr_tree_map(tree, 1);
		SR_TREE_KEY(tree, "p");
		sr_tree_uint(tree, sr_get32(body + SR_HL_PRIORITY));
		sr_tree_map_end(tree);
		break;
	}
}

static void orders_put(struct sr_tree *tree, const unsigned char *body, uint32_t rows)
{
	bool builder = body[SR_ORDER_FLAGS] & SR_HL_HAS_BUILDER;
	struct sr_hl_order order;

	sr_tree_map(tree, builder ? 4 : 3);
	SR_TREE_KEY(tree, "type");
	SR_TREE_TEXT(tree, "order");
	SR_TREE_KEY(tree, "orders");
	sr_tree_array(tree, rows);
	for (uint32_t i = 0; i < rows; i++) {
		sr_hl_row_get(&order, body, i);
		sr_tree_item(tree);
		order_put(tree, &order);
	}
	sr_tree_array_end(tree);
	grouping_put(tree, body);
	if (builder) {
		SR_TREE_KEY(tree, "builder");
		sr_tree_map(tree, 2);
		SR_TREE_KEY(tree, "b");
		sr_tree_hex(tree, body + SR_HL_BUILDER, 20);
		SR_TREE_KEY(tree, "f");
		sr_tree_uint(tree, sr_get32(body + SR_HL_BUILDER_FEE));
		sr_tree_map_end(tree);
	}
	sr_tree_map_end(tree);
}

static void target_put(struct sr_tree *tree, const struct sr_hl_order *order)
{
	SR_TREE_KEY(tree, "oid");
	if (order->flags & SR_HL_TARGET_CLOID)
		sr_tree_hex(tree, order->target_cloid, SR_HL_CLOID_BYTES);
	else
		sr_tree_uint(tree, order->target);
	SR_TREE_KEY(tree, "order");
	order_put(tree, order);
}

static void modify_put(struct sr_tree *tree, const unsigned char *body)
{
	struct sr_hl_order order;

	sr_hl_row_get(&order, body, 0);
	sr_tree_map(tree, 3);
	SR_TREE_KEY(tree, "type");
	SR_TREE_TEXT(tree, "modify");
	target_put(tree, &order);
	sr_tree_map_end(tree);
}

static void batch_modify_put(struct sr_tree *tree, const unsigned char *body, uint32_t rows)
{
	struct sr_hl_order order;

	sr_tree_map(tree, 2);
	SR_TREE_KEY(tree, "type");
	SR_TREE_TEXT(tree, "batchModify");
	SR_TREE_KEY(tree, "modifies");
	sr_tree_array(tree, rows);
	for (uint32_t i = 0; i < rows; i++) {
		sr_hl_row_get(&order, body, i);
		sr_tree_item(tree);
		sr_tree_map(tree, 2);
		target_put(tree, &order);
		sr_tree_map_end(tree);
	}
	sr_tree_array_end(tree);
	sr_tree_map_end(tree);
}

static void cancels_put(struct sr_tree *tree, const unsigned char *body, uint32_t rows)
{
	bool by_cloid = body[SR_ORDER_ACTION] == SR_HL_CANCEL_BY_CLOID;
	const unsigned char *at = body + SR_HL_ROWS;

	sr_tree_map(tree, 2);
	SR_TREE_KEY(tree, "type");
	if (by_cloid)
		SR_TREE_TEXT(tree, "cancelByCloid");
	else
		SR_TREE_TEXT(tree, "cancel");
	SR_TREE_KEY(tree, "cancels");
	sr_tree_array(tree, rows);
	for (uint32_t i = 0; i < rows; i++, at += sr_hl_row_bytes(body)) {
		sr_tree_item(tree);
		sr_tree_map(tree, 2);
		if (by_cloid) {
			SR_TREE_KEY(tree, "asset");
			sr_tree_uint(tree, sr_get32(at));
			SR_TREE_KEY(tree, "cloid");
			sr_tree_hex(tree, at + 8, SR_HL_CLOID_BYTES);
		} else {
			SR_TREE_KEY(tree, "a");
			sr_tree_uint(tree, sr_get32(at));
			SR_TREE_KEY(tree, "o");
			sr_tree_uint(tree, sr_get64(at + 8));
		}
		sr_tree_map_end(tree);
	}
	sr_tree_array_end(tree);
	sr_tree_map_end(tree);
}

static void schedule_put(struct sr_tree *tree, const unsigned char *body, uint32_t rows)
{
	sr_tree_map(tree, 1 + rows);
	SR_TREE_KEY(tree, "type");
	SR_TREE_TEXT(tree, "scheduleCancel");
	if (rows) {
		SR_TREE_KEY(tree, "time");
		sr_tree_uint(tree, sr_get64(body + SR_HL_ROWS));
	}
	sr_tree_map_end(tree);
}

static void leverage_put(struct sr_tree *tree, const unsigned char *row)
{
	sr_tree_map(tree, 4);
	SR_TREE_KEY(tree, "type");
	SR_TREE_TEXT(tree, "updateLeverage");
	SR_TREE_KEY(tree, "asset");
	sr_tree_uint(tree, sr_get32(row));
	SR_TREE_KEY(tree, "isCross");
	sr_tree_bool(tree, sr_get32(row + 4));
	SR_TREE_KEY(tree, "leverage");
	sr_tree_uint(tree, sr_get32(row + 8));
	sr_tree_map_end(tree);
}

static void margin_put(struct sr_tree *tree, const unsigned char *row)
{
	sr_tree_map(tree, 4);
	SR_TREE_KEY(tree, "type");
	SR_TREE_TEXT(tree, "updateIsolatedMargin");
	SR_TREE_KEY(tree, "asset");
	sr_tree_uint(tree, sr_get32(row));
	SR_TREE_KEY(tree, "isBuy");
	sr_tree_bool(tree, sr_get32(row + 4));
	SR_TREE_KEY(tree, "ntli");
	sr_tree_int(tree, (int64_t)sr_get64(row + 8));
	sr_tree_map_end(tree);
}

static void noop_put(struct sr_tree *tree)
{
	sr_tree_map(tree, 1);
	SR_TREE_KEY(tree, "type");
	SR_TREE_TEXT(tree, "noop");
	sr_tree_map_end(tree);
}

void sr_hl_action_put(struct sr_out *out, const unsigned char *body, bool json)
{
	struct sr_tree tree = sr_tree_over(out, json);
	uint32_t rows = sr_get16(body + SR_ORDER_ROWS);

	switch (body[SR_ORDER_ACTION]) {
	case SR_HL_ORDER:
		orders_put(&tree, body, rows);
		break;
	case SR_HL_CANCEL:
	case SR_HL_CANCEL_BY_CLOID:
		cancels_put(&tree, body, rows);
		break;
	case SR_HL_MODIFY:
		modify_put(&tree, body);
		break;
	case SR_HL_BATCH_MODIFY:
		batch_modify_put(&tree, body, rows);
		break;
	case SR_HL_SCHEDULE_CANCEL:
		schedule_put(&tree, body, rows);
		break;
	case SR_HL_UPDATE_LEVERAGE:
		leverage_put(&tree, body + SR_HL_ROWS);
		break;
	case SR_HL_UPDATE_ISOLATED_MARGIN:
		margin_put(&tree, body + SR_HL_ROWS);
		break;
	default:
		noop_put(&tree);
		break;
	}
}
