/* SPDX-License-Identifier: MIT */
#include "sr_bech32.h"

#define CHECKSUM_DIGITS 6u

static const char digits[] = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";

/* What five bits that leave at the top put back: sums of BIP-173's five generators, which
 * are the entries 1, 2, 4, 8 and 16. */
static const uint32_t remainders[32] = {
	0x00000000, 0x3b6a57b2, 0x26508e6d, 0x1d3ad9df, 0x1ea119fa, 0x25cb4e48, 0x38f19797,
	0x039bc025, 0x3d4233dd, 0x0628646f, 0x1b12bdb0, 0x2078ea02, 0x23e32a27, 0x18897d95,
	0x05b3a44a, 0x3ed9f3f8, 0x2a1462b3, 0x117e3501, 0x0c44ecde, 0x372ebb6c, 0x34b57b49,
	0x0fdf2cfb, 0x12e5f524, 0x298fa296, 0x1756516e, 0x2c3c06dc, 0x3106df03, 0x0a6c88b1,
	0x09f74894, 0x329d1f26, 0x2fa7c6f9, 0x14cd914b,
};

/* One step of the checksum: a remainder of polynomials over GF(32). */
static uint32_t step(uint32_t sum, unsigned int digit)
{
	return ((sum & 0x1ffffff) << 5 ^ digit) ^ remainders[sum >> 25];
}

static uint32_t prefix_sum(const char *prefix, size_t bytes)
{
	uint32_t sum = 1;

	for (size_t i = 0; i < bytes; i++)
		sum = step(sum, (unsigned char)prefix[i] >> 5);
	sum = step(sum, 0);
	for (size_t i = 0; i < bytes; i++)
		sum = step(sum, prefix[i] & 31);
	return sum;
}

static void digit_put(struct sr_out *out, uint32_t *sum, unsigned int digit)
{
	*sum = step(*sum, digit);
	sr_out_byte(out, (unsigned char)digits[digit]);
}

void sr_bech32_put(struct sr_out *out, const char *prefix, size_t prefix_bytes,
		   const unsigned char *data, size_t bytes)
{
	uint32_t sum = prefix_sum(prefix, prefix_bytes), bits = 0;
	unsigned int count = 0;

	sr_out_bytes(out, prefix, prefix_bytes);
	sr_out_byte(out, '1');
	for (size_t i = 0; i < bytes; i++) {
		bits = bits << 8 | data[i];
		for (count += 8; count >= 5; count -= 5)
			digit_put(out, &sum, bits >> (count - 5) & 31);
	}
	if (count)
		digit_put(out, &sum, bits << (5 - count) & 31);

	for (unsigned int i = 0; i < CHECKSUM_DIGITS; i++)
		sum = step(sum, 0);
	sum ^= 1;
	for (unsigned int i = CHECKSUM_DIGITS; i--;)
		sr_out_byte(out, (unsigned char)digits[sum >> 5 * i & 31]);
}

int sr_bech32_parse(unsigned char *data, size_t bytes, const char *prefix, const char *text,
		    size_t text_bytes)
{
	size_t prefix_bytes = strlen(prefix), used = 0, first = prefix_bytes + 1;
	unsigned char found[SR_BECH32_BYTES_MAX];
	uint32_t sum = prefix_sum(prefix, prefix_bytes), bits = 0;
	unsigned int count = 0;

	if (bytes > sizeof found || text_bytes != SR_BECH32_TEXT(prefix_bytes, bytes) ||
	    memcmp(text, prefix, prefix_bytes) || text[prefix_bytes] != '1')
		return -EINVAL;

	for (size_t i = first; i < text_bytes; i++) {
		const char *digit = text[i] ? strchr(digits, text[i]) : NULL;

		if (!digit)
			return -EINVAL;
		sum = step(sum, (unsigned int)(digit - digits));
		if (i >= text_bytes - CHECKSUM_DIGITS)
			continue;
		bits = bits << 5 | (uint32_t)(digit - digits);
		count += 5;
		if (count < 8)
			continue;
		count -= 8;
		found[used++] = (unsigned char)(bits >> count);
	}
	if (sum != 1 || used != bytes || bits & ((1u << count) - 1))
		return -EINVAL;
	memcpy(data, found, bytes);
	return 0;
}
