/* SPDX-License-Identifier: MIT */
#include "sr_curve.h"

#include <secp256k1.h>
#include <secp256k1_extrakeys.h>
#include <secp256k1_preallocated.h>
#include <secp256k1_recovery.h>
#include <secp256k1_schnorrsig.h>
#include <stdlib.h>

#include "sr_ct.h"
#include "sr_hash.h"
#include "sr_secret.h"

struct sr_curve {
	secp256k1_context *ctx; /* in protected memory: it holds the blinding */
	size_t ctx_bytes;
};

/* Our arguments are never illegal; were they, the call's 0 is enough for us and
 * a library must not print. */
static void keep_quiet(const char *text, void *data)
{
	(void)text;
	(void)data;
}

int sr_curve_new(struct sr_curve **curve, const unsigned char seed[32])
{
	struct sr_curve *c = calloc(1, sizeof *c);
	void *mem;
	int ret;

	if (!c)
		return -ENOMEM;

	c->ctx_bytes = secp256k1_context_preallocated_size(SECP256K1_CONTEXT_NONE);
	ret = sr_secret_alloc(&mem, c->ctx_bytes);
	if (ret)
		goto free_curve;

	ret = -EIO;
	c->ctx = secp256k1_context_preallocated_create(mem, SECP256K1_CONTEXT_NONE);
	if (!c->ctx)
		goto free_mem;
	secp256k1_context_set_illegal_callback(c->ctx, keep_quiet, NULL);
	if (!secp256k1_context_randomize(c->ctx, seed))
		goto free_mem;

	*curve = c;
	return 0;
free_mem:
	sr_secret_free(mem, c->ctx_bytes);
free_curve:
	free(c);
	return ret;
}

void sr_curve_delete(struct sr_curve *curve)
{
	if (!curve)
		return;

	secp256k1_context_preallocated_destroy(curve->ctx);
	sr_secret_free(curve->ctx, curve->ctx_bytes);
	free(curve);
}

static void address_of(const struct sr_curve *curve, unsigned char address[20],
		       const secp256k1_pubkey *point)
{
	unsigned char whole[65], digest[SR_HASH_BYTES];
	size_t bytes = sizeof whole;

	(void)secp256k1_ec_pubkey_serialize(curve->ctx, whole, &bytes, point,
					    SECP256K1_EC_UNCOMPRESSED);
	sr_keccak256(digest, whole + 1, sizeof whole - 1);
	memcpy(address, digest + 12, 20);
}

int sr_curve_pubkey(const struct sr_curve *curve, unsigned char pubkey[SR_PUBKEY_BYTES],
		    unsigned char address[20], const unsigned char seckey[SR_SECKEY_BYTES])
{
	secp256k1_pubkey point;
	size_t bytes = SR_PUBKEY_BYTES;
	int valid = secp256k1_ec_pubkey_create(curve->ctx, &point, seckey);

	sr_declassify(&valid, sizeof valid);
	if (!valid)
		return -EINVAL;

	/* Serialising branches on the point, which is public from here on. */
	sr_declassify(&point, sizeof point);
	(void)secp256k1_ec_pubkey_serialize(curve->ctx, pubkey, &bytes, &point,
					    SECP256K1_EC_COMPRESSED);
	if (address)
		address_of(curve, address, &point);
	return 0;
}

int sr_ecdsa_sign(const struct sr_curve *curve, unsigned char sig[64], uint8_t *recid,
		  const unsigned char digest[32], const unsigned char seckey[SR_SECKEY_BYTES],
		  const unsigned char extra[32])
{
	secp256k1_ecdsa_recoverable_signature made;
	int id, valid;

	valid = secp256k1_ecdsa_sign_recoverable(curve->ctx, &made, digest, seckey, NULL, extra);
	sr_declassify(&valid, sizeof valid);
	if (!valid)
		return -EINVAL;

	sr_declassify(&made, sizeof made);
	(void)secp256k1_ecdsa_recoverable_signature_serialize_compact(curve->ctx, sig, &id, &made);
	*recid = (uint8_t)id;
	return 0;
}

int sr_ecdsa_verify(const struct sr_curve *curve, const unsigned char sig[64],
		    const unsigned char digest[32], const unsigned char pubkey[SR_PUBKEY_BYTES])
{
	secp256k1_ecdsa_signature parsed;
	secp256k1_pubkey point;

	if (!secp256k1_ec_pubkey_parse(curve->ctx, &point, pubkey, SR_PUBKEY_BYTES))
		return -EINVAL;
	if (!secp256k1_ecdsa_signature_parse_compact(curve->ctx, &parsed, sig))
		return -EBADMSG;

	/* The library's verify refuses a high s by itself. */
	return secp256k1_ecdsa_verify(curve->ctx, &parsed, digest, &point) ? 0 : -EBADMSG;
}

int sr_bip340_sign(const struct sr_curve *curve, unsigned char sig[64], const void *message,
		   size_t bytes, const unsigned char seckey[SR_SECKEY_BYTES],
		   const unsigned char aux[32])
{
	secp256k1_schnorrsig_extraparams extra = SECP256K1_SCHNORRSIG_EXTRAPARAMS_INIT;
	unsigned char made[64];
	secp256k1_keypair pair;
	int valid;

	extra.ndata = (void *)(uintptr_t)aux; /* not const there, but only read */

	valid = secp256k1_keypair_create(curve->ctx, &pair, seckey);
	/* The half behind the secret is the public key, and is treated as such. */
	sr_declassify(pair.data + SR_SECKEY_BYTES, sizeof pair.data - SR_SECKEY_BYTES);
	valid &= secp256k1_schnorrsig_sign_custom(curve->ctx, made, message, bytes, &pair, &extra);
	sr_wipe(&pair, sizeof pair);

	sr_declassify(&valid, sizeof valid);
	if (!valid)
		return -EINVAL;

	sr_declassify(made, sizeof made);
	memcpy(sig, made, sizeof made);
	return 0;
}

int sr_bip340_verify(const struct sr_curve *curve, const unsigned char sig[64], const void *message,
		     size_t bytes, const unsigned char pubkey[SR_PUBKEY_BYTES])
{
	secp256k1_xonly_pubkey point;

	if (!secp256k1_xonly_pubkey_parse(curve->ctx, &point, pubkey + 1))
		return -EINVAL;
	return secp256k1_schnorrsig_verify(curve->ctx, sig, message, bytes, &point) ? 0 : -EBADMSG;
}
