/* SPDX-License-Identifier: MIT */
/*
 * sr_typed_walk.h - one pass over the message of a typed-data body.
 *
 * Decode, digest and rendering read it the same way, so that one walk's bounds are all
 * bounds. Memory for words is the caller's; what a walk with hashing needs, the one
 * without has already found to be there.
 */
#ifndef SR_TYPED_WALK_H
#define SR_TYPED_WALK_H

#include "sr_base.h"
#include "sr_out_text.h"
#include "sr_schema.h"

/* The bytes of a role's member; the nonce's are the head's. */
struct sr_typed_value {
	const unsigned char *at;
	uint32_t bytes;
};

struct sr_typed_walk {
	const struct sr_schema *schema;
	const unsigned char *at; /* what is left of the message */
	const unsigned char *end;
	uint64_t nonce;
	unsigned char *words; /* memory for words; NULL: nothing is hashed */
	size_t words_room;    /* of it, or what there would be */
	struct sr_out *json;  /* or NULL */
	struct sr_typed_value roles[SR_ROLES];
};

SR_BEGIN_DECLS

/*
 * sr_typed_walk - the primary struct, from walk->at to walk->end exactly.
 *
 * @hash: out, its struct hash; only with words.
 *
 * Returns 0, or -EINVAL: the message is not one of the schema, or needs more words than
 * there are.
 */
SR_WARN_UNUSED int sr_typed_walk(struct sr_typed_walk *walk, unsigned char hash[SR_WORD_BYTES]);

SR_END_DECLS

#endif /* SR_TYPED_WALK_H */
