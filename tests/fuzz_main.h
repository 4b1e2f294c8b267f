/* SPDX-License-Identifier: MIT */
/*
 * fuzz_main.h - what the fuzz targets share. Define FUZZ_NAME, and FUZZ_INPUT_BYTES,
 * the longest input that is worth making.
 *
 * libFuzzer brings a main of its own (make fuzz). With -DSR_FUZZ_MAIN there is this
 * one, for a short run in `make test` and where there is no libFuzzer:
 *
 *	fuzz_NAME [seconds [seed]]
 *
 * Inputs are random bytes, every other one short; a target may define FUZZ_MAKE, a
 * function that makes better ones, and FUZZ_STOP, one to be called at the end.
 */
#ifndef FUZZ_MAIN_H
#define FUZZ_MAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "sr_clock.h"

#ifndef FUZZ_NAME
#define FUZZ_NAME "target"
#endif
#ifndef FUZZ_INPUT_BYTES
#define FUZZ_INPUT_BYTES 4096u
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

__attribute__((unused)) static void require(bool condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "fuzz_%s: %s\n", FUZZ_NAME, what);
	abort();
}

#ifdef SR_FUZZ_MAIN
/* xorshift64; a seed of 0 would give nothing but zeros. */
static uint64_t fuzz_state = 88172645463325252u;

static uint64_t fuzz_random(void)
{
	fuzz_state ^= fuzz_state << 13;
	fuzz_state ^= fuzz_state >> 7;
	fuzz_state ^= fuzz_state << 17;
	return fuzz_state;
}

#ifdef FUZZ_MAKE
static size_t FUZZ_MAKE(uint8_t *input, size_t room);
#else
#define FUZZ_MAKE fuzz_make
static size_t fuzz_make(uint8_t *input, size_t room)
{
	size_t bytes = fuzz_random() % (fuzz_random() & 1 ? 16 : room);

	for (size_t i = 0; i < bytes; i++)
		input[i] = (uint8_t)(fuzz_random() >> 32);
	return bytes;
}
#endif

int main(int argc, char **argv)
{
	uint64_t seconds = argc > 1 ? strtoull(argv[1], NULL, 10) : 5;
	uint64_t until_ns = sr_now_ns() + seconds * SR_NS_PER_S;
	static uint8_t input[FUZZ_INPUT_BYTES];
	uint64_t runs = 0;

	if (argc > 2)
		fuzz_state = strtoull(argv[2], NULL, 10);
	for (; sr_now_ns() < until_ns; runs++) {
		/* Where to start again, given as the second argument. */
		if (runs % 1000 == 0)
			fprintf(stderr, "fuzz_%s: run %llu, seed %llu\n", FUZZ_NAME,
				(unsigned long long)runs, (unsigned long long)fuzz_state);
		(void)LLVMFuzzerTestOneInput(input, FUZZ_MAKE(input, sizeof input));
	}
#ifdef FUZZ_STOP
	FUZZ_STOP();
#endif
	printf("ok fuzz/%s_finds_nothing\n# %llu runs\n", FUZZ_NAME, (unsigned long long)runs);
	return 0;
}
#endif

#endif /* FUZZ_MAIN_H */
