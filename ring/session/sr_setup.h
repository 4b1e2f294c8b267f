/* SPDX-License-Identifier: MIT */
/*
 * sr_setup.h - the client's end of setting up a session (sr_control.h).
 *
 * Bytes in, bytes out. A set-up goes forward only: start gives the first message,
 * take each of the signer's in turn, finish gives the keys. Whatever goes wrong ends
 * it, wipes it and has its own code; nothing is sent after that, and no part of it is
 * used again. A new set-up has a new nonce, token and ephemeral key.
 *
 * The signer's static key is what its attestation document says, and the document is
 * judged against a root, images and a manifest that the caller names: there are no
 * defaults, and what is not named accepts nothing. That the signer has the key, and
 * saw the same conversation as we did, is what the handshake proves.
 *
 * With a ticket the document of a session before is relied upon again, under
 * IKpsk2, for as long as it is within the caller's maximum age, its image still on the
 * list, its root and its manifest still the ones that are named. The signer ends a
 * ticket at its first use, so each session brings the next.
 *
 * An operator's set-up is the same and has no ticket, asks for nothing and is granted
 * nothing: what it leaves is keys, for a channel (sr_channel.h). A manifest need not be
 * named for it, since somebody has to bring the first one; what is named is judged.
 *
 * The struct holds secrets: place it in protected memory (sr_secret.h). One thread.
 */
#ifndef SR_SETUP_H
#define SR_SETUP_H

#include "sr_attest.h"
#include "sr_control.h"
#include "sr_noise.h"

#define SR_SETUP_BYTES_MAX SR_BEGIN_BYTES /* of any message of ours */

/* Why it ended. Numbers are ABI and are never reused. */
enum sr_setup_code {
	SR_SETUP_OK = 0,
	SR_SETUP_CONFIG = 1, /* no image, no manifest, or nothing random */
	SR_SETUP_OVER = 2,   /* it had ended before */
	SR_SETUP_MESSAGE = 3,
	SR_SETUP_VERSION = 4,
	SR_SETUP_TURN = 5,         /* not the message that comes now */
	SR_SETUP_REFUSED = 6,      /* by the signer, if it was the signer */
	SR_SETUP_DOCUMENT = 7,     /* not valid, or not accepted: setup->attest */
	SR_SETUP_MANIFEST = 8,     /* not the one that is pinned */
	SR_SETUP_MANIFEST_OLD = 9, /* below the minimum version */
	SR_SETUP_HANDSHAKE = 10,
	SR_SETUP_GRANT = 11,        /* authentic, and makes no sense */
	SR_SETUP_TICKET_AGE = 12,   /* its document is too old for us */
	SR_SETUP_TICKET_IMAGE = 13, /* its image is not accepted any more */
	SR_SETUP_TICKET_ROOT = 14,  /* its root is not the one that is named now */
	SR_SETUP_CRYPTO = 15,       /* OpenSSL failed */
	SR_SETUP_TICKET_BOOT = 16,  /* its document had no PCR16, which is demanded now */
	SR_SETUP_CODES
};

/* What the caller accepts. */
struct sr_setup_expect {
	struct sr_attest_root root;
	const struct sr_attest_image *images;
	size_t image_count;                 /* 1 .. SR_ATTEST_IMAGES_MAX */
	const unsigned char *manifest_hash; /* 32 bytes pinned; may be NULL when there is */
	uint64_t manifest_version_min;      /* a minimum, which is not 0 */
	uint64_t age_ms_max;                /* of a document */
	bool boot_required;                 /* a document without PCR16 is refused */
};

/* What a session leaves for the next one. Holds a secret. */
struct sr_setup_ticket {
	unsigned char ticket[SR_TICKET_BYTES];
	unsigned char secret[SR_TICKET_SECRET_BYTES];
	unsigned char signer[SR_NOISE_KEY_BYTES]; /* its static public key */
	struct sr_terms terms;
	struct sr_attest_root root;
	struct sr_attest_image image; /* the entry of the list that it matched */
	uint64_t attested_ms;         /* Unix; of the document */
	bool boot_kept;               /* it had PCR16 */
};

struct sr_setup_config {
	const struct sr_setup_expect *expect; /* borrowed for as long as it lasts */
	struct sr_attest_cache *cache;        /* likewise; may be NULL */
	const struct sr_noise_pair *s;        /* likewise; our static key */
	const struct sr_setup_ticket *ticket; /* NULL: ask for a document */
	const unsigned char *ephemeral;       /* 32 secret random bytes, which the caller wipes */
	unsigned char nonce[SR_CONTROL_NONCE_BYTES]; /* random; all three for this set-up alone */
	uint64_t token[2];                           /* random */
	struct sr_session_request request;           /* not an operator's */
	bool is_operator;
};

/* What was set up. Holds a secret when there is a ticket. */
struct sr_setup_result {
	struct sr_grant grant;
	struct sr_setup_ticket next; /* its ticket and secret only if grant.has_ticket */
};

/* The fields are private, but for the three that say why it ended. */
struct sr_setup {
	enum sr_setup_code code;
	enum sr_attest_code attest; /* with SR_SETUP_DOCUMENT */
	uint32_t refusal;           /* with SR_SETUP_REFUSED: enum sr_refusal, or later */

	uint32_t state;
	struct sr_setup_config config;
	struct sr_attest_nonce nonce;
	struct sr_control_begin begin;
	struct sr_setup_result result;
	struct sr_noise_keys keys;
	unsigned char ephemeral[SR_NOISE_KEY_BYTES];
	unsigned char psk[SR_NOISE_KEY_BYTES];
	unsigned char grant[SR_GRANT_BYTES];
	struct sr_noise noise;
};

SR_BEGIN_DECLS

/*
 * sr_setup_start - the first message of a conversation.
 *
 * @setup:       in protected memory; what it held is wiped.
 * @out:         SR_SETUP_BYTES_MAX. @out_bytes: how many of them to send; 0 when it
 *               has ended.
 * @now_unix_ms: for a ticket's age.
 *
 * Returns SR_SETUP_OK or why not.
 */
SR_WARN_UNUSED enum sr_setup_code sr_setup_start(struct sr_setup *setup, unsigned char *out,
						 size_t *out_bytes,
						 const struct sr_setup_config *config,
						 uint64_t now_unix_ms);

/*
 * sr_setup_take - take the signer's next message.
 *
 * @out, @out_bytes: as above; 0 bytes when there is nothing to send (any more).
 * @message:         one whole message as it came, in private memory (see
 *                   sr_control_cut() for finding its end).
 * @now_unix_ms:     when a document is judged.
 *
 * Returns SR_SETUP_OK or why it has ended. A document costs some 5 verifications on
 * P-384, or one when the cache knows the chain, and 5 exchanges; it is bounded, and a
 * forged one is refused before any exchange.
 */
SR_WARN_UNUSED enum sr_setup_code sr_setup_take(struct sr_setup *setup, unsigned char *out,
						size_t *out_bytes, const unsigned char *message,
						size_t bytes, uint64_t now_unix_ms);

/* sr_setup_done - is there a session to be taken with sr_setup_finish()? */
bool sr_setup_done(const struct sr_setup *setup);

/*
 * sr_setup_finish - hand out what was set up; the set-up is wiped.
 *
 * @keys, @result: in protected memory.
 * Returns 0; -EAGAIN when it is not done, outputs untouched.
 */
SR_WARN_UNUSED int sr_setup_finish(struct sr_setup *setup, struct sr_noise_keys *keys,
				   struct sr_setup_result *result);

/* sr_setup_wipe - give up; legal at any time, and on zeroed memory. */
void sr_setup_wipe(struct sr_setup *setup);

/* sr_setup_text - why it ended, with the document's or the signer's reason where
 * there is one; never NULL, no newline. */
const char *sr_setup_text(const struct sr_setup *setup);

SR_END_DECLS

#endif /* SR_SETUP_H */
