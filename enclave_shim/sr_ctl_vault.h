/* SPDX-License-Identifier: MIT */
/*
 * sr_ctl_vault.h - what operators do over a session: keys in a signer, and its manifest.
 *
 * Part of the program, so it prints: results on stdout, what went wrong and what to do
 * on stderr. No subcommand prints a secret or takes one as an argument.
 */
#ifndef SR_CTL_VAULT_H
#define SR_CTL_VAULT_H

#include <stdio.h>

#include "sr_base.h"

SR_BEGIN_DECLS

/* sr_ctl_vault_has - is there such a subcommand, of "key", "manifest" or "enclave"? */
bool sr_ctl_vault_has(const char *noun, const char *name);

/*
 * sr_ctl_vault - run one of them.
 *
 * @argv: argv[0] is "key", "manifest" or "enclave", argv[1] the subcommand.
 * Returns the exit code: 0; 1 it failed; 2 it was called wrongly. Makes the process
 * undumpable.
 */
int sr_ctl_vault(int argc, char **argv);

/* sr_ctl_enclave - `sigringctl enclave`: argv[0] is that; the exit code, as above. */
int sr_ctl_enclave(int argc, char **argv);

/* sr_ctl_vault_usage - the subcommands of a noun. */
void sr_ctl_vault_usage(FILE *to, const char *noun);

SR_END_DECLS

#endif /* SR_CTL_VAULT_H */
