/* SPDX-License-Identifier: MIT */
/*
 * test_core_task.c - what the control thread has a signing thread do: rights of a
 * manifest, and keys that come and go while sessions are open.
 */
#include <openssl/evp.h>

#include "sealed_rig.h"

#define ID 77u

static struct sr_manifest before, now;

static void name_identity(struct sr_manifest *m, uint8_t who)
{
	memset(m->identities[m->identity_count++].pub, who, SR_IDENTITY_KEY_BYTES);
}

static struct sr_manifest_key *name_key(struct sr_manifest *m, uint32_t id)
{
	struct sr_manifest_key *key = &m->keys[m->key_count++];

	key->id = id;
	key->nonce_mode = SR_NONCE_HEDGED;
	return key;
}

static void come_into_force(void)
{
	now.version = before.version + 1;
	sr_rights_make(&secrets->task.rights, &before, &now);
	cr_assert_eq(run_task(SR_TASK_RIGHTS), 0);
	sr_task_wipe(&secrets->task);
	before = now;
	memset(&now, 0, sizeof now);
}

/* The clients of the rig have index TRADER: as many identities before it. */
static void task_begin(void)
{
	sealed_begin();
	memset(&before, 0, sizeof before);
	memset(&now, 0, sizeof now);
	for (uint8_t i = 0; i <= TRADER; i++)
		name_identity(&before, i);
}

TestSuite(core_task, .init = task_begin, .fini = sealed_end);

static uint64_t next_number;

static void expect_answer(unsigned int status, unsigned int policy)
{
	uint64_t n = next_number++;

	cr_assert_eq(give_number(a, n), SR_CORE_REPLY);
	check_reply(a, n, status, policy, n + 1);
	cr_assert_eq(has_signature(), status == SR_OK);
}

/* ---- rights ---- */

Test(core_task, session_follows_its_client_to_another_index)
{
	struct sr_manifest_key *key;

	expect_answer(SR_OK, 0);
	name_identity(&now, 99);
	name_identity(&now, TRADER);
	key = name_key(&now, KEY);
	key->permissions = RIG_ALL_TYPES;
	key->identities = 1ull << 1;
	come_into_force();
	expect_answer(SR_OK, 0);

	/* Another one is at its index now, and what that one may is nothing to it. */
	name_identity(&now, TRADER);
	name_identity(&now, 99);
	key = name_key(&now, KEY);
	key->permissions = RIG_ALL_TYPES;
	key->identities = 1ull << 1;
	come_into_force();
	expect_answer(SR_DENIED, SR_POLICY_UNKNOWN_KEY);
}

Test(core_task, session_of_a_client_that_is_in_no_manifest_any_more_ends_and_says_so)
{
	start(b);
	expect_answer(SR_OK, 0);
	name_identity(&now, 99);
	come_into_force();
	cr_assert_eq(stats().sessions, 0);
	cr_assert_eq(give_number(a, 1), SR_CORE_ENDED);
	cr_assert_eq(give_number(b, 0), SR_CORE_ENDED, "the provisional one too");
	cr_assert_eq(open_session(a), SR_OPENED_GONE);
}

Test(core_task, session_in_clear_stays_and_has_the_rights_that_the_manifest_gives_its_user)
{
	struct sr_open_request request = rig_open_request(50, FIRST);
	struct sr_manifest_key *key;
	uint32_t id;

	cr_assert_eq(sr_core_open(rig.core, &id, &request, EPOCH, STREAM), SR_OPENED_OK);
	key = name_key(&now, RIG_KEY);
	key->permissions = 1u << SR_ECDSA_SHA256;
	key->uid_count = 1;
	key->uids[0] = RIG_UID;
	key = name_key(&now, KEY_OTHERS); /* its file lets every user have it */
	key->permissions = RIG_ALL_TYPES;
	come_into_force();
	for (uint64_t n = 0; n < 4; n++) {
		rig_record(record, RIG_SLOT, FIRST + n, n % 2 ? RIG_KEY : KEY_OTHERS,
			   n < 2 ? SR_ECDSA_SHA256 : SR_ECDSA_KECCAK256, "x", 1);
		cr_assert_eq(sr_core_record(rig.core, reply, id, EPOCH, STREAM, record, RIG_SLOT),
			     SR_CORE_REPLY);
		cr_assert_eq(rig_status(reply), n == 1 ? SR_OK : SR_DENIED, "%u", (unsigned int)n);
	}
	cr_assert_eq(rig_policy(reply), SR_POLICY_TYPE_NOT_PERMITTED);
}

Test(core_task, key_that_the_manifest_does_not_name_is_allowed_nothing)
{
	struct sr_manifest_key *key;

	name_identity(&now, TRADER);
	come_into_force();
	expect_answer(SR_DENIED, SR_POLICY_UNKNOWN_KEY);
	name_identity(&now, TRADER);
	key = name_key(&now, KEY);
	key->identities = 1;
	come_into_force();
	expect_answer(SR_DENIED, SR_POLICY_TYPE_NOT_PERMITTED);
	name_identity(&now, TRADER);
	key = name_key(&now, KEY);
	key->identities = 1;
	key->permissions = RIG_ALL_TYPES;
	key->has_pubkey = true;
	memset(key->pubkey, 2, sizeof key->pubkey);
	come_into_force();
	expect_answer(SR_DENIED, SR_POLICY_UNKNOWN_KEY);
	name_identity(&now, TRADER);
	key = name_key(&now, KEY);
	key->identities = 1;
	key->permissions = RIG_ALL_TYPES;
	key->has_pubkey = true;
	memcpy(key->pubkey, sr_keyring_info(rig.keys, (uint32_t)sr_keyring_find(rig.keys, KEY))->pubkey,
	       sizeof key->pubkey);
	come_into_force();
	expect_answer(SR_OK, 0);
}

Test(core_task, presignatures_without_a_pool_are_dry_and_not_a_fault)
{
	struct sr_manifest_key *key;

	for (uint32_t mode = SR_NONCE_PRESIGN; mode <= SR_NONCE_PRESIGN_ONLY; mode++) {
		name_identity(&now, TRADER);
		key = name_key(&now, KEY);
		key->identities = 1;
		key->permissions = RIG_ALL_TYPES;
		key->nonce_mode = mode;
		come_into_force();
		if (mode == SR_NONCE_PRESIGN)
			expect_answer(SR_OK, 0);
		else
			expect_answer(SR_DENIED, SR_POLICY_DRY);
	}
	cr_assert_eq(stats().check_failed, 0);
}

/* ---- keys ---- */

static void make_entry(uint32_t id, uint8_t secret, uint64_t identities)
{
	struct sr_key_info info = {
		.id = id,
		.nonce_mode = SR_NONCE_HEDGED,
		.permissions = RIG_ALL_TYPES,
		.identities = identities,
	};
	unsigned char by[SR_SCALAR_BYTES] = { 7 };

	memset(secrets->key, secret, sizeof secrets->key);
	cr_assert_eq(sr_key_entry_make(&secrets->task.entry, rig.curve, &info, secrets->key, by), 0);
	cr_assert_arr_neq(secrets->task.entry.bd, secrets->key, sizeof secrets->key);
}

static int add_entry(uint32_t id, uint8_t secret)
{
	make_entry(id, secret, 1ull << TRADER);
	return run_task(SR_TASK_KEY_ADD);
}

static void expect_answer_of(uint32_t id, unsigned int status, unsigned int policy)
{
	uint64_t n = next_number++;

	make_record(record, a, n, id, "x", 1);
	cr_assert_eq(sr_seal_apply(&a->requests, n, record), 0);
	cr_assert_eq(give(a), SR_CORE_REPLY);
	check_reply(a, n, status, policy, n + 1);
}

static void check_signed_by(uint8_t secret)
{
	unsigned char pub[SR_PUBKEY_BYTES], address[20], digest[32];

	memset(secrets->key, secret, sizeof secrets->key);
	cr_assert_eq(sr_curve_pubkey(rig.curve, pub, address, secrets->key), 0);
	cr_assert_eq(EVP_Digest("x", 1, digest, NULL, EVP_sha256(), NULL), 1);
	cr_assert_eq(sr_ecdsa_verify(rig.curve, rig_sig(opened), digest, pub), 0);
}

Test(core_task, key_that_was_added_signs_and_its_entry_is_wiped)
{
	expect_answer_of(ID, SR_DENIED, SR_POLICY_UNKNOWN_KEY);
	cr_assert_eq(add_entry(ID, 0x33), 0);
	cr_assert(sr_all_zero((const unsigned char *)&secrets->task.entry,
			      sizeof secrets->task.entry));
	expect_answer_of(ID, SR_OK, 0);
	check_signed_by(0x33);
	cr_assert_eq(add_entry(ID, 0x34), -EEXIST);
	expect_answer_of(ID, SR_OK, 0);
	check_signed_by(0x33);
}

Test(core_task, key_that_is_added_has_the_rights_of_the_manifest_in_force)
{
	struct sr_manifest_key *key;

	name_identity(&now, TRADER);
	key = name_key(&now, ID);
	key->identities = 1;
	key->permissions = 1u << SR_ECDSA_KECCAK256;
	come_into_force();
	make_entry(ID, 0x33, ~0ull);
	cr_assert_eq(run_task(SR_TASK_KEY_ADD), 0);
	expect_answer_of(ID, SR_DENIED, SR_POLICY_TYPE_NOT_PERMITTED);
}

Test(core_task, key_has_one_id)
{
	cr_assert_eq(add_entry(ID, 0x33), 0);
	cr_assert_eq(add_entry(ID + 1, 0x33), -ENOTUNIQ);
	cr_assert_eq(add_entry(ID + 1, 0x34), 0);
	make_entry(ID + 1, 0x33, 1ull << TRADER);
	cr_assert_eq(run_task(SR_TASK_KEY_ROTATE), -ENOTUNIQ);
	expect_answer_of(ID + 1, SR_OK, 0);
	check_signed_by(0x34);
	secrets->task.id = ID;
	cr_assert_eq(run_task(SR_TASK_KEY_DELETE), 0);
	cr_assert_eq(add_entry(ID + 2, 0x33), 0);
}

Test(core_task, key_that_rotates_is_another_under_its_id)
{
	make_entry(ID, 0x33, 1ull << TRADER);
	cr_assert_eq(run_task(SR_TASK_KEY_ROTATE), -ENOENT);
	cr_assert_eq(add_entry(ID, 0x33), 0);
	make_entry(ID, 0x44, 1ull << TRADER);
	cr_assert_eq(run_task(SR_TASK_KEY_ROTATE), 0);
	expect_answer_of(ID, SR_OK, 0);
	check_signed_by(0x44);
}

Test(core_task, key_that_was_deleted_is_gone_and_its_place_serves_again)
{
	uint32_t count = sr_keyring_count(rig.keys);

	cr_assert_eq(run_task(SR_TASK_KEY_DELETE), -ENOENT);
	for (uint32_t i = 0; i < 3 * SR_KEYS_MAX; i++) {
		cr_assert_eq(add_entry(ID + i, (uint8_t)(0x33 + i)), 0);
		secrets->task.id = ID + i;
		cr_assert_eq(run_task(SR_TASK_KEY_DELETE), 0);
	}
	cr_assert_eq(sr_keyring_count(rig.keys), count);
	expect_answer_of(ID, SR_DENIED, SR_POLICY_UNKNOWN_KEY);
	expect_answer_of(0, SR_DENIED, SR_POLICY_UNKNOWN_KEY);
	cr_assert_eq(sr_keyring_find(rig.keys, 0), -ENOENT, "a free place has this id");
	expect_answer(SR_OK, 0);
	for (uint32_t i = count; i < SR_KEYS_MAX; i++)
		cr_assert_eq(add_entry(ID + i, (uint8_t)(0x33 + i)), 0);
	cr_assert_eq(add_entry(ID + SR_KEYS_MAX, 0x32), -ENOSPC);
}

Test(core_task, key_that_is_held_signs_nothing_until_it_is_let_go)
{
	secrets->task.id = KEY;
	secrets->task.held = true;
	cr_assert_eq(run_task(SR_TASK_KEY_HOLD), 0);
	expect_answer(SR_DENIED, SR_POLICY_KEY_HELD);
	secrets->task.held = false;
	cr_assert_eq(run_task(SR_TASK_KEY_HOLD), 0);
	expect_answer(SR_OK, 0);

	sr_keyring_lock(rig.keys, (uint32_t)sr_keyring_find(rig.keys, KEY));
	cr_assert_eq(run_task(SR_TASK_KEY_HOLD), -EKEYREVOKED, "its secret is gone");
	expect_answer(SR_DENIED, SR_POLICY_KEY_LOCKED);
	secrets->task.id = ID;
	cr_assert_eq(run_task(SR_TASK_KEY_HOLD), -ENOENT);
}

Test(core_task, signer_that_drains_signs_nothing_and_says_so)
{
	secrets->task.held = true;
	cr_assert_eq(run_task(SR_TASK_DRAIN), 0);
	expect_answer(SR_DENIED, SR_POLICY_DRAINING);
	expect_answer_of(ID, SR_DENIED, SR_POLICY_UNKNOWN_KEY); /* strangers learn nothing */
	cr_assert_eq(run_task(SR_TASK_STATUS), 0);
	cr_assert(secrets->task.status.draining);
	cr_assert_eq(secrets->task.status.signed_ok, 0);
	cr_assert_eq(secrets->task.status.denied, 2);
	secrets->task.held = false;
	cr_assert_eq(run_task(SR_TASK_DRAIN), 0);
	expect_answer(SR_OK, 0);
	cr_assert_eq(run_task(SR_TASK_STATUS), 0);
	cr_assert(!secrets->task.status.draining);
	cr_assert_eq(secrets->task.status.signed_ok, 1);
	cr_assert_eq(secrets->task.status.keys, sr_keyring_count(rig.keys));
	cr_assert_eq(secrets->task.status.sessions, 1);
}

Test(core_task, key_that_is_held_stays_so_when_it_rotates)
{
	cr_assert_eq(add_entry(ID, 0x33), 0);
	secrets->task.id = ID;
	secrets->task.held = true;
	cr_assert_eq(run_task(SR_TASK_KEY_HOLD), 0);
	make_entry(ID, 0x44, 1ull << TRADER);
	cr_assert_eq(run_task(SR_TASK_KEY_ROTATE), 0);
	expect_answer_of(ID, SR_DENIED, SR_POLICY_KEY_HELD);
	secrets->task.held = false;
	cr_assert_eq(run_task(SR_TASK_KEY_HOLD), 0);
	expect_answer_of(ID, SR_OK, 0);
	check_signed_by(0x44);
}

Test(core_task, list_has_each_key_once)
{
	const struct sr_key_list *list = &secrets->task.list;

	cr_assert_eq(add_entry(ID, 0x33), 0);
	secrets->task.id = KEY_OTHERS;
	cr_assert_eq(run_task(SR_TASK_KEY_DELETE), 0);
	cr_assert_eq(run_task(SR_TASK_KEY_LIST), 0);
	cr_assert_eq(list->count, sr_keyring_count(rig.keys));
	for (uint32_t i = 0; i < list->count; i++) {
		cr_assert_neq(list->keys[i].id, 0);
		cr_assert_neq(list->keys[i].id, KEY_OTHERS);
	}
	cr_assert_eq(list->keys[list->count - 1].id, ID);
}

Test(core_task, entry_of_what_is_no_key_is_refused_and_wiped)
{
	struct sr_key_info info = { .id = ID, .nonce_mode = SR_NONCE_HEDGED };
	struct sr_key_entry *entry = &secrets->task.entry;
	unsigned char by[SR_SCALAR_BYTES] = { 0 };

	memset(secrets->key, 5, sizeof secrets->key);
	cr_assert_eq(sr_key_entry_make(entry, rig.curve, &info, secrets->key, by), -EINVAL);
	cr_assert(sr_all_zero((const unsigned char *)entry, sizeof *entry));
	by[0] = 1;
	memset(secrets->key, 0xff, sizeof secrets->key);
	cr_assert_eq(sr_key_entry_make(entry, rig.curve, &info, secrets->key, by), -EINVAL);
	cr_assert(sr_all_zero((const unsigned char *)entry, sizeof *entry));
	secrets->key[0] = 0;
	info.id = 0;
	cr_assert_eq(sr_key_entry_make(entry, rig.curve, &info, secrets->key, by), -EINVAL);
	info.id = ID;
	cr_assert_eq(sr_key_entry_make(entry, rig.curve, &info, secrets->key, by), 0);
}
