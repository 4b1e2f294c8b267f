/* SPDX-License-Identifier: MIT */
/*
 * test_core_sealed.c - records of sealed sessions at the signer's core, with an
 * agent that may do anything to what it carries: what a client sealed is all that
 * counts.
 */
#include "sealed_rig.h"
#include "sr_hash.h"
#include "sr_port.h"

TestSuite(core_sealed, .init = sealed_begin, .fini = sealed_end);

/* ---- records ---- */

Test(core_sealed, signs_what_was_sealed_so_that_it_verifies)
{
	const unsigned char *pubkey;
	struct sr_hasher *hasher;
	unsigned char digest[32];
	int key = sr_keyring_find(rig.keys, KEY);

	cr_assert_geq(key, 0);
	pubkey = sr_keyring_info(rig.keys, (uint32_t)key)->pubkey;
	cr_assert_eq(sr_hasher_new(&hasher), 0);
	for (uint64_t n = 0; n < 3 * RIG_DEPTH; n++) {
		give_and_check(a, n, n + 1);
		cr_assert_eq(sr_sha256(hasher, digest, &n, sizeof n), 0);
		cr_assert_eq(sr_ecdsa_verify(rig.curve, rig_sig(opened), digest, pubkey), 0);
	}
	cr_assert_eq(stats().signed_ok, 3 * RIG_DEPTH);
	cr_assert_eq(stats().records, 3 * RIG_DEPTH);
	sr_hasher_delete(hasher);
}

Test(core_sealed, reply_holds_nothing_in_clear_and_opens_as_its_own_number_alone)
{
	give_and_check(a, 0, 1);
	for (size_t at = SR_CMP_BODY; at + 16 <= SR_CMP_BYTES - SR_TAG_BYTES; at += 16)
		cr_assert_neq(memcmp(reply + at, opened + at, 16), 0);
	sr_put64(reply, FIRST + 1);
	cr_assert_eq(sr_seal_open(&a->replies, 1, opened + SR_CMP_BODY, reply), -EBADMSG);
}

Test(core_sealed, what_cannot_be_read_is_bad_though_authentic)
{
	make_record(record, a, 0, KEY, "x", 1);
	record[RIG_SLOT - SR_TAG_BYTES - 1] = 1; /* padding */
	cr_assert_eq(sr_seal_apply(&a->requests, 0, record), 0);
	cr_assert_eq(give(a), SR_CORE_REPLY);
	check_reply(a, 0, SR_BAD_REQUEST, 0, 1);
	make_record(record, a, 1, KEY, "x", 1);
	sr_put16(record + SR_SUB_BODY + SR_REQ_BODY_BYTES, 0xffff);
	cr_assert_eq(sr_seal_apply(&a->requests, 1, record), 0);
	cr_assert_eq(give(a), SR_CORE_REPLY);
	check_reply(a, 1, SR_BAD_REQUEST, 0, 2);
	cr_assert_not(has_signature());
	give_and_check(a, 2, 3);
}

Test(core_sealed, identity_must_be_allowed_by_the_key)
{
	struct sr_open_request clear = rig_open_request(9, FIRST);
	static const uint32_t refused[] = { KEY_OTHERS, RIG_KEY, RIG_KEY_DET, 12345 };
	uint64_t n = 0;

	for (; n < sizeof refused / sizeof refused[0]; n++) {
		make_record(record, a, n, refused[n], &n, sizeof n);
		cr_assert_eq(sr_seal_apply(&a->requests, n, record), 0);
		cr_assert_eq(give(a), SR_CORE_REPLY);
		check_reply(a, n, SR_DENIED, SR_POLICY_UNKNOWN_KEY, n + 1);
		cr_assert_not(has_signature());
	}
	give_and_check(a, n, n + 1);

	b->terms.identity = TRADER + 1;
	start(b);
	cr_assert_eq(give_number(b, 0), SR_CORE_REPLY);
	check_reply(b, 0, SR_DENIED, SR_POLICY_UNKNOWN_KEY, 1);

	/* Nor does an identity's number pass for a user's. */
	clear.uid = TRADER;
	cr_assert_eq(sr_core_open(rig.core, &a->id, &clear, EPOCH, STREAM), SR_OPENED_OK);
	rig_record(record, RIG_SLOT, FIRST, KEY, SR_ECDSA_SHA256, "x", 1);
	cr_assert_eq(give(a), SR_CORE_REPLY);
	cr_assert_eq(rig_policy(reply), SR_POLICY_UNKNOWN_KEY);
}

/* Gives `record` with each bit flipped in turn; none may have an effect. */
static void give_each_bit_flipped(const struct client *c)
{
	struct sr_core_stats before = stats(), after;

	for (uint32_t bit = 0; bit < BITS; bit++) {
		record[bit / 8] ^= (unsigned char)(1u << bit % 8);
		cr_assert_eq(give(c), SR_CORE_DROPPED, "bit %u", bit);
		cr_assert_eq(reply[0], 0xee, "a dropped record writes no reply");
		record[bit / 8] ^= (unsigned char)(1u << bit % 8);
	}
	after = stats();
	cr_assert_eq(after.unauthentic + after.dropped - before.unauthentic - before.dropped, BITS);
	cr_assert_gt(after.unauthentic - before.unauthentic, BITS - 128);
	after.unauthentic = before.unauthentic;
	after.dropped = before.dropped;
	cr_assert_eq(memcmp(&after, &before, sizeof after), 0, "nothing else has changed");
}

Test(core_sealed, flipped_bit_has_no_effect_on_a_record_that_is_ahead)
{
	seal_number(a, 0);
	give_each_bit_flipped(a);
	cr_assert_eq(stats().sessions, 0, "still provisional");
	cr_assert_eq(give(a), SR_CORE_REPLY);
	check_reply(a, 0, SR_OK, 0, 1);
	seal_number(a, 1);
	give_each_bit_flipped(a);
	cr_assert_eq(give(a), SR_CORE_REPLY);
	check_reply(a, 1, SR_OK, 0, 2);
}

Test(core_sealed, flipped_bit_has_no_effect_on_a_record_that_was_answered_or_skipped)
{
	unsigned char kept[SR_CMP_BYTES], late[RIG_SLOT];

	seal_number(a, 0);
	memcpy(late, record, sizeof late);
	give_and_check(a, 1, 1);
	memcpy(kept, reply, sizeof kept);
	give_each_bit_flipped(a);
	cr_assert_eq(give(a), SR_CORE_REPLY);
	cr_assert_arr_eq(reply, kept, sizeof kept);

	memcpy(record, late, sizeof late);
	give_each_bit_flipped(a);
	cr_assert_eq(stats().voided, 0, "VOID is said to nobody but the client");
	cr_assert_eq(give(a), SR_CORE_REPLY);
	check_reply(a, 0, SR_VOID, 0, 1);
}

Test(core_sealed, record_of_another_length_or_kind_is_dropped)
{
	static const uint32_t lengths[] = { 0, 1, 128, 256, RIG_SLOT - 1, RIG_SLOT + 1, 512 };

	seal_number(a, 0);
	for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
		cr_assert_eq(sr_core_record(rig.core, reply, a->id, EPOCH, STREAM, record,
					    lengths[i]),
			     SR_CORE_DROPPED);
	for (unsigned int kind = 0; kind < 256; kind++) {
		record[SR_SUB_KIND] = (unsigned char)kind;
		if (kind != SR_KIND_SEALED)
			cr_assert_eq(give(a), SR_CORE_DROPPED, "kind %u", kind);
	}
	cr_assert_eq(stats().dropped, 7 + 255);
	record[SR_SUB_KIND] = SR_KIND_SEALED;
	cr_assert_eq(give(a), SR_CORE_REPLY);

	/* All in clear, and well formed. */
	rig_record(record, RIG_SLOT, FIRST + 1, KEY, SR_ECDSA_SHA256, "x", 1);
	cr_assert_eq(give(a), SR_CORE_DROPPED);
}

Test(core_sealed, header_bits_without_a_meaning_are_dropped_though_authentic)
{
	for (uint64_t at = SR_SUB_FLAGS; at < SR_SUB_BODY; at++) {
		make_record(record, a, at, KEY, "x", 1);
		record[at] = 0x10;
		cr_assert_eq(sr_seal_apply(&a->requests, at, record), 0);
		cr_assert_eq(give(a), SR_CORE_DROPPED, "byte %llu", (unsigned long long)at);
	}
	cr_assert_eq(stats().dropped, SR_SUB_BODY - SR_SUB_FLAGS);
	cr_assert_eq(stats().unauthentic, 0);
}

Test(core_sealed, text_of_a_record_does_not_outlive_its_answer)
{
	give_and_check(a, 0, 1);
	cr_assert(sr_all_zero(rig.core->secrets->body, sizeof rig.core->secrets->body));
	seal_number(a, 1);
	record[RIG_SLOT - 1] ^= 1;
	cr_assert_eq(give(a), SR_CORE_DROPPED);
	cr_assert(sr_all_zero(rig.core->secrets->body, sizeof rig.core->secrets->body));
	client_seals(a);
	cr_assert_eq(give_number(a, 0), SR_CORE_REPLY, "it is the same record");
	make_record(record, a, 0, KEY, "other", 5);
	client_seals(a);
	cr_assert_eq(sr_seal_apply(&a->requests, 0, record), 0);
	cr_assert_eq(give(a), SR_CORE_ENDED);
	cr_assert(sr_all_zero(rig.core->secrets->body, sizeof rig.core->secrets->body));
}

Test(core_sealed, sealed_record_is_nothing_to_a_session_in_clear)
{
	struct sr_open_request request = rig_open_request(1, FIRST);
	uint32_t id;

	seal_number(a, 0);
	cr_assert_eq(sr_core_open(rig.core, &id, &request, EPOCH, STREAM), SR_OPENED_OK);
	cr_assert_eq(sr_core_record(rig.core, reply, id, EPOCH, STREAM, record, RIG_SLOT),
		     SR_CORE_DROPPED);
	cr_assert_eq(stats().sessions, 1);
}

Test(core_sealed, record_of_an_old_epoch_or_another_stream_is_dropped)
{
	uint32_t id = a->id;

	seal_number(a, 0);
	a->epoch--;
	cr_assert_eq(give(a), SR_CORE_DROPPED);
	a->epoch++;
	a->stream++;
	cr_assert_eq(give(a), SR_CORE_DROPPED);
	a->stream--;
	a->id ^= 1u << SR_SESSION_INDEX_BITS;
	cr_assert_eq(give(a), SR_CORE_ENDED, "another generation");
	a->id = UINT32_MAX;
	cr_assert_eq(give(a), SR_CORE_ENDED);
	a->id = id;
	cr_assert_eq(stats().dropped, 4);
	cr_assert_eq(give(a), SR_CORE_REPLY);
	check_reply(a, 0, SR_OK, 0, 1);
}

Test(core_sealed, records_are_not_to_be_spliced_between_sessions_or_directions)
{
	unsigned char theirs[SR_CMP_BYTES];

	start(b);
	seal_number(b, 0);
	cr_assert_eq(give(a), SR_CORE_DROPPED, "another session's, the same in all but keys");
	cr_assert_eq(stats().unauthentic, 1);
	cr_assert_eq(give(b), SR_CORE_REPLY);
	memcpy(theirs, reply, sizeof theirs);
	check_reply(b, 0, SR_OK, 0, 1);
	cr_assert_eq(sr_seal_open(&a->replies, 0, opened + SR_CMP_BODY, theirs), -EBADMSG);

	/* Another number of the same session. */
	seal_number(a, 1);
	sr_put64(record, FIRST);
	cr_assert_eq(give(a), SR_CORE_DROPPED);
	cr_assert_eq(stats().unauthentic, 2);

	/* A reply comes back as a request: body and tag where a request has them. */
	give_and_check(a, 2, 1);
	make_record(record, a, 3, KEY, "", 0);
	memcpy(record + SR_SUB_BODY, reply + SR_CMP_BODY, SR_CMP_BODY_BYTES);
	memcpy(record + RIG_SLOT - SR_TAG_BYTES, reply + SR_CMP_BYTES - SR_TAG_BYTES, SR_TAG_BYTES);
	cr_assert_eq(give(a), SR_CORE_DROPPED);
	cr_assert_eq(stats().unauthentic, 3);

	/* Halves of two authentic records. */
	seal_number(a, 3);
	memcpy(theirs, record + SR_SUB_BODY, sizeof theirs);
	seal_number(a, 4);
	memcpy(record + SR_SUB_BODY, theirs, sizeof theirs);
	cr_assert_eq(give(a), SR_CORE_DROPPED);
	cr_assert_eq(stats().sessions, 2, "nobody's session has ended");
	give_and_check(a, 5, 2);
	give_and_check(b, 1, 2);
}

/* ---- numbers ---- */

Test(core_sealed, repeat_gets_the_same_bytes_and_spends_nothing)
{
	unsigned char records[3 * RIG_DEPTH][RIG_SLOT], replies[3 * RIG_DEPTH][SR_CMP_BYTES];

	for (uint64_t n = 0; n < 3 * RIG_DEPTH; n++) {
		give_and_check(a, n, n + 1);
		memcpy(records[n], record, RIG_SLOT);
		memcpy(replies[n], reply, SR_CMP_BYTES);
		for (uint64_t back = 0; back < RIG_DEPTH && back <= n; back++) {
			memcpy(record, records[n - back], RIG_SLOT);
			cr_assert_eq(give(a), SR_CORE_REPLY);
			cr_assert_arr_eq(reply, replies[n - back], SR_CMP_BYTES);
		}
	}
	cr_assert_eq(stats().signed_ok, 3 * RIG_DEPTH);
	cr_assert_gt(stats().repeats, 100);

	/* Replayed when it is forgotten: nobody's rule was broken but the agent's. */
	for (uint64_t n = 0; n < 2 * RIG_DEPTH; n++) {
		memcpy(record, records[n], RIG_SLOT);
		cr_assert_eq(give(a), SR_CORE_DROPPED);
	}
	cr_assert_eq(stats().sessions, 1);
	cr_assert_eq(stats().unauthentic, 0, "it was not even tried");
}

/* Keys that are gone decrypt nothing; a repeat needs none. */
Test(core_sealed, repeats_are_compared_before_anything_is_decrypted)
{
	unsigned char before[SR_CMP_BYTES];

	give_and_check(a, 0, 1);
	memcpy(before, reply, sizeof before);
	sr_seal_forget(&rig.core->sessions[SR_SESSION_INDEX(a->id)].seals->requests);
	cr_assert_eq(give(a), SR_CORE_REPLY);
	cr_assert_arr_eq(reply, before, sizeof before);
	cr_assert_eq(give_number(a, 1), SR_CORE_DROPPED, "they are gone");
}

Test(core_sealed, two_authentic_records_under_one_number_end_that_session_alone)
{
	start(b);
	give_and_check(b, 0, 1);
	give_and_check(a, 0, 1);
	client_seals(a); /* a client that seals a number a second time */
	make_record(record, a, 0, KEY, "other", 5);
	cr_assert_eq(sr_seal_apply(&a->requests, 0, record), 0);
	cr_assert_eq(give(a), SR_CORE_ENDED);
	cr_assert_eq(give(a), SR_CORE_ENDED, "it is gone");
	cr_assert_eq(open_session(a), SR_OPENED_GONE);
	cr_assert_eq(stats().ended_hostile, 1);
	cr_assert_eq(stats().signed_ok, 2);
	give_and_check(b, 1, 2);
}

Test(core_sealed, two_authentic_records_under_a_voided_number_end_the_session)
{
	seal_number(a, 0);
	give_and_check(a, 2, 1);
	cr_assert_eq(give_number(a, 1), SR_CORE_REPLY);
	check_reply(a, 1, SR_VOID, 0, 1);
	client_seals(a);
	make_record(record, a, 1, KEY, "other", 5);
	cr_assert_eq(sr_seal_apply(&a->requests, 1, record), 0);
	cr_assert_eq(give(a), SR_CORE_ENDED);
}

Test(core_sealed, skipped_number_gets_one_sealed_void_and_then_repeats)
{
	unsigned char before[SR_CMP_BYTES], late[RIG_SLOT];

	seal_number(a, 3);
	memcpy(late, record, sizeof late);
	give_and_check(a, 5, 1);
	memcpy(record, late, sizeof late);
	cr_assert_eq(give(a), SR_CORE_REPLY);
	check_reply(a, 3, SR_VOID, 0, 1);
	cr_assert_not(has_signature());
	memcpy(before, reply, sizeof before);
	give_and_check(a, 6, 2);

	memcpy(record, late, sizeof late);
	cr_assert_eq(give(a), SR_CORE_REPLY);
	cr_assert_arr_eq(reply, before, sizeof before);
	cr_assert_eq(stats().voided, 1);
	cr_assert_eq(stats().repeats, 1);
	cr_assert_eq(stats().signed_ok, 2);
}

Test(core_sealed, gap_longer_than_depth_voids_what_is_remembered_and_forgets_the_rest)
{
	static unsigned char early[6 * RIG_DEPTH][RIG_SLOT];

	for (uint64_t n = 0; n < 6 * RIG_DEPTH; n++) {
		seal_number(a, n);
		memcpy(early[n], record, RIG_SLOT);
	}
	cr_assert_eq(give(a), SR_CORE_REPLY);
	check_reply(a, 6 * RIG_DEPTH - 1, SR_OK, 0, 1);
	for (uint64_t n = 6 * RIG_DEPTH - 2; n != UINT64_MAX; n--) {
		memcpy(record, early[n], RIG_SLOT);
		if (n < 5 * RIG_DEPTH) {
			cr_assert_eq(give(a), SR_CORE_DROPPED);
			continue;
		}
		cr_assert_eq(give(a), SR_CORE_REPLY);
		check_reply(a, n, SR_VOID, 0, 1);
	}
	cr_assert_eq(stats().voided, RIG_DEPTH - 1);
	give_and_check(a, 6 * RIG_DEPTH, 2);
}

Test(core_sealed, strict_session_denies_everything_after_a_gap)
{
	unsigned char late[RIG_SLOT];

	b->terms.flags = SR_ADMISSION_STRICT;
	start(b);
	give_and_check(b, 0, 1);
	give_and_check(b, 1, 2);
	seal_number(b, 2);
	memcpy(late, record, sizeof late);
	for (uint64_t n = 3; n < 6; n++) {
		cr_assert_eq(give_number(b, n), SR_CORE_REPLY);
		check_reply(b, n, SR_DENIED, SR_POLICY_GAP, n);
		cr_assert_not(has_signature());
	}
	memcpy(record, late, sizeof late);
	cr_assert_eq(give(b), SR_CORE_REPLY);
	check_reply(b, 2, SR_VOID, 0, 5);
	cr_assert_eq(give_number(b, 6), SR_CORE_REPLY);
	check_reply(b, 6, SR_DENIED, SR_POLICY_GAP, 6);
	cr_assert_eq(stats().signed_ok, 2);

	give_and_check(a, 4, 1); /* who did not ask for it may have gaps */
}

Test(core_sealed, strict_session_that_begins_with_a_gap_denies_too)
{
	b->terms.flags = SR_ADMISSION_STRICT;
	start(b);
	cr_assert_eq(give_number(b, 1), SR_CORE_REPLY);
	check_reply(b, 1, SR_DENIED, SR_POLICY_GAP, 1);
}

/* ---- the ratchet ---- */

static void cross_the_epoch(bool idle)
{
	static unsigned char late[RIG_SLOT];
	uint64_t accepted = 0;

	give_and_check(a, RATCHET - 4, ++accepted);
	seal_number(a, RATCHET - 2);
	memcpy(late, record, sizeof late);
	for (uint64_t n = RATCHET - 1; n < RATCHET + 3; n++) {
		while (idle && sr_core_idle(rig.core))
			;
		give_and_check(a, n, ++accepted);
	}
	memcpy(record, late, sizeof late);
	give_each_bit_flipped(a);
	cr_assert_eq(give(a), SR_CORE_REPLY, "sealed under the old key, within depth");
	check_reply(a, RATCHET - 2, SR_VOID, 0, accepted);
	for (uint64_t n = RATCHET + 3; n < RATCHET + 3 * RIG_DEPTH; n++) {
		while (idle && sr_core_idle(rig.core))
			;
		give_and_check(a, n, ++accepted);
	}
	cr_assert_eq(stats().unauthentic + stats().dropped, BITS);
}

Test(core_sealed, epochs_pass_without_idle_turns)
{
	cross_the_epoch(false);
}

Test(core_sealed, epochs_pass_with_idle_turns)
{
	cross_the_epoch(true);
}

Test(core_sealed, gap_may_reach_into_the_next_epoch_and_not_beyond)
{
	seal_number(a, RATCHET + 5);
	seal_number(a, 2 * RATCHET + 1); /* the client goes on, and nothing comes here */
	cr_assert_eq(give(a), SR_CORE_DROPPED);
	cr_assert_eq(stats().unauthentic, 1);
	cr_assert_eq(stats().sessions, 0);

	start(b);
	give_and_check(b, 0, 1);
	give_and_check(b, RATCHET + 5, 2);
	give_and_check(b, 2 * RATCHET + 1, 3);
	seal_number(b, 3 * RATCHET + 1);
	give_and_check(b, 3 * RATCHET + 2, 4);
	cr_assert_eq(stats().sessions, 1);
}

Test(core_sealed, unauthentic_record_of_the_next_epoch_moves_no_key)
{
	give_and_check(a, 0, 1);
	seal_number(a, 1);
	sr_put64(record, FIRST + RATCHET);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(give(a), SR_CORE_DROPPED);
	sr_put64(record, FIRST + 1);
	cr_assert_eq(give(a), SR_CORE_REPLY);
	check_reply(a, 1, SR_OK, 0, 2);
	give_and_check(a, RATCHET, 3);
}

Test(core_sealed, idle_turns_end_when_all_is_ready_and_begin_with_the_next_reply)
{
	unsigned int steps;

	cr_assert_not(sr_core_idle(rig.core), "nothing was answered yet");
	start(b);
	for (uint64_t n = 0; n < 3; n++) {
		give_and_check(a, n, n + 1);
		give_and_check(b, n, n + 1);
		for (steps = 0; sr_core_idle(rig.core); steps++)
			cr_assert_lt(steps, 12);
		cr_assert_geq(steps, 4, "each direction of each session");
		cr_assert_not(sr_core_idle(rig.core));
	}
	end_session(a);
	give_and_check(b, 3, 4);
	end_session(b);
	for (steps = 0; sr_core_idle(rig.core); steps++)
		cr_assert_lt(steps, 2, "its session has ended");
}

/* ---- everything at once ---- */

#define NUMBERS 4000u

/* What the agent has seen, of two sessions that one client holds. */
struct seen {
	unsigned char records[NUMBERS][RIG_SLOT];
	unsigned char replies[NUMBERS][SR_CMP_BYTES];
	bool answered[NUMBERS], ok[NUMBERS];
	uint64_t sealed, accepted;
};

static struct seen seen[2];
static uint64_t state = 88172645463325252u;

static uint32_t draw(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 20) % below;
}

/* One reply a number, ever; and as many OK as were signed. */
static void note_reply(struct client *c, struct seen *s, uint64_t n)
{
	cr_assert_lt(n, s->sealed, "a reply to nothing");
	if (s->answered[n]) {
		cr_assert_arr_eq(reply, s->replies[n], SR_CMP_BYTES);
		return;
	}
	s->answered[n] = true;
	memcpy(s->replies[n], reply, SR_CMP_BYTES);
	memset(opened, 0, sizeof opened);
	cr_assert_eq(sr_seal_open(&c->replies, n, opened + SR_CMP_BODY, reply), 0);
	s->ok[n] = rig_status(opened) == SR_OK;
	cr_assert(s->ok[n] || rig_status(opened) == SR_VOID);
	s->accepted += s->ok[n];
	cr_assert_eq(rig_accepted(opened), s->accepted, "the count shows what was hidden");
}

/* Spoils the record that is about to be given, or does not. */
static void spoil(const struct seen *other)
{
	switch (draw(8)) {
	case 0:
		record[draw(RIG_SLOT)] ^= (unsigned char)(1u << draw(8));
		break;
	case 1:
		sr_put64(record, sr_get64(record) + draw(5) - 2);
		break;
	case 2:
		memcpy(record + draw(RIG_SLOT - 64), other->records[draw(NUMBERS)], 64);
		break;
	default:
		break;
	}
}

static void agent_turn(struct client *c, struct seen *s, const struct seen *other)
{
	uint64_t back = draw(draw(4) ? 3 : 3 * RIG_DEPTH), n;
	enum sr_core_verdict verdict;

	for (uint32_t more = draw(3); more && s->sealed < NUMBERS; more--) {
		seal_number(c, s->sealed);
		memcpy(s->records[s->sealed++], record, RIG_SLOT);
	}
	if (s->sealed == 0)
		return;
	n = back < s->sealed ? s->sealed - 1 - back : 0;
	memcpy(record, draw(20) ? s->records[n] : other->records[n], RIG_SLOT);
	spoil(other);
	if (draw(30) == 0) {
		sr_core_stream_lost(rig.core, c->stream);
		c->epoch += draw(2);
		c->stream = draw(64);
		cr_assert_eq(open_session(c), SR_OPENED_OK);
	}
	if (draw(4) == 0)
		(void)sr_core_idle(rig.core);
	memset(reply, 0xee, sizeof reply);
	verdict = sr_core_record(rig.core, reply, c->id, c->epoch - (draw(10) == 0), c->stream,
				 record, RIG_SLOT);
	cr_assert_neq(verdict, SR_CORE_ENDED, "no honest client's session ends");
	if (verdict == SR_CORE_REPLY)
		note_reply(c, s, sr_get64(reply) - FIRST);
	else
		cr_assert_eq(reply[0], 0xee);
}

Test(core_sealed, agent_that_may_do_anything_gets_one_reply_a_number_and_no_other)
{
	struct client *clients[2];

	clients[0] = a;
	clients[1] = b;
	start(b);
	while (seen[0].sealed < NUMBERS || seen[1].sealed < NUMBERS) {
		uint32_t which = draw(2);

		agent_turn(clients[which], &seen[which], &seen[!which]);
	}
	cr_assert_eq(stats().signed_ok, seen[0].accepted + seen[1].accepted);
	cr_assert_gt(stats().signed_ok, NUMBERS / 4);
	cr_assert_gt(stats().voided, NUMBERS / 20);
	cr_assert_gt(stats().repeats, NUMBERS / 20);
	cr_assert_gt(stats().unauthentic, NUMBERS / 20);
	cr_assert_eq(stats().sessions, 2);
	cr_assert_eq(stats().ended_hostile, 0);
}

/* ---- on a stream ---- */

static struct sr_frame next_frame(struct sr_port *port, unsigned char payload[512])
{
	struct sr_frame frame;
	const void *data;
	size_t bytes = sr_port_output(port, &data);

	cr_assert_eq(sr_frame_cut(&frame, data, bytes), 0);
	memcpy(payload, frame.payload, frame.payload_bytes);
	sr_port_sent(port, frame.bytes);
	return frame;
}

static void feed(struct sr_port *port, uint32_t kind, const struct client *c, const void *payload,
		 uint32_t bytes)
{
	unsigned char frame[SR_FRAME_HEADER_BYTES + RIG_SLOT];
	uint32_t whole = sr_frame_put(frame, kind, c->id, c->epoch, bytes);

	memcpy(frame + SR_FRAME_HEADER_BYTES, payload, bytes);
	cr_assert_eq(sr_port_feed(port, frame, whole), 0);
}

Test(core_sealed, port_opens_sealed_sessions_and_gives_back_what_an_unauthentic_record_cost)
{
	struct sr_port_config port_config = {
		.core = rig.core,
		.stream = STREAM,
		.credit_records = 2,
		.slot_bytes_max = 512,
		.sessions_max = SESSIONS,
		.write_bytes_max = 4096,
	};
	unsigned char payload[512], wire[SR_OPEN_BYTES];
	struct sr_open_request request = open_request(b);
	struct sr_frame frame;
	struct sr_port *port;

	cr_assert_eq(sr_port_new(&port, &port_config), 0);
	sr_port_begin(port);
	(void)next_frame(port, payload);
	cr_assert_eq(admit(b), 0);
	sr_open_put(wire, &request);
	feed(port, SR_FRAME_OPEN, b, wire, sizeof wire);
	b->id = next_frame(port, payload).session;
	cr_assert_eq(sr_get32(payload + 4), SR_OPENED_OK);

	for (uint64_t n = 0; n < 9; n++) {
		seal_number(b, n);
		record[200] ^= 4;
		feed(port, SR_FRAME_DATA, b, record, RIG_SLOT);
		record[200] ^= 4;
		feed(port, SR_FRAME_DATA, b, record, RIG_SLOT);
		cr_assert_eq(sr_port_sign(port, 9), 2);
		frame = next_frame(port, payload);
		cr_assert_eq(frame.kind, SR_FRAME_CREDIT);
		cr_assert_eq(sr_get32(payload), 1);
		frame = next_frame(port, payload);
		cr_assert_eq(frame.kind, SR_FRAME_REPLY);
		memcpy(reply, payload, sizeof reply);
		check_reply(b, n, SR_OK, 0, n + 1);
	}
	feed(port, SR_FRAME_STATUS, b, "", 0);
	(void)next_frame(port, payload);
	cr_assert_eq(sr_get64(payload + 8 * SR_FIELD_UNAUTHENTIC), 9);

	sr_port_delete(port);
}
