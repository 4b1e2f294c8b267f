/* SPDX-License-Identifier: MIT */
/*
 * vault_rig.h - a gate with a vault behind it, a signing thread's core that runs where it
 * is called, and operators to talk to them. Without a manifest to begin with. A test
 * program includes it once.
 */
#ifndef VAULT_RIG_H
#define VAULT_RIG_H

#include "gate_rig.h"

#include "sr_channel.h"
#include "sr_core.h"
#include "sr_vault.h"

#define RIG_OPERATORS 3u
#define RIG_K 2u
#define RIG_ALL 7u /* who signs: bit i for operator i */

struct vault_rig {
	struct sr_operator_pair pairs[RIG_OPERATORS + 1]; /* the last is in no list */
	struct sr_operators operators;
	struct sr_hasher *hasher;
	struct sr_manifest manifest;
	struct sr_keyring *keys;
	struct sr_core *core;
	struct sr_vault *vault;
	struct sr_vault_config config;
	struct sr_channel channel; /* the operator's end */
	uint64_t sequence;
	enum sr_gate_verdict verdict; /* of the last result */
	int task_error;               /* when set: what the signing thread says */
	unsigned char text[SR_COMMAND_BYTES_MAX];
	size_t text_bytes;
	unsigned char received[SR_COMMAND_RESULT_BYTES_MAX + 1];
};

static struct vault_rig vr;

static inline void vault_operators(void)
{
	for (uint32_t i = 0; i <= RIG_OPERATORS; i++) {
		unsigned char secret[32];

		memset(secret, (int)(0x40 + i), sizeof secret);
		rig_require(sr_operator_pair_make(&vr.pairs[i], secret) == 0);
	}
	vr.operators.k = RIG_K;
	vr.operators.count = RIG_OPERATORS;
	for (uint32_t i = 0; i < RIG_OPERATORS; i++)
		memcpy(vr.operators.pub[i], vr.pairs[i].pub, 32);
}

static inline void vault_core(void)
{
	const struct sr_core_config config = {
		.sign = { .keys = vr.keys, .entropy = &rig_entropy },
		.sessions_max = 4,
		.admissions_max = 2,
		.depth_max = 16,
		.slot_bytes_max = 384,
	};

	rig_require(sr_core_new(&vr.core, &config) == 0);
}

static inline int vault_start(void)
{
	int ret = rig_start();

	if (ret)
		return ret;
	sr_gate_delete(rig.gate);
	rig.config.terms.manifest_version = 0;
	memset(rig.config.terms.manifest_hash, 0, 32);
	rig_require(sr_gate_new(&rig.gate, &rig.config) == 0);
	vault_operators();
	rig_require(sr_hasher_new(&vr.hasher) == 0);
	rig_require(sr_keyring_new(&vr.keys) == 0);
	vault_core();
	vr.config = (struct sr_vault_config){
		.gate = rig.gate,
		.drbg = rig.drbg,
		.operators = &vr.operators,
		.manifest = &vr.manifest,
	};
	rig_require(sr_vault_new(&vr.vault, &vr.config) == 0);
	return 0;
}

static inline void vault_stop(void)
{
	sr_channel_wipe(&vr.channel);
	sr_gate_leave(rig.gate, &rig.talk, rig.now_ns);
	sr_vault_delete(vr.vault);
	sr_core_delete(vr.core);
	sr_keyring_delete(vr.keys);
	sr_hasher_delete(vr.hasher);
	rig_stop();
}

/* ---- conversations ---- */

static inline struct sr_setup_config vault_setup_config(void)
{
	struct sr_setup_config config = rig_setup_config(RIG_CLIENTS - 1);

	memset(&config.request, 0, sizeof config.request);
	config.is_operator = true;
	rig.expect.manifest_hash = NULL;
	return config;
}

/* An operator comes in, as far as the keys of his channel. */
static inline void vault_enter(void)
{
	struct sr_setup_config config = vault_setup_config();

	sr_channel_wipe(&vr.channel);
	rig_to_begin(&config);
	rig_require(rig_up() == SR_GATE_ANSWER);
	rig_require(rig_down() == SR_SETUP_OK && sr_setup_done(&rig.secrets->setup));
	rig_require(sr_setup_finish(&rig.secrets->setup, &rig.secrets->keys,
				    &rig.secrets->result) == 0);
	rig_require(sr_channel_init(&vr.channel, &rig.secrets->keys, vr.received,
				    sizeof vr.received) == 0);
	vr.sequence = 0;
}

static inline void vault_leave(void)
{
	sr_channel_wipe(&vr.channel);
	sr_gate_leave(rig.gate, &rig.talk, rig.now_ns);
}

/* The text of a command, signed for this conversation and this sequence. */
static inline void vault_sign(uint32_t kind, const void *body, size_t bytes, uint32_t mask,
			      uint64_t sequence)
{
	struct sr_command command = { .kind = kind, .body = body, .body_bytes = bytes };
	unsigned char hash[SR_HASH_BYTES];

	rig_require(sr_command_hash(vr.hasher, hash, &command, rig.secrets->keys.h, sequence) == 0);
	for (uint32_t i = 0; i <= RIG_OPERATORS; i++)
		if (mask >> i & 1)
			rig_require(sr_operator_sign(&vr.pairs[i],
						     &command.sigs[command.sig_count++],
						     SR_COMMAND_PURPOSE, hash) == 0);
	vr.text_bytes = sr_command_put(vr.text, &command);
	rig_require(vr.text_bytes);
}

/* vr.text to the gate. */
static inline enum sr_gate_verdict vault_send(void)
{
	enum sr_gate_verdict verdict = SR_GATE_MORE;
	size_t at = 0;

	do {
		rig_require(sr_channel_put(&vr.channel, rig.up.data, &rig.up.bytes, vr.text,
					   vr.text_bytes, &at) == 0);
		verdict = rig_up();
	} while (at < vr.text_bytes && verdict == SR_GATE_MORE);
	return verdict;
}

/* What the control thread does with a command. */
static inline void vault_obey(void)
{
	struct sr_gate_command command;
	struct sr_vault_answer answer;
	struct sr_task *task;

	sr_gate_command_get(rig.gate, &rig.talk, &command);
	rig_require(command.text);
	if (sr_vault_take(vr.vault, &answer, &task, &command) == SR_VAULT_TASK) {
		rig_require(sr_vault_busy(vr.vault));
		if (vr.task_error)
			task->result = vr.task_error;
		else
			sr_core_task(vr.core, task);
		sr_vault_continue(vr.vault, &answer);
	}
	rig_require(!sr_vault_busy(vr.vault));
	vr.verdict = sr_gate_result(rig.gate, &rig.talk, rig.down.data, &rig.down.bytes,
				    answer.authorised, answer.text, answer.bytes, rig.now_ns);
}

/* The operator reads what lies in rig.down. */
static inline struct sr_command_result vault_receive(void)
{
	struct sr_command_result result;
	struct sr_control message;

	rig_require(sr_control_whole(&message, rig.down.data, rig.down.bytes) == 0);
	rig_require(sr_channel_take(&vr.channel, &message) == 0);
	rig_require(sr_command_result_get(&result, vr.channel.text, vr.channel.text_bytes) == 0);
	return result;
}

/* What lies in vr.text, there and back. */
static inline struct sr_command_result vault_run(void)
{
	rig_require(vault_send() == SR_GATE_COMMAND);
	vault_obey();
	vr.sequence++;
	return vault_receive();
}

static inline struct sr_command_result vault_command(uint32_t kind, const void *body, size_t bytes,
						     uint32_t mask)
{
	vault_sign(kind, body, bytes, mask, vr.sequence);
	return vault_run();
}

/* ---- manifests ---- */

static inline size_t vault_envelope(char *text, const char *json, uint32_t mask)
{
	struct sr_envelope envelope = { .manifest = json, .manifest_bytes = strlen(json) };
	unsigned char hash[SR_HASH_BYTES];

	rig_require(sr_manifest_hash(vr.hasher, hash, json, strlen(json)) == 0);
	for (uint32_t i = 0; i <= RIG_OPERATORS; i++)
		if (mask >> i & 1)
			rig_require(sr_operator_sign(&vr.pairs[i],
						     &envelope.sigs[envelope.sig_count++],
						     SR_MANIFEST_PURPOSE, hash) == 0);
	return sr_envelope_put(text, &envelope);
}

#endif /* VAULT_RIG_H */
