/* SPDX-License-Identifier: MIT */
/*
 * sigring_order.h - typed orders, for a trading process: all that sigring.h leaves out.
 *
 * An order is built into a body by its venue's builder, or patched from a template; the
 * body is submitted; and with the signature of its completion the text to post is
 * rendered from the same body, so that what is posted is what was signed:
 *
 *	bytes = sr_hl_order_put(body, sizeof body, &head, &order, 1);
 *	request.type = SR_TYPE_HYPERLIQUID, request.body = body, request.body_bytes = bytes;
 *	sr_submit(session, &request);
 *	...
 *	sr_order_completed(&signature, body, &completion);
 *	sr_order_decode(&decoded, request.type, body, bytes, env);
 *	n = sr_order_render(text, sizeof text, &decoded, &signature, env);
 *
 * sr_order_decode(), sr_order_digest() and sr_order_render() are the same for all venues;
 * only the structs and their builders differ. Nothing here allocates, calls the system or
 * takes a lock but sr_order_env_new(), which is for a cold thread.
 */
#ifndef SIGRING_ORDER_H
#define SIGRING_ORDER_H

#include "sigring.h"

#include "sr_bech32.h"
#include "sr_decimal.h"
#include "sr_dydx.h"
#include "sr_ethereum.h"
#include "sr_grvt.h"
#include "sr_hibachi.h"
#include "sr_hl_body.h"
#include "sr_order.h"
#include "sr_pm_body.h"
#include "sr_schema.h"
#include "sr_template.h"
#include "sr_typed_data.h"

SR_BEGIN_DECLS

/*
 * sr_order_completed - what the signer did with a typed order.
 *
 * @signature: out, written only on success.
 * @body:      of the request. Where it left the venue's nonce to the signer (it is 0),
 *             the nonce that was signed is put into it.
 *
 * Returns 0; -ENOMSG when the completion has no ECDSA signature: its status says why;
 * -EINVAL when the nonce that was signed is another than the body's, which no signer of
 * ours answers: do not post it.
 */
SR_WARN_UNUSED int sr_order_completed(struct sr_order_signature *signature, unsigned char *body,
				      const struct sr_completion *completion);

SR_END_DECLS

#endif /* SIGRING_ORDER_H */
