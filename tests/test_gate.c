/* SPDX-License-Identifier: MIT */
/*
 * Setting up sessions: both ends talk to each other, with somebody in between who
 * changes, cuts, repeats, delays, relays and invents messages.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "session_rig.h"

#include "gate_rig.h"

static void start(void)
{
	if (rig_start() == -ENOSYS)
		cr_skip_test("no protected memory here (qemu-user, or Linux before 4.14)");
}

static void stop(void)
{
	if (rig.secrets)
		rig_stop();
}

TestSuite(gate, .init = start, .fini = stop, .timeout = 300);
TestSuite(setup, .init = start, .fini = stop, .timeout = 300);
TestSuite(ticket, .init = start, .fini = stop, .timeout = 300);
TestSuite(limits, .init = start, .fini = stop, .timeout = 300);

/* ---- what is asked again and again ---- */

#define assert_code(got, want)                                          \
	do {                                                            \
		enum sr_setup_code got_ = (got);                        \
		cr_assert_eq(got_, want, "%d (%s), should be %d", got_, \
			     sr_setup_text(&rig.secrets->setup), want); \
	} while (0)

/* The gate refuses what lies in rig.up with this code, and is silent ever after. */
#define assert_refused(code)                                                             \
	do {                                                                             \
		cr_assert_eq(rig_up(), SR_GATE_REFUSED);                                 \
		cr_assert_eq(rig_refusal(), code, "%s", sr_refusal_text(rig_refusal())); \
		assert_silent();                                                         \
		sr_gate_leave(rig.gate, &rig.talk, rig.now_ns);                          \
	} while (0)

static void assert_silent(void)
{
	struct rig_bytes kept = rig.down;

	cr_assert_eq(rig_up(), SR_GATE_SILENT);
	cr_assert_eq(rig.down.bytes, 0);
	rig.down = kept;
}

static bool is_zero(const void *mem, size_t bytes)
{
	const unsigned char *at = mem;

	for (size_t i = 0; i < bytes; i++)
		if (at[i])
			return false;
	return true;
}

/* An ended set-up: nothing is sent, nothing is left in it, and it stays ended. */
static void assert_ended(enum sr_setup_code code)
{
	struct sr_setup *setup = &rig.secrets->setup;
	size_t head = offsetof(struct sr_setup, state);
	struct rig_bytes kept = rig.down;

	cr_assert_eq(rig.up.bytes, 0);
	cr_assert_eq(setup->code, code);
	cr_assert(is_zero(&setup->state, sizeof *setup - head));
	cr_assert_not(sr_setup_done(setup));
	cr_assert_eq(rig_down(), SR_SETUP_OVER);
	cr_assert_eq(rig.up.bytes, 0);
	cr_assert_eq(setup->code, code);
	cr_assert_eq(sr_setup_finish(setup, &rig.secrets->keys, &rig.secrets->result), -EAGAIN);
	rig.down = kept;
}

/* One record there and one back, under what both ends have got. */
static bool records_pass(const struct sr_setup_config *config)
{
	const struct sr_session_request *r = &config->request;
	struct sr_seal_config send = { &rig.secrets->keys, SR_SEAL_SUBMISSION, SR_AEAD_SEAL,
				       r->first,           r->slot_bytes,      r->depth };
	struct sr_seal_config receive = { &rig.secrets->keys, SR_SEAL_COMPLETION, SR_AEAD_OPEN,
					  r->first,           SR_CMP_BYTES,       r->depth };
	struct sr_seal *ends = rig_secret(2 * sizeof *ends);
	unsigned char record[512] = { 0 }, body[512];
	struct sr_seal_pair *seals = &rig.secrets->admission.seals;
	bool pass = false;

	cr_assert_eq(sr_seal_init(&ends[0], &send), 0);
	cr_assert_eq(sr_seal_init(&ends[1], &receive), 0);
	sr_put64(record, r->first);
	record[SR_SUB_KIND] = SR_KIND_SEALED;
	memcpy(record + SR_SUB_BODY, "an order", 9);
	cr_assert_eq(sr_seal_apply(&ends[0], 0, record), 0);
	cr_assert(memcmp(record + SR_SUB_BODY, "an order", 9) != 0);
	if (sr_seal_open(&seals->requests, 0, body, record))
		goto out;
	cr_assert_str_eq((char *)body, "an order");

	memset(record, 0, sizeof record);
	sr_put64(record, r->first);
	record[SR_CMP_KIND] = SR_KIND_SEALED;
	memcpy(record + SR_CMP_BODY, "an answer", 10);
	cr_assert_eq(sr_seal_apply(&seals->replies, 0, record), 0);
	if (sr_seal_open(&ends[1], 0, body, record))
		goto out;
	cr_assert_str_eq((char *)body, "an answer");
	pass = true;
out:
	sr_seal_wipe(&ends[0]);
	sr_seal_wipe(&ends[1]);
	sr_secret_free(ends, 2 * sizeof *ends);
	return pass;
}

/* ---- as it should be ---- */

Test(gate, a_conversation_ends_with_keys_that_seal_and_open)
{
	struct sr_setup_config config = rig_setup_config(1);
	struct sr_admission_terms *terms = &rig.secrets->admission.terms;
	struct sr_setup_result *result = &rig.secrets->result;

	config.request.flags = SR_REQUEST_STRICT;
	rig_converse(&config);
	cr_assert(records_pass(&config));
	cr_assert(terms->token[0] == config.token[0] && terms->token[1] == config.token[1]);
	cr_assert(terms->predecessor[0] == 0 && terms->predecessor[1] == 0);
	cr_assert_eq(terms->first, config.request.first);
	cr_assert_eq(terms->depth, 256);
	cr_assert_eq(terms->slot_bytes, 384);
	cr_assert_eq(terms->identity, 1);
	cr_assert_eq(terms->flags, SR_ADMISSION_STRICT);

	cr_assert(result->grant.depth_max == 1024 && result->grant.slot_bytes_max == 512 &&
		  result->grant.sessions_max == 64 && result->grant.has_ticket);
	cr_assert_arr_eq(&result->next.terms, &rig.config.terms, sizeof rig.config.terms);
	cr_assert_arr_eq(result->next.signer, sr_gate_public_key(rig.gate), 32);
	cr_assert_arr_eq(rig.secrets->keys.rs, sr_gate_public_key(rig.gate), 32);
	cr_assert_eq(result->next.attested_ms, RIG_UNIX_MS);
	cr_assert_eq(rig_stats().admitted, 1);
	cr_assert_eq(rig_stats().talking, 0);
	cr_assert_eq(rig_stats().waiting, 0);
}

Test(gate, each_flag_arrives_as_it_was_asked)
{
	for (uint32_t flags = 0; flags <= SR_REQUEST_FLAGS; flags++) {
		struct sr_setup_config config = rig_setup_config(0);

		config.request.flags = flags;
		rig_converse(&config);
		cr_assert_eq(rig.secrets->admission.terms.flags,
			     (flags & SR_REQUEST_PRIORITY ? SR_ADMISSION_PRIORITY : 0) |
				     (flags & SR_REQUEST_STRICT ? SR_ADMISSION_STRICT : 0));
	}
}

Test(gate, a_predecessor_is_named)
{
	struct sr_setup_config config = rig_setup_config(0);

	config.request.predecessor[0] = 77;
	config.request.predecessor[1] = 78;
	rig_converse(&config);
	cr_assert(rig.secrets->admission.terms.predecessor[0] == 77 &&
		  rig.secrets->admission.terms.predecessor[1] == 78);
}

Test(gate, two_sessions_have_nothing_in_common)
{
	struct sr_setup_config config = rig_setup_config(0);
	struct sr_noise_keys first;

	rig_converse(&config);
	first = rig.secrets->keys;
	config = rig_setup_config(0);
	rig_converse(&config);
	cr_assert(memcmp(first.ck, rig.secrets->keys.ck, 32) != 0);
	cr_assert(memcmp(first.send, rig.secrets->keys.send, 32) != 0);
}

/* ---- changed on the way ---- */

static const unsigned char changes[] = { 0x01, 0x80, 0xff };

/* What the client makes of it when the gate answers to a changed question. */
static void check_changed_attest(void)
{
	if (rig_up() == SR_GATE_ANSWER) {
		cr_assert_eq(rig_down(), SR_SETUP_DOCUMENT);
		cr_assert_eq(rig.secrets->setup.attest, SR_ATTEST_NONCE);
		assert_ended(SR_SETUP_DOCUMENT);
	}
	sr_gate_leave(rig.gate, &rig.talk, rig.now_ns);
	rig.now_ns += 2 * RIG_SECOND;
}

Test(gate, each_changed_byte_of_attest_ends_it)
{
	for (size_t at = 0; at < SR_ATTEST_MESSAGE_BYTES; at++) {
		struct sr_setup_config config = rig_setup_config(0);

		cr_assert_eq(rig_begin(&config), SR_SETUP_OK);
		cr_assert_eq(rig.up.bytes, SR_ATTEST_MESSAGE_BYTES);
		rig.up.data[at] ^= 0x80;
		check_changed_attest();
	}
}

Test(gate, each_changed_byte_of_a_document_ends_it)
{
	struct sr_setup_config config = rig_setup_config(0);
	struct sr_setup *setup = &rig.secrets->setup;
	struct rig_bytes good;

	cr_assert_eq(rig_begin(&config), SR_SETUP_OK);
	cr_assert_eq(rig_up(), SR_GATE_ANSWER);
	good = rig.down;
	rig.secrets->setup_copy = *setup;
	cr_assert_eq(rig_down(), SR_SETUP_OK); /* and the chain is cached now */
	for (size_t at = 0; at < good.bytes; at += RIG_SANITIZED ? 5 : 1) {
		*setup = rig.secrets->setup_copy;
		rig.down = good;
		rig.down.data[at] ^= changes[at % sizeof changes];
		enum sr_setup_code code = rig_down();

		cr_assert_neq(code, SR_SETUP_OK, "byte %zu", at);
		assert_ended(code);
	}
	*setup = rig.secrets->setup_copy;
	rig.down = good;
	cr_assert_eq(rig_down(), SR_SETUP_OK);
}

Test(gate, each_changed_byte_of_begin_is_refused)
{
	for (size_t at = 0; at < SR_BEGIN_BYTES; at++) {
		struct sr_setup_config config = rig_setup_config(0);

		rig_to_begin(&config);
		rig.up.data[at] ^= changes[at % sizeof changes];
		cr_assert_eq(rig_up(), SR_GATE_REFUSED, "byte %zu", at);
		cr_assert_neq(rig_refusal(), 0);
		cr_assert(is_zero(&rig.secrets->admission, sizeof rig.secrets->admission));
		assert_silent();
		cr_assert_eq(rig_down(), SR_SETUP_REFUSED);
		assert_ended(SR_SETUP_REFUSED);
		sr_gate_leave(rig.gate, &rig.talk, rig.now_ns);
		rig.now_ns += 2 * RIG_SECOND;
	}
}

Test(gate, each_changed_byte_of_begun_ends_it)
{
	struct sr_setup_config config = rig_setup_config(0);
	struct sr_setup *setup = &rig.secrets->setup;
	struct rig_bytes good;

	rig_to_begun(&config);
	good = rig.down;
	rig.secrets->setup_copy = *setup;
	for (size_t at = 0; at < good.bytes; at++) {
		*setup = rig.secrets->setup_copy;
		rig.down = good;
		rig.down.data[at] ^= changes[at % sizeof changes];
		enum sr_setup_code code = rig_down();

		cr_assert_eq(code, at < 8 ? SR_SETUP_MESSAGE : SR_SETUP_HANDSHAKE, "byte %zu: %d",
			     at, code);
		assert_ended(code);
	}
	*setup = rig.secrets->setup_copy;
	rig.down = good;
	cr_assert_eq(rig_down(), SR_SETUP_OK);
}

/* The error text may be any; that is all that a forger can choose. */
Test(gate, each_changed_byte_of_refused_ends_it_too)
{
	for (size_t at = 0; at < SR_REFUSED_BYTES; at++) {
		struct sr_setup_config config = rig_setup_config(0);

		cr_assert_eq(rig_begin(&config), SR_SETUP_OK);
		rig.down.bytes = sr_control_refused_put(rig.down.data, SR_REFUSAL_BUSY);
		rig.down.data[at] ^= 0xff;
		enum sr_setup_code code = rig_down();

		cr_assert_eq(code, at >= 8 && at < 12 ? SR_SETUP_REFUSED : SR_SETUP_MESSAGE);
		assert_ended(code);
		sr_gate_leave(rig.gate, &rig.talk, rig.now_ns);
	}
}

/* ---- cut short, too long ---- */

Test(gate, what_is_not_a_whole_message_is_refused_before_any_exchange)
{
	static const size_t more[] = { 1, 8, 1000 };

	for (int which = 0; which < 2; which++) {
		size_t whole = which ? SR_BEGIN_BYTES : SR_ATTEST_MESSAGE_BYTES;

		for (size_t i = 0; i < whole + 3; i++) {
			struct sr_setup_config config = rig_setup_config(0);

			if (which)
				rig_to_begin(&config);
			else
				cr_assert_eq(rig_begin(&config), SR_SETUP_OK);
			cr_assert_eq(rig.up.bytes, whole);
			rig.up.bytes = i < whole ? i : whole + more[i - whole];
			assert_refused(SR_REFUSAL_MESSAGE);
			rig.now_ns += 2 * RIG_SECOND;
		}
	}
	cr_assert_eq(rig_stats().handshakes, 0);
}

Test(setup, what_is_not_a_whole_message_ends_it)
{
	struct sr_setup_config config = rig_setup_config(0);
	struct sr_setup *setup = &rig.secrets->setup;
	struct rig_bytes good;

	for (int which = 0; which < 2; which++) {
		if (which) {
			config = rig_setup_config(0);
			rig_to_begun(&config);
		} else {
			cr_assert_eq(rig_begin(&config), SR_SETUP_OK);
			cr_assert_eq(rig_up(), SR_GATE_ANSWER);
		}
		good = rig.down;
		rig.secrets->setup_copy = *setup;
		for (size_t bytes = 0; bytes <= good.bytes + 1; bytes++) {
			if (bytes == good.bytes)
				continue;
			*setup = rig.secrets->setup_copy;
			rig.down = good;
			rig.down.bytes = bytes;
			assert_code(rig_down(), SR_SETUP_MESSAGE);
			assert_ended(SR_SETUP_MESSAGE);
		}
		sr_gate_leave(rig.gate, &rig.talk, rig.now_ns);
	}
}

Test(gate, messages_out_of_turn_are_refused)
{
	struct sr_setup_config config = rig_setup_config(0);
	struct rig_bytes attest;

	/* ATTEST twice. */
	cr_assert_eq(rig_begin(&config), SR_SETUP_OK);
	attest = rig.up;
	cr_assert_eq(rig_up(), SR_GATE_ANSWER);
	assert_refused(SR_REFUSAL_TURN);

	/* BEGIN without a document. */
	config = rig_setup_config(0);
	rig_to_begin(&config);
	sr_gate_leave(rig.gate, &rig.talk, rig.now_ns);
	sr_gate_enter(rig.gate, &rig.talk, rig.now_ns);
	assert_refused(SR_REFUSAL_TURN);

	/* After BEGUN, whatever it is. */
	config = rig_setup_config(0);
	rig_to_begun(&config);
	assert_silent();
	rig.up = attest;
	assert_silent();
	sr_gate_leave(rig.gate, &rig.talk, rig.now_ns);

	/* What only a signer says. */
	for (uint32_t kind = SR_CONTROL_DOCUMENT; kind <= SR_CONTROL_REFUSED; kind++) {
		if (kind == SR_CONTROL_BEGIN)
			continue;
		config = rig_setup_config(0);
		rig_to_begun(&config);
		if (kind == SR_CONTROL_DOCUMENT)
			rig.down.bytes =
				sr_control_document_put(rig.down.data, &rig.config.terms, 500);
		else if (kind == SR_CONTROL_REFUSED)
			rig.down.bytes = sr_control_refused_put(rig.down.data, SR_REFUSAL_BUSY);
		rig.up = rig.down;
		sr_gate_leave(rig.gate, &rig.talk, rig.now_ns);
		sr_gate_settle(rig.gate, config.token);
		sr_gate_enter(rig.gate, &rig.talk, rig.now_ns);
		assert_refused(SR_REFUSAL_TURN);
	}
}

Test(setup, messages_out_of_turn_end_it)
{
	struct sr_setup_config config = rig_setup_config(0);
	struct rig_bytes document, begun, attest;

	cr_assert_eq(rig_begin(&config), SR_SETUP_OK);
	attest = rig.up;
	cr_assert_eq(rig_up(), SR_GATE_ANSWER);
	document = rig.down;
	cr_assert_eq(rig_down(), SR_SETUP_OK);
	cr_assert_eq(rig_up(), SR_GATE_ADMIT);
	begun = rig.down;

	/* The document a second time. */
	rig.down = document;
	assert_code(rig_down(), SR_SETUP_TURN);
	assert_ended(SR_SETUP_TURN);

	/* BEGUN before anything was begun; our own message; anything after the end. */
	cr_assert_eq(rig_begin(&config), SR_SETUP_OK);
	rig.down = begun;
	assert_code(rig_down(), SR_SETUP_TURN);
	assert_ended(SR_SETUP_TURN);
	cr_assert_eq(rig_begin(&config), SR_SETUP_OK);
	rig.down = attest;
	assert_code(rig_down(), SR_SETUP_TURN);
	assert_ended(SR_SETUP_TURN);

	config = rig_setup_config(1);
	rig_to_begun(&config);
	cr_assert_eq(rig_down(), SR_SETUP_OK);
	assert_code(rig_down(), SR_SETUP_TURN);
	assert_ended(SR_SETUP_TURN);

	config = rig_setup_config(1);
	rig_to_begun(&config);
	cr_assert_eq(rig_down(), SR_SETUP_OK);
	rig.down.bytes = sr_control_refused_put(rig.down.data, SR_REFUSAL_BUSY);
	assert_code(rig_down(), SR_SETUP_TURN);
	assert_ended(SR_SETUP_TURN);
}

/* ---- said again, said to another ---- */

Test(gate, message_1_is_good_once)
{
	struct sr_setup_config config = rig_setup_config(0);
	struct rig_bytes attest, begin;
	uint64_t handshakes;

	cr_assert_eq(rig_begin(&config), SR_SETUP_OK);
	attest = rig.up;
	cr_assert_eq(rig_up(), SR_GATE_ANSWER);
	cr_assert_eq(rig_down(), SR_SETUP_OK);
	begin = rig.up;
	cr_assert_eq(rig_up(), SR_GATE_ADMIT);
	assert_silent();
	sr_gate_leave(rig.gate, &rig.talk, rig.now_ns);
	sr_gate_settle(rig.gate, config.token);
	handshakes = rig_stats().handshakes;

	/* The whole conversation again: the nonce is the same, the document is not. */
	sr_gate_enter(rig.gate, &rig.talk, rig.now_ns);
	rig.up = attest;
	cr_assert_eq(rig_up(), SR_GATE_ANSWER);
	rig.up = begin;
	assert_refused(SR_REFUSAL_BINDING);
	cr_assert_eq(rig_stats().handshakes, handshakes);

	/* With the new document's hash put in: it is in the prologue. */
	sr_gate_enter(rig.gate, &rig.talk, rig.now_ns);
	rig.up = attest;
	cr_assert_eq(rig_up(), SR_GATE_ANSWER);
	rig.up = begin;
	cr_assert_eq(sr_document_hash(rig.up.data + 80, rig.down.data + 104, rig.down.bytes - 104),
		     0);
	assert_refused(SR_REFUSAL_HANDSHAKE);
	cr_assert_eq(rig_stats().admitted, 1);
}

Test(gate, begun_of_another_conversation_is_of_no_use)
{
	struct sr_setup_config config = rig_setup_config(0);
	struct rig_bytes begun;

	rig_to_begun(&config);
	begun = rig.down;
	sr_gate_leave(rig.gate, &rig.talk, rig.now_ns);
	config = rig_setup_config(0);
	rig_to_begin(&config);
	rig.down = begun;
	assert_code(rig_down(), SR_SETUP_HANDSHAKE);
	assert_ended(SR_SETUP_HANDSHAKE);
}

Test(gate, the_document_of_another_conversation_is_not_ours)
{
	struct sr_setup_config config = rig_setup_config(0);
	struct rig_bytes document;

	cr_assert_eq(rig_begin(&config), SR_SETUP_OK);
	cr_assert_eq(rig_up(), SR_GATE_ANSWER);
	document = rig.down;
	sr_gate_leave(rig.gate, &rig.talk, rig.now_ns);

	config = rig_setup_config(0);
	cr_assert_eq(rig_begin(&config), SR_SETUP_OK);
	cr_assert_eq(rig_up(), SR_GATE_ANSWER);
	rig.down = document;
	assert_code(rig_down(), SR_SETUP_DOCUMENT);
	cr_assert_eq(rig.secrets->setup.attest, SR_ATTEST_NONCE);
	assert_ended(SR_SETUP_DOCUMENT);
}

/* A second signer of the same image, to which somebody relays the question. */
static struct sr_gate *second_gate(void)
{
	struct sr_gate_config config = rig.config;
	struct sr_gate *gate;

	rig_draw(config.terms.boot_id, sizeof config.terms.boot_id);
	cr_assert_eq(sr_gate_new(&gate, &config), 0);
	return gate;
}

Test(gate, what_is_begun_with_one_signer_cannot_be_ended_with_another)
{
	struct sr_setup_config config = rig_setup_config(0);
	struct sr_gate *first = rig.gate, *second = second_gate();
	struct sr_gate_talk first_talk;
	struct rig_bytes attest;

	cr_assert_eq(rig_begin(&config), SR_SETUP_OK);
	attest = rig.up;
	cr_assert_eq(rig_up(), SR_GATE_ANSWER);
	first_talk = rig.talk;

	rig.gate = second;
	sr_gate_enter(second, &rig.talk, rig.now_ns);
	rig.up = attest;
	cr_assert_eq(rig_up(), SR_GATE_ANSWER);
	cr_assert_eq(rig_down(), SR_SETUP_OK); /* it is a signer that we accept, after all */
	struct rig_bytes begin = rig.up;
	struct sr_gate_talk second_talk = rig.talk;

	rig.gate = first;
	rig.talk = first_talk;
	assert_refused(SR_REFUSAL_BOOT);

	/* And with everything in clear changed so that it looks right. */
	sr_gate_enter(first, &rig.talk, rig.now_ns);
	rig.up = attest;
	cr_assert_eq(rig_up(), SR_GATE_ANSWER);
	rig.up = begin;
	sr_put64(rig.up.data + 16, rig.config.terms.boot_id[0]);
	sr_put64(rig.up.data + 24, rig.config.terms.boot_id[1]);
	cr_assert_eq(sr_document_hash(rig.up.data + 80, rig.down.data + 104, rig.down.bytes - 104),
		     0);
	assert_refused(SR_REFUSAL_HANDSHAKE);
	cr_assert_eq(rig_stats().admitted, 0);

	rig.gate = second;
	rig.talk = second_talk;
	rig.up = begin;
	cr_assert_eq(rig_up(), SR_GATE_ADMIT);
	rig.gate = first;
	sr_gate_delete(second);
}

/* The signer's key is what the document says; the terms beside it are not believed. */
Test(gate, terms_in_clear_that_are_not_attested_are_refused)
{
	struct sr_setup_config config = rig_setup_config(0);
	struct sr_terms lie = rig.config.terms;

	rig.expect.manifest_hash = NULL;
	rig.expect.manifest_version_min = 8;
	lie.manifest_version = 8;
	cr_assert_eq(rig_begin(&config), SR_SETUP_OK);
	cr_assert_eq(rig_up(), SR_GATE_ANSWER);
	(void)sr_control_document_put(rig.down.data, &lie, rig.down.bytes - 104);
	assert_code(rig_down(), SR_SETUP_DOCUMENT);
	cr_assert_eq(rig.secrets->setup.attest, SR_ATTEST_USER_DATA);
	assert_ended(SR_SETUP_DOCUMENT);
}

Test(gate, the_nonce_of_another_document_is_refused_before_any_exchange)
{
	struct sr_setup_config config = rig_setup_config(0);

	rig_to_begin(&config);
	rig.up.data[48] ^= 1;
	assert_refused(SR_REFUSAL_NONCE);
	cr_assert_eq(rig_stats().handshakes, 0);
}

/* PCR0 is in the prologue: an image that we took for another would not agree. */
Test(gate, both_ends_mean_the_same_image)
{
	struct sr_setup_config config = rig_setup_config(0);
	struct sr_gate_config other = rig.config;

	other.pcr0[5] ^= 1;
	sr_gate_delete(rig.gate);
	cr_assert_eq(sr_gate_new(&rig.gate, &other), 0);
	rig_to_begin(&config);
	assert_refused(SR_REFUSAL_HANDSHAKE);
}

/* ---- what the client does not accept ---- */

static void assert_document_refused(enum sr_attest_code code)
{
	struct sr_setup_config config = rig_setup_config(0);

	cr_assert_eq(rig_begin(&config), SR_SETUP_OK);
	cr_assert_eq(rig_up(), SR_GATE_ANSWER);
	assert_code(rig_down(), SR_SETUP_DOCUMENT);
	cr_assert_eq(rig.secrets->setup.attest, code);
	cr_assert_str_eq(sr_setup_text(&rig.secrets->setup), sr_attest_text(code));
	assert_ended(SR_SETUP_DOCUMENT);
	sr_gate_leave(rig.gate, &rig.talk, rig.now_ns);
	rig.now_ns += 2 * RIG_SECOND;
}

Test(setup, a_document_that_is_valid_and_not_for_us_is_refused)
{
	struct sr_attest_root root = rig.expect.root;

	rig.image.pcr2[47] ^= 1;
	assert_document_refused(SR_ATTEST_IMAGE);
	rig.image.pcr2[47] ^= 1;

	rig.unix_ms = RIG_UNIX_MS + 60001;
	assert_document_refused(SR_ATTEST_STALE);
	rig.unix_ms = RIG_UNIX_MS - 60001;
	assert_document_refused(SR_ATTEST_CLOCK);
	rig.unix_ms = RIG_UNIX_MS;

	sr_attest_root_aws(&rig.expect.root);
	assert_document_refused(SR_ATTEST_ROOT);
	rig.expect.root = root;

	struct sr_setup_config config = rig_setup_config(0);
	rig_converse(&config);
}

Test(setup, another_manifest_than_the_pinned_one_is_refused)
{
	unsigned char other[32] = { 1 };
	struct sr_setup_config config = rig_setup_config(0);

	rig.expect.manifest_hash = other;
	cr_assert_eq(rig_begin(&config), SR_SETUP_OK);
	cr_assert_eq(rig_up(), SR_GATE_ANSWER);
	assert_code(rig_down(), SR_SETUP_MANIFEST);
	assert_ended(SR_SETUP_MANIFEST);

	rig.expect.manifest_hash = NULL;
	rig.expect.manifest_version_min = 8;
	config = rig_setup_config(0);
	cr_assert_eq(rig_begin(&config), SR_SETUP_OK);
	cr_assert_eq(rig_up(), SR_GATE_ANSWER);
	assert_code(rig_down(), SR_SETUP_MANIFEST_OLD);
	assert_ended(SR_SETUP_MANIFEST_OLD);

	rig.expect.manifest_version_min = 7;
	config = rig_setup_config(0);
	rig_converse(&config);
}

static void assert_config_refused(const struct sr_setup_config *config)
{
	assert_code(rig_begin(config), SR_SETUP_CONFIG);
	cr_assert_eq(rig.up.bytes, 0);
	assert_ended(SR_SETUP_CONFIG);
}

Test(setup, nothing_is_accepted_by_default)
{
	struct sr_setup_config good = rig_setup_config(0), config = good;
	struct sr_setup_expect expect = rig.expect;
	unsigned char zeros[32] = { 0 };

	config.expect = &expect;
	expect.images = NULL;
	assert_config_refused(&config);
	expect = rig.expect;
	expect.image_count = 0;
	assert_config_refused(&config);
	expect.image_count = SR_ATTEST_IMAGES_MAX + 1;
	assert_config_refused(&config);
	expect = rig.expect;
	expect.manifest_hash = NULL;
	assert_config_refused(&config);

	config = good;
	config.s = NULL;
	assert_config_refused(&config);
	config = good;
	config.ephemeral = NULL;
	assert_config_refused(&config);
	config.ephemeral = zeros;
	assert_config_refused(&config);
	config = good;
	memset(config.nonce, 0, sizeof config.nonce);
	assert_config_refused(&config);
	config = good;
	memset(config.token, 0, sizeof config.token);
	assert_config_refused(&config);
	config.request.predecessor[0] = 1;
	assert_config_refused(&config);
	config = good;
	memcpy(config.request.predecessor, config.token, sizeof config.token);
	assert_config_refused(&config);
}

Test(setup, each_code_has_a_text_of_its_own)
{
	struct sr_setup a = { .attest = SR_ATTEST_IMAGE, .refusal = SR_REFUSAL_BUSY }, b = a;

	for (int i = 0; i < SR_SETUP_CODES; i++) {
		a.code = (enum sr_setup_code)i;
		cr_assert_not_null(sr_setup_text(&a));
		cr_assert_null(strchr(sr_setup_text(&a), '\n'));
		for (int j = 0; j < i; j++) {
			b.code = (enum sr_setup_code)j;
			cr_assert_str_neq(sr_setup_text(&a), sr_setup_text(&b));
		}
	}
	a.code = SR_SETUP_CODES;
	cr_assert_not_null(sr_setup_text(&a));
}

/* ---- what the signer does not accept ---- */

Test(gate, a_client_that_no_manifest_names_is_refused)
{
	struct sr_setup_config config = rig_setup_config(RIG_CLIENTS - 1);

	rig_to_begin(&config);
	assert_refused(SR_REFUSAL_IDENTITY);
	cr_assert_eq(rig_down(), SR_SETUP_REFUSED);
	cr_assert_eq(rig.secrets->setup.refusal, SR_REFUSAL_IDENTITY);
	cr_assert_str_eq(sr_setup_text(&rig.secrets->setup), sr_refusal_text(SR_REFUSAL_IDENTITY));
	assert_ended(SR_SETUP_REFUSED);
	cr_assert_eq(rig_stats().admitted, 0);
}

Test(gate, sizes_that_it_does_not_have_are_refused)
{
	static const uint32_t sizes[][2] = { { 0, 384 },         { 1, 384 },          { 3, 384 },
					     { 2048, 384 },      { 0x80000000, 384 }, { 256, 0 },
					     { 256, 128 },       { 256, 383 },        { 256, 640 },
					     { 256, 0xffffff80 } };

	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		struct sr_setup_config config = rig_setup_config(0);

		config.request.depth = sizes[i][0];
		config.request.slot_bytes = sizes[i][1];
		rig_to_begin(&config);
		assert_refused(SR_REFUSAL_SIZES);
		rig.now_ns += 2 * RIG_SECOND;
	}
}

Test(gate, a_token_that_waits_already_is_refused)
{
	struct sr_setup_config config = rig_setup_config(0), other;

	rig_to_begun(&config);
	sr_gate_leave(rig.gate, &rig.talk, rig.now_ns);
	other = rig_setup_config(1);
	memcpy(other.token, config.token, sizeof other.token);
	rig_to_begin(&other);
	assert_refused(SR_REFUSAL_TOKEN);
	cr_assert_eq(rig_stats().handshakes, 1);

	sr_gate_settle(rig.gate, config.token);
	other = rig_setup_config(1);
	memcpy(other.token, config.token, sizeof other.token);
	rig_converse(&other);
}

/* A client of another make, which asks for what ours never would. */
static void begin_by_hand(const struct sr_setup_config *config, const struct sr_session_request *request)
{
	unsigned char prologue[SR_PROLOGUE_BYTES], hash[32], payload[SR_REQUEST_BYTES];
	unsigned char message[SR_BEGIN_NOISE_BYTES];
	struct sr_noise_config noise = {
		.initiator = true,
		.prologue = prologue,
		.prologue_bytes = sizeof prologue,
		.s = config->s,
		.rs = sr_gate_public_key(rig.gate),
		.ephemeral = config->ephemeral,
	};
	struct sr_control_begin begin = { .has_ticket = false };
	size_t bytes;

	cr_assert_eq(rig_begin(config), SR_SETUP_OK);
	cr_assert_eq(rig_up(), SR_GATE_ANSWER);
	memcpy(begin.boot_id, rig.config.terms.boot_id, sizeof begin.boot_id);
	memcpy(begin.token, config->token, sizeof begin.token);
	memcpy(begin.nonce, config->nonce, sizeof begin.nonce);
	cr_assert_eq(sr_document_hash(begin.binding, rig.down.data + 104, rig.down.bytes - 104), 0);
	cr_assert_eq(sr_terms_hash(hash, &rig.config.terms), 0);
	sr_prologue_put(prologue, rig.config.pcr0, hash, &begin);
	sr_session_request_put(payload, request);
	cr_assert_eq(sr_noise_init(&rig.secrets->setup.noise, &noise), 0);
	cr_assert_eq(sr_noise_write(&rig.secrets->setup.noise, message, &bytes, sizeof message,
				    payload, sizeof payload),
		     0);
	rig.up.bytes = sr_control_begin_put(rig.up.data, &begin, message);
}

Test(gate, requests_that_no_client_of_ours_makes_are_refused)
{
	struct sr_setup_config config = rig_setup_config(0);
	struct sr_session_request request = config.request;

	begin_by_hand(&config, &request);
	cr_assert_eq(rig_up(), SR_GATE_ADMIT);
	sr_gate_leave(rig.gate, &rig.talk, rig.now_ns);

	config = rig_setup_config(0);
	request.flags = 4;
	begin_by_hand(&config, &request);
	assert_refused(SR_REFUSAL_REQUEST);

	config = rig_setup_config(0);
	request = config.request;
	memcpy(request.predecessor, config.token, sizeof config.token);
	begin_by_hand(&config, &request);
	assert_refused(SR_REFUSAL_TOKEN);

	config = rig_setup_config(0);
	begin_by_hand(&config, &config.request);
	memset(rig.up.data + 32, 0, 16);
	assert_refused(SR_REFUSAL_TOKEN);
}

Test(gate, a_conversation_that_takes_too_long_is_over)
{
	struct sr_setup_config config = rig_setup_config(0);

	rig_to_begin(&config);
	rig.now_ns += 10 * RIG_SECOND - 1;
	cr_assert_not(sr_gate_late(&rig.talk, rig.now_ns));
	rig.now_ns++;
	cr_assert(sr_gate_late(&rig.talk, rig.now_ns));
	assert_refused(SR_REFUSAL_LATE);

	config = rig_setup_config(0);
	rig_to_begin(&config);
	rig.now_ns += 10 * RIG_SECOND - 1;
	cr_assert_eq(rig_up(), SR_GATE_ADMIT);
}

Test(gate, without_a_document_there_is_a_refusal)
{
	struct sr_setup_config config = rig_setup_config(0);
	static const size_t lengths[] = { SR_DOCUMENT_DATA_BYTES_MAX + 1, SIZE_MAX, 0 };

	rig.evidence_error = -EIO;
	cr_assert_eq(rig_begin(&config), SR_SETUP_OK);
	assert_refused(SR_REFUSAL_EVIDENCE);
	rig.evidence_bytes = 500;
	config = rig_setup_config(0);
	cr_assert_eq(rig_begin(&config), SR_SETUP_OK);
	assert_refused(SR_REFUSAL_EVIDENCE);
	rig.evidence_error = 0;
	for (size_t i = 0; lengths[i]; i++) {
		rig.evidence_bytes = lengths[i];
		config = rig_setup_config(0);
		cr_assert_eq(rig_begin(&config), SR_SETUP_OK);
		assert_refused(SR_REFUSAL_EVIDENCE);
	}
}

Test(gate, each_handshake_takes_fresh_entropy)
{
	struct sr_setup_config config = rig_setup_config(0);
	uint64_t calls;

	for (int i = 0; i < 2; i++) {
		calls = rig.entropy_calls;
		config = rig_setup_config(0);
		rig_converse(&config);
		cr_assert_gt(rig.entropy_calls, calls);
	}
	config = rig_setup_config(0);
	rig_to_begin(&config);
	rig.entropy_error = -EIO;
	assert_refused(SR_REFUSAL_INTERNAL);
	rig.entropy_error = 0;
	config = rig_setup_config(0);
	rig_converse(&config);
	cr_assert_eq(rig_stats().admitted, 3);
}

Test(gate, another_manifest_makes_older_documents_worthless)
{
	unsigned char hash[32] = { 9 };
	struct sr_setup_config config = rig_setup_config(0);

	rig_to_begin(&config);
	cr_assert_eq(sr_gate_manifest_set(rig.gate, 8, hash), 0);
	cr_assert_eq(sr_gate_manifest_set(rig.gate, 8, hash), -EINVAL);
	cr_assert_eq(sr_gate_manifest_set(rig.gate, 7, rig.config.terms.manifest_hash), -EINVAL,
		     "older terms do not come back into force");
	assert_refused(SR_REFUSAL_BINDING);
	cr_assert_eq(rig_stats().handshakes, 0);

	config = rig_setup_config(0);
	cr_assert_eq(rig_begin(&config), SR_SETUP_OK);
	cr_assert_eq(rig_up(), SR_GATE_ANSWER);
	assert_code(rig_down(), SR_SETUP_MANIFEST);
	sr_gate_leave(rig.gate, &rig.talk, rig.now_ns);
	rig.expect.manifest_hash = hash;
	config = rig_setup_config(0);
	rig_converse(&config);
	cr_assert_eq(rig.secrets->result.next.terms.manifest_version, 8);
}

static void assert_gate_config_refused(const struct sr_gate_config *config)
{
	struct sr_gate *gate = NULL;

	cr_assert_eq(sr_gate_new(&gate, config), -EINVAL);
	cr_assert_null(gate);
}

Test(gate, limits_that_make_no_sense_are_refused)
{
#define refuse_with(change)                           \
	do {                                          \
		struct sr_gate_config c = rig.config; \
		change;                               \
		assert_gate_config_refused(&c);       \
	} while (0)
	refuse_with(c.drbg = NULL);
	refuse_with(c.attest = NULL);
	refuse_with(c.identity = NULL);
	refuse_with(c.limits.talk_ns = 0);
	refuse_with(c.limits.talk_ns = UINT64_MAX);
	refuse_with(c.limits.quota.waiting_ns = 0);
	refuse_with(c.limits.quota.waiting_ns = UINT64_MAX);
	refuse_with(c.limits.ticket_ns = SR_TICKET_LIFE_NS_MAX + 1);
	refuse_with(c.limits.quota.failure_ns = 0);
	refuse_with(c.limits.quota.failure_ns = SR_QUOTA_FAILURE_NS_MAX + 1);
	refuse_with(c.limits.quota.identity_failure_ns = 0);
	refuse_with(c.limits.quota.failures_max = 0);
	refuse_with(c.limits.quota.failures_max = SR_QUOTA_FAILURES_MAX + 1);
	refuse_with(c.limits.quota.identity_failures_max = 0);
	refuse_with(c.limits.quota.waiting_max = 0);
	refuse_with(c.limits.quota.waiting_max = SR_QUOTA_WAITING_MAX + 1);
	refuse_with(c.limits.quota.identity_waiting_max = 0);
	refuse_with(c.limits.depth_max = 1);
	refuse_with(c.limits.depth_max = SR_DEPTH_MAX + 1);
	refuse_with(c.limits.slot_bytes_max = 128);
	refuse_with(c.limits.slot_bytes_max = SR_SUB_BYTES_MAX + 1);
	refuse_with(c.limits.sessions_max = 0);
}

/* ---- secrets ---- */

/* The end of the mapping that @mem begins. */
static size_t mapping_bytes(const void *mem)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long from, to;
	char line[512];
	size_t bytes = 0;

	cr_assert_not_null(maps);
	while (!bytes && fgets(line, sizeof line, maps))
		if (sscanf(line, "%lx-%lx", &from, &to) == 2 && (uintptr_t)mem >= from &&
		    (uintptr_t)mem < to)
			bytes = to - (uintptr_t)mem;
	(void)fclose(maps);
	cr_assert_neq(bytes, 0);
	return bytes;
}

static void assert_not_in_gate(const unsigned char secret[32], const char *what)
{
	cr_assert_not(is_zero(secret, 32));
	cr_assert_null(memmem(rig.gate, mapping_bytes(rig.gate), secret, 32), "%s", what);
}

Test(gate, it_forgets_a_session_that_it_has_handed_over)
{
	for (int ticket = 0; ticket < 2; ticket++) {
		struct sr_setup_config config = rig_setup_config(0);

		if (ticket) {
			rig.secrets->ticket = rig.secrets->result.next;
			config.ticket = &rig.secrets->ticket;
		}
		rig_converse(&config);
		assert_not_in_gate(rig.secrets->keys.send, "send");
		assert_not_in_gate(rig.secrets->keys.receive, "receive");
		assert_not_in_gate(rig.secrets->keys.ck, "chaining key");
		assert_not_in_gate(rig.secrets->result.next.secret, "resumption secret");
		if (ticket)
			assert_not_in_gate(rig.secrets->ticket.secret, "psk");
		/* That a secret would have been found: the static public key is. */
		cr_assert_not_null(memmem(rig.gate, mapping_bytes(rig.gate),
					  sr_gate_public_key(rig.gate), 32));
		cr_assert(is_zero(&rig.secrets->setup, sizeof rig.secrets->setup));
	}
}

Test(gate, it_forgets_a_session_that_it_has_refused)
{
	struct sr_setup_config config = rig_setup_config(0);
	unsigned char request[SR_REQUEST_BYTES];

	config.request.depth = 3;
	config.request.first = 0x1234567890abcdef;
	rig_to_begin(&config);
	assert_refused(SR_REFUSAL_SIZES);
	sr_session_request_put(request, &config.request);
	cr_assert_null(memmem(rig.gate, mapping_bytes(rig.gate), request, sizeof request));
	cr_assert(is_zero(&rig.secrets->admission, sizeof rig.secrets->admission));
}

Test(gate, a_forked_child_is_silent)
{
	struct sr_setup_config config = rig_setup_config(0);
	int status;
	pid_t child;

	rig_to_begin(&config);
	child = fork();
	cr_assert_geq(child, 0);
	if (child == 0)
		_exit(sr_gate_take(rig.gate, &rig.talk, rig.down.data, &rig.down.bytes,
				   &rig.secrets->admission, rig.up.data, rig.up.bytes,
				   rig.now_ns) == SR_GATE_SILENT ?
			      0 :
			      1);
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert_eq(status, 0);
	cr_assert_eq(rig_up(), SR_GATE_ADMIT);
}

Test(gate, each_boot_has_keys_of_its_own)
{
	struct sr_gate *second;

	cr_assert_eq(sr_gate_new(&second, &rig.config), 0);
	cr_assert(memcmp(sr_gate_public_key(second), sr_gate_public_key(rig.gate), 32) != 0);
	sr_gate_delete(second);
	sr_gate_delete(NULL);
}

/* ---- tickets ---- */

/* A session by attestation, whose ticket is in the returned config. */
static struct sr_setup_config with_ticket(uint32_t client)
{
	struct sr_setup_config config = rig_setup_config(client);

	rig_converse(&config);
	rig.secrets->ticket = rig.secrets->result.next;
	config = rig_setup_config(client);
	config.ticket = &rig.secrets->ticket;
	return config;
}

Test(ticket, a_session_is_opened_again_without_a_document)
{
	struct sr_setup_config config = with_ticket(0);
	uint64_t documents = rig_stats().documents;

	for (int i = 0; i < 3; i++) {
		rig_converse(&config);
		cr_assert(records_pass(&config));
		cr_assert_eq(rig.secrets->admission.terms.identity, 0);
		cr_assert_eq(rig_stats().documents, documents);
		cr_assert_eq(rig_stats().by_ticket, (uint64_t)i + 1);
		/* The document's age counts on. */
		cr_assert_eq(rig.secrets->result.next.attested_ms, RIG_UNIX_MS);
		rig.secrets->ticket = rig.secrets->result.next;
		config = rig_setup_config(0);
		config.ticket = &rig.secrets->ticket;
	}
}

Test(ticket, it_is_good_once)
{
	struct sr_setup_config config = with_ticket(0);
	struct rig_bytes begin;
	uint64_t handshakes;

	rig_to_begin(&config);
	begin = rig.up;
	cr_assert_eq(rig_up(), SR_GATE_ADMIT);
	sr_gate_leave(rig.gate, &rig.talk, rig.now_ns);
	sr_gate_settle(rig.gate, config.token);
	handshakes = rig_stats().handshakes;

	/* The same message again, or a new one of the same client. */
	sr_gate_enter(rig.gate, &rig.talk, rig.now_ns);
	rig.up = begin;
	assert_refused(SR_REFUSAL_TICKET_SPENT);
	config = rig_setup_config(0);
	config.ticket = &rig.secrets->ticket;
	rig_to_begin(&config);
	assert_refused(SR_REFUSAL_TICKET_SPENT);
	cr_assert_eq(rig_stats().handshakes, handshakes);
}

Test(ticket, what_fails_does_not_spend_it)
{
	struct sr_setup_config config = with_ticket(0);

	rig_to_begin(&config);
	rig.up.data[SR_BEGIN_BYTES - 1] ^= 1;
	assert_refused(SR_REFUSAL_HANDSHAKE);
	config = rig_setup_config(0);
	config.ticket = &rig.secrets->ticket;
	rig_converse(&config);
}

Test(ticket, each_changed_byte_of_it_is_refused_before_any_exchange)
{
	struct sr_setup_config config = with_ticket(0);
	uint64_t handshakes = rig_stats().handshakes;

	for (size_t at = 112; at < 216; at++) {
		rig_to_begin(&config);
		rig.up.data[at] ^= changes[at % sizeof changes];
		assert_refused(SR_REFUSAL_TICKET);
		config = rig_setup_config(0);
		config.ticket = &rig.secrets->ticket;
	}
	cr_assert_eq(rig_stats().handshakes, handshakes);
}

Test(ticket, each_changed_byte_of_begin_is_refused)
{
	struct sr_setup_config config = with_ticket(0);

	for (size_t at = 0; at < SR_BEGIN_BYTES; at++) {
		rig_to_begin(&config);
		rig.up.data[at] ^= changes[at % sizeof changes];
		cr_assert_eq(rig_up(), SR_GATE_REFUSED, "byte %zu", at);
		sr_gate_leave(rig.gate, &rig.talk, rig.now_ns);
		rig.now_ns += 2 * RIG_SECOND;
		config = rig_setup_config(0);
		config.ticket = &rig.secrets->ticket;
	}
	rig_converse(&config);
}

Test(ticket, without_its_secret_it_opens_nothing)
{
	struct sr_setup_config config = with_ticket(0);

	rig.secrets->ticket.secret[31] ^= 1;
	rig_to_begun(&config);
	rig.secrets->setup_copy = rig.secrets->setup;
	assert_code(rig_down(), SR_SETUP_HANDSHAKE);
	assert_ended(SR_SETUP_HANDSHAKE);

	/* What the client could make of it, had it finished, opens at neither end. */
	memset(&rig.secrets->keys, 0x42, sizeof rig.secrets->keys);
	cr_assert_not(records_pass(&config));
}

Test(ticket, stolen_with_its_secret_it_is_of_no_use_to_another_client)
{
	struct sr_setup_config config = with_ticket(0), thief = rig_setup_config(1);

	thief.ticket = config.ticket;
	rig_to_begin(&thief);
	assert_refused(SR_REFUSAL_TICKET);
	config = rig_setup_config(0);
	config.ticket = &rig.secrets->ticket;
	rig_converse(&config);
}

Test(ticket, it_expires)
{
	struct sr_setup_config config = with_ticket(0);

	rig.now_ns += 3600 * RIG_SECOND;
	rig_to_begin(&config);
	assert_refused(SR_REFUSAL_TICKET_EXPIRED);
	rig.now_ns--;
	config = rig_setup_config(0);
	config.ticket = &rig.secrets->ticket;
	rig_converse(&config);
}

Test(ticket, it_is_dead_with_the_boot_that_issued_it)
{
	struct sr_setup_config config = with_ticket(0);
	struct sr_gate *first = rig.gate, *second = second_gate();

	rig.gate = second;
	rig_to_begin(&config);
	assert_refused(SR_REFUSAL_BOOT);

	/* A second signer that calls itself by the first one's name has other keys. */
	sr_gate_delete(second);
	cr_assert_eq(sr_gate_new(&second, &rig.config), 0);
	rig.gate = second;
	config = rig_setup_config(0);
	config.ticket = &rig.secrets->ticket;
	rig_to_begin(&config);
	assert_refused(SR_REFUSAL_TICKET);
	rig.gate = first;
	sr_gate_delete(second);
}

Test(ticket, it_is_dead_with_its_client_and_with_the_manifest)
{
	struct sr_setup_config config = with_ticket(0);
	uint64_t handshakes = rig_stats().handshakes;
	unsigned char hash[32] = { 9 };

	rig.known[0] = false;
	rig_to_begin(&config);
	assert_refused(SR_REFUSAL_IDENTITY);
	rig.known[0] = true;

	cr_assert_eq(sr_gate_manifest_set(rig.gate, 8, hash), 0);
	config = rig_setup_config(0);
	config.ticket = &rig.secrets->ticket;
	rig_to_begin(&config);
	assert_refused(SR_REFUSAL_BINDING);
	cr_assert_eq(rig_stats().handshakes, handshakes);
}

static void assert_ticket_code(enum sr_setup_code code)
{
	struct sr_setup_config config = rig_setup_config(0);

	config.ticket = &rig.secrets->ticket;
	assert_code(rig_begin(&config), code);
	if (code != SR_SETUP_OK)
		assert_ended(code);
}

Test(ticket, it_is_dead_with_what_the_client_accepts)
{
	struct sr_attest_root root = rig.expect.root;
	unsigned char hash[32] = { 9 };

	(void)with_ticket(0);
	assert_ticket_code(SR_SETUP_OK);
	rig.unix_ms = RIG_UNIX_MS + 60000;
	assert_ticket_code(SR_SETUP_OK);
	rig.unix_ms++;
	assert_ticket_code(SR_SETUP_TICKET_AGE);
	rig.unix_ms = RIG_UNIX_MS - 60001;
	assert_ticket_code(SR_SETUP_TICKET_AGE);
	rig.unix_ms = RIG_UNIX_MS;

	rig.image.pcr1[3] ^= 1;
	assert_ticket_code(SR_SETUP_TICKET_IMAGE);
	rig.image.pcr1[3] ^= 1;
	/* The entry now asks for more than the document was judged by. */
	rig.image.with_pcr8 = true;
	assert_ticket_code(SR_SETUP_TICKET_IMAGE);
	rig.image.with_pcr8 = false;

	sr_attest_root_aws(&rig.expect.root);
	assert_ticket_code(SR_SETUP_TICKET_ROOT);
	rig.expect.root = root;

	rig.expect.boot_required = true; /* the rig's module has locked nothing */
	assert_ticket_code(SR_SETUP_TICKET_BOOT);
	rig.expect.boot_required = false;

	rig.expect.manifest_version_min = 8;
	assert_ticket_code(SR_SETUP_MANIFEST_OLD);
	rig.expect.manifest_version_min = 0;
	rig.expect.manifest_hash = hash;
	assert_ticket_code(SR_SETUP_MANIFEST);
	rig.expect.manifest_hash = rig.config.terms.manifest_hash;
	assert_ticket_code(SR_SETUP_OK);
}

Test(ticket, the_image_that_was_matched_is_the_one_that_is_kept)
{
	struct sr_attest_image images[3];

	for (int i = 0; i < 3; i++) {
		images[i] = rig.image;
		images[i].pcr0[0] ^= (unsigned char)i;
	}
	struct sr_attest_image mine = images[0];
	images[0] = images[2];
	images[2] = mine;
	rig.expect.images = images;
	rig.expect.image_count = 3;
	(void)with_ticket(0);
	assert_ticket_code(SR_SETUP_OK);
	rig.expect.image_count = 2;
	assert_ticket_code(SR_SETUP_TICKET_IMAGE);
}

Test(ticket, none_is_given_when_they_have_no_life)
{
	struct sr_setup_config config = rig_setup_config(0);

	rig.config.limits.ticket_ns = 0;
	sr_gate_delete(rig.gate);
	cr_assert_eq(sr_gate_new(&rig.gate, &rig.config), 0);
	rig_converse(&config);
	cr_assert_not(rig.secrets->result.grant.has_ticket);
	cr_assert(is_zero(rig.secrets->result.next.ticket, SR_TICKET_BYTES));
	cr_assert(is_zero(rig.secrets->result.next.secret, SR_TICKET_SECRET_BYTES));
}

/* Opens a session of the second client with its last ticket, for the next. */
static void issue_one_more(void)
{
	struct sr_setup_config config = rig_setup_config(1);

	config.ticket = &rig.secrets->ticket;
	rig_converse(&config);
	rig.secrets->ticket = rig.secrets->result.next;
}

/* After so many more it is not known any longer whether it was used. */
Test(ticket, one_that_is_too_old_to_tell_counts_as_spent)
{
	struct sr_setup_ticket *old = rig_secret(2 * sizeof *old);
	struct sr_setup_config config;

	for (int i = 0; i < 2; i++) {
		config = rig_setup_config(0);
		rig_converse(&config);
		old[i] = rig.secrets->result.next;
	}
	(void)with_ticket(1);
	for (uint32_t issued = 3; issued < SR_GATE_TICKETS; issued++)
		issue_one_more();

	config = rig_setup_config(0);
	config.ticket = &old[0];
	rig_to_begin(&config);
	assert_refused(SR_REFUSAL_TICKET_SPENT);
	config = rig_setup_config(0);
	config.ticket = &old[1];
	rig_converse(&config);
	/* The one that it was exchanged for takes another place in the count. */
	old[1] = rig.secrets->result.next;
	config = rig_setup_config(0);
	config.ticket = &old[1];
	rig_converse(&config);
	/* And those whose place in the count is that of one that was used are good. */
	for (int i = 0; i < 4; i++)
		issue_one_more();
	sr_secret_free(old, 2 * sizeof *old);
}

/* ---- limits ---- */

static void fail_by_garbage(void)
{
	struct sr_setup_config config = rig_setup_config(0);

	rig_to_begin(&config);
	rig_draw(rig.up.data + 216, SR_BEGIN_NOISE_BYTES);
	assert_refused(SR_REFUSAL_HANDSHAKE);
}

Test(limits, failures_of_everybody_are_counted_and_forgiven)
{
	struct sr_setup_config config;
	uint64_t handshakes;

	for (int i = 0; i < 8; i++)
		fail_by_garbage();
	handshakes = rig_stats().handshakes;
	cr_assert_eq(handshakes, 8);
	for (int i = 0; i < 100; i++) {
		config = rig_setup_config(0);
		cr_assert_eq(rig_begin(&config), SR_SETUP_OK);
		assert_refused(SR_REFUSAL_BUSY);
	}
	cr_assert_eq(rig_stats().handshakes, handshakes);
	cr_assert_eq(rig_stats().documents, 8);

	rig.now_ns += RIG_SECOND - 1;
	config = rig_setup_config(0);
	cr_assert_eq(rig_begin(&config), SR_SETUP_OK);
	assert_refused(SR_REFUSAL_BUSY);
	rig.now_ns++;
	fail_by_garbage();
	config = rig_setup_config(0);
	cr_assert_eq(rig_begin(&config), SR_SETUP_OK);
	assert_refused(SR_REFUSAL_BUSY);
	rig.now_ns += 8 * RIG_SECOND;
	config = rig_setup_config(0);
	rig_converse(&config);
}

Test(limits, a_ticket_does_not_pass_by_the_failures_of_everybody)
{
	struct sr_setup_config config = with_ticket(0);
	uint64_t handshakes;

	for (int i = 0; i < 8; i++)
		fail_by_garbage();
	handshakes = rig_stats().handshakes;
	rig_to_begin(&config);
	assert_refused(SR_REFUSAL_BUSY);
	cr_assert_eq(rig_stats().handshakes, handshakes);
}

Test(limits, what_succeeds_is_not_counted)
{
	for (int i = 0; i < 40; i++) {
		struct sr_setup_config config = rig_setup_config(0);

		rig_converse(&config);
	}
	cr_assert_eq(rig_stats().talking, 0);
}

Test(limits, conversations_under_way_count_until_they_end)
{
	struct sr_gate_talk talks[8];
	struct sr_setup_config config;

	for (int i = 0; i < 8; i++) {
		config = rig_setup_config(0);
		cr_assert_eq(rig_begin(&config), SR_SETUP_OK);
		cr_assert_eq(rig_up(), SR_GATE_ANSWER);
		talks[i] = rig.talk;
	}
	cr_assert_eq(rig_stats().talking, 8);
	config = rig_setup_config(0);
	cr_assert_eq(rig_begin(&config), SR_SETUP_OK);
	assert_refused(SR_REFUSAL_BUSY);

	/* Who asks for a document and goes away has failed. */
	for (int i = 0; i < 8; i++) {
		sr_gate_leave(rig.gate, &talks[i], rig.now_ns);
		sr_gate_leave(rig.gate, &talks[i], rig.now_ns);
	}
	cr_assert_eq(rig_stats().talking, 0);
	config = rig_setup_config(0);
	cr_assert_eq(rig_begin(&config), SR_SETUP_OK);
	assert_refused(SR_REFUSAL_BUSY);
	rig.now_ns += RIG_SECOND;
	config = rig_setup_config(0);
	rig_converse(&config);
}

Test(limits, garbage_that_costs_nothing_is_not_counted)
{
	struct sr_setup_config config = with_ticket(0);

	for (int i = 0; i < 100; i++) {
		sr_gate_enter(rig.gate, &rig.talk, rig.now_ns);
		rig_draw(rig.up.data, 352);
		rig.up.bytes = 352;
		assert_refused(SR_REFUSAL_MESSAGE);
		config = rig_setup_config(0);
		config.ticket = &rig.secrets->ticket;
		rig_to_begin(&config);
		rig.up.data[120] ^= 1;
		assert_refused(SR_REFUSAL_TICKET);
	}
	config = rig_setup_config(0);
	config.ticket = &rig.secrets->ticket;
	rig_converse(&config);
}

static void fail_by_sizes(uint32_t client, enum sr_refusal code)
{
	struct sr_setup_config config = rig_setup_config(client);

	config.request.depth = 3;
	rig_to_begin(&config);
	assert_refused(code);
}

Test(limits, a_client_pays_for_its_own_failures_and_others_do_not)
{
	struct sr_setup_config config;

	for (int i = 0; i < 4; i++)
		fail_by_sizes(0, SR_REFUSAL_SIZES);
	/* More often than everybody may fail: nobody else is the worse for it. */
	for (int i = 0; i < 40; i++)
		fail_by_sizes(0, SR_REFUSAL_IDENTITY_BUSY);
	cr_assert_eq(rig_stats().talking, 0);
	for (int i = 0; i < 7; i++)
		fail_by_garbage();
	config = rig_setup_config(1);
	rig_converse(&config);

	/* Nor is it itself: its own are forgiven as if it had not tried. */
	rig.now_ns += RIG_SECOND;
	config = rig_setup_config(0);
	rig_converse(&config);
	fail_by_sizes(0, SR_REFUSAL_SIZES);
	fail_by_sizes(0, SR_REFUSAL_IDENTITY_BUSY);
}

/* Anybody can make a key. */
Test(limits, a_client_that_is_not_known_is_charged_to_everybody)
{
	struct sr_setup_config config;

	for (int i = 0; i < 8; i++) {
		config = rig_setup_config(RIG_CLIENTS - 1);
		rig_to_begin(&config);
		assert_refused(SR_REFUSAL_IDENTITY);
	}
	config = rig_setup_config(0);
	cr_assert_eq(rig_begin(&config), SR_SETUP_OK);
	assert_refused(SR_REFUSAL_BUSY);
}

/* Its index may be another client's in the next manifest. */
Test(limits, another_manifest_forgives_clients)
{
	struct sr_setup_config config;

	for (int i = 0; i < 4; i++)
		fail_by_sizes(0, SR_REFUSAL_SIZES);
	cr_assert_eq(sr_gate_manifest_set(rig.gate, 8, rig.config.terms.manifest_hash), 0);
	config = rig_setup_config(0);
	rig_converse(&config);
}

/* Nobody can lock a client out who does not have its key. */
Test(limits, forged_failures_are_not_charged_to_a_client)
{
	struct sr_setup_config config;

	for (int i = 0; i < 7; i++) {
		config = rig_setup_config(0);
		rig_to_begin(&config);
		rig.up.data[SR_BEGIN_BYTES - 1] ^= 1; /* e, s and all but the payload are right */
		assert_refused(SR_REFUSAL_HANDSHAKE);
	}
	config = rig_setup_config(0);
	rig_converse(&config);
}

Test(limits, with_a_ticket_a_client_that_failed_too_often_costs_no_exchange)
{
	struct sr_setup_config config = with_ticket(0);
	uint64_t handshakes;

	for (int i = 0; i < 4; i++)
		fail_by_sizes(0, SR_REFUSAL_SIZES);
	handshakes = rig_stats().handshakes;
	rig_to_begin(&config);
	assert_refused(SR_REFUSAL_IDENTITY_BUSY);
	cr_assert_eq(rig_stats().handshakes, handshakes);
}

static void begin_and_wait(uint32_t client, uint64_t token[2])
{
	struct sr_setup_config config = rig_setup_config(client);

	rig_to_begun(&config);
	sr_gate_leave(rig.gate, &rig.talk, rig.now_ns);
	memcpy(token, config.token, 16);
}

static void assert_waiting_refused(uint32_t client)
{
	struct sr_setup_config config = rig_setup_config(client);

	rig_to_begin(&config);
	assert_refused(SR_REFUSAL_WAITING);
	cr_assert(is_zero(&rig.secrets->admission, sizeof rig.secrets->admission));
}

Test(limits, so_many_may_wait_and_none_pushes_another_out)
{
	uint64_t tokens[5][2];

	for (int i = 0; i < 3; i++)
		begin_and_wait(0, tokens[i]);
	assert_waiting_refused(0); /* its share */
	begin_and_wait(1, tokens[3]);
	assert_waiting_refused(1); /* all places */
	cr_assert_eq(rig_stats().waiting, 4);

	sr_gate_settle(rig.gate, tokens[1]);
	sr_gate_settle(rig.gate, tokens[1]);
	cr_assert_eq(rig_stats().waiting, 3);
	begin_and_wait(1, tokens[4]);
	assert_waiting_refused(1);

	rig.now_ns += 5 * RIG_SECOND;
	cr_assert_eq(rig_stats().waiting, 0);
	begin_and_wait(0, tokens[0]);
}

Test(limits, an_admission_that_cannot_be_handed_over_is_withdrawn)
{
	struct sr_setup_config config = rig_setup_config(0);

	rig_to_begun(&config);
	sr_gate_withdraw(rig.gate, rig.down.data, &rig.down.bytes, &rig.secrets->admission);
	cr_assert(is_zero(&rig.secrets->admission, sizeof rig.secrets->admission));
	cr_assert_eq(rig_stats().waiting, 0);
	cr_assert_eq(rig_refusal(), SR_REFUSAL_WAITING);
	assert_silent();
	cr_assert_eq(rig_down(), SR_SETUP_REFUSED);
	assert_ended(SR_SETUP_REFUSED);
	cr_assert_eq(rig_stats().admitted, 0);
}

Test(limits, one_that_was_withdrawn_has_not_been_admitted)
{
	struct sr_setup_config config = with_ticket(0);

	cr_assert_eq(rig_stats().admitted, 1);
	rig_to_begun(&config);
	cr_assert_eq(rig_stats().admitted, 2);
	cr_assert_eq(rig_stats().by_ticket, 1);
	sr_gate_withdraw(rig.gate, rig.down.data, &rig.down.bytes, &rig.secrets->admission);
	cr_assert_eq(rig_stats().admitted, 1);
	cr_assert_eq(rig_stats().by_ticket, 0);

	/* One without a ticket takes nothing from those with one. */
	config = with_ticket(0);
	rig_converse(&config);
	cr_assert_eq(rig_stats().by_ticket, 1);
	config = rig_setup_config(1);
	rig_to_begun(&config);
	sr_gate_withdraw(rig.gate, rig.down.data, &rig.down.bytes, &rig.secrets->admission);
	cr_assert_eq(rig_stats().admitted, 3);
	cr_assert_eq(rig_stats().by_ticket, 1);
}
