/* SPDX-License-Identifier: MIT */
/*
 * sr_frame.h - the stream between an agent and a signer, cut into frames.
 *
 * A frame is a header of 16 bytes and a payload; the signer frames by that
 * alone and by nothing inside a record. Little-endian:
 *
 *	0  bytes         u32  of header and payload, 16 .. SR_FRAME_BYTES_MAX
 *	4  session       u32  the signer's number for it, 0 = the stream itself
 *	8  attach_epoch  u32  raised by the client at each attach
 *	12 kind          u32  enum sr_frame_kind
 *
 * The signer speaks first: HELLO grants credits and names its boot. The agent
 * then has at most `credits` records on the way that have not been answered; a
 * REPLY, or a CREDIT for a record that was dropped, gives one back. Both ends
 * always read before they write, so no direction can block the other.
 *
 * A length is judged before anything is kept for it. Frames of a lower epoch
 * than the session's are ignored (their credit comes back): a stopped agent
 * that is continued after its successor took over can do nothing.
 */
#ifndef SR_FRAME_H
#define SR_FRAME_H

#include "sr_base.h"
#include "sr_record.h"

#define SR_FRAME_HEADER_BYTES 16u
#define SR_FRAME_BYTES_MAX (SR_FRAME_HEADER_BYTES + SR_SUB_BYTES_MAX)

/* Kernels since August 2025 send larger writes as non-linear buffers, which
 * the Nitro hypervisor corrupts. No write on a stream is ever longer. */
#define SR_WRITE_BYTES_MAX (31u * 1024u)
#define SR_WRITE_BYTES_DEFAULT 4096u

enum sr_frame_kind {
	SR_FRAME_HELLO = 1,  /* signer -> agent, once, first */
	SR_FRAME_OPEN = 2,   /* agent -> signer: begin or resume a session */
	SR_FRAME_OPENED = 3, /* signer -> agent: its answer */
	SR_FRAME_DATA = 4,   /* agent -> signer: a submission record */
	SR_FRAME_REPLY = 5,  /* signer -> agent: a completion record */
	SR_FRAME_CREDIT = 6, /* signer -> agent: records dropped unanswered */
	SR_FRAME_END = 7,    /* agent -> signer: the client has gone;
	                        signer -> agent: the session was ended */
	SR_FRAME_STATUS = 8, /* agent -> signer: empty; signer -> agent: counters */
};

struct sr_frame {
	uint32_t bytes;
	uint32_t session;
	uint32_t epoch;
	uint32_t kind;
	const unsigned char *payload; /* borrowed from the buffer it was cut from */
	uint32_t payload_bytes;
};

/* HELLO. Protocol version first; an end that does not know it hangs up. */
#define SR_PROTOCOL 1u
#define SR_HELLO_BYTES 48u
struct sr_hello {
	uint32_t protocol;
	uint32_t credit_records;   /* records on the way at once */
	uint32_t slot_bytes_max;   /* longest submission record accepted */
	uint32_t write_bytes_max;  /* the signer's own cap on one write */
	uint32_t sessions_max;
	uint32_t features;         /* SR_HELLO_UNSEALED */
	uint64_t boot_id[2];       /* random at each start of the signer */
}; /* 40 .. 47 reserved, zero */
#define SR_HELLO_UNSEALED 1u /* records in clear are accepted */

/*
 * OPEN. Of a session whose records are in clear it says all that the signer will
 * know of it. A sealed one was agreed between its client and the signer before:
 * here it is only named, and put on this stream. `first`, depth and slot_bytes
 * must then be what was agreed; next, uid and SR_OPEN_PRIORITY are not looked at,
 * because nobody vouches for them.
 */
#define SR_OPEN_BYTES 56u
struct sr_open_request {
	uint64_t token[2];  /* in clear: the client's secret, resume needs it;
			       sealed: the session's name, no secret */
	uint64_t first;     /* slot word of message 0 */
	uint64_t next;      /* number of the first message not yet answered */
	uint32_t depth;
	uint32_t slot_bytes;
	uint32_t uid;       /* of the client, as the agent's kernel told it */
	uint32_t flags;     /* SR_OPEN_RESUME, SR_OPEN_PRIORITY, SR_OPEN_SEALED */
	uint32_t cookie;    /* returned in OPENED */
};
#define SR_OPEN_RESUME 1u   /* only if the signer still has it */
#define SR_OPEN_PRIORITY 2u /* cancels: drained before other sessions */
#define SR_OPEN_SEALED 4u   /* a session that was admitted with keys */

/* OPENED: `session` of the header is the signer's number when result is 0. */
#define SR_OPENED_BYTES 8u
struct sr_opened {
	uint32_t cookie;
	uint32_t result; /* enum sr_open_result */
};

enum sr_open_result {
	SR_OPENED_OK = 0,
	SR_OPENED_GONE = 1,     /* resume, sealed: this signer has no such session */
	SR_OPENED_FULL = 2,     /* no room for another session */
	SR_OPENED_SIZES = 3,    /* depth or slot size not accepted */
	SR_OPENED_EPOCH = 4,    /* a later agent has the session */
	SR_OPENED_UNSEALED = 5, /* records in clear are not accepted */
};

/* CREDIT: u32, how many records were dropped unanswered; of the stream, so
 * `session` of the header is 0. */
#define SR_CREDIT_BYTES 4u

/*
 * An agent waits for the answers to its OPEN and STATUS frames: the signer
 * keeps at most so many answers that the agent has not read, and cuts off the
 * stream of one that asks on without reading. Enough to resume every session
 * twice over.
 */
#define SR_ASKED_MAX(sessions_max) (2u * (sessions_max) + 64u)

/* STATUS, signer -> agent: the signer's counters, u64 each, in this order. New
 * ones are appended; a reader takes the fields that it knows. */
enum sr_status_field {
	SR_FIELD_RECORDS = 0,
	SR_FIELD_SIGNED_OK = 1,
	SR_FIELD_DENIED = 2,
	SR_FIELD_BAD_REQUEST = 3,
	SR_FIELD_VOIDED = 4,
	SR_FIELD_REPEATS = 5,
	SR_FIELD_DROPPED = 6,
	SR_FIELD_ENDED_HOSTILE = 7,
	SR_FIELD_SESSIONS = 8,
	SR_FIELD_ORPHANS = 9,
	SR_FIELD_CHECK_FAILED = 10,
	SR_FIELD_PRESIGNED = 11,
	SR_FIELD_FALLBACKS = 12,
	SR_FIELD_POOL_DEPTH = 13,
	SR_FIELD_POOL_SLOTS = 14,
	SR_FIELD_POOL_TAKEN = 15,
	SR_FIELD_POOL_REFILLED = 16,
	SR_FIELD_POOL_DRY = 17,
	SR_FIELD_POOL_FAILED = 18,
	SR_FIELD_SNAPSHOT_ALLOWED = 19,
	SR_FIELD_UNAUTHENTIC = 20,
};
#define SR_STATUS_FIELDS 21u
#define SR_STATUS_BYTES (8u * SR_STATUS_FIELDS)

/* Session numbers: a table index below, a generation above. 0 is no session. */
#define SR_SESSION_INDEX_BITS 12u
#define SR_SESSIONS_MAX (1u << SR_SESSION_INDEX_BITS)
#define SR_SESSION_INDEX(id) ((id) & (SR_SESSIONS_MAX - 1u))

SR_BEGIN_DECLS

/*
 * sr_frame_cut - the next frame of a buffer, if all of it is there.
 *
 * @frame: out, written only on success; its payload points into @data.
 * @data:  private memory.
 * @bytes: how much of it is valid.
 *
 * Returns 0; -EAGAIN when more bytes are needed; -EPROTO when the length is
 * below the header or above SR_FRAME_BYTES_MAX, after which the stream must be
 * closed. Judges four bytes before it asks for more.
 */
SR_WARN_UNUSED int sr_frame_cut(struct sr_frame *frame, const unsigned char *data, size_t bytes);

/*
 * sr_frame_put - write a frame's header; the payload goes behind it.
 *
 * @out:  SR_FRAME_HEADER_BYTES of room.
 * Returns the bytes of the whole frame.
 */
uint32_t sr_frame_put(unsigned char *out, uint32_t kind, uint32_t session, uint32_t epoch,
		      uint32_t payload_bytes);

/* Payload codecs. The `_get` ones return -EPROTO for a wrong length. */
void sr_hello_put(unsigned char out[SR_HELLO_BYTES], const struct sr_hello *hello);
SR_WARN_UNUSED int sr_hello_get(struct sr_hello *hello, const struct sr_frame *frame);
void sr_open_put(unsigned char out[SR_OPEN_BYTES], const struct sr_open_request *open);
SR_WARN_UNUSED int sr_open_get(struct sr_open_request *open, const struct sr_frame *frame);
void sr_opened_put(unsigned char out[SR_OPENED_BYTES], const struct sr_opened *opened);
SR_WARN_UNUSED int sr_opened_get(struct sr_opened *opened, const struct sr_frame *frame);

SR_END_DECLS

#endif /* SR_FRAME_H */
