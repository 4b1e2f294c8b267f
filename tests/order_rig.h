/* SPDX-License-Identifier: MIT */
/*
 * order_rig.h - what the tests of venues share: transcribed vectors, an environment,
 * and the deterministic signature that a vector with a key has.
 */
#ifndef ORDER_RIG_H
#define ORDER_RIG_H

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "sr_curve.h"
#include "sr_hash.h"
#include "sr_order.h"
#include "sr_orders.h"
#include "sr_venue.h"

#define RIG_BODY_BYTES 4096u
#define RIG_TEXT_BYTES 65536u

static struct sr_order_env rig_env;
__attribute__((unused)) static struct sr_order rig_order; /* large for a stack */
static struct sr_curve *rig_curve;
__attribute__((unused)) static unsigned char rig_body[RIG_BODY_BYTES];
__attribute__((unused)) static char rig_text[RIG_TEXT_BYTES];

static inline void rig_setup(void)
{
	static const unsigned char seed[32] = { 7 };

	cr_assert_eq(sr_curve_new(&rig_curve, seed), 0);
	cr_assert_eq(sr_hasher_new(&rig_env.hasher), 0);
}

static inline void rig_teardown(void)
{
	sr_hasher_delete(rig_env.hasher);
	sr_curve_delete(rig_curve);
}

/* A file of tests/vectors, which must name its source. */
static inline json_t *rig_vectors(const char *name)
{
	char path[256];
	json_error_t error;
	json_t *root;

	(void)snprintf(path, sizeof path, "tests/vectors/%s", name);
	root = json_load_file(path, 0, &error);
	cr_assert_not_null(root, "%s:%d: %s", path, error.line, error.text);
	cr_assert_gt(json_string_length(json_object_get(root, "source")), 20, "%s", name);
	return root;
}

static inline json_t *rig_array(json_t *root, const char *name, size_t count)
{
	json_t *array = json_object_get(root, name);

	cr_assert_eq(json_array_size(array), count, "%s has %zu entries", name,
		     json_array_size(array));
	return array;
}

static inline const char *rig_string(const json_t *entry, const char *name)
{
	const json_t *value = json_object_get(entry, name);

	cr_assert(json_is_string(value), "no string \"%s\"", name);
	return json_string_value(value);
}

static inline uint64_t rig_number(const json_t *entry, const char *name)
{
	const json_t *value = json_object_get(entry, name);

	if (json_is_string(value))
		return strtoull(json_string_value(value), NULL, 10);
	cr_assert(json_is_integer(value), "no number \"%s\"", name);
	return (uint64_t)json_integer_value(value);
}

static inline size_t rig_unhex(unsigned char *out, size_t room, const char *hex)
{
	size_t digits;

	if (!strncmp(hex, "0x", 2))
		hex += 2;
	digits = strlen(hex);
	cr_assert_leq(digits / 2, room, "%s", hex);
	cr_assert_eq(sr_orders_unhex(out, hex, digits), 0, "not hex: %s", hex);
	return digits / 2;
}

static inline void rig_bytes(unsigned char *out, size_t bytes, const json_t *entry,
			     const char *name)
{
	cr_assert_eq(rig_unhex(out, bytes, rig_string(entry, name)), bytes, "%s", name);
}

/* That these bytes are what the entry has in hex under this name. */
static inline void rig_expect(const json_t *entry, const char *name, const void *bytes,
			      size_t count, const char *what)
{
	static unsigned char expected[RIG_TEXT_BYTES];

	cr_assert_eq(rig_unhex(expected, sizeof expected, rig_string(entry, name)), count,
		     "%s: length of %s", what, name);
	cr_assert_eq(memcmp(expected, bytes, count), 0, "%s: %s", what, name);
}

/* Signs with the key of a vector and RFC 6979. */
static inline void rig_sign(struct sr_order_signature *signature, const char *key_hex,
			    const unsigned char digest[32])
{
	unsigned char key[32];

	cr_assert_eq(rig_unhex(key, sizeof key, key_hex), sizeof key);
	cr_assert_eq(sr_ecdsa_sign(rig_curve, signature->rs, &signature->recid, digest, key, NULL), 0);
}

#endif /* ORDER_RIG_H */
