/* SPDX-License-Identifier: MIT */
#include "sr_account.h"

#include <openssl/err.h>
#include <openssl/evp.h>

#include "sr_eip712.h"

#define GROUPS 32u /* of five bits: 20 bytes */
#define CHECK_GROUPS 6u

void sr_account_ethereum(char text[SR_ACCOUNT_ETHEREUM_BYTES], const unsigned char address[20])
{
	struct sr_out out = sr_out_over(text, SR_ACCOUNT_ETHEREUM_BYTES - 1);

	sr_address_checksum(&out, address);
	text[SR_ACCOUNT_ETHEREUM_BYTES - 1] = '\0';
}

static uint32_t polymod(uint32_t check, uint8_t value)
{
	static const uint32_t generator[] = { 0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd,
					      0x2a1462b3 };
	uint32_t top = check >> 25;

	check = (check & 0x1ffffff) << 5 ^ value;
	for (int i = 0; i < 5; i++)
		if (top >> i & 1)
			check ^= generator[i];
	return check;
}

/* BIP 173; 20 bytes are four times five bytes, which are eight groups. */
static void bech32(char *text, const char *prefix, const unsigned char data[20])
{
	static const char alphabet[] = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
	uint32_t check = 1;
	size_t at = 0;

	for (const char *c = prefix; *c; c++)
		check = polymod(check, (uint8_t)(*c >> 5));
	check = polymod(check, 0);
	for (const char *c = prefix; *c; c++) {
		check = polymod(check, (uint8_t)(*c & 31));
		text[at++] = *c;
	}
	text[at++] = '1';
	for (uint32_t i = 0; i < GROUPS; i++) {
		uint32_t bit = 5 * i;
		uint32_t pair = (uint32_t)data[bit / 8] << 8 |
				(bit / 8 + 1 < 20 ? data[bit / 8 + 1] : 0u);
		uint8_t group = (uint8_t)(pair >> (11 - bit % 8) & 31);

		check = polymod(check, group);
		text[at++] = alphabet[group];
	}
	for (uint32_t i = 0; i < CHECK_GROUPS; i++)
		check = polymod(check, 0);
	check ^= 1;
	for (uint32_t i = 0; i < CHECK_GROUPS; i++)
		text[at++] = alphabet[check >> 5 * (CHECK_GROUPS - 1 - i) & 31];
	text[at] = '\0';
}

bool sr_account_prefix_valid(const char *prefix)
{
	size_t bytes = strnlen(prefix, SR_ACCOUNT_PREFIX_MAX + 1);

	for (size_t i = 0; i < bytes; i++)
		if (!(prefix[i] >= 'a' && prefix[i] <= 'z') &&
		    !(prefix[i] >= '0' && prefix[i] <= '9'))
			return false;
	return bytes >= 1 && bytes <= SR_ACCOUNT_PREFIX_MAX;
}

int sr_account_cosmos(char text[SR_ACCOUNT_COSMOS_BYTES], const char *prefix,
		      const unsigned char pubkey[33])
{
	unsigned char sha[EVP_MAX_MD_SIZE], ripe[EVP_MAX_MD_SIZE];
	EVP_MD *md;
	bool good;

	if (!sr_account_prefix_valid(prefix))
		return -EINVAL;
	(void)ERR_set_mark();
	md = EVP_MD_fetch(NULL, "RIPEMD160", NULL);
	good = md && EVP_Digest(pubkey, 33, sha, NULL, EVP_sha256(), NULL) == 1 &&
	       EVP_Digest(sha, 32, ripe, NULL, md, NULL) == 1;
	EVP_MD_free(md);
	(void)ERR_pop_to_mark();
	if (!good)
		return -EIO;
	bech32(text, prefix, ripe);
	return 0;
}
