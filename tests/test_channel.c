/* SPDX-License-Identifier: MIT */
/* Texts of an operator's conversation, with somebody in between. */
#include "session_rig.h"

#include "sr_channel.h"

#define ROOM (3u * SR_CHANNEL_PIECE_MAX + 1u)

/* In protected memory. */
struct secrets {
	struct sr_noise_keys ours, theirs;
	struct sr_channel up, down; /* who sends, and who receives */
};

static struct secrets *secrets;
static unsigned char text[ROOM], got[ROOM], back[ROOM];
static unsigned char message[SR_CONTROL_BYTES_MAX];

static void start(void)
{
	secrets = rig_secret(sizeof *secrets);
	memset(secrets->ours.send, 1, 32);
	memset(secrets->ours.receive, 2, 32);
	memset(secrets->theirs.send, 2, 32);
	memset(secrets->theirs.receive, 1, 32);
	cr_assert_eq(sr_channel_init(&secrets->up, &secrets->ours, back, sizeof back), 0);
	cr_assert_eq(sr_channel_init(&secrets->down, &secrets->theirs, got, sizeof got), 0);
	for (size_t i = 0; i < sizeof text; i++)
		text[i] = (unsigned char)(i * 7 + (i >> 8));
}

static void stop(void)
{
	if (!secrets)
		return;
	sr_channel_wipe(&secrets->up);
	sr_channel_wipe(&secrets->down);
	sr_secret_free(secrets, sizeof *secrets);
}

TestSuite(channel, .init = start, .fini = stop);

static struct sr_control whole(size_t bytes)
{
	struct sr_control m;

	cr_assert_eq(sr_control_whole(&m, message, bytes), 0);
	return m;
}

static int pass(struct sr_channel *from, struct sr_channel *to, size_t bytes)
{
	size_t at = 0, message_bytes;
	int ret;

	do {
		cr_assert_eq(sr_channel_put(from, message, &message_bytes, text, bytes, &at), 0);
		struct sr_control m = whole(message_bytes);

		ret = sr_channel_take(to, &m);
	} while (at < bytes && ret == -EAGAIN);
	return ret;
}

Test(channel, texts_of_any_length_arrive_both_ways)
{
	static const size_t lengths[] = { 0,
					  1,
					  SR_CHANNEL_PIECE_MAX - 1,
					  SR_CHANNEL_PIECE_MAX,
					  SR_CHANNEL_PIECE_MAX + 1,
					  2 * SR_CHANNEL_PIECE_MAX,
					  ROOM - 1 };

	for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
		cr_assert_eq(pass(&secrets->up, &secrets->down, lengths[i]), 0);
		cr_assert_eq(secrets->down.text_bytes, lengths[i]);
		cr_assert_eq(memcmp(got, text, lengths[i]), 0);
		cr_assert_eq(pass(&secrets->down, &secrets->up, lengths[i]), 0);
		cr_assert_eq(secrets->up.text_bytes, lengths[i]);
		cr_assert_eq(memcmp(back, text, lengths[i]), 0);
	}
}

Test(channel, a_text_longer_than_the_room_ends_it)
{
	cr_assert_eq(pass(&secrets->up, &secrets->down, ROOM), -EMSGSIZE);
	cr_assert_eq(pass(&secrets->up, &secrets->down, 1), -EINVAL);
}

Test(channel, each_changed_bit_ends_it)
{
	size_t bytes = SR_SEALED_BYTES_MIN + 5;

	for (size_t bit = 0; bit < 8 * bytes; bit++) {
		size_t at = 0, message_bytes;
		struct sr_control m;

		stop();
		start();
		cr_assert_eq(sr_channel_put(&secrets->up, message, &message_bytes, text, 5, &at),
			     0);
		cr_assert_eq(message_bytes, bytes);
		message[bit / 8] ^= (unsigned char)(1u << bit % 8);
		if (sr_control_whole(&m, message, bytes))
			continue; /* not even a message */
		cr_assert(sr_channel_take(&secrets->down, &m) < 0, "bit %zu", bit);
		cr_assert_eq(sr_channel_take(&secrets->down, &m), -EINVAL);
		cr_assert_eq(sr_channel_put(&secrets->down, message, &message_bytes, text, 0, &at),
			     -EINVAL);
	}
}

Test(channel, repeated_left_out_and_turned_round_ends_it)
{
	size_t at, bytes;

	for (int how = 0; how < 3; how++) {
		struct sr_control m;

		stop();
		start();
		at = 0;
		cr_assert_eq(sr_channel_put(&secrets->up, message, &bytes, text, 9, &at), 0);
		m = whole(bytes);
		if (how == 0)
			cr_assert_eq(sr_channel_take(&secrets->down, &m), 0);
		if (how == 1) {
			at = 0;
			cr_assert_eq(sr_channel_put(&secrets->up, message, &bytes, text, 9, &at),
				     0);
			m = whole(bytes);
		}
		cr_assert_eq(sr_channel_take(how == 2 ? &secrets->up : &secrets->down, &m),
			     -EBADMSG);
	}
}

/* There is one way to cut a text. */
Test(channel, a_short_piece_that_says_there_is_more_ends_it)
{
	unsigned char sealed[4] = { 1, 'a', 'b', 'c' };
	struct sr_control m;

	cr_assert_eq(sr_aead_seal(&secrets->up.send, message + 8, message + 12, 0, NULL, 0, sealed,
				  4),
		     0);
	sr_put32(message, 28);
	sr_put32(message + 4, SR_CONTROL_SEALED);
	m = whole(28);
	cr_assert_eq(sr_channel_take(&secrets->down, &m), -EPROTO);
}
