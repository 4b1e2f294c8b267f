/* SPDX-License-Identifier: MIT */
/*
 * sr_task.h - what the control thread has a signing thread do.
 *
 * Sessions that were set up, the rights of a manifest, keys that came and went: all of
 * it is made ready by the thread that may allocate, compute and wait, handed over, done
 * between two records in some microseconds at most, and handed back with its result.
 * Whoever hands it over orders the two threads (sr_mailbox.h).
 *
 * It holds keys: place it in protected memory.
 */
#ifndef SR_TASK_H
#define SR_TASK_H

#include "sr_admission.h"
#include "sr_keyring.h"
#include "sr_rights.h"
#include "sr_trace.h"

enum sr_task_kind {
	SR_TASK_ADMIT = 1,      /* admission: sr_core_admit() */
	SR_TASK_RIGHTS = 2,     /* rights; cannot fail */
	SR_TASK_KEY_ADD = 3,    /* entry: -EEXIST, -ENOSPC; -ENOTUNIQ: it is here under
				   another id */
	SR_TASK_KEY_ROTATE = 4, /* entry, in place of the key of its id, held if that
				   was: -ENOENT, -ENOTUNIQ */
	SR_TASK_KEY_DELETE = 5, /* id: -ENOENT */
	SR_TASK_KEY_HOLD = 6,   /* id, held: -ENOENT; -EKEYREVOKED: it met a fault */
	SR_TASK_KEY_LIST = 7,   /* list */
	SR_TASK_POLICY = 8,     /* word: as sr_policy_hear() */
	SR_TASK_TRACE = 9,      /* trace: sr_trace_read(); -EOPNOTSUPP: there is none */
	SR_TASK_DRAIN = 10,     /* held: sign nothing, or sign again; cannot fail */
	SR_TASK_STATUS = 11,    /* status */
};

/* What the signing thread says of itself; counters are since the start. */
struct sr_task_status {
	uint64_t signed_ok;
	uint64_t denied;
	uint32_t keys;
	uint32_t sessions;
	uint32_t sessions_max;
	uint32_t pool_depth;
	uint32_t pool_slots; /* 0: there is no pool */
	bool draining;
};

struct sr_key_list {
	uint32_t count;
	struct sr_key_info keys[SR_KEYS_MAX];
};

struct sr_task {
	enum sr_task_kind kind;
	int result; /* 0 or -errno, when it comes back */
	uint32_t id;
	bool held;
	union {
		struct sr_admission admission;
		struct sr_rights rights;
		struct sr_key_entry entry; /* comes back wiped, or as it was when it failed */
		struct sr_key_list list;
		struct sr_policy_word word;
		struct sr_trace_piece trace; /* its entries are whose task it is */
		struct sr_task_status status;
	};
};

SR_BEGIN_DECLS

/* sr_task_wipe - when it has come back; a zeroed one is legal. */
void sr_task_wipe(struct sr_task *task);

SR_END_DECLS

#endif /* SR_TASK_H */
