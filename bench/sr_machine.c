/* SPDX-License-Identifier: MIT */
#include "sr_machine.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "sr_tune_check.h"

#ifndef SR_COMMIT
#define SR_COMMIT "unknown"
#endif

#define VULNERABILITIES "/sys/devices/system/cpu/vulnerabilities"
#define LINE_BYTES 512

static void cpu_model(char *text, size_t room)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[256];

	(void)snprintf(text, room, "unknown CPU");
	while (f && fgets(line, sizeof line, f)) {
		char *colon = strchr(line, ':');

		line[strcspn(line, "\n")] = '\0';
		if (colon && (!strncmp(line, "model name", 10) || !strncmp(line, "CPU part", 8))) {
			(void)snprintf(text, room, "%s", colon + 2);
			break;
		}
	}
	if (f)
		(void)fclose(f);
}

/* Version of a library by its pkg-config file, which building needs as well: some
 * of ours cannot tell at run time. */
static void library_version(char *text, size_t room, const char *library)
{
	char command[128];
	FILE *p;

	(void)snprintf(text, room, "unknown");
	(void)snprintf(command, sizeof command, "pkg-config --modversion %s 2>/dev/null", library);
	p = popen(command, "re");
	if (!p)
		return;
	if (fgets(text, (int)room, p))
		text[strcspn(text, "\n")] = '\0';
	(void)pclose(p);
}

/* ---- mitigations ---- */

/* Calls @each with a vulnerability's name and what the kernel says of it, by name. */
static void each_vulnerability(void (*each)(void *arg, const char *name, const char *says),
			       void *arg)
{
	char path[sizeof VULNERABILITIES + 256 + 1], line[LINE_BYTES];
	struct dirent **found;
	int count = scandir(VULNERABILITIES, &found, NULL, alphasort);

	for (int i = 0; i < count; i++) {
		FILE *f;

		(void)snprintf(path, sizeof path, "%s/%s", VULNERABILITIES, found[i]->d_name);
		f = found[i]->d_name[0] == '.' ? NULL : fopen(path, "re");
		if (f && fgets(line, sizeof line, f)) {
			line[strcspn(line, "\n")] = '\0';
			each(arg, found[i]->d_name, line);
		}
		if (f)
			(void)fclose(f);
		free(found[i]);
	}
	if (count >= 0)
		free(found);
}

struct lists {
	char good[256];
	char bad[256];
};

static void list(void *arg, const char *name, const char *says)
{
	struct lists *l = arg;
	bool bad = strstr(says, "Vulnerable") || !strstr(says, "Mitigation");
	char *to = bad ? l->bad : l->good;
	size_t used = strlen(to);

	if (strncmp(says, "Not affected", 12) != 0)
		(void)snprintf(to + used, sizeof l->good - used, " %s", name);
}

static void mitigations(char *text, size_t room)
{
	struct lists l = { "", "" };

	each_vulnerability(list, &l);
	(void)snprintf(text, room, "mitigated:%s; not mitigated:%s", l.good[0] ? l.good : " none",
		       l.bad[0] ? l.bad : " none");
}

struct members {
	FILE *out;
	const char *between;
};

static void json_member(void *arg, const char *name, const char *says)
{
	struct members *m = arg;

	(void)fputs(m->between, m->out);
	sr_tune_json_string(m->out, name);
	(void)fputs(":", m->out);
	sr_tune_json_string(m->out, says);
	m->between = ",";
}

/* ---- the whole ---- */

void sr_machine_get(struct sr_machine *m)
{
	time_t now = time(NULL);
	struct utsname u;
	struct tm utc;

	cpu_model(m->cpu, sizeof m->cpu);
	(void)snprintf(m->kernel, sizeof m->kernel, "%s", uname(&u) == 0 ? u.release : "unknown");
	library_version(m->secp256k1, sizeof m->secp256k1, "libsecp256k1");
	library_version(m->liburing, sizeof m->liburing, "liburing");
	(void)gmtime_r(&now, &utc);
	(void)strftime(m->date, sizeof m->date, "%Y-%m-%d %H:%M UTC", &utc);
	(void)snprintf(m->commit, sizeof m->commit, "%s", SR_COMMIT);
	mitigations(m->mitigations, sizeof m->mitigations);
	if (getloadavg(&m->load, 1) != 1)
		m->load = 0;
}

void sr_machine_print(FILE *out, const struct sr_machine *m)
{
	(void)fprintf(out, "commit %s, %s; %s\n", m->commit, m->date, m->mitigations);
}

void sr_machine_json(FILE *out, const struct sr_machine *m)
{
	struct members members = { out, "" };

	(void)fputs("\"commit\":", out);
	sr_tune_json_string(out, m->commit);
	(void)fputs(",\"date\":", out);
	sr_tune_json_string(out, m->date);
	(void)fputs(",\"mitigations\":{", out);
	each_vulnerability(json_member, &members);
	(void)fputs("}", out);
}
