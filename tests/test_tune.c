/* SPDX-License-Identifier: MIT */
/*
 * sigring-tune, on recorded and composed hosts (tests/vectors/hosts): each is a text
 * of `PATH:LINE`, unpacked into a directory of its own, which then stands for / .
 * Nothing here touches a setting of the machine that the tests run on.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sr_clock.h"
#include "sr_tune_apply.h"
#include "sr_tune_c2c.h"
#include "sr_tune_check.h"
#include "sr_tune_jitter.h"
#include "sr_tune_pin.h"
#include "sr_tune_record.h"

#define GUIDE "docs/latency-tuning.md"

static char dir[128];   /* all that a test makes */
static char root[160];  /* the host */
static char state[160]; /* the record */
static struct sr_tune_host host;

/* ---- hosts ---- */

static void put(const char *path, const char *text)
{
	char full[512];
	FILE *f;

	(void)snprintf(full, sizeof full, "%s%s", root, path);
	for (char *slash = strchr(full + strlen(root) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(full, 0700);
		*slash = '/';
	}
	f = fopen(full, "we");
	cr_assert(f, "%s: %s", full, strerror(errno));
	cr_assert(fprintf(f, "%s\n", text) > 0);
	cr_assert_eq(fclose(f), 0);
}

static void look_again(const char *loops)
{
	struct sr_reason why = { 0, "" };
	struct sr_cpus set;

	cr_assert_eq(sr_cpus_from_list(&set, loops), 0);
	cr_assert_eq(sr_tune_host_read(&host, root, &set, 64, &why), 0, "%s", why.text);
}

static void unpack(const char *name, const char *loops)
{
	char path[256];
	char line[4096];
	FILE *f;

	(void)snprintf(path, sizeof path, "tests/vectors/hosts/%s.txt", name);
	f = fopen(path, "re");
	cr_assert(f, "%s: %s", path, strerror(errno));
	while (fgets(line, sizeof line, f)) {
		char *colon = strchr(line, ':');

		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "# read-only: ", 13)) { /* behind its own line */
			(void)snprintf(path, sizeof path, "%s%.80s", root, line + 13);
			cr_assert_eq(chmod(path, 0444), 0, "%s: %s", path, strerror(errno));
		}
		if (line[0] == '#')
			continue;
		cr_assert(colon);
		*colon = '\0';
		put(line, colon + 1);
	}
	(void)fclose(f);
	look_again(loops);
}

static void setup(void)
{
	(void)snprintf(dir, sizeof dir, "%s/sigring-tune-XXXXXX", P_tmpdir);
	cr_assert(mkdtemp(dir));
	(void)snprintf(root, sizeof root, "%s/host", dir);
	(void)snprintf(state, sizeof state, "%s/state", dir);
	cr_assert_eq(mkdir(root, 0700), 0);
}

static int unlink_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st, (void)kind, (void)ftw;
	return remove(path);
}

static void teardown(void)
{
	(void)nftw(dir, unlink_one, 16, FTW_DEPTH | FTW_PHYS);
}

TestSuite(tune, .init = setup, .fini = teardown);

static const struct sr_tune_item *item_named(const char *name)
{
	for (size_t i = 0; i < sr_tune_item_count; i++)
		if (!strcmp(sr_tune_items[i].name, name))
			return &sr_tune_items[i];
	cr_assert_fail("no item %s", name);
	return NULL;
}

/* One item's verdict, and that it says `words`. */
static void judged(const char *name, enum sr_tune_verdict verdict, const char *words)
{
	struct sr_tune_finding f;

	sr_tune_look(item_named(name), &host, &f);
	cr_assert_eq(f.verdict, verdict, "%s is %s: %s", name, sr_tune_verdict_name(f.verdict),
		     f.text);
	cr_assert(strstr(f.text, words) || strstr(f.fix, words), "`%s: %s` does not say `%s`",
		  f.text, f.fix, words);
	sr_tune_found_free(&f);
}

struct expected {
	const char *item;
	enum sr_tune_verdict verdict;
	const char *words;
};

static void all_judged(const struct expected *want, size_t count)
{
	cr_assert_eq(count, sr_tune_item_count, "each item has a line here");
	for (size_t i = 0; i < count; i++) {
		cr_assert_str_eq(want[i].item, sr_tune_items[i].name);
		judged(want[i].item, want[i].verdict, want[i].words);
	}
}

#define ALL_JUDGED(want) all_judged(want, sizeof want / sizeof want[0])

/* ---- sets of CPUs ---- */

Test(tune, lists_and_masks_of_cpus_come_back_as_they_were)
{
	static const struct {
		const char *list;
		const char *mask;
	} pairs[] = {
		{ "", "0" },
		{ "0", "1" },
		{ "0-1", "3" },
		{ "0,2-5", "3d" },
		{ "31-32", "1,80000000" },
		{ "64", "1,00000000,00000000" },
		{ "0,1023",
		  "80000000,00000000,00000000,00000000,00000000,00000000,00000000,00000000,"
		  "00000000,00000000,00000000,00000000,00000000,00000000,00000000,00000000,"
		  "00000000,00000000,00000000,00000000,00000000,00000000,00000000,00000000,"
		  "00000000,00000000,00000000,00000000,00000000,00000000,00000000,00000001" },
	};
	char text[SR_CPUS_TEXT_BYTES];

	for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
		struct sr_cpus a;
		struct sr_cpus b;

		cr_assert_eq(sr_cpus_from_list(&a, pairs[i].list), 0);
		cr_assert_eq(sr_cpus_from_mask(&b, pairs[i].mask), 0);
		cr_assert(sr_cpus_equal(&a, &b), "%s", pairs[i].list);
		cr_assert_str_eq(sr_cpus_to_list(&b, text, sizeof text), pairs[i].list);
		cr_assert_str_eq(sr_cpus_to_mask(&a, text, sizeof text), pairs[i].mask);
	}
}

Test(tune, what_is_no_set_of_cpus_is_refused)
{
	static const char *const lists[] = { "a",
					     "1-",
					     "-1",
					     "3-2",
					     "1,",
					     ",1",
					     "1024",
					     "0-1024",
					     "1 2",
					     "1,,2",
					     "99999999999999999999",
					     "0x1" };
	static const char *const masks[] = {
		"g", "1,", ",1", "1,,1", "123456789", "0x1", "-1", " 1"
	};
	struct sr_cpus set = { { 42 } };

	for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
		cr_assert_eq(sr_cpus_from_list(&set, lists[i]), -EINVAL, "%s", lists[i]);
	for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++)
		cr_assert_eq(sr_cpus_from_mask(&set, masks[i]), -EINVAL, "%s", masks[i]);
	cr_assert_eq(set.words[0], 42, "outputs are untouched on failure");
}

Test(tune, text_of_a_set_is_cut_off_where_it_does_not_fit)
{
	struct sr_cpus set;
	char text[64];

	cr_assert_eq(sr_cpus_from_list(&set, "0,2,4,6,8,10,12"), 0);
	for (size_t room = 1; room < 16; room++) {
		memset(text, 'x', sizeof text);
		cr_assert(!strncmp(sr_cpus_to_list(&set, text, room), "0,2,4,6,8,10,12", room - 1));
		cr_assert_eq(text[room - 1], '\0');
		for (size_t i = room; i < sizeof text; i++)
			cr_assert_eq(text[i], 'x', "byte %zu behind %zu", i, room);
	}
}

/* ---- reading a host ---- */

Test(tune, a_directory_that_is_no_host_is_refused)
{
	struct sr_reason why = { 0, "" };
	struct sr_cpus none = { { 0 } };

	host.huge_pages = 7;
	cr_assert_eq(sr_tune_host_read(&host, root, &none, 64, &why), -ENOENT);
	cr_assert(strstr(why.text, "cpu/online"), "%s", why.text);
	put("/sys/devices/system/cpu/online", "nonsense");
	cr_assert_eq(sr_tune_host_read(&host, root, &none, 64, &why), -EINVAL);
	put("/sys/devices/system/cpu/online", "");
	cr_assert_eq(sr_tune_host_read(&host, root, &none, 64, &why), -EINVAL);
	cr_assert_eq(host.huge_pages, 7, "outputs are untouched on failure");
}

Test(tune, lines_are_bounded)
{
	char text[8] = "before";
	char line[6000];

	unpack("bare", "");
	put("/eight", "12345678");
	cr_assert_eq(sr_tune_text(&host, "/eight", text, sizeof text), -EFBIG);
	cr_assert_str_eq(text, "before");
	put("/seven", "1234567");
	cr_assert_eq(sr_tune_text(&host, "/seven", text, sizeof text), 0);
	cr_assert_str_eq(text, "1234567");
	memset(line, 'x', sizeof line - 1);
	line[sizeof line - 1] = '\0';
	put("/long", line);
	cr_assert_eq(sr_tune_text(&host, "/long", line, sizeof line), -EFBIG);
	cr_assert_eq(sr_tune_text(&host, "/none", text, sizeof text), -ENOENT);
}

Test(tune, values_are_read_as_they_would_be_written)
{
	char value[SR_TUNE_VALUE_BYTES];
	long long n = 5;

	unpack("bare", "");
	put("/thp", "always defer [defer+madvise] never");
	cr_assert_eq(sr_tune_value(&host, "/thp", value), 0);
	cr_assert_str_eq(value, "defer+madvise");
	put("/spaces", "  tsc \t");
	cr_assert_eq(sr_tune_value(&host, "/spaces", value), 0);
	cr_assert_str_eq(value, "tsc");
	cr_assert_eq(sr_tune_number(&host, "/spaces", &n), -EINVAL);
	put("/number", "-1");
	cr_assert_eq(sr_tune_number(&host, "/number", &n), 0);
	cr_assert_eq(n, -1);
	put("/number", "12 34");
	cr_assert_eq(sr_tune_number(&host, "/number", &n), -EINVAL);
	cr_assert_eq(n, -1);
}

Test(tune, the_last_of_several_boot_options_counts)
{
	char value[SR_TUNE_LINE_BYTES];

	(void)snprintf(host.cmdline, sizeof host.cmdline,
		       "a=1 isolcpus=2 quiet xisolcpus=7 isolcpus=3");
	cr_assert(sr_tune_boot_option(&host, "isolcpus", value));
	cr_assert_str_eq(value, "3");
	cr_assert(sr_tune_boot_option(&host, "quiet", value));
	cr_assert_str_eq(value, "");
	cr_assert_not(sr_tune_boot_option(&host, "isol", value));
	cr_assert_not(sr_tune_boot_option(&host, "b", value));
}

/* ---- verdicts ---- */

Test(tune, a_virtual_machine_as_delivered)
{
	static const struct expected want[] = {
		{ "cores", SR_TUNE_WARN, "2 CPUs for 3 loops" },
		{ "isolcpus", SR_TUNE_WARN, "no CPU is isolated" },
		{ "nohz_full", SR_TUNE_WARN, "cannot stop the tick" },
		{ "rcu_nocbs", SR_TUNE_WARN, "--cpu LIST" },
		{ "managed_irq", SR_TUNE_WARN, "--cpu LIST" },
		{ "irq-affinity", SR_TUNE_WARN, "--cpu LIST" },
		{ "workqueues", SR_TUNE_WARN, "--cpu LIST" },
		{ "smt", SR_TUNE_WARN, "--cpu LIST" },
		{ "cpu-quota", SR_TUNE_OK, "no quota" },
		{ "c-states", SR_TUNE_OK, "goes to the hypervisor" },
		{ "governor", SR_TUNE_OK, "not this kernel's" },
		{ "idle-poll", SR_TUNE_OK, "not set" },
		{ "thp", SR_TUNE_OK, "madvise, defrag madvise" },
		{ "ksm", SR_TUNE_OK, "0" },
		{ "huge-pages", SR_TUNE_WARN, "0 of 2 MiB, and 64 are wanted" },
		{ "numa-balancing", SR_TUNE_OK, "0" },
		{ "timer-migration", SR_TUNE_WARN, "echo 0 > /proc/sys/kernel/timer_migration" },
		{ "watchdog", SR_TUNE_WARN, "every CPU" },
		{ "vm-stat", SR_TUNE_WARN, "echo 10 > /proc/sys/vm/stat_interval" },
		{ "rt-throttling", SR_TUNE_OK, "not isolated" },
		{ "clocksource", SR_TUNE_OK, "tsc" },
		{ "mitigations", SR_TUNE_WARN, "2 left open: spec_rstack_overflow" },
		{ "steal", SR_TUNE_OK, "less than 0.1 %" },
		{ "instance", SR_TUNE_OK, "no EC2" },
		{ "enclave", SR_TUNE_OK, "no driver" },
	};

	unpack("vm-untuned", "");
	ALL_JUDGED(want);
}

Test(tune, the_same_machine_when_a_loop_is_named)
{
	unpack("vm-untuned", "1");
	judged("isolcpus", SR_TUNE_WARN, "isolcpus=managed_irq,domain,1");
	judged("irq-affinity", SR_TUNE_WARN, "interrupts may hit a loop, 10 of them now, and each new one");
	judged("workqueues", SR_TUNE_WARN, "echo 1 > /sys/devices/virtual/workqueue/cpumask");
	judged("watchdog", SR_TUNE_WARN, "echo 0 > /proc/sys/kernel/watchdog_cpumask");
	judged("smt", SR_TUNE_OK, "as far as this kernel is told");
	judged("rt-throttling", SR_TUNE_OK, "not isolated");
	put("/sys/devices/system/cpu/isolated", "1");
	look_again("1");
	judged("rt-throttling", SR_TUNE_WARN, "echo -1 >");
	look_again("0-1");
	judged("rt-throttling", SR_TUNE_OK, "not isolated");
	put("/sys/devices/system/cpu/isolated", "");
	look_again("0-1");
	judged("cores", SR_TUNE_WARN, "none is left for the kernel");
	judged("irq-affinity", SR_TUNE_WARN, "leave a CPU");
	judged("workqueues", SR_TUNE_WARN, "leave a CPU");
	judged("watchdog", SR_TUNE_WARN, "echo 0 > /proc/sys/kernel/watchdog");
	look_again("1,9");
	judged("cores", SR_TUNE_FAIL, "CPU 9 is not online");
}

Test(tune, a_tuned_host_has_nothing_against_it)
{
	unpack("tuned-16", "2-4");
	for (size_t i = 0; i < sr_tune_item_count; i++) {
		struct sr_tune_finding f;

		sr_tune_look(&sr_tune_items[i], &host, &f);
		cr_assert_eq(f.verdict, SR_TUNE_OK, "%s: %s", sr_tune_items[i].name, f.text);
		cr_assert_eq(f.setting_count, 0, "%s wants %s", sr_tune_items[i].name,
			     f.setting_count ? f.settings[0].path : "");
		sr_tune_found_free(&f);
	}
	judged("instance", SR_TUNE_OK, "c6i.4xlarge");
	judged("enclave", SR_TUNE_OK, "5,13");
	put("/proc/cmdline", "isolcpus=managed_irq,domain,2-4,10-12 nohz_full=2-4,10-12");
	look_again("2-4");
	judged("rcu_nocbs", SR_TUNE_OK, "elsewhere"); /* nohz_full implies it */
	put("/sys/devices/system/cpu/nohz_full", "");
	judged("rcu_nocbs", SR_TUNE_WARN, "CPU 2-4 runs RCU");
}

Test(tune, loops_where_they_should_not_be_on_a_tuned_host)
{
	unpack("tuned-16", "");
	judged("smt", SR_TUNE_WARN, "CPUs 2 and 10 are threads of one core, both isolated");
	look_again("2,10");
	judged("smt", SR_TUNE_WARN, "both poll");
	look_again("6");
	judged("smt", SR_TUNE_WARN, "CPUs 6 and 14 are threads of one core, and the second has");
	judged("isolcpus", SR_TUNE_WARN, "CPU 6 polls and is not isolated");
	judged("nohz_full", SR_TUNE_WARN, "CPU 6 is interrupted");
	judged("rcu_nocbs", SR_TUNE_WARN, "CPU 6 runs RCU");
	judged("irq-affinity", SR_TUNE_WARN, "5 interrupts may hit a loop, 1 of them now");
	look_again("5");
	judged("cores", SR_TUNE_FAIL, "CPU 5 is not online");
	judged("enclave", SR_TUNE_FAIL, "belong to the enclaves");
}

/* What check said in the guests themselves: tests/guest/record.sh holds the two together. */
Test(tune, a_guest_as_it_boots)
{
	static const struct expected want[] = {
		{ "cores", SR_TUNE_OK, "4 CPUs, 0 of them" },
		{ "isolcpus", SR_TUNE_WARN, "isolcpus=managed_irq,domain,1-3" },
		{ "nohz_full", SR_TUNE_WARN, "--cpu LIST" },
		{ "rcu_nocbs", SR_TUNE_WARN, "--cpu LIST" },
		{ "managed_irq", SR_TUNE_WARN, "--cpu LIST" },
		{ "irq-affinity", SR_TUNE_WARN, "--cpu LIST" },
		{ "workqueues", SR_TUNE_WARN, "--cpu LIST" },
		{ "smt", SR_TUNE_WARN, "--cpu LIST" },
		{ "cpu-quota", SR_TUNE_OK, "no quota" },
		{ "c-states", SR_TUNE_OK, "not this kernel's" },
		{ "governor", SR_TUNE_OK, "not this kernel's" },
		{ "idle-poll", SR_TUNE_OK, "not set" },
		{ "thp", SR_TUNE_WARN, "always, defrag madvise" },
		{ "ksm", SR_TUNE_OK, "0" },
		{ "huge-pages", SR_TUNE_WARN, "0 of 2 MiB, and 64 are wanted" },
		{ "numa-balancing", SR_TUNE_OK, "0" },
		{ "timer-migration", SR_TUNE_WARN, "it is 1" },
		{ "watchdog", SR_TUNE_WARN, "every CPU" },
		{ "vm-stat", SR_TUNE_WARN, "every 1 s" },
		{ "rt-throttling", SR_TUNE_OK, "not isolated" },
		{ "clocksource", SR_TUNE_FAIL, "hpet is a system call" },
		{ "mitigations", SR_TUNE_OK, "none left open" },
		{ "steal", SR_TUNE_OK, "less than 0.1 %" },
		{ "instance", SR_TUNE_OK, "no EC2" },
		{ "enclave", SR_TUNE_OK, "no driver" },
	};

	unpack("guest-untuned", "");
	ALL_JUDGED(want);
	look_again("3"); /* the same when a loop is named */
	judged("nohz_full", SR_TUNE_WARN, "CPU 3 is interrupted");
	judged("irq-affinity", SR_TUNE_WARN, ", and each new one");
	judged("workqueues", SR_TUNE_WARN, "echo 7 >");
}

Test(tune, a_guest_booted_and_tuned_by_the_guide)
{
	static const struct expected want[] = {
		{ "cores", SR_TUNE_OK, "4 CPUs, 3 of them" },
		{ "isolcpus", SR_TUNE_OK, "1-3" },
		{ "nohz_full", SR_TUNE_OK, "no tick on 1-3" },
		{ "rcu_nocbs", SR_TUNE_OK, "elsewhere" },
		{ "managed_irq", SR_TUNE_OK, "avoid" },
		/* The queues of its disk on those CPUs: this kernel does not say that it placed them. */
		{ "irq-affinity", SR_TUNE_WARN, "3 interrupts may hit a loop, 3 of them now" },
		{ "workqueues", SR_TUNE_OK, "keeps off" },
		{ "smt", SR_TUNE_OK, "as far as this kernel is told" },
		{ "cpu-quota", SR_TUNE_OK, "no quota" },
		{ "c-states", SR_TUNE_OK, "not this kernel's" },
		{ "governor", SR_TUNE_OK, "not this kernel's" },
		{ "idle-poll", SR_TUNE_OK, "not set" },
		{ "thp", SR_TUNE_OK, "madvise, defrag madvise" },
		{ "ksm", SR_TUNE_OK, "0" },
		{ "huge-pages", SR_TUNE_OK, "regions for 32 more processes" },
		{ "numa-balancing", SR_TUNE_OK, "0" },
		{ "timer-migration", SR_TUNE_OK, "0" },
		{ "watchdog", SR_TUNE_OK, "keeps off" },
		{ "vm-stat", SR_TUNE_OK, "every 10 s" },
		{ "rt-throttling", SR_TUNE_OK, "-1" },
		{ "clocksource", SR_TUNE_FAIL, "hpet" },
		{ "mitigations", SR_TUNE_OK, "none left open" },
		{ "steal", SR_TUNE_OK, "less than 0.1 %" },
		{ "instance", SR_TUNE_OK, "no EC2" },
		{ "enclave", SR_TUNE_OK, "no driver" },
	};
	char path[400];

	unpack("guest-tuned", "");
	ALL_JUDGED(want);
	for (int n = 29; n <= 31; n++) { /* as a newer kernel would */
		(void)snprintf(path, sizeof path, "%s/proc/irq/%d/smp_affinity_list", root, n);
		cr_assert_eq(chmod(path, 0444), 0, "%s", path);
	}
	judged("irq-affinity", SR_TUNE_OK, "no interrupt");
}

Test(tune, a_guest_that_is_tuned_by_half_and_wrongly)
{
	static const struct expected want[] = {
		{ "cores", SR_TUNE_OK, "4 CPUs, 2 of them" },
		{ "isolcpus", SR_TUNE_OK, "2-3" },
		{ "nohz_full", SR_TUNE_WARN, "CPU 2 is interrupted by the tick" },
		{ "rcu_nocbs", SR_TUNE_WARN, "CPU 2 runs RCU" },
		{ "managed_irq", SR_TUNE_WARN, "isolcpus=managed_irq,domain,2-3" },
		{ "irq-affinity", SR_TUNE_WARN, "22 interrupts may hit a loop, 6 of them now, and each" },
		{ "workqueues", SR_TUNE_OK, "keeps off" },
		{ "smt", SR_TUNE_OK, "as far as this kernel is told" },
		{ "cpu-quota", SR_TUNE_OK, "no quota" },
		{ "c-states", SR_TUNE_OK, "not this kernel's" },
		{ "governor", SR_TUNE_OK, "not this kernel's" },
		{ "idle-poll", SR_TUNE_OK, "never have to wake" },
		{ "thp", SR_TUNE_WARN, "always" },
		{ "ksm", SR_TUNE_OK, "0" },
		{ "huge-pages", SR_TUNE_WARN, "8 of 2 MiB, and 64 are wanted" },
		{ "numa-balancing", SR_TUNE_OK, "0" },
		{ "timer-migration", SR_TUNE_WARN, "it is 1" },
		{ "watchdog", SR_TUNE_WARN, "echo 0-1 >" },
		{ "vm-stat", SR_TUNE_WARN, "every 1 s" },
		{ "rt-throttling", SR_TUNE_WARN, "it is 950000" },
		{ "clocksource", SR_TUNE_FAIL, "hpet" },
		{ "mitigations", SR_TUNE_WARN, "off: any process" },
		{ "steal", SR_TUNE_OK, "less than 0.1 %" },
		{ "instance", SR_TUNE_OK, "no EC2" },
		{ "enclave", SR_TUNE_OK, "no driver" },
	};

	unpack("guest-mistaken", "");
	ALL_JUDGED(want);
}

Test(tune, everything_wrong_at_once)
{
	static const struct expected want[] = {
		{ "cores", SR_TUNE_OK, "8 CPUs, 2 of them" },
		{ "isolcpus", SR_TUNE_OK, "6-7" },
		{ "nohz_full", SR_TUNE_WARN, "boot with nohz_full=6-7" },
		{ "rcu_nocbs", SR_TUNE_WARN, "boot with rcu_nocbs=6-7" },
		{ "managed_irq", SR_TUNE_WARN, "isolcpus=managed_irq,domain,6-7" },
		{ "irq-affinity", SR_TUNE_WARN, "4 interrupts may hit a loop, 3 of them now, and each new one" },
		{ "workqueues", SR_TUNE_WARN, "echo 3f >" },
		{ "smt", SR_TUNE_WARN, "CPUs 6 and 7 are threads of one core" },
		{ "cpu-quota", SR_TUNE_WARN, "150000 100000" },
		{ "c-states", SR_TUNE_WARN, "133 us to wake" },
		{ "governor", SR_TUNE_FAIL, "powersave" },
		{ "idle-poll", SR_TUNE_WARN, "half a core" },
		{ "thp", SR_TUNE_WARN, "echo madvise >" },
		{ "ksm", SR_TUNE_WARN, "echo 0 > /sys/kernel/mm/ksm/run" },
		{ "huge-pages", SR_TUNE_WARN, "8 of 2 MiB, and 64 are wanted" },
		{ "numa-balancing", SR_TUNE_WARN, "echo 0 >" },
		{ "timer-migration", SR_TUNE_WARN, "echo 0 >" },
		{ "watchdog", SR_TUNE_WARN, "echo 0-5 > /proc/sys/kernel/watchdog_cpumask" },
		{ "vm-stat", SR_TUNE_WARN, "every 1 s" },
		{ "rt-throttling", SR_TUNE_WARN, "echo -1 >" },
		{ "clocksource", SR_TUNE_FAIL, "echo tsc >" },
		{ "mitigations", SR_TUNE_WARN, "off: any process" },
		{ "steal", SR_TUNE_WARN, "1.0 %" },
		{ "instance", SR_TUNE_WARN, "t3.2xlarge: AWS excludes it" },
		{ "enclave", SR_TUNE_WARN, "allocator.yaml" },
	};

	unpack("mitigations-off", "");
	ALL_JUDGED(want);
}

Test(tune, a_kernel_that_shows_next_to_nothing)
{
	static const struct expected want[] = {
		{ "cores", SR_TUNE_OK, "4 CPUs" },
		{ "isolcpus", SR_TUNE_WARN, "isolcpus=managed_irq,domain,1-3" },
		{ "nohz_full", SR_TUNE_WARN, "nohz_full=1-3" },
		{ "rcu_nocbs", SR_TUNE_WARN, "--cpu LIST" },
		{ "managed_irq", SR_TUNE_WARN, "--cpu LIST" },
		{ "irq-affinity", SR_TUNE_WARN, "--cpu LIST" },
		{ "workqueues", SR_TUNE_WARN, "--cpu LIST" },
		{ "smt", SR_TUNE_WARN, "--cpu LIST" },
		{ "cpu-quota", SR_TUNE_OK, "" },
		{ "c-states", SR_TUNE_OK, "not this kernel's" },
		{ "governor", SR_TUNE_OK, "not this kernel's" },
		{ "idle-poll", SR_TUNE_OK, "" },
		{ "thp", SR_TUNE_OK, "has no transparent" },
		{ "ksm", SR_TUNE_OK, "merges no pages" },
		{ "huge-pages", SR_TUNE_WARN, "has no huge pages" },
		{ "numa-balancing", SR_TUNE_OK, "does not balance" },
		{ "timer-migration", SR_TUNE_OK, "moves no timers" },
		{ "watchdog", SR_TUNE_OK, "no lockup detector" },
		{ "vm-stat", SR_TUNE_OK, "" },
		{ "rt-throttling", SR_TUNE_OK, "not isolated" },
		{ "clocksource", SR_TUNE_WARN, "does not say" },
		{ "mitigations", SR_TUNE_WARN, "does not say" },
		{ "steal", SR_TUNE_WARN, "cannot read" },
		{ "instance", SR_TUNE_OK, "" },
		{ "enclave", SR_TUNE_OK, "" },
	};

	unpack("bare", "");
	ALL_JUDGED(want);
	look_again("3");
	judged("irq-affinity", SR_TUNE_WARN, "cannot read /proc/irq");
	judged("workqueues", SR_TUNE_OK, "does not let one place");
}

Test(tune, huge_pages_that_others_hold_are_not_ours)
{
#define POOL "/sys/kernel/mm/hugepages/hugepages-2048kB/"
	unpack("tuned-16", "2-4");
	judged("huge-pages", SR_TUNE_OK, "regions for 285 more");
	put(POOL "free_hugepages", "0"); /* an enclave has them all */
	judged("huge-pages", SR_TUNE_WARN, "576 of 2 MiB, but 0 free");
	judged("huge-pages", SR_TUNE_WARN, "echo 640 >");
	put(POOL "free_hugepages", "64");
	judged("huge-pages", SR_TUNE_OK, "64 of them free");
	put(POOL "resv_hugepages", "63"); /* mapped, and not touched yet */
	judged("huge-pages", SR_TUNE_WARN, "but 1 free");
	put(POOL "resv_hugepages", "62");
	judged("huge-pages", SR_TUNE_OK, "2 of them free: regions for 1 more");
	put(POOL "resv_hugepages", "99999");
	judged("huge-pages", SR_TUNE_OK, "64 of them free");
}

Test(tune, interrupts_that_are_elsewhere_only_for_now_are_told)
{
	char full[400];

	unpack("tuned-16", "2-4");
	judged("irq-affinity", SR_TUNE_OK, "no interrupt");
	put("/proc/irq/41/smp_affinity_list", "0-3");
	put("/proc/irq/41/effective_affinity_list", "1");
	judged("irq-affinity", SR_TUNE_WARN, "1 interrupts may hit a loop, 0 of them now");
	judged("irq-affinity", SR_TUNE_WARN, "echo 0-1 > /proc/irq/41/smp_affinity_list");
	/* One that the kernel places: it keeps off isolated CPUs, and cannot be moved. */
	(void)snprintf(full, sizeof full, "%s/proc/irq/41/smp_affinity_list", root);
	cr_assert_eq(chmod(full, 0444), 0);
	judged("irq-affinity", SR_TUNE_OK, "no interrupt");
	put("/proc/irq/41/effective_affinity_list", "2");
	judged("irq-affinity", SR_TUNE_WARN, "1 interrupts may hit a loop, 1 of them now");
	judged("irq-affinity", SR_TUNE_WARN, "isolcpus=managed_irq");
	cr_assert_eq(chmod(full, 0644), 0);
	put("/proc/irq/41/smp_affinity_list", "2-3");
	judged("irq-affinity", SR_TUNE_WARN, "1 of them now");
	cr_assert_eq(chmod(full, 0444), 0); /* a queue of isolated CPUs alone */
	judged("irq-affinity", SR_TUNE_OK, "no interrupt");
	put("/proc/irq/41/effective_affinity_list", "1");
	put("/proc/4711/comm", "irqbalance-ui");
	judged("irq-affinity", SR_TUNE_OK, "no interrupt");
	put("/proc/4711/comm", "irqbalance");
	judged("irq-affinity", SR_TUNE_WARN, "irqbalance runs");
	judged("irq-affinity", SR_TUNE_WARN, "IRQBALANCE_BANNED_CPULIST=2-4");
}

Test(tune, types_that_aws_excludes_are_known_and_others_are_not)
{
	static const char *const out[] = { "t3.large",   "t3a.small",        "c7i.24xlarge",
					   "m5.metal",   "u-6tb1.112xlarge", "m7i-flex.xlarge",
					   "g5g.4xlarge" };
	static const char *const in[] = { "c7i.4xlarge", "m5.xlarge",   "c6gn.4xlarge",
					  "t2.large",    "m7a.4xlarge", "r7i.8xlarge" };

	unpack("tuned-16", "2-4");
	for (size_t i = 0; i < sizeof out / sizeof out[0]; i++) {
		put("/sys/devices/virtual/dmi/id/product_name", out[i]);
		judged("instance", SR_TUNE_WARN, out[i]);
	}
	for (size_t i = 0; i < sizeof in / sizeof in[0]; i++) {
		put("/sys/devices/virtual/dmi/id/product_name", in[i]);
		judged("instance", SR_TUNE_OK, in[i]);
	}
}

Test(tune, garbage_in_the_files_is_survived)
{
	static const char *const paths[] = {
		"/proc/irq/default_smp_affinity",
		"/proc/irq/24/smp_affinity_list",
		"/proc/stat",
		"/proc/sys/kernel/watchdog_cpumask",
		"/proc/sys/vm/stat_interval",
		"/sys/devices/system/cpu/nohz_full",
		"/sys/devices/system/cpu/cpu2/topology/thread_siblings_list",
		"/sys/devices/system/cpu/cpu2/cpuidle/state1/latency",
		"/sys/devices/system/cpu/vulnerabilities/mds",
		"/sys/devices/virtual/workqueue/cpumask",
		"/sys/kernel/mm/transparent_hugepage/enabled",
		"/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
		"/sys/module/nitro_enclaves/parameters/ne_cpus",
		"/proc/cmdline",
	};
	static const char *const junk[] = { "",         "[",         "]",
					    "][",       "-",         ",",
					    "\x80\xff", "%s%n",      "99999999999999999999999999",
					    "0-",       "cpu  x y z" };

	unpack("tuned-16", "2-4");
	for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
		for (size_t k = 0; k < sizeof junk / sizeof junk[0]; k++) {
			put(paths[i], junk[k]);
			for (size_t n = 0; n < sr_tune_item_count; n++) {
				struct sr_tune_finding f;

				sr_tune_look(&sr_tune_items[n], &host, &f);
				cr_assert(f.text[0] && (f.verdict == SR_TUNE_OK || f.fix[0]));
				sr_tune_found_free(&f);
			}
		}
}

/* ---- what is printed ---- */

static char *printed(int (*print)(FILE *out), int *code)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	*code = print(out);
	cr_assert_eq(fclose(out), 0);
	return text;
}

static int print_lines(FILE *out)
{
	return sr_tune_check(&host, out, false);
}

static int print_json(FILE *out)
{
	return sr_tune_check(&host, out, true);
}

Test(tune, lines_and_json_say_the_same)
{
	static const struct {
		const char *name;
		int code; /* 1: it has an item that fails */
	} hosts[] = { { "vm-untuned", 0 },    { "mitigations-off", 1 }, { "bare", 0 },
		      { "tuned-16", 0 },      { "guest-untuned", 1 },   { "guest-tuned", 1 },
		      { "guest-mistaken", 1 } };

	for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
		json_error_t error;
		json_t *all;
		json_t *one;
		size_t n;
		int code[2];
		char *lines;
		char *json;

		(void)nftw(root, unlink_one, 16, FTW_DEPTH | FTW_PHYS);
		cr_assert_eq(mkdir(root, 0700), 0);
		unpack(hosts[i].name, "");
		lines = printed(print_lines, &code[0]);
		json = printed(print_json, &code[1]);
		cr_assert_eq(code[0], code[1]);
		cr_assert_eq(code[0], hosts[i].code, "%s", hosts[i].name);
		all = json_loads(json, 0, &error);
		cr_assert(all, "%s", error.text);
		cr_assert_eq(json_array_size(json_object_get(all, "items")), sr_tune_item_count);
		json_array_foreach(json_object_get(all, "items"), n, one) {
			char line[1200];

			(void)snprintf(line, sizeof line, "%-4s  %s: %s%s%s\n",
				       json_string_value(json_object_get(one, "verdict")),
				       json_string_value(json_object_get(one, "item")),
				       json_string_value(json_object_get(one, "text")),
				       *json_string_value(json_object_get(one, "fix")) ? ": " : "",
				       json_string_value(json_object_get(one, "fix")));
			cr_assert(strstr(lines, line), "`%s` is not in the lines", line);
		}
		json_decref(all);
		free(lines);
		free(json);
	}
}

Test(tune, what_a_file_holds_cannot_break_the_json)
{
	json_error_t error;
	json_t *all;
	char *json;
	int code;

	unpack("tuned-16", "2-4");
	put("/sys/devices/virtual/dmi/id/product_name", "t3.\"x\\\x01\xc3");
	json = printed(print_json, &code);
	all = json_loads(json, 0, &error);
	cr_assert(all, "%s: %s", error.text, json);
	json_decref(all);
	free(json);
}

Test(tune, the_guide_has_each_item_in_this_order)
{
	FILE *f = fopen(GUIDE, "re");
	char line[512];
	size_t i = 0;

	cr_assert(f, GUIDE ": %s", strerror(errno));
	while (fgets(line, sizeof line, f)) {
		char name[64];

		if (sscanf(line, "### `%63[^`]`", name) != 1)
			continue;
		cr_assert_lt(i, sr_tune_item_count, "the guide has %s, and check has not", name);
		cr_assert_str_eq(name, sr_tune_items[i].name, "item %zu of the guide is %s", i,
				 name);
		i++;
	}
	(void)fclose(f);
	cr_assert_eq(i, sr_tune_item_count, "the guide lacks %s", sr_tune_items[i].name);
}

/* ---- apply and revert ---- */

/* All settings of a tree, as one text of sorted lines would be; order is that of nftw. */
static char *snapshot_text;
static size_t snapshot_bytes;
static FILE *snapshot_out;

static int snapshot_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	char value[SR_TUNE_VALUE_BYTES];

	(void)st, (void)ftw;
	if (kind != FTW_F)
		return 0;
	if (sr_tune_value(&host, path + strlen(root), value) == 0)
		(void)fprintf(snapshot_out, "%s %s\n", path, value);
	return 0;
}

static char *snapshot(void)
{
	snapshot_out = open_memstream(&snapshot_text, &snapshot_bytes);
	cr_assert_eq(nftw(root, snapshot_one, 16, FTW_PHYS), 0);
	(void)fclose(snapshot_out);
	return snapshot_text;
}

static bool dry;

static int print_apply(FILE *out)
{
	struct sr_reason why = { 0, "" };
	int ret = sr_tune_apply(&host, state, dry, out, &why);

	cr_assert_geq(ret, 0, "%s", why.text);
	return ret;
}

static int print_revert(FILE *out)
{
	struct sr_reason why = { 0, "" };
	int ret = sr_tune_revert(&host, state, dry, out, &why);

	cr_assert_geq(ret, 0, "%s", why.text);
	return ret;
}

static void said(int (*print)(FILE *out), int want_code, const char *words)
{
	int code;
	char *text = printed(print, &code);

	cr_assert_eq(code, want_code, "exit code %d: %s", code, text);
	cr_assert(strstr(text, words), "`%s` does not say `%s`", text, words);
	free(text);
}

static void value_is(const char *path, const char *want)
{
	char value[SR_TUNE_VALUE_BYTES] = "";

	cr_assert_eq(sr_tune_value(&host, path, value), 0, "%s", path);
	cr_assert_str_eq(value, want, "%s is %s", path, value);
}

/* All of a file: nothing of a longer old value is left behind the new one. */
static void bytes_are(const char *path, const char *want)
{
	char full[512];
	char text[64];
	size_t bytes;
	FILE *f;

	(void)snprintf(full, sizeof full, "%s%s", root, path);
	f = fopen(full, "re");
	cr_assert(f);
	bytes = fread(text, 1, sizeof text - 1, f);
	(void)fclose(f);
	text[bytes] = '\0';
	cr_assert_str_eq(text, want);
}

#define STAT "/proc/sys/vm/stat_interval"
#define RT "/proc/sys/kernel/sched_rt_runtime_us"
#define TIMERS "/proc/sys/kernel/timer_migration"

Test(tune, apply_satisfies_check_and_revert_restores_every_file)
{
	char *before;
	char *after;

	unpack("mitigations-off", "");
	before = snapshot();
	said(print_apply, 0, "set       " STAT ": 1 -> 10 (vm-stat)");
	for (size_t i = 0; i < sr_tune_item_count; i++) {
		struct sr_tune_finding f;

		sr_tune_look(&sr_tune_items[i], &host, &f);
		cr_assert_eq(f.setting_count, 0, "%s still wants %s", sr_tune_items[i].name,
			     f.setting_count ? f.settings[0].path : "");
		sr_tune_found_free(&f);
	}
	value_is("/sys/kernel/mm/transparent_hugepage/defrag", "madvise");
	bytes_are(RT, "-1\n");
	value_is("/proc/irq/16/smp_affinity_list", "0-5");
	value_is("/proc/irq/25/smp_affinity_list", "0-5");
	value_is("/proc/irq/26/smp_affinity_list", "0-3");
	value_is("/proc/irq/default_smp_affinity", "3f");
	value_is("/sys/devices/system/cpu/cpu6/cpufreq/scaling_governor", "performance");
	value_is("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave");
	value_is("/sys/devices/system/cpu/cpu7/cpuidle/state3/disable", "1");
	value_is("/sys/devices/system/cpu/cpu7/cpuidle/state1/disable", "0");
	said(print_revert, 0, "0 left alone, 0 failed");
	after = snapshot();
	cr_assert_str_eq(after, before);
	cr_assert_eq(access(state, F_OK), -1, "the record is gone");
	free(before);
	free(after);
}

Test(tune, a_dry_run_changes_nothing)
{
	char *before;
	char *after;

	unpack("mitigations-off", "");
	before = snapshot();
	dry = true;
	said(print_apply, 0, "would set " STAT ": 1 -> 10");
	cr_assert_eq(access(state, F_OK), -1, "not even a record");
	dry = false;
	after = snapshot();
	cr_assert_str_eq(after, before);
	free(after);
	said(print_apply, 0, "undo by sigring-tune revert");
	free(before);
	before = snapshot();
	dry = true;
	said(print_revert, 0, "would set " STAT ": 10 -> 1");
	dry = false;
	after = snapshot();
	cr_assert_str_eq(after, before);
	cr_assert_eq(access(state, F_OK), 0);
	free(before);
	free(after);
}

Test(tune, a_host_that_needs_nothing_gets_no_record)
{
	unpack("tuned-16", "2-4");
	said(print_apply, 0, "0 changed, 0 kept by the kernel, 0 failed\n");
	cr_assert_eq(access(state, F_OK), -1);
}

Test(tune, revert_leaves_what_somebody_changed_since)
{
	unpack("mitigations-off", "");
	said(print_apply, 0, "set ");
	put(STAT, "77");
	put(RT, "950000");
	said(print_revert, 0, "left      " STAT ": 77, since somebody changed it; we had set 10");
	value_is(STAT, "77");
	value_is(RT, "950000");
	cr_assert_eq(access(state, F_OK), -1);
}

Test(tune, applied_twice_it_goes_back_to_the_first_value)
{
	unpack("vm-untuned", "1");
	said(print_apply, 0, "set ");
	said(print_apply, 0, "0 changed");
	host.huge_pages = 128;
	said(print_apply, 0, "1 changed");
	said(print_revert, 0,
	     "set back  /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages: 128 -> 0");
	value_is(STAT, "1");
}

Test(tune, applied_over_another_ones_change_it_goes_back_to_that)
{
	unpack("vm-untuned", "1");
	said(print_apply, 0, "set ");
	put(STAT, "5");
	said(print_apply, 0, STAT ": 5 -> 10");
	said(print_revert, 0, STAT ": 10 -> 5");
	value_is(STAT, "5");
}

Test(tune, what_cannot_be_written_is_said_and_is_not_undone)
{
	char path[256];
	char other[256];

	unpack("vm-untuned", "1");
	/* Can be read, and is not followed to be written. */
	(void)snprintf(path, sizeof path, "%s" STAT, root);
	(void)snprintf(other, sizeof other, "%s/elsewhere", root);
	cr_assert_eq(rename(path, other), 0);
	cr_assert_eq(symlink(other, path), 0);
	said(print_apply, 1, "FAILED    " STAT);
	value_is(STAT, "1");
	value_is(TIMERS, "0");
	/* It was not us who set it to what we had asked for. */
	cr_assert_eq(unlink(path), 0);
	put(STAT, "10");
	said(print_revert, 0, "0 left alone, 0 failed");
	value_is(STAT, "10");
	value_is(TIMERS, "1");
}

static const char *head(const char *line)
{
	static char text[2048];

	(void)snprintf(text, sizeof text,
		       "sigring-tune 1\nroot %s\nboot 11111111-2222-4333-8444-555555555555\n%s",
		       root, line);
	return text;
}

static void limit_file_bytes(rlim_t bytes)
{
	struct rlimit lim;

	cr_assert_eq(getrlimit(RLIMIT_FSIZE, &lim), 0);
	lim.rlim_cur = bytes;
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &lim), 0);
}

Test(tune, what_cannot_be_recorded_is_not_changed)
{
	struct sr_reason why = { 0, "" };
	size_t head_bytes;
	char *before;

	unpack("vm-untuned", "1");
	before = snapshot();
	head_bytes = strlen(head(""));
	cr_assert_neq(signal(SIGXFSZ, SIG_IGN), SIG_ERR);
	for (rlim_t more = 0; more < 20; more += 10) { /* none of a line, a part of it */
		FILE *out = fopen("/dev/null", "we");
		char *after;

		cr_assert(out);
		limit_file_bytes(head_bytes + more);
		cr_assert_lt(sr_tune_apply(&host, state, false, out, &why), 0);
		cr_assert(strstr(why.text, "cannot note in"), "%s", why.text);
		limit_file_bytes(RLIM_INFINITY);
		(void)fclose(out);
		after = snapshot();
		cr_assert_str_eq(after, before);
		free(after);
	}
	free(before);
	said(print_apply, 0, "set       " STAT ": 1 -> 10");
	said(print_revert, 0, "set back  " STAT ": 10 -> 1");
}

Test(tune, a_crash_between_record_and_write_is_seen)
{
	struct sr_tune_record r;
	struct sr_reason why = { 0, "" };

	unpack("vm-untuned", "1");
	cr_assert_eq(sr_tune_record_open(&r, state, &host, true, &why), 0, "%s", why.text);
	cr_assert_eq(sr_tune_record_add(&r, STAT, "1", "10"), 0);
	cr_assert_eq(sr_tune_record_close(&r, false), 0);
	said(print_revert, 0, "as before " STAT ": 1");
	value_is(STAT, "1");
}

Test(tune, a_record_of_an_earlier_boot_undoes_nothing)
{
	unpack("vm-untuned", "1");
	said(print_apply, 0, "set ");
	put("/proc/sys/kernel/random/boot_id", "22222222-2222-4333-8444-555555555555");
	said(print_revert, 0, "the host was restarted since");
	value_is(STAT, "10");
	cr_assert_eq(access(state, F_OK), -1);
}

Test(tune, a_record_of_an_earlier_boot_is_begun_anew)
{
	unpack("vm-untuned", "1");
	said(print_apply, 0, "set ");
	put("/proc/sys/kernel/random/boot_id", "22222222-2222-4333-8444-555555555555");
	put(STAT, "3");
	said(print_apply, 0, STAT ": 3 -> 10");
	said(print_revert, 0, STAT ": 10 -> 3");
	value_is(TIMERS, "0"); /* of the first boot: not ours to undo */
}

/* ---- the record, as somebody else may have left it ---- */

static void state_is(const char *text, mode_t mode)
{
	int fd = open(state, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	cr_assert_eq(fchmod(fd, mode), 0);
	cr_assert_eq(close(fd), 0);
}

static void state_refused(int error, const char *words)
{
	struct sr_tune_record r;
	struct sr_reason why = { 0, "" };
	struct stat before;
	struct stat after;

	cr_assert_eq(lstat(state, &before), 0);
	for (int create = 0; create < 2; create++) {
		cr_assert_eq(sr_tune_record_open(&r, state, &host, create, &why), error, "%s",
			     why.text);
		cr_assert(strstr(why.text, words), "`%s` does not say `%s`", why.text, words);
	}
	cr_assert_eq(lstat(state, &after), 0);
	cr_assert_eq(before.st_size, after.st_size, "it was left alone");
}

Test(tune, a_file_that_is_no_record_is_left_alone)
{
	unpack("vm-untuned", "1");
	state_is("root:x:0:0\n", 0600);
	state_refused(-EINVAL, "is no record of sigring-tune");
	state_is("sigring-tune 1\nroot /elsewhere\nboot x\n", 0600);
	state_refused(-EINVAL, "another --root");
	state_is("sigring-tune 1\n", 0600);
	state_refused(-EINVAL, "another --root");
	state_is(head(""), 0600);
	cr_assert_eq(truncate(state, (off_t)strlen(head("")) - 5), 0);
	state_refused(-EINVAL, "is cut off");
}

Test(tune, a_record_that_others_may_write_is_refused)
{
	char real[200];

	unpack("vm-untuned", "1");
	state_is(head(""), 0620);
	state_refused(-EPERM, "nobody else may write");
	state_is(head(""), 0602);
	state_refused(-EPERM, "nobody else may write");
	(void)snprintf(real, sizeof real, "%s.real", state);
	state_is(head(""), 0600);
	cr_assert_eq(rename(state, real), 0);
	cr_assert_eq(symlink(real, state), 0);
	state_refused(-ELOOP, "cannot open");
}

Test(tune, a_record_names_settings_and_nothing_else)
{
	static const char *const wrong[] = {
		"/etc/passwd\t1\t2\n",
		"/proc/self/mem\t1\t2\n",
		"/proc/sys/../../etc/passwd\t1\t2\n",
		"proc/sys/vm/stat_interval\t1\t2\n",
		"/proc/sys/vm/stat_interval\t1\n",
		"/proc/sys/vm/stat_interval\t1\t2\t3\n",
		"/proc/sys/vm/stat_interval\t\t2\n",
		"/proc/sys/vm/stat_interval 1 2\n",
		"\n",
	};
	char longer[1200];

	unpack("vm-untuned", "1");
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		state_is(head(wrong[i]), 0600);
		state_refused(-EINVAL, "line 4: no change of a setting");
	}
	(void)snprintf(longer, sizeof longer, STAT "\t1\t%0600d\n", 2);
	state_is(head(longer), 0600);
	state_refused(-EINVAL, "line 4");
	(void)snprintf(longer, sizeof longer, "/sys/%0300d\t1\t2\n", 2);
	state_is(head(longer), 0600);
	state_refused(-EINVAL, "line 4");
}

Test(tune, a_line_that_was_cut_off_is_dropped)
{
	struct sr_tune_record r;
	struct sr_reason why = { 0, "" };

	unpack("vm-untuned", "1");
	state_is(head(STAT "\t1\t10\n" RT "\t95"), 0600);
	cr_assert_eq(sr_tune_record_open(&r, state, &host, true, &why), 0, "%s", why.text);
	cr_assert_eq(r.count, 1);
	cr_assert_eq(sr_tune_record_add(&r, RT, "950000", "-1"), 0);
	cr_assert_eq(sr_tune_record_close(&r, false), 0);
	cr_assert_eq(sr_tune_record_open(&r, state, &host, false, &why), 0, "%s", why.text);
	cr_assert_eq(r.count, 2);
	cr_assert_str_eq(r.changes[1].was, "950000");
	cr_assert_eq(sr_tune_record_close(&r, true), 0);
}

Test(tune, a_record_is_one_process_at_a_time)
{
	struct sr_tune_record a;
	struct sr_tune_record b;
	struct sr_reason why = { 0, "" };

	unpack("vm-untuned", "1");
	cr_assert_eq(sr_tune_record_open(&a, state, &host, true, &why), 0, "%s", why.text);
	cr_assert_eq(sr_tune_record_open(&b, state, &host, true, &why), -EBUSY);
	cr_assert(strstr(why.text, "another sigring-tune"), "%s", why.text);
	cr_assert_eq(sr_tune_record_add(&a, "/etc/passwd", "1", "2"), -EINVAL);
	cr_assert_eq(sr_tune_record_close(&a, true), 0);
}

Test(tune, values_are_the_same_however_they_are_written)
{
	static const char mask[] = "/proc/irq/default_smp_affinity";
	static const char list[] = "/proc/irq/7/smp_affinity_list";

	cr_assert(sr_tune_same(mask, "00000000,00000003", "3"));
	cr_assert_not(sr_tune_same(list, "0,3", "3"));
	cr_assert(sr_tune_same(list, "0-1", "0,1"));
	cr_assert(sr_tune_same("/proc/sys/kernel/watchdog_cpumask", "0-1", "0,1"));
	cr_assert(sr_tune_same("/sys/devices/virtual/workqueue/cpumask", "03", "3"));
	cr_assert(sr_tune_same(STAT, "10", "10"));
	cr_assert_not(sr_tune_same(STAT, "10", "1"));
	cr_assert_not(sr_tune_same(RT, "-1", "1"));
	cr_assert_not(sr_tune_same(list, "x", "y"));
}

/* ---- measuring ---- */

static uint64_t fake_ns;
static unsigned int fake_reads;

/* 30 ns a reading; the 101st comes 2 us late, the 201st 20 us, the 301st 150 us. */
static uint64_t fake_clock(void)
{
	fake_reads++;
	fake_ns += 30;
	fake_ns += fake_reads == 101 ? 1970 : fake_reads == 201 ? 19970 : 0;
	fake_ns += fake_reads == 301 ? 149970 : 0;
	return fake_ns;
}

Test(tune, gaps_are_counted_where_they_belong)
{
	struct sr_tune_gaps g;
	uint64_t sum = 0;

	sr_tune_gaps_take(&g, fake_clock, 200000);
	cr_assert_eq(g.above_1us, 3);
	cr_assert_eq(g.above_10us, 2);
	cr_assert_eq(g.above_100us, 1);
	cr_assert_eq(g.worst_ns, 150000);
	cr_assert_eq(g.least_ns, 30);
	cr_assert_eq(g.lost_ns, 172000);
	cr_assert_eq(g.bins[4], g.samples - 3, "30 ns: 16 and more");
	cr_assert_eq(g.bins[10], 1, "2 us: 1024 and more");
	cr_assert_eq(g.bins[14], 1, "20 us: 16384 and more");
	cr_assert_eq(g.bins[17], 1, "150 us: 131072 and more");
	for (size_t i = 0; i < SR_TUNE_GAP_BINS; i++)
		sum += g.bins[i];
	cr_assert_eq(sum, g.samples);
	cr_assert_geq(g.duration_ns, 200000);
	cr_assert_lt(g.duration_ns, 200030);
}

static void first_allowed(unsigned int count, struct sr_cpus *set)
{
	struct sr_cpus all;
	unsigned int cpu;

	cr_assert_eq(sr_tune_pin_allowed(&all), 0);
	if (sr_cpus_count(&all) < count)
		cr_skip_test("this needs %u CPUs", count);
	memset(set, 0, sizeof *set);
	for (cpu = sr_cpus_next(&all, 0); count > 0; cpu = sr_cpus_next(&all, cpu + 1), count--)
		sr_cpus_add(set, cpu);
}

Test(tune, jitter_of_one_cpu_adds_up)
{
	struct sr_reason why = { 0, "" };
	struct sr_cpus set;
	json_error_t error;
	json_t *all;
	json_t *cpu;
	json_t *bin;
	json_int_t sum = 0;
	char *text = NULL;
	size_t bytes = 0;
	size_t i;
	FILE *out = open_memstream(&text, &bytes);

	first_allowed(1, &set);
	cr_assert_eq(sr_tune_jitter(&set, 1, false, true, out, &why), 0, "%s", why.text);
	(void)fclose(out);
	all = json_loads(text, 0, &error);
	cr_assert(all, "%s: %s", error.text, text);
	cpu = json_array_get(json_object_get(all, "cpus"), 0);
	json_array_foreach(json_object_get(cpu, "bins"), i, bin)
		sum += json_integer_value(json_object_get(bin, "count"));
	cr_assert_eq(sum, json_integer_value(json_object_get(cpu, "readings")));
	cr_assert_gt(sum, 10000);
	cr_assert_geq(json_integer_value(json_object_get(cpu, "duration_ns")), (json_int_t)SR_NS_PER_S);
	cr_assert_leq(json_integer_value(json_object_get(cpu, "least_ns")),
		      json_integer_value(json_object_get(cpu, "worst_ns")));
	json_decref(all);
	free(text);
}

Test(tune, a_cpu_that_cannot_be_pinned_to_is_refused)
{
	struct sr_reason why = { 0, "" };
	struct sr_cpus set;
	FILE *out = fopen("/dev/null", "we");

	first_allowed(1, &set);
	cr_assert(out);
	cr_assert_eq(sr_tune_c2c_print(&set, 3, false, out, &why), -EINVAL);
	cr_assert(strstr(why.text, "two CPUs"), "%s", why.text);
	sr_cpus_add(&set, 1023);
	cr_assert_eq(sr_tune_c2c_print(&set, 3, false, out, &why), -EINVAL);
	cr_assert(strstr(why.text, "cannot pin to CPU 1023"), "%s", why.text);
	cr_assert_eq(sr_tune_jitter(&set, 1, false, false, out, &why), -EINVAL);
	cr_assert(strstr(why.text, "cannot pin to CPU 1023"), "%s", why.text);
	(void)fclose(out);
}

Test(tune, a_pair_of_cpus_is_measured)
{
	struct sr_tune_c2c got = { 7, 7 };
	struct sr_cpus set;
	unsigned int a;
	unsigned int b;

	first_allowed(2, &set);
	a = sr_cpus_next(&set, 0);
	b = sr_cpus_next(&set, a + 1);
	cr_assert_eq(sr_tune_c2c_pair(a, a, 3, &got), -EINVAL);
	cr_assert_eq(sr_tune_c2c_pair(a, b, 0, &got), -EINVAL);
	cr_assert_eq(sr_tune_c2c_pair(a, b, SR_TUNE_C2C_ROUNDS_MAX + 1, &got), -EINVAL);
	cr_assert_eq(sr_tune_c2c_pair(a, 1023, 3, &got), -EINVAL);
	cr_assert_eq(sr_tune_c2c_pair(1023, b, 3, &got), -EINVAL);
	cr_assert_eq(got.median_ps, 7, "outputs are untouched on failure");
	cr_assert_eq(sr_tune_c2c_pair(a, b, 5, &got), 0);
	cr_assert_gt(got.min_ps, 1000, "no line crosses in a nanosecond");
	cr_assert_leq(got.min_ps, got.median_ps);
}
