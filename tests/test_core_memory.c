/* SPDX-License-Identifier: MIT */
/*
 * test_core_memory.c - what sealed sessions allocate, and where their keys are.
 */
#include <openssl/evp.h>
#include <stdlib.h>

#include "sealed_rig.h"

/* Skipping comes first: it releases nothing. */
static void begin(void)
{
	if (RIG_SANITIZED)
		cr_skip_test("a sanitizer has the allocator, and too much memory to search");
	sealed_begin();
}

TestSuite(core_memory, .init = begin, .fini = sealed_end);

static unsigned long allocator_calls;

#if !RIG_SANITIZED
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *mem, size_t bytes);
extern void __libc_free(void *mem);

void *malloc(size_t bytes)
{
	allocator_calls++;
	return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
	allocator_calls++;
	return __libc_calloc(count, bytes);
}

void *realloc(void *mem, size_t bytes)
{
	allocator_calls++;
	return __libc_realloc(mem, bytes);
}

void free(void *mem)
{
	allocator_calls++;
	__libc_free(mem);
}
#endif

static void make_admission(struct client *c)
{
	client_seals(c);
	cr_assert_eq(sr_admission_make(&secrets->task.admission, &c->terms, &c->keys), 0);
}

Test(core_memory, signing_thread_neither_allocates_nor_frees)
{
	unsigned long before = allocator_calls;
	bool answered = true;
	void *one = malloc(1);

	__asm__ volatile("" ::"r"(one) : "memory"); /* or the compiler drops the pair */
	free(one);
	cr_assert_eq(allocator_calls, before + 2, "it counts");

	succeed(b, a);
	make_admission(b);
	before = allocator_calls;
	for (uint64_t n = RATCHET - 20; n < RATCHET + 20; n++) {
		make_record(record, a, n, KEY, &n, sizeof n);
		answered &= !sr_seal_apply(&a->requests, n, record) && give(a) == SR_CORE_REPLY;
		answered &= give(a) == SR_CORE_REPLY;
		record[99] ^= 1;
		answered &= give(a) == SR_CORE_DROPPED;
		while (sr_core_idle(rig.core))
			;
	}
	answered &= run_task(SR_TASK_ADMIT) == 0;
	answered &= open_session(b) == SR_OPENED_OK;
	make_record(record, b, 0, KEY, "x", 1);
	answered &= !sr_seal_apply(&b->requests, 0, record) && give(b) == SR_CORE_REPLY;
	end_session(b);
	cr_assert_eq(allocator_calls, before);
	cr_assert(answered);
	cr_assert_eq(stats().sessions, 0);

	/* Into a place whose contexts an ended session has left. */
	sr_task_wipe(&secrets->task);
	for (uint64_t i = 3; i < 8; i++) {
		make_admission(client_new(i));
		before = allocator_calls;
		answered &= run_task(SR_TASK_ADMIT) == 0;
		cr_assert_eq(allocator_calls, before);
		sr_task_wipe(&secrets->task);
	}
	cr_assert(answered);
}

/* How often a key lies in memory that this process may write. It is sought by its
 * complement, so that the search does not find itself. */
static unsigned int count_key(const unsigned char complement[32])
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned int found = 0;
	char line[512], rights[8];
	size_t from, to;

	cr_assert_not_null(maps);
	while (fgets(line, sizeof line, maps)) {
		if (sscanf(line, "%zx-%zx %7s", &from, &to, rights) != 3 || rights[0] != 'r' ||
		    rights[1] != 'w')
			continue;
		for (const unsigned char *p = (const unsigned char *)from;
		     p + 32 <= (const unsigned char *)to; p++) {
			unsigned int i = 0;

			while (i < 32 && (p[i] ^ complement[i]) == 0xff)
				i++;
			found += i == 32;
		}
	}
	fclose(maps);
	return found;
}

static void put_complement(unsigned char complement[32], const unsigned char key[32])
{
	for (int i = 0; i < 32; i++)
		complement[i] = (unsigned char)~key[i];
}

/* A direction's keys of epochs 0 and 1, computed as docs/session.md says. */
static void keys_of(unsigned char complement[2][32], const struct client *c, unsigned char direction)
{
	static const unsigned char nonce[12] = { 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255 };
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	unsigned char context[9] = { direction };
	int done;

	sr_put64(context + 1, c->terms.first);
	cr_assert_eq(sr_noise_export(&c->keys, secrets->key, "sigring record", context,
				     sizeof context),
		     0);
	put_complement(complement[0], secrets->key);
	cr_assert_eq(EVP_EncryptInit_ex(ctx, EVP_aes_256_gcm(), NULL, secrets->key, nonce), 1);
	sr_wipe(secrets->key, 32);
	cr_assert_eq(EVP_EncryptUpdate(ctx, secrets->key, &done, secrets->key, 32), 1);
	put_complement(complement[1], secrets->key);
	sr_wipe(secrets->key, 32);
	EVP_CIPHER_CTX_free(ctx);
}

static void check_keys(unsigned char complements[4][32], bool there)
{
	for (int i = 0; i < 4; i++)
		cr_assert_eq(count_key(complements[i]) > 0, there, "key %d: %u", i,
			     count_key(complements[i]));
}

/* Leaves a's keys with the core alone, which has made those of the next epoch. */
static void leave_keys_with_the_core(unsigned char complements[4][32])
{
	give_and_check(a, 0, 1);
	while (sr_core_idle(rig.core))
		;
	keys_of(complements, a, SR_SEAL_SUBMISSION);
	keys_of(complements + 2, a, SR_SEAL_COMPLETION);
	sr_seal_wipe(&a->requests);
	sr_seal_wipe(&a->replies);
	sr_wipe(&a->keys, sizeof a->keys);
	sr_wipe_stack();
	if (count_key(complements[0]) == 0)
		cr_skip_test("this OpenSSL keeps a key in another form");
	check_keys(complements, true);
}

Test(core_memory, keys_are_wiped_when_a_session_ends)
{
	unsigned char complements[4][32];

	leave_keys_with_the_core(complements);
	end_session(a);
	check_keys(complements, false);
}

Test(core_memory, keys_are_wiped_when_a_successor_comes)
{
	unsigned char complements[4][32];

	leave_keys_with_the_core(complements);
	succeed(b, a);
	start(b);
	check_keys(complements, true);
	give_and_check(b, 0, 1);
	check_keys(complements, false);
}

Test(core_memory, keys_are_wiped_when_an_admission_is_replaced_or_the_core_deleted)
{
	unsigned char complements[4][32];
	struct client *c = client_new(3);

	for (uint64_t i = 4; i < 4 + ADMISSIONS - 1; i++)
		start(client_new(i));
	c->terms.depth = 4;
	cr_assert_eq(admit(c), 0);
	a = c;
	cr_assert_eq(open_session(a), SR_OPENED_OK);
	leave_keys_with_the_core(complements);
	sr_core_delete(rig.core);
	rig.core = NULL;
	check_keys(complements, false);
}

