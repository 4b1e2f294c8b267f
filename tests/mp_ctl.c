/* SPDX-License-Identifier: MIT */
/* `sigringctl operator`, `identity` and `manifest`: from new keys to a manifest that
 * a signer would take. No Criterion here: it brings a library that uses OpenSSL, and
 * OpenSSL's heap can be protected only in a process where nobody has. */
#include "mp_common.h"
#include "sr_ctl_manifest.h"
#include "sr_ctl_operator.h"
#include "sr_ctl_policy.h"
#include "sr_hl_body.h"
#include "sr_secret.h"

#define JSON(version)                                                                         \
	"{\"sigring_manifest\":1,\"version\":" version ",\"identities\":[{\"name\":\"mm-1\"," \
	"\"public_key\":\"%s\"}],\"keys\":[{\"id\":7,\"permit\":[\"bip340\"],"                \
	"\"identities\":[\"mm-1\"],\"unsealed_uids\":[1000]},{\"id\":8}]}\n"

static char out[65536];

static void begin(void)
{
	void *mem;
	int ret = sr_secret_alloc(&mem, 1);

	if (ret == -ENOSYS)
		mp_skip("no protected memory here (qemu-user, or Linux before 4.14)");
	MP_EQ(ret, 0, "protected memory");
	sr_secret_free(mem, 1);
	MP_EQ(chdir(mp_dir), 0, "chdir");
}

/* As the program would do it, in a process of its own; what it says goes to `out`. */
static int run(const char *const *words)
{
	int (*command)(int argc, char **argv) = !strcmp(words[0], "policy")   ? sr_ctl_policy :
						!strcmp(words[0], "manifest") ? sr_ctl_manifest :
						!strcmp(words[0], "operator") ? sr_ctl_operator :
										sr_ctl_identity;
	char *argv[20] = { NULL };
	int argc = 0, both[2], status;
	size_t bytes = 0;
	ssize_t got;
	pid_t pid;

	for (; words[argc]; argc++)
		argv[argc] = (char *)(uintptr_t)words[argc];
	MP_EQ(pipe(both), 0, "pipe");
	pid = fork();
	MP_CHECK(pid >= 0, "fork");
	if (pid == 0) {
		if (dup2(both[1], 1) < 0 || dup2(both[1], 2) < 0)
			_exit(99);
		status = command(argc, argv);
		(void)fflush(stdout);
		_exit(status);
	}
	(void)close(both[1]);
	while ((got = read(both[0], out + bytes, sizeof out - 1 - bytes)) > 0)
		bytes += (size_t)got;
	out[bytes] = '\0';
	(void)close(both[0]);
	MP_EQ(waitpid(pid, &status, 0), pid, "the child");
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#define RUN(...) run((const char *const[]){ __VA_ARGS__, NULL })
#define RUNS(code, ...)                                                                       \
	do {                                                                                  \
		int code_ = RUN(__VA_ARGS__);                                                 \
		MP_CHECK(code_ == (code), "line %d: exit code %d: %s", __LINE__, code_, out); \
	} while (0)
#define SAYS(words) \
	MP_CHECK(strstr(out, words), "line %d: \"%s\" is not in: %s", __LINE__, words, out)

__attribute__((format(printf, 2, 3))) static void put_file(const char *name, const char *format,
							   ...)
{
	FILE *file = fopen(name, "w");
	va_list args;

	MP_CHECK(file, "%s", name);
	va_start(args, format);
	MP_CHECK(vfprintf(file, format, args) >= 0, "%s", name);
	va_end(args);
	MP_EQ(fclose(file), 0, name);
}

static void read_text(const char *name, char *into, size_t room)
{
	FILE *file = fopen(name, "r");
	size_t bytes;

	MP_CHECK(file, "%s", name);
	bytes = fread(into, 1, room - 1, file);
	into[bytes] = '\0';
	MP_EQ(fclose(file), 0, name);
}

/* The last line of `out`, which is the public key. */
static void new_pair(const char *noun, const char *name, char digits[65])
{
	RUNS(0, noun, "new", "--out", name);
	MP_CHECK(strlen(out) >= 65, "no key in: %s", out);
	memcpy(digits, out + strlen(out) - 65, 64);
	digits[64] = '\0';
	MP_CHECK(strspn(digits, "0123456789abcdef") == 64, "no key in: %s", out);
}

/* a.op, b.op, c.op; their list in `list`; an identity; m.json of version 7. */
static void new_files(void)
{
	char a[65], b[65], c[65], trader[65];

	new_pair("operator", "a.op", a);
	new_pair("operator", "b.op", b);
	new_pair("operator", "c.op", c);
	new_pair("identity", "t.id", trader);
	put_file("list", "# operators\n%s Ada\n%s Bob\n%s\n", a, b, c);
	put_file("m.json", JSON("7"), trader);
}

static void new_keys_are_private_and_differ(void)
{
	static char printed[sizeof out];
	char a[65], b[65], file[400], *secret;
	struct stat st;

	begin();
	new_pair("operator", "a.op", a);
	memcpy(printed, out, sizeof out);
	new_pair("operator", "b.op", b);
	MP_CHECK(strcmp(a, b) != 0, "two keys are one");
	MP_EQ(stat("a.op", &st), 0, "stat");
	MP_EQ(st.st_mode & 07777, 0600, "the mode");
	read_text("a.op", file, sizeof file);
	MP_CHECK(strstr(file, "sigring-operator 1\npublic ") == file, "%s", file);
	MP_CHECK(strstr(file, a), "the key that was printed is not in the file");
	secret = strstr(file, "secret ") + 7;
	secret[64] = '\0';
	MP_CHECK(!strstr(printed, secret), "the secret was printed");
	RUNS(0, "operator", "public", "b.op", "a.op");
	MP_CHECK(!strncmp(out, b, 64) && !strncmp(out + 65, a, 64), "%s", out);
	RUNS(1, "operator", "new", "--out", "a.op");
	SAYS("never overwritten");
}

static void key_files_that_are_not_right_are_refused(void)
{
	char a[65], file[400], *secret;

	begin();
	new_pair("operator", "a.op", a);
	new_pair("identity", "t.id", a);
	read_text("a.op", file, sizeof file);

	RUNS(1, "identity", "public", "a.op");
	SAYS("a.op: the first line should be: sigring-identity 1");
	RUNS(1, "operator", "public", "t.id");
	SAYS("sigring-operator 1");

	MP_EQ(chmod("a.op", 0640), 0, "chmod");
	RUNS(1, "operator", "public", "a.op");
	SAYS("chmod 600 a.op");
	MP_EQ(chmod("a.op", 0600), 0, "chmod");
	MP_EQ(symlink("a.op", "l.op"), 0, "symlink");
	RUNS(1, "operator", "public", "l.op");
	SAYS("symbolic link");
	RUNS(1, "operator", "public", ".");
	SAYS("no regular file");
	RUNS(1, "operator", "public", "none");
	SAYS("cannot open none");

	put_file("a.op", "%s\n", file);
	RUNS(1, "operator", "public", "a.op");
	SAYS("two, public and secret");
	put_file("a.op", "%.*s", (int)strlen(file) - 1, file);
	RUNS(1, "operator", "public", "a.op");
	SAYS("two, public and secret");
	put_file("a.op", "%s%s", file, file);
	RUNS(1, "operator", "public", "a.op");
	SAYS("longer than a file of its kind");

	secret = strstr(file, "secret ") + 7;
	secret[5] = secret[5] == 'a' ? 'b' : 'a';
	put_file("a.op", "%s", file);
	RUNS(1, "operator", "public", "a.op");
	SAYS("its public key is not that of its secret");
	memset(secret + 5, 'g', 4);
	put_file("a.op", "%s", file);
	RUNS(1, "operator", "public", "a.op");
	SAYS("two, public and secret");
	MP_CHECK(!strstr(out, "gggg"), "a secret in a message");
}

static void signed_by_two_it_is_accepted(void)
{
	static const char hash_word[] = "hash ";
	char hash[65], text[4096], json[2048];

	begin();
	new_files();
	read_text("m.json", json, sizeof json);
	RUNS(0, "manifest", "sign", "--operator", "a.op", "--out", "m1", "m.json");
	SAYS("signed      version 7, hash ");
	SAYS("m1, with 1 signature\n");
	memcpy(hash, strstr(out, hash_word) + 5, 64);
	hash[64] = '\0';
	RUNS(1, "manifest", "check", "--operators", "list", "--k", "2", "m1");
	SAYS("REFUSED: m1: signed by 1 of the 3 operators, and it takes 2");

	RUNS(0, "manifest", "sign", "--operator", "c.op", "m1");
	SAYS("m1, with 2 signatures");
	RUNS(0, "manifest", "check", "--operators", "list", "--k", "2", "m1");
	SAYS("signed by at least 2 of 3 operators");
	SAYS(hash);
	RUNS(1, "manifest", "check", "--operators", "list", "--k", "3", "m1");
	read_text("m1", text, sizeof text);
	MP_CHECK(strstr(text, json), "the manifest was changed");
	read_text("m.json", text, sizeof text);
	MP_CHECK(!strcmp(text, json), "--out changed the other file");
}

static void shown_in_words(void)
{
	begin();
	new_files();
	RUNS(0, "manifest", "show", "m.json");
	SAYS("manifest    version 7, hash ");
	SAYS("signature   none");
	SAYS(" mm-1\n");
	SAYS("key         7\npublic key  not known yet\nnonce       hedged\npermits     bip340\n"
	     "identities  mm-1\nunsealed    uid 1000\n");
	SAYS("key         8\npublic key  not known yet\nnonce       hedged\npermits     nothing\n"
	     "identities  nobody\nunsealed    nobody\n");
	RUNS(0, "manifest", "sign", "--operator", "a.op", "m.json");
	RUNS(0, "manifest", "show", "m.json");
	SAYS(" valid, of whoever has that key\n");
}

static void changed_after_signing_is_neither_shown_as_valid_nor_signed(void)
{
	char text[4096], *at;

	begin();
	new_files();
	RUNS(0, "manifest", "sign", "--operator", "a.op", "m.json");
	read_text("m.json", text, sizeof text);
	at = strstr(text, "\"version\":7");
	at[10] = '8';
	put_file("m.json", "%s", text);
	RUNS(1, "manifest", "show", "m.json");
	SAYS(" INVALID\n");
	RUNS(1, "manifest", "sign", "--operator", "b.op", "m.json");
	SAYS("does not verify");
	RUNS(1, "manifest", "check", "--operators", "list", "--k", "1", "m.json");
	SAYS("REFUSED: m.json: the signature of operator 1 of the list does not verify");
}

static void nothing_is_signed_twice_or_malformed(void)
{
	begin();
	new_files();
	RUNS(0, "manifest", "sign", "--operator", "a.op", "m.json");
	RUNS(1, "manifest", "sign", "--operator", "a.op", "m.json");
	SAYS("has signed it already");
	put_file("x.json", "{\"sigring_manifest\":1,\"version\":7,\n\"policy\":[]}");
	RUNS(1, "manifest", "sign", "--operator", "a.op", "x.json");
	SAYS("x.json: manifest, line 2: field \"policy\" is not known here");
	RUNS(1, "manifest", "sign", "--operator", "t.id", "m.json");
	SAYS("sigring-operator 1");
	RUNS(1, "manifest", "show", "none");
	SAYS("none: No such file");
	MP_EQ(truncate("x.json", 300000), 0, "truncate");
	RUNS(1, "manifest", "show", "x.json");
	SAYS("at most 262144 bytes");
}

static void what_was_read_is_what_is_signed(void)
{
	char hash[65];
	const char *at;

	begin();
	new_files();
	RUNS(0, "manifest", "show", "m.json");
	at = strstr(out, "hash ");
	MP_CHECK(at && strlen(at) > 69, "no hash in: %s", out);
	memcpy(hash, at + 5, 64);
	hash[64] = '\0';
	RUNS(0, "manifest", "sign", "--operator", "a.op", "--hash", hash, "--out", "s.json",
	     "m.json");
	hash[3] = hash[3] == '0' ? '1' : '0';
	RUNS(1, "manifest", "sign", "--operator", "b.op", "--hash", hash, "s.json");
	SAYS("it is not the manifest of that --hash");
}

static void nothing_but_a_manifest_is_overwritten(void)
{
	begin();
	new_files();
	RUNS(1, "manifest", "sign", "--operator", "a.op", "--out", "b.op", "m.json");
	SAYS("b.op: it is something else than a manifest, and is not replaced");
	RUNS(0, "operator", "public", "b.op");
	MP_EQ(symlink("m.json", "link.json"), 0, "symlink");
	RUNS(1, "manifest", "sign", "--operator", "a.op", "link.json");
	SAYS("link.json: it is no regular file, and is not replaced");
	RUNS(0, "manifest", "sign", "--operator", "a.op", "--out", "signed", "m.json");
	RUNS(0, "manifest", "sign", "--operator", "b.op", "--out", "signed", "signed");
}

static void check_knows_what_is_in_force(void)
{
	char t[65];

	begin();
	new_files();
	RUNS(0, "identity", "public", "t.id");
	memcpy(t, out, 64);
	t[64] = '\0';
	put_file("m8.json", JSON("8"), t);
	RUNS(0, "manifest", "sign", "--operator", "a.op", "m.json");
	RUNS(0, "manifest", "sign", "--operator", "b.op", "m8.json");
	RUNS(0, "manifest", "check", "--operators", "list", "--k", "1", "--after", "m.json",
	     "m8.json");
	SAYS("accepted: version 8");
	RUNS(1, "manifest", "check", "--operators", "list", "--k", "1", "--after", "m8.json",
	     "m.json");
	SAYS("REFUSED: m.json: version 7 is below version 8, which is in force");
	RUNS(1, "manifest", "check", "--operators", "list", "--k", "1", "--min-version", "9",
	     "m8.json");
	SAYS("below the minimum, 9");
}

/* ---- policy ---- */

#define TYPED                                                                               \
	"{\"sigring_manifest\":1,\"version\":1,\"keys\":[{\"id\":7,\"permit\":"           \
	"[\"hyperliquid/order\"],\"policy\":{\"networks\":[\"mainnet\"],\"assets\":[{"  \
	"\"id\":1,\"size_decimals\":4,\"size_max\":\"2\",\"price_min\":\"90\","         \
	"\"price_max\":\"110\",\"notional_max\":\"1000\"}],\"reduce_only\":false,"        \
	"\"expiry_max_ms\":\"unlimited\",\"venue_nonce\":\"given\",\"rate\":{"          \
	"\"key_per_s\":1,\"key_burst\":2,\"session_per_s\":1,\"session_burst\":2},"        \
	"\"window\":{\"seconds\":60,\"notional_max\":\"300\"},"                         \
	"\"unexpired_notional_max\":\"unlimited\",\"lease\":true}}]}"

static void put_order(FILE *file, unsigned int key, uint64_t price, uint64_t time_ms)
{
	const struct sr_hl_head head = { 0 };
	const struct sr_hl_order order = {
		.asset = 1, .flags = SR_HL_BUY, .tif = SR_HL_GTC, .price = price * 100000000u,
		.size = 100000000u
	};
	unsigned char body[512];
	int bytes = sr_hl_order_put(body, sizeof body, &head, &order, 1);

	MP_CHECK(bytes > 0, "a body");
	fprintf(file, "{\"key\":%u,\"type\":\"hyperliquid\",\"time_ms\":%llu,\"body\":\"", key,
		(unsigned long long)time_ms);
	for (int i = 0; i < bytes; i++)
		fprintf(file, "%02x", body[i]);
	fprintf(file, "\"}\n");
}

static void put_orders(void)
{
	const uint64_t t = 1700000000000;
	FILE *file = fopen("orders", "w");

	MP_CHECK(file, "orders");
	put_order(file, 7, 100, t);
	put_order(file, 7, 111, t + 1);
	put_order(file, 8, 100, t + 2);
	put_order(file, 7, 101, t + 3);
	fprintf(file, "\n");
	put_order(file, 7, 100, t + 4);
	fprintf(file, "{\"key\":7,\"type\":\"hyperliquid\",\"body\":\"00\",\"time_ms\":%llu}\n",
		(unsigned long long)t + 5);
	fprintf(file, "{\"key\":7,\"type\":\"dydx\",\"body\":\"\",\"time_ms\":%llu}\n",
		(unsigned long long)t + 6);
	put_order(file, 7, 100, t + 5000);
	put_order(file, 7, 100, t + 65000);
	MP_EQ(fclose(file), 0, "orders");
}

static void policy_says_what_a_signer_would(void)
{
	begin();
	put_file("m.json", TYPED);
	put_orders();
	RUNS(1, "policy", "check", "m.json", "orders");
	SAYS("1: key 7 hyperliquid: OK nonce 1700000000000 given notional 100.000000\n"
	     "2: key 7 hyperliquid: DENIED 23 PRICE_BAND: not within the asset's price_min and "
	     "price_max\n"
	     "3: key 8 hyperliquid: DENIED 1 UNKNOWN_KEY: the manifest has no such key\n"
	     "4: key 7 hyperliquid: OK nonce 1700000000003 given notional 101.000000\n"
	     "6: key 7 hyperliquid: DENIED 29 SESSION_RATE: the session has no tokens left: rate\n"
	     "7: key 7 hyperliquid: BAD_REQUEST: this is no body of hyperliquid\n"
	     "8: key 7 dydx: DENIED 2 TYPE_NOT_PERMITTED: permit has no action of this venue\n"
	     "9: key 7 hyperliquid: DENIED 31 WINDOW: more than window allows was signed in it\n"
	     "10: key 7 hyperliquid: OK nonce 1700000065000 given notional 100.000000\n"
	     "3 allowed, 6 refused\n");
	RUNS(1, "policy", "check", "--cold", "m.json", "orders");
	SAYS("1: key 7 hyperliquid: DENIED 28 CLOCK: the nonce leads the time by more than a "
	     "second\n");
	SAYS("9: key 7 hyperliquid: DENIED 31 WINDOW");
	SAYS("10: key 7 hyperliquid: OK");
	RUNS(0, "manifest", "show", "m.json");
	SAYS("permits     hyperliquid/order\n");
}

/* The lines that sigring-replay reads, and a time where it matters. */
static void policy_reads_orders_as_venues_have_them(void)
{
	static const char order[] =
		"{\"venue\":\"hyperliquid\",\"key\":7,%s\"network\":\"%s\",\"action\":{\"type\":"
		"\"order\",\"orders\":[{\"a\":1,\"b\":true,\"p\":\"%s\",\"s\":\"1\",\"r\":false,"
		"\"t\":{\"limit\":{\"tif\":\"Gtc\"}}}],\"grouping\":\"na\"},\"nonce\":0}\n";
	FILE *file;

	begin();
	put_file("m.json", TYPED);
	file = fopen("orders", "we");
	MP_CHECK(file, "orders");
	fprintf(file, order, "\"time_ms\":1700000000000,", "mainnet", "100");
	fprintf(file, order, "\"time_ms\":1700000000001,", "mainnet", "110.5");
	fprintf(file, order, "", "testnet", "100");
	fprintf(file, "{\"venue\":\"hyperliquid\",\"key\":7,\"network\":\"mainnet\",\"action\":{"
		      "\"type\":\"scheduleCancel\"},\"nonce\":0}\n");
	fprintf(file, "{\"venue\":\"eip712\",\"key\":7,\"domain\":{\"name\":\"D\"},\"types\":{\"M\":[{"
		      "\"name\":\"s\",\"type\":\"string\"}]},\"primaryType\":\"M\",\"message\":{"
		      "\"s\":\"x\"}}\n");
	MP_EQ(fclose(file), 0, "orders");
	RUNS(1, "policy", "check", "m.json", "orders");
	SAYS("1: key 7 hyperliquid: OK nonce 1700000000000 given notional 100.000000\n"
	     "2: key 7 hyperliquid: DENIED 23 PRICE_BAND: not within the asset's price_min and "
	     "price_max\n"
	     "3: key 7 hyperliquid: DENIED 10 NETWORK: networks does not have this one\n"
	     "4: key 7 hyperliquid: DENIED 7 ACTION: permit does not have this action, or schemas "
	     "this type, or it is never signed\n"
	     "5: key 7 typed_data: DENIED 2 TYPE_NOT_PERMITTED");
	SAYS("1 allowed, 4 refused\n");
	put_file("m.json", "{\"sigring_manifest\":1,\"version\":1,\"keys\":[{\"id\":7,\"permit\":"
			   "[\"typed_data/message\"]}]}");
	RUNS(1, "policy", "check", "m.json", "orders");
	SAYS("5: key 7 typed_data: BAD_REQUEST: the manifest has no schema of this id");
	put_file("m.json", "{\"sigring_manifest\":1,\"version\":1,\"schemas\":[{\"id\":5,\"kind\":"
			   "\"message\",\"network\":\"testnet\",\"type\":\"M(string s)\",\"domain\":{"
			   "\"name\":\"D\"}}],\"keys\":[{\"id\":7,\"permit\":[\"typed_data/message\"],"
			   "\"policy\":{\"schemas\":[5],\"networks\":[\"testnet\"]}}]}");
	RUNS(0, "manifest", "show", "m.json");
	SAYS("schema      5 message testnet M\n");
	SAYS("permits     typed_data/message\nschemas     5\nidentities  nobody\n");
	put_file("orders", "%s", "{\"scheme\":\"bip340\",\"key\":7,\"message\":\"x\"}\n"
				 "{\"scheme\":\"ecdsa-sha256\",\"key\":7,\"message\":\"x\"}\n");
	put_file("m.json", "{\"sigring_manifest\":1,\"version\":1,\"keys\":[{\"id\":7,\"permit\":"
			   "[\"bip340\"]}]}");
	RUNS(1, "policy", "check", "m.json", "orders");
	SAYS("1: key 7 bip340: OK blind: no policy judges it\n"
	     "2: key 7 ecdsa-sha256: DENIED 2 TYPE_NOT_PERMITTED");
	put_file("orders", "%s", "{\"venue\":\"hyperliquid\",\"key\":7,\"network\":\"moon\"}\n");
	RUNS(1, "policy", "check", "m.json", "orders");
	SAYS("orders:1: network: expected one of");
	put_file("orders", "%s", "{\"venue\":\"hyperliquid\",\"key\":7,\"time_ms\":\"1\"}\n");
	RUNS(1, "policy", "check", "m.json", "orders");
	SAYS("orders:1: time_ms is no time");
}

static void shipped_orders_are_allowed_by_the_shipped_manifest(void)
{
	RUNS(0, "policy", "check", "docs/examples/manifest-development.json",
	     "docs/examples/orders.jsonl");
	SAYS(" allowed, 0 refused\n");
}

/* Whatever a market maker in one future does not need. */
static void shipped_market_maker_quotes_and_does_nothing_else(void)
{
#define HL(network, rest)                                                               \
	"{\"venue\":\"hyperliquid\",\"key\":7,\"network\":\"" network "\",\"nonce\":0," \
	"\"time_ms\":1700000000000,\"action\":{" rest "}\n"
#define EXPIRES "},\"expiresAfter\":1700000010000"
#define QUOTE_AT(network, asset, price, size, type, more)                                \
	HL(network, "\"type\":\"order\",\"orders\":[{\"a\":" asset ",\"b\":true,\"p\":\""  \
		    price "\",\"s\":\"" size "\",\"r\":false,\"t\":{" type "}}]," more)
#define LIMIT "\"limit\":{\"tif\":\"Alo\"}"
#define NA "\"grouping\":\"na\""
	static const struct {
		const char *line, *says;
	} cases[] = {
		{ QUOTE_AT("mainnet", "1", "3500", "2", LIMIT, NA EXPIRES), "OK" },
		{ HL("mainnet", "\"type\":\"cancel\",\"cancels\":[{\"a\":9,\"o\":1}]}"), "OK" },
		{ HL("mainnet", "\"type\":\"scheduleCancel\",\"time\":1700000060000}"), "OK" },
		{ QUOTE_AT("mainnet", "1", "3500", "2", LIMIT, NA "}"), "EXPIRY" },
		{ QUOTE_AT("mainnet", "2", "3500", "2", LIMIT, NA EXPIRES), "ASSET" },
		{ QUOTE_AT("mainnet", "1", "4500.1", "2", LIMIT, NA EXPIRES), "PRICE_BAND" },
		{ QUOTE_AT("mainnet", "1", "3500", "25.1", LIMIT, NA EXPIRES), "SIZE" },
		{ QUOTE_AT("mainnet", "1", "4500", "25", LIMIT, NA EXPIRES), "NOTIONAL" },
		{ QUOTE_AT("mainnet", "1", "3500.12", "2", LIMIT, NA EXPIRES), "VENUE_RULES" },
		{ QUOTE_AT("testnet", "1", "3500", "2", LIMIT, NA EXPIRES), "NETWORK" },
		{ QUOTE_AT("mainnet", "1", "3500", "2", LIMIT, "\"grouping\":{\"p\":1}" EXPIRES),
		  "FEE" },
		{ QUOTE_AT("mainnet", "1", "3500", "2", LIMIT,
			   NA ",\"builder\":{\"b\":\"0x0000000000000000000000000000000000000001\","
			   "\"f\":1}" EXPIRES),
		  "FEE" },
		{ QUOTE_AT("mainnet", "1", "3500", "2", LIMIT,
			   NA EXPIRES
			   ",\"vaultAddress\":\"0x0000000000000000000000000000000000000001\""),
		  "ACCOUNT" },
		{ QUOTE_AT("mainnet", "1", "3500", "2",
			   "\"trigger\":{\"isMarket\":true,\"triggerPx\":\"3500\",\"tpsl\":\"sl\"}",
			   NA EXPIRES),
		  "MARKET_ORDER" },
		{ HL("mainnet", "\"type\":\"updateLeverage\",\"asset\":1,\"isCross\":true,"
				"\"leverage\":2}"),
		  "LEVERAGE" },
		{ HL("mainnet", "\"type\":\"updateIsolatedMargin\",\"asset\":1,\"isBuy\":true,"
				"\"ntli\":1}"),
		  "VALUE" },
		{ HL("mainnet", "\"type\":\"noop\"}"), "ACTION" },
	};
	char *manifest = realpath("docs/examples/manifest-hyperliquid-mm.json", NULL);
	char words[64];

	begin();
	MP_CHECK(manifest, "no manifest");
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		bool ok = !strcmp(cases[i].says, "OK");

		put_file("orders", "%s", cases[i].line);
		RUNS(ok ? 0 : 1, "policy", "check", manifest, "orders");
		(void)snprintf(words, sizeof words, " %s%s", cases[i].says, ok ? " nonce" : ":");
		SAYS(words);
	}
	free(manifest);
}

static void lines_that_are_no_orders_are_named(void)
{
	static const struct {
		const char *line, *words;
	} wrong[] = {
		{ "{", "orders:2: " },
		{ "[]", "orders:2: it is no object" },
		{ "{\"key\":7,\"type\":\"hyperliquid\"}", "key, type and body are needed" },
		{ "{\"key\":0}", "key is no id" },
		{ "{\"key\":7.0}", "key is no id" },
		{ "{\"key\":1,\"key\":2}", "orders:2: " },
		{ "{\"type\":\"bip340\"}", "type is no venue" },
		{ "{\"type\":1}", "type is no venue" },
		{ "{\"body\":\"0\"}", "body is no string" },
		{ "{\"body\":\"0G\"}", "body is no string" },
		{ "{\"body\":1}", "body is no string" },
		{ "{\"time_ms\":1}", "time_ms is no time" },
		{ "{\"time\":1}", "a field that is not" },
		{ "{\"key\":7,\"type\":\"hyperliquid\",\"body\":\"\",\"time_ms\":1600000000000}",
		  "before the one in front" },
	};

	begin();
	put_file("m.json", TYPED);
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		put_file("orders",
			 "{\"key\":7,\"type\":\"hyperliquid\",\"body\":\"\",\"time_ms\":"
			 "1700000000000}\n%s\n",
			 wrong[i].line);
		RUNS(1, "policy", "check", "m.json", "orders");
		SAYS(wrong[i].words);
	}
	put_file("orders", "%20000d", 1);
	RUNS(1, "policy", "check", "m.json", "orders");
	SAYS("too long");
	RUNS(1, "policy", "check", "m.json", "nowhere");
	SAYS("nowhere: No such file");
	RUNS(1, "policy", "check", "nowhere", "orders");
	put_file("m.json", "{\"sigring_manifest\":1,\"version\":1,\"keys\":[{\"id\":7,"
			   "\"policy\":{\"assets\":[{\"id\":1,\"size_max\":2}]}}]}");
	RUNS(1, "policy", "check", "m.json", "orders");
	SAYS("m.json: manifest, line 1: a string in \" is expected, at "
	     "keys[0].policy.assets[0].size_max");
	put_file("m.json", TYPED);
	put_file("orders", "%s", "");
	RUNS(0, "policy", "check", "m.json", "orders");
	SAYS("0 allowed, 0 refused");
}

static void called_wrongly_says_so_with_exit_code_2(void)
{
	static const char *const nouns[] = { "operator", "identity", "manifest", "policy" };

	begin();
	RUNS(2, "policy", "check", "m.json");
	RUNS(2, "policy", "check", "--warm", "m.json", "orders");
	for (int i = 0; i < 4; i++) {
		RUNS(2, nouns[i]);
		SAYS("usage:");
		RUNS(2, nouns[i], "frob");
		RUNS(0, nouns[i], "--help");
		SAYS("usage:");
	}
	RUNS(2, "operator", "new");
	SAYS("--out is missing");
	RUNS(2, "operator", "new", "--out");
	RUNS(2, "operator", "new", "--out", "a", "b");
	RUNS(2, "operator", "new", "--secret", "a");
	RUNS(2, "operator", "public");
	RUNS(2, "operator", "public", "--all");
	RUNS(2, "manifest", "show");
	RUNS(2, "manifest", "show", "--k", "2", "m");
	SAYS("unknown option");
	RUNS(2, "manifest", "sign", "m");
	SAYS("--operator is missing");
	RUNS(2, "manifest", "check", "--operators", "list", "m");
	SAYS("are both needed");
	RUNS(2, "manifest", "check", "--operators", "list", "--k", "0", "m");
	RUNS(2, "manifest", "check", "--operators", "list", "--k", "17", "m");
	RUNS(2, "manifest", "check", "--operators", "list", "--k", "-1", "m");
	RUNS(2, "manifest", "check", "--operators", "list", "--k", "1", "--min-version", "0", "m");
	SAYS("wants a version, 1 or more");
	RUNS(2, "manifest", "check", "--min-version", "9007199254740992", "m");
}

static const struct mp_test tests[] = {
	{ "ctl/new_keys_are_private_and_differ", new_keys_are_private_and_differ, 0 },
	{ "ctl/key_files_that_are_not_right_are_refused", key_files_that_are_not_right_are_refused,
	  0 },
	{ "ctl/signed_by_two_it_is_accepted", signed_by_two_it_is_accepted, 0 },
	{ "ctl/shown_in_words", shown_in_words, 0 },
	{ "ctl/changed_after_signing_is_neither_shown_as_valid_nor_signed",
	  changed_after_signing_is_neither_shown_as_valid_nor_signed, 0 },
	{ "ctl/nothing_is_signed_twice_or_malformed", nothing_is_signed_twice_or_malformed, 0 },
	{ "ctl/what_was_read_is_what_is_signed", what_was_read_is_what_is_signed, 0 },
	{ "ctl/nothing_but_a_manifest_is_overwritten", nothing_but_a_manifest_is_overwritten, 0 },
	{ "ctl/check_knows_what_is_in_force", check_knows_what_is_in_force, 0 },
	{ "ctl/policy_says_what_a_signer_would", policy_says_what_a_signer_would, 0 },
	{ "ctl/policy_reads_orders_as_venues_have_them", policy_reads_orders_as_venues_have_them, 0 },
	{ "ctl/shipped_orders_are_allowed_by_the_shipped_manifest",
	  shipped_orders_are_allowed_by_the_shipped_manifest, 0 },
	{ "ctl/shipped_market_maker_quotes_and_does_nothing_else",
	  shipped_market_maker_quotes_and_does_nothing_else, 0 },
	{ "ctl/lines_that_are_no_orders_are_named", lines_that_are_no_orders_are_named, 0 },
	{ "ctl/called_wrongly_says_so_with_exit_code_2", called_wrongly_says_so_with_exit_code_2,
	  0 },
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
