/* SPDX-License-Identifier: MIT */
#include "sr_vault.h"

#include "sr_curve.h"
#include "sr_secret.h"

#define DRAWS_MAX 16u /* of a scalar: one in 2^128 is none */
#define LIST_HEADER_BYTES 8u

struct sr_vault {
	struct sr_vault_config config;
	struct sr_curve *curve;
	struct sr_hasher *hasher;
	uint32_t busy; /* kind of the command whose task is out, or 0 */

	/* Scratch of one command. */
	unsigned char secret[SR_SECKEY_BYTES];
	unsigned char by[SR_SCALAR_BYTES];
	unsigned char ephemeral[SR_NOISE_KEY_BYTES];
	struct sr_task task;
	struct sr_manifest next;

	struct sr_command_key key; /* what the answer will say */
	unsigned char blob[SR_BLOB_BYTES];
	struct sr_blob_work blob_work;
	struct sr_trace_entry traced[SR_COMMAND_TRACED_MAX];
	unsigned char result[SR_COMMAND_RESULT_BYTES_MAX];
};

int sr_vault_new(struct sr_vault **vault, const struct sr_vault_config *config)
{
	struct sr_vault *v;
	void *mem;
	int ret;

	if (!config->gate || !config->drbg || !config->operators || !config->manifest ||
	    !config->operators->k)
		return -EINVAL;
	ret = sr_secret_alloc(&mem, sizeof *v);
	if (ret)
		return ret;
	v = mem;
	v->config = *config;
	ret = sr_hasher_new(&v->hasher);
	if (!ret)
		ret = sr_drbg_generate(config->drbg, v->secret, sizeof v->secret);
	if (!ret)
		ret = sr_curve_new(&v->curve, v->secret);
	sr_wipe(v->secret, sizeof v->secret);
	if (ret) {
		sr_vault_delete(v);
		return ret;
	}
	*vault = v;
	return 0;
}

void sr_vault_delete(struct sr_vault *vault)
{
	if (!vault)
		return;
	sr_task_wipe(&vault->task);
	sr_curve_delete(vault->curve);
	sr_hasher_delete(vault->hasher);
	sr_secret_free(vault, sizeof *vault);
}

bool sr_vault_busy(const struct sr_vault *vault)
{
	return vault->busy != 0;
}

/* ---- answers ---- */

static void answer_with(struct sr_vault *v, struct sr_vault_answer *answer, uint32_t kind,
			uint32_t code, size_t body_bytes, bool authorised)
{
	answer->text = v->result;
	answer->bytes = sr_command_result_put(v->result, kind, code, body_bytes);
	answer->authorised = authorised;
}

static void answer_words(struct sr_vault *v, struct sr_vault_answer *answer, uint32_t kind,
			 uint32_t code, const char *words, bool authorised)
{
	size_t bytes = strnlen(words, SR_COMMAND_WORDS_MAX);
	unsigned char *to = v->result + SR_COMMAND_HEADER_BYTES;

	/* Reasons quote what others wrote. */
	for (size_t i = 0; i < bytes; i++)
		to[i] = words[i] >= ' ' && words[i] <= '~' ? (unsigned char)words[i] : '?';
	answer_with(v, answer, kind, code, bytes, authorised);
}

static unsigned char *body_of(struct sr_vault *v)
{
	return v->result + SR_COMMAND_HEADER_BYTES;
}

/* ---- manifests ---- */

/* Is there what it takes to obey it? */
static int judge_manifest(const struct sr_vault *v, struct sr_reason *why)
{
	for (uint32_t i = 0; i < v->next.key_count && !v->config.pool; i++)
		if (sr_nonce_pooled(v->next.keys[i].nonce_mode))
			return sr_reason_set(why, -EOPNOTSUPP,
					     "key %u has nonce %s, and this signer was started "
					     "without a pool of presignatures",
					     v->next.keys[i].id,
					     sr_nonce_name(v->next.keys[i].nonce_mode));
	return 0;
}

static int put_in_force(struct sr_vault *v, const char *text, size_t bytes, struct sr_reason *why)
{
	const struct sr_vault_config *c = &v->config;
	int ret;

	v->next = *c->manifest;
	ret = sr_manifest_load(&v->next, v->hasher, c->operators, c->version_min, text, bytes, why);
	if (!ret)
		ret = judge_manifest(v, why);
	if (ret)
		return ret;
	if (sr_gate_manifest_set(c->gate, v->next.version, v->next.hash))
		return sr_reason_set(why, -EIO, "the manifest's terms could not be hashed");

	sr_task_wipe(&v->task);
	v->task.kind = SR_TASK_RIGHTS;
	sr_rights_make(&v->task.rights, c->manifest, &v->next);
	*c->manifest = v->next;
	v->busy = SR_COMMAND_MANIFEST;
	return 0;
}

int sr_vault_manifest(struct sr_vault *vault, struct sr_task **task, const char *text, size_t bytes,
		      struct sr_reason *why)
{
	int ret = put_in_force(vault, text, bytes, why);

	if (!ret)
		*task = &vault->task;
	return ret;
}

static void answer_manifest(struct sr_vault *v, struct sr_vault_answer *answer, bool authorised)
{
	sr_put64(body_of(v), v->config.manifest->version);
	memcpy(body_of(v) + 8, v->config.manifest->hash, SR_HASH_BYTES);
	answer_with(v, answer, SR_COMMAND_MANIFEST, SR_COMMAND_DONE, 8 + SR_HASH_BYTES, authorised);
}

/* An envelope is public: only who brings a new one, or has the command itself signed, is
 * thereby somebody whom the operators sent. */
static enum sr_vault_verdict take_manifest(struct sr_vault *v, struct sr_vault_answer *answer,
					   const struct sr_command *command, bool authorised)
{
	struct sr_reason why = { 0 };
	int ret = put_in_force(v, (const char *)command->body, command->body_bytes, &why);

	if (!ret)
		return SR_VAULT_TASK;
	if (ret == -EALREADY)
		answer_manifest(v, answer, authorised);
	else
		answer_words(v, answer, command->kind,
			     ret == -EIO    ? SR_COMMAND_FAILED :
			     ret == -EACCES ? SR_COMMAND_UNAUTHORISED :
					      SR_COMMAND_REFUSED,
			     why.text, authorised);
	return SR_VAULT_ANSWER;
}

/* ---- keys ---- */

static int pubkey_of(const void *arg, unsigned char pubkey[SR_BLOB_PUBKEY_BYTES],
		     const unsigned char secret[SR_BLOB_SECRET_BYTES])
{
	return sr_curve_pubkey(arg, pubkey, NULL, secret);
}

static int draw_scalar(struct sr_vault *v, unsigned char scalar[SR_SCALAR_BYTES])
{
	for (uint32_t i = 0; i < DRAWS_MAX; i++) {
		if (sr_drbg_generate(v->config.drbg, scalar, SR_SCALAR_BYTES))
			return -EIO;
		if (!sr_curve_pubkey(v->curve, v->key.pubkey, v->key.address, scalar))
			return 0;
	}
	return -EIO;
}

/* The task that puts v->secret into the ring. What it may do the signing thread knows,
 * from the manifest in force. */
static int make_entry(struct sr_vault *v, enum sr_task_kind kind, uint32_t id)
{
	struct sr_key_info info = { .id = id, .nonce_mode = SR_NONCE_HEDGED };
	int ret = draw_scalar(v, v->by);

	if (!ret)
		ret = sr_curve_pubkey(v->curve, v->key.pubkey, v->key.address, v->secret);
	if (ret)
		return ret;
	v->key.id = id;
	sr_task_wipe(&v->task);
	v->task.kind = kind;
	v->task.id = id;
	return sr_key_entry_make(&v->task.entry, v->curve, &info, v->secret, v->by);
}

static int seal_blob(struct sr_vault *v, const unsigned char recipient[SR_NOISE_KEY_BYTES])
{
	struct sr_blob_info info = { .id = v->key.id };
	const struct sr_blob_curve curve = { pubkey_of, v->curve, &v->blob_work };
	const struct sr_blob_seal seal = {
		.info = &info,
		.secret = v->secret,
		.recipient = recipient,
		.sender = sr_gate_pair(v->config.gate),
		.ephemeral = v->ephemeral,
		.curve = &curve,
	};
	int ret = sr_drbg_generate(v->config.drbg, v->ephemeral, sizeof v->ephemeral);

	memcpy(info.pubkey, v->key.pubkey, sizeof info.pubkey);
	return ret ? ret : sr_blob_seal(v->blob, &seal);
}

static int make_key(struct sr_vault *v, enum sr_task_kind kind,
		    const struct sr_command_generate *generate)
{
	/* Of fresh entropy: a guest that was copied must not make the same key twice. */
	int ret = sr_drbg_reseed(v->config.drbg);

	if (!ret)
		ret = draw_scalar(v, v->secret);
	if (!ret)
		ret = make_entry(v, kind, generate->id);
	/* Who cannot restore it, be it that his key is zeros, ends it here. */
	return ret ? ret : seal_blob(v, generate->recipient);
}

static int open_key(struct sr_vault *v, const struct sr_command *command)
{
	const struct sr_blob_curve curve = { pubkey_of, v->curve, &v->blob_work };
	unsigned char sender[SR_NOISE_KEY_BYTES];
	struct sr_blob_info info;
	int ret = sr_blob_open(&info, v->secret, sender, command->body, command->body_bytes,
			       sr_gate_pair(v->config.gate), &curve);

	if (!ret)
		ret = sr_drbg_reseed(v->config.drbg);
	return ret ? ret : make_entry(v, SR_TASK_KEY_ADD, info.id);
}

static void wipe_scratch(struct sr_vault *v)
{
	sr_wipe(v->secret, sizeof v->secret);
	sr_wipe(v->by, sizeof v->by);
	sr_wipe(v->ephemeral, sizeof v->ephemeral);
	sr_wipe_stack();
}

static const char *key_words(uint32_t kind, int error)
{
	if (kind == SR_COMMAND_IMPORT && error == -EBADMSG)
		return "the blob is not sealed to this signer's static key, or was changed: seal "
		       "it for this boot";
	if (error == -EBADMSG)
		return "the recovery recipient's public key is none: a new key needs one who can "
		       "restore it";
	if (error == -EKEYREJECTED)
		return "the blob's secret is no key, or not that of its public key";
	if (error == -EPROTO)
		return "the blob is malformed, or of another version";
	return NULL;
}

static int take_key(struct sr_vault *v, const struct sr_command *command)
{
	struct sr_command_generate generate;
	int ret;

	if (command->kind == SR_COMMAND_IMPORT)
		return open_key(v, command);
	ret = sr_command_generate_get(&generate, command->body);
	if (ret)
		return -EINVAL;
	return make_key(v,
			command->kind == SR_COMMAND_ROTATE ? SR_TASK_KEY_ROTATE : SR_TASK_KEY_ADD,
			&generate);
}

static int take_word(struct sr_vault *v, const struct sr_command *command)
{
	bool hold = command->kind == SR_COMMAND_HOLD;
	uint32_t id, held;

	if (sr_command_word_get(&id, &held, hold ? 1 : 0, command->body))
		return -EINVAL;
	sr_task_wipe(&v->task);
	v->task.kind = hold ? SR_TASK_KEY_HOLD : SR_TASK_KEY_DELETE;
	v->task.id = id;
	v->task.held = held;
	return 0;
}

static int take_policy(struct sr_vault *v, const struct sr_command *command)
{
	struct sr_policy_word word;

	if (sr_command_policy_get(&word, command->body))
		return -EINVAL;
	sr_task_wipe(&v->task);
	v->task.kind = SR_TASK_POLICY;
	v->task.word = word;
	return 0;
}

static int take_trace(struct sr_vault *v, const struct sr_command *command)
{
	uint64_t from;

	if (sr_command_trace_get(&from, command->body))
		return -EINVAL;
	sr_task_wipe(&v->task);
	v->task.kind = SR_TASK_TRACE;
	v->task.trace = (struct sr_trace_piece){
		.from = from,
		.room = SR_COMMAND_TRACED_MAX,
		.entries = v->traced,
	};
	return 0;
}

static int take_drain(struct sr_vault *v, const struct sr_command *command)
{
	bool draining;

	if (sr_command_drain_get(&draining, command->body))
		return -EINVAL;
	sr_task_wipe(&v->task);
	v->task.kind = SR_TASK_DRAIN;
	v->task.held = draining;
	return 0;
}

static int make_task(struct sr_vault *v, const struct sr_command *command)
{
	int ret;

	switch (command->kind) {
	case SR_COMMAND_GENERATE:
	case SR_COMMAND_ROTATE:
	case SR_COMMAND_IMPORT:
		ret = take_key(v, command);
		wipe_scratch(v);
		if (ret)
			sr_task_wipe(&v->task);
		return ret;
	case SR_COMMAND_LIST:
		sr_task_wipe(&v->task);
		v->task.kind = SR_TASK_KEY_LIST;
		return 0;
	case SR_COMMAND_STATUS:
		sr_task_wipe(&v->task);
		v->task.kind = SR_TASK_STATUS;
		return 0;
	case SR_COMMAND_DRAIN:
		return take_drain(v, command);
	case SR_COMMAND_POLICY:
		return take_policy(v, command);
	case SR_COMMAND_TRACE:
		return take_trace(v, command);
	default:
		return take_word(v, command);
	}
}

/* ---- commands ---- */

static int authorise(struct sr_vault *v, const struct sr_command *command,
		     const struct sr_gate_command *where, struct sr_reason *why)
{
	unsigned char hash[SR_HASH_BYTES];

	if (sr_command_hash(v->hasher, hash, command, where->h, where->sequence))
		return sr_reason_set(why, -EIO, "SHA-256 failed");
	return sr_operators_verify(v->config.operators, SR_COMMAND_PURPOSE, hash, command->sigs,
				   command->sig_count, why);
}

static void answer_refusal(struct sr_vault *v, struct sr_vault_answer *answer, uint32_t kind,
			   int error)
{
	const char *words = key_words(kind, error);

	if (error == -EINVAL)
		words = "the command names no key, or something else that there is not";
	if (words)
		answer_words(v, answer, kind, SR_COMMAND_REFUSED, words, true);
	else
		answer_words(v, answer, kind, SR_COMMAND_FAILED,
			     "the signer failed by itself: no entropy, or no memory", true);
}

enum sr_vault_verdict sr_vault_take(struct sr_vault *vault, struct sr_vault_answer *answer,
				    struct sr_task **task, const struct sr_gate_command *where)
{
	struct sr_reason why = { 0 };
	struct sr_command command;
	int ret = sr_command_get(&command, where->text, where->bytes);

	*task = &vault->task;
	if (ret || vault->busy) {
		answer_words(vault, answer, 0, SR_COMMAND_MALFORMED,
			     "this signer knows no such command: sigringctl may be of another "
			     "version",
			     false);
		return SR_VAULT_ANSWER;
	}
	ret = authorise(vault, &command, where, &why);
	if (command.kind == SR_COMMAND_MANIFEST)
		return take_manifest(vault, answer, &command, ret == 0);
	if (ret) {
		answer_words(vault, answer, command.kind, SR_COMMAND_UNAUTHORISED, why.text, false);
		return SR_VAULT_ANSWER;
	}
	ret = make_task(vault, &command);
	if (ret) {
		answer_refusal(vault, answer, command.kind, ret);
		return SR_VAULT_ANSWER;
	}
	vault->busy = command.kind;
	return SR_VAULT_TASK;
}

/* ---- when the task has come back ---- */

static const char *task_words(uint32_t kind, int result)
{
	if (kind == SR_COMMAND_POLICY && result == -ENOENT)
		return "the manifest in force has no policy of this key, or no such asset in it";
	if (kind == SR_COMMAND_POLICY && result == -ESTALE)
		return "a band of this sequence, or a higher one, was said before";
	switch (result) {
	case -EOPNOTSUPP:
		return "this signer keeps no trace: start it with --trace";
	case -EEXIST:
		return "there is a key of this id: choose another, or rotate or delete that one";
	case -ENOTUNIQ:
		return "the signer has this very key under another id: two policies of one key "
		       "would each allow what the other has spent";
	case -ENOSPC:
		return "the signer holds as many keys as it can: delete one";
	case -ENOENT:
		return "there is no key of this id";
	case -EKEYREVOKED:
		return "a check of this key has failed and its secret is gone: delete it and "
		       "restore it";
	default:
		return "the signing thread has refused";
	}
}

static size_t put_list(struct sr_vault *v)
{
	const struct sr_key_list *list = &v->task.list;
	uint32_t count = list->count < SR_KEYS_MAX ? list->count : SR_KEYS_MAX;
	unsigned char *at = body_of(v) + LIST_HEADER_BYTES;

	sr_put32(body_of(v), count);
	sr_put32(body_of(v) + 4, 0);
	for (uint32_t i = 0; i < count; i++, at += SR_COMMAND_LISTED_BYTES) {
		const struct sr_key_info *info = &list->keys[i];
		struct sr_command_listed listed = {
			.key.id = info->id,
			.permissions = info->permissions,
			.nonce_mode = info->nonce_mode,
			.flags = (info->locked ? SR_COMMAND_LOCKED : 0) |
				 (info->held ? SR_COMMAND_HELD : 0) |
				 (info->policy ? SR_COMMAND_TYPED : 0),
			.identities = info->identities,
		};

		memcpy(listed.key.pubkey, info->pubkey, sizeof listed.key.pubkey);
		memcpy(listed.key.address, info->address, sizeof listed.key.address);
		sr_command_listed_put(at, &listed);
	}
	return (size_t)(at - body_of(v));
}

static size_t put_traced(struct sr_vault *v)
{
	const struct sr_trace_piece *piece = &v->task.trace;
	const struct sr_command_traced traced = {
		.first = piece->from,
		.next = piece->next,
		.counter = v->config.counter,
		.slots = piece->slots,
		.count = piece->count,
	};

	return sr_command_traced_put(body_of(v), &traced, v->traced);
}

static size_t put_status(struct sr_vault *v)
{
	const struct sr_task_status *told = &v->task.status;
	struct sr_command_status status = { .boot_id = { 0, 0 } };

	if (v->config.describe)
		v->config.describe(v->config.describe_arg, &status);
	status.manifest_version = v->config.manifest->version;
	status.signed_ok = told->signed_ok;
	status.denied = told->denied;
	status.keys = told->keys;
	status.sessions = told->sessions;
	status.sessions_max = told->sessions_max;
	status.pool_depth = told->pool_depth;
	status.pool_slots = told->pool_slots;
	status.draining = told->draining;
	sr_command_status_put(body_of(v), &status);
	return SR_COMMAND_STATUS_BYTES;
}

static size_t put_done(struct sr_vault *v, uint32_t kind)
{
	switch (kind) {
	case SR_COMMAND_GENERATE:
	case SR_COMMAND_ROTATE:
		sr_command_key_put(body_of(v), &v->key);
		memcpy(body_of(v) + SR_COMMAND_KEY_BYTES, v->blob, sizeof v->blob);
		return SR_COMMAND_KEY_BYTES + sizeof v->blob;
	case SR_COMMAND_IMPORT:
		sr_command_key_put(body_of(v), &v->key);
		return SR_COMMAND_KEY_BYTES;
	case SR_COMMAND_LIST:
		return put_list(v);
	case SR_COMMAND_TRACE:
		return put_traced(v);
	case SR_COMMAND_STATUS:
		return put_status(v);
	default:
		return 0;
	}
}

void sr_vault_continue(struct sr_vault *vault, struct sr_vault_answer *answer)
{
	uint32_t kind = vault->busy;
	int result = vault->task.result;

	if (kind == SR_COMMAND_MANIFEST && result == 0)
		answer_manifest(vault, answer, true);
	else if (result)
		answer_words(vault, answer, kind, SR_COMMAND_REFUSED, task_words(kind, result), true);
	else
		answer_with(vault, answer, kind, SR_COMMAND_DONE, put_done(vault, kind), true);
	sr_task_wipe(&vault->task);
	sr_wipe(vault->blob, sizeof vault->blob);
	vault->busy = 0;
}
