/* SPDX-License-Identifier: MIT */
/*
 * sr_hl_action.h - a Hyperliquid action out of a body that was decoded.
 */
#ifndef SR_HL_ACTION_H
#define SR_HL_ACTION_H

#include "sr_base.h"
#include "sr_out.h"

SR_BEGIN_DECLS

/*
 * sr_hl_action_put - the action in the venue's order of keys: as msgpack, of which the
 * connection id is made, or as the same JSON.
 *
 * @body: one that sr_order_decode() took.
 */
void sr_hl_action_put(struct sr_out *out, const unsigned char *body, bool json);

SR_END_DECLS

#endif /* SR_HL_ACTION_H */
