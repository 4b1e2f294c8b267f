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
#include "sr_noise.h"
#include "sr_region.h"
#include "sr_seal.h"
#include "sr_setup.h"
#include "sr_tally.h"
#include "sr_trust.h"

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
	uint64_t base; /* number of the trading thread's first message */
	bool fresh;    /* a new session: numbers start there */
	bool lied;     /* the agent, about the session before */
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
	SR_PHASE_SETUP,      /* sealed: waits for its conversation, or is in it */
	SR_PHASE_FIRST_WAIT, /* sealed: message 0 is published */
};

/* Of a sealed session; in protected memory. The keys of its records are the trading
 * thread's while it is up, the rest is the cold one's. */
struct sr_session_secrets {
	struct sr_seal requests;
	struct sr_seal replies;
	SR_ALIGNED(SR_LINE_BYTES) struct sr_setup_ticket ticket; /* for the next one */
	bool has_ticket;
};

/* Of a client with sealed sessions; in protected memory. The cold thread's own. */
struct sr_client_secrets {
	struct sr_noise_pair identity;
	struct sr_setup setup;
	struct sr_noise_keys keys;
	struct sr_setup_result result;
	unsigned char ephemeral[SR_NOISE_KEY_BYTES];
	struct sr_session_secrets sessions[]; /* opt.sessions of them */
};

/* The conversation that sets up a session: one at a time. The cold thread's own. */
struct sr_talk {
	struct sr_session_full *session; /* NULL: there is none */
	int sock;
	bool with_ticket;
	uint64_t end_ns;
	size_t out_bytes; /* still to be sent */
	unsigned char out[SR_SETUP_BYTES_MAX];
	unsigned char in[SR_CONTROL_BYTES_MAX + 1];
	struct sr_setup_expect expect; /* borrows from trust */
	struct sr_trust trust;
	struct sr_trust trust_now; /* to see whether it is still that */
	struct sr_attest_cache cache;
	char trust_path[4096];
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
	bool abandoned;
	int ended; /* why else it is over: -EPROTO, -EBADMSG; or 0 */
	struct sr_session_secrets *secrets; /* NULL: in clear */
	uint64_t base;                      /* see sr_link_next */
	uint64_t opened;                    /* the last number whose reply was authentic */
	bool seals_due;                     /* sr_seal_step() may have something to do */
	struct sr_tally tally;
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
	bool unproven;   /* sealed: message 0 has not been answered yet */
	bool again;      /* sealed: its set-up is to begin anew */
	bool has_past;   /* there is a predecessor, whose count is to be judged */
	bool past_lied;
	uint64_t backoff_ns;
	uint64_t first_end_ns; /* for the answer to message 0 */
	uint64_t predecessor[2];
	struct sr_tally past;
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
	uint64_t hello_ns; /* when HELLO was sent */
	uint64_t up_ns; /* when it was attached */
	struct sr_client_secrets *secrets; /* NULL: its sessions are in clear */
	struct sr_talk *talk;              /* likewise */
	bool poisoned;
};

static inline struct sr_session_full *sr_full(struct sr_session *s)
{
	return (struct sr_session_full *)(void *)s;
}

/* head.usable of a session that is lost and whose completions are still polled. */
#define SR_DRAINING 2u

static inline struct sr_pending *sr_pending_of(struct sr_session_full *s, uint64_t number)
{
	return &s->pending[number & (s->head.depth - 1)];
}

static inline bool sr_link_changed(const struct sr_session_full *s)
{
	/* Pairs with the releases in sr_client_phase.c: link_down(), link_up(). */
	return sr_load32_acquire(&s->link) != s->link_seen;
}

/* sr_link_sync - Returns 0 when the link is up (adopting a new one), else -ENOTCONN. */
int sr_link_sync(struct sr_session_full *s);

/* sr_link_park - when the link is down: let go of the region, once. */
void sr_link_park(struct sr_session_full *s);

/* sr_session_end - the agent has ended it, by what it did: polls say @error at last.
 * Its keys are overwritten. The trading thread's. */
void sr_session_end(struct sr_session_full *s, int error);

/* sr_client_options - the options that are in force: defaults and environment filled
 * in. Strings are borrowed. Returns 0 or -EINVAL with a reason. */
SR_WARN_UNUSED int sr_client_options(struct sr_options *out, const struct sr_options *given,
				     struct sr_reason *why);

/* sr_client_step - one bounded step of the attach; see sr_service(). */
int sr_client_step(struct sr_client *client, struct sr_reason *why);

/* sr_client_lost - the agent has hung up (or, -EPROTO, broken the protocol): hang up
 * and wait before the next attach. Returns the error, with a reason. */
int sr_client_lost(struct sr_client *client, struct sr_reason *why, int error);

/*
 * Phases of sessions: sr_client_phase.c.
 *
 * sr_phase_step - one session, one step; phases that need the agent wait for it.
 */
int sr_phase_step(struct sr_client *client, struct sr_session_full *s, struct sr_reason *why);

/* sr_phase_opened - the agent's answer to OPEN; takes the descriptors over. */
int sr_phase_opened(struct sr_client *client, const struct sr_attach_opened *opened, int fds[2],
		    int fd_count, struct sr_reason *why);

/* sr_phase_closed - the agent's answer to CLOSE. False: nobody had asked. */
bool sr_phase_closed(struct sr_client *client, uint32_t index);

/* sr_phase_hangup - the agent has gone. */
void sr_phase_hangup(struct sr_session_full *s);

/* sr_client_hangup - let go of the agent; every session's link goes down. */
void sr_client_hangup(struct sr_client *client);

/*
 * Set-up of sealed sessions: sr_client_setup.c.
 *
 * sr_client_seal - load the identity and allocate what all set-ups need.
 * Returns 0; or what sr_pairfile_load() or sr_secret_alloc() gives, with a reason.
 */
SR_WARN_UNUSED int sr_client_seal(struct sr_client *client, const char *identity,
				  const char *trust, struct sr_reason *why);

/* sr_client_unseal - wipe and free it; nothing is legal. */
void sr_client_unseal(struct sr_client *client);

/* sr_setup_step - one step of the conversation of a session in SR_PHASE_SETUP; the
 * agent is attached. Returns 1 when it did something, 0, or -errno with a reason. */
int sr_setup_step(struct sr_client *client, struct sr_session_full *s, struct sr_reason *why);

/* sr_setup_stop - end the conversation, if it is this session's; NULL: whoever's. */
void sr_setup_stop(struct sr_client *client, const struct sr_session_full *s);

/* sr_setup_again - this attempt has failed; @s has no session at the agent. Returns
 * the error, or -ENOTCONN for a session that will be tried again. */
int sr_setup_again(struct sr_client *client, struct sr_session_full *s, int error);

/* sr_first_publish - seal and publish message 0. Returns 0; -EIO with a reason. */
SR_WARN_UNUSED int sr_first_publish(struct sr_client *client, struct sr_session_full *s,
				    struct sr_reason *why);

/* sr_first_step - look for its answer. Returns 1 when the session is proven, 0 when
 * there is none yet, -errno with a reason when the session is worth nothing. */
int sr_first_step(struct sr_client *client, struct sr_session_full *s, struct sr_reason *why);

/* sr_session_adopt - take over a session that is up and that no trading thread
 * has been given yet. */
void sr_session_adopt(struct sr_session_full *s);

/* sr_session_detach - let go of the completion region: nothing can be popped. */
void sr_session_detach(struct sr_session_full *s);

/* sr_session_renumber - random name and numbers for a session about to be
 * opened, and its submission slots to match. Nobody reads them yet. */
int sr_session_renumber(struct sr_client *client, struct sr_session_full *s);

#endif /* SR_CLIENT_H */
