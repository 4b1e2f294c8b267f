/* SPDX-License-Identifier: MIT */
#include "sr_pairfile_operator.h"

#include "sr_operator.h"

SR_STATIC_ASSERT(SR_OPERATOR_KEY_BYTES == SR_PAIRFILE_KEY_BYTES &&
			 sizeof(struct sr_operator_pair) == SR_PAIRFILE_ROOM_BYTES,
		 "all secrets have one size");

static int operator_pub(unsigned char *pub, const unsigned char *secret, void *room)
{
	struct sr_operator_pair *pair = room;
	int ret = sr_operator_pair_make(pair, secret);

	if (!ret)
		memcpy(pub, pair->pub, SR_OPERATOR_KEY_BYTES);
	return ret;
}

const struct sr_pairfile_kind sr_pairfile_operator = { "sigring-operator 1", operator_pub };
