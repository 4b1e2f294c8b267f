/* SPDX-License-Identifier: MIT */
/*
 * sr_timestamp.h - what time it is, as the security module says.
 *
 * An enclave has a clock that its host sets. The module's documents carry a time of
 * their own, in milliseconds since 1970, and policies go by that: nonces, expiries.
 */
#ifndef SR_TIMESTAMP_H
#define SR_TIMESTAMP_H

#include "sr_base.h"
#include "sr_evidence.h"

SR_BEGIN_DECLS

/*
 * sr_timestamp_get - from a document of this moment. May take milliseconds.
 *
 * Uses 12 KiB of the calling thread's stack.
 *
 * Returns 0; -EBADMSG (a document in which no time can be found); what the module said.
 */
SR_WARN_UNUSED int sr_timestamp_get(const struct sr_evidence *evidence, uint64_t *unix_ms);

/* sr_timestamp_find - in such a document. Returns 0 or -EBADMSG. */
SR_WARN_UNUSED int sr_timestamp_find(uint64_t *unix_ms, const unsigned char *document,
				     size_t bytes);

SR_END_DECLS

#endif /* SR_TIMESTAMP_H */
