/* SPDX-License-Identifier: MIT */
#include "sr_dydx.h"

#include "sr_bech32.h"
#include "sr_cosmos_tx.h"
#include "sr_protobuf.h"
#include "sr_venue.h"

#define PREFIX "dydx"
#define OWNER_CHARS SR_BECH32_TEXT(sizeof PREFIX - 1, SR_COSMOS_ADDRESS_BYTES)
#define CHAIN_ID_ROOM 32u

#define ORDER_BYTES 40u
#define BUILDER_BYTES 24u
#define CANCEL_BYTES 12u
#define BATCH_BYTES 8u

static uint32_t row_bytes(unsigned int action, unsigned int flags)
{
	switch (action) {
	case SR_DYDX_PLACE:
		return ORDER_BYTES + (flags & SR_DYDX_HAS_BUILDER ? BUILDER_BYTES : 0);
	case SR_DYDX_CANCEL:
		return CANCEL_BYTES;
	case SR_DYDX_BATCH_CANCEL:
		return BATCH_BYTES;
	default:
		return 0;
	}
}

static uint32_t body_bytes(const unsigned char *body)
{
	unsigned int action = body[SR_ORDER_ACTION];
	uint32_t rows = sr_get16(body + SR_ORDER_ROWS);
	uint32_t row = row_bytes(action, body[SR_ORDER_FLAGS]);

	if (!row || !rows || rows > (action == SR_DYDX_BATCH_CANCEL ? SR_DYDX_BATCH_MAX : 1))
		return 0;
	return SR_DYDX_ROWS + rows * row;
}

static void order_get(struct sr_dydx_order *order, const unsigned char *body)
{
	const unsigned char *row = body + SR_DYDX_ROWS;
	unsigned int flags = body[SR_ORDER_FLAGS];

	memset(order, 0, sizeof *order);
	order->client_id = sr_get32(row);
	order->clob_pair = sr_get32(row + 4);
	order->kind = (enum sr_dydx_kind)row[8];
	order->side = (enum sr_dydx_side)row[9];
	order->tif = (enum sr_dydx_tif)row[10];
	order->condition = (enum sr_dydx_condition)row[11];
	order->client_metadata = sr_get32(row + 12);
	order->quantums = sr_get64(row + 16);
	order->subticks = sr_get64(row + 24);
	order->trigger_subticks = sr_get64(row + 32);
	order->reduce_only = flags & SR_DYDX_REDUCE_ONLY;
	if (flags & SR_DYDX_HAS_BUILDER) {
		order->builder = row + ORDER_BYTES;
		order->builder_fee_ppm = sr_get32(row + ORDER_BYTES + SR_COSMOS_ADDRESS_BYTES);
	}
}

/* ---- what a client makes ---- */

static int head_put(unsigned char *body, size_t room, const struct sr_dydx_head *head,
		    unsigned int action, unsigned int flags, uint32_t rows)
{
	size_t bytes = SR_DYDX_ROWS + (size_t)rows * row_bytes(action, flags);

	if (bytes > room)
		return -ENOSPC;
	memset(body, 0, SR_DYDX_ROWS);
	sr_order_head_put(body, SR_TYPE_DYDX, action, flags | (head->testnet ? SR_DYDX_TESTNET : 0),
			  rows, head->sequence);
	sr_put64(body + SR_DYDX_ACCOUNT_NUMBER, head->account_number);
	sr_put64(body + SR_DYDX_GAS_LIMIT, head->gas_limit);
	memcpy(body + SR_DYDX_PUBLIC_KEY, head->public_key, SR_COSMOS_KEY_BYTES);
	memcpy(body + SR_DYDX_OWNER, head->owner, SR_COSMOS_ADDRESS_BYTES);
	sr_put32(body + SR_DYDX_SUBACCOUNT, head->subaccount);
	sr_put32(body + SR_DYDX_CHAIN, head->chain);
	sr_put32(body + SR_DYDX_GOOD_TIL, head->good_til);
	return (int)bytes;
}

int sr_dydx_order_put(unsigned char *body, size_t room, const struct sr_dydx_head *head,
		      const struct sr_dydx_order *order)
{
	unsigned int flags = (order->reduce_only ? SR_DYDX_REDUCE_ONLY : 0u) |
			     (order->builder ? SR_DYDX_HAS_BUILDER : 0u);
	int bytes = head_put(body, room, head, SR_DYDX_PLACE, flags, 1);
	unsigned char *row = body + SR_DYDX_ROWS;

	if (bytes < 0)
		return bytes;
	sr_put32(row, order->client_id);
	sr_put32(row + 4, order->clob_pair);
	row[8] = (unsigned char)order->kind;
	row[9] = (unsigned char)order->side;
	row[10] = (unsigned char)order->tif;
	row[11] = (unsigned char)order->condition;
	sr_put32(row + 12, order->client_metadata);
	sr_put64(row + 16, order->quantums);
	sr_put64(row + 24, order->subticks);
	sr_put64(row + 32, order->trigger_subticks);
	if (order->builder) {
		row += ORDER_BYTES;
		memcpy(row, order->builder, SR_COSMOS_ADDRESS_BYTES);
		sr_put32(row + SR_COSMOS_ADDRESS_BYTES, order->builder_fee_ppm);
	}
	return bytes;
}

int sr_dydx_cancel_put(unsigned char *body, size_t room, const struct sr_dydx_head *head,
		       const struct sr_dydx_cancel *cancel)
{
	int bytes = head_put(body, room, head, SR_DYDX_CANCEL, 0, 1);

	if (bytes < 0)
		return bytes;
	sr_put32(body + SR_DYDX_ROWS, cancel->client_id);
	sr_put32(body + SR_DYDX_ROWS + 4, cancel->clob_pair);
	sr_put32(body + SR_DYDX_ROWS + 8, (uint32_t)cancel->kind);
	return bytes;
}

int sr_dydx_batch_put(unsigned char *body, size_t room, const struct sr_dydx_head *head,
		      const struct sr_dydx_cancel *cancels, uint32_t count)
{
	unsigned char *row = body + SR_DYDX_ROWS;
	int bytes;

	if (!count || count > SR_DYDX_BATCH_MAX)
		return -EINVAL;
	bytes = head_put(body, room, head, SR_DYDX_BATCH_CANCEL, 0, count);
	if (bytes < 0)
		return bytes;
	for (uint32_t i = 0; i < count; i++, row += BATCH_BYTES) {
		sr_put32(row, cancels[i].clob_pair);
		sr_put32(row + 4, cancels[i].client_id);
	}
	return bytes;
}

/* ---- what it means ---- */

/* "dydx1.../N": policy allows an owner's subaccount, and no other of his. */
static void account_set(struct sr_party *account, const unsigned char *body)
{
	struct sr_out out = sr_out_over(account->data, sizeof account->data);

	sr_bech32_put(&out, PREFIX, sizeof PREFIX - 1, body + SR_DYDX_OWNER,
		      SR_COSMOS_ADDRESS_BYTES);
	SR_OUT_LITERAL(&out, "/");
	sr_out_number(&out, sr_get32(body + SR_DYDX_SUBACCOUNT));
	account->bytes = (uint8_t)out.used;
}

SR_STATIC_ASSERT(OWNER_CHARS + sizeof "/4294967295" - 1 <= SR_PARTY_BYTES, "it fits");

static int head_decode(struct sr_order_view *view, const unsigned char *body)
{
	unsigned int flags = body[SR_ORDER_FLAGS], key = body[SR_DYDX_PUBLIC_KEY];
	uint32_t chain = sr_get32(body + SR_DYDX_CHAIN);

	if (flags &
	    ~(unsigned int)(view->action == SR_DYDX_PLACE ? SR_DYDX_FLAGS : SR_DYDX_TESTNET))
		return -EINVAL;
	if ((key != 2 && key != 3) || !chain || !sr_get32(body + SR_DYDX_GOOD_TIL) ||
	    sr_get32(body + SR_DYDX_SUBACCOUNT) > SR_DYDX_SUBACCOUNT_MAX ||
	    !sr_all_zero(body + SR_DYDX_PUBLIC_KEY + SR_COSMOS_KEY_BYTES, 3) ||
	    !sr_all_zero(body + SR_DYDX_GOOD_TIL + 4, 4))
		return -EINVAL;
	view->testnet = flags & SR_DYDX_TESTNET;
	view->chain_id = chain;
	account_set(&view->account, body);
	return 0;
}

/* When it ends, and whether it spends the sequence: both follow from the kind. */
static void lifetime_set(struct sr_order_view *view, const unsigned char *body, uint32_t kind)
{
	uint64_t good_til = sr_get32(body + SR_DYDX_GOOD_TIL);

	if (kind == SR_DYDX_SHORT_TERM) {
		view->expiry_block = good_til;
		view->nonce_kind = SR_NONCE_NONE;
		return;
	}
	view->expiry_ms = good_til * 1000;
	view->nonce_kind = view->nonce >= SR_COSMOS_SEQUENCE_TIME ? SR_NONCE_TIME_MS :
								    SR_NONCE_SEQUENCE;
}

static unsigned int leg_flags(const struct sr_dydx_order *order)
{
	unsigned int flags = 0;

	if (order->reduce_only)
		flags |= SR_LEG_REDUCE_ONLY;
	if (order->tif == SR_DYDX_POST_ONLY)
		flags |= SR_LEG_POST_ONLY;
	if (order->tif == SR_DYDX_IOC || order->tif == SR_DYDX_FILL_OR_KILL)
		flags |= SR_LEG_IMMEDIATE;
	if (order->condition)
		flags |= SR_LEG_TRIGGER;
	return flags;
}

/* What the chain's MsgPlaceOrder.ValidateBasic refuses is refused here. */
static bool order_valid(const struct sr_dydx_order *order)
{
	bool conditional = order->kind == SR_DYDX_CONDITIONAL;

	if (order->side != SR_DYDX_BUY && order->side != SR_DYDX_SELL)
		return false;
	if ((unsigned int)order->tif > SR_DYDX_FILL_OR_KILL ||
	    (unsigned int)order->condition > SR_DYDX_TAKE_PROFIT)
		return false;
	if ((order->condition != SR_DYDX_CONDITION_NONE) != conditional ||
	    (order->trigger_subticks != 0) != conditional)
		return false;
	if (order->kind == SR_DYDX_LONG_TERM && leg_flags(order) & SR_LEG_IMMEDIATE)
		return false;
	if (order->builder && (!order->builder_fee_ppm || order->builder_fee_ppm > SR_DYDX_FEE_MAX))
		return false;
	return order->quantums && order->subticks;
}

static int place_decode(struct sr_order_view *view, const unsigned char *body)
{
	struct sr_order_leg *leg = &view->legs[0];
	struct sr_dydx_order order;

	order_get(&order, body);
	if (order.kind == SR_DYDX_TWAP)
		return -EPERM;
	if (order.kind != SR_DYDX_SHORT_TERM && order.kind != SR_DYDX_CONDITIONAL &&
	    order.kind != SR_DYDX_LONG_TERM)
		return -EINVAL;
	if (!order_valid(&order))
		return -EINVAL;

	memset(leg, 0, sizeof *leg);
	leg->asset = sr_asset_number(order.clob_pair);
	leg->price = order.subticks;
	leg->size = order.quantums;
	leg->trigger_price = order.trigger_subticks;
	leg->side = order.side == SR_DYDX_BUY ? SR_SIDE_BUY : SR_SIDE_SELL;
	leg->flags = (uint8_t)leg_flags(&order);
	leg->price_decimals = SR_DECIMALS_BY_ASSET;
	leg->size_decimals = SR_DECIMALS_BY_ASSET;
	if (order.builder) {
		struct sr_out out = sr_out_over(view->fee_to.data, sizeof view->fee_to.data);

		sr_bech32_put(&out, PREFIX, sizeof PREFIX - 1, order.builder,
			      SR_COSMOS_ADDRESS_BYTES);
		view->fee_to.bytes = (uint8_t)out.used;
		view->fee = order.builder_fee_ppm;
	}
	lifetime_set(view, body, (uint32_t)order.kind);
	view->kind = SR_KIND_ORDER;
	view->leg_count = 1;
	return 0;
}

static int cancel_decode(struct sr_order_view *view, const unsigned char *body)
{
	const unsigned char *row = body + SR_DYDX_ROWS;
	uint32_t kind = sr_get32(row + 8);

	if (kind != SR_DYDX_SHORT_TERM && kind != SR_DYDX_CONDITIONAL &&
	    kind != SR_DYDX_LONG_TERM && kind != SR_DYDX_TWAP)
		return -EINVAL;
	memset(&view->legs[0], 0, sizeof view->legs[0]);
	view->legs[0].asset = sr_asset_number(sr_get32(row + 4));
	view->leg_count = 1;
	view->kind = SR_KIND_CANCEL;
	lifetime_set(view, body, kind);
	return 0;
}

static int batch_decode(struct sr_order_view *view, const unsigned char *body, uint32_t rows)
{
	const unsigned char *row = body + SR_DYDX_ROWS;

	for (uint32_t i = 0; i < rows; i++, row += BATCH_BYTES) {
		if (i && sr_get32(row) < sr_get32(row - BATCH_BYTES))
			return -EINVAL;
		memset(&view->legs[i], 0, sizeof view->legs[i]);
		view->legs[i].asset = sr_asset_number(sr_get32(row));
	}
	view->leg_count = rows;
	view->kind = SR_KIND_CANCEL;
	lifetime_set(view, body, SR_DYDX_SHORT_TERM);
	return 0;
}

static int decode(struct sr_order_view *view, const unsigned char *body,
		  const struct sr_order_env *env)
{
	(void)env;
	if (head_decode(view, body))
		return -EINVAL;
	switch (view->action) {
	case SR_DYDX_PLACE:
		return place_decode(view, body);
	case SR_DYDX_CANCEL:
		return cancel_decode(view, body);
	default:
		return batch_decode(view, body, sr_get16(body + SR_ORDER_ROWS));
	}
}

static int rules(const struct sr_order_leg *leg, const struct sr_market *market)
{
	if (!market->tick || leg->side == SR_SIDE_NONE)
		return 0;
	return leg->price % market->tick || leg->trigger_price % market->tick ? -EDOM : 0;
}

/* ---- what is signed and posted ---- */

static void subaccount_put(struct sr_out *out, const struct sr_order *order)
{
	size_t mark = sr_proto_begin(out, 1);

	sr_proto_bytes(out, 1, order->view.account.data, OWNER_CHARS);
	sr_proto_uint(out, 2, sr_get32(order->body + SR_DYDX_SUBACCOUNT));
	sr_proto_end(out, mark);
}

static void order_id_put(struct sr_out *out, const struct sr_order *order, uint32_t client_id,
			 uint32_t kind, uint32_t clob_pair)
{
	size_t mark = sr_proto_begin(out, 1);

	subaccount_put(out, order);
	sr_proto_fixed32(out, 2, client_id);
	sr_proto_uint(out, 3, kind);
	sr_proto_uint(out, 4, clob_pair);
	sr_proto_end(out, mark);
}

/* A block in field @field, or a time in the next one. */
static void good_til_put(struct sr_out *out, const struct sr_order *order, uint32_t field)
{
	uint32_t good_til = sr_get32(order->body + SR_DYDX_GOOD_TIL);

	if (order->view.expiry_block)
		sr_proto_uint(out, field, good_til);
	else
		sr_proto_fixed32(out, field + 1, good_til);
}

static void place_put(struct sr_out *out, const struct sr_order *order)
{
	struct sr_dydx_order row;
	size_t mark = sr_proto_begin(out, 1);

	order_get(&row, order->body);
	order_id_put(out, order, row.client_id, (uint32_t)row.kind, row.clob_pair);
	sr_proto_uint(out, 2, (uint64_t)row.side);
	sr_proto_uint(out, 3, row.quantums);
	sr_proto_uint(out, 4, row.subticks);
	good_til_put(out, order, 5);
	sr_proto_uint(out, 7, (uint64_t)row.tif);
	sr_proto_uint(out, 8, row.reduce_only);
	sr_proto_uint(out, 9, row.client_metadata);
	sr_proto_uint(out, 10, (uint64_t)row.condition);
	sr_proto_uint(out, 11, row.trigger_subticks);
	if (row.builder) {
		size_t builder = sr_proto_begin(out, 13);

		sr_proto_bytes(out, 1, order->view.fee_to.data, order->view.fee_to.bytes);
		sr_proto_uint(out, 2, row.builder_fee_ppm);
		sr_proto_end(out, builder);
	}
	sr_proto_end(out, mark);
}

static void cancel_put(struct sr_out *out, const struct sr_order *order)
{
	const unsigned char *row = order->body + SR_DYDX_ROWS;

	order_id_put(out, order, sr_get32(row), sr_get32(row + 8), sr_get32(row + 4));
	good_til_put(out, order, 2);
}

static void batch_put(struct sr_out *out, const struct sr_order *order)
{
	const unsigned char *row = order->body + SR_DYDX_ROWS;
	const unsigned char *end = order->body + order->body_bytes;

	subaccount_put(out, order);
	while (row < end) {
		uint32_t clob_pair = sr_get32(row);
		size_t batch = sr_proto_begin(out, 2), ids;

		sr_proto_uint(out, 1, clob_pair);
		ids = sr_proto_begin(out, 2);
		for (; row < end && sr_get32(row) == clob_pair; row += BATCH_BYTES)
			sr_proto_varint(out, sr_get32(row + 4));
		sr_proto_end(out, ids);
		sr_proto_end(out, batch);
	}
	sr_proto_uint(out, 3, sr_get32(order->body + SR_DYDX_GOOD_TIL));
}

/* Body and auth info: what SignDoc and TxRaw share. */
static void transaction_put(struct sr_out *out, const struct sr_order *order)
{
	static const char *const urls[] = {
		[SR_DYDX_PLACE] = "/dydxprotocol.clob.MsgPlaceOrder",
		[SR_DYDX_CANCEL] = "/dydxprotocol.clob.MsgCancelOrder",
		[SR_DYDX_BATCH_CANCEL] = "/dydxprotocol.clob.MsgBatchCancel",
	};
	const struct sr_cosmos_auth auth = {
		.public_key = order->body + SR_DYDX_PUBLIC_KEY,
		.sequence = order->view.nonce,
		.gas_limit = sr_get64(order->body + SR_DYDX_GAS_LIMIT),
	};
	struct sr_cosmos_marks marks;

	sr_cosmos_begin(&marks, out, urls[order->view.action]);
	switch (order->view.action) {
	case SR_DYDX_PLACE:
		place_put(out, order);
		break;
	case SR_DYDX_CANCEL:
		cancel_put(out, order);
		break;
	default:
		batch_put(out, order);
		break;
	}
	sr_cosmos_end(&marks, out, NULL, 0);
	sr_cosmos_auth_put(out, &auth);
}

static int digest_make(unsigned char digest[SR_DIGEST_BYTES], const struct sr_order *order,
		       struct sr_order_env *env)
{
	struct sr_out out = sr_out_over(env->work, sizeof env->work);
	char chain_id[CHAIN_ID_ROOM];
	struct sr_out chain = sr_out_over(chain_id, sizeof chain_id);

	if (order->view.testnet)
		SR_OUT_LITERAL(&chain, "dydx-testnet-");
	else
		SR_OUT_LITERAL(&chain, "dydx-mainnet-");
	sr_out_number(&chain, order->view.chain_id);

	transaction_put(&out, order);
	sr_cosmos_sign_doc(&out, chain_id, chain.used,
			   sr_get64(order->body + SR_DYDX_ACCOUNT_NUMBER));
	if (out.full)
		return -ENOSPC;
	return sr_sha256(env->hasher, digest, out.data, out.used);
}

static void signature_put(struct sr_out *out, const struct sr_order *order,
			  const struct sr_order_signature *signature, struct sr_order_env *env)
{
	(void)order;
	(void)env;
	sr_cosmos_signature_put(out, signature->rs);
}

static void render(struct sr_out *out, const struct sr_order *order,
		   const struct sr_order_signature *signature, struct sr_order_env *env)
{
	struct sr_out raw = sr_out_over(env->work, sizeof env->work);

	transaction_put(&raw, order);
	sr_cosmos_raw(&raw, signature->rs);
	sr_cosmos_broadcast(out, &raw);
}

const struct sr_venue sr_venue_dydx = {
	.type = SR_TYPE_DYDX,
	.name = "dydx",
	.bytes = body_bytes,
	.decode = decode,
	.digest = digest_make,
	.signature = signature_put,
	.render = render,
	.rules = rules,
};
