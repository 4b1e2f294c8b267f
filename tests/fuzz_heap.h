/* SPDX-License-Identifier: MIT */
/*
 * fuzz_heap.h - for a while, whoever allocates has failed.
 *
 * Where there is a sanitizer's allocator to ask; elsewhere it watches nothing. Only the
 * thread that forbids is watched. For programs that have included fuzz_main.h.
 */
#ifndef FUZZ_HEAP_H
#define FUZZ_HEAP_H

#include "fuzz_main.h"

__attribute__((weak)) int
__sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
					  void (*on_free)(const volatile void *));

static _Thread_local bool fuzz_heap_forbidden;

static inline void fuzz_heap_malloc(const volatile void *mem, size_t bytes)
{
	(void)mem;
	(void)bytes;
	require(!fuzz_heap_forbidden, "it allocates");
}

static inline void fuzz_heap_free(const volatile void *mem)
{
	(void)mem;
	require(!fuzz_heap_forbidden, "it frees");
}

static inline void fuzz_heap_forbid(bool forbid)
{
	static bool installed;

	if (!installed && __sanitizer_install_malloc_and_free_hooks) {
		fuzz_heap_forbidden = false;
		(void)__sanitizer_install_malloc_and_free_hooks(fuzz_heap_malloc, fuzz_heap_free);
	}
	installed = true;
	fuzz_heap_forbidden = forbid;
}

#endif /* FUZZ_HEAP_H */
