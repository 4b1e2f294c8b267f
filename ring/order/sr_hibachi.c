/* SPDX-License-Identifier: MIT */
#include "sr_hibachi.h"

#include "sr_venue.h"

#define CONTRACT 16u
#define QUANTITY 24u
#define PRICE 32u
#define MAX_FEE 40u

int sr_hibachi_order_put(unsigned char *body, size_t room, const struct sr_hibachi_order *order)
{
	if (room < SR_HIBACHI_BYTES)
		return -ENOSPC;
	memset(body, 0, SR_HIBACHI_BYTES);
	sr_order_head_put(body, SR_TYPE_HIBACHI, SR_HIBACHI_ORDER, order->flags, 0, order->nonce);
	sr_put32(body + CONTRACT, order->contract);
	sr_put64(body + QUANTITY, order->quantity);
	sr_put64(body + PRICE, order->price);
	sr_put64(body + MAX_FEE, order->max_fee);
	return (int)SR_HIBACHI_BYTES;
}

static uint32_t body_bytes(const unsigned char *body)
{
	bool order = body[SR_ORDER_ACTION] == SR_HIBACHI_ORDER && !sr_get16(body + SR_ORDER_ROWS);

	return order ? SR_HIBACHI_BYTES : 0;
}

static int decode(struct sr_order_view *view, const unsigned char *body,
		  const struct sr_order_env *env)
{
	struct sr_order_leg *leg = &view->legs[0];
	unsigned int flags = body[SR_ORDER_FLAGS];
	bool market = flags & SR_HIBACHI_MARKET;

	(void)env;
	memset(leg, 0, sizeof *leg);
	leg->asset = sr_asset_number(sr_get32(body + CONTRACT));
	leg->size = sr_get64(body + QUANTITY);
	leg->price = sr_get64(body + PRICE);
	leg->side = flags & SR_HIBACHI_BID ? SR_SIDE_BUY : SR_SIDE_SELL;
	leg->flags = market ? SR_LEG_MARKET | SR_LEG_IMMEDIATE : 0;
	leg->price_decimals = SR_DECIMALS_BY_ASSET;
	leg->size_decimals = SR_DECIMALS_BY_ASSET;
	if (flags & ~(unsigned int)SR_HIBACHI_FLAGS || !leg->size || market != !leg->price ||
	    sr_get32(body + CONTRACT + 4))
		return -EINVAL;

	view->kind = SR_KIND_ORDER;
	view->nonce_kind = SR_NONCE_UNIQUE;
	view->fee = sr_get64(body + MAX_FEE);
	view->leg_count = 1;
	return 0;
}

static int digest_make(unsigned char digest[SR_DIGEST_BYTES], const struct sr_order *order,
		       struct sr_order_env *env)
{
	const unsigned char *body = order->body;
	struct sr_out out = sr_out_over(env->work, sizeof env->work);

	sr_out_be64(&out, order->view.nonce);
	sr_out_be32(&out, sr_get32(body + CONTRACT));
	sr_out_be64(&out, sr_get64(body + QUANTITY));
	sr_out_be32(&out, body[SR_ORDER_FLAGS] & SR_HIBACHI_BID);
	if (!(body[SR_ORDER_FLAGS] & SR_HIBACHI_MARKET))
		sr_out_be64(&out, sr_get64(body + PRICE));
	sr_out_be64(&out, sr_get64(body + MAX_FEE));
	return sr_sha256(env->hasher, digest, out.data, out.used);
}

static void signature_put(struct sr_out *out, const struct sr_order *order,
			  const struct sr_order_signature *signature, struct sr_order_env *env)
{
	(void)order;
	(void)env;
	SR_OUT_LITERAL(out, "\"");
	sr_out_hex(out, signature->rs, sizeof signature->rs);
	sr_out_hex(out, &signature->recid, 1);
	SR_OUT_LITERAL(out, "\"");
}

static void render(struct sr_out *out, const struct sr_order *order,
		   const struct sr_order_signature *signature, struct sr_order_env *env)
{
	unsigned int flags = order->body[SR_ORDER_FLAGS];

	/* Quantity and price in text need the contract's decimals: the engine puts them. */
	SR_OUT_LITERAL(out, "{\"nonce\":");
	sr_out_number(out, order->view.nonce);
	if (flags & SR_HIBACHI_BID)
		SR_OUT_LITERAL(out, ",\"side\":\"BID\"");
	else
		SR_OUT_LITERAL(out, ",\"side\":\"ASK\"");
	SR_OUT_LITERAL(out, ",\"maxFeesPercent\":\"");
	sr_out_scaled(out, order->view.fee, 8);
	SR_OUT_LITERAL(out, "\",\"signature\":");
	signature_put(out, order, signature, env);
	SR_OUT_LITERAL(out, "}");
}

const struct sr_venue sr_venue_hibachi = {
	.type = SR_TYPE_HIBACHI,
	.name = "hibachi",
	.bytes = body_bytes,
	.decode = decode,
	.digest = digest_make,
	.signature = signature_put,
	.render = render,
};
