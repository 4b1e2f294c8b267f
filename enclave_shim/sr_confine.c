/* SPDX-License-Identifier: MIT */
#include "sr_confine.h"

#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "sr_nsm.h"

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#define NUMBER_MAX 0x3fffffffu /* above it are those of x32 */
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#define NUMBER_MAX 0x7fffffffu
#else
#define ARCH 0u
#define NUMBER_MAX 0u
#endif

enum check {
	ANY = 0,
	IF_NSM,     /* the second argument is the module's request */
	IF_NO_CODE, /* the third asks for no PROT_EXEC */
};

struct call {
	const char *name;
	uint32_t number;
	enum check check;
};
#define CALL(name, check) { #name, SYS_##name, check }

/* mp_confine.c sees that nothing is missing here, and that nothing is too many, of the same
 * objects with a mock for a module and a shared libc. The static program of an image runs in
 * a guest (tests/guest), where a call that were missing would kill it. */
static const struct call calls[] = {
	CALL(accept4, ANY),
	CALL(brk, ANY),
	CALL(clock_gettime, ANY), /* where the clock cannot be read without */
	CALL(clock_nanosleep, ANY),
	CALL(close, ANY),
	CALL(exit, ANY),
	CALL(exit_group, ANY),
	CALL(futex, ANY),
	CALL(getpid, ANY), /* OpenSSL, into the seed of its generator */
	CALL(getrandom, ANY),
	CALL(getrusage, ANY), /* for a status */
	CALL(ioctl, IF_NSM),
	CALL(mmap, IF_NO_CODE), /* by malloc, where brk() is refused */
	CALL(munmap, ANY),
#ifdef SYS_poll
	CALL(poll, ANY),
#else
	CALL(ppoll, ANY),
#endif
	CALL(read, ANY),
	CALL(recvfrom, ANY),
	CALL(restart_syscall, ANY), /* a wait that a stop has broken off */
	CALL(rt_sigaction, ANY),
	CALL(rt_sigprocmask, ANY),
	CALL(rt_sigreturn, ANY),
	CALL(sched_yield, ANY),
	CALL(sendto, ANY),
	CALL(write, ANY),
};
#define CALLS (sizeof calls / sizeof calls[0])

const char *sr_confine_name(size_t i)
{
	return i < CALLS ? calls[i].name : NULL;
}

/* ---- the filter ---- */

#define PER_CALL 6u
struct filter {
	unsigned short count;
	struct sock_filter code[8 + CALLS * PER_CALL];
};

static void put(struct filter *f, struct sock_filter instruction)
{
	f->code[f->count++] = instruction;
}

static void put_load(struct filter *f, size_t offset)
{
	put(f, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

/* Go on when it is equal, else skip so many. */
static void put_equal(struct filter *f, uint32_t value, unsigned char skip)
{
	put(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip));
}

static void put_return(struct filter *f, uint32_t action)
{
	put(f, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

/* Arguments are 64 bits; request and protection are int, so the lower half is all that
 * the kernel looks at. */
static size_t low_half(unsigned int argument)
{
	size_t offset = offsetof(struct seccomp_data, args) + argument * sizeof(uint64_t);

	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? offset : offset + 4;
}

/* The accumulator holds the number of the call, before and behind. */
static void put_call(struct filter *f, const struct call *call)
{
	if (call->check == ANY) {
		put_equal(f, call->number, 1);
		put_return(f, SECCOMP_RET_ALLOW);
		return;
	}
	put_equal(f, call->number, 4);
	put_load(f, low_half(call->check == IF_NSM ? 1 : 2));
	if (call->check == IF_NSM)
		put_equal(f, SR_NSM_REQUEST, 1);
	else
		put(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 1, 0));
	put_return(f, SECCOMP_RET_ALLOW);
	put_return(f, SECCOMP_RET_KILL_PROCESS);
}

static void make(struct filter *f)
{
	f->count = 0;
	put_load(f, offsetof(struct seccomp_data, arch));
	put_equal(f, ARCH, 2);
	put_load(f, offsetof(struct seccomp_data, nr));
	put(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, NUMBER_MAX, 0, 1));
	put_return(f, SECCOMP_RET_KILL_PROCESS);
	for (size_t i = 0; i < CALLS; i++)
		put_call(f, &calls[i]);
	put_return(f, SECCOMP_RET_KILL_PROCESS);
}

int sr_confine(struct sr_reason *why)
{
	struct filter filter;
	struct sock_fprog program;
	long ret;

	if (!ARCH)
		return sr_reason_set(why, -ENOSYS, "no system call of this processor is known");
	make(&filter);
	program = (struct sock_fprog){ .len = filter.count, .filter = filter.code };
	ret = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (ret == 0)
		ret = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			      SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program);
	if (ret < 0)
		return sr_reason_set(why, -errno,
				     "cannot give up system calls: %s; the kernel needs "
				     "CONFIG_SECCOMP_FILTER, and to be Linux 4.17 or newer",
				     strerror(errno));
	return ret > 0 ? sr_reason_set(why, -EBUSY,
				       "cannot give up system calls: thread %ld has a filter of its "
				       "own",
				       ret) :
			 0;
}
