/* SPDX-License-Identifier: MIT */
#include "sr_serve_main.h"

#include <malloc.h>
#include <signal.h>
#include <stdio.h>

#include "sr_confine.h"
#include "sr_ground.h"
#include "sr_host.h"
#include "sr_version.h"

static struct sr_serve *running;
static struct sr_porter *porter;

static void on_signal(int number)
{
	if (number == SIGHUP)
		sr_porter_reload(porter);
	else
		sr_serve_stop(running);
}

static int check(const struct sr_serve_main *m)
{
	struct sr_host_check c = { .out = stdout };

	sr_host_check_socket(&c, m->serve.listen.text);
	sr_host_check_memlock(&c, sr_signer_locked_bytes(&m->signer));
	sr_host_check_cpu(&c, "signing thread", m->serve.cpu);
	sr_host_check_cores(&c, m->serve.loops);
	sr_host_check_clock(&c);
	sr_signer_check(&c, &m->signer);
	return sr_host_check_end(&c);
}

static int take_options(struct sr_serve_main *m, int argc, char **argv, struct sr_reason *why)
{
	int operand;

	sr_serve_config_init(&m->serve);
	sr_signer_config_init(&m->signer);
	operand = sr_config_args(m->program, argc, argv, why);
	if (operand < 0)
		return operand;
	if (operand < argc)
		return sr_reason_set(why, -EINVAL, "unexpected argument `%s`", argv[operand]);
	if (!m->serve.listen.bytes)
		return sr_reason_set(why, -EINVAL, "--listen ADDRESS is missing");
	m->signer.ground = m->ground;
	m->signer.log = m->serve.log = sr_program_log;
	m->signer.log_arg = m->serve.log_arg = m->program;
	m->signer.loops = m->serve.loops = m->ground->loops;
	m->signer.cpu = m->serve.cpu;
	m->signer.control_mode = m->serve.listen_mode;
	if (m->signer.operators && !m->signer.control.bytes)
		return sr_address_control(&m->serve.listen, &m->signer.control, why);
	return 0;
}

static int serve(struct sr_serve_main *m, struct sr_signer *signer, struct sr_reason *why)
{
	struct sigaction action = { .sa_handler = on_signal };
	uint32_t keys = sr_keyring_count(signer->keys);
	int ret = sr_serve_new(&running, &m->serve, signer, why);

	if (ret == 0 && m->ground->confined)
		ret = sr_confine(why);
	if (ret < 0) {
		sr_serve_delete(running);
		return ret;
	}
	sr_signer_open(signer);
	porter = signer->porter;
	if (porter && !m->ground->confined) /* else it can read no file any more */
		(void)sigaction(SIGHUP, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
	(void)sigaction(SIGINT, &action, NULL);
	(void)fprintf(stderr, "%s: ready at %s with %u key%s\n", m->program->name,
		      m->serve.listen.text, keys, keys == 1 ? "" : "s");
	sr_serve_run(running);
	/* Nothing is left that a second signal could stop. */
	(void)signal(SIGHUP, SIG_IGN);
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGINT, SIG_IGN);
	sr_serve_delete(running);
	return 0;
}

/* A second arena reads a file of /proc when it shrinks, and large blocks are moved by a
 * call that nothing else makes. */
static void tame_malloc(void)
{
	(void)mallopt(M_ARENA_MAX, 1);
	(void)mallopt(M_MMAP_THRESHOLD, 32 << 20);
}

int sr_serve_main(struct sr_serve_main *m, int argc, char **argv)
{
	struct sr_signer signer;
	struct sr_reason why = { 0, "" };
	int ret = take_options(m, argc, argv, &why);

	if (ret < 0)
		return sr_program_fail(m->program, &why);
	if (m->only_check)
		return check(m);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN); /* a reload ends nobody who has nothing to read again */
	if (m->ground->confined)
		tame_malloc();
	if (!m->signer.operators)
		sr_program_log(m->program, SR_UNSEALED_NOTICE);
	if (sr_signer_harden(&m->signer, &why) < 0 || sr_signer_new(&signer, &m->signer, &why) < 0)
		return sr_program_fail(m->program, &why);
	ret = serve(m, &signer, &why);
	sr_signer_delete(&signer);
	return ret < 0 ? sr_program_fail(m->program, &why) : 0;
}
