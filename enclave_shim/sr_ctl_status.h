/* SPDX-License-Identifier: MIT */
/*
 * sr_ctl_status.h - `sigringctl status`: what an agent says of itself.
 *
 * The agent's word, not authenticated: for operators, never for decisions that
 * a lying host must not make.
 */
#ifndef SR_CTL_STATUS_H
#define SR_CTL_STATUS_H

/* argv[0] is "status". Returns the exit code: 0; 1 no answer; 2 usage. */
int sr_ctl_status(int argc, char **argv);

#endif /* SR_CTL_STATUS_H */
