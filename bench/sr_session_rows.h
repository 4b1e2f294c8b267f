/* SPDX-License-Identifier: MIT */
/*
 * sr_session_rows.h - the operations that bench_session measures, one call each.
 *
 * Records are sealed and opened in private memory, as in a session; what a session does
 * ahead of need in idle turns is in the figure here. A conversation with the gate has
 * the signer's part timed and the client's not. A benchmark includes it once.
 */
#ifndef SR_SESSION_ROWS_H
#define SR_SESSION_ROWS_H

#include <openssl/evp.h>
#include <openssl/rsa.h>

#include "gate_rig.h"
#include "sr_agent_users.h"
#include "sr_clock.h"
#include "sr_frame.h"
#include "sr_keyring.h"
#include "sr_manifest.h"
#include "sr_message.h"
#include "sr_seal.h"
#include "sr_ticket.h"
#include "sr_type.h"

#define DEPTH 256u
#define SUB_TEXT (SR_SUB_BYTES_DEFAULT - SR_SUB_BODY - SR_TAG_BYTES)
#define LARGE (1u << 20) /* as the seed has it */
#define BODY_MAX (SUB_TEXT - SR_REQ_BODY)
#define KEYS SR_KEYS_MAX
#define USER 1000u

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
	ROW_BEGIN_PUT,
	ROW_BEGIN_GET,
	ROW_BEGUN_PUT,
	ROW_BEGUN_GET,
	ROW_RECORD_PUT,
	ROW_RECORD_GET,
	ROW_CHALLENGE,
	ROW_CHALLENGE_REFUSED,
	ROW_BEGIN_LIMIT,
	ROW_IDENTITY_FIND,
	ROW_KEY_FIND,
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
	struct sr_ticket ticket;
	struct sr_ticket_expect ticket_expect;
	unsigned char ticket_bytes[SR_TICKET_BYTES];
	EVP_MD *md[2];
	unsigned char *large;
	unsigned char begin_bytes[SR_BEGIN_BYTES], begun_bytes[SR_BEGUN_BYTES];
	unsigned char frame[SR_FRAME_HEADER_BYTES + SR_SUB_BYTES_DEFAULT];
	struct sr_keyring *keys;
	struct sr_manifest *manifest;
	struct sr_agent_users users;
	uint64_t finds;
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

/* A whole session, for its ticket: an old one may have expired by the rig's clock. */
static int ticket_get_one(void)
{
	struct sr_setup_config config = rig_setup_config(0);

	rig_converse(&config);
	rig.secrets->ticket = rig.secrets->result.next;
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

/* ---- codecs and tables ---- */

/* Kept by the compiler: it may not know that nobody reads it. */
static inline void keep(const void *bytes)
{
	__asm__ volatile("" ::"r"(bytes) : "memory");
}

static int begin_put(void)
{
	static const struct sr_control_begin begin = { .boot_id = { 1, 2 }, .token = { 3, 4 } };
	static const unsigned char noise[SR_BEGIN_NOISE_BYTES];

	keep(run.begin_bytes);
	return sr_control_begin_put(run.begin_bytes, &begin, noise) == SR_BEGIN_BYTES ? 0 : -EIO;
}

static int begin_get(void)
{
	struct sr_control_begin begin;
	const unsigned char *noise;
	struct sr_control message;

	keep(run.begin_bytes);
	if (sr_control_whole(&message, run.begin_bytes, sizeof run.begin_bytes))
		return -EPROTO;
	return sr_control_begin_get(&begin, &noise, &message);
}

static int begun_put(void)
{
	static const unsigned char noise[SR_BEGUN_NOISE_BYTES];

	keep(run.begun_bytes);
	return sr_control_begun_put(run.begun_bytes, noise) == SR_BEGUN_BYTES ? 0 : -EIO;
}

static int begun_get(void)
{
	struct sr_control message;

	keep(run.begun_bytes);
	if (sr_control_whole(&message, run.begun_bytes, sizeof run.begun_bytes))
		return -EPROTO;
	keep(sr_control_begun_get(&message));
	return 0;
}

/* A frame with a request of 256 bytes in it, as agent and client put it together. */
static int record_put(void)
{
	unsigned char *record = run.frame + SR_FRAME_HEADER_BYTES, *request = record + SR_SUB_BODY;

	keep(run.frame);
	(void)sr_frame_put(run.frame, SR_FRAME_DATA, 5, 1, SR_SUB_BYTES_DEFAULT);
	sr_put64(record, 77);
	sr_put64(record + SR_SUB_DEADLINE, 0);
	record[SR_SUB_KIND] = SR_KIND_SEALED;
	sr_put32(request + SR_REQ_KEY, 1);
	sr_put16(request + SR_REQ_TYPE, SR_ECDSA_SHA256);
	sr_put16(request + SR_REQ_BODY_BYTES, 256);
	memcpy(request + SR_REQ_BODY, run.large, 256);
	memset(request + SR_REQ_BODY + 256, 0, BODY_MAX - 256);
	return 0;
}

/* The frame's length judged, and the fields as the signer reads them. */
static int record_get(void)
{
	const unsigned char *request;
	struct sr_frame frame;

	keep(run.frame);
	if (sr_frame_cut(&frame, run.frame, sizeof run.frame))
		return -EPROTO;
	request = frame.payload + SR_SUB_BODY;
	return frame.payload_bytes == SR_SUB_BYTES_DEFAULT && sr_get64(frame.payload) == 77 &&
			       frame.payload[SR_SUB_KIND] == SR_KIND_SEALED &&
			       sr_get32(request + SR_REQ_KEY) == 1 &&
			       sr_get16(request + SR_REQ_TYPE) == SR_ECDSA_SHA256 &&
			       sr_get16(request + SR_REQ_BODY_BYTES) == 256 &&
			       sr_all_zero(request + SR_REQ_BODY + 256, BODY_MAX - 256) ?
		       0 :
		       -EPROTO;
}

/* Each of them in turn. */
static int key_find(void)
{
	uint32_t id = 1 + (uint32_t)(run.finds++ * 29 % KEYS);

	return sr_keyring_find(run.keys, id) >= 0 ? 0 : -ENOENT;
}

static int identity_find(void)
{
	uint32_t at = (uint32_t)(run.finds++ * 29 % SR_MANIFEST_IDENTITIES_MAX);

	return sr_manifest_identity_find(run.manifest, run.manifest->identities[at].pub) ==
			       (int)at ?
		       0 :
		       -ENOENT;
}

/* What the agent asks itself about a user before it relays a conversation of his. */
static int begin_limit(void)
{
	uint64_t now_ns = RIG_SECOND * 1000 + run.finds++;
	int place = sr_agent_users_enter(&run.users, USER, now_ns);
	bool may = place >= 0 && sr_agent_users_charge(&run.users, place, now_ns);

	if (may)
		sr_agent_users_forgive(&run.users, place);
	if (place >= 0)
		sr_agent_users_leave(&run.users, place);
	return may ? 0 : -EDQUOT;
}

/* ---- what a signer does for a stranger ---- */

/* A nonce in, a document about it out; the client goes away then, which is a failure. */
static int challenge_one(uint64_t *spent_ns)
{
	struct sr_setup_config config = rig_setup_config(0);
	enum sr_gate_verdict verdict;
	uint64_t begin_ns;

	rig.now_ns += 2 * RIG_SECOND; /* it is forgiven */
	if (rig_begin(&config) != SR_SETUP_OK)
		return -EIO;
	begin_ns = sr_now_ns();
	verdict = rig_up();
	*spent_ns += sr_now_ns() - begin_ns;
	sr_gate_leave(rig.gate, &rig.talk, rig.now_ns);
	return verdict == SR_GATE_ANSWER ? 0 : -EIO;
}

/* So many that went away at once that nobody new is let in. */
static int exhaust(void)
{
	enum sr_gate_verdict verdict = SR_GATE_ANSWER;

	for (uint32_t i = 0; verdict == SR_GATE_ANSWER && i < 1000; i++) {
		struct sr_setup_config config = rig_setup_config(0);

		if (rig_begin(&config) != SR_SETUP_OK)
			return -EIO;
		verdict = rig_up();
		sr_gate_leave(rig.gate, &rig.talk, rig.now_ns);
	}
	return verdict == SR_GATE_REFUSED && rig_refusal() == SR_REFUSAL_BUSY ? 0 : -EIO;
}

static int challenge_refused_one(void)
{
	enum sr_gate_verdict verdict;

	sr_gate_enter(rig.gate, &rig.talk, rig.now_ns);
	verdict = rig_up(); /* the ATTEST that exhaust() left */
	sr_gate_leave(rig.gate, &rig.talk, rig.now_ns);
	return verdict == SR_GATE_REFUSED ? 0 : -EIO;
}

/* ---- rows ---- */

/* Records, documents, tickets. */
static int one_of_session(uint32_t at)
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
		keep(run.ticket_bytes);
		return 0;
	case ROW_TICKET_GET:
		keep(run.ticket_bytes);
		return sr_ticket_get(&ticket, run.ticket_bytes, sizeof run.ticket_bytes);
	case ROW_TICKET_VERIFY:
		return sr_ticket_verify(&run.secrets->ticket_key, &run.ticket, &run.ticket_expect);
	default:
		return -ENOSYS;
	}
}

static int one(uint32_t at)
{
	switch (at) {
	case ROW_BEGIN_PUT:
		return begin_put();
	case ROW_BEGIN_GET:
		return begin_get();
	case ROW_BEGUN_PUT:
		return begun_put();
	case ROW_BEGUN_GET:
		return begun_get();
	case ROW_RECORD_PUT:
		return record_put();
	case ROW_RECORD_GET:
		return record_get();
	case ROW_CHALLENGE_REFUSED:
		return challenge_refused_one();
	case ROW_BEGIN_LIMIT:
		return begin_limit();
	case ROW_IDENTITY_FIND:
		return identity_find();
	case ROW_KEY_FIND:
		return key_find();
	case ROW_SHA256:
	case ROW_SHA384:
		return hash_one(run.md[at - ROW_SHA256]);
	case ROW_RSA2048:
		return rsa_one();
	default:
		return one_of_session(at);
	}
}

#endif /* SR_SESSION_ROWS_H */
