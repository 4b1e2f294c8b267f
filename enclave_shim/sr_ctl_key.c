/* SPDX-License-Identifier: MIT */
#include "sr_ctl_key.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <unistd.h>

#include "sr_account.h"
#include "sr_ctl_file.h"
#include "sr_ctl_vault.h"
#include "sr_curve.h"
#include "sr_hex.h"
#include "sr_keyfile.h"
#include "sr_keyring.h"
#include "sr_secret.h"
#include "sr_type.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* In protected memory. */
struct secrets {
	unsigned char seed[32];
	unsigned char seckey[SR_SECKEY_BYTES];
	char digits[2 * SR_SECKEY_BYTES + 2]; /* and a newline, and one too many */
};

/* What a subcommand works with. */
struct work {
	struct sr_curve *curve;
	struct secrets *secrets;
};

/* Options of new. */
struct options {
	struct sr_key_info info;
	char out[64];
	const char *path;
	bool import; /* of what standard input has */
};

static int run_new(struct work *work, int argc, char **argv);
static int run_show(struct work *work, int argc, char **argv);
static int run_public(struct work *work, int argc, char **argv);

static const struct command {
	const char *name;
	int (*run)(struct work *work, int argc, char **argv);
	const char *arguments;
	const char *help;
} commands[] = {
	{ "new", run_new,
	  "--id N --permit LIST [--uid N|any]... [--nonce MODE] [--out FILE] [--import]",
	  "make a development key and write its file; --import: of the 64 hexadecimal digits "
	  "on standard input, else of the kernel's entropy" },
	{ "show", run_show, "[--json] FILE...",
	  "id, public key, Ethereum address and permissions; never the secret" },
	{ "public", run_public, "FILE...",
	  "lines `ID COMPRESSED_HEX`, as sigring-replay reads them" },
};
#define COMMANDS (sizeof commands / sizeof commands[0])

static void usage(FILE *to)
{
	fprintf(to, "usage:\n");
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(to, "  sigringctl key %s %s\n        %s\n", commands[i].name,
			commands[i].arguments, commands[i].help);
	sr_ctl_vault_usage(to, "key");
	fprintf(to, "LIST  names with commas:");
	for (uint32_t type = 1; type <= SR_TYPE_BLIND_MAX; type++)
		fprintf(to, " %s", sr_type_name(type));
	fprintf(to, "\nMODE  " SR_NONCE_MODES "; hedged when absent\n"
		    "--uid whose sessions may use the key: your own user when absent\n"
		    "--out of new: key-N.key when absent; a file is never overwritten\n");
}

static int fail(const char *text)
{
	fprintf(stderr, "sigringctl key: %s\n", text);
	return EXIT_FAILED;
}

static int fail_usage(const char *text)
{
	fprintf(stderr, "sigringctl key: %s; see: sigringctl key --help\n", text);
	return EXIT_USAGE;
}

static int fill_random(unsigned char *out, size_t bytes)
{
	while (bytes) {
		ssize_t got = getrandom(out, bytes, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		out += got;
		bytes -= (size_t)got;
	}
	return 0;
}

static int work_begin(struct work *work)
{
	void *mem;

	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return fail("cannot make the process undumpable (prctl)");
	if (sr_secret_alloc(&mem, sizeof *work->secrets))
		return fail("no protected memory for the key: raise the memlock limit "
			    "(ulimit -l), or the kernel is older than 4.14");
	work->secrets = mem;
	work->curve = NULL;
	if (fill_random(work->secrets->seed, sizeof work->secrets->seed) ||
	    sr_curve_new(&work->curve, work->secrets->seed)) {
		sr_secret_free(mem, sizeof *work->secrets);
		return fail("no entropy or no memory for libsecp256k1 to start with");
	}
	return 0;
}

static void work_end(struct work *work)
{
	sr_curve_delete(work->curve);
	sr_wipe_stack();
	sr_secret_free(work->secrets, sizeof *work->secrets);
}

static int take_uid(struct sr_key_info *info, const char *text)
{
	uint32_t uid;

	if (!strcmp(text, "any")) {
		info->any_uid = true;
		return info->uid_count ? -EINVAL : 0;
	}
	if (info->any_uid || info->uid_count == SR_KEY_UIDS_MAX ||
	    sr_keyfile_number(&uid, text, strlen(text)))
		return -EINVAL;
	info->uids[info->uid_count++] = uid;
	return 0;
}

static int take_option(struct options *options, int option, const char *value)
{
	struct sr_key_info *info = &options->info;
	int mode;

	switch (option) {
	case 'i':
		if (sr_keyfile_number(&info->id, value, strlen(value)) || info->id == 0)
			return fail_usage("--id wants a number from 1 to 4294967295");
		return 0;
	case 'p':
		if (sr_keyfile_permit(&info->permissions, value, strlen(value)))
			return fail_usage("--permit wants names of types, each once, with commas");
		return 0;
	case 'n':
		mode = sr_nonce_from_name(value, strlen(value));
		if (mode < 0)
			return fail_usage("--nonce wants " SR_NONCE_MODES);
		info->nonce_mode = (uint32_t)mode;
		return 0;
	case 'u':
		if (take_uid(info, value))
			return fail_usage("--uid wants a user's number, 8 times at most, or once "
					  "any");
		return 0;
	case 'o':
		options->path = value;
		return 0;
	case 'm':
		options->import = true;
		return 0;
	default:
		return fail_usage("unknown option, or one without its value");
	}
}

static int parse_options(struct options *options, int argc, char **argv)
{
	static const struct option known[] = {
		{ "id", required_argument, NULL, 'i' },
		{ "permit", required_argument, NULL, 'p' },
		{ "nonce", required_argument, NULL, 'n' },
		{ "uid", required_argument, NULL, 'u' },
		{ "out", required_argument, NULL, 'o' },
		{ "import", no_argument, NULL, 'm' },
		{ NULL, 0, NULL, 0 },
	};
	struct sr_key_info *info = &options->info;
	int option, ret;

	memset(options, 0, sizeof *options);
	info->nonce_mode = SR_NONCE_HEDGED;
	optind = 0;
	opterr = 0;
	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		ret = take_option(options, option, optarg);
		if (ret)
			return ret;
	}

	if (optind != argc)
		return fail_usage("an argument too many (a secret is read from standard input, "
				  "never from an argument)");
	if (!info->id)
		return fail_usage("--id is missing");
	if (!info->permissions)
		return fail_usage("--permit is missing: a key signs only what it is permitted to");
	if (!info->any_uid && !info->uid_count)
		info->uids[info->uid_count++] = (uint32_t)getuid();
	if (!options->path) {
		(void)snprintf(options->out, sizeof options->out, "key-%u" SR_KEYFILE_SUFFIX,
			       info->id);
		options->path = options->out;
	}
	return 0;
}

static void print_hex(const unsigned char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		printf("%02x", bytes[i]);
}

static void print_address(const unsigned char address[20])
{
	char text[SR_ACCOUNT_ETHEREUM_BYTES];

	sr_account_ethereum(text, address);
	printf("%s", text);
}

static void print_permits(const struct sr_key_info *info, const char *quote)
{
	const char *comma = "";

	for (uint32_t type = 1; type <= SR_TYPE_BLIND_MAX; type++) {
		if (!(info->permissions & (1u << type)))
			continue;
		printf("%s%s%s%s", comma, quote, sr_type_name(type), quote);
		comma = ",";
	}
}

static void print_key(const struct sr_key_info *info)
{
	printf("id          %u\npublic key  ", info->id);
	print_hex(info->pubkey, sizeof info->pubkey);
	printf("\naddress     ");
	print_address(info->address);
	printf("\npermits     ");
	print_permits(info, "");
	printf("\nnonce       %s\nusers      ", sr_nonce_name(info->nonce_mode));
	for (uint32_t i = 0; i < info->uid_count; i++)
		printf(" %u", info->uids[i]);
	printf("%s\n", info->any_uid ? " any" : "");
}

static void print_key_json(const struct sr_key_info *info)
{
	printf("{\"id\":%u,\"public_key\":\"", info->id);
	print_hex(info->pubkey, sizeof info->pubkey);
	printf("\",\"address\":\"");
	print_address(info->address);
	printf("\",\"nonce\":\"%s\",\"permit\":[", sr_nonce_name(info->nonce_mode));
	print_permits(info, "\"");
	printf("],\"any_uid\":%s,\"uids\":[", info->any_uid ? "true" : "false");
	for (uint32_t i = 0; i < info->uid_count; i++)
		printf("%s%u", i ? "," : "", info->uids[i]);
	printf("]}\n");
}

static void print_key_public(const struct sr_key_info *info)
{
	printf("%u ", info->id);
	print_hex(info->pubkey, sizeof info->pubkey);
	printf("\n");
}

/* A ring for each file, because two files may well have one id. */
static int print_file(struct work *work, const char *path,
		      void (*print)(const struct sr_key_info *info))
{
	struct sr_keyfile_error why;
	struct sr_keyring *ring;
	int ret;

	if (sr_keyring_new(&ring))
		return fail("no protected memory for the key: raise the memlock limit (ulimit -l)");
	ret = sr_keyfile_load(ring, work->curve, path, &why);
	if (ret)
		ret = fail(why.text);
	else
		print(sr_keyring_info(ring, 0));
	sr_keyring_delete(ring);
	return ret;
}

static int print_files(struct work *work, int count, char **paths,
		       void (*print)(const struct sr_key_info *info))
{
	int worst = EXIT_DONE;

	if (count == 0)
		return fail_usage("name one key file or more");
	for (int i = 0; i < count; i++)
		if (print_file(work, paths[i], print))
			worst = EXIT_FAILED;
	if (fflush(stdout))
		return fail("cannot write to standard output");
	return worst;
}

static int write_key(struct work *work, const struct options *options)
{
	struct sr_keyfile_error why;
	int ret = sr_keyfile_write(options->path, &options->info, work->secrets->seckey, &why);

	if (ret)
		return fail(why.text);
	fprintf(stderr, "wrote %s: a development key, for whoever can read that file\n",
		options->path);
	if (sr_nonce_pooled(options->info.nonce_mode))
		fprintf(stderr, "on a virtual machine a signer takes it with --allow-snapshot only: "
				"docs/signing.md says why\n");
	return print_files(work, 1, (char *[]){ (char *)(uintptr_t)options->path }, print_key);
}

static int generate(struct work *work)
{
	unsigned char pubkey[SR_PUBKEY_BYTES];

	/* Once in 2^128 draws the number is no key. */
	do {
		if (fill_random(work->secrets->seckey, SR_SECKEY_BYTES))
			return fail("the kernel gives no entropy (getrandom)");
	} while (sr_curve_pubkey(work->curve, pubkey, NULL, work->secrets->seckey));
	return EXIT_DONE;
}

/* Straight into protected memory: stdio would keep a copy of its own. */
static size_t read_digits(char *digits, size_t room)
{
	size_t bytes = 0;

	while (bytes < room) {
		ssize_t got = read(STDIN_FILENO, digits + bytes, room - bytes);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		bytes += (size_t)got;
	}
	return bytes;
}

static int import(struct work *work)
{
	struct secrets *secrets = work->secrets;
	unsigned char pubkey[SR_PUBKEY_BYTES];
	size_t bytes;

	if (isatty(STDIN_FILENO))
		return fail("a terminal would show the secret: give it from a file or a pipe, "
			    "sigringctl key new --import ... < FILE");

	bytes = read_digits(secrets->digits, sizeof secrets->digits);
	if (bytes == 65 && secrets->digits[64] == '\n')
		bytes = 64;
	if (bytes != 64 || sr_unhex_secret(secrets->seckey, secrets->digits))
		return fail("standard input should hold 64 hexadecimal digits, and nothing else "
			    "but one newline; no 0x before them");
	if (sr_curve_pubkey(work->curve, pubkey, NULL, secrets->seckey))
		return fail("this is no key of secp256k1: 0, or not below the group's order");
	return EXIT_DONE;
}

static int run_new(struct work *work, int argc, char **argv)
{
	struct options options;
	int ret = parse_options(&options, argc, argv);

	if (!ret)
		ret = options.import ? import(work) : generate(work);
	return ret ? ret : write_key(work, &options);
}

static int run_show(struct work *work, int argc, char **argv)
{
	bool json = argc > 1 && !strcmp(argv[1], "--json");
	int first = json ? 2 : 1;

	if (argc > first && !strncmp(argv[first], "--", 2))
		return fail_usage("unknown option");
	return print_files(work, argc - first, argv + first, json ? print_key_json : print_key);
}

static int run_public(struct work *work, int argc, char **argv)
{
	if (argc > 1 && !strncmp(argv[1], "--", 2))
		return fail_usage("unknown option");
	return print_files(work, argc - 1, argv + 1, print_key_public);
}

int sr_ctl_key(int argc, char **argv)
{
	struct work work;
	int ret;

	if (sr_ctl_help_wanted(argc, argv)) {
		usage(stdout);
		return EXIT_DONE;
	}
	if (argc >= 2 && sr_ctl_vault_has("key", argv[1]))
		return sr_ctl_vault(argc, argv);
	for (size_t i = 0; argc >= 2 && i < COMMANDS; i++) {
		if (strcmp(argv[1], commands[i].name))
			continue;
		ret = work_begin(&work);
		if (ret)
			return ret;
		ret = commands[i].run(&work, argc - 1, argv + 1);
		work_end(&work);
		return ret;
	}
	usage(stderr);
	return EXIT_USAGE;
}
