/* SPDX-License-Identifier: MIT */
/*
 * sr_agent_state.h - inside the agent: what the two threads own.
 *
 * A session is made by the attach thread, goes to the polling thread with an OPEN
 * mail, and comes back with the mail that ends it. In between the attach thread
 * reads nothing of it but what stands under "fixed" and, relaxed, its block.
 */
#ifndef SR_AGENT_STATE_H
#define SR_AGENT_STATE_H

#include <pthread.h>

#include "sr_agent.h"
#include "sr_agent_note.h"
#include "sr_agent_relay.h"
#include "sr_agent_trace.h"
#include "sr_attach.h"
#include "sr_doorbell.h"
#include "sr_frame.h"
#include "sr_mailbox.h"
#include "sr_region.h"
#include "sr_slot.h"

/* At most an OPEN and a CLOSE of each session are on the way to the polling thread:
 * the attach thread never finds that mailbox full, so neither waits for the other. */
SR_STATIC_ASSERT(SR_MAILBOX_SLOTS >= 2 * SR_SESSIONS_MAX, "mail for every session");

enum sr_agent_mail {
	/* to the polling thread */
	SR_MAIL_OPEN = 1,  /* object: session */
	SR_MAIL_CLOSE = 2, /* object: session */
	/* to the attach thread */
	SR_MAIL_OPENED = 3,  /* object: session; value: enum sr_attach_result */
	SR_MAIL_CLOSED = 4,  /* object: session, returned */
	SR_MAIL_HOSTILE = 5, /* object: session whose client broke the region */
	SR_MAIL_STREAM_UP = 6,   /* value: SR_HELLO_* features of the signer */
	SR_MAIL_STREAM_DOWN = 7, /* value: errno */
	SR_MAIL_NEW_BOOT = 8,    /* the signer was restarted */
	SR_MAIL_LOST = 9,        /* object: session; the signer ended it */
};

enum sr_agent_phase {
	SR_AGENT_UNBOUND = 0, /* OPEN is to be sent when the stream is up */
	SR_AGENT_BINDING,     /* OPEN was sent */
	SR_AGENT_BOUND,
	SR_AGENT_LOST,        /* answers everything by itself */
	SR_AGENT_HOSTILE,     /* is not looked at any more */
};

struct sr_agent_client;

struct sr_agent_session {
	/* fixed */
	struct sr_agent_client *client;
	uint32_t index;
	uint32_t uid;
	uint32_t epoch;
	uint32_t flags; /* SR_OPEN_* as the client asked */
	uint64_t token[2];
	uint64_t first;
	uint64_t depth;
	struct sr_slots submission;
	struct sr_slots completion;
	const struct sr_session_block *client_block;
	struct sr_session_block *block;
	int wait_fd; /* the client rings it; -1 without doorbells */
	int ring_fd; /* wakes the client */

	/* the attach thread's */
	bool close_posted; /* once: it comes back as CLOSED, whatever else is said */

	/* the polling thread's */
	bool held;       /* in the table; else refused and only waiting for CLOSE */
	enum sr_agent_phase phase;
	bool announced;  /* the attach thread was told that it is open */
	bool was_bound;  /* a signer has known it: resume, never begin anew */
	bool closing;    /* END is to be sent, then it is returned */
	uint32_t id;     /* the signer's number */
	uint32_t cookie;
	uint64_t next_send;     /* number of the next record to look at */
	uint64_t forwarded_max; /* numbers below may have reached the signer */
	uint64_t first_open;    /* lowest number without a completion */
	uint8_t *done;          /* depth flags: completion published ahead */
};

enum sr_client_phase {
	SR_CLIENT_NEW = 0,
	SR_CLIENT_OFFERED,
	SR_CLIENT_WELCOMED,
	SR_CLIENT_ATTACHED,
	SR_CLIENT_LEAVING, /* waits for its sessions to come back */
};

struct sr_agent_client {
	struct sr_agent_client *next;
	int sock;
	uint32_t uid;
	uint32_t pid;
	enum sr_client_phase phase;
	uint64_t deadline_ns; /* of the handshake */
	struct sr_geometry geometry;
	uint32_t epoch;
	uint32_t features;
	uint32_t notes;
	struct sr_region submission;
	struct sr_region completion;
	struct sr_agent_session *sessions[SR_REGION_SESSIONS_MAX];
	uint32_t away; /* sessions that the polling thread has */
};

/* Written by the polling thread, relaxed; read by the attach thread. */
struct sr_agent_counters {
	uint64_t turns;
	uint64_t forwarded;
	uint64_t replies;
	uint64_t expired;
	uint64_t given; /* NOT_SENT, UNKNOWN, SESSION_LOST */
	uint64_t resent;
	uint64_t writes;
	uint64_t written_bytes;
	uint64_t credit_stalls; /* times, once a millisecond, that no credit was left */
	uint64_t streams;       /* times the stream came up */
	uint64_t ignored;       /* frames that made no sense any more */
	uint64_t told;    /* times that the signer told its counters */
	uint64_t in_flight;
	uint64_t credits;
	uint64_t up;
	uint64_t takes_clear; /* so the signer said when it was last connected */
	uint64_t boot_id[2];
	uint64_t signer[SR_STATUS_FIELDS]; /* as the signer last told */
};

#define SR_AGENT_IN_BYTES (64u * 1024u)
#define SR_AGENT_CONTROL_BYTES (8u * 1024u)

/* The polling thread's own. */
struct sr_agent_loop {
	struct sr_transport *transport;
	struct sr_agent_session **sessions[2]; /* by class: priority first */
	uint32_t session_count[2];
	uint32_t round[2]; /* where the next turn begins */
	struct sr_agent_session *route[SR_SESSIONS_MAX]; /* by the signer's index */
	uint32_t cookie;
	bool up;
	bool hello;
	bool known_boot;
	uint64_t boot_id[2];
	uint32_t credits;
	uint32_t in_flight;
	uint32_t write_bytes_max;
	uint32_t asked; /* OPEN and STATUS frames without an answer */
	uint32_t asked_max;
	uint64_t up_ns;
	uint64_t retry_ns;
	uint64_t backoff_ns;
	uint64_t beat_ns;
	uint64_t status_ns;
	uint64_t answered_ns; /* when nothing that we had asked was open */
	uint32_t idle_turns;
	size_t in_bytes;
	size_t out_bytes;
	size_t out_sent;
	unsigned char in[SR_AGENT_IN_BYTES];
	unsigned char out[SR_WRITE_BYTES_MAX + SR_AGENT_CONTROL_BYTES];
};

struct sr_agent {
	struct sr_agent_config config;
	enum sr_wait_policy wait;
	int listen_fd;
	int epoll_fd;
	int wake_fd; /* wakes the attach thread */
	int poll_fd; /* wakes a polling thread that sleeps */
	int numa_node;
	uint32_t stopping; /* set once; relaxed */
	pthread_t attach_thread;
	struct sr_agent_client *clients; /* attach thread's */
	uint32_t session_count; /* over all clients, as asked for */
	struct sr_agent_relay *relay;             /* attach thread's */
	struct sr_agent_trace *trace;             /* NULL: nobody has asked for it */
	struct sr_note_limit note_stranger; /* users who are not admitted */
	struct sr_note_limit note_refused;
	struct sr_mailbox to_loop;
	struct sr_mailbox to_attach;
	SR_ALIGNED(SR_LINE_BYTES) struct sr_agent_counters counters;
	struct sr_agent_loop loop;
};

/* sr_agent_loop_turn - one turn of the polling thread; true if it did anything. */
bool sr_agent_loop_turn(struct sr_agent *agent);

/* sr_agent_loop_sleep - pass the time as the policy says; after an idle turn. */
void sr_agent_loop_sleep(struct sr_agent *agent);

/* sr_agent_attach_main - the attach thread. */
void *sr_agent_attach_main(void *agent);

/* sr_agent_attach_mail - what the polling thread has sent. */
void sr_agent_attach_mail(struct sr_agent *agent);

/* sr_agent_client_free - hang up and free, sessions included. */
void sr_agent_client_free(struct sr_agent *agent, struct sr_agent_client *client);

/* sr_agent_session_free - a session that the polling thread does not have. */
void sr_agent_session_free(struct sr_agent_session *session);

/* sr_agent_status - the state as JSON, at most @room bytes. Returns its length. */
size_t sr_agent_status(const struct sr_agent *agent, char *json, size_t room);

#endif /* SR_AGENT_STATE_H */
