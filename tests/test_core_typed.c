/* SPDX-License-Identifier: MIT */
/*
 * test_core_typed.c - typed orders through the core: what is signed is what the order
 * says, policy is asked, and what it allows is spent once.
 */
#include "signer_rig.h"

#include "sr_hl_body.h"
#include "sr_task.h"
#include "sr_typed_data.h"

#define FIRST 1000u
#define STREAM 3u
#define EPOCH 10u
#define NOW_NS UINT64_C(5000000000000)
#define NOW_MS UINT64_C(1700000000000)
#define E8 UINT64_C(100000000)

/* A token an hour, two at once; a window of a second. */
#define MANIFEST(nonce_mode)                                                             \
	"{ \"sigring_manifest\": 1, \"version\": 1, \"keys\": [\n"                          \
	"{ \"id\": 8, \"nonce\": \"" nonce_mode "\", \"unsealed_uids\": [1000],\n"          \
	"  \"permit\": [\"hyperliquid/order\"], \"policy\": { \"networks\": [\"mainnet\"],\n"  \
	"    \"assets\": [ { \"id\": 1, \"size_decimals\": 4, \"size_max\": \"10\",\n"          \
	"      \"price_min\": \"90\", \"price_max\": \"110\", \"notional_max\": \"1000\" } ],\n"  \
	"    \"reduce_only\": false, \"expiry_max_ms\": 60000, \"venue_nonce\": \"either\",\n" \
	"    \"rate\": { \"key_per_s\": 1, \"key_burst\": 2, \"session_per_s\": 1,\n"           \
	"      \"session_burst\": 2 },\n"                                                    \
	"    \"window\": { \"seconds\": 1, \"notional_max\": \"100000\" },\n"                  \
	"    \"unexpired_notional_max\": \"100000\", \"lease\": false } },\n"                 \
	"{ \"id\": 7, \"unsealed_uids\": [1000], \"permit\": [\"ecdsa-digest\"] } ] }"

static struct rig rig;
static struct sr_manifest manifest, nothing;
static struct sr_task *task;
static struct sr_order_env env;
static struct sr_order order;
static unsigned char record[RIG_SLOT], reply[SR_CMP_BYTES], body[RIG_SLOT];
static uint32_t session, other_session;
static uint64_t next, now_ms;

static void at_ms(uint64_t ms)
{
	now_ms = NOW_MS + ms;
	sr_core_time(rig.core, NOW_NS + ms * 1000000, now_ms);
}

static void come_into_force(const char *json)
{
	struct sr_reason why = { 0 };

	cr_assert_eq(sr_manifest_parse(&manifest, json, strlen(json), &why), 0, "%s", why.text);
	task->kind = SR_TASK_RIGHTS;
	sr_rights_make(&task->rights, &nothing, &manifest);
	sr_core_task(rig.core, task);
	memset(&manifest, 0xa5, sizeof manifest); /* it is borrowed no longer than that */
}

static uint32_t open_session(uint64_t token)
{
	struct sr_open_request request = rig_open_request(token, FIRST);
	uint32_t id;

	cr_assert_eq(sr_core_open(rig.core, &id, &request, EPOCH, STREAM), SR_OPENED_OK);
	return id;
}

static void begin(void)
{
	rig_begin(&rig);
	task = calloc(1, sizeof *task);
	cr_assert_not_null(task);
	cr_assert_eq(sr_hasher_new(&env.hasher), 0);
	at_ms(0);
	come_into_force(MANIFEST("rfc6979"));
	session = open_session(50);
	other_session = open_session(51);
	next = 0;
	at_ms(100000); /* whatever a start forgets has passed */
}

static void end(void)
{
	sr_hasher_delete(env.hasher);
	free(task);
	rig_end(&rig);
}

TestSuite(core_typed, .init = begin, .fini = end);

/* Buy 1 at @price. Returns the body's bytes. */
static uint16_t make_order(uint64_t price, uint64_t nonce)
{
	const struct sr_hl_head head = { .nonce = nonce, .expires_after = now_ms + 1000 };
	const struct sr_hl_order hl = {
		.asset = 1, .flags = SR_HL_BUY, .tif = SR_HL_GTC, .price = price, .size = E8
	};
	int bytes = sr_hl_order_put(body, sizeof body, &head, &hl, 1);

	cr_assert_gt(bytes, 0);
	return (uint16_t)bytes;
}

static void give_to(uint32_t id, uint64_t n)
{
	sr_put64(record, FIRST + n);
	cr_assert_eq(sr_core_record(rig.core, reply, id, EPOCH, STREAM, record, RIG_SLOT),
		     SR_CORE_REPLY);
}

static void give(uint32_t key, uint32_t type, uint16_t bytes)
{
	rig_record(record, RIG_SLOT, 0, key, (uint16_t)type, body, bytes);
	give_to(session, next++);
}

static void expect(unsigned int status, unsigned int policy)
{
	static const unsigned char none[SR_SIG_BYTES];

	cr_assert(rig_status(reply) == status && rig_policy(reply) == policy, "%u %s",
		  rig_status(reply), sr_policy_name(rig_policy(reply)));
	cr_assert_eq(!memcmp(rig_sig(reply), none, sizeof none), status != SR_OK);
}

static uint64_t venue_nonce(void)
{
	return sr_get64(reply + SR_CMP_BODY + SR_REP_NONCE);
}

/* That the signature is over the digest of `body`, as the client computes it. */
static void check_signature_of(uint32_t type, uint16_t bytes)
{
	unsigned char digest[32], sig[64], secret[32];
	uint8_t recid;

	memset(secret, 0x2a, sizeof secret);
	cr_assert_eq(sr_order_decode(&order, type, body, bytes, &env), 0);
	cr_assert_eq(sr_order_digest(digest, &order, &env), 0);
	cr_assert_eq(sr_ecdsa_sign(rig.curve, sig, &recid, digest, secret, NULL), 0);
	cr_assert_arr_eq(rig_sig(reply), sig, 64);
	cr_assert(reply[SR_CMP_BODY + SR_REP_RECID] == recid &&
		  reply[SR_CMP_BODY + SR_REP_SIGKIND] == SR_SIG_ECDSA);
}

static void check_signature(uint16_t bytes)
{
	check_signature_of(SR_TYPE_HYPERLIQUID, bytes);
}

Test(core_typed, order_is_signed_with_its_venues_digest)
{
	uint16_t bytes = make_order(100 * E8, NOW_MS + 100000);

	give(8, SR_TYPE_HYPERLIQUID, bytes);
	expect(SR_OK, SR_POLICY_NONE);
	check_signature(bytes);
	cr_assert_eq(venue_nonce(), NOW_MS + 100000);
}

Test(core_typed, nonce_that_the_signer_gives_is_in_the_reply_and_signed)
{
	uint16_t bytes = make_order(100 * E8, 0);

	give(8, SR_TYPE_HYPERLIQUID, bytes);
	expect(SR_OK, SR_POLICY_NONE);
	cr_assert_eq(venue_nonce(), NOW_MS + 100000);
	sr_put64(body + SR_ORDER_NONCE, venue_nonce());
	check_signature(bytes);
}

Test(core_typed, denial_has_its_code_and_nothing_else)
{
	give(8, SR_TYPE_HYPERLIQUID, make_order(111 * E8, 0));
	expect(SR_DENIED, SR_POLICY_PRICE_BAND);
	cr_assert_eq(venue_nonce(), 0);
}

Test(core_typed, body_that_its_venue_cannot_mean_is_a_bad_request)
{
	uint16_t bytes = make_order(100 * E8, 0);

	body[SR_ORDER_ACTION] = 77;
	give(8, SR_TYPE_HYPERLIQUID, bytes);
	expect(SR_BAD_REQUEST, SR_POLICY_NONE);
	make_order(100 * E8, 0);
	give(8, SR_TYPE_HYPERLIQUID, (uint16_t)(bytes - 1));
	expect(SR_BAD_REQUEST, SR_POLICY_NONE);
	give(8, SR_TYPE_HYPERLIQUID, 0);
	expect(SR_BAD_REQUEST, SR_POLICY_NONE);
	give(8, 300, bytes);
	expect(SR_BAD_REQUEST, SR_POLICY_NONE);
	rig_record(record, RIG_SLOT, 0, 8, SR_TYPE_HYPERLIQUID, body, bytes);
	record[SR_SUB_BODY + SR_REQ_BODY + bytes] = 1; /* padding */
	give_to(session, next++);
	expect(SR_BAD_REQUEST, SR_POLICY_NONE);
}

Test(core_typed, typed_key_signs_nothing_blindly_and_a_blind_one_nothing_typed)
{
	uint16_t bytes = make_order(100 * E8, 0);

	give(8, SR_ECDSA_DIGEST, 32);
	expect(SR_DENIED, SR_POLICY_TYPE_NOT_PERMITTED);
	give(8, SR_TYPE_DYDX, bytes);
	expect(SR_DENIED, SR_POLICY_TYPE_NOT_PERMITTED);
	give(7, SR_TYPE_HYPERLIQUID, bytes);
	expect(SR_DENIED, SR_POLICY_TYPE_NOT_PERMITTED);
	give(7, SR_ECDSA_DIGEST, 32);
	expect(SR_OK, SR_POLICY_NONE);
	cr_assert_eq(venue_nonce(), 0);
}

/* One token of two for however many repeats, and the same bytes each time. */
Test(core_typed, repeat_spends_nothing)
{
	unsigned char first[SR_CMP_BYTES];

	give(8, SR_TYPE_HYPERLIQUID, make_order(100 * E8, 0));
	expect(SR_OK, SR_POLICY_NONE);
	memcpy(first, reply, sizeof first);
	for (uint32_t i = 0; i < 5; i++) {
		give_to(session, 0);
		cr_assert_arr_eq(reply, first, SR_CMP_BYTES);
	}
	give(8, SR_TYPE_HYPERLIQUID, make_order(100 * E8, 0));
	expect(SR_OK, SR_POLICY_NONE);
	give(8, SR_TYPE_HYPERLIQUID, make_order(100 * E8, 0));
	expect(SR_DENIED, SR_POLICY_SESSION_RATE);
}

Test(core_typed, each_session_has_its_bucket_within_the_keys)
{
	give(8, SR_TYPE_HYPERLIQUID, make_order(100 * E8, 0));
	give(8, SR_TYPE_HYPERLIQUID, make_order(100 * E8, 0));
	expect(SR_OK, SR_POLICY_NONE);
	give(8, SR_TYPE_HYPERLIQUID, make_order(100 * E8, 0));
	expect(SR_DENIED, SR_POLICY_SESSION_RATE);
	give_to(other_session, 0);
	expect(SR_DENIED, SR_POLICY_KEY_RATE);
}

Test(core_typed, denials_cost_no_tokens)
{
	for (uint32_t i = 0; i < 10; i++) {
		give(8, SR_TYPE_HYPERLIQUID, make_order(120 * E8, 0));
		expect(SR_DENIED, SR_POLICY_PRICE_BAND);
	}
	give(8, SR_TYPE_HYPERLIQUID, make_order(100 * E8, 0));
	expect(SR_OK, SR_POLICY_NONE);
}

Test(core_typed, nonces_of_all_sessions_are_unique_and_rise)
{
	uint64_t highest = 0;

	for (uint64_t i = 0; i < 2000; i++) {
		at_ms(200000 + i * 1000);
		rig_record(record, RIG_SLOT, 0, 8, SR_TYPE_HYPERLIQUID, body,
			   make_order(100 * E8, i % 3 ? 0 : now_ms - 400));
		give_to(i % 2 ? session : other_session, i / 2);
		expect(SR_OK, SR_POLICY_NONE);
		cr_assert_gt(venue_nonce(), highest);
		highest = venue_nonce();
	}
}

Test(core_typed, without_a_clock_nothing_typed_is_signed)
{
	struct sr_core_config config = rig_config(&rig);

	sr_core_delete(rig.core);
	cr_assert_eq(sr_core_new(&rig.core, &config), 0);
	come_into_force(MANIFEST("rfc6979"));
	session = open_session(50);
	give(8, SR_TYPE_HYPERLIQUID, make_order(100 * E8, 0));
	expect(SR_DENIED, SR_POLICY_CLOCK);
	give(7, SR_ECDSA_DIGEST, 32);
	expect(SR_OK, SR_POLICY_NONE);
}

Test(core_typed, what_was_allowed_and_not_signed_is_not_spent)
{
	struct sr_core_config config = rig_config(&rig);

	config.sign.pool_slots = 16;
	config.sign.pool_batch = 8;
	config.sign.pool_low = 8;
	sr_core_delete(rig.core);
	cr_assert_eq(sr_core_new(&rig.core, &config), 0); /* and nobody fills the pool */
	at_ms(0);
	come_into_force(MANIFEST("presign-only"));
	session = open_session(50);
	at_ms(100000);
	for (uint32_t i = 0; i < 5; i++) {
		give(8, SR_TYPE_HYPERLIQUID, make_order(100 * E8, 0));
		expect(SR_DENIED, SR_POLICY_DRY);
		cr_assert_eq(venue_nonce(), 0);
	}
	come_into_force(MANIFEST("rfc6979"));
	give(8, SR_TYPE_HYPERLIQUID, make_order(100 * E8, 0));
	expect(SR_OK, SR_POLICY_NONE);
	give(8, SR_TYPE_HYPERLIQUID, make_order(100 * E8, 0));
	expect(SR_OK, SR_POLICY_NONE);
}

/* The same manifest again, or another: what was spent stays spent. */
Test(core_typed, another_manifest_gives_no_tokens)
{
	give(8, SR_TYPE_HYPERLIQUID, make_order(100 * E8, 0));
	give(8, SR_TYPE_HYPERLIQUID, make_order(100 * E8, 0));
	expect(SR_OK, SR_POLICY_NONE);
	come_into_force(MANIFEST("hedged"));
	rig_record(record, RIG_SLOT, 0, 8, SR_TYPE_HYPERLIQUID, body, make_order(100 * E8, 0));
	give_to(other_session, 0);
	expect(SR_DENIED, SR_POLICY_KEY_RATE);
}

/* ---- types of EIP-712 that the manifest registers ---- */

#define NADO(id, name)                                                                          \
	"{ \"id\": " id ", \"kind\": \"order\", \"network\": \"mainnet\", \"type\": \"Order(bytes32 "  \
	"sender,int128 priceX18,int128 amount,uint64 expiration,uint64 nonce,uint128 appendix)\"," \
	"  \"domain\": { \"name\": \"" name "\", \"version\": \"0.0.1\", \"chain_id\": 1,\n"           \
	"    \"contract\": \"body\" }, \"nonce_kind\": \"time_ms\",\n"                              \
	"  \"roles\": { \"price\": \"priceX18\", \"size\": \"amount\", \"nonce\": \"nonce\",\n"          \
	"    \"expiry\": \"expiration\", \"account\": \"sender\" },\n"                               \
	"  \"price_decimals\": 18, \"size_decimals\": 18 }"
#define ZEROS_20 "0000000000000000000000000000000000000000"
#define SCHEMA_MANIFEST(schemas, listed)                                                         \
	"{ \"sigring_manifest\": 1, \"version\": 2, \"schemas\": [ " schemas " ], \"keys\": [\n"        \
	"{ \"id\": 8, \"nonce\": \"rfc6979\", \"unsealed_uids\": [1000],\n"                          \
	"  \"permit\": [\"typed_data/order\"], \"policy\": { \"networks\": [\"mainnet\"],\n"         \
	"    \"schemas\": [" listed "], \"chain_ids\": [1],\n"                                       \
	"    \"contracts\": [\"0x" ZEROS_20 "\"],\n"                                               \
	"    \"accounts\": [\"0x" ZEROS_20 "000000000000000000000000\"],\n"                         \
	"    \"assets\": [ { \"id\": 0, \"size_max\": \"10\", \"price_min\": \"90\",\n"               \
	"      \"price_max\": \"110\", \"notional_max\": \"1000\" } ],\n"                            \
	"    \"reduce_only\": false, \"expiry_max_ms\": 60000, \"venue_nonce\": \"given\",\n"         \
	"    \"rate\": { \"key_per_s\": 9, \"key_burst\": 9, \"session_per_s\": 9,\n"                 \
	"      \"session_burst\": 9 },\n"                                                           \
	"    \"window\": { \"seconds\": 1, \"notional_max\": \"100000\" },\n"                         \
	"    \"unexpired_notional_max\": \"100000\", \"lease\": false } } ] }"

/* Sells 1 at @price, of the product whose contract is zero. */
static uint16_t make_typed(uint32_t schema, uint64_t price)
{
	static const unsigned char zeros[32];
	struct sr_out out = sr_out_over(body, sizeof body);
	int bytes;

	sr_typed_begin(&out, schema, zeros, 0);
	sr_typed_fixed(&out, zeros, 32);
	sr_typed_int(&out, 128, (sr_i128)price * 1000000000000000000);
	sr_typed_int(&out, 128, -(sr_i128)1000000000000000000);
	sr_typed_uint(&out, 64, now_ms / 1000 + 10);
	sr_typed_uint(&out, 128, 0);
	bytes = sr_typed_end(&out);
	cr_assert_gt(bytes, 0);
	return (uint16_t)bytes;
}

static void schemas_in_force(const char *json)
{
	come_into_force(json);
	at_ms(300000); /* another key's policy begins as after a start */
}

Test(core_typed, type_of_the_manifest_is_judged_and_signed)
{
	static struct sr_manifest own;
	struct sr_schema_set set = { own.schemas, 1 };
	const char *json = SCHEMA_MANIFEST(NADO("5", "Nado"), "5");
	struct sr_reason why;
	uint16_t bytes;

	cr_assert_eq(sr_manifest_parse(&own, json, strlen(json), &why), 0);
	env.schemas = &set;
	give(8, SR_TYPE_TYPED_DATA, make_typed(5, 100));
	expect(SR_DENIED, SR_POLICY_TYPE_NOT_PERMITTED);
	schemas_in_force(json);
	bytes = make_typed(5, 100);
	give(8, SR_TYPE_TYPED_DATA, bytes);
	expect(SR_OK, SR_POLICY_NONE);
	cr_assert_eq(venue_nonce(), now_ms);
	sr_put64(body + SR_ORDER_NONCE, venue_nonce());
	check_signature_of(SR_TYPE_TYPED_DATA, bytes);
	give(8, SR_TYPE_TYPED_DATA, make_typed(5, 111));
	expect(SR_DENIED, SR_POLICY_PRICE_BAND);
	give(8, SR_TYPE_TYPED_DATA, make_typed(6, 100));
	expect(SR_BAD_REQUEST, SR_POLICY_NONE);
	/* With its schema goes what it could sign. */
	come_into_force(SCHEMA_MANIFEST("", ""));
	give(8, SR_TYPE_TYPED_DATA, make_typed(5, 100));
	expect(SR_BAD_REQUEST, SR_POLICY_NONE);
}

/* A permission for orders of one type is none for another's. */
Test(core_typed, key_signs_the_types_that_its_policy_lists)
{
	schemas_in_force(SCHEMA_MANIFEST(NADO("5", "Nado") "," NADO("6", "Odan"), "6"));
	give(8, SR_TYPE_TYPED_DATA, make_typed(6, 100));
	expect(SR_OK, SR_POLICY_NONE);
	give(8, SR_TYPE_TYPED_DATA, make_typed(5, 100));
	expect(SR_DENIED, SR_POLICY_ACTION);
	come_into_force(SCHEMA_MANIFEST(NADO("5", "Nado"), ""));
	give(8, SR_TYPE_TYPED_DATA, make_typed(5, 100));
	expect(SR_DENIED, SR_POLICY_ACTION);
}
