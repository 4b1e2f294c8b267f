/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "sr_confine.h"
#include "sr_ground.h"
#include "sr_serve_main.h"
#include "sr_signer_options.h"

static struct sr_serve_main self;

/* For those who want to hold it against what they saw it do. */
static int print_calls(void *target, const char *value, const struct sr_option *o,
		       struct sr_reason *why)
{
	(void)target;
	(void)value;
	(void)o;
	(void)why;
	for (size_t i = 0; sr_confine_name(i); i++)
		(void)printf("%s\n", sr_confine_name(i));
	exit(fflush(stdout) ? 1 : 0);
}

static const struct sr_option options[] = {
	SR_SERVE_OPTIONS(self),
	SR_SIGNER_OPTIONS(self.signer),
	{ "console", NULL, "say every ten seconds how things are", sr_set_true,
	  &self.signer.console, 0, 0 },
	{ "system-calls", NULL, "print the system calls that it keeps, and exit", print_calls,
	  NULL, 0, 0 },
};

static struct sr_program program = {
	.name = "sigring-enclave",
	.purpose = "The signer for an enclave: attested by /dev/nsm, sealed sessions only.",
	.operands = "",
	.options = options,
	.option_count = sizeof options / sizeof options[0],
};

int main(int argc, char **argv)
{
	self.program = &program;
	self.ground = &sr_ground_enclave;
	return sr_serve_main(&self, argc, argv);
}
