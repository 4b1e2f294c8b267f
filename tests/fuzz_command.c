/* SPDX-License-Identifier: MIT */
/*
 * fuzz_command.c - arbitrary bytes, and commands that are nearly right, as an operator's
 * text; and as a signer's answer.
 *
 * The input's first byte chooses: a command, a command that is put first and then has
 * the rest laid over it, a result, or an envelope of a command for a vault whose
 * operators signed nothing. Checked besides what the sanitizers see: what is read is
 * written again as the same bytes, and nothing without signatures is obeyed.
 */
#include "vault_rig.h"

#define FUZZ_NAME "command"
#define FUZZ_STOP vault_stop
#define FUZZ_INPUT_BYTES 1024u
#include "fuzz_main.h"

static unsigned char again[SR_COMMAND_BYTES_MAX];

static void judge_command(const uint8_t *data, size_t bytes)
{
	struct sr_command command;

	if (sr_command_get(&command, data, bytes))
		return;
	require(command.body + command.body_bytes == data + bytes, "a body outside of the text");
	require(sr_command_put(again, &command) == bytes && !memcmp(again, data, bytes),
		"two spellings of one command");
}

static void judge_result(const uint8_t *data, size_t bytes)
{
	struct sr_command_result result;
	struct sr_command_listed listed;
	struct sr_command_status status;
	struct sr_command_traced traced;
	static struct sr_trace_entry entries[SR_COMMAND_TRACED_MAX];
	static unsigned char traced_again[SR_COMMAND_RESULT_BYTES_MAX];

	if (sr_command_result_get(&result, data, bytes))
		return;
	require(result.body + result.body_bytes == data + bytes, "a body outside of the text");
	if (result.code == SR_COMMAND_DONE && result.kind == SR_COMMAND_LIST)
		for (uint32_t i = 0; i < sr_get32(result.body); i++)
			require(sr_command_listed_get(&listed,
						      result.body + 8 +
							      i * SR_COMMAND_LISTED_BYTES) <= 0,
				"a key that is more than read");
	else if (result.code == SR_COMMAND_DONE && result.kind == SR_COMMAND_TRACE)
		require(sr_command_traced_get(&traced, entries, result.body, result.body_bytes) ||
				(traced.count <= SR_COMMAND_TRACED_MAX &&
				 sr_command_traced_put(traced_again, &traced, entries) ==
					 result.body_bytes &&
				 !memcmp(traced_again, result.body, result.body_bytes)),
			"two spellings of one trace");
	else if (result.code == SR_COMMAND_DONE && result.kind == SR_COMMAND_STATUS) {
		if (sr_command_status_get(&status, result.body) == 0) {
			sr_command_status_put(traced_again, &status);
			require(!memcmp(traced_again, result.body, SR_COMMAND_STATUS_BYTES),
				"two spellings of one status");
		}
	}
	else if (result.code != SR_COMMAND_DONE)
		require(result.body_bytes <= SR_COMMAND_WORDS_MAX, "too many words");
}

/* What an operator without a single signature says. */
static void judge_vault(const uint8_t *data, size_t bytes)
{
	struct sr_gate_command where = { .text = data, .bytes = bytes };
	struct sr_vault_answer answer;
	struct sr_command_result result;
	struct sr_task *task;

	require(sr_vault_take(vr.vault, &answer, &task, &where) == SR_VAULT_ANSWER,
		"obeyed without signatures");
	require(!answer.authorised, "authorised without signatures");
	require(sr_command_result_get(&result, answer.text, answer.bytes) == 0,
		"an answer that cannot be read");
	require(result.code != SR_COMMAND_DONE, "done without signatures");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static unsigned char made[SR_COMMAND_HEADER_BYTES + 96 + FUZZ_INPUT_BYTES];
	struct sr_command command = { .kind = SR_COMMAND_MANIFEST, .sig_count = 1 };
	size_t made_bytes, at;

	if (!vr.vault)
		require(vault_start() == 0, "no vault");
	if (bytes < 4 || bytes > FUZZ_INPUT_BYTES)
		return 0;
	command.body = data + 3;
	command.body_bytes = bytes - 3;
	if (data[0] & 4)
		command.kind = data[0] & 8 ? SR_COMMAND_HOLD : SR_COMMAND_GENERATE;
	if (command.kind != SR_COMMAND_MANIFEST)
		command.body_bytes = command.kind == SR_COMMAND_HOLD ? 8 : 40;
	if (command.body_bytes > bytes - 3)
		return 0;
	made_bytes = sr_command_put(made, &command);
	require(made_bytes, "a command that cannot be put");
	at = data[1] % SR_COMMAND_HEADER_BYTES;
	if (data[0] & 16)
		made[at] ^= data[2];
	switch (data[0] % 4) {
	case 0:
		judge_command(data + 1, bytes - 1);
		break;
	case 1:
		judge_command(made, made_bytes);
		break;
	case 2:
		judge_result(data + 1, bytes - 1);
		break;
	default:
		judge_vault(data[0] & 32 ? data + 1 : made, data[0] & 32 ? bytes - 1 : made_bytes);
		break;
	}
	return 0;
}
