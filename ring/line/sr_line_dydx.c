/* SPDX-License-Identifier: MIT */
#include "sr_bech32.h"
#include "sr_dydx.h"
#include "sr_line.h"
#include "sr_orders.h"

#define URL "/dydxprotocol.clob."

/* An enumeration of the chain: its name without the prefix that all of them share, or its
 * number. */
static unsigned int enum_read(const struct sr_node *object, const char *name,
			      const char *const *words)
{
	struct sr_node node = sr_node_get(object, name);
	unsigned int count = 0;

	if (json_is_string(node.value))
		return sr_node_choice(&node, NULL, words);
	while (words[count])
		count++;
	return (unsigned int)sr_node_integer(&node, NULL, count - 1);
}

static void subaccount_read(struct sr_dydx_head *head, unsigned char owner[20],
			    const struct sr_node *id)
{
	const char *text;

	sr_node_members(id, "owner number");
	text = sr_node_text(id, "owner", 90);
	if (sr_bech32_parse(owner, 20, "dydx", text, strlen(text)))
		sr_node_fail(id, "owner: expected an address that starts with dydx1");
	head->owner = owner;
	head->subaccount = (uint32_t)sr_node_integer(id, "number", SR_DYDX_SUBACCOUNT_MAX);
}

static enum sr_dydx_kind kind_read(const struct sr_node *id)
{
	uint64_t kind = sr_node_integer(id, "orderFlags", SR_DYDX_TWAP);

	if (kind != SR_DYDX_SHORT_TERM && kind != SR_DYDX_CONDITIONAL &&
	    kind != SR_DYDX_LONG_TERM && kind != SR_DYDX_TWAP)
		sr_node_fail(id, "orderFlags: expected 0, 32, 64 or 128");
	return (enum sr_dydx_kind)kind;
}

static void order_id_read(struct sr_dydx_head *head, unsigned char owner[20],
			  struct sr_dydx_cancel *id, const struct sr_node *node)
{
	struct sr_node subaccount = sr_node_get(node, "subaccountId");

	sr_node_members(node, "subaccountId clientId orderFlags clobPairId");
	subaccount_read(head, owner, &subaccount);
	id->client_id = (uint32_t)sr_node_integer(node, "clientId", UINT32_MAX);
	id->kind = kind_read(node);
	id->clob_pair = (uint32_t)sr_node_integer(node, "clobPairId", UINT32_MAX);
}

/* A short-term order ends at a block, every other at a time. */
static void good_til_read(struct sr_dydx_head *head, enum sr_dydx_kind kind,
			  const struct sr_node *node)
{
	bool block = kind == SR_DYDX_SHORT_TERM;

	if (sr_node_has(node, block ? "goodTilBlockTime" : "goodTilBlock"))
		sr_node_fail(node, "expected %s with these orderFlags, not %s",
			     block ? "goodTilBlock" : "goodTilBlockTime",
			     block ? "goodTilBlockTime" : "goodTilBlock");
	head->good_til = (uint32_t)sr_node_integer(
		node, block ? "goodTilBlock" : "goodTilBlockTime", UINT32_MAX);
}

static void condition_read(struct sr_dydx_order *o, const struct sr_node *order)
{
	static const char *const conditions[] = { "CONDITION_TYPE_UNSPECIFIED",
						  "CONDITION_TYPE_STOP_LOSS",
						  "CONDITION_TYPE_TAKE_PROFIT", NULL };

	if (sr_node_has(order, "conditionType"))
		o->condition =
			(enum sr_dydx_condition)enum_read(order, "conditionType", conditions);
	if (sr_node_has(order, "conditionalOrderTriggerSubticks"))
		o->trigger_subticks =
			sr_node_number(order, "conditionalOrderTriggerSubticks", UINT64_MAX);
	if ((o->kind == SR_DYDX_CONDITIONAL) != (o->condition != SR_DYDX_CONDITION_NONE) ||
	    (o->trigger_subticks != 0) != (o->condition != SR_DYDX_CONDITION_NONE))
		sr_node_fail(order, "expected orderFlags 32, a conditionType and "
				    "conditionalOrderTriggerSubticks, or none of the three");
}

static int place_convert(struct sr_line *line, struct sr_dydx_head *head,
			 const struct sr_node *value)
{
	static const char *const sides[] = { "SIDE_UNSPECIFIED", "SIDE_BUY", "SIDE_SELL", NULL };
	static const char *const tifs[] = { "TIME_IN_FORCE_UNSPECIFIED", "TIME_IN_FORCE_IOC",
					    "TIME_IN_FORCE_POST_ONLY", "TIME_IN_FORCE_FILL_OR_KILL",
					    NULL };
	struct sr_node order = sr_node_get(value, "order"), id, fee;
	unsigned char owner[20], builder[20];
	struct sr_dydx_order o = { .client_id = 0 };
	struct sr_dydx_cancel named = { .client_id = 0 };
	const char *text;

	sr_node_members(value, "order");
	sr_node_members(&order, "orderId side quantums subticks goodTilBlock goodTilBlockTime "
				"timeInForce reduceOnly clientMetadata conditionType "
				"conditionalOrderTriggerSubticks builderCodeParameters");
	id = sr_node_get(&order, "orderId");
	order_id_read(head, owner, &named, &id);
	o.client_id = named.client_id;
	o.kind = named.kind;
	o.clob_pair = named.clob_pair;
	o.side = (enum sr_dydx_side)enum_read(&order, "side", sides);
	if (!o.side)
		sr_node_fail(&order, "side: expected SIDE_BUY or SIDE_SELL");
	o.quantums = sr_node_number(&order, "quantums", UINT64_MAX);
	o.subticks = sr_node_number(&order, "subticks", UINT64_MAX);
	good_til_read(head, o.kind, &order);
	o.tif = (enum sr_dydx_tif)enum_read(&order, "timeInForce", tifs);
	o.reduce_only = sr_node_flag(&order, "reduceOnly");
	if (sr_node_has(&order, "clientMetadata"))
		o.client_metadata = (uint32_t)sr_node_integer(&order, "clientMetadata", UINT32_MAX);
	condition_read(&o, &order);
	if (sr_node_has(&order, "builderCodeParameters")) {
		fee = sr_node_get(&order, "builderCodeParameters");
		sr_node_members(&fee, "builderAddress feePpm");
		text = sr_node_text(&fee, "builderAddress", 90);
		if (sr_bech32_parse(builder, sizeof builder, "dydx", text, strlen(text)))
			sr_node_fail(&fee, "builderAddress: expected one that starts with dydx1");
		o.builder = builder;
		o.builder_fee_ppm = (uint32_t)sr_node_integer(&fee, "feePpm", SR_DYDX_FEE_MAX);
	}
	return sr_dydx_order_put(line->body, SR_LINE_BODY_BYTES, head, &o);
}

static int cancel_convert(struct sr_line *line, struct sr_dydx_head *head,
			  const struct sr_node *value)
{
	struct sr_dydx_cancel cancel = { .client_id = 0 };
	struct sr_node id = sr_node_get(value, "orderId");
	unsigned char owner[20];

	sr_node_members(value, "orderId goodTilBlock goodTilBlockTime");
	order_id_read(head, owner, &cancel, &id);
	good_til_read(head, cancel.kind, value);
	return sr_dydx_cancel_put(line->body, SR_LINE_BODY_BYTES, head, &cancel);
}

static int batch_convert(struct sr_line *line, struct sr_dydx_head *head,
			 const struct sr_node *value)
{
	struct sr_node subaccount = sr_node_get(value, "subaccountId"), pairs;
	struct sr_dydx_cancel cancels[SR_DYDX_BATCH_MAX];
	uint32_t pair_count, count = 0, last_pair = 0;
	unsigned char owner[20];

	sr_node_members(value, "subaccountId shortTermCancels goodTilBlock");
	subaccount_read(head, owner, &subaccount);
	head->good_til = (uint32_t)sr_node_integer(value, "goodTilBlock", UINT32_MAX);
	pair_count = sr_node_count(value, "shortTermCancels", 1, SR_DYDX_BATCH_MAX);
	pairs = sr_node_get(value, "shortTermCancels");
	for (uint32_t i = 0; i < pair_count; i++) {
		struct sr_node pair = sr_node_item(&pairs, i), ids;
		uint32_t clob_pair, id_count;

		sr_node_members(&pair, "clobPairId clientIds");
		clob_pair = (uint32_t)sr_node_integer(&pair, "clobPairId", UINT32_MAX);
		/* A typed body has rows, in one order: two batches of a pair would become one. */
		if (i && clob_pair <= last_pair)
			sr_node_fail(&pair, "clobPairId: expected more than in front of it");
		last_pair = clob_pair;
		id_count = sr_node_count(&pair, "clientIds", 1, SR_DYDX_BATCH_MAX - count);
		ids = sr_node_get(&pair, "clientIds");
		for (uint32_t j = 0; j < id_count; j++) {
			struct sr_node id = sr_node_item(&ids, j);

			cancels[count++] = (struct sr_dydx_cancel){
				.client_id = (uint32_t)sr_node_integer(&id, NULL, UINT32_MAX),
				.clob_pair = clob_pair,
				.kind = SR_DYDX_SHORT_TERM,
			};
		}
	}
	return sr_dydx_batch_put(line->body, SR_LINE_BODY_BYTES, head, cancels, count);
}

/* "dydx-mainnet-1" */
static void chain_read(struct sr_dydx_head *head, const struct sr_node *root)
{
	const char *text = sr_node_text(root, "chainId", 32);
	uint64_t number = 0;

	head->testnet = !strncmp(text, "dydx-testnet-", 13);
	if ((!head->testnet && strncmp(text, "dydx-mainnet-", 13) != 0) || text[13] < '1' ||
	    text[13] > '9' || sr_decimal_parse(&number, text + 13, strlen(text + 13), 0) ||
	    strspn(text + 13, "0123456789") != strlen(text + 13) || number > UINT32_MAX)
		sr_node_fail(root, "chainId: expected dydx-mainnet-N or dydx-testnet-N");
	head->chain = (uint32_t)number;
}

int sr_line_dydx(struct sr_line *line, const struct sr_node *root)
{
	static const char *const urls[] = { URL "MsgPlaceOrder", URL "MsgCancelOrder",
					    URL "MsgBatchCancel", NULL };
	struct sr_dydx_head head = { .sequence = 0 };
	unsigned char key[33];
	struct sr_node message, value;

	sr_node_members(root, SR_LINE_COMMON "chainId accountNumber sequence gasLimit publicKey "
					     "message");
	chain_read(&head, root);
	head.account_number = sr_node_number(root, "accountNumber", UINT64_MAX);
	head.sequence = sr_node_number(root, "sequence", UINT64_MAX);
	head.gas_limit = sr_node_number(root, "gasLimit", UINT64_MAX);
	sr_node_hex(root, "publicKey", key, sizeof key);
	head.public_key = key;
	message = sr_node_get(root, "message");
	sr_node_members(&message, "typeUrl value");
	value = sr_node_get(&message, "value");
	switch (sr_node_choice(&message, "typeUrl", urls)) {
	case 0:
		return place_convert(line, &head, &value);
	case 1:
		return cancel_convert(line, &head, &value);
	default:
		return batch_convert(line, &head, &value);
	}
}
