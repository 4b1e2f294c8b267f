/* SPDX-License-Identifier: MIT */
#include "sr_policy.h"

#include <stdlib.h>

#include "sr_policy_state.h"

int sr_policy_book_new(struct sr_policy_book **book)
{
	*book = calloc(1, sizeof **book);
	return *book ? 0 : -ENOMEM;
}

void sr_policy_book_delete(struct sr_policy_book *book)
{
	free(book);
}

struct sr_policy_asset *sr_policy_asset_find(struct sr_policy_table *table, uint32_t index,
					     const struct sr_asset *id)
{
	const struct sr_policy_range *range = &table->rules[index].assets;

	for (uint32_t i = 0; i < range->count; i++)
		if (sr_asset_equal(&table->assets[range->first + i].market.asset, id))
			return &table->assets[range->first + i];
	return NULL;
}

/* ---- amounts by time ---- */

/* What lies before @oldest counts no more. Time that goes back changes nothing. */
static void ring_advance(struct sr_policy_ring *ring, uint64_t oldest)
{
	uint64_t spans = oldest > ring->oldest ? oldest - ring->oldest : 0;

	if (spans > SR_POLICY_SLOTS)
		spans = SR_POLICY_SLOTS;
	for (uint64_t i = 0; i < spans; i++) {
		uint64_t *amount = &ring->amounts[(ring->oldest + i) % SR_POLICY_SLOTS];

		ring->total -= *amount;
		*amount = 0;
	}
	if (oldest > ring->oldest)
		ring->oldest = oldest;
}

static void ring_add(struct sr_policy_ring *ring, uint64_t span, uint64_t amount)
{
	uint64_t last = ring->oldest + SR_POLICY_SLOTS - 1;

	if (span < ring->oldest)
		span = ring->oldest;
	if (span > last)
		span = last;
	/* Limits are checked before: only a seed can come near the end. */
	if (amount > UINT64_MAX - ring->total)
		amount = UINT64_MAX - ring->total;
	ring->total += amount;
	ring->amounts[span % SR_POLICY_SLOTS] += amount;
}

static void ring_restart(struct sr_policy_ring *ring, uint64_t oldest, uint64_t span,
			 uint64_t amount)
{
	memset(ring, 0, sizeof *ring);
	ring->oldest = oldest;
	ring_add(ring, span, amount);
}

static uint64_t window_ns(const struct sr_policy_rules *rules)
{
	return (uint64_t)rules->window_s * 1000000000u;
}

static uint64_t window_span_ns(const struct sr_policy_rules *rules)
{
	return (window_ns(rules) + SR_POLICY_SPANS - 1) / SR_POLICY_SPANS;
}

/* The span that is now. Those of the window: it and SR_POLICY_SPANS before it, so that
 * nothing falls away before its time. */
static uint64_t window_now(const struct sr_policy_book *book, const struct sr_policy_rules *rules)
{
	uint64_t span_ns = window_span_ns(rules);

	return span_ns ? SR_POLICY_SPANS + book->now_ns / span_ns : SR_POLICY_SPANS;
}

static bool expiry_bounded(const struct sr_policy_rules *rules)
{
	return rules->expiry_ms_max && rules->expiry_ms_max != SR_POLICY_UNLIMITED;
}

static uint64_t expiry_span_ms(const struct sr_policy_rules *rules)
{
	return expiry_bounded(rules) ?
		       (rules->expiry_ms_max + SR_POLICY_SPANS - 1) / SR_POLICY_SPANS :
		       1;
}

/* Rounded up: it counts until it has expired. */
static uint64_t expiry_span(const struct sr_policy_rules *rules, uint64_t expiry_ms)
{
	uint64_t span_ms = expiry_span_ms(rules);

	return expiry_ms / span_ms + (expiry_ms % span_ms != 0);
}

static uint64_t expiry_last(const struct sr_policy_book *book, const struct sr_policy_rules *rules)
{
	return expiry_bounded(rules) ? expiry_span(rules, book->unix_ms + rules->expiry_ms_max) : 0;
}

static uint64_t expiry_oldest(const struct sr_policy_book *book,
			      const struct sr_policy_rules *rules)
{
	return book->unix_ms / expiry_span_ms(rules) + 1;
}

void sr_policy_advance(struct sr_policy_book *book, uint32_t index)
{
	const struct sr_policy_rules *rules = &book->table.rules[index];
	struct sr_policy_state *state = &book->states[index];

	ring_advance(&state->window, window_now(book, rules) - SR_POLICY_SPANS);
	ring_advance(&state->unexpired, expiry_oldest(book, rules));
}

/* ---- buckets ---- */

static uint64_t token_ns(uint32_t per_s)
{
	return (1000000000u + per_s - 1) / per_s;
}

static bool bucket_has(uint64_t now_ns, uint64_t full_ns, uint32_t per_s, uint32_t burst,
		       uint64_t tokens)
{
	uint64_t since = full_ns > now_ns ? full_ns - now_ns : 0, room;

	if (!per_s)
		return false;
	room = burst * token_ns(per_s);
	return since <= room && tokens * token_ns(per_s) <= room - since;
}

static uint64_t bucket_after(uint64_t now_ns, uint64_t full_ns, uint32_t per_s, uint64_t tokens)
{
	return (full_ns > now_ns ? full_ns : now_ns) + tokens * token_ns(per_s);
}

bool sr_policy_session_has(const struct sr_policy_book *book, uint32_t index, uint64_t full_ns,
			   uint64_t tokens)
{
	const struct sr_policy_rules *rules = &book->table.rules[index];

	return bucket_has(book->now_ns, full_ns, rules->session_per_s, rules->session_burst,
			  tokens);
}

bool sr_policy_key_has(const struct sr_policy_book *book, uint32_t index, uint64_t tokens)
{
	const struct sr_policy_rules *rules = &book->table.rules[index];

	return bucket_has(book->now_ns, book->states[index].full_ns, rules->key_per_s,
			  rules->key_burst, tokens);
}

/* ---- what a key starts with ---- */

/* As much as could have been signed by a boot before this one has been. */
static void begin(struct sr_policy_book *book, uint32_t index)
{
	const struct sr_policy_rules *rules = &book->table.rules[index];
	struct sr_policy_state *state = &book->states[index];

	memset(state, 0, sizeof *state);
	if (rules->key_per_s)
		state->full_ns = bucket_after(book->now_ns, 0, rules->key_per_s, rules->key_burst);
	ring_restart(&state->window, window_now(book, rules) - SR_POLICY_SPANS,
		     window_now(book, rules), 0);
	ring_restart(&state->unexpired, expiry_oldest(book, rules), expiry_last(book, rules), 0);
	state->window_known_ns = book->now_ns + window_ns(rules);
	if (expiry_bounded(rules))
		state->unexpired_known_ms = book->unix_ms + rules->expiry_ms_max;
	state->nonce = book->unix_ms + SR_POLICY_LEAD_MS_MAX;
	if (state->nonce < book->nonce_floor)
		state->nonce = book->nonce_floor;
	state->begun = true;
}

static void begin_all(struct sr_policy_book *book)
{
	for (uint32_t i = 0; i < book->table.count; i++)
		if (!book->states[i].begun)
			begin(book, i);
}

void sr_policy_time(struct sr_policy_book *book, uint64_t now_ns, uint64_t unix_ms)
{
	bool first = !book->unix_ms;

	book->now_ns = now_ns;
	book->unix_ms = unix_ms;
	if (SR_UNLIKELY(first) && unix_ms)
		begin_all(book);
}

/* What was signed before the old window began has been forgotten, and a longer one wants
 * to know it. A shorter one knows no more than before. */
static void carry_window(struct sr_policy_book *book, struct sr_policy_state *state,
			 const struct sr_policy_rules *before, const struct sr_policy_rules *rules)
{
	if (rules->window_s <= before->window_s)
		return;
	if (state->window_known_ns < book->now_ns)
		state->window_known_ns = book->now_ns;
	state->window_known_ns += window_ns(rules) - window_ns(before);
}

/* Of what was signed under a bound each order is known; before the start, and without a
 * bound, none. */
static void carry_unexpired(struct sr_policy_book *book, struct sr_policy_state *state,
			    const struct sr_policy_rules *before,
			    const struct sr_policy_rules *rules)
{
	if (!expiry_bounded(rules))
		return;
	if (!expiry_bounded(before))
		state->unexpired_known_ms = book->unix_ms + rules->expiry_ms_max;
	else if (state->unexpired_known_ms > book->unix_ms &&
		 rules->expiry_ms_max > before->expiry_ms_max)
		state->unexpired_known_ms += rules->expiry_ms_max - before->expiry_ms_max;
}

/* Spans of another length: what counts in the old ones counts as if signed just now. */
static void carry_state(struct sr_policy_book *book, uint32_t index, uint32_t index_before)
{
	const struct sr_policy_rules *before = &book->before.rules[index_before];
	const struct sr_policy_state *state = &book->states_before[index_before];
	const struct sr_policy_rules *rules = &book->table.rules[index];
	struct sr_policy_state *now = &book->states[index];
	uint64_t most = 0;

	*now = *state;
	carry_window(book, now, before, rules);
	carry_unexpired(book, now, before, rules);
	if (rules->window_s != before->window_s)
		ring_restart(&now->window, window_now(book, rules) - SR_POLICY_SPANS,
			     window_now(book, rules), state->window.total);
	if (rules->expiry_ms_max != before->expiry_ms_max)
		ring_restart(&now->unexpired, expiry_oldest(book, rules), expiry_last(book, rules),
			     state->unexpired.total);
	if (rules->key_per_s)
		most = bucket_after(book->now_ns, 0, rules->key_per_s, rules->key_burst);
	if (now->full_ns > most)
		now->full_ns = most;
}

/* Bands are the manifest's again, but a word that was heard is not heard again. */
static void carry(struct sr_policy_book *book, uint32_t index, uint32_t index_before)
{
	const struct sr_policy_range *range = &book->table.rules[index].assets;

	for (uint32_t i = 0; i < range->count; i++) {
		struct sr_policy_asset *asset = &book->table.assets[range->first + i];
		const struct sr_policy_asset *before = sr_policy_asset_find(
			&book->before, index_before, &asset->market.asset);

		if (before)
			asset->band_sequence = before->band_sequence;
	}
	if (book->states_before[index_before].begun)
		carry_state(book, index, index_before);
}

void sr_policy_obey(struct sr_policy_book *book, const struct sr_policy_table *table)
{
	uint32_t count = book->table.count;

	for (uint32_t i = 0; i < count; i++) {
		if (book->states[i].begun)
			sr_policy_advance(book, i);
		if (book->states[i].nonce > book->nonce_floor)
			book->nonce_floor = book->states[i].nonce;
	}
	book->before = book->table;
	memcpy(book->states_before, book->states, sizeof book->states);
	book->table = *table;
	memset(book->states, 0, sizeof book->states);
	for (uint32_t i = 0; i < table->count; i++)
		for (uint32_t j = 0; j < count; j++)
			if (book->before.rules[j].key == table->rules[i].key)
				carry(book, i, j);
	if (book->unix_ms)
		begin_all(book);
}

void sr_policy_seed(struct sr_policy_book *book, uint32_t index, uint64_t window,
		    uint64_t unexpired)
{
	const struct sr_policy_rules *rules = &book->table.rules[index];
	struct sr_policy_state *state = &book->states[index];

	state->full_ns = 0;
	state->window_known_ns = 0;
	state->unexpired_known_ms = 0;
	ring_restart(&state->window, window_now(book, rules) - SR_POLICY_SPANS,
		     window_now(book, rules), window);
	ring_restart(&state->unexpired, expiry_oldest(book, rules), expiry_last(book, rules),
		     unexpired);
}

/* ---- spending ---- */

void sr_policy_spend(struct sr_policy_book *book, const struct sr_policy_verdict *verdict,
		     uint64_t *session_full_ns)
{
	const struct sr_policy_rules *rules = &book->table.rules[verdict->index];
	struct sr_policy_state *state = &book->states[verdict->index];

	if (verdict->nonce > state->nonce)
		state->nonce = verdict->nonce;
	if (verdict->tokens) {
		*session_full_ns = bucket_after(book->now_ns, *session_full_ns,
						rules->session_per_s, verdict->tokens);
		state->full_ns = bucket_after(book->now_ns, state->full_ns, rules->key_per_s,
					      verdict->tokens);
	}
	if (verdict->notional)
		ring_add(&state->window, window_now(book, rules), verdict->notional);
	if (verdict->unexpired)
		ring_add(&state->unexpired, expiry_span(rules, verdict->expiry_ms),
			 verdict->unexpired);
}

/* ---- what operators change ---- */

void sr_policy_kill(struct sr_policy_book *book, bool killed)
{
	book->killed = killed;
}

void sr_policy_lease(struct sr_policy_book *book, uint64_t until_ns)
{
	book->lease_until_ns = until_ns;
}

int sr_policy_index(const struct sr_policy_book *book, uint32_t key)
{
	for (uint32_t i = 0; i < book->table.count; i++)
		if (book->table.rules[i].key == key)
			return (int)i;
	return -ENOENT;
}

int sr_policy_band(struct sr_policy_book *book, uint32_t key, const struct sr_asset *asset,
		   const struct sr_policy_bound *min, const struct sr_policy_bound *max,
		   uint64_t sequence)
{
	int index = sr_policy_index(book, key);
	struct sr_policy_asset *found =
		index < 0 ? NULL : sr_policy_asset_find(&book->table, (uint32_t)index, asset);

	if (!found)
		return -ENOENT;
	if (sequence <= found->band_sequence)
		return -ESTALE;
	found->price_min = *min;
	found->price_max = *max;
	found->band_sequence = sequence;
	return 0;
}

int sr_policy_hear(struct sr_policy_book *book, const struct sr_policy_word *word)
{
	int index;

	switch (word->say) {
	case SR_POLICY_SAY_KILL:
		sr_policy_kill(book, word->killed);
		return 0;
	case SR_POLICY_SAY_LEASE:
		sr_policy_lease(book, book->now_ns + (uint64_t)word->lease_s * 1000000000u);
		return 0;
	case SR_POLICY_SAY_BAND:
		return sr_policy_band(book, word->key, &word->asset, &word->price_min,
				      &word->price_max, word->sequence);
	case SR_POLICY_SAY_SEED:
		index = sr_policy_index(book, word->key);
		if (index < 0)
			return index;
		sr_policy_seed(book, (uint32_t)index, word->window, word->unexpired);
		return 0;
	default:
		return -EINVAL;
	}
}

void sr_policy_state_get(const struct sr_policy_book *book, uint32_t index,
			 struct sr_policy_state *state)
{
	*state = book->states[index];
}
