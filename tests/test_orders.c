/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include <stdlib.h>

#include <jansson.h>

#include "sr_order.h"
#include "sr_orders.h"
#include "sr_type.h"
#include "sr_venue.h"
#include "sr_verify.h"

#define BODY_MAX 336u
#define DIGEST_HEX "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static int parse(struct sr_order_line *order, const char *text, char why[SR_ORDERS_WHY_BYTES])
{
	return sr_orders_parse(order, NULL, text, strlen(text), BODY_MAX, why);
}

Test(orders, text_and_hex_give_their_bytes)
{
	char why[SR_ORDERS_WHY_BYTES];
	struct sr_order_line o;

	cr_assert_eq(parse(&o, "{\"scheme\":\"ecdsa-sha256\",\"key\":7,\"message\":\"h\\u00e9\"}",
			   why),
		     0);
	cr_assert_eq(o.type, SR_ECDSA_SHA256);
	cr_assert_eq(o.key, 7);
	cr_assert_eq(o.body_bytes, 3);
	cr_assert_arr_eq(o.body, "h\xc3\xa9", 3);
	cr_assert_null(o.id);
	sr_orders_release(&o);

	cr_assert_eq(parse(&o,
			   " {\"id\":\"a\",\"source\":\"b\",\"hex\":\"00fFAb\",\"key\":4294967295,"
			   "\"scheme\":\"bip340\"}\r",
			   why),
		     0);
	cr_assert_eq(o.type, SR_BIP340);
	cr_assert_eq(o.key, UINT32_MAX);
	cr_assert_eq(o.body_bytes, 3);
	cr_assert_arr_eq(o.body, "\x00\xff\xab", 3);
	cr_assert_str_eq(o.id, "a");
	sr_orders_release(&o);
}

Test(orders, an_empty_message_is_a_body_of_no_bytes)
{
	char why[SR_ORDERS_WHY_BYTES];
	struct sr_order_line o;

	cr_assert_eq(parse(&o, "{\"scheme\":\"ecdsa-keccak256\",\"key\":1,\"message\":\"\"}", why),
		     0);
	cr_assert_eq(o.body_bytes, 0);
	sr_orders_release(&o);
}

static const struct {
	const char *line;
	const char *reason; /* must be in what is said */
} wrong[] = {
	{ "nonsense", "not JSON" },
	{ "{\"scheme\":\"ecdsa-sha256\"", "not JSON" },
	{ "{\"scheme\":\"ecdsa-sha256\",\"key\":1,\"message\":\"x\"} {}", "not JSON" },
	{ "{\"scheme\":\"bip340\",\"key\":1,\"key\":2,\"message\":\"x\"}", "duplicate" },
	{ "{\"scheme\":\"bip340\",\"key\":1,\"message\":\"a\\u0000b\"}", "not JSON" },
	{ "{\"scheme\":\"bip340\",\"key\":1,\"message\":\"\xff\"}", "not JSON" },
	{ "[1]", "not a JSON object" },
	{ "7", "not a JSON object" },
	{ "null", "not a JSON object" },
	{ "{}", "no \"scheme\"" },
	{ "{\"scheme\":7,\"key\":1,\"message\":\"x\"}", "\"scheme\" is not a string" },
	{ "{\"scheme\":\"ecdsa\",\"key\":1,\"message\":\"x\"}", "unknown scheme \"ecdsa\"" },
	{ "{\"scheme\":\"ECDSA-SHA256\",\"key\":1,\"message\":\"x\"}", "unknown scheme" },
	{ "{\"scheme\":\"bip340\",\"message\":\"x\"}", "no \"key\"" },
	{ "{\"scheme\":\"bip340\",\"key\":\"1\",\"message\":\"x\"}", "not a whole number" },
	{ "{\"scheme\":\"bip340\",\"key\":1.0,\"message\":\"x\"}", "not a whole number" },
	{ "{\"scheme\":\"bip340\",\"key\":true,\"message\":\"x\"}", "not a whole number" },
	{ "{\"scheme\":\"bip340\",\"key\":0,\"message\":\"x\"}",
	  "key 0 is not in 1 .. 4294967295" },
	{ "{\"scheme\":\"bip340\",\"key\":-1,\"message\":\"x\"}", "key -1 is not in" },
	{ "{\"scheme\":\"bip340\",\"key\":4294967296,\"message\":\"x\"}",
	  "key 4294967296 is not in" },
	{ "{\"scheme\":\"bip340\",\"key\":1}", "neither \"message\" nor \"hex\"" },
	{ "{\"scheme\":\"bip340\",\"key\":1,\"message\":\"x\",\"hex\":\"00\"}",
	  "both \"message\" and \"hex\"" },
	{ "{\"scheme\":\"bip340\",\"key\":1,\"message\":null}", "\"message\" is not a string" },
	{ "{\"scheme\":\"bip340\",\"key\":1,\"hex\":\"abc\"}", "odd number of hex digits (3)" },
	{ "{\"scheme\":\"bip340\",\"key\":1,\"hex\":\"0x\"}", "no hex digit" },
	{ "{\"scheme\":\"bip340\",\"key\":1,\"hex\":\"0g\"}", "no hex digit" },
	{ "{\"scheme\":\"ecdsa-digest\",\"key\":1,\"hex\":\"00\"}",
	  "a digest has 32 bytes, not 1" },
	{ "{\"scheme\":\"ecdsa-digest\",\"key\":1,\"hex\":\"" DIGEST_HEX "00\"}", "not 33" },
	{ "{\"scheme\":\"bip340\",\"key\":1,\"message\":\"x\",\"side\":\"buy\"}",
	  "unknown field \"side\"" },
	{ "{\"scheme\":\"bip340\",\"key\":1,\"message\":\"x\",\"Hex\":\"\"}",
	  "unknown field \"Hex\"" },
	{ "{\"scheme\":\"bip340\",\"key\":1,\"message\":\"x\",\"id\":7}",
	  "\"id\" is not a string" },
};

Test(orders, every_wrong_line_is_told_what_is_wrong)
{
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		char why[SR_ORDERS_WHY_BYTES] = "";
		struct sr_order_line o = { .line = 99 };

		cr_assert_eq(parse(&o, wrong[i].line, why), -EINVAL, "%s", wrong[i].line);
		cr_assert(strstr(why, wrong[i].reason), "%s: %s", wrong[i].line, why);
		cr_assert_eq(o.line, 99, "the order is untouched");
	}
}

Test(orders, the_slot_bounds_the_body)
{
	char why[SR_ORDERS_WHY_BYTES], line[2048], hex[2 * BODY_MAX + 3];
	struct sr_order_line o;

	memset(hex, 'a', sizeof hex);
	hex[2 * BODY_MAX] = 0;
	(void)snprintf(line, sizeof line, "{\"scheme\":\"bip340\",\"key\":1,\"hex\":\"%s\"}", hex);
	cr_assert_eq(parse(&o, line, why), 0);
	cr_assert_eq(o.body_bytes, BODY_MAX);
	sr_orders_release(&o);

	hex[2 * BODY_MAX] = 'a';
	hex[2 * BODY_MAX + 2] = 0;
	(void)snprintf(line, sizeof line, "{\"scheme\":\"bip340\",\"key\":1,\"hex\":\"%s\"}", hex);
	cr_assert_eq(parse(&o, line, why), -EINVAL);
	cr_assert(strstr(why, "body of 337 bytes is too long for the slot, which carries 336"),
		  "%s", why);
}

Test(orders, a_reason_carries_no_control_characters)
{
	char why[SR_ORDERS_WHY_BYTES];
	struct sr_order_line o;

	cr_assert_eq(parse(&o, "{\"scheme\":\"\\u001b[2Jx\\n\",\"key\":1,\"hex\":\"\"}", why),
		     -EINVAL);
	for (const char *p = why; *p; p++)
		cr_assert((unsigned char)*p >= 0x20);
}

struct seen {
	uint32_t lines[8];
	char what[8][SR_ORDERS_WHY_BYTES];
	unsigned int count;
};

static void note(void *arg, uint32_t line, const char *what)
{
	struct seen *s = arg;

	cr_assert_lt(s->count, 8);
	s->lines[s->count] = line;
	(void)snprintf(s->what[s->count], sizeof s->what[0], "%s", what);
	s->count++;
}

static int read_text(struct sr_orders *orders, const char *text, bool keep_going, struct seen *seen)
{
	FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	int err;

	cr_assert_not_null(file);
	memset(seen, 0, sizeof *seen);
	err = sr_orders_read(orders, file, BODY_MAX, keep_going, note, seen);
	fclose(file);
	return err;
}

static const char mixed[] = "{\"scheme\":\"bip340\",\"key\":1,\"message\":\"a\"}\n"
			    "\n"
			    "oops\n"
			    " \t\r\n"
			    "{\"scheme\":\"bip340\",\"key\":2,\"message\":\"b\"}\n"
			    "{}\n"
			    "{\"scheme\":\"bip340\",\"key\":3,\"message\":\"c\"}";

Test(orders, reading_stops_at_the_first_wrong_line)
{
	struct sr_orders orders;
	struct seen seen;

	cr_assert_eq(read_text(&orders, mixed, false, &seen), 0);
	cr_assert_eq(orders.bad, 1);
	cr_assert_eq(orders.count, 1);
	cr_assert_eq(seen.count, 1);
	cr_assert_eq(seen.lines[0], 3);
	sr_orders_free(&orders);
}

Test(orders, keep_going_reads_behind_wrong_lines_and_keeps_line_numbers)
{
	struct sr_orders orders;
	struct seen seen;

	cr_assert_eq(read_text(&orders, mixed, true, &seen), 0);
	cr_assert_eq(orders.bad, 2);
	cr_assert_eq(seen.lines[0], 3);
	cr_assert_eq(seen.lines[1], 6);
	cr_assert_eq(orders.count, 3);
	cr_assert_eq(orders.list[0].line, 1);
	cr_assert_eq(orders.list[1].line, 5);
	cr_assert_eq(orders.list[2].line, 7);
	cr_assert_eq(orders.list[2].key, 3);
	sr_orders_free(&orders);
}

Test(orders, a_line_without_end_is_refused_by_its_length)
{
	size_t bytes = 3 * SR_ORDERS_LINE_MAX;
	char *text = malloc(bytes + 64);
	struct sr_orders orders;
	struct seen seen;

	cr_assert_not_null(text);
	memset(text, ' ', bytes);
	strcpy(text + bytes, "\n{\"scheme\":\"bip340\",\"key\":1,\"message\":\"a\"}\n");
	cr_assert_eq(read_text(&orders, text, true, &seen), 0);
	cr_assert_eq(orders.bad, 1);
	cr_assert(strstr(seen.what[0], "longer than"), "%s", seen.what[0]);
	cr_assert_eq(orders.count, 1);
	cr_assert_eq(orders.list[0].line, 2);
	sr_orders_free(&orders);
	free(text);
}

#define TYPED "docs/examples/orders.jsonl" /* what `make run` replays */
#define BLIND "docs/examples/blind.jsonl"

static void open_example(struct sr_orders *orders, const char *path)
{
	FILE *file = fopen(path, "r");
	struct seen seen = { .count = 0 };

	cr_assert_not_null(file, "run from the top of the tree");
	cr_assert_eq(sr_orders_read(orders, file, BODY_MAX, false, note, &seen), 0);
	fclose(file);
	cr_assert_eq(seen.count, 0, "line %u: %s", seen.lines[0], seen.what[0]);
}

Test(example, has_two_hundred_orders_of_every_venue)
{
	static const char *const venues[] = { "hyperliquid/", "polymarket/", "dydx/",
					      "grvt/",        "cosmos/",     "seed/" };
	struct sr_orders orders;

	open_example(&orders, BLIND);
	cr_assert_geq(orders.count, 200);
	for (size_t v = 0; v < sizeof venues / sizeof venues[0]; v++) {
		uint32_t i = 0;

		while (i < orders.count && strncmp(orders.list[i].id, venues[v], strlen(venues[v])))
			i++;
		cr_assert_lt(i, orders.count, "no order of %s", venues[v]);
	}
	sr_orders_free(&orders);
}

static int by_body(const void *a, const void *b)
{
	const struct sr_order_line *x = a, *y = b;

	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	if (x->body_bytes != y->body_bytes)
		return x->body_bytes < y->body_bytes ? -1 : 1;
	return memcmp(x->body, y->body, x->body_bytes);
}

static void none_twice(const char *path)
{
	struct sr_orders orders;

	open_example(&orders, path);
	qsort(orders.list, orders.count, sizeof *orders.list, by_body);
	for (uint32_t i = 1; i < orders.count; i++)
		cr_assert_neq(by_body(&orders.list[i - 1], &orders.list[i]), 0, "%s and %s",
			      orders.list[i - 1].id, orders.list[i].id);
	sr_orders_free(&orders);
}

Test(example, has_no_order_twice)
{
	none_twice(TYPED);
	none_twice(BLIND);
}

Test(example, typed_orders_are_of_every_venue_of_the_table)
{
	struct sr_orders orders;

	open_example(&orders, TYPED);
	for (uint32_t type = SR_TYPE_TYPED_MIN; type < SR_TYPE_TYPED_MIN + 64; type++) {
		const char *venue = sr_venue_name(type);
		uint32_t count = 0;

		for (uint32_t i = 0; i < orders.count; i++)
			count += orders.list[i].type == type;
		if (venue)
			cr_assert_geq(count, 2, "%u orders of %s", count, venue);
		else
			cr_assert_eq(count, 0, "%u orders of type %u", count, type);
	}
	sr_orders_free(&orders);
}

static const struct sr_order_line *find(const struct sr_orders *orders, const char *id)
{
	for (uint32_t i = 0; i < orders->count; i++)
		if (!strcmp(orders->list[i].id, id))
			return &orders->list[i];
	return NULL;
}

static void digest_of(unsigned char digest[32], const struct sr_order_line *o)
{
	if (o->type == SR_ECDSA_SHA256)
		cr_assert_eq(sr_verify_sha256(digest, o->body, o->body_bytes), 0);
	else if (o->type == SR_ECDSA_KECCAK256)
		sr_verify_keccak256(digest, o->body, o->body_bytes);
	else
		memcpy(digest, o->body, 32);
}

/* The order whose id differs from @id behind the last slash. */
static const struct sr_order_line *sibling(const struct sr_orders *orders, const char *id,
				      const char *last)
{
	char name[SR_ORDERS_ID_MAX + 64];
	const struct sr_order_line *found;

	(void)snprintf(name, sizeof name, "%s", id);
	(void)snprintf(strrchr(name, '/'), 64, "/%s", last);
	found = find(orders, name);
	cr_assert_not_null(found, "%s belongs to %s", name, id);
	return found;
}

static void ends_with(const struct sr_order_line *o, const unsigned char digest[32], const char *of)
{
	cr_assert_geq(o->body_bytes, 32);
	cr_assert_arr_eq(o->body + o->body_bytes - 32, digest, 32,
			 "%s does not end with the hash of %s", o->id, of);
}

/* A case's lines are the steps of one signature: each ends with the hash of the
 * one before, so that no byte of the file can be wrong alone. */
Test(example, steps_of_a_case_hash_into_one_another)
{
	struct sr_orders orders;
	uint32_t chained = 0;

	open_example(&orders, BLIND);
	for (uint32_t i = 0; i < orders.count; i++) {
		const struct sr_order_line *o = &orders.list[i];
		const char *step = strrchr(o->id, '/') + 1;
		unsigned char digest[32];

		digest_of(digest, o);
		chained++;
		if (!strcmp(step, "action")) {
			ends_with(sibling(&orders, o->id, "mainnet/agent-struct"), digest, o->id);
			ends_with(sibling(&orders, o->id, "testnet/agent-struct"), digest, o->id);
		} else if (!strcmp(step, "struct") || !strcmp(step, "agent-struct")) {
			ends_with(sibling(&orders, o->id, "eip712"), digest, o->id);
		} else if (!strcmp(step, "eip712") || !strcmp(step, "sign-doc")) {
			ends_with(sibling(&orders, o->id, "digest"), digest, o->id);
		} else {
			chained--;
		}
	}
	cr_assert_geq(chained, 140);
	sr_orders_free(&orders);
}

/* The bytes in the file are the ones that the venue's own test key signed. */
Test(example, venues_signatures_verify_over_its_lines)
{
	struct sr_verifier *verifier;
	struct sr_orders orders;
	json_error_t error;
	json_t *root, *vectors, *entry;
	size_t i, published = 0;

	open_example(&orders, BLIND);
	cr_assert_eq(sr_verifier_new(&verifier), 0);
	root = json_load_file("tests/vectors/venue_orders.json", 0, &error);
	cr_assert_not_null(root, "%s", error.text);
	vectors = json_object_get(root, "vectors");
	cr_assert_geq(json_array_size(vectors), 60);
	json_array_foreach(vectors, i, entry) {
		const char *id = json_string_value(json_object_get(entry, "order"));
		const char *hex = json_string_value(json_object_get(entry, "digest"));
		const char *sig_hex = json_string_value(json_object_get(entry, "signature"));
		const char *origin = json_string_value(json_object_get(entry, "origin"));
		uint8_t recid = (uint8_t)json_integer_value(json_object_get(entry, "recovery_id"));
		unsigned char digest[32], expected[32], sig[64], key[33];
		const struct sr_order_line *o = find(&orders, id);

		cr_assert_not_null(o, "%s is not in the file", id);
		cr_assert_eq(sr_orders_unhex(expected, hex, 64), 0);
		cr_assert_eq(sr_orders_unhex(sig, sig_hex, 128), 0);
		digest_of(digest, o);
		cr_assert_arr_eq(digest, expected, 32, "%s", id);
		cr_assert_eq(sr_verify_recover(verifier, key, digest, sig, recid), 0, "%s", id);
		cr_assert_eq(sr_verify_signature(verifier, key, o->type, o->body, o->body_bytes,
						 sig, recid),
			     0, "%s", id);
		cr_assert_eq(sr_verify_ecdsa(verifier, key, 33, digest, sig, 64, SR_VERIFY_LOW_S),
			     0, "%s", id);
		published += !strcmp(origin, "published");
	}
	cr_assert_geq(published, 50);
	json_decref(root);
	sr_verifier_delete(verifier);
	sr_orders_free(&orders);
}
