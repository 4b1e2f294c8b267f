/* SPDX-License-Identifier: MIT */
/*
 * sr_ctl_file.h - what the commands of sigringctl read: files, numbers, a wish for help.
 */
#ifndef SR_CTL_FILE_H
#define SR_CTL_FILE_H

#include "sr_base.h"

#include <sys/types.h>

/* sr_ctl_file_read - a file's bytes, at most @room of them: a longer one fills it.
 * Returns how many, or -errno. */
ssize_t sr_ctl_file_read(const char *path, void *data, size_t room);

/* sr_ctl_number_take - decimal digits, at most 16, and nothing else. Returns whether they
 * are a number of at most @max. */
bool sr_ctl_number_take(uint64_t *out, const char *text, uint64_t max);

/* sr_ctl_help_wanted - of a command, or of one of its parts? */
bool sr_ctl_help_wanted(int argc, char **argv);

#endif /* SR_CTL_FILE_H */
