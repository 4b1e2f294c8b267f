/* SPDX-License-Identifier: MIT */
/*
 * sr_assert.h - for our own bugs. What a peer does is never an assert.
 *
 * SR_ASSERT is always on and belongs on cold paths; SR_DCHECK is on in the
 * sanitizer builds (-DSR_CHECKS) and may stand on hot ones. Both trap.
 */
#ifndef SR_ASSERT_H
#define SR_ASSERT_H

#define SR_ASSERT(cond) ((cond) ? (void)0 : __builtin_trap())

#ifdef SR_CHECKS
#define SR_DCHECK(cond) SR_ASSERT(cond)
#else
#define SR_DCHECK(cond) ((void)sizeof(cond))
#endif

#endif /* SR_ASSERT_H */
