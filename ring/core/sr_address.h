/* SPDX-License-Identifier: MIT */
/*
 * sr_address.h - where a stream between an agent and a signer is.
 *
 *	unix:PATH           a Unix stream socket
 *	vsock:CID:PORT      AF_VSOCK; a listener gives `any` for the CID
 *
 * Connecting and listening are the same code for both: only the bytes of the
 * socket address differ.
 */
#ifndef SR_ADDRESS_H
#define SR_ADDRESS_H

#include <sys/socket.h>

#include "sr_base.h"
#include "sr_reason.h"

struct sr_address {
	union {
		struct sockaddr any;
		struct sockaddr_storage storage;
	} sock;
	socklen_t bytes;
	char text[128]; /* as it was given */
};

SR_BEGIN_DECLS

/* sr_address_parse - 0, or -EINVAL with a reason. */
SR_WARN_UNUSED int sr_address_parse(struct sr_address *address, const char *text,
				    struct sr_reason *why);

/*
 * sr_address_control - where the signer at @hot takes control conversations, unless
 * somebody says otherwise.
 *
 * unix:PATH becomes unix:PATH.control; vsock:CID:PORT the port above it.
 *
 * @control: out, written only on success; not @hot itself.
 *
 * Returns 0, or -EINVAL with a reason: the path would be too long, or the port is
 * the last one.
 */
SR_WARN_UNUSED int sr_address_control(const struct sr_address *hot, struct sr_address *control,
				      struct sr_reason *why);

/*
 * sr_address_connect - start to connect, without blocking.
 *
 * Returns the descriptor, which becomes writable when it is connected (or holds
 * an error), or -errno.
 */
SR_WARN_UNUSED int sr_address_connect(const struct sr_address *address);

/*
 * sr_address_listen - a listening socket, stream or seqpacket.
 *
 * @type: SOCK_STREAM or SOCK_SEQPACKET.
 * @mode: permission bits of a Unix socket's file.
 *
 * A Unix socket left behind by a dead process is replaced; one that answers is
 * -EADDRINUSE. Nothing unlinks a socket at the end of a program: by then it may
 * be a successor's. Returns the non-blocking descriptor, or -errno with a reason.
 */
SR_WARN_UNUSED int sr_address_listen(const struct sr_address *address, int type, unsigned int mode,
				     struct sr_reason *why);

SR_END_DECLS

#endif /* SR_ADDRESS_H */
