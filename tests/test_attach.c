/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sr_attach.h"

static int pair[2];

static void make_pair(void)
{
	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
}

static void close_pair(void)
{
	(void)close(pair[0]);
	(void)close(pair[1]);
}

TestSuite(attach, .init = make_pair, .fini = close_pair);

static unsigned int open_fds(void)
{
	unsigned int n = 0;

	for (int fd = 0; fd < 200; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static int receive(union sr_attach_message *m, int fds[2], int *count)
{
	*count = 77;
	memset(m, 0xee, sizeof *m);
	return sr_attach_recv(pair[1], m, fds, count);
}

Test(attach, each_message_arrives_as_it_was_sent)
{
	static const enum sr_attach_type types[] = {
		SR_ATTACH_HELLO,  SR_ATTACH_OFFER,   SR_ATTACH_REGION, SR_ATTACH_WELCOME,
		SR_ATTACH_READY,  SR_ATTACH_OPEN,    SR_ATTACH_OPENED, SR_ATTACH_CLOSE,
		SR_ATTACH_CLOSED, SR_ATTACH_REFUSED, SR_ATTACH_STATUS
	};

	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
		union sr_attach_message out;
		union sr_attach_message in;
		int fds[2];
		int count;

		memset(&out, (int)i + 1, sizeof out);
		cr_assert_eq(sr_attach_send(pair[0], &out, types[i], NULL, 0), 0);
		cr_assert_eq(receive(&in, fds, &count), 0);
		cr_assert_eq(count, 0);
		cr_assert_eq(in.header.magic, SR_ATTACH_MAGIC);
		cr_assert_eq(in.header.type, types[i]);
		cr_assert_arr_eq(&in, &out, in.header.bytes);
	}
}

Test(attach, descriptors_come_along_and_close_on_exec)
{
	union sr_attach_message m;
	int two[2] = { STDIN_FILENO, STDOUT_FILENO };
	int fds[2];
	int count;

	for (int n = 1; n <= 2; n++) {
		memset(&m, 0, sizeof m);
		cr_assert_eq(sr_attach_send(pair[0], &m, SR_ATTACH_OPENED, two, n), 0);
		cr_assert_eq(receive(&m, fds, &count), 0);
		cr_assert_eq(count, n);
		for (int i = 0; i < n; i++) {
			cr_assert(fcntl(fds[i], F_GETFD) & FD_CLOEXEC);
			(void)close(fds[i]);
		}
	}
}

Test(attach, nothing_there_is_eagain_and_a_hangup_is_econnreset)
{
	union sr_attach_message m;
	int fds[2];
	int count;

	cr_assert_eq(receive(&m, fds, &count), -EAGAIN);
	cr_assert_eq(count, 77, "outputs are untouched on failure");
	(void)close(pair[0]);
	cr_assert_eq(receive(&m, fds, &count), -ECONNRESET);
	cr_assert_eq(sr_attach_send(pair[1], &m, SR_ATTACH_READY, NULL, 0), -EPIPE);
}

/* The kernel says ECONNRESET first when what we sent was never read. */
Test(attach, last_words_are_heard_behind_an_unread_message)
{
	union sr_attach_message m = { .refused = { .code = 5 } };
	int fds[2];
	int count;

	cr_assert_eq(sr_attach_send(pair[1], &m, SR_ATTACH_READY, NULL, 0), 0);
	cr_assert_eq(sr_attach_send(pair[0], &m, SR_ATTACH_REFUSED, NULL, 0), 0);
	(void)close(pair[0]);
	cr_assert_eq(receive(&m, fds, &count), 0);
	cr_assert_eq(m.refused.code, 5);
	cr_assert_eq(receive(&m, fds, &count), -ECONNRESET);
}

static void is_eproto(const void *data, size_t bytes)
{
	union sr_attach_message m;
	int fds[2];
	int count;

	cr_assert_eq(send(pair[0], data, bytes, 0), (ssize_t)bytes);
	cr_assert_eq(receive(&m, fds, &count), -EPROTO, "%zu bytes", bytes);
	cr_assert_eq(count, 77, "outputs are untouched on failure");
}

Test(attach, what_is_no_message_is_eproto)
{
	struct sr_attach_hello hello;
	unsigned char longer[sizeof(union sr_attach_message) + 64] = { 0 };

	memset(&hello, 0, sizeof hello);
	hello.header = (struct sr_attach_header){ SR_ATTACH_MAGIC, SR_ATTACH_HELLO, sizeof hello };
	for (size_t bytes = 1; bytes < sizeof hello; bytes++)
		is_eproto(&hello, bytes);
	hello.header.magic++;
	is_eproto(&hello, sizeof hello);
	hello.header.magic--;
	for (unsigned int type = 0; type < 65536; type = type < 20 ? type + 1 : type * 2 + 1) {
		if (type == SR_ATTACH_HELLO)
			continue;
		hello.header.type = (uint16_t)type;
		is_eproto(&hello, sizeof hello); /* of another length, or not assigned */
	}
	hello.header.type = SR_ATTACH_HELLO;
	hello.header.bytes++;
	is_eproto(&hello, sizeof hello);
	hello.header.bytes = sizeof longer;
	memcpy(longer, &hello, sizeof hello);
	is_eproto(longer, sizeof longer);
}

static void send_with_fds(const void *data, size_t bytes, int count)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(16 * sizeof(int))];
	} control;
	struct iovec iov = { (void *)(uintptr_t)data, bytes };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = CMSG_SPACE((size_t)count * sizeof(int)) };
	struct cmsghdr *c;

	memset(&control, 0, sizeof control);
	c = CMSG_FIRSTHDR(&msg);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
	for (int i = 0; i < count; i++) {
		int fd = STDIN_FILENO;

		memcpy(CMSG_DATA(c) + (size_t)i * sizeof fd, &fd, sizeof fd);
	}
	cr_assert_eq(sendmsg(pair[0], &msg, 0), (ssize_t)bytes);
}

Test(attach, descriptors_of_a_bad_message_are_closed)
{
	struct sr_attach_bare ready = { { SR_ATTACH_MAGIC, SR_ATTACH_READY, sizeof ready } };
	struct sr_attach_bare noise = { { 1, 2, 3 } };
	union sr_attach_message m;
	unsigned int before = open_fds();
	int fds[2];
	int count;

	for (int n = 1; n <= 16; n++) {
		send_with_fds(&noise, sizeof noise, n);
		cr_assert_eq(receive(&m, fds, &count), -EPROTO);
		cr_assert_eq(open_fds(), before, "with %d descriptors", n);
	}
	for (int n = 3; n <= 16; n++) {
		send_with_fds(&ready, sizeof ready, n);
		cr_assert_eq(receive(&m, fds, &count), -EPROTO, "more than two: %d", n);
		cr_assert_eq(open_fds(), before, "with %d descriptors", n);
	}
}

Test(attach, full_socket_is_eagain)
{
	union sr_attach_message m;
	int ret = 0;

	memset(&m, 0, sizeof m);
	for (int i = 0; i < 100000 && ret == 0; i++)
		ret = sr_attach_send(pair[0], &m, SR_ATTACH_HELLO, NULL, 0);
	cr_assert_eq(ret, -EAGAIN);
}

Test(attach, every_refusal_and_result_has_words_of_its_own)
{
	char seen[32][sizeof((struct sr_reason *)0)->text];
	size_t n = 0;

	for (uint32_t code = SR_REFUSED_VERSION; code <= SR_REFUSED_PROTOCOL; code++) {
		struct sr_reason why = { 0, "" };
		int error = sr_attach_refusal_reason(&why, code);

		cr_assert_lt(error, 0);
		cr_assert_eq(why.error, error);
		(void)snprintf(seen[n++], sizeof seen[0], "%s", why.text);
	}
	for (uint32_t result = SR_RESULT_NO_SIGNER; result <= SR_RESULT_BUSY; result++) {
		struct sr_reason why = { 0, "" };
		int error = sr_result_reason(&why, result);

		cr_assert_lt(error, 0);
		cr_assert_eq(why.error, error);
		(void)snprintf(seen[n++], sizeof seen[0], "%s", why.text);
	}
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			cr_assert_str_neq(seen[i], seen[k]);
	cr_assert_lt(sr_attach_refusal_reason(NULL, 12345), 0);
	cr_assert_lt(sr_result_reason(NULL, 12345), 0);
}

Test(attach, connect_to_a_path_that_is_too_long)
{
	char path[200];

	memset(path, 'x', sizeof path);
	path[sizeof path - 1] = '\0';
	cr_assert_eq(sr_attach_connect(path), -ENAMETOOLONG);
	cr_assert_eq(sr_attach_connect("/nonexistent/agent.sock"), -ENOENT);
}
