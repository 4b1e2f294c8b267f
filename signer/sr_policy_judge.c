/* SPDX-License-Identifier: MIT */
#include "sr_policy_state.h"

/* 10^19 is the last power of ten in 64 bits. */
#define POWER_MAX 19u

static const uint64_t powers[POWER_MAX + 1] = {
	1,
	10,
	100,
	1000,
	10000,
	100000,
	1000000,
	10000000,
	100000000,
	1000000000,
	10000000000,
	100000000000,
	1000000000000,
	10000000000000,
	100000000000000,
	1000000000000000,
	10000000000000000,
	100000000000000000,
	1000000000000000000,
	10000000000000000000u,
};

/* An order before its rules. */
struct judging {
	struct sr_policy_book *book;
	const struct sr_policy_rules *rules;
	const struct sr_policy_state *state;
	const struct sr_order *order;
	const struct sr_order_view *view;
	struct sr_policy_verdict *verdict;
	uint64_t session_full_ns;
};

/* ---- numbers ---- */

/* False: it does not fit. */
static bool scale_up(sr_u128 *v, unsigned int places)
{
	while (places && *v) {
		unsigned int step = places < POWER_MAX ? places : POWER_MAX;

		if (__builtin_mul_overflow(*v, powers[step], v))
			return false;
		places -= step;
	}
	return true;
}

/* -1, 0, 1 as a / 10^a_decimals is below, at or above b. What leaves 128 bits is above
 * all that is in them, so nothing is rounded and nothing wraps. */
static int compare(sr_u128 a, int a_decimals, sr_u128 b, int b_decimals)
{
	if (a_decimals < b_decimals && !scale_up(&a, (unsigned int)(b_decimals - a_decimals)))
		return 1;
	if (b_decimals < a_decimals && !scale_up(&b, (unsigned int)(a_decimals - b_decimals)))
		return -1;
	return (a > b) - (a < b);
}

static bool at_most(sr_u128 v, int decimals, const struct sr_policy_bound *bound)
{
	return bound->given &&
	       (bound->unlimited || compare(v, decimals, bound->value, bound->decimals) <= 0);
}

static bool at_least(sr_u128 v, int decimals, const struct sr_policy_bound *bound)
{
	return bound->given && compare(v, decimals, bound->value, bound->decimals) >= 0;
}

/* ---- what is done, where, for whom ---- */

static bool is_kind(const struct judging *j, uint32_t kinds)
{
	return kinds >> j->view->kind & 1;
}

#define KIND(name) (1u << SR_KIND_##name)
#define KINDS_TRADE (KIND(ORDER) | KIND(MODIFY))
#define KINDS_MOVE (KIND(TRANSFER) | KIND(WITHDRAW) | KIND(CALL)) /* value by themselves */
#define KINDS_NAMED (KINDS_MOVE | KIND(APPROVE)) /* for whom has to be known */

/* A kind is a word for what many types do: typed data is permitted type by type. */
static bool schema_listed(const struct judging *j)
{
	for (uint32_t i = 0; i < j->rules->schema_count; i++)
		if (j->rules->schemas[i] == j->view->schema)
			return true;
	return j->view->type != SR_TYPE_TYPED_DATA;
}

static enum sr_policy judge_action(struct judging *j)
{
	if (!(j->rules->kinds[j->view->type - SR_TYPE_TYPED_MIN] >> j->view->kind & 1) ||
	    !schema_listed(j))
		return SR_POLICY_ACTION;
	if (j->book->killed && !is_kind(j, KIND(CANCEL)))
		return SR_POLICY_KILLED;
	if (!j->rules->unleased && j->book->now_ns >= j->book->lease_until_ns &&
	    !is_kind(j, KIND(CANCEL)))
		return SR_POLICY_LEASE;
	return SR_POLICY_NONE;
}

/* A list that is not there lets pass what is not there either, unless it has to be. */
static bool party_listed(const struct judging *j, const struct sr_policy_range *list,
			 const struct sr_party *party, bool needed)
{
	const struct sr_party *entry = &j->book->table.parties[list->first];

	if (list->count == 0)
		return party->bytes == 0 && !needed;
	for (uint32_t i = 0; i < list->count; i++, entry++)
		if (entry->bytes == party->bytes &&
		    !memcmp(entry->data, party->data, party->bytes))
			return true;
	return false;
}

static bool chain_listed(const struct judging *j)
{
	if (j->rules->chain_count == 0)
		return j->view->chain_id == 0 && !is_kind(j, KINDS_NAMED);
	for (uint32_t i = 0; i < j->rules->chain_count; i++)
		if (j->rules->chains[i] == j->view->chain_id)
			return true;
	return false;
}

static enum sr_policy judge_place(struct judging *j)
{
	const struct sr_policy_rules *rules = j->rules;
	const struct sr_order_view *view = j->view;

	if (!(view->testnet ? rules->testnet : rules->mainnet))
		return SR_POLICY_NETWORK;
	if (!chain_listed(j))
		return SR_POLICY_CHAIN;
	if (!party_listed(j, &rules->contracts, &view->contract, is_kind(j, KIND(CALL))))
		return SR_POLICY_CONTRACT;
	if (!party_listed(j, &rules->accounts, &view->account, false))
		return SR_POLICY_ACCOUNT;
	if (!party_listed(j, &rules->destinations, &view->destination,
			  is_kind(j, KINDS_NAMED & ~KIND(CALL))))
		return SR_POLICY_DESTINATION;
	if (!party_listed(j, &rules->builders, &view->fee_to, false) || view->fee > rules->fee_max)
		return SR_POLICY_FEE;
	if (view->value > rules->value_max)
		return SR_POLICY_VALUE;
	return SR_POLICY_NONE;
}

/* ---- orders ---- */

/* A leg with the decimals that it really has. */
struct scaled {
	const struct sr_order_leg *leg;
	const struct sr_policy_asset *asset;
	int price_decimals;
	int size_decimals;
};

static bool decimals_known(struct scaled *s)
{
	const struct sr_market *market = &s->asset->market;

	s->price_decimals = s->leg->price_decimals == SR_DECIMALS_BY_ASSET ?
				    market->price_decimals :
				    s->leg->price_decimals;
	s->size_decimals = s->leg->size_decimals == SR_DECIMALS_BY_ASSET ? market->size_decimals :
									    s->leg->size_decimals;
	return s->price_decimals != SR_DECIMALS_BY_ASSET && s->size_decimals != SR_DECIMALS_BY_ASSET;
}

/* A sale at 0 sells at any price, and so may an order that names none. */
static bool binds(const struct sr_order_leg *leg)
{
	return !(leg->flags & SR_LEG_MARKET) && leg->price;
}

/* The worst that it may come to: a price that does not bind is the highest of the band. */
static bool notional_of(const struct scaled *s, uint64_t *notional)
{
	const struct sr_policy_bound *high = &s->asset->price_max;

	if (!binds(s->leg))
		return high->given && !high->unlimited &&
		       !sr_notional(notional, high->value, high->decimals, s->leg->size,
				    s->size_decimals);
	if (s->leg->flags & SR_LEG_NOTIONAL) {
		*notional = s->leg->notional;
		return true;
	}
	return !sr_notional(notional, s->leg->price, s->price_decimals, s->leg->size,
			    s->size_decimals);
}

static bool size_allowed(const struct judging *j, const struct scaled *s)
{
	if (!s->leg->size && !(s->leg->flags & SR_LEG_WHOLE && j->rules->whole_position))
		return false;
	return at_most(s->leg->size, s->size_decimals, &s->asset->size_max);
}

static enum sr_policy judge_price(const struct judging *j, const struct scaled *s)
{
	if (!binds(s->leg))
		return j->rules->market_orders ? SR_POLICY_NONE : SR_POLICY_MARKET_ORDER;
	if (!at_least(s->leg->price, s->price_decimals, &s->asset->price_min) ||
	    !at_most(s->leg->price, s->price_decimals, &s->asset->price_max))
		return SR_POLICY_PRICE_BAND;
	return SR_POLICY_NONE;
}

static enum sr_policy judge_order(struct judging *j, struct scaled *s)
{
	enum sr_policy code;
	uint64_t notional;

	if (!decimals_known(s))
		return SR_POLICY_DECIMALS;
	if (!j->rules->opens && !(s->leg->flags & SR_LEG_REDUCE_ONLY))
		return SR_POLICY_REDUCE_ONLY;
	if (!size_allowed(j, s))
		return SR_POLICY_SIZE;
	code = judge_price(j, s);
	if (code)
		return code;
	if (sr_order_rules(j->order, j->verdict->leg, &s->asset->market))
		return SR_POLICY_VENUE_RULES;
	if (!notional_of(s, &notional) || notional > s->asset->notional_max ||
	    __builtin_add_overflow(j->verdict->notional, notional, &j->verdict->notional))
		return SR_POLICY_NOTIONAL;
	return SR_POLICY_NONE;
}

static enum sr_policy judge_leg(struct judging *j, const struct sr_order_leg *leg)
{
	struct scaled s = { .leg = leg };

	/* An asset that is in the list no more must still be left. */
	if (is_kind(j, KIND(CANCEL)))
		return SR_POLICY_NONE;
	s.asset = sr_policy_asset_find(&j->book->table, j->verdict->index, &leg->asset);
	if (!s.asset)
		return SR_POLICY_ASSET;
	if (is_kind(j, KIND(CONFIGURE)) && leg->size > s.asset->leverage_max)
		return SR_POLICY_LEVERAGE;
	return is_kind(j, KINDS_TRADE) ? judge_order(j, &s) : SR_POLICY_NONE;
}

static enum sr_policy judge_legs(struct judging *j)
{
	enum sr_policy code = SR_POLICY_NONE;

	for (uint32_t i = 0; i < j->view->leg_count; i++) {
		j->verdict->leg = i;
		code = judge_leg(j, &j->view->legs[i]);
		if (code)
			return code;
	}
	j->verdict->leg = 0;
	/* What trades nothing that is seen could trade anything. */
	if (j->view->leg_count == 0 && is_kind(j, KINDS_TRADE | KIND(CALL)))
		return SR_POLICY_ASSET;
	if (is_kind(j, KINDS_MOVE) &&
	    __builtin_add_overflow(j->verdict->notional, j->view->value, &j->verdict->notional))
		return SR_POLICY_NOTIONAL;
	return SR_POLICY_NONE;
}

/* ---- time ---- */

static enum sr_policy judge_expiry(struct judging *j)
{
	uint64_t now_ms = j->book->unix_ms, most = j->rules->expiry_ms_max;
	uint64_t expiry_ms = j->view->expiry_ms;

	if (!is_kind(j, KINDS_TRADE))
		return SR_POLICY_NONE;
	if (!most || (expiry_ms && expiry_ms <= now_ms))
		return SR_POLICY_EXPIRY;
	if (most == SR_POLICY_UNLIMITED)
		return SR_POLICY_NONE;
	/* When a block comes nobody knows here: it counts for as long as any order may. */
	if (!expiry_ms && j->view->expiry_block && j->rules->block_expiry)
		expiry_ms = now_ms + most;
	if (!expiry_ms || expiry_ms - now_ms > most)
		return SR_POLICY_EXPIRY;
	j->verdict->expiry_ms = expiry_ms;
	return SR_POLICY_NONE;
}

static enum sr_policy judge_nonce(struct judging *j)
{
	uint64_t nonce = j->view->nonce, latest = j->book->unix_ms + SR_POLICY_LEAD_MS_MAX;

	/* Sequences and unique numbers are kept by the venue, which alone knows them all. */
	if (j->view->nonce_kind != SR_NONCE_TIME_MS)
		return SR_POLICY_NONE;
	if (!(j->rules->nonce & (nonce ? SR_POLICY_NONCE_CHECKED : SR_POLICY_NONCE_GIVEN)))
		return SR_POLICY_VENUE_NONCE;
	if (nonce == 0) {
		nonce = j->state->nonce < j->book->unix_ms ? j->book->unix_ms :
							     j->state->nonce + 1;
		j->verdict->nonce_given = true;
	} else if (nonce <= j->state->nonce) {
		return SR_POLICY_VENUE_NONCE;
	}
	if (nonce > latest)
		return SR_POLICY_CLOCK;
	j->verdict->nonce = nonce;
	return SR_POLICY_NONE;
}

/* ---- what is used up ---- */

/* @known: all that was used is. */
static bool fits(bool known, uint64_t used, uint64_t more, uint64_t limit)
{
	return limit == SR_POLICY_UNLIMITED ||
	       (known && more <= limit && used <= limit - more);
}

static enum sr_policy judge_budgets(struct judging *j)
{
	struct sr_policy_verdict *v = j->verdict;

	/* Nobody is kept from leaving. */
	if (is_kind(j, KIND(CANCEL)))
		return SR_POLICY_NONE;
	v->tokens = j->view->leg_count ? j->view->leg_count : 1;
	if (!sr_policy_session_has(j->book, v->index, j->session_full_ns, v->tokens))
		return SR_POLICY_SESSION_RATE;
	if (!sr_policy_key_has(j->book, v->index, v->tokens))
		return SR_POLICY_KEY_RATE;
	if (!is_kind(j, KINDS_TRADE | KINDS_MOVE))
		return SR_POLICY_NONE;

	if (!j->rules->window_s || !j->rules->window_notional_max ||
	    !fits(j->book->now_ns >= j->state->window_known_ns, j->state->window.total,
		  v->notional, j->rules->window_notional_max))
		return SR_POLICY_WINDOW;
	if (!is_kind(j, KINDS_TRADE))
		return SR_POLICY_NONE;
	if (!j->rules->unexpired_notional_max ||
	    !fits(j->book->unix_ms >= j->state->unexpired_known_ms, j->state->unexpired.total,
		  v->notional, j->rules->unexpired_notional_max))
		return SR_POLICY_EXPOSURE;
	v->unexpired = v->expiry_ms ? v->notional : 0;
	return SR_POLICY_NONE;
}

/* ---- all of it ---- */

bool sr_policy_permits(const struct sr_policy_book *book, uint32_t index, uint32_t type)
{
	uint32_t place = type - SR_TYPE_TYPED_MIN;

	return index < book->table.count && place < SR_POLICY_VENUES_MAX &&
	       book->table.rules[index].kinds[place];
}

static enum sr_policy judge(struct judging *j)
{
	/* The order of checks is part of the contract: docs/policy.md. */
	static enum sr_policy (*const checks[])(struct judging *j) = {
		judge_action, judge_place, judge_legs, judge_expiry, judge_nonce, judge_budgets,
	};
	enum sr_policy code = SR_POLICY_NONE;

	if (!sr_policy_permits(j->book, j->verdict->index, j->view->type))
		return SR_POLICY_TYPE_NOT_PERMITTED;
	if (!j->book->unix_ms)
		return SR_POLICY_CLOCK;
	for (size_t i = 0; i < sizeof checks / sizeof checks[0] && !code; i++)
		code = checks[i](j);
	return code;
}

enum sr_policy sr_policy_judge(struct sr_policy_book *book, struct sr_policy_verdict *verdict,
			       uint32_t index, const struct sr_order *order,
			       uint64_t session_full_ns)
{
	struct judging j = {
		.book = book,
		.rules = &book->table.rules[index],
		.state = &book->states[index],
		.order = order,
		.view = &order->view,
		.verdict = verdict,
		.session_full_ns = session_full_ns,
	};

	memset(verdict, 0, sizeof *verdict);
	verdict->index = index;
	if (book->unix_ms)
		sr_policy_advance(book, index);
	verdict->code = judge(&j);
	return verdict->code;
}
