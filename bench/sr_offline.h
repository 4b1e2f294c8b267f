/* SPDX-License-Identifier: MIT */
/*
 * sr_offline.h - signatures without a ring: development keys of files, in this process.
 *
 * For vectors and for looking at what would be signed. Signatures are deterministic
 * (RFC 6979 with HMAC-SHA256, BIP-340 without auxiliary randomness), whatever the key file
 * says, and neither its permissions nor any policy are looked at: who can read the file
 * has the key. The only part of sigring-replay that links the signer's code.
 */
#ifndef SR_OFFLINE_H
#define SR_OFFLINE_H

#include "sr_base.h"
#include "sr_orders.h"
#include "sr_reason.h"

struct sr_offline;

SR_BEGIN_DECLS

/*
 * sr_offline_new - load keys.
 *
 * @path: a file of sigring-key(5), or a directory with such files (*.key).
 * @why:  out on failure.
 *
 * Returns 0 with *offline set, or -errno. NULL may be deleted.
 */
SR_WARN_UNUSED int sr_offline_new(struct sr_offline **offline, const char *path,
				  struct sr_reason *why);
void sr_offline_delete(struct sr_offline *offline);

/* sr_offline_key - the @index-th key, public side; -ENOENT behind the last. */
SR_WARN_UNUSED int sr_offline_key(const struct sr_offline *offline, uint32_t index, uint32_t *id,
				  unsigned char pubkey[33]);

/*
 * sr_offline_sign - an order of any type.
 *
 * @digest: what ECDSA signs; not looked at for BIP-340.
 *
 * Returns 0; -ENOENT (no such key); -EINVAL, -EIO from the curve.
 */
SR_WARN_UNUSED int sr_offline_sign(const struct sr_offline *offline, unsigned char signature[64],
				   uint8_t *recid, const struct sr_order_line *order,
				   const unsigned char digest[32]);

SR_END_DECLS

#endif /* SR_OFFLINE_H */
