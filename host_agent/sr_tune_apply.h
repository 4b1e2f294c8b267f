/* SPDX-License-Identifier: MIT */
/*
 * sr_tune_apply.h - change what a running kernel lets one change, and change it back.
 */
#ifndef SR_TUNE_APPLY_H
#define SR_TUNE_APPLY_H

#include <stdio.h>

#include "sr_tune_item.h"

#define SR_TUNE_STATE "/run/sigring-tune.state" /* goes with the settings, at a restart */

SR_BEGIN_DECLS

/*
 * sr_tune_apply - write every setting that an item of the guide wants.
 *
 * @state:   file of the record, see sr_tune_record.h; not touched by a dry run.
 * @dry_run: print what would be changed, change nothing.
 * @out:     a line for each setting, from what to what.
 *
 * What the kernel refuses to move at all (an interrupt that it manages) is printed
 * and is no failure. Returns the exit code, 0, or 1 when a setting could not be
 * written; or -errno with a reason, as sr_tune_record_open().
 */
SR_WARN_UNUSED int sr_tune_apply(const struct sr_tune_host *host, const char *state, bool dry_run,
				 FILE *out, struct sr_reason *why);

/*
 * sr_tune_revert - put back what a record says was changed, the last one first.
 *
 * A setting that has another value than the one it was left with was changed by
 * somebody else since: that is printed, and it stays. The record is removed unless
 * a setting could not be written, so that it can be tried again. A record of an
 * earlier boot is removed and nothing is written: its settings went with that boot.
 *
 * Returns as sr_tune_apply(); -ENOENT where nothing is recorded.
 */
SR_WARN_UNUSED int sr_tune_revert(const struct sr_tune_host *host, const char *state, bool dry_run,
				  FILE *out, struct sr_reason *why);

SR_END_DECLS

#endif /* SR_TUNE_APPLY_H */
