/* SPDX-License-Identifier: MIT */
#include "sr_health.h"

#include "sr_ct.h"

/* With alpha = 2^-40 and 8 bits a byte: 1 + 40/8, and the smallest C for which
 * Binomial(511, 1/256) reaches C - 1 with probability below alpha. */
#define RUN_CUTOFF 6u
#define WINDOW_BYTES 512u
#define WINDOW_CUTOFF 20u

#define NO_BYTE 256u

void sr_health_init(struct sr_health *health)
{
	memset(health, 0, sizeof *health);
	health->last = NO_BYTE;
}

/* 1 when a == b, else 0; both below 2^31. */
static uint32_t equal(uint32_t a, uint32_t b)
{
	return ((a ^ b) - 1u) >> 31;
}

/* 1 when v >= at, else 0; both below 2^31. */
static uint32_t reached(uint32_t v, uint32_t at)
{
	return 1u ^ ((v - at) >> 31);
}

bool sr_health_feed(struct sr_health *health, const unsigned char *bytes, size_t count)
{
	uint32_t failed = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t byte = bytes[i];

		health->run = 1u + health->run * equal(byte, health->last);
		health->last = byte;
		failed |= reached(health->run, RUN_CUTOFF);

		if (health->window == 0) {
			health->watched = byte;
			health->seen = 0;
		}
		health->seen += equal(byte, health->watched);
		failed |= reached(health->seen, WINDOW_CUTOFF);
		health->window = (health->window + 1u) % WINDOW_BYTES;
	}

	/* That a source has failed is no secret. */
	sr_declassify(&failed, sizeof failed);

	/* Or one hiccup would condemn the rest of a window, ten good reseeds. */
	if (failed)
		sr_health_init(health);
	return !failed;
}
