/* SPDX-License-Identifier: MIT */
#include "sr_replay.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <jansson.h>

static int collect(struct sr_replay *rp)
{
	if (sr_histogram_new(&rp->submit, rp->set.count) ||
	    sr_histogram_new(&rp->intended, rp->set.count))
		return -ENOMEM;
	for (uint64_t i = 0; i < rp->submitted; i++) {
		const struct sr_replay_result *r = &rp->results[i];

		if (r->completions != 1 || r->status != SR_OK)
			continue;
		rp->signed_ok++;
		if (sr_histogram_add(&rp->submit, r->latency_ns) ||
		    sr_histogram_add(&rp->intended, r->intended_ns))
			return -ENOSPC;
	}
	return 0;
}

static const struct {
	const char *name;
	uint32_t share;
} percentiles[] = {
	{ "p50", 50000 }, { "p90", 90000 }, { "p99", 99000 }, { "p99.9", 99900 }, { "max", 100000 }
};

#define PERCENTILES (sizeof percentiles / sizeof percentiles[0])

static double percentile_us(struct sr_histogram *h, uint32_t share)
{
	return (double)sr_histogram_percentile(h, share) / 1e3;
}

static double seconds(const struct sr_replay *rp)
{
	return (double)(rp->end_ns - rp->start_ns) / 1e9;
}

static uint64_t broken_promises(const struct sr_replay *rp)
{
	return rp->strays + rp->duplicates + rp->misordered + rp->missing;
}

/* Whatever went wrong, on stderr, in every mode. */
static void print_trouble(const struct sr_replay *rp)
{
	if (broken_promises(rp))
		fprintf(stderr,
			"%s: BROKEN: each submit must have exactly one completion, in order: "
			"%" PRIu64 " missing, %" PRIu64 " twice, %" PRIu64 " out of order, %" PRIu64
			" never submitted\n",
			SR_REPLAY_PROGRAM, rp->missing, rp->duplicates, rp->misordered, rp->strays);
	if (rp->gave_up)
		fprintf(stderr,
			"%s: nothing moved for %" PRIu64 " s: gave the session up "
			"(--patience-s)\n",
			SR_REPLAY_PROGRAM, rp->set.patience_s);
	else if (rp->session_error == ESTALE)
		fprintf(stderr,
			"%s: the session was lost: the signer or the agent's link to it "
			"started anew\n",
			SR_REPLAY_PROGRAM);
	else if (rp->session_error == EPROTO)
		fprintf(stderr, "%s: the agent broke the shared region: the session is over\n",
			SR_REPLAY_PROGRAM);
	else if (rp->session_error)
		fprintf(stderr, "%s: the session ended: %s\n", SR_REPLAY_PROGRAM,
			strerror(rp->session_error));
	if (sr_replay_interrupted)
		fprintf(stderr, "%s: sr_replay_interrupted\n", SR_REPLAY_PROGRAM);
	if (rp->submitted < rp->set.count)
		fprintf(stderr, "%s: %" PRIu64 " of %" PRIu64 " orders were not submitted\n",
			SR_REPLAY_PROGRAM, rp->set.count - rp->submitted, rp->set.count);
}

/* Counts by status, and by policy code under DENIED. */
static json_t *statuses(const struct sr_replay *rp, bool policies)
{
	json_t *counts = json_object();

	for (uint64_t i = 0; counts && i < rp->submitted; i++) {
		const struct sr_replay_result *r = &rp->results[i];
		const char *name = policies ? sr_policy_name(r->policy) : sr_status_name(r->status);
		json_t *count;

		if (r->completions != 1 || (policies && r->status != SR_DENIED))
			continue;
		count = json_object_get(counts, name);
		if (count)
			(void)json_integer_set(count, json_integer_value(count) + 1);
		else
			(void)json_object_set_new(counts, name, json_integer(1));
	}
	return counts;
}

static void print_counts(const char *title, json_t *counts)
{
	const char *name;
	json_t *count;

	if (json_object_size(counts)) {
		printf("%s:", title);
		json_object_foreach(counts, name, count)
			printf(" %s %" JSON_INTEGER_FORMAT, name, json_integer_value(count));
		putchar('\n');
	}
	json_decref(counts);
}

static void print_percentiles(const char *title, struct sr_histogram *h)
{
	printf("%-28s", title);
	for (size_t i = 0; i < PERCENTILES; i++)
		printf(" %9.1f", percentile_us(h, percentiles[i].share));
	putchar('\n');
}

static void print_text(struct sr_replay *rp)
{
	printf("%" PRIu64 " of %" PRIu64 " orders answered in %.3f s: %.0f a second\n",
	       rp->completed, rp->set.count, seconds(rp), (double)rp->completed / seconds(rp));
	print_counts("statuses", statuses(rp, false));
	print_counts("denied for", statuses(rp, true));
	printf("%" PRIu64 " signatures verified by OpenSSL on %u threads in %.1f s\n\n",
	       rp->verified, rp->threads, (double)rp->verify_ns / 1e9);
	if (rp->set.offline) { /* there is no way to the signer that took a time */
		printf("signed %" PRIu64 ", verified %" PRIu64 ", failed %" PRIu64 "\n",
		       rp->signed_ok, rp->verified, rp->set.count - rp->verified);
		return;
	}
	printf("%-28s", "latency of the signed, us");
	for (size_t i = 0; i < PERCENTILES; i++)
		printf(" %9s", percentiles[i].name);
	putchar('\n');
	print_percentiles("from submit (main figure)", &rp->submit);
	if (rp->set.rate)
		print_percentiles("from the intended send time", &rp->intended);
	printf("\nfrom submit:\n");
	sr_histogram_print(&rp->submit, stdout);
	printf("signed %" PRIu64 ", verified %" PRIu64 ", failed %" PRIu64
	       ", p50 %.1f us, p99 %.1f us, p99.9 %.1f us\n",
	       rp->signed_ok, rp->verified, rp->set.count - rp->verified,
	       percentile_us(&rp->submit, 50000), percentile_us(&rp->submit, 99000),
	       percentile_us(&rp->submit, 99900));
}

static json_t *percentiles_json(struct sr_histogram *h)
{
	json_t *object = json_object();

	for (size_t i = 0; object && i < PERCENTILES; i++)
		(void)json_object_set_new(object, percentiles[i].name,
					  json_real(percentile_us(h, percentiles[i].share)));
	return object;
}

static void put(json_t *object, const char *name, uint64_t number)
{
	(void)json_object_set_new(object, name, json_integer((json_int_t)number));
}

static int print_json(struct sr_replay *rp)
{
	json_t *root = json_object(), *broken = json_object();
	int err;

	put(broken, "missing", rp->missing);
	put(broken, "twice", rp->duplicates);
	put(broken, "out_of_order", rp->misordered);
	put(broken, "never_submitted", rp->strays);
	(void)json_object_set_new(root, "version", json_string(SR_VERSION));
	(void)json_object_set_new(root, "offline", json_boolean(rp->set.offline));
	(void)json_object_set_new(root, "sealed",
				  json_boolean(!rp->set.unsealed && !rp->set.offline));
	(void)json_object_set_new(root, "orders", json_string(rp->set.orders));
	put(root, "orders_in_file", rp->orders.count);
	put(root, "wrong_lines", rp->orders.bad);
	put(root, "count", rp->set.count);
	put(root, "rate", rp->set.rate);
	put(root, "in_flight", rp->set.in_flight);
	put(root, "signed", rp->signed_ok);
	put(root, "verified", rp->verified);
	put(root, "failed", rp->set.count - rp->verified);
	(void)json_object_set_new(root, "seconds", json_real(seconds(rp)));
	if (!rp->set.offline)
		(void)json_object_set_new(root, "latency_from_submit_us",
					  percentiles_json(&rp->submit));
	if (rp->set.rate)
		(void)json_object_set_new(root, "latency_from_intended_us",
					  percentiles_json(&rp->intended));
	(void)json_object_set_new(root, "statuses", statuses(rp, false));
	(void)json_object_set_new(root, "denied_for", statuses(rp, true));
	(void)json_object_set_new(root, "broken", broken);
	err = json_dumpf(root, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
	putchar('\n');
	json_decref(root);
	return err ? -EIO : 0;
}

int sr_replay_report(struct sr_replay *rp)
{
	int err = collect(rp);

	if (err) {
		fprintf(stderr, "%s: %s\n", SR_REPLAY_PROGRAM, strerror(-err));
		return SR_EXIT_NOT_ALL_GOOD;
	}
	print_trouble(rp);
	if (rp->set.out)
		err = sr_replay_results_write(rp);
	if (!rp->set.json)
		print_text(rp);
	else if (print_json(rp))
		err = -EIO;
	if (fflush(stdout))
		err = -EIO;
	if (err || broken_promises(rp) || rp->verified != rp->set.count)
		return SR_EXIT_NOT_ALL_GOOD;
	return rp->orders.bad ? SR_EXIT_BAD_INPUT : SR_EXIT_ALL_GOOD;
}
