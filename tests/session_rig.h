/* SPDX-License-Identifier: MIT */
/*
 * session_rig.h - what the tests of ring/session share: bytes from hex, protected
 * memory, and a count of what is allocated. A test program includes it once.
 */
#ifndef SESSION_RIG_H
#define SESSION_RIG_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "sr_secret.h"

/* A sanitizer has the allocator. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RIG_SANITIZED 1
#elif defined(__has_feature)
#define RIG_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define RIG_SANITIZED 0
#endif

static inline size_t rig_unhex(unsigned char *out, size_t room, const char *hex)
{
	size_t digits = strlen(hex);

	cr_assert_leq(digits / 2, room);
	for (size_t i = 0; i < digits / 2; i++) {
		unsigned int v;

		cr_assert(sscanf(hex + 2 * i, "%2x", &v) == 1, "not hex: %s", hex);
		out[i] = (unsigned char)v;
	}
	return digits / 2;
}

/* Protected pages; the test is skipped where there are none (qemu-user). */
static inline void *rig_secret(size_t bytes)
{
	void *mem;
	int ret = sr_secret_alloc(&mem, bytes);

	if (ret == -ENOSYS)
		cr_skip_test("no protected memory here (qemu-user, or Linux before 4.14)");
	cr_assert_eq(ret, 0);
	return mem;
}

static unsigned long rig_allocations;

#if !RIG_SANITIZED
/* libcrypto's calls come here too: the program's malloc stands before glibc's. */
extern void *__libc_malloc(size_t bytes);
void *malloc(size_t bytes);

void *malloc(size_t bytes)
{
	rig_allocations++;
	return __libc_malloc(bytes);
}
#endif

/* Skips a test of what is allocated where nothing is counted. Comes first in the
 * test: skipping releases nothing. */
static inline void rig_need_allocation_count(void)
{
	unsigned long before = rig_allocations;
	void *one = malloc(1);

	__asm__ volatile("" ::"r"(one) : "memory");
	free(one);
	if (rig_allocations == before)
		cr_skip_test("a sanitizer has the allocator");
}

#endif /* SESSION_RIG_H */
