/* SPDX-License-Identifier: MIT */
/*
 * sigring-replay on venues' own JSON: every vector through `--offline`, each public bug
 * report of a venue that a line of JSON can bring about, and lines that are wrong.
 *
 * Lessons that need no JSON are in tests/test_VENUE.c under the same names: nonces and
 * windows of time are the signer's, so theirs are there.
 */
#include "mp_common.h"

#include <jansson.h>

#define KEYS_MAX 60u /* a run; the key directory takes 64 */
#define ANY_KEY "0123456789012345678901234567890123456789012345678901234567890123"

/* ---- a run of the program ---- */

static struct {
	char keys[256], lines[256], out[256], log[256];
	char secrets[KEYS_MAX][65];
	unsigned int key_count;
	FILE *file;
	json_t *results[2000]; /* by line, from 1 */
	unsigned int line_count;
} run;

static void run_begin(void)
{
	for (unsigned int i = 0; i <= run.line_count; i++)
		json_decref(run.results[i]);
	memset(&run, 0, sizeof run);
	(void)snprintf(run.keys, sizeof run.keys, "%s/keys", mp_dir);
	(void)snprintf(run.lines, sizeof run.lines, "%s/orders.jsonl", mp_dir);
	(void)snprintf(run.out, sizeof run.out, "%s/results.jsonl", mp_dir);
	(void)snprintf(run.log, sizeof run.log, "%s/replay.log", mp_dir);
	mp_remove(run.keys);
	(void)unlink(run.out);
	(void)unlink(run.log);
	MP_EQ(mkdir(run.keys, 0700), 0, "mkdir");
	run.file = fopen(run.lines, "we");
	MP_CHECK(run.file, "no %s", run.lines);
}

/* The id of a key; 0 when this run has no place for another. */
static unsigned int key_id(const char *secret)
{
	char path[300];
	FILE *file;

	for (unsigned int i = 0; i < run.key_count; i++)
		if (!strcmp(run.secrets[i], secret))
			return i + 1;
	if (run.key_count == KEYS_MAX)
		return 0;
	(void)snprintf(run.secrets[run.key_count++], 65, "%s", secret);
	(void)snprintf(path, sizeof path, "%s/%u.key", run.keys, run.key_count);
	file = fopen(path, "we");
	MP_CHECK(file && !fchmod(fileno(file), 0600), "no %s", path);
	(void)fprintf(file, "sigring-key 1\nid %u\npermit ecdsa-sha256\nuid any\nsecret %s\n",
		      run.key_count, secret);
	MP_EQ(fclose(file), 0, path);
	return run.key_count;
}

static void line_add(json_t *line, unsigned int key)
{
	(void)json_object_set_new(line, "key", json_integer(key));
	MP_EQ(json_dumpf(line, run.file, JSON_COMPACT), 0, "json_dumpf");
	(void)fputc('\n', run.file);
	run.line_count++;
}

/* Runs it and takes the results; its exit status. */
static int run_end(bool keep_going)
{
	const char *argv[] = { "sigring-replay",
			       "--offline",
			       "--keys",
			       run.keys,
			       "--out",
			       run.out,
			       run.lines,
			       keep_going ? "--keep-going" : NULL,
			       NULL };
	char *at = NULL;
	size_t room = 0;
	FILE *file;
	int status;

	MP_EQ(fclose(run.file), 0, "fclose");
	status = mp_reap(mp_spawn(argv, run.log), MP_BOUND_NS, "sigring-replay");
	MP_CHECK(WIFEXITED(status), "sigring-replay died: %x", (unsigned int)status);
	file = fopen(run.out, "re"); /* not there when nothing was read */
	while (file && getline(&at, &room, file) >= 0) {
		json_t *result = json_loads(at, 0, NULL);
		long long line = json_integer_value(json_object_get(result, "line"));

		MP_CHECK(line > 0 && line <= run.line_count, "no line of ours: %s", at);
		MP_CHECK(!run.results[line], "two results of line %lld", line);
		run.results[line] = result;
	}
	free(at);
	if (file)
		(void)fclose(file);
	return WEXITSTATUS(status);
}

static const char *text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}

/* ---- vectors ---- */

static void expect_text(const json_t *vector, const json_t *result, const char *name)
{
	const char *wanted = text_of(vector, name);

	if (wanted[0] && strcmp(wanted, text_of(result, name)) != 0)
		mp_fail("%s: %s is %s, not %s", text_of(vector, "id"), name, text_of(result, name),
			wanted);
}

static void vector_check(const json_t *vector, const json_t *result)
{
	const char *id = text_of(vector, "id"), *refused = text_of(vector, "refused");
	const char *venue = text_of(vector, "venue_signature");
	char rs[129];

	MP_CHECK(result, "%s: no result", id);
	if (refused[0]) {
		MP_CHECK(!strcmp(text_of(result, "status"), "REFUSED"), "%s was taken", id);
		MP_CHECK(strstr(text_of(result, "why"), refused), "%s: refused for: %s", id,
			 text_of(result, "why"));
		return;
	}
	MP_CHECK(!strcmp(text_of(result, "status"), "OK"), "%s: %s: %s", id,
		 text_of(result, "status"), text_of(result, "why"));
	MP_CHECK(json_is_true(json_object_get(result, "verified")), "%s is not verified", id);
	expect_text(vector, result, "digest");
	if (strlen(text_of(vector, "signature")) == 128) {
		(void)snprintf(rs, sizeof rs, "%s%s", text_of(result, "r"), text_of(result, "s"));
		MP_CHECK(!strcmp(rs, text_of(vector, "signature")), "%s: signature is %s", id, rs);
	}
	if (json_object_get(vector, "recid"))
		MP_EQ(json_integer_value(json_object_get(result, "recid")),
		      json_integer_value(json_object_get(vector, "recid")), id);
	MP_CHECK(!venue[0] || !strcmp(venue, text_of(result, "signature")),
		 "%s: the venue's signature is %s", id, text_of(result, "signature"));
	MP_CHECK(strstr(text_of(result, "post"), text_of(vector, "post")), "%s: posted: %s", id,
		 text_of(result, "post"));
}

/* As many as one run has keys for, from @first on; the first that it does not take. */
static size_t batch_run(const json_t *vectors, size_t first)
{
	size_t count = json_array_size(vectors), end = first;
	bool refused = false;

	run_begin();
	for (; end < count && end - first < 1000; end++) {
		const json_t *vector = json_array_get(vectors, end);
		const char *secret = text_of(vector, "key");
		unsigned int key = key_id(secret[0] ? secret : ANY_KEY);

		if (!key)
			break;
		line_add(json_object_get(vector, "line"), key);
		refused = refused || json_object_get(vector, "refused");
	}
	MP_EQ(run_end(true), refused ? 2 : 0, "the exit status");
	for (size_t i = first; i < end; i++)
		vector_check(json_array_get(vectors, i), run.results[1 + i - first]);
	return end;
}

static void vectors_run(const char *path, const char *group, size_t count)
{
	json_error_t error;
	json_t *root = json_load_file(path, 0, &error);
	const json_t *vectors = json_object_get(root, group);

	MP_CHECK(root, "%s:%d: %s", path, error.line, error.text);
	MP_CHECK(strlen(text_of(root, "source")) > 20, "%s names no source", path);
	MP_EQ(json_array_size(vectors), count, group);
	for (size_t at = 0; at < count;)
		at = batch_run(vectors, at);
	json_decref(root);
}

#define VECTORS(group, file, count)                                \
	static void group##_vectors(void)                          \
	{                                                          \
		vectors_run("tests/vectors/" file, #group, count); \
	}
VECTORS(hyperliquid, "replay.json", 107)
VECTORS(polymarket, "replay.json", 27)
VECTORS(dydx, "replay.json", 15)
VECTORS(cosmos, "replay.json", 3)
VECTORS(injective, "replay.json", 5)
VECTORS(grvt, "replay.json", 13)
VECTORS(eip712, "replay.json", 16)
VECTORS(ethereum, "replay.json", 10)
VECTORS(ethereum_tests, "replay.json", 55)
VECTORS(hibachi, "replay.json", 2)
VECTORS(ethers, "replay_ethers.json", 454)
VECTORS(ethers_typed, "replay_ethers.json", 94)

/* ---- single lines ---- */

/* One line, with ' for " so that it can be read here. The result is the run's. */
__attribute__((format(printf, 1, 2))) static const json_t *sign(const char *format, ...)
{
	char text[8192];
	json_error_t error;
	json_t *line;
	va_list args;
	int status;

	va_start(args, format);
	(void)vsnprintf(text, sizeof text, format, args);
	va_end(args);
	for (char *p = text; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	line = json_loads(text, 0, &error);
	MP_CHECK(line, "%s: %s", error.text, text);
	run_begin();
	line_add(line, key_id(ANY_KEY));
	json_decref(line);
	status = run_end(true);
	MP_CHECK(status == 0 || status == 2, "exit status %d", status);
	return run.results[1];
}

static void digest_get(char digest[65], const json_t *result)
{
	MP_CHECK(!strcmp(text_of(result, "status"), "OK"), "%s: %s", text_of(result, "status"),
		 text_of(result, "why"));
	(void)snprintf(digest, 65, "%s", text_of(result, "digest"));
}

static void posts(const json_t *result, const char *part)
{
	MP_CHECK(strstr(text_of(result, "post"), part), "\"%s\" is not in: %s%s", part,
		 text_of(result, "post"), text_of(result, "why"));
}

static void refuses(const json_t *result, const char *part)
{
	MP_CHECK(!strcmp(text_of(result, "status"), "REFUSED") &&
			 strstr(text_of(result, "why"), part),
		 "\"%s\" is not why: %s %s", part, text_of(result, "status"),
		 text_of(result, "why"));
}

#define SAME(a, b) MP_CHECK(!strcmp(a, b), "line %d: two digests of one order", __LINE__)
#define OTHER(a, b) MP_CHECK(strcmp(a, b) != 0, "line %d: one digest of two orders", __LINE__)

#define HL_LINE(orders, rest)                                                                   \
	"{'venue':'hyperliquid','network':'mainnet','action':{'type':'order','orders':[" orders \
	"],'grouping':'na'},'nonce':1" rest "}"
#define HL(price, size)                                    \
	HL_LINE("{'a':1,'b':true,'p':" price ",'s':" size  \
		",'r':false,'t':{'limit':{'tif':'Gtc'}}}", \
		"")

/* nktkas/hyperliquid issues 1 and 12 */
static void lesson_no_trailing_zero_is_signed(void)
{
	char a[65], b[65];

	digest_get(a, sign(HL("'25.2'", "'1'")));
	digest_get(b, sign(HL("'25.20'", "'1.000'")));
	SAME(a, b);
	posts(run.results[1], "\"p\":\"25.2\",\"s\":\"1\"");
}

/* nktkas/hyperliquid issue 12, hyperliquid-dex/ts-examples issue 1 */
static void lesson_the_order_of_keys_does_not_matter(void)
{
	char a[65], b[65];

	digest_get(a, sign(HL_LINE("{'a':1,'b':true,'p':'9','s':'1','r':true,'t':{'trigger':"
				   "{'isMarket':true,'triggerPx':'8','tpsl':'sl'}}}",
				   "")));
	digest_get(b, sign("{'nonce':1,'action':{'grouping':'na','orders':[{'t':{'trigger':"
			   "{'tpsl':'sl','triggerPx':'8','isMarket':true}},'r':true,'s':'1',"
			   "'p':'9','b':true,'a':1}],'type':'order'},'network':'mainnet',"
			   "'venue':'hyperliquid'}"));
	SAME(a, b);
	posts(run.results[1],
	      "\"trigger\":{\"isMarket\":true,\"triggerPx\":\"8\",\"tpsl\":\"sl\"}");
}

/* hyperliquid-python-sdk pull 313; ccxt pull 30037 */
static void lesson_a_size_of_zero_is_said_on_purpose_or_refused(void)
{
	refuses(sign(HL("'1'", "'0'")), "s: expected a size above 0");
	refuses(sign(HL("'1'", "'-0'")), "s: expected a size above 0");
	refuses(sign(HL("'1'", "'0.000000001'")), "s: expected a string with a decimal");
	refuses(sign(HL("'-0'", "'1'")), "p: expected a price above 0");
}

/* hyperliquid-python-sdk pull 314 */
static void lesson_the_posted_vault_is_the_signed_one(void)
{
	char a[65], b[65], c[65];

	digest_get(a, sign(HL("'1'", "'1'")));
	digest_get(b,
		   sign(HL_LINE("{'a':1,'b':true,'p':'1','s':'1','r':false,'t':{'limit':"
				"{'tif':'Gtc'}}}",
				",'vaultAddress':'0xABCDEF0000000000000000000000000000000001'")));
	posts(run.results[1], "\"vaultAddress\":\"0xabcdef0000000000000000000000000000000001\"");
	digest_get(c,
		   sign(HL_LINE("{'a':1,'b':true,'p':'1','s':'1','r':false,'t':{'limit':"
				"{'tif':'Gtc'}}}",
				",'vaultAddress':'0xabcdef0000000000000000000000000000000001'")));
	OTHER(a, b);
	SAME(b, c);
}

/* nktkas/hyperliquid pull 136 */
static void lesson_integers_keep_all_their_digits(void)
{
	posts(sign(HL("'100001.0'", "'1000'")), "\"p\":\"100001\",\"s\":\"1000\"");
}

/* nansen-ai/nansen-cli pull 497 */
static void lesson_order_ids_above_2_to_53_are_exact(void)
{
	posts(sign("{'venue':'hyperliquid','network':'testnet','action':{'type':'cancel',"
		   "'cancels':[{'a':1,'o':9007199254740993}]},'nonce':1}"),
	      "\"o\":9007199254740993");
	refuses(sign("{'venue':'hyperliquid','network':'testnet','action':{'type':'cancel',"
		     "'cancels':[{'a':1,'o':9007199254740993.0}]},'nonce':1}"),
		"action.cancels[0].o: expected an integer");
}

#define PM(version, exchange, salt, amounts)                                                \
	"{'venue':'polymarket'," version "'chainId':137,'exchange':'" exchange              \
	"','orderType':'%s','order':{'salt':" salt ",'maker':'0x%040d','signer':'0x%040d'," \
	"'tokenId':'1234','side':'BUY','signatureType':0,'timestamp':'1',"                  \
	"'metadata':'0x%064d','builder':'0x%064d'," amounts "}}"
#define PM_SIGN(type, version, exchange, salt, amounts) \
	sign(PM(version, exchange, salt, amounts), type, 1, 1, 0, 0)
#define PM_PLAIN "'makerAmount':'1000000','takerAmount':'2000000'"

/* py-clob-client issue 79 */
static void lesson_neg_risk_markets_have_another_contract(void)
{
	char a[65], b[65];

	digest_get(a, PM_SIGN("GTC", "'version':2,", "ctf", "1", PM_PLAIN));
	digest_get(b, PM_SIGN("GTC", "'version':2,", "negRisk", "1", PM_PLAIN));
	OTHER(a, b);
}

/* ts-sdk pull 40, rs-clob-client pull 27 */
static void lesson_salts_stay_below_2_to_53(void)
{
	posts(PM_SIGN("GTC", "'version':2,", "ctf", "9007199254740991", PM_PLAIN),
	      "\"salt\":9007199254740991");
	refuses(PM_SIGN("GTC", "'version':2,", "ctf", "9007199254740992", PM_PLAIN),
		"order.salt: expected an integer");
}

/* py-clob-client issues 18 and 253, py-clob-client-v2 issue 99 and pull 72 */
static void lesson_amounts_are_exact_and_rounded_as_the_venue_does(void)
{
	posts(PM_SIGN("GTC", "'version':2,", "ctf", "1",
		      "'price':'0.30','size':'16.90','tickSize':'0.01'"),
	      "\"makerAmount\":\"5070000\",\"takerAmount\":\"16900000\"");
	posts(PM_SIGN("FOK", "'version':2,", "ctf", "1",
		      "'price':'0.0003','amount':'1','tickSize':'0.0001'"),
	      "\"makerAmount\":\"1000000\",\"takerAmount\":\"3333333300\"");
	refuses(PM_SIGN("GTC", "'version':2,", "ctf", "1",
			"'price':'0.305','size':'16.90','tickSize':'0.01'"),
		"order: expected a price inside 0 to 1 that is a multiple of tickSize");
	refuses(PM_SIGN("GTC", "'version':2,", "ctf", "1",
			"'price':'0.30','size':'16.905','tickSize':'0.01'"),
		"a size with at most 2 decimals");
}

/* Novals83/5min-btc-polymarket issue 5 */
static void lesson_the_version_is_said_and_never_guessed(void)
{
	char a[65], b[65];

	refuses(PM_SIGN("GTC", "", "ctf", "1", PM_PLAIN), "version: missing");
	refuses(PM_SIGN("GTC", "'version':1,", "ctf", "1", PM_PLAIN),
		"unknown field \"timestamp\"");
	digest_get(a, PM_SIGN("GTC", "'version':2,", "ctf", "1", PM_PLAIN));
	digest_get(b, PM_SIGN("GTC", "'version':3,", "ctf", "1", PM_PLAIN));
	OTHER(a, b);
}

#define DYDX(flags, good_til, tif)                                                            \
	"{'venue':'dydx','chainId':'dydx-mainnet-1','accountNumber':1,'sequence':%u,"         \
	"'gasLimit':1000000,'publicKey':"                                                     \
	"'0x0291d1d9fd23334f3d53c3a5b50b56317d8964692320d73d22d7a0b115d5eb574f','message':"   \
	"{'typeUrl':'/dydxprotocol.clob.MsgPlaceOrder','value':{'order':{'orderId':"          \
	"{'subaccountId':{'owner':'dydx1wldnytkerzs39rs28djn0p9vvqer2x2k5x8hjy','number':0}," \
	"'clientId':1,'orderFlags':" flags ",'clobPairId':0},'side':'SIDE_BUY','quantums':"   \
	"'1000000','subticks':'1000000000'," good_til ",'timeInForce':" tif                   \
	",'reduceOnly':false}}}}"

/* hummingbot pull 6987 */
static void lesson_stateful_orders_spend_the_sequence(void)
{
	char a[65], b[65];

	digest_get(a, sign(DYDX("64", "'goodTilBlockTime':1893456000", "0"), 7));
	digest_get(b, sign(DYDX("64", "'goodTilBlockTime':1893456000", "0"), 8));
	OTHER(a, b);
}

/* dydxprotocol/v4-clients pull 444 */
static void lesson_a_short_term_order_ends_at_a_block_and_others_at_a_time(void)
{
	refuses(sign(DYDX("0", "'goodTilBlockTime':1893456000", "0"), 0),
		"message.value.order: expected goodTilBlock with these orderFlags");
	refuses(sign(DYDX("64", "'goodTilBlock':20", "0"), 0),
		"message.value.order: expected goodTilBlockTime with these orderFlags");
}

/* dydxprotocol/v4-clients pull 32 */
static void lesson_times_in_force_have_the_chains_numbers(void)
{
	static const char *const names[] = { "TIME_IN_FORCE_UNSPECIFIED", "TIME_IN_FORCE_IOC",
					     "TIME_IN_FORCE_POST_ONLY",
					     "TIME_IN_FORCE_FILL_OR_KILL" };
	char a[65], b[65];

	for (unsigned int i = 0; i < 4; i++) {
		digest_get(a, sign(DYDX("0", "'goodTilBlock':20", "'%s'"), 0, names[i]));
		digest_get(b, sign(DYDX("0", "'goodTilBlock':20", "%u"), 0, i));
		SAME(a, b);
	}
	refuses(sign(DYDX("0", "'goodTilBlock':20", "4"), 0), "timeInForce: expected an integer");
}

/* ethers-rs issue 377, ethcontract-rs pull 944, ethereumjs issue 710: the vectors of
 * replay_ethers.json with a leading zero have the raw transaction; here the fixed width. */
static void lesson_r_and_s_have_32_bytes_in_results(void)
{
	unsigned int zeros = 0;

	run_begin();
	(void)key_id(ANY_KEY);
	for (run.line_count = 0; run.line_count < 800; run.line_count++)
		(void)fprintf(run.file, "{\"venue\":\"ethereum\",\"key\":1,\"message\":\"%u\"}\n",
			      run.line_count);
	MP_EQ(run_end(false), 0, "the exit status");
	for (unsigned int i = 1; i <= run.line_count; i++) {
		const char *r = text_of(run.results[i], "r"), *s = text_of(run.results[i], "s");

		MP_EQ(strlen(r), 64, "digits of r");
		MP_EQ(strlen(s), 64, "digits of s");
		zeros += !strncmp(r, "00", 2) || !strncmp(s, "00", 2);
	}
	MP_CHECK(zeros, "no leading zero in 800 signatures");
}

/* ---- lines that are wrong ---- */

static const char *const wrong[][2] = {
	{ "{'venue':'nowhere'}", "venue: expected one of hyperliquid, polymarket, dydx, grvt" },
	{ "{'venue':7}", "venue: expected a string, not 7" },
	{ HL("25.2", "'1'"), "action.orders[0].p: expected a string with a decimal of at most 8 "
			     "places below 2^64 of them, not a number with a point or exponent" },
	{ HL("'1e5'", "'1'"), "action.orders[0].p: expected a string with a decimal of at most 8 "
			      "places below 2^64 of them, not \"1e5\"" },
	{ HL("'1.123456789'", "'1'"), "action.orders[0].p: expected" },
	{ HL("'184467440738'", "'1'"), "action.orders[0].p: expected" },
	{ HL_LINE("{'a':1,'b':true,'p':'1','s':'1','r':false,'t':{'limit':{'tif':'GTC'}}}", ""),
	  "action.orders[0].t.limit.tif: expected one of Gtc, Ioc, Alo, FrontendMarket, "
	  "LiquidationMarket, not \"GTC\"" },
	{ HL_LINE("{'a':1,'b':1,'p':'1','s':'1','r':false,'t':{'limit':{'tif':'Gtc'}}}", ""),
	  "action.orders[0].b: expected true or false, not 1" },
	{ HL_LINE("{'a':1,'b':true,'s':'1','r':false,'t':{'limit':{'tif':'Gtc'}}}", ""),
	  "action.orders[0].p: missing" },
	{ HL_LINE("", ""), "action.orders: expected from 1 to 128 items, not 0" },
	{ HL_LINE("7", ""), "action.orders[0]: expected an object, not 7" },
	{ HL_LINE("{'a':1,'b':true,'p':'1','s':'1','r':false,'t':{'limit':{'tif':'Gtc'}},"
		  "'reduceOnly':true}",
		  ""),
	  "action.orders[0]: unknown field \"reduceOnly\"; expected: a b p s r t c" },
	{ HL_LINE("{'a':1,'b':true,'p':'1','s':'1','r':false,'t':{'limit':{'tif':'Gtc'}},"
		  "'c':'0x12'}",
		  ""),
	  "action.orders[0].c: expected a string of 0x and 32 hex digits, not \"0x12\"" },
	{ HL_LINE("{'a':4294967296,'b':true,'p':'1','s':'1','r':false,'t':{'limit':{'tif':'Gtc'}}}",
		  ""),
	  "action.orders[0].a: expected an integer from 0 to 4294967295, not 4294967296" },
	{ "{'venue':'hyperliquid','network':'mainnet','nonce':1,'action':{'type':'usdSend'}}",
	  "action: type: usdSend is signed by users, as EIP-712 of its own" },
	{ "{'venue':'hyperliquid','network':'mainnet','nonce':1,'action':{'type':'twapOrder'}}",
	  "action.type: expected one of order, cancel" },
	{ "{'venue':'hyperliquid','network':'devnet','nonce':1,'action':{'type':'noop'}}",
	  "network: expected one of mainnet, testnet, not \"devnet\"" },
	{ "{'venue':'polymarket','chainId':1}", "chainId: expected 137 or 80002" },
	{ "{'venue':'dydx','chainId':'dydx-mainnet-01'}",
	  "chainId: expected dydx-mainnet-N or dydx-testnet-N" },
	{ "{'venue':'dydx','chainId':'dydx-mainnet-1','accountNumber':1,'sequence':0,'gasLimit':1,"
	  "'publicKey':'0x0291d1d9fd23334f3d53c3a5b50b56317d8964692320d73d22d7a0b115d5eb574f',"
	  "'message':{'typeUrl':'/dydxprotocol.clob.MsgBatchCancel','value':{'subaccountId':{"
	  "'owner':'dydx1wldnytkerzs39rs28djn0p9vvqer2x2k5x8hjy','number':0},'goodTilBlock':1,"
	  "'shortTermCancels':[{'clobPairId':7,'clientIds':[1]},{'clobPairId':7,'clientIds':[2]}]"
	  "}}}",
	  "message.value.shortTermCancels[1]: clobPairId: expected more than in front of it" },
	{ "{'venue':'grvt','chainId':325,'order':{'sub_account_id':1,'is_market':false,"
	  "'post_only':false,'reduce_only':false,'time_in_force':'GOOD_TILL_TIME','legs':["
	  "{'instrument':'A','size':'1','limit_price':'1','is_buying_asset':true}]},"
	  "'instruments':{'B':{}}}",
	  "instruments.A: missing" },
	{ "{'venue':'ethereum','tx':{'nonce':0,'gasPrice':1,'gas':1,'value':0,'data':'0x'}}",
	  "tx.to: missing" },
	{ "{'venue':'ethereum','tx':{'type':2,'chainId':1,'nonce':0,'gasPrice':1,'gas':1,"
	  "'value':0,'data':'0x','to':null}}",
	  "type: expected 0 for a transaction with these fields" },
	{ "{'venue':'ethereum','tx':{'nonce':0,'gasPrice':1,'gas':'0x10000000000000000',"
	  "'value':0,'data':'0x','to':null}}",
	  "gas: expected less than 2^64" },
	{ "{'venue':'eip712','domain':{'name':'A'},'types':{'T':[{'name':'a','type':'uint8'}]},"
	  "'primaryType':'T','message':{'a':256}}",
	  "message.a: expected a number that fits uint8" },
	{ "{'venue':'eip712','domain':{'name':'A'},'types':{'T':[{'name':'a','type':'int8'}]},"
	  "'primaryType':'T','message':{'a':-129}}",
	  "message.a: expected a number that fits int8" },
	{ "{'venue':'eip712','domain':{'name':'A'},'types':{'T':[{'name':'a','type':'uint8'}]},"
	  "'primaryType':'T','message':{'a':1,'b':1}}",
	  "message: unknown field \"b\"" },
	{ "{'venue':'eip712','domain':{'name':'A'},'types':{'EIP712Domain':[{'name':'version',"
	  "'type':'string'}],'T':[{'name':'a','type':'uint8'}]},'primaryType':'T',"
	  "'message':{'a':1}}",
	  "types.EIP712Domain: expected the members of domain" },
	{ "{'venue':'eip712','domain':{'name':'Exchange','version':'1','chainId':1337,"
	  "'verifyingContract':'0x0000000000000000000000000000000000000000'},'types':{'Agent':["
	  "{'name':'a','type':'uint8'}]},'primaryType':'Agent','message':{'a':1}}",
	  "types: this domain belongs to a venue that has a type of its own" },
};

static void what_is_wrong_is_named_by_its_path(void)
{
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
		refuses(sign("%s", wrong[i][0]), wrong[i][1]);
}

static void no_line_is_lost(void)
{
	static const char good[] = "{\"venue\":\"ethereum\",\"key\":1,\"message\":\"a\"}\n";
	char *log;

	run_begin();
	(void)key_id(ANY_KEY);
	(void)fprintf(run.file, "%s{\"venue\":\"ethereum\",\"key\":1}\n\n%s", good, good);
	run.line_count = 4;
	MP_EQ(run_end(true), 2, "the exit status with a line that was skipped");
	MP_CHECK(!strcmp(text_of(run.results[1], "status"), "OK"), "line 1");
	refuses(run.results[2], "expected one of tx, message, messageHex");
	MP_CHECK(!run.results[3], "a blank line has a result");
	MP_CHECK(!strcmp(text_of(run.results[4], "status"), "OK"), "line 4");
	log = mp_read_file(run.log);
	MP_CHECK(strstr(log, "orders.jsonl:2: expected one of tx"), "not told: %s", log);
	free(log);

	run_begin();
	(void)key_id(ANY_KEY);
	(void)fprintf(run.file, "%s{\"venue\":\"ethereum\",\"key\":1}\n%s", good, good);
	MP_EQ(run_end(false), 2, "the exit status with a wrong line");
	MP_CHECK(access(run.out, F_OK) != 0, "something was signed");
}

static void a_key_that_is_not_there_is_named(void)
{
	char *log;

	run_begin();
	(void)key_id(ANY_KEY);
	(void)fprintf(run.file, "{\"venue\":\"ethereum\",\"key\":9,\"message\":\"a\"}\n");
	MP_EQ(run_end(false), 2, "the exit status");
	log = mp_read_file(run.log);
	MP_CHECK(strstr(log, "orders.jsonl:1: key 9 has no development key in "), "%s", log);
	free(log);
}

#define ROW(name)                        \
	{                                \
		"replay/" #name, name, 0 \
	}
static const struct mp_test tests[] = {
	ROW(hyperliquid_vectors),
	ROW(polymarket_vectors),
	ROW(dydx_vectors),
	ROW(cosmos_vectors),
	ROW(injective_vectors),
	ROW(grvt_vectors),
	ROW(eip712_vectors),
	ROW(ethereum_vectors),
	ROW(ethereum_tests_vectors),
	ROW(hibachi_vectors),
	ROW(ethers_vectors),
	ROW(ethers_typed_vectors),
	ROW(lesson_no_trailing_zero_is_signed),
	ROW(lesson_the_order_of_keys_does_not_matter),
	ROW(lesson_a_size_of_zero_is_said_on_purpose_or_refused),
	ROW(lesson_the_posted_vault_is_the_signed_one),
	ROW(lesson_integers_keep_all_their_digits),
	ROW(lesson_order_ids_above_2_to_53_are_exact),
	ROW(lesson_neg_risk_markets_have_another_contract),
	ROW(lesson_salts_stay_below_2_to_53),
	ROW(lesson_amounts_are_exact_and_rounded_as_the_venue_does),
	ROW(lesson_the_version_is_said_and_never_guessed),
	ROW(lesson_stateful_orders_spend_the_sequence),
	ROW(lesson_a_short_term_order_ends_at_a_block_and_others_at_a_time),
	ROW(lesson_times_in_force_have_the_chains_numbers),
	ROW(lesson_r_and_s_have_32_bytes_in_results),
	ROW(what_is_wrong_is_named_by_its_path),
	ROW(no_line_is_lost),
	ROW(a_key_that_is_not_there_is_named),
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
