/* SPDX-License-Identifier: MIT */
/*
 * sr_serve.h - the signing thread of a signer that is its own process: a
 * listener, a few streams, one core.
 *
 * Each agent has one stream. A second one is served beside the first, because the
 * first may be stopped and a successor has to take its sessions over. Every turn
 * reads each stream before it writes to it, and signs a bounded number of records
 * of each, so that no stream waits behind another's backlog.
 */
#ifndef SR_SERVE_H
#define SR_SERVE_H

#include "sr_address.h"
#include "sr_signer.h"
#include "sr_wait.h"

#define SR_SERVE_STREAMS_MAX 8u

struct sr_serve_config {
	struct sr_address listen;
	unsigned int listen_mode;
	uint32_t turn_records; /* signed for one stream before the next is looked at */
	int cpu;               /* -1 = not pinned */
	enum sr_wait_policy wait;
	unsigned int loops;
	void (*log)(void *arg, const char *text); /* when a stream comes or goes */
	void *log_arg;
};

struct sr_serve;

SR_BEGIN_DECLS

void sr_serve_config_init(struct sr_serve_config *config);

/* sr_serve_new - listen, and pin the calling thread, which is the one that will run it.
 * @signer is borrowed. 0 or -errno with a reason. */
SR_WARN_UNUSED int sr_serve_new(struct sr_serve **serve, const struct sr_serve_config *config,
				struct sr_signer *signer, struct sr_reason *why);

/* sr_serve_run - sign on the thread that made it, until sr_serve_stop(). */
void sr_serve_run(struct sr_serve *serve);

/* sr_serve_stop - async-signal-safe. */
void sr_serve_stop(struct sr_serve *serve);

void sr_serve_delete(struct sr_serve *serve);

SR_END_DECLS

#endif /* SR_SERVE_H */
