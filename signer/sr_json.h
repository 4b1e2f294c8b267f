/* SPDX-License-Identifier: MIT */
/*
 * sr_json.h - JSON (RFC 8259), as much of it as a manifest has.
 *
 * A reader of texts that people sign: no two programs must read two things in one. So
 * strings are printable ASCII without escapes, numbers are decimal integers, and a field
 * that is not known or comes twice is an error. It goes through the text once, calls a
 * function for each field of an object and each item of a list, and never skips over a
 * value: its depth is that of its caller. It allocates nothing. What is wrong is said
 * with the line and the path: keys[1].policy.assets[0].size_max.
 */
#ifndef SR_JSON_H
#define SR_JSON_H

#include "sr_base.h"
#include "sr_reason.h"

#define SR_JSON_STRING_BYTES_MAX 80u
#define SR_JSON_DEPTH_MAX 8u

struct sr_json {
	const char *text;
	size_t bytes;
	size_t at;
	const char *what; /* it is, for messages */
	void *context;    /* the caller's */
	struct sr_reason *why;
	uint32_t depth;   /* of the path */
	struct sr_json_step {
		const char *name; /* of a field; NULL: an item */
		uint32_t index;
	} path[SR_JSON_DEPTH_MAX];
};

/* A string of the text, checked for what may stand in one. */
struct sr_json_string {
	const char *data;
	size_t bytes;
};

struct sr_json_field {
	const char *name;
	int (*take)(struct sr_json *json, void *to);
	bool required;
};

#define SR_JSON_FIELDS(table) table, sizeof(table) / sizeof(table)[0]

SR_BEGIN_DECLS

/* All return 0, or -EBADMSG with a reason. */

__attribute__((format(printf, 2, 3))) int sr_json_fail(const struct sr_json *json,
						       const char *format, ...);

SR_WARN_UNUSED int sr_json_string(struct sr_json *json, struct sr_json_string *s);

/* sr_json_text - the same of at most @max bytes, where a string may be a longer one.
 * sr_json_copy - and copied, with a zero byte behind it, to @out: @max + 1 of room. */
SR_WARN_UNUSED int sr_json_text(struct sr_json *json, struct sr_json_string *s, size_t max);
SR_WARN_UNUSED int sr_json_copy(struct sr_json *json, char *out, size_t max);

/* sr_json_number - up to 17 digits. sr_json_flag - true or false. */
SR_WARN_UNUSED int sr_json_number(struct sr_json *json, uint64_t *value, uint64_t min,
				  uint64_t max);
SR_WARN_UNUSED int sr_json_flag(struct sr_json *json, bool *value);

/* sr_json_digits - a string of hexadecimal digits, exactly so many bytes. */
SR_WARN_UNUSED int sr_json_digits(struct sr_json *json, unsigned char *out, size_t bytes);

/* sr_json_is_string - does a string come next? */
bool sr_json_is_string(struct sr_json *json);

/* sr_json_array - [ item, ... ], each item to @to. */
SR_WARN_UNUSED int sr_json_array(struct sr_json *json,
				 int (*item)(struct sr_json *json, void *to), void *to);

/* sr_json_object - { "field": ..., ... }, in any order, at most 32 fields. */
SR_WARN_UNUSED int sr_json_object(struct sr_json *json, const struct sr_json_field *fields,
				  size_t count, void *to);

/* sr_json_end - that nothing stands behind. */
SR_WARN_UNUSED int sr_json_end(struct sr_json *json);

/* sr_json_push, sr_json_pop - a step of the path, for who reads a list again. */
void sr_json_push(struct sr_json *json, const char *name, uint32_t index);
void sr_json_pop(struct sr_json *json);

SR_END_DECLS

#endif /* SR_JSON_H */
