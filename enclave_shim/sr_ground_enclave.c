/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "sr_ground.h"
#include "sr_nsm.h"

static int nsm_open(void **module, struct sr_evidence *evidence, struct sr_reason *why)
{
	struct sr_nsm *nsm = calloc(1, sizeof *nsm);
	int ret;

	if (!nsm)
		return sr_reason_set(why, -ENOMEM, "out of memory");
	ret = sr_nsm_open(nsm, SR_NSM_PATH);
	if (ret < 0) {
		free(nsm);
		return sr_reason_set(why, ret,
				     ret == -ENOENT ?
					     "there is no " SR_NSM_PATH ": this is no enclave, and "
					     "there is no fallback; sigring-signer is the signer for "
					     "a host" :
					     "cannot open " SR_NSM_PATH ": %s",
				     strerror(-ret));
	}
	*evidence = sr_nsm_evidence(nsm);
	*module = nsm;
	return 0;
}

static void nsm_close(void *module)
{
	if (!module)
		return;
	sr_nsm_close(module);
	free(module);
}

const struct sr_ground sr_ground_enclave = {
	.clear = NULL,
	.loops = 1, /* agent and engines are on the other side */
	.confined = true,
	.snapshots = false,
	.open = nsm_open,
	.close = nsm_close,
};
