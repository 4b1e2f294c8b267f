/* SPDX-License-Identifier: MIT */
#include "sr_ctl_file.h"
#include "sr_ctl_vault_work.h"
#include "sr_manifest.h"
#include "sr_policy_text.h"

int sr_ctl_vault_say_option(struct sr_ctl_work *work, int letter, const char *value)
{
	switch (letter) {
	case 'x':
		work->off = true;
		return 0;
	case 'a':
		work->asset = value;
		return 0;
	case 'm':
		work->min = value;
		return 0;
	case 'M':
		work->max = value;
		return 0;
	case 'W':
		work->window = value;
		return 0;
	case 'u':
		work->unexpired = value;
		return 0;
	case 'S':
		work->has_seconds = true;
		return sr_ctl_number_take(&work->seconds, value, SR_POLICY_LEASE_S_MAX) ?
			       0 :
			       sr_ctl_fail_usage(work, "--seconds wants a number up to 604800");
	default:
		return sr_ctl_number_take(&work->sequence, value, SR_MANIFEST_VERSION_MAX) &&
				       work->sequence ?
			       0 :
			       sr_ctl_fail_usage(work, "--sequence wants a number from 1");
	}
}

static int say(struct sr_ctl_work *work, const struct sr_policy_word *word)
{
	unsigned char body[SR_COMMAND_POLICY_BYTES];
	struct sr_command_result result;
	int ret = sr_ctl_vault_open(work);

	if (ret)
		return ret;
	sr_command_policy_put(body, word);
	return sr_ctl_vault_command(work, &result, SR_COMMAND_POLICY, body, sizeof body);
}

int sr_ctl_vault_kill(struct sr_ctl_work *work)
{
	return say(work, &(struct sr_policy_word){ .say = SR_POLICY_SAY_KILL,
						   .killed = !work->off });
}

int sr_ctl_vault_lease(struct sr_ctl_work *work)
{
	if (!work->has_seconds)
		return sr_ctl_fail_usage(work, "--seconds is missing: for how long?");
	return say(work, &(struct sr_policy_word){ .say = SR_POLICY_SAY_LEASE,
						   .lease_s = (uint32_t)work->seconds });
}

int sr_ctl_vault_band(struct sr_ctl_work *work)
{
	struct sr_policy_word word = { .say = SR_POLICY_SAY_BAND,
				       .key = work->id,
				       .sequence = work->sequence };

	if (!work->id || !work->asset || !work->min || !work->max || !work->sequence)
		return sr_ctl_fail_usage(work, "--id, --asset, --min, --max and --sequence are all "
					       "needed");
	if (sr_policy_asset_parse(&word.asset, work->asset, strlen(work->asset)))
		return sr_ctl_fail_usage(work, "--asset wants digits, or 0x and lower-case ones");
	if (sr_policy_bound_parse(&word.price_min, work->min, strlen(work->min), false) ||
	    sr_policy_bound_parse(&word.price_max, work->max, strlen(work->max), true))
		return sr_ctl_fail_usage(work, "--min and --max want prices such as 64000.5; --max "
					       "may be unlimited");
	return say(work, &word);
}

int sr_ctl_vault_seed(struct sr_ctl_work *work)
{
	struct sr_policy_word word = { .say = SR_POLICY_SAY_SEED, .key = work->id };

	if (!work->id || !work->window || !work->unexpired)
		return sr_ctl_fail_usage(work, "--id, --window and --unexpired are all needed");
	if (sr_policy_notional_parse(&word.window, work->window, strlen(work->window), false) ||
	    sr_policy_notional_parse(&word.unexpired, work->unexpired, strlen(work->unexpired),
				     false))
		return sr_ctl_fail_usage(work, "--window and --unexpired want amounts such as "
					       "2500.5, with at most 6 decimals");
	return say(work, &word);
}
