/* SPDX-License-Identifier: MIT */
/*
 * fuzz_order.c - arbitrary bodies of every typed order.
 *
 * The first two bytes choose a venue and a room to render into, the rest is the body.
 * Checked besides what the sanitizers see: no body is of two types; what decodes has a
 * digest, and renders the same text again, into as much room as it said and no less. No
 * digest is that of another venue's order or of another action: not of the same bytes
 * with each other type, action and schema in their head, and not of any body seen before.
 */
#include "sr_dydx.h"
#include "sr_ethereum.h"
#include "sr_grvt.h"
#include "sr_hibachi.h"
#include "sr_hyperliquid.h"
#include "sr_venue.h"
#include "sr_polymarket.h"
#include "sr_schema.h"
#include "sr_typed_data.h"

#define FUZZ_NAME "order"
#define FUZZ_INPUT_BYTES 4098u
#ifdef SR_FUZZ_MAIN
#define FUZZ_MAKE fuzz_make_order
#define FUZZ_STOP fuzz_stop_order
static void fuzz_stop_order(void);
#endif
#include "fuzz_main.h"

#define TEXT_BYTES 65536u

#define ROW(number, constant, name) &sr_venue_##name,
static const struct sr_venue *const venues[] = { SR_VENUES(ROW) };
#undef ROW
#define VENUES (sizeof venues / sizeof venues[0])

#ifdef SR_FUZZ_MAIN
static uint64_t below(uint64_t limit)
{
	return fuzz_random() % limit;
}

/* Honest bodies, from the builders. */
static int make_hyperliquid(uint8_t *body, size_t room)
{
	static struct sr_hl_order orders[8];
	static struct sr_hl_cancel cancels[8];
	static const unsigned char address[20] = { 1 };
	struct sr_hl_head head = { .nonce = fuzz_random(), .testnet = below(2) };
	uint32_t count = 1 + (uint32_t)below(8);

	head.vault = below(2) ? address : NULL;
	head.expires_after = below(2) ? fuzz_random() : 0;
	for (uint32_t i = 0; i < count; i++) {
		orders[i] = (struct sr_hl_order){ .asset = (uint32_t)fuzz_random(),
						  .price = 1 + below(1u << 31),
						  .size = 1 + below(1u << 31),
						  .flags = (uint32_t)below(4),
						  .tif = (enum sr_hl_tif)(1 + below(5)) };
		if (below(2)) {
			orders[i].flags |= SR_HL_TRIGGER | (uint32_t)below(4) << 4;
			orders[i].tif = SR_HL_TIF_NONE;
			orders[i].trigger_price = 1 + fuzz_random() / 2;
		}
		orders[i].flags |= below(2) ? SR_HL_CLOID : 0u;
		cancels[i] = (struct sr_hl_cancel){ .oid = fuzz_random() };
	}
	switch (below(8)) {
	case 0:
		return sr_hl_modify_put(body, room, &head, orders, count, true);
	case 1:
		return sr_hl_modify_put(body, room, &head, orders, 1, false);
	case 2:
		return sr_hl_cancel_put(body, room, &head, cancels, count, below(2));
	case 3:
		return sr_hl_schedule_put(body, room, &head, below(2) * fuzz_random());
	case 4:
		return sr_hl_leverage_put(body, room, &head, 1, below(2), 1 + (uint32_t)below(99));
	case 5:
		return sr_hl_margin_put(body, room, &head, 1, below(2), (int64_t)fuzz_random());
	default:
		head.builder = below(2) ? address : NULL;
		head.grouping = (enum sr_hl_grouping)below(3);
		return sr_hl_order_put(body, room, &head, orders, count);
	}
}

static int make_polymarket(uint8_t *body, size_t room)
{
	static const unsigned char address[20] = { 1 };
	struct sr_pm_order order = {
		.version = (enum sr_pm_action)(1 + below(3)), .flags = (unsigned int)below(2),
		.nonce = fuzz_random(), .salt = below(SR_PM_SALT_LIMIT), .maker = { 1 },
		.signer = { 1 }, .maker_amount = 1 + below(UINT64_MAX), .expiration_s = 0,
		.taker_amount = 1 + below(UINT64_MAX), .order_type = SR_PM_GTC,
		.signature_type = (enum sr_pm_signature)below(4), .side = (enum sr_order_side)below(3),
	};

	if (below(4) == 0)
		return sr_pm_auth_put(body, room, address, below(2), fuzz_random(), fuzz_random());
	return sr_pm_order_put(body, room, &order);
}

static int make_hibachi(uint8_t *body, size_t room)
{
	const struct sr_hibachi_order order = { fuzz_random(), 1, (unsigned int)below(2),
						fuzz_random(), fuzz_random(), fuzz_random() };

	return sr_hibachi_order_put(body, room, &order);
}

static int make_dydx(uint8_t *body, size_t room)
{
	static const unsigned char key[33] = { 2, 1 }, address[20] = { 1 };
	static const enum sr_dydx_kind kinds[] = { SR_DYDX_SHORT_TERM, SR_DYDX_CONDITIONAL,
						   SR_DYDX_LONG_TERM, SR_DYDX_TWAP };
	static struct sr_dydx_cancel cancels[SR_DYDX_BATCH_MAX];
	const struct sr_dydx_head head = { fuzz_random(), fuzz_random(), below(1 << 20), key,
					   address, (uint32_t)below(200), 1 + (uint32_t)below(9),
					   1 + (uint32_t)below(1u << 31), below(2) };
	struct sr_dydx_order order = {
		.client_id = (uint32_t)fuzz_random(), .clob_pair = (uint32_t)below(300),
		.kind = kinds[below(3)], .side = (enum sr_dydx_side)(1 + below(2)),
		.quantums = 1 + fuzz_random() / 2, .subticks = 1 + below(1 << 30),
		.reduce_only = below(2), .tif = below(2) ? SR_DYDX_POST_ONLY : SR_DYDX_TIF_NONE,
		.builder = below(2) ? address : NULL, .builder_fee_ppm = 1 + (uint32_t)below(9999),
	};
	uint32_t count = 1 + (uint32_t)below(SR_DYDX_BATCH_MAX);

	if (below(3) == 0) {
		for (uint32_t i = 0; i < count; i++)
			cancels[i] = (struct sr_dydx_cancel){ (uint32_t)fuzz_random(), 100 + i / 7,
							      SR_DYDX_SHORT_TERM };
		return sr_dydx_batch_put(body, room, &head, cancels, count);
	}
	if (below(3) == 0) {
		cancels[0] = (struct sr_dydx_cancel){ 1, 2, kinds[below(4)] };
		return sr_dydx_cancel_put(body, room, &head, cancels);
	}
	if (order.kind == SR_DYDX_CONDITIONAL) {
		order.condition = (enum sr_dydx_condition)(1 + below(2));
		order.trigger_subticks = 1 + fuzz_random() / 2;
	}
	return sr_dydx_order_put(body, room, &head, &order);
}

static int make_grvt(uint8_t *body, size_t room)
{
	static const unsigned char address[20] = { 1 };
	static unsigned char asset[32];
	static struct sr_grvt_leg legs[SR_GRVT_LEGS_MAX];
	const struct sr_grvt_head head = { 325 + (uint32_t)below(3), (uint32_t)fuzz_random(),
					   1 + fuzz_random() / 2, fuzz_random(), address };
	const struct sr_grvt_transfer transfer = { address, address, fuzz_random(),
						   1 + fuzz_random() / 2,
						   (enum sr_grvt_currency)(1 + below(3)) };
	struct sr_grvt_order order = {
		.flags = (uint32_t)below(8), .tif = (enum sr_grvt_tif)(1 + below(4)),
		.client_order_id = fuzz_random(), .builder = below(2) ? address : NULL,
		.legs = legs, .leg_count = 1 + (uint32_t)below(SR_GRVT_LEGS_MAX),
	};

	if (below(4) == 0)
		return sr_grvt_transfer_put(body, room, &head, &transfer);
	asset[31] = (unsigned char)(1 + below(255));
	for (uint32_t i = 0; i < order.leg_count; i++)
		legs[i] = (struct sr_grvt_leg){
			asset, 1 + fuzz_random() / 2,
			order.flags & SR_GRVT_MARKET ? 0 : 1 + fuzz_random() / 2, below(2),
			(uint8_t)below(19), "BTC_USDT_Perp",
		};
	return sr_grvt_order_put(body, room, &head, &order);
}

static int make_ethereum(uint8_t *body, size_t room)
{
	static const unsigned char address[20] = { 1 };
	static unsigned char data[600];
	const struct sr_eth_access access[2] = { { address, data, (uint32_t)below(5) },
						 { address, data, (uint32_t)below(3) } };
	struct sr_eth_transaction transaction = {
		.action = (enum sr_eth_action)(1 + below(4)), .nonce = fuzz_random(),
		.gas = fuzz_random(), .to = below(4) ? address : NULL, .data = data,
		.data_bytes = (uint32_t)(below(2) * below(sizeof data)), .access = access,
	};

	for (unsigned int i = 0; i < sizeof data; i++)
		data[i] = (unsigned char)fuzz_random();
	if (below(5) == 0)
		return sr_eth_message_put(body, room, data, transaction.data_bytes);
	transaction.chain_id = transaction.action == SR_ETH_LEGACY ? 0 : 1 + below(1 << 20);
	transaction.access_count = transaction.action < SR_ETH_EIP2930 ? 0 : (uint32_t)below(3);
	memcpy(transaction.price + below(30), data, 2);
	memcpy(transaction.value + below(30), data, 2);
	if (transaction.action == SR_ETH_EIP1559)
		memcpy(transaction.tip + below(30), data, 2);
	return sr_eth_transaction_put(body, room, &transaction);
}

/* Of the schemas below. */
static int make_typed_data(uint8_t *body, size_t room)
{
	static const uint32_t ids[] = { 0, 1, 2, 256 };
	struct sr_out out = sr_out_over(body, room);
	uint32_t id = ids[below(4)], count = (uint32_t)below(8);

	sr_typed_begin(&out, id, NULL, id == 0 ? fuzz_random() : 0);
	if (id == 0) {
		sr_typed_uint(&out, 24, below(1 << 24));
		sr_typed_bool(&out, below(2));
		for (unsigned int i = 0; i < 36; i++)
			sr_out_byte(&out, (unsigned int)below(256));
	} else if (id == 1) {
		sr_typed_count(&out, count);
		for (uint32_t i = 0; i < count; i++) {
			sr_typed_uint(&out, 8, i);
			sr_typed_count(&out, 1);
			sr_typed_text(&out, "\"\\x", 3);
		}
		sr_typed_text(&out, "text", 4);
		sr_typed_text(&out, &out, count);
		sr_typed_uint(&out, 16, 0x1234);
	} else if (id == 2) {
		for (unsigned int i = 0; i < 20; i++)
			sr_out_byte(&out, (unsigned int)below(256));
		sr_typed_uint(&out, 256, fuzz_random());
		sr_typed_int(&out, 256, (int64_t)fuzz_random());
		sr_typed_bool(&out, below(2));
	} else {
		sr_typed_uint(&out, 256, fuzz_random());
	}
	return sr_typed_end(&out);
}

/* A head that fits, few bits in what follows, and the length that the head asks for. */
static int make_any(uint8_t *body, size_t room)
{
	const struct sr_venue *venue = venues[below(VENUES)];
	uint32_t bytes;

	for (size_t i = 0; i < room; i++)
		body[i] = below(16) ? 0 : (uint8_t)below(256);
	sr_order_head_put(body, venue->type, (uint32_t)below(12), (uint32_t)below(8),
			  (uint32_t)below(4), below(2));
	sr_put16(body + SR_ORDER_TAIL, venue->tail ? (uint16_t)below(256) : 0);
	bytes = venue->bytes(body) + sr_get16(body + SR_ORDER_TAIL);
	return (int)(bytes && bytes <= room ? bytes : 1 + below(room));
}

/* An honest body with at most three bytes changed, or one that only looks like one. */
static size_t fuzz_make_order(uint8_t *input, size_t room)
{
	static int (*const make[])(uint8_t *, size_t) = {
		make_hyperliquid, make_polymarket, make_dydx, make_grvt, make_ethereum,
		make_hibachi, make_typed_data, make_any,
	};
	int bytes = make[below(sizeof make / sizeof make[0])](input + 2, room - 2);

	require(bytes > 0, "a builder");
	input[0] = (uint8_t)below(256);
	input[1] = (uint8_t)below(256);
	for (uint64_t i = below(4); i; i--)
		input[2 + below((uint64_t)bytes)] ^= (uint8_t)below(256);
	return 2 + (size_t)bytes;
}
#endif

#define SCHEMAS 4u

/* One of each kind that typed data knows: plain, nested and with arrays, with a struct in
 * its bytes, with a contract in the body. */
static void schemas_make(struct sr_schema_set *set)
{
	static const unsigned char contract[20] = { 1 };
	static const struct sr_domain domain = { "Fuzz", "1", 1, contract, NULL, false };
	static const struct sr_schema_source sources[SCHEMAS] = {
		{ .id = 0, .types = "A(uint8 a,int16 b,bool c,bytes4 d,uint64 n,int256 e)",
		  .domain = &domain, .kind = SR_KIND_ORDER,
		  .roles = { [SR_ROLE_PRICE] = "a", [SR_ROLE_SIZE] = "b", [SR_ROLE_SIDE] = "c",
			     [SR_ROLE_ASSET] = "d", [SR_ROLE_NONCE] = "n" } },
		{ .id = 1, .types = "B(C[] c,string s,bytes t,uint8[2] u)C(D d,string[] x)D(uint8 v)",
		  .domain = &domain, .kind = SR_KIND_MESSAGE, .roles = { [SR_ROLE_FEE_TO] = "t" } },
		{ .id = 2, .types = "E(address a,bytes data)", .domain = &domain,
		  .kind = SR_KIND_ORDER, .abi_member = "data",
		  .abi_type = "F(uint256 price,int256 amount,bool side)",
		  .price_decimals = 18, .size_decimals = 18,
		  .roles = { [SR_ROLE_PRICE] = "price", [SR_ROLE_SIZE] = "amount" } },
		{ .id = 256, .types = "G(uint256 expiry)", .domain = &domain,
		  .contract_in_body = true, .kind = SR_KIND_TRANSFER,
		  .roles = { [SR_ROLE_EXPIRY] = "expiry" } },
	};
	static struct sr_schema schemas[SCHEMAS];
	const char *why;

	for (unsigned int i = 0; i < SCHEMAS; i++)
		require(sr_schema_compile(&schemas[i], &sources[i], &why) == 0, "no schema");
	set->schemas = schemas;
	set->count = SCHEMAS;
}

static struct sr_schema_set set;
static struct sr_order order;
static struct sr_order_env env;
static char text[TEXT_BYTES], again[TEXT_BYTES];
static unsigned long long taken_of[VENUES];

#ifdef SR_FUZZ_MAIN
/* A venue of which nothing was taken was not looked at. */
static void fuzz_stop_order(void)
{
	for (size_t i = 0; i < VENUES; i++)
		printf("# %s: %llu bodies taken\n", venues[i]->name, taken_of[i]);
}
#endif

static void judge(const unsigned char *body, uint32_t bytes, size_t room)
{
	const struct sr_order_signature signature = { { 1 }, 1 };
	unsigned char digest[SR_DIGEST_BYTES];
	int whole, part;

	require(order.view.leg_count <= SR_ORDER_LEGS_MAX, "more legs than there are");
	require(order.view.kind != SR_KIND_NONE, "no kind");
	require(order.body == body && order.body_bytes == bytes, "another body");
	require(sr_order_digest(digest, &order, &env) == 0, "no digest");
	require(sr_order_signature_text(text, sizeof text, &order, &signature, &env) > 0,
		"no signature");
	whole = sr_order_render(text, sizeof text, &order, &signature, &env);
	require(whole > 0, "no body to post");
	part = sr_order_render(again, room, &order, &signature, &env);
	require((part == whole) == (room >= (size_t)whole) && (part == whole || part == -ENOSPC),
		"room");
	if (part == whole)
		require(!memcmp(text, again, (size_t)whole), "another text");
}

#define SEEN (1u << 16)
#define ACTIONS 16u /* more than any venue has */

/* What a digest was of: the type, the action, and of typed data the schema. */
struct meaning {
	unsigned char digest[SR_DIGEST_BYTES];
	uint32_t type;
	uint32_t action;
	uint32_t schema;
};

static struct meaning seen[SEEN];

static struct meaning meaning_of_order(void)
{
	struct meaning m = { .type = order.view.type, .action = order.view.action,
			     .schema = order.view.schema };

	require(sr_order_digest(m.digest, &order, &env) == 0, "no digest");
	return m;
}

static void compare(const struct meaning *a, const struct meaning *b)
{
	require(memcmp(a->digest, b->digest, sizeof a->digest) != 0 ||
			(a->type == b->type && a->action == b->action && a->schema == b->schema),
		"one digest, two meanings");
}

/* Whatever was here before makes room. */
static void remember(const struct meaning *m)
{
	struct meaning *place = &seen[m->digest[0] | m->digest[1] << 8];

	if (place->type)
		compare(m, place);
	*place = *m;
}

/* The same bytes under every other head. @body comes back as it was. */
static void judge_heads(unsigned char *body, uint32_t bytes, const struct meaning *m)
{
	static const uint32_t ids[] = { 0, 1, 2, 256 };
	unsigned char head[SR_TYPED_CONTRACT];

	if (bytes < sizeof head)
		return;
	memcpy(head, body, sizeof head);
	for (size_t i = 0; i < VENUES; i++) {
		bool typed = venues[i]->type == SR_TYPE_TYPED_DATA;
		unsigned int schemas = typed ? sizeof ids / sizeof ids[0] : 1;

		for (unsigned int j = 0; j < ACTIONS * schemas; j++) {
			struct meaning other;

			sr_put16(body + SR_ORDER_TYPE, venues[i]->type);
			body[SR_ORDER_ACTION] = (unsigned char)(j % ACTIONS);
			if (typed)
				sr_put32(body + SR_TYPED_SCHEMA, ids[j / ACTIONS]);
			if (sr_order_decode(&order, venues[i]->type, body, bytes, &env))
				continue;
			other = meaning_of_order();
			compare(m, &other);
		}
		memcpy(body, head, sizeof head);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct meaning taken_as = { .type = 0 };
	unsigned int taken = 0;
	unsigned char *body;

	if (bytes < 2 || bytes > FUZZ_INPUT_BYTES)
		return 0;
	if (!env.hasher)
		require(sr_hasher_new(&env.hasher) == 0, "no hasher");
	if (!set.count)
		schemas_make(&set);
	env.schemas = &set;
	/* Of its own size, so that the sanitizers see a read behind its end. */
	body = malloc(bytes - 2 ? bytes - 2 : 1);
	require(body != NULL, "no memory");
	memcpy(body, data + 2, bytes - 2);

	for (size_t i = 0; i < VENUES; i++) {
		int ret = sr_order_decode(&order, venues[i]->type, body, (uint32_t)bytes - 2, &env);

		require(ret == 0 || ret == -EINVAL || ret == -EPERM, "an error that is not due");
		if (ret)
			continue;
		taken++;
		taken_of[i]++;
		judge(body, (uint32_t)bytes - 2, (size_t)data[0] << 4 | data[1] >> 4);
		taken_as = meaning_of_order();
	}
	require(taken <= 1, "one body, two types");
	if (taken) {
		remember(&taken_as);
		judge_heads(body, (uint32_t)bytes - 2, &taken_as);
	}
	free(body);
	return 0;
}
