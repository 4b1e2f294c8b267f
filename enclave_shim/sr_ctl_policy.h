/* SPDX-License-Identifier: MIT */
/*
 * sr_ctl_policy.h - `sigringctl policy`: what would a signer say to these orders?
 *
 * Offline, and with the signer's own code. Part of the program, so it prints: verdicts on
 * stdout, what went wrong on stderr.
 */
#ifndef SR_CTL_POLICY_H
#define SR_CTL_POLICY_H

#include "sr_base.h"

SR_BEGIN_DECLS

/*
 * sr_ctl_policy - run one of the subcommands.
 *
 * @argv: argv[0] is "policy", argv[1] the subcommand.
 * Returns the exit code: 0 every order is allowed; 1 one is not, or it failed; 2 it was
 * called wrongly.
 */
int sr_ctl_policy(int argc, char **argv);

/* sr_ctl_policy_say - `sigringctl kill`, `lease`, `band` and `seed`: what operators say to
 * a signer between two manifests. @argv: argv[0] is that word. Exit codes as above. */
int sr_ctl_policy_say(int argc, char **argv);

SR_END_DECLS

#endif /* SR_CTL_POLICY_H */
