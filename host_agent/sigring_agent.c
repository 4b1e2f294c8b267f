/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "sr_agent_options.h"
#include "sr_agent_trace.h"
#include "sr_frame.h"
#include "sr_heartbeat.h"
#include "sr_region.h"
#include "sr_stream.h"

static struct sr_agent *running;

static void on_signal(int number)
{
	(void)number;
	sr_agent_stop(running);
}

static int set_io(void *target, const char *value, const struct sr_option *o,
		  struct sr_reason *why)
{
	if (strcmp(value, "direct") && strcmp(value, "uring"))
		return sr_reason_set(why, -EINVAL, "%s must be direct or uring, not `%s`", o->name,
				     value);
	*(bool *)target = !strcmp(value, "uring");
	return 0;
}

static struct sr_agent_config config;
static struct sr_address signer;
static struct sr_address heartbeat;
static bool uring;
static bool only_check;

static const struct sr_option options[] = {
	SR_AGENT_OPTIONS(config),
	{ "signer", "ADDRESS",
	  "where the signer listens: unix:PATH, vsock:CID:PORT, vsock:auto:PORT, hybrid:PATH:PORT",
	  sr_set_address, &signer, 0, 0 },
	{ "control", "ADDRESS",
	  "where it takes control conversations (by default from --signer)", sr_set_address,
	  &config.control, 0, 0 },
	{ "heartbeat", "ADDRESS",
	  "where an enclave that starts says so (vsock:any:9000 with vsock:auto)", sr_set_address,
	  &heartbeat, 0, 0 },
	{ "depth-max", "N", "requests in flight that a session may ask for (4096)", sr_set_pow2,
	  &config.depth_max, SR_DEPTH_MIN, SR_DEPTH_MAX },
	{ "slot-bytes-max", "N", "submission slot that a process may ask for (4224)", sr_set_lines,
	  &config.slot_bytes_max, SR_SUB_BYTES_MIN, SR_SUB_BYTES_MAX },
	{ "write-bytes-max", "N", "longest write on the stream (4096)", sr_set_u32,
	  &config.write_bytes_max, 512, SR_WRITE_BYTES_MAX },
	{ "io", "direct|uring", "how the stream is driven (direct)", set_io, &uring, 0, 0 },
	{ "trace", "N", "for measuring: keep stamps of the last N records (0)", sr_set_pow2_or_0,
	  &config.trace_records, SR_AGENT_TRACE_RECORDS_MIN, SR_AGENT_TRACE_RECORDS_MAX },
	{ "cpu", "N", "pin the polling thread", sr_set_cpu, &config.cpu, 0, 0 },
	{ "check", NULL, "judge configuration and host, start nothing", sr_set_true, &only_check, 0,
	  0 },
};

static struct sr_program program = {
	.name = "sigring-agent",
	.purpose = "Moves order records between trading processes and a signer.",
	.operands = "",
	.options = options,
	.option_count = sizeof options / sizeof options[0],
};

static int check(void)
{
	struct sr_host_check c = { .out = stdout };
	struct sr_geometry g = { config.sessions_max < SR_REGION_SESSIONS_MAX ?
					 config.sessions_max :
					 SR_REGION_SESSIONS_MAX,
				 config.depth_max, SR_CMP_BYTES };
	uint64_t bytes = sr_region_bytes(&g) * ((config.sessions_max + g.sessions - 1) / g.sessions);

	sr_agent_check_users(&c, &config);
	sr_host_check_socket(&c, config.listen.text);
	sr_host_check_line(&c, 0, "control: conversations with the signer go to %s",
			   config.control.text);
	sr_agent_check_setup(&c, &config);
	sr_agent_check_files(&c, &config);
	sr_host_check_memlock(&c, bytes);
	if (config.huge_pages)
		sr_host_check_huge_pages(&c, bytes * 4); /* the clients' regions too */
	sr_host_check_cpu(&c, "polling thread", config.cpu);
	sr_host_check_cores(&c, config.loops);
	sr_host_check_clock(&c);
	return sr_host_check_end(&c);
}

static int make_transport(struct sr_transport **transport, struct sr_reason *why)
{
	int ret = uring ? sr_stream_uring_new(transport, &signer) : sr_stream_new(transport, &signer);

	if (ret < 0)
		return sr_reason_set(why, ret, "cannot use --io %s here: %s; use --io direct",
				     uring ? "uring" : "direct", strerror(-ret));
	if (signer.found && config.control.found)
		config.control.cid = sr_stream_cid(*transport);
	return 0;
}

/* Where the enclave's CID is to be found, somebody has to listen for it. */
static int find_addresses(struct sr_reason *why)
{
	if (!config.control.bytes && sr_address_control(&signer, &config.control, why) < 0)
		return -EINVAL;
	if ((signer.found || config.control.found) && !heartbeat.bytes)
		return sr_address_parse(&heartbeat, "vsock:any:9000", why);
	return 0;
}

static int listen_for_enclave(struct sr_heartbeat **beat, struct sr_reason *why)
{
	int ret = 0;

	if (heartbeat.bytes)
		ret = sr_heartbeat_new(beat, &heartbeat, &config, why);
	if (ret == 0 && *beat)
		signer.cid = config.control.cid = sr_heartbeat_cid(*beat);
	return ret;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct sr_heartbeat *beat = NULL;
	struct sr_transport *transport;
	struct sr_reason why = { 0, "" };
	int operand;

	sr_agent_config_init(&config);
	config.loops = 3; /* trading thread, agent, signer */
	(void)!sr_set_socket(&config.listen, "/run/sigring/agent.sock", NULL, &why);
	operand = sr_config_args(&program, argc, argv, &why);
	if (operand < 0)
		return sr_program_fail(&program, &why);
	if (operand < argc || !signer.bytes) {
		(void)sr_reason_set(&why, -EINVAL,
				    operand < argc ? "unexpected argument `%s`" :
						     "--signer ADDRESS is missing%s",
				    operand < argc ? argv[operand] : "");
		return sr_program_fail(&program, &why);
	}
	if (find_addresses(&why) < 0)
		return sr_program_fail(&program, &why);
	if (only_check)
		return check();
	if (!config.uid_count && !config.any_uid)
		config.uids[config.uid_count++] = (uint32_t)geteuid();
	(void)prctl(PR_SET_DUMPABLE, 0);
	(void)signal(SIGPIPE, SIG_IGN);
	config.log = sr_program_log;
	config.log_arg = &program;
	if (listen_for_enclave(&beat, &why) < 0 || make_transport(&transport, &why) < 0 ||
	    sr_agent_new(&running, &config, transport, &why) < 0)
		return sr_program_fail(&program, &why);
	if (beat && signer.found)
		sr_heartbeat_in_use(beat, sr_stream_cid(transport));
	(void)sigaction(SIGTERM, &action, NULL);
	(void)sigaction(SIGINT, &action, NULL);
	(void)fprintf(stderr, "sigring-agent: ready at %s, signer at %s\n", config.listen.text + 5,
		      signer.text);
	operand = sr_agent_run(running);
	if (operand < 0)
		(void)fprintf(stderr, "sigring-agent: cannot start a thread: %s\n", strerror(-operand));
	sr_heartbeat_stop(beat);
	sr_agent_delete(running);
	sr_heartbeat_delete(beat);
	return operand < 0 ? 1 : 0;
}
