/* SPDX-License-Identifier: MIT */
#include "sr_answer.h"

#include <stdlib.h>

#include "sr_venue.h"

struct sr_answerer {
	struct sr_sign *sign;
	const struct sr_keyring *keys;
	struct sr_policy_book *policy;
	struct sr_trace *trace;
	bool draining;
	struct sr_order_env env;
	struct sr_order order;
	struct sr_schema_set set;
	struct sr_schema schemas[SR_POLICY_SCHEMAS_MAX];
	unsigned char body[SR_SUB_BYTES_MAX]; /* of an order whose nonce is filled in */
};

/* A request after its bounds were checked; the body still lies where it was. */
struct request {
	uint32_t key;
	bool typed;
	struct sr_sign_request what;
};

int sr_answerer_new(struct sr_answerer **answerer, struct sr_sign *sign,
		    const struct sr_keyring *keys, struct sr_policy_book *policy,
		    struct sr_trace *trace)
{
	struct sr_answerer *d = calloc(1, sizeof *d);
	int ret;

	if (!d)
		return -ENOMEM;
	ret = sr_hasher_new(&d->env.hasher);
	if (ret) {
		free(d);
		return ret;
	}
	d->sign = sign;
	d->keys = keys;
	d->policy = policy;
	d->trace = trace;
	d->set.schemas = d->schemas;
	d->env.schemas = &d->set;
	*answerer = d;
	return 0;
}

void sr_answerer_delete(struct sr_answerer *answerer)
{
	if (!answerer)
		return;

	sr_hasher_delete(answerer->env.hasher);
	free(answerer);
}

void sr_answerer_obey(struct sr_answerer *answerer, const struct sr_schema_set *schemas)
{
	answerer->set.count = schemas->count;
	if (schemas->count)
		memcpy(answerer->schemas, schemas->schemas,
		       schemas->count * sizeof answerer->schemas[0]);
}

void sr_answerer_drain(struct sr_answerer *answerer, bool draining)
{
	answerer->draining = draining;
}

static int parse_request(struct request *request, const unsigned char *body, uint32_t slot_bytes)
{
	uint32_t room = sr_body_bytes_max(slot_bytes);
	uint32_t type = sr_get16(body + SR_REQ_TYPE);
	uint32_t bytes = sr_get16(body + SR_REQ_BODY_BYTES);

	request->typed = type >= SR_TYPE_TYPED_MIN;
	if (bytes > room ||
	    !(request->typed ? sr_venue_find(type) != NULL : sr_type_body_valid(type, bytes)))
		return -EINVAL;
	/* Padding is no channel, and what is signed is all that was sent. */
	if (!sr_all_zero(body + SR_REQ_BODY + bytes, room - bytes))
		return -EINVAL;

	request->key = sr_get32(body + SR_REQ_KEY);
	request->what = (struct sr_sign_request){ type, bytes, body + SR_REQ_BODY };
	return 0;
}

static bool caller_allowed(const struct sr_key_info *info, const struct sr_caller *caller)
{
	if (caller->sealed)
		return caller->who < SR_IDENTITIES_MAX && info->identities >> caller->who & 1;

	for (uint32_t i = 0; i < info->uid_count; i++)
		if (info->uids[i] == caller->who)
			return true;
	return info->any_uid;
}

static bool type_permitted(const struct sr_answerer *answerer, const struct sr_key_info *info,
			   const struct request *request)
{
	if (request->typed)
		return info->policy &&
		       sr_policy_permits(answerer->policy, info->policy - 1, request->what.type);
	return info->permissions & (1u << request->what.type);
}

/* The index of the key that will sign, or the policy code of the denial as a
 * negative number. */
static int authorise(const struct sr_answerer *answerer, const struct request *request,
		     const struct sr_caller *caller)
{
	int key = sr_keyring_find(answerer->keys, request->key);
	const struct sr_key_info *info;

	if (key < 0)
		return -SR_POLICY_UNKNOWN_KEY;

	/* One answer for both: who may not use a key does not learn that it is here. */
	info = sr_keyring_info(answerer->keys, (uint32_t)key);
	if (!caller_allowed(info, caller))
		return -SR_POLICY_UNKNOWN_KEY;
	if (!type_permitted(answerer, info, request))
		return -SR_POLICY_TYPE_NOT_PERMITTED;
	if (info->locked)
		return -SR_POLICY_KEY_LOCKED;
	if (info->held)
		return -SR_POLICY_KEY_HELD;
	if (answerer->draining)
		return -SR_POLICY_DRAINING;
	return key;
}

void sr_answer_deny(struct sr_answer *answer, enum sr_policy policy)
{
	answer->status = SR_DENIED;
	answer->policy = (uint16_t)policy;
}

static bool sign(struct sr_answer *answer, struct sr_answerer *answerer, uint32_t key,
		 const struct sr_sign_request *what)
{
	switch (sr_sign_make(answerer->sign, &answer->signature, key, what)) {
	case 0:
		answer->status = SR_OK;
		return true;
	case -EAGAIN:
		sr_answer_deny(answer, SR_POLICY_DRY);
		return false;
	default:
		sr_answer_deny(answer, SR_POLICY_KEY_LOCKED);
		return false;
	}
}

/* The request stays as it came, for who compares it with a repeat. A nonce may decide
 * what a body means, so the whole is judged by its venue again. */
static int fill_nonce(struct sr_answerer *answerer, uint64_t nonce)
{
	struct sr_order *order = &answerer->order;

	memcpy(answerer->body, order->body, order->body_bytes);
	sr_put64(answerer->body + SR_ORDER_NONCE, nonce);
	return sr_order_decode(order, order->view.type, answerer->body, order->body_bytes, &answerer->env);
}

static void answer_typed(struct sr_answer *answer, struct sr_answerer *answerer, uint32_t key,
			 const struct sr_sign_request *what, struct sr_caller *caller)
{
	uint32_t rules = sr_keyring_info(answerer->keys, key)->policy - 1;
	struct sr_policy_verdict verdict;
	unsigned char digest[SR_DIGEST_BYTES];
	int ret = sr_order_decode(&answerer->order, what->type, what->body, what->body_bytes,
				  &answerer->env);

	if (ret == -EPERM) {
		sr_answer_deny(answer, SR_POLICY_ACTION);
		return;
	}
	if (ret) {
		answer->status = SR_BAD_REQUEST;
		return;
	}
	if (sr_policy_judge(answerer->policy, &verdict, rules, &answerer->order, caller->full_ns)) {
		sr_answer_deny(answer, verdict.code);
		return;
	}
	if (verdict.nonce_given && fill_nonce(answerer, verdict.nonce)) {
		sr_answer_deny(answer, SR_POLICY_VENUE_NONCE);
		return;
	}
	sr_trace_stamp(answerer->trace, SR_TRACE_POLICY);
	if (sr_order_digest(digest, &answerer->order, &answerer->env)) {
		sr_answer_deny(answer, SR_POLICY_KEY_LOCKED);
		return;
	}
	if (!sign(answer, answerer, key,
		  &(struct sr_sign_request){ SR_ECDSA_DIGEST, sizeof digest, digest }))
		return;
	answer->venue_nonce = answerer->order.view.nonce;
	sr_policy_spend(answerer->policy, &verdict, &caller->full_ns);
}

/* Its policy is the key's permission. */
static void answer_blind(struct sr_answer *answer, struct sr_answerer *answerer, uint32_t key,
			 const struct sr_sign_request *what)
{
	sr_trace_stamp(answerer->trace, SR_TRACE_POLICY);
	(void)sign(answer, answerer, key, what);
}

void sr_answer_make(struct sr_answer *answer, struct sr_answerer *answerer,
		    struct sr_caller *caller, const unsigned char *body, uint32_t slot_bytes)
{
	struct request request;
	int key;

	if (parse_request(&request, body, slot_bytes)) {
		answer->status = SR_BAD_REQUEST;
		return;
	}
	key = authorise(answerer, &request, caller);
	if (key < 0)
		sr_answer_deny(answer, (enum sr_policy)-key);
	else if (request.typed)
		answer_typed(answer, answerer, (uint32_t)key, &request.what, caller);
	else
		answer_blind(answer, answerer, (uint32_t)key, &request.what);
}

void sr_answer_put(unsigned char body[SR_CMP_BODY_BYTES], const struct sr_answer *answer,
		   uint64_t accepted)
{
	sr_put16(body + SR_REP_STATUS, answer->status);
	sr_put16(body + SR_REP_POLICY, answer->policy);
	body[SR_REP_RECID] = answer->signature.recid;
	body[SR_REP_SIGKIND] = answer->signature.kind;
	sr_put64(body + SR_REP_NONCE, answer->venue_nonce);
	sr_put64(body + SR_REP_ACCEPTED, accepted);
	memcpy(body + SR_REP_SIG, answer->signature.bytes, SR_SIG_BYTES);
}
