/* SPDX-License-Identifier: MIT */
/*
 * A signer whose module fails at the register of the boot (sr_boot.h) does not start, and
 * one whose module has none says so. The module is a mock that fails where it is told to.
 */
#include "mp_sealed.h"
#include "sr_ground.h"
#include "sr_signer.h"

/* In the signer's process. */
static int describe_error, lock_error;
static uint16_t pcrs_max;
static struct sr_evidence mock;
static struct mp_sealed s;

static int describe(void *arg, struct sr_evidence_module *module)
{
	int ret = mock.describe(arg, module);

	if (pcrs_max)
		module->pcrs_max = pcrs_max;
	return ret ? ret : describe_error;
}

static int lock(void *arg, uint32_t index)
{
	return lock_error ? lock_error : mock.lock(arg, index);
}

static int open_module(void **module, struct sr_evidence *evidence, struct sr_reason *why)
{
	int ret = sr_ground_host.open(module, evidence, why);

	mock = *evidence;
	evidence->describe = describe;
	evidence->lock = lock;
	return ret;
}

static void log_text(void *arg, const char *text)
{
	(void)arg;
	(void)fprintf(stderr, "%s\n", text);
}

/* Starts, says so or why not, and ends. */
static void signer_main(void *arg)
{
	struct sr_ground ground = sr_ground_host;
	struct sr_reason why = { 0, "" };
	struct sr_signer_config config;
	struct sr_signer signer;
	int fd = open(s.rig.signer_log, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);

	(void)arg;
	MP_CHECK(fd >= 0 && dup2(fd, 2) == 2, "the log");
	ground.open = open_module;
	sr_signer_config_init(&config);
	config.ground = &ground;
	config.operators = s.operators;
	config.operators_needed = 1;
	config.manifest = s.manifest;
	config.allow_snapshot = true;
	config.log = log_text;
	MP_CHECK(sr_signer_harden(&config, &why) == 0, "%s", why.text);
	if (sr_signer_new(&signer, &config, &why) < 0) {
		log_text(NULL, why.text);
		_exit(1);
	}
	sr_signer_delete(&signer);
	_exit(0);
}

static const char *said_by_signer(int exit_code)
{
	int status;
	pid_t pid = mp_fork(signer_main, NULL);

	MP_EQ(waitpid(pid, &status, 0), pid, "waitpid");
	MP_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == exit_code, "status %#x: %s",
		 (unsigned int)status, mp_read_file(s.rig.signer_log));
	return mp_read_file(s.rig.signer_log);
}

static void expect(int exit_code, const char *words)
{
	const char *text = said_by_signer(exit_code);

	MP_CHECK(strstr(text, words), "`%s` is not said: %s", words, text);
}

static void signer_that_cannot_lock_does_not_start(void)
{
	sealed_new(&s);
	expect(0, "security module i-mock-enc0000000000000001, version 1.0.0, of 17 registers are "
		  "locked 0000ffff");
	lock_error = -EREMOTEIO;
	expect(1, "fails to lock PCR16");
	lock_error = -EROFS;
	expect(1, "fails to lock PCR16");
	lock_error = -EOPNOTSUPP;
	expect(1, "fails to lock PCR16");
	describe_error = -EPROTO;
	expect(1, "does not describe itself");
	mp_rig_stop(&s.rig);
}

static void module_without_the_register_is_warned_of(void)
{
	sealed_new(&s);
	MP_CHECK(!strstr(said_by_signer(0), "WARNING: the security module"), "a warning: %s",
		 mp_read_file(s.rig.signer_log));
	pcrs_max = SR_EVIDENCE_BOOT_PCR;
	expect(0, "WARNING: the security module has no PCR16");
	mp_rig_stop(&s.rig);
}

#define TEST(name) { #name, name, 60 }
static const struct mp_test tests[] = {
	TEST(signer_that_cannot_lock_does_not_start),
	TEST(module_without_the_register_is_warned_of),
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
