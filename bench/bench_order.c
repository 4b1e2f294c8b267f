/* SPDX-License-Identifier: MIT */
/*
 * bench_order - what a typed order costs: to build, decode, judge, digest, sign and render.
 *
 * On one CPU what client and signer do with an order, piece by piece: batches of one
 * operation between two readings of the clock. With a sigring-local of its own on the other
 * CPU the whole: a sealed Hyperliquid order, presigned, one in flight, from submit to its
 * completion and from the patch of a template to the text to post; beside libsecp256k1
 * signing a digest that is there already. Venue nonces are milliseconds, of which no two
 * orders share one and which may lead the clock by a second: a round's orders follow one
 * another, as in the other benchmarks, with nonces that run ahead. A row by itself has an order
 * a millisecond, both sides spinning in between: what was in the caches has gone cold.
 *
 * Every digest that was signed is computed again and its signature verified by OpenSSL, one
 * order a round and row. A run in which the pool was dry has no result.
 */
#include <sys/random.h>

#include <secp256k1.h>

#define RIG_PERMIT                                                                               \
	"\"permit\": [ \"hyperliquid/order\" ], \"policy\": { \"networks\": [ \"testnet\" ],\n"      \
	"      \"assets\": [ { \"id\": 0, \"size_decimals\": 5, \"size_max\": \"unlimited\",\n"       \
	"        \"notional_max\": \"unlimited\", \"price_min\": \"0\",\n"                            \
	"        \"price_max\": \"unlimited\" } ], \"reduce_only\": false,\n"                         \
	"      \"expiry_max_ms\": \"unlimited\", \"venue_nonce\": \"checked\",\n"                     \
	"      \"rate\": { \"key_per_s\": 100000, \"key_burst\": 100000,\n"                           \
	"        \"session_per_s\": 100000, \"session_burst\": 100000 },\n"                           \
	"      \"window\": { \"seconds\": 1, \"notional_max\": \"unlimited\" },\n"                    \
	"      \"unexpired_notional_max\": \"unlimited\", \"lease\": false }"

#include "sr_hash.h"
#include "sr_hl_action.h"
#include "sr_local_rig.h"
#include "sr_order_slots.h"
#include "sr_sample.h"
#include "sr_tails.h"
#include "sr_verify.h"

#define OPERATIONS 16u /* of a batch */
#define ROUNDS 300u /* of some 80 ms: what disturbs one costs no more */
#define BATCHES 32u /* of a round; that many orders through the ring too */
#define BATCHES_TEST 8u
#define BATCHES_SPACED 2u /* of a millisecond each */
#define LEAD_MS 500u /* of a nonce over the clock, at most */
#define READY_NS (120ull * SR_NS_PER_S) /* a pool has to be filled */
#define WARM_NS (20ull * SR_NS_PER_S) /* what a start forgets has passed by then */
#define POOL_SLOTS 131072u
#define TEXT_BYTES 65536u
#define BULK 40u
#define PAD_BYTES 136u /* a block of Keccak-256 */

enum row {
	ROW_KECCAK_F,
	ROW_KECCAK_1,
	ROW_PUT,
	ROW_DECODE_1,
	ROW_JUDGED_1,
	ROW_JUDGED_10,
	ROW_JUDGED_40,
	ROW_DIGEST_1,
	ROW_DIGEST_10,
	ROW_DIGEST_40,
	ROW_VENUES, /* of each sample behind the first its digest */
	ROW_PATCH = ROW_VENUES + (int)SAMPLES - 1,
	ROW_TEMPLATE_RENDER,
	ROW_RENDER,
	ROW_BARE,
	ROW_SEALED,
	ROW_BODY_READY,
	ROW_SPACED,
	ROWS
};

/* An order and what was decoded of it. */
struct made {
	uint32_t type;
	uint32_t bytes;
	unsigned char body[SAMPLE_BODY_BYTES];
	struct sr_order order;
};

struct proof {
	unsigned char digest[SR_DIGEST_BYTES];
	struct sr_order_signature signature;
};

static struct {
	struct made made[3 + SAMPLES]; /* 1, 10 and 40 orders; the samples */
	struct sr_order signed_order;
	struct sr_order_env *env;
	struct sr_policy_book *book;
	struct sr_template template;
	struct sr_client *client;
	struct sr_session *session;
	secp256k1_context *curve;
	unsigned char seckey[32];
	unsigned char body[SR_TEMPLATE_BODY_BYTES];
	char text[TEXT_BYTES];
	uint32_t action_bytes; /* of msgpack and what is hashed with it */
	struct sr_histogram batches[ROWS];
	uint32_t per[ROWS]; /* operations in each */
	struct proof *proofs;
	uint32_t proof_count;
	uint32_t proof_room;
	uint64_t nonce; /* of the last order that was sent */
	uint64_t count; /* of operations that want another number each */
	char keys[SAMPLES][32];
	char texts[SAMPLES][64];
} run;

static volatile unsigned char sink; /* so that no result is without use */

static const uint32_t sizes[3] = { 1, 10, BULK };
static const struct sr_order_signature some_signature = { { 1, [40] = 7 }, 1 };

/* ---- pieces ---- */

static int keccak(uint32_t bytes)
{
	unsigned char digest[SR_DIGEST_BYTES];

	sr_keccak256(digest, run.text, bytes);
	sink = digest[0];
	return 0;
}

/* As many bytes as the three calls of a digest: an action, a struct, the whole. */
static int keccak_calls(void)
{
	return keccak(run.action_bytes) | keccak(96) | keccak(66);
}

static int decode(struct made *made)
{
	return sr_order_decode(&made->order, made->type, made->body, made->bytes, run.env);
}

static int judge(struct made *made)
{
	struct sr_policy_verdict verdict;
	int ret = decode(made);

	return ret ? ret : sr_policy_judge(run.book, &verdict, 0, &made->order, 0) ? -EPERM : 0;
}

static int digest(const struct made *made)
{
	unsigned char out[SR_DIGEST_BYTES];
	int ret = sr_order_digest(out, &made->order, run.env);

	sink = out[0];
	return ret;
}

static int patch(uint64_t nonce)
{
	const struct sr_patch values = { .price = (60000 + nonce % 100) * SAMPLE_E8,
					 .size = SAMPLE_E8 / 100, .nonce = nonce };

	sr_template_patch(run.body, &run.template, &values);
	return 0;
}

static int render(const struct made *made)
{
	return sr_order_render(run.text, sizeof run.text, &made->order, &some_signature, run.env);
}

static int bare(void)
{
	secp256k1_ecdsa_signature signature;
	unsigned char hash[32] = { 3 };

	sr_put64(hash, ++run.count);
	return secp256k1_ecdsa_sign(run.curve, &signature, hash, run.seckey, NULL, NULL) ? 0 : -EIO;
}

static int piece(uint32_t at)
{
	struct made *one = &run.made[0];
	int ret;

	switch (at) {
	case ROW_KECCAK_F:
		return keccak(PAD_BYTES - 1);
	case ROW_KECCAK_1:
		return keccak_calls();
	case ROW_PUT:
		ret = sample_hl_order(run.body, sizeof run.body);
		return ret < 0 ? ret : 0;
	case ROW_DECODE_1:
		return decode(one);
	case ROW_JUDGED_1:
	case ROW_JUDGED_10:
	case ROW_JUDGED_40:
		return judge(&run.made[at - ROW_JUDGED_1]);
	case ROW_DIGEST_1:
	case ROW_DIGEST_10:
	case ROW_DIGEST_40:
		return digest(&run.made[at - ROW_DIGEST_1]);
	case ROW_PATCH:
		return patch(++run.count);
	case ROW_TEMPLATE_RENDER:
		ret = sr_template_render(run.text, sizeof run.text, &run.template, run.body,
					 &some_signature);
		return ret < 0 ? ret : 0;
	case ROW_RENDER:
		ret = decode(one);
		ret = ret ? ret : render(one);
		return ret < 0 ? ret : 0;
	case ROW_BARE:
		return bare();
	default:
		return digest(&run.made[3 + at - ROW_VENUES + 1]);
	}
}

/* ---- through the ring ---- */

static uint64_t clock_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* A millisecond that no order has, which is this one or, unless @spaced, one to come soon. */
static uint64_t next_nonce(bool spaced)
{
	uint64_t now_ms;

	while ((now_ms = clock_ms()) + (spaced ? 0 : LEAD_MS) <= run.nonce)
		sr_pause();
	run.nonce = now_ms > run.nonce ? now_ms : run.nonce + 1;
	return run.nonce;
}

/* From a body to a completion. 0; -EPERM when it is denied; -errno. */
static int sign(struct sr_completion *done)
{
	const struct sr_request request = { .key = 1, .type = run.template.type,
					    .body_bytes = run.template.body_bytes,
					    .body = run.body };
	int ret = sr_submit(run.session, &request);

	while (ret == 0)
		ret = sr_poll(run.session, done, 1);
	if (ret < 0)
		return ret;
	return done->status == SR_OK ? 0 : done->status == SR_DENIED ? -EPERM : -EBADMSG;
}

static int through_ring(uint32_t at, uint64_t delay_ns, uint64_t *took_ns)
{
	struct sr_order_signature signature;
	struct sr_completion done;
	uint64_t nonce = next_nonce(at == ROW_SPACED), start_ns;
	int ret;

	(void)patch(nonce);
	start_ns = sr_now_ns();
	if (at == ROW_BODY_READY)
		(void)patch(nonce);
	ret = sign(&done);
	if (!ret)
		ret = sr_order_completed(&signature, run.body, &done);
	if (!ret && at == ROW_BODY_READY)
		ret = sr_template_render(run.text, sizeof run.text, &run.template, run.body,
					 &signature);
	sr_bench_spin(delay_ns);
	*took_ns = sr_now_ns() - start_ns;
	if (ret < 0)
		return ret;
	if (run.proof_count < run.proof_room) {
		struct proof *proof = &run.proofs[run.proof_count];

		proof->signature = signature;
		ret = sr_order_decode(&run.signed_order, run.template.type, run.body,
				      run.template.body_bytes, run.env);
		ret = ret ? ret : sr_order_digest(proof->digest, &run.signed_order, run.env);
	}
	return ret < 0 ? ret : 0;
}

static int in_batch(uint32_t at, uint32_t count, uint64_t delay_ns, uint64_t *took_ns)
{
	uint64_t start_ns = sr_now_ns();
	int ret = 0;

	for (uint32_t i = 0; i < count && !ret; i++)
		ret = piece(at);
	sr_bench_spin(delay_ns * count);
	*took_ns = sr_now_ns() - start_ns;
	return ret;
}

static bool is_ring(uint32_t at)
{
	return at == ROW_SEALED || at == ROW_BODY_READY || at == ROW_SPACED;
}

static int measure(struct sr_bench *b, uint32_t at)
{
	bool ring = is_ring(at);
	uint32_t batches = b->selftest ? BATCHES_TEST : at == ROW_SPACED ? BATCHES_SPACED : BATCHES;
	uint32_t count = ring || b->selftest ? 1 : OPERATIONS;
	uint64_t delay_ns = b->delay_row == (int)at ? b->delay_ns : 0, took_ns;
	struct sr_bench_row *row = &b->rows[at];
	double each[BATCHES];

	if (at >= ROW_VENUES && at < ROW_PATCH && decode(&run.made[3 + at - ROW_VENUES + 1]))
		return -EINVAL;
	if (at == ROW_TEMPLATE_RENDER)
		(void)patch(run.nonce);
	/* One that nobody times, when the clock has caught up with the nonces. */
	if (at == ROW_SPACED && through_ring(at, 0, &took_ns))
		return -EIO;
	for (uint32_t i = 0; i < batches; i++) {
		int ret = ring ? through_ring(at, delay_ns, &took_ns) :
				 in_batch(at, count, delay_ns, &took_ns);

		if (ret)
			return ret;
		each[i] = (double)took_ns / count;
		(void)!sr_histogram_add(&run.batches[at], took_ns);
	}
	run.proof_count += ring && run.proof_count < run.proof_room;
	row->now = sr_bench_rank(each, batches, SR_BENCH_SHARE_ALL / 2);
	row->best = each[0];
	row->tree = sr_bench_tree(ring ? b->peer : getpid());
	return 0;
}

/* ---- before and after ---- */

static void rows_name(struct sr_bench *b)
{
	static const struct {
		const char *key, *text;
	} names[] = {
		[ROW_KECCAK_F] = { "keccak_f", "Keccak-256 of 135 B: one permutation" },
		[ROW_KECCAK_1] = { "keccak_1", "the three Keccak calls of 1 order, alone" },
		[ROW_PUT] = { "put", "1 order into a body" },
		[ROW_DECODE_1] = { "decode_1", "decode of 1 order" },
		[ROW_JUDGED_1] = { "judged_1", "decode and policy of 1 order" },
		[ROW_JUDGED_10] = { "judged_10", "decode and policy of 10 orders" },
		[ROW_JUDGED_40] = { "judged_40", "decode and policy of 40 orders" },
		[ROW_DIGEST_1] = { "digest_1", "digest of 1 order" },
		[ROW_DIGEST_10] = { "digest_10", "digest of 10 orders" },
		[ROW_DIGEST_40] = { "digest_40", "digest of 40 orders" },
		[ROW_PATCH] = { "patch", "template: patch" },
		[ROW_TEMPLATE_RENDER] = { "template_render", "template: render" },
		[ROW_RENDER] = { "render", "without a template: decode and render" },
		[ROW_BARE] = { "bare", "bare libsecp256k1 on a ready digest, in-process" },
		[ROW_SEALED] = { "sealed_order", "sigring-local, sealed, presigned: an order" },
		[ROW_BODY_READY] = { "body_ready", "the same, from patch to the text to post" },
		[ROW_SPACED] = { "sealed_order_spaced", "the first, an order a millisecond" },
	};

	for (uint32_t at = 0; at < ROWS; at++) {
		uint32_t sample = at - ROW_VENUES + 1;

		run.per[at] = is_ring(at) ? 1 : OPERATIONS;
		if (at < ROW_VENUES || at >= ROW_PATCH) {
			(void)sr_bench_row(b, names[at].key, names[at].text, SR_BENCH_NS);
			continue;
		}
		(void)snprintf(run.keys[sample], sizeof run.keys[0], "digest_%s",
			       samples[sample].key);
		(void)snprintf(run.texts[sample], sizeof run.texts[0], "digest: %s",
			       samples[sample].text);
		(void)sr_bench_row(b, run.keys[sample], run.texts[sample], SR_BENCH_NS);
	}
}

static int made_fill(struct made *made, uint32_t type, int bytes)
{
	made->type = type;
	made->bytes = (uint32_t)bytes;
	return bytes < 0 ? bytes : decode(made);
}

static int make_orders(void)
{
	struct sr_out action = sr_out_over(run.text, sizeof run.text);
	struct made *one = &run.made[0];
	int ret = sample_policy(&run.book);

	ret = ret ? ret : sr_order_env_new(&run.env);
	ret = ret ? ret : sample_schemas(run.env);
	for (uint32_t i = 0; i < 3 && !ret; i++)
		ret = made_fill(&run.made[i], SR_TYPE_HYPERLIQUID,
				sample_hyperliquid(run.made[i].body, SAMPLE_BODY_BYTES, sizes[i],
						   SAMPLE_MS));
	for (uint32_t i = 0; i < SAMPLES && !ret; i++)
		ret = made_fill(&run.made[3 + i], samples[i].type,
				samples[i].put(run.made[3 + i].body, SAMPLE_BODY_BYTES));
	if (ret)
		return ret;
	sr_hl_action_put(&action, one->body, false);
	run.action_bytes = (uint32_t)action.used + 9; /* and the nonce, and that there is no vault */
	ret = sr_template_init(&run.template, one->type, one->body, one->bytes, &one->order,
			       run.env);
	return ret ? ret : decode(one);
}

static int start_bare(void)
{
	unsigned char seed[32];

	run.curve = secp256k1_context_create(SECP256K1_CONTEXT_SIGN);
	if (!run.curve || getrandom(seed, sizeof seed, 0) != sizeof seed ||
	    !secp256k1_context_randomize(run.curve, seed) ||
	    getrandom(run.seckey, sizeof run.seckey, 0) != sizeof run.seckey)
		return -EIO;
	run.seckey[0] &= 0x7f; /* below the group's order, for certain */
	return 0;
}

static int start_local(struct sr_bench *b, struct sr_reason *why)
{
	struct sr_client_stats stats;
	struct sr_completion done;
	struct sr_options opt;
	uint64_t end_ns;
	int ret = rig_start(b, b->selftest ? 4096 : POOL_SLOTS, READY_NS, why);

	sr_options_init(&opt);
	opt.socket = rig.socket;
	opt.wait = SR_WAIT_SPIN;
	opt.timeout_ns = READY_NS;
	opt.stale_ns = SR_BENCH_HANG_S * (uint64_t)SR_NS_PER_S; /* a starved signer is slow, not gone */
	opt.identity = rig.identity;
	opt.trust = rig.trust;
	ret = ret ? ret : sr_open(&run.client, &opt, why);
	ret = ret ? ret : sr_session_open(&run.session, run.client, NULL, why);
	(void)signal(SIGCHLD, sr_bench_hung);
	if (ret)
		return ret;
	sr_client_stats_get(run.client, &stats);
	b->peer = (pid_t)stats.agent_pid; /* the one that the ratio is judged by */
	end_ns = sr_now_ns() + WARM_NS;
	do {
		(void)usleep(20000);
		(void)patch(next_nonce(true));
		ret = sign(&done);
	} while (ret == -EPERM && sr_now_ns() < end_ns);
	return ret ? sr_reason_set(why, ret, "no order is signed: %s",
				   ret == -EPERM ? sr_policy_name(done.policy) : strerror(-ret)) : 0;
}

static int set_up(struct sr_bench *b, struct sr_reason *why)
{
	size_t rounds = b->selftest ? 64 : (size_t)b->rounds * SR_BENCH_TRIES;
	int ret = rig_find_programs(why);

	rows_name(b);
	run.proof_room = 3 * (uint32_t)rounds;
	run.proofs = calloc(run.proof_room, sizeof *run.proofs);
	for (int i = 0; i < ROWS && !ret; i++)
		ret = run.proofs ? sr_histogram_new(&run.batches[i], rounds * BATCHES) : -ENOMEM;
	ret = ret ? ret : make_orders();
	ret = ret ? ret : start_bare();
	ret = ret ? ret : rig_provision(why);
	return ret ? ret : start_local(b, why);
}

static int verify(const struct sr_bench *b)
{
	struct sr_verifier *verifier;
	int ret = sr_verifier_new(&verifier);

	for (uint32_t i = 0; i < run.proof_count && !ret; i++)
		ret = sr_verify_signature(verifier, rig.pubkeys[0], SR_ECDSA_DIGEST,
					  run.proofs[i].digest, SR_DIGEST_BYTES,
					  run.proofs[i].signature.rs, run.proofs[i].signature.recid);
	if (ret)
		(void)fprintf(stderr, "%s: a signature does not verify: %s\n", b->name,
			      strerror(-ret));
	sr_verifier_delete(verifier);
	return ret;
}

static void tear_down(struct sr_bench *b)
{
	sr_close(run.client);
	if (b->peer > 0) {
		(void)kill(b->peer, SIGTERM);
		(void)waitpid(b->peer, NULL, 0);
	}
	if (run.curve)
		secp256k1_context_destroy(run.curve);
	explicit_bzero(run.seckey, sizeof run.seckey);
	rig_remove();
	sr_policy_book_delete(run.book);
	sr_order_env_delete(run.env);
	for (int i = 0; i < ROWS; i++)
		sr_histogram_delete(&run.batches[i]);
	free(run.proofs);
}

/* ---- output ---- */

static void json_tails(const struct sr_bench *b)
{
	slots_json(b);
	sr_tails_json(b, run.batches, run.per);
}

static int report(const struct sr_bench *b)
{
	const struct sr_bench_row *r = b->rows;
	const struct sr_bench_ratio ratios[] = {
		{ "sealed_order_over_bare", "an order, sealed, presigned, over bare signing",
		  &r[ROW_SEALED], &r[ROW_BARE], 1.0 / 6, 1.0 / 6, false },
		{ "body_ready_over_bare", "from patch to the text to post, over bare signing",
		  &r[ROW_BODY_READY], &r[ROW_BARE], 0, 0, false },
		{ "spaced_over_bare", "an order a millisecond, over bare signing",
		  &r[ROW_SPACED], &r[ROW_BARE], 0, 0, false },
		{ "keccak_over_digest", "Keccak's share of the digest of 1 order",
		  &r[ROW_KECCAK_1], &r[ROW_DIGEST_1], 0, 0, false },
		{ "template_over_render", "render from a template over decode and render",
		  &r[ROW_TEMPLATE_RENDER], &r[ROW_RENDER], 0, 0, false },
	};
	int code = sr_bench_end(b, ratios, sizeof ratios / sizeof ratios[0]);

	if (b->json)
		return code;
	slots_text();
	sr_tails_print(b, run.batches, run.per, "the mean of each batch, and every order through the "
		       "ring");
	(void)printf("%u digests computed again and their signatures verified by OpenSSL; pool-dry "
		     "0\n", run.proof_count);
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
	.name = "bench_order",
	.rounds = ROUNDS,
	.set_up = set_up,
	.measure = measure,
	.check = check,
	.log = rig_show_log,
	.report = report,
	.json_more = json_tails,
	.tear_down = tear_down,
};

static const struct sr_option options[] = { SR_BENCH_OPTIONS_ROUNDS(bench, "300") };

static const struct sr_program program = {
	.name = "bench_order",
	.purpose = "Typed orders: build, judge, digest, sign, render; and sigring-local beside bare "
		   "signing.",
	.operands = "",
	.options = options,
	.option_count = sizeof options / sizeof options[0],
};

int main(int argc, char **argv)
{
	return sr_bench_main(&bench, &program, argc, argv);
}
