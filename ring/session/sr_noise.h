/* SPDX-License-Identifier: MIT */
/*
 * sr_noise.h - the Noise handshakes that open a session, a ticket and a blob.
 *
 * The Noise Protocol Framework, revision 34, with 25519, AESGCM and SHA256:
 *
 *	IK      a session: the initiator (a client) knows the responder's static
 *	        key (the signer's, from its attestation document)
 *	IKpsk2  a session opened again with a ticket: the same, and a shared secret
 *	X       a sealed blob: one message to whoever has the static key
 *
 * One handshake is one struct, used by one thread: init, then write and read by
 * turns as the pattern says, then finish. It goes forward only: whatever fails
 * wipes it, and every later call is refused, so that no message is ever tried a
 * second time on the same state.
 *
 * The struct holds secrets: place it in protected memory (sr_secret.h), where it
 * fits in a page. Randomness and static keys come from the caller; nothing here
 * does I/O. Messages are private memory, never a shared region. OpenSSL keeps a
 * private key or a MAC key in its heap (the secure one, if the program made one)
 * while it computes, and wipes it.
 *
 * Message 1 of IK can be replayed by whoever saw it, and its payload has no
 * forward secrecy against the responder's static key. So nothing may be spent,
 * ended or charged for it before the initiator's first record authenticates.
 */
#ifndef SR_NOISE_H
#define SR_NOISE_H

#include "sr_base.h"

#define SR_NOISE_KEY_BYTES 32u
#define SR_NOISE_PAYLOAD_MAX 1920u /* of any message of any pattern */
#define SR_NOISE_MESSAGE_MAX 2048u /* Noise itself allows 65535 */
#define SR_NOISE_PROLOGUE_MAX 4096u

enum sr_noise_pattern { SR_NOISE_IK = 0, SR_NOISE_IKPSK2 = 1, SR_NOISE_X = 2 };

/* A key pair of 25519, in protected memory. */
struct sr_noise_pair {
	unsigned char secret[SR_NOISE_KEY_BYTES];
	unsigned char pub[SR_NOISE_KEY_BYTES];
};

struct sr_noise_config {
	enum sr_noise_pattern pattern;
	bool initiator;
	const void *prologue; /* both sides must give the same */
	size_t prologue_bytes;
	const struct sr_noise_pair *s;  /* our static key */
	const unsigned char *rs;        /* initiator: the responder's static public key */
	const unsigned char *ephemeral; /* 32 secret random bytes, for this handshake alone;
					   NULL for who never writes: the responder of X */
};

/* What a finished handshake leaves, in protected memory. */
struct sr_noise_keys {
	unsigned char send[SR_NOISE_KEY_BYTES];    /* Split(), ours first; zero where X */
	unsigned char receive[SR_NOISE_KEY_BYTES]; /* sends nothing */
	unsigned char ck[SR_NOISE_KEY_BYTES];      /* the chaining key, for sr_noise_export() */
	unsigned char h[SR_NOISE_KEY_BYTES];       /* the handshake hash; no secret */
	unsigned char rs[SR_NOISE_KEY_BYTES];      /* the peer's static public key */
};

/* One handshake. The names are those of Noise section 5; the fields are private. */
struct sr_noise {
	unsigned char ck[SR_NOISE_KEY_BYTES];
	unsigned char h[SR_NOISE_KEY_BYTES];
	unsigned char k[SR_NOISE_KEY_BYTES];
	uint64_t n;
	struct sr_noise_pair s, e;
	unsigned char rs[SR_NOISE_KEY_BYTES];
	unsigned char re[SR_NOISE_KEY_BYTES];
	unsigned char psk[SR_NOISE_KEY_BYTES];
	unsigned char shared[SR_NOISE_KEY_BYTES]; /* scratch: a Diffie-Hellman result */
	unsigned char temp[SR_NOISE_KEY_BYTES];   /* scratch of HKDF */
	unsigned char out[3][SR_NOISE_KEY_BYTES + 1];
	uint8_t pattern, messages_done;
	bool alive, initiator, has_e, has_rs, has_psk;
	unsigned char buffer[SR_NOISE_MESSAGE_MAX];
};

SR_STATIC_ASSERT(sizeof(struct sr_noise) <= 4096, "a handshake fits in a page");

SR_BEGIN_DECLS

/*
 * sr_noise_pair_make - a key pair of 32 secret random bytes (RFC 7748).
 *
 * @secret: may be @pair->secret itself. Returns 0; -EIO, *pair wiped.
 */
SR_WARN_UNUSED int sr_noise_pair_make(struct sr_noise_pair *pair,
				      const unsigned char secret[SR_NOISE_KEY_BYTES]);

/*
 * sr_noise_init - Initialize() of section 5.3, with the pre-message <- s.
 *
 * Everything in @config is copied; the caller wipes his ephemeral.
 * Returns 0; -EINVAL for a config that lacks something; -EIO. *noise is then wiped.
 */
SR_WARN_UNUSED int sr_noise_init(struct sr_noise *noise, const struct sr_noise_config *config);
void sr_noise_wipe(struct sr_noise *noise);

/* sr_noise_set_psk - the shared secret of IKpsk2, before message 2 is written or
 * read: a responder learns from message 1 whose it is. Returns 0 or -EINVAL. */
SR_WARN_UNUSED int sr_noise_set_psk(struct sr_noise *noise,
				    const unsigned char psk[SR_NOISE_KEY_BYTES]);

/*
 * sr_noise_write - WriteMessage().
 *
 * @message:       out, @message_room bytes of private memory.
 * @message_bytes: out, its length: 48 (message 2) or 96 (message 1) more than the
 *                 payload's.
 * @payload:       at most SR_NOISE_PAYLOAD_MAX bytes; may be NULL when there are none.
 *
 * Returns 0; -EINVAL: not our turn, no ephemeral or shared secret, dead; -EMSGSIZE:
 * the payload is too long, or the room too small; -EBADMSG: the peer's key is a
 * point of small order; -EIO. Outputs are then untouched, and the handshake dead.
 */
SR_WARN_UNUSED int sr_noise_write(struct sr_noise *noise, unsigned char *message,
				  size_t *message_bytes, size_t message_room,
				  const unsigned char *payload, size_t payload_bytes);

/*
 * sr_noise_read - ReadMessage().
 *
 * Returns 0; -EINVAL: not the peer's turn, no shared secret, dead; -EMSGSIZE: too
 * short for this message, too long for any, or more payload than @payload_room,
 * all judged before any public-key operation; -EBADMSG: not authentic, or a key of
 * small order; -EIO. Outputs are then untouched, and the handshake dead.
 */
SR_WARN_UNUSED int sr_noise_read(struct sr_noise *noise, unsigned char *payload,
				 size_t *payload_bytes, size_t payload_room,
				 const unsigned char *message, size_t message_bytes);

/* sr_noise_peer - the peer's static public key: known to an initiator from the
 * start, to a responder after message 1. Returns 0; -EAGAIN before; -EINVAL: dead. */
SR_WARN_UNUSED int sr_noise_peer(const struct sr_noise *noise,
				 unsigned char peer[SR_NOISE_KEY_BYTES]);

/*
 * sr_noise_finish - Split(), after the last message; the handshake is wiped.
 *
 * @keys: out, in protected memory. Transport messages use send and receive
 *        with sr_aead.h, numbered from 0 (sr_channel.h); a session has none.
 * Returns 0; -EINVAL when messages are missing; -EIO. @keys is then untouched.
 */
SR_WARN_UNUSED int sr_noise_finish(struct sr_noise *noise, struct sr_noise_keys *keys);

/*
 * sr_noise_export - a key for one purpose, independent of Split()'s.
 *
 * HKDF-SHA256 (RFC 5869) with salt h, input ck and info: label, a zero byte, context.
 *
 * @out:     32 bytes of protected memory.
 * @label:   names the purpose; 1 .. 63 bytes and a terminating zero.
 * @context: 0 .. 64 bytes.
 * Returns 0; -EINVAL; -EIO, @out wiped.
 */
SR_WARN_UNUSED int sr_noise_export(const struct sr_noise_keys *keys,
				   unsigned char out[SR_NOISE_KEY_BYTES], const char *label,
				   const void *context, size_t context_bytes);

SR_END_DECLS

#endif /* SR_NOISE_H */
