/* SPDX-License-Identifier: MIT */
#include "sr_message.h"

const char *sr_policy_name(uint32_t policy)
{
	switch (policy) {
	case SR_POLICY_NONE:
		return "none";
	case SR_POLICY_UNKNOWN_KEY:
		return "UNKNOWN_KEY";
	case SR_POLICY_TYPE_NOT_PERMITTED:
		return "TYPE_NOT_PERMITTED";
	case SR_POLICY_KEY_LOCKED:
		return "KEY_LOCKED";
	case SR_POLICY_DRY:
		return "DRY";
	case SR_POLICY_GAP:
		return "GAP";
	case SR_POLICY_KEY_HELD:
		return "KEY_HELD";
	default:
		return "unassigned policy code";
	}
}
