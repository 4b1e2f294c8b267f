/* SPDX-License-Identifier: MIT */
/*
 * sr_address.h - where a stream between an agent and a signer is.
 *
 *	unix:PATH           a Unix stream socket
 *	vsock:CID:PORT      AF_VSOCK; a listener gives `any` for the CID
 *	vsock:auto:PORT     the CID that the enclave of the day has, which somebody
 *	                    who hears of it puts where `cid` points
 *	hybrid:PATH:PORT    a guest's port behind a proxy of its hypervisor, as
 *	                    Firecracker, Cloud Hypervisor and vhost-device-vsock have
 *	                    it (sr_dial.h)
 *
 * Connecting and listening are the same code for all: only the bytes of the
 * socket address differ. Listening is for the first two.
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
	bool hybrid;
	bool found;          /* `auto` */
	uint32_t port;       /* of vsock: and hybrid: */
	const uint32_t *cid; /* of `auto`: relaxed, 0 while nobody knows; borrowed */
	char text[128];      /* as it was given */
};

SR_BEGIN_DECLS

/* sr_address_parse - 0, or -EINVAL with a reason. */
SR_WARN_UNUSED int sr_address_parse(struct sr_address *address, const char *text,
				    struct sr_reason *why);

/*
 * sr_address_control - where the signer at @hot takes control conversations, unless
 * somebody says otherwise.
 *
 * unix:PATH becomes unix:PATH.control; the others have the port above.
 *
 * @control: out, written only on success; not @hot itself.
 *
 * Returns 0, or -EINVAL with a reason: the path would be too long, or the port is
 * the last one.
 */
SR_WARN_UNUSED int sr_address_control(const struct sr_address *hot, struct sr_address *control,
				      struct sr_reason *why);

/* sr_address_cid - where `auto` leads now, 0 while nobody knows; 0 for all others. */
uint32_t sr_address_cid(const struct sr_address *address);

/*
 * sr_address_connect - start to connect, without blocking.
 *
 * Returns the descriptor, which becomes writable when it is connected (or holds
 * an error); -EHOSTUNREACH for `auto` while nobody knows; or -errno. Behind a hybrid
 * address that is the proxy: whoever wants the signer calls sr_dial_start().
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
 * be a successor's. Returns the non-blocking descriptor, or -errno with a reason;
 * -EINVAL for an address to connect to.
 */
SR_WARN_UNUSED int sr_address_listen(const struct sr_address *address, int type, unsigned int mode,
				     struct sr_reason *why);

SR_END_DECLS

#endif /* SR_ADDRESS_H */
