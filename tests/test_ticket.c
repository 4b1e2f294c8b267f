/* SPDX-License-Identifier: MIT */
/* Tickets: what is in one, who may use it, and that nothing else is one. */
#define OPENSSL_API_COMPAT 10100
#include "session_rig.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sr_ticket.h"

#define NOW (UINT64_MAX / 2)
#define LIFE UINT64_C(3600000000000)

static struct sr_ticket_key *key;
static struct sr_ticket ticket;
static unsigned char bytes[SR_TICKET_BYTES];

static struct sr_ticket_expect expect_of(const struct sr_ticket *t)
{
	return (struct sr_ticket_expect){
		.boot_id = { t->boot_id[0], t->boot_id[1] },
		.client = t->client,
		.now_ns = NOW,
	};
}

static int verify(const struct sr_ticket *t)
{
	struct sr_ticket_expect expect = expect_of(&ticket);

	return sr_ticket_verify(key, t, &expect);
}

static void begin(void)
{
	unsigned char secret[SR_TICKET_KEY_BYTES];

	key = rig_secret(sizeof *key);
	for (unsigned char i = 0; i < sizeof secret; i++)
		secret[i] = (unsigned char)(0x80 + i);
	cr_assert_eq(sr_ticket_key_init(key, secret), 0);
	ticket = (struct sr_ticket){
		.boot_id = { 0x0123456789abcdef, 0xfedcba9876543210 },
		.serial = UINT64_MAX,
		.expires_ns = NOW + LIFE,
	};
	for (unsigned char i = 0; i < sizeof ticket.client; i++)
		ticket.client[i] = i;
	cr_assert_eq(sr_ticket_issue(key, &ticket, NOW), 0);
	sr_ticket_put(bytes, &ticket);
}

static void end(void)
{
	sr_secret_free(key, sizeof *key);
}

TestSuite(ticket, .init = begin, .fini = end);

Test(ticket, issued_ticket_opens_for_its_client)
{
	struct sr_ticket read;

	cr_assert_eq(verify(&ticket), 0);
	cr_assert_eq(sr_ticket_get(&read, bytes, sizeof bytes), 0);
	cr_assert_eq(memcmp(&read, &ticket, sizeof read), 0);
	cr_assert_eq(verify(&read), 0);
}

Test(ticket, bytes_are_the_documented_ones)
{
	static const char head[] =
		"7372746b0100"
		"0000"
		"efcdab8967452301"
		"1032547698badcfe"
		"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
		"ffffffffffffffff";
	unsigned char want[64];

	cr_assert_eq(rig_unhex(want, sizeof want, head), sizeof want);
	cr_assert_arr_eq(bytes, want, sizeof want);
	cr_assert_eq(sr_get64(bytes + 64), NOW + LIFE);
}

/* RFC 2104 by another's hand: the library's, with its own key blocks. */
Test(ticket, tag_and_secret_are_hmac_under_two_labels)
{
	unsigned char secret[SR_TICKET_KEY_BYTES], message[19 + 72], want[32], got[32];
	unsigned int done;

	for (unsigned char i = 0; i < sizeof secret; i++)
		secret[i] = (unsigned char)(0x80 + i);
	memcpy(message, "sigring ticket tag", 19);
	memcpy(message + 19, bytes, 72);
	cr_assert(HMAC(EVP_sha256(), secret, 32, message, sizeof message, want, &done));
	cr_assert_arr_eq(bytes + 72, want, 32);

	memcpy(message, "sigring ticket psk", 19);
	cr_assert(HMAC(EVP_sha256(), secret, 32, message, sizeof message, want, &done));
	cr_assert_eq(sr_ticket_secret(key, got, &ticket), 0);
	cr_assert_arr_eq(got, want, 32);
	cr_assert_neq(memcmp(got, ticket.tag, 32), 0, "the tag, which travels in clear");
}

Test(ticket, secret_differs_with_every_field)
{
	unsigned char first[32], other[32];
	struct sr_ticket t = ticket;

	cr_assert_eq(sr_ticket_secret(key, first, &ticket), 0);
	t.serial--;
	cr_assert_eq(sr_ticket_secret(key, other, &t), 0);
	cr_assert_neq(memcmp(first, other, 32), 0);
	t = ticket;
	t.client[31] ^= 1;
	cr_assert_eq(sr_ticket_secret(key, other, &t), 0);
	cr_assert_neq(memcmp(first, other, 32), 0);
}

Test(ticket, every_flipped_bit_is_refused)
{
	for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
		struct sr_ticket read;
		int ret;

		bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
		ret = sr_ticket_get(&read, bytes, sizeof bytes);
		if (bit < 64)
			cr_assert_eq(ret, -EPROTO, "bit %zu", bit);
		else
			cr_assert_eq(ret, 0);
		if (!ret)
			cr_assert_eq(verify(&read), bit < 24 * 8 ? -ESTALE : -EBADMSG, "bit %zu",
				     bit);
		bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
	}
}

Test(ticket, every_other_length_is_refused_and_nothing_written)
{
	unsigned char longer[SR_TICKET_BYTES + 8] = { 0 };
	struct sr_ticket read, before;

	memset(&read, 0x5a, sizeof read);
	before = read;
	memcpy(longer, bytes, sizeof bytes);
	for (size_t n = 0; n <= sizeof longer; n++)
		if (n != SR_TICKET_BYTES)
			cr_assert_eq(sr_ticket_get(&read, longer, n), -EMSGSIZE);
	longer[6] = 1;
	cr_assert_eq(sr_ticket_get(&read, longer, SR_TICKET_BYTES), -EPROTO);
	cr_assert_eq(memcmp(&read, &before, sizeof read), 0);
}

Test(ticket, another_client_may_not_use_it)
{
	unsigned char other[SR_TICKET_CLIENT_BYTES];
	struct sr_ticket_expect expect = expect_of(&ticket);

	memcpy(other, ticket.client, sizeof other);
	other[0] ^= 1;
	expect.client = other;
	cr_assert_eq(sr_ticket_verify(key, &ticket, &expect), -EACCES);
}

Test(ticket, another_boot_refuses_it_twice_over)
{
	static const unsigned char secret[SR_TICKET_KEY_BYTES] = { 1 };
	struct sr_ticket_expect expect = expect_of(&ticket);

	expect.boot_id[1]++;
	cr_assert_eq(sr_ticket_verify(key, &ticket, &expect), -ESTALE);
	expect.boot_id[1]--;
	expect.boot_id[0]--;
	cr_assert_eq(sr_ticket_verify(key, &ticket, &expect), -ESTALE);

	expect.boot_id[0]++;
	cr_assert_eq(sr_ticket_key_init(key, secret), 0);
	cr_assert_eq(sr_ticket_verify(key, &ticket, &expect), -EBADMSG);
}

Test(ticket, expires_at_its_moment)
{
	struct sr_ticket_expect expect = expect_of(&ticket);

	expect.now_ns = ticket.expires_ns - 1;
	cr_assert_eq(sr_ticket_verify(key, &ticket, &expect), 0);
	expect.now_ns = ticket.expires_ns;
	cr_assert_eq(sr_ticket_verify(key, &ticket, &expect), -ETIME);
	expect.now_ns = UINT64_MAX;
	cr_assert_eq(sr_ticket_verify(key, &ticket, &expect), -ETIME);
}

Test(ticket, issue_bounds_its_life)
{
	struct sr_ticket t = ticket;

	memset(t.tag, 0x5a, sizeof t.tag);
	t.expires_ns = NOW;
	cr_assert_eq(sr_ticket_issue(key, &t, NOW), -EINVAL);
	t.expires_ns = NOW + SR_TICKET_LIFE_NS_MAX + 1;
	cr_assert_eq(sr_ticket_issue(key, &t, NOW), -EINVAL);
	t.expires_ns = 5;
	cr_assert_eq(sr_ticket_issue(key, &t, UINT64_MAX), -EINVAL, "no wrap");
	cr_assert(t.tag[0] == 0x5a && t.tag[31] == 0x5a, "the tag is untouched");
	t.expires_ns = NOW + SR_TICKET_LIFE_NS_MAX;
	cr_assert_eq(sr_ticket_issue(key, &t, NOW), 0);
}

Test(ticket, child_has_no_key)
{
	unsigned char secret[32];
	pid_t pid = fork();
	int status;

	cr_assert_geq(pid, 0);
	if (pid == 0) {
		bool refused = sr_ticket_issue(key, &ticket, NOW) == -ENOKEY &&
			       verify(&ticket) == -ENOKEY &&
			       sr_ticket_secret(key, secret, &ticket) == -ENOKEY;

		_exit(refused ? 0 : 1);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0);
}

Test(ticket, nothing_is_allocated)
{
	struct sr_ticket read;
	unsigned char secret[32];
	unsigned long before;

	rig_need_allocation_count();
	before = rig_allocations;
	cr_expect_eq(sr_ticket_issue(key, &ticket, NOW), 0);
	sr_ticket_put(bytes, &ticket);
	cr_expect_eq(sr_ticket_get(&read, bytes, sizeof bytes), 0);
	cr_expect_eq(verify(&read), 0);
	cr_expect_eq(sr_ticket_secret(key, secret, &read), 0);
	cr_assert_eq(rig_allocations, before);
}
