/* SPDX-License-Identifier: MIT */
/*
 * sigring-init - process 1 of an enclave image: the way from the kernel to the signer.
 *
 * It mounts /dev, loads the modules that the image brings, seeds the kernel's generator
 * from the security module, tells the parent that the enclave is up, starts the signer
 * without any right, and waits for its end, which is the end of the machine: keys and
 * sessions died with the signer, and a second one in the same boot could not lock its
 * register (sr_boot.h). Whatever fails is said on the console, and ends it as well.
 *
 * One parameter, a word of the kernel's command line, and so part of what is measured:
 *
 *	sigring_parent=CID    who is told that we are up: 3, AWS's parent, when it is not
 *	                      there; none: nobody is
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/random.h>
#include <linux/vm_sockets.h>

#include "sr_nsm.h"
#include "sr_secret.h"

#define MODULES "/modules" /* loaded in the order of their names */
#define SIGNER "/signer/sigring-enclave"
#define SIGNER_CONFIG "/signer/sigring-enclave.conf"
#define SIGNER_ID 1u /* user and group */
#define PARENT_CID 3u
#define HEARTBEAT_PORT 9000u
#define HEARTBEAT 0xb7u /* there and back: what AWS's parent waits for */
#define HEARTBEAT_TRIES 30u /* a second apart, unless the attempt takes longer */
#define DEVICE_TRIES 500u /* 10 ms apart */
#define DRAIN_TRIES 100u /* 10 ms apart */
#define SEED_BYTES 256u

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static _Noreturn void fatal(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void say_list(const char *format, va_list args)
{
	char text[512];
	int bytes = snprintf(text, sizeof text, "sigring-init: ");

	(void)vsnprintf(text + bytes, sizeof text - (size_t)bytes, format, args);
	(void)fprintf(stderr, "%s\n", text);
}

static void say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say_list(format, args);
	va_end(args);
}

static void rest_ms(long ms)
{
	const struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	(void)nanosleep(&time, NULL);
}

/* What was said lies in the console's buffer and would be lost with the machine. Not
 * tcdrain(3): a console that nobody reads must not keep a dead enclave alive. */
static void drain_console(void)
{
	int bytes = 0;

	for (unsigned int i = 0; i < DRAIN_TRIES; i++) {
		if (ioctl(STDERR_FILENO, TIOCOUTQ, &bytes) < 0 || bytes == 0)
			return;
		rest_ms(10);
	}
}

/* A restart, not a power-off: without ACPI the kernel turns that into a halt, and the
 * parent would go on seeing an enclave. With `reboot=k` both AWS's hypervisor and QEMU
 * (-no-reboot) take this for the end. The end of process 1, should it come to that, is a
 * panic, and with `panic=` a restart as well. */
static _Noreturn void end(void)
{
	drain_console();
	(void)reboot(RB_AUTOBOOT);
	_exit(1);
}

static _Noreturn void fatal(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say_list(format, args);
	va_end(args);
	say("the enclave ends here");
	end();
}

/* ---- devices ---- */

static void mount_dev(void)
{
	if (mount("devtmpfs", "/dev", "devtmpfs", MS_NOSUID | MS_NOEXEC, NULL) < 0)
		fatal("cannot mount /dev: %s; the kernel needs CONFIG_DEVTMPFS", strerror(errno));
}

static void load_module(const char *name)
{
	char path[sizeof MODULES + 256];
	int fd;

	(void)snprintf(path, sizeof path, MODULES "/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || (syscall(SYS_finit_module, fd, "", 0) < 0 && errno != EEXIST))
		fatal("cannot load %s: %s; it has to be of the image's kernel, and what it needs "
		      "has to come before it",
		      path, strerror(errno));
	(void)close(fd);
}

static int is_module(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* A kernel that has everything built in comes without the directory. */
static void load_modules(void)
{
	struct dirent **names;
	int count = scandir(MODULES, &names, is_module, alphasort);

	if (count < 0 && errno != ENOENT)
		fatal("cannot read " MODULES ": %s", strerror(errno));
	for (int i = 0; i < count; i++) {
		load_module(names[i]->d_name);
		free(names[i]);
	}
	if (count >= 0)
		free(names);
}

/* ---- entropy ---- */

static void open_nsm(struct sr_nsm *nsm)
{
	int ret = -ENOENT;

	for (unsigned int i = 0; i < DEVICE_TRIES && ret == -ENOENT; i++) {
		ret = sr_nsm_open(nsm, SR_NSM_PATH);
		if (ret == -ENOENT)
			rest_ms(10);
	}
	if (ret < 0)
		fatal("cannot open " SR_NSM_PATH ": %s; the kernel needs CONFIG_NSM, or the image "
		      "its module",
		      strerror(-ret));
}

/* Written to /dev/random it would be mixed in and credited with nothing. */
static void seed(struct sr_nsm *nsm)
{
	static union {
		struct rand_pool_info info;
		unsigned char bytes[sizeof(struct rand_pool_info) + SEED_BYTES];
	} pool;
	unsigned char byte;
	int fd = open("/dev/random", O_RDWR | O_CLOEXEC);
	int ret = sr_nsm_random(nsm, pool.bytes + sizeof pool.info, SEED_BYTES);

	if (ret < 0)
		fatal("the security module gives no random bytes: %s", strerror(-ret));
	pool.info.entropy_count = 8 * SEED_BYTES;
	pool.info.buf_size = SEED_BYTES;
	if (fd < 0 || ioctl(fd, RNDADDENTROPY, &pool.info) < 0)
		fatal("the kernel takes no entropy: %s", strerror(errno));
	(void)close(fd);
	sr_wipe(&pool, sizeof pool);
	if (getrandom(&byte, 1, GRND_NONBLOCK) != 1)
		fatal("the kernel's generator is not ready after it was seeded");
}

/* ---- the parent ---- */

/* 0, or -errno. */
static int beat(unsigned int cid)
{
	const struct sockaddr_vm parent = { .svm_family = AF_VSOCK,
					    .svm_cid = cid,
					    .svm_port = HEARTBEAT_PORT };
	const struct timeval patience = { 5, 0 };
	const unsigned char out = HEARTBEAT;
	unsigned char in = 0;
	int fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int ret = 0;

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
	if (connect(fd, (const struct sockaddr *)&parent, sizeof parent) < 0 ||
	    send(fd, &out, 1, MSG_NOSIGNAL) != 1)
		ret = -errno;
	else if (recv(fd, &in, 1, 0) != 1 || in != HEARTBEAT)
		ret = -EPROTO;
	(void)close(fd);
	return ret;
}

static void tell_parent(void)
{
	const char *word = getenv("sigring_parent");
	unsigned long cid = PARENT_CID;
	char *rest;
	int ret = -EINVAL;

	if (word && !strcmp(word, "none"))
		return;
	if (word) {
		cid = strtoul(word, &rest, 10);
		if (*word < '0' || *word > '9' || *rest || cid >= UINT32_MAX)
			fatal("sigring_parent=%s on the kernel's command line is neither a CID nor "
			      "`none`",
			      word);
	}
	for (unsigned int i = 0; i < HEARTBEAT_TRIES && ret < 0; i++) {
		if (i)
			rest_ms(1000);
		ret = beat((unsigned int)cid);
	}
	if (ret < 0)
		fatal("the parent, CID %lu, does not answer at port %u: %s; is nitro-cli, or who "
		      "started this, still there? See sigring_parent= in sigring-enclave(8)",
		      cid, HEARTBEAT_PORT, strerror(-ret));
}

/* ---- the signer ---- */

static int limit(int what, rlim_t most)
{
	const struct rlimit value = { most, most };

	return setrlimit((__rlimit_resource_t)what, &value);
}

/* No user but SIGNER_ID, no capability, and no way to either. */
static int give_up_rights(void)
{
	for (unsigned long cap = 0; prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++)
		continue;
	if (errno != EINVAL)
		return -1;
	if (setgroups(0, NULL) < 0 || setresgid(SIGNER_ID, SIGNER_ID, SIGNER_ID) < 0 ||
	    setresuid(SIGNER_ID, SIGNER_ID, SIGNER_ID) < 0)
		return -1;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static _Noreturn void become_signer(void)
{
	char program[] = SIGNER, option[] = "--config", config[] = SIGNER_CONFIG;
	char *const argv[] = { program, option, config, NULL };
	char *const envp[] = { NULL };

	/* Its secrets are in locked memory, and nothing else wants memory here. */
	if (limit(RLIMIT_MEMLOCK, RLIM_INFINITY) < 0 || limit(RLIMIT_CORE, 0) < 0 ||
	    give_up_rights() < 0)
		say("cannot take the signer's rights away: %s", strerror(errno));
	else if (execve(program, argv, envp) < 0)
		say("cannot start " SIGNER ": %s", strerror(errno));
	_exit(1);
}

static pid_t start_signer(void)
{
	pid_t pid;

	if (chown(SR_NSM_PATH, SIGNER_ID, SIGNER_ID) < 0 || chmod(SR_NSM_PATH, 0600) < 0)
		fatal("cannot give " SR_NSM_PATH " to the signer: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		fatal("cannot fork: %s", strerror(errno));
	if (pid == 0)
		become_signer();
	return pid;
}

/* Whoever else loses his parent is reaped on the way. */
static void wait_for(pid_t signer)
{
	int status = 0;
	pid_t pid;

	do
		pid = wait(&status);
	while (pid != signer && (pid > 0 || errno == EINTR));
	if (pid != signer)
		fatal("the signer is gone: %s", strerror(errno));
	if (WIFSIGNALED(status))
		fatal("the signer was killed by signal %d (%s)", WTERMSIG(status),
		      WTERMSIG(status) == SIGSYS ? "a system call that it may not make" :
						   strsignal(WTERMSIG(status)));
	fatal("the signer ended with exit code %d; its last lines say why", WEXITSTATUS(status));
}

int main(void)
{
	static struct sr_nsm nsm; /* large */

	if (getpid() != 1) {
		(void)fprintf(stderr, "sigring-init: this is process 1 of an enclave image and "
				      "nothing else; see sigring-enclave(8)\n");
		return 2;
	}
	mount_dev();
	load_modules();
	open_nsm(&nsm);
	seed(&nsm);
	sr_nsm_close(&nsm);
	tell_parent();
	wait_for(start_signer());
}
