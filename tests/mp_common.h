/* SPDX-License-Identifier: MIT */
/*
 * mp_common.h - what the tests with several processes share.
 *
 * A program is a table of named tests. Each runs in a process of its own, under a
 * time limit, and prints one line: `ok NAME`, `not ok NAME: why` or `skip NAME:
 * why`; a hang is a failure with a message. A rig is a private directory with a
 * key, an agent and a signer as real processes; they die with the test, and are
 * only ever signalled by their pid.
 *
 *	SIGRING_BIN   directory of the programs; else the one above the test's own
 *	SIGRING_SEED  repeats a run of the tests that draw random numbers
 *	SIGRING_STREAM=vsock  agent and signer meet over AF_VSOCK, at CID 1: in a guest
 *	              alone (tests/guest/vsock.sh), where that CID is nobody else's
 *	--long        the soak version; --only NAME one test, and exit code 2 if there is none
 */
#ifndef MP_COMMON_H
#define MP_COMMON_H

#include <dirent.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "sigring.h"
#include "sr_attach.h"
#include "sr_clock.h"
#include "sr_verify.h"

#define MP_KEY 7u
#define MP_SKIPPED 77
#define MP_ARGS_MAX 24

/* AddressSanitizer and ThreadSanitizer turn mlock() into nothing. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MP_SANITIZED 1
#elif defined(__has_feature)
#define MP_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define MP_SANITIZED 0
#endif

/* Long enough that only a hang exceeds it, on a loaded machine too: with more
 * loops that yield than cores, Linux 6.18 was seen not to run a process for a
 * minute and more ("rcu_preempt kthread starved" in its log). */
#define MP_BOUND_NS (150ull * SR_NS_PER_S)

struct mp_test {
	const char *name;
	void (*run)(void);
	unsigned int limit_s; /* 0: 300 */
};

/* ---- the test at hand ---- */

static const char *mp_name = "setup";
static char mp_bin[512];
static char mp_dir[128]; /* of the test at hand; removed behind it */
static bool mp_long;
static uint64_t mp_seed;
static uint64_t mp_rng;

__attribute__((format(printf, 1, 2), noreturn, unused)) static void mp_fail(const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof text, format, args);
	va_end(args);
	(void)fprintf(stdout, "not ok %s: %s (seed %llu)\n", mp_name, text,
		      (unsigned long long)mp_seed);
	(void)fflush(stdout);
	_exit(1);
}

__attribute__((format(printf, 1, 2), noreturn, unused)) static void mp_skip(const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof text, format, args);
	va_end(args);
	(void)fprintf(stdout, "skip %s: %s\n", mp_name, text);
	(void)fflush(stdout);
	_exit(MP_SKIPPED);
}

#define MP_CHECK(cond, ...)                   \
	do {                                  \
		if (!(cond))                  \
			mp_fail(__VA_ARGS__); \
	} while (0)

#define MP_EQ(got, want, what)                                                                 \
	do {                                                                                   \
		long long got_ = (long long)(got), want_ = (long long)(want);                  \
		if (got_ != want_)                                                             \
			mp_fail("line %d: %s is %lld, not %lld", __LINE__, what, got_, want_); \
	} while (0)

/* xorshift64*; good enough to choose moments and victims. */
__attribute__((unused)) static uint64_t mp_random(void)
{
	mp_rng ^= mp_rng >> 12;
	mp_rng ^= mp_rng << 25;
	mp_rng ^= mp_rng >> 27;
	return mp_rng * 0x2545f4914f6cdd1dull;
}

__attribute__((unused)) static uint32_t mp_below(uint32_t bound)
{
	return (uint32_t)((mp_random() >> 32) * bound >> 32);
}

__attribute__((unused)) static void mp_sleep_us(uint64_t us)
{
	struct timespec ts = { (time_t)(us / 1000000), (long)(us % 1000000) * 1000 };

	while (nanosleep(&ts, &ts) < 0)
		;
}

__attribute__((unused)) static void *mp_shared(size_t bytes)
{
	void *mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	MP_CHECK(mem != MAP_FAILED, "no shared memory: %s", strerror(errno));
	return mem;
}

/* ---- processes ---- */

/* A child that runs @run and exits with 0, and that dies with us. */
__attribute__((unused)) static pid_t mp_fork(void (*run)(void *), void *arg)
{
	pid_t parent = getpid();
	pid_t pid;

	(void)fflush(stdout);
	pid = fork();
	MP_CHECK(pid >= 0, "fork: %s", strerror(errno));
	if (pid)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	mp_rng ^= (unsigned int)getpid() * 0x9e3779b97f4a7c15ull;
	run(arg);
	(void)fflush(stdout);
	_exit(0);
}

/* Runs in the child before a program does: to limit it. */
static void (*mp_before_exec)(void);

__attribute__((unused)) static pid_t mp_spawn(const char *const *argv, const char *log)
{
	char path[600];
	pid_t parent = getpid();
	int exe;
	pid_t pid;

	(void)snprintf(path, sizeof path, "%s/%s", mp_bin, argv[0]);
	(void)fflush(stdout);
	pid = fork();
	MP_CHECK(pid >= 0, "fork: %s", strerror(errno));
	if (pid)
		return pid;
	if (log) {
		int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

		(void)dup2(fd, STDOUT_FILENO);
		(void)dup2(fd, STDERR_FILENO);
	}
	/* Opened now: another user may not be let into the folder that it lies in. */
	exe = open(path, O_PATH | O_CLOEXEC);
	if (mp_before_exec)
		mp_before_exec();
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a change of user would undo it */
	if (getppid() != parent)
		_exit(126);
	(void)fexecve(exe, (char *const *)(uintptr_t)argv, environ);
	(void)fprintf(stderr, "cannot run %s: %s\n", path, strerror(errno));
	_exit(126);
}

/* Waits for a child; its status as of waitpid(). Kills it after the bound. */
__attribute__((unused)) static int mp_reap(pid_t pid, uint64_t timeout_ns, const char *what)
{
	uint64_t end_ns = sr_now_ns() + timeout_ns;
	int status;

	for (;;) {
		pid_t got = waitpid(pid, &status, WNOHANG);

		if (got == pid)
			return status;
		MP_CHECK(got == 0, "waitpid for %s: %s", what, strerror(errno));
		if (sr_now_ns() > end_ns) {
			(void)kill(pid, SIGKILL);
			mp_fail("%s (process %d) hangs", what, (int)pid);
		}
		mp_sleep_us(500);
	}
}

__attribute__((unused)) static void mp_signal(pid_t *pid, int number)
{
	siginfo_t info;
	int status;

	MP_CHECK(*pid > 0 && kill(*pid, number) == 0, "cannot signal process %d", (int)*pid);
	if (number == SIGSTOP) /* its last thread stops a little later */
		(void)waitid(P_PID, (id_t)*pid, &info, WSTOPPED | WEXITED | WNOWAIT);
	if (number != SIGKILL && number != SIGTERM)
		return;
	status = mp_reap(*pid, MP_BOUND_NS, "a signalled process");
	if (number == SIGTERM)
		MP_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0,
			 "process %d ended badly after SIGTERM: %x", (int)*pid,
			 (unsigned int)status);
	*pid = 0;
}

__attribute__((unused)) static bool mp_alive(pid_t pid)
{
	siginfo_t info = { .si_pid = 0 };

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid == 0;
}

/* A client process that checks itself: 0 is good, its own message was printed. */
__attribute__((unused)) static void mp_join(pid_t pid, const char *what)
{
	int status = mp_reap(pid, 3 * MP_BOUND_NS, what);

	if (WIFEXITED(status) && WEXITSTATUS(status) == 1)
		_exit(1); /* it has said why */
	MP_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s ended with status %x", what,
		 (unsigned int)status);
}

/* ---- the rig ---- */

struct mp_rig {
	bool split; /* agent and signer are two processes */
	char dir[256];
	char keys[300];
	char socket[300]; /* of the agent */
	char stream[300]; /* address of the signer */
	char agent_log[300];
	char signer_log[300];
	pid_t agent; /* or sigring-local */
	pid_t signer;
	const char *agent_args[MP_ARGS_MAX]; /* more of them, NULL at the end */
	const char *signer_args[MP_ARGS_MAX];
	unsigned char pubkey[33];
	bool sealed; /* mp_traders.h: its clients open sealed sessions, as `who` */
	unsigned int who;
	char identities[2][300];
	char operators[300];
	char manifest[300];
	char trust[300];
};

/* Up to 1 MiB of a file from @offset on, or so much at its end when it is negative;
 * to be freed. */
static char *mp_read_from(const char *path, long offset)
{
	FILE *f = fopen(path, "re");
	char *text = calloc(1, 1u << 20);

	if (f) {
		if (fseek(f, offset, offset < 0 ? SEEK_END : SEEK_SET) < 0)
			rewind(f);
		(void)!fread(text, 1, (1u << 20) - 1, f);
		(void)fclose(f);
	}
	return text;
}

__attribute__((unused)) static char *mp_read_file(const char *path)
{
	return mp_read_from(path, 0);
}

static long mp_file_bytes(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? 0 : (long)st.st_size;
}

__attribute__((unused)) static size_t mp_count_lines(const char *path, const char *needle)
{
	char *text = mp_read_file(path);
	size_t n = 0;

	for (const char *p = text; (p = strstr(p, needle)) != NULL; p += strlen(needle))
		n++;
	free(text);
	return n;
}

/* A log comes a little after what it tells of. */
__attribute__((unused)) static void mp_await_lines(const char *path, const char *needle,
						   size_t count)
{
	uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;

	while (mp_count_lines(path, needle) < count) {
		MP_CHECK(sr_now_ns() < end_ns, "`%s` is logged %zu times, not %zu", needle,
			 mp_count_lines(path, needle), count);
		mp_sleep_us(1000);
	}
	MP_EQ(mp_count_lines(path, needle), count, needle);
}

__attribute__((unused)) static int mp_run(const char *const *argv, const char *log)
{
	pid_t pid = mp_spawn(argv, log);
	int status = mp_reap(pid, MP_BOUND_NS, argv[0]);

	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/* How the key of a rig gets its nonces; set before mp_rig_new(). */
static const char *mp_nonce = "hedged";

static void mp_make_key(struct mp_rig *rig)
{
	char file[400];
	char out[400];
	const char *generate[] = { "sigringctl",
				   "key",
				   "new",
				   "--id",
				   "7",
				   "--permit",
				   "ecdsa-sha256,ecdsa-keccak256,ecdsa-digest,bip340",
				   "--uid",
				   "any",
				   "--nonce",
				   mp_nonce,
				   "--out",
				   file,
				   NULL };
	const char *public[] = { "sigringctl", "key", "public", file, NULL };
	char *text;
	const char *hex;

	(void)snprintf(file, sizeof file, "%s/seven.key", rig->keys);
	(void)snprintf(out, sizeof out, "%s/public", rig->dir);
	MP_EQ(mp_run(generate, rig->agent_log), 0, "sigringctl key new");
	MP_EQ(mp_run(public, out), 0, "sigringctl key public");
	text = mp_read_file(out);
	hex = strchr(text, ' ');
	MP_CHECK(hex && strlen(hex) >= 67, "no public key in `%s`", text);
	for (size_t i = 0; i < sizeof rig->pubkey; i++) {
		unsigned int v = 0;

		(void)sscanf(hex + 1 + 2 * i, "%2x", &v);
		rig->pubkey[i] = (unsigned char)v;
	}
	free(text);
}

static void mp_remove(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *e;

	while (dir && (e = readdir(dir)) != NULL) {
		char child[1024];

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		(void)snprintf(child, sizeof child, "%s/%s", path, e->d_name);
		if (unlink(child) < 0)
			mp_remove(child);
	}
	if (dir)
		(void)closedir(dir);
	(void)rmdir(path);
}

__attribute__((unused)) static bool mp_over_vsock(void)
{
	const char *stream = getenv("SIGRING_STREAM");

	return stream && !strcmp(stream, "vsock");
}

/* A guest is emulated: there whoever has nothing to do sleeps, and things break less often. */
static const char *mp_wait(void)
{
	return mp_over_vsock() ? "block" : "yield";
}

__attribute__((unused)) static uint32_t mp_times(uint32_t times)
{
	return mp_over_vsock() && times > 3 ? 3 : times;
}

/* The directory and its key; nothing is started. */
__attribute__((unused)) static void mp_rig_new(struct mp_rig *rig, bool split)
{
	static unsigned int made;

	memset(rig, 0, sizeof *rig);
	rig->split = split;
	(void)snprintf(rig->dir, sizeof rig->dir, "%s/%u", mp_dir, made);
	MP_CHECK(mkdir(rig->dir, 0700) == 0, "mkdir: %s", strerror(errno));
	(void)snprintf(rig->keys, sizeof rig->keys, "%s/keys", rig->dir);
	(void)snprintf(rig->socket, sizeof rig->socket, "%s/agent.sock", rig->dir);
	if (mp_over_vsock())
		(void)snprintf(rig->stream, sizeof rig->stream, "vsock:1:%u", 5000 + 2 * made);
	else
		(void)snprintf(rig->stream, sizeof rig->stream, "unix:%.280s/signer.sock",
			       rig->dir);
	made++;
	(void)snprintf(rig->agent_log, sizeof rig->agent_log, "%s/agent.log", rig->dir);
	(void)snprintf(rig->signer_log, sizeof rig->signer_log, "%s/signer.log", rig->dir);
	MP_CHECK(mkdir(rig->keys, 0700) == 0, "mkdir: %s", strerror(errno));
	mp_make_key(rig);
}

/* Ready is what it says in its log behind @offset. */
static void mp_await_ready(pid_t pid, const char *log, long offset)
{
	uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;

	for (;;) {
		char *said = mp_read_from(log, offset);
		bool ready = strstr(said, "ready at");

		free(said);
		if (ready)
			break;
		if (!mp_alive(pid)) {
			char *text = mp_read_from(log, offset);

			mp_fail("a program did not start: %s", text);
		}
		if (sr_now_ns() > end_ns) {
			char path[64];
			char exe[256] = "";

			(void)snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
			(void)!readlink(path, exe, sizeof exe - 1);
			(void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
			mp_fail("process %d does not get ready: %s %.60s", (int)pid, exe,
				strstr(mp_read_file(path), "State:"));
		}
		mp_sleep_us(300);
	}
}

static pid_t mp_start(const char *const *argv, const char *const *more, const char *log)
{
	const char *all[2 * MP_ARGS_MAX];
	size_t n = 0;
	long before = mp_file_bytes(log);
	pid_t pid;

	while (*argv)
		all[n++] = *argv++;
	while (*more)
		all[n++] = *more++;
	all[n] = NULL;
	pid = mp_spawn(all, log);
	mp_await_ready(pid, log, before);
	return pid;
}

__attribute__((unused)) static void mp_start_signer(struct mp_rig *rig)
{
	const char *argv[] = { "sigring-signer", "--listen", rig->stream, "--keys",
			       rig->keys,         "--wait",   mp_wait(),   NULL };

	rig->signer = mp_start(argv, rig->signer_args, rig->signer_log);
}

/* sigring-agent, or sigring-local when agent and signer are one process. */
__attribute__((unused)) static void mp_start_agent(struct mp_rig *rig)
{
	const char *agent[] = { "sigring-agent", "--socket", rig->socket, "--signer",
				rig->stream,     "--wait",   mp_wait(),   NULL };
	const char *local[] = { "sigring-local", "--socket", rig->socket, "--keys",
				rig->keys,       "--wait",   "yield",     NULL };

	rig->agent = mp_start(rig->split ? agent : local, rig->agent_args, rig->agent_log);
}

__attribute__((unused)) static void mp_rig_start(struct mp_rig *rig)
{
	if (rig->split)
		mp_start_signer(rig);
	mp_start_agent(rig);
}

__attribute__((unused)) static void mp_rig_stop(struct mp_rig *rig)
{
	if (rig->agent)
		mp_signal(&rig->agent, SIGTERM);
	if (rig->signer)
		mp_signal(&rig->signer, SIGTERM);
}

/* The agent's status; the caller's to json_decref(). NULL without an agent. */
__attribute__((unused)) static json_t *mp_status(const struct mp_rig *rig)
{
	static char text[SR_STATUS_BYTES_MAX + 1];
	union sr_attach_message m;
	struct pollfd p = { .events = POLLIN };
	ssize_t n = -1;

	p.fd = sr_attach_connect(rig->socket);
	if (p.fd < 0)
		return NULL;
	memset(&m, 0, sizeof m);
	if (sr_attach_send(p.fd, &m, SR_ATTACH_STATUS, NULL, 0) == 0 &&
	    poll(&p, 1, (int)(MP_BOUND_NS / SR_NS_PER_MS)) > 0)
		n = recv(p.fd, text, SR_STATUS_BYTES_MAX, MSG_DONTWAIT);
	(void)close(p.fd);
	return n > 0 ? json_loadb(text, (size_t)n, 0, NULL) : NULL;
}

__attribute__((unused)) static long long mp_counter(const struct mp_rig *rig, const char *group,
						    const char *name)
{
	json_t *status = mp_status(rig);
	long long v;

	MP_CHECK(status, "the agent gives no status");
	v = json_integer_value(json_object_get(json_object_get(status, group), name));
	json_decref(status);
	return v;
}

/* The signer tells the agent its counters when asked, twice a second. What it has
 * told for the second time from now on was asked for after now. */
__attribute__((unused)) static long long mp_signer_counter(const struct mp_rig *rig,
							   const char *name)
{
	long long told = mp_counter(rig, "agent", "told");
	uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;

	while (mp_counter(rig, "agent", "told") < told + 2) {
		MP_CHECK(sr_now_ns() < end_ns, "the signer does not tell its counters");
		mp_sleep_us(20000);
	}
	return mp_counter(rig, "signer", name);
}

__attribute__((unused)) static unsigned int mp_fd_count(pid_t pid)
{
	char path[64];
	unsigned int n = 0;
	DIR *dir;

	(void)snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	while (dir && readdir(dir))
		n++;
	if (dir)
		(void)closedir(dir);
	return n;
}

/* The same when nothing of what was hung up on is still being cleared away. */
__attribute__((unused)) static unsigned int mp_fd_settled(pid_t pid)
{
	unsigned int last = mp_fd_count(pid);

	for (int same = 0; same < 4;) {
		unsigned int now;

		mp_sleep_us(30000);
		now = mp_fd_count(pid);
		same = now == last ? same + 1 : 0;
		last = now;
	}
	return last;
}

/* A field of /proc/PID/status or /proc/meminfo, in KiB; -1 when absent. */
__attribute__((unused)) static long long mp_proc_kib(const char *path, const char *key)
{
	char *text = mp_read_file(path);
	const char *at = strstr(text, key);
	long long v = at ? strtoll(at + strlen(key), NULL, 10) : -1;

	free(text);
	return v;
}

/* ---- clients ---- */

__attribute__((unused)) static void mp_options(struct sr_options *opt, const struct mp_rig *rig)
{
	sr_options_init(opt);
	opt->socket = rig->socket;
	opt->flags = rig->sealed ? 0 : SR_OPT_UNSEALED;
	opt->wait = SR_WAIT_YIELD;
	opt->timeout_ns = MP_BOUND_NS;
	opt->stale_ns = 30ull * SR_NS_PER_S; /* a busy machine is no dead agent */
	if (rig->sealed) {
		opt->identity = rig->identities[rig->who];
		opt->trust = rig->trust;
	}
}

__attribute__((unused)) static struct sr_client *mp_open(const struct mp_rig *rig,
							 uint32_t sessions, uint32_t depth)
{
	struct sr_options opt;
	struct sr_reason why = { 0, "" };
	struct sr_client *client;
	int ret;

	mp_options(&opt, rig);
	opt.sessions = sessions;
	opt.depth = depth;
	ret = sr_open(&client, &opt, &why);
	MP_CHECK(ret == 0, "sr_open: %s", why.text);
	return client;
}

__attribute__((unused)) static struct sr_session *mp_session(struct sr_client *client,
							     uint32_t flags, uint64_t first)
{
	struct sr_session_options opt = { .flags = flags, .first = first };
	struct sr_reason why = { 0, "" };
	struct sr_session *session;
	int ret = sr_session_open(&session, client, &opt, &why);

	MP_CHECK(ret == 0, "sr_session_open: %s", why.text);
	return session;
}

/* A body that only this number of this sender has. */
#define MP_BODY_BYTES 256u
__attribute__((unused)) static void mp_body(unsigned char body[MP_BODY_BYTES], uint64_t sender,
					    uint64_t number)
{
	uint64_t x = sender * 0x9e3779b97f4a7c15ull + number + 1;

	for (uint32_t i = 0; i < MP_BODY_BYTES; i += 8) {
		x ^= x >> 29;
		x *= 0xbf58476d1ce4e5b9ull;
		sr_put64(body + i, x);
	}
	sr_put64(body, number);
}

__attribute__((unused)) static int mp_submit(struct sr_session *session, uint64_t sender,
					     uint64_t number, uint64_t deadline_ns)
{
	unsigned char body[MP_BODY_BYTES];
	struct sr_request rq = { .key = MP_KEY,
				 .type = SR_ECDSA_SHA256,
				 .body_bytes = MP_BODY_BYTES,
				 .body = body,
				 .user_data = number,
				 .deadline_ns = deadline_ns };

	mp_body(body, sender, number);
	return sr_submit(session, &rq);
}

/* Is it a good signature over what was submitted under this number? */
__attribute__((unused)) static void mp_verify(const struct mp_rig *rig, uint64_t sender,
					      const struct sr_completion *c)
{
	static struct sr_verifier *verifier;
	unsigned char body[MP_BODY_BYTES];

	if (!verifier)
		MP_EQ(sr_verifier_new(&verifier), 0, "sr_verifier_new");
	mp_body(body, sender, c->user_data);
	MP_CHECK(c->sigkind == SR_SIG_ECDSA &&
			 sr_verify_signature(verifier, rig->pubkey, SR_ECDSA_SHA256, body,
					     sizeof body, c->signature, c->recovery_id) == 0,
		 "the signature of number %llu is not good", (unsigned long long)c->user_data);
}

/* The next completion, within the bound. */
__attribute__((unused)) static void mp_next(struct sr_client *client, struct sr_session *session,
					    struct sr_completion *out)
{
	uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;

	for (;;) {
		int n = sr_poll(session, out, 1);

		if (n == 1)
			return;
		MP_CHECK(n == 0 || n == -ENOTCONN, "sr_poll: %d while a completion is due", n);
		MP_CHECK(sr_now_ns() < end_ns, "no completion comes");
		(void)sr_service(client, NULL);
		(void)sched_yield();
	}
}

/* One order there and back: the agent still serves this client. */
__attribute__((unused)) static void mp_order(const struct mp_rig *rig, struct sr_client *client,
					     struct sr_session *session, uint64_t number)
{
	struct sr_completion c;
	uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;
	int ret;

	while ((ret = mp_submit(session, 1, number, 0)) == -ENOTCONN) {
		MP_CHECK(sr_now_ns() < end_ns, "no agent to submit to");
		(void)!sr_poll(session, &c, 1);
		(void)sr_service(client, NULL);
	}
	MP_EQ(ret, 0, "sr_submit");
	mp_next(client, session, &c);
	MP_CHECK(c.status == SR_OK && c.user_data == number, "order %llu came back as %s of %llu",
		 (unsigned long long)number, sr_status_name(c.status),
		 (unsigned long long)c.user_data);
	mp_verify(rig, 1, &c);
}

/* A whole good client: attach, sign, leave. */
__attribute__((unused)) static void mp_good_client(const struct mp_rig *rig)
{
	struct sr_client *client = mp_open(rig, 1, 8);
	struct sr_session *session = mp_session(client, 0, 0);

	for (uint64_t n = 0; n < 20; n++)
		mp_order(rig, client, session, n);
	sr_close(client);
}

/* ---- the table ---- */

static void mp_one(void *arg)
{
	const struct mp_test *test = arg;

	test->run();
	(void)fprintf(stdout, "ok %s\n", test->name);
}

/* What the programs had to say, before it is removed. */
static void mp_show_logs(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *e;

	while (dir && (e = readdir(dir)) != NULL) {
		char child[1024];
		char *text;
		char *save;

		(void)snprintf(child, sizeof child, "%s/%s", path, e->d_name);
		if (e->d_type == DT_DIR && e->d_name[0] != '.')
			mp_show_logs(child);
		if (!strstr(e->d_name, ".log"))
			continue;
		text = mp_read_from(child, -3000);
		for (char *line = strtok_r(text, "\n", &save); line;
		     line = strtok_r(NULL, "\n", &save))
			(void)printf("# %s: %s\n", e->d_name, line);
		free(text);
	}
	if (dir)
		(void)closedir(dir);
}

static bool mp_run_test(const struct mp_test *test)
{
	unsigned int limit_s = (test->limit_s ? test->limit_s : 300) * (mp_long ? 60 : 1);
	uint64_t begin_ns = sr_now_ns();
	uint64_t end_ns = begin_ns + (uint64_t)limit_s * SR_NS_PER_S;
	const char *tmp = getenv("TMPDIR");
	int status = 0;
	bool good;
	pid_t pid;

	mp_name = test->name;
	mp_rng = mp_seed | 1;
	(void)snprintf(mp_dir, sizeof mp_dir, "%.100s/sigring-XXXXXX", tmp ? tmp : P_tmpdir);
	if (!mkdtemp(mp_dir)) {
		(void)printf("not ok %s: mkdtemp: %s\n", test->name, strerror(errno));
		return false;
	}
	pid = mp_fork(mp_one, (void *)(uintptr_t)test);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (sr_now_ns() > end_ns) {
			(void)printf("not ok %s: hangs, after %u s (seed %llu)\n", test->name,
				     limit_s, (unsigned long long)mp_seed);
			(void)kill(pid, SIGKILL);
			(void)waitpid(pid, &status, 0);
			status = 1 << 8;
			break;
		}
		mp_sleep_us(2000);
	}
	if (WIFSIGNALED(status))
		(void)printf("not ok %s: killed by signal %d (seed %llu)\n", test->name,
			     WTERMSIG(status), (unsigned long long)mp_seed);
	else if (WEXITSTATUS(status) > 1 && WEXITSTATUS(status) != MP_SKIPPED)
		(void)printf("not ok %s: exit code %d\n", test->name, WEXITSTATUS(status));
	good = WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == MP_SKIPPED);
	if (!good)
		mp_show_logs(mp_dir);
	mp_remove(mp_dir);
	(void)printf("# %s took %u ms\n", test->name,
		     (unsigned int)((sr_now_ns() - begin_ns) / SR_NS_PER_MS));
	return good;
}

static void mp_find_programs(void)
{
	const char *env = getenv("SIGRING_BIN");
	char path[256];

	if (env) {
		(void)snprintf(mp_bin, sizeof mp_bin, "%s", env);
		return;
	}
	memset(path, 0, sizeof path);
	(void)!readlink("/proc/self/exe", path, sizeof path - 1);
	(void)snprintf(mp_bin, sizeof mp_bin, "%s/..", dirname(path));
}

__attribute__((unused)) static int mp_main(int argc, char **argv, const struct mp_test *tests,
					   size_t count)
{
	const char *seed = getenv("SIGRING_SEED");
	const char *only = NULL;
	bool good = true;
	size_t ran = 0;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--long"))
			mp_long = true;
		else if (!strcmp(argv[i], "--only") && i + 1 < argc)
			only = argv[++i];
		else {
			(void)fprintf(stderr, "usage: %s [--long] [--only TEST]\n", argv[0]);
			return 2;
		}
	}
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	mp_find_programs();
	if (seed)
		mp_seed = strtoull(seed, NULL, 10);
	else
		(void)!getrandom(&mp_seed, sizeof mp_seed, 0);
	(void)printf("# seed %llu\n", (unsigned long long)mp_seed);
	for (size_t i = 0; i < count; i++)
		if (!only || !strcmp(only, tests[i].name)) {
			good &= mp_run_test(&tests[i]);
			ran++;
		}
	if (ran == 0) {
		(void)fprintf(stderr, "no test is called %s\n", only ? only : "anything");
		return 2;
	}
	return good ? 0 : 1;
}

#endif /* MP_COMMON_H */
