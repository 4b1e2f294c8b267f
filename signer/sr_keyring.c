/* SPDX-License-Identifier: MIT */
#include "sr_keyring.h"

#include <stdlib.h>

#include "sr_ct.h"
#include "sr_rights.h"
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
	uint32_t places; /* the free ones among them have id 0 */
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

/* The public side, but for what comes from the secret one. */
static void put_info(struct sr_key_info *to, const struct sr_key_info *from)
{
	to->id = from->id;
	to->permissions = from->permissions;
	to->nonce_mode = from->nonce_mode;
	to->uid_count = from->uid_count;
	memcpy(to->uids, from->uids, sizeof to->uids);
	to->any_uid = from->any_uid;
	to->identities = from->identities;
}

/* An index without a key; SR_KEYS_MAX when there is none. */
static uint32_t find_place(const struct sr_keyring *ring)
{
	uint32_t index = 0;

	while (index < ring->places && ring->ids[index] != 0)
		index++;
	return index;
}

static void occupy(struct sr_keyring *ring, uint32_t index)
{
	ring->ids[index] = ring->info[index].id;
	ring->count++;
	if (index == ring->places)
		ring->places++;
}

int sr_keyring_add(struct sr_keyring *ring, const struct sr_curve *curve,
		   const struct sr_key_info *info, unsigned char seckey[SR_SECKEY_BYTES])
{
	uint32_t index = find_place(ring);
	struct sr_key_info added = { 0 };
	struct secret *secret;
	int ret = -EINVAL;

	if (!info_valid(info))
		goto wipe;
	ret = -EEXIST;
	if (sr_keyring_find(ring, info->id) >= 0)
		goto wipe;
	ret = -ENOSPC;
	if (index == SR_KEYS_MAX)
		goto wipe;

	ret = sr_curve_pubkey(curve, added.pubkey, added.address, seckey);
	sr_wipe_stack();
	if (ret)
		goto wipe;

	put_info(&added, info);
	ring->info[index] = added;
	secret = &ring->secrets[index];
	memcpy(secret->d, seckey, SR_SECKEY_BYTES);
	memcpy(secret->bd, seckey, SR_SECKEY_BYTES);
	memset(secret->b, 0, SR_SCALAR_BYTES);
	secret->b[SR_SCALAR_BYTES - 1] = 1;
	occupy(ring, index);
wipe:
	sr_wipe(seckey, SR_SECKEY_BYTES);
	return ret;
}

int sr_key_entry_make(struct sr_key_entry *entry, const struct sr_curve *curve,
		      const struct sr_key_info *info, const unsigned char seckey[SR_SECKEY_BYTES],
		      const unsigned char by[SR_SCALAR_BYTES])
{
	bool good;
	int ret = -EINVAL;

	sr_wipe(entry, sizeof *entry);
	if (!info_valid(info) ||
	    sr_curve_pubkey(curve, entry->info.pubkey, entry->info.address, seckey))
		goto end;
	good = sr_scalar_valid(curve, by);
	good &= sr_scalar_mul(curve, entry->bd, seckey, by);
	sr_declassify(&good, sizeof good);
	if (!good)
		goto end;

	memcpy(entry->d, seckey, SR_SECKEY_BYTES);
	memcpy(entry->b, by, SR_SCALAR_BYTES);
	put_info(&entry->info, info);
	ret = 0;
end:
	sr_wipe_stack();
	if (ret)
		sr_wipe(entry, sizeof *entry);
	return ret;
}

int sr_keyring_put(struct sr_keyring *ring, struct sr_key_entry *entry)
{
	uint32_t index = find_place(ring);
	struct secret *secret = &ring->secrets[index];

	if (sr_keyring_find(ring, entry->info.id) >= 0)
		return -EEXIST;
	if (index == SR_KEYS_MAX)
		return -ENOSPC;

	ring->info[index] = entry->info;
	memcpy(secret->d, entry->d, sizeof secret->d);
	memcpy(secret->b, entry->b, sizeof secret->b);
	memcpy(secret->bd, entry->bd, sizeof secret->bd);
	occupy(ring, index);
	sr_wipe(entry, sizeof *entry);
	return 0;
}

void sr_keyring_remove(struct sr_keyring *ring, uint32_t index)
{
	sr_wipe(&ring->secrets[index], sizeof ring->secrets[index]);
	memset(&ring->info[index], 0, sizeof ring->info[index]);
	ring->ids[index] = 0;
	ring->count--;
}

int sr_keyring_find(const struct sr_keyring *ring, uint32_t id)
{
	for (uint32_t i = 0; id != 0 && i < ring->places; i++)
		if (ring->ids[i] == id)
			return (int)i;
	return -ENOENT;
}

uint32_t sr_keyring_places(const struct sr_keyring *ring)
{
	return ring->places;
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

void sr_keyring_hold(struct sr_keyring *ring, uint32_t index, bool held)
{
	ring->info[index].held = held;
}

void sr_keyring_obey(struct sr_keyring *ring, const struct sr_rights *rights)
{
	for (uint32_t i = 0; i < ring->places; i++)
		if (ring->ids[i] != 0)
			sr_rights_apply(rights, &ring->info[i]);
}

void sr_keyring_lock(struct sr_keyring *ring, uint32_t index)
{
	ring->info[index].locked = true;
	sr_wipe(&ring->secrets[index], sizeof ring->secrets[index]);
}
