/* SPDX-License-Identifier: MIT */
/*
 * sr_trust.h - what a client believes, in a file.
 *
 *	sigring-trust 1
 *	root aws                        or the SHA-256 of a root in DER, 64 digits
 *	image PCR0 PCR1 PCR2            96 digits each, one line an image; then
 *	                                3=PCR3 and 8=PCR8, each if it is asked for
 *	manifest HASH                   64 digits
 *	manifest-min N                  1 ..; of the two lines at least one
 *	max-age SECONDS                 of a document, 1 .. 86400; 300 when absent
 *	require boot-pcr                a document without PCR16 is refused
 *
 * The first line stands first, the others in any order, each once but for image.
 * Words are parted by one space; digits are lower case, numbers decimal without a
 * leading zero: one spelling each. Blank lines and those that begin with '#' are
 * skipped. There is no default for what is believed: a file without a root, an
 * image, or a manifest or its minimum, is an error.
 *
 * Nothing in the file is secret, and everything depends on it: one that its group
 * or others may write is refused.
 */
#ifndef SR_TRUST_H
#define SR_TRUST_H

#include "sr_attest.h"
#include "sr_reason.h"
#include "sr_setup.h"

#define SR_TRUST_BYTES_MAX 65536u /* of a file; one with every image has 31 KiB */
#define SR_TRUST_IMAGES_MAX SR_ATTEST_IMAGES_MAX
#define SR_TRUST_AGE_S_DEFAULT 300u
#define SR_TRUST_AGE_S_MAX 86400u

struct sr_trust {
	struct sr_attest_root root;
	struct sr_attest_image images[SR_TRUST_IMAGES_MAX];
	size_t image_count;
	unsigned char manifest_hash[SR_ATTEST_HASH_BYTES];
	bool has_manifest;
	uint64_t manifest_min; /* 0: none */
	uint32_t age_s_max;
	bool boot_required;
};

SR_BEGIN_DECLS

/*
 * sr_trust_parse - the text alone.
 *
 * @text: not terminated. @name: what to call it in @why.
 * Returns 0; -EBADMSG with a reason that names the line; *trust is undefined then.
 */
SR_WARN_UNUSED int sr_trust_parse(struct sr_trust *trust, const char *text, size_t bytes,
				  const char *name, struct sr_reason *why);

/*
 * sr_trust_load - read a file.
 *
 * Returns 0; -EACCES: no regular file, or writable by others than its owner;
 * -EBADMSG; -ENOMEM; or what open or read gave. With a reason.
 */
SR_WARN_UNUSED int sr_trust_load(struct sr_trust *trust, const char *path, struct sr_reason *why);

/*
 * sr_trust_put - the text of one.
 *
 * @text: SR_TRUST_BYTES_MAX; not terminated.
 * @trust: valid: an image at least, and a manifest's hash or minimum.
 * Returns how many bytes.
 */
size_t sr_trust_put(char *text, const struct sr_trust *trust);

/*
 * sr_trust_save - write a file, or replace one as a whole (rename): who reads it sees
 * the old one or the new one. Its mode is 0644.
 *
 * Returns 0; -ENOMEM; -ENAMETOOLONG; or what the system gave. With a reason.
 */
SR_WARN_UNUSED int sr_trust_save(const char *path, const struct sr_trust *trust,
				 struct sr_reason *why);

/* sr_trust_expect - what a set-up is to expect; borrows from @trust. */
void sr_trust_expect(struct sr_setup_expect *expect, const struct sr_trust *trust);

SR_END_DECLS

#endif /* SR_TRUST_H */
