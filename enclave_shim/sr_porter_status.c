/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <sys/resource.h>

#include "sr_clock.h"
#include "sr_porter_state.h"
#include "sr_timestamp.h"
#include "sr_version.h"

static uint64_t host_unix_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / SR_NS_PER_MS;
}

/* Three clocks: the module's, which documents carry; the signer's own, which was set by it
 * once and goes by CLOCK_MONOTONIC since; and the one that the host sets, which decides
 * nothing. */
static void describe_clocks(const struct sr_porter *p, struct sr_command_status *status)
{
	uint64_t before_ns = sr_now_ns(), module_ms, now_ns;
	bool told = sr_timestamp_get(&p->config.evidence, &module_ms) == 0;

	now_ns = sr_now_ns();
	/* A document takes milliseconds: its time is taken for that of their middle. */
	now_ns = before_ns + (now_ns - before_ns) / 2;
	status->uptime_ms = (now_ns - p->config.clock_ns) / SR_NS_PER_MS;
	status->unix_ms = p->config.unix_ms + status->uptime_ms;
	status->drift_ms = told ? (int64_t)(module_ms - status->unix_ms) : INT64_MAX;
	status->host_ms = (int64_t)(host_unix_ms() - status->unix_ms);
}

void sr_porter_describe(void *porter, struct sr_command_status *status)
{
	const struct sr_porter *p = porter;
	const struct sr_evidence *e = &p->config.evidence;
	struct rusage usage;

	status->boot_id[0] = p->config.boot_id[0];
	status->boot_id[1] = p->config.boot_id[1];
	describe_clocks(p, status);
	if (getrusage(RUSAGE_SELF, &usage) == 0)
		status->memory_kib = (uint64_t)usage.ru_maxrss;
	(void)snprintf(status->version, sizeof status->version, "%s", SR_VERSION);
	(void)snprintf(status->evidence, sizeof status->evidence, "%s", e->name);
	for (uint32_t i = 0; i < 3; i++)
		if (e->pcr(e->arg, status->pcr[i], i))
			status->pcrs_unknown = true;
	if (status->pcrs_unknown)
		memset(status->pcr, 0, sizeof status->pcr);
}

void sr_porter_console(struct sr_porter *p, const struct sr_task_status *told)
{
	struct sr_command_status s = { .boot_id = { 0, 0 } };
	char drift[32] = "not known";

	sr_porter_describe(p, &s);
	if (s.drift_ms != INT64_MAX)
		(void)snprintf(drift, sizeof drift, "%lld ms", (long long)s.drift_ms);
	sr_porter_note(p,
		       "boot %016llx%016llx, %s, up %llu s, manifest %llu, keys %u, sessions %u of "
		       "%u, presignatures %u of %u, signed %llu, denied %llu, drift %s, host "
		       "clock %+lld ms, memory %llu KiB%s",
		       (unsigned long long)s.boot_id[0], (unsigned long long)s.boot_id[1],
		       s.version, (unsigned long long)(s.uptime_ms / 1000),
		       (unsigned long long)p->manifest.version, told->keys, told->sessions,
		       told->sessions_max, told->pool_depth, told->pool_slots,
		       (unsigned long long)told->signed_ok, (unsigned long long)told->denied,
		       drift, (long long)s.host_ms,
		       (unsigned long long)s.memory_kib, told->draining ? ", draining" : "");
}
