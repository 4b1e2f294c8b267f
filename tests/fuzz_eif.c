/* SPDX-License-Identifier: MIT */
/*
 * fuzz_eif.c - enclave images that somebody else has made.
 *
 * Bytes as they are, and as an image whose header, sections and checksum are right, for
 * what lies behind those: the input's first byte says how many ramdisks it has, whether a
 * signature, and whether a number of the header is another; the rest is cut into sections.
 */
#include "sr_eif.h"

#define FUZZ_NAME "eif"
#define FUZZ_INPUT_BYTES 2048u
#include "fuzz_main.h"

#define HEADER 548u
#define SECTION 12u

static void put_big(unsigned char *out, uint64_t value, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++)
		out[i] = (unsigned char)(value >> 8 * (bytes - 1 - i));
}

static uint32_t crc32_of(const unsigned char *data, size_t bytes, uint32_t crc)
{
	for (size_t i = 0; i < bytes; i++) {
		crc ^= data[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return crc;
}

static void measure(const unsigned char *data, size_t bytes)
{
	struct sr_reason why = { 0, "" };
	struct sr_eif eif;
	int ret = sr_eif_measure(&eif, data, bytes, &why);

	require(ret == 0 || ret == -EBADMSG, "an error that is not due");
	require((ret == 0) == (why.text[0] == '\0'), "a verdict without its reason");
}

static void measure_made(const unsigned char *data, size_t bytes)
{
	static unsigned char file[HEADER + 8 * SECTION + FUZZ_INPUT_BYTES];
	unsigned int ramdisks = 1 + (data[0] & 3u), count = 2 + ramdisks + (data[0] >> 2 & 1u);
	size_t at = HEADER, share = (bytes - 1) / count;

	memset(file, 0, HEADER);
	memcpy(file, ".eif", 4);
	put_big(file + 4, 4, 2);
	put_big(file + 26, count, 2);
	for (unsigned int i = 0; i < count; i++) {
		unsigned int type = i == 0 ? 1 : i == 1 ? 2 : i < 2 + ramdisks ? 3 : 4;

		put_big(file + 28 + 8 * i, at, 8);
		put_big(file + 284 + 8 * i, share, 8);
		put_big(file + at, type, 2);
		put_big(file + at + 2, 0, 2);
		put_big(file + at + 4, share, 8);
		memcpy(file + at + SECTION, data + 1 + i * share, share);
		at += SECTION + share;
	}
	if (data[0] & 8u && bytes > 3)
		put_big(file + (data[1] * 256u + data[2]) % (HEADER - 8), data[3],
			data[0] & 16u ? 8 : 1);
	put_big(file + 544,
		crc32_of(file + HEADER, at - HEADER, crc32_of(file, 544, 0xffffffffu)) ^ 0xffffffffu,
		4);
	measure(file, at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	measure(data, bytes);
	if (bytes > 0 && bytes <= FUZZ_INPUT_BYTES)
		measure_made(data, bytes);
	return 0;
}
