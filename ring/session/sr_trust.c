/* SPDX-License-Identifier: MIT */
#include "sr_trust.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sr_digits.h"

#define HASH_DIGITS (2u * SR_ATTEST_HASH_BYTES)
#define PCR_DIGITS (2u * SR_ATTEST_PCR_BYTES)

/* Where the parser is, and which lines it has met. */
struct parse {
	const char *at;
	const char *end;
	const char *name;
	struct sr_reason *why;
	struct sr_trust *trust;
	uint32_t met; /* bit of each keyword */
	unsigned int line;
};

static int fail_line(const struct parse *p, const char *what)
{
	return sr_reason_set(p->why, -EBADMSG, "%s:%u: %s", p->name, p->line, what);
}

static bool is_word(const char *value, size_t bytes, const char *word)
{
	return bytes == strlen(word) && !memcmp(value, word, bytes);
}

static int take_magic(struct parse *p, const char *value, size_t bytes)
{
	if (!is_word(value, bytes, "1"))
		return fail_line(p, "this version of the format is not known; only 1 is");
	return 0;
}

static int take_root(struct parse *p, const char *value, size_t bytes)
{
	if (is_word(value, bytes, "aws"))
		sr_attest_root_aws(&p->trust->root);
	else if (bytes != HASH_DIGITS ||
		 sr_digits_get(p->trust->root.sha256, value, SR_ATTEST_HASH_BYTES))
		return fail_line(p, "root wants aws, or the SHA-256 of a certificate in DER: 64 "
				    "digits, lower case");
	return 0;
}

/* One more PCR of a line; @prefix is what stands before its digits. */
static bool take_pcr(unsigned char *pcr, const char **value, size_t *bytes, const char *prefix)
{
	size_t skip = strlen(prefix);

	if (*bytes < skip + PCR_DIGITS || memcmp(*value, prefix, skip) != 0 ||
	    sr_digits_get(pcr, *value + skip, SR_ATTEST_PCR_BYTES))
		return false;
	*value += skip + PCR_DIGITS;
	*bytes -= skip + PCR_DIGITS;
	return true;
}

static int take_image(struct parse *p, const char *value, size_t bytes)
{
	static const unsigned char zeros[SR_ATTEST_PCR_BYTES];
	struct sr_attest_image *image;

	if (p->trust->image_count == SR_TRUST_IMAGES_MAX)
		return fail_line(p, "an image too many: 64 at most");
	image = &p->trust->images[p->trust->image_count];
	if (!take_pcr(image->pcr0, &value, &bytes, "") ||
	    !take_pcr(image->pcr1, &value, &bytes, " ") ||
	    !take_pcr(image->pcr2, &value, &bytes, " "))
		return fail_line(p, "image wants PCR 0, 1 and 2: 96 digits each, lower case, with "
				    "one space between");
	image->with_pcr3 = take_pcr(image->pcr3, &value, &bytes, " 3=");
	image->with_pcr8 = take_pcr(image->pcr8, &value, &bytes, " 8=");
	if (bytes)
		return fail_line(p, "behind an image's three PCRs may stand 3= and 96 digits, then "
				    "8= and 96 digits, and nothing else");
	if (!memcmp(image->pcr0, zeros, sizeof zeros))
		return fail_line(p, "PCR 0 is zero: that is every enclave in debug mode, and is "
				    "never accepted");
	p->trust->image_count++;
	return 0;
}

static int take_manifest(struct parse *p, const char *value, size_t bytes)
{
	if (bytes != HASH_DIGITS ||
	    sr_digits_get(p->trust->manifest_hash, value, SR_ATTEST_HASH_BYTES))
		return fail_line(p, "manifest wants the hash that sigringctl manifest show prints: "
				    "64 digits, lower case");
	p->trust->has_manifest = true;
	return 0;
}

/* A decimal number from 1, one spelling. */
static bool number(uint64_t *out, const char *value, size_t bytes)
{
	uint64_t v = 0;

	if (bytes < 1 || bytes > 19 || value[0] == '0')
		return false;
	for (size_t i = 0; i < bytes; i++) {
		if (value[i] < '0' || value[i] > '9')
			return false;
		v = v * 10 + (uint64_t)(value[i] - '0');
	}
	*out = v;
	return true;
}

static int take_min(struct parse *p, const char *value, size_t bytes)
{
	if (!number(&p->trust->manifest_min, value, bytes))
		return fail_line(p, "manifest-min wants a version: a number from 1");
	return 0;
}

static int take_age(struct parse *p, const char *value, size_t bytes)
{
	uint64_t seconds;

	if (!number(&seconds, value, bytes) || seconds > SR_TRUST_AGE_S_MAX)
		return fail_line(p, "max-age wants a number of seconds from 1 to 86400");
	p->trust->age_s_max = (uint32_t)seconds;
	return 0;
}

static int take_require(struct parse *p, const char *value, size_t bytes)
{
	if (!is_word(value, bytes, "boot-pcr"))
		return fail_line(p, "require wants boot-pcr: nothing else can be demanded");
	p->trust->boot_required = true;
	return 0;
}

enum { MAGIC, ROOT, IMAGE, MANIFEST, MANIFEST_MIN, MAX_AGE, REQUIRE, KEYWORDS };

static const struct {
	const char *word;
	int (*take)(struct parse *p, const char *value, size_t bytes);
} keywords[KEYWORDS] = {
	[MAGIC] = { "sigring-trust", take_magic },
	[ROOT] = { "root", take_root },
	[IMAGE] = { "image", take_image },
	[MANIFEST] = { "manifest", take_manifest },
	[MANIFEST_MIN] = { "manifest-min", take_min },
	[MAX_AGE] = { "max-age", take_age },
	[REQUIRE] = { "require", take_require },
};

static int take_line(struct parse *p, const char *line, size_t bytes)
{
	const char *space = memchr(line, ' ', bytes);
	size_t word = space ? (size_t)(space - line) : bytes;
	int k = 0;

	while (k < KEYWORDS && !is_word(line, word, keywords[k].word))
		k++;
	if (k == KEYWORDS || !space)
		return fail_line(p, "unknown line; one of sigring-trust, root, image, manifest, "
				    "manifest-min, max-age, require, then one space, is expected");
	if ((k == MAGIC) != (p->met == 0))
		return fail_line(p, p->met ? "this line is repeated" :
					     "the first line should be: sigring-trust 1");
	if (k != IMAGE && p->met & (1u << k))
		return fail_line(p, "this line is repeated");
	p->met |= 1u << k;
	return keywords[k].take(p, space + 1, bytes - word - 1);
}

static int fail_absent(const struct parse *p, const char *what)
{
	return sr_reason_set(p->why, -EBADMSG, "%s %s", p->name, what);
}

int sr_trust_parse(struct sr_trust *trust, const char *text, size_t bytes, const char *name,
		   struct sr_reason *why)
{
	struct parse p = {
		.at = text, .end = text + bytes, .name = name, .why = why, .trust = trust
	};

	memset(trust, 0, sizeof *trust);
	trust->age_s_max = SR_TRUST_AGE_S_DEFAULT;
	while (p.at < p.end) {
		const char *eol = memchr(p.at, '\n', (size_t)(p.end - p.at));
		const char *line = p.at;
		size_t line_bytes = (size_t)((eol ? eol : p.end) - line);
		int ret;

		p.line++;
		p.at = eol ? eol + 1 : p.end;
		if (!line_bytes || *line == '#')
			continue;
		ret = take_line(&p, line, line_bytes);
		if (ret)
			return ret;
	}
	if (!p.met)
		return fail_absent(&p, "is empty: it should begin with: sigring-trust 1");
	if (!(p.met & 1u << ROOT))
		return fail_absent(&p, "has no root line: whose documents are believed?");
	if (!trust->image_count)
		return fail_absent(&p, "has no image line: no enclave would be accepted");
	if (!trust->has_manifest && !trust->manifest_min)
		return fail_absent(&p, "has neither a manifest nor a manifest-min line: an old one "
				       "would be accepted");
	return 0;
}

static int judge(int fd, const char *path, struct sr_reason *why)
{
	struct stat st;

	if (fstat(fd, &st))
		return sr_reason_set(why, -errno, "cannot look at %s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return sr_reason_set(why, -EACCES, "%s is no regular file", path);
	if (st.st_mode & 022)
		return sr_reason_set(why, -EACCES,
				     "%s has mode %04o, so others could change what is believed: "
				     "chmod go-w %s",
				     path, (unsigned int)(st.st_mode & 07777), path);
	return 0;
}

/* One byte more than a file may have, so that a longer one is seen. */
static int read_all(int fd, char *text, size_t *bytes, const char *path, struct sr_reason *why)
{
	size_t done = 0;

	while (done <= SR_TRUST_BYTES_MAX) {
		ssize_t got = read(fd, text + done, SR_TRUST_BYTES_MAX + 1 - done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return sr_reason_set(why, -errno, "cannot read %s: %s", path,
					     strerror(errno));
		if (got == 0)
			break;
		done += (size_t)got;
	}
	if (done > SR_TRUST_BYTES_MAX)
		return sr_reason_set(why, -EBADMSG, "%s is longer than %u bytes", path,
				     SR_TRUST_BYTES_MAX);
	*bytes = done;
	return 0;
}

int sr_trust_load(struct sr_trust *trust, const char *path, struct sr_reason *why)
{
	/* O_NONBLOCK: opening a FIFO by mistake must not hang. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t bytes = 0;
	char *text;
	int ret;

	if (fd < 0)
		return sr_reason_set(why, -errno, "cannot open %s: %s", path, strerror(errno));
	text = malloc(SR_TRUST_BYTES_MAX + 1);
	ret = text ? judge(fd, path, why) : sr_reason_set(why, -ENOMEM, "out of memory");
	if (!ret)
		ret = read_all(fd, text, &bytes, path, why);
	if (!ret)
		ret = sr_trust_parse(trust, text, bytes, path, why);
	free(text);
	(void)close(fd);
	return ret;
}

static char *put_hex(char *at, const char *prefix, const unsigned char *data, size_t bytes)
{
	size_t skip = strlen(prefix);

	memcpy(at, prefix, skip);
	sr_digits_put(at + skip, data, bytes);
	return at + skip + 2 * bytes;
}

static char *put_number(char *at, const char *word, uint64_t v)
{
	char line[48];
	size_t bytes = (size_t)snprintf(line, sizeof line, "%s %llu\n", word,
					(unsigned long long)v);

	memcpy(at, line, bytes);
	return at + bytes;
}

static char *put_image(char *at, const struct sr_attest_image *image)
{
	at = put_hex(at, "image ", image->pcr0, sizeof image->pcr0);
	at = put_hex(at, " ", image->pcr1, sizeof image->pcr1);
	at = put_hex(at, " ", image->pcr2, sizeof image->pcr2);
	if (image->with_pcr3)
		at = put_hex(at, " 3=", image->pcr3, sizeof image->pcr3);
	if (image->with_pcr8)
		at = put_hex(at, " 8=", image->pcr8, sizeof image->pcr8);
	*at = '\n';
	return at + 1;
}

size_t sr_trust_put(char *text, const struct sr_trust *trust)
{
	struct sr_attest_root aws;
	char *at;

	sr_attest_root_aws(&aws);
	if (!memcmp(&aws, &trust->root, sizeof aws))
		at = put_hex(text, "sigring-trust 1\nroot aws", NULL, 0);
	else
		at = put_hex(text, "sigring-trust 1\nroot ", trust->root.sha256,
			     SR_ATTEST_HASH_BYTES);
	*at++ = '\n';
	for (size_t i = 0; i < trust->image_count; i++)
		at = put_image(at, &trust->images[i]);
	if (trust->has_manifest) {
		at = put_hex(at, "manifest ", trust->manifest_hash, SR_ATTEST_HASH_BYTES);
		*at++ = '\n';
	}
	if (trust->manifest_min)
		at = put_number(at, "manifest-min", trust->manifest_min);
	at = put_number(at, "max-age", trust->age_s_max);
	if (trust->boot_required)
		at = put_hex(at, "require boot-pcr\n", NULL, 0);
	return (size_t)(at - text);
}

static int write_all(int fd, const char *text, size_t bytes)
{
	while (bytes) {
		ssize_t put = write(fd, text, bytes);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		text += put;
		bytes -= (size_t)put;
	}
	return fsync(fd) ? -errno : 0;
}

/* A name of its own: two programs that save at once must not share one. */
static int save(const char *path, const char *text, size_t bytes)
{
	char temporary[PATH_MAX];
	int fd, ret = 0;

	if (snprintf(temporary, sizeof temporary, "%s.XXXXXX", path) >= (int)sizeof temporary)
		return -ENAMETOOLONG;
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fchmod(fd, 0644))
		ret = -errno;
	if (!ret)
		ret = write_all(fd, text, bytes);
	(void)close(fd);
	if (!ret && rename(temporary, path))
		ret = -errno;
	if (ret)
		(void)unlink(temporary);
	return ret;
}

int sr_trust_save(const char *path, const struct sr_trust *trust, struct sr_reason *why)
{
	char *text = malloc(SR_TRUST_BYTES_MAX);
	int ret;

	if (!text)
		return sr_reason_set(why, -ENOMEM, "out of memory");
	ret = save(path, text, sr_trust_put(text, trust));
	free(text);
	return ret ? sr_reason_set(why, ret, "cannot write %s: %s", path, strerror(-ret)) : 0;
}

void sr_trust_expect(struct sr_setup_expect *expect, const struct sr_trust *trust)
{
	*expect = (struct sr_setup_expect){
		.root = trust->root,
		.images = trust->images,
		.image_count = trust->image_count,
		.manifest_hash = trust->has_manifest ? trust->manifest_hash : NULL,
		.manifest_version_min = trust->manifest_min,
		.age_ms_max = 1000ull * trust->age_s_max,
		.boot_required = trust->boot_required,
	};
}
