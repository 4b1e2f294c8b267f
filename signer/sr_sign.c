/* SPDX-License-Identifier: MIT */
#include "sr_sign.h"

#include <stdlib.h>

#include "sr_drbg.h"
#include "sr_hash.h"
#include "sr_presign.h"
#include "sr_secret.h"
#include "sr_type.h"

/* A key's blinding is due for a refresh after so many of its presigned signatures. */
#define BLIND_SIGNATURES 1024u

/* In protected memory. */
struct secrets {
	unsigned char entropy[32]; /* of this run; what hedges each nonce */
	unsigned char extra[32];   /* of the signature being made */
	unsigned char blind[32];
	struct sr_presign_work work;
};

struct sr_sign {
	struct sr_keyring *keys;
	struct sr_curve *curve;
	struct sr_hasher *hasher;
	struct sr_drbg *drbg;
	struct sr_pool *pool; /* NULL: none */
	struct sr_trace *trace; /* NULL: none */
	struct secrets *secrets;
	uint64_t hedges; /* signatures that have taken entropy */
	struct sr_sign_stats stats;
	uint32_t presigned[SR_KEYS_MAX]; /* by each key, since its last blinding */
	bool blind_due;                  /* for at least one of them */
};

static int blind_key(struct sr_sign *s, uint32_t key)
{
	unsigned char *blind = s->secrets->blind;
	int ret = sr_drbg_generate(s->drbg, blind, sizeof s->secrets->blind);

	if (!ret)
		ret = sr_keyring_blind(s->keys, s->curve, key, blind);
	sr_wipe(blind, sizeof s->secrets->blind);
	return ret;
}

static int start_secrets(struct sr_sign *s, const struct sr_entropy *entropy)
{
	unsigned char *blind = s->secrets->blind;
	int ret = sr_drbg_new(&s->drbg, entropy);

	if (!ret)
		ret = sr_drbg_generate(s->drbg, s->secrets->entropy, sizeof s->secrets->entropy);
	if (!ret)
		ret = sr_drbg_generate(s->drbg, blind, sizeof s->secrets->blind);
	if (!ret)
		ret = sr_curve_new(&s->curve, blind);
	sr_wipe(blind, sizeof s->secrets->blind);
	for (uint32_t i = 0; !ret && i < sr_keyring_places(s->keys); i++)
		if (sr_keyring_info(s->keys, i)->id != 0)
			ret = blind_key(s, i);
	sr_wipe_stack();
	return ret;
}

static int start_pool(struct sr_sign *s, const struct sr_sign_config *config)
{
	const struct sr_pool_config pool = {
		.entropy = config->entropy,
		.slots = config->pool_slots,
		.low = config->pool_low,
		.batch = config->pool_batch,
	};

	if (config->pool_slots)
		return sr_pool_new(&s->pool, &pool);
	for (uint32_t i = 0; i < sr_keyring_places(s->keys); i++)
		if (sr_nonce_pooled(sr_keyring_info(s->keys, i)->nonce_mode))
			return -EINVAL;
	return 0;
}

int sr_sign_new(struct sr_sign **sign, const struct sr_sign_config *config)
{
	struct sr_sign *s;
	void *mem;
	int ret;

	if (!config->keys || !config->entropy)
		return -EINVAL;
	s = calloc(1, sizeof *s);
	if (!s)
		return -ENOMEM;
	s->keys = config->keys;
	s->trace = config->trace;
	ret = sr_secret_alloc(&mem, sizeof *s->secrets);
	if (!ret) {
		s->secrets = mem;
		ret = sr_hasher_new(&s->hasher);
	}
	if (!ret)
		ret = start_secrets(s, config->entropy);
	if (!ret)
		ret = start_pool(s, config);
	if (ret) {
		sr_sign_delete(s);
		return ret;
	}
	*sign = s;
	return 0;
}

void sr_sign_delete(struct sr_sign *sign)
{
	if (!sign)
		return;

	sr_pool_delete(sign->pool);
	sr_curve_delete(sign->curve);
	sr_drbg_delete(sign->drbg);
	sr_hasher_delete(sign->hasher);
	sr_secret_free(sign->secrets, sizeof *sign->secrets);
	free(sign);
}

static void lock_key(struct sr_sign *s, uint32_t key)
{
	sr_keyring_lock(s->keys, key);
	s->stats.check_failed++;
}

bool sr_sign_idle(struct sr_sign *s)
{
	if (SR_LIKELY(!s->blind_due))
		return false;

	for (uint32_t key = 0; key < sr_keyring_places(s->keys); key++) {
		int ret;

		if (s->presigned[key] < BLIND_SIGNATURES)
			continue;
		s->presigned[key] = 0;
		if (sr_keyring_info(s->keys, key)->locked || sr_keyring_info(s->keys, key)->id == 0)
			continue;
		/* A generator that fails leaves the blinding as it was, and good. */
		ret = sr_drbg_reseed(s->drbg);
		if (!ret)
			ret = blind_key(s, key);
		if (ret == -EBADMSG)
			lock_key(s, key);
		return true;
	}
	s->blind_due = false;
	return false;
}

struct sr_pool *sr_sign_pool(const struct sr_sign *sign)
{
	return sign->pool;
}

void sr_sign_stats_get(const struct sr_sign *sign, struct sr_sign_stats *stats)
{
	*stats = sign->stats;
}

/*
 * The additional input of RFC 6979 section 3.6: this run's entropy with a
 * counter mixed in, so that no two signatures of a run share it and two runs
 * share it with probability 2^-256. Even a repeat would be safe, because the
 * nonce also depends on key and digest: it would repeat a signature, never a
 * nonce under two digests.
 */
static const unsigned char *next_extra(struct sr_sign *s)
{
	struct secrets *secrets = s->secrets;

	memcpy(secrets->extra, secrets->entropy, sizeof secrets->extra);
	sr_put64(secrets->extra, sr_get64(secrets->entropy) ^ s->hedges++);
	return secrets->extra;
}

static int digest_of(struct sr_sign *s, unsigned char digest[32],
		     const struct sr_sign_request *request)
{
	switch (request->type) {
	case SR_ECDSA_SHA256:
		return sr_sha256(s->hasher, digest, request->body, request->body_bytes);
	case SR_ECDSA_KECCAK256:
		sr_keccak256(digest, request->body, request->body_bytes);
		return 0;
	default:
		memcpy(digest, request->body, SR_DIGEST_BYTES);
		return 0;
	}
}

static int make_ecdsa(struct sr_sign *s, struct sr_signature *made, uint32_t key,
		      const unsigned char digest[32])
{
	const struct sr_key_info *info = sr_keyring_info(s->keys, key);
	bool hedged = info->nonce_mode != SR_NONCE_RFC6979;
	int ret = sr_ecdsa_sign(s->curve, made->bytes, &made->recid, digest,
				sr_keyring_secret(s->keys, key), hedged ? next_extra(s) : NULL);

	sr_wipe_stack();
	if (ret)
		return ret;
	return hedged ? sr_keyring_check(s->keys, s->curve, key) :
			sr_ecdsa_verify(s->curve, made->bytes, digest, info->pubkey);
}

static int make_bip340(struct sr_sign *s, struct sr_signature *made, uint32_t key,
		       const struct sr_sign_request *request)
{
	const struct sr_key_info *info = sr_keyring_info(s->keys, key);
	bool hedged = info->nonce_mode != SR_NONCE_RFC6979;
	int ret = sr_bip340_sign(s->curve, made->bytes, request->body, request->body_bytes,
				 sr_keyring_secret(s->keys, key), hedged ? next_extra(s) : NULL);

	sr_wipe_stack();
	if (ret)
		return ret;
	return hedged ? sr_keyring_check(s->keys, s->curve, key) :
			sr_bip340_verify(s->curve, made->bytes, request->body,
					 request->body_bytes, info->pubkey);
}

/* -EAGAIN: there is no presignature, or not even a pool. */
static int make_presigned(struct sr_sign *s, struct sr_signature *made, uint32_t key,
			  const struct sr_sign_request *request, const unsigned char digest[32])
{
	struct sr_presign_key secret = sr_keyring_presign(s->keys, key);
	struct sr_presign_work *work = &s->secrets->work;
	int ret;

	if (SR_UNLIKELY(!s->pool))
		return -EAGAIN;
	do {
		if (sr_pool_take(s->pool, &work->presig))
			return -EAGAIN;
		if (request->type == SR_BIP340)
			ret = sr_presign_bip340(s->curve, s->hasher, work, request->body,
						request->body_bytes,
						sr_keyring_info(s->keys, key)->pubkey, &secret);
		else
			ret = sr_presign_ecdsa(s->curve, work, &made->recid, digest, &secret);
	} while (SR_UNLIKELY(ret == -ERANGE)); /* s = 0: one spent for nothing */
	if (SR_UNLIKELY(ret))
		return -EIO;

	memcpy(made->bytes, work->sig, sizeof made->bytes);
	s->stats.presigned++;
	if (SR_UNLIKELY(++s->presigned[key] >= BLIND_SIGNATURES))
		s->blind_due = true;
	return 0;
}

static int make(struct sr_sign *s, struct sr_signature *made, uint32_t key,
		const struct sr_sign_request *request)
{
	uint32_t mode = sr_keyring_info(s->keys, key)->nonce_mode;
	unsigned char digest[SR_HASH_BYTES];
	int ret = 0;

	if (request->type != SR_BIP340)
		ret = digest_of(s, digest, request);
	if (ret)
		return ret;
	sr_trace_stamp(s->trace, SR_TRACE_DIGEST);
	if (sr_nonce_pooled(mode)) {
		ret = make_presigned(s, made, key, request, digest);
		if (SR_LIKELY(ret != -EAGAIN) || mode == SR_NONCE_PRESIGN_ONLY)
			return ret;
		s->stats.fallbacks++;
	}
	if (request->type == SR_BIP340)
		return make_bip340(s, made, key, request);
	return make_ecdsa(s, made, key, digest);
}

int sr_sign_make(struct sr_sign *s, struct sr_signature *signature, uint32_t key,
		 const struct sr_sign_request *request)
{
	struct sr_signature made = {
		.kind = request->type == SR_BIP340 ? SR_SIG_BIP340 : SR_SIG_ECDSA,
	};
	int ret = make(s, &made, key, request);

	if (SR_LIKELY(ret == 0)) {
		sr_trace_stamp(s->trace, SR_TRACE_SIGNED);
		*signature = made;
		return 0;
	}
	if (ret == -EAGAIN)
		return ret;

	lock_key(s, key);
	return -EIO;
}
