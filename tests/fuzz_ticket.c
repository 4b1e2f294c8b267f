/* SPDX-License-Identifier: MIT */
/*
 * fuzz_ticket.c - arbitrary bytes, and tickets that are nearly right.
 *
 * The input's first byte chooses: the rest as it is, or an issued ticket with the
 * rest laid over it at some offset, or cut. Checked besides what the sanitizers see:
 * what is read is written again as the same bytes; only the issued one verifies.
 */
#include "sr_ticket.h"

#define FUZZ_NAME "ticket"
#define FUZZ_INPUT_BYTES (2u * SR_TICKET_BYTES)
#include "fuzz_main.h"

static struct sr_ticket_key key;
static struct sr_ticket issued;
static unsigned char real[SR_TICKET_BYTES];

static void start(void)
{
	static const unsigned char secret[SR_TICKET_KEY_BYTES] = { 3 };

	require(sr_ticket_key_init(&key, secret) == 0, "no key");
	issued.boot_id[0] = 5;
	issued.client[0] = 6;
	issued.serial = 7;
	issued.expires_ns = 8;
	require(sr_ticket_issue(&key, &issued, 1) == 0, "no ticket");
	sr_ticket_put(real, &issued);
}

static void judge(const unsigned char *in, size_t bytes)
{
	const struct sr_ticket_expect expect = { { 5, 0 }, issued.client, 1 };
	bool is_real = bytes == sizeof real && !memcmp(in, real, sizeof real);
	unsigned char again[SR_TICKET_BYTES], untouched[sizeof(struct sr_ticket)];
	struct sr_ticket ticket;
	int ret;

	memset(untouched, 0x5a, sizeof untouched);
	memset(&ticket, 0x5a, sizeof ticket);
	ret = sr_ticket_get(&ticket, in, bytes);
	if (ret) {
		require(!is_real, "the issued one is not read");
		require(ret == -EMSGSIZE || ret == -EPROTO, "an error that get does not have");
		require(!memcmp(&ticket, untouched, sizeof ticket), "output touched on failure");
		return;
	}
	sr_ticket_put(again, &ticket);
	require(bytes == sizeof again && !memcmp(again, in, sizeof again), "two spellings");
	ret = sr_ticket_verify(&key, &ticket, &expect);
	require((ret == 0) == is_real, "verified what was not issued, or refused what was");
	require(ret == 0 || ret == -ESTALE || ret == -EBADMSG, "an error that is not due");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	unsigned char made[SR_TICKET_BYTES];
	size_t at;

	if (bytes < 2)
		return 0;
	if (!key.ready)
		start();
	at = data[1] % (sizeof made + 1);
	switch (data[0] % 3) {
	case 0:
		judge(data + 1, bytes - 1);
		break;
	case 1:
		judge(real, at);
		break;
	default:
		memcpy(made, real, sizeof made);
		for (size_t i = 2; i < bytes && at < sizeof made; i++)
			made[at++] ^= data[i];
		judge(made, sizeof made);
		break;
	}
	return 0;
}
