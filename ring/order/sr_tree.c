/* SPDX-License-Identifier: MIT */
#include "sr_tree.h"

#include "sr_out_text.h"

#define HEX_BYTES_MAX 32u

void sr_tree_map(struct sr_tree *tree, uint32_t count)
{
	if (!tree->json) {
		sr_msgpack_map(tree->out, count);
		return;
	}
	sr_out_byte(tree->out, '{');
	tree->first = true;
}

void sr_tree_map_end(struct sr_tree *tree)
{
	if (tree->json)
		sr_out_byte(tree->out, '}');
	tree->first = false;
}

void sr_tree_array(struct sr_tree *tree, uint32_t count)
{
	if (!tree->json) {
		sr_msgpack_array(tree->out, count);
		return;
	}
	sr_out_byte(tree->out, '[');
	tree->first = true;
}

void sr_tree_array_end(struct sr_tree *tree)
{
	if (tree->json)
		sr_out_byte(tree->out, ']');
	tree->first = false;
}

void sr_tree_item(struct sr_tree *tree)
{
	if (tree->json && !tree->first)
		sr_out_byte(tree->out, ',');
	tree->first = false;
}

void sr_tree_json_text(struct sr_tree *tree, const char *text, uint32_t bytes)
{
	sr_out_byte(tree->out, '"');
	sr_out_bytes(tree->out, text, bytes);
	sr_out_byte(tree->out, '"');
}

void sr_tree_json_key(struct sr_tree *tree, const char *key, uint32_t bytes)
{
	sr_tree_item(tree);
	sr_tree_json_text(tree, key, bytes);
	sr_out_byte(tree->out, ':');
}

void sr_tree_text(struct sr_tree *tree, const char *text, uint32_t bytes)
{
	if (tree->json)
		sr_tree_json_text(tree, text, bytes);
	else
		sr_msgpack_str(tree->out, text, bytes);
}

void sr_tree_uint(struct sr_tree *tree, uint64_t v)
{
	if (tree->json)
		sr_out_number(tree->out, v);
	else
		sr_msgpack_uint(tree->out, v);
}

void sr_tree_int(struct sr_tree *tree, int64_t v)
{
	if (!tree->json) {
		sr_msgpack_int(tree->out, v);
		return;
	}
	if (v < 0)
		sr_out_byte(tree->out, '-');
	sr_out_number(tree->out, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void sr_tree_bool(struct sr_tree *tree, bool v)
{
	if (!tree->json)
		sr_msgpack_bool(tree->out, v);
	else if (v)
		SR_OUT_LITERAL(tree->out, "true");
	else
		SR_OUT_LITERAL(tree->out, "false");
}

void sr_tree_decimal(struct sr_tree *tree, uint64_t v, unsigned int decimals)
{
	char text[SR_DECIMAL_TEXT_BYTES];

	sr_tree_text(tree, text, (uint32_t)sr_decimal_text(text, v, decimals));
}

void sr_tree_hex(struct sr_tree *tree, const unsigned char *bytes, uint32_t count)
{
	char text[2 + 2 * HEX_BYTES_MAX];
	struct sr_out out = sr_out_over(text, sizeof text);

	sr_out_0x(&out, bytes, count);
	sr_tree_text(tree, text, (uint32_t)out.used);
}
