/* SPDX-License-Identifier: MIT */
#include "sr_order.h"

#include "sr_venue.h"

#define SR_VENUE_ROW(number, constant, name) &sr_venue_##name,
static const struct sr_venue *const venues[] = { SR_VENUES(SR_VENUE_ROW) NULL };

static const char *const kinds[] = {
	[SR_KIND_NONE] = "none",
	[SR_KIND_ORDER] = "order",
	[SR_KIND_CANCEL] = "cancel",
	[SR_KIND_MODIFY] = "modify",
	[SR_KIND_CONFIGURE] = "configure",
	[SR_KIND_NOOP] = "noop",
	[SR_KIND_LOGIN] = "login",
	[SR_KIND_TRANSFER] = "transfer",
	[SR_KIND_WITHDRAW] = "withdraw",
	[SR_KIND_APPROVE] = "approve",
	[SR_KIND_CALL] = "call",
	[SR_KIND_MESSAGE] = "message",
};

#define KINDS (sizeof kinds / sizeof kinds[0])

const struct sr_venue *sr_venue_find(uint32_t type)
{
	for (const struct sr_venue *const *venue = venues; *venue; venue++)
		if ((*venue)->type == type)
			return *venue;
	return NULL;
}

const struct sr_venue *sr_venue_from_name(const char *name)
{
	for (const struct sr_venue *const *venue = venues; *venue; venue++)
		if (!strcmp((*venue)->name, name))
			return *venue;
	return NULL;
}

bool sr_venue_claims(const unsigned char separator[SR_DIGEST_BYTES])
{
	for (const struct sr_venue *const *venue = venues; *venue; venue++)
		if ((*venue)->claims && (*venue)->claims(separator))
			return true;
	return false;
}

const char *sr_venue_name(uint32_t type)
{
	const struct sr_venue *venue = sr_venue_find(type);

	return venue ? venue->name : NULL;
}

uint32_t sr_venue_type(const char *name)
{
	const struct sr_venue *venue = sr_venue_from_name(name);

	return venue ? venue->type : 0;
}

const char *sr_kind_name(uint32_t kind)
{
	return kind < KINDS ? kinds[kind] : "unassigned kind";
}

enum sr_order_kind sr_kind_from_name(const char *name)
{
	for (uint32_t i = 1; i < KINDS; i++)
		if (!strcmp(kinds[i], name))
			return (enum sr_order_kind)i;
	return SR_KIND_NONE;
}

static bool length_right(const struct sr_venue *venue, const unsigned char *body,
			 uint32_t body_bytes)
{
	uint32_t tail = sr_get16(body + SR_ORDER_TAIL), fixed;

	if (tail && !venue->tail)
		return false;
	fixed = venue->bytes(body);
	return fixed && fixed + tail == body_bytes;
}

int sr_order_decode(struct sr_order *order, uint32_t type, const unsigned char *body,
		    uint32_t body_bytes, const struct sr_order_env *env)
{
	const struct sr_venue *venue = sr_venue_find(type);

	if (!venue)
		return -ENOENT;
	if (body_bytes < SR_ORDER_HEAD_BYTES || sr_get16(body + SR_ORDER_TYPE) != type ||
	    sr_get16(body + SR_ORDER_ROWS) > SR_ORDER_LEGS_MAX ||
	    !length_right(venue, body, body_bytes))
		return -EINVAL;

	order->venue = venue;
	order->body = body;
	order->body_bytes = body_bytes;
	/* The legs are filled one by one: clearing all of them would cost more than the rest. */
	memset(&order->view, 0, offsetof(struct sr_order_view, legs));
	order->view.type = (uint16_t)type;
	order->view.action = body[SR_ORDER_ACTION];
	order->view.nonce = sr_get64(body + SR_ORDER_NONCE);
	return venue->decode(&order->view, body, env);
}

int sr_order_digest(unsigned char digest[SR_DIGEST_BYTES], const struct sr_order *order,
		    struct sr_order_env *env)
{
	return order->venue->digest(digest, order, env);
}

int sr_order_signature_text(char *text, size_t room, const struct sr_order *order,
			    const struct sr_order_signature *signature, struct sr_order_env *env)
{
	struct sr_out out = sr_out_over(text, room);

	order->venue->signature(&out, order, signature, env);
	return sr_out_done(&out);
}

int sr_order_render(char *text, size_t room, const struct sr_order *order,
		    const struct sr_order_signature *signature, struct sr_order_env *env)
{
	struct sr_out out = sr_out_over(text, room);

	order->venue->render(&out, order, signature, env);
	return sr_out_done(&out);
}

int sr_order_rules(const struct sr_order *order, uint32_t leg, const struct sr_market *market)
{
	if (!order->venue->rules)
		return 0;
	return order->venue->rules(&order->view.legs[leg], market);
}

void sr_order_head_put(unsigned char *body, uint32_t type, uint32_t action, uint32_t flags,
		       uint32_t rows, uint64_t nonce)
{
	sr_put16(body + SR_ORDER_TYPE, (uint16_t)type);
	body[SR_ORDER_ACTION] = (unsigned char)action;
	body[SR_ORDER_FLAGS] = (unsigned char)flags;
	sr_put16(body + SR_ORDER_ROWS, (uint16_t)rows);
	sr_put16(body + SR_ORDER_TAIL, 0);
	sr_put64(body + SR_ORDER_NONCE, nonce);
}

struct sr_asset sr_asset_number(uint64_t id)
{
	return (struct sr_asset){ { id, 0, 0, 0 } };
}

struct sr_asset sr_asset_bytes(const unsigned char *id, uint32_t bytes)
{
	unsigned char whole[32] = { 0 };
	struct sr_asset asset;

	if (bytes > sizeof whole)
		bytes = sizeof whole;
	memcpy(whole + sizeof whole - bytes, id, bytes);
	for (unsigned int i = 0; i < 4; i++)
		asset.words[i] = __builtin_bswap64(sr_get64(whole + 8 * (3 - i)));
	return asset;
}

bool sr_asset_equal(const struct sr_asset *a, const struct sr_asset *b)
{
	return ((a->words[0] ^ b->words[0]) | (a->words[1] ^ b->words[1]) |
		(a->words[2] ^ b->words[2]) | (a->words[3] ^ b->words[3])) == 0;
}

void sr_party_set(struct sr_party *party, const void *data, uint32_t bytes)
{
	party->bytes = (uint8_t)(bytes < SR_PARTY_BYTES ? bytes : SR_PARTY_BYTES);
	memcpy(party->data, data, party->bytes);
}
