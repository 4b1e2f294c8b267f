/* SPDX-License-Identifier: MIT */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/vm_sockets.h>

#include "sr_heartbeat.h"

#define SPEAK_MS 1000 /* for who connects and says nothing */

struct sr_heartbeat {
	int listen_fd;
	int stop_fd;
	uint32_t cid;
	pthread_t thread;
	bool running;
	void (*log)(void *arg, const char *text);
	void *log_arg;
};

/* 0: it has none. */
static uint32_t peer_cid(int fd)
{
	struct sockaddr_storage peer = { 0 };
	struct sockaddr_vm vm;
	socklen_t bytes = sizeof peer;

	if (getpeername(fd, (struct sockaddr *)&peer, &bytes) < 0 || peer.ss_family != AF_VSOCK)
		return 0;
	memcpy(&vm, &peer, sizeof vm);
	return vm.svm_cid;
}

/* Behind a restart comes the next heartbeat: the last one who spoke is the one. */
static void hear(struct sr_heartbeat *h, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	unsigned char byte = 0;
	char text[80] = "an enclave has started";
	uint32_t cid;

	if (poll(&p, 1, SPEAK_MS) <= 0 || recv(fd, &byte, 1, MSG_DONTWAIT) != 1 ||
	    byte != SR_HEARTBEAT_BYTE || send(fd, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL) != 1)
		return;
	cid = peer_cid(fd);
	if (cid) {
		sr_store32_relaxed(&h->cid, cid);
		(void)snprintf(text, sizeof text, "an enclave has started, with CID %u", cid);
	}
	if (h->log)
		h->log(h->log_arg, text);
}

static void *listen_main(void *arg)
{
	struct sr_heartbeat *h = arg;
	struct pollfd p[2] = { { .fd = h->stop_fd, .events = POLLIN },
			       { .fd = h->listen_fd, .events = POLLIN } };

	while (poll(p, 2, -1) >= 0 || errno == EINTR) {
		int fd;

		if (p[0].revents)
			break;
		fd = accept4(h->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0) {
			/* No descriptor or memory is left: the connection stays and so does POLLIN. */
			if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
				(void)poll(p, 1, 10);
			continue;
		}
		hear(h, fd);
		(void)close(fd);
	}
	return NULL;
}

int sr_heartbeat_new(struct sr_heartbeat **heartbeat, const struct sr_address *listen,
		     void (*log)(void *arg, const char *text), void *log_arg,
		     struct sr_reason *why)
{
	struct sr_heartbeat *h = calloc(1, sizeof *h);
	int ret;

	if (!h)
		return sr_reason_set(why, -ENOMEM, "out of memory");
	h->log = log;
	h->log_arg = log_arg;
	h->stop_fd = eventfd(0, EFD_CLOEXEC);
	h->listen_fd = sr_address_listen(listen, SOCK_STREAM, 0600, why);
	ret = h->listen_fd;
	if (h->stop_fd < 0)
		ret = sr_reason_set(why, -EMFILE, "no descriptor is left: raise LimitNOFILE");
	if (ret >= 0) {
		ret = -pthread_create(&h->thread, NULL, listen_main, h);
		if (ret < 0)
			(void)sr_reason_set(why, ret, "cannot start a thread: %s", strerror(-ret));
		h->running = ret == 0;
	}
	if (ret < 0) {
		sr_heartbeat_delete(h);
		return ret;
	}
	*heartbeat = h;
	return 0;
}

const uint32_t *sr_heartbeat_cid(const struct sr_heartbeat *h)
{
	return &h->cid;
}

void sr_heartbeat_delete(struct sr_heartbeat *h)
{
	uint64_t one = 1;

	if (!h)
		return;
	if (h->running) {
		(void)!write(h->stop_fd, &one, sizeof one);
		(void)pthread_join(h->thread, NULL);
	}
	if (h->listen_fd >= 0)
		(void)close(h->listen_fd);
	if (h->stop_fd >= 0)
		(void)close(h->stop_fd);
	free(h);
}
