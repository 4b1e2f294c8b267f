/* SPDX-License-Identifier: MIT */
/* The verifier must refuse as well as it accepts: everything that
 * sigring-replay calls verified rests on it. */
#include <criterion/criterion.h>

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/evp.h>

#include "sr_orders.h"
#include "sr_type.h"
#include "sr_verify.h"

/* SHA-256 of 256 bytes of 0xab, signed by the key 0x2a..2a. */
static const char seed_pubkey[] =
	"035be5e9478209674a96e60f1f037f6176540fd001fa1d64694770c56a7709c42c";
static const char seed_signature[] =
	"082e114933b543362e29f818216bfa0a5d5a3bc56e16ca56ea440a99f5478bc0"
	"048611d6038a5b50bbdffbddbb223a9c4da7b760f5555e7fce488491fa5c6233";
static const char order_n[] = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";

/* BIP-340 test vector 1. */
static const char schnorr_key[] =
	"02dff1d77f2a671c5f36183726db2341be58feae1da2deced843240f7b502ba659";
static const char schnorr_message[] =
	"243f6a8885a308d313198a2e03707344a4093822299f31d0082efa98ec4e6c89";
static const char schnorr_signature[] =
	"6896bd60eeae296db48a229ff71dfe071bde413e6d43f917dc8dcf8c78de3341"
	"8906d11ac976abccb20b091292bff4ea897efcb639ea871cfa95f6de339e4b0a";

static struct sr_verifier *verifier;
static unsigned char pubkey[33], message[256], signature[64];
static uint8_t recovery_id;

static void unhex(unsigned char *out, const char *hex)
{
	cr_assert_eq(sr_orders_unhex(out, hex, strlen(hex)), 0);
}

static void setup(void)
{
	cr_assert_eq(sr_verifier_new(&verifier), 0);
	unhex(pubkey, seed_pubkey);
	unhex(signature, seed_signature);
	memset(message, 0xab, sizeof message);
	recovery_id = 0;
	while (recovery_id < 4 && sr_verify_signature(verifier, pubkey, SR_ECDSA_SHA256, message,
						      sizeof message, signature, recovery_id))
		recovery_id++;
}

static void teardown(void)
{
	sr_verifier_delete(verifier);
}

TestSuite(verify, .init = setup, .fini = teardown);

static int check(void)
{
	return sr_verify_signature(verifier, pubkey, SR_ECDSA_SHA256, message, sizeof message,
				   signature, recovery_id);
}

/* value = a - b over 32 big-endian bytes */
static void subtract(unsigned char value[32], const unsigned char a[32], const unsigned char b[32])
{
	int borrow = 0;

	for (int i = 31; i >= 0; i--) {
		int d = a[i] - b[i] - borrow;

		borrow = d < 0;
		value[i] = (unsigned char)(d & 0xff);
	}
}

Test(verify, exactly_one_recovery_id_is_good)
{
	int good = 0;

	for (uint8_t id = 0; id < 255; id++)
		good += sr_verify_signature(verifier, pubkey, SR_ECDSA_SHA256, message,
					    sizeof message, signature, id) == 0;
	cr_assert_eq(good, 1);
	cr_assert_lt(recovery_id, 2);
}

Test(verify, every_flipped_bit_of_a_signature_is_refused)
{
	for (unsigned int bit = 0; bit < 512; bit++) {
		signature[bit / 8] ^= (unsigned char)(1u << bit % 8);
		cr_assert_eq(check(), -EBADMSG, "bit %u", bit);
		signature[bit / 8] ^= (unsigned char)(1u << bit % 8);
	}
	cr_assert_eq(check(), 0);
}

Test(verify, every_flipped_byte_of_message_or_key_is_refused)
{
	for (size_t i = 0; i < sizeof message; i += 17) {
		message[i] ^= 0x80;
		cr_assert_eq(check(), -EBADMSG);
		message[i] ^= 0x80;
	}
	for (size_t i = 0; i < sizeof pubkey; i++) {
		pubkey[i] ^= 1;
		cr_assert_eq(check(), -EBADMSG);
		pubkey[i] ^= 1;
	}
	cr_assert_eq(check(), 0);
}

Test(verify, a_shorter_message_is_refused)
{
	cr_assert_eq(sr_verify_signature(verifier, pubkey, SR_ECDSA_SHA256, message, 255, signature,
					 recovery_id),
		     -EBADMSG);
}

Test(verify, another_type_is_refused)
{
	cr_assert_eq(sr_verify_signature(verifier, pubkey, SR_ECDSA_KECCAK256, message,
					 sizeof message, signature, recovery_id),
		     -EBADMSG);
	cr_assert_eq(sr_verify_signature(verifier, pubkey, SR_BIP340, message, sizeof message,
					 signature, recovery_id),
		     -EBADMSG);
	cr_assert_eq(sr_verify_signature(verifier, pubkey, 0, message, sizeof message, signature,
					 recovery_id),
		     -EINVAL);
	cr_assert_eq(sr_verify_signature(verifier, pubkey, SR_TYPE_BLIND_MAX + 1, message,
					 sizeof message, signature, recovery_id),
		     -EINVAL);
	cr_assert_eq(sr_verify_signature(verifier, pubkey, SR_ECDSA_DIGEST, message, 31, signature,
					 recovery_id),
		     -EINVAL);
}

Test(verify, digest_type_signs_the_bytes_as_they_are)
{
	unsigned char digest[32];

	cr_assert_eq(sr_verify_sha256(digest, message, sizeof message), 0);
	cr_assert_eq(sr_verify_signature(verifier, pubkey, SR_ECDSA_DIGEST, digest, 32, signature,
					 recovery_id),
		     0);
	digest[31] ^= 1;
	cr_assert_eq(sr_verify_signature(verifier, pubkey, SR_ECDSA_DIGEST, digest, 32, signature,
					 recovery_id),
		     -EBADMSG);
}

Test(verify, high_s_is_refused_only_where_low_s_is_required)
{
	unsigned char n[32], digest[32], key[33];

	unhex(n, order_n);
	subtract(signature + 32, n, signature + 32);
	cr_assert_eq(check(), -EBADMSG);
	recovery_id ^= 1;
	cr_assert_eq(check(), -EBADMSG);

	cr_assert_eq(sr_verify_sha256(digest, message, sizeof message), 0);
	cr_assert_eq(sr_verify_ecdsa(verifier, pubkey, 33, digest, signature, 64, 0), 0);
	cr_assert_eq(sr_verify_ecdsa(verifier, pubkey, 33, digest, signature, 64, SR_VERIFY_LOW_S),
		     -EBADMSG);
	cr_assert_eq(sr_verify_recover(verifier, key, digest, signature, recovery_id), 0);
	cr_assert_arr_eq(key, pubkey, 33);
}

Test(verify, r_and_s_out_of_range_are_refused)
{
	unsigned char bad[3][32] = { { 0 } }, digest[32], key[33];

	unhex(bad[1], order_n);
	memset(bad[2], 0xff, 32);
	cr_assert_eq(sr_verify_sha256(digest, message, sizeof message), 0);
	for (int half = 0; half < 2; half++)
		for (int i = 0; i < 3; i++) {
			unhex(signature, seed_signature);
			memcpy(signature + (size_t)half * 32, bad[i], 32);
			cr_assert_eq(check(), -EBADMSG);
			cr_assert_eq(sr_verify_ecdsa(verifier, pubkey, 33, digest, signature, 64,
						     0),
				     -EBADMSG);
			for (uint8_t id = 0; id < 4; id++)
				cr_assert_eq(sr_verify_recover(verifier, key, digest, signature,
							       id),
					     -EBADMSG);
		}
}

Test(verify, other_lengths_of_p1363_are_refused)
{
	unsigned char digest[32], longer[65] = { 0 };

	cr_assert_eq(sr_verify_sha256(digest, message, sizeof message), 0);
	memcpy(longer, signature, 64);
	cr_assert_eq(sr_verify_ecdsa(verifier, pubkey, 33, digest, longer, 64, SR_VERIFY_LOW_S), 0);
	cr_assert_eq(sr_verify_ecdsa(verifier, pubkey, 33, digest, longer, 65, 0), -EBADMSG);
	cr_assert_eq(sr_verify_ecdsa(verifier, pubkey, 33, digest, longer, 63, 0), -EBADMSG);
	cr_assert_eq(sr_verify_ecdsa(verifier, pubkey, 33, digest, longer, 0, 0), -EBADMSG);
}

Test(verify, a_key_that_is_no_point_is_refused)
{
	unsigned char digest[32], address[20], bad[33] = { 2 };

	memset(bad + 1, 0xff, 32);
	cr_assert_eq(sr_verify_sha256(digest, message, sizeof message), 0);
	cr_assert_eq(sr_verify_ecdsa(verifier, bad, 33, digest, signature, 64, 0), -EINVAL);
	cr_assert_eq(sr_verify_ecdsa(verifier, pubkey, 32, digest, signature, 64, 0), -EINVAL);
	cr_assert_eq(sr_verify_address(verifier, address, bad, 33), -EINVAL);
	cr_assert_eq(sr_verify_signature(verifier, bad, SR_ECDSA_SHA256, message, sizeof message,
					 signature, recovery_id),
		     -EBADMSG);
}

/* x(R) above n happens once in 2^128 signatures; made here by choosing R. */
Test(verify, recovery_ids_2_and_3_name_an_x_above_n)
{
	unsigned char digest[32], key[33], sig[64] = { 0 };
	int found = 0;

	cr_assert_eq(sr_verify_sha256(digest, message, sizeof message), 0);
	sig[63] = 1;
	for (unsigned char r = 1; r < 100; r++) {
		sig[31] = r;
		for (uint8_t id = 2; id < 4; id++) {
			if (sr_verify_recover(verifier, key, digest, sig, id))
				continue;
			found++;
			cr_assert_eq(sr_verify_ecdsa(verifier, key, 33, digest, sig, 64, 0), 0);
			cr_assert_eq(sr_verify_signature(verifier, key, SR_ECDSA_DIGEST, digest, 32,
							 sig, id),
				     0);
			cr_assert_eq(sr_verify_signature(verifier, key, SR_ECDSA_DIGEST, digest, 32,
							 sig, id & 1),
				     -EBADMSG);
		}
	}
	cr_assert_gt(found, 20);
}

Test(verify, agrees_with_openssl_on_fresh_keys)
{
	EVP_PKEY *key = EVP_EC_gen("secp256k1");
	unsigned char point[65], der[80], sig[64], digest[32];
	size_t point_bytes, der_bytes;

	cr_assert_not_null(key);
	cr_assert_eq(EVP_PKEY_get_octet_string_param(key, "pub", point, sizeof point, &point_bytes),
		     1);
	cr_assert_eq(point_bytes, 65);
	for (unsigned char i = 0; i < 20; i++) {
		EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new(key, NULL);
		const unsigned char *in = der;
		unsigned char recovered[33];
		ECDSA_SIG *parsed;
		int good = 0;

		memset(digest, i, sizeof digest);
		der_bytes = sizeof der;
		cr_assert_gt(EVP_PKEY_sign_init(ctx), 0);
		cr_assert_gt(EVP_PKEY_sign(ctx, der, &der_bytes, digest, 32), 0);
		EVP_PKEY_CTX_free(ctx);
		parsed = d2i_ECDSA_SIG(NULL, &in, (long)der_bytes);
		cr_assert_eq(BN_bn2binpad(ECDSA_SIG_get0_r(parsed), sig, 32), 32);
		cr_assert_eq(BN_bn2binpad(ECDSA_SIG_get0_s(parsed), sig + 32, 32), 32);
		ECDSA_SIG_free(parsed);

		cr_assert_eq(sr_verify_ecdsa(verifier, point, 65, digest, sig, 64, 0), 0);
		cr_assert_eq(sr_verify_ecdsa_der(verifier, point, 65, digest, der, der_bytes, 0),
			     0);
		for (uint8_t id = 0; id < 4; id++)
			good += !sr_verify_recover(verifier, recovered, digest, sig, id) &&
				!memcmp(recovered + 1, point + 1, 32) &&
				recovered[0] == 2 + (point[64] & 1);
		cr_assert_eq(good, 1);
	}
	EVP_PKEY_free(key);
}

Test(verify, bip340_accepts_its_own_vector_and_no_neighbour)
{
	unsigned char key[33], body[32], sig[64];

	unhex(key, schnorr_key);
	unhex(body, schnorr_message);
	unhex(sig, schnorr_signature);
	cr_assert_eq(sr_verify_signature(verifier, key, SR_BIP340, body, 32, sig, 0), 0);
	key[0] = 3; /* x alone is the key */
	cr_assert_eq(sr_verify_signature(verifier, key, SR_BIP340, body, 32, sig, 0), 0);
	for (unsigned int bit = 0; bit < 512; bit += 3) {
		sig[bit / 8] ^= (unsigned char)(1u << bit % 8);
		cr_assert_eq(sr_verify_signature(verifier, key, SR_BIP340, body, 32, sig, 0),
			     -EBADMSG);
		sig[bit / 8] ^= (unsigned char)(1u << bit % 8);
	}
	body[0] ^= 1;
	cr_assert_eq(sr_verify_signature(verifier, key, SR_BIP340, body, 32, sig, 0), -EBADMSG);
}

Test(verify, outputs_are_untouched_on_failure)
{
	unsigned char key[33], digest[32] = { 0 };

	memset(key, 0x5a, sizeof key);
	memset(signature, 0, sizeof signature);
	cr_assert_eq(sr_verify_recover(verifier, key, digest, signature, 0), -EBADMSG);
	for (size_t i = 0; i < sizeof key; i++)
		cr_assert_eq(key[i], 0x5a);
}
