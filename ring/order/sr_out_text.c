/* SPDX-License-Identifier: MIT */
#include "sr_out_text.h"

void sr_out_hex(struct sr_out *out, const unsigned char *bytes, size_t count)
{
	static const char digits[] = "0123456789abcdef";
	unsigned char *at = out->data + out->used;

	if (count > (out->room - out->used) / 2) {
		out->full = true;
		return;
	}
	for (size_t i = 0; i < count; i++) {
		*at++ = (unsigned char)digits[bytes[i] >> 4];
		*at++ = (unsigned char)digits[bytes[i] & 15];
	}
	out->used += 2 * count;
}

void sr_out_0x(struct sr_out *out, const unsigned char *bytes, size_t count)
{
	SR_OUT_LITERAL(out, "0x");
	sr_out_hex(out, bytes, count);
}

void sr_out_base64(struct sr_out *out, const unsigned char *bytes, size_t count)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < count; i += 3) {
		size_t left = count - i;
		uint32_t v = (uint32_t)bytes[i] << 16;

		v |= left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0;
		v |= left > 2 ? bytes[i + 2] : 0;
		sr_out_byte(out, (unsigned char)digits[v >> 18]);
		sr_out_byte(out, (unsigned char)digits[v >> 12 & 63]);
		sr_out_byte(out, left > 1 ? (unsigned char)digits[v >> 6 & 63] : '=');
		sr_out_byte(out, left > 2 ? (unsigned char)digits[v & 63] : '=');
	}
}

void sr_out_number(struct sr_out *out, uint64_t v)
{
	char digits[SR_DECIMAL_TEXT_BYTES];

	sr_out_bytes(out, digits, sr_decimal_text(digits, v, 0));
}

void sr_out_scaled(struct sr_out *out, uint64_t v, unsigned int decimals)
{
	char digits[SR_DECIMAL_TEXT_BYTES];

	sr_out_bytes(out, digits, sr_decimal_text(digits, v, decimals));
}

#define E19 UINT64_C(10000000000000000000) /* the largest power of ten in 64 bits */

void sr_out_u256(struct sr_out *out, const unsigned char v[32])
{
	uint64_t limbs[4], parts[5] = { 0 }; /* 2^256 has 78 digits: five parts of 19 */
	unsigned int top = 4;

	for (unsigned int i = 0; i < 4; i++)
		limbs[i] = __builtin_bswap64(sr_get64(v + 8 * i));

	for (unsigned int part = 0; part < 5; part++) {
		sr_u128 rest = 0;

		for (unsigned int i = 0; i < 4; i++) {
			rest = rest << 64 | limbs[i];
			limbs[i] = (uint64_t)(rest / E19);
			rest %= E19;
		}
		parts[part] = (uint64_t)rest;
	}

	while (top && !parts[top])
		top--;
	sr_out_number(out, parts[top]);
	while (top--) {
		char digits[19];

		for (unsigned int i = sizeof digits; i--; parts[top] /= 10)
			digits[i] = (char)('0' + parts[top] % 10);
		sr_out_bytes(out, digits, sizeof digits);
	}
}
