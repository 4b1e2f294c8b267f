/* SPDX-License-Identifier: MIT */
/*
 * sr_reason.h - why a call failed, for people.
 *
 * Libraries never log. A cold call that can fail for reasons that an operator
 * has to mend takes a struct sr_reason, and the program prints it.
 */
#ifndef SR_REASON_H
#define SR_REASON_H

#include "sr_base.h"

struct sr_reason {
	int error;      /* -errno, as returned by the call */
	char text[256]; /* what is wrong and what to do about it; no newline */
};

SR_BEGIN_DECLS

/*
 * sr_reason_set - note a reason and return its error.
 *
 * @why:   may be NULL: then only the return value is left.
 * @error: a negative errno.
 */
int sr_reason_set(struct sr_reason *why, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

SR_END_DECLS

#endif /* SR_REASON_H */
