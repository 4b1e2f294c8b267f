/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sr_tune_record.h"

#define MAGIC "sigring-tune 1\n"
#define LINE_BYTES (SR_TUNE_PATH_BYTES + 2 * SR_TUNE_VALUE_BYTES + 4)
#define HEAD_BYTES (sizeof MAGIC + SR_TUNE_PATH_BYTES + 64 + 16)
#define FILE_BYTES_MAX (64u << 20)

static bool ends_in(const char *text, const char *end)
{
	size_t bytes = strlen(text);

	return bytes >= strlen(end) && !strcmp(text + bytes - strlen(end), end);
}

bool sr_tune_same(const char *path, const char *a, const char *b)
{
	struct sr_cpus x;
	struct sr_cpus y;

	if (!strcmp(a, b))
		return true;
	if (ends_in(path, "_list") || ends_in(path, "watchdog_cpumask"))
		return sr_cpus_from_list(&x, a) == 0 && sr_cpus_from_list(&y, b) == 0 &&
		       sr_cpus_equal(&x, &y);
	if (ends_in(path, "cpumask") || ends_in(path, "affinity"))
		return sr_cpus_from_mask(&x, a) == 0 && sr_cpus_from_mask(&y, b) == 0 &&
		       sr_cpus_equal(&x, &y);
	return false;
}

/* Takes a change up into the list, continuing an earlier one where it does. */
static int merge(struct sr_tune_record *r, const char *path, const char *was, const char *left)
{
	struct sr_tune_change *c;

	for (size_t i = 0; i < r->count; i++) {
		c = &r->changes[i];
		if (strcmp(c->path, path))
			continue;
		/* Somebody else changed it in between: then his value is what was. */
		if (!sr_tune_same(path, c->left, was))
			(void)snprintf(c->was, sizeof c->was, "%s", was);
		(void)snprintf(c->left, sizeof c->left, "%s", left);
		return 0;
	}
	if (r->count == SR_TUNE_CHANGES_MAX)
		return -EFBIG;
	if (r->count == 0 || sr_is_pow2(r->count)) {
		c = reallocarray(r->changes, r->count ? 2 * r->count : 1, sizeof *c);
		if (!c)
			return -ENOMEM;
		r->changes = c;
	}
	c = &r->changes[r->count++];
	(void)snprintf(c->path, sizeof c->path, "%s", path);
	(void)snprintf(c->was, sizeof c->was, "%s", was);
	(void)snprintf(c->left, sizeof c->left, "%s", left);
	return 0;
}

static bool is_setting(const char *path)
{
	size_t bytes = strlen(path);

	return bytes < SR_TUNE_PATH_BYTES && !strstr(path, "..") &&
	       (!strncmp(path, "/proc/sys/", 10) || !strncmp(path, "/proc/irq/", 10) ||
		!strncmp(path, "/sys/", 5));
}

/* One line without its newline; it is cut up in place. */
static int take_line(struct sr_tune_record *r, char *line)
{
	char *was = strchr(line, '\t');
	char *left = was ? strchr(was + 1, '\t') : NULL;

	if (!left || strchr(left + 1, '\t'))
		return -EINVAL;
	*was++ = '\0';
	*left++ = '\0';
	if (!is_setting(line) || !*was || !*left || strlen(was) >= SR_TUNE_VALUE_BYTES ||
	    strlen(left) >= SR_TUNE_VALUE_BYTES)
		return -EINVAL;
	return merge(r, line, was, left);
}

static void head_of(const struct sr_tune_host *host, char head[HEAD_BYTES], size_t *boot_at)
{
	char boot[64];
	int n;

	if (sr_tune_text(host, "/proc/sys/kernel/random/boot_id", boot, sizeof boot) < 0)
		(void)snprintf(boot, sizeof boot, "unknown");
	n = snprintf(head, HEAD_BYTES, MAGIC "root %s\n", host->root[0] ? host->root : "/");
	*boot_at = (size_t)n;
	(void)snprintf(head + n, HEAD_BYTES - (size_t)n, "boot %s\n", boot);
}

static int begin(struct sr_tune_record *r, const char *head)
{
	ssize_t bytes = (ssize_t)strlen(head);
	ssize_t written;

	r->stale = false;
	if (ftruncate(r->fd, 0) < 0)
		return -errno;
	written = write(r->fd, head, (size_t)bytes);
	if (written != bytes)
		return written < 0 ? -errno : -ENOSPC;
	return fdatasync(r->fd) < 0 ? -errno : 0;
}

/* @text is the whole file, with a zero behind it. */
static int parse(struct sr_tune_record *r, char *text, const struct sr_tune_host *host, bool create,
		 struct sr_reason *why)
{
	char head[HEAD_BYTES];
	size_t boot_at;
	size_t bytes;
	unsigned int number = 4;
	char *at;
	char *end;

	head_of(host, head, &boot_at);
	if (!*text)
		return create ? begin(r, head) : 0;
	if (strncmp(text, MAGIC, sizeof MAGIC - 1))
		return sr_reason_set(why, -EINVAL,
				     "%.180s is no record of sigring-tune: it is left alone",
				     r->file);
	if (strncmp(text, head, boot_at))
		return sr_reason_set(why, -EINVAL, "%.180s is the record of another --root",
				     r->file);
	at = text + boot_at;
	if (strncmp(at, "boot ", 5) || !strchr(at, '\n'))
		return sr_reason_set(why, -EINVAL, "%.180s is cut off: remove it", r->file);
	r->stale = strncmp(at, head + boot_at, strlen(head + boot_at)) != 0;
	if (r->stale)
		return create ? begin(r, head) : 0;
	at = strchr(at, '\n') + 1;
	for (; (end = strchr(at, '\n')) != NULL; at = end + 1, number++) {
		int ret;

		*end = '\0';
		ret = take_line(r, at);
		if (ret < 0)
			return sr_reason_set(why, ret, "%.180s, line %u: %s", r->file, number,
					     ret == -EINVAL ? "no change of a setting" :
							      strerror(-ret));
	}
	bytes = (size_t)(at - text);
	if (*at && create && ftruncate(r->fd, (off_t)bytes) < 0)
		return -errno;
	return 0;
}

/* The path may have been taken away between our open and our lock. */
static int trusted(const struct sr_tune_record *r, struct sr_reason *why, size_t *bytes)
{
	struct stat st;

	if (flock(r->fd, LOCK_EX | LOCK_NB) < 0)
		return sr_reason_set(why, errno == EWOULDBLOCK ? -EBUSY : -errno,
				     "%.180s: another sigring-tune is at work", r->file);
	if (fstat(r->fd, &st) < 0)
		return -errno;
	if (st.st_nlink == 0)
		return sr_reason_set(why, -EBUSY, "%.180s was just removed: try again", r->file);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH))
		return sr_reason_set(why, -EPERM,
				     "%.180s must be a file of user %u that nobody else may write",
				     r->file, (unsigned int)geteuid());
	if (st.st_size > (off_t)FILE_BYTES_MAX)
		return sr_reason_set(why, -EFBIG, "%.180s is too long for a record", r->file);
	*bytes = (size_t)st.st_size;
	return 0;
}

static int read_all(struct sr_tune_record *r, size_t bytes, char **text)
{
	size_t used = 0;

	*text = calloc(1, bytes + 1);
	if (!*text)
		return -ENOMEM;
	while (used < bytes) {
		ssize_t n = pread(r->fd, *text + used, bytes - used, (off_t)used);

		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		used += (size_t)n;
	}
	return 0;
}

int sr_tune_record_open(struct sr_tune_record *r, const char *file, const struct sr_tune_host *host,
			bool create, struct sr_reason *why)
{
	struct sr_tune_record got = { .file = file };
	char *text = NULL;
	size_t bytes = 0;
	int ret;

	if (why)
		why->error = 0;
	got.fd = open(file, O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC | (create ? O_CREAT : 0),
		      0600);
	if (got.fd < 0)
		return sr_reason_set(why, -errno, "cannot open %.180s: %s", file, strerror(errno));
	ret = trusted(&got, why, &bytes);
	if (ret < 0)
		goto fail;
	ret = read_all(&got, bytes, &text);
	if (ret == 0)
		ret = parse(&got, text, host, create, why);
	free(text);
	if (ret < 0)
		goto fail;
	*r = got;
	return 0;
fail:
	if (why && !why->error)
		(void)sr_reason_set(why, ret, "cannot use %.180s: %s", file, strerror(-ret));
	free(got.changes);
	(void)close(got.fd);
	return ret;
}

int sr_tune_record_add(struct sr_tune_record *r, const char *path, const char *was,
		       const char *left)
{
	char line[LINE_BYTES];
	int n = snprintf(line, sizeof line, "%s\t%s\t%s\n", path, was, left);
	ssize_t written;

	/* A value with a tab or an empty one could not be read back. */
	if (n < 0 || (size_t)n >= sizeof line || !is_setting(path) || !*was || !*left ||
	    strchr(was, '\t') || strchr(left, '\t'))
		return -EINVAL;
	written = write(r->fd, line, (size_t)n);
	if (written != n)
		return written < 0 ? -errno : -ENOSPC;
	if (fdatasync(r->fd) < 0)
		return -errno;
	return merge(r, path, was, left);
}

int sr_tune_record_close(struct sr_tune_record *r, bool remove)
{
	int ret = 0;

	if (remove && unlink(r->file) < 0)
		ret = -errno;
	free(r->changes);
	r->changes = NULL;
	r->count = 0;
	(void)close(r->fd);
	r->fd = -1;
	return ret;
}
