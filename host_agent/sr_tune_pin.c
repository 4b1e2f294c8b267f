/* SPDX-License-Identifier: MIT */
#include <sched.h>

#include "sr_tune_pin.h"

SR_STATIC_ASSERT(CPU_SETSIZE >= SR_CPUS_MAX, "a cpu_set_t holds what we can name");

int sr_tune_pin_allowed(struct sr_cpus *set)
{
	struct sr_cpus got = { { 0 } };
	cpu_set_t mask;

	if (sched_getaffinity(0, sizeof mask, &mask) < 0)
		return -errno;
	for (unsigned int cpu = 0; cpu < SR_CPUS_MAX; cpu++)
		if (CPU_ISSET(cpu, &mask))
			sr_cpus_add(&got, cpu);
	*set = got;
	return 0;
}

static void *nothing(void *arg)
{
	return arg;
}

int sr_tune_pin_all(const struct sr_cpus *set, struct sr_reason *why)
{
	for (unsigned int cpu = sr_cpus_next(set, 0); cpu < SR_CPUS_MAX;
	     cpu = sr_cpus_next(set, cpu + 1)) {
		pthread_t thread;
		int ret = sr_tune_pin_start(&thread, cpu, nothing, NULL);

		if (ret < 0)
			return sr_reason_set(why, ret,
					     "cannot pin to CPU %u: it is not there, off line, or "
					     "kept from this process (%s)",
					     cpu, strerror(-ret));
		(void)pthread_join(thread, NULL);
	}
	return 0;
}

int sr_tune_pin_start(pthread_t *thread, unsigned int cpu, void *(*run)(void *), void *arg)
{
	pthread_attr_t attr;
	cpu_set_t mask;
	int error;

	if (cpu >= SR_CPUS_MAX)
		return -EINVAL;
	CPU_ZERO(&mask);
	CPU_SET(cpu, &mask);
	error = pthread_attr_init(&attr);
	if (error)
		return -error;
	error = pthread_attr_setaffinity_np(&attr, sizeof mask, &mask);
	if (!error)
		error = pthread_create(thread, &attr, run, arg);
	(void)pthread_attr_destroy(&attr);
	return -error;
}
