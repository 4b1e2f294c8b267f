/* SPDX-License-Identifier: MIT */
/*
 * sr_textfile.h - small public files that a signer is told to believe.
 */
#ifndef SR_TEXTFILE_H
#define SR_TEXTFILE_H

#include "sr_base.h"
#include "sr_reason.h"

SR_BEGIN_DECLS

/*
 * sr_textfile_read - the whole of one.
 *
 * @text:     out, not terminated; free() it. NULL on failure.
 * @max:      longer ones are refused.
 * @anybodys: who may write it does not matter, because what is in it proves itself.
 *            Otherwise it has to be root's, or his who runs this, and a file that others
 *            than its owner may write is refused.
 *
 * Returns 0 with *bytes set; -EACCES: no regular file, another's, or writable by others;
 * -EMSGSIZE; -ENOMEM; or what open or read gave. With a reason.
 */
SR_WARN_UNUSED int sr_textfile_read(char **text, size_t *bytes, size_t max, const char *path,
				    bool anybodys, struct sr_reason *why);

SR_END_DECLS

#endif /* SR_TEXTFILE_H */
