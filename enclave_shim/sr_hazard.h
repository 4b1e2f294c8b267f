/* SPDX-License-Identifier: MIT */
/*
 * sr_hazard.h - may nonces that are made beforehand stand on this ground?
 *
 * A presignature that exists twice costs the key. Memory can come to exist twice in
 * ways that no care inside the process prevents: a fork, a snapshot of the machine
 * that is started again, hibernation (which writes locked memory out too), or a
 * checkpoint of the process. The last is in the hands of whoever may ptrace us,
 * root, and cannot be seen from here; the others are looked for.
 */
#ifndef SR_HAZARD_H
#define SR_HAZARD_H

#include "sr_base.h"
#include "sr_reason.h"

SR_BEGIN_DECLS

/*
 * sr_hazard_fork - does a child really find protected memory wiped?
 *
 * Forks once, writes into a protected page before that, and has the child look.
 * Call it before threads are started. 0; -EIO with a reason; or -errno.
 */
SR_WARN_UNUSED int sr_hazard_fork(struct sr_reason *why);

/*
 * sr_hazard_snapshot - can somebody start this machine twice from one state?
 *
 * @sysfs: where it is mounted, "/sys".
 *
 * -EPERM with a reason when there is a VM generation device (it exists to tell
 * guests that they were restored), when the CPU says that it is virtual, or, where
 * it cannot say, since it may be; and when the machine can hibernate. 0 on bare
 * metal that cannot. -EIO when @sysfs cannot be searched.
 */
SR_WARN_UNUSED int sr_hazard_snapshot(const char *sysfs, struct sr_reason *why);

SR_END_DECLS

#endif /* SR_HAZARD_H */
