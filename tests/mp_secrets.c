/* SPDX-License-Identifier: MIT */
/*
 * Where secrets are: in no byte of the agent, under load and with sessions set up
 * through it; in the signer and the client in locked memory that no core dump holds; in
 * no log; and out of reach of other processes of the same user.
 */
#include <time.h>

#include "mp_memory.h"
#include "mp_traders.h"
#include "sr_pairfile.h"
#include "sr_secret.h"
#include "sr_setup.h"
#include "sr_trust.h"

#define NOBODY 65534

static struct mp_rig rig;

/* ---- a client under load ---- */

struct load {
	uint32_t stop;
	uint64_t orders;
	unsigned char canary[MP_NEEDLE_BYTES]; /* masked */
};

static struct load *load;

static void trade(void *arg)
{
	struct sr_client *client = mp_open(&rig, 1, 64);
	struct sr_session *session = mp_session(client, 0, 0);
	unsigned char body[MP_BODY_BYTES];
	struct sr_request rq = { .key = MP_KEY,
				 .type = SR_ECDSA_SHA256,
				 .body_bytes = sizeof body,
				 .body = body };
	struct sr_completion c;

	(void)arg;
	MP_EQ(getrandom(body, sizeof body, 0), sizeof body, "getrandom");
	mp_needle(load->canary, body + 64);
	for (uint64_t n = 0; !sr_load32_acquire(&load->stop); n++) {
		sr_put64(body, n);
		MP_EQ(sr_submit(session, &rq), 0, "sr_submit");
		mp_next(client, session, &c);
		MP_EQ(c.status, SR_OK, "status");
		sr_store_release(&load->orders, n + 1);
		mp_sleep_us(100);
	}
	sr_close(client);
}

static pid_t start_load(void)
{
	uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;
	pid_t pid;

	load = mp_shared(sizeof *load);
	pid = mp_fork(trade, NULL);
	while (sr_load_acquire(&load->orders) < 200) {
		MP_CHECK(sr_now_ns() < end_ns, "the client does not trade");
		if (!mp_alive(pid))
			mp_join(pid, "the client");
		mp_sleep_us(1000);
	}
	return pid;
}

/* ---- what is to be looked for ---- */

enum { SIGNING, OPERATOR, TRADER, EPHEMERAL, CHAINING, SEND, RECEIVE, UP, DOWN, RESUMPTION,
       SECRETS };

static const char *const names[SECRETS] = {
	"the signing key", "an operator's key", "a trader's key", "an ephemeral key",
	"a chaining key", "a key of Split()", "a key of Split()", "the key of submissions",
	"the key of completions", "a resumption secret",
};

/* Of this process, in protected memory. */
struct own {
	struct sr_noise_pair pair;
	struct sr_pairfile file;
	unsigned char ephemeral[32];
	unsigned char record[32];
	struct sr_setup setup;
	struct sr_noise_keys keys;
	struct sr_setup_result result;
};

static unsigned char needles[SECRETS][MP_NEEDLE_BYTES];

/* The digits behind `secret ` in a file, masked at once. */
static void needle_of_file(unsigned char *needle, const char *path)
{
	char *text = mp_read_file(path);
	const char *at = strstr(text, "secret ");

	MP_CHECK(at && strlen(at) >= 7 + 64, "no secret in %s", path);
	for (size_t i = 0; i < MP_NEEDLE_BYTES; i++) {
		unsigned int v = 0;

		(void)sscanf(at + 7 + 2 * i, "%2x", &v);
		needle[i] = (unsigned char)(v ^ MP_NEEDLE_MASK);
	}
	memset(text, 0, strlen(text));
	free(text);
}

static uint64_t unix_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000u + (uint64_t)ts.tv_nsec / 1000000u;
}

/* A conversation of our own through the agent: the session's keys are then known. */
static void converse(struct own *own, const struct sr_setup_config *config)
{
	unsigned char out[SR_SETUP_BYTES_MAX];
	unsigned char in[SR_CONTROL_BYTES_MAX];
	union sr_attach_message m;
	struct pollfd p = { .events = POLLIN };
	size_t bytes;

	memset(&m, 0, sizeof m);
	p.fd = sr_attach_connect(rig.socket);
	MP_CHECK(p.fd >= 0, "connect");
	MP_EQ(sr_attach_send(p.fd, &m, SR_ATTACH_CONTROL, NULL, 0), 0, "CONTROL");
	MP_EQ(sr_setup_start(&own->setup, out, &bytes, config, unix_ms()), SR_SETUP_OK, "start");
	while (!sr_setup_done(&own->setup)) {
		ssize_t n;

		MP_EQ(send(p.fd, out, bytes, MSG_NOSIGNAL), bytes, "send");
		MP_CHECK(poll(&p, 1, 30000) > 0, "no answer of the signer");
		n = recv(p.fd, in, sizeof in, 0);
		MP_CHECK(n > 0, "the agent hung up");
		MP_CHECK(sr_setup_take(&own->setup, out, &bytes, in, (size_t)n, unix_ms()) ==
				 SR_SETUP_OK,
			 "%s", sr_setup_text(&own->setup));
	}
	MP_EQ(sr_setup_finish(&own->setup, &own->keys, &own->result), 0, "finish");
	(void)close(p.fd);
}

static void record_key(struct own *own, unsigned char direction, uint64_t first, int which)
{
	unsigned char context[9] = { direction };

	sr_put64(context + 1, first);
	MP_EQ(sr_noise_export(&own->keys, own->record, "sigring record", context, sizeof context),
	      0, "export");
	mp_needle(needles[which], own->record);
}

static void set_up(void)
{
	static struct sr_trust trust;
	struct sr_setup_expect expect;
	struct sr_setup_config config = {
		.expect = &expect,
		.request = { .first = 77, .depth = 64, .slot_bytes = SR_SUB_BYTES_DEFAULT },
	};
	struct sr_reason why = { 0, "" };
	struct own *own;
	void *mem;

	MP_EQ(sr_secret_alloc(&mem, sizeof *own), 0, "protected memory");
	own = mem;
	MP_EQ(sr_trust_load(&trust, rig.trust, &why), 0, why.text);
	sr_trust_expect(&expect, &trust);
	MP_EQ(sr_pairfile_load(&own->file, &sr_pairfile_identity, rig.identities[1], &why), 0,
	      why.text);
	memcpy(own->pair.secret, own->file.secret, 32);
	memcpy(own->pair.pub, own->file.pub, 32);
	MP_EQ(getrandom(own->ephemeral, 32, 0), 32, "getrandom");
	MP_EQ(getrandom(config.nonce, sizeof config.nonce, 0), sizeof config.nonce, "getrandom");
	MP_EQ(getrandom(config.token, sizeof config.token, 0), sizeof config.token, "getrandom");
	config.s = &own->pair;
	config.ephemeral = own->ephemeral;
	converse(own, &config);
	mp_needle(needles[EPHEMERAL], own->ephemeral);
	mp_needle(needles[CHAINING], own->keys.ck);
	mp_needle(needles[SEND], own->keys.send);
	mp_needle(needles[RECEIVE], own->keys.receive);
	mp_needle(needles[RESUMPTION], own->result.next.secret);
	record_key(own, 1, 77, UP);
	record_key(own, 2, 77, DOWN);
	MP_CHECK(mp_memory_scan(getpid(), needles[CHAINING]).all > 0, "nothing is ever found");
	sr_secret_free(mem, sizeof *own);
}

static void know_secrets(void)
{
	char path[400];

	(void)snprintf(path, sizeof path, "%s/seven.key", rig.keys);
	needle_of_file(needles[SIGNING], path);
	(void)snprintf(path, sizeof path, "%s/operator.pair", rig.dir);
	needle_of_file(needles[OPERATOR], path);
	needle_of_file(needles[TRADER], rig.identities[0]);
	set_up();
}

/* ---- the tests ---- */

static void has_no_secret(pid_t pid, const char *who)
{
	for (size_t i = 0; i < SECRETS; i++)
		MP_CHECK(mp_memory_scan(pid, needles[i]).all == 0, "%s has %s", who, names[i]);
	MP_CHECK(mp_memory_scan(pid, load->canary).all == 0, "%s has the text of an order", who);
}

/* As bytes, and as the digits that somebody may have printed. */
static void log_has_no_secret(const char *path)
{
	char *text = mp_read_file(path);
	size_t bytes = strlen(text);

	MP_CHECK(bytes > 20, "%s is empty", path);
	for (size_t i = 0; i < SECRETS; i++) {
		char digits[2 * MP_NEEDLE_BYTES + 1];

		for (size_t k = 0; k < MP_NEEDLE_BYTES; k++)
			(void)snprintf(digits + 2 * k, 3, "%02x", needles[i][k] ^ MP_NEEDLE_MASK);
		MP_CHECK(!strstr(text, digits), "%s has %s", path, names[i]);
		MP_EQ(mp_memory_count((const unsigned char *)text, bytes, needles[i]), 0, path);
	}
	free(text);
}

static void agent_has_no_secret(void)
{
	pid_t client;

	mp_rig_new_sealed(&rig, true);
	mp_rig_start(&rig);
	client = start_load();
	know_secrets();
	has_no_secret(rig.agent, "the agent");
	MP_CHECK(mp_memory_scan(client, load->canary).all > 0, "nothing is ever found");
	MP_CHECK(mp_memory_scan(client, needles[TRADER]).all > 0, "the trader has no key");
	MP_CHECK(mp_memory_scan(rig.signer, needles[SIGNING]).all > 0, "the signer has no key");
	sr_store32_release(&load->stop, 1);
	mp_join(client, "the client");
	has_no_secret(rig.agent, "the agent, later,");
	mp_rig_stop(&rig);
	log_has_no_secret(rig.agent_log);
	log_has_no_secret(rig.signer_log);
}

static void is_nowhere_else(pid_t pid, int which)
{
	struct mp_found found = mp_memory_scan(pid, needles[which]);

	MP_CHECK(found.all > 0, "%s is not found at all", names[which]);
	MP_CHECK(found.bare == 0, "%s lies %zu times in memory that is not protected",
		 names[which], found.bare);
}

/* Freed memory too: all that is mapped is looked through. */
static void secrets_lie_in_protected_memory_alone(void)
{
	for (unsigned int split = 0; split < 2; split++) {
		pid_t client;
		pid_t signer;

		mp_rig_new_sealed(&rig, split);
		mp_rig_start(&rig);
		client = start_load();
		know_secrets();
		signer = split ? rig.signer : rig.agent;
		is_nowhere_else(signer, SIGNING);
		is_nowhere_else(client, TRADER);
		for (int i = EPHEMERAL; i < SECRETS; i++) /* the signer has had them all */
			MP_CHECK(mp_memory_scan(signer, needles[i]).bare == 0,
				 "the signer has %s in memory that is not protected", names[i]);
		sr_store32_release(&load->stop, 1);
		mp_join(client, "the client");
		mp_rig_stop(&rig);
	}
}

static void be_nobody(void)
{
	if (geteuid() == 0)
		MP_CHECK(setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
				 setresuid(NOBODY, NOBODY, NOBODY) == 0,
			 "setresuid: %s", strerror(errno));
}

struct spy {
	pid_t pid;
	bool may;
};

static void spy_on(void *arg)
{
	const struct spy *spy = arg;
	char path[64];
	int fd;

	be_nobody();
	(void)snprintf(path, sizeof path, "/proc/%d/mem", (int)spy->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (spy->may)
		MP_CHECK(fd >= 0, "%s: %s, where it may be read", path, strerror(errno));
	else
		MP_CHECK(fd < 0 && (errno == EACCES || errno == EPERM),
			 "another process of the user can read the memory of %d", (int)spy->pid);
}

static void sleep_dumpable(void *arg)
{
	(void)arg;
	be_nobody();
	(void)prctl(PR_SET_DUMPABLE, 1);
	for (;;)
		(void)pause();
}

static void spy(pid_t pid, bool may)
{
	struct spy s = { pid, may };

	mp_join(mp_fork(spy_on, &s), "a spy");
}

static bool tracing_restricted(void)
{
	char *scope = mp_read_file("/proc/sys/kernel/yama/ptrace_scope");
	bool restricted = *scope && *scope != '0';

	free(scope);
	return restricted;
}

static void give_away(const char *path)
{
	if (geteuid() == 0)
		MP_CHECK(chown(path, NOBODY, NOBODY) == 0, "chown: %s", strerror(errno));
}

static void add_args(const char **args, const char *const *more)
{
	while (*args)
		args++;
	while (*more)
		*args++ = *more++;
}

/* What gcore does is refused, and nothing dies into a file. */
static void memory_is_out_of_reach_of_the_same_user(void)
{
	char path[400];
	pid_t other;

	mp_rig_new_sealed(&rig, true);
	(void)snprintf(path, sizeof path, "%s/seven.key", rig.keys);
	give_away(mp_dir);
	give_away(rig.dir);
	give_away(rig.keys);
	give_away(path);
	add_args(rig.signer_args, (const char *const[]){ "--signer-sessions-max", "8", NULL });
	mp_before_exec = be_nobody;
	mp_rig_start(&rig);
	mp_before_exec = NULL;
	spy(rig.agent, false);
	spy(rig.signer, false);
	(void)snprintf(path, sizeof path, "/proc/%d/limits", (int)rig.signer);
	MP_CHECK(mp_proc_kib(path, "Max core file size") == 0, "the signer may dump its core");
	other = mp_fork(sleep_dumpable, NULL);
	mp_sleep_us(50000);
	if (!tracing_restricted())
		spy(other, true); /* so it is not for another reason */
	mp_signal(&other, SIGKILL);
	mp_rig_stop(&rig);
}

static const struct mp_test tests[] = {
	{ "secrets/agent_has_none", agent_has_no_secret, 0 },
	{ "secrets/lie_in_protected_memory_alone", secrets_lie_in_protected_memory_alone, 0 },
	{ "secrets/memory_is_out_of_reach_of_the_same_user",
	  memory_is_out_of_reach_of_the_same_user, 0 },
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
