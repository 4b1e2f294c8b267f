/* SPDX-License-Identifier: MIT */
/*
 * sr_sign_rows.h - what bench_sign measures: one operation a row.
 *
 * `once` is what the clock sees. `fill` runs before a row's samples of a round,
 * `prepare` before each, and `check` judges what the last one made, by a route that
 * is not the signer's: none of them is timed. The message is another for each
 * sample; everything else is warm, as in a signer that has nothing else to do.
 */
#ifndef SR_SIGN_ROWS_H
#define SR_SIGN_ROWS_H

#include <openssl/sha.h>

#include "sr_sign_rig.h"

enum sr_sign_row_number {
	SR_ROW_CLOCK,
	SR_ROW_RFC6979, SR_ROW_HEDGED, SR_ROW_BARE, SR_ROW_BARE_SIGN, SR_ROW_OPENSSL, SR_ROW_K256,
	SR_ROW_FINISH, SR_ROW_CHECKED, SR_ROW_PRESIGNED, SR_ROW_CORE,
	SR_ROW_SCHNORR, SR_ROW_PRESIGNED_BIP340,
	SR_ROW_SHA_DIGEST, SR_ROW_SHA_FETCHED, SR_ROW_SHA_ONESHOT, SR_ROW_SHA_OURS,
	SR_ROW_KECCAK, SR_ROW_SHA3,
	SR_ROW_BASE_MUL, SR_ROW_SINGLE,
	SR_ROW_BASES, SR_ROW_BASES_END = SR_ROW_BASES + SR_SIGN_REFILLS - 1,
	SR_ROW_REFILL = SR_ROW_BASES_END, SR_ROW_REFILL_END = SR_ROW_REFILL + SR_SIGN_REFILLS,
	SR_SIGN_ROWS = SR_ROW_REFILL_END,
};

struct sr_sign_row {
	const char *key;
	const char *text;
	int (*once)(struct sr_sign_rig *r);
	int (*fill)(struct sr_sign_rig *r);
	int (*prepare)(struct sr_sign_rig *r);
	int (*check)(struct sr_sign_rig *r);
};

/* ---- signing whole ---- */

static inline int sr_row_clock(struct sr_sign_rig *r)
{
	(void)r;
	return 0;
}

/* As the core does it but for the verification, which the seed's loop has not. */
static inline int sr_row_rfc6979(struct sr_sign_rig *r)
{
	unsigned char digest[SR_HASH_BYTES];
	uint8_t recid;
	int ret = sr_sha256(r->hasher, digest, r->message, sizeof r->message);

	if (ret == 0)
		ret = sr_ecdsa_sign(r->curve, r->result.sig, &recid, digest, r->secret->seckey,
				    NULL);
	return ret;
}

static inline int sr_row_hedged(struct sr_sign_rig *r)
{
	unsigned char digest[SR_HASH_BYTES];
	uint8_t recid;
	int ret = sr_sha256(r->hasher, digest, r->message, sizeof r->message);

	if (ret == 0)
		ret = sr_ecdsa_sign(r->curve, r->result.sig, &recid, digest, r->secret->seckey,
				    r->secret->extra);
	return ret;
}

static inline int sr_row_bare(struct sr_sign_rig *r)
{
	unsigned char digest[SR_HASH_BYTES];

	(void)SHA256(r->message, sizeof r->message, digest);
	return secp256k1_ecdsa_sign(r->bare, &r->bare_sig, digest, r->secret->seckey, NULL, NULL) ?
		       0 : -EIO;
}

static inline int sr_row_bare_sign(struct sr_sign_rig *r)
{
	return secp256k1_ecdsa_sign(r->bare, &r->bare_sig, r->digest, r->secret->seckey, NULL,
				    NULL) ? 0 : -EIO;
}

static inline int sr_row_openssl(struct sr_sign_rig *r)
{
	r->result.sig_bytes = sizeof r->result.sig;
	return EVP_DigestSignInit_ex(r->md_sign, NULL, "SHA2-256", NULL, NULL, r->pkey,
				     NULL) == 1 &&
	       EVP_DigestSign(r->md_sign, r->result.sig, &r->result.sig_bytes, r->message,
			      sizeof r->message) == 1 ? 0 : -EIO;
}

static inline int sr_row_k256(struct sr_sign_rig *r)
{
	return r->k256.sign(r->k256.key, r->result.sig, r->message, sizeof r->message);
}

/* ---- presigned ---- */

static inline int sr_row_fill(struct sr_sign_rig *r)
{
	return sr_pool_fill(r->pool);
}

static inline int sr_row_digest(struct sr_sign_rig *r)
{
	return sr_sha256(r->hasher, r->digest, r->message, sizeof r->message);
}

static inline int sr_row_take(struct sr_sign_rig *r)
{
	struct sr_presign_work *w = &r->secret->work;
	int ret = sr_row_digest(r);

	if (ret == 0)
		ret = sr_pool_take(r->pool, &w->presig);
	sr_scalar_reduce(w->z, r->digest);
	memcpy(w->z_again, w->z, sizeof w->z_again);
	return ret;
}

static inline int sr_row_finish(struct sr_sign_rig *r)
{
	return sr_presign_ecdsa_compute(r->curve, &r->secret->work, &r->key);
}

static inline int sr_row_checked(struct sr_sign_rig *r)
{
	uint8_t recid;

	return sr_presign_ecdsa(r->curve, &r->secret->work, &recid, r->digest, &r->key);
}

static inline int sr_row_presigned(struct sr_sign_rig *r)
{
	struct sr_presign_work *w = &r->secret->work;
	unsigned char digest[SR_HASH_BYTES];
	uint8_t recid;
	int ret = sr_sha256(r->hasher, digest, r->message, sizeof r->message);

	if (ret == 0)
		ret = sr_pool_take(r->pool, &w->presig);
	if (ret == 0)
		ret = sr_presign_ecdsa(r->curve, w, &recid, digest, &r->key);
	return ret;
}

static inline int sr_row_core_fill(struct sr_sign_rig *r)
{
	return sr_pool_fill(sr_core_pool(r->core));
}

static inline int sr_row_core_prepare(struct sr_sign_rig *r)
{
	sr_put64(r->record, r->word++);
	memcpy(r->record + SR_SUB_BODY + SR_REQ_BODY, r->message, sizeof r->message);
	return 0;
}

static inline int sr_row_core(struct sr_sign_rig *r)
{
	return sr_core_record(r->core, r->reply, r->session, 1, 0, r->record,
			      sizeof r->record) == SR_CORE_REPLY &&
	       sr_get16(r->reply + SR_CMP_BODY + SR_REP_STATUS) == SR_OK ? 0 : -EBADMSG;
}

/* ---- BIP-340 ---- */

static inline int sr_row_schnorr(struct sr_sign_rig *r)
{
	return secp256k1_schnorrsig_sign_custom(r->bare, r->result.sig, r->message,
						sizeof r->message, &r->secret->keypair, NULL) ?
		       0 : -EIO;
}

static inline int sr_row_presigned_bip340(struct sr_sign_rig *r)
{
	struct sr_presign_work *w = &r->secret->work;
	int ret = sr_pool_take(r->pool, &w->presig);

	if (ret == 0)
		ret = sr_presign_bip340(r->curve, r->hasher, w, r->message, sizeof r->message,
					r->pubkey, &r->key);
	return ret;
}

/* ---- hashes ---- */

static inline int sr_row_sha_digest(struct sr_sign_rig *r)
{
	return EVP_Digest(r->message, sizeof r->message, r->result.digest, NULL, EVP_sha256(),
			  NULL) == 1 ? 0 : -EIO;
}

static inline int sr_row_evp(struct sr_sign_rig *r, const EVP_MD *type)
{
	return EVP_DigestInit_ex2(r->md, type, NULL) == 1 &&
	       EVP_DigestUpdate(r->md, r->message, sizeof r->message) == 1 &&
	       EVP_DigestFinal_ex(r->md, r->result.digest, NULL) == 1 ? 0 : -EIO;
}

static inline int sr_row_sha_fetched(struct sr_sign_rig *r)
{
	return sr_row_evp(r, r->sha256);
}

static inline int sr_row_sha_oneshot(struct sr_sign_rig *r)
{
	return SHA256(r->message, sizeof r->message, r->result.digest) ? 0 : -EIO;
}

static inline int sr_row_sha_ours(struct sr_sign_rig *r)
{
	return sr_sha256(r->hasher, r->result.digest, r->message, sizeof r->message);
}

static inline int sr_row_keccak(struct sr_sign_rig *r)
{
	sr_keccak256(r->result.digest, r->message, sizeof r->message);
	return 0;
}

static inline int sr_row_sha3(struct sr_sign_rig *r)
{
	return sr_row_evp(r, r->sha3);
}

/* ---- making presignatures ---- */

/* Another k for each sample; nothing is signed with it. */
static inline int sr_row_next_k(struct sr_sign_rig *r)
{
	sr_put64(r->secret->k + 8, sr_get64(r->secret->k + 8) + 0x9e3779b97f4a7c15u);
	return 0;
}

static inline int sr_row_base_mul(struct sr_sign_rig *r)
{
	return sr_point_base_mul(r->curve, &r->point, r->secret->k) ? 0 : -EIO;
}

/* u = 1 / k by Fermat, in windows of four bits, as a batch inverts its product. */
static inline bool sr_row_invert(struct sr_sign_rig *r)
{
	static const unsigned char exponent[SR_SCALAR_BYTES] = { /* n - 2 */
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xff, 0xff, 0xff, 0xff, 0xfe, 0xba, 0xae, 0xdc, 0xe6, 0xaf, 0x48,
		0xa0, 0x3b, 0xbf, 0xd2, 0x5e, 0x8c, 0xd0, 0x36, 0x41, 0x3f,
	};
	struct sr_sign_secret *s = r->secret;
	unsigned char *u = s->square[0], *spare = s->square[1];
	bool good = true;

	memcpy(s->powers[0], s->k, SR_SCALAR_BYTES);
	for (uint32_t i = 1; i < 15; i++)
		good &= sr_scalar_mul(r->curve, s->powers[i], s->powers[i - 1], s->powers[0]);
	memcpy(u, s->powers[14], SR_SCALAR_BYTES); /* the first window is 15 */
	for (uint32_t at = 1; at < 2 * SR_SCALAR_BYTES; at++) {
		uint32_t digit = (uint32_t)exponent[at / 2] >> (at % 2 ? 0 : 4) & 15u;

		for (uint32_t i = 0; i < 4; i++) {
			memcpy(spare, u, SR_SCALAR_BYTES);
			good &= sr_scalar_mul(r->curve, u, u, spare);
		}
		if (digit)
			good &= sr_scalar_mul(r->curve, u, u, s->powers[digit - 1]);
	}
	return good;
}

/*
 * What a batch of one would cost at the least. sr_batch_new() takes none: its one
 * product is its one nonce, so that nothing is shared, and the sum that checks the
 * points would be the point itself. There is no reseeding and no check in here.
 */
static inline int sr_row_single(struct sr_sign_rig *r)
{
	struct sr_sign_secret *s = r->secret;
	struct sr_presig *p = &s->presig;
	bool good = sr_point_base_mul(r->curve, &r->point, s->k);

	sr_point_x(r->curve, p->r, &p->odd, &r->point);
	good &= sr_row_invert(r);
	memcpy(p->u, s->square[0], sizeof p->u);
	good &= sr_scalar_mul(r->curve, p->ur, p->u, p->r);
	return good ? 0 : -EIO;
}

/* 1 / k is right when it gives 1 with k. */
static inline int sr_row_single_check(struct sr_sign_rig *r)
{
	static const unsigned char one[SR_SCALAR_BYTES] = { [31] = 1 };
	struct sr_sign_secret *s = r->secret;

	return sr_scalar_mul(r->curve, s->square[1], s->presig.u, s->k) &&
	       sr_equal(s->square[1], one, sizeof one) ? 0 : -EBADMSG;
}

static inline int sr_row_drain(struct sr_sign_rig *r, uint32_t at)
{
	int ret = 0;

	for (uint32_t i = 0; i < sr_sign_refill_slots(at) && ret == 0; i++)
		ret = sr_pool_take(r->refills[at], &r->secret->presig);
	return ret;
}

/* ---- checks ---- */

static inline int sr_row_ecdsa_check(struct sr_sign_rig *r)
{
	unsigned char digest[SR_HASH_BYTES];
	int ret = sr_verify_sha256(digest, r->message, sizeof r->message);

	if (ret == 0)
		ret = sr_verify_ecdsa(r->verifier, r->pubkey, sizeof r->pubkey, digest,
				      r->result.sig, 64, SR_VERIFY_LOW_S);
	return ret;
}

static inline int sr_row_k256_check(struct sr_sign_rig *r)
{
	unsigned char digest[SR_HASH_BYTES];
	int ret = sr_verify_sha256(digest, r->message, sizeof r->message);

	if (ret == 0) /* whether s is low is k256's own affair */
		ret = sr_verify_ecdsa(r->verifier, r->pubkey, sizeof r->pubkey, digest,
				      r->result.sig, 64, 0);
	return ret;
}

static inline int sr_row_bare_check(struct sr_sign_rig *r)
{
	(void)secp256k1_ecdsa_signature_serialize_compact(r->bare, r->result.sig, &r->bare_sig);
	return sr_row_ecdsa_check(r);
}

static inline int sr_row_openssl_check(struct sr_sign_rig *r)
{
	unsigned char digest[SR_HASH_BYTES];
	int ret = sr_verify_sha256(digest, r->message, sizeof r->message);

	if (ret == 0)
		ret = sr_verify_ecdsa_der(r->verifier, r->pubkey, sizeof r->pubkey, digest,
					  r->result.sig, r->result.sig_bytes, 0);
	return ret;
}

static inline int sr_row_work_check(struct sr_sign_rig *r)
{
	memcpy(r->result.sig, r->secret->work.sig, 64);
	return sr_row_ecdsa_check(r);
}

static inline int sr_row_core_check(struct sr_sign_rig *r)
{
	memcpy(r->result.sig, r->reply + SR_CMP_BODY + SR_REP_SIG, 64);
	return sr_row_ecdsa_check(r);
}

static inline int sr_row_schnorr_check(struct sr_sign_rig *r)
{
	return sr_verify_bip340(r->verifier, r->pubkey + 1, r->message, sizeof r->message,
				r->result.sig);
}

static inline int sr_row_bip340_check(struct sr_sign_rig *r)
{
	memcpy(r->result.sig, r->secret->work.sig, 64);
	return sr_row_schnorr_check(r);
}

static inline int sr_row_sha_check(struct sr_sign_rig *r)
{
	unsigned char digest[SR_HASH_BYTES];
	int ret = sr_verify_sha256(digest, r->message, sizeof r->message);

	return ret < 0 ? ret : memcmp(digest, r->result.digest, sizeof digest) ? -EBADMSG : 0;
}

static inline int sr_row_keccak_check(struct sr_sign_rig *r)
{
	unsigned char digest[SR_HASH_BYTES];

	sr_verify_keccak256(digest, r->message, sizeof r->message);
	return memcmp(digest, r->result.digest, sizeof digest) ? -EBADMSG : 0;
}

/* ---- the table ---- */

/* As many in a sample as a refill makes: what comes by the millisecond, a tick or an
 * interrupt, falls into both alike. */
static inline int sr_row_bases(struct sr_sign_rig *r, uint32_t at)
{
	int ret = 0;

	for (uint32_t i = 0; i < sr_sign_refill_slots(at) && ret == 0; i++) {
		(void)sr_row_next_k(r);
		ret = sr_row_base_mul(r);
	}
	return ret;
}

#define SR_ROW_REFILL_OF(number)                                             \
	static inline int sr_row_refill_##number(struct sr_sign_rig *r)      \
	{                                                                    \
		return sr_pool_fill(r->refills[number]);                     \
	}                                                                    \
	static inline int sr_row_drain_##number(struct sr_sign_rig *r)       \
	{                                                                    \
		return sr_row_drain(r, number);                              \
	}
SR_ROW_REFILL_OF(0)
SR_ROW_REFILL_OF(1)
SR_ROW_REFILL_OF(2)
SR_ROW_REFILL_OF(3)

#define SR_ROW_BASES_OF(number)                                              \
	static inline int sr_row_bases_##number(struct sr_sign_rig *r)       \
	{                                                                    \
		return sr_row_bases(r, number);                              \
	}
SR_ROW_BASES_OF(1) /* the batches of 2 are as many together as those of 16 */
SR_ROW_BASES_OF(2)
SR_ROW_BASES_OF(3)

static const struct sr_sign_row sr_sign_rows[SR_SIGN_ROWS] = {
	[SR_ROW_CLOCK] = { "clock", "the clock: two readings, nothing between",
		sr_row_clock, NULL, NULL, NULL },
	[SR_ROW_RFC6979] = { "seed_loop", "SHA-256 of 256 B + RFC 6979 by us (the seed's loop)",
		sr_row_rfc6979, NULL, NULL, sr_row_ecdsa_check },
	[SR_ROW_HEDGED] = { "hedged", "SHA-256 of 256 B + hedged nonce by us",
		sr_row_hedged, NULL, NULL, sr_row_ecdsa_check },
	[SR_ROW_BARE] = { "bare", "SHA-256 of 256 B + bare libsecp256k1",
		sr_row_bare, NULL, NULL, sr_row_bare_check },
	[SR_ROW_BARE_SIGN] = { "bare_sign", "bare libsecp256k1 on a digest",
		sr_row_bare_sign, NULL, sr_row_digest, sr_row_bare_check },
	[SR_ROW_OPENSSL] = { "openssl", "EVP_DigestSign of 256 B, OpenSSL's secp256k1",
		sr_row_openssl, NULL, NULL, sr_row_openssl_check },
	[SR_ROW_K256] = { "k256", "SigningKey::sign of 256 B, RustCrypto k256",
		sr_row_k256, NULL, NULL, sr_row_k256_check },
	[SR_ROW_FINISH] = { "finish", "presigned, finish on a digest, without the check",
		sr_row_finish, sr_row_fill, sr_row_take, sr_row_work_check },
	[SR_ROW_CHECKED] = { "finish_checked", "presigned, finish on a digest, checked, wiped",
		sr_row_checked, sr_row_fill, sr_row_take, sr_row_work_check },
	[SR_ROW_PRESIGNED] = { "presigned", "SHA-256 of 256 B + take + checked finish",
		sr_row_presigned, sr_row_fill, NULL, sr_row_work_check },
	[SR_ROW_CORE] = { "core", "sr_core, presigned, in-process: a record in and out",
		sr_row_core, sr_row_core_fill, sr_row_core_prepare, sr_row_core_check },
	[SR_ROW_SCHNORR] = { "schnorr", "BIP-340 of 256 B, libsecp256k1's schnorrsig",
		sr_row_schnorr, NULL, NULL, sr_row_schnorr_check },
	[SR_ROW_PRESIGNED_BIP340] = { "presigned_bip340", "BIP-340 of 256 B, take + checked finish",
		sr_row_presigned_bip340, sr_row_fill, NULL, sr_row_bip340_check },
	[SR_ROW_SHA_DIGEST] = { "sha256_evp", "SHA-256 of 256 B: EVP_Digest(EVP_sha256())",
		sr_row_sha_digest, NULL, NULL, sr_row_sha_check },
	[SR_ROW_SHA_FETCHED] = { "sha256_fetched", "SHA-256: EVP, fetched once, context reused",
		sr_row_sha_fetched, NULL, NULL, sr_row_sha_check },
	[SR_ROW_SHA_ONESHOT] = { "sha256_oneshot", "SHA-256: SHA256()",
		sr_row_sha_oneshot, NULL, NULL, sr_row_sha_check },
	[SR_ROW_SHA_OURS] = { "sha256", "SHA-256: sr_sha256(), the low-level calls",
		sr_row_sha_ours, NULL, NULL, sr_row_sha_check },
	[SR_ROW_KECCAK] = { "keccak256", "Keccak-256 of 256 B: sr_keccak256()",
		sr_row_keccak, NULL, NULL, sr_row_keccak_check },
	[SR_ROW_SHA3] = { "sha3_256", "SHA3-256: OpenSSL, fetched (the same permutation)",
		sr_row_sha3, NULL, NULL, NULL },
	[SR_ROW_BASE_MUL] = { "base_mul", "k*G alone",
		sr_row_base_mul, NULL, sr_row_next_k, NULL },
	[SR_ROW_SINGLE] = { "refill_1", "a presignature by itself: k*G and an inversion",
		sr_row_single, NULL, sr_row_next_k, sr_row_single_check },
	[SR_ROW_BASES] = { "base_mul_16", "k*G, one of 16 in a row",
		sr_row_bases_1, NULL, NULL, NULL },
	[SR_ROW_BASES + 1] = { "base_mul_64", "k*G, one of 64 in a row",
		sr_row_bases_2, NULL, NULL, NULL },
	[SR_ROW_BASES + 2] = { "base_mul_256", "k*G, one of 256 in a row",
		sr_row_bases_3, NULL, NULL, NULL },
	[SR_ROW_REFILL] = { "refill_2", "refill, a presignature, batches of 2",
		sr_row_refill_0, sr_row_refill_0, sr_row_drain_0, NULL },
	[SR_ROW_REFILL + 1] = { "refill_16", "refill, a presignature, batches of 16",
		sr_row_refill_1, sr_row_refill_1, sr_row_drain_1, NULL },
	[SR_ROW_REFILL + 2] = { "refill_64", "refill, a presignature, batches of 64",
		sr_row_refill_2, sr_row_refill_2, sr_row_drain_2, NULL },
	[SR_ROW_REFILL + 3] = { "refill_256", "refill, a presignature, batches of 256",
		sr_row_refill_3, sr_row_refill_3, sr_row_drain_3, NULL },
};

/* Presignatures, or points, that one call makes: its time is divided by that. */
static inline uint32_t sr_sign_row_units(uint32_t at)
{
	if (at >= SR_ROW_BASES && at < SR_ROW_BASES_END)
		return sr_sign_refill_slots(at - SR_ROW_BASES + 1);
	return at >= SR_ROW_REFILL ? sr_sign_refill_slots(at - SR_ROW_REFILL) : 1;
}

#endif /* SR_SIGN_ROWS_H */
