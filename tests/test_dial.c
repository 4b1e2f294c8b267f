/* SPDX-License-Identifier: MIT */
/* Connections through a proxy that speaks the CONNECT convention, and ones that do not. */
#include <criterion/criterion.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sr_clock.h"
#include "sr_dial.h"

static char dir[64];
static struct sr_address address; /* hybrid, port 5000 */
static int listener;
static struct sr_dial dial;
static int proxy; /* its end of the connection */
static size_t room = SIZE_MAX; /* that a socket has for what is sent */

/* What sr_dial.c calls, in place of libc's: a kernel that is short of memory takes a part
 * of a line, or nothing of it. */
ssize_t send(int fd, const void *data, size_t bytes, int flags)
{
	if (bytes > room)
		bytes = room;
	if (bytes == 0) {
		errno = EAGAIN;
		return -1;
	}
	return sendto(fd, data, bytes, flags, NULL, 0);
}

static void begin(void)
{
	char text[128];
	struct sr_address at;

	(void)snprintf(dir, sizeof dir, "%s/sigring-XXXXXX", P_tmpdir);
	cr_assert(mkdtemp(dir));
	(void)snprintf(text, sizeof text, "unix:%s/s", dir);
	cr_assert_eq(sr_address_parse(&at, text, NULL), 0);
	listener = sr_address_listen(&at, SOCK_STREAM, 0600, NULL);
	cr_assert(listener >= 0);
	(void)snprintf(text, sizeof text, "hybrid:%s/s:5000", dir);
	cr_assert_eq(sr_address_parse(&address, text, NULL), 0);
	cr_assert_eq(sr_dial_start(&dial, &address), 0);
	proxy = accept(listener, NULL, NULL);
	cr_assert(proxy >= 0);
}

static void end(void)
{
	char path[128];

	sr_dial_close(&dial);
	(void)close(proxy);
	(void)close(listener);
	(void)snprintf(path, sizeof path, "%s/s", dir);
	(void)unlink(path);
	(void)rmdir(dir);
}

TestSuite(dial, .init = begin, .fini = end);

static int step(void)
{
	return sr_dial_step(&dial, &address);
}

static void say(const char *text)
{
	cr_assert_eq(write(proxy, text, strlen(text)), (ssize_t)strlen(text));
}

static void is_asked(void)
{
	char line[64] = "";

	cr_assert_eq(step(), -EAGAIN);
	cr_assert_eq(sr_dial_events(&dial), POLLIN);
	cr_assert_eq(recv(proxy, line, sizeof line - 1, MSG_DONTWAIT), 13);
	cr_assert_str_eq(line, "CONNECT 5000\n");
	cr_assert_eq(step(), -EAGAIN);
	cr_assert_eq(recv(proxy, line, sizeof line, MSG_DONTWAIT), -1, "it is asked once");
}

Test(dial, either_answer_is_good_and_nothing_behind_it_is_taken)
{
	static const char *const answers[] = { "OK 5000\n", "OK 1073741824\n" };

	for (size_t i = 0; i < 2; i++) {
		char rest[16] = "";

		cr_assert_eq(sr_dial_events(&dial), POLLOUT);
		is_asked();
		say(answers[i]);
		say("\nhello");
		cr_assert_eq(step(), 0);
		cr_assert_eq(recv(dial.fd, rest, sizeof rest, MSG_DONTWAIT), 6);
		cr_assert_str_eq(rest, "\nhello");
		sr_dial_close(&dial);
		(void)close(proxy);
		cr_assert_eq(sr_dial_start(&dial, &address), 0);
		proxy = accept(listener, NULL, NULL);
	}
}

Test(dial, answer_may_come_a_byte_at_a_time)
{
	is_asked();
	for (const char *at = "OK 5000"; *at; at++) {
		cr_assert_eq(write(proxy, at, 1), 1);
		cr_assert_eq(step(), -EAGAIN);
	}
	say("\n");
	cr_assert_eq(step(), 0);
}

/* Whoever polls sleeps meanwhile. */
Test(dial, part_of_an_answer_wakes_nobody_twice)
{
	struct pollfd p = { .events = POLLIN };

	is_asked();
	p.fd = dial.fd;
	for (const char *at = "OK 5000"; *at; at++) {
		cr_assert_eq(write(proxy, at, 1), 1);
		cr_assert_eq(poll(&p, 1, 0), 1);
		cr_assert_eq(step(), -EAGAIN);
		cr_assert_eq(poll(&p, 1, 0), 0);
	}
	dial.until_ns = sr_now_ns() - 1;
	cr_assert_eq(step(), -ETIMEDOUT);
}

Test(dial, question_that_does_not_fit_is_asked_when_there_is_room)
{
	char line[64] = "";

	room = 0;
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(step(), -EAGAIN);
		cr_assert_eq(sr_dial_events(&dial), POLLOUT);
	}
	room = 5;
	cr_assert_eq(step(), -EAGAIN);
	cr_assert_eq(step(), -EAGAIN);
	cr_assert_eq(sr_dial_events(&dial), POLLOUT);
	cr_assert_eq(step(), -EAGAIN);
	cr_assert_eq(sr_dial_events(&dial), POLLIN);
	cr_assert_eq(recv(proxy, line, sizeof line - 1, MSG_DONTWAIT), 13);
	cr_assert_str_eq(line, "CONNECT 5000\n");
	say("OK 1\n");
	cr_assert_eq(step(), 0);
}

Test(dial, question_that_never_fits_is_given_up)
{
	room = 0;
	cr_assert_eq(step(), -EAGAIN);
	dial.until_ns = sr_now_ns() - 1;
	cr_assert_eq(step(), -ETIMEDOUT);
	cr_assert_eq(dial.fd, -1);
}

Test(dial, what_is_no_answer_is_eproto)
{
	static const char *const wrong[] = {
		"\n",      "OK\n",    "OK \n",     "OK x\n",      "ok 1\n",
		"OK 1 \n", "OK -1\n", "NO 5000\n", "OK 5000\r\n",
		"12345678901234567890123456789012",
		/* No end of a line is waited for, nor read. */
		"O ", "N", "OK 1x", "\xff", "OK 12345678901234567890123456789"
	};

	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		is_asked();
		say(wrong[i]);
		cr_assert_eq(step(), -EPROTO, "`%s`", wrong[i]);
		cr_assert_eq(dial.fd, -1);
		(void)close(proxy);
		cr_assert_eq(sr_dial_start(&dial, &address), 0);
		proxy = accept(listener, NULL, NULL);
	}
}

Test(dial, proxy_that_hangs_up_has_nobody_at_that_port)
{
	is_asked();
	(void)shutdown(proxy, SHUT_RDWR);
	cr_assert_eq(step(), -ECONNREFUSED);
	cr_assert_eq(dial.fd, -1);
}

Test(dial, proxy_that_says_nothing_is_given_up)
{
	is_asked();
	dial.until_ns = sr_now_ns() - 1;
	cr_assert_eq(step(), -ETIMEDOUT);
	cr_assert_eq(dial.fd, -1);
}

Test(dial, without_a_proxy_nothing_is_asked)
{
	char byte;

	sr_dial_close(&dial);
	(void)close(proxy);
	address.hybrid = false;
	cr_assert_eq(sr_dial_start(&dial, &address), 0);
	proxy = accept(listener, NULL, NULL);
	cr_assert_eq(step(), 0);
	cr_assert_eq(recv(proxy, &byte, 1, MSG_DONTWAIT), -1);
}

Test(dial, nobody_there_is_said_at_once)
{
	struct sr_dial other;
	char path[128];

	(void)snprintf(path, sizeof path, "%s/s", dir);
	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(sr_dial_start(&other, &address), -ENOENT);
	cr_assert_eq(other.fd, -1);
}
