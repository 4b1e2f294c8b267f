/* SPDX-License-Identifier: MIT */
/*
 * sr_node.h - JSON read strictly: each value by its path, with what was expected there.
 *
 * A node is a value and where it stands. Readers of values take an object and a member's
 * name, or a node and NULL for the node itself. The first thing that is wrong is noted at
 * the reader, with path and expectation; after that everything reads as 0 and notes
 * nothing, so that a caller reads a whole order and asks once.
 *
 * Numbers never pass through floating point: decimals are strings, and a JSON number with
 * a point or an exponent is refused. Off the hot path; variable time.
 */
#ifndef SR_NODE_H
#define SR_NODE_H

#include <jansson.h>

#include "sr_base.h"

#define SR_NODE_WHY_BYTES 160u

struct sr_reader {
	char *why; /* SR_NODE_WHY_BYTES, the caller's */
	int err;   /* 0, -EINVAL with why, or another -errno */
};

struct sr_node {
	struct sr_reader *reader;
	const struct sr_node *parent; /* must outlive this one; NULL: the root */
	const char *name;             /* in an object, else NULL */
	size_t index;                 /* in an array */
	const json_t *value;          /* NULL: not there, or null, or the reader has failed */
};

SR_BEGIN_DECLS

struct sr_node sr_node_root(struct sr_reader *reader, const json_t *value);

/* sr_node_fail - note that a node is wrong: "PATH: " and the rest, which says what was
 * expected. */
__attribute__((format(printf, 2, 3))) void sr_node_fail(const struct sr_node *node,
							 const char *format, ...);

/* sr_node_members - that it is an object with no member but these: words with a blank
 * between. */
void sr_node_members(const struct sr_node *object, const char *names);

/* sr_node_has - is the member there, and not null? */
bool sr_node_has(const struct sr_node *object, const char *name);

/* sr_node_get - a member that must be there; sr_node_item - of an array. */
struct sr_node sr_node_get(const struct sr_node *object, const char *name);
struct sr_node sr_node_item(const struct sr_node *array, size_t index);

/* sr_node_count - items of an array, which must have from @min to @max. */
uint32_t sr_node_count(const struct sr_node *object, const char *name, uint32_t min, uint32_t max);

/* A JSON integer from 0 to @max; the same or its decimal digits as a string; from -2^63. */
uint64_t sr_node_integer(const struct sr_node *object, const char *name, uint64_t max);
uint64_t sr_node_number(const struct sr_node *object, const char *name, uint64_t max);
int64_t sr_node_signed(const struct sr_node *object, const char *name);

/* A number of 256 bits, big-endian: an integer, or decimal digits or 0x and hex digits as
 * a string. The second takes a minus before decimal digits: two's complement. */
void sr_node_u256(const struct sr_node *object, const char *name, unsigned char v[32]);
void sr_node_i256(const struct sr_node *object, const char *name, unsigned char v[32]);

/* A string with decimal digits and perhaps a point, times 10^decimals, exactly. */
uint64_t sr_node_decimal(const struct sr_node *object, const char *name, unsigned int decimals);

bool sr_node_flag(const struct sr_node *object, const char *name);

/* A string of at most @max bytes, no zero in it; never NULL. */
const char *sr_node_text(const struct sr_node *object, const char *name, size_t max);

/* One of these words: its index. @words ends with NULL. */
unsigned int sr_node_choice(const struct sr_node *object, const char *name,
			    const char *const *words);

/* "0x" and exactly so many bytes in hex; the second: up to @room, returned. */
void sr_node_hex(const struct sr_node *object, const char *name, unsigned char *out, size_t bytes);
uint32_t sr_node_hex_any(const struct sr_node *object, const char *name, unsigned char *out,
			 size_t room);

SR_END_DECLS

#endif /* SR_NODE_H */
