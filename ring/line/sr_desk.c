/* SPDX-License-Identifier: MIT */
#include "sr_desk.h"

#include <stdio.h>
#include <stdlib.h>

#include "sr_line.h"
#include "sr_venue.h"

#define SIGNATURE_BYTES 4096u

struct sr_desk {
	struct sr_order_env env;
	struct sr_order order;
	struct sr_line_schemas schemas;
	struct sr_schema_set set;
	unsigned char body[SR_LINE_BODY_BYTES];
	char signature[SIGNATURE_BYTES];
	char post[SR_LINE_TEXT_BYTES];
};

static const struct {
	const char *name;
	uint32_t type;
	int (*convert)(struct sr_line *line, const struct sr_node *root);
} converters[] = {
	{ "hyperliquid", SR_TYPE_HYPERLIQUID, sr_line_hyperliquid },
	{ "polymarket", SR_TYPE_POLYMARKET, sr_line_polymarket },
	{ "dydx", SR_TYPE_DYDX, sr_line_dydx },
	{ "grvt", SR_TYPE_GRVT, sr_line_grvt },
	{ "ethereum", SR_TYPE_ETHEREUM, sr_line_ethereum },
	{ "eip712", SR_TYPE_TYPED_DATA, sr_line_typed_data },
	{ "hibachi", SR_TYPE_HIBACHI, sr_line_hibachi },
};

#define CONVERTERS (sizeof converters / sizeof converters[0])

int sr_desk_new(struct sr_desk **desk)
{
	struct sr_desk *made = calloc(1, sizeof *made);

	if (!made)
		return -ENOMEM;
	if (sr_hasher_new(&made->env.hasher)) {
		free(made);
		return -ENOMEM;
	}
	*desk = made;
	return 0;
}

void sr_desk_delete(struct sr_desk *desk)
{
	if (!desk)
		return;
	sr_hasher_delete(desk->env.hasher);
	sr_line_schemas_free(&desk->schemas);
	free(desk);
}

const char *sr_desk_type_name(uint32_t type)
{
	const struct sr_venue *venue = sr_venue_find(type);

	return venue ? venue->name : sr_type_name(type);
}

static int decode(struct sr_desk *desk, uint32_t type, const unsigned char *body, uint32_t bytes)
{
	desk->set = (struct sr_schema_set){ desk->schemas.list, desk->schemas.count };
	desk->env.schemas = &desk->set;
	return sr_order_decode(&desk->order, type, body, bytes, &desk->env);
}

static void venue_unknown(const struct sr_node *root)
{
	char names[SR_ORDERS_WHY_BYTES] = "";
	size_t used = 0;

	for (size_t i = 0; i < CONVERTERS && used < sizeof names; i++)
		used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
					 converters[i].name);
	sr_node_fail(root, "venue: expected one of %s", names);
}

/* Bytes of desk->body; what is wrong is noted at the reader. */
static int convert(struct sr_desk *desk, uint32_t *type, const struct sr_node *root,
		   uint32_t body_max)
{
	const char *name = sr_node_text(root, "venue", 32);
	struct sr_line line = { .body = desk->body, .schemas = &desk->schemas };
	int bytes = -EINVAL;
	size_t i = 0;

	while (i < CONVERTERS && strcmp(converters[i].name, name) != 0)
		i++;
	if (i == CONVERTERS)
		venue_unknown(root);
	else
		bytes = converters[i].convert(&line, root);
	if (root->reader->err)
		return root->reader->err;
	*type = converters[i].type;
	if (bytes == -ENOSPC)
		sr_node_fail(root, "the order is longer than %u bytes", SR_LINE_BODY_BYTES);
	else if (bytes < 0)
		return bytes;
	else if ((uint32_t)bytes > body_max)
		sr_node_fail(root, "body of %d bytes is too long for the slot, which carries %u",
			     bytes, body_max);
	else if (decode(desk, *type, desk->body, (uint32_t)bytes))
		sr_node_fail(root,
			     "the signer would refuse this order: a field is outside of what "
			     "%s allows",
			     name);
	return root->reader->err ? root->reader->err : bytes;
}

int sr_desk_read(struct sr_desk *desk, struct sr_order_line *order, const json_t *json,
		 uint32_t body_max, char why[SR_ORDERS_WHY_BYTES])
{
	struct sr_reader reader = { .why = why };
	struct sr_node root = sr_node_root(&reader, json);
	unsigned char digest[32], *body;
	uint32_t type = 0;
	int bytes = convert(desk, &type, &root, body_max);

	if (bytes < 0)
		return bytes;
	if (sr_order_digest(digest, &desk->order, &desk->env))
		return -EIO;
	body = malloc((size_t)bytes);
	if (!body)
		return -ENOMEM;
	memcpy(body, desk->body, (size_t)bytes);
	memcpy(order->digest, digest, sizeof digest);
	order->body = body;
	order->body_bytes = (uint16_t)bytes;
	order->type = (uint16_t)type;
	return 0;
}

/* Decodes an order, with the nonce that the signer has filled in where there was none. */
static int take(struct sr_desk *desk, const struct sr_order_line *o, uint64_t nonce)
{
	if (o->body_bytes < SR_ORDER_HEAD_BYTES || o->body_bytes > sizeof desk->body)
		return -EINVAL;
	memcpy(desk->body, o->body, o->body_bytes);
	if (nonce && !sr_get64(desk->body + SR_ORDER_NONCE))
		sr_put64(desk->body + SR_ORDER_NONCE, nonce);
	return decode(desk, o->type, desk->body, o->body_bytes) ? -EINVAL : 0;
}

int sr_desk_digest(struct sr_desk *desk, unsigned char digest[32], const struct sr_order_line *o,
		   uint64_t nonce)
{
	int err;

	switch (o->type) {
	case SR_ECDSA_SHA256:
		return sr_sha256(desk->env.hasher, digest, o->body, o->body_bytes);
	case SR_ECDSA_KECCAK256:
		sr_keccak256(digest, o->body, o->body_bytes);
		return 0;
	case SR_ECDSA_DIGEST:
		memcpy(digest, o->body, SR_DIGEST_BYTES);
		return 0;
	default:
		if (o->type < SR_TYPE_TYPED_MIN)
			return -ENOENT;
		if (!nonce) {
			memcpy(digest, o->digest, SR_DIGEST_BYTES);
			return 0;
		}
		err = take(desk, o, nonce);
		return err ? err : sr_order_digest(digest, &desk->order, &desk->env) ? -EIO : 0;
	}
}

int sr_desk_write(struct sr_desk *desk, struct sr_desk_text *text, const struct sr_order_line *o,
		  uint64_t nonce, const unsigned char rs[64], uint8_t recid)
{
	struct sr_order_signature signature = { .recid = recid };
	int bytes;

	if (o->type < SR_TYPE_TYPED_MIN)
		return -ENOENT;
	if (take(desk, o, nonce))
		return -EINVAL;
	memcpy(signature.rs, rs, sizeof signature.rs);
	bytes = sr_order_signature_text(desk->signature, sizeof desk->signature, &desk->order,
					&signature, &desk->env);
	if (bytes < 0)
		return bytes;
	text->signature = desk->signature;
	text->signature_bytes = (size_t)bytes;
	bytes = sr_order_render(desk->post, sizeof desk->post, &desk->order, &signature,
				&desk->env);
	if (bytes < 0)
		return bytes;
	text->post = desk->post;
	text->post_bytes = (size_t)bytes;
	return 0;
}
