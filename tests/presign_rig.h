/* SPDX-License-Identifier: MIT */
/*
 * presign_rig.h - what the tests of presignatures share: a source of entropy that
 * can be broken, a key, a presignature for a chosen k, and a second opinion by
 * OpenSSL on whatever libsecp256k1 made. Without Criterion, since programs with a
 * main() of their own use it too: a function says by its answer whether it worked.
 */
#ifndef PRESIGN_RIG_H
#define PRESIGN_RIG_H

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/obj_mac.h>
#include <openssl/params.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "sr_curve.h"
#include "sr_entropy.h"
#include "sr_presign.h"

/* AddressSanitizer moves frames, takes over malloc and turns mlock() into
 * nothing; what looks at those is skipped under it. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PR_SANITIZED 1
#elif defined(__has_feature)
#define PR_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define PR_SANITIZED 0
#endif

/* Is there what protected memory needs? qemu-user and Linux before 4.14 have not. */
static inline bool pr_secret_memory(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *mem = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool there = mem != MAP_FAILED && madvise(mem, page, MADV_WIPEONFORK) == 0;

	if (mem != MAP_FAILED)
		(void)munmap(mem, page);
	return there;
}

#define PR_NO_SECRET_MEMORY "no MADV_WIPEONFORK here (qemu-user, or Linux before 4.14)"

/* ---- entropy ---- */

enum pr_source_mode { PR_GOOD, PR_SILENT, PR_STUCK };

struct pr_source {
	enum pr_source_mode mode;
	unsigned int calls;
};

static inline int pr_source_get(void *arg, unsigned char *out, size_t bytes)
{
	struct pr_source *source = arg;

	source->calls++;
	if (source->mode == PR_SILENT)
		return -EIO;
	if (source->mode == PR_STUCK) {
		memset(out, 0x5a, bytes);
		return 0;
	}
	/* 4096 are more than one call promises to give at once. */
	for (size_t at = 0; at < bytes; at += 256) {
		size_t piece = bytes - at < 256 ? bytes - at : 256;

		if (getrandom(out + at, piece, 0) != (ssize_t)piece)
			return -EIO;
	}
	return 0;
}

static inline bool pr_random(unsigned char *out, size_t bytes)
{
	struct pr_source source = { PR_GOOD, 0 };

	return pr_source_get(&source, out, bytes) == 0;
}

/* ---- scalars, by OpenSSL ---- */

static const unsigned char pr_order[SR_SCALAR_BYTES] = {
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	0xff, 0xff, 0xff, 0xff, 0xfe, 0xba, 0xae, 0xdc, 0xe6, 0xaf, 0x48,
	0xa0, 0x3b, 0xbf, 0xd2, 0x5e, 0x8c, 0xd0, 0x36, 0x41, 0x41,
};

/* out = n + difference; also what does not fit a scalar any more. */
static inline void pr_near_order(unsigned char out[SR_SCALAR_BYTES], int difference)
{
	memcpy(out, pr_order, SR_SCALAR_BYTES);
	out[31] = (unsigned char)(out[31] + difference);
}

static inline void pr_small(unsigned char out[SR_SCALAR_BYTES], unsigned char value)
{
	memset(out, 0, SR_SCALAR_BYTES);
	out[31] = value;
}

/* The four results that a scalar function of ours is compared with. */
enum pr_op { PR_MUL, PR_ADD, PR_NEGATE, PR_INVERT };

static inline bool pr_bn(unsigned char out[SR_SCALAR_BYTES], enum pr_op op, const unsigned char *a,
			 const unsigned char *b)
{
	BN_CTX *ctx = BN_CTX_new();
	BIGNUM *n = BN_bin2bn(pr_order, SR_SCALAR_BYTES, NULL);
	BIGNUM *x = BN_bin2bn(a, SR_SCALAR_BYTES, NULL);
	BIGNUM *y = b ? BN_bin2bn(b, SR_SCALAR_BYTES, NULL) : BN_new();
	BIGNUM *z = BN_new();
	bool good = ctx && n && x && y && z;

	if (good && op == PR_MUL)
		good = BN_mod_mul(z, x, y, n, ctx);
	else if (good && op == PR_ADD)
		good = BN_mod_add(z, x, y, n, ctx);
	else if (good && op == PR_NEGATE)
		good = BN_mod_sub(z, n, x, n, ctx);
	else if (good)
		good = BN_mod_inverse(z, x, n, ctx) != NULL;
	if (good)
		good = BN_bn2binpad(z, out, SR_SCALAR_BYTES) == SR_SCALAR_BYTES;
	BN_free(z);
	BN_free(y);
	BN_free(x);
	BN_free(n);
	BN_CTX_free(ctx);
	return good;
}

/* ---- keys and presignatures ---- */

struct pr_key {
	unsigned char d[SR_SCALAR_BYTES];
	unsigned char b[SR_SCALAR_BYTES];
	unsigned char bd[SR_SCALAR_BYTES];
	unsigned char pubkey[SR_PUBKEY_BYTES];
};

static inline struct sr_presign_key pr_key_view(const struct pr_key *key)
{
	return (struct sr_presign_key){ key->d, key->b, key->bd };
}

/* A random key whose public key has the parity @odd. */
static inline bool pr_key_make(struct pr_key *key, const struct sr_curve *curve, uint32_t odd)
{
	do {
		if (!pr_random(key->d, sizeof key->d) ||
		    sr_curve_pubkey(curve, key->pubkey, NULL, key->d))
			return false;
	} while ((key->pubkey[0] & 1u) != odd);
	return pr_random(key->b, sizeof key->b) && pr_bn(key->bd, PR_MUL, key->b, key->d);
}

/* The presignature of @k, 1/k by OpenSSL. */
static inline bool pr_presig_of(struct sr_presig *presig, const struct sr_curve *curve,
				const unsigned char k[SR_SCALAR_BYTES])
{
	struct sr_point point;

	if (!sr_point_base_mul(curve, &point, k))
		return false;
	sr_point_x(curve, presig->r, &presig->odd, &point);
	memcpy(presig->k, k, SR_SCALAR_BYTES);
	presig->made = SR_PRESIG_MADE ^ presig->odd;
	return pr_bn(presig->u, PR_INVERT, k, NULL) &&
	       pr_bn(presig->ur, PR_MUL, presig->u, presig->r);
}

/* One of a random k, with a y of the parity @odd. Not in the caller's frame, where a
 * search of the stack would find that k. */
static SR_NOINLINE __attribute__((unused)) bool
pr_presig_make(struct sr_presig *presig, const struct sr_curve *curve, uint32_t odd)
{
	unsigned char k[SR_SCALAR_BYTES];

	do {
		if (!pr_random(k, sizeof k) || !pr_presig_of(presig, curve, k))
			return false;
	} while (presig->odd != odd);
	return true;
}

/* ---- OpenSSL's opinion ---- */

static inline EVP_PKEY *pr_evp_key(const unsigned char pubkey[SR_PUBKEY_BYTES])
{
	char group[] = "secp256k1";
	unsigned char copy[SR_PUBKEY_BYTES];
	OSSL_PARAM params[3];
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
	EVP_PKEY *key = NULL;

	memcpy(copy, pubkey, sizeof copy);
	params[0] = OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, group, 0);
	params[1] = OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, copy, sizeof copy);
	params[2] = OSSL_PARAM_construct_end();
	if (EVP_PKEY_fromdata_init(ctx) != 1 ||
	    EVP_PKEY_fromdata(ctx, &key, EVP_PKEY_PUBLIC_KEY, params) != 1)
		key = NULL;
	EVP_PKEY_CTX_free(ctx);
	return key;
}

static inline bool pr_openssl_ecdsa(const unsigned char sig[64], const unsigned char digest[32],
				    const unsigned char pubkey[SR_PUBKEY_BYTES])
{
	EVP_PKEY *key = pr_evp_key(pubkey);
	EVP_PKEY_CTX *ctx = key ? EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL) : NULL;
	ECDSA_SIG *pair = ECDSA_SIG_new();
	unsigned char *der = NULL;
	int bytes;
	bool good;

	(void)ECDSA_SIG_set0(pair, BN_bin2bn(sig, 32, NULL), BN_bin2bn(sig + 32, 32, NULL));
	bytes = i2d_ECDSA_SIG(pair, &der);
	good = ctx && bytes > 0 && EVP_PKEY_verify_init(ctx) == 1 &&
	       EVP_PKEY_verify(ctx, der, (size_t)bytes, digest, 32) == 1;
	OPENSSL_free(der);
	ECDSA_SIG_free(pair);
	EVP_PKEY_CTX_free(ctx);
	EVP_PKEY_free(key);
	return good;
}

/* e of BIP-340, with the tag hashed here and not written down. */
static inline bool pr_challenge(unsigned char e[32], const unsigned char r[32],
				const unsigned char x[32], const void *message, size_t bytes)
{
	static const char text[] = "BIP0340/challenge";
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	unsigned char tag[32];
	bool good = EVP_Digest(text, sizeof text - 1, tag, NULL, EVP_sha256(), NULL) &&
		    EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) &&
		    EVP_DigestUpdate(ctx, tag, 32) && EVP_DigestUpdate(ctx, tag, 32) &&
		    EVP_DigestUpdate(ctx, r, 32) && EVP_DigestUpdate(ctx, x, 32) &&
		    EVP_DigestUpdate(ctx, message, bytes) && EVP_DigestFinal_ex(ctx, e, NULL);

	EVP_MD_CTX_free(ctx);
	return good;
}

/* s*G - e*P = R with an even y and r for its x; by OpenSSL's points alone. */
static inline bool pr_openssl_bip340(const unsigned char sig[64], const void *message, size_t bytes,
				     const unsigned char pubkey[SR_PUBKEY_BYTES])
{
	EC_GROUP *group = EC_GROUP_new_by_curve_name(NID_secp256k1);
	EC_POINT *p = EC_POINT_new(group), *point = EC_POINT_new(group);
	BIGNUM *s = BN_bin2bn(sig + 32, 32, NULL), *e = BN_new();
	unsigned char even[SR_PUBKEY_BYTES], hash[32], negated[32], out[SR_PUBKEY_BYTES];
	bool good;

	memcpy(even, pubkey, sizeof even);
	even[0] = 2;
	good = pr_challenge(hash, sig, pubkey + 1, message, bytes) &&
	       pr_bn(negated, PR_NEGATE, hash, NULL) && BN_bin2bn(negated, 32, e) &&
	       EC_POINT_oct2point(group, p, even, sizeof even, NULL) &&
	       EC_POINT_mul(group, point, s, p, e, NULL) &&
	       EC_POINT_point2oct(group, point, POINT_CONVERSION_COMPRESSED, out, sizeof out,
				  NULL) == sizeof out &&
	       out[0] == 2 && memcmp(out + 1, sig, 32) == 0;
	BN_free(e);
	BN_free(s);
	EC_POINT_free(point);
	EC_POINT_free(p);
	EC_GROUP_free(group);
	return good;
}

/* x(k*G), by OpenSSL. */
static inline bool pr_openssl_x(unsigned char x[32], uint32_t *odd,
				const unsigned char k[SR_SCALAR_BYTES])
{
	EC_GROUP *group = EC_GROUP_new_by_curve_name(NID_secp256k1);
	EC_POINT *point = EC_POINT_new(group);
	BIGNUM *n = BN_bin2bn(k, SR_SCALAR_BYTES, NULL);
	unsigned char out[SR_PUBKEY_BYTES];
	bool good = EC_POINT_mul(group, point, n, NULL, NULL, NULL) &&
		    EC_POINT_point2oct(group, point, POINT_CONVERSION_COMPRESSED, out, sizeof out,
				       NULL) == sizeof out;

	if (good) {
		memcpy(x, out + 1, 32);
		*odd = out[0] & 1u;
	}
	BN_free(n);
	EC_POINT_free(point);
	EC_GROUP_free(group);
	return good;
}

/* ---- what is left of secrets ---- */

/*
 * Eight bytes at a time, as a call may have spilled them: in the order in which
 * we write a scalar, and reversed, which is how the library's limbs lie. Kept
 * under a mask, or a search of all memory would find the list itself.
 */
#define PR_NEEDLES_MAX 16384u
#define PR_MASK 0xa5c35a3c96f00f69ull

struct pr_needles {
	uint32_t count;
	bool sorted;
	uint64_t words[PR_NEEDLES_MAX];
};

static inline void pr_needle_add(struct pr_needles *needles,
				 const unsigned char scalar[SR_SCALAR_BYTES])
{
	for (uint32_t i = 0; i < SR_SCALAR_BYTES; i += 8) {
		uint64_t word = sr_get64(scalar + i);

		/* Zeroes and small numbers are everywhere. */
		if (word >> 32 == 0 || __builtin_bswap64(word) >> 32 == 0 ||
		    needles->count + 2 > PR_NEEDLES_MAX)
			continue;
		needles->words[needles->count++] = word ^ PR_MASK;
		needles->words[needles->count++] = __builtin_bswap64(word) ^ PR_MASK;
	}
	needles->sorted = false;
}

static inline int pr_word_order(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* How many places of @bytes bytes hold one of them, at any alignment. */
static inline size_t pr_needles_found(struct pr_needles *needles, const unsigned char *memory,
				      size_t bytes)
{
	size_t found = 0;

	if (!needles->sorted)
		qsort(needles->words, needles->count, sizeof needles->words[0], pr_word_order);
	needles->sorted = true;
	for (size_t i = 0; i + 8 <= bytes; i++) {
		uint64_t word = sr_get64(memory + i);
		uint64_t masked = word ^ PR_MASK;

		if (word != 0)
			found += bsearch(&masked, needles->words, needles->count, sizeof masked,
					 pr_word_order) != NULL;
	}
	return found;
}

/* In all memory of this process that can be written to. */
static inline size_t pr_search_everywhere(struct pr_needles *needles)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long from, to;
	char line[512], rights[8];
	size_t found = 0;

	while (maps && fgets(line, sizeof line, maps)) {
		if (sscanf(line, "%lx-%lx %7s", &from, &to, rights) != 3 ||
		    strncmp(rights, "rw", 2) || strstr(line, "[v"))
			continue;
		found += pr_needles_found(needles, (const unsigned char *)from, to - from);
	}
	if (maps)
		(void)fclose(maps);
	return found;
}

/* What the kernel says is not kept over a fork: memory for secrets, all of it. */
struct pr_region {
	const unsigned char *from;
	size_t bytes;
};

#define PR_REGIONS_MAX 64

static inline uint32_t pr_find_protected(struct pr_region *regions)
{
	FILE *smaps = fopen("/proc/self/smaps", "r");
	unsigned long from = 0, to = 0, a, b;
	char line[512], rights[8] = "";
	uint32_t count = 0;

	while (smaps && fgets(line, sizeof line, smaps))
		if (sscanf(line, "%lx-%lx %7s", &a, &b, rights) == 3 && strchr(rights, 'p')) {
			from = a;
			to = b;
		} else if (!strncmp(line, "VmFlags:", 8) && strstr(line, " wf") &&
			   strstr(line, " rd") && count < PR_REGIONS_MAX) {
			regions[count].from = (const unsigned char *)from;
			regions[count++].bytes = to - from;
		}
	if (smaps)
		(void)fclose(smaps);
	return count;
}

#define PR_DEAD_BYTES (16u << 10)

/* Zeroes the stack below the caller, deeper than is looked at afterwards. */
static SR_NOINLINE __attribute__((unused)) void pr_stack_clean(void)
{
	volatile unsigned char below[2 * PR_DEAD_BYTES];

	for (size_t i = 0; i < sizeof below; i++)
		below[i] = 0;
}

/* Copies what calls have left below this frame; a macro, since a call would write
 * there. @dead: PR_DEAD_BYTES. */
#define PR_STACK_COPY(dead)                                                             \
	do {                                                                            \
		const volatile unsigned char *end_ =                                    \
			(const volatile unsigned char *)__builtin_frame_address(0);     \
		for (size_t i_ = 0; i_ < PR_DEAD_BYTES; i_++)                           \
			(dead)[i_] = end_[(ptrdiff_t)i_ - (ptrdiff_t)PR_DEAD_BYTES];    \
	} while (0)

#endif /* PRESIGN_RIG_H */
