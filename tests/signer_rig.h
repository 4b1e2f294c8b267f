/* SPDX-License-Identifier: MIT */
/* signer_rig.h - what the tests of signer/ share: a core with keys in it, and
 * the records that go into it. */
#ifndef SIGNER_RIG_H
#define SIGNER_RIG_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sr_core.h"
#include "sr_curve.h"
#include "sr_getrandom.h"
#include "sr_keyring.h"
#include "sr_message.h"
#include "sr_record.h"
#include "sr_secret.h"
#include "sr_type.h"

#define RIG_UID 1000u
#define RIG_KEY 7u      /* hedged, every blind type, RIG_UID */
#define RIG_KEY_DET 8u  /* rfc6979, every blind type, any user */
#define RIG_KEY_BARE 9u /* hedged, permits nothing */
#define RIG_SLOT 384u
#define RIG_DEPTH 8u
#define RIG_ALL_TYPES 0x1eu

/* AddressSanitizer moves frames, takes over malloc and turns mlock() into
 * nothing; what looks at those is skipped under it. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RIG_SANITIZED 1
#elif defined(__has_feature)
#define RIG_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define RIG_SANITIZED 0
#endif

struct rig {
	struct sr_curve *curve;
	struct sr_keyring *keys;
	struct sr_core *core;
};

static inline void rig_unhex(unsigned char *out, const char *hex)
{
	for (size_t i = 0; i < strlen(hex) / 2; i++) {
		unsigned int v;

		cr_assert(sscanf(hex + 2 * i, "%2x", &v) == 1);
		out[i] = (unsigned char)v;
	}
}

/* Protected memory needs what qemu-user does not have. */
static inline void rig_need_secret_memory(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *mem = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int ret;

	cr_assert(mem != MAP_FAILED);
	ret = madvise(mem, page, MADV_WIPEONFORK);
	(void)munmap(mem, page);
	if (ret)
		cr_skip_test("no MADV_WIPEONFORK here (qemu-user, or Linux before 4.14)");
}

static inline void rig_key_add(struct rig *rig, uint32_t id, uint32_t mode, uint32_t permissions,
			       bool any_uid, unsigned char fill)
{
	struct sr_key_info info = {
		.id = id,
		.nonce_mode = mode,
		.permissions = permissions,
		.uid_count = any_uid ? 0 : 1,
		.uids = { RIG_UID },
		.any_uid = any_uid,
	};
	unsigned char seckey[SR_SECKEY_BYTES];

	memset(seckey, fill, sizeof seckey);
	cr_assert_eq(sr_keyring_add(rig->keys, rig->curve, &info, seckey), 0);
}

static inline struct sr_core_config rig_config(const struct rig *rig)
{
	return (struct sr_core_config){
		.sign = { .keys = rig->keys, .entropy = &sr_getrandom },
		.sessions_max = 4,
		.depth_max = 16,
		.slot_bytes_max = 512,
		.clear = &sr_core_clear,
	};
}

static inline void rig_begin(struct rig *rig)
{
	static const unsigned char seed[32] = { 1 };
	struct sr_core_config config;

	rig_need_secret_memory();
	cr_assert_eq(sr_curve_new(&rig->curve, seed), 0);
	cr_assert_eq(sr_keyring_new(&rig->keys), 0);
	rig_key_add(rig, RIG_KEY, SR_NONCE_HEDGED, RIG_ALL_TYPES, false, 0x2a);
	rig_key_add(rig, RIG_KEY_DET, SR_NONCE_RFC6979, RIG_ALL_TYPES, true, 0x2a);
	rig_key_add(rig, RIG_KEY_BARE, SR_NONCE_HEDGED, 0, true, 0x11);
	config = rig_config(rig);
	cr_assert_eq(sr_core_new(&rig->core, &config), 0);
}

static inline void rig_end(struct rig *rig)
{
	sr_core_delete(rig->core);
	sr_keyring_delete(rig->keys);
	sr_curve_delete(rig->curve);
}

static inline struct sr_open_request rig_open_request(uint64_t token, uint64_t first)
{
	return (struct sr_open_request){
		.token = { token, ~token },
		.first = first,
		.depth = RIG_DEPTH,
		.slot_bytes = RIG_SLOT,
		.uid = RIG_UID,
		.cookie = (uint32_t)token + 100,
	};
}

/* A submission record in clear. @record: `slot_bytes` of room. */
static inline void rig_record(unsigned char *record, uint32_t slot_bytes, uint64_t word,
			      uint32_t key, uint16_t type, const void *body, uint16_t bytes)
{
	unsigned char *request = record + SR_SUB_BODY;

	memset(record, 0, slot_bytes);
	sr_put64(record, word);
	record[SR_SUB_KIND] = SR_KIND_UNSEALED;
	sr_put32(request + SR_REQ_KEY, key);
	sr_put16(request + SR_REQ_TYPE, type);
	sr_put16(request + SR_REQ_BODY_BYTES, bytes);
	memcpy(request + SR_REQ_BODY, body, bytes);
}

static inline unsigned int rig_status(const unsigned char *reply)
{
	return sr_get16(reply + SR_CMP_BODY + SR_REP_STATUS);
}

static inline unsigned int rig_policy(const unsigned char *reply)
{
	return sr_get16(reply + SR_CMP_BODY + SR_REP_POLICY);
}

static inline uint64_t rig_accepted(const unsigned char *reply)
{
	return sr_get64(reply + SR_CMP_BODY + SR_REP_ACCEPTED);
}

static inline const unsigned char *rig_sig(const unsigned char *reply)
{
	return reply + SR_CMP_BODY + SR_REP_SIG;
}

#endif /* SIGNER_RIG_H */
