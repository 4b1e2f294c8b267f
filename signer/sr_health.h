/* SPDX-License-Identifier: MIT */
/*
 * sr_health.h - is an entropy source still alive?
 *
 * The repetition count and adaptive proportion tests of NIST SP 800-90B,
 * sections 4.4.1 and 4.4.2, over bytes that claim 8 bits of entropy each, with a
 * false alarm once in 2^40 bytes for the one, and windows for the other. They find
 * a source that has stuck or that favours a value grossly; no test can tell a good
 * source from a clever one. No branch or index depends on the bytes.
 */
#ifndef SR_HEALTH_H
#define SR_HEALTH_H

#include "sr_base.h"

#define SR_HEALTH_STARTUP_BYTES 1024u /* SP 800-90B section 4.3 asks for that many */

struct sr_health {
	uint32_t last;        /* byte; 256 before the first */
	uint32_t run;         /* how often it came in a row */
	uint32_t watched;     /* byte that this window counts */
	uint32_t seen;        /* times in this window */
	uint32_t window;      /* bytes of the window so far */
};

SR_BEGIN_DECLS

void sr_health_init(struct sr_health *health);

/*
 * sr_health_feed - judge the next bytes of the source.
 *
 * Returns true while they may be used. After false the source has failed: what
 * it gave since the last true is not used. The state carries over, so a failure
 * across two calls is seen; after one the tests begin anew.
 */
SR_WARN_UNUSED bool sr_health_feed(struct sr_health *health, const unsigned char *bytes,
				   size_t count);

SR_END_DECLS

#endif /* SR_HEALTH_H */
