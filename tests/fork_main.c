/* SPDX-License-Identifier: MIT */
/*
 * fork_main.c - runs a Criterion program without Criterion.
 *
 * Criterion starts each test by executing its own program again and tracing it:
 * qemu-user does not carry that through, and a thousand starts take longer than what
 * they start, under AddressSanitizer above all. This main() forks for each test and
 * calls it, and the functions that the assertions call report here. It is preloaded, or
 * linked in front of Criterion; the tests are the same, and so is a program by itself.
 *
 * Prints a line `ok`, `not ok` or `skip` for each test, as tests/run.sh reads.
 * $SR_SKIP names tests that need what is not there, in lines of
 * `suite/test reason`.
 */
#include <criterion/criterion.h>
#include <criterion/internal/ordered-set.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Where LeakSanitizer is linked. The check says on stderr what has been left. */
__attribute__((weak)) void __lsan_disable(void);
__attribute__((weak)) void __lsan_enable(void);
__attribute__((weak)) int __lsan_do_recoverable_leak_check(void);

#define EXIT_FAILED 125
#define EXIT_SKIPPED 126

static const struct criterion_test *current;
static const struct criterion_suite *current_suite;
static int failures;

void criterion_send_assert(struct criterion_assert_stats *stats)
{
	if (stats->passed)
		return;
	failures++;
	printf("# %s:%u: %s\n", stats->file, stats->line, stats->message);
}

void cri_asserts_passed_incr(void)
{
}

void criterion_abort_test(void)
{
	(void)fflush(NULL);
	_exit(EXIT_FAILED);
}

void criterion_continue_test(void)
{
}

void criterion_test_die(const char *msg, ...)
{
	va_list args;

	va_start(args, msg);
	printf("# ");
	(void)vprintf(msg, args);
	printf("\n");
	va_end(args);
	criterion_abort_test();
}

void criterion_skip_test(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	printf("skip %s/%s: ", current->category, current->name);
	(void)vprintf(format, args);
	printf("\n");
	va_end(args);
	(void)fflush(NULL);
	_exit(EXIT_SKIPPED);
}

static void call(void (*fixture)(void))
{
	if (fixture)
		fixture();
}

/* What the body of Test() calls, before, around and after the test. */
void criterion_internal_test_setup(void)
{
	if (current_suite->data)
		call(current_suite->data->init);
	call(current->data->init);
}

void criterion_internal_test_main(void (*fn)(void))
{
	fn();
}

void criterion_internal_test_teardown(void)
{
	call(current->data->fini);
	if (current_suite->data)
		call(current_suite->data->fini);
}

static const char *reason_to_skip(const struct criterion_test *test)
{
	static char line[256];
	const char *list = getenv("SR_SKIP");
	char name[256];
	size_t n = (size_t)snprintf(name, sizeof name, "%s/%s ", test->category, test->name);

	while (list && *list) {
		size_t bytes = strcspn(list, "\n");

		if (bytes > n && bytes < sizeof line && !strncmp(list, name, n)) {
			memcpy(line, list + n, bytes - n);
			line[bytes - n] = '\0';
			return line;
		}
		list += bytes + (list[bytes] == '\n');
	}
	return NULL;
}

/* Returns whether it went as the test says that it should. */
static bool run(const struct criterion_test *test)
{
	const char *reason = reason_to_skip(test);
	int status = 0;
	pid_t pid;

	if (reason || test->data->disabled) {
		printf("skip %s/%s: %s\n", test->category, test->name,
		       reason ? reason : "disabled");
		return true;
	}
	current = test;
	(void)fflush(NULL);
	pid = fork();
	if (pid == 0) {
		(void)alarm(test->data->timeout > 0 ? (unsigned int)test->data->timeout + 1 : 600);
		test->test();
		if (!failures && __lsan_do_recoverable_leak_check &&
		    __lsan_do_recoverable_leak_check())
			failures++;
		(void)fflush(NULL);
		_exit(failures ? EXIT_FAILED : 0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return false;
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIPPED)
		return true;
	if (WIFSIGNALED(status) ? WTERMSIG(status) == test->data->signal
				: !test->data->signal &&
					  WEXITSTATUS(status) == test->data->exit_code) {
		printf("ok - %s/%s\n", test->category, test->name);
		return true;
	}
	printf("not ok - %s/%s (%s %d)\n", test->category, test->name,
	       WIFSIGNALED(status) ? "signal" : "exit code",
	       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	return false;
}

/* Criterion never frees what it tells of them. */
static struct criterion_test_set *tests_of_program(void)
{
	struct criterion_test_set *set;

	if (__lsan_disable)
		__lsan_disable();
	set = criterion_initialize();
	if (__lsan_enable)
		__lsan_enable();
	return set;
}

int main(void)
{
	struct criterion_test_set *set = tests_of_program();
	bool passed = true;

	(void)unsetenv("LD_PRELOAD"); /* what tests execute is not theirs */

	FOREACH_SET(struct criterion_suite_set *suite, set->suites)
	{
		current_suite = &suite->suite;
		if (!suite->tests)
			continue;
		FOREACH_SET(struct criterion_test *test, suite->tests)
		{
			if (test->data->kind_ != CR_TEST_NORMAL) {
				printf("not ok - %s/%s takes parameters\n", test->category,
				       test->name);
				passed = false;
			} else if (!run(test)) {
				passed = false;
			}
		}
	}
	(void)fflush(NULL);
	_exit(passed ? 0 : 1);
}
