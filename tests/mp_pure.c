/* SPDX-License-Identifier: MIT */
/*
 * What decodes, judges, digests and renders an order makes no system call and allocates
 * nothing: it is run in a process that the kernel kills at any call but read, write and
 * exit, with a malloc that counts. tests/pure.sh looks for the same in the machine code, and
 * for locks and floating point.
 */
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "mp_common.h"
#include "sr_sample.h"

static unsigned long allocations;

#if !MP_SANITIZED
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);

void *malloc(size_t bytes)
{
	allocations++;
	return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
	allocations++;
	return __libc_calloc(count, bytes);
}
#endif

enum failure { GOOD, NO_DECODE, NO_POLICY, NO_DIGEST, NO_TEXT, NO_TEMPLATE, ALLOCATED, LAST };

static const char *const failures[LAST] = {
	[NO_DECODE] = "it was not decoded",	   [NO_POLICY] = "policy has not judged it",
	[NO_DIGEST] = "it has no digest",	   [NO_TEXT] = "it was not rendered",
	[NO_TEMPLATE] = "its template is no good", [ALLOCATED] = "something was allocated",
};

static struct sr_order order;
static struct sr_order_env *env;
static struct sr_policy_book *book;
static unsigned char body[SAMPLE_BODY_BYTES], patched[SAMPLE_BODY_BYTES];
static char text[65536];
static struct sr_template template;

static bool template_works(const struct sample *sample, uint32_t bytes)
{
	static const unsigned char id[16] = { 42 };
	const struct sr_patch patch = { .price = 5, .size = 7, .nonce = 9, .expires = 11,
					.client_id = id };
	static const struct sr_order_signature signature;
	int ret = sr_template_init(&template, sample->type, body, bytes, &order, env);

	if (ret)
		return ret == -EOPNOTSUPP;
	sr_template_patch(patched, &template, &patch);
	return sr_template_render(text, sizeof text, &template, patched, &signature) > 0;
}

static enum failure go_through(const struct sample *sample, uint32_t bytes)
{
	static const struct sr_order_signature signature;
	static const struct sr_market market = { .size_decimals = 5, .price_decimals = 5 };
	struct sr_policy_verdict verdict;
	unsigned char digest[32];
	uint64_t full_ns = 0;
	enum sr_policy code;

	if (sr_order_decode(&order, sample->type, body, bytes, env))
		return NO_DECODE;
	(void)!sr_order_rules(&order, 0, &market);
	code = sr_policy_judge(book, &verdict, 0, &order, full_ns);
	if ((code == SR_POLICY_NONE) != (sample->type == SR_TYPE_HYPERLIQUID))
		return NO_POLICY;
	if (code == SR_POLICY_NONE)
		sr_policy_spend(book, &verdict, &full_ns);
	if (sr_order_digest(digest, &order, env))
		return NO_DIGEST;
	if (sr_order_signature_text(text, sizeof text, &order, &signature, env) <= 0 ||
	    sr_order_render(text, sizeof text, &order, &signature, env) <= 0)
		return NO_TEXT;
	return template_works(sample, bytes) ? GOOD : NO_TEMPLATE;
}

/* How a child ended that went through an order and could call nothing. */
static int confined(const struct sample *sample, uint32_t bytes, bool calls, bool allocates)
{
	int status = 0;
	pid_t pid = fork();

	MP_CHECK(pid >= 0, "fork");
	if (pid == 0) {
		unsigned long before = allocations;
		enum failure failure;

		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) < 0)
			_exit(LAST);
		failure = go_through(sample, bytes);
		if (calls)
			(void)syscall(SYS_getppid);
		if (allocates) {
			void *volatile one = malloc(1);

			(void)one;
		}
		if (!failure && allocations != before)
			failure = ALLOCATED;
		(void)syscall(SYS_exit, failure); /* _exit() would leave by another call */
	}
	MP_CHECK(waitpid(pid, &status, 0) == pid, "waitpid");
	return status;
}

static void set_up(void)
{
	MP_EQ(sr_order_env_new(&env), 0, "an environment");
	MP_EQ(sample_schemas(env), 0, "a schema");
	MP_EQ(sample_policy(&book), 0, "a policy");
}

static uint32_t sample_body(const struct sample *sample)
{
	int bytes = sample->put(body, sizeof body);

	MP_CHECK(bytes > 0, "%s: %d", sample->text, bytes);
	return (uint32_t)bytes;
}

static void every_venue(void)
{
	set_up();
	for (size_t i = 0; i < SAMPLES; i++) {
		int status = confined(&samples[i], sample_body(&samples[i]), false, false);
		int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;

		MP_CHECK(code >= 0, "%s: a system call was made (signal %d)", samples[i].text,
			 WTERMSIG(status));
		MP_CHECK(code != LAST, "no seccomp here");
		MP_CHECK(code == GOOD, "%s: %s", samples[i].text,
			 code < LAST ? failures[code] : "it ended otherwise");
	}
}

static void both_are_seen(void)
{
	uint32_t bytes;
	int status;

	set_up();
	bytes = sample_body(&samples[0]);
	status = confined(&samples[0], bytes, true, false);
	MP_CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "a call: %x",
		 (unsigned int)status);
	status = confined(&samples[0], bytes, false, true);
	MP_CHECK(MP_SANITIZED || (WIFEXITED(status) && WEXITSTATUS(status) == ALLOCATED),
		 "an allocation: %x", (unsigned int)status);
}

static const struct mp_test tests[] = {
	{ "pure/orders_of_every_venue_call_nothing_and_allocate_nothing", every_venue, 0 },
	{ "pure/a_call_and_an_allocation_would_be_seen", both_are_seen, 0 },
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
