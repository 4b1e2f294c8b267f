/* SPDX-License-Identifier: MIT */
/*
 * sr_private_file.h - files that nobody but their owner may read.
 *
 * What a secret is kept in: a regular file of mode 0600 or less, that belongs to
 * root or to the user who runs the program, and is no symbolic link. Anything else
 * is refused. A new one is made whole or not at all, and never over another.
 */
#ifndef SR_PRIVATE_FILE_H
#define SR_PRIVATE_FILE_H

#include "sr_base.h"
#include "sr_reason.h"

SR_BEGIN_DECLS

/*
 * sr_private_file_read - the whole of one.
 *
 * @text: out, @room bytes of protected memory; not terminated.
 *
 * Returns 0 with *bytes set; -EACCES: mode, owner or kind of file; -EBADMSG: it is
 * longer than @room; or what open or read gave. With a reason; @text may hold a part
 * of the file then.
 */
SR_WARN_UNUSED int sr_private_file_read(char *text, size_t *bytes, size_t room, const char *path,
					struct sr_reason *why);

/*
 * sr_private_file_make - make one, mode 0600, on the disk when this returns.
 *
 * Returns 0; -EEXIST; or what the system gave, and then no file is left behind. With
 * a reason.
 */
SR_WARN_UNUSED int sr_private_file_make(const char *path, const char *text, size_t bytes,
					struct sr_reason *why);

SR_END_DECLS

#endif /* SR_PRIVATE_FILE_H */
