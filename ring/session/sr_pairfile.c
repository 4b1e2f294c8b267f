/* SPDX-License-Identifier: MIT */
#include "sr_pairfile.h"

#include "sr_assert.h"
#include "sr_digits.h"
#include "sr_hex.h"
#include "sr_noise.h"
#include "sr_private_file.h"
#include "sr_secret.h"

#define KEY SR_PAIRFILE_KEY_BYTES
#define DIGITS (2u * KEY)

SR_STATIC_ASSERT(KEY == SR_NOISE_KEY_BYTES && KEY == SR_HEX_SECRET_BYTES &&
			 sizeof(struct sr_noise_pair) == SR_PAIRFILE_ROOM_BYTES,
		 "all secrets have one size");

/* What stands behind the first line, which ends at @line. */
#define AT_PUBLIC(line) ((line) + sizeof "public " - 1)
#define AT_SECRET(line) (AT_PUBLIC(line) + DIGITS + sizeof "\nsecret " - 1)
#define FILE_BYTES(line) (AT_SECRET(line) + DIGITS + 1)

SR_STATIC_ASSERT(FILE_BYTES(SR_PAIRFILE_MAGIC_BYTES_MAX + 1) <= SR_PAIRFILE_BYTES_MAX,
		 "a file fits");

/* In protected memory. */
struct work {
	char text[SR_PAIRFILE_BYTES_MAX];
	struct sr_pairfile pair;
	unsigned char room[SR_PAIRFILE_ROOM_BYTES];
};

static int identity_pub(unsigned char *pub, const unsigned char *secret, void *room)
{
	struct sr_noise_pair *pair = room;
	int ret = sr_noise_pair_make(pair, secret);

	if (!ret)
		memcpy(pub, pair->pub, KEY);
	return ret;
}

const struct sr_pairfile_kind sr_pairfile_identity = { "sigring-identity 1", identity_pub };

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
static int complete(struct work *work, const struct sr_pairfile_kind *kind, struct sr_reason *why)
{
	int ret = kind->pub(work->pair.pub, work->pair.secret, work->room);

	return ret ? sr_reason_set(why, ret, "OpenSSL makes no key: is it out of memory?") : 0;
}

static size_t line_bytes(const struct sr_pairfile_kind *kind)
{
	size_t bytes = strlen(kind->magic);

	SR_ASSERT(bytes <= SR_PAIRFILE_MAGIC_BYTES_MAX);
	return bytes + 1;
}

static int parse(struct work *work, const struct sr_pairfile_kind *kind, size_t bytes,
		 const char *path, struct sr_reason *why)
{
	const char *text = work->text;
	size_t line = line_bytes(kind);
	unsigned char pub[KEY];
	int ret;

	if (bytes < line || memcmp(text, kind->magic, line - 1) != 0 || text[line - 1] != '\n')
		return sr_reason_set(why, -EBADMSG, "%s: the first line should be: %s", path,
				     kind->magic);
	if (bytes != FILE_BYTES(line) ||
	    memcmp(text + line, "public ", sizeof "public " - 1) != 0 ||
	    sr_digits_get(pub, text + AT_PUBLIC(line), KEY) ||
	    memcmp(text + AT_PUBLIC(line) + DIGITS, "\nsecret ", sizeof "\nsecret " - 1) != 0 ||
	    sr_unhex_secret(work->pair.secret, text + AT_SECRET(line)) || text[bytes - 1] != '\n')
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

int sr_pairfile_load(struct sr_pairfile *pair, const struct sr_pairfile_kind *kind,
		     const char *path, struct sr_reason *why)
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

/* Returns how long it is. */
static size_t compose(char *text, const struct sr_pairfile_kind *kind,
		      const struct sr_pairfile *pair)
{
	size_t line = line_bytes(kind);

	memcpy(text, kind->magic, line - 1);
	text[line - 1] = '\n';
	memcpy(text + line, "public ", sizeof "public " - 1);
	sr_digits_put(text + AT_PUBLIC(line), pair->pub, KEY);
	memcpy(text + AT_PUBLIC(line) + DIGITS, "\nsecret ", sizeof "\nsecret " - 1);
	sr_hex_secret(text + AT_SECRET(line), pair->secret);
	text[FILE_BYTES(line) - 1] = '\n';
	return FILE_BYTES(line);
}

int sr_pairfile_new(struct sr_pairfile *pair, const struct sr_pairfile_kind *kind,
		    const unsigned char secret[KEY], const char *path, struct sr_reason *why)
{
	struct work *work;
	int ret = work_begin(&work, why);

	if (!ret) {
		memcpy(work->pair.secret, secret, KEY);
		ret = complete(work, kind, why);
		if (!ret) {
			size_t bytes = compose(work->text, kind, &work->pair);

			ret = sr_private_file_make(path, work->text, bytes, why);
		}
		*pair = work->pair;
		work_end(work);
	}
	if (ret)
		sr_wipe(pair, sizeof *pair);
	return ret;
}
