/* SPDX-License-Identifier: MIT */
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "sr_wait.h"

static const char *const names[] = {
	[SR_WAIT_AUTO] = "auto",
	[SR_WAIT_SPIN] = "spin",
	[SR_WAIT_YIELD] = "yield",
	[SR_WAIT_BLOCK] = "block",
};

int sr_wait_from_name(const char *name)
{
	for (int i = 0; i < (int)(sizeof names / sizeof names[0]); i++)
		if (!strcmp(name, names[i]))
			return i;
	return -EINVAL;
}

const char *sr_wait_name(enum sr_wait_policy policy)
{
	return names[policy];
}

/* Our own group's cpu.max, cgroup v2; the root group has none. */
static FILE *open_cpu_max(void)
{
	char line[256] = "";
	char path[320];
	FILE *f = fopen("/proc/self/cgroup", "re");

	if (f) {
		if (!fgets(line, sizeof line, f))
			line[0] = '\0';
		(void)fclose(f);
	}
	line[strcspn(line, "\n")] = '\0';
	(void)snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max",
		       strncmp(line, "0::", 3) ? "" : line + 3);
	f = fopen(path, "re");
	/* Inside a container the path may be the host's. */
	return f ? f : fopen("/sys/fs/cgroup/cpu.max", "re");
}

/* A quota below one whole CPU stops a spinning loop in mid-period. */
static bool quota_allows_spinning(void)
{
	unsigned long long quota;
	unsigned long long period;
	bool spins = true;
	FILE *f = open_cpu_max();

	if (!f)
		return true;
	if (fscanf(f, "%llu %llu", &quota, &period) == 2)
		spins = quota >= period;
	(void)fclose(f);
	return spins;
}

enum sr_wait_policy sr_wait_resolve(enum sr_wait_policy policy, unsigned int loops)
{
	cpu_set_t set;
	unsigned int cpus;

	if (policy != SR_WAIT_AUTO)
		return policy;
	if (sched_getaffinity(0, sizeof set, &set) < 0 || !quota_allows_spinning())
		return SR_WAIT_YIELD;
	cpus = (unsigned int)CPU_COUNT(&set);
	/* Pinned is not alone: with more loops than CPUs some of them share one. */
	if (sysconf(_SC_NPROCESSORS_ONLN) < (long)loops)
		return SR_WAIT_YIELD;
	return cpus == 1 || cpus >= loops ? SR_WAIT_SPIN : SR_WAIT_YIELD;
}
