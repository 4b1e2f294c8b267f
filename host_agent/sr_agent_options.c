/* SPDX-License-Identifier: MIT */
#include <pwd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sr_agent_options.h"

int sr_set_uid(void *target, const char *value, const struct sr_option *o, struct sr_reason *why)
{
	struct sr_agent_config *config = target;
	const struct passwd *pw;
	uint64_t uid;

	if (!strcmp(value, "any")) {
		config->any_uid = true;
		return 0;
	}
	if (config->uid_count == SR_AGENT_UIDS_MAX)
		return sr_reason_set(why, -EINVAL, "%s: at most %u users", o->name,
				     SR_AGENT_UIDS_MAX);
	if (sr_config_number(value, 0, UINT32_MAX - 1, &uid) < 0) {
		pw = getpwnam(value);
		if (!pw)
			return sr_reason_set(why, -EINVAL, "%s: no user `%s` on this host", o->name,
					     value);
		uid = pw->pw_uid;
	}
	config->uids[config->uid_count++] = (uint32_t)uid;
	return 0;
}

void sr_agent_check_users(struct sr_host_check *check, const struct sr_agent_config *config)
{
	if (!config->uid_count && !config->any_uid)
		sr_host_check_line(check, 1, "allow-uid: nobody is named; only user %u may attach",
				   (unsigned int)geteuid());
	else
		sr_host_check_line(check, 0, "allow-uid: %u user%s%s", config->uid_count,
				   config->uid_count == 1 ? "" : "s",
				   config->any_uid ? ", and any other" : "");
}

void sr_agent_check_setup(struct sr_host_check *check, const struct sr_agent_config *config)
{
	uint32_t failures = config->setup_failures_max;

	if (failures && failures < config->sessions_max)
		sr_host_check_line(check, 1,
				   "setup-failures-max: %u is below sessions-max, %u: a process "
				   "that has to open that many again may be made to wait",
				   failures, config->sessions_max);
	else
		sr_host_check_line(check, 0, "setup-failures-max: %u",
				   failures ? failures : 2 * config->sessions_max);
}

void sr_agent_check_files(struct sr_host_check *check, const struct sr_agent_config *config)
{
	/* A socket and a region in hand a client, two doorbells a session, two sockets a
	 * conversation. */
	unsigned long long want = 2ull * config->clients_max + 2ull * config->sessions_max +
				  2ull * config->conversations_max + 64;
	struct rlimit lim = { 0, 0 };

	if (getrlimit(RLIMIT_NOFILE, &lim) < 0 || lim.rlim_cur < want)
		sr_host_check_line(check, 2,
				   "files: limit is %llu, up to %llu are needed: set LimitNOFILE=%llu "
				   "in the systemd unit, or `ulimit -n`",
				   (unsigned long long)lim.rlim_cur, want, want);
	else
		sr_host_check_line(check, 0, "files: limit is %llu, up to %llu are needed",
				   (unsigned long long)lim.rlim_cur, want);
}
