/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/vm_sockets.h>

#include "sr_agent_note.h"
#include "sr_heartbeat.h"

#define SPEAK_MS 100 /* for who connects and says nothing: the next one waits */

struct sr_heartbeat {
	int listen_fd;
	int stop_fd;
	uint32_t cid;
	uint32_t own_cid; /* of this machine; VMADDR_CID_ANY: it has none */
	const uint32_t *in_use; /* where the stream is; NULL: not known; release, acquire */
	bool loopback; /* listens at CID 1 */
	pthread_t thread;
	bool running;
	const struct sr_agent_config *config; /* its log */
	struct sr_note_limit note_started;
	struct sr_note_limit note_refused;
};

/* False: it has none, for it came over a Unix socket. */
static bool peer_cid(int fd, uint32_t *cid)
{
	struct sockaddr_storage peer = { 0 };
	struct sockaddr_vm vm;
	socklen_t bytes = sizeof peer;

	if (getpeername(fd, (struct sockaddr *)&peer, &bytes) < 0 || peer.ss_family != AF_VSOCK)
		return false;
	memcpy(&vm, &peer, sizeof vm);
	*cid = vm.svm_cid;
	return true;
}

/* The CIDs of the hypervisor, of the loopback and of a host, and the one that this machine
 * has itself (3 is that of a Nitro parent; the loopback's, where it has no other): no enclave
 * has one of them, but any process of this machine would come with one. Who listens at the
 * loopback waits for just that. */
static bool is_no_enclave(const struct sr_heartbeat *h, uint32_t cid)
{
	if (h->loopback && cid == VMADDR_CID_LOCAL)
		return false;
	return cid == h->own_cid || cid <= VMADDR_CID_HOST;
}

/* By a device that connects to nobody. */
static uint32_t find_own_cid(void)
{
	int fd = open("/dev/vsock", O_RDONLY | O_CLOEXEC);
	unsigned int cid = VMADDR_CID_ANY;

	if (fd < 0)
		return VMADDR_CID_ANY;
	if (ioctl(fd, IOCTL_VM_SOCKETS_GET_LOCAL_CID, &cid) < 0)
		cid = VMADDR_CID_ANY;
	(void)close(fd);
	return cid;
}

static void note_started(struct sr_heartbeat *h, uint32_t cid)
{
	const uint32_t *in_use = __atomic_load_n(&h->in_use, __ATOMIC_ACQUIRE);
	uint32_t now = in_use ? sr_load32_relaxed(in_use) : 0;

	if (!now || now == cid)
		sr_agent_note_limited(h->config, &h->note_started,
				      "an enclave has started, with CID %u", cid);
	else
		sr_agent_note_limited(h->config, &h->note_started,
				      "an enclave has started, with CID %u; the one with CID %u is "
				      "kept for as long as its stream lives",
				      cid, now);
}

/* Behind a restart comes the next heartbeat: who looks for a signer goes to the last one who
 * spoke. Who has one stays (sr_stream.h). */
static void hear(struct sr_heartbeat *h, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	unsigned char byte = 0;
	uint32_t cid = 0;
	bool has_cid = peer_cid(fd, &cid);

	if (has_cid && is_no_enclave(h, cid)) {
		sr_agent_note_limited(h->config, &h->note_refused,
				      "refused a heartbeat from CID %u, which no enclave has", cid);
		return;
	}
	if (poll(&p, 1, SPEAK_MS) <= 0 || recv(fd, &byte, 1, MSG_DONTWAIT) != 1 ||
	    byte != SR_HEARTBEAT_BYTE || send(fd, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL) != 1)
		return;
	if (!has_cid) {
		sr_agent_note_limited(h->config, &h->note_started, "an enclave has started");
		return;
	}
	sr_store32_relaxed(&h->cid, cid);
	note_started(h, cid);
}

/* By an address of its own, so that nobody has it by default. */
static bool is_loopback(const struct sr_address *listen)
{
	struct sockaddr_vm vm;

	if (listen->sock.any.sa_family != AF_VSOCK)
		return false;
	memcpy(&vm, &listen->sock, sizeof vm);
	return vm.svm_cid == VMADDR_CID_LOCAL;
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
		     const struct sr_agent_config *config, struct sr_reason *why)
{
	struct sr_heartbeat *h = calloc(1, sizeof *h);
	int ret;

	if (!h)
		return sr_reason_set(why, -ENOMEM, "out of memory");
	h->config = config;
	h->loopback = is_loopback(listen);
	h->own_cid = find_own_cid();
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

void sr_heartbeat_in_use(struct sr_heartbeat *h, const uint32_t *cid)
{
	__atomic_store_n(&h->in_use, cid, __ATOMIC_RELEASE);
}

void sr_heartbeat_stop(struct sr_heartbeat *h)
{
	uint64_t one = 1;

	if (!h || !h->running)
		return;
	(void)!write(h->stop_fd, &one, sizeof one);
	(void)pthread_join(h->thread, NULL);
	h->running = false;
}

void sr_heartbeat_delete(struct sr_heartbeat *h)
{
	if (!h)
		return;
	sr_heartbeat_stop(h);
	if (h->listen_fd >= 0)
		(void)close(h->listen_fd);
	if (h->stop_fd >= 0)
		(void)close(h->stop_fd);
	free(h);
}
