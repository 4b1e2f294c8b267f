/* SPDX-License-Identifier: MIT */
#include "sr_manifest.h"

#include "sr_json.h"
#include "sr_manifest_policy.h"
#include "sr_manifest_schema.h"
#include "sr_schema_set.h"
#include "sr_type.h"

#define FORMAT 1u

/* With the zero byte. */
static const char label[] = "sigring manifest";

/* Where the parser is. */
struct parse {
	struct sr_manifest *manifest;
	size_t names_at[SR_MANIFEST_KEYS_MAX]; /* of a key's identities; 0: it has none */
	size_t policy_at[SR_MANIFEST_KEYS_MAX];
};

static struct parse *parse_of(const struct sr_json *json)
{
	return json->context;
}

static struct sr_manifest *manifest_of(const struct sr_json *json)
{
	return parse_of(json)->manifest;
}

/* Of the key that is being read. */
static struct sr_policy_rules *rules_of(const struct sr_json *json)
{
	struct sr_manifest *manifest = manifest_of(json);

	return &manifest->policy.rules[manifest->key_count];
}

/* ---- identities ---- */

static int take_name(struct sr_json *json, struct sr_json_string *name)
{
	static const char alphabet[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "0123456789._-";
	int ret = sr_json_string(json, name);

	if (ret)
		return ret;
	if (name->bytes == 0 || name->bytes > SR_MANIFEST_NAME_MAX)
		return sr_json_fail(json, "a name has 1 to %u characters", SR_MANIFEST_NAME_MAX);
	for (size_t i = 0; i < name->bytes; i++)
		if (!memchr(alphabet, name->data[i], sizeof alphabet - 1))
			return sr_json_fail(json, "a name has letters, digits, '.', '_' and '-'");
	return 0;
}

static int find_name(const struct sr_manifest *manifest, const struct sr_json_string *name)
{
	for (uint32_t i = 0; i < manifest->identity_count; i++)
		if (strlen(manifest->identities[i].name) == name->bytes &&
		    !memcmp(manifest->identities[i].name, name->data, name->bytes))
			return (int)i;
	return -ENOENT;
}

static int identity_name(struct sr_json *json, void *to)
{
	struct sr_manifest_identity *identity = to;
	struct sr_json_string name;
	int ret = take_name(json, &name);

	if (ret)
		return ret;
	if (find_name(manifest_of(json), &name) >= 0)
		return sr_json_fail(json, "identity \"%.*s\" is there already", (int)name.bytes, name.data);
	memcpy(identity->name, name.data, name.bytes);
	return 0;
}

static int identity_pub(struct sr_json *json, void *to)
{
	struct sr_manifest_identity *identity = to;
	int ret = sr_json_digits(json, identity->pub, sizeof identity->pub);

	if (ret)
		return ret;
	if (sr_manifest_identity_find(manifest_of(json), identity->pub) >= 0)
		return sr_json_fail(json, "this key is another identity's already");
	return 0;
}

static int take_identity(struct sr_json *json, void *to)
{
	static const struct sr_json_field fields[] = {
		{ "name", identity_name, true },
		{ "public_key", identity_pub, true },
	};
	struct sr_manifest *manifest = to;
	int ret;

	if (manifest->identity_count == SR_MANIFEST_IDENTITIES_MAX)
		return sr_json_fail(json, "more than %u identities", SR_MANIFEST_IDENTITIES_MAX);
	ret = sr_json_object(json, SR_JSON_FIELDS(fields), &manifest->identities[manifest->identity_count]);
	if (!ret)
		manifest->identity_count++;
	return ret;
}

/* ---- keys ---- */

static int key_id(struct sr_json *json, void *to)
{
	struct sr_manifest_key *key = to;
	uint64_t id;
	int ret = sr_json_number(json, &id, 1, UINT32_MAX);

	if (ret)
		return ret;
	if (sr_manifest_key_find(manifest_of(json), (uint32_t)id) >= 0)
		return sr_json_fail(json, "key %u is there already", (uint32_t)id);
	key->id = (uint32_t)id;
	return 0;
}

/* One key under two ids would have two policies. */
static int key_pubkey(struct sr_json *json, void *to)
{
	struct sr_manifest_key *key = to;
	int ret = sr_json_digits(json, key->pubkey, sizeof key->pubkey);

	if (ret)
		return ret;
	if (key->pubkey[0] != 0x02 && key->pubkey[0] != 0x03)
		return sr_json_fail(json, "a compressed public key begins with 02 or 03");
	for (uint32_t i = 0; i < manifest_of(json)->key_count; i++)
		if (manifest_of(json)->keys[i].has_pubkey &&
		    !memcmp(manifest_of(json)->keys[i].pubkey, key->pubkey, sizeof key->pubkey))
			return sr_json_fail(json, "this is the public key of key %u already",
				    manifest_of(json)->keys[i].id);
	key->has_pubkey = true;
	return 0;
}

static int key_nonce(struct sr_json *json, void *to)
{
	struct sr_manifest_key *key = to;
	struct sr_json_string s;
	int ret = sr_json_string(json, &s), mode;

	if (ret)
		return ret;
	mode = sr_nonce_from_name(s.data, s.bytes);
	if (mode < 0)
		return sr_json_fail(json, "nonce wants " SR_NONCE_MODES);
	key->nonce_mode = (uint32_t)mode;
	return 0;
}

static int permit_item(struct sr_json *json, void *to)
{
	struct sr_policy_rules *rules = rules_of(json);
	struct sr_manifest_key *key = to;
	char name[SR_JSON_STRING_BYTES_MAX + 1];
	struct sr_json_string s;
	uint32_t type;
	int ret = sr_json_string(json, &s);

	if (ret)
		return ret;
	memcpy(name, s.data, s.bytes);
	name[s.bytes] = '\0';
	if (strchr(name, '/')) {
		ret = sr_manifest_permit(json, rules, name);
	} else {
		type = sr_type_from_name(name);
		if (type == 0)
			return sr_json_fail(json, "there is no type \"%s\" to permit", name);
		if (key->permissions & (1u << type))
			return sr_json_fail(json, "type \"%s\" is repeated", name);
		key->permissions |= 1u << type;
	}
	key->typed = sr_policy_rules_typed(rules);
	if (!ret && key->permissions && key->typed)
		return sr_json_fail(json, "what signs blindly could sign any typed order: a key "
					  "has either blind types or typed ones");
	return ret;
}

static int key_permit(struct sr_json *json, void *to)
{
	return sr_json_array(json, permit_item, to);
}

/* Read for its form now, and again when all identities are known. */
static int name_form(struct sr_json *json, void *to)
{
	struct sr_json_string name;

	(void)to;
	return take_name(json, &name);
}

static int key_identities(struct sr_json *json, void *to)
{
	parse_of(json)->names_at[manifest_of(json)->key_count] = json->at;
	return sr_json_array(json, name_form, to);
}

static int uid_item(struct sr_json *json, void *to)
{
	struct sr_manifest_key *key = to;
	uint64_t uid;
	/* 2^32-1 is no user: it is what chown(2) takes for "leave it". */
	int ret = sr_json_number(json, &uid, 0, UINT32_MAX - 1);

	if (ret)
		return ret;
	for (uint32_t i = 0; i < key->uid_count; i++)
		if (key->uids[i] == uid)
			return sr_json_fail(json, "this uid is repeated");
	if (key->uid_count == SR_KEY_UIDS_MAX)
		return sr_json_fail(json, "a key has at most %u unsealed users", SR_KEY_UIDS_MAX);
	key->uids[key->uid_count++] = (uint32_t)uid;
	return 0;
}

static int key_uids(struct sr_json *json, void *to)
{
	return sr_json_array(json, uid_item, to);
}

static int key_policy(struct sr_json *json, void *to)
{
	(void)to;
	parse_of(json)->policy_at[manifest_of(json)->key_count] = json->at;
	return sr_manifest_policy_take(json, &manifest_of(json)->policy, rules_of(json));
}

static int take_key(struct sr_json *json, void *to)
{
	static const struct sr_json_field fields[] = {
		{ "id", key_id, true },
		{ "public_key", key_pubkey, false },
		{ "nonce", key_nonce, false },
		{ "permit", key_permit, false },
		{ "identities", key_identities, false },
		{ "unsealed_uids", key_uids, false },
		{ "policy", key_policy, false },
	};
	struct sr_manifest *manifest = to;
	struct sr_manifest_key *key;
	int ret;

	if (manifest->key_count == SR_MANIFEST_KEYS_MAX)
		return sr_json_fail(json, "more than %u keys", SR_MANIFEST_KEYS_MAX);
	key = &manifest->keys[manifest->key_count];
	key->nonce_mode = SR_NONCE_HEDGED;
	ret = sr_json_object(json, SR_JSON_FIELDS(fields), key);
	if (ret)
		return ret;
	rules_of(json)->key = key->id;
	manifest->policy.count = ++manifest->key_count;
	return 0;
}

static int name_item(struct sr_json *json, void *to)
{
	struct sr_manifest_key *key = to;
	struct sr_json_string name;
	int index, ret = take_name(json, &name);

	if (ret)
		return ret;
	index = find_name(manifest_of(json), &name);
	if (index < 0)
		return sr_json_fail(json, "there is no identity \"%.*s\"", (int)name.bytes, name.data);
	if (key->identities >> index & 1)
		return sr_json_fail(json, "identity \"%.*s\" is repeated", (int)name.bytes, name.data);
	key->identities |= UINT64_C(1) << index;
	return 0;
}

/* Fields come in any order, so names are looked up behind the last of them. */
static int resolve_names(struct sr_json *json)
{
	const size_t *names_at = parse_of(json)->names_at;
	int ret = 0;

	for (uint32_t i = 0; i < manifest_of(json)->key_count && !ret; i++) {
		json->at = names_at[i];
		if (!json->at)
			continue;
		json->depth = 0;
		sr_json_push(json, "keys", 0);
		sr_json_push(json, NULL, i);
		sr_json_push(json, "identities", 0);
		ret = sr_json_array(json, name_item, &manifest_of(json)->keys[i]);
	}
	return ret;
}

/* ---- schemas ---- */

static int schema_item(struct sr_json *json, void *to)
{
	struct sr_manifest *manifest = to;
	struct sr_schema_set before = { manifest->schemas, manifest->schema_count };
	int ret;

	if (manifest->schema_count == SR_POLICY_SCHEMAS_MAX)
		return sr_json_fail(json, "more than %u schemas", SR_POLICY_SCHEMAS_MAX);
	ret = sr_manifest_schema_take(json, &manifest->schemas[manifest->schema_count], &before);
	if (!ret)
		manifest->schema_count++;
	return ret;
}

/* As names: they may stand behind the keys. */
static int resolve_schemas(struct sr_json *json)
{
	const struct sr_manifest *manifest = manifest_of(json);
	const struct sr_schema_set set = { manifest->schemas, manifest->schema_count };

	for (uint32_t i = 0; i < manifest->key_count; i++) {
		const struct sr_policy_rules *rules = &manifest->policy.rules[i];

		for (uint32_t j = 0; j < rules->schema_count; j++) {
			if (sr_schema_find(&set, rules->schemas[j]))
				continue;
			json->at = parse_of(json)->policy_at[i];
			json->depth = 0;
			sr_json_push(json, "keys", 0);
			sr_json_push(json, NULL, i);
			sr_json_push(json, "policy", 0);
			sr_json_push(json, "schemas", 0);
			sr_json_push(json, NULL, j);
			return sr_json_fail(json, "there is no schema %u", rules->schemas[j]);
		}
	}
	return 0;
}

/* ---- the whole ---- */

static int top_format(struct sr_json *json, void *to)
{
	uint64_t format;

	(void)to;
	return sr_json_number(json, &format, FORMAT, FORMAT);
}

static int top_version(struct sr_json *json, void *to)
{
	struct sr_manifest *manifest = to;

	return sr_json_number(json, &manifest->version, 1, SR_MANIFEST_VERSION_MAX);
}

static int top_identities(struct sr_json *json, void *to)
{
	return sr_json_array(json, take_identity, to);
}

static int top_keys(struct sr_json *json, void *to)
{
	return sr_json_array(json, take_key, to);
}

static int top_schemas(struct sr_json *json, void *to)
{
	return sr_json_array(json, schema_item, to);
}

/* @manifest is zero, and of no use after an error. */
static int parse_into(struct sr_manifest *manifest, const char *text, size_t bytes,
		      struct sr_reason *why)
{
	static const struct sr_json_field fields[] = {
		{ "sigring_manifest", top_format, true },
		{ "version", top_version, true },
		{ "identities", top_identities, false },
		{ "keys", top_keys, false },
		{ "schemas", top_schemas, false },
	};
	struct parse parse = { .manifest = manifest };
	struct sr_json json = {
		.text = text, .bytes = bytes, .what = "manifest", .context = &parse, .why = why
	};
	int ret;

	if (bytes > SR_MANIFEST_BYTES_MAX)
		return sr_reason_set(why, -EMSGSIZE, "a manifest has at most %u bytes",
				     SR_MANIFEST_BYTES_MAX);
	ret = sr_json_object(&json, SR_JSON_FIELDS(fields), manifest);
	if (!ret)
		ret = sr_json_end(&json);
	if (!ret)
		ret = resolve_names(&json);
	return ret ? ret : resolve_schemas(&json);
}

int sr_manifest_parse(struct sr_manifest *manifest, const char *text, size_t bytes,
		      struct sr_reason *why)
{
	struct sr_manifest parsed = { 0 };
	int ret = parse_into(&parsed, text, bytes, why);

	if (!ret)
		*manifest = parsed;
	return ret;
}

int sr_manifest_hash(struct sr_hasher *hasher, unsigned char hash[SR_HASH_BYTES], const char *text,
		     size_t bytes)
{
	const struct sr_hash_part parts[] = { { label, sizeof label }, { text, bytes } };

	return sr_sha256_parts(hasher, hash, parts, 2);
}

/* Higher only: what k operators have put in force is never taken back by a text
 * that they signed before. */
static int admit(const struct sr_manifest *current, uint64_t version_min,
		 const struct sr_manifest *next, struct sr_reason *why)
{
	unsigned long long version = next->version;

	if (version < version_min)
		return sr_reason_set(why, -ESTALE,
				     "version %llu is below the minimum, %llu, that the signer was "
				     "started with",
				     version, (unsigned long long)version_min);
	if (version < current->version)
		return sr_reason_set(why, -ESTALE,
				     "version %llu is below version %llu, which is in force",
				     version, (unsigned long long)current->version);
	if (version > current->version)
		return 0;
	if (!memcmp(next->hash, current->hash, sizeof next->hash))
		return sr_reason_set(why, -EALREADY, "version %llu is in force already", version);
	return sr_reason_set(why, -EEXIST,
			     "version %llu is in force with other bytes: give this one a higher "
			     "version",
			     version);
}

int sr_manifest_load(struct sr_manifest *manifest, struct sr_hasher *hasher,
		     const struct sr_operators *operators, uint64_t version_min, const char *text,
		     size_t bytes, struct sr_reason *why)
{
	unsigned char hash[SR_HASH_BYTES];
	struct sr_envelope envelope;
	struct sr_manifest next = { 0 };
	int ret = sr_envelope_open(&envelope, text, bytes, why);

	if (ret)
		return ret;
	if (sr_manifest_hash(hasher, hash, envelope.manifest, envelope.manifest_bytes))
		return sr_reason_set(why, -EIO, "SHA-256 failed");
	ret = sr_operators_verify(operators, SR_MANIFEST_PURPOSE, hash, envelope.sigs,
				  envelope.sig_count, why);
	if (!ret)
		ret = parse_into(&next, envelope.manifest, envelope.manifest_bytes, why);
	if (ret)
		return ret;

	memcpy(next.hash, hash, sizeof hash);
	ret = admit(manifest, version_min, &next, why);
	if (!ret)
		*manifest = next;
	return ret;
}

int sr_manifest_identity_find(const struct sr_manifest *manifest,
			      const unsigned char pub[SR_IDENTITY_KEY_BYTES])
{
	for (uint32_t i = 0; i < manifest->identity_count; i++)
		if (!memcmp(manifest->identities[i].pub, pub, SR_IDENTITY_KEY_BYTES))
			return (int)i;
	return -ENOENT;
}

int sr_manifest_key_find(const struct sr_manifest *manifest, uint32_t id)
{
	for (uint32_t i = 0; i < manifest->key_count; i++)
		if (manifest->keys[i].id == id)
			return (int)i;
	return -ENOENT;
}

bool sr_manifest_allows_unsealed(const struct sr_manifest *manifest, uint32_t key, uint32_t uid)
{
	const struct sr_manifest_key *k = &manifest->keys[key];

	for (uint32_t i = 0; i < k->uid_count; i++)
		if (k->uids[i] == uid)
			return true;
	return false;
}
