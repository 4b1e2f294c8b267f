/* SPDX-License-Identifier: MIT */
/*
 * sigring.h - the library that a trading process links.
 *
 * A process attaches once to the agent of its host and gets a pair of shared
 * regions; each of its trading threads opens one session in them. A session is
 * a queue of requests and a queue of completions of the same depth: every
 * submit is answered by exactly one completion, whatever dies in between.
 * Completions of one session come in the order of its submits, but for those
 * that the library gives by itself when a deadline passes.
 *
 *	struct sr_options opt;
 *	struct sr_client *client;
 *	struct sr_session *session;
 *
 *	sr_options_init(&opt);
 *	sr_open(&client, &opt, &why);                  cold thread
 *	sr_session_open(&session, client, &sopt, &why);
 *	...
 *	sr_submit(session, &request);                  trading thread
 *	n = sr_poll(session, completions, 16);
 *	...
 *	sr_service(client);                            cold thread, now and then
 *
 * Threads. sr_open, sr_session_open, sr_session_close, sr_service, sr_reattach
 * and sr_close belong to one thread, the client's cold one. sr_submit,
 * sr_submit_many, sr_reserve, sr_commit, sr_poll, sr_wait, sr_ready, sr_credits
 * and sr_session_abandon belong to one thread a session. The two may be the
 * same thread. A session's statistics may be read by any thread, the client's
 * belong to the cold one.
 *
 * Progress. The calls of a trading thread are wait-free, touch memory only,
 * take no lock, allocate nothing and, but for sr_wait() and the doorbell of a
 * session with SR_WAIT_BLOCK, make no system call. Deadlines are compared with
 * CLOCK_MONOTONIC, read through the vDSO.
 *
 * Sealed sessions. Nobody between a trading thread and the signer is believed: each
 * session begins with the signer's attestation document, judged against a file of
 * ours (sigring-trust(5)), and a handshake with our identity, and each record is
 * encrypted and authenticated from one thread to the other. What the signer says is
 * OK, DENIED, BAD_REQUEST or VOID. EXPIRED, NOT_SENT, UNKNOWN and SESSION_LOST are
 * the agent's word or the library's, and final: no signature of that request is ever
 * handed out later. The signer counts what it has accepted, and a count that does not
 * fit what the agent said ends the session. Sessions in clear are for development,
 * and have to be asked for (SR_OPT_UNSEALED).
 *
 * The keys of an identity and of its sessions lie in memory that is locked, left out
 * of core dumps and wiped in a forked child; OpenSSL's expanded keys lie in its heap.
 * An application that wants those out of core dumps too, and itself out of reach of
 * other processes of its user, says prctl(PR_SET_DUMPABLE, 0): the library does not.
 *
 * Errors are returned as -errno; each function lists its own, and the cold ones
 * say in a struct sr_reason what is wrong and what to do. What became of a
 * request is never an errno: it is the status of its completion.
 *
 * fork: a child must not use a client of its parent. The library closes the
 * child's copy of the socket, the regions are not inherited, and each call
 * answers -EPERM there.
 */
#ifndef SIGRING_H
#define SIGRING_H

#include "sr_base.h"
#include "sr_message.h"
#include "sr_reason.h"
#include "sr_record.h"
#include "sr_slot.h"
#include "sr_type.h"
#include "sr_version.h"
#include "sr_wait.h"

#define SR_SOCKET_DEFAULT "/run/sigring/agent.sock"

SR_BEGIN_DECLS

struct sr_client;

/* Options of sr_open(). Initialise with sr_options_init(), then change. */
struct sr_options {
	const char *socket;    /* agent's socket; NULL: $SIGRING_SOCKET, else
	                          SR_SOCKET_DEFAULT */
	uint32_t sessions;     /* sessions of this process at once, 1..64; 1 */
	uint32_t depth;        /* requests in flight a session; a power of two,
	                          2..4096; 256 */
	uint32_t slot_bytes;   /* of a submission: a multiple of 128, 256..4224;
	                          384 carries bodies up to 336 bytes */
	uint32_t wait;         /* enum sr_wait_policy of the trading threads */
	uint32_t flags;        /* SR_OPT_* */
	uint64_t timeout_ns;   /* longest stay in sr_open or sr_session_open; 2 s */
	uint64_t stale_ns;     /* heartbeat age at which the agent counts as not
	                          answering; 1 s */
	const char *identity;  /* our key pair, a file of `sigringctl identity new`;
	                          NULL: $SIGRING_IDENTITY */
	const char *trust;     /* which signers we believe, sigring-trust(5);
	                          NULL: $SIGRING_TRUST */
};
#define SR_OPT_NO_HUGE_PAGES 1u /* do not try 2 MiB pages */
#define SR_OPT_NO_MLOCK 2u      /* regions may be paged out: tests only */
#define SR_OPT_UNSEALED 4u      /* records in clear, and whoever answers is believed:
                                   development; excludes identity and trust */

/* Options of sr_session_open(); zeroes are a good default. */
struct sr_session_options {
	uint32_t flags; /* SR_SESSION_* */
	uint32_t reserved;
	uint64_t first; /* with SR_SESSION_FIRST */
};
#define SR_SESSION_PRIORITY 1u  /* drained before others: for cancels */
#define SR_SESSION_REOPEN 2u    /* sr_service opens a lost session again, once
                                   every completion has been polled */
#define SR_SESSION_GIVE_LATE 4u /* hand out a LATE signature all the same */
#define SR_SESSION_STRICT 16u   /* sealed: after a number that the signer did not
                                   get, it denies every later one */
#define SR_SESSION_FIRST 8u     /* slot word of message 0 is opt->first, not a
                                   random number: to test the wrap at 2^64 */

/* One request. The library copies it; nothing is kept. */
struct sr_request {
	uint32_t key;         /* key id at the signer */
	uint16_t type;        /* enum sr_type */
	uint16_t body_bytes;  /* at most sr_body_max() */
	const void *body;
	uint64_t user_data;   /* comes back in the completion, unseen */
	uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0 = none */
};

/* One completion. */
struct sr_completion {
	uint64_t user_data;
	uint64_t number;      /* of the request: 0, 1, 2 ... in its session */
	uint64_t venue_nonce; /* 0 = none */
	uint64_t accepted;    /* requests of the session accepted by the signer */
	uint16_t status;      /* enum sr_status */
	uint16_t policy;      /* enum sr_policy when DENIED */
	uint8_t recovery_id;  /* 0..3, valid for SR_SIG_ECDSA */
	uint8_t sigkind;      /* enum sr_sigkind; SR_SIG_NONE without signature */
	uint16_t reserved;
	uint32_t reserved2;
	unsigned char signature[SR_SIG_BYTES];
};

/* Counters of a session: written by its thread alone, relaxed. */
struct sr_session_stats {
	uint64_t submitted;
	uint64_t completed;  /* completions handed out */
	uint64_t full;       /* submits that met -EAGAIN */
	uint64_t swallowed;  /* real completions after an UNKNOWN of ours */
	uint64_t late;
	uint64_t reopened;
	uint64_t forged;     /* completions that the signer did not make */
	uint64_t agent_lied; /* times that the signer's count showed it */
};

/* State of the client, for status pages. */
struct sr_client_stats {
	uint32_t attached;        /* 0 or 1 */
	uint32_t attach_epoch;    /* raised at each attach */
	uint32_t sessions;        /* open ones */
	uint32_t huge_pages;      /* 1 when our region has 2 MiB pages */
	int32_t numa_node;        /* the agent's, -1 = unknown */
	uint32_t agent_pid;
	uint32_t wait;            /* enum sr_wait_policy: what auto has come to */
	uint32_t reserved;
	uint64_t heartbeat_age_ns;
};

/*
 * The part of a session that the inline functions need. One lies at the start
 * of every session; its members are the library's, not the application's.
 */
struct sr_session {
	uint64_t submitted;         /* number of the next submit */
	uint64_t answered;          /* number of the next completion to pop */
	uint64_t depth;
	uint64_t first;             /* slot word of message 0 */
	struct sr_slots completion; /* mapped read-only */
	uint32_t body_bytes_max;
	uint32_t usable;            /* 1; 2: lost, completions are still polled;
	                               0 once abandoned or poisoned */
};

/*
 * sr_options_init - fill in the defaults listed at the structure.
 */
void sr_options_init(struct sr_options *opt);

/*
 * sr_open - make the submission region and attach to the agent.
 *
 * @client: out, written only on success; ends with sr_close().
 * @opt:    options; NULL for the defaults. Strings are copied.
 * @why:    out on failure, may be NULL.
 *
 * Returns 0; -EINVAL (an option is out of range, or neither identity and trust nor
 * SR_OPT_UNSEALED were given, or both); -ENOENT or -ECONNREFUSED (no agent at the
 * socket, or no such identity); -EACCES (this uid is not allowed, or others can read
 * the identity); -EBADMSG (the identity's file is none); -EPROTO (version or layout
 * differ, or the agent broke the protocol); -ENOMEM (no memory, or the memlock
 * limit); -ENOSYS (no protected memory: Linux before 4.14); -EDQUOT (too many
 * sessions); -ENOTCONN (the agent hung up, or had no time for us) or -ETIMEDOUT
 * (it does not answer). Cold thread; blocks for at most opt->timeout_ns.
 */
SR_WARN_UNUSED int sr_open(struct sr_client **client, const struct sr_options *opt,
			   struct sr_reason *why);

/*
 * sr_session_open - open a session at the signer.
 *
 * @session: out, written only on success; owned by @client.
 * @opt:     may be NULL.
 * @why:     out on failure, may be NULL.
 *
 * Returns 0; -EDQUOT (all opt->sessions are open, or the signer is full);
 * -ENOTCONN (not attached: call sr_service until it is, or the agent has no
 * signer, or the signer is busy); -EPROTO (the signer does not accept the sizes, or
 * records in clear; or what came in its place was malformed); -ETIMEDOUT; -EPERM
 * (after fork). Of a sealed session also: -EKEYREJECTED (the signer is not the one
 * that the trust file describes: its document, its manifest or its handshake);
 * -EACCES (the signer refuses our identity; or others may write the trust file);
 * -EBADMSG, -ENOENT and the like (the trust file); -EIO (OpenSSL); -ENOMEM. Cold
 * thread; one of its steps, judging a document, takes some milliseconds.
 */
SR_WARN_UNUSED int sr_session_open(struct sr_session **session, struct sr_client *client,
				   const struct sr_session_options *opt, struct sr_reason *why);

/*
 * sr_session_close - end a session. What was not polled is dropped.
 *
 * The session's thread must have stopped using it. Cold thread.
 */
void sr_session_close(struct sr_client *client, struct sr_session *session);

/*
 * sr_close - detach and free. Ends every session of the client; NULL is legal.
 */
void sr_close(struct sr_client *client);

/*
 * sr_service - one bounded step of what must not run on a trading thread:
 * notices that the agent hung up, attaches again, resumes sessions, opens lost
 * ones again if they were told to.
 *
 * Call it every few milliseconds. Makes system calls, never blocks on a peer.
 * Returns 1 when it did something, 0 when there was nothing to do, -ENOTCONN
 * while there is no agent, or a lost session could not be opened again (it tries
 * again at the next call that is due), or what sr_open() returns when the agent
 * refuses us, with @why (may be NULL).
 */
int sr_service(struct sr_client *client, struct sr_reason *why);

/*
 * sr_reattach - let go of this agent and attach again at the next sr_service.
 *
 * For an agent that is stopped, not dead, and has been replaced: a stopped
 * process keeps its sockets, so nothing hangs up. An agent that runs takes it for
 * the end of this client and ends its sessions: what is in flight is then
 * answered UNKNOWN. Cold thread.
 */
void sr_reattach(struct sr_client *client);

/*
 * sr_submit - publish one request.
 *
 * @session: an open session, owned by the calling thread.
 * @request: copied; its body too.
 *
 * Returns 0; -EAGAIN (depth requests are in flight: poll, then try again);
 * -EMSGSIZE (body longer than sr_body_max()); -ENOTCONN (no agent at the
 * moment: nothing was published); -ESTALE (the session is lost or was
 * abandoned: poll what is left, close it); -EIO (OpenSSL failed: nothing was
 * published, and the session is over as with -ESTALE); -EPERM (after fork). Only 0
 * means that a completion will come. Wait-free; ends in one release store.
 */
SR_WARN_UNUSED int sr_submit(struct sr_session *session, const struct sr_request *request);

/*
 * sr_submit_many - publish several requests, in order.
 *
 * Returns how many were published, 1..count: fewer when the queue became full
 * or a request was too long; or, when the first could not be published, what
 * sr_submit() returns for it.
 */
SR_WARN_UNUSED int sr_submit_many(struct sr_session *session, const struct sr_request *requests,
				  int count);

/*
 * sr_reserve - private memory to build the next request's body in.
 *
 * @body: out: sr_body_max() bytes, aligned to 8, owned by the session and
 *        valid until the next call on it. Never shared memory.
 *
 * Returns as sr_submit(). Reserving spends nothing: a reservation that is not
 * committed is simply forgotten.
 */
SR_WARN_UNUSED int sr_reserve(struct sr_session *session, void **body);

/*
 * sr_commit - publish the request whose body was built by sr_reserve().
 *
 * @request: request->body is not read. Returns as sr_submit(), or -EINVAL
 *           when nothing is reserved.
 */
SR_WARN_UNUSED int sr_commit(struct sr_session *session, const struct sr_request *request);

/*
 * sr_poll - take completions.
 *
 * @out: room for @max of them.
 *
 * Returns how many were written, 0 when there are none; and when there are
 * none and none can be expected: -ENOTCONN (the agent hung up, or its heartbeat
 * is older than opt->stale_ns), -ESTALE (the session is lost or abandoned and
 * every submit has been answered), -EPROTO (the agent broke the region, or forged a
 * completion), -EBADMSG (the agent lied about a request: the signer's count shows
 * it), -EPERM (after fork). After those two the session is over like a lost one, and
 * every outstanding submit is answered UNKNOWN first. A request
 * whose deadline passes without an answer is completed as UNKNOWN by our own
 * clock, whatever state the agent is in. Wait-free; one acquire load a look.
 */
SR_WARN_UNUSED int sr_poll(struct sr_session *session, struct sr_completion *out, int max);

/*
 * sr_wait - wait, as the client's policy says, until sr_poll has something.
 *
 * Returns 0 when there is something to poll, or -ETIME after @timeout_ns. A poll
 * may still return 0: when what came was the late answer to a time-out, or when
 * the session has just been resumed. May make system calls.
 */
SR_WARN_UNUSED int sr_wait(struct sr_session *session, uint64_t timeout_ns);

/*
 * sr_session_abandon - give up on everything in flight.
 *
 * Each outstanding submit is answered UNKNOWN by the next polls; no signature
 * of it is handed out any more; further submits get -ESTALE.
 */
void sr_session_abandon(struct sr_session *session);

/* Statistics: of a session, any thread; of a client, its cold thread. */
void sr_session_stats_get(const struct sr_session *session, struct sr_session_stats *stats);
void sr_client_stats_get(const struct sr_client *client, struct sr_client_stats *stats);

/* SR_VERSION of the library that runs. */
const char *sr_version(void);

/* sr_credits - how many requests could be submitted now. */
SR_INLINE uint32_t sr_credits(const struct sr_session *session)
{
	return (uint32_t)(session->depth - (session->submitted - session->answered));
}

/* sr_in_flight - submits that have not been answered. */
SR_INLINE uint32_t sr_in_flight(const struct sr_session *session)
{
	return (uint32_t)(session->submitted - session->answered);
}

/* sr_body_max - bytes of body that a request of this session may have. */
SR_INLINE uint32_t sr_body_max(const struct sr_session *session)
{
	return session->body_bytes_max;
}

/*
 * sr_ready - is there a completion to poll? One acquire load, which pairs with
 * the agent's release in sr_slot_publish(). Sees neither time-outs nor a dead
 * agent: only sr_poll does.
 */
SR_INLINE bool sr_ready(const struct sr_session *session)
{
	return session->usable &&
	       sr_slot_look(&session->completion, session->first + session->answered) == 0;
}

SR_END_DECLS

#endif /* SIGRING_H */
