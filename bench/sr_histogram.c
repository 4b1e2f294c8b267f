/* SPDX-License-Identifier: MIT */
#include "sr_histogram.h"

#include <stdlib.h>

#define SHARE_ALL 100000u
#define BAR_COLUMNS 50u

int sr_histogram_new(struct sr_histogram *h, size_t room)
{
	uint64_t *samples_ns;

	if (!room)
		return -EINVAL;
	if (room > SIZE_MAX / sizeof *samples_ns)
		return -ENOMEM;
	samples_ns = malloc(room * sizeof *samples_ns);
	if (!samples_ns)
		return -ENOMEM;
	memset(samples_ns, 0xff, room * sizeof *samples_ns);
	*h = (struct sr_histogram){ .samples_ns = samples_ns, .room = room };
	return 0;
}

void sr_histogram_delete(struct sr_histogram *h)
{
	free(h->samples_ns);
	memset(h, 0, sizeof *h);
}

int sr_histogram_add(struct sr_histogram *h, uint64_t sample_ns)
{
	if (h->count == h->room)
		return -ENOSPC;
	h->samples_ns[h->count++] = sample_ns;
	h->sorted = false;
	return 0;
}

static int ascending(const void *a, const void *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof x);
	memcpy(&y, b, sizeof y);
	return (x > y) - (x < y);
}

static void sort(struct sr_histogram *h)
{
	if (!h->sorted)
		qsort(h->samples_ns, h->count, sizeof *h->samples_ns, ascending);
	h->sorted = true;
}

uint64_t sr_histogram_percentile(struct sr_histogram *h, uint32_t share)
{
	size_t rank;

	if (!h->count)
		return 0;
	if (share > SHARE_ALL)
		share = SHARE_ALL;
	sort(h);
	rank = (h->count * share + SHARE_ALL - 1) / SHARE_ALL;
	return h->samples_ns[rank ? rank - 1 : 0];
}

/* Lower bound of a row: octaves from 2^k ns, four rows each. */
static uint64_t row_start_ns(unsigned int row)
{
	return (4 + (uint64_t)row % 4) << (row / 4);
}

static unsigned int row_of(uint64_t ns)
{
	unsigned int row = 0;

	while (row < 4 * 60 && row_start_ns(row + 1) <= ns)
		row++;
	return row;
}

static void print_row(FILE *out, unsigned int row, size_t count, size_t total, size_t largest)
{
	size_t columns = (count * BAR_COLUMNS + largest - 1) / largest;

	fprintf(out, "%11.1f us %9zu %6.2f%% ", (double)row_start_ns(row) / 1e3, count,
		100.0 * (double)count / (double)total);
	while (columns--)
		putc('#', out);
	putc('\n', out);
}

void sr_histogram_print(struct sr_histogram *h, FILE *out)
{
	size_t counts[4 * 60 + 2] = { 0 }, largest = 0;
	unsigned int first, last;
	bool gap = false;

	if (!h->count)
		return;
	sort(h);
	first = row_of(h->samples_ns[0]);
	last = row_of(h->samples_ns[h->count - 1]);
	for (size_t i = 0; i < h->count; i++) {
		size_t *count = &counts[row_of(h->samples_ns[i])];

		if (++*count > largest)
			largest = *count;
	}
	fprintf(out, "%11s    %9s %7s\n", "from", "count", "share");
	for (unsigned int row = first; row <= last; row++) {
		if (counts[row])
			print_row(out, row, counts[row], h->count, largest);
		else if (!gap)
			fprintf(out, "%11s\n", "...");
		gap = !counts[row];
	}
}
