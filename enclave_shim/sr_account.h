/* SPDX-License-Identifier: MIT */
/*
 * sr_account.h - what venues call the owner of a key: text made of its public half.
 *
 * Pure functions, nothing here is secret.
 */
#ifndef SR_ACCOUNT_H
#define SR_ACCOUNT_H

#include "sr_base.h"
#include "sr_bech32.h"

#define SR_ACCOUNT_ETHEREUM_BYTES 43u /* "0x", 40 digits, zero */
#define SR_ACCOUNT_PREFIX_MAX SR_BECH32_PREFIX_MAX /* of a Cosmos chain */
#define SR_ACCOUNT_COSMOS_BYTES (SR_BECH32_TEXT(SR_ACCOUNT_PREFIX_MAX, 20u) + 1u)

SR_BEGIN_DECLS

/* sr_account_ethereum - 20 bytes with the check of ERC-55, as wallets show it. */
void sr_account_ethereum(char text[SR_ACCOUNT_ETHEREUM_BYTES], const unsigned char address[20]);

/* sr_account_prefix_valid - could a chain have it? 1 .. 16 lower-case letters, digits. */
bool sr_account_prefix_valid(const char *prefix);

/*
 * sr_account_cosmos - RIPEMD160(SHA256(compressed public key)) in Bech32 (BIP 173), as
 * chains of the Cosmos SDK write it.
 *
 * @prefix: the chain's, as "cosmos" or "dydx".
 * Returns 0; -EINVAL: a prefix that no chain has; -EIO: OpenSSL has no RIPEMD-160.
 */
SR_WARN_UNUSED int sr_account_cosmos(char text[SR_ACCOUNT_COSMOS_BYTES], const char *prefix,
				     const unsigned char pubkey[33]);

SR_END_DECLS

#endif /* SR_ACCOUNT_H */
