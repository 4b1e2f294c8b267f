/* SPDX-License-Identifier: MIT */
/*
 * sr_control.h - what a client or an operator and the signer say to begin with.
 *
 * Apart from the hot stream, through an agent that both distrust:
 *
 *	client                                         signer
 *	ATTEST    a nonce                      ->
 *	                                       <-      DOCUMENT  the terms, the document
 *	BEGIN     Noise IK, message 1          ->
 *	                                       <-      BEGUN     Noise IK, message 2
 *
 * or, with a ticket of a session before, BEGIN and BEGUN alone, under IKpsk2. In
 * place of its answer the signer may say REFUSED, which is the last message. Nothing
 * is asked twice in a conversation.
 *
 * An operator says so in BEGIN, asks for nothing in it and is granted nothing. After
 * BEGUN the two go on in SEALED messages: see sr_channel.h.
 *
 * Nothing in clear is believed because it says so. The terms are believed when their
 * hash is the user_data of a document that is; all of BEGIN's header is in the
 * prologue of the handshake (Noise section 5.3), with PCR0 and the terms, so that the
 * ends agree on every byte of it or do not come to agree at all. REFUSED cannot be
 * authenticated: it is a text for an operator and nothing else depends on it.
 *
 * Every message has the length of its kind, but for DOCUMENT and SEALED, which are
 * bounded: a length is judged before anything is kept for it. Offsets in
 * bytes, little-endian, reserved bytes zero. A message is u32 bytes (of all of it),
 * u32 kind, and:
 *
 *	ATTEST, 48            DOCUMENT, 105 ..        BEGIN, 352
 *	  8 version     u16     8 version       u16     8 version      u16
 *	 10 reserved    6      10 reserved      6      10 flags        u16
 *	 16 nonce       32     16 boot id   2 u64      12 reserved     4
 *	                       32 manifest version     16 boot id  2 u64
 *	BEGUN, 232                              u64    32 token    2 u64
 *	  8 message 2   224    40 manifest hash  32    48 nonce        32
 *	                       72 audit key      32    80 binding      32
 *	REFUSED, 16           104 document            112 ticket       104
 *	  8 code        u32                           216 message 1    136
 *	 12 reserved    4     SEALED, 25 ..
 *	                        8 ciphertext, tag
 *
 * The payload of message 1 is a request, that of message 2 a grant:
 *
 *	request, 40           grant, 176
 *	  0 first       u64     0 flags          u32   16 reserved     24
 *	  8 depth       u32     4 depth max      u32   40 ticket       104
 *	 12 slot bytes  u32     8 slot bytes max u32  144 secret       32
 *	 16 flags       u32    12 sessions max   u32
 *	 20 reserved    4
 *	 24 predecessor 16
 *
 * The binding is the hash of the document that BEGIN answers; with a ticket, when
 * there is none, that of the terms which the client still takes to be in force.
 *
 * Pure functions on private memory; no thread, clock or randomness of their own.
 */
#ifndef SR_CONTROL_H
#define SR_CONTROL_H

#include "sr_attest.h"
#include "sr_noise.h"
#include "sr_ticket.h"

#define SR_CONTROL_VERSION 1u
#define SR_CONTROL_HEADER_BYTES 8u
#define SR_CONTROL_BYTES_MAX 16384u
#define SR_CONTROL_HASH_BYTES 32u
#define SR_CONTROL_NONCE_BYTES SR_ATTEST_NONCE_BYTES

#define SR_REQUEST_BYTES 40u
#define SR_GRANT_BYTES 176u
#define SR_BEGIN_NOISE_BYTES (96u + SR_REQUEST_BYTES)
#define SR_BEGUN_NOISE_BYTES (48u + SR_GRANT_BYTES)

#define SR_ATTEST_MESSAGE_BYTES 48u
#define SR_DOCUMENT_HEADER_BYTES 104u
#define SR_DOCUMENT_DATA_BYTES_MAX (SR_CONTROL_BYTES_MAX - SR_DOCUMENT_HEADER_BYTES)
#define SR_BEGIN_BYTES (216u + SR_BEGIN_NOISE_BYTES)
#define SR_BEGUN_BYTES (SR_CONTROL_HEADER_BYTES + SR_BEGUN_NOISE_BYTES)
#define SR_REFUSED_BYTES 16u
#define SR_PROLOGUE_BYTES 306u
#define SR_SEALED_BYTES_MIN (SR_CONTROL_HEADER_BYTES + 1u + 16u)

SR_STATIC_ASSERT(SR_BEGIN_BYTES == 352 && SR_BEGUN_BYTES == 232, "control ABI");
SR_STATIC_ASSERT(SR_PROLOGUE_BYTES <= SR_NOISE_PROLOGUE_MAX, "a prologue fits");

enum sr_control_kind {
	SR_CONTROL_ATTEST = 1,
	SR_CONTROL_DOCUMENT = 2,
	SR_CONTROL_BEGIN = 3,
	SR_CONTROL_BEGUN = 4,
	SR_CONTROL_REFUSED = 5,
	SR_CONTROL_SEALED = 6, /* both ways */
};

/* Why the signer refuses. Numbers are ABI and are never reused. */
enum sr_refusal {
	SR_REFUSAL_MESSAGE = 1,  /* malformed */
	SR_REFUSAL_VERSION = 2,  /* of this protocol */
	SR_REFUSAL_TURN = 3,     /* not the message that comes now */
	SR_REFUSAL_LATE = 4,     /* the conversation took too long */
	SR_REFUSAL_BUSY = 5,     /* too many failures, of everybody */
	SR_REFUSAL_EVIDENCE = 6, /* no document is to be had */
	SR_REFUSAL_BOOT = 7,     /* for another boot of the signer */
	SR_REFUSAL_NONCE = 8,    /* not that of the document */
	SR_REFUSAL_BINDING = 9,  /* not our document, or terms that are no more */
	SR_REFUSAL_TICKET = 10,  /* not issued here, or for another client */
	SR_REFUSAL_TICKET_EXPIRED = 11,
	SR_REFUSAL_TICKET_SPENT = 12,  /* used before, or too long ago to know */
	SR_REFUSAL_HANDSHAKE = 13,     /* not authentic */
	SR_REFUSAL_IDENTITY = 14,      /* in no manifest */
	SR_REFUSAL_IDENTITY_BUSY = 15, /* too many failures of this one */
	SR_REFUSAL_REQUEST = 16,       /* what was asked for makes no sense */
	SR_REFUSAL_SIZES = 17,         /* depth or slot size not accepted */
	SR_REFUSAL_TOKEN = 18,         /* zero, its own predecessor, or in use */
	SR_REFUSAL_WAITING = 19,       /* too many sessions that have sent nothing yet */
	SR_REFUSAL_INTERNAL = 20,
	SR_REFUSAL_OPERATORS = 21,      /* this signer obeys none */
	SR_REFUSAL_OPERATORS_BUSY = 22, /* as many of them as there may be are here */
	SR_REFUSAL_SEALED = 23,         /* not authentic, or no piece of a text */
	SR_REFUSALS
};

/* A message, borrowed from the bytes that it was cut from. */
struct sr_control {
	uint32_t kind;
	uint32_t bytes; /* header and all */
	const unsigned char *data;
};

/* What the signer stands for at present; user_data of its documents is their hash. */
struct sr_terms {
	uint64_t boot_id[2]; /* random at each start */
	uint64_t manifest_version;
	unsigned char manifest_hash[SR_CONTROL_HASH_BYTES];
	unsigned char audit_key[32];
};

struct sr_control_document {
	struct sr_terms terms;
	const unsigned char *data; /* borrowed */
	size_t bytes;
};

/* BEGIN without the handshake's message: what both ends put into the prologue. */
struct sr_control_begin {
	bool has_ticket;
	bool is_operator; /* who never has a ticket */
	uint64_t boot_id[2];
	uint64_t token[2]; /* the session's random name on the hot stream */
	unsigned char nonce[SR_CONTROL_NONCE_BYTES];
	unsigned char binding[SR_CONTROL_HASH_BYTES];
	unsigned char ticket[SR_TICKET_BYTES]; /* zeros when there is none */
};

#define SR_REQUEST_PRIORITY 1u /* cancels: drained before other sessions */
#define SR_REQUEST_STRICT 2u   /* any gap in the numbers denies */
#define SR_REQUEST_FLAGS (SR_REQUEST_PRIORITY | SR_REQUEST_STRICT)

/* Sealed to the signer. */
struct sr_session_request {
	uint64_t first; /* slot word of message 0 */
	uint32_t depth;
	uint32_t slot_bytes;
	uint32_t flags;
	uint64_t predecessor[2]; /* token of the session that this one ends; zeros: none */
};

/* Sealed to the client: in protected memory, for its secret. */
struct sr_grant {
	uint32_t depth_max;
	uint32_t slot_bytes_max;
	uint32_t sessions_max;
	bool has_ticket;
	unsigned char ticket[SR_TICKET_BYTES];
	unsigned char secret[SR_TICKET_SECRET_BYTES];
};

SR_BEGIN_DECLS

/* sr_refusal_text - a code in words, with what to do; never NULL, no newline. */
const char *sr_refusal_text(uint32_t code);

/*
 * sr_control_cut - the next message of a stream, if all of it is there.
 *
 * @message: out, written only on success; borrows from @data.
 *
 * Returns 0; -EAGAIN when more bytes are needed; -EPROTO when the kind is unknown or
 * the length is not that of the kind, which eight bytes show. The conversation is
 * then over.
 */
SR_WARN_UNUSED int sr_control_cut(struct sr_control *message, const unsigned char *data,
				  size_t bytes);

/*
 * sr_control_whole - as sr_control_cut(), for who has just one message: -EPROTO also
 * when it is not all there, or something lies behind it.
 */
SR_WARN_UNUSED int sr_control_whole(struct sr_control *message, const unsigned char *data,
				    size_t bytes);

/*
 * Codecs. The _put ones write as many bytes as the table above says and return them.
 * The _get ones take a message of their kind and return 0, -EPROTONOSUPPORT for
 * another version, or -EPROTO for a reserved byte or a flag that is set; outputs are
 * untouched then.
 */
uint32_t sr_control_attest_put(unsigned char out[SR_ATTEST_MESSAGE_BYTES],
			       const unsigned char nonce[SR_CONTROL_NONCE_BYTES]);
SR_WARN_UNUSED int sr_control_attest_get(unsigned char nonce[SR_CONTROL_NONCE_BYTES],
					 const struct sr_control *message);

/* The document lies at @out + SR_DOCUMENT_HEADER_BYTES already; 1 ..
 * SR_DOCUMENT_DATA_BYTES_MAX bytes of it. */
uint32_t sr_control_document_put(unsigned char *out, const struct sr_terms *terms,
				 size_t document_bytes);
SR_WARN_UNUSED int sr_control_document_get(struct sr_control_document *document,
					   const struct sr_control *message);

uint32_t sr_control_begin_put(unsigned char out[SR_BEGIN_BYTES],
			      const struct sr_control_begin *begin,
			      const unsigned char noise[SR_BEGIN_NOISE_BYTES]);
SR_WARN_UNUSED int sr_control_begin_get(struct sr_control_begin *begin,
					const unsigned char **noise,
					const struct sr_control *message);

uint32_t sr_control_begun_put(unsigned char out[SR_BEGUN_BYTES],
			      const unsigned char noise[SR_BEGUN_NOISE_BYTES]);
const unsigned char *sr_control_begun_get(const struct sr_control *message);

uint32_t sr_control_refused_put(unsigned char out[SR_REFUSED_BYTES], enum sr_refusal code);
SR_WARN_UNUSED int sr_control_refused_get(uint32_t *code, const struct sr_control *message);

/* Payloads. The _get ones return 0 or -EPROTO; the room is exact, as are they. An
 * operator's request and grant are zeros. */
void sr_session_request_put(unsigned char out[SR_REQUEST_BYTES],
			    const struct sr_session_request *request);
SR_WARN_UNUSED int sr_session_request_get(struct sr_session_request *request,
					  const unsigned char in[SR_REQUEST_BYTES]);

void sr_grant_put(unsigned char out[SR_GRANT_BYTES], const struct sr_grant *grant);
SR_WARN_UNUSED int sr_grant_get(struct sr_grant *grant, const unsigned char in[SR_GRANT_BYTES]);

/*
 * sr_terms_hash - what user_data has to be: SHA-256 of "sigring terms", a zero byte,
 * protocol version u16, and DOCUMENT's bytes 16 to 104.
 *
 * Returns 0 or -EIO, @hash untouched. Allocates through OpenSSL, as the next does.
 */
SR_WARN_UNUSED int sr_terms_hash(unsigned char hash[SR_CONTROL_HASH_BYTES],
				 const struct sr_terms *terms);

/*
 * sr_boot_hash - what a signer extends PCR16 with before its first session: SHA-256 of
 * "sigring boot", a zero byte, the boot id and its static key.
 *
 * Whoever comes later in the same enclave finds the register locked, and has no documents
 * for a key of his own that a client would accept. Returns 0 or -EIO.
 */
SR_WARN_UNUSED int sr_boot_hash(unsigned char hash[SR_CONTROL_HASH_BYTES],
				const uint64_t boot_id[2], const unsigned char *public_key);

/* sr_document_hash - the binding to a document: SHA-256 of "sigring document", a
 * zero byte, and the document. Returns 0 or -EIO. */
SR_WARN_UNUSED int sr_document_hash(unsigned char hash[SR_CONTROL_HASH_BYTES],
				    const unsigned char *document, size_t bytes);

/*
 * sr_prologue_put - what both ends must see alike (design, section 4): "sigring
 * session" and a zero byte; the client's role, 1 (a trader) or 2 (an operator), u16;
 * PCR0; the hash of the terms; BEGIN's bytes 8 to 216, among them version, boot id,
 * token, nonce and binding.
 */
void sr_prologue_put(unsigned char out[SR_PROLOGUE_BYTES],
		     const unsigned char pcr0[SR_ATTEST_PCR_BYTES],
		     const unsigned char terms_hash[SR_CONTROL_HASH_BYTES],
		     const struct sr_control_begin *begin);

SR_END_DECLS

#endif /* SR_CONTROL_H */
