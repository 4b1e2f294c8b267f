/* SPDX-License-Identifier: MIT */
/*
 * sr_attach.h - what a client and the agent say to each other on their socket.
 *
 * A Unix SEQPACKET socket, one message a packet, descriptors beside it. In order:
 *
 *	client                           agent
 *	HELLO   sizes, epoch, clock  ->
 *	                             <-  OFFER    node, limits
 *	REGION  fd (submission)      ->
 *	                             <-  WELCOME  fd (completion)
 *	READY                        ->
 *	OPEN    one session          ->
 *	                             <-  OPENED   result, doorbells
 *	CLOSE                        ->
 *	                             <-  CLOSED
 *
 * At any time: REFUSED with a code, after which the agent hangs up; and STATUS
 * instead of HELLO, answered with one packet of JSON; and TRACE, any number of them and
 * nothing else, each answered with a TRACED. Hanging up is the only
 * sign of death: never a pid, never a time-out. Messages are structures of fixed
 * width, little-endian, checked for type and exact length before use.
 *
 * CONTROL instead of HELLO makes the socket one control conversation with the signer
 * (sr_relay.h). Nothing answers it: what follows it, either way, is control messages,
 * one whole one a packet, and at the end perhaps REFUSED. The first four bytes tell
 * these two apart: SR_ATTACH_MAGIC is greater than any control message is long. The
 * agent hangs up on what is no control message, when the signer has hung up, and when
 * it has taken too long. A hang-up with packets of the client's unread shows at the
 * client as one ECONNRESET, in front of what there still is to receive.
 */
#ifndef SR_ATTACH_H
#define SR_ATTACH_H

#include "sr_base.h"
#include "sr_region.h"
#include "sr_relay.h"

#define SR_ATTACH_MAGIC 0x41525153u /* "SQRA" in memory */
#define SR_STATUS_BYTES_MAX (128u * 1024u)

enum sr_attach_type {
	SR_ATTACH_HELLO = 1,
	SR_ATTACH_OFFER = 2,
	SR_ATTACH_REGION = 3,
	SR_ATTACH_WELCOME = 4,
	SR_ATTACH_READY = 5,
	SR_ATTACH_OPEN = 6,
	SR_ATTACH_OPENED = 7,
	SR_ATTACH_CLOSE = 8,
	SR_ATTACH_CLOSED = 9,
	SR_ATTACH_REFUSED = 10,
	SR_ATTACH_STATUS = 11,
	SR_ATTACH_CONTROL = 12,
	SR_ATTACH_TRACE = 13,
	SR_ATTACH_TRACED = 14,
};

struct sr_attach_header {
	uint32_t magic;
	uint16_t type;
	uint16_t bytes; /* of the whole message */
};

struct sr_attach_hello {
	struct sr_attach_header header;
	uint16_t abi_major;
	uint16_t abi_minor;
	uint32_t layout_hash;
	uint32_t sessions;
	uint32_t depth;
	uint32_t slot_bytes;
	uint32_t features;     /* SR_FEATURE_* that the client asks for */
	uint32_t attach_epoch; /* higher than at the client's last attach */
	uint32_t reserved;
	uint64_t now_ns;       /* CLOCK_MONOTONIC, to see that clocks agree */
};
#define SR_FEATURE_DOORBELL 1u /* waits on eventfds; pays for them */

struct sr_attach_offer {
	struct sr_attach_header header;
	int32_t numa_node; /* of the agent's polling CPU, -1 = unknown */
	uint32_t agent_pid;
	uint32_t attach_epoch;
	uint32_t features;
	uint32_t loops; /* that poll on this host at once, for SR_WAIT_AUTO */
	uint32_t reserved;
};

struct sr_attach_region { /* REGION and WELCOME, with one descriptor */
	struct sr_attach_header header;
	uint64_t region_bytes;
	uint32_t notes; /* SR_NOTE_* of its creator */
	uint32_t reserved;
};

struct sr_attach_open {
	struct sr_attach_header header;
	uint32_t index;     /* which session of the region */
	uint32_t flags;     /* SR_OPEN_RESUME, _PRIORITY, _SEALED (sr_frame.h) */
	uint64_t token[2];  /* as in sr_frame.h: secret in clear, else a name */
	uint64_t first;     /* slot word of message 0 */
	uint64_t next;      /* number of the first message not yet answered */
	uint64_t published; /* messages published so far: count as forwarded */
};

struct sr_attach_opened { /* with two descriptors when doorbells were asked for:
                             the client's to wait on, the client's to ring */
	struct sr_attach_header header;
	uint32_t index;
	uint32_t result; /* enum sr_attach_result */
	uint64_t boot_id[2];
};

enum sr_attach_result {
	SR_RESULT_OK = 0,
	SR_RESULT_NO_SIGNER = 1, /* the agent has no stream to a signer */
	SR_RESULT_GONE = 2,      /* it cannot be resumed, it is lost; of a sealed
				    one also: it was never admitted */
	SR_RESULT_FULL = 3,
	SR_RESULT_SIZES = 4,
	SR_RESULT_UNSEALED = 5, /* the signer wants sealed records */
	SR_RESULT_BUSY = 6,     /* this index is open already */
};

struct sr_attach_index { /* CLOSE and CLOSED */
	struct sr_attach_header header;
	uint32_t index;
	uint32_t reserved;
};

struct sr_attach_refused {
	struct sr_attach_header header;
	uint32_t code; /* enum sr_attach_refusal */
	uint32_t reserved;
};

enum sr_attach_refusal {
	SR_REFUSED_VERSION = 1,
	SR_REFUSED_UID = 2,
	SR_REFUSED_SIZES = 3,
	SR_REFUSED_CLIENTS = 4,  /* too many processes */
	SR_REFUSED_SESSIONS = 5, /* too many sessions over all processes */
	SR_REFUSED_CLOCK = 6,
	SR_REFUSED_SEALS = 7,
	SR_REFUSED_NOT_MEMFD = 8,
	SR_REFUSED_REGION = 9, /* size, magic or geometry of the region */
	SR_REFUSED_MEMORY = 10,
	SR_REFUSED_PROTOCOL = 11,
	SR_REFUSED_BUSY = 12, /* control: too many failed, or are open; wait */
	SR_REFUSED_TRACE = 13, /* there is none, or it is not for this user */
};

struct sr_attach_bare { /* READY, STATUS, CONTROL */
	struct sr_attach_header header;
};

struct sr_attach_trace {
	struct sr_attach_header header;
	uint64_t from; /* number of the first event that is wanted */
};

/* What happened to a record at the agent. Numbers are ABI. */
enum sr_traced_kind {
	SR_TRACED_PICKED = 1,   /* copied out of its slot */
	SR_TRACED_WRITTEN = 2,  /* all picked so far are about to be given to the stream */
	SR_TRACED_RECEIVED = 3, /* its reply came from the stream */
};

struct sr_traced_event {
	uint64_t seq;     /* slot word; nothing of WRITTEN */
	uint64_t at_kind; /* reading of the counter, times 4, plus enum sr_traced_kind */
};

#define SR_TRACED_EVENTS_MAX 4000u

/* As many events follow, in order of time. Of the agent's polling thread. */
struct sr_attach_traced {
	struct sr_attach_header header;
	uint64_t first; /* of the first event here: above `from` when those have been
	                   written over */
	uint64_t next;  /* of the event that will come next */
	uint64_t domain[2]; /* of the counter, as in sr_counter.h */
	uint64_t ticks_per_s;
	uint32_t counter; /* enum sr_counter_kind */
	uint32_t count;   /* events here */
};

union sr_attach_message {
	struct sr_attach_header header;
	struct sr_attach_hello hello;
	struct sr_attach_offer offer;
	struct sr_attach_region region;
	struct sr_attach_open open;
	struct sr_attach_opened opened;
	struct sr_attach_index index;
	struct sr_attach_refused refused;
	struct sr_attach_bare bare;
	struct sr_attach_trace trace;
};

SR_STATIC_ASSERT(sizeof(struct sr_attach_hello) == 48, "attach ABI");
SR_STATIC_ASSERT(sizeof(struct sr_attach_offer) == 32, "attach ABI");
SR_STATIC_ASSERT(sizeof(struct sr_attach_region) == 24, "attach ABI");
SR_STATIC_ASSERT(sizeof(struct sr_attach_open) == 56, "attach ABI");
SR_STATIC_ASSERT(sizeof(struct sr_attach_opened) == 32, "attach ABI");
SR_STATIC_ASSERT(sizeof(struct sr_attach_trace) == 16, "attach ABI");
SR_STATIC_ASSERT(sizeof(struct sr_attach_traced) == 56, "attach ABI");
SR_STATIC_ASSERT(sizeof(struct sr_attach_traced) +
				 SR_TRACED_EVENTS_MAX * sizeof(struct sr_traced_event) <=
			 UINT16_MAX,
		 "an answer's length fits its header");

SR_STATIC_ASSERT(SR_ATTACH_MAGIC > SR_RELAY_BYTES_MAX, "REFUSED is no control message");

#define SR_CLOCK_SKEW_NS_MAX 1000000000u

SR_BEGIN_DECLS

/*
 * sr_attach_send - one message, with up to two descriptors.
 *
 * @message: its header is filled in here from @type.
 * @fds:     sent along, not taken over; may be NULL when @fd_count is 0.
 *
 * Returns 0; -EAGAIN when the socket is full; -EPIPE or -ECONNRESET when the
 * peer has gone. Never blocks, never raises SIGPIPE.
 */
SR_WARN_UNUSED int sr_attach_send(int sock, union sr_attach_message *message,
				  enum sr_attach_type type, const int *fds, int fd_count);

/*
 * sr_attach_recv - the next message, judged for magic, type and length.
 *
 * @message:  out, written only on success.
 * @fds:      out: descriptors that came along, close-on-exec; the caller's to
 *            close. Two at most; more are closed here and are -EPROTO.
 * @fd_count: out.
 *
 * Returns 0; -EAGAIN when there is none; -ECONNRESET when the peer hung up;
 * -EPROTO for anything that is no message. Never blocks.
 */
SR_WARN_UNUSED int sr_attach_recv(int sock, union sr_attach_message *message, int fds[2],
				  int *fd_count);

/* sr_attach_connect - connect to an agent's socket, without blocking.
 * Returns the descriptor; -ENOENT, -ECONNREFUSED, -EACCES, -ENAMETOOLONG ... */
SR_WARN_UNUSED int sr_attach_connect(const char *path);

/* sr_attach_refusal_reason - a refusal in words, with what to do; returns its -errno. */
int sr_attach_refusal_reason(struct sr_reason *why, uint32_t code);

/* sr_result_reason - the same for the result of OPEN; not for SR_RESULT_OK. */
int sr_result_reason(struct sr_reason *why, uint32_t result);

SR_END_DECLS

#endif /* SR_ATTACH_H */
