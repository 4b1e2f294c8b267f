/* SPDX-License-Identifier: MIT */
/*
 * sr_ctl_manifest.h - `sigringctl manifest`: sign a manifest, show it in words, say
 * whether a signer would take it.
 *
 * Part of the program, so it prints: what was asked for on stdout, what went wrong
 * on stderr.
 */
#ifndef SR_CTL_MANIFEST_H
#define SR_CTL_MANIFEST_H

#include "sr_base.h"

SR_BEGIN_DECLS

/*
 * sr_ctl_manifest - run one of the subcommands.
 *
 * @argv: argv[0] is "manifest", argv[1] the subcommand.
 * Returns the exit code: 0 it did what it was told, or the manifest would be taken;
 * 1 it failed, or it would not; 2 it was called wrongly.
 */
int sr_ctl_manifest(int argc, char **argv);

SR_END_DECLS

#endif /* SR_CTL_MANIFEST_H */
