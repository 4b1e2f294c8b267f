/* SPDX-License-Identifier: MIT */
/*
 * sr_answer.h - what is said to one request: bounds, permission, policy, signature.
 *
 * Of a blind type the bytes are signed. Of a typed one the order is decoded, judged by
 * the key's policy (sr_policy.h), and what is signed is the digest that follows from it.
 *
 * Works on the text of a request, sealed or not when it came, in private memory:
 * it is judged where it lies and must not change meanwhile. Who asks is known by
 * the session: in clear by the user that the agent names, in a sealed one by the
 * identity whose key opened it.
 */
#ifndef SR_ANSWER_H
#define SR_ANSWER_H

#include "sr_base.h"
#include "sr_keyring.h"
#include "sr_message.h"
#include "sr_policy.h"
#include "sr_schema.h"
#include "sr_sign.h"

struct sr_caller {
	bool sealed;
	uint32_t who; /* index of the identity, below SR_IDENTITIES_MAX; else the uid */
	uint64_t full_ns; /* when the session's bucket of tokens will be full again */
};

struct sr_answer {
	uint16_t status; /* enum sr_status, the signer's own */
	uint16_t policy; /* enum sr_policy, when DENIED */
	uint64_t venue_nonce; /* that was signed, of a typed order; 0: it has none */
	struct sr_signature signature;
};

/* What answers need: keys, policies, and room to work in. One thread's own. */
struct sr_answerer;

SR_BEGIN_DECLS

/* sr_answerer_new - all are borrowed; @trace may be NULL. 0; -ENOMEM; as sr_hasher_new(). */
SR_WARN_UNUSED int sr_answerer_new(struct sr_answerer **answerer, struct sr_sign *sign,
				   const struct sr_keyring *keys, struct sr_policy_book *policy,
				   struct sr_trace *trace);
void sr_answerer_delete(struct sr_answerer *answerer); /* NULL is legal */

/* sr_answerer_obey - these are the schemas of typed data from now on: at most
 * SR_POLICY_SCHEMAS_MAX, copied. Before the first call there are none. */
void sr_answerer_obey(struct sr_answerer *answerer, const struct sr_schema_set *schemas);

/* sr_answerer_drain - from now on sign nothing (true), or sign again: what could be signed
 * is DENIED/DRAINING, what could not is denied as ever. */
void sr_answerer_drain(struct sr_answerer *answerer, bool draining);

/*
 * sr_answer_make - judge a request and, where everything allows it, sign.
 *
 * @answer:     out, zeroed by the caller.
 * @caller:     its bucket is spent from.
 * @body:       the text behind the record's header.
 * @slot_bytes: of the whole record.
 *
 * Never fails: what is wrong with a request is its answer. A failure of our own
 * (see sr_sign.h) locks the key and is answered DENIED/KEY_LOCKED. What policy allows is
 * spent when there is a signature, and only then.
 */
void sr_answer_make(struct sr_answer *answer, struct sr_answerer *answerer,
		    struct sr_caller *caller, const unsigned char *body, uint32_t slot_bytes);

void sr_answer_deny(struct sr_answer *answer, enum sr_policy policy);

/* sr_answer_put - the text of a reply. @body: out, zeroed by the caller.
 * @accepted: requests of the session that were judged so far. */
void sr_answer_put(unsigned char body[SR_CMP_BODY_BYTES], const struct sr_answer *answer,
		   uint64_t accepted);

SR_END_DECLS

#endif /* SR_ANSWER_H */
