/* SPDX-License-Identifier: MIT */
#include "sr_ledger.h"

#include <stdlib.h>

#define ARENA_ALIGN_BYTES (2u << 20) /* so that the kernel may use huge pages */

struct sr_ledgers {
	unsigned char *arena;
	unsigned char *fates;
	struct sr_ledger *each;
	struct sr_ledger **free; /* a stack */
	uint32_t free_count;
};

int sr_ledgers_new(struct sr_ledgers **ledgers, uint32_t count, uint32_t depth_max,
		   uint32_t record_bytes_max)
{
	uint32_t place_bytes = SR_CMP_BYTES + record_bytes_max;
	size_t places = (size_t)count * depth_max;
	size_t arena_bytes = sr_align_up(places * place_bytes, ARENA_ALIGN_BYTES);
	struct sr_ledgers *l = calloc(1, sizeof *l);

	if (!l)
		return -ENOMEM;
	l->arena = aligned_alloc(ARENA_ALIGN_BYTES, arena_bytes);
	l->fates = calloc(places, 1);
	l->each = calloc(count, sizeof *l->each);
	l->free = calloc(count, sizeof(struct sr_ledger *));
	if (!l->arena || !l->fates || !l->each || !l->free) {
		sr_ledgers_delete(l);
		return -ENOMEM;
	}

	memset(l->arena, 0, arena_bytes);
	for (uint32_t i = 0; i < count; i++) {
		size_t place = (size_t)i * depth_max;

		l->each[i].kept = l->arena + place * place_bytes;
		l->each[i].fates = l->fates + place;
		l->each[i].place_bytes = place_bytes;
		l->free[count - 1 - i] = &l->each[i];
	}
	l->free_count = count;
	*ledgers = l;
	return 0;
}

void sr_ledgers_delete(struct sr_ledgers *ledgers)
{
	if (!ledgers)
		return;

	free(ledgers->free);
	free(ledgers->each);
	free(ledgers->fates);
	free(ledgers->arena);
	free(ledgers);
}

struct sr_ledger *sr_ledgers_take(struct sr_ledgers *ledgers, uint32_t depth, uint32_t record_bytes,
				  uint64_t next)
{
	struct sr_ledger *l;

	if (ledgers->free_count == 0)
		return NULL;

	l = ledgers->free[--ledgers->free_count];
	l->next = next;
	l->depth = depth;
	l->record_bytes = record_bytes;
	memset(l->fates, SR_FATE_FORGOTTEN, depth);
	return l;
}

void sr_ledgers_give_back(struct sr_ledgers *ledgers, struct sr_ledger *ledger)
{
	ledgers->free[ledgers->free_count++] = ledger;
}

static uint64_t place_of(const struct sr_ledger *ledger, uint64_t n)
{
	return n & (ledger->depth - 1);
}

enum sr_fate sr_ledger_fate(const struct sr_ledger *ledger, uint64_t n)
{
	if (n - ledger->next <= SR_GAP_MAX)
		return SR_FATE_AHEAD;
	if (ledger->next - n > ledger->depth)
		return SR_FATE_FORGOTTEN;
	return (enum sr_fate)ledger->fates[place_of(ledger, n)];
}

void sr_ledger_skip_to(struct sr_ledger *ledger, uint64_t n)
{
	uint64_t from = n - ledger->next > ledger->depth ? n - ledger->depth : ledger->next;

	for (; from != n; from++)
		ledger->fates[place_of(ledger, from)] = SR_FATE_SKIPPED;
	ledger->next = n;
}

unsigned char *sr_ledger_enter(struct sr_ledger *ledger, uint64_t n, const unsigned char *record)
{
	unsigned char *place = ledger->kept + place_of(ledger, n) * ledger->place_bytes;

	if (sr_ledger_fate(ledger, n) == SR_FATE_AHEAD) {
		sr_ledger_skip_to(ledger, n);
		ledger->next++;
	}
	ledger->fates[place_of(ledger, n)] = SR_FATE_ANSWERED;
	memset(place, 0, SR_CMP_BYTES);
	memcpy(place + SR_CMP_BYTES, record, ledger->record_bytes);
	return place;
}

const unsigned char *sr_ledger_reply(const struct sr_ledger *ledger, uint64_t n)
{
	return ledger->kept + place_of(ledger, n) * ledger->place_bytes;
}

const unsigned char *sr_ledger_record(const struct sr_ledger *ledger, uint64_t n)
{
	return sr_ledger_reply(ledger, n) + SR_CMP_BYTES;
}

bool sr_ledger_repeats(const struct sr_ledger *ledger, uint64_t n, const unsigned char *record)
{
	return memcmp(sr_ledger_record(ledger, n), record, ledger->record_bytes) == 0;
}
