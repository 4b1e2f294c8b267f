/* SPDX-License-Identifier: MIT */
/*
 * sr_verify.h - signatures checked by a route that is not the signer's.
 *
 * The signer hashes with its own Keccak and signs with libsecp256k1. A mistake
 * that both ends share would be invisible, so nothing here comes from signer/:
 * curve arithmetic and ECDSA are OpenSSL's, BIP-340 is written out over its
 * points, and Keccak-256 is the specification's text, bit generator included,
 * with no thought for speed. One check costs about 0.3 ms, so it belongs after
 * a timed run. Everything is variable time: nothing here is secret.
 *
 * Each function that checks returns 0, or -EBADMSG when the signature is not
 * good, or -EINVAL when the question makes no sense (no such key, type or
 * length), or -ENOMEM. What fails for any other reason fails closed, as
 * -EBADMSG.
 */
#ifndef SR_VERIFY_H
#define SR_VERIFY_H

#include "sr_base.h"

#define SR_VERIFY_LOW_S 1u /* s above n / 2 is refused (BIP 62, EIP-2) */

struct sr_verifier; /* one thread's own */

SR_BEGIN_DECLS

/*
 * sr_verifier_new - a context with the curve in it.
 *
 * Returns 0 with *verifier set; -ENOSYS when this OpenSSL has no secp256k1;
 * -ENOMEM. Ends with sr_verifier_delete(); NULL is legal there.
 */
SR_WARN_UNUSED int sr_verifier_new(struct sr_verifier **verifier);
void sr_verifier_delete(struct sr_verifier *verifier);

/*
 * sr_verify_signature - check a signature as a completion carries it.
 *
 * @pubkey:      33 bytes, compressed (SEC 1 section 2.3.3). One that is no point
 *               of the curve is nobody's: no signature is good for it.
 * @type:        enum sr_type; says how the body was hashed.
 * @body:        what was submitted, @body_bytes of it.
 * @signature:   64 bytes.
 * @recovery_id: 0..3 for ECDSA, not looked at for BIP-340.
 *
 * For ECDSA, s must be low, and the key is recovered from digest, signature and
 * recovery id (SEC 1 section 4.1.6) and compared with @pubkey. That is
 * verification: Q = (s R - z G) / r says the same as R = (z G + r Q) / s. It
 * fixes the recovery id too, which plain verification never looks at. For
 * BIP-340 the parity byte of @pubkey is ignored.
 */
SR_WARN_UNUSED int sr_verify_signature(struct sr_verifier *verifier, const unsigned char pubkey[33],
				       uint32_t type, const void *body, size_t body_bytes,
				       const unsigned char signature[64], uint8_t recovery_id);

/*
 * sr_verify_ecdsa - OpenSSL's own ECDSA verification of r || s (IEEE P1363).
 *
 * @pubkey:    33 bytes compressed or 65 uncompressed.
 * @digest:    32 bytes.
 * @signature: any length; only 64 can be good.
 * @flags:     SR_VERIFY_*.
 */
SR_WARN_UNUSED int sr_verify_ecdsa(struct sr_verifier *verifier, const unsigned char *pubkey,
				   size_t pubkey_bytes, const unsigned char digest[32],
				   const unsigned char *signature, size_t signature_bytes,
				   uint32_t flags);

/* sr_verify_ecdsa_der - the same for a strict DER SEQUENCE of r and s. */
SR_WARN_UNUSED int sr_verify_ecdsa_der(struct sr_verifier *verifier, const unsigned char *pubkey,
				       size_t pubkey_bytes, const unsigned char digest[32],
				       const unsigned char *signature, size_t signature_bytes,
				       uint32_t flags);

/*
 * sr_verify_recover - the public key that a signature was made with.
 *
 * @pubkey: out, 33 bytes compressed, written only on success.
 *
 * Either s is accepted: with a high one the recovery id has its low bit the
 * other way round.
 */
SR_WARN_UNUSED int sr_verify_recover(struct sr_verifier *verifier, unsigned char pubkey[33],
				     const unsigned char digest[32],
				     const unsigned char signature[64], uint8_t recovery_id);

/* sr_verify_bip340 - BIP-340 "Verification"; @xonly is 32 bytes, x alone. */
SR_WARN_UNUSED int sr_verify_bip340(struct sr_verifier *verifier, const unsigned char xonly[32],
				    const void *message, size_t bytes,
				    const unsigned char signature[64]);

/* sr_verify_address - Ethereum's address of a compressed or uncompressed key. */
SR_WARN_UNUSED int sr_verify_address(struct sr_verifier *verifier, unsigned char address[20],
				     const unsigned char *pubkey, size_t pubkey_bytes);

/* sr_verify_sha256 - OpenSSL's SHA-256 (FIPS 180-4). Returns 0 or -ENOMEM. */
SR_WARN_UNUSED int sr_verify_sha256(unsigned char digest[32], const void *message, size_t bytes);

/* sr_verify_keccak256 - Keccak-256 with the original padding, slowly. */
void sr_verify_keccak256(unsigned char digest[32], const void *message, size_t bytes);

SR_END_DECLS

#endif /* SR_VERIFY_H */
