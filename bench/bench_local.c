/* SPDX-License-Identifier: MIT */
/*
 * bench_local - a signature from sigring-local against one made in-process.
 *
 * Starts a sigring-local of its own on the second CPU, with two keys made for the run
 * in a private directory, and alternates on the first CPU between orders through
 * the ring, one in flight, for each key, and bare signatures: SHA-256 by OpenSSL and
 * secp256k1_ecdsa_sign(), nothing else. The sides of a ratio so differ in the
 * whole of sigring: two hops, the copies, the checks, the nonce, the wiping.
 *
 * One key signs from a pool, which is filled before the run and holds enough for
 * all of it: nothing is refilled meanwhile, and a run in which the pool was dry once
 * has no result. After the run one signature of each round is verified by OpenSSL.
 */
#include <fcntl.h>
#include <spawn.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <openssl/sha.h>
#include <secp256k1.h>

#include "sigring.h"
#include "sr_bench.h"
#include "sr_histogram.h"
#include "sr_verify.h"

#define MESSAGE_BYTES 256u
#define SIGNATURES 500u /* of each kind in a round */
#define SIGNATURES_TEST 8u
#define READY_NS (30ull * SR_NS_PER_S) /* a pool has to be filled */
#define POOL_SLOTS_MIN 16u

enum row { ROW_PRESIGNED, ROW_HEDGED, ROW_BARE, ROWS };
#define KEYS 2u /* the row and the key's id less 1 are one number */

struct proof {
	enum row row;
	unsigned char message[MESSAGE_BYTES];
	struct sr_completion completion;
};

static struct {
	char dir[64];
	char keys[80];
	char key_files[KEYS][96];
	char socket[80];
	char log[80];
	char bin[3800];
	struct sr_client *client;
	struct sr_session *session;
	secp256k1_context *curve;
	unsigned char seckey[32];
	unsigned char pubkeys[KEYS][33];
	unsigned char message[MESSAGE_BYTES];
	struct sr_histogram samples[ROWS];
	struct proof *proofs;
	uint32_t proof_count;
	uint32_t proof_room;
} run;

static uint64_t number;

/* ---- one signature of either kind ---- */

static int ring_once(enum row row, struct sr_completion *completion)
{
	struct sr_request request = {
		.key = (uint32_t)row + 1,
		.type = SR_ECDSA_SHA256,
		.body_bytes = MESSAGE_BYTES,
		.body = run.message,
		.user_data = number,
	};
	int ret = sr_submit(run.session, &request);

	if (ret < 0)
		return ret;
	while ((ret = sr_poll(run.session, completion, 1)) == 0)
		;
	if (ret < 0)
		return ret;
	return completion->status == SR_OK && completion->user_data == number ? 0 : -EBADMSG;
}

static int bare_once(secp256k1_ecdsa_signature *signature)
{
	unsigned char digest[32];

	(void)SHA256(run.message, sizeof run.message, digest);
	return secp256k1_ecdsa_sign(run.curve, signature, digest, run.seckey, NULL, NULL) ?
		       0 : -EIO;
}

static int measure(struct sr_bench *b, uint32_t at)
{
	struct sr_bench_row *row = &b->rows[at];
	uint32_t count = b->selftest ? SIGNATURES_TEST : SIGNATURES;
	double values[SIGNATURES];
	secp256k1_ecdsa_signature bare;
	struct sr_completion completion;
	int ret = 0;

	for (uint32_t i = 0; i < count && ret == 0; i++) {
		uint64_t start_ns, took_ns;

		sr_put64(run.message, ++number);
		start_ns = sr_now_ns();
		ret = at == ROW_BARE ? bare_once(&bare) : ring_once((enum row)at, &completion);
		if (b->delay_row == (int)at)
			sr_bench_spin(b->delay_ns);
		took_ns = sr_now_ns() - start_ns;
		values[i] = (double)took_ns;
		(void)!sr_histogram_add(&run.samples[at], took_ns);
	}
	if (ret < 0)
		return ret;
	row->now = sr_bench_rank(values, count, SR_BENCH_SHARE_ALL / 2);
	row->best = values[0];
	row->tree = sr_bench_tree(at == ROW_BARE ? getpid() : b->peer);
	if (at != ROW_BARE && run.proof_count < run.proof_room) {
		struct proof *p = &run.proofs[run.proof_count++];

		p->row = (enum row)at;
		memcpy(p->message, run.message, sizeof p->message);
		p->completion = completion;
	}
	return 0;
}

static int verify(const struct sr_bench *b)
{
	struct sr_verifier *verifier;
	int ret = sr_verifier_new(&verifier);

	for (uint32_t i = 0; i < run.proof_count && ret == 0; i++)
		ret = sr_verify_signature(verifier, run.pubkeys[run.proofs[i].row], SR_ECDSA_SHA256,
					  run.proofs[i].message, MESSAGE_BYTES,
					  run.proofs[i].completion.signature,
					  run.proofs[i].completion.recovery_id);
	if (ret < 0)
		(void)fprintf(stderr, "%s: a signature does not verify: %s\n", b->name,
			      strerror(-ret));
	sr_verifier_delete(verifier);
	return ret;
}

/* ---- sigring-local ---- */

/* $SIGRING_BIN, else the folder above this program's. */
static int find_programs(struct sr_reason *why)
{
	const char *given = getenv("SIGRING_BIN");
	char path[sizeof run.bin + sizeof "/sigring-local"];
	ssize_t n;

	if (given) {
		(void)snprintf(run.bin, sizeof run.bin, "%s", given);
	} else {
		n = readlink("/proc/self/exe", run.bin, sizeof run.bin - 1);
		run.bin[n > 0 ? n : 0] = '\0';
		for (int up = 0; up < 2 && strrchr(run.bin, '/'); up++)
			*strrchr(run.bin, '/') = '\0';
	}
	(void)snprintf(path, sizeof path, "%s/sigring-local", run.bin);
	if (access(path, X_OK) < 0)
		return sr_reason_set(why, -ENOENT, "no sigring-local in %.100s: build it, or name "
				     "its folder in SIGRING_BIN", run.bin);
	return 0;
}

/* Starts a program of ours. With @to_text its output comes back there. */
static pid_t start(const char *name, char *const argv[], char *to_text, size_t room)
{
	char path[sizeof run.bin + 64];
	int fds[2] = { -1, -1 };
	size_t bytes = 0;
	ssize_t n;
	pid_t pid;

	(void)snprintf(path, sizeof path, "%s/%s", run.bin, name);
	if (to_text && pipe2(fds, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		int log = open(run.log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

		sr_bench_child();
		if (log < 0 || dup2(log, STDERR_FILENO) < 0 ||
		    dup2(to_text ? fds[1] : log, STDOUT_FILENO) < 0)
			_exit(127);
		(void)execv(path, argv);
		_exit(127);
	}
	if (to_text) {
		(void)close(fds[1]);
		while (bytes < room - 1 && (n = read(fds[0], to_text + bytes, room - 1 - bytes)) > 0)
			bytes += (size_t)n;
		to_text[bytes] = '\0';
		(void)close(fds[0]);
	}
	return pid;
}

static int finish(pid_t pid)
{
	int status;

	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 0 ? 0 : -ECHILD;
}

static int nibble(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A line `ID HEX`. */
static int parse_public(unsigned char pubkey[33], const char *line)
{
	const char *hex = strchr(line, ' ');

	if (!hex || strlen(hex + 1) < 2 * 33)
		return -EPROTO;
	for (size_t i = 0; i < 33; i++) {
		int high = nibble(hex[1 + 2 * i]), low = nibble(hex[2 + 2 * i]);

		if (high < 0 || low < 0)
			return -EPROTO;
		pubkey[i] = (unsigned char)(high << 4 | low);
	}
	return 0;
}

static int make_key(enum row row)
{
	char *file = run.key_files[row], *mode = row == ROW_PRESIGNED ? "presign" : "hedged";
	char id[8], text[256] = "";
	char *const generate[] = { "sigringctl", "key", "new", "--id", id, "--permit",
				   "ecdsa-sha256", "--nonce", mode, "--out", file, NULL };
	char *const show[] = { "sigringctl", "key", "public", file, NULL };

	(void)snprintf(id, sizeof id, "%u", (unsigned int)row + 1);
	(void)snprintf(file, sizeof run.key_files[row], "%s/%s.key", run.keys, id);
	if (finish(start("sigringctl", generate, NULL, 0)) < 0 ||
	    finish(start("sigringctl", show, text, sizeof text)) < 0)
		return -EIO;
	return parse_public(run.pubkeys[row], text);
}

static int make_keys(struct sr_reason *why)
{
	int ret = sr_bench_folder(run.dir, sizeof run.dir, why);

	if (ret < 0)
		return ret;
	(void)snprintf(run.keys, sizeof run.keys, "%s/keys", run.dir);
	(void)snprintf(run.socket, sizeof run.socket, "%s/agent.sock", run.dir);
	(void)snprintf(run.log, sizeof run.log, "%s/log", run.dir);
	if (mkdir(run.keys, 0700) < 0 || make_key(ROW_PRESIGNED) < 0 || make_key(ROW_HEDGED) < 0)
		return sr_reason_set(why, -EIO, "sigringctl could not make a key");
	return 0;
}

/* Presignatures for all rounds, those that will be thrown away too. */
static uint32_t pool_slots(const struct sr_bench *b)
{
	uint64_t wanted = b->selftest ? 64 * SIGNATURES_TEST :
					(uint64_t)b->rounds * SR_BENCH_TRIES * SIGNATURES;
	uint32_t slots = POOL_SLOTS_MIN;

	while (slots < wanted && slots < 262144)
		slots *= 2;
	return slots;
}

/* Was the pool dry at any time? Asks as an operator would. */
static int check_pool(const struct sr_bench *b)
{
	char *const ask[] = { "sigringctl", "status", "--json", "--socket", run.socket, NULL };
	static char text[1 << 16];

	if (finish(start("sigringctl", ask, text, sizeof text)) == 0 &&
	    strstr(text, "\"pool_dry\":0,") && strstr(text, "\"fallbacks\":0,"))
		return 0;
	(void)fprintf(stderr, "%s: the pool of presignatures was dry: no result\n", b->name);
	return -EBADMSG;
}

static int start_local(struct sr_bench *b, struct sr_reason *why)
{
	char cpu[16], slots[16];
	char *const argv[] = { "sigring-local", "--socket", run.socket, "--keys", run.keys, "--cpu",
			       cpu, "--wait", "spin", "--allow-snapshot", "--pool-slots", slots,
			       "--pool-batch", "16", "--pool-low", "1", "--refill", "idle", NULL };
	struct sr_options opt;
	int ret;

	(void)snprintf(cpu, sizeof cpu, "%d", b->cpus[1]);
	(void)snprintf(slots, sizeof slots, "%u", pool_slots(b));
	b->peer = start("sigring-local", argv, NULL, 0);
	if (b->peer < 0)
		return sr_reason_set(why, -errno, "cannot start sigring-local");
	sr_options_init(&opt);
	opt.socket = run.socket;
	opt.flags = SR_OPT_UNSEALED;
	opt.wait = SR_WAIT_SPIN;
	opt.timeout_ns = READY_NS;
	opt.stale_ns = SR_BENCH_HANG_S * (uint64_t)SR_NS_PER_S; /* a starved signer is slow, not gone */
	ret = sr_open(&run.client, &opt, why);
	if (ret == 0)
		ret = sr_session_open(&run.session, run.client, NULL, why);
	(void)signal(SIGCHLD, sr_bench_hung);
	return ret;
}

/* The pid that the ratio is judged by is the one that the agent itself names. */
static void check_peer(struct sr_bench *b)
{
	struct sr_client_stats stats;

	sr_client_stats_get(run.client, &stats);
	b->peer = (pid_t)stats.agent_pid;
}

static int start_bare(struct sr_reason *why)
{
	unsigned char seed[32];

	run.curve = secp256k1_context_create(SECP256K1_CONTEXT_SIGN);
	if (!run.curve || getrandom(seed, sizeof seed, 0) != sizeof seed ||
	    !secp256k1_context_randomize(run.curve, seed) ||
	    getrandom(run.seckey, sizeof run.seckey, 0) != sizeof run.seckey)
		return sr_reason_set(why, -EIO, "cannot start the bare signer");
	run.seckey[0] &= 0x7f; /* below the group's order, for certain */
	return 0;
}

static int set_up(struct sr_bench *b, struct sr_reason *why)
{
	size_t rounds = b->selftest ? 64 : (size_t)b->rounds * SR_BENCH_TRIES;
	int ret = find_programs(why);

	(void)sr_bench_row(b, "presigned", "sigring-local, presigned, one order in flight",
			   SR_BENCH_NS);
	(void)sr_bench_row(b, "hedged", "sigring-local, hedged, one order in flight", SR_BENCH_NS);
	(void)sr_bench_row(b, "bare", "bare SHA-256 and libsecp256k1, in-process", SR_BENCH_NS);
	run.proof_room = (uint32_t)rounds * KEYS;
	run.proofs = calloc(run.proof_room, sizeof *run.proofs);
	for (int i = 0; i < ROWS && ret == 0; i++)
		ret = run.proofs ? sr_histogram_new(&run.samples[i], rounds * SIGNATURES) : -ENOMEM;
	if (ret == 0)
		ret = make_keys(why);
	if (ret == 0)
		ret = start_bare(why);
	if (ret == 0)
		ret = start_local(b, why);
	if (ret == 0)
		check_peer(b);
	return ret;
}

static void show_log(void)
{
	char line[512];
	FILE *f = fopen(run.log, "re");

	while (f && fgets(line, sizeof line, f))
		(void)fprintf(stderr, "  %s", line);
	if (f)
		(void)fclose(f);
}

static void tear_down(pid_t local)
{
	sr_close(run.client);
	if (local > 0) {
		(void)kill(local, SIGTERM);
		(void)waitpid(local, NULL, 0);
	}
	if (run.curve)
		secp256k1_context_destroy(run.curve);
	explicit_bzero(run.seckey, sizeof run.seckey);
	for (uint32_t i = 0; i < KEYS; i++)
		(void)unlink(run.key_files[i]);
	(void)unlink(run.socket);
	(void)unlink(run.log);
	(void)rmdir(run.keys);
	(void)rmdir(run.dir);
	for (int i = 0; i < ROWS; i++)
		sr_histogram_delete(&run.samples[i]);
	free(run.proofs);
}

static int report(const struct sr_bench *b)
{
	const struct sr_bench_ratio ratios[] = {
		{ "presigned_over_bare", "sigring-local, unsealed, presigned, over bare signing",
		  &b->rows[ROW_PRESIGNED], &b->rows[ROW_BARE], 1.0 / 9, 1.0 / 10, false },
		{ "hedged_over_bare", "sigring-local, unsealed, hedged, over bare signing",
		  &b->rows[ROW_HEDGED], &b->rows[ROW_BARE], 1.15, 1.15, false },
	};
	int code = sr_bench_end(b, ratios, sizeof ratios / sizeof ratios[0]);

	for (int i = 0; i < ROWS && !b->json; i++)
		(void)printf("%s: every sample, disturbed rounds too: p50 %.1f, p90 %.1f, p99 %.1f, "
			     "p99.9 %.1f, max %.1f us\n", b->rows[i].key,
			     (double)sr_histogram_percentile(&run.samples[i], 50000) / 1e3,
			     (double)sr_histogram_percentile(&run.samples[i], 90000) / 1e3,
			     (double)sr_histogram_percentile(&run.samples[i], 99000) / 1e3,
			     (double)sr_histogram_percentile(&run.samples[i], 99900) / 1e3,
			     (double)sr_histogram_percentile(&run.samples[i], 100000) / 1e3);
	if (!b->json)
		(void)printf("%u signatures verified by OpenSSL, one a round and key; pool-dry 0\n", run.proof_count);
	return code;
}

static struct sr_bench bench = { .name = "bench_local", .notice = SR_UNSEALED_NOTICE, .rounds = 21, .measure = measure };

static const struct sr_option options[] = { SR_BENCH_OPTIONS(bench) };

static const struct sr_program program = {
	.name = "bench_local",
	.purpose = "Round trips to a sigring-local against bare signatures, interleaved.",
	.operands = "",
	.options = options,
	.option_count = sizeof options / sizeof options[0],
};

int main(int argc, char **argv)
{
	struct sr_reason why = { 0, "" };
	int ret = sr_config_args(&program, argc, argv, &why);

	if (ret >= 0)
		ret = ret < argc ? sr_reason_set(&why, -EINVAL, "unexpected argument `%s`",
						 argv[ret]) : sr_bench_begin(&bench, &why);
	if (ret < 0)
		return sr_bench_fail(&bench, ret, &why);
	ret = set_up(&bench, &why);
	if (ret == 0)
		ret = sr_bench_delay(&bench, &why);
	if (ret == 0 && bench.selftest)
		ret = sr_bench_selftest(&bench);
	else if (ret == 0)
		ret = sr_bench_run(&bench);
	(void)signal(SIGCHLD, SIG_DFL); /* what ends from here on is ours to wait for */
	if (ret >= 0 && check_pool(&bench) < 0)
		ret = sr_reason_set(&why, -EBADMSG, "the pool was dry, or cannot be asked");
	if (ret >= 0 && verify(&bench) < 0)
		ret = sr_reason_set(&why, -EBADMSG, "a signature of the run is wrong");
	if (ret < 0)
		show_log();
	else if (!bench.selftest)
		ret = report(&bench);
	tear_down(bench.peer);
	return ret < 0 ? sr_bench_fail(&bench, ret, &why) : ret;
}
