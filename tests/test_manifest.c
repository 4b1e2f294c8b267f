/* SPDX-License-Identifier: MIT */
/* Operators, envelopes and manifests: who is obeyed, what a text must be, and which
 * one is in force. */
#include <criterion/criterion.h>

#include <jansson.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

#include "sr_digits.h"
#include "sr_manifest.h"
#include "sr_type.h"

#define PUB_A "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define PUB_B "ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define KEY_A "02" PUB_A
#define KEY_B "03" PUB_A
#define ID_A "{\"name\":\"mm-1\",\"public_key\":\"" PUB_A "\"}"
#define ID_B "{\"name\":\"mm.2\",\"public_key\":\"" PUB_B "\"}"
#define HEAD "{\"sigring_manifest\":1,\"version\":7"
#define ANY(text) "{\"sigring_manifest\":1,\"version\":" text "}"
#define IDS(list) HEAD ",\"identities\":[" list "]}"
#define KEYS(list) HEAD ",\"identities\":[" ID_A "," ID_B "],\"keys\":[" list "]}"
#define KEY(fields) KEYS("{\"id\":7," fields "}")

static const char full[] =
	"{\n"
	"  \"sigring_manifest\": 1,\n"
	"  \"version\": 9007199254740991,\n"
	"  \"identities\": [ " ID_A ",\t" ID_B " ],\r\n"
	"  \"keys\": [\n"
	"    { \"id\": 4294967295, \"public_key\": \"" KEY_A "\", \"nonce\": \"presign-only\",\n"
	"      \"permit\": [ \"ecdsa-keccak256\", \"bip340\" ],\n"
	"      \"identities\": [ \"mm.2\", \"mm-1\" ], \"unsealed_uids\": [ 0, 4294967294 ] },\n"
	"    { \"id\": 1 }\n"
	"  ]\n"
	"}\n";

static struct sr_hasher *hasher;
static struct sr_operator_pair pairs[4];
static struct sr_operators operators; /* 2 of the first 3 pairs */
static struct sr_manifest manifest;
static struct sr_reason why;
static char text[SR_ENVELOPE_BYTES_MAX + 1];

static void begin(void)
{
	cr_assert_eq(sr_hasher_new(&hasher), 0);
	for (unsigned char i = 0; i < 4; i++) {
		memset(pairs[i].secret, 1 + i, sizeof pairs[i].secret);
		cr_assert_eq(sr_operator_pair_make(&pairs[i], pairs[i].secret), 0);
		if (i < 3)
			memcpy(operators.pub[i], pairs[i].pub, sizeof pairs[i].pub);
	}
	operators.count = 3;
	operators.k = 2;
}

static void end(void)
{
	sr_hasher_delete(hasher);
}

TestSuite(operator, .init = begin, .fini = end);
TestSuite(envelope, .init = begin, .fini = end);
TestSuite(manifest, .init = begin, .fini = end);

static int parse_text(const char *json)
{
	why.text[0] = '\0';
	return sr_manifest_parse(&manifest, json, strlen(json), &why);
}

static void check_refused(const char *json, const char *words)
{
	int ret;

	manifest.version = 12345;
	ret = parse_text(json);
	cr_assert_eq(ret, -EBADMSG, "\"%s\" was taken: %.300s", words, json);
	cr_assert(strstr(why.text, words), "\"%s\" is not in \"%s\"", words, why.text);
	cr_assert_eq(manifest.version, 12345, "touched on failure");
}

/* An envelope of @json into `text`, signed by the pairs of @mask. */
static size_t sign_text(const char *json, uint32_t mask)
{
	struct sr_envelope envelope = { .manifest = json, .manifest_bytes = strlen(json) };
	unsigned char hash[SR_HASH_BYTES];

	cr_assert_eq(sr_manifest_hash(hasher, hash, json, strlen(json)), 0);
	for (uint32_t i = 0; i < 4; i++)
		if (mask & (1u << i))
			cr_assert_eq(sr_operator_sign(&pairs[i],
						      &envelope.sigs[envelope.sig_count++],
						      SR_MANIFEST_PURPOSE, hash),
				     0);
	return sr_envelope_put(text, &envelope);
}

static int load_text(const char *json, uint32_t mask, uint64_t version_min)
{
	size_t bytes = sign_text(json, mask);

	why.text[0] = '\0';
	return sr_manifest_load(&manifest, hasher, &operators, version_min, text, bytes, &why);
}

/* ---- operators ---- */

/* RFC 8032, section 7.1, the secret and public key of TEST 1. */
/* A list that nobody has filled in must not let everything pass. */
Test(operator, an_empty_list_trusts_nobody)
{
	static const struct sr_operators none;
	unsigned char hash[SR_HASH_BYTES] = { 1 };

	cr_assert_eq(sr_operators_verify(&none, "manifest", hash, NULL, 0, &why), -EACCES);
}

Test(operator, key_is_ed25519)
{
	unsigned char secret[32], pub[32];

	cr_assert_eq(
		sr_digits_get(secret,
			      "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
			      32),
		0);
	cr_assert_eq(
		sr_digits_get(pub,
			      "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
			      32),
		0);
	cr_assert_eq(sr_operator_pair_make(&pairs[0], secret), 0);
	cr_assert_arr_eq(pairs[0].pub, pub, 32);
}

/* The bytes by another's hand: what is signed is what the header says. */
Test(operator, signature_is_over_label_purpose_and_hash)
{
	unsigned char hash[32] = { 7 }, message[17 + 9 + 32];
	struct sr_operator_sig sig;
	EVP_PKEY *pkey = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, pairs[0].pub, 32);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();

	memcpy(message, "sigring operator", 17);
	memcpy(message + 17, "manifest", 9);
	memcpy(message + 26, hash, 32);
	cr_assert_eq(sr_operator_sign(&pairs[0], &sig, "manifest", hash), 0);
	cr_assert_arr_eq(sig.pub, pairs[0].pub, 32);
	cr_assert_eq(EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, pkey), 1);
	cr_assert_eq(EVP_DigestVerify(ctx, sig.sig, 64, message, sizeof message), 1);
	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(pkey);
}

Test(operator, signature_is_for_one_purpose_and_one_hash)
{
	unsigned char hash[32] = { 7 };
	struct sr_operator_sig sig;

	cr_assert_eq(sr_operator_sign(&pairs[0], &sig, "manifest", hash), 0);
	cr_assert_eq(sr_operator_verify(&sig, "manifest", hash), 0);
	cr_assert_eq(sr_operator_verify(&sig, "manifes", hash), -EBADMSG);
	cr_assert_eq(sr_operator_verify(&sig, "manifest2", hash), -EBADMSG);
	cr_assert_eq(sr_operator_verify(&sig, "", hash), -EINVAL);
	cr_assert_eq(sr_operator_verify(&sig, "a purpose that is 32 letters long", hash), -EINVAL);
	hash[31] ^= 1;
	cr_assert_eq(sr_operator_verify(&sig, "manifest", hash), -EBADMSG);
	hash[31] ^= 1;
	for (size_t bit = 0; bit < 8 * sizeof sig.sig; bit++) {
		sig.sig[bit / 8] ^= (unsigned char)(1u << bit % 8);
		cr_assert_eq(sr_operator_verify(&sig, "manifest", hash), -EBADMSG, "bit %zu", bit);
		sig.sig[bit / 8] ^= (unsigned char)(1u << bit % 8);
	}
}

Test(operator, list_is_read_with_names_and_comments)
{
	static const char list[] = "# who signs\n\n" PUB_A " Ada\n" PUB_B;
	struct sr_operators read;

	cr_assert_eq(sr_operators_parse(&read, 2, list, sizeof list - 1, &why), 0, "%s", why.text);
	cr_assert(read.count == 2 && read.k == 2);
	cr_assert(read.pub[1][0] == 0xff && read.pub[1][31] == 0xff);
}

Test(operator, wrong_lists_are_named_by_line)
{
	static const struct {
		const char *list, *words;
		uint32_t k;
	} wrong[] = {
		{ "", "names no operator", 1 },
		{ "# none\n\n", "names no operator", 1 },
		{ PUB_A "\n", "k is 2, and there are 1", 2 },
		{ PUB_A "\n", "k is 0", 0 },
		{ PUB_A "\n" PUB_A " again\n", "line 2: this operator is there already", 1 },
		{ "\n" PUB_A "0\n", "line 2: an operator is 64", 1 },
		{ PUB_A "\tAda\n", "line 1: an operator is 64", 1 },
		{ " " PUB_A "\n", "line 1: an operator is 64", 1 },
		{ "0011\n", "line 1: an operator is 64", 1 },
		{ "FF" PUB_A "\n", "line 1: an operator is 64", 1 },
		{ "Ada " PUB_A "\n", "line 1: an operator is 64", 1 },
	};
	struct sr_operators read = { .count = 77 };

	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		cr_assert_eq(sr_operators_parse(&read, wrong[i].k, wrong[i].list,
						strlen(wrong[i].list), &why),
			     -EBADMSG, "%s", wrong[i].words);
		cr_assert(strstr(why.text, wrong[i].words), "%s: %s", wrong[i].words, why.text);
		cr_assert_eq(read.count, 77, "touched on failure");
	}
}

Test(operator, list_has_at_most_sixteen)
{
	struct sr_operators read;
	char list[17 * 65 + 1], line[66];

	for (unsigned int i = 0; i < 17; i++) {
		(void)snprintf(line, sizeof line, "%02x%s\n", i + 2, &PUB_A[2]);
		memcpy(list + 65 * i, line, 65);
	}
	cr_assert_eq(sr_operators_parse(&read, 16, list, 16 * 65, &why), 0, "%s", why.text);
	cr_assert_eq(sr_operators_parse(&read, 16, list, 17 * 65, &why), -EBADMSG);
	cr_assert(strstr(why.text, "line 17: more than 16"), "%s", why.text);
	memset(text, '\n', SR_OPERATORS_BYTES_MAX + 1);
	cr_assert_eq(sr_operators_parse(&read, 1, text, SR_OPERATORS_BYTES_MAX + 1, &why),
		     -EBADMSG);
	cr_assert(strstr(why.text, "at most 4096 bytes"), "%s", why.text);
}

/* Why they are refused: for one of them R = that point and S = 0 is a signature of
 * anything, and OpenSSL says so. */
Test(operator, keys_of_small_order_are_refused)
{
	static const char *const small[] = {
		"0000000000000000000000000000000000000000000000000000000000000000",
		"0100000000000000000000000000000000000000000000000000000000000000",
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
		"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	};
	static const char *const near[] = {
		"0200000000000000000000000000000000000000000000000000000000000000",
		"0100000000000000000000000000000001000000000000000000000000000000",
		"0100000000000000000000000000000000000000000000000000000000000001",
		"ebffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"efffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"ecffffffffffffffffffffffffffffffff7fffffffffffffffffffffffffff7f",
	};
	struct sr_operator_sig sig = { .pub = { 1 }, .sig = { 1 } };
	struct sr_operators read;
	char line[65];

	for (size_t i = 0; i < 2 * sizeof small / sizeof small[0]; i++) {
		memcpy(line, small[i / 2], 65);
		if (i % 2) /* the sign bit */
			line[62] =
				"89abcdef"[line[62] >= 'a' ? line[62] - 'a' + 2 : line[62] - '0'];
		cr_assert_eq(sr_operators_parse(&read, 1, line, 64, &why), -EBADMSG, "%s", line);
		cr_assert(strstr(why.text, "small order"), "%s", why.text);
	}
	for (size_t i = 0; i < sizeof near / sizeof near[0]; i++)
		cr_assert_eq(sr_operators_parse(&read, 1, near[i], 64, &why), 0, "%s", near[i]);
	cr_assert_eq(sr_operator_verify(&sig, "manifest", sig.sig), 0,
		     "OpenSSL refuses by itself now; the table may go");
}

Test(operator, it_takes_k_of_the_listed)
{
	unsigned char hash[32] = { 7 };
	struct sr_operator_sig sigs[4], twice[3];

	for (uint32_t i = 0; i < 4; i++)
		cr_assert_eq(sr_operator_sign(&pairs[i], &sigs[i], "manifest", hash), 0);

	cr_assert_eq(sr_operators_verify(&operators, "manifest", hash, sigs, 0, &why), -EACCES);
	cr_assert_eq(sr_operators_verify(&operators, "manifest", hash, sigs, 1, &why), -EACCES);
	cr_assert(strstr(why.text, "signed by 1 of the 3 operators, and it takes 2"), "%s",
		  why.text);
	cr_assert_eq(sr_operators_verify(&operators, "manifest", hash, sigs, 2, &why), 0);
	cr_assert_eq(sr_operators_verify(&operators, "manifest", hash, sigs, 4, &why), 0,
		     "a stranger's does no harm");
	cr_assert_eq(sr_operators_verify(&operators, "manifest", hash, sigs + 2, 2, &why), -EACCES,
		     "nor does it count");

	twice[0] = twice[1] = sigs[0];
	cr_assert_eq(sr_operators_verify(&operators, "manifest", hash, twice, 2, &why), -EEXIST);
	cr_assert(strstr(why.text, "operator 1 of the list signs twice"), "%s", why.text);

	sigs[2].sig[0] ^= 1;
	cr_assert_eq(sr_operators_verify(&operators, "manifest", hash, sigs, 3, &why), -EBADMSG);
	cr_assert(strstr(why.text, "operator 3 of the list does not verify"), "%s", why.text);
	cr_assert_eq(sr_operators_verify(&operators, "other", hash, sigs, 2, &why), -EBADMSG);
}

/* ---- envelopes ---- */

Test(envelope, what_was_put_is_opened)
{
	struct sr_envelope envelope;
	size_t bytes = sign_text(full, 0xf);

	cr_assert_eq(sr_envelope_open(&envelope, text, bytes, &why), 0, "%s", why.text);
	cr_assert_eq(envelope.sig_count, 4);
	cr_assert_arr_eq(envelope.sigs[3].pub, pairs[3].pub, 32);
	cr_assert_eq(envelope.manifest_bytes, sizeof full - 1);
	cr_assert_eq(memcmp(envelope.manifest, full, sizeof full - 1), 0);
	cr_assert_eq(sign_text(full, 0), 20 + sizeof full - 1);
	cr_assert_eq(sr_envelope_open(&envelope, text, 20 + sizeof full - 1, &why), 0);
	cr_assert_eq(envelope.sig_count, 0);
}

Test(envelope, wrong_forms_are_refused)
{
	static const char sig[] = "signature " PUB_A " " PUB_A PUB_A "\n";
	static const struct {
		const char *text, *words;
	} wrong[] = {
		{ "", "the first line" },
		{ "{}", "the first line" },
		{ "sigring-manifest 2\n\n{}", "the first line" },
		{ "sigring-manifest 1", "the first line" },
		{ "sigring-manifest 1\n", "no manifest" },
		{ "sigring-manifest 1\n\n", "no manifest" },
		{ "sigring-manifest 1\n{}", "line 2 should be" },
		{ "sigring-manifest 1\nsignature " PUB_A "\n\n{}", "line 2 should be" },
		{ "sigring-manifest 1\nsignature  " PUB_A " " PUB_A PUB_A "\n{}",
		  "line 2 should be" },
		{ "sigring-manifest 1\nsignature " PUB_A " " PUB_A "FF" PUB_A "\n\n{}",
		  "line 2 should be" },
		{ "sigring-manifest 1\nsignature " PUB_A "-" PUB_A PUB_A "\n\n{}",
		  "line 2 should be" },
		{ "sigring-manifest 1\nSignature " PUB_A " " PUB_A PUB_A "\n\n{}",
		  "line 2 should be" },
	};
	struct sr_envelope envelope = { .sig_count = 77 };

	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		cr_assert_eq(sr_envelope_open(&envelope, wrong[i].text, strlen(wrong[i].text),
					      &why),
			     -EBADMSG, "%zu", i);
		cr_assert(strstr(why.text, wrong[i].words), "%zu: %s", i, why.text);
	}
	(void)snprintf(text, sizeof text, "sigring-manifest 1\n%s%s\n{}", sig, sig);
	cr_assert_eq(sr_envelope_open(&envelope, text, strlen(text), &why), -EBADMSG);
	cr_assert(strstr(why.text, "line 3: this key has signed already"), "%s", why.text);
	cr_assert_eq(envelope.sig_count, 77, "touched on failure");
}

Test(envelope, lengths_are_bounded)
{
	struct sr_envelope envelope = { 0 };
	size_t head, at;
	char *json = malloc(SR_MANIFEST_BYTES_MAX + 2);

	cr_assert(json);
	memset(json, ' ', SR_MANIFEST_BYTES_MAX + 1);
	json[SR_MANIFEST_BYTES_MAX] = '\0';
	cr_assert_eq(sign_text(json, 0), 20 + SR_MANIFEST_BYTES_MAX);
	cr_assert_eq(sr_envelope_open(&envelope, text, 20 + SR_MANIFEST_BYTES_MAX, &why), 0);
	text[20 + SR_MANIFEST_BYTES_MAX] = ' ';
	cr_assert_eq(sr_envelope_open(&envelope, text, 21 + SR_MANIFEST_BYTES_MAX, &why),
		     -EMSGSIZE);
	cr_assert(strstr(why.text, "longer than a manifest"), "%s", why.text);
	cr_assert_eq(sr_envelope_open(&envelope, text, SR_ENVELOPE_BYTES_MAX + 1, &why), -EMSGSIZE);
	cr_assert(strstr(why.text, "longer than a signed manifest"), "%s", why.text);
	envelope.manifest_bytes = SR_MANIFEST_BYTES_MAX + 1;
	cr_assert_eq(sr_envelope_put(text, &envelope), 0);
	free(json);

	head = at = (size_t)snprintf(text, sizeof text, "sigring-manifest 1\n");
	for (unsigned int i = 0; i < 17; i++)
		at += (size_t)snprintf(text + at, sizeof text - at, "signature %02x%s %s%s\n", i,
				       &PUB_A[2], PUB_A, PUB_A);
	(void)snprintf(text + at, sizeof text - at, "\n{}");
	cr_assert_eq(sr_envelope_open(&envelope, text, at + 3, &why), -EBADMSG);
	cr_assert(strstr(why.text, "more than 16"), "%s", why.text);
	at -= (at - head) / 17;
	memcpy(text + at, "\n{}", 3);
	cr_assert_eq(sr_envelope_open(&envelope, text, at + 3, &why), 0, "%s", why.text);
	cr_assert_eq(envelope.sig_count, 16);
}

/* ---- manifests ---- */

Test(manifest, everything_in_it_is_read)
{
	const struct sr_manifest_key *key = manifest.keys;
	unsigned char pub[33];

	cr_assert_eq(parse_text(full), 0, "%s", why.text);
	cr_assert_eq(manifest.version, SR_MANIFEST_VERSION_MAX);
	cr_assert(manifest.identity_count == 2 && manifest.key_count == 2);
	cr_assert_str_eq(manifest.identities[0].name, "mm-1");
	cr_assert_eq(sr_digits_get(pub, PUB_B, 32), 0);
	cr_assert_eq(sr_manifest_identity_find(&manifest, pub), 1);
	pub[0] ^= 4;
	cr_assert_eq(sr_manifest_identity_find(&manifest, pub), -ENOENT);

	cr_assert_eq(sr_manifest_key_find(&manifest, UINT32_MAX), 0);
	cr_assert_eq(sr_manifest_key_find(&manifest, 2), -ENOENT);
	cr_assert_eq(key->permissions, 1u << SR_ECDSA_KECCAK256 | 1u << SR_BIP340);
	cr_assert_eq(key->nonce_mode, SR_NONCE_PRESIGN_ONLY);
	cr_assert(key->has_pubkey);
	cr_assert_eq(sr_digits_get(pub, KEY_A, 33), 0);
	cr_assert_arr_eq(key->pubkey, pub, 33);
	cr_assert(sr_manifest_allows(&manifest, 0, 0) && sr_manifest_allows(&manifest, 0, 1));
	cr_assert_not(sr_manifest_allows(&manifest, 0, 2));
	cr_assert(sr_manifest_allows_unsealed(&manifest, 0, 0));
	cr_assert(sr_manifest_allows_unsealed(&manifest, 0, UINT32_MAX - 1));
	cr_assert_not(sr_manifest_allows_unsealed(&manifest, 0, 1000));
}

static void check_denies(const char *json)
{
	cr_assert_eq(parse_text(json), 0, "%s", why.text);
	cr_assert_eq(manifest.key_count, 1);
	cr_assert_eq(manifest.keys[0].permissions, 0);
	cr_assert_eq(manifest.keys[0].identities, 0);
	cr_assert_eq(manifest.keys[0].uid_count, 0);
	cr_assert_not(manifest.keys[0].has_pubkey);
	cr_assert_eq(manifest.keys[0].nonce_mode, SR_NONCE_HEDGED);
	cr_assert_not(sr_manifest_allows(&manifest, 0, 0));
	cr_assert_not(sr_manifest_allows_unsealed(&manifest, 0, 0));
}

Test(manifest, what_is_missing_or_empty_denies)
{
	check_denies(KEYS("{\"id\":7}"));
	check_denies(KEY("\"permit\":[],\"identities\":[],\"unsealed_uids\":[]"));
	cr_assert_eq(parse_text(HEAD "}"), 0, "%s", why.text);
	cr_assert(manifest.identity_count == 0 && manifest.key_count == 0);
	cr_assert_eq(parse_text(HEAD ",\"keys\":[ ],\"identities\":[\n]}"), 0);
}

Test(manifest, fields_come_in_any_order)
{
	cr_assert_eq(parse_text("{\"keys\":[{\"identities\":[\"mm.2\"],\"permit\":[\"bip340\"],"
				"\"id\":7}],\"version\":3,\"identities\":[{\"public_key\":\"" PUB_A
				"\",\"name\":\"mm-1\"}," ID_B "],\"sigring_manifest\":1}"),
		     0, "%s", why.text);
	cr_assert_eq(manifest.keys[0].identities, 2);
	check_refused("{\"keys\":[\n{\"id\":7,\n\"identities\":[\"mm-3\"]}],\"version\":3,"
		      "\"sigring_manifest\":1}",
		      "line 3: there is no identity \"mm-3\"");
}

Test(manifest, each_wrong_text_has_its_own_reason)
{
	static const struct {
		const char *json, *words;
	} wrong[] = {
		{ "", "line 1: an object in { }" },
		{ "[]", "an object in { }" },
		{ "\n\nnull", "line 3: an object in { }" },
		{ "{}", "\"sigring_manifest\" is missing" },
		{ "{\"sigring_manifest\":1}", "\"version\" is missing" },
		{ "{\"version\":1}", "\"sigring_manifest\" is missing" },
		{ "{\"sigring_manifest\":2,\"version\":1}", "integer from 1 to 1" },
		{ "{\"sigring_manifest\":\"1\",\"version\":1}", "integer from 1 to 1" },
		{ HEAD "} x", "stands behind the end" },
		{ HEAD "}{", "stands behind the end" },
		{ HEAD, "a comma or }" },
		{ HEAD ",}", "a string in \"" },
		{ HEAD ",\"limits\":{}}", "field \"limits\" is not known here" },
		{ HEAD ",\"Keys\":[]}", "field \"Keys\" is not known here" },
		{ HEAD ",\"\":0}", "field \"\" is not known here" },
		{ HEAD ",\"version\":7}", "field \"version\" is repeated" },
		{ HEAD ",\"keys\":[],\"keys\":[]}", "field \"keys\" is repeated" },
		{ HEAD ",\"keys\" []}", "a colon is expected behind \"keys\"" },
		{ HEAD ",\"keys\":{}}", "a list in [ ]" },
		{ HEAD ",\"keys\":null}", "a list in [ ]" },
		{ HEAD ",\"keys\":[", "an object in { }" },
		{ HEAD ",\"keys\":[{}]}", "\"id\" is missing" },
		{ HEAD ",\"keys\":[{\"id\":7} {\"id\":8}]}", "a comma or ]" },
		{ HEAD ",\"keys\":[{\"id\":7},]}", "an object in { }" },
		{ HEAD ",'keys':[]}", "a string in \"" },
		{ HEAD ",\"keys", "ends within a string" },
		{ HEAD ",\"k\\u0065ys\":[]}", "printable ASCII" },
		{ HEAD ",\"k\xc3\xa9ys\":[]}", "printable ASCII" },
		{ HEAD ",\"ke\nys\":[]}", "printable ASCII" },
		{ HEAD ",\"ke\x7fys\":[]}", "printable ASCII" },
		{ HEAD ",\"" PUB_A PUB_A "\":[]}", "longer than 80" },
		{ IDS("{\"name\":\"a\"}"), "\"public_key\" is missing" },
		{ IDS("{\"public_key\":\"" PUB_A "\"}"), "\"name\" is missing" },
		{ IDS("{\"name\":\"\",\"public_key\":\"" PUB_A "\"}"), "a name has 1 to 31" },
		{ IDS("{\"name\":\"12345678901234567890123456789012\"}"), "a name has 1 to 31" },
		{ IDS("{\"name\":\"a b\"}"), "a name has letters" },
		{ IDS("{\"name\":7}"), "a string in \"" },
		{ IDS("{\"name\":\"a\",\"public_key\":\"\"}"), "64 hexadecimal digits" },
		{ IDS("{\"name\":\"a\",\"public_key\":\"" KEY_A "\"}"), "64 hexadecimal digits" },
		{ IDS("{\"public_key\":\"FF112233445566778899aabbccddeeff00112233445566778899aabb"
		      "ccddeeff\"}"),
		  "64 hexadecimal digits, lower case" },
		{ IDS(ID_A "," ID_A), "identity \"mm-1\" is there already" },
		{ IDS(ID_A ",{\"name\":\"x\",\"public_key\":\"" PUB_A "\"}"),
		  "another identity's already" },
		{ IDS("{\"name\":\"a\",\"uid\":7}"), "field \"uid\" is not known here" },
		{ KEYS("{\"permit\":[]}"), "\"id\" is missing" },
		{ KEYS("{\"id\":7},{\"id\":7}"), "key 7 is there already" },
		{ KEY("\"id\":7"), "\"id\" is repeated" },
		{ KEY("\"public_key\":\"" PUB_A "\""), "66 hexadecimal digits" },
		{ KEY("\"public_key\":\"04" PUB_A "\""), "begins with 02 or 03" },
		{ KEYS("{\"id\":1,\"public_key\":\"" KEY_A "\"},{\"id\":2,\"public_key\":\"" KEY_A
		       "\"}"),
		  "this is the public key of key 1 already" },
		{ KEY("\"nonce\":\"random\""), "nonce wants hedged" },
		{ KEY("\"nonce\":1"), "a string in \"" },
		{ KEY("\"permit\":\"bip340\""), "a list in [ ]" },
		{ KEY("\"permit\":[\"all\"]"), "there is no type \"all\"" },
		{ KEY("\"permit\":[\"\"]"), "there is no type \"\"" },
		{ KEY("\"permit\":[\"bip340\",\"bip340\"]"), "type \"bip340\" is repeated" },
		{ KEY("\"identities\":[\"mm-3\"]"), "there is no identity \"mm-3\"" },
		{ KEY("\"identities\":[\"mm-1\",\"mm-1\"]"), "identity \"mm-1\" is repeated" },
		{ KEY("\"identities\":[\"*\"]"), "a name has letters" },
		{ KEY("\"identities\":[]]"), "a comma or }" },
		{ KEY("\"unsealed_uids\":[1000,1000]"), "this uid is repeated" },
		{ KEY("\"unsealed_uids\":[\"any\"]"), "integer from 0 to 4294967294" },
		{ KEY("\"unsealed_uids\":[4294967295]"), "integer from 0 to 4294967294" },
		{ KEY("\"unsealed_uids\":[0,1,2,3,4,5,6,7,8]"), "at most 8 unsealed users" },
		{ KEY("\"limit\":7"), "field \"limit\" is not known here" },
	};

	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
		check_refused(wrong[i].json, wrong[i].words);
	check_refused(KEYS("{\"id\":1,\n\n\"nonce\":\"x\"}"), "line 3: nonce wants");
}

Test(manifest, numbers_are_plain_decimals_within_their_bounds)
{
	static const char *const wrong[] = {
		"0", "-1", "+1", "01", "1.0", "1e0", "1E2", "0x1", " ", "1_0", "7 7", "1\t2", "1:",
		"1a", "true", "\"1\"", "9007199254740992", "18446744073709551617",
		"99999999999999999999999999",
	};
	char json[200];

	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		(void)snprintf(json, sizeof json, ANY("%s"), wrong[i]);
		check_refused(json, strpbrk(wrong[i], " \t") && wrong[i][0] != ' ' ?
					    "a comma or } is expected" :
					    "digits alone");
	}
	cr_assert_eq(parse_text(ANY(" 9007199254740991\n")), 0, "%s", why.text);
	cr_assert_eq(parse_text(ANY("1")), 0, "%s", why.text);
	check_refused(KEYS("{\"id\":0}"), "integer from 1 to 4294967295");
	check_refused(KEYS("{\"id\":4294967296}"), "integer from 1 to 4294967295");
}

/* Puts @count items, made of @format and their number, between @head and @tail. */
static const char *many(const char *head, const char *format, unsigned int count, const char *tail)
{
	size_t at = (size_t)snprintf(text, sizeof text, "%s", head);

	for (unsigned int i = 0; i < count; i++) {
		char item[200];

		/* The formats are this file's own. */
		(void)snprintf(item, sizeof item, "%s", format);
		for (char *c = item; *c; c++)
			if (*c == '#' && c[1] == '#') {
				c[0] = (char)('0' + (i + 10) / 10 % 10);
				c[1] = (char)('0' + (i + 10) % 10);
			}
		at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", i ? "," : "", item);
	}
	(void)snprintf(text + at, sizeof text - at, "%s", tail);
	return text;
}

Test(manifest, counts_are_bounded)
{
	static const char id[] = "{\"name\":\"n##\",\"public_key\":\"##112233445566778899aabbccddee"
				 "ff00112233445566778899aabbccddeeff\"}";

	cr_assert_eq(parse_text(many(HEAD ",\"identities\":[", id, 64, "]}")), 0, "%s", why.text);
	cr_assert_eq(manifest.identity_count, 64);
	check_refused(many(HEAD ",\"identities\":[", id, 65, "]}"), "more than 64 identities");
	cr_assert_eq(parse_text(many(HEAD ",\"keys\":[", "{\"id\":##}", 64, "]}")), 0, "%s",
		     why.text);
	cr_assert_eq(manifest.key_count, 64);
	check_refused(many(HEAD ",\"keys\":[", "{\"id\":##}", 65, "]}"), "more than 64 keys");
	cr_assert_eq(sr_manifest_parse(&manifest, text, SR_MANIFEST_BYTES_MAX + 1, &why),
		     -EMSGSIZE);
	cr_assert(strstr(why.text, "at most 262144 bytes"), "%s", why.text);
}

Test(manifest, hostile_texts_of_full_length_end_at_once)
{
	static const char *const fills = "[{\" ";

	for (const char *fill = fills; *fill; fill++) {
		memset(text, *fill, SR_MANIFEST_BYTES_MAX);
		cr_assert_eq(sr_manifest_parse(&manifest, text, SR_MANIFEST_BYTES_MAX, &why),
			     -EBADMSG);
	}
}

Test(manifest, every_truncation_is_refused)
{
	size_t end_of_text = strlen(full) - 1; /* the last newline may go */

	for (size_t n = 0; n < end_of_text; n++)
		cr_assert_eq(sr_manifest_parse(&manifest, full, n, &why), -EBADMSG, "%zu", n);
	cr_assert_eq(sr_manifest_parse(&manifest, full, end_of_text, &why), 0);
}

/* Our parser knows less JSON than there is, and nothing else: whatever byte of a
 * manifest is changed, what it still takes is JSON to others too, with the same
 * values. */
Test(manifest, whatever_it_takes_is_json_to_others)
{
	static const char bytes[] = " \t\n\"\\,:[]{}0129-+.eE/nNt\x7f\xc3";
	unsigned int taken = 0;
	char changed[sizeof full];

	for (size_t at = 0; at < sizeof full - 1; at++) {
		for (size_t b = 0; b < sizeof bytes; b++) { /* the zero too */
			json_error_t error;
			json_t *root;

			memcpy(changed, full, sizeof full);
			changed[at] = bytes[b];
			if (sr_manifest_parse(&manifest, changed, sizeof full - 1, &why))
				continue;
			taken++;
			root = json_loadb(changed, sizeof full - 1, JSON_REJECT_DUPLICATES, &error);
			cr_assert(root, "byte %zu as %02x: %s", at, bytes[b] & 0xff, error.text);
			cr_assert_eq(json_integer_value(json_object_get(root, "version")),
				     (json_int_t)manifest.version);
			cr_assert_eq(json_array_size(json_object_get(root, "keys")),
				     manifest.key_count);
			json_decref(root);
		}
	}
	cr_assert_gt(taken, 100, "the test compares nothing");
}

/* printf 'sigring manifest\0{}' | sha256sum */
Test(manifest, hash_is_over_label_and_bytes)
{
	unsigned char hash[32], want[32];

	cr_assert_eq(sr_manifest_hash(hasher, hash, "{}", 2), 0);
	cr_assert_eq(
		sr_digits_get(want,
			      "c6d10feaae49008853f0d43e75aefa2f5eea6b14b46e58ea53ce73e46fb79422",
			      32),
		0);
	cr_assert_arr_eq(hash, want, 32);
}

Test(manifest, k_signatures_put_it_in_force)
{
	unsigned char hash[32];

	cr_assert_eq(load_text(HEAD "}", 1, 0), -EACCES, "%s", why.text);
	cr_assert_eq(load_text(HEAD "}", 8 | 1, 0), -EACCES, "%s", why.text);
	cr_assert_eq(manifest.version, 0, "nothing is in force");
	cr_assert_eq(load_text(HEAD "}", 8 | 2 | 1, 0), 0, "%s", why.text);
	cr_assert_eq(manifest.version, 7);
	cr_assert_eq(sr_manifest_hash(hasher, hash, HEAD "}", strlen(HEAD "}")), 0);
	cr_assert_arr_eq(manifest.hash, hash, 32);
}

/* What the operators did not sign is not even parsed. */
Test(manifest, signatures_come_before_the_text)
{
	cr_assert_eq(load_text("{\"x\"", 1, 0), -EACCES, "%s", why.text);
	cr_assert_eq(load_text("{\"x\"", 3, 0), -EBADMSG);
	cr_assert(strstr(why.text, "manifest, line 1"), "%s", why.text);
}

Test(manifest, version_only_rises)
{
	struct sr_manifest before;

	cr_assert_eq(load_text(ANY("5"), 3, 0), 0, "%s", why.text);
	before = manifest;
	cr_assert_eq(load_text(ANY("4"), 7, 0), -ESTALE);
	cr_assert(strstr(why.text, "version 4 is below version 5, which is in force"), "%s",
		  why.text);
	cr_assert_eq(load_text(ANY("5"), 7, 0), -EALREADY, "other signatures, the same bytes");
	cr_assert(strstr(why.text, "in force already"), "%s", why.text);
	cr_assert_eq(load_text(ANY("5 "), 7, 0), -EEXIST);
	cr_assert(strstr(why.text, "with other bytes"), "%s", why.text);
	cr_assert_eq(memcmp(&before, &manifest, sizeof before), 0, "touched on failure");
	cr_assert_eq(load_text(ANY("6"), 5, 0), 0, "%s", why.text);
	cr_assert_eq(load_text(ANY("5"), 3, 0), -ESTALE, "never rolled back");
	cr_assert_eq(manifest.version, 6);
}

Test(manifest, minimum_version_guards_a_restart)
{
	cr_assert_eq(load_text(ANY("5"), 3, 6), -ESTALE);
	cr_assert(strstr(why.text, "below the minimum, 6"), "%s", why.text);
	cr_assert_eq(load_text(ANY("6"), 3, 6), 0, "%s", why.text);
}

Test(manifest, every_changed_byte_of_a_signed_one_is_refused)
{
	struct sr_manifest in_force = { 0 };
	size_t bytes = sign_text(full, 3);

	cr_assert_eq(sr_manifest_load(&in_force, hasher, &operators, 0, text, bytes, &why), 0);
	for (size_t i = 0; i < bytes; i++) {
		struct sr_manifest none = { 0 };

		text[i] ^= 1;
		cr_assert_neq(sr_manifest_load(&none, hasher, &operators, 0, text, bytes, &why), 0,
			      "byte %zu", i);
		cr_assert_eq(none.version, 0);
		text[i] ^= 1;
	}
	for (size_t n = 0; n < bytes; n++) {
		struct sr_manifest none = { 0 };

		cr_assert_neq(sr_manifest_load(&none, hasher, &operators, 0, text, n, &why), 0,
			      "%zu bytes", n);
	}
}

/* ---- policies ---- */

#define POLICY(fields) KEY("\"permit\":[\"hyperliquid/order\"],\"policy\":{" fields "}")
#define ASSET(fields) POLICY("\"assets\":[{\"id\":1," fields "}]")

static const char typed[] =
	HEAD ",\"keys\":[ { \"id\": 8, \"permit\": [ \"bip340\" ] },\n"
	"{ \"id\": 7, \"permit\": [ \"hyperliquid/order\", \"ethereum/call\", \"hyperliquid/cancel\" ],\n"
	"  \"policy\": {\n"
	"    \"networks\": [ \"testnet\", \"mainnet\" ], \"chain_ids\": [ 0, 137 ],\n"
	"    \"contracts\": [ \"0xab12\", \"none\" ], \"accounts\": [ \"dydx1abc/0\" ],\n"
	"    \"destinations\": [ \"0x01\" ], \"builders\": [], \"fee_max\": 12,\n"
	"    \"value_max\": \"0.25\",\n"
	"    \"assets\": [ { \"id\": 0, \"size_max\": \"2.50\", \"price_min\": \"0\",\n"
	"        \"price_max\": \"unlimited\", \"notional_max\": \"1000000.000001\" },\n"
	"      { \"id\": \"0xa9059cbb\", \"leverage_max\": 10, \"price_decimals\": 38,\n"
	"        \"size_decimals\": 0, \"tick\": 100, \"spot\": true },\n"
	"      { \"id\": \"115792089237316195423570985008687907853269984665640564039457584007913129639935\",\n"
	"        \"size_max\": \"unlimited\" } ],\n"
	"    \"reduce_only\": false, \"whole_position\": true, \"market_orders\": true,\n"
	"    \"expiry_max_ms\": 60000, \"block_expiry\": true, \"venue_nonce\": \"either\",\n"
	"    \"rate\": { \"key_per_s\": 4, \"key_burst\": 3, \"session_per_s\": 2, \"session_burst\": 1 },\n"
	"    \"window\": { \"seconds\": 3600, \"notional_max\": \"5\" },\n"
	"    \"unexpired_notional_max\": \"unlimited\", \"lease\": false } } ] }";

Test(manifest, everything_in_a_policy_is_read)
{
	const struct sr_policy_table *table = &manifest.policy;
	const struct sr_policy_rules *r = &table->rules[1];
	const struct sr_policy_asset *a = table->assets;

	cr_assert_eq(parse_text(typed), 0, "%s", why.text);
	cr_assert(table->count == 2 && table->asset_count == 3 && table->party_count == 4);
	cr_assert(table->rules[0].key == 8 && r->key == 7);
	cr_assert_eq(r->kinds[SR_TYPE_HYPERLIQUID - SR_TYPE_TYPED_MIN],
		     1u << SR_KIND_ORDER | 1u << SR_KIND_CANCEL);
	cr_assert_eq(r->kinds[SR_TYPE_ETHEREUM - SR_TYPE_TYPED_MIN], 1u << SR_KIND_CALL);
	cr_assert(r->mainnet && r->testnet && r->opens && r->whole_position && r->market_orders &&
		  r->block_expiry && r->unleased);
	cr_assert(r->chain_count == 2 && r->chains[0] == 0 && r->chains[1] == 137);
	cr_assert(r->contracts.first == 0 && r->contracts.count == 2 && r->accounts.first == 2 &&
		  r->accounts.count == 1 && r->destinations.first == 3 &&
		  r->destinations.count == 1 && r->builders.count == 0);
	cr_assert(table->parties[0].bytes == 2 && !memcmp(table->parties[0].data, "\xab\x12", 2));
	cr_assert(table->parties[1].bytes == 0);
	cr_assert(table->parties[2].bytes == 10 &&
		  !memcmp(table->parties[2].data, "dydx1abc/0", 10));
	cr_assert(r->fee_max == 12 && r->value_max == 250000);
	cr_assert(r->assets.first == 0 && r->assets.count == 3);
	cr_assert(a[0].size_max.given && a[0].size_max.value == 250 && a[0].size_max.decimals == 2);
	cr_assert(a[0].price_min.given && a[0].price_min.value == 0);
	cr_assert(a[0].price_max.given && a[0].price_max.unlimited);
	cr_assert_eq(a[0].notional_max, 1000000000001);
	cr_assert(a[0].market.price_decimals == SR_DECIMALS_BY_ASSET &&
		  a[0].market.size_decimals == SR_DECIMALS_BY_ASSET);
	cr_assert(a[1].market.asset.words[0] == 0xa9059cbb && a[1].leverage_max == 10 &&
		  a[1].market.price_decimals == 38 && a[1].market.size_decimals == 0 &&
		  a[1].market.tick == 100 && a[1].market.spot);
	cr_assert_not(a[1].size_max.given);
	for (unsigned int i = 0; i < 4; i++)
		cr_assert_eq(a[2].market.asset.words[i], UINT64_MAX);
	cr_assert(r->expiry_ms_max == 60000 && r->nonce == (SR_POLICY_NONCE_GIVEN |
							    SR_POLICY_NONCE_CHECKED));
	cr_assert(r->key_per_s == 4 && r->key_burst == 3 && r->session_per_s == 2 &&
		  r->session_burst == 1);
	cr_assert(r->window_s == 3600 && r->window_notional_max == 5000000 &&
		  r->unexpired_notional_max == SR_POLICY_UNLIMITED);
}

Test(manifest, policy_that_is_missing_or_empty_is_all_zero)
{
	static const struct sr_policy_rules none;
	struct sr_policy_rules rules;

	cr_assert_eq(parse_text(POLICY("")), 0, "%s", why.text);
	rules = manifest.policy.rules[0];
	cr_assert(rules.key == 7 && rules.kinds[0] == 1u << SR_KIND_ORDER);
	rules.key = rules.kinds[0] = 0;
	cr_assert_eq(memcmp(&rules, &none, sizeof none), 0);
	cr_assert_eq(parse_text(POLICY("\"networks\":[],\"assets\":[],\"contracts\":[],"
				       "\"chain_ids\":[],\"reduce_only\":true,\"lease\":true")),
		     0, "%s", why.text);
	rules = manifest.policy.rules[0];
	rules.key = rules.kinds[0] = 0;
	cr_assert_eq(memcmp(&rules, &none, sizeof none), 0);
}

Test(manifest, blind_and_typed_permissions_exclude_each_other)
{
	static const char words[] = "either blind types or typed ones, at keys[0].permit[1]";

	check_refused(KEY("\"permit\":[\"bip340\",\"hyperliquid/cancel\"]"), words);
	check_refused(KEY("\"permit\":[\"hyperliquid/cancel\",\"ecdsa-digest\"]"), words);
	cr_assert_eq(parse_text(KEYS("{\"id\":1,\"permit\":[\"bip340\"]},"
				     "{\"id\":2,\"permit\":[\"hyperliquid/order\"]}")),
		     0, "%s", why.text);
}

Test(manifest, wrong_policy_is_named_by_its_path_and_what_was_expected)
{
	static const struct {
		const char *json, *words;
	} wrong[] = {
		{ KEYS("{\"id\":1},{\"id\":2,\"policy\":{\"assets\":[{\"id\":0},\n"
		       "{\"id\":1,\"size_max\":2}]}}"),
		  "manifest, line 2: a string in \" is expected, at "
		  "keys[1].policy.assets[1].size_max" },
		{ KEY("\"policy\":[]"), "an object in { } is expected, at keys[0].policy" },
		{ POLICY("\"network\":[]"), "field \"network\" is not known here, at keys[0].policy" },
		{ POLICY("\"lease\":true,\"lease\":true"), "\"lease\" is repeated" },
		{ POLICY("\"lease\":1"), "true or false is expected, at keys[0].policy.lease" },
		{ POLICY("\"lease\":truer"), "true or false is expected" },
		{ POLICY("\"networks\":[\"main\"]"), "\"mainnet\" or \"testnet\" is expected" },
		{ POLICY("\"networks\":[\"mainnet\",\"mainnet\"]"),
		  "repeated, at keys[0].policy.networks[1]" },
		{ POLICY("\"chain_ids\":[1,2,1]"), "repeated, at keys[0].policy.chain_ids[2]" },
		{ POLICY("\"chain_ids\":[1,2,3,4,5,6,7,8,9]"), "more than 8 chain ids" },
		{ POLICY("\"chain_ids\":[\"1\"]"), "a decimal integer" },
		{ POLICY("\"contracts\":[\"0xABCD\"]"), "in lower case" },
		{ POLICY("\"contracts\":[\"0xabc\"]"), "at keys[0].policy.contracts[0]" },
		{ POLICY("\"accounts\":[\"\"]"), "or \"none\" is expected" },
		{ POLICY("\"accounts\":[\"none\",\"none\"]"), "it is repeated" },
		{ POLICY("\"accounts\":[\"0x11\",\"0x12\",\"0x11\"]"), "accounts[2]" },
		{ POLICY("\"fee_max\":0"), "from 1" },
		{ POLICY("\"fee_max\":\"none\""), "a number or \"unlimited\"" },
		{ POLICY("\"value_max\":\"1.0000001\""), "at most 6 decimals" },
		{ POLICY("\"value_max\":\"20000000000000\""), "at keys[0].policy.value_max" },
		{ POLICY("\"value_max\":\"18446744073709.551615\""), "policy.value_max" },
		{ POLICY("\"venue_nonce\":\"none\""), "\"given\", \"checked\" or \"either\"" },
		{ POLICY("\"expiry_max_ms\":0"), "from 1 to 31536000000" },
		{ POLICY("\"expiry_max_ms\":\"unlimited\""), "has to be \"unlimited\" too" },
		{ POLICY("\"expiry_max_ms\":\"unlimited\",\"unexpired_notional_max\":\"1\""),
		  "has to be \"unlimited\" too" },
		{ POLICY("\"rate\":{\"key_per_s\":1,\"key_burst\":1,\"session_per_s\":1}"),
		  "\"session_burst\" is missing, at keys[0].policy.rate" },
		{ POLICY("\"rate\":{\"key_per_s\":1,\"key_burst\":1,\"session_per_s\":2,"
			 "\"session_burst\":1}"),
		  "more than its key" },
		{ POLICY("\"rate\":{\"key_per_s\":1,\"key_burst\":1,\"session_per_s\":1,"
			 "\"session_burst\":2}"),
		  "more than its key" },
		{ POLICY("\"rate\":{\"key_per_s\":1000001}"), "from 1 to 1000000" },
		{ POLICY("\"window\":{\"seconds\":604801}"), "from 1 to 604800" },
		{ POLICY("\"window\":{\"seconds\":1}"), "\"notional_max\" is missing" },
		{ POLICY("\"assets\":[{}]"), "\"id\" is missing, at keys[0].policy.assets[0]" },
		{ POLICY("\"assets\":[{\"id\":1},{\"id\":\"0x01\"}]"), "there already" },
		{ POLICY("\"assets\":[{\"id\":\"01\"}]"), "an id below 2^256" },
		{ POLICY("\"assets\":[{\"id\":\"0x\"}]"), "an id below 2^256" },
		{ POLICY("\"assets\":[{\"id\":\"1157920892373161954235709850086879078532699846656"
			 "40564039457584007913129639936\"}]"),
		  "an id below 2^256" },
		{ ASSET("\"size_max\":\"1.\""), "an amount such as" },
		{ ASSET("\"size_max\":\".5\""), "an amount such as" },
		{ ASSET("\"size_max\":\"-1\""), "an amount such as" },
		{ ASSET("\"size_max\":\"1e3\""), "an amount such as" },
		{ ASSET("\"size_max\":\"01\""), "an amount such as" },
		{ ASSET("\"size_max\":\"1.2.3\""), "an amount such as" },
		{ ASSET("\"size_max\":\"\""), "an amount such as" },
		{ ASSET("\"size_max\":\"18446744073709551616\""), "an amount such as" },
		{ ASSET("\"price_min\":\"unlimited\""),
		  "an amount such as \"12.5\" is expected, at keys[0].policy.assets[0].price_min" },
		{ ASSET("\"leverage_max\":1001"), "from 1 to 1000" },
		{ ASSET("\"size_decimals\":39"), "from 0 to 38" },
		{ ASSET("\"tick\":0"), "assets[0].tick" },
		{ KEY("\"permit\":[\"nowhere/order\"]"), "no venue \"nowhere\"" },
		{ KEY("\"permit\":[\"hyperliquid/none\"]"), "no action \"none\"" },
		{ KEY("\"permit\":[\"hyperliquid/\"]"), "no action \"\"" },
		{ KEY("\"permit\":[\"/order\"]"), "no venue \"\"" },
		{ KEY("\"permit\":[\"hyperliquid/order\",\"hyperliquid/order\"]"), "is repeated" },
		{ KEY("\"permit\":[\"hyperliquid/order\",\"ethereum/call\",\"dydx/order\"]"),
		  "a key trades at one venue: the assets of its policy have one's ids and prices, at "
		  "keys[0].permit[2]" },
	};

	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
		check_refused(wrong[i].json, wrong[i].words);
}

/* Its lists are shared by all keys: no key gets another's. */
Test(manifest, lists_of_policies_have_bounds)
{
	size_t at = (size_t)snprintf(text, sizeof text, HEAD ",\"keys\":[{\"id\":1,"
				     "\"policy\":{\"accounts\":[");

	for (unsigned int i = 0; i < 128; i++)
		at += (size_t)snprintf(text + at, sizeof text - at, "%s\"a%u\"", i ? "," : "", i);
	(void)snprintf(text + at, sizeof text - at, "],\"assets\":[{\"id\":1}]}}]}");
	cr_assert_eq(parse_text(text), 0, "%s", why.text);
	(void)snprintf(text + at, sizeof text - at, "]}},{\"id\":2,\"policy\":{\"contracts\":["
						   "\"0x00\"]}}]}");
	check_refused(text, "more than 128 contracts, accounts, destinations and builders in all "
			    "keys, at keys[1].policy.contracts[0]");

	at = (size_t)snprintf(text, sizeof text, HEAD ",\"keys\":[{\"id\":1,"
			      "\"policy\":{\"assets\":[");
	for (unsigned int i = 0; i < 256; i++)
		at += (size_t)snprintf(text + at, sizeof text - at, "%s{\"id\":%u}", i ? "," : "", i);
	(void)snprintf(text + at, sizeof text - at, "]}}]}");
	cr_assert_eq(parse_text(text), 0, "%s", why.text);
	(void)snprintf(text + at, sizeof text - at, ",{\"id\":256}]}}]}");
	check_refused(text, "more than 256 assets in all keys, at keys[0].policy.assets[256]");
}

static void parse_file(const char *path)
{
	FILE *file = fopen(path, "r");
	size_t bytes;

	cr_assert_not_null(file, "%s", path);
	bytes = fread(text, 1, sizeof text - 1, file);
	(void)fclose(file);
	text[bytes] = '\0';
	cr_assert_eq(parse_text(text), 0, "%s: %s", path, why.text);
}

Test(manifest, shipped_examples_are_taken_and_say_what_they_should)
{
	const struct sr_policy_rules *r = manifest.policy.rules;

	parse_file("docs/examples/manifest-hyperliquid-mm.json");
	cr_assert(manifest.key_count == 1 && manifest.policy.asset_count == 1);
	cr_assert_eq(manifest.keys[0].permissions, 0);
	cr_assert_eq(r->kinds[0],
		     1u << SR_KIND_ORDER | 1u << SR_KIND_CANCEL | 1u << SR_KIND_MODIFY |
			     1u << SR_KIND_CONFIGURE);
	cr_assert(r->value_max == 0 && manifest.policy.assets[0].leverage_max == 0,
		  "it configures a dead man's switch and nothing else");
	cr_assert(r->mainnet && !r->testnet && r->nonce == SR_POLICY_NONCE_GIVEN);
	cr_assert_neq(r->unexpired_notional_max, SR_POLICY_UNLIMITED);
	cr_assert_neq(r->window_notional_max, SR_POLICY_UNLIMITED);

	parse_file("docs/examples/manifest-development.json");
	cr_assert(manifest.key_count == 9 && manifest.schema_count == 3 && !r->mainnet && r->testnet);
}
