/* SPDX-License-Identifier: MIT */
/*
 * sr_boot.h - one boot of an enclave has one signer.
 *
 * A security module gives documents to every process that may open it, for any key, all
 * with the registers of the image. So the first signer of a boot extends register
 * SR_EVIDENCE_BOOT_PCR, which is zeros until then, with the hash of its boot id and static
 * key, and locks it until the next boot: each document has it from then on, and clients
 * compare. A second signer finds it locked and ends.
 *
 * That is taken to be done only when it was seen: the module says what the register is after
 * it was extended, and that is what a client will compute.
 */
#ifndef SR_BOOT_H
#define SR_BOOT_H

#include "sr_base.h"
#include "sr_evidence.h"
#include "sr_reason.h"

#define SR_BOOT_HASH_BYTES 32u /* of sr_boot_hash() */

SR_BEGIN_DECLS

/*
 * sr_boot_lock - extend the register and lock it.
 *
 * @module: what the module has told of itself, by evidence->describe().
 * @hash:   what it is extended with.
 *
 * Returns 0; -EOPNOTSUPP: the module has no such register, or none that can be extended, and
 * nothing was changed: its documents have none, or zeros, and who demands one refuses them.
 * All others are fatal: -EROFS: it is locked, by another signer of this boot; -EBADMSG: it
 * was not zeros; or what the module said. With a reason, -EOPNOTSUPP too.
 */
SR_WARN_UNUSED int sr_boot_lock(const struct sr_evidence *evidence,
				const struct sr_evidence_module *module,
				const unsigned char hash[SR_BOOT_HASH_BYTES],
				struct sr_reason *why);

SR_END_DECLS

#endif /* SR_BOOT_H */
