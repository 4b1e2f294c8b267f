/* SPDX-License-Identifier: MIT */
/*
 * sr_quota.h - how often setting up a session may fail, and how many may wait.
 *
 * Failures alone are counted, each forgiven after a while. Work that costs something
 * takes one of everybody's in advance, gives it back when it succeeds and loses it when
 * it fails; what a client is known to have got wrong is charged to that client in its
 * place, and a client that has none of its own left loses none of everybody's either. So
 * however much succeeds is never slowed down, and at no time can more be under way than
 * may fail.
 *
 * A session waits from its handshake to its first record. There is a fixed number of
 * places and a client's share of them; a place whose time is up is free.
 *
 * Time is the caller's word, monotonic. Fixed memory, no secret; one thread's own.
 */
#ifndef SR_QUOTA_H
#define SR_QUOTA_H

#include "sr_base.h"
#include "sr_keyring.h"

#define SR_QUOTA_FAILURES_MAX 65536u
#define SR_QUOTA_FAILURE_NS_MAX (3600u * UINT64_C(1000000000))
#define SR_QUOTA_WAITING_MAX 256u

struct sr_quota_limits {
	uint64_t failure_ns; /* one failure of everybody's is forgiven each */
	uint64_t identity_failure_ns;
	uint64_t waiting_ns;   /* for a first record */
	uint32_t failures_max; /* and what is under way: at least the sessions */
	uint32_t identity_failures_max;
	uint32_t waiting_max; /* sessions that have sent nothing yet */
	uint32_t identity_waiting_max;
};

/* Free from until_ns on. */
struct sr_quota_place {
	uint64_t token[2];
	uint64_t until_ns;
	uint32_t identity;
};

/* The fields are private, but for how much is under way. */
struct sr_quota {
	struct sr_quota_limits limits;
	uint64_t under_way;
	uint64_t clear_ns; /* when the last failure will have been forgiven */
	uint64_t identity_clear_ns[SR_IDENTITIES_MAX];
	struct sr_quota_place places[SR_QUOTA_WAITING_MAX];
};

SR_BEGIN_DECLS

/* sr_quota_init - Returns 0; -EINVAL: a limit is zero, or above its maximum. */
SR_WARN_UNUSED int sr_quota_init(struct sr_quota *quota, const struct sr_quota_limits *limits);

/* sr_quota_take - take one failure in advance. Returns whether there was one; each that
 * was taken must be followed by one of the three below. */
SR_WARN_UNUSED bool sr_quota_take(struct sr_quota *quota, uint64_t now_ns);
void sr_quota_give_back(struct sr_quota *quota);
void sr_quota_fail(struct sr_quota *quota, uint64_t now_ns);
/* The client's loss; nobody's when it has no room, see below. */
void sr_quota_fail_identity(struct sr_quota *quota, uint32_t identity, uint64_t now_ns);

/* sr_quota_has_room - has this client any failures left? */
bool sr_quota_has_room(const struct sr_quota *quota, uint32_t identity, uint64_t now_ns);

/* sr_quota_forgive_identities - their indices mean others now. Who waits goes on, and
 * counts in nobody's share. */
void sr_quota_forgive_identities(struct sr_quota *quota);

/* sr_quota_place_find - a place to wait in, for sr_quota_wait(); NULL: all are taken, or this
 * client's share of them is. */
struct sr_quota_place *sr_quota_place_find(struct sr_quota *quota, uint32_t identity,
					   uint64_t now_ns);
void sr_quota_wait(const struct sr_quota *quota, struct sr_quota_place *place,
		   const uint64_t token[2], uint32_t identity, uint64_t now_ns);

/* sr_quota_waits - does a session of this name wait? */
bool sr_quota_waits(const struct sr_quota *quota, const uint64_t token[2], uint64_t now_ns);

/* sr_quota_settle - it does no more. Unknown tokens are ignored. */
void sr_quota_settle(struct sr_quota *quota, const uint64_t token[2]);

uint32_t sr_quota_waiting(const struct sr_quota *quota, uint64_t now_ns);

SR_END_DECLS

#endif /* SR_QUOTA_H */
