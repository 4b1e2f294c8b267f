/* SPDX-License-Identifier: MIT */
#include <pwd.h>
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
