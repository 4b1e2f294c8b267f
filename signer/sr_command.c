/* SPDX-License-Identifier: MIT */
#include "sr_command.h"

enum {
	AT_VERSION = 0,
	AT_KIND = 2,
	AT_SIGS = 4,
	AT_SIGS_RESERVED = 6,
	AT_CODE = 4,
	AT_BODY_BYTES = 8,
	AT_RESERVED = 12,

	KEY_ID = 0,
	KEY_ADDRESS = 4,
	KEY_PUBKEY = 24,
	KEY_RESERVED = 57,

	LISTED_PERMISSIONS = 60,
	LISTED_NONCE = 64,
	LISTED_FLAGS = 68,
	LISTED_IDENTITIES = 72,

	POLICY_KEY = 4,
	POLICY_FIRST = 8,
	POLICY_SECOND = 16,
	POLICY_SEQUENCE = 24,
	POLICY_FIRST_DECIMALS = 32,
	POLICY_SECOND_DECIMALS = 33,
	POLICY_UNLIMITED = 34,
	POLICY_ASSET = 40,

	TRACED_NEXT = 8,
	TRACED_DOMAIN = 16,
	TRACED_RATE = 32,
	TRACED_KIND = 40,
	TRACED_SLOTS = 44,
	TRACED_COUNT = 48,
	TRACED_RESERVED = 52,
	TRACED_ENTRY_BYTES = sizeof(struct sr_trace_entry),

	STATUS_UPTIME = 16,
	STATUS_UNIX = 24,
	STATUS_DRIFT = 32,
	STATUS_HOST = 40,
	STATUS_MANIFEST = 48,
	STATUS_MEMORY = 56,
	STATUS_SIGNED = 64,
	STATUS_DENIED = 72,
	STATUS_FLAGS = 80,
	STATUS_KEYS = 84,
	STATUS_SESSIONS = 88,
	STATUS_SESSIONS_MAX = 92,
	STATUS_POOL = 96,
	STATUS_POOL_SLOTS = 100,
	STATUS_VERSION = 104,
	STATUS_EVIDENCE = 120,
	STATUS_PCRS = 128,

	GENERATE_BYTES = 40,
	WORD_BYTES = 8,
	LIST_HEADER_BYTES = 8,
};

static const char label[] = "sigring command"; /* and its zero byte */

/* What a kind's bodies may be. */
static const struct kind {
	uint32_t bytes_min, bytes_max;
	uint32_t result_min, result_max;
} kinds[] = {
	[SR_COMMAND_MANIFEST] = { 1, SR_ENVELOPE_BYTES_MAX, 40, 40 },
	[SR_COMMAND_GENERATE] = { GENERATE_BYTES, GENERATE_BYTES,
				  SR_COMMAND_KEY_BYTES + SR_BLOB_BYTES,
				  SR_COMMAND_KEY_BYTES + SR_BLOB_BYTES },
	[SR_COMMAND_IMPORT] = { SR_BLOB_BYTES, SR_BLOB_BYTES, SR_COMMAND_KEY_BYTES,
				SR_COMMAND_KEY_BYTES },
	[SR_COMMAND_LIST] = { 0, 0, LIST_HEADER_BYTES,
			      LIST_HEADER_BYTES + SR_KEYS_MAX *SR_COMMAND_LISTED_BYTES },
	[SR_COMMAND_HOLD] = { WORD_BYTES, WORD_BYTES, 0, 0 },
	[SR_COMMAND_ROTATE] = { GENERATE_BYTES, GENERATE_BYTES,
				SR_COMMAND_KEY_BYTES + SR_BLOB_BYTES,
				SR_COMMAND_KEY_BYTES + SR_BLOB_BYTES },
	[SR_COMMAND_DELETE] = { WORD_BYTES, WORD_BYTES, 0, 0 },
	[SR_COMMAND_POLICY] = { SR_COMMAND_POLICY_BYTES, SR_COMMAND_POLICY_BYTES, 0, 0 },
	[SR_COMMAND_TRACE] = { SR_COMMAND_TRACE_BYTES, SR_COMMAND_TRACE_BYTES,
			       SR_COMMAND_TRACED_BYTES,
			       SR_COMMAND_TRACED_BYTES +
				       SR_COMMAND_TRACED_MAX * TRACED_ENTRY_BYTES },
	[SR_COMMAND_STATUS] = { 0, 0, SR_COMMAND_STATUS_BYTES, SR_COMMAND_STATUS_BYTES },
	[SR_COMMAND_DRAIN] = { SR_COMMAND_DRAIN_BYTES, SR_COMMAND_DRAIN_BYTES, 0, 0 },
};

static const struct kind *kind_of(uint32_t kind)
{
	return kind >= SR_COMMAND_MANIFEST && kind <= SR_COMMAND_DRAIN ? &kinds[kind] : NULL;
}

/* ---- commands ---- */

int sr_command_get(struct sr_command *command, const unsigned char *text, size_t bytes)
{
	const struct kind *kind;
	size_t head, body;
	uint32_t count;

	if (bytes < SR_COMMAND_HEADER_BYTES || bytes > SR_COMMAND_BYTES_MAX)
		return -EMSGSIZE;
	kind = kind_of(sr_get16(text + AT_KIND));
	count = sr_get16(text + AT_SIGS);
	if (sr_get16(text + AT_VERSION) != SR_COMMAND_VERSION || !kind ||
	    count > SR_OPERATORS_MAX || sr_get16(text + AT_SIGS_RESERVED) ||
	    sr_get32(text + AT_RESERVED))
		return -EPROTO;
	head = SR_COMMAND_HEADER_BYTES + count * SR_COMMAND_SIG_BYTES;
	body = sr_get32(text + AT_BODY_BYTES);
	if (body < kind->bytes_min || body > kind->bytes_max || bytes != head + body)
		return -EMSGSIZE;

	command->kind = sr_get16(text + AT_KIND);
	command->sig_count = count;
	text += SR_COMMAND_HEADER_BYTES;
	for (uint32_t i = 0; i < count; i++, text += SR_COMMAND_SIG_BYTES) {
		memcpy(command->sigs[i].pub, text, SR_OPERATOR_KEY_BYTES);
		memcpy(command->sigs[i].sig, text + SR_OPERATOR_KEY_BYTES, SR_OPERATOR_SIG_BYTES);
	}
	command->body = text;
	command->body_bytes = body;
	return 0;
}

size_t sr_command_put(unsigned char *text, const struct sr_command *command)
{
	const struct kind *kind = kind_of(command->kind);
	unsigned char *at = text + SR_COMMAND_HEADER_BYTES;

	if (!kind || command->body_bytes < kind->bytes_min ||
	    command->body_bytes > kind->bytes_max || command->sig_count > SR_OPERATORS_MAX)
		return 0;
	memset(text, 0, SR_COMMAND_HEADER_BYTES);
	sr_put16(text + AT_VERSION, SR_COMMAND_VERSION);
	sr_put16(text + AT_KIND, (uint16_t)command->kind);
	sr_put16(text + AT_SIGS, (uint16_t)command->sig_count);
	sr_put32(text + AT_BODY_BYTES, (uint32_t)command->body_bytes);
	for (uint32_t i = 0; i < command->sig_count; i++, at += SR_COMMAND_SIG_BYTES) {
		memcpy(at, command->sigs[i].pub, SR_OPERATOR_KEY_BYTES);
		memcpy(at + SR_OPERATOR_KEY_BYTES, command->sigs[i].sig, SR_OPERATOR_SIG_BYTES);
	}
	if (command->body_bytes)
		memcpy(at, command->body, command->body_bytes);
	return (size_t)(at - text) + command->body_bytes;
}

int sr_command_hash(struct sr_hasher *hasher, unsigned char hash[SR_HASH_BYTES],
		    const struct sr_command *command, const unsigned char h[SR_NOISE_KEY_BYTES],
		    uint64_t sequence)
{
	unsigned char fixed[SR_NOISE_KEY_BYTES + 16];
	const struct sr_hash_part parts[] = {
		{ label, sizeof label },
		{ fixed, sizeof fixed },
		{ command->body, command->body_bytes },
	};

	memcpy(fixed, h, SR_NOISE_KEY_BYTES);
	sr_put64(fixed + SR_NOISE_KEY_BYTES, sequence);
	sr_put16(fixed + SR_NOISE_KEY_BYTES + 8, SR_COMMAND_VERSION);
	sr_put16(fixed + SR_NOISE_KEY_BYTES + 10, (uint16_t)command->kind);
	sr_put32(fixed + SR_NOISE_KEY_BYTES + 12, (uint32_t)command->body_bytes);
	return sr_sha256_parts(hasher, hash, parts, 3);
}

/* ---- results ---- */

static bool words_valid(const unsigned char *words, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (words[i] < ' ' || words[i] > '~')
			return false;
	return bytes <= SR_COMMAND_WORDS_MAX;
}

int sr_command_result_get(struct sr_command_result *result, const unsigned char *text, size_t bytes)
{
	const unsigned char *body = text + SR_COMMAND_HEADER_BYTES;
	const struct kind *kind;
	size_t body_bytes;
	uint32_t code;

	if (bytes < SR_COMMAND_HEADER_BYTES || bytes > SR_COMMAND_RESULT_BYTES_MAX)
		return -EMSGSIZE;
	kind = kind_of(sr_get16(text + AT_KIND));
	code = sr_get32(text + AT_CODE);
	/* What was no command has no kind that could be told. */
	if (sr_get16(text + AT_VERSION) != SR_COMMAND_VERSION || sr_get32(text + AT_RESERVED) ||
	    (!kind && (code == SR_COMMAND_DONE || sr_get16(text + AT_KIND))))
		return -EPROTO;
	body_bytes = bytes - SR_COMMAND_HEADER_BYTES;
	if (sr_get32(text + AT_BODY_BYTES) != body_bytes)
		return -EMSGSIZE;
	if (code != SR_COMMAND_DONE && !words_valid(body, body_bytes))
		return -EPROTO;
	if (code == SR_COMMAND_DONE &&
	    (body_bytes < kind->result_min || body_bytes > kind->result_max))
		return -EMSGSIZE;
	if (code == SR_COMMAND_DONE && sr_get16(text + AT_KIND) == SR_COMMAND_LIST &&
	    (sr_get32(body) > SR_KEYS_MAX || sr_get32(body + 4) ||
	     body_bytes != LIST_HEADER_BYTES + sr_get32(body) * SR_COMMAND_LISTED_BYTES))
		return -EPROTO;

	result->kind = sr_get16(text + AT_KIND);
	result->code = code;
	result->body = body;
	result->body_bytes = body_bytes;
	return 0;
}

size_t sr_command_result_put(unsigned char *text, uint32_t kind, uint32_t code, size_t body_bytes)
{
	memset(text, 0, SR_COMMAND_HEADER_BYTES);
	sr_put16(text + AT_VERSION, SR_COMMAND_VERSION);
	sr_put16(text + AT_KIND, (uint16_t)kind);
	sr_put32(text + AT_CODE, code);
	sr_put32(text + AT_BODY_BYTES, (uint32_t)body_bytes);
	return SR_COMMAND_HEADER_BYTES + body_bytes;
}

/* ---- bodies ---- */

void sr_command_generate_put(unsigned char body[40], const struct sr_command_generate *generate)
{
	sr_command_word_put(body, generate->id, 0);
	memcpy(body + WORD_BYTES, generate->recipient, SR_NOISE_KEY_BYTES);
}

int sr_command_generate_get(struct sr_command_generate *generate, const unsigned char body[40])
{
	uint32_t zero;

	if (sr_command_word_get(&generate->id, &zero, 0, body))
		return -EPROTO;
	memcpy(generate->recipient, body + WORD_BYTES, SR_NOISE_KEY_BYTES);
	return 0;
}

void sr_command_word_put(unsigned char body[8], uint32_t id, uint32_t word)
{
	sr_put32(body, id);
	sr_put32(body + 4, word);
}

int sr_command_word_get(uint32_t *id, uint32_t *word, uint32_t word_max,
			const unsigned char body[8])
{
	uint32_t first = sr_get32(body), second = sr_get32(body + 4);

	if (first == 0 || second > word_max)
		return -EPROTO;
	*id = first;
	*word = second;
	return 0;
}

static void put_band(unsigned char *body, const struct sr_policy_word *word)
{
	sr_put64(body + POLICY_FIRST, word->price_min.value);
	sr_put64(body + POLICY_SECOND, word->price_max.value);
	sr_put64(body + POLICY_SEQUENCE, word->sequence);
	body[POLICY_FIRST_DECIMALS] = word->price_min.decimals;
	body[POLICY_SECOND_DECIMALS] = word->price_max.decimals;
	body[POLICY_UNLIMITED] = word->price_max.unlimited;
	for (unsigned int i = 0; i < 4; i++)
		sr_put64(body + POLICY_ASSET + 8 * i, word->asset.words[i]);
}

void sr_command_policy_put(unsigned char body[SR_COMMAND_POLICY_BYTES],
			   const struct sr_policy_word *word)
{
	memset(body, 0, SR_COMMAND_POLICY_BYTES);
	sr_put32(body, word->say);
	sr_put32(body + POLICY_KEY, word->key);
	switch (word->say) {
	case SR_POLICY_SAY_KILL:
		sr_put64(body + POLICY_FIRST, word->killed);
		break;
	case SR_POLICY_SAY_LEASE:
		sr_put64(body + POLICY_FIRST, word->lease_s);
		break;
	case SR_POLICY_SAY_BAND:
		put_band(body, word);
		break;
	default:
		sr_put64(body + POLICY_FIRST, word->window);
		sr_put64(body + POLICY_SECOND, word->unexpired);
		break;
	}
}

static void get_band(struct sr_policy_word *word, const unsigned char *body)
{
	word->price_min = (struct sr_policy_bound){ .value = sr_get64(body + POLICY_FIRST),
						    .decimals = body[POLICY_FIRST_DECIMALS],
						    .given = true };
	word->price_max = (struct sr_policy_bound){ .value = sr_get64(body + POLICY_SECOND),
						    .decimals = body[POLICY_SECOND_DECIMALS],
						    .given = true,
						    .unlimited = body[POLICY_UNLIMITED] };
	word->sequence = sr_get64(body + POLICY_SEQUENCE);
	for (unsigned int i = 0; i < 4; i++)
		word->asset.words[i] = sr_get64(body + POLICY_ASSET + 8 * i);
}

/* There is one spelling of a word: what is read is written again and compared, so no byte
 * goes unread. */
int sr_command_policy_get(struct sr_policy_word *word,
			  const unsigned char body[SR_COMMAND_POLICY_BYTES])
{
	struct sr_policy_word w = { .say = sr_get32(body), .key = sr_get32(body + POLICY_KEY) };
	bool of_key = w.say == SR_POLICY_SAY_BAND || w.say == SR_POLICY_SAY_SEED;
	unsigned char again[SR_COMMAND_POLICY_BYTES];
	uint64_t first = sr_get64(body + POLICY_FIRST);

	if (w.say < SR_POLICY_SAY_KILL || w.say > SR_POLICY_SAY_SEED || of_key != (w.key != 0))
		return -EPROTO;
	w.killed = w.say == SR_POLICY_SAY_KILL && first;
	if (w.say == SR_POLICY_SAY_LEASE) {
		if (first > SR_POLICY_LEASE_S_MAX)
			return -EPROTO;
		w.lease_s = (uint32_t)first;
	}
	if (w.say == SR_POLICY_SAY_BAND)
		get_band(&w, body);
	if (w.price_min.decimals > SR_POLICY_DECIMALS_MAX ||
	    w.price_max.decimals > SR_POLICY_DECIMALS_MAX)
		return -EPROTO;
	if (w.say == SR_POLICY_SAY_SEED) {
		w.window = first;
		w.unexpired = sr_get64(body + POLICY_SECOND);
	}
	sr_command_policy_put(again, &w);
	if (memcmp(again, body, sizeof again) != 0)
		return -EPROTO;
	*word = w;
	return 0;
}

void sr_command_key_put(unsigned char out[SR_COMMAND_KEY_BYTES], const struct sr_command_key *key)
{
	memset(out, 0, SR_COMMAND_KEY_BYTES);
	sr_put32(out + KEY_ID, key->id);
	memcpy(out + KEY_ADDRESS, key->address, sizeof key->address);
	memcpy(out + KEY_PUBKEY, key->pubkey, sizeof key->pubkey);
}

int sr_command_key_get(struct sr_command_key *key, const unsigned char in[SR_COMMAND_KEY_BYTES])
{
	if (sr_get32(in + KEY_ID) == 0 || in[KEY_RESERVED] || in[KEY_RESERVED + 1] ||
	    in[KEY_RESERVED + 2])
		return -EPROTO;
	key->id = sr_get32(in + KEY_ID);
	memcpy(key->address, in + KEY_ADDRESS, sizeof key->address);
	memcpy(key->pubkey, in + KEY_PUBKEY, sizeof key->pubkey);
	return 0;
}

void sr_command_listed_put(unsigned char out[SR_COMMAND_LISTED_BYTES],
			   const struct sr_command_listed *listed)
{
	sr_command_key_put(out, &listed->key);
	sr_put32(out + LISTED_PERMISSIONS, listed->permissions);
	sr_put32(out + LISTED_NONCE, listed->nonce_mode);
	sr_put32(out + LISTED_FLAGS, listed->flags);
	sr_put64(out + LISTED_IDENTITIES, listed->identities);
}

int sr_command_listed_get(struct sr_command_listed *listed,
			  const unsigned char in[SR_COMMAND_LISTED_BYTES])
{
	if (sr_command_key_get(&listed->key, in) ||
	    sr_get32(in + LISTED_FLAGS) > (SR_COMMAND_LOCKED | SR_COMMAND_HELD | SR_COMMAND_TYPED))
		return -EPROTO;
	listed->permissions = sr_get32(in + LISTED_PERMISSIONS);
	listed->nonce_mode = sr_get32(in + LISTED_NONCE);
	listed->flags = sr_get32(in + LISTED_FLAGS);
	listed->identities = sr_get64(in + LISTED_IDENTITIES);
	return 0;
}

/* ---- the trace ---- */

void sr_command_trace_put(unsigned char body[SR_COMMAND_TRACE_BYTES], uint64_t from)
{
	memset(body, 0, SR_COMMAND_TRACE_BYTES);
	sr_put64(body, from);
}

int sr_command_trace_get(uint64_t *from, const unsigned char body[SR_COMMAND_TRACE_BYTES])
{
	if (sr_get64(body + 8))
		return -EPROTO;
	*from = sr_get64(body);
	return 0;
}

size_t sr_command_traced_put(unsigned char *body, const struct sr_command_traced *traced,
			     const struct sr_trace_entry *entries)
{
	unsigned char *at = body + SR_COMMAND_TRACED_BYTES;

	memset(body, 0, SR_COMMAND_TRACED_BYTES);
	sr_put64(body, traced->first);
	sr_put64(body + TRACED_NEXT, traced->next);
	sr_put64(body + TRACED_DOMAIN, traced->counter.domain[0]);
	sr_put64(body + TRACED_DOMAIN + 8, traced->counter.domain[1]);
	sr_put64(body + TRACED_RATE, traced->counter.ticks_per_s);
	sr_put32(body + TRACED_KIND, traced->counter.kind);
	sr_put32(body + TRACED_SLOTS, traced->slots);
	sr_put32(body + TRACED_COUNT, traced->count);
	for (uint32_t i = 0; i < traced->count; i++, at += TRACED_ENTRY_BYTES) {
		sr_put64(at, entries[i].seq);
		for (uint32_t m = 0; m < SR_TRACE_MOMENTS; m++)
			sr_put64(at + 8 + 8 * (size_t)m, entries[i].at[m]);
	}
	return (size_t)(at - body);
}

int sr_command_traced_get(struct sr_command_traced *traced, struct sr_trace_entry *entries,
			  const unsigned char *body, size_t bytes)
{
	const unsigned char *at = body + SR_COMMAND_TRACED_BYTES;
	uint32_t count;

	if (bytes < SR_COMMAND_TRACED_BYTES || sr_get32(body + TRACED_RESERVED))
		return -EPROTO;
	count = sr_get32(body + TRACED_COUNT);
	if (count > SR_COMMAND_TRACED_MAX || !sr_get64(body + TRACED_RATE) ||
	    bytes != SR_COMMAND_TRACED_BYTES + (size_t)count * TRACED_ENTRY_BYTES)
		return -EPROTO;
	*traced = (struct sr_command_traced){
		.first = sr_get64(body),
		.next = sr_get64(body + TRACED_NEXT),
		.counter = {
			.domain = { sr_get64(body + TRACED_DOMAIN),
				    sr_get64(body + TRACED_DOMAIN + 8) },
			.ticks_per_s = sr_get64(body + TRACED_RATE),
			.kind = sr_get32(body + TRACED_KIND),
		},
		.slots = sr_get32(body + TRACED_SLOTS),
		.count = count,
	};
	for (uint32_t i = 0; i < count; i++, at += TRACED_ENTRY_BYTES) {
		entries[i].seq = sr_get64(at);
		for (uint32_t m = 0; m < SR_TRACE_MOMENTS; m++)
			entries[i].at[m] = sr_get64(at + 8 + 8 * (size_t)m);
	}
	return 0;
}

/* ---- the signer as a whole ---- */

void sr_command_drain_put(unsigned char body[SR_COMMAND_DRAIN_BYTES], bool draining)
{
	sr_put32(body, draining);
	sr_put32(body + 4, 0);
}

int sr_command_drain_get(bool *draining, const unsigned char body[SR_COMMAND_DRAIN_BYTES])
{
	if (sr_get32(body) > 1 || sr_get32(body + 4))
		return -EPROTO;
	*draining = sr_get32(body) == 1;
	return 0;
}

#define STATUS_DRAINING 1u
#define STATUS_NO_PCRS 2u

void sr_command_status_put(unsigned char out[SR_COMMAND_STATUS_BYTES],
			   const struct sr_command_status *status)
{
	memset(out, 0, SR_COMMAND_STATUS_BYTES);
	sr_put64(out, status->boot_id[0]);
	sr_put64(out + 8, status->boot_id[1]);
	sr_put64(out + STATUS_UPTIME, status->uptime_ms);
	sr_put64(out + STATUS_UNIX, status->unix_ms);
	sr_put64(out + STATUS_DRIFT, (uint64_t)status->drift_ms);
	sr_put64(out + STATUS_HOST, (uint64_t)status->host_ms);
	sr_put64(out + STATUS_MANIFEST, status->manifest_version);
	sr_put64(out + STATUS_MEMORY, status->memory_kib);
	sr_put64(out + STATUS_SIGNED, status->signed_ok);
	sr_put64(out + STATUS_DENIED, status->denied);
	sr_put32(out + STATUS_FLAGS, (status->draining ? STATUS_DRAINING : 0u) |
					     (status->pcrs_unknown ? STATUS_NO_PCRS : 0u));
	sr_put32(out + STATUS_KEYS, status->keys);
	sr_put32(out + STATUS_SESSIONS, status->sessions);
	sr_put32(out + STATUS_SESSIONS_MAX, status->sessions_max);
	sr_put32(out + STATUS_POOL, status->pool_depth);
	sr_put32(out + STATUS_POOL_SLOTS, status->pool_slots);
	memcpy(out + STATUS_VERSION, status->version, strnlen(status->version, 16));
	memcpy(out + STATUS_EVIDENCE, status->evidence, strnlen(status->evidence, 8));
	memcpy(out + STATUS_PCRS, status->pcr, sizeof status->pcr);
}

/* Printable, and nothing but zeros behind its end. */
static int get_name(char *name, const unsigned char *in, size_t bytes)
{
	size_t length = strnlen((const char *)in, bytes);

	if (!words_valid(in, length) || !sr_all_zero(in + length, bytes - length))
		return -EPROTO;
	memcpy(name, in, length);
	name[length] = '\0';
	return 0;
}

int sr_command_status_get(struct sr_command_status *status,
			  const unsigned char in[SR_COMMAND_STATUS_BYTES])
{
	uint32_t flags = sr_get32(in + STATUS_FLAGS);

	if (flags & ~(STATUS_DRAINING | STATUS_NO_PCRS) ||
	    get_name(status->version, in + STATUS_VERSION, sizeof status->version - 1) ||
	    get_name(status->evidence, in + STATUS_EVIDENCE, sizeof status->evidence - 1))
		return -EPROTO;
	status->boot_id[0] = sr_get64(in);
	status->boot_id[1] = sr_get64(in + 8);
	status->uptime_ms = sr_get64(in + STATUS_UPTIME);
	status->unix_ms = sr_get64(in + STATUS_UNIX);
	status->drift_ms = (int64_t)sr_get64(in + STATUS_DRIFT);
	status->host_ms = (int64_t)sr_get64(in + STATUS_HOST);
	status->manifest_version = sr_get64(in + STATUS_MANIFEST);
	status->memory_kib = sr_get64(in + STATUS_MEMORY);
	status->signed_ok = sr_get64(in + STATUS_SIGNED);
	status->denied = sr_get64(in + STATUS_DENIED);
	status->draining = flags & STATUS_DRAINING;
	status->pcrs_unknown = flags & STATUS_NO_PCRS;
	status->keys = sr_get32(in + STATUS_KEYS);
	status->sessions = sr_get32(in + STATUS_SESSIONS);
	status->sessions_max = sr_get32(in + STATUS_SESSIONS_MAX);
	status->pool_depth = sr_get32(in + STATUS_POOL);
	status->pool_slots = sr_get32(in + STATUS_POOL_SLOTS);
	memcpy(status->pcr, in + STATUS_PCRS, sizeof status->pcr);
	return 0;
}
