/* SPDX-License-Identifier: MIT */
/*
 * sr_local_rig.h - a sigring-local of a benchmark's own, provisioned as an operator
 * would: keys, an operator, a trader, and a manifest that lets this user have the same
 * keys sealed and in clear. All of it lies in a private directory and goes with it. A
 * benchmark includes it once.
 */
#ifndef SR_LOCAL_RIG_H
#define SR_LOCAL_RIG_H

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "sigring.h"
#include "sr_bench.h"

#define RIG_KEYS 2u /* ids 1 and 2 */
#define RIG_POOL_BATCH 16u
#define RIG_POOL_LOW 1u /* percent of the pool, below which it is filled again, in idle turns */

/* What the manifest lets keys sign; a benchmark may say something else before it includes this. */
#ifndef RIG_PERMIT
#define RIG_PERMIT "\"permit\": [ \"ecdsa-sha256\" ]"
#endif

/* The same of the second key, and where its nonces come from. */
#ifndef RIG_PERMIT_2
#define RIG_PERMIT_2 RIG_PERMIT
#define RIG_NONCE_2 "hedged"
#endif

static struct {
	char dir[64];
	char keys[80];
	char key_files[RIG_KEYS][96];
	char socket[80];
	char log[80];
	char operator[80];
	char operators[80];
	char identity[80];
	char manifest[80];
	char trust[80];
	char bin[3800];
	unsigned char pubkeys[RIG_KEYS][33];
} rig;

/* $SIGRING_BIN, else the folder above this program's. */
static inline int rig_find_programs(struct sr_reason *why)
{
	const char *given = getenv("SIGRING_BIN");
	char path[sizeof rig.bin + sizeof "/sigring-local"];
	ssize_t n;

	if (given) {
		(void)snprintf(rig.bin, sizeof rig.bin, "%s", given);
	} else {
		n = readlink("/proc/self/exe", rig.bin, sizeof rig.bin - 1);
		rig.bin[n > 0 ? n : 0] = '\0';
		for (int up = 0; up < 2 && strrchr(rig.bin, '/'); up++)
			*strrchr(rig.bin, '/') = '\0';
	}
	(void)snprintf(path, sizeof path, "%s/sigring-local", rig.bin);
	if (access(path, X_OK) < 0)
		return sr_reason_set(why, -ENOENT, "no sigring-local in %.100s: build it, or name "
				     "its folder in SIGRING_BIN", rig.bin);
	return 0;
}

/* Starts a program of ours. With @to_text its output comes back there. */
static inline pid_t start(const char *name, char *const argv[], char *to_text, size_t room)
{
	char path[sizeof rig.bin + 64];
	int fds[2] = { -1, -1 };
	size_t bytes = 0;
	ssize_t n;
	pid_t pid;

	(void)snprintf(path, sizeof path, "%s/%s", rig.bin, name);
	if (to_text && pipe2(fds, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		int log = open(rig.log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

		sr_bench_child();
		if (log < 0 || dup2(log, STDERR_FILENO) < 0 ||
		    dup2(to_text ? fds[1] : log, STDOUT_FILENO) < 0)
			_exit(127);
		(void)execv(path, argv);
		_exit(127);
	}
	if (to_text) {
		(void)close(fds[1]);
		while (bytes < room - 1 && (n = read(fds[0], to_text + bytes, room - 1 - bytes)) > 0)
			bytes += (size_t)n;
		to_text[bytes] = '\0';
		(void)close(fds[0]);
	}
	return pid;
}

static inline int finish(pid_t pid)
{
	int status;

	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 0 ? 0 : -ECHILD;
}

static inline int nibble(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A line `ID HEX`. */
static inline int parse_public(unsigned char pubkey[33], const char *line)
{
	const char *hex = strchr(line, ' ');

	if (!hex || strlen(hex + 1) < 2 * 33)
		return -EPROTO;
	for (size_t i = 0; i < 33; i++) {
		int high = nibble(hex[1 + 2 * i]), low = nibble(hex[2 + 2 * i]);

		if (high < 0 || low < 0)
			return -EPROTO;
		pubkey[i] = (unsigned char)(high << 4 | low);
	}
	return 0;
}

static inline int make_key(uint32_t at, const char *mode)
{
	char *file = rig.key_files[at];
	char id[8], nonce[16], text[256] = "";
	char *const generate[] = { "sigringctl", "key", "new", "--id", id, "--permit",
				   "ecdsa-sha256", "--nonce", nonce, "--out", file, NULL };
	char *const show[] = { "sigringctl", "key", "public", file, NULL };

	(void)snprintf(id, sizeof id, "%u", at + 1);
	(void)snprintf(nonce, sizeof nonce, "%s", mode);
	(void)snprintf(file, sizeof rig.key_files[at], "%s/%s.key", rig.keys, id);
	if (finish(start("sigringctl", generate, NULL, 0)) < 0 ||
	    finish(start("sigringctl", show, text, sizeof text)) < 0)
		return -EIO;
	return parse_public(rig.pubkeys[at], text);
}

static inline int write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");
	int ret = f && fputs(text, f) >= 0 ? 0 : -EIO;

	return f && fclose(f) == 0 ? ret : -EIO;
}

static inline int make_manifest(const char *trader)
{
	char text[4096];
	char *const sign[] = { "sigringctl", "manifest", "sign", "--operator", rig.operator,
			       rig.manifest, NULL };
	int n = snprintf(text, sizeof text,
			 "{ \"sigring_manifest\": 1, \"version\": 1,\n"
			 "  \"identities\": [ { \"name\": \"bench\", \"public_key\": \"%.64s\" } ],\n"
			 "  \"keys\": [\n", trader);

	for (uint32_t at = 0; at < RIG_KEYS; at++)
		n += snprintf(text + n, sizeof text - (size_t)n,
			      "    { \"id\": %u, \"nonce\": \"%s\", %s,\n"
			      "      \"identities\": [ \"bench\" ], \"unsealed_uids\": [ %u ] }%s\n",
			      at + 1, at ? RIG_NONCE_2 : "presign", at ? RIG_PERMIT_2 : RIG_PERMIT,
			      (unsigned int)geteuid(),
			      at + 1 < RIG_KEYS ? "," : " ] }");
	return write_file(rig.manifest, text) ? -EIO : finish(start("sigringctl", sign, NULL, 0));
}

static inline int make_people(void)
{
	char *const operator_new[] = { "sigringctl", "operator", "new", "--out", rig.operator, NULL };
	char *const identity_new[] = { "sigringctl", "identity", "new", "--out", rig.identity, NULL };
	char text[256] = "";

	if (finish(start("sigringctl", operator_new, text, sizeof text)) < 0 ||
	    write_file(rig.operators, text) ||
	    finish(start("sigringctl", identity_new, text, sizeof text)) < 0)
		return -EIO;
	return make_manifest(text);
}

static inline int rig_provision(struct sr_reason *why)
{
	int ret = sr_bench_folder(rig.dir, sizeof rig.dir, why);

	if (ret < 0)
		return ret;
	(void)snprintf(rig.keys, sizeof rig.keys, "%s/keys", rig.dir);
	(void)snprintf(rig.socket, sizeof rig.socket, "%s/agent.sock", rig.dir);
	(void)snprintf(rig.log, sizeof rig.log, "%s/log", rig.dir);
	(void)snprintf(rig.operator, sizeof rig.operator, "%s/operator", rig.dir);
	(void)snprintf(rig.operators, sizeof rig.operators, "%s/operators", rig.dir);
	(void)snprintf(rig.identity, sizeof rig.identity, "%s/identity", rig.dir);
	(void)snprintf(rig.manifest, sizeof rig.manifest, "%s/manifest", rig.dir);
	(void)snprintf(rig.trust, sizeof rig.trust, "%s/trust", rig.dir);
	if (mkdir(rig.keys, 0700) < 0 || make_key(0, "presign") < 0 || make_key(1, "hedged") < 0 ||
	    make_people() < 0)
		return sr_reason_set(why, -EIO, "sigringctl could not make keys or a manifest");
	return 0;
}

/* The trust file is there when it is ready. */
static inline int rig_await_trust(uint64_t timeout_ns, struct sr_reason *why)
{
	uint64_t end_ns = sr_now_ns() + timeout_ns;

	while (access(rig.trust, R_OK) < 0) {
		if (sr_now_ns() > end_ns)
			return sr_reason_set(why, -ETIMEDOUT, "sigring-local does not get ready");
		(void)usleep(1000);
	}
	return 0;
}

/* Starts sigring-local on the second CPU, with its pool filled before it is ready. */
static inline int rig_start(struct sr_bench *b, uint32_t pool_slots, uint64_t timeout_ns,
			    struct sr_reason *why)
{
	char cpu[16], slots[16], batch[16], low[16];
	char *const argv[] = { "sigring-local", "--socket", rig.socket, "--keys", rig.keys, "--cpu",
			       cpu, "--wait", "spin", "--allow-snapshot", "--pool-slots", slots,
			       "--pool-batch", batch, "--pool-low", low, "--refill", "idle",
			       "--operators", rig.operators, "--operators-needed", "1",
			       "--manifest", rig.manifest, "--trust-out", rig.trust, NULL };

	(void)snprintf(cpu, sizeof cpu, "%d", b->cpus[1]);
	(void)snprintf(slots, sizeof slots, "%u", pool_slots);
	(void)snprintf(batch, sizeof batch, "%u", RIG_POOL_BATCH);
	(void)snprintf(low, sizeof low, "%u", RIG_POOL_LOW);
	/* Its other threads need not share our CPU. */
	(void)sched_setaffinity(0, sizeof b->allowed, &b->allowed);
	b->peer = start("sigring-local", argv, NULL, 0);
	(void)sr_bench_pin(b->cpus[0]);
	if (b->peer < 0)
		return sr_reason_set(why, -errno, "cannot start sigring-local");
	return rig_await_trust(timeout_ns, why);
}

/* What agent and signer say of themselves, asked as an operator would. */
static inline bool rig_status(const char *socket, char *text, size_t room)
{
	char *const ask[] = { "sigringctl", "status", "--json", "--socket",
			      (char *)(uintptr_t)socket, NULL };

	return finish(start("sigringctl", ask, text, room)) == 0;
}

/* A counter of such an answer, of agent, stream or signer; 0 when it is not there. */
static inline uint64_t rig_number(const char *text, const char *group, const char *name)
{
	char key[48];
	const char *at;

	(void)snprintf(key, sizeof key, "\"%s\":{", group);
	at = strstr(text, key);
	(void)snprintf(key, sizeof key, "\"%s\":", name);
	at = at ? strstr(at, key) : NULL;
	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/*
 * rig_await_pool - the pool has given @taken presignatures and is full again.
 *
 * The signer tells its counters twice a second, and these are not older than the last
 * order: the answer counts it. 0; -ETIMEDOUT with a reason.
 */
static inline int rig_await_pool(uint64_t taken, uint64_t timeout_ns, struct sr_reason *why)
{
	uint64_t end_ns = sr_now_ns() + timeout_ns;
	static char text[1 << 16];

	while (sr_now_ns() < end_ns) {
		if (rig_status(rig.socket, text, sizeof text) &&
		    rig_number(text, "signer", "pool_taken") == taken &&
		    rig_number(text, "signer", "pool_depth") + RIG_POOL_BATCH >
			    rig_number(text, "signer", "pool_slots"))
			return 0;
		(void)usleep(100000);
	}
	return sr_reason_set(why, -ETIMEDOUT, "the pool of presignatures does not get full again");
}

/* Was the pool dry at any time? */
static inline int rig_check_pool(struct sr_reason *why)
{
	static char text[1 << 16];

	(void)usleep(1100000); /* what it tells then is of after the run */
	if (rig_status(rig.socket, text, sizeof text) && strstr(text, "\"pool_dry\":0,") &&
	    strstr(text, "\"fallbacks\":0,"))
		return 0;
	return sr_reason_set(why, -EBADMSG, "the pool of presignatures was dry, or cannot be asked: no "
			     "result");
}

static inline void rig_show_log(void)
{
	char line[512];
	FILE *f = fopen(rig.log, "re");

	while (f && fgets(line, sizeof line, f))
		(void)fprintf(stderr, "  %s", line);
	if (f)
		(void)fclose(f);
}

static inline void rig_remove(void)
{
	const char *const files[] = { rig.key_files[0], rig.key_files[1], rig.socket, rig.log,
				      rig.operator, rig.operators, rig.identity, rig.manifest,
				      rig.trust };

	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
		if (files[i][0])
			(void)unlink(files[i]);
	if (rig.dir[0]) {
		(void)rmdir(rig.keys);
		(void)rmdir(rig.dir);
	}
}

#endif /* SR_LOCAL_RIG_H */
