/* SPDX-License-Identifier: MIT */
/*
 * sigring-tune as a process: what it exits with, that check needs no privilege and
 * says something of this machine, and that an apply which is killed at any moment
 * can be undone. What is changed are files of a tree, never this machine.
 */
#include <grp.h>

#include "mp_common.h"
#include "sr_tune_host.h"

#define NOBODY 65534u

static char path_root[200];
static char path_state[200];
static char path_log[200];

static void be_nobody(void)
{
	if (geteuid() == 0 && (setgroups(0, NULL) < 0 || setgid(NOBODY) < 0 || setuid(NOBODY) < 0))
		_exit(125);
}

static void names(void)
{
	(void)snprintf(path_root, sizeof path_root, "%s/host", mp_dir);
	(void)snprintf(path_state, sizeof path_state, "%s/state", mp_dir);
	(void)snprintf(path_log, sizeof path_log, "%s/tune.log", mp_dir);
}

static void put(const char *path, const char *text)
{
	char full[600];
	FILE *f;

	(void)snprintf(full, sizeof full, "%s%s", path_root, path);
	for (char *slash = full + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
		*slash = '\0';
		(void)mkdir(full, 0700);
		*slash = '/';
	}
	f = fopen(full, "we");
	MP_CHECK(f, "%s: %s", full, strerror(errno));
	(void)fprintf(f, "%s\n", text);
	(void)fclose(f);
}

/* Goes through the lines of a recorded host: writes them, or compares them. */
static void each_line(const char *name, void (*act)(const char *path, const char *text))
{
	char line[4096];
	FILE *f;

	(void)snprintf(line, sizeof line, "tests/vectors/hosts/%s.txt", name);
	f = fopen(line, "re");
	MP_CHECK(f, "%s: %s", line, strerror(errno));
	while (fgets(line, sizeof line, f)) {
		char *colon = strchr(line, ':');

		if (line[0] == '#' || !colon)
			continue;
		line[strcspn(line, "\n")] = '\0';
		*colon = '\0';
		act(line, colon + 1);
	}
	(void)fclose(f);
}

static unsigned int unlike; /* how many settings are not as recorded */

static void compare(const char *path, const char *text)
{
	struct sr_tune_host host = { .huge_pages = 0 };
	char now[SR_TUNE_VALUE_BYTES] = "";
	char choice[SR_TUNE_LINE_BYTES];
	const char *open_at = strchr(text, '[');

	(void)snprintf(host.root, sizeof host.root, "%.190s", path_root);
	MP_CHECK(sr_tune_value(&host, path, now) == 0, "cannot read %s", path);
	(void)snprintf(choice, sizeof choice, "%s", open_at ? open_at + 1 : text);
	if (open_at)
		choice[strcspn(choice, "]")] = '\0';
	while (*choice && choice[strlen(choice) - 1] == ' ')
		choice[strlen(choice) - 1] = '\0';
	unlike += strcmp(now, choice) != 0;
}

static int tune(const char *const *words)
{
	const char *argv[MP_ARGS_MAX] = { "sigring-tune" };

	for (size_t i = 0; words[i]; i++)
		argv[i + 1] = words[i];
	return mp_run(argv, path_log);
}

#define TUNE(...) tune((const char *const[]){ __VA_ARGS__, NULL })

static void run_check_here(void)
{
	char *text;
	size_t lines = 0;
	int code;

	names();
	mp_before_exec = be_nobody;
	code = TUNE("check");
	MP_CHECK(code == 0 || code == 1, "exit code %d", code);
	text = mp_read_file(path_log);
	for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
		lines++;
	MP_EQ(lines, 26, "lines: one for each item and the sum");
	MP_CHECK(strstr(text, " warned\n") && strstr(text, "  clocksource: "), "it says `%s`",
		 text);
	code = code == 1;
	MP_CHECK((strstr(text, "FAIL  ") != NULL) == code, "exit code %d and `%s`", code, text);
	free(text);
}

static void run_exit_codes(void)
{
	names();
	each_line("tuned-16", put);
	MP_EQ(TUNE("check", "--root", path_root, "--cpu", "2", "--cpu", "3-4"), 0, "tuned");
	MP_EQ(TUNE("check", "--root", path_root, "--cpu", "5"), 1, "a CPU that is off line");
	MP_EQ(TUNE("check", "--root", path_root, "--cpu", "5", "--json"), 1, "the same as JSON");
	MP_EQ(TUNE("check", "--root", path_root, "--cpu", "x"), 2, "no list");
	MP_EQ(TUNE("check", "--root", mp_dir), 1, "no host");
	MP_EQ(TUNE("check", "more"), 2, "an argument");
	MP_EQ(TUNE("nonsense"), 2, "no command");
	MP_EQ(TUNE("--help"), 0, "help");
	MP_EQ(TUNE("apply", "--root", path_root), 2, "a tree without a record of its own");
	MP_EQ(TUNE("apply", "--root", path_root, "--dry-run"), 0, "which a dry run does not need");
	MP_EQ(TUNE("revert", "--root", path_root, "--state", path_state), 1, "nothing recorded");
	MP_EQ(TUNE("jitter"), 2, "no --seconds");
	MP_EQ(TUNE("jitter", "--seconds", "1", "--cpus", "1023"), 2, "no such CPU");
	MP_EQ(TUNE("c2c", "--cpus", "0,1023"), 2, "no such CPU");
	MP_EQ(TUNE("c2c", "--rounds", "0"), 2, "no rounds");
	MP_EQ(mp_count_lines(path_log, "cannot pin to CPU 1023"), 2, "refusals");
	mp_before_exec = be_nobody;
	MP_EQ(TUNE("apply"), 1, "apply without root");
	MP_EQ(TUNE("revert"), 1, "revert without root");
	MP_EQ(mp_count_lines(path_log, "settings of this host take root"), 2, "refusals");
}

static void run_killed(void)
{
	unsigned int rounds = mp_long ? 2000 : 60;
	unsigned int halfway = 0;
	uint32_t most_us = 8000;
	uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;

	names();
	each_line("mitigations-off", put);
	for (unsigned int i = 0; i < rounds || (!halfway && sr_now_ns() < end_ns); i++) {
		const char *apply[] = { "sigring-tune", "apply",    "--root", path_root,
					"--state",      path_state, NULL };
		pid_t pid = mp_spawn(apply, path_log);
		unsigned int changed;
		int status;
		int code;

		mp_sleep_us(mp_below(most_us));
		(void)kill(pid, SIGKILL);
		status = mp_reap(pid, MP_BOUND_NS, "apply");
		unlike = 0;
		each_line("mitigations-off", compare);
		changed = unlike;
		code = TUNE("revert", "--root", path_root, "--state", path_state);
		/* 1: killed before there was a record, so before any change. */
		MP_CHECK(code == 0 || (code == 1 && changed == 0),
			 "round %u: revert exits with %d after %u changes", i, code, changed);
		unlike = 0;
		each_line("mitigations-off", compare);
		MP_CHECK(unlike == 0, "round %u: %u settings are not back, of %u", i, unlike,
			 changed);
		halfway += changed > 0 && WIFSIGNALED(status);
		/* Where the moments are depends on the machine. */
		if (!WIFSIGNALED(status))
			most_us -= most_us / 8;
		else if (changed == 0)
			most_us += most_us / 16;
	}
	(void)printf("# %u of %u were killed on the way\n", halfway, rounds);
	MP_CHECK(halfway > 0, "none was killed between two changes: this shows nothing");
}

int main(int argc, char **argv)
{
	static const struct mp_test tests[] = {
		{ "check_runs_here_without_privileges", run_check_here, 0 },
		{ "exit_codes_are_those_of_the_man_page", run_exit_codes, 0 },
		{ "apply_killed_at_any_moment_can_be_undone", run_killed, 0 },
	};

	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
