/* SPDX-License-Identifier: MIT */
/*
 * sr_pairfile.h - a key pair in a file: an operator's, or an identity's.
 *
 *	sigring-operator 1              or: sigring-identity 1
 *	public 64 hexadecimal digits
 *	secret 64 hexadecimal digits
 *
 * Exactly these three lines. An operator's pair is Ed25519 and signs manifests, an
 * identity's is X25519: the static key of a trader's sessions, or one that keys are
 * sealed to. The first line keeps one from being taken for the other. The kinds are
 * values, because the layer that knows of operators lies above this one.
 *
 * The text is read into protected memory and parsed there; the digits of the secret
 * are found by their place and decoded without a branch or an index that depends on
 * them, and the public key is computed from it and compared. Whoever reads the file
 * has the key: see sr_private_file.h for what is refused.
 */
#ifndef SR_PAIRFILE_H
#define SR_PAIRFILE_H

#include "sr_base.h"
#include "sr_reason.h"

#define SR_PAIRFILE_KEY_BYTES 32u
#define SR_PAIRFILE_BYTES_MAX 256u

/* A kind of pair. */
struct sr_pairfile_kind {
	const char *magic; /* its first line, without the newline */
	/* Computes the public half; @room is 64 bytes of protected memory to work in.
	 * Returns 0 or -EIO. */
	int (*pub)(unsigned char *pub, const unsigned char *secret, void *room);
};
#define SR_PAIRFILE_ROOM_BYTES 64u
#define SR_PAIRFILE_MAGIC_BYTES_MAX 63u

/* In protected memory. */
struct sr_pairfile {
	unsigned char secret[SR_PAIRFILE_KEY_BYTES];
	unsigned char pub[SR_PAIRFILE_KEY_BYTES];
};

SR_BEGIN_DECLS

extern const struct sr_pairfile_kind sr_pairfile_identity;

/*
 * sr_pairfile_load - read one.
 *
 * Returns 0; -EACCES (mode, owner or kind of file); -EBADMSG (too long, the text is
 * wrong, of the other kind, or its halves do not belong together); -EIO; -ENOMEM,
 * -ENOSYS (protected memory); or what open or read gave. With a reason, which holds
 * no part of the file; *pair is untouched then.
 */
SR_WARN_UNUSED int sr_pairfile_load(struct sr_pairfile *pair, const struct sr_pairfile_kind *kind,
				    const char *path, struct sr_reason *why);

/*
 * sr_pairfile_new - make a pair of @secret, and its file.
 *
 * @secret: 32 secret random bytes in protected memory; may be @pair->secret itself.
 * Returns 0; -EEXIST (a file is never overwritten); -EIO; -ENOMEM, -ENOSYS; or what
 * the system gave, and then no file is left behind. With a reason; *pair is wiped.
 */
SR_WARN_UNUSED int sr_pairfile_new(struct sr_pairfile *pair, const struct sr_pairfile_kind *kind,
				   const unsigned char secret[SR_PAIRFILE_KEY_BYTES],
				   const char *path, struct sr_reason *why);

SR_END_DECLS

#endif /* SR_PAIRFILE_H */
