/* SPDX-License-Identifier: MIT */
#include "sr_heap.h"

#include <openssl/crypto.h>
#include <stdlib.h>

#define BLOCK_BYTES 32u

static void *take(size_t bytes, const char *file, int line)
{
	if (!CRYPTO_secure_malloc_initialized())
		return malloc(bytes);
	return CRYPTO_secure_malloc(bytes, file, line);
}

static void give(void *mem, const char *file, int line)
{
	if (CRYPTO_secure_allocated(mem))
		CRYPTO_secure_free(mem, file, line);
	else
		free(mem);
}

static void *take_again(void *mem, size_t bytes, const char *file, int line)
{
	size_t had;
	void *more;

	if (!mem)
		return take(bytes, file, line);
	if (!CRYPTO_secure_allocated(mem))
		return realloc(mem, bytes);
	had = CRYPTO_secure_actual_size(mem);
	if (bytes <= had && bytes > had / 2)
		return mem;
	more = take(bytes, file, line);
	if (more) {
		memcpy(more, mem, bytes < had ? bytes : had);
		give(mem, file, line);
	}
	return more;
}

int sr_heap_protect(size_t bytes)
{
	if (CRYPTO_secure_malloc_initialized() ||
	    !CRYPTO_set_mem_functions(take, take_again, give))
		return -EBUSY;
	/* 1: locked; 2: it could not be. */
	return CRYPTO_secure_malloc_init(bytes, BLOCK_BYTES) == 1 ? 0 : -ENOMEM;
}
