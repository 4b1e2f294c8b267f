/* SPDX-License-Identifier: MIT */
#include "sr_counter.h"

#include <stdio.h>
#include <string.h>

#define CALIBRATE_NS (50 * SR_NS_PER_MS)
#define PAIRS 16

static void read_line(char *line, size_t room, const char *path)
{
	FILE *f = fopen(path, "re");

	line[0] = '\0';
	if (!f)
		return;
	if (!fgets(line, (int)room, f))
		line[0] = '\0';
	(void)fclose(f);
	line[strcspn(line, "\n")] = '\0';
}

enum sr_counter_kind sr_counter_find(void)
{
	char name[32];

	read_line(name, sizeof name,
		  "/sys/devices/system/clocksource/clocksource0/current_clocksource");
#if defined(__x86_64__)
	if (!strcmp(name, "tsc"))
		return SR_COUNTER_TSC;
#elif defined(__aarch64__)
	if (!strcmp(name, "arch_sys_counter"))
		return SR_COUNTER_VIRTUAL;
#endif
	return SR_COUNTER_CLOCK;
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* 8-4-4-4-12 hexadecimal digits. */
static void read_domain(uint64_t domain[2])
{
	uint64_t words[2] = { 0, 0 };
	unsigned int digits = 0;
	char text[64];

	read_line(text, sizeof text, "/proc/sys/kernel/random/boot_id");
	for (const char *at = text; *at; at++) {
		if (digit(*at) < 0)
			continue;
		words[digits / 16 % 2] = words[digits / 16 % 2] << 4 | (uint64_t)digit(*at);
		digits++;
	}
	domain[0] = digits == 32 ? words[0] : 0;
	domain[1] = digits == 32 ? words[1] : 0;
}

/* Both clocks at one moment: of some pairs of readings the closest. */
static void read_pair(uint64_t *ticks, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;

	*ticks = *ns = 0;
	for (int i = 0; i < PAIRS; i++) {
		uint64_t before = sr_counter_read(), now_ns = sr_now_ns();
		uint64_t took = sr_counter_read() - before;

		if (took < best) {
			best = took;
			*ticks = before + took / 2;
			*ns = now_ns;
		}
	}
}

static uint64_t measure_rate(void)
{
	uint64_t begin_ticks, begin_ns, ticks, ns;

	read_pair(&begin_ticks, &begin_ns);
	do
		read_pair(&ticks, &ns);
	while (ns - begin_ns < CALIBRATE_NS);
	return (uint64_t)((double)(ticks - begin_ticks) * 1e9 / (double)(ns - begin_ns) + 0.5);
}

static uint64_t rate_of(enum sr_counter_kind kind)
{
#if defined(__aarch64__)
	uint64_t rate;

	if (kind == SR_COUNTER_VIRTUAL) {
		__asm__ volatile("mrs %0, cntfrq_el0" : "=r"(rate));
		return rate;
	}
#endif
	return kind == SR_COUNTER_CLOCK ? SR_NS_PER_S : measure_rate();
}

void sr_counter_describe(struct sr_counter *counter)
{
	enum sr_counter_kind kind = sr_counter_find();

	counter->kind = kind;
	counter->ticks_per_s = rate_of(kind);
	read_domain(counter->domain);
}

bool sr_counter_same(const struct sr_counter *a, const struct sr_counter *b)
{
	return a->kind == b->kind && (a->domain[0] || a->domain[1]) &&
	       a->domain[0] == b->domain[0] && a->domain[1] == b->domain[1];
}

const char *sr_counter_name(uint32_t kind)
{
	switch (kind) {
	case SR_COUNTER_CLOCK:
		return "CLOCK_MONOTONIC";
	case SR_COUNTER_TSC:
		return "time-stamp counter";
	case SR_COUNTER_VIRTUAL:
		return "virtual counter";
	default:
		return "unknown counter";
	}
}
