/* SPDX-License-Identifier: MIT */
/*
 * dpdk.c - DPDK's rte_ring, one producer and one consumer, by value, 256 deep.
 *
 * Enqueue and dequeue are inline in its headers. Its libraries are not linked: what
 * rte_ring_init() does is to fill the fields below, behind argument checks, and it
 * would bring the environment layer with it.
 */
#include <rte_ring.h>
#include <rte_ring_elem.h>

#include "peer.h"

#define SIZE 512u /* the power of two above the depth */
#define DEPTH 256u

static void ring_make(struct rte_ring *r)
{
	memset(r, 0, sizeof *r);
	r->flags = RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ;
	r->prod.sync_type = RTE_RING_SYNC_ST;
	r->cons.sync_type = RTE_RING_SYNC_ST;
	r->size = SIZE;
	r->mask = SIZE - 1;
	r->capacity = DEPTH;
}

/* Elements lie right behind the ring. */
#define OF_SIZE(n)                                                                                 \
	struct queue_##n {                                                                         \
		_Alignas(128) struct rte_ring ring;                                                \
		unsigned char elements[(size_t)(n) * SIZE];                                        \
	};                                                                                         \
	_Static_assert(offsetof(struct queue_##n, elements) == sizeof(struct rte_ring),            \
		       "where rte_ring looks for them");                                           \
	struct pair_##n {                                                                          \
		struct queue_##n out, back;                                                        \
	};                                                                                         \
	SR_PEER_INLINE bool put_##n(void *queue, const void *element)                              \
	{                                                                                          \
		return rte_ring_sp_enqueue_elem(queue, (void *)element, n) == 0;                   \
	}                                                                                          \
	SR_PEER_INLINE bool get_##n(void *queue, void *element)                                    \
	{                                                                                          \
		return rte_ring_sc_dequeue_elem(queue, element, n) == 0;                           \
	}                                                                                          \
	static void dpdk_##n##_make(void *memory)                                                  \
	{                                                                                          \
		struct pair_##n *p = memory;                                                       \
		ring_make(&p->out.ring);                                                           \
		ring_make(&p->back.ring);                                                          \
	}                                                                                          \
	SR_PEER_ENDS(dpdk_##n, struct pair_##n, put_##n, get_##n)

OF_SIZE(64)
OF_SIZE(256)
OF_SIZE(1024)

extern const struct sr_peer SR_PEER_LIST(dpdk)[SR_PEER_SIZES];
const struct sr_peer SR_PEER_LIST(dpdk)[SR_PEER_SIZES] = {
	SR_PEER_ROW(dpdk_64, 64, struct pair_64),
	SR_PEER_ROW(dpdk_256, 256, struct pair_256),
	SR_PEER_ROW(dpdk_1024, 1024, struct pair_1024),
};
