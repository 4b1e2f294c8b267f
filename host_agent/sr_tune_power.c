/* SPDX-License-Identifier: MIT */
/* The items about what an idle or a slow CPU costs. */
#include <stdio.h>

#include "sr_tune_found.h"

#define CPU_ROOT "/sys/devices/system/cpu/"
#define IDLE_STATES_MAX 16u
#define WAKE_US_MAX 2 /* C1 of server CPUs; the next state takes 10 us and more */

/* The loops where they are known, else every CPU. */
static const struct sr_cpus *whose(const struct sr_tune_host *h)
{
	return sr_cpus_count(&h->loops) ? &h->loops : &h->online;
}

/* Wants the deep states of one CPU off; returns the longest way out of one, in us. */
static long long deep_states(const struct sr_tune_host *h, struct sr_tune_finding *f,
			     unsigned int cpu, bool *any)
{
	long long worst_us = 0;

	for (unsigned int i = 0; i < IDLE_STATES_MAX; i++) {
		char path[SR_TUNE_PATH_BYTES];
		long long wake_us;
		long long disabled;

		(void)snprintf(path, sizeof path, CPU_ROOT "cpu%u/cpuidle/state%u/latency", cpu, i);
		if (sr_tune_number(h, path, &wake_us) < 0)
			break;
		*any = true;
		(void)snprintf(path, sizeof path, CPU_ROOT "cpu%u/cpuidle/state%u/disable", cpu, i);
		if (wake_us <= WAKE_US_MAX || sr_tune_number(h, path, &disabled) < 0 || disabled)
			continue;
		if (wake_us > worst_us)
			worst_us = wake_us;
		sr_tune_want(f, path, "1");
	}
	return worst_us;
}

void sr_tune_look_c_states(const struct sr_tune_host *h, struct sr_tune_finding *f)
{
	const struct sr_cpus *set = whose(h);
	char driver[SR_TUNE_VALUE_BYTES];
	long long worst_us = 0;
	unsigned int worst_cpu = 0;
	bool any = false;

	for (unsigned int cpu = sr_cpus_next(set, 0); cpu < SR_CPUS_MAX;
	     cpu = sr_cpus_next(set, cpu + 1)) {
		long long us = deep_states(h, f, cpu, &any);

		if (us > worst_us) {
			worst_us = us;
			worst_cpu = cpu;
		}
	}
	if (worst_us)
		sr_tune_say(f, SR_TUNE_WARN,
			    "CPU %u may sleep so deep that it takes %lld us to wake", worst_cpu,
			    worst_us);
	else if (any && sr_tune_value(h, CPU_ROOT "cpuidle/current_driver", driver) == 0 &&
		 !strcmp(driver, "haltpoll"))
		sr_tune_say(f, SR_TUNE_OK,
			    "a CPU that halts goes to the hypervisor, and its way back "
			    "is not told here");
	else if (any)
		sr_tune_say(f, SR_TUNE_OK, "no idle state takes over %d us to leave", WAKE_US_MAX);
	else
		sr_tune_say(f, SR_TUNE_OK, "idle states are not this kernel's to choose");
}

void sr_tune_look_governor(const struct sr_tune_host *h, struct sr_tune_finding *f)
{
	const struct sr_cpus *set = whose(h);
	char governor[SR_TUNE_VALUE_BYTES] = "";
	char driver[SR_TUNE_VALUE_BYTES] = "";
	char path[SR_TUNE_PATH_BYTES];
	unsigned int slow_cpu = 0;
	unsigned int seen = 0;

	for (unsigned int cpu = sr_cpus_next(set, 0); cpu < SR_CPUS_MAX;
	     cpu = sr_cpus_next(set, cpu + 1)) {
		char now[SR_TUNE_VALUE_BYTES];

		(void)snprintf(path, sizeof path, CPU_ROOT "cpu%u/cpufreq/scaling_governor", cpu);
		if (sr_tune_value(h, path, now) < 0)
			continue;
		seen++;
		if (!strcmp(now, "performance"))
			continue;
		sr_tune_want(f, path, "performance");
		memcpy(governor, now, sizeof governor);
		slow_cpu = cpu;
	}
	if (!seen) {
		sr_tune_say(f, SR_TUNE_OK, "the clock rate is not this kernel's to choose");
		return;
	}
	if (!governor[0]) {
		sr_tune_say(f, SR_TUNE_OK, "performance, on %u CPUs", seen);
		return;
	}
	/* With most drivers powersave is the lowest rate; with these two it adapts. */
	(void)snprintf(path, sizeof path, CPU_ROOT "cpu%u/cpufreq/scaling_driver", slow_cpu);
	if (sr_tune_value(h, path, driver) < 0)
		driver[0] = '\0';
	sr_tune_say(f,
		    !strcmp(governor, "powersave") && strncmp(driver, "intel_pstate", 12) &&
				    strncmp(driver, "amd-pstate", 10) ?
			    SR_TUNE_FAIL :
			    SR_TUNE_WARN,
		    "CPU %u runs at the rate of `%.60s`", slow_cpu, governor);
}

void sr_tune_look_idle_poll(const struct sr_tune_host *h, struct sr_tune_finding *f)
{
	char value[SR_TUNE_LINE_BYTES];
	long long smt = 0;

	if (!sr_tune_boot_option(h, "idle", value) || strcmp(value, "poll")) {
		sr_tune_say(f, SR_TUNE_OK,
			    "idle=poll is not set here; it is for the enclave's kernel");
		return;
	}
	if (sr_tune_number(h, CPU_ROOT "smt/active", &smt) == 0 && smt == 1) {
		sr_tune_say(f, SR_TUNE_WARN,
			    "idle=poll: each idle thread takes half a core from its neighbour");
		sr_tune_fix(f, "boot this host without idle=poll; disable deep states (c-states)");
		return;
	}
	sr_tune_say(f, SR_TUNE_OK, "idle=poll: idle CPUs spin, and never have to wake");
}
