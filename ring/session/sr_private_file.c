/* SPDX-License-Identifier: MIT */
#include "sr_private_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int judge(const struct stat *st, size_t room, const char *path, struct sr_reason *why)
{
	if (!S_ISREG(st->st_mode))
		return sr_reason_set(why, -EACCES, "%s is no regular file", path);
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return sr_reason_set(why, -EACCES,
				     "%s belongs to user %u: chown it to user %u, who runs this",
				     path, (unsigned int)st->st_uid, (unsigned int)geteuid());
	if (st->st_mode & 07177)
		return sr_reason_set(why, -EACCES,
				     "%s has mode %04o, so others may have read the key: "
				     "chmod 600 %s",
				     path, (unsigned int)(st->st_mode & 07777), path);
	if (st->st_size > (off_t)room)
		return sr_reason_set(why, -EBADMSG,
				     "%s is longer than a file of its kind: %zu "
				     "bytes",
				     path, room);
	return 0;
}

static int open_file(const char *path, size_t room, struct sr_reason *why)
{
	/* O_NONBLOCK: opening a FIFO by mistake must not hang. */
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	int ret;

	if (fd < 0 && errno == ELOOP)
		return sr_reason_set(why, -EACCES, "%s is a symbolic link: name the file itself",
				     path);
	if (fd < 0)
		return sr_reason_set(why, -errno, "cannot open %s: %s", path, strerror(errno));
	if (fstat(fd, &st))
		ret = sr_reason_set(why, -errno, "cannot look at %s: %s", path, strerror(errno));
	else
		ret = judge(&st, room, path, why);
	if (!ret)
		return fd;
	(void)close(fd);
	return ret;
}

int sr_private_file_read(char *text, size_t *bytes, size_t room, const char *path,
			 struct sr_reason *why)
{
	int fd = open_file(path, room, why);
	size_t done = 0;
	int ret = 0;

	if (fd < 0)
		return fd;
	while (done < room) {
		ssize_t got = read(fd, text + done, room - done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			ret = sr_reason_set(why, -errno, "cannot read %s: %s", path,
					    strerror(errno));
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	(void)close(fd);
	if (!ret)
		*bytes = done;
	return ret;
}

static int write_all(int fd, const char *text, size_t bytes)
{
	while (bytes) {
		ssize_t put = write(fd, text, bytes);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		text += put;
		bytes -= (size_t)put;
	}
	return 0;
}

/* A file whose name is not on the disk is lost with the power. */
static int sync_parent(const char *path)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX] = ".";
	int fd, ret = 0;

	if (slash == path)
		dir[0] = '/';
	else if (slash)
		(void)snprintf(dir, sizeof dir, "%.*s", (int)(slash - path), path);

	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fsync(fd))
		ret = -errno;
	(void)close(fd);
	return ret;
}

int sr_private_file_make(const char *path, const char *text, size_t bytes, struct sr_reason *why)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int ret;

	if (fd < 0 && errno == EEXIST)
		return sr_reason_set(why, -EEXIST,
				     "%s is there already: a key is never overwritten; choose "
				     "another name",
				     path);
	if (fd < 0)
		return sr_reason_set(why, -errno, "cannot make %s: %s", path, strerror(errno));

	ret = write_all(fd, text, bytes);
	if (!ret && fsync(fd))
		ret = -errno;
	if (close(fd) && !ret)
		ret = -errno;
	if (!ret)
		ret = sync_parent(path);
	if (!ret)
		return 0;
	(void)unlink(path);
	return sr_reason_set(why, ret, "cannot write %s: %s", path, strerror(-ret));
}
