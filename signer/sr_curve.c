/* SPDX-License-Identifier: MIT */
#include "sr_curve.h"

#include <secp256k1.h>
#include <secp256k1_extrakeys.h>
#include <secp256k1_preallocated.h>
#include <secp256k1_recovery.h>
#include <secp256k1_schnorrsig.h>
#include <stdlib.h>

#include "sr_ct.h"
#include "sr_hash.h"
#include "sr_secret.h"

struct sr_curve {
	secp256k1_context *ctx; /* in protected memory: it holds the blinding */
	size_t ctx_bytes;
};

/* Our arguments are never illegal; were they, the call's 0 is enough for us and
 * a library must not print. */
static void keep_quiet(const char *text, void *data)
{
	(void)text;
	(void)data;
}

int sr_curve_new(struct sr_curve **curve, const unsigned char seed[32])
{
	struct sr_curve *c = calloc(1, sizeof *c);
	void *mem;
	int ret;

	if (!c)
		return -ENOMEM;

	c->ctx_bytes = secp256k1_context_preallocated_size(SECP256K1_CONTEXT_NONE);
	ret = sr_secret_alloc(&mem, c->ctx_bytes);
	if (ret)
		goto free_curve;

	ret = -EIO;
	c->ctx = secp256k1_context_preallocated_create(mem, SECP256K1_CONTEXT_NONE);
	if (!c->ctx)
		goto free_mem;
	secp256k1_context_set_illegal_callback(c->ctx, keep_quiet, NULL);
	if (!secp256k1_context_randomize(c->ctx, seed))
		goto free_mem;

	*curve = c;
	return 0;
free_mem:
	sr_secret_free(mem, c->ctx_bytes);
free_curve:
	free(c);
	return ret;
}

void sr_curve_delete(struct sr_curve *curve)
{
	if (!curve)
		return;

	secp256k1_context_preallocated_destroy(curve->ctx);
	sr_secret_free(curve->ctx, curve->ctx_bytes);
	free(curve);
}

int sr_curve_blind(struct sr_curve *curve, const unsigned char seed[32])
{
	return secp256k1_context_randomize(curve->ctx, seed) ? 0 : -EIO;
}

static void address_of(const struct sr_curve *curve, unsigned char address[20],
		       const secp256k1_pubkey *point)
{
	unsigned char whole[65], digest[SR_HASH_BYTES];
	size_t bytes = sizeof whole;

	(void)secp256k1_ec_pubkey_serialize(curve->ctx, whole, &bytes, point,
					    SECP256K1_EC_UNCOMPRESSED);
	sr_keccak256(digest, whole + 1, sizeof whole - 1);
	memcpy(address, digest + 12, 20);
}

int sr_curve_pubkey(const struct sr_curve *curve, unsigned char pubkey[SR_PUBKEY_BYTES],
		    unsigned char address[20], const unsigned char seckey[SR_SECKEY_BYTES])
{
	secp256k1_pubkey point;
	size_t bytes = SR_PUBKEY_BYTES;
	int valid = secp256k1_ec_pubkey_create(curve->ctx, &point, seckey);

	sr_declassify(&valid, sizeof valid);
	if (!valid)
		return -EINVAL;

	/* Serialising branches on the point, which is public from here on. */
	sr_declassify(&point, sizeof point);
	(void)secp256k1_ec_pubkey_serialize(curve->ctx, pubkey, &bytes, &point,
					    SECP256K1_EC_COMPRESSED);
	if (address)
		address_of(curve, address, &point);
	return 0;
}

int sr_ecdsa_sign(const struct sr_curve *curve, unsigned char sig[64], uint8_t *recid,
		  const unsigned char digest[32], const unsigned char seckey[SR_SECKEY_BYTES],
		  const unsigned char extra[32])
{
	secp256k1_ecdsa_recoverable_signature made;
	int id, valid;

	valid = secp256k1_ecdsa_sign_recoverable(curve->ctx, &made, digest, seckey, NULL, extra);
	sr_declassify(&valid, sizeof valid);
	if (!valid)
		return -EINVAL;

	sr_declassify(&made, sizeof made);
	(void)secp256k1_ecdsa_recoverable_signature_serialize_compact(curve->ctx, sig, &id, &made);
	*recid = (uint8_t)id;
	return 0;
}

int sr_ecdsa_verify(const struct sr_curve *curve, const unsigned char sig[64],
		    const unsigned char digest[32], const unsigned char pubkey[SR_PUBKEY_BYTES])
{
	secp256k1_ecdsa_signature parsed;
	secp256k1_pubkey point;

	if (!secp256k1_ec_pubkey_parse(curve->ctx, &point, pubkey, SR_PUBKEY_BYTES))
		return -EINVAL;
	if (!secp256k1_ecdsa_signature_parse_compact(curve->ctx, &parsed, sig))
		return -EBADMSG;

	/* The library's verify refuses a high s by itself. */
	return secp256k1_ecdsa_verify(curve->ctx, &parsed, digest, &point) ? 0 : -EBADMSG;
}

int sr_bip340_sign(const struct sr_curve *curve, unsigned char sig[64], const void *message,
		   size_t bytes, const unsigned char seckey[SR_SECKEY_BYTES],
		   const unsigned char aux[32])
{
	secp256k1_schnorrsig_extraparams extra = SECP256K1_SCHNORRSIG_EXTRAPARAMS_INIT;
	unsigned char made[64];
	secp256k1_keypair pair;
	int valid;

	extra.ndata = (void *)(uintptr_t)aux; /* not const there, but only read */

	valid = secp256k1_keypair_create(curve->ctx, &pair, seckey);
	/* The half behind the secret is the public key, and is treated as such. */
	sr_declassify(pair.data + SR_SECKEY_BYTES, sizeof pair.data - SR_SECKEY_BYTES);
	valid &= secp256k1_schnorrsig_sign_custom(curve->ctx, made, message, bytes, &pair, &extra);
	sr_wipe(&pair, sizeof pair);

	sr_declassify(&valid, sizeof valid);
	if (!valid)
		return -EINVAL;

	sr_declassify(made, sizeof made);
	memcpy(sig, made, sizeof made);
	return 0;
}

int sr_bip340_verify(const struct sr_curve *curve, const unsigned char sig[64], const void *message,
		     size_t bytes, const unsigned char pubkey[SR_PUBKEY_BYTES])
{
	secp256k1_xonly_pubkey point;

	if (!secp256k1_xonly_pubkey_parse(curve->ctx, &point, pubkey + 1))
		return -EINVAL;
	return secp256k1_schnorrsig_verify(curve->ctx, sig, message, bytes, &point) ? 0 : -EBADMSG;
}

bool sr_scalar_mul(const struct sr_curve *curve, unsigned char product[SR_SCALAR_BYTES],
		   const unsigned char a[SR_SCALAR_BYTES], const unsigned char b[SR_SCALAR_BYTES])
{
	memmove(product, a, SR_SCALAR_BYTES);
	return secp256k1_ec_seckey_tweak_mul(curve->ctx, product, b);
}

bool sr_scalar_add(const struct sr_curve *curve, unsigned char sum[SR_SCALAR_BYTES],
		   const unsigned char a[SR_SCALAR_BYTES], const unsigned char b[SR_SCALAR_BYTES])
{
	memmove(sum, a, SR_SCALAR_BYTES);
	return secp256k1_ec_seckey_tweak_add(curve->ctx, sum, b);
}

bool sr_scalar_negate(const struct sr_curve *curve, unsigned char negated[SR_SCALAR_BYTES],
		      const unsigned char a[SR_SCALAR_BYTES])
{
	memmove(negated, a, SR_SCALAR_BYTES);
	return secp256k1_ec_seckey_negate(curve->ctx, negated);
}

bool sr_scalar_valid(const struct sr_curve *curve, const unsigned char a[SR_SCALAR_BYTES])
{
	return secp256k1_ec_seckey_verify(curve->ctx, a);
}

/* SEC 2 section 2.4.1, most significant limb first; n, and (n - 1) / 2. */
static const uint64_t order[4] = { 0xffffffffffffffff, 0xfffffffffffffffe, 0xbaaedce6af48a03b,
				   0xbfd25e8cd0364141 };
static const uint64_t order_half[4] = { 0x7fffffffffffffff, 0xffffffffffffffff,
					0x5d576e7357a4501d, 0xdfe92f46681b20a0 };

static void get_limbs(uint64_t limbs[4], const unsigned char bytes[SR_SCALAR_BYTES])
{
	for (uint32_t i = 0; i < 4; i++)
		limbs[i] = __builtin_bswap64(sr_get64(bytes + 8 * i));
}

/* difference = a - b mod 2^256; returns 1 when a < b. */
static uint64_t subtract(uint64_t difference[4], const uint64_t a[4], const uint64_t b[4])
{
	uint64_t borrow = 0;

	for (uint32_t i = 4; i-- > 0;) {
		uint64_t d = a[i] - b[i];
		uint64_t below = (uint64_t)(a[i] < b[i]) | ((uint64_t)(d < borrow));

		difference[i] = d - borrow;
		borrow = below;
	}
	return borrow;
}

void sr_scalar_reduce(unsigned char reduced[SR_SCALAR_BYTES],
		      const unsigned char a[SR_SCALAR_BYTES])
{
	uint64_t limbs[4], less[4], keep;

	/* 2^256 < 2n, so once is enough. */
	get_limbs(limbs, a);
	keep = 0 - subtract(less, limbs, order);
	for (uint32_t i = 0; i < 4; i++)
		sr_put64(reduced + 8 * i,
			 __builtin_bswap64((limbs[i] & keep) | (less[i] & ~keep)));
}

uint32_t sr_scalar_high(const unsigned char a[SR_SCALAR_BYTES])
{
	uint64_t limbs[4], unused[4];

	get_limbs(limbs, a);
	return (uint32_t)subtract(unused, order_half, limbs);
}

void sr_scalar_select(unsigned char out[SR_SCALAR_BYTES], const unsigned char a[SR_SCALAR_BYTES],
		      const unsigned char b[SR_SCALAR_BYTES], uint32_t take_b)
{
	uint64_t mask = 0 - (uint64_t)take_b;

	/* Without this a compiler may see a 0 or a 1 and make it a branch. */
	__asm__ volatile("" : "+r"(mask));
	for (uint32_t i = 0; i < SR_SCALAR_BYTES; i += 8)
		sr_put64(out + i, (sr_get64(a + i) & ~mask) | (sr_get64(b + i) & mask));
}

SR_STATIC_ASSERT(sizeof(struct sr_point) == sizeof(secp256k1_pubkey), "a point is a pubkey");

static secp256k1_pubkey *pubkey_of(struct sr_point *point)
{
	return (secp256k1_pubkey *)(void *)point->opaque;
}

static const secp256k1_pubkey *const_pubkey_of(const struct sr_point *point)
{
	return (const secp256k1_pubkey *)(const void *)point->opaque;
}

bool sr_point_base_mul(const struct sr_curve *curve, struct sr_point *point,
		       const unsigned char k[SR_SCALAR_BYTES])
{
	bool valid = secp256k1_ec_pubkey_create(curve->ctx, pubkey_of(point), k);

	sr_declassify(point, sizeof *point);
	return valid;
}

void sr_point_x(const struct sr_curve *curve, unsigned char x[32], uint32_t *odd,
		const struct sr_point *point)
{
	unsigned char compressed[SR_PUBKEY_BYTES];
	size_t bytes = sizeof compressed;

	(void)secp256k1_ec_pubkey_serialize(curve->ctx, compressed, &bytes, const_pubkey_of(point),
					    SECP256K1_EC_COMPRESSED);
	*odd = compressed[0] & 1u;
	memcpy(x, compressed + 1, 32);
	sr_wipe(compressed, sizeof compressed);
}

bool sr_point_add_var(const struct sr_curve *curve, struct sr_point *sum,
		      const struct sr_point *points, uint32_t count)
{
	const secp256k1_pubkey *list[256];
	secp256k1_pubkey made;

	if (count > 255)
		return false;
	list[0] = const_pubkey_of(sum);
	for (uint32_t i = 0; i < count; i++)
		list[1 + i] = const_pubkey_of(&points[i]);
	if (!secp256k1_ec_pubkey_combine(curve->ctx, &made, list, 1 + count))
		return false;
	memcpy(sum->opaque, made.data, sizeof made.data);
	return true;
}

bool sr_point_equal_var(const struct sr_curve *curve, const struct sr_point *a,
			const struct sr_point *b)
{
	return secp256k1_ec_pubkey_cmp(curve->ctx, const_pubkey_of(a), const_pubkey_of(b)) == 0;
}
