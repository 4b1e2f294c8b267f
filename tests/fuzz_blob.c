/* SPDX-License-Identifier: MIT */
/*
 * fuzz_blob.c - arbitrary bytes, and sealed keys that are nearly right.
 *
 * The input's first byte chooses: the rest as it is, or an honest blob with the
 * rest laid over it at some offset, or cut. Checked besides what the sanitizers see:
 * only the honest one opens, and what is refused leaves the outputs untouched.
 */
#include "sr_blob.h"

#define FUZZ_NAME "blob"
#define FUZZ_INPUT_BYTES (2u * SR_BLOB_BYTES)
#include "fuzz_main.h"

static struct sr_noise_pair recipient, sender;
static unsigned char real[SR_BLOB_BYTES];

/* No curve: the public key is the secret and a byte before it. */
static int pubkey(const void *arg, unsigned char out[SR_BLOB_PUBKEY_BYTES],
		  const unsigned char secret[SR_BLOB_SECRET_BYTES])
{
	(void)arg;
	out[0] = 2;
	memcpy(out + 1, secret, SR_BLOB_SECRET_BYTES);
	return 0;
}

static const struct sr_blob_curve curve = { pubkey, NULL, NULL };

static void start(void)
{
	static const unsigned char secret[SR_BLOB_SECRET_BYTES] = { 4 };
	static const unsigned char ephemeral[SR_NOISE_KEY_BYTES] = { 5 };
	struct sr_blob_info info = { .id = 7 };
	const struct sr_blob_seal seal = {
		&info, secret, recipient.pub, &sender, ephemeral, &curve
	};

	memset(recipient.secret, 2, sizeof recipient.secret);
	memset(sender.secret, 3, sizeof sender.secret);
	require(sr_noise_pair_make(&recipient, recipient.secret) == 0, "no key");
	require(sr_noise_pair_make(&sender, sender.secret) == 0, "no key");
	require(pubkey(NULL, info.pubkey, secret) == 0, "no key");
	require(sr_blob_seal(real, &seal) == 0, "no blob");
}

static void judge(const unsigned char *in, size_t bytes)
{
	bool is_real = bytes == sizeof real && !memcmp(in, real, sizeof real);
	unsigned char secret[SR_BLOB_SECRET_BYTES] = { 0x5a }, who[SR_NOISE_KEY_BYTES] = { 0x5a };
	struct sr_blob_info info = { .id = 12345 };
	int ret = sr_blob_open(&info, secret, who, in, bytes, &recipient, &curve);

	require((ret == 0) == is_real, "opened what is not honest, or refused what is");
	if (!ret) {
		require(secret[0] == 4 && info.id == 7, "another secret");
		return;
	}
	require(ret == -EMSGSIZE || ret == -EPROTO || ret == -EBADMSG, "an error that is not due");
	require(secret[0] == 0x5a && who[0] == 0x5a && info.id == 12345,
		"output touched on failure");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	unsigned char made[SR_BLOB_BYTES];
	size_t at;

	if (bytes < 2)
		return 0;
	if (!real[0])
		start();
	at = data[1] % (sizeof made + 1);
	switch (data[0] % 3) {
	case 0:
		judge(data + 1, bytes - 1);
		break;
	case 1:
		judge(real, at);
		break;
	default:
		memcpy(made, real, sizeof made);
		for (size_t i = 2; i < bytes && at < sizeof made; i++)
			made[at++] ^= data[i];
		judge(made, sizeof made);
		break;
	}
	return 0;
}
