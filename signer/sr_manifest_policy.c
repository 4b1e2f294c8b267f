/* SPDX-License-Identifier: MIT */
#include "sr_manifest_policy.h"

#include "sr_digits.h"
#include "sr_manifest_schema.h"
#include "sr_policy_text.h"
#include "sr_venue.h"

/* Where a list, or an asset of one, goes. */
struct target {
	struct sr_policy_table *table;
	struct sr_policy_rules *rules;
	struct sr_policy_range *range;
	struct sr_policy_asset *asset;
};

/* ---- values ---- */

static int take_bound(struct sr_json *json, struct sr_policy_bound *bound, bool unlimited)
{
	struct sr_json_string s;
	int ret = sr_json_string(json, &s);

	if (!ret && sr_policy_bound_parse(bound, s.data, s.bytes, unlimited))
		ret = sr_json_fail(json, "an amount such as \"12.5\"%s is expected",
				   unlimited ? " or \"unlimited\"" : "");
	return ret;
}

static int take_notional(struct sr_json *json, uint64_t *notional)
{
	struct sr_json_string s;
	int ret = sr_json_string(json, &s);

	if (!ret && sr_policy_notional_parse(notional, s.data, s.bytes, true))
		ret = sr_json_fail(json, "an amount such as \"2500.5\", with at most %u decimals, "
					 "or \"unlimited\" is expected",
				   SR_NOTIONAL_DECIMALS);
	return ret;
}

/* A number, or "unlimited". */
static int take_limit(struct sr_json *json, uint64_t *limit, uint64_t max)
{
	struct sr_json_string s;
	int ret;

	if (!sr_json_is_string(json))
		return sr_json_number(json, limit, 1, max);
	ret = sr_json_string(json, &s);
	if (!ret && !sr_policy_is_unlimited(s.data, s.bytes))
		ret = sr_json_fail(json, "a number or \"unlimited\" is expected");
	if (!ret)
		*limit = SR_POLICY_UNLIMITED;
	return ret;
}

static int take_u32(struct sr_json *json, uint32_t *value, uint32_t max)
{
	uint64_t v;
	int ret = sr_json_number(json, &v, 1, max);

	if (!ret)
		*value = (uint32_t)v;
	return ret;
}

/* ---- permissions ---- */

bool sr_policy_rules_typed(const struct sr_policy_rules *rules)
{
	unsigned int any = 0;

	for (uint32_t i = 0; i < SR_POLICY_VENUES_MAX; i++)
		any |= rules->kinds[i];
	return any;
}

/* Ids of assets, decimals, fees and bands are one venue's: another's order would be judged
 * by numbers that were never meant for it. */
static bool trades_at_two(const struct sr_policy_rules *rules)
{
	uint32_t venues = 0;

	for (uint32_t i = 0; i < SR_POLICY_VENUES_MAX; i++)
		venues += (rules->kinds[i] & (1u << SR_KIND_ORDER | 1u << SR_KIND_MODIFY)) != 0;
	return venues > 1;
}

int sr_manifest_permit(struct sr_json *json, struct sr_policy_rules *rules, const char *name)
{
	char venue_name[SR_JSON_STRING_BYTES_MAX + 1];
	const char *slash = strchr(name, '/');
	size_t bytes = (size_t)(slash - name);
	const struct sr_venue *venue;
	enum sr_order_kind kind;
	uint16_t *kinds;

	memcpy(venue_name, name, bytes);
	venue_name[bytes] = '\0';
	venue = sr_venue_from_name(venue_name);
	if (!venue || venue->type >= SR_TYPE_TYPED_MIN + SR_POLICY_VENUES_MAX)
		return sr_json_fail(json, "there is no venue \"%s\" to permit", venue_name);
	kind = sr_kind_from_name(slash + 1);
	if (kind == SR_KIND_NONE)
		return sr_json_fail(json, "there is no action \"%s\" to permit", slash + 1);
	kinds = &rules->kinds[venue->type - SR_TYPE_TYPED_MIN];
	if (*kinds & 1u << kind)
		return sr_json_fail(json, "\"%s\" is repeated", name);
	*kinds = (uint16_t)(*kinds | 1u << kind);
	if (trades_at_two(rules))
		return sr_json_fail(json, "a key trades at one venue: the assets of its policy have "
					  "one's ids and prices");
	return 0;
}

/* ---- lists ---- */

static int network_item(struct sr_json *json, void *to)
{
	struct target *t = to;
	struct sr_json_string s;
	bool *flag;
	int ret = sr_json_string(json, &s);

	if (ret)
		return ret;
	if (s.bytes != 7 || (memcmp(s.data, "mainnet", 7) && memcmp(s.data, "testnet", 7)))
		return sr_json_fail(json, "\"mainnet\" or \"testnet\" is expected");
	flag = s.data[0] == 'm' ? &t->rules->mainnet : &t->rules->testnet;
	if (*flag)
		return sr_json_fail(json, "this network is repeated");
	*flag = true;
	return 0;
}

static int chain_item(struct sr_json *json, void *to)
{
	struct sr_policy_rules *rules = ((struct target *)to)->rules;
	uint64_t chain;
	int ret = sr_json_number(json, &chain, 0, UINT64_MAX);

	if (ret)
		return ret;
	for (uint32_t i = 0; i < rules->chain_count; i++)
		if (rules->chains[i] == chain)
			return sr_json_fail(json, "this chain id is repeated");
	if (rules->chain_count == SR_POLICY_CHAINS_MAX)
		return sr_json_fail(json, "more than %u chain ids", SR_POLICY_CHAINS_MAX);
	rules->chains[rules->chain_count++] = chain;
	return 0;
}

static bool party_parse(struct sr_party *party, const struct sr_json_string *s)
{
	if (s->bytes == 4 && !memcmp(s->data, "none", 4))
		return true;
	if (s->bytes > 2 && s->data[0] == '0' && s->data[1] == 'x') {
		party->bytes = (uint8_t)(s->bytes / 2 - 1);
		return s->bytes % 2 == 0 && !sr_digits_get(party->data, s->data + 2, party->bytes);
	}
	if (s->bytes == 0 || s->bytes > SR_PARTY_BYTES)
		return false;
	sr_party_set(party, s->data, (uint32_t)s->bytes);
	return true;
}

static int party_item(struct sr_json *json, void *to)
{
	struct target *t = to;
	struct sr_party *list = &t->table->parties[t->range->first];
	struct sr_party party = { 0 };
	struct sr_json_string s;
	int ret = sr_json_string(json, &s);

	if (ret)
		return ret;
	if (!party_parse(&party, &s))
		return sr_json_fail(json, "bytes as \"0x...\" in lower case, text of at most %u "
					  "characters, or \"none\" is expected",
				    SR_PARTY_BYTES);
	for (uint32_t i = 0; i < t->range->count; i++)
		if (!memcmp(&list[i], &party, sizeof party))
			return sr_json_fail(json, "it is repeated");
	if (t->table->party_count == SR_POLICY_PARTIES_MAX)
		return sr_json_fail(json, "more than %u contracts, accounts, destinations and "
					  "builders in all keys",
				    SR_POLICY_PARTIES_MAX);
	list[t->range->count++] = party;
	t->table->party_count++;
	return 0;
}

static int take_parties(struct sr_json *json, struct target *t, struct sr_policy_range *range)
{
	t->range = range;
	range->first = (uint16_t)t->table->party_count;
	return sr_json_array(json, party_item, t);
}

/* ---- assets ---- */

static int asset_id(struct sr_json *json, void *to)
{
	struct target *t = to;
	const struct sr_policy_asset *list = &t->table->assets[t->rules->assets.first];
	struct sr_asset *id = &t->asset->market.asset;
	struct sr_json_string s;
	uint64_t number;
	int ret;

	if (sr_json_is_string(json)) {
		ret = sr_json_string(json, &s);
		if (!ret && sr_policy_asset_parse(id, s.data, s.bytes))
			ret = sr_json_fail(json, "an id below 2^256 is expected: a number, digits "
						 "in \", or \"0x...\" in lower case");
	} else {
		ret = sr_json_number(json, &number, 0, UINT64_MAX);
		if (!ret)
			*id = sr_asset_number(number);
	}
	for (uint32_t i = 0; i < t->rules->assets.count && !ret; i++)
		if (sr_asset_equal(&list[i].market.asset, id))
			ret = sr_json_fail(json, "this asset is there already");
	return ret;
}

#define BOUND_FIELD(name, unlimited)                                                    \
	static int asset_##name(struct sr_json *json, void *to)                         \
	{                                                                               \
		return take_bound(json, &((struct target *)to)->asset->name, unlimited); \
	}
BOUND_FIELD(size_max, true)
BOUND_FIELD(price_min, false)
BOUND_FIELD(price_max, true)

static int asset_notional_max(struct sr_json *json, void *to)
{
	return take_notional(json, &((struct target *)to)->asset->notional_max);
}

static int asset_leverage_max(struct sr_json *json, void *to)
{
	return take_u32(json, &((struct target *)to)->asset->leverage_max, 1000);
}

static int take_decimals(struct sr_json *json, int8_t *decimals)
{
	uint64_t v;
	int ret = sr_json_number(json, &v, 0, SR_DECIMALS_MAX);

	if (!ret)
		*decimals = (int8_t)v;
	return ret;
}

static int asset_price_decimals(struct sr_json *json, void *to)
{
	return take_decimals(json, &((struct target *)to)->asset->market.price_decimals);
}

static int asset_size_decimals(struct sr_json *json, void *to)
{
	return take_decimals(json, &((struct target *)to)->asset->market.size_decimals);
}

static int asset_tick(struct sr_json *json, void *to)
{
	return sr_json_number(json, &((struct target *)to)->asset->market.tick, 1, UINT64_MAX);
}

static int asset_spot(struct sr_json *json, void *to)
{
	return sr_json_flag(json, &((struct target *)to)->asset->market.spot);
}

static int asset_item(struct sr_json *json, void *to)
{
	static const struct sr_json_field fields[] = {
		{ "id", asset_id, true },
		{ "size_max", asset_size_max, false },
		{ "price_min", asset_price_min, false },
		{ "price_max", asset_price_max, false },
		{ "notional_max", asset_notional_max, false },
		{ "leverage_max", asset_leverage_max, false },
		{ "price_decimals", asset_price_decimals, false },
		{ "size_decimals", asset_size_decimals, false },
		{ "tick", asset_tick, false },
		{ "spot", asset_spot, false },
	};
	struct target *t = to;
	int ret;

	if (t->table->asset_count == SR_POLICY_ASSETS_MAX)
		return sr_json_fail(json, "more than %u assets in all keys", SR_POLICY_ASSETS_MAX);
	t->asset = &t->table->assets[t->table->asset_count];
	t->asset->market.price_decimals = SR_DECIMALS_BY_ASSET;
	t->asset->market.size_decimals = SR_DECIMALS_BY_ASSET;
	ret = sr_json_object(json, SR_JSON_FIELDS(fields), t);
	if (ret)
		return ret;
	t->table->asset_count++;
	t->rules->assets.count++;
	return 0;
}

/* ---- rates and windows ---- */

#define RATE_FIELD(name)                                                                       \
	static int rate_##name(struct sr_json *json, void *to)                                 \
	{                                                                                      \
		return take_u32(json, &((struct sr_policy_rules *)to)->name, SR_POLICY_RATE_MAX); \
	}
RATE_FIELD(key_per_s)
RATE_FIELD(key_burst)
RATE_FIELD(session_per_s)
RATE_FIELD(session_burst)

static int window_seconds(struct sr_json *json, void *to)
{
	return take_u32(json, &((struct sr_policy_rules *)to)->window_s, SR_POLICY_WINDOW_S_MAX);
}

static int window_notional_max(struct sr_json *json, void *to)
{
	return take_notional(json, &((struct sr_policy_rules *)to)->window_notional_max);
}

/* ---- the fields ---- */

static struct sr_policy_rules *rules_of(void *to)
{
	return ((struct target *)to)->rules;
}

static int policy_networks(struct sr_json *json, void *to)
{
	return sr_json_array(json, network_item, to);
}

static int policy_chain_ids(struct sr_json *json, void *to)
{
	return sr_json_array(json, chain_item, to);
}

#define PARTIES_FIELD(name)                                              \
	static int policy_##name(struct sr_json *json, void *to)         \
	{                                                                \
		return take_parties(json, to, &rules_of(to)->name);      \
	}
PARTIES_FIELD(contracts)
PARTIES_FIELD(accounts)
PARTIES_FIELD(destinations)
PARTIES_FIELD(builders)

static int schema_item(struct sr_json *json, void *to)
{
	struct sr_policy_rules *rules = rules_of(to);
	uint64_t id;
	int ret = sr_json_number(json, &id, 1, SR_SCHEMA_ID_MAX);

	if (ret)
		return ret;
	for (uint32_t i = 0; i < rules->schema_count; i++)
		if (rules->schemas[i] == id)
			return sr_json_fail(json, "this schema is repeated");
	if (rules->schema_count == SR_POLICY_SCHEMAS_MAX)
		return sr_json_fail(json, "more than %u schemas", SR_POLICY_SCHEMAS_MAX);
	rules->schemas[rules->schema_count++] = (uint32_t)id;
	return 0;
}

static int policy_schemas(struct sr_json *json, void *to)
{
	return sr_json_array(json, schema_item, to);
}

static int policy_fee_max(struct sr_json *json, void *to)
{
	return take_limit(json, &rules_of(to)->fee_max, UINT64_MAX - 1);
}

static int policy_value_max(struct sr_json *json, void *to)
{
	return take_notional(json, &rules_of(to)->value_max);
}

static int policy_assets(struct sr_json *json, void *to)
{
	struct target *t = to;

	t->rules->assets.first = (uint16_t)t->table->asset_count;
	return sr_json_array(json, asset_item, t);
}

static int policy_reduce_only(struct sr_json *json, void *to)
{
	bool reduce_only;
	int ret = sr_json_flag(json, &reduce_only);

	if (!ret)
		rules_of(to)->opens = !reduce_only;
	return ret;
}

static int policy_lease(struct sr_json *json, void *to)
{
	bool lease;
	int ret = sr_json_flag(json, &lease);

	if (!ret)
		rules_of(to)->unleased = !lease;
	return ret;
}

#define FLAG_FIELD(name)                                                 \
	static int policy_##name(struct sr_json *json, void *to)         \
	{                                                                \
		return sr_json_flag(json, &rules_of(to)->name);          \
	}
FLAG_FIELD(whole_position)
FLAG_FIELD(market_orders)
FLAG_FIELD(block_expiry)

static int policy_expiry_max_ms(struct sr_json *json, void *to)
{
	return take_limit(json, &rules_of(to)->expiry_ms_max, SR_POLICY_EXPIRY_MS_MAX);
}

static int policy_venue_nonce(struct sr_json *json, void *to)
{
	static const struct {
		const char *word;
		uint8_t nonce;
	} words[] = {
		{ "given", SR_POLICY_NONCE_GIVEN },
		{ "checked", SR_POLICY_NONCE_CHECKED },
		{ "either", SR_POLICY_NONCE_GIVEN | SR_POLICY_NONCE_CHECKED },
	};
	struct sr_json_string s;
	int ret = sr_json_string(json, &s);

	for (size_t i = 0; i < sizeof words / sizeof words[0] && !ret; i++)
		if (strlen(words[i].word) == s.bytes && !memcmp(words[i].word, s.data, s.bytes))
			rules_of(to)->nonce = words[i].nonce;
	if (!ret && !rules_of(to)->nonce)
		ret = sr_json_fail(json, "\"given\", \"checked\" or \"either\" is expected");
	return ret;
}

static int policy_rate(struct sr_json *json, void *to)
{
	static const struct sr_json_field fields[] = {
		{ "key_per_s", rate_key_per_s, true },
		{ "key_burst", rate_key_burst, true },
		{ "session_per_s", rate_session_per_s, true },
		{ "session_burst", rate_session_burst, true },
	};
	struct sr_policy_rules *rules = rules_of(to);
	int ret = sr_json_object(json, SR_JSON_FIELDS(fields), rules);

	if (!ret && (rules->session_per_s > rules->key_per_s ||
		     rules->session_burst > rules->key_burst))
		ret = sr_json_fail(json, "a session cannot have more than its key: session_per_s, "
					 "session_burst");
	return ret;
}

static int policy_window(struct sr_json *json, void *to)
{
	static const struct sr_json_field fields[] = {
		{ "seconds", window_seconds, true },
		{ "notional_max", window_notional_max, true },
	};

	return sr_json_object(json, SR_JSON_FIELDS(fields), rules_of(to));
}

static int policy_unexpired(struct sr_json *json, void *to)
{
	return take_notional(json, &rules_of(to)->unexpired_notional_max);
}

int sr_manifest_policy_take(struct sr_json *json, struct sr_policy_table *table,
			    struct sr_policy_rules *rules)
{
	static const struct sr_json_field fields[] = {
		{ "schemas", policy_schemas, false },
		{ "networks", policy_networks, false },
		{ "chain_ids", policy_chain_ids, false },
		{ "contracts", policy_contracts, false },
		{ "accounts", policy_accounts, false },
		{ "destinations", policy_destinations, false },
		{ "builders", policy_builders, false },
		{ "fee_max", policy_fee_max, false },
		{ "value_max", policy_value_max, false },
		{ "assets", policy_assets, false },
		{ "reduce_only", policy_reduce_only, false },
		{ "whole_position", policy_whole_position, false },
		{ "market_orders", policy_market_orders, false },
		{ "expiry_max_ms", policy_expiry_max_ms, false },
		{ "block_expiry", policy_block_expiry, false },
		{ "venue_nonce", policy_venue_nonce, false },
		{ "rate", policy_rate, false },
		{ "window", policy_window, false },
		{ "unexpired_notional_max", policy_unexpired, false },
		{ "lease", policy_lease, false },
	};
	struct target target = { .table = table, .rules = rules };
	int ret = sr_json_object(json, SR_JSON_FIELDS(fields), &target);

	/* What never expires would count for ever. */
	if (!ret && rules->expiry_ms_max == SR_POLICY_UNLIMITED &&
	    rules->unexpired_notional_max != SR_POLICY_UNLIMITED)
		ret = sr_json_fail(json, "with expiry_max_ms \"unlimited\", unexpired_notional_max "
					 "has to be \"unlimited\" too");
	return ret;
}
