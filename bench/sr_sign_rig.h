/* SPDX-License-Identifier: MIT */
/*
 * sr_sign_rig.h - a key, and everything that bench_sign makes signatures with.
 *
 * One key, made for the run, goes to each library: to ours through the keyring, as a
 * signer has it, and to libsecp256k1, OpenSSL and k256 (when it was built) as their
 * users would hand it over. Pools are filled by whoever measures, between samples;
 * what is taken while the clock runs was there before.
 */
#ifndef SR_SIGN_RIG_H
#define SR_SIGN_RIG_H

#include <dlfcn.h>
#include <stdlib.h>

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <secp256k1.h>
#include <secp256k1_extrakeys.h>
#include <secp256k1_schnorrsig.h>

#include "sr_core.h"
#include "sr_getrandom.h"
#include "sr_hash.h"
#include "sr_message.h"
#include "sr_presign.h"
#include "sr_reason.h"
#include "sr_secret.h"
#include "sr_type.h"
#include "sr_verify.h"

#define SR_SIGN_MESSAGE_BYTES 256u
#define SR_SIGN_ROUND_SAMPLES 500u /* of each row in a round, at most */
#define SR_SIGN_POOL_BATCH 256u
#define SR_SIGN_WARM_SAMPLES 8u   /* before them, not kept: another row has run */
#define SR_SIGN_POOL_SLOTS 1024u  /* less a batch at worst when it has been filled */
#define SR_SIGN_REFILLS 4u

SR_STATIC_ASSERT(SR_SIGN_POOL_SLOTS - SR_SIGN_POOL_BATCH >=
			 SR_SIGN_ROUND_SAMPLES + SR_SIGN_WARM_SAMPLES,
		 "no pool runs dry within a round");

/* bench/k256/src/lib.rs */
struct sr_k256 {
	void *library;
	void *key;
	void *(*key_new)(const unsigned char seckey[32]);
	int (*sign)(const void *key, unsigned char sig[64], const unsigned char *message,
		    size_t bytes);
	void (*key_delete)(void *key);
};

/* In protected memory. */
struct sr_sign_secret {
	unsigned char seckey[SR_SECKEY_BYTES];
	unsigned char seckey_given[SR_SECKEY_BYTES]; /* the keyring wipes it */
	unsigned char k[SR_SCALAR_BYTES];
	unsigned char extra[32];
	unsigned char powers[15][SR_SCALAR_BYTES];
	unsigned char square[2][SR_SCALAR_BYTES];
	struct sr_presign_work work;
	struct sr_presig presig;
	secp256k1_keypair keypair;
};

/* What came out of the last operation, for whoever checks it afterwards. */
struct sr_sign_result {
	unsigned char sig[80]; /* room for DER */
	size_t sig_bytes;
	unsigned char digest[SR_HASH_BYTES];
};

struct sr_sign_rig {
	unsigned char message[SR_SIGN_MESSAGE_BYTES];
	unsigned char digest[SR_HASH_BYTES]; /* of the message, where a row begins there */
	unsigned char pubkey[SR_PUBKEY_BYTES];
	struct sr_sign_result result;
	struct sr_sign_secret *secret;

	struct sr_curve *curve;
	struct sr_hasher *hasher;
	struct sr_keyring *keys;
	struct sr_presign_key key;
	struct sr_pool *pool;
	struct sr_pool *refills[SR_SIGN_REFILLS];
	struct sr_point point;

	struct sr_core *core;
	uint32_t session;
	uint64_t word;
	unsigned char record[SR_SUB_BYTES_DEFAULT];
	unsigned char reply[SR_CMP_BYTES];

	secp256k1_context *bare;
	secp256k1_ecdsa_signature bare_sig;
	EVP_PKEY *pkey;
	EVP_MD_CTX *md;
	EVP_MD_CTX *md_sign; /* keeps the key: not for digests */
	EVP_MD *sha256;
	EVP_MD *sha3;
	struct sr_k256 k256;
	struct sr_verifier *verifier;
};

static const uint32_t sr_sign_refill_batch[SR_SIGN_REFILLS] = { 2, 16, 64, 256 };

/* A pool has SR_POOL_SLOTS_MIN at least, so a batch of 2 is made eight times. */
static inline uint32_t sr_sign_refill_slots(uint32_t at)
{
	uint32_t batch = sr_sign_refill_batch[at];

	return batch < SR_POOL_SLOTS_MIN ? SR_POOL_SLOTS_MIN : batch;
}

/* ---- ours ---- */

static inline int sr_sign_rig_pools(struct sr_sign_rig *r)
{
	struct sr_pool_config config = {
		.entropy = &sr_getrandom,
		.slots = SR_SIGN_POOL_SLOTS,
		.low = SR_SIGN_POOL_SLOTS - SR_SIGN_POOL_BATCH + 1,
		.batch = SR_SIGN_POOL_BATCH,
	};
	int ret = sr_pool_new(&r->pool, &config);

	for (uint32_t i = 0; i < SR_SIGN_REFILLS && ret == 0; i++) {
		config.slots = sr_sign_refill_slots(i);
		config.batch = sr_sign_refill_batch[i];
		config.low = config.slots - config.batch + 1;
		ret = sr_pool_new(&r->refills[i], &config);
	}
	return ret;
}

static inline int sr_sign_rig_session(struct sr_sign_rig *r)
{
	struct sr_open_request open = {
		.token = { 1, 2 },
		.first = r->word,
		.depth = SR_DEPTH_DEFAULT,
		.slot_bytes = SR_SUB_BYTES_DEFAULT,
	};
	unsigned char *request = r->record + SR_SUB_BODY;

	r->record[SR_SUB_KIND] = SR_KIND_UNSEALED;
	sr_put32(request + SR_REQ_KEY, 1);
	sr_put16(request + SR_REQ_TYPE, SR_ECDSA_SHA256);
	sr_put16(request + SR_REQ_BODY_BYTES, SR_SIGN_MESSAGE_BYTES);
	return sr_core_open(r->core, &r->session, &open, 1, 0) == SR_OPENED_OK ? 0 : -EPROTO;
}

static inline int sr_sign_rig_core(struct sr_sign_rig *r)
{
	struct sr_key_info info = {
		.id = 1,
		.permissions = 1u << SR_ECDSA_SHA256,
		.nonce_mode = SR_NONCE_PRESIGN,
		.any_uid = true,
	};
	struct sr_core_config config = {
		.sign = {
			.entropy = &sr_getrandom,
			.pool_slots = SR_SIGN_POOL_SLOTS,
			.pool_low = SR_SIGN_POOL_SLOTS - SR_SIGN_POOL_BATCH + 1,
			.pool_batch = SR_SIGN_POOL_BATCH,
		},
		.sessions_max = 1,
		.depth_max = SR_DEPTH_DEFAULT,
		.slot_bytes_max = SR_SUB_BYTES_DEFAULT,
		.clear = &sr_core_clear,
		.snapshot_allowed = true,
	};
	int ret = sr_keyring_new(&r->keys);

	memcpy(r->secret->seckey_given, r->secret->seckey, SR_SECKEY_BYTES);
	if (ret == 0)
		ret = sr_keyring_add(r->keys, r->curve, &info, r->secret->seckey_given);
	config.sign.keys = r->keys;
	if (ret == 0)
		ret = sr_core_new(&r->core, &config); /* blinds the key, for other rows too */
	if (ret < 0)
		return ret;
	r->key = sr_keyring_presign(r->keys, 0);
	memcpy(r->pubkey, sr_keyring_info(r->keys, 0)->pubkey, sizeof r->pubkey);
	return sr_sign_rig_session(r);
}

static inline int sr_sign_rig_ours(struct sr_sign_rig *r)
{
	unsigned char *seed = r->secret->extra;
	int ret = sr_getrandom.get(sr_getrandom.arg, seed, sizeof r->secret->extra);

	if (ret == 0)
		ret = sr_curve_new(&r->curve, seed);
	if (ret == 0)
		ret = sr_getrandom.get(sr_getrandom.arg, r->secret->seckey, SR_SECKEY_BYTES);
	if (ret == 0)
		ret = sr_getrandom.get(sr_getrandom.arg, r->secret->k, SR_SCALAR_BYTES);
	r->secret->seckey[0] &= 0x7f; /* below the group's order, for certain */
	r->secret->k[0] &= 0x7f;
	if (ret == 0)
		ret = sr_hasher_new(&r->hasher);
	if (ret == 0)
		ret = sr_sign_rig_core(r);
	if (ret == 0)
		ret = sr_sign_rig_pools(r);
	return ret;
}

/* ---- theirs ---- */

static inline int sr_sign_rig_bare(struct sr_sign_rig *r)
{
	unsigned char seed[32];

	r->bare = secp256k1_context_create(SECP256K1_CONTEXT_SIGN);
	if (!r->bare || sr_getrandom.get(sr_getrandom.arg, seed, sizeof seed) < 0 ||
	    !secp256k1_context_randomize(r->bare, seed) ||
	    !secp256k1_keypair_create(r->bare, &r->secret->keypair, r->secret->seckey))
		return -EIO;
	return 0;
}

static inline int sr_sign_rig_openssl(struct sr_sign_rig *r)
{
	OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
	BIGNUM *d = BN_bin2bn(r->secret->seckey, SR_SECKEY_BYTES, NULL);
	OSSL_PARAM *params = NULL;
	bool good = build && ctx && d;

	good = good && OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME,
						       "secp256k1", 0) == 1 &&
	       OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_PRIV_KEY, d) == 1 &&
	       OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, r->pubkey,
						sizeof r->pubkey) == 1;
	params = good ? OSSL_PARAM_BLD_to_param(build) : NULL;
	good = params && EVP_PKEY_fromdata_init(ctx) == 1 &&
	       EVP_PKEY_fromdata(ctx, &r->pkey, EVP_PKEY_KEYPAIR, params) == 1;
	OSSL_PARAM_free(params);
	OSSL_PARAM_BLD_free(build);
	EVP_PKEY_CTX_free(ctx);
	BN_clear_free(d);
	r->md = EVP_MD_CTX_new();
	r->md_sign = EVP_MD_CTX_new();
	r->sha256 = EVP_MD_fetch(NULL, "SHA2-256", NULL);
	r->sha3 = EVP_MD_fetch(NULL, "SHA3-256", NULL);
	return good && r->md && r->md_sign && r->sha256 && r->sha3 ? 0 : -EIO;
}

/* A pointer to a function out of one to an object: POSIX has it so, C has not. */
static inline bool sr_k256_symbol(struct sr_k256 *k, void *function, const char *name)
{
	void *found = dlsym(k->library, name);

	memcpy(function, &found, sizeof found);
	return found;
}

/* sr_k256_open - @path: the library that bench/k256 builds. 0, or -ENOENT. */
static inline int sr_k256_open(struct sr_k256 *k, const char *path, const unsigned char seckey[32])
{
	k->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!k->library)
		return -ENOENT;
	if (sr_k256_symbol(k, &k->key_new, "sr_k256_new") &&
	    sr_k256_symbol(k, &k->sign, "sr_k256_sign") &&
	    sr_k256_symbol(k, &k->key_delete, "sr_k256_delete"))
		k->key = k->key_new(seckey);
	return k->key ? 0 : -ENOENT;
}

static inline void sr_k256_close(struct sr_k256 *k)
{
	if (k->key)
		k->key_delete(k->key);
	if (k->library)
		(void)dlclose(k->library);
}

/* ---- both ---- */

/*
 * sr_sign_rig_begin - make the key and hand it to everybody.
 *
 * @r: zeroed. Returns 0 or -errno with a reason; sr_sign_rig_end() either way.
 */
static inline int sr_sign_rig_begin(struct sr_sign_rig *r, struct sr_reason *why)
{
	void *mem = NULL;
	int ret = sr_secret_alloc(&mem, sizeof *r->secret);

	if (ret < 0)
		return sr_reason_set(why, ret, "no protected memory: %s (ulimit -l?)",
				     strerror(-ret));
	r->secret = mem;
	ret = sr_sign_rig_ours(r);
	if (ret < 0)
		return sr_reason_set(why, ret, "cannot start the signer: %s", strerror(-ret));
	ret = sr_sign_rig_bare(r);
	if (ret < 0)
		return sr_reason_set(why, ret, "libsecp256k1 does not take the key");
	ret = sr_sign_rig_openssl(r);
	if (ret == 0)
		ret = sr_verifier_new(&r->verifier);
	if (ret < 0)
		return sr_reason_set(why, ret, "OpenSSL has no secp256k1, or no SHA-3");
	return 0;
}

static inline void sr_sign_rig_end(struct sr_sign_rig *r)
{
	sr_verifier_delete(r->verifier);
	sr_k256_close(&r->k256);
	EVP_MD_free(r->sha3);
	EVP_MD_free(r->sha256);
	EVP_MD_CTX_free(r->md_sign);
	EVP_MD_CTX_free(r->md);
	EVP_PKEY_free(r->pkey);
	if (r->bare)
		secp256k1_context_destroy(r->bare);
	for (uint32_t i = 0; i < SR_SIGN_REFILLS; i++)
		sr_pool_delete(r->refills[i]);
	sr_pool_delete(r->pool);
	sr_core_delete(r->core);
	sr_keyring_delete(r->keys);
	sr_hasher_delete(r->hasher);
	sr_curve_delete(r->curve);
	sr_secret_free(r->secret, sizeof *r->secret);
}

#endif /* SR_SIGN_RIG_H */
