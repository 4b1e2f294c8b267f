/* SPDX-License-Identifier: MIT */
/*
 * An agent that says what is not so, and one that lets through what it likes. Its own
 * words are final (EXPIRED, NOT_SENT, UNKNOWN, SESSION_LOST): nothing of that request is
 * opened later. When the signer's count says that one of them was a lie, the session ends.
 */
#include "malice_test.h"

/* ---- the agent's own word ---- */

enum { INSTEAD = 1, LIE, BEFORE, BEHIND, HONEST };
#define WORD(status, how) ((uint32_t)(how) << 8 | (status))

static bool word_up(struct malice_agent *e, const struct malice_frame *f)
{
	unsigned char record[SR_CMP_BYTES];
	uint32_t how = malice_phase() >> 8;

	if (!f->victim || how == BEHIND || how == HONEST)
		return false;
	malice_word(record, SR_KIND_AGENT, (uint8_t)malice_phase());
	if (how == INSTEAD) {
		malice_answer(e, f, record);
		return true;
	}
	malice_publish(f->session, f->n, record, false);
	malice_books(f->session, f->n);
	malice_hit();
	return false;
}

static bool word_down(struct malice_agent *e, const struct malice_frame *f)
{
	unsigned char record[SR_CMP_BYTES];
	uint32_t how = malice_phase() >> 8;

	(void)e;
	if (!f->victim || how == INSTEAD || how == LIE || how == HONEST)
		return false;
	if (how == BEFORE)
		malice_await_answer(0, 0);
	malice_publish(f->session, f->n, f->frame.payload, false);
	if (how == BEHIND) {
		malice_word(record, SR_KIND_AGENT, (uint8_t)malice_phase());
		malice_publish(f->session, f->n, record, false);
		malice_books(f->session, f->n);
		malice_hit();
	}
	return false;
}

/* What the library makes of an agent's word: four are defined, the rest is UNKNOWN. */
static uint8_t word_means(uint8_t status)
{
	return status == SR_EXPIRED || status == SR_NOT_SENT || status == SR_SESSION_LOST ?
		       status : SR_UNKNOWN;
}

static void check_word(uint8_t word, uint32_t how)
{
	const struct malice_session *m = malice_of(0, 0);
	bool claims = word == SR_EXPIRED || word == SR_NOT_SENT;
	uint32_t overs;
	uint64_t lied;
	uint8_t said;
	uint8_t then;

	malice_arm(0);
	malice_must_open(0, 0, SR_SESSION_REOPEN);
	malice_all_ok(0, 0, 2);
	overs = m->overs;
	lied = m->stats.agent_lied;
	malice_set_phase(WORD(word, how));
	malice_arm(1);
	said = malice_one(0, 0);
	MP_CHECK(said == word_means(word) || (how == BEHIND && said == SR_OK),
		 "word %u, way %u: status %s", word, how, sr_status_name(said));
	malice_set_phase(WORD(0, HONEST));
	then = malice_one(0, 0);
	if (how != INSTEAD && claims && said != SR_OK) {
		MP_CHECK(then == SR_UNKNOWN || then == SR_OK, "after the lie: %s",
			 sr_status_name(then));
		/* The reply that shows the lie is handed out, and the end comes behind it. */
		for (uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;
		     sr_load32_acquire(&m->overs) == overs; mp_sleep_us(100))
			MP_CHECK(sr_now_ns() < end_ns,
				 "a lie (word %u, way %u) that is not noticed", word, how);
		mp_sleep_us(2000);
		MP_EQ(m->stats.agent_lied, lied + 1, "lies that were noticed");
		return;
	}
	MP_CHECK(then == SR_OK, "word %u, way %u: the next order is %s", word, how,
		 sr_status_name(then));
	mp_sleep_us(2000); /* its figures are taken once a round */
	if (said != SR_SESSION_LOST)
		MP_EQ(m->overs, overs, "sessions that have ended");
	/* Of a session that was lost the successor is told the count. */
	MP_EQ(m->stats.agent_lied, lied + (said == SR_SESSION_LOST && how != INSTEAD),
	      "lies that were noticed");
}

static void unsealed_words_forged(void)
{
	static const struct malice_attack attack = { .up = word_up, .down = word_down };
	static const uint8_t words[] = { SR_EXPIRED, SR_NOT_SENT, SR_UNKNOWN, SR_SESSION_LOST,
					 SR_OK, SR_DENIED, SR_BAD_REQUEST, SR_VOID, SR_LATE, 200 };

	malice_start(&attack, SR_SESSION_REOPEN);
	for (uint32_t how = INSTEAD; how <= BEHIND; how++)
		for (size_t i = 0; i < sizeof words; i++)
			check_word(words[i], how);
	malice_stop();
}

/* A reply in clear, with a signature or without, in place of the sealed one. */
static bool clear_down(struct malice_agent *e, const struct malice_frame *f)
{
	unsigned char record[SR_CMP_BYTES];
	unsigned char *reply = record + SR_CMP_BODY;

	if (!f->victim)
		return false;
	malice_word(record, (uint8_t)malice_phase(), 0);
	sr_put16(reply + SR_REP_STATUS, (uint16_t)(malice->words.hits % 4));
	sr_put64(reply + SR_REP_ACCEPTED, f->n + 1);
	reply[SR_REP_SIGKIND] = SR_SIG_ECDSA;
	memset(reply + SR_REP_SIG, 0x11, SR_SIG_BYTES);
	malice_answer(e, f, record);
	return true;
}

static void replies_in_clear_forged(void)
{
	static const struct malice_attack attack = { .down = clear_down };
	static const uint8_t kinds[] = { SR_KIND_UNSEALED, SR_KIND_SEALED, 0, 4, 255 };

	malice_start(&attack, SR_SESSION_REOPEN);
	malice_arm(1);
	for (size_t i = 0; i < sizeof kinds; i++) {
		malice_set_phase(kinds[i]);
		malice_all_forged(4);
	}
	malice_stop();
}

/* ---- the message with which a session begins ---- */

static bool first_up(struct malice_agent *e, const struct malice_frame *f)
{
	unsigned char record[SR_SUB_BYTES_DEFAULT];

	if (!f->first || malice_phase() >= SR_EXPIRED)
		return false;
	memcpy(record, f->frame.payload, sizeof record);
	record[SR_SUB_BODY + malice_phase()] ^= 1;
	malice_send_changed(&e->up, f, record);
	malice_hit();
	return true;
}

static bool first_down(struct malice_agent *e, const struct malice_frame *f)
{
	unsigned char record[SR_CMP_BYTES];

	if (!f->first || malice_phase() < SR_EXPIRED)
		return false;
	memcpy(record, f->frame.payload, sizeof record);
	if (malice_phase() == 255)
		record[SR_CMP_BODY + SR_LAST_ACCEPTED] ^= 1;
	else
		malice_word(record, SR_KIND_AGENT, (uint8_t)malice_phase());
	malice_answer(e, f, record);
	return true;
}

/* There is no session then; what came before it goes on where it is not in the way. */
static void first_messages_forged(void)
{
	static const struct malice_attack attack = { .up = first_up, .down = first_down };
	static const uint8_t phases[] = { 255, SR_EXPIRED, SR_SESSION_LOST, 0 /* the record */ };

	malice_start(&attack, 0);
	for (size_t i = 0; i < sizeof phases; i++) {
		int ret;

		malice_set_phase(phases[i]);
		malice_arm(1);
		ret = malice_try_open(0, 0, 0);
		MP_CHECK(ret == -EPROTO || ret == -ENOTCONN || ret == -ETIMEDOUT,
			 "way %u: %d: %s", phases[i], ret, malice_of(0, 0)->why);
		malice_arm(0);
		malice_must_open(0, 0, 0);
		malice_all_ok(0, 0, 2);
		malice_others_go_on(2);
	}
	malice_stop();
}

/* ---- some and not others ---- */

enum { DROP_AND_SAY = 1, DROP_SILENTLY = 2 };

static bool some_up(struct malice_agent *e, const struct malice_frame *f)
{
	unsigned char record[SR_CMP_BYTES];

	if (!f->victim || f->n % 3)
		return false;
	malice_hit();
	malice_word(record, SR_KIND_AGENT, SR_NOT_SENT);
	if (malice_phase() == DROP_AND_SAY)
		malice_answer(e, f, record);
	else
		malice_credit(e);
	return true;
}

/* The rest is signed; of a strict session, nothing is behind the first that lacks. */
static void some_records_dropped(void)
{
	static const struct malice_attack attack = { .up = some_up };
	const struct malice_session *m;
	uint64_t seen[MALICE_STATUSES];

	malice_start(&attack, 0);
	m = malice_of(0, 0);
	malice_set_phase(DROP_AND_SAY);
	malice_arm(1);
	memcpy(seen, (const void *)m->by_status, sizeof seen);
	malice_order(0, 0, 30);
	malice_settle(0, 0);
	MP_EQ(m->by_status[SR_NOT_SENT] - seen[SR_NOT_SENT], 10, "NOT_SENT");
	MP_EQ(m->by_status[SR_OK] - seen[SR_OK], 20, "OK");
	malice_arm(0);
	malice_must_open(0, 0, SR_SESSION_STRICT);
	malice_all_ok(0, 0, 2);
	memcpy(seen, (const void *)m->by_status, sizeof seen);
	malice_arm(1);
	malice_order(0, 0, 30);
	malice_settle(0, 0);
	MP_EQ(m->by_status[SR_NOT_SENT] - seen[SR_NOT_SENT], 10, "NOT_SENT");
	MP_CHECK(m->by_status[SR_OK] - seen[SR_OK] <= 2, "a strict session with a gap goes on");
	MP_EQ(m->policy[m->want - 1], SR_POLICY_GAP, "why the last was denied");
	MP_EQ(m->over, 0, "how the session has ended");
	malice_stop();
}

/* What is never answered is UNKNOWN at its deadline, and so is what stands behind it. */
static void some_records_dropped_silently(void)
{
	static const struct malice_attack attack = { .up = some_up };
	const struct malice_session *m;
	uint64_t ok;

	malice_start(&attack, 0);
	m = malice_of(0, 0);
	ok = m->by_status[SR_OK];
	malice_set_phase(DROP_SILENTLY);
	malice_of(0, 0)->deadline_ns = 50ull * SR_NS_PER_MS;
	malice_arm(1);
	malice_order(0, 0, 30);
	malice_settle(0, 0);
	MP_EQ(m->by_status[SR_OK] - ok + m->by_status[SR_UNKNOWN], 30, "OK and UNKNOWN");
	MP_CHECK(m->by_status[SR_UNKNOWN] >= 28, "what stands behind a gap was answered");
	malice_of(0, 0)->deadline_ns = 0;
	malice_stop();
}

static const struct mp_test tests[] = {
	{ "words/unsealed_words_forged", unsealed_words_forged, 0 },
	{ "words/replies_in_clear_forged", replies_in_clear_forged, 0 },
	{ "words/first_messages_forged", first_messages_forged, 0 },
	{ "words/some_records_dropped", some_records_dropped, 0 },
	{ "words/some_records_dropped_silently", some_records_dropped_silently, 0 },
};

int main(int argc, char **argv)
{
	/* What fails for a reason that may go away is tried for so long. */
	malice_timeout_ns = 500ull * SR_NS_PER_MS;
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
