/* SPDX-License-Identifier: MIT */
/*
 * Sleeping waiters: a million races between a publish and a waiter on his way to
 * sleep. Nobody wakes up by time here, so one lost wake-up is seen at once.
 */
#include <poll.h>
#include <pthread.h>

#include "mp_common.h"
#include "sr_doorbell.h"

struct race {
	SR_ALIGNED(SR_LINE_BYTES) uint64_t published; /* the publisher's word */
	SR_ALIGNED(SR_LINE_BYTES) uint64_t seen;      /* the waiter's */
	uint32_t sleeping;
	uint32_t slept; /* how often he really did */
	uint64_t rng;   /* his own */
	int fd;
	SR_ALIGNED(SR_LINE_BYTES) uint64_t rung; /* publishes whose doorbell was seen to */
	uint64_t count;
};

static void delay(uint32_t turns)
{
	for (uint32_t i = 0; i < turns; i++)
		sr_pause();
}

/* Lost is what the publisher has done with, and nothing rings: however long either
 * thread was kept from running, that is no matter of time. */
static void sleep_until_rung(struct race *r, uint64_t n)
{
	struct pollfd p = { .fd = r->fd, .events = POLLIN };

	while (poll(&p, 1, 100) == 0)
		MP_CHECK(sr_load_acquire(&r->rung) < n || poll(&p, 1, 0) > 0,
			 "the wake-up of publish %llu was lost", (unsigned long long)n);
	sr_doorbell_clear(r->fd);
}

static void *wait_for_each(void *arg)
{
	struct race *r = arg;

	for (uint64_t n = 1; n <= r->count; n++) {
		/* The two moments move across each other and back. */
		r->rng = r->rng * 6364136223846793005u + 1442695040888963407u;
		delay((uint32_t)(r->rng >> 56));
		while (sr_load_acquire(&r->published) < n) {
			sr_doorbell_arm(&r->sleeping);
			if (sr_load_acquire(&r->published) < n) {
				r->slept++;
				sleep_until_rung(r, n);
			}
			sr_doorbell_disarm(&r->sleeping);
		}
		sr_store_release(&r->seen, n);
	}
	return NULL;
}

static void no_wake_up_is_lost(void)
{
	struct race *r = aligned_alloc(SR_LINE_BYTES, sizeof *r);
	uint32_t spins = 0;
	pthread_t thread;

	MP_CHECK(r, "out of memory");
	memset(r, 0, sizeof *r);
	r->count = mp_long ? 100000000 : 1000000;
	r->fd = sr_doorbell_new();
	MP_CHECK(r->fd >= 0, "eventfd: %s", strerror(-r->fd));
	MP_EQ(pthread_create(&thread, NULL, wait_for_each, r), 0, "pthread_create");
	for (uint64_t n = 1; n <= r->count; n++) {
		delay(mp_below(n % 8 ? 8 : 64));
		sr_store_release(&r->published, n);
		sr_doorbell_publish(&r->sleeping, r->fd);
		sr_store_release(&r->rung, n);
		while (sr_load_acquire(&r->seen) < n)
			if (++spins % 1024 == 0)
				(void)sched_yield();
	}
	(void)pthread_join(thread, NULL);
	(void)printf("# %llu races, asleep in %u of them\n", (unsigned long long)r->count,
		     r->slept);
	MP_CHECK(r->slept > r->count / 100, "the waiter hardly ever slept");
	(void)close(r->fd);
	free(r);
}

static const struct mp_test tests[] = {
	{ "stress/no_wake_up_is_lost_in_a_million_races", no_wake_up_is_lost, 0 },
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
