/* SPDX-License-Identifier: MIT */
/*
 * sr_ct.h - where a secret becomes public, said to memcheck.
 *
 * tests/ct_sign.c marks secrets as undefined memory and runs under valgrind,
 * which then reports each branch and each index that depends on one. Only what
 * leaves the signer is declassified: a public key, a signature, and whether
 * 32 bytes are a key at all. Internal; compiled to nothing without SR_CT.
 */
#ifndef SR_CT_H
#define SR_CT_H

#include "sr_base.h"

#ifdef SR_CT
#include <valgrind/memcheck.h>
#endif

static inline void sr_declassify(const void *mem, size_t bytes)
{
#ifdef SR_CT
	(void)VALGRIND_MAKE_MEM_DEFINED(mem, bytes);
#else
	(void)mem;
	(void)bytes;
#endif
}

#endif /* SR_CT_H */
