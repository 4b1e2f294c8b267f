/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "presign_rig.h"

static struct sr_curve *curve;

static void begin(void)
{
	static const unsigned char seed[32] = { 3 };

	if (!pr_secret_memory())
		cr_skip_test(PR_NO_SECRET_MEMORY);
	cr_assert_eq(sr_curve_new(&curve, seed), 0);
}

static void end(void)
{
	sr_curve_delete(curve);
}

/* Sums and such need no context, and so run where there is no protected memory. */
TestSuite(product, .init = begin, .fini = end);

enum { ZERO, ONE, TWO, ORDER_LESS, ORDER, ORDER_MORE, ALL_ONES, EDGES };

static unsigned char edges[EDGES][SR_SCALAR_BYTES];

static void make_edges(void)
{
	pr_small(edges[ZERO], 0);
	pr_small(edges[ONE], 1);
	pr_small(edges[TWO], 2);
	pr_near_order(edges[ORDER_LESS], -1);
	pr_near_order(edges[ORDER], 0);
	pr_near_order(edges[ORDER_MORE], 1);
	memset(edges[ALL_ONES], 0xff, SR_SCALAR_BYTES);
}

static bool is_scalar(int edge)
{
	return edge <= ORDER_LESS;
}

static bool is_zero(const unsigned char *a)
{
	return memcmp(a, edges[ZERO], SR_SCALAR_BYTES) == 0;
}

Test(product, edges_are_valid_only_from_1_to_below_the_order)
{
	make_edges();
	for (int i = 0; i < EDGES; i++)
		cr_assert_eq(sr_scalar_valid(curve, edges[i]), is_scalar(i) && i != ZERO,
			     "edge %d", i);
}

Test(product, of_edges)
{
	unsigned char out[32], want[32];

	make_edges();
	for (int i = 0; i < EDGES; i++)
		for (int j = 0; j < EDGES; j++) {
			bool usable = is_scalar(i) && i != ZERO && is_scalar(j) && j != ZERO;

			cr_assert_eq(sr_scalar_mul(curve, out, edges[i], edges[j]), usable,
				     "edges %d, %d", i, j);
			if (!usable)
				continue;
			cr_assert(pr_bn(want, PR_MUL, edges[i], edges[j]));
			cr_assert_arr_eq(out, want, sizeof out, "edges %d, %d", i, j);
		}
}

Test(scalar, sums_of_edges)
{
	unsigned char out[32], want[32];

	make_edges();
	for (int i = 0; i < EDGES; i++)
		for (int j = 0; j < EDGES; j++) {
			bool usable = is_scalar(i) && i != ZERO && is_scalar(j);

			cr_assert(pr_bn(want, PR_ADD, edges[i], edges[j]));
			cr_assert_eq(sr_scalar_add(out, edges[i], edges[j]),
				     usable && !is_zero(want), "edges %d, %d", i, j);
			if (usable)
				cr_assert_arr_eq(out, want, sizeof out, "edges %d, %d", i, j);
		}
}

Test(scalar, sum_that_comes_to_zero_is_false)
{
	unsigned char a[32], b[32], out[32];

	make_edges();
	cr_assert_not(sr_scalar_add(out, edges[ONE], edges[ORDER_LESS]));
	cr_assert(is_zero(out));
	for (int i = 0; i < 100; i++) {
		cr_assert(pr_random(a, sizeof a));
		cr_assert(sr_scalar_negate(b, a));
		cr_assert_not(sr_scalar_add(out, a, b));
		cr_assert(is_zero(out));
	}
}

Test(scalar, single_bits_are_not_zero)
{
	static const unsigned char zero[32];
	unsigned char a[32], b[32], out[32];

	for (unsigned int bit = 0; bit < 256; bit++) {
		memset(a, 0, sizeof a);
		a[bit / 8] = (unsigned char)(1u << bit % 8);
		cr_assert(sr_scalar_negate(b, a), "bit %u", bit);
		cr_assert(sr_scalar_add(out, a, zero), "bit %u", bit);
		cr_assert_arr_eq(out, a, sizeof out);
		cr_assert_not(sr_scalar_add(out, a, b), "bit %u", bit);
	}
}

Test(scalar, negated_edges)
{
	unsigned char out[32];

	make_edges();
	for (int i = 0; i < EDGES; i++)
		cr_assert_eq(sr_scalar_negate(out, edges[i]), is_scalar(i) && i != ZERO,
			     "edge %d", i);
	cr_assert(sr_scalar_negate(out, edges[ONE]));
	cr_assert_arr_eq(out, edges[ORDER_LESS], sizeof out);
	cr_assert(sr_scalar_negate(out, edges[ORDER_LESS]));
	cr_assert_arr_eq(out, edges[ONE], sizeof out);
}

Test(scalar, reduction_of_edges)
{
	/* 2^256 - 1 - n */
	static const unsigned char most[32] = {
		[15] = 0x01, 0x45, 0x51, 0x23, 0x19, 0x50, 0xb7, 0x5f, 0xc4,
		0x40, 0x2d, 0xa1, 0x73, 0x2f, 0xc9, 0xbe, 0xbe,
	};
	unsigned char out[32];

	make_edges();
	for (int i = 0; i < EDGES; i++) {
		const unsigned char *want = edges[i];

		if (i == ORDER)
			want = edges[ZERO];
		if (i == ORDER_MORE)
			want = edges[ONE];
		if (i == ALL_ONES)
			want = most;
		sr_scalar_reduce(out, edges[i]);
		cr_assert_arr_eq(out, want, sizeof out, "edge %d", i);
		memcpy(out, edges[i], sizeof out);
		sr_scalar_reduce(out, out);
		cr_assert_arr_eq(out, want, sizeof out, "edge %d in place", i);
	}
}

Test(scalar, high_begins_above_half_of_the_order)
{
	unsigned char a[32] = {
		0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xff, 0xff, 0xff, 0xff, 0xff, 0x5d, 0x57, 0x6e, 0x73, 0x57, 0xa4,
		0x50, 0x1d, 0xdf, 0xe9, 0x2f, 0x46, 0x68, 0x1b, 0x20, 0xa0,
	}; /* (n - 1) / 2, SEC 2 section 2.4.1 */

	make_edges();
	cr_assert_eq(sr_scalar_high(a), 0);
	a[31]++;
	cr_assert_eq(sr_scalar_high(a), 1);
	a[31]--;
	for (unsigned int byte = 0; byte < 31; byte++) { /* one more, and one less, in each limb */
		a[byte]++;
		if (a[byte] != 0)
			cr_assert_eq(sr_scalar_high(a), 1, "byte %u more", byte);
		a[byte]--;
		a[byte]--;
		if (a[byte] != 0xff)
			cr_assert_eq(sr_scalar_high(a), 0, "byte %u less", byte);
		a[byte]++;
	}
	cr_assert_eq(sr_scalar_high(edges[ZERO]), 0);
	cr_assert_eq(sr_scalar_high(edges[ONE]), 0);
	cr_assert_eq(sr_scalar_high(edges[ORDER_LESS]), 1);
}

Test(scalar, select_takes_either_whole)
{
	unsigned char a[32], b[32], out[32];

	cr_assert(pr_random(a, sizeof a) && pr_random(b, sizeof b));
	sr_scalar_select(out, a, b, 0);
	cr_assert_arr_eq(out, a, sizeof out);
	sr_scalar_select(out, a, b, 1);
	cr_assert_arr_eq(out, b, sizeof out);
	sr_scalar_select(out, out, a, 1);
	cr_assert_arr_eq(out, a, sizeof out, "in place");
	sr_scalar_select(out, b, out, 0);
	cr_assert_arr_eq(out, b, sizeof out, "in place of the second");
}

/* (n - 1) / 2 as OpenSSL has it. */
static bool high_by_bn(const unsigned char *a)
{
	BIGNUM *n = BN_bin2bn(pr_order, SR_SCALAR_BYTES, NULL);
	BIGNUM *x = BN_bin2bn(a, SR_SCALAR_BYTES, NULL);
	bool high;

	(void)BN_rshift1(n, n);
	high = BN_cmp(x, n) > 0;
	BN_free(x);
	BN_free(n);
	return high;
}

/* Operands next to the order and next to 0 too: a lost carry shows there. */
static void draw(unsigned char out[32], unsigned int i)
{
	cr_assert(pr_random(out, 32));
	if (i % 4 == 1)
		memset(out, 0xff, 15 + i / 4 % 9);
	if (i % 4 == 2)
		memset(out, 0, i % 29);
	if (i % 16 == 3)
		memset(out + 8 * (i / 16 % 4), i / 64 % 2 ? 0xff : 0, 8);
}

Test(scalar, ten_thousand_random_pairs_agree_with_openssl)
{
	unsigned char a[32], b[32], out[32], want[32];
	static const unsigned char zero[32];

	for (unsigned int i = 0; i < 10000; i++) {
		draw(a, i);
		draw(b, i / 4);
		cr_assert(pr_bn(want, PR_ADD, a, zero));
		sr_scalar_reduce(out, a);
		cr_assert_arr_eq(out, want, sizeof out, "reduced");
		cr_assert_eq(sr_scalar_high(a), high_by_bn(a));
		sr_scalar_reduce(a, a);
		sr_scalar_reduce(b, b);

		cr_assert(pr_bn(want, PR_ADD, a, b));
		cr_assert(sr_scalar_add(out, a, b));
		cr_assert_arr_eq(out, want, sizeof out, "a + b");
		memcpy(out, a, sizeof out);
		cr_assert(sr_scalar_add(out, out, b));
		cr_assert_arr_eq(out, want, sizeof out, "a + b in place");

		cr_assert(pr_bn(want, PR_NEGATE, a, NULL));
		cr_assert(sr_scalar_negate(out, a));
		cr_assert_arr_eq(out, want, sizeof out, "n - a");
		memcpy(out, a, sizeof out);
		cr_assert(sr_scalar_negate(out, out));
		cr_assert_arr_eq(out, want, sizeof out, "n - a in place");
	}
}

Test(product, of_ten_thousand_random_pairs_agrees_with_openssl)
{
	unsigned char a[32], b[32], out[32], want[32];

	for (unsigned int i = 0; i < 10000; i++) {
		draw(a, i);
		draw(b, i / 4);
		sr_scalar_reduce(a, a);
		sr_scalar_reduce(b, b);
		cr_assert(pr_bn(want, PR_MUL, a, b));
		cr_assert(sr_scalar_mul(curve, out, a, b));
		cr_assert_arr_eq(out, want, sizeof out);
		memcpy(out, a, sizeof out);
		cr_assert(sr_scalar_mul(curve, out, out, b));
		cr_assert_arr_eq(out, want, sizeof out, "in place");
	}
}

/* ---- points ---- */

TestSuite(point, .init = begin, .fini = end);

Test(point, multiples_of_edges)
{
	struct sr_point point;
	unsigned char x[32], want[32];
	uint32_t odd, want_odd;

	make_edges();
	for (int i = 0; i < EDGES; i++) {
		bool usable = is_scalar(i) && i != ZERO;

		cr_assert_eq(sr_point_base_mul(curve, &point, edges[i]), usable, "edge %d", i);
		if (!usable)
			continue;
		cr_assert(pr_openssl_x(want, &want_odd, edges[i]));
		sr_point_x(curve, x, &odd, &point);
		cr_assert_arr_eq(x, want, sizeof x, "edge %d", i);
		cr_assert_eq(odd, want_odd, "edge %d", i);
	}
}

Test(point, coordinates_agree_with_openssl)
{
	unsigned char k[32], x[32], want[32];
	uint32_t odd, want_odd, seen = 0;
	struct sr_point point;

	for (int i = 0; i < 50; i++) {
		cr_assert(pr_random(k, sizeof k));
		cr_assert(sr_point_base_mul(curve, &point, k));
		sr_point_x(curve, x, &odd, &point);
		cr_assert(pr_openssl_x(want, &want_odd, k));
		cr_assert_arr_eq(x, want, sizeof x);
		cr_assert_eq(odd, want_odd);
		seen |= 1u << odd;
	}
	cr_assert_eq(seen, 3, "both parities came");
}

/* points[i] = scalars[i]*G, and the sum of the scalars. */
static void make_points(struct sr_point *points, unsigned char sum[32], uint32_t count)
{
	unsigned char k[32];

	for (uint32_t i = 0; i < count; i++) {
		cr_assert(pr_random(k, sizeof k));
		cr_assert(sr_point_base_mul(curve, &points[i], k));
		if (i == 0)
			memcpy(sum, k, 32);
		else
			cr_assert(sr_scalar_add(sum, sum, k));
	}
}

Test(point, sum_of_many_is_the_multiple_of_the_sum)
{
	static struct sr_point points[256];
	static const uint32_t counts[] = { 1, 2, 47, 255 };
	struct sr_point total, want;
	unsigned char sum[32];

	for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
		make_points(points, sum, counts[i] + 1);
		total = points[0];
		cr_assert(sr_point_add_var(curve, &total, points + 1, counts[i]));
		cr_assert(sr_point_base_mul(curve, &want, sum));
		cr_assert(sr_point_equal_var(curve, &total, &want), "%u points", counts[i] + 1);
	}
	total = points[0];
	cr_assert_not(sr_point_add_var(curve, &total, points, 256), "more than its list holds");
	cr_assert_arr_eq(total.opaque, points[0].opaque, sizeof total);
}

Test(point, doubling_and_infinity_are_sums_too)
{
	unsigned char k[32], doubled[32], negated[32];
	struct sr_point p, q, sum;

	cr_assert(pr_random(k, sizeof k));
	cr_assert(pr_bn(doubled, PR_ADD, k, k));
	cr_assert(sr_scalar_negate(negated, k));
	cr_assert(sr_point_base_mul(curve, &p, k));
	sum = p;
	cr_assert(sr_point_add_var(curve, &sum, &p, 1));
	cr_assert(sr_point_base_mul(curve, &q, doubled));
	cr_assert(sr_point_equal_var(curve, &sum, &q));

	cr_assert(sr_point_base_mul(curve, &q, negated));
	sum = p;
	cr_assert_not(sr_point_add_var(curve, &sum, &q, 1));
	cr_assert_arr_eq(sum.opaque, p.opaque, sizeof sum, "untouched on failure");
}

Test(point, equal_means_both_coordinates)
{
	unsigned char k[32], negated[32];
	struct sr_point p, q;

	cr_assert(pr_random(k, sizeof k));
	cr_assert(sr_scalar_negate(negated, k));
	cr_assert(sr_point_base_mul(curve, &p, k));
	cr_assert(sr_point_base_mul(curve, &q, k));
	cr_assert(sr_point_equal_var(curve, &p, &q));
	cr_assert(sr_point_base_mul(curve, &q, negated));
	cr_assert_not(sr_point_equal_var(curve, &p, &q), "the same x, the other y");
	negated[31] ^= 1;
	cr_assert(sr_point_base_mul(curve, &q, negated));
	cr_assert_not(sr_point_equal_var(curve, &p, &q));
}
