/* SPDX-License-Identifier: MIT */
/*
 * sr_getrandom.h - the kernel's random bytes as an entropy source, getrandom(2).
 */
#ifndef SR_GETRANDOM_H
#define SR_GETRANDOM_H

#include "sr_entropy.h"

SR_BEGIN_DECLS

/* Waits at early boot until the kernel has been seeded; -EIO when it gives none. */
extern const struct sr_entropy sr_getrandom;

SR_END_DECLS

#endif /* SR_GETRANDOM_H */
