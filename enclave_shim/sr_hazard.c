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
	int ret, status = -1;
	pid_t child;
	void *mem;

	ret = sr_secret_alloc(&mem, PROBE_BYTES);
	if (ret)
		return sr_reason_set(why, ret, "cannot lock memory for keys: %s", strerror(-ret));
	memset(mem, 0xa5, PROBE_BYTES);
	child = fork();
	if (child == 0)
		_exit(all_zero(mem) ? 0 : 1);
	if (child < 0)
		ret = -errno;
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	sr_secret_free(mem, PROBE_BYTES);
	if (ret)
		return sr_reason_set(why, ret, "cannot fork to see that a child gets no keys: %s",
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

/* "Virtual Machine Generation ID", Microsoft, 2012: an ACPI device of this id. */
static bool has_generation_device(const char *sysfs)
{
	char pattern[PATH_MAX], alias[256];
	bool found = false;
	glob_t files;

	(void)snprintf(pattern, sizeof pattern, "%s/bus/acpi/devices/*/modalias", sysfs);
	if (glob(pattern, GLOB_NOSORT, NULL, &files))
		return false;
	for (size_t i = 0; i < files.gl_pathc; i++) {
		int fd = open(files.gl_pathv[i], O_RDONLY | O_CLOEXEC);
		ssize_t n = fd < 0 ? -1 : read(fd, alias, sizeof alias - 1);

		if (fd >= 0)
			(void)close(fd);
		if (n <= 0)
			continue;
		alias[n] = '\0';
		found |= strstr(alias, "VMGENCTR") || strstr(alias, "VM_GEN_COUNTER");
	}
	globfree(&files);
	return found;
}

int sr_hazard_snapshot(const char *sysfs, struct sr_reason *why)
{
	const char *found = NULL;

	if (has_generation_device(sysfs))
		found = "can be restored (it has a VM generation device)";
	else if (is_virtual())
		found = "is, or may be, virtual";
	if (!found)
		return 0;
	return sr_reason_set(why, -EPERM,
			     "a key uses presignatures and this machine %s: run twice from one "
			     "snapshot, it gives the key away. Use nonce hedged, or say "
			     "--allow-snapshot if none is ever restored (docs/signing.md)",
			     found);
}
