/* SPDX-License-Identifier: MIT */
/*
 * sr_presign.h - finish a signature whose nonce part was made beforehand.
 *
 * A presignature is (r, u, u*r, k, parity): k a nonce, u = 1/k, r the
 * x-coordinate of k*G. With it a signature costs two multiplications and an
 * addition mod n (SEC 1 section 4.1.3; Naccache et al., "Can D.S.A. be
 * improved?", section 4: coupons):
 *
 *	ECDSA    s = u*z + (u*r)*d          BIP-340  s = k + e*d
 *
 * Nothing leaves before it was checked by another way, with a key that is
 * blinded by a random b (the keyring keeps b and b*d), so that a fault, even of
 * one bit, in d, b, b*d, k, u, r, u*r, z, z' or s is seen, while it may matter:
 *
 *	ECDSA    b*(s*k - z') = r*(b*d)     BIP-340  s*u*b - e'*u*(b*d) = b, u*r = (u*r)
 *
 * The check runs on the very bytes that leave; z' is reduced from the digest, and e'
 * hashed, a second time. An equation of the form s*k = z + r*d would catch no fault
 * in z, r or d, since both sides then share it. docs/signing.md has the argument,
 * and what is not seen.
 *
 * Constant time. Declassified are the verdict, that a sum is 0, and then s and the
 * recovery id; nothing else.
 */
#ifndef SR_PRESIGN_H
#define SR_PRESIGN_H

#include "sr_base.h"
#include "sr_curve.h"
#include "sr_hash.h"

/* One presignature. Whoever holds one may make one signature with it. */
struct sr_presig {
	unsigned char r[SR_SCALAR_BYTES];
	unsigned char u[SR_SCALAR_BYTES];
	unsigned char ur[SR_SCALAR_BYTES];
	unsigned char k[SR_SCALAR_BYTES];
	uint32_t odd;  /* the parity of y(k*G) */
	uint32_t made; /* SR_PRESIG_MADE ^ odd; a wiped one has 0 and is refused */
};

/* No equation below tells a wrong parity, which would make a wrong recovery id, or
 * a BIP-340 signature that nobody accepts. Hence the parity is kept twice. */
#define SR_PRESIG_MADE 0x5346u

/* A key as the finish wants it: borrowed, in protected memory. */
struct sr_presign_key {
	const unsigned char *d;  /* the secret key */
	const unsigned char *b;  /* a random scalar */
	const unsigned char *bd; /* b*d */
};

/*
 * What one finish works on; in protected memory, one thread's own. The caller
 * puts the presignature in; every byte is wiped when the call returns, but `sig`
 * after success.
 */
struct sr_presign_work {
	struct sr_presig presig;
	unsigned char sig[64];
	unsigned char z[SR_SCALAR_BYTES];       /* digest or challenge mod n */
	unsigned char z_again[SR_SCALAR_BYTES]; /* made a second time */
	unsigned char scratch[5][SR_SCALAR_BYTES];
	uint32_t flipped; /* 1 when s was negated to be low */
};

SR_BEGIN_DECLS

/*
 * sr_presign_ecdsa - ECDSA over a digest, low s.
 *
 * @work:   its presignature is spent whatever is returned; its sig is the result.
 * @recid:  out, 0 or 1, valid for the low s. (2 and 3 need r >= n, and such
 *          a batch is thrown away.)
 * @digest: 32 bytes, reduced mod n here; the multiples of n are legal.
 *
 * Returns 0; -EBADMSG when the check failed: the key must sign nothing any more;
 * -ERANGE when s = 0: take another presignature; -EINVAL when @work holds none
 * (or one whose parity has changed).
 */
SR_WARN_UNUSED int sr_presign_ecdsa(const struct sr_curve *curve, struct sr_presign_work *work,
				    uint8_t *recid, const unsigned char digest[32],
				    const struct sr_presign_key *key);

/*
 * sr_presign_bip340 - BIP-340 over a message of any length.
 *
 * The nonce is the presignature's, not the one that BIP-340 "Default signing"
 * derives: the document allows any that is uniform and used once. Verifiers
 * cannot tell.
 *
 * @pubkey: compressed; its parity says which of d and n - d signs.
 * Returns as sr_presign_ecdsa(), and -EIO when the hash failed.
 */
SR_WARN_UNUSED int sr_presign_bip340(const struct sr_curve *curve, struct sr_hasher *hasher,
				     struct sr_presign_work *work, const void *message,
				     size_t bytes, const unsigned char pubkey[SR_PUBKEY_BYTES],
				     const struct sr_presign_key *key);

/*
 * The two halves of each, for tests that put a fault between them and for the
 * benchmark that tells what the check costs. z and z_again are set by the
 * caller, in 0 .. n-1. The first leaves an unchecked signature in work->sig; the
 * second says whether it may leave. Neither wipes.
 */
SR_WARN_UNUSED int sr_presign_ecdsa_compute(const struct sr_curve *curve,
					    struct sr_presign_work *work,
					    const struct sr_presign_key *key);
SR_WARN_UNUSED int sr_presign_ecdsa_check(const struct sr_curve *curve,
					  struct sr_presign_work *work,
					  const struct sr_presign_key *key);
SR_WARN_UNUSED int sr_presign_bip340_compute(const struct sr_curve *curve,
					     struct sr_presign_work *work, uint32_t key_odd,
					     const struct sr_presign_key *key);
SR_WARN_UNUSED int sr_presign_bip340_check(const struct sr_curve *curve,
					   struct sr_presign_work *work, uint32_t key_odd,
					   const struct sr_presign_key *key);

SR_END_DECLS

#endif /* SR_PRESIGN_H */
