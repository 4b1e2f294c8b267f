/* SPDX-License-Identifier: MIT */
/* Who fills the pool: a thread, or the signing thread in idle turns. */
#include <dirent.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "signer_rig.h"
#include "sr_frame.h"
#include "sr_getrandom.h"
#include "sr_local.h"
#include "sr_refill.h"

#define BOUND_S 60

static uint64_t depth_of(const struct sr_pool *pool)
{
	struct sr_pool_stats stats;

	sr_pool_stats_get(pool, &stats);
	return stats.depth;
}

static void wait_until_full(const struct sr_pool *pool, uint64_t depth)
{
	time_t end = time(NULL) + BOUND_S;

	while (depth_of(pool) != depth) {
		cr_assert_lt(time(NULL), end, "%u of %u", (unsigned int)depth_of(pool),
			     (unsigned int)depth);
		(void)sched_yield();
	}
}

/* Threads of this process in the class that lives on what others leave. */
static int idle_threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	const struct dirent *e;
	int count = 0;

	while (tasks && (e = readdir(tasks)) != NULL)
		count += atoi(e->d_name) > 0 && sched_getscheduler(atoi(e->d_name)) == SCHED_IDLE;
	if (tasks)
		(void)closedir(tasks);
	return count;
}

Test(refill, a_thread_fills_fills_again_and_ends)
{
	const struct sr_pool_config config = {
		.entropy = &sr_getrandom,
		.slots = 64,
		.low = 32,
		.batch = 16,
	};
	struct sr_refill *refill;
	struct sr_pool *pool;
	struct sr_presig *taken;
	void *mem;

	rig_need_secret_memory();
	cr_assert_eq(sr_secret_alloc(&mem, sizeof *taken), 0);
	taken = mem;
	cr_assert_eq(sr_pool_new(&pool, &config), 0);
	for (int shares_core = 0; shares_core < 2; shares_core++) {
		cr_assert_eq(sr_refill_start(&refill, pool, -1, shares_core), 0);
		wait_until_full(pool, 64);
		cr_assert_eq(idle_threads(), shares_core, "threads at SCHED_IDLE");
		for (int i = 0; i < 33; i++)
			cr_assert_eq(sr_pool_take(pool, taken), 0);
		wait_until_full(pool, 63); /* 31 and two batches: no third fits */
		sr_refill_stop(refill);
		while (sr_pool_take(pool, taken) == 0)
			;
	}
	sr_refill_stop(NULL);
	sr_pool_delete(pool);
	sr_secret_free(mem, sizeof *taken);
}

/* ---- idle turns ---- */

#define POOL 16u
#define BATCH 4u
/* Reseed, blind, each point, two of the inversion, one of each other phase, and
 * putting the batch into the pool. */
#define PIECES (2u + BATCH + 2u + 3u + 1u)

static char keys[64];

static void make_key(void)
{
	char path[96];
	FILE *file;

	(void)snprintf(keys, sizeof keys, "/tmp/sr-refill-XXXXXX");
	cr_assert(mkdtemp(keys));
	(void)snprintf(path, sizeof path, "%s/1.key", keys);
	file = fopen(path, "w");
	cr_assert(file);
	fprintf(file, "sigring-key 1\nid %u\nnonce presign-only\npermit ecdsa-sha256\nuid any\n"
		      "secret %064d\n", RIG_KEY, 7);
	cr_assert_eq(fchmod(fileno(file), 0600), 0);
	cr_assert_eq(fclose(file), 0);
}

static void remove_key(void)
{
	char path[96];

	(void)snprintf(path, sizeof path, "%s/1.key", keys);
	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(rmdir(keys), 0);
}

static void send_frame(struct sr_transport *t, uint32_t kind, uint32_t session,
		       const void *payload, uint32_t bytes)
{
	unsigned char frame[SR_FRAME_HEADER_BYTES + RIG_SLOT];

	(void)sr_frame_put(frame, kind, session, 1, bytes);
	memcpy(frame + SR_FRAME_HEADER_BYTES, payload, bytes);
	cr_assert_eq(t->ops->send(t, frame, SR_FRAME_HEADER_BYTES + bytes),
		     (ssize_t)(SR_FRAME_HEADER_BYTES + bytes));
}

/* Receives one frame; the answer must be there at the first look. */
static struct sr_frame receive(struct sr_transport *t, uint32_t kind)
{
	static unsigned char in[4096];
	struct sr_frame frame;
	ssize_t n = t->ops->recv(t, in, sizeof in);

	cr_assert_gt(n, 0, "kind %u did not come at the first look", kind);
	cr_assert_eq(sr_frame_cut(&frame, in, (size_t)n), 0);
	cr_assert_eq(frame.kind, kind, "%u", frame.kind);
	return frame;
}

static uint32_t open_session(struct sr_transport *t)
{
	struct sr_open_request request = rig_open_request(1, 0);
	unsigned char payload[SR_OPEN_BYTES];
	struct sr_opened opened;
	struct sr_frame frame;

	(void)receive(t, SR_FRAME_HELLO);
	sr_open_put(payload, &request);
	send_frame(t, SR_FRAME_OPEN, 0, payload, sizeof payload);
	frame = receive(t, SR_FRAME_OPENED);
	cr_assert_eq(sr_opened_get(&opened, &frame), 0);
	cr_assert_eq(opened.result, SR_OPENED_OK);
	return frame.session;
}

static char log_text[512];
static unsigned int log_lines;

static void keep_log(void *arg, const char *text)
{
	(void)arg;
	(void)snprintf(log_text, sizeof log_text, "%s", text);
	log_lines++;
}

/* A signer with a full pool, behind the transport of sigring-local; one session. */
static uint32_t start(struct sr_signer *signer, struct sr_transport **t)
{
	struct sr_reason why = { 0, "" };
	struct sr_signer_config config;

	rig_need_secret_memory();
	make_key();
	sr_signer_config_init(&config);
	config.keys = keys;
	config.pool_slots = POOL;
	config.pool_batch = BATCH;
	config.ground = &sr_ground_host;
	config.refill = SR_REFILL_IDLE;
	config.allow_snapshot = true;
	config.log = keep_log;
	cr_assert_eq(sr_signer_new(signer, &config, &why), 0, "%s", why.text);
	cr_assert_null(signer->refill);
	cr_assert_eq(sr_local_new(t, signer), 0);
	cr_assert_eq((*t)->ops->connect(*t), 0);
	return open_session(*t);
}

static void stop(struct sr_signer *signer, struct sr_transport *t)
{
	t->ops->destroy(t);
	sr_signer_delete(signer);
	remove_key();
}

/*
 * The refill delays an answer by one piece at most: a turn does one piece (so many
 * turns are needed as there are pieces), and a record that has come in meanwhile
 * is answered by the very next turn, however much of the pool is still missing.
 */
Test(refill, idle_turns_do_one_piece_each_and_never_before_an_answer)
{
	struct sr_signer signer;
	struct sr_transport *t;
	unsigned char record[RIG_SLOT], in[256];
	struct sr_pool_stats stats;
	struct sr_pool *pool;
	uint32_t session, turns = 0;
	uint64_t n = 0;

	session = start(&signer, &t);
	pool = sr_core_pool(signer.core);
	cr_assert_eq(depth_of(pool), POOL, "it is full at the start");

	/* Without an idle turn between, all are used up and the next one is denied. */
	for (; n <= POOL; n++) {
		rig_record(record, RIG_SLOT, n, RIG_KEY, SR_ECDSA_SHA256, "x", 1);
		send_frame(t, SR_FRAME_DATA, session, record, RIG_SLOT);
		cr_assert_eq(rig_status(receive(t, SR_FRAME_REPLY).payload),
			     n < POOL ? SR_OK : SR_DENIED);
	}

	for (; depth_of(pool) + BATCH <= POOL; turns++) {
		cr_assert_eq(t->ops->recv(t, in, sizeof in), -EAGAIN);
		if (turns % 7)
			continue;
		rig_record(record, RIG_SLOT, n++, RIG_KEY, SR_ECDSA_SHA256, "x", 1);
		send_frame(t, SR_FRAME_DATA, session, record, RIG_SLOT);
		(void)receive(t, SR_FRAME_REPLY);
	}
	sr_pool_stats_get(pool, &stats);
	cr_assert_gt(stats.refilled, POOL);
	cr_assert_geq(turns, (stats.refilled - POOL) / BATCH * PIECES);
	stop(&signer, t);
}

/* A fault in a key: nothing is released, and the log says so once. */
Test(refill, key_that_met_a_fault_is_in_the_log)
{
	unsigned char record[RIG_SLOT], in[256];
	struct sr_core_stats stats;
	struct sr_signer signer;
	struct sr_transport *t;
	uint32_t session = start(&signer, &t);

	((unsigned char *)(uintptr_t)sr_keyring_secret(signer.keys, 0))[9] ^= 1;
	rig_record(record, RIG_SLOT, 0, RIG_KEY, SR_ECDSA_SHA256, "x", 1);
	send_frame(t, SR_FRAME_DATA, session, record, RIG_SLOT);
	cr_assert_eq(rig_policy(receive(t, SR_FRAME_REPLY).payload), SR_POLICY_KEY_LOCKED);
	sr_core_stats_get(signer.core, &stats);
	cr_assert_eq(stats.check_failed, 1);
	for (int i = 0; i < 10000; i++)
		(void)t->ops->recv(t, in, sizeof in);
	cr_assert_eq(log_lines, 1);
	cr_assert(strstr(log_text, "A KEY IS LOCKED"), "%s", log_text);
	stop(&signer, t);
}
