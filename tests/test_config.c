/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sr_agent.h"
#include "sr_agent_options.h"
#include "sr_config.h"

static struct {
	uint32_t number;
	bool flag;
	bool on;
	const char *text;
	int cpu;
	enum sr_wait_policy wait;
	struct sr_address address;
	struct sr_address socket;
	unsigned int mode;
	struct sr_agent_config agent;
} got;

static const struct sr_option options[] = {
	{ "number", "N", "a number", sr_set_u32, &got.number, 2, 100 },
	{ "flag", NULL, "a switch", sr_set_true, &got.flag, 0, 0 },
	{ "off", NULL, "a switch", sr_set_false, &got.on, 0, 0 },
	{ "text", "TEXT", "a text", sr_set_text, &got.text, 0, 0 },
	{ "cpu", "N", "a CPU", sr_set_cpu, &got.cpu, 0, 0 },
	{ "wait", "POLICY", "a policy", sr_set_wait, &got.wait, 0, 0 },
	{ "address", "ADDRESS", "an address", sr_set_address, &got.address, 0, 0 },
	{ "socket", "PATH", "a path", sr_set_socket, &got.socket, 0, 0 },
	{ "mode", "OCTAL", "bits", sr_set_mode, &got.mode, 0, 0 },
	{ "allow-uid", "USER", "a user", sr_set_uid, &got.agent, 0, 0 },
};

static const struct sr_program program = { "prog", "Tests.", "FILE", options,
					   sizeof options / sizeof options[0] };

static int args(struct sr_reason *why, const char *a, const char *b, const char *c)
{
	char *argv[5] = { (char *)(uintptr_t) "prog", (char *)(uintptr_t)a, (char *)(uintptr_t)b,
			  (char *)(uintptr_t)c, NULL };
	int argc = 1;

	while (argv[argc])
		argc++;
	why->text[0] = '\0';
	return sr_config_args(&program, argc, argv, why);
}

static void takes(const char *name, const char *value)
{
	struct sr_reason why;
	int ret = args(&why, name, value, NULL);

	cr_assert_eq(ret, value ? 3 : 2, "%s %s: %s", name, value ? value : "", why.text);
}

static void refuses(const char *name, const char *value, const char *words)
{
	struct sr_reason why;

	cr_assert_eq(args(&why, name, value, NULL), -EINVAL, "%s %s", name, value ? value : "");
	cr_assert(strstr(why.text, words), "`%s` does not say `%s`", why.text, words);
}

Test(config, each_kind_of_value_is_taken)
{
	got.on = true;
	takes("--number", "42");
	takes("--flag", NULL);
	takes("--off", NULL);
	takes("--text", "a b");
	takes("--cpu", "3");
	takes("--wait", "block");
	takes("--address", "unix:/x");
	takes("--socket", "/y");
	takes("--mode", "0660");
	cr_assert(got.number == 42 && got.flag && !got.on && got.cpu == 3);
	cr_assert_str_eq(got.text, "a b");
	cr_assert_eq(got.wait, SR_WAIT_BLOCK);
	cr_assert_str_eq(got.address.text, "unix:/x");
	cr_assert_str_eq(got.socket.text, "unix:/y");
	cr_assert_eq(got.mode, 0660);
}

Test(config, numbers_out_of_range_or_shape_are_refused)
{
	static const char *const wrong[] = {
		"1",         "101", "",     "-5", "+5",
		" 5",        "5 ",  "0x10", "5k", "99999999999999999999999",
		"4294967298"
	};

	got.number = 7;
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
		refuses("--number", wrong[i], "number must be a number from 2 to 100");
	cr_assert_eq(got.number, 7, "outputs are untouched on failure");
	takes("--number", "2");
	takes("--number", "100");
}

Test(config, other_wrong_values_are_refused)
{
	char path[200];

	memset(path, 'x', sizeof path);
	path[sizeof path - 1] = '\0';
	refuses("--cpu", "all", "number of a CPU");
	refuses("--cpu", "1024", "number of a CPU");
	refuses("--wait", "nap", "auto, spin, yield or block");
	refuses("--address", "/run/x", "unix:PATH or vsock");
	refuses("--socket", path, "longer than");
	refuses("--mode", "rw", "octal");
	refuses("--mode", "0888", "octal");
	refuses("--mode", "1777", "octal");
}

Test(config, options_that_are_none_or_lack_a_value)
{
	refuses("--nonsense", NULL, "no such option: --nonsense (see prog --help)");
	refuses("--numbe", "5", "no such option");
	refuses("--number", NULL, "needs a value");
	refuses("--config", NULL, "needs a value");
}

Test(config, operands_begin_where_the_dashes_end)
{
	struct sr_reason why;

	cr_assert_eq(args(&why, "file", "--flag", NULL), 1);
	cr_assert_eq(args(&why, "--flag", "--", "--flag"), 3);
	cr_assert_eq(args(&why, NULL, NULL, NULL), 1);
}

Test(config, users_are_names_numbers_or_any)
{
	const struct passwd *root = getpwuid(0);

	memset(&got.agent, 0, sizeof got.agent);
	takes("--allow-uid", "1000");
	takes("--allow-uid", "0");
	if (root)
		takes("--allow-uid", root->pw_name);
	cr_assert_eq(got.agent.uids[0], 1000);
	cr_assert_eq(got.agent.uids[1], 0);
	cr_assert_not(got.agent.any_uid);
	takes("--allow-uid", "any");
	cr_assert(got.agent.any_uid);
	refuses("--allow-uid", "nobody-has-this-name", "no user");
	refuses("--allow-uid", "4294967295", "no user");
	memset(&got.agent, 0, sizeof got.agent);
	for (uint32_t i = 0; i < SR_AGENT_UIDS_MAX; i++)
		takes("--allow-uid", "5");
	refuses("--allow-uid", "5", "at most 64 users");
}

/* ---- files ---- */

static int from_file(const char *text, struct sr_reason *why)
{
	char path[64];
	int fd;
	int ret;

	(void)snprintf(path, sizeof path, "%s/sigring-XXXXXX", P_tmpdir);
	fd = mkstemp(path);
	cr_assert(fd >= 0);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	(void)close(fd);
	why->text[0] = '\0';
	ret = args(why, "--config", path, NULL);
	(void)unlink(path);
	return ret;
}

Test(config, file_has_the_same_names)
{
	struct sr_reason why;

	memset(&got, 0, sizeof got);
	cr_assert_eq(from_file("# a comment\n\n  number 9   # nine\nflag\n\twait\tspin\ntext x",
			       &why),
		     3, "%s", why.text);
	cr_assert(got.number == 9 && got.flag && got.wait == SR_WAIT_SPIN);
	cr_assert_str_eq(got.text, "x");
}

Test(config, errors_in_a_file_name_their_line)
{
	static const struct {
		const char *text;
		const char *words;
	} wrong[] = {
		{ "flag\nnonsense 5\n", ":2: no such option: nonsense" },
		{ "\n\nnumber\n", ":3: number takes one value" },
		{ "number 5 6\n", ":1: number takes one value" },
		{ "flag yes\n", ":1: flag takes no value" },
		{ "flag\nflag\nnumber 1\n", ":3: number must be a number from 2 to 100" },
	};
	char line[2000];
	struct sr_reason why;

	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		cr_assert_eq(from_file(wrong[i].text, &why), -EINVAL);
		cr_assert(strstr(why.text, wrong[i].words), "`%s` does not say `%s`", why.text,
			  wrong[i].words);
	}
	memset(line, ' ', sizeof line);
	memcpy(line + sizeof line - 6, "flag\n", 6);
	cr_assert_eq(from_file(line, &why), -EINVAL);
	cr_assert(strstr(why.text, ":1: line is too long"), "%s", why.text);
}

Test(config, file_that_is_missing_is_said)
{
	struct sr_reason why;

	cr_assert_eq(args(&why, "--config", "/nonexistent/file", NULL), -ENOENT);
	cr_assert(strstr(why.text, "/nonexistent/file"), "%s", why.text);
}

Test(config, later_options_override_earlier_ones)
{
	struct sr_reason why;

	got.number = 0;
	cr_assert_eq(args(&why, "--number", "5", "--number"), -EINVAL);
	cr_assert_eq(got.number, 5);
	takes("--number", "6");
	cr_assert_eq(got.number, 6);
}
