/* SPDX-License-Identifier: MIT */
/*
 * sr_record.h - the bytes of a slot: header in clear, body, room for the tag.
 *
 * A submission record is a whole submission slot, a completion record a whole
 * completion slot. The header of each is in clear, because the agent needs it
 * (and is associated data of the cipher where records are sealed); the agent
 * never looks behind it. All records of a session have one size: the body is
 * padded, so that a length betrays no type. Little-endian; offsets in bytes.
 *
 *	submission, 384 by default          completion, 128
 *	  0  slot word        u64             0  slot word          u64
 *	  8  deadline_ns      u64             8  kind               u8
 *	 16  kind             u8              9  status             u8
 *	 17  flags            u8                   (when the agent's)
 *	 18  reserved, zero                  10  reserved, zero
 *	 24  body, all but the last 16       16  body               96
 *	     tag              16            112  tag                16
 */
#ifndef SR_RECORD_H
#define SR_RECORD_H

#include "sr_base.h"

#define SR_SUB_BYTES_DEFAULT 384u
#define SR_SUB_BYTES_MIN 256u
#define SR_SUB_BYTES_MAX 4224u /* a request body of 4 KiB and a little */
#define SR_CMP_BYTES 128u

#define SR_SUB_DEADLINE 8u
#define SR_SUB_KIND 16u
#define SR_SUB_FLAGS 17u
#define SR_SUB_BODY 24u
#define SR_TAG_BYTES 16u

#define SR_CMP_KIND 8u
#define SR_CMP_STATUS 9u
#define SR_CMP_BODY 16u
#define SR_CMP_BODY_BYTES 96u

SR_STATIC_ASSERT(SR_CMP_BODY + SR_CMP_BODY_BYTES + SR_TAG_BYTES == SR_CMP_BYTES,
		 "completion record ABI");

enum sr_record_kind {
	SR_KIND_SEALED = 1,   /* body is ciphertext, tag is set */
	SR_KIND_UNSEALED = 2, /* body is in clear, tag is zero */
	SR_KIND_AGENT = 3,    /* completion only: status is the agent's word */
};

/*
 * What became of a submit. Numbers are ABI and are never reused.
 *
 * The first group is the signer's word (trustworthy where records are sealed);
 * the second is the word of the agent or of the library, and means that no
 * signature of this submit will ever be handed out.
 */
enum sr_status {
	SR_OK = 0,
	SR_DENIED = 1,      /* policy or permission; see the policy code */
	SR_BAD_REQUEST = 2, /* the signer could not read it */
	SR_VOID = 3,        /* number was skipped before it arrived */

	SR_EXPIRED = 32,      /* deadline passed before it was forwarded */
	SR_NOT_SENT = 33,     /* certainly never reached the signer */
	SR_UNKNOWN = 34,      /* may have been signed; the signature is lost */
	SR_SESSION_LOST = 35, /* submitted to a session that was already dead */
	SR_LATE = 36,         /* signed, but popped after its deadline */
};

SR_BEGIN_DECLS
/* A status' name for people, such as "OK" or "NOT_SENT"; never NULL. */
const char *sr_status_name(uint32_t status);
SR_END_DECLS

#endif /* SR_RECORD_H */
