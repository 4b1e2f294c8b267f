/* SPDX-License-Identifier: MIT */
/* The items about the machine itself: what was bought, and who shares it. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "sr_tune_found.h"

#define DMI "/sys/devices/virtual/dmi/id/"
#define NE_CPUS "/sys/module/nitro_enclaves/parameters/ne_cpus"
#define STEAL_PERMILLE_MAX 1 /* of all time since boot */

/* How many weaknesses does this kernel know of and leave open? -1: it does not say. */
static int count_open(const struct sr_tune_host *h, char first[64])
{
	static const char folder[] = "/sys/devices/system/cpu/vulnerabilities";
	char full[2 * SR_TUNE_PATH_BYTES];
	const struct dirent *e;
	int count = 0;
	DIR *dir;

	if (sr_tune_path(h, folder, full, sizeof full) < 0)
		return -1;
	dir = opendir(full);
	if (!dir)
		return -1;
	while ((e = readdir(dir)) != NULL) {
		char path[SR_TUNE_PATH_BYTES];
		char text[SR_TUNE_LINE_BYTES];

		if (e->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof path, "%s/%.63s", folder, e->d_name);
		if (sr_tune_text(h, path, text, sizeof text) < 0 || strncmp(text, "Vulnerable", 10))
			continue;
		/* The first by name, so that two runs say the same. */
		if (!count++ || strncmp(e->d_name, first, 63) < 0)
			(void)snprintf(first, 64, "%.63s", e->d_name);
	}
	(void)closedir(dir);
	return count;
}

void sr_tune_look_mitigations(const struct sr_tune_host *h, struct sr_tune_finding *f)
{
	char value[SR_TUNE_LINE_BYTES];
	char first[64] = "";
	int open_count = count_open(h, first);

	if (sr_tune_boot_option(h, "mitigations", value) && !strncmp(value, "off", 3)) {
		sr_tune_say(f, SR_TUNE_WARN,
			    "off: any process may come to read what is in the memory of others");
		sr_tune_fix(f,
			    "boot without mitigations=off, unless nobody else runs code here and "
			    "the keys are in an enclave");
	} else if (open_count < 0) {
		sr_tune_say(f, SR_TUNE_WARN, "this kernel does not say what it is vulnerable to");
		sr_tune_fix(f, "Linux 4.15 or later");
	} else if (open_count > 0) {
		sr_tune_say(f, SR_TUNE_WARN, "on, and %d left open: %s%s", open_count, first,
			    open_count > 1 ? " and others" : "");
		sr_tune_fix(f, "newer microcode or host; grep . "
			       "/sys/devices/system/cpu/vulnerabilities/*");
	} else {
		sr_tune_say(f, SR_TUNE_OK, "on, none left open that this kernel knows of");
	}
}

void sr_tune_look_steal(const struct sr_tune_host *h, struct sr_tune_finding *f)
{
	unsigned long long ticks[8] = { 0 }; /* user nice system idle iowait irq softirq steal */
	unsigned long long sum = 0;
	char text[SR_TUNE_LINE_BYTES];
	char *at = text;

	if (sr_tune_text(h, "/proc/stat", text, sizeof text) < 0 || strncmp(text, "cpu ", 4)) {
		sr_tune_say(f, SR_TUNE_WARN, "cannot read /proc/stat");
		sr_tune_fix(f, "look at it with mpstat");
		return;
	}
	at += 4;
	for (size_t i = 0; i < sizeof ticks / sizeof ticks[0]; i++) {
		ticks[i] = strtoull(at, &at, 10);
		sum += ticks[i];
	}
	if (sum && ticks[7] * 1000 / sum >= STEAL_PERMILLE_MAX) {
		sr_tune_say(f, SR_TUNE_WARN,
			    "the hypervisor gave %.1f %% of our time since boot to others",
			    100.0 * (double)ticks[7] / (double)sum);
		sr_tune_fix(f, "CPUs of one's own: no burstable type, dedicated tenancy");
		return;
	}
	sr_tune_say(f, SR_TUNE_OK, "the hypervisor took less than 0.1 %% since boot");
}

/* Types that AWS excludes from enclaves: Nitro Enclaves User Guide, requirements. A
 * name without a point is a whole family. */
static const char *const excluded[] = {
	"c7i.24xlarge", "c7i.48xlarge", "g4ad", "m7i.24xlarge", "m7i.48xlarge", "m7i-flex",
	"r7i.24xlarge", "r7i.48xlarge", "r7iz", "t3", "t3a", "trn1", "trn1n", "vt1",
	/* Graviton */
	"a1", "c7gd", "c7gn", "g5g", "hpc7g", "im4gn", "is4gen", "m7g", "m7gd", "r7g", "r7gd",
	"t4g",
};

static bool is_excluded(const char *type)
{
	size_t family_bytes = strcspn(type, ".");

	if (strstr(type, ".metal") || !strncmp(type, "u-", 2))
		return true;
	for (size_t i = 0; i < sizeof excluded / sizeof excluded[0]; i++)
		if (!strcmp(type, excluded[i]) || (strlen(excluded[i]) == family_bytes &&
						   !strncmp(type, excluded[i], family_bytes)))
			return true;
	return false;
}

void sr_tune_look_instance(const struct sr_tune_host *h, struct sr_tune_finding *f)
{
	char vendor[SR_TUNE_VALUE_BYTES];
	char type[SR_TUNE_VALUE_BYTES];

	if (sr_tune_value(h, DMI "sys_vendor", vendor) < 0 || strcmp(vendor, "Amazon EC2") ||
	    sr_tune_value(h, DMI "product_name", type) < 0) {
		sr_tune_say(f, SR_TUNE_OK, "no EC2 instance, so no enclave here either");
		return;
	}
	if (!is_excluded(type)) {
		sr_tune_say(f, SR_TUNE_OK, "%.60s: not among those that AWS excludes from enclaves",
			    type);
		return;
	}
	sr_tune_say(f, SR_TUNE_WARN, "%.60s: AWS excludes it from enclaves", type);
	sr_tune_fix(f, "a virtualised type that is not excluded; or sigring-local, which isolates "
		       "processes and attests nothing");
}

void sr_tune_look_enclave(const struct sr_tune_host *h, struct sr_tune_finding *f)
{
	char list[SR_CPUS_TEXT_BYTES];
	struct sr_cpus pool;
	int ret = sr_tune_list(h, NE_CPUS, &pool);

	if (ret == -ENOENT) {
		sr_tune_say(f, SR_TUNE_OK, "no driver for enclaves is loaded");
		return;
	}
	if (ret < 0 || !sr_cpus_count(&pool)) {
		sr_tune_say(f, SR_TUNE_WARN, "no CPUs are set aside for an enclave");
		sr_tune_fix(f,
			    "cpu_pool and memory_mib in /etc/nitro_enclaves/allocator.yaml, then "
			    "systemctl restart nitro-enclaves-allocator");
	} else if (sr_cpus_overlap(&pool, &h->loops)) {
		sr_tune_say(f, SR_TUNE_FAIL,
			    "CPUs %.100s belong to the enclaves, and a loop wants one",
			    sr_cpus_to_list(&pool, list, sizeof list));
		sr_tune_fix(f, "give the loops others, or cpu_pool in allocator.yaml");
	} else {
		sr_tune_say(f, SR_TUNE_OK, "CPUs %.200s belong to the enclaves",
			    sr_cpus_to_list(&pool, list, sizeof list));
	}
}
