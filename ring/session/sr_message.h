/* SPDX-License-Identifier: MIT */
/*
 * sr_message.h - the request inside a submission and the reply inside a
 * completion: what the two ends of a session say to each other.
 *
 * These bytes are the body of a record (sr_record.h): the plaintext of a sealed
 * one. Little-endian, offsets in bytes from the start of the body.
 *
 *	request                             reply, 96
 *	  0  key id           u32             0  status             u16
 *	  4  type             u16             2  policy code        u16
 *	  6  body bytes       u16             4  recovery id        u8
 *	  8  body, then zeros to the end      5  signature kind     u8
 *	     (336 at the default slot)        6  reserved, zero     u16
 *	                                      8  venue nonce        u64
 *	                                     16  accepted so far    u64
 *	                                     24  signature          64
 *	                                     88  reserved, zero     8
 *
 * Message 0 of a sealed session is the client library's own: of type SR_TYPE_SESSION,
 * with neither key nor body. It proves to each end that the other has the keys, before
 * an order depends on it, and ends the predecessor that the session has named. The
 * reply's signature then says how far that had come, for good: whether it was there
 * u64, the number after the highest that was taken u64, requests accepted u64; the
 * rest is zero. Anywhere else this type is a BAD_REQUEST.
 */
#ifndef SR_MESSAGE_H
#define SR_MESSAGE_H

#include "sr_base.h"
#include "sr_record.h"

#define SR_REQ_KEY 0u
#define SR_REQ_TYPE 4u
#define SR_REQ_BODY_BYTES 6u
#define SR_REQ_BODY 8u

#define SR_REP_STATUS 0u
#define SR_REP_POLICY 2u
#define SR_REP_RECID 4u
#define SR_REP_SIGKIND 5u
#define SR_REP_NONCE 8u
#define SR_REP_ACCEPTED 16u
#define SR_REP_SIG 24u
#define SR_SIG_BYTES 64u

#define SR_TYPE_SESSION 0u
#define SR_LAST_KNOWN SR_REP_SIG
#define SR_LAST_NEXT (SR_REP_SIG + 8u)
#define SR_LAST_ACCEPTED (SR_REP_SIG + 16u)

SR_STATIC_ASSERT(SR_REP_SIG + SR_SIG_BYTES <= SR_CMP_BODY_BYTES, "reply ABI");

/* Bytes of request body that a submission slot of this size carries. */
static inline uint32_t sr_body_bytes_max(uint32_t slot_bytes)
{
	return slot_bytes - SR_SUB_BODY - SR_REQ_BODY - SR_TAG_BYTES;
}

SR_STATIC_ASSERT(SR_SUB_BYTES_DEFAULT - SR_SUB_BODY - SR_REQ_BODY - SR_TAG_BYTES == 336,
		 "a default slot carries 336 bytes of body");
SR_STATIC_ASSERT(SR_SUB_BYTES_MAX - SR_SUB_BODY - SR_REQ_BODY - SR_TAG_BYTES >= 4096,
		 "the largest slot carries 4 KiB of body");

/* Why a request was DENIED. Numbers are ABI and are never reused. */
enum sr_policy {
	SR_POLICY_NONE = 0,
	SR_POLICY_UNKNOWN_KEY = 1,        /* no such key, or not for this user */
	SR_POLICY_TYPE_NOT_PERMITTED = 2, /* the key has no permission for the type */
	SR_POLICY_KEY_LOCKED = 3,         /* a check of the signer failed on this key */
	SR_POLICY_DRY = 4,                /* no presignature, and the key takes no other nonce */
	SR_POLICY_GAP = 5,                /* the session is strict, and a number was skipped */
	SR_POLICY_KEY_HELD = 6,           /* the operators have locked the key */

	/* Of typed orders, in the order of the checks (docs/policy.md). */
	SR_POLICY_ACTION = 7,         /* the key may not do this at this venue */
	SR_POLICY_KILLED = 8,         /* the operators let cancels pass, and nothing else */
	SR_POLICY_LEASE = 9,          /* their lease has run out: the same */
	SR_POLICY_NETWORK = 10,       /* mainnet, or testnet, is not listed */
	SR_POLICY_CHAIN = 11,         /* nor is the chain id */
	SR_POLICY_CONTRACT = 12,      /* nor the contract */
	SR_POLICY_ACCOUNT = 13,       /* nor the account for which it trades */
	SR_POLICY_DESTINATION = 14,   /* nor where it goes */
	SR_POLICY_FEE = 15,           /* who takes a fee is not listed, or it is too high */
	SR_POLICY_VALUE = 16,         /* more is moved than may be */
	SR_POLICY_ASSET = 17,         /* the asset is not listed */
	SR_POLICY_LEVERAGE = 18,      /* more leverage than the asset may have */
	SR_POLICY_DECIMALS = 19,      /* the manifest has to say the asset's decimals */
	SR_POLICY_REDUCE_ONLY = 20,   /* the order might open a position */
	SR_POLICY_SIZE = 21,          /* too large, or 0 */
	SR_POLICY_MARKET_ORDER = 22,  /* its price binds nobody */
	SR_POLICY_PRICE_BAND = 23,    /* out of the asset's band */
	SR_POLICY_VENUE_RULES = 24,   /* the venue would refuse price or size */
	SR_POLICY_NOTIONAL = 25,      /* too much for one order, or not known */
	SR_POLICY_EXPIRY = 26,        /* expired, too far ahead, or never */
	SR_POLICY_VENUE_NONCE = 27,   /* not above the last one, or the wrong side gave it */
	SR_POLICY_CLOCK = 28,         /* it would lead the clock too far, or there is no clock */
	SR_POLICY_SESSION_RATE = 29,  /* the session has no tokens left */
	SR_POLICY_KEY_RATE = 30,      /* nor has the key */
	SR_POLICY_WINDOW = 31,        /* too much was signed within the window */
	SR_POLICY_EXPOSURE = 32,      /* too much is signed and has not expired */

	SR_POLICY_DRAINING = 33, /* the operators are about to stop the signer */
};

/* Kind of the 64 signature bytes. */
enum sr_sigkind {
	SR_SIG_NONE = 0,
	SR_SIG_ECDSA = 1,  /* r || s, big-endian, low s; the recovery id is valid */
	SR_SIG_BIP340 = 2, /* the 64 bytes of BIP-340 */
};

SR_BEGIN_DECLS
/* A policy code's name for people, such as "UNKNOWN_KEY"; never NULL. */
const char *sr_policy_name(uint32_t policy);
SR_END_DECLS

#endif /* SR_MESSAGE_H */
