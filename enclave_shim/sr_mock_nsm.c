/* SPDX-License-Identifier: MIT */
#include "sr_mock_nsm.h"

#include <cbor.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#define DAY_MS 86400000u
#define LEAF_MS 10800000u
#define YEARS_30 (30u * 365u)
#define CERT_BYTES_MAX 1024
#define DER_BYTES_MAX 104 /* of a signature */
#define SCALAR_BYTES 48
#define MODULE_ID "i-mock-enc0000000000000001"

struct made_cert {
	EVP_PKEY *key;
	X509 *x509;
	unsigned char der[CERT_BYTES_MAX];
	size_t der_bytes;
};

struct sr_mock_nsm {
	struct sr_mock_profile profile;
	struct made_cert certs[SR_MOCK_CERTS];
	unsigned char pcr[SR_MOCK_PCRS][SR_EVIDENCE_PCR_BYTES];
	unsigned char boot_pcr[SR_EVIDENCE_PCR_BYTES];
	bool locked; /* boot_pcr; documents have it then */
	uint64_t time_ms; /* 0: the clock's */
	long serial;
};

static const char *const names[SR_MOCK_CERTS] = { "sigring mock root", "sigring mock zone",
						  "sigring mock module" };

static uint64_t now_ms(const struct sr_mock_nsm *mock)
{
	struct timespec now;

	if (mock->time_ms)
		return mock->time_ms;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void sr_mock_profile_init(struct sr_mock_profile *profile, uint64_t now_unix_ms)
{
	uint64_t begin_ms = now_unix_ms > DAY_MS ? now_unix_ms - DAY_MS : 0;

	*profile = (struct sr_mock_profile){ 0 };
	for (size_t i = 0; i < SR_MOCK_CERTS; i++) {
		profile->certs[i].curve = "P-384";
		profile->certs[i].digest = "SHA384";
		profile->certs[i].begin_ms = begin_ms;
		profile->certs[i].end_ms = begin_ms + (uint64_t)YEARS_30 * DAY_MS;
	}
	profile->certs[SR_MOCK_ROOT].constraints = "critical,CA:TRUE";
	profile->certs[SR_MOCK_ROOT].usage = "critical,digitalSignature,keyCertSign,cRLSign";
	profile->certs[SR_MOCK_INTERMEDIATE].constraints = "critical,CA:TRUE,pathlen:0";
	profile->certs[SR_MOCK_INTERMEDIATE].usage = "critical,keyCertSign";
	profile->certs[SR_MOCK_LEAF].constraints = "critical,CA:FALSE";
	profile->certs[SR_MOCK_LEAF].usage = "digitalSignature,nonRepudiation";
	profile->certs[SR_MOCK_LEAF].begin_ms = now_unix_ms;
	profile->certs[SR_MOCK_LEAF].end_ms = now_unix_ms + LEAF_MS;
}

static bool add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509_EXTENSION *extension;
	X509V3_CTX context;
	bool added;

	if (!value)
		return true;
	X509V3_set_ctx_nodb(&context);
	X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
	added = extension && X509_add_ext(cert, extension, -1) == 1;
	X509_EXTENSION_free(extension);
	return added;
}

static bool set_name(X509_NAME *name, const char *text)
{
	return X509_NAME_add_entry_by_txt(name, "O", MBSTRING_ASC,
					  (const unsigned char *)"sigring mock, not AWS", -1, -1,
					  0) == 1 &&
	       X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)text, -1,
					  -1, 0) == 1;
}

static bool set_times(X509 *cert, const struct sr_mock_cert *how)
{
	return ASN1_TIME_set(X509_getm_notBefore(cert), (time_t)(how->begin_ms / 1000)) &&
	       ASN1_TIME_set(X509_getm_notAfter(cert), (time_t)(how->end_ms / 1000));
}

static bool fill_cert(struct sr_mock_nsm *mock, X509 *cert, int which, EVP_PKEY *key)
{
	const struct sr_mock_cert *how = &mock->profile.certs[which];
	int above = which == SR_MOCK_ROOT ? which : which - 1;
	X509 *issuer = which == above ? cert : mock->certs[above].x509;
	EVP_PKEY *signer = which == above || how->signs_itself ? key : mock->certs[above].key;
	EVP_MD *digest = EVP_MD_fetch(NULL, how->digest, NULL);
	bool good;

	good = digest &&
	       X509_set_version(cert, how->version_2 ? X509_VERSION_2 : X509_VERSION_3) == 1 &&
	       ASN1_INTEGER_set(X509_get_serialNumber(cert), ++mock->serial) == 1 &&
	       set_times(cert, how) && set_name(X509_get_subject_name(cert), names[which]) &&
	       set_name(X509_get_issuer_name(cert), how->issuer ? how->issuer : names[above]) &&
	       X509_set_pubkey(cert, key) == 1 &&
	       add_extension(cert, issuer, NID_basic_constraints, how->constraints) &&
	       add_extension(cert, issuer, NID_key_usage, how->usage) &&
	       add_extension(cert, issuer, how->extra_nid, how->extra) &&
	       X509_sign(cert, signer, digest) > 0;
	EVP_MD_free(digest);
	return good;
}

/* Replaces mock->certs[which]; untouched on failure. */
static int make_cert(struct sr_mock_nsm *mock, int which)
{
	struct made_cert *made = &mock->certs[which];
	EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "EC", mock->profile.certs[which].curve);
	X509 *cert = X509_new();
	unsigned char *der = made->der;
	int ret = -ENOMEM, bytes;

	if (key && mock->profile.certs[which].spelt_out)
		(void)EVP_PKEY_set_utf8_string_param(key, OSSL_PKEY_PARAM_EC_ENCODING, "explicit");
	if (key && cert) {
		bytes = fill_cert(mock, cert, which, key) ? i2d_X509(cert, NULL) : 0;
		ret = bytes > 0 && bytes <= CERT_BYTES_MAX ? 0 : -EINVAL;
	}
	if (ret) {
		X509_free(cert);
		EVP_PKEY_free(key);
		return ret;
	}
	made->der_bytes = (size_t)i2d_X509(cert, &der);
	X509_free(made->x509);
	EVP_PKEY_free(made->key);
	made->x509 = cert;
	made->key = key;
	return 0;
}

int sr_mock_nsm_new(struct sr_mock_nsm **out, const struct sr_mock_profile *profile)
{
	struct sr_mock_nsm *mock = calloc(1, sizeof *mock);
	char text[] = "sigring mock PCR 0";
	int ret = 0;

	if (!mock)
		return -ENOMEM;
	if (profile)
		mock->profile = *profile;
	else
		sr_mock_profile_init(&mock->profile, now_ms(mock));
	for (unsigned int i = 0; i < 3; i++) {
		text[sizeof text - 2] = (char)('0' + i);
		(void)SHA384((const unsigned char *)text, sizeof text - 1, mock->pcr[i]);
	}
	for (int i = 0; ret == 0 && i < SR_MOCK_CERTS; i++)
		ret = make_cert(mock, i);
	if (ret) {
		sr_mock_nsm_delete(mock);
		return ret;
	}
	*out = mock;
	return 0;
}

void sr_mock_nsm_delete(struct sr_mock_nsm *mock)
{
	if (!mock)
		return;
	for (size_t i = 0; i < SR_MOCK_CERTS; i++) {
		X509_free(mock->certs[i].x509);
		EVP_PKEY_free(mock->certs[i].key);
	}
	free(mock);
}

void sr_mock_nsm_pcr_set(struct sr_mock_nsm *mock, uint32_t index,
			 const unsigned char pcr[SR_EVIDENCE_PCR_BYTES])
{
	if (index < SR_MOCK_PCRS)
		memcpy(mock->pcr[index], pcr, SR_EVIDENCE_PCR_BYTES);
}

void sr_mock_nsm_time_set(struct sr_mock_nsm *mock, uint64_t unix_ms)
{
	mock->time_ms = unix_ms;
}

const unsigned char *sr_mock_nsm_root(const struct sr_mock_nsm *mock, size_t *root_bytes)
{
	*root_bytes = mock->certs[SR_MOCK_ROOT].der_bytes;
	return mock->certs[SR_MOCK_ROOT].der;
}

/* A buffer that is written from the left; full stays full. */
struct writer {
	unsigned char *data;
	size_t bytes;
	size_t room;
	bool full;
};

static void advance(struct writer *w, size_t bytes)
{
	/* libcbor answers 0 when there is no room. */
	w->full |= bytes == 0;
	w->bytes += bytes;
}

static void put_raw(struct writer *w, const void *data, size_t bytes)
{
	if (w->full || bytes > w->room - w->bytes) {
		w->full = true;
		return;
	}
	if (bytes)
		memcpy(w->data + w->bytes, data, bytes);
	w->bytes += bytes;
}

static void put_bytes(struct writer *w, const unsigned char *data, size_t bytes)
{
	advance(w, cbor_encode_bytestring_start(bytes, w->data + w->bytes, w->room - w->bytes));
	put_raw(w, data, bytes);
}

static void put_text(struct writer *w, const char *text)
{
	size_t bytes = strlen(text);

	advance(w, cbor_encode_string_start(bytes, w->data + w->bytes, w->room - w->bytes));
	put_raw(w, text, bytes);
}

static void put_uint(struct writer *w, uint64_t value)
{
	advance(w, cbor_encode_uint(value, w->data + w->bytes, w->room - w->bytes));
}

static void put_map(struct writer *w, size_t pairs)
{
	advance(w, cbor_encode_map_start(pairs, w->data + w->bytes, w->room - w->bytes));
}

static void put_array(struct writer *w, size_t items)
{
	advance(w, cbor_encode_array_start(items, w->data + w->bytes, w->room - w->bytes));
}

static void put_optional(struct writer *w, const char *name, const unsigned char *data,
			 size_t bytes)
{
	put_text(w, name);
	if (data)
		put_bytes(w, data, bytes);
	else
		advance(w, cbor_encode_null(w->data + w->bytes, w->room - w->bytes));
}

static void put_payload(struct writer *w, const struct sr_mock_nsm *mock,
			const struct sr_evidence_request *request)
{
	const struct made_cert *certs = mock->certs;

	put_map(w, 9);
	put_text(w, "module_id");
	put_text(w, MODULE_ID);
	put_text(w, "digest");
	put_text(w, "SHA384");
	put_text(w, "timestamp");
	put_uint(w, now_ms(mock));
	put_text(w, "pcrs");
	put_map(w, SR_MOCK_PCRS + mock->locked);
	for (size_t i = 0; i < SR_MOCK_PCRS; i++) {
		put_uint(w, i);
		put_bytes(w, mock->pcr[i], SR_EVIDENCE_PCR_BYTES);
	}
	if (mock->locked) {
		put_uint(w, SR_EVIDENCE_BOOT_PCR);
		put_bytes(w, mock->boot_pcr, SR_EVIDENCE_PCR_BYTES);
	}
	put_text(w, "certificate");
	put_bytes(w, certs[SR_MOCK_LEAF].der, certs[SR_MOCK_LEAF].der_bytes);
	put_text(w, "cabundle");
	put_array(w, SR_MOCK_LEAF);
	for (size_t i = 0; i < SR_MOCK_LEAF; i++)
		put_bytes(w, certs[i].der, certs[i].der_bytes);
	put_optional(w, "public_key", request->public_key, request->public_key_bytes);
	put_optional(w, "user_data", request->user_data, request->user_data_bytes);
	put_optional(w, "nonce", request->nonce, request->nonce_bytes);
}

static const unsigned char header[] = { 0xa1, 0x01, 0x38, 0x22 }; /* {1: -35} */

static bool raw_signature(unsigned char raw[2 * SCALAR_BYTES], const unsigned char *der,
			  size_t der_bytes)
{
	ECDSA_SIG *sig = d2i_ECDSA_SIG(NULL, &der, (long)der_bytes);
	bool good = sig && BN_bn2binpad(ECDSA_SIG_get0_r(sig), raw, SCALAR_BYTES) > 0 &&
		    BN_bn2binpad(ECDSA_SIG_get0_s(sig), raw + SCALAR_BYTES, SCALAR_BYTES) > 0;

	ECDSA_SIG_free(sig);
	return good;
}

static int sign(struct sr_mock_nsm *mock, unsigned char raw[2 * SCALAR_BYTES],
		const unsigned char *payload, size_t payload_bytes)
{
	unsigned char *structure = malloc(payload_bytes + 64);
	struct writer w = { .data = structure, .room = payload_bytes + 64 };
	unsigned char der[DER_BYTES_MAX];
	size_t der_bytes = sizeof der;
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	EVP_PKEY *key = mock->certs[SR_MOCK_LEAF].key;
	int ret = -ENOMEM;

	if (structure && context) {
		put_array(&w, 4);
		put_text(&w, "Signature1");
		put_bytes(&w, header, sizeof header);
		put_bytes(&w, NULL, 0);
		put_bytes(&w, payload, payload_bytes);
		if (!w.full && EVP_DigestSignInit(context, NULL, EVP_sha384(), NULL, key) == 1 &&
		    EVP_DigestSign(context, der, &der_bytes, structure, w.bytes) == 1 &&
		    raw_signature(raw, der, der_bytes))
			ret = 0;
	}
	EVP_MD_CTX_free(context);
	free(structure);
	return ret;
}

int sr_mock_nsm_sign(struct sr_mock_nsm *mock, unsigned char *document, size_t *document_bytes,
		     const unsigned char *payload, size_t payload_bytes)
{
	struct writer w = { .data = document, .room = SR_EVIDENCE_DOC_BYTES_MAX };
	unsigned char raw[2 * SCALAR_BYTES];
	int ret;

	if (payload_bytes > SR_EVIDENCE_DOC_BYTES_MAX - 128)
		return -EINVAL;
	ret = sign(mock, raw, payload, payload_bytes);
	if (ret)
		return ret;
	put_array(&w, 4);
	put_bytes(&w, header, sizeof header);
	put_map(&w, 0);
	put_bytes(&w, payload, payload_bytes);
	put_bytes(&w, raw, sizeof raw);
	*document_bytes = w.bytes;
	return 0;
}

static int renew_leaf(struct sr_mock_nsm *mock)
{
	struct sr_mock_cert *leaf = &mock->profile.certs[SR_MOCK_LEAF];
	uint64_t life_ms = leaf->end_ms - leaf->begin_ms, now = now_ms(mock);

	if (now >= leaf->begin_ms && now - leaf->begin_ms < life_ms / 4 * 3)
		return 0;
	leaf->begin_ms = now;
	leaf->end_ms = now + life_ms;
	return make_cert(mock, SR_MOCK_LEAF);
}

static int evidence_attest(void *arg, unsigned char *document, size_t *document_bytes,
			   const struct sr_evidence_request *request)
{
	struct writer w = { .room = SR_EVIDENCE_DOC_BYTES_MAX };
	struct sr_mock_nsm *mock = arg;
	int ret;

	if (!sr_evidence_request_valid(request))
		return -EINVAL;
	ret = renew_leaf(mock);
	if (ret)
		return ret;
	w.data = malloc(w.room);
	if (!w.data)
		return -ENOMEM;
	put_payload(&w, mock, request);
	ret = w.full ? -EINVAL : sr_mock_nsm_sign(mock, document, document_bytes, w.data, w.bytes);
	free(w.data);
	return ret;
}

static int evidence_pcr(void *arg, unsigned char pcr[SR_EVIDENCE_PCR_BYTES], uint32_t index)
{
	const struct sr_mock_nsm *mock = arg;

	if (index >= SR_MOCK_PCRS)
		return index < SR_EVIDENCE_PCRS ? -ERANGE : -EINVAL;
	memcpy(pcr, mock->pcr[index], SR_EVIDENCE_PCR_BYTES);
	return 0;
}

static int evidence_describe(void *arg, struct sr_evidence_module *module)
{
	const struct sr_mock_nsm *mock = arg;

	*module = (struct sr_evidence_module){
		.id = MODULE_ID,
		.version_major = 1,
		.pcrs_max = SR_EVIDENCE_BOOT_PCR + 1,
		.locked_mask = ((uint32_t)1 << SR_MOCK_PCRS) - 1,
	};
	if (mock->locked)
		module->locked_mask |= (uint32_t)1 << SR_EVIDENCE_BOOT_PCR;
	return 0;
}

/* Those of a mock that can be extended: one. */
static int judge_register(const struct sr_mock_nsm *mock, uint32_t index)
{
	if (index > SR_EVIDENCE_BOOT_PCR)
		return index < SR_EVIDENCE_PCRS ? -ERANGE : -EINVAL;
	return index < SR_EVIDENCE_BOOT_PCR || mock->locked ? -EROFS : 0;
}

static int evidence_extend(void *arg, unsigned char pcr[SR_EVIDENCE_PCR_BYTES], uint32_t index,
			   const unsigned char *data, size_t bytes)
{
	unsigned char input[SR_EVIDENCE_PCR_BYTES + SR_EVIDENCE_EXTEND_BYTES_MAX];
	struct sr_mock_nsm *mock = arg;
	int ret = judge_register(mock, index);

	if (ret)
		return ret;
	if (bytes == 0 || bytes > SR_EVIDENCE_EXTEND_BYTES_MAX)
		return -EINVAL;
	memcpy(input, mock->boot_pcr, sizeof mock->boot_pcr);
	memcpy(input + sizeof mock->boot_pcr, data, bytes);
	if (EVP_Digest(input, sizeof mock->boot_pcr + bytes, mock->boot_pcr, NULL, EVP_sha384(),
		       NULL) != 1)
		return -ENOMEM;
	memcpy(pcr, mock->boot_pcr, sizeof mock->boot_pcr);
	return 0;
}

static int evidence_lock(void *arg, uint32_t index)
{
	struct sr_mock_nsm *mock = arg;
	int ret = judge_register(mock, index);

	mock->locked |= ret == 0;
	return ret;
}

static int evidence_random(void *arg, unsigned char *out, size_t bytes)
{
	(void)arg;
	while (bytes) {
		ssize_t got = getrandom(out, bytes, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		out += got;
		bytes -= (size_t)got;
	}
	return 0;
}

struct sr_evidence sr_mock_nsm_evidence(struct sr_mock_nsm *mock)
{
	return (struct sr_evidence){
		.name = "mock",
		.arg = mock,
		.attest = evidence_attest,
		.pcr = evidence_pcr,
		.describe = evidence_describe,
		.extend = evidence_extend,
		.lock = evidence_lock,
		.random = evidence_random,
	};
}
