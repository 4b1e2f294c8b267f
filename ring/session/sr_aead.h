/* SPDX-License-Identifier: MIT */
/*
 * sr_aead.h - AES-256-GCM under numbered nonces, one key and one way.
 *
 * The nonce of number n is 4 zero bytes and n, big-endian: Noise's (revision 34,
 * section 12.4), and that of our records. Under one key a number must be sealed
 * once at most; who counts is the caller (sr_seal.h, sr_noise.h). The number
 * 2^64 - 1 is kept for sr_aead_next().
 *
 * Everything works on private memory: GCM reads its input twice, so a pointer
 * into memory that another process writes would let forged text through. Input
 * and output are the same bytes or do not overlap.
 *
 * The struct holds no key, and is placed where its owner's secrets are. The
 * expanded key lies in OpenSSL's heap, which no library can move: OpenSSL wipes
 * it when it is freed, a program that holds one sets PR_SET_DUMPABLE 0.
 *
 * A context belongs to one thread. After sr_aead_init() nothing here allocates,
 * calls the system or takes a lock, and no failure leaves an entry in OpenSSL's
 * error queue, where a TLS connection of the application would trip over it.
 */
#ifndef SR_AEAD_H
#define SR_AEAD_H

#include "sr_base.h"

#define SR_AEAD_KEY_BYTES 32u
#define SR_AEAD_TAG_BYTES 16u
#define SR_AEAD_BYTES_MAX 65535u /* of text, and of associated data */
#define SR_AEAD_NUMBER_MAX (UINT64_MAX - 1)

struct evp_cipher_ctx_st;

enum sr_aead_way { SR_AEAD_SEAL = 1, SR_AEAD_OPEN = 2 };

struct sr_aead {
	struct evp_cipher_ctx_st *ctx;
	uint64_t ready_n; /* the number whose nonce is set, if one is */
	bool is_ready;
};

SR_BEGIN_DECLS

/*
 * sr_aead_init - allocate a context and set its key.
 *
 * @way: which of sr_aead_seal() and sr_aead_open() it is for; the other refuses.
 * Returns 0; -EIO when OpenSSL refuses or has no memory: *aead is then empty.
 */
SR_WARN_UNUSED int sr_aead_init(struct sr_aead *aead, enum sr_aead_way way,
				const unsigned char key[SR_AEAD_KEY_BYTES]);

/* sr_aead_wipe - wipe and free; an empty (zeroed) one is legal. */
void sr_aead_wipe(struct sr_aead *aead);

/* sr_aead_forget - overwrite the key with zeros, and keep the context: it must
 * be given a key by sr_aead_next() before it is used again. */
void sr_aead_forget(struct sr_aead *aead);

/*
 * sr_aead_next - give @to the key that follows @from's: Noise's REKEY (section
 * 4.2), the first 32 bytes that number 2^64 - 1 makes of zeros. Nothing leads
 * back from it to @from's.
 *
 * @scratch: 32 bytes of protected memory, wiped afterwards.
 * Returns 0; -EIO: @to must not be used then.
 */
SR_WARN_UNUSED int sr_aead_next(struct sr_aead *to, struct sr_aead *from,
				unsigned char scratch[SR_AEAD_KEY_BYTES]);

/*
 * sr_aead_prepare - set the nonce of the number that will come next, ahead of it.
 *
 * A quarter of the time that a record takes is OpenSSL's way of being told its
 * nonce. It changes no result: with another number the call sets that one's.
 */
void sr_aead_prepare(struct sr_aead *aead, uint64_t n);

/*
 * sr_aead_seal - encrypt and authenticate (SP 800-38D, section 7.1).
 *
 * @out:   @bytes of ciphertext. @tag: 16 bytes.
 * @n:     the number, sealed for the first and only time.
 * @ad:    associated data; may be NULL when @ad_bytes is 0, as may @in and @out.
 *
 * Returns 0; -EINVAL for what is above a maximum, outputs untouched; -EIO when
 * OpenSSL failed, outputs wiped.
 */
SR_WARN_UNUSED int sr_aead_seal(struct sr_aead *aead, unsigned char *out,
				unsigned char tag[SR_AEAD_TAG_BYTES], uint64_t n, const void *ad,
				size_t ad_bytes, const unsigned char *in, size_t bytes);

/*
 * sr_aead_open - check and decrypt (SP 800-38D, section 7.2).
 *
 * Arguments as above, @tag read. Returns 0; -EINVAL as above; -EBADMSG when it
 * is not authentic: @out is wiped, so that no byte of it can be taken for text.
 */
SR_WARN_UNUSED int sr_aead_open(struct sr_aead *aead, unsigned char *out,
				const unsigned char tag[SR_AEAD_TAG_BYTES], uint64_t n,
				const void *ad, size_t ad_bytes, const unsigned char *in,
				size_t bytes);

SR_END_DECLS

#endif /* SR_AEAD_H */
