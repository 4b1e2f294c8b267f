/* SPDX-License-Identifier: MIT */
#include "sr_control.h"
#include "sr_relay.h"

#include <openssl/err.h>
#include <openssl/evp.h>

enum {
	AT_BYTES = 0,
	AT_KIND = 4,
	AT_VERSION = 8,
	AT_RESERVED = 10,

	AT_ATTEST_NONCE = 16,

	AT_TERMS = 16, /* DOCUMENT's; offsets within: */
	TERMS_BOOT = 0,
	TERMS_VERSION = 16,
	TERMS_MANIFEST = 24,
	TERMS_AUDIT = 56,
	TERMS_BYTES = 88,

	AT_BEGIN_FLAGS = 10,
	AT_BEGIN_RESERVED = 12,
	AT_BEGIN_BOOT = 16,
	AT_BEGIN_TOKEN = 32,
	AT_BEGIN_NONCE = 48,
	AT_BEGIN_BINDING = 80,
	AT_BEGIN_TICKET = 112,
	AT_BEGIN_NOISE = 216,

	AT_CODE = 8,
	AT_CODE_RESERVED = 12,

	REQUEST_FIRST = 0,
	REQUEST_DEPTH = 8,
	REQUEST_SLOT = 12,
	REQUEST_FLAGS = 16,
	REQUEST_RESERVED = 20,
	REQUEST_PREDECESSOR = 24,

	GRANT_FLAGS = 0,
	GRANT_DEPTH = 4,
	GRANT_SLOT = 8,
	GRANT_SESSIONS = 12,
	GRANT_RESERVED = 16,
	GRANT_TICKET = 40,
	GRANT_SECRET = 144,
};

#define BEGIN_HAS_TICKET 1u
#define BEGIN_OPERATOR 2u
#define GRANT_HAS_TICKET 2u
#define GRANT_RESERVED_BYTES (GRANT_TICKET - GRANT_RESERVED)
#define ROLE_TRADER 1u
#define ROLE_OPERATOR 2u

/* What an agent reads of a message that it relays. */
SR_STATIC_ASSERT((int)AT_KIND == 4 && (int)AT_BEGIN_FLAGS == (int)SR_RELAY_FLAGS &&
			 BEGIN_OPERATOR == SR_RELAY_OPERATOR,
		 "relay ABI");
SR_STATIC_ASSERT(SR_CONTROL_HEADER_BYTES == SR_RELAY_HEADER_BYTES &&
			 SR_CONTROL_BYTES_MAX == SR_RELAY_BYTES_MAX,
		 "relay ABI");
SR_STATIC_ASSERT((int)SR_CONTROL_BEGIN == (int)SR_RELAY_BEGIN &&
			 (int)SR_CONTROL_BEGUN == (int)SR_RELAY_BEGUN &&
			 (int)SR_CONTROL_REFUSED == (int)SR_RELAY_REFUSED &&
			 (int)SR_CONTROL_SEALED == (int)SR_RELAY_SEALED,
		 "relay ABI");
#define VERSION_BYTES 2u

SR_STATIC_ASSERT(AT_TERMS + TERMS_BYTES == SR_DOCUMENT_HEADER_BYTES, "control ABI");
SR_STATIC_ASSERT(AT_BEGIN_NOISE + SR_BEGIN_NOISE_BYTES == SR_BEGIN_BYTES, "control ABI");
SR_STATIC_ASSERT(REQUEST_PREDECESSOR + 16 == SR_REQUEST_BYTES, "control ABI");
SR_STATIC_ASSERT(GRANT_SECRET + SR_TICKET_SECRET_BYTES == SR_GRANT_BYTES, "control ABI");

/* With their zero bytes, which part a label from what follows it. */
static const char label_boot[] = "sigring boot";
static const char label_terms[] = "sigring terms";
static const char label_document[] = "sigring document";
static const char label_session[] = "sigring session";

SR_STATIC_ASSERT(sizeof label_session + 2 + SR_ATTEST_PCR_BYTES + SR_CONTROL_HASH_BYTES +
				 AT_BEGIN_NOISE - AT_VERSION ==
			 SR_PROLOGUE_BYTES,
		 "a prologue's bytes");

static const char *const refusals[SR_REFUSALS] = {
	[SR_REFUSAL_MESSAGE] = "the signer could not read our message",
	[SR_REFUSAL_VERSION] = "the signer speaks another version of this protocol: update "
			       "the older of the two",
	[SR_REFUSAL_TURN] = "the signer had not asked for this message yet, or had it before",
	[SR_REFUSAL_LATE] = "the conversation took too long; begin another",
	[SR_REFUSAL_BUSY] = "too many set-ups have failed lately; wait before the next",
	[SR_REFUSAL_EVIDENCE] = "the signer got no attestation document from its module",
	[SR_REFUSAL_BOOT] = "the signer has been started again since; attest it again",
	[SR_REFUSAL_NONCE] = "the nonce is not that of the document",
	[SR_REFUSAL_BINDING] = "the signer's document or manifest is another one now; attest "
			       "it again",
	[SR_REFUSAL_TICKET] = "the ticket is not this signer's, or not for this client; "
			      "attest again",
	[SR_REFUSAL_TICKET_EXPIRED] = "the ticket has expired; attest again",
	[SR_REFUSAL_TICKET_SPENT] = "the ticket was used before, or is too old to tell; "
				    "attest again",
	[SR_REFUSAL_HANDSHAKE] = "the signer found the handshake not authentic",
	[SR_REFUSAL_IDENTITY] = "the manifest in force does not name this client's key",
	[SR_REFUSAL_IDENTITY_BUSY] = "too many set-ups of this client have failed lately; "
				     "wait before the next",
	[SR_REFUSAL_REQUEST] = "the signer does not understand what was asked for",
	[SR_REFUSAL_SIZES] = "the signer does not take this depth or slot size",
	[SR_REFUSAL_TOKEN] = "the session's token is zero, that of its predecessor, or in use",
	[SR_REFUSAL_WAITING] = "too many sessions were begun that have sent nothing yet; use "
			       "them, or wait",
	[SR_REFUSAL_INTERNAL] = "the signer failed by itself; see its log",
	[SR_REFUSAL_OPERATORS] = "the signer was started without operators and obeys none",
	[SR_REFUSAL_OPERATORS_BUSY] = "as many operators as may be are with the signer now; wait",
	[SR_REFUSAL_SEALED] = "the signer found what the operator sent not authentic",
};

const char *sr_refusal_text(uint32_t code)
{
	if (code < SR_REFUSALS && refusals[code])
		return refusals[code];
	return "the signer refused for a reason that this version does not know";
}

/* ---- messages ---- */

static bool bytes_fit(uint32_t kind, uint32_t bytes)
{
	switch (kind) {
	case SR_CONTROL_ATTEST:
		return bytes == SR_ATTEST_MESSAGE_BYTES;
	case SR_CONTROL_DOCUMENT:
		return bytes > SR_DOCUMENT_HEADER_BYTES && bytes <= SR_CONTROL_BYTES_MAX;
	case SR_CONTROL_BEGIN:
		return bytes == SR_BEGIN_BYTES;
	case SR_CONTROL_BEGUN:
		return bytes == SR_BEGUN_BYTES;
	case SR_CONTROL_REFUSED:
		return bytes == SR_REFUSED_BYTES;
	case SR_CONTROL_SEALED:
		return bytes >= SR_SEALED_BYTES_MIN && bytes <= SR_CONTROL_BYTES_MAX;
	default:
		return false;
	}
}

int sr_control_cut(struct sr_control *message, const unsigned char *data, size_t bytes)
{
	uint32_t whole, kind;

	if (bytes < SR_CONTROL_HEADER_BYTES)
		return -EAGAIN;
	whole = sr_get32(data + AT_BYTES);
	kind = sr_get32(data + AT_KIND);
	if (!bytes_fit(kind, whole))
		return -EPROTO;
	if (bytes < whole)
		return -EAGAIN;

	message->kind = kind;
	message->bytes = whole;
	message->data = data;
	return 0;
}

int sr_control_whole(struct sr_control *message, const unsigned char *data, size_t bytes)
{
	struct sr_control cut;

	if (sr_control_cut(&cut, data, bytes) || cut.bytes != bytes)
		return -EPROTO;
	*message = cut;
	return 0;
}

static void put_header(unsigned char *out, uint32_t kind, uint32_t bytes)
{
	sr_put32(out + AT_BYTES, bytes);
	sr_put32(out + AT_KIND, kind);
}

static void put_version(unsigned char *out)
{
	sr_put16(out + AT_VERSION, SR_CONTROL_VERSION);
	memset(out + AT_RESERVED, 0, 6);
}

/* The version first: another one may mean something by what is reserved in ours. */
static int judge_version(const struct sr_control *message, uint32_t kind, size_t reserved_bytes)
{
	if (message->kind != kind)
		return -EPROTO;
	if (sr_get16(message->data + AT_VERSION) != SR_CONTROL_VERSION)
		return -EPROTONOSUPPORT;
	return sr_all_zero(message->data + AT_RESERVED, reserved_bytes) ? 0 : -EPROTO;
}

uint32_t sr_control_attest_put(unsigned char out[SR_ATTEST_MESSAGE_BYTES],
			       const unsigned char nonce[SR_CONTROL_NONCE_BYTES])
{
	put_header(out, SR_CONTROL_ATTEST, SR_ATTEST_MESSAGE_BYTES);
	put_version(out);
	memcpy(out + AT_ATTEST_NONCE, nonce, SR_CONTROL_NONCE_BYTES);
	return SR_ATTEST_MESSAGE_BYTES;
}

int sr_control_attest_get(unsigned char nonce[SR_CONTROL_NONCE_BYTES],
			  const struct sr_control *message)
{
	int ret = judge_version(message, SR_CONTROL_ATTEST, 6);

	if (!ret)
		memcpy(nonce, message->data + AT_ATTEST_NONCE, SR_CONTROL_NONCE_BYTES);
	return ret;
}

static void put_terms(unsigned char out[TERMS_BYTES], const struct sr_terms *terms)
{
	sr_put64(out + TERMS_BOOT, terms->boot_id[0]);
	sr_put64(out + TERMS_BOOT + 8, terms->boot_id[1]);
	sr_put64(out + TERMS_VERSION, terms->manifest_version);
	memcpy(out + TERMS_MANIFEST, terms->manifest_hash, sizeof terms->manifest_hash);
	memcpy(out + TERMS_AUDIT, terms->audit_key, sizeof terms->audit_key);
}

uint32_t sr_control_document_put(unsigned char *out, const struct sr_terms *terms,
				 size_t document_bytes)
{
	uint32_t bytes = SR_DOCUMENT_HEADER_BYTES + (uint32_t)document_bytes;

	put_header(out, SR_CONTROL_DOCUMENT, bytes);
	put_version(out);
	put_terms(out + AT_TERMS, terms);
	return bytes;
}

int sr_control_document_get(struct sr_control_document *document, const struct sr_control *message)
{
	const unsigned char *in = message->data + AT_TERMS;
	struct sr_terms *terms = &document->terms;
	int ret = judge_version(message, SR_CONTROL_DOCUMENT, 6);

	if (ret)
		return ret;
	terms->boot_id[0] = sr_get64(in + TERMS_BOOT);
	terms->boot_id[1] = sr_get64(in + TERMS_BOOT + 8);
	terms->manifest_version = sr_get64(in + TERMS_VERSION);
	memcpy(terms->manifest_hash, in + TERMS_MANIFEST, sizeof terms->manifest_hash);
	memcpy(terms->audit_key, in + TERMS_AUDIT, sizeof terms->audit_key);
	document->data = message->data + SR_DOCUMENT_HEADER_BYTES;
	document->bytes = message->bytes - SR_DOCUMENT_HEADER_BYTES;
	return 0;
}

/* Everything of BEGIN but for the handshake's message. */
static void put_begin(unsigned char out[AT_BEGIN_NOISE], const struct sr_control_begin *begin)
{
	put_header(out, SR_CONTROL_BEGIN, SR_BEGIN_BYTES);
	put_version(out);
	sr_put16(out + AT_BEGIN_FLAGS, begin->has_ticket    ? BEGIN_HAS_TICKET :
					     begin->is_operator ? BEGIN_OPERATOR :
								  0);
	sr_put64(out + AT_BEGIN_BOOT, begin->boot_id[0]);
	sr_put64(out + AT_BEGIN_BOOT + 8, begin->boot_id[1]);
	sr_put64(out + AT_BEGIN_TOKEN, begin->token[0]);
	sr_put64(out + AT_BEGIN_TOKEN + 8, begin->token[1]);
	memcpy(out + AT_BEGIN_NONCE, begin->nonce, sizeof begin->nonce);
	memcpy(out + AT_BEGIN_BINDING, begin->binding, sizeof begin->binding);
	memset(out + AT_BEGIN_TICKET, 0, sizeof begin->ticket);
	if (begin->has_ticket)
		memcpy(out + AT_BEGIN_TICKET, begin->ticket, sizeof begin->ticket);
}

uint32_t sr_control_begin_put(unsigned char out[SR_BEGIN_BYTES],
			      const struct sr_control_begin *begin,
			      const unsigned char noise[SR_BEGIN_NOISE_BYTES])
{
	put_begin(out, begin);
	memcpy(out + AT_BEGIN_NOISE, noise, SR_BEGIN_NOISE_BYTES);
	return SR_BEGIN_BYTES;
}

int sr_control_begin_get(struct sr_control_begin *begin, const unsigned char **noise,
			 const struct sr_control *message)
{
	const unsigned char *in = message->data;
	int ret = judge_version(message, SR_CONTROL_BEGIN, 0);
	uint16_t flags;

	if (ret)
		return ret;
	flags = sr_get16(in + AT_BEGIN_FLAGS);
	if (flags > BEGIN_OPERATOR || sr_get32(in + AT_BEGIN_RESERVED) ||
	    (flags != BEGIN_HAS_TICKET && !sr_all_zero(in + AT_BEGIN_TICKET, SR_TICKET_BYTES)))
		return -EPROTO;

	begin->has_ticket = flags == BEGIN_HAS_TICKET;
	begin->is_operator = flags == BEGIN_OPERATOR;
	begin->boot_id[0] = sr_get64(in + AT_BEGIN_BOOT);
	begin->boot_id[1] = sr_get64(in + AT_BEGIN_BOOT + 8);
	begin->token[0] = sr_get64(in + AT_BEGIN_TOKEN);
	begin->token[1] = sr_get64(in + AT_BEGIN_TOKEN + 8);
	memcpy(begin->nonce, in + AT_BEGIN_NONCE, sizeof begin->nonce);
	memcpy(begin->binding, in + AT_BEGIN_BINDING, sizeof begin->binding);
	memcpy(begin->ticket, in + AT_BEGIN_TICKET, sizeof begin->ticket);
	*noise = in + AT_BEGIN_NOISE;
	return 0;
}

uint32_t sr_control_begun_put(unsigned char out[SR_BEGUN_BYTES],
			      const unsigned char noise[SR_BEGUN_NOISE_BYTES])
{
	put_header(out, SR_CONTROL_BEGUN, SR_BEGUN_BYTES);
	memcpy(out + SR_CONTROL_HEADER_BYTES, noise, SR_BEGUN_NOISE_BYTES);
	return SR_BEGUN_BYTES;
}

const unsigned char *sr_control_begun_get(const struct sr_control *message)
{
	return message->data + SR_CONTROL_HEADER_BYTES;
}

uint32_t sr_control_refused_put(unsigned char out[SR_REFUSED_BYTES], enum sr_refusal code)
{
	put_header(out, SR_CONTROL_REFUSED, SR_REFUSED_BYTES);
	sr_put32(out + AT_CODE, code);
	sr_put32(out + AT_CODE_RESERVED, 0);
	return SR_REFUSED_BYTES;
}

int sr_control_refused_get(uint32_t *code, const struct sr_control *message)
{
	if (message->kind != SR_CONTROL_REFUSED || sr_get32(message->data + AT_CODE_RESERVED))
		return -EPROTO;
	*code = sr_get32(message->data + AT_CODE);
	return 0;
}

/* ---- payloads ---- */

void sr_session_request_put(unsigned char out[SR_REQUEST_BYTES],
			    const struct sr_session_request *request)
{
	sr_put64(out + REQUEST_FIRST, request->first);
	sr_put32(out + REQUEST_DEPTH, request->depth);
	sr_put32(out + REQUEST_SLOT, request->slot_bytes);
	sr_put32(out + REQUEST_FLAGS, request->flags);
	sr_put32(out + REQUEST_RESERVED, 0);
	sr_put64(out + REQUEST_PREDECESSOR, request->predecessor[0]);
	sr_put64(out + REQUEST_PREDECESSOR + 8, request->predecessor[1]);
}

int sr_session_request_get(struct sr_session_request *request,
			   const unsigned char in[SR_REQUEST_BYTES])
{
	uint32_t flags = sr_get32(in + REQUEST_FLAGS);

	if (flags & ~SR_REQUEST_FLAGS || sr_get32(in + REQUEST_RESERVED))
		return -EPROTO;
	request->first = sr_get64(in + REQUEST_FIRST);
	request->depth = sr_get32(in + REQUEST_DEPTH);
	request->slot_bytes = sr_get32(in + REQUEST_SLOT);
	request->flags = flags;
	request->predecessor[0] = sr_get64(in + REQUEST_PREDECESSOR);
	request->predecessor[1] = sr_get64(in + REQUEST_PREDECESSOR + 8);
	return 0;
}

void sr_grant_put(unsigned char out[SR_GRANT_BYTES], const struct sr_grant *grant)
{
	memset(out, 0, SR_GRANT_BYTES);
	sr_put32(out + GRANT_FLAGS, grant->has_ticket ? GRANT_HAS_TICKET : 0);
	sr_put32(out + GRANT_DEPTH, grant->depth_max);
	sr_put32(out + GRANT_SLOT, grant->slot_bytes_max);
	sr_put32(out + GRANT_SESSIONS, grant->sessions_max);
	if (grant->has_ticket) {
		memcpy(out + GRANT_TICKET, grant->ticket, sizeof grant->ticket);
		memcpy(out + GRANT_SECRET, grant->secret, sizeof grant->secret);
	}
}

int sr_grant_get(struct sr_grant *grant, const unsigned char in[SR_GRANT_BYTES])
{
	uint32_t flags = sr_get32(in + GRANT_FLAGS);

	if (flags & ~GRANT_HAS_TICKET || !sr_all_zero(in + GRANT_RESERVED, GRANT_RESERVED_BYTES))
		return -EPROTO;
	grant->depth_max = sr_get32(in + GRANT_DEPTH);
	grant->slot_bytes_max = sr_get32(in + GRANT_SLOT);
	grant->sessions_max = sr_get32(in + GRANT_SESSIONS);
	grant->has_ticket = flags & GRANT_HAS_TICKET;
	memcpy(grant->ticket, in + GRANT_TICKET, sizeof grant->ticket);
	memcpy(grant->secret, in + GRANT_SECRET, sizeof grant->secret);
	return 0;
}

/* ---- hashes, and the prologue ---- */

struct part {
	const void *data;
	size_t bytes;
};

static int hash_parts(unsigned char hash[SR_CONTROL_HASH_BYTES], const struct part *parts,
		      size_t count)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	EVP_MD_CTX *ctx;
	bool good;

	(void)ERR_set_mark();
	ctx = EVP_MD_CTX_new();
	good = ctx && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) == 1;
	for (size_t i = 0; i < count && good; i++)
		good = EVP_DigestUpdate(ctx, parts[i].data, parts[i].bytes) == 1;
	good = good && EVP_DigestFinal_ex(ctx, digest, NULL) == 1;
	EVP_MD_CTX_free(ctx);
	(void)ERR_pop_to_mark();
	if (good)
		memcpy(hash, digest, SR_CONTROL_HASH_BYTES);
	return good ? 0 : -EIO;
}

int sr_terms_hash(unsigned char hash[SR_CONTROL_HASH_BYTES], const struct sr_terms *terms)
{
	unsigned char bytes[VERSION_BYTES + TERMS_BYTES];
	const struct part parts[] = {
		{ label_terms, sizeof label_terms },
		{ bytes, sizeof bytes },
	};

	sr_put16(bytes, SR_CONTROL_VERSION);
	put_terms(bytes + VERSION_BYTES, terms);
	return hash_parts(hash, parts, 2);
}

int sr_boot_hash(unsigned char hash[SR_CONTROL_HASH_BYTES], const uint64_t boot_id[2],
		 const unsigned char *public_key)
{
	unsigned char id[2 * sizeof *boot_id];
	const struct part parts[] = {
		{ label_boot, sizeof label_boot },
		{ id, sizeof id },
		{ public_key, SR_NOISE_KEY_BYTES },
	};

	sr_put64(id, boot_id[0]);
	sr_put64(id + sizeof *boot_id, boot_id[1]);
	return hash_parts(hash, parts, 3);
}

int sr_document_hash(unsigned char hash[SR_CONTROL_HASH_BYTES], const unsigned char *document,
		     size_t bytes)
{
	const struct part parts[] = {
		{ label_document, sizeof label_document },
		{ document, bytes },
	};

	return hash_parts(hash, parts, 2);
}

void sr_prologue_put(unsigned char out[SR_PROLOGUE_BYTES],
		     const unsigned char pcr0[SR_ATTEST_PCR_BYTES],
		     const unsigned char terms_hash[SR_CONTROL_HASH_BYTES],
		     const struct sr_control_begin *begin)
{
	unsigned char message[AT_BEGIN_NOISE];

	put_begin(message, begin);
	memcpy(out, label_session, sizeof label_session);
	out += sizeof label_session;
	sr_put16(out, begin->is_operator ? ROLE_OPERATOR : ROLE_TRADER);
	out += 2;
	memcpy(out, pcr0, SR_ATTEST_PCR_BYTES);
	out += SR_ATTEST_PCR_BYTES;
	memcpy(out, terms_hash, SR_CONTROL_HASH_BYTES);
	out += SR_CONTROL_HASH_BYTES;
	memcpy(out, message + AT_VERSION, AT_BEGIN_NOISE - AT_VERSION);
}
