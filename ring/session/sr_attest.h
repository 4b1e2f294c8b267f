/* SPDX-License-Identifier: MIT */
/*
 * sr_attest.h - judging the attestation document of an AWS Nitro enclave.
 *
 * Two questions, two functions. sr_attest_document(): did a Nitro security module
 * make this document, unaltered, and is it within its time? sr_attest_accept(): is
 * it the answer to our question, from the image that we expect, for the key that
 * we are about to talk to? A yes to the first alone is worth nothing: anybody may
 * start an enclave. A session needs both, in this order.
 *
 * Every rule is mandatory and has its own code. What is left out is refused: there
 * is no default image, nonce or root, and an empty list accepts nothing.
 *
 * Time is the caller's word (Unix, milliseconds); no clock is read here. Memory is
 * bounded: the length is checked before parsing, parsing allocates nothing, and
 * OpenSSL gets certificates of at most 1,024 bytes, eight at most. Threads may
 * judge at once, each with a cache of its own.
 *
 * AWS: "Nitro Enclaves attestation process"; RFC 9052; RFC 5280.
 */
#ifndef SR_ATTEST_H
#define SR_ATTEST_H

#include "sr_base.h"
#include "sr_cose.h"

#define SR_ATTEST_BYTES_MAX 16384u
#define SR_ATTEST_NONCE_BYTES 32u /* of ours; a document may hold up to 512 */
#define SR_ATTEST_PCRS_MAX 32u
#define SR_ATTEST_PCR_BYTES 48u
#define SR_ATTEST_CERTS_MAX 8u /* root and leaf included; AWS has five */
#define SR_ATTEST_CERT_BYTES_MAX 1024u
#define SR_ATTEST_MODULE_BYTES_MAX 128u
#define SR_ATTEST_PUBLIC_KEY_BYTES_MAX 1024u
#define SR_ATTEST_USER_DATA_BYTES_MAX 512u
#define SR_ATTEST_IMAGES_MAX 64u
#define SR_ATTEST_HASH_BYTES 32u
#define SR_ATTEST_BOOT_PCR 16u /* the signer's own, locked before its first session */

/* How far our clock may be behind the one that made the document. */
#define SR_ATTEST_LEEWAY_MS 60000u

/* Why a document is refused. Numbers are ABI and are never reused. */
enum sr_attest_code {
	SR_ATTEST_OK = 0,

	/* What it is made of. */
	SR_ATTEST_BYTES = 1,           /* empty, or above SR_ATTEST_BYTES_MAX */
	SR_ATTEST_CBOR = 2,            /* malformed */
	SR_ATTEST_COSE = 3,            /* no COSE_Sign1 */
	SR_ATTEST_ALGORITHM = 4,       /* not ES384, or a header that we do not know */
	SR_ATTEST_SIGNATURE_BYTES = 5, /* not 96 */
	SR_ATTEST_TRAILING = 6,        /* bytes behind the end */
	SR_ATTEST_FIELD_ABSENT = 7,
	SR_ATTEST_FIELD_TYPE = 8,
	SR_ATTEST_FIELD_BYTES = 9, /* a field outside its limits */
	SR_ATTEST_FIELD_TWICE = 10,
	SR_ATTEST_DIGEST = 11, /* not SHA384 */
	SR_ATTEST_PCRS = 12,   /* none, or an index or a length out of range */
	SR_ATTEST_CERTS = 13,  /* none above the leaf, or too many */

	/* Who signed it. */
	SR_ATTEST_ROOT = 14,             /* not the pinned one */
	SR_ATTEST_CERT_FORM = 15,        /* not an X.509 v3 certificate in DER */
	SR_ATTEST_CERT_KEY = 16,         /* not on P-384 */
	SR_ATTEST_CERT_ALGORITHM = 17,   /* not signed by ECDSA with SHA-384 */
	SR_ATTEST_CERT_CONSTRAINTS = 18, /* basicConstraints: a CA that is none, or the reverse */
	SR_ATTEST_CERT_PATH = 19,        /* longer than a pathLen allows */
	SR_ATTEST_CERT_USAGE = 20,       /* keyUsage */
	SR_ATTEST_CERT_CRITICAL = 21,    /* a critical extension that we do not know */
	SR_ATTEST_CERT_ISSUER = 22,      /* issued by another than the one above it */
	SR_ATTEST_CERT_SIGNATURE = 23,
	SR_ATTEST_SIGNATURE = 24,

	/* When. */
	SR_ATTEST_CLOCK = 25, /* our clock is behind: it begins in our future */
	SR_ATTEST_EXPIRED = 26,

	/* Whether it is for us. */
	SR_ATTEST_DEBUG = 27,     /* PCR0 is zero: an enclave in debug mode */
	SR_ATTEST_NO_IMAGES = 28, /* the list of images is empty */
	SR_ATTEST_PCR_ABSENT = 29,
	SR_ATTEST_IMAGE = 30, /* on no list */
	SR_ATTEST_NONCE_USED = 31,
	SR_ATTEST_NONCE_ABSENT = 32,
	SR_ATTEST_NONCE = 33, /* not ours */
	SR_ATTEST_STALE = 34, /* older than the maximum age */
	SR_ATTEST_PUBLIC_KEY_ABSENT = 35,
	SR_ATTEST_PUBLIC_KEY = 36, /* not the key we expect */
	SR_ATTEST_USER_DATA = 37,  /* absent, or not what we expect */

	SR_ATTEST_NO_MEMORY = 38, /* ours; says nothing about the document */
	SR_ATTEST_BOOT = 39,      /* PCR16 was locked for another boot or key */
	SR_ATTEST_BOOT_ABSENT = 40, /* it was not locked at all, and has to be */
	SR_ATTEST_CODES
};

/* Bytes that somebody else owns. */
struct sr_attest_view {
	const unsigned char *data; /* NULL: absent */
	size_t bytes;
};

/* The one root that is believed: AWS's, or one mock root; there is no list. */
struct sr_attest_root {
	unsigned char sha256[SR_ATTEST_HASH_BYTES]; /* of the certificate in DER */
};

/* A document taken apart. Views borrow from the bytes that were parsed. */
struct sr_attest_doc {
	char module_id[SR_ATTEST_MODULE_BYTES_MAX + 1]; /* printable ASCII */
	uint64_t timestamp_ms;                          /* Unix */
	uint32_t pcr_mask;                              /* bit i: PCR i is there */
	unsigned char pcr[SR_ATTEST_PCRS_MAX][SR_ATTEST_PCR_BYTES];
	struct sr_attest_view certs[SR_ATTEST_CERTS_MAX]; /* DER; root first, leaf last */
	size_t cert_count;
	struct sr_attest_view public_key;
	struct sr_attest_view user_data;
	struct sr_attest_view nonce;
	struct sr_cose cose;
};

/* What a verified chain amounts to. */
struct sr_attest_chain {
	unsigned char point[SR_P384_POINT_BYTES]; /* the leaf's key */
	uint64_t begin_ms;                        /* each certificate is valid from here */
	uint64_t end_ms;                          /* to here */
};

/*
 * Chains that were found good, by the hash of all their certificates. A document
 * is never cached, and the time is judged anew at each use. Zeroed memory is an
 * empty cache. One thread's own.
 */
#define SR_ATTEST_CACHE_CHAINS 8u

struct sr_attest_cache {
	struct {
		unsigned char hash[SR_ATTEST_HASH_BYTES];
		struct sr_attest_chain chain; /* end_ms 0: no entry */
	} entries[SR_ATTEST_CACHE_CHAINS];
	uint32_t next; /* to be overwritten */
};

/* An image that we accept: PCR 0-2 always, 3 (role of the instance) and 8 (who
 * signed the image) when asked. */
struct sr_attest_image {
	unsigned char pcr0[SR_ATTEST_PCR_BYTES];
	unsigned char pcr1[SR_ATTEST_PCR_BYTES];
	unsigned char pcr2[SR_ATTEST_PCR_BYTES];
	unsigned char pcr3[SR_ATTEST_PCR_BYTES];
	unsigned char pcr8[SR_ATTEST_PCR_BYTES];
	bool with_pcr3;
	bool with_pcr8;
};

/* A question of ours. Good for one answer, whatever that is found to be. */
struct sr_attest_nonce {
	unsigned char value[SR_ATTEST_NONCE_BYTES]; /* from the kernel's entropy */
	bool used;
};

/* What a session expects. */
struct sr_attest_expect {
	const struct sr_attest_image *images;
	size_t image_count; /* 1 .. SR_ATTEST_IMAGES_MAX; anything else accepts nothing */
	struct sr_attest_view public_key; /* the static key that the handshake will use */
	struct sr_attest_view user_data;
	/* What SR_ATTEST_BOOT_PCR was extended with. NULL: that is not judged. A document where
	 * it is absent or zeros comes from a module that does not keep it, and is accepted
	 * unless boot_required. */
	struct sr_attest_view boot;
	bool boot_required;
	uint64_t age_ms_max; /* of the timestamp */
};

SR_BEGIN_DECLS

/* sr_attest_text - a code in words, with what to do where something can be done;
 * never NULL, no newline. */
const char *sr_attest_text(enum sr_attest_code code);

/* sr_attest_root_aws - AWS Nitro Enclaves Root-G1 (commercial partitions). */
void sr_attest_root_aws(struct sr_attest_root *root);

/*
 * sr_attest_root_parse - the root in a file's bytes, PEM or DER.
 *
 * Returns 0; -EINVAL when it is not one certificate of at most
 * SR_ATTEST_CERT_BYTES_MAX bytes.
 */
SR_WARN_UNUSED int sr_attest_root_parse(struct sr_attest_root *root, const void *file,
					size_t file_bytes);

/*
 * sr_attest_parse - take a document apart and believe nothing of it: fields, types
 * and limits. For showing a document that is not valid; a session calls
 * sr_attest_document().
 *
 * @out: borrows from @document; untouched on failure.
 * Fields that we do not know are passed over, for AWS may add some. An optional
 * field may be null, which is the same as absent.
 */
SR_WARN_UNUSED enum sr_attest_code
sr_attest_parse(struct sr_attest_doc *out, const unsigned char *document, size_t document_bytes);

/*
 * sr_attest_document - is this document valid?
 *
 * @out:         borrows from @document; untouched on failure.
 * @root:        the pinned root.
 * @now_unix_ms: when it is to be judged. A certificate that begins at most
 *               SR_ATTEST_LEEWAY_MS later is let pass; one that begins still later
 *               means that our clock is wrong (SR_ATTEST_CLOCK); there is no leeway
 *               behind its end.
 * @cache:       may be NULL.
 *
 * Returns SR_ATTEST_OK or the first rule that it breaks. The signatures are
 * checked before the time, so CLOCK and EXPIRED speak of authentic documents.
 * Some 5 verifications on P-384; one when the cache knows the chain.
 */
SR_WARN_UNUSED enum sr_attest_code
sr_attest_document(struct sr_attest_doc *out, const unsigned char *document, size_t document_bytes,
		   const struct sr_attest_root *root, uint64_t now_unix_ms,
		   struct sr_attest_cache *cache);

/*
 * sr_attest_accept - do we open a session on this document?
 *
 * @doc:    as sr_attest_document() gave it, its bytes still there.
 * @nonce:  marked as used whatever the answer: a refused document costs a new one.
 *
 * Returns SR_ATTEST_OK or the first rule that it breaks: debug mode, images, nonce,
 * time (CLOCK again, by the timestamp), public key, user data, boot. What is compared with
 * our own values is compared in constant time.
 */
SR_WARN_UNUSED enum sr_attest_code sr_attest_accept(const struct sr_attest_doc *doc,
						    const struct sr_attest_expect *expect,
						    struct sr_attest_nonce *nonce,
						    uint64_t now_unix_ms);

/* sr_attest_image_match - are the registers that @image names all there, and the same?
 * In constant time but for which they are. */
bool sr_attest_image_match(const struct sr_attest_doc *doc, const struct sr_attest_image *image);

/* sr_attest_boot_kept - is SR_ATTEST_BOOT_PCR there, and not zeros? */
bool sr_attest_boot_kept(const struct sr_attest_doc *doc);

SR_END_DECLS

#endif /* SR_ATTEST_H */
