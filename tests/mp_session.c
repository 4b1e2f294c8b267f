/* SPDX-License-Identifier: MIT */
/*
 * What a session does with its numbers and its clock: wraps, deadlines, credits,
 * the two ends' rules for gaps.
 */
#include "mp_common.h"
#include "sr_region.h"

static struct mp_rig rig;

/* ---- 4: numbers through the wrap, on both rings ---- */

static void fresh_slots_look_empty(uint64_t first, uint32_t depth)
{
	struct sr_geometry g = { 1, depth, SR_CMP_BYTES };
	struct sr_region r;
	struct sr_slots s;

	MP_EQ(sr_region_create(&r, SR_REGION_COMPLETION, &g, 0, -1, NULL), 0, "region");
	s = sr_region_slots(&r, 0);
	sr_slots_reset(&s, first);
	for (uint64_t n = 0; n < depth; n++)
		MP_EQ(sr_slot_look(&s, first + n), -EAGAIN, "look at a fresh slot");
	MP_EQ(sr_slot_look(&s, first + depth), -EPROTO, "look a round too far");
	sr_region_drop(&r);
}

static void run_from(struct sr_client *client, uint64_t first, uint64_t orders)
{
	struct sr_session *session = mp_session(client, SR_SESSION_FIRST, first);
	struct sr_completion c[8];
	uint64_t sent = 0;
	uint64_t got = 0;
	uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;

	MP_EQ(sr_ready(session), 0, "a completion in fresh memory");
	while (got < orders) {
		int n;

		while (sent < orders && mp_submit(session, first, sent, 0) == 0)
			sent++;
		n = sr_poll(session, c, 8);
		MP_CHECK(n >= 0, "sr_poll: %d", n);
		for (int i = 0; i < n; i++, got++) {
			MP_CHECK(c[i].status == SR_OK && c[i].user_data == got &&
					 c[i].number == got,
				 "number %llu from %llx on: %s of %llu", (unsigned long long)got,
				 (unsigned long long)first, sr_status_name(c[i].status),
				 (unsigned long long)c[i].user_data);
			if (got % 8 == 0)
				mp_verify(&rig, first, &c[i]);
		}
		MP_CHECK(sr_now_ns() < end_ns, "stuck at %llu", (unsigned long long)got);
		(void)sched_yield();
	}
	sr_session_close(client, session);
}

static void numbers_run_through_the_wrap(void)
{
	static const uint64_t firsts[] = {
		0x7fffffff, 0xfffffffe, 0xfffffffffffffffe, 0, 0x8000000000000000u - 2, 1
	};
	static const uint32_t depths[] = { 2, 16, 256 };

	for (size_t d = 0; d < sizeof depths / sizeof depths[0]; d++)
		for (size_t i = 0; i < sizeof firsts / sizeof firsts[0]; i++)
			fresh_slots_look_empty(firsts[i], depths[d]);
	for (unsigned int split = 0; split < 2; split++) {
		mp_rig_new(&rig, split);
		mp_rig_start(&rig);
		for (size_t d = 0; d < sizeof depths / sizeof depths[0]; d++) {
			struct sr_client *client = mp_open(&rig, 1, depths[d]);

			for (size_t i = 0; i < sizeof firsts / sizeof firsts[0]; i++)
				run_from(client, firsts[i], 600);
			sr_close(client);
		}
		mp_rig_stop(&rig);
	}
}

/* Over a lost agent and over the wrap at once. */
static void wrap_survives_another_agent(void)
{
	struct sr_client *client;
	struct sr_session *session;
	uint64_t n = 0;

	mp_rig_new(&rig, true);
	mp_rig_start(&rig);
	client = mp_open(&rig, 1, 8);
	session = mp_session(client, SR_SESSION_FIRST, (uint64_t)0 - 40);
	while (n < 38)
		mp_order(&rig, client, session, n++);
	mp_signal(&rig.signer, SIGSTOP); /* some stay in flight across the wrap */
	for (uint64_t i = 0; i < 6; i++)
		MP_EQ(mp_submit(session, 1, n + i, 0), 0, "sr_submit");
	mp_sleep_us(20000);
	mp_signal(&rig.agent, SIGKILL);
	mp_signal(&rig.signer, SIGCONT);
	mp_start_agent(&rig);
	for (uint64_t i = 0; i < 6; i++, n++) {
		struct sr_completion c;

		mp_next(client, session, &c);
		MP_CHECK(c.status == SR_OK && c.user_data == n, "number %llu is %s",
			 (unsigned long long)n, sr_status_name(c.status));
		mp_verify(&rig, 1, &c);
	}
	while (n < 100)
		mp_order(&rig, client, session, n++);
	MP_EQ(mp_signer_counter(&rig, "signed"), n, "signatures made");
	sr_close(client);
	mp_rig_stop(&rig);
}

/* ---- deadlines ---- */

/* The agent's gaps must not look hostile to the signer, however long. */
static void many_expired_in_a_row_do_not_end_the_session(void)
{
	const uint64_t depth = 4;
	struct sr_client *client;
	struct sr_session *session;
	struct sr_completion c;
	uint64_t expired = 0;

	mp_rig_new(&rig, true);
	mp_rig_start(&rig);
	client = mp_open(&rig, 1, (uint32_t)depth);
	session = mp_session(client, 0, 0);
	for (uint64_t n = 0; n < 100; n++) {
		bool live = n % 25 == 0;
		uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;
		int ret;

		/* What our own clock has answered gives its credit back later. */
		while ((ret = mp_submit(session, 1, n, live ? 0 : 1)) == -EAGAIN &&
		       sr_now_ns() < end_ns)
			MP_EQ(sr_poll(session, &c, 1), 0, "a completion too many");
		MP_EQ(ret, 0, "sr_submit");
		if (!live)
			mp_sleep_us(200);
		mp_next(client, session, &c);
		MP_EQ(c.user_data, n, "number");
		expired += c.status == SR_EXPIRED;
		MP_CHECK(live ? c.status == SR_OK :
				c.status == SR_EXPIRED || c.status == SR_LATE ||
					 c.status == SR_UNKNOWN,
			 "number %llu is %s", (unsigned long long)n, sr_status_name(c.status));
	}
	MP_CHECK(expired > 10, "only %llu of them expired at the agent",
		 (unsigned long long)expired);
	MP_EQ(mp_signer_counter(&rig, "ended_hostile"), 0, "sessions ended by the signer");
	sr_close(client);
	mp_rig_stop(&rig);
}

/* Twice as long a deadline until the machine is not too slow for it. */
static void late_signature(uint32_t flags)
{
	for (uint64_t ms = 200;; ms *= 2) {
		struct sr_client *client = mp_open(&rig, 1, 4);
		struct sr_session *session = mp_session(client, flags, 0);
		uint64_t deadline_ns = sr_now_ns() + ms * SR_NS_PER_MS;
		struct sr_session_stats stats;
		struct sr_completion c;
		bool give = flags & SR_SESSION_GIVE_LATE;

		MP_EQ(mp_submit(session, 1, 0, deadline_ns), 0, "sr_submit");
		while (sr_now_ns() <= deadline_ns + SR_NS_PER_MS)
			mp_sleep_us(1000); /* the answer is there; nobody pops it */
		MP_EQ(sr_poll(session, &c, 1), 1, "sr_poll");
		if (c.status == SR_LATE) {
			MP_EQ(c.sigkind, give ? SR_SIG_ECDSA : SR_SIG_NONE, "kind of signature");
			if (give)
				mp_verify(&rig, 1, &c);
			sr_session_stats_get(session, &stats);
			MP_EQ(stats.late, 1, "statistics: late");
			sr_close(client);
			return;
		}
		MP_CHECK((c.status == SR_EXPIRED || c.status == SR_UNKNOWN) &&
				 ms * SR_NS_PER_MS < MP_BOUND_NS / 4,
			 "%s after %llu ms", sr_status_name(c.status), (unsigned long long)ms);
		sr_close(client);
	}
}

static void signature_after_its_deadline_is_withheld(void)
{
	mp_rig_new(&rig, true);
	mp_rig_start(&rig);
	late_signature(0);
	late_signature(SR_SESSION_GIVE_LATE);
	mp_rig_stop(&rig);
}

/* UNKNOWN gives no credit back: the slot is taken until the real one comes. */
static void timed_out_request_keeps_its_credit(void)
{
	struct sr_client *client;
	struct sr_session *session;
	struct sr_completion c[4];
	struct sr_session_stats stats;
	uint64_t end_ns;

	mp_rig_new(&rig, true);
	mp_rig_start(&rig);
	client = mp_open(&rig, 1, 4);
	session = mp_session(client, 0, 0);
	mp_signal(&rig.signer, SIGSTOP);
	for (uint64_t n = 0; n < 4; n++)
		MP_EQ(mp_submit(session, 1, n, sr_now_ns() + 20ull * SR_NS_PER_MS), 0, "sr_submit");
	for (int n = 0; n < 4; n++) {
		mp_next(client, session, c);
		MP_CHECK(c->status == SR_UNKNOWN || c->status == SR_EXPIRED, "status %s",
			 sr_status_name(c->status));
	}
	MP_EQ(mp_submit(session, 1, 4, 0), -EAGAIN, "submit into slots that are still taken");
	mp_signal(&rig.signer, SIGCONT);
	end_ns = sr_now_ns() + MP_BOUND_NS;
	while (sr_credits(session) < 4) {
		MP_EQ(sr_poll(session, c, 4), 0, "completions beyond the four");
		MP_CHECK(sr_now_ns() < end_ns, "the credits never come back");
	}
	sr_session_stats_get(session, &stats);
	MP_EQ(stats.swallowed, 4, "statistics: swallowed");
	mp_order(&rig, client, session, 5);
	sr_close(client);
	mp_rig_stop(&rig);
}

static void abandoned_session_answers_everything_at_once(void)
{
	struct sr_client *client;
	struct sr_session *session;
	struct sr_completion c[3];
	int got = 0;

	mp_rig_new(&rig, false);
	mp_rig_start(&rig);
	client = mp_open(&rig, 1, 16);
	session = mp_session(client, 0, 0);
	for (uint64_t n = 0; n < 10; n++)
		MP_EQ(mp_submit(session, 1, n, 0), 0, "sr_submit");
	sr_session_abandon(session);
	MP_EQ(mp_submit(session, 1, 10, 0), -ESTALE, "submit to an abandoned session");
	for (;;) {
		int n = sr_poll(session, c, 3);

		if (n == -ESTALE)
			break;
		MP_CHECK(n > 0, "sr_poll: %d", n);
		for (int i = 0; i < n; i++)
			MP_CHECK(c[i].status == SR_UNKNOWN && c[i].user_data == (uint64_t)got++,
				 "status %s", sr_status_name(c[i].status));
	}
	MP_EQ(got, 10, "completions");
	sr_session_close(client, session);
	session = mp_session(client, 0, 0);
	mp_order(&rig, client, session, 0);
	sr_close(client);
	mp_rig_stop(&rig);
}

/* Giving up on an open must not cost the process its other sessions. */
static void open_that_times_out_leaves_the_others_alone(void)
{
	struct sr_options opt;
	struct sr_reason why = { 0, "" };
	struct sr_client *client;
	struct sr_session *session;
	struct sr_session *late;
	struct sr_client_stats stats;

	mp_rig_new(&rig, true);
	mp_rig_start(&rig);
	mp_options(&opt, &rig);
	opt.sessions = 2;
	opt.timeout_ns = 5ull * SR_NS_PER_S;
	MP_EQ(sr_open(&client, &opt, &why), 0, why.text);
	session = mp_session(client, 0, 0);
	mp_order(&rig, client, session, 0);
	mp_signal(&rig.signer, SIGSTOP);
	MP_EQ(sr_session_open(&late, client, NULL, &why), -ETIMEDOUT, "open with a stopped signer");
	mp_signal(&rig.signer, SIGCONT);
	mp_sleep_us(100000); /* the answer comes after all, before we say that we gave up */
	for (uint64_t n = 1; n < 200; n++)
		mp_order(&rig, client, session, n);
	sr_client_stats_get(client, &stats);
	MP_EQ(stats.attach_epoch, 1, "attaches");
	late = mp_session(client, 0, 0);
	mp_order(&rig, client, late, 0);
	sr_close(client);
	mp_rig_stop(&rig);
}

static const struct mp_test tests[] = {
	{ "session/numbers_run_through_the_wrap", numbers_run_through_the_wrap, 0 },
	{ "session/wrap_survives_another_agent", wrap_survives_another_agent, 0 },
	{ "session/many_expired_in_a_row_do_not_end_it",
	  many_expired_in_a_row_do_not_end_the_session, 0 },
	{ "session/signature_after_its_deadline_is_withheld",
	  signature_after_its_deadline_is_withheld, 0 },
	{ "session/timed_out_request_keeps_its_credit", timed_out_request_keeps_its_credit, 0 },
	{ "session/abandoned_answers_everything_at_once",
	  abandoned_session_answers_everything_at_once, 0 },
	{ "session/open_that_times_out_leaves_the_others_alone",
	  open_that_times_out_leaves_the_others_alone, 0 },
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
