/* SPDX-License-Identifier: MIT */
#include "sr_noise.h"

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/params.h>

#include "sr_aead.h"
#include "sr_ct.h"
#include "sr_secret.h"

#define KEY SR_NOISE_KEY_BYTES
#define TAG SR_AEAD_TAG_BYTES
#define LABEL_MAX 63u
#define CONTEXT_MAX 64u

/* ---- the patterns: Noise sections 7.4, 7.5 and 9.4 ---- */

enum token { END, E, S, EE, ES, SE, SS, PSK };

#define MESSAGES_MAX 2u
#define TOKENS_MAX 5u

struct pattern {
	const char *name;
	uint8_t messages;
	bool psk; /* then MixKey(e.public_key) too, section 9.2 */
	uint8_t tokens[MESSAGES_MAX][TOKENS_MAX];
};

/* Each has the pre-message <- s, and a first message that makes a key before it
 * encrypts: CipherState's case of no key never arises. */
static const struct pattern patterns[] = {
	[SR_NOISE_IK] = { "Noise_IK_25519_AESGCM_SHA256", 2, false,
			  { { E, ES, S, SS }, { E, EE, SE } } },
	[SR_NOISE_IKPSK2] = { "Noise_IKpsk2_25519_AESGCM_SHA256", 2, true,
			      { { E, ES, S, SS }, { E, EE, SE, PSK } } },
	[SR_NOISE_X] = { "Noise_X_25519_AESGCM_SHA256", 1, false, { { E, ES, S, SS } } },
};

SR_STATIC_ASSERT(sizeof("Noise_IKpsk2_25519_AESGCM_SHA256") - 1 <= KEY,
		 "the longest name is no longer than a hash");

/* The longest first message; with it, every payload that is allowed fits. */
SR_STATIC_ASSERT(SR_NOISE_PAYLOAD_MAX + KEY + KEY + TAG + TAG <= SR_NOISE_MESSAGE_MAX,
		 "a payload fits in a message");

static const uint8_t *tokens_of(const struct sr_noise *noise)
{
	return patterns[noise->pattern].tokens[noise->messages_done];
}

/* Bytes of the next message besides its payload. */
static size_t overhead_bytes(const struct sr_noise *noise)
{
	const uint8_t *token = tokens_of(noise);
	size_t bytes = TAG;

	for (uint32_t i = 0; i < TOKENS_MAX; i++) {
		if (token[i] == E)
			bytes += KEY;
		if (token[i] == S)
			bytes += KEY + TAG;
	}
	return bytes;
}

/* ---- functions of section 4 ---- */

/* A key of OpenSSL's from bytes. The public half is given with the secret one,
 * or OpenSSL computes it again, for as much time as the exchange itself takes. */
static EVP_PKEY *pkey_of(const unsigned char *secret, const unsigned char *pub)
{
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, "X25519", NULL);
	EVP_PKEY *pkey = NULL;
	OSSL_PARAM params[3], *p = params;
	union {
		const unsigned char *in;
		unsigned char *out;
	} key; /* OSSL_PARAM has no pointer to const */

	key.in = pub;
	*p++ = OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, key.out, KEY);
	key.in = secret;
	if (secret)
		*p++ = OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PRIV_KEY, key.out, KEY);
	*p = OSSL_PARAM_construct_end();

	if (!ctx || EVP_PKEY_fromdata_init(ctx) != 1 ||
	    EVP_PKEY_fromdata(ctx, &pkey, secret ? EVP_PKEY_KEYPAIR : EVP_PKEY_PUBLIC_KEY,
			      params) != 1)
		pkey = NULL;
	EVP_PKEY_CTX_free(ctx);
	return pkey;
}

/*
 * DH(), section 4.1. OpenSSL refuses an all-zero result (RFC 7748, section 6.1),
 * which is how a public key of small order shows; Noise (section 12.1) leaves it
 * to us, and we refuse. tests/test_noise.c holds the library to it.
 */
static int dh(unsigned char shared[KEY], const struct sr_noise_pair *own,
	      const unsigned char peer[KEY])
{
	EVP_PKEY *secret = pkey_of(own->secret, own->pub);
	EVP_PKEY *pub = pkey_of(NULL, peer);
	EVP_PKEY_CTX *ctx = NULL;
	size_t bytes = KEY;
	int ret = -EIO;

	if (!secret || !pub)
		goto out;
	ctx = EVP_PKEY_CTX_new_from_pkey(NULL, secret, NULL);
	if (!ctx || EVP_PKEY_derive_init(ctx) != 1 || EVP_PKEY_derive_set_peer(ctx, pub) != 1)
		goto out;
	ret = EVP_PKEY_derive(ctx, shared, &bytes) == 1 && bytes == KEY ? 0 : -EBADMSG;
out:
	EVP_PKEY_CTX_free(ctx);
	EVP_PKEY_free(pub);
	EVP_PKEY_free(secret);
	return ret;
}

static bool hmac(unsigned char out[KEY], const unsigned char key[KEY], const unsigned char *data,
		 size_t bytes)
{
	unsigned int done;

	return HMAC(EVP_sha256(), key, (int)KEY, data, bytes, out, &done) && done == KEY;
}

/* HKDF(), section 4.3, of ck and @ikm: @outputs times 32 bytes in noise->out. */
static bool hkdf(struct sr_noise *noise, const unsigned char *ikm, size_t bytes, uint8_t outputs)
{
	static const unsigned char one = 1;
	bool good = hmac(noise->temp, noise->ck, ikm, bytes) &&
		    hmac(noise->out[0], noise->temp, &one, 1);

	for (uint8_t i = 1; i < outputs && good; i++) {
		noise->out[i - 1][KEY] = (unsigned char)(i + 1);
		good = hmac(noise->out[i], noise->temp, noise->out[i - 1], KEY + 1);
	}
	sr_wipe(noise->temp, sizeof noise->temp);
	return good;
}

/* ---- SymmetricState and CipherState, sections 5.1 and 5.2 ---- */

static bool mix_hash(struct sr_noise *noise, const void *data, size_t bytes)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	bool good = ctx && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) == 1 &&
		    EVP_DigestUpdate(ctx, noise->h, KEY) == 1 &&
		    EVP_DigestUpdate(ctx, data, bytes) == 1 &&
		    EVP_DigestFinal_ex(ctx, noise->h, NULL) == 1;

	EVP_MD_CTX_free(ctx);
	return good;
}

static void initialize_key(struct sr_noise *noise, const unsigned char k[KEY])
{
	memcpy(noise->k, k, KEY);
	noise->n = 0;
}

static int mix_key(struct sr_noise *noise, const unsigned char ikm[KEY])
{
	if (!hkdf(noise, ikm, KEY, 2))
		return -EIO;
	memcpy(noise->ck, noise->out[0], KEY);
	initialize_key(noise, noise->out[1]);
	return 0;
}

static int mix_key_and_hash(struct sr_noise *noise, const unsigned char ikm[KEY])
{
	if (!hkdf(noise, ikm, KEY, 3) || !mix_hash(noise, noise->out[1], KEY))
		return -EIO;
	memcpy(noise->ck, noise->out[0], KEY);
	initialize_key(noise, noise->out[2]);
	return 0;
}

/* @out: @bytes and a tag. */
static int encrypt_and_hash(struct sr_noise *noise, unsigned char *out, const unsigned char *in,
			    size_t bytes)
{
	struct sr_aead aead;
	int ret = sr_aead_init(&aead, SR_AEAD_SEAL, noise->k);

	if (ret)
		return ret;
	ret = sr_aead_seal(&aead, out, out + bytes, noise->n++, noise->h, KEY, in, bytes);
	sr_aead_wipe(&aead);
	if (!ret && !mix_hash(noise, out, bytes + TAG))
		ret = -EIO;
	return ret;
}

/* @in: @bytes and a tag. @out does not overlap it. */
static int decrypt_and_hash(struct sr_noise *noise, unsigned char *out, const unsigned char *in,
			    size_t bytes)
{
	struct sr_aead aead;
	int ret = sr_aead_init(&aead, SR_AEAD_OPEN, noise->k);

	if (ret)
		return ret;
	ret = sr_aead_open(&aead, out, in + bytes, noise->n++, noise->h, KEY, in, bytes);
	sr_aead_wipe(&aead);
	if (!ret && !mix_hash(noise, in, bytes + TAG))
		ret = -EIO;
	return ret;
}

/* ---- HandshakeState, section 5.3 ---- */

int sr_noise_pair_make(struct sr_noise_pair *pair, const unsigned char secret[KEY])
{
	size_t bytes = KEY;
	EVP_PKEY *pkey;
	int ret = -EIO;

	(void)ERR_set_mark();
	pkey = EVP_PKEY_new_raw_private_key_ex(NULL, "X25519", NULL, secret, KEY);
	if (pkey && EVP_PKEY_get_raw_public_key(pkey, pair->pub, &bytes) == 1 && bytes == KEY) {
		memmove(pair->secret, secret, KEY);
		sr_declassify(pair->pub, KEY);
		ret = 0;
	} else {
		sr_wipe(pair, sizeof *pair);
	}
	EVP_PKEY_free(pkey);
	sr_wipe_stack();
	(void)ERR_pop_to_mark();
	return ret;
}

/* h = the protocol's name, padded with zeros: no name here is longer than a hash. */
static int initialize(struct sr_noise *noise, const struct sr_noise_config *config)
{
	const char *name = patterns[noise->pattern].name;

	memcpy(noise->h, name, strlen(name));
	memcpy(noise->ck, noise->h, KEY);
	noise->s = *config->s;
	if (config->rs)
		memcpy(noise->rs, config->rs, KEY);
	noise->has_rs = noise->initiator;
	noise->has_e = config->ephemeral != NULL;
	if (noise->has_e)
		memcpy(noise->e.secret, config->ephemeral, KEY);
	if (!mix_hash(noise, config->prologue, config->prologue_bytes) ||
	    !mix_hash(noise, noise->initiator ? noise->rs : noise->s.pub, KEY))
		return -EIO;
	return 0;
}

int sr_noise_init(struct sr_noise *noise, const struct sr_noise_config *config)
{
	int ret = -EINVAL;

	sr_wipe(noise, sizeof *noise);
	if ((uint32_t)config->pattern > SR_NOISE_X || !config->s ||
	    config->initiator != (config->rs != NULL) ||
	    (!config->ephemeral && (config->initiator || config->pattern != SR_NOISE_X)) ||
	    config->prologue_bytes > SR_NOISE_PROLOGUE_MAX)
		return ret;

	(void)ERR_set_mark();
	noise->pattern = (uint8_t)config->pattern;
	noise->initiator = config->initiator;
	ret = initialize(noise, config);
	if (ret)
		sr_noise_wipe(noise);
	else
		noise->alive = true;
	(void)ERR_pop_to_mark();
	return ret;
}

void sr_noise_wipe(struct sr_noise *noise)
{
	sr_wipe(noise, sizeof *noise);
}

int sr_noise_set_psk(struct sr_noise *noise, const unsigned char psk[KEY])
{
	if (!noise->alive || !patterns[noise->pattern].psk || noise->has_psk)
		return -EINVAL;
	memcpy(noise->psk, psk, KEY);
	noise->has_psk = true;
	return 0;
}

/* The tokens that carry nothing and mean the same to writer and reader. */
static int mix_token(struct sr_noise *noise, enum token token)
{
	const bool initiator = noise->initiator;
	int ret;

	if (token == PSK)
		return mix_key_and_hash(noise, noise->psk);

	/* The first letter is the initiator's key, the second the responder's. */
	if (token == EE)
		ret = dh(noise->shared, &noise->e, noise->re);
	else if (token == SS)
		ret = dh(noise->shared, &noise->s, noise->rs);
	else if ((token == ES) == initiator)
		ret = dh(noise->shared, &noise->e, noise->rs);
	else
		ret = dh(noise->shared, &noise->s, noise->re);
	if (!ret)
		ret = mix_key(noise, noise->shared);
	return ret;
}

static int mix_ephemeral(struct sr_noise *noise, const unsigned char pub[KEY])
{
	if (!mix_hash(noise, pub, KEY))
		return -EIO;
	return patterns[noise->pattern].psk ? mix_key(noise, pub) : 0;
}

/* Writes one message into noise->buffer. */
static int write_tokens(struct sr_noise *noise, const unsigned char *payload, size_t payload_bytes)
{
	const uint8_t *token = tokens_of(noise);
	unsigned char *at = noise->buffer;
	int ret = 0;

	for (uint32_t i = 0; i < TOKENS_MAX && token[i] != END && !ret; i++) {
		switch (token[i]) {
		case E:
			/* Not before: a forged message 1 costs one exchange, not two. */
			ret = sr_noise_pair_make(&noise->e, noise->e.secret);
			memcpy(at, noise->e.pub, KEY);
			at += KEY;
			if (!ret)
				ret = mix_ephemeral(noise, noise->e.pub);
			break;
		case S:
			ret = encrypt_and_hash(noise, at, noise->s.pub, KEY);
			at += KEY + TAG;
			break;
		default:
			ret = mix_token(noise, (enum token)token[i]);
			break;
		}
	}
	return ret ? ret : encrypt_and_hash(noise, at, payload, payload_bytes);
}

/* Reads one message whose length has been judged; the payload to noise->buffer. */
static int read_tokens(struct sr_noise *noise, const unsigned char *message, size_t payload_bytes)
{
	const uint8_t *token = tokens_of(noise);
	int ret = 0;

	for (uint32_t i = 0; i < TOKENS_MAX && token[i] != END && !ret; i++) {
		switch (token[i]) {
		case E:
			memcpy(noise->re, message, KEY);
			message += KEY;
			ret = mix_ephemeral(noise, noise->re);
			break;
		case S:
			ret = decrypt_and_hash(noise, noise->rs, message, KEY);
			noise->has_rs = true;
			message += KEY + TAG;
			break;
		default:
			ret = mix_token(noise, (enum token)token[i]);
			break;
		}
	}
	return ret ? ret : decrypt_and_hash(noise, noise->buffer, message, payload_bytes);
}

/* Is it our turn to write (or to read), and do we have what it takes? */
static int judge_turn(const struct sr_noise *noise, bool writing)
{
	const struct pattern *pattern = &patterns[noise->pattern];
	bool initiators_turn = noise->messages_done % 2 == 0;

	if (!noise->alive || noise->messages_done == pattern->messages ||
	    (noise->initiator == initiators_turn) != writing)
		return -EINVAL;
	if (pattern->psk && noise->messages_done + 1 == pattern->messages && !noise->has_psk)
		return -EINVAL;
	return writing && !noise->has_e ? -EINVAL : 0;
}

/* What was in reach of a message is wiped behind it. */
static int end_message(struct sr_noise *noise, int ret)
{
	noise->messages_done++;
	sr_wipe(noise->buffer, sizeof noise->buffer);
	sr_wipe(noise->out, sizeof noise->out);
	sr_wipe(noise->shared, sizeof noise->shared);
	sr_wipe_stack();
	if (ret)
		sr_noise_wipe(noise);
	return ret;
}

int sr_noise_write(struct sr_noise *noise, unsigned char *message, size_t *message_bytes,
		   size_t message_room, const unsigned char *payload, size_t payload_bytes)
{
	int ret = judge_turn(noise, true);
	size_t bytes = 0;

	(void)ERR_set_mark();
	if (!ret) {
		bytes = overhead_bytes(noise) + payload_bytes;
		ret = payload_bytes > SR_NOISE_PAYLOAD_MAX || bytes > message_room ? -EMSGSIZE : 0;
	}
	if (!ret)
		ret = write_tokens(noise, payload, payload_bytes);
	if (!ret) {
		memcpy(message, noise->buffer, bytes);
		*message_bytes = bytes;
	}
	(void)ERR_pop_to_mark();
	return end_message(noise, ret);
}

int sr_noise_read(struct sr_noise *noise, unsigned char *payload, size_t *payload_bytes,
		  size_t payload_room, const unsigned char *message, size_t message_bytes)
{
	int ret = judge_turn(noise, false);
	size_t bytes = 0;

	(void)ERR_set_mark();
	if (!ret && message_bytes < overhead_bytes(noise))
		ret = -EMSGSIZE;
	if (!ret) {
		bytes = message_bytes - overhead_bytes(noise);
		ret = bytes > SR_NOISE_PAYLOAD_MAX || bytes > payload_room ? -EMSGSIZE : 0;
	}
	if (!ret)
		ret = read_tokens(noise, message, bytes);
	if (!ret) {
		if (bytes)
			memcpy(payload, noise->buffer, bytes);
		*payload_bytes = bytes;
	}
	(void)ERR_pop_to_mark();
	return end_message(noise, ret);
}

int sr_noise_peer(const struct sr_noise *noise, unsigned char peer[KEY])
{
	if (!noise->alive)
		return -EINVAL;
	if (!noise->has_rs)
		return -EAGAIN;
	memcpy(peer, noise->rs, KEY);
	return 0;
}

int sr_noise_finish(struct sr_noise *noise, struct sr_noise_keys *keys)
{
	static const unsigned char zerolen[1];
	int ret = -EINVAL;

	(void)ERR_set_mark();
	if (!noise->alive || noise->messages_done != patterns[noise->pattern].messages)
		goto wipe;

	ret = -EIO;
	if (!hkdf(noise, zerolen, 0, 2))
		goto wipe;

	ret = 0;
	sr_wipe(keys, sizeof *keys);
	/* One way only: the second key is for nothing, section 7.4. */
	if (noise->initiator || noise->pattern != SR_NOISE_X)
		memcpy(keys->send, noise->out[noise->initiator ? 0 : 1], KEY);
	if (!noise->initiator || noise->pattern != SR_NOISE_X)
		memcpy(keys->receive, noise->out[noise->initiator ? 1 : 0], KEY);
	memcpy(keys->ck, noise->ck, KEY);
	memcpy(keys->h, noise->h, KEY);
	memcpy(keys->rs, noise->rs, KEY);
wipe:
	sr_noise_wipe(noise);
	sr_wipe_stack();
	(void)ERR_pop_to_mark();
	return ret;
}

int sr_noise_export(const struct sr_noise_keys *keys, unsigned char out[KEY], const char *label,
		    const void *context, size_t context_bytes)
{
	unsigned char info[LABEL_MAX + 1 + CONTEXT_MAX + 1];
	size_t bytes = strnlen(label, LABEL_MAX + 1);
	int ret = -EIO;

	if (bytes == 0 || bytes > LABEL_MAX || context_bytes > CONTEXT_MAX)
		return -EINVAL;

	/* The zero byte ends the label: no label and context read as another's. */
	memcpy(info, label, bytes);
	info[bytes++] = 0;
	if (context_bytes)
		memcpy(info + bytes, context, context_bytes);
	bytes += context_bytes;
	info[bytes++] = 1;

	(void)ERR_set_mark();
	if (hmac(out, keys->h, keys->ck, KEY) && hmac(out, out, info, bytes))
		ret = 0;
	else
		sr_wipe(out, KEY);
	sr_wipe_stack();
	(void)ERR_pop_to_mark();
	return ret;
}
