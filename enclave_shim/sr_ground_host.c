/* SPDX-License-Identifier: MIT */
#include "sr_ground.h"
#include "sr_keyfile.h"
#include "sr_mock_nsm.h"
#include "sr_trust.h"

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

static int read_image(const struct sr_evidence *e, struct sr_attest_image *image)
{
	int ret = e->pcr(e->arg, image->pcr0, 0);

	if (!ret)
		ret = e->pcr(e->arg, image->pcr1, 1);
	if (!ret)
		ret = e->pcr(e->arg, image->pcr2, 2);
	return ret;
}

static int mock_tell(const void *module, const struct sr_evidence *evidence, const char *path,
		     uint64_t manifest_min, struct sr_reason *why)
{
	struct sr_trust trust = {
		.image_count = 1,
		.manifest_min = manifest_min,
		.age_s_max = SR_TRUST_AGE_S_DEFAULT,
		.boot_required = true,
	};
	size_t bytes;
	const unsigned char *der = sr_mock_nsm_root(module, &bytes);
	int ret = sr_attest_root_parse(&trust.root, der, bytes);

	if (!ret)
		ret = read_image(evidence, &trust.images[0]);
	if (ret)
		return sr_reason_set(why, ret, "cannot read what the mock attests: %s",
				     strerror(-ret));
	return sr_trust_save(path, &trust, why);
}

const struct sr_ground sr_ground_host = {
	.clear = &sr_core_clear,
	.loops = 3, /* engine, agent, signer */
	.snapshots = true,
	.load_keys = load_keys,
	.open = mock_open,
	.close = mock_close,
	.tell = mock_tell,
};
