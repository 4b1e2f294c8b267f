/* SPDX-License-Identifier: MIT */
/*
 * The agent's relay of control conversations: a real agent, clients that write every
 * packet themselves, and a signer's control address at which the test itself listens.
 * There is no other signer, and none is needed.
 */
#include "mp_raw.h"
#include "sr_address.h"
#include "sr_relay.h"

#define KIND_ANY 1u
#define DEADLINE_NS (10ull * SR_NS_PER_S)

static struct mp_rig rig;
static int listener = -1; /* the signer's control address */

static void listen_control(void)
{
	struct sr_reason why = { 0, "" };
	struct sr_address hot;
	struct sr_address control;

	MP_EQ(sr_address_parse(&hot, rig.stream, &why), 0, why.text);
	MP_EQ(sr_address_control(&hot, &control, &why), 0, why.text);
	listener = sr_address_listen(&control, SOCK_STREAM, 0600, &why);
	MP_CHECK(listener >= 0, "%s", why.text);
}

static void start_agent(const char *const *args)
{
	mp_rig_new(&rig, true);
	for (size_t i = 0; args && args[i]; i++)
		rig.agent_args[i] = args[i];
	mp_start_agent(&rig);
}

static void start(const char *const *args)
{
	start_agent(args);
	listen_control();
}

static void stop(void)
{
	MP_CHECK(mp_alive(rig.agent), "the agent ended");
	mp_rig_stop(&rig);
	if (listener >= 0)
		(void)close(listener);
	listener = -1;
}

/* ---- both ends of a conversation ---- */

static void await(int fd, short events, const char *what)
{
	struct pollfd p = { .fd = fd, .events = events };

	MP_CHECK(poll(&p, 1, (int)(MP_BOUND_NS / SR_NS_PER_MS)) > 0, "%s does not come", what);
}

static int client_new(void)
{
	union sr_attach_message m;
	int sock = raw_connect(&rig);

	MP_EQ(sr_attach_send(sock, &m, SR_ATTACH_CONTROL, NULL, 0), 0, "CONTROL");
	return sock;
}

static int signer_accept(void)
{
	int fd;

	await(listener, POLLIN, "a connection to the signer");
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	MP_CHECK(fd >= 0, "accept: %s", strerror(errno));
	return fd;
}

static bool signer_asked(void)
{
	struct pollfd p = { .fd = listener, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

/* A message that only this seed has. */
static void make(unsigned char *m, uint32_t kind, uint32_t bytes, uint32_t seed)
{
	for (uint32_t i = 0; i < bytes; i++)
		m[i] = (unsigned char)((seed + 1) * 2654435761u >> 13 ^ i * 167);
	sr_put32(m, bytes);
	sr_put32(m + 4, kind);
}

static void client_send(int sock, const void *data, size_t bytes)
{
	MP_EQ(send(sock, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT), bytes, "send to the agent");
}

static void client_say(int sock, uint32_t kind, uint32_t bytes, uint32_t seed)
{
	unsigned char m[SR_RELAY_BYTES_MAX];

	make(m, kind, bytes, seed);
	client_send(sock, m, bytes);
}

static void signer_write(int fd, const void *data, size_t bytes)
{
	MP_EQ(send(fd, data, bytes, MSG_NOSIGNAL), bytes, "send to the agent, as the signer");
}

static void signer_say(int fd, uint32_t kind, uint32_t bytes, uint32_t seed)
{
	unsigned char m[SR_RELAY_BYTES_MAX];

	make(m, kind, bytes, seed);
	signer_write(fd, m, bytes);
}

static void signer_hear(int fd, uint32_t kind, uint32_t bytes, uint32_t seed)
{
	unsigned char want[SR_RELAY_BYTES_MAX];
	unsigned char got[SR_RELAY_BYTES_MAX];

	make(want, kind, bytes, seed);
	for (uint32_t have = 0; have < bytes;) {
		ssize_t n;

		await(fd, POLLIN, "a message to the signer");
		n = recv(fd, got + have, bytes - have, 0);
		MP_CHECK(n > 0, "the signer was hung up on in a message of %u bytes", bytes);
		have += (uint32_t)n;
	}
	MP_CHECK(!memcmp(got, want, bytes), "a message of %u bytes was changed on its way", bytes);
}

/* One packet, or 0 or -errno. */
static ssize_t client_recv(int sock, void *data, size_t room)
{
	ssize_t n;

	await(sock, POLLIN, "what the agent relays");
	n = recv(sock, data, room, MSG_DONTWAIT);
	return n < 0 ? -errno : n;
}

static void client_hear(int sock, uint32_t kind, uint32_t bytes, uint32_t seed)
{
	unsigned char want[SR_RELAY_BYTES_MAX];
	unsigned char got[SR_RELAY_BYTES_MAX + 1];

	make(want, kind, bytes, seed);
	MP_EQ(client_recv(sock, got, sizeof got), bytes, "length of a packet");
	MP_CHECK(!memcmp(got, want, bytes), "a message of %u bytes was changed on its way", bytes);
}

/* With packets of ours unread it is a reset. */
static void client_hung_up(int sock)
{
	unsigned char byte;
	ssize_t n = client_recv(sock, &byte, 1);

	MP_CHECK(n == 0 || n == -ECONNRESET, "the client gets %zd, not a hang-up", n);
	(void)close(sock);
}

static void signer_hung_up(int fd)
{
	unsigned char byte;
	ssize_t n;

	await(fd, POLLIN, "a hang-up on the signer");
	n = recv(fd, &byte, 1, 0);
	MP_CHECK(n == 0 || (n < 0 && errno == ECONNRESET), "the signer gets a byte, no hang-up");
	(void)close(fd);
}

/* A good conversation, whatever else goes on. */
static void good_conversation(uint32_t seed)
{
	uint64_t begin_ns = sr_now_ns();
	int sock = client_new();
	int fd;

	client_say(sock, KIND_ANY, 48, seed);
	fd = signer_accept();
	signer_hear(fd, KIND_ANY, 48, seed);
	signer_say(fd, 2, 5000, seed + 1);
	client_hear(sock, 2, 5000, seed + 1);
	client_say(sock, SR_RELAY_BEGIN, 352, seed + 2);
	signer_hear(fd, SR_RELAY_BEGIN, 352, seed + 2);
	signer_say(fd, SR_RELAY_BEGUN, 232, seed + 3);
	client_hear(sock, SR_RELAY_BEGUN, 232, seed + 3);
	(void)close(sock);
	signer_hung_up(fd);
	MP_CHECK(sr_now_ns() - begin_ns < DEADLINE_NS / 2, "a conversation was held up");
}

static void await_counter(const char *name, long long value)
{
	uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;
	long long v;

	while ((v = mp_counter(&rig, "relay", name)) != value) {
		MP_CHECK(sr_now_ns() < end_ns, "`%s` is %lld, not %lld", name, v, value);
		mp_sleep_us(5000);
	}
}

/* ---- what passes ---- */

static void whole_messages_pass_at_every_cut(void)
{
	static const uint32_t lengths[] = { 9, 10, 352, 4096, 16383, 16384 };
	unsigned char m[2 * SR_RELAY_BYTES_MAX];
	uint32_t said = 0;
	int sock;
	int fd;

	start(NULL);
	sock = client_new();
	client_say(sock, KIND_ANY, 9, 0);
	fd = signer_accept();
	signer_hear(fd, KIND_ANY, 9, 0);
	for (uint32_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
		client_say(sock, i, lengths[i], i);
		signer_hear(fd, i, lengths[i], i);
		make(m, i, lengths[i], i);
		for (uint32_t at = 0; at < lengths[i]; at++)
			signer_write(fd, m + at, 1);
		client_hear(sock, i, lengths[i], i);
		said += 2;
	}
	/* Two in a row, cut in two everywhere. */
	for (uint32_t cut = 1; cut < 40 + 77; cut++) {
		make(m, 10, 40, cut);
		make(m + 40, 11, 77, cut + 1);
		signer_write(fd, m, cut);
		mp_sleep_us(200);
		signer_write(fd, m + cut, 40 + 77 - cut);
		client_hear(sock, 10, 40, cut);
		client_hear(sock, 11, 77, cut + 1);
		said += 2;
	}
	/* The longest ones at once, and one behind the other from the client. */
	make(m, 12, SR_RELAY_BYTES_MAX, 1);
	make(m + SR_RELAY_BYTES_MAX, 13, SR_RELAY_BYTES_MAX, 2);
	signer_write(fd, m, sizeof m);
	client_hear(sock, 12, SR_RELAY_BYTES_MAX, 1);
	client_hear(sock, 13, SR_RELAY_BYTES_MAX, 2);
	for (uint32_t i = 0; i < 8; i++)
		client_say(sock, 14, 1000 + i, i);
	for (uint32_t i = 0; i < 8; i++)
		signer_hear(fd, 14, 1000 + i, i);
	await_counter("relayed", 1 + said + 2 + 8);
	MP_EQ(mp_counter(&rig, "relay", "conversations"), 1, "conversations");
	(void)close(sock);
	signer_hung_up(fd);
	await_counter("conversations", 0);
	stop();
}

/* ---- what does not ---- */

static void send_with_descriptor(int sock)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	unsigned char m[64];
	struct iovec iov = { m, sizeof m };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof control };
	struct cmsghdr *c;

	make(m, KIND_ANY, sizeof m, 0);
	memset(&control, 0, sizeof control);
	c = CMSG_FIRSTHDR(&msg);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &sock, sizeof sock);
	MP_EQ(sendmsg(sock, &msg, MSG_NOSIGNAL), sizeof m, "a message with a descriptor");
}

struct lie {
	uint32_t packet_bytes;
	uint32_t length;
};

static const struct lie lies[] = {
	{ 0, 0 },         { 1, 0 },         { 3, 0 },      { 4, 4 },          { 7, 7 },
	{ 8, 8 },         { 8, 9 },         { 9, 8 },      { 9, 10 },         { 100, 0 },
	{ 100, 99 },      { 100, 101 },     { 100, 16384 }, { 100, UINT32_MAX }, { 16384, 16385 },
	{ 16385, 16385 }, { 16385, 16384 }, { 20000, 20000 },
};

static void lie_of_a_client(const struct lie *lie, bool first)
{
	unsigned char m[20000] = { 0 };
	int sock = client_new();
	int fd = -1;

	if (!first) {
		client_say(sock, KIND_ANY, 48, 7);
		fd = signer_accept();
		signer_hear(fd, KIND_ANY, 48, 7);
	}
	sr_put32(m, lie->length);
	client_send(sock, m, lie->packet_bytes);
	client_hung_up(sock);
	if (first)
		MP_CHECK(!signer_asked(), "a lie reached the signer: %u as %u",
			 lie->packet_bytes, lie->length);
	else
		signer_hung_up(fd);
}

static void lies_of_a_client_never_reach_the_signer(void)
{
	int sock;

	start(NULL);
	for (int first = 0; first < 2; first++)
		for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++)
			lie_of_a_client(&lies[i], first);
	sock = client_new();
	send_with_descriptor(sock);
	client_hung_up(sock);
	sock = client_new();
	client_send(sock, &(struct sr_attach_bare){ { SR_ATTACH_MAGIC, SR_ATTACH_CONTROL, 8 } }, 8);
	client_hung_up(sock);
	MP_CHECK(!signer_asked(), "a lie reached the signer");
	good_conversation(1);
	stop();
}

static void lies_of_the_signer_never_reach_a_client(void)
{
	static const uint32_t lengths[] = { 0, 1, 7, 8, 16385, 0x10000, UINT32_MAX };
	unsigned char header[SR_RELAY_HEADER_BYTES] = { 0 };

	start(NULL);
	for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
		int sock = client_new();
		int fd;

		client_say(sock, KIND_ANY, 48, 7);
		fd = signer_accept();
		signer_hear(fd, KIND_ANY, 48, 7);
		sr_put32(header, lengths[i]);
		signer_write(fd, header, sizeof header);
		client_hung_up(sock);
		signer_hung_up(fd);
	}
	mp_await_lines(rig.agent_log, "the signer sent what is no control message",
		       sizeof lengths / sizeof lengths[0]);
	good_conversation(1);
	stop();
}

static void control_comes_instead_of_hello(void)
{
	union sr_attach_message m;
	int sock;

	start(NULL);
	sock = raw_offered(&rig, 1, 8);
	MP_EQ(sr_attach_send(sock, &m, SR_ATTACH_CONTROL, NULL, 0), 0, "CONTROL");
	MP_EQ(raw_refusal(sock), SR_REFUSED_PROTOCOL, "CONTROL after HELLO");
	sock = client_new();
	raw_hello(&m, 1, 8);
	MP_EQ(sr_attach_send(sock, &m, SR_ATTACH_HELLO, NULL, 0), 0, "HELLO");
	client_hung_up(sock);
	stop();
}

/* ---- who reads slowly ---- */

/* Says messages, numbered, until for a while there is no room for any. Returns how
 * many went in whole; a packet does or does not, of a stream a part may. */
static uint32_t fill(int fd)
{
	unsigned char m[SR_RELAY_BYTES_MAX];
	size_t sent = 0;
	uint32_t n = 0;

	for (int idle = 0; idle < 20;) {
		ssize_t took;

		make(m, KIND_ANY, sizeof m, n);
		took = send(fd, m + sent, sizeof m - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (took < 0) {
			idle++;
			mp_sleep_us(10000);
			continue;
		}
		idle = 0;
		sent += (size_t)took;
		if (sent == sizeof m) {
			sent = 0;
			n++;
		}
	}
	return n;
}

static void slow_reader_disturbs_nobody(void)
{
	int sock[2];
	int fd[2];
	uint32_t up;
	uint32_t down;

	start(NULL);
	for (int i = 0; i < 2; i++) {
		sock[i] = client_new();
		client_say(sock[i], KIND_ANY, 48, 7);
		fd[i] = signer_accept();
		signer_hear(fd[i], KIND_ANY, 48, 7);
	}
	/* The signer reads nothing of the first, the client nothing of the second. */
	up = fill(sock[0]);
	down = fill(fd[1]);
	MP_CHECK(up > 2 && down > 2 && up < 200 && down < 200,
		 "%u and %u messages found room, where one each way is kept", up, down);
	for (uint32_t i = 0; i < 10; i++) {
		good_conversation(i);
		(void)close(raw_offered(&rig, 1, 8));
	}
	/* And what was held up is all there, in order. */
	for (uint32_t i = 0; i < up; i++)
		signer_hear(fd[0], KIND_ANY, SR_RELAY_BYTES_MAX, i);
	for (uint32_t i = 0; i < down; i++)
		client_hear(sock[1], KIND_ANY, SR_RELAY_BYTES_MAX, i);
	for (int i = 0; i < 2; i++) {
		(void)close(sock[i]);
		(void)close(fd[i]);
	}
	await_counter("conversations", 0);
	stop();
}

/* An agent that waits must sleep: nothing may be ready all the time. */
static void held_up_conversation_costs_no_time(void)
{
	static const char *const args[] = { "--wait", "block", NULL };
	char path[64];
	unsigned long long ticks[2];
	int sock[3];
	int fd[3];

	start(args);
	for (int i = 0; i < 3; i++) {
		sock[i] = client_new();
		client_say(sock[i], KIND_ANY, 48, 7);
		fd[i] = signer_accept();
		signer_hear(fd[i], KIND_ANY, 48, 7);
	}
	(void)fill(sock[0]); /* for a signer that does not read */
	(void)fill(fd[1]);   /* for a client that does not, either way */
	(void)fill(sock[1]);
	(void)fill(fd[2]);   /* and one whose signer has left */
	(void)close(fd[2]);
	(void)snprintf(path, sizeof path, "/proc/%d/stat", (int)rig.agent);
	for (int i = 0; i < 2; i++) {
		char *text = mp_read_file(path);
		const char *at = strrchr(text, ')');
		unsigned long long user = 0;
		unsigned long long kernel = 0;

		MP_CHECK(at && sscanf(at + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu",
				      &user, &kernel) == 2,
			 "no times in %s", path);
		ticks[i] = user + kernel;
		free(text);
		if (i == 0)
			mp_sleep_us(2000000);
	}
	MP_CHECK(ticks[1] - ticks[0] < 100, "%llu ticks of 200 were spent on waiting",
		 ticks[1] - ticks[0]);
	stop();
}

/* ---- hang-ups ---- */

static void hang_up_of_either_side_ends_both(void)
{
	unsigned char m[64];
	int sock;
	int fd;

	start(NULL);
	for (int i = 0; i < 3; i++) {
		sock = client_new();
		client_say(sock, KIND_ANY, 48, 7);
		fd = signer_accept();
		if (i != 1)
			signer_hear(fd, KIND_ANY, 48, 7);
		if (i == 0) {
			(void)close(sock);
			signer_hung_up(fd);
			continue;
		}
		/* What it said in whole arrives, what it did not does not; with the
		 * client's own message unread, too. */
		make(m, SR_RELAY_REFUSED, 16, 3);
		make(m + 16, KIND_ANY, 48, 4);
		signer_write(fd, m, 16 + 20);
		(void)close(fd);
		client_hear(sock, SR_RELAY_REFUSED, 16, 3);
		client_hung_up(sock);
	}
	await_counter("conversations", 0);
	MP_EQ(mp_counter(&rig, "relay", "failed"), 3, "failed");
	stop();
}

/* Also when the agent has no room to read that he has. */
static void client_that_leaves_with_messages_under_way_is_noticed(void)
{
	uint64_t begin_ns;
	int sock;
	int fd;

	start(NULL);
	sock = client_new();
	client_say(sock, KIND_ANY, 48, 7);
	fd = signer_accept();
	signer_hear(fd, KIND_ANY, 48, 7);
	MP_CHECK(fill(sock) > 1, "there was no room for two messages");
	begin_ns = sr_now_ns();
	(void)close(sock);
	await_counter("conversations", 0);
	MP_CHECK(sr_now_ns() - begin_ns < DEADLINE_NS / 2, "only its time has ended it");
	(void)close(fd);
	good_conversation(1);
	stop();
}

/* The last word of a signer that takes no more, to a client that goes on talking. */
static void last_word_comes_through(void)
{
	start(NULL);
	for (uint32_t i = 0; i < 50; i++) {
		int sock = client_new();
		int fd;

		client_say(sock, KIND_ANY, 48, 7);
		fd = signer_accept();
		for (uint32_t k = 0; k < 6; k++)
			client_say(sock, KIND_ANY, SR_RELAY_BYTES_MAX, k);
		if (i % 2)
			mp_sleep_us(1000);
		signer_say(fd, SR_RELAY_REFUSED, 16, i);
		(void)close(fd);
		{
			unsigned char want[16];
			unsigned char got[64];
			ssize_t n = client_recv(sock, got, sizeof got);

			make(want, SR_RELAY_REFUSED, 16, i);
			if (n == -ECONNRESET) /* packets of ours were unread */
				n = client_recv(sock, got, sizeof got);
			MP_EQ(n, 16, "the signer's last word");
			MP_CHECK(!memcmp(got, want, 16), "the signer's last word was changed");
		}
		client_hung_up(sock);
	}
	stop();
}

static void signer_that_is_killed(void *arg)
{
	int fd = signer_accept();
	unsigned char m[1000];

	(void)arg;
	signer_hear(fd, KIND_ANY, 48, 7);
	make(m, KIND_ANY, sizeof m, 1);
	signer_write(fd, m, 500);
	for (;;)
		(void)pause();
}

static void killed_signer_hangs_up(void)
{
	pid_t pid;
	int sock;

	start(NULL);
	pid = mp_fork(signer_that_is_killed, NULL);
	sock = client_new();
	client_say(sock, KIND_ANY, 48, 7);
	await_counter("relayed", 1);
	(void)close(listener); /* the child's copy is the last */
	mp_sleep_us(20000);
	mp_signal(&pid, SIGKILL);
	client_hung_up(sock);
	sock = client_new();
	client_say(sock, KIND_ANY, 48, 7);
	client_hung_up(sock); /* nobody there */
	await_counter("unreachable", 1);
	listen_control();
	good_conversation(1);
	stop();
}

static void absent_signer_is_told_at_once_and_charged_to_nobody(void)
{
	static const char *const args[] = { "--setup-failures-max", "3", "--setup-failures-rate",
					    "1", NULL };
	uint64_t begin_ns;

	start_agent(args);
	begin_ns = sr_now_ns();
	for (int i = 0; i < 40; i++) {
		int sock = client_new();

		client_say(sock, SR_RELAY_BEGIN, 352, 1);
		client_hung_up(sock);
	}
	MP_CHECK(sr_now_ns() - begin_ns < DEADLINE_NS, "hang-ups take too long");
	await_counter("unreachable", 40);
	MP_EQ(mp_counter(&rig, "relay", "failed"), 0, "failed");
	MP_EQ(mp_counter(&rig, "relay", "refused"), 0, "refused");
	MP_CHECK(mp_count_lines(rig.agent_log, "cannot reach the signer") < 40, "40 lines");
	MP_CHECK(mp_count_lines(rig.agent_log, "cannot reach the signer") > 0, "no line");
	listen_control();
	good_conversation(1);
	stop();
}

/* ---- limits ---- */

/* A conversation that fails in one of three ways; or is it refused at once? */
static bool fails(int how)
{
	union sr_attach_message m;
	int sock = client_new();
	struct pollfd p[2] = { { .fd = sock, .events = POLLIN },
			       { .fd = listener, .events = POLLIN } };
	int fd;

	client_say(sock, how == 0 ? KIND_ANY : SR_RELAY_BEGIN, 48, 1);
	MP_CHECK(poll(p, 2, (int)(MP_BOUND_NS / SR_NS_PER_MS)) > 0, "nothing happens");
	if (!p[1].revents) {
		MP_EQ(client_recv(sock, &m, sizeof m), sizeof m.refused, "bytes of a refusal");
		MP_EQ(m.header.magic, SR_ATTACH_MAGIC, "magic of a refusal");
		MP_EQ(m.header.type, SR_ATTACH_REFUSED, "type of a refusal");
		MP_EQ(m.refused.code, SR_REFUSED_BUSY, "code of a refusal");
		client_hung_up(sock);
		MP_CHECK(!signer_asked(), "a conversation that was refused reached the signer");
		return false;
	}
	fd = signer_accept();
	signer_hear(fd, how == 0 ? KIND_ANY : SR_RELAY_BEGIN, 48, 1);
	if (how == 0) {
		(void)close(sock);
		signer_hung_up(fd);
	} else {
		if (how == 1) {
			signer_say(fd, SR_RELAY_REFUSED, 16, 1);
			client_hear(sock, SR_RELAY_REFUSED, 16, 1);
		}
		(void)close(fd);
		client_hung_up(sock);
	}
	return true;
}

static void other_user(void *arg)
{
	(void)arg;
	MP_CHECK(setresuid(65534, 65534, 65534) == 0, "setresuid: %s", strerror(errno));
	good_conversation(9);
}

static void only_failures_are_charged_to_their_user(void)
{
	static const char *const args[] = { "--setup-failures-max", "5", "--setup-failures-rate",
					    "1", "--socket-mode", "0666", "--allow-uid", "any",
					    NULL };
	struct sr_reason why = { 0, "" };
	uint64_t begin_ns;
	uint64_t took_s;
	uint32_t failed = 0;
	char upper[300];

	start(args);
	for (uint32_t i = 0; i < 30; i++)
		good_conversation(i);
	MP_EQ(mp_counter(&rig, "relay", "failed"), 0, "failed after good ones");
	begin_ns = sr_now_ns();
	while (failed < 100 && fails((int)failed % 3))
		failed++;
	took_s = (sr_now_ns() - begin_ns) / SR_NS_PER_S;
	MP_CHECK(failed >= 5 && failed <= 6 + took_s, "%u failures in %llu s, where 5 are allowed",
		 failed, (unsigned long long)took_s);
	await_counter("failed", failed);
	await_counter("refused", 1);
	MP_EQ(sr_attach_refusal_reason(&why, SR_REFUSED_BUSY), -EBUSY, "error of the reason");
	MP_CHECK(strstr(why.text, "wait") && strstr(why.text, "signer's log"), "%s", why.text);
	if (geteuid() == 0) {
		(void)snprintf(upper, sizeof upper, "%s/..", rig.dir);
		MP_CHECK(chmod(upper, 0755) == 0 && chmod(rig.dir, 0755) == 0, "chmod: %s",
			 strerror(errno));
		mp_join(mp_fork(other_user, NULL), "another user");
	}
	mp_sleep_us(1100000);
	good_conversation(1); /* one is forgiven */
	stop();
}

/* Conversations with @results sealed words of the signer, until one is refused. */
static uint32_t operators_until_refused(uint32_t results, uint32_t most)
{
	uint32_t n;

	for (n = 0; n < most; n++) {
		unsigned char m[352];
		int sock = client_new();
		struct pollfd p[2] = { { .fd = sock, .events = POLLIN },
				       { .fd = listener, .events = POLLIN } };
		int fd;

		make(m, SR_RELAY_BEGIN, sizeof m, 1);
		sr_put16(m + SR_RELAY_FLAGS, SR_RELAY_OPERATOR);
		client_send(sock, m, sizeof m);
		MP_CHECK(poll(p, 2, (int)(MP_BOUND_NS / SR_NS_PER_MS)) > 0, "nothing happens");
		if (!p[1].revents) {
			MP_EQ(raw_refusal(sock), SR_REFUSED_BUSY, "code of a refusal");
			break;
		}
		fd = signer_accept();
		MP_EQ(recv(fd, m, sizeof m, MSG_WAITALL), sizeof m, "bytes of BEGIN");
		signer_say(fd, SR_RELAY_BEGUN, 232, 1);
		client_hear(sock, SR_RELAY_BEGUN, 232, 1);
		for (uint32_t i = 0; i < results; i++) {
			signer_say(fd, SR_RELAY_SEALED, 100, i);
			client_hear(sock, SR_RELAY_SEALED, 100, i);
		}
		(void)close(sock);
		signer_hung_up(fd);
	}
	return n;
}

/* Anybody can have the signer say BEGUN to an operator, and then one sealed word. */
static void operator_is_no_operator_before_the_signer_says_more(void)
{
	static const char *const args[] = { "--setup-failures-max", "5", "--setup-failures-rate",
					    "1", NULL };

	for (uint32_t results = 0; results < 3; results++) {
		uint64_t begin_ns;
		uint32_t n;

		start(args);
		begin_ns = sr_now_ns();
		n = operators_until_refused(results, 50);
		MP_CHECK(results > 1 ? n == 50 :
				       n >= 5 && n <= 6 + (sr_now_ns() - begin_ns) / SR_NS_PER_S,
			 "%u conversations with %u sealed words, where 5 failures are allowed", n,
			 results);
		stop();
	}
}

static void foreign_user(void *arg)
{
	int sock;

	(void)arg;
	MP_CHECK(setresuid(65534, 65534, 65534) == 0, "setresuid: %s", strerror(errno));
	for (int i = 0; i < 100; i++) {
		sock = raw_connect(&rig);
		MP_EQ(raw_refusal(sock), SR_REFUSED_UID, "refusal of a foreign user");
	}
}

static void foreign_user_has_no_conversation_and_cannot_fill_the_log(void)
{
	static const char *const args[] = { "--socket-mode", "0666", NULL };
	char upper[300];
	uint64_t begin_ns;
	size_t lines;

	if (geteuid() != 0)
		mp_skip("only root can become another user");
	start(args);
	(void)snprintf(upper, sizeof upper, "%s/..", rig.dir);
	MP_CHECK(chmod(upper, 0755) == 0 && chmod(rig.dir, 0755) == 0, "chmod: %s",
		 strerror(errno));
	begin_ns = sr_now_ns();
	mp_join(mp_fork(foreign_user, NULL), "a foreign user");
	good_conversation(1); /* the agent has come past them all */
	lines = mp_count_lines(rig.agent_log, "allow-uid does not name it");
	MP_CHECK(lines >= 20 && lines <= 22 + (sr_now_ns() - begin_ns) / SR_NS_PER_S,
		 "100 tries are %zu lines in the log", lines);
	stop();
}

static void user_has_half_of_all_conversations(void)
{
	static const char *const args[] = { "--conversations-max", "8", NULL };
	int sock[5];

	start(args);
	for (int i = 0; i < 4; i++)
		sock[i] = client_new();
	await_counter("conversations", 4);
	sock[4] = client_new();
	MP_EQ(raw_refusal(sock[4]), SR_REFUSED_BUSY, "refusal of a fifth");
	MP_EQ(mp_counter(&rig, "relay", "crowded"), 1, "crowded");
	(void)close(sock[0]);
	await_counter("conversations", 3);
	good_conversation(1);
	stop();
}

static void conversation_that_takes_too_long_is_ended(void)
{
	uint64_t begin_ns;
	uint64_t took_ns;
	int sock[3];
	int fd[3];
	struct pollfd p;

	start(NULL);
	begin_ns = sr_now_ns();
	for (int i = 0; i < 3; i++) {
		sock[i] = client_new();
		if (i == 0) /* says nothing: the signer never hears of it */
			continue;
		client_say(sock[i], SR_RELAY_BEGIN, 352, 7);
		fd[i] = signer_accept();
		signer_hear(fd[i], SR_RELAY_BEGIN, 352, 7);
	}
	signer_say(fd[2], SR_RELAY_BEGUN, 232, 7); /* this one has come to something */
	client_hear(sock[2], SR_RELAY_BEGUN, 232, 7);
	client_hung_up(sock[0]);
	client_hung_up(sock[1]);
	signer_hung_up(fd[1]);
	took_ns = sr_now_ns() - begin_ns;
	MP_CHECK(took_ns >= DEADLINE_NS, "ended after %llu ms",
		 (unsigned long long)(took_ns / SR_NS_PER_MS));
	mp_sleep_us(2500000);
	p = (struct pollfd){ .fd = sock[2], .events = POLLIN };
	MP_EQ(poll(&p, 1, 0), 0, "what comes of the one that was begun");
	client_say(sock[2], 9, 100, 8);
	signer_hear(fd[2], 9, 100, 8);
	MP_EQ(mp_counter(&rig, "relay", "overdue"), 2, "overdue");
	MP_EQ(mp_counter(&rig, "relay", "failed"), 1, "failed");
	stop();
}

/* ---- descriptors ---- */

static void a_thousand_conversations_leave_nothing_behind(void)
{
	unsigned char m[100];
	unsigned int before;

	start(NULL);
	good_conversation(0);
	before = mp_fd_settled(rig.agent);
	for (uint32_t i = 0; i < 1000; i++) {
		int sock;

		switch (i % 4) {
		case 0:
			good_conversation(i);
			break;
		case 1:
			(void)close(client_new());
			break;
		case 2:
			sock = client_new();
			memset(m, 0xff, sizeof m);
			client_send(sock, m, sizeof m);
			client_hung_up(sock);
			break;
		default:
			(void)fails((int)(i / 4 % 3));
		}
	}
	await_counter("conversations", 0);
	MP_EQ(mp_fd_settled(rig.agent), before, "open descriptors of the agent");
	stop();
}

int main(int argc, char **argv)
{
	static const struct mp_test tests[] = {
		{ "whole_messages_pass_at_every_cut", whole_messages_pass_at_every_cut, 0 },
		{ "lies_of_a_client_never_reach_the_signer",
		  lies_of_a_client_never_reach_the_signer, 0 },
		{ "lies_of_the_signer_never_reach_a_client",
		  lies_of_the_signer_never_reach_a_client, 0 },
		{ "control_comes_instead_of_hello", control_comes_instead_of_hello, 0 },
		{ "slow_reader_disturbs_nobody", slow_reader_disturbs_nobody, 0 },
		{ "held_up_conversation_costs_no_time", held_up_conversation_costs_no_time, 0 },
		{ "hang_up_of_either_side_ends_both", hang_up_of_either_side_ends_both, 0 },
		{ "client_that_leaves_with_messages_under_way_is_noticed",
		  client_that_leaves_with_messages_under_way_is_noticed, 0 },
		{ "last_word_comes_through", last_word_comes_through, 0 },
		{ "killed_signer_hangs_up", killed_signer_hangs_up, 0 },
		{ "absent_signer_is_told_at_once_and_charged_to_nobody",
		  absent_signer_is_told_at_once_and_charged_to_nobody, 0 },
		{ "only_failures_are_charged_to_their_user",
		  only_failures_are_charged_to_their_user, 0 },
		{ "operator_is_no_operator_before_the_signer_says_more",
		  operator_is_no_operator_before_the_signer_says_more, 0 },
		{ "foreign_user_has_no_conversation_and_cannot_fill_the_log",
		  foreign_user_has_no_conversation_and_cannot_fill_the_log, 0 },
		{ "user_has_half_of_all_conversations", user_has_half_of_all_conversations, 0 },
		{ "conversation_that_takes_too_long_is_ended",
		  conversation_that_takes_too_long_is_ended, 0 },
		{ "a_thousand_conversations_leave_nothing_behind",
		  a_thousand_conversations_leave_nothing_behind, 0 },
	};

	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
