/* SPDX-License-Identifier: MIT */
#include "sr_polymarket.h"

#include "sr_eip712.h"
#include "sr_venue.h"

#define CHAIN 137u
#define CHAIN_TESTNET 80002u

/* The types; ERC-7739's over the second; what a wrapper says of the wallet; and of
 * ClobAuth its domain ("ClobAuthDomain", "1", no contract), type and message. */
static const unsigned char order_v1_type[SR_WORD_BYTES] = {
	0xa8, 0x52, 0x56, 0x6c, 0x4e, 0x14, 0xd0, 0x08, 0x69, 0xb6, 0xdb,
	0x02, 0x20, 0x88, 0x8a, 0x90, 0x90, 0xa1, 0x3e, 0xcc, 0xda, 0xea,
	0x03, 0x71, 0x3f, 0xf0, 0xa3, 0xd2, 0x7b, 0xf9, 0x76, 0x7c,
};
static const unsigned char order_v2_type[SR_WORD_BYTES] = {
	0xbb, 0x86, 0x31, 0x8a, 0x21, 0x38, 0xf5, 0xfa, 0x8a, 0xe3, 0x2f,
	0xbe, 0x8e, 0x65, 0x9f, 0x8f, 0xcf, 0x13, 0xcc, 0x6a, 0xe4, 0x01,
	0x4a, 0x70, 0x78, 0x93, 0x05, 0x54, 0x33, 0x81, 0x85, 0x89,
};
static const unsigned char wrapper_type[SR_WORD_BYTES] = {
	0x6b, 0xa0, 0x28, 0x56, 0x5c, 0xb3, 0x24, 0xc2, 0xaa, 0x02, 0xbb,
	0x71, 0x4b, 0x98, 0x16, 0xd0, 0xbd, 0xdd, 0x55, 0x7a, 0x2f, 0x33,
	0xbb, 0x36, 0xcf, 0x13, 0x27, 0x2a, 0x42, 0x56, 0xbd, 0x42,
};
static const unsigned char wallet_name[SR_WORD_BYTES] = {
	0xd6, 0x82, 0xb5, 0x29, 0xa1, 0x7c, 0xda, 0x19, 0xaa, 0x27, 0x5f,
	0x3a, 0x05, 0x06, 0x08, 0xf9, 0xe9, 0x40, 0x1f, 0xad, 0xd1, 0xb0,
	0xd2, 0x33, 0xd8, 0x15, 0x19, 0x97, 0x22, 0x95, 0x82, 0x8b,
};
static const unsigned char wallet_version[SR_WORD_BYTES] = {
	0xc8, 0x9e, 0xfd, 0xaa, 0x54, 0xc0, 0xf2, 0x0c, 0x7a, 0xdf, 0x61,
	0x28, 0x82, 0xdf, 0x09, 0x50, 0xf5, 0xa9, 0x51, 0x63, 0x7e, 0x03,
	0x07, 0xcd, 0xcb, 0x4c, 0x67, 0x2f, 0x29, 0x8b, 0x8b, 0xc6,
};
static const unsigned char auth_type[SR_WORD_BYTES] = {
	0x52, 0x57, 0x8c, 0x5c, 0x72, 0x5a, 0x28, 0xa8, 0x4f, 0xed, 0xc8,
	0xc2, 0x2a, 0xa4, 0x79, 0x47, 0x82, 0x29, 0x42, 0xf3, 0x5b, 0x4d,
	0xc3, 0x50, 0xdb, 0x02, 0x8e, 0x45, 0x32, 0x0e, 0x03, 0x5c,
};
static const unsigned char auth_message[SR_WORD_BYTES] = {
	0x47, 0x49, 0x24, 0xbb, 0x27, 0x02, 0x25, 0x42, 0x02, 0x00, 0x23,
	0xb4, 0xa5, 0x2f, 0xb8, 0x34, 0xca, 0x5e, 0x3d, 0xd7, 0x0b, 0x9a,
	0x4d, 0x7e, 0x7f, 0xe9, 0xca, 0x13, 0x22, 0x8c, 0xbd, 0xa3,
};
static const unsigned char auth_domain[2][SR_WORD_BYTES] = {
	{ 0xcf, 0xc6, 0x6b, 0xe2, 0xa3, 0xb3, 0x04, 0x64, 0xcb, 0x3b, 0x58,
	  0x83, 0x24, 0x10, 0x1f, 0x66, 0x0c, 0x9a, 0x20, 0x5f, 0xa7, 0x6e,
	  0x8e, 0x5f, 0x83, 0xee, 0x16, 0xa5, 0x28, 0xe1, 0xc4, 0xcb, },
	{ 0xa1, 0xdf, 0x8f, 0x4e, 0x31, 0x12, 0xea, 0xee, 0x24, 0x48, 0xfb,
	  0xec, 0x9a, 0xb7, 0x9f, 0x68, 0x27, 0x84, 0x07, 0xe4, 0x9d, 0x9c,
	  0xf5, 0x2e, 0x3d, 0xd3, 0xd9, 0x69, 0x2f, 0xca, 0xc9, 0xb6, },
};

static const char order_type_text[] =
	"Order(uint256 salt,address maker,address signer,uint256 tokenId,uint256 makerAmount,"
	"uint256 takerAmount,uint8 side,uint8 signatureType,uint256 timestamp,bytes32 metadata,"
	"bytes32 builder)";

#define ORDER_TYPE_BYTES (sizeof order_type_text - 1)
#define V1_MEMBERS 12u
#define V2_MEMBERS 11u
#define WRAPPER_MEMBERS 6u
#define AUTH_MEMBERS 4u
#define WRAPPED_BYTES (65u + 2u * SR_WORD_BYTES + ORDER_TYPE_BYTES + 2u)

static uint64_t chain_of(const unsigned char *body)
{
	return body[SR_ORDER_FLAGS] & SR_PM_TESTNET ? CHAIN_TESTNET : CHAIN;
}

static const struct sr_pm_exchange *exchange_of(const unsigned char *body)
{
	unsigned int flags = body[SR_ORDER_FLAGS];

	return sr_pm_exchange_find(body[SR_ORDER_ACTION], flags & SR_PM_TESTNET,
				   flags & SR_PM_NEG_RISK);
}

static uint32_t body_bytes(const unsigned char *body)
{
	if (sr_get16(body + SR_ORDER_ROWS))
		return 0;
	switch (body[SR_ORDER_ACTION]) {
	case SR_PM_V1:
		return SR_PM_V1_BYTES;
	case SR_PM_V2:
	case SR_PM_V3:
		return SR_PM_V2_BYTES;
	case SR_PM_AUTH:
		return SR_PM_AUTH_BYTES;
	default:
		return 0;
	}
}

static int auth_decode(struct sr_order_view *view, const unsigned char *body)
{
	if (body[SR_ORDER_FLAGS] & ~(unsigned int)SR_PM_TESTNET ||
	    !sr_all_zero(body + SR_PM_AUTH_ADDRESS + SR_ADDRESS_BYTES, 4))
		return -EINVAL;
	view->kind = SR_KIND_LOGIN;
	view->testnet = body[SR_ORDER_FLAGS] & SR_PM_TESTNET;
	view->chain_id = chain_of(body);
	sr_party_set(&view->account, body + SR_PM_AUTH_ADDRESS, SR_ADDRESS_BYTES);
	return 0;
}

/* Fields that depend on each other, by the rules of the exchange's contract and its API. */
static bool fields_valid(const unsigned char *body)
{
	bool v1 = body[SR_ORDER_ACTION] == SR_PM_V1;
	unsigned int type = body[SR_PM_ORDER_TYPE], signature = body[SR_PM_SIGNATURE_TYPE];
	bool same = !memcmp(body + SR_PM_MAKER, body + SR_PM_SIGNER, SR_ADDRESS_BYTES);

	if (sr_get64(body + SR_PM_SALT) >= SR_PM_SALT_LIMIT || body[SR_PM_SIDE] > 1)
		return false;
	if (!sr_get64(body + SR_PM_MAKER_AMOUNT) || !sr_get64(body + SR_PM_TAKER_AMOUNT))
		return false;
	if (signature > (v1 ? SR_PM_SAFE : SR_PM_1271))
		return false;
	/* A key that trades its own funds, and a wallet that signs for itself. */
	if ((signature == SR_PM_EOA || signature == SR_PM_1271) && !same)
		return false;
	if (type < SR_PM_GTC || type > SR_PM_FAK ||
	    (type == SR_PM_GTD) != (sr_get64(body + SR_PM_EXPIRATION) != 0))
		return false;
	if (body[SR_ORDER_FLAGS] & SR_PM_POST_ONLY && type >= SR_PM_FOK)
		return false;
	return sr_all_zero(body + SR_PM_ORDER_TYPE + 1, 5) &&
	       (!v1 || sr_all_zero(body + SR_PM_TAKER + SR_ADDRESS_BYTES, 4));
}

/* Dollars for a share, in millionths: up for what we pay, down for what we get. */
static void leg_decode(struct sr_order_leg *leg, const unsigned char *body)
{
	uint64_t gives = sr_get64(body + SR_PM_MAKER_AMOUNT);
	uint64_t gets = sr_get64(body + SR_PM_TAKER_AMOUNT);
	bool buy = body[SR_PM_SIDE] == 0;
	uint64_t dollars = buy ? gives : gets, shares = buy ? gets : gives;
	unsigned int flags = SR_LEG_NOTIONAL;

	if (body[SR_ORDER_FLAGS] & SR_PM_POST_ONLY)
		flags |= SR_LEG_POST_ONLY;
	if (body[SR_PM_ORDER_TYPE] >= SR_PM_FOK)
		flags |= SR_LEG_IMMEDIATE;

	memset(leg, 0, sizeof *leg);
	leg->asset = sr_asset_bytes(body + SR_PM_TOKEN, SR_WORD_BYTES);
	leg->price = ((sr_u128)dollars * SR_PM_ONE + (buy ? shares - 1 : 0)) / shares;
	leg->size = shares;
	leg->notional = dollars;
	leg->side = buy ? SR_SIDE_BUY : SR_SIDE_SELL;
	leg->flags = (uint8_t)flags;
	leg->price_decimals = SR_PM_DECIMALS;
	leg->size_decimals = SR_PM_DECIMALS;
}

static int decode(struct sr_order_view *view, const unsigned char *body,
		  const struct sr_order_env *env)
{
	const struct sr_pm_exchange *exchange;
	bool v1 = view->action == SR_PM_V1;
	uint64_t expiration;

	(void)env;
	if (view->action == SR_PM_AUTH)
		return auth_decode(view, body);
	expiration = sr_get64(body + SR_PM_EXPIRATION);
	exchange = exchange_of(body);
	if (!exchange || body[SR_ORDER_FLAGS] & ~(unsigned int)SR_PM_FLAGS || !fields_valid(body) ||
	    (v1 && __builtin_mul_overflow(expiration, 1000u, &view->expiry_ms)))
		return -EINVAL;

	view->kind = SR_KIND_ORDER;
	view->testnet = exchange->testnet;
	view->nonce_kind = v1 ? SR_NONCE_NONE : SR_NONCE_TIME_MS;
	view->chain_id = chain_of(body);
	sr_party_set(&view->contract, exchange->contract, SR_ADDRESS_BYTES);
	sr_party_set(&view->account, body + SR_PM_MAKER, SR_ADDRESS_BYTES);
	if (v1) {
		view->fee = sr_get64(body + SR_PM_FEE_RATE);
		if (!sr_all_zero(body + SR_PM_TAKER, SR_ADDRESS_BYTES))
			sr_party_set(&view->destination, body + SR_PM_TAKER, SR_ADDRESS_BYTES);
	} else if (!sr_all_zero(body + SR_PM_BUILDER, SR_WORD_BYTES)) {
		sr_party_set(&view->fee_to, body + SR_PM_BUILDER, SR_WORD_BYTES);
	}
	leg_decode(&view->legs[0], body);
	view->leg_count = 1;
	return 0;
}

void sr_pm_struct_hash(unsigned char hash[32], const unsigned char *body)
{
	unsigned char words[SR_STRUCT_BYTES(V1_MEMBERS)];
	struct sr_out out = sr_out_over(words, sizeof words);
	bool v1 = body[SR_ORDER_ACTION] == SR_PM_V1;

	sr_word_bytes32(&out, v1 ? order_v1_type : order_v2_type);
	sr_word_u64(&out, sr_get64(body + SR_PM_SALT));
	sr_word_address(&out, body + SR_PM_MAKER);
	sr_word_address(&out, body + SR_PM_SIGNER);
	if (v1)
		sr_word_address(&out, body + SR_PM_TAKER);
	sr_word_bytes32(&out, body + SR_PM_TOKEN);
	sr_word_u64(&out, sr_get64(body + SR_PM_MAKER_AMOUNT));
	sr_word_u64(&out, sr_get64(body + SR_PM_TAKER_AMOUNT));
	if (v1) {
		sr_word_u64(&out, sr_get64(body + SR_PM_EXPIRATION));
		sr_word_u64(&out, sr_get64(body + SR_ORDER_NONCE));
		sr_word_u64(&out, sr_get64(body + SR_PM_FEE_RATE));
	}
	sr_word_u64(&out, body[SR_PM_SIDE]);
	sr_word_u64(&out, body[SR_PM_SIGNATURE_TYPE]);
	if (!v1) {
		sr_word_u64(&out, sr_get64(body + SR_ORDER_NONCE));
		sr_word_bytes32(&out, body + SR_PM_METADATA);
		sr_word_bytes32(&out, body + SR_PM_BUILDER);
	}
	sr_struct_hash(hash, &out);
}

/* ERC-7739: the order inside of what its wallet signs. */
static void wrapper_hash(unsigned char hash[32], const unsigned char contents[32],
			 const unsigned char *body)
{
	static const unsigned char salt[SR_WORD_BYTES];
	unsigned char words[SR_STRUCT_BYTES(WRAPPER_MEMBERS)];
	struct sr_out out = sr_out_over(words, sizeof words);

	sr_word_bytes32(&out, wrapper_type);
	sr_word_bytes32(&out, contents);
	sr_word_bytes32(&out, wallet_name);
	sr_word_bytes32(&out, wallet_version);
	sr_word_u64(&out, chain_of(body));
	sr_word_address(&out, body + SR_PM_SIGNER);
	sr_word_bytes32(&out, salt);
	sr_struct_hash(hash, &out);
}

static void auth_hash(unsigned char hash[32], const unsigned char *body)
{
	unsigned char words[SR_STRUCT_BYTES(AUTH_MEMBERS)];
	struct sr_out out = sr_out_over(words, sizeof words);
	char time[SR_DECIMAL_TEXT_BYTES];

	sr_word_bytes32(&out, auth_type);
	sr_word_address(&out, body + SR_PM_AUTH_ADDRESS);
	sr_word_text(&out, time, sr_decimal_text(time, sr_get64(body + SR_PM_AUTH_TIME), 0));
	sr_word_u64(&out, sr_get64(body + SR_ORDER_NONCE));
	sr_word_bytes32(&out, auth_message);
	sr_struct_hash(hash, &out);
}

static int digest_make(unsigned char digest[SR_DIGEST_BYTES], const struct sr_order *order,
		       struct sr_order_env *env)
{
	const unsigned char *body = order->body;
	unsigned char hash[SR_WORD_BYTES];

	(void)env;
	if (order->view.action == SR_PM_AUTH) {
		auth_hash(hash, body);
		sr_eip712_digest(digest, auth_domain[order->view.testnet], hash);
		return 0;
	}
	sr_pm_struct_hash(hash, body);
	if (body[SR_PM_SIGNATURE_TYPE] == SR_PM_1271)
		wrapper_hash(hash, hash, body);
	sr_eip712_digest(digest, exchange_of(body)->separator, hash);
	return 0;
}

static void signature_put(struct sr_out *out, const struct sr_order *order,
			  const struct sr_order_signature *signature, struct sr_order_env *env)
{
	const unsigned char *body = order->body;
	unsigned char bytes[WRAPPED_BYTES], hash[SR_WORD_BYTES];
	struct sr_out whole = sr_out_over(bytes, sizeof bytes);

	(void)env;
	sr_signature_rsv(bytes, signature->rs, signature->recid);
	whole.used = 65;
	if (order->view.action != SR_PM_AUTH && body[SR_PM_SIGNATURE_TYPE] == SR_PM_1271) {
		sr_pm_struct_hash(hash, body);
		sr_out_bytes(&whole, exchange_of(body)->separator, SR_WORD_BYTES);
		sr_out_bytes(&whole, hash, sizeof hash);
		sr_out_bytes(&whole, order_type_text, ORDER_TYPE_BYTES);
		sr_out_byte(&whole, ORDER_TYPE_BYTES >> 8);
		sr_out_byte(&whole, ORDER_TYPE_BYTES & 0xff);
	}
	SR_OUT_LITERAL(out, "\"");
	sr_out_0x(out, bytes, whole.used);
	SR_OUT_LITERAL(out, "\"");
}

static void address_put(struct sr_out *out, const unsigned char *address)
{
	SR_OUT_LITERAL(out, "\"");
	sr_address_checksum(out, address);
	SR_OUT_LITERAL(out, "\"");
}

static void quoted_number(struct sr_out *out, uint64_t v)
{
	SR_OUT_LITERAL(out, "\"");
	sr_out_number(out, v);
	SR_OUT_LITERAL(out, "\"");
}

static void uuid_put(struct sr_out *out, const unsigned char uuid[16])
{
	static const unsigned char groups[] = { 4, 2, 2, 2, 6 };

	for (unsigned int i = 0; i < sizeof groups; i++) {
		if (i)
			SR_OUT_LITERAL(out, "-");
		sr_out_hex(out, uuid, groups[i]);
		uuid += groups[i];
	}
}

/* What the two layouts of an order do not share. */
static void v1_put(struct sr_out *out, const unsigned char *body)
{
	SR_OUT_LITERAL(out, ",\"nonce\":");
	quoted_number(out, sr_get64(body + SR_ORDER_NONCE));
	SR_OUT_LITERAL(out, ",\"feeRateBps\":");
	quoted_number(out, sr_get64(body + SR_PM_FEE_RATE));
}

static void v2_put(struct sr_out *out, const unsigned char *body)
{
	SR_OUT_LITERAL(out, ",\"timestamp\":");
	quoted_number(out, sr_get64(body + SR_ORDER_NONCE));
	SR_OUT_LITERAL(out, ",\"metadata\":\"");
	sr_out_0x(out, body + SR_PM_METADATA, SR_WORD_BYTES);
	SR_OUT_LITERAL(out, "\",\"builder\":\"");
	sr_out_0x(out, body + SR_PM_BUILDER, SR_WORD_BYTES);
	SR_OUT_LITERAL(out, "\"");
}

static void order_put(struct sr_out *out, const unsigned char *body)
{
	bool v1 = body[SR_ORDER_ACTION] == SR_PM_V1;

	SR_OUT_LITERAL(out, "{\"salt\":");
	sr_out_number(out, sr_get64(body + SR_PM_SALT));
	SR_OUT_LITERAL(out, ",\"maker\":");
	address_put(out, body + SR_PM_MAKER);
	SR_OUT_LITERAL(out, ",\"signer\":");
	address_put(out, body + SR_PM_SIGNER);
	if (v1) {
		SR_OUT_LITERAL(out, ",\"taker\":");
		address_put(out, body + SR_PM_TAKER);
	}
	SR_OUT_LITERAL(out, ",\"tokenId\":\"");
	sr_out_u256(out, body + SR_PM_TOKEN);
	SR_OUT_LITERAL(out, "\",\"makerAmount\":");
	quoted_number(out, sr_get64(body + SR_PM_MAKER_AMOUNT));
	SR_OUT_LITERAL(out, ",\"takerAmount\":");
	quoted_number(out, sr_get64(body + SR_PM_TAKER_AMOUNT));
	if (body[SR_PM_SIDE])
		SR_OUT_LITERAL(out, ",\"side\":\"SELL\"");
	else
		SR_OUT_LITERAL(out, ",\"side\":\"BUY\"");
	SR_OUT_LITERAL(out, ",\"expiration\":");
	quoted_number(out, sr_get64(body + SR_PM_EXPIRATION));
	SR_OUT_LITERAL(out, ",\"signatureType\":");
	sr_out_number(out, body[SR_PM_SIGNATURE_TYPE]);
	if (v1)
		v1_put(out, body);
	else
		v2_put(out, body);
	SR_OUT_LITERAL(out, ",\"signature\":");
}

static void bool_put(struct sr_out *out, bool v)
{
	if (v)
		SR_OUT_LITERAL(out, "true");
	else
		SR_OUT_LITERAL(out, "false");
}

/* Headers of an authenticated request, by their names. */
static void auth_render(struct sr_out *out, const struct sr_order *order,
			const struct sr_order_signature *signature, struct sr_order_env *env)
{
	SR_OUT_LITERAL(out, "{\"POLY_ADDRESS\":");
	address_put(out, order->body + SR_PM_AUTH_ADDRESS);
	SR_OUT_LITERAL(out, ",\"POLY_SIGNATURE\":");
	signature_put(out, order, signature, env);
	SR_OUT_LITERAL(out, ",\"POLY_TIMESTAMP\":");
	quoted_number(out, sr_get64(order->body + SR_PM_AUTH_TIME));
	SR_OUT_LITERAL(out, ",\"POLY_NONCE\":");
	quoted_number(out, order->view.nonce);
	SR_OUT_LITERAL(out, "}");
}

static void render(struct sr_out *out, const struct sr_order *order,
		   const struct sr_order_signature *signature, struct sr_order_env *env)
{
	static const char types[][4] = { "GTC", "GTD", "FOK", "FAK" };
	const unsigned char *body = order->body;

	if (order->view.action == SR_PM_AUTH) {
		auth_render(out, order, signature, env);
		return;
	}
	SR_OUT_LITERAL(out, "{\"deferExec\":");
	bool_put(out, body[SR_ORDER_FLAGS] & SR_PM_DEFER);
	SR_OUT_LITERAL(out, ",\"postOnly\":");
	bool_put(out, body[SR_ORDER_FLAGS] & SR_PM_POST_ONLY);
	SR_OUT_LITERAL(out, ",\"order\":");
	order_put(out, body);
	signature_put(out, order, signature, env);
	SR_OUT_LITERAL(out, "},\"owner\":\"");
	uuid_put(out, body + SR_PM_OWNER);
	SR_OUT_LITERAL(out, "\",\"orderType\":\"");
	sr_out_bytes(out, types[body[SR_PM_ORDER_TYPE] - SR_PM_GTC], 3);
	SR_OUT_LITERAL(out, "\"}");
}

static int rules(const struct sr_order_leg *leg, const struct sr_market *market)
{
	uint64_t shares = (uint64_t)leg->size, dollars = leg->notional;
	bool buy = leg->side == SR_SIDE_BUY;
	uint64_t gives = buy ? dollars : shares, gets = buy ? shares : dollars;
	uint64_t maker, taker;

	if (leg->side == SR_SIDE_NONE)
		return 0;
	if (leg->flags & SR_LEG_IMMEDIATE)
		return gives % (SR_PM_ONE / 100) || gets % (SR_PM_ONE / 10000) ||
		       leg->price >= SR_PM_ONE ? -EDOM : 0;
	if (leg->price >= SR_PM_ONE ||
	    sr_pm_limit_amounts(&maker, &taker, (enum sr_order_side)leg->side, (uint64_t)leg->price,
				shares, market->tick) ||
	    maker != gives || taker != gets)
		return -EDOM;
	return 0;
}

static bool claims(const unsigned char separator[SR_DIGEST_BYTES])
{
	for (unsigned int i = 0; i < SR_PM_EXCHANGES; i++)
		if (!memcmp(separator, sr_pm_exchanges[i].separator, SR_WORD_BYTES))
			return true;
	return !memcmp(separator, auth_domain[0], SR_WORD_BYTES) ||
	       !memcmp(separator, auth_domain[1], SR_WORD_BYTES);
}

const struct sr_venue sr_venue_polymarket = {
	.type = SR_TYPE_POLYMARKET,
	.name = "polymarket",
	.bytes = body_bytes,
	.decode = decode,
	.digest = digest_make,
	.signature = signature_put,
	.render = render,
	.rules = rules,
	.claims = claims,
};
