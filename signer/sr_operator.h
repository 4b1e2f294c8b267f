/* SPDX-License-Identifier: MIT */
/*
 * sr_operator.h - those whose signatures the signer obeys: k of n.
 *
 * An operator is an Ed25519 key (RFC 8032). The list of them and k are given to the
 * signer at its start (in an enclave they are in the image, and so in PCR0); nothing
 * that comes later changes them.
 *
 * An operator signs a hash, for a purpose, and a signature for one purpose is none
 * for another. What is signed is:
 *
 *	"sigring operator" 00  purpose 00  hash (32)
 *
 * Nobody's signature counts twice. A key of small order, for which everybody can
 * sign, is refused in the list: OpenSSL's verification does not look for that.
 */
#ifndef SR_OPERATOR_H
#define SR_OPERATOR_H

#include "sr_base.h"
#include "sr_hash.h"
#include "sr_reason.h"

#define SR_OPERATOR_KEY_BYTES 32u
#define SR_OPERATOR_SIG_BYTES 64u
#define SR_OPERATORS_MAX 16u
#define SR_OPERATORS_BYTES_MAX 4096u /* of the text of a list */
#define SR_OPERATOR_PURPOSE_MAX 31u

/* Who they are, and how many it takes. */
struct sr_operators {
	uint32_t k; /* 1 .. count */
	uint32_t count;
	unsigned char pub[SR_OPERATORS_MAX][SR_OPERATOR_KEY_BYTES];
};

/* One operator's signature. */
struct sr_operator_sig {
	unsigned char pub[SR_OPERATOR_KEY_BYTES];
	unsigned char sig[SR_OPERATOR_SIG_BYTES];
};

/* An operator's own key, in protected memory. */
struct sr_operator_pair {
	unsigned char secret[SR_OPERATOR_KEY_BYTES];
	unsigned char pub[SR_OPERATOR_KEY_BYTES];
};

SR_BEGIN_DECLS

/*
 * sr_operators_parse - a list of public keys, one a line.
 *
 * A line is 64 hexadecimal digits, lower case, and may go on with a space and the
 * operator's name, which is for people. Blank lines and those that start with '#'
 * are skipped.
 *
 * @k: how many must sign.
 * Returns 0; -EBADMSG with a reason: a line that is something else, a key that comes
 * twice or is of small order, too many, none, or a @k that is not 1 .. their count.
 * *operators is untouched then.
 */
SR_WARN_UNUSED int sr_operators_parse(struct sr_operators *operators, uint32_t k, const char *text,
				      size_t bytes, struct sr_reason *why);

/* sr_operators_find - index of an operator, or -ENOENT. */
int sr_operators_find(const struct sr_operators *operators,
		      const unsigned char pub[SR_OPERATOR_KEY_BYTES]);

/*
 * sr_operators_verify - did k of them sign this?
 *
 * A signature by somebody who is not in the list is passed over: lists change one
 * signer at a time, and a manifest may well be signed for both. At most
 * SR_OPERATORS_MAX signatures are computed, whatever @count is.
 *
 * @count: of @sigs; none may be of the same key as another.
 *
 * Returns 0, or with a reason: -EBADMSG: a listed operator's signature does not
 * verify; -EEXIST: a key signs twice; -EACCES: fewer than k.
 */
SR_WARN_UNUSED int sr_operators_verify(const struct sr_operators *operators, const char *purpose,
				       const unsigned char hash[SR_HASH_BYTES],
				       const struct sr_operator_sig *sigs, uint32_t count,
				       struct sr_reason *why);

/*
 * sr_operator_verify - one signature.
 *
 * @purpose: 1 .. 31 bytes and a zero.
 * Returns 0; -EBADMSG when it does not verify; -EINVAL for a purpose that is too
 * long. Variable time: nothing here is secret.
 */
SR_WARN_UNUSED int sr_operator_verify(const struct sr_operator_sig *sig, const char *purpose,
				      const unsigned char hash[SR_HASH_BYTES]);

/*
 * sr_operator_sign - what an operator does; no signer calls it.
 *
 * Returns 0; -EINVAL as above; -EIO. *sig is untouched then. OpenSSL keeps the secret
 * in its heap while it computes, and wipes it.
 */
SR_WARN_UNUSED int sr_operator_sign(const struct sr_operator_pair *pair,
				    struct sr_operator_sig *sig, const char *purpose,
				    const unsigned char hash[SR_HASH_BYTES]);

/*
 * sr_operator_pair_make - a pair of 32 secret random bytes.
 *
 * @secret: may be @pair->secret itself. Returns 0; -EIO, *pair wiped.
 */
SR_WARN_UNUSED int sr_operator_pair_make(struct sr_operator_pair *pair,
					 const unsigned char secret[SR_OPERATOR_KEY_BYTES]);

SR_END_DECLS

#endif /* SR_OPERATOR_H */
