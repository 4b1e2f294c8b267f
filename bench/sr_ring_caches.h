/* SPDX-License-Identifier: MIT */
/*
 * sr_ring_caches.h - what two CPUs share, by how much they get in each other's way.
 *
 * A guest's topology files say what the hypervisor likes. So two kinds of work are
 * timed with the other CPU asleep and with it busy: multiplications, of which a core
 * has one unit, beside the same; and a walk through memory as large as half of the last
 * cache (16 MiB at most), each step waiting for the one before, beside the other's reading of memory
 * up to twice as large as that cache again and again. Where they share the unit, or the cache,
 * the first takes longer. A benchmark includes it once.
 */
#ifndef SR_RING_CACHES_H
#define SR_RING_CACHES_H

#include <sys/mman.h>

#include "sr_bench.h"

#define WORK_STEPS 1000u
#define WALK_STEPS 4096u          /* of a batch, and walks go on where the last one ended */
#define WALK_LINE_BYTES 64u       /* a step each: another line in another order */
#define WALK_BYTES_MAX (16u << 20)
#define WALK_BYTES_MIN (1u << 20)
#define STREAM_BYTES_MAX (128u << 20)
#define CACHE_BYTES_DEFAULT (32l << 20) /* of a last cache that nobody tells us of */

/* Multiplications in four chains: they keep the one multiplier of a core busy. */
static void work(uint32_t count)
{
	static volatile uint64_t sink;
	uint64_t a = sink + 1, b = a + 2, c = a + 4, d = a + 6;

	for (uint32_t i = 0; i < count * WORK_STEPS / 4; i++) {
		a *= 0x9e3779b97f4a7c15u;
		b *= 0xbf58476d1ce4e5b9u;
		c *= 0x94d049bb133111ebu;
		d *= 0x2545f4914f6cdd1du;
		__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
	}
	sink = a + b + c + d;
}

static struct walk {
	uint32_t *next; /* a word a line: the line that follows; one cycle through all */
	uint32_t lines;
	uint32_t at;
	unsigned char *stream; /* the other side's */
	size_t stream_bytes;
	long cache_bytes; /* of the last cache, as the C library was told by the CPU */
} walk;

static void *walk_map(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);

	if (memory == MAP_FAILED)
		return NULL;
	(void)madvise(memory, bytes, MADV_HUGEPAGE); /* else the TLB is measured */
	memset(memory, 1, bytes);
	return memory;
}

/* Sattolo's shuffle: one cycle, so that a walk comes by every line. @small: for a test. */
static int walk_make(bool small)
{
	long told = sysconf(_SC_LEVEL3_CACHE_SIZE);
	uint64_t x = 88172645463325252u;
	size_t bytes;

	walk.cache_bytes = told > 0 ? told : CACHE_BYTES_DEFAULT;
	bytes = (size_t)walk.cache_bytes / 2;
	bytes = small ? WALK_BYTES_MIN / 16 : bytes > WALK_BYTES_MAX ? WALK_BYTES_MAX :
		bytes < WALK_BYTES_MIN ? WALK_BYTES_MIN : bytes;
	walk.lines = (uint32_t)(bytes / WALK_LINE_BYTES);
	walk.stream_bytes = small ? 4 * bytes : (size_t)walk.cache_bytes * 2;
	if (walk.stream_bytes > STREAM_BYTES_MAX)
		walk.stream_bytes = STREAM_BYTES_MAX;
	walk.next = walk_map(bytes);
	if (!walk.next)
		return -ENOMEM;
	for (uint32_t i = 0; i < walk.lines; i++)
		walk.next[i * (WALK_LINE_BYTES / 4)] = i;
	for (uint32_t i = walk.lines - 1; i > 0; i--) {
		uint32_t k, swap;

		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		k = (uint32_t)(x % i);
		swap = walk.next[i * (WALK_LINE_BYTES / 4)];
		walk.next[i * (WALK_LINE_BYTES / 4)] = walk.next[k * (WALK_LINE_BYTES / 4)];
		walk.next[k * (WALK_LINE_BYTES / 4)] = swap;
	}
	return 0;
}

/* @count times WALK_STEPS lines. */
static void walk_on(uint32_t count)
{
	uint32_t at = walk.at;

	for (uint64_t i = (uint64_t)count * WALK_STEPS; i; i--)
		at = walk.next[at * (WALK_LINE_BYTES / 4)];
	walk.at = at;
}

/* The other side: all of its memory, a line after the other, until it is told to stop. */
static void stream_until(const uint64_t *stop)
{
	uint64_t sum = 0;

	while (!sr_load_acquire(stop))
		for (size_t i = 0; i < walk.stream_bytes && !sr_load_relaxed(stop); i += 4096)
			for (size_t k = 0; k < 4096; k += WALK_LINE_BYTES)
				sum += walk.stream[i + k];
	__asm__ volatile("" : : "r"(sum)); /* somebody needs it */
}

/* What the kernel was told. @text: out; what a file of this CPU says, or `nothing`. */
static void topology_read(int cpu, const char *name, char *text, size_t room)
{
	char path[160];
	FILE *f;

	(void)snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/%s", cpu, name);
	f = fopen(path, "re");
	if (!f || !fgets(text, (int)room, f))
		(void)snprintf(text, room, "nothing");
	text[strcspn(text, "\n")] = '\0';
	if (f)
		(void)fclose(f);
}

#endif /* SR_RING_CACHES_H */
