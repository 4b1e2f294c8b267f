/* SPDX-License-Identifier: MIT */
#include "sr_refill.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "sr_secret.h"

#define STACK_BYTES (256u * 1024u)
#define REST_NS 1000000L

struct sr_refill {
	struct sr_pool *pool;
	void *stack;
	pthread_t thread;
	uint32_t stopping;
	bool shares_core;
};

static void *run(void *arg)
{
	const struct timespec rest = { 0, REST_NS };
	const struct sched_param idle = { 0 };
	struct sr_refill *r = arg;

	/* Refused or not, it fills; the class only decides who waits. */
	if (r->shares_core)
		(void)sched_setscheduler(0, SCHED_IDLE, &idle);
	while (!sr_load32_relaxed(&r->stopping))
		if (sr_pool_step(r->pool) <= 0)
			(void)nanosleep(&rest, NULL);
	return NULL;
}

/* Signals are for the thread that knows what they mean. */
static int start_thread(struct sr_refill *r)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int ret = pthread_attr_init(&attr);

	if (ret)
		return -ret;
	ret = pthread_attr_setstack(&attr, r->stack, STACK_BYTES);
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	if (!ret)
		ret = pthread_create(&r->thread, &attr, run, r);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	(void)pthread_attr_destroy(&attr);
	return -ret;
}

int sr_refill_start(struct sr_refill **refill, struct sr_pool *pool, bool shares_core)
{
	struct sr_refill *r = calloc(1, sizeof *r);
	int ret;

	if (!r)
		return -ENOMEM;
	r->pool = pool;
	r->shares_core = shares_core;
	ret = sr_secret_alloc(&r->stack, STACK_BYTES);
	if (!ret)
		ret = start_thread(r);
	if (ret) {
		sr_secret_free(r->stack, STACK_BYTES);
		free(r);
		return ret;
	}
	*refill = r;
	return 0;
}

void sr_refill_stop(struct sr_refill *refill)
{
	if (!refill)
		return;

	sr_store32_relaxed(&refill->stopping, 1);
	(void)pthread_join(refill->thread, NULL);
	sr_secret_free(refill->stack, STACK_BYTES);
	free(refill);
}
