/* SPDX-License-Identifier: MIT */
#include "sr_verify.h"

#include <stdlib.h>

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/obj_mac.h>
#include <openssl/params.h>

#include "sr_type.h"

#define KECCAK_RATE_BYTES 136u
#define KECCAK_ROUNDS 24

struct sr_verifier {
	EC_GROUP *group;
	const BIGNUM *p; /* of the field; both borrowed from the group */
	const BIGNUM *n; /* of the points */
	BIGNUM *half_n;
	BN_CTX *scratch;
	BIGNUM *r, *s, *e, *u, *v;
	EC_POINT *a, *b;
};

int sr_verifier_new(struct sr_verifier **verifier)
{
	struct sr_verifier *v = calloc(1, sizeof *v);
	int err = -ENOMEM;

	if (!v)
		return -ENOMEM;
	v->group = EC_GROUP_new_by_curve_name(NID_secp256k1);
	if (!v->group) {
		err = -ENOSYS;
		goto fail;
	}
	v->p = EC_GROUP_get0_field(v->group);
	v->n = EC_GROUP_get0_order(v->group);
	v->half_n = BN_new();
	v->scratch = BN_CTX_new();
	v->r = BN_new();
	v->s = BN_new();
	v->e = BN_new();
	v->u = BN_new();
	v->v = BN_new();
	v->a = EC_POINT_new(v->group);
	v->b = EC_POINT_new(v->group);
	if (!v->half_n || !v->scratch || !v->r || !v->s || !v->e || !v->u || !v->v || !v->a ||
	    !v->b)
		goto fail;
	if (!BN_rshift1(v->half_n, v->n))
		goto fail;
	*verifier = v;
	return 0;
fail:
	sr_verifier_delete(v);
	ERR_clear_error();
	return err;
}

void sr_verifier_delete(struct sr_verifier *v)
{
	if (!v)
		return;
	EC_POINT_free(v->b);
	EC_POINT_free(v->a);
	BN_free(v->v);
	BN_free(v->u);
	BN_free(v->e);
	BN_free(v->s);
	BN_free(v->r);
	BN_CTX_free(v->scratch);
	BN_free(v->half_n);
	EC_GROUP_free(v->group);
	free(v);
}

/* OpenSSL queues an error for each refusal; nobody here reads that queue. */
static int judged(int good)
{
	ERR_clear_error();
	return good ? 0 : -EBADMSG;
}

int sr_verify_sha256(unsigned char digest[32], const void *message, size_t bytes)
{
	unsigned char out[32];

	if (!EVP_Digest(message, bytes, out, NULL, EVP_sha256(), NULL)) {
		ERR_clear_error();
		return -ENOMEM;
	}
	memcpy(digest, out, sizeof out);
	return 0;
}

static uint64_t rotated(uint64_t lane, unsigned int by)
{
	return by % 64 ? lane << by % 64 | lane >> (64 - by % 64) : lane;
}

/* Keccak reference, section 1.2: the round constants come from an LFSR whose
 * bit for position 2^j - 1 of round i is its output 7 i + j. */
static uint64_t round_constant(unsigned char *lfsr)
{
	uint64_t constant = 0;

	for (unsigned int j = 0; j < 7; j++) {
		if (*lfsr & 1)
			constant |= (uint64_t)1 << ((1u << j) - 1);
		*lfsr = (unsigned char)(*lfsr & 0x80 ? *lfsr << 1 ^ 0x71 : *lfsr << 1);
	}
	return constant;
}

static void keccak_f1600(uint64_t a[5][5])
{
	unsigned char lfsr = 1;

	for (int round = 0; round < KECCAK_ROUNDS; round++) {
		uint64_t c[5], b[5][5];
		unsigned int x = 1, y = 0;

		for (int i = 0; i < 5; i++) /* theta */
			c[i] = a[i][0] ^ a[i][1] ^ a[i][2] ^ a[i][3] ^ a[i][4];
		for (int i = 0; i < 5; i++)
			for (int j = 0; j < 5; j++)
				a[i][j] ^= c[(i + 4) % 5] ^ rotated(c[(i + 1) % 5], 1);

		b[0][0] = a[0][0]; /* rho and pi, along the walk that defines both */
		for (unsigned int t = 0; t < 24; t++) {
			unsigned int to = (2 * x + 3 * y) % 5;

			b[y][to] = rotated(a[x][y], (t + 1) * (t + 2) / 2);
			x = y;
			y = to;
		}
		for (int i = 0; i < 5; i++) /* chi */
			for (int j = 0; j < 5; j++)
				a[i][j] = b[i][j] ^ (~b[(i + 1) % 5][j] & b[(i + 2) % 5][j]);
		a[0][0] ^= round_constant(&lfsr); /* iota */
	}
}

static void absorb_byte(uint64_t a[5][5], size_t position, unsigned char byte)
{
	size_t lane = position / 8;

	a[lane % 5][lane / 5] ^= (uint64_t)byte << (position % 8 * 8);
}

void sr_verify_keccak256(unsigned char digest[32], const void *message, size_t bytes)
{
	const unsigned char *m = message;
	uint64_t a[5][5] = { { 0 } };

	for (size_t i = 0; i < bytes; i++) {
		absorb_byte(a, i % KECCAK_RATE_BYTES, m[i]);
		if (i % KECCAK_RATE_BYTES == KECCAK_RATE_BYTES - 1)
			keccak_f1600(a);
	}
	absorb_byte(a, bytes % KECCAK_RATE_BYTES, 0x01);
	absorb_byte(a, KECCAK_RATE_BYTES - 1, 0x80);
	keccak_f1600(a);
	for (size_t i = 0; i < 32; i++)
		digest[i] = (unsigned char)(a[i / 8][0] >> (i % 8 * 8));
}

/* 0 < x < n: the range of r and s. */
static int in_range(const struct sr_verifier *v, const BIGNUM *x)
{
	return !BN_is_zero(x) && !BN_is_negative(x) && BN_cmp(x, v->n) < 0;
}

/* The key as OpenSSL's provider takes it; NULL when it is no point. */
static EVP_PKEY *key_from_bytes(const unsigned char *pubkey, size_t bytes)
{
	char group[] = SN_secp256k1;
	unsigned char copy[65];
	OSSL_PARAM params[3];
	EVP_PKEY_CTX *ctx;
	EVP_PKEY *key = NULL;

	if (bytes != 33 && bytes != 65)
		return NULL;
	memcpy(copy, pubkey, bytes); /* the parameter's pointer is not const */
	params[0] = OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, group, 0);
	params[1] = OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, copy, bytes);
	params[2] = OSSL_PARAM_construct_end();

	ctx = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
	if (ctx && EVP_PKEY_fromdata_init(ctx) > 0 &&
	    EVP_PKEY_fromdata(ctx, &key, EVP_PKEY_PUBLIC_KEY, params) <= 0)
		key = NULL;
	EVP_PKEY_CTX_free(ctx);
	return key;
}

static int ecdsa_der(const unsigned char *pubkey, size_t pubkey_bytes,
		     const unsigned char digest[32], const unsigned char *der, size_t der_bytes)
{
	EVP_PKEY *key = key_from_bytes(pubkey, pubkey_bytes);
	EVP_PKEY_CTX *ctx;
	int good;

	if (!key) {
		ERR_clear_error();
		return -EINVAL;
	}
	/* OpenSSL encodes what it has read once more and compares, so that only
	 * DER gets through, without a byte behind it. */
	ctx = EVP_PKEY_CTX_new(key, NULL);
	good = ctx && EVP_PKEY_verify_init(ctx) > 0 &&
	       EVP_PKEY_verify(ctx, der, der_bytes, digest, 32) == 1;
	EVP_PKEY_CTX_free(ctx);
	EVP_PKEY_free(key);
	return judged(good);
}

int sr_verify_ecdsa_der(struct sr_verifier *v, const unsigned char *pubkey, size_t pubkey_bytes,
			const unsigned char digest[32], const unsigned char *signature,
			size_t signature_bytes, uint32_t flags)
{
	const unsigned char *in = signature;
	ECDSA_SIG *sig;
	int low;

	if (signature_bytes > 256) /* r and s of this curve need 72 */
		return -EBADMSG;
	if (flags & SR_VERIFY_LOW_S) {
		sig = d2i_ECDSA_SIG(NULL, &in, (long)signature_bytes);
		low = sig && BN_cmp(ECDSA_SIG_get0_s(sig), v->half_n) <= 0;
		ECDSA_SIG_free(sig);
		if (!low)
			return judged(0);
	}
	return ecdsa_der(pubkey, pubkey_bytes, digest, signature, signature_bytes);
}

int sr_verify_ecdsa(struct sr_verifier *v, const unsigned char *pubkey, size_t pubkey_bytes,
		    const unsigned char digest[32], const unsigned char *signature,
		    size_t signature_bytes, uint32_t flags)
{
	BIGNUM *r, *s;
	ECDSA_SIG *sig;
	unsigned char *der = NULL;
	int err, bytes;

	if (signature_bytes != 64)
		return -EBADMSG;
	r = BN_bin2bn(signature, 32, NULL);
	s = BN_bin2bn(signature + 32, 32, NULL);
	sig = ECDSA_SIG_new();
	if (!r || !s || !sig || !ECDSA_SIG_set0(sig, r, s)) {
		BN_free(r);
		BN_free(s);
		ECDSA_SIG_free(sig);
		ERR_clear_error();
		return -ENOMEM;
	}
	if (!in_range(v, r) || !in_range(v, s) ||
	    ((flags & SR_VERIFY_LOW_S) && BN_cmp(s, v->half_n) > 0)) {
		ECDSA_SIG_free(sig);
		return -EBADMSG;
	}
	bytes = i2d_ECDSA_SIG(sig, &der);
	ECDSA_SIG_free(sig);
	if (bytes <= 0) {
		ERR_clear_error();
		return -ENOMEM;
	}
	err = ecdsa_der(pubkey, pubkey_bytes, digest, der, (size_t)bytes);
	OPENSSL_free(der);
	return err;
}

int sr_verify_recover(struct sr_verifier *v, unsigned char pubkey[33],
		      const unsigned char digest[32], const unsigned char signature[64],
		      uint8_t recovery_id)
{
	unsigned char point[33], out[33];
	int good;

	if (recovery_id > 3)
		return -EBADMSG;
	if (!BN_bin2bn(signature, 32, v->r) || !BN_bin2bn(signature + 32, 32, v->s) ||
	    !BN_bin2bn(digest, 32, v->e))
		return -ENOMEM;
	if (!in_range(v, v->r) || !in_range(v, v->s))
		return -EBADMSG;

	/* R: its x is r, or r + n where that is still below p. */
	if (!BN_copy(v->u, v->r) || ((recovery_id & 2) && !BN_add(v->u, v->u, v->n)))
		return -ENOMEM;
	if (BN_cmp(v->u, v->p) >= 0)
		return -EBADMSG;
	point[0] = (unsigned char)(2 + (recovery_id & 1));
	if (BN_bn2binpad(v->u, point + 1, 32) != 32 ||
	    !EC_POINT_oct2point(v->group, v->a, point, sizeof point, v->scratch))
		return judged(0);

	/* Q = (-z / r) G + (s / r) R, SEC 1 section 4.1.6. */
	good = BN_mod_inverse(v->u, v->r, v->n, v->scratch) &&
	       BN_mod_mul(v->v, v->s, v->u, v->n, v->scratch) &&
	       BN_mod_mul(v->u, v->e, v->u, v->n, v->scratch) && BN_sub(v->u, v->n, v->u) &&
	       EC_POINT_mul(v->group, v->b, v->u, v->a, v->v, v->scratch) &&
	       !EC_POINT_is_at_infinity(v->group, v->b) &&
	       EC_POINT_point2oct(v->group, v->b, POINT_CONVERSION_COMPRESSED, out, sizeof out,
				  v->scratch) == sizeof out;
	if (good)
		memcpy(pubkey, out, sizeof out);
	return judged(good);
}

/* e = tagged hash of r, P and m: SHA-256 of the tag's hash twice, then those. */
static int bip340_challenge(unsigned char e[32], const unsigned char r[32],
			    const unsigned char xonly[32], const void *message, size_t bytes)
{
	static const char tag[] = "BIP0340/challenge";
	unsigned char tag_hash[32], out[32];
	EVP_MD_CTX *ctx;
	int good;

	if (sr_verify_sha256(tag_hash, tag, sizeof tag - 1))
		return -ENOMEM;
	ctx = EVP_MD_CTX_new();
	good = ctx && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) &&
	       EVP_DigestUpdate(ctx, tag_hash, 32) && EVP_DigestUpdate(ctx, tag_hash, 32) &&
	       EVP_DigestUpdate(ctx, r, 32) && EVP_DigestUpdate(ctx, xonly, 32) &&
	       EVP_DigestUpdate(ctx, message, bytes) && EVP_DigestFinal_ex(ctx, out, NULL);
	EVP_MD_CTX_free(ctx);
	if (!good) {
		ERR_clear_error();
		return -ENOMEM;
	}
	memcpy(e, out, sizeof out);
	return 0;
}

int sr_verify_bip340(struct sr_verifier *v, const unsigned char xonly[32], const void *message,
		     size_t bytes, const unsigned char signature[64])
{
	unsigned char point[33], challenge[32];
	int err, good;

	point[0] = 2; /* lift_x: the even one of the two points */
	memcpy(point + 1, xonly, 32);
	if (!EC_POINT_oct2point(v->group, v->a, point, sizeof point, v->scratch))
		return judged(0);
	if (!BN_bin2bn(signature, 32, v->r) || !BN_bin2bn(signature + 32, 32, v->s))
		return -ENOMEM;
	if (BN_cmp(v->r, v->p) >= 0 || BN_cmp(v->s, v->n) >= 0)
		return -EBADMSG;
	err = bip340_challenge(challenge, signature, xonly, message, bytes);
	if (err)
		return err;

	/* R = s G - e P must have an even y and the x that was given. */
	good = BN_bin2bn(challenge, 32, v->e) && BN_nnmod(v->e, v->e, v->n, v->scratch) &&
	       BN_sub(v->e, v->n, v->e) &&
	       EC_POINT_mul(v->group, v->b, v->s, v->a, v->e, v->scratch) &&
	       !EC_POINT_is_at_infinity(v->group, v->b) &&
	       EC_POINT_get_affine_coordinates(v->group, v->b, v->u, v->v, v->scratch) &&
	       !BN_is_odd(v->v) && BN_cmp(v->u, v->r) == 0;
	return judged(good);
}

int sr_verify_address(struct sr_verifier *v, unsigned char address[20], const unsigned char *pubkey,
		      size_t pubkey_bytes)
{
	unsigned char xy[65], digest[32];

	if ((pubkey_bytes != 33 && pubkey_bytes != 65) ||
	    !EC_POINT_oct2point(v->group, v->a, pubkey, pubkey_bytes, v->scratch) ||
	    EC_POINT_point2oct(v->group, v->a, POINT_CONVERSION_UNCOMPRESSED, xy, sizeof xy,
			       v->scratch) != sizeof xy) {
		ERR_clear_error();
		return -EINVAL;
	}
	sr_verify_keccak256(digest, xy + 1, 64);
	memcpy(address, digest + 12, 20);
	return 0;
}

static int body_digest(unsigned char digest[32], uint32_t type, const void *body, size_t bytes)
{
	switch (type) {
	case SR_ECDSA_SHA256:
		return sr_verify_sha256(digest, body, bytes);
	case SR_ECDSA_KECCAK256:
		sr_verify_keccak256(digest, body, bytes);
		return 0;
	case SR_ECDSA_DIGEST:
		if (bytes != 32)
			return -EINVAL;
		memcpy(digest, body, 32);
		return 0;
	default:
		return -EINVAL;
	}
}

int sr_verify_signature(struct sr_verifier *v, const unsigned char pubkey[33], uint32_t type,
			const void *body, size_t body_bytes, const unsigned char signature[64],
			uint8_t recovery_id)
{
	unsigned char digest[32], recovered[33];
	int err;

	if (type == SR_BIP340)
		return sr_verify_bip340(v, pubkey + 1, body, body_bytes, signature);
	err = body_digest(digest, type, body, body_bytes);
	if (err)
		return err;
	if (!BN_bin2bn(signature + 32, 32, v->s))
		return -ENOMEM;
	if (BN_cmp(v->s, v->half_n) > 0)
		return -EBADMSG;
	err = sr_verify_recover(v, recovered, digest, signature, recovery_id);
	if (err)
		return err;
	return memcmp(recovered, pubkey, sizeof recovered) ? -EBADMSG : 0;
}
