/* SPDX-License-Identifier: MIT */
/*
 * What the control thread asked before bytes came is done before they are looked at: an
 * OPEN follows its admission by microseconds, and a right that was taken is gone.
 */
#include "sealed_rig.h"
#include "sr_frame.h"
#include "sr_signer.h"

#define DATA_BYTES (SR_FRAME_HEADER_BYTES + RIG_SLOT)

static struct sr_signer signer;
static struct sr_port *port;

static void begin(void)
{
	struct sr_port_config port_config = {
		.stream = STREAM,
		.credit_records = 8,
		.slot_bytes_max = 512,
		.sessions_max = 4,
		.write_bytes_max = 4096,
		.boot_id = { 11, 12 },
	};
	const void *data;

	sealed_begin();
	memset(&signer, 0, sizeof signer);
	signer.core = port_config.core = rig.core;
	cr_assert_eq(sr_post_new(&signer.post), 0);
	cr_assert_eq(sr_port_new(&port, &port_config), 0);
	sr_port_begin(port);
	sr_port_sent(port, sr_port_output(port, &data)); /* HELLO */
}

static void end(void)
{
	sr_port_delete(port);
	sr_post_delete(signer.post);
	sealed_end();
}

TestSuite(signer, .init = begin, .fini = end);

/* The one frame that the port has to say. */
static struct sr_frame said(uint32_t kind)
{
	static unsigned char copy[SR_FRAME_BYTES_MAX];
	struct sr_frame frame;
	const void *data;
	size_t bytes = sr_port_output(port, &data);

	cr_assert(bytes > 0 && bytes <= sizeof copy);
	memcpy(copy, data, bytes);
	cr_assert_eq(sr_frame_cut(&frame, copy, bytes), 0);
	cr_assert_eq(frame.kind, kind, "kind %u is not %u", frame.kind, kind);
	sr_port_sent(port, bytes);
	return frame;
}

static uint32_t open_by_feed(const struct sr_open_request *request)
{
	unsigned char frame[SR_FRAME_HEADER_BYTES + SR_OPEN_BYTES];
	struct sr_opened result;
	struct sr_frame answer;

	(void)sr_frame_put(frame, SR_FRAME_OPEN, 0, EPOCH, SR_OPEN_BYTES);
	sr_open_put(frame + SR_FRAME_HEADER_BYTES, request);
	cr_assert_eq(sr_signer_feed(&signer, port, frame, sizeof frame), 0);
	answer = said(SR_FRAME_OPENED);
	cr_assert_eq(sr_opened_get(&result, &answer), 0);
	cr_assert_eq(result.result, SR_OPENED_OK, "%u", (unsigned int)result.result);
	return answer.session;
}

static void expect_back(struct sr_task *task)
{
	cr_assert_eq(sr_post_back(signer.post), task);
	cr_assert_eq(task->result, 0);
	sr_post_release(signer.post, task);
	cr_assert_null(sr_post_back(signer.post));
}

Test(signer, admission_that_came_after_the_turn_began_is_there_for_its_open)
{
	struct sr_open_request request = open_request(b);
	struct sr_task *task = sr_post_task(signer.post);

	sr_signer_work(&signer);
	task->kind = SR_TASK_ADMIT;
	cr_assert_eq(sr_admission_make(&task->admission, &b->terms, &b->keys), 0);
	sr_post_send(signer.post, task);
	cr_assert_neq(open_by_feed(&request), 0);
	expect_back(task);
}

static unsigned int policy_of_record(uint32_t session, uint64_t n)
{
	unsigned char frame[DATA_BYTES];
	struct sr_frame answer;

	rig_record(frame + SR_FRAME_HEADER_BYTES, RIG_SLOT, FIRST + n, RIG_KEY, SR_ECDSA_SHA256, &n,
		   sizeof n);
	(void)sr_frame_put(frame, SR_FRAME_DATA, session, EPOCH, RIG_SLOT);
	cr_assert_eq(sr_signer_feed(&signer, port, frame, sizeof frame), 0);
	cr_assert_eq(sr_port_sign(port, 1), 1);
	answer = said(SR_FRAME_REPLY);
	cr_assert_eq(rig_status(answer.payload), rig_policy(answer.payload) ? SR_DENIED : SR_OK);
	return rig_policy(answer.payload);
}

Test(signer, right_that_was_taken_after_the_turn_began_is_gone_for_its_records)
{
	struct sr_open_request request = rig_open_request(50, FIRST);
	struct sr_task *task = sr_post_task(signer.post);
	uint32_t session = open_by_feed(&request);

	cr_assert_eq(policy_of_record(session, 0), SR_POLICY_NONE);
	sr_signer_work(&signer);
	task->kind = SR_TASK_KEY_HOLD;
	task->id = RIG_KEY;
	task->held = true;
	sr_post_send(signer.post, task);
	cr_assert_eq(policy_of_record(session, 1), SR_POLICY_KEY_HELD);
	expect_back(task);
}

Test(signer, turn_tells_which_sessions_have_settled)
{
	uint64_t token[2];

	cr_assert_eq(open_session(a), SR_OPENED_OK); /* the port began without it */
	cr_assert_eq(give_number(a, 0), SR_CORE_REPLY);
	cr_assert_not(sr_post_settled(signer.post, token));
	sr_signer_work(&signer);
	cr_assert(sr_post_settled(signer.post, token));
	cr_assert_eq(token[0], a->terms.token[0]);
	cr_assert_eq(token[1], a->terms.token[1]);
	cr_assert_not(sr_post_settled(signer.post, token));
}

/* Without sealed sessions there is no control thread. */
Test(signer, has_nothing_to_do_for_nobody)
{
	struct sr_open_request request = rig_open_request(51, FIRST);
	struct sr_post *post = signer.post;

	signer.post = NULL;
	sr_signer_work(&signer);
	cr_assert_neq(open_by_feed(&request), 0);
	signer.post = post;
}
