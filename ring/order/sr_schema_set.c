/* SPDX-License-Identifier: MIT */
#include "sr_schema_set.h"

#include "sr_eip712.h"
#include "sr_out.h"

const struct sr_schema *sr_schema_find(const struct sr_schema_set *set, uint32_t id)
{
	for (uint32_t i = 0; set && i < set->count; i++)
		if (set->schemas[i].id == id)
			return &set->schemas[i];
	return NULL;
}

void sr_schema_separator(unsigned char separator[SR_WORD_BYTES], const struct sr_schema *schema,
			 const unsigned char contract[SR_ADDRESS_BYTES])
{
	unsigned char words[sizeof schema->domain];
	struct sr_out out = sr_out_over(words, sizeof words);

	if (!schema->contract_in_body) {
		memcpy(separator, schema->separator, SR_WORD_BYTES);
		return;
	}
	sr_out_bytes(&out, schema->domain, (size_t)schema->domain_words * SR_WORD_BYTES);
	sr_word_address(&out, contract);
	sr_struct_hash(separator, &out);
}

/* The hash of a struct begins with that of its type, so another type is another digest. */
bool sr_schema_overlaps(const struct sr_schema *a, const struct sr_schema *b)
{
	unsigned char separator[SR_WORD_BYTES];

	if (memcmp(a->structs[0].hash, b->structs[0].hash, SR_WORD_BYTES) != 0)
		return false;
	if (a->contract_in_body && b->contract_in_body)
		return a->domain_words == b->domain_words &&
		       !memcmp(a->domain, b->domain, (size_t)a->domain_words * SR_WORD_BYTES);
	if (b->contract_in_body)
		return sr_schema_overlaps(b, a);
	if (a->contract_in_body && !b->has_contract)
		return b->by_separator;
	sr_schema_separator(separator, a, b->contract);
	return !memcmp(separator, b->separator, SR_WORD_BYTES);
}
