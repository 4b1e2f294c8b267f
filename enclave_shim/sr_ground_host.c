/* SPDX-License-Identifier: MIT */
#include "sr_ground.h"
#include "sr_keyfile.h"
#include "sr_mock_nsm.h"

static int load_keys(struct sr_keyring *keys, const struct sr_curve *curve, const char *directory,
		     struct sr_reason *why)
{
	struct sr_keyfile_error error;
	int ret = sr_keyfile_load_dir(keys, curve, directory, &error);

	return ret < 0 ? sr_reason_set(why, ret, "%s", error.text) : 0;
}

static int mock_open(void **module, struct sr_evidence *evidence, struct sr_reason *why)
{
	struct sr_mock_nsm *mock;
	int ret = sr_mock_nsm_new(&mock, NULL);

	if (ret < 0)
		return sr_reason_set(why, ret, "cannot make a mock security module: OpenSSL fails");
	*evidence = sr_mock_nsm_evidence(mock);
	*module = mock;
	return 0;
}

static void mock_close(void *module)
{
	sr_mock_nsm_delete(module);
}

static const unsigned char *mock_root(const void *module, size_t *root_bytes)
{
	return sr_mock_nsm_root(module, root_bytes);
}

const struct sr_ground sr_ground_host = {
	.clear = &sr_core_clear,
	.snapshots = true,
	.load_keys = load_keys,
	.open = mock_open,
	.close = mock_close,
	.root = mock_root,
};
