/* SPDX-License-Identifier: MIT */
/*
 * bench_session - what a sealed, attested session costs, piece by piece.
 *
 * One thread on one CPU. Each round measures every row once: batches of one operation,
 * long enough for the clock (their length is found before the run), and the row's
 * figure of the round is the median batch divided by its operations. Records are
 * sealed and opened in private memory, as in a session, and what a session does ahead
 * of need in idle turns is in the figure here. RSA-2048's verification by OpenSSL is a yardstick, so that figures of
 * another machine can be compared.
 */
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include "gate_rig.h"
#include "sr_bench.h"
#include "sr_seal.h"
#include "sr_ticket.h"

#define BATCHES 5u
#define BATCH_NS (300u * 1000u)
#define DEPTH 256u
#define SUB_TEXT (SR_SUB_BYTES_DEFAULT - SR_SUB_BODY - SR_TAG_BYTES)
#define LARGE (256u << 10)

enum {
	ROW_SEAL_384,
	ROW_OPEN_384,
	ROW_SEAL_128,
	ROW_OPEN_128,
	ROW_EVP_SEAL_384,
	ROW_EVP_OPEN_384,
	ROW_EVP_SEAL_128,
	ROW_EVP_OPEN_128,
	ROW_DOCUMENT_COLD,
	ROW_DOCUMENT_CACHED,
	ROW_HANDSHAKE_GATE,
	ROW_SETUP_TICKET,
	ROW_TICKET_PUT,
	ROW_TICKET_GET,
	ROW_TICKET_VERIFY,
	ROW_CODEC_BEGIN,
	ROW_SHA256,
	ROW_SHA384,
	ROW_RSA2048,
	ROWS
};

/* One direction of a session, both ends; in protected memory. */
struct direction {
	struct sr_seal seal, open;
	uint64_t sealed, opened;
	uint32_t record_bytes;
	unsigned char record[DEPTH][SR_SUB_BYTES_DEFAULT];
	unsigned char text[SR_SUB_BYTES_DEFAULT];
};

struct secrets {
	struct sr_noise_keys keys;
	struct direction submission, completion;
	struct sr_ticket_key ticket_key;
	unsigned char key[32];
};

static struct {
	struct secrets *secrets;
	uint32_t per_batch[ROWS];
	EVP_CIPHER_CTX *evp[2]; /* seals, opens */
	unsigned char evp_text[512], evp_sealed[512], evp_tag[16];
	uint64_t evp_number;
	unsigned char document[SR_CONTROL_BYTES_MAX];
	size_t document_bytes;
	struct rig_bytes begin; /* BEGIN of a client that the gate has not seen */
	struct sr_gate_talk talk;
	struct sr_ticket ticket;
	struct sr_ticket_expect ticket_expect;
	unsigned char ticket_bytes[SR_TICKET_BYTES];
	EVP_MD *md[2];
	unsigned char *large;
	EVP_PKEY *rsa;
	unsigned char rsa_sig[256], rsa_digest[32];
} run;

/* ---- records ---- */

static int direction_start(struct direction *d, enum sr_seal_direction which, uint32_t bytes)
{
	struct sr_seal_config config = {
		.keys = &run.secrets->keys,
		.direction = which,
		.way = SR_AEAD_SEAL,
		.record_bytes = bytes,
		.depth = DEPTH,
	};
	int ret = sr_seal_init(&d->seal, &config);

	config.way = SR_AEAD_OPEN;
	d->record_bytes = bytes;
	return ret ? ret : sr_seal_init(&d->open, &config);
}

static int seal_one(struct direction *d)
{
	unsigned char *record = d->record[d->sealed % DEPTH];

	sr_put64(record, d->sealed);
	(void)sr_seal_step(&d->seal);
	return sr_seal_apply(&d->seal, d->sealed++, record);
}

/* Opens what was sealed for it before the batch. */
static int open_one(struct direction *d)
{
	uint64_t n = d->opened++;

	(void)sr_seal_step(&d->open);
	return sr_seal_open(&d->open, n, d->text, d->record[n % DEPTH]);
}

static int catch_up(struct direction *d)
{
	int ret = 0;

	while (!ret && d->opened < d->sealed)
		ret = open_one(d);
	return ret;
}

/* Nonce, header as associated data, body, tag: what a record needs, and no more. */
static int evp_one(bool seal, int header, int body)
{
	EVP_CIPHER_CTX *ctx = run.evp[seal ? 0 : 1];
	unsigned char nonce[12] = { 0 };
	unsigned char *in = seal ? run.evp_text : run.evp_sealed;
	unsigned char *out = seal ? run.evp_sealed : run.evp_text;
	int n;

	sr_put64(nonce + 4, seal ? ++run.evp_number : run.evp_number);
	if (!EVP_CipherInit_ex(ctx, NULL, NULL, NULL, nonce, -1) ||
	    !EVP_CipherUpdate(ctx, NULL, &n, run.evp_text + 400, header) ||
	    !EVP_CipherUpdate(ctx, out, &n, in, body))
		return -EIO;
	if (!seal && !EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, 16, run.evp_tag))
		return -EIO;
	if (EVP_CipherFinal_ex(ctx, out + n, &n) != 1)
		return -EIO;
	return !seal || EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, 16, run.evp_tag) ? 0 : -EIO;
}

/* ---- attestation and handshake ---- */

static int document_one(struct sr_attest_cache *cache)
{
	struct sr_attest_doc doc;

	return sr_attest_document(&doc, run.document, run.document_bytes, &rig.expect.root,
				  rig.unix_ms, cache) == SR_ATTEST_OK ?
		       0 :
		       -EBADMSG;
}

static int make_document(void)
{
	unsigned char nonce[32] = { 1 };
	const struct sr_gate_question question = { nonce, nonce, nonce };

	return rig_attest(&rig, run.document, &run.document_bytes, &question);
}

/* The signer's part: BEGIN in, BEGUN and an admission out. What the client does in
 * between is not its time. */
static int gate_one(uint64_t *spent_ns)
{
	struct sr_setup_config config = rig_setup_config(0);
	uint64_t begin_ns;

	rig.now_ns += RIG_SECOND;
	rig_to_begin(&config);
	begin_ns = sr_now_ns();
	if (rig_up() != SR_GATE_ADMIT)
		return -EIO;
	*spent_ns += sr_now_ns() - begin_ns;
	sr_gate_leave(rig.gate, &rig.talk, rig.now_ns);
	sr_gate_settle(rig.gate, config.token);
	return 0;
}

/* Both ends of re-opening with a ticket, from BEGIN to keys. */
static int ticket_setup_one(void)
{
	struct sr_setup_config config = rig_setup_config(0);

	rig.now_ns += RIG_SECOND;
	config.ticket = &rig.secrets->ticket;
	rig_converse(&config);
	if (!rig.secrets->result.grant.has_ticket)
		return -EIO;
	rig.secrets->ticket = rig.secrets->result.next;
	return 0;
}

/* ---- hashes, RSA ---- */

static int hash_one(const EVP_MD *md)
{
	unsigned char digest[64];

	return EVP_Digest(run.large, LARGE, digest, NULL, md, NULL) ? 0 : -EIO;
}

static int rsa_one(void)
{
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new(run.rsa, NULL);
	int good = ctx && EVP_PKEY_verify_init(ctx) == 1 &&
		   EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_PADDING) == 1 &&
		   EVP_PKEY_CTX_set_signature_md(ctx, EVP_sha256()) == 1 &&
		   EVP_PKEY_verify(ctx, run.rsa_sig, sizeof run.rsa_sig, run.rsa_digest,
				   sizeof run.rsa_digest) == 1;

	EVP_PKEY_CTX_free(ctx);
	return good ? 0 : -EIO;
}

static int make_rsa(void)
{
	size_t bytes = sizeof run.rsa_sig;
	EVP_PKEY_CTX *ctx;
	int good;

	run.rsa = EVP_RSA_gen(2048);
	ctx = run.rsa ? EVP_PKEY_CTX_new(run.rsa, NULL) : NULL;
	good = ctx && EVP_PKEY_sign_init(ctx) == 1 &&
	       EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_PADDING) == 1 &&
	       EVP_PKEY_CTX_set_signature_md(ctx, EVP_sha256()) == 1 &&
	       EVP_PKEY_sign(ctx, run.rsa_sig, &bytes, run.rsa_digest, sizeof run.rsa_digest) == 1;
	EVP_PKEY_CTX_free(ctx);
	return good ? 0 : -EIO;
}

/* ---- rows ---- */

static int codec_one(void)
{
	static struct sr_control_begin begin;
	unsigned char out[SR_BEGIN_BYTES], noise[SR_BEGIN_NOISE_BYTES] = { 0 };
	const unsigned char *got;
	struct sr_control message;

	(void)sr_control_begin_put(out, &begin, noise);
	if (sr_control_whole(&message, out, sizeof out))
		return -EPROTO;
	return sr_control_begin_get(&begin, &got, &message);
}

static int one(uint32_t at)
{
	struct direction *sub = &run.secrets->submission, *cmp = &run.secrets->completion;
	struct sr_ticket ticket;

	switch (at) {
	case ROW_SEAL_384:
		return seal_one(sub);
	case ROW_SEAL_128:
		return seal_one(cmp);
	case ROW_OPEN_384:
		return open_one(sub);
	case ROW_OPEN_128:
		return open_one(cmp);
	case ROW_EVP_SEAL_384:
	case ROW_EVP_OPEN_384:
		return evp_one(at == ROW_EVP_SEAL_384, SR_SUB_BODY, SUB_TEXT);
	case ROW_EVP_SEAL_128:
	case ROW_EVP_OPEN_128:
		return evp_one(at == ROW_EVP_SEAL_128, SR_CMP_BODY, SR_CMP_BODY_BYTES);
	case ROW_DOCUMENT_COLD:
		return document_one(NULL);
	case ROW_DOCUMENT_CACHED:
		return document_one(&rig.cache);
	case ROW_SETUP_TICKET:
		return ticket_setup_one();
	case ROW_TICKET_PUT:
		sr_ticket_put(run.ticket_bytes, &run.ticket);
		__asm__ volatile("" ::"r"(run.ticket_bytes) : "memory");
		return 0;
	case ROW_TICKET_GET:
		__asm__ volatile("" ::"r"(run.ticket_bytes) : "memory");
		return sr_ticket_get(&ticket, run.ticket_bytes, sizeof run.ticket_bytes);
	case ROW_TICKET_VERIFY:
		return sr_ticket_verify(&run.secrets->ticket_key, &run.ticket, &run.ticket_expect);
	case ROW_CODEC_BEGIN:
		return codec_one();
	case ROW_SHA256:
	case ROW_SHA384:
		return hash_one(run.md[at - ROW_SHA256]);
	default:
		return rsa_one();
	}
}

/* What has to be there before a batch, and is not its time. */
static int prepare(uint32_t at, uint32_t count)
{
	struct direction *d = at == ROW_OPEN_384 || at == ROW_SEAL_384 ?
				      &run.secrets->submission :
				      &run.secrets->completion;
	int ret = 0;

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
		else
			ret = one(at);
		if (delay_ns)
			sr_bench_spin(delay_ns);
	}
	if (at != ROW_HANDSHAKE_GATE)
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
	struct sr_setup_config config;
	int ret = rig_start();

	if (ret)
		return ret;
	ret = make_document();
	if (!ret)
		ret = document_one(&rig.cache); /* so that the chain is known */
	if (ret)
		return ret;
	config = rig_setup_config(0);
	rig_converse(&config);
	rig.secrets->ticket = rig.secrets->result.next;
	return 0;
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
		{ "begin_codec", "BEGIN: write and read" },
		{ "sha256_256k", "SHA-256 of 256 KiB" },
		{ "sha384_256k", "SHA-384 of 256 KiB" },
		{ "rsa2048", "OpenSSL RSA-2048 verify (yardstick)" },
	};
	void *mem;
	int ret;

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
	for (uint32_t i = 0; !ret && i < ROWS; i++)
		ret = calibrate(b, i);
	return ret ? sr_reason_set(why, ret, "cannot set up: %s", strerror(-ret)) : 0;
}

static void tear_down(void)
{
	EVP_PKEY_free(run.rsa);
	for (int i = 0; i < 2; i++) {
		EVP_MD_free(run.md[i]);
		EVP_CIPHER_CTX_free(run.evp[i]);
	}
	free(run.large);
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
	int code = sr_bench_end(b, ratios, sizeof ratios / sizeof ratios[0]);

	if (!b->json)
		(void)printf("SHA-256 %.2f GiB/s, SHA-384 %.2f GiB/s\n",
			     LARGE / sr_bench_of(&r[ROW_SHA256], SR_BENCH_SHARE_ALL / 2) / 1.073741824,
			     LARGE / sr_bench_of(&r[ROW_SHA384], SR_BENCH_SHARE_ALL / 2) / 1.073741824);
	return code;
}

static struct sr_bench bench = { .name = "bench_session", .rounds = 50, .measure = measure,
				 .test_delay_ns = 20u * SR_NS_PER_MS };

static const struct sr_option options[] = { SR_BENCH_OPTIONS_ROUNDS(bench, "50") };

static const struct sr_program program = {
	.name = "bench_session",
	.purpose = "Records, documents, handshakes and tickets of sealed sessions.",
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
	bench.cpus[1] = bench.cpus[0]; /* no peer: what is stolen from the other is not ours */
	ret = set_up(&bench, &why);
	if (ret == 0)
		ret = sr_bench_delay(&bench, &why);
	if (ret == 0)
		ret = bench.selftest ? sr_bench_selftest(&bench) : sr_bench_run(&bench);
	if (ret == 0 && !bench.selftest)
		ret = report(&bench);
	tear_down();
	return ret < 0 ? sr_bench_fail(&bench, ret, &why) : ret;
}
