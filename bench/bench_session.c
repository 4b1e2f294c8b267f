/* SPDX-License-Identifier: MIT */
/*
 * bench_session - what a sealed, attested session costs, piece by piece.
 *
 * One thread on one CPU. Each round measures every row once: batches of one operation,
 * long enough for the clock (their length is found before the run), and the row's
 * figure of the round is the median batch divided by its operations. The operations are
 * in sr_session_rows.h. Behind the figures comes the table of the seed's baseline page,
 * ours beside it, row by row (sr_baseline.h); RSA-2048's verification by OpenSSL is the
 * yardstick by which the machines can be compared.
 */
#include "sr_session_rows.h"

#include "sr_baseline.h"
#include "sr_rank.h"

#define BATCHES 5u
#define BATCH_NS (300u * 1000u)
#define FORGIVE_NS (20u * RIG_SECOND)

/* Every batch of the run, disturbed rounds too: what a p99 is made of. */
static double every[ROWS][SR_BENCH_ROUNDS_MAX * SR_BENCH_TRIES * BATCHES];
static uint32_t every_count[ROWS];

/* What has to be there before a batch, and is not its time. */
static int prepare(uint32_t at, uint32_t count)
{
	struct direction *d = at == ROW_OPEN_384 || at == ROW_SEAL_384 ?
				      &run.secrets->submission :
				      &run.secrets->completion;
	int ret = 0;

	rig.now_ns += FORGIVE_NS; /* failures of other rows */
	if (at == ROW_CHALLENGE_REFUSED)
		return exhaust();
	if (at == ROW_SETUP_TICKET)
		return ticket_get_one();
	if (at > ROW_OPEN_128)
		return at == ROW_EVP_OPEN_384 ? evp_one(true, SR_SUB_BODY, SUB_TEXT) :
		       at == ROW_EVP_OPEN_128 ? evp_one(true, SR_CMP_BODY, SR_CMP_BODY_BYTES) :
						0;
	ret = catch_up(d);
	for (uint32_t i = 0; !ret && i < count && (at == ROW_OPEN_384 || at == ROW_OPEN_128); i++)
		ret = seal_one(d);
	return ret;
}

static int batch(const struct sr_bench *b, uint32_t at, uint32_t count, uint64_t *spent_ns)
{
	uint64_t delay_ns = (int)at == b->delay_row ? b->delay_ns : 0;
	uint64_t begin_ns;
	int ret = prepare(at, count);

	*spent_ns = 0;
	begin_ns = sr_now_ns();
	for (uint32_t i = 0; !ret && i < count; i++) {
		if (at == ROW_HANDSHAKE_GATE)
			ret = gate_one(spent_ns);
		else if (at == ROW_CHALLENGE)
			ret = challenge_one(spent_ns);
		else
			ret = one(at);
		if (delay_ns)
			sr_bench_spin(delay_ns);
	}
	if (at != ROW_HANDSHAKE_GATE && at != ROW_CHALLENGE)
		*spent_ns = sr_now_ns() - begin_ns;
	else
		*spent_ns += count * delay_ns;
	return ret;
}

static uint32_t batch_max(uint32_t at)
{
	return at <= ROW_OPEN_128 ? DEPTH - 1 : 1u << 20;
}

/* How many operations make a batch: doubled until it is long enough. */
static int calibrate(const struct sr_bench *b, uint32_t at)
{
	uint64_t spent_ns = 0;
	uint32_t count = 1;
	int ret = batch(b, at, 1, &spent_ns);

	while (!ret && spent_ns < BATCH_NS && count < batch_max(at)) {
		count = 2 * count < batch_max(at) ? 2 * count : batch_max(at);
		ret = batch(b, at, count, &spent_ns);
	}
	run.per_batch[at] = count;
	return ret;
}

static int measure(struct sr_bench *b, uint32_t at)
{
	uint32_t batches = b->selftest ? 1 : BATCHES;
	uint32_t count = b->selftest ? 1 : run.per_batch[at];
	double each[BATCHES];

	for (uint32_t i = 0; i < batches; i++) {
		uint64_t spent_ns;
		int ret = batch(b, at, count, &spent_ns);

		if (ret)
			return ret;
		each[i] = (double)spent_ns / count;
		if (every_count[at] < sizeof every[at] / sizeof every[at][0])
			every[at][every_count[at]++] = each[i];
	}
	b->rows[at].now = sr_bench_rank(each, batches, SR_BENCH_SHARE_ALL / 2);
	b->rows[at].best = each[0]; /* in order now */
	return 0;
}

/* ---- set-up ---- */

static int start_records(void)
{
	struct secrets *s = run.secrets;
	int ret;

	memset(&s->keys, 0x5a, sizeof s->keys);
	memset(s->key, 0x3c, sizeof s->key);
	ret = direction_start(&s->submission, SR_SEAL_SUBMISSION, SR_SUB_BYTES_DEFAULT);
	if (!ret)
		ret = direction_start(&s->completion, SR_SEAL_COMPLETION, SR_CMP_BYTES);
	for (int i = 0; !ret && i < 2; i++) {
		run.evp[i] = EVP_CIPHER_CTX_new();
		if (!run.evp[i] || !EVP_CipherInit_ex(run.evp[i], EVP_aes_256_gcm(), NULL, s->key,
						      NULL, i == 0))
			ret = -EIO;
	}
	return ret;
}

static int start_ticket(void)
{
	int ret = sr_ticket_key_init(&run.secrets->ticket_key, run.secrets->key);

	run.ticket.expires_ns = 2 * RIG_SECOND;
	memset(run.ticket.client, 7, sizeof run.ticket.client);
	if (!ret)
		ret = sr_ticket_issue(&run.secrets->ticket_key, &run.ticket, RIG_SECOND);
	run.ticket_expect = (struct sr_ticket_expect){
		.client = run.ticket.client,
		.now_ns = RIG_SECOND,
	};
	return ret;
}

static int start_setup(void)
{
	int ret = rig_start();

	if (ret)
		return ret;
	ret = make_document();
	return ret ? ret : document_one(&rig.cache); /* so that the chain is known */
}

/* Sixty-four keys and as many clients: what a signer holds at most. */
static int start_tables(void)
{
	static struct sr_manifest manifest;
	struct sr_curve *curve = NULL;
	struct sr_key_info info = { .nonce_mode = SR_NONCE_HEDGED };
	int ret = sr_curve_new(&curve, run.secrets->key);

	if (!ret)
		ret = sr_keyring_new(&run.keys);
	for (uint32_t i = 0; !ret && i < KEYS; i++) {
		info.id = i + 1;
		memset(run.secrets->key, (int)i + 1, sizeof run.secrets->key);
		ret = sr_keyring_add(run.keys, curve, &info, run.secrets->key);
	}
	sr_curve_delete(curve);
	manifest.version = 1;
	manifest.identity_count = SR_MANIFEST_IDENTITIES_MAX;
	for (uint32_t i = 0; i < SR_MANIFEST_IDENTITIES_MAX; i++)
		memset(manifest.identities[i].pub, (int)i + 1, SR_IDENTITY_KEY_BYTES);
	run.manifest = &manifest;
	sr_agent_users_init(&run.users, 128, 512, 4);
	(void)begin_put();
	(void)begun_put();
	(void)record_put();
	return ret;
}

static int set_up(struct sr_bench *b, struct sr_reason *why)
{
	static const char *const rows[ROWS][2] = {
		{ "seal_384", "sr_seal: seal a submission, 384 bytes" },
		{ "open_384", "sr_seal: open it" },
		{ "seal_128", "sr_seal: seal a completion, 128 bytes" },
		{ "open_128", "sr_seal: open it" },
		{ "evp_seal_384", "bare EVP AES-256-GCM, the same bytes: seal" },
		{ "evp_open_384", "bare EVP AES-256-GCM, the same bytes: open" },
		{ "evp_seal_128", "bare EVP AES-256-GCM, a completion's: seal" },
		{ "evp_open_128", "bare EVP AES-256-GCM, a completion's: open" },
		{ "document_cold", "attestation document, chain of 3 not known" },
		{ "document_cached", "attestation document, chain known" },
		{ "gate", "signer: BEGIN to BEGUN and an admission" },
		{ "setup_ticket", "both ends: a session by ticket" },
		{ "ticket_put", "ticket: write" },
		{ "ticket_get", "ticket: read" },
		{ "ticket_verify", "ticket: verify" },
		{ "begin_put", "BEGIN: write" },
		{ "begin_get", "BEGIN: read" },
		{ "begun_put", "BEGUN: write" },
		{ "begun_get", "BEGUN: read" },
		{ "record_put", "frame and request: write" },
		{ "record_get", "frame and request: cut and read" },
		{ "challenge", "signer: ATTEST to DOCUMENT (mock NSM)" },
		{ "challenge_refused", "signer: ATTEST over the limit, refused" },
		{ "begin_limit", "agent: limit of conversations, one user" },
		{ "identity_find", "identity of a public key, of 64" },
		{ "key_find", "key of an id, of 64" },
		{ "sha256_1m", "image measurement: SHA-256 of 1 MiB" },
		{ "sha384_1m", "image measurement: SHA-384 of 1 MiB (PCR)" },
		{ "rsa2048", "OpenSSL RSA-2048 verify (yardstick)" },
	};
	void *mem;
	int ret;

	b->cpus[1] = b->cpus[0]; /* no peer: what is stolen from the other is not ours */
	for (uint32_t i = 0; i < ROWS; i++)
		b->rows[sr_bench_row(b, rows[i][0], rows[i][1], SR_BENCH_NS)].tree =
			sr_bench_tree(getpid());
	ret = sr_secret_alloc(&mem, sizeof *run.secrets);
	if (ret)
		return sr_reason_set(why, ret, "no protected memory: raise the memlock limit");
	run.secrets = mem;
	run.large = calloc(1, LARGE);
	run.md[0] = EVP_MD_fetch(NULL, "SHA256", NULL);
	run.md[1] = EVP_MD_fetch(NULL, "SHA384", NULL);
	ret = run.large && run.md[0] && run.md[1] ? start_records() : -ENOMEM;
	if (!ret)
		ret = start_ticket();
	if (!ret)
		ret = start_setup();
	if (!ret)
		ret = make_rsa();
	if (!ret)
		ret = start_tables();
	for (uint32_t i = 0; !ret && i < ROWS; i++)
		ret = calibrate(b, i);
	return ret ? sr_reason_set(why, ret, "cannot set up: %s", strerror(-ret)) : 0;
}

static void tear_down(struct sr_bench *b)
{
	(void)b;
	EVP_PKEY_free(run.rsa);
	for (int i = 0; i < 2; i++) {
		EVP_MD_free(run.md[i]);
		EVP_CIPHER_CTX_free(run.evp[i]);
	}
	free(run.large);
	sr_keyring_delete(run.keys);
	if (rig.secrets)
		rig_stop();
	if (!run.secrets)
		return;
	sr_seal_wipe(&run.secrets->submission.seal);
	sr_seal_wipe(&run.secrets->submission.open);
	sr_seal_wipe(&run.secrets->completion.seal);
	sr_seal_wipe(&run.secrets->completion.open);
	sr_secret_free(run.secrets, sizeof *run.secrets);
}

/* Of the page, each operation that has its like here. */
static const struct sr_baseline_line baseline[] = {
	{ ROW_DOCUMENT_COLD, "RSASSA quote verify", 24161, 0, 0, 0 },
	{ ROW_DOCUMENT_CACHED, "RSASSA quote verify", 24161, 0, 0, 0 },
	{ ROW_TICKET_VERIFY, "server.VerifyToken", 24424, 0, 0, 0 },
	{ ROW_TICKET_GET, "server.ParseToken", 430, 0, 0, 0 },
	{ ROW_TICKET_PUT, "token serialize (C)", 21.3, 21.8, 0, 0 },
	{ ROW_TICKET_GET, "token parse (C)", 11.7, 12.1, 0, 0 },
	{ ROW_RECORD_PUT, "-", 0, 0, 0, 0 },
	{ ROW_RECORD_GET, "types.ParseReport", 925, 0, 0, 0 },
	{ ROW_CHALLENGE, "GenerateChallenge", 29358, 0, 0, 0 },
	{ ROW_CHALLENGE_REFUSED, "its limit: 10 a minute and IP", 0, 0, 0, 0 },
	{ ROW_BEGIN_LIMIT, "its limit: 10 a minute and IP", 0, 0, 0, 0 },
	{ ROW_IDENTITY_FIND, "ValidateAIK", 3806, 0, 0, 0 },
	{ ROW_KEY_FIND, "SQLiteAIKStore.GetAIK", 6791, 0, 0, 0 },
	{ ROW_BEGIN_PUT, "EncodeBegin", 412, 0, 0, 0 },
	{ ROW_BEGIN_GET, "DecodeBegin", 306, 0, 0, 0 },
	{ ROW_BEGUN_PUT, "EncodeResult", 243, 0, 0, 0 },
	{ ROW_BEGUN_GET, "DecodeResult", 147, 0, 0, 0 },
	{ ROW_SHA256, "game-binding hash (1 MiB)", 603409, 636024, LARGE, 1.65 },
	{ ROW_SHA384, "-", 0, 0, LARGE, 0 },
	{ ROW_RSA2048, "in the first two lines", 0, 0, 0, 0 },
};

static void json_p99(const struct sr_bench *b)
{
	char text[SR_RANK_TEXT];

	(void)printf(",\"p99_ns\":{");
	for (uint32_t i = 0; i < ROWS; i++)
		(void)printf("%s\"%s\":%s", i ? "," : "", b->rows[i].key,
			     sr_rank_text(text, every_count[i], 99000,
					  sr_bench_rank(every[i], every_count[i], 99000), 1,
					  "null"));
	(void)printf("}");
}

static int report(const struct sr_bench *b)
{
	const struct sr_bench_row *r = b->rows;
	const struct sr_bench_ratio ratios[] = {
		{ "seal_384_over_evp", "seal 384 over bare EVP", &r[ROW_SEAL_384],
		  &r[ROW_EVP_SEAL_384], 0, 0, false },
		{ "open_384_over_evp", "open 384 over bare EVP", &r[ROW_OPEN_384],
		  &r[ROW_EVP_OPEN_384], 0, 0, false },
		{ "seal_128_over_evp", "seal 128 over bare EVP", &r[ROW_SEAL_128],
		  &r[ROW_EVP_SEAL_128], 0, 0, false },
		{ "open_128_over_evp", "open 128 over bare EVP", &r[ROW_OPEN_128],
		  &r[ROW_EVP_OPEN_128], 0, 0, false },
		{ "cold_over_cached", "document: cold over cached", &r[ROW_DOCUMENT_COLD],
		  &r[ROW_DOCUMENT_CACHED], 0, 0, false },
		{ "ticket_over_rsa", "ticket: verify over RSA-2048 verify", &r[ROW_TICKET_VERIFY],
		  &r[ROW_RSA2048], 0, 0, false },
	};
	static double p99_ns[ROWS];
	int code = sr_bench_end(b, ratios, sizeof ratios / sizeof ratios[0]);

	for (uint32_t i = 0; i < ROWS; i++)
		p99_ns[i] = sr_rank_told(every_count[i], 99000) ?
				    sr_bench_rank(every[i], every_count[i], 99000) : 0;
	if (!b->json)
		sr_baseline_print(b, p99_ns, baseline, sizeof baseline / sizeof baseline[0]);
	return code;
}

static struct sr_bench bench = { .name = "bench_session", .rounds = 200, .measure = measure,
				 .test_delay_ns = 20u * SR_NS_PER_MS,
				 .set_up = set_up, .report = report, .tear_down = tear_down,
				 .json_more = json_p99 };

static const struct sr_option options[] = { SR_BENCH_OPTIONS_ROUNDS(bench, "200") };

static const struct sr_program program = {
	.name = "bench_session",
	.purpose = "Records, documents, handshakes and tickets; the seed's baseline beside ours.",
	.operands = "",
	.options = options,
	.option_count = sizeof options / sizeof options[0],
};

int main(int argc, char **argv)
{
	return sr_bench_main(&bench, &program, argc, argv);
}
