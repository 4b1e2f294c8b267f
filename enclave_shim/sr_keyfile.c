/* SPDX-License-Identifier: MIT */
#include "sr_keyfile.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "sr_hex.h"
#include "sr_private_file.h"
#include "sr_secret.h"
#include "sr_type.h"

#define SECRET_DIGITS (2u * SR_SECKEY_BYTES)

/* Where the parser is, and which lines it has met. */
struct parse {
	const char *text;
	size_t bytes;
	size_t at;
	unsigned int line;
	uint32_t met; /* bit of each keyword */
	const char *name;
	struct sr_keyfile_error *why;
	struct sr_key_info *info;
	unsigned char *seckey;
};

__attribute__((format(printf, 3, 4))) static int fail(struct sr_keyfile_error *why, int error,
						      const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(why->text, sizeof why->text, format, args);
	va_end(args);
	return error;
}

static int fail_line(const struct parse *p, const char *what)
{
	return fail(p->why, -EBADMSG, "%s:%u: %s", p->name, p->line, what);
}

int sr_keyfile_number(uint32_t *value, const char *text, size_t bytes)
{
	uint64_t v = 0;

	if (bytes == 0 || bytes > 10 || (text[0] == '0' && bytes > 1))
		return -EINVAL;
	for (size_t i = 0; i < bytes; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -EINVAL;
		v = 10 * v + (uint64_t)(text[i] - '0');
	}
	if (v > UINT32_MAX)
		return -EINVAL;
	*value = (uint32_t)v;
	return 0;
}

int sr_keyfile_permit(uint32_t *permissions, const char *list, size_t bytes)
{
	uint32_t bits = 0;

	for (size_t at = 0;; at++) {
		const char *comma = memchr(list + at, ',', bytes - at);
		size_t name_bytes = comma ? (size_t)(comma - (list + at)) : bytes - at;
		char name[32];
		uint32_t type;

		if (name_bytes == 0 || name_bytes >= sizeof name)
			return -EINVAL;
		memcpy(name, list + at, name_bytes);
		name[name_bytes] = '\0';
		type = sr_type_from_name(name);
		if (type == 0 || bits & (1u << type))
			return -EINVAL;
		bits |= 1u << type;
		at += name_bytes;
		if (!comma)
			break;
	}
	*permissions = bits;
	return 0;
}

static int take_magic(struct parse *p, const char *value, size_t bytes)
{
	if (bytes != 1 || value[0] != '1')
		return fail_line(p, "this version of the format is not known; only 1 is");
	return 0;
}

static int take_id(struct parse *p, const char *value, size_t bytes)
{
	if (sr_keyfile_number(&p->info->id, value, bytes) || p->info->id == 0)
		return fail_line(p, "id wants a number from 1 to 4294967295");
	return 0;
}

static int take_nonce(struct parse *p, const char *value, size_t bytes)
{
	int mode = sr_nonce_from_name(value, bytes);

	if (mode < 0)
		return fail_line(p, "nonce wants " SR_NONCE_MODES);
	p->info->nonce_mode = (uint32_t)mode;
	return 0;
}

static int take_permit(struct parse *p, const char *value, size_t bytes)
{
	if (sr_keyfile_permit(&p->info->permissions, value, bytes))
		return fail_line(p, "permit wants names, each once, with commas between: "
				    "ecdsa-sha256,ecdsa-keccak256,ecdsa-digest,bip340");
	return 0;
}

static int take_uid(struct parse *p, const char *value, size_t bytes)
{
	struct sr_key_info *info = p->info;
	uint32_t uid;

	if (bytes == 3 && !memcmp(value, "any", 3)) {
		if (info->any_uid || info->uid_count)
			return fail_line(p, "uid any stands alone");
		info->any_uid = true;
		return 0;
	}
	if (sr_keyfile_number(&uid, value, bytes))
		return fail_line(p, "uid wants a user's number, or any");
	if (info->any_uid)
		return fail_line(p, "uid any stands alone");
	if (info->uid_count == SR_KEY_UIDS_MAX)
		return fail_line(p, "a key has at most 8 users");
	for (uint32_t i = 0; i < info->uid_count; i++)
		if (info->uids[i] == uid)
			return fail_line(p, "this uid is repeated");
	info->uids[info->uid_count++] = uid;
	return 0;
}

enum { MAGIC, ID, NONCE, PERMIT, UID, SECRET, KEYWORDS };

static const struct {
	const char *word;
	int (*take)(struct parse *p, const char *value, size_t bytes);
	const char *missing; /* NULL: may be absent */
} keywords[KEYWORDS] = {
	[MAGIC] = { "sigring-key", take_magic, "is empty: it should begin with: sigring-key 1" },
	[ID] = { "id", take_id, "has no id line" },
	[NONCE] = { "nonce", take_nonce, NULL },
	[PERMIT] = { "permit", take_permit, "has no permit line: the key could sign nothing" },
	[UID] = { "uid", take_uid, "has no uid line: nobody could use the key" },
	[SECRET] = { "secret", NULL, "has no secret line" },
};

/* The digits are taken by their place: looking for the end of this line would
 * compare each of them with a newline. */
static int take_secret(struct parse *p)
{
	if (p->bytes - p->at < SECRET_DIGITS || sr_unhex_secret(p->seckey, p->text + p->at))
		return fail_line(p, "secret wants 64 hexadecimal digits");

	p->at += SECRET_DIGITS;
	if (p->at < p->bytes && p->text[p->at] != '\n')
		return fail_line(p, "secret wants 64 hexadecimal digits and nothing behind them");
	if (p->at < p->bytes)
		p->at++;
	return 0;
}

static size_t line_bytes(const struct parse *p)
{
	const char *end = memchr(p->text + p->at, '\n', p->bytes - p->at);

	return end ? (size_t)(end - (p->text + p->at)) : p->bytes - p->at;
}

/* Byte by byte, up to the first that differs: nothing longer than the word is
 * looked at, because behind "secret " each byte is one. */
static bool line_begins(const struct parse *p, const char *word, size_t bytes)
{
	if (p->bytes - p->at <= bytes)
		return false;
	for (size_t i = 0; i < bytes; i++)
		if (p->text[p->at + i] != word[i])
			return false;
	return p->text[p->at + bytes] == ' ';
}

static int find_keyword(const struct parse *p)
{
	for (int i = 0; i < KEYWORDS; i++)
		if (line_begins(p, keywords[i].word, strlen(keywords[i].word)))
			return i;
	return -1;
}

static int take_line(struct parse *p)
{
	int keyword = find_keyword(p);
	size_t bytes;
	int ret;

	if (keyword < 0)
		return fail_line(p, "unknown line; one of sigring-key, id, nonce, permit, uid, "
				    "secret, then one space, is expected");
	if ((keyword == MAGIC) != (p->met == 0))
		return fail_line(p, p->met ? "this line is repeated" :
					     "the first line should be: sigring-key 1");
	if (keyword != UID && p->met & (1u << keyword))
		return fail_line(p, "this line is repeated");
	p->met |= 1u << keyword;

	p->at += strlen(keywords[keyword].word) + 1;
	if (keyword == SECRET)
		return take_secret(p);

	bytes = line_bytes(p);
	ret = keywords[keyword].take(p, p->text + p->at, bytes);
	p->at += bytes + 1;
	return ret;
}

int sr_keyfile_parse(struct sr_key_info *info, unsigned char seckey[SR_SECKEY_BYTES],
		     const char *text, size_t bytes, const char *name, struct sr_keyfile_error *why)
{
	struct parse p = {
		.text = text,
		.bytes = bytes,
		.name = name,
		.why = why,
		.info = info,
		.seckey = seckey,
	};

	memset(info, 0, sizeof *info);
	info->nonce_mode = SR_NONCE_HEDGED;
	while (p.at < p.bytes) {
		int ret = 0;

		p.line++;
		if (p.text[p.at] == '\n' || p.text[p.at] == '#')
			p.at += line_bytes(&p) + 1;
		else
			ret = take_line(&p);
		if (ret)
			return ret;
	}

	for (int i = 0; i < KEYWORDS; i++)
		if (keywords[i].missing && !(p.met & (1u << i)))
			return fail(why, -EBADMSG, "%s %s", name, keywords[i].missing);
	return 0;
}

/* A page and a line: the text, and the key that is found in it. */
struct load {
	char text[SR_KEYFILE_BYTES_MAX];
	unsigned char seckey[SR_SECKEY_BYTES];
};

static int add_key(struct sr_keyring *ring, const struct sr_curve *curve,
		   const struct sr_key_info *info, unsigned char *seckey, const char *path,
		   struct sr_keyfile_error *why)
{
	int ret = sr_keyring_add(ring, curve, info, seckey);

	switch (ret) {
	case 0:
		return 0;
	case -EEXIST:
		return fail(why, ret, "%s: key %u is loaded already: give each file its own id",
			    path, info->id);
	case -ENOSPC:
		return fail(why, ret, "%s: no room: a signer has at most %u keys", path,
			    SR_KEYS_MAX);
	default:
		return fail(why, -EBADMSG, "%s: the secret is 0 or not below the group's order",
			    path);
	}
}

static int fail_secret(struct sr_keyfile_error *why, int error)
{
	if (error == -ENOSYS)
		return fail(why, error,
			    "this kernel cannot keep memory from children "
			    "(MADV_WIPEONFORK, Linux 4.14)");
	return fail(why, error,
		    "no locked memory for keys: raise the memlock limit (ulimit -l, "
		    "LimitMEMLOCK=)");
}

int sr_keyfile_load(struct sr_keyring *ring, const struct sr_curve *curve, const char *path,
		    struct sr_keyfile_error *why)
{
	struct sr_key_info info;
	struct sr_reason reason;
	struct load *load;
	size_t bytes;
	void *mem;
	int ret;

	ret = sr_secret_alloc(&mem, sizeof *load);
	if (ret)
		return fail_secret(why, ret);
	load = mem;
	ret = sr_private_file_read(load->text, &bytes, sizeof load->text, path, &reason);
	if (ret) {
		(void)fail(why, ret, "%s", reason.text);
		goto wipe;
	}
	ret = sr_keyfile_parse(&info, load->seckey, load->text, bytes, path, why);
	if (!ret)
		ret = add_key(ring, curve, &info, load->seckey, path, why);
wipe:
	sr_wipe_stack();
	sr_secret_free(mem, sizeof *load);
	return ret;
}

static int is_key_name(const struct dirent *entry)
{
	size_t bytes = strlen(entry->d_name), suffix_bytes = strlen(SR_KEYFILE_SUFFIX);

	return entry->d_name[0] != '.' && bytes > suffix_bytes &&
	       !strcmp(entry->d_name + bytes - suffix_bytes, SR_KEYFILE_SUFFIX);
}

/* alphasort() would ask the locale. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

int sr_keyfile_load_dir(struct sr_keyring *ring, const struct sr_curve *curve, const char *dir,
			struct sr_keyfile_error *why)
{
	struct dirent **names;
	int count = scandir(dir, &names, is_key_name, by_name);
	int ret = 0;

	if (count < 0) {
		ret = -errno;
		return fail(why, ret, "cannot read the directory %s: %s", dir, strerror(errno));
	}
	if (count == 0)
		ret = fail(why, -ENOENT,
			   "%s has no *.key: make one with: sigringctl key new "
			   "--out %s/1.key ...",
			   dir, dir);

	for (int i = 0; i < count; i++) {
		char path[PATH_MAX];

		if (!ret &&
		    snprintf(path, sizeof path, "%s/%s", dir, names[i]->d_name) >= (int)sizeof path)
			ret = fail(why, -ENAMETOOLONG, "a name in %s is too long", dir);
		if (!ret)
			ret = sr_keyfile_load(ring, curve, path, why);
		free(names[i]);
	}
	free(names);
	return ret ? ret : count;
}

__attribute__((format(printf, 3, 4))) static size_t append(char *text, size_t at,
							   const char *format, ...)
{
	size_t room = SR_KEYFILE_BYTES_MAX - at;
	va_list args;
	int bytes;

	va_start(args, format);
	bytes = vsnprintf(text + at, room, format, args);
	va_end(args);
	return at + (size_t)bytes;
}

static size_t compose(char *text, const struct sr_key_info *info, const unsigned char *seckey)
{
	const char *nonce = sr_nonce_name(info->nonce_mode);
	size_t at = append(text, 0, "sigring-key 1\nid %u\nnonce %s\npermit ", info->id, nonce);
	const char *comma = "";

	for (uint32_t type = 1; type <= SR_TYPE_BLIND_MAX; type++) {
		if (!(info->permissions & (1u << type)))
			continue;
		at = append(text, at, "%s%s", comma, sr_type_name(type));
		comma = ",";
	}
	at = append(text, at, "\n");
	if (info->any_uid)
		at = append(text, at, "uid any\n");
	for (uint32_t i = 0; !info->any_uid && i < info->uid_count; i++)
		at = append(text, at, "uid %u\n", info->uids[i]);

	at = append(text, at, "secret ");
	sr_hex_secret(text + at, seckey);
	at += SECRET_DIGITS;
	text[at++] = '\n';
	return at;
}

int sr_keyfile_write(const char *path, const struct sr_key_info *info,
		     const unsigned char seckey[SR_SECKEY_BYTES], struct sr_keyfile_error *why)
{
	struct sr_reason reason;
	void *text;
	int ret = sr_secret_alloc(&text, SR_KEYFILE_BYTES_MAX);

	if (ret)
		return fail_secret(why, ret);

	ret = sr_private_file_make(path, text, compose(text, info, seckey), &reason);
	sr_secret_free(text, SR_KEYFILE_BYTES_MAX);
	return ret ? fail(why, ret, "%s", reason.text) : 0;
}
