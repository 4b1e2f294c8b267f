/* SPDX-License-Identifier: MIT */
#include "sr_attest.h"

#include <openssl/evp.h>

#include "sr_attest_chain.h"
#include "sr_secret.h"

static const char *const texts[SR_ATTEST_CODES] = {
	[SR_ATTEST_OK] = "nothing is wrong",
	[SR_ATTEST_BYTES] = "the document is empty, or larger than 16 KiB",
	[SR_ATTEST_CBOR] = "the document is not well-formed CBOR",
	[SR_ATTEST_COSE] = "the document is not a COSE_Sign1",
	[SR_ATTEST_ALGORITHM] =
		"the document is not signed with ES384, or its header says what we do not know",
	[SR_ATTEST_SIGNATURE_BYTES] = "the signature has not 96 bytes",
	[SR_ATTEST_TRAILING] = "there are bytes behind the end",
	[SR_ATTEST_FIELD_ABSENT] = "a mandatory field is missing",
	[SR_ATTEST_FIELD_TYPE] = "a field is of the wrong type",
	[SR_ATTEST_FIELD_BYTES] = "a field is outside its limits",
	[SR_ATTEST_FIELD_TWICE] = "a field is there twice",
	[SR_ATTEST_DIGEST] = "the registers are not of SHA384",
	[SR_ATTEST_PCRS] =
		"there is no register, or one has a number above 31 or other than 48 bytes",
	[SR_ATTEST_CERTS] = "there is no certificate above the leaf, or there are too many",
	[SR_ATTEST_ROOT] = "the first certificate is not the pinned root",
	[SR_ATTEST_CERT_FORM] = "a certificate is not X.509 version 3 in DER",
	[SR_ATTEST_CERT_KEY] = "the key of a certificate is not on P-384",
	[SR_ATTEST_CERT_ALGORITHM] = "a certificate is not signed by ECDSA with SHA-384",
	[SR_ATTEST_CERT_CONSTRAINTS] =
		"basicConstraints: a certificate in the chain is no CA, or the leaf is one",
	[SR_ATTEST_CERT_PATH] = "the chain is longer than a pathLenConstraint in it allows",
	[SR_ATTEST_CERT_USAGE] = "keyUsage: a certificate may not be used for what it was used for",
	[SR_ATTEST_CERT_CRITICAL] = "a certificate has a critical extension that we do not know",
	[SR_ATTEST_CERT_ISSUER] = "a certificate names another issuer than the one above it",
	[SR_ATTEST_CERT_SIGNATURE] = "the signature of a certificate is wrong",
	[SR_ATTEST_SIGNATURE] = "the signature of the document is wrong",
	[SR_ATTEST_CLOCK] = "it begins in our future: this machine's clock is behind, set it (NTP)",
	[SR_ATTEST_EXPIRED] = "a certificate of the chain has expired",
	[SR_ATTEST_DEBUG] =
		"PCR0 is zero: the enclave runs in debug mode, where its console is open",
	[SR_ATTEST_NO_IMAGES] = "no image is allowed: give PCR0, PCR1 and PCR2 of those that are",
	[SR_ATTEST_PCR_ABSENT] = "a register that was asked for is not in the document",
	[SR_ATTEST_IMAGE] = "the enclave runs an image that is not allowed (PCR0-2, 3, 8)",
	[SR_ATTEST_NONCE_USED] = "the nonce has been used: draw a new one for each document",
	[SR_ATTEST_NONCE_ABSENT] = "there is no nonce in the document",
	[SR_ATTEST_NONCE] = "the nonce is not ours: the document answers somebody else, or is old",
	[SR_ATTEST_STALE] =
		"the document is older than the maximum age, or this machine's clock is ahead",
	[SR_ATTEST_PUBLIC_KEY_ABSENT] = "there is no public key in the document",
	[SR_ATTEST_PUBLIC_KEY] = "the public key is not the one that the session would use",
	[SR_ATTEST_USER_DATA] =
		"the user data are not those expected: another manifest, version or boot",
	[SR_ATTEST_NO_MEMORY] = "out of memory",
	[SR_ATTEST_BOOT] =
		"PCR16 was locked for another boot or key: what answers is not the first signer",
	[SR_ATTEST_BOOT_ABSENT] =
		"PCR16 is not locked, and the trust file says `require boot-pcr`",
};

const char *sr_attest_text(enum sr_attest_code code)
{
	const char *text = (unsigned int)code < SR_ATTEST_CODES ? texts[code] : NULL;

	return text ? text : "unknown code";
}

/* The fields, a bit each. */
enum {
	FIELD_MODULE_ID,
	FIELD_DIGEST,
	FIELD_TIMESTAMP,
	FIELD_PCRS,
	FIELD_CERTIFICATE,
	FIELD_CABUNDLE,
	FIELD_PUBLIC_KEY,
	FIELD_USER_DATA,
	FIELD_NONCE,
	FIELDS
};
#define MANDATORY ((1u << FIELD_PUBLIC_KEY) - 1)

/* A document on its way to be taken apart. */
struct parse {
	struct sr_cbor reader;
	struct sr_attest_doc *doc;
	struct sr_attest_view leaf;
	uint32_t seen;
};

static bool is_text(const struct sr_cbor_item *item, const char *text)
{
	return item->type == SR_CBOR_TEXT && item->bytes == strlen(text) &&
	       !memcmp(item->data, text, item->bytes);
}

static enum sr_attest_code take(struct parse *p, struct sr_cbor_item *item, enum sr_cbor_type type)
{
	if (sr_cbor_next(&p->reader, item))
		return SR_ATTEST_CBOR;
	return item->type == type ? SR_ATTEST_OK : SR_ATTEST_FIELD_TYPE;
}

/* It is printed, so only what does nothing to a terminal. */
static enum sr_attest_code take_module_id(struct parse *p)
{
	struct sr_cbor_item item;
	enum sr_attest_code code = take(p, &item, SR_CBOR_TEXT);

	if (code != SR_ATTEST_OK)
		return code;
	if (item.bytes == 0 || item.bytes > SR_ATTEST_MODULE_BYTES_MAX)
		return SR_ATTEST_FIELD_BYTES;
	for (size_t i = 0; i < item.bytes; i++)
		if (item.data[i] < 0x20 || item.data[i] > 0x7e)
			return SR_ATTEST_FIELD_TYPE;
	memcpy(p->doc->module_id, item.data, item.bytes);
	p->doc->module_id[item.bytes] = '\0';
	return SR_ATTEST_OK;
}

static enum sr_attest_code take_digest(struct parse *p)
{
	struct sr_cbor_item item;
	enum sr_attest_code code = take(p, &item, SR_CBOR_TEXT);

	if (code != SR_ATTEST_OK)
		return code;
	return is_text(&item, "SHA384") ? SR_ATTEST_OK : SR_ATTEST_DIGEST;
}

static enum sr_attest_code take_timestamp(struct parse *p)
{
	struct sr_cbor_item item;
	enum sr_attest_code code = take(p, &item, SR_CBOR_UINT);

	if (code != SR_ATTEST_OK)
		return code;
	p->doc->timestamp_ms = item.value;
	return item.value ? SR_ATTEST_OK : SR_ATTEST_FIELD_BYTES;
}

static enum sr_attest_code take_pcr(struct parse *p, const struct sr_cbor_item *key)
{
	struct sr_cbor_item item;
	enum sr_attest_code code;

	if (key->type != SR_CBOR_UINT)
		return SR_ATTEST_FIELD_TYPE;
	if (key->value >= SR_ATTEST_PCRS_MAX)
		return SR_ATTEST_PCRS;
	if (p->doc->pcr_mask >> key->value & 1)
		return SR_ATTEST_FIELD_TWICE;
	code = take(p, &item, SR_CBOR_BYTES);
	if (code != SR_ATTEST_OK)
		return code;
	if (item.bytes != SR_ATTEST_PCR_BYTES)
		return SR_ATTEST_PCRS;
	memcpy(p->doc->pcr[key->value], item.data, SR_ATTEST_PCR_BYTES);
	p->doc->pcr_mask |= (uint32_t)1 << key->value;
	return SR_ATTEST_OK;
}

static enum sr_attest_code take_pcrs(struct parse *p)
{
	struct sr_cbor_item map, key;
	struct sr_cbor_walk walk;
	enum sr_attest_code code = take(p, &map, SR_CBOR_MAP);
	int more = 0;

	if (code != SR_ATTEST_OK)
		return code;
	walk = sr_cbor_enter(&map);
	while (code == SR_ATTEST_OK && (more = sr_cbor_entry(&p->reader, &walk, &key)) > 0)
		code = take_pcr(p, &key);
	if (more < 0)
		return SR_ATTEST_CBOR;
	if (code == SR_ATTEST_OK && !p->doc->pcr_mask)
		return SR_ATTEST_PCRS;
	return code;
}

static enum sr_attest_code take_cert(struct sr_attest_view *cert, const struct sr_cbor_item *item)
{
	if (item->type != SR_CBOR_BYTES)
		return SR_ATTEST_FIELD_TYPE;
	if (item->bytes == 0 || item->bytes > SR_ATTEST_CERT_BYTES_MAX)
		return SR_ATTEST_FIELD_BYTES;
	*cert = (struct sr_attest_view){ .data = item->data, .bytes = item->bytes };
	return SR_ATTEST_OK;
}

static enum sr_attest_code take_certificate(struct parse *p)
{
	struct sr_cbor_item item;
	enum sr_attest_code code = take(p, &item, SR_CBOR_BYTES);

	return code == SR_ATTEST_OK ? take_cert(&p->leaf, &item) : code;
}

/* The last place of the chain is the leaf's. */
static enum sr_attest_code take_cabundle(struct parse *p)
{
	struct sr_attest_doc *doc = p->doc;
	struct sr_cbor_item array, item;
	struct sr_cbor_walk walk;
	enum sr_attest_code code = take(p, &array, SR_CBOR_ARRAY);
	int more = 0;

	if (code != SR_ATTEST_OK)
		return code;
	walk = sr_cbor_enter(&array);
	while (code == SR_ATTEST_OK && (more = sr_cbor_entry(&p->reader, &walk, &item)) > 0) {
		if (doc->cert_count == SR_ATTEST_CERTS_MAX - 1)
			return SR_ATTEST_CERTS;
		code = take_cert(&doc->certs[doc->cert_count++], &item);
	}
	if (more < 0)
		return SR_ATTEST_CBOR;
	if (code == SR_ATTEST_OK && doc->cert_count == 0)
		return SR_ATTEST_CERTS;
	return code;
}

static enum sr_attest_code take_optional(struct parse *p, struct sr_attest_view *view,
					 size_t bytes_min, size_t bytes_max)
{
	struct sr_cbor_item item;

	if (sr_cbor_next(&p->reader, &item))
		return SR_ATTEST_CBOR;
	if (item.type == SR_CBOR_NULL)
		return SR_ATTEST_OK;
	if (item.type != SR_CBOR_BYTES)
		return SR_ATTEST_FIELD_TYPE;
	if (item.bytes < bytes_min || item.bytes > bytes_max)
		return SR_ATTEST_FIELD_BYTES;
	*view = (struct sr_attest_view){ .data = item.data, .bytes = item.bytes };
	return SR_ATTEST_OK;
}

static enum sr_attest_code take_public_key(struct parse *p)
{
	return take_optional(p, &p->doc->public_key, 1, SR_ATTEST_PUBLIC_KEY_BYTES_MAX);
}

static enum sr_attest_code take_user_data(struct parse *p)
{
	return take_optional(p, &p->doc->user_data, 0, SR_ATTEST_USER_DATA_BYTES_MAX);
}

static enum sr_attest_code take_nonce(struct parse *p)
{
	return take_optional(p, &p->doc->nonce, 0, SR_ATTEST_USER_DATA_BYTES_MAX);
}

static const struct {
	const char *name;
	enum sr_attest_code (*take)(struct parse *p);
} fields[FIELDS] = {
	[FIELD_MODULE_ID] = { "module_id", take_module_id },
	[FIELD_DIGEST] = { "digest", take_digest },
	[FIELD_TIMESTAMP] = { "timestamp", take_timestamp },
	[FIELD_PCRS] = { "pcrs", take_pcrs },
	[FIELD_CERTIFICATE] = { "certificate", take_certificate },
	[FIELD_CABUNDLE] = { "cabundle", take_cabundle },
	[FIELD_PUBLIC_KEY] = { "public_key", take_public_key },
	[FIELD_USER_DATA] = { "user_data", take_user_data },
	[FIELD_NONCE] = { "nonce", take_nonce },
};

static enum sr_attest_code take_field(struct parse *p, const struct sr_cbor_item *key)
{
	struct sr_cbor_item value;

	if (key->type != SR_CBOR_TEXT)
		return SR_ATTEST_FIELD_TYPE;
	for (size_t i = 0; i < FIELDS; i++) {
		if (!is_text(key, fields[i].name))
			continue;
		if (p->seen >> i & 1)
			return SR_ATTEST_FIELD_TWICE;
		p->seen |= 1u << i;
		return fields[i].take(p);
	}
	if (sr_cbor_next(&p->reader, &value) || sr_cbor_skip(&p->reader, &value))
		return SR_ATTEST_CBOR;
	return SR_ATTEST_OK;
}

static enum sr_attest_code parse_payload(struct sr_attest_doc *doc)
{
	struct parse p = {
		.reader = { .data = doc->cose.payload, .bytes = doc->cose.payload_bytes },
		.doc = doc,
	};
	struct sr_cbor_item map, key;
	struct sr_cbor_walk walk;
	enum sr_attest_code code = take(&p, &map, SR_CBOR_MAP);
	int more = 0;

	if (code != SR_ATTEST_OK)
		return code;
	walk = sr_cbor_enter(&map);
	while (code == SR_ATTEST_OK && (more = sr_cbor_entry(&p.reader, &walk, &key)) > 0)
		code = take_field(&p, &key);
	if (code != SR_ATTEST_OK)
		return code;
	if (more < 0)
		return SR_ATTEST_CBOR;
	if (p.reader.bytes)
		return SR_ATTEST_TRAILING;
	if ((p.seen & MANDATORY) != MANDATORY)
		return SR_ATTEST_FIELD_ABSENT;
	doc->certs[doc->cert_count++] = p.leaf;
	return SR_ATTEST_OK;
}

static enum sr_attest_code code_of_cose(int error)
{
	switch (error) {
	case 0:
		return SR_ATTEST_OK;
	case -EPROTO:
		return SR_ATTEST_COSE;
	case -ENOTSUP:
		return SR_ATTEST_ALGORITHM;
	case -EMSGSIZE:
		return SR_ATTEST_SIGNATURE_BYTES;
	case -E2BIG:
		return SR_ATTEST_TRAILING;
	default:
		return SR_ATTEST_CBOR;
	}
}

enum sr_attest_code sr_attest_parse(struct sr_attest_doc *out, const unsigned char *document,
				    size_t document_bytes)
{
	struct sr_attest_doc doc = { 0 };
	enum sr_attest_code code;

	if (document_bytes == 0 || document_bytes > SR_ATTEST_BYTES_MAX)
		return SR_ATTEST_BYTES;
	code = code_of_cose(sr_cose_parse(&doc.cose, document, document_bytes));
	if (code == SR_ATTEST_OK)
		code = parse_payload(&doc);
	if (code == SR_ATTEST_OK)
		*out = doc;
	return code;
}

enum sr_attest_code sr_attest_document(struct sr_attest_doc *out, const unsigned char *document,
				       size_t document_bytes, const struct sr_attest_root *root,
				       uint64_t now_unix_ms, struct sr_attest_cache *cache)
{
	struct sr_attest_chain chain;
	struct sr_attest_doc doc;
	enum sr_attest_code code = sr_attest_parse(&doc, document, document_bytes);
	int ret;

	if (code == SR_ATTEST_OK)
		code = sr_attest_chain_verify(&chain, doc.certs, doc.cert_count, root, cache);
	if (code != SR_ATTEST_OK)
		return code;
	ret = sr_cose_verify(&doc.cose, chain.point);
	if (ret)
		return ret == -ENOMEM ? SR_ATTEST_NO_MEMORY : SR_ATTEST_SIGNATURE;

	if (now_unix_ms < chain.begin_ms && chain.begin_ms - now_unix_ms > SR_ATTEST_LEEWAY_MS)
		return SR_ATTEST_CLOCK;
	if (now_unix_ms > chain.end_ms)
		return SR_ATTEST_EXPIRED;
	*out = doc;
	return SR_ATTEST_OK;
}

/* The registers that an image names. */
static uint32_t registers(const struct sr_attest_image *image)
{
	return 1u << 0 | 1u << 1 | 1u << 2 | (image->with_pcr3 ? 1u << 3 : 0) |
	       (image->with_pcr8 ? 1u << 8 : 0);
}

static bool has_registers(const struct sr_attest_doc *doc, const struct sr_attest_image *image)
{
	return (doc->pcr_mask & registers(image)) == registers(image);
}

bool sr_attest_image_match(const struct sr_attest_doc *doc, const struct sr_attest_image *image)
{
	bool same = has_registers(doc, image);

	same &= sr_equal(doc->pcr[0], image->pcr0, SR_ATTEST_PCR_BYTES);
	same &= sr_equal(doc->pcr[1], image->pcr1, SR_ATTEST_PCR_BYTES);
	same &= sr_equal(doc->pcr[2], image->pcr2, SR_ATTEST_PCR_BYTES);
	same &= !image->with_pcr3 || sr_equal(doc->pcr[3], image->pcr3, SR_ATTEST_PCR_BYTES);
	same &= !image->with_pcr8 || sr_equal(doc->pcr[8], image->pcr8, SR_ATTEST_PCR_BYTES);
	return same;
}

/* PCR0 is zero in debug mode, and on a list somebody may have put it. */
static enum sr_attest_code accept_image(const struct sr_attest_doc *doc,
					const struct sr_attest_expect *expect)
{
	static const unsigned char zero[SR_ATTEST_PCR_BYTES];
	bool complete = false; /* an image's registers are all there */
	bool found = false;

	if (doc->pcr_mask & 1u && sr_equal(doc->pcr[0], zero, sizeof zero))
		return SR_ATTEST_DEBUG;
	if (!expect->images || expect->image_count == 0 ||
	    expect->image_count > SR_ATTEST_IMAGES_MAX)
		return SR_ATTEST_NO_IMAGES;
	for (size_t i = 0; i < expect->image_count; i++) {
		complete |= has_registers(doc, &expect->images[i]);
		found |= sr_attest_image_match(doc, &expect->images[i]);
	}
	if (!complete)
		return SR_ATTEST_PCR_ABSENT;
	return found ? SR_ATTEST_OK : SR_ATTEST_IMAGE;
}

static bool same_view(const struct sr_attest_view *a, const struct sr_attest_view *b)
{
	return a->data && b->data && a->bytes == b->bytes && sr_equal(a->data, b->data, a->bytes);
}

bool sr_attest_boot_kept(const struct sr_attest_doc *doc)
{
	static const unsigned char zeros[SR_ATTEST_PCR_BYTES];

	return doc->pcr_mask >> SR_ATTEST_BOOT_PCR & 1u &&
	       !sr_equal(doc->pcr[SR_ATTEST_BOOT_PCR], zeros, sizeof zeros);
}

/* One extension from zeros: SHA-384 of the old value and what it was extended with. */
static enum sr_attest_code accept_boot(const struct sr_attest_doc *doc,
				       const struct sr_attest_expect *expect)
{
	unsigned char input[SR_ATTEST_PCR_BYTES + SR_ATTEST_HASH_BYTES] = { 0 };
	unsigned char pcr[SR_ATTEST_PCR_BYTES];
	const struct sr_attest_view *boot = &expect->boot;

	if (!sr_attest_boot_kept(doc))
		return expect->boot_required ? SR_ATTEST_BOOT_ABSENT : SR_ATTEST_OK;
	if (!boot->data)
		return expect->boot_required ? SR_ATTEST_BOOT : SR_ATTEST_OK;
	if (boot->bytes != SR_ATTEST_HASH_BYTES)
		return SR_ATTEST_BOOT;
	memcpy(input + SR_ATTEST_PCR_BYTES, boot->data, boot->bytes);
	if (EVP_Digest(input, sizeof input, pcr, NULL, EVP_sha384(), NULL) != 1)
		return SR_ATTEST_NO_MEMORY;
	return sr_equal(pcr, doc->pcr[SR_ATTEST_BOOT_PCR], sizeof pcr) ? SR_ATTEST_OK :
									 SR_ATTEST_BOOT;
}

enum sr_attest_code sr_attest_accept(const struct sr_attest_doc *doc,
				     const struct sr_attest_expect *expect,
				     struct sr_attest_nonce *nonce, uint64_t now_unix_ms)
{
	const struct sr_attest_view ours = { .data = nonce->value, .bytes = sizeof nonce->value };
	bool used = nonce->used;
	enum sr_attest_code code;

	nonce->used = true;
	code = accept_image(doc, expect);
	if (code != SR_ATTEST_OK)
		return code;

	if (used)
		return SR_ATTEST_NONCE_USED;
	if (!doc->nonce.data)
		return SR_ATTEST_NONCE_ABSENT;
	if (!same_view(&doc->nonce, &ours))
		return SR_ATTEST_NONCE;

	if (doc->timestamp_ms > now_unix_ms) {
		if (doc->timestamp_ms - now_unix_ms > SR_ATTEST_LEEWAY_MS)
			return SR_ATTEST_CLOCK;
	} else if (now_unix_ms - doc->timestamp_ms > expect->age_ms_max) {
		return SR_ATTEST_STALE;
	}

	if (!doc->public_key.data)
		return SR_ATTEST_PUBLIC_KEY_ABSENT;
	if (!same_view(&doc->public_key, &expect->public_key))
		return SR_ATTEST_PUBLIC_KEY;
	if (!same_view(&doc->user_data, &expect->user_data))
		return SR_ATTEST_USER_DATA;
	return accept_boot(doc, expect);
}
