/* SPDX-License-Identifier: MIT */
/*
 * sr_confine.h - the system calls that a signer keeps once it is ready.
 *
 * Everything that it ever opens is open by then: what remains is to wait, to read, to
 * write, to get entropy, to manage memory that can never be executed, and to end. It
 * cannot open a file, make a socket, connect, start a program, a process or a thread, or
 * look into another; and any ioctl but the security module's is refused. A call that is
 * not in the list kills the process: there is no key to be had from one that has been
 * taken over, and nobody to whom an error would be useful.
 *
 * seccomp(2), for all threads at once. There is no way back. With
 * SECCOMP_FILTER_FLAG_SPEC_ALLOW (Linux 4.17): before 5.16 a filter alone would turn
 * speculative store bypass off for each thread, which guards a process against code in it that
 * it does not trust. There is none here, and the signing loop would pay for it.
 */
#ifndef SR_CONFINE_H
#define SR_CONFINE_H

#include "sr_base.h"
#include "sr_reason.h"

SR_BEGIN_DECLS

/* sr_confine_name - the name of call @i, from 0; NULL behind the last. In the order of
 * their names. */
const char *sr_confine_name(size_t i);

/*
 * sr_confine - keep these calls and no others, in every thread of this process.
 *
 * Returns 0; -ENOSYS: built for a processor whose numbers are not known here; -EBUSY: a
 * thread has a filter that the caller has not; what prctl(2) or seccomp(2) gave. With a
 * reason.
 */
SR_WARN_UNUSED int sr_confine(struct sr_reason *why);

SR_END_DECLS

#endif /* SR_CONFINE_H */
