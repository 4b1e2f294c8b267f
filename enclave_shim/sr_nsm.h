/* SPDX-License-Identifier: MIT */
/*
 * sr_nsm.h - the Nitro security module of the enclave that we run in.
 *
 * One ioctl of /dev/nsm carries a request there and a response back
 * (sr_nsm_message.h). This is a thin shell around it, which a test replaces by
 * recorded exchanges. Where there is no /dev/nsm this is -ENOENT, and nothing else
 * takes its place. One thread's own.
 */
#ifndef SR_NSM_H
#define SR_NSM_H

#include "sr_base.h"
#include "sr_evidence.h"
#include "sr_nsm_message.h"

#define SR_NSM_PATH "/dev/nsm"
#define SR_NSM_REQUEST 0xc0200a00u /* of ioctl(2) */

/* An open module. Large: not for the stack. */
struct sr_nsm {
	int fd;

	/* Sends @request, fills @response. 0 or -errno. */
	int (*exchange)(struct sr_nsm *nsm);

	struct sr_nsm_message request;
	struct sr_nsm_message response;
};

SR_BEGIN_DECLS

/*
 * sr_nsm_open - open the module.
 *
 * @path: SR_NSM_PATH.
 * Returns 0; -ENOENT: this is no enclave; another -errno of open(2).
 */
SR_WARN_UNUSED int sr_nsm_open(struct sr_nsm *nsm, const char *path);

void sr_nsm_close(struct sr_nsm *nsm);

/*
 * The calls: encode, exchange, decode, wipe both buffers. Errors of all three; the
 * device's own are ioctl's. They block as long as the module takes.
 */
SR_WARN_UNUSED int sr_nsm_describe(struct sr_nsm *nsm, struct sr_evidence_module *info);
/* Asks as often as it takes; -EPROTO after @bytes / 8 + 8 answers that were too short.
 * On failure what had been filled of @out is zeroed. */
SR_WARN_UNUSED int sr_nsm_random(struct sr_nsm *nsm, unsigned char *out, size_t bytes);
SR_WARN_UNUSED int sr_nsm_attest(struct sr_nsm *nsm, unsigned char *document,
				 size_t *document_bytes, const struct sr_evidence_request *request);
SR_WARN_UNUSED int sr_nsm_pcr(struct sr_nsm *nsm, unsigned char pcr[SR_EVIDENCE_PCR_BYTES],
			      bool *locked, uint32_t index);
/* @pcr: the register afterwards. */
SR_WARN_UNUSED int sr_nsm_extend(struct sr_nsm *nsm, unsigned char pcr[SR_EVIDENCE_PCR_BYTES],
				 uint32_t index, const unsigned char *data, size_t data_bytes);
SR_WARN_UNUSED int sr_nsm_lock(struct sr_nsm *nsm, uint32_t index);

/* sr_nsm_evidence - @nsm as a source of evidence, for as long as it stays open. */
struct sr_evidence sr_nsm_evidence(struct sr_nsm *nsm);

SR_END_DECLS

#endif /* SR_NSM_H */
