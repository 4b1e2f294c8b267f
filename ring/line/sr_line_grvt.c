/* SPDX-License-Identifier: MIT */
#include "sr_grvt.h"
#include "sr_line.h"

struct instrument {
	unsigned char asset[32];
	unsigned int decimals;
};

/* What the venue's own list of instruments says about one. */
static void instrument_read(struct instrument *out, const struct sr_node *root, const char *name)
{
	struct sr_node all = sr_node_get(root, "instruments"), one = sr_node_get(&all, name);

	sr_node_members(&one, "instrument_hash base_decimals");
	sr_node_u256(&one, "instrument_hash", out->asset);
	out->decimals =
		(unsigned int)sr_node_integer(&one, "base_decimals", SR_GRVT_SIZE_DECIMALS_MAX);
}

/* What is behind the last decimal is cut off, as the venue's SDK does. */
static uint64_t scaled_read(const struct sr_node *object, const char *name, unsigned int decimals)
{
	const char *text = sr_node_text(object, name, 80);
	uint64_t v = 0;

	if (!object->reader->err && sr_grvt_scaled(&v, text, strlen(text), decimals))
		sr_node_fail(object,
			     "%s: expected a decimal as a string, below 2^64 with %u places", name,
			     decimals);
	return v;
}

static void leg_read(struct sr_grvt_leg *leg, struct instrument *instrument,
		     const struct sr_node *node, const struct sr_node *root, bool market)
{
	sr_node_members(node, "instrument size limit_price is_buying_asset");
	leg->instrument = sr_node_text(node, "instrument", SR_GRVT_INSTRUMENT_BYTES - 1);
	instrument_read(instrument, root, leg->instrument);
	leg->asset = instrument->asset;
	leg->size_decimals = (uint8_t)instrument->decimals;
	leg->size = scaled_read(node, "size", instrument->decimals);
	if (!leg->size)
		sr_node_fail(node, "size: expected more than 0 at the instrument's %u decimals",
			     instrument->decimals);
	leg->price = 0;
	if (!market || sr_node_has(node, "limit_price"))
		leg->price = scaled_read(node, "limit_price", SR_GRVT_PRICE_DECIMALS);
	if ((leg->price == 0) != market)
		sr_node_fail(node, "limit_price: expected %s",
			     market ? "none in a market order" : "more than 0");
	leg->buying = sr_node_flag(node, "is_buying_asset");
}

/* The signature's part that comes before it. */
static void signature_read(struct sr_grvt_head *head, unsigned char signer[20],
			   const struct sr_node *object)
{
	struct sr_node signature = sr_node_get(object, "signature");

	sr_node_members(&signature, "signer expiration nonce");
	sr_node_hex(&signature, "signer", signer, 20);
	head->signer = signer;
	head->expiration_ns = sr_node_number(&signature, "expiration", INT64_MAX);
	head->nonce = (uint32_t)sr_node_integer(&signature, "nonce", UINT32_MAX);
}

static int order_convert(struct sr_line *line, struct sr_grvt_head *head,
			 const struct sr_node *root)
{
	static const char *const tifs[] = { "GOOD_TILL_TIME", "ALL_OR_NONE", "IMMEDIATE_OR_CANCEL",
					    "FILL_OR_KILL", NULL };
	struct sr_node order = sr_node_get(root, "order"), legs, metadata;
	struct instrument instruments[SR_GRVT_LEGS_MAX];
	struct sr_grvt_leg list[SR_GRVT_LEGS_MAX];
	unsigned char signer[20], builder[20];
	struct sr_grvt_order o = { .legs = list };
	uint64_t fee;
	bool market;

	sr_node_members(root, SR_LINE_COMMON "chainId order instruments");
	sr_node_members(&order, "sub_account_id is_market time_in_force post_only reduce_only legs "
				"signature metadata builder builder_fee");
	head->sub_account = sr_node_number(&order, "sub_account_id", UINT64_MAX);
	market = sr_node_flag(&order, "is_market");
	o.flags |= market ? SR_GRVT_MARKET : 0u;
	o.flags |= sr_node_flag(&order, "post_only") ? SR_GRVT_POST_ONLY : 0u;
	o.flags |= sr_node_flag(&order, "reduce_only") ? SR_GRVT_REDUCE_ONLY : 0u;
	o.tif = (enum sr_grvt_tif)(SR_GRVT_GOOD_TILL_TIME +
				   sr_node_choice(&order, "time_in_force", tifs));
	o.leg_count = sr_node_count(&order, "legs", 1, SR_GRVT_LEGS_MAX);
	legs = sr_node_get(&order, "legs");
	for (uint32_t i = 0; i < o.leg_count; i++) {
		struct sr_node leg = sr_node_item(&legs, i);

		leg_read(&list[i], &instruments[i], &leg, root, market);
	}
	if (sr_node_has(&order, "builder")) {
		sr_node_hex(&order, "builder", builder, sizeof builder);
		o.builder = builder;
		fee = scaled_read(&order, "builder_fee", SR_GRVT_FEE_DECIMALS);
		if (fee > UINT32_MAX)
			sr_node_fail(&order, "builder_fee: expected less");
		o.builder_fee = (uint32_t)fee;
	} else if (sr_node_has(&order, "builder_fee")) {
		sr_node_fail(&order, "builder_fee: expected a builder with it");
	}
	signature_read(head, signer, &order);
	metadata = sr_node_get(&order, "metadata");
	sr_node_members(&metadata, "client_order_id");
	o.client_order_id = sr_node_number(&metadata, "client_order_id", UINT64_MAX);
	if (root->reader->err)
		return -EINVAL;
	return sr_grvt_order_put(line->body, SR_LINE_BODY_BYTES, head, &o);
}

static int transfer_convert(struct sr_line *line, struct sr_grvt_head *head,
			    const struct sr_node *root)
{
	static const char *const currencies[] = { "USD", "USDC", "USDT", NULL };
	struct sr_node transfer = sr_node_get(root, "transfer");
	unsigned char signer[20], from[20], to[20];
	struct sr_grvt_transfer t = { .from = from, .to = to };

	sr_node_members(root, SR_LINE_COMMON "chainId transfer");
	sr_node_members(&transfer, "from_account_id from_sub_account_id to_account_id "
				   "to_sub_account_id currency num_tokens signature");
	sr_node_hex(&transfer, "from_account_id", from, sizeof from);
	sr_node_hex(&transfer, "to_account_id", to, sizeof to);
	head->sub_account = sr_node_number(&transfer, "from_sub_account_id", UINT64_MAX);
	t.to_sub_account = sr_node_number(&transfer, "to_sub_account_id", UINT64_MAX);
	t.currency = (enum sr_grvt_currency)(SR_GRVT_USD +
					     sr_node_choice(&transfer, "currency", currencies));
	t.tokens = sr_node_decimal(&transfer, "num_tokens", SR_NOTIONAL_DECIMALS);
	if (!t.tokens)
		sr_node_fail(&transfer, "num_tokens: expected more than 0");
	signature_read(head, signer, &transfer);
	return sr_grvt_transfer_put(line->body, SR_LINE_BODY_BYTES, head, &t);
}

int sr_line_grvt(struct sr_line *line, const struct sr_node *root)
{
	struct sr_grvt_head head = { .nonce = 0 };

	head.chain_id = (uint32_t)sr_node_integer(root, "chainId", UINT32_MAX);
	if (sr_node_has(root, "transfer"))
		return transfer_convert(line, &head, root);
	return order_convert(line, &head, root);
}
