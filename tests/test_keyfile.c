/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "signer_rig.h"
#include "sr_ctl_key.h"
#include "sr_hex.h"
#include "sr_keyfile.h"

#define SECRET "2A2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a"
#define PUBLIC "035be5e9478209674a96e60f1f037f6176540fd001fa1d64694770c56a7709c42c"
#define HEAD "sigring-key 1\nid 7\npermit ecdsa-sha256,bip340\nuid 1000\nuid 0\n"
#define GOOD HEAD "secret " SECRET "\n"

static struct sr_curve *curve;
static struct sr_keyring *ring;
static struct sr_keyfile_error why;
static char dir[256], path[300];

static void begin(void)
{
	static const unsigned char seed[32] = { 3 };
	const char *base = getenv("TMPDIR");

	rig_need_secret_memory();
	cr_assert_eq(sr_curve_new(&curve, seed), 0);
	cr_assert_eq(sr_keyring_new(&ring), 0);
	(void)snprintf(dir, sizeof dir, "%.200s/sigring-key-XXXXXX", base ? base : P_tmpdir);
	cr_assert(mkdtemp(dir));
	(void)snprintf(path, sizeof path, "%s/1.key", dir);
}

static void end(void)
{
	char command[400];

	sr_keyring_delete(ring);
	sr_curve_delete(curve);
	(void)snprintf(command, sizeof command, "rm -rf '%s'", dir);
	cr_assert_eq(system(command), 0);
}

TestSuite(keyfile, .init = begin, .fini = end);

static void put_file(const char *name, const char *text, mode_t mode)
{
	FILE *file = fopen(name, "w");

	cr_assert(file);
	cr_assert_geq(fputs(text, file), 0);
	cr_assert_eq(fclose(file), 0);
	cr_assert_eq(chmod(name, mode), 0);
}

static int load_text(const char *text)
{
	put_file(path, text, 0600);
	return sr_keyfile_load(ring, curve, path, &why);
}

static void check_refused(const char *text, const char *words)
{
	int ret;

	why.text[0] = '\0';
	ret = load_text(text);
	cr_assert_eq(ret, -EBADMSG, "%s: %s", words, ret ? why.text : "was taken");
	cr_assert(strstr(why.text, words), "\"%s\" is not in \"%s\"", words, why.text);
	cr_assert(strstr(why.text, path));
	cr_assert_not(strstr(why.text, "2a2a"), "a secret in a message");
	cr_assert_eq(sr_keyring_count(ring), 0);
}

Test(keyfile, key_is_loaded_with_what_it_may_do)
{
	const struct sr_key_info *info;
	unsigned char pubkey[33];

	rig_unhex(pubkey, PUBLIC);
	cr_assert_eq(load_text("sigring-key 1\n# a comment\n\nuid 1000\nsecret " SECRET
			       "\nnonce rfc6979\nid 4294967295\npermit bip340,ecdsa-digest\nuid 0"),
		     0, "%s", why.text);
	info = sr_keyring_info(ring, 0);
	cr_assert_eq(info->id, UINT32_MAX);
	cr_assert_eq(info->permissions, 1u << SR_BIP340 | 1u << SR_ECDSA_DIGEST);
	cr_assert_eq(info->nonce_mode, SR_NONCE_RFC6979);
	cr_assert(info->uid_count == 2 && info->uids[0] == 1000 && info->uids[1] == 0);
	cr_assert_not(info->any_uid);
	cr_assert_arr_eq(info->pubkey, pubkey, sizeof pubkey);
}

Test(keyfile, secret_may_be_the_last_line_without_a_newline)
{
	cr_assert_eq(load_text(HEAD "secret " SECRET), 0, "%s", why.text);
	cr_assert_eq(sr_keyring_info(ring, 0)->nonce_mode, SR_NONCE_HEDGED, "the default");
}

Test(keyfile, wrong_lines_are_named_by_file_and_line)
{
	static const struct {
		const char *text, *words;
	} wrong[] = {
		{ "", "is empty" },
		{ "# nothing\n", "is empty" },
		{ "id 7\n", ":1: the first line should be: sigring-key 1" },
		{ "sigring-key 2\n", ":1: this version" },
		{ "sigring-key 1\nsigring-key 1\n", ":2: this line is repeated" },
		{ "sigring-key 1\n\nid 0\n", ":3: id wants" },
		{ "sigring-key 1\nid 4294967296\n", ":2: id wants" },
		{ "sigring-key 1\nid 07\n", ":2: id wants" },
		{ "sigring-key 1\nid -7\n", ":2: id wants" },
		{ "sigring-key 1\nid 7 \n", ":2: id wants" },
		{ "sigring-key 1\nid\n", ":2: unknown line" },
		{ "sigring-key 1\n id 7\n", ":2: unknown line" },
		{ GOOD "id 8\n", ":7: this line is repeated" },
		{ GOOD "secret " SECRET "\n", ":7: this line is repeated" },
		{ GOOD "permit bip340\n", ":7: this line is repeated" },
		{ GOOD "limit 4\n", ":7: unknown line" },
		{ GOOD SECRET "\n", ":7: unknown line" },
		{ GOOD "nonce random\n", ":7: nonce wants" },
		{ GOOD "uid any\n", ":7: uid any stands alone" },
		{ GOOD "uid 1000\n", ":7: this uid is repeated" },
		{ GOOD "uid root\n", ":7: uid wants" },
		{ "sigring-key 1\nuid any\nuid 4\n", ":3: uid any stands alone" },
		{ "sigring-key 1\nuid any\nuid any\n", ":3: uid any stands alone" },
		{ "sigring-key 1\npermit \n", ":2: permit wants" },
		{ "sigring-key 1\npermit bip340,\n", ":2: permit wants" },
		{ "sigring-key 1\npermit bip340,bip340\n", ":2: permit wants" },
		{ "sigring-key 1\npermit all\n", ":2: permit wants" },
		{ HEAD "secret 2a\n", ":6: secret wants 64" },
		{ HEAD "secret " SECRET "00\n", ":6: secret wants 64" },
		{ HEAD "secret 0x" SECRET "\n", ":6: secret wants 64" },
		{ HEAD "secret  " SECRET "\n", ":6: secret wants 64" },
		{ HEAD, "has no secret line" },
		{ "sigring-key 1\npermit bip340\nuid 1\nsecret " SECRET "\n", "has no id line" },
		{ "sigring-key 1\nid 1\nuid 1\nsecret " SECRET "\n", "has no permit line" },
		{ "sigring-key 1\nid 1\npermit bip340\nsecret " SECRET "\n", "has no uid line" },
		{ "sigring-key 1\nuid 1\nuid 2\nuid 3\nuid 4\nuid 5\nuid 6\nuid 7\nuid 8\nuid 9\n",
		  ":10: a key has at most 8" },
	};
	char zero[] = HEAD "secret " SECRET "\n";

	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
		check_refused(wrong[i].text, wrong[i].words);
	memset(strstr(zero, SECRET), '0', 64);
	check_refused(zero, "0 or not below");
}

Test(keyfile, each_digit_of_the_secret_is_checked)
{
	char text[] = GOOD;
	char *digits = strstr(text, SECRET);

	for (size_t i = 0; i < 64; i++) {
		static const char wrong[] = "/:@G`g \n\x7f\x80\xff";

		for (size_t w = 0; w < sizeof wrong - 1; w++) {
			digits[i] = wrong[w];
			check_refused(text, ":6: secret wants 64");
		}
		digits[i] = SECRET[i];
	}
}

Test(keyfile, all_digits_are_decoded)
{
	static const char digits[] = "0123456789abcdefABCDEF0123456789"
				     "00112233445566778899aAbBcCdDeEfF";
	unsigned char out[32], want[32];

	rig_unhex(want, digits);
	cr_assert_eq(sr_unhex_secret(out, digits), 0);
	cr_assert_arr_eq(out, want, sizeof want);
}

Test(keyfile, file_that_others_may_read_is_refused_with_the_command)
{
	static const mode_t wrong[] = { 0640, 0604, 0620, 0602, 0700, 0666, 01600 };
	char words[400];

	(void)snprintf(words, sizeof words, "chmod 600 %s", path);
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		put_file(path, GOOD, wrong[i]);
		cr_assert_eq(sr_keyfile_load(ring, curve, path, &why), -EACCES, "%o", wrong[i]);
		cr_assert(strstr(why.text, words), "%s", why.text);
	}
	cr_assert_eq(chmod(path, 0400), 0);
	cr_assert_eq(sr_keyfile_load(ring, curve, path, &why), 0, "%s", why.text);
}

Test(keyfile, links_directories_fifos_and_nothing_are_refused)
{
	char other[310];

	cr_assert_eq(sr_keyfile_load(ring, curve, path, &why), -ENOENT);
	cr_assert(strstr(why.text, "cannot open"));
	(void)snprintf(other, sizeof other, "%s/link", dir);
	put_file(path, GOOD, 0600);
	cr_assert_eq(symlink(path, other), 0);
	cr_assert_eq(sr_keyfile_load(ring, curve, other, &why), -EACCES);
	cr_assert(strstr(why.text, "symbolic link"));
	cr_assert_eq(sr_keyfile_load(ring, curve, dir, &why), -EACCES);
	cr_assert(strstr(why.text, "no regular file"));
	(void)snprintf(other, sizeof other, "%s/fifo", dir);
	cr_assert_eq(mkfifo(other, 0600), 0);
	cr_assert_eq(sr_keyfile_load(ring, curve, other, &why), -EACCES);
	cr_assert(strstr(why.text, "no regular file"));
}

Test(keyfile, file_of_another_user_is_refused)
{
	put_file(path, GOOD, 0600);
	if (geteuid() != 0 || chown(path, 65534, 65534))
		cr_skip_test("only root can give a file away");
	cr_assert_eq(sr_keyfile_load(ring, curve, path, &why), -EACCES);
	cr_assert(strstr(why.text, "chown it to user 0"), "%s", why.text);
}

Test(keyfile, too_long_a_file_is_refused)
{
	char text[SR_KEYFILE_BYTES_MAX + 2];

	memset(text, '\n', sizeof text);
	memcpy(text, GOOD, sizeof GOOD - 1);
	text[sizeof text - 1] = '\0';
	cr_assert_eq(load_text(text), -EBADMSG);
	cr_assert(strstr(why.text, "longer"), "%s", why.text);
	text[SR_KEYFILE_BYTES_MAX] = '\0';
	cr_assert_eq(load_text(text), 0, "%s", why.text);
}

Test(keyfile, directory_is_loaded_in_order_of_names)
{
	char name[300];

	cr_assert_eq(sr_keyfile_load_dir(ring, curve, dir, &why), -ENOENT);
	cr_assert(strstr(why.text, "sigringctl key new"));
	put_file(path, "sigring-key 1\nid 5\nuid any\npermit bip340\nsecret " SECRET "\n", 0600);
	(void)snprintf(name, sizeof name, "%s/0.key", dir);
	put_file(name, GOOD, 0600);
	(void)snprintf(name, sizeof name, "%s/readme", dir);
	put_file(name, "no key", 0644);
	(void)snprintf(name, sizeof name, "%s/.hidden.key", dir);
	put_file(name, "no key", 0644);
	cr_assert_eq(sr_keyfile_load_dir(ring, curve, dir, &why), 2, "%s", why.text);
	cr_assert_eq(sr_keyring_info(ring, 0)->id, 7);
	cr_assert_eq(sr_keyring_info(ring, 1)->id, 5);

	cr_assert_eq(sr_keyfile_load_dir(ring, curve, dir, &why), -EEXIST);
	cr_assert(strstr(why.text, "key 7 is loaded already"), "%s", why.text);
	cr_assert_eq(sr_keyfile_load_dir(ring, curve, path, &why), -ENOTDIR);
}

Test(keyfile, written_file_loads_again_and_is_never_overwritten)
{
	struct sr_key_info info = { .id = 3,
				    .permissions = RIG_ALL_TYPES,
				    .nonce_mode = SR_NONCE_RFC6979,
				    .uid_count = 2,
				    .uids = { 5, UINT32_MAX } };
	unsigned char seckey[32], kept[32];
	const struct sr_key_info *found;
	struct stat st;

	for (unsigned int i = 0; i < 32; i++)
		seckey[i] = (unsigned char)(0xfe - 7 * i);
	memcpy(kept, seckey, 32);
	(void)umask(0);
	cr_assert_eq(sr_keyfile_write(path, &info, seckey, &why), 0, "%s", why.text);
	cr_assert_arr_eq(seckey, kept, 32, "it stays the caller's");
	cr_assert_eq(stat(path, &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0600);
	cr_assert_eq(sr_keyfile_write(path, &info, seckey, &why), -EEXIST);
	cr_assert(strstr(why.text, "never overwritten"));

	cr_assert_eq(sr_keyfile_load(ring, curve, path, &why), 0, "%s", why.text);
	found = sr_keyring_info(ring, 0);
	cr_assert(found->id == 3 && found->permissions == RIG_ALL_TYPES);
	cr_assert(found->nonce_mode == SR_NONCE_RFC6979 && found->uid_count == 2);
	cr_assert(found->uids[0] == 5 && found->uids[1] == UINT32_MAX);
	cr_assert_arr_eq(sr_keyring_secret(ring, 0), kept, 32);

	cr_assert_eq(sr_keyfile_write("/nonexistent/directory/k", &info, seckey, &why), -ENOENT);
}

/* Runs `sigringctl key ...` in a child; its stdout and stderr together. */
static int run(char *out, size_t room, const char *input, const char *const *words)
{
	char *argv[16] = { (char *)(uintptr_t) "key" };
	int in[2], both[2], argc = 1, status;
	size_t bytes = 0;
	ssize_t got;
	pid_t pid;

	for (; words[argc - 1]; argc++)
		argv[argc] = (char *)(uintptr_t)words[argc - 1];
	cr_assert(pipe(in) == 0 && pipe(both) == 0);
	cr_assert_eq(write(in[1], input, strlen(input)), (ssize_t)strlen(input));
	(void)close(in[1]);
	pid = fork();
	cr_assert(pid >= 0);
	if (pid == 0) {
		if (chdir(dir) || dup2(in[0], 0) < 0 || dup2(both[1], 1) < 0 ||
		    dup2(both[1], 2) < 0)
			_exit(99);
		status = sr_ctl_key(argc, argv);
		(void)fflush(stdout);
		_exit(status);
	}
	(void)close(in[0]);
	(void)close(both[1]);
	while ((got = read(both[0], out + bytes, room - 1 - bytes)) > 0)
		bytes += (size_t)got;
	out[bytes] = '\0';
	(void)close(both[0]);
	cr_assert(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#define RUN(input, ...) run(out, sizeof out, input, (const char *const[]){ __VA_ARGS__, NULL })

Test(keyfile, ctl_generates_keys_that_differ)
{
	char out[4096], name[300];

	cr_assert_eq(RUN("", "new", "--id", "4", "--permit", "bip340"), 0, "%s", out);
	cr_assert_eq(RUN("", "new", "--id", "5", "--permit", "bip340", "--out", "b.key"), 0);
	cr_assert(strstr(out, "id          5"), "%s", out);
	cr_assert(strstr(out, "address     0x"));
	(void)snprintf(name, sizeof name, "%s/key-4.key", dir);
	cr_assert_eq(sr_keyfile_load(ring, curve, name, &why), 0, "%s", why.text);
	(void)snprintf(name, sizeof name, "%s/b.key", dir);
	cr_assert_eq(sr_keyfile_load(ring, curve, name, &why), 0, "%s", why.text);
	cr_assert_eq(sr_keyring_info(ring, 0)->uids[0], getuid(), "the caller alone");
	cr_assert_eq(sr_keyring_info(ring, 0)->uid_count, 1);
	cr_assert_neq(memcmp(sr_keyring_secret(ring, 0), sr_keyring_secret(ring, 1), 32), 0);
	cr_assert_eq(RUN("", "new", "--id", "4", "--permit", "bip340"), 1);
	cr_assert(strstr(out, "never overwritten"), "%s", out);
}

Test(keyfile, ctl_imports_from_standard_input_alone)
{
	char out[4096];

	cr_assert_eq(RUN(SECRET "\n", "new", "--import", "--id", "4", "--permit", "bip340,ecdsa-sha256",
			 "--uid", "7", "--uid", "8", "--nonce", "rfc6979"),
		     0, "%s", out);
	cr_assert(strstr(out, PUBLIC), "%s", out);
	cr_assert_not(strstr(out, "2a2a2a"), "a secret in the output");
	cr_assert_eq(RUN(SECRET, "new", "--import", "--id", "5", "--permit", "bip340"), 0);
	cr_assert_eq(RUN(SECRET "0", "new", "--import", "--id", "6", "--permit", "bip340"), 1);
	cr_assert_eq(RUN("0x" SECRET, "new", "--import", "--id", "6", "--permit", "bip340"), 1);
	cr_assert_eq(RUN("", "new", "--import", "--id", "6", "--permit", "bip340"), 1);
	cr_assert(strstr(out, "64 hexadecimal digits"), "%s", out);
	cr_assert_eq(RUN("", "new", "--import", "--id", "6", "--permit", "bip340", SECRET), 2);
	cr_assert(strstr(out, "never from an argument"), "%s", out);
}

Test(keyfile, ctl_shows_everything_but_the_secret)
{
	char out[4096];

	put_file(path, GOOD, 0600);
	cr_assert_eq(RUN("", "show", "1.key"), 0, "%s", out);
	cr_assert(strstr(out, PUBLIC) && strstr(out, "ecdsa-sha256,bip340"));
	cr_assert(strstr(out, "users       1000 0"));
	cr_assert_not(strstr(out, "2a2a2a"));
	cr_assert_eq(RUN("", "show", "--json", "1.key"), 0);
	cr_assert(strstr(out, "{\"id\":7,\"public_key\":\"" PUBLIC "\",\"address\":\"0x"));
	cr_assert(strstr(out, "\"nonce\":\"hedged\",\"permit\":[\"ecdsa-sha256\",\"bip340\"],"
			      "\"any_uid\":false,\"uids\":[1000,0]}\n"),
		  "%s", out);
	cr_assert_not(strstr(out, "2a2a2a"));
	cr_assert_eq(RUN("", "public", "1.key", "1.key"), 0);
	cr_assert_str_eq(out, "7 " PUBLIC "\n7 " PUBLIC "\n");
	cr_assert_eq(RUN("", "public", "1.key", "2.key"), 1);
	cr_assert_eq(chmod(path, 0644), 0);
	cr_assert_eq(RUN("", "show", "1.key"), 1);
	cr_assert(strstr(out, "chmod 600 1.key"), "%s", out);
}

/* The address of the key 1, in the mixed case of ERC-55, is widely known. */
Test(keyfile, ctl_shows_addresses_as_wallets_do)
{
	char out[4096];

	cr_assert_eq(RUN("0000000000000000000000000000000000000000000000000000000000000001",
			 "new", "--import", "--id", "1", "--permit", "bip340"),
		     0);
	cr_assert(strstr(out, "0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf"), "%s", out);
}

Test(keyfile, ctl_called_wrongly_says_so_with_exit_code_2)
{
	char out[4096];

	cr_assert_eq(run(out, sizeof out, "", (const char *const[]){ NULL }), 2);
	cr_assert(strstr(out, "usage:") && strstr(out, "new --id N"));
	cr_assert_eq(RUN("", "frob"), 2);
	cr_assert_eq(RUN("", "--help"), 0);
	cr_assert_eq(RUN("", "show"), 2);
	cr_assert_eq(RUN("", "show", "--xml", "f"), 2);
	cr_assert_eq(RUN("", "public"), 2);
	cr_assert_eq(RUN("", "new", "--permit", "bip340"), 2);
	cr_assert(strstr(out, "--id is missing"));
	cr_assert_eq(RUN("", "new", "--id", "1"), 2);
	cr_assert(strstr(out, "--permit is missing"));
	cr_assert_eq(RUN("", "new", "--id"), 2);
	cr_assert_eq(RUN("", "new", "--id", "x"), 2);
	cr_assert_eq(RUN("", "new", "--id", "1", "--permit", "everything"), 2);
	cr_assert_eq(RUN("", "new", "--id", "1", "--permit", "bip340", "--uid", "me"), 2);
	cr_assert_eq(RUN("", "new", "--id", "1", "--permit", "bip340", "--uid", "1", "--uid",
			 "any"),
		     2);
	cr_assert_eq(RUN("", "new", "--id", "1", "--permit", "bip340", "--nonce", "4"), 2);
	cr_assert_eq(RUN("", "new", "--id", "1", "--secret", "00"), 2);
}
