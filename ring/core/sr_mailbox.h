/* SPDX-License-Identifier: MIT */
/*
 * sr_mailbox.h - a thread hands small messages to another, without a lock.
 *
 * Single producer, single consumer, within one process: the cold threads use it
 * to reach a polling loop, which must never wait for them. Head and tail lie on
 * lines of their own.
 */
#ifndef SR_MAILBOX_H
#define SR_MAILBOX_H

#include "sr_base.h"

#define SR_MAILBOX_SLOTS 8192u

struct sr_mail {
	uint32_t kind;
	uint32_t value;
	void *object; /* ownership passes with the message */
};

struct sr_mailbox {
	SR_ALIGNED(SR_LINE_BYTES) uint64_t head; /* written by the producer */
	SR_ALIGNED(SR_LINE_BYTES) uint64_t tail; /* written by the consumer */
	SR_ALIGNED(SR_LINE_BYTES) struct sr_mail slots[SR_MAILBOX_SLOTS];
};

/* sr_mailbox_put - 0, or -EAGAIN when it is full. Wait-free. */
static inline int sr_mailbox_put(struct sr_mailbox *box, struct sr_mail mail)
{
	uint64_t head = sr_load_relaxed(&box->head);

	/* Pairs with the release in sr_mailbox_get(): the slot is free. */
	if (head - sr_load_acquire(&box->tail) == SR_MAILBOX_SLOTS)
		return -EAGAIN;
	box->slots[head % SR_MAILBOX_SLOTS] = mail;
	sr_store_release(&box->head, head + 1);
	return 0;
}

/* sr_mailbox_get - 0 with *mail written, or -EAGAIN when empty. Wait-free. */
static inline int sr_mailbox_get(struct sr_mailbox *box, struct sr_mail *mail)
{
	uint64_t tail = sr_load_relaxed(&box->tail);

	/* Pairs with the release in sr_mailbox_put(): the mail is whole. */
	if (tail == sr_load_acquire(&box->head))
		return -EAGAIN;
	*mail = box->slots[tail % SR_MAILBOX_SLOTS];
	sr_store_release(&box->tail, tail + 1);
	return 0;
}

#endif /* SR_MAILBOX_H */
