/* SPDX-License-Identifier: MIT */
/*
 * Who is turned away, each with a message of its own that says what to do; and
 * after each the agent still serves a good client.
 */
#include "mp_raw.h"

static struct mp_rig rig;

static void start(const char *option, const char *value)
{
	mp_rig_new(&rig, true);
	rig.agent_args[0] = option;
	rig.agent_args[1] = value;
	mp_rig_start(&rig);
	mp_good_client(&rig);
}

/* Who has left is gone when agent and signer have looked, and not before. */
static struct sr_client *open_when_there_is_room(const struct sr_options *opt)
{
	uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;
	struct sr_reason why = { 0, "" };
	struct sr_client *client;
	int ret;

	while ((ret = sr_open(&client, opt, &why)) == -EDQUOT && sr_now_ns() < end_ns)
		mp_sleep_us(1000);
	MP_CHECK(ret == 0, "sr_open: %s", why.text);
	return client;
}

static void still_serves(void)
{
	uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;
	struct sr_reason why = { 0, "" };
	struct sr_options opt;
	struct sr_client *client;
	struct sr_session *session;
	int ret;

	MP_CHECK(mp_alive(rig.agent), "the agent ended");
	mp_options(&opt, &rig);
	opt.depth = 8;
	client = open_when_there_is_room(&opt);
	while ((ret = sr_session_open(&session, client, NULL, &why)) == -EDQUOT &&
	       sr_now_ns() < end_ns)
		mp_sleep_us(1000);
	MP_CHECK(ret == 0, "sr_session_open: %s", why.text);
	for (uint64_t n = 0; n < 20; n++)
		mp_order(&rig, client, session, n);
	sr_close(client);
	mp_rig_stop(&rig);
}

/* Opens with the library and expects to be refused in these words. */
static void refused_by_library(struct sr_options *opt, int error, const char *words)
{
	struct sr_reason why = { 0, "" };
	struct sr_client *client = NULL;
	uint64_t begin_ns = sr_now_ns();
	int ret = sr_open(&client, opt, &why);

	MP_CHECK(ret == error, "sr_open: %d (%s), not %d", ret, why.text, error);
	MP_CHECK(strstr(why.text, words), "`%s` does not say `%s`", why.text, words);
	MP_EQ(why.error, error, "error in the reason");
	MP_CHECK(!client, "an output was written");
	MP_CHECK(sr_now_ns() - begin_ns < MP_BOUND_NS, "it took too long");
}

static void refused_by_agent(int sock, enum sr_attach_refusal code, const char *words)
{
	struct sr_reason why = { 0, "" };
	uint32_t got = raw_refusal(sock);

	MP_EQ(got, code, "refusal");
	(void)sr_attach_refusal_reason(&why, got);
	MP_CHECK(strstr(why.text, words), "`%s` does not say `%s`", why.text, words);
}

/* ---- who ---- */

static void foreign_user(void *arg)
{
	struct sr_options opt;

	MP_CHECK(setresuid(65534, 65534, 65534) == 0, "setresuid: %s", strerror(errno));
	mp_options(&opt, &rig);
	for (int i = 0; i < (arg ? 1 : 50); i++) /* whichever side is faster */
		refused_by_library(&opt, -EACCES, arg ? "join the group" : "allow-uid 65534");
}

static void user_who_is_not_allowed(void)
{
	char upper[300];

	if (geteuid() != 0)
		mp_skip("only root can become another user");
	start("--socket-mode", "0666");
	(void)snprintf(upper, sizeof upper, "%s/..", rig.dir);
	MP_CHECK(chmod(upper, 0755) == 0 && chmod(rig.dir, 0755) == 0, "chmod: %s",
		 strerror(errno));
	mp_join(mp_fork(foreign_user, NULL), "a foreign user");
	MP_CHECK(chmod(rig.socket, 0600) == 0, "chmod: %s", strerror(errno));
	mp_join(mp_fork(foreign_user, &rig), "a foreign user");
	/* Heard at once; and not for each try a line. */
	MP_CHECK(mp_count_lines(rig.agent_log, "of user 65534: allow-uid does not name it") >= 20,
		 "a user who is not admitted is not in the log");
	still_serves();
}

/* ---- how many ---- */

static void too_many_sessions(void)
{
	struct sr_options opt;
	struct sr_client *client;

	start("--sessions-max", "4");
	client = mp_open(&rig, 3, 8);
	mp_options(&opt, &rig);
	opt.sessions = 2;
	refused_by_library(&opt, -EDQUOT, "sessions-max");
	sr_close(client);
	opt.sessions = 65;
	refused_by_library(&opt, -EINVAL, "1 to 64");
	opt.sessions = 4;
	sr_close(open_when_there_is_room(&opt));
	still_serves();
}

static void too_many_clients(void)
{
	struct sr_options opt;
	struct sr_client *client;

	start("--clients-max", "1");
	mp_options(&opt, &rig);
	client = open_when_there_is_room(&opt);
	for (int i = 0; i < 50; i++)
		refused_by_library(&opt, -EDQUOT, "clients-max");
	sr_close(client);
	still_serves();
}

static void too_many_sessions_at_the_signer(void)
{
	struct sr_reason why = { 0, "" };
	struct sr_client *client;
	struct sr_session *session;

	mp_rig_new(&rig, true);
	rig.signer_args[0] = "--signer-sessions-max";
	rig.signer_args[1] = "2";
	mp_rig_start(&rig);
	client = mp_open(&rig, 3, 8);
	(void)mp_session(client, 0, 0);
	(void)mp_session(client, 0, 0);
	MP_EQ(sr_session_open(&session, client, NULL, &why), -EDQUOT, "a third session");
	MP_CHECK(strstr(why.text, "signer has no room"), "`%s`", why.text);
	sr_close(client);
	still_serves();
}

static void sizes_beyond_the_limits(void)
{
	struct sr_options opt;
	struct sr_reason why = { 0, "" };
	struct sr_client *client;
	struct sr_session *session;

	start("--depth-max", "512");
	mp_options(&opt, &rig);
	opt.depth = 1024;
	refused_by_library(&opt, -EPROTO, "depth-max");
	opt.depth = 100;
	refused_by_library(&opt, -EINVAL, "power of two");
	opt.depth = 8;
	opt.slot_bytes = 300;
	refused_by_library(&opt, -EINVAL, "multiple of 128");
	opt.slot_bytes = 384;
	opt.depth = 512; /* the agent accepts it, the signer does not */
	MP_EQ(sr_open(&client, &opt, &why), 0, why.text);
	MP_EQ(sr_session_open(&session, client, NULL, &why), -EPROTO, "a session that is too deep");
	MP_CHECK(strstr(why.text, "depth-max"), "`%s`", why.text);
	sr_close(client);
	still_serves();
}

/* ---- HELLO ---- */

static void another_version(void)
{
	union sr_attach_message m;
	int sock;

	start(NULL, NULL);
	for (int i = 0; i < 2; i++) {
		sock = raw_connect(&rig);
		raw_hello(&m, 1, 8);
		if (i)
			m.hello.abi_major++;
		else
			m.hello.layout_hash ^= 1;
		MP_EQ(sr_attach_send(sock, &m, SR_ATTACH_HELLO, NULL, 0), 0, "HELLO");
		refused_by_agent(sock, SR_REFUSED_VERSION, "install the same version");
	}
	still_serves();
}

static void clock_that_differs(void)
{
	static const int64_t skews_ns[] = { 1500000000, -1500000000, 100000000000000 };
	union sr_attach_message m;

	start(NULL, NULL);
	for (size_t i = 0; i < sizeof skews_ns / sizeof skews_ns[0]; i++) {
		int sock = raw_connect(&rig);

		raw_hello(&m, 1, 8);
		m.hello.now_ns += (uint64_t)skews_ns[i];
		MP_EQ(sr_attach_send(sock, &m, SR_ATTACH_HELLO, NULL, 0), 0, "HELLO");
		refused_by_agent(sock, SR_REFUSED_CLOCK, "time namespace");
	}
	still_serves();
}

/* ---- REGION ---- */

static int memfd_of(uint64_t bytes, int seals, uint64_t magic)
{
	struct sr_region_header h = { .magic = magic,
				      .abi_major = SR_ABI_MAJOR,
				      .layout_hash = sr_layout_hash(),
				      .kind = SR_REGION_SUBMISSION,
				      .region_bytes = bytes,
				      .sessions = 1,
				      .depth = 8,
				      .slot_bytes = SR_SUB_BYTES_DEFAULT,
				      .slots_offset = 4096 };
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	MP_CHECK(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0, "memfd: %s", strerror(errno));
	MP_CHECK(pwrite(fd, &h, sizeof h, 0) == sizeof h, "pwrite: %s", strerror(errno));
	MP_CHECK(fcntl(fd, F_ADD_SEALS, seals) == 0, "seals: %s", strerror(errno));
	return fd;
}

#define ALL_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)

static void refused_region(int fd, uint64_t bytes, enum sr_attach_refusal code, const char *words)
{
	int sock = raw_offered(&rig, 1, 8);

	MP_EQ(raw_send_region(sock, fd, bytes), 0, "REGION");
	refused_by_agent(sock, code, words);
	(void)close(fd);
}

static void region_with_a_seal_missing(void)
{
	static const int some[] = { 0,
				    F_SEAL_SHRINK | F_SEAL_GROW,
				    ALL_SEALS & ~F_SEAL_FUTURE_WRITE,
				    ALL_SEALS & ~F_SEAL_SHRINK,
				    ALL_SEALS & ~F_SEAL_GROW,
				    ALL_SEALS & ~F_SEAL_SEAL };
	struct sr_geometry g = { 1, 8, SR_SUB_BYTES_DEFAULT };
	uint64_t bytes = sr_region_bytes(&g);

	start(NULL, NULL);
	for (size_t i = 0; i < sizeof some / sizeof some[0]; i++)
		refused_region(memfd_of(bytes, some[i], SR_REGION_MAGIC), bytes, SR_REFUSED_SEALS,
			       "sealed");
	still_serves();
}

static void descriptor_that_is_no_memfd(void)
{
	char file[400];
	int pair[2];

	start(NULL, NULL);
	(void)snprintf(file, sizeof file, "%s/file", rig.dir);
	refused_region(open(file, O_RDWR | O_CREAT, 0600), 8192, SR_REFUSED_NOT_MEMFD, "memfd");
	refused_region(open("/dev/null", O_RDWR), 8192, SR_REFUSED_NOT_MEMFD, "memfd");
	refused_region(open("/", O_RDONLY), 8192, SR_REFUSED_NOT_MEMFD, "memfd");
	MP_CHECK(pipe(pair) == 0, "pipe: %s", strerror(errno));
	refused_region(pair[0], 8192, SR_REFUSED_NOT_MEMFD, "memfd");
	(void)close(pair[1]);
	still_serves();
}

static void region_of_another_size(void)
{
	struct sr_geometry g = { 1, 8, SR_SUB_BYTES_DEFAULT };
	uint64_t bytes = sr_region_bytes(&g);
	const uint64_t sizes[] = { 4096, bytes - 4096, bytes + 4096, bytes * 100 };

	start(NULL, NULL);
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
		refused_region(memfd_of(sizes[i], ALL_SEALS, SR_REGION_MAGIC), bytes,
			       SR_REFUSED_REGION, "size, magic number or geometry");
	still_serves();
}

static void region_without_its_magic_or_geometry(void)
{
	struct sr_geometry g = { 1, 8, SR_SUB_BYTES_DEFAULT };
	struct sr_geometry others[] = { { 2, 4, SR_SUB_BYTES_DEFAULT },
					{ 1, 16, 256 },
					{ 1, 4, 768 } };
	uint64_t bytes = sr_region_bytes(&g);

	start(NULL, NULL);
	refused_region(memfd_of(bytes, ALL_SEALS, 0), bytes, SR_REFUSED_REGION, "magic");
	refused_region(memfd_of(bytes, ALL_SEALS, SR_REGION_MAGIC + 1), bytes, SR_REFUSED_REGION,
		       "magic");
	for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
		struct sr_region r;

		MP_EQ(sr_region_create(&r, SR_REGION_SUBMISSION, &others[i], 0, -1, NULL), 0,
		      "region");
		refused_region(dup(r.fd), r.bytes, SR_REFUSED_REGION, "geometry");
		sr_region_drop(&r);
	}
	still_serves();
}

/* ---- noise ---- */

static void packets_that_are_no_messages(void)
{
	unsigned char noise[512];
	unsigned int fds;

	start(NULL, NULL);
	fds = mp_fd_settled(rig.agent);
	for (int i = 0; i < 400; i++) {
		union sr_attach_message m;
		int two[2] = { STDIN_FILENO, STDERR_FILENO };
		int sock = raw_connect(&rig);
		size_t bytes = 1 + mp_below(sizeof noise - 1);

		for (size_t k = 0; k < sizeof noise; k++)
			noise[k] = (unsigned char)mp_random();
		raw_hello(&m, 1, 8);
		switch (i % 4) {
		case 0:
			(void)!send(sock, noise, bytes, MSG_NOSIGNAL);
			break;
		case 1: /* a good header, a wrong length */
			m.header.magic = SR_ATTACH_MAGIC;
			m.header.type = SR_ATTACH_HELLO;
			m.header.bytes = (uint16_t)(1 + mp_below(60000));
			(void)!send(sock, &m, 1 + mp_below(sizeof m), MSG_NOSIGNAL);
			break;
		case 2: /* descriptors where none belong */
			(void)!sr_attach_send(sock, &m, SR_ATTACH_HELLO, two, 2);
			break;
		default: /* a message out of its order */
			(void)!sr_attach_send(sock, &m, (enum sr_attach_type)(3 + mp_below(8)),
					      NULL, 0);
			break;
		}
		if (i % 2)
			MP_EQ(raw_refusal(sock), SR_REFUSED_PROTOCOL, "refusal");
		else
			(void)close(sock);
	}
	MP_EQ(mp_fd_settled(rig.agent), fds, "descriptors of the agent afterwards");
	still_serves();
}

static void client_that_says_nothing(void)
{
	union sr_attach_message m;
	int socks[3];
	int fds[2];
	int count;

	if (!mp_long)
		mp_skip("takes as long as the limit of a handshake; part of --long");
	start("--clients-max", "6");
	for (int i = 0; i < 3; i++)
		socks[i] = raw_connect(&rig);
	mp_good_client(&rig);
	for (int i = 0; i < 3; i++)
		MP_EQ(raw_recv(socks[i], &m, fds, &count), -ECONNRESET, "end of a silent client");
	still_serves();
}

/* ---- the programs ---- */

static void fails_with(const char *const *argv, int code, const char *words)
{
	char log[400];

	(void)snprintf(log, sizeof log, "%s/refused.log", rig.dir);
	(void)unlink(log);
	MP_EQ(mp_run(argv, log), code, "exit code");
	MP_CHECK(mp_count_lines(log, words) == 1, "`%s` does not say `%s`", mp_read_file(log),
		 words);
}

static void path_in_use(void)
{
	char file[400];
	const char *agent[] = { "sigring-agent", "--socket", rig.socket,
				"--signer",      rig.stream, NULL };
	const char *local[] = { "sigring-local", "--socket", rig.socket, "--keys", rig.keys, NULL };
	const char *signer[] = {
		"sigring-signer", "--listen", rig.stream, "--keys", rig.keys, NULL
	};
	const char *on_file[] = { "sigring-agent", "--socket", file, "--signer", rig.stream, NULL };

	start(NULL, NULL);
	fails_with(agent, 1, "in use by a running process: stop it or choose another path");
	fails_with(local, 1, "in use by a running process: stop it or choose another path");
	fails_with(signer, 1, "in use by a running process: stop it or choose another path");
	(void)snprintf(file, sizeof file, "%s/a-file", rig.dir);
	(void)close(open(file, O_CREAT | O_WRONLY, 0600));
	fails_with(on_file, 1, "in use by something that is no socket");
	MP_CHECK(access(file, F_OK) == 0, "it removed what was no socket");
	still_serves();
}

static void agent_that_is_not_running(void)
{
	struct sr_options opt;

	mp_rig_new(&rig, true);
	mp_options(&opt, &rig);
	opt.timeout_ns = 100ull * SR_NS_PER_MS;
	refused_by_library(&opt, -ENOENT, "no agent at");
	mp_rig_start(&rig);
	mp_signal(&rig.agent, SIGKILL);
	refused_by_library(&opt, -ECONNREFUSED, "start sigring-agent or sigring-local");
	mp_start_agent(&rig);
	mp_signal(&rig.agent, SIGSTOP);
	refused_by_library(&opt, -ETIMEDOUT, "is it stopped?");
	mp_signal(&rig.agent, SIGCONT);
	opt.socket = "/a/path/that/is/much/longer/than/the/hundred/and/eight/bytes/that/an/address/"
		     "of/a/unix/socket/has/room/for/anywhere";
	refused_by_library(&opt, -EINVAL, "longer than");
	still_serves();
}

static void signer_that_is_not_running(void)
{
	struct sr_options opt;
	struct sr_reason why = { 0, "" };
	struct sr_client *client;
	struct sr_session *session;
	uint64_t end_ns;
	int ret;

	mp_rig_new(&rig, true);
	mp_start_agent(&rig);
	mp_options(&opt, &rig);
	opt.timeout_ns = 2ull * SR_NS_PER_S; /* of which an open makes use */
	MP_EQ(sr_open(&client, &opt, &why), 0, why.text);
	MP_EQ(sr_session_open(&session, client, NULL, &why), -ENOTCONN, "open without a signer");
	MP_CHECK(strstr(why.text, "start sigring-signer"), "`%s`", why.text);
	mp_start_signer(&rig);
	end_ns = sr_now_ns() + MP_BOUND_NS;
	do
		ret = sr_session_open(&session, client, NULL, &why);
	while (ret == -ENOTCONN && sr_now_ns() < end_ns);
	MP_EQ(ret, 0, why.text);
	mp_order(&rig, client, session, 0);
	sr_close(client);
	still_serves();
}

/* ---- requests ---- */

static void one_request(struct sr_client *client, struct sr_session *session,
			const struct sr_request *rq, uint16_t status, uint16_t policy)
{
	struct sr_completion c;

	MP_EQ(sr_submit(session, rq), 0, "sr_submit");
	mp_next(client, session, &c);
	MP_CHECK(c.status == status && c.policy == policy && c.sigkind == SR_SIG_NONE,
		 "status %s, policy %s", sr_status_name(c.status), sr_policy_name(c.policy));
}

static void requests_that_are_wrong(void)
{
	unsigned char body[5000] = { 1 };
	struct sr_request rq = { .key = MP_KEY, .type = SR_ECDSA_SHA256, .body = body };
	struct sr_client *client;
	struct sr_session *session;
	void *staging;

	start(NULL, NULL);
	client = mp_open(&rig, 1, 8);
	session = mp_session(client, 0, 0);
	rq.body_bytes = (uint16_t)(sr_body_max(session) + 1);
	MP_EQ(sr_submit(session, &rq), -EMSGSIZE, "a message that is too long");
	MP_EQ(sr_reserve(session, &staging), 0, "sr_reserve");
	MP_EQ(sr_commit(session, &rq), -EMSGSIZE, "committing a message that is too long");
	MP_EQ(sr_in_flight(session), 0, "submits in flight after those");
	rq.body_bytes = (uint16_t)sr_body_max(session);
	rq.key = 8;
	one_request(client, session, &rq, SR_DENIED, SR_POLICY_UNKNOWN_KEY);
	rq.key = MP_KEY;
	rq.type = 99;
	one_request(client, session, &rq, SR_BAD_REQUEST, SR_POLICY_NONE);
	rq.type = SR_ECDSA_DIGEST; /* 32 bytes or nothing */
	one_request(client, session, &rq, SR_BAD_REQUEST, SR_POLICY_NONE);
	mp_order(&rig, client, session, 1);
	sr_close(client);
	still_serves();
}

static void slot_word_that_is_impossible(void)
{
	static const int64_t wrong[] = { 1, 7, 9, -1, 1ll << 40, INT64_MIN };

	start(NULL, NULL);
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		unsigned char record[SR_SUB_BYTES_DEFAULT];
		struct mp_raw raw;
		struct sr_slots slots;

		raw_attach(&raw, &rig, 1, 8);
		raw_open_ok(&raw, 0, mp_random());
		slots = sr_region_slots(&raw.submission, 0);
		raw_record(record, 1, 0);
		memcpy(sr_slot_at(&slots, raw.first) + 8, record + 8, sizeof record - 8);
		sr_store_release((uint64_t *)(void *)sr_slot_at(&slots, raw.first),
				 raw.first + (uint64_t)wrong[i]);
		refused_by_agent(raw.sock, SR_REFUSED_REGION, "");
		raw.sock = -1;
		raw_detach(&raw);
	}
	mp_await_lines(rig.agent_log, "it published an impossible slot word",
		       sizeof wrong / sizeof wrong[0]);
	still_serves();
}

static const struct mp_test tests[] = {
	{ "refuse/user_who_is_not_allowed", user_who_is_not_allowed, 0 },
	{ "refuse/too_many_sessions", too_many_sessions, 0 },
	{ "refuse/too_many_clients", too_many_clients, 0 },
	{ "refuse/too_many_sessions_at_the_signer", too_many_sessions_at_the_signer, 0 },
	{ "refuse/sizes_beyond_the_limits", sizes_beyond_the_limits, 0 },
	{ "refuse/another_version", another_version, 0 },
	{ "refuse/clock_that_differs", clock_that_differs, 0 },
	{ "refuse/region_with_a_seal_missing", region_with_a_seal_missing, 0 },
	{ "refuse/descriptor_that_is_no_memfd", descriptor_that_is_no_memfd, 0 },
	{ "refuse/region_of_another_size", region_of_another_size, 0 },
	{ "refuse/region_without_its_magic_or_geometry", region_without_its_magic_or_geometry, 0 },
	{ "refuse/packets_that_are_no_messages", packets_that_are_no_messages, 0 },
	{ "refuse/client_that_says_nothing", client_that_says_nothing, 0 },
	{ "refuse/path_in_use", path_in_use, 0 },
	{ "refuse/agent_that_is_not_running", agent_that_is_not_running, 0 },
	{ "refuse/signer_that_is_not_running", signer_that_is_not_running, 0 },
	{ "refuse/requests_that_are_wrong", requests_that_are_wrong, 0 },
	{ "refuse/slot_word_that_is_impossible", slot_word_that_is_impossible, 0 },
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
