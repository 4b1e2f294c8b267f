/* SPDX-License-Identifier: MIT */
#include "sr_typed_data.h"

#include "sr_eip712.h"
#include "sr_schema_set.h"
#include "sr_typed_walk.h"
#include "sr_venue.h"

void sr_typed_begin(struct sr_out *out, uint32_t schema, const unsigned char *contract,
		    uint64_t nonce)
{
	unsigned char head[SR_TYPED_MESSAGE] = { 0 };

	sr_order_head_put(head, SR_TYPE_TYPED_DATA, SR_TYPED_SIGN, 0, 0, nonce);
	sr_put32(head + SR_TYPED_SCHEMA, schema);
	if (contract)
		memcpy(head + SR_TYPED_CONTRACT, contract, SR_ADDRESS_BYTES);
	sr_out_bytes(out, head, sizeof head);
}

/* Big-endian; above 128 bits there is nothing but the sign. */
static void integer_put(struct sr_out *out, unsigned int bits, sr_u128 v, unsigned int sign)
{
	for (unsigned int shift = bits; shift; shift -= 8) {
		unsigned char byte = (unsigned char)sign;

		if (shift <= 128)
			byte = (unsigned char)(v >> (shift - 8));
		sr_out_byte(out, byte);
	}
}

void sr_typed_int(struct sr_out *out, unsigned int bits, sr_i128 v)
{
	integer_put(out, bits, (sr_u128)v, v < 0 ? 0xff : 0);
}

void sr_typed_uint(struct sr_out *out, unsigned int bits, sr_u128 v)
{
	integer_put(out, bits, v, 0);
}

void sr_typed_bool(struct sr_out *out, bool v)
{
	sr_out_byte(out, v);
}

void sr_typed_fixed(struct sr_out *out, const void *bytes, uint32_t count)
{
	sr_out_bytes(out, bytes, count);
}

void sr_typed_count(struct sr_out *out, uint32_t count)
{
	uint16_t v = (uint16_t)count;

	if (count > UINT16_MAX)
		out->full = true;
	sr_out_bytes(out, &v, sizeof v);
}

void sr_typed_text(struct sr_out *out, const void *bytes, uint32_t count)
{
	sr_typed_count(out, count);
	sr_out_bytes(out, bytes, count);
}

int sr_typed_end(struct sr_out *out)
{
	if (out->full || out->used < SR_TYPED_MESSAGE ||
	    out->used - SR_TYPED_MESSAGE > UINT16_MAX)
		return -ENOSPC;
	sr_put16(out->data + SR_ORDER_TAIL, (uint16_t)(out->used - SR_TYPED_MESSAGE));
	return (int)out->used;
}

static uint32_t body_bytes(const unsigned char *body)
{
	bool sign = body[SR_ORDER_ACTION] == SR_TYPED_SIGN && !body[SR_ORDER_FLAGS] &&
		    !sr_get16(body + SR_ORDER_ROWS);

	return sign ? SR_TYPED_MESSAGE : 0;
}

/* The body was decoded, or its length is right at least. */
static struct sr_typed_walk walk_over(const struct sr_schema *schema, const unsigned char *body)
{
	const unsigned char *message = body + SR_TYPED_MESSAGE;

	return (struct sr_typed_walk){
		.schema = schema,
		.at = message,
		.end = message + sr_get16(body + SR_ORDER_TAIL),
		.nonce = sr_get64(body + SR_ORDER_NONCE),
		.words_room = SR_ORDER_WORK_BYTES,
	};
}

/* A number of up to 32 bytes; false when it is not below 2^127. @minus: NULL if unsigned. */
static bool magnitude(sr_u128 *v, const struct sr_typed_value *value, bool *minus)
{
	bool negative = minus && value->bytes && value->at[0] & 0x80;
	uint32_t i = 0;

	*v = 0;
	for (; i + 16 < value->bytes; i++)
		if (value->at[i] != (negative ? 0xff : 0))
			return false;
	for (; i < value->bytes; i++)
		*v = *v << 8 | (unsigned char)(negative ? ~value->at[i] : value->at[i]);
	if (minus)
		*minus = negative;
	/* Before the sign is taken off: of -2^128 nothing would be left. */
	if (*v >> 127)
		return false;
	*v += negative;
	return !(*v >> 127);
}

static bool small(uint64_t *v, const struct sr_typed_value *value)
{
	sr_u128 wide;

	if (!magnitude(&wide, value, NULL) || wide > UINT64_MAX)
		return false;
	*v = (uint64_t)wide;
	return true;
}

static bool member_signed(const struct sr_schema *schema, enum sr_role role)
{
	return schema->members[schema->roles[role]].kind == SR_MEMBER_INT;
}

static bool side_get(uint8_t *side, const struct sr_schema *schema,
		     const struct sr_typed_value *value)
{
	const struct sr_member *member = &schema->members[schema->roles[SR_ROLE_SIDE]];
	uint64_t number;
	bool buy;

	if (member->kind == SR_MEMBER_STRING) {
		buy = value->bytes == 3 && !memcmp(value->at, "buy", 3);
		if (!buy && (value->bytes != 4 || memcmp(value->at, "sell", 4) != 0))
			return false;
	} else {
		if (!small(&number, value) || number > 1)
			return false;
		buy = (member->kind == SR_MEMBER_BOOL) == (number == 1);
	}
	*side = buy != schema->side_inverted ? SR_SIDE_BUY : SR_SIDE_SELL;
	return true;
}

static bool leg_get(struct sr_order_leg *leg, const struct sr_schema *schema,
		    const struct sr_typed_value *roles)
{
	bool minus = false, sized = schema->roles[SR_ROLE_SIZE] >= 0;
	bool *sign = sized && member_signed(schema, SR_ROLE_SIZE) ? &minus : NULL;

	memset(leg, 0, sizeof *leg);
	leg->price_decimals = schema->price_decimals;
	leg->size_decimals = schema->size_decimals;
	if (schema->roles[SR_ROLE_ASSET] >= 0)
		leg->asset = sr_asset_bytes(roles[SR_ROLE_ASSET].at, roles[SR_ROLE_ASSET].bytes);
	if (schema->roles[SR_ROLE_PRICE] >= 0) {
		bool below = false;

		if (!magnitude(&leg->price, &roles[SR_ROLE_PRICE],
			       member_signed(schema, SR_ROLE_PRICE) ? &below : NULL) || below)
			return false;
	}
	if (sized && !magnitude(&leg->size, &roles[SR_ROLE_SIZE], sign))
		return false;
	if (schema->roles[SR_ROLE_SIDE] >= 0) {
		if (!side_get(&leg->side, schema, &roles[SR_ROLE_SIDE]))
			return false;
		/* A sign that says something else than the side is nothing to guess about. */
		if (minus && leg->side != SR_SIDE_SELL)
			return false;
	} else if (sign) {
		leg->side = minus ? SR_SIDE_SELL : SR_SIDE_BUY;
	}
	if (schema->price_decimals == SR_DECIMALS_BY_ASSET ||
	    schema->size_decimals == SR_DECIMALS_BY_ASSET || !leg->price || !sized)
		return true;
	leg->flags |= SR_LEG_NOTIONAL;
	return !sr_notional(&leg->notional, leg->price, leg->price_decimals, leg->size,
			    leg->size_decimals);
}

static int digit(unsigned char c)
{
	unsigned char low = c | 0x20;

	if (c >= '0' && c <= '9')
		return c - '0';
	return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

/* "0x" and pairs of digits in any case. */
static bool unhex(struct sr_party *party, const struct sr_typed_value *value)
{
	if (value->bytes < 4 || value->bytes % 2 || memcmp(value->at, "0x", 2) != 0)
		return false;
	for (uint32_t i = 2; i < value->bytes; i += 2) {
		int high = digit(value->at[i]), low = digit(value->at[i + 1]);

		if (high < 0 || low < 0)
			return false;
		party->data[i / 2 - 1] = (unsigned char)(high << 4 | low);
	}
	party->bytes = (uint8_t)(value->bytes / 2 - 1);
	return true;
}

static bool party_get(struct sr_party *party, const struct sr_schema *schema, enum sr_role role,
		      const struct sr_typed_value *roles)
{
	const struct sr_typed_value *value = &roles[role];

	if (schema->roles[role] < 0)
		return true;
	if (value->bytes > SR_PARTY_BYTES)
		return false;
	/* An address in text is the same in either case, and the same as its bytes. */
	if (schema->members[schema->roles[role]].kind == SR_MEMBER_STRING &&
	    unhex(party, value))
		return true;
	sr_party_set(party, value->at, value->bytes);
	return true;
}

/* A value that is not seen would have no limit. */
static bool value_get(struct sr_order_view *view, const struct sr_schema *schema,
		      const struct sr_typed_value *roles)
{
	const struct sr_typed_value *value = &roles[SR_ROLE_VALUE];
	sr_u128 number;

	if (schema->roles[SR_ROLE_VALUE] < 0)
		return true;
	if (schema->members[schema->roles[SR_ROLE_VALUE]].kind == SR_MEMBER_STRING)
		return !sr_decimal_parse(&view->value, (const char *)value->at, value->bytes,
					 SR_NOTIONAL_DECIMALS);
	return magnitude(&number, value, NULL) &&
	       !sr_notional(&view->value, number, schema->value_decimals, 1, 0);
}

/* What the message says of its network is what the operators have said of the schema. */
static bool network_right(const struct sr_schema *schema, const struct sr_typed_value *roles)
{
	const struct sr_typed_value *value = &roles[SR_ROLE_NETWORK];

	return schema->roles[SR_ROLE_NETWORK] < 0 ||
	       (value->bytes == 7 &&
		!memcmp(value->at, schema->testnet ? "Testnet" : "Mainnet", 7));
}

static bool has_leg(const struct sr_schema *schema)
{
	return schema->contract_in_body || schema->roles[SR_ROLE_ASSET] >= 0 ||
	       schema->roles[SR_ROLE_SIDE] >= 0 || schema->roles[SR_ROLE_PRICE] >= 0 ||
	       schema->roles[SR_ROLE_SIZE] >= 0;
}

static bool expiry_get(struct sr_order_view *view, const struct sr_schema *schema,
		       const struct sr_typed_value *roles)
{
	uint64_t expiry, per_s = schema->expiry_per_s;
	sr_u128 ms;

	if (schema->roles[SR_ROLE_EXPIRY] < 0)
		return true;
	/* An expiry beyond 64 bits never comes. */
	if (!small(&expiry, &roles[SR_ROLE_EXPIRY]))
		return true;
	ms = (sr_u128)(expiry & schema->expiry_mask) * 1000 / per_s;
	view->expiry_ms = ms > UINT64_MAX ? UINT64_MAX : (uint64_t)ms;
	return true;
}

static int view_fill(struct sr_order_view *view, const struct sr_schema *schema,
		     const struct sr_typed_value *roles)
{
	view->kind = schema->kind;
	view->schema = schema->id;
	view->testnet = schema->testnet;
	view->chain_id = schema->chain_id;
	view->nonce_kind = schema->roles[SR_ROLE_NONCE] >= 0 ? schema->nonce_kind : SR_NONCE_NONE;
	if (schema->roles[SR_ROLE_FEE] >= 0 && !small(&view->fee, &roles[SR_ROLE_FEE]))
		return -EINVAL;
	if (!party_get(&view->account, schema, SR_ROLE_ACCOUNT, roles) ||
	    !party_get(&view->destination, schema, SR_ROLE_DESTINATION, roles) ||
	    !party_get(&view->fee_to, schema, SR_ROLE_FEE_TO, roles) ||
	    !value_get(view, schema, roles) || !network_right(schema, roles) ||
	    !expiry_get(view, schema, roles) || !leg_get(&view->legs[0], schema, roles))
		return -EINVAL;
	view->leg_count = has_leg(schema);
	return 0;
}

static int decode(struct sr_order_view *view, const unsigned char *body,
		  const struct sr_order_env *env)
{
	const struct sr_schema *schema = sr_schema_find(env->schemas,
						     sr_get32(body + SR_TYPED_SCHEMA));
	unsigned char separator[SR_WORD_BYTES];
	struct sr_typed_walk walk;

	if (!schema || !sr_all_zero(body + SR_TYPED_SCHEMA + 4, 4) ||
	    !sr_all_zero(body + SR_TYPED_CONTRACT + SR_ADDRESS_BYTES, 4))
		return -EINVAL;
	if (!schema->contract_in_body && !sr_all_zero(body + SR_TYPED_CONTRACT, SR_ADDRESS_BYTES))
		return -EINVAL;
	if (schema->roles[SR_ROLE_NONCE] < 0 && view->nonce)
		return -EINVAL;
	walk = walk_over(schema, body);
	if (sr_typed_walk(&walk, NULL))
		return -EINVAL;
	if (schema->contract_in_body) {
		sr_schema_separator(separator, schema, body + SR_TYPED_CONTRACT);
		if (sr_venue_claims(separator))
			return -EPERM;
		sr_party_set(&view->contract, body + SR_TYPED_CONTRACT, SR_ADDRESS_BYTES);
	} else if (schema->has_contract) {
		sr_party_set(&view->contract, schema->contract, SR_ADDRESS_BYTES);
	}
	if (view_fill(view, schema, walk.roles))
		return -EINVAL;
	/* Vertex and its kin: the contract is the product. */
	if (view->contract.bytes && schema->roles[SR_ROLE_ASSET] < 0)
		view->legs[0].asset = sr_asset_bytes(view->contract.data, SR_ADDRESS_BYTES);
	return 0;
}

static int digest_make(unsigned char digest[SR_DIGEST_BYTES], const struct sr_order *order,
		       struct sr_order_env *env)
{
	const struct sr_schema *schema = sr_schema_find(env->schemas,
						     sr_get32(order->body + SR_TYPED_SCHEMA));
	unsigned char separator[SR_WORD_BYTES], hash[SR_WORD_BYTES];
	struct sr_typed_walk walk;

	if (!schema)
		return -EIO;
	walk = walk_over(schema, order->body);
	walk.words = env->work;
	if (sr_typed_walk(&walk, hash))
		return -EIO;
	sr_schema_separator(separator, schema, order->body + SR_TYPED_CONTRACT);
	sr_eip712_digest(digest, separator, hash);
	return 0;
}

static void signature_put(struct sr_out *out, const struct sr_order *order,
			  const struct sr_order_signature *signature, struct sr_order_env *env)
{
	unsigned char rsv[65];

	(void)order;
	(void)env;
	sr_signature_rsv(rsv, signature->rs, signature->recid);
	SR_OUT_LITERAL(out, "\"");
	sr_out_0x(out, rsv, sizeof rsv);
	SR_OUT_LITERAL(out, "\"");
}

static void render(struct sr_out *out, const struct sr_order *order,
		   const struct sr_order_signature *signature, struct sr_order_env *env)
{
	const struct sr_schema *schema = sr_schema_find(env->schemas,
						     sr_get32(order->body + SR_TYPED_SCHEMA));
	struct sr_typed_walk walk;

	if (!schema) {
		out->full = true;
		return;
	}
	SR_OUT_LITERAL(out, "{\"primaryType\":\"");
	sr_out_bytes(out, schema->structs[0].name, schema->structs[0].name_bytes);
	SR_OUT_LITERAL(out, "\",\"message\":");
	walk = walk_over(schema, order->body);
	walk.json = out;
	if (sr_typed_walk(&walk, NULL))
		out->full = true;
	SR_OUT_LITERAL(out, ",\"signature\":");
	signature_put(out, order, signature, env);
	SR_OUT_LITERAL(out, "}");
}

const struct sr_venue sr_venue_typed_data = {
	.type = SR_TYPE_TYPED_DATA,
	.name = "typed_data",
	.bytes = body_bytes,
	.tail = true,
	.decode = decode,
	.digest = digest_make,
	.signature = signature_put,
	.render = render,
};
