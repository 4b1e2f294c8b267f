/* SPDX-License-Identifier: MIT */
#include "sr_hex.h"

#include "sr_ct.h"
#include "sr_secret.h"

/*
 * The value of a hexadecimal digit, by arithmetic alone: the top bit of a range's
 * two differences is 0 inside it, and becomes a mask of all ones. *bad gets all
 * ones for a character that lies in neither range.
 */
static uint32_t unhex_digit(uint32_t c, uint32_t *bad)
{
	uint32_t letter = (c & ~0x20u) - 'A';
	uint32_t is_number = (((c - '0') | ('9' - c)) >> 31) - 1u;
	uint32_t is_letter = ((letter | (5u - letter)) >> 31) - 1u;

	*bad |= ~(is_number | is_letter);
	return (is_number & (c - '0')) | (is_letter & (letter + 10u));
}

int sr_unhex_secret(unsigned char out[SR_HEX_SECRET_BYTES],
		    const char digits[SR_HEX_SECRET_DIGITS])
{
	uint32_t bad = 0;

	for (unsigned int i = 0; i < SR_HEX_SECRET_BYTES; i++) {
		uint32_t high = unhex_digit((unsigned char)digits[2 * i], &bad);
		uint32_t low = unhex_digit((unsigned char)digits[2 * i + 1], &bad);

		out[i] = (unsigned char)(high << 4 | low);
	}

	sr_declassify(&bad, sizeof bad);
	if (bad) {
		sr_wipe(out, SR_HEX_SECRET_BYTES);
		return -EINVAL;
	}
	return 0;
}

/* 'a' is 39 above where the digits would go on. */
void sr_hex_secret(char digits[SR_HEX_SECRET_DIGITS], const unsigned char in[SR_HEX_SECRET_BYTES])
{
	for (uint32_t i = 0; i < SR_HEX_SECRET_DIGITS; i++) {
		uint32_t v = i % 2 ? in[i / 2] & 15u : (uint32_t)in[i / 2] >> 4;

		digits[i] = (char)('0' + v + (39u & (0u - ((9u - v) >> 31))));
	}
}
