/* SPDX-License-Identifier: MIT */
/*
 * sr_port.h - the signer's end of one stream: bytes in, bytes out.
 *
 * Cuts frames, queues records by class (sessions with priority first, otherwise
 * in order of arrival, which the agent has made fair), has sr_core answer them
 * and puts the answers into one output buffer. Pure: whoever owns the stream
 * feeds and drains it. The records on the way are bounded by the credits that
 * HELLO grants, and so are both queues and the output: a credit is the peer's
 * again only when the frame that returns it has been written out whole. Answers
 * to OPEN and STATUS are bounded by SR_ASKED_MAX in the same way. A peer that
 * exceeds either is cut off, so there is always room for an answer, and nothing
 * is allocated after sr_port_new().
 *
 * OPEN, END and STATUS are served as they are fed, before records that still
 * wait: those of a session that was ended meanwhile are dropped, with a credit.
 *
 * Turn of the owner: feed what was read; sr_port_sign() a few records; drain.
 */
#ifndef SR_PORT_H
#define SR_PORT_H

#include "sr_base.h"
#include "sr_core.h"
#include "sr_frame.h"

struct sr_port;

struct sr_port_config {
	struct sr_core *core;     /* borrowed */
	uint32_t stream;          /* this port's number at the core, 0 .. 63 */
	uint32_t credit_records;  /* granted to the peer, 1 .. 4096 */
	uint32_t slot_bytes_max;
	uint32_t sessions_max;
	uint32_t write_bytes_max; /* told to the peer; <= SR_WRITE_BYTES_MAX */
	uint64_t boot_id[2];
};

SR_BEGIN_DECLS

/*
 * sr_port_new - allocate the queues and buffers of one stream.
 *
 * Returns 0; -EINVAL (a number is out of its range); -ENOMEM.
 */
SR_WARN_UNUSED int sr_port_new(struct sr_port **port, const struct sr_port_config *config);
void sr_port_delete(struct sr_port *port); /* NULL is legal */

/* sr_port_begin - a new peer on this port: empty everything, queue HELLO. */
void sr_port_begin(struct sr_port *port);

/* sr_port_end - the peer has gone; its sessions are left to be resumed, its
 * records on the way are forgotten: the next agent sends them again. */
void sr_port_end(struct sr_port *port);

/*
 * sr_port_feed - take bytes that were read from the stream.
 *
 * @data: any cut of the stream, private memory.
 * Returns 0; -EPROTO when the peer broke a rule, or there is none: end the port
 * and close the stream; nothing is signed for it any more. Rules: a length that
 * is no frame's, a kind that an agent does not send, a payload of the wrong
 * length, more records or questions than granted. All of @data is always taken.
 */
SR_WARN_UNUSED int sr_port_feed(struct sr_port *port, const void *data, size_t bytes);

/*
 * sr_port_sign - answer at most @max queued records, priority first.
 *
 * Returns how many were taken from the queues; 0 = nothing was waiting.
 */
uint32_t sr_port_sign(struct sr_port *port, uint32_t max);

/* sr_port_proven - was a record of this peer answered? Then it carries for somebody who has
 * rights: only what authenticates is answered, where sessions are sealed. */
bool sr_port_proven(const struct sr_port *port);

/* sr_port_waiting - records queued and not yet answered. */
uint32_t sr_port_waiting(const struct sr_port *port);

/*
 * sr_port_output - what is to be written to the stream.
 *
 * @data: out, borrowed until the next call on the port.
 * Returns its length in bytes; sr_port_sent() then says how much was written,
 * at most that length.
 */
size_t sr_port_output(const struct sr_port *port, const void **data);
void sr_port_sent(struct sr_port *port, size_t bytes);

SR_END_DECLS

#endif /* SR_PORT_H */
