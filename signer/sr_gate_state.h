/* SPDX-License-Identifier: MIT */
/*
 * sr_gate_state.h - what the files of the gate share: its state, private to them.
 *
 * sr_gate.c has the set-up of either kind of conversation and all of a trader's,
 * sr_gate_operator.c what comes after BEGUN in an operator's.
 */
#ifndef SR_GATE_STATE_H
#define SR_GATE_STATE_H

#include "sr_channel.h"
#include "sr_gate.h"

/* Of a conversation. Zeroed memory is over. */
enum { SR_TALK_OVER = 0, SR_TALK_FRESH, SR_TALK_ASKED, SR_TALK_OPERATOR };

#define SR_REFUSAL_NONE ((enum sr_refusal)0)

/* Where an operator sits. */
struct sr_gate_desk {
	bool taken;
	bool judging;      /* a command is with the caller */
	bool obeyed;       /* one was signed by enough of them: nobody takes his place */
	uint64_t seat;     /* whose it is: no two conversations of a gate have the same */
	uint64_t sequence; /* of the next command */
	unsigned char h[SR_NOISE_KEY_BYTES];
	struct sr_channel channel;
};

struct sr_gate {
	uint64_t ready; /* not in a forked child */
	struct sr_gate_config config;
	struct sr_gate_stats stats;
	unsigned char terms_hash[SR_CONTROL_HASH_BYTES];

	struct sr_quota quota;
	uint64_t serial_next;
	uint64_t spent[SR_GATE_TICKETS / 64]; /* a bit for each of the last serials */
	uint64_t by_ticket;                   /* 1: the last admission was */

	struct sr_noise_pair pair;
	struct sr_ticket_key ticket_key;

	struct sr_gate_desk desks[SR_GATE_OPERATORS_MAX];
	uint64_t seats; /* how often one was taken */
	unsigned char *texts; /* of the desks' commands: nothing in them is secret */

	/* Scratch of one message. */
	unsigned char random[SR_NOISE_KEY_BYTES];
	unsigned char psk[SR_NOISE_KEY_BYTES];
	unsigned char payload[SR_GRANT_BYTES];
	struct sr_grant grant;
	struct sr_noise noise;
	struct sr_noise_keys keys;
};

/* sr_gate.c: what a conversation was charged in advance is lost, to everybody. */
void sr_gate_fail(struct sr_gate *gate, struct sr_gate_talk *talk, uint64_t now_ns);
enum sr_gate_verdict sr_gate_refuse(struct sr_gate *gate, struct sr_gate_talk *talk,
				    unsigned char *out, size_t *out_bytes, enum sr_refusal code);

/* sr_gate_operator.c: is there a desk? Message 1 has been read: write message 2 and sit
 * down. */
enum sr_refusal sr_gate_operator_judge(const struct sr_gate *gate);
enum sr_refusal sr_gate_operator_seat(struct sr_gate *gate, struct sr_gate_talk *talk,
				      unsigned char message[SR_BEGUN_NOISE_BYTES]);
enum sr_gate_verdict sr_gate_operator_take(struct sr_gate *gate, struct sr_gate_talk *talk,
					   unsigned char *out, size_t *out_bytes,
					   const struct sr_control *message, uint64_t now_ns);
void sr_gate_operator_leave(struct sr_gate *gate, struct sr_gate_talk *talk);

#endif /* SR_GATE_STATE_H */
