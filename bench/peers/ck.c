/* SPDX-License-Identifier: MIT */
/* ck.c - ck_ring of Concurrency Kit, by value, 511 deep. */
#include <ck_ring.h>

#include "peer.h"

/* A power of two, of which a ck_ring holds one less: 255 would be fewer than ours. */
#define SIZE 512u

#define OF_SIZE(n)                                                                                 \
	struct element_##n {                                                                       \
		unsigned char bytes[n];                                                            \
	};                                                                                         \
	struct queue_##n {                                                                         \
		_Alignas(128) ck_ring_t ring;                                                      \
		_Alignas(128) struct element_##n buffer[SIZE];                                     \
	};                                                                                         \
	struct pair_##n {                                                                          \
		struct queue_##n out, back;                                                        \
	};                                                                                         \
	CK_RING_PROTOTYPE(element_##n, element_##n)                                                \
	SR_PEER_INLINE bool put_##n(void *queue, const void *element)                              \
	{                                                                                          \
		struct queue_##n *q = queue;                                                       \
		return CK_RING_ENQUEUE_SPSC(element_##n, &q->ring, q->buffer,                      \
					    (struct element_##n *)element);                        \
	}                                                                                          \
	SR_PEER_INLINE bool get_##n(void *queue, void *element)                                    \
	{                                                                                          \
		struct queue_##n *q = queue;                                                       \
		return CK_RING_DEQUEUE_SPSC(element_##n, &q->ring, q->buffer,                      \
					    (struct element_##n *)element);                        \
	}                                                                                          \
	static void ck_##n##_make(void *memory)                                                    \
	{                                                                                          \
		struct pair_##n *p = memory;                                                       \
		ck_ring_init(&p->out.ring, SIZE);                                                  \
		ck_ring_init(&p->back.ring, SIZE);                                                 \
	}                                                                                          \
	SR_PEER_ENDS(ck_##n, struct pair_##n, put_##n, get_##n)

OF_SIZE(64)
OF_SIZE(256)
OF_SIZE(1024)

extern const struct sr_peer SR_PEER_LIST(ck)[SR_PEER_SIZES];
const struct sr_peer SR_PEER_LIST(ck)[SR_PEER_SIZES] = {
	SR_PEER_ROW(ck_64, 64, struct pair_64),
	SR_PEER_ROW(ck_256, 256, struct pair_256),
	SR_PEER_ROW(ck_1024, 1024, struct pair_1024),
};
