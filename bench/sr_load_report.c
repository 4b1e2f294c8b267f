/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "sr_load.h"
#include "sr_version.h"

typedef unsigned long long ull;

static double us(uint64_t ns)
{
	return (double)ns / 1e3;
}

const char *sr_load_at_us(char text[SR_RANK_TEXT], const struct sr_buckets *b, uint32_t share)
{
	return sr_rank_text(text, b->samples, share, us(sr_buckets_rank(b, share)), 1, "-");
}

void sr_load_print_way(const struct sr_load_settings *set)
{
	(void)printf("%s %s: %s, %u process%s with %u session%s each, depth %u, records %s, %s; "
		     "%s\n",
		     SR_LOAD_PROGRAM, SR_VERSION,
		     set->socket ? set->socket : set->split ? "sigring-agent and sigring-signer" :
							      "sigring-local",
		     set->processes, set->processes == 1 ? "" : "es", set->sessions,
		     set->sessions == 1 ? "" : "s", set->depth,
		     set->unsealed ? "UNSEALED (neither encrypted nor authenticated)" : "sealed",
		     set->socket ? "a key of its" : set->hedged ? "hedged" : "presigned",
		     sr_load_rig_cpu(set, 0) >= 0 ? "a CPU for each loop" :
						    "loops share CPUs: they yield");
	sr_load_rig_machine(false);
	(void)printf("latencies in microseconds, from the time when an order was due; `-`: fewer than "
		     "%u samples beyond\n", SR_RANK_BEYOND);
	(void)fflush(stdout);
}

void sr_load_print_row_head(void)
{
	(void)printf("%8s %10s %10s %8s %8s %8s %10s %10s %10s %10s\n", "second", "sent/s", "OK/s",
		     "rejected", "lost", "full", "p50", "p99", "p99.9", "max");
}

void sr_load_print_row(const struct sr_load_row *sum, uint64_t at_s, uint64_t interval_s)
{
	char text[3][SR_RANK_TEXT];

	if (at_s == 0)
		sr_load_print_row_head();
	(void)printf("%8llu %10llu %10llu %8llu %8llu %8llu %10s %10s %10s %10.1f\n",
		     (ull)at_s, (ull)(sum->sent / interval_s), (ull)(sum->ok / interval_s),
		     (ull)sum->rejected, (ull)sum->lost, (ull)sum->full,
		     sr_load_at_us(text[0], &sum->latency, 50000),
		     sr_load_at_us(text[1], &sum->latency, 99000),
		     sr_load_at_us(text[2], &sum->latency, 99900), us(sum->latency.max_ns));
	(void)fflush(stdout);
}

static void print_statuses(const struct sr_load_result *r)
{
	for (uint32_t i = 0; i < SR_LOAD_STATUSES; i++)
		if (i != SR_OK && r->sum.by_status[i])
			(void)printf("  %s %llu", sr_status_name(i), (ull)r->sum.by_status[i]);
	if (r->rejected || r->lost)
		(void)printf("\n");
}

static const struct {
	const char *name;
	uint32_t share;
} percentiles[] = { { "p50", 50000 },   { "p90", 90000 },    { "p99", 99000 },
		    { "p99.9", 99900 }, { "p99.99", 99990 } };

#define PERCENTILES (sizeof percentiles / sizeof percentiles[0])

static void print_latency(const char *what, const struct sr_buckets *b)
{
	char text[SR_RANK_TEXT];

	(void)printf("  %-22s ", what);
	for (size_t i = 0; i < PERCENTILES; i++)
		(void)printf("%s %s, ", percentiles[i].name,
			     sr_load_at_us(text, b, percentiles[i].share));
	(void)printf("max %.1f us\n", us(b->max_ns));
}

static void print_disturbance(const struct sr_load_result *r)
{
	(void)printf("steal %.0f ms; ", us(r->steal_ns) / 1e3);
	if (r->loops)
		(void)printf("%llu involuntary switches of the %u loops that have a CPU of their "
			     "own%s\n", (ull)r->involuntary, r->loops,
			     r->disturbed ? ": DISTURBED" : "");
	else
		(void)printf("no loop has a CPU of its own%s\n", r->disturbed ? ": DISTURBED" : "");
}

void sr_load_print_result(const struct sr_load_settings *set, const struct sr_load_result *r)
{
	const struct sr_load_tally *t = &r->sum;

	(void)printf("due %llu in %.0f s, sent %llu, unsent %llu; answered %llu: OK %llu, "
		     "rejected %llu, lost %llu\n",
		     (ull)t->due, r->seconds, (ull)t->sent, (ull)t->unsent, (ull)r->answered,
		     (ull)r->ok, (ull)r->rejected, (ull)r->lost);
	print_statuses(r);
	if (r->killed)
		(void)printf("  clients killed: %u, with %llu of their %llu orders answered\n",
			     r->killed, (ull)r->killed_answered, (ull)r->killed_sent);
	print_latency("every order, from due", &r->latency);
	print_latency("signed ones, from due", &t->signed_);
	print_latency("from submit", &t->from_submit);
	print_latency("due until sent", &t->send_delay);
	(void)printf("  signed within %u us    %llu, %.3f %% of those that were due\n",
		     set->target_us, (ull)t->in_time,
		     t->due ? 100 * (double)t->in_time / (double)t->due : 0.0);
	(void)printf("errors: unanswered %llu, answered twice %llu, of nothing %llu, out of order "
		     "%llu, bad signatures %llu, bad calls %llu, left out %llu\n",
		     (ull)t->missing, (ull)t->duplicates, (ull)t->strays, (ull)t->misordered,
		     (ull)t->bad_signatures, (ull)t->bad_calls, (ull)t->omitted);
	print_disturbance(r);
}

static void json_latency(const char *key, const struct sr_buckets *b, const char *end)
{
	char text[SR_RANK_TEXT];

	(void)printf("\"%s\":{\"count\":%llu,", key, (ull)b->samples);
	for (size_t i = 0; i < PERCENTILES; i++)
		(void)printf("\"%s_ns\":%s,", percentiles[i].name,
			     sr_rank_text(text, b->samples, percentiles[i].share,
					  (double)sr_buckets_rank(b, percentiles[i].share), 0,
					  "null"));
	(void)printf("\"max_ns\":%llu}%s", (ull)b->max_ns, end);
}

static void json_timeline(uint32_t interval_s)
{
	static struct sr_load_row sum;

	(void)printf("\"timeline\":[");
	for (uint32_t i = 0; i < sr_load_rows(); i++) {
		sr_load_row_sum(&sum, i);
		(void)printf("%s{\"second\":%u,\"sent\":%llu,\"ok\":%llu,\"rejected\":%llu,"
			     "\"lost\":%llu,\"full\":%llu,", i ? "," : "", i * interval_s,
			     (ull)sum.sent, (ull)sum.ok, (ull)sum.rejected, (ull)sum.lost,
			     (ull)sum.full);
		json_latency("latency", &sum.latency, "}");
	}
	(void)printf("],");
}

void sr_load_print_json(const struct sr_load_settings *set, const struct sr_load_result *r,
			const struct sr_load_ramp *ramp)
{
	const struct sr_load_tally *t = &r->sum;

	(void)printf("{\"program\":\"%s\",", SR_LOAD_PROGRAM);
	sr_load_rig_machine(true);
	(void)printf("\"mode\":\"%s\",\"sealed\":%s,"
		     "\"split\":%s,\"cpu_each\":%s,\"processes\":%u,\"sessions\":%u,\"depth\":%u,"
		     "\"rate\":%llu,\"seconds\":%.0f,\"due\":%llu,\"sent\":%llu,\"unsent\":%llu,"
		     "\"answered\":%llu,\"ok\":%llu,\"rejected\":%llu,\"lost\":%llu,\"full\":%llu,"
		     "\"presigned\":%llu,\"fallbacks\":%llu,\"pool_dry\":%llu,",
		     set->mode, set->unsealed ? "false" : "true",
		     set->split ? "true" : "false",
		     sr_load_rig_cpu(set, 0) >= 0 ? "true" : "false", set->processes,
		     set->sessions, set->depth, (ull)r->rate, r->seconds, (ull)t->due,
		     (ull)t->sent, (ull)t->unsent, (ull)r->answered, (ull)r->ok, (ull)r->rejected,
		     (ull)r->lost, (ull)t->full, (ull)r->presigned, (ull)r->fallbacks,
		     (ull)r->pool_dry);
	(void)printf("\"target_us\":%u,\"in_time\":%llu,", set->target_us, (ull)t->in_time);
	(void)printf("\"steal_ns\":%llu,\"involuntary\":%llu,\"loops\":%u,\"disturbed\":%s,",
		     (ull)r->steal_ns, (ull)r->involuntary, r->loops,
		     r->disturbed ? "true" : "false");
	if (ramp)
		(void)printf("\"capacity\":%u,\"beyond\":%u,\"samples\":%u,"
			     "\"disturbed_samples\":%u,\"disturbed_used\":%s,", ramp->capacity,
			     ramp->beyond, ramp->samples, ramp->disturbed,
			     set->keep_disturbed ? "true" : "false");
	json_latency("latency", &r->latency, ",");
	json_latency("signed_latency", &t->signed_, ",");
	json_latency("from_submit", &t->from_submit, ",");
	json_latency("send_delay", &t->send_delay, ",");
	if (strcmp(set->mode, "ramp")) /* whose rows are those of its last step */
		json_timeline(set->interval_s);
	(void)printf("\"errors\":{\"unanswered\":%llu,\"twice\":%llu,\"strays\":%llu,"
		     "\"misordered\":%llu,\"bad_signatures\":%llu,\"bad_calls\":%llu,"
		     "\"omitted\":%llu}}\n",
		     (ull)t->missing, (ull)t->duplicates, (ull)t->strays, (ull)t->misordered,
		     (ull)t->bad_signatures, (ull)t->bad_calls, (ull)t->omitted);
}
