/* SPDX-License-Identifier: MIT */
#include "sr_line.h"
#include "sr_orders.h"
#include "sr_polymarket.h"

#define AUTH_TEXT "This message attests that I control the given wallet"

static const char *const sides[] = { "BUY", "SELL", NULL };
static const char *const order_types[] = { "GTC", "GTD", "FOK", "FAK", NULL };

/* As the API posts it, or the number that is signed. */
static enum sr_order_side side_read(const struct sr_node *order)
{
	struct sr_node side = sr_node_get(order, "side");
	uint64_t sell = json_is_string(side.value) ? sr_node_choice(&side, NULL, sides) :
						     sr_node_integer(&side, NULL, 1);

	return sell ? SR_SIDE_SELL : SR_SIDE_BUY;
}

/* "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx" */
static void uuid_read(unsigned char uuid[16], const struct sr_node *root, const char *name)
{
	const char *text = sr_node_text(root, name, 36);
	char digits[32];
	size_t count = 0;

	for (size_t i = 0; text[i] && count < sizeof digits; i++)
		if (text[i] != '-')
			digits[count++] = text[i];
	if (count != sizeof digits || strlen(text) != 36 || text[8] != '-' || text[13] != '-' ||
	    text[18] != '-' || text[23] != '-' || sr_orders_unhex(uuid, digits, sizeof digits))
		sr_node_fail(root, "%s: expected the UUID of an API key", name);
}

/* Amounts as they are signed, or what they are made of, by the venue's rounding. */
static void amounts_read(struct sr_pm_order *o, const struct sr_node *order)
{
	bool market = o->order_type >= SR_PM_FOK;
	uint64_t price, size, tick;
	int err;

	if (!sr_node_has(order, "price")) {
		o->maker_amount = sr_node_number(order, "makerAmount", UINT64_MAX);
		o->taker_amount = sr_node_number(order, "takerAmount", UINT64_MAX);
		return;
	}
	if (sr_node_has(order, "makerAmount") || sr_node_has(order, "takerAmount")) {
		sr_node_fail(order, "expected either price or makerAmount and takerAmount");
		return;
	}
	price = sr_node_decimal(order, "price", SR_PM_DECIMALS);
	size = sr_node_decimal(order, market ? "amount" : "size", SR_PM_DECIMALS);
	tick = sr_node_decimal(order, "tickSize", SR_PM_DECIMALS);
	err = market ? sr_pm_market_amounts(&o->maker_amount, &o->taker_amount, o->side, price,
					    size, tick) :
		       sr_pm_limit_amounts(&o->maker_amount, &o->taker_amount, o->side, price, size,
					   tick);
	if (err)
		sr_node_fail(order,
			     "expected a price inside 0 to 1 that is a multiple of tickSize, and "
			     "%s with at most 2 decimals",
			     market ? "an amount" : "a size");
}

static void order_read(struct sr_pm_order *o, const struct sr_node *order)
{
	bool v1 = o->version == SR_PM_V1;

	sr_node_members(order, v1 ? "salt maker signer taker tokenId makerAmount takerAmount "
				    "price size amount tickSize side expiration nonce feeRateBps "
				    "signatureType" :
				    "salt maker signer tokenId makerAmount takerAmount price size "
				    "amount tickSize side expiration signatureType timestamp "
				    "metadata builder");
	o->salt = sr_node_number(order, "salt", SR_PM_SALT_LIMIT - 1);
	sr_node_hex(order, "maker", o->maker, sizeof o->maker);
	sr_node_hex(order, "signer", o->signer, sizeof o->signer);
	sr_node_u256(order, "tokenId", o->token);
	o->side = side_read(order);
	amounts_read(o, order);
	if (v1 || sr_node_has(order, "expiration"))
		o->expiration_s = sr_node_number(order, "expiration", UINT64_MAX);
	o->signature_type =
		(enum sr_pm_signature)sr_node_integer(order, "signatureType", SR_PM_1271);
	if (v1) {
		sr_node_hex(order, "taker", o->taker, sizeof o->taker);
		o->nonce = sr_node_number(order, "nonce", UINT64_MAX);
		o->fee_rate_bps = sr_node_number(order, "feeRateBps", UINT64_MAX);
	} else {
		o->nonce = sr_node_number(order, "timestamp", UINT64_MAX);
		sr_node_hex(order, "metadata", o->metadata, sizeof o->metadata);
		sr_node_hex(order, "builder", o->builder, sizeof o->builder);
	}
}

/* What the exchange's rules say about fields together. */
static void order_judge(const struct sr_pm_order *o, const struct sr_node *order)
{
	bool same = !memcmp(o->maker, o->signer, sizeof o->maker);

	if ((o->signature_type == SR_PM_EOA || o->signature_type == SR_PM_1271) && !same)
		sr_node_fail(order, "signer: expected the maker with signatureType %u",
			     (unsigned int)o->signature_type);
	if ((o->order_type == SR_PM_GTD) != (o->expiration_s != 0))
		sr_node_fail(order, "expiration: expected a time with orderType GTD, else 0");
}

static int order_convert(struct sr_line *line, const struct sr_node *root, unsigned int flags)
{
	static const char *const exchanges[] = { "ctf", "negRisk", NULL };
	struct sr_pm_order o = { .order_type = SR_PM_GTC, .flags = flags };
	struct sr_node order;

	sr_node_members(root, SR_LINE_COMMON "version chainId exchange order owner orderType "
					     "postOnly deferExec");
	o.version = (enum sr_pm_action)sr_node_integer(root, "version", SR_PM_V3);
	if (o.version < SR_PM_V1)
		sr_node_fail(root, "version: expected 1, 2 or 3");
	if (sr_node_choice(root, "exchange", exchanges) == 1)
		o.flags |= SR_PM_NEG_RISK;
	if (o.version == SR_PM_V3 && o.flags & SR_PM_NEG_RISK)
		sr_node_fail(root, "exchange: expected ctf, the one that version 3 has");
	if (sr_node_has(root, "orderType"))
		o.order_type = (enum sr_pm_order_type)(
			SR_PM_GTC + sr_node_choice(root, "orderType", order_types));
	if (sr_node_has(root, "owner"))
		uuid_read(o.owner, root, "owner");
	if (sr_node_has(root, "postOnly") && sr_node_flag(root, "postOnly"))
		o.flags |= SR_PM_POST_ONLY;
	if (sr_node_has(root, "deferExec") && sr_node_flag(root, "deferExec"))
		o.flags |= SR_PM_DEFER;
	order = sr_node_get(root, "order");
	order_read(&o, &order);
	order_judge(&o, &order);
	return sr_pm_order_put(line->body, SR_LINE_BODY_BYTES, &o);
}

static int auth_convert(struct sr_line *line, const struct sr_node *root, bool testnet)
{
	struct sr_node auth = sr_node_get(root, "auth");
	unsigned char address[20];

	sr_node_members(root, SR_LINE_COMMON "chainId auth");
	sr_node_members(&auth, "address timestamp nonce message");
	sr_node_hex(&auth, "address", address, sizeof address);
	if (sr_node_has(&auth, "message") &&
	    strcmp(sr_node_text(&auth, "message", 255), AUTH_TEXT) != 0)
		sr_node_fail(&auth, "message: expected \"" AUTH_TEXT "\"");
	return sr_pm_auth_put(line->body, SR_LINE_BODY_BYTES, address, testnet,
			      sr_node_number(&auth, "timestamp", UINT64_MAX),
			      sr_node_number(&auth, "nonce", UINT64_MAX));
}

int sr_line_polymarket(struct sr_line *line, const struct sr_node *root)
{
	uint64_t chain = sr_node_number(root, "chainId", UINT64_MAX);

	if (chain != 137 && chain != 80002)
		sr_node_fail(root, "chainId: expected 137 or 80002");
	if (sr_node_has(root, "auth"))
		return auth_convert(line, root, chain == 80002);
	return order_convert(line, root, chain == 80002 ? SR_PM_TESTNET : 0);
}
