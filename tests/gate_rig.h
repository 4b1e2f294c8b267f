/* SPDX-License-Identifier: MIT */
/*
 * gate_rig.h - a gate with a mock security module, and clients to talk to it, in one
 * thread and without a stream between them. A test program includes it once.
 */
#ifndef GATE_RIG_H
#define GATE_RIG_H

#include <stdio.h>
#include <stdlib.h>

#include "sr_gate.h"
#include "sr_getrandom.h"
#include "sr_mock_nsm.h"
#include "sr_secret.h"
#include "sr_setup.h"

#define RIG_UNIX_MS 1796000000000u
#define RIG_SECOND UINT64_C(1000000000)
#define RIG_CLIENTS 3u /* the last is in no manifest */

#define rig_require(condition)                                                          \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                        \
		}                                                                       \
	} while (0)

/* A message on its way. */
struct rig_bytes {
	size_t bytes;
	unsigned char data[SR_CONTROL_BYTES_MAX];
};

/* Whatever holds a secret. */
struct rig_secrets {
	struct sr_noise_pair clients[RIG_CLIENTS];
	struct sr_setup setup, setup_copy;
	struct sr_noise_keys keys;
	struct sr_setup_result result;
	struct sr_setup_ticket ticket;
	struct sr_admission admission;
	unsigned char ephemeral[32];
};

struct rig {
	struct sr_mock_nsm *mock;
	struct sr_evidence evidence;
	int evidence_error;
	int entropy_error;
	uint64_t entropy_calls;
	size_t evidence_bytes; /* when not 0: what it says its length is */
	struct sr_drbg *drbg;
	struct sr_gate_config config;
	struct sr_gate *gate;
	struct sr_gate_talk talk;
	struct sr_attest_image image;
	struct sr_setup_expect expect;
	struct sr_attest_cache cache;
	struct rig_secrets *secrets;
	uint64_t now_ns, unix_ms, draws;
	bool known[RIG_CLIENTS];
	struct rig_bytes up, down;
};

static struct rig rig;

static inline int rig_entropy_get(void *arg, unsigned char *out, size_t bytes)
{
	(void)arg;
	rig.entropy_calls++;
	return rig.entropy_error ? rig.entropy_error :
				   sr_getrandom.get(sr_getrandom.arg, out, bytes);
}

static const struct sr_entropy rig_entropy = { rig_entropy_get, NULL };

static inline int rig_attest(void *arg, unsigned char *document, size_t *bytes,
			     const struct sr_gate_question *question)
{
	const struct sr_evidence_request request = {
		question->nonce,       SR_CONTROL_NONCE_BYTES, question->user_data,
		SR_CONTROL_HASH_BYTES, question->public_key,   SR_NOISE_KEY_BYTES,
	};
	struct rig *r = arg;
	int ret = r->evidence_error;

	if (!ret)
		ret = r->evidence.attest(r->evidence.arg, document, bytes, &request);
	if (r->evidence_bytes)
		*bytes = r->evidence_bytes;
	return ret;
}

static inline int rig_identity(void *arg, const unsigned char pub[SR_NOISE_KEY_BYTES])
{
	struct rig *r = arg;

	for (int i = 0; i < (int)RIG_CLIENTS; i++)
		if (r->known[i] && !memcmp(r->secrets->clients[i].pub, pub, SR_NOISE_KEY_BYTES))
			return i;
	return -ENOENT;
}

/* Different each time, and never zero. */
static inline void rig_draw(void *out, size_t bytes)
{
	unsigned char *at = out;

	rig.draws++;
	for (size_t i = 0; i < bytes; i++)
		at[i] = (unsigned char)(rig.draws * 131 + i * 7 + (rig.draws >> 8) + 1);
	memcpy(at, &rig.draws, bytes < 4 ? bytes : 4);
}

static inline void rig_config(void)
{
	struct sr_gate_config *c = &rig.config;

	c->drbg = rig.drbg;
	c->arg = &rig;
	c->attest = rig_attest;
	c->identity = rig_identity;
	c->limits = (struct sr_gate_limits){
		.talk_ns = 10 * RIG_SECOND,
		.ticket_ns = 3600 * RIG_SECOND,
		.quota = {
			.failure_ns = RIG_SECOND,
			.identity_failure_ns = RIG_SECOND,
			.waiting_ns = 5 * RIG_SECOND,
			.failures_max = 8,
			.identity_failures_max = 4,
			.waiting_max = 4,
			.identity_waiting_max = 3,
		},
		.depth_max = 1024,
		.slot_bytes_max = 512,
		.sessions_max = 64,
		.operators_max = 2,
		.operator_ns = 60 * RIG_SECOND,
	};
	rig_draw(c->terms.boot_id, sizeof c->terms.boot_id);
	c->terms.manifest_version = 7;
	rig_draw(c->terms.manifest_hash, sizeof c->terms.manifest_hash);
	rig_draw(c->terms.audit_key, sizeof c->terms.audit_key);
	rig_require(rig.evidence.pcr(rig.evidence.arg, c->pcr0, 0) == 0);
}

static inline void rig_expect(void)
{
	const unsigned char *der;
	size_t bytes;

	der = sr_mock_nsm_root(rig.mock, &bytes);
	rig_require(sr_attest_root_parse(&rig.expect.root, der, bytes) == 0);
	rig_require(rig.evidence.pcr(rig.evidence.arg, rig.image.pcr0, 0) == 0);
	rig_require(rig.evidence.pcr(rig.evidence.arg, rig.image.pcr1, 1) == 0);
	rig_require(rig.evidence.pcr(rig.evidence.arg, rig.image.pcr2, 2) == 0);
	rig.expect.images = &rig.image;
	rig.expect.image_count = 1;
	rig.expect.manifest_hash = rig.config.terms.manifest_hash;
	rig.expect.age_ms_max = 60000;
}

/* Returns -ENOSYS where there is no protected memory (qemu-user). */
static inline int rig_start(void)
{
	struct sr_mock_profile profile;
	void *mem;
	int ret = sr_secret_alloc(&mem, sizeof *rig.secrets);

	if (ret)
		return ret;
	rig.secrets = mem;
	rig.now_ns = 1000 * RIG_SECOND;
	rig.unix_ms = RIG_UNIX_MS;
	sr_mock_profile_init(&profile, RIG_UNIX_MS);
	rig_require(sr_mock_nsm_new(&rig.mock, &profile) == 0);
	sr_mock_nsm_time_set(rig.mock, RIG_UNIX_MS);
	rig.evidence = sr_mock_nsm_evidence(rig.mock);
	rig_require(sr_drbg_new(&rig.drbg, &rig_entropy) == 0);
	rig_config();
	rig_expect();
	rig_require(sr_gate_new(&rig.gate, &rig.config) == 0);
	for (uint32_t i = 0; i < RIG_CLIENTS; i++) {
		rig_draw(rig.secrets->ephemeral, 32);
		rig_require(sr_noise_pair_make(&rig.secrets->clients[i], rig.secrets->ephemeral) ==
			    0);
		rig.known[i] = i + 1 < RIG_CLIENTS;
	}
	return 0;
}

static inline void rig_stop(void)
{
	sr_gate_delete(rig.gate);
	sr_drbg_delete(rig.drbg);
	sr_mock_nsm_delete(rig.mock);
	sr_admission_wipe(&rig.secrets->admission);
	sr_secret_free(rig.secrets, sizeof *rig.secrets);
}

static inline struct sr_setup_config rig_setup_config(uint32_t client)
{
	struct sr_setup_config config = {
		.expect = &rig.expect,
		.cache = &rig.cache,
		.s = &rig.secrets->clients[client],
		.ephemeral = rig.secrets->ephemeral,
		.request = { .first = UINT64_MAX - 1, .depth = 256, .slot_bytes = 384 },
	};

	rig_draw(rig.secrets->ephemeral, 32);
	rig_draw(config.nonce, sizeof config.nonce);
	rig_draw(config.token, sizeof config.token);
	return config;
}

/* The client's first message, in rig.up. */
static inline enum sr_setup_code rig_begin(const struct sr_setup_config *config)
{
	sr_gate_enter(rig.gate, &rig.talk, rig.now_ns);
	return sr_setup_start(&rig.secrets->setup, rig.up.data, &rig.up.bytes, config, rig.unix_ms);
}

/* rig.up to the gate; its answer is in rig.down. */
static inline enum sr_gate_verdict rig_up(void)
{
	sr_admission_wipe(&rig.secrets->admission);
	return sr_gate_take(rig.gate, &rig.talk, rig.down.data, &rig.down.bytes,
			    &rig.secrets->admission, rig.up.data, rig.up.bytes, rig.now_ns);
}

/* rig.down to the client; its answer is in rig.up. */
static inline enum sr_setup_code rig_down(void)
{
	return sr_setup_take(&rig.secrets->setup, rig.up.data, &rig.up.bytes, rig.down.data,
			     rig.down.bytes, rig.unix_ms);
}

/* The code of a refusal that lies in rig.down; 0: it is none. */
static inline uint32_t rig_refusal(void)
{
	struct sr_control message;
	uint32_t code;

	if (sr_control_whole(&message, rig.down.data, rig.down.bytes) ||
	    sr_control_refused_get(&code, &message))
		return 0;
	return code;
}

/* As far as the client's BEGIN, which lies in rig.up. */
static inline void rig_to_begin(const struct sr_setup_config *config)
{
	rig_require(rig_begin(config) == SR_SETUP_OK);
	if (config->ticket)
		return;
	rig_require(rig_up() == SR_GATE_ANSWER);
	rig_require(rig_down() == SR_SETUP_OK);
}

/* As far as BEGUN, which lies in rig.down; the admission is in rig.secrets. */
static inline void rig_to_begun(const struct sr_setup_config *config)
{
	rig_to_begin(config);
	rig_require(rig_up() == SR_GATE_ADMIT);
}

/* The whole of it, and its place among those who wait is given back. */
static inline void rig_converse(const struct sr_setup_config *config)
{
	rig_to_begun(config);
	rig_require(rig_down() == SR_SETUP_OK);
	rig_require(rig.up.bytes == 0 && sr_setup_done(&rig.secrets->setup));
	rig_require(sr_setup_finish(&rig.secrets->setup, &rig.secrets->keys,
				    &rig.secrets->result) == 0);
	sr_gate_leave(rig.gate, &rig.talk, rig.now_ns);
	sr_gate_settle(rig.gate, config->token);
}

static inline struct sr_gate_stats rig_stats(void)
{
	struct sr_gate_stats stats;

	sr_gate_stats_get(rig.gate, &stats, rig.now_ns);
	return stats;
}

#endif /* GATE_RIG_H */
