/* SPDX-License-Identifier: MIT */
#include "sr_envelope.h"

#include "sr_digits.h"

#define MAGIC "sigring-manifest 1\n"
#define WORD "signature "
#define KEY_DIGITS (2u * SR_OPERATOR_KEY_BYTES)
#define SIG_DIGITS (2u * SR_OPERATOR_SIG_BYTES)
#define LINE_BYTES (sizeof WORD - 1 + KEY_DIGITS + 1 + SIG_DIGITS + 1)

SR_STATIC_ASSERT(sizeof MAGIC + SR_ENVELOPE_SIGS_MAX * LINE_BYTES + 1 <= SR_ENVELOPE_HEAD_BYTES_MAX,
		 "a full head fits");

/* The line has LINE_BYTES. */
static int get_line(struct sr_operator_sig *sig, const char *line)
{
	const char *key = line + sizeof WORD - 1, *digits = key + KEY_DIGITS + 1;

	if (memcmp(line, WORD, sizeof WORD - 1) != 0 || digits[-1] != ' ' ||
	    digits[SIG_DIGITS] != '\n' || sr_digits_get(sig->pub, key, SR_OPERATOR_KEY_BYTES) ||
	    sr_digits_get(sig->sig, digits, SR_OPERATOR_SIG_BYTES))
		return -EBADMSG;
	return 0;
}

static bool is_repeated(const struct sr_envelope *envelope, const struct sr_operator_sig *sig)
{
	for (uint32_t i = 0; i < envelope->sig_count; i++)
		if (!memcmp(envelope->sigs[i].pub, sig->pub, sizeof sig->pub))
			return true;
	return false;
}

int sr_envelope_open(struct sr_envelope *envelope, const char *text, size_t bytes,
		     struct sr_reason *why)
{
	struct sr_envelope found = { 0 };
	size_t at = sizeof MAGIC - 1;

	if (bytes > SR_ENVELOPE_BYTES_MAX)
		return sr_reason_set(why, -EMSGSIZE, "longer than a signed manifest: %u bytes",
				     SR_ENVELOPE_BYTES_MAX);
	if (bytes < at || memcmp(text, MAGIC, at) != 0)
		return sr_reason_set(why, -EBADMSG, "the first line should be: sigring-manifest 1");

	for (; at < bytes && text[at] != '\n'; at += LINE_BYTES) {
		struct sr_operator_sig sig;

		if (bytes - at < LINE_BYTES || get_line(&sig, text + at))
			return sr_reason_set(why, -EBADMSG,
					     "line %u should be: signature, 64 digits, 128 digits; "
					     "or blank, and the manifest behind it",
					     found.sig_count + 2);
		if (is_repeated(&found, &sig))
			return sr_reason_set(why, -EBADMSG, "line %u: this key has signed already",
					     found.sig_count + 2);
		if (found.sig_count == SR_ENVELOPE_SIGS_MAX)
			return sr_reason_set(why, -EBADMSG, "more than %u signatures",
					     SR_ENVELOPE_SIGS_MAX);
		found.sigs[found.sig_count++] = sig;
	}
	if (at + 1 >= bytes)
		return sr_reason_set(why, -EBADMSG, "there is no manifest behind the signatures");

	found.manifest = text + at + 1;
	found.manifest_bytes = bytes - at - 1;
	if (found.manifest_bytes > SR_MANIFEST_BYTES_MAX)
		return sr_reason_set(why, -EMSGSIZE, "longer than a manifest: %u bytes",
				     SR_MANIFEST_BYTES_MAX);
	*envelope = found;
	return 0;
}

size_t sr_envelope_put(char *text, const struct sr_envelope *envelope)
{
	char *at = text;

	if (envelope->manifest_bytes > SR_MANIFEST_BYTES_MAX ||
	    envelope->sig_count > SR_ENVELOPE_SIGS_MAX)
		return 0;

	memcpy(at, MAGIC, sizeof MAGIC - 1);
	at += sizeof MAGIC - 1;
	for (uint32_t i = 0; i < envelope->sig_count; i++) {
		memcpy(at, WORD, sizeof WORD - 1);
		at += sizeof WORD - 1;
		sr_digits_put(at, envelope->sigs[i].pub, SR_OPERATOR_KEY_BYTES);
		at += KEY_DIGITS;
		*at++ = ' ';
		sr_digits_put(at, envelope->sigs[i].sig, SR_OPERATOR_SIG_BYTES);
		at += SIG_DIGITS;
		*at++ = '\n';
	}
	*at++ = '\n';
	memcpy(at, envelope->manifest, envelope->manifest_bytes);
	return (size_t)(at - text) + envelope->manifest_bytes;
}
