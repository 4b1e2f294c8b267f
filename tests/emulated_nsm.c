/* SPDX-License-Identifier: MIT */
/*
 * Documents of QEMU's emulated security module, for the tests in guests alone.
 *
 * Its registers, nonce, user data and public key are what they should be; but the
 * algorithm is none, and signature and certificates are zeros, so sr_attest_document()
 * refuses it, as it must. A program linked with this archive and
 * -Wl,--wrap=sr_attest_document lets pass such a document, and only such a one, as valid;
 * sr_attest_accept() then judges it like any other. No program that is installed is
 * linked so: tests/layers.sh looks.
 *
 * SIGRING_EMULATED_SPOIL=nonce, user_data, public_key or pcr16 changes a bit of that field,
 * as if the module had said so: whoever accepts the document must then refuse it. A field
 * that is not in the document stops the program. QEMU's module puts a register into its
 * documents when it is locked, and not before.
 */
#include <stdio.h>
#include <stdlib.h>

#include "sr_attest.h"

enum sr_attest_code __real_sr_attest_document(struct sr_attest_doc *out,
					      const unsigned char *document, size_t document_bytes,
					      const struct sr_attest_root *root,
					      uint64_t now_unix_ms, struct sr_attest_cache *cache);
enum sr_attest_code __wrap_sr_attest_document(struct sr_attest_doc *out,
					      const unsigned char *document, size_t document_bytes,
					      const struct sr_attest_root *root,
					      uint64_t now_unix_ms, struct sr_attest_cache *cache);

#define ZEROS_BYTES 64u

/* An array of four, and in its first bytes the map {1: -1}; we read {1: -35} there. At its
 * end are 64 bytes of zero; we read 96. */
static const unsigned char emulated_head[] = { 0x84, 0x43, 0xa1, 0x01, 0x20 };
static const unsigned char emulated_tail[2 + ZEROS_BYTES] = { 0x58, ZEROS_BYTES };
static const unsigned char head[] = { 0x84, 0x44, 0xa1, 0x01, 0x38, 0x22 };
static const unsigned char tail[2 + SR_COSE_SIGNATURE_BYTES] = { 0x58, SR_COSE_SIGNATURE_BYTES };

static bool is_emulated(const unsigned char *document, size_t bytes)
{
	return bytes > sizeof emulated_head + sizeof emulated_tail &&
	       bytes <= SR_ATTEST_BYTES_MAX - sizeof tail &&
	       !memcmp(document, emulated_head, sizeof emulated_head) &&
	       !memcmp(document + bytes - sizeof emulated_tail, emulated_tail,
		       sizeof emulated_tail);
}

static void spoil(struct sr_attest_doc *doc, unsigned char *copy)
{
	const struct {
		const char *name;
		const struct sr_attest_view *view;
	} fields[] = { { "nonce", &doc->nonce },
		       { "user_data", &doc->user_data },
		       { "public_key", &doc->public_key } };
	const char *name = getenv("SIGRING_EMULATED_SPOIL");

	if (!name)
		return;
	if (!strcmp(name, "pcr16") && doc->pcr_mask >> SR_ATTEST_BOOT_PCR & 1u) {
		doc->pcr[SR_ATTEST_BOOT_PCR][0] ^= 1;
		return;
	}
	for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
		if (!strcmp(name, fields[i].name) && fields[i].view->bytes) {
			copy[fields[i].view->data - copy] ^= 1;
			return;
		}
	(void)fprintf(stderr, "the document has no %s\n", name);
	exit(3);
}

enum sr_attest_code __wrap_sr_attest_document(struct sr_attest_doc *out,
					      const unsigned char *document, size_t document_bytes,
					      const struct sr_attest_root *root,
					      uint64_t now_unix_ms, struct sr_attest_cache *cache)
{
	static _Thread_local unsigned char copy[SR_ATTEST_BYTES_MAX]; /* @out borrows */
	size_t bytes = document_bytes - sizeof emulated_head - sizeof emulated_tail;
	enum sr_attest_code code;

	if (!is_emulated(document, document_bytes))
		return __real_sr_attest_document(out, document, document_bytes, root, now_unix_ms,
						 cache);
	memcpy(copy, head, sizeof head);
	memcpy(copy + sizeof head, document + sizeof emulated_head, bytes);
	memcpy(copy + sizeof head + bytes, tail, sizeof tail);
	code = sr_attest_parse(out, copy, sizeof head + bytes + sizeof tail);
	if (code == SR_ATTEST_OK)
		spoil(out, copy);
	return code;
}
