/* SPDX-License-Identifier: MIT */
/*
 * sr_schema_set.h - schemas side by side: for who registers them, and who signs by them.
 */
#ifndef SR_SCHEMA_SET_H
#define SR_SCHEMA_SET_H

#include "sr_base.h"
#include "sr_schema.h"

SR_BEGIN_DECLS

/* sr_schema_find - by id; NULL. A NULL set has none. */
const struct sr_schema *sr_schema_find(const struct sr_schema_set *set, uint32_t id);

/* sr_schema_separator - of the domain, with this contract where it differs by order. */
void sr_schema_separator(unsigned char separator[SR_WORD_BYTES], const struct sr_schema *schema,
			 const unsigned char contract[SR_ADDRESS_BYTES]);

/*
 * sr_schema_overlaps - is there a digest that both could sign?
 *
 * Two readings of one message are two policies of it: a manifest has no such pair. True
 * also where it cannot be known, of a domain that only its separator names.
 */
bool sr_schema_overlaps(const struct sr_schema *a, const struct sr_schema *b);

SR_END_DECLS

#endif /* SR_SCHEMA_SET_H */
