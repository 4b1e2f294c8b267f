/* SPDX-License-Identifier: MIT */
/* Types of EIP-712 that a manifest registers: what is read, what it is compiled to, what
 * is refused and why, and which keys may sign what. */
#include <stdio.h>

#include "order_rig.h"

#include "sr_manifest.h"
#include "sr_typed_data.h"

TestSuite(manifest_schema, .init = rig_setup, .fini = rig_teardown);

#define HEAD "{\"sigring_manifest\":1,\"version\":1"
#define SCHEMAS(list) HEAD ",\"schemas\":[" list "]}"
#define SCHEMA(fields) SCHEMAS("{" fields "}")

#define NADO_TYPE                                                                             \
	"Order(bytes32 sender,int128 priceX18,int128 amount,uint64 expiration,uint64 nonce," \
	"uint128 appendix)"
#define NADO_DOMAIN(contract)                                                   \
	"\"domain\":{\"name\":\"Nado\",\"version\":\"0.0.1\",\"chain_id\":1337," \
	"\"contract\":\"" contract "\"}"
#define NADO_ROLES                                                                       \
	"\"roles\":{\"price\":\"priceX18\",\"size\":\"amount\",\"nonce\":\"nonce\","      \
	"\"expiry\":\"expiration\",\"account\":\"sender\"},\"nonce_kind\":\"unique\","    \
	"\"price_decimals\":18,\"size_decimals\":18,\"expiry_bits\":58"
#define ID(id) "\"id\":" id ",\"kind\":\"order\",\"network\":\"mainnet\""
#define NADO(id, contract) \
	"{" ID(id) ",\"type\":\"" NADO_TYPE "\"," NADO_DOMAIN(contract) "," NADO_ROLES "}"
#define PRODUCT "0x0000000000000000000000000000000000000001"

#define SEND_TYPE                                                                         \
	"HyperliquidTransaction:UsdSend(string hyperliquidChain,string destination,string " \
	"amount,uint64 time)"
#define SEND(id, network)                                                                 \
	"{\"id\":" id ",\"kind\":\"transfer\",\"network\":\"" network "\",\"type\":\""      \
	SEND_TYPE "\",\"domain\":{\"name\":\"HyperliquidSignTransaction\","                \
	"\"version\":\"1\",\"chain_id\":421614,"                                          \
	"\"contract\":\"0x0000000000000000000000000000000000000000\"},"                   \
	"\"roles\":{\"network\":\"hyperliquidChain\",\"destination\":\"destination\","    \
	"\"value\":\"amount\",\"nonce\":\"time\"},\"nonce_kind\":\"time_ms\"}"

static struct sr_manifest manifest;
static struct sr_schema_set set;
static struct sr_reason why;

static int parse_text(const char *text)
{
	int ret;

	why.text[0] = '\0';
	ret = sr_manifest_parse(&manifest, text, strlen(text), &why);
	set = (struct sr_schema_set){ manifest.schemas, manifest.schema_count };
	rig_env.schemas = &set;
	return ret;
}

static void parsed(const char *text)
{
	cr_assert_eq(parse_text(text), 0, "%s", why.text);
}

static void check_refused(const char *text, const char *words)
{
	cr_assert_eq(parse_text(text), -EBADMSG, "%s", text);
	cr_assert_not_null(strstr(why.text, words), "\"%s\" is not in: %s", words, why.text);
}

static int decoded(struct sr_out *out)
{
	int bytes = sr_typed_end(out);

	cr_assert_gt(bytes, 0);
	return sr_order_decode(&rig_order, SR_TYPE_TYPED_DATA, rig_body, (uint32_t)bytes, &rig_env);
}

static json_t *vector_named(json_t *root, const char *list, const char *id)
{
	json_t *vector;
	size_t i;

	json_array_foreach(json_object_get(root, list), i, vector)
		if (!strcmp(rig_string(vector, "id"), id))
			return vector;
	cr_assert_fail("no vector %s", id);
	return NULL;
}

/* ---- what is read ---- */

Test(manifest_schema, is_compiled_to_what_its_venue_signs)
{
	json_t *root = rig_vectors("typed_data.json");
	json_t *vector = vector_named(root, "messages", "nado_vertex_nado_order_p1");
	const struct sr_schema *s = &manifest.schemas[0];

	parsed(SCHEMAS(NADO("7", PRODUCT)));
	cr_assert_eq(manifest.schema_count, 1);
	rig_expect(vector, "domain_separator", s->separator, 32, "the contract given");
	cr_assert(s->id == 7 && s->kind == SR_KIND_ORDER && !s->testnet && !s->contract_in_body);
	cr_assert(s->nonce_kind == SR_NONCE_UNIQUE && s->price_decimals == 18 &&
		  s->size_decimals == 18 && s->expiry_mask == UINT64_MAX >> 6 &&
		  s->expiry_per_s == 1);
	parsed(SCHEMAS(NADO("7", "body")));
	cr_assert(s->contract_in_body && s->chain_id == 1337);
	parsed(SCHEMA(ID("2147483647") ",\"type\":\"A(string s,uint256 a,uint256 v)\",\"separator\":"
		      "\"74e0b11bd18120612556bae4578cfd3a254d7e2495f543c569a92ff5794d9b09\","
		      "\"roles\":{\"side\":\"s\",\"asset\":\"a\",\"size\":\"v\"},"
		      "\"side_inverted\":true,\"expiry_unit\":\"ns\""));
	cr_assert(s->id == INT32_MAX && s->side_inverted && s->expiry_per_s == 1000000000 &&
		  s->price_decimals == SR_DECIMALS_BY_ASSET && s->expiry_mask == UINT64_MAX);
	json_decref(root);
}

Test(manifest_schema, derives_bytes_are_reached_into)
{
	parsed(SCHEMA(ID("1") ",\"type\":\"Action(bytes data,address owner)\",\"domain\":{\"name\":"
		      "\"D\",\"salt\":\"74e0b11bd18120612556bae4578cfd3a254d7e2495f543c569a92ff5794d"
		      "9b09\"},\"abi\":{\"member\":\"data\",\"type\":\"Trade(address asset,uint256 "
		      "amount)\"},\"roles\":{\"asset\":\"asset\",\"size\":\"amount\"}"));
	cr_assert_eq(manifest.schemas[0].struct_count, 2);
	cr_assert(manifest.schemas[0].structs[1].abi);
}

/* ---- Hyperliquid's user-signed actions ---- */

static int send_decoded(const char *network, const char *to, const char *amount)
{
	struct sr_out out = sr_out_over(rig_body, sizeof rig_body);

	sr_typed_begin(&out, 1, NULL, 1687816341423);
	sr_typed_text(&out, network, (uint32_t)strlen(network));
	sr_typed_text(&out, to, (uint32_t)strlen(to));
	sr_typed_text(&out, amount, (uint32_t)strlen(amount));
	return decoded(&out);
}

Test(manifest_schema, names_a_transfer_and_policy_sees_where_and_how_much)
{
	static const unsigned char to[] = { 0x5e, 0x9e, 0xe1, 0x08, 0x97, 0x55, 0xc3,
					    0x43, 0x51, 0x39, 0x84, 0x8e, 0x47, 0xe6,
					    0x63, 0x55, 0x05, 0xd5, 0xa1, 0x3a };
	static const char lower[] = "0x5e9ee1089755c3435139848e47e6635505d5a13a";
	const struct sr_order_view *view = &rig_order.view;
	json_t *root = rig_vectors("hyperliquid.json");
	json_t *vector = vector_named(root, "user_signed", "py_usd_send_testnet");
	unsigned char digest[32];

	cr_assert_eq(parse_text(HEAD "}"), 0);
	cr_assert_eq(send_decoded("Testnet", lower, "1"), -EINVAL, "nobody has named it");
	parsed(SCHEMAS(SEND("1", "testnet")));
	cr_assert_eq(send_decoded("Testnet", lower, "1"), 0);
	cr_assert_eq(sr_order_digest(digest, &rig_order, &rig_env), 0);
	rig_expect(vector, "digest", digest, 32, "as the SDK signs it");
	cr_assert(view->kind == SR_KIND_TRANSFER && view->testnet && view->schema == 1);
	cr_assert(view->nonce_kind == SR_NONCE_TIME_MS && view->nonce == 1687816341423);
	cr_assert(view->destination.bytes == 20 && !memcmp(view->destination.data, to, 20));
	cr_assert_eq(view->value, 1000000);
	cr_assert_eq(view->leg_count, 0, "it has no asset that a list could name");
	cr_assert_eq(send_decoded("Testnet", "0x5E9Ee1089755C3435139848E47e6635505d5a13A", "0.5"), 0);
	cr_assert(view->destination.bytes == 20 && !memcmp(view->destination.data, to, 20),
		  "in any case");
	cr_assert_eq(view->value, 500000);
	cr_assert_eq(send_decoded("Testnet", "0x5g", "1"), 0);
	cr_assert(view->destination.bytes == 4 && !memcmp(view->destination.data, "0x5g", 4));

	/* A test key's schema moves nothing on the main net. */
	cr_assert_eq(send_decoded("Mainnet", lower, "1"), -EINVAL);
	cr_assert_eq(send_decoded("testnet", lower, "1"), -EINVAL);
	cr_assert_eq(send_decoded("", lower, "1"), -EINVAL);
	parsed(SCHEMAS(SEND("1", "mainnet")));
	cr_assert_eq(send_decoded("Testnet", lower, "1"), -EINVAL);
	cr_assert_eq(send_decoded("Mainnet", lower, "1"), 0);

	/* What no limit could be compared with is not signed. */
	cr_assert_eq(send_decoded("Mainnet", lower, "0.0000001"), -EINVAL);
	cr_assert_eq(send_decoded("Mainnet", lower, "18446744073710"), -EINVAL);
	cr_assert_eq(send_decoded("Mainnet", lower, "1e9"), -EINVAL);
	cr_assert_eq(send_decoded("Mainnet", lower, ""), -EINVAL);
	json_decref(root);
}

Test(manifest_schema, value_of_a_number_has_its_decimals)
{
	struct sr_out out = sr_out_over(rig_body, sizeof rig_body);

	parsed(SCHEMA("\"id\":1,\"kind\":\"withdraw\",\"network\":\"mainnet\",\"type\":"
		      "\"W(address to,uint256 wei)\",\"domain\":{\"name\":\"W\"},\"roles\":{"
		      "\"destination\":\"to\",\"value\":\"wei\"},\"value_decimals\":18"));
	sr_typed_begin(&out, 1, NULL, 0);
	sr_typed_fixed(&out, rig_text, 20);
	sr_typed_uint(&out, 256, (sr_u128)1500000000000000001u);
	cr_assert_eq(decoded(&out), 0);
	cr_assert_eq(rig_order.view.value, 1500001, "rounded up");
	out = sr_out_over(rig_body, sizeof rig_body);
	sr_typed_begin(&out, 1, NULL, 0);
	sr_typed_fixed(&out, rig_text, 20);
	sr_typed_fixed(&out, "\1", 1);
	for (unsigned int i = 0; i < 31; i++)
		sr_typed_fixed(&out, "", 1);
	cr_assert_eq(decoded(&out), -EINVAL, "2^248 of them");
}

/* ---- what is refused ---- */

Test(manifest_schema, wrong_ones_are_named_by_their_path_and_what_was_expected)
{
#define TYPE ",\"type\":\"A(uint256 a,uint256 v)\""
#define D ",\"domain\":{\"name\":\"D\"}"
#define R ",\"roles\":{\"asset\":\"a\",\"size\":\"v\"}"
	static const struct {
		const char *json, *words;
	} wrong[] = {
		{ HEAD ",\"schemas\":{}}", "a list in [ ] is expected, at schemas" },
		{ SCHEMAS("{}"), "field \"id\" is missing, at schemas[0]" },
		{ SCHEMA(ID("0")), "from 1 to 2147483647" },
		{ SCHEMA("\"id\":1,\"kind\":\"none\""), "no kind \"none\", at schemas[0].kind" },
		{ SCHEMA("\"id\":1,\"network\":\"main\""), "\"mainnet\" or \"testnet\" is expected" },
		{ SCHEMA(ID("1") TYPE R), "either domain or separator is expected, at schemas[0]" },
		{ SCHEMA(ID("1") TYPE D R ",\"separator\":\"74e0b11bd18120612556bae4578cfd3a254d7e2495"
			 "f543c569a92ff5794d9b09\""),
		  "either domain or separator" },
		{ SCHEMA(ID("1") ",\"separator\":\"74\""), "64 hexadecimal digits" },
		{ SCHEMA(ID("1") D R ",\"type\":\"A(float a)\""),
		  "a member of a type that is neither EIP-712's nor defined, at schemas[0]" },
		{ SCHEMA(ID("1") TYPE R ",\"domain\":{\"contract\":\"0xAB\"}"),
		  "or \"body\", is expected, at schemas[0].domain.contract" },
		{ SCHEMA(ID("1") TYPE R ",\"domain\":{}"), "a domain without a member" },
		{ SCHEMA(ID("1") TYPE D ",\"roles\":{\"volume\":\"v\"}"),
		  "field \"volume\" is not known here, at schemas[0].roles" },
		{ SCHEMA(ID("1") TYPE D ",\"roles\":{\"asset\":\"a\",\"size\":\"w\"}"),
		  "a role names a member that is not there" },
		{ SCHEMA(ID("1") TYPE D ",\"roles\":{\"asset\":\"a\"}"), "needs the role of size" },
		{ SCHEMA(ID("1") TYPE D ",\"roles\":{\"size\":\"v\"}"), "needs the role of asset" },
		{ SCHEMA(ID("1") TYPE D R ",\"nonce_kind\":\"unique\""), "come together" },
		{ SCHEMA(ID("1") TYPE D ",\"roles\":{\"asset\":\"a\",\"size\":\"v\",\"nonce\":\"a\"}"),
		  "come together" },
		{ SCHEMA(ID("1") TYPE D ",\"roles\":{\"asset\":\"a\",\"size\":\"v\",\"nonce\":\"a\"},"
			 "\"nonce_kind\":\"unique\""),
		  "the member that is the nonce has another role" },
		{ SCHEMA(ID("1") TYPE D R ",\"nonce_kind\":\"none\""), "\"sequence\" or \"unique\"" },
		{ SCHEMA(ID("1") TYPE D R ",\"expiry_unit\":\"us\""), "\"s\", \"ms\" or \"ns\"" },
		{ SCHEMA(ID("1") TYPE D R ",\"expiry_bits\":65"), "from 1 to 64" },
		{ SCHEMA(ID("1") TYPE D R ",\"abi\":{\"member\":\"a\"}"), "\"type\" is missing" },
		{ SCHEMA("\"id\":1,\"kind\":\"transfer\",\"network\":\"mainnet\"" TYPE D ",\"roles\":{"
			 "\"value\":\"v\"}"),
		  "needs the role of destination" },
		{ SCHEMA("\"id\":1,\"kind\":\"transfer\",\"network\":\"mainnet\"" TYPE D ",\"roles\":{"
			 "\"destination\":\"a\"}"),
		  "needs the role of value" },
		{ SCHEMA(ID("1") TYPE R ",\"domain\":{\"name\":\"Exchange\",\"version\":\"1\","
			 "\"chain_id\":1337,\"contract\":"
			 "\"0x0000000000000000000000000000000000000000\"}"),
		  "this domain belongs to a venue that has a type of its own" },
		{ HEAD ",\"keys\":[{\"id\":1},{\"id\":2,\"policy\":{\"schemas\":[1,2]}}],\"schemas\":["
		       NADO("1", "body") "]}",
		  "there is no schema 2, at keys[1].policy.schemas[1]" },
		{ HEAD ",\"keys\":[{\"id\":2,\"policy\":{\"schemas\":[3,3]}}]}", "is repeated" },
		{ SCHEMAS(NADO("1", "body") "," SEND("1", "testnet")), "schema 1 is there already" },
	};

	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
		check_refused(wrong[i].json, wrong[i].words);
}

/* Two policies of one digest: the laxer one would be asked. */
Test(manifest_schema, two_do_not_sign_one_digest)
{
	static const char words[] = "schema 1 signs the same type in the same domain, at schemas[1]";
	static const char other[] = "0x0000000000000000000000000000000000000002";
	char text[4096];

	check_refused(SCHEMAS(NADO("1", PRODUCT) "," NADO("2", PRODUCT)), words);
	check_refused(SCHEMAS(NADO("1", "body") "," NADO("2", "body")), words);
	check_refused(SCHEMAS(NADO("1", "body") "," NADO("2", PRODUCT)), words);
	check_refused(SCHEMAS(NADO("1", PRODUCT) "," NADO("2", "body")), words);
	check_refused(SCHEMAS(SEND("1", "testnet") "," SEND("2", "mainnet")), words);
	(void)snprintf(text, sizeof text, SCHEMAS(NADO("1", PRODUCT) "," NADO("2", "%s")), other);
	parsed(text);
	parsed(SCHEMAS(NADO("1", "body") "," SEND("2", "testnet")));
	/* Of a bare separator nobody knows which contract is in it. */
	check_refused(SCHEMAS(NADO("1", "body") ",{" ID("2") ",\"type\":\"" NADO_TYPE
			      "\",\"separator\":\"74e0b11bd18120612556bae4578cfd3a254d7e2495f543c569a9"
			      "2ff5794d9b09\",\"roles\":{\"asset\":\"sender\",\"size\":\"amount\"}}"),
		      words);
}

Test(manifest_schema, there_are_sixteen_at_most)
{
	static char text[32768];
	size_t at = (size_t)snprintf(text, sizeof text, HEAD ",\"schemas\":[");

	for (unsigned int i = 1; i <= 17; i++) {
		at += (size_t)snprintf(text + at, sizeof text - at,
				       "%s{\"id\":%u,\"kind\":\"message\",\"network\":\"mainnet\","
				       "\"type\":\"M%u(string s)\",\"domain\":{\"name\":\"D\"}}",
				       i > 1 ? "," : "", i, i);
		if (i == 16) {
			(void)snprintf(text + at, sizeof text - at, "]}");
			parsed(text);
			cr_assert_eq(manifest.schema_count, 16);
		}
	}
	(void)snprintf(text + at, sizeof text - at, "]}");
	check_refused(text, "more than 16 schemas, at schemas[16]");
}
