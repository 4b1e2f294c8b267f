/* SPDX-License-Identifier: MIT */
/*
 * Judging attestation documents: those of real Nitro modules in tests/vectors/nitro,
 * and those of a mock that is told to break one rule at a time.
 */
#include <criterion/criterion.h>

#include <fcntl.h>
#include <openssl/bn.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/objects.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <jansson.h>

#include "sr_attest.h"
#include "sr_ctl_attest.h"
#include "sr_mock_nsm.h"

#define FOLDER "tests/vectors/nitro/"
#define ROOM (SR_ATTEST_BYTES_MAX + 64)
#define NOW 1796000000000u /* any time will do for the mock */

/* OpenSSL's allocations: after so many there is one that fails, and all behind it. */
static long allocations_left = -1;

static bool allocation_fails(void)
{
	if (allocations_left > 0)
		allocations_left--;
	return allocations_left == 0;
}

static void *crypto_malloc(size_t bytes, const char *file, int line)
{
	(void)file;
	(void)line;
	return allocation_fails() ? NULL : malloc(bytes);
}

static void *crypto_realloc(void *mem, size_t bytes, const char *file, int line)
{
	(void)file;
	(void)line;
	return allocation_fails() ? NULL : realloc(mem, bytes);
}

static void crypto_free(void *mem, const char *file, int line)
{
	(void)file;
	(void)line;
	free(mem);
}

/* Before anything of OpenSSL's is called. */
__attribute__((constructor)) static void watch_allocations(void)
{
	(void)CRYPTO_set_mem_functions(crypto_malloc, crypto_realloc, crypto_free);
}

struct bytes {
	size_t bytes;
	unsigned char data[ROOM];
};

static struct bytes loaded(const char *name)
{
	struct bytes b = { 0 };
	char path[256];
	FILE *file;

	(void)snprintf(path, sizeof path, FOLDER "%s", name);
	file = fopen(path, "rb");
	cr_assert_not_null(file, "%s", path);
	b.bytes = fread(b.data, 1, sizeof b.data, file);
	(void)fclose(file);
	return b;
}

static json_t *nitro_index(void)
{
	json_error_t error;
	json_t *root = json_load_file(FOLDER "index.json", 0, &error);

	cr_assert_not_null(root, "%s", error.text);
	cr_assert_eq(json_array_size(root), 10);
	return root;
}

static const char *text_of(const json_t *entry, const char *key)
{
	return json_string_value(json_object_get(entry, key));
}

static uint64_t made_at(const json_t *entry)
{
	return (uint64_t)json_integer_value(json_object_get(entry, "timestamp_ms"));
}

/* Judges, and sees that a refusal leaves the output and OpenSSL's queue alone. */
static enum sr_attest_code judge(const struct bytes *b, const struct sr_attest_root *root,
				 uint64_t now_ms, struct sr_attest_cache *cache)
{
	static struct sr_attest_doc doc, untouched;
	enum sr_attest_code code;

	memset(&doc, 0xa5, sizeof doc);
	memset(&untouched, 0xa5, sizeof untouched);
	code = sr_attest_parse(&doc, b->data, b->bytes);
	cr_assert((code == SR_ATTEST_OK) == (memcmp(&doc, &untouched, sizeof doc) != 0));
	memset(&doc, 0xa5, sizeof doc);
	code = sr_attest_document(&doc, b->data, b->bytes, root, now_ms, cache);
	cr_assert((code == SR_ATTEST_OK) == (memcmp(&doc, &untouched, sizeof doc) != 0));
	cr_assert_eq(ERR_peek_error(), 0);
	return code;
}

#define assert_code(got, want)                                                     \
	do {                                                                       \
		enum sr_attest_code got_ = (got);                                  \
		cr_assert_eq(got_, want, "%s, should be %s", sr_attest_text(got_), \
			     sr_attest_text(want));                                \
	} while (0)

/* ---- documents of real modules ---- */

static struct sr_attest_root aws(void)
{
	struct sr_attest_root root;

	sr_attest_root_aws(&root);
	return root;
}

Test(nitro, each_document_is_judged_right_at_the_time_it_was_made)
{
	struct sr_attest_root root = aws();
	json_t *index = nitro_index(), *entry;
	size_t i, valid = 0;

	json_array_foreach(index, i, entry) {
		struct bytes b = loaded(text_of(entry, "file"));
		int64_t code = json_integer_value(json_object_get(entry, "code"));

		assert_code(judge(&b, &root, made_at(entry), NULL), (enum sr_attest_code)code);
		valid += code == 0;
	}
	cr_assert_eq(valid, 8);
	json_decref(index);
}

Test(nitro, each_document_is_refused_now_as_expired)
{
	struct sr_attest_root root = aws();
	json_t *index = nitro_index(), *entry;
	size_t i;

	json_array_foreach(index, i, entry) {
		struct bytes b = loaded(text_of(entry, "file"));

		if (json_is_true(json_object_get(entry, "valid")))
			assert_code(judge(&b, &root, NOW, NULL), SR_ATTEST_EXPIRED);
	}
	json_decref(index);
}

static void check_bytes(const json_t *entry, const char *key, const struct sr_attest_view *view)
{
	const json_t *want = json_object_get(entry, key);

	cr_assert((view->data != NULL) == json_is_integer(want), "%s", key);
	cr_assert_eq(view->bytes, (size_t)json_integer_value(want));
}

Test(nitro, the_fields_are_what_the_index_says)
{
	json_t *index = nitro_index(), *entry;
	size_t i;

	json_array_foreach(index, i, entry) {
		struct bytes b = loaded(text_of(entry, "file"));
		char pcr0[2 * SR_ATTEST_PCR_BYTES + 1];
		struct sr_attest_doc doc;

		if (!json_is_true(json_object_get(entry, "valid")))
			continue;
		assert_code(sr_attest_parse(&doc, b.data, b.bytes), SR_ATTEST_OK);
		cr_assert_str_eq(doc.module_id, text_of(entry, "module_id"));
		cr_assert_eq(doc.timestamp_ms, made_at(entry));
		cr_assert_eq(__builtin_popcount(doc.pcr_mask),
			     json_integer_value(json_object_get(entry, "pcr_count")));
		for (size_t j = 0; j < SR_ATTEST_PCR_BYTES; j++)
			(void)snprintf(pcr0 + 2 * j, 3, "%02x", doc.pcr[0][j]);
		cr_assert_str_eq(pcr0, text_of(entry, "pcr0"));
		cr_assert_eq(doc.cert_count, 5);
		check_bytes(entry, "public_key_len", &doc.public_key);
		check_bytes(entry, "user_data_len", &doc.user_data);
		check_bytes(entry, "nonce_len", &doc.nonce);
	}
	json_decref(index);
}

/* Every @stride-th byte, beginning with @first; the chain is cached, as it would be
 * for whoever got the unchanged document before. */
static void check_changes(const char *name, uint64_t at_ms, size_t first, size_t stride)
{
	struct sr_attest_cache cache = { 0 };
	struct sr_attest_root root = aws();
	struct bytes b = loaded(name);

	assert_code(judge(&b, &root, at_ms, &cache), SR_ATTEST_OK);
	for (size_t i = first; i < b.bytes; i += stride) {
		unsigned char flip = (unsigned char)(1u << i % 8);

		b.data[i] ^= flip;
		cr_assert_neq(judge(&b, &root, at_ms, &cache), SR_ATTEST_OK, "%s, byte %zu", name,
			      i);
		b.data[i] ^= flip;
	}
	assert_code(judge(&b, &root, at_ms, &cache), SR_ATTEST_OK);
}

/* The time goes into P-384, which is not sanitized: there each byte is the plain build's. */
#ifdef __SANITIZE_ADDRESS__
#define STRIDE 5u
#else
#define STRIDE 1u
#endif

Test(nitro, no_byte_of_a_document_can_be_changed)
{
	check_changes("marlin_aws.cbor", 1734075478960, 0, STRIDE);
}

Test(nitro, nor_any_that_was_tried_of_the_others)
{
	json_t *index = nitro_index(), *entry;
	size_t i;

	json_array_foreach(index, i, entry)
		if (json_is_true(json_object_get(entry, "valid")))
			check_changes(text_of(entry, "file"), made_at(entry), i, 31);
	json_decref(index);
}

Test(nitro, no_document_can_be_cut_short)
{
	struct bytes b = loaded("distributedlab_0.cbor"); /* maps of indefinite length */
	struct sr_attest_doc doc;

	for (size_t n = 0; n < b.bytes; n++)
		cr_assert_neq(sr_attest_parse(&doc, b.data, n), SR_ATTEST_OK, "%zu bytes", n);
}

Test(nitro, debug_documents_are_valid_and_acceptable_to_nobody)
{
	static const struct sr_attest_image zeros; /* even when somebody allows zeros */
	struct sr_attest_expect expect = { .images = &zeros, .image_count = 1 };
	json_t *index = nitro_index(), *entry;
	size_t i, debug = 0;

	json_array_foreach(index, i, entry) {
		struct bytes b = loaded(text_of(entry, "file"));
		struct sr_attest_nonce nonce = { 0 };
		struct sr_attest_doc doc;

		if (!json_is_true(json_object_get(entry, "valid")))
			continue;
		assert_code(sr_attest_parse(&doc, b.data, b.bytes), SR_ATTEST_OK);
		if (json_is_true(json_object_get(entry, "debug"))) {
			assert_code(sr_attest_accept(&doc, &expect, &nonce, made_at(entry)),
				    SR_ATTEST_DEBUG);
			debug++;
		}
	}
	cr_assert_eq(debug, 5);
	json_decref(index);
}

Test(nitro, the_pinned_root_is_the_certificate_that_aws_publishes)
{
	unsigned char *twice;
	struct bytes pem = loaded("aws_nitro_root_g1.pem");
	struct sr_attest_root root, pinned = aws();

	cr_assert_eq(sr_attest_root_parse(&root, pem.data, pem.bytes), 0);
	cr_assert_arr_eq(root.sha256, pinned.sha256, sizeof root.sha256);
	cr_assert_eq(sr_attest_root_parse(&root, pem.data, 100), -EINVAL);
	twice = calloc(2, pem.bytes);
	memcpy(twice, pem.data, pem.bytes);
	memcpy(twice + pem.bytes, pem.data, pem.bytes);
	cr_assert_eq(sr_attest_root_parse(&root, twice, 2 * pem.bytes), -EINVAL, "a bundle");
	free(twice);
	cr_assert_eq(sr_attest_root_parse(&root, pem.data, 0), -EINVAL);
}

/* ---- the mock, as it should be and broken ---- */

static const unsigned char public_key[32] = { 'k' };
static const unsigned char user_data[32] = { 'u' };
static const unsigned char nonce_value[SR_ATTEST_NONCE_BYTES] = { 'n' };

static const struct sr_evidence_request request = {
	.nonce = nonce_value,
	.nonce_bytes = sizeof nonce_value,
	.user_data = user_data,
	.user_data_bytes = sizeof user_data,
	.public_key = public_key,
	.public_key_bytes = sizeof public_key,
};

static struct sr_mock_nsm *mock;
static struct sr_attest_root mock_root;
static struct sr_attest_image image;
static struct sr_attest_expect expect;
static struct bytes document;
static struct sr_attest_doc parsed;

static void start_mock(const struct sr_mock_profile *profile)
{
	const unsigned char *der;
	size_t der_bytes;

	sr_mock_nsm_delete(mock);
	cr_assert_eq(sr_mock_nsm_new(&mock, profile), 0);
	sr_mock_nsm_time_set(mock, NOW);
	der = sr_mock_nsm_root(mock, &der_bytes);
	cr_assert_eq(sr_attest_root_parse(&mock_root, der, der_bytes), 0);
}

static struct bytes attested(const struct sr_evidence_request *what)
{
	struct sr_evidence source = sr_mock_nsm_evidence(mock);
	struct bytes b = { 0 };

	cr_assert_eq(source.attest(source.arg, b.data, &b.bytes, what), 0);
	return b;
}

static void setup(void)
{
	struct sr_mock_profile profile;
	struct sr_evidence source;

	sr_mock_profile_init(&profile, NOW);
	start_mock(&profile);
	source = sr_mock_nsm_evidence(mock);
	image = (struct sr_attest_image){ 0 };
	cr_assert_eq(source.pcr(source.arg, image.pcr0, 0), 0);
	cr_assert_eq(source.pcr(source.arg, image.pcr1, 1), 0);
	cr_assert_eq(source.pcr(source.arg, image.pcr2, 2), 0);
	expect = (struct sr_attest_expect){
		.images = &image,
		.image_count = 1,
		.public_key = { public_key, sizeof public_key },
		.user_data = { user_data, sizeof user_data },
		.age_ms_max = 60000,
	};
	document = attested(&request);
	assert_code(sr_attest_document(&parsed, document.data, document.bytes, &mock_root, NOW,
				       NULL),
		    SR_ATTEST_OK);
}

static void teardown(void)
{
	sr_mock_nsm_delete(mock);
	mock = NULL;
}

TestSuite(attest, .init = setup, .fini = teardown);
TestSuite(attest_chain, .init = setup, .fini = teardown);
TestSuite(attest_accept, .init = setup, .fini = teardown);
TestSuite(attest_ctl, .init = setup, .fini = teardown);

Test(attest, each_code_has_a_text_of_its_own)
{
	for (int i = 0; i < SR_ATTEST_CODES; i++) {
		const char *text = sr_attest_text((enum sr_attest_code)i);

		cr_assert_str_neq(text, "unknown code", "%d", i);
		cr_assert_null(strchr(text, '\n'));
		for (int j = 0; j < i; j++)
			cr_assert_str_neq(text, sr_attest_text((enum sr_attest_code)j));
	}
	cr_assert_str_eq(sr_attest_text(SR_ATTEST_CODES), "unknown code");
}

static struct bytes raw(const char *data, size_t bytes)
{
	struct bytes b = { .bytes = bytes };

	memcpy(b.data, data, bytes);
	return b;
}
#define BYTES(text) raw(text, sizeof(text) - 1)

/* Where @what stands in @b, which has to be there. */
static size_t found(const struct bytes *b, const struct bytes *what)
{
	const unsigned char *at = memmem(b->data, b->bytes, what->data, what->bytes);

	cr_assert_not_null(at);
	return (size_t)(at - b->data);
}

static struct bytes spliced(const struct bytes *b, size_t at, size_t remove,
			    const struct bytes *insert)
{
	struct bytes out = { .bytes = b->bytes - remove + insert->bytes };

	cr_assert(at + remove <= b->bytes && out.bytes <= sizeof out.data);
	memcpy(out.data, b->data, at);
	memcpy(out.data + at, insert->data, insert->bytes);
	memcpy(out.data + at + insert->bytes, b->data + at + remove, b->bytes - at - remove);
	return out;
}

static struct bytes replaced(const struct bytes *b, struct bytes what, struct bytes with)
{
	return spliced(b, found(b, &what), what.bytes, &with);
}

static struct bytes payload(void)
{
	return raw((const char *)parsed.cose.payload, parsed.cose.payload_bytes);
}

/* Signed again, so that nothing but the payload is wrong. */
static enum sr_attest_code judge_payload(const struct bytes *p)
{
	struct bytes b = { 0 };

	cr_assert_eq(sr_mock_nsm_sign(mock, b.data, &b.bytes, p->data, p->bytes), 0);
	return judge(&b, &mock_root, NOW, NULL);
}

static enum sr_attest_code judge_replaced(struct bytes what, struct bytes with)
{
	struct bytes p = payload();

	p = replaced(&p, what, with);
	return judge_payload(&p);
}

Test(attest, documents_without_end_or_without_bytes_are_not_parsed)
{
	struct bytes b = document;

	b.bytes = 0;
	assert_code(judge(&b, &mock_root, NOW, NULL), SR_ATTEST_BYTES);
	b.bytes = SR_ATTEST_BYTES_MAX + 1;
	assert_code(judge(&b, &mock_root, NOW, NULL), SR_ATTEST_BYTES);
	b.bytes = SR_ATTEST_BYTES_MAX;
	assert_code(judge(&b, &mock_root, NOW, NULL), SR_ATTEST_TRAILING);
}

static enum sr_attest_code judge_cose(size_t at, size_t remove, struct bytes insert)
{
	struct bytes b = spliced(&document, at, remove, &insert);

	return judge(&b, &mock_root, NOW, NULL);
}

/* 84 44 a1013822 a0 59 .... payload 58 60 signature */
Test(attest, what_is_no_cose_sign1_of_es384_is_refused)
{
	size_t signature = document.bytes - SR_COSE_SIGNATURE_BYTES - 2;

	assert_code(judge_cose(0, 0, BYTES("\xd2")), SR_ATTEST_OK);
	assert_code(judge_cose(0, 0, BYTES("\xd1")), SR_ATTEST_COSE);
	assert_code(judge_cose(0, 0, BYTES("\xd2\xd2")), SR_ATTEST_COSE);
	assert_code(judge_cose(0, 1, BYTES("\x83")), SR_ATTEST_COSE);
	assert_code(judge_cose(0, 1, BYTES("\x85")), SR_ATTEST_COSE);
	assert_code(judge_cose(0, 1, BYTES("\xa4")), SR_ATTEST_COSE);
	assert_code(judge_cose(0, 1, BYTES("\x1c")), SR_ATTEST_CBOR);
	assert_code(judge_cose(1, 1, BYTES("\x64")), SR_ATTEST_COSE);
	assert_code(judge_cose(7, 1, BYTES("\x79")), SR_ATTEST_COSE);
	assert_code(judge_cose(7, 1, BYTES("\x5f\x59")), SR_ATTEST_CBOR);
	assert_code(judge_cose(1, 5, BYTES("\x43\xa1\x01\x26")), SR_ATTEST_ALGORITHM);
	assert_code(judge_cose(1, 5, BYTES("\x44\xa1\x01\x38\x23")), SR_ATTEST_ALGORITHM);
	assert_code(judge_cose(1, 5, BYTES("\x44\xa1\x01\x18\x22")), SR_ATTEST_ALGORITHM);
	assert_code(judge_cose(1, 5, BYTES("\x44\xa1\x02\x38\x22")), SR_ATTEST_ALGORITHM);
	assert_code(judge_cose(1, 5, BYTES("\x41\xa0")), SR_ATTEST_ALGORITHM);
	assert_code(judge_cose(1, 5, BYTES("\x40")), SR_ATTEST_ALGORITHM);
	assert_code(judge_cose(1, 5, BYTES("\x46\xa2\x01\x38\x22\x02\x80")), SR_ATTEST_ALGORITHM);
	assert_code(judge_cose(1, 5, BYTES("\x45\xa1\x01\x38\x22\x00")), SR_ATTEST_ALGORITHM);
	assert_code(judge_cose(1, 5, BYTES("\x44\xa2\x01\x38\x22")), SR_ATTEST_ALGORITHM);
	assert_code(judge_cose(6, 1, BYTES("\xa1\x01\x38\x22")), SR_ATTEST_ALGORITHM);
	assert_code(judge_cose(6, 1, BYTES("\x80")), SR_ATTEST_COSE);
	assert_code(judge_cose(document.bytes, 0, BYTES("\x00")), SR_ATTEST_TRAILING);
	assert_code(judge_cose(signature, 3, BYTES("\x58\x5f")), SR_ATTEST_SIGNATURE_BYTES);
	assert_code(judge_cose(signature, 2, BYTES("\x58\x61\x00")), SR_ATTEST_SIGNATURE_BYTES);
	assert_code(judge_cose(signature, 98, BYTES("\x40")), SR_ATTEST_SIGNATURE_BYTES);
}

Test(attest, an_array_of_indefinite_length_is_legal_when_it_ends_in_time)
{
	struct bytes b = document, end = BYTES("\xff"), five = BYTES("\x00\xff");

	b.data[0] = 0x9f;
	b = spliced(&b, b.bytes, 0, &end);
	assert_code(judge(&b, &mock_root, NOW, NULL), SR_ATTEST_OK);
	b = spliced(&b, b.bytes - 1, 1, &five);
	assert_code(judge(&b, &mock_root, NOW, NULL), SR_ATTEST_COSE);
}

Test(attest, a_high_s_is_legal_and_a_zero_is_not)
{
	unsigned char *s = document.data + document.bytes - 48;
	struct bytes zero = document;
	BIGNUM *order = NULL, *number = BN_bin2bn(s, 48, NULL);

	cr_assert(BN_hex2bn(&order, "ffffffffffffffffffffffffffffffffffffffffffffffff"
				    "c7634d81f4372ddf581a0db248b0a77aecec196accc52973"));
	cr_assert(BN_sub(number, order, number) && BN_bn2binpad(number, s, 48) == 48);
	assert_code(judge(&document, &mock_root, NOW, NULL), SR_ATTEST_OK);
	cr_assert(BN_add(number, number, order));
	if (BN_num_bits(number) <= 384) {
		cr_assert_eq(BN_bn2binpad(number, s, 48), 48);
		assert_code(judge(&document, &mock_root, NOW, NULL), SR_ATTEST_SIGNATURE);
	}
	BN_free(number);
	BN_free(order);
	memset(zero.data + zero.bytes - 96, 0, 48);
	assert_code(judge(&zero, &mock_root, NOW, NULL), SR_ATTEST_SIGNATURE);
	memset(zero.data + zero.bytes - 48, 0, 48);
	assert_code(judge(&zero, &mock_root, NOW, NULL), SR_ATTEST_SIGNATURE);
}

Test(attest, each_mandatory_field_has_to_be_there)
{
	static const char *const names[] = { "module_id", "digest",      "timestamp",
					     "pcrs",      "certificate", "cabundle" };

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		struct bytes name = raw(names[i], strlen(names[i])), other = name;

		other.data[0] ^= 0x20;
		assert_code(judge_replaced(name, other), SR_ATTEST_FIELD_ABSENT);
	}
}

Test(attest, each_field_has_one_type)
{
	assert_code(judge_replaced(BYTES("module_id\x78"), BYTES("module_id\x58")),
		    SR_ATTEST_FIELD_TYPE);
	assert_code(judge_replaced(BYTES("i-mock"), BYTES("i-\x1b[0m")), SR_ATTEST_FIELD_TYPE);
	assert_code(judge_replaced(BYTES("digest\x66"), BYTES("digest\x46")), SR_ATTEST_FIELD_TYPE);
	assert_code(judge_replaced(BYTES("timestamp\x1b"), BYTES("timestamp\x3b")),
		    SR_ATTEST_FIELD_TYPE);
	assert_code(judge_replaced(BYTES("pcrs\xb0"), BYTES("pcrs\x90")), SR_ATTEST_FIELD_TYPE);
	assert_code(judge_replaced(BYTES("pcrs\xb0\x00"), BYTES("pcrs\xb0\x20")),
		    SR_ATTEST_FIELD_TYPE);
	assert_code(judge_replaced(BYTES("pcrs\xb0\x00\x58"), BYTES("pcrs\xb0\x00\x78")),
		    SR_ATTEST_FIELD_TYPE);
	assert_code(judge_replaced(BYTES("certificate\x59"), BYTES("certificate\x79")),
		    SR_ATTEST_FIELD_TYPE);
	assert_code(judge_replaced(BYTES("cabundle\x82"), BYTES("cabundle\xa1")),
		    SR_ATTEST_FIELD_TYPE);
	assert_code(judge_replaced(BYTES("cabundle\x82\x59"), BYTES("cabundle\x82\x79")),
		    SR_ATTEST_FIELD_TYPE);
	assert_code(judge_replaced(BYTES("public_key\x58"), BYTES("public_key\x78")),
		    SR_ATTEST_FIELD_TYPE);
	assert_code(judge_replaced(BYTES("user_data\x58"), BYTES("user_data\x78")),
		    SR_ATTEST_FIELD_TYPE);
	assert_code(judge_replaced(BYTES("nonce\x58"), BYTES("nonce\x78")), SR_ATTEST_FIELD_TYPE);
	assert_code(judge_replaced(BYTES("\x69module_id"), BYTES("\x49module_id")),
		    SR_ATTEST_FIELD_TYPE);
}

/* @name and a byte string of @bytes, in place of the 32 that it has. */
static enum sr_attest_code judge_string(const char *name, size_t bytes)
{
	struct bytes p = payload(), key = raw(name, strlen(name));
	struct bytes value = { .bytes = 3 + bytes,
			       .data = { 0x59, (unsigned char)(bytes >> 8),
					 (unsigned char)bytes } };

	p = spliced(&p, found(&p, &key) + key.bytes, 2 + 32, &value);
	return judge_payload(&p);
}

Test(attest, each_field_keeps_its_limits)
{
	struct bytes long_id = { .bytes = 2 + 129, .data = { 0x78, 129 } };
	struct bytes p = payload(), key = BYTES("module_id"), empty = BYTES("\x60");
	size_t value = found(&p, &key) + key.bytes;
	struct bytes q = spliced(&p, value, 2 + 26, &empty);

	assert_code(judge_payload(&q), SR_ATTEST_FIELD_BYTES);
	memset(long_id.data + 2, 'x', 129);
	q = spliced(&p, value, 2 + 26, &long_id);
	assert_code(judge_payload(&q), SR_ATTEST_FIELD_BYTES);
	key = BYTES("timestamp");
	q = BYTES("\x00");
	q = spliced(&p, found(&p, &key) + key.bytes, 9, &q);
	assert_code(judge_payload(&q), SR_ATTEST_FIELD_BYTES);
	assert_code(judge_string("public_key", 1024), SR_ATTEST_OK);
	assert_code(judge_string("public_key", 1025), SR_ATTEST_FIELD_BYTES);
	assert_code(judge_string("public_key", 0), SR_ATTEST_FIELD_BYTES);
	assert_code(judge_string("user_data", 512), SR_ATTEST_OK);
	assert_code(judge_string("user_data", 513), SR_ATTEST_FIELD_BYTES);
	assert_code(judge_string("user_data", 0), SR_ATTEST_OK);
	assert_code(judge_string("nonce", 512), SR_ATTEST_OK);
	assert_code(judge_string("nonce", 513), SR_ATTEST_FIELD_BYTES);
}

Test(attest, registers_are_numbered_and_have_48_bytes)
{
	assert_code(judge_replaced(BYTES("SHA384"), BYTES("SHA256")), SR_ATTEST_DIGEST);
	assert_code(judge_replaced(BYTES("\x0f\x58\x30"), BYTES("\x18\x1f\x58\x30")), SR_ATTEST_OK);
	assert_code(judge_replaced(BYTES("\x0f\x58\x30"), BYTES("\x18\x20\x58\x30")),
		    SR_ATTEST_PCRS);
	assert_code(judge_replaced(BYTES("\x0f\x58\x30\x00"), BYTES("\x0f\x58\x2f")),
		    SR_ATTEST_PCRS);
	assert_code(judge_replaced(BYTES("\x0f\x58\x30"), BYTES("\x0e\x58\x30")),
		    SR_ATTEST_FIELD_TWICE);
	assert_code(judge_replaced(BYTES("\x64pcrs"), BYTES("\x64pcrs\xa0\x64more")),
		    SR_ATTEST_PCRS);
}

Test(attest, a_field_stands_once)
{
	assert_code(judge_replaced(BYTES("user_data"), BYTES("module_id")), SR_ATTEST_FIELD_TWICE);
	assert_code(judge_replaced(BYTES("\x65nonce"), BYTES("\x69user_data")),
		    SR_ATTEST_FIELD_TWICE);
}

/* The payload with one more field of this value. */
static enum sr_attest_code judge_extra(struct bytes value)
{
	struct bytes p = payload(), key = BYTES("\x66"
						"future");

	p.data[0]++;
	p = spliced(&p, p.bytes, 0, &key);
	p = spliced(&p, p.bytes, 0, &value);
	return judge_payload(&p);
}

Test(attest, a_field_that_we_do_not_know_is_passed_over_whole)
{
	assert_code(judge_extra(BYTES("\x01")), SR_ATTEST_OK);
	assert_code(judge_extra(BYTES("\x80")), SR_ATTEST_OK);
	assert_code(judge_extra(BYTES("\xa0")), SR_ATTEST_OK);
	assert_code(judge_extra(BYTES("\x9f\xff")), SR_ATTEST_OK);
	assert_code(judge_extra(BYTES("\xbf\xff")), SR_ATTEST_OK);
	assert_code(judge_extra(BYTES(
			    "\xa2\x01\x82\x02\xf6\x63xyz\xbf\xf5\xc1\x1a\x00\x00\x00\x00\xff")),
		    SR_ATTEST_OK);
	assert_code(judge_extra(BYTES("\xfb\x00\x00\x00\x00\x00\x00\x00\x00")), SR_ATTEST_OK);
	assert_code(judge_extra(BYTES("\x81\x81\x81\x81\x81\x81\x81\x81\x00")), SR_ATTEST_OK);
	assert_code(judge_extra(BYTES("\x81\x81\x81\x81\x81\x81\x81\x81\x81\x00")), SR_ATTEST_CBOR);
	assert_code(judge_extra(BYTES("\xff")), SR_ATTEST_CBOR);
	assert_code(judge_extra(BYTES("\x81\xff")), SR_ATTEST_CBOR);
	assert_code(judge_extra(BYTES("\xbf\x01\xff")), SR_ATTEST_CBOR);
	assert_code(judge_extra(BYTES("\xbf\x01\xff\xff")), SR_ATTEST_CBOR);
	assert_code(judge_extra(BYTES("\x9b\xff\xff\xff\xff\xff\xff\xff\xff\x00")), SR_ATTEST_CBOR);
	assert_code(judge_extra(BYTES("\x5b\xff\xff\xff\xff\xff\xff\xff\xff\x00")), SR_ATTEST_CBOR);
	assert_code(judge_extra(BYTES("\x01\x02")), SR_ATTEST_TRAILING);
	assert_code(judge_extra(BYTES("")), SR_ATTEST_CBOR);
}

Test(attest, maps_and_arrays_of_indefinite_length_are_legal)
{
	struct bytes p = payload(), end = BYTES("\xff"),
		     key = BYTES("\x6b"
				 "certificate");

	p.data[0] = 0xbf;
	p = spliced(&p, p.bytes, 0, &end);
	p = replaced(&p, BYTES("pcrs\xb0"), BYTES("pcrs\xbf"));
	p = spliced(&p, found(&p, &key), 0, &end);
	p = replaced(&p, BYTES("cabundle\x82"), BYTES("cabundle\x9f"));
	key = BYTES("\x6apublic_key");
	p = spliced(&p, found(&p, &key), 0, &end);
	assert_code(judge_payload(&p), SR_ATTEST_OK);
	p.bytes--;
	assert_code(judge_payload(&p), SR_ATTEST_CBOR);
}

Test(attest, optional_fields_may_be_null_or_absent)
{
	static const struct sr_evidence_request nothing;
	struct bytes b = attested(&nothing), p = payload();
	struct sr_attest_doc doc;

	assert_code(judge(&b, &mock_root, NOW, NULL), SR_ATTEST_OK);
	assert_code(sr_attest_parse(&doc, b.data, b.bytes), SR_ATTEST_OK);
	cr_assert(!doc.nonce.data && !doc.public_key.data && !doc.user_data.data);
	p.bytes -= 6 + 2 + 32; /* the nonce is last */
	p.data[0]--;
	assert_code(judge_payload(&p), SR_ATTEST_OK);
}

/* ---- chains ---- */

static enum sr_attest_code judge_profile(const struct sr_mock_profile *profile)
{
	struct bytes b;

	start_mock(profile);
	b = attested(&request);
	return judge(&b, &mock_root, NOW, NULL);
}

static struct sr_mock_profile good(void)
{
	struct sr_mock_profile profile;

	sr_mock_profile_init(&profile, NOW);
	return profile;
}

#define spoil(which, member, value, want)              \
	do {                                           \
		struct sr_mock_profile p_ = good();    \
		p_.certs[which].member = value;        \
		assert_code(judge_profile(&p_), want); \
	} while (0)

Test(attest_chain, another_root_is_not_believed)
{
	struct sr_attest_root other = aws();
	struct sr_attest_cache cache = { 0 };

	assert_code(judge(&document, &other, NOW, NULL), SR_ATTEST_ROOT);
	assert_code(judge(&document, &mock_root, NOW, &cache), SR_ATTEST_OK);
	assert_code(judge(&document, &other, NOW, &cache), SR_ATTEST_ROOT);
	other = mock_root;
	start_mock(NULL);
	assert_code(judge(&document, &mock_root, NOW, &cache), SR_ATTEST_ROOT);
	assert_code(judge(&document, &other, NOW, &cache), SR_ATTEST_OK);
}

Test(attest_chain, every_key_is_on_p384_by_name)
{
	for (int i = 0; i < SR_MOCK_CERTS; i++) {
		spoil(i, curve, "P-256", SR_ATTEST_CERT_KEY);
		spoil(i, curve, "secp256k1", SR_ATTEST_CERT_KEY);
		spoil(i, spelt_out, true, SR_ATTEST_CERT_KEY);
	}
}

Test(attest_chain, every_certificate_is_of_version_3)
{
	for (int i = 0; i < SR_MOCK_CERTS; i++)
		spoil(i, version_2, true, SR_ATTEST_CERT_FORM);
}

Test(attest_chain, every_certificate_is_signed_with_sha384)
{
	for (int i = 0; i < SR_MOCK_CERTS; i++)
		spoil(i, digest, "SHA256", SR_ATTEST_CERT_ALGORITHM);
}

Test(attest_chain, only_a_ca_stands_above_and_none_at_the_end)
{
	for (int i = 0; i < SR_MOCK_LEAF; i++) {
		spoil(i, constraints, NULL, SR_ATTEST_CERT_CONSTRAINTS);
		spoil(i, constraints, "critical,CA:FALSE", SR_ATTEST_CERT_CONSTRAINTS);
	}
	spoil(SR_MOCK_LEAF, constraints, NULL, SR_ATTEST_CERT_CONSTRAINTS);
	spoil(SR_MOCK_LEAF, constraints, "critical,CA:TRUE", SR_ATTEST_CERT_CONSTRAINTS);
}

Test(attest_chain, no_path_is_longer_than_it_may_be)
{
	spoil(SR_MOCK_ROOT, constraints, "critical,CA:TRUE,pathlen:0", SR_ATTEST_CERT_PATH);
	spoil(SR_MOCK_ROOT, constraints, "critical,CA:TRUE,pathlen:1", SR_ATTEST_OK);
	spoil(SR_MOCK_INTERMEDIATE, constraints, "critical,CA:TRUE", SR_ATTEST_OK);
	spoil(SR_MOCK_LEAF, constraints, "critical,CA:FALSE,pathlen:0", SR_ATTEST_CERT_PATH);
}

Test(attest_chain, a_key_is_used_for_what_it_may_be)
{
	for (int i = 0; i < SR_MOCK_LEAF; i++) {
		spoil(i, usage, NULL, SR_ATTEST_CERT_USAGE);
		spoil(i, usage, "critical,digitalSignature,cRLSign", SR_ATTEST_CERT_USAGE);
	}
	spoil(SR_MOCK_LEAF, usage, NULL, SR_ATTEST_CERT_USAGE);
	spoil(SR_MOCK_LEAF, usage, "nonRepudiation", SR_ATTEST_CERT_USAGE);
	spoil(SR_MOCK_LEAF, usage, "digitalSignature,keyCertSign", SR_ATTEST_CERT_USAGE);
}

Test(attest_chain, an_unknown_critical_extension_is_refused_and_another_is_not)
{
	for (int i = 0; i < SR_MOCK_CERTS; i++) {
		struct sr_mock_profile p = good();

		p.certs[i].extra_nid = NID_name_constraints;
		p.certs[i].extra = "critical,permitted;DNS:example.com";
		assert_code(judge_profile(&p), SR_ATTEST_CERT_CRITICAL);
		p.certs[i].extra = "permitted;DNS:example.com";
		assert_code(judge_profile(&p), SR_ATTEST_OK);
	}
}

Test(attest_chain, each_is_issued_and_signed_by_the_one_above)
{
	for (int i = SR_MOCK_INTERMEDIATE; i < SR_MOCK_CERTS; i++) {
		spoil(i, issuer, "somebody else", SR_ATTEST_CERT_ISSUER);
		spoil(i, signs_itself, true, SR_ATTEST_CERT_SIGNATURE);
	}
}

Test(attest_chain, a_certificate_is_der_and_nothing_behind_it)
{
	struct bytes p = payload(), key = BYTES("certificate\x59"), more = BYTES("\x00");
	size_t at = found(&p, &key) + key.bytes;
	size_t bytes = (size_t)p.data[at] << 8 | p.data[at + 1];

	p = spliced(&p, at + 2 + bytes, 0, &more);
	p.data[at] = (unsigned char)((bytes + 1) >> 8);
	p.data[at + 1] = (unsigned char)(bytes + 1);
	assert_code(judge_payload(&p), SR_ATTEST_CERT_FORM);
	p = payload();
	p.data[at + 2] = 0x31;
	assert_code(judge_payload(&p), SR_ATTEST_CERT_FORM);
}

Test(attest_chain, it_has_a_root_a_leaf_and_not_too_many_between)
{
	struct bytes p = payload(), key = BYTES("cabundle\x82"), next = BYTES("\x6apublic_key");
	struct bytes one = BYTES("\x59\x00\x01\x30"), none = { 0 }, seven = { 0 };
	size_t at = found(&p, &key) + key.bytes, end = found(&p, &next);
	struct bytes q = spliced(&p, at, end - at, &none), b = { 0 };

	q.data[at - 1] = 0x80;
	assert_code(judge_payload(&q), SR_ATTEST_CERTS);
	cr_assert_eq(sr_mock_nsm_sign(mock, b.data, &b.bytes, q.data, q.bytes), 0);
	assert_code(sr_attest_parse(&parsed, b.data, b.bytes), SR_ATTEST_CERTS);
	for (size_t i = 0; i < 7; i++)
		seven = spliced(&seven, seven.bytes, 0, &one);
	q = spliced(&p, at, end - at, &seven);
	q.data[at - 1] = 0x87;
	assert_code(judge_payload(&q), SR_ATTEST_ROOT);
	q = spliced(&q, at, 0, &one);
	q.data[at - 1] = 0x88;
	assert_code(judge_payload(&q), SR_ATTEST_CERTS);
	q = spliced(&p, at, 2 + 2, &none);
	assert_code(judge_payload(&q), SR_ATTEST_FIELD_TYPE);
}

Test(attest_chain, a_certificate_has_at_most_1024_bytes)
{
	struct bytes p = payload(), key = BYTES("certificate\x59");
	struct bytes large = { .bytes = 1025 };
	size_t at = found(&p, &key) + key.bytes;
	size_t bytes = (size_t)p.data[at] << 8 | p.data[at + 1];

	p = spliced(&p, at + 2, bytes, &large);
	p.data[at] = 0x04;
	p.data[at + 1] = 0x01;
	assert_code(judge_payload(&p), SR_ATTEST_FIELD_BYTES);
	large.bytes = 0;
	p = spliced(&p, at + 2, 1025, &large);
	p.data[at] = 0;
	p.data[at + 1] = 0;
	assert_code(judge_payload(&p), SR_ATTEST_FIELD_BYTES);
}

/* The first is judged cold, the second from the cache. */
static void check_time(uint64_t now_ms, enum sr_attest_code want)
{
	struct sr_attest_cache cache = { 0 };

	assert_code(judge(&document, &mock_root, now_ms, &cache), want);
	assert_code(judge(&document, &mock_root, now_ms, &cache), want);
}

Test(attest_chain, the_time_is_judged_with_a_minute_for_a_slow_clock)
{
	uint64_t end_ms = NOW + 10800000;

	check_time(NOW, SR_ATTEST_OK);
	check_time(NOW - SR_ATTEST_LEEWAY_MS, SR_ATTEST_OK);
	check_time(NOW - SR_ATTEST_LEEWAY_MS - 1, SR_ATTEST_CLOCK);
	check_time(0, SR_ATTEST_CLOCK);
	check_time(end_ms + 999, SR_ATTEST_OK);
	check_time(end_ms + 1000, SR_ATTEST_EXPIRED);
	check_time(UINT64_MAX, SR_ATTEST_EXPIRED);
}

Test(attest_chain, every_certificate_has_its_time)
{
	for (int i = 0; i < SR_MOCK_LEAF; i++) {
		spoil(i, end_ms, NOW - 1000, SR_ATTEST_EXPIRED);
		spoil(i, begin_ms, NOW + 61000, SR_ATTEST_CLOCK);
		spoil(i, begin_ms, NOW + 60000, SR_ATTEST_OK);
	}
}

Test(attest_chain, a_cached_chain_saves_nothing_but_its_own_check)
{
	struct sr_attest_cache cache = { 0 };
	struct bytes b = document;

	assert_code(judge(&b, &mock_root, NOW, &cache), SR_ATTEST_OK);
	cr_assert_neq(cache.entries[0].chain.end_ms, 0);
	cr_assert_eq(cache.entries[1].chain.end_ms, 0);
	assert_code(judge(&b, &mock_root, NOW, &cache), SR_ATTEST_OK);
	cr_assert_eq(cache.next, 1, "the second time it was found");
	b.data[b.bytes - 1] ^= 1;
	assert_code(judge(&b, &mock_root, NOW, &cache), SR_ATTEST_SIGNATURE);
	b.data[b.bytes - 1] ^= 1;
	memset(cache.entries[0].chain.point + 1, 1, 96);
	assert_code(judge(&b, &mock_root, NOW, &cache), SR_ATTEST_SIGNATURE);
}

Test(attest_chain, a_bad_chain_is_not_kept)
{
	struct sr_attest_cache cache = { 0 };
	struct sr_mock_profile p = good();
	struct bytes b;

	p.certs[SR_MOCK_LEAF].signs_itself = true;
	start_mock(&p);
	b = attested(&request);
	assert_code(judge(&b, &mock_root, NOW, &cache), SR_ATTEST_CERT_SIGNATURE);
	assert_code(judge(&b, &mock_root, NOW, &cache), SR_ATTEST_CERT_SIGNATURE);
	cr_assert_eq(cache.entries[0].chain.end_ms, 0);
}

Test(attest_chain, the_cache_forgets_the_oldest)
{
	struct sr_attest_cache cache = { 0 };
	struct sr_attest_root first_root = mock_root;

	assert_code(judge(&document, &mock_root, NOW, &cache), SR_ATTEST_OK);
	for (uint32_t i = 0; i < SR_ATTEST_CACHE_CHAINS; i++) {
		struct sr_mock_profile p = good();

		assert_code(judge_profile(&p), SR_ATTEST_OK);
		document.bytes = 0;
		document = attested(&request);
		assert_code(judge(&document, &mock_root, NOW, &cache), SR_ATTEST_OK);
	}
	cr_assert_eq(cache.next, 1);
	cr_assert_neq(memcmp(&first_root, &mock_root, sizeof first_root), 0);
	for (size_t i = 0; i < SR_ATTEST_CACHE_CHAINS; i++)
		cr_assert_neq(cache.entries[i].chain.end_ms, 0);
}

/* ---- whether it is for us ---- */

static enum sr_attest_code accept_at(uint64_t now_ms)
{
	struct sr_attest_nonce nonce = { 0 };
	enum sr_attest_code code;

	memcpy(nonce.value, nonce_value, sizeof nonce.value);
	code = sr_attest_accept(&parsed, &expect, &nonce, now_ms);
	cr_assert(nonce.used, "whatever the answer");
	return code;
}

static enum sr_attest_code accept_now(void)
{
	return accept_at(NOW);
}

Test(attest_accept, what_we_asked_for_is_accepted)
{
	assert_code(accept_now(), SR_ATTEST_OK);
}

Test(attest_accept, an_empty_list_accepts_nothing)
{
	expect.image_count = 0;
	assert_code(accept_now(), SR_ATTEST_NO_IMAGES);
	expect.images = NULL;
	expect.image_count = 1;
	assert_code(accept_now(), SR_ATTEST_NO_IMAGES);
	expect.images = &image;
	expect.image_count = SR_ATTEST_IMAGES_MAX + 1;
	assert_code(accept_now(), SR_ATTEST_NO_IMAGES);
}

Test(attest_accept, zeros_are_refused_before_all_else)
{
	memset(parsed.pcr[0], 0, SR_ATTEST_PCR_BYTES);
	memset(image.pcr0, 0, SR_ATTEST_PCR_BYTES);
	assert_code(accept_now(), SR_ATTEST_DEBUG);
	expect.image_count = 0;
	assert_code(accept_now(), SR_ATTEST_DEBUG);
}

Test(attest_accept, each_register_of_an_image_has_to_match)
{
	unsigned char *registers[] = { image.pcr0, image.pcr1, image.pcr2, image.pcr3, image.pcr8 };

	image.with_pcr3 = true;
	image.with_pcr8 = true;
	assert_code(accept_now(), SR_ATTEST_OK);
	for (size_t i = 0; i < 5; i++) {
		registers[i][47] ^= 1;
		assert_code(accept_now(), SR_ATTEST_IMAGE);
		registers[i][47] ^= 1;
	}
	image.with_pcr3 = false;
	image.with_pcr8 = false;
	registers[3][0] ^= 1;
	registers[4][0] ^= 1;
	assert_code(accept_now(), SR_ATTEST_OK);
}

Test(attest_accept, one_image_of_a_list_has_to_match_whole)
{
	struct sr_attest_image images[3] = { image, image, image };

	images[0].pcr1[0] ^= 1;
	images[1].pcr2[0] ^= 1;
	expect.images = images;
	expect.image_count = 2;
	assert_code(accept_now(), SR_ATTEST_IMAGE);
	expect.image_count = 3;
	assert_code(accept_now(), SR_ATTEST_OK);
}

Test(attest_accept, a_register_that_is_not_there_matches_nothing)
{
	static const unsigned int numbers[] = { 0, 1, 2, 3, 8 };

	image.with_pcr3 = true;
	image.with_pcr8 = true;
	for (size_t i = 0; i < 5; i++) {
		parsed.pcr_mask ^= 1u << numbers[i];
		assert_code(accept_now(), SR_ATTEST_PCR_ABSENT);
		parsed.pcr_mask ^= 1u << numbers[i];
	}
	assert_code(accept_now(), SR_ATTEST_OK);
}

Test(attest_accept, nor_does_it_when_another_image_does_without)
{
	struct sr_attest_image images[2] = { image, image };

	images[0].with_pcr3 = true;
	images[1].pcr0[0] ^= 1;
	expect.images = images;
	expect.image_count = 2;
	parsed.pcr_mask ^= 1u << 3;
	assert_code(accept_now(), SR_ATTEST_IMAGE);
}

Test(attest_accept, a_nonce_is_ours_and_good_for_one_answer)
{
	struct sr_attest_nonce nonce = { 0 };

	memcpy(nonce.value, nonce_value, sizeof nonce.value);
	assert_code(sr_attest_accept(&parsed, &expect, &nonce, NOW), SR_ATTEST_OK);
	assert_code(sr_attest_accept(&parsed, &expect, &nonce, NOW), SR_ATTEST_NONCE_USED);
	nonce.used = false;
	nonce.value[31] ^= 1;
	assert_code(sr_attest_accept(&parsed, &expect, &nonce, NOW), SR_ATTEST_NONCE);
	nonce.value[31] ^= 1;
	assert_code(sr_attest_accept(&parsed, &expect, &nonce, NOW), SR_ATTEST_NONCE_USED);
	parsed.nonce.bytes = 31;
	assert_code(accept_now(), SR_ATTEST_NONCE);
	parsed.nonce.data = NULL;
	parsed.nonce.bytes = 0;
	assert_code(accept_now(), SR_ATTEST_NONCE_ABSENT);
}

Test(attest_accept, a_document_is_young_and_not_of_the_future)
{
	assert_code(accept_at(NOW + expect.age_ms_max), SR_ATTEST_OK);
	assert_code(accept_at(NOW + expect.age_ms_max + 1), SR_ATTEST_STALE);
	assert_code(accept_at(NOW - SR_ATTEST_LEEWAY_MS), SR_ATTEST_OK);
	assert_code(accept_at(NOW - SR_ATTEST_LEEWAY_MS - 1), SR_ATTEST_CLOCK);
	parsed.timestamp_ms = UINT64_MAX;
	assert_code(accept_now(), SR_ATTEST_CLOCK);
	parsed.timestamp_ms = 1;
	assert_code(accept_now(), SR_ATTEST_STALE);
}

Test(attest_accept, the_key_is_the_one_that_the_session_will_use)
{
	unsigned char other[sizeof public_key] = { 'K' };

	expect.public_key.data = other;
	assert_code(accept_now(), SR_ATTEST_PUBLIC_KEY);
	expect.public_key = (struct sr_attest_view){ public_key, sizeof public_key - 1 };
	assert_code(accept_now(), SR_ATTEST_PUBLIC_KEY);
	expect.public_key = (struct sr_attest_view){ 0 };
	assert_code(accept_now(), SR_ATTEST_PUBLIC_KEY);
	parsed.public_key = (struct sr_attest_view){ 0 };
	assert_code(accept_now(), SR_ATTEST_PUBLIC_KEY_ABSENT);
}

Test(attest_accept, user_data_are_those_expected)
{
	unsigned char other[sizeof user_data] = { 'U' };

	expect.user_data.data = other;
	assert_code(accept_now(), SR_ATTEST_USER_DATA);
	expect.user_data = (struct sr_attest_view){ 0 };
	assert_code(accept_now(), SR_ATTEST_USER_DATA);
	expect.user_data = (struct sr_attest_view){ user_data, sizeof user_data };
	parsed.user_data = (struct sr_attest_view){ 0 };
	assert_code(accept_now(), SR_ATTEST_USER_DATA);
	expect.user_data = (struct sr_attest_view){ 0 };
	assert_code(accept_now(), SR_ATTEST_USER_DATA);
}

/* ---- the mock itself ---- */

Test(attest, the_mock_makes_a_new_leaf_in_time)
{
	struct sr_attest_cache cache = { 0 };
	uint64_t later = NOW + 10000000;
	struct bytes b;

	assert_code(judge(&document, &mock_root, later, &cache), SR_ATTEST_OK);
	sr_mock_nsm_time_set(mock, later);
	b = attested(&request);
	assert_code(judge(&b, &mock_root, later + 10000000, &cache), SR_ATTEST_OK);
	assert_code(judge(&document, &mock_root, later + 10000000, &cache), SR_ATTEST_EXPIRED);
}

Test(attest, the_mock_keeps_the_limits_of_the_real_one)
{
	static const unsigned char large[SR_EVIDENCE_PUBLIC_KEY_BYTES_MAX + 1];
	struct sr_evidence_request most = { large, 512, large, 512, large, 1024 }, bad = most;
	struct sr_evidence source = sr_mock_nsm_evidence(mock);
	struct bytes b = attested(&most);

	assert_code(judge(&b, &mock_root, NOW, NULL), SR_ATTEST_OK);
	bad.nonce_bytes = 513;
	cr_assert_eq(source.attest(source.arg, b.data, &b.bytes, &bad), -EINVAL);
	bad = most;
	bad.user_data_bytes = 513;
	cr_assert_eq(source.attest(source.arg, b.data, &b.bytes, &bad), -EINVAL);
	bad = most;
	bad.public_key_bytes = 1025;
	cr_assert_eq(source.attest(source.arg, b.data, &b.bytes, &bad), -EINVAL);
	bad.public_key_bytes = 0;
	cr_assert_eq(source.attest(source.arg, b.data, &b.bytes, &bad), -EINVAL);
	cr_assert_eq(source.pcr(source.arg, b.data, SR_MOCK_PCRS), -ERANGE);
	cr_assert_eq(source.random(source.arg, b.data, 64), 0);
}

/* ---- the register of the boot ---- */

/* From Python: hashlib.sha384(bytes(48) + b"b" * 32). */
static const char boot_register[] =
	"a734f8937ebc7c5d1b2badfb680a3ae7e19f09a770feb055"
	"97170af574a13e3fb07e358be6f0b11416ee9b67894d7c0a";

static void lock_with(const char *what, size_t bytes)
{
	struct sr_evidence source = sr_mock_nsm_evidence(mock);
	unsigned char pcr[SR_EVIDENCE_PCR_BYTES];

	cr_assert_eq(source.extend(source.arg, pcr, SR_EVIDENCE_BOOT_PCR,
				   (const unsigned char *)what, bytes),
		     0);
	cr_assert_eq(source.lock(source.arg, SR_EVIDENCE_BOOT_PCR), 0);
	cr_assert_eq(source.lock(source.arg, SR_EVIDENCE_BOOT_PCR), -EROFS);
	cr_assert_eq(source.extend(source.arg, pcr, SR_EVIDENCE_BOOT_PCR,
				   (const unsigned char *)what, bytes),
		     -EROFS);
	document = attested(&request);
	assert_code(sr_attest_document(&parsed, document.data, document.bytes, &mock_root, NOW,
				       NULL),
		    SR_ATTEST_OK);
}

Test(attest_accept, a_locked_register_is_of_this_boot)
{
	static const char boot[] = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
	char digits[2 * SR_ATTEST_PCR_BYTES + 1];

	expect.boot = (struct sr_attest_view){ (const unsigned char *)boot, 32 };
	assert_code(accept_now(), SR_ATTEST_OK); /* of a module that locks none */
	expect.boot_required = true;
	assert_code(accept_now(), SR_ATTEST_BOOT_ABSENT);
	lock_with(boot, 32);
	assert_code(accept_now(), SR_ATTEST_OK);
	for (size_t i = 0; i < SR_ATTEST_PCR_BYTES; i++)
		(void)snprintf(digits + 2 * i, 3, "%02x", parsed.pcr[SR_ATTEST_BOOT_PCR][i]);
	cr_assert_str_eq(digits, boot_register);
	expect.boot.bytes = 31;
	assert_code(accept_now(), SR_ATTEST_BOOT);
	expect.boot = (struct sr_attest_view){ (const unsigned char *)boot + 1, 32 };
	assert_code(accept_now(), SR_ATTEST_BOOT);
	expect.boot.data = NULL;
	assert_code(accept_now(), SR_ATTEST_BOOT);
	expect.boot_required = false;
	assert_code(accept_now(), SR_ATTEST_OK);
}

/* A module may list the registers that nobody has locked as well. */
Test(attest_accept, a_register_of_zeros_is_one_that_is_not_kept)
{
	static const char boot[] = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

	expect.boot = (struct sr_attest_view){ (const unsigned char *)boot, 32 };
	lock_with(boot, 32);
	memset(parsed.pcr[SR_ATTEST_BOOT_PCR], 0, SR_ATTEST_PCR_BYTES);
	cr_assert_not(sr_attest_boot_kept(&parsed));
	assert_code(accept_now(), SR_ATTEST_OK);
	expect.boot_required = true;
	assert_code(accept_now(), SR_ATTEST_BOOT_ABSENT);
	parsed.pcr[SR_ATTEST_BOOT_PCR][0] = 1;
	assert_code(accept_now(), SR_ATTEST_BOOT);
	parsed.pcr_mask &= ~(1u << SR_ATTEST_BOOT_PCR);
	assert_code(accept_now(), SR_ATTEST_BOOT_ABSENT);
}

/* ---- sigringctl attest ---- */

#define ARGUMENTS_MAX 32

static char printed[16384];

/* Runs it; what it wrote to standard output is in printed. */
static int ctl(const char *const *arguments)
{
	char *argv[ARGUMENTS_MAX] = { (char *)(uintptr_t) "attest" };
	int saved_out = dup(STDOUT_FILENO), saved_error = dup(STDERR_FILENO);
	FILE *file = tmpfile();
	int argc = 1, ret;

	while (arguments[argc - 1]) {
		argv[argc] = (char *)(uintptr_t)arguments[argc - 1];
		argc++;
	}
	(void)fflush(stdout);
	cr_assert(file && saved_out >= 0 && saved_error >= 0);
	cr_assert(dup2(fileno(file), STDOUT_FILENO) >= 0);
	cr_assert(dup2(open("/dev/null", O_WRONLY), STDERR_FILENO) >= 0);
	ret = sr_ctl_attest(argc, argv);
	(void)fflush(stdout);
	(void)dup2(saved_out, STDOUT_FILENO);
	(void)dup2(saved_error, STDERR_FILENO);
	(void)close(saved_out);
	(void)close(saved_error);
	rewind(file);
	printed[fread(printed, 1, sizeof printed - 1, file)] = '\0';
	(void)fclose(file);
	return ret;
}
#define ctl_run(...) ctl((const char *const[]){ __VA_ARGS__, NULL })

static void hex_of(char *out, const unsigned char *data, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		(void)snprintf(out + 2 * i, 3, "%02x", data[i]);
}

static void write_file(const char *path, const void *data, size_t bytes)
{
	FILE *file = fopen(path, "wb");

	cr_assert_not_null(file);
	cr_assert_eq(fwrite(data, 1, bytes, file), bytes);
	cr_assert_eq(fclose(file), 0);
}

Test(attest_ctl, an_archived_document_is_judged_as_of_its_time)
{
	cr_assert_eq(ctl_run("verify", "--at", "2024-12-13T07:38:00Z", FOLDER "marlin_aws.cbor"),
		     1);
	cr_assert_not_null(strstr(printed, "i-0f1cd77d37fd8bcc9-enc018e7aa61e2040ff"));
	cr_assert_not_null(strstr(printed, "2024-12-13T07:37:58.960Z"));
	cr_assert_not_null(strstr(printed, "document    valid\n"));
	cr_assert_not_null(strstr(printed, "session     REFUSED: no image is allowed"));
}

Test(attest_ctl, a_document_that_is_no_longer_valid_is_still_shown)
{
	cr_assert_eq(ctl_run("verify", FOLDER "marlin_aws.cbor", "--at", "1796000000"), 1);
	cr_assert_not_null(strstr(printed, "189038eccf28a3a098949e402f3b3d86a876f4915c5b02d5"));
	cr_assert_not_null(strstr(printed, "CN=aws.nitro-enclaves,OU=AWS"));
	cr_assert_not_null(strstr(printed, "REFUSED: a certificate of the chain has expired"));
}

Test(attest_ctl, both_verdicts_are_good_for_what_was_asked)
{
	char pcr0[97], pcr1[97], pcr2[97], nonce[65], key[65], data[65];
	char folder[] = "/tmp/test_attest_XXXXXX";
	char root_path[64], path[64];
	const unsigned char *der;
	size_t der_bytes;

	cr_assert_not_null(mkdtemp(folder));
	(void)snprintf(path, sizeof path, "%s/document", folder);
	(void)snprintf(root_path, sizeof root_path, "%s/root", folder);
	write_file(path, document.data, document.bytes);
	der = sr_mock_nsm_root(mock, &der_bytes);
	write_file(root_path, der, der_bytes);
	hex_of(pcr0, image.pcr0, 48);
	hex_of(pcr1, image.pcr1, 48);
	hex_of(pcr2, image.pcr2, 48);
	hex_of(nonce, nonce_value, 32);
	hex_of(key, public_key, 32);
	hex_of(data, user_data, 32);

	cr_assert_eq(ctl_run("verify", path, "--root", root_path, "--at", "1796000000", "--pcr0",
			     pcr0, "--pcr1", pcr1, "--pcr2", pcr2, "--nonce", nonce, "--public-key",
			     key, "--user-data", data),
		     0, "%s", printed);
	cr_assert_not_null(strstr(printed, "session     acceptable\n"));
	cr_assert_null(strstr(printed, "not checked"));
	cr_assert_eq(ctl_run("verify", path, "--root", root_path, "--at", "1796000000", "--pcr0",
			     pcr0, "--pcr1", pcr1, "--pcr2", pcr2),
		     0);
	cr_assert_not_null(strstr(printed, "not checked nonce, public key, user data\n"));
	cr_assert_eq(ctl_run("verify", path, "--root", root_path, "--at", "1796000000", "--pcr0",
			     pcr0, "--pcr1", pcr1, "--pcr2", pcr2, "--nonce", key),
		     1);
	cr_assert_not_null(strstr(printed, "the nonce is not ours"));
	cr_assert_eq(ctl_run("verify", path, "--root", root_path, "--at", "1796000000", "--pcr0",
			     pcr0, "--pcr1", pcr1, "--pcr2", pcr2, "--public-key", data),
		     1);
	cr_assert_not_null(strstr(printed, "the public key is not the one"));
	cr_assert_eq(ctl_run("verify", path, "--root", root_path, "--at", "1796000000", "--pcr0",
			     pcr0, "--pcr1", pcr1, "--pcr2", pcr2, "--user-data", key),
		     1);
	cr_assert_not_null(strstr(printed, "the user data are not those"));
	cr_assert_eq(ctl_run("verify", path, "--pcr0", pcr0, "--pcr1", pcr1), 2, "no PCR2");
	cr_assert_eq(ctl_run("verify", path, "--pcr8", pcr0), 2, "no image");
	cr_assert_eq(ctl_run("verify", path, "--nonce", key, "--nonce", key), 2, "twice");
	key[63] = 'g';
	cr_assert_eq(ctl_run("verify", path, "--nonce", key), 2, "a digit that is none");
	cr_assert_eq(ctl_run("verify", path, "--root", root_path, "--at", "1796000301", "--pcr0",
			     pcr0, "--pcr1", pcr1, "--pcr2", pcr2),
		     1);
	cr_assert_not_null(strstr(printed, "older than the maximum age"));
	cr_assert_eq(ctl_run("verify", path, "--root", "aws", "--at", "1796000000"), 1);
	cr_assert_not_null(strstr(printed, "not the pinned root"));
	(void)unlink(path);
	(void)unlink(root_path);
	(void)rmdir(folder);
}

Test(attest_ctl, what_makes_no_sense_is_wrong_usage)
{
	static const char *const times[] = {
		"2024-02-30T00:00:00Z",
		"2024-12-13",
		"2024-12-13T07:38:00",
		"2024-12-13T25:00:00Z",
		"",
		"-1",
		"12x",
		"2024-12-13T07:38:00+0100",
		"2024-12-13T07:38:00Zx",
		"999999999999999",
	};

	for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
		cr_assert_eq(ctl_run("verify", FOLDER "mysten_0.cbor", "--at", times[i]), 2, "%s",
			     times[i]);
	cr_assert_eq(ctl_run("verify"), 2);
	cr_assert_eq(ctl_run("verify", "a", "b"), 2);
	cr_assert_eq(ctl_run("verify", "a", "--nonce", "00"), 2);
	cr_assert_eq(ctl_run("verify", "a", "--pcr0", "zz"), 2);
	cr_assert_eq(ctl_run("verify", "a", "--what"), 2);
	cr_assert_eq(ctl_run("nothing"), 2);
	cr_assert_eq(ctl_run("verify", "/nonexistent/document"), 1);
	cr_assert_eq(ctl_run("--help"), 0);
}

Test(attest_ctl, a_time_may_have_a_fraction_and_an_offset)
{
	cr_assert_eq(ctl_run("verify", FOLDER "mysten_0.cbor", "--at",
			     "2024-11-15T05:16:29.456789+05:30"),
		     1);
	cr_assert_not_null(strstr(printed, "judged at   2024-11-14T23:46:29.456Z"));
	cr_assert_not_null(strstr(printed, "debug mode, where its console is open"));
}

/* Whoever has no memory left is not told that the signer is an impostor. In one place in
 * twenty OpenSSL keeps the cause to itself, and then it is: never that all is well. */
Test(nitro, out_of_memory_is_not_a_bad_certificate)
{
	struct sr_attest_root root = aws();
	json_t *index = nitro_index(), *entry = json_array_get(index, 0);
	struct bytes b = loaded(text_of(entry, "file"));
	uint64_t now_ms = made_at(entry);
	static struct sr_attest_doc doc;
	long told = 0, kept = 0;

	assert_code(judge(&b, &root, now_ms, NULL), SR_ATTEST_OK);
	for (long left = 1;; left += 1 + left / 64) {
		enum sr_attest_code code;
		bool failed;

		allocations_left = left;
		code = sr_attest_document(&doc, b.data, b.bytes, &root, now_ms, NULL);
		failed = allocations_left == 0;
		allocations_left = -1;
		cr_assert_eq(ERR_peek_error(), 0);
		if (!failed)
			break;
		cr_assert_neq(code, SR_ATTEST_OK);
		cr_assert_neq(code, SR_ATTEST_ROOT);
		told += code == SR_ATTEST_NO_MEMORY;
		kept += code != SR_ATTEST_NO_MEMORY;
	}
	cr_assert(told > 100 && kept <= told / 20, "%ld of %ld", kept, told + kept);
	json_decref(index);
}
