/* SPDX-License-Identifier: MIT */
/*
 * sr_policy_state.h - what the files of the policy share: the book, private to them.
 *
 * sr_policy.c has what changes with time, with rules and with what was signed;
 * sr_policy_judge.c has the checks, which change nothing.
 */
#ifndef SR_POLICY_STATE_H
#define SR_POLICY_STATE_H

#include "sr_policy.h"

struct sr_policy_book {
	uint64_t now_ns;
	uint64_t unix_ms; /* 0: nobody has said */
	uint64_t lease_until_ns;
	uint64_t nonce_floor; /* no key begins below what one has used */
	bool killed;
	struct sr_policy_table table;
	struct sr_policy_state states[SR_KEYS_MAX]; /* of the table's rules */

	/* While one table follows another. */
	struct sr_policy_table before;
	struct sr_policy_state states_before[SR_KEYS_MAX];
};

/* sr_policy_advance - what is too old falls away. */
void sr_policy_advance(struct sr_policy_book *book, uint32_t index);

/* sr_policy_session_has, sr_policy_key_has - are there so many tokens? */
bool sr_policy_session_has(const struct sr_policy_book *book, uint32_t index, uint64_t full_ns,
			   uint64_t tokens);
bool sr_policy_key_has(const struct sr_policy_book *book, uint32_t index, uint64_t tokens);

/* sr_policy_asset_find - in the list of a key; NULL. */
struct sr_policy_asset *sr_policy_asset_find(struct sr_policy_table *table, uint32_t index,
					     const struct sr_asset *id);

#endif /* SR_POLICY_STATE_H */
