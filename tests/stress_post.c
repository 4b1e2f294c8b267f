/* SPDX-License-Identifier: MIT */
/*
 * The post between a control thread and a signing one, in one mapping: what
 * ThreadSanitizer can see. Tasks go there whole and come back whole, in their order, each
 * once; names of sessions that have settled arrive whole, in theirs. With
 * -DSR_MUTANT_RELAXED nothing is released, and this program must be reported.
 */
#include <pthread.h>

#include "mp_common.h"
#include "presign_rig.h"
#include "sr_getrandom.h"
#include "sr_noise.h"
#include "sr_post.h"
#include "sr_secret.h"

#define ADMISSIONS 4u
#define MARK UINT64_C(0x9e3779b97f4a7c15) /* a name's second word from its first */

struct office {
	struct sr_keyring *keys;
	struct sr_core *core; /* the signing thread's */
	struct sr_post *post;
	struct sr_noise_keys *handshake;
	uint64_t stop;
	uint64_t sent, back, settled;
	uint64_t last; /* name that settled last */
};

static void office_open(struct office *o)
{
	struct sr_core_config config = {
		.sign = { .entropy = &sr_getrandom },
		.sessions_max = 2,
		.admissions_max = ADMISSIONS,
		.depth_max = SR_DEPTH_MIN,
		.slot_bytes_max = SR_SUB_BYTES_DEFAULT,
	};
	void *mem;

	if (!pr_secret_memory())
		mp_skip(PR_NO_SECRET_MEMORY);
	memset(o, 0, sizeof *o);
	MP_EQ(sr_secret_alloc(&mem, sizeof *o->handshake), 0, "protected memory");
	o->handshake = mem;
	memset(o->handshake, 7, sizeof *o->handshake);
	MP_EQ(sr_keyring_new(&o->keys), 0, "sr_keyring_new");
	config.sign.keys = o->keys;
	MP_EQ(sr_core_new(&o->core, &config), 0, "sr_core_new");
	MP_EQ(sr_post_new(&o->post), 0, "sr_post_new");
}

static void office_close(struct office *o)
{
	sr_post_delete(o->post);
	sr_core_delete(o->core);
	sr_keyring_delete(o->keys);
	sr_secret_free(o->handshake, sizeof *o->handshake);
}

static void *sign(void *arg)
{
	struct office *o = arg;

	while (!sr_load_relaxed(&o->stop)) {
		for (uint32_t i = 0; i < 64; i++) {
			sr_post_do(o->post, o->core);
			sr_post_tell(o->post, o->core);
		}
		(void)sched_yield();
	}
	return NULL;
}

/* Every eighth is an admission: the core has room for few, so the oldest settles. */
static bool admits(uint64_t number)
{
	return number % 8 == 0;
}

static bool send_one(struct office *o)
{
	struct sr_task *task = sr_post_task(o->post);
	struct sr_admission_terms terms = {
		.token = { o->sent + 1, (o->sent + 1) * MARK },
		.depth = SR_DEPTH_MIN,
		.slot_bytes = SR_SUB_BYTES_DEFAULT,
	};

	if (!task)
		return false;
	task->kind = admits(o->sent) ? SR_TASK_ADMIT : SR_TASK_KEY_DELETE;
	task->result = 1;
	if (admits(o->sent))
		MP_EQ(sr_admission_make(&task->admission, &terms, o->handshake), 0, "admission");
	else
		task->id = (uint32_t)o->sent;
	sr_post_send(o->post, task);
	o->sent++;
	return true;
}

static bool take_back(struct office *o)
{
	struct sr_task *task = sr_post_back(o->post);

	if (!task)
		return false;
	if (admits(o->back)) {
		MP_EQ(task->kind, SR_TASK_ADMIT, "kind");
		MP_EQ(task->result, 0, "result of an admission");
		MP_EQ(task->admission.terms.token[0], o->back + 1, "which admission");
	} else {
		MP_EQ(task->kind, SR_TASK_KEY_DELETE, "kind");
		MP_EQ(task->result, -ENOENT, "result");
		MP_EQ(task->id, (uint32_t)o->back, "which task");
	}
	sr_post_release(o->post, task);
	o->back++;
	return true;
}

static bool hear(struct office *o)
{
	uint64_t token[2];

	if (!sr_post_settled(o->post, token))
		return false;
	MP_EQ(token[1], token[0] * MARK, "a name that is whole");
	MP_CHECK(token[0] > o->last && token[0] <= o->sent && admits(token[0] - 1),
		 "%llu settled behind %llu", (unsigned long long)token[0],
		 (unsigned long long)o->last);
	o->last = token[0];
	o->settled++;
	return true;
}

static void control_against_signing(void)
{
	uint64_t wanted = mp_long ? 2000000 : 20000;
	struct office o;
	pthread_t signing;

	office_open(&o);
	MP_EQ(pthread_create(&signing, NULL, sign, &o), 0, "pthread_create");
	while (o.back < wanted) {
		bool did = false;

		/* Bursts, so that both ends meet at empty and at all tasks out. */
		for (uint32_t i = mp_below(100); i && o.sent < wanted && send_one(&o); i--)
			did = true;
		for (uint32_t i = mp_below(100); i && take_back(&o); i--)
			did = true;
		for (uint32_t i = mp_below(8); i && hear(&o); i--)
			did = true;
		if (!did)
			(void)sched_yield();
	}
	sr_store_relaxed(&o.stop, 1);
	(void)pthread_join(signing, NULL);
	while (hear(&o))
		;
	MP_EQ(o.post->out, 0, "tasks that are out");
	MP_CHECK(o.settled > 0, "none has settled");
	(void)printf("# %llu of %llu admissions were told of\n", (unsigned long long)o.settled,
		     (unsigned long long)((wanted + 7) / 8));
	office_close(&o);
}

static const struct mp_test tests[] = {
	{ "stress/post_control_against_signing", control_against_signing, 0 },
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
