/* SPDX-License-Identifier: MIT */
/*
 * sr_ring_caches.h - what two CPUs share, by how much they get in each other's way.
 *
 * A guest's topology files say what the hypervisor likes. So two kinds of work are
 * timed with the other CPU asleep and with it busy. Multiplications, of which a core
 * has one unit, beside the same: where they share the unit, they take longer. And a walk,
 * each step waiting for the one before, through twice as much memory as the core's own
 * cache holds, 20 ms after it was last there, in which the other CPU reads more than a
 * last cache holds: where they share that, the walk has to go to memory. How long that
 * takes is measured too: where the walk takes as long when nobody reads, no cache was
 * left for it, and nothing is known. A benchmark includes it once.
 */
#ifndef SR_RING_CACHES_H
#define SR_RING_CACHES_H

#include <sys/mman.h>

#include "sr_bench.h"

#define WORK_STEPS 1000u
#define WALK_STEPS 4096u
#define WALK_LINE_BYTES 64u /* a step each: another line in another order */
#define WALK_APART_NS (20u * SR_NS_PER_MS)
#define MEMORY_BYTES ((size_t)64 << 20) /* of walks that no cache is to hold, and of reading */
#define CORE_CACHE_BYTES (1l << 20)     /* of a core's own cache that nobody tells us of */
#define CORE_CACHE_BYTES_MAX (4l << 20)
#define HUGE_BYTES ((size_t)2 << 20)

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

enum { WALK_CACHE, WALK_MEMORY, WALKS };

static struct walk {
	uint32_t *next; /* a word a line: the line that follows; one cycle through all */
	uint32_t lines;
	uint32_t at;
} walks[WALKS];
static unsigned char *stream; /* what the other side reads */

/* In huge pages where it can be, else the TLB is measured. NULL: there is no memory. */
static void *walk_map(size_t bytes)
{
	char *memory = mmap(NULL, bytes + HUGE_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	memory += HUGE_BYTES - (uintptr_t)memory % HUGE_BYTES;
	(void)madvise(memory, bytes, MADV_HUGEPAGE);
	memset(memory, 1, bytes);
	return memory;
}

/* Sattolo's shuffle: one cycle, so that a walk comes by every line. 0, or -ENOMEM. */
static int walk_make(struct walk *w, size_t bytes)
{
	const uint32_t words = WALK_LINE_BYTES / sizeof *w->next;
	uint64_t x = 88172645463325252u;

	w->lines = (uint32_t)(bytes / WALK_LINE_BYTES);
	w->next = walk_map(bytes);
	if (!w->next)
		return -ENOMEM;
	for (uint32_t i = 0; i < w->lines; i++)
		w->next[i * words] = i;
	for (uint32_t i = w->lines - 1; i > 0; i--) {
		uint32_t k, swap;

		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		k = (uint32_t)(x % i);
		swap = w->next[i * words];
		w->next[i * words] = w->next[k * words];
		w->next[k * words] = swap;
	}
	return 0;
}

/* @small: for a test. */
static int walks_make(bool small)
{
	long told = sysconf(_SC_LEVEL2_CACHE_SIZE);
	int ret;

	if (told <= 0)
		told = CORE_CACHE_BYTES;
	if (told > CORE_CACHE_BYTES_MAX)
		told = CORE_CACHE_BYTES_MAX;
	ret = walk_make(&walks[WALK_CACHE], small ? WALK_STEPS * WALK_LINE_BYTES : 2 * (size_t)told);
	return ret ? ret : walk_make(&walks[WALK_MEMORY], small ? HUGE_BYTES : MEMORY_BYTES);
}

/* @count times WALK_STEPS lines. */
static void walk_on(struct walk *w, uint32_t count)
{
	uint32_t at = w->at;

	for (uint64_t i = (uint64_t)count * WALK_STEPS; i; i--)
		at = w->next[at * (WALK_LINE_BYTES / sizeof *w->next)];
	w->at = at;
}

/* Before a walk is timed: once through all of it, and long enough for the other to read. */
static void walk_prepare(struct walk *w)
{
	walk_on(w, w->lines / WALK_STEPS);
	sr_bench_spin(WALK_APART_NS);
}

/* The other side: all of its memory, a line after the other, until it is told to stop. */
static void stream_until(const uint64_t *stop)
{
	uint64_t sum = 0;

	while (!sr_load_acquire(stop))
		for (size_t i = 0; i < MEMORY_BYTES && !sr_load_relaxed(stop); i += 4096)
			for (size_t k = 0; k < 4096; k += WALK_LINE_BYTES)
				sum += stream[i + k];
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
