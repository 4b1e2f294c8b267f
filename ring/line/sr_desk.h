/* SPDX-License-Identifier: MIT */
/*
 * sr_desk.h - typed orders for programs that read and write them as text.
 *
 * A desk holds what ring/order needs besides a body, and the EIP-712 schemas that lines
 * have brought along. It turns a line in a venue's own JSON into a typed body, tells the
 * digest that the venue wants signed, and writes what is posted. One thread's own, and
 * never on the hot path.
 */
#ifndef SR_DESK_H
#define SR_DESK_H

#include <jansson.h>

#include "sr_orders.h"

struct sr_desk;

SR_BEGIN_DECLS

/* sr_desk_new - returns 0 with *desk set, or -ENOMEM. NULL may be deleted. */
SR_WARN_UNUSED int sr_desk_new(struct sr_desk **desk);
void sr_desk_delete(struct sr_desk *desk);

/*
 * sr_desk_read - the object of a line that has a member "venue".
 *
 * @order: type, body and digest are set on success; the body is the caller's to free.
 *
 * Returns 0; -EINVAL with @why; -ENOMEM; -EIO from a library.
 */
SR_WARN_UNUSED int sr_desk_read(struct sr_desk *desk, struct sr_order_line *order,
				const json_t *root, uint32_t body_max,
				char why[SR_ORDERS_WHY_BYTES]);

/*
 * sr_desk_digest - what ECDSA signs for an order of any type, a typed one or not.
 *
 * @nonce: what the signer has given a typed order that came with 0; 0 leaves it as it is.
 *
 * Returns 0; -ENOENT for one that is not signed with ECDSA; -EINVAL for a nonce that the
 * order cannot have; -EIO.
 */
SR_WARN_UNUSED int sr_desk_digest(struct sr_desk *desk, unsigned char digest[32],
				  const struct sr_order_line *order, uint64_t nonce);

/*
 * sr_desk_write - a typed order's signature as its venue has it, and the body to post.
 *
 * @text:  out: both, as JSON values where the venue's are, the second as it is posted; of
 *         use until the next call.
 * @nonce: as above.
 *
 * Returns 0; -ENOENT for a blind type, which has neither; -EINVAL; -ENOSPC.
 */
struct sr_desk_text {
	const char *signature;
	size_t signature_bytes;
	const char *post;
	size_t post_bytes;
};
SR_WARN_UNUSED int sr_desk_write(struct sr_desk *desk, struct sr_desk_text *text,
				 const struct sr_order_line *order, uint64_t nonce,
				 const unsigned char rs[64], uint8_t recid);

/* sr_desk_type_name - of a typed or blind type; never NULL. */
const char *sr_desk_type_name(uint32_t type);

SR_END_DECLS

#endif /* SR_DESK_H */
