/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sr_tune_host.h"

int sr_tune_path(const struct sr_tune_host *host, const char *path, char *full, size_t bytes)
{
	int n = snprintf(full, bytes, "%s%s", host->root, path);

	return n < 0 || (size_t)n >= bytes ? -ENAMETOOLONG : 0;
}

int sr_tune_text(const struct sr_tune_host *host, const char *path, char *text, size_t bytes)
{
	char full[2 * SR_TUNE_PATH_BYTES];
	char line[SR_TUNE_LINE_BYTES];
	size_t used = 0;
	ssize_t n = 0;
	int ret = sr_tune_path(host, path, full, sizeof full);
	int fd;

	if (ret < 0)
		return ret;
	fd = open(full, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (used < sizeof line && (n = read(fd, line + used, sizeof line - used)) > 0)
		used += (size_t)n;
	if (n < 0)
		ret = -errno;
	(void)close(fd);
	if (ret < 0)
		return ret;
	for (n = 0; (size_t)n < used && line[n] != '\n' && line[n]; n++)
		;
	if ((size_t)n >= bytes || (size_t)n == sizeof line)
		return -EFBIG;
	memcpy(text, line, (size_t)n);
	text[n] = '\0';
	return 0;
}

int sr_tune_value(const struct sr_tune_host *host, const char *path,
		  char value[SR_TUNE_VALUE_BYTES])
{
	char text[SR_TUNE_VALUE_BYTES];
	const char *from;
	size_t bytes;
	int ret = sr_tune_text(host, path, text, sizeof text);

	if (ret < 0)
		return ret;
	from = strchr(text, '[');
	if (from && strchr(from, ']')) {
		from++;
		bytes = strcspn(from, "]");
	} else {
		from = text + strspn(text, " \t");
		bytes = strlen(from);
		while (bytes > 0 && (from[bytes - 1] == ' ' || from[bytes - 1] == '\t'))
			bytes--;
	}
	memcpy(value, from, bytes);
	value[bytes] = '\0';
	return 0;
}

int sr_tune_number(const struct sr_tune_host *host, const char *path, long long *number)
{
	char value[SR_TUNE_VALUE_BYTES];
	char *end;
	long long v;
	int ret = sr_tune_value(host, path, value);

	if (ret < 0)
		return ret;
	errno = 0;
	v = strtoll(value, &end, 10);
	if (errno || end == value || *end)
		return -EINVAL;
	*number = v;
	return 0;
}

int sr_tune_list(const struct sr_tune_host *host, const char *path, struct sr_cpus *set)
{
	char text[SR_TUNE_LINE_BYTES];
	int ret = sr_tune_text(host, path, text, sizeof text);

	if (ret < 0)
		return ret;
	if (!strcmp(text, "(null)")) /* nohz_full of some kernels, when none is set */
		text[0] = '\0';
	return sr_cpus_from_list(set, text);
}

int sr_tune_mask(const struct sr_tune_host *host, const char *path, struct sr_cpus *set)
{
	char text[SR_TUNE_LINE_BYTES];
	int ret = sr_tune_text(host, path, text, sizeof text);

	return ret < 0 ? ret : sr_cpus_from_mask(set, text);
}

int sr_tune_write(const struct sr_tune_host *host, const char *path, const char *value)
{
	char full[2 * SR_TUNE_PATH_BYTES];
	char line[SR_TUNE_VALUE_BYTES + 1];
	int bytes = snprintf(line, sizeof line, "%s\n", value);
	ssize_t n;
	int ret = sr_tune_path(host, path, full, sizeof full);
	int fd;

	if (ret < 0 || bytes < 0 || (size_t)bytes >= sizeof line)
		return ret < 0 ? ret : -EFBIG;
	fd = open(full, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = write(fd, line, (size_t)bytes);
	if (n != bytes)
		ret = n < 0 ? -errno : -EIO;
	/* The kernel's files have no old end; a recorded one is cut behind the new line. */
	else if (host->root[0] && ftruncate(fd, bytes) < 0)
		ret = -errno;
	(void)close(fd);
	return ret;
}

bool sr_tune_boot_option(const struct sr_tune_host *host, const char *name,
			 char value[SR_TUNE_LINE_BYTES])
{
	size_t name_bytes = strlen(name);
	const char *at = host->cmdline;
	bool found = false;

	while (*(at += strspn(at, " \t"))) {
		size_t bytes = strcspn(at, " \t");

		if (bytes >= name_bytes && !strncmp(at, name, name_bytes) &&
		    (bytes == name_bytes || at[name_bytes] == '=')) {
			size_t skip = name_bytes + (bytes > name_bytes);

			memcpy(value, at + skip, bytes - skip);
			value[bytes - skip] = '\0';
			found = true;
		}
		at += bytes;
	}
	return found;
}

/* Isolated by the command line, or by a cpuset partition since boot. */
static void read_isolated(struct sr_tune_host *host)
{
	struct sr_cpus more;

	if (sr_tune_list(host, "/sys/devices/system/cpu/isolated", &more) == 0)
		host->isolated = more;
	if (sr_tune_list(host, "/sys/fs/cgroup/cpuset.cpus.isolated", &more) == 0)
		host->isolated = sr_cpus_union(&host->isolated, &more);
}

int sr_tune_host_read(struct sr_tune_host *host, const char *root, const struct sr_cpus *loops,
		      uint32_t huge_pages, struct sr_reason *why)
{
	struct sr_tune_host h;
	size_t bytes = strlen(root);
	int ret;

	while (bytes > 0 && root[bytes - 1] == '/')
		bytes--;
	if (bytes >= sizeof h.root)
		return sr_reason_set(why, -ENAMETOOLONG, "the path of the tree is longer than %zu",
				     sizeof h.root - 1);
	memset(&h, 0, sizeof h);
	memcpy(h.root, root, bytes);
	h.huge_pages = huge_pages;
	ret = sr_tune_list(&h, "/sys/devices/system/cpu/online", &h.online);
	if (ret < 0 || sr_cpus_count(&h.online) == 0)
		return sr_reason_set(why, ret < 0 ? ret : -EINVAL,
				     "cannot read %.150s/sys/devices/system/cpu/online: %s", h.root,
				     ret < 0 ? strerror(-ret) : "it is empty");
	read_isolated(&h);
	h.loops_named = sr_cpus_count(loops) > 0;
	h.loops = h.loops_named ? *loops : h.isolated;
	if (sr_tune_text(&h, "/proc/cmdline", h.cmdline, sizeof h.cmdline) < 0)
		h.cmdline[0] = '\0';
	*host = h;
	return 0;
}
