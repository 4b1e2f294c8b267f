/* SPDX-License-Identifier: MIT */
/*
 * sr_sign.h - make a signature with a key, in the way that the key asks for.
 *
 * Owns what signing needs besides the keys: the curve's context, the hash, a
 * generator, and the pool of presignatures when there is one. Who may sign what
 * is judged before (sr_core.h). One thread's own, but for the pool's filler.
 * Making a signature allocates nothing and makes no system call; what may do
 * either is done by sr_sign_idle().
 *
 * Nonces, by key: RFC 6979, verified before release (made twice over one digest,
 * once with a fault, such a signature gives the key away); the same with
 * additional entropy, after which the key is compared with its blinded copy (a
 * flipped bit of it would tell that bit to whoever sees the signature); a
 * presignature with the check of sr_presign.h.
 *
 * Whatever goes wrong with a signature (the hash, the curve, a check) locks its
 * key and wipes it: a key that has met one fault is given no second chance to
 * leak.
 */
#ifndef SR_SIGN_H
#define SR_SIGN_H

#include "sr_base.h"
#include "sr_entropy.h"
#include "sr_keyring.h"
#include "sr_message.h"
#include "sr_pool.h"
#include "sr_trace.h"

struct sr_sign;

struct sr_sign_config {
	struct sr_keyring *keys;          /* borrowed */
	const struct sr_entropy *entropy; /* borrowed */
	uint32_t pool_slots;              /* see sr_pool.h; 0 = no pool */
	uint32_t pool_low;
	uint32_t pool_batch;
	struct sr_trace *trace;           /* borrowed; NULL: none */
};

/* Counters, since the start. */
struct sr_sign_stats {
	uint64_t presigned;    /* signatures made with a presignature */
	uint64_t fallbacks;    /* hedged, because the pool was dry */
	uint64_t check_failed; /* signatures that were not released: key locked */
};

/* What is signed: a blind type with its body, both judged by the caller. */
struct sr_sign_request {
	uint32_t type; /* sr_type.h */
	uint32_t body_bytes;
	const unsigned char *body; /* private memory */
};

struct sr_signature {
	uint8_t kind;  /* enum sr_sigkind */
	uint8_t recid; /* of ECDSA */
	unsigned char bytes[SR_SIG_BYTES];
};

SR_BEGIN_DECLS

/*
 * sr_sign_new - ready to sign; the pool is empty. Blinds every key in the ring.
 *
 * Returns 0; -EINVAL (a pool size, or a key with presignatures and no pool);
 * -ENOMEM; -ENOSYS (see sr_secret_alloc); -EIO when a library refuses to start or
 * the entropy source fails its test; what the source returned.
 */
SR_WARN_UNUSED int sr_sign_new(struct sr_sign **sign, const struct sr_sign_config *config);
void sr_sign_delete(struct sr_sign *sign); /* NULL is legal */

/*
 * sr_sign_make - one signature.
 *
 * @signature: out, written on success only.
 * @key:       index in the ring; not locked.
 *
 * Returns 0; -EAGAIN when the pool is dry and the key takes nothing else; -EIO
 * when the signature was not released and the key is locked now.
 */
SR_WARN_UNUSED int sr_sign_make(struct sr_sign *sign, struct sr_signature *signature, uint32_t key,
				const struct sr_sign_request *request);

/*
 * sr_sign_idle - what keys want from time to time, when nothing waits to be signed.
 *
 * Refreshes the blinding of one key that has made many presigned signatures. True
 * when it did. Takes a microsecond or two, reseeds the generator, and so may
 * allocate and call the system. Never needed for a signature.
 */
bool sr_sign_idle(struct sr_sign *sign);

/*
 * sr_sign_pool - the pool that is taken from, or NULL.
 *
 * Somebody has to fill it, one thread at a time: sr_pool_step() from a thread of
 * its own, or from the signing one when it is idle.
 */
struct sr_pool *sr_sign_pool(const struct sr_sign *sign);

void sr_sign_stats_get(const struct sr_sign *sign, struct sr_sign_stats *stats);

SR_END_DECLS

#endif /* SR_SIGN_H */
