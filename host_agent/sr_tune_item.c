/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "sr_tune_found.h"

const struct sr_tune_item sr_tune_items[] = {
	{ "cores", sr_tune_look_cores },
	{ "isolcpus", sr_tune_look_isolcpus },
	{ "nohz_full", sr_tune_look_nohz_full },
	{ "rcu_nocbs", sr_tune_look_rcu_nocbs },
	{ "managed_irq", sr_tune_look_managed_irq },
	{ "irq-affinity", sr_tune_look_irq_affinity },
	{ "workqueues", sr_tune_look_workqueues },
	{ "smt", sr_tune_look_smt },
	{ "cpu-quota", sr_tune_look_cpu_quota },
	{ "c-states", sr_tune_look_c_states },
	{ "governor", sr_tune_look_governor },
	{ "idle-poll", sr_tune_look_idle_poll },
	{ "thp", sr_tune_look_thp },
	{ "ksm", sr_tune_look_ksm },
	{ "huge-pages", sr_tune_look_huge_pages },
	{ "numa-balancing", sr_tune_look_numa_balancing },
	{ "timer-migration", sr_tune_look_timer_migration },
	{ "watchdog", sr_tune_look_watchdog },
	{ "vm-stat", sr_tune_look_vm_stat },
	{ "rt-throttling", sr_tune_look_rt_throttling },
	{ "clocksource", sr_tune_look_clocksource },
	{ "mitigations", sr_tune_look_mitigations },
	{ "steal", sr_tune_look_steal },
	{ "instance", sr_tune_look_instance },
	{ "enclave", sr_tune_look_enclave },
};

const size_t sr_tune_item_count = sizeof sr_tune_items / sizeof sr_tune_items[0];

const char *sr_tune_verdict_name(enum sr_tune_verdict verdict)
{
	static const char *const names[] = { "ok", "warn", "FAIL" };

	return names[verdict];
}

void sr_tune_say(struct sr_tune_finding *f, enum sr_tune_verdict verdict, const char *format, ...)
{
	va_list args;

	f->verdict = verdict;
	va_start(args, format);
	(void)vsnprintf(f->text, sizeof f->text, format, args);
	va_end(args);
}

void sr_tune_fix(struct sr_tune_finding *f, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(f->fix, sizeof f->fix, format, args);
	va_end(args);
}

void sr_tune_want(struct sr_tune_finding *f, const char *path, const char *value)
{
	struct sr_tune_setting *s;

	/* Cut off, it would be another setting. */
	if (strlen(path) >= sizeof s->path || strlen(value) >= sizeof s->value) {
		f->incomplete = true;
		return;
	}
	/* Doubled at each power of two. */
	if (f->setting_count == 0 || sr_is_pow2(f->setting_count)) {
		size_t room = f->setting_count ? 2 * f->setting_count : 1;

		s = room > SR_TUNE_SETTINGS_MAX ? NULL : reallocarray(f->settings, room, sizeof *s);
		if (!s) {
			f->incomplete = true;
			return;
		}
		f->settings = s;
	}
	s = &f->settings[f->setting_count++];
	(void)snprintf(s->path, sizeof s->path, "%s", path);
	(void)snprintf(s->value, sizeof s->value, "%s", value);
}

void sr_tune_look(const struct sr_tune_item *item, const struct sr_tune_host *host,
		  struct sr_tune_finding *found)
{
	memset(found, 0, sizeof *found);
	item->look(host, found);
	if (found->fix[0] || found->setting_count == 0)
		return;
	sr_tune_fix(found, "echo %.200s > %.190s", found->settings[0].value,
		    found->settings[0].path);
	if (found->setting_count > 1) {
		size_t used = strlen(found->fix);

		(void)snprintf(found->fix + used, sizeof found->fix - used,
			       ", and %zu more: sigring-tune apply --dry-run shows them",
			       found->setting_count - 1);
	}
}

void sr_tune_found_free(struct sr_tune_finding *found)
{
	free(found->settings);
	found->settings = NULL;
	found->setting_count = 0;
}
