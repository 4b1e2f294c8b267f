/* SPDX-License-Identifier: MIT */
#include "sr_cose.h"

#include <cbor.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#define TAG_COSE_SIGN1 18u
#define HEADER_ALGORITHM 1u
#define ES384_NINT 34u /* -35, as CBOR counts below zero */
#define HEADER_BYTES_MAX 23u
#define SCALAR_BYTES 48u
#define DER_BYTES_MAX 104u /* two integers of 49 bytes, three heads of 2 */

static void set(void *context, enum sr_cbor_type type, uint64_t value)
{
	struct sr_cbor_item *item = context;

	*item = (struct sr_cbor_item){ .type = type, .value = value };
}

static void on_uint8(void *context, uint8_t value)
{
	set(context, SR_CBOR_UINT, value);
}

static void on_uint16(void *context, uint16_t value)
{
	set(context, SR_CBOR_UINT, value);
}

static void on_uint32(void *context, uint32_t value)
{
	set(context, SR_CBOR_UINT, value);
}

static void on_uint64(void *context, uint64_t value)
{
	set(context, SR_CBOR_UINT, value);
}

static void on_nint8(void *context, uint8_t value)
{
	set(context, SR_CBOR_NINT, value);
}

static void on_nint16(void *context, uint16_t value)
{
	set(context, SR_CBOR_NINT, value);
}

static void on_nint32(void *context, uint32_t value)
{
	set(context, SR_CBOR_NINT, value);
}

static void on_nint64(void *context, uint64_t value)
{
	set(context, SR_CBOR_NINT, value);
}

static void on_bytes(void *context, cbor_data data, size_t bytes)
{
	struct sr_cbor_item *item = context;

	*item = (struct sr_cbor_item){ .type = SR_CBOR_BYTES, .data = data, .bytes = bytes };
}

static void on_text(void *context, cbor_data data, size_t bytes)
{
	struct sr_cbor_item *item = context;

	*item = (struct sr_cbor_item){ .type = SR_CBOR_TEXT, .data = data, .bytes = bytes };
}

static void on_array(void *context, size_t count)
{
	set(context, SR_CBOR_ARRAY, count);
}

static void on_map(void *context, size_t count)
{
	set(context, SR_CBOR_MAP, count);
}

static void on_open_array(void *context)
{
	struct sr_cbor_item *item = context;

	*item = (struct sr_cbor_item){ .type = SR_CBOR_ARRAY, .indefinite = true };
}

static void on_open_map(void *context)
{
	struct sr_cbor_item *item = context;

	*item = (struct sr_cbor_item){ .type = SR_CBOR_MAP, .indefinite = true };
}

static void on_tag(void *context, uint64_t value)
{
	set(context, SR_CBOR_TAG, value);
}

static void on_null(void *context)
{
	set(context, SR_CBOR_NULL, 0);
}

static void on_break(void *context)
{
	set(context, SR_CBOR_BREAK, 0);
}

static void on_float(void *context, float value)
{
	(void)value;
	set(context, SR_CBOR_OTHER, 0);
}

static void on_double(void *context, double value)
{
	(void)value;
	set(context, SR_CBOR_OTHER, 0);
}

static void on_undefined(void *context)
{
	set(context, SR_CBOR_OTHER, 0);
}

static void on_bool(void *context, bool value)
{
	(void)value;
	set(context, SR_CBOR_OTHER, 0);
}

static void on_pieces(void *context)
{
	set(context, SR_CBOR_PIECES, 0);
}

static const struct cbor_callbacks callbacks = {
	.uint8 = on_uint8,
	.uint16 = on_uint16,
	.uint32 = on_uint32,
	.uint64 = on_uint64,
	.negint8 = on_nint8,
	.negint16 = on_nint16,
	.negint32 = on_nint32,
	.negint64 = on_nint64,
	.byte_string_start = on_pieces,
	.byte_string = on_bytes,
	.string = on_text,
	.string_start = on_pieces,
	.indef_array_start = on_open_array,
	.array_start = on_array,
	.indef_map_start = on_open_map,
	.map_start = on_map,
	.tag = on_tag,
	.float2 = on_float,
	.float4 = on_float,
	.float8 = on_double,
	.undefined = on_undefined,
	.null = on_null,
	.boolean = on_bool,
	.indef_break = on_break,
};

int sr_cbor_next(struct sr_cbor *reader, struct sr_cbor_item *item)
{
	struct sr_cbor_item taken = { .type = SR_CBOR_PIECES };
	struct cbor_decoder_result result;

	if (reader->bytes == 0)
		return -EBADMSG;
	/* libcbor 0.8 takes a tag of one byte for an error when it has no name for it,
	 * 18 among them. */
	if (reader->data[0] >= 0xc0 && reader->data[0] < 0xc0 + 24) {
		set(item, SR_CBOR_TAG, reader->data[0] - 0xc0u);
		reader->data++;
		reader->bytes--;
		return 0;
	}
	result = cbor_stream_decode(reader->data, reader->bytes, &callbacks, &taken);
	if (result.status != CBOR_DECODER_FINISHED || taken.type == SR_CBOR_PIECES ||
	    result.read == 0 || result.read > reader->bytes)
		return -EBADMSG;
	reader->data += result.read;
	reader->bytes -= result.read;
	*item = taken;
	return 0;
}

struct sr_cbor_walk sr_cbor_enter(const struct sr_cbor_item *head)
{
	return (struct sr_cbor_walk){ .left = head->value, .indefinite = head->indefinite };
}

int sr_cbor_entry(struct sr_cbor *reader, struct sr_cbor_walk *walk, struct sr_cbor_item *item)
{
	if (!walk->indefinite && walk->left == 0)
		return 0;
	if (sr_cbor_next(reader, item))
		return -EBADMSG;
	if (item->type == SR_CBOR_BREAK)
		return walk->indefinite ? 0 : -EBADMSG;
	if (!walk->indefinite)
		walk->left--;
	return 1;
}

/* One level of what is skipped. A map is twice its pairs; its break must not
 * stand where a value should. */
struct level {
	struct sr_cbor_walk walk;
	bool map;
	bool half; /* a key was taken, its value not yet */
};

/* Returns 1 when the level goes on, 0 at its end. */
static int level_next(struct sr_cbor *reader, struct level *level, struct sr_cbor_item *item)
{
	int ret;

	if (level->half) {
		level->half = false;
		if (sr_cbor_next(reader, item) || item->type == SR_CBOR_BREAK)
			return -EBADMSG;
		return 1;
	}
	ret = sr_cbor_entry(reader, &level->walk, item);
	level->half = ret == 1 && level->map;
	return ret;
}

int sr_cbor_skip(struct sr_cbor *reader, const struct sr_cbor_item *head)
{
	struct level levels[SR_CBOR_DEPTH_MAX];
	struct sr_cbor_item item = *head;
	size_t depth = 0;
	int ret;

	if (item.type == SR_CBOR_BREAK)
		return -EBADMSG;
	for (;;) {
		if (item.type == SR_CBOR_ARRAY || item.type == SR_CBOR_MAP ||
		    item.type == SR_CBOR_TAG) {
			if (depth == SR_CBOR_DEPTH_MAX)
				return -EBADMSG;
			levels[depth++] = (struct level){
				.walk = { .left = item.type == SR_CBOR_TAG ? 1 : item.value,
					  .indefinite = item.indefinite },
				.map = item.type == SR_CBOR_MAP,
			};
		}
		for (ret = 0; depth; depth--) {
			ret = level_next(reader, &levels[depth - 1], &item);
			if (ret)
				break;
		}
		if (ret <= 0)
			return ret;
	}
}

/* -EPROTO unless the next item is of @type. */
static int expect(struct sr_cbor *reader, struct sr_cbor_item *item, enum sr_cbor_type type)
{
	int ret = sr_cbor_next(reader, item);

	return ret ? ret : item->type == type ? 0 : -EPROTO;
}

static int parse_header(const struct sr_cbor_item *header)
{
	struct sr_cbor reader = { .data = header->data, .bytes = header->bytes };
	struct sr_cbor_item map, key, value;
	struct sr_cbor_walk walk;

	if (header->bytes > HEADER_BYTES_MAX || expect(&reader, &map, SR_CBOR_MAP))
		return -ENOTSUP;
	walk = sr_cbor_enter(&map);
	if (sr_cbor_entry(&reader, &walk, &key) != 1 || key.type != SR_CBOR_UINT ||
	    key.value != HEADER_ALGORITHM)
		return -ENOTSUP;
	if (expect(&reader, &value, SR_CBOR_NINT) || value.value != ES384_NINT)
		return -ENOTSUP;
	if (sr_cbor_entry(&reader, &walk, &key) != 0 || reader.bytes != 0)
		return -ENOTSUP;
	return 0;
}

int sr_cose_parse(struct sr_cose *out, const unsigned char *document, size_t document_bytes)
{
	struct sr_cbor reader = { .data = document, .bytes = document_bytes };
	struct sr_cbor_item head, header, open, payload, signature, item;
	struct sr_cbor_walk walk, none;
	int ret = sr_cbor_next(&reader, &head);

	if (ret == 0 && head.type == SR_CBOR_TAG)
		ret = head.value == TAG_COSE_SIGN1 ? sr_cbor_next(&reader, &head) : -EPROTO;
	if (ret)
		return ret;
	if (head.type != SR_CBOR_ARRAY || (!head.indefinite && head.value != 4))
		return -EPROTO;
	walk = (struct sr_cbor_walk){ .left = 0, .indefinite = head.indefinite };

	ret = expect(&reader, &header, SR_CBOR_BYTES);
	if (ret == 0)
		ret = parse_header(&header);
	if (ret == 0)
		ret = expect(&reader, &open, SR_CBOR_MAP);
	if (ret)
		return ret;
	none = sr_cbor_enter(&open);
	ret = sr_cbor_entry(&reader, &none, &item);
	if (ret)
		return ret < 0 ? ret : -ENOTSUP;
	ret = expect(&reader, &payload, SR_CBOR_BYTES);
	if (ret == 0)
		ret = expect(&reader, &signature, SR_CBOR_BYTES);
	if (ret)
		return ret;
	if (signature.bytes != SR_COSE_SIGNATURE_BYTES)
		return -EMSGSIZE;
	ret = sr_cbor_entry(&reader, &walk, &item);
	if (ret)
		return ret < 0 ? ret : -EPROTO;
	if (reader.bytes)
		return -E2BIG;

	*out = (struct sr_cose){
		.header = header.data,
		.header_bytes = header.bytes,
		.payload = payload.data,
		.payload_bytes = payload.bytes,
		.signature = signature.data,
	};
	return 0;
}

static EVP_PKEY *key_from_point(const unsigned char *point)
{
	char group[] = "secp384r1";
	unsigned char copy[SR_P384_POINT_BYTES]; /* OSSL_PARAM is not const */
	EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
	EVP_PKEY *key = NULL;
	OSSL_PARAM params[3];

	memcpy(copy, point, sizeof copy);
	params[0] = OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, group, 0);
	params[1] = OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, copy, sizeof copy);
	params[2] = OSSL_PARAM_construct_end();
	if (!context || EVP_PKEY_fromdata_init(context) != 1 ||
	    EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, params) != 1)
		key = NULL;
	EVP_PKEY_CTX_free(context);
	return key;
}

/* OpenSSL takes SEQUENCE { r, s }. Returns its length, or 0. */
static size_t signature_to_der(unsigned char der[DER_BYTES_MAX], const unsigned char *signature)
{
	ECDSA_SIG *sig = ECDSA_SIG_new();
	BIGNUM *r = BN_bin2bn(signature, SCALAR_BYTES, NULL);
	BIGNUM *s = BN_bin2bn(signature + SCALAR_BYTES, SCALAR_BYTES, NULL);
	int bytes = 0;

	if (sig && r && s && ECDSA_SIG_set0(sig, r, s) == 1) {
		r = NULL; /* the signature's now */
		s = NULL;
		bytes = i2d_ECDSA_SIG(sig, NULL);
		if (bytes > 0 && bytes <= (int)DER_BYTES_MAX)
			bytes = i2d_ECDSA_SIG(sig, &der);
		else
			bytes = 0;
	}
	BN_free(r);
	BN_free(s);
	ECDSA_SIG_free(sig);
	return bytes > 0 ? (size_t)bytes : 0;
}

/* The head of a byte string, as short as it can be. Returns its length, or 0. */
static size_t put_bytes_head(unsigned char head[3], size_t bytes)
{
	if (bytes < 24) {
		head[0] = (unsigned char)(0x40 + bytes);
		return 1;
	}
	if (bytes < 0x100) {
		head[0] = 0x58;
		head[1] = (unsigned char)bytes;
		return 2;
	}
	head[0] = 0x59;
	head[1] = (unsigned char)(bytes >> 8);
	head[2] = (unsigned char)bytes;
	return bytes <= UINT16_MAX ? 3 : 0;
}

/* Sig_structure = ["Signature1", protected header, h'', payload], hashed piece by
 * piece, so that nothing is copied. Lengths are in their shortest form, whatever
 * the document's were. */
static bool feed(EVP_MD_CTX *context, const struct sr_cose *cose)
{
	static const unsigned char name[] = { 0x84, 0x6a, 'S', 'i', 'g', 'n',
					      'a',  't',  'u', 'r', 'e', '1' };
	unsigned char header[3], payload[4] = { 0x40 };
	size_t header_head = put_bytes_head(header, cose->header_bytes);
	size_t payload_head = put_bytes_head(payload + 1, cose->payload_bytes);

	return header_head && payload_head &&
	       EVP_DigestVerifyUpdate(context, name, sizeof name) == 1 &&
	       EVP_DigestVerifyUpdate(context, header, header_head) == 1 &&
	       EVP_DigestVerifyUpdate(context, cose->header, cose->header_bytes) == 1 &&
	       EVP_DigestVerifyUpdate(context, payload, 1 + payload_head) == 1 &&
	       EVP_DigestVerifyUpdate(context, cose->payload, cose->payload_bytes) == 1;
}

int sr_cose_verify(const struct sr_cose *cose, const unsigned char *point)
{
	unsigned char der[DER_BYTES_MAX];
	size_t der_bytes;
	EVP_MD_CTX *context;
	EVP_PKEY *key;
	int ret = -EBADMSG;

	(void)ERR_set_mark();
	context = EVP_MD_CTX_new();
	der_bytes = signature_to_der(der, cose->signature);
	key = key_from_point(point);
	if (!context || !der_bytes)
		ret = -ENOMEM;
	else if (key && EVP_DigestVerifyInit(context, NULL, EVP_sha384(), NULL, key) == 1 &&
		 feed(context, cose) && EVP_DigestVerifyFinal(context, der, der_bytes) == 1)
		ret = 0;
	EVP_PKEY_free(key);
	EVP_MD_CTX_free(context);
	(void)ERR_pop_to_mark();
	return ret;
}
