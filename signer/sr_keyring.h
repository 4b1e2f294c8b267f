/* SPDX-License-Identifier: MIT */
/*
 * sr_keyring.h - the keys of a signing thread and what each may do.
 *
 * A fixed table. The secrets lie together in protected memory; everything else
 * about a key is public. A key that allows nothing, or nobody, signs nothing.
 */
#ifndef SR_KEYRING_H
#define SR_KEYRING_H

#include "sr_base.h"
#include "sr_curve.h"
#include "sr_presign.h"
#include "sr_type.h"

#define SR_KEYS_MAX 64u
#define SR_KEY_UIDS_MAX 8u
#define SR_IDENTITIES_MAX 64u /* clients that are known by a static key */

enum sr_nonce_mode {
	SR_NONCE_HEDGED = 1,  /* RFC 6979 with additional entropy: the default */
	SR_NONCE_RFC6979 = 2, /* deterministic; verified before release */
	SR_NONCE_PRESIGN = 3, /* from the pool; hedged while that is dry */
	SR_NONCE_PRESIGN_ONLY = 4, /* from the pool; denied while that is dry */
};

#define SR_NONCE_MODES "hedged, rfc6979, presign or presign-only"

/* Does a key of this mode need a pool? */
static inline bool sr_nonce_pooled(uint32_t mode)
{
	return mode == SR_NONCE_PRESIGN || mode == SR_NONCE_PRESIGN_ONLY;
}

/* The public side of a key. */
struct sr_key_info {
	uint32_t id;          /* 1 .. 2^32-1, chosen by the operator */
	uint32_t permissions; /* bit (1 << type) for each blind type allowed */
	uint32_t nonce_mode;  /* enum sr_nonce_mode */
	uint32_t policy;      /* one more than the index of its rules; 0: nothing typed */
	uint32_t uid_count;
	uint32_t uids[SR_KEY_UIDS_MAX]; /* users whose sessions may use it */
	bool any_uid;         /* every user that the agent admits */
	/* Who may use it in a sealed session: bit (1 << i) for identity i. Users and
	 * identities are apart: neither stands in for the other. */
	uint64_t identities;
	bool locked;          /* a check failed: it signs nothing any more */
	bool held;            /* by the operators, until they let it go */
	unsigned char pubkey[SR_PUBKEY_BYTES];
	unsigned char address[20];
};

/* A key, ready to be put into a ring by a thread that computes nothing. In protected
 * memory. */
struct sr_key_entry {
	struct sr_key_info info;
	unsigned char d[SR_SECKEY_BYTES];
	unsigned char b[SR_SCALAR_BYTES];  /* blinds, see sr_presign.h */
	unsigned char bd[SR_SCALAR_BYTES]; /* b*d, never made from d again */
};

struct sr_keyring;

SR_BEGIN_DECLS

/* sr_nonce_name - a mode's word in files and options; NULL for no mode. */
const char *sr_nonce_name(uint32_t mode);

/* sr_nonce_from_name - the mode, or -EINVAL. @name need not end in a zero. */
int sr_nonce_from_name(const char *name, size_t bytes);

/* sr_keyring_new - an empty table. Returns 0, or as sr_secret_alloc(). */
SR_WARN_UNUSED int sr_keyring_new(struct sr_keyring **ring);

/* sr_keyring_delete - wipe every secret and free; NULL is legal. */
void sr_keyring_delete(struct sr_keyring *ring);

/*
 * sr_keyring_add - take over a secret key.
 *
 * @info:   id, permissions, nonce mode, users and identities are read; the public
 *          key and the address are computed.
 * @seckey: 32 bytes in protected memory; copied, then wiped here, whatever is
 *          returned.
 *
 * Returns 0; -EEXIST (id is taken); -ENOSPC; -EINVAL (id 0, unknown mode or
 * permission, or the scalar is not a key).
 */
SR_WARN_UNUSED int sr_keyring_add(struct sr_keyring *ring, const struct sr_curve *curve,
				  const struct sr_key_info *info,
				  unsigned char seckey[SR_SECKEY_BYTES]);

/*
 * sr_key_entry_make - a key with its blinding.
 *
 * @info:   as for sr_keyring_add().
 * @seckey: 32 bytes in protected memory; stays the caller's.
 * @by:     a secret random scalar, likewise.
 *
 * Returns 0; -EINVAL: as sr_keyring_add(), or @by is no scalar. *entry is then wiped.
 */
SR_WARN_UNUSED int sr_key_entry_make(struct sr_key_entry *entry, const struct sr_curve *curve,
				     const struct sr_key_info *info,
				     const unsigned char seckey[SR_SECKEY_BYTES],
				     const unsigned char by[SR_SCALAR_BYTES]);

/*
 * sr_keyring_put - put a ready key into the ring. Copies and wipes, and no more.
 *
 * Returns 0 with *entry wiped; -EEXIST (the id is taken); -ENOSPC.
 */
SR_WARN_UNUSED int sr_keyring_put(struct sr_keyring *ring, struct sr_key_entry *entry);

/* sr_keyring_remove - wipe a key and free its place. Indices of others stay. */
void sr_keyring_remove(struct sr_keyring *ring, uint32_t index);

/* sr_keyring_find - index of a key, or -ENOENT. */
int sr_keyring_find(const struct sr_keyring *ring, uint32_t id);

/* sr_keyring_places - indices are below this; some places may be free. */
uint32_t sr_keyring_places(const struct sr_keyring *ring);
uint32_t sr_keyring_count(const struct sr_keyring *ring);

/* sr_keyring_info - the public side of key @index, below places; id 0: it is free. */
const struct sr_key_info *sr_keyring_info(const struct sr_keyring *ring, uint32_t index);

/* sr_keyring_secret - 32 bytes, borrowed, in protected memory. */
const unsigned char *sr_keyring_secret(const struct sr_keyring *ring, uint32_t index);

/* sr_keyring_presign - the key with its blinding, borrowed, in protected memory. */
struct sr_presign_key sr_keyring_presign(const struct sr_keyring *ring, uint32_t index);

/*
 * sr_keyring_blind - refresh a key's blinding: b and b*d are both multiplied.
 *
 * A key begins with b = 1, so call this before the first signature. The product
 * is never made from d again: that would hide a fault in d.
 *
 * @by: a secret random scalar. Returns 0; -EINVAL when it is 0 or not below n
 * (then nothing has changed); -EBADMSG when the blinding itself is spoiled.
 */
SR_WARN_UNUSED int sr_keyring_blind(struct sr_keyring *ring, const struct sr_curve *curve,
				    uint32_t index, const unsigned char by[SR_SCALAR_BYTES]);

/*
 * sr_keyring_check - is the key still the one that was blinded: b * d = b*d?
 *
 * Sees a fault in any of the three. Returns 0 or -EBADMSG.
 */
SR_WARN_UNUSED int sr_keyring_check(const struct sr_keyring *ring, const struct sr_curve *curve,
				    uint32_t index);

/* sr_keyring_hold - the operators' word: it signs nothing, or does again. */
void sr_keyring_hold(struct sr_keyring *ring, uint32_t index, bool held);

/* sr_keyring_obey - what each key may do is what a manifest says (sr_rights.h). */
struct sr_rights;
void sr_keyring_obey(struct sr_keyring *ring, const struct sr_rights *rights);

/* sr_keyring_lock - wipe the secret: this key signs nothing any more. */
void sr_keyring_lock(struct sr_keyring *ring, uint32_t index);

SR_END_DECLS

#endif /* SR_KEYRING_H */
