/* SPDX-License-Identifier: MIT */
/*
 * sr_admission.h - a sealed session, from its handshake to its signing thread.
 *
 * The control thread makes one from the keys that a handshake left; the signing
 * thread takes it over with sr_core_admit(). What was negotiated travels with it,
 * and none of it comes from the agent. Whatever allocates or costs more than a
 * copy is done here: the signing thread moves the ready keys in, and moves out
 * those of the session that had the place before, already forgotten or replaced.
 * So it calls neither malloc() nor free(), whose locks the control thread may hold.
 *
 * It holds keys: place it in protected memory. It belongs to one thread at a time;
 * who hands it over orders the two.
 */
#ifndef SR_ADMISSION_H
#define SR_ADMISSION_H

#include "sr_base.h"
#include "sr_noise.h"
#include "sr_seal.h"

#define SR_ADMISSION_PRIORITY 1u /* cancels: drained before other sessions */
#define SR_ADMISSION_STRICT 2u   /* after any gap every request is denied */

/* What client and signer agreed. No secret. */
struct sr_admission_terms {
	uint64_t token[2];       /* the session's name on the stream; not zero */
	uint64_t predecessor[2]; /* the session that ends when this begins; or zero */
	uint64_t first;          /* slot word of message 0, random */
	uint32_t depth;
	uint32_t slot_bytes;
	uint32_t identity; /* index of the client whose static key it is */
	uint32_t flags;    /* SR_ADMISSION_* */
};

/* The two directions of one session, as the signer sees them. */
struct sr_seal_pair {
	struct sr_seal requests; /* opens */
	struct sr_seal replies;  /* seals */
};

SR_STATIC_ASSERT(sizeof(struct sr_seal_pair) <= 1344, "what a place costs, see sr_core_new()");

struct sr_admission {
	struct sr_admission_terms terms;
	struct sr_seal_pair seals;
};

SR_BEGIN_DECLS

/*
 * sr_admission_make - derive the record keys, for the control thread.
 *
 * @admission: out; what it held before must have been wiped.
 * @terms:     copied.
 * @keys:      of the finished handshake, the signer's side; the caller wipes them.
 *
 * Returns 0; -EINVAL: a size, identity or flag is out of range, or the token is
 * zero or names its own predecessor; -EIO. *admission is then wiped.
 */
SR_WARN_UNUSED int sr_admission_make(struct sr_admission *admission,
				     const struct sr_admission_terms *terms,
				     const struct sr_noise_keys *keys);

/* sr_admission_wipe - wipe and free what it holds, be it its own or what
 * sr_core_admit() has moved out to it. A zeroed one is legal. */
void sr_admission_wipe(struct sr_admission *admission);

SR_END_DECLS

#endif /* SR_ADMISSION_H */
