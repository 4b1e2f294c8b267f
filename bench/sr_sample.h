/* SPDX-License-Identifier: MIT */
/*
 * sr_sample.h - one honest order of each venue, for programs that go through all of them.
 */
#ifndef SR_SAMPLE_H
#define SR_SAMPLE_H

#include "sigring_order.h"
#include "sr_policy.h"

#define SAMPLE_BODY_BYTES 4096u
#define SAMPLE_MS UINT64_C(1780449126930)
#define SAMPLE_E8 UINT64_C(100000000)

static const unsigned char sample_address[20] = { 0xab, 0xcd, [19] = 0xef };
static struct sr_schema sample_schema;

/* Buy @count times 0.01 of asset 0 at 60000 and up. */
static inline int sample_hyperliquid(unsigned char *body, size_t room, uint32_t count, uint64_t nonce)
{
	static struct sr_hl_order orders[SR_ORDER_LEGS_MAX];
	const struct sr_hl_head head = { .nonce = nonce, .testnet = true };

	for (uint32_t i = 0; i < count && i < SR_ORDER_LEGS_MAX; i++)
		orders[i] = (struct sr_hl_order){ .flags = SR_HL_BUY, .tif = SR_HL_ALO,
						  .price = (60000 + i) * SAMPLE_E8,
						  .size = SAMPLE_E8 / 100 };
	return sr_hl_order_put(body, room, &head, orders, count);
}

static inline int sample_hl_order(unsigned char *body, size_t room)
{
	return sample_hyperliquid(body, room, 1, SAMPLE_MS);
}

static inline int sample_pm(unsigned char *body, size_t room, enum sr_pm_signature signature)
{
	struct sr_pm_order order = { .version = SR_PM_V2, .nonce = SAMPLE_MS, .salt = 479249096354,
				     .token = { [30] = 4, [31] = 0xd2 }, .maker_amount = 52000000,
				     .taker_amount = 100000000, .side = SR_SIDE_BUY,
				     .order_type = SR_PM_GTC, .signature_type = signature };

	memcpy(order.maker, sample_address, sizeof order.maker);
	memcpy(order.signer, sample_address, sizeof order.signer);
	return sr_pm_order_put(body, room, &order);
}

static inline int sample_pm_order(unsigned char *body, size_t room)
{
	return sample_pm(body, room, SR_PM_EOA);
}

static inline int sample_pm_wallet(unsigned char *body, size_t room)
{
	return sample_pm(body, room, SR_PM_1271);
}

static inline int sample_dydx(unsigned char *body, size_t room)
{
	static const unsigned char key[33] = { 2, 1 };
	const struct sr_dydx_head head = { .sequence = 5, .account_number = 1234,
					   .public_key = key, .owner = sample_address, .chain = 1,
					   .good_til = 21000000 };
	const struct sr_dydx_order order = { .client_id = 7, .clob_pair = 1,
					     .kind = SR_DYDX_SHORT_TERM, .side = SR_DYDX_BUY,
					     .quantums = 1000000, .subticks = 200000 };

	return sr_dydx_order_put(body, room, &head, &order);
}

static inline int sample_grvt(unsigned char *body, size_t room)
{
	static const unsigned char asset[32] = { [29] = 3, [30] = 5, [31] = 1 };
	const struct sr_grvt_head head = { .chain_id = SR_GRVT_PRODUCTION, .nonce = 5,
					   .expiration_ns = 1730800479321350001,
					   .sub_account = 8289849667772468,
					   .signer = sample_address };
	const struct sr_grvt_leg leg = { .asset = asset, .size = 1013000000,
					 .price = 68900500000000, .buying = true,
					 .size_decimals = 9, .instrument = "BTC_USDT_Perp" };
	const struct sr_grvt_order order = { .tif = SR_GRVT_GOOD_TILL_TIME, .client_order_id = 42,
					     .legs = &leg, .leg_count = 1 };

	return sr_grvt_order_put(body, room, &head, &order);
}

/* An ERC-20 transfer. */
static inline int sample_ethereum(unsigned char *body, size_t room)
{
	static const unsigned char data[68] = { 0xa9, 0x05, 0x9c, 0xbb, [20] = 1, [67] = 9 };
	struct sr_eth_transaction transaction = { .action = SR_ETH_EIP1559, .chain_id = 1,
						  .nonce = 7, .gas = 65000, .to = sample_address,
						  .data = data, .data_bytes = sizeof data };

	sr_eth_number(transaction.price, 30000000000);
	sr_eth_number(transaction.tip, 1000000000);
	return sr_eth_transaction_put(body, room, &transaction);
}

static inline int sample_hibachi(unsigned char *body, size_t room)
{
	const struct sr_hibachi_order order = { .nonce = SAMPLE_MS * 1000, .contract = 2,
						.flags = SR_HIBACHI_BID, .quantity = 1000000,
						.price = UINT64_C(60000) << 32, .max_fee = 50000 };

	return sr_hibachi_order_put(body, room, &order);
}

/* sample_schemas - what sample_typed() needs in an environment; 0 or -EINVAL. */
static inline int sample_schemas(struct sr_order_env *env)
{
	static const struct sr_schema_set set = { &sample_schema, 1 };
	const struct sr_domain domain = { "Sample", "1", 1, sample_address, NULL, false };
	const struct sr_schema_source source = {
		.id = 1,
		.types = "Order(address maker,uint256 asset,uint128 price,uint128 size,bool isBuy,"
			 "uint64 nonce,uint64 expiry)",
		.domain = &domain,
		.roles = { [SR_ROLE_ASSET] = "asset", [SR_ROLE_SIDE] = "isBuy",
			   [SR_ROLE_PRICE] = "price", [SR_ROLE_SIZE] = "size",
			   [SR_ROLE_NONCE] = "nonce", [SR_ROLE_EXPIRY] = "expiry",
			   [SR_ROLE_ACCOUNT] = "maker" },
		.kind = SR_KIND_ORDER,
		.nonce_kind = SR_NONCE_TIME_MS,
		.price_decimals = 6,
		.size_decimals = 6,
	};
	const char *why;

	env->schemas = &set;
	return sr_schema_compile(&sample_schema, &source, &why);
}

static inline int sample_typed(unsigned char *body, size_t room)
{
	struct sr_out out = sr_out_over(body, room);

	sr_typed_begin(&out, 1, NULL, SAMPLE_MS);
	sr_typed_fixed(&out, sample_address, sizeof sample_address);
	sr_typed_uint(&out, 256, 3);
	sr_typed_uint(&out, 128, 60000000000);
	sr_typed_uint(&out, 128, 10000);
	sr_typed_bool(&out, true);
	sr_typed_uint(&out, 64, 1780449127);
	return sr_typed_end(&out);
}

/* sample_policy - rules under which sample_hyperliquid() is allowed: a book of its own, warm
 * at SAMPLE_MS. 0 or -ENOMEM. */
static inline int sample_policy(struct sr_policy_book **book)
{
	static const struct sr_policy_bound any = { .given = true, .unlimited = true };
	static struct sr_policy_table table;
	int ret = sr_policy_book_new(book);

	if (ret)
		return ret;
	table.count = 1;
	table.asset_count = 1;
	table.assets[0] = (struct sr_policy_asset){
		.market = { .price_decimals = SR_DECIMALS_BY_ASSET, .size_decimals = 5 },
		.size_max = any, .price_min = any, .price_max = any,
		.notional_max = SR_POLICY_UNLIMITED,
	};
	table.rules[0] = (struct sr_policy_rules){
		.key = 1,
		.kinds = { 1u << SR_KIND_ORDER },
		.testnet = true,
		.opens = true,
		.unleased = true,
		.nonce = SR_POLICY_NONCE_CHECKED | SR_POLICY_NONCE_GIVEN,
		.assets = { 0, 1 },
		.expiry_ms_max = SR_POLICY_UNLIMITED,
		.key_per_s = SR_POLICY_RATE_MAX, .key_burst = SR_POLICY_RATE_MAX,
		.session_per_s = SR_POLICY_RATE_MAX, .session_burst = SR_POLICY_RATE_MAX,
		.window_s = 1,
		.window_notional_max = SR_POLICY_UNLIMITED,
		.unexpired_notional_max = SR_POLICY_UNLIMITED,
	};
	sr_policy_time(*book, UINT64_C(1000000000), SAMPLE_MS - 10000);
	sr_policy_obey(*book, &table);
	sr_policy_seed(*book, 0, 0, 0);
	sr_policy_time(*book, UINT64_C(11000000000), SAMPLE_MS);
	return 0;
}

/* An order of each venue, and the form of Polymarket's that costs the most. */
static const struct sample {
	const char *key;
	const char *text;
	uint32_t type;
	int (*put)(unsigned char *body, size_t room);
} samples[] = {
	{ "hyperliquid", "Hyperliquid order", SR_TYPE_HYPERLIQUID, sample_hl_order },
	{ "polymarket", "Polymarket V2 order", SR_TYPE_POLYMARKET, sample_pm_order },
	{ "wallet", "Polymarket V2 order of a deposit wallet", SR_TYPE_POLYMARKET, sample_pm_wallet },
	{ "dydx", "dYdX short-term order", SR_TYPE_DYDX, sample_dydx },
	{ "grvt", "GRVT order of one leg", SR_TYPE_GRVT, sample_grvt },
	{ "ethereum", "Ethereum EIP-1559, an ERC-20 transfer", SR_TYPE_ETHEREUM, sample_ethereum },
	{ "typed_data", "EIP-712 by schema, 7 members", SR_TYPE_TYPED_DATA, sample_typed },
	{ "hibachi", "Hibachi order", SR_TYPE_HIBACHI, sample_hibachi },
};

#define SAMPLES (sizeof samples / sizeof samples[0])

#endif /* SR_SAMPLE_H */
