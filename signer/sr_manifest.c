/* SPDX-License-Identifier: MIT */
#include "sr_manifest.h"

#include <stdarg.h>
#include <stdio.h>

#include "sr_digits.h"
#include "sr_type.h"

#define FORMAT 1u
#define STRING_BYTES_MAX 80u

/* With the zero byte. */
static const char label[] = "sigring manifest";

/* Where the parser is. */
struct parse {
	const char *text;
	size_t bytes;
	size_t at;
	struct sr_manifest *manifest;
	size_t names_at[SR_MANIFEST_KEYS_MAX]; /* of a key's identities; 0: it has none */
	struct sr_reason *why;
};

/* A string of the text, checked for what may stand in one. */
struct string {
	const char *data;
	size_t bytes;
};

__attribute__((format(printf, 2, 3))) static int fail(const struct parse *p, const char *format,
						      ...)
{
	char text[sizeof p->why->text];
	unsigned int line = 1;
	va_list args;

	for (size_t i = 0; i < p->at && i < p->bytes; i++)
		line += p->text[i] == '\n';
	va_start(args, format);
	(void)vsnprintf(text, sizeof text, format, args);
	va_end(args);
	return sr_reason_set(p->why, -EBADMSG, "manifest, line %u: %.200s", line, text);
}

/* ---- JSON, as much of it as a manifest has ---- */

static void skip_space(struct parse *p)
{
	while (p->at < p->bytes && memchr(" \t\r\n", p->text[p->at], 4))
		p->at++;
}

static bool take(struct parse *p, char c)
{
	skip_space(p);
	if (p->at == p->bytes || p->text[p->at] != c)
		return false;
	p->at++;
	return true;
}

static int take_string(struct parse *p, struct string *s)
{
	if (!take(p, '"'))
		return fail(p, "a string in \" is expected");

	s->data = p->text + p->at;
	for (s->bytes = 0; p->at < p->bytes; s->bytes++, p->at++) {
		unsigned char c = (unsigned char)p->text[p->at];

		if (c == '"') {
			p->at++;
			return 0;
		}
		if (c < 0x20 || c > 0x7e || c == '\\')
			return fail(p, "a string is printable ASCII, without a backslash");
		if (s->bytes == STRING_BYTES_MAX)
			return fail(p, "a string is longer than %u bytes", STRING_BYTES_MAX);
	}
	return fail(p, "the text ends within a string");
}

static int take_number(struct parse *p, uint64_t *value, uint64_t min, uint64_t max)
{
	uint64_t v = 0;
	size_t begin, digits;

	skip_space(p);
	begin = p->at;
	while (p->at < p->bytes && p->text[p->at] >= '0' && p->text[p->at] <= '9' &&
	       p->at - begin < 17)
		v = 10 * v + (uint64_t)(p->text[p->at++] - '0');
	digits = p->at - begin;

	/* No other program may read 7e2, 7.5 or 07 as something else. */
	if (digits == 0 || (digits > 1 && p->text[begin] == '0') || v < min || v > max ||
	    (p->at < p->bytes && !memchr(" \t\r\n,]}", p->text[p->at], 7)))
		return fail(p, "a decimal integer from %llu to %llu is expected, digits alone",
			    (unsigned long long)min, (unsigned long long)max);
	*value = v;
	return 0;
}

/* [ item, ... ], each item to @to. */
static int take_array(struct parse *p, int (*item)(struct parse *p, void *to), void *to)
{
	int ret;

	if (!take(p, '['))
		return fail(p, "a list in [ ] is expected");
	if (take(p, ']'))
		return 0;
	do {
		ret = item(p, to);
		if (ret)
			return ret;
	} while (take(p, ','));
	return take(p, ']') ? 0 : fail(p, "a comma or ] is expected");
}

struct field {
	const char *name;
	int (*take)(struct parse *p, void *to);
	bool required;
};

#define FIELDS(table) table, sizeof(table) / sizeof(table)[0]

static int take_field(struct parse *p, const struct field *fields, size_t count, uint32_t *met,
		      void *to)
{
	struct string name;
	int ret = take_string(p, &name);

	if (ret)
		return ret;
	for (size_t i = 0; i < count; i++) {
		if (strlen(fields[i].name) != name.bytes ||
		    memcmp(fields[i].name, name.data, name.bytes) != 0)
			continue;
		if (*met & (1u << i))
			return fail(p, "field \"%s\" is repeated", fields[i].name);
		*met |= 1u << i;
		if (!take(p, ':'))
			return fail(p, "a colon is expected behind \"%s\"", fields[i].name);
		return fields[i].take(p, to);
	}
	return fail(p, "field \"%.*s\" is not known here", (int)name.bytes, name.data);
}

/* { "field": ..., ... }, in any order. */
static int take_object(struct parse *p, const struct field *fields, size_t count, void *to)
{
	uint32_t met = 0;
	int ret;

	if (!take(p, '{'))
		return fail(p, "an object in { } is expected");
	if (!take(p, '}')) {
		do {
			ret = take_field(p, fields, count, &met, to);
			if (ret)
				return ret;
		} while (take(p, ','));
		if (!take(p, '}'))
			return fail(p, "a comma or } is expected");
	}
	for (size_t i = 0; i < count; i++)
		if (fields[i].required && !(met & (1u << i)))
			return fail(p, "field \"%s\" is missing", fields[i].name);
	return 0;
}

static int take_digits(struct parse *p, unsigned char *out, size_t bytes)
{
	struct string s;
	int ret = take_string(p, &s);

	if (ret)
		return ret;
	if (s.bytes != 2 * bytes || sr_digits_get(out, s.data, bytes))
		return fail(p, "%zu hexadecimal digits, lower case, are expected", 2 * bytes);
	return 0;
}

/* ---- identities ---- */

static int take_name(struct parse *p, struct string *name)
{
	static const char alphabet[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "0123456789._-";
	int ret = take_string(p, name);

	if (ret)
		return ret;
	if (name->bytes == 0 || name->bytes > SR_MANIFEST_NAME_MAX)
		return fail(p, "a name has 1 to %u characters", SR_MANIFEST_NAME_MAX);
	for (size_t i = 0; i < name->bytes; i++)
		if (!memchr(alphabet, name->data[i], sizeof alphabet - 1))
			return fail(p, "a name has letters, digits, '.', '_' and '-'");
	return 0;
}

static int find_name(const struct sr_manifest *manifest, const struct string *name)
{
	for (uint32_t i = 0; i < manifest->identity_count; i++)
		if (strlen(manifest->identities[i].name) == name->bytes &&
		    !memcmp(manifest->identities[i].name, name->data, name->bytes))
			return (int)i;
	return -ENOENT;
}

static int identity_name(struct parse *p, void *to)
{
	struct sr_manifest_identity *identity = to;
	struct string name;
	int ret = take_name(p, &name);

	if (ret)
		return ret;
	if (find_name(p->manifest, &name) >= 0)
		return fail(p, "identity \"%.*s\" is there already", (int)name.bytes, name.data);
	memcpy(identity->name, name.data, name.bytes);
	return 0;
}

static int identity_pub(struct parse *p, void *to)
{
	struct sr_manifest_identity *identity = to;
	int ret = take_digits(p, identity->pub, sizeof identity->pub);

	if (ret)
		return ret;
	if (sr_manifest_identity_find(p->manifest, identity->pub) >= 0)
		return fail(p, "this key is another identity's already");
	return 0;
}

static int take_identity(struct parse *p, void *to)
{
	static const struct field fields[] = {
		{ "name", identity_name, true },
		{ "public_key", identity_pub, true },
	};
	struct sr_manifest *manifest = to;
	int ret;

	if (manifest->identity_count == SR_MANIFEST_IDENTITIES_MAX)
		return fail(p, "more than %u identities", SR_MANIFEST_IDENTITIES_MAX);
	ret = take_object(p, FIELDS(fields), &manifest->identities[manifest->identity_count]);
	if (!ret)
		manifest->identity_count++;
	return ret;
}

/* ---- keys ---- */

static int key_id(struct parse *p, void *to)
{
	struct sr_manifest_key *key = to;
	uint64_t id;
	int ret = take_number(p, &id, 1, UINT32_MAX);

	if (ret)
		return ret;
	if (sr_manifest_key_find(p->manifest, (uint32_t)id) >= 0)
		return fail(p, "key %u is there already", (uint32_t)id);
	key->id = (uint32_t)id;
	return 0;
}

/* One key under two ids would have two policies. */
static int key_pubkey(struct parse *p, void *to)
{
	struct sr_manifest_key *key = to;
	int ret = take_digits(p, key->pubkey, sizeof key->pubkey);

	if (ret)
		return ret;
	if (key->pubkey[0] != 0x02 && key->pubkey[0] != 0x03)
		return fail(p, "a compressed public key begins with 02 or 03");
	for (uint32_t i = 0; i < p->manifest->key_count; i++)
		if (p->manifest->keys[i].has_pubkey &&
		    !memcmp(p->manifest->keys[i].pubkey, key->pubkey, sizeof key->pubkey))
			return fail(p, "this is the public key of key %u already",
				    p->manifest->keys[i].id);
	key->has_pubkey = true;
	return 0;
}

static int key_nonce(struct parse *p, void *to)
{
	struct sr_manifest_key *key = to;
	struct string s;
	int ret = take_string(p, &s), mode;

	if (ret)
		return ret;
	mode = sr_nonce_from_name(s.data, s.bytes);
	if (mode < 0)
		return fail(p, "nonce wants " SR_NONCE_MODES);
	key->nonce_mode = (uint32_t)mode;
	return 0;
}

static int permit_item(struct parse *p, void *to)
{
	struct sr_manifest_key *key = to;
	char name[STRING_BYTES_MAX + 1];
	struct string s;
	uint32_t type;
	int ret = take_string(p, &s);

	if (ret)
		return ret;
	memcpy(name, s.data, s.bytes);
	name[s.bytes] = '\0';
	type = sr_type_from_name(name);
	if (type == 0)
		return fail(p, "there is no type \"%s\" to permit", name);
	if (key->permissions & (1u << type))
		return fail(p, "type \"%s\" is repeated", name);
	key->permissions |= 1u << type;
	return 0;
}

static int key_permit(struct parse *p, void *to)
{
	return take_array(p, permit_item, to);
}

/* Read for its form now, and again when all identities are known. */
static int name_form(struct parse *p, void *to)
{
	struct string name;

	(void)to;
	return take_name(p, &name);
}

static int key_identities(struct parse *p, void *to)
{
	p->names_at[p->manifest->key_count] = p->at;
	return take_array(p, name_form, to);
}

static int uid_item(struct parse *p, void *to)
{
	struct sr_manifest_key *key = to;
	uint64_t uid;
	/* 2^32-1 is no user: it is what chown(2) takes for "leave it". */
	int ret = take_number(p, &uid, 0, UINT32_MAX - 1);

	if (ret)
		return ret;
	for (uint32_t i = 0; i < key->uid_count; i++)
		if (key->uids[i] == uid)
			return fail(p, "this uid is repeated");
	if (key->uid_count == SR_KEY_UIDS_MAX)
		return fail(p, "a key has at most %u unsealed users", SR_KEY_UIDS_MAX);
	key->uids[key->uid_count++] = (uint32_t)uid;
	return 0;
}

static int key_uids(struct parse *p, void *to)
{
	return take_array(p, uid_item, to);
}

static int take_key(struct parse *p, void *to)
{
	static const struct field fields[] = {
		{ "id", key_id, true },
		{ "public_key", key_pubkey, false },
		{ "nonce", key_nonce, false },
		{ "permit", key_permit, false },
		{ "identities", key_identities, false },
		{ "unsealed_uids", key_uids, false },
	};
	struct sr_manifest *manifest = to;
	struct sr_manifest_key *key;
	int ret;

	if (manifest->key_count == SR_MANIFEST_KEYS_MAX)
		return fail(p, "more than %u keys", SR_MANIFEST_KEYS_MAX);
	key = &manifest->keys[manifest->key_count];
	key->nonce_mode = SR_NONCE_HEDGED;
	ret = take_object(p, FIELDS(fields), key);
	if (!ret)
		manifest->key_count++;
	return ret;
}

static int name_item(struct parse *p, void *to)
{
	struct sr_manifest_key *key = to;
	struct string name;
	int index, ret = take_name(p, &name);

	if (ret)
		return ret;
	index = find_name(p->manifest, &name);
	if (index < 0)
		return fail(p, "there is no identity \"%.*s\"", (int)name.bytes, name.data);
	if (key->identities >> index & 1)
		return fail(p, "identity \"%.*s\" is repeated", (int)name.bytes, name.data);
	key->identities |= UINT64_C(1) << index;
	return 0;
}

/* Fields come in any order, so names are looked up behind the last of them. */
static int resolve_names(struct parse *p)
{
	int ret = 0;

	for (uint32_t i = 0; i < p->manifest->key_count && !ret; i++) {
		p->at = p->names_at[i];
		if (p->at)
			ret = take_array(p, name_item, &p->manifest->keys[i]);
	}
	return ret;
}

/* ---- the whole ---- */

static int top_format(struct parse *p, void *to)
{
	uint64_t format;

	(void)to;
	return take_number(p, &format, FORMAT, FORMAT);
}

static int top_version(struct parse *p, void *to)
{
	struct sr_manifest *manifest = to;

	return take_number(p, &manifest->version, 1, SR_MANIFEST_VERSION_MAX);
}

static int top_identities(struct parse *p, void *to)
{
	return take_array(p, take_identity, to);
}

static int top_keys(struct parse *p, void *to)
{
	return take_array(p, take_key, to);
}

int sr_manifest_parse(struct sr_manifest *manifest, const char *text, size_t bytes,
		      struct sr_reason *why)
{
	static const struct field fields[] = {
		{ "sigring_manifest", top_format, true },
		{ "version", top_version, true },
		{ "identities", top_identities, false },
		{ "keys", top_keys, false },
	};
	struct sr_manifest parsed = { 0 };
	struct parse p = { .text = text, .bytes = bytes, .manifest = &parsed, .why = why };
	int ret;

	if (bytes > SR_MANIFEST_BYTES_MAX)
		return sr_reason_set(why, -EMSGSIZE, "a manifest has at most %u bytes",
				     SR_MANIFEST_BYTES_MAX);
	ret = take_object(&p, FIELDS(fields), &parsed);
	if (ret)
		return ret;
	skip_space(&p);
	if (p.at != bytes)
		return fail(&p, "something stands behind the end");
	ret = resolve_names(&p);
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
	struct sr_manifest next;
	int ret = sr_envelope_open(&envelope, text, bytes, why);

	if (ret)
		return ret;
	if (sr_manifest_hash(hasher, hash, envelope.manifest, envelope.manifest_bytes))
		return sr_reason_set(why, -EIO, "SHA-256 failed");
	ret = sr_operators_verify(operators, SR_MANIFEST_PURPOSE, hash, envelope.sigs,
				  envelope.sig_count, why);
	if (!ret)
		ret = sr_manifest_parse(&next, envelope.manifest, envelope.manifest_bytes, why);
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
