/* SPDX-License-Identifier: MIT */
/* OpenSSL's memory in the protected heap. A program of its own, because that has
 * to be asked for before anything in the process uses the library. */
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "mp_common.h"
#include "sr_heap.h"

static void holds_what_openssl_allocates(void)
{
	static const unsigned char key[32] = { 1 };
	size_t before = CRYPTO_secure_used();
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	unsigned char *mem;

	MP_CHECK(ctx && EVP_EncryptInit_ex(ctx, EVP_aes_256_gcm(), NULL, key, NULL) == 1,
		 "a cipher");
	MP_CHECK(CRYPTO_secure_allocated(ctx), "a context");
	MP_CHECK(CRYPTO_secure_used() > before + 512, "the key schedule too");
	EVP_CIPHER_CTX_free(ctx);

	mem = OPENSSL_malloc(40);
	MP_CHECK(CRYPTO_secure_allocated(mem), "memory");
	memset(mem, 0x5a, 40);
	mem = OPENSSL_realloc(mem, 4000);
	MP_CHECK(mem && CRYPTO_secure_allocated(mem), "more memory");
	for (size_t i = 0; i < 40; i++)
		MP_EQ(mem[i], 0x5a, "what was in it");
	mem = OPENSSL_realloc(mem, 8);
	MP_CHECK(mem && mem[7] == 0x5a, "less memory");
	OPENSSL_free(mem);
	OPENSSL_free(NULL);
}

static void heap(void)
{
	MP_EQ(sr_heap_protect(SR_HEAP_BYTES), 0, "the heap");
	holds_what_openssl_allocates();
	MP_CHECK(!OPENSSL_malloc(2 * SR_HEAP_BYTES), "a full heap is an error, not a spill");
	MP_EQ(sr_heap_protect(SR_HEAP_BYTES), -EBUSY, "the heap, asked for too late");
}

static const struct mp_test tests[] = {
	{ "heap/holds_all_that_openssl_allocates", heap, 0 },
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
