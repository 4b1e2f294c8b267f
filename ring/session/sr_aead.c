/* SPDX-License-Identifier: MIT */
#include "sr_aead.h"

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include "sr_ct.h"
#include "sr_secret.h"

#define NONCE_BYTES 12u

static void nonce_put(unsigned char nonce[NONCE_BYTES], uint64_t n)
{
	memset(nonce, 0, 4);
	sr_put64(nonce + 4, __builtin_bswap64(n));
}

int sr_aead_init(struct sr_aead *aead, enum sr_aead_way way,
		 const unsigned char key[SR_AEAD_KEY_BYTES])
{
	EVP_CIPHER *cipher;
	int ret = -EIO;

	memset(aead, 0, sizeof *aead);
	(void)ERR_set_mark();
	cipher = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
	if (!cipher)
		goto out;

	aead->ctx = EVP_CIPHER_CTX_new();
	if (aead->ctx &&
	    EVP_CipherInit_ex2(aead->ctx, cipher, key, NULL, way == SR_AEAD_SEAL, NULL) == 1)
		ret = 0;
	else
		sr_aead_wipe(aead);
	EVP_CIPHER_free(cipher);
out:
	(void)ERR_pop_to_mark();
	return ret;
}

void sr_aead_wipe(struct sr_aead *aead)
{
	EVP_CIPHER_CTX_free(aead->ctx);
	memset(aead, 0, sizeof *aead);
}

void sr_aead_forget(struct sr_aead *aead)
{
	static const unsigned char zeros[SR_AEAD_KEY_BYTES];

	aead->is_ready = false;
	if (EVP_CipherInit_ex2(aead->ctx, NULL, zeros, NULL, -1, NULL) != 1)
		(void)EVP_CIPHER_CTX_reset(aead->ctx);
}

int sr_aead_next(struct sr_aead *to, struct sr_aead *from, unsigned char scratch[SR_AEAD_KEY_BYTES])
{
	unsigned char nonce[NONCE_BYTES];
	int done, ret = -EIO;

	/* Decrypting zeros gives the same stream as encrypting them, so that either
	 * way can do it; the tag is not asked for. */
	to->is_ready = from->is_ready = false;
	nonce_put(nonce, UINT64_MAX);
	memset(scratch, 0, SR_AEAD_KEY_BYTES);
	if (EVP_CipherInit_ex2(from->ctx, NULL, NULL, nonce, -1, NULL) == 1 &&
	    EVP_CipherUpdate(from->ctx, scratch, &done, scratch, SR_AEAD_KEY_BYTES) == 1 &&
	    EVP_CipherInit_ex2(to->ctx, NULL, scratch, NULL, -1, NULL) == 1)
		ret = 0;
	sr_wipe(scratch, SR_AEAD_KEY_BYTES);
	return ret;
}

static bool set_nonce(struct sr_aead *aead, uint64_t n)
{
	unsigned char nonce[NONCE_BYTES];

	nonce_put(nonce, n);
	return EVP_CipherInit_ex2(aead->ctx, NULL, NULL, nonce, -1, NULL) == 1;
}

/* A nonce that was set ahead serves one call, whatever becomes of it. */
static bool take_nonce(struct sr_aead *aead, uint64_t n)
{
	bool good = (aead->is_ready && aead->ready_n == n) || set_nonce(aead, n);

	aead->is_ready = false;
	return good;
}

void sr_aead_prepare(struct sr_aead *aead, uint64_t n)
{
	aead->is_ready = set_nonce(aead, n);
	aead->ready_n = n;
}

/* Associated data, then text. OpenSSL takes a length of 0 with NULL for the end. */
static bool update(EVP_CIPHER_CTX *ctx, unsigned char *out, const void *ad, size_t ad_bytes,
		   const unsigned char *in, size_t bytes)
{
	int done;

	if (ad_bytes && EVP_CipherUpdate(ctx, NULL, &done, ad, (int)ad_bytes) != 1)
		return false;
	return !bytes || EVP_CipherUpdate(ctx, out, &done, in, (int)bytes) == 1;
}

static bool acceptable(uint64_t n, size_t ad_bytes, size_t bytes)
{
	return n <= SR_AEAD_NUMBER_MAX && ad_bytes <= SR_AEAD_BYTES_MAX &&
	       bytes <= SR_AEAD_BYTES_MAX;
}

int sr_aead_seal(struct sr_aead *aead, unsigned char *out, unsigned char tag[SR_AEAD_TAG_BYTES],
		 uint64_t n, const void *ad, size_t ad_bytes, const unsigned char *in, size_t bytes)
{
	OSSL_PARAM tag_out[] = {
		OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, tag, SR_AEAD_TAG_BYTES),
		OSSL_PARAM_END,
	};
	unsigned char none[1];
	int done;

	if (SR_UNLIKELY(!acceptable(n, ad_bytes, bytes) ||
			!EVP_CIPHER_CTX_is_encrypting(aead->ctx)))
		return -EINVAL;

	if (SR_UNLIKELY(!take_nonce(aead, n) || !update(aead->ctx, out, ad, ad_bytes, in, bytes) ||
			EVP_EncryptFinal_ex(aead->ctx, none, &done) != 1 ||
			EVP_CIPHER_CTX_get_params(aead->ctx, tag_out) != 1)) {
		if (bytes)
			sr_wipe(out, bytes);
		sr_wipe(tag, SR_AEAD_TAG_BYTES);
		return -EIO;
	}
	sr_declassify(out, bytes);
	sr_declassify(tag, SR_AEAD_TAG_BYTES);
	return 0;
}

int sr_aead_open(struct sr_aead *aead, unsigned char *out,
		 const unsigned char tag[SR_AEAD_TAG_BYTES], uint64_t n, const void *ad,
		 size_t ad_bytes, const unsigned char *in, size_t bytes)
{
	unsigned char expected[SR_AEAD_TAG_BYTES], none[1];
	OSSL_PARAM tag_in[] = {
		OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, expected, sizeof expected),
		OSSL_PARAM_END,
	};
	int done;

	if (SR_UNLIKELY(!acceptable(n, ad_bytes, bytes) || EVP_CIPHER_CTX_is_encrypting(aead->ctx)))
		return -EINVAL;

	memcpy(expected, tag, sizeof expected);
	if (SR_UNLIKELY(!take_nonce(aead, n) || EVP_CIPHER_CTX_set_params(aead->ctx, tag_in) != 1 ||
			!update(aead->ctx, out, ad, ad_bytes, in, bytes) ||
			EVP_DecryptFinal_ex(aead->ctx, none, &done) != 1)) {
		if (bytes)
			sr_wipe(out, bytes);
		return -EBADMSG;
	}
	return 0;
}
