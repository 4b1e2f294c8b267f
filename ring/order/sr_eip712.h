/* SPDX-License-Identifier: MIT */
/*
 * sr_eip712.h - what all venues that sign EIP-712 typed data share.
 *
 *	digest = keccak(19 01 || domain separator || struct hash)
 *	struct hash = keccak(type hash || one word of 32 bytes for each member)
 *
 * A struct's words are put one by one into an sr_out over the caller's memory, type
 * hash first, and hashed once. Type hashes and domain separators are constants of a
 * venue: its file holds them as bytes, and its tests recompute them from their text.
 */
#ifndef SR_EIP712_H
#define SR_EIP712_H

#include "sr_base.h"
#include "sr_decimal.h"
#include "sr_domain.h"
#include "sr_hash.h"
#include "sr_out_text.h"

SR_BEGIN_DECLS

/* Members. Each puts one word; a string or bytes puts its hash. */
void sr_word_u64(struct sr_out *out, uint64_t v);
void sr_word_u128(struct sr_out *out, sr_u128 v);
void sr_word_i128(struct sr_out *out, sr_i128 v); /* sign-extended */
void sr_word_address(struct sr_out *out, const unsigned char address[SR_ADDRESS_BYTES]);
void sr_word_bytes32(struct sr_out *out, const unsigned char word[SR_WORD_BYTES]);
void sr_word_text(struct sr_out *out, const void *text, size_t bytes);

/* sr_struct_hash - over the words that were put; they must all have fitted. */
void sr_struct_hash(unsigned char hash[SR_WORD_BYTES], const struct sr_out *words);

/* sr_eip712_digest - the 32 bytes that are signed: one Keccak call. */
void sr_eip712_digest(unsigned char digest[SR_WORD_BYTES],
		      const unsigned char domain_separator[SR_WORD_BYTES],
		      const unsigned char struct_hash[SR_WORD_BYTES]);

/* sr_signature_rsv - the 65 bytes r || s || v, v 27 or 28, that most of them post. */
void sr_signature_rsv(unsigned char out[65], const unsigned char rs[64], unsigned int recid);

/* sr_address_checksum - "0x" and 40 digits in the mixed case of EIP-55: one Keccak call. */
void sr_address_checksum(struct sr_out *out, const unsigned char address[SR_ADDRESS_BYTES]);

SR_END_DECLS

#endif /* SR_EIP712_H */
