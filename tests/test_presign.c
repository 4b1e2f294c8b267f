/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <secp256k1.h>
#include <secp256k1_recovery.h>

#include "presign_rig.h"
#include "sr_secret.h"

static struct sr_curve *curve;
static struct sr_hasher *hasher;
static struct sr_presign_work work;
static struct pr_key key;
static const unsigned char zero[sizeof work];

static void begin(void)
{
	static const unsigned char seed[32] = { 4 };

	if (!pr_secret_memory())
		cr_skip_test(PR_NO_SECRET_MEMORY);
	cr_assert_eq(sr_curve_new(&curve, seed), 0);
	cr_assert_eq(sr_hasher_new(&hasher), 0);
	cr_assert(pr_key_make(&key, curve, 0));
}

static void end(void)
{
	sr_hasher_delete(hasher);
	sr_curve_delete(curve);
}

TestSuite(presign, .init = begin, .fini = end);

/* What begin() made is not ours to leave behind. */
static void skip(const char *why)
{
	end();
	cr_skip_test("%s", why);
}

static bool wiped_but_sig(void)
{
	struct sr_presign_work copy = work;

	memset(copy.sig, 0, sizeof copy.sig);
	return memcmp(&copy, zero, sizeof copy) == 0;
}

static bool wiped(void)
{
	return memcmp(&work, zero, sizeof work) == 0;
}

static bool low(const unsigned char *s)
{
	return sr_scalar_high(s) == 0;
}

/* The public key that libsecp256k1 recovers from the signature. */
static bool recovers(const unsigned char sig[64], uint8_t recid, const unsigned char digest[32],
		     const unsigned char pubkey[SR_PUBKEY_BYTES])
{
	secp256k1_context *ctx = secp256k1_context_create(SECP256K1_CONTEXT_VERIFY);
	secp256k1_ecdsa_recoverable_signature parsed;
	unsigned char out[SR_PUBKEY_BYTES];
	size_t bytes = sizeof out;
	secp256k1_pubkey point;
	bool good;

	good = secp256k1_ecdsa_recoverable_signature_parse_compact(ctx, &parsed, sig, recid) &&
	       secp256k1_ecdsa_recover(ctx, &point, &parsed, digest) &&
	       secp256k1_ec_pubkey_serialize(ctx, out, &bytes, &point, SECP256K1_EC_COMPRESSED) &&
	       memcmp(out, pubkey, sizeof out) == 0;
	secp256k1_context_destroy(ctx);
	return good;
}

static void sign_and_judge(const unsigned char digest[32], bool by_openssl)
{
	struct sr_presign_key view = pr_key_view(&key);
	uint8_t recid = 0xee;

	cr_assert_eq(sr_presign_ecdsa(curve, &work, &recid, digest, &view), 0);
	cr_assert(wiped_but_sig());
	cr_assert(low(work.sig + 32));
	cr_assert_eq(sr_ecdsa_verify(curve, work.sig, digest, key.pubkey), 0);
	cr_assert(recid <= 1 && recovers(work.sig, recid, digest, key.pubkey));
	if (by_openssl)
		cr_assert(pr_openssl_ecdsa(work.sig, digest, key.pubkey));
}

Test(presign, ecdsa_verifies_and_gives_back_the_key)
{
	unsigned char digest[32];
	uint32_t seen = 0;

	for (uint32_t i = 0; i < 400; i++) {
		cr_assert(pr_random(digest, sizeof digest));
		cr_assert(pr_presig_make(&work.presig, curve, i % 2));
		sign_and_judge(digest, i % 10 == 0);
		seen |= 1u << (i % 2);
	}
	cr_assert_eq(seen, 3);
}

Test(presign, ecdsa_is_the_signature_that_the_nonce_defines)
{
	struct sr_presign_key view = pr_key_view(&key);
	unsigned char digest[32], s[32], rd[32];
	struct sr_presig presig;
	uint8_t recid;

	for (uint32_t i = 0; i < 50; i++) {
		cr_assert(pr_random(digest, sizeof digest));
		cr_assert(pr_presig_make(&presig, curve, i % 2));
		work.presig = presig;
		cr_assert_eq(sr_presign_ecdsa(curve, &work, &recid, digest, &view), 0);

		/* s = (z + r*d) / k, and n - s when that is high. */
		cr_assert(pr_bn(rd, PR_MUL, presig.r, key.d));
		cr_assert(pr_bn(s, PR_ADD, rd, digest));
		cr_assert(pr_bn(s, PR_MUL, s, presig.u));
		cr_assert_eq(recid, presig.odd ^ sr_scalar_high(s));
		if (!low(s))
			cr_assert(pr_bn(s, PR_NEGATE, s, NULL));
		cr_assert_arr_eq(work.sig, presig.r, 32);
		cr_assert_arr_eq(work.sig + 32, s, 32);
	}
}

Test(presign, digests_at_the_edges_are_reduced)
{
	unsigned char digests[7][32];

	pr_small(digests[0], 0);
	pr_small(digests[1], 1);
	pr_near_order(digests[2], -1);
	pr_near_order(digests[3], 0);
	pr_near_order(digests[4], 1);
	memset(digests[5], 0xff, 32);
	memset(digests[6], 0xff, 32);
	digests[6][31] = 0;
	for (size_t i = 0; i < 7; i++)
		for (uint32_t odd = 0; odd < 2; odd++) {
			cr_assert(pr_presig_make(&work.presig, curve, odd));
			sign_and_judge(digests[i], true);
		}
}

/* The presignature of k = 1, 2, n-1 and such: nothing about small numbers is
 * special to the arithmetic. */
Test(presign, nonces_at_the_edges_sign)
{
	unsigned char ks[4][32], digest[32];

	pr_small(ks[0], 1);
	pr_small(ks[1], 2);
	pr_near_order(ks[2], -1);
	pr_near_order(ks[3], -2);
	for (size_t i = 0; i < 4; i++) {
		cr_assert(pr_random(digest, sizeof digest));
		cr_assert(pr_presig_of(&work.presig, curve, ks[i]));
		sign_and_judge(digest, true);
	}
}

Test(presign, keys_at_the_edges_sign)
{
	unsigned char digest[32];

	for (uint32_t i = 0; i < 4; i++) {
		if (i < 2)
			pr_small(key.d, (unsigned char)(1 + i));
		else
			pr_near_order(key.d, 1 - (int)i);
		cr_assert(pr_bn(key.bd, PR_MUL, key.b, key.d));
		cr_assert_eq(sr_curve_pubkey(curve, key.pubkey, NULL, key.d), 0);
		cr_assert(pr_random(digest, sizeof digest));
		cr_assert(pr_presig_make(&work.presig, curve, i % 2));
		sign_and_judge(digest, true);
	}
}

Test(presign, s_that_is_zero_burns_and_is_no_fault)
{
	struct sr_presign_key view = pr_key_view(&key);
	unsigned char digest[32];
	uint8_t recid = 0xee;

	for (uint32_t odd = 0; odd < 2; odd++) {
		cr_assert(pr_presig_make(&work.presig, curve, odd));
		cr_assert(pr_bn(digest, PR_MUL, work.presig.r, key.d));
		cr_assert(pr_bn(digest, PR_NEGATE, digest, NULL)); /* z = -r*d */
		cr_assert_eq(sr_presign_ecdsa(curve, &work, &recid, digest, &view), -ERANGE);
		cr_assert(wiped());
		cr_assert_eq(recid, 0xee, "untouched on failure");
	}
}

Test(presign, bip340_verifies_at_any_length_and_both_parities)
{
	struct sr_presign_key view = pr_key_view(&key);
	unsigned char message[300], changed[300];

	cr_assert(pr_random(message, sizeof message));
	memcpy(changed, message, sizeof changed);
	changed[0] ^= 1;
	for (uint32_t i = 0; i < 400; i++) {
		size_t bytes = i % 4 < 2 ? 32 : i % sizeof message;

		cr_assert(pr_key_make(&key, curve, i / 2 % 2));
		cr_assert(pr_presig_make(&work.presig, curve, i % 2));
		cr_assert_eq(sr_presign_bip340(curve, hasher, &work, message, bytes, key.pubkey,
					       &view), 0);
		cr_assert(wiped_but_sig());
		cr_assert_eq(sr_bip340_verify(curve, work.sig, message, bytes, key.pubkey), 0);
		if (i % 10 < 4)
			cr_assert(pr_openssl_bip340(work.sig, message, bytes, key.pubkey));
		if (bytes)
			cr_assert_eq(sr_bip340_verify(curve, work.sig, changed, bytes, key.pubkey),
				     -EBADMSG);
	}
}

/* Public key and message may be nothing special, but s = 0 or a challenge of 0
 * needs a hash to be inverted: only the halves can be asked. */
Test(presign, bip340_halves_at_the_edges)
{
	struct sr_presign_key view = pr_key_view(&key);

	for (uint32_t i = 0; i < 4; i++) {
		uint32_t key_odd = i / 2;

		cr_assert(pr_key_make(&key, curve, key_odd));
		cr_assert(pr_presig_make(&work.presig, curve, i % 2));
		memcpy(work.sig, work.presig.r, 32);
		memset(work.z, 0, 32);
		memset(work.z_again, 0, 32);
		cr_assert_eq(sr_presign_bip340_compute(curve, &work, key_odd, &view), 0);
		cr_assert_eq(sr_presign_bip340_check(curve, &work, key_odd, &view), 0);

		/* e = -k/d, each of the sign that it has: s = 0. */
		cr_assert(pr_bn(work.z, PR_INVERT, key.d, NULL));
		cr_assert(pr_bn(work.z, PR_MUL, work.z, work.presig.k));
		if (i % 2 == key_odd)
			cr_assert(pr_bn(work.z, PR_NEGATE, work.z, NULL));
		cr_assert_eq(sr_presign_bip340_compute(curve, &work, key_odd, &view), -ERANGE);
	}
}

Test(presign, one_that_was_used_or_wiped_is_refused)
{
	struct sr_presign_key view = pr_key_view(&key);
	unsigned char digest[32] = { 1 };
	uint8_t recid = 0xee;

	memset(&work, 0, sizeof work);
	cr_assert_eq(sr_presign_ecdsa(curve, &work, &recid, digest, &view), -EINVAL);
	cr_assert_eq(recid, 0xee);
	cr_assert(wiped());
	cr_assert_eq(sr_presign_bip340(curve, hasher, &work, digest, 32, key.pubkey, &view),
		     -EINVAL);
	cr_assert(wiped());

	cr_assert(pr_presig_make(&work.presig, curve, 0));
	cr_assert_eq(sr_presign_ecdsa(curve, &work, &recid, digest, &view), 0);
	cr_assert_eq(sr_presign_ecdsa(curve, &work, &recid, digest, &view), -EINVAL, "twice");
	cr_assert(wiped());
}

Test(presign, operands_that_are_no_scalars_are_refused_and_wiped)
{
	struct sr_presign_key view = pr_key_view(&key);
	unsigned char *const operands[] = { key.d,		key.b,		key.bd,
					    work.presig.r,	work.presig.u,	work.presig.ur,
					    work.presig.k };
	unsigned char digest[32], kept[32];
	uint8_t recid;

	cr_assert(pr_random(digest, sizeof digest));
	for (size_t i = 0; i < sizeof operands / sizeof operands[0]; i++)
		for (int edge = 0; edge < 6; edge++) {
			cr_assert(pr_presig_make(&work.presig, curve, edge & 1));
			memcpy(kept, operands[i], 32);
			if (edge / 2 == 0)
				pr_small(operands[i], 0);
			else if (edge / 2 == 1)
				pr_near_order(operands[i], 0);
			else
				memset(operands[i], 0xff, 32);
			if (edge % 2)
				cr_assert_eq(sr_presign_ecdsa(curve, &work, &recid, digest, &view),
					     -EBADMSG, "operand %zu, edge %d", i, edge);
			else
				cr_assert_eq(sr_presign_bip340(curve, hasher, &work, digest, 32,
							       key.pubkey, &view),
					     -EBADMSG, "operand %zu, edge %d", i, edge);
			cr_assert(wiped());
			memcpy(operands[i], kept, 32);
		}
}

/* ---- faults ---- */

enum when { BEFORE, BETWEEN };

struct fault {
	const char *name;
	unsigned char *field;
	enum when when;
	bool spent; /* not looked at from here on: what leaves is the right signature */
	uint32_t bits;
};

static unsigned int tried, caught;

struct scheme {
	int (*compute)(void);
	int (*check)(void);
};

static uint32_t key_odd;

static int ecdsa_compute(void)
{
	struct sr_presign_key view = pr_key_view(&key);

	return sr_presign_ecdsa_compute(curve, &work, &view);
}

static int ecdsa_check(void)
{
	struct sr_presign_key view = pr_key_view(&key);

	return sr_presign_ecdsa_check(curve, &work, &view);
}

static int bip340_compute(void)
{
	struct sr_presign_key view = pr_key_view(&key);

	return sr_presign_bip340_compute(curve, &work, key_odd, &view);
}

static int bip340_check(void)
{
	struct sr_presign_key view = pr_key_view(&key);

	return sr_presign_bip340_check(curve, &work, key_odd, &view);
}

static const struct scheme ecdsa = { ecdsa_compute, ecdsa_check };
static const struct scheme bip340 = { bip340_compute, bip340_check };

/* With one bit flipped: refused, or spent and without effect. */
static void flip(const struct scheme *scheme, const struct fault *fault, uint32_t bit)
{
	const struct sr_presign_work good_work = work;
	const struct pr_key good_key = key;
	unsigned char sig[64];
	int ret;

	cr_assert_eq(scheme->compute(), 0);
	cr_assert_eq(scheme->check(), 0);
	memcpy(sig, work.sig, sizeof sig);
	work = good_work;

	if (fault->when == BEFORE)
		fault->field[bit / 8] ^= (unsigned char)(1u << bit % 8);
	ret = scheme->compute();
	if (fault->when == BETWEEN) {
		cr_assert_eq(ret, 0);
		fault->field[bit / 8] ^= (unsigned char)(1u << bit % 8);
	}
	if (!ret)
		ret = scheme->check();
	tried++;
	if (fault->spent) {
		cr_assert_eq(ret, 0, "%s, bit %u", fault->name, bit);
		cr_assert_arr_eq(work.sig, sig, sizeof sig, "%s, bit %u", fault->name, bit);
	} else {
		caught++;
		cr_assert(ret == -EBADMSG || ret == -ERANGE, "%s, bit %u leaves (%d)", fault->name,
			  bit, ret);
	}
	work = good_work;
	key = good_key;
}

static void flip_all(const struct scheme *scheme, const struct fault *faults, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (uint32_t bit = 0; bit < faults[i].bits; bit++)
			flip(scheme, &faults[i], bit);
}

/* A presignature and a digest whose s is flipped to be low, or is not. */
static void make_ecdsa_case(uint32_t odd, uint32_t flipped)
{
	do {
		memset(&work, 0, sizeof work);
		cr_assert(pr_presig_make(&work.presig, curve, odd));
		cr_assert(pr_random(work.z, 32));
		memcpy(work.z_again, work.z, 32);
		cr_assert_eq(ecdsa_compute(), 0);
	} while (work.flipped != flipped);
	memset(work.sig, 0, sizeof work.sig);
	memset(work.scratch, 0, sizeof work.scratch);
	work.flipped = 0;
}

#define FLAG_BITS (8 * (uint32_t)sizeof(uint32_t))

Test(presign, every_flipped_bit_of_ecdsa_is_caught)
{
	const struct fault faults[] = {
		{ "d", key.d, BEFORE, false, 256 },
		{ "b", key.b, BEFORE, false, 256 },
		{ "b*d", key.bd, BEFORE, false, 256 },
		{ "k", work.presig.k, BEFORE, false, 256 },
		{ "u", work.presig.u, BEFORE, false, 256 },
		{ "r", work.presig.r, BEFORE, false, 256 },
		{ "u*r", work.presig.ur, BEFORE, false, 256 },
		{ "z", work.z, BEFORE, false, 256 },
		{ "z again", work.z_again, BEFORE, false, 256 },
		{ "r that leaves", work.sig, BETWEEN, false, 256 },
		{ "s that leaves", work.sig + 32, BETWEEN, false, 256 },
		{ "k later", work.presig.k, BETWEEN, false, 256 },
		{ "b later", key.b, BETWEEN, false, 256 },
		{ "b*d later", key.bd, BETWEEN, false, 256 },
		{ "z again, later", work.z_again, BETWEEN, false, 256 },
		{ "flipped", (unsigned char *)&work.flipped, BETWEEN, false, FLAG_BITS },
		{ "d later", key.d, BETWEEN, true, 256 },
		{ "u later", work.presig.u, BETWEEN, true, 256 },
		{ "u*r later", work.presig.ur, BETWEEN, true, 256 },
		{ "r later", work.presig.r, BETWEEN, true, 256 },
		{ "z later", work.z, BETWEEN, true, 256 },
	};

	for (uint32_t i = 0; i < 64; i++) {
		make_ecdsa_case(i % 2, i / 2 % 2);
		flip_all(&ecdsa, faults, sizeof faults / sizeof faults[0]);
	}
	cr_assert_eq(tried, 64 * (20 * 256 + 32));
	cr_assert_eq(caught, 64 * (15 * 256 + 32));
}

Test(presign, every_flipped_bit_of_bip340_is_caught)
{
	const struct fault faults[] = {
		{ "d", key.d, BEFORE, false, 256 },
		{ "b", key.b, BEFORE, false, 256 },
		{ "b*d", key.bd, BEFORE, false, 256 },
		{ "k", work.presig.k, BEFORE, false, 256 },
		{ "u", work.presig.u, BEFORE, false, 256 },
		{ "u*r", work.presig.ur, BEFORE, false, 256 },
		{ "r", work.sig, BEFORE, false, 256 },
		{ "e", work.z, BEFORE, false, 256 },
		{ "e again", work.z_again, BEFORE, false, 256 },
		{ "r that leaves", work.sig, BETWEEN, false, 256 },
		{ "s that leaves", work.sig + 32, BETWEEN, false, 256 },
		{ "u later", work.presig.u, BETWEEN, false, 256 },
		{ "u*r later", work.presig.ur, BETWEEN, false, 256 },
		{ "b later", key.b, BETWEEN, false, 256 },
		{ "b*d later", key.bd, BETWEEN, false, 256 },
		{ "e again, later", work.z_again, BETWEEN, false, 256 },
		{ "parity later", (unsigned char *)&work.presig.odd, BETWEEN, false, FLAG_BITS },
		{ "k later", work.presig.k, BETWEEN, true, 256 },
		{ "d later", key.d, BETWEEN, true, 256 },
		{ "e later", work.z, BETWEEN, true, 256 },
	};

	for (uint32_t i = 0; i < 64; i++) {
		key_odd = i / 2 % 2;
		cr_assert(pr_key_make(&key, curve, key_odd));
		memset(&work, 0, sizeof work);
		cr_assert(pr_presig_make(&work.presig, curve, i % 2));
		memcpy(work.sig, work.presig.r, 32);
		cr_assert(pr_random(work.z, 32));
		memcpy(work.z_again, work.z, 32);
		flip_all(&bip340, faults, sizeof faults / sizeof faults[0]);
	}
	cr_assert_eq(tried, 64 * (19 * 256 + 32));
	cr_assert_eq(caught, 64 * (16 * 256 + 32));
}

/* Through the whole call, as a fault in memory that lasts: nothing but an error
 * leaves, and nothing is left behind. */
Test(presign, every_flipped_bit_of_what_is_stored_is_refused_and_wiped)
{
	struct sr_presign_key view = pr_key_view(&key);
	const struct fault faults[] = {
		{ "d", key.d, BEFORE, false, 256 },
		{ "b", key.b, BEFORE, false, 256 },
		{ "b*d", key.bd, BEFORE, false, 256 },
		{ "presignature", (unsigned char *)&work.presig, BEFORE, false,
		  8 * sizeof work.presig },
	};
	unsigned char digest[32];

	for (uint32_t i = 0; i < 16; i++) {
		struct sr_presign_work good_work;
		struct pr_key good_key;

		cr_assert(pr_key_make(&key, curve, i / 2 % 2));
		cr_assert(pr_random(digest, sizeof digest));
		memset(&work, 0, sizeof work);
		cr_assert(pr_presig_make(&work.presig, curve, i % 2));
		good_work = work;
		good_key = key;
		for (size_t f = 0; f < sizeof faults / sizeof faults[0]; f++)
			for (uint32_t bit = 0; bit < faults[f].bits; bit++) {
				uint8_t recid = 0xee;
				int ret;

				faults[f].field[bit / 8] ^= (unsigned char)(1u << bit % 8);
				if (i / 4 % 2)
					ret = sr_presign_ecdsa(curve, &work, &recid, digest, &view);
				else
					ret = sr_presign_bip340(curve, hasher, &work, digest, 32,
								good_key.pubkey, &view);
				cr_assert(ret == -EBADMSG || ret == -ERANGE || ret == -EINVAL,
					  "%s, bit %u leaves (%d)", faults[f].name, bit, ret);
				cr_assert(wiped(), "%s, bit %u", faults[f].name, bit);
				cr_assert_eq(recid, 0xee);
				work = good_work;
				key = good_key;
			}
	}
}

/* Why the check is blinded: s*k = z + r*d holds for a wrong d, r or z as well. */
Test(presign, unblinded_check_would_let_faults_pass)
{
	unsigned char left[32], right[32];
	struct pr_key wrong;

	make_ecdsa_case(0, 0);
	wrong = key;
	wrong.d[7] ^= 0x10;
	key = wrong;
	cr_assert_eq(ecdsa_compute(), 0);
	cr_assert_eq(work.flipped <= 1, true);
	cr_assert(pr_bn(left, PR_MUL, work.sig + 32, work.presig.k));
	if (work.flipped)
		cr_assert(pr_bn(left, PR_NEGATE, left, NULL));
	cr_assert(pr_bn(right, PR_MUL, work.presig.r, key.d));
	cr_assert(pr_bn(right, PR_ADD, right, work.z));
	cr_assert_arr_eq(left, right, sizeof left, "both sides share the fault");
	cr_assert_eq(ecdsa_check(), -EBADMSG);
}

/* ---- what is left on the stack ---- */

static unsigned char dead[PR_DEAD_BYTES];
static struct pr_needles needles;

static void collect(const struct sr_presig *presig)
{
	memset(&needles, 0, sizeof needles);
	pr_needle_add(&needles, key.d);
	pr_needle_add(&needles, key.b);
	pr_needle_add(&needles, key.bd);
	pr_needle_add(&needles, presig->k);
	pr_needle_add(&needles, presig->u);
	pr_needle_add(&needles, presig->ur);
}

static SR_NOINLINE void leave_behind(const unsigned char secret[32])
{
	unsigned char copy[32];

	for (size_t i = 0; i < 32; i++)
		copy[31 - i] = secret[i];
	__asm__ volatile("" ::"r"(copy) : "memory");
}

/* s and n - s both fit the equation: only the low one may leave. */
Test(presign, high_s_does_not_pass_the_check)
{
	struct sr_presign_key view = pr_key_view(&key);
	unsigned char high[32];

	for (uint32_t odd = 0; odd < 2; odd++) {
		cr_assert(pr_presig_make(&work.presig, curve, odd));
		memset(work.z, 0x31, sizeof work.z);
		memset(work.z_again, 0x31, sizeof work.z_again);
		cr_assert_eq(sr_presign_ecdsa_compute(curve, &work, &view), 0);
		cr_assert_eq(sr_presign_ecdsa_check(curve, &work, &view), 0);
		cr_assert(sr_scalar_negate(high, work.sig + 32));
		memcpy(work.sig + 32, high, sizeof high);
		work.flipped ^= 1;
		cr_assert_eq(sr_presign_ecdsa_check(curve, &work, &view), -EBADMSG);
	}
}

Test(presign, no_secret_is_left_on_the_stack)
{
	struct sr_presign_key view = pr_key_view(&key);
	static unsigned char digest[32];
	uint8_t recid;
	int ret;

	if (PR_SANITIZED)
		skip("sanitizers keep frames elsewhere");
	collect(&work.presig);
	pr_stack_clean();
	leave_behind(key.d);
	PR_STACK_COPY(dead);
	cr_assert(pr_needles_found(&needles, dead, sizeof dead) >= 4, "the search sees nothing");

	for (uint32_t i = 0; i < 100; i++) {
		cr_assert(pr_random(digest, sizeof digest));
		cr_assert(pr_presig_make(&work.presig, curve, i % 2));
		collect(&work.presig);
		if (i % 5 == 0)
			work.presig.ur[9] ^= 4; /* also when it is refused */
		pr_stack_clean();
		if (i / 2 % 2)
			ret = sr_presign_ecdsa(curve, &work, &recid, digest, &view);
		else
			ret = sr_presign_bip340(curve, hasher, &work, digest, 32, key.pubkey,
						&view);
		PR_STACK_COPY(dead);
		cr_assert_eq(ret, i % 5 == 0 ? -EBADMSG : 0);
		cr_assert_eq(pr_needles_found(&needles, dead, sizeof dead), 0, "round %u", i);
	}
}
