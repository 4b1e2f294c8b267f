/* SPDX-License-Identifier: MIT */
/* Commands and their results: what is read is what was written, and nothing else is read. */
#include "session_rig.h"

#include "sr_command.h"

static unsigned char text[SR_COMMAND_BYTES_MAX + 1];
static unsigned char body[SR_ENVELOPE_BYTES_MAX];

static const struct {
	uint32_t kind;
	size_t min, max;
} kinds[] = {
	{ SR_COMMAND_MANIFEST, 1, SR_ENVELOPE_BYTES_MAX },
	{ SR_COMMAND_GENERATE, 40, 40 },
	{ SR_COMMAND_IMPORT, 176, 176 },
	{ SR_COMMAND_LIST, 0, 0 },
	{ SR_COMMAND_HOLD, 8, 8 },
	{ SR_COMMAND_ROTATE, 40, 40 },
	{ SR_COMMAND_DELETE, 8, 8 },
	{ SR_COMMAND_POLICY, 72, 72 },
	{ SR_COMMAND_TRACE, 16, 16 },
	{ SR_COMMAND_STATUS, 0, 0 },
	{ SR_COMMAND_DRAIN, 8, 8 },
};
#define KINDS (sizeof kinds / sizeof kinds[0])

static struct sr_command make(uint32_t kind, size_t bytes, uint32_t sigs)
{
	struct sr_command command = { .kind = kind, .body = body, .body_bytes = bytes };

	for (size_t i = 0; i < bytes; i++)
		body[i] = (unsigned char)(3 * i + kind);
	command.sig_count = sigs;
	for (uint32_t i = 0; i < sigs; i++) {
		memset(command.sigs[i].pub, (int)(0x10 + i), sizeof command.sigs[i].pub);
		memset(command.sigs[i].sig, (int)(0x80 + i), sizeof command.sigs[i].sig);
	}
	return command;
}

Test(command, is_read_as_it_was_written)
{
	for (size_t i = 0; i < KINDS; i++)
		for (uint32_t sigs = 0; sigs <= SR_OPERATORS_MAX; sigs += 4) {
			struct sr_command command = make(kinds[i].kind, kinds[i].max, sigs), got;
			size_t bytes = sr_command_put(text, &command);

			cr_assert_eq(bytes, 16 + 96 * sigs + kinds[i].max);
			cr_assert_eq(sr_command_get(&got, text, bytes), 0);
			cr_assert_eq(got.kind, command.kind);
			cr_assert_eq(got.sig_count, sigs);
			cr_assert_arr_eq(got.sigs, command.sigs, sigs * sizeof got.sigs[0]);
			cr_assert_eq(got.body_bytes, kinds[i].max);
			cr_assert_eq(memcmp(got.body, body, kinds[i].max), 0);
		}
}

Test(command, of_another_length_is_refused)
{
	for (size_t i = 0; i < KINDS; i++) {
		struct sr_command command = make(kinds[i].kind, kinds[i].min, 2), got;
		size_t bytes = sr_command_put(text, &command);

		for (size_t cut = 0; cut <= bytes + 1; cut++)
			cr_assert_eq(sr_command_get(&got, text, cut), cut == bytes ? 0 : -EMSGSIZE);
		/* That says so itself, too. */
		sr_put32(text + 8, (uint32_t)kinds[i].max + 1);
		cr_assert_eq(sr_command_get(&got, text, bytes + kinds[i].max + 1 - kinds[i].min),
			     -EMSGSIZE);
		sr_put32(text + 8, UINT32_MAX);
		cr_assert_eq(sr_command_get(&got, text, bytes), -EMSGSIZE);
		if (kinds[i].min) {
			command.body_bytes = kinds[i].min - 1;
			cr_assert_eq(sr_command_put(text, &command), 0);
		}
		if (kinds[i].max < sizeof body) {
			command.body_bytes = kinds[i].max + 1;
			cr_assert_eq(sr_command_put(text, &command), 0);
		}
	}
}

Test(command, with_a_reserved_bit_or_of_another_version_or_kind_is_refused)
{
	static const size_t reserved[] = { 0, 1, 3, 6, 7, 12, 13, 14, 15 };
	struct sr_command command = make(SR_COMMAND_HOLD, 8, 1), got = { .kind = 77 };
	size_t bytes = sr_command_put(text, &command);

	for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++) {
		text[reserved[i]] ^= 0x40;
		cr_assert_eq(sr_command_get(&got, text, bytes), -EPROTO, "%zu", reserved[i]);
		text[reserved[i]] ^= 0x40;
	}
	sr_put16(text + 2, 0);
	cr_assert_eq(sr_command_get(&got, text, bytes), -EPROTO);
	sr_put16(text + 2, SR_COMMAND_DRAIN + 1);
	cr_assert_eq(sr_command_get(&got, text, bytes), -EPROTO);
	sr_put16(text + 2, SR_COMMAND_HOLD);
	sr_put16(text + 4, SR_OPERATORS_MAX + 1);
	cr_assert_eq(sr_command_get(&got, text, bytes), -EPROTO);
	cr_assert_eq(got.kind, 77); /* untouched */
}

Test(command, hash_is_as_documented)
{
	unsigned char h[32], hash[32], want[32], hold[8];
	struct sr_command command = { .kind = SR_COMMAND_HOLD, .body = hold, .body_bytes = 8 };
	struct sr_hasher *hasher;

	cr_assert_eq(sr_hasher_new(&hasher), 0);
	for (int i = 0; i < 32; i++)
		h[i] = (unsigned char)(0x20 + i);
	sr_command_word_put(hold, 7, 1);
	(void)rig_unhex(want, 32,
			"0ae2657abe7c59504ef0ff0d1550423e8ee08a80d40a79f0b3281130526fc1b7");
	cr_assert_eq(sr_command_hash(hasher, hash, &command, h, 5), 0);
	cr_assert_arr_eq(hash, want, 32);

	/* And says each of its parts. */
	cr_assert_eq(sr_command_hash(hasher, hash, &command, h, 6), 0);
	cr_assert(memcmp(hash, want, 32) != 0);
	h[0] ^= 1;
	cr_assert_eq(sr_command_hash(hasher, hash, &command, h, 5), 0);
	cr_assert(memcmp(hash, want, 32) != 0);
	h[0] ^= 1;
	command.kind = SR_COMMAND_DELETE;
	cr_assert_eq(sr_command_hash(hasher, hash, &command, h, 5), 0);
	cr_assert(memcmp(hash, want, 32) != 0);
	sr_hasher_delete(hasher);
}

/* ---- results ---- */

static const size_t result_bytes[] = { 40, 236, 60, 8 + 64 * 80, 0, 236, 0, 0,
				       56 + 248 * 64, SR_COMMAND_STATUS_BYTES, 0 };

Test(command, result_is_read_as_it_was_written)
{
	for (size_t i = 0; i < KINDS; i++) {
		struct sr_command_result result;
		size_t bytes;

		memset(text, 0, sizeof text);
		if (kinds[i].kind == SR_COMMAND_LIST)
			sr_put32(text + 16, 64);
		bytes = sr_command_result_put(text, kinds[i].kind, 0, result_bytes[i]);
		cr_assert_eq(sr_command_result_get(&result, text, bytes), 0);
		cr_assert(result.kind == kinds[i].kind && result.code == 0);
		cr_assert(result.body == text + 16 && result.body_bytes == result_bytes[i]);
		cr_assert_eq(sr_command_result_get(&result, text, bytes + 1), -EMSGSIZE);
		cr_assert_eq(sr_command_result_get(&result, text, bytes - 1), -EMSGSIZE);
		bytes = sr_command_result_put(text, kinds[i].kind, 0, result_bytes[i] + 1);
		cr_assert(sr_command_result_get(&result, text, bytes) < 0);
	}
}

Test(command, result_in_words_is_printable_and_short)
{
	struct sr_command_result result;
	size_t bytes;

	memset(text, 'x', sizeof text);
	bytes = sr_command_result_put(text, SR_COMMAND_HOLD, SR_COMMAND_REFUSED, 255);
	cr_assert_eq(sr_command_result_get(&result, text, bytes), 0);
	cr_assert_eq(result.body_bytes, 255);
	bytes = sr_command_result_put(text, SR_COMMAND_HOLD, SR_COMMAND_REFUSED, 256);
	cr_assert_eq(sr_command_result_get(&result, text, bytes), -EPROTO);
	bytes = sr_command_result_put(text, SR_COMMAND_HOLD, SR_COMMAND_REFUSED, 5);
	for (int c = 0; c < 256; c++) {
		text[18] = (unsigned char)c;
		cr_assert_eq(sr_command_result_get(&result, text, bytes),
			     c >= ' ' && c <= '~' ? 0 : -EPROTO, "%d", c);
	}
	/* A command that was none has no kind; nothing was done then. */
	text[18] = 'x';
	bytes = sr_command_result_put(text, 0, SR_COMMAND_MALFORMED, 5);
	cr_assert_eq(sr_command_result_get(&result, text, bytes), 0);
	bytes = sr_command_result_put(text, 0, SR_COMMAND_DONE, 0);
	cr_assert_eq(sr_command_result_get(&result, text, bytes), -EPROTO);
	bytes = sr_command_result_put(text, 99, SR_COMMAND_REFUSED, 0);
	cr_assert_eq(sr_command_result_get(&result, text, bytes), -EPROTO);
}

Test(command, list_says_how_many_and_has_them)
{
	struct sr_command_result result;

	for (uint32_t count = 0; count < 66; count++) {
		size_t bytes;

		memset(text, 0, 16 + 8 + 80);
		sr_put32(text + 16, count);
		bytes = sr_command_result_put(text, SR_COMMAND_LIST, 0, 8 + 80);
		cr_assert_eq(sr_command_result_get(&result, text, bytes), count == 1 ? 0 : -EPROTO);
	}
}

Test(command, status_is_read_as_it_was_written)
{
	static unsigned char bytes[SR_COMMAND_STATUS_BYTES];
	struct sr_command_status status, got;
	bool draining = false;

	memset(&status, 0, sizeof status);
	memset(&got, 0, sizeof got);
	status = (struct sr_command_status){ .boot_id = { 1, 2 },
					     .uptime_ms = 3,
					     .unix_ms = 4,
					     .drift_ms = -5,
					     .host_ms = INT64_MIN,
					     .manifest_version = 6,
					     .memory_kib = 7,
					     .signed_ok = 8,
					     .denied = 9,
					     .keys = 10,
					     .sessions = 11,
					     .sessions_max = 12,
					     .pool_depth = 13,
					     .pool_slots = 14,
					     .draining = true,
					     .version = "sixteen letters!",
					     .evidence = "nsm" };
	memset(status.pcr, 0x5a, sizeof status.pcr);
	sr_command_status_put(bytes, &status);
	cr_assert_eq(sr_command_status_get(&got, bytes), 0);
	cr_assert(got.boot_id[0] == 1 && got.boot_id[1] == 2 && got.uptime_ms == 3 &&
		  got.unix_ms == 4 && got.drift_ms == -5 && got.host_ms == INT64_MIN &&
		  got.manifest_version == 6 && got.memory_kib == 7 && got.signed_ok == 8 &&
		  got.denied == 9 && got.keys == 10 && got.sessions == 11 &&
		  got.sessions_max == 12 && got.pool_depth == 13 && got.pool_slots == 14 &&
		  got.draining);
	cr_assert_str_eq(got.version, "sixteen letters!");
	cr_assert_str_eq(got.evidence, "nsm");
	cr_assert_arr_eq(got.pcr, status.pcr, sizeof got.pcr);
	cr_assert_not(got.pcrs_unknown);
	status.pcrs_unknown = true;
	status.draining = false;
	sr_command_status_put(bytes, &status);
	cr_assert_eq(sr_command_status_get(&got, bytes), 0);
	cr_assert(got.pcrs_unknown && !got.draining);
	bytes[80] = 4;
	cr_assert_eq(sr_command_status_get(&got, bytes), -EPROTO);
	bytes[80] = 0;
	bytes[127] = 'x'; /* behind the end of a name */
	cr_assert_eq(sr_command_status_get(&got, bytes), -EPROTO);
	bytes[127] = 0;
	bytes[104] = 0x1b; /* what a terminal would obey */
	cr_assert_eq(sr_command_status_get(&got, bytes), -EPROTO);

	sr_command_drain_put(bytes, true);
	cr_assert(sr_command_drain_get(&draining, bytes) == 0 && draining);
	bytes[0] = 2;
	cr_assert_eq(sr_command_drain_get(&draining, bytes), -EPROTO);
	bytes[0] = 0;
	cr_assert(sr_command_drain_get(&draining, bytes) == 0 && !draining);
	bytes[4] = 1;
	cr_assert_eq(sr_command_drain_get(&draining, bytes), -EPROTO);
}

Test(command, bodies_are_read_as_they_were_written)
{
	struct sr_command_listed listed = { { 9, { 1 }, { 2 } }, 3, 4, SR_COMMAND_HELD, 1u << 20 },
				 listed_got;
	struct sr_command_generate generate = { 7, { 5 } }, generate_got;
	unsigned char bytes[80];
	uint32_t id, word;

	memset(&listed_got, 0, sizeof listed_got);
	sr_command_listed_put(bytes, &listed);
	cr_assert_eq(sr_command_listed_get(&listed_got, bytes), 0);
	cr_assert_eq(listed_got.key.id, 9);
	cr_assert_arr_eq(listed_got.key.address, listed.key.address, 20);
	cr_assert_arr_eq(listed_got.key.pubkey, listed.key.pubkey, 33);
	cr_assert(listed_got.permissions == 3 && listed_got.nonce_mode == 4 &&
		  listed_got.flags == SR_COMMAND_HELD && listed_got.identities == 1u << 20);
	bytes[68] = 8;
	cr_assert_eq(sr_command_listed_get(&listed_got, bytes), -EPROTO);
	bytes[68] = 0;
	for (int at = 57; at < 60; at++) {
		bytes[at] = 1;
		cr_assert_eq(sr_command_listed_get(&listed_got, bytes), -EPROTO);
		bytes[at] = 0;
	}

	sr_command_generate_put(bytes, &generate);
	cr_assert_eq(sr_command_generate_get(&generate_got, bytes), 0);
	cr_assert_eq(generate_got.id, 7);
	cr_assert_arr_eq(generate_got.recipient, generate.recipient, 32);
	bytes[4] = 1;
	cr_assert_eq(sr_command_generate_get(&generate_got, bytes), -EPROTO);

	sr_command_word_put(bytes, 7, 1);
	cr_assert_eq(sr_command_word_get(&id, &word, 1, bytes), 0);
	cr_assert(id == 7 && word == 1);
	cr_assert_eq(sr_command_word_get(&id, &word, 0, bytes), -EPROTO);
	sr_command_word_put(bytes, 0, 1);
	cr_assert_eq(sr_command_word_get(&id, &word, 1, bytes), -EPROTO);
}

Test(command, trace_is_read_as_it_was_written)
{
	static struct sr_trace_entry entries[SR_COMMAND_TRACED_MAX], got[SR_COMMAND_TRACED_MAX];
	struct sr_command_traced traced = { 5, 7, { { 1, 2 }, 3, SR_COUNTER_TSC }, 16, 2 }, read;
	size_t bytes;
	uint64_t from;

	sr_command_trace_put(text, UINT64_MAX);
	cr_assert_eq(sr_command_trace_get(&from, text), 0);
	cr_assert_eq(from, UINT64_MAX);
	text[15] = 1;
	cr_assert_eq(sr_command_trace_get(&from, text), -EPROTO);

	for (uint32_t i = 0; i < 2; i++)
		for (uint32_t m = 0; m < SR_TRACE_MOMENTS; m++)
			entries[i] = (struct sr_trace_entry){ i + 1, { 10 * i + m, 8, 9 } };
	bytes = sr_command_traced_put(text, &traced, entries);
	cr_assert_eq(bytes, 56 + 2 * 64);
	cr_assert_eq(sr_command_traced_get(&read, got, text, bytes), 0);
	cr_assert(read.first == 5 && read.next == 7 && read.slots == 16 && read.count == 2);
	cr_assert(sr_counter_same(&read.counter, &traced.counter) && read.counter.ticks_per_s == 3);
	cr_assert_arr_eq(got, entries, 2 * sizeof entries[0]);
	for (size_t cut = 0; cut < bytes; cut++)
		cr_assert_eq(sr_command_traced_get(&read, got, text, cut), -EPROTO);
	text[52] = 1;
	cr_assert_eq(sr_command_traced_get(&read, got, text, bytes), -EPROTO);
	text[52] = 0;
	memset(text + 32, 0, 8); /* a counter that stands still */
	cr_assert_eq(sr_command_traced_get(&read, got, text, bytes), -EPROTO);
	sr_put32(text + 48, SR_COMMAND_TRACED_MAX + 1);
	cr_assert_eq(sr_command_traced_get(&read, got, text,
					   56 + 64 * (size_t)(SR_COMMAND_TRACED_MAX + 1)),
		     -EPROTO);
}

/* ---- words about policies ---- */

static struct sr_policy_word band(void)
{
	return (struct sr_policy_word){
		.say = SR_POLICY_SAY_BAND,
		.key = 7,
		.asset = { { 1, 2, 3, 4 } },
		.price_min = { .value = 5, .decimals = 1, .given = true },
		.price_max = { .value = 6, .decimals = 19, .given = true },
		.sequence = 8,
	};
}

static void check_word(const struct sr_policy_word *word)
{
	struct sr_policy_word got;
	unsigned char bytes[SR_COMMAND_POLICY_BYTES], again[SR_COMMAND_POLICY_BYTES];

	sr_command_policy_put(bytes, word);
	cr_assert_eq(sr_command_policy_get(&got, bytes), 0, "%u", word->say);
	cr_assert(got.say == word->say && got.key == word->key && got.killed == word->killed &&
		  got.lease_s == word->lease_s && got.sequence == word->sequence &&
		  got.window == word->window && got.unexpired == word->unexpired);
	cr_assert(got.price_min.value == word->price_min.value &&
		  got.price_min.decimals == word->price_min.decimals &&
		  got.price_max.value == word->price_max.value &&
		  got.price_max.unlimited == word->price_max.unlimited);
	cr_assert(sr_asset_equal(&got.asset, &word->asset));

	/* Each bit says something, or is refused. */
	for (uint32_t bit = 0; bit < 8 * sizeof bytes; bit++) {
		bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
		if (sr_command_policy_get(&got, bytes) == 0) {
			sr_command_policy_put(again, &got);
			cr_assert_arr_eq(again, bytes, sizeof bytes);
		}
		bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
	}
}

Test(command, word_about_a_policy_has_one_spelling)
{
	struct sr_policy_word word = { .say = SR_POLICY_SAY_KILL, .killed = true }, got;
	unsigned char bytes[SR_COMMAND_POLICY_BYTES];

	check_word(&word);
	word.killed = false;
	check_word(&word);
	word = (struct sr_policy_word){ .say = SR_POLICY_SAY_LEASE, .lease_s = 604800 };
	check_word(&word);
	word = (struct sr_policy_word){
		.say = SR_POLICY_SAY_SEED, .key = 7, .window = UINT64_MAX, .unexpired = 1
	};
	check_word(&word);
	word = band();
	check_word(&word);
	word.price_max = (struct sr_policy_bound){ .given = true, .unlimited = true };
	check_word(&word);

	word = band();
	word.key = 0;
	sr_command_policy_put(bytes, &word);
	cr_assert_eq(sr_command_policy_get(&got, bytes), -EPROTO);
	word = band();
	word.price_max.decimals = 20;
	sr_command_policy_put(bytes, &word);
	cr_assert_eq(sr_command_policy_get(&got, bytes), -EPROTO);
	word = (struct sr_policy_word){ .say = SR_POLICY_SAY_LEASE, .lease_s = 604801 };
	sr_command_policy_put(bytes, &word);
	cr_assert_eq(sr_command_policy_get(&got, bytes), -EPROTO);
	word = (struct sr_policy_word){ .say = SR_POLICY_SAY_KILL, .key = 1 };
	sr_command_policy_put(bytes, &word);
	cr_assert_eq(sr_command_policy_get(&got, bytes), -EPROTO);
	word = (struct sr_policy_word){ .say = 5, .key = 1 };
	sr_command_policy_put(bytes, &word);
	cr_assert_eq(sr_command_policy_get(&got, bytes), -EPROTO);
}
