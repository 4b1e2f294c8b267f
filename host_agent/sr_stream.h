/* SPDX-License-Identifier: MIT */
/*
 * sr_stream.h - what the two socket transports have in common: the socket.
 */
#ifndef SR_STREAM_H
#define SR_STREAM_H

#include "sr_dial.h"
#include "sr_transport.h"

struct sr_stream {
	struct sr_transport transport; /* first */
	struct sr_address address;
	struct sr_dial dial; /* its descriptor is -1 without a connection */
	bool up;
	uint32_t cid; /* where it is, or was last, of an address that is found; relaxed */
};

/* sr_stream_connect - see sr_transport_ops.connect. */
int sr_stream_connect(struct sr_stream *stream);

/* sr_stream_moved - see sr_transport_ops.moved. */
bool sr_stream_moved(const struct sr_transport *transport);

/* sr_stream_cid - of either transport: the CID that it is connected to, or was last, of an
 * address that is found; 0 before. Others read it relaxed: a conversation about sessions has
 * to reach the signer that has the stream, whoever else has started since. */
const uint32_t *sr_stream_cid(const struct sr_transport *transport);

/* sr_stream_close - drop the connection, if there is one. */
void sr_stream_close(struct sr_stream *stream);

#endif /* SR_STREAM_H */
