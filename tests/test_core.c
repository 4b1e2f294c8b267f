/* SPDX-License-Identifier: MIT */
#include "signer_rig.h"
#include "sr_hash.h"

#define STREAM 3u
#define EPOCH 10u
/* So that words wrap in every test. */
#define FIRST (UINT64_MAX - 2)

static struct rig rig;
static uint32_t session;
static unsigned char record[512], reply[SR_CMP_BYTES];

static enum sr_open_result open_session(uint64_t token, uint32_t flags, uint32_t epoch,
					uint32_t stream)
{
	struct sr_open_request request = rig_open_request(token, FIRST);

	request.flags = flags;
	return sr_core_open(rig.core, &session, &request, epoch, stream);
}

static void begin(void)
{
	rig_begin(&rig);
	cr_assert_eq(open_session(1, 0, EPOCH, STREAM), SR_OPENED_OK);
}

static void end(void)
{
	rig_end(&rig);
}

TestSuite(core, .init = begin, .fini = end);

static enum sr_core_verdict give(void)
{
	memset(reply, 0xee, sizeof reply);
	return sr_core_record(rig.core, reply, session, EPOCH, STREAM, record, RIG_SLOT);
}

/* A request numbered n whose body says so. */
static enum sr_core_verdict give_number(uint64_t n)
{
	rig_record(record, RIG_SLOT, FIRST + n, RIG_KEY, SR_ECDSA_SHA256, &n, sizeof n);
	return give();
}

static enum sr_core_verdict give_body(uint64_t n, uint32_t key, uint16_t type, const void *body,
				      uint16_t bytes)
{
	rig_record(record, RIG_SLOT, FIRST + n, key, type, body, bytes);
	return give();
}

static struct sr_core_stats stats(void)
{
	struct sr_core_stats s;

	sr_core_stats_get(rig.core, &s);
	return s;
}

static void check_reply(uint64_t n, unsigned int status, unsigned int policy, uint64_t accepted)
{
	cr_assert_eq(sr_get64(reply), FIRST + n, "slot word of %u", (unsigned int)n);
	cr_assert_eq(reply[SR_CMP_KIND], SR_KIND_UNSEALED);
	cr_assert_eq(reply[SR_CMP_STATUS], 0);
	cr_assert_eq(rig_status(reply), status, "number %u", (unsigned int)n);
	cr_assert_eq(rig_policy(reply), policy);
	cr_assert_eq(rig_accepted(reply), accepted);
	for (size_t i = SR_CMP_BYTES - SR_TAG_BYTES; i < SR_CMP_BYTES; i++)
		cr_assert_eq(reply[i], 0);
}

static bool has_signature(void)
{
	for (size_t i = 0; i < SR_SIG_BYTES; i++)
		if (rig_sig(reply)[i])
			return true;
	return false;
}

Test(core, signs_each_blind_type_so_that_it_verifies)
{
	static const unsigned char message[100] = { 1, 2, 3 };
	const unsigned char *pubkey = sr_keyring_info(rig.keys, 0)->pubkey;
	unsigned char digest[32];
	struct sr_hasher *hasher;
	uint64_t n = 0;

	cr_assert_eq(sr_hasher_new(&hasher), 0);
	for (uint32_t key = RIG_KEY; key <= RIG_KEY_DET; key++) {
		cr_assert_eq(give_body(n, key, SR_ECDSA_SHA256, message, 100), SR_CORE_REPLY);
		check_reply(n, SR_OK, 0, n + 1);
		cr_assert_eq(reply[SR_CMP_BODY + SR_REP_SIGKIND], SR_SIG_ECDSA);
		cr_assert_eq(sr_sha256(hasher, digest, message, 100), 0);
		cr_assert_eq(sr_ecdsa_verify(rig.curve, rig_sig(reply), digest, pubkey), 0);
		n++;

		cr_assert_eq(give_body(n, key, SR_ECDSA_KECCAK256, message, 100), SR_CORE_REPLY);
		check_reply(n, SR_OK, 0, n + 1);
		sr_keccak256(digest, message, 100);
		cr_assert_eq(sr_ecdsa_verify(rig.curve, rig_sig(reply), digest, pubkey), 0);
		n++;

		cr_assert_eq(give_body(n, key, SR_ECDSA_DIGEST, message, 32), SR_CORE_REPLY);
		check_reply(n, SR_OK, 0, n + 1);
		cr_assert_eq(sr_ecdsa_verify(rig.curve, rig_sig(reply), message, pubkey), 0);
		n++;

		cr_assert_eq(give_body(n, key, SR_BIP340, message, 100), SR_CORE_REPLY);
		check_reply(n, SR_OK, 0, n + 1);
		cr_assert_eq(reply[SR_CMP_BODY + SR_REP_SIGKIND], SR_SIG_BIP340);
		cr_assert_eq(sr_bip340_verify(rig.curve, rig_sig(reply), message, 100, pubkey), 0);
		n++;
	}
	cr_assert_eq(stats().signed_ok, 8);
	cr_assert_eq(stats().records, 8);
	sr_hasher_delete(hasher);
}

Test(core, deterministic_key_gives_the_published_signature)
{
	unsigned char message[256], want[64];

	memset(message, 0xab, sizeof message);
	rig_unhex(want, "082e114933b543362e29f818216bfa0a5d5a3bc56e16ca56ea440a99f5478bc0"
			"048611d6038a5b50bbdffbddbb223a9c4da7b760f5555e7fce488491fa5c6233");
	cr_assert_eq(give_body(0, RIG_KEY_DET, SR_ECDSA_SHA256, message, 256), SR_CORE_REPLY);
	cr_assert_arr_eq(rig_sig(reply), want, sizeof want);
	cr_assert_eq(reply[SR_CMP_BODY + SR_REP_RECID], 0);
}

Test(core, hedged_signatures_of_one_message_differ)
{
	unsigned char seen[RIG_DEPTH][32];

	for (uint64_t n = 0; n < RIG_DEPTH; n++) {
		uint16_t type = n % 2 ? SR_BIP340 : SR_ECDSA_SHA256;

		cr_assert_eq(give_body(n, RIG_KEY, type, "same", 4), SR_CORE_REPLY);
		memcpy(seen[n], rig_sig(reply), 32);
		for (uint64_t i = 0; i < n; i++)
			cr_assert_neq(memcmp(seen[i], seen[n], 32), 0, "two signatures share r");
	}
}

Test(core, request_that_cannot_be_read_is_bad)
{
	unsigned char *request = record + SR_SUB_BODY;
	uint64_t n = 0;

	cr_assert_eq(give_body(n, RIG_KEY, 0, "x", 1), SR_CORE_REPLY);
	check_reply(n, SR_BAD_REQUEST, 0, n + 1);
	n++;
	cr_assert_eq(give_body(n, RIG_KEY, SR_TYPE_BLIND_MAX + 1, "x", 1), SR_CORE_REPLY);
	check_reply(n, SR_BAD_REQUEST, 0, n + 1);
	n++;
	cr_assert_eq(give_body(n, RIG_KEY, SR_ECDSA_DIGEST, "x", 1), SR_CORE_REPLY);
	check_reply(n, SR_BAD_REQUEST, 0, n + 1);
	n++;

	/* One byte more than the slot holds, and the most that can be claimed. */
	rig_record(record, RIG_SLOT, FIRST + n, RIG_KEY, SR_ECDSA_SHA256, "x", 1);
	sr_put16(request + SR_REQ_BODY_BYTES, 337);
	cr_assert_eq(give(), SR_CORE_REPLY);
	check_reply(n, SR_BAD_REQUEST, 0, n + 1);
	n++;
	sr_put64(record, FIRST + n);
	sr_put16(request + SR_REQ_BODY_BYTES, 0xffff);
	cr_assert_eq(give(), SR_CORE_REPLY);
	check_reply(n, SR_BAD_REQUEST, 0, n + 1);
	n++;
	sr_put64(record, FIRST + n);
	sr_put16(request + SR_REQ_BODY_BYTES, 336);
	cr_assert_eq(give(), SR_CORE_REPLY);
	check_reply(n, SR_OK, 0, n + 1);
	n++;
	cr_assert_eq(stats().bad_request, 5);
	cr_assert_eq(stats().signed_ok, 1);
}

Test(core, padding_that_is_not_zero_is_bad_at_each_byte)
{
	uint64_t n = 0;

	for (size_t at = SR_SUB_BODY + SR_REQ_BODY + 5; at < RIG_SLOT - SR_TAG_BYTES; at++, n++) {
		rig_record(record, RIG_SLOT, FIRST + n, RIG_KEY, SR_ECDSA_SHA256, "hello", 5);
		record[at] = 1;
		cr_assert_eq(give(), SR_CORE_REPLY);
		check_reply(n, SR_BAD_REQUEST, 0, n + 1);
		cr_assert_not(has_signature());
	}
}

Test(core, who_may_not_is_denied_with_the_reason)
{
	struct sr_open_request other = rig_open_request(2, FIRST);

	cr_assert_eq(give_body(0, 12345, SR_BIP340, "x", 1), SR_CORE_REPLY);
	check_reply(0, SR_DENIED, SR_POLICY_UNKNOWN_KEY, 1);
	cr_assert_eq(give_body(1, RIG_KEY_BARE, SR_BIP340, "x", 1), SR_CORE_REPLY);
	check_reply(1, SR_DENIED, SR_POLICY_TYPE_NOT_PERMITTED, 2);
	sr_keyring_lock(rig.keys, 0);
	cr_assert_eq(give_body(2, RIG_KEY, SR_BIP340, "x", 1), SR_CORE_REPLY);
	check_reply(2, SR_DENIED, SR_POLICY_KEY_LOCKED, 3);
	cr_assert_not(has_signature());

	other.uid = RIG_UID + 1;
	cr_assert_eq(sr_core_open(rig.core, &session, &other, EPOCH, STREAM), SR_OPENED_OK);
	cr_assert_eq(give_body(0, RIG_KEY, SR_BIP340, "x", 1), SR_CORE_REPLY);
	check_reply(0, SR_DENIED, SR_POLICY_UNKNOWN_KEY, 1);
	cr_assert_eq(give_body(1, RIG_KEY_DET, SR_BIP340, "x", 1), SR_CORE_REPLY);
	check_reply(1, SR_OK, 0, 2);
	cr_assert_eq(stats().denied, 4);
}

Test(core, record_that_is_not_in_clear_is_dropped)
{
	uint64_t body = 0;

	rig_record(record, RIG_SLOT, FIRST, RIG_KEY, SR_ECDSA_SHA256, &body, 8);
	record[SR_SUB_KIND] = SR_KIND_SEALED;
	cr_assert_eq(give(), SR_CORE_DROPPED);
	record[SR_SUB_KIND] = SR_KIND_AGENT;
	cr_assert_eq(give(), SR_CORE_DROPPED);
	record[SR_SUB_KIND] = SR_KIND_UNSEALED;
	for (size_t at = SR_SUB_FLAGS; at < SR_SUB_BODY; at++) {
		record[at] = 1;
		cr_assert_eq(give(), SR_CORE_DROPPED);
		record[at] = 0;
	}
	for (size_t at = RIG_SLOT - SR_TAG_BYTES; at < RIG_SLOT; at++) {
		record[at] = 0x80;
		cr_assert_eq(give(), SR_CORE_DROPPED);
		record[at] = 0;
	}
	cr_assert_eq(reply[0], 0xee, "a dropped record writes no reply");
	cr_assert_eq(stats().records, 0);
	cr_assert_eq(stats().dropped, 2 + 7 + 16);
	cr_assert_eq(give(), SR_CORE_REPLY);
	check_reply(0, SR_OK, 0, 1);
}

static enum sr_core_verdict give_as(uint32_t id, uint32_t epoch, uint32_t stream, uint32_t bytes)
{
	uint64_t body = 0;

	rig_record(record, sizeof record, FIRST, RIG_KEY, SR_ECDSA_SHA256, &body, 8);
	return sr_core_record(rig.core, reply, id, epoch, stream, record, bytes);
}

Test(core, record_of_nobody_or_of_the_past_is_dropped)
{
	cr_assert_eq(give_as(0, EPOCH, STREAM, RIG_SLOT), SR_CORE_ENDED);
	cr_assert_eq(give_as(session + 1, EPOCH, STREAM, RIG_SLOT), SR_CORE_ENDED);
	cr_assert_eq(give_as(session ^ (1u << 12), EPOCH, STREAM, RIG_SLOT), SR_CORE_ENDED);
	cr_assert_eq(give_as(UINT32_MAX, EPOCH, STREAM, RIG_SLOT), SR_CORE_ENDED);
	cr_assert_eq(give_as(session, EPOCH - 1, STREAM, RIG_SLOT), SR_CORE_DROPPED);
	cr_assert_eq(give_as(session, EPOCH, STREAM + 1, RIG_SLOT), SR_CORE_DROPPED);
	cr_assert_eq(give_as(session, EPOCH, STREAM, 512), SR_CORE_DROPPED);
	cr_assert_eq(give_as(session, EPOCH, STREAM, 256), SR_CORE_DROPPED);
	cr_assert_eq(give_as(session, EPOCH, STREAM, 0), SR_CORE_DROPPED);
	cr_assert_eq(stats().dropped, 9);
	cr_assert_eq(give_as(session, EPOCH, STREAM, RIG_SLOT), SR_CORE_REPLY);
}

Test(core, repeat_gets_the_same_bytes_and_spends_nothing)
{
	unsigned char first[3 * RIG_DEPTH][SR_CMP_BYTES];

	for (uint64_t n = 0; n < 3 * RIG_DEPTH; n++) {
		cr_assert_eq(give_number(n), SR_CORE_REPLY);
		check_reply(n, SR_OK, 0, n + 1);
		memcpy(first[n], reply, sizeof reply);
		for (uint64_t back = 0; back < RIG_DEPTH && back <= n; back++) {
			cr_assert_eq(give_number(n - back), SR_CORE_REPLY);
			cr_assert_arr_eq(reply, first[n - back], sizeof reply);
		}
	}
	cr_assert_eq(stats().signed_ok, 3 * RIG_DEPTH);
	cr_assert_gt(stats().repeats, 100);
}

Test(core, skipped_numbers_are_void_once_and_then_repeated)
{
	unsigned char void_reply[SR_CMP_BYTES];

	cr_assert_eq(give_number(0), SR_CORE_REPLY);
	cr_assert_eq(give_number(5), SR_CORE_REPLY);
	check_reply(5, SR_OK, 0, 2);
	cr_assert_eq(give_number(3), SR_CORE_REPLY);
	check_reply(3, SR_VOID, 0, 2);
	cr_assert_not(has_signature());
	memcpy(void_reply, reply, sizeof reply);

	cr_assert_eq(give_number(6), SR_CORE_REPLY);
	check_reply(6, SR_OK, 0, 3);
	cr_assert_eq(give_number(3), SR_CORE_REPLY);
	cr_assert_arr_eq(reply, void_reply, sizeof reply, "the same reply as before");
	cr_assert_eq(stats().voided, 1);
	cr_assert_eq(stats().repeats, 1);

	/* Another record under a number that was answered VOID. */
	cr_assert_eq(give_body(3, RIG_KEY, SR_ECDSA_SHA256, "other", 5), SR_CORE_ENDED);
}

Test(core, two_records_under_one_number_end_the_session)
{
	cr_assert_eq(give_number(0), SR_CORE_REPLY);
	record[SR_SUB_DEADLINE] = 1;
	cr_assert_eq(give(), SR_CORE_ENDED, "the deadline is part of the record");
	cr_assert_eq(give(), SR_CORE_ENDED, "it is gone");
	cr_assert_eq(stats().ended_hostile, 1);
	cr_assert_eq(stats().sessions, 0);
	cr_assert_eq(open_session(1, SR_OPEN_RESUME, EPOCH, STREAM), SR_OPENED_GONE);
}

Test(core, gap_longer_than_depth_is_legal_and_voids_what_it_skips)
{
	cr_assert_eq(give_number(RIG_DEPTH), SR_CORE_REPLY);
	check_reply(RIG_DEPTH, SR_OK, 0, 1);
	cr_assert_eq(give_number(1), SR_CORE_REPLY);
	check_reply(1, SR_VOID, 0, 1);
	cr_assert_eq(give_number(5 * RIG_DEPTH), SR_CORE_REPLY);
	check_reply(5 * RIG_DEPTH, SR_OK, 0, 2);
	cr_assert_eq(give_number(5 * RIG_DEPTH - 1), SR_CORE_REPLY);
	check_reply(5 * RIG_DEPTH - 1, SR_VOID, 0, 2);
	cr_assert_eq(give_number(4 * RIG_DEPTH), SR_CORE_ENDED, "it is forgotten");
}

Test(core, number_that_is_forgotten_ends_the_session)
{
	for (uint64_t n = 0; n <= RIG_DEPTH; n++)
		cr_assert_eq(give_number(n), SR_CORE_REPLY);
	cr_assert_eq(give_number(1), SR_CORE_REPLY, "the oldest that is kept");
	cr_assert_eq(give_number(0), SR_CORE_ENDED);
}

Test(core, number_before_the_start_ends_the_session)
{
	cr_assert_eq(give_number(UINT64_MAX), SR_CORE_ENDED);
}

Test(core, sessions_start_where_they_are_told)
{
	struct sr_open_request request = rig_open_request(2, FIRST);

	request.next = 1000;
	cr_assert_eq(sr_core_open(rig.core, &session, &request, EPOCH, STREAM), SR_OPENED_OK);
	cr_assert_eq(give_number(1000), SR_CORE_REPLY);
	check_reply(1000, SR_OK, 0, 1);
	cr_assert_eq(give_number(999), SR_CORE_ENDED);
}

Test(core, resumed_session_answers_repeats_on_its_new_stream_alone)
{
	unsigned char before[SR_CMP_BYTES];
	uint32_t id = session;

	cr_assert_eq(give_number(0), SR_CORE_REPLY);
	memcpy(before, reply, sizeof before);
	sr_core_stream_lost(rig.core, STREAM + 1);
	cr_assert_eq(stats().orphans, 0, "another's stream");
	sr_core_stream_lost(rig.core, STREAM);
	cr_assert_eq(stats().orphans, 1);
	cr_assert_eq(give_number(0), SR_CORE_DROPPED);

	cr_assert_eq(open_session(1, SR_OPEN_RESUME, EPOCH - 1, STREAM + 1), SR_OPENED_EPOCH);
	cr_assert_eq(open_session(1, SR_OPEN_RESUME, EPOCH + 1, STREAM + 1), SR_OPENED_OK);
	cr_assert_eq(session, id);
	cr_assert_eq(stats().orphans, 0);
	cr_assert_eq(give_number(0), SR_CORE_DROPPED, "the old stream, the old epoch");
	cr_assert_eq(sr_core_record(rig.core, reply, id, EPOCH + 1, STREAM + 1, record, RIG_SLOT),
		     SR_CORE_REPLY);
	cr_assert_arr_eq(reply, before, sizeof before);
	cr_assert(sr_core_on_stream(rig.core, id, STREAM + 1));
	cr_assert_not(sr_core_on_stream(rig.core, id, STREAM));
}

Test(core, resume_passes_over_what_the_agent_has_answered)
{
	struct sr_open_request request = rig_open_request(1, FIRST);

	cr_assert_eq(give_number(0), SR_CORE_REPLY);
	request.flags = SR_OPEN_RESUME;
	request.next = 5000;
	cr_assert_eq(sr_core_open(rig.core, &session, &request, EPOCH, STREAM), SR_OPENED_OK);
	cr_assert_eq(give_number(5000), SR_CORE_REPLY);
	check_reply(5000, SR_OK, 0, 2);
	cr_assert_eq(give_number(4999), SR_CORE_REPLY);
	check_reply(4999, SR_VOID, 0, 2);

	request.next = 7; /* one that has seen less than we */
	cr_assert_eq(sr_core_open(rig.core, &session, &request, EPOCH, STREAM), SR_OPENED_OK);
	cr_assert_eq(give_number(5001), SR_CORE_REPLY);
	check_reply(5001, SR_OK, 0, 3);

	request.next = 6000;
	cr_assert_eq(sr_core_open(rig.core, &session, &request, EPOCH, STREAM), SR_OPENED_OK);
	cr_assert_eq(give_number(5999), SR_CORE_REPLY);
	check_reply(5999, SR_VOID, 0, 3);
}

Test(core, open_checks_sizes_token_and_user)
{
	struct sr_open_request request = rig_open_request(1, FIRST);
	uint32_t id = 0;

	request.first++;
	cr_assert_eq(sr_core_open(rig.core, &id, &request, EPOCH, STREAM), SR_OPENED_SIZES);
	request = rig_open_request(1, FIRST);
	request.depth *= 2;
	cr_assert_eq(sr_core_open(rig.core, &id, &request, EPOCH, STREAM), SR_OPENED_SIZES);
	request = rig_open_request(1, FIRST);
	request.slot_bytes += 128;
	cr_assert_eq(sr_core_open(rig.core, &id, &request, EPOCH, STREAM), SR_OPENED_SIZES);
	request = rig_open_request(1, FIRST);
	request.uid++;
	request.flags = SR_OPEN_RESUME;
	cr_assert_eq(sr_core_open(rig.core, &id, &request, EPOCH, STREAM), SR_OPENED_GONE);
	request.uid--;
	request.token[1] ^= 1;
	cr_assert_eq(sr_core_open(rig.core, &id, &request, EPOCH, STREAM), SR_OPENED_GONE);
	cr_assert_eq(id, 0);

	request = rig_open_request(1, FIRST);
	cr_assert_eq(sr_core_open(rig.core, &id, &request, EPOCH, STREAM), SR_OPENED_OK);
	cr_assert_eq(id, session, "without RESUME, but the same session");
}

Test(core, open_refuses_impossible_sizes)
{
	static const struct {
		uint32_t depth, slot_bytes;
	} wrong[] = {
		{ 0, 384 }, { 1, 384 }, { 3, 384 }, { 32, 384 }, { 1u << 31, 384 },
		{ 8, 0 },   { 8, 128 }, { 8, 257 }, { 8, 640 },  { 8, 0xffffff80u },
	};
	struct sr_open_request request;
	uint32_t id = 0;

	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		request = rig_open_request(2, FIRST);
		request.depth = wrong[i].depth;
		request.slot_bytes = wrong[i].slot_bytes;
		cr_assert_eq(sr_core_open(rig.core, &id, &request, EPOCH, STREAM), SR_OPENED_SIZES,
			     "case %zu", i);
	}
	request = rig_open_request(2, FIRST);
	cr_assert_eq(sr_core_open(rig.core, &id, &request, EPOCH, 64), SR_OPENED_SIZES);
	cr_assert_eq(id, 0);
}

Test(core, full_table_makes_room_from_the_oldest_orphan)
{
	uint32_t ids[4];

	ids[0] = session;
	for (uint64_t i = 1; i < 4; i++) {
		cr_assert_eq(open_session(i + 1, 0, EPOCH, STREAM + (uint32_t)i), SR_OPENED_OK);
		ids[i] = session;
	}
	cr_assert_eq(open_session(9, 0, EPOCH, STREAM), SR_OPENED_FULL);
	sr_core_stream_lost(rig.core, STREAM + 2);
	sr_core_stream_lost(rig.core, STREAM + 1);
	cr_assert_eq(open_session(9, 0, EPOCH, STREAM), SR_OPENED_OK);
	cr_assert_eq(SR_SESSION_INDEX(session), SR_SESSION_INDEX(ids[2]), "it was lost first");
	cr_assert_neq(session, ids[2], "another generation");
	cr_assert_eq(stats().sessions, 4);
	cr_assert_eq(stats().orphans, 1);
	cr_assert_eq(open_session(3, SR_OPEN_RESUME, EPOCH, STREAM), SR_OPENED_GONE);
	cr_assert_eq(open_session(2, SR_OPEN_RESUME, EPOCH, STREAM), SR_OPENED_OK);
}

Test(core, end_is_ignored_for_a_lower_epoch)
{
	uint32_t id = session;

	sr_core_end(rig.core, id, EPOCH - 1);
	cr_assert_eq(stats().sessions, 1);
	sr_core_end(rig.core, id, EPOCH);
	cr_assert_eq(stats().sessions, 0);
	sr_core_end(rig.core, id, EPOCH);
	cr_assert_eq(stats().sessions, 0);
	cr_assert_eq(open_session(1, 0, EPOCH, STREAM), SR_OPENED_OK);
	cr_assert_neq(session, id);
	cr_assert_eq(give_number(0), SR_CORE_REPLY);
	check_reply(0, SR_OK, 0, 1);
}

Test(core, new_session_knows_nothing_of_the_one_before_it_in_its_place)
{
	struct sr_open_request request = rig_open_request(1, FIRST);

	cr_assert_eq(give_number(6), SR_CORE_REPLY);
	sr_core_end(rig.core, session, EPOCH);
	request.next = 7;
	cr_assert_eq(sr_core_open(rig.core, &session, &request, EPOCH, STREAM), SR_OPENED_OK);
	cr_assert_eq(give_number(6), SR_CORE_ENDED, "answered, but in another session");
	cr_assert_eq(sr_core_open(rig.core, &session, &request, EPOCH, STREAM), SR_OPENED_OK);
	cr_assert_eq(give_number(5), SR_CORE_ENDED, "skipped, but in another session");
}

Test(core, session_numbers_are_never_zero_nor_reused_soon)
{
	uint32_t last = session;

	for (int i = 0; i < 1000; i++) {
		sr_core_end(rig.core, session, EPOCH);
		cr_assert_eq(open_session(1, 0, EPOCH, STREAM), SR_OPENED_OK);
		cr_assert_neq(session, 0);
		cr_assert_neq(session, last);
		last = session;
	}
}

Test(core, class_is_as_it_was_begun)
{
	cr_assert_not(sr_core_priority(rig.core, session));
	cr_assert_eq(open_session(1, SR_OPEN_PRIORITY, EPOCH, STREAM), SR_OPENED_OK);
	cr_assert_not(sr_core_priority(rig.core, session), "resuming changes nothing");
	cr_assert_eq(open_session(2, SR_OPEN_PRIORITY, EPOCH, STREAM), SR_OPENED_OK);
	cr_assert(sr_core_priority(rig.core, session));
	cr_assert_not(sr_core_priority(rig.core, 0));
}

Test(core, signature_that_does_not_verify_locks_the_key_and_is_not_released)
{
	/* The seam: an info is no secret and the table is no constant, so a test
	 * may spoil what the check compares with. */
	struct sr_key_info *info = (struct sr_key_info *)(uintptr_t)sr_keyring_info(rig.keys, 1);

	memcpy(info->pubkey, sr_keyring_info(rig.keys, 2)->pubkey, sizeof info->pubkey);
	cr_assert_eq(give_body(0, RIG_KEY_DET, SR_ECDSA_SHA256, "x", 1), SR_CORE_REPLY);
	check_reply(0, SR_DENIED, SR_POLICY_KEY_LOCKED, 1);
	cr_assert_not(has_signature());
	cr_assert_eq(reply[SR_CMP_BODY + SR_REP_SIGKIND], SR_SIG_NONE);
	cr_assert(info->locked);
	cr_assert_eq(stats().check_failed, 1);
	cr_assert_eq(stats().signed_ok, 0);

	cr_assert_eq(give_body(1, RIG_KEY_DET, SR_BIP340, "x", 1), SR_CORE_REPLY);
	check_reply(1, SR_DENIED, SR_POLICY_KEY_LOCKED, 2);
	cr_assert_eq(stats().check_failed, 1, "a locked key is not tried again");

	info->locked = false;
	cr_assert_eq(give_body(2, RIG_KEY_DET, SR_BIP340, "x", 1), SR_CORE_REPLY);
	check_reply(2, SR_DENIED, SR_POLICY_KEY_LOCKED, 3);
	cr_assert_not(has_signature());
	cr_assert_eq(stats().check_failed, 2);

	cr_assert_eq(give_body(3, RIG_KEY, SR_ECDSA_SHA256, "x", 1), SR_CORE_REPLY);
	check_reply(3, SR_OK, 0, 4);
}

Test(core, locks_a_key_whose_secret_was_spoilt)
{
	unsigned char *secret = (unsigned char *)(uintptr_t)sr_keyring_secret(rig.keys, 0);

	memset(secret, 0xff, SR_SECKEY_BYTES); /* no key at all */
	cr_assert_eq(give_body(0, RIG_KEY, SR_ECDSA_SHA256, "x", 1), SR_CORE_REPLY);
	check_reply(0, SR_DENIED, SR_POLICY_KEY_LOCKED, 1);
	cr_assert_not(has_signature());

	secret = (unsigned char *)(uintptr_t)sr_keyring_secret(rig.keys, 1);
	secret[20] ^= 4; /* another key than the public one */
	cr_assert_eq(give_body(1, RIG_KEY_DET, SR_ECDSA_SHA256, "x", 1), SR_CORE_REPLY);
	check_reply(1, SR_DENIED, SR_POLICY_KEY_LOCKED, 2);
	cr_assert_not(has_signature());
}

Test(core, sealed_only_core_opens_nothing_in_clear)
{
	struct sr_core_config config = rig_config(&rig);
	struct sr_open_request request = rig_open_request(1, FIRST);
	struct sr_core *core;
	uint32_t id = 0;

	config.clear = NULL;
	cr_assert_eq(sr_core_new(&core, &config), 0);
	cr_assert_eq(sr_core_open(core, &id, &request, EPOCH, STREAM), SR_OPENED_UNSEALED);
	cr_assert_not(sr_core_unsealed(core));
	cr_assert(sr_core_unsealed(rig.core));
	sr_core_delete(core);
}

Test(core, new_refuses_impossible_sizes)
{
	static const struct {
		uint32_t sessions, depth, slot_bytes;
	} wrong[] = {
		{ 0, 8, 384 },    { 4097, 8, 384 }, { 4, 0, 384 }, { 4, 1, 384 },  { 4, 12, 384 },
		{ 4, 8192, 384 }, { 4, 8, 128 },    { 4, 8, 300 }, { 4, 8, 4352 },
	};
	struct sr_core_config config;
	struct sr_core *core = NULL;

	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		config = rig_config(&rig);
		config.sessions_max = wrong[i].sessions;
		config.depth_max = wrong[i].depth;
		config.slot_bytes_max = wrong[i].slot_bytes;
		cr_assert_eq(sr_core_new(&core, &config), -EINVAL, "case %zu", i);
	}
	cr_assert_null(core);
	config = rig_config(&rig);
	cr_assert_eq(sr_core_new(&core, &config), 0);
	sr_core_delete(core);
	sr_core_delete(NULL);
}

/* Two runs must not share nonces' entropy: each has its own, and so signs one
 * digest differently. */
Test(core, two_runs_hedge_differently)
{
	unsigned char sigs[2][64];

	for (unsigned char i = 0; i < 2; i++) {
		struct sr_core_config config = rig_config(&rig);

		sr_core_delete(rig.core);
		cr_assert_eq(sr_core_new(&rig.core, &config), 0);
		cr_assert_eq(open_session(1, 0, EPOCH, STREAM), SR_OPENED_OK);
		cr_assert_eq(give_number(0), SR_CORE_REPLY);
		memcpy(sigs[i], rig_sig(reply), 64);
	}
	cr_assert_neq(memcmp(sigs[0], sigs[1], 64), 0);
}
