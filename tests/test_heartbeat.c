/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/vm_sockets.h>

#include "sr_agent_note.h"
#include "sr_clock.h"
#include "sr_heartbeat.h"

static char dir[64];
static struct sr_address at;
static struct sr_heartbeat *heartbeat;
static struct sr_agent_config config;
static uint32_t told, left_out;
static uint32_t peer; /* the CID that connections come from; 0: they have none */
static char last[256]; /* line of who had one */

/* In place of libc's, so that a machine with vsock is not needed: CID 77 is its own. */
int getpeername(int fd, __SOCKADDR_ARG address, socklen_t *bytes)
{
	const struct sockaddr_vm vm = { .svm_family = AF_VSOCK, .svm_cid = peer };

	if (!peer)
		return (int)syscall(SYS_getpeername, fd, address.__sockaddr__, bytes);
	memcpy(address.__sockaddr__, &vm, sizeof vm);
	return 0;
}

int open(const char *path, int flags, ...)
{
	unsigned int mode = 0;
	va_list args;

	va_start(args, flags);
	if (flags & (O_CREAT | __O_TMPFILE))
		mode = va_arg(args, unsigned int);
	va_end(args);
	if (!strcmp(path, "/dev/vsock"))
		path = "/dev/null";
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int ioctl(int fd, unsigned long request, ...)
{
	void *data;
	va_list args;

	va_start(args, request);
	data = va_arg(args, void *);
	va_end(args);
	if (request != IOCTL_VM_SOCKETS_GET_LOCAL_CID)
		return (int)syscall(SYS_ioctl, fd, request, data);
	*(unsigned int *)data = 77;
	return 0;
}

static void count(void *arg, const char *text)
{
	unsigned int lines;

	(void)arg;
	if (peer) {
		(void)snprintf(last, sizeof last, "%s", text);
		return;
	}
	if (sscanf(text, "%u lines like the next one were left out", &lines) == 1) {
		left_out += lines;
		return;
	}
	cr_assert_str_eq(text, "an enclave has started");
	(void)__atomic_fetch_add(&told, 1, __ATOMIC_SEQ_CST);
}

static void begin(void)
{
	char text[128];
	struct sr_reason why = { 0, "" };

	(void)snprintf(dir, sizeof dir, "%s/sigring-XXXXXX", P_tmpdir);
	cr_assert(mkdtemp(dir));
	(void)snprintf(text, sizeof text, "unix:%s/s_9000", dir);
	cr_assert_eq(sr_address_parse(&at, text, &why), 0);
	config.log = count;
	cr_assert_eq(sr_heartbeat_new(&heartbeat, &at, &config, &why), 0, "%s", why.text);
}

static void end(void)
{
	sr_heartbeat_delete(heartbeat);
	(void)unlink(at.text + 5);
	(void)rmdir(dir);
}

TestSuite(heartbeat, .init = begin, .fini = end, .timeout = 60);

/* What comes back: the byte, or -1 for a hang-up. */
static int beat(const void *data, size_t bytes)
{
	struct pollfd p = { .fd = sr_address_connect(&at), .events = POLLIN };
	unsigned char answer = 0;
	ssize_t n;

	cr_assert(p.fd >= 0);
	if (send(p.fd, data, bytes, MSG_NOSIGNAL) < 0) { /* hung up on before */
		(void)close(p.fd);
		return -1;
	}
	cr_assert_eq(poll(&p, 1, 30000), 1);
	n = read(p.fd, &answer, 1);
	(void)close(p.fd);
	return n == 1 ? answer : -1;
}

Test(heartbeat, byte_comes_back_each_time)
{
	for (int i = 0; i < 3; i++)
		cr_assert_eq(beat("\xb7", 1), SR_HEARTBEAT_BYTE);
	sr_heartbeat_delete(heartbeat); /* waits for what is still said */
	heartbeat = NULL;
	cr_assert_eq(told, 3);
}

/* Each is answered; the log is not what a guest that hammers fills. */
Test(heartbeat, lines_are_limited)
{
	uint64_t begin_ns = sr_now_ns();
	uint32_t beats = 0, most;

	for (; beats < 200; beats++)
		cr_assert_eq(beat("\xb7", 1), SR_HEARTBEAT_BYTE);
	sr_heartbeat_delete(heartbeat);
	heartbeat = NULL;
	most = SR_AGENT_NOTES_AT_ONCE + 1 + (uint32_t)((sr_now_ns() - begin_ns) / SR_NS_PER_S);
	cr_assert(told >= SR_AGENT_NOTES_AT_ONCE && told + left_out <= beats, "%u, %u", told,
		  left_out);
	cr_assert(told <= most, "%u lines, at most %u", told, most);
}

Test(heartbeat, other_bytes_are_none)
{
	cr_assert_eq(beat("\xb6", 1), -1);
	cr_assert_eq(beat("\xb7", 1), SR_HEARTBEAT_BYTE);
	sr_heartbeat_delete(heartbeat);
	heartbeat = NULL;
	cr_assert_eq(told, 1);
}

Test(heartbeat, who_says_nothing_keeps_nobody_out)
{
	int silent = sr_address_connect(&at);
	uint64_t begin_ns = sr_now_ns();

	cr_assert(silent >= 0);
	cr_assert_eq(beat("\xb7", 1), SR_HEARTBEAT_BYTE);
	cr_assert(sr_now_ns() - begin_ns < 20 * SR_NS_PER_S);
	(void)close(silent);
}

Test(heartbeat, no_cid_comes_over_a_unix_socket)
{
	cr_assert_eq(beat("\xb7", 1), SR_HEARTBEAT_BYTE);
	cr_assert_eq(*sr_heartbeat_cid(heartbeat), 0);
}

Test(heartbeat, second_listener_is_told_of_the_first)
{
	struct sr_heartbeat *second = NULL;
	struct sr_reason why = { 0, "" };

	cr_assert_eq(sr_heartbeat_new(&second, &at, &config, &why), -EADDRINUSE);
	cr_assert_null(second);
}

static void expect_line(uint32_t cid, int answer, const char *words)
{
	peer = cid;
	cr_assert_eq(beat("\xb7", 1), answer, "CID %u", cid);
	for (int i = 0; i < 1000 && !strstr(last, words); i++)
		(void)usleep(1000);
	cr_assert(strstr(last, words), "`%s` is not said: %s", words, last);
}

/* Any process of this machine would come with one of these. */
Test(heartbeat, who_can_be_no_enclave_is_hung_up_on)
{
	expect_line(1, -1, "refused a heartbeat from CID 1,");
	expect_line(2, -1, "refused a heartbeat from CID 2,");
	expect_line(77, -1, "refused a heartbeat from CID 77,");
	cr_assert_eq(*sr_heartbeat_cid(heartbeat), 0);
	expect_line(3, SR_HEARTBEAT_BYTE, "with CID 3");
	cr_assert_eq(*sr_heartbeat_cid(heartbeat), 3);
}

Test(heartbeat, second_enclave_is_known_and_the_first_one_is_said_to_stay)
{
	uint32_t in_use = 0;

	sr_heartbeat_in_use(heartbeat, &in_use);
	expect_line(16, SR_HEARTBEAT_BYTE, "with CID 16");
	cr_assert_null(strstr(last, "is kept"));
	in_use = 16;
	expect_line(17, SR_HEARTBEAT_BYTE, "with CID 17; the one with CID 16 is kept");
	cr_assert_eq(*sr_heartbeat_cid(heartbeat), 17);
	sr_heartbeat_stop(heartbeat);
	cr_assert_eq(*sr_heartbeat_cid(heartbeat), 17);
}
