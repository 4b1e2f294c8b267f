/* SPDX-License-Identifier: MIT */
/*
 * sr_rights.h - what a manifest says to a signing thread.
 *
 * The control thread makes one from the manifest in force and the one that follows
 * it; the signing thread obeys it between two records (sr_core_task()). A key that it
 * does not name allows nothing. Identities are indices into the manifest, and move
 * when another one comes into force: the map says where to, and the sessions of a
 * client that is in it no more are ended.
 *
 * No secret. One thread at a time.
 */
#ifndef SR_RIGHTS_H
#define SR_RIGHTS_H

#include "sr_keyring.h"
#include "sr_manifest.h"

#define SR_IDENTITY_GONE UINT32_MAX

struct sr_rights {
	uint64_t version; /* of the manifest; 0: none is in force */
	uint32_t identities[SR_IDENTITIES_MAX]; /* by the index before: its index now, or
						   SR_IDENTITY_GONE */
	uint32_t key_count;
	struct sr_manifest_key keys[SR_MANIFEST_KEYS_MAX];
	const struct sr_policy_table *policy; /* borrowed from the manifest; rules[i] are those
						 of keys[i] */
	struct sr_schema_set schemas; /* likewise */
};

SR_BEGIN_DECLS

/* sr_rights_make - of the step from @before, zeroed when nothing was in force. @now keeps
 * its policy and schemas where they are until the signing thread has obeyed. */
void sr_rights_make(struct sr_rights *rights, const struct sr_manifest *before,
		    const struct sr_manifest *now);

/*
 * sr_rights_apply - what a key may do from now on.
 *
 * @info: its id and public key are read; permissions, nonce mode, policy, users and
 *        identities are set. A manifest that names another public key for the id
 *        means another key: this one is allowed nothing.
 */
void sr_rights_apply(const struct sr_rights *rights, struct sr_key_info *info);

SR_END_DECLS

#endif /* SR_RIGHTS_H */
