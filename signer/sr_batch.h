/* SPDX-License-Identifier: MIT */
/*
 * sr_batch.h - make presignatures, a batch at a time, in bounded pieces.
 *
 * For each nonce k there is one point multiplication, and everything else is
 * shared: one inversion serves the batch (Montgomery's trick: invert the product,
 * multiply back), one sum checks its points (the sum of all k*G is (sum of k)*G),
 * and the generator is reseeded and the curve's context blinded once. So a larger
 * batch is cheaper a presignature, and nothing of it can be used before all of it
 * was checked.
 *
 * A piece (one call of sr_batch_step) costs about one point multiplication or less;
 * blinding the context costs 1.3 of them, and reseeding calls the system. One
 * thread's own; all of it lies in protected memory, and a forked child finds
 * zeroes, which it refuses.
 */
#ifndef SR_BATCH_H
#define SR_BATCH_H

#include "sr_base.h"
#include "sr_curve.h"
#include "sr_drbg.h"
#include "sr_presign.h"

#define SR_BATCH_MAX 256u

enum sr_batch_phase {
	SR_BATCH_DEAD = 0,   /* wiped memory reads as this */
	SR_BATCH_RESEED = 1, /* take entropy, draw the nonces */
	SR_BATCH_BLIND = 2,  /* the curve's context */
	SR_BATCH_POINTS = 3, /* one k*G a piece, and the running product */
	SR_BATCH_INVERT = 4, /* 1 / product, by Fermat */
	SR_BATCH_SPREAD = 5, /* each u and u*r, and u*k = 1 */
	SR_BATCH_SUM = 6,    /* the sum of all points */
	SR_BATCH_CHECK = 7,  /* against (sum of k)*G */
	SR_BATCH_READY = 8,  /* presigs[0 .. count - 1] may be taken */
};

/* Open for tests, which put faults in; everybody else calls the functions. */
struct sr_batch {
	uint32_t phase;
	uint32_t count;
	uint32_t at; /* within the phase */
	struct sr_presig presigs[SR_BATCH_MAX];
	struct sr_point points[SR_BATCH_MAX];
	/* First the draws, then products[i] = k[0] * ... * k[i], each written
	 * when its draw has been used. */
	unsigned char products[SR_BATCH_MAX][SR_SCALAR_BYTES];
	unsigned char powers[15][SR_SCALAR_BYTES]; /* of the whole product */
	unsigned char inverse[SR_SCALAR_BYTES];
	unsigned char sum[SR_SCALAR_BYTES];
	unsigned char spare[SR_SCALAR_BYTES];
	struct sr_point total;
	struct sr_curve *curve;
	struct sr_drbg *drbg;
};

SR_BEGIN_DECLS

/*
 * sr_batch_new - a maker of batches of @count, 2 .. SR_BATCH_MAX.
 *
 * Returns 0; -EINVAL; what sr_drbg_new() and sr_curve_new() return. Allocates;
 * of the calls below only reseeding does, inside the library.
 */
SR_WARN_UNUSED int sr_batch_new(struct sr_batch **batch, const struct sr_entropy *entropy,
				uint32_t count);
void sr_batch_delete(struct sr_batch *batch); /* NULL is legal; wipes */

/*
 * sr_batch_step - one piece.
 *
 * Returns 1 when a piece was done; 0 when the batch is ready and waits to be
 * taken; -EIO when a check or the generator failed, or what the entropy source
 * returned: the batch was wiped and begins anew; -EPERM in a forked child.
 */
SR_WARN_UNUSED int sr_batch_step(struct sr_batch *batch);

/* sr_batch_restart - wipe what was made, and begin the next. */
void sr_batch_restart(struct sr_batch *batch);

SR_END_DECLS

#endif /* SR_BATCH_H */
