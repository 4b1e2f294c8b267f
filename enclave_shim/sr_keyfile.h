/* SPDX-License-Identifier: MIT */
/*
 * sr_keyfile.h - a development key in a file.
 *
 * For `sigring-local` and for tests: whoever reads the file has the key. It is
 * a regular file of mode 0600 or less, owned by root or by the user who runs
 * the program; anything else is refused. Lines, in any order after the first;
 * blank lines and lines that start with '#' are skipped:
 *
 *	sigring-key 1
 *	id 7                                    1 .. 4294967295
 *	nonce hedged                            or another of SR_NONCE_MODES; hedged
 *	                                        when absent
 *	permit ecdsa-sha256,ecdsa-keccak256     names of sr_type.h
 *	uid 1000                                repeatable, or once: uid any
 *	secret 64 hexadecimal digits
 *
 * What is not named is denied, and a file that names no permission or no user
 * is an error, as is an unknown or a repeated line. The text is read into
 * protected memory and parsed there; the digits of the secret are found by
 * their place and decoded without a branch or an index that depends on them.
 *
 * Nothing here prints: `struct sr_keyfile_error` has the words for the program
 * to print, and never holds any part of the file's text.
 */
#ifndef SR_KEYFILE_H
#define SR_KEYFILE_H

#include "sr_base.h"
#include "sr_curve.h"
#include "sr_keyring.h"

#define SR_KEYFILE_BYTES_MAX 4096u
#define SR_KEYFILE_SUFFIX ".key"

/* Why a call failed, with the file, the line and what to do. */
struct sr_keyfile_error {
	char text[256];
};

SR_BEGIN_DECLS

/*
 * sr_keyfile_load - read one file and add its key.
 *
 * @why: out on failure, never NULL.
 *
 * Returns 0; -EACCES (mode, owner or kind of file); -EBADMSG (the text is wrong;
 * also 0 or a number that is no key as secret); -EEXIST (the id is loaded
 * already); -ENOSPC (SR_KEYS_MAX keys); -ENOMEM, -ENOSYS (protected memory); or
 * what open or read gave. The ring is changed only on success.
 */
SR_WARN_UNUSED int sr_keyfile_load(struct sr_keyring *ring, const struct sr_curve *curve,
				   const char *path, struct sr_keyfile_error *why);

/*
 * sr_keyfile_load_dir - every file of a directory whose name ends in ".key", in
 * the order of their names.
 *
 * Returns how many keys were added; -ENOENT when there is none; or, at the first
 * file that fails, what sr_keyfile_load() says, with those before it added.
 */
SR_WARN_UNUSED int sr_keyfile_load_dir(struct sr_keyring *ring, const struct sr_curve *curve,
				       const char *dir, struct sr_keyfile_error *why);

/*
 * sr_keyfile_write - make a new file, mode 0600, on the disk when it returns.
 *
 * @info:   id, permissions, nonce mode and users.
 * @seckey: 32 bytes in protected memory; stays the caller's.
 *
 * Returns 0; -EEXIST (a file is never overwritten); -ENOMEM, -ENOSYS; or what
 * the system gave, and then no file is left behind.
 */
SR_WARN_UNUSED int sr_keyfile_write(const char *path, const struct sr_key_info *info,
				    const unsigned char seckey[SR_SECKEY_BYTES],
				    struct sr_keyfile_error *why);

/*
 * sr_keyfile_parse - the text alone.
 *
 * @info:   out: id, permissions, nonce mode, users.
 * @seckey: out, 32 bytes of protected memory.
 * @text:   protected memory, not terminated; not changed.
 * @name:   what to call it in @why.
 *
 * Returns 0 or -EBADMSG; @info and @seckey are undefined then.
 */
SR_WARN_UNUSED int sr_keyfile_parse(struct sr_key_info *info,
				    unsigned char seckey[SR_SECKEY_BYTES], const char *text,
				    size_t bytes, const char *name, struct sr_keyfile_error *why);

/*
 * sr_keyfile_permit - permission bits of a list like "ecdsa-sha256,bip340".
 *
 * Returns 0 with *permissions set; -EINVAL for an empty list, an unknown name or
 * a name that comes twice.
 */
SR_WARN_UNUSED int sr_keyfile_permit(uint32_t *permissions, const char *list, size_t bytes);

/*
 * sr_keyfile_number - a decimal u32: digits alone, no sign, no leading zero.
 *
 * Returns 0 with *value set, or -EINVAL.
 */
SR_WARN_UNUSED int sr_keyfile_number(uint32_t *value, const char *text, size_t bytes);

SR_END_DECLS

#endif /* SR_KEYFILE_H */
