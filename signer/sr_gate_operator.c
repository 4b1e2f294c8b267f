/* SPDX-License-Identifier: MIT */
#include "sr_gate_state.h"

#include "sr_command.h"
#include "sr_secret.h"

SR_STATIC_ASSERT(SR_COMMAND_RESULT_BYTES_MAX <= SR_CHANNEL_PIECE_MAX, "a result is one message");

/* A free desk, or that of him who has been there for longest without being obeyed: the
 * number of its place, or operators_max when there is none. */
static uint32_t find_desk(const struct sr_gate *gate)
{
	uint32_t count = gate->config.limits.operators_max, found = count;

	for (uint32_t i = 0; i < count; i++) {
		const struct sr_gate_desk *desk = &gate->desks[i];

		if (!desk->taken)
			return i;
		if (!desk->obeyed && !desk->judging &&
		    (found == count || desk->seat < gate->desks[found].seat))
			found = i;
	}
	return found;
}

/* NULL: it has none, or another sits there now. */
static struct sr_gate_desk *desk_of(struct sr_gate *gate, const struct sr_gate_talk *talk)
{
	struct sr_gate_desk *desk = talk->desk ? &gate->desks[talk->desk - 1] : NULL;

	return desk && desk->taken && desk->seat == talk->seat ? desk : NULL;
}

static void clear(struct sr_gate_desk *desk)
{
	sr_channel_wipe(&desk->channel);
	sr_wipe(desk, sizeof *desk);
}

enum sr_refusal sr_gate_operator_judge(const struct sr_gate *gate)
{
	if (!gate->config.limits.operators_max)
		return SR_REFUSAL_OPERATORS;
	return find_desk(gate) < gate->config.limits.operators_max ? SR_REFUSAL_NONE :
								      SR_REFUSAL_OPERATORS_BUSY;
}

static int write_message_2(struct sr_gate *gate, unsigned char message[SR_BEGUN_NOISE_BYTES])
{
	size_t bytes;
	int ret;

	memset(gate->payload, 0, sizeof gate->payload);
	ret = sr_noise_write(&gate->noise, message, &bytes, SR_BEGUN_NOISE_BYTES, gate->payload,
			     SR_GRANT_BYTES);
	return ret ? ret : sr_noise_finish(&gate->noise, &gate->keys);
}

/* He stays charged: anybody has a static key, and whose word counts only a command tells. */
enum sr_refusal sr_gate_operator_seat(struct sr_gate *gate, struct sr_gate_talk *talk,
				      unsigned char message[SR_BEGUN_NOISE_BYTES])
{
	uint32_t place = find_desk(gate);
	struct sr_gate_desk *desk;

	if (!sr_all_zero(gate->payload, SR_REQUEST_BYTES))
		return SR_REFUSAL_REQUEST;
	if (place == gate->config.limits.operators_max)
		return SR_REFUSAL_OPERATORS_BUSY;
	desk = &gate->desks[place];
	clear(desk);
	if (write_message_2(gate, message) ||
	    sr_channel_init(&desk->channel, &gate->keys,
			    gate->texts + (size_t)place * SR_GATE_TEXT_BYTES, SR_GATE_TEXT_BYTES))
		return SR_REFUSAL_INTERNAL;

	memcpy(desk->h, gate->keys.h, sizeof desk->h);
	desk->seat = ++gate->seats;
	desk->taken = true;
	talk->desk = place + 1;
	talk->seat = desk->seat;
	talk->state = SR_TALK_OPERATOR;
	return SR_REFUSAL_NONE;
}

void sr_gate_operator_leave(struct sr_gate *gate, struct sr_gate_talk *talk)
{
	struct sr_gate_desk *desk = desk_of(gate, talk);

	if (desk)
		clear(desk);
	talk->desk = 0;
}

/* The keys go at once, not when the connection does. */
static enum sr_gate_verdict end(struct sr_gate *gate, struct sr_gate_talk *talk, unsigned char *out,
				size_t *out_bytes, enum sr_refusal code, uint64_t now_ns)
{
	sr_gate_operator_leave(gate, talk);
	sr_gate_fail(gate, talk, now_ns);
	return sr_gate_refuse(gate, talk, out, out_bytes, code);
}

enum sr_gate_verdict sr_gate_operator_take(struct sr_gate *gate, struct sr_gate_talk *talk,
					   unsigned char *out, size_t *out_bytes,
					   const struct sr_control *message, uint64_t now_ns)
{
	struct sr_gate_desk *desk = desk_of(gate, talk);
	int ret;

	if (!desk)
		return end(gate, talk, out, out_bytes, SR_REFUSAL_OPERATORS_BUSY, now_ns);
	if (sr_gate_late(talk, now_ns))
		return end(gate, talk, out, out_bytes, SR_REFUSAL_LATE, now_ns);
	if (message->kind != SR_CONTROL_SEALED || desk->judging)
		return end(gate, talk, out, out_bytes, SR_REFUSAL_TURN, now_ns);
	ret = sr_channel_take(&desk->channel, message);
	if (ret == -EAGAIN)
		return SR_GATE_MORE;
	if (ret)
		return end(gate, talk, out, out_bytes, SR_REFUSAL_SEALED, now_ns);
	desk->judging = true;
	return SR_GATE_COMMAND;
}

void sr_gate_command_get(struct sr_gate *gate, const struct sr_gate_talk *talk,
			 struct sr_gate_command *command)
{
	const struct sr_gate_desk *desk = gate->ready ? desk_of(gate, talk) : NULL;

	memset(command, 0, sizeof *command);
	if (!desk || !desk->judging)
		return;
	command->text = desk->channel.text;
	command->bytes = desk->channel.text_bytes;
	memcpy(command->h, desk->h, sizeof command->h);
	command->sequence = desk->sequence;
}

enum sr_gate_verdict sr_gate_result(struct sr_gate *gate, struct sr_gate_talk *talk,
				    unsigned char *out, size_t *out_bytes, bool authorised,
				    const unsigned char *text, size_t bytes, uint64_t now_ns)
{
	struct sr_gate_desk *desk = gate->ready ? desk_of(gate, talk) : NULL;
	size_t at = 0;

	*out_bytes = 0;
	if (!desk || !desk->judging)
		return SR_GATE_SILENT;
	desk->judging = false;
	desk->sequence++;
	if (sr_channel_put(&desk->channel, out, out_bytes, text, bytes, &at) || at != bytes) {
		*out_bytes = 0;
		authorised = false;
	}
	if (!authorised) {
		sr_gate_operator_leave(gate, talk);
		sr_gate_fail(gate, talk, now_ns);
		talk->state = SR_TALK_OVER;
		return *out_bytes ? SR_GATE_REFUSED : SR_GATE_SILENT;
	}
	if (talk->charged)
		sr_quota_give_back(&gate->quota);
	talk->charged = false;
	desk->obeyed = true;
	talk->until_ns = now_ns + gate->config.limits.operator_ns;
	gate->stats.commands++;
	return SR_GATE_ANSWER;
}
