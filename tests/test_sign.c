/* SPDX-License-Identifier: MIT */
/* Keys that sign from a pool, through the core as an order takes it. */
#include <stdlib.h>

#include "presign_rig.h"
#include "signer_rig.h"
#include "sr_hash.h"

#define KEY 3u      /* presign */
#define KEY_ONLY 4u /* presign-only */
#define KEY_DET 5u  /* rfc6979 */
#define INDEX 0u
#define INDEX_ONLY 1u
#define KEYS 3u
#define POOL 16u

static struct rig rig;
static uint32_t session;
static uint64_t next_n;
static unsigned char record[RIG_SLOT], reply[SR_CMP_BYTES];
static struct sr_hasher *hasher;

static void begin(void)
{
	static const unsigned char seed[32] = { 1 };
	struct sr_open_request request = rig_open_request(1, 0);
	struct sr_core_config config;

	rig_need_secret_memory();
	cr_assert_eq(sr_hasher_new(&hasher), 0);
	cr_assert_eq(sr_curve_new(&rig.curve, seed), 0);
	cr_assert_eq(sr_keyring_new(&rig.keys), 0);
	rig_key_add(&rig, KEY, SR_NONCE_PRESIGN, RIG_ALL_TYPES, true, 0x2a);
	rig_key_add(&rig, KEY_ONLY, SR_NONCE_PRESIGN_ONLY, RIG_ALL_TYPES, true, 0x2b);
	rig_key_add(&rig, KEY_DET, SR_NONCE_RFC6979, RIG_ALL_TYPES, true, 0x2c);
	config = rig_config(&rig);
	config.sign.pool_slots = POOL;
	config.sign.pool_low = POOL / 2;
	config.sign.pool_batch = 4;
	config.snapshot_allowed = true;
	cr_assert_eq(sr_core_new(&rig.core, &config), 0);
	cr_assert_eq(sr_pool_fill(sr_core_pool(rig.core)), 0);
	cr_assert_eq(sr_core_open(rig.core, &session, &request, 1, 0), SR_OPENED_OK);
}

static void end(void)
{
	rig_end(&rig);
	sr_hasher_delete(hasher);
}

TestSuite(sign, .init = begin, .fini = end);

static struct sr_core_stats stats(void)
{
	struct sr_core_stats s;

	sr_core_stats_get(rig.core, &s);
	return s;
}

static void give(void)
{
	memset(reply, 0xee, sizeof reply);
	cr_assert_eq(sr_core_record(rig.core, reply, session, 1, 0, record, RIG_SLOT),
		     SR_CORE_REPLY);
}

/* The status of the next number, whose body is itself. */
static unsigned int ask(uint32_t key, uint16_t type)
{
	unsigned char body[32] = { 0 };

	sr_put64(body, next_n);
	rig_record(record, RIG_SLOT, next_n, key, type, body, sizeof body);
	next_n++;
	give();
	return rig_status(reply);
}

static void verify(uint32_t index, uint16_t type)
{
	const unsigned char *body = record + SR_SUB_BODY + SR_REQ_BODY;
	const unsigned char *pubkey = sr_keyring_info(rig.keys, index)->pubkey;
	unsigned char digest[32];

	if (type == SR_BIP340) {
		cr_assert_eq(sr_bip340_verify(rig.curve, rig_sig(reply), body, 32, pubkey), 0);
		return;
	}
	memcpy(digest, body, sizeof digest);
	if (type == SR_ECDSA_SHA256)
		cr_assert_eq(sr_sha256(hasher, digest, body, 32), 0);
	if (type == SR_ECDSA_KECCAK256)
		sr_keccak256(digest, body, 32);
	cr_assert_eq(sr_ecdsa_verify(rig.curve, rig_sig(reply), digest, pubkey), 0);
}

Test(sign, each_type_takes_one_presignature_and_verifies)
{
	for (uint16_t type = 1; type <= SR_TYPE_BLIND_MAX; type++) {
		cr_assert_eq(ask(KEY, type), SR_OK);
		verify(INDEX, type);
		cr_assert_eq(ask(KEY_ONLY, type), SR_OK);
		verify(INDEX_ONLY, type);
	}
	cr_assert_eq(stats().presigned, 8);
	cr_assert_eq(stats().pool_taken, 8);
	cr_assert_eq(stats().pool_depth, POOL - 8);
	cr_assert_eq(stats().pool_slots, POOL);
	cr_assert_eq(stats().fallbacks, 0);
	cr_assert_eq(stats().snapshot_allowed, 1);
}

Test(sign, a_dry_pool_falls_back_or_denies_and_recovers)
{
	for (uint32_t i = 0; i < POOL; i++)
		cr_assert_eq(ask(KEY, SR_ECDSA_SHA256), SR_OK);
	cr_assert_eq(stats().pool_depth, 0);
	cr_assert_eq(stats().pool_dry, 0);

	cr_assert_eq(ask(KEY, SR_ECDSA_SHA256), SR_OK);
	verify(INDEX, SR_ECDSA_SHA256);
	cr_assert_eq(ask(KEY, SR_BIP340), SR_OK);
	verify(INDEX, SR_BIP340);
	cr_assert_eq(stats().fallbacks, 2);
	cr_assert_eq(ask(KEY_ONLY, SR_ECDSA_SHA256), SR_DENIED);
	cr_assert_eq(rig_policy(reply), SR_POLICY_DRY);
	cr_assert_eq(stats().pool_dry, 3);
	cr_assert_eq(stats().presigned, POOL);

	cr_assert_eq(sr_pool_fill(sr_core_pool(rig.core)), 0);
	cr_assert_eq(ask(KEY_ONLY, SR_ECDSA_SHA256), SR_OK);
	verify(INDEX_ONLY, SR_ECDSA_SHA256);
	cr_assert_eq(ask(KEY, SR_ECDSA_SHA256), SR_OK);
	cr_assert_eq(stats().fallbacks, 2);
	cr_assert_eq(stats().check_failed, 0);
}

/* A repeat gets the same bytes and spends nothing; neither does what is denied. */
Test(sign, only_a_new_signature_takes_a_presignature)
{
	unsigned char first[SR_CMP_BYTES];

	cr_assert_eq(ask(KEY, SR_ECDSA_SHA256), SR_OK);
	memcpy(first, reply, sizeof first);
	give();
	cr_assert_arr_eq(reply, first, sizeof first);
	cr_assert_eq(ask(99, SR_ECDSA_SHA256), SR_DENIED);
	cr_assert_eq(ask(KEY, 77), SR_BAD_REQUEST);
	cr_assert_eq(stats().pool_taken, 1);
}

static void check_fault_locks(unsigned char *secret)
{
	static const unsigned char zero[32];

	secret[7] ^= 0x10;
	cr_assert_eq(ask(KEY, SR_ECDSA_SHA256), SR_DENIED);
	cr_assert_eq(rig_policy(reply), SR_POLICY_KEY_LOCKED);
	for (size_t i = 0; i < SR_SIG_BYTES; i++)
		cr_assert_eq(rig_sig(reply)[i], 0);
	cr_assert_eq(stats().check_failed, 1);
	cr_assert_arr_eq(sr_keyring_secret(rig.keys, INDEX), zero, sizeof zero);

	/* It stays so, costs no presignature, and the other key does not mind. */
	cr_assert_eq(ask(KEY, SR_BIP340), SR_DENIED);
	cr_assert_eq(rig_policy(reply), SR_POLICY_KEY_LOCKED);
	cr_assert_eq(stats().check_failed, 1);
	cr_assert_eq(stats().pool_taken, 1);
	cr_assert_eq(ask(KEY_ONLY, SR_ECDSA_SHA256), SR_OK);
	verify(INDEX_ONLY, SR_ECDSA_SHA256);
}

Test(sign, a_fault_in_the_key_is_not_released_and_locks_it)
{
	check_fault_locks((unsigned char *)(uintptr_t)sr_keyring_presign(rig.keys, INDEX).d);
}

Test(sign, a_fault_in_the_blinding_is_not_released_and_locks_the_key)
{
	check_fault_locks((unsigned char *)(uintptr_t)sr_keyring_presign(rig.keys, INDEX).bd);
}

Test(sign, the_blinding_is_fresh_at_the_start_and_refreshed_in_use)
{
	static const unsigned char one[32] = { [31] = 1 };
	struct sr_presign_key key = sr_keyring_presign(rig.keys, INDEX);
	unsigned char before[32], product[32];

	cr_assert_neq(memcmp(key.b, one, sizeof one), 0);
	memcpy(before, key.b, sizeof before);
	for (uint32_t i = 0; i < 1024; i++) {
		if (stats().pool_depth == 0)
			cr_assert_eq(sr_pool_fill(sr_core_pool(rig.core)), 0);
		cr_assert_not(sr_core_idle(rig.core), "nothing is due after %u", i);
		cr_assert_eq(ask(KEY, SR_ECDSA_DIGEST), SR_OK);
	}
	cr_assert_arr_eq(key.b, before, sizeof before, "an answer never waits for it");
	cr_assert(sr_core_idle(rig.core));
	cr_assert_not(sr_core_idle(rig.core), "once");
	cr_assert_neq(memcmp(key.b, before, sizeof before), 0);
	cr_assert(sr_scalar_mul(rig.curve, product, key.b, key.d));
	cr_assert_arr_eq(product, key.bd, sizeof product);
}

Test(sign, a_key_that_wants_a_pool_is_not_started_without_one)
{
	struct sr_core_config config = rig_config(&rig);
	struct sr_core *core = NULL;

	cr_assert_eq(sr_core_new(&core, &config), -EINVAL);
	config.sign.pool_slots = 12; /* no power of two */
	config.sign.pool_batch = 4;
	cr_assert_eq(sr_core_new(&core, &config), -EINVAL);
	cr_assert_null(core);
}

/* Dry, a key signs hedged: a flipped bit of it would show itself to whoever sees the
 * signature, so that is not released either. */
static void check_fault_without_pool(unsigned char *secret, uint16_t type)
{
	for (uint32_t i = 0; i < POOL; i++)
		cr_assert_eq(ask(KEY, SR_ECDSA_SHA256), SR_OK);
	cr_assert_eq(ask(KEY, type), SR_OK);
	cr_assert_eq(stats().fallbacks, 1);
	secret[30] ^= 2;
	cr_assert_eq(ask(KEY, type), SR_DENIED);
	cr_assert_eq(rig_policy(reply), SR_POLICY_KEY_LOCKED);
	for (size_t i = 0; i < SR_SIG_BYTES; i++)
		cr_assert_eq(rig_sig(reply)[i], 0);
	cr_assert_eq(stats().check_failed, 1);
}

Test(sign, a_fault_in_the_key_is_not_released_by_a_dry_pool_either)
{
	check_fault_without_pool(
		(unsigned char *)(uintptr_t)sr_keyring_presign(rig.keys, INDEX).d, SR_ECDSA_SHA256);
}

Test(sign, nor_is_one_in_its_copy_by_bip340)
{
	check_fault_without_pool(
		(unsigned char *)(uintptr_t)sr_keyring_presign(rig.keys, INDEX).bd, SR_BIP340);
}

static int stuck(void *arg, unsigned char *out, size_t bytes)
{
	(void)arg;
	memset(out, 0x77, bytes);
	return 0;
}

Test(sign, a_dead_entropy_source_starts_nothing)
{
	static const struct sr_entropy dead = { .get = stuck };
	struct sr_core_config config = rig_config(&rig);
	struct sr_core *core = NULL;

	config.sign.entropy = &dead;
	config.sign.pool_slots = POOL;
	config.sign.pool_batch = 4;
	cr_assert_eq(sr_core_new(&core, &config), -EIO);
	cr_assert_null(core);
}

#if !RIG_SANITIZED
/* Everything that a key has in the ring, whichever way it signs: none of it is left
 * on the stack when the answer is there. */
Test(sign, no_secret_is_left_on_the_stack_after_an_answer)
{
	static struct pr_needles needles;
	static unsigned char dead[PR_DEAD_BYTES];
	unsigned char copy[32];

	for (uint32_t i = 0; i < KEYS; i++) {
		struct sr_presign_key key = sr_keyring_presign(rig.keys, i);

		pr_needle_add(&needles, key.d);
		pr_needle_add(&needles, key.b);
		pr_needle_add(&needles, key.bd);
	}
	memcpy(copy, sr_keyring_presign(rig.keys, 0).b, sizeof copy);
	cr_assert_gt(pr_needles_found(&needles, copy, sizeof copy), 0, "the search sees nothing");
	sr_wipe(copy, sizeof copy);

	/* From the pool first, and hedged when that has become dry. */
	for (uint32_t n = 0; n < 3 * POOL; n++)
		for (uint32_t key = KEY; key < KEY + KEYS; key++) {
			pr_stack_clean();
			(void)ask(key, (uint16_t)(1 + n % SR_TYPE_BLIND_MAX));
			PR_STACK_COPY(dead);
			cr_assert_eq(pr_needles_found(&needles, dead, sizeof dead), 0,
				     "key %u, order %u", key, n);
		}
	cr_assert_gt(stats().fallbacks, 0);
	cr_assert_gt(stats().presigned, 0);
}

static unsigned long allocations;

/* libcrypto's calls come here too: the program's malloc stands before glibc's. */
extern void *__libc_malloc(size_t bytes);
void *malloc(size_t bytes);

void *malloc(size_t bytes)
{
	allocations++;
	return __libc_malloc(bytes);
}

Test(sign, nothing_is_allocated_for_an_order)
{
	void *volatile one; /* else the pair is removed */
	unsigned long before;

	cr_assert_eq(ask(KEY, SR_ECDSA_SHA256), SR_OK);
	before = allocations;
	for (uint16_t type = 1; type <= SR_TYPE_BLIND_MAX; type++)
		(void)ask(KEY, type);
	cr_assert_eq(allocations, before);
	cr_assert_eq(stats().presigned, 1 + SR_TYPE_BLIND_MAX);
	one = malloc(1);
	free((void *)one);
	cr_assert_gt(allocations, before, "the counter counts");
}
#endif
