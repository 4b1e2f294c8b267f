/* SPDX-License-Identifier: MIT */
/*
 * sr_curve.h - the curve secp256k1: signatures, and the scalars and points from
 * which presignatures are made. sr_curve.c is the one file that talks to
 * libsecp256k1, and it uses the public API alone.
 *
 * Secret scalars are given by pointer into protected memory (sr_secret.h) and
 * are not kept. Signatures have low s; a recovery id is taken after the flip.
 * A context belongs to one thread.
 */
#ifndef SR_CURVE_H
#define SR_CURVE_H

#include "sr_base.h"

#define SR_SECKEY_BYTES 32u
#define SR_PUBKEY_BYTES 33u /* compressed, SEC 1 section 2.3.3 */

struct sr_curve;

SR_BEGIN_DECLS

/*
 * sr_curve_new - make a context and blind it.
 *
 * @seed: 32 secret random bytes; not kept.
 * Returns 0 with *curve set; -ENOMEM or -ENOSYS (see sr_secret_alloc); -EIO.
 */
SR_WARN_UNUSED int sr_curve_new(struct sr_curve **curve, const unsigned char seed[32]);
void sr_curve_delete(struct sr_curve *curve); /* NULL is legal */

/* sr_curve_blind - blind the context anew, as at sr_curve_new(). 0 or -EIO. */
SR_WARN_UNUSED int sr_curve_blind(struct sr_curve *curve, const unsigned char seed[32]);

/*
 * sr_curve_pubkey - the public key of a secret one, in both forms we use.
 *
 * @pubkey:  out, 33 bytes compressed.
 * @address: out, 20 bytes: Ethereum's, the last 20 of Keccak-256(x || y).
 *           May be NULL.
 * Returns 0; -EINVAL when the scalar is 0 or not below the group's order.
 */
SR_WARN_UNUSED int sr_curve_pubkey(const struct sr_curve *curve,
				   unsigned char pubkey[SR_PUBKEY_BYTES],
				   unsigned char address[20],
				   const unsigned char seckey[SR_SECKEY_BYTES]);

/*
 * sr_ecdsa_sign - ECDSA with an RFC 6979 nonce (HMAC-SHA256).
 *
 * @sig:      out, 64 bytes, r || s big-endian, low s (BIP 62, EIP-2).
 * @recid:    out, 0..3.
 * @digest:   32 bytes, big-endian; reduced mod n as the standard says.
 * @extra:    32 bytes of additional entropy (RFC 6979 section 3.6: "hedged"),
 *            or NULL for the deterministic signature.
 *
 * Returns 0; -EINVAL for an invalid key. Outputs are untouched on failure.
 */
SR_WARN_UNUSED int sr_ecdsa_sign(const struct sr_curve *curve, unsigned char sig[64],
				 uint8_t *recid, const unsigned char digest[32],
				 const unsigned char seckey[SR_SECKEY_BYTES],
				 const unsigned char extra[32]);

/*
 * sr_ecdsa_verify - check a signature as it would leave: low s required.
 *
 * Returns 0; -EBADMSG when it does not verify; -EINVAL for a bad public key.
 * Variable time: nothing here is secret.
 */
SR_WARN_UNUSED int sr_ecdsa_verify(const struct sr_curve *curve, const unsigned char sig[64],
				   const unsigned char digest[32],
				   const unsigned char pubkey[SR_PUBKEY_BYTES]);

/*
 * sr_bip340_sign - BIP-340 over a message of any length.
 *
 * @aux: 32 bytes of auxiliary randomness, or NULL for none (BIP-340 "Default
 *       signing"). Returns as sr_ecdsa_sign().
 */
SR_WARN_UNUSED int sr_bip340_sign(const struct sr_curve *curve, unsigned char sig[64],
				  const void *message, size_t bytes,
				  const unsigned char seckey[SR_SECKEY_BYTES],
				  const unsigned char aux[32]);

/* sr_bip340_verify - @pubkey compressed; its parity byte is ignored. */
SR_WARN_UNUSED int sr_bip340_verify(const struct sr_curve *curve, const unsigned char sig[64],
				    const void *message, size_t bytes,
				    const unsigned char pubkey[SR_PUBKEY_BYTES]);

/*
 * Scalars: 32 bytes, big-endian, mod the group's order n. Constant time in all
 * operands; what leaves is as secret as what came in, and so is the answer:
 * true when the operands were usable (see each) and the result is not zero.
 * Gather answers with `&` and look once, when the whole may be known. After
 * false the result is zero or of no use. The result may be the first operand,
 * never the second.
 */
#define SR_SCALAR_BYTES 32u

/* product = a * b; a and b in 1 .. n-1. */
bool sr_scalar_mul(const struct sr_curve *curve, unsigned char product[SR_SCALAR_BYTES],
		   const unsigned char a[SR_SCALAR_BYTES], const unsigned char b[SR_SCALAR_BYTES]);

/* sum = a + b; a in 1 .. n-1, b in 0 .. n-1; false for a sum of 0. */
bool sr_scalar_add(unsigned char sum[SR_SCALAR_BYTES], const unsigned char a[SR_SCALAR_BYTES],
		   const unsigned char b[SR_SCALAR_BYTES]);

/* negated = n - a; a in 1 .. n-1. */
bool sr_scalar_negate(unsigned char negated[SR_SCALAR_BYTES],
		      const unsigned char a[SR_SCALAR_BYTES]);

/* Is a in 1 .. n-1? */
bool sr_scalar_valid(const struct sr_curve *curve, const unsigned char a[SR_SCALAR_BYTES]);

/* reduced = a mod n, for any 32 bytes. */
void sr_scalar_reduce(unsigned char reduced[SR_SCALAR_BYTES],
		      const unsigned char a[SR_SCALAR_BYTES]);

/* 1 when a > (n-1)/2, what low-s rules call high; else 0. */
uint32_t sr_scalar_high(const unsigned char a[SR_SCALAR_BYTES]);

/* out = take_b ? b : a, without a branch; take_b is 0 or 1. */
void sr_scalar_select(unsigned char out[SR_SCALAR_BYTES], const unsigned char a[SR_SCALAR_BYTES],
		      const unsigned char b[SR_SCALAR_BYTES], uint32_t take_b);

/* A point of the curve, as the library keeps it. */
struct sr_point {
	unsigned char opaque[64];
};

/* point = k*G, in constant time; false when k is not in 1 .. n-1. The point is
 * declassified: what is made of it may branch on it. */
bool sr_point_base_mul(const struct sr_curve *curve, struct sr_point *point,
		       const unsigned char k[SR_SCALAR_BYTES]);

/* The affine coordinates: x whole, y as 1 when it is odd. */
void sr_point_x(const struct sr_curve *curve, unsigned char x[32], uint32_t *odd,
		const struct sr_point *point);

/* sum += points[0] + ... + points[count - 1], variable time; count 1 .. 255.
 * False when that is the point at infinity. */
bool sr_point_add_var(const struct sr_curve *curve, struct sr_point *sum,
		      const struct sr_point *points, uint32_t count);

/* Equal? Variable time. */
bool sr_point_equal_var(const struct sr_curve *curve, const struct sr_point *a,
			const struct sr_point *b);

SR_END_DECLS

#endif /* SR_CURVE_H */
