/* SPDX-License-Identifier: MIT */
/*
 * sr_ticket.h - what lets a client open its session again without attesting again.
 *
 * A ticket says: this client (by its static key) had a session with this boot of
 * the signer, and may have another until then. It holds no secret and opens
 * nothing by itself: whoever presents it goes through IKpsk2 (sr_noise.h) with a
 * fresh ephemeral key, the client's static secret and the resumption secret, which
 * came to the client in the sealed channel of the session before. So a ticket that
 * was stolen, copied or replayed is worth as much as a name.
 *
 * The signer keeps no table of them. The tag is HMAC-SHA256 (RFC 2104) under a key
 * that it draws at each start and never exports, and the resumption secret is the
 * same function of the ticket under another label: another boot knows neither.
 * What ends a ticket before its time is not in it: the signer looks the client up
 * in the manifest that is in force, and the client counts the age of the document
 * it last checked.
 *
 * 104 bytes, little-endian, one encoding for one ticket:
 *
 *	  0  magic "srtk"      u32        56  serial        u64
 *	  4  version, 1        u16        64  expires_ns    u64
 *	  6  reserved, zero    u16        72  tag           32
 *	  8  boot id           2 u64
 *	 24  client key        32
 *
 * The key is no table of the library's: SHA-256 is OpenSSL's low-level one, with
 * the two key blocks hashed once. Nothing here allocates, calls the system or takes
 * a lock. A key may be used by several threads after it was made.
 */
#ifndef SR_TICKET_H
#define SR_TICKET_H

#include "sr_base.h"

#define SR_TICKET_BYTES 104u
#define SR_TICKET_KEY_BYTES 32u
#define SR_TICKET_TAG_BYTES 32u
#define SR_TICKET_SECRET_BYTES 32u
#define SR_TICKET_CLIENT_BYTES 32u
#define SR_TICKET_LIFE_NS_MAX (24u * 3600u * UINT64_C(1000000000))

struct sr_ticket {
	uint64_t boot_id[2];                          /* of the signer that issued it */
	unsigned char client[SR_TICKET_CLIENT_BYTES]; /* its static public key */
	uint64_t serial;                              /* no two of one boot are alike */
	uint64_t expires_ns; /* on the clock of the signer, first moment that is too late */
	unsigned char tag[SR_TICKET_TAG_BYTES];
};

/* The signer's key, in protected memory; the fields are private. In a forked child
 * it reads as zeros, and every call says -ENOKEY. */
struct sr_ticket_key {
	uint64_t inner[14]; /* SHA-256 after the key block, as OpenSSL keeps it */
	uint64_t outer[14];
	uint64_t ready;
};

/* What a presented ticket is held against. */
struct sr_ticket_expect {
	uint64_t boot_id[2];
	const unsigned char *client; /* 32 bytes: who the handshake says is there */
	uint64_t now_ns;
};

SR_BEGIN_DECLS

/*
 * sr_ticket_key_init - a key of 32 secret random bytes, which the caller wipes.
 *
 * Returns 0; -EIO, and the key is then wiped.
 */
SR_WARN_UNUSED int sr_ticket_key_init(struct sr_ticket_key *key,
				      const unsigned char secret[SR_TICKET_KEY_BYTES]);

/*
 * sr_ticket_issue - fill in the tag.
 *
 * @ticket: everything but the tag is read.
 * Returns 0; -EINVAL when it would be expired at @now_ns, or would live longer than
 * SR_TICKET_LIFE_NS_MAX; -ENOKEY; -EIO. The tag is untouched on failure.
 */
SR_WARN_UNUSED int sr_ticket_issue(const struct sr_ticket_key *key, struct sr_ticket *ticket,
				   uint64_t now_ns);

/* sr_ticket_put - the bytes of a ticket. */
void sr_ticket_put(unsigned char out[SR_TICKET_BYTES], const struct sr_ticket *ticket);

/*
 * sr_ticket_get - read one; nothing in it is believed yet.
 *
 * Returns 0; -EMSGSIZE for another length; -EPROTO for another magic or version, or
 * a reserved byte that is not zero. *ticket is untouched then.
 */
SR_WARN_UNUSED int sr_ticket_get(struct sr_ticket *ticket, const unsigned char *in, size_t bytes);

/*
 * sr_ticket_verify - may this client open a session with it, now, here?
 *
 * Returns 0; -ESTALE: another boot's, which is told before any hash is computed;
 * -EBADMSG: not issued here, or changed; -EACCES: another client's; -ETIME: too
 * late; -ENOKEY; -EIO. Compares the tag in constant time.
 */
SR_WARN_UNUSED int sr_ticket_verify(const struct sr_ticket_key *key, const struct sr_ticket *ticket,
				    const struct sr_ticket_expect *expect);

/*
 * sr_ticket_secret - the resumption secret: the psk of IKpsk2.
 *
 * @secret: 32 bytes of protected memory.
 * @ticket: issued or verified.
 * Returns 0; -ENOKEY; -EIO. @secret is untouched then.
 */
SR_WARN_UNUSED int sr_ticket_secret(const struct sr_ticket_key *key,
				    unsigned char secret[SR_TICKET_SECRET_BYTES],
				    const struct sr_ticket *ticket);

SR_END_DECLS

#endif /* SR_TICKET_H */
