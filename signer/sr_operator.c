/* SPDX-License-Identifier: MIT */
#include "sr_operator.h"

#include <openssl/err.h>
#include <openssl/evp.h>

#include "sr_ct.h"
#include "sr_digits.h"
#include "sr_secret.h"

#define KEY SR_OPERATOR_KEY_BYTES

/* With the zero byte. */
static const char label[] = "sigring operator";

struct message {
	unsigned char data[sizeof label + SR_OPERATOR_PURPOSE_MAX + 1 + SR_HASH_BYTES];
	size_t bytes;
};

static int message_of(struct message *m, const char *purpose,
		      const unsigned char hash[SR_HASH_BYTES])
{
	size_t bytes = strnlen(purpose, SR_OPERATOR_PURPOSE_MAX + 1);

	if (bytes == 0 || bytes > SR_OPERATOR_PURPOSE_MAX)
		return -EINVAL;
	memcpy(m->data, label, sizeof label);
	memcpy(m->data + sizeof label, purpose, bytes + 1);
	memcpy(m->data + sizeof label + bytes + 1, hash, SR_HASH_BYTES);
	m->bytes = sizeof label + bytes + 1 + SR_HASH_BYTES;
	return 0;
}

/*
 * Every encoding of a point whose order divides 8, its sign bit masked: y is 0, 1,
 * the two of order 8, -1, and p and p + 1, which are 0 and 1 again. With such a key
 * S = 0 and R = 0 signs one message in eight, or all of them.
 */
static bool small_order(const unsigned char pub[KEY])
{
	static const unsigned char order8[2][KEY] = {
		{ 0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4,
		  0x89, 0xf2, 0xef, 0x98, 0xf0, 0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6,
		  0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05 },
		{ 0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b,
		  0x76, 0x0d, 0x10, 0x67, 0x0f, 0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39,
		  0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a },
	};
	unsigned char y[KEY], zeros = 0, ones = 0xff;

	memcpy(y, pub, KEY);
	y[KEY - 1] &= 0x7f;
	if (!memcmp(y, order8[0], KEY) || !memcmp(y, order8[1], KEY))
		return true;
	for (uint32_t i = 1; i + 1 < KEY; i++) {
		zeros |= y[i];
		ones &= y[i];
	}
	return (y[0] <= 0x01 && zeros == 0 && y[KEY - 1] == 0) ||
	       (y[0] >= 0xec && y[0] <= 0xee && ones == 0xff && y[KEY - 1] == 0x7f);
}

/* Cuts the next line off; false at the end. */
static bool next_line(const char **line, size_t *line_bytes, const char **text, size_t *bytes)
{
	const char *end;

	if (*bytes == 0)
		return false;
	end = memchr(*text, '\n', *bytes);
	*line = *text;
	*line_bytes = end ? (size_t)(end - *text) : *bytes;
	*text += end ? *line_bytes + 1 : *line_bytes;
	*bytes -= end ? *line_bytes + 1 : *line_bytes;
	return true;
}

static int take_operator(struct sr_operators *operators, const char *line, size_t bytes,
			 unsigned int number, struct sr_reason *why)
{
	unsigned char *pub;

	if (operators->count == SR_OPERATORS_MAX)
		return sr_reason_set(why, -EBADMSG, "line %u: more than %u operators", number,
				     SR_OPERATORS_MAX);
	pub = operators->pub[operators->count];
	if (bytes < 2 * KEY || (bytes > 2 * KEY && line[2 * KEY] != ' ') ||
	    sr_digits_get(pub, line, KEY))
		return sr_reason_set(why, -EBADMSG,
				     "line %u: an operator is 64 hexadecimal digits, lower case, "
				     "then a space and a name if you like",
				     number);
	if (small_order(pub))
		return sr_reason_set(why, -EBADMSG,
				     "line %u: this key is of small order: everybody can sign "
				     "for it",
				     number);
	if (sr_operators_find(operators, pub) >= 0)
		return sr_reason_set(why, -EBADMSG, "line %u: this operator is there already",
				     number);
	operators->count++;
	return 0;
}

int sr_operators_parse(struct sr_operators *operators, uint32_t k, const char *text, size_t bytes,
		       struct sr_reason *why)
{
	struct sr_operators parsed = { .k = k };
	unsigned int number = 0;
	const char *line;
	size_t line_bytes;

	if (bytes > SR_OPERATORS_BYTES_MAX)
		return sr_reason_set(why, -EBADMSG, "a list of operators has at most %u bytes",
				     SR_OPERATORS_BYTES_MAX);
	while (next_line(&line, &line_bytes, &text, &bytes)) {
		int ret;

		number++;
		if (line_bytes == 0 || line[0] == '#')
			continue;
		ret = take_operator(&parsed, line, line_bytes, number, why);
		if (ret)
			return ret;
	}

	if (parsed.count == 0)
		return sr_reason_set(why, -EBADMSG, "the list names no operator");
	if (k == 0 || k > parsed.count)
		return sr_reason_set(why, -EBADMSG, "k is %u, and there are %u operators", k,
				     parsed.count);
	*operators = parsed;
	return 0;
}

int sr_operators_find(const struct sr_operators *operators, const unsigned char pub[KEY])
{
	for (uint32_t i = 0; i < operators->count; i++)
		if (!memcmp(operators->pub[i], pub, KEY))
			return (int)i;
	return -ENOENT;
}

int sr_operators_verify(const struct sr_operators *operators, const char *purpose,
			const unsigned char hash[SR_HASH_BYTES], const struct sr_operator_sig *sigs,
			uint32_t count, struct sr_reason *why)
{
	uint32_t signed_by = 0, good = 0;

	for (uint32_t i = 0; i < count; i++) {
		int index = sr_operators_find(operators, sigs[i].pub);

		if (index < 0)
			continue;
		if (signed_by & (1u << index))
			return sr_reason_set(why, -EEXIST, "operator %d of the list signs twice",
					     index + 1);
		signed_by |= 1u << index;
		if (sr_operator_verify(&sigs[i], purpose, hash))
			return sr_reason_set(why, -EBADMSG,
					     "the signature of operator %d of the list does not "
					     "verify: something was changed after it was made",
					     index + 1);
		good++;
	}
	if (operators->k == 0 || good < operators->k)
		return sr_reason_set(why, -EACCES,
				     "signed by %u of the %u operators, and it takes %u", good,
				     operators->count, operators->k);
	return 0;
}

int sr_operator_verify(const struct sr_operator_sig *sig, const char *purpose,
		       const unsigned char hash[SR_HASH_BYTES])
{
	EVP_MD_CTX *ctx = NULL;
	EVP_PKEY *pkey;
	struct message m;
	int ret = message_of(&m, purpose, hash);

	if (ret)
		return ret;

	(void)ERR_set_mark();
	ret = -EBADMSG;
	pkey = EVP_PKEY_new_raw_public_key_ex(NULL, "ED25519", NULL, sig->pub, KEY);
	ctx = EVP_MD_CTX_new();
	if (pkey && ctx && EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, pkey) == 1 &&
	    EVP_DigestVerify(ctx, sig->sig, sizeof sig->sig, m.data, m.bytes) == 1)
		ret = 0;
	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(pkey);
	(void)ERR_pop_to_mark();
	return ret;
}

int sr_operator_sign(const struct sr_operator_pair *pair, struct sr_operator_sig *sig,
		     const char *purpose, const unsigned char hash[SR_HASH_BYTES])
{
	struct sr_operator_sig out;
	EVP_MD_CTX *ctx = NULL;
	EVP_PKEY *pkey;
	struct message m;
	size_t bytes = sizeof out.sig;
	int ret = message_of(&m, purpose, hash);

	if (ret)
		return ret;

	(void)ERR_set_mark();
	ret = -EIO;
	memcpy(out.pub, pair->pub, KEY);
	pkey = EVP_PKEY_new_raw_private_key_ex(NULL, "ED25519", NULL, pair->secret, KEY);
	ctx = EVP_MD_CTX_new();
	if (pkey && ctx && EVP_DigestSignInit(ctx, NULL, NULL, NULL, pkey) == 1 &&
	    EVP_DigestSign(ctx, out.sig, &bytes, m.data, m.bytes) == 1 && bytes == sizeof out.sig) {
		sr_declassify(out.sig, sizeof out.sig);
		/* One bit that flips while it is computed makes a signature from
		 * which the secret follows. */
		ret = sr_operator_verify(&out, purpose, hash) ? -EIO : 0;
	}
	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(pkey);
	sr_wipe_stack();
	(void)ERR_pop_to_mark();
	if (!ret)
		*sig = out;
	return ret;
}

int sr_operator_pair_make(struct sr_operator_pair *pair, const unsigned char secret[KEY])
{
	size_t bytes = KEY;
	EVP_PKEY *pkey;
	int ret = -EIO;

	(void)ERR_set_mark();
	pkey = EVP_PKEY_new_raw_private_key_ex(NULL, "ED25519", NULL, secret, KEY);
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
