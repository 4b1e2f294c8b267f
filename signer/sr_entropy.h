/* SPDX-License-Identifier: MIT */
/*
 * sr_entropy.h - where secret random bytes come from.
 *
 * The signer does no I/O: whoever runs it hands in a source, getrandom(2) on a
 * host or the NSM in an enclave. A source is trusted to be unpredictable and not
 * trusted to work: sr_health.h watches what it gives.
 */
#ifndef SR_ENTROPY_H
#define SR_ENTROPY_H

#include "sr_base.h"

struct sr_entropy {
	/*
	 * @out:   protected memory; overwritten whole on success.
	 * @bytes: 1 .. 4096.
	 * Returns 0 or -errno. May make a system call; called once a batch of
	 * presignatures and at start-up, never for an answer.
	 */
	int (*get)(void *arg, unsigned char *out, size_t bytes);
	void *arg;
};

#endif /* SR_ENTROPY_H */
