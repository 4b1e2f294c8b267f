/* SPDX-License-Identifier: MIT */
/*
 * sr_core_state.h - what the files of the core share: its state, private to them.
 *
 * sr_core.c has the table of sessions, sr_core_clear.c the records of sessions in
 * clear, sr_core_sealed.c admissions and the records of sealed ones. No function of
 * one kind is called for a session of the other.
 */
#ifndef SR_CORE_STATE_H
#define SR_CORE_STATE_H

#include "sr_answer.h"
#include "sr_core.h"
#include "sr_ledger.h"

#define SR_STREAMS_MAX 64u
#define SR_NO_STREAM SR_STREAMS_MAX

/* How far a session had come when it ended. */
struct sr_core_last {
	uint64_t next;     /* one more than the highest number that was seen */
	uint64_t accepted; /* requests that were judged */
};

/*
 * A session. Provisional: id is set, and there is no ledger; it is sealed, and no
 * record has proved yet that its client is alive. Open: both. Free: neither.
 */
struct sr_core_session {
	uint64_t token[2];
	uint64_t first;
	uint64_t accepted;
	uint64_t since;    /* the core's age when it became an orphan, or was admitted */
	uint32_t id;       /* 0 = free */
	uint32_t generation;
	uint32_t depth;
	uint32_t slot_bytes;
	uint32_t epoch;
	uint32_t stream; /* SR_NO_STREAM: an orphan */
	struct sr_caller caller;
	bool priority;
	struct sr_ledger *ledger;

	/* Of a sealed one. */
	bool strict;
	bool gapped; /* a number was skipped */
	bool due;    /* waits in the core's `due` */
	bool has_last;
	struct sr_core_last last; /* of its predecessor */
	uint64_t predecessor[2];
	struct sr_seal_pair *seals; /* in protected memory; this place's own */
};

/* In protected memory. */
struct sr_core_secrets {
	unsigned char body[SR_SUB_BYTES_MAX]; /* text of the record being judged */
	struct sr_seal_pair moving;           /* scratch of an exchange */
	struct sr_seal_pair seals[];          /* of each session */
};

struct sr_core {
	struct sr_keyring *keys;
	struct sr_sign *sign;
	struct sr_policy_book *policy;
	struct sr_trace *trace; /* NULL: none */
	struct sr_answerer *answerer;
	struct sr_rights rights; /* in force; version 0: keys keep their own */
	struct sr_ledgers *ledgers; /* sessions_max */
	struct sr_core_session *sessions; /* sessions_max + admissions_max */
	struct sr_core_secrets *secrets;  /* NULL: takes no admissions */
	uint64_t age;
	bool draining;
	uint32_t sessions_count; /* places in the table */
	uint32_t sessions_max;
	uint32_t admissions_max;
	uint32_t provisional;
	uint32_t shares[SR_IDENTITIES_MAX + 1]; /* open sessions of each; all in clear last */
	uint32_t depth_max;
	uint32_t slot_bytes_max;
	const struct sr_core_kind *clear; /* NULL: this core takes none */
	struct sr_core_stats stats;

	/* Sessions whose keys have something to do ahead of need: a queue. */
	uint32_t *due;
	uint32_t due_head;
	uint32_t due_count;

	/* Sessions that are provisional no more, for sr_core_settled(): a queue. */
	uint64_t (*settled)[2];
	uint32_t settled_head;
	uint32_t settled_count;
};

/* The sessions' table: sr_core.c. */
struct sr_core_session *sr_core_find(const struct sr_core *core, const uint64_t token[2],
				     const struct sr_caller *caller);
void sr_core_close(struct sr_core *core, struct sr_core_session *s);
void sr_core_opened(struct sr_core *core, const struct sr_core_session *s);
void sr_core_share(struct sr_core *core); /* count anew who has how many open */
bool sr_core_make_room(struct sr_core *core, bool sealed);
struct sr_core_session *sr_core_place(struct sr_core *core);
bool sr_core_sizes_valid(const struct sr_core *core, uint32_t depth, uint32_t slot_bytes);
enum sr_open_result sr_core_bind(struct sr_core *core, struct sr_core_session *s,
				 const struct sr_open_request *request, uint32_t epoch,
				 uint32_t stream);
void sr_core_count(struct sr_core *core, uint16_t status);

/*
 * What can be done with sessions of the kind that may be left out. The core reaches it
 * through its configuration alone, so that a program without it does not link it.
 */
struct sr_core_kind {
	enum sr_open_result (*open)(struct sr_core *core, uint32_t *session,
				    const struct sr_open_request *request, uint32_t epoch,
				    uint32_t stream);
	enum sr_core_verdict (*record)(struct sr_core *core, unsigned char reply[SR_CMP_BYTES],
				       struct sr_core_session *s, const unsigned char *record);
};

/* The kind that is always there. */
enum sr_open_result sr_core_sealed_open(struct sr_core *core, uint32_t *session,
					const struct sr_open_request *request, uint32_t epoch,
					uint32_t stream);
enum sr_core_verdict sr_core_sealed_record(struct sr_core *core, unsigned char reply[SR_CMP_BYTES],
					   struct sr_core_session *s, const unsigned char *record);
int sr_core_sealed_start(struct sr_core *core);
void sr_core_sealed_stop(struct sr_core *core);
void sr_core_sealed_close(struct sr_core *core, struct sr_core_session *s);
int sr_core_sealed_admit(struct sr_core *core, struct sr_admission *admission);
bool sr_core_sealed_idle(struct sr_core *core);

#endif /* SR_CORE_STATE_H */
