/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "signer_rig.h"

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

Test(secret, memory_is_zeroed_and_page_aligned)
{
	unsigned char *p;
	void *mem;

	rig_need_secret_memory();
	cr_assert_eq(sr_secret_alloc(&mem, 5000), 0);
	cr_assert_eq((uintptr_t)mem % page_bytes(), 0);
	p = mem;
	for (size_t i = 0; i < 5000; i++)
		cr_assert_eq(p[i], 0);
	memset(p, 1, 5000);
	sr_secret_free(mem, 5000);
	sr_secret_free(NULL, 5000);
}

Test(secret, sizes_out_of_range_are_refused)
{
	void *mem = &mem;

	cr_assert_eq(sr_secret_alloc(&mem, 0), -EINVAL);
	cr_assert_eq(sr_secret_alloc(&mem, (64u << 20) + 1), -EINVAL);
	cr_assert_eq(sr_secret_alloc(&mem, SIZE_MAX), -EINVAL);
	cr_assert(mem == &mem, "untouched on failure");
}

/* The death of a child that touches @p, or 0. */
static int signal_of_touch(volatile unsigned char *p)
{
	pid_t pid = fork();
	int status;

	cr_assert(pid >= 0);
	if (pid == 0) {
		(void)signal(SIGSEGV, SIG_DFL);
		*p = 1;
		_exit(0);
	}
	cr_assert(waitpid(pid, &status, 0) == pid);
	/* A sanitizer turns the signal into an exit code. */
	return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

Test(secret, guard_pages_stand_on_both_sides)
{
	unsigned char *p;
	void *mem;

	rig_need_secret_memory();
	cr_assert_eq(sr_secret_alloc(&mem, 100), 0);
	p = mem;
	cr_assert_eq(signal_of_touch(p), 0);
	cr_assert_eq(signal_of_touch(p + page_bytes() - 1), 0);
	cr_assert_neq(signal_of_touch(p - 1), 0);
	cr_assert_neq(signal_of_touch(p + page_bytes()), 0);
	sr_secret_free(mem, 100);
}

Test(secret, forked_child_finds_zeros)
{
	unsigned char *p;
	int status;
	void *mem;
	pid_t pid;

	rig_need_secret_memory();
	cr_assert_eq(sr_secret_alloc(&mem, 100), 0);
	p = mem;
	memset(p, 0x77, 100);
	pid = fork();
	cr_assert(pid >= 0);
	if (pid == 0)
		_exit(p[0] == 0 && p[99] == 0 ? 0 : 1);
	cr_assert(waitpid(pid, &status, 0) == pid);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	cr_assert_eq(p[0], 0x77, "the parent keeps it");
	sr_secret_free(mem, 100);
}

/* The flags of the mapping at @mem, from the kernel. */
static void flags_of(const void *mem, char *flags, size_t room)
{
	FILE *smaps = fopen("/proc/self/smaps", "r");
	unsigned long from, to;
	char line[512];
	bool here = false;

	flags[0] = '\0';
	cr_assert(smaps);
	while (fgets(line, sizeof line, smaps)) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			here = from <= (uintptr_t)mem && (uintptr_t)mem < to;
		else if (here && !strncmp(line, "VmFlags:", 8))
			(void)snprintf(flags, room, "%.200s", line);
	}
	(void)fclose(smaps);
}

Test(secret, kernel_says_locked_undumped_and_wiped_on_fork)
{
	char flags[256];
	void *mem;

	rig_need_secret_memory();
	cr_assert_eq(sr_secret_alloc(&mem, 100), 0);
	flags_of(mem, flags, sizeof flags);
	sr_secret_free(mem, 100);
	if (!flags[0])
		cr_skip_test("this kernel shows no VmFlags");
	if (!RIG_SANITIZED)
		cr_assert(strstr(flags, " lo"), "not locked: %s", flags);
	cr_assert(strstr(flags, " dd"), "in core dumps: %s", flags);
	cr_assert(strstr(flags, " wf"), "kept over fork: %s", flags);
}

Test(secret, nothing_is_handed_out_that_cannot_be_locked)
{
	struct rlimit none = { 0, 0 };
	void *mem = NULL;

	if (RIG_SANITIZED)
		cr_skip_test("sanitizers make mlock() do nothing");
	if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
		cr_skip_test("cannot become a user whom the memlock limit binds");
	cr_assert_eq(setrlimit(RLIMIT_MEMLOCK, &none), 0);
	cr_assert_eq(sr_secret_alloc(&mem, 100), -ENOMEM);
	cr_assert_null(mem);
}

#define MARK_BYTES 2048u

static volatile uintptr_t marked;

/* Leaves a mark in its frame, which is dead when it returns. */
static SR_NOINLINE void leave_mark(void)
{
	volatile unsigned char mark[MARK_BYTES];

	for (size_t i = 0; i < sizeof mark; i++)
		mark[i] = 0xa5;
	marked = (uintptr_t)mark;
}

Test(secret, stack_below_the_caller_is_wiped)
{
	const volatile unsigned char *dead;
	unsigned int left = 0;

	if (RIG_SANITIZED)
		cr_skip_test("sanitizers keep frames elsewhere");
	leave_mark();
	sr_wipe_stack();
	dead = (const volatile unsigned char *)marked;
	/* The topmost bytes of a frame are its own saved registers. */
	for (size_t i = 0; i < MARK_BYTES - 64; i++)
		left += dead[i] == 0xa5;
	cr_assert_eq(left, 0);
}

Test(secret, wipe_zeroes_all_of_it)
{
	unsigned char p[99];

	memset(p, 0xff, sizeof p);
	sr_wipe(p + 1, sizeof p - 2);
	cr_assert(p[0] == 0xff && p[98] == 0xff);
	for (size_t i = 1; i < 98; i++)
		cr_assert_eq(p[i], 0);
}

Test(secret, equal_sees_each_bit)
{
	unsigned char a[33], b[33];

	memset(a, 0x3c, sizeof a);
	memcpy(b, a, sizeof b);
	cr_assert(sr_equal(a, b, sizeof a));
	cr_assert(sr_equal(a, b, 0));
	for (size_t bit = 0; bit < 8 * sizeof b; bit++) {
		b[bit / 8] ^= (unsigned char)(1u << bit % 8);
		cr_assert_not(sr_equal(a, b, sizeof a));
		b[bit / 8] ^= (unsigned char)(1u << bit % 8);
	}
}
