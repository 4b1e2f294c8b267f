/* SPDX-License-Identifier: MIT */
/*
 * peer.h - what a ring of another library shows bench_ring; and its two ends.
 *
 * Each library is one object of build/bench/peers.so that defines a list named
 * SR_PEER_LIST(library): of elements of 64, 256 and 1024 bytes, by value, a ring a
 * direction, in memory that both processes map at the same address. The ends are
 * here once for all, inlined with the library's own calls: a loop as it would be in a
 * program that uses it, where no call a message goes through a pointer. C and C++.
 */
#ifndef SR_PEER_H
#define SR_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#define SR_PEER_LIST(library) sr_peers_2_##library /* 2: of this header's layout */
#define SR_PEER_SIZES 3
#define SR_PEER_BYTES_MAX 1024

struct sr_peer {
	size_t bytes;        /* of an element */
	size_t memory_bytes; /* that both ends map */
	void (*make)(void *memory);
	/* Round trips: the number of each comes back. 0, or -1: another one did. */
	int (*ask)(void *memory, uint32_t count, uint64_t *number);
	void (*serve)(void *memory, uint32_t count, uint64_t delay_ns);
	/* One way, and one element back behind the last. */
	int (*flood)(void *memory, uint32_t count, uint64_t *number);
	void (*drain)(void *memory, uint32_t count, uint64_t delay_ns);
};

#define SR_PEER_INLINE static inline __attribute__((always_inline))

/* One try at a ring: false when it is full, or empty. */
typedef bool sr_peer_put(void *queue, const void *element);
typedef bool sr_peer_get(void *queue, void *element);

static inline void sr_peer_hold(uint64_t ns)
{
	uint64_t now = 0, end = 0;
	struct timespec t;

	while (ns && (!end || now < end)) {
		(void)clock_gettime(CLOCK_MONOTONIC, &t);
		now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
		end = end ? end : now + ns;
	}
}

SR_PEER_INLINE int sr_peer_ask(void *out, void *back, sr_peer_put *put, sr_peer_get *get,
			       uint32_t count, uint64_t *number)
{
	unsigned char element[SR_PEER_BYTES_MAX], answer[SR_PEER_BYTES_MAX];

	memset(element, 0x5a, sizeof element);
	while (count--) {
		++*number;
		memcpy(element, number, sizeof *number);
		while (!put(out, element))
			;
		while (!get(back, answer))
			;
		if (memcmp(answer, number, sizeof *number))
			return -1;
	}
	return 0;
}

SR_PEER_INLINE void sr_peer_serve(void *out, void *back, sr_peer_put *put, sr_peer_get *get,
				  uint32_t count, uint64_t delay_ns)
{
	unsigned char element[SR_PEER_BYTES_MAX];

	while (count--) {
		while (!get(out, element))
			;
		sr_peer_hold(delay_ns);
		while (!put(back, element))
			;
	}
}

SR_PEER_INLINE int sr_peer_flood(void *out, void *back, sr_peer_put *put, sr_peer_get *get,
				 uint32_t count, uint64_t *number)
{
	unsigned char element[SR_PEER_BYTES_MAX], answer[SR_PEER_BYTES_MAX];

	memset(element, 0x5a, sizeof element);
	while (count--) {
		++*number;
		memcpy(element, number, sizeof *number);
		while (!put(out, element))
			;
	}
	while (!get(back, answer))
		;
	return memcmp(answer, number, sizeof *number) ? -1 : 0;
}

SR_PEER_INLINE void sr_peer_drain(void *out, void *back, sr_peer_put *put, sr_peer_get *get,
				  uint32_t count, uint64_t delay_ns)
{
	unsigned char element[SR_PEER_BYTES_MAX];

	while (count--) {
		while (!get(out, element))
			;
		sr_peer_hold(delay_ns);
	}
	while (!put(back, element))
		;
}

/* The functions of one size. @pair: a struct of two queues, `out` and `back`. */
#define SR_PEER_ENDS(name, pair, put, get)                                                         \
	static int name##_ask(void *memory, uint32_t count, uint64_t *number)                      \
	{                                                                                          \
		pair *p = (pair *)memory;                                                          \
		return sr_peer_ask(&p->out, &p->back, put, get, count, number);                    \
	}                                                                                          \
	static void name##_serve(void *memory, uint32_t count, uint64_t delay_ns)                  \
	{                                                                                          \
		pair *p = (pair *)memory;                                                          \
		sr_peer_serve(&p->out, &p->back, put, get, count, delay_ns);                       \
	}                                                                                          \
	static int name##_flood(void *memory, uint32_t count, uint64_t *number)                    \
	{                                                                                          \
		pair *p = (pair *)memory;                                                          \
		return sr_peer_flood(&p->out, &p->back, put, get, count, number);                  \
	}                                                                                          \
	static void name##_drain(void *memory, uint32_t count, uint64_t delay_ns)                  \
	{                                                                                          \
		pair *p = (pair *)memory;                                                          \
		sr_peer_drain(&p->out, &p->back, put, get, count, delay_ns);                       \
	}

#define SR_PEER_ROW(name, bytes, pair)                                                             \
	{ bytes, sizeof(pair), name##_make, name##_ask, name##_serve, name##_flood, name##_drain }

#endif /* SR_PEER_H */
