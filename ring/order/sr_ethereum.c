/* SPDX-License-Identifier: MIT */
#include "sr_ethereum.h"

#include "sr_eip712.h"
#include "sr_rlp.h"
#include "sr_venue.h"

#define ENTRY_KEYS 20u
#define ENTRY_ZERO 24u
#define GWEI UINT64_C(1000000000)
#define VALUE_UNIT UINT64_C(1000000000000) /* a millionth of 10^18 */

static uint32_t body_bytes(const unsigned char *body)
{
	return SR_ETH_ROWS + sr_get16(body + SR_ORDER_ROWS) * SR_ETH_ROW_BYTES;
}

static uint32_t data_bytes(const unsigned char *body)
{
	return sr_get16(body + SR_ORDER_TAIL);
}

static const unsigned char *data_of(const unsigned char *body)
{
	return body + body_bytes(body);
}

/* ---- what a client makes ---- */

void sr_eth_number(unsigned char number[32], sr_u128 v)
{
	for (unsigned int i = 32; i--; v >>= 8)
		number[i] = (unsigned char)v;
}

static unsigned char *access_put(unsigned char *row, const struct sr_eth_access *access)
{
	memset(row, 0, SR_ETH_ROW_BYTES);
	memcpy(row, access->address, SR_ADDRESS_BYTES);
	sr_put32(row + ENTRY_KEYS, access->key_count);
	row += SR_ETH_ROW_BYTES;
	if (access->key_count)
		memcpy(row, access->keys, (size_t)access->key_count * SR_ETH_ROW_BYTES);
	return row + (size_t)access->key_count * SR_ETH_ROW_BYTES;
}

int sr_eth_transaction_put(unsigned char *body, size_t room,
			   const struct sr_eth_transaction *transaction)
{
	unsigned char *row = body + SR_ETH_ROWS;
	uint64_t rows = 0, bytes;

	for (uint32_t i = 0; i < transaction->access_count; i++)
		rows += UINT64_C(1) + transaction->access[i].key_count;
	bytes = SR_ETH_ROWS + rows * SR_ETH_ROW_BYTES + transaction->data_bytes;
	if (bytes > SR_ETH_BYTES_MAX || bytes > room)
		return -ENOSPC;

	memset(body, 0, SR_ETH_ROWS);
	sr_order_head_put(body, SR_TYPE_ETHEREUM, transaction->action,
			  transaction->to ? SR_ETH_HAS_TO : 0, (uint32_t)rows, transaction->nonce);
	sr_put16(body + SR_ORDER_TAIL, (uint16_t)transaction->data_bytes);
	sr_put64(body + SR_ETH_CHAIN_ID, transaction->chain_id);
	sr_put64(body + SR_ETH_GAS, transaction->gas);
	memcpy(body + SR_ETH_PRICE, transaction->price, 32);
	memcpy(body + SR_ETH_TIP, transaction->tip, 32);
	memcpy(body + SR_ETH_VALUE, transaction->value, 32);
	if (transaction->to)
		memcpy(body + SR_ETH_TO, transaction->to, SR_ADDRESS_BYTES);
	sr_put32(body + SR_ETH_ENTRIES, transaction->access_count);

	for (uint32_t i = 0; i < transaction->access_count; i++)
		row = access_put(row, &transaction->access[i]);
	if (transaction->data_bytes)
		memcpy(row, transaction->data, transaction->data_bytes);
	return (int)bytes;
}

int sr_eth_message_put(unsigned char *body, size_t room, const void *message,
		       uint32_t message_bytes)
{
	const struct sr_eth_transaction transaction = {
		.action = SR_ETH_EIP191,
		.data = message,
		.data_bytes = message_bytes,
	};

	return sr_eth_transaction_put(body, room, &transaction);
}

/* ---- what it means ---- */

/* The rows are the access list: exactly. */
static bool rows_valid(const unsigned char *body)
{
	uint32_t rows = sr_get16(body + SR_ORDER_ROWS), entries = sr_get32(body + SR_ETH_ENTRIES);
	const unsigned char *row = body + SR_ETH_ROWS;
	uint32_t used = 0;

	if (body_bytes(body) + data_bytes(body) > SR_ETH_BYTES_MAX)
		return false;
	/* Each entry takes a row at least, so this ends with the rows. */
	for (uint32_t i = 0; i < entries; i++) {
		uint32_t keys;

		if (used == rows || !sr_all_zero(row + ENTRY_ZERO, SR_ETH_ROW_BYTES - ENTRY_ZERO))
			return false;
		keys = sr_get32(row + ENTRY_KEYS);
		if (keys > rows - used - 1)
			return false;
		used += 1 + keys;
		row += (1 + keys) * SR_ETH_ROW_BYTES;
	}
	return used == rows;
}

static bool fields_valid(const unsigned char *body)
{
	unsigned int action = body[SR_ORDER_ACTION], flags = body[SR_ORDER_FLAGS];
	uint64_t chain_id = sr_get64(body + SR_ETH_CHAIN_ID);

	if (action < SR_ETH_LEGACY || action > SR_ETH_EIP191 ||
	    flags & ~(unsigned int)SR_ETH_HAS_TO)
		return false;
	if (chain_id > SR_ETH_CHAIN_ID_MAX)
		return false;
	if (!(flags & SR_ETH_HAS_TO) && !sr_all_zero(body + SR_ETH_TO, SR_ADDRESS_BYTES))
		return false;
	if (action == SR_ETH_EIP191)
		return !flags && sr_all_zero(body + SR_ORDER_NONCE, SR_ETH_ROWS - SR_ORDER_NONCE);
	if (action != SR_ETH_EIP1559 && !sr_all_zero(body + SR_ETH_TIP, 32))
		return false;
	if (action <= SR_ETH_EIP155 &&
	    ((action == SR_ETH_EIP155) != (chain_id != 0) || sr_get32(body + SR_ETH_ENTRIES)))
		return false;
	return sr_get64(body + SR_ORDER_NONCE) != UINT64_MAX; /* EIP-2681 */
}

/* number * factor / unit, rounded up. */
static uint64_t scaled(const unsigned char number[32], uint64_t factor, uint64_t unit)
{
	uint64_t high, low;
	sr_u128 product;

	memcpy(&high, number + 16, sizeof high);
	memcpy(&low, number + 24, sizeof low);
	if (!factor)
		return 0;
	if (!sr_all_zero(number, 16))
		return UINT64_MAX;
	product = (sr_u128)__builtin_bswap64(high) << 64 | __builtin_bswap64(low);
	if (__builtin_mul_overflow(product, (sr_u128)factor, &product))
		return UINT64_MAX;
	product = product / unit + (product % unit != 0);
	return product > UINT64_MAX ? UINT64_MAX : (uint64_t)product;
}

static void call_set(struct sr_order_view *view, const unsigned char *body)
{
	struct sr_order_leg *leg = &view->legs[0];

	view->kind = SR_KIND_CALL;
	view->contract = view->destination; /* nobody's, when one is made */
	view->leg_count = 1;
	memset(leg, 0, sizeof *leg);
	if (view->contract.bytes && data_bytes(body) >= 4)
		leg->asset = sr_asset_bytes(data_of(body), 4);
	else
		leg->asset = sr_asset_number(SR_ETH_NO_SELECTOR);
}

static int decode(struct sr_order_view *view, const unsigned char *body,
		  const struct sr_order_env *env)
{
	(void)env;
	if (!fields_valid(body) || !rows_valid(body))
		return -EINVAL;
	if (view->action == SR_ETH_EIP191) {
		view->kind = SR_KIND_MESSAGE;
		return 0;
	}

	view->nonce_kind = SR_NONCE_SEQUENCE;
	view->chain_id = sr_get64(body + SR_ETH_CHAIN_ID);
	view->value = scaled(body + SR_ETH_VALUE, 1, VALUE_UNIT);
	view->fee = scaled(body + SR_ETH_PRICE, sr_get64(body + SR_ETH_GAS), GWEI);
	if (body[SR_ORDER_FLAGS] & SR_ETH_HAS_TO)
		sr_party_set(&view->destination, body + SR_ETH_TO, SR_ADDRESS_BYTES);
	if (data_bytes(body) || !view->destination.bytes)
		call_set(view, body);
	else
		view->kind = SR_KIND_TRANSFER;
	return 0;
}

/* ---- what is signed and posted ---- */

static void access_list_put(struct sr_out *out, const unsigned char *body)
{
	uint32_t entries = sr_get32(body + SR_ETH_ENTRIES);
	const unsigned char *row = body + SR_ETH_ROWS;
	size_t list = sr_rlp_begin(out);

	while (entries--) {
		uint32_t keys = sr_get32(row + ENTRY_KEYS);
		size_t entry = sr_rlp_begin(out), inner;

		sr_rlp_bytes(out, row, SR_ADDRESS_BYTES);
		row += SR_ETH_ROW_BYTES;
		inner = sr_rlp_begin(out);
		for (; keys--; row += SR_ETH_ROW_BYTES)
			sr_rlp_bytes(out, row, SR_ETH_ROW_BYTES);
		sr_rlp_end(out, inner);
		sr_rlp_end(out, entry);
	}
	sr_rlp_end(out, list);
}

/* From the type's byte to the last field that is the same signed or not. */
static size_t fields_put(struct sr_out *out, const struct sr_order *order)
{
	const unsigned char *body = order->body;
	unsigned int action = order->view.action;
	bool typed = action >= SR_ETH_EIP2930;
	size_t list;

	if (typed)
		sr_out_byte(out, action == SR_ETH_EIP2930 ? 1 : 2);
	list = sr_rlp_begin(out);
	if (typed)
		sr_rlp_uint(out, order->view.chain_id);
	sr_rlp_uint(out, order->view.nonce);
	if (action == SR_ETH_EIP1559)
		sr_rlp_integer(out, body + SR_ETH_TIP, 32);
	sr_rlp_integer(out, body + SR_ETH_PRICE, 32);
	sr_rlp_uint(out, sr_get64(body + SR_ETH_GAS));
	sr_rlp_bytes(out, body + SR_ETH_TO,
		     body[SR_ORDER_FLAGS] & SR_ETH_HAS_TO ? SR_ADDRESS_BYTES : 0);
	sr_rlp_integer(out, body + SR_ETH_VALUE, 32);
	sr_rlp_bytes(out, data_of(body), data_bytes(body));
	if (typed)
		access_list_put(out, body);
	return list;
}

static void message_put(struct sr_out *out, const unsigned char *body)
{
	SR_OUT_LITERAL(out, "\x19"
			    "Ethereum Signed Message:\n");
	sr_out_number(out, data_bytes(body));
	sr_out_bytes(out, data_of(body), data_bytes(body));
}

static int digest_make(unsigned char digest[SR_DIGEST_BYTES], const struct sr_order *order,
		       struct sr_order_env *env)
{
	struct sr_out out = sr_out_over(env->work, sizeof env->work);
	size_t list;

	if (order->view.action == SR_ETH_EIP191) {
		message_put(&out, order->body);
	} else {
		list = fields_put(&out, order);
		if (order->view.action == SR_ETH_EIP155) {
			sr_rlp_uint(&out, order->view.chain_id);
			sr_rlp_uint(&out, 0);
			sr_rlp_uint(&out, 0);
		}
		sr_rlp_end(&out, list);
	}
	if (out.full)
		return -ENOSPC;
	sr_keccak256(digest, out.data, out.used);
	return 0;
}

static uint64_t v_of(const struct sr_order *order, const struct sr_order_signature *signature)
{
	switch (order->view.action) {
	case SR_ETH_EIP155:
		return 35 + 2 * order->view.chain_id + signature->recid;
	case SR_ETH_LEGACY:
		return 27u + signature->recid;
	default:
		return signature->recid;
	}
}

/* A QUANTITY of the JSON-RPC interface: no leading zeros, and "0x0". */
static void quantity_put(struct sr_out *out, const unsigned char *number, size_t bytes)
{
	unsigned char digits[64];
	struct sr_out hex = sr_out_over(digits, sizeof digits);
	size_t skip = 0;

	sr_out_hex(&hex, number, bytes);
	while (skip + 1 < hex.used && digits[skip] == '0')
		skip++;
	SR_OUT_LITERAL(out, "\"0x");
	sr_out_bytes(out, digits + skip, hex.used - skip);
	SR_OUT_LITERAL(out, "\"");
}

static void rsv_put(struct sr_out *out, const struct sr_order_signature *signature)
{
	unsigned char rsv[65];

	sr_signature_rsv(rsv, signature->rs, signature->recid);
	SR_OUT_LITERAL(out, "\"");
	sr_out_0x(out, rsv, sizeof rsv);
	SR_OUT_LITERAL(out, "\"");
}

static void signature_put(struct sr_out *out, const struct sr_order *order,
			  const struct sr_order_signature *signature, struct sr_order_env *env)
{
	uint64_t v = __builtin_bswap64(v_of(order, signature));
	unsigned char number[8];

	(void)env;
	if (order->view.action == SR_ETH_EIP191) {
		rsv_put(out, signature);
		return;
	}
	memcpy(number, &v, sizeof number);
	SR_OUT_LITERAL(out, "{\"r\":");
	quantity_put(out, signature->rs, 32);
	SR_OUT_LITERAL(out, ",\"s\":");
	quantity_put(out, signature->rs + 32, 32);
	if (order->view.action >= SR_ETH_EIP2930)
		SR_OUT_LITERAL(out, ",\"yParity\":");
	else
		SR_OUT_LITERAL(out, ",\"v\":");
	quantity_put(out, number, sizeof number);
	SR_OUT_LITERAL(out, "}");
}

static void render(struct sr_out *out, const struct sr_order *order,
		   const struct sr_order_signature *signature, struct sr_order_env *env)
{
	struct sr_out raw = sr_out_over(env->work, sizeof env->work);
	const unsigned char *body = order->body;
	size_t list;

	if (order->view.action == SR_ETH_EIP191) {
		SR_OUT_LITERAL(out, "{\"message\":\"");
		sr_out_0x(out, data_of(body), data_bytes(body));
		SR_OUT_LITERAL(out, "\",\"signature\":");
		rsv_put(out, signature);
		SR_OUT_LITERAL(out, "}");
		return;
	}
	list = fields_put(&raw, order);
	sr_rlp_uint(&raw, v_of(order, signature));
	sr_rlp_integer(&raw, signature->rs, 32);
	sr_rlp_integer(&raw, signature->rs + 32, 32);
	sr_rlp_end(&raw, list);

	out->full |= raw.full;
	SR_OUT_LITERAL(out, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"eth_sendRawTransaction\","
			    "\"params\":[\"");
	sr_out_0x(out, raw.data, raw.used);
	SR_OUT_LITERAL(out, "\"]}");
}

const struct sr_venue sr_venue_ethereum = {
	.type = SR_TYPE_ETHEREUM,
	.name = "ethereum",
	.bytes = body_bytes,
	.tail = true,
	.decode = decode,
	.digest = digest_make,
	.signature = signature_put,
	.render = render,
};
