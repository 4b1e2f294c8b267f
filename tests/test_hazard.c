/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "signer_rig.h"
#include "sr_hazard.h"

static char sysfs[64];
static struct sr_reason why;

static void put(const char *path, const char *text)
{
	char whole[256];
	FILE *file;

	(void)snprintf(whole, sizeof whole, "%s/%s", sysfs, path);
	if (!text) {
		cr_assert_eq(mkdir(whole, 0700), 0);
		return;
	}
	file = fopen(whole, "w");
	cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void begin(void)
{
	(void)snprintf(sysfs, sizeof sysfs, "/tmp/sr-hazard-%d", (int)getpid());
	cr_assert_eq(mkdir(sysfs, 0700), 0);
	put("bus", NULL);
	put("bus/acpi", NULL);
	put("bus/acpi/devices", NULL);
	put("bus/acpi/devices/PNP0303:00", NULL);
	put("bus/acpi/devices/PNP0303:00/modalias", "acpi:PNP0303:\n");
}

static void end(void)
{
	char command[128];

	(void)snprintf(command, sizeof command, "rm -rf '%s'", sysfs);
	cr_assert_eq(system(command), 0);
}

TestSuite(hazard, .init = begin, .fini = end);

Test(hazard, a_generation_device_is_named)
{
	put("bus/acpi/devices/VMGENCTR:00", NULL);
	put("bus/acpi/devices/VMGENCTR:00/modalias", "acpi:VMGENCTR:VM_GEN_COUNTER:\n");
	cr_assert_eq(sr_hazard_snapshot(sysfs, &why), -EPERM);
	cr_assert(strstr(why.text, "VM generation device"), "%s", why.text);
	cr_assert(strstr(why.text, "--allow-snapshot"), "%s", why.text);
}

/* The kernel's word on the CPU is another way to the same bit. */
static bool cpu_says_virtual(void)
{
	static char text[1 << 16];
	FILE *file = fopen("/proc/cpuinfo", "r");
	size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;

	if (file)
		(void)fclose(file);
	text[n] = '\0';
	return strstr(text, " hypervisor");
}

Test(hazard, without_one_the_cpu_decides)
{
#if defined(__x86_64__)
	cr_assert_eq(sr_hazard_snapshot(sysfs, &why), cpu_says_virtual() ? -EPERM : 0);
	cr_assert_eq(sr_hazard_snapshot("/nowhere", &why), cpu_says_virtual() ? -EPERM : 0);
#else
	(void)cpu_says_virtual;
	cr_assert_eq(sr_hazard_snapshot(sysfs, &why), -EPERM);
#endif
	if (why.text[0])
		cr_assert(strstr(why.text, "virtual"), "%s", why.text);
}

Test(hazard, ignored_children_are_named_as_the_trouble)
{
	rig_need_secret_memory();
	(void)signal(SIGCHLD, SIG_IGN);
	cr_assert_eq(sr_hazard_fork(&why), -ECHILD);
	(void)signal(SIGCHLD, SIG_DFL);
	cr_assert(strstr(why.text, "SIGCHLD"), "%s", why.text);
}

Test(hazard, a_child_gets_no_keys_here)
{
	rig_need_secret_memory();
	cr_assert_eq(sr_hazard_fork(&why), 0, "%s", why.text);
}

/* A kernel that ignores the advice: glibc's madvise() is not asked then. */
static bool ignored;
int madvise(void *mem, size_t bytes, int advice);

int madvise(void *mem, size_t bytes, int advice)
{
	extern int __madvise(void *, size_t, int);

	return ignored ? 0 : __madvise(mem, bytes, advice);
}

Test(hazard, a_child_that_gets_them_is_seen)
{
	ignored = true;
	cr_assert_eq(sr_hazard_fork(&why), -EIO);
	ignored = false;
	cr_assert(strstr(why.text, "MADV_WIPEONFORK"), "%s", why.text);
}
