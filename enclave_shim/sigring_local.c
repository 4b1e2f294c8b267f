/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sr_agent_options.h"
#include "sr_ground.h"
#include "sr_local.h"
#include "sr_region.h"
#include "sr_signer_options.h"
#include "sr_version.h"

static struct sr_agent *running;
static struct sr_porter *porter;
static struct sr_agent_config config;
static struct sr_signer_config signer_config;
static bool only_check;

static const struct sr_option options[] = {
	SR_AGENT_OPTIONS(config),
	SR_SIGNER_OPTIONS(signer_config),
	SR_HOST_OPTIONS(signer_config),
	{ "cpu", "N", "pin the polling and signing thread", sr_set_cpu, &config.cpu, 0, 0 },
	{ "check", NULL, "judge configuration and host, start nothing", sr_set_true, &only_check, 0,
	  0 },
};

static struct sr_program program = {
	.name = "sigring-local",
	.purpose = "Agent and signer in one process: isolates processes and users, not root.",
	.operands = "",
	.options = options,
	.option_count = sizeof options / sizeof options[0],
};

static void on_signal(int number)
{
	if (number == SIGHUP)
		sr_porter_reload(porter);
	else
		sr_agent_stop(running);
}

static int check(void)
{
	struct sr_host_check c = { .out = stdout };
	struct sr_geometry g = { 1, config.depth_max, SR_CMP_BYTES };
	uint64_t bytes = sr_region_bytes(&g) * config.sessions_max;

	sr_agent_check_users(&c, &config);
	sr_host_check_socket(&c, config.listen.text);
	sr_agent_check_setup(&c, &config);
	sr_agent_check_files(&c, &config);
	sr_host_check_memlock(&c, bytes + sr_signer_locked_bytes(&signer_config));
	if (config.huge_pages)
		sr_host_check_huge_pages(&c, bytes * 4);
	sr_host_check_cpu(&c, "polling and signing thread", config.cpu);
	sr_host_check_cores(&c, config.loops);
	sr_host_check_clock(&c);
	sr_signer_check(&c, &signer_config);
	return sr_host_check_end(&c);
}

/* Conversations stay in the process. */
static int control_connect(void *arg)
{
	struct sr_signer *signer = arg;

	return signer->porter ? sr_porter_connect(signer->porter) : -ECONNREFUSED;
}

static int start(struct sr_signer *signer, struct sr_reason *why)
{
	struct sr_transport *transport;
	int ret = sr_local_new(&transport, signer);

	if (ret < 0)
		return sr_reason_set(why, ret, "cannot make a port: %s", strerror(-ret));
	config.control_connect = control_connect;
	config.control_arg = signer;
	return sr_agent_new(&running, &config, transport, why);
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct sr_signer signer;
	struct sr_reason why = { 0, "" };
	int operand;

	sr_agent_config_init(&config);
	sr_signer_config_init(&signer_config);
	(void)!sr_set_socket(&config.listen, "/run/sigring/agent.sock", NULL, &why);
	operand = sr_config_args(&program, argc, argv, &why);
	if (operand >= 0 && operand < argc)
		operand = sr_reason_set(&why, -EINVAL, "unexpected argument `%s`", argv[operand]);
	if (operand < 0)
		return sr_program_fail(&program, &why);
	config.depth_max = signer_config.depth_max;
	config.slot_bytes_max = signer_config.slot_bytes_max;
	config.trace_records = signer_config.trace_slots;
	signer_config.ground = &sr_ground_host;
	signer_config.log = sr_program_log;
	signer_config.log_arg = &program;
	signer_config.loops = config.loops;
	signer_config.cpu = config.cpu;
	signer_config.sleeps = config.wait == SR_WAIT_BLOCK;
	if (only_check)
		return check();
	if (!config.uid_count && !config.any_uid)
		config.uids[config.uid_count++] = (uint32_t)geteuid();
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN); /* a reload ends nobody who has nothing to read again */
	config.log = sr_program_log;
	config.log_arg = &program;
	if (!signer_config.operators)
		sr_program_log(&program, SR_UNSEALED_NOTICE);
	if (sr_signer_harden(&signer_config, &why) < 0 ||
	    sr_signer_new(&signer, &signer_config, &why) < 0)
		return sr_program_fail(&program, &why);
	if (start(&signer, &why) < 0) {
		sr_signer_delete(&signer);
		return sr_program_fail(&program, &why);
	}
	sr_signer_open(&signer);
	porter = signer.porter;
	if (porter)
		(void)sigaction(SIGHUP, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
	(void)sigaction(SIGINT, &action, NULL);
	(void)fprintf(stderr, "sigring-local: ready at %s with %u key%s\n", config.listen.text + 5,
		      sr_keyring_count(signer.keys),
		      sr_keyring_count(signer.keys) == 1 ? "" : "s");
	operand = sr_agent_run(running);
	/* Nothing is left that a second signal could stop. */
	(void)signal(SIGHUP, SIG_IGN);
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGINT, SIG_IGN);
	if (operand < 0)
		(void)fprintf(stderr, "sigring-local: cannot start a thread: %s\n", strerror(-operand));
	sr_agent_delete(running);
	sr_signer_delete(&signer);
	return operand < 0 ? 1 : 0;
}
