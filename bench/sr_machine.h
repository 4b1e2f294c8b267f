/* SPDX-License-Identifier: MIT */
/*
 * sr_machine.h - what a figure was measured on, when, and of which commit.
 *
 * The commit is that of the build: the Makefile passes what `git describe` says to the
 * one object that has it. Whoever runs a program elsewhere, or later, is told no other.
 */
#ifndef SR_MACHINE_H
#define SR_MACHINE_H

#include <stdio.h>

#include "sr_base.h"

/* Texts are "unknown" where the machine does not tell. */
struct sr_machine {
	char cpu[128];
	char kernel[80];
	char secp256k1[32];
	char liburing[32];
	char date[32];   /* of the call, UTC */
	char commit[64]; /* with "-dirty" when files differed from it */
	char mitigations[640]; /* `mitigated: a b; not mitigated: c`, of what the CPU is affected by */
	double load;
};

SR_BEGIN_DECLS

/* sr_machine_get - not while anything is measured: it starts processes. */
void sr_machine_get(struct sr_machine *machine);

/* sr_machine_print - commit, date and mitigations, in one line. */
void sr_machine_print(FILE *out, const struct sr_machine *machine);

/* sr_machine_json - the same as `"commit":"...","date":"...","mitigations":{...}`, of
 * mitigations the kernel's own words. */
void sr_machine_json(FILE *out, const struct sr_machine *machine);

SR_END_DECLS

#endif /* SR_MACHINE_H */
