/* SPDX-License-Identifier: MIT */
/*
 * mp_memory.h - does a process have these bytes, and where?
 *
 * What is looked for is 32 bytes, given with a mask over them: who looks, or hands
 * around what is to be looked for, has them not.
 */
#ifndef MP_MEMORY_H
#define MP_MEMORY_H

#include "mp_common.h"

#define MP_NEEDLE_BYTES 32u
#define MP_NEEDLE_MASK 0xa5u
#define MP_MEMORY_CHUNK (1u << 20)
#define MP_MEMORY_MAP_MAX (1ull << 30) /* what is longer is a sanitizer's */

struct mp_found {
	size_t all;
	size_t bare; /* of them, in memory that a core dump would hold, or that is swapped */
	uint64_t looked_bytes;
};

static inline void mp_needle(unsigned char needle[MP_NEEDLE_BYTES], const void *secret)
{
	for (size_t i = 0; i < MP_NEEDLE_BYTES; i++)
		needle[i] = ((const unsigned char *)secret)[i] ^ MP_NEEDLE_MASK;
}

static inline size_t mp_memory_count(const unsigned char *data, size_t bytes,
				     const unsigned char *needle)
{
	const unsigned char *end = data + bytes;
	size_t found = 0;

	for (const unsigned char *at = data; at + MP_NEEDLE_BYTES <= end; at++) {
		size_t i = 0;

		at = memchr(at, needle[0] ^ MP_NEEDLE_MASK,
			    (size_t)(end - at) - MP_NEEDLE_BYTES + 1);
		if (!at)
			break;
		while (i < MP_NEEDLE_BYTES && (at[i] ^ MP_NEEDLE_MASK) == needle[i])
			i++;
		found += i == MP_NEEDLE_BYTES;
	}
	return found;
}

/* One mapping. The chunks overlap, by one byte less than a needle. */
static inline size_t mp_memory_map(int mem, unsigned long from, unsigned long to,
				   const unsigned char *needle, uint64_t *looked_bytes)
{
	static unsigned char chunk[MP_MEMORY_CHUNK];
	size_t found = 0;

	for (unsigned long at = from; at < to; at += MP_MEMORY_CHUNK - MP_NEEDLE_BYTES + 1) {
		size_t want = to - at < MP_MEMORY_CHUNK ? to - at : MP_MEMORY_CHUNK;
		ssize_t n = pread(mem, chunk, want, (off_t)at);

		if (n <= 0)
			break;
		*looked_bytes += (uint64_t)n;
		found += mp_memory_count(chunk, (size_t)n, needle);
	}
	memset(chunk, 0, sizeof chunk);
	return found;
}

/* All that it has mapped and can read. */
static inline struct mp_found mp_memory_scan(pid_t pid, const unsigned char *needle)
{
	struct mp_found found = { 0, 0, 0 };
	unsigned long from = 0, to = 0;
	char path[64];
	char line[512];
	bool look = false;
	FILE *maps;
	int mem;

	(void)snprintf(path, sizeof path, "/proc/%d/smaps", (int)pid);
	maps = fopen(path, "re");
	(void)snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
	mem = open(path, O_RDONLY | O_CLOEXEC);
	if (!maps || mem < 0)
		mp_skip("the memory of process %d cannot be read: %s", (int)pid, strerror(errno));
	while (fgets(line, sizeof line, maps)) {
		unsigned long begin, end;
		char readable;

		if (sscanf(line, "%lx-%lx %c", &begin, &end, &readable) == 3) {
			from = begin;
			to = end;
			look = readable == 'r' && !strstr(line, "[v") &&
			       end - begin <= MP_MEMORY_MAP_MAX;
		} else if (look && !strncmp(line, "VmFlags:", 8)) {
			size_t n = mp_memory_map(mem, from, to, needle, &found.looked_bytes);

			found.all += n;
			if (!strstr(line, " dd") || !strstr(line, " lo"))
				found.bare += n;
		}
	}
	(void)fclose(maps);
	(void)close(mem);
	MP_CHECK(found.looked_bytes > 100000, "hardly any memory of process %d could be read",
		 (int)pid);
	return found;
}

#endif /* MP_MEMORY_H */
