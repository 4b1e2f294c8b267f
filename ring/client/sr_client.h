/* SPDX-License-Identifier: MIT */
/*
 * sr_client.h - inside libsigring: how the cold thread and the trading threads
 * share a session.
 *
 * A trading thread owns its session; the cold thread owns the attach. When the
 * agent goes, the completion region and the numbers to resume from change hands
 * by one word, `link`, and its answer, `parked`:
 *
 *	cold thread                         trading thread
 *	link = down (release)           ->  sees it (acquire) when it has popped
 *	                                    all that the old region holds
 *	                                <-  parked = link (release): `answered`
 *	                                    and `submitted` stand still
 *	opens the session at the new
 *	agent from those two numbers
 *	next = new region ...
 *	link = up (release)             ->  adopts `next`
 *
 * Links are even when down, odd when up, and only rise. A parked session still
 * times out its deadlines, which moves neither number. A trading thread that
 * never polls keeps its own session down and no other.
 */
#ifndef SR_CLIENT_H
#define SR_CLIENT_H

#include "sigring.h"
#include "sr_attach.h"
#include "sr_doorbell.h"
#include "sr_region.h"

/* What the library remembers of a submit until it is popped. */
struct sr_pending {
	uint64_t user_data;
	uint64_t deadline_ns;
	bool terminal; /* completed by ourselves: the real one is swallowed */
};

/* A completion region and how many sessions still look at it. Cold thread's. */
struct sr_completions {
	struct sr_region region;
	struct sr_completions *older;
	uint32_t users;
};

/* What a session is given when its link comes up. */
struct sr_link_next {
	struct sr_slots completion;
	const struct sr_beat *beat;
	const struct sr_session_block *block;
	uint64_t first;
	int wait_fd; /* doorbells, -1 without */
	int ring_fd;
	bool fresh;    /* a new session: numbers start at 0 */
	bool reopened; /* ... in place of a lost one */
	bool lost;  /* nothing outstanding will be answered any more */
};

enum sr_phase { /* of a session, as the cold thread sees it */
	SR_PHASE_FREE = 0,
	SR_PHASE_OPEN_SEND,
	SR_PHASE_OPEN_WAIT,
	SR_PHASE_UP,
	SR_PHASE_PARKING,     /* link is down, waits for the trading thread */
	SR_PHASE_RESUME_SEND, /* parked; the next agent is to be told */
	SR_PHASE_RESUME_WAIT,
	SR_PHASE_CLOSE_SEND,
	SR_PHASE_CLOSE_WAIT,
};

/* A session in full. `head` is what the public inline functions see. */
struct sr_session_full {
	struct sr_session head;

	/* The trading thread's own. */
	struct sr_slots submission;
	struct sr_session_block *own_block; /* our sleep flag, in our region */
	const struct sr_beat *beat;
	const struct sr_session_block *agent_block;
	struct sr_pending *pending; /* depth of them */
	unsigned char *staging;     /* one slot */
	uint64_t deadline_min_ns;   /* earliest one outstanding, or UINT64_MAX */
	uint64_t stale_ns;
	uint32_t link_seen;
	uint32_t empty_polls;
	int verdict; /* what an empty poll answers */
	int wait_fd;
	int ring_fd;
	enum sr_wait_policy wait;
	uint32_t flags; /* SR_SESSION_* */
	bool reserved;
	bool broken;   /* the agent broke the region */
	bool abandoned;
	struct sr_session_stats stats;
	SR_ALIGNED(SR_LINE_BYTES) struct {
		uint64_t word;
	} nothing; /* the slot of a session without a region */

	/* Between the two. */
	SR_ALIGNED(SR_LINE_BYTES) uint32_t link; /* the cold thread's word */
	struct sr_link_next next;                /* stable while link is up */
	SR_ALIGNED(SR_LINE_BYTES) uint32_t parked; /* the trading thread's word */
	uint32_t dead; /* the trading thread's: set to the link that it is lost under,
	                  when every submit has been completed */
	uint64_t parked_answered;
	uint64_t parked_submitted;

	/* The cold thread's own. */
	SR_ALIGNED(SR_LINE_BYTES) enum sr_phase phase;
	uint32_t index;
	uint64_t token[2];
	uint64_t first;
	struct sr_completions *completions; /* that it looks at, or NULL */
	uint64_t fixed_first;
	uint64_t retry_ns;
	uint32_t result; /* enum sr_attach_result of the last OPEN */
	int wait_fd_next; /* doorbells that came with it, -1 without */
	int ring_fd_next;
	bool reopening;  /* was open before: a refusal is tried again */
};

enum sr_attach_phase {
	SR_ATTACH_DOWN = 0,
	SR_ATTACH_SENT_HELLO,
	SR_ATTACH_SENT_REGION,
	SR_ATTACH_UP,
};

struct sr_client {
	struct sr_options opt;
	char socket[108];
	struct sr_geometry submission_geometry;
	struct sr_region submission;
	struct sr_completions *completions; /* newest first */
	struct sr_session_full *sessions;   /* opt.sessions of them */
	void *arena;                        /* pendings and staging slots */
	struct sr_client *next_client;      /* for the fork handler */
	enum sr_attach_phase phase;
	int sock;
	uint32_t attach_epoch;
	uint32_t agent_pid;
	uint32_t features;
	enum sr_wait_policy wait; /* what the option means here */
	int32_t numa_node;
	uint64_t retry_ns;
	uint64_t backoff_ns;
	bool poisoned;
};

static inline struct sr_session_full *sr_full(struct sr_session *s)
{
	return (struct sr_session_full *)(void *)s;
}

/* sr_client_step - one bounded step of the attach; see sr_service(). */
int sr_client_step(struct sr_client *client, struct sr_reason *why);

/* sr_client_hangup - let go of the agent; every session's link goes down. */
void sr_client_hangup(struct sr_client *client);

/* sr_session_adopt - take over a session that is up and that no trading thread
 * has been given yet. */
void sr_session_adopt(struct sr_session_full *s);

/* sr_session_detach - let go of the completion region: nothing can be popped. */
void sr_session_detach(struct sr_session_full *s);

/* sr_session_renumber - random name and numbers for a session about to be
 * opened, and its submission slots to match. Nobody reads them yet. */
int sr_session_renumber(struct sr_client *client, struct sr_session_full *s);

#endif /* SR_CLIENT_H */
