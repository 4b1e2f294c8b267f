/* SPDX-License-Identifier: MIT */
#include "sr_record.h"

const char *sr_status_name(uint32_t status)
{
	switch (status) {
	case SR_OK:
		return "OK";
	case SR_DENIED:
		return "DENIED";
	case SR_BAD_REQUEST:
		return "BAD_REQUEST";
	case SR_VOID:
		return "VOID";
	case SR_EXPIRED:
		return "EXPIRED";
	case SR_NOT_SENT:
		return "NOT_SENT";
	case SR_UNKNOWN:
		return "UNKNOWN";
	case SR_SESSION_LOST:
		return "SESSION_LOST";
	case SR_LATE:
		return "LATE";
	default:
		return "unassigned status";
	}
}
