/* SPDX-License-Identifier: MIT */
#include "sr_thread.h"

#include <sched.h>
#include <signal.h>

#include "sr_secret.h"

static int create(struct sr_thread *thread, void *(*run)(void *arg), void *arg)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int ret = pthread_attr_init(&attr);

	if (ret)
		return -ret;
	ret = pthread_attr_setstack(&attr, thread->stack, thread->stack_bytes);
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	if (!ret)
		ret = pthread_create(&thread->thread, &attr, run, arg);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	(void)pthread_attr_destroy(&attr);
	return -ret;
}

int sr_thread_start(struct sr_thread *thread, size_t stack_bytes, void *(*run)(void *arg),
		    void *arg)
{
	struct sr_thread t = { .stack_bytes = stack_bytes };
	int ret = sr_secret_alloc(&t.stack, stack_bytes);

	if (ret)
		return ret;
	ret = create(&t, run, arg);
	if (ret)
		sr_secret_free(t.stack, stack_bytes);
	else
		*thread = t;
	return ret;
}

void sr_thread_join(struct sr_thread *thread)
{
	if (!thread->stack)
		return;

	(void)pthread_join(thread->thread, NULL);
	sr_secret_free(thread->stack, thread->stack_bytes);
	thread->stack = NULL;
}

void sr_thread_keep_off(int cpu)
{
	cpu_set_t set;

	if (cpu < 0 || sched_getaffinity(0, sizeof set, &set) < 0)
		return;
	CPU_CLR((unsigned int)cpu, &set);
	if (CPU_COUNT(&set) > 0)
		(void)sched_setaffinity(0, sizeof set, &set);
}
