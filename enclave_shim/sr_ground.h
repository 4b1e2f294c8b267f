/* SPDX-License-Identifier: MIT */
/*
 * sr_ground.h - what a signer stands on: an enclave, or a host.
 *
 * The code of all signers is the same. What differs is who attests to them, whether
 * they take sessions in clear, and whether they read keys from files; and a program
 * links what its own ground names and nothing else, so that an enclave's has neither a
 * mock security module in it nor a way to take an order without a seal.
 */
#ifndef SR_GROUND_H
#define SR_GROUND_H

#include "sr_core.h"
#include "sr_evidence.h"
#include "sr_reason.h"

struct sr_ground {
	const struct sr_core_kind *clear; /* sessions in clear; NULL: there are none */
	unsigned int loops; /* that poll on the signer's machine, its own with them */
	bool confined; /* keeps few system calls (sr_confine.h); on a host its unit sees to that */
	bool snapshots; /* the machine might be started twice from one state (sr_hazard.h) */

	/*
	 * Add each key file of a directory. NULL: keys come over operator sessions alone.
	 * Returns 0 or -errno with a reason.
	 */
	int (*load_keys)(struct sr_keyring *keys, const struct sr_curve *curve,
			 const char *directory, struct sr_reason *why);

	/*
	 * Reach the security module. @evidence: good until close().
	 * Returns 0 or -errno with a reason.
	 */
	int (*open)(void **module, struct sr_evidence *evidence, struct sr_reason *why);
	void (*close)(void *module); /* NULL is legal */

	/*
	 * Write into a file what clients have to believe of this signer and of a manifest's
	 * version (sr_trust.h), for where they can see it. NULL: they know by other ways.
	 * Returns 0 or -errno with a reason.
	 */
	int (*tell)(const void *module, const struct sr_evidence *evidence, const char *path,
		    uint64_t manifest_min, struct sr_reason *why);
};

/* /dev/nsm, sealed sessions, no key files; -ENOENT where it is not there. */
extern const struct sr_ground sr_ground_enclave;

/* A mock module, whose root is made at each start; sessions in clear; key files. */
extern const struct sr_ground sr_ground_host;

#endif /* SR_GROUND_H */
