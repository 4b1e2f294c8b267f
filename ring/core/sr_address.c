/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <linux/vm_sockets.h>

#include "sr_address.h"

static int parse_u32(const char *text, const char *end, uint32_t *value)
{
	char *stop;
	unsigned long v;

	if (text == end || *text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	v = strtoul(text, &stop, 10);
	if (errno || stop != end || v > UINT32_MAX)
		return -EINVAL;
	*value = (uint32_t)v;
	return 0;
}

static int parse_vsock(struct sr_address *a, const char *text)
{
	struct sockaddr_vm vm = { .svm_family = AF_VSOCK };
	const char *colon = strchr(text, ':');
	uint32_t cid = VMADDR_CID_ANY;
	uint32_t port;

	if (!colon)
		return -EINVAL;
	a->found = !strncmp(text, "auto:", 5);
	if (strncmp(text, "any:", 4) && !a->found && parse_u32(text, colon, &cid) < 0)
		return -EINVAL;
	if (parse_u32(colon + 1, colon + 1 + strlen(colon + 1), &port) < 0)
		return -EINVAL;
	vm.svm_cid = cid;
	vm.svm_port = a->port = port;
	memcpy(&a->sock, &vm, sizeof vm);
	a->bytes = sizeof vm;
	return 0;
}

static int set_path(struct sr_address *a, const char *path, size_t bytes, struct sr_reason *why)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };

	if (bytes >= sizeof un.sun_path)
		return sr_reason_set(why, -EINVAL, "socket path is longer than %zu bytes",
				     sizeof un.sun_path - 1);
	memcpy(un.sun_path, path, bytes);
	memcpy(&a->sock, &un, sizeof un);
	a->bytes = sizeof un;
	return 0;
}

/* The path may have colons of its own. */
static bool is_hybrid(struct sr_address *a, const char *text, size_t *path_bytes)
{
	const char *colon = strrchr(text, ':');

	if (!colon || colon == text ||
	    parse_u32(colon + 1, colon + 1 + strlen(colon + 1), &a->port) < 0)
		return false;
	*path_bytes = (size_t)(colon - text);
	a->hybrid = true;
	return true;
}

int sr_address_parse(struct sr_address *address, const char *text, struct sr_reason *why)
{
	struct sr_address a;
	size_t bytes;
	int ret = 0;

	memset(&a, 0, sizeof a);
	if (strlen(text) >= sizeof a.text)
		return sr_reason_set(why, -EINVAL, "address is longer than %zu bytes",
				     sizeof a.text - 1);
	memcpy(a.text, text, strlen(text) + 1);
	if (!strncmp(text, "unix:", 5) && text[5])
		ret = set_path(&a, text + 5, strlen(text + 5), why);
	else if (!strncmp(text, "hybrid:", 7) && is_hybrid(&a, text + 7, &bytes))
		ret = set_path(&a, text + 7, bytes, why);
	else if (strncmp(text, "vsock:", 6) || parse_vsock(&a, text + 6) < 0)
		return sr_reason_set(why, -EINVAL,
				     "`%s` is no address: write unix:PATH or vsock:CID:PORT, or "
				     "hybrid:PATH:PORT",
				     text);
	if (ret == 0)
		*address = a;
	return ret;
}

int sr_address_control(const struct sr_address *hot, struct sr_address *control,
		       struct sr_reason *why)
{
	char text[sizeof hot->text + sizeof ".control"];
	const char *colon = strrchr(hot->text, ':');
	int ret;

	if (hot->sock.any.sa_family == AF_UNIX && !hot->hybrid) {
		(void)snprintf(text, sizeof text, "%s.control", hot->text);
		return sr_address_parse(control, text, why);
	}
	/* The number above it, VMADDR_PORT_ANY, is no port to connect to. */
	if (hot->port >= VMADDR_PORT_ANY - 1)
		return sr_reason_set(why, -EINVAL,
				     "%s has the last port, and control conversations take the one "
				     "above: choose a lower one, or give --control",
				     hot->text);
	(void)snprintf(text, sizeof text, "%.*s%u", (int)(colon + 1 - hot->text), hot->text,
		       hot->port + 1);
	ret = sr_address_parse(control, text, why);
	if (ret == 0)
		control->cid = hot->cid;
	return ret;
}

static int new_socket(const struct sr_address *a, int type)
{
	int fd = socket(a->sock.any.sa_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 ? -errno : fd;
}

uint32_t sr_address_cid(const struct sr_address *address)
{
	return address->found && address->cid ? sr_load32_relaxed(address->cid) : 0;
}

int sr_address_connect(const struct sr_address *address)
{
	struct sr_address at = *address;
	struct sockaddr_vm vm;
	int fd;
	int ret;

	if (at.found) {
		memcpy(&vm, &at.sock, sizeof vm);
		vm.svm_cid = sr_address_cid(&at);
		if (!vm.svm_cid)
			return -EHOSTUNREACH;
		memcpy(&at.sock, &vm, sizeof vm);
	}
	fd = new_socket(&at, SOCK_STREAM);
	if (fd < 0)
		return fd;
	if (connect(fd, &at.sock.any, at.bytes) < 0 && errno != EINPROGRESS) {
		ret = -errno;
		(void)close(fd);
		return ret;
	}
	return fd;
}

static const char *unix_path(const struct sr_address *a)
{
	return a->sock.any.sa_family == AF_UNIX ? a->text + sizeof "unix:" - 1 : NULL;
}

/* Does a process answer at this path? A refused connect means a dead owner. */
static bool answers(const struct sr_address *a, int type)
{
	int fd = new_socket(a, type);
	bool yes;

	if (fd < 0)
		return true;
	yes = connect(fd, &a->sock.any, a->bytes) == 0 || errno != ECONNREFUSED;
	(void)close(fd);
	return yes;
}

static int bind_address(int fd, const struct sr_address *a, int type, struct sr_reason *why)
{
	const char *path = unix_path(a);
	struct stat st;

	if (bind(fd, &a->sock.any, a->bytes) == 0)
		return 0;
	if (errno == ENOENT && path)
		return sr_reason_set(why, -ENOENT,
				     "cannot listen at %s: make its directory first, or set "
				     "RuntimeDirectory= in the unit",
				     path);
	if (errno != EADDRINUSE || !path)
		return sr_reason_set(why, -errno, "cannot listen at %s: %s", a->text,
				     strerror(errno));
	if (lstat(path, &st) < 0 || !S_ISSOCK(st.st_mode))
		return sr_reason_set(why, -EADDRINUSE,
				     "%s is in use by something that is no socket: remove it or "
				     "choose another path",
				     path);
	if (answers(a, type))
		return sr_reason_set(why, -EADDRINUSE,
				     "%s is in use by a running process: stop it or choose another "
				     "path",
				     path);
	if (unlink(path) < 0 || bind(fd, &a->sock.any, a->bytes) < 0)
		return sr_reason_set(why, -errno, "cannot replace the dead socket %s: %s", path,
				     strerror(errno));
	return 0;
}

int sr_address_listen(const struct sr_address *address, int type, unsigned int mode,
		      struct sr_reason *why)
{
	const char *path = unix_path(address);
	int fd;
	int ret;

	if (address->hybrid || address->found)
		return sr_reason_set(why, -EINVAL,
				     "%s is an address to connect to: inside the guest listen at "
				     "vsock:any:%u",
				     address->text, address->port);
	fd = new_socket(address, type);
	if (fd < 0)
		return sr_reason_set(why, fd, "cannot make a socket for %s: %s", address->text,
				     strerror(-fd));
	if (path)
		(void)fchmod(fd, mode); /* the file is born with these bits at most */
	ret = bind_address(fd, address, type, why);
	if (ret == 0 && path && chmod(path, mode) < 0)
		ret = sr_reason_set(why, -errno, "cannot set the mode of %s: %s", path,
				    strerror(errno));
	if (ret == 0 && listen(fd, 64) < 0)
		ret = sr_reason_set(why, -errno, "cannot listen at %s: %s", address->text,
				    strerror(errno));
	if (ret < 0) {
		(void)close(fd);
		return ret;
	}
	return fd;
}
