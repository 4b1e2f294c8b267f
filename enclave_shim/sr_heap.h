/* SPDX-License-Identifier: MIT */
/*
 * sr_heap.h - OpenSSL's memory, all of it, in a protected heap.
 *
 * The library keeps cipher keys and the generator's state in memory that it
 * allocates by itself. Its own secure heap (locked, between guard pages, left out
 * of core dumps, wiped when freed) is made to serve every allocation of it, not
 * only the few that ask for it. A forked child inherits it: who uses this does not
 * fork afterwards (sr_hazard_fork() comes before there is anything in it).
 */
#ifndef SR_HEAP_H
#define SR_HEAP_H

#include "sr_base.h"

#define SR_HEAP_BYTES (1u << 20) /* four times what a signer in clear was seen to use */

SR_BEGIN_DECLS

/*
 * sr_heap_protect - once, before anything else is asked of OpenSSL.
 *
 * @bytes: a power of two, SR_HEAP_BYTES at least.
 *
 * Returns 0; -EBUSY when OpenSSL has allocated already, or this was called; -ENOMEM when the memory
 * cannot be locked. Allocation beyond the heap fails, like any that fails.
 */
SR_WARN_UNUSED int sr_heap_protect(size_t bytes);

SR_END_DECLS

#endif /* SR_HEAP_H */
