/* SPDX-License-Identifier: MIT */
/*
 * How often setting up a session may fail and how many may wait, by itself; what the
 * gate makes of it is in test_gate.c.
 */
#include <criterion/criterion.h>

#include "sr_quota.h"

#define SECOND UINT64_C(1000000000)

static struct sr_quota quota;
static const uint64_t start_ns = 5 * SECOND;

static void start(void)
{
	static const struct sr_quota_limits limits = {
		.failure_ns = SECOND,
		.identity_failure_ns = 2 * SECOND,
		.waiting_ns = 3 * SECOND,
		.failures_max = 3,
		.identity_failures_max = 2,
		.waiting_max = 4,
		.identity_waiting_max = 2,
	};

	cr_assert_eq(sr_quota_init(&quota, &limits), 0);
}

TestSuite(quota, .init = start);

Test(quota, no_more_is_under_way_than_may_fail)
{
	for (int i = 0; i < 3; i++)
		cr_assert(sr_quota_take(&quota, start_ns));
	cr_assert_not(sr_quota_take(&quota, start_ns));
	sr_quota_give_back(&quota);
	cr_assert(sr_quota_take(&quota, start_ns));
	sr_quota_fail(&quota, start_ns);
	cr_assert_not(sr_quota_take(&quota, start_ns));
	cr_assert_not(sr_quota_take(&quota, start_ns + SECOND - 1));
	cr_assert(sr_quota_take(&quota, start_ns + SECOND));
}

Test(quota, failures_are_forgiven_one_by_one)
{
	for (int i = 0; i < 3; i++)
		cr_assert(sr_quota_take(&quota, start_ns));
	for (int i = 0; i < 3; i++)
		sr_quota_fail(&quota, start_ns);
	for (uint64_t i = 1; i <= 3; i++) {
		cr_assert(sr_quota_take(&quota, start_ns + i * SECOND));
		cr_assert_not(sr_quota_take(&quota, start_ns + i * SECOND));
	}
}

Test(quota, each_client_has_failures_of_its_own)
{
	for (int i = 0; i < 2; i++) {
		cr_assert(sr_quota_has_room(&quota, 1, start_ns));
		cr_assert(sr_quota_take(&quota, start_ns));
		sr_quota_fail_identity(&quota, 1, start_ns);
	}
	cr_assert_not(sr_quota_has_room(&quota, 1, start_ns));
	cr_assert(sr_quota_has_room(&quota, 0, start_ns));
	cr_assert(sr_quota_has_room(&quota, SR_IDENTITIES_MAX - 1, start_ns));
	for (int i = 0; i < 3; i++)
		cr_assert(sr_quota_take(&quota, start_ns));

	cr_assert_not(sr_quota_has_room(&quota, 1, start_ns + 2 * SECOND - 1));
	cr_assert(sr_quota_has_room(&quota, 1, start_ns + 2 * SECOND));
	sr_quota_forgive_identities(&quota);
	cr_assert(sr_quota_has_room(&quota, 1, start_ns));
}

/* It is refused, but nobody pays: others could not help it. */
Test(quota, a_client_without_room_costs_nobody_anything)
{
	for (int i = 0; i < 20; i++) {
		cr_assert(sr_quota_take(&quota, start_ns));
		sr_quota_fail_identity(&quota, 1, start_ns);
	}
	cr_assert_eq(quota.under_way, 0);
	cr_assert_not(sr_quota_has_room(&quota, 1, start_ns + 2 * SECOND - 1));
	cr_assert(sr_quota_has_room(&quota, 1, start_ns + 2 * SECOND));
	for (int i = 0; i < 3; i++)
		cr_assert(sr_quota_take(&quota, start_ns));
}

static bool wait_as(uint64_t a, uint64_t b, uint32_t identity, uint64_t now_ns)
{
	const uint64_t token[2] = { a, b };
	struct sr_quota_place *place = sr_quota_place_find(&quota, identity, now_ns);

	if (place)
		sr_quota_wait(&quota, place, token, identity, now_ns);
	return place;
}

static bool waits(uint64_t a, uint64_t b, uint64_t now_ns)
{
	const uint64_t token[2] = { a, b };

	return sr_quota_waits(&quota, token, now_ns);
}

Test(quota, both_words_of_a_token_name_a_session)
{
	const uint64_t first[2] = { 1, 2 }, left[2] = { 1, 9 }, right[2] = { 9, 2 };

	cr_assert(wait_as(1, 2, 0, start_ns));
	cr_assert(waits(1, 2, start_ns));
	cr_assert_not(waits(1, 9, start_ns));
	cr_assert_not(waits(9, 2, start_ns));
	sr_quota_settle(&quota, left);
	sr_quota_settle(&quota, right);
	cr_assert_eq(sr_quota_waiting(&quota, start_ns), 1);
	sr_quota_settle(&quota, first);
	cr_assert_eq(sr_quota_waiting(&quota, start_ns), 0);
	cr_assert_not(waits(1, 2, start_ns));
}

Test(quota, places_are_shared_and_run_out)
{
	cr_assert(wait_as(1, 1, 0, start_ns));
	cr_assert(wait_as(1, 2, 0, start_ns));
	cr_assert_not(wait_as(1, 3, 0, start_ns));
	cr_assert(wait_as(2, 1, 1, start_ns + SECOND));
	cr_assert(wait_as(2, 2, 2, start_ns + SECOND));
	cr_assert_not(wait_as(2, 3, 3, start_ns + SECOND));
	cr_assert_eq(sr_quota_waiting(&quota, start_ns + SECOND), 4);

	/* The first two have had their time. */
	cr_assert(waits(1, 1, start_ns + 3 * SECOND - 1));
	cr_assert_not(waits(1, 1, start_ns + 3 * SECOND));
	cr_assert(wait_as(2, 3, 3, start_ns + 3 * SECOND));
	cr_assert(waits(2, 1, start_ns + 3 * SECOND));
	cr_assert_eq(sr_quota_waiting(&quota, start_ns + 3 * SECOND), 3);
}

/* An index means another client from then on, whose share nobody else takes up. */
Test(quota, who_waits_under_an_index_that_has_changed_counts_in_nobodys_share)
{
	for (uint64_t i = 0; i < 2; i++) {
		struct sr_quota_place *place = sr_quota_place_find(&quota, 1, start_ns);
		const uint64_t token[2] = { i, 7 };

		cr_assert_not_null(place);
		sr_quota_wait(&quota, place, token, 1, start_ns);
	}
	cr_assert_null(sr_quota_place_find(&quota, 1, start_ns));
	sr_quota_forgive_identities(&quota);
	cr_assert_not_null(sr_quota_place_find(&quota, 1, start_ns));
	cr_assert_eq(sr_quota_waiting(&quota, start_ns), 2);
}
