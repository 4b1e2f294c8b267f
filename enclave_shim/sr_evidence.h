/* SPDX-License-Identifier: MIT */
/*
 * sr_evidence.h - where attestation documents come from.
 *
 * The signer asks through this interface and does not know who answers: the Nitro
 * security module (sr_nsm.h), or a mock whose root was made on this machine
 * (sr_mock_nsm.h, which no image links). There is no other, and no fallback from
 * the one to the other. A source is one thread's own: the control thread's.
 */
#ifndef SR_EVIDENCE_H
#define SR_EVIDENCE_H

#include "sr_base.h"

#define SR_EVIDENCE_DOC_BYTES_MAX 0x3000u
#define SR_EVIDENCE_NONCE_BYTES_MAX 512u
#define SR_EVIDENCE_USER_DATA_BYTES_MAX 512u
#define SR_EVIDENCE_PUBLIC_KEY_BYTES_MAX 1024u
#define SR_EVIDENCE_PCRS 32u
#define SR_EVIDENCE_PCR_BYTES 48u
#define SR_EVIDENCE_BOOT_PCR 16u
#define SR_EVIDENCE_EXTEND_BYTES_MAX 512u
#define SR_EVIDENCE_MODULE_BYTES_MAX 128u

/* What a module tells of itself. */
struct sr_evidence_module {
	char id[SR_EVIDENCE_MODULE_BYTES_MAX + 1]; /* printable ASCII */
	uint16_t version_major;
	uint16_t version_minor;
	uint16_t version_patch;
	uint16_t pcrs_max;    /* how many registers it has */
	uint32_t locked_mask; /* bit i: register i is locked */
};

/* What is to stand in the document. A NULL pointer: the field is absent. */
struct sr_evidence_request {
	const unsigned char *nonce;
	size_t nonce_bytes;
	const unsigned char *user_data;
	size_t user_data_bytes;
	const unsigned char *public_key;
	size_t public_key_bytes;
};

struct sr_evidence {
	const char *name; /* "nsm" or "mock", for logs and status */
	void *arg;

	/*
	 * @document:       SR_EVIDENCE_DOC_BYTES_MAX of the caller's; private memory.
	 * @document_bytes: set on success.
	 * Returns 0; -EINVAL a field above its limit; -EPROTO an answer that makes no
	 * sense; or what the module refused it for (sr_nsm.h).
	 */
	int (*attest)(void *arg, unsigned char *document, size_t *document_bytes,
		      const struct sr_evidence_request *request);

	/* The register now; @index below SR_EVIDENCE_PCRS. Errors as above. */
	int (*pcr)(void *arg, unsigned char pcr[SR_EVIDENCE_PCR_BYTES], uint32_t index);

	/* Errors as above. */
	int (*describe)(void *arg, struct sr_evidence_module *module);

	/*
	 * Extend a register, whose new value is in @pcr then, and lock it until the next boot:
	 * documents have it from then on. @bytes: 1 .. SR_EVIDENCE_EXTEND_BYTES_MAX.
	 * Returns 0; -EROFS: it is locked; -ERANGE: there is no such register;
	 * -EOPNOTSUPP: the module does not do that; or as above.
	 */
	int (*extend)(void *arg, unsigned char pcr[SR_EVIDENCE_PCR_BYTES], uint32_t index,
		      const unsigned char *data, size_t bytes);
	int (*lock)(void *arg, uint32_t index);

	/* Entropy that the host cannot have seen; for the mock, the kernel's. */
	int (*random)(void *arg, unsigned char *out, size_t bytes);
};

/* sr_evidence_request_valid - whether a request is within the limits above. */
static inline bool sr_evidence_request_valid(const struct sr_evidence_request *request)
{
	if (request->nonce && request->nonce_bytes > SR_EVIDENCE_NONCE_BYTES_MAX)
		return false;
	if (request->user_data && request->user_data_bytes > SR_EVIDENCE_USER_DATA_BYTES_MAX)
		return false;
	return !request->public_key ||
	       (request->public_key_bytes != 0 &&
		request->public_key_bytes <= SR_EVIDENCE_PUBLIC_KEY_BYTES_MAX);
}

#endif /* SR_EVIDENCE_H */
