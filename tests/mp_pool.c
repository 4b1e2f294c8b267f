/* SPDX-License-Identifier: MIT */
/*
 * Pools of presignatures in processes that are killed, forked, stopped and starved
 * of memory. What must hold is one sentence: no r is ever seen twice, and none is
 * seen in a child. Every signature that is made is verified too.
 */
#include <math.h>
#include <pthread.h>

#include "mp_common.h"
#include "presign_rig.h"
#include "sr_pool.h"

#define SLOTS 1024u
#define LOW 768u
#define BATCH 64u

/* Enough of an r to be told from any other by: two of 10 million are the same by
 * chance once in 2^82. */
struct nonce {
	unsigned char r[16];
};

static struct pr_source source;
static const struct sr_entropy entropy = { pr_source_get, &source };
static const struct sr_pool_config config = {
	.entropy = &entropy, .slots = SLOTS, .low = LOW, .batch = BATCH
};

static struct sr_pool *new_pool(void)
{
	struct sr_pool *pool;
	int ret;

	if (!pr_secret_memory())
		mp_skip(PR_NO_SECRET_MEMORY);
	ret = sr_pool_new(&pool, &config);
	MP_EQ(ret, 0, "sr_pool_new (it locks 300 KiB)");
	return pool;
}

static int nonce_order(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct nonce));
}

static void all_different(struct nonce *nonces, uint64_t count)
{
	qsort(nonces, count, sizeof nonces[0], nonce_order);
	for (uint64_t i = 1; i < count; i++)
		MP_CHECK(nonce_order(&nonces[i - 1], &nonces[i]), "an r was seen twice");
}

/* Takes one, filling first when there is none. */
static void take(struct sr_pool *pool, struct sr_presig *presig)
{
	int ret = sr_pool_take(pool, presig);

	if (ret == -EAGAIN) {
		MP_EQ(sr_pool_fill(pool), 0, "sr_pool_fill");
		ret = sr_pool_take(pool, presig);
	}
	MP_EQ(ret, 0, "sr_pool_take");
}

/* ---- many signatures ---- */

#define POOLS 4u

enum { TOP_OF_K, BOTTOM_OF_K, TOP_OF_R, BOTTOM_OF_R, HISTOGRAMS };

struct histograms {
	uint64_t counts[HISTOGRAMS][256];
	uint64_t total;
};

static void count_bytes(struct histograms *h, const unsigned char *k, const unsigned char *r)
{
	h->counts[TOP_OF_K][k[0]]++;
	h->counts[BOTTOM_OF_K][k[31]]++;
	h->counts[TOP_OF_R][r[0]]++;
	h->counts[BOTTOM_OF_R][r[31]]++;
	h->total++;
}

/*
 * Of 255 degrees of freedom, by Wilson and Hilferty's approximation; a deviate of
 * 6.0 is exceeded once in 10^9. Also from below: what is more even than chance
 * allows is not random either.
 */
static bool looks_uniform(const uint64_t counts[256], uint64_t total, double *statistic)
{
	const double freedom = 255, spread = 2 / (9 * freedom);
	double expected = (double)total / 256, sum = 0, low, high;

	for (int i = 0; i < 256; i++)
		sum += ((double)counts[i] - expected) * ((double)counts[i] - expected) / expected;
	low = 1 - spread - 6.0 * sqrt(spread);
	high = 1 - spread + 6.0 * sqrt(spread);
	*statistic = sum;
	return sum > freedom * low * low * low && sum < freedom * high * high * high;
}

struct work_of_four {
	struct histograms histograms[POOLS];
	uint64_t each; /* signatures of one pool */
	uint64_t by_openssl[POOLS];
	struct nonce nonces[];
};

static struct work_of_four *four;

struct maker {
	struct sr_curve *curve;
	struct sr_hasher *hasher;
	struct pr_key key;
	struct sr_presign_work work;
};

/* One signature over a digest that nobody else has, ECDSA or each fourth BIP-340. */
static void make_and_verify(struct maker *m, uint64_t number, bool by_openssl)
{
	struct sr_presign_key view = pr_key_view(&m->key);
	unsigned char digest[32] = { 0 };
	bool schnorr = number % 4 == 3;
	uint8_t recid;
	int ret;

	sr_put64(digest, number);
	sr_put64(digest + 8, (unsigned int)getpid());
	if (schnorr) {
		ret = sr_presign_bip340(m->curve, m->hasher, &m->work, digest, 32, m->key.pubkey,
					&view);
		MP_EQ(ret, 0, "sr_presign_bip340");
		ret = sr_bip340_verify(m->curve, m->work.sig, digest, 32, m->key.pubkey);
	} else {
		ret = sr_presign_ecdsa(m->curve, &m->work, &recid, digest, &view);
		MP_EQ(ret, 0, "sr_presign_ecdsa");
		ret = sr_ecdsa_verify(m->curve, m->work.sig, digest, m->key.pubkey);
	}
	MP_EQ(ret, 0, "verification of a signature");
	if (by_openssl)
		MP_CHECK(schnorr ? pr_openssl_bip340(m->work.sig, digest, 32, m->key.pubkey) :
				   pr_openssl_ecdsa(m->work.sig, digest, m->key.pubkey),
			 "OpenSSL does not accept signature %llu", (unsigned long long)number);
}

static void maker_begin(struct maker *m)
{
	static const unsigned char seed[32] = { 2 };

	memset(m, 0, sizeof *m);
	MP_EQ(sr_curve_new(&m->curve, seed), 0, "sr_curve_new");
	MP_EQ(sr_hasher_new(&m->hasher), 0, "sr_hasher_new");
	MP_CHECK(pr_key_make(&m->key, m->curve, (unsigned int)getpid() % 2), "no key");
}

static void sign_many(void *arg)
{
	uint32_t index = *(const uint32_t *)arg;
	struct nonce *nonces = &four->nonces[index * four->each];
	uint64_t stride = four->each / (512 / POOLS);
	struct sr_pool *pool = new_pool();
	struct maker m;

	maker_begin(&m);
	for (uint64_t i = 0; i < four->each; i++) {
		bool sampled = i % stride == 0;
		unsigned char r[16];

		take(pool, &m.work.presig);
		count_bytes(&four->histograms[index], m.work.presig.k, m.work.presig.r);
		memcpy(r, m.work.presig.r, sizeof r);
		make_and_verify(&m, i, sampled);
		MP_CHECK(memcmp(m.work.sig, r, sizeof r) == 0, "another r leaves");
		memcpy(nonces[i].r, r, sizeof r);
		four->by_openssl[index] += sampled;
	}
	sr_pool_delete(pool);
}

static void judge_bytes(void)
{
	static const char *const names[] = { "top of k", "bottom of k", "top of r", "bottom of r" };
	struct histograms sum = { 0 };
	double statistic;
	bool good;

	for (uint32_t p = 0; p < POOLS; p++) {
		sum.total += four->histograms[p].total;
		for (uint32_t h = 0; h < HISTOGRAMS; h++)
			for (uint32_t i = 0; i < 256; i++)
				sum.counts[h][i] += four->histograms[p].counts[h][i];
	}
	for (uint32_t h = 0; h < HISTOGRAMS; h++) {
		good = looks_uniform(sum.counts[h], sum.total, &statistic);
		(void)printf("# %s: chi-square %.1f over %llu\n", names[h], statistic,
			     (unsigned long long)sum.total);
		MP_CHECK(good, "%s: chi-square %.1f of 255 degrees over %llu", names[h], statistic,
			 (unsigned long long)sum.total);
	}
}

static void four_pools_never_repeat_and_all_verifies(void)
{
	uint64_t each = (mp_long ? 10000000u : 100000u) / POOLS;
	uint32_t indices[POOLS];
	uint64_t by_openssl = 0;
	pid_t pids[POOLS];

	four = mp_shared(sizeof *four + POOLS * each * sizeof four->nonces[0]);
	four->each = each;
	for (uint32_t i = 0; i < POOLS; i++) {
		indices[i] = i;
		pids[i] = mp_fork(sign_many, &indices[i]);
	}
	for (uint32_t i = 0; i < POOLS; i++) {
		int status;

		/* As long as it takes: the test as a whole has a limit. */
		MP_CHECK(waitpid(pids[i], &status, 0) == pids[i], "waitpid");
		if (WIFEXITED(status) && WEXITSTATUS(status) == 1)
			_exit(1);
		if (WIFEXITED(status) && WEXITSTATUS(status) == MP_SKIPPED)
			_exit(MP_SKIPPED);
		MP_EQ(status, 0, "status of a process that signs");
		by_openssl += four->by_openssl[i];
	}
	all_different(four->nonces, POOLS * each);
	judge_bytes();
	MP_CHECK(by_openssl >= 500, "OpenSSL has seen %llu", (unsigned long long)by_openssl);
	(void)printf("# %llu signatures, %llu of them by OpenSSL too\n",
		     (unsigned long long)(POOLS * each), (unsigned long long)by_openssl);
}

/* The bound that the nonces above keep is one that a bad generator does not. */
static void biased_nonces_fail_the_same_bound(void)
{
	uint64_t count = mp_long ? 1000000 : 100000;
	struct histograms good = { 0 }, stuck = { 0 }, even = { 0 };
	unsigned char k[32];
	double statistic;

	for (uint64_t i = 0; i < count; i++) {
		MP_CHECK(pr_random(k, sizeof k), "no random bytes");
		count_bytes(&good, k, k);
		k[31] &= 0xfe; /* the lowest bit of k is stuck */
		k[0] = (unsigned char)(k[0] & 0x7f ? k[0] : k[1]); /* 0 and 128 are rarer */
		count_bytes(&stuck, k, k);
		memset(k, (int)i, sizeof k);
		count_bytes(&even, k, k);
	}
	for (uint32_t h = 0; h < HISTOGRAMS; h++) {
		MP_CHECK(looks_uniform(good.counts[h], count, &statistic), "chi-square %.1f",
			 statistic);
		MP_CHECK(!looks_uniform(stuck.counts[h], count, &statistic), "bias passes: %.1f",
			 statistic);
		MP_CHECK(!looks_uniform(even.counts[h], count, &statistic),
			 "a counter passes: %.1f", statistic);
	}
}

/* ---- processes that stream what they take ---- */

struct filler {
	struct sr_pool *pool;
	uint64_t stop;
};

static void *fill(void *arg)
{
	struct filler *f = arg;

	while (!sr_load_acquire(&f->stop)) {
		int ret = sr_pool_step(f->pool);

		MP_CHECK(ret >= 0, "sr_pool_step: %d", ret);
		if (ret == 0)
			mp_sleep_us(50);
	}
	return NULL;
}

static int stream[2];

/* With a filler of its own, until killed. A record is written whole or not at all:
 * PIPE_BUF is larger. */
static void stream_nonces(void *arg)
{
	struct filler f = { new_pool(), 0 };
	struct sr_presig presig;
	pthread_t thread;

	(void)arg;
	(void)close(stream[0]);
	MP_EQ(pthread_create(&thread, NULL, fill, &f), 0, "pthread_create");
	for (;;) {
		if (sr_pool_take(f.pool, &presig) < 0) {
			(void)sched_yield();
			continue;
		}
		if (write(stream[1], presig.r, sizeof presig.r) != (ssize_t)sizeof presig.r)
			_exit(0); /* nobody reads */
	}
}

struct seen {
	struct nonce *nonces;
	uint64_t count;
	uint64_t room;
};

static void seen_open(struct seen *seen, uint64_t room)
{
	seen->nonces = calloc(room, sizeof seen->nonces[0]);
	seen->count = 0;
	seen->room = room;
	MP_CHECK(seen->nonces, "out of memory");
	MP_CHECK(pipe2(stream, O_CLOEXEC) == 0, "pipe: %s", strerror(errno));
}

/* Reads records until @until, or until the writers are gone. */
static void read_until(struct seen *seen, uint64_t until_ns)
{
	struct pollfd fd = { .fd = stream[0], .events = POLLIN };
	unsigned char r[SR_SCALAR_BYTES];

	while (sr_now_ns() < until_ns && seen->count < seen->room) {
		ssize_t n;

		if (poll(&fd, 1, 1) <= 0)
			continue;
		n = read(stream[0], r, sizeof r);
		if (n == 0)
			return;
		MP_EQ(n, sizeof r, "bytes of a record");
		memcpy(seen->nonces[seen->count++].r, r, sizeof seen->nonces[0].r);
	}
}

static pid_t begin_streamer(struct seen *seen)
{
	uint64_t before = seen->count;
	pid_t pid = mp_fork(stream_nonces, NULL);
	uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;

	while (seen->count == before) {
		MP_CHECK(sr_now_ns() < end_ns, "nothing comes");
		if (!mp_alive(pid)) {
			int status = mp_reap(pid, MP_BOUND_NS, "a streaming process");

			_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
		}
		read_until(seen, sr_now_ns() + SR_NS_PER_MS);
	}
	return pid;
}

static void killed_at_random_moments(void)
{
	uint32_t rounds = mp_long ? 3000 : 60;
	struct seen seen;

	seen_open(&seen, (uint64_t)rounds * 20000);
	for (uint32_t i = 0; i < rounds; i++) {
		pid_t pid = begin_streamer(&seen);

		read_until(&seen, sr_now_ns() + mp_below(12000) * 1000ull);
		mp_signal(&pid, SIGKILL);
		read_until(&seen, sr_now_ns() + 2 * SR_NS_PER_MS); /* what was under way */
	}
	(void)printf("# %llu nonces of %u killed processes\n", (unsigned long long)seen.count,
		     rounds);
	MP_CHECK(seen.count > 20ull * rounds, "too few to mean anything");
	all_different(seen.nonces, seen.count);
}

static void stopped_and_continued(void)
{
	uint32_t rounds = mp_long ? 2000 : 40;
	struct seen seen;
	pid_t pid;

	seen_open(&seen, 1000000ull + (uint64_t)rounds * 20000);
	pid = begin_streamer(&seen);
	for (uint32_t i = 0; i < rounds; i++) {
		uint64_t before, end_ns;

		read_until(&seen, sr_now_ns() + mp_below(8000) * 1000ull);
		mp_signal(&pid, SIGSTOP);
		read_until(&seen, sr_now_ns() + mp_below(8000) * 1000ull);
		(void)kill(pid, SIGCONT);
		before = seen.count;
		end_ns = sr_now_ns() + MP_BOUND_NS;
		/* More than the pipe held when it was stopped. */
		while (seen.count < before + 10) {
			MP_CHECK(sr_now_ns() < end_ns, "it does not go on");
			read_until(&seen, sr_now_ns() + SR_NS_PER_MS);
		}
	}
	mp_signal(&pid, SIGKILL);
	(void)printf("# %llu nonces over %u stops\n", (unsigned long long)seen.count, rounds);
	all_different(seen.nonces, seen.count);
}

/* ---- fork in the middle ---- */

static int childs_view(struct sr_pool *pool)
{
	struct pr_region regions[PR_REGIONS_MAX];
	uint32_t count = pr_find_protected(regions);
	struct sr_presig presig;

	for (uint32_t i = 0; i < count; i++)
		for (size_t at = 0; at < regions[i].bytes; at += 8)
			if (sr_get64(regions[i].from + at) != 0)
				return 2;
	if (sr_pool_take(pool, &presig) != -EPERM)
		return 3;
	if (sr_pool_step(pool) != -EPERM)
		return 4;
	return 0;
}

static void forked_while_a_filler_runs(void)
{
	uint32_t rounds = mp_long ? 5000 : 150;
	struct filler f = { new_pool(), 0 };
	struct seen seen;
	pthread_t thread;

	seen_open(&seen, (uint64_t)rounds * 64);
	MP_EQ(pthread_create(&thread, NULL, fill, &f), 0, "pthread_create");
	for (uint32_t i = 0; i < rounds; i++) {
		uint32_t takes = mp_below(60);
		struct sr_presig presig;
		int status;
		pid_t pid;

		while (takes > 0)
			if (sr_pool_take(f.pool, &presig) == 0) {
				memcpy(seen.nonces[seen.count++].r, presig.r, sizeof(struct nonce));
				takes--;
			} else {
				(void)sched_yield();
			}
		mp_sleep_us(mp_below(300));
		(void)fflush(stdout);
		pid = fork();
		MP_CHECK(pid >= 0, "fork: %s", strerror(errno));
		if (pid == 0)
			_exit(childs_view(f.pool));
		status = mp_reap(pid, MP_BOUND_NS, "a child");
		MP_EQ(status, 0, "a child's status (2: memory, 3: take, 4: step)");
	}
	sr_store_release(&f.stop, 1);
	(void)pthread_join(thread, NULL);
	(void)printf("# %llu nonces beside %u children\n", (unsigned long long)seen.count, rounds);
	all_different(seen.nonces, seen.count);
	sr_pool_delete(f.pool);
}

/* ---- memory that is not to be had ---- */

/* The program's own stand before glibc's, for libcrypto too. From the chosen count
 * on one fails, or all of them do. */
static long allocations_left = -1;
static bool all_fail_then;
static bool one_has_failed;

__attribute__((unused)) static bool allocation_fails(void)
{
	if (allocations_left < 0 || allocations_left-- > 0)
		return false;
	if (all_fail_then)
		allocations_left = 0;
	one_has_failed = true;
	return true;
}

static void let_fail(long after, bool all)
{
	one_has_failed = false;
	all_fail_then = all;
	allocations_left = after;
}

static bool no_more_failing(void)
{
	allocations_left = -1;
	return one_has_failed;
}

#if !MP_SANITIZED
#include <sys/syscall.h>

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *mem, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);

void *malloc(size_t bytes)
{
	return allocation_fails() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
	return allocation_fails() ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *mem, size_t bytes)
{
	return allocation_fails() ? NULL : __libc_realloc(mem, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	return allocation_fails() ? NULL : __libc_memalign(alignment, bytes);
}

int mlock(const void *mem, size_t bytes)
{
	if (allocation_fails()) {
		errno = ENOMEM;
		return -1;
	}
	return (int)syscall(SYS_mlock, mem, bytes);
}
#endif

/* In a process of its own: what the library keeps after a failure dies with it. */
static int new_with_failure(long after, bool all)
{
	struct sr_presig presig;
	struct sr_pool *pool;
	int ret;

	/* libcrypto 3.0 does not survive a failure in its own first initialisation
	 * (it locks a lock that was not made), so that is behind us here. */
	sr_pool_delete(new_pool());
	pool = NULL;
	let_fail(after, all);
	ret = sr_pool_new(&pool, &config);
	if (!no_more_failing())
		return ret == 0 ? 9 : 2; /* there are not so many */
	if (ret < 0)
		return pool == NULL && (ret == -ENOMEM || ret == -EIO) ? 0 : 3;
	/* The library went without. Then the pool is a good one. */
	if (sr_pool_fill(pool) != 0 || sr_pool_take(pool, &presig) != 0)
		return 4;
	sr_pool_delete(pool);
	return 0;
}

static int outcome_of_new(long after, bool all)
{
	int status;
	pid_t pid;

	(void)fflush(stdout);
	pid = fork();
	MP_CHECK(pid >= 0, "fork: %s", strerror(errno));
	if (pid == 0)
		_exit(new_with_failure(after, all));
	status = mp_reap(pid, MP_BOUND_NS, "sr_pool_new without memory");
	MP_CHECK(WIFEXITED(status), "killed by signal %d when allocation %ld fails",
		 WTERMSIG(status), after);
	return WEXITSTATUS(status);
}

static void no_memory_for_a_new_pool(void)
{
	long all = 1;
	int ret;

	if (MP_SANITIZED)
		mp_skip("a sanitizer has the allocator");
	if (!pr_secret_memory())
		mp_skip(PR_NO_SECRET_MEMORY);
	while (outcome_of_new(all, false) != 9)
		all *= 2;
	for (long after = 0; after < all; after++)
		for (int mode = 0; mode < 2; mode++) {
			ret = outcome_of_new(after, mode);
			MP_CHECK(ret == 0 || ret == 9,
				 "check %d of sr_pool_new when allocation %ld fails", ret, after);
		}
	(void)printf("# fewer than %ld allocations, each made to fail\n", all);
}

static void no_memory_for_a_refill(void)
{
	struct sr_pool *pool = new_pool();
	uint32_t failures = 0, refused = 0;
	struct sr_presig presig;
	struct seen seen;

	if (MP_SANITIZED)
		mp_skip("a sanitizer has the allocator");
	seen_open(&seen, 200ull * SLOTS);
	for (uint32_t i = 0; i < 60; i++) {
		int ret;

		MP_EQ(sr_pool_fill(pool), 0, "sr_pool_fill");
		for (uint32_t j = 0; j < SLOTS - LOW + 1 + mp_below(100); j++) {
			take(pool, &presig);
			memcpy(seen.nonces[seen.count++].r, presig.r, sizeof(struct nonce));
		}
		let_fail((long)(i / 2 % 15), i % 2);
		do
			ret = sr_pool_step(pool);
		while (ret > 0);
		failures += no_more_failing();
		refused += ret < 0;
		MP_CHECK(ret == 0 || ret == -EIO, "a refill without memory: %d", ret);
		if (i % 3)
			continue; /* the next begins with what is left, too */
		while (sr_pool_take(pool, &presig) == 0)
			memcpy(seen.nonces[seen.count++].r, presig.r, sizeof(struct nonce));
	}
	(void)printf("# %u refills met a failed allocation, %u batches were thrown away\n",
		     failures, refused);
	MP_CHECK(failures > 10 && refused > 3, "nothing failed");
	all_different(seen.nonces, seen.count);
	sr_pool_delete(pool);
}

static const struct mp_test tests[] = {
	{ "pool/four_pools_never_repeat_and_all_verifies", four_pools_never_repeat_and_all_verifies,
	  0 },
	{ "pool/biased_nonces_fail_the_same_bound", biased_nonces_fail_the_same_bound, 0 },
	{ "pool/killed_at_random_moments", killed_at_random_moments, 0 },
	{ "pool/stopped_and_continued", stopped_and_continued, 0 },
	{ "pool/forked_while_a_filler_runs", forked_while_a_filler_runs, 0 },
	{ "pool/no_memory_for_a_new_pool", no_memory_for_a_new_pool, 0 },
	{ "pool/no_memory_for_a_refill", no_memory_for_a_refill, 0 },
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
