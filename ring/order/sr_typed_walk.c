/* SPDX-License-Identifier: MIT */
#include "sr_typed_walk.h"

#include "sr_eip712.h"

/* The deepest nesting of full arrays of the largest structs must have its words. */
SR_STATIC_ASSERT(SR_SCHEMA_DEPTH_MAX * (SR_STRUCT_BYTES(SR_SCHEMA_MEMBERS_MAX) +
					SR_SCHEMA_ARRAY_MAX * SR_WORD_BYTES) <= SR_ORDER_WORK_BYTES,
		 "words of a message");

static int struct_walk(struct sr_typed_walk *walk, unsigned int index, unsigned char *hash);

/* Words that a struct or array needs until it is hashed: a stack in the caller's memory. */
static bool words_take(struct sr_typed_walk *walk, struct sr_out *out, size_t bytes)
{
	if (bytes > walk->words_room)
		return false;
	*out = sr_out_over(walk->words, walk->words ? bytes : 0);
	walk->words_room -= bytes;
	if (walk->words)
		walk->words += bytes;
	return true;
}

static void words_give(struct sr_typed_walk *walk, size_t bytes)
{
	walk->words_room += bytes;
	if (walk->words)
		walk->words -= bytes;
}

static const unsigned char *take(struct sr_typed_walk *walk, size_t bytes)
{
	const unsigned char *at = walk->at;

	if (bytes > (size_t)(walk->end - at))
		return NULL;
	walk->at += bytes;
	return at;
}

static void word_put(struct sr_typed_walk *walk, struct sr_out *out,
		     const struct sr_member *member, const unsigned char *value)
{
	unsigned char word[SR_WORD_BYTES] = { 0 };

	if (!walk->words)
		return;
	if (member->kind == SR_MEMBER_FIXED) {
		memcpy(word, value, member->bytes);
	} else {
		if (member->kind == SR_MEMBER_INT && value[0] & 0x80)
			memset(word, 0xff, sizeof word);
		memcpy(word + sizeof word - member->bytes, value, member->bytes);
	}
	sr_word_bytes32(out, word);
}

/* Two's complement of at most 32 bytes, as decimal text. */
static void json_number(struct sr_out *json, const struct sr_member *member,
			const unsigned char *value)
{
	unsigned char word[SR_WORD_BYTES] = { 0 };
	bool minus = member->kind == SR_MEMBER_INT && value[0] & 0x80;
	unsigned int carry = 1;

	memset(word, minus ? 0xff : 0, sizeof word);
	memcpy(word + sizeof word - member->bytes, value, member->bytes);
	for (unsigned int i = sizeof word; minus && i--;) {
		carry += (unsigned char)~word[i];
		word[i] = (unsigned char)carry;
		carry >>= 8;
	}
	SR_OUT_LITERAL(json, "\"");
	if (minus)
		SR_OUT_LITERAL(json, "-");
	sr_out_u256(json, word);
	SR_OUT_LITERAL(json, "\"");
}

static void json_atom(struct sr_out *json, const struct sr_member *member,
		      const unsigned char *value)
{
	if (!json)
		return;
	switch (member->kind) {
	case SR_MEMBER_UINT:
	case SR_MEMBER_INT:
		json_number(json, member, value);
		break;
	case SR_MEMBER_BOOL:
		if (value[0])
			SR_OUT_LITERAL(json, "true");
		else
			SR_OUT_LITERAL(json, "false");
		break;
	default:
		SR_OUT_LITERAL(json, "\"");
		sr_out_0x(json, value, member->bytes);
		SR_OUT_LITERAL(json, "\"");
		break;
	}
}

static void json_text(struct sr_out *json, const struct sr_member *member,
		      const unsigned char *value, uint32_t bytes)
{
	if (!json)
		return;
	SR_OUT_LITERAL(json, "\"");
	if (member->kind == SR_MEMBER_BYTES) {
		sr_out_0x(json, value, bytes);
	} else {
		for (uint32_t i = 0; i < bytes; i++) {
			if (value[i] == '"' || value[i] == '\\')
				sr_out_byte(json, '\\');
			sr_out_byte(json, value[i]);
		}
	}
	SR_OUT_LITERAL(json, "\"");
}

static void role_note(struct sr_typed_walk *walk, const struct sr_member *member,
		      const unsigned char *value, uint32_t bytes)
{
	ptrdiff_t index = member - walk->schema->members;

	for (unsigned int role = 0; role < SR_ROLES; role++)
		if (walk->schema->roles[role] == index)
			walk->roles[role] = (struct sr_typed_value){ value, bytes };
}

static int atom_walk(struct sr_typed_walk *walk, struct sr_out *out, const struct sr_member *member)
{
	const unsigned char *value;
	unsigned char nonce[SR_WORD_BYTES] = { 0 };

	if (member - walk->schema->members == walk->schema->roles[SR_ROLE_NONCE]) {
		if (member->bytes < 8 && walk->nonce >> 8 * member->bytes)
			return -EINVAL;
		sr_put64(nonce + sizeof nonce - 8, __builtin_bswap64(walk->nonce));
		value = nonce + sizeof nonce - member->bytes;
	} else {
		value = take(walk, member->bytes);
		if (!value || (member->kind == SR_MEMBER_BOOL && value[0] > 1))
			return -EINVAL;
		role_note(walk, member, value, member->bytes);
	}
	word_put(walk, out, member, value);
	json_atom(walk->json, member, value);
	return 0;
}

static int text_walk(struct sr_typed_walk *walk, struct sr_out *out, const struct sr_member *member)
{
	const unsigned char *length = take(walk, 2), *value;
	uint32_t bytes;

	if (!length)
		return -EINVAL;
	bytes = sr_get16(length);
	value = take(walk, bytes);
	if (!value)
		return -EINVAL;
	for (uint32_t i = 0; member->kind == SR_MEMBER_STRING && i < bytes; i++)
		if (value[i] < 0x20 || value[i] > 0x7e)
			return -EINVAL;
	role_note(walk, member, value, bytes);
	if (walk->words)
		sr_word_text(out, value, bytes);
	json_text(walk->json, member, value, bytes);
	return 0;
}

static int value_walk(struct sr_typed_walk *walk, struct sr_out *out,
		      const struct sr_member *member)
{
	unsigned char hash[SR_WORD_BYTES];

	switch (member->kind) {
	case SR_MEMBER_BYTES:
	case SR_MEMBER_STRING:
		return text_walk(walk, out, member);
	case SR_MEMBER_STRUCT:
	case SR_MEMBER_ABI:
		if (struct_walk(walk, member->type, hash))
			return -EINVAL;
		if (walk->words)
			sr_word_bytes32(out, hash);
		return 0;
	default:
		return atom_walk(walk, out, member);
	}
}

static int array_walk(struct sr_typed_walk *walk, struct sr_out *out,
		      const struct sr_member *member)
{
	const unsigned char *length;
	uint32_t count = member->count;
	struct sr_out words;
	size_t bytes;

	if (!count) {
		length = take(walk, 2);
		if (!length)
			return -EINVAL;
		count = sr_get16(length);
	}
	bytes = (size_t)count * SR_WORD_BYTES;
	if (count > SR_SCHEMA_ARRAY_MAX || !words_take(walk, &words, bytes))
		return -EINVAL;
	if (walk->json)
		SR_OUT_LITERAL(walk->json, "[");
	for (uint32_t i = 0; i < count; i++) {
		if (walk->json && i)
			SR_OUT_LITERAL(walk->json, ",");
		if (value_walk(walk, &words, member))
			return -EINVAL;
	}
	if (walk->json)
		SR_OUT_LITERAL(walk->json, "]");
	if (walk->words)
		sr_word_text(out, words.data, words.used);
	words_give(walk, bytes);
	return 0;
}

static int struct_walk(struct sr_typed_walk *walk, unsigned int index, unsigned char *hash)
{
	const struct sr_struct_type *type = &walk->schema->structs[index];
	size_t bytes = SR_STRUCT_BYTES((size_t)type->count);
	struct sr_out words;

	if (!words_take(walk, &words, bytes))
		return -EINVAL;
	if (walk->words && !type->abi)
		sr_word_bytes32(&words, type->hash);
	if (walk->json)
		SR_OUT_LITERAL(walk->json, "{");
	for (unsigned int i = 0; i < type->count; i++) {
		const struct sr_member *member = &walk->schema->members[type->first + i];
		int ret;

		if (walk->json) {
			if (i)
				SR_OUT_LITERAL(walk->json, ",");
			SR_OUT_LITERAL(walk->json, "\"");
			sr_out_bytes(walk->json, member->name, member->name_bytes);
			SR_OUT_LITERAL(walk->json, "\":");
		}
		ret = member->array ? array_walk(walk, &words, member) :
				      value_walk(walk, &words, member);
		if (ret)
			return ret;
	}
	if (walk->json)
		SR_OUT_LITERAL(walk->json, "}");
	if (walk->words)
		sr_struct_hash(hash, &words);
	words_give(walk, bytes);
	return 0;
}

int sr_typed_walk(struct sr_typed_walk *walk, unsigned char hash[SR_WORD_BYTES])
{
	int ret = struct_walk(walk, 0, hash);

	if (ret)
		return ret;
	return walk->at == walk->end ? 0 : -EINVAL;
}
