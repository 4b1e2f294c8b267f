/* SPDX-License-Identifier: MIT */
/*
 * sr_hl_action.h - a Hyperliquid action out of a body that was decoded, and its rows.
 */
#ifndef SR_HL_ACTION_H
#define SR_HL_ACTION_H

#include "sr_base.h"
#include "sr_hl_body.h"
#include "sr_out.h"

SR_BEGIN_DECLS

/*
 * sr_hl_action_put - the action in the venue's order of keys: as msgpack, of which the
 * connection id is made, or as the same JSON.
 *
 * @body: one that sr_order_decode() took.
 */
void sr_hl_action_put(struct sr_out *out, const unsigned char *body, bool json);

/* sr_hl_row_bytes - of one row of this body; 0 for an unknown action. */
uint32_t sr_hl_row_bytes(const unsigned char *body);

/* sr_hl_row_get - an order's row, as it lies there. */
void sr_hl_row_get(struct sr_hl_order *order, const unsigned char *body, uint32_t row);

SR_END_DECLS

#endif /* SR_HL_ACTION_H */
