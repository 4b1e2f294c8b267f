/* SPDX-License-Identifier: MIT */
/*
 * sr_thread.h - a thread beside the signing one, on a stack for secrets.
 *
 * What works with keys leaves parts of them on its stack: so that lies in protected
 * memory. Signals are for the thread that knows what they mean, and reach none of these.
 */
#ifndef SR_THREAD_H
#define SR_THREAD_H

#include <pthread.h>

#include "sr_base.h"

struct sr_thread {
	pthread_t thread;
	void *stack;
	size_t stack_bytes;
};

/* Where it runs. */
struct sr_thread_place {
	int not_on_cpu; /* left to another thread, if there is a second one; -1: none is */
	bool when_idle; /* only while nobody else wants the CPU (SCHED_IDLE) */
};

SR_BEGIN_DECLS

/*
 * sr_thread_start - run @run(@arg), and wait until it has begun in its place: what a
 * thread asks the kernel for at its birth it has asked for by then (sr_confine.h).
 *
 * @thread: zeroed. @stack_bytes: whole pages.
 * Returns 0; -errno of pthread_create(); or as sr_secret_alloc().
 */
SR_WARN_UNUSED int sr_thread_start(struct sr_thread *thread, size_t stack_bytes,
				   const struct sr_thread_place *place, void *(*run)(void *arg),
				   void *arg);

/* sr_thread_join - wait for its end, and wipe the stack. A zeroed one is legal. */
void sr_thread_join(struct sr_thread *thread);

SR_END_DECLS

#endif /* SR_THREAD_H */
