/* SPDX-License-Identifier: MIT */
#include "sr_manifest_schema.h"

#include "sr_digits.h"
#include "sr_schema_set.h"

/* A schema as it is read: the source, and the texts that it points to. */
struct reading {
	struct sr_schema_source source;
	struct sr_domain domain;
	bool has_domain;
	char types[SR_SCHEMA_TYPE_BYTES + 1];
	char abi_member[SR_SCHEMA_NAME_BYTES + 1];
	char abi_type[SR_SCHEMA_TYPE_BYTES + 1];
	char roles[SR_ROLES][SR_SCHEMA_NAME_BYTES + 1];
	char name[SR_JSON_STRING_BYTES_MAX + 1];
	char version[SR_JSON_STRING_BYTES_MAX + 1];
	unsigned char contract[SR_ADDRESS_BYTES];
	unsigned char salt[SR_WORD_BYTES];
	unsigned char separator[SR_WORD_BYTES];
};

struct word {
	const char *text;
	uint32_t value;
};

static bool is(const struct sr_json_string *s, const char *word)
{
	return s->bytes == strlen(word) && !memcmp(s->data, word, s->bytes);
}

/* One of the words, of which the last is { NULL, 0 }. @expected: they, for people. */
static int take_word(struct sr_json *json, uint32_t *value, const struct word *words,
		     const char *expected)
{
	struct sr_json_string s;
	int ret = sr_json_string(json, &s);

	if (ret)
		return ret;
	for (; words->text; words++) {
		if (is(&s, words->text)) {
			*value = words->value;
			return 0;
		}
	}
	return sr_json_fail(json, "%s is expected", expected);
}

/* ---- the domain ---- */

static int domain_name(struct sr_json *json, void *to)
{
	struct reading *r = to;

	r->domain.name = r->name;
	return sr_json_copy(json, r->name, SR_JSON_STRING_BYTES_MAX);
}

static int domain_version(struct sr_json *json, void *to)
{
	struct reading *r = to;

	r->domain.version = r->version;
	return sr_json_copy(json, r->version, SR_JSON_STRING_BYTES_MAX);
}

static int domain_chain_id(struct sr_json *json, void *to)
{
	struct reading *r = to;

	r->domain.no_chain_id = false;
	return sr_json_number(json, &r->domain.chain_id, 0, UINT64_MAX);
}

static int domain_contract(struct sr_json *json, void *to)
{
	struct reading *r = to;
	struct sr_json_string s;
	int ret = sr_json_string(json, &s);

	if (ret)
		return ret;
	r->domain.contract = r->contract;
	r->source.contract_in_body = is(&s, "body");
	if (r->source.contract_in_body)
		return 0;
	if (s.bytes != 2 + 2 * SR_ADDRESS_BYTES || memcmp(s.data, "0x", 2) != 0 ||
	    sr_digits_get(r->contract, s.data + 2, SR_ADDRESS_BYTES))
		return sr_json_fail(json, "an address as \"0x...\" in lower case, or \"body\", is "
					  "expected");
	return 0;
}

static int domain_salt(struct sr_json *json, void *to)
{
	struct reading *r = to;

	r->domain.salt = r->salt;
	return sr_json_digits(json, r->salt, sizeof r->salt);
}

static int schema_domain(struct sr_json *json, void *to)
{
	static const struct sr_json_field fields[] = {
		{ "name", domain_name, false },
		{ "version", domain_version, false },
		{ "chain_id", domain_chain_id, false },
		{ "contract", domain_contract, false },
		{ "salt", domain_salt, false },
	};
	struct reading *r = to;

	r->has_domain = true;
	r->domain.no_chain_id = true;
	r->source.domain = &r->domain;
	return sr_json_object(json, SR_JSON_FIELDS(fields), r);
}

static int schema_separator(struct sr_json *json, void *to)
{
	struct reading *r = to;

	r->source.separator = r->separator;
	return sr_json_digits(json, r->separator, sizeof r->separator);
}

/* ---- the type ---- */

static int schema_type(struct sr_json *json, void *to)
{
	return sr_json_copy(json, ((struct reading *)to)->types, SR_SCHEMA_TYPE_BYTES);
}

static int abi_member(struct sr_json *json, void *to)
{
	return sr_json_copy(json, ((struct reading *)to)->abi_member, SR_SCHEMA_NAME_BYTES);
}

static int abi_type(struct sr_json *json, void *to)
{
	return sr_json_copy(json, ((struct reading *)to)->abi_type, SR_SCHEMA_TYPE_BYTES);
}

static int schema_abi(struct sr_json *json, void *to)
{
	static const struct sr_json_field fields[] = {
		{ "member", abi_member, true },
		{ "type", abi_type, true },
	};
	struct reading *r = to;

	r->source.abi_member = r->abi_member;
	r->source.abi_type = r->abi_type;
	return sr_json_object(json, SR_JSON_FIELDS(fields), r);
}

/* ---- what its members mean ---- */

static int take_role(struct sr_json *json, struct reading *r, enum sr_role role)
{
	r->source.roles[role] = r->roles[role];
	return sr_json_copy(json, r->roles[role], SR_SCHEMA_NAME_BYTES);
}

#define ROLE_FIELD(name, role)                                           \
	static int role_##name(struct sr_json *json, void *to)           \
	{                                                                \
		return take_role(json, to, role);                        \
	}
ROLE_FIELD(asset, SR_ROLE_ASSET)
ROLE_FIELD(side, SR_ROLE_SIDE)
ROLE_FIELD(price, SR_ROLE_PRICE)
ROLE_FIELD(size, SR_ROLE_SIZE)
ROLE_FIELD(nonce, SR_ROLE_NONCE)
ROLE_FIELD(expiry, SR_ROLE_EXPIRY)
ROLE_FIELD(account, SR_ROLE_ACCOUNT)
ROLE_FIELD(destination, SR_ROLE_DESTINATION)
ROLE_FIELD(fee_to, SR_ROLE_FEE_TO)
ROLE_FIELD(fee, SR_ROLE_FEE)
ROLE_FIELD(value, SR_ROLE_VALUE)
ROLE_FIELD(network, SR_ROLE_NETWORK)

static int schema_roles(struct sr_json *json, void *to)
{
	static const struct sr_json_field fields[] = {
		{ "asset", role_asset, false },
		{ "side", role_side, false },
		{ "price", role_price, false },
		{ "size", role_size, false },
		{ "nonce", role_nonce, false },
		{ "expiry", role_expiry, false },
		{ "account", role_account, false },
		{ "destination", role_destination, false },
		{ "fee_to", role_fee_to, false },
		{ "fee", role_fee, false },
		{ "value", role_value, false },
		{ "network", role_network, false },
	};

	return sr_json_object(json, SR_JSON_FIELDS(fields), to);
}

static int schema_id(struct sr_json *json, void *to)
{
	uint64_t id;
	int ret = sr_json_number(json, &id, 1, SR_SCHEMA_ID_MAX);

	if (!ret)
		((struct reading *)to)->source.id = (uint32_t)id;
	return ret;
}

static int schema_kind(struct sr_json *json, void *to)
{
	char name[SR_JSON_STRING_BYTES_MAX + 1];
	struct reading *r = to;
	int ret = sr_json_copy(json, name, SR_JSON_STRING_BYTES_MAX);

	if (ret)
		return ret;
	r->source.kind = sr_kind_from_name(name);
	return r->source.kind == SR_KIND_NONE ?
		       sr_json_fail(json, "there is no kind \"%s\"", name) :
		       0;
}

static int schema_network(struct sr_json *json, void *to)
{
	static const struct word words[] = { { "mainnet", false }, { "testnet", true }, { NULL, 0 } };
	uint32_t testnet;
	int ret = take_word(json, &testnet, words, "\"mainnet\" or \"testnet\"");

	if (!ret)
		((struct reading *)to)->source.testnet = testnet;
	return ret;
}

static int schema_nonce_kind(struct sr_json *json, void *to)
{
	static const struct word words[] = { { "time_ms", SR_NONCE_TIME_MS },
					     { "sequence", SR_NONCE_SEQUENCE },
					     { "unique", SR_NONCE_UNIQUE },
					     { NULL, 0 } };
	uint32_t kind;
	int ret = take_word(json, &kind, words, "\"time_ms\", \"sequence\" or \"unique\"");

	if (!ret)
		((struct reading *)to)->source.nonce_kind = (enum sr_nonce_kind)kind;
	return ret;
}

static int schema_side_inverted(struct sr_json *json, void *to)
{
	return sr_json_flag(json, &((struct reading *)to)->source.side_inverted);
}

static int take_decimals(struct sr_json *json, int8_t *decimals)
{
	uint64_t v;
	int ret = sr_json_number(json, &v, 0, SR_DECIMALS_MAX);

	if (!ret)
		*decimals = (int8_t)v;
	return ret;
}

static int schema_price_decimals(struct sr_json *json, void *to)
{
	return take_decimals(json, &((struct reading *)to)->source.price_decimals);
}

static int schema_size_decimals(struct sr_json *json, void *to)
{
	return take_decimals(json, &((struct reading *)to)->source.size_decimals);
}

static int schema_value_decimals(struct sr_json *json, void *to)
{
	return take_decimals(json, &((struct reading *)to)->source.value_decimals);
}

static int schema_expiry_unit(struct sr_json *json, void *to)
{
	static const struct word words[] = {
		{ "s", 1 }, { "ms", 1000 }, { "ns", 1000000000 }, { NULL, 0 }
	};

	return take_word(json, &((struct reading *)to)->source.expiry_per_s, words,
			 "\"s\", \"ms\" or \"ns\"");
}

static int schema_expiry_bits(struct sr_json *json, void *to)
{
	uint64_t bits;
	int ret = sr_json_number(json, &bits, 1, 64);

	if (!ret)
		((struct reading *)to)->source.expiry_mask = UINT64_MAX >> (64 - bits);
	return ret;
}

/* ---- the whole ---- */

/* What the compiler does not ask, and policy needs. */
static int judge_roles(struct sr_json *json, const struct sr_schema_source *source)
{
	bool trades = source->kind == SR_KIND_ORDER || source->kind == SR_KIND_MODIFY;
	bool moves = source->kind == SR_KIND_TRANSFER || source->kind == SR_KIND_WITHDRAW ||
		     source->kind == SR_KIND_CALL;
	bool names = source->kind == SR_KIND_TRANSFER || source->kind == SR_KIND_WITHDRAW ||
		     source->kind == SR_KIND_APPROVE;

	if ((source->roles[SR_ROLE_NONCE] != NULL) != (source->nonce_kind != SR_NONCE_NONE))
		return sr_json_fail(json, "a nonce's role and nonce_kind come together");
	if (trades && !source->roles[SR_ROLE_SIZE])
		return sr_json_fail(json, "what trades needs the role of size");
	if (trades && !source->roles[SR_ROLE_ASSET] && (!source->domain || !source->domain->contract))
		return sr_json_fail(json, "what trades needs the role of asset, or a contract that "
					  "stands for it");
	if (names && !source->roles[SR_ROLE_DESTINATION])
		return sr_json_fail(json, "what transfers, withdraws or approves needs the role of "
					  "destination");
	if (moves && !source->roles[SR_ROLE_VALUE])
		return sr_json_fail(json, "what transfers, withdraws or calls needs the role of "
					  "value");
	return 0;
}

static int compile(struct sr_json *json, struct sr_schema *schema, const struct reading *r,
		   const struct sr_schema_set *before)
{
	const char *why = "";

	if (r->has_domain == (r->source.separator != NULL))
		return sr_json_fail(json, "either domain or separator is expected");
	if (sr_schema_find(before, r->source.id))
		return sr_json_fail(json, "schema %u is there already", r->source.id);
	if (judge_roles(json, &r->source))
		return -EBADMSG;
	if (sr_schema_compile(schema, &r->source, &why))
		return sr_json_fail(json, "%s", why);
	for (uint32_t i = 0; i < before->count; i++)
		if (sr_schema_overlaps(schema, &before->schemas[i]))
			return sr_json_fail(json, "schema %u signs the same type in the same domain",
					    before->schemas[i].id);
	return 0;
}

int sr_manifest_schema_take(struct sr_json *json, struct sr_schema *schema,
			    const struct sr_schema_set *before)
{
	static const struct sr_json_field fields[] = {
		{ "id", schema_id, true },
		{ "kind", schema_kind, true },
		{ "network", schema_network, true },
		{ "type", schema_type, true },
		{ "domain", schema_domain, false },
		{ "separator", schema_separator, false },
		{ "abi", schema_abi, false },
		{ "roles", schema_roles, false },
		{ "nonce_kind", schema_nonce_kind, false },
		{ "side_inverted", schema_side_inverted, false },
		{ "price_decimals", schema_price_decimals, false },
		{ "size_decimals", schema_size_decimals, false },
		{ "value_decimals", schema_value_decimals, false },
		{ "expiry_unit", schema_expiry_unit, false },
		{ "expiry_bits", schema_expiry_bits, false },
	};
	struct reading r = { .source = { .price_decimals = SR_DECIMALS_BY_ASSET,
					 .size_decimals = SR_DECIMALS_BY_ASSET } };
	int ret;

	r.source.types = r.types;
	ret = sr_json_object(json, SR_JSON_FIELDS(fields), &r);
	return ret ? ret : compile(json, schema, &r, before);
}
