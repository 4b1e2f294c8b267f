/* SPDX-License-Identifier: MIT */
#include "sr_presign.h"

#include "sr_ct.h"
#include "sr_secret.h"

static const unsigned char zero[SR_SCALAR_BYTES];

/* For what is public: a digest, a challenge, a check's verdict. */
static bool is_zero_var(const unsigned char a[SR_SCALAR_BYTES])
{
	return memcmp(a, zero, SR_SCALAR_BYTES) == 0;
}

static int verdict(bool good)
{
	sr_declassify(&good, sizeof good);
	return good ? 0 : -EBADMSG;
}

/* An addition that fails although its operands are scalars has come to 0. */
static int sum_verdict(bool operands, bool sum)
{
	bool zero_sum = operands & !sum;

	sr_declassify(&zero_sum, sizeof zero_sum);
	if (zero_sum)
		return -ERANGE;
	return verdict(operands);
}

/* out = negate ? n - a : a; @unused is overwritten. */
static bool negate_if(unsigned char *out, unsigned char *unused, const unsigned char *a,
		      uint32_t negate)
{
	bool good = sr_scalar_negate(unused, a);

	sr_scalar_select(out, a, unused, negate);
	return good;
}

int sr_presign_ecdsa_compute(const struct sr_curve *curve, struct sr_presign_work *w,
			     const struct sr_presign_key *key)
{
	unsigned char *s = w->scratch[0], *uz = w->scratch[1];
	const struct sr_presig *p = &w->presig;
	bool good, sum = true;
	int ret;

	good = sr_scalar_mul(curve, s, p->ur, key->d);
	if (!is_zero_var(w->z)) {
		good &= sr_scalar_mul(curve, uz, p->u, w->z);
		sum = sr_scalar_add(s, s, uz);
	}
	ret = sum_verdict(good, sum);
	if (ret)
		return ret;

	w->flipped = sr_scalar_high(s);
	good = negate_if(w->sig + 32, w->scratch[1], s, w->flipped);
	memcpy(w->sig, p->r, SR_SCALAR_BYTES);
	return verdict(good);
}

int sr_presign_ecdsa_check(const struct sr_curve *curve, struct sr_presign_work *w,
			   const struct sr_presign_key *key)
{
	unsigned char *k = w->scratch[0], *left = w->scratch[1], *right = w->scratch[2];
	const unsigned char *r = w->sig, *s = w->sig + 32;
	bool good;

	/* The s that leaves belongs to n - k when it was flipped. */
	good = negate_if(k, left, w->presig.k, w->flipped);
	good &= sr_scalar_mul(curve, left, k, s);
	if (!is_zero_var(w->z_again)) {
		good &= sr_scalar_negate(right, w->z_again);
		good &= sr_scalar_add(left, left, right);
	}
	good &= sr_scalar_mul(curve, left, left, key->b);
	good &= sr_scalar_mul(curve, right, key->bd, r);
	good &= sr_equal(left, right, SR_SCALAR_BYTES);
	good &= !sr_scalar_high(s);
	return verdict(good);
}

/* Wipes everything but a signature that may leave, and the stack of the calls. */
static int finish(struct sr_presign_work *w, int ret)
{
	unsigned char sig[64];

	if (ret == 0) {
		sr_declassify(w->sig, sizeof w->sig);
		memcpy(sig, w->sig, sizeof sig);
	}
	sr_wipe(w, sizeof *w);
	if (ret == 0)
		memcpy(w->sig, sig, sizeof sig);
	sr_wipe_stack_scalar();
	return ret;
}

int sr_presign_ecdsa(const struct sr_curve *curve, struct sr_presign_work *w, uint8_t *recid,
		     const unsigned char digest[32], const struct sr_presign_key *key)
{
	uint32_t id;
	int ret;

	if ((w->presig.made ^ w->presig.odd) != SR_PRESIG_MADE)
		return finish(w, -EINVAL);

	sr_scalar_reduce(w->z, digest);
	sr_scalar_reduce(w->z_again, digest);
	ret = sr_presign_ecdsa_compute(curve, w, key);
	if (!ret)
		ret = sr_presign_ecdsa_check(curve, w, key);
	id = w->presig.odd ^ w->flipped;
	ret = finish(w, ret);
	if (!ret) {
		sr_declassify(&id, sizeof id);
		*recid = (uint8_t)id;
	}
	return ret;
}

int sr_presign_bip340_compute(const struct sr_curve *curve, struct sr_presign_work *w,
			      uint32_t key_odd, const struct sr_presign_key *key)
{
	unsigned char *k = w->scratch[0], *ed = w->scratch[1], *unused = w->scratch[2];
	bool good, sum = true;
	int ret;

	good = negate_if(k, unused, w->presig.k, w->presig.odd);
	if (!is_zero_var(w->z)) {
		good &= negate_if(ed, unused, key->d, key_odd);
		good &= sr_scalar_mul(curve, ed, ed, w->z);
		sum = sr_scalar_add(k, k, ed);
	}
	ret = sum_verdict(good, sum);
	if (!ret)
		memcpy(w->sig + 32, k, SR_SCALAR_BYTES);
	return ret;
}

/*
 * With +-d the key's and +-k the nonce's effective secret: s*u - e*u*d = +-1. All
 * is multiplied by b, so that the key itself is not used again, and k is not
 * used at all: u stands for it. u*r = (u*r) catches a fault in the r that leaves.
 */
int sr_presign_bip340_check(const struct sr_curve *curve, struct sr_presign_work *w,
			    uint32_t key_odd, const struct sr_presign_key *key)
{
	unsigned char *left = w->scratch[0], *right = w->scratch[1];
	unsigned char *unused = w->scratch[2], *b = w->scratch[3], *ur = w->scratch[4];
	const unsigned char *u = w->presig.u;
	bool good;

	good = sr_scalar_mul(curve, left, w->sig + 32, u);
	good &= sr_scalar_mul(curve, left, left, key->b);
	if (!is_zero_var(w->z_again)) {
		good &= sr_scalar_mul(curve, right, key->bd, w->z_again);
		good &= sr_scalar_mul(curve, right, right, u);
		/* Subtract, and so keep the sign of an odd key. */
		good &= negate_if(right, unused, right, 1u ^ key_odd);
		good &= sr_scalar_add(left, left, right);
	}
	good &= negate_if(b, unused, key->b, w->presig.odd);
	good &= sr_equal(left, b, SR_SCALAR_BYTES);
	good &= sr_scalar_mul(curve, ur, u, w->sig);
	good &= sr_equal(ur, w->presig.ur, SR_SCALAR_BYTES);
	return verdict(good);
}

/* BIP-340, "Default signing": e = tagged hash of R, P and the message, mod n. */
static int challenge(struct sr_hasher *hasher, unsigned char e[SR_SCALAR_BYTES],
		     const unsigned char r[32], const unsigned char pubkey[SR_PUBKEY_BYTES],
		     const void *message, size_t bytes)
{
	/* SHA-256("BIP0340/challenge") */
	static const unsigned char tag[SR_HASH_BYTES] = {
		0x7b, 0xb5, 0x2d, 0x7a, 0x9f, 0xef, 0x58, 0x32, 0x3e, 0xb1, 0xbf,
		0x7a, 0x40, 0x7d, 0xb3, 0x82, 0xd2, 0xf3, 0xf2, 0xd8, 0x1b, 0xb1,
		0x22, 0x4f, 0x49, 0xfe, 0x51, 0x8f, 0x6d, 0x48, 0xd3, 0x7c,
	};
	const struct sr_hash_part parts[] = {
		{ tag, sizeof tag }, { tag, sizeof tag }, { r, 32 },
		{ pubkey + 1, 32 },  { message, bytes },
	};
	unsigned char digest[SR_HASH_BYTES];
	int ret = sr_sha256_parts(hasher, digest, parts, sizeof parts / sizeof parts[0]);

	if (!ret)
		sr_scalar_reduce(e, digest);
	return ret;
}

int sr_presign_bip340(const struct sr_curve *curve, struct sr_hasher *hasher,
		      struct sr_presign_work *w, const void *message, size_t bytes,
		      const unsigned char pubkey[SR_PUBKEY_BYTES],
		      const struct sr_presign_key *key)
{
	uint32_t key_odd = pubkey[0] & 1u;
	int ret;

	if ((w->presig.made ^ w->presig.odd) != SR_PRESIG_MADE)
		return finish(w, -EINVAL);

	memcpy(w->sig, w->presig.r, SR_SCALAR_BYTES);
	ret = challenge(hasher, w->z, w->sig, pubkey, message, bytes);
	if (!ret)
		ret = challenge(hasher, w->z_again, w->sig, pubkey, message, bytes);
	if (!ret)
		ret = sr_presign_bip340_compute(curve, w, key_odd, key);
	if (!ret)
		ret = sr_presign_bip340_check(curve, w, key_odd, key);
	return finish(w, ret);
}
