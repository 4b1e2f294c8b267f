/* SPDX-License-Identifier: MIT */
/*
 * sr_replay.h - what the files of sigring-replay share: its settings, what it was
 * given, and a place for each result.
 *
 * The files: sr_replay_options.c reads the command line, sr_replay_input.c orders and
 * keys, sr_replay_run.c is the timed run, sr_replay_offline.c what
 * stands in for it without a ring, sr_replay_verify.c checks signatures, and
 * sr_replay_report.c and sr_replay_result.c say what came out. Each failure was told on stderr when a
 * function returns one.
 */
#ifndef SR_REPLAY_H
#define SR_REPLAY_H

#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "sigring.h"
#include "sr_histogram.h"
#include "sr_orders.h"

#define SR_REPLAY_PROGRAM "sigring-replay"
#define SR_REPLAY_NS_PER_S 1000000000u
#define SR_REPLAY_KEYS_MAX 1024u

#define SR_EXIT_ALL_GOOD 0
#define SR_EXIT_NOT_ALL_GOOD 1
#define SR_EXIT_BAD_INPUT 2
#define SR_EXIT_NO_AGENT 3

struct sr_replay_settings {
	const char *orders;
	const char *socket;
	const char *public_keys;
	const char *private_keys; /* offline */
	const char *identity;
	const char *trust;
	const char *out;
	const char *wait;
	uint64_t count;
	uint64_t rate; /* orders a second; 0 = as fast as they are answered */
	uint64_t in_flight;
	uint64_t deadline_us;
	uint64_t patience_s;
	uint64_t slot_bytes;
	uint64_t cpu;
	bool priority;
	bool unsealed;
	bool offline;
	bool keep_going;
	bool json;
	bool help;
	bool version;
};

#define SR_REPLAY_CPU_ANY UINT64_MAX

struct sr_replay_key {
	uint32_t id;
	unsigned char bytes[33];
};

enum sr_replay_verdict { SR_NOT_CHECKED = 0, SR_GOOD, SR_BAD };

/* One for each order sent; the order is that of the file, repeated. */
struct sr_replay_result {
	unsigned char signature[SR_SIG_BYTES];
	unsigned char digest[SR_ORDERS_DIGEST_BYTES]; /* of a typed order, with that nonce */
	uint64_t latency_ns;  /* from submit; holds the time of submit until then */
	uint64_t intended_ns; /* latency from the moment that the rate had in mind */
	uint64_t venue_nonce; /* that the signature is for; 0 = none */
	uint16_t status;
	uint16_t policy;
	uint8_t recovery_id;
	uint8_t sigkind;
	uint8_t completions; /* must end up as 1 */
	uint8_t verdict;
};

/* A line of the orders that was skipped. */
struct sr_replay_refused {
	uint32_t line;
	char why[SR_ORDERS_WHY_BYTES];
};

struct sr_offline;

struct sr_replay {
	struct sr_replay_settings set;
	struct sr_orders orders;
	struct sr_replay_key *keys;
	uint32_t key_count;
	struct sr_replay_refused *refused;
	uint32_t refused_count;
	struct sr_offline *offline; /* NULL: through the ring */
	uint32_t *key_of; /* index into keys, for each order of the file */
	struct sr_replay_result *results;
	struct sr_client *client;
	struct sr_session *session;
	enum sr_wait_policy wait;
	bool no_more;      /* nothing can be submitted any more */
	int session_error; /* errno that ended the session; 0 = none */

	/* The timed run. */
	uint64_t start_ns, end_ns;
	uint64_t submitted, completed;
	uint64_t moved_ns; /* when something was submitted or completed last */
	bool trouble;      /* no agent at the moment */
	bool gave_up;

	/* What must stay 0: each submit has one completion, in order. */
	uint64_t strays, duplicates, misordered, missing;

	uint64_t signed_ok, verified;
	uint64_t verify_ns;
	unsigned int threads;
	struct sr_histogram submit, intended;
};

/* Set by SIGINT and SIGTERM: nothing more is submitted. */
extern volatile sig_atomic_t sr_replay_interrupted;

SR_BEGIN_DECLS

/* sr_replay_options_read - into @set. Returns 0, or -EINVAL. */
SR_WARN_UNUSED int sr_replay_options_read(struct sr_replay_settings *set, int argc, char **argv);
void sr_replay_help_print(FILE *out);

/* sr_replay_orders_load, sr_replay_keys_load - the two files; sr_replay_keys_match -
 * which key is which order's. Return 0; -EINVAL; -ENOMEM; what reading gave. */
SR_WARN_UNUSED int sr_replay_orders_load(struct sr_replay *rp);
SR_WARN_UNUSED int sr_replay_keys_load(struct sr_replay *rp);
SR_WARN_UNUSED int sr_replay_keys_match(struct sr_replay *rp);

/*
 * sr_replay_run - open a session, send the orders, take what comes, close.
 *
 * Returns 0, whatever came; -ENOTCONN (no session); -EINVAL; another -errno.
 */
SR_WARN_UNUSED int sr_replay_run(struct sr_replay *rp);

/*
 * sr_replay_offline_load - keys of files instead of public ones and a signer;
 * sr_replay_offline_run - sign with them; sr_replay_offline_end - wipe them.
 *
 * Return 0 or -errno.
 */
SR_WARN_UNUSED int sr_replay_offline_load(struct sr_replay *rp);
SR_WARN_UNUSED int sr_replay_offline_run(struct sr_replay *rp);
void sr_replay_offline_end(struct sr_replay *rp);

/* sr_replay_verify - check each signature that came, on every CPU that we may use. */
void sr_replay_verify(struct sr_replay *rp);

/* sr_replay_results_write - a JSON line each into the file of --out. Returns 0 or -EIO. */
SR_WARN_UNUSED int sr_replay_results_write(const struct sr_replay *rp);

/* sr_replay_report - print and write what came out. Returns the exit status. */
SR_WARN_UNUSED int sr_replay_report(struct sr_replay *rp);

SR_END_DECLS

/* CLOCK_MONOTONIC. */
static inline uint64_t sr_replay_now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * SR_REPLAY_NS_PER_S + (uint64_t)ts.tv_nsec;
}

#endif /* SR_REPLAY_H */
