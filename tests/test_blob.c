/* SPDX-License-Identifier: MIT */
/* Sealed keys: who opens one, and what is not one. */
#include "session_rig.h"

#include "sr_blob.h"
#include "sr_curve.h"
#include "sr_secret.h"

/* In protected memory. */
struct secrets {
	struct sr_noise_pair recipient, sender, other;
	unsigned char ephemeral[SR_NOISE_KEY_BYTES];
	unsigned char key[SR_BLOB_SECRET_BYTES];
	unsigned char got[SR_BLOB_SECRET_BYTES];
};

static struct secrets *secrets;
static struct sr_curve *curve;
static struct sr_blob_info info;
static unsigned char blob[SR_BLOB_BYTES];

static int pubkey_of(const void *arg, unsigned char pubkey[SR_BLOB_PUBKEY_BYTES],
		     const unsigned char secret[SR_BLOB_SECRET_BYTES])
{
	return sr_curve_pubkey(arg, pubkey, NULL, secret);
}

/* A curve on which everything is the public key of everything. */
static int pubkey_any(const void *arg, unsigned char pubkey[SR_BLOB_PUBKEY_BYTES],
		      const unsigned char secret[SR_BLOB_SECRET_BYTES])
{
	(void)secret;
	memcpy(pubkey, arg, SR_BLOB_PUBKEY_BYTES);
	return 0;
}

/* The same, and says that the secret is no key. */
static int pubkey_none(const void *arg, unsigned char pubkey[SR_BLOB_PUBKEY_BYTES],
		       const unsigned char secret[SR_BLOB_SECRET_BYTES])
{
	(void)pubkey_any(arg, pubkey, secret);
	return -EINVAL;
}

static struct sr_blob_curve secp256k1(void)
{
	return (struct sr_blob_curve){ pubkey_of, curve, NULL };
}

static int seal_with(unsigned char *out, const struct sr_blob_info *what,
		     const unsigned char *recipient, const struct sr_blob_curve *by)
{
	const struct sr_blob_seal seal = {
		.info = what,
		.secret = secrets->key,
		.recipient = recipient,
		.sender = &secrets->sender,
		.ephemeral = secrets->ephemeral,
		.curve = by,
	};

	return sr_blob_seal(out, &seal);
}

static int open_as(struct sr_blob_info *what, const struct sr_noise_pair *recipient,
		   const unsigned char *data, size_t bytes)
{
	const struct sr_blob_curve by = secp256k1();
	unsigned char sender[SR_NOISE_KEY_BYTES];
	int ret;

	memset(sender, 0x5a, sizeof sender);
	memset(secrets->got, 0x5a, sizeof secrets->got);
	ret = sr_blob_open(what, secrets->got, sender, data, bytes, recipient, &by);
	for (size_t i = 0; i < sizeof sender && ret; i++)
		cr_assert(sender[i] == 0x5a && secrets->got[i] == 0x5a, "touched on failure");
	if (!ret)
		cr_assert_arr_eq(sender, secrets->sender.pub, sizeof sender);
	return ret;
}

static void begin(void)
{
	static const unsigned char seed[32] = { 5 };
	struct sr_blob_curve by;

	secrets = rig_secret(sizeof *secrets);
	memset(secrets->recipient.secret, 1, SR_NOISE_KEY_BYTES);
	memset(secrets->sender.secret, 2, SR_NOISE_KEY_BYTES);
	memset(secrets->other.secret, 3, SR_NOISE_KEY_BYTES);
	memset(secrets->ephemeral, 4, SR_NOISE_KEY_BYTES);
	memset(secrets->key, 0x2a, SR_BLOB_SECRET_BYTES);
	cr_assert_eq(sr_noise_pair_make(&secrets->recipient, secrets->recipient.secret), 0);
	cr_assert_eq(sr_noise_pair_make(&secrets->sender, secrets->sender.secret), 0);
	cr_assert_eq(sr_noise_pair_make(&secrets->other, secrets->other.secret), 0);
	cr_assert_eq(sr_curve_new(&curve, seed), 0);
	info.id = UINT32_MAX;
	cr_assert_eq(sr_curve_pubkey(curve, info.pubkey, NULL, secrets->key), 0);
	by = secp256k1();
	cr_assert_eq(seal_with(blob, &info, secrets->recipient.pub, &by), 0);
}

static void end(void)
{
	sr_curve_delete(curve);
	sr_secret_free(secrets, sizeof *secrets);
}

TestSuite(blob, .init = begin, .fini = end);

Test(blob, recipient_gets_the_key_and_learns_who_sealed_it)
{
	struct sr_blob_info what;

	cr_assert_eq(open_as(&what, &secrets->recipient, blob, sizeof blob), 0);
	cr_assert_arr_eq(secrets->got, secrets->key, sizeof secrets->got);
	cr_assert_eq(what.id, info.id);
	cr_assert_arr_eq(what.pubkey, info.pubkey, sizeof what.pubkey);
}

Test(blob, head_is_the_documented_one_and_may_be_shown)
{
	static const unsigned char head[12] = { 's', 'r', 'b',  'k',  1,    0,
						0,   0,   0xff, 0xff, 0xff, 0xff };
	struct sr_blob_info what;

	cr_assert_arr_eq(blob, head, sizeof head);
	cr_assert_arr_eq(blob + 12, info.pubkey, sizeof info.pubkey);
	cr_assert_eq(sr_blob_peek(&what, blob, sizeof blob), 0);
	cr_assert_eq(what.id, info.id);
}

Test(blob, secret_is_not_in_it)
{
	for (size_t i = 0; i + 4 <= sizeof blob; i++)
		cr_assert_neq(memcmp(blob + i, secrets->key, 4), 0);
}

Test(blob, nobody_else_opens_it)
{
	struct sr_blob_info what;

	cr_assert_eq(open_as(&what, &secrets->other, blob, sizeof blob), -EBADMSG);
	cr_assert_eq(open_as(&what, &secrets->sender, blob, sizeof blob), -EBADMSG,
		     "not even who sealed it");
}

Test(blob, every_flipped_byte_is_refused)
{
	struct sr_blob_info what;

	for (size_t i = 0; i < sizeof blob; i++) {
		static const unsigned char flips[] = { 0x01, 0x80, 0xff };

		for (size_t f = 0; f < sizeof flips; f++) {
			int ret;

			blob[i] ^= flips[f];
			ret = open_as(&what, &secrets->recipient, blob, sizeof blob);
			if (i < 8 || (i >= 45 && i < 48))
				cr_assert_eq(ret, -EPROTO, "byte %zu", i);
			else
				cr_assert_eq(ret, -EBADMSG, "byte %zu: %d", i, ret);
			blob[i] ^= flips[f];
		}
	}
}

Test(blob, every_other_length_is_refused)
{
	unsigned char longer[SR_BLOB_BYTES + 16] = { 0 };
	struct sr_blob_info what;

	memcpy(longer, blob, sizeof blob);
	for (size_t n = 0; n <= sizeof longer; n++)
		if (n != SR_BLOB_BYTES)
			cr_assert_eq(open_as(&what, &secrets->recipient, longer, n), -EMSGSIZE);
}

/* Neither can be exchanged for that of another key of the same owner. */
Test(blob, heads_of_two_blobs_cannot_be_exchanged)
{
	unsigned char other[SR_BLOB_BYTES];
	const struct sr_blob_curve by = secp256k1();
	struct sr_blob_info second = { .id = 8 }, what;

	memset(secrets->key, 0x2b, SR_BLOB_SECRET_BYTES);
	cr_assert_eq(sr_curve_pubkey(curve, second.pubkey, NULL, secrets->key), 0);
	cr_assert_eq(seal_with(other, &second, secrets->recipient.pub, &by), 0);
	memcpy(other, blob, 48);
	cr_assert_eq(open_as(&what, &secrets->recipient, other, sizeof other), -EBADMSG);
	sr_put32(blob + 8, 8);
	cr_assert_eq(open_as(&what, &secrets->recipient, blob, sizeof blob), -EBADMSG);
}

/* Where no memory may be asked for. */
Test(blob, room_of_the_callers_is_used_and_wiped)
{
	struct sr_blob_curve by = secp256k1();
	struct sr_blob_info what;
	unsigned char sender[SR_NOISE_KEY_BYTES];
	const unsigned char *byte;
	void *mem;

	cr_assert_eq(sr_secret_alloc(&mem, sizeof *by.work), 0);
	by.work = mem;
	byte = mem;
	memset(mem, 0x5a, sizeof *by.work);
	cr_assert_eq(seal_with(blob, &info, secrets->recipient.pub, &by), 0);
	for (size_t i = 0; i < sizeof *by.work; i++)
		cr_assert_eq(byte[i], 0, "byte %zu", i);
	memset(mem, 0x5a, sizeof *by.work);
	cr_assert_eq(sr_blob_open(&what, secrets->got, sender, blob, sizeof blob,
				  &secrets->recipient, &by),
		     0);
	cr_assert_eq(what.id, info.id);
	for (size_t i = 0; i < sizeof *by.work; i++)
		cr_assert_eq(byte[i], 0, "byte %zu", i);
	sr_secret_free(mem, sizeof *by.work);
}

/* Somebody who may seal to us lies about the public key. */
Test(blob, public_key_of_another_secret_is_refused)
{
	struct sr_blob_info lie = info, what;
	const struct sr_blob_curve liar = { pubkey_any, lie.pubkey, NULL };

	lie.pubkey[32] ^= 1;
	cr_assert_eq(seal_with(blob, &lie, secrets->recipient.pub, &liar), 0);
	memset(&what, 0x5a, sizeof what);
	cr_assert_eq(open_as(&what, &secrets->recipient, blob, sizeof blob), -EKEYREJECTED);
	cr_assert_eq(what.id, 0x5a5a5a5a);

	memset(secrets->key, 0, sizeof secrets->key);
	cr_assert_eq(seal_with(blob, &lie, secrets->recipient.pub, &liar), 0);
	cr_assert_eq(open_as(&what, &secrets->recipient, blob, sizeof blob), -EKEYREJECTED,
		     "0 is no key");
}

Test(blob, nothing_is_sealed_that_would_restore_nothing)
{
	const struct sr_blob_curve by = secp256k1();
	static const unsigned char zero[SR_NOISE_KEY_BYTES];
	unsigned char out[SR_BLOB_BYTES];
	struct sr_blob_info wrong = info;
	const struct sr_blob_curve no_key = { pubkey_none, info.pubkey, NULL };

	memset(out, 0x5a, sizeof out);
	cr_assert_eq(seal_with(out, &info, secrets->recipient.pub, &no_key), -EKEYREJECTED);
	wrong.pubkey[1] ^= 1;
	cr_assert_eq(seal_with(out, &wrong, secrets->recipient.pub, &by), -EKEYREJECTED);
	wrong = info;
	wrong.id = 0;
	cr_assert_eq(seal_with(out, &wrong, secrets->recipient.pub, &by), -EINVAL);
	cr_assert_eq(seal_with(out, &info, zero, &by), -EBADMSG, "a recipient of small order");
	for (size_t i = 0; i < sizeof out; i++)
		cr_assert_eq(out[i], 0x5a, "touched on failure");
}
