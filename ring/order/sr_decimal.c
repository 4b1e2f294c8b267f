/* SPDX-License-Identifier: MIT */
#include "sr_decimal.h"

#define LIMBS 4u /* 256 bits, least significant first */
#define SCALE_MAX 60
#define E19 UINT64_C(10000000000000000000)

static const uint64_t powers[20] = {
	1,
	10,
	100,
	1000,
	10000,
	100000,
	1000000,
	10000000,
	100000000,
	1000000000,
	10000000000,
	100000000000,
	1000000000000,
	10000000000000,
	100000000000000,
	1000000000000000,
	10000000000000000,
	100000000000000000,
	1000000000000000000,
	E19,
};

/* Takes zeros off the end of a number above 0, at most as many as it has decimals, and
 * returns the decimals that are left. A u64 ends in 19 zeros at most. */
static inline unsigned int zeros_strip(uint64_t *v, unsigned int decimals)
{
#define STEP(zeros)                                            \
	if (decimals >= (zeros) && *v % powers[zeros] == 0) { \
		*v /= powers[zeros];                          \
		decimals -= (zeros);                          \
	}
	STEP(16)
	STEP(8)
	STEP(4)
	STEP(2)
	STEP(1)
#undef STEP
	return decimals;
}

size_t sr_decimal_text(char text[SR_DECIMAL_TEXT_BYTES], uint64_t v, unsigned int decimals)
{
	char digits[SR_DECIMAL_TEXT_BYTES];
	char *end = digits + sizeof digits, *at = end;
	size_t count;

	decimals = v ? zeros_strip(&v, decimals) : 0;

	for (; decimals; decimals--, v /= 10) {
		*--at = (char)('0' + v % 10);
		if (decimals == 1)
			*--at = '.';
	}
	do
		*--at = (char)('0' + v % 10);
	while (v /= 10);

	count = (size_t)(end - at);
	memcpy(text, at, count);
	return count;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

int sr_decimal_parse(uint64_t *v, const char *text, size_t bytes, unsigned int decimals)
{
	bool minus = bytes && text[0] == '-', point = false, digits = false, fits = true;
	unsigned int places = 0;
	uint64_t sum = 0;

	for (size_t i = minus; i < bytes; i++) {
		if (text[i] == '.' && !point) {
			point = true;
			continue;
		}
		if (!is_digit(text[i]))
			return -EINVAL;
		digits = true;
		if (point && places == decimals) {
			fits &= text[i] == '0';
			continue;
		}
		places += point;
		fits &= !__builtin_mul_overflow(sum, 10u, &sum);
		fits &= !__builtin_add_overflow(sum, (uint64_t)(text[i] - '0'), &sum);
	}
	if (!digits)
		return -EINVAL;

	for (; places < decimals && fits && sum; places++)
		fits &= !__builtin_mul_overflow(sum, 10u, &sum);
	if (!fits)
		return -ERANGE;
	if (minus && sum)
		return -EINVAL;
	*v = sum;
	return 0;
}

unsigned int sr_decimal_figures(uint64_t v)
{
	unsigned int figures = 0;

	if (!v)
		return 0;
	while (v % 10 == 0)
		v /= 10;
	for (; v; v /= 10)
		figures++;
	return figures;
}

unsigned int sr_decimal_places(uint64_t v, unsigned int decimals)
{
	return v ? zeros_strip(&v, decimals) : 0;
}

static void multiply(uint64_t product[LIMBS], sr_u128 a, sr_u128 b)
{
	uint64_t a0 = (uint64_t)a, a1 = (uint64_t)(a >> 64);
	uint64_t b0 = (uint64_t)b, b1 = (uint64_t)(b >> 64);
	sr_u128 low = (sr_u128)a0 * b0, high = (sr_u128)a1 * b1;
	sr_u128 mid = (low >> 64) + (sr_u128)a0 * b1, cross = (sr_u128)a1 * b0;

	/* mid stays below 2^128: (2^64-1)^2 + 2^64-1; cross is added by halves. */
	high += mid >> 64;
	mid = (sr_u128)(uint64_t)mid + (uint64_t)cross;
	high += (cross >> 64) + (mid >> 64);
	product[0] = (uint64_t)low;
	product[1] = (uint64_t)mid;
	product[2] = (uint64_t)high;
	product[3] = (uint64_t)(high >> 64);
}

/* Divides in place; true when there was a remainder. */
static bool divide(uint64_t v[LIMBS], uint64_t by)
{
	sr_u128 rest = 0;

	for (unsigned int i = LIMBS; i--;) {
		rest = rest << 64 | v[i];
		v[i] = (uint64_t)(rest / by); /* fits: what came down is below by */
		rest -= (sr_u128)v[i] * by;
	}
	return rest != 0;
}

/* What nearly every order is: 64 bits each, and one division. */
static int notional_small(uint64_t *notional, uint64_t price, uint64_t size, uint64_t by)
{
	sr_u128 product = (sr_u128)price * size;
	uint64_t result;

	if ((uint64_t)(product >> 64) >= by)
		return -ERANGE;
	result = (uint64_t)(product / by);
	if (__builtin_add_overflow(result, (uint64_t)product != result * by, &result))
		return -ERANGE;
	*notional = result;
	return 0;
}

int sr_notional(uint64_t *notional, sr_u128 price, int price_decimals, sr_u128 size,
		int size_decimals)
{
	uint64_t v[LIMBS], result;
	bool remainder = false;
	int scale, left;

	if (price_decimals < -SCALE_MAX || price_decimals > SCALE_MAX ||
	    size_decimals < -SCALE_MAX || size_decimals > SCALE_MAX)
		return -ERANGE;
	scale = price_decimals + size_decimals - (int)SR_NOTIONAL_DECIMALS;
	if (scale < -SCALE_MAX || scale > SCALE_MAX)
		return -ERANGE;

	if (scale >= 0 && scale <= 19 && !(price >> 64) && !(size >> 64))
		return notional_small(notional, (uint64_t)price, (uint64_t)size, powers[scale]);
	multiply(v, price, size);
	for (left = scale; left > 0; left -= 19)
		remainder |= divide(v, powers[left < 19 ? left : 19]);
	if (v[1] | v[2] | v[3])
		return -ERANGE;
	result = v[0];
	for (; scale < 0 && result; scale++)
		if (__builtin_mul_overflow(result, 10u, &result))
			return -ERANGE;
	/* After a division only, so it is not scaled up again. */
	if (__builtin_add_overflow(result, (uint64_t)remainder, &result))
		return -ERANGE;
	*notional = result;
	return 0;
}
