/* SPDX-License-Identifier: MIT */
#include "sr_batch.h"

#include "sr_ct.h"
#include "sr_secret.h"

/* Pieces of about the length of one k*G, measured: 0.25 us a presignature in
 * SPREAD, 0.3 in SUM, 0.3 a window of the inversion. */
#define SPREAD_PIECE 32u
#define SUM_PIECE 64u
#define INVERT_PIECE 32u

#define CHECKING 0x4b43u /* in the place of SR_PRESIG_MADE while a batch is not checked */

#define WINDOWS 64u /* of four bits in an exponent of 256 */

/* n - 2, by Fermat the exponent that inverts. Public. */
static const unsigned char exponent[SR_SCALAR_BYTES] = {
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	0xff, 0xff, 0xff, 0xff, 0xfe, 0xba, 0xae, 0xdc, 0xe6, 0xaf, 0x48,
	0xa0, 0x3b, 0xbf, 0xd2, 0x5e, 0x8c, 0xd0, 0x36, 0x41, 0x3f,
};

static const unsigned char one[SR_SCALAR_BYTES] = { [31] = 1 };

int sr_batch_new(struct sr_batch **batch, const struct sr_entropy *entropy, uint32_t count)
{
	struct sr_batch *b;
	void *mem;
	int ret;

	if (count < 2 || count > SR_BATCH_MAX)
		return -EINVAL;
	ret = sr_secret_alloc(&mem, sizeof *b);
	if (ret)
		return ret;

	b = mem;
	b->count = count;
	ret = sr_drbg_new(&b->drbg, entropy);
	if (!ret)
		ret = sr_drbg_generate(b->drbg, b->spare, sizeof b->spare);
	if (!ret)
		ret = sr_curve_new(&b->curve, b->spare);
	if (ret) {
		sr_batch_delete(b);
		return ret;
	}
	sr_batch_restart(b);
	*batch = b;
	return 0;
}

void sr_batch_delete(struct sr_batch *batch)
{
	if (!batch)
		return;

	sr_curve_delete(batch->curve);
	sr_drbg_delete(batch->drbg);
	sr_secret_free(batch, sizeof *batch);
}

void sr_batch_restart(struct sr_batch *b)
{
	sr_wipe(b->presigs, offsetof(struct sr_batch, curve) - offsetof(struct sr_batch, presigs));
	b->phase = SR_BATCH_RESEED;
	b->at = 0;
}

static void enter(struct sr_batch *b, enum sr_batch_phase phase)
{
	b->phase = phase;
	b->at = 0;
}

/* That a nonce had to be drawn again, or that a check failed, is no secret. */
static bool known(bool answer)
{
	sr_declassify(&answer, sizeof answer);
	return answer;
}

static int reseed(struct sr_batch *b)
{
	int ret = sr_drbg_reseed(b->drbg);

	if (!ret)
		ret = sr_drbg_generate(b->drbg, b->products[0],
				       (size_t)b->count * SR_SCALAR_BYTES);
	if (!ret)
		enter(b, SR_BATCH_BLIND);
	return ret;
}

static int blind(struct sr_batch *b)
{
	int ret = sr_drbg_generate(b->drbg, b->spare, sizeof b->spare);

	if (!ret)
		ret = sr_curve_blind(b->curve, b->spare);
	if (!ret)
		enter(b, SR_BATCH_POINTS);
	return ret;
}

/* k is uniform in 1 .. n-1: what is not is drawn again, never reduced. */
static int point(struct sr_batch *b)
{
	struct sr_presig *p = &b->presigs[b->at];
	unsigned char *draw = b->products[b->at], *product = draw;
	bool good;

	memcpy(p->k, draw, sizeof p->k);
	good = sr_point_base_mul(b->curve, &b->points[b->at], p->k);
	if (!known(good))
		return sr_drbg_generate(b->drbg, draw, SR_SCALAR_BYTES);

	if (b->at == 0) {
		memcpy(b->sum, p->k, sizeof b->sum);
	} else {
		good &= !sr_equal(p->k, b->presigs[b->at - 1].k, sizeof p->k);
		good &= sr_scalar_mul(b->curve, product, p->k, b->products[b->at - 1]);
		good &= sr_scalar_add(b->sum, b->sum, p->k);
	}
	if (!known(good))
		return -EIO;
	if (++b->at == b->count)
		enter(b, SR_BATCH_INVERT);
	return 0;
}

static bool square(struct sr_batch *b, unsigned char a[SR_SCALAR_BYTES])
{
	memcpy(b->spare, a, sizeof b->spare);
	return sr_scalar_mul(b->curve, a, a, b->spare);
}

/* powers[i] = product^(i + 1) */
static bool make_powers(struct sr_batch *b)
{
	bool good = true;

	memcpy(b->powers[0], b->products[b->count - 1], SR_SCALAR_BYTES);
	for (uint32_t i = 1; i < 15; i++)
		good &= sr_scalar_mul(b->curve, b->powers[i], b->powers[i - 1], b->powers[0]);
	memcpy(b->inverse, b->powers[14], SR_SCALAR_BYTES); /* the first window is 15 */
	return good;
}

static int invert(struct sr_batch *b)
{
	uint32_t end = b->at + INVERT_PIECE;
	bool good = true;

	if (b->at == 0) {
		good &= make_powers(b);
		b->at = 1;
	}
	for (; b->at < end; b->at++) {
		uint32_t digit = (uint32_t)exponent[b->at / 2] >> (b->at % 2 ? 0 : 4) & 15u;

		for (uint32_t i = 0; i < 4; i++)
			good &= square(b, b->inverse);
		if (digit)
			good &= sr_scalar_mul(b->curve, b->inverse, b->inverse,
					      b->powers[digit - 1]);
	}
	if (!known(good))
		return -EIO;
	if (b->at == WINDOWS)
		enter(b, SR_BATCH_SPREAD);
	return 0;
}

/* From the last to the first: `inverse` is that of products[i] when i comes. */
static bool spread_one(struct sr_batch *b, uint32_t i)
{
	struct sr_presig *p = &b->presigs[i];
	bool good = true;

	if (i > 0) {
		good &= sr_scalar_mul(b->curve, p->u, b->inverse, b->products[i - 1]);
		good &= sr_scalar_mul(b->curve, b->inverse, b->inverse, p->k);
	} else {
		memcpy(p->u, b->inverse, sizeof p->u);
	}
	/* An x of 0, or not below n, is no operand: once in 2^127 that costs the batch. So
	 * recovery ids are 0 and 1, and r is x for BIP-340. */
	sr_point_x(b->curve, p->r, &p->odd, &b->points[i]);
	good &= sr_scalar_mul(b->curve, p->ur, p->u, p->r);
	good &= sr_scalar_mul(b->curve, b->spare, p->u, p->k);
	good &= sr_equal(b->spare, one, sizeof one);
	return good;
}

static int spread(struct sr_batch *b)
{
	uint32_t left = b->count - b->at;
	uint32_t end = b->at + (left < SPREAD_PIECE ? left : SPREAD_PIECE);
	bool good = true;

	for (; b->at < end; b->at++)
		good &= spread_one(b, b->count - 1 - b->at);
	if (!known(good))
		return -EIO;
	if (b->at == b->count) {
		enter(b, SR_BATCH_SUM);
		b->total = b->points[0];
		b->at = 1;
	}
	return 0;
}

/* r and parity are those of the point that is summed up, and from now on they keep
 * to each other: whoever reads them later sees that one has changed. */
static bool mark(struct sr_batch *b, uint32_t i)
{
	struct sr_presig *p = &b->presigs[i];
	unsigned char x[SR_SCALAR_BYTES];
	uint32_t odd;

	sr_point_x(b->curve, x, &odd, &b->points[i]);
	p->made = CHECKING ^ odd;
	return memcmp(x, p->r, sizeof x) == 0 && odd == p->odd;
}

static int sum(struct sr_batch *b)
{
	uint32_t left = b->count - b->at;
	uint32_t piece = left < SUM_PIECE ? left : SUM_PIECE;
	bool good = true;

	if (!sr_point_add_var(b->curve, &b->total, &b->points[b->at], piece))
		return -EIO;
	for (uint32_t i = b->at == 1 ? 0 : b->at; i < b->at + piece; i++)
		good &= mark(b, i);
	if (!good)
		return -EIO;
	b->at += piece;
	if (b->at == b->count)
		enter(b, SR_BATCH_CHECK);
	return 0;
}

/* A wrong point would make a signature that does not verify, and with a fault
 * that somebody chose it might tell of k. */
static int check(struct sr_batch *b)
{
	struct sr_point *expected = &b->points[0]; /* its x is in r by now */

	if (!known(sr_point_base_mul(b->curve, expected, b->sum)) ||
	    !sr_point_equal_var(b->curve, &b->total, expected))
		return -EIO;
	for (uint32_t i = 0; i < b->count; i++)
		b->presigs[i].made ^= CHECKING ^ SR_PRESIG_MADE;
	enter(b, SR_BATCH_READY);
	return 0;
}

int sr_batch_step(struct sr_batch *b)
{
	int ret = -EPERM;

	switch ((enum sr_batch_phase)b->phase) {
	case SR_BATCH_DEAD:
		return -EPERM;
	case SR_BATCH_RESEED:
		ret = reseed(b);
		break;
	case SR_BATCH_BLIND:
		ret = blind(b);
		break;
	case SR_BATCH_POINTS:
		ret = point(b);
		break;
	case SR_BATCH_INVERT:
		ret = invert(b);
		break;
	case SR_BATCH_SPREAD:
		ret = spread(b);
		break;
	case SR_BATCH_SUM:
		ret = sum(b);
		break;
	case SR_BATCH_CHECK:
		ret = check(b);
		break;
	case SR_BATCH_READY:
		return 0;
	}
	sr_wipe_stack();
	if (ret) {
		sr_batch_restart(b);
		return ret;
	}
	return 1;
}
