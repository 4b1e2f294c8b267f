/* SPDX-License-Identifier: MIT */
/*
 * sr_transport.h - how the agent's bytes reach a signer: an ordered stream that
 * can break and come back.
 *
 * The polling loop drives it and nothing blocks. Implementations: a stream socket
 * by plain send and recv (sr_stream.c) or by io_uring (sr_stream_uring.c), over
 * Unix or vsock addresses alike; and the signer in the same process
 * (enclave_shim/sr_local.c).
 */
#ifndef SR_TRANSPORT_H
#define SR_TRANSPORT_H

#include <sys/types.h>

#include "sr_address.h"
#include "sr_base.h"

struct sr_transport;

struct sr_transport_ops {
	const char *name;

	/* Brings the stream up, a step at a time. 0 = it is up; -EAGAIN = on the
	 * way; another -errno = this try failed, call again to try anew. */
	int (*connect)(struct sr_transport *transport);

	/* Takes some of @bytes (at most SR_WRITE_BYTES_MAX are offered). Returns
	 * how many, -EAGAIN, or another -errno when the stream is broken. @data is
	 * private memory of the loop and stays unchanged until all was taken. */
	ssize_t (*send)(struct sr_transport *transport, const void *data, size_t bytes);

	/* Copies received bytes to @data. Returns how many, -EAGAIN, or another
	 * -errno when the stream is broken; a peer that hung up is -ECONNRESET. */
	ssize_t (*recv)(struct sr_transport *transport, void *data, size_t bytes);

	/* Breaks the stream; connect() may follow. */
	void (*hangup)(struct sr_transport *transport);

	/* A descriptor that becomes readable when recv() has something, or -1. */
	int (*wait_fd)(const struct sr_transport *transport);

	/* Would connect() go to another place now than where the stream is up? NULL: never. */
	bool (*moved)(const struct sr_transport *transport);

	void (*destroy)(struct sr_transport *transport);
};

/* Implementations begin with this. Owned by the polling thread. */
struct sr_transport {
	const struct sr_transport_ops *ops;
	bool cheap_recv; /* recv() is no system call: look at every turn */
};

SR_BEGIN_DECLS

/* sr_stream_new - a stream socket by send(2) and recv(2). 0, or -ENOMEM. */
SR_WARN_UNUSED int sr_stream_new(struct sr_transport **transport,
				 const struct sr_address *address);

/*
 * sr_stream_uring_new - the same over io_uring, one ring of the calling thread
 * that becomes the polling one.
 *
 * Returns 0; -ENOMEM; -ENOSYS or -EPERM where io_uring is absent or forbidden.
 */
SR_WARN_UNUSED int sr_stream_uring_new(struct sr_transport **transport,
				       const struct sr_address *address);

SR_END_DECLS

#endif /* SR_TRANSPORT_H */
