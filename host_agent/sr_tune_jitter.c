/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <sys/resource.h>

#include "sr_clock.h"
#include "sr_tune_jitter.h"
#include "sr_tune_pin.h"

struct SR_ALIGNED(SR_LINE_BYTES) sampler {
	pthread_t thread;
	unsigned int cpu;
	uint64_t duration_ns;
	struct sr_tune_gaps gaps;
};

static unsigned int bin_of(uint64_t gap_ns)
{
	unsigned int bin = gap_ns ? 63u - (unsigned int)__builtin_clzll(gap_ns) : 0;

	return bin < SR_TUNE_GAP_BINS ? bin : SR_TUNE_GAP_BINS - 1;
}

void sr_tune_gaps_take(struct sr_tune_gaps *gaps, uint64_t (*now_ns)(void), uint64_t duration_ns)
{
	struct sr_tune_gaps g = { .least_ns = UINT64_MAX };
	uint64_t begin_ns = now_ns();
	uint64_t last_ns = begin_ns;

	while (last_ns - begin_ns < duration_ns) {
		uint64_t at_ns = now_ns();
		uint64_t gap_ns = at_ns - last_ns;

		last_ns = at_ns;
		g.bins[bin_of(gap_ns)]++;
		g.samples++;
		if (gap_ns < g.least_ns)
			g.least_ns = gap_ns;
		if (gap_ns > g.worst_ns)
			g.worst_ns = gap_ns;
		if (SR_LIKELY(gap_ns <= SR_NS_PER_US))
			continue;
		g.above_1us++;
		g.above_10us += gap_ns > 10 * SR_NS_PER_US;
		g.above_100us += gap_ns > 100 * SR_NS_PER_US;
		g.lost_ns += gap_ns;
	}
	if (!g.samples)
		g.least_ns = 0;
	g.duration_ns = last_ns - begin_ns;
	*gaps = g;
}

static uint64_t clock_ns(void)
{
	return sr_now_ns();
}

static void *sample(void *arg)
{
	struct sampler *s = arg;
	struct rusage before = { .ru_nivcsw = 0 };
	struct rusage after = { .ru_nivcsw = 0 };

	(void)getrusage(RUSAGE_THREAD, &before);
	sr_tune_gaps_take(&s->gaps, clock_ns, s->duration_ns);
	(void)getrusage(RUSAGE_THREAD, &after);
	s->gaps.switches = (uint64_t)(after.ru_nivcsw - before.ru_nivcsw);
	return NULL;
}

/* Starts at @from and joins what was started; all of them, or one. */
static int run(struct sampler *samplers, size_t count)
{
	size_t started = 0;
	int ret = 0;

	while (started < count && ret == 0) {
		struct sampler *s = &samplers[started];

		ret = sr_tune_pin_start(&s->thread, s->cpu, sample, s);
		started += ret == 0;
	}
	for (size_t i = 0; i < started; i++)
		(void)pthread_join(samplers[i].thread, NULL);
	return ret;
}

static void print_text(const struct sampler *s, FILE *out)
{
	const struct sr_tune_gaps *g = &s->gaps;

	(void)fprintf(out,
		      "CPU %u: %llu readings, the shortest gap %llu ns, the worst %llu ns\n"
		      "  gaps above 1 us: %llu, 10 us: %llu, 100 us: %llu; %.4f %% of the time in "
		      "them; switched out %llu times\n",
		      s->cpu, (unsigned long long)g->samples, (unsigned long long)g->least_ns,
		      (unsigned long long)g->worst_ns, (unsigned long long)g->above_1us,
		      (unsigned long long)g->above_10us, (unsigned long long)g->above_100us,
		      g->duration_ns ? 100.0 * (double)g->lost_ns / (double)g->duration_ns : 0.0,
		      (unsigned long long)g->switches);
	for (unsigned int b = 0; b < SR_TUNE_GAP_BINS; b++)
		if (g->bins[b])
			(void)fprintf(out, "  %12llu ns and more %14llu\n", b ? 1ull << b : 0,
				      (unsigned long long)g->bins[b]);
}

static void print_json(const struct sampler *s, const char *comma, FILE *out)
{
	const struct sr_tune_gaps *g = &s->gaps;
	const char *between = "";

	(void)fprintf(
		out,
		"%s{\"cpu\":%u,\"readings\":%llu,\"least_ns\":%llu,\"worst_ns\":%llu,"
		"\"above_1us\":%llu,\"above_10us\":%llu,\"above_100us\":%llu,\"lost_ns\":%llu,"
		"\"switches\":%llu,\"duration_ns\":%llu,\"bins\":[",
		comma, s->cpu, (unsigned long long)g->samples, (unsigned long long)g->least_ns,
		(unsigned long long)g->worst_ns, (unsigned long long)g->above_1us,
		(unsigned long long)g->above_10us, (unsigned long long)g->above_100us,
		(unsigned long long)g->lost_ns, (unsigned long long)g->switches,
		(unsigned long long)g->duration_ns);
	for (unsigned int b = 0; b < SR_TUNE_GAP_BINS; b++)
		if (g->bins[b]) {
			(void)fprintf(out, "%s{\"from_ns\":%llu,\"count\":%llu}", between,
				      b ? 1ull << b : 0, (unsigned long long)g->bins[b]);
			between = ",";
		}
	(void)fputs("]}", out);
}

static void print_all(const struct sampler *samplers, size_t count, bool serial, bool json,
		      FILE *out)
{
	if (json)
		(void)fprintf(out, "{\"serial\":%s,\"cpus\":[", serial ? "true" : "false");
	for (size_t i = 0; i < count; i++)
		if (json)
			print_json(&samplers[i], i ? "," : "", out);
		else
			print_text(&samplers[i], out);
	if (json)
		(void)fputs("]}\n", out);
}

int sr_tune_jitter(const struct sr_cpus *set, uint32_t seconds, bool serial, bool json, FILE *out,
		   struct sr_reason *why)
{
	struct sampler *samplers;
	size_t count = sr_cpus_count(set);
	unsigned int cpu = 0;
	int ret = sr_tune_pin_all(set, why);

	if (ret < 0)
		return ret;
	if (!count)
		return sr_reason_set(why, -EINVAL, "no CPU is named");
	samplers = aligned_alloc(SR_LINE_BYTES, count * sizeof *samplers);
	if (!samplers)
		return sr_reason_set(why, -ENOMEM, "out of memory");
	memset(samplers, 0, count * sizeof *samplers);
	for (size_t i = 0; i < count; i++, cpu++) {
		cpu = sr_cpus_next(set, cpu);
		samplers[i].cpu = cpu;
		samplers[i].duration_ns = (uint64_t)seconds * SR_NS_PER_S;
	}
	for (size_t i = 0; serial && i < count && ret == 0; i++)
		ret = run(&samplers[i], 1);
	if (!serial)
		ret = run(samplers, count);
	if (ret < 0)
		(void)sr_reason_set(why, ret, "cannot start a thread: %s", strerror(-ret));
	else
		print_all(samplers, count, serial, json, out);
	free(samplers);
	return ret;
}
