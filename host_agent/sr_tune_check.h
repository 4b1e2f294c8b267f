/* SPDX-License-Identifier: MIT */
/*
 * sr_tune_check.h - print what each item of the tuning guide says of a host.
 */
#ifndef SR_TUNE_CHECK_H
#define SR_TUNE_CHECK_H

#include <stdio.h>

#include "sr_tune_item.h"

SR_BEGIN_DECLS

/*
 * sr_tune_check - judge every item, change nothing, need no privilege.
 *
 * @json: one object on one line instead of a line an item.
 *
 * Returns the exit code: 0, or 1 when an item fails.
 */
int sr_tune_check(const struct sr_tune_host *host, FILE *out, bool json);

/* sr_tune_json_string - a text as JSON, quoted; bytes that are no ASCII become `?`. */
void sr_tune_json_string(FILE *out, const char *text);

SR_END_DECLS

#endif /* SR_TUNE_CHECK_H */
