/* SPDX-License-Identifier: MIT */
#include "sr_account.h"

#include <openssl/err.h>
#include <openssl/evp.h>

#include "sr_bech32.h"
#include "sr_eip712.h"

#define ID_BYTES 20u /* of RIPEMD-160 */

void sr_account_ethereum(char text[SR_ACCOUNT_ETHEREUM_BYTES], const unsigned char address[20])
{
	struct sr_out out = sr_out_over(text, SR_ACCOUNT_ETHEREUM_BYTES - 1);

	sr_address_checksum(&out, address);
	text[SR_ACCOUNT_ETHEREUM_BYTES - 1] = '\0';
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
	struct sr_out out = sr_out_over(text, SR_ACCOUNT_COSMOS_BYTES - 1);
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
	sr_bech32_put(&out, prefix, strlen(prefix), ripe, ID_BYTES);
	text[out.used] = '\0';
	return 0;
}
