/* SPDX-License-Identifier: MIT */
/*
 * An agent that sits on the completion region, and writes there what it likes: what was
 * changed, what is old, what is another's; and while the client reads. A completion that
 * the signer did not make ends the session, its order is UNKNOWN, and nothing else
 * happens. What holds behind every attack: mp_malicious.c.
 */
#include "malice_test.h"

/* ---- bits of a completion ---- */

static bool flip_down(struct malice_agent *e, const struct malice_frame *f)
{
	unsigned char record[SR_CMP_BYTES];
	uint32_t bit = malice_phase();

	if (!f->victim)
		return false;
	memcpy(record, f->frame.payload, sizeof record);
	record[bit / 8] ^= (unsigned char)(1u << bit % 8);
	malice_publish(f->session, f->n, record, true);
	malice_books(f->session, f->n);
	malice_credit(e);
	malice_hit();
	return true;
}

/* Two are no forgery. A slot word that means "not yet": the order waits for its deadline.
 * And a kind that says that the agent gives its own word, which is nothing. */
static void flip_one(uint32_t bit)
{
	uint32_t overs = malice_of(0, 0)->overs;
	bool depth = bit < 64 && 1ull << bit == MALICE_DEPTH;
	bool word = bit / 8 == SR_CMP_KIND && (SR_KIND_SEALED ^ 1u << bit % 8) == SR_KIND_AGENT;
	uint8_t status;

	malice_of(0, 0)->deadline_ns = depth ? 50ull * SR_NS_PER_MS : 20ull * SR_NS_PER_S;
	malice_set_phase(bit);
	status = malice_one(0, 0);
	if (!depth && !word) {
		malice_expect_forged(overs, status);
		return;
	}
	MP_EQ(status, SR_UNKNOWN, "status of an order that is not answered");
	malice_arm(0);
	malice_must_open(0, 0, SR_SESSION_REOPEN);
	malice_arm(1);
}

static void each_bit_of_a_completion_flipped(void)
{
	static const struct malice_attack attack = { .down = flip_down };

	malice_start(&attack, SR_SESSION_REOPEN);
	malice_arm(1);
	for (uint32_t bit = 0; bit < 8 * SR_CMP_BYTES; bit++)
		flip_one(bit);
	MP_EQ(malice->words.hits, 8 * SR_CMP_BYTES, "completions flipped");
	MP_EQ(malice->words.hits, malice_of(0, 0)->by_status[SR_UNKNOWN], "orders without an end");
	malice_of(0, 0)->deadline_ns = 0;
	malice_stop();
}

/* ---- of before ---- */

/* A completion of before in the slot of now, with the word of now. */
static bool old_down(struct malice_agent *e, const struct malice_frame *f)
{
	static unsigned char old[SR_CMP_BYTES];
	static bool has_old;
	unsigned char record[SR_CMP_BYTES];

	if (!f->victim)
		return false;
	if (!has_old || malice_phase() == 0) {
		memcpy(old, f->frame.payload, sizeof old);
		has_old = true;
		return false;
	}
	memcpy(record, old, sizeof record);
	sr_put64(record, f->session->first + f->n);
	malice_answer(e, f, record);
	return true;
}

static void completions_replayed(void)
{
	static const struct malice_attack attack = { .down = old_down };

	malice_start(&attack, SR_SESSION_REOPEN);
	malice_arm(1);
	for (unsigned int i = 0; i < 8; i++) {
		malice_set_phase(0);
		malice_one_by_one_ok(2);
		malice_set_phase(1); /* of the number before; then of the session before */
		malice_all_forged(2);
	}
	malice_stop();
}

/* ---- of another session, or direction ---- */

/* The victim gets another's completion, or its own record, as its completion. */
static bool splice_down(struct malice_agent *e, const struct malice_frame *f)
{
	static unsigned char other[SR_CMP_BYTES];
	unsigned char record[SR_CMP_BYTES];

	if (!f->victim) {
		memcpy(other, f->frame.payload, sizeof other);
		return false;
	}
	if (malice->words.hits % 2)
		memcpy(record, other, sizeof record);
	else
		memcpy(record, sr_slot_at(&f->session->submission, f->session->first + f->n),
		       sizeof record);
	record[SR_CMP_KIND] = SR_KIND_SEALED;
	malice_answer(e, f, record);
	return true;
}

static void completions_spliced_into_a_session(void)
{
	static const struct malice_attack attack = { .down = splice_down };

	malice_start(&attack, SR_SESSION_REOPEN);
	malice_arm(1);
	for (unsigned int i = 0; i < 10; i++) {
		malice_others_go_on(2);
		malice_all_forged(2);
	}
	malice_stop();
}

/* ---- while it is being opened ---- */

enum { REWRITE = 1, STOP_IT, IDLE };

static struct {
	pthread_t thread;
	bool started;
	uint64_t slot; /* address; 0: nothing to rewrite */
	uint32_t at;
} writer;

/* One byte of what is encrypted, there and back, at full speed: half of the time what
 * lies there is authentic, so who reads it twice can be made to read two things. */
static void *rewrite(void *arg)
{
	(void)arg;
	for (uint64_t i = 1;; i++) {
		unsigned char *slot = (unsigned char *)(uintptr_t)sr_load_acquire(&writer.slot);

		/* When it is over the region goes, and nobody may write to it. */
		if (!slot || malice_phase() != REWRITE) {
			malice_set_phase(IDLE);
			(void)sched_yield();
			continue;
		}
		for (unsigned int k = 0; k < 200; k++) {
			__atomic_fetch_xor(slot + writer.at, 0x10, __ATOMIC_RELAXED);
			for (uint64_t wait = i % 7; wait; wait--)
				sr_pause();
		}
	}
	return NULL;
}

static bool rewrite_down(struct malice_agent *e, const struct malice_frame *f)
{
	if (!f->victim)
		return false;
	malice_set_phase(REWRITE);
	if (!writer.started)
		MP_EQ(pthread_create(&writer.thread, NULL, rewrite, NULL), 0, "pthread_create");
	writer.started = true;
	sr_store_release(&writer.slot, 0);
	writer.at = SR_CMP_BODY + SR_REP_STATUS + (uint32_t)(malice->words.hits * 5 % 88);
	malice_publish(f->session, f->n, f->frame.payload, false);
	sr_store_release(&writer.slot,
			 (uint64_t)(uintptr_t)sr_slot_at(&f->session->completion,
							 f->session->first + f->n));
	malice_books(f->session, f->n);
	malice_credit(e);
	malice_hit();
	return true;
}

static void slot_rewritten_while_it_is_opened(void)
{
	static const struct malice_attack attack = { .down = rewrite_down };
	uint64_t end_ns;
	const struct malice_session *m;

	malice_start(&attack, SR_SESSION_REOPEN);
	m = malice_of(0, 0);
	malice_arm(1);
	end_ns = sr_now_ns() + (mp_long ? 120 : 3) * (uint64_t)SR_NS_PER_S;
	while (sr_now_ns() < end_ns && m->want < MALICE_ORDERS - 100) {
		uint8_t status = malice_one(0, 0);

		MP_CHECK(status == SR_OK || status == SR_UNKNOWN, "status %s",
			 sr_status_name(status));
	}
	malice_arm(0);
	malice_set_phase(STOP_IT);
	while (malice_phase() != IDLE)
		malice_watch(end_ns + 60ull * SR_NS_PER_S, "the thread that rewrites");
	MP_CHECK(m->by_status[SR_OK] > 3 || m->by_status[SR_UNKNOWN] > 0, "nothing came of it");
	(void)printf("# %s: %llu opened whole, %llu not\n", mp_name,
		     (unsigned long long)m->by_status[SR_OK],
		     (unsigned long long)m->by_status[SR_UNKNOWN]);
	malice_stop();
}

static const struct mp_test tests[] = {
	{ "completions/each_bit_of_a_completion_flipped", each_bit_of_a_completion_flipped, 0 },
	{ "completions/completions_replayed", completions_replayed, 0 },
	{ "completions/completions_spliced_into_a_session", completions_spliced_into_a_session, 0 },
	{ "completions/slot_rewritten_while_it_is_opened", slot_rewritten_while_it_is_opened, 0 },
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
