/* SPDX-License-Identifier: MIT */
#include "sr_policy_text.h"

#include "sr_digits.h"

#define ASSET_DIGITS_MAX 78u

static const char unlimited_word[] = "unlimited";

bool sr_policy_is_unlimited(const char *text, size_t bytes)
{
	return bytes == sizeof unlimited_word - 1 && !memcmp(text, unlimited_word, bytes);
}

/* "12", "0.5": no sign, no exponent, digits on both sides of a point. */
static bool amount_form(const char *text, size_t bytes, unsigned int *decimals)
{
	const char *point = memchr(text, '.', bytes);
	size_t whole = point ? (size_t)(point - text) : bytes;
	size_t behind = point ? bytes - whole - 1 : 0;

	for (size_t i = 0; i < bytes; i++)
		if (i != whole && (text[i] < '0' || text[i] > '9'))
			return false;
	*decimals = (unsigned int)behind;
	return whole && (whole == 1 || text[0] != '0') && (!point || behind) &&
	       behind <= SR_POLICY_DECIMALS_MAX;
}

int sr_policy_bound_parse(struct sr_policy_bound *bound, const char *text, size_t bytes,
			  bool unlimited)
{
	struct sr_policy_bound b = { .given = true };
	unsigned int decimals;
	int ret;

	if (unlimited && sr_policy_is_unlimited(text, bytes)) {
		b.unlimited = true;
		*bound = b;
		return 0;
	}
	if (!amount_form(text, bytes, &decimals))
		return -EINVAL;
	ret = sr_decimal_parse(&b.value, text, bytes, decimals);
	if (ret)
		return ret;
	b.decimals = (uint8_t)decimals;
	*bound = b;
	return 0;
}

int sr_policy_notional_parse(uint64_t *notional, const char *text, size_t bytes, bool unlimited)
{
	unsigned int decimals;
	uint64_t v;
	int ret;

	if (unlimited && sr_policy_is_unlimited(text, bytes)) {
		*notional = SR_POLICY_UNLIMITED;
		return 0;
	}
	if (!amount_form(text, bytes, &decimals))
		return -EINVAL;
	ret = sr_decimal_parse(&v, text, bytes, SR_NOTIONAL_DECIMALS);
	if (!ret && v == SR_POLICY_UNLIMITED)
		ret = -ERANGE;
	if (!ret)
		*notional = v;
	return ret;
}

/* words = 10 * words + digit; false when that leaves 256 bits. */
static bool digit_add(struct sr_asset *asset, unsigned int digit)
{
	uint64_t carry = digit;

	for (unsigned int i = 0; i < 4; i++) {
		sr_u128 v = (sr_u128)asset->words[i] * 10u + carry;

		asset->words[i] = (uint64_t)v;
		carry = (uint64_t)(v >> 64);
	}
	return carry == 0;
}

int sr_policy_asset_parse(struct sr_asset *asset, const char *text, size_t bytes)
{
	unsigned char id[32];
	struct sr_asset a = { { 0 } };

	if (bytes > 2 && text[0] == '0' && text[1] == 'x') {
		if (bytes % 2 || bytes > 2 + 2 * sizeof id ||
		    sr_digits_get(id, text + 2, bytes / 2 - 1))
			return -EINVAL;
		*asset = sr_asset_bytes(id, (uint32_t)bytes / 2 - 1);
		return 0;
	}
	if (bytes == 0 || bytes > ASSET_DIGITS_MAX || (bytes > 1 && text[0] == '0'))
		return -EINVAL;
	for (size_t i = 0; i < bytes; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -EINVAL;
		if (!digit_add(&a, (unsigned int)(text[i] - '0')))
			return -ERANGE;
	}
	*asset = a;
	return 0;
}
