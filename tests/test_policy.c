/* SPDX-License-Identifier: MIT */
/* What a key may sign: each code by itself, limits from both sides, the order of checks,
 * what a start forgets, and what time does. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>

#include <openssl/bn.h>

#include "sr_hl_body.h"
#include "sr_policy.h"
#include "sr_venue.h"

#define S_NS UINT64_C(1000000000)
#define NOW_NS (UINT64_C(777) * S_NS)
#define NOW_MS UINT64_C(1700000000000)
#define KEY 7u
#define E8 UINT64_C(100000000)
#define MILLION UINT64_C(1000000)

static struct sr_policy_book *book;
static struct sr_policy_table table;
static struct sr_policy_verdict verdict;
static struct sr_order order;
static struct sr_policy_rules *const rules = table.rules;
static struct sr_policy_asset *const asset = table.assets;
static struct sr_order_view *const view = &order.view;
static struct sr_order_leg *const leg = order.view.legs;
static uint64_t session_full_ns;
static uint64_t elapsed_ms;

/* A time after the start, which is at 0. */
static void at_ms(uint64_t ms)
{
	elapsed_ms = ms;
	sr_policy_time(book, NOW_NS + ms * MILLION, NOW_MS + ms);
}

static struct sr_policy_bound bound(uint64_t value, uint8_t decimals)
{
	return (struct sr_policy_bound){ .value = value, .decimals = decimals, .given = true };
}

static const struct sr_policy_bound no_bound = { .given = true, .unlimited = true };

/* One asset of Hyperliquid: up to 2.5, at 90 to 110, 200 an order. */
static void make_rules(void)
{
	memset(&table, 0, sizeof table);
	table.count = 1;
	table.asset_count = 1;
	asset->market = (struct sr_market){ .asset = sr_asset_number(3),
					    .price_decimals = SR_DECIMALS_BY_ASSET,
					    .size_decimals = 2 };
	asset->size_max = bound(25, 1);
	asset->price_min = bound(90, 0);
	asset->price_max = bound(1100, 1);
	asset->notional_max = 200 * MILLION;
	asset->leverage_max = 5;
	*rules = (struct sr_policy_rules){
		.key = KEY,
		.kinds = { 1u << SR_KIND_ORDER | 1u << SR_KIND_CANCEL | 1u << SR_KIND_CONFIGURE },
		.mainnet = true,
		.opens = true,
		.unleased = true,
		.nonce = SR_POLICY_NONCE_CHECKED | SR_POLICY_NONCE_GIVEN,
		.assets = { 0, 1 },
		.expiry_ms_max = 64000,
		.key_per_s = 10,
		.key_burst = 20,
		.session_per_s = 5,
		.session_burst = 10,
		.window_s = 640,
		.window_notional_max = 1000 * MILLION,
		.unexpired_notional_max = 500 * MILLION,
	};
}

/* Buy 1 at 100, which expires in ten seconds. */
static void make_order(void)
{
	memset(&order, 0, offsetof(struct sr_order, view.legs) + sizeof *leg);
	order.venue = &sr_venue_hyperliquid;
	view->type = SR_TYPE_HYPERLIQUID;
	view->kind = SR_KIND_ORDER;
	view->action = SR_HL_ORDER;
	view->nonce_kind = SR_NONCE_TIME_MS;
	view->expiry_ms = NOW_MS + elapsed_ms + 10000;
	view->leg_count = 1;
	*leg = (struct sr_order_leg){ .asset = sr_asset_number(3),
				      .price = 100 * E8,
				      .size = E8,
				      .notional = 100 * MILLION,
				      .side = SR_SIDE_BUY,
				      .flags = SR_LEG_NOTIONAL,
				      .price_decimals = 8,
				      .size_decimals = 8 };
}

static void obey(void)
{
	sr_policy_obey(book, &table);
	sr_policy_seed(book, 0, 0, 0);
}

/* Warm: what a start forgets is known, and nonces may be used. */
static void begin(void)
{
	cr_assert_eq(sr_policy_book_new(&book), 0);
	at_ms(0);
	make_rules();
	obey();
	at_ms(5000);
	make_order();
	session_full_ns = 0;
}

static void end(void)
{
	sr_policy_book_delete(book);
}

TestSuite(policy, .init = begin, .fini = end);

static enum sr_policy judge(void)
{
	return sr_policy_judge(book, &verdict, 0, &order, session_full_ns);
}

static void spend(void)
{
	sr_policy_spend(book, &verdict, &session_full_ns);
}

#define IS(name)                                                                            \
	do {                                                                                \
		enum sr_policy code_ = judge();                                             \
		cr_assert_eq(code_, SR_POLICY_##name, "%s, not " #name, sr_policy_name(code_)); \
	} while (0)
#define PASSES() IS(NONE)

/* ---- what is missing denies ---- */

Test(policy, without_rules_nothing_is_permitted)
{
	struct sr_policy_book *empty;

	PASSES();
	cr_assert_eq(sr_policy_book_new(&empty), 0);
	sr_policy_time(empty, NOW_NS, NOW_MS);
	for (uint32_t type = 0; type < 512; type++)
		cr_assert_not(sr_policy_permits(empty, 0, type));
	cr_assert_eq(sr_policy_judge(empty, &verdict, 0, &order, 0), SR_POLICY_TYPE_NOT_PERMITTED);
	sr_policy_book_delete(empty);
	sr_policy_book_delete(NULL);
}

Test(policy, permission_is_of_a_venue_and_an_action)
{
	cr_assert(sr_policy_permits(book, 0, SR_TYPE_HYPERLIQUID));
	cr_assert_not(sr_policy_permits(book, 0, SR_TYPE_POLYMARKET));
	cr_assert_not(sr_policy_permits(book, 1, SR_TYPE_HYPERLIQUID));
	cr_assert_not(sr_policy_permits(book, 0, SR_TYPE_TYPED_MIN + SR_POLICY_VENUES_MAX));
	cr_assert_not(sr_policy_permits(book, 0, 1));
	for (uint8_t kind = 0; kind < 16; kind++) {
		view->kind = kind;
		if (kind != SR_KIND_ORDER && kind != SR_KIND_CANCEL && kind != SR_KIND_CONFIGURE)
			IS(ACTION);
	}
	view->kind = SR_KIND_ORDER;
	view->type = SR_TYPE_POLYMARKET;
	IS(TYPE_NOT_PERMITTED);
}

/* Each field of the rules, taken away by itself. */
Test(policy, a_rule_that_is_missing_denies)
{
#define WITHOUT(field, name)                                    \
	do {                                                    \
		make_rules();                                   \
		memset(&(field), 0, sizeof(field));             \
		obey();                                         \
		IS(name);                                       \
	} while (0)
	WITHOUT(rules->mainnet, NETWORK);
	WITHOUT(rules->opens, REDUCE_ONLY);
	WITHOUT(rules->unleased, LEASE);
	WITHOUT(rules->nonce, VENUE_NONCE);
	WITHOUT(rules->assets, ASSET);
	WITHOUT(rules->expiry_ms_max, EXPIRY);
	WITHOUT(rules->key_per_s, KEY_RATE);
	WITHOUT(rules->key_burst, KEY_RATE);
	WITHOUT(rules->session_per_s, SESSION_RATE);
	WITHOUT(rules->session_burst, SESSION_RATE);
	WITHOUT(rules->window_s, WINDOW);
	WITHOUT(rules->window_notional_max, WINDOW);
	WITHOUT(rules->unexpired_notional_max, EXPOSURE);
	WITHOUT(asset->size_max, SIZE);
	WITHOUT(asset->price_min, PRICE_BAND);
	WITHOUT(asset->price_max, PRICE_BAND);
	WITHOUT(asset->notional_max, NOTIONAL);
	make_rules();
	asset->market.size_decimals = SR_DECIMALS_BY_ASSET;
	obey();
	IS(VENUE_RULES);
	make_rules();
	obey();
	PASSES();
}

/* ---- the order of checks ---- */

/* Everything is wrong with it, and then one thing after another is mended. */
Test(policy, first_failure_in_the_documented_order_gives_the_code)
{
	struct sr_party party = { 3, "abc" };

	make_rules();
	table.parties[0] = (struct sr_party){ 3, "xyz" };
	table.party_count = 1;
	rules->kinds[0] = 1u << SR_KIND_CANCEL;
	rules->mainnet = rules->opens = rules->unleased = false;
	rules->contracts.count = rules->accounts.count = rules->destinations.count =
		rules->builders.count = 1;
	rules->nonce = 0;
	rules->expiry_ms_max = 0;
	rules->session_per_s = rules->key_per_s = 0;
	rules->window_s = 0;
	rules->unexpired_notional_max = 0;
	rules->assets.count = 0;
	asset->size_max = asset->price_max = bound(0, 0);
	asset->market.size_decimals = 0;
	asset->notional_max = 0;
	obey();
	sr_policy_kill(book, true);
	view->chain_id = 1;
	view->contract = view->account = view->destination = view->fee_to = party;
	view->value = 1;
	view->nonce = 1;
	leg->size = 3 * E8 / 2;
	leg->flags |= SR_LEG_MARKET;
	leg->size_decimals = SR_DECIMALS_BY_ASSET;
	asset->market.size_decimals = SR_DECIMALS_BY_ASSET;

#define THEN(name, mend)                \
	do {                            \
		obey();                 \
		IS(name);               \
		mend;                   \
	} while (0)
	THEN(ACTION, rules->kinds[0] |= 1u << SR_KIND_ORDER);
	THEN(KILLED, sr_policy_kill(book, false));
	THEN(LEASE, rules->unleased = true);
	THEN(NETWORK, rules->mainnet = true);
	THEN(CHAIN, view->chain_id = 0);
	THEN(CONTRACT, table.parties[0] = party; rules->accounts.first = 1);
	THEN(ACCOUNT, rules->accounts.first = 0; rules->destinations.first = 1);
	THEN(DESTINATION, rules->destinations.first = 0; rules->builders.first = 1);
	THEN(FEE, rules->builders.first = 0; view->fee = 1);
	THEN(FEE, rules->fee_max = 1);
	THEN(VALUE, rules->value_max = 1);
	THEN(ASSET, rules->assets.count = 1);
	THEN(DECIMALS, asset->market.size_decimals = 0; leg->size_decimals = 8);
	THEN(REDUCE_ONLY, rules->opens = true);
	THEN(SIZE, asset->size_max = bound(15, 1));
	THEN(MARKET_ORDER, leg->flags &= (uint8_t)~SR_LEG_MARKET);
	THEN(PRICE_BAND, asset->price_max = bound(100, 0));
	THEN(VENUE_RULES, asset->market.size_decimals = 1);
	THEN(NOTIONAL, asset->notional_max = 100 * MILLION);
	THEN(EXPIRY, rules->expiry_ms_max = 10000);
	THEN(VENUE_NONCE, rules->nonce = SR_POLICY_NONCE_CHECKED);
	THEN(VENUE_NONCE, view->nonce = NOW_MS + 5000 + 1001);
	THEN(CLOCK, view->nonce--);
	THEN(SESSION_RATE, rules->session_per_s = 1);
	THEN(KEY_RATE, rules->key_per_s = 1);
	THEN(WINDOW, rules->window_s = 1);
	THEN(EXPOSURE, rules->unexpired_notional_max = 100 * MILLION);
	obey();
	PASSES();
}

/* ---- kill, lease ---- */

Test(policy, when_operators_say_kill_only_cancels_pass)
{
	sr_policy_kill(book, true);
	IS(KILLED);
	view->kind = SR_KIND_CONFIGURE;
	IS(KILLED);
	view->kind = SR_KIND_CANCEL;
	PASSES();
	sr_policy_kill(book, false);
	make_order();
	PASSES();
}

Test(policy, lease_holds_until_its_end_and_cancels_need_none)
{
	make_rules();
	rules->unleased = false;
	obey();
	IS(LEASE);
	sr_policy_lease(book, NOW_NS + 6 * S_NS);
	PASSES();
	sr_policy_time(book, NOW_NS + 6 * S_NS - 1, NOW_MS + 5999);
	PASSES();
	sr_policy_time(book, NOW_NS + 6 * S_NS, NOW_MS + 6000);
	IS(LEASE);
	view->kind = SR_KIND_CANCEL;
	PASSES();
}

/* ---- places ---- */

Test(policy, networks_are_apart)
{
	view->testnet = true;
	IS(NETWORK);
	rules->testnet = true;
	rules->mainnet = false;
	obey();
	PASSES();
	view->testnet = false;
	IS(NETWORK);
}

Test(policy, chain_ids_are_listed_and_none_is_one)
{
	view->chain_id = 137;
	IS(CHAIN);
	rules->chains[0] = 1;
	rules->chains[1] = 137;
	rules->chain_count = 2;
	obey();
	PASSES();
	view->chain_id = 138;
	IS(CHAIN);
	view->chain_id = 0; /* could be any */
	IS(CHAIN);
	rules->chains[0] = 0;
	obey();
	PASSES();
}

/* A chain, a contract, a destination: what moves value has to say them. */
Test(policy, what_moves_value_has_to_say_where)
{
	rules->kinds[0] = UINT16_MAX;
	rules->value_max = MILLION;
	obey();
	view->nonce_kind = SR_NONCE_SEQUENCE;
	leg->flags = 0;
	view->kind = SR_KIND_CALL;
	IS(CHAIN);
	view->kind = SR_KIND_TRANSFER;
	IS(CHAIN);
	rules->chain_count = 1; /* 0 */
	obey();
	IS(DESTINATION);
	view->kind = SR_KIND_WITHDRAW;
	IS(DESTINATION);
	view->kind = SR_KIND_APPROVE;
	IS(DESTINATION);
	view->kind = SR_KIND_CALL;
	IS(CONTRACT);
	sr_party_set(&view->contract, "there", 5);
	sr_party_set(&view->destination, "there", 5);
	table.parties[0] = view->contract;
	table.party_count = 1;
	rules->contracts.count = rules->destinations.count = 1;
	obey();
	PASSES();
	view->value = MILLION;
	PASSES();
	cr_assert_eq(verdict.notional, MILLION);
	view->value++;
	IS(VALUE);
	view->value = MILLION;
	rules->window_notional_max = MILLION - 1;
	obey();
	IS(WINDOW);
	view->leg_count = 0; /* a call of what is not seen */
	IS(ASSET);
}

static void check_party(struct sr_party *party, struct sr_policy_range *range, enum sr_policy code)
{
	make_order();
	make_rules();
	sr_party_set(party, "abcd", 4);
	obey();
	cr_assert_eq(judge(), code, "one, and no list");
	table.parties[0] = (struct sr_party){ 3, "abc" };
	table.parties[1] = (struct sr_party){ 4, "abce" };
	table.parties[2] = (struct sr_party){ 5, "abcde" };
	table.parties[3] = *party;
	table.parties[4] = (struct sr_party){ 0 };
	range->count = 3;
	obey();
	cr_assert_eq(judge(), code, "another is listed");
	range->count = 4;
	obey();
	PASSES();
	memset(party, 0, sizeof *party);
	cr_assert_eq(judge(), code, "none, where one is listed");
	range->count = 5;
	obey();
	PASSES();
}

Test(policy, each_party_is_looked_up_in_its_own_list)
{
	check_party(&view->contract, &rules->contracts, SR_POLICY_CONTRACT);
	check_party(&view->account, &rules->accounts, SR_POLICY_ACCOUNT);
	check_party(&view->destination, &rules->destinations, SR_POLICY_DESTINATION);
	check_party(&view->fee_to, &rules->builders, SR_POLICY_FEE);
}

Test(policy, fees_and_values_have_a_limit)
{
	rules->fee_max = 10;
	rules->value_max = 20;
	obey();
	view->fee = 10;
	view->value = 20;
	PASSES();
	view->fee++;
	IS(FEE);
	view->fee = 0;
	view->value++;
	IS(VALUE);
}

/* ---- legs ---- */

Test(policy, each_leg_is_judged_and_the_first_bad_one_named)
{
	view->leg_count = 5;
	for (uint32_t i = 1; i < 5; i++)
		leg[i] = leg[0];
	PASSES();
	cr_assert_eq(verdict.notional, 500 * MILLION);
	leg[3].asset.words[3] = 1;
	leg[4].size = 0;
	IS(ASSET);
	cr_assert_eq(verdict.leg, 3);
	leg[2].price = 89 * E8;
	IS(PRICE_BAND);
	cr_assert_eq(verdict.leg, 2);
	view->leg_count = 0;
	IS(ASSET);
}

Test(policy, asset_may_be_left_that_is_in_the_list_no_more)
{
	leg->asset = sr_asset_number(4);
	IS(ASSET);
	view->kind = SR_KIND_CANCEL;
	PASSES();
	view->kind = SR_KIND_CONFIGURE;
	IS(ASSET);
}

Test(policy, leverage_has_a_limit)
{
	view->kind = SR_KIND_CONFIGURE;
	*leg = (struct sr_order_leg){ .asset = sr_asset_number(3), .size = 5 };
	PASSES();
	leg->size = 6;
	IS(LEVERAGE);
}

Test(policy, size_is_compared_at_any_scale)
{
	leg->price = 90 * E8;
	leg->flags = 0;
	asset->notional_max = SR_POLICY_UNLIMITED;
	rules->unexpired_notional_max = SR_POLICY_UNLIMITED;
	obey();
	leg->size = 25 * E8 / 10;
	PASSES();
	leg->size++;
	IS(SIZE);
	leg->size = 0;
	IS(SIZE);
	leg->size = 2;
	leg->size_decimals = 0;
	leg->price /= 1000;
	leg->price_decimals = 5;
	order.venue = &(const struct sr_venue){ .type = SR_TYPE_HYPERLIQUID };
	PASSES();
	leg->size = 3;
	IS(SIZE);
	leg->size = 1;
	leg->size_decimals = -1;
	IS(SIZE);
	leg->size = ~(sr_u128)0;
	leg->size_decimals = 38;
	IS(SIZE);
	leg->size = 1;
	leg->size_decimals = -60;
	IS(SIZE);
	asset->size_max = no_bound;
	obey();
	IS(NOTIONAL);
}

Test(policy, size_0_stands_for_the_whole_position_if_it_may)
{
	leg->size = 0;
	leg->notional = 0;
	leg->flags |= SR_LEG_WHOLE;
	IS(SIZE);
	rules->whole_position = true;
	obey();
	PASSES();
	leg->flags &= (uint8_t)~SR_LEG_WHOLE;
	IS(SIZE);
}

Test(policy, price_is_within_its_band)
{
	leg->price = 90 * E8;
	PASSES();
	leg->price--;
	IS(PRICE_BAND);
	leg->price = 110 * E8;
	PASSES();
	leg->price++;
	IS(PRICE_BAND);
	leg->price = 1;
	IS(PRICE_BAND);
	leg->price = ~(sr_u128)0;
	IS(PRICE_BAND);
	leg->price_decimals = 38;
	IS(PRICE_BAND);
	asset->price_max = no_bound;
	obey();
	leg->price = 200 * E8;
	leg->price_decimals = 8;
	PASSES();
}

Test(policy, price_that_does_not_bind_counts_at_the_top_of_the_band)
{
	leg->flags |= SR_LEG_MARKET;
	leg->price = E8;
	IS(MARKET_ORDER);
	rules->market_orders = true;
	obey();
	PASSES();
	cr_assert_eq(verdict.notional, 110 * MILLION);
	asset->price_max = no_bound;
	obey();
	IS(NOTIONAL);
}

/* A sale at 0, or an order of a schema without a price: neither is worth nothing. */
Test(policy, price_of_0_binds_nobody)
{
	asset->price_min = bound(0, 0);
	obey();
	leg->side = SR_SIDE_SELL;
	leg->price = 0;
	leg->notional = 0;
	IS(MARKET_ORDER);
	rules->market_orders = true;
	obey();
	order.venue = &(struct sr_venue){ .type = SR_TYPE_HYPERLIQUID };
	PASSES();
	cr_assert_eq(verdict.notional, 110 * MILLION);
	leg->flags = 0;
	PASSES();
	cr_assert_eq(verdict.notional, 110 * MILLION);
	asset->price_max = no_bound;
	obey();
	IS(NOTIONAL);
}

Test(policy, venue_would_refuse)
{
	leg->size = E8 + E8 / 100;
	leg->notional = 101 * MILLION;
	PASSES();
	leg->size += E8 / 1000;
	IS(VENUE_RULES);
}

Test(policy, reduce_only_key_opens_nothing)
{
	rules->opens = false;
	obey();
	IS(REDUCE_ONLY);
	leg->flags |= SR_LEG_REDUCE_ONLY;
	PASSES();
	leg[1] = leg[0];
	leg[1].flags = SR_LEG_NOTIONAL;
	view->leg_count = 2;
	IS(REDUCE_ONLY);
	cr_assert_eq(verdict.leg, 1);
}

Test(policy, notional_has_a_limit_and_is_computed_where_the_venue_gives_none)
{
	leg->notional = 200 * MILLION;
	PASSES();
	leg->notional++;
	IS(NOTIONAL);
	leg->flags = 0;
	PASSES();
	cr_assert_eq(verdict.notional, 100 * MILLION);
	leg->price += 1; /* rounded up */
	order.venue = &(const struct sr_venue){ .type = SR_TYPE_HYPERLIQUID };
	PASSES();
	cr_assert_eq(verdict.notional, 100 * MILLION + 1);
}

Test(policy, notionals_of_legs_do_not_wrap)
{
	asset->notional_max = SR_POLICY_UNLIMITED;
	rules->window_notional_max = SR_POLICY_UNLIMITED;
	rules->unexpired_notional_max = SR_POLICY_UNLIMITED;
	obey();
	leg->notional = UINT64_MAX;
	PASSES();
	leg[1] = leg[0];
	leg[1].notional = 1;
	view->leg_count = 2;
	IS(NOTIONAL);
}

Test(policy, decimals_of_the_asset_come_from_the_manifest)
{
	order.venue = &(const struct sr_venue){ .type = SR_TYPE_HYPERLIQUID };
	leg->flags = 0;
	leg->price_decimals = leg->size_decimals = SR_DECIMALS_BY_ASSET;
	IS(DECIMALS); /* of the price */
	asset->market.price_decimals = 8;
	asset->market.size_decimals = 8;
	obey();
	PASSES();
	cr_assert_eq(verdict.notional, 100 * MILLION);
	asset->market.size_decimals = SR_DECIMALS_BY_ASSET;
	obey();
	IS(DECIMALS);
}

/* ---- time ---- */

Test(policy, expiry_lies_ahead_and_not_too_far)
{
	view->expiry_ms = NOW_MS + 5000 + 64000;
	PASSES();
	view->expiry_ms++;
	IS(EXPIRY);
	view->expiry_ms = UINT64_MAX;
	IS(EXPIRY);
	view->expiry_ms = NOW_MS + 5001;
	PASSES();
	view->expiry_ms--;
	IS(EXPIRY);
	view->expiry_ms = 0;
	IS(EXPIRY);
	rules->expiry_ms_max = SR_POLICY_UNLIMITED;
	rules->unexpired_notional_max = SR_POLICY_UNLIMITED;
	obey();
	PASSES();
	view->expiry_ms = 1;
	IS(EXPIRY);
}

Test(policy, height_is_an_expiry_if_it_may)
{
	view->expiry_ms = 0;
	view->expiry_block = 12345;
	IS(EXPIRY);
	rules->block_expiry = true;
	obey();
	PASSES();
	cr_assert(verdict.unexpired == 100 * MILLION &&
		  verdict.expiry_ms == NOW_MS + 5000 + rules->expiry_ms_max);
}

Test(policy, without_a_clock_nothing_is_signed)
{
	struct sr_policy_book *other;

	cr_assert_eq(sr_policy_book_new(&other), 0);
	sr_policy_obey(other, &table);
	cr_assert_eq(sr_policy_judge(other, &verdict, 0, &order, 0), SR_POLICY_CLOCK);
	view->kind = SR_KIND_CANCEL;
	cr_assert_eq(sr_policy_judge(other, &verdict, 0, &order, 0), SR_POLICY_CLOCK);
	/* And with its first time it begins cold. */
	sr_policy_time(other, NOW_NS, NOW_MS);
	cr_assert_eq(sr_policy_judge(other, &verdict, 0, &order, 0), SR_POLICY_CLOCK);
	sr_policy_time(other, NOW_NS + S_NS, NOW_MS + 1001);
	cr_assert_eq(sr_policy_judge(other, &verdict, 0, &order, 0), SR_POLICY_NONE);
	make_order();
	cr_assert_eq(sr_policy_judge(other, &verdict, 0, &order, 0), SR_POLICY_WINDOW);
	sr_policy_book_delete(other);
}

Test(policy, nonce_is_given_or_checked_as_the_rules_say)
{
	PASSES();
	cr_assert(verdict.nonce_given && verdict.nonce == NOW_MS + 5000);
	view->nonce = NOW_MS + 4000;
	PASSES();
	cr_assert(!verdict.nonce_given && verdict.nonce == view->nonce);
	rules->nonce = SR_POLICY_NONCE_GIVEN;
	obey();
	IS(VENUE_NONCE);
	view->nonce = 0;
	PASSES();
	rules->nonce = SR_POLICY_NONCE_CHECKED;
	obey();
	IS(VENUE_NONCE);
}

Test(policy, nonce_rises_and_leads_by_a_second_at_most)
{
	view->nonce = NOW_MS + 6001;
	IS(CLOCK);
	view->nonce = NOW_MS + 6000;
	PASSES();
	spend();
	IS(VENUE_NONCE);
	view->nonce--;
	IS(VENUE_NONCE);
	view->nonce = 0;
	IS(CLOCK); /* one more than that leads too far */
	at_ms(5001);
	PASSES();
	cr_assert_eq(verdict.nonce, NOW_MS + 6001);
}

/* Sequences and random numbers are the venue's. */
Test(policy, other_nonces_are_left_to_the_venue)
{
	static const uint8_t kinds[] = { SR_NONCE_NONE, SR_NONCE_SEQUENCE, SR_NONCE_UNIQUE };

	for (size_t i = 0; i < 3; i++) {
		view->nonce_kind = kinds[i];
		view->nonce = i;
		PASSES();
		cr_assert_eq(verdict.nonce, 0);
	}
}

/* Whatever the clock, the rules and the operators do. */
Test(policy, watermark_never_goes_back)
{
	struct sr_policy_state state;
	uint64_t highest = 0;

	srand(5);
	rules->key_per_s = rules->session_per_s = SR_POLICY_RATE_MAX;
	rules->window_notional_max = rules->unexpired_notional_max = SR_POLICY_UNLIMITED;
	obey();
	for (uint32_t i = 0; i < 20000; i++) {
		uint32_t what = (uint32_t)rand() % 16;

		if (what == 0)
			sr_policy_time(book, NOW_NS + i * S_NS / 1000,
				       NOW_MS + (uint32_t)rand() % 50000);
		if (what == 1) {
			rules->key = KEY + 1; /* goes, and comes back */
			sr_policy_obey(book, &table);
			rules->key = KEY;
		}
		if (what <= 2)
			obey();
		view->kind = what < 8 ? SR_KIND_ORDER : SR_KIND_CANCEL;
		view->nonce = what % 2 ? NOW_MS + (uint32_t)rand() % 50000 : 0;
		view->expiry_ms = NOW_MS + 60000;
		if (judge() == SR_POLICY_NONE) {
			cr_assert_gt(verdict.nonce, highest);
			highest = verdict.nonce;
			spend();
		}
		sr_policy_state_get(book, 0, &state);
		cr_assert_geq(state.nonce, highest);
	}
	cr_assert_gt(highest, NOW_MS + 40000);
}

/* ---- what is used up ---- */

Test(policy, session_and_key_have_tokens_that_come_back)
{
	uint64_t other_session = 0;

	rules->window_notional_max = rules->unexpired_notional_max = SR_POLICY_UNLIMITED;
	obey();
	for (uint32_t i = 0; i < 10; i++) {
		PASSES();
		spend();
	}
	IS(SESSION_RATE);
	for (uint32_t i = 0; i < 10; i++) {
		cr_assert_eq(sr_policy_judge(book, &verdict, 0, &order, other_session),
			     SR_POLICY_NONE);
		sr_policy_spend(book, &verdict, &other_session);
	}
	cr_assert_eq(sr_policy_judge(book, &verdict, 0, &order, 0), SR_POLICY_KEY_RATE);
	view->kind = SR_KIND_CANCEL; /* nobody is kept from leaving */
	PASSES();
	make_order();
	at_ms(5099);
	cr_assert_eq(sr_policy_judge(book, &verdict, 0, &order, 0), SR_POLICY_KEY_RATE);
	at_ms(5100);
	cr_assert_eq(sr_policy_judge(book, &verdict, 0, &order, 0), SR_POLICY_NONE);
	at_ms(5199);
	IS(SESSION_RATE);
	at_ms(5200);
	PASSES();
	view->leg_count = 2;
	leg[1] = leg[0];
	IS(SESSION_RATE); /* a token a leg */
	at_ms(60000);
	view->expiry_ms = NOW_MS + 70000;
	view->leg_count = 10;
	for (uint32_t i = 1; i < 11; i++)
		leg[i] = leg[0];
	PASSES();
	view->leg_count = 11; /* more than will ever be there */
	IS(SESSION_RATE);
}

Test(policy, denial_spends_nothing)
{
	struct sr_policy_state before, after;

	PASSES();
	spend();
	sr_policy_state_get(book, 0, &before);
	for (uint32_t i = 0; i < 1000; i++) {
		leg->price = i % 2 ? 100 * E8 : E8;
		view->expiry_ms = i % 2 ? 0 : NOW_MS + 10000;
		cr_assert_neq(judge(), SR_POLICY_NONE);
	}
	make_order();
	PASSES(); /* and an allowed one that is not signed */
	sr_policy_state_get(book, 0, &after);
	cr_assert_eq(memcmp(&before, &after, sizeof before), 0);
}

/* 640 s, in spans of ten. */
Test(policy, window_counts_what_was_signed_within_it)
{
	rules->unexpired_notional_max = SR_POLICY_UNLIMITED;
	obey();
	for (uint32_t i = 0; i < 10; i++) {
		at_ms(10000 + i * 30000);
		make_order();
		PASSES();
		spend();
	}
	at_ms(300000);
	make_order();
	IS(WINDOW);
	leg->size = leg->notional = 0;
	leg->flags |= SR_LEG_WHOLE;
	rules->whole_position = true;
	sr_policy_obey(book, &table);
	PASSES(); /* nothing is nothing */
	at_ms(10000 + 640000);
	make_order();
	leg->notional = 1;
	IS(WINDOW); /* the first lies within it, up to the end of its span */
	at_ms(10000 + 640000 + 10000);
	make_order();
	PASSES();
	leg->notional = 100 * MILLION + 1;
	IS(WINDOW);
	at_ms(10000000);
	make_order();
	leg->notional = 200 * MILLION;
	PASSES();
}

/* 64 s, in spans of one. */
Test(policy, exposure_counts_until_it_expires)
{
	rules->window_notional_max = SR_POLICY_UNLIMITED;
	obey();
	for (uint32_t i = 0; i < 5; i++) {
		make_order();
		view->expiry_ms = NOW_MS + 5000 + (i + 1) * 10000;
		PASSES();
		spend();
	}
	make_order();
	leg->notional = 1;
	IS(EXPOSURE);
	at_ms(5000 + 9999);
	make_order();
	leg->notional = 1;
	IS(EXPOSURE);
	at_ms(5000 + 10000);
	make_order();
	PASSES();
	leg->notional = 100 * MILLION + 1;
	IS(EXPOSURE);
	at_ms(200000);
	make_order();
	leg->notional = 200 * MILLION;
	PASSES();
	/* The longest stays as long as it may be filled. */
	view->expiry_ms = NOW_MS + 200000 + 64000;
	PASSES();
	spend();
	view->expiry_ms = NOW_MS + 200001;
	PASSES();
	spend();
	at_ms(200000 + 63999);
	make_order();
	leg->notional = 200 * MILLION;
	PASSES();
	spend();
	leg->notional = 100 * MILLION + 1;
	IS(EXPOSURE);
}

Test(policy, exposure_of_an_expiry_within_a_span_counts_to_its_end)
{
	rules->window_notional_max = SR_POLICY_UNLIMITED;
	rules->unexpired_notional_max = 100 * MILLION;
	obey();
	view->expiry_ms = NOW_MS + 6500;
	PASSES();
	spend();
	at_ms(6499);
	make_order();
	IS(EXPOSURE);
	at_ms(7000);
	make_order();
	PASSES();
}

/* What a session took under a larger burst it has taken. */
Test(policy, session_that_took_more_than_it_now_may_waits)
{
	session_full_ns = NOW_NS + 6 * S_NS;
	PASSES();
	rules->session_burst = 2;
	obey();
	IS(SESSION_RATE);
	session_full_ns = NOW_NS + 10000 * S_NS;
	IS(SESSION_RATE);
	at_ms(6000);
	session_full_ns = NOW_NS + 6 * S_NS;
	make_order();
	PASSES();
}

/* ---- starts ---- */

static void start_cold(void)
{
	sr_policy_book_delete(book);
	cr_assert_eq(sr_policy_book_new(&book), 0);
	make_rules();
	at_ms(0);
	sr_policy_obey(book, &table);
	make_order();
	session_full_ns = 0;
}

Test(policy, cold_start_gives_nonces_after_a_second)
{
	start_cold();
	IS(CLOCK);
	view->nonce = NOW_MS + 1000; /* the boot before can have used it */
	IS(VENUE_NONCE);
	view->nonce = 0;
	at_ms(1);
	IS(KEY_RATE); /* no earlier check is in its way */
	cr_assert_eq(verdict.nonce, NOW_MS + 1001);
}

Test(policy, cold_start_has_no_tokens_and_then_one)
{
	start_cold();
	rules->window_notional_max = rules->unexpired_notional_max = SR_POLICY_UNLIMITED;
	sr_policy_obey(book, &table);
	at_ms(99);
	IS(KEY_RATE);
	at_ms(100);
	PASSES();
	spend();
	IS(KEY_RATE);
	at_ms(5000);
	make_order();
	for (uint32_t i = 0; i < 20; i++) {
		session_full_ns = 0;
		PASSES();
		spend();
	}
	session_full_ns = 0;
	IS(KEY_RATE);
}

Test(policy, cold_start_has_a_full_window_until_it_has_passed)
{
	start_cold();
	rules->unexpired_notional_max = SR_POLICY_UNLIMITED;
	sr_policy_obey(book, &table);
	leg->notional = 1;
	for (uint64_t ms = 1000; ms < 640000; ms += 7000) {
		at_ms(ms);
		view->expiry_ms = NOW_MS + ms + 1;
		IS(WINDOW);
	}
	at_ms(640000 + 10000);
	make_order();
	PASSES();
}

Test(policy, cold_start_has_its_exposure_until_all_of_it_has_expired)
{
	start_cold();
	rules->window_notional_max = SR_POLICY_UNLIMITED;
	sr_policy_obey(book, &table);
	leg->notional = 1;
	at_ms(63999);
	view->expiry_ms = NOW_MS + 64001;
	IS(EXPOSURE);
	at_ms(65000);
	make_order();
	PASSES();
}

/* A higher limit knows no more than a lower one of what the boot before has signed. */
Test(policy, cold_start_is_not_ended_by_another_manifest)
{
	start_cold();
	at_ms(2000);
	rules->window_notional_max *= 1000;
	rules->unexpired_notional_max *= 1000;
	sr_policy_obey(book, &table);
	make_order();
	IS(WINDOW);
	rules->window_s = 6400;
	sr_policy_obey(book, &table);
	at_ms(6399999);
	make_order();
	IS(WINDOW);
	at_ms(6400000);
	make_order();
	PASSES();

	start_cold();
	rules->window_notional_max = SR_POLICY_UNLIMITED;
	sr_policy_obey(book, &table);
	at_ms(2000);
	rules->unexpired_notional_max *= 1000;
	rules->expiry_ms_max = 640000;
	sr_policy_obey(book, &table);
	at_ms(639999);
	make_order();
	IS(EXPOSURE);
	at_ms(640000);
	make_order();
	PASSES();
	rules->expiry_ms_max = SR_POLICY_UNLIMITED; /* what is signed now never expires */
	rules->unexpired_notional_max = SR_POLICY_UNLIMITED;
	sr_policy_obey(book, &table);
	PASSES();
	make_rules();
	rules->window_notional_max = SR_POLICY_UNLIMITED;
	sr_policy_obey(book, &table);
	at_ms(640000 + 63999);
	make_order();
	IS(EXPOSURE);
	at_ms(640000 + 64000);
	make_order();
	PASSES();
}

/* A minute's window has forgotten what an hour's has to know. */
Test(policy, longer_window_is_full_until_it_is_known)
{
	rules->unexpired_notional_max = SR_POLICY_UNLIMITED;
	obey();
	make_order();
	PASSES();
	spend();
	at_ms(2000000);
	make_order();
	PASSES();
	rules->window_s = 64000;
	sr_policy_obey(book, &table);
	IS(WINDOW);
	rules->window_s = 640;
	sr_policy_obey(book, &table);
	IS(WINDOW); /* and is not known to whom it was given for a moment */
	sr_policy_seed(book, 0, 0, 0);
	PASSES();
	rules->window_s = 64000;
	sr_policy_obey(book, &table);
	at_ms(2000000 + 63360000 - 1);
	make_order();
	IS(WINDOW);
	at_ms(2000000 + 63360000);
	make_order();
	PASSES();
}

Test(policy, operators_say_what_was_signed_before)
{
	start_cold();
	at_ms(1001);
	sr_policy_seed(book, 0, 900 * MILLION, 400 * MILLION);
	make_order();
	PASSES();
	leg->notional++;
	IS(WINDOW);
	sr_policy_seed(book, 0, 0, 400 * MILLION);
	IS(EXPOSURE);
	leg->notional--;
	PASSES();
}

/* ---- another manifest ---- */

Test(policy, key_that_stays_keeps_its_state_wherever_it_moves)
{
	struct sr_policy_state before, after;

	PASSES();
	spend();
	sr_policy_state_get(book, 0, &before);
	table.rules[1] = table.rules[0];
	table.rules[0].key = KEY + 1;
	table.count = 2;
	sr_policy_obey(book, &table);
	sr_policy_state_get(book, 1, &after);
	cr_assert_eq(memcmp(&before, &after, sizeof before), 0);
	cr_assert_eq(sr_policy_index(book, KEY), 1);
	cr_assert_eq(sr_policy_index(book, KEY + 2), -ENOENT);
	IS(CLOCK); /* the other begins as after a start */
}

Test(policy, what_counts_in_a_window_counts_in_one_of_another_length)
{
	rules->unexpired_notional_max = SR_POLICY_UNLIMITED;
	obey();
	make_order();
	PASSES();
	spend();
	rules->window_s = 64;
	sr_policy_obey(book, &table);
	at_ms(6000);
	make_order();
	leg->notional = 200 * MILLION;
	for (uint32_t i = 0; i < 4; i++) {
		PASSES();
		spend();
	}
	leg->notional = 100 * MILLION + 1;
	IS(WINDOW);
	rules->window_s = 6400;
	sr_policy_obey(book, &table);
	at_ms(6400000);
	make_order();
	leg->notional = 100 * MILLION + 1;
	IS(WINDOW);
	at_ms(6600000);
	make_order();
	PASSES();
}

Test(policy, exposure_is_kept_when_expiries_may_be_nearer)
{
	rules->window_notional_max = SR_POLICY_UNLIMITED;
	obey();
	view->expiry_ms = NOW_MS + 5000 + 64000;
	PASSES();
	spend();
	rules->expiry_ms_max = 20000;
	rules->unexpired_notional_max = 200 * MILLION;
	sr_policy_obey(book, &table);
	make_order();
	leg->notional = 100 * MILLION;
	PASSES();
	leg->notional++;
	IS(EXPOSURE);
}

Test(policy, bands_are_moved_by_words_that_rise)
{
	const struct sr_policy_bound low = bound(50, 0), high = bound(60, 0);
	const struct sr_asset three = sr_asset_number(3), four = sr_asset_number(4);

	cr_assert_eq(sr_policy_band(book, KEY, &four, &low, &high, 1), -ENOENT);
	cr_assert_eq(sr_policy_band(book, KEY + 1, &three, &low, &high, 1), -ENOENT);
	cr_assert_eq(sr_policy_band(book, KEY, &three, &low, &high, 0), -ESTALE);
	PASSES();
	cr_assert_eq(sr_policy_band(book, KEY, &three, &low, &high, 2), 0);
	IS(PRICE_BAND);
	leg->price = 60 * E8;
	PASSES();
	cr_assert_eq(sr_policy_band(book, KEY, &three, &low, &high, 2), -ESTALE);
	sr_policy_obey(book, &table); /* a manifest says another band, and resets no sequence */
	IS(PRICE_BAND);
	cr_assert_eq(sr_policy_band(book, KEY, &three, &low, &high, 2), -ESTALE);
	cr_assert_eq(sr_policy_band(book, KEY, &three, &low, &high, 3), 0);
	PASSES();
}

static int hear(struct sr_policy_word word)
{
	return sr_policy_hear(book, &word);
}

#define HEAR(...) hear((struct sr_policy_word){ __VA_ARGS__ })

Test(policy, words_of_the_operators_are_obeyed)
{
	cr_assert_eq(HEAR(.say = 0), -EINVAL);
	cr_assert_eq(HEAR(.say = 5), -EINVAL);
	cr_assert_eq(HEAR(.say = SR_POLICY_SAY_KILL, .killed = true), 0);
	IS(KILLED);
	cr_assert_eq(HEAR(.say = SR_POLICY_SAY_KILL), 0);
	PASSES();

	rules->unleased = false;
	obey();
	IS(LEASE);
	cr_assert_eq(HEAR(.say = SR_POLICY_SAY_LEASE, .lease_s = 2), 0);
	PASSES();
	at_ms(6999);
	PASSES();
	at_ms(7000);
	IS(LEASE);
	cr_assert_eq(HEAR(.say = SR_POLICY_SAY_LEASE, .lease_s = 100), 0);
	PASSES();
	cr_assert_eq(HEAR(.say = SR_POLICY_SAY_LEASE), 0);
	IS(LEASE);
	cr_assert_eq(HEAR(.say = SR_POLICY_SAY_LEASE, .lease_s = 100), 0);

	cr_assert_eq(HEAR(.say = SR_POLICY_SAY_SEED, .key = KEY + 1), -ENOENT);
	cr_assert_eq(HEAR(.say = SR_POLICY_SAY_SEED, .key = KEY, .window = 950 * MILLION), 0);
	IS(WINDOW);
	cr_assert_eq(HEAR(.say = SR_POLICY_SAY_SEED, .key = KEY, .unexpired = 450 * MILLION), 0);
	IS(EXPOSURE);
	cr_assert_eq(HEAR(.say = SR_POLICY_SAY_SEED, .key = KEY), 0);
	PASSES();

	cr_assert_eq(HEAR(.say = SR_POLICY_SAY_BAND, .key = KEY, .asset = sr_asset_number(4),
			  .sequence = 1),
		     -ENOENT);
	cr_assert_eq(HEAR(.say = SR_POLICY_SAY_BAND, .key = KEY, .asset = sr_asset_number(3),
			  .price_min = bound(101, 0), .price_max = no_bound, .sequence = 1),
		     0);
	IS(PRICE_BAND);
	cr_assert_eq(HEAR(.say = SR_POLICY_SAY_BAND, .key = KEY, .asset = sr_asset_number(3),
			  .price_min = bound(1, 0), .price_max = no_bound, .sequence = 1),
		     -ESTALE);
	IS(PRICE_BAND);
}

/* ---- against numbers without a size ---- */

static BN_CTX *ctx;

static BIGNUM *bn_u128(sr_u128 v)
{
	unsigned char bytes[16];

	for (unsigned int i = 0; i < 16; i++)
		bytes[i] = (unsigned char)(v >> (120 - 8 * i));
	return BN_bin2bn(bytes, 16, NULL);
}

/* v * 10^places, in place. */
static void bn_scale(BIGNUM *v, unsigned int places)
{
	for (unsigned int i = 0; i < places; i++)
		cr_assert_eq(BN_mul_word(v, 10), 1);
}

/* a / 10^a_decimals compared with b / 10^b_decimals, crosswise. */
static int bn_compare(sr_u128 a, int a_decimals, sr_u128 b, int b_decimals)
{
	BIGNUM *left = bn_u128(a), *right = bn_u128(b);
	int ret;

	bn_scale(left, (unsigned int)(b_decimals + 60));
	bn_scale(right, (unsigned int)(a_decimals + 60));
	ret = BN_cmp(left, right);
	BN_free(left);
	BN_free(right);
	return ret;
}

/* Price times size in millionths, rounded up; false when that leaves 64 bits. */
static bool bn_notional(uint64_t *notional, sr_u128 price, int price_decimals, sr_u128 size,
			int size_decimals)
{
	BIGNUM *p = bn_u128(price), *s = bn_u128(size), *q = BN_new(), *by = BN_new(), *r = BN_new();
	int places = 6 - price_decimals - size_decimals;
	bool fits;

	cr_assert_eq(BN_mul(q, p, s, ctx), 1);
	cr_assert_eq(BN_one(by), 1);
	bn_scale(places > 0 ? q : by, (unsigned int)(places > 0 ? places : -places));
	cr_assert_eq(BN_div(q, r, q, by, ctx), 1);
	if (!BN_is_zero(r))
		cr_assert_eq(BN_add_word(q, 1), 1);
	fits = BN_num_bits(q) <= 64;
	*notional = fits ? BN_get_word(q) : 0;
	BN_free(p);
	BN_free(s);
	BN_free(q);
	BN_free(by);
	BN_free(r);
	return fits;
}

static uint64_t seed = 88172645463325252u;

static uint64_t next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* Of all magnitudes. */
static sr_u128 any_u128(void)
{
	return (((sr_u128)next() << 64) | next()) >> next() % 128;
}

/* Near a bound where that is possible, for the edge is what matters. */
static sr_u128 near(const struct sr_policy_bound *b, int decimals)
{
	sr_u128 v = b->value;

	for (int i = b->decimals; i < decimals && v < ((sr_u128)1 << 120); i++)
		v *= 10;
	for (int i = decimals; i < b->decimals; i++)
		v /= 10;
	return next() % 2 ? any_u128() : v + next() % 5 - 2;
}

static enum sr_policy expected(uint64_t window_used, uint64_t *notional)
{
	const int pd = leg->price_decimals, sd = leg->size_decimals;

	if (!leg->size || bn_compare(leg->size, sd, asset->size_max.value,
				     asset->size_max.decimals) > 0)
		return SR_POLICY_SIZE;
	if (!leg->price)
		return SR_POLICY_MARKET_ORDER;
	if (bn_compare(leg->price, pd, asset->price_min.value, asset->price_min.decimals) < 0 ||
	    bn_compare(leg->price, pd, asset->price_max.value, asset->price_max.decimals) > 0)
		return SR_POLICY_PRICE_BAND;
	if (!bn_notional(notional, leg->price, pd, leg->size, sd) ||
	    *notional > asset->notional_max)
		return SR_POLICY_NOTIONAL;
	if (*notional > rules->window_notional_max - window_used)
		return SR_POLICY_WINDOW;
	return SR_POLICY_NONE;
}

static void random_rules(void)
{
	make_rules();
	asset->size_max = bound(next() >> next() % 64, (uint8_t)(next() % 20));
	asset->price_min = bound(next() >> next() % 64, (uint8_t)(next() % 20));
	asset->price_max = bound(next() >> next() % 64, (uint8_t)(next() % 20));
	if (next() % 2)
		asset->price_min.value = 0;
	asset->notional_max = next() >> next() % 64;
	rules->window_notional_max = next() >> next() % 32;
	rules->unexpired_notional_max = SR_POLICY_UNLIMITED;
	rules->key_per_s = rules->key_burst = SR_POLICY_RATE_MAX;
	rules->session_per_s = rules->session_burst = SR_POLICY_RATE_MAX;
	obey();
}

/* 100,000 orders; POLICY_ORDERS of the environment for more (`make property`). */
Test(policy, agrees_with_big_numbers_about_random_orders, .timeout = 3600)
{
	static const struct sr_venue plain = { .type = SR_TYPE_HYPERLIQUID };
	const char *wanted = getenv("POLICY_ORDERS");
	uint64_t orders = wanted ? strtoull(wanted, NULL, 10) : 100000;
	uint64_t used = 0, seen[SR_POLICY_EXPOSURE + 1] = { 0 };

	ctx = BN_CTX_new();
	for (uint64_t i = 0; i < orders; i++) {
		enum sr_policy code, want;
		uint64_t notional = 0;

		if (i % 16 == 0) {
			random_rules();
			used = 0;
		}
		order.venue = &plain;
		leg->flags = 0;
		leg->price_decimals = (int8_t)((int)(next() % 34) - 2);
		leg->size_decimals = (int8_t)((int)(next() % 34) - 2);
		leg->price = near(next() % 2 ? &asset->price_max : &asset->price_min,
				  leg->price_decimals);
		leg->size = near(&asset->size_max, leg->size_decimals);
		want = expected(used, &notional);
		code = judge();
		cr_assert_eq(code, want, "order %llu: %s, not %s", (unsigned long long)i,
			     sr_policy_name(code), sr_policy_name(want));
		seen[code]++;
		if (code)
			continue;
		cr_assert_eq(verdict.notional, notional);
		session_full_ns = 0;
		verdict.nonce = 0;
		verdict.tokens = 0;
		spend();
		used += notional;
	}
	BN_CTX_free(ctx);
	cr_assert(seen[SR_POLICY_NONE] > orders / 100 && seen[SR_POLICY_SIZE] > orders / 100 &&
			  seen[SR_POLICY_PRICE_BAND] > orders / 100 &&
			  seen[SR_POLICY_NOTIONAL] > orders / 100 &&
			  seen[SR_POLICY_WINDOW] > orders / 1000,
		  "%llu %llu %llu %llu %llu", (unsigned long long)seen[SR_POLICY_NONE],
		  (unsigned long long)seen[SR_POLICY_SIZE],
		  (unsigned long long)seen[SR_POLICY_PRICE_BAND],
		  (unsigned long long)seen[SR_POLICY_NOTIONAL],
		  (unsigned long long)seen[SR_POLICY_WINDOW]);
}
