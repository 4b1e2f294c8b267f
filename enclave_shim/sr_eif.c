/* SPDX-License-Identifier: MIT */
#include "sr_eif.h"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

enum {
	AT_VERSION = 4,
	AT_COUNT = 26,
	AT_OFFSETS = 28,
	AT_SIZES = 284,
	AT_CRC = 544,
	HEADER_BYTES = 548,

	SECTION_SIZE = 4,
	SECTION_HEADER_BYTES = 12,

	KERNEL = 1,
	CMDLINE = 2,
	RAMDISK = 3,
	SIGNATURE = 4,
	METADATA = 5,
	TYPES = 6,

	VERSION_MIN = 2, /* the first with a checksum */
	VERSION_MAX = 4,
	PEM_BYTES_MAX = 32768,
};

struct section {
	uint32_t type;
	const unsigned char *data;
	size_t bytes;
};

struct image {
	uint32_t version;
	uint32_t count;
	uint32_t of_type[TYPES];
	struct section sections[SR_EIF_SECTIONS_MAX];
};

static uint64_t get_big(const unsigned char *in, unsigned int bytes)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < bytes; i++)
		value = value << 8 | in[i];
	return value;
}

/* ---- the checksum: CRC-32 of zlib ---- */

static uint32_t crc_more(uint32_t crc, const unsigned char *data, size_t bytes)
{
	/* Of four bits each: an image is measured once, and needs no larger table. */
	static const uint32_t table[16] = {
		0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
		0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
		0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
	};

	for (size_t i = 0; i < bytes; i++) {
		crc ^= data[i];
		crc = crc >> 4 ^ table[crc & 15];
		crc = crc >> 4 ^ table[crc & 15];
	}
	return crc;
}

static bool crc_is_right(const unsigned char *data, size_t bytes)
{
	uint32_t crc = crc_more(0xffffffffu, data, AT_CRC);

	crc = crc_more(crc, data + HEADER_BYTES, bytes - HEADER_BYTES) ^ 0xffffffffu;
	return crc == get_big(data + AT_CRC, 4);
}

/* ---- taking it apart ---- */

static int bad(struct sr_reason *why, const char *text)
{
	return sr_reason_set(why, -EBADMSG, "%s", text);
}

/* Sections lie one behind the other and fill the file: nothing is read twice and nothing
 * is left over. @at: where this one has to begin; moved on. */
static int take_section(struct image *image, const unsigned char *data, size_t bytes, size_t *at,
			struct sr_reason *why)
{
	uint32_t i = image->count;
	uint64_t offset = get_big(data + AT_OFFSETS + 8 * i, 8);
	uint64_t size = get_big(data + AT_SIZES + 8 * i, 8);
	const unsigned char *head = data + *at;
	uint32_t type;

	if (offset != *at || bytes - *at < SECTION_HEADER_BYTES ||
	    size > bytes - *at - SECTION_HEADER_BYTES)
		return bad(why, "a section lies outside the file, or upon another");
	type = (uint32_t)get_big(head, 2);
	if (type < KERNEL || type >= TYPES || get_big(head + SECTION_SIZE, 8) != size)
		return bad(why, "a section is not what the header says");
	image->sections[i] = (struct section){ .type = type,
					       .data = head + SECTION_HEADER_BYTES,
					       .bytes = (size_t)size };
	image->of_type[type]++;
	image->count++;
	*at += SECTION_HEADER_BYTES + (size_t)size;
	return 0;
}

static int take_image(struct image *image, const unsigned char *data, size_t bytes,
		      struct sr_reason *why)
{
	size_t at = HEADER_BYTES;
	uint32_t count;
	int ret = 0;

	if (bytes < HEADER_BYTES || bytes > SR_EIF_BYTES_MAX || memcmp(data, ".eif", 4) != 0)
		return bad(why, "this is no enclave image (EIF)");
	image->version = (uint32_t)get_big(data + AT_VERSION, 2);
	count = (uint32_t)get_big(data + AT_COUNT, 2);
	if (image->version < VERSION_MIN || image->version > VERSION_MAX)
		return bad(why, "the image is of a version that is not known here");
	if (count > SR_EIF_SECTIONS_MAX)
		return bad(why, "the image has more than 32 sections");
	while (ret == 0 && image->count < count)
		ret = take_section(image, data, bytes, &at, why);
	if (ret)
		return ret;
	if (at != bytes)
		return bad(why, "there are bytes behind the last section");
	if (image->of_type[KERNEL] != 1 || image->of_type[CMDLINE] != 1 ||
	    image->of_type[RAMDISK] == 0 || image->of_type[SIGNATURE] > 1 ||
	    image->of_type[METADATA] > 1)
		return bad(why, "an image has one kernel, one command line, a ramdisk or more, and "
				"at most one signature");
	if (!crc_is_right(data, bytes))
		return bad(why, "the checksum is wrong: the file was changed or cut");
	return 0;
}

/* ---- measuring ---- */

/* Which sections a register is of: of the ramdisks those from @first to before @end. */
struct range {
	bool boot; /* kernel and command line */
	uint32_t first;
	uint32_t end;
};

static int extend_zeros(unsigned char pcr[SR_EIF_PCR_BYTES],
			const unsigned char digest[SR_EIF_PCR_BYTES])
{
	unsigned char input[2 * SR_EIF_PCR_BYTES] = { 0 };

	memcpy(input + SR_EIF_PCR_BYTES, digest, SR_EIF_PCR_BYTES);
	return EVP_Digest(input, sizeof input, pcr, NULL, EVP_sha384(), NULL) == 1 ? 0 : -ENOMEM;
}

static bool add_type(EVP_MD_CTX *context, const struct image *image, uint32_t type, uint32_t first,
		     uint32_t end)
{
	uint32_t seen = 0;
	bool good = true;

	for (uint32_t i = 0; i < image->count; i++) {
		const struct section *s = &image->sections[i];

		if (s->type != type)
			continue;
		if (seen >= first && seen < end)
			good &= EVP_DigestUpdate(context, s->data, s->bytes) == 1;
		seen++;
	}
	return good;
}

static int measure(unsigned char pcr[SR_EIF_PCR_BYTES], const struct image *image,
		   const struct range *range)
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	unsigned char digest[SR_EIF_PCR_BYTES];
	bool good = context && EVP_DigestInit_ex(context, EVP_sha384(), NULL) == 1;

	if (good && range->boot)
		good = add_type(context, image, KERNEL, 0, 1) &&
		       add_type(context, image, CMDLINE, 0, 1);
	good = good && add_type(context, image, RAMDISK, range->first, range->end) &&
	       EVP_DigestFinal_ex(context, digest, NULL) == 1;
	EVP_MD_CTX_free(context);
	return good ? extend_zeros(pcr, digest) : -ENOMEM;
}

/* ---- the signature section: CBOR, [{"signing_certificate": [u8 ...], ...}] ---- */

struct reader {
	const unsigned char *data;
	size_t bytes;
};

/* The head of an item of type @major, of definite length. */
static bool take_head(struct reader *r, unsigned int major, uint64_t *value)
{
	unsigned int low, more;

	if (r->bytes == 0 || r->data[0] >> 5 != major)
		return false;
	low = r->data[0] & 31u;
	if (low > 27)
		return false;
	more = low < 24 ? 0 : 1u << (low - 24);
	if (more > r->bytes - 1)
		return false;
	*value = more ? get_big(r->data + 1, more) : low;
	r->data += 1 + more;
	r->bytes -= 1 + more;
	return true;
}

static bool take_name(struct reader *r, const char *name)
{
	uint64_t bytes;

	if (!take_head(r, 3, &bytes) || bytes != strlen(name) || bytes > r->bytes ||
	    memcmp(r->data, name, (size_t)bytes) != 0)
		return false;
	r->data += bytes;
	r->bytes -= (size_t)bytes;
	return true;
}

/* The bytes of a certificate in PEM, each a number of its own; their count, 0: none. */
static size_t take_pem(unsigned char pem[PEM_BYTES_MAX], const struct section *section)
{
	struct reader r = { .data = section->data, .bytes = section->bytes };
	uint64_t count, byte;

	if (!take_head(&r, 4, &count) || count == 0 || !take_head(&r, 5, &count) || count == 0 ||
	    !take_name(&r, "signing_certificate") || !take_head(&r, 4, &count) ||
	    count > PEM_BYTES_MAX)
		return 0;
	for (size_t i = 0; i < count; i++) {
		if (!take_head(&r, 0, &byte) || byte > 0xff)
			return 0;
		pem[i] = (unsigned char)byte;
	}
	return (size_t)count;
}

static int measure_pem(unsigned char pcr[SR_EIF_PCR_BYTES], const unsigned char *pem, size_t bytes,
		       struct sr_reason *why)
{
	char no_password[] = ""; /* else OpenSSL would ask for one that the file wants */
	BIO *bio = BIO_new_mem_buf(pem, (int)bytes);
	X509 *certificate = bio ? PEM_read_bio_X509(bio, NULL, NULL, no_password) : NULL;
	unsigned char digest[SR_EIF_PCR_BYTES], *der = NULL;
	int der_bytes = certificate ? i2d_X509(certificate, &der) : -1;
	int ret = 0;

	if (der_bytes < 0)
		ret = bad(why, "the image is signed, and there is no certificate in it");
	else if (EVP_Digest(der, (size_t)der_bytes, digest, NULL, EVP_sha384(), NULL) != 1 ||
		 extend_zeros(pcr, digest))
		ret = sr_reason_set(why, -ENOMEM, "out of memory");
	OPENSSL_free(der);
	X509_free(certificate);
	BIO_free(bio);
	return ret;
}

static int measure_signer(struct sr_eif *eif, const struct image *image, struct sr_reason *why)
{
	unsigned char pem[PEM_BYTES_MAX];
	size_t bytes;

	for (uint32_t i = 0; i < image->count; i++) {
		if (image->sections[i].type != SIGNATURE)
			continue;
		bytes = take_pem(pem, &image->sections[i]);
		if (bytes == 0)
			return bad(why, "the image's signature section is malformed");
		eif->is_signed = true;
		return measure_pem(eif->pcr8, pem, bytes, why);
	}
	return 0;
}

int sr_eif_measure(struct sr_eif *eif, const unsigned char *data, size_t bytes,
		   struct sr_reason *why)
{
	static const struct range ranges[3] = {
		{ .boot = true, .first = 0, .end = SR_EIF_SECTIONS_MAX },
		{ .boot = true, .first = 0, .end = 1 },
		{ .boot = false, .first = 1, .end = SR_EIF_SECTIONS_MAX },
	};
	struct image image = { 0 };
	struct sr_eif e = { 0 };
	int ret = take_image(&image, data, bytes, why);

	if (ret)
		return ret;
	e.version = image.version;
	for (uint32_t i = 0; ret == 0 && i < 3; i++)
		ret = measure(e.pcr[i], &image, &ranges[i]);
	if (ret)
		return sr_reason_set(why, ret, "out of memory");
	ret = measure_signer(&e, &image, why);
	if (ret == 0)
		*eif = e;
	return ret;
}
