/* SPDX-License-Identifier: MIT */
#include <libgen.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sr_host.h"
#include "sr_numa.h"

#define CAP_IPC_LOCK_BIT 14
#define HUGE_BYTES (2u * 1024u * 1024u)

void sr_host_check_line(struct sr_host_check *check, int verdict, const char *format, ...)
{
	static const char *const words[] = { "ok", "warn", "FAIL" };
	va_list args;

	check->warned += verdict == 1;
	check->failed += verdict == 2;
	(void)fprintf(check->out, "%-4s  ", words[verdict]);
	va_start(args, format);
	(void)vfprintf(check->out, format, args);
	va_end(args);
	(void)fputc('\n', check->out);
}

int sr_host_check_end(const struct sr_host_check *check)
{
	(void)fprintf(check->out, "%u failed, %u warned\n", check->failed, check->warned);
	return check->failed ? 1 : 0;
}

/* First number behind `key` in a file of `key value` lines; -1 when absent. */
static long long file_number(const char *path, const char *key, int base)
{
	FILE *f = fopen(path, "re");
	char line[256];
	long long v = -1;

	if (!f)
		return -1;
	while (v < 0 && fgets(line, sizeof line, f))
		if (!strncmp(line, key, strlen(key)))
			v = (long long)strtoull(line + strlen(key), NULL, base);
	(void)fclose(f);
	return v;
}

void sr_host_check_memlock(struct sr_host_check *check, uint64_t bytes_needed)
{
	long long caps = file_number("/proc/self/status", "CapEff:", 16);
	struct rlimit lim;

	if (caps >= 0 && ((unsigned long long)caps >> CAP_IPC_LOCK_BIT & 1)) {
		sr_host_check_line(check, 0, "memlock: this user may lock any amount");
		return;
	}
	if (getrlimit(RLIMIT_MEMLOCK, &lim) < 0 || lim.rlim_cur < bytes_needed)
		sr_host_check_line(check, 2,
				   "memlock: limit is %llu KiB, up to %llu KiB are needed: set "
				   "LimitMEMLOCK=%lluK in the systemd unit, or `ulimit -l`",
				   (unsigned long long)lim.rlim_cur / 1024,
				   (unsigned long long)bytes_needed / 1024,
				   (unsigned long long)bytes_needed / 1024);
	else
		sr_host_check_line(check, 0, "memlock: limit is %llu KiB, up to %llu KiB are needed",
				   (unsigned long long)lim.rlim_cur / 1024,
				   (unsigned long long)bytes_needed / 1024);
}

void sr_host_check_huge_pages(struct sr_host_check *check, uint64_t bytes_wanted)
{
	unsigned long long pages = (bytes_wanted + HUGE_BYTES - 1) / HUGE_BYTES;
	long long available =
		file_number("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "", 10);

	if (available < 0)
		available = 0;
	if ((unsigned long long)available < pages)
		sr_host_check_line(check, 1,
				   "huge pages: %lld of 2 MiB are free, %llu are wanted; regions "
				   "fall back to 4 KiB pages: `sysctl vm.nr_hugepages=%llu`",
				   available, pages, pages);
	else
		sr_host_check_line(check, 0, "huge pages: %lld of 2 MiB are free, %llu are wanted",
				   available, pages);
}

void sr_host_check_cpu(struct sr_host_check *check, const char *what, int cpu)
{
	cpu_set_t set;

	if (cpu < 0) {
		sr_host_check_line(check, 1,
				   "%s: not pinned; the scheduler may move it (option --cpu)", what);
		return;
	}
	if (sched_getaffinity(0, sizeof set, &set) < 0 || !CPU_ISSET((unsigned int)cpu, &set))
		sr_host_check_line(check, 2,
				   "%s: CPU %d does not exist or is not allowed to this process: "
				   "choose another, or widen AllowedCPUs=",
				   what, cpu);
	else
		sr_host_check_line(check, 0, "%s: CPU %d, NUMA node %d", what, cpu,
				   sr_numa_node_of_cpu(cpu));
}

void sr_host_check_cores(struct sr_host_check *check, unsigned int spinning_loops)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	if (cores < (long)spinning_loops)
		sr_host_check_line(check, 1,
				   "cores: %ld for %u loops that poll; they will yield to each "
				   "other, and latency is the scheduler's",
				   cores, spinning_loops);
	else
		sr_host_check_line(check, 0, "cores: %ld for %u loops that poll", cores,
				   spinning_loops);
}

void sr_host_check_clock(struct sr_host_check *check)
{
	static const char path[] =
		"/sys/devices/system/clocksource/clocksource0/current_clocksource";
	char name[64] = "";
	FILE *f = fopen(path, "re");

	if (f) {
		if (!fgets(name, sizeof name, f))
			name[0] = '\0';
		(void)fclose(f);
	}
	name[strcspn(name, "\n")] = '\0';
	if (!strcmp(name, "hpet") || !strcmp(name, "acpi_pm") || !strcmp(name, "xen"))
		sr_host_check_line(check, 1,
				   "clock: source %s needs a system call to read: boot with "
				   "clocksource=tsc",
				   name);
	else
		sr_host_check_line(check, 0, "clock: source %s", *name ? name : "unknown");
}

void sr_host_check_socket(struct sr_host_check *check, const char *text)
{
	char path[128];
	const char *dir;

	if (strncmp(text, "unix:", 5))
		return;
	(void)snprintf(path, sizeof path, "%s", text + 5);
	dir = dirname(path);
	if (access(dir, W_OK | X_OK) < 0)
		sr_host_check_line(check, 2,
				   "socket: cannot create files in %s: %s (make the directory, or "
				   "set RuntimeDirectory= in the unit)",
				   dir, strerror(errno));
	else
		sr_host_check_line(check, 0, "socket: %s can be made", text + 5);
}
