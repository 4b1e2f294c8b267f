/* SPDX-License-Identifier: MIT */
/*
 * An agent that has the conversations in which sessions are set up in its hands: changes
 * messages, cuts them, repeats them, takes them to another signer or into another's
 * conversation. No session comes of it, the client says why, and the next one that is
 * left in peace opens.
 */
#include "malice_test.h"
#include "sr_control.h"

#define BEGIN_FLAGS 10u /* in BEGIN; bit 0: with a ticket */

static bool is_up(uint32_t kind)
{
	return kind == SR_CONTROL_ATTEST || kind == SR_CONTROL_BEGIN;
}

/* A ticket would save the client the document: a bit of it, or of the handshake that it
 * comes with, is flipped on its way. */
static bool spoil_ticket(struct malice_talks *t, unsigned int talk, bool up,
			 unsigned char *message, size_t bytes)
{
	if (!up || sr_get32(message + 4) != SR_CONTROL_BEGIN || !(message[BEGIN_FLAGS] & 1))
		return false;
	message[8 + mp_below((uint32_t)bytes - 8)] ^= (unsigned char)(1u << mp_below(8));
	malice_say(t, talk, up, message, bytes);
	return true;
}

static bool fails_as_it_may(int ret)
{
	return ret == -EKEYREJECTED || ret == -EPROTO || ret == -ENOTCONN || ret == -EACCES ||
	       ret == -ETIMEDOUT;
}

/* Nothing of it opens. The client's reason is one of those that it may have. A signer that
 * has seen too many failures lets it come to the attack a little later. */
static void must_fail(const char *what)
{
	uint64_t end_ns = malice_end_ns();
	uint64_t hits = malice->words.hits;

	do {
		int ret = malice_try_open(0, 0, 0);

		MP_CHECK(fails_as_it_may(ret), "%s: %d: %s", what, ret, malice_of(0, 0)->why);
		malice_watch(end_ns, what);
	} while (malice->words.hits == hits);
}

/* Behind attacks that leave admissions and failures for the signer to forget. */
static void honest(void)
{
	malice_arm(0);
	malice_must_open(0, 0, 0);
	malice_all_ok(0, 0, 2);
}

/* ---- bits ---- */

#define BIT(kind, bit) ((uint32_t)(kind) << 24 | (uint32_t)(bit))

/* A bit beyond the message: of those that it has, by the remainder. */
static bool flip(struct malice_talks *t, unsigned int talk, bool up, unsigned char *message,
		 size_t bytes)
{
	uint32_t kind = malice_phase() >> 24;
	size_t bit = (malice_phase() & 0xffffff) % (8 * bytes);

	if (spoil_ticket(t, talk, up, message, bytes))
		return true;
	if (sr_get32(message + 4) != kind || up != is_up(kind))
		return false;
	message[bit / 8] ^= (unsigned char)(1u << bit % 8);
	malice_say(t, talk, up, message, bytes);
	malice_hit();
	return true;
}

static void flip_one(uint32_t kind, uint32_t bit)
{
	char what[64];

	(void)snprintf(what, sizeof what, "bit %u of message %u", bit, kind);
	malice_set_phase(BIT(kind, bit));
	malice_arm(1);
	must_fail(what);
}

/* One of each word of a header, and then anywhere. The length has tests of its own. */
static void bits_of_messages_flipped(void)
{
	static const struct malice_attack attack = { .control = flip };
	static const uint32_t kinds[] = { SR_CONTROL_ATTEST, SR_CONTROL_DOCUMENT, SR_CONTROL_BEGIN,
					  SR_CONTROL_BEGUN };
	uint32_t count = mp_long ? 400 : 10;

	malice_start(&attack, 0);
	for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
		for (uint32_t at = 4; at < 16; at += 2)
			flip_one(kinds[k], 8 * at + mp_below(16));
		honest();
		for (uint32_t i = 0; i < count; i++) {
			flip_one(kinds[k], 8 * 16 + mp_below(1u << 20));
			if (i % 5 == 4)
				honest();
		}
		honest();
		malice_others_go_on(3);
	}
	malice_stop();
}

/* ---- lengths ---- */

enum { SHORTER = 1, HALF, LONGER };

static bool cut(struct malice_talks *t, unsigned int talk, bool up, unsigned char *message,
		size_t bytes)
{
	static unsigned char longer[MALICE_TALK_BYTES];
	uint32_t kind = malice_phase() >> 24;

	if (spoil_ticket(t, talk, up, message, bytes))
		return true;
	if (sr_get32(message + 4) != kind || up != is_up(kind))
		return false;
	malice_hit();
	switch (malice_phase() & 0xff) {
	case SHORTER:
		sr_put32(message, (uint32_t)bytes - 8);
		malice_say(t, talk, up, message, bytes - 8);
		break;
	case HALF: /* and then nothing, ever */
		malice_say(t, talk, up, message, bytes / 2);
		malice_talk_end(&t->talks[talk]);
		break;
	default:
		memset(longer, 0, sizeof longer);
		memcpy(longer, message, bytes);
		sr_put32(longer, (uint32_t)bytes + 8);
		malice_say(t, talk, up, longer, bytes + 8);
		break;
	}
	return true;
}

static void messages_cut_and_stretched(void)
{
	static const struct malice_attack attack = { .control = cut };

	malice_start(&attack, 0);
	for (uint32_t kind = SR_CONTROL_ATTEST; kind <= SR_CONTROL_BEGUN; kind++)
		for (uint32_t how = SHORTER; how <= LONGER; how++) {
			malice_set_phase(BIT(kind, how));
			malice_arm(1);
			must_fail("a message of another length");
			honest();
		}
	malice_stop();
}

/* ---- again ---- */

static struct {
	size_t bytes;
	unsigned char message[SR_RELAY_BYTES_MAX];
} kept[SR_CONTROL_REFUSED + 1];

/* Phase 0 keeps each message; later ones are replaced by the one that was kept. */
static bool replay(struct malice_talks *t, unsigned int talk, bool up, unsigned char *message,
		   size_t bytes)
{
	uint32_t kind = sr_get32(message + 4);

	if (spoil_ticket(t, talk, up, message, bytes))
		return true;
	if (kind < SR_CONTROL_ATTEST || kind > SR_CONTROL_BEGUN || up != is_up(kind))
		return false;
	if (malice_phase() == 0) {
		kept[kind].bytes = bytes;
		memcpy(kept[kind].message, message, bytes);
		return false;
	}
	if (kind != malice_phase())
		return false;
	malice_say(t, talk, up, kept[kind].message, kept[kind].bytes);
	malice_hit();
	return true;
}

static void messages_replayed(void)
{
	static const struct malice_attack attack = { .control = replay };

	malice_start(&attack, 0);
	malice_set_phase(0);
	malice_arm(1);
	malice_must_open(0, 0, 0);
	for (uint32_t kind = SR_CONTROL_ATTEST; kind <= SR_CONTROL_BEGUN; kind++) {
		malice_set_phase(kind);
		malice_arm(1);
		must_fail("a message of before");
		honest();
	}
	malice_stop();
}

/* A whole BEGIN, which led to a session, said again in a conversation of its own. */
static bool again(struct malice_talks *t, unsigned int talk, bool up, unsigned char *message,
		  size_t bytes)
{
	unsigned char answer[SR_RELAY_BYTES_MAX];
	struct pollfd p = { .events = POLLIN };
	ssize_t n = 0;

	if (!up || sr_get32(message + 4) != SR_CONTROL_BEGIN)
		return false;
	malice_say(t, talk, up, message, bytes);
	for (unsigned int i = 0; i < 2; i++) {
		p.fd = malice_talk_connect(t, false);
		(void)!send(p.fd, message, bytes, MSG_NOSIGNAL);
		if (poll(&p, 1, 3000) > 0)
			n = recv(p.fd, answer, sizeof answer, 0);
		(void)close(p.fd);
		MP_CHECK(n <= 0 || sr_get32(answer + 4) == SR_CONTROL_REFUSED,
			 "the same BEGIN is answered by %u", sr_get32(answer + 4));
		malice_hit();
	}
	return true;
}

/* The first has its session, with a ticket and without; the copies get nothing. */
static void handshake_said_again_elsewhere(void)
{
	static const struct malice_attack attack = { .control = again };

	malice_start(&attack, 0);
	for (unsigned int i = 0; i < 4; i++) {
		malice_arm(1);
		malice_must_open(0, 0, 0);
		malice_all_ok(0, 0, 2);
		malice_must_open(0, 0, 0);
		malice_all_ok(0, 0, 2);
	}
	malice_stop();
}

/* ---- of another client ---- */

static unsigned int waiting_talk;
static size_t waiting_bytes;
static unsigned char waiting[SR_RELAY_BYTES_MAX];

/* Two conversations at once: each gets the other's message of the kind. */
static bool swap(struct malice_talks *t, unsigned int talk, bool up, unsigned char *message,
		 size_t bytes)
{
	uint32_t kind = sr_get32(message + 4);

	if (spoil_ticket(t, talk, up, message, bytes))
		return true;
	if (kind != malice_phase() || up != is_up(kind))
		return false;
	malice_hit();
	if (!waiting_bytes) {
		waiting_talk = talk;
		waiting_bytes = bytes;
		memcpy(waiting, message, bytes);
		return true;
	}
	malice_say(t, waiting_talk, up, message, bytes);
	malice_say(t, talk, up, waiting, waiting_bytes);
	waiting_bytes = 0;
	return true;
}

static void ask_for_two(void)
{
	for (uint32_t i = 0; i < 2; i++) {
		struct malice_session *m = malice_of(i, i); /* both out of the others' way */

		m->flags = 0;
		sr_store32_release(&m->generation, m->generation + 1);
	}
}

static void messages_swapped_between_clients(void)
{
	static const struct malice_attack attack = { .control = swap };

	malice_start(&attack, 0);
	for (uint32_t kind = SR_CONTROL_ATTEST; kind <= SR_CONTROL_BEGUN; kind++) {
		uint64_t end_ns = malice_end_ns();

		malice_set_phase(kind);
		malice_arm(1);
		ask_for_two();
		for (uint32_t i = 0; i < 2; i++) {
			const struct malice_session *m = malice_of(i, i);

			while (sr_load32_acquire(&m->tried) != m->generation)
				malice_watch(end_ns, "opening a session");
			MP_CHECK(fails_as_it_may(m->result),
				 "message %u of another client: %d: %s", kind, m->result, m->why);
		}
		honest();
		malice_must_open(1, 1, 0);
		malice_all_ok(1, 1, 2);
	}
	malice_stop();
}

/* ---- of another signer ---- */

static struct mp_rig other;

/* From this kind on the conversation is with the other signer. */
static bool divert(struct malice_talks *t, unsigned int talk, bool up, unsigned char *message,
		   size_t bytes)
{
	if (spoil_ticket(t, talk, up, message, bytes))
		return true;
	if (!up || sr_get32(message + 4) != malice_phase())
		return false;
	malice_talk_divert(t, talk);
	malice_say(t, talk, up, message, bytes);
	malice_hit();
	return true;
}

/* It has the same operators, manifest, keys and image. Its root is another, and its
 * trust file must be the only thing that would make a client believe it. */
static void handshake_taken_to_another_signer(void)
{
	static const struct malice_attack attack = { .control = divert };
	static char stream[300];

	mp_rig_new_sealed(&other, true);
	malice_prepare();
	memcpy(other.keys, malice_rig.keys, sizeof other.keys);
	memcpy(other.operators, malice_rig.operators, sizeof other.operators);
	memcpy(other.manifest, malice_rig.manifest, sizeof other.manifest);
	mp_start_signer(&other);
	(void)snprintf(stream, sizeof stream, "%s", other.stream);
	malice_other = stream;
	malice_start(&attack, 0);
	for (unsigned int i = 0; i < 3; i++) {
		malice_set_phase(SR_CONTROL_ATTEST);
		malice_arm(1);
		must_fail("the document of another signer");
		MP_EQ(malice_of(0, 0)->result, -EKEYREJECTED, "what the client makes of it");
		malice_set_phase(SR_CONTROL_BEGIN);
		must_fail("a handshake with another signer");
		honest();
	}
	malice_stop();
	mp_signal(&other.signer, SIGTERM);
}

static const struct mp_test tests[] = {
	{ "control/bits_of_messages_flipped", bits_of_messages_flipped, 0 },
	{ "control/messages_cut_and_stretched", messages_cut_and_stretched, 0 },
	{ "control/messages_replayed", messages_replayed, 0 },
	{ "control/handshake_said_again_elsewhere", handshake_said_again_elsewhere, 0 },
	{ "control/messages_swapped_between_clients", messages_swapped_between_clients, 0 },
	{ "control/handshake_taken_to_another_signer", handshake_taken_to_another_signer, 0 },
};

int main(int argc, char **argv)
{
	/* What fails for a reason that may go away is tried for so long. */
	malice_timeout_ns = 250ull * SR_NS_PER_MS;
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
