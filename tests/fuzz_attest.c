/* SPDX-License-Identifier: MIT */
/*
 * fuzz_attest.c - arbitrary bytes as an attestation document, and as what a security
 * module answers.
 *
 * The first byte says what the rest is: a document as it came; a payload, which is
 * then signed, so that the fields are reached; changes to a good document; one CBOR
 * item; a response of a module. Checked besides what the sanitizers see: nothing that
 * was not made by the mock is valid, views lie within the document, an output is
 * untouched when there is an error, the CBOR reader always moves on.
 */
#include <openssl/err.h>

#include "sr_attest.h"
#include "sr_mock_nsm.h"
#include "sr_nsm.h"

#define FUZZ_NAME "attest"
#define FUZZ_MAKE make_input
#define FUZZ_INPUT_BYTES (SR_EVIDENCE_DOC_BYTES_MAX + 1u)
#include "fuzz_main.h"

#define NOW 1796000000000u

static struct sr_mock_nsm *mock;
static struct sr_attest_root root;
static struct sr_attest_cache cache;
static unsigned char good[SR_EVIDENCE_DOC_BYTES_MAX];
static size_t good_bytes;

static void start(void)
{
	static const unsigned char words[32] = "thirty-two bytes of anything...";
	const struct sr_evidence_request request = { words, 32, words, 32, words, 32 };
	struct sr_evidence source;
	struct sr_mock_profile profile;
	const unsigned char *der;
	size_t der_bytes;

	sr_mock_profile_init(&profile, NOW);
	require(sr_mock_nsm_new(&mock, &profile) == 0, "no mock");
	sr_mock_nsm_time_set(mock, NOW);
	der = sr_mock_nsm_root(mock, &der_bytes);
	require(sr_attest_root_parse(&root, der, der_bytes) == 0, "no root");
	source = sr_mock_nsm_evidence(mock);
	require(source.attest(source.arg, good, &good_bytes, &request) == 0, "no document");
}

static void check_view(const struct sr_attest_view *view, const unsigned char *document,
		       size_t bytes)
{
	uintptr_t at = (uintptr_t)view->data, from = (uintptr_t)document;

	if (view->data)
		require(at >= from && at <= from + bytes && view->bytes <= from + bytes - at,
			"a view outside its document");
}

static void check_doc(const struct sr_attest_doc *doc, const unsigned char *document, size_t bytes)
{
	static const struct sr_attest_image image;
	struct sr_attest_nonce nonce = { 0 };
	struct sr_attest_expect expect = {
		.images = &image,
		.image_count = 1,
		.public_key = doc->public_key,
		.user_data = doc->user_data,
	};

	check_view(&doc->public_key, document, bytes);
	check_view(&doc->user_data, document, bytes);
	check_view(&doc->nonce, document, bytes);
	require(doc->cert_count >= 2 && doc->cert_count <= SR_ATTEST_CERTS_MAX, "certificates");
	for (size_t i = 0; i < doc->cert_count; i++)
		check_view(&doc->certs[i], document, bytes);
	require(doc->pcr_mask && doc->timestamp_ms && doc->module_id[0] &&
			memchr(doc->module_id, 0, sizeof doc->module_id),
		"a field");
	require(sr_attest_accept(doc, &expect, &nonce, NOW) != SR_ATTEST_OK, "zeros accepted");
}

static enum sr_attest_code judge(const unsigned char *document, size_t bytes)
{
	static struct sr_attest_doc doc, untouched;
	enum sr_attest_code parsed, code;

	memset(&doc, 0x5a, sizeof doc);
	memset(&untouched, 0x5a, sizeof untouched);
	parsed = sr_attest_parse(&doc, document, bytes);
	if (parsed == SR_ATTEST_OK)
		check_doc(&doc, document, bytes);
	else
		require(!memcmp(&doc, &untouched, sizeof doc), "output touched by a failure");
	memset(&doc, 0x5a, sizeof doc);
	code = sr_attest_document(&doc, document, bytes, &root, NOW, &cache);
	require(parsed == SR_ATTEST_OK || code == parsed, "parsed differently");
	require(code == SR_ATTEST_OK || !memcmp(&doc, &untouched, sizeof doc),
		"output touched by a failure");
	require(ERR_peek_error() == 0, "an error left in OpenSSL's queue");
	return code;
}

/* Signing costs a thousand times what parsing does: only what parses is signed. */
static void as_payload(const uint8_t *data, size_t bytes)
{
	static unsigned char document[SR_EVIDENCE_DOC_BYTES_MAX];
	static const unsigned char head[] = { 0x84, 0x44, 0xa1, 0x01, 0x38, 0x22, 0xa0, 0x59 };
	struct sr_attest_doc doc;
	size_t at = sizeof head;

	if (bytes > sizeof document - 128)
		return;
	memcpy(document, head, sizeof head);
	document[at++] = (unsigned char)(bytes >> 8);
	document[at++] = (unsigned char)bytes;
	memcpy(document + at, data, bytes);
	at += bytes;
	document[at++] = 0x58;
	document[at++] = SR_COSE_SIGNATURE_BYTES;
	memset(document + at, 0, SR_COSE_SIGNATURE_BYTES);
	at += SR_COSE_SIGNATURE_BYTES;
	if (sr_attest_parse(&doc, document, at) != SR_ATTEST_OK)
		return;
	check_doc(&doc, document, at);
	require(sr_mock_nsm_sign(mock, document, &at, data, bytes) == 0, "cannot sign");
	(void)judge(document, at);
}

/* Offset and value, three bytes a change; a change back to what it was is none. */
static void as_changes(const uint8_t *data, size_t bytes)
{
	unsigned char *document = malloc(good_bytes);
	enum sr_attest_code code;

	require(document, "no memory");
	memcpy(document, good, good_bytes);
	for (; bytes >= 3; data += 3, bytes -= 3)
		document[(data[0] | (size_t)data[1] << 8) % good_bytes] = data[2];
	code = judge(document, good_bytes);
	require((code == SR_ATTEST_OK) == !memcmp(document, good, good_bytes),
		"a changed document is valid, or an unchanged one is not");
	free(document);
}

static void as_item(const uint8_t *data, size_t bytes)
{
	struct sr_cbor reader = { .data = data, .bytes = bytes };
	struct sr_cbor_item item;
	size_t left = bytes;

	while (sr_cbor_next(&reader, &item) == 0) {
		require(reader.bytes < left && reader.data + reader.bytes == data + bytes,
			"the reader does not move on");
		left = reader.bytes;
		if (sr_cbor_skip(&reader, &item))
			break;
		require(reader.bytes <= left && reader.data + reader.bytes == data + bytes,
			"the reader went astray");
		left = reader.bytes;
	}
}

static void as_response(const uint8_t *data, size_t bytes)
{
	static unsigned char document[SR_EVIDENCE_DOC_BYTES_MAX];
	static struct sr_nsm_message message;
	unsigned char small[SR_NSM_RANDOM_BYTES_MAX];
	struct sr_evidence_module info;
	size_t got;
	bool locked;

	if (bytes > sizeof message.data)
		return;
	message.bytes = bytes;
	memcpy(message.data, data, bytes);
	if (sr_nsm_get_describe(&info, &message) == 0)
		require(info.id[0] && memchr(info.id, 0, sizeof info.id),
			"a module id");
	if (sr_nsm_get_random(small, &got, &message) == 0)
		require(got > 0 && got <= sizeof small, "random bytes");
	if (sr_nsm_get_attest(document, &got, &message) == 0)
		require(got > 0 && got <= sizeof document, "a document");
	if (sr_nsm_get_pcr(small, &locked, &message) == 0)
		require(sr_nsm_get_lock(&message) != 0, "one answer for two calls");
	if (sr_nsm_get_extend(small, &message) == 0)
		require(sr_nsm_get_pcr(small, &locked, &message) != 0, "one answer for two calls");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static void (*const kinds[])(const uint8_t *data, size_t bytes) = { as_payload, as_changes,
									    as_item, as_response };
	uint8_t *copy;

	if (!mock)
		start();
	if (bytes == 0)
		return 0;
	/* Of its own size, so that a read behind the end is seen. */
	copy = malloc(bytes);
	require(copy, "no memory");
	memcpy(copy, data, bytes);
	if (data[0] % 5 < 4)
		kinds[data[0] % 5](copy + 1, bytes - 1);
	else
		(void)judge(copy + 1, bytes - 1);
	free(copy);
	return 0;
}

#ifdef SR_FUZZ_MAIN
/* Something of what each kind takes, with some of it changed. */
static size_t make_input(uint8_t *input, size_t room)
{
	static const char response[] = "\xa1\x6b"
				       "DescribePCR\xa2\x64lock\xf5\x64"
				       "data\x41x";
	uint8_t kind = (uint8_t)(fuzz_random() % 5);
	size_t bytes = 0;

	if (!mock)
		start();
	if (kind == 3) {
		memcpy(input + 1, response, sizeof response - 1);
		bytes = sizeof response - 1;
	} else if (kind == 1) {
		for (; bytes < fuzz_random() % 12 * 3; bytes++)
			input[1 + bytes] = (uint8_t)fuzz_random();
	} else {
		size_t skip = kind == 0 ? 10 : 0;

		bytes = good_bytes - skip < room - 1 ? good_bytes - skip : room - 1;
		memcpy(input + 1, good + skip, bytes);
	}
	input[0] = kind;
	for (uint64_t n = fuzz_random() % 8; n && bytes; n--)
		input[1 + fuzz_random() % bytes] = (uint8_t)fuzz_random();
	return 1 + bytes;
}
#endif
