/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "signer_rig.h"
#include "sr_hash.h"

struct answer {
	const char *message;
	size_t bytes;
	const char *digest;
};

static void check(const struct answer *want, const unsigned char digest[32])
{
	unsigned char expected[32];

	rig_unhex(expected, want->digest);
	cr_assert_arr_eq(digest, expected, 32, "%zu bytes", want->bytes);
}

/* FIPS 180-4 examples. */
static const struct answer sha256_answers[] = {
	{ "", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
	{ "abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
	{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
	  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
};

/* Keccak submission, version 3; "testing" and the empty string are the values
 * that Ethereum's tools show. */
static const struct answer keccak_answers[] = {
	{ "", 0, "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470" },
	{ "abc", 3, "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45" },
	{ "testing", 7, "5f16f4c7f149ac4f9510d9cf8cf384038ad348b3bcdc01915f95de12df9d1b02" },
};

Test(hash, sha256_gives_the_published_digests)
{
	struct sr_hasher *hasher;
	unsigned char digest[32];

	cr_assert_eq(sr_hasher_new(&hasher), 0);
	for (int again = 0; again < 2; again++) {
		for (size_t i = 0; i < 3; i++) {
			const struct answer *want = &sha256_answers[i];

			cr_assert_eq(sr_sha256(hasher, digest, want->message, want->bytes), 0);
			check(want, digest);
		}
	}
	cr_assert_eq(sr_sha256(hasher, digest, NULL, 0), 0);
	check(&sha256_answers[0], digest);
	sr_hasher_delete(hasher);
	sr_hasher_delete(NULL);
}

Test(hash, keccak256_gives_the_published_digests)
{
	unsigned char digest[32];

	for (size_t i = 0; i < 3; i++) {
		sr_keccak256(digest, keccak_answers[i].message, keccak_answers[i].bytes);
		check(&keccak_answers[i], digest);
	}
	sr_keccak256(digest, NULL, 0);
	check(&keccak_answers[0], digest);
}

/* Where padding is one byte, fills a block or opens a new one. */
Test(hash, keccak256_pads_right_around_a_block)
{
	/* Bytes of 0x61, by an implementation in Python that makes its round
	 * constants and rotations as the reference does, from the LFSR. */
	static const struct answer around[] = {
		{ NULL, 135, "34367dc248bbd832f4e3e69dfaac2f92638bd0bbd18f2912ba4ef454919cf446" },
		{ NULL, 136, "a6c4d403279fe3e0af03729caada8374b5ca54d8065329a3ebcaeb4b60aa386e" },
		{ NULL, 137, "d869f639c7046b4929fc92a4d988a8b22c55fbadb802c0c66ebcd484f1915f39" },
	};
	unsigned char message[137], digest[32];

	memset(message, 0x61, sizeof message);
	for (size_t i = 0; i < 3; i++) {
		sr_keccak256(digest, message, around[i].bytes);
		check(&around[i], digest);
	}
}

static unsigned long allocations;

#if !RIG_SANITIZED
/* libcrypto's calls come here too: the program's malloc stands before glibc's. */
extern void *__libc_malloc(size_t bytes);

void *malloc(size_t bytes)
{
	allocations++;
	return __libc_malloc(bytes);
}
#endif

Test(hash, nothing_is_allocated_in_use)
{
	unsigned char message[256] = { 0 }, digest[32];
	unsigned long before;
	struct sr_hasher *hasher;
	void *one;

	cr_assert_eq(sr_hasher_new(&hasher), 0);
	before = allocations;
	one = malloc(1);
	__asm__ volatile("" ::"r"(one) : "memory");
	free(one);
	if (allocations == before)
		cr_skip_test("a sanitizer has the allocator");

	before = allocations;
	for (size_t i = 0; i < 100; i++)
		if (sr_sha256(hasher, digest, message, i))
			break;
	cr_assert_eq(allocations, before);
	sr_hasher_delete(hasher);
}
