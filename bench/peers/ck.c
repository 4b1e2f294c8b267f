/* SPDX-License-Identifier: MIT */
/* ck.c - ck_ring of Concurrency Kit for peers.cc, by value, 511 deep. */
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <ck_ring.h>

#define SIZE 512u /* a power of two, of which a ck_ring holds one less: 255 would be fewer than ours */

struct message {
	uint64_t number;
	unsigned char rest[248];
};

struct queue {
	_Alignas(128) ck_ring_t ring;
	_Alignas(128) struct message buffer[SIZE];
};

struct pair {
	struct queue out, back;
};

_Static_assert(sizeof(struct pair) <= 512 * 1024, "peers.cc has room for it");

CK_RING_PROTOTYPE(message, message)

void sr_ck_make(void *memory);
int sr_ck_ask(void *memory, uint32_t count, uint64_t *number);
void sr_ck_serve(void *memory, uint32_t count, uint64_t delay_ns);

static void hold(uint64_t ns)
{
	uint64_t now = 0, end = 0;
	struct timespec t;

	while (ns && (!end || now < end)) {
		(void)clock_gettime(CLOCK_MONOTONIC, &t);
		now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
		end = end ? end : now + ns;
	}
}

void sr_ck_make(void *memory)
{
	struct pair *p = memory;

	ck_ring_init(&p->out.ring, SIZE);
	ck_ring_init(&p->back.ring, SIZE);
}

int sr_ck_ask(void *memory, uint32_t count, uint64_t *number)
{
	struct message m, reply;
	struct pair *p = memory;

	memset(&m, 0x5a, sizeof m);
	while (count--) {
		m.number = ++*number;
		while (!CK_RING_ENQUEUE_SPSC(message, &p->out.ring, p->out.buffer, &m))
			;
		while (!CK_RING_DEQUEUE_SPSC(message, &p->back.ring, p->back.buffer, &reply))
			;
		if (reply.number != m.number)
			return -1;
	}
	return 0;
}

void sr_ck_serve(void *memory, uint32_t count, uint64_t delay_ns)
{
	struct pair *p = memory;
	struct message m;

	while (count--) {
		while (!CK_RING_DEQUEUE_SPSC(message, &p->out.ring, p->out.buffer, &m))
			;
		hold(delay_ns);
		while (!CK_RING_ENQUEUE_SPSC(message, &p->back.ring, p->back.buffer, &m))
			;
	}
}
