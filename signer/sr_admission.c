/* SPDX-License-Identifier: MIT */
#include "sr_admission.h"

#include "sr_keyring.h"
#include "sr_secret.h"

static bool terms_valid(const struct sr_admission_terms *t)
{
	bool named = t->token[0] || t->token[1];
	bool same = t->token[0] == t->predecessor[0] && t->token[1] == t->predecessor[1];

	return named && !same && t->identity < SR_IDENTITIES_MAX &&
	       (t->flags & ~(SR_ADMISSION_PRIORITY | SR_ADMISSION_STRICT)) == 0 &&
	       t->slot_bytes % SR_LINE_BYTES == 0; /* the rest: sr_seal_init() */
}

int sr_admission_make(struct sr_admission *admission, const struct sr_admission_terms *terms,
		      const struct sr_noise_keys *keys)
{
	struct sr_seal_config requests = {
		.keys = keys,
		.direction = SR_SEAL_SUBMISSION,
		.way = SR_AEAD_OPEN,
		.first = terms->first,
		.record_bytes = terms->slot_bytes,
		.depth = terms->depth,
	};
	struct sr_seal_config replies = {
		.keys = keys,
		.direction = SR_SEAL_COMPLETION,
		.way = SR_AEAD_SEAL,
		.first = terms->first,
		.record_bytes = SR_CMP_BYTES,
		.depth = terms->depth,
	};
	int ret;

	sr_wipe(admission, sizeof *admission);
	if (!terms_valid(terms))
		return -EINVAL;

	admission->terms = *terms;
	ret = sr_seal_init(&admission->seals.requests, &requests);
	if (!ret)
		ret = sr_seal_init(&admission->seals.replies, &replies);
	if (ret)
		sr_admission_wipe(admission);
	return ret;
}

void sr_admission_wipe(struct sr_admission *admission)
{
	sr_seal_wipe(&admission->seals.requests);
	sr_seal_wipe(&admission->seals.replies);
	sr_wipe(admission, sizeof *admission);
}
