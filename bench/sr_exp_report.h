/* SPDX-License-Identifier: MIT */
/*
 * sr_exp_report.h - what EXP-01 leaves behind, in one folder.
 *
 *	summary.json            the run: machine, rows, percentiles of each stage
 *	samples-ROW.tsv.gz      every order of a row, in nanoseconds
 *	figures/                what bench/exp01_figures.sh draws from
 */
#ifndef SR_EXP_REPORT_H
#define SR_EXP_REPORT_H

#include "sr_exp.h"
#include "sr_machine.h"
#include "sr_reason.h"

/* What a run was. Texts are borrowed. */
struct sr_exp_about {
	const char *where;     /* how the signer is reached, in words */
	const char *transport; /* as the agent calls it */
	bool enclave;          /* the trust file names AWS's root */
	struct sr_machine machine;
	char libraries[192];
	char *tune;         /* `sigring-tune check --json`, or NULL */
	int cpus[3];        /* of client, agent, signer; -1: not known */
	double stamp_ns;    /* a reading of the counter */
	double event_ns;    /* an event of the agent's trace, reading included */
};

SR_BEGIN_DECLS

/* sr_exp_about_fill - date, machine and versions; starts processes. */
void sr_exp_about_fill(struct sr_exp_about *about);

/* sr_exp_print - the rows, for people. */
void sr_exp_print(FILE *out, const struct sr_exp_about *about, struct sr_exp_row *rows,
		  uint32_t count);

/* sr_exp_json - the summary. @out is not closed. */
void sr_exp_json(FILE *out, const struct sr_exp_about *about, struct sr_exp_row *rows,
		 uint32_t count);

/*
 * sr_exp_write - all files into @folder, which is made.
 *
 * Returns 0 or -errno with a reason that names the file.
 */
SR_WARN_UNUSED int sr_exp_write(const char *folder, const struct sr_exp_about *about,
				struct sr_exp_row *rows, uint32_t count, struct sr_reason *why);

SR_END_DECLS

#endif /* SR_EXP_REPORT_H */
