/* SPDX-License-Identifier: MIT */
#include "signer_rig.h"

static struct sr_curve *curve;
static struct sr_keyring *ring;
static unsigned char *seckey; /* protected memory */

static void begin(void)
{
	static const unsigned char seed[32] = { 3 };
	void *mem;

	rig_need_secret_memory();
	cr_assert_eq(sr_curve_new(&curve, seed), 0);
	cr_assert_eq(sr_keyring_new(&ring), 0);
	cr_assert_eq(sr_secret_alloc(&mem, 32), 0);
	seckey = mem;
}

static void end(void)
{
	sr_secret_free(seckey, 32);
	sr_keyring_delete(ring);
	sr_keyring_delete(NULL);
	sr_curve_delete(curve);
}

TestSuite(keyring, .init = begin, .fini = end);

static int add(uint32_t id, unsigned char fill)
{
	struct sr_key_info info = { .id = id, .nonce_mode = SR_NONCE_HEDGED };

	memset(seckey, fill, 32);
	return sr_keyring_add(ring, curve, &info, seckey);
}

static bool wiped(void)
{
	for (int i = 0; i < 32; i++)
		if (seckey[i])
			return false;
	return true;
}

Test(keyring, added_key_is_found_with_its_public_side)
{
	struct sr_key_info info = { .id = 5,
				    .permissions = 1u << SR_BIP340,
				    .nonce_mode = SR_NONCE_RFC6979,
				    .uid_count = 2,
				    .uids = { 4, 6 },
				    .locked = true };
	const struct sr_key_info *found;
	unsigned char want[33], kept[32];

	memset(seckey, 0x2a, 32);
	memcpy(kept, seckey, 32);
	rig_unhex(want, "035be5e9478209674a96e60f1f037f6176540fd001fa1d64694770c56a7709c42c");
	cr_assert_eq(sr_keyring_add(ring, curve, &info, seckey), 0);
	cr_assert(wiped(), "the caller's copy");

	cr_assert_eq(sr_keyring_count(ring), 1);
	cr_assert_eq(sr_keyring_find(ring, 5), 0);
	cr_assert_eq(sr_keyring_find(ring, 6), -ENOENT);
	found = sr_keyring_info(ring, 0);
	cr_assert_arr_eq(found->pubkey, want, sizeof want);
	cr_assert(found->permissions == 1u << SR_BIP340 && found->uid_count == 2);
	cr_assert(found->uids[0] == 4 && found->uids[1] == 6 && !found->any_uid);
	cr_assert_not(found->locked, "a key begins unlocked, whatever was passed");
	cr_assert_arr_eq(sr_keyring_secret(ring, 0), kept, 32);
	sr_keyring_lock(ring, 0);
	cr_assert(found->locked);
}

Test(keyring, wrong_keys_are_refused_and_wiped)
{
	struct sr_key_info info = { .id = 1, .nonce_mode = SR_NONCE_HEDGED };

	cr_assert_eq(add(0, 1), -EINVAL);
	cr_assert(wiped());
	cr_assert_eq(add(1, 0), -EINVAL, "the scalar 0");
	cr_assert_eq(add(1, 0xff), -EINVAL, "above the order");
	cr_assert(wiped());

	info.nonce_mode = 5;
	memset(seckey, 1, 32);
	cr_assert_eq(sr_keyring_add(ring, curve, &info, seckey), -EINVAL);
	cr_assert(wiped());
	info.nonce_mode = SR_NONCE_HEDGED;
	info.permissions = 1;
	memset(seckey, 1, 32);
	cr_assert_eq(sr_keyring_add(ring, curve, &info, seckey), -EINVAL, "type 0");
	info.permissions = 1u << (SR_TYPE_BLIND_MAX + 1);
	memset(seckey, 1, 32);
	cr_assert_eq(sr_keyring_add(ring, curve, &info, seckey), -EINVAL);
	info.permissions = 0;
	info.uid_count = SR_KEY_UIDS_MAX + 1;
	memset(seckey, 1, 32);
	cr_assert_eq(sr_keyring_add(ring, curve, &info, seckey), -EINVAL);
	cr_assert_eq(sr_keyring_count(ring), 0);
}

Test(keyring, ids_are_unique_and_room_is_bounded)
{
	for (uint32_t id = 1; id <= SR_KEYS_MAX; id++)
		cr_assert_eq(add(id, (unsigned char)id), 0);
	cr_assert_eq(add(3, 1), -EEXIST);
	cr_assert(wiped());
	cr_assert_eq(add(SR_KEYS_MAX + 1, 1), -ENOSPC);
	cr_assert(wiped());
	cr_assert_eq(sr_keyring_count(ring), SR_KEYS_MAX);
	cr_assert_eq(sr_keyring_find(ring, SR_KEYS_MAX), (int)SR_KEYS_MAX - 1);
	cr_assert_eq(sr_keyring_secret(ring, 9)[31], 10);
}
