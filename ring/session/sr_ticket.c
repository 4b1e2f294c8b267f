/* SPDX-License-Identifier: MIT */
/* The low-level calls are deprecated, not gone: HMAC() and EVP_MAC allocate at each
 * message, and hash the key each time. */
#define OPENSSL_API_COMPAT 10100

#include "sr_ticket.h"

#include <openssl/sha.h>

#include "sr_ct.h"
#include "sr_secret.h"

#define MAGIC 0x6b747273u /* "srtk" */
#define VERSION 1u

enum {
	AT_MAGIC = 0,
	AT_VERSION = 4,
	AT_RESERVED = 6,
	AT_BOOT = 8,
	AT_CLIENT = 24,
	AT_SERIAL = 56,
	AT_EXPIRES = 64,
	AT_TAG = 72,
};

SR_STATIC_ASSERT(AT_TAG + SR_TICKET_TAG_BYTES == SR_TICKET_BYTES, "ticket ABI");

/* The state is kept as bytes, so that no header of ours includes OpenSSL's. */
SR_STATIC_ASSERT(sizeof(SHA256_CTX) == sizeof((struct sr_ticket_key *)0)->inner,
		 "room for a SHA-256 state");

/* With the zero byte. Two labels, because the tag travels in clear. */
static const char label_tag[] = "sigring ticket tag";
static const char label_secret[] = "sigring ticket psk";

static bool start(uint64_t state[14], const unsigned char key[SR_TICKET_KEY_BYTES],
		  unsigned char pad)
{
	unsigned char block[SHA256_CBLOCK];
	SHA256_CTX ctx;
	bool good;

	memset(block, pad, sizeof block);
	for (uint32_t i = 0; i < SR_TICKET_KEY_BYTES; i++)
		block[i] ^= key[i];
	good = SHA256_Init(&ctx) == 1 && SHA256_Update(&ctx, block, sizeof block) == 1;
	memcpy(state, &ctx, sizeof ctx);
	sr_wipe(block, sizeof block);
	sr_wipe(&ctx, sizeof ctx);
	return good;
}

int sr_ticket_key_init(struct sr_ticket_key *key, const unsigned char secret[SR_TICKET_KEY_BYTES])
{
	bool good = start(key->inner, secret, 0x36) && start(key->outer, secret, 0x5c);

	key->ready = 1;
	if (!good)
		sr_wipe(key, sizeof *key);
	sr_wipe_stack();
	return good ? 0 : -EIO;
}

static bool finish(const uint64_t state[14], unsigned char out[SHA256_DIGEST_LENGTH],
		   const void *label, size_t label_bytes, const void *data, size_t bytes)
{
	SHA256_CTX ctx;
	bool good;

	memcpy(&ctx, state, sizeof ctx);
	good = SHA256_Update(&ctx, label, label_bytes) == 1 &&
	       SHA256_Update(&ctx, data, bytes) == 1 && SHA256_Final(out, &ctx) == 1;
	sr_wipe(&ctx, sizeof ctx);
	return good;
}

/* HMAC of the label and of everything in front of the tag. */
static int mac(const struct sr_ticket_key *key, unsigned char out[SHA256_DIGEST_LENGTH],
	       const char label[sizeof label_tag], const struct sr_ticket *ticket)
{
	unsigned char message[SR_TICKET_BYTES], digest[SHA256_DIGEST_LENGTH];
	bool good;

	if (!key->ready)
		return -ENOKEY;

	sr_ticket_put(message, ticket);
	good = finish(key->inner, digest, label, sizeof label_tag, message, AT_TAG) &&
	       finish(key->outer, digest, NULL, 0, digest, sizeof digest);
	if (good)
		memcpy(out, digest, sizeof digest);
	sr_wipe(digest, sizeof digest);
	sr_wipe_stack();
	return good ? 0 : -EIO;
}

int sr_ticket_issue(const struct sr_ticket_key *key, struct sr_ticket *ticket, uint64_t now_ns)
{
	int ret;

	if (ticket->expires_ns <= now_ns || ticket->expires_ns - now_ns > SR_TICKET_LIFE_NS_MAX)
		return -EINVAL;
	ret = mac(key, ticket->tag, label_tag, ticket);
	if (!ret)
		sr_declassify(ticket->tag, sizeof ticket->tag);
	return ret;
}

void sr_ticket_put(unsigned char out[SR_TICKET_BYTES], const struct sr_ticket *ticket)
{
	sr_put32(out + AT_MAGIC, MAGIC);
	sr_put16(out + AT_VERSION, VERSION);
	sr_put16(out + AT_RESERVED, 0);
	sr_put64(out + AT_BOOT, ticket->boot_id[0]);
	sr_put64(out + AT_BOOT + 8, ticket->boot_id[1]);
	memcpy(out + AT_CLIENT, ticket->client, sizeof ticket->client);
	sr_put64(out + AT_SERIAL, ticket->serial);
	sr_put64(out + AT_EXPIRES, ticket->expires_ns);
	memcpy(out + AT_TAG, ticket->tag, sizeof ticket->tag);
}

int sr_ticket_get(struct sr_ticket *ticket, const unsigned char *in, size_t bytes)
{
	if (bytes != SR_TICKET_BYTES)
		return -EMSGSIZE;
	if (sr_get32(in + AT_MAGIC) != MAGIC || sr_get16(in + AT_VERSION) != VERSION ||
	    sr_get16(in + AT_RESERVED) != 0)
		return -EPROTO;

	ticket->boot_id[0] = sr_get64(in + AT_BOOT);
	ticket->boot_id[1] = sr_get64(in + AT_BOOT + 8);
	memcpy(ticket->client, in + AT_CLIENT, sizeof ticket->client);
	ticket->serial = sr_get64(in + AT_SERIAL);
	ticket->expires_ns = sr_get64(in + AT_EXPIRES);
	memcpy(ticket->tag, in + AT_TAG, sizeof ticket->tag);
	return 0;
}

int sr_ticket_verify(const struct sr_ticket_key *key, const struct sr_ticket *ticket,
		     const struct sr_ticket_expect *expect)
{
	unsigned char tag[SR_TICKET_TAG_BYTES];
	bool good;
	int ret;

	if (ticket->boot_id[0] != expect->boot_id[0] || ticket->boot_id[1] != expect->boot_id[1])
		return -ESTALE;
	ret = mac(key, tag, label_tag, ticket);
	if (ret)
		return ret;
	good = sr_equal(tag, ticket->tag, sizeof tag);
	sr_declassify(&good, sizeof good);
	/* The right tag of a ticket that somebody made up is a ticket. */
	sr_wipe(tag, sizeof tag);
	if (!good)
		return -EBADMSG;
	if (!sr_equal(ticket->client, expect->client, sizeof ticket->client))
		return -EACCES;
	return expect->now_ns < ticket->expires_ns ? 0 : -ETIME;
}

int sr_ticket_secret(const struct sr_ticket_key *key, unsigned char secret[SR_TICKET_SECRET_BYTES],
		     const struct sr_ticket *ticket)
{
	return mac(key, secret, label_secret, ticket);
}
