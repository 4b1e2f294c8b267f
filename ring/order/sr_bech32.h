/* SPDX-License-Identifier: MIT */
/*
 * sr_bech32.h - addresses as Cosmos chains write them (BIP-173).
 *
 *	prefix "1" digits of 5 bits each, six of them a checksum
 *
 * Typed bodies hold the bytes and this makes the text, so that an address has one form
 * and no text needs to be judged on the hot path.
 */
#ifndef SR_BECH32_H
#define SR_BECH32_H

#include "sr_base.h"
#include "sr_out.h"

#define SR_BECH32_PREFIX_MAX 16u
#define SR_BECH32_BYTES_MAX 32u

/* Characters of a text with such a prefix and so many bytes. */
#define SR_BECH32_TEXT(prefix_bytes, bytes) ((prefix_bytes) + 1u + ((bytes)*8u + 4u) / 5u + 6u)

SR_BEGIN_DECLS

/* sr_bech32_put - @prefix: lower case, at most SR_BECH32_PREFIX_MAX; @bytes: at most
 * SR_BECH32_BYTES_MAX. */
void sr_bech32_put(struct sr_out *out, const char *prefix, size_t prefix_bytes,
		   const unsigned char *data, size_t bytes);

/*
 * sr_bech32_parse - the inverse, for programs that are given text.
 *
 * @data: out, exactly @bytes of them. @prefix: what the text must start with.
 *
 * Lower case only, as these chains write it. Returns 0, or -EINVAL: another prefix,
 * length or checksum, a character that is no digit, padding that is not zero.
 */
SR_WARN_UNUSED int sr_bech32_parse(unsigned char *data, size_t bytes, const char *prefix,
				   const char *text, size_t text_bytes);

SR_END_DECLS

#endif /* SR_BECH32_H */
