/* SPDX-License-Identifier: MIT */
/*
 * sr_exp_rows.h - the rows of EXP-01: which orders, against which pool, one after the other.
 */
#ifndef SR_EXP_ROWS_H
#define SR_EXP_ROWS_H

#include "sr_bench.h"
#include "sr_exp.h"
#include "sr_exp_rig.h"
#include "sr_exp_run.h"
#include "sr_verify.h"

#define SR_EXP_ROWS_MAX 20u
#define SR_EXP_WARM 64u /* orders before each segment, not counted */
#define SR_EXP_SCALE 1000000u

/* A run. */
struct sr_exp_lab {
	uint32_t samples; /* of the paced row; the others are in proportion */
	uint32_t rate;
	uint32_t segment; /* orders between two readings of the traces; whole batches */
	struct sr_bench *bench; /* for its watch and its children */
	struct sr_exp_rig rig;
	struct sr_exp_engine engine;
	struct sr_verifier *verifier;
	struct sr_exp_row rows[SR_EXP_ROWS_MAX];
	uint32_t row_count;
	uint64_t dry; /* how often the pool was, by the end of the last row */
};

/* The pool of rows during which it is refilled. */
extern const struct sr_exp_pool sr_exp_steady_pool;

SR_BEGIN_DECLS

/* sr_exp_begin - as sr_exp_rig_begin(), and who works there is watched. */
SR_WARN_UNUSED int sr_exp_begin(struct sr_exp_lab *lab, const struct sr_exp_pool *pool, bool traced,
				struct sr_reason *why);

/*
 * sr_exp_run_flat, _paced, _typed - a row into lab->rows.
 *
 * @millionths: of lab->samples, in whole batches, 64 at least.
 * Each returns 0 or -errno with a reason.
 */
SR_WARN_UNUSED int sr_exp_run_flat(struct sr_exp_lab *lab, const char *key, uint32_t batch,
				   uint32_t millionths, bool traced, bool refilled,
				   struct sr_reason *why);
SR_WARN_UNUSED int sr_exp_run_paced(struct sr_exp_lab *lab, const char *key, uint32_t batch,
				    uint32_t rate, uint64_t count, struct sr_reason *why);
SR_WARN_UNUSED int sr_exp_run_typed(struct sr_exp_lab *lab, struct sr_reason *why);

/* sr_exp_run_own, _theirs - all rows, of signers that are started for them, or of the one
 * that runs already. sr_exp_rig_delete() must follow. 0 or -errno with a reason. */
SR_WARN_UNUSED int sr_exp_run_own(struct sr_exp_lab *lab, struct sr_reason *why);
SR_WARN_UNUSED int sr_exp_run_theirs(struct sr_exp_lab *lab, struct sr_reason *why);

SR_END_DECLS

#endif /* SR_EXP_ROWS_H */
