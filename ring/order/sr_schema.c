/* SPDX-License-Identifier: MIT */
#include "sr_schema.h"

#include "sr_eip712.h"
#include "sr_venue.h"

/* A definition "Name(type name,...)" in the source's text. */
struct definition {
	const char *text; /* from the name */
	size_t bytes;     /* to the bracket that closes it */
	size_t name_bytes;
};

struct compiler {
	struct sr_schema *schema;
	struct definition definitions[SR_SCHEMA_STRUCTS_MAX];
	const char *why;
};

static int fail(struct compiler *c, const char *why)
{
	c->why = why;
	return -EINVAL;
}

static bool is_name(char ch)
{
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
	       ch == '_' || ch == '$' || ch == ':';
}

/* Cuts a text into definitions; each becomes a struct without members yet. */
static int cut(struct compiler *c, const char *text, bool abi)
{
	struct sr_schema *schema = c->schema;

	if (strlen(text) > SR_SCHEMA_TYPE_BYTES)
		return fail(c, "a type longer than 2048 characters");
	while (*text) {
		struct definition *def = &c->definitions[schema->struct_count];
		struct sr_struct_type *type = &schema->structs[schema->struct_count];
		const char *at = text;

		if (schema->struct_count == SR_SCHEMA_STRUCTS_MAX)
			return fail(c, "more than 8 structs");
		while (is_name(*at))
			at++;
		def->text = text;
		def->name_bytes = (size_t)(at - text);
		if (!def->name_bytes || def->name_bytes > SR_SCHEMA_NAME_BYTES || *at != '(')
			return fail(c, "a type is Name(type name,...), its name of 1 to 64 characters");
		while (*at && *at != ')')
			at++;
		if (!*at)
			return fail(c, "a type without its closing bracket");
		text = at + 1;
		def->bytes = (size_t)(text - def->text);
		memset(type, 0, sizeof *type);
		type->abi = abi;
		type->name_bytes = (uint8_t)def->name_bytes;
		memcpy(type->name, def->text, def->name_bytes);
		schema->struct_count++;
	}
	return 0;
}

/* Digits of uintN, bytesN, [N]; 0 when there are none or too many. */
static unsigned int number(const char **at, unsigned int most)
{
	unsigned int v = 0;

	while (**at >= '0' && **at <= '9' && v <= most)
		v = v * 10 + (unsigned int)(*(*at)++ - '0');
	return v <= most ? v : 0;
}

static bool starts(const char *at, size_t bytes, const char *word)
{
	return bytes >= strlen(word) && !memcmp(at, word, strlen(word));
}

static int struct_named(const struct compiler *c, const char *name, size_t bytes)
{
	for (unsigned int i = 0; i < c->schema->struct_count; i++)
		if (!c->schema->structs[i].abi && c->definitions[i].name_bytes == bytes &&
		    !memcmp(c->definitions[i].text, name, bytes))
			return (int)i;
	return -1;
}

static bool integer(struct sr_member *member, const char *digits, const char *end,
		    enum sr_member_kind kind)
{
	unsigned int bits = number(&digits, 256);

	member->kind = (uint8_t)kind;
	member->bytes = (uint8_t)(bits / 8);
	return bits && bits % 8 == 0 && digits == end;
}

static int base_type(struct compiler *c, struct sr_member *member, const char *at, size_t bytes)
{
	const char *end = at + bytes;
	int type = struct_named(c, at, bytes);

	if (type >= 0) {
		member->kind = SR_MEMBER_STRUCT;
		member->type = (uint8_t)type;
	} else if (bytes == 4 && starts(at, bytes, "bool")) {
		member->kind = SR_MEMBER_BOOL;
		member->bytes = 1;
	} else if (bytes == 7 && starts(at, bytes, "address")) {
		member->kind = SR_MEMBER_ADDRESS;
		member->bytes = SR_ADDRESS_BYTES;
	} else if (bytes == 6 && starts(at, bytes, "string")) {
		member->kind = SR_MEMBER_STRING;
	} else if (bytes == 5 && starts(at, bytes, "bytes")) {
		member->kind = SR_MEMBER_BYTES;
	} else if (starts(at, bytes, "bytes")) {
		at += 5;
		member->kind = SR_MEMBER_FIXED;
		member->bytes = (uint8_t)number(&at, SR_WORD_BYTES);
		if (!member->bytes || at != end)
			return fail(c, "bytes are of 1 to 32");
	} else if (starts(at, bytes, "uint") && integer(member, at + 4, end, SR_MEMBER_UINT)) {
		return 0;
	} else if (starts(at, bytes, "int") && integer(member, at + 3, end, SR_MEMBER_INT)) {
		return 0;
	} else {
		return fail(c, "a member of a type that is neither EIP-712's nor defined");
	}
	return 0;
}

/* "type name", "type[] name", "type[4] name": up to a comma or the bracket. */
static int member_parse(struct compiler *c, const char **text)
{
	struct sr_schema *schema = c->schema;
	struct sr_member *member = &schema->members[schema->member_count];
	const char *at = *text, *type = at, *name;

	if (schema->member_count == SR_SCHEMA_MEMBERS_MAX)
		return fail(c, "more than 48 members");
	memset(member, 0, sizeof *member);
	while (is_name(*at))
		at++;
	if (base_type(c, member, type, (size_t)(at - type)))
		return -EINVAL;
	if (*at == '[') {
		at++;
		member->array = true;
		if (*at != ']') {
			member->count = (uint16_t)number(&at, SR_SCHEMA_ARRAY_MAX);
			if (!member->count)
				return fail(c, "an array has 1 to 128 elements");
		}
		if (*at++ != ']')
			return fail(c, "an array of more than one dimension");
	}
	if (*at++ != ' ')
		return fail(c, "a member is a type, one blank and a name");
	name = at;
	while (is_name(*at))
		at++;
	member->name_bytes = (uint8_t)(at - name);
	if (at == name || at - name > (int)SR_SCHEMA_NAME_BYTES || (*at != ',' && *at != ')'))
		return fail(c, "a member's name has 1 to 64 characters");
	memcpy(member->name, name, member->name_bytes);
	schema->member_count++;
	*text = at;
	return 0;
}

static int members_parse(struct compiler *c, unsigned int index)
{
	struct sr_struct_type *type = &c->schema->structs[index];
	const char *at = c->definitions[index].text + c->definitions[index].name_bytes;

	type->first = c->schema->member_count;
	do {
		at++;
		if (member_parse(c, &at))
			return -EINVAL;
		type->count++;
	} while (*at == ',');
	return 0;
}

/* Marks what a struct refers to; -EINVAL when it nests too deeply, or in itself. */
static int referred(struct compiler *c, unsigned int index, unsigned int depth, bool *used)
{
	const struct sr_struct_type *type = &c->schema->structs[index];

	if (depth == SR_SCHEMA_DEPTH_MAX)
		return fail(c, "structs nest more than 4 deep");
	used[index] = true;
	for (unsigned int i = 0; i < type->count; i++) {
		const struct sr_member *member = &c->schema->members[type->first + i];

		if (member->kind == SR_MEMBER_STRUCT && referred(c, member->type, depth + 1, used))
			return -EINVAL;
	}
	return 0;
}

static bool before(const struct definition *a, const struct definition *b)
{
	size_t bytes = a->name_bytes < b->name_bytes ? a->name_bytes : b->name_bytes;
	int order = memcmp(a->text, b->text, bytes);

	return order ? order < 0 : a->name_bytes < b->name_bytes;
}

/* encodeType: the struct, then what it refers to, sorted by name. */
static int type_hash(struct compiler *c, unsigned int index)
{
	unsigned char text[SR_SCHEMA_TYPE_BYTES];
	struct sr_out out = sr_out_over(text, sizeof text);
	bool used[SR_SCHEMA_STRUCTS_MAX] = { false };
	unsigned int next = index;

	if (referred(c, index, 0, used))
		return -EINVAL;
	while (next < c->schema->struct_count) {
		sr_out_bytes(&out, c->definitions[next].text, c->definitions[next].bytes);
		used[next] = false;
		next = c->schema->struct_count;
		for (unsigned int i = 0; i < c->schema->struct_count; i++)
			if (used[i] && (next == c->schema->struct_count ||
					before(&c->definitions[i], &c->definitions[next])))
				next = i;
	}
	sr_keccak256(c->schema->structs[index].hash, text, out.used);
	return 0;
}

static int member_named(const struct sr_schema *schema, const char *name)
{
	for (unsigned int i = 0; i < schema->member_count; i++)
		if (schema->members[i].name_bytes == strlen(name) &&
		    !memcmp(schema->members[i].name, name, strlen(name)))
			return (int)i;
	return -1;
}

static int abi_compile(struct compiler *c, const struct sr_schema_source *source)
{
	struct sr_schema *schema = c->schema;
	unsigned int index = schema->struct_count;
	int at;

	if (!source->abi_member)
		return 0;
	at = member_named(schema, source->abi_member);
	if (at < 0 || at >= schema->structs[0].count ||
	    schema->members[at].kind != SR_MEMBER_BYTES || schema->members[at].array ||
	    !source->abi_type)
		return fail(c, "abi_member is no bytes member of the primary type");
	if (cut(c, source->abi_type, true))
		return -EINVAL;
	if (schema->struct_count != index + 1)
		return fail(c, "abi_type is one struct");
	if (members_parse(c, index))
		return -EINVAL;
	for (unsigned int i = 0; i < schema->structs[index].count; i++) {
		const struct sr_member *member =
			&schema->members[schema->structs[index].first + i];

		if (member->kind > SR_MEMBER_FIXED || member->array)
			return fail(c, "abi_type has words only");
	}
	schema->members[at].kind = SR_MEMBER_ABI;
	schema->members[at].type = (uint8_t)index;
	return 0;
}

/* A role's member has one place: in the primary type, or in a struct that it has once. */
static bool has_one_place(const struct sr_schema *schema, unsigned int at)
{
	const struct sr_struct_type *primary = &schema->structs[0];
	unsigned int type = 0, places = 0;

	while (at >= (unsigned int)schema->structs[type].first + schema->structs[type].count)
		type++;
	if (type == 0 || schema->structs[type].abi)
		return true;
	for (unsigned int i = 0; i < schema->member_count; i++) {
		const struct sr_member *member = &schema->members[i];

		if (member->kind != SR_MEMBER_STRUCT || member->type != type)
			continue;
		if (member->array || i >= primary->count)
			return false;
		places++;
	}
	return places == 1;
}

#define KIND(kind) (1u << SR_MEMBER_##kind)

static int roles_compile(struct compiler *c, const struct sr_schema_source *source)
{
	static const unsigned int party = KIND(ADDRESS) | KIND(FIXED) | KIND(UINT) | KIND(BYTES) |
					  KIND(STRING);
	static const unsigned int kinds[SR_ROLES] = {
		[SR_ROLE_ASSET] = KIND(UINT) | KIND(ADDRESS) | KIND(FIXED),
		[SR_ROLE_SIDE] = KIND(BOOL) | KIND(UINT) | KIND(STRING),
		[SR_ROLE_PRICE] = KIND(UINT) | KIND(INT),
		[SR_ROLE_SIZE] = KIND(UINT) | KIND(INT),
		[SR_ROLE_NONCE] = KIND(UINT),
		[SR_ROLE_EXPIRY] = KIND(UINT),
		[SR_ROLE_ACCOUNT] = party,
		[SR_ROLE_DESTINATION] = party,
		[SR_ROLE_FEE_TO] = party,
		[SR_ROLE_FEE] = KIND(UINT),
		[SR_ROLE_VALUE] = KIND(UINT) | KIND(STRING),
		[SR_ROLE_NETWORK] = KIND(STRING),
	};
	struct sr_schema *schema = c->schema;

	for (unsigned int role = 0; role < SR_ROLES; role++) {
		int at = -1;

		if (source->roles[role]) {
			at = member_named(schema, source->roles[role]);
			if (at < 0)
				return fail(c, "a role names a member that is not there");
			if (!(1u << schema->members[at].kind & kinds[role]) ||
			    schema->members[at].array)
				return fail(c, "a role names a member of another kind");
			if (!has_one_place(schema, (unsigned int)at))
				return fail(c, "a role names a member that is there more than once");
		}
		schema->roles[role] = (int8_t)at;
	}
	/* Its value is the head's: nothing else could be read from the message. */
	for (unsigned int role = 0; role < SR_ROLES; role++)
		if (role != SR_ROLE_NONCE && schema->roles[role] >= 0 &&
		    schema->roles[role] == schema->roles[SR_ROLE_NONCE])
			return fail(c, "the member that is the nonce has another role");
	return 0;
}

/* The words of the domain, its contract last as EIP-712 has it. */
static int domain_compile(struct compiler *c, const struct sr_schema_source *source)
{
	const struct sr_domain *domain = source->domain;
	struct sr_schema *schema = c->schema;

	if (!domain) {
		if (!source->separator || source->contract_in_body)
			return fail(c, "a domain or its separator is missing");
		memcpy(schema->separator, source->separator, SR_WORD_BYTES);
		schema->by_separator = true;
	} else {
		if (!domain->name && !domain->version && domain->no_chain_id &&
		    !domain->contract && !domain->salt)
			return fail(c, "a domain without a member");
		if (source->contract_in_body &&
		    (!domain->name || !domain->version || domain->no_chain_id ||
		     !domain->contract || domain->salt))
			return fail(c, "a contract in the body needs name, version, chain, no salt");
		sr_domain_separator(schema->separator, domain);
		schema->chain_id = domain->no_chain_id ? 0 : domain->chain_id;
		schema->has_contract = domain->contract != NULL;
		if (domain->contract)
			memcpy(schema->contract, domain->contract, SR_ADDRESS_BYTES);
	}
	if (sr_venue_claims(schema->separator))
		return fail(c, "this domain belongs to a venue that has a type of its own");

	schema->contract_in_body = source->contract_in_body;
	if (source->contract_in_body) {
		struct sr_out out = sr_out_over(schema->domain, sizeof schema->domain);
		static const char type[] = "EIP712Domain(string name,string version,"
					   "uint256 chainId,address verifyingContract)";

		sr_word_text(&out, type, sizeof type - 1);
		sr_word_text(&out, domain->name, strlen(domain->name));
		sr_word_text(&out, domain->version, strlen(domain->version));
		sr_word_u64(&out, domain->chain_id);
		schema->domain_words = (uint8_t)(out.used / SR_WORD_BYTES);
	}
	return 0;
}

static int compile(struct compiler *c, const struct sr_schema_source *source)
{
	struct sr_schema *schema = c->schema;
	unsigned int structs;

	if (source->kind <= SR_KIND_NONE || source->kind > SR_KIND_MESSAGE)
		return fail(c, "a schema says what signing it does: its kind");
	if (cut(c, source->types, false))
		return -EINVAL;
	structs = schema->struct_count;
	if (!structs)
		return fail(c, "no type");
	for (unsigned int i = 0; i < structs; i++)
		if (struct_named(c, c->definitions[i].text, c->definitions[i].name_bytes) != (int)i)
			return fail(c, "two structs of one name");
	for (unsigned int i = 0; i < structs; i++)
		if (members_parse(c, i))
			return -EINVAL;
	for (unsigned int i = 0; i < structs; i++)
		if (type_hash(c, i))
			return -EINVAL;
	if (abi_compile(c, source) || roles_compile(c, source))
		return -EINVAL;
	return domain_compile(c, source);
}

int sr_schema_compile(struct sr_schema *schema, const struct sr_schema_source *source,
		      const char **why)
{
	struct compiler c = { .schema = schema };
	int ret;

	memset(schema, 0, sizeof *schema);
	schema->id = source->id;
	schema->kind = (uint8_t)source->kind;
	schema->testnet = source->testnet;
	schema->side_inverted = source->side_inverted;
	schema->nonce_kind = (uint8_t)source->nonce_kind;
	schema->price_decimals = source->price_decimals;
	schema->size_decimals = source->size_decimals;
	schema->value_decimals = source->value_decimals;
	schema->expiry_per_s = source->expiry_per_s ? source->expiry_per_s : 1;
	schema->expiry_mask = source->expiry_mask ? source->expiry_mask : UINT64_MAX;
	ret = compile(&c, source);
	if (ret)
		*why = c.why;
	return ret;
}

const char *sr_role_name(enum sr_role role)
{
	static const char *const names[SR_ROLES] = {
		[SR_ROLE_ASSET] = "asset",	   [SR_ROLE_SIDE] = "side",
		[SR_ROLE_PRICE] = "price",	   [SR_ROLE_SIZE] = "size",
		[SR_ROLE_NONCE] = "nonce",	   [SR_ROLE_EXPIRY] = "expiry",
		[SR_ROLE_ACCOUNT] = "account",	   [SR_ROLE_DESTINATION] = "destination",
		[SR_ROLE_FEE_TO] = "fee_to",	   [SR_ROLE_FEE] = "fee",
		[SR_ROLE_VALUE] = "value",	   [SR_ROLE_NETWORK] = "network",
	};

	return role < SR_ROLES ? names[role] : "unassigned role";
}
