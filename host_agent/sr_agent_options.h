/* SPDX-License-Identifier: MIT */
/*
 * sr_agent_options.h - what the two programs with an agent in them share.
 */
#ifndef SR_AGENT_OPTIONS_H
#define SR_AGENT_OPTIONS_H

#include "sr_agent.h"
#include "sr_config.h"
#include "sr_frame.h"
#include "sr_host.h"
#include "sr_slot.h"

/* Rows of an option table; @c is a struct sr_agent_config. */
#define SR_AGENT_OPTIONS(c) \
	{ "socket", "PATH", "where trading processes attach (/run/sigring/agent.sock)", \
	  sr_set_socket, &(c).listen, 0, 0 }, \
	{ "socket-mode", "OCTAL", "permission bits of that socket (0660)", sr_set_mode, \
	  &(c).listen_mode, 0, 0 }, \
	{ "allow-uid", "USER", "admit this user, a name or a number; may be repeated; `any`", \
	  sr_set_uid, &(c), 0, 0 }, \
	{ "clients-max", "N", "processes attached at once (64)", sr_set_u32, \
	  &(c).clients_max, 1, SR_AGENT_CLIENTS_MAX }, \
	{ "sessions-max", "N", "sessions over all processes (256)", sr_set_u32, \
	  &(c).sessions_max, 1, SR_SESSIONS_MAX }, \
	{ "conversations-max", "N", "set-ups of sessions under way over all processes (128)", \
	  sr_set_u32, &(c).conversations_max, 1, SR_AGENT_CONVERSATIONS_MAX }, \
	{ "setup-failures-max", "N", "set-ups that may fail at once, a user (by default 2 * sessions-max)", \
	  sr_set_u32, &(c).setup_failures_max, 1, SR_AGENT_SETUP_FAILURES_MAX }, \
	{ "setup-failures-rate", "N", "of them, forgiven a second (4)", sr_set_u32, \
	  &(c).setup_failures_rate, 1, SR_AGENT_SETUP_FAILURES_RATE_MAX }, \
	{ "turn-records", "N", "records taken from one session in a turn (4)", sr_set_u32, \
	  &(c).turn_records, 1, SR_DEPTH_MAX }, \
	{ "wait", "POLICY", "auto, spin, yield or block (auto)", sr_set_wait, &(c).wait, 0, 0 }, \
	{ "no-huge-pages", NULL, "do not try 2 MiB pages", sr_set_false, &(c).huge_pages, 0, 0 }

SR_BEGIN_DECLS

/* sr_set_uid - option setter: adds a user, by name or number, or `any`; the
 * target is a struct sr_agent_config. */
int sr_set_uid(void *target, const char *value, const struct sr_option *o, struct sr_reason *why);

/* sr_agent_check_users - one line of --check: who may attach. */
void sr_agent_check_users(struct sr_host_check *check, const struct sr_agent_config *config);

/* sr_agent_check_setup - one line: can all sessions be set up at once? */
void sr_agent_check_setup(struct sr_host_check *check, const struct sr_agent_config *config);

/* sr_agent_check_files - one line: descriptors for every client, doorbell and
 * conversation. */
void sr_agent_check_files(struct sr_host_check *check, const struct sr_agent_config *config);

SR_END_DECLS

#endif /* SR_AGENT_OPTIONS_H */
