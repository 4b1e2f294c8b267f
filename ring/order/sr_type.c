/* SPDX-License-Identifier: MIT */
#include "sr_type.h"

static const char *const names[SR_TYPE_BLIND_MAX + 1] = {
	[SR_ECDSA_SHA256] = "ecdsa-sha256",
	[SR_ECDSA_KECCAK256] = "ecdsa-keccak256",
	[SR_ECDSA_DIGEST] = "ecdsa-digest",
	[SR_BIP340] = "bip340",
};

const char *sr_type_name(uint32_t type)
{
	if (type > SR_TYPE_BLIND_MAX || !names[type])
		return "unassigned type";
	return names[type];
}

uint32_t sr_type_from_name(const char *name)
{
	for (uint32_t t = 1; t <= SR_TYPE_BLIND_MAX; t++)
		if (!strcmp(name, names[t]))
			return t;
	return 0;
}

bool sr_type_body_valid(uint32_t type, uint32_t body_bytes)
{
	if (type == 0 || type > SR_TYPE_BLIND_MAX)
		return false;
	return type != SR_ECDSA_DIGEST || body_bytes == SR_DIGEST_BYTES;
}
