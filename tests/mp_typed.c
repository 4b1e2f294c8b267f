/* SPDX-License-Identifier: MIT */
/*
 * Typed orders through the programs: types of EIP-712 that only the manifest knows, from
 * a venue's JSON to a signature; and nonces that a signer gives to several processes and
 * keeps over manifests (the failures that others met: cosmos/cometbft issue 6031,
 * ccxt issue 30348).
 */
#include "mp_sealed.h"

#include <jansson.h>

#include "sr_hl_body.h"

static struct mp_sealed s;

/* ---- manifests ---- */

/* What all keys' policies have in common: it limits nothing that these tests do. */
#define POLICY_REST                                                                              \
	"\"reduce_only\":false,\"market_orders\":true,\"expiry_max_ms\":\"unlimited\","           \
	"\"venue_nonce\":\"either\",\"rate\":{\"key_per_s\":1000000,\"key_burst\":1000000,"        \
	"\"session_per_s\":1000000,\"session_burst\":1000000},\"window\":{\"seconds\":1,"         \
	"\"notional_max\":\"unlimited\"},\"unexpired_notional_max\":\"unlimited\",\"lease\":false"

#define COW_TYPE                                                                                \
	"Order(address sellToken,address buyToken,address receiver,uint256 sellAmount,"        \
	"uint256 buyAmount,uint32 validTo,bytes32 appData,uint256 feeAmount,string kind,"      \
	"bool partiallyFillable,string sellTokenBalance,string buyTokenBalance)"
#define NADO_TYPE                                                                               \
	"Order(bytes32 sender,int128 priceX18,int128 amount,uint64 expiration,uint64 nonce,"    \
	"uint128 appendix)"

/* CoW sells what it has at any price; of Nado the product is the contract. */
#define SCHEMAS                                                                                 \
	"{\"id\":5,\"kind\":\"order\",\"network\":\"mainnet\",\"type\":\"" COW_TYPE "\","        \
	"\"separator\":\"74e0b11bd18120612556bae4578cfd3a254d7e2495f543c569a92ff5794d9b09\","    \
	"\"roles\":{\"asset\":\"sellToken\",\"size\":\"sellAmount\",\"side\":\"kind\","           \
	"\"destination\":\"receiver\",\"expiry\":\"validTo\"},\"price_decimals\":6,"              \
	"\"size_decimals\":18},"                                                                \
	"{\"id\":6,\"kind\":\"order\",\"network\":\"mainnet\",\"type\":\"" NADO_TYPE "\","        \
	"\"domain\":{\"name\":\"Nado\",\"version\":\"0.0.1\",\"chain_id\":1337,"                  \
	"\"contract\":\"body\"},\"roles\":{\"price\":\"priceX18\",\"size\":\"amount\","           \
	"\"nonce\":\"nonce\",\"expiry\":\"expiration\",\"account\":\"sender\"},"                  \
	"\"nonce_kind\":\"unique\",\"price_decimals\":18,\"size_decimals\":18,"                   \
	"\"expiry_bits\":58}"
#define SCHEMA_POLICY                                                                           \
	"\"permit\":[\"typed_data/order\"],\"policy\":{\"schemas\":[5,6],\"networks\":"           \
	"[\"mainnet\"],\"chain_ids\":[0,1337],\"contracts\":[\"none\","                           \
	"\"0x0000000000000000000000000000000000000001\"],\"accounts\":[\"none\","                 \
	"\"0x841fe4876763357975d60da128d8a54bb045d76a64656661756c740000000000\"],"              \
	"\"destinations\":[\"none\",\"0x0303030303030303030303030303030303030303\"],"           \
	"\"assets\":[{\"id\":\"0x0101010101010101010101010101010101010101\",\"size_max\":"       \
	"\"42\",\"price_min\":\"0\",\"price_max\":\"2\",\"notional_max\":\"84\"},{\"id\":1,"       \
	"\"size_max\":\"0.01\",\"price_min\":\"20000\",\"price_max\":\"30000\","                  \
	"\"notional_max\":\"300\"}]," POLICY_REST "}"
#define HL_POLICY                                                                               \
	"\"permit\":[\"hyperliquid/order\"],\"policy\":{\"networks\":[\"mainnet\"],"              \
	"\"assets\":[{\"id\":1,\"size_decimals\":4,\"size_max\":\"1\",\"price_min\":\"1\","       \
	"\"price_max\":\"2\",\"notional_max\":\"2\"}]," POLICY_REST "}"

/* Of the trader; a @policy of "" is a key that may nothing. @id 8: another key's. */
static void manifest_put(unsigned int version, unsigned int id, const char *policy)
{
	char text[8192], hex[65], part[310];
	const char *sign[] = { "sigringctl", "manifest", "sign", "--operator", s.op, part, NULL };

	sealed_public(hex, s.trader);
	(void)snprintf(text, sizeof text,
		       "{\"sigring_manifest\":1,\"version\":%u,\"identities\":[{\"name\":\"mm-1\","
		       "\"public_key\":\"%s\"}],\"schemas\":[" SCHEMAS "],\"keys\":[{\"id\":%u,"
		       "\"identities\":[\"mm-1\"]%s%s}]}\n",
		       version, hex, id, *policy ? "," : "", policy);
	(void)snprintf(part, sizeof part, "%s.new", s.manifest);
	sealed_write(part, text);
	MP_EQ(mp_run(sign, s.rig.agent_log), 0, "sigringctl manifest sign");
	MP_EQ(rename(part, s.manifest), 0, "rename");
}

static void begin(const char *policy)
{
	sealed_new(&s);
	manifest_put(1, MP_KEY, policy);
	mp_rig_start(&s.rig);
}

static void reload(unsigned int version, unsigned int id, const char *policy)
{
	char words[64];

	manifest_put(version, id, policy);
	(void)snprintf(words, sizeof words, "manifest version %u", version);
	MP_EQ(kill(s.rig.signer, SIGHUP), 0, "SIGHUP");
	mp_await_lines(s.rig.signer_log, words, 1);
}

/* ---- types of the manifest ---- */

/* A published order with what the manifest calls its type. */
static void line_put(FILE *file, const json_t *vectors, const char *id, json_t *schema,
		     const char *member, const char *value)
{
	const json_t *vector;
	json_t *line;
	size_t i;

	json_array_foreach(vectors, i, vector) {
		if (strcmp(json_string_value(json_object_get(vector, "id")), id) != 0)
			continue;
		line = json_deep_copy(json_object_get(vector, "line"));
		(void)json_object_set_new(line, "key", json_integer(MP_KEY));
		(void)json_object_set_new(line, "schema", schema);
		if (member)
			(void)json_object_set_new(json_object_get(line, "message"), member,
						  json_string(value));
		MP_EQ(json_dumpf(line, file, JSON_COMPACT), 0, "json_dumpf");
		(void)fputc('\n', file);
		json_decref(line);
		return;
	}
	mp_fail("there is no %s", id);
}

#define COW(member, value)                                                               \
	line_put(file, vectors, "cow_order", json_pack("{s:i}", "id", 5), member, value)
#define NADO(member, value)                                                              \
	line_put(file, vectors, "nado_vertex_nado_order_p1",                              \
		 json_pack("{s:i,s:s,s:b}", "id", 6, "nonce", "nonce", "contractInBody", 1), \
		 member, value)

static void orders_put(const char *path)
{
	json_t *root = json_load_file("tests/vectors/replay.json", 0, NULL);
	const json_t *vectors = json_object_get(root, "eip712");
	FILE *file = fopen(path, "we");

	MP_CHECK(vectors && file, "no vectors, or no %s", path);
	COW(NULL, NULL);
	COW("sellAmount", "42000000000000000001");
	COW("receiver", "0x0404040404040404040404040404040404040404");
	COW("sellToken", "0x0404040404040404040404040404040404040404");
	NADO(NULL, NULL);
	NADO("priceX18", "30000000000000000000001");
	NADO("sender", "0x841fe4876763357975d60da128d8a54bb045d76a64656661756c740000000001");
	line_put(file, vectors, "nado_vertex_nado_cancel", json_pack("{s:i}", "id", 4), NULL, NULL);
	MP_EQ(fclose(file), 0, "fclose");
	json_decref(root);
}

static const char *const expected[] = {
	"\"status\":\"OK\"",     "\"policy\":\"SIZE\"",    "\"policy\":\"DESTINATION\"",
	"\"policy\":\"ASSET\"",  "\"status\":\"OK\"",      "\"policy\":\"PRICE_BAND\"",
	"\"policy\":\"ACCOUNT\"", "\"status\":\"BAD_REQUEST\"",
};

static void types_that_only_the_manifest_knows_are_judged_and_signed(void)
{
	char keys[400], log[400], orders[400], out[400];
	const char *argv[] = { "sigring-replay", "--socket", s.rig.socket, "--identity", s.trader,
			       "--trust", s.trust, "--public", keys, "--out", out, orders, NULL };
	unsigned int line = 0;
	char *text, *save;

	begin(SCHEMA_POLICY);
	mp_sleep_us(1100000); /* the window of before the start */
	(void)snprintf(keys, sizeof keys, "%s/public", s.rig.dir);
	(void)snprintf(log, sizeof log, "%s/replay.log", s.rig.dir);
	(void)snprintf(orders, sizeof orders, "%s/orders", s.rig.dir);
	(void)snprintf(out, sizeof out, "%s/out", s.rig.dir);
	orders_put(orders);
	(void)mp_run(argv, log); /* what is denied is its failure */
	text = mp_read_file(out);
	for (char *at = strtok_r(text, "\n", &save); at; at = strtok_r(NULL, "\n", &save), line++) {
		MP_CHECK(line < 8 && strstr(at, expected[line]), "%s is not in %s",
			 line < 8 ? expected[line] : "nothing", at);
		MP_CHECK(line % 4 != 0 || strstr(at, "\"verified\":true"), "%s", at);
		if (line == 0)
			MP_CHECK(strstr(at, "0e45d31fd31b28c26031cdd81b35a8938b2ccca2cc425fcf440fd3"
					    "bfed1eede9"),
				 "another digest than CoW's: %s", at);
	}
	MP_EQ(line, 8, "results");
	free(text);
	mp_rig_stop(&s.rig);
}

/* ---- nonces ---- */

#define PRODUCERS 3u
#define ORDERS 400u

struct signature {
	uint64_t nonce;
	unsigned char r[32];
};

static struct shared {
	struct signature made[PRODUCERS][ORDERS];
} *shared;

static struct sr_client *client_new(void)
{
	struct sr_reason why = { 0, "" };
	struct sr_client *client;
	struct sr_options opt;

	mp_options(&opt, &s.rig);
	opt.flags = 0;
	opt.identity = s.trader;
	opt.trust = s.trust;
	opt.depth = 64;
	MP_CHECK(sr_open(&client, &opt, &why) == 0, "sr_open: %s", why.text);
	return client;
}

/* Buys 1 at 1; with nonce 0 the signer gives one. */
static int submit(struct sr_session *session, uint64_t nonce)
{
	const struct sr_hl_head head = { .nonce = nonce };
	static const struct sr_hl_order order = {
		.asset = 1, .flags = SR_HL_BUY, .tif = SR_HL_GTC, .price = 100000000, .size = 100000000
	};
	unsigned char body[SR_SUB_BYTES_DEFAULT];
	int bytes = sr_hl_order_put(body, sizeof body, &head, &order, 1);
	struct sr_request rq = { .key = MP_KEY, .type = SR_TYPE_HYPERLIQUID, .body = body };

	MP_CHECK(bytes > 0, "a body");
	rq.body_bytes = (uint16_t)bytes;
	return sr_submit(session, &rq);
}

/* Given out faster than a nonce a millisecond, they would lead the clock by more than they
 * may: that is denied, and asked again. */
static void produce(void *arg)
{
	struct signature *made = arg;
	struct sr_client *client = client_new();
	struct sr_session *session = mp_session(client, 0, 0);
	uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;
	struct sr_completion c[16];

	for (uint32_t n = 0; n < ORDERS;) {
		int got;

		while (sr_in_flight(session) < 16 && n + sr_in_flight(session) < ORDERS)
			MP_EQ(submit(session, 0), 0, "sr_submit");
		got = sr_poll(session, c, 16);
		MP_CHECK(got >= 0, "sr_poll: %d", got);
		for (int i = 0; i < got; i++) {
			if (c[i].status == SR_DENIED && c[i].policy == SR_POLICY_CLOCK)
				continue;
			MP_CHECK(c[i].status == SR_OK, "%s %s", sr_status_name(c[i].status),
				 sr_policy_name(c[i].policy));
			made[n].nonce = c[i].venue_nonce;
			memcpy(made[n].r, c[i].signature, 32);
			n++;
		}
		(void)sr_service(client, NULL);
		MP_CHECK(sr_now_ns() < end_ns, "the producer does not come to an end");
		(void)sched_yield();
	}
	sr_close(client);
}

static int by_nonce(const void *a, const void *b)
{
	const struct signature *x = a, *y = b;

	return (x->nonce > y->nonce) - (x->nonce < y->nonce);
}

static int by_r(const void *a, const void *b)
{
	return memcmp(((const struct signature *)a)->r, ((const struct signature *)b)->r, 32);
}

/* ccxt issue 30348, skalenetwork/sgxwallet issue 532 */
static void failure_18_nonces_of_several_producers_are_unique_and_rise(void)
{
	struct signature *all;
	pid_t pids[PRODUCERS];

	begin(HL_POLICY);
	mp_sleep_us(1100000);
	shared = mp_shared(sizeof *shared);
	for (uint32_t i = 0; i < PRODUCERS; i++)
		pids[i] = mp_fork(produce, shared->made[i]);
	for (uint32_t i = 0; i < PRODUCERS; i++)
		mp_join(pids[i], "a producer");
	for (uint32_t i = 0; i < PRODUCERS; i++)
		for (uint32_t n = 1; n < ORDERS; n++)
			MP_CHECK(shared->made[i][n].nonce > shared->made[i][n - 1].nonce,
				 "nonces of producer %u do not rise", i);
	all = shared->made[0];
	qsort(all, PRODUCERS * ORDERS, sizeof *all, by_nonce);
	for (uint32_t n = 1; n < PRODUCERS * ORDERS; n++)
		MP_CHECK(all[n].nonce != all[n - 1].nonce, "nonce %llu twice",
			 (unsigned long long)all[n].nonce);
	qsort(all, PRODUCERS * ORDERS, sizeof *all, by_r);
	for (uint32_t n = 1; n < PRODUCERS * ORDERS; n++)
		MP_CHECK(by_r(&all[n], &all[n - 1]) != 0, "two signatures share r");
	mp_rig_stop(&s.rig);
}

/* Of one order, asked until it is signed or denied for something else than what a start
 * forgets. @lead_ms: of its nonce before the clock; 0: the signer gives it. */
static struct sr_completion ask(struct sr_client *client, struct sr_session *session,
				uint64_t lead_ms)
{
	struct sr_completion c;

	do {
		MP_EQ(submit(session, lead_ms ? sealed_unix_ms() + lead_ms : 0), 0, "sr_submit");
		mp_next(client, session, &c);
	} while (c.status == SR_DENIED &&
		 (c.policy == SR_POLICY_CLOCK || c.policy == SR_POLICY_WINDOW ||
		  c.policy == SR_POLICY_VENUE_NONCE || c.policy == SR_POLICY_KEY_RATE));
	return c;
}

/* cometbft issue 6031. A manifest without the key, and one with it again: what was used
 * before counts, though the key's policy begins anew. */
static void failure_17_watermark_outlives_manifests_without_its_key(void)
{
	struct sr_completion c;
	struct sr_session *session;
	struct sr_client *client;
	uint64_t highest = 0;

	begin(HL_POLICY);
	client = client_new();
	session = mp_session(client, 0, 0);
	for (unsigned int version = 2; version < 8; version += 2) {
		/* Longer before the clock than a reload takes. */
		c = ask(client, session, 900);
		MP_EQ(c.status, SR_OK, "status");
		highest = c.venue_nonce;
		reload(version, 8, "");
		MP_EQ(ask(client, session, 0).policy, SR_POLICY_UNKNOWN_KEY, "policy");
		reload(version + 1, MP_KEY, HL_POLICY);
		c = ask(client, session, 0);
		MP_EQ(c.status, SR_OK, "status");
		MP_CHECK(c.venue_nonce > highest, "%llu is not above %llu",
			 (unsigned long long)c.venue_nonce, (unsigned long long)highest);
	}
	sr_close(client);
	mp_rig_stop(&s.rig);
}

static const struct mp_test tests[] = {
	{ "typed/types_that_only_the_manifest_knows_are_judged_and_signed",
	  types_that_only_the_manifest_knows_are_judged_and_signed, 0 },
	{ "typed/failure_18_nonces_of_several_producers_are_unique_and_rise",
	  failure_18_nonces_of_several_producers_are_unique_and_rise, 0 },
	{ "typed/failure_17_watermark_outlives_manifests_without_its_key",
	  failure_17_watermark_outlives_manifests_without_its_key, 0 },
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
