/* SPDX-License-Identifier: MIT */
/*
 * sr_tune_pin.h - threads that are on a CPU, or that do not start.
 */
#ifndef SR_TUNE_PIN_H
#define SR_TUNE_PIN_H

#include <pthread.h>

#include "sr_cpus.h"
#include "sr_reason.h"

SR_BEGIN_DECLS

/* sr_tune_pin_allowed - the CPUs that this process may run on. 0, or -errno. */
SR_WARN_UNUSED int sr_tune_pin_allowed(struct sr_cpus *set);

/*
 * sr_tune_pin_all - refuse a set of which any CPU cannot be pinned to.
 *
 * Returns 0; -EINVAL with a reason that names the first such CPU, for the kernel
 * would let a pin to several CPUs pass where only some of them exist.
 */
SR_WARN_UNUSED int sr_tune_pin_all(const struct sr_cpus *set, struct sr_reason *why);

/*
 * sr_tune_pin_start - start a thread that runs on one CPU from its first instruction.
 *
 * Returns 0; -EINVAL for a CPU that is not there or not allowed; or -errno.
 */
SR_WARN_UNUSED int sr_tune_pin_start(pthread_t *thread, unsigned int cpu, void *(*run)(void *),
				     void *arg);

SR_END_DECLS

#endif /* SR_TUNE_PIN_H */
