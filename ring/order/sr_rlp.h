/* SPDX-License-Identifier: MIT */
/*
 * sr_rlp.h - RLP, written and never read (Ethereum yellow paper, appendix B).
 *
 * There are byte strings and lists, and one encoding of each. Integers are strings
 * without leading zeros, and zero is the empty one: that holds for r and s as well.
 */
#ifndef SR_RLP_H
#define SR_RLP_H

#include "sr_base.h"
#include "sr_out.h"

SR_BEGIN_DECLS

void sr_rlp_bytes(struct sr_out *out, const void *data, size_t bytes);

/* sr_rlp_integer - big-endian, of any length; sr_rlp_uint - of 64 bits. */
void sr_rlp_integer(struct sr_out *out, const unsigned char *number, size_t bytes);
void sr_rlp_uint(struct sr_out *out, uint64_t v);

/*
 * sr_rlp_begin, sr_rlp_end - around the items of a list. @mark is what begin returned.
 * Ends come in the reverse order of begins. What is inside moves up for the length
 * that comes before it: once a level, so lists are for few levels.
 */
SR_WARN_UNUSED size_t sr_rlp_begin(const struct sr_out *out);
void sr_rlp_end(struct sr_out *out, size_t mark);

SR_END_DECLS

#endif /* SR_RLP_H */
