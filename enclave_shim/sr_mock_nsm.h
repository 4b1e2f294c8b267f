/* SPDX-License-Identifier: MIT */
/*
 * sr_mock_nsm.h - a security module that proves nothing, for trying things out.
 *
 * It makes a root, an intermediate and a leaf on P-384 when it starts, on the
 * machine it runs on, and answers like /dev/nsm with real COSE_Sign1 documents, so
 * that clients run every check of theirs; they name its root in place of AWS's. Its
 * keys die with it and are in no file. No image links it.
 *
 * One thread's own.
 */
#ifndef SR_MOCK_NSM_H
#define SR_MOCK_NSM_H

#include "sr_base.h"
#include "sr_evidence.h"

#define SR_MOCK_PCRS 16u

enum { SR_MOCK_ROOT, SR_MOCK_INTERMEDIATE, SR_MOCK_LEAF, SR_MOCK_CERTS };

/* How a certificate is made. Tests of verifiers spoil one member at a time. */
struct sr_mock_cert {
	const char *curve;       /* of its key: "P-384" */
	const char *digest;      /* that it is signed with: "SHA384" */
	const char *constraints; /* basicConstraints as openssl-x509v3_config(5); NULL: none */
	const char *usage;       /* keyUsage; NULL: none */
	int extra_nid;           /* one more extension; 0: none */
	const char *extra;
	const char *issuer; /* common name of another issuer; NULL: the right one */
	bool signs_itself;  /* with its own key in place of the issuer's */
	bool spelt_out;     /* the curve by its parameters, not by its name */
	bool version_2;     /* in place of 3 */
	uint64_t begin_ms;  /* Unix */
	uint64_t end_ms;
};

struct sr_mock_profile {
	struct sr_mock_cert certs[SR_MOCK_CERTS];
};

struct sr_mock_nsm;

SR_BEGIN_DECLS

/* sr_mock_profile_init - certificates that are good: the upper two for 30 years from
 * a day before @now_unix_ms, the leaf for 3 hours. */
void sr_mock_profile_init(struct sr_mock_profile *profile, uint64_t now_unix_ms);

/*
 * sr_mock_nsm_new - make keys and certificates.
 *
 * @profile: NULL: good ones from now on. Its strings are borrowed for as long as
 *           the mock lives.
 * PCR 0-2 begin as the SHA-384 of "sigring mock PCR 0" (1, 2), the rest as zeros.
 * Returns 0; -ENOMEM when OpenSSL fails; -EINVAL a profile that it does not take.
 */
SR_WARN_UNUSED int sr_mock_nsm_new(struct sr_mock_nsm **mock,
				   const struct sr_mock_profile *profile);

void sr_mock_nsm_delete(struct sr_mock_nsm *mock);

/* sr_mock_nsm_pcr_set - set a register; @index below SR_MOCK_PCRS. */
void sr_mock_nsm_pcr_set(struct sr_mock_nsm *mock, uint32_t index,
			 const unsigned char pcr[SR_EVIDENCE_PCR_BYTES]);

/* sr_mock_nsm_time_set - what time it is, Unix; 0: what CLOCK_REALTIME says. */
void sr_mock_nsm_time_set(struct sr_mock_nsm *mock, uint64_t unix_ms);

/* sr_mock_nsm_root - the root in DER, to be pinned; lives as long as the mock. */
const unsigned char *sr_mock_nsm_root(const struct sr_mock_nsm *mock, size_t *root_bytes);

/*
 * sr_mock_nsm_sign - any payload as a document, signed by the leaf.
 *
 * @document: SR_EVIDENCE_DOC_BYTES_MAX.
 * Returns 0; -EINVAL when it does not fit; -ENOMEM.
 */
SR_WARN_UNUSED int sr_mock_nsm_sign(struct sr_mock_nsm *mock, unsigned char *document,
				    size_t *document_bytes, const unsigned char *payload,
				    size_t payload_bytes);

/* sr_mock_nsm_evidence - @mock as a source. The leaf is made anew when three
 * quarters of its life are over. */
struct sr_evidence sr_mock_nsm_evidence(struct sr_mock_nsm *mock);

SR_END_DECLS

#endif /* SR_MOCK_NSM_H */
