/* SPDX-License-Identifier: MIT */
/*
 * sr_domain.h - domains of EIP-712: which contract, of which chain, a signature is for.
 */
#ifndef SR_DOMAIN_H
#define SR_DOMAIN_H

#include "sr_base.h"

#define SR_WORD_BYTES 32u
#define SR_ADDRESS_BYTES 20u

/* Words of a struct: a member each, and the type hash. */
#define SR_STRUCT_BYTES(members) ((1u + (members)) * SR_WORD_BYTES)

/* A domain of EIP-712; NULL for text that it lacks. */
struct sr_domain {
	const char *name;
	const char *version;
	uint64_t chain_id;
	const unsigned char *contract; /* SR_ADDRESS_BYTES, or NULL: no verifyingContract */
	const unsigned char *salt;     /* SR_WORD_BYTES, or NULL */
	bool no_chain_id;
};

SR_BEGIN_DECLS

/*
 * sr_domain_separator - the hash of a domain: EIP-712, "Definition of domainSeparator".
 *
 * @domain: has at least one member. Off the hot path: it hashes its type and its texts.
 */
void sr_domain_separator(unsigned char hash[SR_WORD_BYTES], const struct sr_domain *domain);

SR_END_DECLS

#endif /* SR_DOMAIN_H */
