/* SPDX-License-Identifier: MIT */
/*
 * sr_agent.h - the host agent: attach server and polling loop.
 *
 * Two threads. The attach thread is cold: it accepts processes, judges their
 * regions, opens and closes their sessions, relays control conversations, answers
 * status, logs. The polling
 * thread only moves records between the regions and one stream to a signer; it
 * takes no lock and allocates nothing. They talk through two mailboxes.
 *
 * The agent is trusted with nothing: it sees records, never what is in them, and
 * includes nothing outside ring/core.
 */
#ifndef SR_AGENT_H
#define SR_AGENT_H

#include "sr_address.h"
#include "sr_base.h"
#include "sr_reason.h"
#include "sr_transport.h"
#include "sr_wait.h"

#define SR_AGENT_UIDS_MAX 64u
#define SR_AGENT_CLIENTS_MAX 1024u
#define SR_AGENT_CONVERSATIONS_MAX 1024u
#define SR_AGENT_SETUP_FAILURES_MAX 65536u
#define SR_AGENT_SETUP_FAILURES_RATE_MAX 1000u

struct sr_agent_config {
	struct sr_address listen; /* the attach socket, unix: */
	unsigned int listen_mode; /* permission bits of its file */
	uint32_t uid_count;
	uint32_t uids[SR_AGENT_UIDS_MAX]; /* who may attach; empty = nobody */
	bool any_uid;
	uint32_t clients_max;
	uint32_t sessions_max;    /* over all clients */
	uint32_t conversations_max;   /* control conversations, over all clients */
	uint32_t setup_failures_max;  /* of them, of each user, at once; 0: twice
					 sessions_max, because when a signer comes back
					 each session's ticket may fail before it opens */
	uint32_t setup_failures_rate; /* forgiven a second */
	uint32_t depth_max;
	uint32_t slot_bytes_max;
	uint32_t write_bytes_max; /* <= SR_WRITE_BYTES_MAX */
	uint32_t turn_records;    /* cap of one session in one turn */
	int cpu;                  /* of the polling thread, -1 = not pinned */
	enum sr_wait_policy wait;
	unsigned int loops;       /* spinning loops of the machine, for AUTO */
	uint32_t trace_records; /* events of so many are kept (sr_agent_trace.h); 0: none */
	bool huge_pages;
	bool mlock;
	/* Control conversations go on connections of their own: each is a stream socket,
	 * non-blocking, connected or connecting, that this call returns (or -errno).
	 * Called on the attach thread, must not block. NULL: connect to `control`. */
	int (*control_connect)(void *arg);
	void *control_arg;
	struct sr_address control;
	/* Cold events, one line each, from the attach thread and from sr_heartbeat.h's; may be
	 * NULL. */
	void (*log)(void *arg, const char *text);
	void *log_arg;
};

struct sr_agent;

SR_BEGIN_DECLS

/* sr_agent_config_init - defaults: no uid, 64 clients, 256 sessions. */
void sr_agent_config_init(struct sr_agent_config *config);

/*
 * sr_agent_new - allocate everything and listen.
 *
 * @transport: taken over, also on failure.
 * Returns 0 or -errno with a reason.
 */
SR_WARN_UNUSED int sr_agent_new(struct sr_agent **agent, const struct sr_agent_config *config,
				struct sr_transport *transport, struct sr_reason *why);

/*
 * sr_agent_run - start the attach thread and poll on this one until
 * sr_agent_stop(). Returns 0, or -errno when the thread could not be started.
 */
SR_WARN_UNUSED int sr_agent_run(struct sr_agent *agent);

/* sr_agent_stop - have sr_agent_run() return. Async-signal-safe. */
void sr_agent_stop(struct sr_agent *agent);

void sr_agent_delete(struct sr_agent *agent);

SR_END_DECLS

#endif /* SR_AGENT_H */
