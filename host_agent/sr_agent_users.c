/* SPDX-License-Identifier: MIT */
#include "sr_agent_users.h"
#include "sr_clock.h"

void sr_agent_users_init(struct sr_agent_users *users, uint32_t open_max, uint32_t failures_max,
			 uint32_t failures_per_s)
{
	memset(users, 0, sizeof *users);
	users->open_max = open_max;
	users->failures_max = failures_max;
	users->failure_ns = SR_NS_PER_S / failures_per_s;
}

/* A row of which nothing is remembered is anybody's. */
static bool is_free(const struct sr_agent_user *u, uint64_t now_ns)
{
	return u->open == 0 && u->clear_ns <= now_ns;
}

static int find(const struct sr_agent_users *users, uint32_t uid, uint64_t now_ns)
{
	int unused = -EDQUOT;

	for (uint32_t i = 0; i < SR_AGENT_USERS; i++) {
		if (is_free(&users->users[i], now_ns)) {
			if (unused < 0)
				unused = (int)i;
		} else if (users->users[i].uid == uid) {
			return (int)i;
		}
	}
	return unused;
}

int sr_agent_users_enter(struct sr_agent_users *users, uint32_t uid, uint64_t now_ns)
{
	int place = find(users, uid, now_ns);
	struct sr_agent_user *u;

	if (place < 0)
		return place;
	u = &users->users[place];
	if (is_free(u, now_ns))
		*u = (struct sr_agent_user){ .uid = uid };
	if (u->open >= users->open_max - users->open)
		return -EDQUOT;
	u->open++;
	users->open++;
	return place;
}

void sr_agent_users_leave(struct sr_agent_users *users, int place)
{
	users->users[place].open--;
	users->open--;
}

bool sr_agent_users_charge(struct sr_agent_users *users, int place, uint64_t now_ns)
{
	struct sr_agent_user *u = &users->users[place];
	uint64_t clear_ns = u->clear_ns > now_ns ? u->clear_ns : now_ns;

	if (clear_ns - now_ns > (users->failures_max - 1) * users->failure_ns)
		return false;
	u->clear_ns = clear_ns + users->failure_ns;
	return true;
}

void sr_agent_users_forgive(struct sr_agent_users *users, int place)
{
	users->users[place].clear_ns -= users->failure_ns;
}
