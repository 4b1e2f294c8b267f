/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sr_agent_note.h"
#include "sr_clock.h"
#include "sr_heartbeat.h"

static char dir[64];
static struct sr_address at;
static struct sr_heartbeat *heartbeat;
static struct sr_agent_config config;
static uint32_t told, left_out;

static void count(void *arg, const char *text)
{
	unsigned int lines;

	(void)arg;
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
	cr_assert_eq(write(p.fd, data, bytes), (ssize_t)bytes);
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
