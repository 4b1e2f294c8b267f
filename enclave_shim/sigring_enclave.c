/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sr_host.h"
#include "sr_serve.h"
#include "sr_signer_options.h"
#include "sr_version.h"

static struct sr_serve *running;
static struct sr_serve_config config;
static struct sr_signer_config signer_config;
static bool only_check;

static const struct sr_option options[] = {
	{ "listen", "ADDRESS", "where the agent connects: unix:PATH or vsock:any:PORT",
	  sr_set_address, &config.listen, 0, 0 },
	{ "listen-mode", "OCTAL", "permission bits of a Unix socket (0660)", sr_set_mode,
	  &config.listen_mode, 0, 0 },
	SR_SIGNER_OPTIONS(signer_config),
	{ "cpu", "N", "pin the signing thread", sr_set_cpu, &config.cpu, 0, 0 },
	{ "wait", "POLICY", "auto, spin, yield or block (auto)", sr_set_wait, &config.wait, 0, 0 },
	{ "check", NULL, "judge configuration and host, start nothing", sr_set_true, &only_check, 0,
	  0 },
};

static struct sr_program program = {
	.name = "sigring-enclave",
	.purpose = "Holds keys and signs order records that an agent brings.",
	.operands = "",
	.options = options,
	.option_count = sizeof options / sizeof options[0],
};

static void on_signal(int number)
{
	(void)number;
	sr_serve_stop(running);
}

static int check(void)
{
	struct sr_host_check c = { .out = stdout };

	sr_host_check_socket(&c, config.listen.text);
	sr_host_check_memlock(&c, sr_signer_locked_bytes(&signer_config));
	sr_host_check_cpu(&c, "signing thread", config.cpu);
	sr_host_check_cores(&c, config.loops);
	sr_host_check_clock(&c);
	sr_signer_check(&c, &signer_config);
	return sr_host_check_end(&c);
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct sr_signer signer;
	struct sr_reason why = { 0, "" };
	int operand;

	sr_serve_config_init(&config);
	sr_signer_config_init(&signer_config);
	operand = sr_config_args(&program, argc, argv, &why);
	if (operand < 0)
		return sr_program_fail(&program, &why);
	if (operand < argc || !config.listen.bytes) {
		(void)sr_reason_set(&why, -EINVAL,
				    operand < argc ? "unexpected argument `%s`" :
						     "--listen ADDRESS is missing%s",
				    operand < argc ? argv[operand] : "");
		return sr_program_fail(&program, &why);
	}
	signer_config.log = sr_program_log;
	signer_config.log_arg = &program;
	signer_config.loops = config.loops;
	signer_config.cpu = config.cpu;
	if (only_check)
		return check();
	(void)signal(SIGPIPE, SIG_IGN);
	sr_program_log(&program, SR_UNSEALED_NOTICE);
	if (sr_signer_harden(&why) < 0 || sr_signer_new(&signer, &signer_config, &why) < 0)
		return sr_program_fail(&program, &why);
	config.log = sr_program_log;
	config.log_arg = &program;
	if (sr_serve_new(&running, &config, &signer, &why) < 0) {
		sr_signer_delete(&signer);
		return sr_program_fail(&program, &why);
	}
	(void)sigaction(SIGTERM, &action, NULL);
	(void)sigaction(SIGINT, &action, NULL);
	(void)fprintf(stderr, "sigring-enclave: ready at %s with %u key%s\n", config.listen.text,
		      sr_keyring_count(signer.keys),
		      sr_keyring_count(signer.keys) == 1 ? "" : "s");
	sr_serve_run(running);
	sr_serve_delete(running);
	sr_signer_delete(&signer);
	return 0;
}
