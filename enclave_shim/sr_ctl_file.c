/* SPDX-License-Identifier: MIT */
#include "sr_ctl_file.h"

#include <fcntl.h>
#include <unistd.h>

ssize_t sr_ctl_file_read(const char *path, void *data, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t bytes = 0;
	ssize_t got = 0;

	if (fd < 0)
		return -errno;
	while (bytes < room) {
		got = read(fd, (unsigned char *)data + bytes, room - bytes);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		bytes += (size_t)got;
	}
	if (got < 0)
		got = -errno;
	(void)close(fd);
	return got < 0 ? got : (ssize_t)bytes;
}

bool sr_ctl_number_take(uint64_t *out, const char *text, uint64_t max)
{
	uint64_t value = 0;

	if (!*text || strlen(text) > 16)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		value = 10 * value + (uint64_t)(*text - '0');
	}
	if (value > max)
		return false;
	*out = value;
	return true;
}

bool sr_ctl_help_wanted(int argc, char **argv)
{
	return (argc >= 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "help"))) ||
	       (argc >= 3 && !strcmp(argv[2], "--help"));
}
