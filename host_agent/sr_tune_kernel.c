/* SPDX-License-Identifier: MIT */
/* The items about the kernel's own work: memory, timers, clocks. */
#include <stdio.h>

#include "sr_tune_found.h"

#define THP "/sys/kernel/mm/transparent_hugepage/"
#define HUGE "/sys/kernel/mm/hugepages/hugepages-2048kB/"
#define CLOCK "/sys/devices/system/clocksource/clocksource0/"
#define STAT_INTERVAL_S 10
#define PROCESS_PAGES 2 /* regions of a process, at the defaults: one of a page each way */

/* A setting that has one good value, and that a kernel may well lack. */
static void one_value(const struct sr_tune_host *h, struct sr_tune_finding *f, const char *path,
		      const char *good, const char *absent, const char *bad)
{
	char now[SR_TUNE_VALUE_BYTES];
	int ret = sr_tune_value(h, path, now);

	if (ret == -ENOENT) {
		sr_tune_say(f, SR_TUNE_OK, "%s", absent);
	} else if (ret < 0) {
		sr_tune_say(f, SR_TUNE_WARN, "cannot read %.190s: %s", path, strerror(-ret));
		sr_tune_fix(f, "look at it as root");
	} else if (strcmp(now, good)) {
		sr_tune_say(f, SR_TUNE_WARN, "%s (it is %.60s)", bad, now);
		sr_tune_want(f, path, good);
	} else {
		sr_tune_say(f, SR_TUNE_OK, "it is %s", good);
	}
}

void sr_tune_look_thp(const struct sr_tune_host *h, struct sr_tune_finding *f)
{
	char enabled[SR_TUNE_VALUE_BYTES];
	char defrag[SR_TUNE_VALUE_BYTES];

	if (sr_tune_value(h, THP "enabled", enabled) < 0) {
		sr_tune_say(f, SR_TUNE_OK, "this kernel has no transparent huge pages");
		return;
	}
	if (sr_tune_value(h, THP "defrag", defrag) < 0)
		defrag[0] = '\0';
	if (!strcmp(enabled, "always"))
		sr_tune_want(f, THP "enabled", "madvise");
	if (!strcmp(defrag, "always"))
		sr_tune_want(f, THP "defrag", "madvise");
	if (f->setting_count)
		sr_tune_say(
			f, SR_TUNE_WARN,
			"any page fault may stop to clear or to gather 2 MiB (%.20s, defrag %.20s)",
			enabled, defrag);
	else
		sr_tune_say(f, SR_TUNE_OK, "only for those who ask: %.20s, defrag %.20s", enabled,
			    defrag);
}

void sr_tune_look_ksm(const struct sr_tune_host *h, struct sr_tune_finding *f)
{
	one_value(h, f, "/sys/kernel/mm/ksm/run", "0", "this kernel merges no pages",
		  "ksmd write-protects pages to merge them");
}

void sr_tune_look_huge_pages(const struct sr_tune_host *h, struct sr_tune_finding *f)
{
	long long total, available, promised = 0;
	char want[32];

	if (sr_tune_number(h, HUGE "nr_hugepages", &total) < 0 ||
	    sr_tune_number(h, HUGE "free_hugepages", &available) < 0) {
		sr_tune_say(f, SR_TUNE_WARN, "this kernel has no huge pages of 2 MiB");
		sr_tune_fix(f, "a kernel with CONFIG_HUGETLBFS");
		return;
	}
	/* Mapped by somebody, touched by nobody yet: free only in name. */
	if (sr_tune_number(h, HUGE "resv_hugepages", &promised) < 0 || promised > available ||
	    promised < 0)
		promised = 0;
	available -= promised;
	if (total < (long long)h->huge_pages) {
		sr_tune_say(f, SR_TUNE_WARN, "%lld of 2 MiB, and %u are wanted: regions fall back to "
			    "4 KiB", total, h->huge_pages);
		(void)snprintf(want, sizeof want, "%u", h->huge_pages);
		sr_tune_want(f, HUGE "nr_hugepages", want);
	} else if (h->huge_pages && available < PROCESS_PAGES) {
		sr_tune_say(f, SR_TUNE_WARN, "%lld of 2 MiB, but %lld free: who holds the others (an "
			    "enclave, regions) leaves the next process 4 KiB", total, available);
		sr_tune_fix(f, "echo %lld > " HUGE "nr_hugepages, or --huge-pages N with the "
			       "enclave's share in N", total + (long long)h->huge_pages);
	} else {
		sr_tune_say(f, SR_TUNE_OK, "%lld of 2 MiB, %lld of them free: regions for %lld more "
			    "processes", total, available, available / PROCESS_PAGES);
	}
}

void sr_tune_look_numa_balancing(const struct sr_tune_host *h, struct sr_tune_finding *f)
{
	one_value(h, f, "/proc/sys/kernel/numa_balancing", "0", "this kernel does not balance",
		  "pages are unmapped to see who faults on them");
}

void sr_tune_look_timer_migration(const struct sr_tune_host *h, struct sr_tune_finding *f)
{
	one_value(h, f, "/proc/sys/kernel/timer_migration", "0", "this kernel moves no timers",
		  "timers of idle CPUs are moved to busy ones, and a loop is always busy");
}

void sr_tune_look_watchdog(const struct sr_tune_host *h, struct sr_tune_finding *f)
{
	static const char path[] = "/proc/sys/kernel/watchdog_cpumask";
	char list[SR_CPUS_TEXT_BYTES];
	struct sr_cpus watched;
	long long on;

	if (sr_tune_number(h, "/proc/sys/kernel/watchdog", &on) < 0 || on == 0 ||
	    sr_tune_list(h, path, &watched) < 0) {
		sr_tune_say(f, SR_TUNE_OK, "no lockup detector runs");
		return;
	}
	if (!sr_cpus_count(&h->loops)) {
		sr_tune_say(f, SR_TUNE_WARN, "the lockup detector's timer runs on every CPU");
		sr_tune_fix(f, "isolate CPUs for the loops (isolcpus), or name them: --cpu LIST");
		return;
	}
	if (!sr_cpus_overlap(&watched, &h->loops)) {
		sr_tune_say(f, SR_TUNE_OK, "the lockup detector keeps off the loops");
		return;
	}
	sr_tune_say(f, SR_TUNE_WARN, "the lockup detector's timer interrupts the loops");
	watched = sr_cpus_minus(&watched, &h->loops);
	if (sr_cpus_count(&watched))
		sr_tune_want(f, path, sr_cpus_to_list(&watched, list, sizeof list));
	else
		sr_tune_want(f, "/proc/sys/kernel/watchdog", "0");
}

void sr_tune_look_vm_stat(const struct sr_tune_host *h, struct sr_tune_finding *f)
{
	static const char path[] = "/proc/sys/vm/stat_interval";
	char want[32];
	long long now_s;

	if (sr_tune_number(h, path, &now_s) < 0) {
		sr_tune_say(f, SR_TUNE_OK, "this kernel does not fold its statistics");
		return;
	}
	if (now_s >= STAT_INTERVAL_S) {
		sr_tune_say(f, SR_TUNE_OK, "statistics are folded every %lld s", now_s);
		return;
	}
	sr_tune_say(f, SR_TUNE_WARN, "each CPU folds its memory statistics every %lld s", now_s);
	(void)snprintf(want, sizeof want, "%d", STAT_INTERVAL_S);
	sr_tune_want(f, path, want);
}

/* Without throttling a SCHED_FIFO loop hangs a CPU that is not its own: then the
 * limit is what one wants. */
void sr_tune_look_rt_throttling(const struct sr_tune_host *h, struct sr_tune_finding *f)
{
	struct sr_cpus shared = sr_cpus_minus(&h->loops, &h->isolated);

	if (!sr_cpus_count(&h->loops) || sr_cpus_count(&shared))
		sr_tune_say(f, SR_TUNE_OK, "as it is: loops on CPUs that are not isolated need it");
	else
		one_value(h, f, "/proc/sys/kernel/sched_rt_runtime_us", "-1",
			  "this kernel does not throttle",
			  "a SCHED_FIFO loop is stopped for the rest of each period");
}

/* Is this word in a list of words? */
static bool has_word(const char *list, const char *word)
{
	size_t bytes = strlen(word);

	for (const char *at = list; *(at += strspn(at, " \t")); at += strcspn(at, " \t"))
		if (strcspn(at, " \t") == bytes && !strncmp(at, word, bytes))
			return true;
	return false;
}

void sr_tune_look_clocksource(const struct sr_tune_host *h, struct sr_tune_finding *f)
{
	static const char *const quick[] = { "tsc", "kvm-clock", "arch_sys_counter",
					     "hyperv_clocksource_tsc_page" };
	char choices[SR_TUNE_VALUE_BYTES];
	char now[SR_TUNE_VALUE_BYTES];

	if (sr_tune_value(h, CLOCK "current_clocksource", now) < 0) {
		sr_tune_say(f, SR_TUNE_WARN, "this kernel does not say what clock it has");
		sr_tune_fix(f, "sigring-tune jitter: its shortest gap is what a reading costs");
		return;
	}
	for (size_t i = 0; i < sizeof quick / sizeof quick[0]; i++)
		if (!strcmp(now, quick[i])) {
			sr_tune_say(f, SR_TUNE_OK, "%s is read without a system call", now);
			return;
		}
	sr_tune_say(f, SR_TUNE_FAIL, "each reading of %.60s is a system call", now);
	if (sr_tune_value(h, CLOCK "available_clocksource", choices) == 0 &&
	    has_word(choices, "tsc"))
		sr_tune_want(f, CLOCK "current_clocksource", "tsc");
	else
		sr_tune_fix(f, "another machine: this kernel found no counter that it trusts "
			       "(dmesg | grep -i clocksource)");
}
