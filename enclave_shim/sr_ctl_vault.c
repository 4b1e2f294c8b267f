/* SPDX-License-Identifier: MIT */
#include "sr_ctl_vault_work.h"

#include <getopt.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "sr_account.h"
#include "sr_ctl_file.h"
#include "sr_digits.h"
#include "sr_getrandom.h"
#include "sr_heap.h"
#include "sr_keyfile.h"
#include "sr_secret.h"
#include "sr_type.h"

#define SOCKET_DEFAULT "/run/sigring/agent.sock"
#define PREFIX_DEFAULT "cosmos"

static int run_list(struct sr_ctl_work *work);
static int run_lock(struct sr_ctl_work *work);
static int run_unlock(struct sr_ctl_work *work);
static int run_delete(struct sr_ctl_work *work);
static int run_load(struct sr_ctl_work *work);

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
	{ "off", no_argument, NULL, 'x' },
	{ "seconds", required_argument, NULL, 'S' },
	{ "asset", required_argument, NULL, 'a' },
	{ "min", required_argument, NULL, 'm' },
	{ "max", required_argument, NULL, 'M' },
	{ "sequence", required_argument, NULL, 'q' },
	{ "window", required_argument, NULL, 'W' },
	{ "unexpired", required_argument, NULL, 'u' },
	{ NULL, 0, NULL, 0 },
};

static const struct sr_ctl_command commands[] = {
	{ "key", "generate", sr_ctl_vault_generate, "oirwp", false,
	  "--id N --recovery HEX|FILE --out BLOB [--cosmos-prefix P]",
	  "have the signer make a key; what leaves it is BLOB, sealed to the recipient" },
	{ "key", "rotate", sr_ctl_vault_rotate, "oirwp", false,
	  "--id N --recovery HEX|FILE --out BLOB [--cosmos-prefix P]",
	  "the same in place of the key of that id, which is gone then" },
	{ "key", "restore", sr_ctl_vault_restore, "oRp", true,
	  "--recovery-identity FILE [--cosmos-prefix P] BLOB",
	  "give a key that was generated to this signer, by the recipient's identity" },
	{ "key", "import", sr_ctl_vault_import, "oip", true, "[--id N] [--cosmos-prefix P] KEYFILE",
	  "give a development key to the signer: it was in a file, and is no safer now" },
	{ "key", "list", run_list, "o", false, "", "the keys that the signer holds" },
	{ "key", "lock", run_lock, "oi", false, "--id N", "have it sign nothing until unlocked" },
	{ "key", "unlock", run_unlock, "oi", false, "--id N", "let it sign again" },
	{ "key", "delete", run_delete, "oi", false, "--id N", "wipe it; its blob restores it" },
	{ "manifest", "load", run_load, "o", true, "MANIFEST",
	  "bring a signed manifest to the signer" },
	{ "enclave", "status", sr_ctl_vault_status, "o", false, "",
	  "what the signer says of itself: boot, clocks, sessions, presignatures, image" },
	{ "enclave", "drain", sr_ctl_vault_drain, "ox", false, "[--off]",
	  "have it sign nothing more, so that it can be stopped; or sign again" },
	{ "policy", "kill", sr_ctl_vault_kill, "ox", false, "[--off]",
	  "have every key sign cancels of typed orders, and nothing else typed; or no more" },
	{ "policy", "lease", sr_ctl_vault_lease, "oS", false, "--seconds N",
	  "let keys that need a lease sign for so long from now; 0 ends it" },
	{ "policy", "band", sr_ctl_vault_band, "oiamMq", false,
	  "--id KEY --asset ID --min PRICE --max PRICE --sequence N",
	  "another price band of an asset, until the next manifest" },
	{ "policy", "seed", sr_ctl_vault_seed, "oiWu", false,
	  "--id KEY --window NOTIONAL --unexpired NOTIONAL",
	  "what the key had signed before the signer was started" },
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

static const struct sr_ctl_command *find(const char *noun, const char *name)
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

int sr_ctl_fail(const struct sr_ctl_work *work, const char *text)
{
	fprintf(stderr, "sigringctl %s %s: %s\n", work->command->noun, work->command->name, text);
	return EXIT_FAILED;
}

int sr_ctl_fail_usage(const struct sr_ctl_work *work, const char *text)
{
	fprintf(stderr, "sigringctl %s %s: %s; see: sigringctl %s --help\n", work->command->noun,
		work->command->name, text, work->command->noun);
	return EXIT_USAGE;
}

int sr_ctl_fail_file(const struct sr_ctl_work *work, const char *path, int error)
{
	fprintf(stderr, "sigringctl %s %s: %s: %s\n", work->command->noun, work->command->name,
		path, strerror(error));
	return EXIT_FAILED;
}

/* ---- what is printed ---- */

static void print_hex(const char *label, const unsigned char *in, size_t bytes)
{
	char digits[2 * 64 + 1] = { 0 };

	sr_digits_put(digits, in, bytes);
	printf("%s%s\n", label, digits);
}

int sr_ctl_vault_print(const struct sr_ctl_work *work, const struct sr_command_key *key)
{
	const char *prefix = work->prefix ? work->prefix : PREFIX_DEFAULT;
	char ethereum[SR_ACCOUNT_ETHEREUM_BYTES], cosmos[SR_ACCOUNT_COSMOS_BYTES];

	sr_account_ethereum(ethereum, key->address);
	printf("id          %u\n", key->id);
	print_hex("public key  ", key->pubkey, sizeof key->pubkey);
	printf("ethereum    %s\n", ethereum);
	if (sr_account_cosmos(cosmos, prefix, key->pubkey) == 0)
		printf("cosmos      %s\n", cosmos);
	return fflush(stdout) ? sr_ctl_fail(work, "cannot write to standard output") : EXIT_DONE;
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
	printf("%s %s\n",
	       any				       ? "" :
	       listed->flags & SR_COMMAND_TYPED ? "typed" :
						  "nothing",
	       listed->flags & SR_COMMAND_LOCKED ? "failed" :
	       listed->flags & SR_COMMAND_HELD   ? "locked" :
						   "ready");
}

int sr_ctl_vault_draw(const struct sr_ctl_work *work)
{
	return sr_getrandom.get(sr_getrandom.arg, work->secrets->random,
				sizeof work->secrets->random) ?
		       sr_ctl_fail(work, "the kernel gives no entropy (getrandom)") :
		       EXIT_DONE;
}

/* ---- commands ---- */

int sr_ctl_vault_open(struct sr_ctl_work *work)
{
	struct sr_reason why;

	return sr_ctl_session_open(&work->session, &work->where, &why) ?
		       sr_ctl_fail(work, why.text) :
		       EXIT_DONE;
}

int sr_ctl_vault_command(struct sr_ctl_work *work, struct sr_command_result *result, uint32_t kind,
			 const void *body, size_t bytes)
{
	struct sr_reason why;
	int ret = sr_ctl_session_command(work->session, result, kind, body, bytes, &why);

	if (!ret)
		return EXIT_DONE;
	(void)sr_ctl_fail(work, why.text);
	/* Once it was sent only the signer's own word says that nothing was done. */
	if (ret == -EPERM || ret == -EMSGSIZE || kind == SR_COMMAND_LIST ||
	    kind == SR_COMMAND_STATUS)
		return EXIT_FAILED;
	return sr_ctl_fail(work, kind == SR_COMMAND_MANIFEST ?
					 "whether it is in force is not known: load it again" :
				 kind == SR_COMMAND_DRAIN ?
					 "whether it drains is not known: see enclave status" :
					 "whether it was done is not known: see key list");
}

static int run_list(struct sr_ctl_work *work)
{
	struct sr_command_listed listed;
	struct sr_command_result result;
	int ret = sr_ctl_vault_open(work);

	if (!ret)
		ret = sr_ctl_vault_command(work, &result, SR_COMMAND_LIST, NULL, 0);
	if (ret)
		return ret;
	for (uint32_t i = 0; i < sr_get32(result.body); i++) {
		if (sr_command_listed_get(&listed, result.body + 8 + i * SR_COMMAND_LISTED_BYTES))
			return sr_ctl_fail(work, "the signer's answer makes no sense");
		print_listed(&listed);
	}
	return fflush(stdout) ? sr_ctl_fail(work, "cannot write to standard output") : EXIT_DONE;
}

static int run_word(struct sr_ctl_work *work, uint32_t kind, uint32_t value)
{
	struct sr_command_result result;
	unsigned char body[8];
	int ret;

	if (!work->id)
		return sr_ctl_fail_usage(work, "--id is missing: which key?");
	ret = sr_ctl_vault_open(work);
	if (ret)
		return ret;
	sr_command_word_put(body, work->id, value);
	return sr_ctl_vault_command(work, &result, kind, body, sizeof body);
}

static int run_lock(struct sr_ctl_work *work)
{
	return run_word(work, SR_COMMAND_HOLD, 1);
}

static int run_unlock(struct sr_ctl_work *work)
{
	return run_word(work, SR_COMMAND_HOLD, 0);
}

static int run_delete(struct sr_ctl_work *work)
{
	return run_word(work, SR_COMMAND_DELETE, 0);
}

static int run_load(struct sr_ctl_work *work)
{
	ssize_t bytes = sr_ctl_file_read(work->file, work->text, sizeof work->text);
	struct sr_command_result result;
	int ret;

	if (bytes < 0)
		return sr_ctl_fail_file(work, work->file, (int)-bytes);
	ret = sr_ctl_vault_open(work);
	if (!ret)
		ret = sr_ctl_vault_command(work, &result, SR_COMMAND_MANIFEST, work->text,
					   (size_t)bytes);
	if (ret)
		return ret;
	printf("in force    version %llu\n", (unsigned long long)sr_get64(result.body));
	print_hex("hash        ", result.body + 8, 32);
	return fflush(stdout) ? sr_ctl_fail(work, "cannot write to standard output") : EXIT_DONE;
}

/* ---- the command line ---- */

static int take_option(struct sr_ctl_work *work, int letter, const char *value)
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
			return sr_ctl_fail_usage(work,
						 "more --operator than there can be operators");
		where->operators[where->operator_count++] = value;
		return 0;
	case 'i':
		if (sr_keyfile_number(&work->id, value, strlen(value)) || work->id == 0)
			return sr_ctl_fail_usage(work, "--id wants a number from 1 to 4294967295");
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
	case 'p':
		work->prefix = value;
		return 0;
	default:
		return sr_ctl_vault_say_option(work, letter, value);
	}
}

static int judge_options(struct sr_ctl_work *work)
{
	struct sr_ctl_where *where = &work->where;

	if (!where->trust)
		where->trust = getenv("SIGRING_TRUST");
	if (!where->socket && !where->control)
		where->socket = getenv("SIGRING_SOCKET");
	if (!where->socket && !where->control)
		where->socket = SOCKET_DEFAULT;
	if (where->socket && where->control)
		return sr_ctl_fail_usage(work, "--socket or --control, not both");
	if (!where->trust)
		return sr_ctl_fail_usage(work,
					 "--trust is missing, and SIGRING_TRUST: which signer "
					 "is the right one?");
	if (!where->operator_count && work->command->run != run_load)
		return sr_ctl_fail_usage(work, "--operator is missing: it takes as many as the "
					       "signer was told to need");
	if (work->prefix && !sr_account_prefix_valid(work->prefix))
		return sr_ctl_fail_usage(work, "--cosmos-prefix wants 1 to 16 lower-case "
					       "letters and digits");
	return 0;
}

static int parse_options(struct sr_ctl_work *work, int argc, char **argv)
{
	int letter, ret;

	optind = 0;
	opterr = 0;
	while ((letter = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (letter == '?' ||
		    (!strchr("sct", letter) && !strchr(work->command->options, letter)))
			return sr_ctl_fail_usage(work, "unknown option, or one without its value");
		ret = take_option(work, letter, optarg);
		if (ret)
			return ret;
	}
	if (argc - optind != work->command->with_file)
		return sr_ctl_fail_usage(work, work->command->with_file ? "name one file" :
									  "an argument too many");
	work->file = argv[optind];
	return judge_options(work);
}

static int work_begin(struct sr_ctl_work *work)
{
	void *mem;

	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return sr_ctl_fail(work, "cannot make the process undumpable (prctl)");
	if (sr_heap_protect(SR_HEAP_BYTES) && !CRYPTO_secure_malloc_initialized())
		return sr_ctl_fail(work, "no protected heap for OpenSSL: raise the memlock limit "
					 "(ulimit -l)");
	if (sr_secret_alloc(&mem, sizeof *work->secrets))
		return sr_ctl_fail(work, "no protected memory for the key: raise the memlock limit "
					 "(ulimit -l), or the kernel is older than 4.14");
	work->secrets = mem;
	if (sr_ctl_vault_draw(work))
		return EXIT_FAILED;
	return sr_curve_new(&work->curve, work->secrets->random) ?
		       sr_ctl_fail(work, "no memory for libsecp256k1 to start with") :
		       EXIT_DONE;
}

static void work_end(struct sr_ctl_work *work)
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
	struct sr_ctl_work *work = calloc(1, sizeof *work);
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
