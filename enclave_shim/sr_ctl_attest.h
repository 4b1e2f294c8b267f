/* SPDX-License-Identifier: MIT */
/*
 * sr_ctl_attest.h - `sigringctl attest`: an attestation document in words, and what
 * we think of it.
 *
 * Part of the program, so it prints: the document and the verdicts on stdout, what
 * went wrong on stderr. Whatever the document says is escaped before it is printed.
 */
#ifndef SR_CTL_ATTEST_H
#define SR_CTL_ATTEST_H

#include "sr_base.h"

SR_BEGIN_DECLS

/*
 * sr_ctl_attest - run one of the subcommands.
 *
 * @argv: argv[0] is "attest", argv[1] the subcommand.
 * Returns the exit code: 0 valid, and acceptable for a session; 1 it is not, or the
 * file cannot be read; 2 it was called wrongly.
 */
int sr_ctl_attest(int argc, char **argv);

SR_END_DECLS

#endif /* SR_CTL_ATTEST_H */
