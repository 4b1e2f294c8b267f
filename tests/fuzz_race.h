/* SPDX-License-Identifier: MIT */
/*
 * fuzz_race.h - a second thread that writes while the code under test reads.
 *
 * It is started once and waits in between. What it does is not a function of the input
 * alone, so a finding of it may need many runs to come back.
 */
#ifndef FUZZ_RACE_H
#define FUZZ_RACE_H

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

#include "fuzz_main.h"
#include "sr_base.h"

static struct fuzz_racer {
	sem_t start, stopped;
	uint32_t stop;
	bool running;
	void (*write)(uint32_t round);
} fuzz_racer;

static inline void *fuzz_race_main(void *arg)
{
	(void)arg;
	for (;;) {
		while (sem_wait(&fuzz_racer.start))
			;
		for (uint32_t i = 0; !sr_load32_relaxed(&fuzz_racer.stop); i++)
			fuzz_racer.write(i);
		(void)sem_post(&fuzz_racer.stopped);
	}
	return NULL;
}

/* Calls @read once while @write is called over and over. */
static inline void fuzz_race(void (*write)(uint32_t round), void (*read)(void))
{
	pthread_t thread;

	if (!fuzz_racer.running) {
		require(sem_init(&fuzz_racer.start, 0, 0) == 0, "no semaphore");
		require(sem_init(&fuzz_racer.stopped, 0, 0) == 0, "no semaphore");
		require(pthread_create(&thread, NULL, fuzz_race_main, NULL) == 0, "no thread");
		(void)pthread_detach(thread);
		fuzz_racer.running = true;
	}
	fuzz_racer.write = write;
	sr_store32_relaxed(&fuzz_racer.stop, 0);
	(void)sem_post(&fuzz_racer.start);
	(void)sched_yield();
	read();
	sr_store32_relaxed(&fuzz_racer.stop, 1);
	while (sem_wait(&fuzz_racer.stopped))
		;
}

#endif /* FUZZ_RACE_H */
