/* SPDX-License-Identifier: MIT */
/*
 * The schema of a line of EIP-712: from `types`, as wallets take them, to the text that
 * EIP-712 hashes, and the domain.
 */
#include <stdio.h>
#include <stdlib.h>

#include "sr_line.h"

#define OWN_ID_FIRST 0x80000000u /* of schemas that a line did not give a number */

/* ---- encodeType ---- */

struct type_text {
	const struct sr_node *types;
	const char *names[SR_SCHEMA_STRUCTS_MAX]; /* the primary one first */
	uint32_t count;
	char text[SR_SCHEMA_TYPE_BYTES];
	size_t used;
};

static void text_put(struct type_text *t, const char *text, size_t bytes)
{
	if (t->used + bytes >= sizeof t->text) {
		sr_node_fail(t->types, "expected less than %u bytes of types",
			     SR_SCHEMA_TYPE_BYTES);
		return;
	}
	memcpy(t->text + t->used, text, bytes);
	t->used += bytes;
	t->text[t->used] = 0;
}

/* The struct that a member's type names, without brackets, or NULL. */
static const char *struct_of(const struct type_text *t, const char *type)
{
	size_t bytes = strcspn(type, "[");
	json_t *types = (json_t *)(uintptr_t)t->types->value;
	const char *name;
	json_t *value;

	json_object_foreach(types, name, value)
		if (strlen(name) == bytes && !memcmp(name, type, bytes))
			return name;
	return NULL;
}

static void collect(struct type_text *t, const char *name)
{
	for (uint32_t i = 0; i < t->count; i++)
		if (!strcmp(t->names[i], name))
			return;
	if (t->count == SR_SCHEMA_STRUCTS_MAX) {
		sr_node_fail(t->types, "expected at most %u structs", SR_SCHEMA_STRUCTS_MAX);
		return;
	}
	t->names[t->count++] = name;
}

/* All that the primary type reaches; the list grows while it is walked. */
static void collect_all(struct type_text *t, const char *primary)
{
	collect(t, primary);
	for (uint32_t i = 0; i < t->count && !t->types->reader->err; i++) {
		uint32_t count = sr_node_count(t->types, t->names[i], 0, SR_SCHEMA_MEMBERS_MAX);
		struct sr_node members = sr_node_get(t->types, t->names[i]);

		for (uint32_t j = 0; j < count; j++) {
			struct sr_node member = sr_node_item(&members, j);
			const char *type;

			sr_node_members(&member, "name type");
			type = struct_of(t, sr_node_text(&member, "type", SR_SCHEMA_NAME_BYTES));
			if (type)
				collect(t, type);
		}
	}
}

static int by_name(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

static void struct_put(struct type_text *t, const char *name)
{
	uint32_t count = sr_node_count(t->types, name, 0, SR_SCHEMA_MEMBERS_MAX);
	struct sr_node members = sr_node_get(t->types, name);

	text_put(t, name, strlen(name));
	text_put(t, "(", 1);
	for (uint32_t i = 0; i < count; i++) {
		struct sr_node member = sr_node_item(&members, i);
		const char *word = sr_node_text(&member, "type", SR_SCHEMA_NAME_BYTES);

		if (i)
			text_put(t, ",", 1);
		text_put(t, word, strlen(word));
		text_put(t, " ", 1);
		word = sr_node_text(&member, "name", SR_SCHEMA_NAME_BYTES);
		text_put(t, word, strlen(word));
	}
	text_put(t, ")", 1);
}

/* The primary type, then the others by name (EIP-712, "encodeType"). */
static void type_text_make(struct type_text *t, const struct sr_node *root)
{
	const char *primary = sr_node_text(root, "primaryType", SR_SCHEMA_NAME_BYTES);

	collect_all(t, primary);
	if (t->types->reader->err)
		return;
	qsort(t->names + 1, t->count - 1, sizeof t->names[0], by_name);
	for (uint32_t i = 0; i < t->count; i++)
		struct_put(t, t->names[i]);
}

/* ---- the domain ---- */

static const char *const domain_names[] = { "name", "version", "chainId", "verifyingContract",
					    "salt", NULL };

/* When the types list the domain's members too, they are those that are given, in
 * EIP-712's order: else wallets would hash another domain. */
static void domain_type_check(const struct sr_node *types, const struct sr_node *domain)
{
	struct sr_node list;
	uint32_t count, at = 0;

	if (!sr_node_has(types, "EIP712Domain"))
		return;
	count = sr_node_count(types, "EIP712Domain", 1, 5);
	list = sr_node_get(types, "EIP712Domain");
	for (unsigned int i = 0; domain_names[i]; i++) {
		struct sr_node item;

		if (!sr_node_has(domain, domain_names[i]))
			continue;
		item = sr_node_item(&list, at < count ? at : 0);
		if (at++ >= count ||
		    strcmp(sr_node_text(&item, "name", SR_SCHEMA_NAME_BYTES), domain_names[i]) != 0)
			sr_node_fail(&list, "expected the members of domain, in EIP-712's order");
	}
	if (at != count)
		sr_node_fail(&list, "expected the members of domain and no others");
}

struct domain_parts {
	struct sr_domain domain;
	unsigned char contract[SR_ADDRESS_BYTES];
	unsigned char salt[SR_WORD_BYTES];
	unsigned char separator[SR_WORD_BYTES];
};

static void domain_read(struct sr_schema_source *source, struct domain_parts *parts,
			const struct sr_node *root)
{
	struct sr_node types = sr_node_get(root, "types"), domain;
	unsigned char chain[32];

	if (sr_node_has(root, "domainSeparator")) {
		sr_node_hex(root, "domainSeparator", parts->separator, SR_WORD_BYTES);
		source->separator = parts->separator;
		return;
	}
	domain = sr_node_get(root, "domain");
	sr_node_members(&domain, "name version chainId verifyingContract salt");
	domain_type_check(&types, &domain);
	source->domain = &parts->domain;
	parts->domain.no_chain_id = true;
	if (sr_node_has(&domain, "name"))
		parts->domain.name = sr_node_text(&domain, "name", SR_SCHEMA_TYPE_BYTES);
	if (sr_node_has(&domain, "version"))
		parts->domain.version = sr_node_text(&domain, "version", SR_SCHEMA_TYPE_BYTES);
	if (sr_node_has(&domain, "chainId")) {
		sr_node_u256(&domain, "chainId", chain);
		if (!sr_all_zero(chain, 24))
			sr_node_fail(&domain, "chainId: expected less than 2^64");
		memcpy(&parts->domain.chain_id, chain + 24, 8);
		parts->domain.chain_id = __builtin_bswap64(parts->domain.chain_id);
		parts->domain.no_chain_id = false;
	}
	if (sr_node_has(&domain, "verifyingContract")) {
		sr_node_hex(&domain, "verifyingContract", parts->contract, SR_ADDRESS_BYTES);
		parts->domain.contract = parts->contract;
	}
	if (sr_node_has(&domain, "salt")) {
		sr_node_hex(&domain, "salt", parts->salt, SR_WORD_BYTES);
		parts->domain.salt = parts->salt;
	}
}

/* ---- the set ---- */

/* What tells one schema from another, as text; NULL without memory. */
static char *key_text(const struct sr_node *root)
{
	static const char *const names[] = { "types",           "primaryType", "domain",
					     "domainSeparator", "schema",      NULL };
	json_t *key = json_object();
	char *text;

	for (unsigned int i = 0; names[i]; i++) {
		json_t *value = json_object_get(root->value, names[i]);

		if (value)
			(void)json_object_set(key, names[i], value);
	}
	text = json_dumps(key, JSON_COMPACT);
	json_decref(key);
	return text;
}

/* What the manifest says of it and the body depends on. */
static void manifest_read(struct sr_schema_source *source, uint32_t own_id,
			  const struct sr_node *root)
{
	struct sr_node schema = sr_node_get(root, "schema");

	sr_node_members(&schema, "id nonce contractInBody abiMember abiType");
	source->id = sr_node_has(&schema, "id") ?
			     (uint32_t)sr_node_integer(&schema, "id", OWN_ID_FIRST - 1) :
			     own_id;
	if (sr_node_has(&schema, "nonce")) {
		source->roles[SR_ROLE_NONCE] = sr_node_text(&schema, "nonce", SR_SCHEMA_NAME_BYTES);
		source->nonce_kind = SR_NONCE_UNIQUE;
	}
	if (sr_node_has(&schema, "contractInBody"))
		source->contract_in_body = sr_node_flag(&schema, "contractInBody");
	if (sr_node_has(&schema, "abiMember")) {
		source->abi_member = sr_node_text(&schema, "abiMember", SR_SCHEMA_NAME_BYTES);
		source->abi_type = sr_node_text(&schema, "abiType", SR_SCHEMA_TYPE_BYTES);
	}
}

static void compile(struct sr_schema *schema, uint32_t own_id, const struct sr_node *root)
{
	struct sr_schema_source source = { .id = own_id, .kind = SR_KIND_ORDER };
	struct sr_node types = sr_node_get(root, "types");
	struct type_text text = { .types = &types };
	struct domain_parts parts = { .domain = { .name = NULL } };
	const char *why = "";

	type_text_make(&text, root);
	domain_read(&source, &parts, root);
	if (sr_node_has(root, "schema"))
		manifest_read(&source, own_id, root);
	source.types = text.text;
	if (!root->reader->err && sr_schema_compile(schema, &source, &why))
		sr_node_fail(&types, "%s", why);
}

static int room_make(struct sr_line_schemas *s)
{
	uint32_t room = s->room ? 2 * s->room : 8;
	struct sr_schema *list;
	char **texts;

	if (s->count < s->room)
		return 0;
	list = realloc(s->list, room * sizeof *list);
	if (!list)
		return -ENOMEM;
	s->list = list;
	texts = realloc(s->texts, room * sizeof *texts);
	if (!texts)
		return -ENOMEM;
	s->texts = texts;
	s->room = room;
	return 0;
}

int sr_line_schema(uint32_t *index, struct sr_line_schemas *s, const struct sr_node *root)
{
	char *key = key_text(root);

	if (!key || room_make(s)) {
		free(key);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < s->count; i++) {
		if (strcmp(s->texts[i], key) != 0)
			continue;
		free(key);
		*index = i;
		return 0;
	}
	compile(&s->list[s->count], OWN_ID_FIRST + s->count, root);
	for (uint32_t i = 0; !root->reader->err && i < s->count; i++)
		if (s->list[i].id == s->list[s->count].id)
			sr_node_fail(root, "schema.id: expected a number that no other types have");
	if (root->reader->err) {
		free(key);
		return root->reader->err;
	}
	s->texts[s->count] = key;
	*index = s->count++;
	return 0;
}

void sr_line_schemas_free(struct sr_line_schemas *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		free(s->texts[i]);
	free(s->texts);
	free(s->list);
	memset(s, 0, sizeof *s);
}
