/* SPDX-License-Identifier: MIT */
#include "sr_drbg.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <stdlib.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "sr_health.h"
#include "sr_secret.h"

#define STRENGTH_BITS 256u
#define SEED_BYTES 48u
#define CPU_BYTES 32u
#define EXTRA_BYTES (CPU_BYTES + 8u)

/* In protected memory. */
struct seed {
	unsigned char entropy[SR_HEALTH_STARTUP_BYTES]; /* a reseed takes SEED_BYTES */
	unsigned char extra[EXTRA_BYTES];
	struct sr_health health;
};

struct sr_drbg {
	EVP_RAND_CTX *ctx;
	const struct sr_entropy *entropy;
	struct seed *seed;
	uint64_t reseeds;
	bool usable;
};

#if defined(__x86_64__)
/* The instruction may be missing, may fail and may be wrong: it is only ever
 * added. What is not filled stays as it was. */
__attribute__((target("rdrnd"))) static void cpu_random(unsigned char out[CPU_BYTES])
{
	unsigned int a, b, c, d;
	unsigned long long word;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_RDRND))
		return;
	for (size_t i = 0; i < CPU_BYTES; i += sizeof word)
		if (__builtin_ia32_rdrand64_step(&word))
			memcpy(out + i, &word, sizeof word);
}
#else
static void cpu_random(unsigned char out[CPU_BYTES])
{
	(void)out;
}
#endif

static int take_entropy(struct sr_drbg *drbg, size_t bytes)
{
	int ret = drbg->entropy->get(drbg->entropy->arg, drbg->seed->entropy, bytes);

	if (ret)
		return ret;
	return sr_health_feed(&drbg->seed->health, drbg->seed->entropy, bytes) ? 0 : -EIO;
}

int sr_drbg_reseed(struct sr_drbg *drbg)
{
	struct seed *seed = drbg->seed;
	int ret = take_entropy(drbg, SEED_BYTES);

	drbg->usable = false;
	if (ret)
		goto wipe;

	cpu_random(seed->extra);
	sr_put64(seed->extra + CPU_BYTES, ++drbg->reseeds);
	if (EVP_RAND_reseed(drbg->ctx, 0, seed->entropy, SEED_BYTES, seed->extra, EXTRA_BYTES) == 1)
		drbg->usable = true;
	else
		ret = -EIO;
wipe:
	sr_wipe(seed->entropy, sizeof seed->entropy);
	sr_wipe(seed->extra, sizeof seed->extra);
	return ret;
}

static EVP_RAND_CTX *instantiate(void)
{
	static const unsigned char purpose[] = "sigring nonces";
	char cipher[] = "AES-256-CTR";
	unsigned int never = 0; /* by itself, in the middle of an answer */
	time_t no_time = 0;
	OSSL_PARAM params[] = {
		OSSL_PARAM_construct_utf8_string(OSSL_DRBG_PARAM_CIPHER, cipher, 0),
		OSSL_PARAM_construct_uint(OSSL_DRBG_PARAM_RESEED_REQUESTS, &never),
		OSSL_PARAM_construct_time_t(OSSL_DRBG_PARAM_RESEED_TIME_INTERVAL, &no_time),
		OSSL_PARAM_construct_end(),
	};
	EVP_RAND *rand = EVP_RAND_fetch(NULL, "CTR-DRBG", NULL);
	EVP_RAND_CTX *ctx = rand ? EVP_RAND_CTX_new(rand, NULL) : NULL;

	EVP_RAND_free(rand);
	if (ctx && EVP_RAND_instantiate(ctx, STRENGTH_BITS, 0, purpose, sizeof purpose - 1,
					params) == 1)
		return ctx;
	EVP_RAND_CTX_free(ctx);
	return NULL;
}

int sr_drbg_new(struct sr_drbg **drbg, const struct sr_entropy *entropy)
{
	struct sr_drbg *d = calloc(1, sizeof *d);
	void *mem;
	int ret;

	if (!d)
		return -ENOMEM;
	d->entropy = entropy;
	ret = sr_secret_alloc(&mem, sizeof *d->seed);
	if (ret)
		goto fail;
	d->seed = mem;
	sr_health_init(&d->seed->health);
	ret = take_entropy(d, sizeof d->seed->entropy);
	if (ret)
		goto fail;
	ret = -EIO;
	d->ctx = instantiate();
	if (d->ctx)
		ret = sr_drbg_reseed(d);
	if (ret)
		goto fail;
	*drbg = d;
	return 0;
fail:
	sr_drbg_delete(d);
	return ret;
}

void sr_drbg_delete(struct sr_drbg *drbg)
{
	if (!drbg)
		return;

	EVP_RAND_CTX_free(drbg->ctx);
	sr_secret_free(drbg->seed, sizeof *drbg->seed);
	free(drbg);
}

int sr_drbg_generate(struct sr_drbg *drbg, unsigned char *out, size_t bytes)
{
	if (drbg->usable && bytes <= SR_DRBG_BYTES_MAX &&
	    EVP_RAND_generate(drbg->ctx, out, bytes, STRENGTH_BITS, 0, NULL, 0) == 1)
		return 0;

	sr_wipe(out, bytes);
	return -EIO;
}
