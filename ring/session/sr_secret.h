/* SPDX-License-Identifier: MIT */
/*
 * sr_secret.h - memory for secrets.
 *
 * Whole pages between two guard pages, locked, left out of core dumps, wiped in
 * a forked child. A secret lives here or nowhere; it is copied to no other
 * place, and every page is wiped before it goes back.
 */
#ifndef SR_SECRET_H
#define SR_SECRET_H

#include "sr_base.h"

SR_BEGIN_DECLS

/*
 * sr_secret_alloc - zeroed protected pages.
 *
 * @bytes: 1 .. 64 MiB, rounded up to pages.
 * Returns 0 with *mem set (page-aligned); -EINVAL; -ENOMEM (no memory, or the
 * memlock limit is too low: nothing is handed out that could be swapped);
 * -ENOSYS (a kernel without MADV_WIPEONFORK, before 4.14, or qemu-user).
 */
SR_WARN_UNUSED int sr_secret_alloc(void **mem, size_t bytes);

/* sr_secret_free - wipe and unmap; @mem may be NULL, @bytes as allocated. */
void sr_secret_free(void *mem, size_t bytes);

/* sr_wipe - zero memory in a way that no compiler removes. */
void sr_wipe(void *mem, size_t bytes);

/* sr_wipe_stack - zero the part of the stack below the caller that calls of the
 * curve library have used. Call it right after them, from the same depth. */
void sr_wipe_stack(void);

/* sr_wipe_stack_scalar - as above, after calls on scalars alone: they go less
 * deep, and a presigned signature has no time for 8 KiB. */
void sr_wipe_stack_scalar(void);

/* sr_equal - compare without a secret-dependent branch. */
bool sr_equal(const void *a, const void *b, size_t bytes);

SR_END_DECLS

#endif /* SR_SECRET_H */
