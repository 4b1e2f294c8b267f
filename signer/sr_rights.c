/* SPDX-License-Identifier: MIT */
#include "sr_rights.h"

void sr_rights_make(struct sr_rights *rights, const struct sr_manifest *before,
		    const struct sr_manifest *now)
{
	memset(rights, 0, sizeof *rights);
	rights->version = now->version;
	for (uint32_t i = 0; i < SR_IDENTITIES_MAX; i++) {
		int index = -ENOENT;

		if (i < before->identity_count)
			index = sr_manifest_identity_find(now, before->identities[i].pub);
		rights->identities[i] = index < 0 ? SR_IDENTITY_GONE : (uint32_t)index;
	}
	rights->key_count = now->key_count;
	memcpy(rights->keys, now->keys, now->key_count * sizeof now->keys[0]);
	rights->policy = &now->policy;
	rights->schemas = (struct sr_schema_set){ now->schemas, now->schema_count };
}

static const struct sr_manifest_key *find(const struct sr_rights *rights,
					  const struct sr_key_info *info)
{
	for (uint32_t i = 0; i < rights->key_count; i++) {
		const struct sr_manifest_key *key = &rights->keys[i];

		if (key->id == info->id)
			return key->has_pubkey &&
					       memcmp(key->pubkey, info->pubkey, SR_PUBKEY_BYTES) ?
				       NULL :
				       key;
	}
	return NULL;
}

void sr_rights_apply(const struct sr_rights *rights, struct sr_key_info *info)
{
	const struct sr_manifest_key *key = find(rights, info);

	info->permissions = key ? key->permissions : 0;
	info->policy = key && key->typed ? (uint32_t)(key - rights->keys) + 1 : 0;
	info->nonce_mode = key ? key->nonce_mode : SR_NONCE_HEDGED;
	info->any_uid = false;
	info->uid_count = key ? key->uid_count : 0;
	memset(info->uids, 0, sizeof info->uids);
	if (key)
		memcpy(info->uids, key->uids, sizeof info->uids);
	info->identities = key ? key->identities : 0;
}
