/* SPDX-License-Identifier: MIT */
#include "sigring_order.h"

int sr_order_completed(struct sr_order_signature *signature, unsigned char *body,
		       const struct sr_completion *completion)
{
	uint64_t nonce = sr_get64(body + SR_ORDER_NONCE);

	if (completion->sigkind != SR_SIG_ECDSA)
		return -ENOMSG;
	if (nonce && nonce != completion->venue_nonce)
		return -EINVAL;
	if (!nonce)
		sr_put64(body + SR_ORDER_NONCE, completion->venue_nonce);
	memcpy(signature->rs, completion->signature, sizeof signature->rs);
	signature->recid = completion->recovery_id;
	return 0;
}
