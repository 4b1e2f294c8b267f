/* SPDX-License-Identifier: MIT */
/*
 * A stream to an enclave that is found by its heartbeat, and the conversations that go where
 * it goes. The sockets are none of AF_VSOCK: socket() and connect() are the ones below.
 */
#include <criterion/criterion.h>

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/vm_sockets.h>

#include "sr_stream.h"

static uint32_t connected_cid; /* by the last connect() */
static int far_end = -1;

int socket(int family, int type, int protocol)
{
	int ends[2];

	if (family != AF_VSOCK)
		return (int)syscall(SYS_socket, family, type, protocol);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
	far_end = ends[1];
	return ends[0];
}

int connect(int fd, __CONST_SOCKADDR_ARG address, socklen_t bytes)
{
	struct sockaddr_vm vm;

	if (address.__sockaddr__->sa_family != AF_VSOCK)
		return (int)syscall(SYS_connect, fd, address.__sockaddr__, bytes);
	memcpy(&vm, address.__sockaddr__, sizeof vm);
	connected_cid = vm.svm_cid;
	return 0;
}

static void converse(const struct sr_address *control, uint32_t cid)
{
	int fd = sr_address_connect(control);

	cr_assert(fd >= 0);
	cr_assert_eq(connected_cid, cid);
	(void)close(fd);
}

Test(stream, conversations_go_to_the_enclave_that_has_the_stream)
{
	struct sr_address hot, control;
	struct sr_transport *t;
	uint32_t heard = 0;

	cr_assert_eq(sr_address_parse(&hot, "vsock:auto:5000", NULL), 0);
	cr_assert_eq(sr_address_control(&hot, &control, NULL), 0);
	hot.cid = &heard;
	cr_assert_eq(sr_stream_new(&t, &hot), 0);
	control.cid = sr_stream_cid(t);
	cr_assert_eq(t->ops->connect(t), -EHOSTUNREACH);
	cr_assert_eq(sr_address_connect(&control), -EHOSTUNREACH);

	heard = 5;
	cr_assert_eq(t->ops->connect(t), 0);
	cr_assert_eq(connected_cid, 5);
	cr_assert_not(t->ops->moved(t));
	converse(&control, 5);

	/* Another has started: nobody goes there while this one lives. */
	heard = 6;
	cr_assert(t->ops->moved(t));
	cr_assert_eq(t->ops->connect(t), 0);
	converse(&control, 5);

	t->ops->hangup(t);
	converse(&control, 5);
	cr_assert_eq(t->ops->connect(t), 0);
	cr_assert_eq(connected_cid, 6);
	cr_assert_not(t->ops->moved(t));
	converse(&control, 6);
	t->ops->destroy(t);
}
