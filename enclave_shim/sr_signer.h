/* SPDX-License-Identifier: MIT */
/*
 * sr_signer.h - a signer put together: keys from files, a core, a boot id.
 *
 * What all programs that sign have in common. Everything is allocated
 * here, before the first record.
 */
#ifndef SR_SIGNER_H
#define SR_SIGNER_H

#include "sr_base.h"
#include "sr_clock.h"
#include "sr_core.h"
#include "sr_counter.h"
#include "sr_ground.h"
#include "sr_host.h"
#include "sr_keyring.h"
#include "sr_port.h"
#include "sr_porter.h"
#include "sr_reason.h"
#include "sr_refill.h"

/* Who fills the pool of presignatures. */
enum sr_refill_policy {
	SR_REFILL_AUTO = 0,   /* a thread where a CPU is left for it or the loop may sleep,
				 else idle turns */
	SR_REFILL_THREAD = 1,
	SR_REFILL_IDLE = 2,   /* the signing thread, a bounded piece an idle turn */
};

struct sr_signer_config {
	const struct sr_ground *ground;
	const char *keys;        /* directory of *.key files; NULL: none is read */
	const char *operators;   /* file; NULL: no sealed sessions, and the files of keys say who
				    may use them */
	uint32_t operators_needed;
	const char *manifest;    /* file, or NULL */
	uint64_t manifest_min;   /* version */
	const char *trust_out;   /* file, or NULL */
	uint32_t ticket_life_s;
	struct sr_address control; /* no bytes: no conversation comes by a socket */
	unsigned int control_mode;
	uint32_t sessions_max;
	uint32_t depth_max;
	uint32_t slot_bytes_max;
	uint32_t credit_records; /* granted to each stream */
	uint32_t write_bytes_max;
	uint32_t pool_slots;
	uint32_t pool_low_percent; /* of pool_slots, see sr_pool.h */
	uint32_t pool_batch;
	enum sr_refill_policy refill;
	bool allow_snapshot;
	unsigned int loops;      /* that poll on this machine, for SR_REFILL_AUTO */
	int cpu;                 /* of the signing thread, -1 = not pinned */
	uint32_t trace_slots;    /* stamps of so many records are kept; 0: none are taken */
	bool trial;              /* to see whether it can be done: no register is locked */
	bool console;            /* the log is told how things are, every ten seconds */
	bool sleeps;             /* the signing thread has no idle turns at times */
	void (*log)(void *arg, const char *text);
	void *log_arg;
};

struct sr_signer {
	struct sr_signer_config config;
	void *module;             /* the security module, when sessions are attested */
	struct sr_evidence evidence;
	struct sr_porter *porter; /* NULL: no sealed sessions */
	struct sr_curve *curve;
	struct sr_keyring *keys;
	struct sr_core *core;
	struct sr_post *post;        /* the porter's; NULL without one */
	struct sr_refill *refill;    /* NULL: the pool is filled in idle turns, or none */
	struct sr_core_stats logged; /* what the log has been told of */
	uint32_t idle_turns;
	uint64_t refill_after_ns;    /* a batch was thrown away: not before then */
	uint64_t boot_id[2];         /* random at each start */
	uint64_t unix_ms;            /* when it was clock_ns, as the security module says */
	uint64_t clock_ns;
	struct sr_counter counter;   /* of the trace */
};

SR_BEGIN_DECLS

void sr_signer_config_init(struct sr_signer_config *config);

/*
 * sr_signer_new - load the keys, make the core, fill the pool if a key needs one.
 *
 * Starts the thread that refills, if there is to be one, and the control thread, which
 * takes nobody in before sr_signer_open().
 *
 * Returns 0 or -errno with a reason; nothing is left then.
 */
SR_WARN_UNUSED int sr_signer_new(struct sr_signer *signer, const struct sr_signer_config *config,
				 struct sr_reason *why);
void sr_signer_delete(struct sr_signer *signer);

/* sr_signer_open - let the control thread take in who connects. Once; behind
 * sr_confine(), where that is called: what strangers send is read by a process that can do
 * no more than it must. */
void sr_signer_open(struct sr_signer *signer);

/* sr_signer_clock - tell the core what time it is: the module's, moved on by our own
 * clock. The host's wall clock is nobody's word here. */
static inline void sr_signer_clock(struct sr_signer *signer)
{
	uint64_t now_ns = sr_now_ns();

	if (signer->unix_ms)
		sr_core_time(signer->core, now_ns,
			     signer->unix_ms + (now_ns - signer->clock_ns) / SR_NS_PER_MS);
}

/*
 * sr_signer_work - what the control thread asks of the signing one. At each turn, and
 * without delay when there is nothing.
 */
static inline void sr_signer_work(struct sr_signer *signer)
{
	if (signer->post) {
		if (sr_post_waits(signer->post)) {
			sr_signer_clock(signer);
			sr_post_do(signer->post, signer->core);
		}
		sr_post_tell(signer->post, signer->core);
	}
}

/* sr_signer_feed - sr_port_feed(), after what was asked before these bytes came: an OPEN
 * follows its admission by microseconds, and so may a record a right that is no more. */
SR_WARN_UNUSED static inline int sr_signer_feed(struct sr_signer *signer, struct sr_port *port,
						const void *data, size_t bytes)
{
	sr_signer_clock(signer);
	sr_signer_work(signer);
	return sr_port_feed(port, data, bytes);
}

/* sr_signer_port - a port for stream number @stream. 0, or -ENOMEM. */
SR_WARN_UNUSED int sr_signer_port(const struct sr_signer *signer, struct sr_port **port,
				  uint32_t stream);

/*
 * sr_signer_idle - what the signing thread does when nothing waits to be signed.
 *
 * One bounded piece of refilling, when that is for it to do, or of what keys want
 * (sr_core_idle); and now and then a look at what the log should say. True when a
 * piece was done. No system call, unless it logs or entropy is taken, once a batch.
 */
bool sr_signer_idle(struct sr_signer *signer);

/*
 * sr_signer_harden - before any secret is read: OpenSSL's memory is protected, no
 * core dumps, no ptrace, the calling thread's stack, where curve arithmetic runs,
 * is locked, and a child was seen to get no keys. 0 or -errno.
 */
SR_WARN_UNUSED int sr_signer_harden(const struct sr_signer_config *config, struct sr_reason *why);

/* sr_signer_locked_bytes - how much memory a signer of this size locks. */
uint64_t sr_signer_locked_bytes(const struct sr_signer_config *config);

/* sr_signer_check - the line of --check about keys and pool. Loads them and fills it,
 * to see that it can be done. */
void sr_signer_check(struct sr_host_check *check, const struct sr_signer_config *config);

SR_END_DECLS

#endif /* SR_SIGNER_H */
