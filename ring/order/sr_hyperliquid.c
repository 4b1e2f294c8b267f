/* SPDX-License-Identifier: MIT */
#include "sr_hyperliquid.h"

#include "sr_eip712.h"
#include "sr_hl_action.h"
#include "sr_venue.h"

/* EIP712Domain of "Exchange", "1", chain 1337, contract zero; the type hash of
 * Agent(string source,bytes32 connectionId); the hashes of "a" and "b". */
static const unsigned char domain[SR_WORD_BYTES] = {
	0xd7, 0x92, 0x97, 0xfc, 0xdf, 0x2f, 0xfc, 0xd4, 0xae, 0x22, 0x3d,
	0x01, 0xed, 0xaa, 0x2b, 0xa2, 0x14, 0xff, 0x8f, 0x40, 0x1d, 0x7c,
	0x93, 0x00, 0xd9, 0x95, 0xd1, 0x7c, 0x82, 0xaa, 0x40, 0x40,
};
static const unsigned char agent_type[SR_WORD_BYTES] = {
	0x26, 0xf0, 0x5c, 0x2f, 0x72, 0x39, 0xb6, 0x98, 0x30, 0x75, 0xe5,
	0x83, 0x21, 0x29, 0x2d, 0x77, 0xb3, 0xaa, 0x17, 0x3d, 0x19, 0xb2,
	0x72, 0x57, 0xac, 0x96, 0xab, 0x36, 0x25, 0x70, 0xf5, 0x08,
};
static const unsigned char source_mainnet[SR_WORD_BYTES] = {
	0x3a, 0xc2, 0x25, 0x16, 0x8d, 0xf5, 0x42, 0x12, 0xa2, 0x5c, 0x1c,
	0x01, 0xfd, 0x35, 0xbe, 0xbf, 0xea, 0x40, 0x8f, 0xda, 0xc2, 0xe3,
	0x1d, 0xdd, 0x6f, 0x80, 0xa4, 0xbb, 0xf9, 0xa5, 0xf1, 0xcb,
};
static const unsigned char source_testnet[SR_WORD_BYTES] = {
	0xb5, 0x55, 0x3d, 0xe3, 0x15, 0xe0, 0xed, 0xf5, 0x04, 0xd9, 0x15,
	0x0a, 0xf8, 0x2d, 0xaf, 0xa5, 0xc4, 0x66, 0x7f, 0xa6, 0x18, 0xed,
	0x0a, 0x6f, 0x19, 0xc6, 0x9b, 0x41, 0x16, 0x6c, 0x55, 0x10,
};

#define FIGURES_MAX 5u

bool sr_hl_price_valid(uint64_t price, unsigned int sz_decimals, bool spot)
{
	unsigned int most = spot ? 8 : 6, places = sr_decimal_places(price, SR_HL_DECIMALS);

	if (!price)
		return false;
	if (places == 0)
		return true;
	return sz_decimals <= most && places <= most - sz_decimals &&
	       sr_decimal_figures(price) <= FIGURES_MAX;
}

bool sr_hl_size_valid(uint64_t size, unsigned int sz_decimals)
{
	return sr_decimal_places(size, SR_HL_DECIMALS) <= sz_decimals;
}

static int rules(const struct sr_order_leg *leg, const struct sr_market *market)
{
	unsigned int sz_decimals = (unsigned int)market->size_decimals;

	if (leg->side == SR_SIDE_NONE || !leg->price)
		return 0; /* a cancel, leverage, margin */
	if (market->size_decimals < 0 ||
	    !sr_hl_price_valid((uint64_t)leg->price, sz_decimals, market->spot) ||
	    !sr_hl_size_valid((uint64_t)leg->size, sz_decimals))
		return -EDOM;
	if (leg->flags & SR_LEG_TRIGGER &&
	    !sr_hl_price_valid((uint64_t)leg->trigger_price, sz_decimals, market->spot))
		return -EDOM;
	return 0;
}

static bool rows_allowed(unsigned int action, uint32_t rows)
{
	switch (action) {
	case SR_HL_ORDER:
	case SR_HL_BATCH_MODIFY:
	case SR_HL_CANCEL:
	case SR_HL_CANCEL_BY_CLOID:
		return rows >= 1;
	case SR_HL_SCHEDULE_CANCEL:
		return rows <= 1;
	case SR_HL_NOOP:
		return rows == 0;
	default:
		return rows == 1;
	}
}

static uint32_t body_bytes(const unsigned char *body)
{
	uint32_t rows = sr_get16(body + SR_ORDER_ROWS), row = sr_hl_row_bytes(body);

	if (!row || !rows_allowed(body[SR_ORDER_ACTION], rows))
		return 0;
	return SR_HL_ROWS + rows * row;
}

/* What a flag leaves out is zero. */
static bool absent_or(bool present, const unsigned char *p, size_t bytes)
{
	return present || sr_all_zero(p, bytes);
}

static int head_decode(struct sr_order_view *view, const unsigned char *body)
{
	unsigned int flags = body[SR_ORDER_FLAGS], grouping = body[SR_HL_GROUPING];
	bool order = view->action == SR_HL_ORDER, modify = view->action == SR_HL_MODIFY ||
							   view->action == SR_HL_BATCH_MODIFY;
	bool priority = order && grouping == SR_HL_GROUP_PRIORITY;
	uint64_t expires = sr_get64(body + SR_HL_EXPIRES);
	uint32_t fee = sr_get32(body + SR_HL_BUILDER_FEE);

	if (flags & ~(unsigned int)SR_HL_FLAGS || grouping > (order ? SR_HL_GROUP_PRIORITY : 0u) ||
	    (flags & SR_HL_HAS_BUILDER && !order) || fee > SR_HL_FEE_MAX)
		return -EINVAL;
	if (flags & (SR_HL_ROWS_CLOID | SR_HL_ROWS_TRIGGER) && !order && !modify)
		return -EINVAL;
	if (!!(flags & SR_HL_HAS_EXPIRES) != (expires != 0) ||
	    !absent_or(flags & SR_HL_HAS_VAULT, body + SR_HL_VAULT, SR_ADDRESS_BYTES) ||
	    !absent_or(flags & SR_HL_HAS_BUILDER, body + SR_HL_BUILDER, SR_ADDRESS_BYTES + 4) ||
	    !sr_all_zero(body + SR_HL_GROUPING + 1, 3) ||
	    !absent_or(priority, body + SR_HL_PRIORITY, 4) ||
	    !sr_all_zero(body + SR_HL_PRIORITY + 4, 4))
		return -EINVAL;

	view->testnet = flags & SR_HL_TESTNET;
	view->nonce_kind = SR_NONCE_TIME_MS;
	view->expiry_ms = expires;
	if (flags & SR_HL_HAS_VAULT)
		sr_party_set(&view->account, body + SR_HL_VAULT, SR_ADDRESS_BYTES);
	if (flags & SR_HL_HAS_BUILDER)
		sr_party_set(&view->fee_to, body + SR_HL_BUILDER, SR_ADDRESS_BYTES);
	/* A priority is paid for, to nobody whom a list could name. */
	view->fee = (uint64_t)fee + sr_get32(body + SR_HL_PRIORITY);
	return 0;
}

static bool row_valid(const struct sr_hl_order *order, const unsigned char *body)
{
	unsigned int head = body[SR_ORDER_FLAGS], action = body[SR_ORDER_ACTION];
	bool modify = action != SR_HL_ORDER;
	uint32_t flags = order->flags;

	if (flags & ~(uint32_t)SR_HL_ROW_FLAGS || !order->price)
		return false;
	if (flags & SR_HL_TRIGGER) {
		if (!(head & SR_HL_ROWS_TRIGGER) || order->tif != SR_HL_TIF_NONE ||
		    !order->trigger_price)
			return false;
	} else if (flags & (SR_HL_IS_MARKET | SR_HL_TAKE_PROFIT) || order->trigger_price ||
		   order->tif < SR_HL_GTC || order->tif > SR_HL_LIQUIDATION_MARKET) {
		return false;
	}
	if (flags & SR_HL_CLOID && !(head & SR_HL_ROWS_CLOID))
		return false;
	if (!absent_or(flags & SR_HL_CLOID, order->cloid, SR_HL_CLOID_BYTES))
		return false;
	if (flags & SR_HL_TARGET_CLOID && !modify)
		return false;
	if (!(flags & SR_HL_TARGET_CLOID) && !sr_all_zero(order->target_cloid + 8, 8))
		return false;
	/* With reduce-only a size of 0 closes the whole position: said on purpose, or not at all. */
	return order->size || (!modify && flags & SR_HL_TRIGGER && flags & SR_HL_REDUCE_ONLY &&
			       body[SR_HL_GROUPING] == SR_HL_GROUP_POSITION_TPSL);
}

static unsigned int leg_flags(const struct sr_hl_order *order)
{
	unsigned int flags = SR_LEG_NOTIONAL;

	if (order->flags & SR_HL_REDUCE_ONLY)
		flags |= SR_LEG_REDUCE_ONLY;
	if (order->flags & SR_HL_TRIGGER)
		flags |= SR_LEG_TRIGGER;
	if (order->flags & SR_HL_IS_MARKET)
		flags |= SR_LEG_MARKET;
	if (order->tif == SR_HL_ALO)
		flags |= SR_LEG_POST_ONLY;
	if (order->tif >= SR_HL_FRONTEND_MARKET || order->tif == SR_HL_IOC)
		flags |= SR_LEG_IMMEDIATE;
	if (!order->size)
		flags |= SR_LEG_WHOLE;
	return flags;
}

static int orders_decode(struct sr_order_view *view, const unsigned char *body, uint32_t rows)
{
	struct sr_hl_order order;

	for (uint32_t i = 0; i < rows; i++) {
		struct sr_order_leg *leg = &view->legs[i];

		sr_hl_row_get(&order, body, i);
		if (!row_valid(&order, body))
			return -EINVAL;
		leg->asset = sr_asset_number(order.asset);
		leg->price = order.price;
		leg->size = order.size;
		leg->trigger_price = order.trigger_price;
		leg->side = order.flags & SR_HL_BUY ? SR_SIDE_BUY : SR_SIDE_SELL;
		leg->flags = (uint8_t)leg_flags(&order);
		leg->price_decimals = SR_HL_DECIMALS;
		leg->size_decimals = SR_HL_DECIMALS;
		if (sr_notional(&leg->notional, order.price, SR_HL_DECIMALS, order.size,
				SR_HL_DECIMALS))
			return -EINVAL;
	}
	view->leg_count = rows;
	return 0;
}

/* Everything but orders: a leg that names the asset, and what else a row has. */
static int others_decode(struct sr_order_view *view, const unsigned char *body, uint32_t rows)
{
	const unsigned char *row = body + SR_HL_ROWS;
	int64_t ntli;

	for (uint32_t i = 0; i < rows; i++, row += sr_hl_row_bytes(body)) {
		struct sr_order_leg *leg = &view->legs[i];
		uint32_t flag = sr_get32(row + 4);

		memset(leg, 0, sizeof *leg);
		leg->asset = sr_asset_number(sr_get32(row));
		switch (view->action) {
		case SR_HL_UPDATE_LEVERAGE:
			leg->size = sr_get32(row + 8);
			if (flag > 1 || !leg->size || leg->size > SR_HL_LEVERAGE_MAX ||
			    !sr_all_zero(row + 12, 4))
				return -EINVAL;
			break;
		case SR_HL_UPDATE_ISOLATED_MARGIN:
			ntli = (int64_t)sr_get64(row + 8);
			if (flag > 1 || !ntli || ntli == INT64_MIN)
				return -EINVAL;
			leg->side = flag ? SR_SIDE_BUY : SR_SIDE_SELL;
			view->value = (uint64_t)(ntli < 0 ? -ntli : ntli);
			break;
		default:
			if (flag)
				return -EINVAL;
			break;
		}
	}
	view->leg_count = rows;
	return 0;
}

static int decode(struct sr_order_view *view, const unsigned char *body,
		  const struct sr_order_env *env)
{
	uint32_t rows = sr_get16(body + SR_ORDER_ROWS);

	(void)env;
	if (head_decode(view, body))
		return -EINVAL;
	switch (view->action) {
	case SR_HL_ORDER:
		view->kind = SR_KIND_ORDER;
		return orders_decode(view, body, rows);
	case SR_HL_MODIFY:
	case SR_HL_BATCH_MODIFY:
		view->kind = SR_KIND_MODIFY;
		return orders_decode(view, body, rows);
	case SR_HL_CANCEL:
	case SR_HL_CANCEL_BY_CLOID:
		view->kind = SR_KIND_CANCEL;
		return others_decode(view, body, rows);
	case SR_HL_SCHEDULE_CANCEL:
		/* It sets a dead man's switch, moves it or takes it away, and cancels nothing
		 * itself: who may only leave must not keep it from going off. */
		view->kind = SR_KIND_CONFIGURE;
		return rows && !sr_get64(body + SR_HL_ROWS) ? -EINVAL : 0;
	case SR_HL_NOOP:
		view->kind = SR_KIND_NOOP;
		return 0;
	default:
		view->kind = SR_KIND_CONFIGURE;
		return others_decode(view, body, rows);
	}
}

int sr_hl_connection(unsigned char connection[32], struct sr_out *action,
		     const struct sr_hl_envelope *envelope)
{
	sr_out_be64(action, envelope->nonce);
	sr_out_byte(action, envelope->vault ? 1 : 0);
	if (envelope->vault)
		sr_out_bytes(action, envelope->vault, SR_ADDRESS_BYTES);
	if (envelope->expires) {
		sr_out_byte(action, 0);
		sr_out_be64(action, envelope->expires_after);
	}
	if (action->full)
		return -ENOSPC;
	sr_keccak256(connection, action->data, action->used);
	return 0;
}

void sr_hl_agent_digest(unsigned char digest[32], const unsigned char connection[32], bool testnet)
{
	unsigned char words[SR_STRUCT_BYTES(2)], hash[SR_WORD_BYTES];
	struct sr_out out = sr_out_over(words, sizeof words);

	sr_word_bytes32(&out, agent_type);
	sr_word_bytes32(&out, testnet ? source_testnet : source_mainnet);
	sr_word_bytes32(&out, connection);
	sr_struct_hash(hash, &out);
	sr_eip712_digest(digest, domain, hash);
}

static int digest_make(unsigned char digest[SR_DIGEST_BYTES], const struct sr_order *order,
		       struct sr_order_env *env)
{
	struct sr_out out = sr_out_over(env->work, sizeof env->work);
	const unsigned char *body = order->body;
	unsigned int flags = body[SR_ORDER_FLAGS];
	const struct sr_hl_envelope envelope = {
		.nonce = order->view.nonce,
		.vault = flags & SR_HL_HAS_VAULT ? body + SR_HL_VAULT : NULL,
		.expires = flags & SR_HL_HAS_EXPIRES,
		.expires_after = order->view.expiry_ms,
	};
	unsigned char connection[SR_WORD_BYTES];
	int ret;

	sr_hl_action_put(&out, body, false);
	ret = sr_hl_connection(connection, &out, &envelope);
	if (ret)
		return ret;
	sr_hl_agent_digest(digest, connection, flags & SR_HL_TESTNET);
	return 0;
}

static void signature_put(struct sr_out *out, const struct sr_order *order,
			  const struct sr_order_signature *signature, struct sr_order_env *env)
{
	(void)order;
	(void)env;
	SR_OUT_LITERAL(out, "{\"r\":\"");
	sr_out_0x(out, signature->rs, 32);
	SR_OUT_LITERAL(out, "\",\"s\":\"");
	sr_out_0x(out, signature->rs + 32, 32);
	SR_OUT_LITERAL(out, "\",\"v\":");
	sr_out_number(out, 27u + signature->recid);
	SR_OUT_LITERAL(out, "}");
}

static void render(struct sr_out *out, const struct sr_order *order,
		   const struct sr_order_signature *signature, struct sr_order_env *env)
{
	unsigned int flags = order->body[SR_ORDER_FLAGS];

	SR_OUT_LITERAL(out, "{\"action\":");
	sr_hl_action_put(out, order->body, true);
	SR_OUT_LITERAL(out, ",\"nonce\":");
	sr_out_number(out, order->view.nonce);
	SR_OUT_LITERAL(out, ",\"signature\":");
	signature_put(out, order, signature, env);
	SR_OUT_LITERAL(out, ",\"vaultAddress\":");
	if (flags & SR_HL_HAS_VAULT) {
		SR_OUT_LITERAL(out, "\"");
		sr_out_0x(out, order->body + SR_HL_VAULT, SR_ADDRESS_BYTES);
		SR_OUT_LITERAL(out, "\"");
	} else {
		SR_OUT_LITERAL(out, "null");
	}
	SR_OUT_LITERAL(out, ",\"expiresAfter\":");
	if (flags & SR_HL_HAS_EXPIRES)
		sr_out_number(out, order->view.expiry_ms);
	else
		SR_OUT_LITERAL(out, "null");
	SR_OUT_LITERAL(out, "}");
}

/* What a modification replaces stands before the order, in the text; behind it in the body. */
static uint32_t target_plan(struct sr_plan_field *field, const struct sr_hl_order *order,
			    uint16_t at)
{
	*field = (struct sr_plan_field){ SR_FIELD_TARGET, 0, at, 8, "\"oid\":" };
	if (order->flags & SR_HL_TARGET_CLOID)
		*field = (struct sr_plan_field){ SR_FIELD_TARGET, SR_FIELD_HEX, at,
						 SR_HL_CLOID_BYTES, "\"oid\":\"0x" };
	return 1;
}

static uint32_t plan(struct sr_plan_field *fields, const unsigned char *body)
{
	unsigned int flags = body[SR_ORDER_FLAGS], action = body[SR_ORDER_ACTION];
	uint16_t trigger = SR_HL_ROWS + 24, cloid = trigger, target;
	struct sr_plan_field *field = fields;
	struct sr_hl_order order;

	if (sr_get16(body + SR_ORDER_ROWS) != 1 ||
	    (action != SR_HL_ORDER && action != SR_HL_MODIFY && action != SR_HL_BATCH_MODIFY))
		return 0;
	sr_hl_row_get(&order, body, 0);
	cloid = (uint16_t)(cloid + (flags & SR_HL_ROWS_TRIGGER ? 8 : 0));
	target = (uint16_t)(cloid + (flags & SR_HL_ROWS_CLOID ? SR_HL_CLOID_BYTES : 0));
#define FIELD(name, decimals, at, bytes, before) \
	(*field++ = (struct sr_plan_field){ SR_FIELD_##name, decimals, at, bytes, before })
	if (action != SR_HL_ORDER)
		field += target_plan(field, &order, target);
	FIELD(PRICE, SR_HL_DECIMALS, SR_HL_ROWS + 8, 8, "\"p\":\"");
	FIELD(SIZE, SR_HL_DECIMALS, SR_HL_ROWS + 16, 8, "\"s\":\"");
	if (order.flags & SR_HL_TRIGGER)
		FIELD(TRIGGER, SR_HL_DECIMALS, trigger, 8, "\"triggerPx\":\"");
	if (order.flags & SR_HL_CLOID)
		FIELD(CLIENT_ID, SR_FIELD_HEX, cloid, SR_HL_CLOID_BYTES, "\"c\":\"0x");
	FIELD(NONCE, 0, SR_ORDER_NONCE, 8, "\"nonce\":");
	FIELD(R, SR_FIELD_HEX, 0, 0, "\"r\":\"0x");
	FIELD(S, SR_FIELD_HEX, 0, 0, "\"s\":\"0x");
	FIELD(V, 0, 0, 0, "\"v\":");
	if (flags & SR_HL_HAS_EXPIRES)
		FIELD(EXPIRES, 0, SR_HL_EXPIRES, 8, "\"expiresAfter\":");
#undef FIELD
	return (uint32_t)(field - fields);
}

static bool claims(const unsigned char separator[SR_DIGEST_BYTES])
{
	return !memcmp(separator, domain, SR_WORD_BYTES);
}

const struct sr_venue sr_venue_hyperliquid = {
	.type = SR_TYPE_HYPERLIQUID,
	.name = "hyperliquid",
	.bytes = body_bytes,
	.decode = decode,
	.digest = digest_make,
	.signature = signature_put,
	.render = render,
	.plan = plan,
	.rules = rules,
	.claims = claims,
};
