/* SPDX-License-Identifier: MIT */
#include "sr_pairfile.h"

#include "sr_digits.h"
#include "sr_keyfile.h"
#include "sr_noise.h"
#include "sr_operator.h"
#include "sr_private_file.h"
#include "sr_secret.h"

#define KEY SR_PAIRFILE_KEY_BYTES

SR_STATIC_ASSERT(KEY == SR_SECKEY_BYTES && KEY == SR_NOISE_KEY_BYTES &&
			 KEY == SR_OPERATOR_KEY_BYTES,
		 "all secrets have one size");

static const char *const magic[] = {
	[SR_PAIRFILE_OPERATOR] = "sigring-operator 1\n",
	[SR_PAIRFILE_IDENTITY] = "sigring-identity 1\n",
};

SR_STATIC_ASSERT(sizeof "sigring-operator 1\n" == sizeof "sigring-identity 1\n",
		 "each line stands at one place");

enum {
	MAGIC_BYTES = sizeof "sigring-operator 1\n" - 1,
	WORD_BYTES = sizeof "public " - 1,
	AT_PUBLIC = MAGIC_BYTES + WORD_BYTES,
	AT_SECRET = AT_PUBLIC + 2 * KEY + 1 + WORD_BYTES,
	FILE_BYTES = AT_SECRET + 2 * KEY + 1,
};

/* In protected memory. */
struct work {
	char text[SR_PAIRFILE_BYTES_MAX];
	struct sr_pairfile pair;
	union {
		struct sr_operator_pair operator;
		struct sr_noise_pair identity;
	};
};

static int work_begin(struct work **work, struct sr_reason *why)
{
	void *mem;
	int ret = sr_secret_alloc(&mem, sizeof **work);

	if (ret)
		(void)sr_reason_set(why, ret,
				    "no protected memory for the key: raise the memlock limit "
				    "(ulimit -l), or the kernel is older than 4.14");
	else
		*work = mem;
	return ret;
}

static void work_end(struct work *work)
{
	sr_wipe_stack();
	sr_secret_free(work, sizeof *work);
}

/* The public half of @work->pair. */
static int complete(struct work *work, enum sr_pairfile_kind kind, struct sr_reason *why)
{
	const unsigned char *pub = work->identity.pub;
	int ret;

	if (kind == SR_PAIRFILE_OPERATOR) {
		ret = sr_operator_pair_make(&work->operator, work->pair.secret);
		pub = work->operator.pub;
	} else {
		ret = sr_noise_pair_make(&work->identity, work->pair.secret);
	}
	if (ret)
		return sr_reason_set(why, ret, "OpenSSL makes no key: is it out of memory?");
	memcpy(work->pair.pub, pub, KEY);
	return 0;
}

static int parse(struct work *work, enum sr_pairfile_kind kind, size_t bytes, const char *path,
		 struct sr_reason *why)
{
	const char *text = work->text;
	unsigned char pub[KEY];
	int ret;

	if (bytes < MAGIC_BYTES || memcmp(text, magic[kind], MAGIC_BYTES) != 0)
		return sr_reason_set(why, -EBADMSG, "%s: the first line should be: %.*s", path,
				     MAGIC_BYTES - 1, magic[kind]);
	if (bytes != FILE_BYTES || memcmp(text + MAGIC_BYTES, "public ", WORD_BYTES) != 0 ||
	    sr_digits_get(pub, text + AT_PUBLIC, KEY) ||
	    memcmp(text + AT_SECRET - WORD_BYTES - 1, "\nsecret ", WORD_BYTES + 1) != 0 ||
	    sr_unhex_secret(work->pair.secret, text + AT_SECRET) || text[FILE_BYTES - 1] != '\n')
		return sr_reason_set(why, -EBADMSG,
				     "%s: behind its first line should stand two, public and "
				     "secret, of 64 hexadecimal digits, and nothing else",
				     path);
	ret = complete(work, kind, why);
	if (!ret && memcmp(pub, work->pair.pub, KEY) != 0)
		ret = sr_reason_set(why, -EBADMSG, "%s: its public key is not that of its secret",
				    path);
	return ret;
}

int sr_pairfile_load(struct sr_pairfile *pair, enum sr_pairfile_kind kind, const char *path,
		     struct sr_reason *why)
{
	struct work *work;
	size_t bytes;
	int ret = work_begin(&work, why);

	if (ret)
		return ret;
	ret = sr_private_file_read(work->text, &bytes, sizeof work->text, path, why);
	if (!ret)
		ret = parse(work, kind, bytes, path, why);
	if (!ret)
		*pair = work->pair;
	work_end(work);
	return ret;
}

/* 'a' is 39 above where the digits would go on; no table, no branch. */
static void put_secret(char *digits, const unsigned char secret[KEY])
{
	for (uint32_t i = 0; i < 2 * KEY; i++) {
		uint32_t v = i % 2 ? secret[i / 2] & 15u : (uint32_t)secret[i / 2] >> 4;

		digits[i] = (char)('0' + v + (39u & (0u - ((9u - v) >> 31))));
	}
}

static void compose(char *text, enum sr_pairfile_kind kind, const struct sr_pairfile *pair)
{
	memcpy(text, magic[kind], MAGIC_BYTES);
	memcpy(text + MAGIC_BYTES, "public ", WORD_BYTES);
	sr_digits_put(text + AT_PUBLIC, pair->pub, KEY);
	memcpy(text + AT_SECRET - WORD_BYTES - 1, "\nsecret ", WORD_BYTES + 1);
	put_secret(text + AT_SECRET, pair->secret);
	text[FILE_BYTES - 1] = '\n';
}

int sr_pairfile_new(struct sr_pairfile *pair, enum sr_pairfile_kind kind,
		    const unsigned char secret[KEY], const char *path, struct sr_reason *why)
{
	struct work *work;
	int ret = work_begin(&work, why);

	if (!ret) {
		memcpy(work->pair.secret, secret, KEY);
		ret = complete(work, kind, why);
		if (!ret) {
			compose(work->text, kind, &work->pair);
			ret = sr_private_file_make(path, work->text, FILE_BYTES, why);
		}
		*pair = work->pair;
		work_end(work);
	}
	if (ret)
		sr_wipe(pair, sizeof *pair);
	return ret;
}
