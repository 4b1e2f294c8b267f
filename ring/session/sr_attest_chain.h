/* SPDX-License-Identifier: MIT */
/*
 * sr_attest_chain.h - the certificates of an attestation document.
 *
 * Internal to sr_attest.c. The root is believed because of its hash; each other
 * certificate because the one above it signed it and may sign. Every certificate,
 * the root too, is held to the same rules. Revocation lists are not asked for: AWS
 * says not to, and leaves live three hours. Whether it is the time for them is for
 * the caller to judge.
 */
#ifndef SR_ATTEST_CHAIN_H
#define SR_ATTEST_CHAIN_H

#include "sr_attest.h"

SR_BEGIN_DECLS

/*
 * sr_attest_chain_verify - check a chain against its root.
 *
 * @out:   untouched on failure.
 * @certs: @count of them (2 .. SR_ATTEST_CERTS_MAX), root first, leaf last.
 * @cache: may be NULL; a good chain is kept in it.
 * Returns SR_ATTEST_OK, a code from ROOT to CERT_SIGNATURE, or NO_MEMORY. Leaves
 * OpenSSL's error queue as it was.
 */
SR_WARN_UNUSED enum sr_attest_code sr_attest_chain_verify(struct sr_attest_chain *out,
							  const struct sr_attest_view *certs,
							  size_t count,
							  const struct sr_attest_root *root,
							  struct sr_attest_cache *cache);

SR_END_DECLS

#endif /* SR_ATTEST_CHAIN_H */
