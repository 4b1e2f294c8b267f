/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <sched.h>
#include <unistd.h>

#include "sr_clock.h"
#include "sr_doorbell.h"
#include "sr_wait.h"

Test(wait, names_go_both_ways)
{
	for (int i = SR_WAIT_AUTO; i <= SR_WAIT_BLOCK; i++)
		cr_assert_eq(sr_wait_from_name(sr_wait_name((enum sr_wait_policy)i)), i);
	cr_assert_eq(sr_wait_from_name("sleep"), -EINVAL);
	cr_assert_eq(sr_wait_from_name(""), -EINVAL);
}

Test(wait, resolve_leaves_a_choice_alone)
{
	for (int i = SR_WAIT_SPIN; i <= SR_WAIT_BLOCK; i++)
		cr_assert_eq((int)sr_wait_resolve((enum sr_wait_policy)i, 1000), i);
}

Test(wait, auto_never_spins_with_more_loops_than_cores)
{
	cr_assert_eq(sr_wait_resolve(SR_WAIT_AUTO, 100000), SR_WAIT_YIELD);
}

/* Pinned to one core of several: that core was given to this thread. */
Test(wait, auto_spins_on_a_core_of_its_own)
{
	cpu_set_t set;
	enum sr_wait_policy policy;
	int cpu = sched_getcpu();

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		cr_skip_test("one core only");
	CPU_ZERO(&set);
	CPU_SET((unsigned int)cpu, &set);
	cr_assert_eq(sched_setaffinity(0, sizeof set, &set), 0);
	policy = sr_wait_resolve(SR_WAIT_AUTO, 2);
	cr_assert(policy == SR_WAIT_SPIN || policy == SR_WAIT_YIELD, "YIELD under a cgroup quota");
	/* Three spinning loops on two cores take whole time slices from each other. */
	cr_assert_eq(sr_wait_resolve(SR_WAIT_AUTO, 100000), SR_WAIT_YIELD, "pinned is not alone");
}

Test(wait, doorbell_that_was_rung_does_not_wait)
{
	int fd = sr_doorbell_new();
	uint64_t begin_ns = sr_now_ns();

	cr_assert(fd >= 0);
	sr_doorbell_ring(fd);
	sr_doorbell_ring(fd); /* twice is once */
	sr_doorbell_wait(fd, 10ull * SR_NS_PER_S);
	cr_assert_lt(sr_now_ns() - begin_ns, 5ull * SR_NS_PER_S);
	begin_ns = sr_now_ns();
	sr_doorbell_wait(fd, 20u * SR_NS_PER_MS);
	cr_assert_geq(sr_now_ns() - begin_ns, 15u * SR_NS_PER_MS, "waiting took the ring");
	(void)close(fd);
}

Test(wait, clear_takes_the_rings_that_have_come)
{
	int fd = sr_doorbell_new();
	uint64_t begin_ns;

	cr_assert(fd >= 0);
	sr_doorbell_clear(fd); /* nothing there: does not block */
	for (int i = 0; i < 1000; i++)
		sr_doorbell_ring(fd);
	sr_doorbell_clear(fd);
	begin_ns = sr_now_ns();
	sr_doorbell_wait(fd, 20u * SR_NS_PER_MS);
	cr_assert_geq(sr_now_ns() - begin_ns, 15u * SR_NS_PER_MS);
	(void)close(fd);
}

Test(wait, publisher_rings_only_for_a_sleeper)
{
	int fd = sr_doorbell_new();
	uint32_t sleeping = 0;
	uint64_t count = 0;

	cr_assert(fd >= 0);
	sr_doorbell_publish(&sleeping, fd);
	cr_assert_lt(read(fd, &count, sizeof count), 0, "nobody sleeps");
	sr_doorbell_arm(&sleeping);
	cr_assert_eq(sleeping, 1);
	sr_doorbell_publish(&sleeping, fd);
	cr_assert_eq(read(fd, &count, sizeof count), sizeof count);
	sr_doorbell_disarm(&sleeping);
	sr_doorbell_publish(&sleeping, fd);
	cr_assert_lt(read(fd, &count, sizeof count), 0);
	(void)close(fd);
}
