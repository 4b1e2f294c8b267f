/* SPDX-License-Identifier: MIT */
/*
 * bench_scale - what one signing core gives, with more sessions, and what more cores give.
 *
 * The signer as a library, without ring or stream: records in clear go into sr_core and
 * replies come out. A signing thread owns its keys, its sessions and its pool, and shares
 * nothing with another; so threads should add up, and these rows say how far they do here
 * (two hardware threads of one core do not add up to two). Rounds interleave all rows.
 *
 * The capacity of a core that signs and refills is held against what its two parts take
 * when they are measured apart, one after the other, in the same round: what is lost
 * between them is ours.
 */
#include <pthread.h>

#include "sr_bench.h"
#include "sr_core.h"
#include "sr_getrandom.h"
#include "sr_message.h"
#include "sr_secret.h"
#include "sr_tails.h"
#include "sr_type.h"

#define MESSAGE_BYTES 256u
#define POOL_SLOTS 1024u
#define POOL_BATCH 256u
#define PRESIGNED (POOL_SLOTS - POOL_BATCH) /* in a round: no pool runs dry */
#define HEDGED 400u
#define LAP 8u /* signatures between two readings of the clock: its cost is a hundredth of them */
#define HEDGED_TEST 8u
#define SESSIONS_MAX 64u
#define WORKERS_MAX 8u

enum { KEY_PRESIGN = 1, KEY_HEDGED = 2 };

enum row {
	ROW_APART,
	ROW_CAPACITY,
	ROW_SESSIONS_1,
	ROW_SESSIONS_8,
	ROW_SESSIONS_64,
	ROW_THREADS_1,
	ROW_THREADS_2,
	ROW_THREADS_4,
	ROW_THREADS_8,
	ROWS
};

static const uint32_t row_sessions[ROWS] = { 1, 1, 1, 8, 64, 1, 1, 1, 1 };
static const uint32_t row_threads[ROWS] = { 1, 1, 1, 1, 1, 1, 2, 4, 8 };

/* A signing thread's own. */
struct worker {
	struct sr_keyring *keys;
	struct sr_core *core;
	uint32_t sessions[SESSIONS_MAX];
	uint64_t words[SESSIONS_MAX];
	unsigned char record[SR_SUB_BYTES_DEFAULT];
	unsigned char reply[SR_CMP_BYTES];
	pthread_t thread;
	bool started;
	int cpu;
	uint32_t thread_id; /* 0 until it runs */
	uint32_t ready; /* for that turn */
	uint32_t turn;  /* the last that it is through with */
	uint32_t count;
	uint64_t begin_ns, end_ns, delay_ns;
	uint64_t lap_ns; /* when the present lap began */
	uint64_t laps[PRESIGNED / LAP];
	uint32_t lap_count;
	int ret;
};

static struct {
	struct worker workers[WORKERS_MAX];
	uint32_t worker_count;
	uint32_t turn;   /* there is work */
	uint32_t go;     /* all are awake: begin */
	uint32_t wanted; /* workers of this turn, from the first */
	uint32_t stop;
	struct sr_histogram laps[ROWS];
	uint32_t per[ROWS];
} run;

/* ---- one worker ---- */

static int add_key(struct worker *w, struct sr_curve *curve, uint32_t id, uint32_t mode)
{
	struct sr_key_info info = { .id = id,
				    .permissions = 1u << SR_ECDSA_SHA256,
				    .nonce_mode = mode,
				    .any_uid = true };
	void *seckey;
	int ret = sr_secret_alloc(&seckey, SR_SECKEY_BYTES);

	if (ret)
		return ret;
	ret = sr_getrandom.get(sr_getrandom.arg, seckey, SR_SECKEY_BYTES);
	((unsigned char *)seckey)[0] &= 0x7f; /* below the group's order, for certain */
	if (!ret)
		ret = sr_keyring_add(w->keys, curve, &info, seckey);
	sr_secret_free(seckey, SR_SECKEY_BYTES);
	return ret;
}

static int open_sessions(struct worker *w)
{
	unsigned char *request = w->record + SR_SUB_BODY;

	w->record[SR_SUB_KIND] = SR_KIND_UNSEALED;
	sr_put16(request + SR_REQ_TYPE, SR_ECDSA_SHA256);
	sr_put16(request + SR_REQ_BODY_BYTES, MESSAGE_BYTES);
	for (uint32_t i = 0; i < SESSIONS_MAX; i++) {
		struct sr_open_request open = { .token = { 1, i + 1 },
						.first = (uint64_t)i << 32,
						.depth = SR_DEPTH_DEFAULT,
						.slot_bytes = SR_SUB_BYTES_DEFAULT };

		w->words[i] = open.first;
		if (sr_core_open(w->core, &w->sessions[i], &open, 1, 0) != SR_OPENED_OK)
			return -EPROTO;
	}
	return 0;
}

static int worker_new(struct worker *w)
{
	struct sr_core_config config = {
		.sign = { .entropy = &sr_getrandom,
			  .pool_slots = POOL_SLOTS,
			  .pool_low = POOL_SLOTS - POOL_BATCH + 1,
			  .pool_batch = POOL_BATCH },
		.sessions_max = SESSIONS_MAX,
		.depth_max = SR_DEPTH_DEFAULT,
		.slot_bytes_max = SR_SUB_BYTES_DEFAULT,
		.clear = &sr_core_clear,
		.snapshot_allowed = true,
	};
	struct sr_curve *curve = NULL;
	unsigned char seed[32];
	int ret = sr_getrandom.get(sr_getrandom.arg, seed, sizeof seed);

	if (!ret)
		ret = sr_curve_new(&curve, seed);
	if (!ret)
		ret = sr_keyring_new(&w->keys);
	if (!ret)
		ret = add_key(w, curve, KEY_PRESIGN, SR_NONCE_PRESIGN);
	if (!ret)
		ret = add_key(w, curve, KEY_HEDGED, SR_NONCE_HEDGED);
	sr_curve_delete(curve);
	config.sign.keys = w->keys;
	if (!ret)
		ret = sr_core_new(&w->core, &config);
	return ret ? ret : open_sessions(w);
}

/* One order of each of the first @sessions in turn. */
static int sign(struct worker *w, uint32_t key, uint32_t sessions, uint32_t at, uint64_t delay_ns)
{
	uint32_t s = at % sessions;

	sr_put64(w->record, w->words[s]++);
	sr_put32(w->record + SR_SUB_BODY + SR_REQ_KEY, key);
	sr_put64(w->record + SR_SUB_BODY + SR_REQ_BODY, at);
	if (sr_core_record(w->core, w->reply, w->sessions[s], 1, 0, w->record, sizeof w->record) !=
		    SR_CORE_REPLY ||
	    sr_get16(w->reply + SR_CMP_BODY + SR_REP_STATUS) != SR_OK)
		return -EBADMSG;
	if (delay_ns)
		sr_bench_spin(delay_ns);
	return 0;
}

static void lap_start(struct worker *w)
{
	w->lap_count = 0;
	w->lap_ns = sr_now_ns();
}

/* Behind signature @at, from 0. */
static void lap(struct worker *w, uint32_t at)
{
	uint64_t now_ns;

	if ((at + 1) % LAP || w->lap_count == PRESIGNED / LAP)
		return;
	now_ns = sr_now_ns();
	w->laps[w->lap_count++] = now_ns - w->lap_ns;
	w->lap_ns = now_ns;
}

/* Steps until nothing is wanted. Returns how many presignatures were made. */
static int64_t fill(struct worker *w)
{
	struct sr_core_stats before, after;
	int ret;

	sr_core_stats_get(w->core, &before);
	while ((ret = sr_pool_step(sr_core_pool(w->core))) > 0)
		;
	sr_core_stats_get(w->core, &after);
	return ret < 0 ? ret : (int64_t)(after.pool_refilled - before.pool_refilled);
}

/* ---- rows of one thread ---- */

/* Signing from a full pool, then filling it: each by itself. */
static int apart(struct worker *w, uint64_t delay_ns, double *rate)
{
	uint64_t begin_ns = sr_now_ns(), sign_ns;
	int64_t made = 0;
	int ret = 0;

	for (uint32_t i = 0; i < PRESIGNED && !ret; i++) {
		ret = sign(w, KEY_PRESIGN, 1, i, delay_ns);
		lap(w, i);
	}
	sign_ns = sr_now_ns() - begin_ns;
	begin_ns = sr_now_ns();
	if (!ret)
		made = fill(w);
	if (ret || made <= 0)
		return ret ? ret : made ? (int)made : -EIO;
	*rate = 1e9 / ((double)sign_ns / PRESIGNED +
		       (double)(sr_now_ns() - begin_ns) / (double)made);
	return 0;
}

static uint64_t used(const struct worker *w)
{
	struct sr_core_stats stats;

	sr_core_stats_get(w->core, &stats);
	return stats.pool_taken - stats.pool_refilled;
}

/* The two in turns, as at a load that a core can just bear: what was used is made again. */
static int capacity(struct worker *w, uint64_t delay_ns, double *rate)
{
	uint64_t begin_ns = sr_now_ns(), behind = used(w);
	int ret = 0;

	for (uint32_t i = 0; i < PRESIGNED && !ret; i++) {
		ret = sign(w, KEY_PRESIGN, 1, i, delay_ns);
		if (!ret) /* a piece each: one point, or a slice of what a batch shares */
			ret = sr_pool_step(sr_core_pool(w->core)) < 0 ? -EIO : 0;
		lap(w, i);
	}
	/* What the pieces have not caught up with: as much as was used is made again. */
	while (!ret && used(w) != behind) {
		int step = sr_pool_step(sr_core_pool(w->core));

		if (step <= 0) {
			ret = step;
			break;
		}
	}
	*rate = PRESIGNED * 1e9 / (double)(sr_now_ns() - begin_ns);
	return ret;
}

static int many_sessions(struct worker *w, uint32_t sessions, uint64_t delay_ns, uint32_t count,
			 double *rate)
{
	uint64_t begin_ns = sr_now_ns();
	int ret = 0;

	for (uint32_t i = 0; i < count && !ret; i++) {
		ret = sign(w, KEY_PRESIGN, sessions, i, delay_ns);
		lap(w, i);
	}
	*rate = count * 1e9 / (double)(sr_now_ns() - begin_ns);
	return ret;
}

/* ---- rows of several ---- */

static void work(struct worker *w)
{
	w->ret = 0;
	lap_start(w);
	w->begin_ns = w->lap_ns;
	for (uint32_t i = 0; i < w->count && !w->ret; i++) {
		w->ret = sign(w, KEY_HEDGED, 1, i, w->delay_ns);
		lap(w, i);
	}
	w->end_ns = sr_now_ns();
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	uint32_t turn = 0;

	(void)sr_bench_pin(w->cpu);
	sr_store32_release(&w->thread_id, (uint32_t)gettid());
	/* Pair with the releases in threads() and tear_down(). */
	while (!sr_load32_acquire(&run.stop)) {
		if (sr_load32_acquire(&run.turn) == turn) {
			(void)usleep(1000); /* the other rows have the machine to themselves */
			continue;
		}
		turn = sr_load32_acquire(&run.turn);
		sr_store32_release(&w->ready, turn);
		while (sr_load32_acquire(&run.go) != turn)
			sr_pause();
		if (w < run.workers + sr_load32_relaxed(&run.wanted))
			work(w);
		sr_store32_release(&w->turn, turn);
	}
	return NULL;
}

static int threads(uint32_t count, uint32_t each, uint64_t delay_ns, double *rate)
{
	uint64_t begin_ns = UINT64_MAX, end_ns = 0;
	int ret = 0;

	for (uint32_t i = 0; i < run.worker_count; i++) {
		run.workers[i].count = each;
		run.workers[i].delay_ns = delay_ns * count;
	}
	sr_store32_relaxed(&run.wanted, count);
	sr_store32_release(&run.turn, run.turn + 1);
	for (uint32_t i = 1; i < run.worker_count; i++)
		/* Pairs with the release in worker_main(). */
		while (sr_load32_acquire(&run.workers[i].ready) != run.turn)
			sr_pause();
	sr_store32_release(&run.go, run.turn);
	work(&run.workers[0]);
	for (uint32_t i = 0; i < count; i++) {
		const struct worker *w = &run.workers[i];

		/* Likewise. */
		while (i && sr_load32_acquire(&w->turn) != run.turn)
			sr_pause();
		ret = w->ret ? w->ret : ret;
		begin_ns = w->begin_ns < begin_ns ? w->begin_ns : begin_ns;
		end_ns = w->end_ns > end_ns ? w->end_ns : end_ns;
	}
	*rate = (double)count * each * 1e9 / (double)(end_ns - begin_ns);
	return ret;
}

static int measure(struct sr_bench *b, uint32_t at)
{
	struct worker *w = &run.workers[0];
	uint64_t delay_ns = (int)at == b->delay_row ? b->delay_ns : 0;
	double rate = 0;
	int64_t made = fill(w); /* not this row's time */
	int ret;

	if (made < 0)
		return (int)made;
	lap_start(w);
	if (at == ROW_APART)
		ret = apart(w, delay_ns, &rate);
	else if (at == ROW_CAPACITY)
		ret = capacity(w, delay_ns, &rate);
	else if (at < ROW_THREADS_1)
		ret = many_sessions(w, row_sessions[at], delay_ns,
				    b->selftest ? SESSIONS_MAX : PRESIGNED, &rate);
	else
		ret = threads(row_threads[at], b->selftest ? HEDGED_TEST : HEDGED, delay_ns, &rate);
	b->rows[at].now = b->rows[at].best = rate;
	for (uint32_t t = 0; t < row_threads[at]; t++)
		for (uint32_t i = 0; i < run.workers[t].lap_count; i++)
			(void)!sr_histogram_add(&run.laps[at], run.workers[t].laps[i]);
	return ret;
}

/* ---- set-up ---- */

static int start_workers(const struct sr_bench *b, struct sr_reason *why)
{
	int ret = sched_setaffinity(0, sizeof b->allowed, &b->allowed) < 0 ? -errno : 0;

	for (int cpu = 0; cpu < CPU_SETSIZE && run.worker_count < WORKERS_MAX; cpu++)
		if (CPU_ISSET((unsigned int)cpu, &b->allowed))
			run.workers[run.worker_count++].cpu = cpu;
	for (uint32_t i = 0; i < run.worker_count && !ret; i++) {
		struct worker *w = &run.workers[i];

		ret = worker_new(w);
		if (!ret && i) {
			ret = -pthread_create(&w->thread, NULL, worker_main, w);
			w->started = !ret;
		}
	}
	return ret ? sr_reason_set(why, ret, "cannot start the signing threads: %s (ulimit -l?)",
				   strerror(-ret)) : 0;
}

/* A round is disturbed by what disturbs any of them. */
static void watch_workers(struct sr_bench *b)
{
	for (uint32_t i = 1; i < run.worker_count; i++) {
		struct worker *w = &run.workers[i];

		/* Pairs with the release in worker_main(). */
		while (!sr_load32_acquire(&w->thread_id))
			(void)usleep(1000);
		sr_bench_watch_cpu(b, w->cpu);
		sr_bench_watch_thread(b, (pid_t)w->thread_id);
	}
}

static int set_up(struct sr_bench *b, struct sr_reason *why)
{
	static const char *const rows[ROWS][2] = {
		{ "apart", "presigned: finish, then refill, measured apart" },
		{ "capacity", "presigned: a core that signs and refills" },
		{ "sessions_1", "presigned, pool full: 1 session" },
		{ "sessions_8", "presigned, pool full: 8 sessions" },
		{ "sessions_64", "presigned, pool full: 64 sessions" },
		{ "threads_1", "hedged: 1 signing thread" },
		{ "threads_2", "hedged: 2 signing threads" },
		{ "threads_4", "hedged: 4 signing threads" },
		{ "threads_8", "hedged: 8 signing threads" },
	};
	int ret = start_workers(b, why);

	if (ret)
		return ret;
	for (uint32_t i = 0; i < ROWS; i++) {
		struct sr_bench_row *row =
			&b->rows[sr_bench_row(b, rows[i][0], rows[i][1], SR_BENCH_PER_S)];

		row->tree = sr_bench_tree(getpid());
		run.per[i] = LAP;
		ret = sr_histogram_new(&run.laps[i], (size_t)b->rounds * SR_BENCH_TRIES *
							     PRESIGNED / LAP * row_threads[i]);
		if (ret)
			return ret;
		if (row_threads[i] > run.worker_count)
			row->missing = "fewer CPUs than threads";
	}
	ret = sr_bench_pin(b->cpus[0]);
	if (!ret)
		watch_workers(b);
	return ret;
}

static void tear_down(struct sr_bench *b)
{
	(void)b;
	sr_store32_release(&run.stop, 1);
	for (uint32_t i = 0; i < run.worker_count; i++) {
		struct worker *w = &run.workers[i];

		if (w->started)
			(void)pthread_join(w->thread, NULL);
		sr_core_delete(w->core);
		sr_keyring_delete(w->keys);
	}
	for (uint32_t i = 0; i < ROWS; i++)
		sr_histogram_delete(&run.laps[i]);
}

static void json_tails(const struct sr_bench *b)
{
	sr_tails_json(b, run.laps, run.per);
}

static int report(const struct sr_bench *b)
{
	const struct sr_bench_row *r = b->rows;
	const struct sr_bench_ratio ratios[] = {
		{ "capacity_over_apart", "capacity of a core over its two parts", &r[ROW_CAPACITY],
		  &r[ROW_APART], 0.95, 0.98, true },
		{ "sessions_8_over_1", "8 sessions over 1", &r[ROW_SESSIONS_8], &r[ROW_SESSIONS_1],
		  0, 0, false },
		{ "sessions_64_over_1", "64 sessions over 1", &r[ROW_SESSIONS_64],
		  &r[ROW_SESSIONS_1], 0, 0, false },
		{ "threads_2_over_1", "2 signing threads over 1", &r[ROW_THREADS_2],
		  &r[ROW_THREADS_1], 0, 0, false },
		{ "threads_4_over_1", "4 signing threads over 1", &r[ROW_THREADS_4],
		  &r[ROW_THREADS_1], 0, 0, false },
		{ "threads_8_over_1", "8 signing threads over 1", &r[ROW_THREADS_8],
		  &r[ROW_THREADS_1], 0, 0, false },
	};

	int code = sr_bench_end(b, ratios, sizeof ratios / sizeof ratios[0]);

	if (!b->json)
		sr_tails_print(b, run.laps, run.per, "time of a signature, means of 8 in a row");
	return code;
}

static struct sr_bench bench = {
	.name = "bench_scale",
	.notice = "the signer as a library, records UNSEALED (neither encrypted nor authenticated)",
	.rounds = 21,
	.set_up = set_up,
	.measure = measure,
	.report = report,
	.json_more = json_tails,
	.tear_down = tear_down,
};

static const struct sr_option options[] = { SR_BENCH_OPTIONS(bench) };

static const struct sr_program program = {
	.name = "bench_scale",
	.purpose = "Signatures a second of a core, of many sessions, of several signing threads.",
	.operands = "",
	.options = options,
	.option_count = sizeof options / sizeof options[0],
};

int main(int argc, char **argv)
{
	return sr_bench_main(&bench, &program, argc, argv);
}
