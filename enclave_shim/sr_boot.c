/* SPDX-License-Identifier: MIT */
#include "sr_boot.h"

#include <openssl/evp.h>

#define PCR SR_EVIDENCE_BOOT_PCR

static int not_there(struct sr_reason *why)
{
	return sr_reason_set(why, -EOPNOTSUPP,
			     "the security module has no PCR%u that can be extended: a second "
			     "signer in this enclave would go unseen, and clients whose trust file "
			     "says `require boot-pcr` refuse this one",
			     PCR);
}

static int taken(struct sr_reason *why)
{
	return sr_reason_set(why, -EROFS,
			     "PCR%u is locked: there was another signer in this boot of the "
			     "enclave, and clients believe that one alone; start the enclave anew",
			     PCR);
}

static int failed(struct sr_reason *why, int error, const char *what)
{
	return sr_reason_set(why, error,
			     "the security module fails to %s PCR%u: %s; a signer that cannot show "
			     "that it is the only one of its boot does not start",
			     what, PCR, strerror(-error));
}

/* SHA-384 of the old value, zeros, and what it is extended with. */
static int expected(unsigned char pcr[SR_EVIDENCE_PCR_BYTES],
		    const unsigned char hash[SR_BOOT_HASH_BYTES])
{
	unsigned char input[SR_EVIDENCE_PCR_BYTES + SR_BOOT_HASH_BYTES] = { 0 };

	memcpy(input + SR_EVIDENCE_PCR_BYTES, hash, SR_BOOT_HASH_BYTES);
	return EVP_Digest(input, sizeof input, pcr, NULL, EVP_sha384(), NULL) == 1 ? 0 : -ENOMEM;
}

int sr_boot_lock(const struct sr_evidence *e, const struct sr_evidence_module *module,
		 const unsigned char hash[SR_BOOT_HASH_BYTES], struct sr_reason *why)
{
	unsigned char want[SR_EVIDENCE_PCR_BYTES], pcr[SR_EVIDENCE_PCR_BYTES];
	int ret;

	if (module->pcrs_max <= PCR)
		return not_there(why);
	if (module->locked_mask >> PCR & 1u)
		return taken(why);
	if (expected(want, hash))
		return sr_reason_set(why, -ENOMEM, "SHA-384 failed");

	ret = e->extend(e->arg, pcr, PCR, hash, SR_BOOT_HASH_BYTES);
	if (ret == -ERANGE || ret == -EOPNOTSUPP)
		return not_there(why);
	if (ret == -EROFS)
		return taken(why);
	if (ret)
		return failed(why, ret, "extend");
	if (memcmp(pcr, want, sizeof want))
		return sr_reason_set(why, -EBADMSG,
				     "PCR%u is another than one extension from zeros makes it: "
				     "something else in this boot of the enclave has extended it; "
				     "start the enclave anew",
				     PCR);
	ret = e->lock(e->arg, PCR);
	if (ret == -EOPNOTSUPP) /* too late for not_there() */
		ret = -EIO;
	return ret ? failed(why, ret, "lock") : 0;
}
