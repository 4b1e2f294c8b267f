/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "sr_cpus.h"

unsigned int sr_cpus_count(const struct sr_cpus *s)
{
	unsigned int count = 0;

	for (size_t i = 0; i < SR_CPUS_WORDS; i++)
		count += (unsigned int)__builtin_popcountll(s->words[i]);
	return count;
}

bool sr_cpus_equal(const struct sr_cpus *a, const struct sr_cpus *b)
{
	return !memcmp(a->words, b->words, sizeof a->words);
}

bool sr_cpus_overlap(const struct sr_cpus *a, const struct sr_cpus *b)
{
	uint64_t both = 0;

	for (size_t i = 0; i < SR_CPUS_WORDS; i++)
		both |= a->words[i] & b->words[i];
	return both != 0;
}

struct sr_cpus sr_cpus_union(const struct sr_cpus *a, const struct sr_cpus *b)
{
	struct sr_cpus sum;

	for (size_t i = 0; i < SR_CPUS_WORDS; i++)
		sum.words[i] = a->words[i] | b->words[i];
	return sum;
}

struct sr_cpus sr_cpus_minus(const struct sr_cpus *a, const struct sr_cpus *b)
{
	struct sr_cpus rest;

	for (size_t i = 0; i < SR_CPUS_WORDS; i++)
		rest.words[i] = a->words[i] & ~b->words[i];
	return rest;
}

unsigned int sr_cpus_next(const struct sr_cpus *s, unsigned int cpu)
{
	while (cpu < SR_CPUS_MAX && !sr_cpus_has(s, cpu))
		cpu++;
	return cpu;
}

/* One decimal number below SR_CPUS_MAX; moves *@at behind it. */
static bool take_cpu(const char **at, unsigned int *cpu)
{
	char *end;
	unsigned long v;

	if (**at < '0' || **at > '9')
		return false;
	v = strtoul(*at, &end, 10);
	if (v >= SR_CPUS_MAX)
		return false;
	*at = end;
	*cpu = (unsigned int)v;
	return true;
}

int sr_cpus_from_list(struct sr_cpus *s, const char *text)
{
	struct sr_cpus got = { { 0 } };
	const char *at = text;

	while (*at) {
		unsigned int first;
		unsigned int last;

		if (!take_cpu(&at, &first))
			return -EINVAL;
		last = first;
		if (*at == '-') {
			at++;
			if (!take_cpu(&at, &last) || last < first)
				return -EINVAL;
		}
		for (unsigned int cpu = first; cpu <= last; cpu++)
			sr_cpus_add(&got, cpu);
		if (*at == ',' && at[1])
			at++;
		else if (*at)
			return -EINVAL;
	}
	*s = got;
	return 0;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int sr_cpus_from_mask(struct sr_cpus *s, const char *text)
{
	struct sr_cpus got = { { 0 } };
	size_t end = strlen(text);

	/* From the lowest word, at the end of the text, upwards. */
	for (unsigned int base = 0; end > 0; base += 32) {
		unsigned int bit = base;

		while (end > 0 && text[end - 1] != ',') {
			int digit = hex_digit(text[--end]);

			if (digit < 0 || bit >= base + 32 || (digit && bit >= SR_CPUS_MAX))
				return -EINVAL;
			for (unsigned int i = 0; i < 4; i++)
				if (digit >> i & 1)
					sr_cpus_add(&got, bit + i);
			bit += 4;
		}
		if (bit == base) /* a comma without a number on its right */
			return -EINVAL;
		if (end > 0 && --end == 0) /* or on its left */
			return -EINVAL;
	}
	*s = got;
	return 0;
}

const char *sr_cpus_to_list(const struct sr_cpus *s, char *text, size_t bytes)
{
	size_t used = 0;
	unsigned int first = sr_cpus_next(s, 0);

	text[0] = '\0';
	while (first < SR_CPUS_MAX && used < bytes) {
		unsigned int last = first;
		int n;

		while (sr_cpus_has(s, last + 1))
			last++;
		if (last > first)
			n = snprintf(text + used, bytes - used, "%s%u-%u", used ? "," : "", first,
				     last);
		else
			n = snprintf(text + used, bytes - used, "%s%u", used ? "," : "", first);
		used += (size_t)(n > 0 ? n : 0);
		first = sr_cpus_next(s, last + 1);
	}
	return text;
}

const char *sr_cpus_to_mask(const struct sr_cpus *s, char *text, size_t bytes)
{
	size_t used = 0;

	text[0] = '\0';
	for (unsigned int i = SR_CPUS_MAX / 32; i-- > 0 && used < bytes;) {
		uint32_t word = (uint32_t)(s->words[i / 2] >> i % 2 * 32);
		int n;

		if (!used && !word && i)
			continue;
		n = snprintf(text + used, bytes - used, used ? ",%08x" : "%x", word);
		used += (size_t)(n > 0 ? n : 0);
	}
	return text;
}
