/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "sr_ctl_attest.h"
#include "sr_ctl_key.h"
#include "sr_ctl_manifest.h"
#include "sr_ctl_operator.h"
#include "sr_ctl_policy.h"
#include "sr_ctl_status.h"
#include "sr_ctl_vault.h"
#include "sr_version.h"

static const struct {
	const char *name;
	const char *purpose;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "status", "what the agent of this host says of itself", sr_ctl_status },
	{ "key", "keys in a signer, over an operator's session; and development keys", sr_ctl_key },
	{ "operator", "key pairs of those who sign manifests and commands", sr_ctl_operator },
	{ "identity", "key pairs of traders, and of recipients of sealed keys", sr_ctl_identity },
	{ "manifest", "sign a manifest, show it, would a signer take it? bring it to one", sr_ctl_manifest },
	{ "policy", "what would a signer with a manifest say to these orders? offline", sr_ctl_policy },
	{ "kill", "cancels only, for every key, from now on; or no more", sr_ctl_policy_say },
	{ "lease", "let the keys that need a lease sign for some time", sr_ctl_policy_say },
	{ "band", "another price band of an asset", sr_ctl_policy_say },
	{ "seed", "tell a signer what its key had signed before the start", sr_ctl_policy_say },
	{ "enclave", "what a signer says of itself; have it sign no more, to be stopped", sr_ctl_enclave },
	{ "attest", "judge an attestation document; measure an enclave image", sr_ctl_attest },
};

#define COMMANDS (sizeof commands / sizeof commands[0])

static int usage(FILE *out, int code)
{
	(void)fprintf(out, "usage: sigringctl COMMAND [options]\n\n");
	for (size_t i = 0; i < COMMANDS; i++)
		(void)fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].purpose);
	(void)fprintf(out, "\nsigringctl COMMAND --help tells more; --version prints the version.\n"
			   SR_UNSEALED_NOTICE "\n");
	return code;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return usage(stderr, 2);
	if (!strcmp(argv[1], "--help"))
		return usage(stdout, 0);
	if (!strcmp(argv[1], "--version")) {
		(void)printf("sigringctl %s\n", SR_VERSION);
		return 0;
	}
	for (size_t i = 0; i < COMMANDS; i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	(void)fprintf(stderr, "sigringctl: no such command: %s (see sigringctl --help)\n", argv[1]);
	return 2;
}
