/* SPDX-License-Identifier: MIT */
/*
 * sr_tune_record.h - what was changed on a host, from what to what.
 *
 *	sigring-tune 1
 *	root /
 *	boot 5f1c...
 *	/proc/sys/vm/stat_interval<TAB>1<TAB>10
 *
 * A line is on the disk before its setting is written, so a crash in between
 * leaves a change recorded that was not made, which undoing sees, and never one
 * made that was not recorded. A line that takes up where an earlier one of the
 * same path left off continues it; a last line without a newline was never acted
 * on and is dropped.
 *
 * What is read back decides what root writes where. So the file must belong to the
 * caller and be nobody else's to write, and a line that names anything but a
 * setting below /proc/sys, /proc/irq or /sys makes all of it -EINVAL. The file is
 * locked while it is open.
 */
#ifndef SR_TUNE_RECORD_H
#define SR_TUNE_RECORD_H

#include "sr_tune_host.h"

#define SR_TUNE_CHANGES_MAX 65536u

struct sr_tune_change {
	char path[SR_TUNE_PATH_BYTES];
	char was[SR_TUNE_VALUE_BYTES];
	char left[SR_TUNE_VALUE_BYTES];
};

struct sr_tune_record {
	int fd;
	const char *file; /* its path; borrowed */
	struct sr_tune_change *changes;
	size_t count;
	bool stale; /* of another boot: nothing of it is in force */
};

SR_BEGIN_DECLS

/*
 * sr_tune_record_open - open and read, or begin, a record.
 *
 * @create: begin one where there is none, and begin anew where it is stale.
 *
 * Returns 0; -ENOENT; -EINVAL for a file that is no record, or of another root;
 * -EPERM for one that others may write; -EBUSY while another process has it open;
 * or -errno of the file. @r is to be closed only on success.
 */
SR_WARN_UNUSED int sr_tune_record_open(struct sr_tune_record *r, const char *file,
				       const struct sr_tune_host *host, bool create,
				       struct sr_reason *why);

/* sr_tune_record_add - note a change, on the disk, before it is made. 0, or -errno. */
SR_WARN_UNUSED int sr_tune_record_add(struct sr_tune_record *r, const char *path, const char *was,
				      const char *left);

/* sr_tune_record_close - close it; with @remove nothing is left of it. 0, or -errno. */
int sr_tune_record_close(struct sr_tune_record *r, bool remove);

/*
 * sr_tune_same - are two values of a setting the same, however they are written?
 *
 * @path: tells what they are. `0,3` is two CPUs as a list and CPUs 0 and 1 as a mask.
 */
bool sr_tune_same(const char *path, const char *a, const char *b);

SR_END_DECLS

#endif /* SR_TUNE_RECORD_H */
