/* SPDX-License-Identifier: MIT */
/*
 * sr_porter.h - the control thread: who comes to set up a session, or to give orders
 * to the signer, comes to the porter.
 *
 * It has a thread of its own, which signs nothing: the gate and the vault (sr_gate.h,
 * sr_vault.h), the security module, the manifest in force, and a fixed number of
 * conversations, each of which costs no more than its two buffers. One message is read,
 * answered and sent before the next is read. What concerns sessions and keys is done by
 * the signing thread, through sr_post.h: an admission is handed over before its client
 * is told, so that it is always there before the first record.
 *
 * When all places are taken, the conversation that has been silent for longest makes
 * room, but never an operator's that was or is being obeyed: connections that only hold
 * places keep none out.
 */
#ifndef SR_PORTER_H
#define SR_PORTER_H

#include "sr_address.h"
#include "sr_counter.h"
#include "sr_gate.h"
#include "sr_ground.h"
#include "sr_operator.h"
#include "sr_post.h"

#define SR_PORTER_TALKS 64u
#define SR_PORTER_WAITING_MAX 64u /* sessions without a record yet: admissions_max of the core */

struct sr_porter_config {
	const struct sr_ground *ground;
	void *module; /* of the ground; open for as long as the porter lives, and its alone */
	struct sr_evidence evidence;

	const char *operators; /* file of their public keys */
	uint32_t operators_needed;
	const char *manifest;  /* file; NULL: none comes from a file */
	uint64_t manifest_min; /* version; 0: any */
	const char *trust_out; /* file; NULL: nobody is told */
	uint32_t ticket_life_s;
	bool pool; /* there are presignatures */
	struct sr_counter counter; /* of the core's trace, if it has one */
	bool trial; /* another signer may be at work: no register is locked */
	bool console; /* tell the log how things are, every ten seconds */

	struct sr_address control; /* no bytes: conversations come by sr_porter_connect() alone */
	unsigned int control_mode;

	uint64_t boot_id[2];
	uint64_t unix_ms;  /* the module's word when it was clock_ns */
	uint64_t clock_ns; /* monotonic */
	uint32_t depth_max; /* told to clients */
	uint32_t slot_bytes_max;
	uint32_t sessions_max;
	uint32_t write_bytes_max; /* no write is longer; more than 0 */
	int not_on_cpu; /* the signing thread's; -1: none */

	void (*log)(void *arg, const char *text);
	void *log_arg;
};

struct sr_porter;

SR_BEGIN_DECLS

/*
 * sr_porter_new - read the files, make gate and vault, listen.
 *
 * @core: no other thread has it yet: it gets the rights of the manifest here and now.
 *        Without a manifest it gets none: nobody may use any key.
 *
 * Returns 0 or -errno with a reason.
 */
SR_WARN_UNUSED int sr_porter_new(struct sr_porter **porter, const struct sr_porter_config *config,
				 struct sr_core *core, struct sr_reason *why);

/* sr_porter_start - start the thread. It takes nobody in: whoever connects waits until
 * sr_porter_open(). 0, or as sr_thread_start(). */
SR_WARN_UNUSED int sr_porter_start(struct sr_porter *porter);

/* sr_porter_open - from now on it does: when what the process may do has been cut down
 * (sr_confine.h), which no thread may follow. */
void sr_porter_open(struct sr_porter *porter);

/* sr_porter_delete - stop the thread and free everything, when the signing thread has
 * ended. NULL is legal. */
void sr_porter_delete(struct sr_porter *porter);

/* sr_porter_post - for the signing thread. */
struct sr_post *sr_porter_post(const struct sr_porter *porter);

/* sr_porter_operators, sr_porter_manifest - before sr_porter_start(), for who reports. */
const struct sr_operators *sr_porter_operators(const struct sr_porter *porter);
const struct sr_manifest *sr_porter_manifest(const struct sr_porter *porter);

/*
 * sr_porter_connect - begin a conversation within this process.
 *
 * Returns the client's end of it, a non-blocking stream socket, or -errno. Any thread.
 */
SR_WARN_UNUSED int sr_porter_connect(struct sr_porter *porter);

/* sr_porter_reload - look at the manifest's file again. Async-signal-safe. */
void sr_porter_reload(struct sr_porter *porter);

/* sr_porter_locked_bytes - how much memory a porter locks, besides OpenSSL's. */
uint64_t sr_porter_locked_bytes(void);

SR_END_DECLS

#endif /* SR_PORTER_H */
