/* SPDX-License-Identifier: MIT */
#include "sr_hl_body.h"

#include "sr_hl_action.h"
#include "sr_venue.h"

#define ORDER_BYTES 24u
#define TRIGGER_BYTES 8u
#define TARGET_BYTES 16u
#define CANCEL_BYTES 16u
#define CANCEL_CLOID_BYTES 24u
#define SCHEDULE_BYTES 8u
#define LEVERAGE_BYTES 16u
#define MARGIN_BYTES 16u

static uint32_t order_row_bytes(unsigned int flags)
{
	return ORDER_BYTES + (flags & SR_HL_ROWS_TRIGGER ? TRIGGER_BYTES : 0) +
	       (flags & SR_HL_ROWS_CLOID ? SR_HL_CLOID_BYTES : 0);
}

static uint32_t row_bytes(unsigned int action, unsigned int flags)
{
	switch (action) {
	case SR_HL_ORDER:
		return order_row_bytes(flags);
	case SR_HL_MODIFY:
	case SR_HL_BATCH_MODIFY:
		return order_row_bytes(flags) + TARGET_BYTES;
	case SR_HL_CANCEL:
		return CANCEL_BYTES;
	case SR_HL_CANCEL_BY_CLOID:
		return CANCEL_CLOID_BYTES;
	case SR_HL_SCHEDULE_CANCEL:
	case SR_HL_NOOP:
		return SCHEDULE_BYTES;
	case SR_HL_UPDATE_LEVERAGE:
		return LEVERAGE_BYTES;
	case SR_HL_UPDATE_ISOLATED_MARGIN:
		return MARGIN_BYTES;
	default:
		return 0;
	}
}

uint32_t sr_hl_row_bytes(const unsigned char *body)
{
	return row_bytes(body[SR_ORDER_ACTION], body[SR_ORDER_FLAGS]);
}

void sr_hl_row_get(struct sr_hl_order *order, const unsigned char *body, uint32_t row)
{
	const unsigned char *at = body + SR_HL_ROWS + row * sr_hl_row_bytes(body);
	unsigned int head = body[SR_ORDER_FLAGS];

	memset(order, 0, sizeof *order);
	order->asset = sr_get32(at);
	order->flags = sr_get32(at + 4);
	order->tif = (enum sr_hl_tif)(order->flags >> SR_HL_TIF_SHIFT & 7);
	order->price = sr_get64(at + 8);
	order->size = sr_get64(at + 16);
	at += ORDER_BYTES;
	if (head & SR_HL_ROWS_TRIGGER) {
		order->trigger_price = sr_get64(at);
		at += TRIGGER_BYTES;
	}
	if (head & SR_HL_ROWS_CLOID) {
		memcpy(order->cloid, at, SR_HL_CLOID_BYTES);
		at += SR_HL_CLOID_BYTES;
	}
	if (body[SR_ORDER_ACTION] == SR_HL_ORDER)
		return;
	order->target = sr_get64(at);
	memcpy(order->target_cloid, at, SR_HL_CLOID_BYTES);
}

static void row_put(unsigned char *at, unsigned int head, const struct sr_hl_order *order,
		    bool modify)
{
	sr_put32(at, order->asset);
	sr_put32(at + 4, order->flags | (uint32_t)order->tif << SR_HL_TIF_SHIFT);
	sr_put64(at + 8, order->price);
	sr_put64(at + 16, order->size);
	at += ORDER_BYTES;
	if (head & SR_HL_ROWS_TRIGGER) {
		sr_put64(at, order->trigger_price);
		at += TRIGGER_BYTES;
	}
	if (head & SR_HL_ROWS_CLOID) {
		memcpy(at, order->cloid, SR_HL_CLOID_BYTES);
		at += SR_HL_CLOID_BYTES;
	}
	if (!modify)
		return;
	if (order->flags & SR_HL_TARGET_CLOID) {
		memcpy(at, order->target_cloid, SR_HL_CLOID_BYTES);
	} else {
		sr_put64(at, order->target);
		memset(at + 8, 0, TARGET_BYTES - 8);
	}
}

static unsigned int head_flags(const struct sr_hl_head *head)
{
	return (head->testnet ? SR_HL_TESTNET : 0u) | (head->vault ? SR_HL_HAS_VAULT : 0u) |
	       (head->expires_after ? SR_HL_HAS_EXPIRES : 0u) |
	       (head->builder ? SR_HL_HAS_BUILDER : 0u);
}

/* The fixed part; the bytes of the whole, or -errno. */
static int head_put(unsigned char *body, size_t room, const struct sr_hl_head *head,
		    unsigned int action, unsigned int flags, uint32_t rows)
{
	size_t bytes = SR_HL_ROWS + (size_t)rows * row_bytes(action, flags);

	if (rows > SR_ORDER_LEGS_MAX)
		return -EINVAL;
	if (bytes > room)
		return -ENOSPC;

	memset(body, 0, SR_HL_ROWS);
	sr_order_head_put(body, SR_TYPE_HYPERLIQUID, action, flags, rows, head->nonce);
	sr_put64(body + SR_HL_EXPIRES, head->expires_after);
	if (head->vault)
		memcpy(body + SR_HL_VAULT, head->vault, 20);
	if (head->builder)
		memcpy(body + SR_HL_BUILDER, head->builder, 20);
	sr_put32(body + SR_HL_BUILDER_FEE, head->builder_fee);
	body[SR_HL_GROUPING] = (unsigned char)head->grouping;
	sr_put32(body + SR_HL_PRIORITY, head->priority);
	return (int)bytes;
}

static int orders_put(unsigned char *body, size_t room, const struct sr_hl_head *head,
		      unsigned int action, const struct sr_hl_order *orders, uint32_t count)
{
	unsigned int flags = head_flags(head);
	uint32_t stride;
	int bytes;

	if (!count || count > SR_ORDER_LEGS_MAX)
		return -EINVAL;
	for (uint32_t i = 0; i < count; i++) {
		flags |= orders[i].flags & SR_HL_CLOID ? SR_HL_ROWS_CLOID : 0u;
		flags |= orders[i].flags & SR_HL_TRIGGER ? SR_HL_ROWS_TRIGGER : 0u;
	}

	bytes = head_put(body, room, head, action, flags, count);
	if (bytes < 0)
		return bytes;
	stride = row_bytes(action, flags);
	for (uint32_t i = 0; i < count; i++)
		row_put(body + SR_HL_ROWS + i * stride, flags, &orders[i], action != SR_HL_ORDER);
	return bytes;
}

int sr_hl_order_put(unsigned char *body, size_t room, const struct sr_hl_head *head,
		    const struct sr_hl_order *orders, uint32_t count)
{
	return orders_put(body, room, head, SR_HL_ORDER, orders, count);
}

int sr_hl_modify_put(unsigned char *body, size_t room, const struct sr_hl_head *head,
		     const struct sr_hl_order *orders, uint32_t count, bool batch)
{
	if (!batch && count != 1)
		return -EINVAL;
	return orders_put(body, room, head, batch ? SR_HL_BATCH_MODIFY : SR_HL_MODIFY, orders,
			  count);
}

int sr_hl_cancel_put(unsigned char *body, size_t room, const struct sr_hl_head *head,
		     const struct sr_hl_cancel *cancels, uint32_t count, bool by_cloid)
{
	unsigned int action = by_cloid ? SR_HL_CANCEL_BY_CLOID : SR_HL_CANCEL;
	unsigned char *at = body + SR_HL_ROWS;
	int bytes;

	if (!count)
		return -EINVAL;
	bytes = head_put(body, room, head, action, head_flags(head), count);
	if (bytes < 0)
		return bytes;
	for (uint32_t i = 0; i < count; i++, at += row_bytes(action, 0)) {
		sr_put32(at, cancels[i].asset);
		sr_put32(at + 4, 0);
		if (by_cloid)
			memcpy(at + 8, cancels[i].cloid, SR_HL_CLOID_BYTES);
		else
			sr_put64(at + 8, cancels[i].oid);
	}
	return bytes;
}

int sr_hl_schedule_put(unsigned char *body, size_t room, const struct sr_hl_head *head,
		       uint64_t time_ms)
{
	int bytes = head_put(body, room, head, SR_HL_SCHEDULE_CANCEL, head_flags(head),
			     time_ms != 0);

	if (bytes > 0 && time_ms)
		sr_put64(body + SR_HL_ROWS, time_ms);
	return bytes;
}

int sr_hl_leverage_put(unsigned char *body, size_t room, const struct sr_hl_head *head,
		       uint32_t asset, bool cross, uint32_t leverage)
{
	int bytes = head_put(body, room, head, SR_HL_UPDATE_LEVERAGE, head_flags(head), 1);

	if (bytes < 0)
		return bytes;
	sr_put32(body + SR_HL_ROWS, asset);
	sr_put32(body + SR_HL_ROWS + 4, cross);
	sr_put64(body + SR_HL_ROWS + 8, leverage);
	return bytes;
}

int sr_hl_margin_put(unsigned char *body, size_t room, const struct sr_hl_head *head,
		     uint32_t asset, bool is_long, int64_t ntli)
{
	int bytes = head_put(body, room, head, SR_HL_UPDATE_ISOLATED_MARGIN, head_flags(head), 1);

	if (bytes < 0)
		return bytes;
	sr_put32(body + SR_HL_ROWS, asset);
	sr_put32(body + SR_HL_ROWS + 4, is_long);
	sr_put64(body + SR_HL_ROWS + 8, (uint64_t)ntli);
	return bytes;
}

int sr_hl_noop_put(unsigned char *body, size_t room, const struct sr_hl_head *head)
{
	return head_put(body, room, head, SR_HL_NOOP, head_flags(head), 0);
}
