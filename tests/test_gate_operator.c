/* SPDX-License-Identifier: MIT */
/* Operators at the gate: who may come in, what it costs, and how long one may stay. */
#include <criterion/criterion.h>

#include "vault_rig.h"

static void start(void)
{
	if (vault_start() == -ENOSYS)
		cr_skip_test("no protected memory here (qemu-user, or Linux before 4.14)");
}

static void stop(void)
{
	if (vr.vault)
		vault_stop();
}

TestSuite(gate_operator, .init = start, .fini = stop, .timeout = 120);

/* Another gate, with other limits; the vault's is not used. */
static void limit(uint32_t operators, uint32_t failures)
{
	sr_vault_delete(vr.vault);
	sr_gate_delete(rig.gate);
	rig.config.limits.operators_max = operators;
	rig.config.limits.quota.failures_max = failures;
	cr_assert_eq(sr_gate_new(&rig.gate, &rig.config), 0);
	vr.config.gate = rig.gate;
	cr_assert_eq(sr_vault_new(&vr.vault, &vr.config), 0);
}

static void assert_refused_at_begin(uint32_t code)
{
	struct sr_setup_config config = vault_setup_config();
	uint64_t handshakes = rig_stats().handshakes;

	rig_to_begin(&config);
	cr_assert_eq(rig_up(), SR_GATE_REFUSED);
	cr_assert_eq(rig_refusal(), code, "%u", rig_refusal());
	cr_assert_eq(rig_stats().handshakes, handshakes); /* no key was exchanged */
}

static struct sr_command_result list(uint32_t mask)
{
	return vault_command(SR_COMMAND_LIST, NULL, 0, mask);
}

Test(gate_operator, is_nobody_in_a_manifest_and_shares_keys_with_the_gate)
{
	vault_enter();
	cr_assert_arr_eq(rig.secrets->keys.rs, sr_gate_public_key(rig.gate), 32);
	cr_assert_not(rig.secrets->result.grant.has_ticket);
	cr_assert_eq(rig.secrets->result.grant.depth_max, 0);
	cr_assert_eq(rig_stats().operators, 1);
	cr_assert_eq(rig_stats().admitted, 0);
	cr_assert_eq(list(3).code, SR_COMMAND_DONE);
	cr_assert_eq(rig_stats().commands, 1);
}

Test(gate_operator, none_is_obeyed_where_there_are_none)
{
	limit(0, 8);
	assert_refused_at_begin(SR_REFUSAL_OPERATORS);
}

Test(gate_operator, limits_that_make_no_sense_are_refused)
{
	struct sr_gate *gate;

	rig.config.limits.operators_max = SR_GATE_OPERATORS_MAX + 1;
	cr_assert_eq(sr_gate_new(&gate, &rig.config), -EINVAL);
	rig.config.limits.operators_max = 1;
	rig.config.limits.operator_ns = 0;
	cr_assert_eq(sr_gate_new(&gate, &rig.config), -EINVAL);
	rig.config.limits.operator_ns = SR_QUOTA_FAILURE_NS_MAX + 1;
	cr_assert_eq(sr_gate_new(&gate, &rig.config), -EINVAL);
}

Test(gate_operator, as_many_as_may_be_are_here_at_once)
{
	struct sr_gate_talk first, second;

	vault_enter();
	cr_assert_eq(list(3).code, SR_COMMAND_DONE);
	first = rig.talk;
	vault_enter();
	cr_assert_eq(list(3).code, SR_COMMAND_DONE);
	second = rig.talk;
	cr_assert_eq(rig_stats().operators, 2);
	assert_refused_at_begin(SR_REFUSAL_OPERATORS_BUSY);
	sr_gate_leave(rig.gate, &rig.talk, rig.now_ns);
	sr_gate_leave(rig.gate, &first, rig.now_ns);
	cr_assert_eq(rig_stats().operators, 1);

	/* The place is another's, with keys of its own; and the second is not disturbed. */
	vault_enter();
	cr_assert_eq(list(3).code, SR_COMMAND_DONE);
	sr_gate_leave(rig.gate, &second, rig.now_ns);
	cr_assert_eq(list(3).code, SR_COMMAND_DONE);
	cr_assert_eq(rig_stats().operators, 1);
}

/* Or whoever may connect could keep the operators out, without a word. */
Test(gate_operator, who_was_not_obeyed_yet_makes_room_and_the_first_to_come_first)
{
	struct sr_gate_talk first, second;
	struct rig_bytes late;

	vault_enter();
	vault_sign(SR_COMMAND_LIST, NULL, 0, 3, 0);
	size_t at = 0;

	cr_assert_eq(sr_channel_put(&vr.channel, late.data, &late.bytes, vr.text, vr.text_bytes,
				    &at),
		     0);
	first = rig.talk;
	vault_enter();
	second = rig.talk;
	vault_enter();
	cr_assert_eq(rig_stats().operators, 2);
	cr_assert_eq(rig_stats().talking, 3, "it was a failure, when it ends");
	cr_assert_eq(list(3).code, SR_COMMAND_DONE);

	/* The first has no place, and disturbs nobody by what he still says, or by going. */
	struct sr_gate_talk third = rig.talk;

	rig.talk = first;
	rig.up = late;
	cr_assert_eq(rig_up(), SR_GATE_REFUSED);
	cr_assert_eq(rig_refusal(), SR_REFUSAL_OPERATORS_BUSY);
	sr_gate_leave(rig.gate, &rig.talk, rig.now_ns);
	cr_assert_eq(rig_stats().operators, 2);
	rig.talk = third;
	cr_assert_eq(list(3).code, SR_COMMAND_DONE);

	/* He who was obeyed stays; and so does he whose command is being judged. */
	vault_enter();
	cr_assert_eq(rig_stats().operators, 2);
	sr_gate_leave(rig.gate, &second, rig.now_ns);
	cr_assert_eq(rig_stats().operators, 2, "the second had lost his place");
	vault_sign(SR_COMMAND_LIST, NULL, 0, 3, 0);
	cr_assert_eq(vault_send(), SR_GATE_COMMAND);
	first = rig.talk;
	assert_refused_at_begin(SR_REFUSAL_OPERATORS_BUSY);
	sr_gate_leave(rig.gate, &rig.talk, rig.now_ns);
	rig.talk = first;
	vault_obey();
	cr_assert_eq(vr.verdict, SR_GATE_ANSWER);
	vault_leave();
	sr_gate_leave(rig.gate, &third, rig.now_ns);
	cr_assert_eq(rig_stats().operators, 0);
}

Test(gate_operator, is_charged_until_his_first_command_counts)
{
	vault_enter();
	cr_assert_eq(rig_stats().talking, 1);
	cr_assert_eq(list(3).code, SR_COMMAND_DONE);
	cr_assert_eq(rig_stats().talking, 0);
	vault_leave();

	/* With room for two failures: two who say nothing use it up, for everybody. */
	limit(2, 2);
	for (int i = 0; i < 2; i++) {
		vault_enter();
		vault_leave();
	}
	struct sr_setup_config config = vault_setup_config();

	cr_assert_eq(rig_begin(&config), SR_SETUP_OK);
	cr_assert_eq(rig_up(), SR_GATE_REFUSED);
	cr_assert_eq(rig_refusal(), SR_REFUSAL_BUSY);
	sr_gate_leave(rig.gate, &rig.talk, rig.now_ns);
	rig.now_ns += 3 * RIG_SECOND;

	/* And those who are obeyed use up nothing. */
	for (int i = 0; i < 5; i++) {
		vault_enter();
		cr_assert_eq(list(3).code, SR_COMMAND_DONE);
		vault_leave();
	}
	/* A command that too few have signed is a failure. */
	for (int i = 0; i < 2; i++) {
		vault_enter();
		cr_assert_eq(list(1).code, SR_COMMAND_UNAUTHORISED);
		vault_leave();
	}
	cr_assert_eq(rig_begin(&config), SR_SETUP_OK);
	cr_assert_eq(rig_up(), SR_GATE_REFUSED);
	cr_assert_eq(rig_refusal(), SR_REFUSAL_BUSY);
}

Test(gate_operator, has_the_time_of_any_conversation_and_then_a_minute_a_command)
{
	vault_enter();
	rig.now_ns += 10 * RIG_SECOND - 1;
	cr_assert_not(sr_gate_late(&rig.talk, rig.now_ns));
	rig.now_ns += 1;
	cr_assert(sr_gate_late(&rig.talk, rig.now_ns));
	vault_sign(SR_COMMAND_LIST, NULL, 0, 3, 0);
	cr_assert_eq(vault_send(), SR_GATE_REFUSED);
	cr_assert_eq(rig_refusal(), SR_REFUSAL_LATE);
	cr_assert_eq(rig_stats().operators, 0); /* his keys are gone already */
	vault_leave();

	rig.now_ns += 2 * RIG_SECOND;
	vault_enter();
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(list(3).code, SR_COMMAND_DONE);
		rig.now_ns += 60 * RIG_SECOND - 1;
		cr_assert_not(sr_gate_late(&rig.talk, rig.now_ns));
	}
	rig.now_ns += 1;
	cr_assert(sr_gate_late(&rig.talk, rig.now_ns));
}

Test(gate_operator, what_does_not_open_ends_it)
{
	vault_enter();
	vault_sign(SR_COMMAND_LIST, NULL, 0, 3, 0);
	size_t at = 0;

	cr_assert_eq(sr_channel_put(&vr.channel, rig.up.data, &rig.up.bytes, vr.text, vr.text_bytes,
				    &at),
		     0);
	rig.up.data[rig.up.bytes - 1] ^= 1;
	cr_assert_eq(rig_up(), SR_GATE_REFUSED);
	cr_assert_eq(rig_refusal(), SR_REFUSAL_SEALED);
	rig.up.data[rig.up.bytes - 1] ^= 1;
	cr_assert_eq(rig_up(), SR_GATE_SILENT);
}

Test(gate_operator, begins_once_and_nobody_else_seals)
{
	struct rig_bytes begin;
	struct sr_setup_config config = vault_setup_config();

	rig_to_begin(&config);
	begin = rig.up;
	cr_assert_eq(rig_up(), SR_GATE_ANSWER);
	rig.up = begin;
	cr_assert_eq(rig_up(), SR_GATE_REFUSED);
	cr_assert_eq(rig_refusal(), SR_REFUSAL_TURN);
	sr_gate_leave(rig.gate, &rig.talk, rig.now_ns);

	vault_enter();
	vault_sign(SR_COMMAND_LIST, NULL, 0, 3, 0);
	sr_gate_leave(rig.gate, &rig.talk, rig.now_ns);
	sr_gate_enter(rig.gate, &rig.talk, rig.now_ns);
	cr_assert_eq(vault_send(), SR_GATE_REFUSED);
	cr_assert_eq(rig_refusal(), SR_REFUSAL_TURN);
}

/* Neither end takes the other role for its own. */
Test(gate_operator, role_and_flag_are_in_the_prologue)
{
	struct sr_setup_config config = vault_setup_config();

	rig_to_begin(&config);
	rig.up.data[10] = 0;
	cr_assert_eq(rig_up(), SR_GATE_REFUSED);
	cr_assert_eq(rig_refusal(), SR_REFUSAL_HANDSHAKE);
	sr_gate_leave(rig.gate, &rig.talk, rig.now_ns);

	config = rig_setup_config(0);
	rig.expect.manifest_version_min = 0;
	rig.expect.manifest_hash = rig.config.terms.manifest_hash;
	rig_to_begin(&config);
	rig.up.data[10] = 2;
	cr_assert_eq(rig_up(), SR_GATE_REFUSED);
	cr_assert_eq(rig_refusal(), SR_REFUSAL_HANDSHAKE);
	sr_gate_leave(rig.gate, &rig.talk, rig.now_ns);

	/* With a ticket he would be both. */
	config = vault_setup_config();
	rig_to_begin(&config);
	rig.up.data[10] = 3;
	cr_assert_eq(rig_up(), SR_GATE_REFUSED);
	cr_assert_eq(rig_refusal(), SR_REFUSAL_MESSAGE);
}

Test(gate_operator, whose_trust_names_a_manifest_has_it_judged)
{
	struct sr_setup_config config = vault_setup_config();

	rig.expect.manifest_version_min = 5;
	cr_assert_eq(rig_begin(&config), SR_SETUP_OK);
	cr_assert_eq(rig_up(), SR_GATE_ANSWER);
	cr_assert_eq(rig_down(), SR_SETUP_MANIFEST_OLD);
	rig.expect.manifest_version_min = 0;
	config.ticket = &rig.secrets->ticket;
	cr_assert_eq(rig_begin(&config), SR_SETUP_CONFIG);
	/* A trader has to name one. */
	config = rig_setup_config(0);
	cr_assert_eq(rig_begin(&config), SR_SETUP_CONFIG);
}
