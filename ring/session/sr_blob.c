/* SPDX-License-Identifier: MIT */
#include "sr_blob.h"

#include "sr_secret.h"

#define MAGIC 0x6b627273u /* "srbk" */
#define VERSION 1u

enum {
	AT_MAGIC = 0,
	AT_VERSION = 4,
	AT_RESERVED = 6,
	AT_ID = 8,
	AT_PUBKEY = 12,
	AT_PADDING = 45,
	AT_MESSAGE = 48,
	PADDING_BYTES = AT_MESSAGE - AT_PADDING,
	MESSAGE_BYTES = 128,
};

SR_STATIC_ASSERT(AT_MESSAGE + MESSAGE_BYTES == SR_BLOB_BYTES, "blob ABI");

/* With the zero byte. */
static const char label[] = "sigring blob";

struct prologue {
	unsigned char data[sizeof label + AT_MESSAGE];
};

static struct prologue prologue_of(const unsigned char *blob)
{
	struct prologue p;

	memcpy(p.data, label, sizeof label);
	memcpy(p.data + sizeof label, blob, AT_MESSAGE);
	return p;
}

static int begin(struct sr_blob_work **work, const struct sr_blob_curve *curve)
{
	void *mem = curve->work;
	int ret = mem ? 0 : sr_secret_alloc(&mem, sizeof **work);

	if (!ret)
		*work = mem;
	return ret;
}

static void end(struct sr_blob_work *work, const struct sr_blob_curve *curve)
{
	sr_wipe_stack();
	if (work == curve->work)
		sr_wipe(work, sizeof *work);
	else
		sr_secret_free(work, sizeof *work);
}

static bool has_pubkey(const struct sr_blob_curve *curve, const struct sr_blob_info *info,
		       const unsigned char *secret)
{
	unsigned char pubkey[SR_BLOB_PUBKEY_BYTES];
	bool good = curve->pubkey(curve->arg, pubkey, secret) == 0 &&
		    memcmp(pubkey, info->pubkey, sizeof pubkey) == 0;

	sr_wipe_stack();
	return good;
}

int sr_blob_seal(unsigned char blob[SR_BLOB_BYTES], const struct sr_blob_seal *seal)
{
	unsigned char out[SR_BLOB_BYTES] = { 0 };
	struct prologue prologue;
	const struct sr_noise_config config = {
		.pattern = SR_NOISE_X,
		.initiator = true,
		.prologue = prologue.data,
		.prologue_bytes = sizeof prologue.data,
		.s = seal->sender,
		.rs = seal->recipient,
		.ephemeral = seal->ephemeral,
	};
	struct sr_blob_work *work;
	size_t bytes;
	int ret;

	if (seal->info->id == 0)
		return -EINVAL;
	if (!has_pubkey(seal->curve, seal->info, seal->secret))
		return -EKEYREJECTED;
	ret = begin(&work, seal->curve);
	if (ret)
		return ret;

	sr_put32(out + AT_MAGIC, MAGIC);
	sr_put16(out + AT_VERSION, VERSION);
	sr_put32(out + AT_ID, seal->info->id);
	memcpy(out + AT_PUBKEY, seal->info->pubkey, SR_BLOB_PUBKEY_BYTES);
	prologue = prologue_of(out);
	ret = sr_noise_init(&work->noise, &config);
	if (!ret)
		ret = sr_noise_write(&work->noise, out + AT_MESSAGE, &bytes, MESSAGE_BYTES,
				     seal->secret, SR_BLOB_SECRET_BYTES);
	if (!ret)
		memcpy(blob, out, sizeof out);
	end(work, seal->curve);
	return ret;
}

int sr_blob_peek(struct sr_blob_info *info, const unsigned char *blob, size_t bytes)
{
	static const unsigned char zero[PADDING_BYTES];

	if (bytes != SR_BLOB_BYTES)
		return -EMSGSIZE;
	if (sr_get32(blob + AT_MAGIC) != MAGIC || sr_get16(blob + AT_VERSION) != VERSION ||
	    sr_get16(blob + AT_RESERVED) != 0 || sr_get32(blob + AT_ID) == 0 ||
	    memcmp(blob + AT_PADDING, zero, sizeof zero) != 0)
		return -EPROTO;

	info->id = sr_get32(blob + AT_ID);
	memcpy(info->pubkey, blob + AT_PUBKEY, sizeof info->pubkey);
	return 0;
}

/* Into @work->secret. */
static int read_secret(struct sr_blob_work *work, unsigned char peer[SR_NOISE_KEY_BYTES],
		       const unsigned char *blob, const struct sr_noise_pair *recipient)
{
	const struct prologue prologue = prologue_of(blob);
	const struct sr_noise_config config = {
		.pattern = SR_NOISE_X,
		.prologue = prologue.data,
		.prologue_bytes = sizeof prologue.data,
		.s = recipient,
	};
	size_t bytes;
	int ret = sr_noise_init(&work->noise, &config);

	if (!ret)
		ret = sr_noise_read(&work->noise, work->secret, &bytes, sizeof work->secret,
				    blob + AT_MESSAGE, MESSAGE_BYTES);
	if (!ret)
		ret = sr_noise_peer(&work->noise, peer);
	return ret;
}

int sr_blob_open(struct sr_blob_info *info, unsigned char secret[SR_BLOB_SECRET_BYTES],
		 unsigned char sender[SR_NOISE_KEY_BYTES], const unsigned char *blob, size_t bytes,
		 const struct sr_noise_pair *recipient, const struct sr_blob_curve *curve)
{
	unsigned char peer[SR_NOISE_KEY_BYTES];
	struct sr_blob_info claimed;
	struct sr_blob_work *work;
	int ret = sr_blob_peek(&claimed, blob, bytes);

	if (ret)
		return ret;
	ret = begin(&work, curve);
	if (ret)
		return ret;

	ret = read_secret(work, peer, blob, recipient);
	if (!ret && !has_pubkey(curve, &claimed, work->secret))
		ret = -EKEYREJECTED;
	if (!ret) {
		*info = claimed;
		memcpy(secret, work->secret, SR_BLOB_SECRET_BYTES);
		memcpy(sender, peer, sizeof peer);
	}
	end(work, curve);
	return ret;
}
