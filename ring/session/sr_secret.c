/* SPDX-License-Identifier: MIT */
#include "sr_secret.h"

#include <sys/mman.h>
#include <unistd.h>

#define SECRET_BYTES_MAX (64u << 20)

/* Measured below the caller, libsecp256k1 0.2.0 of Debian: 3.4 KiB for a
 * signature, 3.8 for a public key. Twice that, for other builds of it. */
#define STACK_BYTES 8192u

/* The same for multiplying, adding and negating scalars: 0.4 KiB. */
#define STACK_SCALAR_BYTES 1024u

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

int sr_secret_alloc(void **mem, size_t bytes)
{
	size_t page = page_bytes();
	unsigned char *base, *inner;
	int ret;

	if (bytes == 0 || bytes > SECRET_BYTES_MAX)
		return -EINVAL;

	bytes = sr_align_up(bytes, page);
	base = mmap(NULL, bytes + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED)
		return -ENOMEM;

	inner = base + page;
	ret = -ENOMEM;
	if (mprotect(inner, bytes, PROT_READ | PROT_WRITE) || mlock(inner, bytes))
		goto unmap;

	/* A kernel without either would let a core dump or a child have keys. */
	ret = -ENOSYS;
	if (madvise(inner, bytes, MADV_DONTDUMP) || madvise(inner, bytes, MADV_WIPEONFORK))
		goto unmap;

	*mem = inner;
	return 0;
unmap:
	(void)munmap(base, bytes + 2 * page);
	return ret;
}

void sr_secret_free(void *mem, size_t bytes)
{
	size_t page = page_bytes();

	if (!mem)
		return;

	bytes = sr_align_up(bytes, page);
	sr_wipe(mem, bytes);
	(void)munmap((unsigned char *)mem - page, bytes + 2 * page);
}

void sr_wipe(void *mem, size_t bytes)
{
	memset(mem, 0, bytes);
	/* Tells the compiler that somebody may look at it, so the memset stays. */
	__asm__ volatile("" ::"r"(mem) : "memory");
}

SR_NOINLINE void sr_wipe_stack(void)
{
	unsigned char below[STACK_BYTES];

	sr_wipe(below, sizeof below);
}

SR_NOINLINE void sr_wipe_stack_scalar(void)
{
	unsigned char below[STACK_SCALAR_BYTES];

	sr_wipe(below, sizeof below);
}

bool sr_equal(const void *a, const void *b, size_t bytes)
{
	const unsigned char *pa = a, *pb = b;
	uint64_t differ = 0;

	for (; bytes >= 8; bytes -= 8, pa += 8, pb += 8) {
		differ |= sr_get64(pa) ^ sr_get64(pb);
		/* Without this a compiler may leave the loop at the first 1. */
		__asm__ volatile("" : "+r"(differ));
	}
	for (; bytes; bytes--, pa++, pb++) {
		differ |= (uint64_t)(*pa ^ *pb);
		__asm__ volatile("" : "+r"(differ));
	}
	return differ == 0;
}
