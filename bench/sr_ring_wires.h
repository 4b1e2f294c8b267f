/* SPDX-License-Identifier: MIT */
/*
 * sr_ring_wires.h - what bench_ring holds the ring against: sockets, pipes, io_uring, and
 * a doorbell in shared memory's place. Both ends of each; made before the peer is forked.
 *
 * A message is so many bytes each way. "Busy" looks again and again without sleeping,
 * "blocking" sleeps in the kernel. One-way, messages are sent one behind the other and
 * the receiver says once that it has them all. A benchmark includes it once.
 */
#ifndef SR_RING_WIRES_H
#define SR_RING_WIRES_H

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <linux/vm_sockets.h>

#include "sr_bench.h"
#include "sr_transport.h"

/* One side's descriptors. */
struct wire {
	int in;
	int out;
};

/* The last three have one message each way and no other row. */
enum { WIRE_STREAM, WIRE_SEQPACKET, WIRE_TCP, WIRE_PIPE, WIRE_VSOCK, WIRE_URING, WIRE_BELL, WIRES };

static struct wire wires[WIRES];
static struct sr_transport *uring; /* the asking side's; NULL: there is none here */
static const char *uring_missing = "io_uring is absent or forbidden";
static const char *tcp_missing; /* NULL: it is there */

static _Noreturn void die(const char *what)
{
	(void)fprintf(stderr, "bench_ring: %s: %s\n", what, strerror(errno));
	_exit(1);
}

static void wire_put(const struct wire *w, int kind, bool busy, const void *data, uint32_t bytes)
{
	size_t done = 0;

	while (done < bytes) {
		const char *at = (const char *)data + done;
		ssize_t n = kind == WIRE_PIPE ? write(w->out, at, bytes - done) :
						send(w->out, at, bytes - done,
						     (busy ? MSG_DONTWAIT : 0) | MSG_NOSIGNAL);

		if (n >= 0)
			done += (size_t)n;
		else if (errno != EAGAIN && errno != EINTR)
			die("send");
	}
}

static void wire_get(const struct wire *w, int kind, bool busy, void *data, uint32_t bytes)
{
	size_t done = 0;

	while (done < bytes) {
		char *at = (char *)data + done;
		ssize_t n = kind == WIRE_PIPE ? read(w->in, at, bytes - done) :
						recv(w->in, at, bytes - done,
						     busy ? MSG_DONTWAIT : 0);

		if (n > 0)
			done += (size_t)n;
		else if (n == 0 || (errno != EAGAIN && errno != EINTR))
			die("recv");
	}
}

/* Sockets are told by a flag a call, as the agent does; pipes by their mode. */
static void wire_mode(const struct wire *w, int kind, bool busy)
{
	if (kind == WIRE_PIPE && (fcntl(w->in, F_SETFL, busy ? O_NONBLOCK : 0) < 0 ||
				  fcntl(w->out, F_SETFL, busy ? O_NONBLOCK : 0) < 0))
		die("fcntl");
}

/* Through io_uring as the agent drives it (host_agent/sr_stream_uring.c). */
static void uring_put(const void *data, uint32_t bytes)
{
	uint32_t done = 0;

	while (done < bytes) {
		ssize_t n = uring->ops->send(uring, (const char *)data + done, bytes - done);

		if (n < 0 && n != -EAGAIN) {
			errno = (int)-n;
			die("io_uring send");
		}
		done += n > 0 ? (uint32_t)n : 0;
	}
}

static void uring_get(void *data, uint32_t bytes)
{
	uint32_t done = 0;

	while (done < bytes) {
		ssize_t n = uring->ops->recv(uring, (char *)data + done, bytes - done);

		if (n < 0 && n != -EAGAIN) {
			errno = (int)-n;
			die("io_uring recv");
		}
		done += n > 0 ? (uint32_t)n : 0;
	}
}

/* ---- making them ---- */

static int tcp_pair(int fds[2])
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t bytes = sizeof a;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int one = 1;
	int ret = -1;

	fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener >= 0 && fds[0] >= 0 &&
	    bind(listener, (struct sockaddr *)(void *)&a, sizeof a) == 0 &&
	    listen(listener, 1) == 0 &&
	    getsockname(listener, (struct sockaddr *)(void *)&a, &bytes) == 0 &&
	    connect(fds[0], (struct sockaddr *)(void *)&a, sizeof a) == 0)
		ret = fds[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (listener >= 0)
		(void)close(listener);
	if (ret < 0)
		return -1;
	for (int i = 0; i < 2; i++)
		(void)setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	return 0;
}

/* Both ends of a vsock in this guest: never tried unless asked for. */
static bool vsock_pair(int fds[2])
{
	struct sockaddr_vm a = { .svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_LOCAL,
				 .svm_port = VMADDR_PORT_ANY };
	socklen_t bytes = sizeof a;
	int listener = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool good = false;

	fds[0] = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener >= 0 && fds[0] >= 0 &&
	    bind(listener, (struct sockaddr *)(void *)&a, sizeof a) == 0 &&
	    listen(listener, 1) == 0 &&
	    getsockname(listener, (struct sockaddr *)(void *)&a, &bytes) == 0 &&
	    connect(fds[0], (struct sockaddr *)(void *)&a, sizeof a) == 0) {
		fds[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		good = fds[1] >= 0;
	}
	if (listener >= 0)
		(void)close(listener);
	return good;
}

/* A stream to a listener of our own, in a private directory. */
static bool uring_pair(struct wire *far)
{
	struct sr_address address;
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	char dir[64], text[160];
	int listener = -1, ret = -EAGAIN;
	bool good = false;

	if (sr_bench_folder(dir, sizeof dir, NULL) < 0)
		return false;
	(void)snprintf(a.sun_path, sizeof a.sun_path, "%s/uring", dir);
	(void)snprintf(text, sizeof text, "unix:%s", a.sun_path);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener >= 0 && bind(listener, (struct sockaddr *)(void *)&a, sizeof a) == 0 &&
	    listen(listener, 1) == 0 && sr_address_parse(&address, text, NULL) == 0 &&
	    sr_stream_uring_new(&uring, &address) == 0) {
		while ((ret = uring->ops->connect(uring)) == -EAGAIN)
			(void)sched_yield();
		far->in = far->out = ret ? -1 : accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		good = far->in >= 0;
	}
	if (listener >= 0)
		(void)close(listener);
	(void)unlink(a.sun_path);
	(void)rmdir(dir);
	return good;
}

static void wires_make(struct wire far[WIRES], bool vsock)
{
	const int types[] = { [WIRE_STREAM] = SOCK_STREAM, [WIRE_SEQPACKET] = SOCK_SEQPACKET,
			      [WIRE_TCP] = 0 };
	int fds[2], back[2];

	for (int kind = WIRE_STREAM; kind <= WIRE_TCP; kind++) {
		int type = types[kind] | SOCK_CLOEXEC;
		int ret = kind == WIRE_TCP ? tcp_pair(fds) : socketpair(AF_UNIX, type, 0, fds);

		if (ret < 0 && kind == WIRE_TCP) {
			tcp_missing = "no TCP loopback (is lo up?)";
			continue;
		}
		if (ret < 0)
			die("cannot make a pair of sockets");
		wires[kind] = (struct wire){ fds[0], fds[0] };
		far[kind] = (struct wire){ fds[1], fds[1] };
	}
	if (pipe2(fds, O_CLOEXEC) < 0 || pipe2(back, O_CLOEXEC) < 0)
		die("cannot make a pipe");
	wires[WIRE_PIPE] = (struct wire){ back[0], fds[1] };
	far[WIRE_PIPE] = (struct wire){ fds[0], back[1] };
	fds[0] = eventfd(0, EFD_CLOEXEC);
	fds[1] = eventfd(0, EFD_CLOEXEC);
	if (fds[0] < 0 || fds[1] < 0)
		die("cannot make an eventfd");
	wires[WIRE_BELL] = (struct wire){ fds[0], fds[1] };
	far[WIRE_BELL] = (struct wire){ fds[1], fds[0] };
	if (vsock) {
		if (!vsock_pair(fds))
			die("cannot make a pair of vsocks (is vsock_loopback loaded?)");
		wires[WIRE_VSOCK] = (struct wire){ fds[0], fds[0] };
		far[WIRE_VSOCK] = (struct wire){ fds[1], fds[1] };
	}
	if (uring_pair(&far[WIRE_URING]))
		uring_missing = NULL;
}

#endif /* SR_RING_WIRES_H */
