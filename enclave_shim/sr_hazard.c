/* SPDX-License-Identifier: MIT */
#include "sr_hazard.h"

#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "sr_secret.h"

#define PROBE_BYTES 4096u
#define CPUID_HYPERVISOR (1u << 31) /* leaf 1, ecx; reserved for hypervisors to set */

static bool all_zero(const unsigned char *mem)
{
	unsigned int any = 0;

	for (size_t i = 0; i < PROBE_BYTES; i++)
		any |= mem[i];
	return any == 0;
}

int sr_hazard_fork(struct sr_reason *why)
{
	int ret, status = 0;
	pid_t child, ended;
	void *mem;

	ret = sr_secret_alloc(&mem, PROBE_BYTES);
	if (ret)
		return sr_reason_set(why, ret, "cannot lock memory for keys: %s", strerror(-ret));
	memset(mem, 0xa5, PROBE_BYTES);
	child = fork();
	if (child == 0)
		_exit(all_zero(mem) ? 0 : 1);
	do
		ended = child < 0 ? -1 : waitpid(child, &status, 0);
	while (ended < 0 && child > 0 && errno == EINTR);
	ret = ended < 0 ? -errno : 0;
	sr_secret_free(mem, PROBE_BYTES);
	if (ret)
		return sr_reason_set(why, ret,
				     "cannot see whether a forked child gets keys: %s (is SIGCHLD "
				     "ignored?)",
				     strerror(-ret));
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return sr_reason_set(why, -EIO,
				     "a forked child can read this process's keys: the kernel does "
				     "not honour MADV_WIPEONFORK");
	return 0;
}

static bool is_virtual(void)
{
#if defined(__x86_64__)
	unsigned int a, b, c, d;

	return __get_cpuid(1, &a, &b, &c, &d) && (c & CPUID_HYPERVISOR);
#else
	return true; /* the CPU does not tell */
#endif
}

/* The text of a small file; false when there is none. */
static bool read_text(const char *path, char *text, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, room - 1);

	if (fd >= 0)
		(void)close(fd);
	if (n < 0)
		return false;
	text[n] = '\0';
	return true;
}

/* "Virtual Machine Generation ID", Microsoft, 2012: an ACPI device of this id.
 * 1, 0, or -EIO. */
static int has_generation_device(const char *sysfs)
{
	char pattern[PATH_MAX], alias[256];
	int found = 0, ret;
	glob_t files;

	(void)snprintf(pattern, sizeof pattern, "%s/bus/acpi/devices/*/modalias", sysfs);
	ret = glob(pattern, GLOB_NOSORT, NULL, &files);
	if (ret)
		return ret == GLOB_NOMATCH ? 0 : -EIO;
	for (size_t i = 0; i < files.gl_pathc; i++)
		if (read_text(files.gl_pathv[i], alias, sizeof alias) &&
		    (strstr(alias, "VMGENCTR") || strstr(alias, "VM_GEN_COUNTER")))
			found = 1;
	globfree(&files);
	return found;
}

static bool can_hibernate(const char *sysfs)
{
	char path[PATH_MAX], states[128];

	(void)snprintf(path, sizeof path, "%s/power/state", sysfs);
	return read_text(path, states, sizeof states) && strstr(states, "disk");
}

int sr_hazard_snapshot(const char *sysfs, struct sr_reason *why)
{
	int device = has_generation_device(sysfs);
	const char *found;

	if (device < 0)
		return sr_reason_set(why, device, "cannot search %.100s for a VM generation device",
				     sysfs);
	if (device)
		found = "can be restored (it has a VM generation device)";
	else if (is_virtual())
		found = "is, or may be, virtual";
	else if (can_hibernate(sysfs))
		found = "can hibernate";
	else
		return 0;
	return sr_reason_set(why, -EPERM,
			     "a key uses presignatures and this machine %s: run twice from one "
			     "state, it gives the key away. Use nonce hedged, or say "
			     "--allow-snapshot if that never happens (docs/signing.md)",
			     found);
}
