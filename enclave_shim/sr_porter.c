/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sr_boot.h"
#include "sr_clock.h"
#include "sr_porter_state.h"
#include "sr_secret.h"
#include "sr_textfile.h"

#define STACK_BYTES (384u * 1024u)
#define TALK_NS (10 * SR_NS_PER_S)
#define OPERATOR_NS (300 * SR_NS_PER_S) /* to have the next command signed */
#define OPERATORS_AT_ONCE 4u
#define WAITING_NS (5 * SR_NS_PER_S)
#define FAILURE_NS (10 * SR_NS_PER_MS)
#define FAILURES_MIN 2048u /* several users' bursts at an agent (setup-failures-max) */
#define IDENTITY_FAILURE_NS SR_NS_PER_S
#define IDENTITY_FAILURES 16u
#define IDENTITY_WAITING (SR_PORTER_WAITING_MAX / 2)

SR_STATIC_ASSERT(SR_POST_TASKS > SR_PORTER_WAITING_MAX, "a task for each session that may wait");
SR_STATIC_ASSERT(SR_EVIDENCE_DOC_BYTES_MAX <= SR_DOCUMENT_DATA_BYTES_MAX, "a document fits");
SR_STATIC_ASSERT(SR_BOOT_HASH_BYTES == SR_CONTROL_HASH_BYTES, "what sr_boot_hash() makes");
SR_STATIC_ASSERT(SR_EVIDENCE_BOOT_PCR == SR_ATTEST_BOOT_PCR,
		 "the register that a signer locks is the one that its clients look at");

void sr_porter_note(const struct sr_porter *p, const char *format, ...)
{
	char text[512];
	va_list args;

	if (!p->config.log)
		return;
	va_start(args, format);
	(void)vsnprintf(text, sizeof text, format, args);
	va_end(args);
	p->config.log(p->config.log_arg, text);
}

/* ---- what the gate asks ---- */

static int attest(void *arg, unsigned char *document, size_t *document_bytes,
		  const struct sr_gate_question *question)
{
	const struct sr_porter *p = arg;
	const struct sr_evidence_request request = {
		.nonce = question->nonce,
		.nonce_bytes = SR_CONTROL_NONCE_BYTES,
		.user_data = question->user_data,
		.user_data_bytes = SR_CONTROL_HASH_BYTES,
		.public_key = question->public_key,
		.public_key_bytes = SR_NOISE_KEY_BYTES,
	};

	return p->config.evidence.attest(p->config.evidence.arg, document, document_bytes,
					 &request);
}

static int identity(void *arg, const unsigned char pub[SR_NOISE_KEY_BYTES])
{
	const struct sr_porter *p = arg;

	return sr_manifest_identity_find(&p->manifest, pub);
}

/* ---- files ---- */

static int read_operators(struct sr_porter *p, struct sr_reason *why)
{
	const char *path = p->config.operators;
	struct sr_reason what = { 0 };
	size_t bytes;
	char *text;
	int ret = sr_textfile_read(&text, &bytes, SR_OPERATORS_BYTES_MAX, path, false, why);

	if (ret)
		return ret;
	ret = sr_operators_parse(&p->operators, p->config.operators_needed, text, bytes, &what);
	free(text);
	return ret ? sr_reason_set(why, ret, "%s: %s", path, what.text) : 0;
}

int sr_porter_manifest_read(struct sr_porter *p, struct sr_task **task, struct sr_reason *why)
{
	const char *path = p->config.manifest;
	struct sr_reason what = { 0 };
	size_t bytes;
	char *text;
	int ret = sr_textfile_read(&text, &bytes, SR_ENVELOPE_BYTES_MAX, path, true, why);

	if (ret)
		return ret;
	ret = sr_vault_manifest(p->vault, task, text, bytes, &what);
	free(text);
	return ret ? sr_reason_set(why, ret, "%s: %s", path, what.text) : 0;
}

int sr_porter_tell(struct sr_porter *p, struct sr_reason *why)
{
	const struct sr_porter_config *c = &p->config;
	uint64_t version = p->manifest.version;
	int ret = 0;

	if (p->told_version == p->manifest.version)
		return 0;
	/* Operators come before there is a manifest; clients are to wait for the first. */
	if (version == 0)
		version = 1;
	if (c->trust_out && c->ground->tell)
		ret = c->ground->tell(c->module, &c->evidence, c->trust_out, version, why);
	if (!ret)
		p->told_version = p->manifest.version;
	return ret;
}

/* ---- the start ---- */

static struct sr_gate_limits limits_of(const struct sr_porter_config *c)
{
	uint32_t sessions = c->sessions_max;

	return (struct sr_gate_limits){
		.talk_ns = TALK_NS,
		.ticket_ns = c->ticket_life_s * SR_NS_PER_S,
		.quota = {
			.failure_ns = FAILURE_NS,
			.identity_failure_ns = IDENTITY_FAILURE_NS,
			.waiting_ns = WAITING_NS,
			.failures_max = 4 * sessions > FAILURES_MIN ? 4 * sessions : FAILURES_MIN,
			.identity_failures_max = IDENTITY_FAILURES,
			.waiting_max = SR_PORTER_WAITING_MAX,
			.identity_waiting_max = IDENTITY_WAITING,
		},
		.depth_max = c->depth_max,
		.slot_bytes_max = c->slot_bytes_max,
		.sessions_max = sessions,
		.operators_max = OPERATORS_AT_ONCE,
		.operator_ns = OPERATOR_NS,
	};
}

static int make_gate(struct sr_porter *p, struct sr_reason *why)
{
	struct sr_gate_config gate = {
		.limits = limits_of(&p->config),
		.arg = p,
		.attest = attest,
		.identity = identity,
	};
	const struct sr_evidence *e = &p->config.evidence;
	int ret = e->pcr(e->arg, gate.pcr0, 0);

	if (ret)
		return sr_reason_set(why, ret, "the security module tells no PCR0: %s",
				     strerror(-ret));
	p->entropy = (struct sr_entropy){ .get = e->random, .arg = e->arg };
	ret = sr_drbg_new(&p->drbg, &p->entropy);
	if (ret)
		return sr_reason_set(why, ret,
				     "the security module's random bytes fail their first test");
	gate.drbg = p->drbg;
	memcpy(gate.terms.boot_id, p->config.boot_id, sizeof gate.terms.boot_id);
	ret = sr_gate_new(&p->gate, &gate);
	return ret ? sr_reason_set(why, ret,
				   "cannot make the keys of this boot: %s; raise LimitMEMLOCK= or "
				   "`ulimit -l`",
				   strerror(-ret)) :
		     0;
}

/* What a support case will ask for. */
static int describe_module(struct sr_porter *p, struct sr_evidence_module *module,
			   struct sr_reason *why)
{
	const struct sr_evidence *e = &p->config.evidence;
	int ret = e->describe(e->arg, module);

	if (ret)
		return sr_reason_set(why, ret, "the security module does not describe itself: %s",
				     strerror(-ret));
	sr_porter_note(p,
		       "security module %s, version %u.%u.%u, of %u registers are locked %08x (bit "
		       "N: PCR N)",
		       module->id, module->version_major, module->version_minor,
		       module->version_patch, module->pcrs_max, module->locked_mask);
	return 0;
}

/* Before the first session. */
static int lock_boot(struct sr_porter *p, struct sr_reason *why)
{
	const struct sr_evidence *e = &p->config.evidence;
	struct sr_reason what = { 0, "" };
	struct sr_evidence_module module;
	unsigned char hash[SR_BOOT_HASH_BYTES];
	int ret = describe_module(p, &module, why);

	if (ret || p->config.trial)
		return ret;
	if (sr_boot_hash(hash, p->config.boot_id, sr_gate_public_key(p->gate)))
		return sr_reason_set(why, -EIO, "SHA-256 failed");
	ret = sr_boot_lock(e, &module, hash, &what);
	if (ret != -EOPNOTSUPP)
		return ret ? sr_reason_set(why, ret, "%s", what.text) : 0;
	sr_porter_note(p, "WARNING: %s", what.text);
	return 0;
}

static int make_vault(struct sr_porter *p, struct sr_reason *why)
{
	const struct sr_vault_config vault = {
		.gate = p->gate,
		.drbg = p->drbg,
		.operators = &p->operators,
		.manifest = &p->manifest,
		.version_min = p->config.manifest_min,
		.pool = p->config.pool,
		.counter = p->config.counter,
		.describe = sr_porter_describe,
		.describe_arg = p,
	};
	int ret = sr_vault_new(&p->vault, &vault);

	if (!ret)
		ret = sr_post_new(&p->post);
	if (ret)
		return sr_reason_set(why, ret,
				     "no protected memory for the control thread: %s; raise "
				     "LimitMEMLOCK= or `ulimit -l`",
				     strerror(-ret));
	p->next = sr_post_task(p->post);
	return 0;
}

/* Until there is a manifest nobody may use any key, whatever its file says. */
static void give_no_rights(struct sr_porter *p, struct sr_core *core)
{
	struct sr_task *task = sr_post_task(p->post);

	task->kind = SR_TASK_RIGHTS;
	sr_rights_make(&task->rights, &p->manifest, &p->manifest);
	sr_core_task(core, task);
	sr_post_release(p->post, task);
}

static int give_rights(struct sr_porter *p, struct sr_core *core, struct sr_reason *why)
{
	struct sr_vault_answer answer;
	struct sr_task *task;
	int ret;

	give_no_rights(p, core);
	if (!p->config.manifest)
		return sr_porter_tell(p, why);
	ret = sr_porter_manifest_read(p, &task, why);
	if (ret)
		return ret;
	sr_core_task(core, task);
	sr_vault_continue(p->vault, &answer);
	return sr_porter_tell(p, why);
}

static int open_doors(struct sr_porter *p, struct sr_reason *why)
{
	if (pipe2(p->knock_fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return sr_reason_set(why, -errno, "cannot make a pipe: %s", strerror(errno));
	if (!p->config.control.bytes)
		return 0;
	p->listen_fd = sr_address_listen(&p->config.control, SOCK_STREAM, p->config.control_mode,
					 why);
	return p->listen_fd < 0 ? p->listen_fd : 0;
}

int sr_porter_new(struct sr_porter **porter, const struct sr_porter_config *config,
		  struct sr_core *core, struct sr_reason *why)
{
	struct sr_porter *p = calloc(1, sizeof *p);
	int ret;

	if (!p)
		return sr_reason_set(why, -ENOMEM, "out of memory");
	p->config = *config;
	p->told_version = UINT64_MAX; /* even of none */
	p->listen_fd = p->knock_fds[0] = p->knock_fds[1] = -1;
	for (uint32_t i = 0; i < SR_PORTER_TALKS; i++)
		p->talks[i].fd = -1;
	ret = read_operators(p, why);
	if (!ret)
		ret = make_gate(p, why);
	if (!ret)
		ret = lock_boot(p, why);
	if (!ret)
		ret = make_vault(p, why);
	if (!ret)
		ret = give_rights(p, core, why);
	if (!ret)
		ret = open_doors(p, why);
	if (ret) {
		sr_porter_delete(p);
		return ret;
	}
	*porter = p;
	return 0;
}

int sr_porter_start(struct sr_porter *p)
{
	const struct sr_thread_place place = { .not_on_cpu = p->config.not_on_cpu };

	return sr_thread_start(&p->thread, STACK_BYTES, &place, sr_porter_run, p);
}

/* A pipe takes 8 bytes as a whole or not at all. */
static int knock(const struct sr_porter *p, uint32_t kind, int fd)
{
	struct sr_knock k = { .kind = kind, .fd = fd };

	return write(p->knock_fds[1], &k, sizeof k) < 0 ? -errno : 0;
}

/* When the pipe is full the thread is about to read it. */
static void knock_surely(const struct sr_porter *p, uint32_t kind)
{
	const struct timespec rest = { 0, (long)SR_NS_PER_MS };

	while (knock(p, kind, -1) == -EAGAIN)
		(void)nanosleep(&rest, NULL);
}

static void stop_thread(struct sr_porter *p)
{
	if (!p->thread.stack)
		return;
	knock_surely(p, SR_KNOCK_STOP);
	sr_thread_join(&p->thread);
}

void sr_porter_open(struct sr_porter *p)
{
	knock_surely(p, SR_KNOCK_OPEN);
}

/* Who has come too late holds the other end, and waits. */
static void close_pipe(struct sr_porter *p)
{
	struct sr_knock k;

	while (p->knock_fds[0] >= 0 && read(p->knock_fds[0], &k, sizeof k) == (ssize_t)sizeof k)
		if (k.kind == SR_KNOCK_TALK)
			(void)close(k.fd);
	for (uint32_t i = 0; i < 2; i++)
		if (p->knock_fds[i] >= 0)
			(void)close(p->knock_fds[i]);
}

void sr_porter_delete(struct sr_porter *p)
{
	if (!p)
		return;

	stop_thread(p);
	for (uint32_t i = 0; i < SR_PORTER_TALKS; i++)
		if (p->talks[i].fd >= 0)
			(void)close(p->talks[i].fd);
	if (p->listen_fd >= 0)
		(void)close(p->listen_fd);
	close_pipe(p);
	sr_vault_delete(p->vault);
	sr_post_delete(p->post);
	sr_gate_delete(p->gate);
	sr_drbg_delete(p->drbg);
	free(p);
}

struct sr_post *sr_porter_post(const struct sr_porter *p)
{
	return p->post;
}

const struct sr_operators *sr_porter_operators(const struct sr_porter *p)
{
	return &p->operators;
}

const struct sr_manifest *sr_porter_manifest(const struct sr_porter *p)
{
	return &p->manifest;
}

int sr_porter_connect(struct sr_porter *p)
{
	int ends[2];
	int ret;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
		return -errno;
	ret = knock(p, SR_KNOCK_TALK, ends[1]);
	if (ret) {
		(void)close(ends[0]);
		(void)close(ends[1]);
		return ret;
	}
	return ends[0];
}

void sr_porter_reload(struct sr_porter *p)
{
	int interrupted = errno;

	(void)knock(p, SR_KNOCK_RELOAD, -1);
	errno = interrupted;
}

uint64_t sr_porter_locked_bytes(void)
{
	/* And gate, vault and generator, in pages of their own. */
	return sr_post_locked_bytes() + STACK_BYTES + (256u << 10);
}
