/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "sr_slot.h"

#define DEPTH 8u
#define SLOT_BYTES 256u

static SR_ALIGNED(SR_LINE_BYTES) unsigned char memory[DEPTH * SLOT_BYTES];

static struct sr_slots slots_at(uint64_t word)
{
	struct sr_slots s = { memory, DEPTH - 1, SLOT_BYTES };

	memset(memory, 0xee, sizeof memory);
	sr_slots_reset(&s, word);
	return s;
}

static const uint64_t starts[] = { 0,
				   1,
				   0x7fffffff,
				   0xfffffffe,
				   0x7ffffffffffffffeu,
				   0xfffffffffffffffeu,
				   0xfffffffffffffff8u,
				   12345 };

#define EACH_START(i) for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)

Test(slot, fresh_memory_never_looks_published)
{
	EACH_START(i)
	{
		struct sr_slots s = slots_at(starts[i]);

		for (uint64_t n = 0; n < DEPTH; n++)
			cr_assert_eq(sr_slot_look(&s, starts[i] + n), -EAGAIN);
	}
}

Test(slot, zeroed_memory_is_impossible_rather_than_published)
{
	struct sr_slots s = { memory, DEPTH - 1, SLOT_BYTES };

	memset(memory, 0, sizeof memory);
	cr_assert_eq(sr_slot_look(&s, 1000), -EPROTO);
}

Test(slot, is_published_once_and_copied_whole_through_the_wrap)
{
	EACH_START(i)
	{
		struct sr_slots s = slots_at(starts[i]);
		unsigned char in[SLOT_BYTES];
		unsigned char out[SLOT_BYTES];

		for (uint64_t n = 0; n < 5 * DEPTH; n++) {
			uint64_t word = starts[i] + n;

			memset(in, (int)n + 1, sizeof in);
			cr_assert_eq(sr_slot_look(&s, word), -EAGAIN);
			sr_slot_publish(&s, word, in);
			cr_assert_eq(sr_slot_look(&s, word), 0);
			sr_slot_copy(&s, word, out);
			cr_assert_eq(sr_get64(out), word, "the word is our own count");
			cr_assert_arr_eq(out + 8, in + 8, sizeof in - 8);
		}
	}
}

Test(slot, publish_leaves_the_other_slots_alone)
{
	struct sr_slots s = slots_at(40);
	unsigned char before[sizeof memory];
	unsigned char record[SLOT_BYTES] = { 1, 2, 3 };
	size_t at = (size_t)(sr_slot_at(&s, 43) - memory);

	memcpy(before, memory, sizeof before);
	sr_slot_publish(&s, 43, record);
	cr_assert_arr_eq(memory, before, at);
	cr_assert_arr_eq(memory + at + SLOT_BYTES, before + at + SLOT_BYTES,
			 sizeof memory - at - SLOT_BYTES);
}

Test(slot, any_other_word_is_impossible)
{
	static const int64_t off[] = { 1, -1, DEPTH, 2 * DEPTH, -2 * (int64_t)DEPTH, INT64_MIN };

	EACH_START(i)
	for (size_t k = 0; k < sizeof off / sizeof off[0]; k++) {
		struct sr_slots s = slots_at(starts[i]);

		sr_store_relaxed((uint64_t *)(void *)sr_slot_at(&s, starts[i]),
				 starts[i] + (uint64_t)off[k]);
		cr_assert_eq(sr_slot_look(&s, starts[i]), -EPROTO);
	}
}

Test(slot, next_round_is_not_seen_before_it_is_published)
{
	struct sr_slots s = slots_at(0);
	unsigned char record[SLOT_BYTES] = { 0 };

	sr_slot_publish(&s, 0, record);
	cr_assert_eq(sr_slot_look(&s, DEPTH), -EAGAIN);
	sr_slot_publish(&s, DEPTH, record);
	cr_assert_eq(sr_slot_look(&s, DEPTH), 0);
	cr_assert_eq(sr_slot_look(&s, 0), -EPROTO, "a taker that was overrun must not go on");
}
