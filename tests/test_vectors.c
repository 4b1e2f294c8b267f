/* SPDX-License-Identifier: MIT */
/*
 * Known answers, through the public interfaces of the signer and of the
 * verifier that judges it. What is transcribed in tests/vectors always runs;
 * the bulk sets that it was taken from run where they are, in $SIGRING_VECTORS
 * or ../shared/vectors, and are skipped by name where they are not. Every set
 * states how many entries it must have, so that an empty file cannot pass.
 */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <jansson.h>

#include "sr_curve.h"
#include "sr_hash.h"
#include "sr_orders.h"
#include "sr_type.h"
#include "sr_verify.h"

#define BYTES_MAX 8192u /* the longest message of any set has 6400 */

static struct sr_verifier *verifier;
static struct sr_curve *curve;
static struct sr_hasher *hasher;

static void setup(void)
{
	static const unsigned char seed[32] = { 7 };

	cr_assert_eq(sr_verifier_new(&verifier), 0);
	cr_assert_eq(sr_curve_new(&curve, seed), 0);
	cr_assert_eq(sr_hasher_new(&hasher), 0);
}

static void teardown(void)
{
	sr_hasher_delete(hasher);
	sr_curve_delete(curve);
	sr_verifier_delete(verifier);
}

TestSuite(vectors, .init = setup, .fini = teardown);
TestSuite(bulk_vectors, .init = setup, .fini = teardown);

static json_t *parsed(const char *path)
{
	json_error_t error;
	json_t *root = json_load_file(path, 0, &error);

	cr_assert_not_null(root, "%s:%d: %s", path, error.line, error.text);
	return root;
}

/* A transcribed file, which must name its source. */
static json_t *transcribed(const char *name)
{
	char path[256];
	json_t *root;

	(void)snprintf(path, sizeof path, "tests/vectors/%s", name);
	root = parsed(path);
	cr_assert_gt(json_string_length(json_object_get(root, "source")), 20, "%s", name);
	return root;
}

/* A bulk set's path, or the test is skipped. */
static const char *bulk(char path[512], const char *name)
{
	const char *folder = getenv("SIGRING_VECTORS");
	struct stat st;

	(void)snprintf(path, 512, "%s/%s", folder ? folder : "../shared/vectors", name);
	if (stat(path, &st))
		cr_skip_test("bulk set %s is not there (SIGRING_VECTORS names the folder)", name);
	return path;
}

/* An array with at least this many entries. */
static json_t *entries(json_t *root, const char *name, size_t at_least)
{
	json_t *array = name ? json_object_get(root, name) : root;

	cr_assert(json_is_array(array), "no array %s", name ? name : "");
	cr_assert_geq(json_array_size(array), at_least, "%s has only %zu entries",
		      name ? name : "it", json_array_size(array));
	return array;
}

/* A string under its name here, or under the one of the set it came from. */
static const char *text_of(const json_t *entry, const char *name, const char *original)
{
	const json_t *value = json_object_get(entry, name);

	if (!value && original)
		value = json_object_get(entry, original);
	cr_assert(json_is_string(value), "no string \"%s\"", name);
	return json_string_value(value);
}

static size_t bytes_of(unsigned char *out, size_t room, const char *hex)
{
	size_t digits;

	if (!strncmp(hex, "0x", 2))
		hex += 2;
	digits = strlen(hex);
	cr_assert_leq(digits / 2, room);
	cr_assert_eq(sr_orders_unhex(out, hex, digits), 0, "not hex: %s", hex);
	return digits / 2;
}

static void exact(unsigned char *out, size_t bytes, const json_t *entry, const char *name,
		  const char *original)
{
	cr_assert_eq(bytes_of(out, bytes, text_of(entry, name, original)), bytes, "%s", name);
}

/* ---- hashes ---- */

static void check_keccak(const unsigned char *message, size_t bytes, const char *expected_hex)
{
	unsigned char expected[32], digest[32];

	cr_assert_eq(bytes_of(expected, 32, expected_hex), 32);
	sr_keccak256(digest, message, bytes);
	cr_assert_arr_eq(digest, expected, 32, "signer's Keccak-256 of %zu bytes", bytes);
	sr_verify_keccak256(digest, message, bytes);
	cr_assert_arr_eq(digest, expected, 32, "verifier's Keccak-256 of %zu bytes", bytes);
}

static void check_sha256(const unsigned char *message, size_t bytes, const char *expected_hex)
{
	unsigned char expected[32], digest[32];

	cr_assert_eq(bytes_of(expected, 32, expected_hex), 32);
	cr_assert_eq(sr_sha256(hasher, digest, message, bytes), 0);
	cr_assert_arr_eq(digest, expected, 32, "signer's SHA-256 of %zu bytes", bytes);
	cr_assert_eq(sr_verify_sha256(digest, message, bytes), 0);
	cr_assert_arr_eq(digest, expected, 32, "verifier's SHA-256 of %zu bytes", bytes);
}

static void check_hashes(const json_t *array,
			 void (*check)(const unsigned char *, size_t, const char *))
{
	static unsigned char message[BYTES_MAX];
	const json_t *entry;
	size_t i;

	json_array_foreach(array, i, entry) {
		size_t bytes = bytes_of(message, sizeof message, text_of(entry, "message", "in"));

		check(message, bytes, text_of(entry, "digest", "out"));
	}
}

Test(vectors, keccak256_of_cosmjs)
{
	json_t *root = transcribed("keccak256.json");

	check_hashes(entries(root, "vectors", 24), check_keccak);
	json_decref(root);
}

Test(bulk_vectors, keccak256_of_cosmjs)
{
	char path[512];
	json_t *root = parsed(bulk(path, "keccak/cosmjs_keccak.json"));

	check_hashes(entries(root, "keccak256", 268), check_keccak);
	json_decref(root);
}

Test(vectors, sha256_of_cavp_short_messages)
{
	json_t *root = transcribed("sha256_cavp.json");

	check_hashes(entries(root, "vectors", 17), check_sha256);
	json_decref(root);
}

Test(bulk_vectors, sha256_of_cosmjs)
{
	char path[512];
	json_t *root = parsed(bulk(path, "sha256/cosmjs_sha256.json"));

	check_hashes(entries(root, "sha256", 390), check_sha256);
	json_decref(root);
}

static size_t check_rsp(const char *path)
{
	static unsigned char message[BYTES_MAX];
	FILE *file = fopen(path, "r");
	char *line = NULL;
	size_t room = 0, bytes = 0, bits = 0, checked = 0;

	cr_assert_not_null(file);
	while (getline(&line, &room, file) > 0) {
		line[strcspn(line, "\r\n")] = 0;
		if (!strncmp(line, "Len = ", 6)) {
			bits = strtoul(line + 6, NULL, 10);
		} else if (!strncmp(line, "Msg = ", 6)) {
			bytes = bytes_of(message, sizeof message, line + 6);
			if (!bits) /* CAVP writes the empty message as 00 */
				bytes = 0;
			cr_assert_eq(bytes * 8, bits);
		} else if (!strncmp(line, "MD = ", 5)) {
			check_sha256(message, bytes, line + 5);
			checked++;
		}
	}
	free(line);
	fclose(file);
	return checked;
}

Test(bulk_vectors, sha256_of_cavp_short_messages)
{
	char path[512];

	cr_assert_eq(check_rsp(bulk(path, "sha256/SHA256ShortMsg.rsp")), 65);
}

Test(bulk_vectors, sha256_of_cavp_long_messages)
{
	char path[512];

	cr_assert_eq(check_rsp(bulk(path, "sha256/SHA256LongMsg.rsp")), 64);
}

static void check_sweep(const json_t *array)
{
	static unsigned char message[BYTES_MAX];
	const json_t *entry;
	size_t i;

	json_array_foreach(array, i, entry) {
		const json_t *length = json_object_get(entry, "length");
		size_t bytes;

		if (!length)
			length = json_object_get(entry, "len");
		bytes = (size_t)json_integer_value(length);
		cr_assert_leq(bytes, sizeof message);
		for (size_t j = 0; j < bytes; j++)
			message[j] = (unsigned char)((7 * j + bytes) % 256);
		check_keccak(message, bytes, text_of(entry, "keccak256", NULL));
		check_sha256(message, bytes, text_of(entry, "sha256", NULL));
	}
}

Test(vectors, both_hashes_around_their_block_sizes)
{
	json_t *root = transcribed("length_sweep.json");

	check_sweep(entries(root, "vectors", 20));
	json_decref(root);
}

Test(bulk_vectors, both_hashes_of_every_even_length_to_300)
{
	char path[512];
	json_t *root = parsed(bulk(path, "keccak/length_sweep_derived.json"));

	check_sweep(entries(root, "vectors", 151));
	json_decref(root);
}

/* ---- ECDSA signing ---- */

struct ecdsa_case {
	unsigned char seckey[32], pubkey[33], digest[32], expected[64];
	uint8_t recovery_id;
};

/* Signed as expected, to the bit, and good by both routes. */
static void check_signing(const struct ecdsa_case *c, const unsigned char *extra, const char *name)
{
	unsigned char signature[64];
	uint8_t recovery_id;

	cr_assert_eq(sr_ecdsa_sign(curve, signature, &recovery_id, c->digest, c->seckey, extra), 0,
		     "%s", name);
	cr_assert_arr_eq(signature, c->expected, 64, "%s", name);
	cr_assert_eq(recovery_id, c->recovery_id, "%s", name);
	cr_assert_eq(sr_ecdsa_verify(curve, signature, c->digest, c->pubkey), 0, "%s", name);
	cr_assert_eq(sr_verify_signature(verifier, c->pubkey, SR_ECDSA_DIGEST, c->digest, 32,
					 signature, recovery_id),
		     0, "%s", name);
	cr_assert_eq(sr_verify_ecdsa(verifier, c->pubkey, 33, c->digest, signature, 64,
				     SR_VERIFY_LOW_S),
		     0, "%s", name);
}

static void read_key(struct ecdsa_case *c, const json_t *entry)
{
	exact(c->seckey, 32, entry, "private_key", "d");
	cr_assert_eq(sr_curve_pubkey(curve, c->pubkey, NULL, c->seckey), 0);
}

static uint8_t recovery_id_of(const json_t *entry)
{
	const json_t *value = json_object_get(entry, "recovery_id");

	if (!value)
		value = json_object_get(entry, "recoveryId");
	return (uint8_t)json_integer_value(value);
}

static void check_deterministic(const json_t *array)
{
	const json_t *entry;
	size_t i;

	json_array_foreach(array, i, entry) {
		struct ecdsa_case c;

		read_key(&c, entry);
		exact(c.digest, 32, entry, "digest", "m");
		exact(c.expected, 64, entry, "signature", NULL);
		c.recovery_id = recovery_id_of(entry);
		check_signing(&c, NULL, text_of(entry, "signature", NULL));
	}
}

/* r is x(k G), which the key derivation computes for the published k. */
static void check_nonces(const json_t *array, bool whole)
{
	const json_t *entry;
	size_t i;

	json_array_foreach(array, i, entry) {
		const char *message = text_of(entry, "message", NULL);
		unsigned char k[32], point[33], signature[64];
		struct ecdsa_case c;
		uint8_t recovery_id;

		read_key(&c, entry);
		exact(k, 32, entry, "k", "k0");
		cr_assert_eq(sr_sha256(hasher, c.digest, message, strlen(message)), 0);
		cr_assert_eq(sr_curve_pubkey(curve, point, NULL, k), 0);
		cr_assert_eq(
			sr_ecdsa_sign(curve, signature, &recovery_id, c.digest, c.seckey, NULL), 0);
		cr_assert_arr_eq(signature, point + 1, 32, "nonce of \"%s\"", message);
		if (!whole)
			continue;
		exact(c.expected, 64, entry, "signature", NULL);
		c.recovery_id = recovery_id_of(entry);
		check_signing(&c, NULL, message);
	}
}

Test(vectors, rfc6979_nonces_and_signatures_of_trezor)
{
	json_t *root = transcribed("rfc6979_trezor.json");

	check_nonces(entries(root, "vectors", 7), true);
	json_decref(root);
}

Test(vectors, rfc6979_nonces_of_noble)
{
	json_t *root = transcribed("rfc6979_noble.json");

	check_nonces(entries(root, "vectors", 10), false);
	json_decref(root);
}

Test(vectors, ecdsa_of_bitcoinjs)
{
	json_t *root = transcribed("ecdsa_bitcoinjs.json");

	check_deterministic(entries(root, "vectors", 40));
	json_decref(root);
}

Test(bulk_vectors, ecdsa_of_bitcoinjs)
{
	char path[512];
	json_t *root = parsed(bulk(path, "secp256k1_ecdsa/bitcoinjs_ecdsa.json"));

	check_deterministic(entries(root, "valid", 2020));
	json_decref(root);
}

Test(vectors, ecdsa_with_extra_entropy_of_bitcoinjs)
{
	json_t *root = transcribed("ecdsa_bitcoinjs.json");
	const json_t *entry;
	size_t i;

	json_array_foreach(entries(root, "extra_entropy", 20), i, entry) {
		unsigned char extra[32];
		struct ecdsa_case c;

		read_key(&c, entry);
		exact(c.digest, 32, entry, "digest", NULL);
		exact(extra, 32, entry, "extra", NULL);
		exact(c.expected, 64, entry, "signature", NULL);
		c.recovery_id = recovery_id_of(entry);
		check_signing(&c, extra, text_of(entry, "extra", NULL));
	}
	json_decref(root);
}

Test(vectors, keys_out_of_range_of_bitcoinjs_sign_nothing)
{
	json_t *root = transcribed("ecdsa_bitcoinjs.json");
	const json_t *entry;
	size_t i;

	json_array_foreach(entries(root, "invalid_sign", 4), i, entry) {
		unsigned char seckey[32], digest[32], signature[64], pubkey[33];
		uint8_t recovery_id = 77;

		memset(signature, 0x5a, sizeof signature);
		exact(seckey, 32, entry, "private_key", NULL);
		exact(digest, 32, entry, "digest", NULL);
		cr_assert_eq(sr_curve_pubkey(curve, pubkey, NULL, seckey), -EINVAL);
		cr_assert_eq(sr_ecdsa_sign(curve, signature, &recovery_id, digest, seckey, NULL),
			     -EINVAL);
		cr_assert_eq(recovery_id, 77);
		for (size_t j = 0; j < sizeof signature; j++)
			cr_assert_eq(signature[j], 0x5a);
	}
	json_decref(root);
}

Test(vectors, invalid_signatures_and_keys_of_bitcoinjs_are_refused)
{
	json_t *root = transcribed("ecdsa_bitcoinjs.json");
	const json_t *entry;
	size_t i;

	json_array_foreach(entries(root, "invalid_verify", 25), i, entry) {
		const char *comment = text_of(entry, "comment", NULL);
		unsigned char pubkey[65], digest[32], signature[64];
		size_t bytes = bytes_of(pubkey, 65, text_of(entry, "public_key", NULL));

		exact(digest, 32, entry, "digest", NULL);
		exact(signature, 64, entry, "signature", NULL);
		cr_assert_neq(sr_verify_ecdsa(verifier, pubkey, bytes, digest, signature, 64,
					      SR_VERIFY_LOW_S),
			      0, "%s", comment);
		if (bytes != 33)
			continue;
		cr_assert_neq(sr_ecdsa_verify(curve, signature, digest, pubkey), 0, "%s", comment);
		for (uint8_t id = 0; id < 4; id++)
			cr_assert_neq(sr_verify_signature(verifier, pubkey, SR_ECDSA_DIGEST, digest,
							  32, signature, id),
				      0, "%s", comment);
	}
	json_array_foreach(entries(root, "invalid_recover", 7), i, entry) {
		unsigned char digest[32], signature[64], pubkey[33];

		exact(digest, 32, entry, "digest", NULL);
		exact(signature, 64, entry, "signature", NULL);
		cr_assert_eq(sr_verify_recover(verifier, pubkey, digest, signature,
					       recovery_id_of(entry)),
			     -EBADMSG, "%s", text_of(entry, "comment", NULL));
	}
	json_decref(root);
}

Test(vectors, seed_loop)
{
	json_t *root = transcribed("seed_loop.json");
	const json_t *entry = json_array_get(entries(root, "vectors", 1), 0);
	unsigned char message[256], published[33];
	struct ecdsa_case c;
	uint8_t id = 0;

	memset(message, 0xab, sizeof message);
	read_key(&c, entry);
	exact(published, 33, entry, "public_key", NULL);
	exact(c.expected, 64, entry, "signature", NULL);
	cr_assert_arr_eq(c.pubkey, published, 33);
	cr_assert_eq(sr_sha256(hasher, c.digest, message, sizeof message), 0);
	while (id < 4 && sr_verify_signature(verifier, c.pubkey, SR_ECDSA_SHA256, message,
					     sizeof message, c.expected, id))
		id++;
	c.recovery_id = id;
	check_signing(&c, NULL, "seed loop");
	json_decref(root);
}

/* The venues' own test keys sign their own orders as the venues published. */
Test(vectors, venue_orders)
{
	json_t *root = transcribed("venue_orders.json");

	check_deterministic(entries(root, "vectors", 60));
	json_decref(root);
}

/* ---- Wycheproof ---- */

enum form { DER_LOW_S, DER, P1363 };

static bool low_s(const unsigned char s[32])
{
	static const unsigned char half_n[32] = {
		0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xff, 0xff, 0xff, 0xff, 0xff, 0x5d, 0x57, 0x6e, 0x73, 0x57, 0xa4,
		0x50, 0x1d, 0xdf, 0xe9, 0x2f, 0x46, 0x68, 0x1b, 0x20, 0xa0,
	};

	return memcmp(s, half_n, 32) <= 0;
}

/* 64 bytes of r || s can also be asked of the signer's own check and of
 * recovery: all three must agree. */
static void cross_check(const unsigned char point[65], const unsigned char digest[32],
			const unsigned char signature[64], bool good, const char *name)
{
	unsigned char pubkey[33], recovered[33];
	int names = 0;

	pubkey[0] = (unsigned char)(2 + (point[64] & 1));
	memcpy(pubkey + 1, point + 1, 32);
	cr_assert_eq(sr_ecdsa_verify(curve, signature, digest, pubkey) == 0,
		     good && low_s(signature + 32), "signer's check of %s", name);
	for (uint8_t id = 0; id < 4; id++)
		names += !sr_verify_recover(verifier, recovered, digest, signature, id) &&
			 !memcmp(recovered, pubkey, 33);
	cr_assert_eq(names, good, "%d recovery ids for %s", names, name);
}

static void check_wycheproof(const json_t *test, const char *point_hex, enum form form)
{
	static unsigned char message[BYTES_MAX], signature[BYTES_MAX];
	unsigned char point[65], digest[32];
	const char *name = text_of(test, "comment", NULL);
	size_t message_bytes = bytes_of(message, BYTES_MAX, text_of(test, "message", "msg"));
	size_t bytes = bytes_of(signature, BYTES_MAX, text_of(test, "signature", "sig"));
	bool good = !strcmp(text_of(test, "result", NULL), "valid");
	int err;

	cr_assert_eq(bytes_of(point, 65, point_hex), 65);
	cr_assert_eq(sr_verify_sha256(digest, message, message_bytes), 0);
	if (form == P1363)
		err = sr_verify_ecdsa(verifier, point, 65, digest, signature, bytes, 0);
	else
		err = sr_verify_ecdsa_der(verifier, point, 65, digest, signature, bytes,
					  form == DER_LOW_S ? SR_VERIFY_LOW_S : 0);
	cr_assert_eq(err, good ? 0 : -EBADMSG, "%s: %d", name, err);
	if (form == P1363 && bytes == 64)
		cross_check(point, digest, signature, good, name);
}

static void check_slice(const char *name, size_t at_least, enum form form)
{
	json_t *root = transcribed(name);
	const json_t *test;
	size_t i, good = 0, total = json_array_size(entries(root, "vectors", at_least));

	json_array_foreach(json_object_get(root, "vectors"), i, test) {
		check_wycheproof(test, text_of(test, "public_key", NULL), form);
		good += !strcmp(text_of(test, "result", NULL), "valid");
	}
	cr_assert_gt(good, 10);
	cr_assert_gt(total - good, 10);
	json_decref(root);
}

static void check_bulk(const char *name, size_t at_least, enum form form)
{
	char path[512];
	json_t *root = parsed(bulk(path, name));
	const json_t *group, *test;
	size_t i, j, checked = 0;

	json_array_foreach(entries(root, "testGroups", 50), i, group) {
		const json_t *key = json_object_get(group, "publicKey");

		json_array_foreach(json_object_get(group, "tests"), j, test) {
			check_wycheproof(test, text_of(key, "uncompressed", NULL), form);
			checked++;
		}
	}
	cr_assert_geq(checked, at_least);
	json_decref(root);
}

Test(vectors, wycheproof_der_with_low_s)
{
	check_slice("wycheproof_bitcoin.json", 50, DER_LOW_S);
}

Test(vectors, wycheproof_der)
{
	check_slice("wycheproof_der.json", 50, DER);
}

Test(vectors, wycheproof_p1363)
{
	check_slice("wycheproof_p1363.json", 35, P1363);
}

Test(bulk_vectors, wycheproof_der_with_low_s)
{
	check_bulk("secp256k1_ecdsa/wycheproof_ecdsa_secp256k1_sha256_bitcoin_test.json", 463,
		   DER_LOW_S);
}

Test(bulk_vectors, wycheproof_der)
{
	check_bulk("secp256k1_ecdsa/wycheproof_ecdsa_secp256k1_sha256_test.json", 476, DER);
}

Test(bulk_vectors, wycheproof_p1363)
{
	check_bulk("secp256k1_ecdsa/wycheproof_ecdsa_secp256k1_sha256_p1363_test.json", 252, P1363);
}

/* ---- BIP-340 ---- */

static void check_bip340(const json_t *entry)
{
	unsigned char message[256], pubkey[33] = { 2 }, signature[64], made[64], seckey[32],
				    aux[32];
	size_t bytes = bytes_of(message, sizeof message, text_of(entry, "message", NULL));
	int index = (int)json_integer_value(json_object_get(entry, "index"));
	bool good = json_is_true(json_object_get(entry, "valid"));

	exact(pubkey + 1, 32, entry, "public_key", NULL);
	exact(signature, 64, entry, "signature", NULL);
	cr_assert_eq(sr_verify_bip340(verifier, pubkey + 1, message, bytes, signature),
		     good ? 0 : -EBADMSG, "verifier on %d", index);
	cr_assert_eq(sr_verify_signature(verifier, pubkey, SR_BIP340, message, bytes, signature, 9),
		     good ? 0 : -EBADMSG, "verifier on %d", index);
	cr_assert_eq(sr_bip340_verify(curve, signature, message, bytes, pubkey) == 0, good,
		     "signer's check on %d", index);
	if (!*text_of(entry, "secret_key", NULL))
		return;

	exact(seckey, 32, entry, "secret_key", NULL);
	exact(aux, 32, entry, "aux", NULL);
	cr_assert_eq(sr_bip340_sign(curve, made, message, bytes, seckey, aux), 0);
	cr_assert_arr_eq(made, signature, 64, "signature %d", index);
}

Test(vectors, bip340)
{
	json_t *root = transcribed("bip340.json");
	const json_t *entry;
	size_t i;

	json_array_foreach(entries(root, "vectors", 19), i, entry)
		check_bip340(entry);
	json_decref(root);
}

/* ---- addresses ---- */

static void check_addresses(const json_t *array)
{
	const json_t *entry;
	size_t i;

	json_array_foreach(array, i, entry) {
		unsigned char seckey[32], expected[20], pubkey[33], address[20];

		exact(seckey, 32, entry, "private_key", "privateKey");
		exact(expected, 20, entry, "address", NULL);
		cr_assert_eq(sr_curve_pubkey(curve, pubkey, address, seckey), 0);
		cr_assert_arr_eq(address, expected, 20, "signer's address %zu", i);
		memset(address, 0, sizeof address);
		cr_assert_eq(sr_verify_address(verifier, address, pubkey, 33), 0);
		cr_assert_arr_eq(address, expected, 20, "verifier's address %zu", i);
	}
}

Test(vectors, addresses_of_ethers)
{
	json_t *root = transcribed("ethers_accounts.json");

	check_addresses(entries(root, "vectors", 25));
	json_decref(root);
}

Test(bulk_vectors, addresses_of_ethers)
{
	char path[512];
	json_t *root = parsed(bulk(path, "ethereum/ethers_accounts.json"));

	check_addresses(entries(root, NULL, 259));
	json_decref(root);
}
