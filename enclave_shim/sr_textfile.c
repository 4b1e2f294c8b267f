/* SPDX-License-Identifier: MIT */
#include "sr_textfile.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int judge(int fd, const char *path, bool anybodys, struct sr_reason *why)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return sr_reason_set(why, -errno, "cannot look at %s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return sr_reason_set(why, -EACCES, "%s is no regular file", path);
	if (!anybodys && st.st_uid != 0 && st.st_uid != geteuid())
		return sr_reason_set(why, -EACCES,
				     "%s belongs to user %u: chown it to user %u, who runs this",
				     path, (unsigned int)st.st_uid, (unsigned int)geteuid());
	if (!anybodys && (st.st_mode & (S_IWGRP | S_IWOTH)))
		return sr_reason_set(why, -EACCES,
				     "%s may be written by others than its owner: chmod go-w %s",
				     path, path);
	return 0;
}

static int read_all(char *text, size_t *bytes, size_t max, int fd, const char *path,
		    struct sr_reason *why)
{
	size_t at = 0;
	ssize_t n = 1;

	/* One more than there may be shows that there is more. */
	while (n > 0 && at <= max) {
		n = read(fd, text + at, max + 1 - at);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n > 0)
			at += (size_t)n;
	}
	if (n < 0)
		return sr_reason_set(why, -errno, "cannot read %s: %s", path, strerror(errno));
	if (at > max)
		return sr_reason_set(why, -EMSGSIZE, "%s is longer than %zu bytes", path, max);
	*bytes = at;
	return 0;
}

int sr_textfile_read(char **text, size_t *bytes, size_t max, const char *path, bool anybodys,
		     struct sr_reason *why)
{
	/* O_NONBLOCK: opening a FIFO by mistake must not hang. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int ret;

	*text = NULL;
	if (fd < 0)
		return sr_reason_set(why, -errno, "cannot open %s: %s", path, strerror(errno));
	ret = judge(fd, path, anybodys, why);
	if (!ret) {
		*text = malloc(max + 1);
		ret = *text ? read_all(*text, bytes, max, fd, path, why) :
			      sr_reason_set(why, -ENOMEM, "out of memory");
	}
	if (ret) {
		free(*text);
		*text = NULL;
	}
	(void)close(fd);
	return ret;
}
