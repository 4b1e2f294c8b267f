/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "sr_clock.h"
#include "sr_tune_c2c.h"
#include "sr_tune_pin.h"

struct SR_ALIGNED(SR_LINE_BYTES) line {
	uint64_t word;
	unsigned char rest[SR_LINE_BYTES - sizeof(uint64_t)];
};

struct match {
	struct line there; /* written by the caller of the trips */
	struct line back;  /* written by the echo */
	uint64_t trips;    /* of all rounds; the last one ends the echo */
	uint32_t rounds;
	uint64_t round_ps[SR_TUNE_C2C_ROUNDS_MAX];
};

static void *echo(void *arg)
{
	struct match *m = arg;

	for (uint64_t n = 1; n <= m->trips; n++) {
		/* Pairs with the release store in serve(). */
		while (sr_load_acquire(&m->there.word) != n)
			;
		sr_store_release(&m->back.word, n);
	}
	return NULL;
}

static void *serve(void *arg)
{
	struct match *m = arg;
	uint64_t n = 0;

	for (uint32_t round = 0; round < m->rounds; round++) {
		uint64_t begin_ns = sr_now_ns();

		for (uint32_t trip = 0; trip < SR_TUNE_C2C_TRIPS; trip++) {
			sr_store_release(&m->there.word, ++n);
			/* Pairs with the release store in echo(). */
			while (sr_load_acquire(&m->back.word) != n)
				;
		}
		m->round_ps[round] = (sr_now_ns() - begin_ns) * 1000 / (2 * SR_TUNE_C2C_TRIPS);
	}
	return NULL;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int sr_tune_c2c_pair(unsigned int a, unsigned int b, uint32_t rounds, struct sr_tune_c2c *out)
{
	struct match *m;
	pthread_t other;
	pthread_t self;
	int ret;

	if (a == b || rounds == 0 || rounds > SR_TUNE_C2C_ROUNDS_MAX)
		return -EINVAL;
	m = aligned_alloc(SR_LINE_BYTES, sr_align_up(sizeof *m, SR_LINE_BYTES));
	if (!m)
		return -ENOMEM;
	memset(m, 0, sizeof *m);
	m->rounds = rounds;
	m->trips = (uint64_t)rounds * SR_TUNE_C2C_TRIPS;
	ret = sr_tune_pin_start(&other, b, echo, m);
	if (ret < 0)
		goto out;
	ret = sr_tune_pin_start(&self, a, serve, m);
	if (ret < 0)
		(void)serve(m); /* unpinned and for nothing, but it lets the echo end */
	else
		(void)pthread_join(self, NULL);
	(void)pthread_join(other, NULL);
	if (ret < 0)
		goto out;
	qsort(m->round_ps, rounds, sizeof m->round_ps[0], by_size);
	out->median_ps = m->round_ps[rounds / 2];
	out->min_ps = m->round_ps[0];
out:
	free(m);
	return ret;
}

/* The results lie in a triangle: of CPU i of the set with CPU k before it. */
static struct sr_tune_c2c *cell(struct sr_tune_c2c *cells, size_t i, size_t k)
{
	return i > k ? &cells[i * (i - 1) / 2 + k] : &cells[k * (k - 1) / 2 + i];
}

static void print_table(const unsigned int *cpus, size_t count, struct sr_tune_c2c *cells,
			bool least, FILE *out)
{
	(void)fprintf(out, "%s, ns one way\n%6s",
		      least ? "least of the rounds" : "median of rounds", "CPU");
	for (size_t k = 0; k < count; k++)
		(void)fprintf(out, " %6u", cpus[k]);
	(void)fputc('\n', out);
	for (size_t i = 0; i < count; i++) {
		(void)fprintf(out, "%6u", cpus[i]);
		for (size_t k = 0; k < count; k++) {
			const struct sr_tune_c2c *c = i == k ? NULL : cell(cells, i, k);

			if (c)
				(void)fprintf(out, " %6.1f",
					      (double)(least ? c->min_ps : c->median_ps) / 1000.0);
			else
				(void)fprintf(out, " %6s", "-");
		}
		(void)fputc('\n', out);
	}
}

static void print_json(const unsigned int *cpus, size_t count, struct sr_tune_c2c *cells,
		       uint32_t rounds, FILE *out)
{
	(void)fprintf(out, "{\"unit\":\"ns one way\",\"rounds\":%u,\"trips\":%u,\"pairs\":[",
		      rounds, SR_TUNE_C2C_TRIPS);
	for (size_t i = 1; i < count; i++)
		for (size_t k = 0; k < i; k++)
			(void)fprintf(out, "%s{\"a\":%u,\"b\":%u,\"median\":%.1f,\"min\":%.1f}",
				      i > 1 || k ? "," : "", cpus[k], cpus[i],
				      (double)cell(cells, i, k)->median_ps / 1000.0,
				      (double)cell(cells, i, k)->min_ps / 1000.0);
	(void)fputs("]}\n", out);
}

static int measure(const unsigned int *cpus, size_t count, struct sr_tune_c2c *cells,
		   uint32_t rounds)
{
	for (size_t i = 1; i < count; i++)
		for (size_t k = 0; k < i; k++) {
			int ret = sr_tune_c2c_pair(cpus[k], cpus[i], rounds, cell(cells, i, k));

			if (ret < 0)
				return ret;
		}
	return 0;
}

int sr_tune_c2c_print(const struct sr_cpus *set, uint32_t rounds, bool json, FILE *out,
		      struct sr_reason *why)
{
	unsigned int cpus[SR_CPUS_MAX];
	struct sr_tune_c2c *cells;
	size_t count = 0;
	int ret = sr_tune_pin_all(set, why);

	if (ret < 0)
		return ret;
	for (unsigned int cpu = sr_cpus_next(set, 0); cpu < SR_CPUS_MAX;
	     cpu = sr_cpus_next(set, cpu + 1))
		cpus[count++] = cpu;
	if (count < 2)
		return sr_reason_set(why, -EINVAL, "a matrix takes two CPUs or more");
	cells = calloc(count * (count - 1) / 2, sizeof *cells);
	if (!cells)
		return sr_reason_set(why, -ENOMEM, "out of memory");
	ret = measure(cpus, count, cells, rounds);
	if (ret < 0) {
		(void)sr_reason_set(why, ret, "cannot measure: %s", strerror(-ret));
	} else if (json) {
		print_json(cpus, count, cells, rounds, out);
	} else {
		print_table(cpus, count, cells, false, out);
		print_table(cpus, count, cells, true, out);
		(void)fprintf(
			out, "%u rounds of %u round trips a pair; each word on a line of its own\n",
			rounds, SR_TUNE_C2C_TRIPS);
	}
	free(cells);
	return ret;
}
