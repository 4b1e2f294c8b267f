/* SPDX-License-Identifier: MIT */
#include "session_rig.h"

#include <sys/wait.h>
#include <unistd.h>

#include "sr_seal.h"

#define SLOT SR_SUB_BYTES_DEFAULT
#define DEPTH 16u
#define EPOCH (1ull << SR_SEAL_EPOCH_SHIFT)
#define FIRST 0xfffffffffffffff0u /* slot words wrap at message 16 */

/* Both ends of one direction, in protected memory. */
struct pair {
	struct sr_seal seal, open;
};

static struct sr_noise_keys *keys;
static struct pair *sub, *cmp; /* submissions, completions */

static struct sr_seal_config config_of(enum sr_seal_direction direction, enum sr_aead_way way)
{
	return (struct sr_seal_config){
		.keys = keys,
		.direction = direction,
		.way = way,
		.first = FIRST,
		.record_bytes = direction == SR_SEAL_SUBMISSION ? SLOT : SR_CMP_BYTES,
		.depth = DEPTH,
	};
}

static void begin(struct sr_seal *seal, struct sr_seal_config config)
{
	cr_assert_eq(sr_seal_init(seal, &config), 0);
}

static void setup(void)
{
	keys = rig_secret(sizeof *keys);
	sub = rig_secret(sizeof *sub);
	cmp = rig_secret(sizeof *cmp);
	for (unsigned char i = 0; i < 32; i++) {
		keys->ck[i] = i;
		keys->h[i] = (unsigned char)(32 + i);
	}
	begin(&sub->seal, config_of(SR_SEAL_SUBMISSION, SR_AEAD_SEAL));
	begin(&sub->open, config_of(SR_SEAL_SUBMISSION, SR_AEAD_OPEN));
	begin(&cmp->seal, config_of(SR_SEAL_COMPLETION, SR_AEAD_SEAL));
	begin(&cmp->open, config_of(SR_SEAL_COMPLETION, SR_AEAD_OPEN));
}

static void teardown(void)
{
	for (int i = 0; i < 2; i++) {
		struct pair *pair = i ? cmp : sub;

		sr_seal_wipe(&pair->seal);
		sr_seal_wipe(&pair->open);
		sr_secret_free(pair, sizeof *pair);
	}
	sr_secret_free(keys, sizeof *keys);
}

TestSuite(seal, .init = setup, .fini = teardown);

/* Record n in clear: its word, a header, a body that counts by sevens. */
static void fill(unsigned char *record, const struct sr_seal *seal, uint64_t n)
{
	memset(record, 0, seal->record_bytes);
	sr_put64(record, FIRST + n);
	if (seal->header_bytes == SR_SUB_BODY) {
		sr_put64(record + SR_SUB_DEADLINE, 12345);
		record[SR_SUB_KIND] = SR_KIND_SEALED;
	} else {
		record[SR_CMP_KIND] = SR_KIND_SEALED;
	}
	for (uint32_t i = seal->header_bytes; i < seal->record_bytes - SR_TAG_BYTES; i++)
		record[i] = (unsigned char)(7 * (i - seal->header_bytes));
}

static int apply(struct sr_seal *seal, uint64_t n, unsigned char *record)
{
	fill(record, seal, n);
	return sr_seal_apply(seal, n, record);
}

/* Opens apart from the record and compares with what was sealed. */
static int open_record(struct sr_seal *open, uint64_t n, const unsigned char *record)
{
	unsigned char body[SR_SUB_BYTES_MAX], clear[SR_SUB_BYTES_MAX];
	size_t bytes = open->record_bytes - open->header_bytes - SR_TAG_BYTES;
	int ret;

	memset(body, 0x5a, sizeof body);
	ret = sr_seal_open(open, n, body, record);
	fill(clear, open, n);
	if (!ret)
		cr_assert_arr_eq(body, clear + open->header_bytes, bytes);
	for (size_t i = 0; i < bytes && ret; i++)
		cr_assert(body[i] == 0 || body[i] == 0x5a, "text of a refused record");
	return ret;
}

static int carry(struct pair *pair, uint64_t n)
{
	unsigned char record[SR_SUB_BYTES_MAX];

	cr_assert_eq(apply(&pair->seal, n, record), 0, "n = %llu", (unsigned long long)n);
	return open_record(&pair->open, n, record);
}

struct answer {
	uint64_t n;
	const char *head, *tag;
};

static void check_answer(struct pair *pair, const struct answer *want)
{
	unsigned char record[SR_SUB_BYTES_MAX], expected[16];

	cr_assert_eq(apply(&pair->seal, want->n, record), 0);
	(void)rig_unhex(expected, 16, want->head);
	cr_assert_arr_eq(record + pair->seal.header_bytes, expected, 16);
	(void)rig_unhex(expected, 16, want->tag);
	cr_assert_arr_eq(record + pair->seal.record_bytes - 16, expected, 16);
}

/* HKDF, ratchet and cipher together, by Python's hmac and hashlib and by the
 * implementation of GCM that test_aead.c takes its answers from. */
Test(seal, gives_known_answers)
{
	static const struct answer submission = { 0, "6a038ed96d86ee9651ace8ed89d1b779",
						  "f68990e8094190ca35198967282cb451" };
	static const struct answer completion = { 0, "e4b002b475ac2cb7606c833b2f6d73e0",
						  "5e954ca8c3184e78163291a1119efc27" };
	static const struct answer next_epoch = { EPOCH, "77ed8a5c565cfbc6cfd5805a8f71ba5d",
						  "775bff490a23130f29da95bb5adc1a32" };

	check_answer(sub, &submission);
	check_answer(cmp, &completion);
	check_answer(cmp, &next_epoch);
}

Test(seal, carries_both_records_over_the_wrap_of_slot_words)
{
	for (uint64_t n = 0; n < 40; n++) {
		cr_assert_eq(carry(sub, n), 0);
		cr_assert_eq(carry(cmp, n), 0);
	}
}

Test(seal, opens_in_place_and_hides_the_body)
{
	unsigned char record[SLOT], clear[SLOT];

	fill(clear, &sub->seal, 0);
	cr_assert_eq(apply(&sub->seal, 0, record), 0);
	cr_assert_arr_eq(record, clear, SR_SUB_BODY, "the header stays in clear");
	for (uint32_t i = SR_SUB_BODY; i + 16 <= SLOT - SR_TAG_BYTES; i += 16)
		cr_assert_neq(memcmp(record + i, clear + i, 16), 0);
	cr_assert_eq(sr_seal_open(&sub->open, 0, record + SR_SUB_BODY, record), 0);
	cr_assert_arr_eq(record, clear, SLOT - SR_TAG_BYTES);
}

static void check_flips(struct pair *pair)
{
	unsigned char record[SR_SUB_BYTES_MAX];

	cr_assert_eq(apply(&pair->seal, 3, record), 0);
	for (uint32_t bit = 0; bit < 8 * pair->seal.record_bytes; bit++) {
		record[bit / 8] ^= (unsigned char)(1 << bit % 8);
		cr_assert_eq(open_record(&pair->open, 3, record), -EBADMSG, "bit %u", bit);
		record[bit / 8] ^= (unsigned char)(1 << bit % 8);
	}
	cr_assert_eq(open_record(&pair->open, 3, record), 0, "and nothing has changed");
}

Test(seal, every_flipped_bit_of_both_records_is_refused)
{
	check_flips(sub);
	check_flips(cmp);
}

/* Another session's size, and a tag where the shorter record would have it. */
Test(seal, truncated_records_are_refused)
{
	unsigned char record[SLOT];
	struct sr_seal_config config = config_of(SR_SEAL_SUBMISSION, SR_AEAD_OPEN);

	cr_assert_eq(apply(&sub->seal, 0, record), 0);
	for (uint32_t bytes = SR_SUB_BYTES_MIN; bytes < SLOT; bytes += 16) {
		unsigned char shorter[SLOT];

		config.record_bytes = bytes;
		sr_seal_wipe(&sub->open);
		begin(&sub->open, config);
		cr_assert_eq(open_record(&sub->open, 0, record), -EBADMSG);
		memcpy(shorter, record, SLOT);
		memcpy(shorter + bytes - 16, record + SLOT - 16, 16);
		cr_assert_eq(open_record(&sub->open, 0, shorter), -EBADMSG);
	}
}

Test(seal, record_under_another_number_is_refused)
{
	unsigned char record[SLOT];

	cr_assert_eq(apply(&sub->seal, 5, record), 0);
	for (uint64_t n = 0; n < 2 * DEPTH; n++) {
		/* as it is, and with the word that number n has */
		if (n == 5)
			continue;
		sr_put64(record, FIRST + 5);
		cr_assert_eq(open_record(&sub->open, n, record), -EBADMSG);
		sr_put64(record, FIRST + n);
		cr_assert_eq(open_record(&sub->open, n, record), -EBADMSG);
	}
	sr_put64(record, FIRST + 5);
	cr_assert_eq(open_record(&sub->open, 5, record), 0);
}

/* The smallest submission is two completions long; let sizes be no help. */
static void open_as(enum sr_seal_direction direction, const struct sr_noise_keys *with,
		    uint64_t first, struct pair *from)
{
	struct sr_seal_config config = config_of(direction, SR_AEAD_OPEN);
	unsigned char record[SR_SUB_BYTES_MAX] = { 0 };

	config.keys = with;
	config.first = first;
	sr_seal_wipe(&sub->open);
	begin(&sub->open, config);
	cr_assert_eq(apply(&from->seal, 0, record), 0);
	sr_put64(record, first);
	sub->open.header_bytes = from->seal.header_bytes;
	sub->open.record_bytes = from->seal.record_bytes;
	cr_assert_eq(sr_seal_open(&sub->open, 0, record + from->seal.header_bytes, record),
		     direction == SR_SEAL_SUBMISSION && from == sub && with == keys &&
				     first == FIRST ?
			     0 :
			     -EBADMSG);
	sr_seal_wipe(&from->seal);
	begin(&from->seal,
	      config_of(from == sub ? SR_SEAL_SUBMISSION : SR_SEAL_COMPLETION, SR_AEAD_SEAL));
}

Test(seal, another_direction_session_or_start_has_another_key)
{
	struct sr_noise_keys other = *keys;

	open_as(SR_SEAL_SUBMISSION, keys, FIRST, sub);
	open_as(SR_SEAL_COMPLETION, keys, FIRST, sub);
	open_as(SR_SEAL_SUBMISSION, keys, FIRST, cmp);
	open_as(SR_SEAL_SUBMISSION, keys, FIRST + 1, sub);
	other.ck[31] ^= 1;
	open_as(SR_SEAL_SUBMISSION, &other, FIRST, sub);
	other = *keys;
	other.h[31] ^= 1;
	open_as(SR_SEAL_SUBMISSION, &other, FIRST, sub);
}

Test(seal, number_is_sealed_once)
{
	unsigned char record[SLOT], clear[SLOT];

	for (uint64_t n = 0; n < 3 * DEPTH; n++) {
		cr_assert_eq(apply(&sub->seal, n, record), 0);
		for (uint64_t old = 0; old <= n; old++) {
			fill(record, &sub->seal, old);
			memcpy(clear, record, SLOT);
			cr_assert_eq(sr_seal_apply(&sub->seal, old, record),
				     n + 1 - old > DEPTH ? -ERANGE : -EALREADY);
			cr_assert_arr_eq(record, clear, SLOT, "untouched");
		}
	}
}

Test(seal, skipped_numbers_may_come_late_and_once)
{
	unsigned char record[SLOT];

	cr_assert_eq(carry(cmp, 0), 0);
	cr_assert_eq(carry(cmp, 10), 0);
	for (uint64_t n = 1; n < 10; n++) {
		cr_assert_eq(carry(cmp, n), 0);
		cr_assert_eq(apply(&cmp->seal, n, record), -EALREADY);
	}
	/* A gap longer than depth: what is more than depth behind is over. */
	cr_assert_eq(carry(cmp, 1000), 0);
	cr_assert_eq(apply(&cmp->seal, 1000 - DEPTH, record), -ERANGE);
	cr_assert_eq(carry(cmp, 1001 - DEPTH), 0);
	cr_assert_eq(apply(&cmp->seal, 1001 - DEPTH, record), -EALREADY);
	cr_assert_eq(apply(&cmp->seal, 1000, record), -EALREADY);
	/* A gap of exactly depth, which ends at the same bit. */
	cr_assert_eq(carry(cmp, 1000 + DEPTH), 0);
	cr_assert_eq(carry(cmp, 999 + DEPTH), 0);
	cr_assert_eq(apply(&cmp->seal, 1000, record), -ERANGE);
}

/* Bits of numbers that are long past say nothing of those that come late. */
Test(seal, gap_of_any_length_leaves_what_it_skips_unspent)
{
	uint64_t n = 0;

	for (uint64_t gap = 1; gap < 3 * DEPTH; gap++) {
		for (uint64_t i = 0; i < DEPTH; i++)
			cr_assert_eq(carry(cmp, n++), 0);
		n += gap;
		cr_assert_eq(carry(cmp, n), 0);
		for (uint64_t late = gap < DEPTH ? n - gap : n - DEPTH + 1; late < n; late++)
			cr_assert_eq(carry(cmp, late), 0);
		n++;
	}
}

Test(seal, number_stays_spent_when_the_cipher_fails)
{
	unsigned char record[SLOT];
	struct sr_aead whole = sub->seal.aead[0];

	/* One that opens refuses to seal, as late as OpenSSL could. */
	sub->seal.aead[0] = sub->open.aead[0];
	cr_assert_neq(apply(&sub->seal, 4, record), 0);
	sub->seal.aead[0] = whole;
	cr_assert_eq(apply(&sub->seal, 4, record), -EALREADY);
	cr_assert_eq(carry(sub, 5), 0);
}

Test(seal, word_of_another_message_is_refused_and_spends_nothing)
{
	unsigned char record[SLOT];

	fill(record, &sub->seal, 1);
	cr_assert_eq(sr_seal_apply(&sub->seal, 0, record), -EINVAL);
	cr_assert_eq(carry(sub, 0), 0);
}

Test(seal, sides_do_only_their_own_and_change_nothing_else)
{
	unsigned char record[SLOT], body[SLOT];
	struct sr_seal seal = sub->seal, open = sub->open;

	fill(record, &sub->seal, EPOCH);
	cr_assert_eq(sr_seal_apply(&sub->open, EPOCH, record), -EINVAL);
	cr_assert_eq(sr_seal_open(&sub->seal, EPOCH, body, record), -EINVAL);
	cr_assert_eq(memcmp(&sub->seal, &seal, sizeof seal), 0);
	cr_assert_eq(memcmp(&sub->open, &open, sizeof open), 0);
}

/* ---- epochs ---- */

/* All that can be done ahead, and how much that was. */
static int step_all(struct sr_seal *seal)
{
	int steps = 0, ret;

	while ((ret = sr_seal_step(seal)) == 1)
		steps++;
	cr_assert_eq(ret, 0);
	return steps;
}

/* Crosses into epoch after epoch, each end stepping ahead or not. */
static void check_crossing(struct pair *pair, bool seal_ahead, bool open_ahead)
{
	for (uint64_t epoch = 1; epoch < 6; epoch++) {
		uint64_t start = epoch * EPOCH;
		const uint64_t numbers[] = { start - 3, start - 2,         start - 1,
					     start,     start + DEPTH - 1, start + DEPTH };

		for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
			cr_assert_eq(carry(pair, numbers[i]), 0);
			/* A key when an epoch has begun, and each time a nonce. */
			if (seal_ahead)
				cr_assert_eq(step_all(&pair->seal),
					     i == 3 || (i == 0 && epoch == 1) ? 2 : 1);
			if (open_ahead)
				cr_assert_eq(step_all(&pair->open),
					     i == 3 || (i == 0 && epoch == 1) ? 2 : 1);
		}
		cr_assert_eq(pair->seal.epoch, epoch);
		cr_assert_eq(pair->open.epoch, epoch);
	}
}

Test(seal, crosses_epochs_with_the_key_made_ahead_or_in_place)
{
	check_crossing(sub, false, false);
	check_crossing(cmp, true, true);
	teardown();
	setup();
	check_crossing(sub, true, false);
	check_crossing(cmp, false, true);
}

Test(seal, late_records_of_the_old_epoch_are_sealed_and_opened)
{
	unsigned char held[SR_CMP_BYTES];

	cr_assert_eq(carry(cmp, EPOCH - 4), 0);
	cr_assert_eq(apply(&cmp->seal, EPOCH - 3, held), 0);
	cr_assert_eq(carry(cmp, EPOCH), 0);
	cr_assert_eq(open_record(&cmp->open, EPOCH - 3, held), 0, "sealed before, opened late");
	cr_assert_eq(carry(cmp, EPOCH - 2), 0, "sealed late");
	cr_assert_eq(carry(cmp, EPOCH + DEPTH - 2), 0);
	cr_assert_eq(carry(cmp, EPOCH - 1), 0, "the last that depth allows");
}

Test(seal, old_key_is_gone_depth_records_into_the_epoch)
{
	unsigned char held[SR_CMP_BYTES], late[SR_CMP_BYTES];

	cr_assert_eq(carry(cmp, EPOCH - 3), 0);
	cr_assert_eq(apply(&cmp->seal, EPOCH - 2, held), 0);
	cr_assert_eq(carry(cmp, EPOCH + DEPTH - 1), 0);
	cr_assert_eq(open_record(&cmp->open, EPOCH - 2, held), 0, "still there");
	cr_assert(cmp->open.has_old && cmp->seal.has_old);
	cr_assert_eq(carry(cmp, EPOCH + DEPTH), 0);
	cr_assert(!cmp->open.has_old && !cmp->seal.has_old);
	cr_assert_eq(open_record(&cmp->open, EPOCH - 2, held), -EBADMSG);
	cr_assert_eq(apply(&cmp->seal, EPOCH - 1, late), -ERANGE);

	/* Not hidden behind a flag: the key itself is overwritten. */
	cr_assert_neq(sr_aead_open(&cmp->open.aead[0], late, held + 112, EPOCH - 2, held,
				   SR_CMP_BODY, held + SR_CMP_BODY, SR_CMP_BODY_BYTES),
		      0);
}

Test(seal, only_an_authentic_record_moves_the_opening_side)
{
	unsigned char record[SR_CMP_BYTES], held[SR_CMP_BYTES];

	cr_assert_eq(carry(cmp, EPOCH - 2), 0);
	cr_assert_eq(apply(&cmp->seal, EPOCH - 1, held), 0);
	cr_assert_eq(apply(&cmp->seal, EPOCH + DEPTH, record), 0);
	record[SR_CMP_BODY] ^= 1;
	for (int i = 0; i < 3; i++)
		cr_assert_eq(open_record(&cmp->open, EPOCH + DEPTH, record), -EBADMSG);
	cr_assert_eq(cmp->open.epoch, 0);
	cr_assert_eq(open_record(&cmp->open, EPOCH - 1, held), 0);
	record[SR_CMP_BODY] ^= 1;
	cr_assert_eq(open_record(&cmp->open, EPOCH + DEPTH, record), 0);
	cr_assert_eq(cmp->open.epoch, 1);
}

Test(seal, epochs_that_are_not_due_are_refused)
{
	unsigned char record[SR_CMP_BYTES], clear[SR_CMP_BYTES];
	const uint64_t numbers[] = { 2 * EPOCH, 3 * EPOCH, UINT64_MAX, UINT64_MAX - EPOCH };

	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
		fill(record, &cmp->seal, numbers[i]);
		memcpy(clear, record, sizeof record);
		cr_assert_eq(sr_seal_apply(&cmp->seal, numbers[i], record), -ERANGE);
		cr_assert_arr_eq(record, clear, sizeof record, "untouched");
		cr_assert_eq(open_record(&cmp->open, numbers[i], record), -EBADMSG);
	}
	cr_assert_eq(carry(cmp, 0), 0, "and nothing was spent");
}

Test(seal, epochs_that_are_not_due_are_refused_while_two_keys_are_held)
{
	unsigned char record[SR_CMP_BYTES];

	cr_assert_eq(carry(cmp, 5 * DEPTH), 0);
	cr_assert_eq(carry(cmp, EPOCH), 0);
	cr_assert(cmp->seal.has_old && cmp->open.has_old);
	for (uint64_t epoch = 3; epoch < 8; epoch++) {
		cr_assert_eq(apply(&cmp->seal, epoch * EPOCH, record), -ERANGE);
		cr_assert_eq(open_record(&cmp->open, epoch * EPOCH, record), -EBADMSG);
	}
	cr_assert_eq(carry(cmp, EPOCH + 1), 0, "and nothing was spent");
}

/* A context without a key has one of zeros, which everybody knows. */
static void check_zero_key(uint64_t n)
{
	static const unsigned char zeros[SR_AEAD_KEY_BYTES];
	unsigned char record[SR_CMP_BYTES];
	unsigned char *body = record + SR_CMP_BODY;
	struct sr_aead forger;

	cr_assert_eq(sr_aead_init(&forger, SR_AEAD_SEAL, zeros), 0);
	fill(record, &cmp->open, n);
	cr_assert_eq(sr_aead_seal(&forger, body, body + SR_CMP_BODY_BYTES, n, record, SR_CMP_BODY,
				  body, SR_CMP_BODY_BYTES),
		     0);
	cr_assert_eq(open_record(&cmp->open, n, record), -EBADMSG);
	sr_aead_wipe(&forger);
}

Test(seal, records_under_a_key_of_zeros_are_refused_in_every_epoch)
{
	for (uint64_t epoch = 0; epoch < 4; epoch++)
		check_zero_key(epoch * EPOCH);
	cr_assert_eq(carry(cmp, EPOCH + DEPTH), 0);
	for (uint64_t epoch = 0; epoch < 5; epoch++)
		check_zero_key((epoch + 1) * EPOCH - 1);
	cr_assert_eq(carry(cmp, 2 * EPOCH), 0);
	for (uint64_t epoch = 0; epoch < 6; epoch++)
		check_zero_key((epoch + 1) * EPOCH - 1);
}

Test(seal, last_epoch_is_kept_for_the_ratchets_nonce)
{
	unsigned char record[SR_CMP_BYTES];
	const uint64_t last = UINT64_MAX >> SR_SEAL_EPOCH_SHIFT;

	cmp->seal.epoch = cmp->open.epoch = last - 1;
	cr_assert_eq(apply(&cmp->seal, last * EPOCH - 1, record), 0);
	cr_assert_eq(apply(&cmp->seal, last * EPOCH, record), -ERANGE);
	cr_assert_eq(apply(&cmp->seal, UINT64_MAX, record), -ERANGE);
	fill(record, &cmp->open, last * EPOCH);
	cr_assert_eq(open_record(&cmp->open, last * EPOCH, record), -EBADMSG);
}

/* ---- life ---- */

Test(seal, sizes_out_of_range_are_refused)
{
	static const struct sr_seal wiped;
	struct sr_seal seal;
	struct sr_seal_config good = config_of(SR_SEAL_SUBMISSION, SR_AEAD_SEAL), bad[8];

	for (size_t i = 0; i < 8; i++)
		bad[i] = good;
	bad[0].depth = 1;
	bad[1].depth = 2 * SR_DEPTH_MAX;
	bad[2].depth = 24;
	bad[3].record_bytes = SR_SUB_BYTES_MIN - 1;
	bad[4].record_bytes = SR_SUB_BYTES_MAX + 1;
	bad[5].direction = SR_SEAL_COMPLETION;
	bad[6].direction = (enum sr_seal_direction)0;
	bad[7].way = (enum sr_aead_way)0;
	for (size_t i = 0; i < 8; i++) {
		memset(&seal, 0x5a, sizeof seal);
		cr_assert_eq(sr_seal_init(&seal, &bad[i]), -EINVAL, "%zu", i);
		cr_assert_eq(memcmp(&seal, &wiped, sizeof seal), 0);
	}
	good.depth = SR_DEPTH_MAX;
	cr_assert_eq(sr_seal_init(&seal, &good), 0);
	sr_seal_wipe(&seal);
	cr_assert_eq(memcmp(&seal, &wiped, sizeof seal), 0);
}

Test(seal, deepest_window_spends_each_number_once)
{
	struct sr_seal_config config = config_of(SR_SEAL_COMPLETION, SR_AEAD_SEAL);
	unsigned char record[SR_CMP_BYTES];

	config.depth = SR_DEPTH_MAX;
	sr_seal_wipe(&cmp->seal);
	begin(&cmp->seal, config);
	cr_assert_eq(apply(&cmp->seal, SR_DEPTH_MAX - 1, record), 0);
	for (uint64_t n = 0; n < SR_DEPTH_MAX - 1; n++)
		cr_assert_eq(apply(&cmp->seal, n, record), 0);
	for (uint64_t n = 0; n < SR_DEPTH_MAX; n++)
		cr_assert_eq(apply(&cmp->seal, n, record), -EALREADY);
}

Test(seal, wiped_one_refuses)
{
	unsigned char record[SLOT], body[SLOT];

	fill(record, &sub->seal, 0);
	sr_seal_wipe(&sub->seal);
	sr_seal_wipe(&sub->open);
	cr_assert_eq(sr_seal_apply(&sub->seal, 0, record), -ENOKEY);
	cr_assert_eq(sr_seal_open(&sub->open, 0, body, record), -ENOKEY);
	cr_assert_eq(sr_seal_step(&sub->open), -ENOKEY);
	sr_seal_wipe(&sub->seal);
}

Test(seal, forked_child_has_no_key)
{
	unsigned char record[SLOT], body[SLOT];
	int status;
	pid_t pid;

	fill(record, &sub->seal, 0);
	pid = fork();
	cr_assert(pid >= 0);
	if (pid == 0)
		_exit(sr_seal_apply(&sub->seal, 0, record) == -ENOKEY &&
				      sr_seal_open(&sub->open, 0, body, record) == -ENOKEY ?
			      0 :
			      1);
	cr_assert(waitpid(pid, &status, 0) == pid);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	cr_assert_eq(carry(sub, 0), 0, "and the parent has it still");
}

Test(seal_memory, nothing_is_allocated_in_use)
{
	unsigned long before;
	unsigned char record[SLOT];
	int bad = 0;

	rig_need_allocation_count();
	setup();
	before = rig_allocations;
	for (uint64_t n = EPOCH - 50; n < EPOCH + 50; n++) {
		fill(record, &sub->seal, n);
		bad |= sr_seal_apply(&sub->seal, n, record);
		bad |= sr_seal_apply(&sub->seal, n, record) != -EALREADY;
		bad |= sr_seal_open(&sub->open, n, record + SR_SUB_BODY, record);
		bad |= sr_seal_open(&sub->open, n, record + SR_SUB_BODY, record) != -EBADMSG;
		bad |= sr_seal_step(&sub->open) < 0 || sr_seal_step(&sub->seal) < 0;
	}
	cr_assert_eq(rig_allocations, before);
	cr_assert_eq(bad, 0);
	teardown();
}
