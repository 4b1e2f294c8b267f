/* SPDX-License-Identifier: MIT */
/*
 * mp_vault.c - operators give a signer its keys and its manifest, with the programs that
 * they would use: sigring-signer, an agent in between or not, and sigringctl.
 */
#include "mp_common.h"

#define OPTIONS_MAX 8

static struct mp_rig rig;
static char trust[400], control[400], said[400];
static char files[3][400]; /* two operators, of whom both are needed, and a recipient */
enum { ADA, BOB, RECIPIENT };
static char recipient[65];
static bool through_agent;

static void path_of(char path[400], const char *name)
{
	(void)snprintf(path, 400, "%s/%s", rig.dir, name);
}

/* sigringctl with these arguments; what it says is in the file `said`. */
static int ctl(const char *const *more, size_t count)
{
	const char *argv[MP_ARGS_MAX] = { "sigringctl" };

	MP_CHECK(count < MP_ARGS_MAX - 1, "too many arguments");
	memcpy(argv + 1, more, count * sizeof *more);
	(void)unlink(said);
	return mp_run(argv, said);
}
#define CTL(...)                             \
	ctl((const char *[]){ __VA_ARGS__ }, \
	    sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(const char *))

#define WHERE                                                                                      \
	through_agent ? "--socket" : "--control", through_agent ? rig.socket : control, "--trust", \
		trust
#define OPERATORS "--operator", files[ADA], "--operator", files[BOB]

static bool says(const char *words)
{
	char *text = mp_read_file(said);
	bool found = strstr(text, words) != NULL;

	free(text);
	return found;
}

#define expect(code, words)                                                                   \
	do {                                                                                  \
		int code_ = (code);                                                           \
		MP_CHECK(code_ == 0 && says(words), "line %d: %d, and does not say `%s`: %s", \
			 __LINE__, code_, words, mp_read_file(said));                         \
	} while (0)
#define expect_refused(code, words)                                                           \
	do {                                                                                  \
		int code_ = (code);                                                           \
		MP_CHECK(code_ == 1 && says(words), "line %d: %d, and does not say `%s`: %s", \
			 __LINE__, code_, words, mp_read_file(said));                         \
	} while (0)

/* The first 64 digits that the last command has said. */
static void digits_said(char digits[65])
{
	char *text = mp_read_file(said), *at = text;

	while (*at && strspn(at, "0123456789abcdef") != 64)
		at++;
	MP_CHECK(*at, "no key in `%s`", text);
	memcpy(digits, at, 64);
	digits[64] = '\0';
	free(text);
}

static void write_text(const char *path, const char *text, bool append)
{
	FILE *f = fopen(path, append ? "a" : "w");

	MP_CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0, "%s: %s", path, strerror(errno));
}

static void make_people(const char *list)
{
	static const char *const names[] = { "ada.op", "bob.op", "recovery.id" };
	char digits[65 + 1];

	for (int i = 0; i < 3; i++) {
		path_of(files[i], names[i]);
		MP_EQ(CTL(i == RECIPIENT ? "identity" : "operator", "new", "--out", files[i]), 0,
		      "sigringctl operator new");
		digits_said(digits);
		if (i == RECIPIENT) {
			memcpy(recipient, digits, sizeof recipient);
			continue;
		}
		digits[64] = '\n';
		digits[65] = '\0';
		write_text(list, digits, true);
	}
}

static void start(bool agent)
{
	static char list[400];
	const char *argv[] = { "sigring-signer",
			       "--listen",
			       rig.stream,
			       "--operators",
			       list,
			       "--operators-needed",
			       "2",
			       "--trust-out",
			       trust,
			       "--wait",
			       "yield",
			       NULL };

	mp_rig_new(&rig, true);
	path_of(said, "said");
	path_of(trust, "trust");
	path_of(list, "operators");
	(void)snprintf(control, sizeof control, "%.380s.control", rig.stream);
	make_people(list);
	through_agent = agent;
	rig.signer = mp_start(argv, rig.signer_args, rig.signer_log);
	if (agent) {
		mp_start_agent(&rig);
		mp_await_lines(rig.signer_log, "an agent connected", 1);
	}
}

static void sign_and_load(const char *json, const char *name)
{
	char path[400];

	path_of(path, name);
	write_text(path, json, false);
	MP_EQ(CTL("manifest", "sign", "--operator", files[ADA], path), 0, "manifest sign");
	expect_refused(CTL("manifest", "load", WHERE, path), "signed by 1 of the 2 operators");
	MP_EQ(CTL("manifest", "sign", "--operator", files[BOB], path), 0, "manifest sign");
	expect(CTL("manifest", "load", WHERE, path), "in force");
}

/* The public key of key 7, as it is listed. */
static void pubkey_of_seven(char pubkey[67])
{
	char *text, *at;

	expect(CTL("key", "list", WHERE, OPERATORS), "7 0");
	text = mp_read_file(said);
	at = strstr(text, "7 0");
	MP_CHECK(at && (at == text || at[-1] == '\n') && strlen(at) > 68, "no key 7 in `%s`", text);
	memcpy(pubkey, at + 2, 66);
	pubkey[66] = '\0';
	free(text);
}

static void provision(bool agent)
{
	char blob[400], other[400], stranger[400], pubkey[67], restored[67], json[512];

	start(agent);
	path_of(stranger, "stranger.id");
	MP_EQ(CTL("identity", "new", "--out", stranger), 0, "identity new");
	path_of(blob, "7.blob");
	path_of(other, "other.blob");
	expect(CTL("key", "generate", WHERE, OPERATORS, "--id", "7", "--recovery", recipient,
		   "--out", blob, "--cosmos-prefix", "dydx"),
	       "cosmos      dydx1");
	pubkey_of_seven(pubkey);
	expect_refused(CTL("key", "generate", WHERE, OPERATORS, "--id", "7", "--recovery",
			   recipient, "--out", other),
		       "there is a key of this id");
	MP_CHECK(access(other, F_OK) != 0, "a blob of no key was left behind");
	/* A blob that is there is never overwritten, and then no key is made. */
	expect_refused(CTL("key", "generate", WHERE, OPERATORS, "--id", "8", "--recovery",
			   recipient, "--out", blob),
		       "File exists");

	(void)snprintf(
		json, sizeof json,
		"{\"sigring_manifest\":1,\"version\":4,\"identities\":[],\"keys\":[{\"id\":7,"
		"\"public_key\":\"%s\",\"permit\":[\"bip340\"]}]}",
		pubkey);
	sign_and_load(json, "four.json");
	expect(CTL("key", "list", WHERE, OPERATORS), "hedged bip340 ready");
	expect(CTL("key", "lock", WHERE, OPERATORS, "--id", "7"), "");
	expect(CTL("key", "list", WHERE, OPERATORS), "hedged bip340 locked");
	expect(CTL("key", "unlock", WHERE, OPERATORS, "--id", "7"), "");

	/* Gone with its signer, and back from its blob, as the same key. */
	expect(CTL("key", "delete", WHERE, OPERATORS, "--id", "7"), "");
	expect_refused(CTL("key", "lock", WHERE, OPERATORS, "--id", "7"), "no key of this id");
	expect_refused(CTL("key", "restore", WHERE, OPERATORS, "--recovery-identity", stranger,
			   blob),
		       "for another recipient");
	expect(CTL("key", "restore", WHERE, OPERATORS, "--recovery-identity", files[RECIPIENT],
		   blob),
	       pubkey);
	pubkey_of_seven(restored);
	MP_CHECK(!strcmp(pubkey, restored), "%s was restored as %s", pubkey, restored);
	expect(CTL("key", "list", WHERE, OPERATORS), "hedged bip340 ready");

	/* Another secret under the same id: the manifest does not mean that one. */
	expect(CTL("key", "rotate", WHERE, OPERATORS, "--id", "7", "--recovery", files[RECIPIENT],
		   "--out", other),
	       "public key");
	pubkey_of_seven(restored);
	MP_CHECK(strcmp(pubkey, restored) != 0, "rotating has left %s", pubkey);
	expect(CTL("key", "list", WHERE, OPERATORS), "hedged nothing ready");
	mp_rig_stop(&rig);
}

static void straight_at_the_signer(void)
{
	provision(false);
}

static void through_an_agent(void)
{
	provision(true);
}

/* An image that nobody has, by the signer's own root or by AWS's. */
static void trust_another(bool own_root)
{
	char *text = mp_read_file(trust), *root = strstr(text, "root "), *end = strchr(root, '\n');

	MP_CHECK(root && end, "no root in `%s`", text);
	*end = '\0';
	write_text(trust, "sigring-trust 1\n", false);
	write_text(trust, own_root ? root : "root aws", true);
	write_text(trust, "\nmanifest-min 1\nimage", true);
	for (int i = 0; i < 3; i++)
		write_text(trust,
			   " 111111111111111111111111111111111111111111111111"
			   "111111111111111111111111111111111111111111111111",
			   true);
	write_text(trust, "\n", true);
	free(text);
}

static void who_is_not_obeyed(void)
{
	char empty[400];

	start(false);
	path_of(empty, "empty");
	write_text(empty, "", false);
	expect_refused(CTL("manifest", "load", WHERE, empty), "this is too long, or empty");
	MP_CHECK(!says("not known"), "what was not sent was not done");
	expect_refused(CTL("key", "list", WHERE, "--operator", files[ADA]),
		       "signed by 1 of the 2 operators");
	expect_refused(CTL("key", "list", WHERE, "--operator", files[ADA], "--operator",
			   files[ADA]),
		       "was named before");
	/* Agents are greeted there, and who speaks of other things is cut off. */
	MP_EQ(CTL("key", "list", "--control", rig.stream, "--trust", trust, OPERATORS), 1,
	      "at the address of agents");
	MP_CHECK(says("the conversation was cut off") || says("what answers is no signer"),
		 "it says: %s", mp_read_file(said));
	/* Another image, or another root, is another signer. */
	trust_another(true);
	expect_refused(CTL("key", "list", WHERE, OPERATORS), "an image that is not allowed");
	trust_another(false);
	expect_refused(CTL("key", "list", WHERE, OPERATORS), "is not the pinned root");
	mp_rig_stop(&rig);
}

static void development_key_is_imported(void)
{
	char key[500];

	start(false);
	(void)snprintf(key, sizeof key, "%s/seven.key", rig.keys);
	expect(CTL("key", "import", WHERE, OPERATORS, "--id", "9", key), "id          9");
	expect(CTL("key", "list", WHERE, OPERATORS), "9 0");
	expect_refused(CTL("key", "import", WHERE, OPERATORS, key), "this very key under another id");
	expect(CTL("key", "delete", WHERE, OPERATORS, "--id", "9"), "");
	expect(CTL("key", "import", WHERE, OPERATORS, key), "id          7");
	mp_rig_stop(&rig);
}

static void operators_say_what_policies_need(void)
{
	static const char json[] =
		"{\"sigring_manifest\":1,\"version\":4,\"keys\":[{\"id\":7,\"permit\":["
		"\"hyperliquid/order\"],\"policy\":{\"assets\":[{\"id\":3}]}}]}";
	char key[500];

	start(false);
	(void)snprintf(key, sizeof key, "%s/seven.key", rig.keys);
	expect(CTL("key", "import", WHERE, OPERATORS, key), "id          7");
	sign_and_load(json, "four.json");
	expect(CTL("key", "list", WHERE, OPERATORS), "hedged typed ready");
	expect(CTL("kill", WHERE, OPERATORS), "");
	expect(CTL("kill", WHERE, OPERATORS, "--off"), "");
	expect_refused(CTL("kill", WHERE, "--operator", files[ADA]), "signed by 1 of the 2");
	expect(CTL("lease", WHERE, OPERATORS, "--seconds", "60"), "");
	MP_EQ(CTL("lease", WHERE, OPERATORS), 2, "a lease of no length");
	MP_EQ(CTL("lease", WHERE, OPERATORS, "--seconds", "604801"), 2, "a lease above a week");
	expect(CTL("band", WHERE, OPERATORS, "--id", "7", "--asset", "3", "--min", "90.5", "--max",
		   "unlimited", "--sequence", "2"),
	       "");
	expect_refused(CTL("band", WHERE, OPERATORS, "--id", "7", "--asset", "0x03", "--min", "1",
			   "--max", "2", "--sequence", "2"),
		       "a band of this sequence, or a higher one, was said before");
	expect_refused(CTL("band", WHERE, OPERATORS, "--id", "7", "--asset", "4", "--min", "1",
			   "--max", "2", "--sequence", "3"),
		       "no such asset");
	MP_EQ(CTL("band", WHERE, OPERATORS, "--id", "7", "--asset", "4", "--min", "1", "--max",
		  "2e3", "--sequence", "3"),
	      2, "a price with an exponent");
	expect(CTL("seed", WHERE, OPERATORS, "--id", "7", "--window", "0", "--unexpired", "2.5"),
	       "");
	expect_refused(CTL("seed", WHERE, OPERATORS, "--id", "8", "--window", "0", "--unexpired",
			   "0"),
		       "no policy of this key");
	MP_EQ(CTL("seed", WHERE, OPERATORS, "--id", "7", "--window", "0"), 2, "half a seed");
	MP_EQ(CTL("band", "--help"), 0, "help");
	mp_rig_stop(&rig);
}

static void operators_see_and_drain_a_signer(void)
{
	start(false);
	expect(CTL("enclave", "status", WHERE, OPERATORS), "attested by mock");
	MP_CHECK(says("manifest      none is in force") && says("sessions      0 of 256") &&
			 says("draining      no") && says("drift         ") && says("image         "),
		 "it says: %s", mp_read_file(said));
	expect_refused(CTL("enclave", "status", WHERE, "--operator", files[ADA]),
		       "signed by 1 of the 2");
	expect(CTL("enclave", "drain", WHERE, OPERATORS), "");
	expect(CTL("enclave", "status", WHERE, OPERATORS), "draining      yes");
	expect(CTL("enclave", "drain", WHERE, OPERATORS, "--off"), "");
	expect(CTL("enclave", "status", WHERE, OPERATORS), "draining      no");
	MP_EQ(CTL("enclave", "stop"), 2, "another word");
	MP_EQ(CTL("enclave", "--help"), 0, "help");
	mp_rig_stop(&rig);
}

static const struct mp_test tests[] = {
	{ "vault/operators_see_and_drain_a_signer", operators_see_and_drain_a_signer, 0 },
	{ "vault/straight_at_the_signer", straight_at_the_signer, 0 },
	{ "vault/through_an_agent", through_an_agent, 0 },
	{ "vault/who_is_not_obeyed", who_is_not_obeyed, 0 },
	{ "vault/operators_say_what_policies_need", operators_say_what_policies_need, 0 },
	{ "vault/development_key_is_imported", development_key_is_imported, 0 },
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
