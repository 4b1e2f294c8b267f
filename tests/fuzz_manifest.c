/* SPDX-License-Identifier: MIT */
/*
 * fuzz_manifest.c - arbitrary texts, and manifests that are nearly right.
 *
 * The input's first byte chooses what is read: the rest as a manifest, as an
 * envelope, as a list of operators, or edits (place, length, text) of a manifest or
 * an envelope that is right. Checked besides what the sanitizers see: what is taken
 * is JSON to another reader, keeps its bounds and refers to what there is; an
 * envelope is written again as the same bytes; nothing unsigned comes in force;
 * failures leave outputs alone.
 */
#include <jansson.h>

#include "sr_manifest.h"
#include "sr_schema_set.h"
#include "sr_venue.h"

#define FUZZ_NAME "manifest"
#define FUZZ_INPUT_BYTES 64u
#include "fuzz_main.h"

#define INPUT_MAX 4096u
#define PUB_TAIL "112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define PUB "00" PUB_TAIL

static const char right[] =
	"{ \"sigring_manifest\": 1, \"version\": 42,\n"
	"  \"identities\": [ { \"name\": \"mm-1\", \"public_key\": \"" PUB "\" } ],\n"
	"  \"keys\": [ { \"id\": 7, \"public_key\": \"02" PUB "\", \"nonce\": \"presign\",\n"
	"    \"permit\": [ \"ecdsa-keccak256\", \"bip340\" ], \"identities\": [ \"mm-1\" ],\n"
	"    \"unsealed_uids\": [ 1000, 0 ] }, { \"id\": 8, \"permit\": [ \"hyperliquid/order\" ],\n"
	"    \"policy\": { \"networks\": [ \"mainnet\" ], \"chain_ids\": [ 0, 1 ],\n"
	"      \"accounts\": [ \"0x11\", \"none\" ], \"fee_max\": 5, \"value_max\": \"1.5\",\n"
	"      \"assets\": [ { \"id\": 1, \"size_max\": \"2.5\", \"price_max\": \"unlimited\",\n"
	"        \"notional_max\": \"10\", \"tick\": 1, \"spot\": true }, { \"id\": \"0x02\" } ],\n"
	"      \"expiry_max_ms\": 1000, \"venue_nonce\": \"given\",\n"
	"      \"rate\": { \"key_per_s\": 2, \"key_burst\": 2, \"session_per_s\": 1,\n"
	"        \"session_burst\": 1 }, \"window\": { \"seconds\": 1, \"notional_max\": \"1\" },\n"
	"      \"unexpired_notional_max\": \"3\", \"lease\": false } }, { \"id\": 9,\n"
	"    \"permit\": [ \"typed_data/order\" ], \"policy\": { \"schemas\": [ 1 ] } } ],\n"
	"  \"schemas\": [ { \"id\": 1, \"kind\": \"order\", \"network\": \"mainnet\",\n"
	"    \"type\": \"O(bytes32 a,L l,bytes d,uint64 n)L(int128 p,uint64 e)\",\n"
	"    \"domain\": { \"name\": \"N\", \"version\": \"1\", \"chain_id\": 1, \"contract\": \"body\" },\n"
	"    \"abi\": { \"member\": \"d\", \"type\": \"T(uint256 s)\" },\n"
	"    \"roles\": { \"asset\": \"a\", \"price\": \"p\", \"size\": \"s\", \"nonce\": \"n\",\n"
	"      \"expiry\": \"e\" }, \"nonce_kind\": \"time_ms\", \"price_decimals\": 18,\n"
	"    \"size_decimals\": 6, \"expiry_unit\": \"ms\", \"expiry_bits\": 40 },\n"
	"  { \"id\": 2, \"kind\": \"transfer\", \"network\": \"testnet\", \"type\": \"X(string t,string v)\",\n"
	"    \"domain\": { \"salt\": \"" PUB "\" },\n"
	"    \"roles\": { \"destination\": \"t\", \"value\": \"v\" } } ] }\n";

static const char right_envelope[] = "sigring-manifest 1\n"
				     "signature " PUB " " PUB PUB "\n"
				     "signature ff" PUB_TAIL " " PUB PUB "\n"
				     "\n{}\n";

static struct sr_hasher *hasher;
static struct sr_operators operators; /* a key for which nobody has signed */

static void start(void)
{
	struct sr_reason why;

	require(sr_hasher_new(&hasher) == 0, "no hash");
	require(sr_operators_parse(&operators, 1, PUB, 64, &why) == 0, "no operators");
}

/* Another reader of the same text: it has to see no less, and the same. */
static void judge_json(const struct sr_manifest *m, const char *text, size_t bytes)
{
	json_error_t error;
	json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);

	require(root != NULL, "taken, and no JSON");
	require(json_integer_value(json_object_get(root, "version")) == (json_int_t)m->version,
		"another version");
	require(json_array_size(json_object_get(root, "keys")) == m->key_count &&
			json_array_size(json_object_get(root, "identities")) == m->identity_count,
		"another count");
	json_decref(root);
}

static void judge_range(const struct sr_policy_range *range, uint32_t count)
{
	require(range->count == 0 || (uint32_t)range->first + range->count <= count, "a list");
}

static void judge_policy(const struct sr_manifest *m, uint32_t key)
{
	const struct sr_policy_table *table = &m->policy;
	const struct sr_policy_rules *r = &table->rules[key];
	uint32_t trades = 0;
	bool typed = false;

	for (uint32_t i = 0; i < SR_POLICY_VENUES_MAX; i++)
		typed |= r->kinds[i] != 0;
	require(!typed || m->keys[key].permissions == 0, "blind and typed");
	for (uint32_t i = 0; i < SR_POLICY_VENUES_MAX; i++)
		trades += (r->kinds[i] & (1u << SR_KIND_ORDER | 1u << SR_KIND_MODIFY)) != 0;
	require(trades <= 1, "it trades at two venues");
	require(r->key == m->keys[key].id, "rules of another key");
	require(r->chain_count <= SR_POLICY_CHAINS_MAX && r->schema_count <= SR_POLICY_SCHEMAS_MAX,
		"chains and schemas");
	judge_range(&r->contracts, table->party_count);
	judge_range(&r->accounts, table->party_count);
	judge_range(&r->destinations, table->party_count);
	judge_range(&r->builders, table->party_count);
	judge_range(&r->assets, table->asset_count);
	require(r->session_per_s <= r->key_per_s && r->session_burst <= r->key_burst,
		"a session above its key");
	require(r->expiry_ms_max != SR_POLICY_UNLIMITED ||
			r->unexpired_notional_max == SR_POLICY_UNLIMITED,
		"what never expires is counted");
}

static void judge_schema(const struct sr_schema *s)
{
	require(s->id >= 1 && s->id <= INT32_MAX && s->kind != SR_KIND_NONE, "a schema");
	require(s->struct_count >= 1 && s->struct_count <= SR_SCHEMA_STRUCTS_MAX &&
			s->member_count <= SR_SCHEMA_MEMBERS_MAX,
		"structs and members");
	for (uint32_t i = 0; i < s->struct_count; i++)
		require((uint32_t)s->structs[i].first + s->structs[i].count <= s->member_count,
			"a struct");
	for (uint32_t i = 0; i < SR_ROLES; i++)
		require(s->roles[i] < s->member_count, "a role");
	require(s->contract_in_body || !sr_venue_claims(s->separator), "a venue's domain");
}

static void judge_schemas(const struct sr_manifest *m)
{
	const struct sr_schema_set set = { m->schemas, m->schema_count };

	require(m->schema_count <= SR_POLICY_SCHEMAS_MAX, "schemas");
	for (uint32_t i = 0; i < m->schema_count; i++) {
		judge_schema(&m->schemas[i]);
		require(sr_schema_find(&set, m->schemas[i].id) == &m->schemas[i], "two of one id");
		for (uint32_t j = 0; j < i; j++)
			require(!sr_schema_overlaps(&m->schemas[i], &m->schemas[j]), "two of one digest");
	}
	for (uint32_t i = 0; i < m->key_count; i++)
		for (uint32_t j = 0; j < m->policy.rules[i].schema_count; j++)
			require(sr_schema_find(&set, m->policy.rules[i].schemas[j]) != NULL,
				"a schema that is not there");
}

static void judge_manifest(const struct sr_manifest *m)
{
	require(m->version >= 1 && m->version <= SR_MANIFEST_VERSION_MAX, "a version");
	require(m->identity_count <= SR_MANIFEST_IDENTITIES_MAX, "identities");
	require(m->key_count <= SR_MANIFEST_KEYS_MAX, "keys");
	for (uint32_t i = 0; i < m->identity_count; i++) {
		size_t length = strnlen(m->identities[i].name, SR_MANIFEST_NAME_MAX + 1);

		require(length >= 1 && length <= SR_MANIFEST_NAME_MAX, "a name");
		require(sr_manifest_identity_find(m, m->identities[i].pub) == (int)i,
			"two identities of one key");
	}
	for (uint32_t i = 0; i < m->key_count; i++) {
		const struct sr_manifest_key *key = &m->keys[i];

		require(sr_manifest_key_find(m, key->id) == (int)i && key->id,
			"two keys of one id");
		require(sr_nonce_name(key->nonce_mode) != NULL, "a nonce mode");
		require(key->uid_count <= SR_KEY_UIDS_MAX, "users");
		require(m->identity_count == 64 || key->identities >> m->identity_count == 0,
			"an identity that is not there");
		judge_policy(m, i);
	}
	require(m->policy.count == m->key_count &&
			m->policy.asset_count <= SR_POLICY_ASSETS_MAX &&
			m->policy.party_count <= SR_POLICY_PARTIES_MAX,
		"a table of policies");
	judge_schemas(m);
	for (uint32_t i = 0; i < m->policy.party_count; i++)
		require(m->policy.parties[i].bytes <= SR_PARTY_BYTES, "a party");
}

static void read_manifest(const char *text, size_t bytes)
{
	static struct sr_manifest m, before;
	struct sr_reason why = { 0 };
	int ret;

	memset(&m, 0x5a, sizeof m);
	before = m;
	ret = sr_manifest_parse(&m, text, bytes, &why);
	if (ret) {
		require(ret == -EBADMSG && why.text[0], "an error without its reason");
		require(!memcmp(&m, &before, sizeof m), "output touched on failure");
		return;
	}
	judge_manifest(&m);
	judge_json(&m, text, bytes);
}

static void read_envelope(const char *text, size_t bytes)
{
	static char again[SR_ENVELOPE_BYTES_MAX];
	static struct sr_manifest none;
	struct sr_envelope envelope;
	struct sr_reason why;

	require(sr_manifest_load(&none, hasher, &operators, 0, text, bytes, &why) != 0 &&
			none.version == 0,
		"in force, and nobody signed");
	if (sr_envelope_open(&envelope, text, bytes, &why))
		return;
	require(sr_envelope_put(again, &envelope) == bytes && !memcmp(again, text, bytes),
		"two spellings");
}

static void read_operators(const char *text, size_t bytes)
{
	struct sr_operators read;
	struct sr_reason why;

	if (sr_operators_parse(&read, 1, text, bytes, &why))
		return;
	require(read.count >= 1 && read.count <= SR_OPERATORS_MAX, "operators");
	for (uint32_t i = 0; i < read.count; i++)
		require(sr_operators_find(&read, read.pub[i]) == (int)i, "one twice");
}

/* Edits: two bytes of place, one of how many to cut, one of how many to put. */
static void read_edited(void (*read)(const char *text, size_t bytes), const char *from,
			const uint8_t *data, size_t bytes)
{
	char text[2 * INPUT_MAX];
	size_t length = strlen(from);

	memcpy(text, from, length);
	while (bytes >= 4) {
		size_t at = (data[0] | (size_t)data[1] << 8) % (length + 1);
		size_t cut = data[2] % 16, put = data[3] % 16;

		data += 4;
		bytes -= 4;
		cut = cut < length - at ? cut : length - at;
		put = put < bytes ? put : bytes;
		if (length - cut + put > sizeof text)
			break;
		memmove(text + at + put, text + at + cut, length - at - cut);
		memcpy(text + at, data, put);
		length = length - cut + put;
		data += put;
		bytes -= put;
	}
	read(text, length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const char *text = (const char *)data + 1;

	if (bytes == 0 || bytes > INPUT_MAX)
		return 0;
	if (!hasher)
		start();
	switch (data[0] % 5) {
	case 0:
		read_manifest(text, bytes - 1);
		break;
	case 1:
		read_envelope(text, bytes - 1);
		break;
	case 2:
		read_operators(text, bytes - 1);
		break;
	case 3:
		read_edited(read_manifest, right, data + 1, bytes - 1);
		break;
	default:
		read_edited(read_envelope, right_envelope, data + 1, bytes - 1);
		break;
	}
	return 0;
}
