/* SPDX-License-Identifier: MIT */
#include "sr_hibachi.h"
#include "sr_line.h"

/* In the integers that are signed: text needs the contract's decimals. */
int sr_line_hibachi(struct sr_line *line, const struct sr_node *root)
{
	static const char *const sides[] = { "ASK", "BID", NULL };
	struct sr_node order = sr_node_get(root, "order");
	struct sr_hibachi_order o = { .nonce = 0 };

	sr_node_members(root, SR_LINE_COMMON "order");
	sr_node_members(&order, "nonce contractId quantity side price maxFeesPercent");
	o.nonce = sr_node_number(&order, "nonce", UINT64_MAX);
	o.contract = (uint32_t)sr_node_integer(&order, "contractId", UINT32_MAX);
	o.quantity = sr_node_number(&order, "quantity", UINT64_MAX);
	o.flags = sr_node_choice(&order, "side", sides) ? SR_HIBACHI_BID : 0u;
	if (sr_node_has(&order, "price"))
		o.price = sr_node_number(&order, "price", UINT64_MAX);
	else
		o.flags |= SR_HIBACHI_MARKET;
	o.max_fee = sr_node_decimal(&order, "maxFeesPercent", 8);
	return sr_hibachi_order_put(line->body, SR_LINE_BODY_BYTES, &o);
}
