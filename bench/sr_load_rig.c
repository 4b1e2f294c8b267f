/* SPDX-License-Identifier: MIT */
#include "sr_load.h"

#include "sr_local_rig.h"

#define READY_NS (60ull * SR_NS_PER_S)

static struct {
	const struct sr_load_settings *set;
	pid_t agent; /* or sigring-local */
	pid_t signer;
	char stream[96]; /* the signer's socket */
	char address[104];
	char cpus[2][16]; /* of agent and signer; empty: not pinned */
	char sessions[16], depth[16], slots[16];
	int allowed[CPU_SETSIZE];
	uint32_t cpu_count;
} programs;

static uint32_t server_loops(const struct sr_load_settings *set)
{
	return set->socket ? 0 : set->split ? 2 : 1;
}

/* One CPU a loop, the servers' at the end; -1 when there are not enough for all. */
static int cpu_of(const struct sr_load_settings *set, uint32_t at)
{
	return set->processes + server_loops(set) <= programs.cpu_count ? programs.allowed[at] : -1;
}

int sr_load_rig_cpu(const struct sr_load_settings *set, uint32_t at)
{
	return set->socket ? set->cpu : cpu_of(set, at % set->processes);
}

static void find_cpus(const struct sr_load_settings *set)
{
	cpu_set_t allowed;

	programs.cpu_count = 0;
	if (sched_getaffinity(0, sizeof allowed, &allowed) < 0)
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET((unsigned int)cpu, &allowed))
			programs.allowed[programs.cpu_count++] = cpu;
	for (uint32_t i = 0; i < server_loops(set); i++) {
		int cpu = cpu_of(set, programs.cpu_count - 1 - i);

		if (cpu >= 0)
			(void)snprintf(programs.cpus[i], sizeof programs.cpus[i], "%d", cpu);
	}
}

/* ---- the programs ---- */

static size_t put_cpu(char **argv, size_t n, uint32_t at)
{
	argv[n++] = "--wait";
	argv[n++] = programs.cpus[at][0] ? "spin" : "yield";
	if (programs.cpus[at][0]) {
		argv[n++] = "--cpu";
		argv[n++] = programs.cpus[at];
	}
	return n;
}

/* What holds the keys. */
static size_t put_signer(char **argv, size_t n)
{
	char *const more[] = {
		"--keys",       rig.keys,
		"--operators",  rig.operators, "--operators-needed", "1",
		"--manifest",   rig.manifest,  "--trust-out",        rig.trust,
		"--pool-slots", programs.slots, "--signer-depth-max", programs.depth,
		"--signer-sessions-max",       programs.sessions,    "--allow-snapshot",
	};

	for (size_t i = 0; i < sizeof more / sizeof more[0]; i++)
		argv[n++] = more[i];
	return n;
}

static int start_signer(void)
{
	char *argv[40] = { "sigring-signer", "--listen", programs.address };
	size_t n = put_cpu(argv, put_signer(argv, 3), 1);

	argv[n] = NULL;
	programs.signer = start("sigring-signer", argv, NULL, 0);
	return programs.signer > 0 ? 0 : -errno;
}

static int start_agent(void)
{
	char *argv[40] = { programs.set->split ? "sigring-agent" : "sigring-local", "--socket",
			   rig.socket, "--sessions-max", programs.sessions };
	size_t n = 5;

	if (programs.set->split) {
		argv[n++] = "--signer";
		argv[n++] = programs.address;
	} else {
		n = put_signer(argv, n);
	}
	n = put_cpu(argv, n, 0);
	argv[n] = NULL;
	programs.agent = start(argv[0], argv, NULL, 0);
	return programs.agent > 0 ? 0 : -errno;
}

int sr_load_rig_start(const struct sr_load_settings *set, struct sr_reason *why)
{
	int ret;

	memset(&programs, 0, sizeof programs);
	programs.set = set;
	find_cpus(set);
	if (set->socket)
		return 0;
	ret = rig_find_programs(why);
	if (ret == 0)
		ret = rig_provision(why);
	if (ret < 0)
		return ret;
	(void)snprintf(programs.stream, sizeof programs.stream, "%s/signer.sock", rig.dir);
	(void)snprintf(programs.address, sizeof programs.address, "unix:%s", programs.stream);
	/* A successor attaches while what it replaces is still being cleared away. */
	(void)snprintf(programs.sessions, sizeof programs.sessions, "%u",
		       set->sessions * (set->processes + SR_LOAD_EVENTS_MAX));
	(void)snprintf(programs.slots, sizeof programs.slots, "%u", set->pool_slots);
	(void)snprintf(programs.depth, sizeof programs.depth, "%u", set->depth);
	if (set->split)
		ret = start_signer();
	if (ret == 0)
		ret = start_agent();
	if (ret < 0)
		return sr_reason_set(why, ret, "cannot start agent and signer: %s", strerror(-ret));
	return rig_await_trust(READY_NS, why);
}

static pid_t *process_of(enum sr_load_what what)
{
	return what == SR_LOAD_SIGNER && programs.set->split ? &programs.signer : &programs.agent;
}

int sr_load_rig_signal(enum sr_load_what what, int number)
{
	pid_t *pid = process_of(what);
	siginfo_t info;

	if (*pid <= 0 || kill(*pid, number) < 0)
		return -ESRCH;
	if (number == SIGSTOP) /* its last thread stops a little later */
		(void)waitid(P_PID, (id_t)*pid, &info, WSTOPPED | WEXITED | WNOWAIT);
	if (number != SIGKILL)
		return 0;
	(void)waitpid(*pid, NULL, 0);
	*pid = 0;
	return 0;
}

int sr_load_rig_restart(enum sr_load_what what)
{
	return process_of(what) == &programs.signer ? start_signer() : start_agent();
}

void sr_load_rig_stop(void)
{
	pid_t *const pids[] = { &programs.agent, &programs.signer };
	char control[128];

	for (size_t i = 0; i < 2; i++)
		if (*pids[i] > 0) {
			(void)kill(*pids[i], SIGCONT);
			(void)kill(*pids[i], SIGTERM);
			(void)waitpid(*pids[i], NULL, 0);
			*pids[i] = 0;
		}
	if (!rig.dir[0])
		return;
	(void)snprintf(control, sizeof control, "%s.control", programs.stream);
	(void)unlink(programs.stream);
	(void)unlink(control);
	rig_remove();
	rig.dir[0] = '\0';
}

void sr_load_rig_log(void)
{
	if (rig.dir[0])
		rig_show_log();
}

void sr_load_rig_seat(struct sr_load_seat *seat)
{
	const struct sr_load_settings *set = programs.set;

	seat->socket = set->socket ? set->socket : rig.socket;
	seat->identity = set->socket ? NULL : rig.identity; /* NULL: from the environment */
	seat->trust = set->socket ? NULL : rig.trust;
	seat->pubkey = set->socket ? NULL : rig.pubkeys[set->key - 1];
}

/* ---- what they count ---- */

static uint64_t resident_kib(pid_t pid)
{
	char path[64], line[256];
	unsigned long long kib = 0;
	FILE *f;

	(void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	f = pid > 0 ? fopen(path, "re") : NULL;
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "VmRSS: %llu", &kib) == 1)
			break;
	if (f)
		(void)fclose(f);
	return kib;
}

static bool ask(char *text, size_t room)
{
	return rig_status(programs.set->socket ? programs.set->socket : rig.socket, text, room);
}

void sr_load_rig_ask(struct sr_load_counters *c, bool settle)
{
	static char text[1 << 16];
	uint64_t told = 0, end_ns = sr_now_ns() + 3 * SR_NS_PER_S;

	memset(c, 0, sizeof *c);
	if (!rig.bin[0] && rig_find_programs(NULL) < 0)
		return;
	c->known = ask(text, sizeof text);
	told = rig_number(text, "agent", "told");
	/* The signer tells its counters twice a second; the second time is of after now. */
	while (settle && c->known && rig_number(text, "agent", "told") < told + 2 &&
	       sr_now_ns() < end_ns) {
		(void)usleep(50000);
		c->known = ask(text, sizeof text);
	}
	if (!c->known)
		return;
	c->signed_ = rig_number(text, "signer", "signed");
	c->denied = rig_number(text, "signer", "denied");
	c->presigned = rig_number(text, "signer", "presigned");
	c->fallbacks = rig_number(text, "signer", "fallbacks");
	c->pool_dry = rig_number(text, "signer", "pool_dry");
	c->repeats = rig_number(text, "signer", "repeats");
	c->times_up = rig_number(text, "stream", "times_up");
	c->credit_stalls = rig_number(text, "agent", "credit_stalls");
	c->agent_kib = resident_kib(programs.agent);
	c->signer_kib = resident_kib(programs.signer);
}

/* ---- what comes between ---- */

/* Its first thread is the loop; the others are to get out of its way. */
static void watch_loop(struct sr_load_watch *w, cpu_set_t *cpus, pid_t pid)
{
	struct sr_bench_watch switches = { .at_ns = 0 };
	cpu_set_t own;

	if (pid <= 0 || sched_getaffinity(pid, sizeof own, &own) < 0 || CPU_COUNT(&own) != 1)
		return;
	sr_bench_switches(pid, &switches);
	w->involuntary += switches.involuntary;
	w->loops++;
	CPU_OR(cpus, cpus, &own);
}

void sr_load_rig_watch(struct sr_load_watch *w, const pid_t *clients, uint32_t count)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	*w = (struct sr_load_watch){ .at_ns = sr_now_ns() };
	watch_loop(w, &cpus, programs.agent);
	watch_loop(w, &cpus, programs.signer);
	for (uint32_t i = 0; i < count; i++)
		watch_loop(w, &cpus, clients[i]);
	for (uint32_t i = 0; i < programs.cpu_count && !w->loops; i++)
		CPU_SET((unsigned int)programs.allowed[i], &cpus);
	w->cpus = (uint32_t)CPU_COUNT(&cpus);
	w->steal_ns = sr_bench_steal_of(&cpus);
}

void sr_load_rig_machine(bool json)
{
	struct sr_machine machine;

	sr_machine_get(&machine);
	if (json)
		sr_bench_json_machine(&machine);
	else
		sr_bench_print_machine(&machine, "");
}
