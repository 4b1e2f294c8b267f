/* SPDX-License-Identifier: MIT */
#include "sr_node.h"

#include <stdarg.h>
#include <stdio.h>

#include "sr_order.h"
#include "sr_orders.h"

#define PATH_BYTES 96u
#define SHOWN_MAX 32 /* characters of the file's own text in a message */
#define DEPTH_MAX 16u

static const char *const kinds[] = {
	[JSON_OBJECT] = "an object",
	[JSON_ARRAY] = "an array",
	[JSON_STRING] = "a string",
	[JSON_INTEGER] = "an integer",
	[JSON_REAL] = "a number with a point or exponent",
	[JSON_TRUE] = "true",
	[JSON_FALSE] = "false",
	[JSON_NULL] = "null",
};

struct sr_node sr_node_root(struct sr_reader *reader, const json_t *value)
{
	return (struct sr_node){ .reader = reader, .value = value };
}

static void path_put(char path[PATH_BYTES], const struct sr_node *node)
{
	const struct sr_node *steps[DEPTH_MAX];
	unsigned int count = 0;
	size_t used = 0;

	for (; node && node->parent && count < DEPTH_MAX; node = node->parent)
		steps[count++] = node;
	path[0] = 0;
	while (count && used < PATH_BYTES) {
		const struct sr_node *step = steps[--count];
		int n = step->name ? snprintf(path + used, PATH_BYTES - used, "%s%.*s",
					      used ? "." : "", SHOWN_MAX, step->name) :
				     snprintf(path + used, PATH_BYTES - used, "[%zu]", step->index);

		used += (size_t)n;
	}
}

void sr_node_fail(const struct sr_node *node, const char *format, ...)
{
	struct sr_reader *reader = node->reader;
	char path[PATH_BYTES], expected[SR_NODE_WHY_BYTES];
	va_list args;

	if (reader->err)
		return;
	reader->err = -EINVAL;
	path_put(path, node);
	va_start(args, format);
	(void)vsnprintf(expected, sizeof expected, format, args);
	va_end(args);
	/* A long path leaves its end, and the expectation is never cut for it. */
	if (strlen(path) + strlen(expected) + 3 > SR_NODE_WHY_BYTES)
		path[SR_NODE_WHY_BYTES / 3] = 0;
	(void)snprintf(reader->why, SR_NODE_WHY_BYTES, "%s%s%.*s", path, path[0] ? ": " : "",
		       (int)(SR_NODE_WHY_BYTES - strlen(path) - 3), expected);
	for (char *p = reader->why; *p; p++) /* the file's text must not drive a terminal */
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
}

/* What stands there instead of what was expected. */
static void fail_at(const struct sr_node *node, const char *expected)
{
	if (node->reader->err)
		return;
	if (json_is_string(node->value))
		sr_node_fail(node, "expected %s, not \"%.*s\"", expected, SHOWN_MAX,
			     json_string_value(node->value));
	else if (json_is_integer(node->value))
		sr_node_fail(node, "expected %s, not %lld", expected,
			     (long long)json_integer_value(node->value));
	else
		sr_node_fail(node, "expected %s, not %s", expected,
			     kinds[json_typeof(node->value)]);
}

static bool listed(const char *names, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = names; *at;) {
		size_t word = strcspn(at, " ");

		if (word == length && !memcmp(at, name, word))
			return true;
		at += word;
		at += strspn(at, " ");
	}
	return false;
}

void sr_node_members(const struct sr_node *object, const char *names)
{
	const char *name;
	json_t *value, *root = (json_t *)(uintptr_t)object->value;

	if (object->reader->err)
		return;
	if (!json_is_object(object->value)) {
		fail_at(object, "an object");
		return;
	}
	json_object_foreach(root, name, value) {
		if (listed(names, name))
			continue;
		sr_node_fail(object, "unknown field \"%.*s\"; expected: %s", SHOWN_MAX, name,
			     names);
		return;
	}
}

/* The member, or the node itself. Its value is NULL when there is nothing to read. */
static struct sr_node pick(const struct sr_node *object, const char *name)
{
	struct sr_node node = { object->reader, object, name, 0, NULL };

	if (!name)
		node = *object;
	if (object->reader->err)
		node.value = NULL;
	else if (name)
		node.value = json_object_get(object->value, name);
	return node;
}

bool sr_node_has(const struct sr_node *object, const char *name)
{
	struct sr_node node = pick(object, name);

	return node.value && !json_is_null(node.value);
}

struct sr_node sr_node_get(const struct sr_node *object, const char *name)
{
	struct sr_node node = pick(object, name);

	if (!node.value && !object->reader->err) {
		if (!json_is_object(object->value))
			fail_at(object, "an object");
		else
			sr_node_fail(&node, "missing");
	}
	return node;
}

struct sr_node sr_node_item(const struct sr_node *array, size_t index)
{
	struct sr_node node = { array->reader, array, NULL, index, NULL };

	if (!array->reader->err)
		node.value = json_array_get(array->value, index);
	if (!node.value && !array->reader->err)
		fail_at(array, "an array");
	return node;
}

/* As sr_node_get(), and a type that the caller judges is there. */
static struct sr_node need(const struct sr_node *object, const char *name)
{
	return name ? sr_node_get(object, name) : pick(object, NULL);
}

uint32_t sr_node_count(const struct sr_node *object, const char *name, uint32_t min, uint32_t max)
{
	struct sr_node node = need(object, name);
	size_t count = json_array_size(node.value);

	if (!node.value)
		return 0;
	if (!json_is_array(node.value)) {
		fail_at(&node, "an array");
		return 0;
	}
	if (count < min || count > max) {
		sr_node_fail(&node, "expected from %u to %u items, not %zu", min, max, count);
		return 0;
	}
	return (uint32_t)count;
}

static bool digits_get(uint64_t *v, const struct sr_node *node)
{
	const char *text = json_string_value(node->value);
	size_t bytes = json_string_length(node->value);

	return bytes && strspn(text, "0123456789") == bytes && !sr_decimal_parse(v, text, bytes, 0);
}

static uint64_t number_get(const struct sr_node *object, const char *name, uint64_t max, bool text)
{
	struct sr_node node = need(object, name);
	char expected[80];
	uint64_t v = 0;
	bool good = false;

	if (!node.value)
		return 0;
	if (json_is_integer(node.value) && json_integer_value(node.value) >= 0) {
		v = (uint64_t)json_integer_value(node.value);
		good = true;
	} else if (text && json_is_string(node.value)) {
		good = digits_get(&v, &node);
	}
	if (good && v <= max)
		return v;
	(void)snprintf(expected, sizeof expected, "%s from 0 to %llu",
		       text ? "an integer, or its digits as a string," : "an integer",
		       (unsigned long long)max);
	fail_at(&node, expected);
	return 0;
}

uint64_t sr_node_integer(const struct sr_node *object, const char *name, uint64_t max)
{
	return number_get(object, name, max, false);
}

uint64_t sr_node_number(const struct sr_node *object, const char *name, uint64_t max)
{
	return number_get(object, name, max, true);
}

int64_t sr_node_signed(const struct sr_node *object, const char *name)
{
	struct sr_node node = need(object, name);

	if (node.value && !json_is_integer(node.value))
		fail_at(&node, "an integer");
	return node.value ? json_integer_value(node.value) : 0;
}

/* v = 10 v + digit; false when it is 2^256 or more. */
static bool shift_in(unsigned char v[32], unsigned int base, unsigned int digit)
{
	unsigned int carry = digit;

	for (unsigned int i = 32; i--;) {
		carry += v[i] * base;
		v[i] = (unsigned char)carry;
		carry >>= 8;
	}
	return !carry;
}

static bool wide_parse(unsigned char v[32], const char *text, size_t bytes)
{
	bool hex = bytes > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	size_t i = hex ? 2 : 0;

	memset(v, 0, 32);
	if (i == bytes)
		return false;
	for (; i < bytes; i++) {
		const char *digits = "0123456789abcdefABCDEF", *at = strchr(digits, text[i]);
		unsigned int digit = at && text[i] ? (unsigned int)(at - digits) : 22;

		if (digit >= (hex ? 22u : 10u) ||
		    !shift_in(v, hex ? 16 : 10, digit >= 16 ? digit - 6 : digit))
			return false;
	}
	return true;
}

static void negate(unsigned char v[32])
{
	unsigned int carry = 1;

	for (unsigned int i = 32; i--;) {
		carry += (unsigned char)~v[i];
		v[i] = (unsigned char)carry;
		carry >>= 8;
	}
}

static bool wide_get(const struct sr_node *node, unsigned char v[32], bool sign)
{
	const char *text = json_string_value(node->value);
	size_t bytes = json_string_length(node->value);
	char number[24];
	bool minus;

	if (json_is_integer(node->value)) {
		bytes = (size_t)snprintf(number, sizeof number, "%lld",
					 (long long)json_integer_value(node->value));
		text = number;
	}
	if (!text)
		return false;
	minus = sign && bytes > 1 && text[0] == '-' && text[1] != '0';
	if (!wide_parse(v, text + minus, bytes - minus))
		return false;
	if (!sign)
		return true;
	/* From -2^255 to 2^255 - 1. */
	if (v[0] & 0x80 && !(minus && v[0] == 0x80 && sr_all_zero(v + 1, 31)))
		return false;
	if (minus)
		negate(v);
	return true;
}

void sr_node_u256(const struct sr_node *object, const char *name, unsigned char v[32])
{
	struct sr_node node = need(object, name);

	if (node.value && !wide_get(&node, v, false))
		fail_at(&node, "an integer of 256 bits, or its digits as a string");
	if (node.reader->err)
		memset(v, 0, 32);
}

void sr_node_i256(const struct sr_node *object, const char *name, unsigned char v[32])
{
	struct sr_node node = need(object, name);

	if (node.value && !wide_get(&node, v, true))
		fail_at(&node, "a signed integer of 256 bits, or its digits as a string");
	if (node.reader->err)
		memset(v, 0, 32);
}

uint64_t sr_node_decimal(const struct sr_node *object, const char *name, unsigned int decimals)
{
	struct sr_node node = need(object, name);
	char expected[80];
	uint64_t v;

	if (!node.value)
		return 0;
	if (json_is_string(node.value) &&
	    !sr_decimal_parse(&v, json_string_value(node.value), json_string_length(node.value),
			      decimals))
		return v;
	(void)snprintf(expected, sizeof expected,
		       "a string with a decimal of at most %u places below 2^64 of them", decimals);
	fail_at(&node, expected);
	return 0;
}

bool sr_node_flag(const struct sr_node *object, const char *name)
{
	struct sr_node node = need(object, name);

	if (node.value && !json_is_boolean(node.value))
		fail_at(&node, "true or false");
	return json_is_true(node.value);
}

const char *sr_node_text(const struct sr_node *object, const char *name, size_t max)
{
	struct sr_node node = need(object, name);
	const char *text = json_string_value(node.value);
	size_t bytes = json_string_length(node.value);

	if (!node.value)
		return "";
	if (!text) {
		fail_at(&node, "a string");
		return "";
	}
	if (bytes > max || strlen(text) != bytes) {
		sr_node_fail(&node, "expected a string of at most %zu bytes", max);
		return "";
	}
	return text;
}

unsigned int sr_node_choice(const struct sr_node *object, const char *name,
			    const char *const *words)
{
	struct sr_node node = need(object, name);
	char expected[SR_NODE_WHY_BYTES] = "one of";
	const char *text = json_string_value(node.value);

	if (!node.value)
		return 0;
	for (unsigned int i = 0; words[i]; i++) {
		size_t used = strlen(expected);

		if (text && !strcmp(words[i], text))
			return i;
		(void)snprintf(expected + used, sizeof expected - used, "%s %s", i ? "," : "",
			       words[i]);
	}
	fail_at(&node, expected);
	return 0;
}

uint32_t sr_node_hex_any(const struct sr_node *object, const char *name, unsigned char *out,
			 size_t room)
{
	struct sr_node node = need(object, name);
	const char *text = json_string_value(node.value);
	size_t bytes = json_string_length(node.value);

	if (!node.value)
		return 0;
	if (!text || bytes < 2 || text[0] != '0' || text[1] != 'x' || bytes % 2) {
		fail_at(&node, "a string of 0x and an even number of hex digits");
		return 0;
	}
	if ((bytes - 2) / 2 > room) {
		sr_node_fail(&node, "expected at most %zu bytes, not %zu", room, (bytes - 2) / 2);
		return 0;
	}
	if (sr_orders_unhex(out, text + 2, bytes - 2)) {
		fail_at(&node, "hex digits behind 0x");
		return 0;
	}
	return (uint32_t)(bytes - 2) / 2;
}

void sr_node_hex(const struct sr_node *object, const char *name, unsigned char *out, size_t bytes)
{
	struct sr_node node = need(object, name);
	char expected[64];

	if (json_string_length(node.value) == 2 + 2 * bytes &&
	    sr_node_hex_any(&node, NULL, out, bytes) == bytes)
		return;
	(void)snprintf(expected, sizeof expected, "a string of 0x and %zu hex digits", 2 * bytes);
	if (node.value)
		fail_at(&node, expected);
	memset(out, 0, bytes);
}
