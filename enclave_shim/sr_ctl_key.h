/* SPDX-License-Identifier: MIT */
/*
 * sr_ctl_key.h - `sigringctl key`: development keys; those in a signer are in
 * sr_ctl_vault.h.
 *
 * Part of the program, so it prints: results on stdout, what went wrong and what
 * to do on stderr. No subcommand prints a secret or takes one as an argument
 * (arguments are in the process list and in the shell's history).
 */
#ifndef SR_CTL_KEY_H
#define SR_CTL_KEY_H

#include "sr_base.h"

SR_BEGIN_DECLS

/*
 * sr_ctl_key - run one of the subcommands.
 *
 * @argv: argv[0] is "key", argv[1] the subcommand.
 * Returns the exit code: 0; 1 it failed; 2 it was called wrongly. Makes the
 * process undumpable.
 */
int sr_ctl_key(int argc, char **argv);

SR_END_DECLS

#endif /* SR_CTL_KEY_H */
