/* SPDX-License-Identifier: MIT */
/*
 * sr_agent_note.h - the agent's log, and how much of it others can write. Cold.
 */
#ifndef SR_AGENT_NOTE_H
#define SR_AGENT_NOTE_H

#include "sr_agent.h"
#include "sr_note_limit.h"

#define SR_AGENT_NOTES_AT_ONCE 20u

SR_BEGIN_DECLS

/* sr_agent_note - one line to config->log, if there is one. */
__attribute__((format(printf, 2, 3))) void sr_agent_note(const struct sr_agent_config *config,
							 const char *format, ...);

/* sr_agent_note_limited - the same, or nothing when @limit is reached. */
__attribute__((format(printf, 3, 4))) void
sr_agent_note_limited(const struct sr_agent_config *config, struct sr_note_limit *limit,
		      const char *format, ...);

SR_END_DECLS

#endif /* SR_AGENT_NOTE_H */
