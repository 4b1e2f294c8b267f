/* SPDX-License-Identifier: MIT */
/* The items about who may run on which CPU. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "sr_tune_found.h"

#define CPU_ROOT "/sys/devices/system/cpu/"
#define LOOPS 3u /* trading thread, agent, signer */

/* Which list to write into a boot option: the loops, or the last CPUs of the host. */
static const char *suggest(const struct sr_tune_host *h, char *text, size_t bytes)
{
	struct sr_cpus set = { { 0 } };
	unsigned int skip = sr_cpus_count(&h->online);
	unsigned int cpu = sr_cpus_next(&h->online, 0);

	if (sr_cpus_count(&h->loops))
		return sr_cpus_to_list(&h->loops, text, bytes);
	if (skip <= LOOPS)
		return "LIST";
	for (skip -= LOOPS; cpu < SR_CPUS_MAX; cpu = sr_cpus_next(&h->online, cpu + 1))
		if (skip > 0)
			skip--;
		else
			sr_cpus_add(&set, cpu);
	return sr_cpus_to_list(&set, text, bytes);
}

/* Where nobody knows which CPUs poll, nothing can be kept off them. */
static bool no_loops(const struct sr_tune_host *h, struct sr_tune_finding *f)
{
	if (sr_cpus_count(&h->loops))
		return false;
	sr_tune_say(f, SR_TUNE_WARN, "no CPU is set aside for the loops that poll");
	sr_tune_fix(f, "isolate them (isolcpus), or name them: --cpu LIST");
	return true;
}

void sr_tune_look_cores(const struct sr_tune_host *h, struct sr_tune_finding *f)
{
	struct sr_cpus absent = sr_cpus_minus(&h->loops, &h->online);
	struct sr_cpus rest = sr_cpus_minus(&h->online, &h->loops);
	unsigned int online = sr_cpus_count(&h->online);
	char list[SR_CPUS_TEXT_BYTES];

	if (sr_cpus_count(&absent)) {
		sr_tune_say(f, SR_TUNE_FAIL, "CPU %.100s is not online",
			    sr_cpus_to_list(&absent, list, sizeof list));
		sr_tune_fix(f, "name others, of %.200s",
			    sr_cpus_to_list(&h->online, list, sizeof list));
	} else if (!sr_cpus_count(&rest)) {
		sr_tune_say(f, SR_TUNE_WARN, "each CPU polls: none is left for the kernel");
		sr_tune_fix(f, "leave CPU %u to everything else", sr_cpus_next(&h->online, 0));
	} else if (online <= LOOPS) {
		sr_tune_say(f, SR_TUNE_WARN,
			    "%u CPUs for %u loops that poll (2 with sigring-local) and all else",
			    online, LOOPS);
		sr_tune_fix(f, "a machine of %u CPUs or more; until then `wait yield`", LOOPS + 1);
	} else {
		sr_tune_say(f, SR_TUNE_OK, "%u CPUs, %u of them for loops that poll", online,
			    sr_cpus_count(&h->loops));
	}
}

void sr_tune_look_isolcpus(const struct sr_tune_host *h, struct sr_tune_finding *f)
{
	struct sr_cpus shared = sr_cpus_minus(&h->loops, &h->isolated);
	char list[SR_CPUS_TEXT_BYTES];

	if (!sr_cpus_count(&h->isolated))
		sr_tune_say(f, SR_TUNE_WARN,
			    "no CPU is isolated: any thread may run beside a loop");
	else if (sr_cpus_count(&shared))
		sr_tune_say(f, SR_TUNE_WARN, "CPU %.100s polls and is not isolated",
			    sr_cpus_to_list(&shared, list, sizeof list));
	else {
		sr_tune_say(f, SR_TUNE_OK, "isolated: %.200s",
			    sr_cpus_to_list(&h->isolated, list, sizeof list));
		return;
	}
	sr_tune_fix(f, "boot with isolcpus=managed_irq,domain,%.300s",
		    suggest(h, list, sizeof list));
}

void sr_tune_look_nohz_full(const struct sr_tune_host *h, struct sr_tune_finding *f)
{
	struct sr_cpus quiet;
	struct sr_cpus ticking;
	char list[SR_CPUS_TEXT_BYTES];
	int ret = sr_tune_list(h, CPU_ROOT "nohz_full", &quiet);

	if (ret < 0) {
		sr_tune_say(f, SR_TUNE_WARN, "this kernel cannot stop the tick of a busy CPU%s",
			    ret == -ENOENT ? "" : ", or does not say so");
		sr_tune_fix(f, "a kernel with CONFIG_NO_HZ_FULL, booted with nohz_full=%.300s",
			    suggest(h, list, sizeof list));
		return;
	}
	if (no_loops(h, f))
		return;
	ticking = sr_cpus_minus(&h->loops, &quiet);
	if (!sr_cpus_count(&ticking)) {
		sr_tune_say(f, SR_TUNE_OK, "no tick on %.200s while one thread runs there",
			    sr_cpus_to_list(&quiet, list, sizeof list));
		return;
	}
	sr_tune_say(f, SR_TUNE_WARN, "CPU %.100s is interrupted by the tick",
		    sr_cpus_to_list(&ticking, list, sizeof list));
	sr_tune_fix(f, "boot with nohz_full=%.300s", suggest(h, list, sizeof list));
}

void sr_tune_look_rcu_nocbs(const struct sr_tune_host *h, struct sr_tune_finding *f)
{
	char value[SR_TUNE_LINE_BYTES];
	struct sr_cpus off = { { 0 } };
	struct sr_cpus more;
	struct sr_cpus busy;

	if (no_loops(h, f))
		return;
	if (sr_tune_boot_option(h, "rcu_nocbs", value)) {
		if (!strcmp(value, "all") || !strcmp(value, "0-N"))
			off = h->online;
		else if (sr_cpus_from_list(&off, value) < 0)
			off = (struct sr_cpus){ { 0 } };
	}
	/* nohz_full implies it. */
	if (sr_tune_list(h, CPU_ROOT "nohz_full", &more) == 0)
		off = sr_cpus_union(&off, &more);
	busy = sr_cpus_minus(&h->loops, &off);
	if (!sr_cpus_count(&busy)) {
		sr_tune_say(f, SR_TUNE_OK, "RCU callbacks run elsewhere than on the loops");
		return;
	}
	sr_tune_say(f, SR_TUNE_WARN, "CPU %.100s runs RCU callbacks",
		    sr_cpus_to_list(&busy, value, sizeof value));
	sr_tune_fix(f, "boot with rcu_nocbs=%.300s", suggest(h, value, sizeof value));
}

void sr_tune_look_managed_irq(const struct sr_tune_host *h, struct sr_tune_finding *f)
{
	char value[SR_TUNE_LINE_BYTES];
	char list[SR_CPUS_TEXT_BYTES];
	char *save;

	if (no_loops(h, f))
		return;
	if (sr_tune_boot_option(h, "isolcpus", value))
		for (const char *flag = strtok_r(value, ",", &save); flag;
		     flag = strtok_r(NULL, ",", &save))
			if (!strcmp(flag, "managed_irq")) {
				sr_tune_say(f, SR_TUNE_OK,
					    "queues of devices avoid the isolated CPUs");
				return;
			}
	sr_tune_say(f, SR_TUNE_WARN,
		    "interrupts that the kernel itself places (NVMe, virtio-blk) may hit a loop");
	sr_tune_fix(f, "boot with isolcpus=managed_irq,domain,%.300s",
		    suggest(h, list, sizeof list));
}

/* Does the kernel itself place it? Then isolcpus=managed_irq decides, an item of its own.
 * Newer kernels say so: its file has no permission to write. */
static bool irq_managed(const struct sr_tune_host *h, const char *path)
{
	char full[2 * SR_TUNE_PATH_BYTES];
	struct stat st;

	return sr_tune_path(h, path, full, sizeof full) == 0 && stat(full, &st) == 0 &&
	       !(st.st_mode & S_IWUSR);
}

struct irqs {
	unsigned int may; /* allowed on a loop's CPU ... */
	unsigned int now; /* ... and sent there at present */
};

/* Counts this interrupt, and wants it elsewhere where it may hit a loop: where the kernel
 * sends it today it need not send it tomorrow, when a CPU goes off line or somebody writes. */
static void irq_look(const struct sr_tune_host *h, const char *number, struct irqs *irqs,
		     struct sr_tune_finding *f)
{
	char path[SR_TUNE_PATH_BYTES], list[SR_CPUS_TEXT_BYTES];
	struct sr_cpus allowed, effective, without;
	bool now = true, managed;

	(void)snprintf(path, sizeof path, "/proc/irq/%.16s/effective_affinity_list", number);
	if (sr_tune_list(h, path, &effective) == 0 && sr_cpus_count(&effective))
		now = sr_cpus_overlap(&effective, &h->loops);
	(void)snprintf(path, sizeof path, "/proc/irq/%.16s/smp_affinity_list", number);
	if (sr_tune_list(h, path, &allowed) < 0 || !sr_cpus_overlap(&allowed, &h->loops))
		return;
	managed = irq_managed(h, path);
	without = sr_cpus_minus(&allowed, &h->isolated);
	if (managed && (!now || !sr_cpus_count(&without)))
		return; /* a queue of isolated CPUs alone interrupts who does I/O on them */
	irqs->may++;
	irqs->now += now;
	without = sr_cpus_minus(&allowed, &h->loops);
	if (!sr_cpus_count(&without))
		without = sr_cpus_minus(&h->online, &h->loops);
	if (sr_cpus_count(&without) && !managed)
		sr_tune_want(f, path, sr_cpus_to_list(&without, list, sizeof list));
}

/* Does somebody run who moves interrupts about? */
static bool irqbalance_runs(const struct sr_tune_host *h)
{
	char full[2 * SR_TUNE_PATH_BYTES], path[SR_TUNE_PATH_BYTES], name[64];
	DIR *dir = sr_tune_path(h, "/proc", full, sizeof full) == 0 ? opendir(full) : NULL;
	const struct dirent *e;
	bool found = false;

	while (dir && !found && (e = readdir(dir)) != NULL) {
		(void)snprintf(path, sizeof path, "/proc/%.16s/comm", e->d_name);
		found = e->d_name[0] >= '0' && e->d_name[0] <= '9' &&
			sr_tune_text(h, path, name, sizeof name) == 0 && !strcmp(name, "irqbalance");
	}
	if (dir)
		(void)closedir(dir);
	return found;
}

/* New interrupts go where this mask says. */
static bool irqs_fresh(const struct sr_tune_host *h, struct sr_tune_finding *f)
{
	static const char standard[] = "/proc/irq/default_smp_affinity";
	char mask[SR_CPUS_TEXT_BYTES];
	struct sr_cpus set;

	if (sr_tune_mask(h, standard, &set) < 0 || !sr_cpus_overlap(&set, &h->loops))
		return false;
	set = sr_cpus_minus(&set, &h->loops);
	if (!sr_cpus_count(&set))
		set = sr_cpus_minus(&h->online, &h->loops);
	if (sr_cpus_count(&set))
		sr_tune_want(f, standard, sr_cpus_to_mask(&set, mask, sizeof mask));
	return true;
}

void sr_tune_look_irq_affinity(const struct sr_tune_host *h, struct sr_tune_finding *f)
{
	char full[2 * SR_TUNE_PATH_BYTES], list[SR_CPUS_TEXT_BYTES];
	struct irqs irqs = { 0, 0 };
	const struct dirent *e;
	bool fresh, mover;
	DIR *dir;

	if (no_loops(h, f))
		return;
	dir = sr_tune_path(h, "/proc/irq", full, sizeof full) == 0 ? opendir(full) : NULL;
	if (!dir) {
		sr_tune_say(f, SR_TUNE_WARN, "cannot read /proc/irq: %s", strerror(errno));
		sr_tune_fix(f, "look at it as root");
		return;
	}
	while ((e = readdir(dir)) != NULL)
		if (e->d_name[0] >= '0' && e->d_name[0] <= '9')
			irq_look(h, e->d_name, &irqs, f);
	(void)closedir(dir);
	fresh = irqs_fresh(h, f);
	mover = irqbalance_runs(h);
	if (!irqs.may && !fresh && !mover) {
		sr_tune_say(f, SR_TUNE_OK, "no interrupt of a device may hit a loop");
		return;
	}
	sr_tune_say(f, SR_TUNE_WARN, "%u interrupts may hit a loop, %u of them now%s%s", irqs.may,
		    irqs.now, fresh ? ", and each new one" : "",
		    mover ? "; irqbalance runs and moves them" : "");
	if (mover)
		sr_tune_fix(f, "systemctl disable --now irqbalance, or have it leave the loops alone: "
			       "IRQBALANCE_BANNED_CPULIST=%.300s in /etc/default/irqbalance",
			    sr_cpus_to_list(&h->loops, list, sizeof list));
	else if (!f->setting_count)
		sr_tune_fix(f, irqs.now ? "leave a CPU to the interrupts, and boot with "
					  "isolcpus=managed_irq" : "leave a CPU to the interrupts");
}

void sr_tune_look_workqueues(const struct sr_tune_host *h, struct sr_tune_finding *f)
{
	static const char path[] = "/sys/devices/virtual/workqueue/cpumask";
	char mask[SR_CPUS_TEXT_BYTES];
	struct sr_cpus set;

	if (no_loops(h, f))
		return;
	if (sr_tune_mask(h, path, &set) < 0) {
		sr_tune_say(f, SR_TUNE_OK, "this kernel does not let one place its workqueues");
		return;
	}
	if (!sr_cpus_overlap(&set, &h->loops)) {
		sr_tune_say(f, SR_TUNE_OK, "unbound kernel work keeps off the loops");
		return;
	}
	sr_tune_say(f, SR_TUNE_WARN, "unbound kernel work may run where a loop polls");
	set = sr_cpus_minus(&set, &h->loops);
	if (sr_cpus_count(&set))
		sr_tune_want(f, path, sr_cpus_to_mask(&set, mask, sizeof mask));
	else
		sr_tune_fix(f, "leave a CPU to the kernel");
}

static void say_shared(const struct sr_tune_host *h, struct sr_tune_finding *f, unsigned int cpu,
		       unsigned int other, bool loop)
{
	if (loop && !h->loops_named) {
		sr_tune_say(f, SR_TUNE_WARN,
			    "CPUs %u and %u are threads of one core, both isolated", cpu, other);
		sr_tune_fix(f,
			    "let one of them poll and the other idle, and say which: --cpu LIST");
		return;
	}
	sr_tune_say(f, SR_TUNE_WARN, "CPUs %u and %u are threads of one core, and %s", cpu, other,
		    loop ? "both poll" : "the second has other work");
	sr_tune_fix(f,
		    "isolate CPU %u and leave it idle, or take it off line: echo 0 > " CPU_ROOT
		    "cpu%u/online",
		    other, other);
}

void sr_tune_look_smt(const struct sr_tune_host *h, struct sr_tune_finding *f)
{
	char path[SR_TUNE_PATH_BYTES];
	unsigned int pairs = 0;

	if (no_loops(h, f))
		return;
	for (unsigned int cpu = sr_cpus_next(&h->loops, 0); cpu < SR_CPUS_MAX;
	     cpu = sr_cpus_next(&h->loops, cpu + 1)) {
		struct sr_cpus core;

		(void)snprintf(path, sizeof path, CPU_ROOT "cpu%u/topology/thread_siblings_list",
			       cpu);
		if (sr_tune_list(h, path, &core) < 0)
			continue;
		pairs += sr_cpus_count(&core) > 1;
		for (unsigned int other = sr_cpus_next(&core, 0); other < SR_CPUS_MAX;
		     other = sr_cpus_next(&core, other + 1)) {
			bool loop = sr_cpus_has(&h->loops, other);

			if (other == cpu || !sr_cpus_has(&h->online, other) ||
			    (!loop && sr_cpus_has(&h->isolated, other)))
				continue;
			say_shared(h, f, cpu, other, loop);
			return;
		}
	}
	sr_tune_say(f, SR_TUNE_OK,
		    pairs ? "the other threads of the loops' cores are idle" :
			    "no loop shares a core, as far as this kernel is told (see c2c)");
}

void sr_tune_look_cpu_quota(const struct sr_tune_host *h, struct sr_tune_finding *f)
{
	static const char path[] = "/sys/fs/cgroup/cpu.max";
	char text[SR_TUNE_VALUE_BYTES];

	if (sr_tune_text(h, path, text, sizeof text) < 0 || !strncmp(text, "max", 3)) {
		sr_tune_say(f, SR_TUNE_OK, "no quota takes CPUs away at the top of the cgroups");
		return;
	}
	sr_tune_say(f, SR_TUNE_WARN, "a quota, %.100s us, stops every loop when it is used up",
		    text);
	sr_tune_fix(f, "no cpu limit for this container; CPUQuota= empty in a unit");
}
