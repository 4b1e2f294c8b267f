/* SPDX-License-Identifier: MIT */
/*
 * sr_ctl_pcrs.h - `sigringctl attest pcrs`: what an image will be measured as.
 */
#ifndef SR_CTL_PCRS_H
#define SR_CTL_PCRS_H

#include "sr_base.h"

SR_BEGIN_DECLS

/* sr_ctl_pcrs - print the line of sigring-trust(5) for an image's file. Returns the exit
 * code: 0, or 1 with what is wrong on stderr. */
int sr_ctl_pcrs(const char *path);

SR_END_DECLS

#endif /* SR_CTL_PCRS_H */
