/* SPDX-License-Identifier: MIT */
/*
 * sr_manifest.h - who may have what signed: the text that the operators sign.
 *
 * JSON (RFC 8259), for example:
 *
 *	{
 *	  "sigring_manifest": 1,                          the format
 *	  "version": 7,                                   1 .. 2^53-1
 *	  "identities": [                                 the traders
 *	    { "name": "mm-1", "public_key": "64 digits" } X25519, of the handshake
 *	  ],
 *	  "keys": [
 *	    {
 *	      "id": 7,                                    1 .. 2^32-1
 *	      "public_key": "66 digits",                  when it is known
 *	      "nonce": "presign",                         SR_NONCE_MODES; hedged
 *	      "permit": ["hyperliquid/order"],            venue and kind of sr_order.h; or
 *	                                                  blind types, of sr_type.h
 *	      "identities": ["mm-1"],                     whose sessions may use it
 *	      "unsealed_uids": [1000],                    who may without a seal
 *	      "policy": { ... }                           sr_manifest_policy.h
 *	    }
 *	  ],
 *	  "schemas": [ ... ]                              sr_manifest_schema.h
 *	}
 *
 * A key that signs blindly could sign any typed order, so it has no typed permission.
 *
 * The format, version, names, ids and an identity's key must be there. Everything
 * else may be absent or empty, and then nobody may, or nothing. A field that is not
 * listed here is refused, as is one that comes twice, in any object: an operator who
 * misspells a limit has to hear of it, not to live without it.
 *
 * Strings are printable ASCII without escapes, numbers decimal integers, so that no
 * two programs read two things in one text. The parser knows only this shape: it
 * never skips over a value, so its depth is that of the example; it allocates
 * nothing and its work is linear in the text, but for names (identities * keys).
 *
 * The hash is over the exact bytes. A manifest is believed when k operators have
 * signed the hash (sr_operator.h), and obeyed when its version is higher than that of
 * the one in force: none can be put back while the signer runs, and a minimum
 * version, given to it at its start, keeps an old one from being brought to a new
 * boot. Signatures are checked before a byte is parsed.
 *
 * Pure functions; no thread of their own.
 */
#ifndef SR_MANIFEST_H
#define SR_MANIFEST_H

#include "sr_envelope.h"
#include "sr_hash.h"
#include "sr_keyring.h"
#include "sr_operator.h"
#include "sr_policy.h"
#include "sr_reason.h"
#include "sr_schema.h"

#define SR_MANIFEST_VERSION_MAX ((UINT64_C(1) << 53) - 1) /* exact in any JSON reader */
#define SR_MANIFEST_IDENTITIES_MAX 64u
#define SR_MANIFEST_KEYS_MAX SR_KEYS_MAX
#define SR_MANIFEST_NAME_MAX 31u
#define SR_IDENTITY_KEY_BYTES 32u

/* The purpose of an operator's signature. */
#define SR_MANIFEST_PURPOSE "manifest"

struct sr_manifest_identity {
	char name[SR_MANIFEST_NAME_MAX + 1]; /* letters, digits, '.', '_', '-' */
	unsigned char pub[SR_IDENTITY_KEY_BYTES];
};

struct sr_manifest_key {
	uint64_t identities; /* bit i: identity i may use it */
	uint32_t id;
	uint32_t permissions; /* bit (1 << type) of blind ones; typed ones are in the policy */
	uint32_t nonce_mode;  /* enum sr_nonce_mode */
	uint32_t uid_count;
	uint32_t uids[SR_KEY_UIDS_MAX]; /* whose sessions may use it without a seal */
	bool typed; /* its policy permits something */
	bool has_pubkey;
	unsigned char pubkey[SR_PUBKEY_BYTES]; /* when known */
};

/* What is in force. A version of 0 is that of none. Large: not for small stacks. */
struct sr_manifest {
	uint64_t version;
	unsigned char hash[SR_HASH_BYTES];
	uint32_t identity_count;
	uint32_t key_count;
	struct sr_manifest_identity identities[SR_MANIFEST_IDENTITIES_MAX];
	struct sr_manifest_key keys[SR_MANIFEST_KEYS_MAX];
	struct sr_policy_table policy; /* rules[i] are those of keys[i] */
	uint32_t schema_count;
	struct sr_schema schemas[SR_POLICY_SCHEMAS_MAX];
};

SR_STATIC_ASSERT(SR_MANIFEST_IDENTITIES_MAX <= 64, "a bit for each identity");

SR_BEGIN_DECLS

/*
 * sr_manifest_hash - SHA-256 of "sigring manifest", a zero byte and the text.
 *
 * Clients pin it, and it goes into the attestation document.
 * Returns 0 or -EIO.
 */
SR_WARN_UNUSED int sr_manifest_hash(struct sr_hasher *hasher, unsigned char hash[SR_HASH_BYTES],
				    const char *text, size_t bytes);

/*
 * sr_manifest_parse - the text alone, whoever wrote it.
 *
 * @manifest: out, but for its hash, which is zero.
 *
 * Returns 0; -EMSGSIZE: longer than SR_MANIFEST_BYTES_MAX; -EBADMSG: the text is
 * wrong, with the line in the reason. *manifest is untouched then.
 */
SR_WARN_UNUSED int sr_manifest_parse(struct sr_manifest *manifest, const char *text, size_t bytes,
				     struct sr_reason *why);

/*
 * sr_manifest_load - put the manifest of an envelope in force, or keep what is.
 *
 * @manifest:    in: what is in force, zeroed when nothing is; out: what is now.
 * @operators:   whose signatures count.
 * @version_min: 0: any; a lower version is refused.
 * @text:        an envelope (sr_envelope.h).
 *
 * Uses 160 KiB of the calling thread's stack.
 *
 * Returns 0; -EMSGSIZE, -EBADMSG: as sr_envelope_open(), sr_operators_verify() and
 * sr_manifest_parse(); -EACCES: signed by fewer than k; -ESTALE: its version is below
 * that in force, or below the minimum; -EEXIST: the version in force with other
 * bytes; -EALREADY: it is in force; -EIO. With a reason; *manifest is untouched then.
 */
SR_WARN_UNUSED int sr_manifest_load(struct sr_manifest *manifest, struct sr_hasher *hasher,
				    const struct sr_operators *operators, uint64_t version_min,
				    const char *text, size_t bytes, struct sr_reason *why);

/* sr_manifest_identity_find - index by static public key, or -ENOENT. */
int sr_manifest_identity_find(const struct sr_manifest *manifest,
			      const unsigned char pub[SR_IDENTITY_KEY_BYTES]);

/* sr_manifest_key_find - index by id, or -ENOENT. */
int sr_manifest_key_find(const struct sr_manifest *manifest, uint32_t id);

/* sr_manifest_allows - may this identity's sessions use the key? Indices as found. */
static inline bool sr_manifest_allows(const struct sr_manifest *manifest, uint32_t key,
				      uint32_t identity)
{
	return manifest->keys[key].identities >> identity & 1;
}

/* sr_manifest_allows_unsealed - may this user's sessions use the key without a seal? */
bool sr_manifest_allows_unsealed(const struct sr_manifest *manifest, uint32_t key, uint32_t uid);

SR_END_DECLS

#endif /* SR_MANIFEST_H */
