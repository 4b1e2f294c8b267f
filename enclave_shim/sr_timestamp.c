/* SPDX-License-Identifier: MIT */
#include "sr_timestamp.h"

/* CBOR: a text of nine characters, and an integer of eight bytes. */
static const unsigned char key[] = { 0x69, 't', 'i', 'm', 'e', 's', 't', 'a', 'm', 'p', 0x1b };

#define NUMBER_BYTES 8u

/* The document comes from the module and nobody else, and what we ask for has no text of
 * ours in it: so the key is looked for, where a parser would be one more thing in the
 * image. Found twice, it is not believed. */
int sr_timestamp_find(uint64_t *unix_ms, const unsigned char *document, size_t bytes)
{
	const unsigned char *found = NULL;
	uint64_t ms = 0;

	for (size_t i = 0; i + sizeof key + NUMBER_BYTES <= bytes; i++) {
		if (memcmp(document + i, key, sizeof key) != 0)
			continue;
		if (found)
			return -EBADMSG;
		found = document + i + sizeof key;
	}
	if (!found)
		return -EBADMSG;
	for (size_t i = 0; i < NUMBER_BYTES; i++)
		ms = ms << 8 | found[i];
	if (!ms || ms > INT64_MAX)
		return -EBADMSG;
	*unix_ms = ms;
	return 0;
}

int sr_timestamp_get(const struct sr_evidence *evidence, uint64_t *unix_ms)
{
	static const struct sr_evidence_request nothing;
	unsigned char document[SR_EVIDENCE_DOC_BYTES_MAX];
	size_t bytes;
	int ret = evidence->attest(evidence->arg, document, &bytes, &nothing);

	return ret < 0 ? ret : sr_timestamp_find(unix_ms, document, bytes);
}
