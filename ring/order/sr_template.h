/* SPDX-License-Identifier: MIT */
/*
 * sr_template.h - an order that is encoded once and sent often.
 *
 * An engine that quotes changes price, size, client id, nonce and perhaps the expiry. A
 * template holds a body with everything else in it, and the text to post cut at those
 * places: patching is one copy and a few stores, rendering a few copies and the numbers.
 * Nothing is decoded again.
 *
 *	bytes = sr_hl_order_put(body, sizeof body, &head, &order, 1);     cold
 *	sr_template_init(&t, SR_TYPE_HYPERLIQUID, body, bytes, scratch, env);
 *
 *	sr_template_patch(body, &t, &patch);                              an order
 *	... submit body, t.body_bytes long; poll ...
 *	sr_template_render(text, room, &t, body, &signature);
 *
 * A template is plain memory without pointers and does not change once it is made: any
 * number of threads may use one, for as many orders at once as they like. The bodies are
 * the callers', one for each order in flight, and the text is rendered from the body that
 * was signed: from a body of another template it is refused.
 *
 * Templates exist of Hyperliquid's order, modify and batchModify, and of GRVT's limit
 * orders; each with a single order in it. dYdX posts the signed bytes themselves in base64,
 * and Polymarket two amounts that both move with the price: sr_order_render() has those.
 */
#ifndef SR_TEMPLATE_H
#define SR_TEMPLATE_H

#include "sr_base.h"
#include "sr_order.h"

#define SR_TEMPLATE_BODY_BYTES 256u /* no body of a template is longer */
#define SR_TEMPLATE_TEXT_BYTES 1280u
#define SR_TEMPLATE_HOLES 12u

/* Values that differ. Numbers are not ABI. */
enum sr_template_field {
	SR_FIELD_PRICE,
	SR_FIELD_SIZE,
	SR_FIELD_TRIGGER,
	SR_FIELD_NONCE,
	SR_FIELD_EXPIRES,
	SR_FIELD_CLIENT_ID,
	SR_FIELD_TARGET,
	SR_FIELD_R, /* this one and those below are the signature's, not the body's */
	SR_FIELD_S,
	SR_FIELD_V,
};

#define SR_FIELD_HEX 255u /* in the place of decimals */

/* Where a value lies, in the body and in the text. */
struct sr_template_hole {
	uint8_t field;    /* enum sr_template_field */
	uint8_t decimals; /* of its text, or SR_FIELD_HEX */
	uint16_t at;      /* in the body */
	uint16_t bytes;   /* there; 0 of the signature's */
	uint16_t start;   /* in the text */
	uint16_t end;
};

struct sr_template {
	uint16_t type;       /* of the request: enum sr_order_type */
	uint16_t body_bytes; /* of the request */
	uint16_t text_bytes;
	uint16_t hole_count;
	struct sr_template_hole holes[SR_TEMPLATE_HOLES]; /* in the order of the text */
	unsigned char body[SR_TEMPLATE_BODY_BYTES];
	char text[SR_TEMPLATE_TEXT_BYTES];
};

/* The values of one order, in the venue's integers. What the template's order does not
 * have is not looked at; all that it has is taken from here. */
struct sr_patch {
	uint64_t price;         /* Hyperliquid: scaled by 10^8; GRVT: by 10^9 */
	uint64_t size;          /* Hyperliquid: scaled by 10^8; GRVT: by the leg's decimals */
	uint64_t trigger_price; /* as price */
	uint64_t nonce;         /* or 0, where policy has the signer fill it in */
	uint64_t expires;       /* Hyperliquid: ms; GRVT: ns */
	const unsigned char *client_id; /* Hyperliquid: 16 bytes; GRVT: 8, little-endian */
	const unsigned char *target;    /* of a modification, what it replaces: an order id of
					 * 8 bytes, little-endian, or a client id of 16 */
};

SR_BEGIN_DECLS

/*
 * sr_template_init - from a body with all that stays, and some value for the rest.
 *
 * @t:       out; of use on success only.
 * @type:    of the request. @body, @body_bytes: of a venue's builder; copied.
 * @scratch: to decode into; of no use afterwards.
 *
 * Returns 0; what sr_order_decode() returns for an order that the signer would not take;
 * -EOPNOTSUPP (there are no templates of such an order); -ENOSPC (its text is longer than
 * a template's). Off the hot path, though it neither allocates nor calls the system.
 */
SR_WARN_UNUSED int sr_template_init(struct sr_template *t, uint32_t type,
				    const unsigned char *body, uint32_t body_bytes,
				    struct sr_order *scratch, struct sr_order_env *env);

/*
 * sr_template_patch - the body of one order: what is to be submitted.
 *
 * @body: out, t->body_bytes.
 *
 * Judges nothing: the signer does.
 */
void sr_template_patch(unsigned char *body, const struct sr_template *t,
		       const struct sr_patch *patch);

/*
 * sr_template_render - the body to post, byte for byte what sr_order_render() gives.
 *
 * @text: out, not terminated; whatever it holds after an error is of no use.
 * @body: t->body_bytes, as they were signed: patched from this template, and with the
 *        nonce that the signer gave, if it did (sr_order_completed()).
 *
 * Returns the bytes written; -EINVAL (a body of another template); -ENOSPC.
 */
SR_WARN_UNUSED int sr_template_render(char *text, size_t room, const struct sr_template *t,
				      const unsigned char *body,
				      const struct sr_order_signature *signature);

SR_END_DECLS

#endif /* SR_TEMPLATE_H */
