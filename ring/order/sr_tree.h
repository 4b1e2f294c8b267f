/* SPDX-License-Identifier: MIT */
/*
 * sr_tree.h - one walk, two texts: the msgpack that is hashed, the JSON that is posted.
 *
 * A venue that signs one and takes the other describes its action once, as calls in
 * order; the writer says which of the two comes out. So their fields and the order of
 * them cannot drift apart. Strings are put as they are: they hold digits, hex and
 * keywords, nothing that JSON would escape.
 */
#ifndef SR_TREE_H
#define SR_TREE_H

#include "sr_base.h"
#include "sr_msgpack.h"
#include "sr_out.h"

struct sr_tree {
	struct sr_out *out;
	bool json;
	bool first; /* no comma before the next key or item */
};

static inline struct sr_tree sr_tree_over(struct sr_out *out, bool json)
{
	struct sr_tree tree = { out, json, true };

	return tree;
}

SR_BEGIN_DECLS

/* A map or array of so many; then its members; then its end. */
void sr_tree_map(struct sr_tree *tree, uint32_t count);
void sr_tree_map_end(struct sr_tree *tree);
void sr_tree_array(struct sr_tree *tree, uint32_t count);
void sr_tree_array_end(struct sr_tree *tree);

/* Before each of an array; before each value of a map: SR_TREE_KEY(). */
void sr_tree_item(struct sr_tree *tree);

void sr_tree_text(struct sr_tree *tree, const char *text, uint32_t bytes);
void sr_tree_uint(struct sr_tree *tree, uint64_t v);
void sr_tree_int(struct sr_tree *tree, int64_t v);
void sr_tree_bool(struct sr_tree *tree, bool v);

/* A scaled integer as text; "0x" and digits as text, of at most 32 bytes. */
void sr_tree_decimal(struct sr_tree *tree, uint64_t v, unsigned int decimals);
void sr_tree_hex(struct sr_tree *tree, const unsigned char *bytes, uint32_t count);

/* What the two below are in JSON. */
void sr_tree_json_key(struct sr_tree *tree, const char *key, uint32_t bytes);
void sr_tree_json_text(struct sr_tree *tree, const char *text, uint32_t bytes);

SR_END_DECLS

/* Inline, for literals of less than 32 characters: most of an action is keys, and their
 * msgpack is then a few stores of constants. */
static inline void sr_tree_literal(struct sr_tree *tree, const char *text, uint32_t bytes)
{
	sr_out_byte(tree->out, 0xa0 | bytes);
	sr_out_bytes(tree->out, text, bytes);
}

#define SR_TREE_KEY(tree, key)                                            \
	((tree)->json ? sr_tree_json_key(tree, key, sizeof(key) - 1) :    \
			sr_tree_literal(tree, key, sizeof(key) - 1))
#define SR_TREE_TEXT(tree, text)                                          \
	((tree)->json ? sr_tree_json_text(tree, text, sizeof(text) - 1) : \
			sr_tree_literal(tree, text, sizeof(text) - 1))

#endif /* SR_TREE_H */
