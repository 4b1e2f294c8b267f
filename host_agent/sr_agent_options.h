/* SPDX-License-Identifier: MIT */
/*
 * sr_agent_options.h - what the two programs with an agent in them share.
 */
#ifndef SR_AGENT_OPTIONS_H
#define SR_AGENT_OPTIONS_H

#include "sr_agent.h"
#include "sr_config.h"
#include "sr_host.h"

SR_BEGIN_DECLS

/* sr_set_uid - option setter: adds a user, by name or number, or `any`; the
 * target is a struct sr_agent_config. */
int sr_set_uid(void *target, const char *value, const struct sr_option *o, struct sr_reason *why);

/* sr_agent_check_users - one line of --check: who may attach. */
void sr_agent_check_users(struct sr_host_check *check, const struct sr_agent_config *config);

/* sr_agent_check_files - one line: descriptors for every client and doorbell. */
void sr_agent_check_files(struct sr_host_check *check, const struct sr_agent_config *config);

SR_END_DECLS

#endif /* SR_AGENT_OPTIONS_H */
