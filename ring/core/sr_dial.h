/* SPDX-License-Identifier: MIT */
/*
 * sr_dial.h - a connection on its way to a signer, a step at a time.
 *
 * A socket is connected when the kernel says so. Behind a hybrid address a proxy of
 * the hypervisor answers first: it is told `CONNECT <port>`, and the stream is the
 * guest's behind a line `OK <number>`. Some proxies name the port there and some a
 * port of their own, so the number is not looked at; a proxy whose guest does not
 * listen hangs up instead. Not a byte behind that line is taken; what has come of the
 * line is, so that whoever polls sleeps until there is more. Nothing here blocks.
 */
#ifndef SR_DIAL_H
#define SR_DIAL_H

#include "sr_address.h"

/* A proxy may accept while its guest is not up yet, and then never says a word. */
#define SR_DIAL_NS (2ull * SR_NS_PER_S)

#define SR_DIAL_ANSWER_BYTES_MAX 32u /* `OK `, ten digits, and room to see that it is none */

struct sr_dial {
	int fd; /* -1: none */
	bool connected;
	bool asked;           /* all of the question has left */
	uint32_t asked_bytes; /* so much of it */
	uint32_t heard_bytes; /* of the answer */
	char heard[SR_DIAL_ANSWER_BYTES_MAX];
	uint64_t until_ns;
};

SR_BEGIN_DECLS

/* sr_dial_start - 0, or -errno and no descriptor. */
SR_WARN_UNUSED int sr_dial_start(struct sr_dial *dial, const struct sr_address *address);

/*
 * sr_dial_step - go on.
 *
 * @address: as of sr_dial_start().
 *
 * Returns 0: the stream is the signer's, at dial->fd; -EAGAIN: wait for
 * sr_dial_events(), and not much longer than SR_DIAL_NS; -ECONNREFUSED when a proxy
 * has nobody at that port, -EPROTO when it is no such proxy, -ETIMEDOUT, or another
 * -errno, after which the descriptor is closed.
 */
SR_WARN_UNUSED int sr_dial_step(struct sr_dial *dial, const struct sr_address *address);

/* sr_dial_events - what the next step waits for: POLLIN or POLLOUT. */
short sr_dial_events(const struct sr_dial *dial);

/* sr_dial_close - give it up; legal at any time behind sr_dial_start(). */
void sr_dial_close(struct sr_dial *dial);

SR_END_DECLS

#endif /* SR_DIAL_H */
