/* SPDX-License-Identifier: MIT */
/* The low-level calls are deprecated, not gone: sr_hash.h says why we want them. */
#define OPENSSL_API_COMPAT 10100

#include "sr_hash.h"

#include <openssl/sha.h>
#include <stdlib.h>

struct sr_hasher {
	SHA256_CTX sha256;
};

/* FIPS 180-4, example of a one-block message. */
static const unsigned char sha256_abc[SR_HASH_BYTES] = {
	0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40,
	0xde, 0x5d, 0xae, 0x22, 0x23, 0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17,
	0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad,
};

int sr_hasher_new(struct sr_hasher **hasher)
{
	unsigned char digest[SR_HASH_BYTES];
	struct sr_hasher *h = calloc(1, sizeof *h);

	if (!h)
		return -ENOMEM;

	if (sr_sha256(h, digest, "abc", 3) || memcmp(digest, sha256_abc, sizeof digest)) {
		free(h);
		return -EIO;
	}
	*hasher = h;
	return 0;
}

void sr_hasher_delete(struct sr_hasher *hasher)
{
	free(hasher);
}

int sr_sha256_parts(struct sr_hasher *hasher, unsigned char digest[SR_HASH_BYTES],
		    const struct sr_hash_part *parts, size_t count)
{
	bool good = SHA256_Init(&hasher->sha256) == 1;

	for (size_t i = 0; i < count; i++)
		good &= SHA256_Update(&hasher->sha256, parts[i].data, parts[i].bytes) == 1;
	good &= SHA256_Final(digest, &hasher->sha256) == 1;
	if (SR_LIKELY(good))
		return 0;

	memset(digest, 0, SR_HASH_BYTES);
	return -EIO;
}

int sr_sha256(struct sr_hasher *hasher, unsigned char digest[SR_HASH_BYTES], const void *message,
	      size_t bytes)
{
	const struct sr_hash_part whole = { message, bytes };

	return sr_sha256_parts(hasher, digest, &whole, 1);
}
