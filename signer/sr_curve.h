/* SPDX-License-Identifier: MIT */
/*
 * sr_curve.h - signatures on secp256k1. The one file that talks to
 * libsecp256k1 for signing is sr_curve.c.
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

SR_END_DECLS

#endif /* SR_CURVE_H */
