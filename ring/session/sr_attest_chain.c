/* SPDX-License-Identifier: MIT */
#include "sr_attest_chain.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/x509v3.h>
#include <time.h>

/* AWS_NitroEnclaves_Root-G1, SHA-256 of the DER. */
static const unsigned char aws_root_g1[SR_ATTEST_HASH_BYTES] = {
	0x64, 0x1a, 0x03, 0x21, 0xa3, 0xe2, 0x44, 0xef, 0xe4, 0x56, 0x46,
	0x31, 0x95, 0xd6, 0x06, 0x31, 0x7e, 0xd7, 0xcd, 0xcc, 0x3c, 0x17,
	0x56, 0xe0, 0x98, 0x93, 0xf3, 0xc6, 0x8f, 0x79, 0xbb, 0x5b,
};

void sr_attest_root_aws(struct sr_attest_root *root)
{
	memcpy(root->sha256, aws_root_g1, sizeof root->sha256);
}

/* One certificate, and nothing behind it. */
static X509 *parse_der(const unsigned char *der, size_t bytes)
{
	const unsigned char *end = der;
	X509 *cert = bytes <= SR_ATTEST_CERT_BYTES_MAX ? d2i_X509(NULL, &end, (long)bytes) : NULL;

	if (cert && end != der + bytes) {
		X509_free(cert);
		cert = NULL;
	}
	return cert;
}

int sr_attest_root_parse(struct sr_attest_root *root, const void *file, size_t file_bytes)
{
	char no_password[] = ""; /* else an encrypted file would make OpenSSL ask at the terminal */
	unsigned char *der = NULL;
	int der_bytes = 0, ret = -EINVAL;
	X509 *cert = NULL, *second = NULL;
	BIO *bio;

	if (file_bytes == 0 || file_bytes > SR_ATTEST_BYTES_MAX)
		return -EINVAL;
	(void)ERR_set_mark();
	bio = BIO_new_mem_buf(file, (int)file_bytes);
	cert = bio ? PEM_read_bio_X509(bio, NULL, NULL, no_password) : NULL;
	if (cert)
		second = PEM_read_bio_X509(bio, NULL, NULL, no_password);
	else
		cert = parse_der(file, file_bytes);
	if (cert && !second)
		der_bytes = i2d_X509(cert, &der);
	if (der_bytes > 0 && der_bytes <= (int)SR_ATTEST_CERT_BYTES_MAX) {
		ret = SHA256(der, (size_t)der_bytes, root->sha256) ? 0 : -EINVAL;
	}
	OPENSSL_free(der);
	X509_free(second);
	X509_free(cert);
	BIO_free(bio);
	(void)ERR_pop_to_mark();
	return ret;
}

/* The key as a point, when it is on P-384 by name: explicit curve parameters could
 * be of a curve that somebody chose (CVE-2020-0601). */
static const unsigned char *p384_point(const X509 *cert)
{
	ASN1_OBJECT *algorithm = NULL;
	const ASN1_OBJECT *object = NULL;
	const unsigned char *point = NULL;
	const void *parameter = NULL;
	X509_ALGOR *id = NULL;
	int point_bytes = 0, type = 0;

	if (X509_PUBKEY_get0_param(&algorithm, &point, &point_bytes, &id,
				   X509_get_X509_PUBKEY(cert)) != 1)
		return NULL;
	X509_ALGOR_get0(&object, &type, &parameter, id);
	if (OBJ_obj2nid(object) != NID_X9_62_id_ecPublicKey || type != V_ASN1_OBJECT ||
	    OBJ_obj2nid(parameter) != NID_secp384r1)
		return NULL;
	return point_bytes == (int)SR_P384_POINT_BYTES && point[0] == 4 ? point : NULL;
}

/* OpenSSL's own flag lets pass what its chain builder would judge, such as name
 * constraints; here only two extensions are. */
static bool has_unknown_critical(const X509 *cert)
{
	for (int i = 0; i < X509_get_ext_count(cert); i++) {
		X509_EXTENSION *extension = X509_get_ext(cert, i);
		int nid = OBJ_obj2nid(X509_EXTENSION_get_object(extension));

		if (X509_EXTENSION_get_critical(extension) && nid != NID_basic_constraints &&
		    nid != NID_key_usage)
			return true;
	}
	return false;
}

/* What a certificate says of itself. @below: how many CAs stand between it and the
 * leaf; @leaf: it is the leaf. */
static enum sr_attest_code check_alone(X509 *cert, long below, bool leaf)
{
	/* Fills the cached extensions, which the calls below read. */
	uint32_t flags = X509_get_extension_flags(cert);
	uint32_t usage = X509_get_key_usage(cert);
	long path = X509_get_pathlen(cert);

	if (flags & EXFLAG_NO_FINGERPRINT) /* any bytes have one: there was no memory for it */
		return SR_ATTEST_NO_MEMORY;
	if (X509_get_version(cert) != X509_VERSION_3 || flags & EXFLAG_INVALID)
		return SR_ATTEST_CERT_FORM;
	if (!p384_point(cert) || !X509_get0_pubkey(cert))
		return SR_ATTEST_CERT_KEY;
	if (X509_get_signature_nid(cert) != NID_ecdsa_with_SHA384)
		return SR_ATTEST_CERT_ALGORITHM;
	if (!(flags & EXFLAG_BCONS) || !(flags & EXFLAG_CA) != leaf)
		return SR_ATTEST_CERT_CONSTRAINTS;
	if (leaf ? path != -1 : path != -1 && path < below)
		return SR_ATTEST_CERT_PATH;
	if (!(flags & EXFLAG_KUSAGE) || !(usage & (leaf ? KU_DIGITAL_SIGNATURE : KU_KEY_CERT_SIGN)))
		return SR_ATTEST_CERT_USAGE;
	if (leaf && usage & KU_KEY_CERT_SIGN)
		return SR_ATTEST_CERT_USAGE;
	return has_unknown_critical(cert) ? SR_ATTEST_CERT_CRITICAL : SR_ATTEST_OK;
}

static enum sr_attest_code check_issued(X509 *issuer, X509 *cert)
{
	if (X509_check_issued(issuer, cert) != X509_V_OK)
		return SR_ATTEST_CERT_ISSUER;
	return X509_verify(cert, X509_get0_pubkey(issuer)) == 1 ? SR_ATTEST_OK :
								  SR_ATTEST_CERT_SIGNATURE;
}

static bool unix_ms(uint64_t *out, const ASN1_TIME *when)
{
	struct tm tm;
	time_t seconds;

	if (ASN1_TIME_to_tm(when, &tm) != 1)
		return false;
	seconds = timegm(&tm);
	*out = seconds > 0 ? (uint64_t)seconds * 1000 : 0;
	return true;
}

static enum sr_attest_code narrow(struct sr_attest_chain *chain, const X509 *cert)
{
	uint64_t begin_ms, end_ms;

	if (!unix_ms(&begin_ms, X509_get0_notBefore(cert)) ||
	    !unix_ms(&end_ms, X509_get0_notAfter(cert)))
		return SR_ATTEST_CERT_FORM;
	end_ms += 999; /* notAfter is the last second of it (RFC 5280 section 4.1.2.5) */
	if (begin_ms > chain->begin_ms)
		chain->begin_ms = begin_ms;
	if (end_ms < chain->end_ms)
		chain->end_ms = end_ms;
	return SR_ATTEST_OK;
}

/* The cause of a failure is the oldest error: what it led to lies upon it. */
static bool out_of_memory(void)
{
	return ERR_GET_REASON(ERR_peek_error()) == ERR_R_MALLOC_FAILURE;
}

/* From the root downward: a certificate is looked at only below one that is good. */
static enum sr_attest_code verify(struct sr_attest_chain *chain, const struct sr_attest_view *certs,
				  size_t count)
{
	enum sr_attest_code code = SR_ATTEST_OK;
	X509 *above = NULL, *cert = NULL;

	*chain = (struct sr_attest_chain){ .end_ms = UINT64_MAX };
	for (size_t i = 0; i < count && code == SR_ATTEST_OK; i++) {
		bool leaf = i == count - 1;

		cert = parse_der(certs[i].data, certs[i].bytes);
		code = cert ? check_alone(cert, (long)(count - i) - 2, leaf) : SR_ATTEST_CERT_FORM;
		if (code == SR_ATTEST_OK)
			code = narrow(chain, cert);
		/* The root's own signature proves nothing that its hash does not. */
		if (code == SR_ATTEST_OK && above)
			code = check_issued(above, cert);
		if (code == SR_ATTEST_OK && leaf)
			memcpy(chain->point, p384_point(cert), sizeof chain->point);
		X509_free(above);
		above = cert;
	}
	X509_free(above);
	return code;
}

/* Of hashes, which have one length, or two chains could be cut from the same bytes. */
static bool hash_chain(unsigned char hash[SR_ATTEST_HASH_BYTES], const struct sr_attest_view *certs,
		       size_t count)
{
	unsigned char all[SR_ATTEST_CERTS_MAX][SR_ATTEST_HASH_BYTES];

	for (size_t i = 0; i < count; i++)
		if (!SHA256(certs[i].data, certs[i].bytes, all[i]))
			return false;
	return SHA256(all[0], count * SR_ATTEST_HASH_BYTES, hash);
}

static const struct sr_attest_chain *cache_find(const struct sr_attest_cache *cache,
						const unsigned char hash[SR_ATTEST_HASH_BYTES])
{
	for (size_t i = 0; i < SR_ATTEST_CACHE_CHAINS; i++)
		if (cache->entries[i].chain.end_ms &&
		    !memcmp(cache->entries[i].hash, hash, SR_ATTEST_HASH_BYTES))
			return &cache->entries[i].chain;
	return NULL;
}

static void cache_keep(struct sr_attest_cache *cache, const struct sr_attest_chain *chain,
		       const unsigned char hash[SR_ATTEST_HASH_BYTES])
{
	uint32_t at = cache->next % SR_ATTEST_CACHE_CHAINS;

	memcpy(cache->entries[at].hash, hash, SR_ATTEST_HASH_BYTES);
	cache->entries[at].chain = *chain;
	cache->next = at + 1;
}

static enum sr_attest_code judge(struct sr_attest_chain *chain, const struct sr_attest_view *certs,
				 size_t count, const struct sr_attest_root *root,
				 struct sr_attest_cache *cache)
{
	unsigned char hash[SR_ATTEST_HASH_BYTES];
	const struct sr_attest_chain *known;
	enum sr_attest_code code;

	if (!SHA256(certs[0].data, certs[0].bytes, hash))
		return SR_ATTEST_NO_MEMORY;
	if (memcmp(hash, root->sha256, sizeof hash))
		return SR_ATTEST_ROOT;
	if (!cache)
		return verify(chain, certs, count);

	if (!hash_chain(hash, certs, count))
		return SR_ATTEST_NO_MEMORY;
	known = cache_find(cache, hash);
	if (known) {
		*chain = *known;
		return SR_ATTEST_OK;
	}
	code = verify(chain, certs, count);
	if (code == SR_ATTEST_OK)
		cache_keep(cache, chain, hash);
	return code;
}

enum sr_attest_code sr_attest_chain_verify(struct sr_attest_chain *out,
					   const struct sr_attest_view *certs, size_t count,
					   const struct sr_attest_root *root,
					   struct sr_attest_cache *cache)
{
	struct sr_attest_chain chain;
	enum sr_attest_code code;
	bool quiet = ERR_peek_error() == 0; /* else the caller's errors hide the cause */

	if (count < 2 || count > SR_ATTEST_CERTS_MAX)
		return SR_ATTEST_CERTS;
	(void)ERR_set_mark();
	code = judge(&chain, certs, count, root, cache);
	if (code != SR_ATTEST_OK && quiet && out_of_memory())
		code = SR_ATTEST_NO_MEMORY;
	(void)ERR_pop_to_mark();
	if (code == SR_ATTEST_OK)
		*out = chain;
	return code;
}
