/* SPDX-License-Identifier: MIT */
/*
 * sr_agent_note.h - the agent's log, and how much of it others can write.
 *
 * Lines that anybody can cause at will have a limit: so many at once, then one a
 * second, and the next line that is written says how many were not. Cold; a limit is one
 * thread's own.
 */
#ifndef SR_AGENT_NOTE_H
#define SR_AGENT_NOTE_H

#include "sr_agent.h"

#define SR_AGENT_NOTES_AT_ONCE 20u

/* Of one kind of line; begins as zeros. */
struct sr_agent_note_limit {
	uint64_t clear_ns; /* when as many as ever may be written at once again */
	uint64_t left_out;
};

SR_BEGIN_DECLS

/* sr_agent_note - one line to config->log, if there is one. */
__attribute__((format(printf, 2, 3))) void sr_agent_note(const struct sr_agent_config *config,
							 const char *format, ...);

/* sr_agent_note_limited - the same, or nothing when @limit is reached. */
__attribute__((format(printf, 3, 4))) void
sr_agent_note_limited(const struct sr_agent_config *config, struct sr_agent_note_limit *limit,
		      const char *format, ...);

SR_END_DECLS

#endif /* SR_AGENT_NOTE_H */
