/* SPDX-License-Identifier: MIT */
/*
 * sr_ctl_operator.h - `sigringctl operator` and `sigringctl identity`: the key pairs
 * of those who sign manifests, and of those who are named in them.
 *
 * Part of the program, so it prints: public keys on stdout, what went wrong on
 * stderr; no secret anywhere but into the file that --out names.
 */
#ifndef SR_CTL_OPERATOR_H
#define SR_CTL_OPERATOR_H

#include "sr_base.h"

SR_BEGIN_DECLS

/*
 * sr_ctl_operator, sr_ctl_identity - run one of the subcommands.
 *
 * @argv: argv[0] is "operator" or "identity", argv[1] the subcommand.
 * Returns the exit code: 0 it did what it was told; 1 it failed; 2 it was called
 * wrongly.
 */
int sr_ctl_operator(int argc, char **argv);
int sr_ctl_identity(int argc, char **argv);

SR_END_DECLS

#endif /* SR_CTL_OPERATOR_H */
