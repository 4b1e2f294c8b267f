/* SPDX-License-Identifier: MIT */
#include "sr_ctl_manifest.h"

#include <fcntl.h>
#include <getopt.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sr_ctl_file.h"
#include "sr_ctl_vault.h"
#include "sr_digits.h"
#include "sr_heap.h"
#include "sr_manifest.h"
#include "sr_pairfile_operator.h"
#include "sr_secret.h"
#include "sr_type.h"
#include "sr_venue.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* What a subcommand works with, and its options. */
struct work {
	struct sr_hasher *hasher;
	struct sr_envelope envelope;
	struct sr_manifest manifest;
	const char *file;
	const char *operator;
	const char *operators;
	const char *out;
	const char *after;
	const char *hash; /* what was read, in digits */
	uint64_t k;
	uint64_t version_min;
	char text[SR_ENVELOPE_BYTES_MAX + 1]; /* one more, to see that it is too long */
	char text_out[SR_ENVELOPE_BYTES_MAX];
};

static int run_sign(struct work *work);
static int run_show(struct work *work);
static int run_check(struct work *work);

static const struct option known[] = {
	{ "operator", required_argument, NULL, 'o' },
	{ "out", required_argument, NULL, 'w' },
	{ "hash", required_argument, NULL, 'h' },
	{ "operators", required_argument, NULL, 'l' },
	{ "k", required_argument, NULL, 'k' },
	{ "min-version", required_argument, NULL, 'm' },
	{ "after", required_argument, NULL, 'a' },
	{ NULL, 0, NULL, 0 },
};

static const struct command {
	const char *name;
	int (*run)(struct work *work);
	const char *options; /* letters of those that it takes */
	const char *arguments;
	const char *help;
} commands[] = {
	{ "sign", run_sign, "owh", "--operator FILE [--hash HEX] [--out FILE] MANIFEST",
	  "add an operator's signature, in place without --out, if it is what `show` showed" },
	{ "show", run_show, "", "MANIFEST", "what it says, its hash, and whose signatures it has" },
	{ "check", run_check, "lkma",
	  "--operators FILE --k K [--min-version N] [--after FILE] MANIFEST",
	  "would a signer with these operators take it, with --after's in force?" },
};
#define COMMANDS (sizeof commands / sizeof commands[0])

static void usage(FILE *to)
{
	fprintf(to, "usage:\n");
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(to, "  sigringctl manifest %s %s\n        %s\n", commands[i].name,
			commands[i].arguments, commands[i].help);
	sr_ctl_vault_usage(to, "manifest");
	fprintf(to, "MANIFEST is the JSON alone or, once signed, with its signatures in front\n"
		    "--operators names a list of public keys, one a line; see: sigringctl "
		    "operator --help\n");
}

static int fail(const char *text)
{
	fprintf(stderr, "sigringctl manifest: %s\n", text);
	return EXIT_FAILED;
}

static int fail_file(const char *file, const char *text)
{
	fprintf(stderr, "sigringctl manifest: %s: %s\n", file, text);
	return EXIT_FAILED;
}

static int fail_usage(const char *text)
{
	fprintf(stderr, "sigringctl manifest: %s; see: sigringctl manifest --help\n", text);
	return EXIT_USAGE;
}

/* ---- files ---- */

/* A longer file is cut, and its length tells. */
static int read_file(const char *path, char *text, size_t *bytes, size_t room)
{
	ssize_t got = sr_ctl_file_read(path, text, room);

	*bytes = got < 0 ? 0 : (size_t)got;
	return got < 0 ? fail_file(path, strerror((int)-got)) : EXIT_DONE;
}

/* A manifest, with or without signatures, begins like one; a key file does not. */
static bool holds_manifest(const char *path)
{
	static const char envelope[] = "sigring-manifest ";
	char begin[sizeof envelope - 1] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, begin, sizeof begin);

	if (fd >= 0)
		(void)close(fd);
	return got == 0 || (got > 0 && begin[0] == '{') ||
	       (got == (ssize_t)sizeof begin && !memcmp(begin, envelope, sizeof begin));
}

/* Beside the file and then over it, so that no reader ever finds half of one. */
static int replace_file(const char *path, const char *text, size_t bytes)
{
	char beside[PATH_MAX];
	struct stat st;
	bool there = lstat(path, &st) == 0;
	mode_t mode = there ? st.st_mode & 0777 : 0644;
	size_t done = 0;
	int fd, error = 0;

	if (there && !S_ISREG(st.st_mode))
		return fail_file(path, "it is no regular file, and is not replaced");
	if (there && !holds_manifest(path))
		return fail_file(path, "it is something else than a manifest, and is not replaced");

	if (snprintf(beside, sizeof beside, "%s.XXXXXX", path) >= (int)sizeof beside)
		return fail_file(path, strerror(ENAMETOOLONG));
	fd = mkstemp(beside);
	if (fd < 0)
		return fail_file(beside, strerror(errno));
	while (done < bytes && !error) {
		ssize_t put = write(fd, text + done, bytes - done);

		if (put >= 0)
			done += (size_t)put;
		else if (errno != EINTR)
			error = errno;
	}
	if (!error && (fchmod(fd, mode) || fsync(fd)))
		error = errno;
	if (close(fd) && !error)
		error = errno;
	if (!error && rename(beside, path))
		error = errno;
	if (!error)
		return EXIT_DONE;
	(void)unlink(beside);
	return fail_file(path, strerror(error));
}

/* A manifest with or without signatures, into @work. */
static int read_manifest(struct work *work)
{
	struct sr_envelope *envelope = &work->envelope;
	unsigned char hash[SR_HASH_BYTES];
	struct sr_reason why;
	size_t bytes;
	int ret = read_file(work->file, work->text, &bytes, sizeof work->text);

	if (ret)
		return ret;
	if (bytes && work->text[0] == 's') {
		if (sr_envelope_open(envelope, work->text, bytes, &why))
			return fail_file(work->file, why.text);
	} else {
		envelope->sig_count = 0;
		envelope->manifest = work->text;
		envelope->manifest_bytes = bytes;
	}
	if (sr_manifest_parse(&work->manifest, envelope->manifest, envelope->manifest_bytes, &why))
		return fail_file(work->file, why.text);
	if (sr_manifest_hash(work->hasher, hash, envelope->manifest, envelope->manifest_bytes))
		return fail("SHA-256 failed");
	memcpy(work->manifest.hash, hash, sizeof hash);
	return EXIT_DONE;
}

/* ---- show ---- */

static void print_hex(FILE *to, const unsigned char *in, size_t bytes)
{
	char digits[2 * SR_OPERATOR_SIG_BYTES + 1] = { 0 };

	sr_digits_put(digits, in, bytes);
	fprintf(to, "%s", digits);
}

static void print_version(FILE *to, const char *label, const struct sr_manifest *manifest)
{
	fprintf(to, "%sversion %llu, hash ", label, (unsigned long long)manifest->version);
	print_hex(to, manifest->hash, sizeof manifest->hash);
	fprintf(to, "\n");
}

/* Returns whether there is anything. What limits it is read in the JSON. */
static bool print_typed(const struct sr_policy_rules *rules)
{
	bool any = false;

	for (uint32_t i = 0; i < SR_POLICY_VENUES_MAX; i++)
		for (uint32_t kind = 1; rules->kinds[i] >> kind; kind++) {
			if (!(rules->kinds[i] >> kind & 1))
				continue;
			printf(" %s/%s", sr_venue_find(SR_TYPE_TYPED_MIN + i)->name,
			       sr_kind_name(kind));
			any = true;
		}
	return any;
}

static void print_schema(const struct sr_schema *schema)
{
	printf("schema      %u %s %s %.*s\n", schema->id, sr_kind_name(schema->kind),
	       schema->testnet ? "testnet" : "mainnet", schema->structs[0].name_bytes,
	       schema->structs[0].name);
}

static void print_key(const struct sr_manifest *manifest, uint32_t index)
{
	const struct sr_policy_rules *rules = &manifest->policy.rules[index];
	const struct sr_manifest_key *key = &manifest->keys[index];
	uint32_t i;
	bool typed;

	printf("\nkey         %u\npublic key  ", key->id);
	if (key->has_pubkey)
		print_hex(stdout, key->pubkey, sizeof key->pubkey);
	else
		printf("not known yet");
	printf("\nnonce       %s\npermits    ", sr_nonce_name(key->nonce_mode));
	for (i = 1; i <= SR_TYPE_BLIND_MAX; i++)
		if (key->permissions & (1u << i))
			printf(" %s", sr_type_name(i));
	typed = print_typed(rules);
	printf("%s\n", key->permissions || typed ? "" : " nothing");
	if (rules->schema_count)
		printf("schemas    ");
	for (i = 0; i < rules->schema_count; i++)
		printf(" %u", rules->schemas[i]);
	printf("%sidentities ", rules->schema_count ? "\n" : "");
	for (i = 0; i < manifest->identity_count; i++)
		if (sr_manifest_allows(manifest, index, i))
			printf(" %s", manifest->identities[i].name);
	printf("%s\nunsealed   ", key->identities ? "" : " nobody");
	for (i = 0; i < key->uid_count; i++)
		printf(" uid %u", key->uids[i]);
	printf("%s\n", key->uid_count ? "" : " nobody");
}

/* Returns how many do not verify. */
static uint32_t print_signatures(FILE *to, const struct work *work)
{
	uint32_t bad = 0;

	for (uint32_t i = 0; i < work->envelope.sig_count; i++) {
		const struct sr_operator_sig *sig = &work->envelope.sigs[i];
		int ret = sr_operator_verify(sig, SR_MANIFEST_PURPOSE, work->manifest.hash);

		fprintf(to, "signature   ");
		print_hex(to, sig->pub, sizeof sig->pub);
		fprintf(to, "%s\n", ret ? " INVALID" : " valid, of whoever has that key");
		bad += ret != 0;
	}
	return bad;
}

static int run_show(struct work *work)
{
	const struct sr_manifest *manifest = &work->manifest;
	uint32_t bad;
	int ret = read_manifest(work);

	if (ret)
		return ret;
	print_version(stdout, "manifest    ", manifest);
	bad = print_signatures(stdout, work);
	if (!work->envelope.sig_count)
		printf("signature   none\n");
	for (uint32_t i = 0; i < manifest->identity_count; i++) {
		printf("identity    ");
		print_hex(stdout, manifest->identities[i].pub, SR_IDENTITY_KEY_BYTES);
		printf(" %s\n", manifest->identities[i].name);
	}
	for (uint32_t i = 0; i < manifest->schema_count; i++)
		print_schema(&manifest->schemas[i]);
	for (uint32_t i = 0; i < manifest->key_count; i++)
		print_key(manifest, i);
	return bad ? fail_file(work->file, "a signature does not verify: something was changed "
					   "after it was made") :
		     EXIT_DONE;
}

/* ---- sign ---- */

/* The operator's own, behind the others. */
static int add_signature(struct work *work, const struct sr_operator_pair *pair)
{
	struct sr_envelope *envelope = &work->envelope;
	int ret;

	for (uint32_t i = 0; i < envelope->sig_count; i++)
		if (!memcmp(envelope->sigs[i].pub, pair->pub, sizeof pair->pub))
			return fail_file(work->file, "this operator has signed it already");
	if (envelope->sig_count == SR_ENVELOPE_SIGS_MAX)
		return fail_file(work->file, "it has as many signatures as there can be");

	ret = sr_operator_sign(pair, &envelope->sigs[envelope->sig_count], SR_MANIFEST_PURPOSE,
			       work->manifest.hash);
	if (ret)
		return fail("OpenSSL makes no signature: is it out of memory?");
	envelope->sig_count++;
	return EXIT_DONE;
}

/* Between reading and signing a file, somebody may have changed it. */
static bool is_hash(const struct work *work, const char *digits)
{
	char own[2 * SR_HASH_BYTES + 1];

	for (size_t i = 0; i < SR_HASH_BYTES; i++)
		(void)snprintf(own + 2 * i, 3, "%02x", work->manifest.hash[i]);
	return strcmp(own, digits) == 0;
}

/* In protected memory. */
struct secrets {
	struct sr_pairfile file;
	struct sr_operator_pair pair;
};

static int sign(struct work *work, struct secrets *secrets)
{
	struct sr_reason why;
	int ret;

	if (sr_pairfile_load(&secrets->file, &sr_pairfile_operator, work->operator, &why))
		return fail(why.text);
	if (sr_operator_pair_make(&secrets->pair, secrets->file.secret))
		return fail("OpenSSL makes no key: is it out of memory?");
	ret = read_manifest(work);
	if (ret)
		return ret;
	if (work->hash && !is_hash(work, work->hash))
		return fail_file(work->file, "it is not the manifest of that --hash: somebody has "
					     "changed it since, or the digits are wrong");
	if (print_signatures(stderr, work))
		return fail_file(work->file, "a signature does not verify: something was changed "
					     "after it was made; sign the manifest alone again");
	ret = add_signature(work, &secrets->pair);
	if (!ret)
		ret = replace_file(work->out ? work->out : work->file, work->text_out,
				   sr_envelope_put(work->text_out, &work->envelope));
	return ret;
}

static int run_sign(struct work *work)
{
	void *secrets;
	int ret;

	if (!work->operator)
		return fail_usage("--operator is missing: whose signature?");
	if (sr_secret_alloc(&secrets, sizeof(struct secrets)))
		return fail("no protected memory for the key: raise the memlock limit (ulimit -l), "
			    "or the kernel is older than 4.14");
	ret = sign(work, secrets);
	sr_wipe_stack();
	sr_secret_free(secrets, sizeof(struct secrets));
	if (ret)
		return ret;
	print_version(stderr, "signed      ", &work->manifest);
	fprintf(stderr, "wrote       %s, with %u signature%s\n", work->out ? work->out : work->file,
		work->envelope.sig_count, work->envelope.sig_count == 1 ? "" : "s");
	return EXIT_DONE;
}

/* ---- check ---- */

static int load(struct work *work, const struct sr_operators *operators, const char *path,
		uint64_t version_min)
{
	struct sr_reason why;
	size_t bytes;
	int ret = read_file(path, work->text, &bytes, sizeof work->text);

	if (ret)
		return ret;
	if (!sr_manifest_load(&work->manifest, work->hasher, operators, version_min, work->text,
			      bytes, &why))
		return EXIT_DONE;
	printf("REFUSED: %s: %s\n", path, why.text);
	return EXIT_FAILED;
}

static int run_check(struct work *work)
{
	struct sr_operators operators;
	struct sr_reason why;
	size_t bytes;
	int ret;

	if (!work->operators || !work->k)
		return fail_usage("--operators and --k are both needed: whose signatures, and how "
				  "many?");
	ret = read_file(work->operators, work->text, &bytes, SR_OPERATORS_BYTES_MAX + 1);
	if (ret)
		return ret;
	if (sr_operators_parse(&operators, (uint32_t)work->k, work->text, bytes, &why))
		return fail_file(work->operators, why.text);
	if (work->after)
		ret = load(work, &operators, work->after, 0);
	if (!ret)
		ret = load(work, &operators, work->file, work->version_min);
	if (ret)
		return ret;
	printf("accepted: signed by at least %u of %u operators\n", operators.k, operators.count);
	print_version(stdout, "accepted: ", &work->manifest);
	return EXIT_DONE;
}

/* ---- the command line ---- */

static int take_option(struct work *work, int letter, const char *value)
{
	switch (letter) {
	case 'o':
		work->operator= value;
		return 0;
	case 'w':
		work->out = value;
		return 0;
	case 'l':
		work->operators = value;
		return 0;
	case 'h':
		work->hash = value;
		return EXIT_DONE;
	case 'a':
		work->after = value;
		return 0;
	case 'k':
		return sr_ctl_number_take(&work->k, value, SR_OPERATORS_MAX) && work->k ?
			       0 :
			       fail_usage("--k wants a number from 1 to 16");
	default:
		return sr_ctl_number_take(&work->version_min, value, SR_MANIFEST_VERSION_MAX) &&
				       work->version_min ?
			       0 :
			       fail_usage("--min-version wants a version, 1 or more");
	}
}

static int parse_options(struct work *work, const struct command *command, int argc, char **argv)
{
	int letter, ret;

	optind = 0;
	opterr = 0;
	while ((letter = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (letter == '?' || !strchr(command->options, letter))
			return fail_usage("unknown option, or one without its value");
		ret = take_option(work, letter, optarg);
		if (ret)
			return ret;
	}
	if (argc - optind != 1)
		return fail_usage("name one manifest");
	work->file = argv[optind];
	return 0;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct work *work;
	int ret;

	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return fail("cannot make the process undumpable (prctl)");
	/* -EBUSY where it has been done already, as by the command before. */
	if (sr_heap_protect(SR_HEAP_BYTES) && !CRYPTO_secure_malloc_initialized())
		return fail("no protected heap for OpenSSL: raise the memlock limit (ulimit -l)");
	work = calloc(1, sizeof *work);
	if (!work || sr_hasher_new(&work->hasher)) {
		free(work);
		return fail("no memory");
	}
	ret = parse_options(work, command, argc, argv);
	if (!ret)
		ret = command->run(work);
	if (fflush(stdout) && !ret)
		ret = fail("cannot write to standard output");
	sr_hasher_delete(work->hasher);
	free(work);
	return ret;
}

int sr_ctl_manifest(int argc, char **argv)
{
	if (sr_ctl_help_wanted(argc, argv)) {
		usage(stdout);
		return EXIT_DONE;
	}
	if (argc >= 2 && sr_ctl_vault_has("manifest", argv[1]))
		return sr_ctl_vault(argc, argv);
	for (size_t i = 0; argc >= 2 && i < COMMANDS; i++)
		if (!strcmp(argv[1], commands[i].name))
			return run(&commands[i], argc - 1, argv + 1);
	usage(stderr);
	return EXIT_USAGE;
}
