/* SPDX-License-Identifier: MIT */
/*
 * sr_seal.h - the records of one session, sealed or opened in one direction.
 *
 * A record is sealed whole, in private memory: its header, as it lies there and
 * slot word included, is associated data; the body becomes ciphertext; the last
 * 16 bytes are the tag. The nonce is the message's number n (0, 1, 2 ...).
 *
 *	submission   header 24   body slot - 40   tag 16
 *	completion   header 16   body 96          tag 16
 *
 * The key of epoch 0 comes from the handshake: sr_noise_export() with the label
 * "sigring record" and the context direction (u8), first (u64, little-endian).
 * Message n belongs to epoch n >> 20, and the key of an epoch follows from the
 * one before it (sr_aead_next()): what was sealed 2^20 + depth messages ago can
 * no longer be opened by anybody, whatever leaks now.
 *
 * Either side holds the key of its epoch and makes the next one's in idle time
 * (sr_seal_step()) or, failing that, when it needs it. The sealing side moves on
 * with the first number it spends; the opening side at the first record that
 * authenticates, and at nothing else. Both keep the old key for the first depth
 * numbers of the new epoch: a late gap is sealed and opened under its own.
 *
 * A number is sealed once, ever. It is spent, in this private struct, before the
 * cipher is called, and remains spent if that fails. Numbers may come out of
 * order within depth of the highest (the signer answers a skipped number late).
 * Opening counts nothing: what came twice, or in which order, is the caller's.
 *
 * One struct, one thread. Place it in protected memory (sr_secret.h): in a
 * forked child it then reads as zeros, and every call says -ENOKEY. Nothing here
 * allocates after sr_seal_init(), calls the system, or takes a lock.
 */
#ifndef SR_SEAL_H
#define SR_SEAL_H

#include "sr_aead.h"
#include "sr_noise.h"
#include "sr_record.h"
#include "sr_slot.h"

#define SR_SEAL_EPOCH_SHIFT 20u
#define SR_SEAL_KEYS 3u /* the epoch before, this one, the next */

/* Bound into the key; numbers are ABI. */
enum sr_seal_direction { SR_SEAL_SUBMISSION = 1, SR_SEAL_COMPLETION = 2 };

struct sr_seal_config {
	const struct sr_noise_keys *keys;
	enum sr_seal_direction direction;
	enum sr_aead_way way;  /* the client seals submissions, and so on */
	uint64_t first;        /* slot word of message 0 */
	uint32_t record_bytes; /* the session's slot size; SR_CMP_BYTES for completions */
	uint32_t depth;
};

/* One direction of one session. The fields are private. */
struct sr_seal {
	struct sr_aead aead[SR_SEAL_KEYS]; /* of epoch e in [e mod 3] */
	uint64_t first;
	uint64_t epoch;
	uint64_t next; /* one more than the highest number that was spent, or opened */
	uint32_t record_bytes, header_bytes, depth;
	uint8_t way;
	bool alive, has_old, has_next;
	unsigned char scratch[SR_AEAD_KEY_BYTES];
	uint64_t spent[SR_DEPTH_MAX / 64]; /* a bit for each of the last depth numbers */
};

SR_BEGIN_DECLS

/*
 * sr_seal_init - derive the first key; allocates all that will be needed.
 *
 * Returns 0; -EINVAL: sizes out of range; -EIO. *seal is then wiped.
 */
SR_WARN_UNUSED int sr_seal_init(struct sr_seal *seal, const struct sr_seal_config *config);
void sr_seal_wipe(struct sr_seal *seal); /* a zeroed one is legal */

/*
 * sr_seal_forget - overwrite every key and keep what was allocated.
 *
 * For a thread that must not call free(): a session that ends on it is forgotten
 * there, and wiped by another thread later. Every call says -ENOKEY in between.
 */
void sr_seal_forget(struct sr_seal *seal); /* a zeroed one is legal */

/*
 * sr_seal_apply - seal a record where it lies.
 *
 * @n:      its number.
 * @record: private memory, config->record_bytes: header with the slot word of
 *          message n, body in clear, room for the tag.
 *
 * Returns 0. On failure the record is untouched: -EALREADY, n was spent before;
 * -ERANGE, n is more than depth behind or an epoch ahead; -EINVAL, the slot word
 * is another message's, or this side opens; -ENOKEY, wiped, or a forked child's.
 * -EIO, OpenSSL failed: n is spent, body and tag are wiped.
 */
SR_WARN_UNUSED int sr_seal_apply(struct sr_seal *seal, uint64_t n, unsigned char *record);

/*
 * sr_seal_open - check a record and decrypt its body.
 *
 * @n:      the number under which it was taken from its slot.
 * @body:   out, as long as the record's body; the body itself, or apart from it.
 * @record: private memory, config->record_bytes: the copy, never the slot.
 *
 * Returns 0; -EBADMSG: not what the peer sealed under this number, session and
 * direction, or of an epoch whose key is gone or not yet due: @body is wiped, or
 * untouched, and nothing has changed; -EINVAL: this side seals; -ENOKEY as above.
 */
SR_WARN_UNUSED int sr_seal_open(struct sr_seal *seal, uint64_t n, unsigned char *body,
				const unsigned char *record);

/*
 * sr_seal_step - do ahead of need what the next record would wait for.
 *
 * For idle turns, and for after a record is on its way: derives the next epoch's
 * key, once an epoch; sets the nonce of the number that is due. Either takes less
 * than half a microsecond, one a call. Never needed, and changes no result.
 *
 * Returns 1 when there was something to do, 0 when all is ready; -EIO; -ENOKEY.
 */
int sr_seal_step(struct sr_seal *seal);

SR_END_DECLS

#endif /* SR_SEAL_H */
