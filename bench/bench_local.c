/* SPDX-License-Identifier: MIT */
/*
 * bench_local - a signature from sigring-local against one made in-process.
 *
 * Starts a sigring-local of its own on the second CPU, with two keys made for the run
 * in a private directory, and alternates on the first CPU between orders through
 * the ring, one in flight, for each key, sealed and in clear, and bare signatures: SHA-256 by OpenSSL and
 * secp256k1_ecdsa_sign(), nothing else. The sides of a ratio so differ in the
 * whole of sigring: two hops, the copies, the checks, the nonce, the wiping.
 *
 * One key signs from a pool, which is filled before the run and holds enough for
 * all of it: nothing is refilled meanwhile, and a run in which the pool was dry once
 * has no result. After the run one signature of each round is verified by OpenSSL.
 */
#include <sys/random.h>

#include <openssl/sha.h>
#include <secp256k1.h>

#include "sr_local_rig.h"
#include "sr_tails.h"
#include "sr_verify.h"

#define MESSAGE_BYTES 256u
#define SIGNATURES 500u /* of each kind in a round */
#define SIGNATURES_TEST 8u
#define READY_NS (30ull * SR_NS_PER_S) /* a pool has to be filled */
#define POOL_SLOTS_MIN 16u

/* A row's key is its number's last bit. */
enum row { ROW_SEALED, ROW_SEALED_HEDGED, ROW_PRESIGNED, ROW_HEDGED, ROW_BARE, ROWS };
enum { SEALED, CLEAR, KINDS };
#define RINGS (KINDS * RIG_KEYS)

struct proof {
	enum row row;
	unsigned char message[MESSAGE_BYTES];
	struct sr_completion completion;
};

static struct {
	struct sr_client *clients[KINDS];
	struct sr_session *sessions[KINDS];
	secp256k1_context *curve;
	unsigned char seckey[32];
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
		.key = (uint32_t)row % RIG_KEYS + 1,
		.type = SR_ECDSA_SHA256,
		.body_bytes = MESSAGE_BYTES,
		.body = run.message,
		.user_data = number,
	};
	struct sr_session *session = run.sessions[(uint32_t)row / RIG_KEYS];
	int ret = sr_submit(session, &request);

	if (ret < 0)
		return ret;
	while ((ret = sr_poll(session, completion, 1)) == 0)
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
		ret = sr_verify_signature(verifier, rig.pubkeys[run.proofs[i].row % RIG_KEYS], SR_ECDSA_SHA256,
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

/* Presignatures for all rounds, those that will be thrown away too. */
static uint32_t pool_slots(const struct sr_bench *b)
{
	uint64_t wanted = KINDS * (b->selftest ? 64 * SIGNATURES_TEST :
						 (uint64_t)b->rounds * SR_BENCH_TRIES *
							 SIGNATURES);
	uint32_t slots = POOL_SLOTS_MIN;

	while (slots < wanted && slots < 262144)
		slots *= 2;
	return slots;
}

static int open_client(uint32_t kind, struct sr_reason *why)
{
	struct sr_options opt;
	int ret;

	sr_options_init(&opt);
	opt.socket = rig.socket;
	opt.wait = SR_WAIT_SPIN;
	opt.timeout_ns = READY_NS;
	opt.stale_ns = SR_BENCH_HANG_S * (uint64_t)SR_NS_PER_S; /* a starved signer is slow, not gone */
	if (kind == CLEAR) {
		opt.flags = SR_OPT_UNSEALED;
	} else {
		opt.identity = rig.identity;
		opt.trust = rig.trust;
	}
	ret = sr_open(&run.clients[kind], &opt, why);
	return ret ? ret : sr_session_open(&run.sessions[kind], run.clients[kind], NULL, why);
}

static int start_local(struct sr_bench *b, struct sr_reason *why)
{
	int ret = rig_start(b, pool_slots(b), READY_NS, why);

	for (uint32_t kind = 0; kind < KINDS && ret == 0; kind++)
		ret = open_client(kind, why);
	(void)signal(SIGCHLD, sr_bench_hung);
	return ret;
}

/* The pid that the ratio is judged by is the one that the agent itself names. */
static void check_peer(struct sr_bench *b)
{
	struct sr_client_stats stats;

	sr_client_stats_get(run.clients[CLEAR], &stats);
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
	int ret = rig_find_programs(why);

	(void)sr_bench_row(b, "sealed", "sigring-local, sealed, presigned", SR_BENCH_NS);
	(void)sr_bench_row(b, "sealed_hedged", "sigring-local, sealed, hedged", SR_BENCH_NS);
	(void)sr_bench_row(b, "presigned", "sigring-local, in clear, presigned", SR_BENCH_NS);
	(void)sr_bench_row(b, "hedged", "sigring-local, in clear, hedged", SR_BENCH_NS);
	(void)sr_bench_row(b, "bare", "bare SHA-256 and libsecp256k1, in-process", SR_BENCH_NS);
	run.proof_room = (uint32_t)rounds * RINGS;
	run.proofs = calloc(run.proof_room, sizeof *run.proofs);
	for (int i = 0; i < ROWS && ret == 0; i++)
		ret = run.proofs ? sr_histogram_new(&run.samples[i], rounds * SIGNATURES) : -ENOMEM;
	if (ret == 0)
		ret = rig_provision(why);
	if (ret == 0)
		ret = start_bare(why);
	if (ret == 0)
		ret = start_local(b, why);
	if (ret == 0)
		check_peer(b);
	return ret;
}

static void tear_down(struct sr_bench *b)
{
	for (uint32_t kind = 0; kind < KINDS; kind++)
		sr_close(run.clients[kind]);
	if (b->peer > 0) {
		(void)kill(b->peer, SIGTERM);
		(void)waitpid(b->peer, NULL, 0);
	}
	if (run.curve)
		secp256k1_context_destroy(run.curve);
	explicit_bzero(run.seckey, sizeof run.seckey);
	rig_remove();
	for (int i = 0; i < ROWS; i++)
		sr_histogram_delete(&run.samples[i]);
	free(run.proofs);
}

static void json_tails(const struct sr_bench *b)
{
	sr_tails_json(b, run.samples, NULL);
}

static int report(const struct sr_bench *b)
{
	const struct sr_bench_ratio ratios[] = {
		{ "sealed_over_bare", "sigring-local, sealed, presigned, over bare signing",
		  &b->rows[ROW_SEALED], &b->rows[ROW_BARE], 1.0 / 7, 1.0 / 10, false },
		{ "sealed_hedged_over_bare", "sigring-local, sealed, hedged, over bare signing",
		  &b->rows[ROW_SEALED_HEDGED], &b->rows[ROW_BARE], 0, 0, false },
		{ "sealed_over_clear", "sigring-local, presigned, sealed over in clear",
		  &b->rows[ROW_SEALED], &b->rows[ROW_PRESIGNED], 0, 0, false },
		{ "presigned_over_bare", "sigring-local, unsealed, presigned, over bare signing",
		  &b->rows[ROW_PRESIGNED], &b->rows[ROW_BARE], 1.0 / 9, 1.0 / 10, false },
		{ "hedged_over_bare", "sigring-local, unsealed, hedged, over bare signing",
		  &b->rows[ROW_HEDGED], &b->rows[ROW_BARE], 1.15, 1.15, false },
	};
	int code = sr_bench_end(b, ratios, sizeof ratios / sizeof ratios[0]);

	if (!b->json)
		sr_tails_print(b, run.samples, NULL, "every signature");
	if (!b->json)
		(void)printf("%u signatures verified by OpenSSL, one a round and row; pool-dry 0\n",
			     run.proof_count);
	return code;
}

static int check(struct sr_bench *b, struct sr_reason *why)
{
	int ret = rig_check_pool(why);

	if (!ret && verify(b) < 0)
		ret = sr_reason_set(why, -EBADMSG, "a signature of the run is wrong");
	return ret;
}

static struct sr_bench bench = {
	.name = "bench_local",
	.rounds = 21,
	.set_up = set_up,
	.measure = measure,
	.check = check,
	.log = rig_show_log,
	.report = report,
	.json_more = json_tails,
	.tear_down = tear_down,
};

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
	return sr_bench_main(&bench, &program, argc, argv);
}
