/* SPDX-License-Identifier: MIT */
/*
 * sr_nsm_message.h - what is said to a Nitro security module, and what it says.
 *
 * The encoding is that of aws-nitro-enclaves-nsm-api (serde, enums tagged from
 * outside): a call without arguments is its name, one with arguments a map from its
 * name to a map of them, all in CBOR (RFC 8949). It is written and read by hand, so
 * that the image needs no CBOR library, and these are pure functions over buffers.
 *
 * The module is trusted, but what it answers is read like a stranger's words all
 * the same: bounded, typed, nesting limited.
 */
#ifndef SR_NSM_MESSAGE_H
#define SR_NSM_MESSAGE_H

#include "sr_base.h"
#include "sr_evidence.h"

#define SR_NSM_REQUEST_BYTES_MAX 0x1000u
#define SR_NSM_RESPONSE_BYTES_MAX 0x3000u
#define SR_NSM_RANDOM_BYTES_MAX 256u /* an answer to GetRandom; a module may give less */

/* A request or a response in its bounds. */
struct sr_nsm_message {
	size_t bytes;
	unsigned char data[SR_NSM_RESPONSE_BYTES_MAX];
};

SR_BEGIN_DECLS

/*
 * Requests. Each writes @m whole, and returns 0, or -EINVAL when an argument is
 * outside its limits; then @m is untouched.
 */
void sr_nsm_put_describe(struct sr_nsm_message *m);
void sr_nsm_put_random(struct sr_nsm_message *m);
SR_WARN_UNUSED int sr_nsm_put_attest(struct sr_nsm_message *m,
				     const struct sr_evidence_request *request);
SR_WARN_UNUSED int sr_nsm_put_pcr(struct sr_nsm_message *m, uint32_t index);
SR_WARN_UNUSED int sr_nsm_put_extend(struct sr_nsm_message *m, uint32_t index,
				     const unsigned char *data, size_t data_bytes);
SR_WARN_UNUSED int sr_nsm_put_lock(struct sr_nsm_message *m, uint32_t index);

/*
 * Responses. Each returns 0; -EPROTO when @m is not the answer to that call, is
 * malformed or has bytes behind its end; or what the module says, as errno:
 *
 *	InvalidArgument   -EINVAL      InvalidIndex    -ERANGE
 *	InvalidResponse   -EBADMSG     ReadOnlyIndex   -EROFS
 *	InvalidOperation  -EOPNOTSUPP  BufferTooSmall  -ENOBUFS
 *	InputTooLarge     -EMSGSIZE    InternalError, and any other  -EREMOTEIO
 *
 * Outputs are untouched on failure. Order of the fields, unknown fields and
 * indefinite lengths do not matter.
 */
SR_WARN_UNUSED int sr_nsm_get_describe(struct sr_evidence_module *info, const struct sr_nsm_message *m);
/* @random: of SR_NSM_RANDOM_BYTES_MAX; at least one byte is given. */
SR_WARN_UNUSED int sr_nsm_get_random(unsigned char *random, size_t *random_bytes,
				     const struct sr_nsm_message *m);
/* @document: of SR_EVIDENCE_DOC_BYTES_MAX. */
SR_WARN_UNUSED int sr_nsm_get_attest(unsigned char *document, size_t *document_bytes,
				     const struct sr_nsm_message *m);
SR_WARN_UNUSED int sr_nsm_get_pcr(unsigned char pcr[SR_EVIDENCE_PCR_BYTES], bool *locked,
				  const struct sr_nsm_message *m);
SR_WARN_UNUSED int sr_nsm_get_extend(unsigned char pcr[SR_EVIDENCE_PCR_BYTES],
				     const struct sr_nsm_message *m);
SR_WARN_UNUSED int sr_nsm_get_lock(const struct sr_nsm_message *m);

SR_END_DECLS

#endif /* SR_NSM_MESSAGE_H */
