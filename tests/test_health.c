/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "presign_rig.h"
#include "sr_health.h"

#define WINDOW 512u

static struct sr_health health;

static void begin(void)
{
	sr_health_init(&health);
}

TestSuite(health, .init = begin);

/* Bytes that no test objects to: none repeats, none comes more than three times
 * in a window, and @avoid never. */
static void calm(unsigned char *bytes, size_t count, unsigned char avoid)
{
	for (size_t i = 0; i < count; i++) {
		bytes[i] = (unsigned char)(i * 7);
		if (bytes[i] == avoid)
			bytes[i] = (unsigned char)(avoid + 3);
	}
}

Test(health, calm_bytes_pass)
{
	unsigned char bytes[8 * WINDOW];

	calm(bytes, sizeof bytes, 1);
	cr_assert(sr_health_feed(&health, bytes, sizeof bytes));
	cr_assert(sr_health_feed(&health, bytes, 0));
}

Test(health, byte_that_comes_five_times_passes_and_six_times_fails)
{
	static const unsigned char values[] = { 0x00, 0x01, 0x80, 0xff };
	unsigned char bytes[100];

	for (size_t v = 0; v < sizeof values; v++)
		for (size_t at = 0; at + 6 <= sizeof bytes; at++) {
			calm(bytes, sizeof bytes, values[v]);
			memset(bytes + at, values[v], 5);
			sr_health_init(&health);
			cr_assert(sr_health_feed(&health, bytes, sizeof bytes), "5 of %x at %zu",
				  values[v], at);
			bytes[at + 5] = values[v];
			sr_health_init(&health);
			cr_assert_not(sr_health_feed(&health, bytes, sizeof bytes),
				      "6 of %x at %zu", values[v], at);
		}
}

Test(health, run_is_seen_across_calls)
{
	unsigned char stuck[6];

	memset(stuck, 0x33, sizeof stuck);
	for (size_t first = 1; first < 6; first++) {
		sr_health_init(&health);
		cr_assert(sr_health_feed(&health, stuck, first));
		cr_assert(sr_health_feed(&health, stuck, 5 - first));
		cr_assert_not(sr_health_feed(&health, stuck, 1), "%zu before", first);
	}
}

/* The byte that a window begins with, @times in all in this window, its last one
 * at the very end. */
static void crowd(unsigned char window[WINDOW], unsigned char value, unsigned int times)
{
	calm(window, WINDOW, value);
	for (unsigned int i = 0; i + 1 < times; i++)
		window[i * 25] = value;
	window[WINDOW - 1] = value;
}

Test(health, byte_that_fills_a_window_passes_19_times_and_fails_20_times)
{
	unsigned char window[WINDOW];

	for (unsigned int value = 0; value < 256; value += 51) {
		crowd(window, (unsigned char)value, 19);
		sr_health_init(&health);
		cr_assert(sr_health_feed(&health, window, sizeof window), "19 of %x", value);
		crowd(window, (unsigned char)value, 20);
		sr_health_init(&health);
		cr_assert_not(sr_health_feed(&health, window, sizeof window), "20 of %x", value);
	}
}

Test(health, each_window_counts_anew)
{
	unsigned char window[WINDOW];

	crowd(window, 0x42, 19);
	for (int i = 0; i < 10; i++)
		cr_assert(sr_health_feed(&health, window, sizeof window), "window %d", i);
	crowd(window, 0x42, 20);
	cr_assert_not(sr_health_feed(&health, window, sizeof window));
}

Test(health, window_is_seen_across_calls_of_any_size)
{
	unsigned char window[WINDOW];

	crowd(window, 0xee, 20);
	for (size_t piece = 1; piece < WINDOW; piece = piece * 3 + 1) {
		bool good = true;

		sr_health_init(&health);
		for (size_t at = 0; at < WINDOW; at += piece) {
			size_t left = WINDOW - at;

			cr_assert(good, "it fails at the 20th, not before");
			good = sr_health_feed(&health, window + at, left < piece ? left : piece);
		}
		cr_assert_not(good, "in pieces of %zu", piece);
	}
}

/* One hiccup must not condemn what a source gives afterwards. */
Test(health, good_bytes_after_a_failure_pass)
{
	unsigned char bytes[48];
	uint32_t n = 0;

	memset(bytes, 0x42, sizeof bytes);
	cr_assert_not(sr_health_feed(&health, bytes, sizeof bytes));
	for (int i = 0; i < 100; i++) {
		for (size_t j = 0; j < sizeof bytes; j++)
			bytes[j] = (unsigned char)(n++ * 7u);
		cr_assert(sr_health_feed(&health, bytes, sizeof bytes), "call %d", i);
	}
	memset(bytes, 0x42, sizeof bytes);
	cr_assert_not(sr_health_feed(&health, bytes, sizeof bytes), "and it watches again");
}

Test(health, counters_and_halves_are_not_what_it_can_see)
{
	unsigned char bytes[2 * WINDOW];

	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (unsigned char)i;
	cr_assert(sr_health_feed(&health, bytes, sizeof bytes), "no test can tell a clever one");
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (unsigned char)(i & 1);
	cr_assert_not(sr_health_feed(&health, bytes, sizeof bytes), "but two values are gross");
}

/* 2048 windows with a false alarm in 2^40 each, and 2^20 runs with one in 2^40:
 * once in a million times this fails without a reason. */
Test(health, mebibyte_of_the_system_passes)
{
	static unsigned char bytes[4096];

	for (int i = 0; i < 256; i++) {
		cr_assert(pr_random(bytes, sizeof bytes));
		cr_assert(sr_health_feed(&health, bytes, sizeof bytes), "block %d", i);
	}
}
