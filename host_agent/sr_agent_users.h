/* SPDX-License-Identifier: MIT */
/*
 * sr_agent_users.h - how much each user takes of what the agent relays.
 *
 * Conversations: a user may have as many open as are left free for others. So one
 * alone has half of all, a second a quarter, and it takes many who work together to
 * leave nothing; a newcomer is turned away only when all are taken.
 *
 * Failures: each user may have so many at once, and some are forgiven a second. A
 * conversation takes one in advance and gives it back when it succeeds: however much
 * succeeds is never slowed down.
 *
 * Fixed memory: a user is forgotten when nothing is known to his disadvantage. Time is
 * the caller's word, monotonic. One thread's own.
 */
#ifndef SR_AGENT_USERS_H
#define SR_AGENT_USERS_H

#include "sr_base.h"

#define SR_AGENT_USERS 1024u /* with anything to remember, at once */

struct sr_agent_user {
	uint32_t uid;
	uint32_t open;     /* conversations */
	uint64_t clear_ns; /* when his last failure will have been forgiven */
};

/* The fields are private, but for `open`. */
struct sr_agent_users {
	uint32_t open_max;
	uint32_t open; /* conversations, of all */
	uint32_t failures_max;
	uint64_t failure_ns; /* one is forgiven each */
	struct sr_agent_user users[SR_AGENT_USERS];
};

SR_BEGIN_DECLS

/* sr_agent_users_init - limits, none of them zero. */
void sr_agent_users_init(struct sr_agent_users *users, uint32_t open_max, uint32_t failures_max,
			 uint32_t failures_per_s);

/*
 * sr_agent_users_enter - a conversation of this user begins.
 *
 * Returns his place, to be named until sr_agent_users_leave(); -EDQUOT: he has as many
 * as are free, or nothing is.
 */
SR_WARN_UNUSED int sr_agent_users_enter(struct sr_agent_users *users, uint32_t uid,
					uint64_t now_ns);
void sr_agent_users_leave(struct sr_agent_users *users, int place);

/* sr_agent_users_charge - take one failure in advance. Returns whether there was one. */
SR_WARN_UNUSED bool sr_agent_users_charge(struct sr_agent_users *users, int place,
					  uint64_t now_ns);

/* sr_agent_users_forgive - it was none: give back what was taken. */
void sr_agent_users_forgive(struct sr_agent_users *users, int place);

SR_END_DECLS

#endif /* SR_AGENT_USERS_H */
