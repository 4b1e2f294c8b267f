/* SPDX-License-Identifier: MIT */
/*
 * The slots of a session between two threads of one process, on one mapping: what
 * ThreadSanitizer can see. (It shadows virtual addresses, so it is blind to a race
 * between two mappings of one memfd.) With -DSR_MUTANT_RELAXED the publish has no
 * release, and this program must be reported.
 */
#include <pthread.h>

#include "mp_common.h"
#include "sr_mailbox.h"
#include "sr_region.h"

#define DEPTH 64u

struct two {
	struct sr_region sub;
	struct sr_region cmp;
	uint64_t first;
	uint64_t count;
};

static void fill(unsigned char *record, uint32_t bytes, uint64_t n)
{
	for (uint32_t i = 8; i < bytes; i += 8)
		sr_put64(record + i, n * 0x9e3779b97f4a7c15ull + i);
}

static void check(const unsigned char *record, uint32_t bytes, uint64_t word, uint64_t n)
{
	uint64_t wrong = sr_get64(record) ^ word;

	for (uint32_t i = 8; i < bytes; i += 8)
		wrong |= sr_get64(record + i) ^ (n * 0x9e3779b97f4a7c15ull + i);
	MP_CHECK(wrong == 0, "message %llu is not what was published", (unsigned long long)n);
}

static void *answer(void *arg)
{
	const struct two *t = arg;
	struct sr_slots sub = sr_region_slots(&t->sub, 0);
	struct sr_slots cmp = sr_region_slots(&t->cmp, 0);
	unsigned char record[SR_SUB_BYTES_DEFAULT];
	unsigned char reply[SR_CMP_BYTES];

	for (uint64_t n = 0; n < t->count;) {
		int ret = sr_slot_look(&sub, t->first + n);

		if (ret == -EAGAIN) {
			(void)sched_yield();
			continue;
		}
		MP_EQ(ret, 0, "look");
		sr_slot_copy(&sub, t->first + n, record);
		check(record, sizeof record, t->first + n, n);
		fill(reply, sizeof reply, ~n);
		sr_slot_publish(&cmp, t->first + n, reply);
		n++;
	}
	return NULL;
}

static void ask(const struct two *t)
{
	struct sr_slots sub = sr_region_slots(&t->sub, 0);
	struct sr_slots cmp = sr_region_slots(&t->cmp, 0);
	unsigned char record[SR_SUB_BYTES_DEFAULT];
	unsigned char reply[SR_CMP_BYTES];
	uint64_t sent = 0;

	for (uint64_t got = 0; got < t->count;) {
		int ret;

		for (; sent < t->count && sent - got < DEPTH; sent++) {
			fill(record, sizeof record, sent);
			sr_slot_publish(&sub, t->first + sent, record);
		}
		ret = sr_slot_look(&cmp, t->first + got);
		if (ret == -EAGAIN) {
			(void)sched_yield();
			continue;
		}
		MP_EQ(ret, 0, "look");
		sr_slot_copy(&cmp, t->first + got, reply);
		check(reply, sizeof reply, t->first + got, ~got);
		got++;
	}
}

static void slots_between_two_threads(void)
{
	struct sr_geometry sub = { 1, DEPTH, SR_SUB_BYTES_DEFAULT };
	struct sr_geometry cmp = { 1, DEPTH, SR_CMP_BYTES };
	struct two t = { .count = mp_long ? 50000000 : 300000 };
	struct sr_slots slots;
	pthread_t thread;

	t.first = (uint64_t)0 - t.count / 2;
	MP_EQ(sr_region_create(&t.sub, SR_REGION_SUBMISSION, &sub, 0, -1, NULL), 0, "region");
	MP_EQ(sr_region_create(&t.cmp, SR_REGION_COMPLETION, &cmp, 0, -1, NULL), 0, "region");
	slots = sr_region_slots(&t.sub, 0);
	sr_slots_reset(&slots, t.first);
	slots = sr_region_slots(&t.cmp, 0);
	sr_slots_reset(&slots, t.first);
	MP_EQ(pthread_create(&thread, NULL, answer, &t), 0, "pthread_create");
	ask(&t);
	(void)pthread_join(thread, NULL);
	sr_region_drop(&t.sub);
	sr_region_drop(&t.cmp);
}

/* ---- the mailbox between the threads of an agent ---- */

struct post {
	struct sr_mailbox box;
	uint32_t letters[SR_MAILBOX_SLOTS * 2]; /* what the mail's object points to */
	uint64_t count;
};

static void *collect(void *arg)
{
	struct post *p = arg;
	struct sr_mail mail;

	for (uint64_t n = 0; n < p->count;) {
		if (sr_mailbox_get(&p->box, &mail) < 0) {
			(void)sched_yield();
			continue;
		}
		MP_EQ(mail.value, (uint32_t)n, "value of a mail");
		MP_EQ(*(uint32_t *)mail.object, (uint32_t)n, "what a mail's object holds");
		n++;
	}
	return NULL;
}

static void mail_between_two_threads(void)
{
	struct post *p = aligned_alloc(SR_LINE_BYTES, sizeof *p);
	pthread_t thread;

	MP_CHECK(p, "out of memory");
	memset(p, 0, sizeof *p);
	p->count = mp_long ? 50000000 : 300000;
	MP_EQ(pthread_create(&thread, NULL, collect, p), 0, "pthread_create");
	for (uint64_t n = 0; n < p->count;) {
		/* Twice as many as mails: one is used again only when its mail was got. */
		uint32_t *letter = &p->letters[n % (SR_MAILBOX_SLOTS * 2)];
		struct sr_mail mail = { 1, (uint32_t)n, letter };

		if (n - sr_load_acquire(&p->box.tail) >= SR_MAILBOX_SLOTS) {
			(void)sched_yield();
			continue;
		}
		*letter = (uint32_t)n;
		MP_EQ(sr_mailbox_put(&p->box, mail), 0, "put");
		n++;
	}
	(void)pthread_join(thread, NULL);
	free(p);
}

static const struct mp_test tests[] = {
	{ "stress/slots_between_two_threads", slots_between_two_threads, 0 },
	{ "stress/mail_between_two_threads", mail_between_two_threads, 0 },
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
