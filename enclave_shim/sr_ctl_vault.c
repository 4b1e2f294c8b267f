/* SPDX-License-Identifier: MIT */
#include "sr_ctl_vault.h"

#include <fcntl.h>
#include <getopt.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "sr_account.h"
#include "sr_ctl_session.h"
#include "sr_digits.h"
#include "sr_getrandom.h"
#include "sr_heap.h"
#include "sr_keyfile.h"
#include "sr_pairfile.h"
#include "sr_secret.h"
#include "sr_type.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

#define SOCKET_DEFAULT "/run/sigring/agent.sock"
#define PREFIX_DEFAULT "cosmos"

/* In protected memory. */
struct secrets {
	struct sr_pairfile file;
	struct sr_noise_pair pair; /* who opens a blob, and who seals the next */
	unsigned char key[SR_SECKEY_BYTES];
	unsigned char random[32];
};

/* What a subcommand works with, and its options. */
struct work {
	const struct command *command;
	struct sr_ctl_where where;
	struct sr_ctl_session *session;
	struct sr_curve *curve;
	struct secrets *secrets;
	const char *recovery;
	const char *recovery_identity;
	const char *out;
	const char *prefix;
	const char *file;
	uint32_t id;
	char text[SR_ENVELOPE_BYTES_MAX + 1]; /* one more, to see that it is too long */
};

static int run_generate(struct work *work);
static int run_restore(struct work *work);
static int run_import(struct work *work);
static int run_list(struct work *work);
static int run_lock(struct work *work);
static int run_unlock(struct work *work);
static int run_rotate(struct work *work);
static int run_delete(struct work *work);
static int run_load(struct work *work);

static const struct option known[] = {
	{ "socket", required_argument, NULL, 's' },
	{ "control", required_argument, NULL, 'c' },
	{ "trust", required_argument, NULL, 't' },
	{ "operator", required_argument, NULL, 'o' },
	{ "id", required_argument, NULL, 'i' },
	{ "recovery", required_argument, NULL, 'r' },
	{ "recovery-identity", required_argument, NULL, 'R' },
	{ "out", required_argument, NULL, 'w' },
	{ "cosmos-prefix", required_argument, NULL, 'p' },
	{ NULL, 0, NULL, 0 },
};


static const struct command {
	const char *noun;
	const char *name;
	int (*run)(struct work *work);
	const char *options;
	bool with_file;
	const char *arguments;
	const char *help;
} commands[] = {
	{ "key", "generate", run_generate, "oirwp", false,
	  "--id N --recovery HEX|FILE --out BLOB [--cosmos-prefix P]",
	  "have the signer make a key; what leaves it is BLOB, sealed to the recipient" },
	{ "key", "rotate", run_rotate, "oirwp", false,
	  "--id N --recovery HEX|FILE --out BLOB [--cosmos-prefix P]",
	  "the same in place of the key of that id, which is gone then" },
	{ "key", "restore", run_restore, "oRp", true,
	  "--recovery-identity FILE [--cosmos-prefix P] BLOB",
	  "give a key that was generated to this signer, by the recipient's identity" },
	{ "key", "import", run_import, "oip", true, "[--id N] [--cosmos-prefix P] KEYFILE",
	  "give a development key to the signer: it was in a file, and is no safer now" },
	{ "key", "list", run_list, "o", false, "", "the keys that the signer holds" },
	{ "key", "lock", run_lock, "oi", false, "--id N", "have it sign nothing until unlocked" },
	{ "key", "unlock", run_unlock, "oi", false, "--id N", "let it sign again" },
	{ "key", "delete", run_delete, "oi", false, "--id N", "wipe it; its blob restores it" },
	{ "manifest", "load", run_load, "o", true, "MANIFEST",
	  "bring a signed manifest to the signer" },
};
#define COMMANDS (sizeof commands / sizeof commands[0])

void sr_ctl_vault_usage(FILE *to, const char *noun)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (!strcmp(commands[i].noun, noun))
			fprintf(to, "  sigringctl %s %s WHERE %s\n        %s\n", noun,
				commands[i].name, commands[i].arguments, commands[i].help);
	fprintf(to, "WHERE  [--socket PATH | --control ADDRESS] --trust FILE%s\n",
		strcmp(noun, "manifest") ? " --operator FILE..." : "");
}

static const struct command *find(const char *noun, const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (!strcmp(commands[i].noun, noun) && !strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

bool sr_ctl_vault_has(const char *noun, const char *name)
{
	return find(noun, name) != NULL;
}

static int fail(const struct work *work, const char *text)
{
	fprintf(stderr, "sigringctl %s %s: %s\n", work->command->noun, work->command->name, text);
	return EXIT_FAILED;
}

static int fail_usage(const struct work *work, const char *text)
{
	fprintf(stderr, "sigringctl %s %s: %s; see: sigringctl %s --help\n", work->command->noun,
		work->command->name, text, work->command->noun);
	return EXIT_USAGE;
}

static int fail_file(const struct work *work, const char *path, int error)
{
	fprintf(stderr, "sigringctl %s %s: %s: %s\n", work->command->noun, work->command->name,
		path, strerror(error));
	return EXIT_FAILED;
}

/* ---- files ---- */

/* At most @room bytes; a longer file is cut there, and its length tells. */
static int read_file(const struct work *work, const char *path, char *text, size_t *bytes,
		     size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), error = 0;

	*bytes = 0;
	if (fd < 0)
		return fail_file(work, path, errno);
	while (*bytes < room && !error) {
		ssize_t got = read(fd, text + *bytes, room - *bytes);

		if (got == 0)
			break;
		if (got > 0)
			*bytes += (size_t)got;
		else if (errno != EINTR)
			error = errno;
	}
	(void)close(fd);
	return error ? fail_file(work, path, error) : EXIT_DONE;
}

/* Before the key is made: a blob that cannot be written is a key that cannot be restored. */
static int open_out(const struct work *work, int *fd)
{
	*fd = open(work->out, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return *fd < 0 ? fail_file(work, work->out, errno) : EXIT_DONE;
}

static int write_out(const struct work *work, int fd, const unsigned char *blob)
{
	size_t done = 0;
	int error = 0;

	while (done < SR_BLOB_BYTES && !error) {
		ssize_t put = write(fd, blob + done, SR_BLOB_BYTES - done);

		if (put >= 0)
			done += (size_t)put;
		else if (errno != EINTR)
			error = errno;
	}
	if (!error && fsync(fd))
		error = errno;
	if (close(fd) && !error)
		error = errno;
	if (!error)
		return EXIT_DONE;
	(void)fail_file(work, work->out, error);
	return fail(work, "the key is in the signer and its blob is lost: rotate it, or delete it");
}

/* ---- what is printed ---- */

static void print_hex(const char *label, const unsigned char *in, size_t bytes)
{
	char digits[2 * 64 + 1] = { 0 };

	sr_digits_put(digits, in, bytes);
	printf("%s%s\n", label, digits);
}

static int print_key(const struct work *work, const struct sr_command_key *key)
{
	const char *prefix = work->prefix ? work->prefix : PREFIX_DEFAULT;
	char ethereum[SR_ACCOUNT_ETHEREUM_BYTES], cosmos[SR_ACCOUNT_COSMOS_BYTES];

	sr_account_ethereum(ethereum, key->address);
	printf("id          %u\n", key->id);
	print_hex("public key  ", key->pubkey, sizeof key->pubkey);
	printf("ethereum    %s\n", ethereum);
	if (sr_account_cosmos(cosmos, prefix, key->pubkey) == 0)
		printf("cosmos      %s\n", cosmos);
	return fflush(stdout) ? fail(work, "cannot write to standard output") : EXIT_DONE;
}

static void print_listed(const struct sr_command_listed *listed)
{
	const char *mode = sr_nonce_name(listed->nonce_mode);
	char ethereum[SR_ACCOUNT_ETHEREUM_BYTES];
	bool any = false;

	sr_account_ethereum(ethereum, listed->key.address);
	printf("%u ", listed->key.id);
	for (size_t i = 0; i < sizeof listed->key.pubkey; i++)
		printf("%02x", listed->key.pubkey[i]);
	printf(" %s %s ", ethereum, mode ? mode : "?");
	for (uint32_t type = 1; type <= SR_TYPE_BLIND_MAX; type++)
		if (listed->permissions >> type & 1) {
			printf("%s%s", any ? "," : "", sr_type_name(type));
			any = true;
		}
	printf("%s %s\n", any ? "" : "nothing",
	       listed->flags & SR_COMMAND_LOCKED ? "failed" :
	       listed->flags & SR_COMMAND_HELD   ? "locked" :
						   "ready");
}

/* ---- commands ---- */

static int session_open(struct work *work)
{
	struct sr_reason why;

	return sr_ctl_session_open(&work->session, &work->where, &why) ? fail(work, why.text) :
									 EXIT_DONE;
}

static int command(struct work *work, struct sr_command_result *result, uint32_t kind,
		   const void *body, size_t bytes)
{
	struct sr_reason why;
	int ret = sr_ctl_session_command(work->session, result, kind, body, bytes, &why);

	if (!ret)
		return EXIT_DONE;
	(void)fail(work, why.text);
	/* Only the signer's own word says that nothing was done. */
	if (ret != -EPERM && kind != SR_COMMAND_LIST)
		return fail(work, "whether it was done is not known: see key list");
	return EXIT_FAILED;
}

/* 64 digits, or an identity's file. */
static int find_recipient(struct work *work, unsigned char recipient[SR_NOISE_KEY_BYTES])
{
	struct sr_reason why;

	if (strlen(work->recovery) == 2 * SR_NOISE_KEY_BYTES &&
	    !sr_digits_get(recipient, work->recovery, SR_NOISE_KEY_BYTES))
		return EXIT_DONE;
	if (sr_pairfile_load(&work->secrets->file, &sr_pairfile_identity, work->recovery, &why))
		return fail(work, why.text);
	memcpy(recipient, work->secrets->file.pub, SR_NOISE_KEY_BYTES);
	return EXIT_DONE;
}

static int make_key(struct work *work, uint32_t kind)
{
	struct sr_command_generate generate = { .id = work->id };
	struct sr_command_result result;
	unsigned char body[40];
	struct sr_command_key key;
	int ret, fd;

	if (!work->recovery || !work->out || !work->id)
		return fail_usage(work, "--id, --recovery and --out are all needed: a key that "
					"nobody can restore is lost with its signer");
	ret = find_recipient(work, generate.recipient);
	if (!ret)
		ret = session_open(work);
	if (!ret)
		ret = open_out(work, &fd);
	if (ret)
		return ret;
	sr_command_generate_put(body, &generate);
	ret = command(work, &result, kind, body, sizeof body);
	if (!ret && (sr_command_key_get(&key, result.body) || key.id != work->id))
		ret = fail(work, "the signer's answer makes no sense");
	if (ret) {
		(void)close(fd);
		(void)unlink(work->out);
		return ret;
	}
	ret = print_key(work, &key);
	if (write_out(work, fd, result.body + SR_COMMAND_KEY_BYTES))
		return EXIT_FAILED;
	fprintf(stderr, "wrote %s: the key, sealed to the recovery recipient\n", work->out);
	return ret;
}

static int run_generate(struct work *work)
{
	return make_key(work, SR_COMMAND_GENERATE);
}

static int run_rotate(struct work *work)
{
	return make_key(work, SR_COMMAND_ROTATE);
}

static int pubkey_of(const void *arg, unsigned char pubkey[SR_BLOB_PUBKEY_BYTES],
		     const unsigned char secret[SR_BLOB_SECRET_BYTES])
{
	return sr_curve_pubkey(arg, pubkey, NULL, secret);
}

static int draw(const struct work *work)
{
	return sr_getrandom.get(sr_getrandom.arg, work->secrets->random,
				sizeof work->secrets->random) ?
		       fail(work, "the kernel gives no entropy (getrandom)") :
		       EXIT_DONE;
}

/* secrets->key, sealed by secrets->pair to the signer that has been attested. */
static int give_key(struct work *work, uint32_t id)
{
	const struct sr_blob_curve curve = { pubkey_of, work->curve };
	struct sr_blob_info info = { .id = id };
	const struct sr_blob_seal seal = {
		.info = &info,
		.secret = work->secrets->key,
		.recipient = sr_ctl_session_signer(work->session),
		.sender = &work->secrets->pair,
		.ephemeral = work->secrets->random,
		.curve = &curve,
	};
	unsigned char blob[SR_BLOB_BYTES];
	struct sr_command_result result;
	struct sr_command_key key;
	int ret = draw(work);

	if (!ret && (sr_curve_pubkey(work->curve, info.pubkey, NULL, work->secrets->key) ||
		     sr_blob_seal(blob, &seal)))
		ret = fail(work, "the key could not be sealed to the signer");
	if (!ret)
		ret = command(work, &result, SR_COMMAND_IMPORT, blob, sizeof blob);
	if (ret)
		return ret;
	if (sr_command_key_get(&key, result.body) || key.id != id ||
	    memcmp(key.pubkey, info.pubkey, sizeof info.pubkey) != 0)
		return fail(work, "the signer says that it has another key: see key list");
	return print_key(work, &key);
}

static int open_blob(struct work *work, struct sr_blob_info *info)
{
	const struct sr_blob_curve curve = { pubkey_of, work->curve };
	struct secrets *secrets = work->secrets;
	unsigned char sender[SR_NOISE_KEY_BYTES];
	char digits[2 * SR_NOISE_KEY_BYTES + 1] = { 0 };
	size_t bytes;
	int ret = read_file(work, work->file, work->text, &bytes, SR_BLOB_BYTES + 1);

	if (ret)
		return ret;
	ret = sr_blob_open(info, secrets->key, sender, (const unsigned char *)work->text, bytes,
			   &secrets->pair, &curve);
	if (ret == -EBADMSG)
		return fail(work, "the blob is for another recipient, or was changed");
	if (ret)
		return fail(work, "this is no blob, or its secret is not that of its public key");
	sr_digits_put(digits, sender, sizeof sender);
	fprintf(stderr, "sealed by   %s\n", digits);
	return EXIT_DONE;
}

static int run_restore(struct work *work)
{
	struct secrets *secrets = work->secrets;
	struct sr_blob_info info;
	struct sr_reason why;
	int ret;

	if (!work->recovery_identity)
		return fail_usage(work, "--recovery-identity is missing: whose key opens the blob?");
	if (sr_pairfile_load(&secrets->file, &sr_pairfile_identity, work->recovery_identity, &why))
		return fail(work, why.text);
	memcpy(secrets->pair.secret, secrets->file.secret, sizeof secrets->pair.secret);
	memcpy(secrets->pair.pub, secrets->file.pub, sizeof secrets->pair.pub);
	ret = open_blob(work, &info);
	if (!ret)
		ret = session_open(work);
	return ret ? ret : give_key(work, info.id);
}

/* The key of a file, into secrets->key. */
static int read_keyfile(struct work *work, uint32_t *id)
{
	struct sr_keyfile_error why;
	struct sr_keyring *ring;
	int ret;

	if (sr_keyring_new(&ring))
		return fail(work, "no protected memory for the key: raise the memlock limit "
				  "(ulimit -l)");
	ret = sr_keyfile_load(ring, work->curve, work->file, &why);
	if (!ret) {
		*id = sr_keyring_info(ring, 0)->id;
		memcpy(work->secrets->key, sr_keyring_secret(ring, 0), SR_SECKEY_BYTES);
	}
	sr_keyring_delete(ring);
	return ret ? fail(work, why.text) : EXIT_DONE;
}

static int run_import(struct work *work)
{
	uint32_t id = 0;
	int ret = read_keyfile(work, &id);

	if (!ret)
		ret = draw(work);
	if (!ret && sr_noise_pair_make(&work->secrets->pair, work->secrets->random))
		ret = fail(work, "OpenSSL makes no key: is it out of memory?");
	if (!ret)
		ret = session_open(work);
	return ret ? ret : give_key(work, work->id ? work->id : id);
}

static int run_list(struct work *work)
{
	struct sr_command_listed listed;
	struct sr_command_result result;
	int ret = session_open(work);

	if (!ret)
		ret = command(work, &result, SR_COMMAND_LIST, NULL, 0);
	if (ret)
		return ret;
	for (uint32_t i = 0; i < sr_get32(result.body); i++) {
		if (sr_command_listed_get(&listed, result.body + 8 + i * SR_COMMAND_LISTED_BYTES))
			return fail(work, "the signer's answer makes no sense");
		print_listed(&listed);
	}
	return fflush(stdout) ? fail(work, "cannot write to standard output") : EXIT_DONE;
}

static int run_word(struct work *work, uint32_t kind, uint32_t value)
{
	struct sr_command_result result;
	unsigned char body[8];
	int ret;

	if (!work->id)
		return fail_usage(work, "--id is missing: which key?");
	ret = session_open(work);
	if (ret)
		return ret;
	sr_command_word_put(body, work->id, value);
	return command(work, &result, kind, body, sizeof body);
}

static int run_lock(struct work *work)
{
	return run_word(work, SR_COMMAND_HOLD, 1);
}

static int run_unlock(struct work *work)
{
	return run_word(work, SR_COMMAND_HOLD, 0);
}

static int run_delete(struct work *work)
{
	return run_word(work, SR_COMMAND_DELETE, 0);
}

static int run_load(struct work *work)
{
	struct sr_command_result result;
	size_t bytes;
	int ret = read_file(work, work->file, work->text, &bytes, sizeof work->text);

	if (!ret)
		ret = session_open(work);
	if (!ret)
		ret = command(work, &result, SR_COMMAND_MANIFEST, work->text, bytes);
	if (ret)
		return ret;
	printf("in force    version %llu\n", (unsigned long long)sr_get64(result.body));
	print_hex("hash        ", result.body + 8, 32);
	return fflush(stdout) ? fail(work, "cannot write to standard output") : EXIT_DONE;
}

/* ---- the command line ---- */

static int take_option(struct work *work, int letter, const char *value)
{
	struct sr_ctl_where *where = &work->where;

	switch (letter) {
	case 's':
		where->socket = value;
		return 0;
	case 'c':
		where->control = value;
		return 0;
	case 't':
		where->trust = value;
		return 0;
	case 'o':
		if (where->operator_count == SR_OPERATORS_MAX)
			return fail_usage(work, "more --operator than there can be operators");
		where->operators[where->operator_count++] = value;
		return 0;
	case 'i':
		if (sr_keyfile_number(&work->id, value, strlen(value)) || work->id == 0)
			return fail_usage(work, "--id wants a number from 1 to 4294967295");
		return 0;
	case 'r':
		work->recovery = value;
		return 0;
	case 'R':
		work->recovery_identity = value;
		return 0;
	case 'w':
		work->out = value;
		return 0;
	default:
		work->prefix = value;
		return 0;
	}
}

static int judge_options(struct work *work)
{
	struct sr_ctl_where *where = &work->where;

	if (!where->trust)
		where->trust = getenv("SIGRING_TRUST");
	if (!where->socket && !where->control)
		where->socket = getenv("SIGRING_SOCKET");
	if (!where->socket && !where->control)
		where->socket = SOCKET_DEFAULT;
	if (where->socket && where->control)
		return fail_usage(work, "--socket or --control, not both");
	if (!where->trust)
		return fail_usage(work, "--trust is missing, and SIGRING_TRUST: which signer is the "
					"right one?");
	if (!where->operator_count && work->command->run != run_load)
		return fail_usage(work, "--operator is missing: it takes as many as the signer was "
					"told to need");
	if (work->prefix && !sr_account_prefix_valid(work->prefix))
		return fail_usage(work, "--cosmos-prefix wants 1 to 20 lower-case letters and digits");
	return 0;
}

static int parse_options(struct work *work, int argc, char **argv)
{
	int letter, ret;

	optind = 0;
	opterr = 0;
	while ((letter = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (letter == '?' || (!strchr("sct", letter) && !strchr(work->command->options, letter)))
			return fail_usage(work, "unknown option, or one without its value");
		ret = take_option(work, letter, optarg);
		if (ret)
			return ret;
	}
	if (argc - optind != work->command->with_file)
		return fail_usage(work, work->command->with_file ? "name one file" :
								   "an argument too many");
	work->file = argv[optind];
	return judge_options(work);
}

static int work_begin(struct work *work)
{
	void *mem;

	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return fail(work, "cannot make the process undumpable (prctl)");
	if (sr_heap_protect(SR_HEAP_BYTES) && !CRYPTO_secure_malloc_initialized())
		return fail(work, "no protected heap for OpenSSL: raise the memlock limit "
				  "(ulimit -l)");
	if (sr_secret_alloc(&mem, sizeof *work->secrets))
		return fail(work, "no protected memory for the key: raise the memlock limit "
				  "(ulimit -l), or the kernel is older than 4.14");
	work->secrets = mem;
	if (draw(work))
		return EXIT_FAILED;
	return sr_curve_new(&work->curve, work->secrets->random) ?
		       fail(work, "no memory for libsecp256k1 to start with") :
		       EXIT_DONE;
}

static void work_end(struct work *work)
{
	sr_ctl_session_close(work->session);
	sr_curve_delete(work->curve);
	sr_wipe_stack();
	if (work->secrets)
		sr_secret_free(work->secrets, sizeof *work->secrets);
	free(work);
}

int sr_ctl_vault(int argc, char **argv)
{
	struct work *work = calloc(1, sizeof *work);
	int ret;

	if (!work) {
		fprintf(stderr, "sigringctl %s: no memory\n", argv[0]);
		return EXIT_FAILED;
	}
	work->command = find(argv[0], argv[1]);
	ret = parse_options(work, argc - 1, argv + 1);
	if (!ret)
		ret = work_begin(work);
	if (!ret)
		ret = work->command->run(work);
	work_end(work);
	return ret;
}
