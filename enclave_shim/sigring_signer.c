/* SPDX-License-Identifier: MIT */
#include "sr_ground.h"
#include "sr_serve_main.h"
#include "sr_signer_options.h"

static struct sr_serve_main self;

static const struct sr_option options[] = {
	SR_SERVE_OPTIONS(self),
	SR_SIGNER_OPTIONS(self.signer),
	SR_HOST_OPTIONS(self.signer),
};

static struct sr_program program = {
	.name = "sigring-signer",
	.purpose = "The signer as a process on a host: isolates users, not root, attests nothing.",
	.operands = "",
	.options = options,
	.option_count = sizeof options / sizeof options[0],
};

int main(int argc, char **argv)
{
	self.program = &program;
	self.ground = &sr_ground_host;
	return sr_serve_main(&self, argc, argv);
}
