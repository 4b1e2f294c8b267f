/* SPDX-License-Identifier: MIT */
/*
 * sr_cose.h - COSE_Sign1 with ES384, and the CBOR that stands in it.
 *
 * Reads what a stranger sent. Nothing here allocates or copies: items point into
 * the caller's bytes, each step consumes at least one of them, and nesting is
 * bounded, so the work is bounded by the length that the caller has checked.
 * libcbor's stream decoder cuts the items (RFC 8949); what they mean together,
 * maps of indefinite length included, is walked here. Strings in pieces are
 * refused: no document has them, and they could not be borrowed.
 *
 * Any number of threads, each with its own reader.
 */
#ifndef SR_COSE_H
#define SR_COSE_H

#include "sr_base.h"

#define SR_COSE_SIGNATURE_BYTES 96u /* r || s, big-endian (RFC 9053 section 2.1) */
#define SR_P384_POINT_BYTES 97u     /* 04 || x || y */
#define SR_CBOR_DEPTH_MAX 8u        /* of what is skipped */

enum sr_cbor_type {
	SR_CBOR_UINT,  /* value */
	SR_CBOR_NINT,  /* -1 - value */
	SR_CBOR_BYTES, /* data, bytes */
	SR_CBOR_TEXT,  /* data, bytes; not checked to be UTF-8 */
	SR_CBOR_ARRAY, /* value items, or up to a break */
	SR_CBOR_MAP,   /* value pairs, or up to a break */
	SR_CBOR_TAG,   /* value; the tagged item is the next */
	SR_CBOR_NULL,
	SR_CBOR_BREAK,
	SR_CBOR_OTHER,  /* well-formed, and of no use here */
	SR_CBOR_PIECES, /* a string in pieces: refused, never handed out */
};

struct sr_cbor_item {
	enum sr_cbor_type type;
	bool indefinite; /* an array or a map that ends with a break */
	uint64_t value;
	const unsigned char *data; /* borrowed from the reader's bytes */
	size_t bytes;
};

/* A reader: what is left. */
struct sr_cbor {
	const unsigned char *data;
	size_t bytes;
};

/* The way through an array or a map. */
struct sr_cbor_walk {
	uint64_t left;
	bool indefinite;
};

/* A COSE_Sign1, borrowed from the document. */
struct sr_cose {
	const unsigned char *header; /* the protected one, as it was signed */
	size_t header_bytes;
	const unsigned char *payload;
	size_t payload_bytes;
	const unsigned char *signature; /* SR_COSE_SIGNATURE_BYTES */
};

SR_BEGIN_DECLS

/*
 * sr_cbor_next - take one item; of an array, a map or a tag only its head.
 *
 * Returns 0; -EBADMSG when there is none or it is malformed.
 */
SR_WARN_UNUSED int sr_cbor_next(struct sr_cbor *reader, struct sr_cbor_item *item);

/* sr_cbor_enter - begin with the items of @head, an array or a map. */
struct sr_cbor_walk sr_cbor_enter(const struct sr_cbor_item *head);

/*
 * sr_cbor_entry - take the next item of an array, or the next key of a map; the
 * caller takes the rest of the entry before it asks again.
 *
 * Returns 1 with the item; 0 at the end, the break taken; -EBADMSG.
 */
SR_WARN_UNUSED int sr_cbor_entry(struct sr_cbor *reader, struct sr_cbor_walk *walk,
				 struct sr_cbor_item *item);

/*
 * sr_cbor_skip - take what belongs to @head, which has just been taken.
 *
 * Returns 0; -EBADMSG when it is malformed or nested deeper than
 * SR_CBOR_DEPTH_MAX.
 */
SR_WARN_UNUSED int sr_cbor_skip(struct sr_cbor *reader, const struct sr_cbor_item *head);

/*
 * sr_cose_parse - take a COSE_Sign1 apart (RFC 9052 section 4.2).
 *
 * Tagged 18 or not. The protected header is {1: -35} and nothing else, the other
 * header is empty: what we do not understand could change what was signed.
 *
 * @out: borrows from @document; untouched on failure.
 * Returns 0; -EBADMSG malformed CBOR; -EPROTO no COSE_Sign1; -ENOTSUP another
 * algorithm or another header; -EMSGSIZE a signature that has not 96 bytes;
 * -E2BIG bytes behind the end.
 */
SR_WARN_UNUSED int sr_cose_parse(struct sr_cose *out, const unsigned char *document,
				 size_t document_bytes);

/*
 * sr_cose_verify - check the signature: ECDSA on P-384 over SHA-384 of the
 * Sig_structure (RFC 9052 section 4.4). A high s is legal.
 *
 * @point: SR_P384_POINT_BYTES, the public key, uncompressed; checked to be on
 *         the curve.
 * Returns 0; -EBADMSG when it is not the signature, the point is no key, or the
 * payload is above 65,535 bytes; -ENOMEM. Allocates through OpenSSL, and leaves its
 * error queue as it was.
 */
SR_WARN_UNUSED int sr_cose_verify(const struct sr_cose *cose, const unsigned char *point);

SR_END_DECLS

#endif /* SR_COSE_H */
