/* SPDX-License-Identifier: MIT */
/*
 * sr_type.h - what a request asks to have signed.
 *
 * Types below 256 are blind: the signer hashes or signs the bytes without
 * knowing what they mean, so a key needs an explicit permission for each.
 */
#ifndef SR_TYPE_H
#define SR_TYPE_H

#include "sr_base.h"

/* Numbers are ABI and are never reused. */
enum sr_type {
	SR_ECDSA_SHA256 = 1,    /* body: a message; ECDSA over its SHA-256 */
	SR_ECDSA_KECCAK256 = 2, /* body: a message; ECDSA over its Keccak-256 */
	SR_ECDSA_DIGEST = 3,    /* body: 32 bytes, signed as they are */
	SR_BIP340 = 4,          /* body: a message; BIP-340 Schnorr over it */
};

#define SR_TYPE_BLIND_MAX 4u
#define SR_DIGEST_BYTES 32u

SR_BEGIN_DECLS

/*
 * sr_type_name - the type's name in configuration files and order lines.
 *
 * Returns "ecdsa-sha256", "ecdsa-keccak256", "ecdsa-digest" or "bip340";
 * "unassigned type" for any other number.
 */
const char *sr_type_name(uint32_t type);

/* sr_type_from_name - the inverse; 0 when the name is none of the above. */
uint32_t sr_type_from_name(const char *name);

/*
 * sr_type_body_valid - may a request of this type have a body of this length?
 *
 * False for a type that is not assigned.
 */
bool sr_type_body_valid(uint32_t type, uint32_t body_bytes);

SR_END_DECLS

#endif /* SR_TYPE_H */
