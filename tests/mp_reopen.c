/* SPDX-License-Identifier: MIT */
/*
 * What must come back: sessions that are closed while they are opened again, and
 * sessions of dead clients while the signer takes nothing. And what must not, too
 * soon: whoever connects to a peer that dies at once.
 */
#include "mp_common.h"
#include "sr_address.h"
#include "sr_attach.h"
#include "sr_frame.h"

static struct mp_rig rig;

/* Closing in mid-reopen is an ordinary thing to do: the agent, the other session
 * of the process and the place in the region must not mind. */
static void closed_at_each_step_of_reopening(void)
{
	for (int steps = 0; steps < 6; steps++) {
		struct sr_client *client;
		struct sr_session *lost;
		struct sr_session *other;
		struct sr_completion c;

		mp_rig_new(&rig, false);
		mp_rig_start(&rig);
		client = mp_open(&rig, 2, 8);
		other = mp_session(client, 0, 0);
		lost = mp_session(client, SR_SESSION_REOPEN, 0);
		sr_session_abandon(lost);
		MP_EQ(sr_poll(lost, &c, 1), -ESTALE, "poll of an abandoned session");
		for (int i = 0; i < steps; i++) {
			(void)sr_service(client, NULL);
			mp_sleep_us(i % 2 ? 2000 : 0);
		}
		sr_session_close(client, lost);
		mp_order(&rig, client, other, 0);
		lost = mp_session(client, 0, 0);
		mp_order(&rig, client, lost, 0);
		mp_order(&rig, client, other, 1);
		MP_EQ(mp_count_lines(rig.agent_log, "refused"), 0, "refusals in the log");
		MP_EQ(mp_count_lines(rig.agent_log, "hung up"), 0, "hang-ups in the log");
		sr_close(client);
		mp_rig_stop(&rig);
	}
}

static void fill_the_stream(void *arg)
{
	struct sr_client *client = mp_open(&rig, 1, 4096);
	struct sr_session *session = mp_session(client, 0, 0);

	(void)arg;
	for (uint64_t n = 0; n < 4096; n++)
		MP_EQ(mp_submit(session, 2, n, 0), 0, "sr_submit");
	for (;;)
		mp_sleep_us(100000);
}

/* A signer that is stopped takes no END either, but that is no reason for a dead
 * client's place to stay taken. */
static void dead_client_leaves_while_the_signer_is_stopped(void)
{
	struct sr_options opt;
	struct sr_client *client;
	pid_t victim;
	long long before;
	uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;

	mp_rig_new(&rig, true);
	rig.agent_args[0] = "--sessions-max";
	rig.agent_args[1] = "1";
	rig.signer_args[0] = "--signer-depth-max";
	rig.signer_args[1] = "4096";
	rig.signer_args[2] = "--credits";
	rig.signer_args[3] = "4096";
	mp_rig_start(&rig);
	victim = mp_fork(fill_the_stream, NULL);
	while (mp_counter(&rig, "agent", "forwarded") < 10)
		MP_CHECK(sr_now_ns() < end_ns, "nothing is forwarded");
	mp_signal(&rig.signer, SIGSTOP);
	do { /* until the socket takes no more */
		before = mp_counter(&rig, "agent", "written_bytes");
		mp_sleep_us(50000);
	} while (mp_counter(&rig, "agent", "written_bytes") != before);
	mp_signal(&victim, SIGKILL);
	mp_options(&opt, &rig);
	for (;;) {
		struct sr_reason why = { 0, "" };

		if (sr_open(&client, &opt, &why) == 0)
			break;
		MP_CHECK(sr_now_ns() < end_ns, "the place is not free: %s", why.text);
		mp_sleep_us(10000);
	}
	sr_close(client);
	mp_signal(&rig.signer, SIGCONT);
	mp_good_client(&rig);
	mp_rig_stop(&rig);
}

/* Nothing listens to a client that only asks for the status, however full it is. */
static void full_agent_still_tells_its_status(void)
{
	uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;
	struct sr_client *client;

	mp_rig_new(&rig, false);
	rig.agent_args[0] = "--clients-max";
	rig.agent_args[1] = "1";
	mp_rig_start(&rig);
	client = mp_open(&rig, 1, 8);
	while (mp_counter(&rig, "stream", "up") != 1) /* a client may attach before it is */
		MP_CHECK(sr_now_ns() < end_ns, "the stream does not come up");
	sr_close(client);
	mp_rig_stop(&rig);
}

/* ---- a peer that dies as soon as it is connected to ---- */

static int listen_at(const char *path, int type)
{
	struct sr_address address;
	struct sr_reason why = { 0, "" };
	char text[320];
	int fd;

	(void)snprintf(text, sizeof text, *path == '/' ? "unix:%s" : "%s", path);
	MP_EQ(sr_address_parse(&address, text, &why), 0, why.text);
	fd = sr_address_listen(&address, type, 0600, &why);
	MP_CHECK(fd >= 0, "%s", why.text);
	return fd;
}

/* Dies at once for @ms, after a word if there is one. Returns how often. */
static uint32_t die_at_once(int listen_fd, uint64_t ms, const void *word, size_t bytes)
{
	uint64_t end_ns = sr_now_ns() + ms * SR_NS_PER_MS;
	uint32_t times = 0;

	while (sr_now_ns() < end_ns) {
		struct pollfd p = { .fd = listen_fd, .events = POLLIN };
		int fd;

		if (poll(&p, 1, 10) <= 0)
			continue;
		fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			continue;
		if (bytes)
			(void)!send(fd, word, bytes, MSG_NOSIGNAL);
		(void)close(fd);
		times++;
	}
	(void)close(listen_fd);
	return times;
}

/* From 1 ms doubled to 250: some fifteen tries in two seconds; without, thousands. */
static void signer_that_dies_at_once_is_not_hammered(void)
{
	const struct sr_hello hello = {
		.protocol = SR_PROTOCOL,
		.credit_records = 8,
		.slot_bytes_max = SR_SUB_BYTES_DEFAULT,
		.sessions_max = 4,
		.boot_id = { 1, 2 },
	};
	unsigned char word[SR_FRAME_HEADER_BYTES + SR_HELLO_BYTES];

	(void)sr_frame_put(word, SR_FRAME_HELLO, 0, 0, SR_HELLO_BYTES);
	sr_hello_put(word + SR_FRAME_HEADER_BYTES, &hello);
	for (int speaks = 0; speaks < 2; speaks++) {
		uint32_t times;

		mp_rig_new(&rig, true);
		mp_start_agent(&rig);
		times = die_at_once(listen_at(rig.stream, SOCK_STREAM), 2000, word,
				    speaks ? sizeof word : 0);
		MP_CHECK(times >= 3 && times <= 30, "%u tries in two seconds", times);
		(void)unlink(rig.stream + strlen("unix:"));
		mp_start_signer(&rig);
		mp_good_client(&rig);
		mp_rig_stop(&rig);
	}
}

static void open_in_vain(void *arg)
{
	struct sr_options opt;
	struct sr_client *client;

	(void)arg;
	mp_options(&opt, &rig);
	opt.timeout_ns = 2ull * SR_NS_PER_S;
	MP_CHECK(sr_open(&client, &opt, NULL) < 0, "attached to nobody");
}

static void agent_that_dies_at_once_is_not_hammered(void)
{
	int fd;
	pid_t pid;
	uint32_t times;

	mp_rig_new(&rig, true);
	fd = listen_at(rig.socket, SOCK_SEQPACKET);
	pid = mp_fork(open_in_vain, NULL);
	times = die_at_once(fd, 2000, NULL, 0);
	mp_join(pid, "the client");
	MP_CHECK(times >= 3 && times <= 30, "%u tries in two seconds", times);
}

#define BACKLOG 200 /* more than the agent's */

static void open_in_time(void *arg)
{
	struct sr_reason why = { 0, "" };
	struct sr_options opt;
	struct sr_client *client;
	int ret;

	(void)arg;
	mp_options(&opt, &rig);
	opt.timeout_ns = 20ull * SR_NS_PER_S;
	ret = sr_open(&client, &opt, &why);
	MP_CHECK(ret == 0, "%d: %s", ret, why.text);
	sr_close(client);
}

/* Many clients at once, or an agent that has no time: one more waits like the others. */
static void full_backlog_is_waited_for(void)
{
	int socks[BACKLOG];
	int count = 0;
	pid_t pid;

	mp_rig_new(&rig, false);
	mp_rig_start(&rig);
	mp_signal(&rig.agent, SIGSTOP);
	while (count < BACKLOG && (socks[count] = sr_attach_connect(rig.socket)) >= 0)
		count++;
	MP_CHECK(count < BACKLOG && socks[count] == -EAGAIN, "the backlog is not full");
	pid = mp_fork(open_in_time, NULL);
	mp_sleep_us(300000);
	MP_CHECK(mp_alive(pid), "a client did not wait");
	while (count)
		(void)close(socks[--count]);
	MP_EQ(kill(rig.agent, SIGCONT), 0, "SIGCONT");
	mp_join(pid, "a client");
	mp_good_client(&rig);
	mp_rig_stop(&rig);
}

/* Its clock was right when it spoke. */
static void answer_that_takes_more_than_a_second_is_no_wrong_clock(void)
{
	pid_t pid;

	mp_rig_new(&rig, false);
	mp_rig_start(&rig);
	mp_signal(&rig.agent, SIGSTOP);
	pid = mp_fork(open_in_time, NULL);
	mp_sleep_us(1500000);
	MP_EQ(kill(rig.agent, SIGCONT), 0, "SIGCONT");
	mp_join(pid, "a client");
	mp_rig_stop(&rig);
}

static const struct mp_test tests[] = {
	{ "reopen/closed_at_each_step_of_reopening", closed_at_each_step_of_reopening, 0 },
	{ "reopen/dead_client_leaves_while_the_signer_is_stopped",
	  dead_client_leaves_while_the_signer_is_stopped, 0 },
	{ "reopen/full_agent_still_tells_its_status", full_agent_still_tells_its_status, 0 },
	{ "reopen/signer_that_dies_at_once_is_not_hammered",
	  signer_that_dies_at_once_is_not_hammered, 0 },
	{ "reopen/full_backlog_is_waited_for", full_backlog_is_waited_for, 0 },
	{ "reopen/answer_that_takes_more_than_a_second_is_no_wrong_clock",
	  answer_that_takes_more_than_a_second_is_no_wrong_clock, 0 },
	{ "reopen/agent_that_dies_at_once_is_not_hammered",
	  agent_that_dies_at_once_is_not_hammered, 0 },
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
