/* SPDX-License-Identifier: MIT */
/*
 * fuzz_trust.c - trust files of arbitrary bytes, and some that are nearly right.
 *
 * The input's first byte chooses: the rest as it is, or a good file with some of its
 * bytes replaced by the rest, at an offset, and cut. Checked besides what the sanitizers
 * see: what is taken says whom to believe, and comes out of sr_trust_put() as it went in.
 */
#include "sr_trust.h"

#define FUZZ_NAME "trust"
#define FUZZ_INPUT_BYTES 1024u
#include "fuzz_main.h"

static struct sr_trust trust, again;
static char text[SR_TRUST_BYTES_MAX], good[4096];
static size_t good_bytes;

static void start(void)
{
	struct sr_trust t;

	memset(&t, 0, sizeof t);
	sr_attest_root_aws(&t.root);
	t.image_count = 2;
	memset(&t.images[0].pcr0, 1, sizeof t.images[0].pcr0);
	memset(&t.images[1].pcr0, 2, sizeof t.images[1].pcr0);
	t.images[1].with_pcr3 = t.images[1].with_pcr8 = true;
	t.has_manifest = true;
	t.manifest_min = 7;
	t.age_s_max = 60;
	t.boot_required = true;
	good_bytes = sr_trust_put(text, &t);
	require(good_bytes <= sizeof good, "the good one has no room");
	memcpy(good, text, good_bytes);
}

static void judge(const char *file, size_t bytes)
{
	struct sr_reason why = { 0, "" };
	int ret = sr_trust_parse(&trust, file, bytes, "trust", &why);

	if (ret) {
		require(ret == -EBADMSG && why.error == ret, "an error that is not due");
		require(!memchr(why.text, '\n', strlen(why.text)), "a reason of two lines");
		return;
	}
	require(trust.image_count >= 1 && trust.image_count <= SR_TRUST_IMAGES_MAX &&
			(trust.has_manifest || trust.manifest_min) && trust.age_s_max >= 1 &&
			trust.age_s_max <= SR_TRUST_AGE_S_MAX,
		"nobody is said to be believed");
	bytes = sr_trust_put(text, &trust);
	require(bytes <= sizeof text && sr_trust_parse(&again, text, bytes, "again", &why) == 0,
		"what is written is not read");
	require(!memcmp(&trust, &again, sizeof trust), "what is read is not what was written");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char made[sizeof good];
	size_t at;

	if (bytes < 4)
		return 0;
	if (!good_bytes)
		start();
	if (data[0] % 3 == 0) {
		judge((const char *)data + 1, bytes - 1);
		return 0;
	}
	memcpy(made, good, good_bytes);
	at = (data[1] | (size_t)data[2] << 8) % good_bytes;
	for (size_t i = 4; i < bytes && i < 4u + data[3] % 4 && at < good_bytes; i++)
		made[at++] = (char)data[i];
	judge(made, data[0] % 3 == 1 ? good_bytes : at);
	return 0;
}
