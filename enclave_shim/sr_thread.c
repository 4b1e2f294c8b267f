/* SPDX-License-Identifier: MIT */
#include "sr_thread.h"

#include <sched.h>
#include <signal.h>
#include <time.h>

#include "sr_secret.h"

/* On the stack of who starts it. */
struct start {
	const struct sr_thread_place *place;
	void *(*run)(void *arg);
	void *arg;
	uint32_t begun;
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

/* Refused or not, it works; where and in which class decides who waits. */
static void take_place(const struct sr_thread_place *place)
{
	const struct sched_param idle = { 0 };

	keep_off(place->not_on_cpu);
	if (place->when_idle)
		(void)sched_setscheduler(0, SCHED_IDLE, &idle);
}

static void *begin(void *arg)
{
	struct start *start = arg;
	void *(*run)(void *) = start->run;
	void *of_run = start->arg;

	take_place(start->place);
	sr_store32_release(&start->begun, 1); /* from here on it is not ours */
	return run(of_run);
}

static int create(struct sr_thread *thread, const struct sr_thread_place *place,
		  void *(*run)(void *arg), void *arg)
{
	/* Asleep: a spinning thread of a real-time class would keep an idle one from beginning. */
	const struct timespec rest = { 0, 100 * 1000 };
	struct start start = { .place = place, .run = run, .arg = arg };
	pthread_attr_t attr;
	sigset_t all, old;
	int ret = pthread_attr_init(&attr);

	if (ret)
		return -ret;
	ret = pthread_attr_setstack(&attr, thread->stack, thread->stack_bytes);
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	if (!ret)
		ret = pthread_create(&thread->thread, &attr, begin, &start);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	(void)pthread_attr_destroy(&attr);
	/* Pairs with the release in begin(). */
	while (!ret && !sr_load32_acquire(&start.begun))
		(void)nanosleep(&rest, NULL);
	return -ret;
}

int sr_thread_start(struct sr_thread *thread, size_t stack_bytes,
		    const struct sr_thread_place *place, void *(*run)(void *arg), void *arg)
{
	struct sr_thread t = { .stack_bytes = stack_bytes };
	int ret = sr_secret_alloc(&t.stack, stack_bytes);

	if (ret)
		return ret;
	ret = create(&t, place, run, arg);
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
