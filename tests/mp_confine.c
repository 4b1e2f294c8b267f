/* SPDX-License-Identifier: MIT */
/*
 * The system calls that a signer keeps (sr_confine.h): what it makes once it is ready is
 * seen through seccomp's own eyes, and is the list, neither more nor less.
 *
 * The signer here is that of an enclave but for the security module, which no host has: a
 * mock. So the one call that is not seen is the module's ioctl; the test in a guest
 * (tests/guest) makes it.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#include "mp_traders.h"
#include "sr_confine.h"
#include "sr_ground.h"
#include "sr_serve_main.h"
#include "sr_signer_options.h"

#define NUMBERS 1024u
#define ORDERS 60u

/* Seen everywhere; but for those that only some machine or some end needs. */
static const struct {
	const char *name;
	long number;
	bool rare; /* the module's ioctl; a clock that the vDSO cannot read; how malloc grows */
} expected[] = {
	{ "accept4", SYS_accept4, false },
	{ "brk", SYS_brk, true },
	{ "clock_gettime", SYS_clock_gettime, true },
	{ "clock_nanosleep", SYS_clock_nanosleep, false },
	{ "close", SYS_close, false },
	{ "exit", SYS_exit, false },
	{ "exit_group", SYS_exit_group, false },
	{ "futex", SYS_futex, false },
	{ "getpid", SYS_getpid, false },
	{ "getrandom", SYS_getrandom, false },
	{ "getrusage", SYS_getrusage, false },
	{ "ioctl", SYS_ioctl, true },
	{ "mmap", SYS_mmap, true },
	{ "munmap", SYS_munmap, false },
#ifdef SYS_poll
	{ "poll", SYS_poll, false },
#else
	{ "ppoll", SYS_ppoll, false },
#endif
	{ "read", SYS_read, false },
	{ "recvfrom", SYS_recvfrom, false },
	{ "restart_syscall", SYS_restart_syscall, true },
	{ "rt_sigaction", SYS_rt_sigaction, false },
	{ "rt_sigprocmask", SYS_rt_sigprocmask, false },
	{ "rt_sigreturn", SYS_rt_sigreturn, false },
	{ "sched_yield", SYS_sched_yield, false },
	{ "sendto", SYS_sendto, false },
	{ "write", SYS_write, false },
};
#define EXPECTED (sizeof expected / sizeof expected[0])

/* ---- a signer that is watched ---- */

struct watch {
	uint64_t listener; /* the signer's descriptor, plus 1 */
	uint64_t go;
	uint64_t confined;
	uint64_t flags; /* of seccomp() */
	uint64_t early[NUMBERS]; /* seen before */
	uint64_t seen[NUMBERS];
};

static struct mp_rig rig;
static struct watch *watch;
static pid_t stranger;
static bool watched;

/* Every call of this process and its threads asks the watcher, who lets it pass. */
static void be_watched(void)
{
	struct sock_filter code[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF) };
	struct sock_fprog program = { .len = 1, .filter = code };
	long fd;

	MP_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0, "no_new_privs");
	fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
		     &program);
	/* From here on a call waits until somebody listens. */
	sr_store_release(&watch->listener, (uint64_t)fd + 1);
	while (!sr_load_acquire(&watch->go))
		continue;
}

static void signer_main(void *arg)
{
	static struct sr_serve_main self;
	static const struct sr_option options[] = {
		SR_SERVE_OPTIONS(self),
		SR_SIGNER_OPTIONS(self.signer),
		SR_HOST_OPTIONS(self.signer),
		{ "console", NULL, "", sr_set_true, &self.signer.console, 0, 0 },
	};
	static struct sr_program program = { .name = "signer",
					     .purpose = "",
					     .operands = "",
					     .options = options,
					     .option_count = sizeof options / sizeof options[0] };
	struct sr_ground ground = sr_ground_host;
	int log = open(rig.signer_log, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
	char *argv[MP_ARGS_MAX + 8];
	const char *const *more = arg;
	int argc = 0;

	ground.clear = NULL;
	ground.confined = true;
	MP_CHECK(log >= 0 && dup2(log, 2) == 2, "the log");
	argv[argc++] = (char *)(uintptr_t)program.name;
	while (*more)
		argv[argc++] = (char *)(uintptr_t)*more++;
	for (size_t i = 0; rig.signer_args[i]; i++)
		argv[argc++] = (char *)(uintptr_t)rig.signer_args[i];
	argv[argc] = NULL;
	self.program = &program;
	self.ground = &ground;
	if (watched)
		be_watched();
	_exit(sr_serve_main(&self, argc, argv));
}

static void *watcher(void *arg)
{
	int fd = *(int *)arg;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	for (;;) {
		struct seccomp_notif in = { 0 };
		struct seccomp_notif_resp out = { .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };
		int nr;

		if (poll(&p, 1, -1) < 0 || !(p.revents & POLLIN))
			return NULL; /* nobody is left who could ask */
		if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &in) < 0)
			continue;
		nr = in.data.nr;
		out.id = in.id;
		if (nr >= 0 && nr < (int)NUMBERS)
			sr_store_relaxed(sr_load_relaxed(&watch->confined) ? &watch->seen[nr] :
									     &watch->early[nr],
					 1);
		/* The first one that asks for it is the signer itself. */
		if (nr == SYS_seccomp) {
			sr_store_relaxed(&watch->flags, in.data.args[1]);
			sr_store_relaxed(&watch->confined, 1);
		}
		(void)ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &out);
	}
}

static void start_watcher(pid_t pid)
{
	static int fd;
	pthread_t thread;
	uint64_t theirs;
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

	while (!(theirs = sr_load_acquire(&watch->listener)))
		mp_sleep_us(100);
	fd = (int)syscall(SYS_pidfd_getfd, pidfd, (int)theirs - 1, 0);
	if (fd < 0)
		mp_skip("this kernel lets no process watch another's calls");
	(void)close(pidfd);
	MP_EQ(pthread_create(&thread, NULL, watcher, &fd), 0, "a thread");
	(void)pthread_detach(thread);
	sr_store_release(&watch->go, 1);
}

/* Is at the door as soon as there is one, and says what nobody understands. */
static void stranger_main(void *arg)
{
	struct sr_address hot, control;
	char garbage[64] = "";
	int fd;

	(void)arg;
	MP_EQ(sr_address_parse(&hot, rig.stream, NULL), 0, "address");
	MP_EQ(sr_address_control(&hot, &control, NULL), 0, "address");
	while ((fd = sr_address_connect(&control)) < 0)
		mp_sleep_us(100);
	(void)!send(fd, garbage, sizeof garbage, MSG_NOSIGNAL);
	_exit(0);
}

static void start_signer(const char *wait)
{
	const char *args[] = { "--listen", rig.stream, "--keys", rig.keys, "--wait", wait,
			       "--allow-snapshot", "--refill", "thread", "--cpu", "0", "--console", NULL };
	long before = mp_file_bytes(rig.signer_log);

	watch = mp_shared(sizeof *watch);
	stranger = mp_fork(stranger_main, NULL);
	rig.signer = mp_fork(signer_main, args);
	if (watched)
		start_watcher(rig.signer);
	mp_await_ready(rig.signer, rig.signer_log, before);
	MP_EQ(waitpid(stranger, NULL, 0), stranger, "waitpid");
}

/* All that a signer does: sessions, orders, presignatures, operators' commands, a key
 * that is made and one that comes back, an agent that goes and one that comes, and the end. */
static void live(const char *wait)
{
	char operator[400], control[400], recipient[400], blob[400], hex[65];
	const char *list[] = { "sigringctl", "enclave", "status", "--control", control, "--trust",
			       rig.trust, "--operator", operator, NULL };
	const char *generate[] = { "sigringctl", "key", "generate", "--control", control, "--trust",
				   rig.trust, "--operator", operator, "--id", "9", "--recovery",
				   hex, "--out", blob, NULL };
	const char *delete[] = { "sigringctl", "key", "delete", "--control", control, "--trust",
				 rig.trust, "--operator", operator, "--id", "9", NULL };
	const char *restore[] = { "sigringctl", "key", "restore", "--control", control, "--trust",
				  rig.trust, "--operator", operator, "--recovery-identity",
				  recipient, blob, NULL };

	start_signer(wait);
	(void)snprintf(recipient, sizeof recipient, "%s/recipient.pair", rig.dir);
	(void)snprintf(blob, sizeof blob, "%s/blob", rig.dir);
	mp_pair_new(&rig, "identity", recipient, hex);
	(void)snprintf(operator, sizeof operator, "%s/operator.pair", rig.dir);
	(void)snprintf(control, sizeof control, "%s.control", rig.stream);
	mp_start_agent(&rig);
	mp_good_client(&rig);
	mp_signal(&rig.agent, SIGTERM);
	mp_start_agent(&rig);
	for (unsigned int i = 0; i < ORDERS / 20; i++)
		mp_good_client(&rig);
	MP_EQ(mp_run(list, rig.agent_log), 0, "sigringctl enclave status");
	MP_EQ(mp_run(generate, rig.agent_log), 0, "sigringctl key generate");
	MP_EQ(mp_run(delete, rig.agent_log), 0, "sigringctl key delete");
	MP_EQ(mp_run(restore, rig.agent_log), 0, "sigringctl key restore");
	mp_await_lines(rig.signer_log, "sessions 0 of 256, presignatures", 1);
	mp_rig_stop(&rig);
}

static void calls_that_are_kept_are_those_that_are_made(void)
{
	mp_nonce = "presign";
	mp_rig_new_sealed(&rig, true);
	watched = true;
	live("yield");
	for (unsigned int i = 0; i < EXPECTED; i++)
		MP_CHECK(expected[i].rare || sr_load_relaxed(&watch->seen[expected[i].number]),
			 "%s is kept and is not made", expected[i].name);
	MP_EQ(sr_load_relaxed(&watch->flags),
	      SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW, "flags of the filter");
	/* Somebody was at the door before. */
	MP_EQ(sr_load_relaxed(&watch->early[SYS_accept4]), 0, "connections taken too early");
	MP_EQ(sr_load_relaxed(&watch->early[SYS_recvfrom]), 0, "bytes of strangers read too early");
}

static void list_is_printed(void)
{
	const char *argv[] = { "sigring-enclave", "--system-calls", NULL };
	char out[300], text[2048] = "";

	MP_EQ(EXPECTED, 24, "calls that are kept");
	for (size_t i = 0; i < EXPECTED; i++) {
		MP_CHECK(sr_confine_name(i) && !strcmp(sr_confine_name(i), expected[i].name),
			 "call %zu of the list is %s, not %s", i, sr_confine_name(i),
			 expected[i].name);
		(void)strcat(strcat(text, expected[i].name), "\n");
	}
	MP_CHECK(!sr_confine_name(EXPECTED), "the list goes on: %s", sr_confine_name(EXPECTED));
	mp_rig_new(&rig, true);
	(void)snprintf(out, sizeof out, "%s/calls", rig.dir);
	MP_EQ(mp_run(argv, out), 0, "sigring-enclave --system-calls");
	MP_CHECK(!strcmp(mp_read_file(out), text), "it prints %s", mp_read_file(out));
}

static void signer_that_sleeps_lives_with_them_as_well(void)
{
	mp_rig_new_sealed(&rig, true);
	watched = false;
	live("block");
}

/* ---- what is not kept ---- */

static void *open_file(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void do_open(void)
{
	(void)open_file(NULL);
}

static void do_open_elsewhere(void)
{
	mp_sleep_us(1000000); /* the thread that was there before does it */
}

static void do_socket(void)
{
	(void)socket(AF_UNIX, SOCK_STREAM, 0);
}

static void do_fork(void)
{
	(void)fork();
}

static void do_exec_map(void)
{
	(void)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void do_protect(void)
{
	static char page[8192] SR_ALIGNED(4096);

	(void)mprotect(page, 4096, PROT_READ);
}

static void do_ioctl(void)
{
	int bytes;

	(void)ioctl(2, FIONREAD, &bytes);
}

static void do_x32(void)
{
	(void)syscall(0x40000000 + SYS_read, -1, NULL, 0);
}

static void do_nothing(void)
{
	void *mem = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)munmap(mem, 4096);
	(void)ioctl(-1, 0xc0200a00u, NULL); /* the module's; there is none */
}

static uint64_t *confined_now;

static void *waits_and_opens(void *arg)
{
	while (!sr_load_acquire(confined_now))
		continue;
	return open_file(arg);
}

static int end_of(void (*run)(void))
{
	int status;
	pid_t pid;

	confined_now = mp_shared(sizeof *confined_now);
	pid = fork();
	if (pid == 0) {
		const struct rlimit none = { 0, 0 };
		struct sr_reason why;
		pthread_t thread;

		(void)setrlimit(RLIMIT_CORE, &none);
		if (run == do_open_elsewhere &&
		    pthread_create(&thread, NULL, waits_and_opens, NULL))
			_exit(3);
		if (sr_confine(&why))
			_exit(2);
		sr_store_release(confined_now, 1);
		run();
		_exit(0);
	}
	MP_EQ(waitpid(pid, &status, 0), pid, "waitpid");
	return status;
}

static void other_calls_end_the_process(void)
{
	static const struct {
		const char *what;
		void (*run)(void);
	} others[] = {
		{ "opening a file", do_open },
		{ "opening a file in another thread", do_open_elsewhere },
		{ "making a socket", do_socket },
		{ "forking", do_fork },
		{ "memory that can be executed", do_exec_map },
		{ "another protection of memory", do_protect },
		{ "another device's request", do_ioctl },
		{ "a call of x32", do_x32 },
	};

	MP_EQ(end_of(do_nothing), 0, "what is kept");
	for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
		int status = end_of(others[i].run);

		MP_CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "%s: status %#x",
			 others[i].what, (unsigned int)status);
	}
}

#define TEST(name, limit_s) { #name, name, limit_s }
static const struct mp_test tests[] = {
	TEST(list_is_printed, 60),
	TEST(other_calls_end_the_process, 60),
	TEST(signer_that_sleeps_lives_with_them_as_well, 120),
	TEST(calls_that_are_kept_are_those_that_are_made, 120),
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
