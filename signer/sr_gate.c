/* SPDX-License-Identifier: MIT */
#include "sr_gate_state.h"

#include <stdlib.h>

#include "sr_secret.h"
#include "sr_slot.h"

/* A BEGIN on its way through the checks. */
struct attempt {
	struct sr_control_begin begin;
	const unsigned char *message_1;
	struct sr_ticket ticket;
	struct sr_session_request request;
	unsigned char client[SR_NOISE_KEY_BYTES];
	uint32_t identity;
	bool authentic; /* and its identity is set */
	uint64_t now_ns;
};

/* ---- birth and death ---- */

static bool config_valid(const struct sr_gate_config *c)
{
	const struct sr_gate_limits *l = &c->limits;

	return c->drbg && c->attest && c->identity && l->talk_ns &&
	       l->talk_ns <= SR_QUOTA_FAILURE_NS_MAX && l->ticket_ns <= SR_TICKET_LIFE_NS_MAX &&
	       l->depth_max >= SR_DEPTH_MIN && l->depth_max <= SR_DEPTH_MAX &&
	       l->slot_bytes_max >= SR_SUB_BYTES_MIN &&
	       l->slot_bytes_max <= SR_SUB_BYTES_MAX && l->sessions_max >= 1 &&
	       l->operators_max <= SR_GATE_OPERATORS_MAX &&
	       (l->operators_max == 0 || l->operator_ns) &&
	       l->operator_ns <= SR_QUOTA_FAILURE_NS_MAX;
}

static int draw_keys(struct sr_gate *gate)
{
	int ret = sr_drbg_generate(gate->config.drbg, gate->random, sizeof gate->random);

	if (!ret)
		ret = sr_noise_pair_make(&gate->pair, gate->random);
	if (!ret)
		ret = sr_drbg_generate(gate->config.drbg, gate->random, sizeof gate->random);
	if (!ret)
		ret = sr_ticket_key_init(&gate->ticket_key, gate->random);
	sr_wipe(gate->random, sizeof gate->random);
	return ret;
}

int sr_gate_new(struct sr_gate **gate, const struct sr_gate_config *config)
{
	struct sr_gate *g;
	void *mem;
	int ret;

	if (!config_valid(config))
		return -EINVAL;
	ret = sr_secret_alloc(&mem, sizeof *g);
	if (ret)
		return ret;
	g = mem;
	g->config = *config;
	ret = sr_quota_init(&g->quota, &config->limits.quota);
	if (!ret)
		ret = sr_terms_hash(g->terms_hash, &config->terms);
	if (!ret && config->limits.operators_max) {
		g->texts = calloc(config->limits.operators_max, SR_GATE_TEXT_BYTES);
		ret = g->texts ? 0 : -ENOMEM;
	}
	if (!ret)
		ret = draw_keys(g);
	if (ret) {
		sr_gate_delete(g);
		return ret;
	}
	g->ready = 1;
	*gate = g;
	return 0;
}

void sr_gate_delete(struct sr_gate *gate)
{
	if (!gate)
		return;
	for (uint32_t i = 0; i < SR_GATE_OPERATORS_MAX; i++)
		sr_channel_wipe(&gate->desks[i].channel);
	free(gate->texts);
	sr_secret_free(gate, sizeof *gate);
}

const unsigned char *sr_gate_public_key(const struct sr_gate *gate)
{
	return gate->pair.pub;
}

const struct sr_noise_pair *sr_gate_pair(const struct sr_gate *gate)
{
	return &gate->pair;
}

int sr_gate_manifest_set(struct sr_gate *gate, uint64_t version,
			 const unsigned char hash[SR_CONTROL_HASH_BYTES])
{
	struct sr_terms terms = gate->config.terms;
	int ret;

	if (version <= terms.manifest_version)
		return -EINVAL;
	terms.manifest_version = version;
	memcpy(terms.manifest_hash, hash, sizeof terms.manifest_hash);
	ret = sr_terms_hash(gate->terms_hash, &terms);
	if (ret)
		return ret;
	gate->config.terms = terms;
	sr_quota_forgive_identities(&gate->quota);
	return 0;
}

/* ---- what a conversation has cost ---- */

static bool charge(struct sr_gate *gate, struct sr_gate_talk *talk, uint64_t now_ns)
{
	if (!talk->charged)
		talk->charged = sr_quota_take(&gate->quota, now_ns);
	return talk->charged;
}

/* What was taken in advance is lost; unless it is known who has to pay. */
static void fail(struct sr_gate *gate, struct sr_gate_talk *talk, const struct attempt *attempt,
		 uint64_t now_ns)
{
	if (!talk->charged)
		return;
	if (attempt && attempt->authentic)
		sr_quota_fail_identity(&gate->quota, attempt->identity, now_ns);
	else
		sr_quota_fail(&gate->quota, now_ns);
	talk->charged = false;
}

void sr_gate_fail(struct sr_gate *gate, struct sr_gate_talk *talk, uint64_t now_ns)
{
	fail(gate, talk, NULL, now_ns);
}

enum sr_gate_verdict sr_gate_refuse(struct sr_gate *gate, struct sr_gate_talk *talk,
				    unsigned char *out, size_t *out_bytes, enum sr_refusal code)
{
	gate->stats.refused[code]++;
	talk->state = SR_TALK_OVER;
	*out_bytes = sr_control_refused_put(out, code);
	return SR_GATE_REFUSED;
}

/* ---- tickets ---- */

static bool ticket_spent(const struct sr_gate *gate, uint64_t serial)
{
	uint64_t bit = serial % SR_GATE_TICKETS;

	return serial >= gate->serial_next || gate->serial_next - serial >= SR_GATE_TICKETS ||
	       gate->spent[bit / 64] >> bit % 64 & 1;
}

static void ticket_spend(struct sr_gate *gate, uint64_t serial)
{
	uint64_t bit = serial % SR_GATE_TICKETS;

	gate->spent[bit / 64] |= UINT64_C(1) << bit % 64;
}

static int ticket_issue(struct sr_gate *gate, const struct attempt *attempt)
{
	uint64_t bit = gate->serial_next % SR_GATE_TICKETS;
	struct sr_ticket ticket = {
		.serial = gate->serial_next,
		.expires_ns = attempt->now_ns + gate->config.limits.ticket_ns,
	};
	int ret;

	if (gate->config.limits.ticket_ns == 0)
		return 0;
	memcpy(ticket.boot_id, gate->config.terms.boot_id, sizeof ticket.boot_id);
	memcpy(ticket.client, attempt->client, sizeof ticket.client);
	ret = sr_ticket_issue(&gate->ticket_key, &ticket, attempt->now_ns);
	if (!ret)
		ret = sr_ticket_secret(&gate->ticket_key, gate->grant.secret, &ticket);
	if (ret)
		return ret;
	sr_ticket_put(gate->grant.ticket, &ticket);
	gate->grant.has_ticket = true;
	gate->serial_next++;
	gate->spent[bit / 64] &= ~(UINT64_C(1) << bit % 64);
	return 0;
}

/* ---- who it is ---- */

static enum sr_refusal find_identity(const struct sr_gate *gate, struct attempt *attempt)
{
	int index = gate->config.identity(gate->config.arg, attempt->client);

	if (index < 0 || (uint32_t)index >= SR_IDENTITIES_MAX)
		return index == -ENOENT ? SR_REFUSAL_IDENTITY : SR_REFUSAL_INTERNAL;
	attempt->identity = (uint32_t)index;
	return SR_REFUSAL_NONE;
}

static enum sr_refusal judge_room(const struct sr_gate *gate, const struct attempt *attempt)
{
	return sr_quota_has_room(&gate->quota, attempt->identity, attempt->now_ns) ?
		       SR_REFUSAL_NONE :
		       SR_REFUSAL_IDENTITY_BUSY;
}

/* Is it a ticket of ours, unused, of somebody we know? That it is presented by that
 * somebody is for the handshake to show. */
static enum sr_refusal judge_ticket(const struct sr_gate *gate, struct attempt *attempt)
{
	struct sr_ticket_expect expect = {
		.client = attempt->ticket.client,
		.now_ns = attempt->now_ns,
	};
	enum sr_refusal code;

	if (sr_ticket_get(&attempt->ticket, attempt->begin.ticket, sizeof attempt->begin.ticket))
		return SR_REFUSAL_TICKET;
	memcpy(expect.boot_id, gate->config.terms.boot_id, sizeof expect.boot_id);
	switch (sr_ticket_verify(&gate->ticket_key, &attempt->ticket, &expect)) {
	case 0:
		break;
	case -ETIME:
		return SR_REFUSAL_TICKET_EXPIRED;
	case -EIO:
		return SR_REFUSAL_INTERNAL;
	default:
		return SR_REFUSAL_TICKET;
	}
	if (ticket_spent(gate, attempt->ticket.serial))
		return SR_REFUSAL_TICKET_SPENT;
	memcpy(attempt->client, attempt->ticket.client, sizeof attempt->client);
	code = find_identity(gate, attempt);
	return code == SR_REFUSAL_NONE ? judge_room(gate, attempt) : code;
}

/* ---- BEGIN: what is seen without a key ---- */

static enum sr_refusal read_begin(struct attempt *attempt, const struct sr_control *message,
				  uint32_t state)
{
	int ret = sr_control_begin_get(&attempt->begin, &attempt->message_1, message);

	if (ret)
		return ret == -EPROTONOSUPPORT ? SR_REFUSAL_VERSION : SR_REFUSAL_MESSAGE;
	return attempt->begin.has_ticket == (state == SR_TALK_FRESH) ? SR_REFUSAL_NONE :
								       SR_REFUSAL_TURN;
}

static bool same(const unsigned char a[32], const unsigned char b[32])
{
	return sr_equal(a, b, 32);
}

static enum sr_refusal judge_begin(struct sr_gate *gate, const struct sr_gate_talk *talk,
				   struct attempt *attempt)
{
	const struct sr_control_begin *begin = &attempt->begin;
	const uint64_t *boot = gate->config.terms.boot_id;

	if (begin->boot_id[0] != boot[0] || begin->boot_id[1] != boot[1])
		return SR_REFUSAL_BOOT;
	if (begin->has_ticket) {
		if (!same(begin->binding, gate->terms_hash))
			return SR_REFUSAL_BINDING;
	} else {
		if (!same(begin->nonce, talk->nonce))
			return SR_REFUSAL_NONCE;
		if (!same(begin->binding, talk->document_hash) ||
		    !same(gate->terms_hash, talk->terms_hash))
			return SR_REFUSAL_BINDING;
	}
	if (!(begin->token[0] || begin->token[1]) ||
	    sr_quota_waits(&gate->quota, begin->token, attempt->now_ns))
		return SR_REFUSAL_TOKEN;
	if (begin->is_operator)
		return sr_gate_operator_judge(gate);
	return begin->has_ticket ? judge_ticket(gate, attempt) : SR_REFUSAL_NONE;
}

/* ---- BEGIN: the handshake ---- */

static enum sr_refusal read_message_1(struct sr_gate *gate, const struct attempt *attempt)
{
	unsigned char prologue[SR_PROLOGUE_BYTES];
	const struct sr_noise_config config = {
		.pattern = attempt->begin.has_ticket ? SR_NOISE_IKPSK2 : SR_NOISE_IK,
		.prologue = prologue,
		.prologue_bytes = sizeof prologue,
		.s = &gate->pair,
		.ephemeral = gate->random,
	};
	size_t bytes;
	int ret;

	/* Of fresh entropy each time: a guest that was copied must not make the same
	 * ephemeral key twice. */
	ret = sr_drbg_reseed(gate->config.drbg);
	if (!ret)
		ret = sr_drbg_generate(gate->config.drbg, gate->random, sizeof gate->random);
	if (ret)
		return SR_REFUSAL_INTERNAL;

	gate->stats.handshakes++;
	sr_prologue_put(prologue, gate->config.pcr0, gate->terms_hash, &attempt->begin);
	ret = sr_noise_init(&gate->noise, &config);
	if (!ret)
		ret = sr_noise_read(&gate->noise, gate->payload, &bytes, SR_REQUEST_BYTES,
				    attempt->message_1, SR_BEGIN_NOISE_BYTES);
	if (ret)
		return ret == -EBADMSG ? SR_REFUSAL_HANDSHAKE : SR_REFUSAL_INTERNAL;
	return bytes == SR_REQUEST_BYTES ? SR_REFUSAL_NONE : SR_REFUSAL_INTERNAL;
}

/* Message 1 is authentic: whoever has the client's key has made it for us, now. */
static enum sr_refusal judge_client(const struct sr_gate *gate, struct attempt *attempt)
{
	enum sr_refusal code;

	if (sr_noise_peer(&gate->noise, attempt->client))
		return SR_REFUSAL_INTERNAL;
	if (attempt->begin.has_ticket && !same(attempt->client, attempt->ticket.client))
		return SR_REFUSAL_TICKET;
	code = find_identity(gate, attempt);
	attempt->authentic = code == SR_REFUSAL_NONE;
	return code == SR_REFUSAL_NONE ? judge_room(gate, attempt) : code;
}

static enum sr_refusal judge_request(const struct sr_gate *gate, struct attempt *attempt)
{
	const struct sr_gate_limits *l = &gate->config.limits;
	struct sr_session_request *r = &attempt->request;
	const uint64_t *token = attempt->begin.token;

	if (sr_session_request_get(r, gate->payload))
		return SR_REFUSAL_REQUEST;
	if (!sr_is_pow2(r->depth) || r->depth < SR_DEPTH_MIN || r->depth > l->depth_max ||
	    r->slot_bytes % SR_LINE_BYTES || r->slot_bytes < SR_SUB_BYTES_MIN ||
	    r->slot_bytes > l->slot_bytes_max)
		return SR_REFUSAL_SIZES;
	if (token[0] == r->predecessor[0] && token[1] == r->predecessor[1])
		return SR_REFUSAL_TOKEN;
	return SR_REFUSAL_NONE;
}

static void fill_grant(struct sr_gate *gate)
{
	const struct sr_gate_config *c = &gate->config;
	struct sr_grant *grant = &gate->grant;

	sr_wipe(grant, sizeof *grant);
	grant->depth_max = c->limits.depth_max;
	grant->slot_bytes_max = c->limits.slot_bytes_max;
	grant->sessions_max = c->limits.sessions_max;
}

/* Message 2, into @message, and the keys. */
static int write_message_2(struct sr_gate *gate, unsigned char message[SR_BEGUN_NOISE_BYTES],
			   const struct attempt *attempt)
{
	size_t bytes;
	int ret = 0;

	fill_grant(gate);
	if (attempt->begin.has_ticket) {
		ret = sr_ticket_secret(&gate->ticket_key, gate->psk, &attempt->ticket);
		if (!ret)
			ret = sr_noise_set_psk(&gate->noise, gate->psk);
	}
	if (!ret)
		ret = ticket_issue(gate, attempt);
	if (ret)
		return ret;
	sr_grant_put(gate->payload, &gate->grant);
	ret = sr_noise_write(&gate->noise, message, &bytes, SR_BEGUN_NOISE_BYTES, gate->payload,
			     SR_GRANT_BYTES);
	return ret ? ret : sr_noise_finish(&gate->noise, &gate->keys);
}

static int make_admission(struct sr_gate *gate, struct sr_admission *admission,
			  const struct attempt *attempt)
{
	const struct sr_session_request *r = &attempt->request;
	struct sr_admission_terms terms = {
		.token = { attempt->begin.token[0], attempt->begin.token[1] },
		.predecessor = { r->predecessor[0], r->predecessor[1] },
		.first = r->first,
		.depth = r->depth,
		.slot_bytes = r->slot_bytes,
		.identity = attempt->identity,
		.flags = (r->flags & SR_REQUEST_PRIORITY ? SR_ADMISSION_PRIORITY : 0) |
			 (r->flags & SR_REQUEST_STRICT ? SR_ADMISSION_STRICT : 0),
	};

	return sr_admission_make(admission, &terms, &gate->keys);
}

static enum sr_refusal admit(struct sr_gate *gate, unsigned char *out, size_t *out_bytes,
			     struct sr_admission *admission, struct attempt *attempt)
{
	unsigned char message[SR_BEGUN_NOISE_BYTES];
	struct sr_quota_place *place;
	enum sr_refusal code = judge_client(gate, attempt);

	if (code == SR_REFUSAL_NONE)
		code = judge_request(gate, attempt);
	if (code != SR_REFUSAL_NONE)
		return code;
	place = sr_quota_place_find(&gate->quota, attempt->identity, attempt->now_ns);
	if (!place)
		return SR_REFUSAL_WAITING;
	if (write_message_2(gate, message, attempt) || make_admission(gate, admission, attempt))
		return SR_REFUSAL_INTERNAL;

	if (attempt->begin.has_ticket)
		ticket_spend(gate, attempt->ticket.serial);
	sr_quota_wait(&gate->quota, place, attempt->begin.token, attempt->identity,
		      attempt->now_ns);
	gate->by_ticket = attempt->begin.has_ticket;
	gate->stats.by_ticket += gate->by_ticket;
	gate->stats.admitted++;
	*out_bytes = sr_control_begun_put(out, message);
	return SR_REFUSAL_NONE;
}

static enum sr_refusal seat(struct sr_gate *gate, struct sr_gate_talk *talk, unsigned char *out,
			    size_t *out_bytes)
{
	unsigned char message[SR_BEGUN_NOISE_BYTES];
	enum sr_refusal code = sr_gate_operator_seat(gate, talk, message);

	if (code == SR_REFUSAL_NONE)
		*out_bytes = sr_control_begun_put(out, message);
	return code;
}

static void wipe_scratch(struct sr_gate *gate)
{
	sr_noise_wipe(&gate->noise);
	sr_wipe(&gate->keys, sizeof gate->keys);
	sr_wipe(&gate->grant, sizeof gate->grant);
	sr_wipe(gate->payload, sizeof gate->payload);
	sr_wipe(gate->psk, sizeof gate->psk);
	sr_wipe(gate->random, sizeof gate->random);
}

static enum sr_gate_verdict take_begin(struct sr_gate *gate, struct sr_gate_talk *talk,
				       unsigned char *out, size_t *out_bytes,
				       struct sr_admission *admission,
				       const struct sr_control *message, uint64_t now_ns)
{
	struct attempt attempt = { .now_ns = now_ns };
	enum sr_refusal code = read_begin(&attempt, message, talk->state);

	if (code == SR_REFUSAL_NONE)
		code = judge_begin(gate, talk, &attempt);
	if (code == SR_REFUSAL_NONE && !charge(gate, talk, now_ns))
		code = SR_REFUSAL_BUSY;
	if (code == SR_REFUSAL_NONE) {
		code = read_message_1(gate, &attempt);
		if (code == SR_REFUSAL_NONE)
			code = attempt.begin.is_operator ?
				       seat(gate, talk, out, out_bytes) :
				       admit(gate, out, out_bytes, admission, &attempt);
		wipe_scratch(gate);
	}
	if (code != SR_REFUSAL_NONE) {
		fail(gate, talk, &attempt, now_ns);
		return sr_gate_refuse(gate, talk, out, out_bytes, code);
	}
	if (attempt.begin.is_operator)
		return SR_GATE_ANSWER;
	sr_quota_give_back(&gate->quota);
	talk->charged = false;
	talk->state = SR_TALK_OVER;
	return SR_GATE_ADMIT;
}

/* ---- ATTEST ---- */

static enum sr_refusal make_document(struct sr_gate *gate, struct sr_gate_talk *talk,
				     unsigned char *out, size_t *out_bytes,
				     const struct sr_control *message, uint64_t now_ns)
{
	unsigned char *document = out + SR_DOCUMENT_HEADER_BYTES;
	const struct sr_gate_question question = {
		.nonce = talk->nonce,
		.user_data = gate->terms_hash,
		.public_key = gate->pair.pub,
	};
	size_t bytes = 0;
	int ret = sr_control_attest_get(talk->nonce, message);

	if (ret)
		return ret == -EPROTONOSUPPORT ? SR_REFUSAL_VERSION : SR_REFUSAL_MESSAGE;
	if (!charge(gate, talk, now_ns))
		return SR_REFUSAL_BUSY;
	if (gate->config.attest(gate->config.arg, document, &bytes, &question) || bytes == 0 ||
	    bytes > SR_DOCUMENT_DATA_BYTES_MAX)
		return SR_REFUSAL_EVIDENCE;
	if (sr_document_hash(talk->document_hash, document, bytes))
		return SR_REFUSAL_INTERNAL;

	memcpy(talk->terms_hash, gate->terms_hash, sizeof talk->terms_hash);
	*out_bytes = sr_control_document_put(out, &gate->config.terms, bytes);
	gate->stats.documents++;
	talk->state = SR_TALK_ASKED;
	return SR_REFUSAL_NONE;
}

static enum sr_gate_verdict take_attest(struct sr_gate *gate, struct sr_gate_talk *talk,
					unsigned char *out, size_t *out_bytes,
					const struct sr_control *message, uint64_t now_ns)
{
	enum sr_refusal code = make_document(gate, talk, out, out_bytes, message, now_ns);

	if (code == SR_REFUSAL_NONE)
		return SR_GATE_ANSWER;
	sr_gate_fail(gate, talk, now_ns);
	return sr_gate_refuse(gate, talk, out, out_bytes, code);
}

/* ---- conversations ---- */

void sr_gate_enter(struct sr_gate *gate, struct sr_gate_talk *talk, uint64_t now_ns)
{
	memset(talk, 0, sizeof *talk);
	talk->state = SR_TALK_FRESH;
	talk->until_ns = now_ns + gate->config.limits.talk_ns;
}

void sr_gate_leave(struct sr_gate *gate, struct sr_gate_talk *talk, uint64_t now_ns)
{
	if (gate->ready) {
		sr_gate_operator_leave(gate, talk);
		sr_gate_fail(gate, talk, now_ns);
	}
	memset(talk, 0, sizeof *talk);
}

enum sr_gate_verdict sr_gate_take(struct sr_gate *gate, struct sr_gate_talk *talk,
				  unsigned char *out, size_t *out_bytes,
				  struct sr_admission *admission, const unsigned char *message,
				  size_t bytes, uint64_t now_ns)
{
	enum sr_refusal code = SR_REFUSAL_TURN;
	struct sr_control cut;

	*out_bytes = 0;
	if (!gate->ready || talk->state == SR_TALK_OVER)
		return SR_GATE_SILENT;

	if (sr_control_whole(&cut, message, bytes))
		code = SR_REFUSAL_MESSAGE;
	else if (talk->state == SR_TALK_OPERATOR)
		return sr_gate_operator_take(gate, talk, out, out_bytes, &cut, now_ns);
	else if (sr_gate_late(talk, now_ns))
		code = SR_REFUSAL_LATE;
	else if (cut.kind == SR_CONTROL_BEGIN)
		return take_begin(gate, talk, out, out_bytes, admission, &cut, now_ns);
	else if (cut.kind == SR_CONTROL_ATTEST && talk->state == SR_TALK_FRESH)
		return take_attest(gate, talk, out, out_bytes, &cut, now_ns);
	sr_gate_operator_leave(gate, talk);
	sr_gate_fail(gate, talk, now_ns);
	return sr_gate_refuse(gate, talk, out, out_bytes, code);
}

void sr_gate_settle(struct sr_gate *gate, const uint64_t token[2])
{
	sr_quota_settle(&gate->quota, token);
}

void sr_gate_withdraw(struct sr_gate *gate, unsigned char *out, size_t *out_bytes,
		      struct sr_admission *admission)
{
	sr_gate_settle(gate, admission->terms.token);
	sr_admission_wipe(admission);
	gate->stats.admitted--;
	gate->stats.by_ticket -= gate->by_ticket;
	gate->stats.refused[SR_REFUSAL_WAITING]++;
	*out_bytes = sr_control_refused_put(out, SR_REFUSAL_WAITING);
}

void sr_gate_stats_get(const struct sr_gate *gate, struct sr_gate_stats *stats, uint64_t now_ns)
{
	*stats = gate->stats;
	stats->talking = gate->quota.under_way;
	stats->waiting = sr_quota_waiting(&gate->quota, now_ns);
	stats->operators = 0;
	for (uint32_t i = 0; i < SR_GATE_OPERATORS_MAX; i++)
		stats->operators += gate->desks[i].taken;
}
