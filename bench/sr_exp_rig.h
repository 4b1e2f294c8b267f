/* SPDX-License-Identifier: MIT */
/*
 * sr_exp_rig.h - what EXP-01 measures: agent and signer, started for it, and a session.
 *
 * A sigring-local; or an agent and a signer apart; or an agent alone, for a signer that
 * runs somewhere already. Keys, operator and manifest of signers of its own are made in
 * a private folder and gone with it. One rig a process.
 */
#ifndef SR_EXP_RIG_H
#define SR_EXP_RIG_H

#include "sigring.h"
#include "sr_exp_trace.h"

enum sr_exp_via { SR_EXP_LOCAL, SR_EXP_UNIX, SR_EXP_ADDRESS };

/* Presignatures of a signer of our own. */
struct sr_exp_pool {
	uint32_t slots;
	uint32_t low_percent; /* refilled below so many */
	uint32_t batch;
};

struct sr_exp_rig {
	/* What is asked for; texts are borrowed. */
	enum sr_exp_via via;
	const char *address; /* these four with SR_EXP_ADDRESS */
	const char *identity;
	const char *trust;
	const char *operators[SR_OPERATORS_MAX];
	uint32_t operator_count;
	uint32_t trace_records; /* of the traces, a power of two */
	uint32_t orders_max;    /* of one sr_exp_traces_join() */
	enum sr_wait_policy wait;

	/* What there is. */
	int cpus[3];  /* of client, agent, signer; -1: its CPU is not ours to know */
	pid_t agent;  /* -1: none */
	pid_t signer; /* the same, of a sigring-local; -1: none of ours */
	struct sr_client *client;
	struct sr_session *session;
	struct sr_exp_traces traces; /* when traced */
	bool traced;
	char wait_name[8];
	char signer_address[96];
};

SR_BEGIN_DECLS

/* sr_exp_rig_cpus - up to three CPUs that we may run on; where there are two, agent and
 * signer share one. 0; -ERANGE with a reason. */
SR_WARN_UNUSED int sr_exp_rig_cpus(struct sr_exp_rig *rig, struct sr_reason *why);

/* sr_exp_rig_new - find the programs, make keys and the rest. 0 or -errno with a reason. */
SR_WARN_UNUSED int sr_exp_rig_new(struct sr_exp_rig *rig, struct sr_reason *why);
void sr_exp_rig_delete(struct sr_exp_rig *rig);

/*
 * sr_exp_rig_begin - start them, open a session and, when @traced, the traces.
 *
 * @pool: of a signer of ours.
 * Returns 0 or -errno with a reason; sr_exp_rig_end() must follow either way.
 */
SR_WARN_UNUSED int sr_exp_rig_begin(struct sr_exp_rig *rig, const struct sr_exp_pool *pool,
				    bool traced, struct sr_reason *why);
void sr_exp_rig_end(struct sr_exp_rig *rig);

/* sr_exp_rig_dry - how often the pool was found dry since the signer's start; asks until
 * the answer is of now, up to a second or two. */
SR_WARN_UNUSED int sr_exp_rig_dry(uint64_t *dry, struct sr_reason *why);

/* sr_exp_rig_await_pool - wait until the pool holds so many, or does not grow any more.
 * @depth: out: how many it holds, 0 without a pool. 0 or -errno with a reason. */
SR_WARN_UNUSED int sr_exp_rig_await_pool(uint64_t *depth, uint64_t wanted, struct sr_reason *why);

/* sr_exp_rig_pubkey - of key 1 of a signer of ours. */
const unsigned char *sr_exp_rig_pubkey(void);

/* sr_exp_rig_tune - what `sigring-tune check --json` says, or an empty text. */
void sr_exp_rig_tune(char *text, size_t room);

/* sr_exp_rig_show_log - what the programs had to say, to stderr. */
void sr_exp_rig_show_log(void);

SR_END_DECLS

#endif /* SR_EXP_RIG_H */
