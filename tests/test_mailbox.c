/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "sr_mailbox.h"

static struct sr_mailbox box;

static void begin_at(uint64_t count)
{
	memset(&box, 0, sizeof box);
	box.head = box.tail = count;
}

Test(mailbox, get_from_an_empty_one_returns_eagain)
{
	struct sr_mail mail = { 7, 8, NULL };

	begin_at(0);
	cr_assert_eq(sr_mailbox_get(&box, &mail), -EAGAIN);
	cr_assert_eq(mail.kind, 7, "outputs are untouched on failure");
}

Test(mailbox, holds_as_many_as_it_has_slots)
{
	begin_at(5);
	for (uint32_t i = 0; i < SR_MAILBOX_SLOTS; i++)
		cr_assert_eq(sr_mailbox_put(&box, (struct sr_mail){ i, i, &box }), 0);
	cr_assert_eq(sr_mailbox_put(&box, (struct sr_mail){ 1, 1, NULL }), -EAGAIN);
	for (uint32_t i = 0; i < SR_MAILBOX_SLOTS; i++) {
		struct sr_mail mail = { 0, 0, NULL };

		cr_assert_eq(sr_mailbox_get(&box, &mail), 0);
		cr_assert(mail.kind == i && mail.value == i && mail.object == &box);
	}
}

Test(mailbox, keeps_its_order_through_the_wrap)
{
	uint32_t put = 0;
	uint32_t got = 0;

	begin_at((uint64_t)0 - 100);
	while (got < 5000) {
		struct sr_mail mail;

		for (uint32_t i = 0; i < 1 + got % 7; i++)
			put += sr_mailbox_put(&box, (struct sr_mail){ 1, put, NULL }) == 0;
		for (uint32_t i = 0; i < 1 + got % 5; i++)
			if (sr_mailbox_get(&box, &mail) == 0)
				cr_assert_eq(mail.value, got++);
	}
}

Test(mailbox, ends_lie_on_lines_of_their_own)
{
	cr_assert_eq(offsetof(struct sr_mailbox, tail) - offsetof(struct sr_mailbox, head),
		     SR_LINE_BYTES);
	cr_assert_eq(offsetof(struct sr_mailbox, slots) % SR_LINE_BYTES, 0);
}
