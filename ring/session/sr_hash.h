/* SPDX-License-Identifier: MIT */
/*
 * sr_hash.h - the two message hashes, without allocation or failure in use.
 *
 * SHA-256 is OpenSSL's, by its low-level calls: EVP_DigestInit_ex2() of 3.0
 * frees and allocates its state at each message, fetched digest or not (a test
 * counts). Keccak-256 (the original padding 0x01 that Ethereum uses, not SHA-3's
 * 0x06) is ours, because OpenSSL 3.0 has none.
 *
 * Neither wipes what it hashed: messages are not secret.
 */
#ifndef SR_HASH_H
#define SR_HASH_H

#include "sr_base.h"

#define SR_HASH_BYTES 32u

struct sr_hasher; /* one thread's own */

SR_BEGIN_DECLS

/*
 * sr_hasher_new - make a context and put one known answer through it.
 *
 * Returns 0 with *hasher set, -ENOMEM, or -EIO when the answer is wrong: the
 * library picks its code by what the CPU says it can do. Allocates; everything
 * below does not.
 */
SR_WARN_UNUSED int sr_hasher_new(struct sr_hasher **hasher);
void sr_hasher_delete(struct sr_hasher *hasher); /* NULL is legal */

/*
 * sr_sha256 - SHA-256 of a message (FIPS 180-4, section 6.2).
 *
 * @digest:  out, 32 bytes. @message: may be NULL when @bytes is 0.
 * Returns 0, or -EIO when the library failed: @digest is then zero.
 */
SR_WARN_UNUSED int sr_sha256(struct sr_hasher *hasher, unsigned char digest[SR_HASH_BYTES],
			     const void *message, size_t bytes);

/* A piece of a message; @data may be NULL when @bytes is 0. */
struct sr_hash_part {
	const void *data;
	size_t bytes;
};

/* sr_sha256_parts - SHA-256 of the parts one behind the other; as sr_sha256(). */
SR_WARN_UNUSED int sr_sha256_parts(struct sr_hasher *hasher, unsigned char digest[SR_HASH_BYTES],
				   const struct sr_hash_part *parts, size_t count);

/* sr_keccak256 - Keccak-256 of a message (Keccak submission, version 3). */
void sr_keccak256(unsigned char digest[SR_HASH_BYTES], const void *message, size_t bytes);

SR_END_DECLS

#endif /* SR_HASH_H */
