/* SPDX-License-Identifier: MIT */
#include <openssl/err.h>

#include "session_rig.h"
#include "sr_aead.h"

#define TEXT_MAX 336u

static const unsigned char zeros[SR_AEAD_KEY_BYTES];
static unsigned char key[SR_AEAD_KEY_BYTES], ad[24], text[TEXT_MAX];

static void setup(void)
{
	for (size_t i = 0; i < sizeof key; i++)
		key[i] = (unsigned char)i;
	for (size_t i = 0; i < sizeof ad; i++)
		ad[i] = (unsigned char)(64 + i);
	for (size_t i = 0; i < sizeof text; i++)
		text[i] = (unsigned char)(7 * i);
}

TestSuite(aead, .init = setup);

static struct sr_aead sealer(const unsigned char with[SR_AEAD_KEY_BYTES])
{
	struct sr_aead aead;

	cr_assert_eq(sr_aead_init(&aead, SR_AEAD_SEAL, with), 0);
	return aead;
}

static struct sr_aead opener(const unsigned char with[SR_AEAD_KEY_BYTES])
{
	struct sr_aead aead;

	cr_assert_eq(sr_aead_init(&aead, SR_AEAD_OPEN, with), 0);
	return aead;
}

/* Test cases 13 and 14 of McGrew and Viega's GCM specification: key 0, nonce 0. */
static void check_zero_key(struct sr_aead *seal)
{
	unsigned char out[16], tag[16], expected[16];

	cr_assert_eq(sr_aead_seal(seal, NULL, tag, 0, NULL, 0, NULL, 0), 0);
	(void)rig_unhex(expected, sizeof expected, "530f8afbc74536b9a963b4f1c4cb738b");
	cr_assert_arr_eq(tag, expected, 16);

	cr_assert_eq(sr_aead_seal(seal, out, tag, 0, NULL, 0, zeros, 16), 0);
	(void)rig_unhex(expected, sizeof expected, "cea7403d4d606b6e074ec5d3baf39d18");
	cr_assert_arr_eq(out, expected, 16);
	(void)rig_unhex(expected, sizeof expected, "d0d1c8a799996bf0265b98b5d48ab919");
	cr_assert_arr_eq(tag, expected, 16);
}

Test(aead, gives_the_answers_of_the_gcm_specification)
{
	struct sr_aead seal = sealer(zeros);

	check_zero_key(&seal);
	sr_aead_wipe(&seal);
}

struct answer {
	size_t bytes, ad_bytes;
	const char *head; /* of the ciphertext */
	const char *last;
	const char *tag;
};

/* By an implementation in Python that follows FIPS 197 and SP 800-38D bit by bit
 * and gives the answers above: NIST's own cases have nonces that ours never are. */
static const struct answer answers[] = {
	{ 336, 24, "04566b1bc1c223af3ba0bba24a3c5b99", "661ee6c1a06d1a1c3c678f8daa079634",
	  "746cee8215422eb51f982b98c7aea979" },
	{ 96, 16, "04566b1bc1c223af3ba0bba24a3c5b99", "ea13009bf1360b8aa6f8b1d670e5ec3e",
	  "cf5449539d642da1909eae6467f46a16" },
	{ 13, 0, "04566b1bc1c223af3ba0bba24a", NULL, "bc5d7467fa45e3e4325dd5a27b7869c0" },
	{ 0, 24, NULL, NULL, "a5bb73d064d3104307e73711659ce49f" },
};

#define ANSWER_NUMBER 0x0102030405060708u

Test(aead, gives_known_answers_at_the_sizes_of_records)
{
	struct sr_aead seal = sealer(key), open = opener(key);
	unsigned char out[TEXT_MAX], tag[16], expected[16], clear[TEXT_MAX];

	for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
		const struct answer *want = &answers[i];

		cr_assert_eq(sr_aead_seal(&seal, out, tag, ANSWER_NUMBER, ad, want->ad_bytes, text,
					  want->bytes),
			     0);
		(void)rig_unhex(expected, sizeof expected, want->tag);
		cr_assert_arr_eq(tag, expected, 16, "%zu bytes", want->bytes);
		if (want->head) {
			(void)rig_unhex(expected, sizeof expected, want->head);
			cr_assert_arr_eq(out, expected, strlen(want->head) / 2);
		}
		if (want->last) {
			(void)rig_unhex(expected, sizeof expected, want->last);
			cr_assert_arr_eq(out + want->bytes - 16, expected, 16);
		}
		cr_assert_eq(sr_aead_open(&open, clear, tag, ANSWER_NUMBER, ad, want->ad_bytes, out,
					  want->bytes),
			     0);
		cr_assert_arr_eq(clear, text, want->bytes);
	}
	sr_aead_wipe(&seal);
	sr_aead_wipe(&open);
}

Test(aead, works_in_place)
{
	struct sr_aead seal = sealer(key), open = opener(key);
	unsigned char apart[96], apart_tag[16], place[96], tag[16];

	memcpy(place, text, sizeof place);
	cr_assert_eq(sr_aead_seal(&seal, apart, apart_tag, 7, ad, sizeof ad, text, 96), 0);
	cr_assert_eq(sr_aead_seal(&seal, place, tag, 7, ad, sizeof ad, place, 96), 0);
	cr_assert_arr_eq(place, apart, 96);
	cr_assert_arr_eq(tag, apart_tag, 16);
	cr_assert_eq(sr_aead_open(&open, place, tag, 7, ad, sizeof ad, place, 96), 0);
	cr_assert_arr_eq(place, text, 96);
	sr_aead_wipe(&seal);
	sr_aead_wipe(&open);
}

/* Refused, and not a byte of text is left to be taken for one. */
static void check_refused(struct sr_aead *open, const unsigned char *tag, uint64_t n,
			  const unsigned char *with_ad, size_t ad_bytes, const unsigned char *in,
			  size_t bytes)
{
	unsigned char out[TEXT_MAX];

	memset(out, 0x5a, sizeof out);
	cr_assert_eq(sr_aead_open(open, out, tag, n, with_ad, ad_bytes, in, bytes), -EBADMSG);
	for (size_t i = 0; i < bytes; i++)
		cr_assert_eq(out[i], 0);
}

Test(aead, refuses_every_flipped_bit_and_leaves_no_text)
{
	struct sr_aead seal = sealer(key), open = opener(key);
	unsigned char sealed[96], tag[16];

	cr_assert_eq(sr_aead_seal(&seal, sealed, tag, 9, ad, sizeof ad, text, 96), 0);
	for (size_t bit = 0; bit < 8 * sizeof sealed; bit++) {
		sealed[bit / 8] ^= (unsigned char)(1 << bit % 8);
		check_refused(&open, tag, 9, ad, sizeof ad, sealed, 96);
		sealed[bit / 8] ^= (unsigned char)(1 << bit % 8);
	}
	for (size_t bit = 0; bit < 8 * sizeof tag; bit++) {
		tag[bit / 8] ^= (unsigned char)(1 << bit % 8);
		check_refused(&open, tag, 9, ad, sizeof ad, sealed, 96);
		tag[bit / 8] ^= (unsigned char)(1 << bit % 8);
	}
	for (size_t bit = 0; bit < 8 * sizeof ad; bit++) {
		ad[bit / 8] ^= (unsigned char)(1 << bit % 8);
		check_refused(&open, tag, 9, ad, sizeof ad, sealed, 96);
		ad[bit / 8] ^= (unsigned char)(1 << bit % 8);
	}
	for (size_t bit = 0; bit < 63; bit++)
		check_refused(&open, tag, 9 ^ 1ull << bit, ad, sizeof ad, sealed, 96);
	check_refused(&open, tag, 9, ad, sizeof ad - 1, sealed, 96);
	check_refused(&open, tag, 9, ad, sizeof ad, sealed, 95);
	sr_aead_wipe(&seal);
	sr_aead_wipe(&open);
}

Test(aead, refusal_leaves_openssls_error_queue_empty)
{
	struct sr_aead seal = sealer(key), open = opener(key);
	unsigned char sealed[96], tag[16];

	cr_assert_eq(sr_aead_seal(&seal, sealed, tag, 9, ad, sizeof ad, text, 96), 0);
	check_refused(&open, tag, 8, ad, sizeof ad, sealed, 96);
	cr_assert_eq(ERR_peek_error(), 0);
	sr_aead_wipe(&seal);
	sr_aead_wipe(&open);
}

Test(aead, context_works_one_way_only)
{
	struct sr_aead seal = sealer(key), open = opener(key);
	unsigned char out[16] = { 1 }, tag[16] = { 2 };

	cr_assert_eq(sr_aead_seal(&open, out, tag, 0, NULL, 0, text, 16), -EINVAL);
	cr_assert_eq(sr_aead_open(&seal, out, tag, 0, NULL, 0, text, 16), -EINVAL);
	cr_assert(out[0] == 1 && tag[0] == 2, "untouched");
	sr_aead_wipe(&seal);
	sr_aead_wipe(&open);
}

Test(aead, lengths_and_numbers_are_bounded)
{
	static unsigned char much[SR_AEAD_BYTES_MAX + 1];
	struct sr_aead seal = sealer(key), open = opener(key);
	unsigned char tag[16] = { 2 };

	cr_assert_eq(sr_aead_seal(&seal, much, tag, 0, NULL, 0, much, sizeof much), -EINVAL);
	cr_assert_eq(sr_aead_seal(&seal, much, tag, 0, much, sizeof much, NULL, 0), -EINVAL);
	cr_assert_eq(sr_aead_seal(&seal, much, tag, UINT64_MAX, NULL, 0, much, 1), -EINVAL);
	cr_assert_eq(sr_aead_open(&open, much, tag, 0, NULL, 0, much, SIZE_MAX), -EINVAL);
	cr_assert_eq(sr_aead_open(&open, much, tag, 0, much, sizeof much, NULL, 0), -EINVAL);
	cr_assert_eq(sr_aead_open(&open, much, tag, UINT64_MAX, NULL, 0, much, 1), -EINVAL);
	cr_assert_eq(tag[0], 2);
	cr_assert_eq(sr_aead_seal(&seal, much, tag, SR_AEAD_NUMBER_MAX, NULL, 0, much,
				  SR_AEAD_BYTES_MAX),
		     0);
	sr_aead_wipe(&seal);
	sr_aead_wipe(&open);
}

Test(aead, next_key_is_noises_rekey_whichever_way)
{
	struct sr_aead seal = sealer(key), open = opener(key), seal_next = sealer(zeros),
		       open_next = opener(zeros), known;
	unsigned char expected[32], scratch[32], out[96], tag[16], out_known[96], tag_known[16];

	cr_assert_eq(sr_aead_next(&seal_next, &seal, scratch), 0);
	cr_assert_arr_eq(scratch, zeros, 32, "scratch is wiped");
	cr_assert_eq(sr_aead_next(&open_next, &open, scratch), 0);
	cr_assert_arr_eq(scratch, zeros, 32, "scratch is wiped");

	(void)rig_unhex(expected, sizeof expected,
			"0201675c87335949b909793da5bb4d92fcf6d44b92a6e0792b6ae48b1881259d");
	known = sealer(expected);
	cr_assert_eq(sr_aead_seal(&seal_next, out, tag, 3, ad, 24, text, 96), 0);
	cr_assert_eq(sr_aead_seal(&known, out_known, tag_known, 3, ad, 24, text, 96), 0);
	cr_assert_arr_eq(out, out_known, 96);
	cr_assert_arr_eq(tag, tag_known, 16);
	cr_assert_eq(sr_aead_open(&open_next, out, tag, 3, ad, 24, out, 96), 0);

	/* What it came from goes on as before. */
	cr_assert_eq(sr_aead_seal(&seal, out, tag, 3, ad, 24, text, 96), 0);
	cr_assert_eq(sr_aead_open(&open, out, tag, 3, ad, 24, out, 96), 0);
	sr_aead_wipe(&seal);
	sr_aead_wipe(&open);
	sr_aead_wipe(&seal_next);
	sr_aead_wipe(&open_next);
	sr_aead_wipe(&known);
}

Test(aead, forgotten_key_is_overwritten_with_zeros)
{
	struct sr_aead seal = sealer(key);

	sr_aead_forget(&seal);
	check_zero_key(&seal);
	sr_aead_wipe(&seal);
	cr_assert_null(seal.ctx);
	sr_aead_wipe(&seal);
}

/* Sealed under @n, with and without a nonce that was set ahead for @ready. */
static void check_prepared(uint64_t ready, uint64_t n)
{
	struct sr_aead plain = sealer(key), ahead = sealer(key), open = opener(key);
	unsigned char out[2][96], tag[2][16], clear[96];

	sr_aead_prepare(&ahead, ready);
	sr_aead_prepare(&open, ready);
	for (int twice = 0; twice < 2; twice++) {
		cr_assert_eq(sr_aead_seal(&plain, out[0], tag[0], n, ad, 24, text, 96), 0);
		cr_assert_eq(sr_aead_seal(&ahead, out[1], tag[1], n, ad, 24, text, 96), 0);
		cr_assert_arr_eq(out[1], out[0], 96);
		cr_assert_arr_eq(tag[1], tag[0], 16);
		cr_assert_eq(sr_aead_open(&open, clear, tag[0], n, ad, 24, out[0], 96), 0);
		n++;
	}
	sr_aead_wipe(&plain);
	sr_aead_wipe(&ahead);
	sr_aead_wipe(&open);
}

Test(aead, preparing_changes_no_result)
{
	check_prepared(5, 5);
	check_prepared(5, 6);
	check_prepared(5, 4);
}

Test(aead, prepared_nonce_serves_one_call_even_if_it_is_refused)
{
	struct sr_aead seal = sealer(key), open = opener(key);
	unsigned char sealed[96], tag[16], out[96];

	cr_assert_eq(sr_aead_seal(&seal, sealed, tag, 5, ad, 24, text, 96), 0);
	sr_aead_prepare(&open, 5);
	tag[3] ^= 1;
	check_refused(&open, tag, 5, ad, 24, sealed, 96);
	tag[3] ^= 1;
	cr_assert_eq(sr_aead_open(&open, out, tag, 5, ad, 24, sealed, 96), 0);
	cr_assert_arr_eq(out, text, 96);
	sr_aead_wipe(&seal);
	sr_aead_wipe(&open);
}

Test(aead, prepared_nonce_does_not_outlive_the_key)
{
	struct sr_aead from = sealer(key), to = sealer(key), plain = sealer(key);
	unsigned char out[2][16], tag[2][16], scratch[32];

	/* Number 2^64 - 1 has been set where 5 was. */
	sr_aead_prepare(&from, 5);
	sr_aead_prepare(&to, 5);
	cr_assert_eq(sr_aead_next(&to, &from, scratch), 0);
	cr_assert_eq(sr_aead_seal(&from, out[0], tag[0], 5, NULL, 0, text, 16), 0);
	cr_assert_eq(sr_aead_seal(&plain, out[1], tag[1], 5, NULL, 0, text, 16), 0);
	cr_assert_arr_eq(out[0], out[1], 16);
	cr_assert(!to.is_ready);
	sr_aead_prepare(&to, 0);
	sr_aead_forget(&to);
	cr_assert(!to.is_ready);
	check_zero_key(&to);
	sr_aead_wipe(&from);
	sr_aead_wipe(&to);
	sr_aead_wipe(&plain);
}

Test(aead, nothing_is_allocated_in_use)
{
	struct sr_aead seal, open;
	unsigned char out[TEXT_MAX], tag[16], scratch[32];
	unsigned long before;
	int bad = 0;

	rig_need_allocation_count();
	seal = sealer(key);
	open = opener(key);
	before = rig_allocations;
	for (uint64_t n = 0; n < 100; n++) {
		sr_aead_prepare(&seal, n);
		sr_aead_prepare(&open, n);
		bad |= sr_aead_seal(&seal, out, tag, n, ad, sizeof ad, text, TEXT_MAX);
		bad |= sr_aead_open(&open, out, tag, n, ad, sizeof ad, out, TEXT_MAX);
		bad |= sr_aead_open(&open, out, tag, n, ad, sizeof ad, out, TEXT_MAX) != -EBADMSG;
		bad |= sr_aead_next(&seal, &seal, scratch);
		bad |= sr_aead_next(&open, &open, scratch);
	}
	sr_aead_forget(&seal);
	cr_assert_eq(rig_allocations, before);
	cr_assert_eq(bad, 0);
	sr_aead_wipe(&seal);
	sr_aead_wipe(&open);
}
