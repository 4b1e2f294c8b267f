/* SPDX-License-Identifier: MIT */
/*
 * EIP-712 by schema: every vector of tests/vectors/typed_data.json and Hyperliquid's
 * user-signed actions compiled, put into bodies, decoded, hashed and signed; what a
 * schema's roles show to policy; and what is refused.
 */
#include <strings.h>

#include "order_rig.h"

#include "sr_eip712.h"
#include "sr_schema.h"
#include "sr_typed_data.h"

TestSuite(typed_data, .init = rig_setup, .fini = rig_teardown);

static struct sr_schema schema;
static struct sr_schema_set set = { &schema, 1 };
static const char *why;

/* ---- a message of a vector, put member by member ---- */

static void number_put(struct sr_out *out, unsigned int count, const json_t *value)
{
	unsigned char v[32] = { 0 };
	char digits[96];
	const char *at = digits;
	unsigned int carry;
	bool minus;

	if (json_is_string(value))
		(void)snprintf(digits, sizeof digits, "%s", json_string_value(value));
	else
		(void)snprintf(digits, sizeof digits, "%lld", (long long)json_integer_value(value));
	minus = *at == '-';
	for (at += minus; *at; at++) {
		carry = (unsigned int)(*at - '0');
		for (int i = 31; i >= 0; i--) {
			carry += v[i] * 10u;
			v[i] = (unsigned char)carry;
			carry >>= 8;
		}
	}
	carry = 1;
	for (int i = 31; minus && i >= 0; i--) {
		carry += (unsigned char)~v[i];
		v[i] = (unsigned char)carry;
		carry >>= 8;
	}
	sr_typed_fixed(out, v + 32 - count, count);
}

static void struct_put(struct sr_out *out, unsigned int index, const json_t *message);

static void value_put(struct sr_out *out, const struct sr_member *member, const json_t *value)
{
	static unsigned char bytes[4096];

	switch (member->kind) {
	case SR_MEMBER_UINT:
	case SR_MEMBER_INT:
		number_put(out, member->bytes, value);
		break;
	case SR_MEMBER_BOOL:
		sr_typed_bool(out, json_is_true(value));
		break;
	case SR_MEMBER_ADDRESS:
	case SR_MEMBER_FIXED:
		cr_assert_eq(rig_unhex(bytes, sizeof bytes, json_string_value(value)),
			     member->bytes);
		sr_typed_fixed(out, bytes, member->bytes);
		break;
	case SR_MEMBER_BYTES:
		sr_typed_text(out, bytes,
			      (uint32_t)rig_unhex(bytes, sizeof bytes, json_string_value(value)));
		break;
	case SR_MEMBER_STRING:
		sr_typed_text(out, json_string_value(value), (uint32_t)json_string_length(value));
		break;
	default:
		struct_put(out, member->type, value);
		break;
	}
}

static void struct_put(struct sr_out *out, unsigned int index, const json_t *message)
{
	const struct sr_struct_type *type = &schema.structs[index];

	for (unsigned int i = 0; i < type->count; i++) {
		const struct sr_member *member = &schema.members[type->first + i];
		char name[SR_SCHEMA_NAME_BYTES + 1];
		const json_t *value;

		(void)snprintf(name, sizeof name, "%.*s", member->name_bytes, member->name);
		value = json_object_get(message, name);
		cr_assert_not_null(value, "%s", name);
		if (type->first + i == (unsigned int)schema.roles[SR_ROLE_NONCE])
			continue;
		if (!member->array) {
			value_put(out, member, value);
			continue;
		}
		if (!member->count)
			sr_typed_count(out, (uint32_t)json_array_size(value));
		for (size_t j = 0; j < json_array_size(value); j++)
			value_put(out, member, json_array_get(value, j));
	}
}

static int body_of(const json_t *message, const unsigned char *contract, uint64_t nonce)
{
	struct sr_out out = sr_out_over(rig_body, sizeof rig_body);

	sr_typed_begin(&out, schema.id, contract, nonce);
	struct_put(&out, 0, message);
	return sr_typed_end(&out);
}

static int decoded(int bytes)
{
	cr_assert_gt(bytes, 0);
	rig_env.schemas = &set;
	return sr_order_decode(&rig_order, SR_TYPE_TYPED_DATA, rig_body, (uint32_t)bytes, &rig_env);
}

/* ---- vectors ---- */

static unsigned char contract_bytes[20], separator_bytes[32];
static struct sr_domain domain;

static struct sr_schema_source source_of(const json_t *vector)
{
	const json_t *json = json_object_get(vector, "domain");
	struct sr_schema_source source = { .id = 7, .kind = SR_KIND_MESSAGE };

	source.types = rig_string(vector, json_object_get(vector, "types") ? "types" : "type");
	source.abi_member = json_string_value(json_object_get(vector, "abi_member"));
	source.abi_type = json_string_value(json_object_get(vector, "abi_type"));
	if (!json) {
		rig_bytes(separator_bytes, 32, vector, "separator");
		source.separator = separator_bytes;
		return source;
	}
	domain = (struct sr_domain){ .name = rig_string(json, "name"),
				     .version = rig_string(json, "version"),
				     .chain_id = rig_number(json, "chainId") };
	if (json_object_get(json, "verifyingContract")) {
		rig_bytes(contract_bytes, 20, json, "verifyingContract");
		domain.contract = contract_bytes;
	}
	source.domain = &domain;
	return source;
}

static json_t *check_posted(const json_t *vector, const struct sr_order_signature *signature)
{
	int bytes = sr_order_render(rig_text, sizeof rig_text, &rig_order, signature, &rig_env);
	json_error_t error;
	json_t *posted;

	cr_assert_gt(bytes, 0);
	posted = json_loadb(rig_text, (size_t)bytes, 0, &error);
	cr_assert_not_null(posted, "%s: %.*s", error.text, bytes, rig_text);
	/* What was posted, put into a body again, is the same body. */
	memcpy(rig_text, rig_body, rig_order.body_bytes);
	cr_assert_eq(body_of(json_object_get(posted, "message"), NULL, rig_order.view.nonce),
		     (int)rig_order.body_bytes, "%s", rig_string(vector, "id"));
	cr_assert_eq(memcmp(rig_text, rig_body, rig_order.body_bytes), 0);
	return posted;
}

static void check_vector(json_t *vector)
{
	const char *id = rig_string(vector, "id");
	struct sr_schema_source source = source_of(vector);
	struct sr_order_signature signature = { { 1 }, 0 };
	unsigned char digest[32];
	json_t *posted;

	cr_assert_eq(sr_schema_compile(&schema, &source, &why), 0, "%s: %s", id, why);
	if (json_object_get(vector, "type_hash"))
		rig_expect(vector, "type_hash", schema.structs[0].hash, 32, id);
	if (json_object_get(vector, "domain_separator"))
		rig_expect(vector, "domain_separator", schema.separator, 32, id);
	cr_assert_eq(decoded(body_of(json_object_get(vector, "message"), NULL, 0)), 0, "%s", id);
	cr_assert_eq(sr_order_digest(digest, &rig_order, &rig_env), 0);
	rig_expect(vector, "digest", digest, 32, id);
	if (json_object_get(vector, "key"))
		rig_sign(&signature, rig_string(vector, "key"), digest);
	posted = check_posted(vector, &signature);
	if (json_object_get(vector, "key"))
		cr_assert_eq(strncmp(rig_string(posted, "signature") + 2,
				     rig_string(vector, "signature"), 128), 0, "%s", id);
	json_decref(posted);
}

Test(typed_data, every_vector_gives_its_hashes_and_signature)
{
	json_t *root = rig_vectors("typed_data.json"), *vector;
	size_t i;

	json_array_foreach(rig_array(root, "messages", 16), i, vector)
		check_vector(vector);
	json_decref(root);
}

/* Transfers, withdrawals and approvals are signed only where operators register them. */
Test(typed_data, hyperliquids_user_signed_actions_are_schemas_of_the_manifest)
{
	json_t *root = rig_vectors("hyperliquid.json"), *vector;
	size_t i;

	json_array_foreach(rig_array(root, "user_signed", 7), i, vector) {
		json_object_set_new(vector, "domain", json_pack("{s:s, s:s, s:i, s:s}",
			"name", "HyperliquidSignTransaction", "version", "1",
			"chainId", (int)rig_number(vector, "chain_id"), "verifyingContract",
			"0x0000000000000000000000000000000000000000"));
		check_vector(vector);
	}
	json_decref(root);
}

/* ---- roles ---- */

static const char nado_type[] = "Order(bytes32 sender,int128 priceX18,int128 amount,"
				"uint64 expiration,uint64 nonce,uint128 appendix)";

static struct sr_schema_source nado(void)
{
	domain = (struct sr_domain){ "Nado", "0.0.1", 1337, contract_bytes, NULL, false };
	return (struct sr_schema_source){
		.id = 7, .types = nado_type, .domain = &domain, .contract_in_body = true,
		.kind = SR_KIND_ORDER, .nonce_kind = SR_NONCE_UNIQUE,
		.price_decimals = 18, .size_decimals = 18, .expiry_mask = UINT64_MAX >> 6,
		.roles = { [SR_ROLE_PRICE] = "priceX18", [SR_ROLE_SIZE] = "amount",
			   [SR_ROLE_NONCE] = "nonce", [SR_ROLE_EXPIRY] = "expiration",
			   [SR_ROLE_ACCOUNT] = "sender" },
	};
}

Test(typed_data, nado_orders_are_seen_by_policy)
{
	static const unsigned char product[20] = { [19] = 1 };
	json_t *root = rig_vectors("typed_data.json");
	json_t *vector = json_array_get(json_object_get(root, "messages"), 0);
	struct sr_schema_source source = nado();
	const struct sr_order_view *view = &rig_order.view;
	unsigned char digest[32];

	cr_assert_eq(sr_schema_compile(&schema, &source, &why), 0, "%s", why);
	cr_assert_eq(decoded(body_of(json_object_get(vector, "message"), product,
				     1764428860167815857)), 0);
	cr_assert_eq(sr_order_digest(digest, &rig_order, &rig_env), 0);
	rig_expect(vector, "digest", digest, 32, "the contract out of the body");
	cr_assert_eq(view->kind, SR_KIND_ORDER);
	cr_assert_eq(view->chain_id, 1337);
	cr_assert_eq(view->nonce, 1764428860167815857);
	cr_assert_eq(view->nonce_kind, SR_NONCE_UNIQUE);
	cr_assert_eq(view->expiry_ms, (4611687701117784255 & UINT64_MAX >> 6) * 1000);
	cr_assert_eq(view->account.bytes, 32);
	cr_assert_eq(view->leg_count, 1);
	cr_assert_eq(view->legs[0].asset.words[0], 1, "the product is the contract");
	cr_assert_eq(view->legs[0].side, SR_SIDE_SELL, "a negative amount sells");
	cr_assert(view->legs[0].price == (sr_u128)28898 * 1000000000000000000u);
	cr_assert(view->legs[0].size == 10000000000000000u);
	/* 28898 x 0.01 */
	cr_assert_eq(view->legs[0].notional, 288980000);
	json_decref(root);
}

Test(typed_data, derives_orders_are_seen_inside_their_bytes)
{
	json_t *root = rig_vectors("typed_data.json");
	json_t *vector = json_array_get(json_object_get(root, "messages"), 11);
	struct sr_schema_source source = source_of(vector);
	const struct sr_order_leg *leg = &rig_order.view.legs[0];

	cr_assert_str_eq(rig_string(vector, "id"), "derive_sell");
	source.kind = SR_KIND_ORDER;
	source.price_decimals = source.size_decimals = 18;
	source.roles[SR_ROLE_ASSET] = "subId";
	source.roles[SR_ROLE_SIDE] = "isBid";
	source.roles[SR_ROLE_PRICE] = "limitPrice";
	source.roles[SR_ROLE_SIZE] = "amount";
	source.roles[SR_ROLE_EXPIRY] = "expiry";
	source.roles[SR_ROLE_NONCE] = "nonce";
	source.roles[SR_ROLE_ACCOUNT] = "owner";
	cr_assert_eq(sr_schema_compile(&schema, &source, &why), 0, "%s", why);
	cr_assert_eq(decoded(body_of(json_object_get(vector, "message"), NULL, 1695836058725002)),
		     0);
	cr_assert_eq(leg->side, SR_SIDE_SELL);
	cr_assert(leg->price == (sr_u128)2534500000000000000u * 1000u);
	cr_assert(leg->size == 1500000000000000000u);
	cr_assert_eq(leg->notional, 3801750000);
	cr_assert_eq(rig_order.view.expiry_ms, 2147483647000);
	cr_assert_eq(leg->asset.words[0], 0xe11d600066067500u);
	cr_assert_eq(leg->asset.words[1], 0x80000037u);
	json_decref(root);
}

/* ---- what is refused ---- */

static void not_compiled(struct sr_schema_source source, const char *reason)
{
	why = NULL;
	cr_assert_eq(sr_schema_compile(&schema, &source, &why), -EINVAL, "%s", reason);
	cr_assert_not_null(why);
}

Test(typed_data, schemas_that_are_none_are_refused_with_a_reason)
{
	static const char *const bad[] = {
		"", "Order", "Order(", "Order()", "Order(uint256)", "Order(uint256 a,)",
		"Order(uint256  a)", "Order(uint7 a)", "Order(uint264 a)", "Order(uint a)",
		"Order(bytes33 a)", "Order(bytes0 a)", "Order(float a)", "Order(uint256[][] a)",
		"Order(uint256[0] a)", "Order(uint256[129] a)", "Order(Leg a)", "Order(Order a)",
		"Order(uint256 a)Order(uint256 b)", "(uint256 a)", "Order(uint256 a) ",
		"A(B b)B(C c)C(D d)D(E e)E(uint256 a)",
		"Order(uint256 a_name_that_goes_on_and_on_and_on_and_on_until_it_has_more_than_64_characters)",
	};
	struct sr_schema_source source = nado();

	for (unsigned int i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		source = nado();
		source.types = bad[i];
		memset(source.roles, 0, sizeof source.roles);
		not_compiled(source, bad[i]);
	}
	source = nado();
	source.roles[SR_ROLE_PRICE] = "nothing";
	not_compiled(source, "a member that is not there");
	source.roles[SR_ROLE_PRICE] = "sender";
	not_compiled(source, "bytes are no price");
	source = nado();
	source.types = "Order(Leg[] legs)Leg(uint256 price)";
	memset(source.roles, 0, sizeof source.roles);
	source.roles[SR_ROLE_PRICE] = "price";
	not_compiled(source, "a price of each of many");
	source.types = "Order(Leg a,Leg b)Leg(uint256 price)";
	not_compiled(source, "a price that is there twice");
	source.types = "Order(Leg a)Leg(uint256 price)";
	cr_assert_eq(sr_schema_compile(&schema, &source, &why), 0, "%s", why);
	source.kind = SR_KIND_NONE;
	not_compiled(source, "no kind");
}

/* No schema signs what a venue of the table signs. */
Test(typed_data, domains_of_venues_are_refused)
{
	static const unsigned char zero[20];
	struct sr_schema_source source = nado();

	source.types = "Agent(string source,bytes32 connectionId)";
	memset(source.roles, 0, sizeof source.roles);
	domain = (struct sr_domain){ "Exchange", "1", 1337, zero, NULL, false };
	source.contract_in_body = false;
	not_compiled(source, "Hyperliquid's domain");

	domain = (struct sr_domain){ "ClobAuthDomain", "1", 137, NULL, NULL, false };
	not_compiled(source, "Polymarket's");
	domain = (struct sr_domain){ "Exchange", "1", 1337, zero, NULL, false };

	/* And not by way of the body. */
	memset(contract_bytes, 5, sizeof contract_bytes);
	domain.contract = contract_bytes;
	source.contract_in_body = true;
	cr_assert_eq(sr_schema_compile(&schema, &source, &why), 0, "%s", why);
	for (int same = 0; same <= 1; same++) {
		struct sr_out out = sr_out_over(rig_body, sizeof rig_body);

		sr_typed_begin(&out, 7, same ? zero : contract_bytes, 0);
		sr_typed_text(&out, "a", 1);
		sr_typed_fixed(&out, rig_text, 32);
		cr_assert_eq(decoded(sr_typed_end(&out)), same ? -EPERM : 0);
	}
}

Test(typed_data, messages_that_are_not_the_schemas_are_refused)
{
	struct sr_schema_source source = nado();
	struct sr_out out = sr_out_over(rig_body, sizeof rig_body);
	int bytes;

	source.types = "M(string text,uint8[] list,bool flag)";
	memset(source.roles, 0, sizeof source.roles);
	source.contract_in_body = false;
	cr_assert_eq(sr_schema_compile(&schema, &source, &why), 0, "%s", why);
	sr_typed_begin(&out, 7, NULL, 0);
	sr_typed_text(&out, "text", 4);
	sr_typed_count(&out, 2);
	sr_typed_uint(&out, 8, 1);
	sr_typed_uint(&out, 8, 2);
	sr_typed_bool(&out, true);
	bytes = sr_typed_end(&out);
	cr_assert_eq(decoded(bytes), 0);

	for (int at = (int)SR_TYPED_MESSAGE; at < bytes; at++) /* too short, too long */
		for (int delta = -1; delta <= 1; delta += 2) {
			sr_put16(rig_body + SR_ORDER_TAIL,
				 (uint16_t)(at - (int)SR_TYPED_MESSAGE + (delta > 0 ? 100 : 0)));
			cr_assert_eq(decoded(at + (delta > 0 ? 100 : 0)), -EINVAL);
		}
	sr_put16(rig_body + SR_ORDER_TAIL, (uint16_t)(bytes - (int)SR_TYPED_MESSAGE));
	rig_body[bytes - 1] = 2;
	cr_assert_eq(decoded(bytes), -EINVAL, "a third truth");
	rig_body[bytes - 1] = 1;
	rig_body[SR_TYPED_MESSAGE + 2] = '\n';
	cr_assert_eq(decoded(bytes), -EINVAL, "what JSON would escape");
	rig_body[SR_TYPED_MESSAGE + 2] = 't';
	rig_body[SR_TYPED_CONTRACT] = 1;
	cr_assert_eq(decoded(bytes), -EINVAL, "a contract that nobody asked for");
	rig_body[SR_TYPED_CONTRACT] = 0;
	rig_body[SR_ORDER_NONCE] = 1;
	cr_assert_eq(decoded(bytes), -EINVAL, "a nonce that no member takes");
	rig_body[SR_ORDER_NONCE] = 0;
	rig_body[SR_TYPED_SCHEMA] = 8;
	cr_assert_eq(decoded(bytes), -EINVAL, "an unregistered schema");
	rig_body[SR_TYPED_SCHEMA] = 7;
	cr_assert_eq(decoded(bytes), 0);
}

/* From one end of 256 bits to the other: what does not fit 127 is refused, not cut. */
Test(typed_data, numbers_that_do_not_fit_are_refused_whatever_their_sign)
{
	static const struct {
		unsigned char high, middle, low; /* byte 0 and its like, byte 15, byte 31 */
		unsigned char fill;              /* between middle and low */
		int ret;
	} cases[] = {
		{ 0, 0, 1, 0, 0 },
		{ 0xff, 0xff, 0xff, 0xff, 0 },           /* -1 */
		{ 0xff, 0xff, 0, 0, -EINVAL },           /* -2^128 */
		{ 0xff, 0xff, 1, 0, -EINVAL },           /* -2^128 + 1 */
		{ 0xff, 0xfe, 0xff, 0xff, -EINVAL },     /* -2^128 - 1 */
		{ 0, 1, 0, 0, -EINVAL },                 /* 2^128 */
		{ 0, 0, 0xff, 0xff, -EINVAL },           /* 2^128 - 1 */
		{ 0x80, 0, 0, 0, -EINVAL },
		{ 0x7f, 0xff, 0xff, 0xff, -EINVAL },
	};
	struct sr_schema_source source = nado();

	source.types = "O(int256 size)";
	source.contract_in_body = false;
	memset(source.roles, 0, sizeof source.roles);
	source.roles[SR_ROLE_SIZE] = "size";
	cr_assert_eq(sr_schema_compile(&schema, &source, &why), 0, "%s", why);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct sr_out out = sr_out_over(rig_body, sizeof rig_body);
		unsigned char v[32];

		memset(v, cases[i].high == 0x80 ? 0 : cases[i].high, 16);
		v[0] = cases[i].high;
		v[15] = cases[i].middle;
		memset(v + 16, cases[i].fill, 16);
		v[31] = cases[i].low;
		sr_typed_begin(&out, 7, NULL, 0);
		sr_typed_fixed(&out, v, 32);
		cr_assert_eq(decoded(sr_typed_end(&out)), cases[i].ret, "case %zu", i);
		if (!cases[i].ret)
			cr_assert(rig_order.view.legs[0].size == 1 &&
				  rig_order.view.legs[0].side ==
					  (cases[i].high ? SR_SIDE_SELL : SR_SIDE_BUY));
	}
}

Test(typed_data, each_bit_of_a_message_is_signed)
{
	json_t *root = rig_vectors("typed_data.json"), *vector;
	unsigned char digest[32], other[32];
	size_t i;

	json_array_foreach(rig_array(root, "messages", 16), i, vector) {
		struct sr_schema_source source = source_of(vector);
		int bytes;

		cr_assert_eq(sr_schema_compile(&schema, &source, &why), 0);
		bytes = body_of(json_object_get(vector, "message"), NULL, 0);
		cr_assert_eq(decoded(bytes), 0);
		cr_assert_eq(sr_order_digest(digest, &rig_order, &rig_env), 0);
		for (int bit = 0; bit < 8 * bytes; bit++) {
			rig_body[bit / 8] ^= (unsigned char)(1u << bit % 8);
			if (!decoded(bytes)) {
				cr_assert_eq(sr_order_digest(other, &rig_order, &rig_env), 0);
				cr_assert_neq(memcmp(digest, other, 32), 0, "%s, bit %d",
					      rig_string(vector, "id"), bit);
			}
			rig_body[bit / 8] ^= (unsigned char)(1u << bit % 8);
		}
	}
	json_decref(root);
}
