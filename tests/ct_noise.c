/* SPDX-License-Identifier: MIT */
/*
 * ct_noise.c - does a branch or an index of the handshakes, the records or the
 * ratchet depend on a secret?
 *
 * As ct_sign.c does it: secrets are marked as undefined memory, memcheck reports
 * what depends on one. Public are ephemeral and static public keys, ciphertext,
 * tags, and the two verdicts that libcrypto branches on: whether a tag was right
 * and whether a shared secret is all zeros (tests/valgrind.supp).
 *
 *	valgrind --suppressions=tests/valgrind.supp build/ct/ct_noise
 *
 * Exit code 0: nothing was reported and both ends agree. --control branches on
 * a secret once and succeeds only when that is reported. Without valgrind the
 * program fails, unless it is told --no-valgrind.
 */
#include "ct_main.h"
#include "sr_ct.h"
#include "sr_noise.h"
#include "sr_seal.h"
#include "sr_secret.h"

#define SLOT SR_SUB_BYTES_DEFAULT
#define EPOCH (1ull << SR_SEAL_EPOCH_SHIFT)

/* In protected memory. */
struct all {
	struct sr_noise_pair statics[2];
	unsigned char ephemerals[2][SR_NOISE_KEY_BYTES];
	unsigned char psk[SR_NOISE_KEY_BYTES];
	struct sr_noise_keys keys[2];
	struct sr_seal seals[2]; /* sealing, opening */
	struct sr_noise noise[2];
};

static void make_secrets(struct all *all)
{
	memset(all->psk, 5, sizeof all->psk);
	hide(all->psk, sizeof all->psk);
	for (unsigned char i = 0; i < 2; i++) {
		memset(all->statics[i].secret, 1 + i, SR_NOISE_KEY_BYTES);
		memset(all->ephemerals[i], 3 + i, SR_NOISE_KEY_BYTES);
		hide(all->statics[i].secret, SR_NOISE_KEY_BYTES);
		hide(all->ephemerals[i], SR_NOISE_KEY_BYTES);
		REQUIRE(sr_noise_pair_make(&all->statics[i], all->statics[i].secret) == 0);
	}
}

static void shake_hands(struct all *all, enum sr_noise_pattern pattern)
{
	unsigned char message[SR_NOISE_MESSAGE_MAX], payload[8] = { 0 };
	int messages = pattern == SR_NOISE_X ? 1 : 2;
	size_t bytes;

	for (int i = 0; i < 2; i++) {
		struct sr_noise_config config = {
			.pattern = pattern,
			.initiator = i == 0,
			.s = &all->statics[i],
			.rs = i == 0 ? all->statics[1].pub : NULL,
			.ephemeral = all->ephemerals[i],
		};

		REQUIRE(sr_noise_init(&all->noise[i], &config) == 0);
		if (pattern == SR_NOISE_IKPSK2)
			REQUIRE(sr_noise_set_psk(&all->noise[i], all->psk) == 0);
	}
	for (int i = 0; i < messages; i++) {
		hide(payload, sizeof payload);
		REQUIRE(sr_noise_write(&all->noise[i], message, &bytes, sizeof message, payload,
				       sizeof payload) == 0);
		REQUIRE(sr_noise_read(&all->noise[!i], payload, &bytes, sizeof payload, message,
				      bytes) == 0);
	}
	for (int i = 0; i < 2; i++)
		REQUIRE(sr_noise_finish(&all->noise[i], &all->keys[i]) == 0);
}

static void carry(struct all *all, uint64_t n, const struct sr_seal_config *config)
{
	unsigned char record[SLOT] = { 0 };
	bool completion = config->direction == SR_SEAL_COMPLETION;
	unsigned char *body = record + (completion ? SR_CMP_BODY : SR_SUB_BODY);

	sr_put64(record, config->first + n);
	hide(body, completion ? SR_CMP_BODY_BYTES : SLOT - SR_SUB_BODY - SR_TAG_BYTES);
	REQUIRE(sr_seal_apply(&all->seals[0], n, record) == 0);
	REQUIRE(sr_seal_open(&all->seals[1], n, body, record) == 0);
}

static void seal_and_open(struct all *all, enum sr_seal_direction direction)
{
	struct sr_seal_config config = {
		.direction = direction,
		.first = UINT64_MAX - 1,
		.record_bytes = direction == SR_SEAL_COMPLETION ? SR_CMP_BYTES : SLOT,
		.depth = 16,
	};

	for (int i = 0; i < 2; i++) {
		config.keys = &all->keys[i];
		config.way = i == 0 ? SR_AEAD_SEAL : SR_AEAD_OPEN;
		REQUIRE(sr_seal_init(&all->seals[i], &config) == 0);
	}
	carry(all, 0, &config);
	for (int i = 0; i < 4; i++)
		REQUIRE(sr_seal_step(&all->seals[i % 2]) >= 0);
	carry(all, 1, &config);
	/* Into the next epoch, and out of reach of the one before. */
	carry(all, EPOCH, &config);
	carry(all, EPOCH + 16, &config);
	for (int i = 0; i < 2; i++)
		sr_seal_wipe(&all->seals[i]);
}

static void branch_on_secret(const struct all *all)
{
	static volatile unsigned int taken;

	if (all->keys[0].send[5] & 1)
		taken++;
}

int main(int argc, char **argv)
{
	bool control = ct_begin(argc, argv);
	struct all *all;
	void *mem;

	REQUIRE(sr_secret_alloc(&mem, sizeof *all) == 0);
	all = mem;
	make_secrets(all);
	shake_hands(all, SR_NOISE_X);
	shake_hands(all, SR_NOISE_IKPSK2);
	shake_hands(all, SR_NOISE_IK);
	seal_and_open(all, SR_SEAL_SUBMISSION);
	seal_and_open(all, SR_SEAL_COMPLETION);
	if (control)
		branch_on_secret(all);
	sr_secret_free(mem, sizeof *all);

	return ct_end(control, "handshakes, records and ratchet depend on no secret");
}
