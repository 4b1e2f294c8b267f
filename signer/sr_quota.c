/* SPDX-License-Identifier: MIT */
#include "sr_quota.h"

static bool rate_valid(uint32_t max, uint64_t each_ns)
{
	return max >= 1 && max <= SR_QUOTA_FAILURES_MAX && each_ns >= 1 &&
	       each_ns <= SR_QUOTA_FAILURE_NS_MAX;
}

int sr_quota_init(struct sr_quota *quota, const struct sr_quota_limits *limits)
{
	if (!rate_valid(limits->failures_max, limits->failure_ns) ||
	    !rate_valid(limits->identity_failures_max, limits->identity_failure_ns) ||
	    limits->waiting_ns == 0 || limits->waiting_ns > SR_QUOTA_FAILURE_NS_MAX ||
	    limits->waiting_max == 0 || limits->waiting_max > SR_QUOTA_WAITING_MAX ||
	    limits->identity_waiting_max == 0)
		return -EINVAL;
	memset(quota, 0, sizeof *quota);
	quota->limits = *limits;
	return 0;
}

/* ---- failures: of each kind only the time when all will be forgiven is kept ---- */

static uint64_t count(uint64_t clear_ns, uint64_t each_ns, uint64_t now_ns)
{
	return clear_ns > now_ns ? (clear_ns - now_ns + each_ns - 1) / each_ns : 0;
}

static void add(uint64_t *clear_ns, uint64_t each_ns, uint64_t now_ns)
{
	*clear_ns = (*clear_ns > now_ns ? *clear_ns : now_ns) + each_ns;
}

bool sr_quota_take(struct sr_quota *quota, uint64_t now_ns)
{
	uint64_t failures = count(quota->clear_ns, quota->limits.failure_ns, now_ns);

	if (failures + quota->under_way >= quota->limits.failures_max)
		return false;
	quota->under_way++;
	return true;
}

void sr_quota_give_back(struct sr_quota *quota)
{
	quota->under_way--;
}

void sr_quota_fail(struct sr_quota *quota, uint64_t now_ns)
{
	quota->under_way--;
	add(&quota->clear_ns, quota->limits.failure_ns, now_ns);
}

bool sr_quota_has_room(const struct sr_quota *quota, uint32_t identity, uint64_t now_ns)
{
	const struct sr_quota_limits *l = &quota->limits;

	return count(quota->identity_clear_ns[identity], l->identity_failure_ns, now_ns) <
	       l->identity_failures_max;
}

void sr_quota_fail_identity(struct sr_quota *quota, uint32_t identity, uint64_t now_ns)
{
	quota->under_way--;
	if (sr_quota_has_room(quota, identity, now_ns))
		add(&quota->identity_clear_ns[identity], quota->limits.identity_failure_ns, now_ns);
}

void sr_quota_forgive_identities(struct sr_quota *quota)
{
	memset(quota->identity_clear_ns, 0, sizeof quota->identity_clear_ns);
	for (uint32_t i = 0; i < quota->limits.waiting_max; i++)
		quota->places[i].identity = SR_IDENTITIES_MAX;
}

/* ---- sessions that have sent nothing yet ---- */

struct sr_quota_place *sr_quota_place_find(struct sr_quota *quota, uint32_t identity,
					   uint64_t now_ns)
{
	struct sr_quota_place *place = NULL;
	uint32_t own = 0;

	for (uint32_t i = 0; i < quota->limits.waiting_max; i++) {
		struct sr_quota_place *p = &quota->places[i];

		if (p->until_ns <= now_ns)
			place = p;
		else if (p->identity == identity)
			own++;
	}
	return own < quota->limits.identity_waiting_max ? place : NULL;
}

void sr_quota_wait(const struct sr_quota *quota, struct sr_quota_place *place,
		   const uint64_t token[2], uint32_t identity, uint64_t now_ns)
{
	place->token[0] = token[0];
	place->token[1] = token[1];
	place->identity = identity;
	place->until_ns = now_ns + quota->limits.waiting_ns;
}

static bool named(const struct sr_quota_place *place, const uint64_t token[2])
{
	return place->token[0] == token[0] && place->token[1] == token[1];
}

bool sr_quota_waits(const struct sr_quota *quota, const uint64_t token[2], uint64_t now_ns)
{
	for (uint32_t i = 0; i < quota->limits.waiting_max; i++)
		if (quota->places[i].until_ns > now_ns && named(&quota->places[i], token))
			return true;
	return false;
}

/* Every place of that name: one whose time was up may have been followed by another. */
void sr_quota_settle(struct sr_quota *quota, const uint64_t token[2])
{
	for (uint32_t i = 0; i < quota->limits.waiting_max; i++)
		if (named(&quota->places[i], token))
			quota->places[i].until_ns = 0;
}

uint32_t sr_quota_waiting(const struct sr_quota *quota, uint64_t now_ns)
{
	uint32_t waiting = 0;

	for (uint32_t i = 0; i < quota->limits.waiting_max; i++)
		waiting += quota->places[i].until_ns > now_ns;
	return waiting;
}
