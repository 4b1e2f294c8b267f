/* SPDX-License-Identifier: MIT */
/*
 * There is no known answer to ask for: the generator takes the system's entropy
 * too. What can be tested is when it refuses, and that no two give the same.
 */
#include <dlfcn.h>
#include <openssl/evp.h>
#include <time.h>
#include <criterion/criterion.h>
#include <sys/wait.h>

#include "presign_rig.h"
#include "sr_drbg.h"
#include "sr_health.h"
#include "sr_secret.h"

static struct pr_source source;
static struct sr_entropy entropy = { pr_source_get, &source };

static void begin(void)
{
	if (!pr_secret_memory())
		cr_skip_test(PR_NO_SECRET_MEMORY);
	source = (struct pr_source){ PR_GOOD, 0 };
}

TestSuite(drbg, .init = begin);

static struct sr_drbg *new_drbg(void)
{
	struct sr_drbg *drbg;

	cr_assert_eq(sr_drbg_new(&drbg, &entropy), 0);
	return drbg;
}

static bool is_zero(const unsigned char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (bytes[i])
			return false;
	return true;
}

Test(drbg, two_generators_and_two_calls_differ)
{
	struct sr_drbg *a = new_drbg(), *b = new_drbg();
	unsigned char out[4][32];

	for (int i = 0; i < 4; i++)
		cr_assert_eq(sr_drbg_generate(i % 2 ? a : b, out[i], 32), 0);
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < i; j++)
			cr_assert_neq(memcmp(out[i], out[j], 32), 0, "%d and %d", i, j);
	sr_drbg_delete(a);
	sr_drbg_delete(b);
	sr_drbg_delete(NULL);
}

Test(drbg, output_passes_the_test_of_its_source)
{
	static unsigned char out[SR_DRBG_BYTES_MAX];
	struct sr_drbg *drbg = new_drbg();
	struct sr_health health;

	sr_health_init(&health);
	cr_assert_eq(sr_drbg_generate(drbg, out, sizeof out), 0);
	cr_assert(sr_health_feed(&health, out, sizeof out));
	sr_drbg_delete(drbg);
}

/* Counts what is asked of a source, and gives the same "random" bytes each time. */
static int same_each_time(void *arg, unsigned char *out, size_t bytes)
{
	size_t *asked = arg;

	*asked += bytes;
	for (size_t i = 0; i < bytes; i++)
		out[i] = (unsigned char)(i * 5);
	return 0;
}

/* The system and the CPU are enough when our source turns out to repeat itself. */
Test(drbg, source_that_repeats_takes_nothing_away)
{
	size_t asked = 0;
	struct sr_entropy repeats = { same_each_time, &asked };
	unsigned char out[2][32];
	struct sr_drbg *drbg;

	for (int i = 0; i < 2; i++) {
		cr_assert_eq(sr_drbg_new(&drbg, &repeats), 0);
		cr_assert_eq(sr_drbg_generate(drbg, out[i], 32), 0);
		sr_drbg_delete(drbg);
	}
	cr_assert_neq(memcmp(out[0], out[1], 32), 0);
	cr_assert(asked >= 2 * SR_HEALTH_STARTUP_BYTES, "start-up test of %zu bytes", asked / 2);
}

/* What OpenSSL was last given, and where that lay. */
static struct {
	unsigned char entropy[64], extra[64];
	size_t entropy_bytes, extra_bytes;
	const unsigned char *at;
} given;

int EVP_RAND_reseed(EVP_RAND_CTX *ctx, int prediction_resistance, const unsigned char *ent,
		    size_t ent_len, const unsigned char *addin, size_t addin_len)
{
	int (*real)(EVP_RAND_CTX *, int, const unsigned char *, size_t, const unsigned char *,
		    size_t);

	*(void **)&real = dlsym(RTLD_NEXT, "EVP_RAND_reseed");
	cr_assert(real && ent_len <= sizeof given.entropy && addin_len <= sizeof given.extra);
	memcpy(given.entropy, ent, ent_len);
	memcpy(given.extra, addin, addin_len);
	given.entropy_bytes = ent_len;
	given.extra_bytes = addin_len;
	given.at = ent;
	return real(ctx, prediction_resistance, ent, ent_len, addin, addin_len);
}

static unsigned char last_drawn[64];

static int remembers(void *arg, unsigned char *out, size_t bytes)
{
	int ret = pr_source_get(arg, out, bytes);

	memcpy(last_drawn, out, bytes < sizeof last_drawn ? bytes : sizeof last_drawn);
	return ret;
}

Test(drbg, reseed_gives_openssl_what_the_source_gave_and_a_counter)
{
	static const unsigned char zero[48];
	struct sr_entropy source_that_remembers = { remembers, &source };
	unsigned char counter[8];
	struct sr_drbg *drbg;

	cr_assert_eq(sr_drbg_new(&drbg, &source_that_remembers), 0);
	for (int i = 0; i < 3; i++) {
		memcpy(counter, given.extra + 32, sizeof counter);
		cr_assert_eq(sr_drbg_reseed(drbg), 0);
		cr_assert_eq(given.entropy_bytes, 48);
		cr_assert_arr_eq(given.entropy, last_drawn, 48);
		cr_assert_eq(given.extra_bytes, 40);
		cr_assert_neq(memcmp(given.extra + 32, counter, sizeof counter), 0);
		cr_assert_arr_eq(given.at, zero, 48, "it is wiped afterwards");
	}
	sr_drbg_delete(drbg);
}

Test(drbg, stuck_source_is_refused_at_the_start)
{
	struct sr_drbg *drbg = NULL;

	source.mode = PR_STUCK;
	cr_assert_eq(sr_drbg_new(&drbg, &entropy), -EIO);
	cr_assert_null(drbg);
}

static int gives_nothing(void *arg, unsigned char *out, size_t bytes)
{
	(void)arg;
	(void)out;
	(void)bytes;
	return -ENODEV;
}

Test(drbg, silent_source_is_refused_with_its_own_reason)
{
	struct sr_entropy silent = { gives_nothing, NULL };
	struct sr_drbg *drbg = NULL;

	cr_assert_eq(sr_drbg_new(&drbg, &silent), -ENODEV);
	cr_assert_null(drbg);
}

static void failed_reseed(enum pr_source_mode mode)
{
	struct sr_drbg *drbg = new_drbg();
	unsigned char out[64];

	source.mode = mode;
	cr_assert_eq(sr_drbg_reseed(drbg), -EIO);
	for (int i = 0; i < 3; i++) {
		memset(out, 0xee, sizeof out);
		cr_assert_eq(sr_drbg_generate(drbg, out, sizeof out), -EIO);
		cr_assert(is_zero(out, sizeof out), "output of a refusal");
	}
	source.mode = PR_GOOD;
	cr_assert_eq(sr_drbg_generate(drbg, out, sizeof out), -EIO, "not by itself");
	cr_assert_eq(sr_drbg_reseed(drbg), 0);
	cr_assert_eq(sr_drbg_generate(drbg, out, sizeof out), 0);
	cr_assert_not(is_zero(out, sizeof out));
	sr_drbg_delete(drbg);
}

Test(drbg, nothing_is_made_past_a_failed_source_until_a_good_reseed)
{
	failed_reseed(PR_SILENT);
	failed_reseed(PR_STUCK);
}

/* After stuck bytes as well, however they lay in the window. */
Test(drbg, good_source_is_believed_at_once_after_a_failure)
{
	struct sr_drbg *drbg = new_drbg();

	for (int i = 0; i < 200; i++) {
		source.mode = PR_STUCK;
		cr_assert_eq(sr_drbg_reseed(drbg), -EIO);
		source.mode = PR_GOOD;
		cr_assert_eq(sr_drbg_reseed(drbg), 0, "round %d", i);
	}
	sr_drbg_delete(drbg);
}

Test(drbg, more_than_a_call_may_give_is_refused)
{
	static unsigned char out[SR_DRBG_BYTES_MAX + 1];
	struct sr_drbg *drbg = new_drbg();

	memset(out, 0xee, sizeof out);
	cr_assert_eq(sr_drbg_generate(drbg, out, sizeof out), -EIO);
	cr_assert(is_zero(out, sizeof out));
	cr_assert_eq(sr_drbg_generate(drbg, out, SR_DRBG_BYTES_MAX), 0);
	sr_drbg_delete(drbg);
}

Test(drbg, child_and_parent_go_different_ways)
{
	struct sr_drbg *drbg = new_drbg();
	unsigned char *childs = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
				     -1, 0);
	unsigned char ours[64];
	int status;
	pid_t pid;

	cr_assert(childs != MAP_FAILED);
	cr_assert_eq(sr_drbg_generate(drbg, ours, sizeof ours), 0);
	pid = fork();
	cr_assert(pid >= 0);
	if (pid == 0)
		_exit(sr_drbg_generate(drbg, childs, 64) ? 1 : 0);
	cr_assert(waitpid(pid, &status, 0) == pid);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	cr_assert_eq(sr_drbg_generate(drbg, ours, sizeof ours), 0);
	cr_assert_neq(memcmp(ours, childs, sizeof ours), 0);
	sr_drbg_delete(drbg);
	(void)munmap(childs, 4096);
}

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

/* The clock by which OpenSSL would judge that a seed is old. */
static time_t later_s;

time_t time(time_t *out)
{
	struct timespec now;
	time_t t;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	t = now.tv_sec + later_s;
	if (out)
		*out = t;
	return t;
}

Test(drbg, nothing_is_allocated_in_use)
{
	static unsigned char out[8192];
	unsigned long before = allocations;
	void *one = malloc(1);
	struct sr_drbg *drbg;
	int failed = 0;

	__asm__ volatile("" ::"r"(one) : "memory");
	free(one);
	if (allocations == before)
		cr_skip_test("a sanitizer has the allocator");

	drbg = new_drbg();
	before = allocations;
	memset(&given, 0, sizeof given);
	for (size_t i = 1; i <= 600; i++) {
		if (i == 300)
			later_s = 7200;
		failed |= sr_drbg_generate(drbg, out, i % 2 ? sizeof out : i);
	}
	cr_assert_eq(failed, 0);
	cr_assert_eq(allocations, before, "OpenSSL reseeds by itself after 256, or an hour");
	sr_drbg_delete(drbg);
}
