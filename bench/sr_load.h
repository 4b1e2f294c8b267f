/* SPDX-License-Identifier: MIT */
/*
 * sr_load.h - what the files of bench_load share.
 *
 * The referee (bench_load.c, sr_load_run.c and sr_load_ramp.c) starts agent and signer (sr_load_rig.c)
 * and trading processes (sr_load_trader.c), says what the load is, breaks what he is
 * told to break, and adds up. Traders and referee share one anonymous mapping: what a
 * trader writes there is his alone, and read when a word that he stores with release
 * says that it is complete, or when he has ended.
 *
 * A phase is one load of one rate. Orders are due by sr_schedule.h, and every latency
 * runs from the moment that an order was due. Of the orders that were due:
 *
 *	sent      sr_submit() took it; it is owed exactly one completion
 *	unsent    it could not be sent before the phase gave up
 *
 * and of those that were sent: OK; rejected, which is the signer's word (DENIED,
 * BAD_REQUEST, VOID); or lost, which is the agent's or the library's (EXPIRED, NOT_SENT,
 * UNKNOWN, SESSION_LOST, LATE). Neither is an error. Errors are a second completion, one
 * of nothing, one out of order, none at all, a signature that does not verify, or an
 * order of the schedule that the generator left out.
 *
 * Every order that was due has one latency: until its answer, whatever that said, or
 * until the phase gave up. Nothing that becomes of an order takes it out of the
 * percentiles, so none of it can make them look better.
 */
#ifndef SR_LOAD_H
#define SR_LOAD_H

#include <sys/types.h>

#include "sigring.h"
#include "sr_buckets.h"
#include "sr_clock.h"
#include "sr_rank.h"
#include "sr_reason.h"
#include "sr_schedule.h"

#define SR_LOAD_PROGRAM "bench_load"
#define SR_LOAD_TRADERS_MAX 64u /* those that took a killed one's place included */
#define SR_LOAD_SESSIONS_MAX 64u
#define SR_LOAD_EVENTS_MAX 16u
#define SR_LOAD_ROWS_MAX 4000u
#define SR_LOAD_MESSAGE_BYTES 256u
#define SR_LOAD_STATUSES (SR_LATE + 1u)

enum sr_load_what { SR_LOAD_AGENT, SR_LOAD_SIGNER, SR_LOAD_CLIENT };

/* A fault, so long after the start of the phase. */
struct sr_load_event {
	enum sr_load_what what;
	uint64_t at_ns;
	uint64_t stop_ns; /* 0: killed and started again; else stopped so long */
};

struct sr_load_settings {
	uint32_t processes;
	uint32_t sessions; /* of each process */
	uint32_t depth;
	uint32_t rate;
	uint32_t seconds;
	uint32_t burst;
	uint32_t interval_s; /* of a row of the timeline */
	uint32_t drain_ms;   /* for what is still to be sent or answered at the end */
	uint32_t restart_ms;
	uint32_t late_ms; /* self-test: who trades begins so long after the first is due */
	uint32_t target_us; /* in which 99 % of all due orders have to be signed */
	uint32_t deadline_us;
	uint32_t seed;
	uint32_t key;
	uint32_t pool_slots;
	int cpu; /* with socket: where the one process spins; -1: it yields */
	bool split;
	bool hedged;
	bool unsealed;
	bool json;
	bool selftest;
	bool quiet; /* no timeline */
	bool keep_disturbed;
	const char *mode;
	const char *socket;    /* an agent that runs already */
	struct sr_load_event events[SR_LOAD_EVENTS_MAX];
	uint32_t event_count;
};

/* One load; written by the referee before he raises `phase`. */
struct sr_load_plan {
	struct sr_schedule_config schedule;
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	uint64_t end_ns;
	uint64_t drain_ns;
	uint64_t interval_ns;
	uint32_t rows;
};

/* A row of the timeline: what was sent, answered and found full in that interval. */
struct sr_load_row {
	uint64_t sent, ok, rejected, lost, full;
	struct sr_buckets latency; /* of every answer: from when its order was due */
};

struct sr_load_tally {
	uint64_t due, sent, unsent, full;
	uint64_t by_status[SR_LOAD_STATUSES];
	uint64_t in_time; /* signed within the target */
	uint64_t omitted; /* of the schedule, but not due here: the generator's own fault */
	uint64_t duplicates, strays, misordered, missing, bad_signatures, bad_calls;
	uint64_t verified;
	struct sr_buckets owed;        /* unsent or unanswered: until the phase gave up */
	struct sr_buckets signed_;     /* of OK alone, from when it was due */
	struct sr_buckets from_submit; /* of every answer: what a closed loop would have told */
	struct sr_buckets send_delay;  /* from when it was due until it was sent */
};

/* One process; @done is the last phase that it is through with. */
struct sr_load_trader {
	SR_ALIGNED(128) uint32_t ready;
	uint32_t done;
	uint64_t row; /* rows before this one are complete */
	char why[200]; /* that it ended by itself */
	struct sr_load_tally tally;
};

struct sr_load_shared {
	uint32_t phase; /* 0: none yet */
	uint32_t stop;
	struct sr_load_plan plan;
	struct sr_load_trader traders[SR_LOAD_TRADERS_MAX];
};

/* What a trading process is started with. */
struct sr_load_seat {
	const struct sr_load_settings *set;
	struct sr_load_shared *shared;
	struct sr_load_trader *trader;
	struct sr_load_row *rows; /* SR_LOAD_ROWS_MAX, its own */
	uint32_t share;           /* of its first session */
	uint32_t shares;
	uint32_t first_phase; /* that it takes part in */
	bool replaces;        /* a killed one, in the middle of that phase */
	int cpu;              /* -1: any */
	bool spin;
	const unsigned char *pubkey; /* NULL: signatures are not verified */
	const char *socket;
	const char *identity;
	const char *trust;
};

/* ---- sr_load_trader.c ---- */

/* An order in flight. */
struct sr_load_slot {
	uint64_t number;
	uint64_t due_ns, sent_ns;
	bool open;
};

#define SR_LOAD_PROOFS 16u

struct sr_load_proof {
	uint64_t number;
	struct sr_completion completion;
};

/* One session of a process. */
struct sr_load_lane {
	struct sr_session *session;
	struct sr_schedule schedule;
	uint64_t sender; /* makes its messages its own */
	uint64_t target_ns;
	uint64_t sent, answered;
	uint64_t given_up; /* the oldest of what is not answered, of phases that are over */
	uint64_t mask;
	struct sr_load_slot *slots; /* depth of them: so many can be in flight */
	bool waits;                 /* the next order has met a full ring */
	struct sr_load_proof proofs[SR_LOAD_PROOFS];
	uint32_t proof_count;
};

/* sr_load_take - enter a completion: its status and latency, or what is wrong with it. */
void sr_load_take(struct sr_load_lane *lane, struct sr_load_tally *tally, struct sr_load_row *row,
		  const struct sr_completion *c, uint64_t now_ns);

/* sr_load_trade - a trading process: phases until it is told to stop. Does not return. */
void sr_load_trade(const struct sr_load_seat *seat) __attribute__((noreturn));

/* ---- sr_load_rig.c ---- */

/* sr_load_rig_start - keys, a manifest, an identity, and the programs. 0 or -errno. */
int sr_load_rig_start(const struct sr_load_settings *set, struct sr_reason *why);
void sr_load_rig_stop(void);
void sr_load_rig_log(void); /* what the programs have said, to stderr */

/* sr_load_rig_seat - where a client connects, as whom. */
void sr_load_rig_seat(struct sr_load_seat *seat);

/* sr_load_rig_kill, _restart, _signal - of the agent or the signer. 0 or -errno. */
int sr_load_rig_signal(enum sr_load_what what, int number);
int sr_load_rig_restart(enum sr_load_what what);

struct sr_load_counters {
	bool known;
	uint64_t signed_, denied, presigned, fallbacks, pool_dry, repeats, times_up, credit_stalls;
	uint64_t agent_kib, signer_kib; /* resident */
};

/* sr_load_rig_ask - what agent and signer count. @settle: wait until it is of now. */
void sr_load_rig_ask(struct sr_load_counters *c, bool settle);

/* What has come between the loops so far. */
struct sr_load_watch {
	uint64_t at_ns;
	uint64_t steal_ns; /* of the CPUs that loops are pinned to, or of all where none is */
	uint64_t involuntary; /* switches of loops that have a CPU of their own */
	uint32_t loops;
	uint32_t cpus;
};

/* sr_load_rig_watch - of our agent and signer and of @clients. */
void sr_load_rig_watch(struct sr_load_watch *w, const pid_t *clients, uint32_t count);

/* sr_load_rig_machine - what this runs on: two lines of text, or members of a JSON object. */
void sr_load_rig_machine(bool json);

/* sr_load_rig_cpu - where loader @at of the run may spin; -1: CPUs are shared. */
int sr_load_rig_cpu(const struct sr_load_settings *set, uint32_t at);

/* ---- sr_load_run.c ---- */

/* What came out of a phase. */
struct sr_load_result {
	uint64_t rate;
	double seconds;
	struct sr_load_tally sum;
	struct sr_buckets latency; /* of every order that was due, from then on */
	uint64_t ok, rejected, lost, answered;
	uint32_t killed;                 /* clients, and what they took along */
	uint64_t killed_sent, killed_answered;
	uint64_t presigned, fallbacks, pool_dry; /* of the signer that was there at the end */
	uint64_t steal_ns, involuntary;
	uint32_t loops; /* that were watched: those with a CPU of their own */
	bool disturbed; /* more of either than a figure bears */
};

int sr_load_begin(const struct sr_load_settings *set, struct sr_reason *why);

/* sr_load_phase - run one load. 0, or -errno with a reason when it came to nothing. */
int sr_load_phase(struct sr_load_result *r, const struct sr_load_settings *set,
		  const struct sr_schedule_config *schedule, struct sr_reason *why);

/* sr_load_end - have the traders look for completions too many, and verify. */
int sr_load_end(struct sr_load_tally *late, struct sr_reason *why);
void sr_load_abort(void);

/* Rows of the last phase's timeline, and what all traders have in one of them. */
uint32_t sr_load_rows(void);
void sr_load_row_sum(struct sr_load_row *sum, uint32_t at);

/* sr_load_faults - how many submits were not answered exactly once, or badly. */
uint64_t sr_load_faults(const struct sr_load_tally *t);

/* ---- sr_load_ramp.c ---- */

#define SR_LOAD_NEAR 1.05       /* the knee is found when it is known this well */
#define SR_LOAD_SAMPLES 2u      /* of three that agree decide of a rate */
#define SR_LOAD_TRIES 12u       /* disturbed ones in a row that end a ramp */
#define SR_LOAD_ORDERS_MIN 1000u /* of a sample: 99 % is not the luck of a few */

/*
 * Where the knee is. From a first rate half as fast again until it does not hold, or a third
 * slower until it does; then between the two.
 */
struct sr_load_search {
	uint32_t rate;  /* to be tried next */
	uint32_t floor; /* the slowest that is tried */
	uint32_t good, bad; /* the best that holds, the least that does not; 0: none yet */
	uint32_t held, missed; /* samples of this rate */
};

void sr_load_search_start(struct sr_load_search *s, uint32_t first, uint32_t floor);

/* sr_load_search_enter - a sample of s->rate. Returns whether there is nothing left to try. */
bool sr_load_search_enter(struct sr_load_search *s, bool holds);

struct sr_load_ramp {
	uint32_t capacity; /* orders a second; 0: less than @beyond */
	uint32_t beyond;
	uint32_t samples, disturbed, again; /* taken again: of the disturbed ones */
	uint64_t faults;
	struct sr_load_result last; /* at the capacity, or the last of all where there is none */
};

/*
 * sr_load_ramp - faster and faster, to the knee; prints each sample.
 *
 * Returns 0; -EBUSY when it was disturbed again and again; what sr_load_phase() does.
 */
int sr_load_ramp(struct sr_load_ramp *ramp, const struct sr_load_settings *set,
		 const struct sr_schedule_config *schedule, struct sr_reason *why);

/* ---- sr_load_report.c ---- */

/* sr_load_at_us - a percentile in microseconds, or `-`. Returns @text. */
const char *sr_load_at_us(char text[SR_RANK_TEXT], const struct sr_buckets *b, uint32_t share);

void sr_load_print_way(const struct sr_load_settings *set);
void sr_load_print_row_head(void);
void sr_load_print_row(const struct sr_load_row *sum, uint64_t at_s, uint64_t interval_s);
void sr_load_print_result(const struct sr_load_settings *set, const struct sr_load_result *r);
/* @ramp: NULL where there was none. */
void sr_load_print_json(const struct sr_load_settings *set, const struct sr_load_result *r,
			const struct sr_load_ramp *ramp);

/* ---- sr_load_test.c ---- */

int sr_load_selftest(struct sr_load_settings *set);

#endif /* SR_LOAD_H */
