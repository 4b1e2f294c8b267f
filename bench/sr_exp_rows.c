/* SPDX-License-Identifier: MIT */
#include "sr_exp_rows.h"

#include "sr_sample.h"

/* ---- rows ---- */

static int verify_last(struct sr_exp_lab *lab, const struct sr_exp_plan *plan,
		       struct sr_reason *why)
{
	const struct sr_completion *c = &lab->engine.last;

	if (lab->rig.via == SR_EXP_ADDRESS || plan->typed)
		return 0;
	if (sr_verify_signature(lab->verifier, sr_exp_rig_pubkey(), SR_ECDSA_SHA256,
				lab->engine.message, SR_EXP_MESSAGE_BYTES, c->signature,
				c->recovery_id))
		return sr_reason_set(why, -EBADMSG, "a signature of the run is wrong");
	return 0;
}

static int run_segment(struct sr_exp_lab *lab, struct sr_exp_row *row,
		       struct sr_exp_order *orders, uint32_t count, struct sr_reason *why)
{
	static struct sr_exp_order warm[SR_EXP_WARM];
	struct sr_exp_plan flat = { .batch = 1 };
	uint64_t first, begin_ns;
	int ret = sr_exp_run(&lab->engine, warm, SR_EXP_WARM, &flat, &first, why);

	begin_ns = sr_now_ns();
	if (ret == 0)
		ret = sr_exp_run(&lab->engine, orders, count, &row->plan, &first, why);
	row->took_ns += sr_now_ns() - begin_ns;
	if (ret == 0)
		ret = verify_last(lab, &row->plan, why);
	if (ret == 0 && row->plan.traced)
		ret = sr_exp_traces_join(&lab->rig.traces, orders, count, first, why);
	return ret;
}

/* Flat out, from a pool that is refilled as its signer likes: no more than it holds. */
static int as_many_as_pooled(struct sr_exp_lab *lab, const struct sr_exp_plan *plan, uint32_t *count,
			     struct sr_reason *why)
{
	uint32_t whole = plan->batch * 64;
	uint64_t depth;
	int ret;

	if (lab->rig.via != SR_EXP_ADDRESS || plan->rate || *count <= whole)
		return 0;
	ret = sr_exp_rig_await_pool(&depth, *count + SR_EXP_WARM, why);
	if (ret == 0 && depth < *count + SR_EXP_WARM) {
		*count = depth > SR_EXP_WARM ? (uint32_t)depth - SR_EXP_WARM : 0;
		*count = *count < whole ? whole : *count - *count % whole;
	}
	return ret;
}

static int run_segments(struct sr_exp_lab *lab, struct sr_exp_row *row, struct sr_reason *why)
{
	uint64_t done = 0;
	int ret = 0;

	while (done < row->plan.count && ret == 0) {
		uint64_t left = row->plan.count - done;
		uint32_t count = left < lab->segment ? (uint32_t)left : lab->segment;
		uint64_t seconds = row->plan.rate ? count / row->plan.rate : 0;
		struct sr_bench_watch before, after;

		ret = as_many_as_pooled(lab, &row->plan, &count, why);
		before = sr_bench_look(lab->bench);
		(void)alarm((unsigned int)(SR_BENCH_HANG_S + 2 * seconds));
		if (ret == 0)
			ret = run_segment(lab, row, row->orders + done, count, why);
		after = sr_bench_look(lab->bench);
		row->steal_ns += after.steal_ns - before.steal_ns;
		row->involuntary += after.involuntary - before.involuntary;
		done += count;
	}
	return ret;
}

static int run_row(struct sr_exp_lab *lab, const struct sr_exp_plan *plan, struct sr_reason *why)
{
	struct sr_exp_row *row = &lab->rows[lab->row_count];
	uint64_t before = lab->dry;
	int ret = sr_exp_row_new(row, plan);

	if (ret)
		return sr_reason_set(why, ret, "no memory for %llu orders",
				     (unsigned long long)plan->count);
	lab->row_count++;
	row->watched = lab->rig.signer > 0;
	if (plan->traced)
		row->clocks = lab->rig.traces.clocks;
	else
		sr_counter_describe(&row->clocks.host);
	ret = run_segments(lab, row, why);
	if (ret == 0)
		ret = sr_exp_rig_dry(&lab->dry, why);
	if (ret)
		return ret;
	row->pool_dry = lab->dry - before;
	ret = sr_exp_row_sum(row);
	return ret ? sr_reason_set(why, ret, "no memory for the figures") : 0;
}

/* A share of the run's samples, in whole batches. */
static uint64_t part(const struct sr_exp_lab *lab, uint32_t millionths, uint32_t batch)
{
	uint64_t count = (uint64_t)lab->samples * millionths / SR_EXP_SCALE;

	count -= count % (batch * 64);
	return count ? count : batch * 64;
}

int sr_exp_run_flat(struct sr_exp_lab *lab, const char *key, uint32_t batch, uint32_t millionths,
		    bool traced, bool refilled, struct sr_reason *why)
{
	struct sr_exp_plan plan = {
		.key = key,
		.batch = batch,
		.count = part(lab, millionths, batch),
		.traced = traced,
		.refilled = refilled,
	};

	(void)snprintf(plan.text, sizeof plan.text, "flat out, %u at once%s", batch,
		       traced ? "" : ", without a trace");
	return run_row(lab, &plan, why);
}

int sr_exp_run_paced(struct sr_exp_lab *lab, const char *key, uint32_t batch, uint32_t rate,
		     uint64_t count, struct sr_reason *why)
{
	struct sr_exp_plan plan = {
		.key = key,
		.batch = batch,
		.rate = rate,
		.count = count,
		.traced = true,
		.refilled = true,
	};

	(void)snprintf(plan.text, sizeof plan.text, "%u a second, %u at once", rate, batch);
	return run_row(lab, &plan, why);
}

static const uint32_t batches[] = { 1, 4, 16, 64 };
static const char *const flat_keys[] = { "burst", "flat_4", "flat_16", "flat_64" };
static const char *const slow_keys[] = { "slow_1", "slow_4", "slow_16", "slow_64" };
static const char *const rate_keys[] = { "paced", "rate_4", "rate_16", "rate_64" };
#define BATCHES (sizeof batches / sizeof batches[0])

static int flat_rows(struct sr_exp_lab *lab, bool refilled, struct sr_reason *why)
{
	int ret = 0;

	for (uint32_t i = 0; i < BATCHES && ret == 0; i++)
		ret = sr_exp_run_flat(lab, flat_keys[i], batches[i], i ? 16384 : 131072, true,
				      refilled, why);
	return ret;
}

/* Below a thousand a second: the signer gives a typed order its nonce, which is a millisecond. */
static uint32_t sparse_rate(const struct sr_exp_lab *lab)
{
	return lab->rate < 500 ? lab->rate : 500;
}

int sr_exp_run_typed(struct sr_exp_lab *lab, struct sr_reason *why)
{
	static unsigned char body[SAMPLE_BODY_BYTES];
	struct sr_exp_plan plan = {
		.key = "typed",
		.batch = 1,
		.rate = sparse_rate(lab),
		.count = part(lab, 5000, 1),
		.typed = true,
		.traced = true,
		.refilled = true,
	};
	int bytes = sample_hyperliquid(body, sizeof body, 1, 0);

	if (bytes < 0)
		return sr_reason_set(why, bytes, "cannot build a typed order");
	lab->engine.typed_key = 2;
	lab->engine.typed_type = SR_TYPE_HYPERLIQUID;
	lab->engine.typed_bytes = (uint16_t)bytes;
	lab->engine.typed_body = body;
	(void)snprintf(plan.text, sizeof plan.text, "typed orders, %llu a second",
		       (unsigned long long)plan.rate);
	return run_row(lab, &plan, why);
}

/* The row of a million comes last: it is the one that must not fail for another. */
static int paced_rows(struct sr_exp_lab *lab, struct sr_reason *why)
{
	uint32_t slow = lab->rate / 5 ? lab->rate / 5 : 1;
	int ret = 0;

	for (uint32_t i = 0; i < BATCHES && ret == 0; i++)
		ret = sr_exp_run_paced(lab, slow_keys[i], batches[i], slow,
				       part(lab, 10000, batches[i]), why);
	for (uint32_t i = 1; i < BATCHES && ret == 0; i++)
		ret = sr_exp_run_paced(lab, rate_keys[i], batches[i], lab->rate,
				       part(lab, 50000, batches[i]), why);
	if (ret == 0) /* what typed orders stand beside */
		ret = sr_exp_run_paced(lab, "sparse", 1, sparse_rate(lab), part(lab, 5000, 1), why);
	if (ret == 0 && lab->rig.via != SR_EXP_ADDRESS)
		ret = sr_exp_run_typed(lab, why);
	return ret ? ret : sr_exp_run_paced(lab, rate_keys[0], 1, lab->rate, lab->samples, why);
}

/* ---- the run ---- */

int sr_exp_begin(struct sr_exp_lab *lab, const struct sr_exp_pool *pool, bool traced,
		 struct sr_reason *why)
{
	int ret;

	(void)alarm(2 * SR_BENCH_HANG_S); /* what does not get ready has a better reason */
	ret = sr_exp_rig_begin(&lab->rig, pool, traced, why);
	lab->engine.session = lab->rig.session;
	lab->bench->more_thread_count = 0; /* those of the phase before are gone */
	lab->bench->peer = lab->rig.agent;
	if (lab->rig.cpus[2] >= 0)
		sr_bench_watch_cpu(lab->bench, lab->rig.cpus[2]);
	if (lab->rig.signer > 0 && lab->rig.signer != lab->rig.agent)
		sr_bench_watch_thread(lab->bench, lab->rig.signer);
	return ret ? ret : sr_exp_rig_dry(&lab->dry, why);
}

/* Filled before, and enough for all rows that take from it: nothing is made meanwhile. */
static struct sr_exp_pool full_pool(const struct sr_exp_lab *lab)
{
	struct sr_exp_pool pool = { .slots = 1024, .low_percent = 1, .batch = 16 };
	uint64_t orders = (uint64_t)lab->samples * 220000 / SR_EXP_SCALE + 4096;

	while (pool.slots < orders && pool.slots < 262144)
		pool.slots *= 2;
	return pool;
}

const struct sr_exp_pool sr_exp_steady_pool = { .slots = 8192, .low_percent = 90, .batch = 64 };

int sr_exp_run_own(struct sr_exp_lab *lab, struct sr_reason *why)
{
	struct sr_exp_pool full = full_pool(lab);
	int ret = sr_exp_begin(lab, &full, false, why);

	if (ret == 0)
		ret = sr_exp_run_flat(lab, "untraced", 1, 32768, false, false, why);
	sr_exp_rig_end(&lab->rig);
	if (ret == 0)
		ret = sr_exp_begin(lab, &full, true, why);
	if (ret == 0)
		ret = flat_rows(lab, false, why);
	sr_exp_rig_end(&lab->rig);
	if (ret == 0)
		ret = sr_exp_begin(lab, &sr_exp_steady_pool, true, why);
	if (ret == 0)
		ret = paced_rows(lab, why);
	return ret;
}

/* Its pool is as its operator made it: a row that ran it dry says so. */
int sr_exp_run_theirs(struct sr_exp_lab *lab, struct sr_reason *why)
{
	int ret = sr_exp_begin(lab, NULL, true, why);

	if (ret == 0)
		ret = paced_rows(lab, why);
	return ret ? ret : flat_rows(lab, true, why);
}
