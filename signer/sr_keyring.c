/* SPDX-License-Identifier: MIT */
#include "sr_keyring.h"

#include <stdlib.h>

#include "sr_ct.h"
#include "sr_secret.h"

#define SECRETS_BYTES ((SR_KEYS_MAX + 1u) * sizeof(struct secret)) /* one to compute in */
#define PERMISSIONS_KNOWN (((1u << (SR_TYPE_BLIND_MAX + 1u)) - 1u) & ~1u)

/* In protected memory. */
struct secret {
	unsigned char d[SR_SECKEY_BYTES];
	unsigned char b[SR_SCALAR_BYTES];  /* blinds, see sr_presign.h */
	unsigned char bd[SR_SCALAR_BYTES]; /* b*d, never made from d again */
};

struct sr_keyring {
	uint32_t count;
	uint32_t ids[SR_KEYS_MAX]; /* beside each other: searched at each request */
	struct sr_key_info info[SR_KEYS_MAX];
	struct secret *secrets;
};

static const char *const nonce_names[] = {
	[SR_NONCE_HEDGED] = "hedged",
	[SR_NONCE_RFC6979] = "rfc6979",
	[SR_NONCE_PRESIGN] = "presign",
	[SR_NONCE_PRESIGN_ONLY] = "presign-only",
};

const char *sr_nonce_name(uint32_t mode)
{
	return mode <= SR_NONCE_PRESIGN_ONLY ? nonce_names[mode] : NULL;
}

int sr_nonce_from_name(const char *name, size_t bytes)
{
	for (uint32_t mode = SR_NONCE_HEDGED; mode <= SR_NONCE_PRESIGN_ONLY; mode++)
		if (strlen(nonce_names[mode]) == bytes && !memcmp(nonce_names[mode], name, bytes))
			return (int)mode;
	return -EINVAL;
}

int sr_keyring_new(struct sr_keyring **ring)
{
	struct sr_keyring *r = calloc(1, sizeof *r);
	void *mem;
	int ret;

	if (!r)
		return -ENOMEM;

	ret = sr_secret_alloc(&mem, SECRETS_BYTES);
	if (ret) {
		free(r);
		return ret;
	}
	r->secrets = mem;
	*ring = r;
	return 0;
}

void sr_keyring_delete(struct sr_keyring *ring)
{
	if (!ring)
		return;

	sr_secret_free(ring->secrets, SECRETS_BYTES);
	free(ring);
}

static bool info_valid(const struct sr_key_info *info)
{
	return sr_nonce_name(info->nonce_mode) && info->id != 0 &&
	       (info->permissions & ~PERMISSIONS_KNOWN) == 0 && info->uid_count <= SR_KEY_UIDS_MAX;
}

int sr_keyring_add(struct sr_keyring *ring, const struct sr_curve *curve,
		   const struct sr_key_info *info, unsigned char seckey[SR_SECKEY_BYTES])
{
	struct sr_key_info *added;
	int ret = -EINVAL;

	if (!info_valid(info))
		goto wipe;
	ret = -EEXIST;
	if (sr_keyring_find(ring, info->id) >= 0)
		goto wipe;
	ret = -ENOSPC;
	if (ring->count == SR_KEYS_MAX)
		goto wipe;

	added = &ring->info[ring->count];
	ret = sr_curve_pubkey(curve, added->pubkey, added->address, seckey);
	sr_wipe_stack();
	if (ret)
		goto wipe;

	added->id = info->id;
	added->permissions = info->permissions;
	added->nonce_mode = info->nonce_mode;
	added->uid_count = info->uid_count;
	memcpy(added->uids, info->uids, sizeof added->uids);
	added->any_uid = info->any_uid;
	added->identities = info->identities;
	added->locked = false;

	memcpy(ring->secrets[ring->count].d, seckey, SR_SECKEY_BYTES);
	memcpy(ring->secrets[ring->count].bd, seckey, SR_SECKEY_BYTES);
	ring->secrets[ring->count].b[SR_SCALAR_BYTES - 1] = 1;
	ring->ids[ring->count] = info->id;
	ring->count++;
wipe:
	sr_wipe(seckey, SR_SECKEY_BYTES);
	return ret;
}

int sr_keyring_find(const struct sr_keyring *ring, uint32_t id)
{
	for (uint32_t i = 0; i < ring->count; i++)
		if (ring->ids[i] == id)
			return (int)i;
	return -ENOENT;
}

uint32_t sr_keyring_count(const struct sr_keyring *ring)
{
	return ring->count;
}

const struct sr_key_info *sr_keyring_info(const struct sr_keyring *ring, uint32_t index)
{
	return &ring->info[index];
}

const unsigned char *sr_keyring_secret(const struct sr_keyring *ring, uint32_t index)
{
	return ring->secrets[index].d;
}

struct sr_presign_key sr_keyring_presign(const struct sr_keyring *ring, uint32_t index)
{
	const struct secret *secret = &ring->secrets[index];

	return (struct sr_presign_key){ secret->d, secret->b, secret->bd };
}

int sr_keyring_check(const struct sr_keyring *ring, const struct sr_curve *curve, uint32_t index)
{
	const struct secret *secret = &ring->secrets[index];
	unsigned char *product = ring->secrets[SR_KEYS_MAX].bd;
	bool good = sr_scalar_mul(curve, product, secret->b, secret->d);

	good &= sr_equal(product, secret->bd, SR_SCALAR_BYTES);
	sr_declassify(&good, sizeof good);
	sr_wipe(product, SR_SCALAR_BYTES);
	sr_wipe_stack_scalar();
	return good ? 0 : -EBADMSG;
}

int sr_keyring_blind(struct sr_keyring *ring, const struct sr_curve *curve, uint32_t index,
		     const unsigned char by[SR_SCALAR_BYTES])
{
	struct secret *secret = &ring->secrets[index];
	bool good = sr_scalar_valid(curve, by);

	sr_declassify(&good, sizeof good);
	if (!good)
		return -EINVAL;

	good = sr_scalar_mul(curve, secret->b, secret->b, by);
	good &= sr_scalar_mul(curve, secret->bd, secret->bd, by);
	sr_declassify(&good, sizeof good);
	sr_wipe_stack_scalar();
	return good ? 0 : -EBADMSG;
}

void sr_keyring_lock(struct sr_keyring *ring, uint32_t index)
{
	ring->info[index].locked = true;
	sr_wipe(&ring->secrets[index], sizeof ring->secrets[index]);
}
