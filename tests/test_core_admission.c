/* SPDX-License-Identifier: MIT */
/*
 * test_core_admission.c - how sealed sessions begin, follow each other and end.
 */
#include <sys/wait.h>

#include "sealed_rig.h"

TestSuite(core_admission, .init = sealed_begin, .fini = sealed_end);

/* ---- admission ---- */

static void fill_with_orphans(uint32_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		struct sr_open_request request = rig_open_request(50 + i, FIRST);
		uint32_t id;

		cr_assert_eq(sr_core_open(rig.core, &id, &request, EPOCH, 40 + (uint32_t)i),
			     SR_OPENED_OK);
		sr_core_stream_lost(rig.core, 40 + (uint32_t)i);
	}
}

static enum sr_open_result resume_clear(uint64_t name)
{
	struct sr_open_request request = rig_open_request(name, FIRST);
	uint32_t id;

	request.flags = SR_OPEN_RESUME;
	return sr_core_open(rig.core, &id, &request, EPOCH, STREAM);
}

Test(core_admission, nothing_is_evicted_before_the_first_record_authenticates)
{
	fill_with_orphans(SESSIONS);
	cr_assert_eq(stats().sessions, SESSIONS);
	for (uint64_t i = 2; i < 8; i++)
		start(client_new(i));
	cr_assert_eq(stats().sessions, SESSIONS);
	cr_assert_eq(stats().orphans, SESSIONS);

	a = &secrets->clients[7];
	seal_number(a, 0);
	record[100] ^= 1;
	cr_assert_eq(give(a), SR_CORE_DROPPED);
	cr_assert_eq(stats().orphans, SESSIONS);
	record[100] ^= 1;
	cr_assert_eq(give(a), SR_CORE_REPLY);
	check_reply(a, 0, SR_OK, 0, 1);
	cr_assert_eq(stats().sessions, SESSIONS);
	cr_assert_eq(stats().orphans, SESSIONS - 1);
	cr_assert_eq(resume_clear(50), SR_OPENED_GONE, "the oldest orphan made room");
	cr_assert_eq(resume_clear(51), SR_OPENED_OK);
}

/* Anybody on the stream can open sessions in clear; not at a sealed one's cost. */
Test(core_admission, session_in_clear_takes_no_place_of_a_sealed_one)
{
	struct sr_open_request request;
	uint32_t id;

	give_and_check(a, 0, 1);
	sr_core_stream_lost(rig.core, STREAM);
	for (uint64_t i = 0; i < SESSIONS + 2; i++) {
		request = rig_open_request(50 + i, FIRST);
		cr_assert_eq(sr_core_open(rig.core, &id, &request, EPOCH, STREAM),
			     i < SESSIONS - 1 ? SR_OPENED_OK : SR_OPENED_FULL);
	}
	cr_assert_eq(open_session(a), SR_OPENED_OK);
	give_and_check(a, 1, 2);
}

Test(core_admission, first_record_without_room_ends_its_own_session_alone)
{
	for (uint64_t i = 0; i < SESSIONS; i++) {
		struct sr_open_request request = rig_open_request(50 + i, FIRST);

		cr_assert_eq(sr_core_open(rig.core, &b->id, &request, EPOCH, STREAM), SR_OPENED_OK);
	}
	cr_assert_eq(give_number(a, 0), SR_CORE_ENDED);
	cr_assert_eq(stats().sessions, SESSIONS);
	cr_assert_eq(stats().signed_ok, 0);
	cr_assert_eq(open_session(a), SR_OPENED_GONE);
}

Test(core_admission, oldest_admission_makes_room_for_the_next)
{
	for (uint64_t i = 2; i <= ADMISSIONS; i++)
		start(client_new(i));
	cr_assert_eq(open_session(a), SR_OPENED_OK, "as old as before");
	start(client_new(5));
	cr_assert_eq(give_number(a, 0), SR_CORE_ENDED);
	cr_assert_eq(open_session(a), SR_OPENED_GONE);
	give_and_check(b, 0, 1);
	for (uint64_t i = 6; i < 8; i++)
		start(client_new(i));
	give_and_check(b, 1, 2); /* proved: it makes room for nobody any more */
	give_and_check(&secrets->clients[7], 0, 1);
}

Test(core_admission, proved_and_ended_sessions_take_no_place_of_an_admission)
{
	give_and_check(a, 0, 1);
	start(b);
	give_and_check(b, 0, 1);
	end_session(b);
	cr_assert_eq(stats().sessions, 1);
	for (uint64_t i = 3; i < 3 + ADMISSIONS; i++)
		start(client_new(i));
	for (uint64_t i = 3; i < 3 + ADMISSIONS; i++)
		cr_assert_eq(open_session(&secrets->clients[i]), SR_OPENED_OK, "each is there");
	start(client_new(7));
	cr_assert_eq(open_session(&secrets->clients[3]), SR_OPENED_GONE, "the oldest is not");
	cr_assert_eq(open_session(&secrets->clients[4]), SR_OPENED_OK);
	give_and_check(a, 1, 2);
}

Test(core_admission, handshake_that_is_replayed_changes_no_session)
{
	struct sr_noise_keys honest = b->keys;

	cr_assert_eq(admit(a), -EEXIST, "provisional");
	give_and_check(a, 0, 1);
	memset(&a->keys, 0xaa, sizeof a->keys);
	cr_assert_eq(sr_admission_make(&secrets->task.admission, &a->terms, &a->keys), 0);
	cr_assert_eq(run_task(SR_TASK_ADMIT), -EEXIST, "open");
	cr_assert_eq(secrets->task.admission.terms.token[0], 1, "left to the caller");
	sr_task_wipe(&secrets->task);
	give_and_check(a, 1, 2);

	/* A flood under other names: the replays have no keys, and prove nothing. */
	for (uint64_t i = 0; i < 100; i++) {
		b->terms.token[0] = 1000 + i;
		b->terms.predecessor[0] = a->terms.token[0];
		b->terms.predecessor[1] = a->terms.token[1];
		cr_assert_eq(admit(b), 0);
	}
	b->keys = honest;
	cr_assert_eq(stats().sessions, 1);
	give_and_check(a, 2, 3);
}

Test(core_admission, open_must_name_what_was_agreed)
{
	struct sr_open_request request;
	uint32_t id = 0;

	cr_assert_eq(open_session(b), SR_OPENED_GONE, "records before the admission have no session");
	for (int round = 0; round < 2; round++) {
		request = open_request(a);
		request.first++;
		cr_assert_eq(sr_core_open(rig.core, &id, &request, EPOCH, STREAM), SR_OPENED_SIZES);
		request = open_request(a);
		request.depth *= 2;
		cr_assert_eq(sr_core_open(rig.core, &id, &request, EPOCH, STREAM), SR_OPENED_SIZES);
		request = open_request(a);
		request.slot_bytes += 128;
		cr_assert_eq(sr_core_open(rig.core, &id, &request, EPOCH, STREAM), SR_OPENED_SIZES);
		request = open_request(a);
		request.token[1] ^= 1;
		cr_assert_eq(sr_core_open(rig.core, &id, &request, EPOCH, STREAM), SR_OPENED_GONE);
		request = open_request(a);
		request.flags = SR_OPEN_RESUME;
		cr_assert_eq(sr_core_open(rig.core, &id, &request, EPOCH, STREAM), SR_OPENED_GONE,
			     "a sealed session is not resumed in clear");
		request = open_request(a);
		cr_assert_eq(sr_core_open(rig.core, &id, &request, EPOCH - 1, STREAM),
			     SR_OPENED_EPOCH);
		cr_assert_eq(sr_core_open(rig.core, &id, &request, EPOCH, 64), SR_OPENED_SIZES);
		cr_assert_eq(id, 0);
		give_and_check(a, (uint64_t)round, (uint64_t)round + 1);
	}
}

Test(core_admission, open_is_not_believed_about_user_class_or_numbers)
{
	struct sr_open_request request = open_request(a);
	unsigned char early[RIG_SLOT];

	seal_number(a, 1);
	memcpy(early, record, sizeof early);
	request.flags |= SR_OPEN_PRIORITY | SR_OPEN_RESUME;
	request.next = 5000;
	request.uid = RIG_UID + 1;
	cr_assert_eq(sr_core_open(rig.core, &a->id, &request, EPOCH, STREAM), SR_OPENED_OK);
	cr_assert_not(sr_core_priority(rig.core, a->id));
	give_and_check(a, 0, 1);
	cr_assert_eq(sr_core_open(rig.core, &a->id, &request, EPOCH, STREAM), SR_OPENED_OK);
	memcpy(record, early, sizeof early);
	cr_assert_eq(give(a), SR_CORE_REPLY);
	check_reply(a, 1, SR_OK, 0, 2);

	b->terms.flags = SR_ADMISSION_PRIORITY;
	start(b);
	cr_assert(sr_core_priority(rig.core, b->id), "as it was agreed");
}

Test(core_admission, admissions_that_cannot_be_are_refused)
{
	struct sr_admission *admission = &secrets->task.admission;
	struct sr_admission_terms terms[9];

	for (size_t i = 0; i < 9; i++)
		terms[i] = b->terms;
	terms[0].depth = 3;
	terms[1].depth = 2 * SR_DEPTH_MAX;
	terms[2].slot_bytes = 128;
	terms[3].slot_bytes = 320 + 1;
	terms[4].slot_bytes = SR_SUB_BYTES_MAX + 128;
	terms[5].identity = SR_IDENTITIES_MAX;
	terms[6].flags = 4;
	terms[7].token[0] = terms[7].token[1] = 0;
	terms[7].predecessor[0] = 5;
	memcpy(terms[8].predecessor, terms[8].token, sizeof terms[8].token);
	for (size_t i = 0; i < 9; i++) {
		cr_assert_eq(sr_admission_make(admission, &terms[i], &b->keys), -EINVAL, "%zu", i);
		cr_assert(sr_all_zero((const unsigned char *)admission, sizeof *admission));
	}

	/* Sizes that are a session's, but too large for this core. */
	b->terms.depth = 32;
	cr_assert_eq(admit(b), -EINVAL);
	b->terms.depth = RIG_DEPTH;
	b->terms.slot_bytes = 640;
	cr_assert_eq(admit(b), -EINVAL);
	give_and_check(a, 0, 1);
}

Test(core_admission, core_admits_only_if_it_was_told_to)
{
	struct sr_core_config core_config = config();
	struct sr_core *core = rig.core, *other;

	core_config.admissions_max = 0;
	cr_assert_eq(sr_core_new(&other, &core_config), 0);
	rig.core = other;
	cr_assert_eq(admit(b), -EOPNOTSUPP);
	cr_assert_eq(open_session(b), SR_OPENED_GONE);
	sr_core_delete(other);
	rig.core = core;

	core_config = config();
	core_config.sessions_max = SR_SESSIONS_MAX;
	core_config.admissions_max = 1;
	cr_assert_eq(sr_core_new(&other, &core_config), -EINVAL);
	core_config.sessions_max = 1;
	core_config.admissions_max = UINT32_MAX;
	cr_assert_eq(sr_core_new(&other, &core_config), -EINVAL);
}

Test(core_admission, sealed_and_clear_sessions_live_in_one_core_or_sealed_ones_alone)
{
	struct sr_open_request clear = rig_open_request(1, FIRST);
	struct sr_core_config core_config = config();
	uint32_t id;

	clear.token[1] = 77; /* the sealed one's name, and who it is of */
	clear.uid = TRADER;
	cr_assert_eq(sr_core_open(rig.core, &id, &clear, EPOCH, STREAM), SR_OPENED_OK);
	cr_assert_neq(id, a->id);
	sr_core_end(rig.core, id, EPOCH);
	clear = rig_open_request(9, FIRST);
	cr_assert_eq(sr_core_open(rig.core, &id, &clear, EPOCH, STREAM), SR_OPENED_OK);
	clear.flags = SR_OPEN_SEALED;
	cr_assert_eq(sr_core_open(rig.core, &id, &clear, EPOCH, STREAM), SR_OPENED_GONE);
	clear.flags = 0;
	give_and_check(a, 0, 1);
	rig_record(record, RIG_SLOT, FIRST, RIG_KEY, SR_ECDSA_SHA256, "x", 1);
	cr_assert_eq(sr_core_record(rig.core, reply, id, EPOCH, STREAM, record, RIG_SLOT),
		     SR_CORE_REPLY);
	cr_assert_eq(rig_status(reply), SR_OK);
	cr_assert_eq(stats().sessions, 2);

	sr_core_delete(rig.core);
	core_config.clear = NULL;
	cr_assert_eq(sr_core_new(&rig.core, &core_config), 0);
	cr_assert_eq(sr_core_open(rig.core, &id, &clear, EPOCH, STREAM), SR_OPENED_UNSEALED);
	start(a);
	give_and_check(a, 0, 1);
}

/* ---- what dies ---- */

Test(core_admission, resumed_session_answers_repeats_on_its_new_stream_alone)
{
	unsigned char before[SR_CMP_BYTES];
	uint32_t id = a->id;

	give_and_check(a, 0, 1);
	memcpy(before, reply, sizeof before);
	sr_core_stream_lost(rig.core, STREAM);
	cr_assert_eq(stats().orphans, 1);
	cr_assert_eq(give(a), SR_CORE_DROPPED);
	a->epoch++;
	a->stream++;
	cr_assert_eq(open_session(a), SR_OPENED_OK);
	cr_assert_eq(a->id, id);
	cr_assert_eq(stats().orphans, 0);
	cr_assert_eq(sr_core_record(rig.core, reply, id, EPOCH, STREAM, record, RIG_SLOT),
		     SR_CORE_DROPPED, "the agent that was stopped goes on");
	sr_core_end(rig.core, id, EPOCH);
	cr_assert_eq(give(a), SR_CORE_REPLY);
	cr_assert_arr_eq(reply, before, sizeof before);
	give_and_check(a, 1, 2);
	cr_assert_eq(stats().signed_ok, 2);
}

Test(core_admission, provisional_session_outlives_its_stream)
{
	seal_number(a, 0);
	sr_core_stream_lost(rig.core, STREAM);
	cr_assert_eq(stats().orphans, 0, "it is no session yet");
	cr_assert_eq(give(a), SR_CORE_DROPPED);
	a->stream++;
	cr_assert_eq(open_session(a), SR_OPENED_OK);
	cr_assert_eq(give(a), SR_CORE_REPLY);
	check_reply(a, 0, SR_OK, 0, 1);
	cr_assert_eq(stats().orphans, 0);
	sr_core_end(rig.core, a->id, EPOCH);
	cr_assert(stats().sessions == 1 && stats().orphans == 1);
}

Test(core_admission, predecessor_ends_with_the_first_record_and_not_before)
{
	unsigned char late[RIG_SLOT];

	give_and_check(a, 0, 1);
	give_and_check(a, 4, 2);
	seal_number(a, 5);
	memcpy(late, record, sizeof late);

	succeed(b, a);
	start(b);
	give_and_check(a, 6, 3); /* a replayed handshake kills nothing */
	seal_number(b, 0);
	record[50] ^= 1;
	cr_assert_eq(give(b), SR_CORE_DROPPED);
	cr_assert_eq(stats().sessions, 1);
	record[50] ^= 1;
	cr_assert_eq(give(b), SR_CORE_REPLY);
	check_reply(b, 0, SR_OK, 0, 1);

	cr_assert_eq(stats().sessions, 1, "the predecessor has gone");
	memcpy(record, late, sizeof late);
	cr_assert_eq(give(a), SR_CORE_ENDED, "and the agent hears of it");
	cr_assert_eq(open_session(a), SR_OPENED_GONE);
	cr_assert_eq(stats().signed_ok, 4);
	give_and_check(b, 1, 2);
	cr_assert_eq(stats().ended_hostile, 0);
}

Test(core_admission, who_asks_for_the_session_alone_hears_how_far_its_predecessor_came)
{
	unsigned char kept[SR_CMP_BYTES];

	ask_for_session(a);
	cr_assert_eq(last(SR_LAST_KNOWN), 0, "it has named none");
	cr_assert(!has_signature());
	cr_assert_eq(stats().signed_ok, 0);
	give_and_check(a, 1, 2);
	give_and_check(a, 4, 3);

	succeed(b, a);
	start(b);
	ask_for_session(b);
	cr_assert_eq(last(SR_LAST_KNOWN), 1);
	cr_assert_eq(last(SR_LAST_NEXT), 5);
	cr_assert_eq(last(SR_LAST_ACCEPTED), 3);
	cr_assert(sr_all_zero(opened + SR_CMP_BODY + SR_LAST_ACCEPTED + 8,
			      SR_CMP_BODY_BYTES - SR_LAST_ACCEPTED - 8));
	memcpy(kept, reply, sizeof kept);
	cr_assert_eq(give(b), SR_CORE_REPLY);
	cr_assert_arr_eq(reply, kept, sizeof kept, "again, by a new agent");
	give_and_check(b, 1, 2);
}

Test(core_admission, only_message_0_asks_for_the_session)
{
	give_and_check(a, 0, 1);
	memset(record, 0, sizeof record);
	sr_put64(record, FIRST + 1);
	record[SR_SUB_KIND] = SR_KIND_SEALED;
	cr_assert_eq(sr_seal_apply(&a->requests, 1, record), 0);
	cr_assert_eq(give(a), SR_CORE_REPLY);
	check_reply(a, 1, SR_BAD_REQUEST, 0, 2);

	start(b);
	memset(record, 0, sizeof record);
	sr_put64(record, FIRST);
	record[SR_SUB_KIND] = SR_KIND_SEALED;
	record[RIG_SLOT - SR_TAG_BYTES - 1] = 1;
	cr_assert_eq(sr_seal_apply(&b->requests, 0, record), 0);
	cr_assert_eq(give(b), SR_CORE_REPLY);
	check_reply(b, 0, SR_BAD_REQUEST, 0, 1);
}

Test(core_admission, predecessor_of_another_identity_stays)
{
	give_and_check(a, 0, 1);
	b->terms.identity = TRADER + 1;
	succeed(b, a);
	start(b);
	ask_for_session(b);
	cr_assert_eq(last(SR_LAST_KNOWN), 0);
	give_and_check(a, 1, 2);
}

Test(core_admission, predecessor_may_be_provisional_or_gone)
{
	struct client *c = client_new(3);

	succeed(b, a);
	start(b);
	ask_for_session(b);
	cr_assert_eq(last(SR_LAST_KNOWN), 1);
	cr_assert(last(SR_LAST_NEXT) == 0 && last(SR_LAST_ACCEPTED) == 0);
	cr_assert_eq(open_session(a), SR_OPENED_GONE);

	give_and_check(b, 1, 2);
	succeed(c, a);
	start(c);
	ask_for_session(c);
	cr_assert_eq(last(SR_LAST_KNOWN), 0);

	/* What b was told is not told to who comes into its place. */
	end_session(b);
	succeed(a, b);
	start(a);
	cr_assert_eq(SR_SESSION_INDEX(a->id), SR_SESSION_INDEX(b->id));
	ask_for_session(a);
	cr_assert_eq(last(SR_LAST_KNOWN), 0);
}

/* An agent that holds back the answer to message 0 hides nothing: the next attempt names
 * the same session, which is gone, and is told what the one before was. */
Test(core_admission, attempt_before_that_came_no_further_than_message_0_hands_its_word_on)
{
	struct client *c = client_new(3);
	struct client *d = client_new(4);

	give_and_check(a, 0, 1);
	give_and_check(a, 1, 2);
	succeed(b, a);
	start(b);
	ask_for_session(b);
	succeed(c, a);
	start(c);
	ask_for_session(c);
	cr_assert(last(SR_LAST_KNOWN) == 1 && last(SR_LAST_NEXT) == 2 &&
		  last(SR_LAST_ACCEPTED) == 2);
	cr_assert_eq(open_session(b), SR_OPENED_GONE);
	cr_assert_eq(stats().sessions, 1);

	/* Of another client, or after a request, it stays. */
	d->terms.identity = TRADER + 1;
	succeed(d, a);
	start(d);
	ask_for_session(d);
	cr_assert_eq(last(SR_LAST_KNOWN), 0);
	give_and_check(c, 1, 2);
	d = client_new(5);
	succeed(d, a);
	start(d);
	ask_for_session(d);
	cr_assert_eq(last(SR_LAST_KNOWN), 0);
	give_and_check(c, 2, 3);
}

Test(core_admission, end_by_the_agent_only_takes_a_sealed_session_off_its_stream)
{
	give_and_check(a, 0, 1);
	seal_number(a, 1);
	sr_core_end(rig.core, a->id, EPOCH - 1);
	cr_assert_eq(stats().orphans, 0, "an agent that was replaced says it");
	sr_core_end(rig.core, a->id, EPOCH);
	sr_core_end(rig.core, a->id, EPOCH);
	cr_assert(stats().sessions == 1 && stats().orphans == 1);
	cr_assert_eq(give(a), SR_CORE_DROPPED);
	cr_assert_eq(open_session(a), SR_OPENED_OK);
	cr_assert_eq(give(a), SR_CORE_REPLY);
	check_reply(a, 1, SR_OK, 0, 2);

	sr_core_end(rig.core, a->id, EPOCH);
	succeed(b, a);
	start(b);
	ask_for_session(b);
	cr_assert_eq(last(SR_LAST_ACCEPTED), 2, "its count is not lost to a liar");
}

Test(core_admission, who_has_most_sessions_makes_room)
{
	give_and_check(a, 0, 1);
	sr_core_stream_lost(rig.core, STREAM);
	for (uint64_t i = 3; i < 3 + SESSIONS - 1; i++) {
		struct client *c = client_new(i);

		c->terms.identity = TRADER + 1;
		start(c);
		cr_assert_eq(give_number(c, 0), SR_CORE_REPLY);
		sr_core_end(rig.core, c->id, EPOCH);
	}
	cr_assert(stats().sessions == SESSIONS && stats().orphans == SESSIONS);
	b->terms.identity = TRADER + 1;
	start(b);
	cr_assert_eq(give_number(b, 0), SR_CORE_REPLY);
	cr_assert_eq(open_session(a), SR_OPENED_OK, "the oldest, but its client's only one");
	cr_assert_eq(open_session(&secrets->clients[3]), SR_OPENED_GONE);
	cr_assert_eq(open_session(&secrets->clients[4]), SR_OPENED_OK);
}

Test(core_admission, control_thread_hears_which_sessions_wait_no_more)
{
	uint64_t token[2];

	cr_assert(!sr_core_settled(rig.core, token));
	ask_for_session(a);
	for (uint64_t i = 2; i < 2 + ADMISSIONS + 1; i++)
		start(client_new(i)); /* the first of them has to make room */
	cr_assert(sr_core_settled(rig.core, token));
	cr_assert(token[0] == 1 && token[1] == 77);
	cr_assert(sr_core_settled(rig.core, token));
	cr_assert_eq(token[0], 2);
	cr_assert(!sr_core_settled(rig.core, token));

	for (uint64_t i = 3; i < 3 + ADMISSIONS; i++)
		ask_for_session(&secrets->clients[i]);
	start(client_new(7));
	end_session(&secrets->clients[7]);
	for (uint64_t i = 4; i < 4 + ADMISSIONS - 1; i++) {
		cr_assert(sr_core_settled(rig.core, token));
		cr_assert_eq(token[0], i, "the oldest was lost, the last ones are told");
	}
	cr_assert(sr_core_settled(rig.core, token));
	cr_assert_eq(token[0], 7);
	cr_assert(!sr_core_settled(rig.core, token));
}

Test(core_admission, new_session_knows_nothing_of_the_one_before_it_in_its_place)
{
	a->terms.flags = SR_ADMISSION_STRICT;
	end_session(a);
	start(a);
	cr_assert_eq(give_number(a, 3), SR_CORE_REPLY);
	check_reply(a, 3, SR_DENIED, SR_POLICY_GAP, 1);
	end_session(a);

	b->terms.flags = SR_ADMISSION_STRICT;
	start(b);
	cr_assert_eq(SR_SESSION_INDEX(a->id), SR_SESSION_INDEX(b->id));
	cr_assert_neq(a->id, b->id, "another generation");
	for (uint64_t n = 0; n < 2 * RIG_DEPTH; n++)
		give_and_check(b, n, n + 1);
}

Test(core_admission, predecessor_makes_room_for_its_successor)
{
	give_and_check(a, 0, 1);
	fill_with_orphans(SESSIONS - 1);
	succeed(b, a);
	start(b);
	give_and_check(b, 0, 1);
	cr_assert_eq(stats().orphans, SESSIONS - 1, "nobody else had to go");
}

Test(core_admission, reply_that_cannot_be_sealed_ends_the_session_and_is_shown_to_nobody)
{
	give_and_check(a, 0, 1);
	sr_seal_forget(&rig.core->sessions[SR_SESSION_INDEX(a->id)].seals->replies);
	cr_assert_eq(give_number(a, 1), SR_CORE_ENDED);
	cr_assert_eq(reply[0], 0xee);
	cr_assert_eq(stats().sessions, 0);
}

Test(core_admission, forked_child_has_no_keys_and_answers_nothing)
{
	enum sr_core_verdict verdict;
	uint32_t id = a->id;
	int status;
	pid_t pid;

	give_and_check(a, 0, 1);
	seal_number(a, 1);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0) {
		verdict = sr_core_record(rig.core, reply, id, EPOCH, STREAM, record, RIG_SLOT);
		_exit(verdict == SR_CORE_DROPPED && stats().unauthentic == 1 ? 0 : 1);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0);
	cr_assert_eq(give(a), SR_CORE_REPLY);
	check_reply(a, 1, SR_OK, 0, 2);
}
