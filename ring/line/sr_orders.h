/* SPDX-License-Identifier: MIT */
/*
 * sr_orders.h - a file of orders: one JSON object a line.
 *
 *	{"scheme":"ecdsa-keccak256","key":1,"hex":"1901...","id":"cancel 7"}
 *
 *	scheme   how it is signed: a name of sr_type.h
 *	key      key id at the signer, 1 .. 2^32-1
 *	message  the body as text (its UTF-8 bytes), or
 *	hex      the body as bytes, two digits each; exactly one of the two
 *	id       free text that comes back in results; optional
 *	source   free text, for the reader of the file; optional
 *
 * or an order as its venue's API has it, converted to a typed one (sr_desk.h):
 *
 *	{"venue":"hyperliquid","key":1,"network":"mainnet","action":{...},"nonce":...}
 *
 * Lines of blanks are skipped. Everything else that is not such an object is
 * refused, and the reason names the member that is wrong: an order that was
 * meant differently must not be signed as something else. A file is read whole
 * before anything is done with it.
 */
#ifndef SR_ORDERS_H
#define SR_ORDERS_H

#include <stdio.h>

#include "sr_base.h"

#define SR_ORDERS_LINE_MAX 16384u /* bytes a line; 4 KiB of body as hex and more */
#define SR_ORDERS_COUNT_MAX 1000000u
#define SR_ORDERS_ID_MAX 255u
#define SR_ORDERS_WHY_BYTES 160u
#define SR_ORDERS_DIGEST_BYTES 32u

struct sr_desk;

struct sr_order_line {
	unsigned char *body; /* body_bytes of them, NULL when that is 0 */
	char *id;            /* NULL when the line has none */
	uint32_t key;
	uint16_t type; /* enum sr_type */
	uint16_t body_bytes;
	uint32_t line; /* in its file, from 1 */
	unsigned char digest[SR_ORDERS_DIGEST_BYTES]; /* of a typed order */
};

struct sr_orders {
	struct sr_order_line *list;
	uint32_t count;
	uint32_t room; /* entries allocated */
	uint32_t bad;  /* lines refused */
	struct sr_desk *desk; /* what typed ones were read at */
};

/* Called for each line that is refused; @what is a phrase without a newline. */
typedef void sr_orders_refused(void *arg, uint32_t line, const char *what);

SR_BEGIN_DECLS

/*
 * sr_orders_parse - read one line.
 *
 * @order:    out, written only on success; ends with sr_orders_release(). Its
 *            line number is left 0.
 * @desk:     for typed orders; NULL: they are refused.
 * @text:     the line without its newline, @bytes of it; need not end in 0.
 * @body_max: longest body that a slot carries, in bytes.
 * @why:      out on -EINVAL: what is wrong with the line.
 *
 * Returns 0; -EINVAL; -ENOMEM; -EIO from a library.
 */
SR_WARN_UNUSED int sr_orders_parse(struct sr_order_line *order, struct sr_desk *desk,
				   const char *text, size_t bytes, uint32_t body_max,
				   char why[SR_ORDERS_WHY_BYTES]);
void sr_orders_release(struct sr_order_line *order);

/*
 * sr_orders_read - read a whole file.
 *
 * @orders:     out; ends with sr_orders_free(), whatever is returned.
 * @file:       read to its end, not closed.
 * @keep_going: go on behind a line that is refused; else it is the last.
 * @refused:    told of each line that is refused.
 *
 * Returns 0, also when lines were refused: look at orders->bad; -EIO; -ENOMEM;
 * -E2BIG (more than SR_ORDERS_COUNT_MAX orders).
 */
SR_WARN_UNUSED int sr_orders_read(struct sr_orders *orders, FILE *file, uint32_t body_max,
				  bool keep_going, sr_orders_refused *refused, void *arg);
void sr_orders_free(struct sr_orders *orders);

/*
 * sr_orders_unhex - @digits hex digits to digits / 2 bytes.
 *
 * Returns 0, or -EINVAL with nothing promised about @out when a character is no
 * digit or their count is odd.
 */
SR_WARN_UNUSED int sr_orders_unhex(unsigned char *out, const char *hex, size_t digits);

SR_END_DECLS

#endif /* SR_ORDERS_H */
