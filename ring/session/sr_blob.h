/* SPDX-License-Identifier: MIT */
/*
 * sr_blob.h - a signing key, sealed to whoever may have it next.
 *
 * A key is generated inside the signer and leaves it in this form alone: sealed to
 * a recovery recipient, whose secret is kept off line; and from him, sealed again,
 * to the static key of the signer that is to have it.
 *
 * One message of Noise X (sr_noise.h): only the recipient's static secret opens it,
 * and it says with whose static key it was sealed. Its prologue is what stands in
 * clear in front of it, so that neither id nor public key can be exchanged:
 *
 *	  0  magic "srbk"      u32        12  public key       33, compressed
 *	  4  version, 1        u16        45  reserved, zero    3
 *	  6  reserved, zero    u16        48  message         128: ephemeral 32, sender
 *	  8  key id            u32                            48, secret 32, tag 16
 *
 * A blob has no freshness: who may bring one is for the operators' session to say.
 * It also has no forward secrecy: the recipient's secret opens every blob that was
 * ever sealed to it.
 */
#ifndef SR_BLOB_H
#define SR_BLOB_H

#include "sr_base.h"
#include "sr_noise.h"

#define SR_BLOB_BYTES 176u
#define SR_BLOB_SECRET_BYTES 32u
#define SR_BLOB_PUBKEY_BYTES 33u

/* What stands in clear. */
struct sr_blob_info {
	uint32_t id; /* of the key, not 0 */
	unsigned char pubkey[SR_BLOB_PUBKEY_BYTES];
};

/* Room to seal or to open in. Holds secrets while that lasts, and is wiped behind it. */
struct sr_blob_work {
	struct sr_noise noise;
	unsigned char secret[SR_BLOB_SECRET_BYTES];
};

/* How a public key comes from a secret one: this layer knows no curve. */
struct sr_blob_curve {
	/* 0, or anything else when @secret is no key. */
	int (*pubkey)(const void *arg, unsigned char pubkey[SR_BLOB_PUBKEY_BYTES],
		      const unsigned char secret[SR_BLOB_SECRET_BYTES]);
	const void *arg;
	/* Protected memory of the caller's, one thread's at a time; NULL: each call takes some
	 * and gives it back, by system calls that not every process has. */
	struct sr_blob_work *work;
};

/* What sealing takes. All of it is borrowed. */
struct sr_blob_seal {
	const struct sr_blob_info *info;
	const unsigned char *secret;    /* 32 bytes, in protected memory */
	const unsigned char *recipient; /* his static public key */
	const struct sr_noise_pair *sender;
	const unsigned char *ephemeral; /* 32 secret random bytes, for this blob alone */
	const struct sr_blob_curve *curve;
};

SR_BEGIN_DECLS

/*
 * sr_blob_seal - make a blob.
 *
 * Returns 0; -EINVAL: the id is 0; -EKEYREJECTED: the public key is not that of the
 * secret, and the blob would restore nothing; -EBADMSG: the recipient's key is a
 * point of small order; -EIO; -ENOMEM or -ENOSYS as sr_secret_alloc(). @blob is
 * untouched on failure.
 */
SR_WARN_UNUSED int sr_blob_seal(unsigned char blob[SR_BLOB_BYTES], const struct sr_blob_seal *seal);

/*
 * sr_blob_peek - what a blob says of itself, to be shown: anybody can write that.
 *
 * Returns 0; -EMSGSIZE for another length; -EPROTO for another magic or version, a
 * reserved byte that is not zero, or id 0. *info is untouched then.
 */
SR_WARN_UNUSED int sr_blob_peek(struct sr_blob_info *info, const unsigned char *blob, size_t bytes);

/*
 * sr_blob_open - open a blob and check that the secret has the public key that it
 * claims.
 *
 * @secret: out, 32 bytes of protected memory.
 * @sender: out, the static public key that it was sealed with.
 *
 * Returns 0; -EMSGSIZE and -EPROTO as above; -EBADMSG: not for this recipient, or
 * changed; -EKEYREJECTED: the secret is no key, or another's; -EIO; -ENOMEM or
 * -ENOSYS. Outputs are untouched on failure.
 */
SR_WARN_UNUSED int sr_blob_open(struct sr_blob_info *info,
				unsigned char secret[SR_BLOB_SECRET_BYTES],
				unsigned char sender[SR_NOISE_KEY_BYTES], const unsigned char *blob,
				size_t bytes, const struct sr_noise_pair *recipient,
				const struct sr_blob_curve *curve);

SR_END_DECLS

#endif /* SR_BLOB_H */
