/* SPDX-License-Identifier: MIT */
/*
 * sr_serve_main.h - main() of a signer that is a process of its own.
 *
 * sigring-enclave and sigring-signer differ in the ground that they stand on, and in
 * the options that go with it.
 */
#ifndef SR_SERVE_MAIN_H
#define SR_SERVE_MAIN_H

#include "sr_config.h"
#include "sr_serve.h"

/* What the options set. */
struct sr_serve_main {
	struct sr_program *program;
	const struct sr_ground *ground;
	struct sr_serve_config serve;
	struct sr_signer_config signer;
	bool only_check;
};

/* Rows of an option table; @m is a struct sr_serve_main. */
#define SR_SERVE_OPTIONS(m)                                                                        \
	{ "listen", "ADDRESS", "where the agent connects: unix:PATH or vsock:any:PORT",            \
	  sr_set_address, &(m).serve.listen, 0, 0 },                                               \
	{ "listen-mode", "OCTAL", "permission bits of a Unix socket (0660)", sr_set_mode,          \
	  &(m).serve.listen_mode, 0, 0 },                                                          \
	{ "control", "ADDRESS", "where sessions are set up (beside --listen)", sr_set_address,     \
	  &(m).signer.control, 0, 0 },                                                             \
	{ "cpu", "N", "pin the signing thread", sr_set_cpu, &(m).serve.cpu, 0, 0 },                \
	{ "wait", "POLICY", "auto, spin, yield or block (auto)", sr_set_wait, &(m).serve.wait, 0,  \
	  0 },                                                                                     \
	{ "check", NULL, "judge configuration and host, start nothing", sr_set_true,               \
	  &(m).only_check, 0, 0 }

SR_BEGIN_DECLS

/* sr_serve_main - the exit code. Once in a process: it takes the signals. */
int sr_serve_main(struct sr_serve_main *m, int argc, char **argv);

SR_END_DECLS

#endif /* SR_SERVE_MAIN_H */
