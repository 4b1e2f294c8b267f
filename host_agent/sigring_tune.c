/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <unistd.h>

#include "sr_config.h"
#include "sr_tune_apply.h"
#include "sr_tune_c2c.h"
#include "sr_tune_check.h"
#include "sr_tune_jitter.h"
#include "sr_tune_pin.h"
#include "sr_version.h"

static const char standard_state[] = SR_TUNE_STATE;

static struct {
	const char *root;
	const char *state;
	struct sr_cpus cpus;
	uint32_t huge_pages;
	uint32_t rounds;
	uint32_t seconds;
	bool dry_run;
	bool json;
	bool serial;
} opt = { .root = "/", .state = standard_state, .huge_pages = 64, .rounds = 101 };

/* May be repeated: each adds to the set. */
static int set_cpus(void *target, const char *value, const struct sr_option *o,
		    struct sr_reason *why)
{
	struct sr_cpus *all = target;
	struct sr_cpus more;

	if (sr_cpus_from_list(&more, value) < 0 || !sr_cpus_count(&more))
		return sr_reason_set(why, -EINVAL,
				     "%s must be a list of CPUs below %u, as 2 or 2-5,8, not `%s`",
				     o->name, SR_CPUS_MAX, value);
	*all = sr_cpus_union(all, &more);
	return 0;
}

#define OPT_ROOT \
	{ "root", "DIR", "a recorded tree of /proc and /sys instead of this host", sr_set_text, \
	  &opt.root, 0, 0 }
#define OPT_STATE \
	{ "state", "FILE", "the record of changes (" SR_TUNE_STATE ")", sr_set_text, &opt.state, \
	  0, 0 }
#define OPT_LOOPS \
	{ "cpu", "LIST", "CPUs of the loops that poll (the isolated ones)", set_cpus, &opt.cpus, \
	  0, 0 }
#define OPT_CPUS(help) { "cpus", "LIST", help, set_cpus, &opt.cpus, 0, 0 }
#define OPT_PAGES \
	{ "huge-pages", "N", "pages of 2 MiB that are wanted (64)", sr_set_u32, &opt.huge_pages, \
	  0, 1u << 20 }
#define OPT_JSON { "json", NULL, "one JSON object instead of lines", sr_set_true, &opt.json, 0, 0 }
#define OPT_DRY_RUN \
	{ "dry-run", NULL, "print what would be changed, change nothing", sr_set_true, \
	  &opt.dry_run, 0, 0 }

static const struct sr_option check_options[] = { OPT_JSON, OPT_ROOT, OPT_LOOPS, OPT_PAGES };

static const struct sr_option apply_options[] = { OPT_DRY_RUN, OPT_ROOT, OPT_STATE, OPT_LOOPS,
						  OPT_PAGES };

static const struct sr_option revert_options[] = { OPT_DRY_RUN, OPT_ROOT, OPT_STATE };

static const struct sr_option c2c_options[] = {
	OPT_CPUS("CPUs to measure (those that this process may use)"),
	{ "rounds", "N", "rounds for each pair (101)", sr_set_u32, &opt.rounds, 1,
	  SR_TUNE_C2C_ROUNDS_MAX },
	OPT_JSON,
};

static const struct sr_option jitter_options[] = {
	{ "seconds", "N", "how long to sample; required", sr_set_u32, &opt.seconds, 1, 86400 },
	OPT_CPUS("CPUs to sample (those that this process may use)"),
	{ "serial", NULL, "one CPU after the other instead of all at once", sr_set_true,
	  &opt.serial, 0, 0 },
	OPT_JSON,
};

static int look_at_host(struct sr_tune_host *host, struct sr_reason *why)
{
	return sr_tune_host_read(host, opt.root, &opt.cpus, opt.huge_pages, why);
}

static int check(struct sr_reason *why)
{
	static struct sr_tune_host host;
	int ret = look_at_host(&host, why);

	return ret < 0 ? ret : sr_tune_check(&host, stdout, opt.json);
}

/* Both change a host: on the one that we run on that takes root. */
static int change_host(bool back, struct sr_reason *why)
{
	static struct sr_tune_host host;
	int ret = look_at_host(&host, why);

	if (ret < 0)
		return ret;
	if (!opt.dry_run && !host.root[0] && geteuid() != 0)
		return sr_reason_set(why, -EPERM,
				     "settings of this host take root; --dry-run does not");
	if (!opt.dry_run && host.root[0] && opt.state == standard_state)
		return sr_reason_set(why, -EINVAL,
				     "--state FILE is missing: " SR_TUNE_STATE " is of this host");
	if (back)
		return sr_tune_revert(&host, opt.state, opt.dry_run, stdout, why);
	return sr_tune_apply(&host, opt.state, opt.dry_run, stdout, why);
}

static int apply(struct sr_reason *why)
{
	return change_host(false, why);
}

static int revert(struct sr_reason *why)
{
	return change_host(true, why);
}

static int default_cpus(struct sr_reason *why)
{
	int ret = sr_cpus_count(&opt.cpus) ? 0 : sr_tune_pin_allowed(&opt.cpus);

	if (ret < 0)
		return sr_reason_set(why, ret, "cannot read the affinity: %s", strerror(-ret));
	return 0;
}

static int c2c(struct sr_reason *why)
{
	int ret = default_cpus(why);

	return ret < 0 ? ret : sr_tune_c2c_print(&opt.cpus, opt.rounds, opt.json, stdout, why);
}

static int jitter(struct sr_reason *why)
{
	int ret = default_cpus(why);

	if (ret == 0 && !opt.seconds)
		ret = sr_reason_set(why, -EINVAL, "--seconds N is missing");
	if (ret < 0)
		return ret;
	return sr_tune_jitter(&opt.cpus, opt.seconds, opt.serial, opt.json, stdout, why);
}

#define COMMAND(word, text, table, function) \
	{ word, function, \
	  { "sigring-tune " word, text, "", table, sizeof table / sizeof table[0] } }

static const struct command {
	const char *name;
	int (*run)(struct sr_reason *why); /* the exit code, or -errno */
	struct sr_program program;
} commands[] = {
	COMMAND("check", "Judges this host by docs/latency-tuning.md; changes nothing.",
		check_options, check),
	COMMAND("apply", "Changes what can be changed back, and records it.", apply_options, apply),
	COMMAND("revert", "Puts back what apply recorded, and nothing else.", revert_options,
		revert),
	COMMAND("c2c", "Measures how long a cache line takes between CPUs.", c2c_options, c2c),
	COMMAND("jitter", "Measures what takes a CPU away from a loop.", jitter_options, jitter),
};

#define COMMANDS (sizeof commands / sizeof commands[0])

static int usage(FILE *out, int code)
{
	(void)fprintf(out, "usage: sigring-tune COMMAND [options]\n\n");
	for (size_t i = 0; i < COMMANDS; i++)
		(void)fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].program.purpose);
	(void)fprintf(out,
		      "\nsigring-tune COMMAND --help tells more; --version prints the version.\n");
	return code;
}

static int run(const struct command *c, int argc, char **argv)
{
	struct sr_reason why = { 0, "" };
	int operand = sr_config_args(&c->program, argc, argv, &why);
	int ret;

	if (operand >= 0 && operand < argc)
		operand =
			sr_reason_set(&why, -EINVAL, "unexpected argument `%.100s`", argv[operand]);
	if (operand < 0)
		return sr_program_fail(&c->program, &why);
	ret = c->run(&why);
	if (ret < 0)
		return sr_program_fail(&c->program, &why);
	if (fflush(stdout) == EOF) {
		(void)sr_reason_set(&why, -EIO, "cannot write the result: %s", strerror(errno));
		return sr_program_fail(&c->program, &why);
	}
	return ret;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return usage(stderr, 2);
	if (!strcmp(argv[1], "--help"))
		return usage(stdout, 0);
	if (!strcmp(argv[1], "--version")) {
		(void)printf("sigring-tune %s\n", SR_VERSION);
		return 0;
	}
	for (size_t i = 0; i < COMMANDS; i++)
		if (!strcmp(argv[1], commands[i].name))
			return run(&commands[i], argc - 1, argv + 1);
	(void)fprintf(stderr, "sigring-tune: no such command: %.100s (see sigring-tune --help)\n",
		      argv[1]);
	return 2;
}
