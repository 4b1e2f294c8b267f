/* SPDX-License-Identifier: MIT */
#include "sr_setup.h"

#include "sr_secret.h"

/* Zeroed memory is over. */
enum { OVER = 0, ASKED, BEGINNING, DONE };

static const char *const texts[SR_SETUP_CODES] = {
	[SR_SETUP_OK] = "no error",
	[SR_SETUP_CONFIG] = "a set-up needs images that it accepts, a manifest's hash or minimum "
			    "version, and a nonce, token and ephemeral key that are random",
	[SR_SETUP_OVER] = "this set-up had ended before; begin another",
	[SR_SETUP_MESSAGE] = "a malformed message came in place of the signer's",
	[SR_SETUP_VERSION] = "the signer speaks another version of this protocol: update the "
			     "older of the two",
	[SR_SETUP_TURN] = "a message came that was not due",
	[SR_SETUP_REFUSED] = NULL,
	[SR_SETUP_DOCUMENT] = NULL,
	[SR_SETUP_MANIFEST] = "the signer has another manifest in force than the one that is "
			      "pinned",
	[SR_SETUP_MANIFEST_OLD] = "the signer's manifest is older than the minimum version that is "
				  "asked for",
	[SR_SETUP_HANDSHAKE] =
		"the handshake is not authentic: somebody changed it, or the ticket's "
		"secret is not the signer's",
	[SR_SETUP_GRANT] = "what the signer grants is not what was asked for",
	[SR_SETUP_TICKET_AGE] = "the ticket's document is older than the maximum age; attest again",
	[SR_SETUP_TICKET_IMAGE] = "the ticket's image is on the list no more; attest again",
	[SR_SETUP_TICKET_ROOT] =
		"the ticket's document has another root than the one that is named; "
		"attest again",
	[SR_SETUP_CRYPTO] = "OpenSSL failed",
	[SR_SETUP_TICKET_BOOT] = "the ticket's document had no PCR16, which the trust file demands "
				 "now; attest again",
};

void sr_setup_wipe(struct sr_setup *setup)
{
	sr_wipe(setup, sizeof *setup);
}

static enum sr_setup_code end(struct sr_setup *setup, enum sr_setup_code code)
{
	enum sr_attest_code attest = setup->attest;
	uint32_t refusal = setup->refusal;

	sr_setup_wipe(setup);
	setup->code = code;
	setup->attest = attest;
	setup->refusal = refusal;
	return code;
}

/* Zeros are what somebody forgot to fill in. */
static bool config_valid(const struct sr_setup_config *c)
{
	const struct sr_setup_expect *expect = c->expect;
	const uint64_t *before = c->request.predecessor;

	return expect->images && expect->image_count >= 1 &&
	       expect->image_count <= SR_ATTEST_IMAGES_MAX &&
	       (expect->manifest_hash || expect->manifest_version_min || c->is_operator) &&
	       !(c->is_operator && c->ticket) && c->s && c->ephemeral &&
	       !sr_all_zero(c->ephemeral, SR_NOISE_KEY_BYTES) &&
	       !sr_all_zero(c->nonce, sizeof c->nonce) && (c->token[0] || c->token[1]) &&
	       (c->token[0] != before[0] || c->token[1] != before[1]);
}

static enum sr_setup_code judge_terms(const struct sr_setup_expect *expect,
				      const struct sr_terms *terms)
{
	if (expect->manifest_hash &&
	    !sr_equal(terms->manifest_hash, expect->manifest_hash, sizeof terms->manifest_hash))
		return SR_SETUP_MANIFEST;
	if (terms->manifest_version < expect->manifest_version_min)
		return SR_SETUP_MANIFEST_OLD;
	return SR_SETUP_OK;
}

/* ---- message 1 ---- */

static enum sr_setup_code begin(struct sr_setup *setup, unsigned char *out, size_t *out_bytes)
{
	unsigned char prologue[SR_PROLOGUE_BYTES], terms_hash[SR_CONTROL_HASH_BYTES];
	unsigned char request[SR_REQUEST_BYTES] = { 0 }, message[SR_BEGIN_NOISE_BYTES];
	const struct sr_noise_config config = {
		.pattern = setup->begin.has_ticket ? SR_NOISE_IKPSK2 : SR_NOISE_IK,
		.initiator = true,
		.prologue = prologue,
		.prologue_bytes = sizeof prologue,
		.s = setup->config.s,
		.rs = setup->result.next.signer,
		.ephemeral = setup->ephemeral,
	};
	size_t bytes;
	int ret = sr_terms_hash(terms_hash, &setup->result.next.terms);

	if (ret)
		return SR_SETUP_CRYPTO;
	sr_prologue_put(prologue, setup->result.next.image.pcr0, terms_hash, &setup->begin);
	if (!setup->begin.is_operator)
		sr_session_request_put(request, &setup->config.request);
	ret = sr_noise_init(&setup->noise, &config);
	if (!ret && setup->begin.has_ticket)
		ret = sr_noise_set_psk(&setup->noise, setup->psk);
	if (!ret)
		ret = sr_noise_write(&setup->noise, message, &bytes, sizeof message, request,
				     sizeof request);
	sr_wipe(setup->ephemeral, sizeof setup->ephemeral);
	sr_wipe(setup->psk, sizeof setup->psk);
	if (ret)
		return ret == -EBADMSG ? SR_SETUP_HANDSHAKE : SR_SETUP_CRYPTO;

	*out_bytes = sr_control_begin_put(out, &setup->begin, message);
	setup->state = BEGINNING;
	return SR_SETUP_OK;
}

/* ---- with a ticket ---- */

static bool same_image(const struct sr_attest_image *a, const struct sr_attest_image *b)
{
	return a->with_pcr3 == b->with_pcr3 && a->with_pcr8 == b->with_pcr8 &&
	       sr_equal(a->pcr0, b->pcr0, sizeof a->pcr0) &&
	       sr_equal(a->pcr1, b->pcr1, sizeof a->pcr1) &&
	       sr_equal(a->pcr2, b->pcr2, sizeof a->pcr2) &&
	       (!a->with_pcr3 || sr_equal(a->pcr3, b->pcr3, sizeof a->pcr3)) &&
	       (!a->with_pcr8 || sr_equal(a->pcr8, b->pcr8, sizeof a->pcr8));
}

static bool too_old(const struct sr_setup_ticket *ticket, uint64_t age_ms_max, uint64_t now_ms)
{
	if (ticket->attested_ms > now_ms)
		return ticket->attested_ms - now_ms > SR_ATTEST_LEEWAY_MS;
	return now_ms - ticket->attested_ms > age_ms_max;
}

/* Would its document be accepted today, but for its nonce? */
static enum sr_setup_code judge_ticket(const struct sr_setup_ticket *ticket,
				       const struct sr_setup_expect *expect, uint64_t now_ms)
{
	bool listed = false;

	if (!sr_equal(ticket->root.sha256, expect->root.sha256, sizeof ticket->root.sha256))
		return SR_SETUP_TICKET_ROOT;
	for (size_t i = 0; i < expect->image_count; i++)
		listed |= same_image(&ticket->image, &expect->images[i]);
	if (!listed)
		return SR_SETUP_TICKET_IMAGE;
	if (expect->boot_required && !ticket->boot_kept)
		return SR_SETUP_TICKET_BOOT;
	if (too_old(ticket, expect->age_ms_max, now_ms))
		return SR_SETUP_TICKET_AGE;
	return judge_terms(expect, &ticket->terms);
}

static enum sr_setup_code start_again(struct sr_setup *setup, unsigned char *out, size_t *out_bytes,
				      uint64_t now_unix_ms)
{
	const struct sr_setup_ticket *ticket = setup->config.ticket;
	enum sr_setup_code code = judge_ticket(ticket, setup->config.expect, now_unix_ms);
	struct sr_control_begin *message = &setup->begin;

	setup->config.ticket = NULL; /* the caller's again, from here on */
	if (code != SR_SETUP_OK)
		return code;

	setup->result.next = *ticket;
	memcpy(setup->psk, ticket->secret, sizeof setup->psk);
	message->has_ticket = true;
	memcpy(message->boot_id, ticket->terms.boot_id, sizeof message->boot_id);
	memcpy(message->ticket, ticket->ticket, sizeof message->ticket);
	if (sr_terms_hash(message->binding, &ticket->terms))
		return SR_SETUP_CRYPTO;
	return begin(setup, out, out_bytes);
}

enum sr_setup_code sr_setup_start(struct sr_setup *setup, unsigned char *out, size_t *out_bytes,
				  const struct sr_setup_config *config, uint64_t now_unix_ms)
{
	enum sr_setup_code code;

	sr_setup_wipe(setup);
	*out_bytes = 0;
	if (!config_valid(config))
		return end(setup, SR_SETUP_CONFIG);

	setup->config = *config;
	setup->config.ephemeral = NULL;
	memcpy(setup->ephemeral, config->ephemeral, sizeof setup->ephemeral);
	setup->begin.is_operator = config->is_operator;
	memcpy(setup->begin.token, config->token, sizeof setup->begin.token);
	memcpy(setup->begin.nonce, config->nonce, sizeof setup->begin.nonce);
	memcpy(setup->nonce.value, config->nonce, sizeof setup->nonce.value);
	if (config->ticket) {
		code = start_again(setup, out, out_bytes, now_unix_ms);
		return code == SR_SETUP_OK ? code : end(setup, code);
	}
	*out_bytes = sr_control_attest_put(out, setup->nonce.value);
	setup->state = ASKED;
	return SR_SETUP_OK;
}

/* ---- the document ---- */

/* What a ticket will need to know of it. */
static void keep(struct sr_setup_ticket *next, const struct sr_attest_doc *doc,
		 const struct sr_terms *terms, const struct sr_setup_expect *expect)
{
	next->terms = *terms;
	next->root = expect->root;
	next->attested_ms = doc->timestamp_ms;
	next->boot_kept = sr_attest_boot_kept(doc);
	memcpy(next->signer, doc->public_key.data, sizeof next->signer);
	for (size_t i = 0; i < expect->image_count; i++)
		if (sr_attest_image_match(doc, &expect->images[i])) {
			next->image = expect->images[i];
			return;
		}
}

static enum sr_setup_code judge_document(struct sr_setup *setup,
					 const struct sr_control_document *document,
					 uint64_t now_unix_ms)
{
	const struct sr_setup_expect *expect = setup->config.expect;
	unsigned char terms_hash[SR_CONTROL_HASH_BYTES], boot_hash[SR_CONTROL_HASH_BYTES];
	struct sr_attest_expect ours = {
		.images = expect->images,
		.image_count = expect->image_count,
		.user_data = { terms_hash, sizeof terms_hash },
		.boot = { boot_hash, sizeof boot_hash },
		.boot_required = expect->boot_required,
		.age_ms_max = expect->age_ms_max,
	};
	struct sr_attest_doc doc;
	enum sr_attest_code attest;

	if (sr_terms_hash(terms_hash, &document->terms))
		return SR_SETUP_CRYPTO;
	attest = sr_attest_document(&doc, document->data, document->bytes, &expect->root,
				    now_unix_ms, setup->config.cache);
	if (attest == SR_ATTEST_OK) {
		/* We run the handshake with the key that it has, whichever that is. */
		ours.public_key.data = doc.public_key.data;
		ours.public_key.bytes = SR_NOISE_KEY_BYTES;
		if (doc.public_key.bytes != SR_NOISE_KEY_BYTES)
			ours.boot.data = NULL; /* refused for its key */
		else if (sr_boot_hash(boot_hash, document->terms.boot_id, doc.public_key.data))
			return SR_SETUP_CRYPTO;
		attest = sr_attest_accept(&doc, &ours, &setup->nonce, now_unix_ms);
	}
	setup->attest = attest;
	if (attest != SR_ATTEST_OK)
		return SR_SETUP_DOCUMENT;

	keep(&setup->result.next, &doc, &document->terms, expect);
	return judge_terms(expect, &document->terms);
}

static enum sr_setup_code take_document(struct sr_setup *setup, unsigned char *out,
					size_t *out_bytes, const struct sr_control *message,
					uint64_t now_unix_ms)
{
	struct sr_control_begin *next = &setup->begin;
	struct sr_control_document document;
	enum sr_setup_code code;
	int ret = sr_control_document_get(&document, message);

	if (ret)
		return ret == -EPROTONOSUPPORT ? SR_SETUP_VERSION : SR_SETUP_MESSAGE;
	code = judge_document(setup, &document, now_unix_ms);
	if (code != SR_SETUP_OK)
		return code;

	memcpy(next->boot_id, document.terms.boot_id, sizeof next->boot_id);
	if (sr_document_hash(next->binding, document.data, document.bytes))
		return SR_SETUP_CRYPTO;
	return begin(setup, out, out_bytes);
}

/* ---- message 2 ---- */

static bool grant_makes_sense(const struct sr_setup *setup)
{
	const struct sr_session_request *request = &setup->config.request;
	const struct sr_grant *grant = &setup->result.grant;

	if (setup->begin.is_operator)
		return sr_all_zero(setup->grant, sizeof setup->grant);
	return grant->depth_max >= request->depth && grant->slot_bytes_max >= request->slot_bytes &&
	       grant->sessions_max >= 1;
}

static enum sr_setup_code take_begun(struct sr_setup *setup, const struct sr_control *message)
{
	struct sr_setup_ticket *next = &setup->result.next;
	struct sr_grant *grant = &setup->result.grant;
	size_t bytes;
	int ret = sr_noise_read(&setup->noise, setup->grant, &bytes, sizeof setup->grant,
				sr_control_begun_get(message), SR_BEGUN_NOISE_BYTES);

	if (ret)
		return ret == -EBADMSG ? SR_SETUP_HANDSHAKE : SR_SETUP_CRYPTO;
	if (bytes != SR_GRANT_BYTES || sr_grant_get(grant, setup->grant) ||
	    !grant_makes_sense(setup))
		return SR_SETUP_GRANT;
	if (sr_noise_finish(&setup->noise, &setup->keys))
		return SR_SETUP_CRYPTO;

	sr_wipe(setup->grant, sizeof setup->grant);
	memcpy(next->ticket, grant->ticket, sizeof next->ticket);
	memcpy(next->secret, grant->secret, sizeof next->secret);
	setup->state = DONE;
	return SR_SETUP_OK;
}

static enum sr_setup_code take(struct sr_setup *setup, unsigned char *out, size_t *out_bytes,
			       const struct sr_control *message, uint64_t now_unix_ms)
{
	if (setup->state == DONE)
		return SR_SETUP_TURN;
	if (message->kind == SR_CONTROL_REFUSED)
		return sr_control_refused_get(&setup->refusal, message) ? SR_SETUP_MESSAGE :
									  SR_SETUP_REFUSED;
	if (setup->state == ASKED && message->kind == SR_CONTROL_DOCUMENT)
		return take_document(setup, out, out_bytes, message, now_unix_ms);
	if (setup->state == BEGINNING && message->kind == SR_CONTROL_BEGUN)
		return take_begun(setup, message);
	return SR_SETUP_TURN;
}

enum sr_setup_code sr_setup_take(struct sr_setup *setup, unsigned char *out, size_t *out_bytes,
				 const unsigned char *message, size_t bytes, uint64_t now_unix_ms)
{
	enum sr_setup_code code = SR_SETUP_MESSAGE;
	struct sr_control cut;

	*out_bytes = 0;
	if (setup->state == OVER)
		return SR_SETUP_OVER; /* and what is kept says why */
	if (!sr_control_whole(&cut, message, bytes))
		code = take(setup, out, out_bytes, &cut, now_unix_ms);
	return code == SR_SETUP_OK ? code : end(setup, code);
}

bool sr_setup_done(const struct sr_setup *setup)
{
	return setup->state == DONE;
}

int sr_setup_finish(struct sr_setup *setup, struct sr_noise_keys *keys,
		    struct sr_setup_result *result)
{
	if (setup->state != DONE)
		return -EAGAIN;
	*keys = setup->keys;
	*result = setup->result;
	(void)end(setup, SR_SETUP_OK);
	return 0;
}

const char *sr_setup_text(const struct sr_setup *setup)
{
	if (setup->code == SR_SETUP_REFUSED)
		return sr_refusal_text(setup->refusal);
	if (setup->code == SR_SETUP_DOCUMENT)
		return sr_attest_text(setup->attest);
	if ((uint32_t)setup->code < SR_SETUP_CODES)
		return texts[setup->code];
	return "an unknown code";
}
