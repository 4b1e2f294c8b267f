/* SPDX-License-Identifier: MIT */
/*
 * sr_tune_item.h - the items of docs/latency-tuning.md, in its order, as a table.
 *
 * Each item looks at a host and says what it found: a verdict, a line for people,
 * what to do, and the settings that `apply` would write. check prints the first
 * three, apply writes the last, so the two cannot disagree. Only what a running
 * kernel lets one change and change back is a setting; the rest (boot options,
 * firmware, instance types) is told in the fix.
 */
#ifndef SR_TUNE_ITEM_H
#define SR_TUNE_ITEM_H

#include "sr_tune_host.h"

#define SR_TUNE_SETTINGS_MAX 16384u /* 1024 CPUs of 10 idle states, and interrupts */

enum sr_tune_verdict {
	SR_TUNE_OK = 0,
	SR_TUNE_WARN = 1, /* it runs, and is slower now and then */
	SR_TUNE_FAIL = 2, /* latency cannot be what this guide is about */
};

struct sr_tune_setting {
	char path[SR_TUNE_PATH_BYTES];
	char value[SR_TUNE_VALUE_BYTES];
};

struct sr_tune_finding {
	enum sr_tune_verdict verdict;
	char text[256]; /* what was seen */
	char fix[512];  /* exactly what to do; empty when it is ok */
	struct sr_tune_setting *settings;
	size_t setting_count;
	bool incomplete; /* some settings are missing: too many, or too long */
};

struct sr_tune_item {
	const char *name; /* the heading of the guide too */
	void (*look)(const struct sr_tune_host *host, struct sr_tune_finding *found);
};

extern const struct sr_tune_item sr_tune_items[];
extern const size_t sr_tune_item_count;

SR_BEGIN_DECLS

/*
 * sr_tune_look - judge one item.
 *
 * @found: filled; to be given back by sr_tune_found_free().
 */
void sr_tune_look(const struct sr_tune_item *item, const struct sr_tune_host *host,
		  struct sr_tune_finding *found);
void sr_tune_found_free(struct sr_tune_finding *found);

const char *sr_tune_verdict_name(enum sr_tune_verdict verdict);

SR_END_DECLS

#endif /* SR_TUNE_ITEM_H */
