/* SPDX-License-Identifier: MIT */
/*
 * sr_core.h - the signer: a batch of records in, a batch of replies out.
 *
 * Pure: no I/O, no clock, no thread, no allocation after sr_core_new(). Owned by
 * one thread. It holds the sessions, judges each record against its session and
 * its key, and signs.
 *
 * Sessions are of two kinds, and may live side by side. One in clear is begun by
 * the agent's OPEN, which is believed. A sealed one is admitted by the control
 * thread with keys (sr_admission.h), and the agent's OPEN only puts it on a stream.
 * Until its first record authenticates it is provisional: a handshake's first
 * message can be replayed by anybody, so it is kept apart in a small table of its
 * own, where the oldest makes room. With that record it gets a place among the
 * sessions, if need be that of the oldest orphan, and its predecessor ends.
 *
 * Numbers of a session rise strictly. A number that was skipped is VOID at once
 * and, if it comes later, gets one VOID reply. A gap may be longer than depth:
 * that is how many requests the agent has answered EXPIRED by itself. The last `depth` requests are
 * kept with their replies: the same record again (a new agent sends again what
 * it cannot know to be answered) gets the same bytes and spends nothing; another
 * record under the same number ends the session, and so does a number that is
 * further behind.
 *
 * Of a sealed session only what authenticates counts. Whatever does not, or lies
 * further behind, is dropped and changes nothing: neither the numbers nor the keys
 * nor the session. A number gets one sealed reply, ever. Repeats are compared as
 * they come, before anything is decrypted. A gap reaches into the next epoch of
 * the keys (2^20 numbers) and not beyond (sr_seal.h). In a strict session, once a
 * number was skipped, every later request is DENIED/GAP.
 */
#ifndef SR_CORE_H
#define SR_CORE_H

#include "sr_base.h"
#include "sr_frame.h"
#include "sr_sign.h"
#include "sr_slot.h"
#include "sr_task.h"
#include "sr_trace.h"

struct sr_core;
struct sr_core_kind;

struct sr_core_config {
	struct sr_sign_config sign; /* keys, entropy, pool */
	uint32_t sessions_max;      /* 1 .. 4096, with admissions_max */
	uint32_t admissions_max;    /* provisional sealed sessions; 0: none is admitted */
	uint32_t depth_max;         /* a power of two, up to SR_DEPTH_MAX */
	uint32_t slot_bytes_max;
	const struct sr_core_kind *clear; /* &sr_core_clear; NULL: no records in clear are taken,
					     and the code for them need not be linked */
	bool snapshot_allowed;      /* only told on: the caller has judged the ground */
	struct sr_trace_config trace; /* .slots 0: none */
};

/* Counters, since the start; pool_depth and sessions are of now. */
struct sr_core_stats {
	uint64_t records;    /* DATA records judged: not the dropped ones */
	uint64_t signed_ok;  /* signatures made */
	uint64_t denied;
	uint64_t bad_request;
	uint64_t voided;
	uint64_t repeats;    /* answered from the cache */
	uint64_t dropped;    /* unknown session, old epoch, of the other kind, forgotten */
	uint64_t ended_hostile; /* sessions ended for breaking the rules */
	uint64_t sessions;   /* open now */
	uint64_t orphans;    /* open now, without a stream */
	uint64_t check_failed; /* signatures that did not verify: key locked */
	uint64_t presigned;    /* signatures made with a presignature */
	uint64_t fallbacks;    /* hedged, because the pool was dry */
	uint64_t pool_depth;
	uint64_t pool_slots;   /* 0: there is no pool */
	uint64_t pool_taken;
	uint64_t pool_refilled;
	uint64_t pool_dry;     /* takes that found none, DENIED(DRY) among them */
	uint64_t pool_failed;  /* batches thrown away by a check */
	uint64_t snapshot_allowed; /* 1: the operator vouches that there are none */
	uint64_t unauthentic; /* records of sealed sessions that nobody sealed so */
};

/* What became of a record given to sr_core_record(). */
enum sr_core_verdict {
	SR_CORE_REPLY = 0,   /* a completion record was written */
	SR_CORE_DROPPED = 1, /* nothing to say; the credit goes back */
	SR_CORE_ENDED = 2,   /* the session was ended, now or before; the credit goes back,
				and whoever sent it has to be told */
};

SR_BEGIN_DECLS

/*
 * sr_core_new - allocate everything that the sessions will ever need:
 * sessions_max * depth_max * (slot_bytes_max + 128) bytes, and what signs; with
 * admissions also sizeof(struct sr_seal_pair), 1.3 KiB of protected memory, for
 * each of the two kinds of place.
 *
 * Returns 0; -EINVAL; -ENOMEM; -ENOSYS (see sr_secret_alloc); as sr_sign_new().
 */
SR_WARN_UNUSED int sr_core_new(struct sr_core **core, const struct sr_core_config *config);
void sr_core_delete(struct sr_core *core);

/*
 * sr_core_task - do what the control thread has asked for, and note how it went.
 *
 * @task: its keys are moved in. What comes back in it is for sr_task_wipe() on the
 *        thread that made it. No allocation, and nothing is freed.
 *
 * SR_TASK_ADMIT takes over a sealed session, provisionally: -EOPNOTSUPP: this core
 * takes none; -EINVAL: depth or slot size is above the core's; -EEXIST: a session of
 * that name is here, and stays.
 */
void sr_core_task(struct sr_core *core, struct sr_task *task);

/*
 * sr_core_settled - which sessions have left the table of provisional ones?
 *
 * By their first record, or because another took their place. One a call, in order;
 * false when there is none. Who does not ask loses the oldest.
 */
bool sr_core_settled(struct sr_core *core, uint64_t token[2]);

/*
 * sr_core_idle - do one piece of what the next records would wait for.
 *
 * For turns in which nothing waits, after replies are on their way: the keys of
 * sessions that were answered are made ready for their next number, or their next
 * epoch, in less than half a microsecond and without a system call. When they are,
 * what signing keys want from time to time: see sr_sign_idle(). Never needed.
 * Returns whether there was something to do.
 */
bool sr_core_idle(struct sr_core *core);

/*
 * sr_core_time - what time it is, for policies: see sr_policy_time().
 *
 * The core has no clock. Whoever owns it says the time before tasks and before records
 * that came; until the first time no typed order is signed.
 */
void sr_core_time(struct sr_core *core, uint64_t now_ns, uint64_t unix_ms);

/*
 * sr_core_open - begin or resume a session in clear, or put a sealed one on a stream.
 *
 * @session: out, its number, on SR_OPENED_OK.
 * @stream:  the caller's number for the stream that it is on, 0 .. 63.
 *
 * A session is known by token and uid. An open one is resumed on the new stream
 * when the epoch is not lower (SR_OPENED_EPOCH otherwise); SR_OPEN_RESUME never
 * begins a new one, and whoever names a session that is open must name its
 * `first`, depth and slot size too (SR_OPENED_SIZES otherwise). A new session
 * starts at request->next, and a resumed one moves up to it: what lies before it
 * has been answered by the agent and is void. When the table is full, a session
 * in clear makes room that is on no stream, the oldest of them.
 *
 * With SR_OPEN_SEALED the session is known by its token alone, and must have been
 * admitted (SR_OPENED_GONE otherwise). Epochs and sizes are judged as above. Its
 * class is as it was agreed, and request->next is not believed: numbers pass at the
 * next record that authenticates.
 *
 * @stream above 63, or sizes out of range: SR_OPENED_SIZES.
 */
enum sr_open_result sr_core_open(struct sr_core *core, uint32_t *session,
				 const struct sr_open_request *request, uint32_t epoch,
				 uint32_t stream);

/*
 * sr_core_end - the client has gone, says the agent. Ignored for a lower epoch.
 *
 * A session in clear ends. A sealed one is left without a stream: it ends when its
 * successor begins, or when its place is wanted.
 */
void sr_core_end(struct sr_core *core, uint32_t session, uint32_t epoch);

/* sr_core_stream_lost - its sessions stay, without a stream, to be resumed. */
void sr_core_stream_lost(struct sr_core *core, uint32_t stream);

/* sr_core_priority - does this session drain before others? As it was begun:
 * resuming changes nothing, or two records could overtake each other. */
bool sr_core_priority(const struct sr_core *core, uint32_t session);

/* sr_core_on_stream - is this session open, and on this stream? */
bool sr_core_on_stream(const struct sr_core *core, uint32_t session, uint32_t stream);

/* Sessions in clear: for sr_core_config.clear, and referred to by nothing else here. */
extern const struct sr_core_kind sr_core_clear;

/* sr_core_unsealed - are records in clear accepted? */
bool sr_core_unsealed(const struct sr_core *core);

/*
 * sr_core_record - judge one submission record and answer it.
 *
 * @reply:  out, SR_CMP_BYTES, written when SR_CORE_REPLY is returned.
 * @record: private memory; a whole slot.
 * @bytes:  its length; must be the session's slot size.
 * @stream: the stream that it came on: not the session's stream means dropped.
 *
 * Never fails: what is wrong with a record is in the reply or in the verdict.
 * Dropped, besides what the counter lists: a record of another size, or one
 * whose header has a bit set that a record of its kind has not. A failure of our
 * own (see sr_sign.h) locks the key, counts as check_failed and is answered
 * DENIED/KEY_LOCKED. A sealed session also ends when there is no room for it at
 * its first record, or when OpenSSL fails to seal a reply.
 */
enum sr_core_verdict sr_core_record(struct sr_core *core, unsigned char reply[SR_CMP_BYTES],
				    uint32_t session, uint32_t epoch, uint32_t stream,
				    const unsigned char *record, uint32_t bytes);

/* sr_core_trace - where stamps go; NULL: nobody has asked for any. */
struct sr_trace *sr_core_trace(const struct sr_core *core);

/* sr_core_pool - what has to be filled, see sr_sign_pool(); or NULL. */
struct sr_pool *sr_core_pool(const struct sr_core *core);

void sr_core_stats_get(const struct sr_core *core, struct sr_core_stats *stats);

SR_END_DECLS

#endif /* SR_CORE_H */
