/* SPDX-License-Identifier: MIT */
#include "sr_trace.h"

#include <stdlib.h>

int sr_trace_new(struct sr_trace **trace, const struct sr_trace_config *config)
{
	struct sr_trace *t;
	size_t bytes;

	if (!sr_is_pow2(config->slots) || config->slots < SR_TRACE_SLOTS_MIN ||
	    config->slots > SR_TRACE_SLOTS_MAX || !config->now)
		return -EINVAL;
	t = calloc(1, sizeof *t);
	if (!t)
		return -ENOMEM;
	t->config = *config;
	bytes = config->slots * sizeof *t->entries;
	t->entries = aligned_alloc(SR_LINE_BYTES, bytes);
	if (!t->entries) {
		free(t);
		return -ENOMEM;
	}
	memset(t->entries, 0, bytes); /* no page is touched first between two orders */
	*trace = t;
	return 0;
}

void sr_trace_delete(struct sr_trace *trace)
{
	if (!trace)
		return;
	free(trace->entries);
	free(trace);
}

void sr_trace_read(const struct sr_trace *t, struct sr_trace_piece *piece)
{
	uint64_t oldest = t->count > t->config.slots ? t->count - t->config.slots : 0;

	if (piece->from < oldest)
		piece->from = oldest;
	if (piece->from > t->count)
		piece->from = t->count;
	piece->next = t->count;
	piece->slots = t->config.slots;
	piece->count = 0;
	while (piece->count < piece->room && piece->from + piece->count < t->count) {
		piece->entries[piece->count] =
			t->entries[(piece->from + piece->count) & (t->config.slots - 1)];
		piece->count++;
	}
}
