/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <sys/wait.h>

#include "presign_rig.h"
#include "sr_batch.h"
#include "sr_pool.h"
#include "sr_secret.h"

static struct pr_source source;
static struct sr_entropy entropy = { pr_source_get, &source };
static struct sr_pool *pool;
static struct sr_presig presig;

#define SLOTS 64u
#define LOW 32u
#define BATCH 16u

static struct sr_pool_config config_of(uint32_t slots, uint32_t low, uint32_t batch)
{
	return (struct sr_pool_config){
		.entropy = &entropy, .slots = slots, .low = low, .batch = batch
	};
}

static void begin(void)
{
	struct sr_pool_config config = config_of(SLOTS, LOW, BATCH);

	if (!pr_secret_memory())
		cr_skip_test(PR_NO_SECRET_MEMORY);
	source = (struct pr_source){ PR_GOOD, 0 };
	cr_assert_eq(sr_pool_new(&pool, &config), 0);
}

static void end(void)
{
	sr_pool_delete(pool);
	sr_pool_delete(NULL);
}

TestSuite(pool, .init = begin, .fini = end);

/* What begin() made is not ours to leave behind. */
static void skip(const char *why)
{
	end();
	cr_skip_test("%s", why);
}

static struct sr_pool_stats stats_now(void)
{
	struct sr_pool_stats stats;

	sr_pool_stats_get(pool, &stats);
	return stats;
}

static bool is_zero(const void *mem, size_t bytes)
{
	const unsigned char *p = mem;

	for (size_t i = 0; i < bytes; i++)
		if (p[i])
			return false;
	return true;
}

static int step_to_the_end(void)
{
	int ret;

	do
		ret = sr_pool_step(pool);
	while (ret > 0);
	return ret;
}

static void take(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		cr_assert_eq(sr_pool_take(pool, &presig), 0, "take %u", i);
}

Test(pool, configurations_out_of_range_are_refused)
{
	const struct sr_pool_config configs[] = {
		config_of(8, 4, 4),			    config_of(0, 0, 2),
		config_of(24, 8, 8),			    config_of(SR_POOL_SLOTS_MAX * 2, 8, 8),
		config_of(64, 65, 16),			    config_of(64, 32, 0),
		config_of(64, 32, 1),			    config_of(64, 32, 65),
		config_of(512, 32, SR_BATCH_MAX + 1),	    { NULL, 64, 32, 16 },
		config_of(64, 0, 16),			    config_of(64, 50, 16),
	};
	struct sr_pool *none = NULL;

	for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++)
		cr_assert_eq(sr_pool_new(&none, &configs[i]), -EINVAL, "config %zu", i);
	cr_assert_null(none);
}

Test(pool, source_that_fails_its_test_makes_no_pool)
{
	struct sr_pool_config config = config_of(SLOTS, LOW, BATCH);
	struct sr_pool *none = NULL;

	source.mode = PR_STUCK;
	cr_assert_eq(sr_pool_new(&none, &config), -EIO);
	source.mode = PR_SILENT;
	cr_assert_eq(sr_pool_new(&none, &config), -EIO);
	cr_assert_null(none);
}

Test(pool, take_on_empty_returns_eagain_and_is_counted)
{
	for (uint64_t i = 1; i <= 3; i++) {
		memset(&presig, 0xee, sizeof presig);
		cr_assert_eq(sr_pool_take(pool, &presig), -EAGAIN);
		cr_assert(is_zero(&presig, sizeof presig), "nothing stale is left to be used");
		cr_assert_eq(stats_now().dry, i);
	}
	cr_assert_eq(sr_pool_fill(pool), 0);
	take(SLOTS);
	cr_assert_eq(sr_pool_take(pool, &presig), -EAGAIN);
	cr_assert_eq(stats_now().dry, 4);
	cr_assert_eq(stats_now().taken, SLOTS);
}

Test(pool, smallest_and_odd_sizes_fill_and_drain)
{
	static const uint32_t sizes[][3] = {
		{ 16, 1, 2 }, { 16, 1, 16 }, { 16, 14, 3 }, { 512, 100, 256 }, { 256, 2, 255 },
	};

	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		struct sr_pool_config config = config_of(sizes[i][0], sizes[i][1], sizes[i][2]);
		uint32_t whole = sizes[i][0] / sizes[i][2] * sizes[i][2];

		sr_pool_delete(pool);
		cr_assert_eq(sr_pool_new(&pool, &config), 0);
		for (int round = 0; round < 2; round++) {
			cr_assert_eq(sr_pool_fill(pool), 0);
			cr_assert_eq(stats_now().depth, whole);
			take(whole);
			cr_assert_eq(sr_pool_take(pool, &presig), -EAGAIN);
		}
	}
}

Test(pool, filling_begins_below_the_mark_and_ends_when_full)
{
	cr_assert_eq(step_to_the_end(), 0);
	cr_assert_eq(stats_now().depth, SLOTS);
	take(SLOTS - LOW);
	cr_assert_eq(sr_pool_step(pool), 0, "at the mark");
	take(1);
	cr_assert_eq(sr_pool_step(pool), 1, "below it");
	cr_assert_eq(step_to_the_end(), 0);
	cr_assert_eq(stats_now().depth, LOW - 1 + 2 * BATCH, "until no other batch fits");
	cr_assert_eq(sr_pool_step(pool), 0);
	take(BATCH);
	cr_assert_eq(sr_pool_step(pool), 0, "above the mark again");
	cr_assert_eq(sr_pool_fill(pool), 0);
	cr_assert_eq(stats_now().depth, LOW - 1 + 2 * BATCH, "fill does not ask for the mark");
	cr_assert_eq(sr_pool_fill(pool), 0, "and has nothing to do when full");
}

Test(pool, takes_while_a_batch_is_made_leave_it_its_room)
{
	cr_assert_eq(sr_pool_fill(pool), 0);
	take(SLOTS - LOW + 1);
	for (uint32_t i = 0; i < 400; i++) {
		cr_assert_geq(sr_pool_step(pool), 0);
		if (i % 3 == 0 && sr_pool_take(pool, &presig) == 0)
			cr_assert_eq(presig.made ^ presig.odd, SR_PRESIG_MADE);
		cr_assert_leq(stats_now().depth, SLOTS);
	}
}

Test(pool, numbers_add_up)
{
	struct sr_pool_stats stats;

	for (uint32_t round = 0; round < 5; round++) {
		cr_assert_eq(sr_pool_fill(pool), 0);
		take(20 + round);
		stats = stats_now();
		cr_assert_eq(stats.slots, SLOTS);
		cr_assert_eq(stats.refilled - stats.taken, stats.depth);
		cr_assert_eq(stats.taken, 20 * (round + 1) + round * (round + 1) / 2);
		cr_assert_eq(stats.failed + stats.dry, 0);
	}
}

/* ---- memory ---- */

/* All of it in one piece; the same length each time while nothing is allocated. */
static unsigned char *snapshot;
static size_t snapshot_bytes;

static void take_snapshot(void)
{
	struct pr_region regions[PR_REGIONS_MAX];
	uint32_t count = pr_find_protected(regions);
	size_t at = 0;

	if (count == 0)
		skip("this kernel shows no VmFlags");
	snapshot_bytes = 0;
	for (uint32_t i = 0; i < count; i++)
		snapshot_bytes += regions[i].bytes;
	free(snapshot);
	snapshot = malloc(snapshot_bytes);
	cr_assert(snapshot);
	for (uint32_t i = 0; i < count; i++) {
		memcpy(snapshot + at, regions[i].from, regions[i].bytes);
		at += regions[i].bytes;
	}
}

/* Places of a scalar in the snapshot; the last of them in *where. */
static uint32_t places(const unsigned char scalar[32], const unsigned char **where)
{
	const unsigned char *p = snapshot, *end = snapshot + snapshot_bytes;
	uint32_t count = 0;

	while ((p = memmem(p, (size_t)(end - p), scalar, 32)) != NULL) {
		*where = p++;
		count++;
	}
	return count;
}

Test(pool, slot_reads_as_zeroes_after_its_take)
{
	const unsigned char *before = NULL, *at, *last = NULL;
	unsigned char *full;

	cr_assert_eq(sr_pool_fill(pool), 0);
	take_snapshot();
	full = snapshot;
	snapshot = NULL;
	for (uint32_t i = 0; i < SLOTS; i++) {
		const unsigned char *const scalars[] = { presig.k, presig.u, presig.ur, presig.r };
		unsigned char *now;

		take(1);
		take_snapshot();
		for (int s = 0; s < 4; s++)
			cr_assert_eq(places(scalars[s], &at), 0, "take %u, scalar %d", i, s);

		now = snapshot;
		snapshot = full;
		cr_assert_eq(places(presig.k, &before), 1, "it was there, once");
		if (last)
			cr_assert_eq(before - last, 192, "first in, first out");
		last = before;
		before -= offsetof(struct sr_presig, k);
		cr_assert(is_zero(now + (before - full), 192), "the whole slot");
		snapshot = now;
	}
	free(full);
}

Test(pool, first_in_is_first_out_across_the_wrap)
{
	static unsigned char ks[SLOTS][32];
	const unsigned char *at;
	uint32_t next = 0;

	cr_assert_eq(sr_pool_fill(pool), 0);
	take(SLOTS - BATCH / 2);
	cr_assert_eq(sr_pool_fill(pool), 0);
	take_snapshot();
	for (; sr_pool_take(pool, &presig) == 0; next++) {
		memcpy(ks[next], presig.k, 32);
		cr_assert_eq(places(ks[next], &at), 1);
		for (uint32_t j = 0; j < next; j++)
			cr_assert_neq(memcmp(ks[j], ks[next], 32), 0);
	}
	cr_assert_eq(next, BATCH / 2 + 3 * BATCH);
}

/* ---- a source that fails ---- */

#define FAILURES 20u

Test(pool, failing_source_stops_the_filling_but_not_the_takes)
{
	struct sr_presign_key view;
	static struct sr_presign_work work;
	struct sr_curve *curve;
	struct pr_key key;
	unsigned char digest[32] = { 9 };
	uint8_t recid;

	cr_assert_eq(sr_curve_new(&curve, digest), 0);
	cr_assert(pr_key_make(&key, curve, 0));
	view = pr_key_view(&key);
	cr_assert_eq(sr_pool_fill(pool), 0);
	take(SLOTS - LOW + 1);
	for (uint32_t i = 0; i < FAILURES; i++) {
		source.mode = i % 2 ? PR_STUCK : PR_SILENT;
		cr_assert_eq(stats_now().failed, i);
		cr_assert_eq(sr_pool_step(pool), -EIO, "failure %u", i);
	}
	cr_assert_eq(sr_pool_fill(pool), -EIO);
	cr_assert_eq(stats_now().failed, FAILURES + 1);
	for (uint32_t i = 0; i < LOW - 1; i++) {
		cr_assert_eq(sr_pool_take(pool, &work.presig), 0);
		cr_assert_eq(sr_presign_ecdsa(curve, &work, &recid, digest, &view), 0);
		cr_assert_eq(sr_ecdsa_verify(curve, work.sig, digest, key.pubkey), 0);
	}
	cr_assert_eq(sr_pool_take(pool, &presig), -EAGAIN);
	sr_curve_delete(curve);
}

Test(pool, source_that_recovers_is_forgiven)
{
	for (int round = 0; round < 4; round++) {
		while (sr_pool_take(pool, &presig) == 0)
			;
		source.mode = round % 2 ? PR_STUCK : PR_SILENT;
		for (uint32_t i = 0; i < FAILURES; i++)
			cr_assert_eq(sr_pool_step(pool), -EIO, "round %d, failure %u", round, i);
		source.mode = PR_GOOD;
		cr_assert_eq(sr_pool_fill(pool), 0, "round %d", round);
		cr_assert_eq(stats_now().depth, SLOTS);
	}
}

Test(pool, source_that_fails_in_the_middle_hands_nothing_out)
{
	uint32_t steps = 0;

	source.mode = PR_GOOD;
	while (sr_pool_step(pool) > 0 && ++steps < 10)
		;
	source.mode = PR_SILENT; /* the batch at hand has what it needs */
	while (sr_pool_step(pool) > 0)
		;
	cr_assert_eq(stats_now().refilled, BATCH);
	cr_assert_eq(stats_now().failed, 1);
}

/* ---- fork ---- */

static struct pr_needles *needles; /* shared with a child, under its mask */

/* Every k and u that waits. Returns how many were found. */
static uint32_t collect_all(void)
{
	uint32_t count = 0;

	/* A slot: r, u, u*r, k, parity, mark. Found by its mark and its place. */
	for (size_t at = 0; at + sizeof presig <= snapshot_bytes; at += 64) {
		struct sr_presig slot;

		memcpy(&slot, snapshot + at, sizeof slot);
		if ((slot.made ^ slot.odd) != SR_PRESIG_MADE || slot.odd > 1)
			continue;
		pr_needle_add(needles, slot.k);
		pr_needle_add(needles, slot.u);
		count++;
	}
	return count;
}

static int childs_view(void)
{
	struct sr_presig stolen;
	struct sr_pool_stats stats;

	memset(&stolen, 0xee, sizeof stolen);
	if (sr_pool_take(pool, &stolen) != -EPERM || !is_zero(&stolen, sizeof stolen))
		return 1;
	for (uint32_t i = 0; i < FAILURES; i++)
		if (sr_pool_step(pool) != -EPERM || sr_pool_fill(pool) != -EPERM)
			return 2;
	sr_pool_stats_get(pool, &stats);
	if (stats.depth != 0)
		return 3;
	if (pr_search_everywhere(needles) != 0)
		return 4;
	sr_pool_delete(pool);
	return 0;
}

Test(pool, forked_child_finds_nothing_anywhere_and_the_parent_goes_on)
{
	int status;
	pid_t pid;

	if (PR_SANITIZED)
		skip("a sanitizer's shadow is too much to search");
	needles = mmap(NULL, sizeof *needles, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	cr_assert(needles != MAP_FAILED);
	memset(needles, 0, sizeof *needles);
	cr_assert_eq(sr_pool_fill(pool), 0);
	take(LOW + 1);
	for (int i = 0; i < 12; i++) /* a batch is on its way, too */
		cr_assert_eq(sr_pool_step(pool), 1);
	take_snapshot();
	cr_assert_eq(collect_all(), SLOTS - LOW - 1);
	memset(snapshot, 0, snapshot_bytes);
	memset(&presig, 0, sizeof presig);
	cr_assert_geq(pr_search_everywhere(needles), 8 * (SLOTS - LOW - 1),
		      "the search sees nothing");

	pr_stack_clean(); /* of what the search itself had in hand */
	pid = fork();
	cr_assert(pid >= 0);
	if (pid == 0)
		_exit(childs_view());
	cr_assert(waitpid(pid, &status, 0) == pid);
	cr_assert(WIFEXITED(status), "%x", (unsigned int)status);
	cr_assert_eq(WEXITSTATUS(status), 0, "the child's check %d failed", WEXITSTATUS(status));
	cr_assert_eq(sr_pool_fill(pool), 0);
	take(SLOTS - 1);
	(void)munmap(needles, sizeof *needles);
}

Test(pool, child_that_is_forked_at_any_piece_is_refused)
{
	int status;

	for (int i = 0; i < 100; i++) {
		pid_t pid = fork();

		cr_assert(pid >= 0);
		if (pid == 0)
			_exit(sr_pool_take(pool, &presig) == -EPERM &&
					      sr_pool_step(pool) == -EPERM ?
				      0 :
				      1);
		cr_assert(waitpid(pid, &status, 0) == pid);
		cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "after piece %d", i);
		cr_assert_geq(sr_pool_step(pool), 0);
		if (i % 7 == 0)
			(void)!sr_pool_take(pool, &presig);
	}
}

/* ---- use ---- */

static unsigned long allocations;

#if !PR_SANITIZED
/* libcrypto's calls come here too: the program's malloc stands before glibc's. */
extern void *__libc_malloc(size_t bytes);

void *malloc(size_t bytes)
{
	allocations++;
	return __libc_malloc(bytes);
}
#endif

Test(pool, take_allocates_nothing_and_leaves_nothing_on_the_stack)
{
	static unsigned char dead[PR_DEAD_BYTES];
	static struct pr_needles taken;
	unsigned long before = allocations;
	void *one = malloc(1);
	int ret;

	__asm__ volatile("" ::"r"(one) : "memory");
	free(one);
	if (allocations == before)
		skip("a sanitizer has the allocator");
	cr_assert_eq(sr_pool_fill(pool), 0);
	for (uint32_t i = 0; i < SLOTS; i++) {
		pr_stack_clean();
		before = allocations;
		ret = sr_pool_take(pool, &presig);
		PR_STACK_COPY(dead);
		cr_assert_eq(allocations, before);
		cr_assert_eq(ret, 0);
		memset(&taken, 0, sizeof taken);
		pr_needle_add(&taken, presig.k);
		pr_needle_add(&taken, presig.u);
		pr_needle_add(&taken, presig.ur);
		cr_assert_eq(pr_needles_found(&taken, dead, sizeof dead), 0, "take %u", i);
	}
}
