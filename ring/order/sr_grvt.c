/* SPDX-License-Identifier: MIT */
#include "sr_grvt.h"

#include "sr_eip712.h"
#include "sr_venue.h"

#define TRANSFER_BYTES 64u
#define TO 20u
#define TO_SUB_ACCOUNT 40u
#define TOKENS 48u
#define CURRENCY 56u

#define ORDER_MEMBERS 10u /* with a builder */
#define LEG_MEMBERS 4u
#define TRANSFER_MEMBERS 8u

/* Type hashes, and the domains of the venue's own chains. */
static const unsigned char order_type[SR_WORD_BYTES] = {
	0xb4, 0xb8, 0x57, 0xba, 0x96, 0x41, 0xf2, 0x0a, 0x7c, 0x40, 0x07,
	0xc7, 0x3e, 0x54, 0x8a, 0x2e, 0xe5, 0xaf, 0xb7, 0x20, 0x77, 0x44,
	0xcc, 0x41, 0xfa, 0x78, 0x49, 0x45, 0x14, 0x19, 0xbb, 0xb2,
};
static const unsigned char builder_type[SR_WORD_BYTES] = {
	0x6a, 0x59, 0xe4, 0x93, 0x20, 0x70, 0xa9, 0x74, 0x95, 0xcc, 0xc9,
	0xde, 0x30, 0xb7, 0x30, 0x9e, 0xc8, 0x2b, 0x07, 0x15, 0x6f, 0x8c,
	0xfc, 0xbe, 0x51, 0x6d, 0x28, 0xd2, 0x26, 0xd1, 0x10, 0x28,
};
static const unsigned char leg_type[SR_WORD_BYTES] = {
	0x20, 0xed, 0x56, 0x7e, 0xe8, 0x68, 0xba, 0x6c, 0x2d, 0x78, 0x8e,
	0xcc, 0x7d, 0xa6, 0x56, 0x84, 0x38, 0xd9, 0xeb, 0x05, 0xe6, 0x20,
	0x5a, 0xef, 0x0c, 0x31, 0x51, 0xc3, 0x41, 0xe4, 0x76, 0xc6,
};
static const unsigned char transfer_type[SR_WORD_BYTES] = {
	0xc6, 0x8f, 0xcd, 0x68, 0xf7, 0x93, 0x04, 0xf3, 0x34, 0xc5, 0x7a,
	0x50, 0xcc, 0x16, 0x80, 0x54, 0x6f, 0xa8, 0x8e, 0x61, 0x47, 0xd9,
	0x7b, 0x3a, 0x1b, 0x18, 0xac, 0x97, 0xa0, 0xc6, 0xb9, 0xf7,
};
static const struct {
	uint32_t chain_id;
	unsigned char separator[SR_WORD_BYTES];
} domains[] = {
	{ 325, { 0x72, 0xfe, 0x71, 0x6b, 0xb0, 0x10, 0x5c, 0xb5, 0xa4, 0x49, 0x73,
		 0x1f, 0x4e, 0xb0, 0x44, 0xbe, 0xd6, 0x44, 0xeb, 0x0d, 0x79, 0x63,
		 0x60, 0x10, 0x8a, 0x39, 0xc4, 0x70, 0x64, 0xe1, 0x72, 0x47 } },
	{ 326, { 0x12, 0x54, 0xf9, 0x7f, 0x84, 0x95, 0xf7, 0x04, 0x63, 0x0a, 0x23,
		 0x8c, 0xbc, 0xd8, 0x98, 0xa4, 0xb8, 0xab, 0x20, 0xd7, 0x7b, 0xb9,
		 0x3e, 0x17, 0x04, 0x9d, 0x34, 0x45, 0xf4, 0xf8, 0x1f, 0x16 } },
	{ 327, { 0x9c, 0x0a, 0x7c, 0x5b, 0xf8, 0x81, 0xe6, 0xa6, 0xb2, 0x4d, 0x16,
		 0x0c, 0xa4, 0x14, 0x96, 0x98, 0x05, 0xf4, 0x7b, 0x4d, 0x14, 0x84,
		 0xe0, 0x59, 0x37, 0x6a, 0xe9, 0xbb, 0xb9, 0xa0, 0xd0, 0x47 } },
	{ 1, { 0x95, 0x0c, 0xa4, 0x09, 0xf1, 0x4e, 0x4f, 0x89, 0xa1, 0x0e, 0x63,
	       0x79, 0x0c, 0x40, 0xb5, 0xdc, 0x9c, 0x5f, 0xab, 0x89, 0x94, 0x4e,
	       0x8c, 0x98, 0x11, 0x2d, 0xec, 0xe5, 0xb0, 0x84, 0x15, 0xf6 } },
};

#define DOMAINS (sizeof domains / sizeof domains[0])

static const unsigned char *domain_of(uint64_t chain_id)
{
	for (unsigned int i = 0; i < DOMAINS; i++)
		if (domains[i].chain_id == chain_id)
			return domains[i].separator;
	return NULL;
}

static bool claims(const unsigned char separator[SR_DIGEST_BYTES])
{
	for (unsigned int i = 0; i < DOMAINS; i++)
		if (!memcmp(domains[i].separator, separator, SR_WORD_BYTES))
			return true;
	return false;
}

static uint32_t row_bytes(unsigned int action)
{
	switch (action) {
	case SR_GRVT_ORDER:
		return SR_GRVT_LEG_BYTES;
	case SR_GRVT_TRANSFER:
		return TRANSFER_BYTES;
	default:
		return 0;
	}
}

static uint32_t body_bytes(const unsigned char *body)
{
	unsigned int action = body[SR_ORDER_ACTION];
	uint32_t rows = sr_get16(body + SR_ORDER_ROWS), row = row_bytes(action);

	if (!row || !rows || rows > (action == SR_GRVT_ORDER ? SR_GRVT_LEGS_MAX : 1))
		return 0;
	return SR_GRVT_ROWS + rows * row;
}

/* ---- what a client makes ---- */

static int head_put(unsigned char *body, size_t room, const struct sr_grvt_head *head,
		    unsigned int action, unsigned int flags, uint32_t rows)
{
	size_t bytes = SR_GRVT_ROWS + (size_t)rows * row_bytes(action);

	if (bytes > room)
		return -ENOSPC;
	memset(body, 0, bytes);
	sr_order_head_put(body, SR_TYPE_GRVT, action, flags, rows, head->nonce);
	sr_put64(body + SR_GRVT_SUB_ACCOUNT, head->sub_account);
	sr_put64(body + SR_GRVT_EXPIRATION, head->expiration_ns);
	memcpy(body + SR_GRVT_SIGNER, head->signer, SR_ADDRESS_BYTES);
	sr_put32(body + SR_GRVT_CHAIN_ID, head->chain_id);
	return (int)bytes;
}

int sr_grvt_order_put(unsigned char *body, size_t room, const struct sr_grvt_head *head,
		      const struct sr_grvt_order *order)
{
	unsigned int flags = order->flags | (order->builder ? SR_GRVT_HAS_BUILDER : 0u);
	unsigned char *row = body + SR_GRVT_ROWS;
	int bytes;

	if (!order->leg_count || order->leg_count > SR_GRVT_LEGS_MAX)
		return -EINVAL;
	for (uint32_t i = 0; i < order->leg_count; i++)
		if (strlen(order->legs[i].instrument) >= SR_GRVT_INSTRUMENT_BYTES)
			return -EINVAL;
	bytes = head_put(body, room, head, SR_GRVT_ORDER, flags, order->leg_count);
	if (bytes < 0)
		return bytes;

	sr_put64(body + SR_GRVT_CLIENT_ORDER_ID, order->client_order_id);
	if (order->builder)
		memcpy(body + SR_GRVT_BUILDER, order->builder, SR_ADDRESS_BYTES);
	sr_put32(body + SR_GRVT_BUILDER_FEE, order->builder_fee);
	body[SR_GRVT_TIF] = (unsigned char)order->tif;
	for (uint32_t i = 0; i < order->leg_count; i++, row += SR_GRVT_LEG_BYTES) {
		const struct sr_grvt_leg *leg = &order->legs[i];

		memcpy(row, leg->asset, SR_WORD_BYTES);
		sr_put64(row + SR_GRVT_LEG_SIZE, leg->size);
		sr_put64(row + SR_GRVT_LEG_PRICE, leg->price);
		row[SR_GRVT_LEG_BUYING] = leg->buying;
		row[SR_GRVT_LEG_DECIMALS] = leg->size_decimals;
		memcpy(row + SR_GRVT_LEG_INSTRUMENT, leg->instrument, strlen(leg->instrument));
	}
	return bytes;
}

int sr_grvt_transfer_put(unsigned char *body, size_t room, const struct sr_grvt_head *head,
			 const struct sr_grvt_transfer *transfer)
{
	unsigned char *row = body + SR_GRVT_ROWS;
	int bytes = head_put(body, room, head, SR_GRVT_TRANSFER, 0, 1);

	if (bytes < 0)
		return bytes;
	memcpy(row, transfer->from, SR_ADDRESS_BYTES);
	memcpy(row + TO, transfer->to, SR_ADDRESS_BYTES);
	sr_put64(row + TO_SUB_ACCOUNT, transfer->to_sub_account);
	sr_put64(row + TOKENS, transfer->tokens);
	row[CURRENCY] = (unsigned char)transfer->currency;
	return bytes;
}

int sr_grvt_scaled(uint64_t *v, const char *text, size_t bytes, unsigned int decimals)
{
	const char *point = bytes ? memchr(text, '.', bytes) : NULL;
	size_t kept;

	if (!point)
		return sr_decimal_parse(v, text, bytes, decimals);
	kept = (size_t)(point - text) + 1 + decimals;
	if (kept >= bytes)
		return sr_decimal_parse(v, text, bytes, decimals);
	for (size_t i = kept; i < bytes; i++)
		if (text[i] < '0' || text[i] > '9')
			return -EINVAL;
	return sr_decimal_parse(v, text, kept, decimals);
}

/* ---- what it means ---- */

static int head_decode(struct sr_order_view *view, const unsigned char *body)
{
	uint64_t expiration = sr_get64(body + SR_GRVT_EXPIRATION);
	uint32_t chain_id = sr_get32(body + SR_GRVT_CHAIN_ID);

	if (view->nonce > UINT32_MAX || !domain_of(chain_id) || !expiration ||
	    expiration > INT64_MAX || !sr_all_zero(body + SR_GRVT_TIF + 1, 7))
		return -EINVAL;
	view->nonce_kind = SR_NONCE_UNIQUE;
	view->chain_id = chain_id;
	view->testnet = chain_id != SR_GRVT_PRODUCTION;
	view->expiry_ms = expiration / 1000000 + (expiration % 1000000 != 0);
	return 0;
}

/* A name goes into JSON as it is. */
static bool instrument_valid(const unsigned char *name)
{
	unsigned int length = 0;

	for (; length < SR_GRVT_INSTRUMENT_BYTES && name[length]; length++) {
		unsigned char c = name[length];

		if (!(c >= 'A' && c <= 'Z') && !(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') &&
		    c != '_' && c != '-' && c != '.')
			return false;
	}
	return length && length < SR_GRVT_INSTRUMENT_BYTES &&
	       sr_all_zero(name + length, SR_GRVT_INSTRUMENT_BYTES - length);
}

static bool leg_valid(const unsigned char *row, bool market)
{
	return !sr_all_zero(row, SR_WORD_BYTES) && sr_get64(row + SR_GRVT_LEG_SIZE) &&
	       (sr_get64(row + SR_GRVT_LEG_PRICE) == 0) == market && row[SR_GRVT_LEG_BUYING] <= 1 &&
	       row[SR_GRVT_LEG_DECIMALS] <= SR_GRVT_SIZE_DECIMALS_MAX &&
	       sr_all_zero(row + SR_GRVT_LEG_DECIMALS + 1, 6) &&
	       instrument_valid(row + SR_GRVT_LEG_INSTRUMENT);
}

static unsigned int leg_flags(const unsigned char *body)
{
	unsigned int flags = 0, head = body[SR_ORDER_FLAGS], tif = body[SR_GRVT_TIF];

	if (head & SR_GRVT_MARKET)
		flags |= SR_LEG_MARKET;
	if (head & SR_GRVT_POST_ONLY)
		flags |= SR_LEG_POST_ONLY;
	if (head & SR_GRVT_REDUCE_ONLY)
		flags |= SR_LEG_REDUCE_ONLY;
	if (tif == SR_GRVT_IMMEDIATE_OR_CANCEL || tif == SR_GRVT_FILL_OR_KILL)
		flags |= SR_LEG_IMMEDIATE;
	return flags;
}

static int order_decode(struct sr_order_view *view, const unsigned char *body)
{
	unsigned int flags = body[SR_ORDER_FLAGS], tif = body[SR_GRVT_TIF];
	uint32_t rows = sr_get16(body + SR_ORDER_ROWS);
	const unsigned char *row = body + SR_GRVT_ROWS;
	struct sr_out account = sr_out_over(view->account.data, sizeof view->account.data);

	if (flags & ~(unsigned int)SR_GRVT_FLAGS || tif < SR_GRVT_GOOD_TILL_TIME ||
	    tif > SR_GRVT_FILL_OR_KILL)
		return -EINVAL;
	if (!(flags & SR_GRVT_HAS_BUILDER) && !sr_all_zero(body + SR_GRVT_BUILDER, 24))
		return -EINVAL;

	for (uint32_t i = 0; i < rows; i++, row += SR_GRVT_LEG_BYTES) {
		struct sr_order_leg *leg = &view->legs[i];

		if (!leg_valid(row, flags & SR_GRVT_MARKET))
			return -EINVAL;
		memset(leg, 0, sizeof *leg);
		leg->asset = sr_asset_bytes(row, SR_WORD_BYTES);
		leg->price = sr_get64(row + SR_GRVT_LEG_PRICE);
		leg->size = sr_get64(row + SR_GRVT_LEG_SIZE);
		leg->side = row[SR_GRVT_LEG_BUYING] ? SR_SIDE_BUY : SR_SIDE_SELL;
		leg->flags = (uint8_t)leg_flags(body);
		leg->price_decimals = SR_GRVT_PRICE_DECIMALS;
		leg->size_decimals = SR_DECIMALS_BY_ASSET;
	}
	sr_out_number(&account, sr_get64(body + SR_GRVT_SUB_ACCOUNT));
	view->account.bytes = (uint8_t)account.used;
	if (flags & SR_GRVT_HAS_BUILDER) {
		sr_party_set(&view->fee_to, body + SR_GRVT_BUILDER, SR_ADDRESS_BYTES);
		view->fee = sr_get32(body + SR_GRVT_BUILDER_FEE);
	}
	view->kind = SR_KIND_ORDER;
	view->leg_count = rows;
	return 0;
}

static int transfer_decode(struct sr_order_view *view, const unsigned char *body)
{
	const unsigned char *row = body + SR_GRVT_ROWS;
	unsigned char to[SR_ADDRESS_BYTES + 8];
	uint64_t sub_account = __builtin_bswap64(sr_get64(row + TO_SUB_ACCOUNT));

	if (body[SR_ORDER_FLAGS] || sr_get64(body + SR_GRVT_CLIENT_ORDER_ID) ||
	    !sr_all_zero(body + SR_GRVT_BUILDER, SR_GRVT_ROWS - SR_GRVT_BUILDER) ||
	    !sr_get64(row + TOKENS) || row[CURRENCY] < SR_GRVT_USD ||
	    row[CURRENCY] > SR_GRVT_USDT || !sr_all_zero(row + CURRENCY + 1, 7))
		return -EINVAL;

	memcpy(to, row + TO, SR_ADDRESS_BYTES);
	memcpy(to + SR_ADDRESS_BYTES, &sub_account, sizeof sub_account);
	sr_party_set(&view->destination, to, sizeof to);
	sr_party_set(&view->account, row, SR_ADDRESS_BYTES);
	view->value = sr_get64(row + TOKENS); /* currencies of 6 decimals only */
	view->kind = SR_KIND_TRANSFER;
	return 0;
}

static int decode(struct sr_order_view *view, const unsigned char *body,
		  const struct sr_order_env *env)
{
	(void)env;
	if (head_decode(view, body))
		return -EINVAL;
	return view->action == SR_GRVT_ORDER ? order_decode(view, body) :
					       transfer_decode(view, body);
}

static int rules(const struct sr_order_leg *leg, const struct sr_market *market)
{
	return market->tick && leg->price % market->tick ? -EDOM : 0;
}

/* ---- what is signed and posted ---- */

/* keccak of the legs' struct hashes: EIP-712's array. */
static void legs_hash(unsigned char hash[SR_WORD_BYTES], const struct sr_order *order,
		      struct sr_order_env *env)
{
	struct sr_out hashes = sr_out_over(env->work, SR_GRVT_LEGS_MAX * SR_WORD_BYTES);
	const unsigned char *row = order->body + SR_GRVT_ROWS;

	for (uint32_t i = 0; i < order->view.leg_count; i++, row += SR_GRVT_LEG_BYTES) {
		unsigned char words[SR_STRUCT_BYTES(LEG_MEMBERS)], leg[SR_WORD_BYTES];
		struct sr_out out = sr_out_over(words, sizeof words);

		sr_word_bytes32(&out, leg_type);
		sr_word_bytes32(&out, row);
		sr_word_u64(&out, sr_get64(row + SR_GRVT_LEG_SIZE));
		sr_word_u64(&out, sr_get64(row + SR_GRVT_LEG_PRICE));
		sr_word_u64(&out, row[SR_GRVT_LEG_BUYING]);
		sr_struct_hash(leg, &out);
		sr_out_bytes(&hashes, leg, sizeof leg);
	}
	sr_keccak256(hash, hashes.data, hashes.used);
}

static void order_hash(unsigned char hash[SR_WORD_BYTES], const struct sr_order *order,
		       struct sr_order_env *env)
{
	unsigned char words[SR_STRUCT_BYTES(ORDER_MEMBERS)], legs[SR_WORD_BYTES];
	struct sr_out out = sr_out_over(words, sizeof words);
	const unsigned char *body = order->body;
	unsigned int flags = body[SR_ORDER_FLAGS];

	legs_hash(legs, order, env);
	sr_word_bytes32(&out, flags & SR_GRVT_HAS_BUILDER ? builder_type : order_type);
	sr_word_u64(&out, sr_get64(body + SR_GRVT_SUB_ACCOUNT));
	sr_word_u64(&out, !!(flags & SR_GRVT_MARKET));
	sr_word_u64(&out, body[SR_GRVT_TIF]);
	sr_word_u64(&out, !!(flags & SR_GRVT_POST_ONLY));
	sr_word_u64(&out, !!(flags & SR_GRVT_REDUCE_ONLY));
	sr_word_bytes32(&out, legs);
	if (flags & SR_GRVT_HAS_BUILDER) {
		sr_word_address(&out, body + SR_GRVT_BUILDER);
		sr_word_u64(&out, sr_get32(body + SR_GRVT_BUILDER_FEE));
	}
	sr_word_u64(&out, order->view.nonce);
	sr_word_u64(&out, sr_get64(body + SR_GRVT_EXPIRATION));
	sr_struct_hash(hash, &out);
}

static void transfer_hash(unsigned char hash[SR_WORD_BYTES], const struct sr_order *order)
{
	unsigned char words[SR_STRUCT_BYTES(TRANSFER_MEMBERS)];
	struct sr_out out = sr_out_over(words, sizeof words);
	const unsigned char *body = order->body, *row = body + SR_GRVT_ROWS;

	sr_word_bytes32(&out, transfer_type);
	sr_word_address(&out, row);
	sr_word_u64(&out, sr_get64(body + SR_GRVT_SUB_ACCOUNT));
	sr_word_address(&out, row + TO);
	sr_word_u64(&out, sr_get64(row + TO_SUB_ACCOUNT));
	sr_word_u64(&out, row[CURRENCY]);
	sr_word_u64(&out, sr_get64(row + TOKENS));
	sr_word_u64(&out, order->view.nonce);
	sr_word_u64(&out, sr_get64(body + SR_GRVT_EXPIRATION));
	sr_struct_hash(hash, &out);
}

static int digest_make(unsigned char digest[SR_DIGEST_BYTES], const struct sr_order *order,
		       struct sr_order_env *env)
{
	unsigned char hash[SR_WORD_BYTES];

	if (order->view.action == SR_GRVT_ORDER)
		order_hash(hash, order, env);
	else
		transfer_hash(hash, order);
	sr_eip712_digest(digest, domain_of(order->view.chain_id), hash);
	return 0;
}

static void bool_put(struct sr_out *out, bool v)
{
	if (v)
		SR_OUT_LITERAL(out, "true");
	else
		SR_OUT_LITERAL(out, "false");
}

static void signature_put(struct sr_out *out, const struct sr_order *order,
			  const struct sr_order_signature *signature, struct sr_order_env *env)
{
	(void)env;
	SR_OUT_LITERAL(out, "{\"signer\":\"");
	sr_out_0x(out, order->body + SR_GRVT_SIGNER, SR_ADDRESS_BYTES);
	SR_OUT_LITERAL(out, "\",\"r\":\"");
	sr_out_0x(out, signature->rs, 32);
	SR_OUT_LITERAL(out, "\",\"s\":\"");
	sr_out_0x(out, signature->rs + 32, 32);
	SR_OUT_LITERAL(out, "\",\"v\":");
	sr_out_number(out, 27u + signature->recid);
	SR_OUT_LITERAL(out, ",\"expiration\":\"");
	sr_out_number(out, sr_get64(order->body + SR_GRVT_EXPIRATION));
	SR_OUT_LITERAL(out, "\",\"nonce\":");
	sr_out_number(out, order->view.nonce);
	SR_OUT_LITERAL(out, "}");
}

static void leg_put(struct sr_out *out, const unsigned char *row)
{
	const char *instrument = (const char *)row + SR_GRVT_LEG_INSTRUMENT;

	SR_OUT_LITERAL(out, "{\"instrument\":\"");
	sr_out_bytes(out, instrument, strlen(instrument));
	SR_OUT_LITERAL(out, "\",\"size\":\"");
	sr_out_scaled(out, sr_get64(row + SR_GRVT_LEG_SIZE), row[SR_GRVT_LEG_DECIMALS]);
	SR_OUT_LITERAL(out, "\",\"limit_price\":\"");
	sr_out_scaled(out, sr_get64(row + SR_GRVT_LEG_PRICE), SR_GRVT_PRICE_DECIMALS);
	SR_OUT_LITERAL(out, "\",\"is_buying_asset\":");
	bool_put(out, row[SR_GRVT_LEG_BUYING]);
	SR_OUT_LITERAL(out, "}");
}

static void order_fields_put(struct sr_out *out, const struct sr_order *order)
{
	static const char *const tifs[] = {
		[SR_GRVT_GOOD_TILL_TIME] = "GOOD_TILL_TIME",
		[SR_GRVT_ALL_OR_NONE] = "ALL_OR_NONE",
		[SR_GRVT_IMMEDIATE_OR_CANCEL] = "IMMEDIATE_OR_CANCEL",
		[SR_GRVT_FILL_OR_KILL] = "FILL_OR_KILL",
	};
	const unsigned char *body = order->body;
	unsigned int flags = body[SR_ORDER_FLAGS];
	const char *tif = tifs[body[SR_GRVT_TIF]];

	SR_OUT_LITERAL(out, "\"sub_account_id\":\"");
	sr_out_number(out, sr_get64(body + SR_GRVT_SUB_ACCOUNT));
	SR_OUT_LITERAL(out, "\",\"is_market\":");
	bool_put(out, flags & SR_GRVT_MARKET);
	SR_OUT_LITERAL(out, ",\"time_in_force\":\"");
	sr_out_bytes(out, tif, strlen(tif));
	SR_OUT_LITERAL(out, "\",\"post_only\":");
	bool_put(out, flags & SR_GRVT_POST_ONLY);
	SR_OUT_LITERAL(out, ",\"reduce_only\":");
	bool_put(out, flags & SR_GRVT_REDUCE_ONLY);
	SR_OUT_LITERAL(out, ",\"legs\":[");
	for (uint32_t i = 0; i < order->view.leg_count; i++) {
		if (i)
			SR_OUT_LITERAL(out, ",");
		leg_put(out, body + SR_GRVT_ROWS + i * SR_GRVT_LEG_BYTES);
	}
	SR_OUT_LITERAL(out, "]");
	if (flags & SR_GRVT_HAS_BUILDER) {
		SR_OUT_LITERAL(out, ",\"builder\":\"");
		sr_out_0x(out, body + SR_GRVT_BUILDER, SR_ADDRESS_BYTES);
		SR_OUT_LITERAL(out, "\",\"builder_fee\":\"");
		sr_out_scaled(out, sr_get32(body + SR_GRVT_BUILDER_FEE), SR_GRVT_FEE_DECIMALS);
		SR_OUT_LITERAL(out, "\"");
	}
	SR_OUT_LITERAL(out, ",\"metadata\":{\"client_order_id\":\"");
	sr_out_number(out, sr_get64(body + SR_GRVT_CLIENT_ORDER_ID));
	SR_OUT_LITERAL(out, "\"}");
}

static void transfer_fields_put(struct sr_out *out, const struct sr_order *order)
{
	static const char *const currencies[] = {
		[SR_GRVT_USD] = "USD",
		[SR_GRVT_USDC] = "USDC",
		[SR_GRVT_USDT] = "USDT",
	};
	const unsigned char *row = order->body + SR_GRVT_ROWS;
	const char *currency = currencies[row[CURRENCY]];

	SR_OUT_LITERAL(out, "\"from_account_id\":\"");
	sr_out_0x(out, row, SR_ADDRESS_BYTES);
	SR_OUT_LITERAL(out, "\",\"from_sub_account_id\":\"");
	sr_out_number(out, sr_get64(order->body + SR_GRVT_SUB_ACCOUNT));
	SR_OUT_LITERAL(out, "\",\"to_account_id\":\"");
	sr_out_0x(out, row + TO, SR_ADDRESS_BYTES);
	SR_OUT_LITERAL(out, "\",\"to_sub_account_id\":\"");
	sr_out_number(out, sr_get64(row + TO_SUB_ACCOUNT));
	SR_OUT_LITERAL(out, "\",\"currency\":\"");
	sr_out_bytes(out, currency, strlen(currency));
	SR_OUT_LITERAL(out, "\",\"num_tokens\":\"");
	sr_out_scaled(out, sr_get64(row + TOKENS), SR_NOTIONAL_DECIMALS);
	SR_OUT_LITERAL(out, "\",\"transfer_type\":\"STANDARD\",\"transfer_metadata\":\"\"");
}

static void render(struct sr_out *out, const struct sr_order *order,
		   const struct sr_order_signature *signature, struct sr_order_env *env)
{
	bool is_order = order->view.action == SR_GRVT_ORDER;

	if (is_order) {
		SR_OUT_LITERAL(out, "{\"order\":{");
		order_fields_put(out, order);
	} else {
		SR_OUT_LITERAL(out, "{");
		transfer_fields_put(out, order);
	}
	SR_OUT_LITERAL(out, ",\"signature\":");
	signature_put(out, order, signature, env);
	SR_OUT_LITERAL(out, "}");
	if (is_order)
		SR_OUT_LITERAL(out, "}");
}

static uint32_t plan(struct sr_plan_field *fields, const unsigned char *body)
{
	const uint8_t size_decimals = body[SR_GRVT_ROWS + SR_GRVT_LEG_DECIMALS];
	const struct sr_plan_field limit_order[] = {
		{ SR_FIELD_SIZE, size_decimals, SR_GRVT_ROWS + SR_GRVT_LEG_SIZE, 8, "\"size\":\"" },
		{ SR_FIELD_PRICE, SR_GRVT_PRICE_DECIMALS, SR_GRVT_ROWS + SR_GRVT_LEG_PRICE, 8,
		  "\"limit_price\":\"" },
		{ SR_FIELD_CLIENT_ID, 0, SR_GRVT_CLIENT_ORDER_ID, 8, "\"client_order_id\":\"" },
		{ SR_FIELD_R, SR_FIELD_HEX, 0, 0, "\"r\":\"0x" },
		{ SR_FIELD_S, SR_FIELD_HEX, 0, 0, "\"s\":\"0x" },
		{ SR_FIELD_V, 0, 0, 0, "\"v\":" },
		{ SR_FIELD_EXPIRES, 0, SR_GRVT_EXPIRATION, 8, "\"expiration\":\"" },
		{ SR_FIELD_NONCE, 0, SR_ORDER_NONCE, 8, "\"nonce\":" },
	};

	if (body[SR_ORDER_ACTION] != SR_GRVT_ORDER || sr_get16(body + SR_ORDER_ROWS) != 1 ||
	    body[SR_ORDER_FLAGS] & SR_GRVT_MARKET)
		return 0;
	memcpy(fields, limit_order, sizeof limit_order);
	return sizeof limit_order / sizeof limit_order[0];
}

const struct sr_venue sr_venue_grvt = {
	.type = SR_TYPE_GRVT,
	.name = "grvt",
	.bytes = body_bytes,
	.decode = decode,
	.digest = digest_make,
	.signature = signature_put,
	.render = render,
	.plan = plan,
	.rules = rules,
	.claims = claims,
};
