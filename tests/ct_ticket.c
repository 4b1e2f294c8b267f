/* SPDX-License-Identifier: MIT */
/*
 * ct_ticket.c - does a branch or an index of tickets or of sealed keys depend on a
 * secret?
 *
 * As ct_noise.c does it, with the same suppressions: secrets are marked as undefined
 * memory, memcheck reports what depends on one. Public are a ticket and its tag,
 * whether it was the right one, a blob, and the public key of what is sealed in it.
 *
 * Exit code 0: nothing was reported. --control branches on a secret once and succeeds
 * only when that is reported. Without valgrind the program fails, unless it is told
 * --no-valgrind.
 */
#include "ct_main.h"
#include "sr_blob.h"
#include "sr_curve.h"
#include "sr_secret.h"
#include "sr_ticket.h"

/* In protected memory. */
struct all {
	struct sr_ticket_key key;
	struct sr_noise_pair sender, recipient;
	unsigned char random[32];
	unsigned char secret[SR_BLOB_SECRET_BYTES];
	unsigned char opened[SR_BLOB_SECRET_BYTES];
};

static void fill(unsigned char *secret, unsigned char with)
{
	memset(secret, with, 32);
	(void)VALGRIND_MAKE_MEM_UNDEFINED(secret, 32);
}

static void tickets(struct all *all)
{
	struct sr_ticket ticket = { .serial = 1, .expires_ns = 10 }, read;
	const struct sr_ticket_expect expect = { .client = ticket.client, .now_ns = 5 };
	unsigned char bytes[SR_TICKET_BYTES];

	fill(all->random, 1);
	REQUIRE(sr_ticket_key_init(&all->key, all->random) == 0);
	REQUIRE(sr_ticket_issue(&all->key, &ticket, 1) == 0);
	sr_ticket_put(bytes, &ticket);
	REQUIRE(sr_ticket_get(&read, bytes, sizeof bytes) == 0);
	REQUIRE(sr_ticket_verify(&all->key, &read, &expect) == 0);
	REQUIRE(sr_ticket_secret(&all->key, all->opened, &read) == 0);
	read.tag[0] ^= 1;
	REQUIRE(sr_ticket_verify(&all->key, &read, &expect) == -EBADMSG);
}

static int pubkey(const void *arg, unsigned char out[SR_BLOB_PUBKEY_BYTES],
		  const unsigned char secret[SR_BLOB_SECRET_BYTES])
{
	return sr_curve_pubkey(arg, out, NULL, secret);
}

static void blobs(struct all *all)
{
	unsigned char blob[SR_BLOB_BYTES], sender[SR_NOISE_KEY_BYTES];
	struct sr_blob_info info = { .id = 7 };
	struct sr_blob_curve by = { .pubkey = pubkey };
	const struct sr_blob_seal seal = {
		.info = &info,
		.secret = all->secret,
		.recipient = all->recipient.pub,
		.sender = &all->sender,
		.ephemeral = all->random,
		.curve = &by,
	};
	struct sr_curve *curve;

	fill(all->random, 2);
	REQUIRE(sr_curve_new(&curve, all->random) == 0);
	by.arg = curve;
	fill(all->random, 3);
	fill(all->secret, 4);
	fill(all->sender.secret, 5);
	fill(all->recipient.secret, 6);
	REQUIRE(sr_noise_pair_make(&all->sender, all->sender.secret) == 0);
	REQUIRE(sr_noise_pair_make(&all->recipient, all->recipient.secret) == 0);
	REQUIRE(sr_curve_pubkey(curve, info.pubkey, NULL, all->secret) == 0);
	REQUIRE(sr_blob_seal(blob, &seal) == 0);
	REQUIRE(sr_blob_open(&info, all->opened, sender, blob, sizeof blob, &all->recipient, &by) ==
		0);
	sr_curve_delete(curve);
}

static void branch_on_secret(const struct all *all)
{
	static volatile unsigned int taken;

	if (all->opened[5] & 1)
		taken++;
}

int main(int argc, char **argv)
{
	bool control = ct_begin(argc, argv);
	struct all *all;
	void *mem;

	REQUIRE(sr_secret_alloc(&mem, sizeof *all) == 0);
	all = mem;
	tickets(all);
	blobs(all);
	if (control)
		branch_on_secret(all);
	sr_secret_free(mem, sizeof *all);

	return ct_end(control, "tickets and sealed keys depend on no secret");
}
