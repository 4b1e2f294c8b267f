/* SPDX-License-Identifier: MIT */
/*
 * A pool between its filler and its taker, in one mapping: what ThreadSanitizer can
 * see. With -DSR_MUTANT_RELAXED the filler publishes without a release, and this
 * program must be reported.
 */
#include <pthread.h>

#include "mp_common.h"
#include "presign_rig.h"
#include "sr_pool.h"

#define SLOTS 64u

struct nonce {
	unsigned char r[16];
};

struct shop {
	struct sr_pool *pool;
	struct sr_curve *curve;
	uint64_t stop;
	struct nonce *nonces;
	uint64_t count; /* taken so far */
};

static struct pr_source source;
static const struct sr_entropy entropy = { pr_source_get, &source };

static void shop_open(struct shop *shop, uint64_t wanted)
{
	/* Small, so that both ends meet at the wrap and at empty all the time. */
	const struct sr_pool_config config = {
		.entropy = &entropy, .slots = SLOTS, .low = SLOTS - 8, .batch = 8
	};
	static const unsigned char seed[32] = { 1 };

	if (!pr_secret_memory())
		mp_skip(PR_NO_SECRET_MEMORY);
	memset(shop, 0, sizeof *shop);
	shop->nonces = calloc(wanted, sizeof shop->nonces[0]);
	MP_CHECK(shop->nonces, "out of memory");
	MP_EQ(sr_curve_new(&shop->curve, seed), 0, "sr_curve_new");
	MP_EQ(sr_pool_new(&shop->pool, &config), 0, "sr_pool_new");
}

static int nonce_order(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct nonce));
}

static void shop_close(struct shop *shop)
{
	qsort(shop->nonces, shop->count, sizeof shop->nonces[0], nonce_order);
	for (uint64_t i = 1; i < shop->count; i++)
		MP_CHECK(nonce_order(&shop->nonces[i - 1], &shop->nonces[i]),
			 "a presignature was taken twice");
	sr_pool_delete(shop->pool);
	sr_curve_delete(shop->curve);
	free(shop->nonces);
}

/* One that fits together was copied whole. */
static void take_one(struct shop *shop)
{
	static const unsigned char one[SR_SCALAR_BYTES] = { [31] = 1 };
	unsigned char v[SR_SCALAR_BYTES];
	struct sr_presig presig;
	int ret = sr_pool_take(shop->pool, &presig);

	if (ret == -EAGAIN) {
		(void)sched_yield();
		return;
	}
	MP_EQ(ret, 0, "sr_pool_take");
	MP_EQ(presig.made ^ presig.odd, SR_PRESIG_MADE, "mark");
	MP_CHECK(sr_scalar_mul(shop->curve, v, presig.u, presig.k) && !memcmp(v, one, sizeof v),
		 "u*k of take %llu", (unsigned long long)shop->count);
	MP_CHECK(sr_scalar_mul(shop->curve, v, presig.u, presig.r) &&
			 !memcmp(v, presig.ur, sizeof v),
		 "u*r of take %llu", (unsigned long long)shop->count);
	memcpy(shop->nonces[shop->count++].r, presig.r, sizeof shop->nonces[0].r);
}

static void *fill(void *arg)
{
	struct shop *shop = arg;

	while (!sr_load_acquire(&shop->stop)) {
		int ret = sr_pool_step(shop->pool);

		MP_CHECK(ret >= 0, "sr_pool_step: %d", ret);
		if (ret == 0)
			(void)sched_yield();
	}
	return NULL;
}

static void *watch(void *arg)
{
	struct shop *shop = arg;
	struct sr_pool_stats last = { 0 }, now;

	while (!sr_load_acquire(&shop->stop)) {
		sr_pool_stats_get(shop->pool, &now);
		MP_CHECK(now.depth <= SLOTS && now.taken >= last.taken &&
				 now.refilled >= last.refilled && now.dry >= last.dry,
			 "statistics go backwards");
		last = now;
		mp_sleep_us(50);
	}
	return NULL;
}

static void filler_against_taker(void)
{
	uint64_t wanted = mp_long ? 5000000 : 20000;
	pthread_t filler, watcher;
	struct sr_pool_stats stats;
	struct shop shop;

	shop_open(&shop, wanted);
	MP_EQ(pthread_create(&filler, NULL, fill, &shop), 0, "pthread_create");
	MP_EQ(pthread_create(&watcher, NULL, watch, &shop), 0, "pthread_create");
	while (shop.count < wanted)
		take_one(&shop);
	sr_store_release(&shop.stop, 1);
	(void)pthread_join(filler, NULL);
	(void)pthread_join(watcher, NULL);
	sr_pool_stats_get(shop.pool, &stats);
	MP_EQ(stats.taken, wanted, "taken");
	MP_EQ(stats.failed, 0, "batches thrown away");
	shop_close(&shop);
}

/* ---- a filler that ends anywhere, and another that goes on from there ---- */

struct shift {
	struct shop *shop;
	uint32_t steps;
};

static void *fill_for_a_while(void *arg)
{
	const struct shift *shift = arg;

	for (uint32_t i = 0; i < shift->steps; i++)
		MP_CHECK(sr_pool_step(shift->shop->pool) >= 0, "sr_pool_step");
	return NULL;
}

static void fillers_take_over_from_each_other(void)
{
	uint64_t wanted = mp_long ? 1000000 : 5000;
	uint32_t shifts = 0;
	pthread_t filler;
	struct shop shop;

	shop_open(&shop, wanted + SLOTS);
	while (shop.count < wanted) {
		struct shift shift = { &shop, mp_below(40) };
		uint32_t takes = mp_below(60);

		MP_EQ(pthread_create(&filler, NULL, fill_for_a_while, &shift), 0, "pthread_create");
		for (uint32_t i = 0; i < takes && shop.count < wanted; i++)
			take_one(&shop);
		(void)pthread_join(filler, NULL);
		shifts++;
	}
	(void)printf("# %u fillers\n", shifts);
	shop_close(&shop);
}

static const struct mp_test tests[] = {
	{ "stress/pool_filler_against_taker", filler_against_taker, 0 },
	{ "stress/pool_fillers_take_over_from_each_other", fillers_take_over_from_each_other, 0 },
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
