/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "sr_agent_users.h"
#include "sr_clock.h"

#define START_NS (1000ull * SR_NS_PER_S)

static struct sr_agent_users users;

static void begin(void)
{
	sr_agent_users_init(&users, 16, 3, 2);
}

static uint32_t enter_all(uint32_t uid)
{
	uint32_t n = 0;

	while (sr_agent_users_enter(&users, uid, START_NS) >= 0)
		n++;
	return n;
}

TestSuite(agent_users, .init = begin);

Test(agent_users, each_may_have_as_many_conversations_as_are_left_free)
{
	cr_assert_eq(enter_all(1), 8);
	cr_assert_eq(enter_all(2), 4);
	cr_assert_eq(enter_all(3), 2);
	cr_assert_eq(enter_all(4), 1);
	cr_assert_eq(enter_all(5), 1, "the last one goes to a newcomer");
	cr_assert_eq(enter_all(6), 0);
	cr_assert_eq(users.open, 16);
}

Test(agent_users, conversation_that_ends_makes_room)
{
	int place = sr_agent_users_enter(&users, 1, START_NS);

	cr_assert_eq(enter_all(1), 7);
	sr_agent_users_leave(&users, place);
	cr_assert_eq(users.open, 7);
	cr_assert_eq(enter_all(1), 1);
}

Test(agent_users, only_what_is_not_given_back_is_a_failure)
{
	int place = sr_agent_users_enter(&users, 1, START_NS);

	for (int i = 0; i < 100; i++) {
		cr_assert(sr_agent_users_charge(&users, place, START_NS));
		sr_agent_users_forgive(&users, place);
	}
	for (int i = 0; i < 3; i++)
		cr_assert(sr_agent_users_charge(&users, place, START_NS), "%d", i);
	cr_assert_not(sr_agent_users_charge(&users, place, START_NS));
}

Test(agent_users, failure_is_forgiven_after_its_time_and_no_sooner)
{
	int place = sr_agent_users_enter(&users, 1, START_NS);
	uint64_t half_ns = SR_NS_PER_S / 2;

	while (sr_agent_users_charge(&users, place, START_NS))
		;
	cr_assert_not(sr_agent_users_charge(&users, place, START_NS + half_ns - 1));
	cr_assert(sr_agent_users_charge(&users, place, START_NS + half_ns));
	cr_assert_not(sr_agent_users_charge(&users, place, START_NS + half_ns));
	for (int i = 0; i < 3; i++)
		cr_assert(sr_agent_users_charge(&users, place, START_NS + 100 * half_ns));
	cr_assert_not(sr_agent_users_charge(&users, place, START_NS + 100 * half_ns),
		      "no more than that is ever saved up");
}

Test(agent_users, failures_outlive_the_conversation_and_are_one_users_own)
{
	int place = sr_agent_users_enter(&users, 1, START_NS);
	int other = sr_agent_users_enter(&users, 2, START_NS);

	while (sr_agent_users_charge(&users, place, START_NS))
		;
	sr_agent_users_leave(&users, place);
	place = sr_agent_users_enter(&users, 1, START_NS);
	cr_assert(place >= 0);
	cr_assert_not(sr_agent_users_charge(&users, place, START_NS));
	cr_assert(sr_agent_users_charge(&users, other, START_NS));
}

Test(agent_users, place_is_anybodys_when_nothing_is_remembered)
{
	for (uint32_t uid = 0; uid < 3 * SR_AGENT_USERS; uid++) {
		int place = sr_agent_users_enter(&users, uid, START_NS);

		cr_assert(place >= 0, "user %u", uid);
		sr_agent_users_leave(&users, place);
	}
	for (uint32_t uid = 0; uid < SR_AGENT_USERS; uid++) {
		int place = sr_agent_users_enter(&users, uid, START_NS);

		cr_assert(place >= 0);
		cr_assert(sr_agent_users_charge(&users, place, START_NS));
		sr_agent_users_leave(&users, place);
	}
	cr_assert_eq(sr_agent_users_enter(&users, SR_AGENT_USERS, START_NS), -EDQUOT,
		     "no failure is forgotten to make room");
	cr_assert(sr_agent_users_enter(&users, SR_AGENT_USERS, START_NS + SR_NS_PER_S) >= 0);
}
