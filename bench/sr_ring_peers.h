/* SPDX-License-Identifier: MIT */
/*
 * sr_ring_peers.h - rings of other libraries, out of a shared object that
 * bench/peers/build.sh has built; bench_ring itself links none of them.
 */
#ifndef SR_RING_PEERS_H
#define SR_RING_PEERS_H

#include <dlfcn.h>
#include <sys/mman.h>

#include "sr_base.h"

/* As struct peer of bench/peers/peers.cc. */
struct sr_peer {
	const char *key;
	const char *name;
	size_t bytes; /* of memory that both processes map at one address */
	void (*make)(void *memory);
	int (*ask)(void *memory, uint32_t count, uint64_t *number);
	void (*serve)(void *memory, uint32_t count, uint64_t delay_ns);
};

enum { PEER_CK, PEER_BOOST, PEERS };

static struct {
	const struct sr_peer *peer; /* NULL: not built */
	void *memory;
	uint64_t number;
} peers[PEERS];

/* peers_open - before the fork. @path: of the object. 0, or -ENOENT: it is not there. */
static inline int peers_open(const char *path)
{
	static const char *const keys[PEERS] = { "ck", "boost" };
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const struct sr_peer *list = library ? dlsym(library, "sr_peers") : NULL;

	for (const struct sr_peer *p = list; p && p->key; p++)
		for (int i = 0; i < PEERS; i++) {
			void *memory;

			if (strcmp(keys[i], p->key))
				continue;
			memory = mmap(NULL, p->bytes, PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
			if (memory == MAP_FAILED)
				continue;
			p->make(memory);
			peers[i].peer = p;
			peers[i].memory = memory;
		}
	return list ? 0 : -ENOENT;
}

#endif /* SR_RING_PEERS_H */
