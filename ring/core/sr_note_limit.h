/* SPDX-License-Identifier: MIT */
/*
 * sr_note_limit.h - how much of a log others can write.
 *
 * Lines that anybody can cause at will have a limit: so many at once, then one a second,
 * and the next line that is written says how many were not. A log that nobody bounds fills
 * a disk, and a console that is slow to take it holds up whoever writes.
 */
#ifndef SR_NOTE_LIMIT_H
#define SR_NOTE_LIMIT_H

#include "sr_clock.h"

/* Of one kind of line, and one thread's own; begins as zeros. */
struct sr_note_limit {
	uint64_t clear_ns; /* when as many as ever may be written at once again */
	uint64_t left_out;
};

/*
 * sr_note_limit_take - may a line be written?
 *
 * @at_once:  how many may be, when none was for long; from 1.
 * @left_out: if so, how many were not since the last one that was.
 *
 * One that may not is counted.
 */
static inline bool sr_note_limit_take(struct sr_note_limit *limit, uint32_t at_once,
				      uint64_t now_ns, uint64_t *left_out)
{
	if (limit->clear_ns < now_ns)
		limit->clear_ns = now_ns;
	if (limit->clear_ns - now_ns > (at_once - 1ull) * SR_NS_PER_S) {
		limit->left_out++;
		return false;
	}
	limit->clear_ns += SR_NS_PER_S;
	*left_out = limit->left_out;
	limit->left_out = 0;
	return true;
}

#endif /* SR_NOTE_LIMIT_H */
