/* SPDX-License-Identifier: MIT */
/*
 * An agent that sits on the stream, and does to records on their way to the signer what
 * it can. Each test is one attack and says what becomes of the orders of the session
 * that it is aimed at. What holds behind all of them is in malice_rig.h and in
 * malice_stop(): no wrong signature, no plaintext, no two sealed replies under one
 * number, one defined status a submit, and the others go on.
 */
#include "malice_test.h"

/* ---- bits of a record ---- */

#define VARIANTS 48u
#define RECORD_BITS (8u * SR_SUB_BYTES_DEFAULT)

static bool flip_up(struct malice_agent *e, const struct malice_frame *f)
{
	static uint32_t bit;
	unsigned char record[SR_SUB_BYTES_MAX];

	if (!f->victim)
		return false;
	for (uint32_t i = 0; i < VARIANTS && bit < RECORD_BITS; i++, bit++) {
		memcpy(record, f->frame.payload, f->frame.payload_bytes);
		record[bit / 8] ^= (unsigned char)(1u << bit % 8);
		malice_send_changed(&e->up, f, record);
		malice_hit();
	}
	malice_send(&e->up, f->raw, f->frame.bytes);
	return true;
}

/* None is taken, and none stands in the way of the true one. */
static void each_bit_of_a_record_flipped(void)
{
	static const struct malice_attack attack = { .up = flip_up };
	long long before;

	malice_start(&attack, 0);
	before = malice_not_taken();
	malice_arm(1);
	malice_one_by_one_ok(RECORD_BITS / VARIANTS + 1);
	MP_EQ(malice->words.hits, RECORD_BITS, "records flipped");
	MP_EQ(malice_not_taken() - before, RECORD_BITS, "records that the signer did not take");
	malice_stop();
}

/* ---- less than was sent ---- */

enum { CUT_RECORD = 1, CUT_STREAM = 2, CUT_SHORT = 3 };

static bool cut_up(struct malice_agent *e, const struct malice_frame *f)
{
	static uint32_t bytes = SR_SUB_BYTES_MIN;
	static uint64_t last = UINT64_MAX;

	if (!f->victim || f->n == last) /* sent again: let it pass */
		return false;
	last = f->n;
	malice_hit();
	switch (malice_phase()) {
	case CUT_RECORD: /* a frame of another length */
		malice_send_record(&e->up, f, f->frame.session, f->frame.epoch, f->frame.payload,
				   bytes);
		malice_send(&e->up, f->raw, f->frame.bytes);
		bytes = bytes + 8 < SR_SUB_BYTES_DEFAULT ? bytes + 8 : SR_SUB_BYTES_MIN;
		return true;
	case CUT_STREAM: /* half a frame, then none */
		malice_send(&e->up, f->raw, 1 + (size_t)f->n * 37 % (f->frame.bytes - 1));
		e->broken = true;
		return true;
	default: /* a frame that is too short for any: the signer hangs up */
		malice_send_record(&e->up, f, f->frame.session, f->frame.epoch, f->frame.payload,
				   16);
		return true;
	}
}

static bool cut_down(struct malice_agent *e, const struct malice_frame *f)
{
	unsigned char record[SR_CMP_BYTES];
	uint32_t bytes = 16 + (uint32_t)(malice->words.hits * 7 % 112);

	if (!f->victim || malice_phase() != 0)
		return false;
	memset(record, 0, sizeof record);
	memcpy(record, f->frame.payload, bytes);
	malice_answer(e, f, record);
	return true;
}

static void truncated(void)
{
	static const struct malice_attack attack = { .up = cut_up, .down = cut_down };

	malice_start(&attack, SR_SESSION_REOPEN);
	malice_set_phase(CUT_RECORD);
	malice_arm(1);
	malice_one_by_one_ok(20);
	malice_set_phase(CUT_STREAM);
	malice_one_by_one_ok(6);
	malice_set_phase(CUT_SHORT);
	malice_one_by_one_ok(2);
	MP_EQ(malice_of(0, 0)->overs, 0, "sessions that ended by it");
	malice_set_phase(0);
	malice_all_forged(16);
	malice_stop();
}

/* ---- another order, and more than once ---- */

/* Each pair of records the other way round. */
static bool swap_up(struct malice_agent *e, const struct malice_frame *f)
{
	static unsigned char held[SR_FRAME_BYTES_MAX];
	static uint32_t held_bytes;

	if (!f->victim)
		return false;
	if (!held_bytes) {
		held_bytes = f->frame.bytes;
		memcpy(held, f->raw, held_bytes);
		return true;
	}
	malice_send(&e->up, f->raw, f->frame.bytes);
	malice_send(&e->up, held, held_bytes);
	held_bytes = 0;
	malice_hit();
	return true;
}

/* What comes late is VOID. A strict session takes nothing any more. */
static void records_swapped(void)
{
	static const struct malice_attack attack = { .up = swap_up };
	const struct malice_session *m;

	malice_start(&attack, 0);
	m = malice_of(0, 0);
	malice_arm(1);
	for (unsigned int strict = 0; strict < 2; strict++)
		for (unsigned int i = 0; i < 8; i++) {
			uint64_t n = m->want;
			uint8_t good = strict ? SR_DENIED : SR_OK;

			if (strict && i == 0) {
				malice_arm(0);
				malice_must_open(0, 0, SR_SESSION_STRICT);
				malice_arm(1);
			}
			malice_order(0, 0, 2);
			malice_settle(0, 0);
			MP_EQ(m->status[n], SR_VOID, "status of what came late");
			MP_EQ(m->status[n + 1], good, "status of what came early");
			MP_EQ(m->policy[n + 1], strict ? SR_POLICY_GAP : 0, "why it was denied");
		}
	MP_EQ(m->over, 0, "how the session has ended");
	malice_stop();
}

static bool twice_up(struct malice_agent *e, const struct malice_frame *f)
{
	static unsigned char old[SR_FRAME_BYTES_MAX];
	static uint32_t old_bytes;

	if (!f->victim)
		return false;
	for (unsigned int i = 0; i < 3; i++)
		malice_send(&e->up, f->raw, f->frame.bytes);
	if (old_bytes) /* as it was sealed for another session, or for this one long ago */
		malice_send(&e->up, old, old_bytes);
	if (!old_bytes || f->n % 16 == 0) {
		old_bytes = f->frame.bytes;
		memcpy(old, f->raw, old_bytes);
		sr_put32(old + 4, f->frame.session);
	}
	malice_hit();
	return true;
}

/* The signer answers a repeat with the same bytes, and signs nothing for it. */
static void records_replayed(void)
{
	static const struct malice_attack attack = { .up = twice_up };
	long long signed_before;
	uint64_t ok_before;

	malice_start(&attack, 0);
	ok_before = malice_sum(SR_OK);
	signed_before = malice_counter(SR_FIELD_SIGNED_OK);
	malice_arm(1);
	malice_one_by_one_ok(100);
	MP_EQ(malice_counter(SR_FIELD_SIGNED_OK) - signed_before,
	      malice_sum(SR_OK) - ok_before, "signatures made");
	MP_CHECK(malice_counter(SR_FIELD_REPEATS) >= 200, "no repeat was answered");
	malice_arm(0);
	malice_must_open(0, 0, 0);
	malice_arm(1);
	malice_one_by_one_ok(20);
	malice_stop();
}

/* ---- too late ---- */

enum { HOLD = 1, RELEASE = 2 };

static unsigned char held_frames[64 * SR_FRAME_BYTES_MAX];
static size_t held_bytes;

static bool hold(const struct malice_frame *f)
{
	if (!f->victim || malice_phase() != HOLD ||
	    held_bytes > sizeof held_frames - SR_FRAME_BYTES_MAX)
		return false;
	memcpy(held_frames + held_bytes, f->raw, f->frame.bytes);
	held_bytes += f->frame.bytes;
	malice_hit();
	return true;
}

static bool hold_up(struct malice_agent *e, const struct malice_frame *f)
{
	(void)e;
	return hold(f);
}

static void release_up(struct malice_agent *e)
{
	if (malice_phase() != RELEASE || !held_bytes)
		return;
	malice_send(&e->up, held_frames, held_bytes);
	held_bytes = 0;
}

static void release_down(struct malice_agent *e)
{
	if (malice_phase() != RELEASE || !held_bytes)
		return;
	malice_send(&e->down, held_frames, held_bytes);
	held_bytes = 0;
}

/* Never OK, whatever comes then, and never a second answer; the session goes on. */
static void delayed(const struct malice_attack *attack)
{
	const struct malice_session *m;

	malice_start(attack, 0);
	m = malice_of(0, 0);
	malice_arm(1);
	for (unsigned int i = 0; i < 5; i++) {
		uint64_t n = m->want;

		malice_set_phase(HOLD);
		malice_of(0, 0)->deadline_ns = 20ull * SR_NS_PER_MS;
		malice_order(0, 0, 8);
		malice_settle(0, 0);
		for (uint64_t k = n; k < m->want; k++)
			MP_CHECK(m->status[k] == SR_UNKNOWN, "what was held is %s",
				 sr_status_name(m->status[k]));
		malice_of(0, 0)->deadline_ns = 0;
		malice_set_phase(RELEASE);
		malice_all_ok(0, 0, 8);
	}
	MP_EQ(m->stats.swallowed, m->by_status[SR_UNKNOWN], "answers that came too late");
	MP_EQ(m->over, 0, "how the session has ended");
	malice_stop();
}

static void records_delayed_past_the_deadline(void)
{
	static const struct malice_attack attack = { .up = hold_up, .tick = release_up };

	delayed(&attack);
}

static bool hold_down(struct malice_agent *e, const struct malice_frame *f)
{
	(void)e;
	return hold(f);
}

static void completions_delayed_past_the_deadline(void)
{
	static const struct malice_attack attack = { .down = hold_down, .tick = release_down };

	delayed(&attack);
}

/* ---- from one session and direction to another ---- */

static bool splice_up(struct malice_agent *e, const struct malice_frame *f)
{
	unsigned char record[SR_SUB_BYTES_MAX] = { 0 };
	const struct sr_agent_loop *l = &e->agent->loop;

	if (!f->victim)
		return false;
	for (uint32_t i = 0; i < l->session_count[1]; i++) {
		const struct sr_agent_session *other = l->sessions[1][i];

		if (other == f->session || other->phase != SR_AGENT_BOUND)
			continue;
		/* As it is, and as if it were the other's next, or one that it has sent. */
		memcpy(record, f->frame.payload, f->frame.payload_bytes);
		malice_send_record(&e->up, f, other->id, other->epoch, record,
				   f->frame.payload_bytes);
		sr_put64(record, other->first + other->next_send);
		malice_send_record(&e->up, f, other->id, other->epoch, record,
				   f->frame.payload_bytes);
		sr_put64(record, other->first + other->next_send - 1);
		malice_send_record(&e->up, f, other->id, other->epoch, record,
				   f->frame.payload_bytes);
		malice_hit();
	}
	/* A completion is no record. */
	memset(record, 0, sizeof record);
	memcpy(record, sr_slot_at(&f->session->completion, f->session->first + f->n - 1),
	       SR_CMP_BYTES);
	malice_send_changed(&e->up, f, record);
	sr_put64(record, f->session->first + f->n);
	malice_send_changed(&e->up, f, record);
	malice_send(&e->up, f->raw, f->frame.bytes);
	return true;
}

static void records_spliced_into_other_sessions(void)
{
	static const struct malice_attack attack = { .up = splice_up };
	long long before;

	malice_start(&attack, 0);
	before = malice_not_taken();
	malice_arm(1);
	for (unsigned int i = 0; i < 20; i++) {
		malice_one_by_one_ok(2);
		malice_others_go_on(2);
	}
	MP_EQ(malice_not_taken() - before, 3 * (long long)malice->words.hits + 2 * 40,
	      "records that the signer did not take");
	MP_EQ(malice_counter(SR_FIELD_ENDED_HOSTILE), 0, "sessions ended");
	malice_stop();
}

static const struct mp_test tests[] = {
	{ "malice/each_bit_of_a_record_flipped", each_bit_of_a_record_flipped, 0 },
	{ "malice/truncated", truncated, 0 },
	{ "malice/records_swapped", records_swapped, 0 },
	{ "malice/records_replayed", records_replayed, 0 },
	{ "malice/records_delayed_past_the_deadline", records_delayed_past_the_deadline, 0 },
	{ "malice/completions_delayed_past_the_deadline", completions_delayed_past_the_deadline,
	  0 },
	{ "malice/records_spliced_into_other_sessions", records_spliced_into_other_sessions, 0 },
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
