/* SPDX-License-Identifier: MIT */
#include "sr_exp_run.h"

#define POLL_MAX 64

/* One run, as far as it has come. */
struct run {
	struct sr_exp_engine *engine;
	struct sr_exp_order *orders;
	uint32_t count;
	uint32_t submitted;
	uint32_t popped;
	uint64_t begin;
	double ticks_a_batch; /* 0: no schedule */
	uint32_t batch;
	bool typed;
};

static uint64_t now(const struct run *r)
{
	return sr_counter_now(r->engine->counter);
}

static int submit_one(struct run *r, uint64_t intended)
{
	struct sr_exp_engine *e = r->engine;
	struct sr_exp_order *order = &r->orders[r->submitted];
	struct sr_request request = {
		.key = r->typed ? e->typed_key : e->key,
		.type = r->typed ? e->typed_type : SR_ECDSA_SHA256,
		.body_bytes = r->typed ? e->typed_bytes : SR_EXP_MESSAGE_BYTES,
		.body = r->typed ? e->typed_body : e->message,
		.user_data = r->submitted,
	};
	int ret;

	if (e->call && e->number == e->call_at)
		e->call(e->call_arg);
	sr_put64(e->message, e->number + 1);
	order->submit = now(r);
	order->intended = intended ? intended : order->submit;
	ret = sr_submit(e->session, &request);
	if (ret < 0)
		return ret;
	e->number++;
	r->submitted++;
	return 0;
}

/* When the next batch is due: 0 without a schedule, then it is when nothing is on the way. */
static bool due(const struct run *r, uint64_t *intended)
{
	uint32_t batches = r->submitted / r->batch;

	*intended = 0;
	if (r->submitted == r->count || sr_credits(r->engine->session) < r->batch)
		return false;
	if (r->ticks_a_batch <= 0)
		return r->popped == r->submitted;
	*intended = r->begin + (uint64_t)((double)batches * r->ticks_a_batch);
	return now(r) >= *intended;
}

static int submit_batch(struct run *r, uint64_t intended)
{
	int ret = 0;

	for (uint32_t i = 0; i < r->batch && ret == 0; i++) {
		ret = submit_one(r, intended);
		if (!intended && ret == 0)
			intended = r->orders[r->submitted - 1].submit;
	}
	return ret;
}

static int take(struct run *r, const struct sr_completion *c, uint64_t popped,
		struct sr_reason *why)
{
	if (c->status != SR_OK || c->user_data != r->popped)
		return sr_reason_set(why, -EBADMSG, "order %u was answered %s (policy %u)", r->popped,
				     sr_status_name(c->status), c->policy);
	r->orders[r->popped++].popped = popped;
	r->engine->last = *c;
	return 0;
}

static int poll_some(struct run *r, struct sr_reason *why)
{
	struct sr_completion completions[POLL_MAX];
	uint64_t popped;
	int n, ret = 0;

	if (r->engine->poll_delay_ns) {
		uint64_t end_ns = sr_now_ns() + r->engine->poll_delay_ns;

		while (sr_now_ns() < end_ns)
			sr_pause();
	}
	n = sr_poll(r->engine->session, completions, POLL_MAX);
	if (n == 0)
		return 0;
	popped = now(r);
	if (n < 0)
		return sr_reason_set(why, n, "sr_poll: %s", strerror(-n));
	for (int i = 0; i < n && ret == 0; i++)
		ret = take(r, &completions[i], popped, why);
	return ret;
}

int sr_exp_run(struct sr_exp_engine *engine, struct sr_exp_order *orders, uint32_t count,
	       const struct sr_exp_plan *plan, uint64_t *first, struct sr_reason *why)
{
	struct run r = {
		.engine = engine,
		.orders = orders,
		.count = count,
		.batch = plan->batch,
		.typed = plan->typed,
	};
	uint64_t intended;
	int ret = 0;

	if (plan->rate)
		r.ticks_a_batch =
			(double)engine->ticks_per_s * plan->batch / (double)plan->rate;
	*first = engine->session->first + engine->session->submitted;
	r.begin = now(&r);
	while (r.popped < count && ret == 0) {
		if (due(&r, &intended)) {
			ret = submit_batch(&r, intended);
			if (ret)
				return sr_reason_set(why, ret, "sr_submit: %s", strerror(-ret));
		}
		ret = poll_some(&r, why);
	}
	return ret;
}
