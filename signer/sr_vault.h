/* SPDX-License-Identifier: MIT */
/*
 * sr_vault.h - does what operators command (sr_command.h): manifests and keys.
 *
 * Bytes in, bytes out, on the thread of the gate. Whose signatures count is in the list
 * that the signer was started with, and nothing that comes later changes it. A manifest
 * carries signatures of its own and needs no others; every other command, the list of
 * keys too, is signed by k operators for this conversation and this moment.
 *
 * A key comes into being here, from fresh entropy, or out of a blob that was sealed to
 * the gate's static key. Of a new one nothing leaves but its public key and a blob for
 * a recovery recipient, without whom there is no new key; and the blob leaves only when
 * the signing thread has the key. A key that the manifest in force does not name, or
 * names with another public key, is there and signs nothing.
 *
 * What touches keys or rights is done by the signing thread: the vault makes a task,
 * the caller has it done (sr_core_task()) and comes back. One command at a time. The
 * rights of a manifest and the identities that the gate admits by must change in one
 * order: a task of the vault is handed over before any admission that follows.
 *
 * It holds secrets and lies in protected memory. It allocates at the start, but for what
 * OpenSSL does. One thread's own.
 */
#ifndef SR_VAULT_H
#define SR_VAULT_H

#include "sr_counter.h"
#include "sr_drbg.h"
#include "sr_gate.h"
#include "sr_manifest.h"
#include "sr_task.h"

/* All of it is borrowed. */
struct sr_vault_config {
	struct sr_gate *gate;
	struct sr_drbg *drbg; /* the gate's thread is its only user */
	const struct sr_operators *operators;
	struct sr_manifest *manifest; /* in force, zeroed when none is; the vault writes it */
	uint64_t version_min;         /* of a manifest; 0: any */
	bool pool;                    /* there are presignatures */
	struct sr_counter counter;    /* that the trace, if there is one, is stamped by */

	/* What a status has that this one does not know: boot, times, memory, version,
	 * registers. NULL: they are zeros. */
	void (*describe)(void *arg, struct sr_command_status *status);
	void *describe_arg;
};

enum sr_vault_verdict {
	SR_VAULT_ANSWER = 0,
	SR_VAULT_TASK = 1, /* have it done, then sr_vault_continue() */
};

/* For sr_gate_result(). The text is the vault's until its next command. */
struct sr_vault_answer {
	bool authorised;
	const unsigned char *text;
	size_t bytes;
};

struct sr_vault;

SR_BEGIN_DECLS

/* sr_vault_new - Returns 0 with *vault set; -EINVAL: something is missing; -ENOMEM,
 * -ENOSYS: see sr_secret_alloc(); -EIO. */
SR_WARN_UNUSED int sr_vault_new(struct sr_vault **vault, const struct sr_vault_config *config);
void sr_vault_delete(struct sr_vault *vault); /* NULL is legal */

/* sr_vault_busy - is a task of it out? Commands of others wait meanwhile. */
bool sr_vault_busy(const struct sr_vault *vault);

/*
 * sr_vault_take - obey a command, or say why not.
 *
 * @answer:  out, with SR_VAULT_ANSWER.
 * @task:    out, with SR_VAULT_TASK: the vault's, in protected memory. It comes back by
 *           sr_vault_continue(), also when the conversation has ended meanwhile.
 * @command: see sr_gate_command_get(). The vault must not be busy.
 */
SR_WARN_UNUSED enum sr_vault_verdict sr_vault_take(struct sr_vault *vault,
						   struct sr_vault_answer *answer,
						   struct sr_task **task,
						   const struct sr_gate_command *command);

/* sr_vault_continue - the task has come back, with its result in it. */
void sr_vault_continue(struct sr_vault *vault, struct sr_vault_answer *answer);

/*
 * sr_vault_manifest - put a manifest in force that did not come by a conversation.
 *
 * For the start of a signer. From here on the gate and config.manifest have it; the task
 * is for the signing thread, and sr_vault_continue() must follow.
 *
 * Returns 0 with *task set; as sr_manifest_load(); -EOPNOTSUPP: it wants what this
 * signer has not; -EIO. With a reason; nothing has changed then.
 */
SR_WARN_UNUSED int sr_vault_manifest(struct sr_vault *vault, struct sr_task **task,
				     const char *text, size_t bytes, struct sr_reason *why);

SR_END_DECLS

#endif /* SR_VAULT_H */
