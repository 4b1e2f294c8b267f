/* SPDX-License-Identifier: MIT */
/*
 * sr_host.h - does this host allow what a configuration wants?
 *
 * Behind `--check` of the programs: nothing is started, nothing is changed, no
 * privilege is needed, and each line that is not "ok" says what to do.
 */
#ifndef SR_HOST_H
#define SR_HOST_H

#include <stdio.h>

#include "sr_base.h"

struct sr_host_check {
	FILE *out;
	unsigned int failed; /* it cannot run like this */
	unsigned int warned; /* it can, but not as fast or as safely as it should */
};

SR_BEGIN_DECLS

/* Each prints one line, "ok", "warn" or "FAIL", and counts. */
void sr_host_check_memlock(struct sr_host_check *check, uint64_t bytes_needed);
void sr_host_check_huge_pages(struct sr_host_check *check, uint64_t bytes_wanted);
void sr_host_check_cpu(struct sr_host_check *check, const char *what, int cpu);
void sr_host_check_cores(struct sr_host_check *check, unsigned int spinning_loops);
void sr_host_check_clock(struct sr_host_check *check);
void sr_host_check_socket(struct sr_host_check *check, const char *text);
void sr_host_check_line(struct sr_host_check *check, int verdict, const char *format, ...)
	__attribute__((format(printf, 3, 4))); /* verdict: 0 ok, 1 warn, 2 FAIL */

/* Prints the sum; returns the exit code: 0, or 1 when something failed. */
int sr_host_check_end(const struct sr_host_check *check);

SR_END_DECLS

#endif /* SR_HOST_H */
