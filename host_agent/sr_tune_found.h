/* SPDX-License-Identifier: MIT */
/*
 * sr_tune_found.h - how the items say what they found. Theirs alone.
 */
#ifndef SR_TUNE_FOUND_H
#define SR_TUNE_FOUND_H

#include "sr_tune_item.h"

/* sr_tune_say - the verdict and its line; a later call replaces an earlier one. */
void sr_tune_say(struct sr_tune_finding *f, enum sr_tune_verdict verdict, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* sr_tune_fix - what to do, where no setting says so. */
void sr_tune_fix(struct sr_tune_finding *f, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* sr_tune_want - a setting that should have another value. */
void sr_tune_want(struct sr_tune_finding *f, const char *path, const char *value);

/* The items, by file. Isolation: which CPU does what. */
void sr_tune_look_cores(const struct sr_tune_host *h, struct sr_tune_finding *f);
void sr_tune_look_isolcpus(const struct sr_tune_host *h, struct sr_tune_finding *f);
void sr_tune_look_nohz_full(const struct sr_tune_host *h, struct sr_tune_finding *f);
void sr_tune_look_rcu_nocbs(const struct sr_tune_host *h, struct sr_tune_finding *f);
void sr_tune_look_managed_irq(const struct sr_tune_host *h, struct sr_tune_finding *f);
void sr_tune_look_irq_affinity(const struct sr_tune_host *h, struct sr_tune_finding *f);
void sr_tune_look_workqueues(const struct sr_tune_host *h, struct sr_tune_finding *f);
void sr_tune_look_smt(const struct sr_tune_host *h, struct sr_tune_finding *f);
void sr_tune_look_cpu_quota(const struct sr_tune_host *h, struct sr_tune_finding *f);

/* Power: how long an idle or slow CPU takes to be of use. */
void sr_tune_look_c_states(const struct sr_tune_host *h, struct sr_tune_finding *f);
void sr_tune_look_governor(const struct sr_tune_host *h, struct sr_tune_finding *f);
void sr_tune_look_idle_poll(const struct sr_tune_host *h, struct sr_tune_finding *f);

/* The kernel's own work, and memory. */
void sr_tune_look_thp(const struct sr_tune_host *h, struct sr_tune_finding *f);
void sr_tune_look_ksm(const struct sr_tune_host *h, struct sr_tune_finding *f);
void sr_tune_look_huge_pages(const struct sr_tune_host *h, struct sr_tune_finding *f);
void sr_tune_look_numa_balancing(const struct sr_tune_host *h, struct sr_tune_finding *f);
void sr_tune_look_timer_migration(const struct sr_tune_host *h, struct sr_tune_finding *f);
void sr_tune_look_watchdog(const struct sr_tune_host *h, struct sr_tune_finding *f);
void sr_tune_look_vm_stat(const struct sr_tune_host *h, struct sr_tune_finding *f);
void sr_tune_look_rt_throttling(const struct sr_tune_host *h, struct sr_tune_finding *f);
void sr_tune_look_clocksource(const struct sr_tune_host *h, struct sr_tune_finding *f);

/* The machine: what is bought, and what is shared with strangers. */
void sr_tune_look_mitigations(const struct sr_tune_host *h, struct sr_tune_finding *f);
void sr_tune_look_steal(const struct sr_tune_host *h, struct sr_tune_finding *f);
void sr_tune_look_instance(const struct sr_tune_host *h, struct sr_tune_finding *f);
void sr_tune_look_enclave(const struct sr_tune_host *h, struct sr_tune_finding *f);

#endif /* SR_TUNE_FOUND_H */
