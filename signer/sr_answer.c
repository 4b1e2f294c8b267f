/* SPDX-License-Identifier: MIT */
#include "sr_answer.h"

/* A request after its bounds were checked; the body still lies where it was. */
struct request {
	uint32_t key;
	struct sr_sign_request what;
};

static int parse_request(struct request *request, const unsigned char *body, uint32_t slot_bytes)
{
	uint32_t room = sr_body_bytes_max(slot_bytes);
	uint32_t type = sr_get16(body + SR_REQ_TYPE);
	uint32_t bytes = sr_get16(body + SR_REQ_BODY_BYTES);

	if (bytes > room || !sr_type_body_valid(type, bytes))
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

/* The index of the key that will sign, or the policy code of the denial as a
 * negative number. */
static int authorise(const struct sr_keyring *keys, const struct request *request,
		     const struct sr_caller *caller)
{
	int key = sr_keyring_find(keys, request->key);
	const struct sr_key_info *info;

	if (key < 0)
		return -SR_POLICY_UNKNOWN_KEY;

	/* One answer for both: who may not use a key does not learn that it is here. */
	info = sr_keyring_info(keys, (uint32_t)key);
	if (!caller_allowed(info, caller))
		return -SR_POLICY_UNKNOWN_KEY;
	if (!(info->permissions & (1u << request->what.type)))
		return -SR_POLICY_TYPE_NOT_PERMITTED;
	if (info->locked)
		return -SR_POLICY_KEY_LOCKED;
	if (info->held)
		return -SR_POLICY_KEY_HELD;
	return key;
}

void sr_answer_deny(struct sr_answer *answer, enum sr_policy policy)
{
	answer->status = SR_DENIED;
	answer->policy = (uint16_t)policy;
}

void sr_answer_make(struct sr_answer *answer, struct sr_sign *sign, const struct sr_keyring *keys,
		    const struct sr_caller *caller, const unsigned char *body, uint32_t slot_bytes)
{
	struct request request;
	int key;

	if (parse_request(&request, body, slot_bytes)) {
		answer->status = SR_BAD_REQUEST;
		return;
	}

	key = authorise(keys, &request, caller);
	if (key < 0) {
		sr_answer_deny(answer, (enum sr_policy)-key);
		return;
	}

	switch (sr_sign_make(sign, &answer->signature, (uint32_t)key, &request.what)) {
	case 0:
		answer->status = SR_OK;
		break;
	case -EAGAIN:
		sr_answer_deny(answer, SR_POLICY_DRY);
		break;
	default:
		sr_answer_deny(answer, SR_POLICY_KEY_LOCKED);
		break;
	}
}

void sr_answer_put(unsigned char body[SR_CMP_BODY_BYTES], const struct sr_answer *answer,
		   uint64_t accepted)
{
	sr_put16(body + SR_REP_STATUS, answer->status);
	sr_put16(body + SR_REP_POLICY, answer->policy);
	body[SR_REP_RECID] = answer->signature.recid;
	body[SR_REP_SIGKIND] = answer->signature.kind;
	sr_put64(body + SR_REP_ACCEPTED, accepted);
	memcpy(body + SR_REP_SIG, answer->signature.bytes, SR_SIG_BYTES);
}
