/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sr_load.h"
#include "sr_verify.h"

#define POLL_MAX 32
#define SERVICE_NS (20u * SR_NS_PER_MS)
#define SERVICE_FAULTS_NS (1u * SR_NS_PER_MS) /* sessions are to be opened again soon */
#define OPEN_NS (60u * SR_NS_PER_S)  /* a busy machine is slow, not broken */
#define STALE_NS (30u * SR_NS_PER_S)
#define LATE_NS (100u * SR_NS_PER_MS) /* in which a completion too many would come */
#define NAP_NS (100u * SR_NS_PER_US)  /* a sleeper gets up so early, and looks */
#define PROOF_EVERY 997u

struct trader {
	const struct sr_load_seat *seat;
	const struct sr_load_plan *plan;
	struct sr_load_tally *tally;
	struct sr_client *client;
	struct sr_load_lane lanes[SR_LOAD_SESSIONS_MAX];
	uint32_t lane_count;
	uint32_t rows_used;
	uint32_t stop_cold;
	bool told;
};

static struct trader me;

static void tell(const char *text)
{
	if (me.told)
		return;
	me.told = true;
	(void)snprintf(me.seat->trader->why, sizeof me.seat->trader->why, "%.199s", text);
	(void)fprintf(stderr, SR_LOAD_PROGRAM ": client %d: %s\n", (int)getpid(), text);
}

static void nap(uint64_t ns)
{
	struct timespec ts = { (time_t)(ns / SR_NS_PER_S), (long)(ns % SR_NS_PER_S) };

	(void)nanosleep(&ts, NULL);
}

/* ---- one order ---- */

static void message_put(unsigned char message[SR_LOAD_MESSAGE_BYTES], uint64_t sender,
			uint64_t number)
{
	memset(message, 0x5a, SR_LOAD_MESSAGE_BYTES);
	sr_put64(message, sender);
	sr_put64(message + 8, number);
}

/* Returns whether it went out. */
static bool lane_send(struct sr_load_lane *lane, struct sr_load_row *row)
{
	const struct sr_load_settings *set = me.seat->set;
	unsigned char message[SR_LOAD_MESSAGE_BYTES];
	uint64_t due_ns = me.plan->start_ns + lane->schedule.due_ns, now_ns;
	struct sr_load_slot *slot = &lane->slots[lane->sent & lane->mask];
	struct sr_request request = { .key = set->key,
				      .type = SR_ECDSA_SHA256,
				      .body_bytes = SR_LOAD_MESSAGE_BYTES,
				      .body = message,
				      .user_data = lane->sent };
	int ret;

	if (set->deadline_us)
		request.deadline_ns = due_ns + set->deadline_us * SR_NS_PER_US;
	message_put(message, lane->sender, lane->sent);
	now_ns = sr_now_ns();
	ret = sr_submit(lane->session, &request);
	if (ret == 0) {
		me.tally->bad_calls += slot->open; /* more in flight than fit */
		*slot = (struct sr_load_slot){ lane->sent++, due_ns, now_ns, true };
		me.tally->due++;
		me.tally->sent++;
		row->sent++;
		sr_buckets_add(&me.tally->send_delay, now_ns > due_ns ? now_ns - due_ns : 0);
		sr_schedule_next(&lane->schedule);
		lane->waits = false;
		return true;
	}
	if (ret == -EAGAIN && !lane->waits) {
		lane->waits = true;
		me.tally->full++;
		row->full++;
	} else if (ret != -EAGAIN && ret != -ENOTCONN && ret != -ESTALE) {
		me.tally->bad_calls++;
		tell(strerror(-ret));
	}
	return false;
}

static void keep_proof(struct sr_load_lane *lane, const struct sr_completion *c)
{
	if (lane->proof_count == SR_LOAD_PROOFS || c->user_data % PROOF_EVERY)
		return;
	lane->proofs[lane->proof_count++] = (struct sr_load_proof){ c->user_data, *c };
}

void sr_load_take(struct sr_load_lane *lane, struct sr_load_tally *tally, struct sr_load_row *row,
		  const struct sr_completion *c, uint64_t now_ns)
{
	struct sr_load_slot *slot = &lane->slots[c->user_data & lane->mask];

	if (c->user_data >= lane->sent || c->status >= SR_LOAD_STATUSES) {
		tally->strays++;
		return;
	}
	if (slot->number != c->user_data || !slot->open) {
		tally->duplicates++;
		return;
	}
	slot->open = false;
	tally->misordered += c->user_data != lane->answered;
	lane->answered++;
	lane->given_up -= lane->given_up != 0;
	tally->by_status[c->status]++;
	sr_buckets_add(&row->latency, now_ns - slot->due_ns);
	sr_buckets_add(&tally->from_submit, now_ns - slot->sent_ns);
	if (c->status == SR_OK) {
		row->ok++;
		tally->in_time += now_ns - slot->due_ns <= lane->target_ns;
		sr_buckets_add(&tally->signed_, now_ns - slot->due_ns);
		keep_proof(lane, c);
	} else if (c->status < SR_EXPIRED) {
		row->rejected++;
	} else {
		row->lost++;
	}
}

static bool lane_poll(struct sr_load_lane *lane, struct sr_load_row *row)
{
	struct sr_completion got[POLL_MAX];
	int n = sr_poll(lane->session, got, POLL_MAX);
	uint64_t now_ns;

	if (n < 0 && n != -ENOTCONN && n != -ESTALE) {
		me.tally->bad_calls++;
		tell(n == -EPROTO ? "the agent broke the region" : strerror(-n));
	}
	if (n <= 0)
		return false;
	now_ns = sr_now_ns();
	for (int i = 0; i < n; i++)
		sr_load_take(lane, me.tally, row, &got[i], now_ns);
	return true;
}

/* ---- a phase ---- */

static struct sr_load_row *row_at(uint64_t now_ns)
{
	uint64_t past_ns = now_ns > me.plan->start_ns ? now_ns - me.plan->start_ns : 0;
	uint64_t at = past_ns / me.plan->interval_ns;

	if (at >= me.plan->rows)
		at = me.plan->rows - 1;
	if (at > me.seat->trader->row)
		sr_store_release(&me.seat->trader->row, at); /* those before it are complete */
	if (at >= me.rows_used)
		me.rows_used = (uint32_t)at + 1;
	return &me.seat->rows[at];
}

static bool lane_has_more(const struct sr_load_lane *lane)
{
	return me.plan->start_ns + lane->schedule.due_ns < me.plan->end_ns;
}

static bool lane_step(struct sr_load_lane *lane, uint64_t now_ns, bool sends,
		      struct sr_load_row *row)
{
	bool moved = lane_poll(lane, row);

	/* At most what fits, so that other sessions get their turn. */
	for (uint64_t i = 0; sends && i <= lane->mask; i++) {
		if (!lane_has_more(lane) || me.plan->start_ns + lane->schedule.due_ns > now_ns ||
		    !lane_send(lane, row))
			break;
		moved = true;
	}
	return moved;
}

/* Nothing was due and nothing came. */
static void idle(uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX;
	bool in_flight = false;

	if (me.seat->spin) {
		sr_pause();
		return;
	}
	for (uint32_t i = 0; i < me.lane_count; i++) {
		uint64_t due_ns = me.plan->start_ns + me.lanes[i].schedule.due_ns;

		in_flight |= me.lanes[i].sent != me.lanes[i].answered;
		if (due_ns < next_ns)
			next_ns = due_ns;
	}
	if (!in_flight && next_ns > now_ns + 2 * NAP_NS && next_ns != UINT64_MAX)
		nap(next_ns < me.plan->end_ns ? next_ns - now_ns - NAP_NS : NAP_NS);
	else
		(void)sched_yield();
}

static void phase_start(bool replaces)
{
	const struct sr_load_seat *seat = me.seat;

	memset(me.tally, 0, sizeof *me.tally);
	memset(seat->rows, 0, me.rows_used * sizeof *seat->rows);
	me.rows_used = 0;
	sr_store_release(&seat->trader->row, 0);
	for (uint32_t i = 0; i < me.lane_count; i++) {
		struct sr_load_lane *lane = &me.lanes[i];

		lane->waits = false;
		sr_schedule_start(&lane->schedule, &me.plan->schedule, seat->share + i,
				  seat->shares);
		/* Nobody else may skip what is due already: who was late owes it. */
		while (replaces && lane_has_more(lane) &&
		       me.plan->start_ns + lane->schedule.due_ns < sr_now_ns())
			sr_schedule_next(&lane->schedule);
	}
}

/* What was sent and not answered: told once, and still in its slot if it comes after all. */
static void lane_give_up(struct sr_load_lane *lane, struct sr_load_tally *tally, uint64_t now_ns)
{
	for (uint64_t n = lane->answered + lane->given_up; n != lane->sent; n++) {
		tally->missing++;
		sr_buckets_add(&tally->owed, now_ns - lane->slots[n & lane->mask].due_ns);
	}
	lane->given_up = lane->sent - lane->answered;
}

/* What could not be sent was due all the same. */
static void phase_give_up(uint64_t now_ns)
{
	for (uint32_t i = 0; i < me.lane_count; i++) {
		struct sr_load_lane *lane = &me.lanes[i];

		for (; lane_has_more(lane); sr_schedule_next(&lane->schedule)) {
			uint64_t due_ns = me.plan->start_ns + lane->schedule.due_ns;

			me.tally->due++;
			me.tally->unsent++;
			sr_buckets_add(&me.tally->owed, now_ns - due_ns);
		}
		lane_give_up(lane, me.tally, now_ns);
	}
}

static void phase_run(uint32_t phase)
{
	uint64_t now_ns = sr_now_ns();
	bool more = true;

	phase_start(me.seat->replaces && phase == me.seat->first_phase);
	while (more && now_ns < me.plan->end_ns + me.plan->drain_ns) {
		struct sr_load_row *row;
		bool moved = false, sends;

		now_ns = sr_now_ns();
		/* Half of the drain is for what could not be sent, half for what was. */
		sends = now_ns < me.plan->end_ns + me.plan->drain_ns / 2;
		row = row_at(now_ns);
		more = false;
		for (uint32_t i = 0; i < me.lane_count; i++) {
			struct sr_load_lane *lane = &me.lanes[i];

			moved |= lane_step(lane, now_ns, sends, row);
			more |= (sends && lane_has_more(lane)) || lane->sent != lane->answered;
		}
		if (!moved)
			idle(now_ns);
	}
	phase_give_up(now_ns);
	sr_store32_release(&me.seat->trader->done, phase);
}

/* ---- the process ---- */

static void *cold(void *arg)
{
	(void)arg;
	(void)setpriority(PRIO_PROCESS, 0, 19);
	/* Pairs with the release in trader_end(). */
	while (!sr_load32_acquire(&me.stop_cold)) {
		(void)sr_service(me.client, NULL);
		nap(me.seat->set->event_count ? SERVICE_FAULTS_NS : SERVICE_NS);
	}
	return NULL;
}

static int trader_open(struct sr_reason *why)
{
	const struct sr_load_settings *set = me.seat->set;
	struct sr_session_options session = { .flags = SR_SESSION_REOPEN };
	struct sr_options opt;
	int ret;

	sr_options_init(&opt);
	opt.socket = me.seat->socket;
	opt.sessions = set->sessions;
	opt.depth = set->depth;
	opt.wait = me.seat->spin ? SR_WAIT_SPIN : SR_WAIT_YIELD;
	opt.timeout_ns = OPEN_NS;
	opt.stale_ns = STALE_NS;
	if (set->unsealed) {
		opt.flags = SR_OPT_UNSEALED;
	} else {
		opt.identity = me.seat->identity;
		opt.trust = me.seat->trust;
	}
	ret = sr_open(&me.client, &opt, why);
	for (uint32_t i = 0; i < set->sessions && ret == 0; i++) {
		struct sr_load_lane *lane = &me.lanes[i];

		lane->mask = set->depth - 1;
		lane->target_ns = set->target_us * SR_NS_PER_US;
		lane->slots = calloc(set->depth, sizeof *lane->slots);
		lane->sender = (uint64_t)(unsigned int)getpid() << 16 | i;
		if (!lane->slots)
			return sr_reason_set(why, -ENOMEM, "out of memory");
		ret = sr_session_open(&lane->session, me.client, &session, why);
		me.lane_count += ret == 0;
	}
	return ret;
}

static void verify(struct sr_load_tally *tally)
{
	unsigned char message[SR_LOAD_MESSAGE_BYTES];
	struct sr_verifier *verifier = NULL;

	if (!me.seat->pubkey || sr_verifier_new(&verifier) < 0)
		return;
	for (uint32_t i = 0; i < me.lane_count; i++)
		for (uint32_t k = 0; k < me.lanes[i].proof_count; k++) {
			const struct sr_load_proof *p = &me.lanes[i].proofs[k];

			message_put(message, me.lanes[i].sender, p->number);
			if (sr_verify_signature(verifier, me.seat->pubkey, SR_ECDSA_SHA256, message,
						sizeof message, p->completion.signature,
						p->completion.recovery_id) < 0)
				tally->bad_signatures++;
			else
				tally->verified++;
		}
	sr_verifier_delete(verifier);
}

/* A completion too many would still come: the tally is cleared for it. */
static void trader_end(pthread_t thread)
{
	uint64_t end_ns = sr_now_ns() + LATE_NS;

	memset(me.tally, 0, sizeof *me.tally);
	while (sr_now_ns() < end_ns) {
		for (uint32_t i = 0; i < me.lane_count; i++)
			(void)lane_poll(&me.lanes[i], me.seat->rows);
		nap(SR_NS_PER_MS);
	}
	sr_store32_release(&me.stop_cold, 1);
	(void)pthread_join(thread, NULL);
	verify(me.tally);
	sr_close(me.client);
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	if (cpu < 0)
		return;
	CPU_SET((unsigned int)cpu, &set);
	(void)sched_setaffinity(0, sizeof set, &set);
}

void sr_load_trade(const struct sr_load_seat *seat)
{
	struct sr_load_shared *shared = seat->shared;
	struct sr_reason why = { 0, "" };
	uint32_t phase = seat->first_phase - 1;
	pthread_t thread;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	me.seat = seat;
	me.plan = &shared->plan;
	me.tally = &seat->trader->tally;
	if (trader_open(&why) < 0 || pthread_create(&thread, NULL, cold, NULL)) {
		tell(why.text[0] ? why.text : "cannot start");
		_exit(1);
	}
	pin(seat->cpu); /* the cold thread runs where there is room */
	sr_store32_release(&seat->trader->ready, 1);
	/* Both pair with the releases in sr_load_run.c. */
	while (!sr_load32_acquire(&shared->stop)) {
		if (sr_load32_acquire(&shared->phase) == phase) {
			nap(SR_NS_PER_MS / 5);
			continue;
		}
		phase_run(++phase);
	}
	trader_end(thread);
	_exit(0);
}
