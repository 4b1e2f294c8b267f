/* SPDX-License-Identifier: MIT */
/*
 * Operators' commands from end to end: who is obeyed, what becomes of a key, and that
 * nothing counts twice, elsewhere or changed.
 */
#include <criterion/criterion.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vault_rig.h"

/* A sanitizer has less time. */
#if defined(__SANITIZE_ADDRESS__)
#define VAULT_STEP 1
#else
#define VAULT_STEP 0
#endif

static struct sr_noise_pair recipient; /* a recovery recipient: of no secret here */
static struct sr_curve *curve;
static char envelope[SR_ENVELOPE_BYTES_MAX];

static void start(void)
{
	unsigned char seed[32] = { 9 };

	if (vault_start() == -ENOSYS)
		cr_skip_test("no protected memory here (qemu-user, or Linux before 4.14)");
	cr_assert_eq(sr_noise_pair_make(&recipient, seed), 0);
	cr_assert_eq(sr_curve_new(&curve, seed), 0);
	vault_enter();
}

static void stop(void)
{
	if (!vr.vault)
		return;
	sr_curve_delete(curve);
	vault_stop();
}

TestSuite(vault, .init = start, .fini = stop, .timeout = 120);

/* ---- helpers ---- */

static struct sr_command_result generate(uint32_t kind, uint32_t id, uint32_t mask)
{
	struct sr_command_generate what = { .id = id };
	unsigned char body[40];

	memcpy(what.recipient, recipient.pub, sizeof what.recipient);
	sr_command_generate_put(body, &what);
	return vault_command(kind, body, sizeof body, mask);
}

static struct sr_command_result word(uint32_t kind, uint32_t id, uint32_t value)
{
	unsigned char body[8];

	sr_command_word_put(body, id, value);
	return vault_command(kind, body, sizeof body, 3);
}

static struct sr_command_key key_of(const struct sr_command_result *result)
{
	struct sr_command_key key = { 0 };

	cr_assert_eq(result->code, SR_COMMAND_DONE, "%.*s", (int)result->body_bytes, result->body);
	cr_assert_eq(sr_command_key_get(&key, result->body), 0);
	return key;
}

static bool says(const struct sr_command_result *result, const char *words)
{
	return memmem(result->body, result->body_bytes, words, strlen(words)) != NULL;
}

static int pubkey_of(const void *arg, unsigned char pubkey[33], const unsigned char secret[32])
{
	return sr_curve_pubkey(arg, pubkey, NULL, secret);
}

/* What the recipient does off line: the blob for him becomes one for this signer. */
static void seal_again(unsigned char blob[SR_BLOB_BYTES], const unsigned char *from,
		       const unsigned char *signer)
{
	const struct sr_blob_curve by = { pubkey_of, curve, NULL };
	unsigned char secret[32], sender[32], ephemeral[32];
	struct sr_blob_info info;
	const struct sr_blob_seal seal = { &info, secret, signer, &recipient, ephemeral, &by };

	rig_draw(ephemeral, sizeof ephemeral);
	cr_assert_eq(sr_blob_open(&info, secret, sender, from, SR_BLOB_BYTES, &recipient, &by), 0);
	cr_assert_arr_eq(sender, sr_gate_public_key(rig.gate), sizeof sender);
	cr_assert_eq(sr_blob_seal(blob, &seal), 0);
}

static uint32_t list(struct sr_command_listed *listed)
{
	struct sr_command_result result = vault_command(SR_COMMAND_LIST, NULL, 0, 3);
	uint32_t count;

	cr_assert_eq(result.code, SR_COMMAND_DONE);
	count = sr_get32(result.body);
	for (uint32_t i = 0; i < count; i++)
		cr_assert_eq(sr_command_listed_get(&listed[i],
						   result.body + 8 + i * SR_COMMAND_LISTED_BYTES),
			     0);
	return count;
}

/* ---- keys ---- */

Test(vault, a_generated_key_is_in_the_ring_and_in_its_blob)
{
	struct sr_command_result result = generate(SR_COMMAND_GENERATE, 7, 3);
	struct sr_command_key key = key_of(&result);
	const struct sr_blob_curve by = { pubkey_of, curve, NULL };
	unsigned char secret[32], sender[32], pubkey[33], address[20];
	struct sr_blob_info info;

	cr_assert_eq(vr.verdict, SR_GATE_ANSWER);
	cr_assert_eq(key.id, 7);
	cr_assert_eq(sr_blob_open(&info, secret, sender, result.body + SR_COMMAND_KEY_BYTES,
				  SR_BLOB_BYTES, &recipient, &by),
		     0);
	cr_assert_eq(info.id, 7);
	cr_assert_arr_eq(info.pubkey, key.pubkey, 33);
	cr_assert_eq(sr_curve_pubkey(curve, pubkey, address, secret), 0);
	cr_assert_arr_eq(pubkey, key.pubkey, 33);
	cr_assert_arr_eq(address, key.address, 20);

	int index = sr_keyring_find(vr.keys, 7);

	cr_assert_geq(index, 0);
	cr_assert_arr_eq(sr_keyring_info(vr.keys, (uint32_t)index)->pubkey, key.pubkey, 33);
	cr_assert_arr_eq(sr_keyring_secret(vr.keys, (uint32_t)index), secret, 32);
	cr_assert_eq(sr_keyring_check(vr.keys, curve, (uint32_t)index), 0);
}

/* The next page of @mem, by way of the kernel: behind the last one lies a guard page. */
static bool next_page(unsigned char page[4096], const unsigned char *mem)
{
	int fds[2];
	ssize_t put;

	cr_assert_eq(pipe(fds), 0);
	put = write(fds[1], mem, 4096);
	cr_assert(put != 4096 || read(fds[0], page, 4096) == 4096);
	(void)close(fds[0]);
	(void)close(fds[1]);
	return put == 4096;
}

Test(vault, no_secret_stays_behind)
{
	const unsigned char *mem = (const unsigned char *)vr.vault, *secret;
	unsigned char page[4096 + 31] = { 0 };
	size_t pages = 0;

	cr_assert_eq(generate(SR_COMMAND_GENERATE, 7, 3).code, SR_COMMAND_DONE);
	secret = sr_keyring_secret(vr.keys, (uint32_t)sr_keyring_find(vr.keys, 7));
	for (; next_page(page + 31, mem + pages * 4096); pages++) {
		cr_assert_eq(memmem(page, sizeof page, secret, 32), NULL, "page %zu", pages);
		memcpy(page, page + 4096, 31);
	}
	cr_assert_geq(pages, 4);
}

Test(vault, a_key_needs_a_recipient_who_can_restore_it)
{
	/* Zeros, and two points of small order (RFC 7748, section 6.1). */
	static const unsigned char small[3][32] = {
		{ 0 },
		{ 1 },
		{ 0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae, 0x16, 0x56, 0xe3,
		  0xfa, 0xf1, 0x9f, 0xc4, 0x6a, 0xda, 0x09, 0x8d, 0xeb, 0x9c, 0x32,
		  0xb1, 0xfd, 0x86, 0x62, 0x05, 0x16, 0x5f, 0x49, 0xb8, 0x00 },
	};

	for (int i = 0; i < 3; i++) {
		unsigned char body[40];

		sr_command_word_put(body, 7, 0);
		memcpy(body + 8, small[i], 32);
		struct sr_command_result result =
			vault_command(SR_COMMAND_GENERATE, body, sizeof body, 3);

		cr_assert_eq(result.code, SR_COMMAND_REFUSED);
		cr_assert(says(&result, "recipient"));
		cr_assert_eq(sr_keyring_count(vr.keys), 0);
		cr_assert_eq(vr.verdict, SR_GATE_ANSWER); /* and the conversation goes on */
	}
}

Test(vault, a_blob_restores_the_same_key_on_another_signer)
{
	struct sr_command_result result = generate(SR_COMMAND_GENERATE, 7, 3);
	struct sr_command_key key = key_of(&result), restored;
	unsigned char blob[SR_BLOB_BYTES], for_this[SR_BLOB_BYTES];

	memcpy(blob, result.body + SR_COMMAND_KEY_BYTES, sizeof blob);
	seal_again(for_this, blob, sr_gate_public_key(rig.gate));
	result = word(SR_COMMAND_DELETE, 7, 0);
	cr_assert_eq(result.code, SR_COMMAND_DONE);
	cr_assert_eq(sr_keyring_find(vr.keys, 7), -ENOENT);

	/* What is sealed to the recipient is not for the signer. */
	result = vault_command(SR_COMMAND_IMPORT, blob, sizeof blob, 3);
	cr_assert_eq(result.code, SR_COMMAND_REFUSED);
	cr_assert(says(&result, "not sealed to this signer"));

	result = vault_command(SR_COMMAND_IMPORT, for_this, sizeof for_this, 3);
	restored = key_of(&result);
	cr_assert_eq(restored.id, 7);
	cr_assert_arr_eq(restored.pubkey, key.pubkey, 33);
	cr_assert_arr_eq(restored.address, key.address, 20);
	cr_assert_geq(sr_keyring_find(vr.keys, 7), 0);

	/* Each changed byte is seen. */
	for (size_t at = 0; at < sizeof for_this; at += VAULT_STEP ? 13 : 3) {
		for_this[at] ^= 0x10;
		result = vault_command(SR_COMMAND_IMPORT, for_this, sizeof for_this, 3);
		cr_assert_eq(result.code, SR_COMMAND_REFUSED, "byte %zu", at);
		for_this[at] ^= 0x10;
	}
}

Test(vault, rotating_makes_another_key_of_the_same_id)
{
	struct sr_command_result result = generate(SR_COMMAND_ROTATE, 7, 3);
	struct sr_command_key key, rotated;

	cr_assert_eq(result.code, SR_COMMAND_REFUSED);
	cr_assert(says(&result, "no key of this id"));
	result = generate(SR_COMMAND_GENERATE, 7, 3);
	key = key_of(&result);
	result = generate(SR_COMMAND_GENERATE, 7, 3);
	cr_assert_eq(result.code, SR_COMMAND_REFUSED);
	cr_assert(says(&result, "rotate"));
	result = generate(SR_COMMAND_ROTATE, 7, 3);
	rotated = key_of(&result);
	cr_assert_eq(rotated.id, 7);
	cr_assert(memcmp(key.pubkey, rotated.pubkey, 33) != 0);
	cr_assert_eq(sr_keyring_count(vr.keys), 1);
}

Test(vault, keys_are_listed_held_let_go_and_deleted)
{
	struct sr_command_listed listed[SR_KEYS_MAX];
	struct sr_command_result result;

	cr_assert_eq(list(listed), 0);
	for (uint32_t id = 1; id <= 3; id++) {
		result = generate(SR_COMMAND_GENERATE, id, 3);
		cr_assert_eq(result.code, SR_COMMAND_DONE);
	}
	result = word(SR_COMMAND_HOLD, 2, 1);
	cr_assert(result.code == SR_COMMAND_DONE && result.body_bytes == 0);
	cr_assert_eq(list(listed), 3);
	for (uint32_t i = 0; i < 3; i++) {
		cr_assert_eq(listed[i].flags, listed[i].key.id == 2 ? SR_COMMAND_HELD : 0);
		cr_assert(listed[i].permissions == 0 && listed[i].identities == 0);
	}
	result = word(SR_COMMAND_HOLD, 2, 0);
	cr_assert_eq(result.code, SR_COMMAND_DONE);
	result = word(SR_COMMAND_DELETE, 1, 0);
	cr_assert_eq(result.code, SR_COMMAND_DONE);
	cr_assert_eq(list(listed), 2);
	cr_assert_eq(listed[0].flags | listed[1].flags, 0);

	result = word(SR_COMMAND_DELETE, 1, 0);
	cr_assert_eq(result.code, SR_COMMAND_REFUSED);
	result = word(SR_COMMAND_HOLD, 1, 1);
	cr_assert_eq(result.code, SR_COMMAND_REFUSED);
	sr_keyring_lock(vr.keys, (uint32_t)sr_keyring_find(vr.keys, 3));
	result = word(SR_COMMAND_HOLD, 3, 0);
	cr_assert_eq(result.code, SR_COMMAND_REFUSED);
	cr_assert(says(&result, "check of this key has failed"));
	(void)list(listed);
	cr_assert_eq((listed[0].flags | listed[1].flags) & SR_COMMAND_LOCKED, SR_COMMAND_LOCKED);
}

Test(vault, a_full_ring_is_listed_in_one_result_and_takes_no_more)
{
	struct sr_command_listed listed[SR_KEYS_MAX];
	struct sr_command_result result;

	for (uint32_t id = 1; id <= SR_KEYS_MAX; id++) {
		result = generate(SR_COMMAND_GENERATE, id, 3);
		cr_assert_eq(result.code, SR_COMMAND_DONE);
	}
	result = generate(SR_COMMAND_GENERATE, 1000, 3);
	cr_assert_eq(result.code, SR_COMMAND_REFUSED);
	cr_assert_eq(list(listed), SR_KEYS_MAX);
}

Test(vault, a_blob_leaves_only_when_the_signing_thread_has_the_key)
{
	struct sr_command_result result;

	vr.task_error = -ENOSPC;
	result = generate(SR_COMMAND_GENERATE, 7, 3);
	cr_assert_eq(result.code, SR_COMMAND_REFUSED);
	cr_assert_lt(result.body_bytes, SR_COMMAND_KEY_BYTES + SR_BLOB_BYTES);
	cr_assert_eq(memmem(result.body, result.body_bytes, "srbk", 4), NULL);
}

Test(vault, nothing_is_made_of_a_failed_source)
{
	struct sr_command_result result;

	rig.entropy_error = -EIO;
	result = generate(SR_COMMAND_GENERATE, 7, 3);
	cr_assert_eq(result.code, SR_COMMAND_FAILED);
	cr_assert_eq(sr_keyring_count(vr.keys), 0);
}

/* ---- who is obeyed ---- */

static void assert_ended(uint32_t code)
{
	cr_assert_eq(code, SR_COMMAND_UNAUTHORISED);
	cr_assert_eq(vr.verdict, SR_GATE_REFUSED);
	rig.up.bytes = 0;
	cr_assert_eq(rig_up(), SR_GATE_SILENT);
	vault_leave();
	cr_assert_eq(rig_stats().operators, 0);
	rig.now_ns += 2 * RIG_SECOND;
	vault_enter();
}

Test(vault, fewer_than_k_operators_are_obeyed_in_nothing)
{
	/* None, one, one and a stranger: with k = 2. */
	static const uint32_t masks[] = { 0, 1, 4, 1u | 8u };
	unsigned char body[SR_BLOB_BYTES] = { 0 };

	sr_command_word_put(body, 7, 0);
	for (uint32_t kind = SR_COMMAND_GENERATE; kind <= SR_COMMAND_DELETE; kind++) {
		size_t bytes = kind == SR_COMMAND_IMPORT ? SR_BLOB_BYTES :
			       kind == SR_COMMAND_LIST   ? 0 :
			       kind == SR_COMMAND_HOLD || kind == SR_COMMAND_DELETE ? 8 :
										      40;

		for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++)
			assert_ended(vault_command(kind, body, bytes, masks[i]).code);
	}
	/* Any two of the three. */
	cr_assert_eq(vault_command(SR_COMMAND_LIST, NULL, 0, 3).code, SR_COMMAND_DONE);
	cr_assert_eq(vault_command(SR_COMMAND_LIST, NULL, 0, 5).code, SR_COMMAND_DONE);
	cr_assert_eq(vault_command(SR_COMMAND_LIST, NULL, 0, 7).code, SR_COMMAND_DONE);
}

static struct sr_command_result say(const struct sr_policy_word *policy, uint32_t mask)
{
	unsigned char body[SR_COMMAND_POLICY_BYTES];

	sr_command_policy_put(body, policy);
	return vault_command(SR_COMMAND_POLICY, body, sizeof body, mask);
}

Test(vault, words_about_policies_reach_the_signing_thread)
{
	struct sr_policy_word policy = { .say = SR_POLICY_SAY_KILL, .killed = true };
	struct sr_command_result result = say(&policy, 3);

	cr_assert(result.code == SR_COMMAND_DONE && result.body_bytes == 0);
	policy = (struct sr_policy_word){ .say = SR_POLICY_SAY_LEASE, .lease_s = 60 };
	cr_assert_eq(say(&policy, 3).code, SR_COMMAND_DONE);
	policy = (struct sr_policy_word){ .say = SR_POLICY_SAY_SEED, .key = 7 };
	result = say(&policy, 3);
	cr_assert_eq(result.code, SR_COMMAND_REFUSED);
	cr_assert(says(&result, "no policy of this key"));
	policy.key = 0;
	result = say(&policy, 3);
	cr_assert_eq(result.code, SR_COMMAND_REFUSED);
	policy = (struct sr_policy_word){ .say = SR_POLICY_SAY_KILL };
	assert_ended(say(&policy, 1).code); /* of one operator, and two are needed */
}

static uint64_t tick(void *arg)
{
	return ++*(uint64_t *)arg;
}

static struct sr_command_result ask_trace(uint64_t from, uint32_t mask)
{
	unsigned char body[SR_COMMAND_TRACE_BYTES];

	sr_command_trace_put(body, from);
	return vault_command(SR_COMMAND_TRACE, body, sizeof body, mask);
}

Test(vault, stamps_of_records_are_read_in_pieces_by_k_operators)
{
	static uint64_t clock;
	static struct sr_trace_entry entries[SR_COMMAND_TRACED_MAX];
	const struct sr_counter counter = { { 11, 12 }, 2400000000, SR_COUNTER_TSC };
	struct sr_core_config config = {
		.sign = { .keys = vr.keys, .entropy = &rig_entropy },
		.sessions_max = 4,
		.admissions_max = 2,
		.depth_max = 16,
		.slot_bytes_max = 384,
		.trace = { 512, tick, &clock },
	};
	struct sr_command_traced traced;
	struct sr_command_result result;

	result = ask_trace(0, RIG_ALL);
	cr_assert_eq(result.code, SR_COMMAND_REFUSED);
	cr_assert(!memcmp(result.body, "this signer keeps no trace", 26));
	sr_core_delete(vr.core);
	cr_assert_eq(sr_core_new(&vr.core, &config), 0);
	sr_vault_delete(vr.vault);
	vr.config.counter = counter;
	cr_assert_eq(sr_vault_new(&vr.vault, &vr.config), 0);
	for (uint64_t n = 0; n < 300; n++) {
		sr_trace_begin(sr_core_trace(vr.core), 0);
		sr_trace_end(sr_core_trace(vr.core), 1000 + n);
	}
	result = ask_trace(2, RIG_ALL);
	cr_assert_eq(result.code, SR_COMMAND_DONE);
	cr_assert_eq(sr_command_traced_get(&traced, entries, result.body, result.body_bytes), 0);
	cr_assert_eq(traced.first, 2);
	cr_assert_eq(traced.next, 300);
	cr_assert_eq(traced.slots, 512);
	cr_assert_eq(traced.count, SR_COMMAND_TRACED_MAX);
	cr_assert_arr_eq(traced.counter.domain, counter.domain, sizeof counter.domain);
	cr_assert_eq(traced.counter.ticks_per_s, counter.ticks_per_s);
	cr_assert_eq(traced.counter.kind, counter.kind);
	for (uint32_t i = 0; i < traced.count; i++) {
		cr_assert_eq(entries[i].seq, 1002 + i);
		cr_assert_eq(entries[i].at[SR_TRACE_BEGUN], 3 + i);
	}
	result = ask_trace(2 + SR_COMMAND_TRACED_MAX, RIG_ALL);
	cr_assert_eq(sr_command_traced_get(&traced, entries, result.body, result.body_bytes), 0);
	cr_assert_eq(traced.count, 300 - 2 - SR_COMMAND_TRACED_MAX);
	cr_assert_eq(entries[traced.count - 1].seq, 1299);
	cr_assert_eq(sr_command_traced_get(&traced, entries, result.body, result.body_bytes - 1),
		     -EPROTO);
	assert_ended(ask_trace(0, 1).code); /* k is 2 */
}

Test(vault, an_operator_does_not_count_twice)
{
	vault_sign(SR_COMMAND_LIST, NULL, 0, 1, 0);
	memcpy(vr.text + 16 + 96, vr.text + 16, 96);
	sr_put16(vr.text + 4, 2);
	vr.text_bytes += 96;
	assert_ended(vault_run().code);
}

Test(vault, each_flipped_bit_of_a_command_is_refused)
{
	size_t bytes;

	vault_sign(SR_COMMAND_HOLD, "\7\0\0\0\1\0\0\0", 8, 3, 0);
	bytes = vr.text_bytes;
	for (size_t bit = 0; bit < 8 * bytes; bit += VAULT_STEP ? 7 : 1) {
		struct sr_command_result result;

		vault_sign(SR_COMMAND_HOLD, "\7\0\0\0\1\0\0\0", 8, 3, 0);
		vr.text[bit / 8] ^= (unsigned char)(1u << bit % 8);
		result = vault_run();
		/* One bit of the kind makes it a manifest, which it then is not. */
		cr_assert(result.code == SR_COMMAND_UNAUTHORISED ||
				  result.code == SR_COMMAND_MALFORMED ||
				  (bit == 18 && result.code == SR_COMMAND_REFUSED),
			  "bit %zu: %u", bit, result.code);
		cr_assert_eq(vr.verdict, SR_GATE_REFUSED);
		vault_leave();
		rig.now_ns += 2 * RIG_SECOND;
		vault_enter();
	}
	vault_sign(SR_COMMAND_HOLD, "\7\0\0\0\1\0\0\0", 8, 3, 0);
	cr_assert_eq(vault_run().code, SR_COMMAND_REFUSED); /* signed, and there is no key 7 */
}

Test(vault, a_command_counts_once_and_in_its_place)
{
	unsigned char first[512];
	size_t bytes;

	vault_sign(SR_COMMAND_LIST, NULL, 0, 3, 0);
	bytes = vr.text_bytes;
	memcpy(first, vr.text, bytes);
	cr_assert_eq(vault_run().code, SR_COMMAND_DONE);
	memcpy(vr.text, first, bytes);
	vr.text_bytes = bytes;
	assert_ended(vault_run().code);

	/* Ahead of its turn; and in another conversation than that it was signed for. */
	vault_sign(SR_COMMAND_LIST, NULL, 0, 3, 1);
	assert_ended(vault_run().code);
	memcpy(vr.text, first, bytes);
	vr.text_bytes = bytes;
	assert_ended(vault_run().code);
}

Test(vault, what_is_no_command_ends_the_conversation)
{
	static const size_t lengths[] = { 0, 1, 15, 16, 17, 300 };

	for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
		memset(vr.text, 0, sizeof vr.text);
		sr_put16(vr.text, 1);
		sr_put16(vr.text + 2, i == 3 ? 99 : SR_COMMAND_HOLD);
		vr.text_bytes = lengths[i];
		cr_assert_eq(vault_run().code, SR_COMMAND_MALFORMED);
		cr_assert_eq(vr.verdict, SR_GATE_REFUSED);
		vault_leave();
		rig.now_ns += 2 * RIG_SECOND;
		vault_enter();
	}
}

/* ---- manifests ---- */

#define MANIFEST(version, nonce)                                                               \
	"{\"sigring_manifest\":1,\"version\":" version ",\"identities\":[{\"name\":"           \
	"\"mm-1\",\"public_key\":\"0101010101010101010101010101010101010101010101010101010101" \
	"010101\"}],\"keys\":[{\"id\":7,\"nonce\":\"" nonce                                    \
	"\",\"permit\":[\"ecdsa-keccak256\"],\"identities\":[\"mm-1\"]}]}"

static struct sr_command_result load(const char *json, uint32_t mask)
{
	size_t bytes = vault_envelope(envelope, json, mask);

	return vault_command(SR_COMMAND_MANIFEST, envelope, bytes, 0);
}

Test(vault, a_manifest_comes_into_force_by_its_own_signatures)
{
	struct sr_command_result result = generate(SR_COMMAND_GENERATE, 7, 3);
	struct sr_command_listed listed[SR_KEYS_MAX];
	unsigned char hash[32];

	cr_assert_eq(result.code, SR_COMMAND_DONE);
	result = load(MANIFEST("3", "hedged"), 5);
	cr_assert_eq(result.code, SR_COMMAND_DONE, "%.*s", (int)result.body_bytes, result.body);
	cr_assert_eq(vr.verdict, SR_GATE_ANSWER);
	cr_assert_eq(sr_get64(result.body), 3);
	cr_assert_eq(vr.manifest.version, 3);
	cr_assert_eq(sr_manifest_hash(vr.hasher, hash, MANIFEST("3", "hedged"),
				      strlen(MANIFEST("3", "hedged"))),
		     0);
	cr_assert_arr_eq(result.body + 8, hash, 32);

	/* The key that was there has its rights, and one that comes has none. */
	result = generate(SR_COMMAND_GENERATE, 8, 3);
	cr_assert_eq(result.code, SR_COMMAND_DONE);
	cr_assert_eq(list(listed), 2);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(listed[i].permissions != 0, listed[i].key.id == 7);
		cr_assert_eq(listed[i].identities, listed[i].key.id == 7 ? 1 : 0);
	}
	/* The next document says so. */
	vault_leave();
	vault_enter();
	cr_assert_eq(rig.secrets->result.next.terms.manifest_version, 3);
	cr_assert_arr_eq(rig.secrets->result.next.terms.manifest_hash, hash, 32);
}

Test(vault, a_manifest_of_too_few_of_an_old_version_or_that_cannot_be_obeyed_is_refused)
{
	struct sr_command_result result;

	cr_assert_eq(load(MANIFEST("3", "hedged"), 3).code, SR_COMMAND_DONE);
	assert_ended(load(MANIFEST("4", "hedged"), 1).code);
	result = load(MANIFEST("2", "hedged"), 3);
	cr_assert_eq(result.code, SR_COMMAND_REFUSED);
	cr_assert_eq(vr.verdict, SR_GATE_REFUSED); /* anybody has old ones */
	vault_leave();
	vault_enter();
	result = load(MANIFEST("4", "presign"), 3);
	cr_assert_eq(result.code, SR_COMMAND_REFUSED);
	cr_assert(says(&result, "presignatures"));
	cr_assert_eq(vr.manifest.version, 3);
	vault_leave();
	vault_enter();
	/* In force already: said so, and no proof of anything. */
	result = load(MANIFEST("3", "hedged"), 3);
	cr_assert_eq(result.code, SR_COMMAND_DONE);
	cr_assert_eq(sr_get64(result.body), 3);
	cr_assert_eq(vr.verdict, SR_GATE_REFUSED);
}

Test(vault, a_manifest_of_the_greatest_length_passes_in_pieces)
{
	static char json[SR_MANIFEST_BYTES_MAX + 1];
	const char *begin = MANIFEST("9", "hedged");

	memset(json, ' ', sizeof json - 1);
	memcpy(json, begin, strlen(begin));
	cr_assert_eq(load(json, 7).code, SR_COMMAND_DONE);
	cr_assert_eq(vr.manifest.version, 9);
}

/* ---- what is out of turn ---- */

Test(vault, a_command_while_another_is_judged_ends_the_conversation)
{
	vault_sign(SR_COMMAND_LIST, NULL, 0, 3, 0);
	cr_assert_eq(vault_send(), SR_GATE_COMMAND);
	vault_sign(SR_COMMAND_LIST, NULL, 0, 3, 1);
	cr_assert_eq(vault_send(), SR_GATE_REFUSED);
	cr_assert_eq(rig_refusal(), SR_REFUSAL_TURN);
}

Test(vault, a_task_that_comes_back_after_its_conversation_is_harmless)
{
	struct sr_gate_command command;
	struct sr_vault_answer answer;
	struct sr_task *task;
	unsigned char body[8];

	sr_command_word_put(body, 7, 1);
	vault_sign(SR_COMMAND_HOLD, body, sizeof body, 3, 0);
	cr_assert_eq(vault_send(), SR_GATE_COMMAND);
	sr_gate_command_get(rig.gate, &rig.talk, &command);
	cr_assert_eq(sr_vault_take(vr.vault, &answer, &task, &command), SR_VAULT_TASK);
	vault_leave();
	sr_core_task(vr.core, task);
	sr_vault_continue(vr.vault, &answer);
	cr_assert_not(sr_vault_busy(vr.vault));
	cr_assert_eq(sr_gate_result(rig.gate, &rig.talk, rig.down.data, &rig.down.bytes,
				    answer.authorised, answer.text, answer.bytes, rig.now_ns),
		     SR_GATE_SILENT);
	vault_enter();
	cr_assert_eq(vault_command(SR_COMMAND_LIST, NULL, 0, 3).code, SR_COMMAND_DONE);
}
