/* SPDX-License-Identifier: MIT */
/*
 * What a host may be short of: huge pages, memory that may be locked, a cgroup's
 * share. Each is a note or a clean error with its message at attach, never a
 * signal at first touch; and what was used is given back by a kill -9.
 *
 * Changes vm.nr_hugepages where that is allowed, and puts it back.
 */
#include <mntent.h>
#include <sys/resource.h>

#include "mp_common.h"

#define POOL "/proc/sys/vm/nr_hugepages"
#define NOBODY 65534u

static struct mp_rig rig;

static long long pool_read(void)
{
	return mp_proc_kib("/proc/meminfo", "HugePages_Total:");
}

static long long pool_free(void)
{
	return mp_proc_kib("/proc/meminfo", "HugePages_Free:");
}

static bool file_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		(void)close(fd);
	return good;
}

static bool pool_set(long long pages)
{
	char text[32];

	(void)snprintf(text, sizeof text, "%lld", pages);
	return file_write(POOL, text);
}

/* Free huge pages come to @pages, or the test fails. */
static void pool_await_free(long long pages)
{
	uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;

	while (pool_free() != pages) {
		MP_CHECK(sr_now_ns() < end_ns, "%lld huge pages are free, not %lld", pool_free(),
			 pages);
		mp_sleep_us(10000);
	}
}

static void pool_need(long long pages)
{
	if (!pool_set(pages) || pool_read() != pages || pool_free() != pages) {
		mp_skip("vm.nr_hugepages cannot be set to %lld here", pages);
	}
}

static void orders(bool client_huge, bool pair_huge)
{
	struct sr_client *client = mp_open(&rig, 1, 16);
	struct sr_session *session = mp_session(client, 0, 0);
	struct sr_client_stats stats;
	json_t *status;
	json_t *pair;

	sr_client_stats_get(client, &stats);
	MP_EQ(stats.huge_pages, client_huge, "huge pages in the client's own region");
	for (uint64_t n = 0; n < 100; n++)
		mp_order(&rig, client, session, n);
	status = mp_status(&rig);
	pair = json_object_get(json_array_get(json_object_get(status, "clients"), 0), "huge_pages");
	MP_EQ(json_is_true(pair), pair_huge, "huge pages according to the agent's status");
	json_decref(status);
	sr_close(client);
}

static void without_huge_pages_there_is_a_note(void)
{
	pool_need(0);
	mp_rig_new(&rig, true);
	mp_rig_start(&rig);
	orders(false, false);
	mp_await_lines(rig.agent_log, "WARNING: no 2 MiB pages", 1);
	mp_rig_stop(&rig);
}

static void client_until_killed(void *arg)
{
	struct sr_client *client = mp_open(&rig, 1, 16);
	struct sr_session *session = mp_session(client, 0, 0);

	for (uint64_t n = 0;; n++) {
		mp_order(&rig, client, session, n);
		sr_store32_relaxed(arg, (uint32_t)n);
	}
}

static void huge_pages_are_used_and_given_back(void)
{
	const long long pages = 24;
	uint32_t *progress = mp_shared(sizeof *progress);

	pool_need(pages);
	mp_rig_new(&rig, true);
	mp_rig_start(&rig);
	orders(true, true);
	pool_await_free(pages);
	for (int i = 0; i < (mp_long ? 500 : 20); i++) {
		pid_t client;

		sr_store32_relaxed(progress, 0);
		client = mp_fork(client_until_killed, progress);
		while (sr_load32_relaxed(progress) < 3)
			mp_sleep_us(200);
		/* Others on the machine may take some as well, now that there are any. */
		MP_CHECK(pool_free() <= pages - 2, "%lld of %lld huge pages are free", pool_free(),
			 pages);
		mp_signal(&client, SIGKILL);
		if (i % 2) {
			mp_signal(&rig.agent, SIGKILL);
			mp_start_agent(&rig);
		}
		pool_await_free(pages);
	}
	mp_rig_stop(&rig);
}

/* Not enough for both regions: one of them falls back, nothing breaks. */
static void huge_pages_that_run_out_fall_back(void)
{
	pool_need(1);
	mp_rig_new(&rig, true);
	mp_rig_start(&rig);
	orders(true, false);
	pool_await_free(1);
	mp_rig_stop(&rig);
}

/* ---- memory that may be locked ---- */

static void limit_memlock(void)
{
	struct rlimit lim = { 8192, 8192 };

	(void)setrlimit(RLIMIT_MEMLOCK, &lim);
	if (geteuid() == 0)
		(void)!setresuid(NOBODY, NOBODY, NOBODY); /* root may lock anything */
}

static void open_up(void)
{
	char upper[300];

	(void)snprintf(upper, sizeof upper, "%s/..", rig.dir);
	MP_CHECK(chmod(upper, 0777) == 0 && chmod(rig.dir, 0777) == 0, "chmod: %s",
		 strerror(errno));
	if (rig.socket[0])
		(void)chmod(rig.socket, 0666);
}

static void poor_client(void *arg)
{
	struct sr_options opt;
	struct sr_reason why = { 0, "" };
	struct sr_client *client;

	(void)arg;
	limit_memlock();
	mp_options(&opt, &rig);
	opt.flags |= SR_OPT_NO_HUGE_PAGES;
	MP_EQ(sr_open(&client, &opt, &why), -ENOMEM, "sr_open with 8 KiB of memlock");
	MP_CHECK(strstr(why.text, "LimitMEMLOCK="), "`%s` does not say what to do", why.text);
}

static void memlock_limit_of_the_client_is_enomem(void)
{
	if (MP_SANITIZED)
		mp_skip("mlock() does nothing under a sanitizer");
	mp_rig_new(&rig, true);
	rig.agent_args[0] = "--allow-uid";
	rig.agent_args[1] = "any";
	mp_rig_start(&rig);
	open_up();
	mp_join(mp_fork(poor_client, NULL), "a client without memlock");
	mp_good_client(&rig);
	mp_rig_stop(&rig);
}

static void memlock_limit_of_the_agent_is_enomem(void)
{
	struct sr_options opt;
	struct sr_reason why = { 0, "" };
	struct sr_client *client;

	if (MP_SANITIZED)
		mp_skip("mlock() does nothing under a sanitizer");
	mp_rig_new(&rig, true);
	rig.agent_args[0] = "--allow-uid";
	rig.agent_args[1] = "any";
	rig.agent_args[2] = "--no-huge-pages";
	mp_start_signer(&rig);
	open_up();
	(void)unlink(rig.agent_log); /* it is root's */
	mp_before_exec = limit_memlock;
	mp_start_agent(&rig);
	mp_before_exec = NULL;
	mp_options(&opt, &rig);
	MP_EQ(sr_open(&client, &opt, &why), -ENOMEM, "sr_open with a poor agent");
	MP_CHECK(strstr(why.text, "raise LimitMEMLOCK= in its unit"), "`%s`", why.text);
	mp_await_lines(rig.agent_log, "cannot lock", 1);
	MP_CHECK(mp_alive(rig.agent), "the agent ended");
}

/* ---- cgroups ---- */

static char hierarchy[320]; /* where cgroup v2 is mounted; "" if nowhere */
static char group[400];

static void hierarchy_find(void)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	const struct mntent *m;

	while (mounts && (m = getmntent(mounts)) != NULL)
		if (!strcmp(m->mnt_type, "cgroup2"))
			(void)snprintf(hierarchy, sizeof hierarchy, "%.300s", m->mnt_dir);
	if (mounts)
		(void)endmntent(mounts);
}

static bool hierarchy_write(const char *text)
{
	char path[400];

	(void)snprintf(path, sizeof path, "%s/cgroup.subtree_control", hierarchy);
	return file_write(path, text);
}

/* A child of the cgroup v2 hierarchy with @controller, or skips. */
static void group_new(const char *controller)
{
	char enable[64];

	if (!hierarchy[0])
		mp_skip("no cgroup v2 here");
	(void)snprintf(enable, sizeof enable, "+%s", controller);
	if (!hierarchy_write(enable))
		mp_skip("the %s controller of cgroup v2 cannot be used here", controller);
	/* Named after the program: main() clears away what a failed test leaves. */
	(void)snprintf(group, sizeof group, "%s/sigring-test-%d", hierarchy, (int)getppid());
	if (mkdir(group, 0755) < 0)
		mp_skip("no cgroup can be made here: %s", strerror(errno));
}

static void group_remove(void)
{
	(void)rmdir(group);
}

static bool group_set(const char *name, const char *value)
{
	char path[600];

	(void)snprintf(path, sizeof path, "%s/%s", group, name);
	return file_write(path, value);
}

static void group_enter(void)
{
	if (!group_set("cgroup.procs", "0"))
		_exit(125);
}

static void limited_client(void *arg)
{
	struct sr_client *client;
	struct sr_session *session;
	struct sr_client_stats stats;

	(void)arg;
	group_enter();
	client = mp_open(&rig, 1, 16);
	session = mp_session(client, 0, 0);
	sr_client_stats_get(client, &stats);
	MP_EQ(stats.huge_pages, 0, "huge pages beyond the cgroup's limit");
	for (uint64_t n = 0; n < 100; n++)
		mp_order(&rig, client, session, n);
	sr_close(client);
}

/* The limit counts at the fault, where it would be a SIGBUS, not at mmap. */
static void cgroup_limit_on_huge_pages_falls_back(void)
{
	pool_need(8);
	group_new("hugetlb");
	if (!group_set("hugetlb.2MB.max", "0")) {
		group_remove();
		mp_skip("hugetlb.2MB.max cannot be set here");
	}
	mp_rig_new(&rig, true);
	mp_rig_start(&rig);
	mp_join(mp_fork(limited_client, NULL), "a client in a cgroup");
	mp_before_exec = group_enter;
	mp_signal(&rig.agent, SIGTERM);
	mp_start_agent(&rig);
	mp_before_exec = NULL;
	orders(true, false);
	mp_rig_stop(&rig);
	group_remove();
}

static void greedy_client(void *arg)
{
	struct sr_options opt;
	struct sr_reason why = { 0, "" };
	struct sr_client *client;

	(void)arg;
	group_enter();
	mp_options(&opt, &rig);
	opt.sessions = 64;
	opt.depth = 1024;
	opt.flags |= SR_OPT_NO_HUGE_PAGES;
	MP_EQ(sr_open(&client, &opt, &why), -ENOMEM, "sr_open beyond the cgroup's limit");
	MP_CHECK(strstr(why.text, "cgroup"), "`%s`", why.text);
}

/* Without swap the kernel may choose to kill the one who asks; never a SIGBUS. */
static void cgroup_limit_on_memory_is_no_sigbus(void)
{
	pid_t pid;
	int status;

	group_new("memory");
	if (!group_set("memory.max", "16777216")) {
		group_remove();
		mp_skip("memory.max cannot be set here");
	}
	(void)group_set("memory.swap.max", "0");
	mp_rig_new(&rig, true);
	mp_rig_start(&rig);
	pid = mp_fork(greedy_client, NULL);
	status = mp_reap(pid, MP_BOUND_NS, "a client in a cgroup");
	MP_CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0) ||
			 (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL),
		 "it ended with status %x", (unsigned int)status);
	mp_good_client(&rig);
	mp_rig_stop(&rig);
	group_remove();
}

static const struct mp_test tests[] = {
	{ "host/without_huge_pages_there_is_a_note", without_huge_pages_there_is_a_note, 0 },
	{ "host/huge_pages_are_used_and_given_back", huge_pages_are_used_and_given_back, 0 },
	{ "host/huge_pages_that_run_out_fall_back", huge_pages_that_run_out_fall_back, 0 },
	{ "host/memlock_limit_of_the_client_is_enomem", memlock_limit_of_the_client_is_enomem, 0 },
	{ "host/memlock_limit_of_the_agent_is_enomem", memlock_limit_of_the_agent_is_enomem, 0 },
	{ "host/cgroup_limit_on_huge_pages_falls_back", cgroup_limit_on_huge_pages_falls_back, 0 },
	{ "host/cgroup_limit_on_memory_is_no_sigbus", cgroup_limit_on_memory_is_no_sigbus, 0 },
};

/* ---- as it was before ---- */

static long long pool_before;
static bool hugetlb_before;
static bool memory_before;

static bool hierarchy_has(const char *controller)
{
	char path[400];
	char *enabled;
	bool has;

	(void)snprintf(path, sizeof path, "%s/cgroup.subtree_control", hierarchy);
	enabled = mp_read_file(path);
	has = strstr(enabled, controller);
	free(enabled);
	return has;
}

/* Also when a test failed, or the program is interrupted. Makes only calls that a
 * signal handler may. */
static void put_back(int number)
{
	(void)pool_set(pool_before);
	(void)rmdir(group);
	if (!hugetlb_before)
		(void)hierarchy_write("-hugetlb");
	if (!memory_before)
		(void)hierarchy_write("-memory");
	if (number)
		_exit(128 + number);
}

int main(int argc, char **argv)
{
	int code;

	pool_before = pool_read();
	hierarchy_find();
	hugetlb_before = hierarchy_has("hugetlb");
	memory_before = hierarchy_has("memory");
	(void)snprintf(group, sizeof group, "%s/sigring-test-%d", hierarchy, (int)getpid());
	(void)signal(SIGTERM, put_back);
	(void)signal(SIGINT, put_back);
	code = mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
	mp_sleep_us(100000); /* the last of a failed test are gone then */
	put_back(0);
	return code;
}
