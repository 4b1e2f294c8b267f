/* SPDX-License-Identifier: MIT */
/*
 * sr_hl_template.h - an order of Hyperliquid that is encoded once and sent often.
 *
 * An engine that quotes changes price, size, client id, nonce and perhaps the expiry. A
 * template holds the body with everything else in it, and the text to post cut at those
 * places: a patch is a few stores, rendering a few copies and the numbers.
 *
 * One order, of action SR_HL_ORDER. One thread's own; plain memory, no pointers.
 */
#ifndef SR_HL_TEMPLATE_H
#define SR_HL_TEMPLATE_H

#include "sr_base.h"
#include "sr_hl_body.h"
#include "sr_order.h"

#define SR_HL_TEMPLATE_BODY_BYTES 128u /* the head and the longest row */
#define SR_HL_TEMPLATE_TEXT_BYTES 1024u

/* Values in the text that differ, in their order. */
enum sr_hl_hole {
	SR_HL_HOLE_PRICE,
	SR_HL_HOLE_SIZE,
	SR_HL_HOLE_CLOID, /* empty when there is none */
	SR_HL_HOLE_NONCE,
	SR_HL_HOLE_R,
	SR_HL_HOLE_S,
	SR_HL_HOLE_V,
	SR_HL_HOLE_EXPIRES,
	SR_HL_HOLES,
};

struct sr_hl_template {
	uint32_t body_bytes;
	uint32_t text_bytes;
	struct {
		uint16_t start;
		uint16_t end;
	} holes[SR_HL_HOLES];
	unsigned char body[SR_HL_TEMPLATE_BODY_BYTES];
	char text[SR_HL_TEMPLATE_TEXT_BYTES];
};

/* What differs. */
struct sr_hl_patch {
	uint64_t price; /* scaled by 10^8 */
	uint64_t size;
	uint64_t nonce;
	uint64_t expires_after;     /* used when the template has one */
	const unsigned char *cloid; /* 16 bytes; used when the template has one */
};

SR_BEGIN_DECLS

/*
 * sr_hl_template_init - from an order with all that stays, and some value for the rest.
 *
 * @t:       out; of use on success only.
 * @scratch: to decode into; of no use afterwards.
 *
 * Returns 0; -EINVAL when it is not an order that the signer would take.
 */
SR_WARN_UNUSED int sr_hl_template_init(struct sr_hl_template *t, const struct sr_hl_head *head,
				       const struct sr_hl_order *order, struct sr_order *scratch,
				       struct sr_order_env *env);

/* sr_hl_template_patch - t->body, of t->body_bytes, is then what to submit. Judges nothing. */
void sr_hl_template_patch(struct sr_hl_template *t, const struct sr_hl_patch *patch);

/*
 * sr_hl_template_render - the body to post, as sr_order_render() gives it.
 *
 * Returns its bytes, or -ENOSPC.
 */
SR_WARN_UNUSED int sr_hl_template_render(char *text, size_t room, const struct sr_hl_template *t,
					 const struct sr_order_signature *signature);

SR_END_DECLS

#endif /* SR_HL_TEMPLATE_H */
