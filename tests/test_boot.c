/* SPDX-License-Identifier: MIT */
/*
 * One boot has one signer (sr_boot.h): a module that can lock the register has to have
 * locked it, and to what was asked for, or there is no signer; one that cannot is said so.
 */
#include <criterion/criterion.h>

#include <stdio.h>

#include "sr_boot.h"

/* What a module answers to each call, and what it was asked. */
static struct {
	struct sr_evidence_module module;
	int extend, lock;
	bool other_value;
	unsigned int extended, locked;
} fake;

/* From Python: hashlib.sha384(bytes(48) + b"b" * 32). */
static const char once_hex[] = "a734f8937ebc7c5d1b2badfb680a3ae7e19f09a770feb055"
			       "97170af574a13e3fb07e358be6f0b11416ee9b67894d7c0a";
static unsigned char hash[SR_BOOT_HASH_BYTES];

static int fake_extend(void *arg, unsigned char pcr[SR_EVIDENCE_PCR_BYTES], uint32_t index,
		       const unsigned char *data, size_t bytes)
{
	(void)arg;
	cr_assert_eq(index, 16);
	cr_assert_eq(bytes, SR_BOOT_HASH_BYTES);
	cr_assert_arr_eq(data, hash, bytes);
	fake.extended++;
	if (fake.extend)
		return fake.extend;
	for (size_t i = 0; i < SR_EVIDENCE_PCR_BYTES; i++)
		(void)sscanf(once_hex + 2 * i, "%2hhx", &pcr[i]);
	pcr[47] ^= fake.other_value;
	return 0;
}

static int fake_lock(void *arg, uint32_t index)
{
	(void)arg;
	cr_assert_eq(index, 16);
	fake.locked++;
	return fake.lock;
}

static void begin(void)
{
	memset(&fake, 0, sizeof fake);
	fake.module = (struct sr_evidence_module){ .id = "i-1",
						   .pcrs_max = 32,
						   .locked_mask = 0xffff };
	memset(hash, 'b', sizeof hash);
}

TestSuite(boot, .init = begin);

static int lock_it(const char *words)
{
	const struct sr_evidence source = { .extend = fake_extend, .lock = fake_lock };
	struct sr_reason why = { 0, "" };
	int ret = sr_boot_lock(&source, &fake.module, hash, &why);

	cr_assert_eq(why.error, ret);
	cr_assert(strstr(why.text, words), "`%s` does not say `%s`", why.text, words);
	return ret;
}

Test(boot, register_is_extended_and_then_locked)
{
	cr_assert_eq(lock_it(""), 0);
	cr_assert_eq(fake.extended, 1);
	cr_assert_eq(fake.locked, 1);
}

Test(boot, module_without_the_register_is_left_alone_and_that_is_said)
{
	fake.module.pcrs_max = 16;
	cr_assert_eq(lock_it("require boot-pcr"), -EOPNOTSUPP);
	cr_assert_eq(fake.extended, 0);
	fake.module.pcrs_max = 17;
	fake.extend = -ERANGE;
	cr_assert_eq(lock_it("require boot-pcr"), -EOPNOTSUPP);
	fake.extend = -EOPNOTSUPP;
	cr_assert_eq(lock_it("require boot-pcr"), -EOPNOTSUPP);
	cr_assert_eq(fake.locked, 0);
}

Test(boot, register_that_is_locked_is_another_signers)
{
	fake.module.locked_mask = 0x1ffff;
	cr_assert_eq(lock_it("another signer"), -EROFS);
	cr_assert_eq(fake.extended, 0);
	fake.module.locked_mask = 0;
	fake.extend = -EROFS;
	cr_assert_eq(lock_it("another signer"), -EROFS);
	cr_assert_eq(fake.locked, 0);
}

Test(boot, register_that_was_not_zeros_is_not_locked)
{
	fake.other_value = true;
	cr_assert_eq(lock_it("something else"), -EBADMSG);
	cr_assert_eq(fake.locked, 0);
}

Test(boot, what_fails_is_fatal)
{
	static const int errors[] = { -EREMOTEIO, -EINVAL, -EPROTO, -EINTR, -ENOTTY };

	for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
		fake.extend = errors[i];
		cr_assert_eq(lock_it("fails to extend"), errors[i]);
	}
	fake.extend = 0;
	for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
		fake.lock = errors[i];
		cr_assert_eq(lock_it("fails to lock"), errors[i]);
	}
	/* It was extended: this is no module that does not allow it. */
	fake.lock = -EOPNOTSUPP;
	cr_assert_eq(lock_it("fails to lock"), -EIO);
}
