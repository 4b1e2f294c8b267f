/* SPDX-License-Identifier: MIT */
/*
 * venue_rig.h - what must hold of a body of any venue: one length, one type, and no
 * bit that changes nothing.
 */
#ifndef VENUE_RIG_H
#define VENUE_RIG_H

#include "order_rig.h"

static uint32_t rig_type; /* of the venue under test */

/* Decodes rig_body; a negative count of bytes is a builder's error, and comes back. */
static inline int rig_decoded(int bytes)
{
	if (bytes < 0)
		return bytes;
	return sr_order_decode(&rig_order, rig_type, rig_body, (uint32_t)bytes, &rig_env);
}

/* The same, and its digest. */
static inline void rig_digest(unsigned char digest[32], int bytes, const char *what)
{
	cr_assert_gt(bytes, 0, "%s", what);
	cr_assert_eq(rig_decoded(bytes), 0, "%s", what);
	cr_assert_eq(sr_order_digest(digest, &rig_order, &rig_env), 0, "%s", what);
}

/* Judged in memory of exactly that size, so that a sanitizer sees a byte too many. */
static inline int rig_exact(uint32_t type, uint32_t bytes)
{
	unsigned char *body = malloc(bytes ? bytes : 1);
	int ret;

	cr_assert_not_null(body);
	memcpy(body, rig_body, bytes);
	ret = sr_order_decode(&rig_order, type, body, bytes, &rig_env);
	free(body);
	return ret;
}

static inline void rig_one_length_and_type(int bytes)
{
	cr_assert_eq(rig_exact(rig_type, (uint32_t)bytes), 0);
	for (uint32_t length = 0; length < (uint32_t)bytes + 64 && length <= RIG_BODY_BYTES;
	     length++)
		if (length != (uint32_t)bytes)
			cr_assert_eq(rig_exact(rig_type, length), -EINVAL, "%u bytes", length);
	for (uint32_t type = 0; type < 512; type++)
		if (type != rig_type)
			cr_assert_neq(rig_exact(type, (uint32_t)bytes), 0, "type %u", type);
}

/* Is this byte of a body posted but not signed? NULL: none is. */
typedef bool rig_unsigned(const unsigned char *body, uint32_t byte);

/*
 * Flips each bit of rig_body: what still decodes signs something else, or changes what
 * is posted where the venue does not sign that. Returns how many still decode.
 */
static inline uint32_t rig_every_bit(int bytes, rig_unsigned *is_unsigned)
{
	static const struct sr_order_signature signature = { { 1 }, 0 };
	static char text[RIG_TEXT_BYTES];
	unsigned char digest[32], other[32];
	uint32_t decoded = 0;
	int length;

	rig_digest(digest, bytes, "before");
	length = sr_order_render(text, sizeof text, &rig_order, &signature, &rig_env);
	cr_assert_gt(length, 0);
	for (uint32_t bit = 0; bit < 8u * (uint32_t)bytes; bit++) {
		bool free_bit = is_unsigned && is_unsigned(rig_body, bit / 8);
		int posted;

		rig_body[bit / 8] ^= (unsigned char)(1u << bit % 8);
		if (rig_decoded(bytes) == 0) {
			decoded++;
			cr_assert_eq(sr_order_digest(other, &rig_order, &rig_env), 0);
			cr_assert_eq(!memcmp(digest, other, 32), free_bit, "bit %u of byte %u",
				     bit % 8, bit / 8);
			posted = sr_order_render(rig_text, sizeof rig_text, &rig_order, &signature,
						 &rig_env);
			cr_assert_gt(posted, 0);
			cr_assert(!free_bit || posted != length ||
					  memcmp(text, rig_text, (size_t)length),
				  "byte %u is not posted", bit / 8);
		}
		rig_body[bit / 8] ^= (unsigned char)(1u << bit % 8);
	}
	return decoded;
}

/* A text of JSON that is what it says: parsed, and borrowed until the next call. */
static inline const json_t *rig_posted(const struct sr_order_signature *signature)
{
	static json_t *root;
	json_error_t error;
	int bytes = sr_order_render(rig_text, sizeof rig_text, &rig_order, signature, &rig_env);

	cr_assert_gt(bytes, 0);
	for (int room = 0; room < bytes; room += 1 + room / 8)
		cr_assert_eq(sr_order_render(rig_text, (size_t)room, &rig_order, signature,
					     &rig_env),
			     -ENOSPC, "room of %d", room);
	cr_assert_eq(sr_order_render(rig_text, (size_t)bytes, &rig_order, signature, &rig_env),
		     bytes);
	json_decref(root);
	root = json_loadb(rig_text, (size_t)bytes, JSON_DECODE_ANY, &error);
	cr_assert_not_null(root, "%.*s: %s", bytes, rig_text, error.text);
	return root;
}

static inline const char *rig_signature_text(const struct sr_order_signature *signature)
{
	int bytes = sr_order_signature_text(rig_text, sizeof rig_text - 1, &rig_order, signature,
					    &rig_env);

	cr_assert_gt(bytes, 0);
	rig_text[bytes] = '\0';
	return rig_text;
}

static inline bool rig_party_is(const struct sr_party *party, const char *text)
{
	return party->bytes == strlen(text) && !memcmp(party->data, text, party->bytes);
}

#endif /* VENUE_RIG_H */
