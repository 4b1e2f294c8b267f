/* SPDX-License-Identifier: MIT */
/*
 * sr_ring_peers.h - rings of other libraries, out of a shared object that
 * bench/peers/build.sh has built; bench_ring itself links none of them.
 */
#ifndef SR_RING_PEERS_H
#define SR_RING_PEERS_H

#include <dlfcn.h>
#include <sys/mman.h>

#include "peers/peer.h"
#include "sr_base.h"

#define PEER_LIST_NAME_OF(list) #list
#define PEER_LIST_NAME(list) PEER_LIST_NAME_OF(list)

enum { PEER_CK, PEER_BOOST, PEER_DPDK, PEERS };
enum { PEER_64, PEER_256, PEER_1024 };
#define PEER_OF(library, size) ((library) * SR_PEER_SIZES + (size)) /* which of peers[] */

static struct {
	const struct sr_peer *peer; /* NULL: not built */
	void *memory;
	uint64_t number;
} peers[PEERS * SR_PEER_SIZES];

/*
 * peers_open - before the fork. @path: of the object.
 *
 * Returns how many libraries it holds; -ENOENT: it is not there, or was built for
 * another bench_ring.
 */
static inline int peers_open(const char *path)
{
	static const char *const lists[PEERS] = {
		[PEER_CK] = PEER_LIST_NAME(SR_PEER_LIST(ck)),
		[PEER_BOOST] = PEER_LIST_NAME(SR_PEER_LIST(boost)),
		[PEER_DPDK] = PEER_LIST_NAME(SR_PEER_LIST(dpdk)),
	};
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int found = 0;

	for (int i = 0; library && i < PEERS; i++) {
		const struct sr_peer *list = dlsym(library, lists[i]);

		found += list != NULL;
		for (int size = 0; list && size < SR_PEER_SIZES; size++) {
			void *memory = mmap(NULL, list[size].memory_bytes, PROT_READ | PROT_WRITE,
					    MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

			if (memory == MAP_FAILED)
				continue;
			list[size].make(memory);
			peers[PEER_OF(i, size)].peer = &list[size];
			peers[PEER_OF(i, size)].memory = memory;
		}
	}
	return found ? found : -ENOENT;
}

#endif /* SR_RING_PEERS_H */
