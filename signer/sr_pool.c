/* SPDX-License-Identifier: MIT */
#include "sr_pool.h"

#include <stdlib.h>

#include "sr_batch.h"
#include "sr_ct.h"
#include "sr_secret.h"

#define ALIVE 0x6c697665u

/* Whole cache lines, so that filler and taker share none but by a slot. */
struct slot {
	SR_ALIGNED(64) struct sr_presig presig;
};
SR_STATIC_ASSERT(sizeof(struct slot) == 192, "sr_pool.h tells the size");

/* Protected memory. */
struct ring {
	SR_ALIGNED(SR_LINE_BYTES) uint64_t filled; /* slots ever filled; the filler's */
	SR_ALIGNED(SR_LINE_BYTES) uint64_t taken;  /* slots ever wiped; the taker's */
	uint64_t next;        /* slot to take; private to the taker */
	uint64_t filled_seen; /* private to the taker */
	SR_ALIGNED(SR_LINE_BYTES) uint64_t alive; /* ALIVE; 0 in a child */
	struct slot slots[];
};

struct sr_pool {
	struct ring *ring;
	size_t ring_bytes;
	struct sr_batch *batch;
	uint32_t slots;
	uint32_t low;
	uint32_t batch_count;

	/* The filler's. */
	bool filling;
	SR_ALIGNED(SR_LINE_BYTES) uint64_t failed;

	/* The taker's. */
	SR_ALIGNED(SR_LINE_BYTES) uint64_t dry;
};

static bool config_valid(const struct sr_pool_config *config)
{
	return config->entropy && sr_is_pow2(config->slots) &&
	       config->slots >= SR_POOL_SLOTS_MIN && config->slots <= SR_POOL_SLOTS_MAX &&
	       config->batch >= 2 && config->batch <= SR_BATCH_MAX &&
	       config->batch <= config->slots && config->low >= 1 &&
	       config->low <= config->slots - config->batch + 1;
}

int sr_pool_new(struct sr_pool **pool, const struct sr_pool_config *config)
{
	struct sr_pool *p;
	void *mem;
	int ret;

	if (!config_valid(config))
		return -EINVAL;
	p = aligned_alloc(SR_LINE_BYTES, sizeof *p);
	if (!p)
		return -ENOMEM;

	memset(p, 0, sizeof *p);
	p->slots = config->slots;
	p->low = config->low;
	p->batch_count = config->batch;
	p->ring_bytes = sizeof *p->ring + (size_t)config->slots * sizeof p->ring->slots[0];
	ret = sr_secret_alloc(&mem, p->ring_bytes);
	if (ret)
		goto fail;
	p->ring = mem;
	p->ring->alive = ALIVE;
	ret = sr_batch_new(&p->batch, config->entropy, config->batch);
	if (ret)
		goto fail;
	*pool = p;
	return 0;
fail:
	sr_pool_delete(p);
	return ret;
}

void sr_pool_delete(struct sr_pool *pool)
{
	if (!pool)
		return;

	sr_batch_delete(pool->batch);
	sr_secret_free(pool->ring, pool->ring_bytes);
	free(pool);
}

int sr_pool_take(struct sr_pool *pool, struct sr_presig *presig)
{
	struct ring *ring = pool->ring;
	struct slot *slot;

	if (SR_UNLIKELY(ring->alive != ALIVE)) {
		sr_wipe(presig, sizeof *presig);
		return -EPERM;
	}
	if (ring->next == ring->filled_seen) {
		/* Pairs with the release in publish(): the slots are whole. */
		ring->filled_seen = sr_load_acquire(&ring->filled);
		if (ring->next == ring->filled_seen) {
			sr_store_relaxed(&pool->dry, pool->dry + 1);
			sr_wipe(presig, sizeof *presig);
			return -EAGAIN;
		}
	}

	slot = &ring->slots[ring->next++ & (pool->slots - 1)];
	memcpy(presig, &slot->presig, sizeof *presig);
	sr_wipe(slot, sizeof *slot);

	/* Pairs with the acquire in depth_of(): it was copied and wiped before the
	 * filler writes there again. */
	sr_store_release(&ring->taken, ring->next);
	return 0;
}

static uint64_t depth_of(const struct sr_pool *pool)
{
	/* Pairs with the release in sr_pool_take(). */
	return pool->ring->filled - sr_load_acquire(&pool->ring->taken);
}

/* The whole batch goes in at once: there is room, since only takes happened. */
static void publish(struct sr_pool *pool)
{
	struct ring *ring = pool->ring;
	uint64_t at = ring->filled;

	for (uint32_t i = 0; i < pool->batch_count; i++)
		memcpy(&ring->slots[(at + i) & (pool->slots - 1)].presig, &pool->batch->presigs[i],
		       sizeof pool->batch->presigs[i]);
	sr_batch_restart(pool->batch);

	/* Pairs with the acquire in sr_pool_take(). */
	sr_store_release(&ring->filled, at + pool->batch_count);
}

/* Begin below the mark, go on until no other batch fits. */
static bool wanted(struct sr_pool *pool)
{
	uint64_t depth = depth_of(pool);

	if (depth < pool->low)
		pool->filling = true;
	if (depth + pool->batch_count > pool->slots)
		pool->filling = false;
	return pool->filling;
}

int sr_pool_step(struct sr_pool *pool)
{
	int ret;

	if (pool->ring->alive != ALIVE)
		return -EPERM;
	if (!wanted(pool))
		return 0;

	ret = sr_batch_step(pool->batch);
	if (ret > 0)
		return 1;
	if (ret == 0) {
		publish(pool);
		return 1;
	}
	sr_store_relaxed(&pool->failed, pool->failed + 1);
	return ret;
}

int sr_pool_fill(struct sr_pool *pool)
{
	int ret;

	pool->filling = true;
	do
		ret = sr_pool_step(pool);
	while (ret > 0);
	return ret;
}

void sr_pool_stats_get(const struct sr_pool *pool, struct sr_pool_stats *stats)
{
	uint64_t taken = sr_load_relaxed(&pool->ring->taken);
	uint64_t filled = sr_load_relaxed(&pool->ring->filled);

	/* A take and a refill may fall between the two loads. */
	stats->depth = filled > taken ? filled - taken : 0;
	stats->slots = pool->slots;
	stats->taken = taken;
	stats->refilled = filled;
	stats->dry = sr_load_relaxed(&pool->dry);
	stats->failed = sr_load_relaxed(&pool->failed);
}
