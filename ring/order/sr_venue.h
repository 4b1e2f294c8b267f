/* SPDX-License-Identifier: MIT */
/*
 * sr_venue.h - a venue's row of the table, and what the files of venues share.
 *
 * A venue is one `struct sr_venue` in a pair of files, with a row in sr_venues.h. All
 * its functions are pure (sr_order.h). Engines need none of this.
 */
#ifndef SR_VENUE_H
#define SR_VENUE_H

#include "sr_base.h"
#include "sr_hash.h"
#include "sr_order.h"
#include "sr_out_text.h"
#include "sr_template.h"
#include "sr_venues.h"

/* A value that a template patches (sr_template.h): where it is in the body, and what
 * stands in front of it in the text. */
struct sr_plan_field {
	uint8_t field;    /* enum sr_template_field */
	uint8_t decimals; /* of a u64, or SR_FIELD_HEX */
	uint16_t at;      /* in the body */
	uint16_t bytes;   /* there; 0 of the signature's */
	const char *before;
};

struct sr_venue {
	uint16_t type;
	const char *name; /* in manifests and order lines; lower case */

	/* Length of a body with this head, without its tail; 0 when it can be none. The head
	 * is whole and its type is ours. */
	uint32_t (*bytes)(const unsigned char *body);
	bool tail; /* there may be one; else it is 0 bytes */

	/* Judges every field and fills the view, which is zero but for type, action and
	 * nonce. The length is right. 0, -EINVAL, or -EPERM for what is known and never
	 * signed. */
	int (*decode)(struct sr_order_view *view, const unsigned char *body,
		      const struct sr_order_env *env);

	/* The 32 bytes that ECDSA signs. 0, or -EIO from a library. */
	int (*digest)(unsigned char digest[SR_DIGEST_BYTES], const struct sr_order *order,
		      struct sr_order_env *env);

	/* The signature alone, as the venue's API has it: JSON value or text. */
	void (*signature)(struct sr_out *out, const struct sr_order *order,
			  const struct sr_order_signature *signature, struct sr_order_env *env);

	/* The whole body to post. */
	void (*render)(struct sr_out *out, const struct sr_order *order,
		       const struct sr_order_signature *signature, struct sr_order_env *env);

	/* What a template of this body patches, in the order of the text. Returns how many, at
	 * most SR_TEMPLATE_HOLES; 0: there is no template of such a body. It was decoded.
	 * NULL when the venue has none. */
	uint32_t (*plan)(struct sr_plan_field *fields, const unsigned char *body);

	/* The venue's rules for prices and sizes of a market: 0, or -EDOM when it would refuse
	 * the leg. NULL when it has none. */
	int (*rules)(const struct sr_order_leg *leg, const struct sr_market *market);

	/* Is this domain separator of EIP-712 one of ours? What a venue signs, a schema must
	 * not. NULL when it has none. */
	bool (*claims)(const unsigned char separator[SR_DIGEST_BYTES]);
};

SR_BEGIN_DECLS

/* The venues themselves: sr_venue_hyperliquid ... */
#define SR_VENUE_DECLARED(number, constant, name) extern const struct sr_venue sr_venue_##name;
SR_VENUES(SR_VENUE_DECLARED)
#undef SR_VENUE_DECLARED

/* sr_venue_find - by type; NULL when there is none. */
const struct sr_venue *sr_venue_find(uint32_t type);

/* sr_venue_from_name - by name; NULL when there is none. */
const struct sr_venue *sr_venue_from_name(const char *name);

/* sr_venue_claims - does a venue of the table sign in this domain of EIP-712? */
bool sr_venue_claims(const unsigned char separator[SR_DIGEST_BYTES]);

/* sr_order_head_put - the 16 bytes that start a body: for builders. */
void sr_order_head_put(unsigned char *body, uint32_t type, uint32_t action, uint32_t flags,
		       uint32_t rows, uint64_t nonce);

/* sr_party_set - @bytes at most SR_PARTY_BYTES, or it is cut. */
void sr_party_set(struct sr_party *party, const void *data, uint32_t bytes);

SR_END_DECLS

#endif /* SR_VENUE_H */
