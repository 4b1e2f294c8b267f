/* SPDX-License-Identifier: MIT */
#include "sr_ctl_operator.h"

#include <getopt.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <sys/prctl.h>

#include "sr_ctl_file.h"
#include "sr_digits.h"
#include "sr_getrandom.h"
#include "sr_heap.h"
#include "sr_operator.h"
#include "sr_pairfile_operator.h"
#include "sr_secret.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* What a subcommand works with; the pair is in protected memory. */
struct work {
	const char *noun;
	const struct sr_pairfile_kind *kind;
	struct sr_pairfile *pair;
};

static int run_new(struct work *work, int argc, char **argv);
static int run_public(struct work *work, int argc, char **argv);
static int run_check(struct work *work, int argc, char **argv);

static const struct command {
	const char *name;
	int (*run)(struct work *work, int argc, char **argv);
	const char *arguments;
	const char *help;
} commands[] = {
	{ "new", run_new, "--out FILE",
	  "make a key pair from the kernel's entropy, write its file, print the public key" },
	{ "public", run_public, "FILE...", "print the public key of each file" },
	{ "check", run_check, "--k K LIST",
	  "say whether a signer would take this list of operators, of whom K must sign" },
};
#define COMMANDS (sizeof commands / sizeof commands[0])

/* Identities are in no list. */
static bool has(const struct work *work, const struct command *command)
{
	return command->run != run_check || work->kind == &sr_pairfile_operator;
}

static void usage(FILE *to, const struct work *work)
{
	fprintf(to, "usage:\n");
	for (size_t i = 0; i < COMMANDS; i++)
		if (has(work, &commands[i]))
			fprintf(to, "  sigringctl %s %s %s\n        %s\n", work->noun,
				commands[i].name, commands[i].arguments, commands[i].help);
	fprintf(to, "%s\n--out is never overwritten; whoever can read it has the key\n",
		work->kind == &sr_pairfile_operator ?
			"An operator signs manifests (Ed25519). A list of operators has a public "
			"key a line." :
			"An identity is the static key of a trader's sessions, named in the "
			"manifest\nby its public half, or one that keys are sealed to (X25519).");
}

static int fail(const struct work *work, const char *text)
{
	fprintf(stderr, "sigringctl %s: %s\n", work->noun, text);
	return EXIT_FAILED;
}

static int fail_usage(const struct work *work, const char *text)
{
	fprintf(stderr, "sigringctl %s: %s; see: sigringctl %s --help\n", work->noun, text,
		work->noun);
	return EXIT_USAGE;
}

static int work_begin(struct work *work)
{
	void *mem;

	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return fail(work, "cannot make the process undumpable (prctl)");
	/* -EBUSY where it has been done already, as by the command before. */
	if (sr_heap_protect(SR_HEAP_BYTES) && !CRYPTO_secure_malloc_initialized())
		return fail(work, "no protected heap for OpenSSL: raise the memlock limit "
				  "(ulimit -l)");
	if (sr_secret_alloc(&mem, sizeof *work->pair))
		return fail(work, "no protected memory for the key: raise the memlock limit "
				  "(ulimit -l), or the kernel is older than 4.14");
	work->pair = mem;
	return EXIT_DONE;
}

static void work_end(struct work *work)
{
	sr_wipe_stack();
	sr_secret_free(work->pair, sizeof *work->pair);
}

static int print_public(const struct work *work)
{
	char digits[2 * SR_PAIRFILE_KEY_BYTES + 1] = { 0 };

	sr_digits_put(digits, work->pair->pub, SR_PAIRFILE_KEY_BYTES);
	if (printf("%s\n", digits) < 0 || fflush(stdout))
		return fail(work, "cannot write to standard output");
	return EXIT_DONE;
}

static int run_new(struct work *work, int argc, char **argv)
{
	static const struct option known[] = {
		{ "out", required_argument, NULL, 'o' },
		{ NULL, 0, NULL, 0 },
	};
	const char *path = NULL;
	struct sr_reason why;
	int option;

	optind = 0;
	opterr = 0;
	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (option != 'o')
			return fail_usage(work, "unknown option, or one without its value");
		path = optarg;
	}
	if (optind != argc)
		return fail_usage(work, "an argument too many");
	if (!path)
		return fail_usage(work, "--out is missing: where should the key go?");

	if (sr_getrandom.get(sr_getrandom.arg, work->pair->secret, sizeof work->pair->secret))
		return fail(work, "the kernel gives no entropy (getrandom)");
	if (sr_pairfile_new(work->pair, work->kind, work->pair->secret, path, &why))
		return fail(work, why.text);
	fprintf(stderr, "wrote %s\n", path);
	return print_public(work);
}

static int run_public(struct work *work, int argc, char **argv)
{
	struct sr_reason why;
	int ret = EXIT_DONE;

	if (argc < 2)
		return fail_usage(work, "name one file or more");
	if (!strncmp(argv[1], "--", 2))
		return fail_usage(work, "unknown option");
	for (int i = 1; i < argc; i++) {
		if (sr_pairfile_load(work->pair, work->kind, argv[i], &why))
			ret = fail(work, why.text);
		else if (print_public(work))
			return EXIT_FAILED;
	}
	return ret;
}

/* A secret's file is none of a list, whoever made a mistake: its lines are others. */
static int run_check(struct work *work, int argc, char **argv)
{
	static char text[SR_OPERATORS_BYTES_MAX + 1];
	struct sr_operators operators;
	struct sr_reason why;
	ssize_t bytes;
	uint64_t k;

	if (argc != 4 || strcmp(argv[1], "--k"))
		return fail_usage(work, "--k K and one list are wanted");
	if (!sr_ctl_number_take(&k, argv[2], SR_OPERATORS_MAX) || !k)
		return fail_usage(work, "--k wants a number from 1 to 16");
	bytes = sr_ctl_file_read(argv[3], text, sizeof text);
	if (bytes < 0 || bytes == (ssize_t)sizeof text) {
		fprintf(stderr, "sigringctl operator: %s: %s\n", argv[3],
			bytes < 0 ? strerror((int)-bytes) : "longer than a list can be");
		return EXIT_FAILED;
	}
	if (sr_operators_parse(&operators, (uint32_t)k, text, (size_t)bytes, &why)) {
		fprintf(stderr, "sigringctl operator: %s: %s\n", argv[3], why.text);
		return EXIT_FAILED;
	}
	printf("%u of %u operators\n", operators.k, operators.count);
	return EXIT_DONE;
}

static int run(struct work *work, int argc, char **argv)
{
	int ret;

	if (sr_ctl_help_wanted(argc, argv)) {
		usage(stdout, work);
		return EXIT_DONE;
	}
	for (size_t i = 0; argc >= 2 && i < COMMANDS; i++) {
		if (!has(work, &commands[i]) || strcmp(argv[1], commands[i].name))
			continue;
		ret = work_begin(work);
		if (ret)
			return ret;
		ret = commands[i].run(work, argc - 1, argv + 1);
		work_end(work);
		return ret;
	}
	usage(stderr, work);
	return EXIT_USAGE;
}

int sr_ctl_operator(int argc, char **argv)
{
	return run(&(struct work){ .noun = "operator", .kind = &sr_pairfile_operator }, argc, argv);
}

int sr_ctl_identity(int argc, char **argv)
{
	return run(&(struct work){ .noun = "identity", .kind = &sr_pairfile_identity }, argc, argv);
}
