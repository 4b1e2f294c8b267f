/* SPDX-License-Identifier: MIT */
#include "sr_offline.h"

#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "sr_curve.h"
#include "sr_keyfile.h"
#include "sr_keyring.h"

struct sr_offline {
	struct sr_curve *curve;
	struct sr_keyring *ring;
};

static int load(struct sr_offline *offline, const char *path, struct sr_reason *why)
{
	struct sr_keyfile_error error = { .text = "" };
	struct stat st;
	int ret;

	if (stat(path, &st))
		return sr_reason_set(why, -errno, "%s: %s", path, strerror(errno));
	if (S_ISDIR(st.st_mode))
		ret = sr_keyfile_load_dir(offline->ring, offline->curve, path, &error);
	else
		ret = sr_keyfile_load(offline->ring, offline->curve, path, &error);
	return ret < 0 ? sr_reason_set(why, ret, "%s", error.text) : 0;
}

int sr_offline_new(struct sr_offline **offline, const char *path, struct sr_reason *why)
{
	struct sr_offline *made = calloc(1, sizeof *made);
	unsigned char seed[32];
	int err = -ENOMEM;

	if (!made)
		return sr_reason_set(why, err, "no memory");
	if (getrandom(seed, sizeof seed, 0) != (ssize_t)sizeof seed)
		err = -EIO;
	else
		err = sr_curve_new(&made->curve, seed);
	explicit_bzero(seed, sizeof seed);
	if (!err)
		err = sr_keyring_new(&made->ring);
	if (err)
		(void)sr_reason_set(why, err, "no protected memory for keys: %s", strerror(-err));
	else
		err = load(made, path, why);
	if (err) {
		sr_offline_delete(made);
		return err;
	}
	*offline = made;
	return 0;
}

void sr_offline_delete(struct sr_offline *offline)
{
	if (!offline)
		return;
	sr_keyring_delete(offline->ring);
	sr_curve_delete(offline->curve);
	free(offline);
}

int sr_offline_key(const struct sr_offline *offline, uint32_t index, uint32_t *id,
		   unsigned char pubkey[33])
{
	const struct sr_key_info *info;

	if (index >= sr_keyring_count(offline->ring))
		return -ENOENT;
	info = sr_keyring_info(offline->ring, index); /* none was ever removed */
	*id = info->id;
	memcpy(pubkey, info->pubkey, SR_PUBKEY_BYTES);
	return 0;
}

int sr_offline_sign(const struct sr_offline *offline, unsigned char signature[64], uint8_t *recid,
		    const struct sr_order_line *order, const unsigned char digest[32])
{
	int at = sr_keyring_find(offline->ring, order->key);
	const unsigned char *secret;

	if (at < 0)
		return -ENOENT;
	secret = sr_keyring_secret(offline->ring, (uint32_t)at);
	*recid = 0;
	if (order->type == SR_BIP340)
		return sr_bip340_sign(offline->curve, signature, order->body, order->body_bytes,
				      secret, NULL);
	return sr_ecdsa_sign(offline->curve, signature, recid, digest, secret, NULL);
}
