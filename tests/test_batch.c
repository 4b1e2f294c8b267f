/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <sys/wait.h>

#include "presign_rig.h"
#include "sr_batch.h"
#include "sr_secret.h"

static struct pr_source source;
static struct sr_entropy entropy = { pr_source_get, &source };
static struct sr_curve *curve; /* another than the batch's own */
static struct sr_batch *batch;

#define COUNT 16u /* where nothing else is said */

static unsigned long allocations;

#if !PR_SANITIZED
/* libcrypto's calls come here too: the program's malloc stands before glibc's. */
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *mem, size_t bytes);

void *malloc(size_t bytes)
{
	allocations++;
	return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
	allocations++;
	return __libc_calloc(count, bytes);
}

void *realloc(void *mem, size_t bytes)
{
	allocations++;
	return __libc_realloc(mem, bytes);
}
#endif

static void begin(void)
{
	static const unsigned char seed[32] = { 6 };

	if (!pr_secret_memory())
		cr_skip_test(PR_NO_SECRET_MEMORY);
	source = (struct pr_source){ PR_GOOD, 0 };
	cr_assert_eq(sr_curve_new(&curve, seed), 0);
	cr_assert_eq(sr_batch_new(&batch, &entropy, COUNT), 0);
}

static void end(void)
{
	sr_batch_delete(batch);
	sr_curve_delete(curve);
}

TestSuite(batch, .init = begin, .fini = end);

/* What begin() made is not ours to leave behind. */
static void skip(const char *why)
{
	end();
	cr_skip_test("%s", why);
}

static void renew(uint32_t count)
{
	sr_batch_delete(batch);
	batch = NULL;
	cr_assert_eq(sr_batch_new(&batch, &entropy, count), 0);
}

/* Steps until a phase begins. */
static void advance(enum sr_batch_phase phase)
{
	while (batch->phase != (uint32_t)phase)
		cr_assert_eq(sr_batch_step(batch), 1, "phase %u", batch->phase);
}

static int step_to_the_end(void)
{
	int ret;

	do
		ret = sr_batch_step(batch);
	while (ret > 0);
	return ret;
}

static bool wiped(void)
{
	const unsigned char *p = (const unsigned char *)batch->presigs;
	size_t bytes = offsetof(struct sr_batch, curve) - offsetof(struct sr_batch, presigs);

	for (size_t i = 0; i < bytes; i++)
		if (p[i])
			return false;
	return batch->phase == SR_BATCH_RESEED && batch->at == 0;
}

/* One signature of each, checked by libsecp256k1's verification. */
static void sign_with_all(void)
{
	static struct sr_presign_work work;
	unsigned char digest[32];
	static struct pr_key key;
	struct sr_presign_key view = pr_key_view(&key);
	uint8_t recid;

	cr_assert(pr_key_make(&key, curve, 0));
	cr_assert(pr_random(digest, sizeof digest));
	for (uint32_t i = 0; i < batch->count; i++) {
		work.presig = batch->presigs[i];
		cr_assert_eq(sr_presign_ecdsa(curve, &work, &recid, digest, &view), 0, "%u", i);
		cr_assert_eq(sr_ecdsa_verify(curve, work.sig, digest, key.pubkey), 0, "%u", i);
	}
}

/* After whatever was done to one batch, the next is a good one. */
static void next_is_good(void)
{
	cr_assert_eq(step_to_the_end(), 0);
	cr_assert_eq(batch->phase, SR_BATCH_READY);
	sign_with_all();
}

static void refused(const char *what)
{
	cr_assert_eq(step_to_the_end(), -EIO, "%s", what);
	cr_assert(wiped(), "%s", what);
}

Test(batch, counts_out_of_range_are_refused)
{
	static const uint32_t counts[] = { 0, 1, SR_BATCH_MAX + 1, UINT32_MAX };
	struct sr_batch *none = NULL;

	for (size_t i = 0; i < 4; i++)
		cr_assert_eq(sr_batch_new(&none, &entropy, counts[i]), -EINVAL);
	cr_assert_null(none);
	sr_batch_delete(NULL);
}

Test(batch, every_signature_made_of_a_batch_verifies)
{
	static const uint32_t counts[] = { 2, 3, 16, 33, 49, 255, 256 };

	for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
		renew(counts[i]);
		for (int round = 0; round < 2; round++) {
			cr_assert_eq(step_to_the_end(), 0, "count %u", counts[i]);
			cr_assert_eq(sr_batch_step(batch), 0, "it waits");
			sign_with_all();
			sr_batch_restart(batch);
			cr_assert(wiped());
		}
	}
}

Test(batch, each_presignature_is_what_openssl_computes)
{
	unsigned char x[32], v[32], one[32];
	uint32_t odd = 2;

	pr_small(one, 1);
	renew(64);
	cr_assert_eq(step_to_the_end(), 0);
	for (uint32_t i = 0; i < batch->count; i++) {
		const struct sr_presig *p = &batch->presigs[i];

		cr_assert(pr_bn(v, PR_MUL, p->u, p->k));
		cr_assert_arr_eq(v, one, sizeof v, "u*k of %u", i);
		cr_assert(pr_bn(v, PR_MUL, p->u, p->r));
		cr_assert_arr_eq(v, p->ur, sizeof v, "u*r of %u", i);
		cr_assert(pr_openssl_x(x, &odd, p->k));
		cr_assert_arr_eq(p->r, x, sizeof x, "r of %u", i);
		cr_assert_eq(p->odd, odd);
		cr_assert_eq(p->made, SR_PRESIG_MADE ^ odd);
	}
}

Test(batch, nothing_is_marked_as_made_before_the_check)
{
	while (batch->phase != SR_BATCH_READY) {
		for (uint32_t i = 0; i < COUNT; i++)
			cr_assert_neq(batch->presigs[i].made ^ batch->presigs[i].odd, SR_PRESIG_MADE,
				      "in phase %u", batch->phase);
		cr_assert_eq(sr_batch_step(batch), 1);
	}
}

Test(batch, piece_is_bounded)
{
	uint32_t pieces[SR_BATCH_READY] = { 0 };

	renew(SR_BATCH_MAX);
	while (batch->phase != SR_BATCH_READY) {
		pieces[batch->phase]++;
		cr_assert_eq(sr_batch_step(batch), 1);
	}
	/* About one multiplication each; and no more of them than that asks for. */
	cr_assert_eq(pieces[SR_BATCH_POINTS], SR_BATCH_MAX);
	cr_assert_eq(pieces[SR_BATCH_RESEED] + pieces[SR_BATCH_BLIND], 2);
	cr_assert_eq(pieces[SR_BATCH_CHECK], 1);
	cr_assert(pieces[SR_BATCH_INVERT] >= 2 && pieces[SR_BATCH_INVERT] <= 4);
	cr_assert(pieces[SR_BATCH_SPREAD] >= 8 && pieces[SR_BATCH_SPREAD] <= 16);
	cr_assert(pieces[SR_BATCH_SUM] >= 4 && pieces[SR_BATCH_SUM] <= 11);
}

Test(batch, draws_that_are_no_scalars_are_drawn_again)
{
	unsigned char wrong[3][32];

	pr_small(wrong[0], 0);
	pr_near_order(wrong[1], 0);
	memset(wrong[2], 0xff, 32);
	for (uint32_t at = 0; at < COUNT; at += 5)
		for (int i = 0; i < 3; i++) {
			advance(SR_BATCH_POINTS);
			memcpy(batch->products[at], wrong[i], 32);
			cr_assert_eq(step_to_the_end(), 0, "draw %u, edge %d", at, i);
			cr_assert_neq(memcmp(batch->presigs[at].k, wrong[i], 32), 0);
			cr_assert(sr_scalar_valid(curve, batch->presigs[at].k));
			sign_with_all();
			sr_batch_restart(batch);
		}
}

/* Never reduced: that would make small k a little more frequent. */
Test(batch, draw_above_the_order_is_not_reduced)
{
	unsigned char five[32];

	pr_small(five, 5);
	advance(SR_BATCH_POINTS);
	pr_near_order(batch->products[3], 5);
	cr_assert_eq(step_to_the_end(), 0);
	cr_assert_neq(memcmp(batch->presigs[3].k, five, 32), 0);
	cr_assert_neq(memcmp(batch->presigs[3].k, pr_order, 31), 0);
}

Test(batch, two_equal_draws_in_a_row_are_refused)
{
	for (uint32_t at = 1; at < COUNT; at++) {
		advance(SR_BATCH_POINTS);
		memcpy(batch->products[at], batch->products[at - 1], 32);
		refused("equal draws");
	}
	next_is_good();
}

/* ---- faults: each in a batch of its own ---- */

/* Any valid point will do to be wrong. */
static void other_point(struct sr_point *point)
{
	unsigned char k[32];

	cr_assert(pr_random(k, sizeof k));
	cr_assert(sr_point_base_mul(curve, point, k));
}

Test(batch, wrong_point_is_caught_by_the_sum)
{
	for (uint32_t i = 0; i < COUNT; i++) {
		advance(SR_BATCH_INVERT);
		other_point(&batch->points[i]);
		refused("replaced before r is made");

		advance(SR_BATCH_INVERT);
		batch->points[i] = batch->points[(i + 1) % COUNT];
		refused("another of the batch");

		if (i == 0)
			continue; /* it is in the total when SUM begins */
		advance(SR_BATCH_SUM);
		other_point(&batch->points[i]);
		refused("replaced before the sum");
	}
	next_is_good();
}

Test(batch, flipped_bit_of_a_point_is_caught)
{
	for (uint32_t bit = 0; bit < 512; bit += 3) {
		enum sr_batch_phase phase = bit % 2 ? SR_BATCH_INVERT : SR_BATCH_SUM;
		uint32_t i = 1 + bit % (COUNT - 1);

		advance(phase);
		batch->points[i].opaque[bit / 8] ^= (unsigned char)(1u << bit % 8);
		refused("a flipped bit of a point");
	}
	next_is_good();
}

Test(batch, wrong_total_or_sum_of_nonces_is_caught)
{
	advance(SR_BATCH_CHECK);
	other_point(&batch->total);
	refused("total");
	for (uint32_t bit = 0; bit < 256; bit += 5) {
		advance(SR_BATCH_CHECK);
		batch->sum[bit / 8] ^= (unsigned char)(1u << bit % 8);
		refused("sum of k");
	}
	next_is_good();
}

static void flip(unsigned char *scalar, uint32_t bit)
{
	scalar[bit / 8] ^= (unsigned char)(1u << bit % 8);
}

Test(batch, flipped_bit_of_k_is_caught)
{
	for (uint32_t bit = 0; bit < 256; bit++) {
		advance(SR_BATCH_INVERT);
		flip(batch->presigs[bit % COUNT].k, bit);
		refused("k before the inversion");
	}
	for (uint32_t bit = 0; bit < 256; bit += 9) {
		advance(SR_BATCH_POINTS);
		for (uint32_t i = 0; i < COUNT / 2; i++)
			cr_assert_eq(sr_batch_step(batch), 1);
		flip(batch->presigs[bit % (COUNT / 2)].k, bit);
		refused("k among the points");
	}
	next_is_good();
}

Test(batch, flipped_bit_of_a_product_or_inverse_is_caught)
{
	for (uint32_t bit = 0; bit < 256; bit += 3) {
		advance(SR_BATCH_INVERT);
		flip(batch->products[COUNT - 1], bit);
		refused("the whole product");

		advance(SR_BATCH_SPREAD);
		flip(batch->products[bit % (COUNT - 1)], bit);
		refused("a product");

		advance(SR_BATCH_SPREAD);
		flip(batch->inverse, bit);
		refused("the inverse");

		advance(SR_BATCH_INVERT);
		cr_assert_eq(sr_batch_step(batch), 1);
		cr_assert_eq(batch->phase, SR_BATCH_INVERT, "a second piece is left");
		flip(batch->inverse, bit);
		refused("the inverse between its pieces");
	}
	next_is_good();
}

/* r is made of the points that are summed up, and not before. */
Test(batch, flipped_bit_of_r_before_it_is_made_is_without_effect)
{
	for (uint32_t bit = 0; bit < 256; bit += 7) {
		struct sr_presig *p;

		advance(SR_BATCH_INVERT);
		p = &batch->presigs[bit % COUNT];
		flip(p->r, bit);
		p->odd ^= 1;
		cr_assert_eq(step_to_the_end(), 0);
		sign_with_all();
		sr_batch_restart(batch);
	}
}

/* While the points are summed up, what was taken from them is looked at again. */
Test(batch, flipped_bit_of_r_or_parity_before_the_sum_is_caught)
{
	for (uint32_t bit = 0; bit < 257; bit++) {
		struct sr_presig *p;

		advance(SR_BATCH_SUM);
		p = &batch->presigs[bit % COUNT];
		if (bit < 256)
			flip(p->r, bit);
		else
			p->odd ^= 1;
		cr_assert_eq(step_to_the_end(), -EIO, "bit %u", bit);
		sr_batch_restart(batch);
	}
}

/* And whoever finishes with it later sees that the parity is another one. */
Test(batch, flipped_parity_after_the_sum_is_refused_by_the_finish)
{
	static struct sr_presign_work work;
	unsigned char digest[32] = { 3 };
	static struct pr_key key;
	struct sr_presign_key view = pr_key_view(&key);
	uint8_t recid;

	cr_assert(pr_key_make(&key, curve, 0));
	for (uint32_t bit = 0; bit < 32; bit++) {
		advance(SR_BATCH_CHECK);
		batch->presigs[1].odd ^= 1u << bit;
		cr_assert_eq(step_to_the_end(), 0);
		work.presig = batch->presigs[1];
		cr_assert_eq(sr_presign_ecdsa(curve, &work, &recid, digest, &view), -EINVAL);
		sr_batch_restart(batch);
	}
}

/* The second piece takes the low 128 bits of n - 2: no digit of them is 7 or 9. */
Test(batch, flipped_bit_of_a_power_that_is_used_is_caught)
{
	static const uint32_t digits[] = { 1, 2, 3, 4, 5, 6, 8, 10, 11, 12, 13, 14, 15 };

	for (uint32_t i = 0; i < 2 * sizeof digits / sizeof digits[0]; i++) {
		advance(SR_BATCH_INVERT);
		cr_assert_eq(sr_batch_step(batch), 1);
		flip(batch->powers[digits[i / 2] - 1], 7 * i);
		refused("a power");
	}
	next_is_good();
}

/* What was checked may still change while it waits: the finish sees that. */
Test(batch, fault_after_the_check_is_caught_by_the_finish)
{
	static struct sr_presign_work work;
	unsigned char digest[32];
	static struct pr_key key;
	struct sr_presign_key view = pr_key_view(&key);
	uint8_t recid;

	cr_assert(pr_key_make(&key, curve, 1));
	cr_assert(pr_random(digest, sizeof digest));
	cr_assert_eq(step_to_the_end(), 0);
	for (uint32_t field = 0; field < 4; field++)
		for (uint32_t bit = 0; bit < 256; bit += 3) {
			work.presig = batch->presigs[bit % COUNT];
			flip((unsigned char *)&work.presig + (size_t)32 * field, bit);
			cr_assert_eq(sr_presign_ecdsa(curve, &work, &recid, digest, &view),
				     -EBADMSG);
		}
}

/* ---- the source, the process, the memory ---- */

Test(batch, failing_source_gives_no_nonce)
{
	cr_assert_eq(step_to_the_end(), 0);
	sr_batch_restart(batch);
	source.mode = PR_SILENT;
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(sr_batch_step(batch), -EIO);
		cr_assert(wiped());
	}
	source.mode = PR_STUCK;
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(sr_batch_step(batch), -EIO);
		cr_assert(wiped());
	}
	source.mode = PR_GOOD;
	next_is_good();
}

Test(batch, source_is_asked_once_a_batch)
{
	unsigned int calls = source.calls;

	for (unsigned int i = 1; i <= 3; i++) {
		cr_assert_eq(step_to_the_end(), 0);
		cr_assert_eq(source.calls, calls + i);
		sr_batch_restart(batch);
	}
}

/* What secrets the batch knows after a step, and what it has forgotten by it. */
static struct pr_needles needles;

static void collect(void)
{
	for (uint32_t i = 0; i < batch->count; i++) {
		pr_needle_add(&needles, batch->presigs[i].k);
		pr_needle_add(&needles, batch->presigs[i].u);
		pr_needle_add(&needles, batch->presigs[i].ur);
		pr_needle_add(&needles, batch->products[i]);
	}
	for (uint32_t i = 0; i < 15; i++)
		pr_needle_add(&needles, batch->powers[i]);
	pr_needle_add(&needles, batch->inverse);
	pr_needle_add(&needles, batch->sum);
	pr_needle_add(&needles, batch->spare);
}

/* Neither is a nonce found in what the library's generator keeps on the heap. */
Test(batch, forked_child_finds_no_secret_in_any_phase)
{
	for (uint32_t phase = SR_BATCH_RESEED; phase <= SR_BATCH_READY; phase++) {
		int status;
		pid_t pid;

		advance(phase);
		memset(&needles, 0, sizeof needles);
		collect();
		if (!PR_SANITIZED && phase > SR_BATCH_RESEED)
			cr_assert_neq(pr_search_everywhere(&needles), 0, "the search sees nothing");
		pr_stack_clean(); /* of what the search itself had in hand */
		pid = fork();
		cr_assert(pid >= 0);
		if (pid == 0) {
			const unsigned char *p = (const unsigned char *)batch;

			for (size_t i = 0; i < sizeof *batch; i++)
				if (p[i])
					_exit(2);
			if (!PR_SANITIZED && pr_search_everywhere(&needles))
				_exit(3);
			_exit(sr_batch_step(batch) == -EPERM ? 0 : 1);
		}
		cr_assert(waitpid(pid, &status, 0) == pid);
		cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "phase %u: %x", phase,
			  (unsigned int)status);
	}
	sign_with_all();
}

Test(batch, only_reseeding_allocates)
{
	unsigned long before = allocations, elsewhere = 0;
	void *one = malloc(1);

	__asm__ volatile("" ::"r"(one) : "memory");
	free(one);
	if (allocations == before)
		skip("a sanitizer has the allocator");

	for (int round = 0; round < 3; round++) {
		while (batch->phase != SR_BATCH_READY) {
			uint32_t phase = batch->phase;
			int ret;

			before = allocations;
			ret = sr_batch_step(batch);
			if (phase != SR_BATCH_RESEED)
				elsewhere += allocations - before;
			cr_assert_eq(ret, 1);
		}
		before = allocations;
		(void)!sr_batch_step(batch);
		sr_batch_restart(batch);
		elsewhere += allocations - before;
	}
	cr_assert_eq(elsewhere, 0);
}

Test(batch, no_secret_is_left_on_the_stack)
{
	static unsigned char dead[PR_DEAD_BYTES];
	uint32_t phase;
	int ret;

	if (PR_SANITIZED)
		skip("sanitizers keep frames elsewhere");
	for (int round = 0; round < 4; round++) {
		if (round == 3) { /* and when it fails */
			advance(SR_BATCH_SPREAD);
			flip(batch->presigs[0].k, 77);
		}
		do {
			phase = batch->phase;
			memset(&needles, 0, sizeof needles);
			collect();
			pr_stack_clean();
			ret = sr_batch_step(batch);
			PR_STACK_COPY(dead);
			collect();
			cr_assert_eq(pr_needles_found(&needles, dead, sizeof dead), 0,
				     "phase %u", phase);
		} while (ret > 0);
		cr_assert_eq(ret, round == 3 ? -EIO : 0);
		sr_batch_restart(batch);
	}
}
