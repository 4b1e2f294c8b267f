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
#define PENANCE_S 1

struct sr_refill {
	struct sr_pool *pool;
	void *stack;
	pthread_t thread;
	uint32_t stopping;
	int not_on_cpu;
	bool shares_core;
};

static void keep_off(int cpu)
{
	cpu_set_t set;

	if (cpu < 0 || sched_getaffinity(0, sizeof set, &set) < 0)
		return;
	CPU_CLR((unsigned int)cpu, &set);
	if (CPU_COUNT(&set) > 0)
		(void)sched_setaffinity(0, sizeof set, &set);
}

static void *run(void *arg)
{
	const struct timespec rest = { 0, REST_NS }, penance = { PENANCE_S, 0 };
	const struct sched_param idle = { 0 };
	struct sr_refill *r = arg;

	/* Refused or not, it fills; where and in which class decides who waits. */
	keep_off(r->not_on_cpu);
	if (r->shares_core)
		(void)sched_setscheduler(0, SCHED_IDLE, &idle);
	while (!sr_load32_relaxed(&r->stopping)) {
		int ret = sr_pool_step(r->pool);

		if (ret <= 0)
			(void)nanosleep(ret < 0 ? &penance : &rest, NULL);
	}
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

int sr_refill_start(struct sr_refill **refill, struct sr_pool *pool, int not_on_cpu,
		    bool shares_core)
{
	struct sr_refill *r = calloc(1, sizeof *r);
	int ret;

	if (!r)
		return -ENOMEM;
	r->pool = pool;
	r->not_on_cpu = not_on_cpu;
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
