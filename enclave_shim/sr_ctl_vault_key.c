/* SPDX-License-Identifier: MIT */
#include "sr_ctl_vault_work.h"

#include <fcntl.h>
#include <unistd.h>

#include "sr_ctl_file.h"
#include "sr_digits.h"
#include "sr_keyfile.h"
#include "sr_secret.h"

/* ---- the file of a blob ---- */

/* Before the key is made: a blob that cannot be written is a key that cannot be restored. */
static int open_out(const struct sr_ctl_work *work, int *fd)
{
	*fd = open(work->out, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return *fd < 0 ? sr_ctl_fail_file(work, work->out, errno) : EXIT_DONE;
}

static int write_out(const struct sr_ctl_work *work, int fd, const unsigned char *blob)
{
	size_t done = 0;
	int error = 0;

	while (done < SR_BLOB_BYTES && !error) {
		ssize_t put = write(fd, blob + done, SR_BLOB_BYTES - done);

		if (put >= 0)
			done += (size_t)put;
		else if (errno != EINTR)
			error = errno;
	}
	if (!error && fsync(fd))
		error = errno;
	if (close(fd) && !error)
		error = errno;
	if (!error)
		return EXIT_DONE;
	(void)sr_ctl_fail_file(work, work->out, error);
	return sr_ctl_fail(work, "the key is in the signer and its blob is lost: rotate it, "
				 "or delete it");
}

/* ---- keys that the signer makes ---- */

/* 64 digits, or an identity's file. */
static int find_recipient(struct sr_ctl_work *work, unsigned char recipient[SR_NOISE_KEY_BYTES])
{
	struct sr_reason why;

	if (strlen(work->recovery) == 2 * SR_NOISE_KEY_BYTES &&
	    !sr_digits_get(recipient, work->recovery, SR_NOISE_KEY_BYTES))
		return EXIT_DONE;
	if (sr_pairfile_load(&work->secrets->file, &sr_pairfile_identity, work->recovery, &why))
		return sr_ctl_fail(work, why.text);
	memcpy(recipient, work->secrets->file.pub, SR_NOISE_KEY_BYTES);
	return EXIT_DONE;
}

static int make_key(struct sr_ctl_work *work, uint32_t kind)
{
	struct sr_command_generate generate = { .id = work->id };
	struct sr_command_result result;
	unsigned char body[40];
	struct sr_command_key key;
	int ret, fd;

	if (!work->recovery || !work->out || !work->id)
		return sr_ctl_fail_usage(work, "--id, --recovery and --out are all needed: a "
					       "key that nobody can restore is lost with its "
					       "signer");
	ret = find_recipient(work, generate.recipient);
	if (!ret)
		ret = sr_ctl_vault_open(work);
	if (!ret)
		ret = open_out(work, &fd);
	if (ret)
		return ret;
	sr_command_generate_put(body, &generate);
	ret = sr_ctl_vault_command(work, &result, kind, body, sizeof body);
	if (!ret && (sr_command_key_get(&key, result.body) || key.id != work->id))
		ret = sr_ctl_fail(work, "the signer's answer makes no sense");
	if (ret) {
		(void)close(fd);
		(void)unlink(work->out);
		return ret;
	}
	ret = sr_ctl_vault_print(work, &key);
	if (write_out(work, fd, result.body + SR_COMMAND_KEY_BYTES))
		return EXIT_FAILED;
	fprintf(stderr, "wrote %s: the key, sealed to the recovery recipient\n", work->out);
	return ret;
}

int sr_ctl_vault_generate(struct sr_ctl_work *work)
{
	return make_key(work, SR_COMMAND_GENERATE);
}

int sr_ctl_vault_rotate(struct sr_ctl_work *work)
{
	return make_key(work, SR_COMMAND_ROTATE);
}

static int pubkey_of(const void *arg, unsigned char pubkey[SR_BLOB_PUBKEY_BYTES],
		     const unsigned char secret[SR_BLOB_SECRET_BYTES])
{
	return sr_curve_pubkey(arg, pubkey, NULL, secret);
}

/* secrets->key, sealed by secrets->pair to the signer that has been attested. */
static int give_key(struct sr_ctl_work *work, uint32_t id)
{
	const struct sr_blob_curve curve = { pubkey_of, work->curve, NULL };
	struct sr_blob_info info = { .id = id };
	const struct sr_blob_seal seal = {
		.info = &info,
		.secret = work->secrets->key,
		.recipient = sr_ctl_session_signer(work->session),
		.sender = &work->secrets->pair,
		.ephemeral = work->secrets->random,
		.curve = &curve,
	};
	unsigned char blob[SR_BLOB_BYTES];
	struct sr_command_result result;
	struct sr_command_key key;
	int ret = sr_ctl_vault_draw(work);

	if (!ret && (sr_curve_pubkey(work->curve, info.pubkey, NULL, work->secrets->key) ||
		     sr_blob_seal(blob, &seal)))
		ret = sr_ctl_fail(work, "the key could not be sealed to the signer");
	if (!ret)
		ret = sr_ctl_vault_command(work, &result, SR_COMMAND_IMPORT, blob, sizeof blob);
	if (ret)
		return ret;
	if (sr_command_key_get(&key, result.body) || key.id != id ||
	    memcmp(key.pubkey, info.pubkey, sizeof info.pubkey) != 0)
		return sr_ctl_fail(work, "the signer says that it has another key: see key list");
	return sr_ctl_vault_print(work, &key);
}

static int open_blob(struct sr_ctl_work *work, struct sr_blob_info *info)
{
	const struct sr_blob_curve curve = { pubkey_of, work->curve, NULL };
	struct sr_ctl_secrets *secrets = work->secrets;
	unsigned char sender[SR_NOISE_KEY_BYTES];
	char digits[2 * SR_NOISE_KEY_BYTES + 1] = { 0 };
	ssize_t bytes = sr_ctl_file_read(work->file, work->text, SR_BLOB_BYTES + 1);
	int ret;

	if (bytes < 0)
		return sr_ctl_fail_file(work, work->file, (int)-bytes);
	ret = sr_blob_open(info, secrets->key, sender, (const unsigned char *)work->text,
			   (size_t)bytes, &secrets->pair, &curve);
	if (ret == -EBADMSG)
		return sr_ctl_fail(work, "the blob is for another recipient, or was changed");
	if (ret)
		return sr_ctl_fail(work, "this is no blob, or its secret is not that of its "
					 "public key");
	sr_digits_put(digits, sender, sizeof sender);
	fprintf(stderr, "sealed by   %s\n", digits);
	return EXIT_DONE;
}

int sr_ctl_vault_restore(struct sr_ctl_work *work)
{
	struct sr_ctl_secrets *secrets = work->secrets;
	struct sr_blob_info info;
	struct sr_reason why;
	int ret;

	if (!work->recovery_identity)
		return sr_ctl_fail_usage(work, "--recovery-identity is missing: whose key "
					       "opens the blob?");
	if (sr_pairfile_load(&secrets->file, &sr_pairfile_identity, work->recovery_identity, &why))
		return sr_ctl_fail(work, why.text);
	memcpy(secrets->pair.secret, secrets->file.secret, sizeof secrets->pair.secret);
	memcpy(secrets->pair.pub, secrets->file.pub, sizeof secrets->pair.pub);
	ret = open_blob(work, &info);
	if (!ret)
		ret = sr_ctl_vault_open(work);
	return ret ? ret : give_key(work, info.id);
}

/* The key of a file, into secrets->key. */
static int read_keyfile(struct sr_ctl_work *work, uint32_t *id)
{
	struct sr_keyfile_error why;
	struct sr_keyring *ring;
	int ret;

	if (sr_keyring_new(&ring))
		return sr_ctl_fail(work, "no protected memory for the key: raise the memlock "
					 "limit (ulimit -l)");
	ret = sr_keyfile_load(ring, work->curve, work->file, &why);
	if (!ret) {
		*id = sr_keyring_info(ring, 0)->id;
		memcpy(work->secrets->key, sr_keyring_secret(ring, 0), SR_SECKEY_BYTES);
	}
	sr_keyring_delete(ring);
	return ret ? sr_ctl_fail(work, why.text) : EXIT_DONE;
}

int sr_ctl_vault_import(struct sr_ctl_work *work)
{
	uint32_t id = 0;
	int ret = read_keyfile(work, &id);

	if (!ret)
		ret = sr_ctl_vault_draw(work);
	if (!ret && sr_noise_pair_make(&work->secrets->pair, work->secrets->random))
		ret = sr_ctl_fail(work, "OpenSSL makes no key: is it out of memory?");
	if (!ret)
		ret = sr_ctl_vault_open(work);
	return ret ? ret : give_key(work, work->id ? work->id : id);
}
