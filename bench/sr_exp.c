/* SPDX-License-Identifier: MIT */
#include "sr_exp.h"

#include <stdlib.h>

static const struct {
	const char *key;
	const char *text;
} names[SR_EXP_STAGES] = {
	[SR_EXP_SUBMIT] = { "submit", "client seals, ring, agent picks up" },
	[SR_EXP_AGENT] = { "agent", "agent frames and batches" },
	[SR_EXP_OUT] = { "out", "stream to the signer" },
	[SR_EXP_QUEUE] = { "queue", "signer's queue" },
	[SR_EXP_OPEN] = { "open", "signer opens" },
	[SR_EXP_POLICY] = { "policy", "check, permission, policy" },
	[SR_EXP_DIGEST] = { "digest", "digest" },
	[SR_EXP_SIGN] = { "sign", "signature, checked" },
	[SR_EXP_SEAL] = { "seal", "signer seals, keeps, wipes" },
	[SR_EXP_BACK] = { "back", "stream to the agent" },
	[SR_EXP_RETURN] = { "return", "agent publishes, ring, client opens" },
	[SR_EXP_STREAM] = { "stream", "stream, both ways" },
};

const char *sr_exp_stage_key(enum sr_exp_stage stage)
{
	return names[stage].key;
}

const char *sr_exp_stage_text(enum sr_exp_stage stage)
{
	return names[stage].text;
}

bool sr_exp_stage_used(const struct sr_exp_clocks *clocks, enum sr_exp_stage stage)
{
	if (stage == SR_EXP_OUT || stage == SR_EXP_BACK)
		return clocks->one;
	return stage != SR_EXP_STREAM || !clocks->one;
}

static int64_t passed(const struct sr_counter *counter, uint64_t from, uint64_t to)
{
	double ticks = to >= from ? (double)(to - from) : -(double)(from - to);
	double ns = ticks * 1e9 / (double)counter->ticks_per_s;

	return (int64_t)(ns < 0 ? ns - 0.5 : ns + 0.5);
}

static bool whole(const struct sr_exp_order *o)
{
	bool all = o->submit && o->picked && o->written && o->received && o->popped;

	for (uint32_t m = 0; m < SR_TRACE_MOMENTS; m++)
		all = all && o->at[m];
	return all;
}

void sr_exp_stay_outside(struct sr_exp_stay *stay, const struct sr_exp_order *o,
			 const struct sr_exp_clocks *clocks)
{
	memset(stay, 0, sizeof *stay);
	stay->late = passed(&clocks->host, o->intended, o->submit);
	stay->round_trip = passed(&clocks->host, o->submit, o->popped);
}

int sr_exp_stay(struct sr_exp_stay *stay, const struct sr_exp_order *o,
		const struct sr_exp_clocks *clocks)
{
	const struct sr_counter *host = &clocks->host, *signer = &clocks->signer;
	int64_t *stage = stay->stage;

	if (!whole(o))
		return -ENODATA;
	sr_exp_stay_outside(stay, o, clocks);
	stage[SR_EXP_SUBMIT] = passed(host, o->submit, o->picked);
	stage[SR_EXP_AGENT] = passed(host, o->picked, o->written);
	for (uint32_t m = SR_TRACE_BEGUN; m < SR_TRACE_MOMENTS; m++)
		stage[SR_EXP_QUEUE + m - SR_TRACE_BEGUN] = passed(signer, o->at[m - 1], o->at[m]);
	stage[SR_EXP_RETURN] = passed(host, o->received, o->popped);
	if (clocks->one) {
		stage[SR_EXP_OUT] = passed(host, o->written, o->at[SR_TRACE_RECEIVED]);
		stage[SR_EXP_BACK] = passed(host, o->at[SR_TRACE_SEALED], o->received);
	} else {
		stage[SR_EXP_STREAM] = passed(host, o->written, o->received) -
				       passed(signer, o->at[SR_TRACE_RECEIVED],
					      o->at[SR_TRACE_SEALED]);
	}
	return 0;
}

int sr_exp_row_new(struct sr_exp_row *row, const struct sr_exp_plan *plan)
{
	size_t bytes = plan->count * sizeof *row->orders;

	memset(row, 0, sizeof *row);
	row->plan = *plan;
	row->orders = malloc(bytes);
	if (!row->orders)
		return -ENOMEM;
	memset(row->orders, 0, bytes);
	return 0;
}

void sr_exp_row_delete(struct sr_exp_row *row)
{
	free(row->orders);
	sr_histogram_delete(&row->round_trip);
	sr_histogram_delete(&row->scheduled);
	for (uint32_t i = 0; i < SR_EXP_STAGES; i++)
		sr_histogram_delete(&row->stages[i]);
	memset(row, 0, sizeof *row);
}

/* A stage of one clock that is below 0 is a stamp that was overtaken by the next: some
 * nanoseconds, counted and shown as 0. */
static void add(struct sr_exp_row *row, struct sr_histogram *h, int64_t ns)
{
	if (ns < 0)
		row->negative++;
	(void)!sr_histogram_add(h, ns < 0 ? 0 : (uint64_t)ns);
}

static void add_stages(struct sr_exp_row *row, const struct sr_exp_stay *stay)
{
	for (uint32_t i = 0; i < SR_EXP_STAGES; i++)
		if (row->plan.traced && sr_exp_stage_used(&row->clocks, (enum sr_exp_stage)i))
			add(row, &row->stages[i], stay->stage[i]);
}

static int make_room(struct sr_exp_row *row)
{
	int ret = sr_histogram_new(&row->round_trip, row->plan.count);

	if (ret == 0)
		ret = sr_histogram_new(&row->scheduled, row->plan.count);
	for (uint32_t i = 0; i < SR_EXP_STAGES && ret == 0; i++)
		ret = sr_histogram_new(&row->stages[i], row->plan.count);
	return ret;
}

int sr_exp_row_sum(struct sr_exp_row *row)
{
	struct sr_exp_stay stay;
	int ret = make_room(row);

	for (uint64_t i = 0; i < row->plan.count && ret == 0; i++) {
		struct sr_exp_order order = row->orders[i];

		sr_exp_stay_outside(&stay, &order, &row->clocks);
		add(row, &row->round_trip, stay.round_trip);
		add(row, &row->scheduled, stay.late + stay.round_trip);
		if (row->plan.traced && sr_exp_stay(&stay, &order, &row->clocks)) {
			row->unjoined++;
			continue;
		}
		add_stages(row, &stay);
		row->orders[i] = row->orders[row->joined];
		row->orders[row->joined++] = order;
	}
	return ret;
}
