/* SPDX-License-Identifier: MIT */
/*
 * Several clients at once, each with a sealed session and a thread, one thread that signs
 * for all of them and one that fills its pool; in one mapping, which ThreadSanitizer sees.
 *
 * All of them want the same order signed by the same keys all the time, from a pool and
 * without. Two signatures that share r give the key away: no two may.
 */
#include <pthread.h>

#include "mp_common.h"
#include "presign_rig.h"
#include "sr_core.h"
#include "sr_getrandom.h"
#include "sr_mailbox.h"
#include "sr_pool.h"
#include "sr_record.h"
#include "sr_secret.h"
#include "sr_slot.h"

#define PRODUCERS 4u
#define DEPTH 8u
#define SLOT 256u
#define FIRST (UINT64_MAX - 2)
#define KEY_HEDGED 1u
#define KEY_PRESIGN 2u
#define BODY "the same order"

/* What a client holds that is secret. */
struct secrets {
	struct {
		struct sr_seal requests, replies;
		struct sr_task task;
		struct sr_noise_keys agreed;
	} of[PRODUCERS];
};

struct producer {
	pthread_t thread;
	uint32_t index;
	uint64_t count; /* of orders */
	struct sr_slots up, down;
	SR_ALIGNED(SR_LINE_BYTES) unsigned char up_slots[DEPTH * SLOT];
	SR_ALIGNED(SR_LINE_BYTES) unsigned char down_slots[DEPTH * SR_CMP_BYTES];
	unsigned char (*r)[32]; /* count of them */
};

struct shop {
	struct sr_curve *curve;
	struct sr_keyring *keys;
	struct sr_core *core;
	struct secrets *secrets;
	struct sr_mailbox tasks, done;
	struct producer producers[PRODUCERS];
	unsigned char pubkey[SR_PUBKEY_BYTES];
	uint64_t stop;
};

static struct shop shop;

static void add_key(uint32_t id, uint32_t mode)
{
	struct sr_key_info info = {
		.id = id,
		.nonce_mode = mode,
		.permissions = 1u << SR_ECDSA_SHA256,
		.identities = 1,
	};
	unsigned char seckey[SR_SECKEY_BYTES];

	memset(seckey, 0x2a, sizeof seckey);
	MP_EQ(sr_keyring_add(shop.keys, shop.curve, &info, seckey), 0, "sr_keyring_add");
	memcpy(shop.pubkey, sr_keyring_info(shop.keys, id - 1)->pubkey, sizeof shop.pubkey);
}

static void open_shop(uint64_t count)
{
	static const unsigned char seed[32] = { 1 };
	struct sr_core_config config = {
		.sign = { .entropy = &sr_getrandom,
			  .pool_slots = 64,
			  .pool_low = 56,
			  .pool_batch = 8 },
		.sessions_max = PRODUCERS,
		.admissions_max = PRODUCERS,
		.depth_max = DEPTH,
		.slot_bytes_max = SLOT,
	};
	void *mem;

	if (!pr_secret_memory())
		mp_skip(PR_NO_SECRET_MEMORY);
	MP_EQ(sr_curve_new(&shop.curve, seed), 0, "sr_curve_new");
	MP_EQ(sr_keyring_new(&shop.keys), 0, "sr_keyring_new");
	add_key(KEY_HEDGED, SR_NONCE_HEDGED);
	add_key(KEY_PRESIGN, SR_NONCE_PRESIGN);
	config.sign.keys = shop.keys;
	MP_EQ(sr_core_new(&shop.core, &config), 0, "sr_core_new");
	MP_EQ(sr_secret_alloc(&mem, sizeof *shop.secrets), 0, "sr_secret_alloc");
	shop.secrets = mem;
	for (uint32_t i = 0; i < PRODUCERS; i++) {
		struct producer *p = &shop.producers[i];

		p->index = i;
		p->count = count;
		p->up = (struct sr_slots){ p->up_slots, DEPTH - 1, SLOT };
		p->down = (struct sr_slots){ p->down_slots, DEPTH - 1, SR_CMP_BYTES };
		sr_slots_reset(&p->up, FIRST);
		sr_slots_reset(&p->down, FIRST);
		p->r = calloc(count, sizeof p->r[0]);
		MP_CHECK(p->r, "out of memory");
	}
}

/* The control thread's part: keys for both ends. */
static void agree(uint32_t index)
{
	struct sr_seal_config config = {
		.keys = &shop.secrets->of[index].agreed,
		.direction = SR_SEAL_SUBMISSION,
		.way = SR_AEAD_SEAL,
		.first = FIRST,
		.record_bytes = SLOT,
		.depth = DEPTH,
	};
	const struct sr_admission_terms terms = {
		.token = { index + 1, 7 },
		.first = FIRST,
		.depth = DEPTH,
		.slot_bytes = SLOT,
	};
	struct sr_task *task = &shop.secrets->of[index].task;

	memset(&shop.secrets->of[index].agreed, (int)index + 1, sizeof(struct sr_noise_keys));
	MP_EQ(sr_seal_init(&shop.secrets->of[index].requests, &config), 0, "sr_seal_init");
	config.direction = SR_SEAL_COMPLETION;
	config.way = SR_AEAD_OPEN;
	config.record_bytes = SR_CMP_BYTES;
	MP_EQ(sr_seal_init(&shop.secrets->of[index].replies, &config), 0, "sr_seal_init");
	task->kind = SR_TASK_ADMIT;
	MP_EQ(sr_admission_make(&task->admission, &terms, config.keys), 0, "sr_admission_make");
	MP_EQ(sr_mailbox_put(&shop.tasks, (struct sr_mail){ 0, index, task }), 0, "mailbox");
}

/* ---- the thread that signs ---- */

static uint32_t take_session(const struct sr_mail *mail)
{
	const struct sr_open_request request = {
		.token = { mail->value + 1, 7 },
		.first = FIRST,
		.depth = DEPTH,
		.slot_bytes = SLOT,
		.flags = SR_OPEN_SEALED,
	};
	struct sr_task *task = mail->object;
	uint32_t id;

	sr_core_task(shop.core, task);
	MP_EQ(task->result, 0, "admission");
	MP_EQ(sr_core_open(shop.core, &id, &request, 1, 0), SR_OPENED_OK, "sr_core_open");
	MP_EQ(sr_mailbox_put(&shop.done, *mail), 0, "mailbox");
	return id;
}

static bool serve(const struct producer *p, uint32_t id, uint64_t *next)
{
	unsigned char record[SLOT], reply[SR_CMP_BYTES];

	if (sr_slot_look(&p->up, FIRST + *next))
		return false;
	sr_slot_copy(&p->up, FIRST + *next, record);
	MP_EQ(sr_core_record(shop.core, reply, id, 1, 0, record, SLOT), SR_CORE_REPLY, "verdict");
	sr_slot_publish(&p->down, FIRST + (*next)++, reply);
	return true;
}

static void *sign(void *arg)
{
	uint32_t ids[PRODUCERS] = { 0 };
	uint64_t next[PRODUCERS] = { 0 };
	struct sr_mail mail;

	(void)arg;
	while (!sr_load_acquire(&shop.stop)) {
		bool did = false;

		while (sr_mailbox_get(&shop.tasks, &mail) == 0)
			ids[mail.value] = take_session(&mail);
		for (uint32_t i = 0; i < PRODUCERS; i++)
			did |= ids[i] && serve(&shop.producers[i], ids[i], &next[i]);
		if (!did)
			(void)sched_yield();
	}
	return NULL;
}

static void *fill(void *arg)
{
	(void)arg;
	while (!sr_load_acquire(&shop.stop)) {
		int ret = sr_pool_step(sr_core_pool(shop.core));

		MP_CHECK(ret >= 0, "sr_pool_step: %d", ret);
		if (ret == 0)
			(void)sched_yield();
	}
	return NULL;
}

/* ---- a client ---- */

static void submit(struct producer *p, uint64_t n)
{
	unsigned char record[SLOT] = { 0 }, *request = record + SR_SUB_BODY;

	sr_put64(record, FIRST + n);
	record[SR_SUB_KIND] = SR_KIND_SEALED;
	sr_put32(request + SR_REQ_KEY, n & 1 ? KEY_HEDGED : KEY_PRESIGN);
	sr_put16(request + SR_REQ_TYPE, SR_ECDSA_SHA256);
	sr_put16(request + SR_REQ_BODY_BYTES, sizeof BODY - 1);
	memcpy(request + SR_REQ_BODY, BODY, sizeof BODY - 1);
	MP_EQ(sr_seal_apply(&shop.secrets->of[p->index].requests, n, record), 0, "sr_seal_apply");
	sr_slot_publish(&p->up, FIRST + n, record);
}

static void take(struct producer *p, struct sr_verifier *verifier, uint64_t n)
{
	unsigned char record[SR_CMP_BYTES], reply[SR_CMP_BODY_BYTES];

	sr_slot_copy(&p->down, FIRST + n, record);
	MP_EQ(sr_seal_open(&shop.secrets->of[p->index].replies, n, reply, record), 0,
	      "sr_seal_open");
	MP_EQ(sr_get16(reply + SR_REP_STATUS), SR_OK, "status");
	MP_EQ(sr_get64(reply + SR_REP_ACCEPTED), n + 1, "requests accepted");
	memcpy(p->r[n], reply + SR_REP_SIG, 32);
	if (n % 50 == 0)
		MP_EQ(sr_verify_signature(verifier, shop.pubkey, SR_ECDSA_SHA256,
					  (const unsigned char *)BODY, sizeof BODY - 1,
					  reply + SR_REP_SIG, reply[SR_REP_RECID]),
		      0, "signature");
}

static void *produce(void *arg)
{
	struct producer *p = arg;
	struct sr_verifier *verifier;
	uint64_t sent = 0, got = 0;

	MP_EQ(sr_verifier_new(&verifier), 0, "sr_verifier_new");
	while (got < p->count) {
		while (sent < p->count && sent - got < DEPTH)
			submit(p, sent++);
		if (sr_slot_look(&p->down, FIRST + got) == 0)
			take(p, verifier, got++);
		else
			(void)sched_yield();
	}
	sr_verifier_delete(verifier);
	return NULL;
}

/* ---- the judgement ---- */

static int by_value(const void *a, const void *b)
{
	return memcmp(a, b, 32);
}

static void check_unique(uint64_t count)
{
	unsigned char (*all)[32] = calloc(PRODUCERS * count, sizeof all[0]);

	MP_CHECK(all, "out of memory");
	for (uint32_t i = 0; i < PRODUCERS; i++)
		memcpy(all[i * count], shop.producers[i].r, count * sizeof all[0]);
	qsort(all, PRODUCERS * count, sizeof all[0], by_value);
	for (uint64_t i = 1; i < PRODUCERS * count; i++)
		MP_CHECK(memcmp(all[i - 1], all[i], 32), "two of %llu signatures share r",
			 (unsigned long long)(PRODUCERS * count));
	free(all);
}

static void close_shop(void)
{
	sr_core_delete(shop.core);
	sr_keyring_delete(shop.keys);
	sr_curve_delete(shop.curve);
	for (uint32_t i = 0; i < PRODUCERS; i++) {
		sr_seal_wipe(&shop.secrets->of[i].requests);
		sr_seal_wipe(&shop.secrets->of[i].replies);
		sr_task_wipe(&shop.secrets->of[i].task);
		free(shop.producers[i].r);
	}
	sr_secret_free(shop.secrets, sizeof *shop.secrets);
}

static void no_two_sealed_producers_share_r(void)
{
	uint64_t count = mp_long ? 100000 : 1000;
	struct sr_core_stats stats;
	struct sr_mail mail;
	pthread_t signer, filler;

	open_shop(count);
	MP_EQ(pthread_create(&signer, NULL, sign, NULL), 0, "pthread_create");
	MP_EQ(pthread_create(&filler, NULL, fill, NULL), 0, "pthread_create");
	for (uint32_t i = 0; i < PRODUCERS; i++) {
		struct producer *p = &shop.producers[i];

		agree(i);
		MP_EQ(pthread_create(&p->thread, NULL, produce, p), 0, "pthread_create");
	}
	for (uint32_t i = 0; i < PRODUCERS; i++)
		(void)pthread_join(shop.producers[i].thread, NULL);
	sr_store_release(&shop.stop, 1);
	(void)pthread_join(signer, NULL);
	(void)pthread_join(filler, NULL);
	for (uint32_t i = 0; i < PRODUCERS; i++)
		MP_EQ(sr_mailbox_get(&shop.done, &mail), 0, "a task that came back");

	check_unique(count);
	sr_core_stats_get(shop.core, &stats);
	MP_EQ(stats.signed_ok, PRODUCERS * count, "signatures");
	MP_EQ(stats.unauthentic, 0, "records that nobody sealed");
	MP_CHECK(stats.presigned >= 64, "only %llu came from the pool",
		 (unsigned long long)stats.presigned);
	(void)printf("# %llu signatures, %llu of them from the pool\n",
		     (unsigned long long)stats.signed_ok, (unsigned long long)stats.presigned);
	close_shop();
}

static const struct mp_test tests[] = {
	{ "stress/no_two_sealed_producers_share_r", no_two_sealed_producers_share_r, 0 },
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
