/* SPDX-License-Identifier: MIT */
/*
 * sr_envelope.h - a manifest with the signatures of its operators, in one text.
 *
 *	sigring-manifest 1
 *	signature 64-digits-of-public-key 128-digits-of-signature
 *	signature ...
 *
 *	{ "sigring_manifest": 1, ...
 *
 * Behind the one blank line stand the manifest's bytes, to the end, and they are
 * what was signed, exactly as they are: adding a signature changes none of them, and
 * they can be read, compared and cut out with a text editor. There is one spelling:
 * single spaces, lower-case digits, lines that end in a newline.
 *
 * Opening one checks its form, never what it says.
 */
#ifndef SR_ENVELOPE_H
#define SR_ENVELOPE_H

#include "sr_operator.h"

#define SR_MANIFEST_BYTES_MAX (256u << 10)
#define SR_ENVELOPE_HEAD_BYTES_MAX 4096u
#define SR_ENVELOPE_BYTES_MAX (SR_MANIFEST_BYTES_MAX + SR_ENVELOPE_HEAD_BYTES_MAX)
#define SR_ENVELOPE_SIGS_MAX SR_OPERATORS_MAX

struct sr_envelope {
	uint32_t sig_count;
	struct sr_operator_sig sigs[SR_ENVELOPE_SIGS_MAX];
	const char *manifest; /* borrowed, not terminated */
	size_t manifest_bytes;
};

SR_BEGIN_DECLS

/*
 * sr_envelope_open - find the signatures and the manifest.
 *
 * @envelope: out; its manifest points into @text, which has to live as long.
 *
 * Returns 0; -EMSGSIZE: longer than SR_ENVELOPE_BYTES_MAX, or a manifest that is
 * longer than SR_MANIFEST_BYTES_MAX; -EBADMSG: the form is wrong, a key signs twice,
 * more than SR_ENVELOPE_SIGS_MAX signatures, or no manifest. With a reason;
 * *envelope is untouched then.
 */
SR_WARN_UNUSED int sr_envelope_open(struct sr_envelope *envelope, const char *text, size_t bytes,
				    struct sr_reason *why);

/*
 * sr_envelope_put - the text of one.
 *
 * @text: SR_ENVELOPE_BYTES_MAX of room.
 * Returns how many bytes it has; 0 when the manifest is longer than its maximum.
 */
SR_WARN_UNUSED size_t sr_envelope_put(char *text, const struct sr_envelope *envelope);

SR_END_DECLS

#endif /* SR_ENVELOPE_H */
