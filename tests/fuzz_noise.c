/* SPDX-License-Identifier: MIT */
/*
 * fuzz_noise.c - arbitrary bytes, and messages that are nearly right, into both
 * ends of the three handshakes.
 *
 * The input's first byte chooses pattern, reader and how the message is made:
 * the rest as it is, or the peer's honest message with the rest laid over it at
 * some offset, or cut. Checked besides what the sanitizers see: only the honest
 * message is accepted; what is refused leaves the outputs untouched and the
 * handshake wiped.
 */
#include "sr_noise.h"

#define FUZZ_NAME "noise"
#define INPUT_MAX (SR_NOISE_MESSAGE_MAX + 64u)
#define FUZZ_INPUT_BYTES (INPUT_MAX + 8u)
#include "fuzz_main.h"

#define PAYLOAD 24u

static struct sr_noise_pair statics[2];
static struct sr_noise_config configs[3][2];

static void start(void)
{
	static unsigned char ephemerals[2][SR_NOISE_KEY_BYTES];

	for (unsigned char i = 0; i < 2; i++) {
		memset(statics[i].secret, 7 + i, SR_NOISE_KEY_BYTES);
		memset(ephemerals[i], 70 + i, SR_NOISE_KEY_BYTES);
		require(sr_noise_pair_make(&statics[i], statics[i].secret) == 0, "no key");
	}
	for (int pattern = 0; pattern < 3; pattern++) {
		for (int i = 0; i < 2; i++) {
			struct sr_noise_config *config = &configs[pattern][i];

			config->pattern = (enum sr_noise_pattern)pattern;
			config->initiator = i == 0;
			config->s = &statics[i];
			config->rs = i == 0 ? statics[1].pub : NULL;
			config->ephemeral = ephemerals[i];
		}
	}
}

static void begin(struct sr_noise noise[2], uint32_t pattern)
{
	static const unsigned char psk[SR_NOISE_KEY_BYTES] = { 9 };

	for (int i = 0; i < 2; i++) {
		require(sr_noise_init(&noise[i], &configs[pattern][i]) == 0, "no handshake");
		if (pattern == SR_NOISE_IKPSK2)
			require(sr_noise_set_psk(&noise[i], psk) == 0, "no shared secret");
	}
}

/* Writes the next honest message of one end. */
static size_t honest(struct sr_noise *noise, unsigned char message[SR_NOISE_MESSAGE_MAX])
{
	static const unsigned char payload[PAYLOAD] = { 1, 2, 3 };
	size_t bytes = 0;

	require(sr_noise_write(noise, message, &bytes, SR_NOISE_MESSAGE_MAX, payload, PAYLOAD) == 0,
		"an end does not write");
	return bytes;
}

static void read_one(struct sr_noise *reader, const unsigned char *message, size_t bytes,
		     bool is_honest)
{
	static const struct sr_noise wiped;
	unsigned char payload[SR_NOISE_PAYLOAD_MAX];
	size_t payload_bytes = 12345;
	int ret;

	memset(payload, 0x5a, sizeof payload);
	ret = sr_noise_read(reader, payload, &payload_bytes, sizeof payload, message, bytes);
	require((ret == 0) == is_honest, "accepted what is not honest, or refused what is");
	if (ret == 0) {
		require(payload_bytes == PAYLOAD && payload[2] == 3, "another payload");
		return;
	}
	require(ret == -EBADMSG || ret == -EMSGSIZE, "an error that read does not have");
	require(payload_bytes == 12345, "output touched on failure");
	for (size_t i = 0; i < sizeof payload; i++)
		require(payload[i] == 0x5a, "output touched on failure");
	require(memcmp(reader, &wiped, sizeof wiped) == 0, "a failed handshake is not wiped");
}

/* The message under test, from the honest one and the input. */
static size_t make(unsigned char message[INPUT_MAX], const unsigned char *real, size_t real_bytes,
		   uint8_t how, const uint8_t *data, size_t bytes)
{
	size_t at;

	if (how == 0 || bytes < 2) {
		bytes = bytes < INPUT_MAX ? bytes : INPUT_MAX;
		if (bytes)
			memcpy(message, data, bytes);
		return bytes;
	}
	at = (data[0] | (size_t)data[1] << 8) % (real_bytes + 1);
	memcpy(message, real, real_bytes);
	if (how == 1)
		return at;
	for (size_t i = 2; i < bytes && at < real_bytes; i++)
		message[at++] ^= data[i];
	return real_bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct sr_noise noise[2];
	static unsigned char first[SR_NOISE_MESSAGE_MAX], second[SR_NOISE_MESSAGE_MAX],
		message[INPUT_MAX];
	unsigned char *real = first;
	size_t real_bytes, made_bytes;
	uint32_t pattern, reader = 1;
	uint8_t how;

	if (bytes == 0)
		return 0;
	if (!configs[0][0].s)
		start();
	pattern = data[0] % 3;
	how = data[0] / 8 % 4;

	begin(noise, pattern);
	real_bytes = honest(&noise[0], first);
	if (data[0] & 4 && pattern != SR_NOISE_X) {
		read_one(&noise[1], first, real_bytes, true);
		real_bytes = honest(&noise[1], second);
		real = second;
		reader = 0;
	}
	made_bytes = make(message, real, real_bytes, how, data + 1, bytes - 1);
	read_one(&noise[reader], message, made_bytes,
		 made_bytes == real_bytes && memcmp(message, real, real_bytes) == 0);
	sr_noise_wipe(&noise[0]);
	sr_noise_wipe(&noise[1]);
	return 0;
}
